/* SPDX-License-Identifier: MIT */
/* A message: a header of 32 bytes and the payload behind it, in one block. A payload of up to 32
 * bytes makes a block of 64, one cache line. Because the payload is part of the block, moving a
 * buffer and taking a payload are changes of ownership, without a copy and without an allocation.
 *
 * M1  a block has one owner: a caller (alloc, take), a mailbox or stash, the turn that handles it.
 * M2  who owns a block releases it once: its destructor runs then, and never otherwise.
 * M3  every message that entered a mailbox was counted as accepted, and is counted once more when
 *     it leaves: as handled or as dead.
 * M5  a block that a caller owns has its mark in place of the sender, and no other block has. The
 *     calls that take a buffer look at it; sends and turns, which see no pointer of a caller's, do
 *     not pay for it.
 *
 * **Checked** blocks are those of a loop with the default allocator that runs under
 * AddressSanitizer or memcheck. Each comes from malloc by itself, so that the tool sees what is
 * used after it was freed; the bytes behind the payload are hidden from everybody, and so is the
 * payload of a moved buffer while it waits in a mailbox or a stash.
 *
 * **Stamped** blocks are those of a loop with config.stamp_messages. The time of the send stands in
 * the cache line in front of the header, so that the layout behind it is that of any block. Such a
 * loop has inline_end 0: the sends that decide by it leave the common case, and a loop without
 * stamps pays nothing. */
#ifndef JZX_ACTOR_MESSAGE_H
#define JZX_ACTOR_MESSAGE_H

#include "actor/lane.h"
#include "actor/loop.h"
#include "base/memcheck.h"
#include "base/slab.h"

#include "jzx/message.h"

#include <string.h>

/* Tags of messages to supervisors. */
#define JZX__TAG_CHILD_ENDED 0xFFFF000Bu

/* node.flags: what the last word of a block is, in the low bits, */
enum jzx__trailer {
    JZX__TRAILER_NONE,       /* part of the payload, or nothing */
    JZX__TRAILER_DESTRUCTOR, /* to be called when the block is released */
    JZX__TRAILER_OTHER,      /* the owner's own */
    JZX__TRAILER_QUESTION,   /* the reference of the question that the message is, unanswered yet */
    JZX__TRAILER_ANSWER,     /* the reference of the question that the message answers */
    JZX__TRAILER_KEPT        /* the watch of a question that waits for a successor: see watch.h */
};
#define JZX__MSG_TRAILER_MASK 0x07u
/* and bits; none is free, 0x80 is JZX__NODE_HINTED. */
#define JZX__MSG_HIDDEN 0x08u    /* a checked block whose payload nobody may touch */
#define JZX__MSG_REF 0x40u       /* a reference to a shared buffer, see share.h */
#define JZX__MSG_EXPECTED 0x10u  /* an answer that its question has by now, see ask.h */
#define JZX__MSG_UNCOUNTED 0x20u /* not counted as accepted by a push: its lane sees to that */

/* node.size_class of a block from the allocator hooks. */
#define JZX__MSG_LARGE JZX__SLAB_CLASS_COUNT
/* node.size_class of a block that is part of a timer's record. RETIRED: never to be used again. */
#define JZX__MSG_EMBEDDED 0x10u
#define JZX__MSG_RETIRED 0x11u
#define JZX__MSG_EMBEDDED_SIZE JZX__BLOCK_SIZE_MIN
/* With one of these: a buffer with a count, see share.h; never in a mailbox. */
#define JZX__MSG_SHARED 0x20u
/* node.size_class of a checked block, and the bytes behind its payload. */
#define JZX__MSG_CHECKED 0x40u
#define JZX__MSG_GAP 64u
/* With any of these that the allocator or a slab gave: a stamped block. */
#define JZX__MSG_STAMPED 0x80u

struct jzx__message {
    struct jzx__node node;
    jzx_actor_id sender;
    uint32_t tag;
    uint32_t len;
    char payload[];
};

