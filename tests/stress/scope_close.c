/* SPDX-License-Identifier: MIT */
/* Scopes that behaviours on two workers close, against cancels of another thread and kills: each
 * close is told once, or its opener has ended. */
#include "fixture.h"

#include <jzx/async.h>
#include <jzx/op.h>
#include <jzx/scope.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

enum { GO = 1, CLOSED };

#define OPENERS 4u
#define MEMBERS 3u

struct pause {
    uint32_t times;
};

JZX_ASYNC(pause, struct pause, int) {
    for (; self->times != 0; self->times--)
        JZX_YIELD();
    JZX_RETURN(0);
}
JZX_END

struct opener {
    uint64_t to_do;
    uint64_t closed;
    uint64_t cancelled;
    uint32_t index;
};

static _Atomic jzx_op board[OPENERS];
static atomic_bool is_over;
static _Atomic jzx_actor_id victim;

static void open_and_close(jzx_context *ctx, const struct opener *self) {
    jzx_scope *scope = NULL;
    jzx_op op;
    JZX_EXPECT_EQ(jzx_scope_open(ctx, JZX_NEVER, &scope), JZX_OK);
    for (uint32_t i = 0; i < MEMBERS; i++) {
        const struct pause state = {.times = (uint32_t)(self->closed + i) % 4};
        JZX_EXPECT_EQ(jzx_scope_async(scope, &pause_type, &state, NULL), JZX_OK);
    }
    JZX_EXPECT_EQ(jzx_scope_close_to(ctx, scope, CLOSED, &op), JZX_OK);
    if (self->closed % 2 == 0)
        atomic_store(&board[self->index], op);
}

static jzx_behavior_result be_opener(jzx_context *ctx, const jzx_message *msg) {
    struct opener *self = ctx->state;
    if (msg->tag == CLOSED) {
        const jzx_result *result = msg->data;
        jzx_scope_result how;
        JZX_EXPECT(result->err == JZX_OK || result->err == JZX_ERR_CANCELLED);
        memcpy(&how, jzx_result_data(result), sizeof how);
        JZX_EXPECT_EQ(how.ended, MEMBERS);
        self->cancelled += result->err == JZX_ERR_CANCELLED;
        if (++self->closed == self->to_do)
            return JZX_BEHAVIOR_STOP;
    }
    open_and_close(ctx, self);
    return JZX_BEHAVIOR_OK;
}

static void *cancel_from_outside(void *arg) {
    for (uint32_t i = 0; !atomic_load(&is_over); i++) {
        jzx_op op = atomic_exchange(&board[i % OPENERS], JZX_NO_OP);
        if (op != JZX_NO_OP)
            (void)jzx_op_cancel(arg, op);
        if (i == 2000)
            JZX_EXPECT_EQ(jzx_actor_stop(arg, atomic_load(&victim), JZX_STOP_KILL), JZX_OK);
        sched_yield();
    }
    return NULL;
}

JZX_TEST(each_close_is_told_once) {
    static struct opener openers[OPENERS];
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 2));
    jzx_actor_id ids[OPENERS];
    pthread_t thread;
    atomic_store(&is_over, false);
    for (uint32_t i = 0; i < OPENERS; i++) {
        openers[i] = (struct opener){.to_do = jzx_test_rounds(500, 20000), .index = i};
        ids[i] = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = be_opener, .state = &openers[i]));
        fixture_send(loop, ids[i], GO);
    }
    openers[0].to_do = UINT64_MAX; /* until it is killed, by the thread beside the loop */
    atomic_store(&victim, ids[0]);
    assert_int_equal(pthread_create(&thread, NULL, cancel_from_outside, loop), 0);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    atomic_store(&is_over, true);
    pthread_join(thread, NULL);
    for (uint32_t i = 1; i < OPENERS; i++)
        JZX_EXPECT_EQ(openers[i].closed, openers[i].to_do);
    fixture_destroy(loop);
    JZX_EXPECT_EQ(fixture_bytes(), 0);
}
