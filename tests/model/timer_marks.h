/* SPDX-License-Identifier: MIT */
/* Included before src/timer/timer.c, and by nothing else: tells the engine what its functions do to
 * the plain parts of a record. The entry of the wheel or the node that travels is one part, as are
 * the word behind the state, the payload, and the number, with the actor's list: each may be in
 * other hands (H1). All of a record is written when it is made and when it is freed, so that
 * whoever still has it then is found as a race; and nobody may touch one that is free.
 *
 * A macro with the name of a function puts the mark before the call; (name)(...) is the function
 * itself. */
#ifndef MODEL_TIMER_MARKS_H
#define MODEL_TIMER_MARKS_H

#include "engine.h"

#include "actor/mailbox.h"
#include "timer/list.h"

#define MARKS_RECORDS_MAX 4

/* Part of the state of a scenario; all are free at first. */
struct timer_marks {
    const struct jzx__timer *first; /* of all records */
    bool in_use[MARKS_RECORDS_MAX];
    unsigned made;
    unsigned freed;
};
static struct timer_marks *timer_marks(void);

static struct jzx__timer *timer_of_mail(struct jzx__mpsc_node *node);

/* The number is the record's index only while it is not listed. */
static inline size_t marks_index(const struct jzx__timer *timer) {
    size_t index = (size_t)(timer - timer_marks()->first);
    MODEL_ASSERT(index < MARKS_RECORDS_MAX);
    return index;
}

static inline void marks_look(const struct jzx__timer *timer) {
    MODEL_ASSERT(timer_marks()->in_use[marks_index(timer)]);
}

static inline void marks_write_all(struct jzx__timer *timer) {
    model_plain_write(timer->message);
    model_plain_write(timer->payload);
    model_plain_write(&timer->sender);
    model_plain_write(&timer->number);
}

/* ---- a record's life ---- */

static inline struct jzx__timer *marks_alloc(struct jzx__timer_pool *pool,
                                             struct jzx__timer_cache *cache) {
    struct jzx__timer *timer = jzx__timer_alloc(pool, cache);
    MODEL_ASSERT(timer != NULL);
    timer_marks()->first = timer - timer->number;
    MODEL_ASSERT(!timer_marks()->in_use[marks_index(timer)]);
    timer_marks()->in_use[marks_index(timer)] = true;
    timer_marks()->made++;
    marks_write_all(timer);
    return timer;
}

static inline struct jzx__timer *marks_end(struct jzx__timer *timer) {
    marks_look(timer);
    MODEL_ASSERT(timer->number == marks_index(timer)); /* it is in no list */
    marks_write_all(timer);
    timer_marks()->in_use[marks_index(timer)] = false;
    timer_marks()->freed++;
    return timer;
}

/* ---- its parts ---- */

/* Nothing was touched yet. */
static inline struct jzx__timer *marks_used(struct jzx__timer *timer) {
    marks_look(timer);
    return timer;
}

/* Its first word is the link in an inbox or in the private list. */
static inline struct jzx__node *marks_node(struct jzx__node *node) {
    marks_look((void *)node);
    model_plain_write(node);
    return node;
}

/* From one form to the other. */
static inline struct jzx__timer *marks_form(struct jzx__timer *timer) {
    marks_look(timer);
    model_plain_write(timer->message);
    model_plain_write(&timer->sender);
    return timer;
}

static inline struct jzx__timer *marks_transit(struct jzx__timer *timer) {
    marks_look(timer);
    model_plain_write(&timer->sender);
    return timer;
}

static inline const struct jzx__timer *marks_payload(const struct jzx__timer *timer) {
    marks_look(timer);
    model_plain_read(timer->payload);
    return timer;
}

/* In the actor's list, or out of it. */
static inline struct jzx__timer *marks_number(struct jzx__timer_list *list,
                                              struct jzx__timer *timer) {
    marks_look(timer);
    model_plain_write(list);
    model_plain_write(&timer->number);
    return timer;
}

static inline struct jzx__wheel_entry *marks_entry(struct jzx__wheel_entry *entry) {
    marks_look(JZX_CONTAINER_OF(entry, struct jzx__timer, wait.entry));
    model_plain_write(entry);
    return entry;
}

