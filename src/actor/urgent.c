/* SPDX-License-Identifier: MIT */
/* The queues of urgent messages, how they reach the mailbox, and the signals among them. */
#include "actor/urgent.h"

#include "actor/control.h"
#include "actor/exit.h"
#include "actor/mailbox.h"
#include "actor/part.h"
#include "actor/send.h"
#include "actor/trap.h"

#include "jzx/context.h"
#include "jzx/exit.h"

#include <stdio.h>

#define QUEUE_CLASS 0u

/* Under the lock of its stripe. */
struct jzx__urgent {
    struct jzx__urgent *next; /* in its stripe */
    jzx_actor_id to;
    struct jzx__node *first; /* oldest first; NULL: the owner has them all */
    struct jzx__node *last;
    struct jzx__cold *spare; /* for an actor that had no cold record, or NULL */
    uint32_t waiting;        /* G1 */
};
_Static_assert(sizeof(struct jzx__urgent) <= JZX__BLOCK_SIZE_MIN, "fits its class");

static struct jzx__urgent_stripe *stripe_of(struct jzx_loop *loop, jzx_actor_id to) {
    return &loop->urgents.stripes[jzx_id_index(to) % JZX__URGENT_STRIPE_COUNT];
}

/* Where the pointer to the queue is, or the NULL at the end. Under the lock. */
static struct jzx__urgent **place_of(struct jzx__urgent_stripe *stripe, jzx_actor_id to) {
    struct jzx__urgent **place = &stripe->queues;
    while (*place != NULL && (*place)->to != to)
        place = &(*place)->next;
    return place;
}

/* queue may be NULL, and is nobody else's. */
static void free_queue(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__urgent *queue) {
    if (queue == NULL)
        return;
    jzx__cold_destroy(loop, me, queue->spare);
    jzx__sched_free(&loop->sched, me, QUEUE_CLASS, queue);
}

/* So many wait no more. Under the lock. The queue, if it is to be freed after that; else NULL. */
static struct jzx__urgent *count_down(struct jzx__urgent **place, uint32_t count) {
    struct jzx__urgent *queue = *place;
    JZX_ASSERT(queue != NULL && queue->waiting >= count);
    queue->waiting -= count;
    if (queue->waiting != 0)
        return NULL;
    *place = queue->next;
    return queue;
}

/* ---- sending; any thread ---- */

/* An empty queue, which brings what its receiver needs to have special nodes. NULL without
 * memory. */
static struct jzx__urgent *make_queue(struct jzx_loop *loop, struct jzx__worker *me,
                                      const struct jzx__actor *actor, jzx_actor_id to) {
    struct jzx__urgent *queue = jzx__sched_alloc(&loop->sched, me, QUEUE_CLASS);
    if (queue == NULL)
        return NULL;
    *queue = (struct jzx__urgent){.to = to};
    if (jzx__actor_cold(actor) == NULL) {
        queue->spare = jzx__cold_create(loop, me);
        if (queue->spare == NULL) {
            free_queue(loop, me, queue);
            return NULL;
        }
    }
    return queue;
}

/* Appends the message, if that is within the bound. *made is the queue that was brought along, and
 * NULL if it is in use now. */
static bool append(struct jzx_loop *loop, jzx_actor_id to, struct jzx__message *message,
                   struct jzx__urgent **made) {
    struct jzx__urgent_stripe *stripe = stripe_of(loop, to);
    jzx__lock_acquire(&stripe->lock);
    struct jzx__urgent **place = place_of(stripe, to);
    if (*place == NULL) {
        *place = *made;
        *made = NULL;
    }
    struct jzx__urgent *queue = *place;
    bool fits = queue->waiting < loop->urgents.cap;
    if (fits) {
        queue->waiting++;
        message->node.next = NULL;
        if (queue->first == NULL)
            queue->first = &message->node;
        else
            queue->last->next = &message->node;
        queue->last = &message->node;
    }
    jzx__lock_release(&stripe->lock);
    return fits;
}

