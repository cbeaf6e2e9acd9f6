/* SPDX-License-Identifier: MIT */
/* Rows of behaviours: messages, lives, questions, ends of others, timers and jobs. */
#include "instructions.h"

#include <jzx/schedule.h>
#include <jzx/supervisor.h>

enum { GO, DUE, PING };

static uint64_t handled;

static jzx_behavior_result count_message(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    handled++;
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result end_at_once(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    handled++;
    return JZX_BEHAVIOR_STOP;
}

/* An actor that repeats an operation `left` times, BATCH in a turn, and then stops. */
struct driver {
    uint64_t left;
    jzx_actor_id to;
    size_t size;
};

static jzx_behavior_result go_on(jzx_context *ctx, struct driver *self) {
    self->left -= BATCH;
    if (self->left == 0)
        return JZX_BEHAVIOR_STOP;
    send_value(ctx, ctx->self, GO, 0);
    return JZX_BEHAVIOR_OK;
}

static void stop(struct rig *rig, jzx_actor_id id) {
    CHECK(jzx_actor_stop(rig->loop, id, JZX_STOP_AFTER_MESSAGE) == JZX_OK);
    rig_step(rig);
}

/* ---- messages ---- */

static const char payload[100];

static jzx_behavior_result send_batches(jzx_context *ctx, const jzx_message *msg) {
    struct driver *self = ctx->state;
    (void)msg;
    for (uint32_t i = 0; i < BATCH; i++)
        CHECK(jzx_send(ctx->loop, self->to, ctx->self, payload, self->size, 0) == JZX_OK);
    return go_on(ctx, self);
}

static void run_sends(struct rig *rig, size_t size) {
    struct driver driver = {.left = rig->ops, .size = size};
    driver.to = rig_spawn(rig, count_message, NULL);
    rig_start(rig, rig_spawn(rig, send_batches, &driver));
    handled = 0;
    rig_count(rig, rig_step);
    CHECK(handled == rig->ops);
    stop(rig, driver.to);
}

static void run_send(struct rig *rig) {
    run_sends(rig, 8);
}

static void run_send_large(struct rig *rig) {
    run_sends(rig, sizeof payload);
}

/* Each player sends the message back to the other. The one with a size begins, and stops when it
 * has the last answer. */
static jzx_behavior_result play(jzx_context *ctx, const jzx_message *msg) {
    struct driver *self = ctx->state;
    (void)msg;
    handled++;
    if (self->left == 0)
        return JZX_BEHAVIOR_STOP;
    send_value(ctx, self->to, PING, 0);
    return --self->left == 0 && self->size == 0 ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

static void run_pingpong(struct rig *rig) {
    struct driver players[2] = {{.left = rig->ops / 2, .size = 1}, {.left = rig->ops / 2}};
    players[1].to = rig_spawn(rig, play, &players[0]);
    players[0].to = rig_spawn(rig, play, &players[1]);
    rig_start(rig, players[1].to);
    handled = 0;
    rig_count(rig, rig_step);
    CHECK(handled == rig->ops + 1);
}

/* ---- lives ---- */

static jzx_behavior_result spawn_batches(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    for (uint32_t i = 0; i < BATCH; i++) {
        jzx_actor_id id;
        CHECK(jzx_spawn(ctx->loop, &JZX_SPAWN_OPTS(.behavior = end_at_once), &id) == JZX_OK);
        send_value(ctx, id, GO, 0);
    }
    return go_on(ctx, ctx->state);
}

static void run_driver(struct rig *rig, jzx_behavior_fn behavior) {
    struct driver driver = {.left = rig->ops};
    rig_start(rig, rig_spawn(rig, behavior, &driver));
    handled = 0;
    rig_count(rig, rig_step);
    CHECK(driver.left == 0);
    CHECK(handled == rig->ops);
}

static void run_spawn(struct rig *rig) {
    run_driver(rig, spawn_batches);
}

/* ---- questions ---- */

static jzx_behavior_result answer(jzx_context *ctx, const jzx_message *msg) {
    CHECK(jzx_reply(ctx, msg, &handled, sizeof handled, DUE) == JZX_OK);
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result ask_again(jzx_context *ctx, const jzx_message *msg) {
    struct driver *self = ctx->state;
    if (msg->tag == DUE)
        handled++;
    if (self->left == 0)
        return JZX_BEHAVIOR_STOP;
    self->left--;
    CHECK(jzx_ask(ctx, self->to, &self->left, sizeof self->left, GO, JZX_SECOND(1), NULL) ==
          JZX_OK);
    return JZX_BEHAVIOR_OK;
}

static void run_ask(struct rig *rig) {
    struct driver driver = {.left = rig->ops, .to = rig_spawn(rig, answer, NULL)};
    rig_start(rig, rig_spawn(rig, ask_again, &driver));
    handled = 0;
    rig_count(rig, rig_step);
    CHECK(handled == rig->ops);
    stop(rig, driver.to);
}

/* ---- ends of others ---- */

/* With a size the actors are linked, else monitored. A batch begins when the last one has ended: a
 * link takes longer the more of them there are. */
static jzx_behavior_result watch_batches(jzx_context *ctx, const jzx_message *msg) {
    struct driver *self = ctx->state;
    if (msg->tag == JZX_TAG_DOWN || msg->tag == JZX_TAG_EXIT) {
        handled++;
        if (--self->left == 0)
            return JZX_BEHAVIOR_STOP;
        if (self->left % BATCH != 0)
            return JZX_BEHAVIOR_OK;
    }
    CHECK(jzx_trap_exits(ctx, true) == JZX_OK);
    for (uint64_t i = 0; i < BATCH; i++) {
        const jzx_spawn_opts opts = JZX_SPAWN_OPTS(.behavior = end_at_once);
        jzx_actor_id id;
        jzx_monitor_ref ref;
        bool is_linked = self->size != 0;
        CHECK(jzx_spawn_watched(ctx, &opts, is_linked, &id, is_linked ? NULL : &ref) == JZX_OK);
        send_value(ctx, id, GO, 0);
    }
    return JZX_BEHAVIOR_OK;
}

static void run_watched(struct rig *rig, bool is_linked) {
    struct driver driver = {.left = rig->ops, .size = is_linked};
    rig_start(rig, rig_spawn(rig, watch_batches, &driver));
    handled = 0;
    rig_count(rig, rig_step);
    CHECK(driver.left == 0);
    CHECK(handled == 2 * rig->ops); /* a message and an end of each */
}

static void run_monitor(struct rig *rig) {
    run_watched(rig, false);
}

static void run_link(struct rig *rig) {
    run_watched(rig, true);
}

static jzx_err come_back(jzx_context *ctx) {
    struct driver *self = ctx->state;
    if (self->left == 0)
        return jzx_actor_stop(ctx->loop, self->to, JZX_STOP_AFTER_MESSAGE);
    self->left--;
    send_value(ctx, ctx->self, GO, 0);
    return JZX_OK;
}

static jzx_behavior_result fail(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    handled++;
    return JZX_BEHAVIOR_FAIL;
}

static void run_restart(struct rig *rig) {
    struct driver victim = {.left = rig->ops};
    const jzx_child_spec child = {
        .name = "victim", .behavior = fail, .init = come_back, .state = &victim};
    const jzx_supervisor_opts opts = {.size = sizeof opts,
                                      .intensity = JZX_UNLIMITED,
                                      .children = &child,
                                      .child_count = 1,
                                      .child_size = sizeof child};
    CHECK(jzx_spawn_supervisor(rig->loop, &opts, &victim.to) == JZX_OK);
    handled = 0;
    rig_count(rig, rig_step);
    CHECK(handled == rig->ops);
}

/* ---- timers and jobs ---- */

static jzx_behavior_result set_and_cancel(jzx_context *ctx, const jzx_message *msg) {
    jzx_timer_id timers[BATCH];
    (void)msg;
    for (uint32_t i = 0; i < BATCH; i++)
        CHECK(jzx_send_after(ctx->loop, ctx->self, ctx->self, &handled, sizeof handled, DUE,
                             JZX_MS(1000 + 500 * i), &timers[i]) == JZX_OK);
    for (uint32_t i = 0; i < BATCH; i++, handled++)
        CHECK(jzx_timer_cancel(ctx->loop, timers[i]) == JZX_OK);
    return go_on(ctx, ctx->state);
}

static void run_timer_cancel(struct rig *rig) {
    run_driver(rig, set_and_cancel);
}

/* Sets BATCH timers, or jobs, when it is told to go. */
static jzx_behavior_result set_timers(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == DUE) {
        handled++;
        return JZX_BEHAVIOR_OK;
    }
    for (uint32_t i = 0; i < BATCH; i++)
        CHECK(jzx_send_after(ctx->loop, ctx->self, ctx->self, &handled, sizeof handled, DUE,
                             JZX_MS(1 + 3 * i), NULL) == JZX_OK);
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result schedule_jobs(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == DUE) {
        handled++;
        return JZX_BEHAVIOR_OK;
    }
    for (uint32_t i = 0; i < BATCH; i++)
        CHECK(jzx_schedule_once(ctx->loop, (int64_t)JZX_MS(1 + 3 * i), ctx->self, ctx->self,
                                &handled, sizeof handled, DUE, NULL) == JZX_OK);
    return JZX_BEHAVIOR_OK;
}

/* Has a batch set, and lets it come. */
static void let_them_come(struct rig *rig) {
    jzx_actor_id *id = rig->row;
    for (uint64_t i = 0; i < rig->ops / BATCH; i++) {
        rig_start(rig, *id);
        rig_step(rig);
        CHECK(jzx_clock_advance(rig->clock, JZX_MS(200)) == JZX_OK);
        rig_step(rig);
    }
}

static void run_later(struct rig *rig, jzx_behavior_fn behavior) {
    jzx_actor_id id = rig_spawn(rig, behavior, NULL);
    rig->row = &id;
    handled = 0;
    rig_count(rig, let_them_come);
    CHECK(handled == rig->ops);
    stop(rig, id);
}

static void run_timer_fire(struct rig *rig) {
    run_later(rig, set_timers);
}

static void run_schedule_fire(struct rig *rig) {
    run_later(rig, schedule_jobs);
}

const struct row actor_rows[] = {
    {"send", "message of 8 bytes to another actor, 64 a turn, and its turn", 8192, run_send, false},
    {"send-100", "the same of 100 bytes", 8192, run_send_large, false},
    {"pingpong", "message of a round trip between two actors, one a turn", 8192, run_pingpong,
     false},
    {"spawn", "actor made, sent a message, and ended by it", 4096, run_spawn, false},
    {"ask", "question with a deadline, and its answer", 4096, run_ask, false},
    {"monitor", "spawn with a monitor, message, end, and the DOWN message", 4096, run_monitor,
     false},
    {"link", "spawn with a link, message, end, and the EXIT message", 4096, run_link, false},
    {"restart", "failure of a child, and its restart", 2048, run_restart, false},
    {"timer-cancel", "timer set and cancelled", 4096, run_timer_cancel, false},
    {"timer-fire", "timer set, fired and handled", 4096, run_timer_fire, false},
    {"schedule-fire", "job scheduled, fired and handled, 3 or 4 a tick", 4096, run_schedule_fire,
     false},
    {NULL, NULL, 0, NULL, false},
};
