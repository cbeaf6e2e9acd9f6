/* SPDX-License-Identifier: MIT */
/* Blocks for messages, and what becomes of those that nobody handles. */
#include "actor/message.h"

#include "actor/misuse.h"
#include "actor/own.h"
#include "actor/owned.h"
#include "actor/part.h"
#include "actor/share.h"
#include "base/alloc.h"
#include "base/clock.h"

#include <string.h>

/* The destructor stands at the end of its block, so that the payload may be as long as the class
 * allows. */
static size_t block_need(size_t len, bool has_destructor) {
    return sizeof(struct jzx__message) + len + (has_destructor ? sizeof(jzx_msg_destructor) : 0);
}

static uint32_t class_of(const struct jzx__message *message) {
    return message->node.size_class & ~(JZX__MSG_SHARED | JZX__MSG_STAMPED);
}

/* What a stamped block has in front of the header: a whole line, which keeps that aligned. */
struct stamp {
    _Alignas(JZX_CACHE_LINE) uint64_t sent_ns;
};

static size_t lead_size(const struct jzx__message *message) {
    return message->node.size_class & JZX__MSG_STAMPED ? sizeof(struct stamp) : 0;
}

/* From the header on. */
static size_t block_size(const struct jzx__message *message) {
    bool tailed = jzx__message_trailer_kind(message) != JZX__TRAILER_NONE;
    if (JZX_LIKELY(class_of(message) < JZX__SLAB_CLASS_COUNT))
        return ((size_t)JZX__BLOCK_SIZE_MIN << class_of(message)) - lead_size(message);
    switch (class_of(message)) {
    case JZX__MSG_EMBEDDED:
    case JZX__MSG_RETIRED: return JZX__MSG_EMBEDDED_SIZE;
    case JZX__MSG_LARGE: return block_need(message->len, tailed);
    default: return block_need(message->len, tailed) + JZX__MSG_GAP;
    }
}

size_t jzx__message_size_bytes(const struct jzx__message *message) {
    return lead_size(message) + block_size(message);
}

void *jzx__message_trailer(struct jzx__message *message) {
    return (char *)message + block_size(message) - sizeof(jzx_msg_destructor);
}

void jzx__no_destructor(void *data, size_t len) {
    (void)data;
    (void)len;
}

void jzx__message_settle(struct jzx_loop *loop, const jzx_config *config) {
    loop->checks = jzx__alloc_is_checked(&config->allocator);
    loop->stamps = config->stamp_messages;
    loop->inline_end = loop->checks || loop->stamps ? 0 : JZX_MSG_INLINE + 1;
    loop->short_class = jzx__slab_class(block_need(JZX_MSG_INLINE, false) +
                                        (loop->stamps ? sizeof(struct stamp) : 0));
}

static struct stamp *stamp_of(struct jzx__message *message) {
    return (struct stamp *)(void *)message - 1;
}

void jzx__message_stamp_now(const struct jzx_loop *loop, struct jzx__message *message) {
    stamp_of(message)->sent_ns = jzx__clock_now(&loop->sched.clock);
}

/* The messages of the runtime are often made long before they are sent. */
uint64_t jzx__message_sent_ns(const struct jzx__message *message) {
    bool is_sent = message->node.lane == JZX__LANE_USER || message->node.lane == JZX__LANE_ANSWER ||
                   message->node.lane == JZX__LANE_URGENT;
    if (!is_sent || lead_size(message) == 0)
        return 0;
    return ((const struct stamp *)(const void *)message - 1)->sent_ns;
}

struct jzx__message *jzx__message_create_large(struct jzx_loop *loop, struct jzx__worker *me,
                                               size_t len, jzx_msg_destructor destructor) {
    size_t lead = loop->stamps ? sizeof(struct stamp) : 0;
    size_t need = lead + block_need(len, destructor != NULL) + (loop->checks ? JZX__MSG_GAP : 0);
    uint32_t class_index = loop->checks ? JZX__MSG_CHECKED : jzx__slab_class(need);
    char *block = class_index < JZX__SLAB_CLASS_COUNT
                      ? jzx__sched_alloc(&loop->sched, me, class_index)
                      : jzx__alloc_aligned(&loop->sched.allocator, need, JZX_CACHE_LINE);
    if (block == NULL)
        return NULL;
    struct jzx__message *message = (void *)(block + lead);
    message->node.lane = JZX__LANE_USER;
    message->node.flags = 0;
    message->node.size_class = (uint8_t)(class_index | (lead != 0 ? JZX__MSG_STAMPED : 0));
    message->len = (uint32_t)len;
    jzx__message_stamp(loop, message);
    if (loop->checks)
        jzx__memcheck_hide(message->payload + len, JZX__MSG_GAP);
    if (destructor != NULL) {
        message->node.flags = JZX__TRAILER_DESTRUCTOR;
        memcpy(jzx__message_trailer(message), &destructor, sizeof destructor);
    }
    return message;
}

