/* SPDX-License-Identifier: MIT */
/* A group of actors that chat (big, groups, mixed, phases): each sends pings to random others of
 * its group, one at a time, and answers theirs. Who has sent all its pings and got the last answer
 * tells the judge, and still answers. */
#ifndef JZX_BENCH_CHATTY_H
#define JZX_BENCH_CHATTY_H

#include "bench.h"

#ifndef CHAT_ACTORS
#define CHAT_ACTORS 120u /* in a group */
#endif

enum { CHAT_START, CHAT_PING, CHAT_PONG, CHAT_DONE };

struct chatter {
    BENCH_APART uint64_t left;
    uint64_t random;
    uint64_t answered;
    const jzx_actor_id *group;
    jzx_actor_id judge;
};

/* Sets up number i of a group. */
static inline struct chatter chat_member(const jzx_actor_id *group, unsigned i, uint64_t pings,
                                         jzx_actor_id judge) {
    return (struct chatter){
        .left = pings, .random = 88172645463325252u + i * 7919u, .group = group, .judge = judge};
}

/* The behaviour; the state begins with a struct chatter. */
static inline jzx_behavior_result chat(jzx_context *ctx, const jzx_message *msg) {
    struct chatter *self = ctx->state;
    if (msg->tag == CHAT_PING) {
        bench_send(ctx, msg->sender, CHAT_PONG, 0);
        return JZX_BEHAVIOR_OK;
    }
    if (msg->tag == CHAT_PONG)
        self->answered++;
    if (self->left != 0) {
        self->left--;
        bench_send(ctx, self->group[bench_random(&self->random) % CHAT_ACTORS], CHAT_PING, 0);
    } else {
        bench_send(ctx, self->judge, CHAT_DONE, 0);
    }
    return JZX_BEHAVIOR_OK;
}

#endif