/* The receiver takes nothing in any more: true if the message was still there (G2). */
static bool take_back(struct jzx_loop *loop, struct jzx__worker *me, jzx_actor_id to,
                      struct jzx__message *message) {
    struct jzx__urgent_stripe *stripe = stripe_of(loop, to);
    struct jzx__urgent *freed = NULL;
    struct jzx__node *before = NULL;
    jzx__lock_acquire(&stripe->lock);
    struct jzx__urgent **place = place_of(stripe, to);
    struct jzx__node *node = *place == NULL ? NULL : (*place)->first;
    for (; node != NULL && node != &message->node; node = node->next)
        before = node;
    if (node != NULL) {
        struct jzx__urgent *queue = *place;
        if (before == NULL)
            queue->first = node->next;
        else
            before->next = node->next;
        if (queue->last == node)
            queue->last = before;
        freed = count_down(place, 1);
    }
    jzx__lock_release(&stripe->lock);
    free_queue(loop, me, freed);
    return node != NULL;
}

jzx_err jzx__urgent_deliver(struct jzx_loop *loop, struct jzx__worker *me, jzx_actor_id to,
                            struct jzx__message *message) {
    const struct jzx__actor *actor = jzx__table_lookup(&loop->table, to);
    if (actor == NULL || jzx__sched_is_stopped(&loop->sched))
        return jzx__mailbox_gone(loop);
    struct jzx__urgent *made = make_queue(loop, me, actor, to);
    if (made == NULL)
        return JZX_ERR_NO_MEMORY;
    message->node.generation = jzx_id_generation(to);
    message->node.weight = 0; /* it has a bound of its own */
    message->node.lane = JZX__LANE_URGENT;
    bool fits = append(loop, to, message, &made);
    free_queue(loop, me, made);
    if (!fits)
        return JZX_ERR_MAILBOX_FULL;
    if (!jzx__actor_ask_for(loop, me, to, JZX__WANT_URGENT) && take_back(loop, me, to, message)) {
        message->node.lane = JZX__LANE_USER;
        return jzx__mailbox_gone(loop);
    }
    return JZX_OK;
}

/* ---- the owner ---- */

/* What the owner takes, and how the actor ends by it. */
struct haul {
    struct jzx__node *first; /* messages, oldest first */
    struct jzx__node *last;
    bool ends;
    jzx_exit_reason reason;
    char text[JZX_EXIT_TEXT_MAX + 1];
};

static void keep(struct haul *haul, struct jzx__node *node) {
    node->next = NULL;
    if (haul->first == NULL)
        haul->first = node;
    else
        haul->last->next = node;
    haul->last = node;
}

/* The first signal that ends the actor counts. */
static void end_by(struct haul *haul, jzx_exit_reason reason, const char *text) {
    if (haul->ends)
        return;
    haul->ends = true;
    haul->reason = reason;
    snprintf(haul->text, sizeof haul->text, "%s", text);
}

/* True if the signal has reached its actor otherwise than as a message. */
static bool is_obeyed(struct jzx__worker *me, struct jzx__actor *actor, struct haul *haul,
                      struct jzx__message *message) {
    const struct jzx__cold *cold = jzx__actor_cold(actor);
    if (message->tag == JZX_TAG_STOP) {
        const jzx_stop_notice *notice = (void *)message->payload;
        if (cold->trap == NULL)
            end_by(haul, JZX_EXIT_NORMAL, notice->text);
        else
            jzx__trap_expect(me, actor, notice->deadline_ns);
        return cold->trap == NULL;
    }
    if (message->tag == JZX_TAG_EXIT && !cold->traps_exits) {
        const jzx_exit_notice *notice = (void *)message->payload;
        if (notice->reason != JZX_EXIT_NORMAL)
            end_by(haul, notice->reason, notice->text);
        return true;
    }
    return false;
}

/* All that is in the queue; the queue stays (G1). The actor has a cold record after this. */
static struct jzx__node *empty_queue(struct jzx__worker *me, struct jzx__actor *actor) {
    struct jzx_loop *loop = jzx__loop_of(me);
    struct jzx__urgent_stripe *stripe = stripe_of(loop, jzx__actor_id(actor));
    struct jzx__node *nodes = NULL;
    struct jzx__cold *spare = NULL;
    jzx__lock_acquire(&stripe->lock);
    struct jzx__urgent *queue = *place_of(stripe, jzx__actor_id(actor));
    if (queue != NULL) {
        nodes = queue->first;
        queue->first = NULL;
        spare = queue->spare;
        queue->spare = NULL;
    }
    jzx__lock_release(&stripe->lock);
    if (spare != NULL && !jzx__spare_give_cold(actor, spare))
        jzx__cold_destroy(loop, me, spare);
    return nodes;
}