_Static_assert(sizeof(struct jzx__message) == 32, "header");
_Static_assert(sizeof(struct jzx__message) + JZX_MSG_INLINE == JZX__BLOCK_SIZE_MIN, "one line");

static inline struct jzx__message *jzx__message_of(struct jzx__node *node) {
    return JZX_CONTAINER_OF(node, struct jzx__message, node);
}

static inline enum jzx__trailer jzx__message_trailer_kind(const struct jzx__message *message) {
    return (enum jzx__trailer)(message->node.flags & JZX__MSG_TRAILER_MASK);
}

static inline void jzx__message_set_trailer_kind(struct jzx__message *message,
                                                 enum jzx__trailer kind) {
    message->node.flags = (uint8_t)((message->node.flags & ~JZX__MSG_TRAILER_MASK) | kind);
}

static inline bool jzx__message_is_shared(const struct jzx__message *message) {
    return (message->node.size_class & JZX__MSG_SHARED) != 0;
}

static inline bool jzx__message_is_checked(const struct jzx__message *message) {
    return (message->node.size_class & JZX__MSG_CHECKED) != 0;
}

static inline struct jzx__message *jzx__message_of_data(void *data) {
    return JZX_CONTAINER_OF(data, struct jzx__message, payload);
}

/* How the blocks of a loop are made: sets inline_end, checks, stamps and short_class. */
void jzx__message_settle(struct jzx_loop *loop, const jzx_config *config);

/* ---- buffers of callers (M5) ---- */

static inline uint64_t jzx__message_mark(const struct jzx_loop *loop,
                                         const struct jzx__message *message) {
    return 0xB0FFE12D0C0FFEE5u ^ (uint64_t)(uintptr_t)loop << 16 ^ (uint64_t)(uintptr_t)message;
}

/* Of a block that may be anything, on a line that is there. */
static JZX__PEEKS uint64_t jzx__message_peek(const struct jzx__message *message) {
    return message->sender;
}

static inline bool jzx__message_is_callers(const struct jzx_loop *loop,
                                           const struct jzx__message *message) {
    return (uintptr_t)message % JZX_CACHE_LINE == 0 &&
           jzx__message_peek(message) == jzx__message_mark(loop, message);
}

/* The block becomes a caller's. */
static inline void jzx__message_give(const struct jzx_loop *loop, struct jzx__message *message) {
    message->sender = jzx__message_mark(loop, message);
}

JZX_COLD void jzx__message_refuse(struct jzx_loop *loop, void *data, const char *call);

/* The block of a buffer that was given to a call; NULL, and a report in the log, if it is not the
 * caller's. */
static inline struct jzx__message *jzx__message_claim(struct jzx_loop *loop, void *data,
                                                      const char *call) {
    struct jzx__message *message = jzx__message_of_data(data);
    if (JZX_LIKELY(jzx__message_is_callers(loop, message)))
        return message;
    jzx__message_refuse(loop, data, call);
    return NULL;
}

/* True, with a report, if the only reference to a shared buffer is that of the message in hand. In
 * a visit. */
bool jzx__message_is_borrowed(struct jzx_loop *loop, const struct jzx__visit *visit,
                              struct jzx__message *block, const char *call);

/* The payload of a checked block, before it goes into a mailbox or a stash, and after. */
void jzx__message_hide(struct jzx__message *message);
void jzx__message_show(struct jzx__message *message);

/* ---- blocks ---- */

/* memcpy for at most JZX_MSG_INLINE bytes, without a call: two moves that may overlap. */
static inline void jzx__copy_short(char *to, const char *from, size_t len) {
    if (len == 8) {
        memcpy(to, from, 8);
    } else if (len >= 16) {
        memcpy(to + len - 16, from + len - 16, 16);
        memcpy(to, from, 16);
    } else if (len >= 8) {
        memcpy(to + len - 8, from + len - 8, 8);
        memcpy(to, from, 8);
    } else if (len >= 4) {
        memcpy(to + len - 4, from + len - 4, 4);
        memcpy(to, from, 4);
    } else {
        for (size_t i = 0; i < len; i++)
            to[i] = from[i];
    }
}

