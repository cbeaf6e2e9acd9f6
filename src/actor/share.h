/* SPDX-License-Identifier: MIT */
/* Shared payloads: one buffer, any number of references.
 *
 * A buffer that is shared stays where it is. Its block is in no list any more, so that the link in
 * its header is free to be the count. What travels is a **reference**: a message of 64 bytes with
 * the flag JZX__MSG_REF and the address of the buffer's block as its payload.
 *
 * M4  the count of a shared block is the number of callers and messages that have a reference. Who
 *     brings it to 0 owns the block (M1) and releases it (M2). */
#ifndef JZX_ACTOR_SHARE_H
#define JZX_ACTOR_SHARE_H

#include "actor/message.h"

/* The header of a block that is shared. */
struct jzx__shared {
    _Atomic uint64_t references;
};

_Static_assert(sizeof(struct jzx__shared) <= offsetof(struct jzx__node, generation), "the link");

/* The buffer that a message with JZX__MSG_REF is a reference to. */
static inline struct jzx__message *jzx__message_target(const struct jzx__message *message) {
    struct jzx__message *target;
    memcpy(&target, message->payload, sizeof target);
    return target;
}

JZX_COLD void *jzx__message_reveal(struct jzx__message *message);

/* What a receiver is shown. */
static inline void *jzx__message_data(struct jzx__message *message) {
    if (JZX_UNLIKELY(message->node.flags & (JZX__MSG_REF | JZX__MSG_HIDDEN)))
        return jzx__message_reveal(message);
    return message->payload;
}

/* Makes a block of the caller's a shared one, with one reference. */
void jzx__shared_init(struct jzx__message *block);

/* One more reference, for a caller that has one. */
void jzx__shared_acquire(struct jzx__message *block);

/* True if nobody has a reference but one. */
bool jzx__shared_is_last(struct jzx__message *block);

/* Gives a reference up. True if it was the last one: the block is the caller's. */
bool jzx__shared_release(struct jzx__message *block);

/* A message that takes over a reference of the caller's; NULL without memory. */
struct jzx__message *jzx__shared_wrap(struct jzx_loop *loop, struct jzx__worker *me,
                                      struct jzx__message *block);

/* Takes the reference out of a message, which is freed. */
struct jzx__message *jzx__shared_unwrap(struct jzx_loop *loop, struct jzx__worker *me,
                                        struct jzx__message *message);

#endif
