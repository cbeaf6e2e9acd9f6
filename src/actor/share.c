/* SPDX-License-Identifier: MIT */
/* Counting references, and putting them into messages. */
#include "actor/share.h"

static struct jzx__shared *shared_of(struct jzx__message *block) {
    return (void *)block;
}

void jzx__shared_init(struct jzx__message *block) {
    block->node.size_class |= JZX__MSG_SHARED;
    /* relaxed: the caller's alone as yet; whoever gets a reference gets it by a publication */
    jzx__atomic_store_relaxed(&shared_of(block)->references, 1u);
}

void *jzx__message_reveal(struct jzx__message *message) {
    if (message->node.flags & JZX__MSG_HIDDEN)
        jzx__message_show(message);
    return message->node.flags & JZX__MSG_REF ? jzx__message_target(message)->payload
                                              : message->payload;
}

void jzx__shared_acquire(struct jzx__message *block) {
    /* relaxed: the caller has a reference, so that it cannot go away */
    jzx__atomic_add_relaxed(&shared_of(block)->references, 1u);
}

bool jzx__shared_is_last(struct jzx__message *block) {
    /* relaxed: only who has a reference can make another */
    return jzx__atomic_load_relaxed(&shared_of(block)->references) == 1;
}

bool jzx__shared_release(struct jzx__message *block) {
    /* release: pairs with the acquire of who gives up the last one; reads of the buffer come first.
     * UINT64_MAX is minus one */
    return jzx__atomic_add_acq_rel(&shared_of(block)->references, UINT64_MAX) == 1;
}

struct jzx__message *jzx__shared_wrap(struct jzx_loop *loop, struct jzx__worker *me,
                                      struct jzx__message *block) {
    struct jzx__message *message = jzx__message_create(loop, me, sizeof block);
    if (message == NULL)
        return NULL;
    message->node.flags = JZX__MSG_REF;
    message->len = block->len;
    memcpy(message->payload, &block, sizeof block);
    return message;
}

struct jzx__message *jzx__shared_unwrap(struct jzx_loop *loop, struct jzx__worker *me,
                                        struct jzx__message *message) {
    struct jzx__message *block = jzx__message_target(message);
    message->node.flags = 0; /* the reference is the caller's */
    jzx__message_destroy(loop, me, message);
    return block;
}

void *jzx_msg_share(jzx_loop *loop, void *data) {
    if (loop == NULL || data == NULL)
        return NULL;
    struct jzx__message *block = jzx__message_claim(loop, data, "jzx_msg_share");
    if (block == NULL)
        return NULL;
    if (!jzx__message_is_shared(block))
        jzx__shared_init(block);
    return data;
}