/* A block for a payload of len bytes and perhaps a destructor, or NULL. Of the header the size
 * class, lane, len and flags are set. */
JZX_COLD struct jzx__message *jzx__message_create_large(struct jzx_loop *loop,
                                                        struct jzx__worker *me, size_t len,
                                                        jzx_msg_destructor destructor);

/* For a block whose last word is not a destructor but the caller's: see its flags. */
void jzx__no_destructor(void *data, size_t len);
void *jzx__message_trailer(struct jzx__message *message);

/* The common case: a payload that is shorter than inline_end, and no destructor. */
static inline struct jzx__message *jzx__message_create_small(struct jzx_loop *loop,
                                                             struct jzx__worker *me, size_t len) {
    struct jzx__message *message = JZX_LIKELY(me != NULL) ? jzx__slab_alloc(&me->slab, 0)
                                                          : jzx__sched_alloc(&loop->sched, NULL, 0);
    if (JZX_UNLIKELY(message == NULL))
        return NULL;
    message->node.lane = JZX__LANE_USER;
    message->node.flags = 0;
    message->node.size_class = 0;
    message->len = (uint32_t)len;
    return message;
}

/* Any payload without a destructor. */
static inline struct jzx__message *jzx__message_create(struct jzx_loop *loop,
                                                       struct jzx__worker *me, size_t len) {
    return JZX_LIKELY(len < loop->inline_end) ? jzx__message_create_small(loop, me, len)
                                              : jzx__message_create_large(loop, me, len, NULL);
}

JZX_COLD void jzx__message_destroy_large(struct jzx_loop *loop, struct jzx__worker *me,
                                         struct jzx__message *message);

/* Releases a block: runs its destructor, gives the memory back. */
static inline void jzx__message_destroy(struct jzx_loop *loop, struct jzx__worker *me,
                                        struct jzx__message *message) {
    if (JZX_LIKELY(me != NULL && jzx__node_is_plain(&message->node)))
        jzx__slab_free(&me->slab, 0, message);
    else
        jzx__message_destroy_large(loop, me, message);
}

/* A block of a caller that the caller will never release, as the loop is destroyed: its pool has it
 * back, if it is of one. No destructor runs. */
void jzx__message_abandon(struct jzx_loop *loop, struct jzx__worker *me,
                          struct jzx__message *message);

/* Writes the time of the send into a stamped block; a new one has it already. */
JZX_COLD void jzx__message_stamp_now(const struct jzx_loop *loop, struct jzx__message *message);

static inline void jzx__message_stamp(const struct jzx_loop *loop, struct jzx__message *message) {
    if (JZX_UNLIKELY(message->node.size_class & JZX__MSG_STAMPED))
        jzx__message_stamp_now(loop, message);
}

/* The time of the send, or 0: of a block that is not stamped, and of what no user's send made. */
uint64_t jzx__message_sent_ns(const struct jzx__message *message);

/* Bytes that a message takes. */
size_t jzx__message_size_bytes(const struct jzx__message *message);

/* An accepted message of actor id (named name) that nobody will handle: counted, shown to the
 * observer, released. On the driving thread. */
void jzx__message_bury(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__message *message,
                       jzx_actor_id id, const char *name);

/* A node of any lane that will reach no actor. On the driving thread. */
void jzx__node_bury(struct jzx__worker *me, struct jzx__node *node,
                    const struct jzx__addressee *to);

/* True if only the worker can release it. */
static inline bool jzx__message_needs_worker(const struct jzx__message *message) {
    return jzx__lane_of(&message->node)->release != NULL;
}

/* The same for a list of messages, which is empty then. */
void jzx__message_bury_all(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__node **nodes,
                           jzx_actor_id id, const char *name);

#endif