/* So many of the actor's wait no more. */
static void note_gone(struct jzx__worker *me, struct jzx__actor *actor, uint32_t count) {
    struct jzx_loop *loop = jzx__loop_of(me);
    struct jzx__urgent_stripe *stripe = stripe_of(loop, jzx__actor_id(actor));
    struct jzx__cold *cold = jzx__actor_cold(actor);
    JZX_ASSERT(cold->urgent_count >= count);
    cold->urgent_count -= count;
    jzx__lock_acquire(&stripe->lock);
    struct jzx__urgent *freed = count_down(place_of(stripe, jzx__actor_id(actor)), count);
    jzx__lock_release(&stripe->lock);
    free_queue(loop, me, freed);
}

/* Puts them behind the urgent ones that wait already, before all others (G4). */
static void put_in(struct jzx__actor *actor, const struct haul *haul) {
    if (haul->first != NULL)
        jzx__mailbox_put_first(actor, haul->first, haul->last);
}

bool jzx__urgent_take(struct jzx__worker *me, struct jzx__actor *actor) {
    JZX_ASSERT_OWNER(me);
    struct haul haul = {.ends = false};
    actor->task.care &= (uint16_t)~JZX__CARE_URGENT;
    struct jzx__node *nodes = empty_queue(me, actor);
    while (nodes != NULL) {
        struct jzx__node *node = nodes;
        struct jzx__message *message = jzx__message_of(node);
        nodes = node->next;
        jzx__counter_add(&me->counters.accepted, 1); /* G5 */
        jzx__actor_cold(actor)->urgent_count++;
        if (!is_obeyed(me, actor, &haul, message)) {
            keep(&haul, node);
            continue;
        }
        me->pass_handled++;
        note_gone(me, actor, 1);
        node->lane = JZX__LANE_USER;
        jzx__message_destroy(jzx__loop_of(me), me, message);
    }
    put_in(actor, &haul);
    if (haul.ends)
        jzx__actor_end(me, actor, haul.reason, haul.text);
    return !haul.ends;
}

/* The actor ends: all that is in its queue, which is freed (G3). */
static struct jzx__node *remove_queue(struct jzx__worker *me, jzx_actor_id id) {
    struct jzx_loop *loop = jzx__loop_of(me);
    struct jzx__urgent_stripe *stripe = stripe_of(loop, id);
    jzx__lock_acquire(&stripe->lock);
    struct jzx__urgent **place = place_of(stripe, id);
    struct jzx__urgent *queue = *place;
    if (queue != NULL)
        *place = queue->next;
    jzx__lock_release(&stripe->lock);
    struct jzx__node *nodes = queue == NULL ? NULL : queue->first;
    free_queue(loop, me, queue);
    return nodes;
}

/* From here on it is a message as any, but that no bound counts it. */
static void make_plain(struct jzx__node *node) {
    bool is_user = jzx__message_of(node)->tag < JZX_TAG_RESERVED;
    node->lane = is_user ? JZX__LANE_USER : JZX__LANE_RUNTIME;
}

struct jzx__node *jzx__urgent_bequeath(struct jzx__worker *me, struct jzx__actor *actor,
                                       jzx_actor_id id, struct jzx__node **list) {
    struct haul haul = {.ends = false};
    JZX_ASSERT_OWNER(me);
    for (struct jzx__node **place = list; *place != NULL;) {
        struct jzx__node *node = *place;
        if (node->lane != JZX__LANE_URGENT) {
            place = &node->next;
            continue;
        }
        *place = node->next;
        make_plain(node);
        keep(&haul, node);
    }
    struct jzx__node *nodes = remove_queue(me, id);
    while (nodes != NULL) {
        struct jzx__node *node = nodes;
        nodes = node->next;
        jzx__counter_add(&me->counters.accepted, 1); /* G5 */
        make_plain(node);
        keep(&haul, node);
    }
    jzx__actor_cold(actor)->urgent_count = 0;
    actor->task.care &= (uint16_t)~JZX__CARE_URGENT;
    return haul.first;
}

