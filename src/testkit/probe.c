/* SPDX-License-Identifier: MIT */
/* Probes: actors that record what they get.
 *
 * The record is shared by the actor and the one who made it, and goes with the second of them: the
 * actor may end first, with its loop, or be ended. Its lock is for that, and for looks at the trace
 * from another thread. */
#include "actor/loop.h"
#include "base/alloc.h"
#include "base/lock.h"
#include "command/roll.h"

#include "jzx/test.h"

#include <string.h>

#define STEPS_FIRST 64u

struct jzx_test_probe {
    struct jzx_loop *loop; /* not to be touched when the actor has ended */
    jzx_allocator allocator;
    jzx_actor_id id;
    jzx_actor_id to;

    struct jzx__lock lock; /* of what follows */
    uint32_t references;
    bool has_ended;
    bool is_cut;
    struct jzx__roll data;
    jzx_trace_step *steps;
    size_t count;
    size_t size;
};

/* The lock, in a visit (S4 of seat.h). */
static void lock(struct jzx_test_probe *probe, struct jzx__visit *visit) {
    (void)jzx__visit_begin(visit);
    jzx__lock_acquire(&probe->lock);
}

static void unlock(struct jzx_test_probe *probe, struct jzx__visit *visit) {
    jzx__lock_release(&probe->lock);
    jzx__visit_end(visit);
}

static void release(struct jzx_test_probe *probe, bool has_ended) {
    struct jzx__visit visit;
    lock(probe, &visit);
    probe->has_ended = probe->has_ended || has_ended;
    bool is_last = --probe->references == 0;
    unlock(probe, &visit);
    if (!is_last)
        return;
    jzx_allocator allocator = probe->allocator;
    jzx__roll_clear(&probe->data, &allocator);
    if (probe->steps != NULL)
        jzx__free(&allocator, probe->steps, probe->size * sizeof *probe->steps);
    jzx__lock_deinit(&probe->lock);
    jzx__free(&allocator, probe, sizeof *probe);
}

/* ---- recording: under the lock ---- */

static bool has_room(struct jzx_test_probe *probe) {
    if (probe->count < probe->size)
        return true;
    size_t size = probe->size == 0 ? STEPS_FIRST : probe->size * 2;
    jzx_trace_step *steps = jzx__alloc(&probe->allocator, size * sizeof *steps);
    if (steps == NULL)
        return false;
    if (probe->steps != NULL) {
        memcpy(steps, probe->steps, probe->count * sizeof *steps);
        jzx__free(&probe->allocator, probe->steps, probe->size * sizeof *steps);
    }
    probe->steps = steps;
    probe->size = size;
    return true;
}

static void keep(struct jzx_test_probe *probe, const jzx_action *action, jzx_outcome outcome,
                 uint64_t now_ns) {
    struct jzx__record *record = NULL;
    if (!probe->is_cut && has_room(probe))
        record = jzx__roll_add(&probe->data, &probe->allocator, action, JZX__CHUNK_SIZE);
    probe->is_cut = record == NULL;
    if (record != NULL)
        probe->steps[probe->count++] =
            (jzx_trace_step){.action = record->action, .outcome = outcome, .tick = now_ns};
}

/* ---- the actor ---- */

static jzx_behavior_result receive(jzx_context *ctx, const jzx_message *msg) {
    struct jzx_test_probe *probe = ctx->state;
    struct jzx__visit visit;
    jzx_err err = JZX_OK;
    if (probe->to != JZX_NOBODY && msg->tag < JZX_TAG_RESERVED)
        err = jzx_send(ctx->loop, probe->to, msg->sender, msg->data, msg->len, msg->tag);
    const jzx_action action = {.kind = JZX_ACTION_SEND,
                               .error = err,
                               .source = msg->sender == JZX_NOBODY ? JZX_PROCESSOR_NO_HANDLE
                                                                   : msg->sender,
                               .target = probe->to != JZX_NOBODY ? probe->to : ctx->self,
                               .tag = msg->tag,
                               .len = (uint32_t)msg->len,
                               .data = msg->data};
    uint64_t now_ns = jzx_loop_now(ctx->loop);
    lock(probe, &visit);
    keep(probe, &action, err == JZX_OK ? JZX_OUTCOME_DONE : JZX_OUTCOME_FAILED, now_ns);
    unlock(probe, &visit);
    return JZX_BEHAVIOR_OK;
}

static void end(jzx_context *ctx, jzx_exit_reason reason) {
    (void)reason;
    release(ctx->state, true);
}

/* ---- its life ---- */

jzx_err jzx_test_probe_create(jzx_loop *loop, jzx_actor_id to, jzx_test_probe **probe) {
    if (loop == NULL || probe == NULL)
        return JZX_ERR_INVALID_ARG;
    struct jzx_test_probe *made = jzx__alloc(&loop->sched.allocator, sizeof *made);
    if (made == NULL)
        return JZX_ERR_NO_MEMORY;
    *made = (struct jzx_test_probe){
        .loop = loop, .allocator = loop->sched.allocator, .to = to, .references = 2};
    jzx__lock_init(&made->lock);
    jzx_err err = jzx_spawn(loop,
                            &JZX_SPAWN_OPTS(.behavior = receive, .state = made, .cleanup = end,
                                            .name = "probe", .daemon = true),
                            &made->id);
    if (err != JZX_OK) {
        made->references = 1;
        release(made, true);
        return err;
    }
    *probe = made;
    return JZX_OK;
}

jzx_actor_id jzx_test_probe_id(const jzx_test_probe *probe) {
    return probe == NULL ? JZX_NOBODY : probe->id;
}

jzx_err jzx_test_probe_trace(jzx_test_probe *probe, jzx_trace *trace) {
    struct jzx__visit visit;
    if (probe == NULL || trace == NULL)
        return JZX_ERR_INVALID_ARG;
    lock(probe, &visit);
    *trace = (jzx_trace){.steps = probe->steps, .count = probe->count, .is_cut = probe->is_cut};
    unlock(probe, &visit);
    return JZX_OK;
}

void jzx_test_probe_destroy(jzx_test_probe *probe) {
    struct jzx__visit visit;
    if (probe == NULL)
        return;
    lock(probe, &visit);
    bool has_ended = probe->has_ended;
    unlock(probe, &visit);
    if (!has_ended)
        (void)jzx_actor_stop(probe->loop, probe->id, JZX_STOP_AFTER_MESSAGE);
    release(probe, false);
}