void jzx__message_hide(struct jzx__message *message) {
    message->node.flags |= JZX__MSG_HIDDEN;
    jzx__memcheck_hide(message->payload, message->len);
}

void jzx__message_show(struct jzx__message *message) {
    message->node.flags &= (uint8_t)~JZX__MSG_HIDDEN;
    jzx__memcheck_show(message->payload, message->len);
}

/* Until the block is used again, who frees it once more is told so. */
static void note_freed(const struct jzx_loop *loop, struct jzx__message *message) {
    message->sender = ~jzx__message_mark(loop, message);
}

static void free_block(struct jzx_loop *loop, struct jzx__worker *me,
                       struct jzx__message *message) {
    char *block = (char *)message - lead_size(message);
    switch (class_of(message)) {
    case JZX__MSG_RETIRED: break;
    case JZX__MSG_EMBEDDED: loop->part_ops[JZX__PART_TIMER]->free_block(loop, me, message); break;
    case JZX__MSG_CHECKED: /* the allocator is the default one, which takes hidden bytes back */
    case JZX__MSG_LARGE:
        jzx__owned_remove(loop, message);
        jzx__free_aligned(&loop->sched.allocator, block, jzx__message_size_bytes(message),
                          JZX_CACHE_LINE);
        break;
    default: jzx__sched_free(&loop->sched, me, class_of(message), block); break;
    }
}

/* ---- destructors ---- */

/* A destructor that runs on this thread. It may release a message whose destructor releases the
 * next one, and so on: from JZX_NESTING_MAX on they run one after another, so that a list of any
 * length can be released so. */
struct running {
    const struct jzx_loop *loop; /* of its message */
    struct running *outer;
    uint32_t depth;
};

static _Thread_local struct {
    struct running *innermost;
    struct jzx__node *put_off; /* messages whose destructors are due when the innermost returns;
                                * their sender is their loop */
} destructors;

static void call_destructor(struct jzx__message *message) {
    jzx_msg_destructor destructor;
    memcpy(&destructor, jzx__message_trailer(message), sizeof destructor);
    destructor(message->payload, message->len);
}

/* True if the message is released later, as enough destructors run already. Its loop must be there
 * then: one of them is inside a call of it. */
static bool put_off(const struct jzx_loop *loop, struct jzx__message *message) {
    const struct running *running = destructors.innermost;
    if (running == NULL || running->depth < JZX_NESTING_MAX)
        return false;
    while (running != NULL && running->loop != loop)
        running = running->outer;
    if (running == NULL)
        return false;
    message->sender = (uint64_t)(uintptr_t)loop;
    message->node.next = destructors.put_off;
    destructors.put_off = &message->node;
    return true;
}

static void release_put_off(void) {
    while (destructors.put_off != NULL) {
        struct jzx__message *message = jzx__message_of(destructors.put_off);
        struct jzx_loop *loop = (struct jzx_loop *)(uintptr_t)message->sender;
        struct jzx__visit visit;
        destructors.put_off = message->node.next;
        note_freed(loop, message);
        call_destructor(message);
        struct jzx__worker *me = jzx__loop_visit(loop, &visit);
        free_block(loop, me, message);
        jzx__visit_end(&visit);
    }
}

static void run_destructor(const struct jzx_loop *loop, struct jzx__message *message) {
    struct running *outer = destructors.innermost;
    struct running running = {loop, outer, outer == NULL ? 1 : outer->depth + 1};
    struct jzx__visit visit;
    jzx__visit_begin(&visit); /* S3 of seat.h */
    destructors.innermost = &running;
    call_destructor(message);
    if (running.depth >= JZX_NESTING_MAX)
        release_put_off();
    destructors.innermost = outer;
    jzx__visit_end(&visit);
}

/* A question or an answer in a block of the smallest class. */
static bool is_short_letter(const struct jzx__message *message) {
    uint32_t flags = message->node.flags & (uint32_t)~JZX__MSG_EXPECTED;
    return message->node.lane == JZX__LANE_USER && message->node.size_class == 0 &&
           flags - JZX__TRAILER_OTHER <= JZX__TRAILER_ANSWER - JZX__TRAILER_OTHER;
}

void jzx__message_destroy_large(struct jzx_loop *loop, struct jzx__worker *me,
                                struct jzx__message *message) {
    if (me != NULL && is_short_letter(message)) {
        jzx__slab_free(&me->slab, 0, message);
        return;
    }
    if (jzx__message_needs_worker(message)) {
        jzx__lane_of(&message->node)->release(loop, me, message);
        return;
    }
    if (message->node.flags & JZX__MSG_REF) {
        message = jzx__shared_unwrap(loop, me, message);
        if (!jzx__message_is_callers(loop, message)) {
            jzx__misuse_report(loop, "a shared buffer", message->payload,
                               "it was freed more often than it was shared");
            return;
        }
    }
    if (jzx__message_is_shared(message)) {
        if (!jzx__shared_release(message))
            return;
        note_freed(loop, message);
    }
    if (message->node.flags & JZX__MSG_HIDDEN)
        jzx__message_show(message);
    if (jzx__message_trailer_kind(message) == JZX__TRAILER_DESTRUCTOR) {
        if (put_off(loop, message))
            return;
        run_destructor(loop, message);
    }
    if (jzx__message_trailer_kind(message) == JZX__TRAILER_KEPT) {
        loop->part_ops[JZX__PART_WATCH]->lose(loop, me, message);
    }
    free_block(loop, me, message);
}

