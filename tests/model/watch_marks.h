/* SPDX-License-Identifier: MIT */
/* Included before src/watch/watch.c, and by nothing else: tells the engine what its functions do to
 * the plain parts of a record, and counts records. The two nodes that travel are a part each, as
 * are the links in the two lists and the text of the notice. All of a record is written when it is
 * made and when it is freed, so that whoever still has it then is found as a race; and nobody may
 * touch one that is free. As in timer_marks.h, a macro puts the mark before the call. */
#ifndef MODEL_WATCH_MARKS_H
#define MODEL_WATCH_MARKS_H

#include "engine.h"

#include "actor/mailbox.h"
#include "watch/watch.h"

#include <stdio.h>

#define MARKS_WATCHES_MAX 6

/* Part of the state of a scenario; all are free at first, and none is used twice. */
struct watch_marks {
    struct jzx__watch watches[MARKS_WATCHES_MAX];
    bool in_use[MARKS_WATCHES_MAX];
    unsigned made;
    unsigned freed;
};
static struct watch_marks *watch_marks(void);

/* part is anything inside a record, or (of lists) elsewhere. */
static inline void watch_look(const void *part) {
    ptrdiff_t at = (const char *)part - (const char *)watch_marks()->watches;
    if (at >= 0 && (size_t)at < sizeof watch_marks()->watches)
        MODEL_ASSERT(watch_marks()->in_use[(size_t)at / sizeof(struct jzx__watch)]);
}

static inline void watch_write_all(struct jzx__watch *watch) {
    model_plain_write(watch->block);
    model_plain_write(&watch->leave);
    model_plain_write(&watch->at_target.next);
    model_plain_write(&watch->at_target.prev);
    model_plain_write(&watch->at_holder.next);
    model_plain_write(&watch->at_holder.prev);
    model_plain_write(jzx__watch_notice(watch)->text);
}

static inline void *watch_alloc(struct jzx__sched *sched, struct jzx__worker *me,
                                uint32_t class_index) {
    struct watch_marks *marks = watch_marks();
    if (class_index != JZX__WATCH_CLASS)
        return jzx__sched_alloc(sched, me, class_index);
    MODEL_ASSERT(marks->made < MARKS_WATCHES_MAX);
    struct jzx__watch *watch = &marks->watches[marks->made];
    marks->in_use[marks->made++] = true;
    watch_write_all(watch);
    return watch;
}

static inline void watch_end(struct jzx__watch *watch) {
    watch_look(watch);
    watch_write_all(watch);
    watch_marks()->in_use[watch - watch_marks()->watches] = false;
    watch_marks()->freed++;
}

static inline void watch_free(struct jzx__sched *sched, struct jzx__worker *me,
                              uint32_t class_index, void *block) {
    if (class_index == JZX__WATCH_CLASS)
        watch_end(block);
    else
        jzx__sched_free(sched, me, class_index, block);
}

static inline struct jzx__node *watch_node(struct jzx__node *node) {
    watch_look(node);
    model_plain_write(node);
    return node;
}

static inline struct jzx__message *watch_deliver(struct jzx__message *message) {
    watch_node(&message->node);
    return message;
}

/* Its neighbours in the list are written, too. */
static inline struct jzx__link *watch_link(struct jzx__link *link) {
    watch_look(link);
    watch_look(link->prev);
    watch_look(link->next);
    model_plain_write(&link->next);
    model_plain_write(&link->prev);
    model_plain_write(&link->prev->next);
    model_plain_write(&link->next->prev);
    return link;
}

static inline struct jzx__link *watch_listed(struct jzx__list *list, struct jzx__link *link) {
    watch_look(link);
    watch_look(list->ring.prev);
    model_plain_write(&link->next);
    model_plain_write(&link->prev);
    model_plain_write(&list->ring.prev);
    model_plain_write(&list->ring.prev->next);
    return link;
}

static inline struct jzx__link *watch_popped(struct jzx__list *list) {
    model_plain_read(&list->ring.next);
    if (list->ring.next != &list->ring)
        watch_link(list->ring.next);
    return jzx__list_pop_front(list);
}

/* The exchange on the state word: a phase, perhaps without a look at what has happened. */
static inline bool watch_exchange(_Atomic uint32_t *state, uint32_t *expected, uint32_t desired,
                                  MODEL_HERE_PARAMS) {
    watch_look(state);
    if (JZX__MUTANT(watch_advance_blind)) {
        model_rmw(state, sizeof *state, MODEL_EXCHANGE, desired, MODEL_ACQ_REL, text, function,
                  file, line);
        return true;
    }
    return model_cas(state, sizeof *state, expected, desired, MODEL_ACQ_REL, MODEL_ACQUIRE, true,
                     text, function, file, line);
}

/* The bits that are set, perhaps over what the other side does meanwhile. */
static inline uint32_t watch_mark(_Atomic uint32_t *state, uint32_t flags, MODEL_HERE_PARAMS) {
    watch_look(state);
    if (JZX__MUTANT(watch_marked_by_store)) {
        uint32_t was =
            (uint32_t)model_load(state, sizeof *state, MODEL_ACQUIRE, text, function, file, line);
        model_store(state, sizeof *state, was | flags, MODEL_RELEASE, text, function, file, line);
        return was;
    }
    return (uint32_t)model_rmw(state, sizeof *state, MODEL_OR, flags, MODEL_ACQ_REL, text, function,
                               file, line);
}

/* Z4 without one of its two words. */
#undef JZX__WATCH_LOST
#undef JZX__WATCH_RETURNED
#define JZX__WATCH_LOST (JZX__MUTANT(watch_lost_unsaid) ? 0u : 0x10u)
#define JZX__WATCH_RETURNED (JZX__MUTANT(watch_returned_unsaid) ? 0u : 0x20u)

#define jzx__sched_alloc(sched, me, class_index) watch_alloc((sched), (me), (class_index))
#define jzx__sched_free(sched, me, class_index, block)                                             \
    watch_free((sched), (me), (class_index), (block))
#define jzx__task_push(task, node, limit) (jzx__task_push)((task), watch_node(node), (limit))
#define jzx__task_pop(task, node) (jzx__task_pop)((task), watch_node(node))
#define jzx__mailbox_deliver(loop, me, actor, message)                                             \
    (jzx__mailbox_deliver)((loop), (me), (actor), watch_deliver(message))
#define jzx__list_remove(link) (jzx__list_remove)(watch_link(link))
#define jzx__list_push_back(list, link) (jzx__list_push_back)((list), watch_listed((list), (link)))
#define jzx__list_pop_front(list) watch_popped(list)
#define snprintf(text, size, format, what) (model_plain_write(text), (void)(what))
#undef jzx__atomic_cas_acq_rel
#define jzx__atomic_cas_acq_rel(p, expected, desired)                                              \
    watch_exchange((p), (expected), (desired), MODEL_HERE(p))
#undef jzx__atomic_or_acq_rel
#define jzx__atomic_or_acq_rel(p, flags) watch_mark((p), (flags), MODEL_HERE(p))

#endif