void jzx__urgent_close(struct jzx__worker *me, const struct jzx__addressee *to) {
    struct jzx__node *nodes = remove_queue(me, to->id);
    while (nodes != NULL) {
        struct jzx__node *node = nodes;
        nodes = node->next;
        jzx__counter_add(&me->counters.accepted, 1); /* G5 */
        jzx__node_bury(me, node, to);
    }
}

/* ---- its lane ---- */

/* It is about to be handled. */
static enum jzx__look begin(struct jzx__worker *me, const struct jzx__spot *at) {
    jzx__mailbox_looked(at->actor);
    note_gone(me, at->actor, 1);
    make_plain(at->node);
    return JZX__LOOK_HANDLE;
}

const struct jzx__lane_ops jzx__lane_urgent = {.begin = begin};

/* ---- the public calls ---- */

static jzx_err send(struct jzx_loop *loop, struct jzx__worker *me, jzx_actor_id to,
                    struct jzx__message *message) {
    if (message == NULL)
        return jzx__send_refuse(loop, me, JZX_ERR_NO_MEMORY);
    jzx_err err = jzx__urgent_deliver(loop, me, to, message);
    if (err == JZX_OK)
        return JZX_OK;
    jzx__message_destroy(loop, me, message);
    return jzx__send_refuse(loop, me, err);
}

static struct jzx__message *make(struct jzx_loop *loop, struct jzx__worker *me, jzx_actor_id from,
                                 uint32_t tag, const void *data, size_t len) {
    struct jzx__message *message = jzx__message_create(loop, me, len);
    if (message == NULL)
        return NULL;
    message->sender = from;
    message->tag = tag;
    if (len != 0)
        memcpy(message->payload, data, len);
    return message;
}

jzx_err jzx_send_urgent(jzx_loop *loop, jzx_actor_id to, jzx_actor_id from, const void *data,
                        size_t len, uint32_t tag) {
    if (loop == NULL)
        return JZX_ERR_INVALID_ARG;
    struct jzx__visit visit;
    struct jzx__worker *me = jzx__loop_visit(loop, &visit);
    bool is_valid = (data != NULL || len == 0) && len <= JZX_MSG_LEN_MAX && tag < JZX_TAG_RESERVED;
    jzx_err err = is_valid ? send(loop, me, to, make(loop, me, from, tag, data, len))
                           : jzx__send_refuse(loop, me, JZX_ERR_INVALID_ARG);
    jzx__visit_end(&visit);
    return err;
}

/* Whose turn it is on this thread, for the signals of actors. */
static jzx_err send_signal(jzx_loop *loop, jzx_actor_id to, uint32_t tag, const void *notice,
                           size_t len) {
    jzx_actor_id from = jzx_current_actor();
    struct jzx__visit visit;
    struct jzx__worker *me = jzx__loop_visit(loop, &visit);
    jzx_err err = send(loop, me, to, make(loop, me, from, tag, notice, len));
    jzx__visit_end(&visit);
    return err;
}

jzx_err jzx_actor_exit(jzx_loop *loop, jzx_actor_id id, jzx_exit_reason reason, const char *text) {
    switch (reason) {
    case JZX_EXIT_NORMAL:
    case JZX_EXIT_FAIL:
    case JZX_EXIT_PANIC:
    case JZX_EXIT_SHUTDOWN: break;
    case JZX_EXIT_KILLED: return jzx_actor_stop(loop, id, JZX_STOP_KILL);
    default: return JZX_ERR_INVALID_ARG;
    }
    if (loop == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx_exit_notice notice = {.actor = jzx_current_actor(), .reason = reason};
    snprintf(notice.text, sizeof notice.text, "%s", text == NULL ? "" : text);
    return send_signal(loop, id, JZX_TAG_EXIT, &notice, sizeof notice);
}

jzx_err jzx_actor_cancel(jzx_loop *loop, jzx_actor_id id, uint64_t deadline_ns, const char *text) {
    if (loop == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx_stop_notice notice = {.deadline_ns = deadline_ns, .reason = JZX_EXIT_NORMAL};
    snprintf(notice.text, sizeof notice.text, "%s", text == NULL ? "" : text);
    return send_signal(loop, id, JZX_TAG_STOP, &notice, sizeof notice);
}