void jzx__message_bury(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__message *message,
                       jzx_actor_id id, const char *name) {
    jzx__loop_count(loop, me, dead);
    if (jzx__observer_is_set(&loop->observer)) {
        jzx_event event = {.kind = JZX_EVENT_DEAD_LETTER,
                           .actor = id,
                           .name = name,
                           .sender = message->sender,
                           .tag = message->tag,
                           .len = message->len,
                           .count = 1};
        jzx__loop_emit(loop, &event);
    }
    jzx__message_destroy(loop, me, message);
}

void jzx__node_bury(struct jzx__worker *me, struct jzx__node *node,
                    const struct jzx__addressee *to) {
    const struct jzx__lane_ops *lane = jzx__lane_of(node);
    if (lane->bury != NULL)
        lane->bury(me, node, to);
    else
        jzx__message_bury(jzx__loop_of(me), me, jzx__message_of(node), to->id, to->name);
}

void jzx__message_bury_all(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__node **nodes,
                           jzx_actor_id id, const char *name) {
    while (*nodes != NULL) {
        struct jzx__node *node = *nodes;
        *nodes = node->next;
        jzx__message_bury(loop, me, jzx__message_of(node), id, name);
    }
}

/* ---- buffers of callers (M5) ---- */

static const char in_hand[] = "it is the message in hand, which was not taken (jzx_msg_take)";

/* The message that is being handled on this thread, or NULL. */
static struct jzx__message *current_message(void) {
    const struct jzx__turn *turn = jzx__running_turn();
    return turn == NULL ? NULL : turn->current;
}

void jzx__message_refuse(struct jzx_loop *loop, void *data, const char *call) {
    const struct jzx__message *message = jzx__message_of_data(data);
    const char *what = "the caller does not own it: it was sent, freed or never taken, or it is no "
                       "message buffer of this loop";
    if ((uintptr_t)message % JZX_CACHE_LINE != 0)
        what = "it is no message buffer";
    else if (current_message() == message)
        what = in_hand;
    else if (jzx__message_peek(message) == ~jzx__message_mark(loop, message))
        what = "it was freed before";
    jzx__misuse_report(loop, call, data, what);
}

bool jzx__message_is_borrowed(struct jzx_loop *loop, const struct jzx__visit *visit,
                              struct jzx__message *block, const char *call) {
    const struct jzx__message *current =
        visit->was == 0 && jzx__shared_is_last(block) ? current_message() : NULL;
    if (current == NULL || !(current->node.flags & JZX__MSG_REF) ||
        jzx__message_target(current) != block)
        return false;
    jzx__misuse_report(loop, call, block->payload, in_hand);
    return true;
}

void *jzx_msg_alloc(jzx_loop *loop, size_t len, jzx_msg_destructor destructor) {
    if (loop == NULL || len > JZX_MSG_LEN_MAX)
        return NULL;
    struct jzx__visit visit;
    struct jzx__worker *me = jzx__loop_visit(loop, &visit);
    struct jzx__message *message = jzx__message_create_large(loop, me, len, destructor);
    jzx__visit_end(&visit);
    if (message == NULL)
        return NULL;
    jzx__message_give(loop, message);
    jzx__owned_add(loop, message);
    return message->payload;
}

void jzx__message_abandon(struct jzx_loop *loop, struct jzx__worker *me,
                          struct jzx__message *message) {
    note_freed(loop, message);
    if (class_of(message) != JZX__MSG_CHECKED && class_of(message) != JZX__MSG_LARGE)
        free_block(loop, me, message);
}

void jzx_msg_free(jzx_loop *loop, void *data) {
    static const char call[] = "jzx_msg_free";
    if (loop == NULL || data == NULL)
        return;
    struct jzx__visit visit;
    struct jzx__worker *me = jzx__loop_visit(loop, &visit);
    struct jzx__message *message = jzx__message_claim(loop, data, call);
    if (message != NULL && !jzx__message_is_shared(message)) {
        note_freed(loop, message);
        jzx__message_destroy(loop, me, message);
    } else if (message != NULL && !jzx__message_is_borrowed(loop, &visit, message, call)) {
        jzx__message_destroy(loop, me, message);
    }
    jzx__visit_end(&visit);
}

size_t jzx_msg_len(const void *data) {
    if (data == NULL || (uintptr_t)data % JZX_CACHE_LINE != offsetof(struct jzx__message, payload))
        return 0;
    const char *block = (const char *)data - offsetof(struct jzx__message, payload);
    return ((const struct jzx__message *)(const void *)block)->len;
}