/* It was due; NULL if none was. */
static inline struct jzx__wheel_entry *marks_due(struct jzx__wheel_entry *entry) {
    return entry == NULL ? NULL : marks_entry(entry);
}

/* The first word of a message, or the one behind the state of an entry. */
static inline struct jzx__mpsc_node *marks_posted(void *link) {
    marks_look(timer_of_mail(link));
    model_plain_write(link);
    return link;
}

static inline jzx_err marks_deliver(struct jzx_loop *loop, struct jzx__worker *me,
                                    struct jzx__actor *actor, struct jzx__message *message) {
    marks_node(&message->node);
    jzx_err err = jzx__mailbox_deliver(loop, me, actor, message);
    return JZX__MUTANT(timer_not_bounced) ? JZX_OK : err;
}

/* The exchange on the state word. */
static inline bool marks_exchange(_Atomic uint64_t *state, uint64_t *expected, uint64_t desired,
                                  MODEL_HERE_PARAMS) {
    if (JZX__MUTANT(timer_stored_not_exchanged)) {
        model_store(state, sizeof *state, desired, MODEL_RELEASE, text, function, file, line);
        return true;
    }
    return model_cas(state, sizeof *state, expected, desired, MODEL_ACQ_REL, MODEL_ACQUIRE, true,
                     text, function, file, line);
}

/* H3 without one of its two words. */
#undef JZX__TIMER_ORPHAN
#undef JZX__TIMER_BOUNCED
#define JZX__TIMER_ORPHAN (JZX__MUTANT(timer_orphan_unsaid) ? 0u : 0x20u)
#define JZX__TIMER_BOUNCED (JZX__MUTANT(timer_bounce_unsaid) ? 0u : 0x40u)

#define jzx__timer_alloc(pool, cache) marks_alloc((pool), (cache))
#define jzx__timer_free(pool, cache, timer) (jzx__timer_free)((pool), (cache), marks_end(timer))
#define jzx__timer_free_easy(cache, timer) (jzx__timer_free_easy)((cache), marks_end(timer))
#define jzx__timer_block(timer) (jzx__timer_block)(marks_used(timer))
#define jzx__timer_to_wait(timer) (jzx__timer_to_wait)(marks_form(timer))
#define jzx__timer_to_message(timer) (jzx__timer_to_message)(marks_form(timer))
#define jzx__timer_set_tick(timer, tick) (jzx__timer_set_tick)(marks_transit(timer), (tick))
#define jzx__timer_tick_of(timer) (jzx__timer_tick_of)(marks_transit(timer))
#define jzx__timer_extra(timer) (jzx__timer_extra)(marks_payload(timer))
#define jzx__timer_list_add(list, timer)                                                           \
    (jzx__timer_list_add)((list), marks_number((list), (timer)))
#define jzx__timer_list_remove(list, timer)                                                        \
    (jzx__timer_list_remove)((list), marks_number((list), (timer)))
#define jzx__message_of(node) (jzx__message_of)(marks_node(node))
#define jzx__task_push(task, node, limit) (jzx__task_push)((task), marks_node(node), (limit))
#define jzx__mailbox_deliver(loop, me, actor, message) marks_deliver((loop), (me), (actor), message)
#define jzx__wheel_set(wheel, entry, tick) (jzx__wheel_set)((wheel), marks_entry(entry), (tick))
#define jzx__wheel_set_near(wheel, entry, spare, tick)                                             \
    (jzx__wheel_set_near)((wheel), marks_entry(entry), (spare), (tick))
#define jzx__wheel_remove(wheel, entry) (jzx__wheel_remove)((wheel), marks_entry(entry))
#define jzx__wheel_remove_near(wheel, entry) (jzx__wheel_remove_near)((wheel), marks_entry(entry))
#define jzx__wheel_pop(wheel, tick) marks_due((jzx__wheel_pop)((wheel), (tick)))
#define jzx__mpsc_push(queue, link) (jzx__mpsc_push)((queue), marks_posted(link))
/* An address that stands somewhere is read; that of a part of the record itself is not. */
#define __builtin_prefetch(p, rw) (sizeof(p) == sizeof(void *) ? model_plain_read(&(p)) : (void)0)
#undef jzx__atomic_cas_acq_rel
#define jzx__atomic_cas_acq_rel(p, expected, desired)                                              \
    marks_exchange((p), (expected), (desired), MODEL_HERE(p))

#endif
