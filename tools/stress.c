/* SPDX-License-Identifier: MIT */
/* The stress tool: drives a loop hard with work whose result is known, and checks the result.
 *
 *     jzx_stress [--smoke] [--verbose] [--no-observer]
 *
 * pingpong plays 500,000 rounds (50,000 with --smoke); timers sets 20,000 timers (2,000) of up to
 * 100 ms, of which every second one is cancelled; restarts lets a supervisor restart a child 1,000
 * times (100); mailbox sends 1,024 messages too many (16) to mailboxes of 8 and compares the failed
 * sends with what the observer heard. */
#include <jzx/jzx.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BALL = 1, MAILBOX_CAP = 8 };

struct options {
    bool smoke;
    bool verbose;
    bool observed;
};

struct seen {
    uint64_t starts;
    uint64_t stops;
    uint64_t fulls;
    uint64_t restarts;
};

static void see_start(void *ctx, jzx_actor_id id, const char *name) {
    (void)id;
    (void)name;
    ((struct seen *)ctx)->starts++;
}

static void see_stop(void *ctx, jzx_actor_id id, jzx_exit_reason reason) {
    (void)id;
    (void)reason;
    ((struct seen *)ctx)->stops++;
}

static void see_full(void *ctx, jzx_actor_id id) {
    (void)id;
    ((struct seen *)ctx)->fulls++;
}

static void see_restart(void *ctx, jzx_actor_id id, uint32_t attempt) {
    (void)id;
    (void)attempt;
    ((struct seen *)ctx)->restarts++;
}

static jzx_loop *create(const struct options *options, struct seen *seen) {
    static const jzx_observer observer = {.size = sizeof observer,
                                          .on_actor_start = see_start,
                                          .on_actor_stop = see_stop,
                                          .on_actor_restart = see_restart,
                                          .on_mailbox_full = see_full};
    jzx_loop *loop = jzx_loop_create(&JZX_CONFIG(.workers = 1, .log = {.level = JZX_LOG_ERROR}));
    if (loop == NULL) {
        fprintf(stderr, "jzx_stress: no memory for a loop\n");
        exit(1);
    }
    if (options->observed)
        jzx_loop_set_observer(loop, &observer, seen);
    return loop;
}

/* Says what came out, and returns whether it is what must come out. */
static bool check(const struct options *options, const char *what, uint64_t got, uint64_t wanted) {
    if (options->verbose || got != wanted)
        printf("  %s: %llu%s\n", what, (unsigned long long)got, got == wanted ? "" : ", WRONG");
    return got == wanted;
}

/* ---- pingpong ---- */

struct player {
    jzx_actor_id peer;
    uint64_t hits;
    uint64_t rounds;
};

static jzx_behavior_result play(jzx_context *ctx, const jzx_message *msg) {
    struct player *self = ctx->state;
    (void)msg;
    jzx_send(ctx->loop, self->peer, ctx->self, &self->hits, sizeof self->hits, BALL);
    return ++self->hits == self->rounds ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

static bool pingpong(const struct options *options) {
    uint64_t rounds = options->smoke ? 50000 : 500000;
    struct player players[2] = {{.rounds = rounds}, {.rounds = rounds}};
    jzx_actor_id ids[2];
    struct seen seen = {0};
    jzx_loop *loop = create(options, &seen);
    for (int i = 0; i < 2; i++)
        jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = play, .state = &players[i]), &ids[i]);
    players[0].peer = ids[1];
    players[1].peer = ids[0];
    jzx_send(loop, ids[0], JZX_NOBODY, NULL, 0, BALL);
    jzx_loop_run(loop);
    jzx_stats stats = {.size = sizeof stats};
    jzx_loop_stats(loop, &stats);
    bool right = check(options, "hits of ping", players[0].hits, rounds);
    right &= check(options, "hits of pong", players[1].hits, rounds);
    right &= check(options, "messages handled", stats.handled, 2 * rounds);
    right &= check(options, "actors seen to start", seen.starts, options->observed ? 2 : 0);
    right &= check(options, "actors seen to stop", seen.stops, options->observed ? 2 : 0);
    jzx_loop_destroy(loop);
    return right;
}

/* ---- timers ---- */

struct clockmaker {
    uint64_t count;
    uint64_t cancelled;
    uint64_t fired;
    uint64_t wrong; /* fired though they were cancelled */
};

/* A message with a number is a timer's; the first one, without, sets them all. */
static jzx_behavior_result keep_time(jzx_context *ctx, const jzx_message *msg) {
    struct clockmaker *self = ctx->state;
    if (msg->len == sizeof(uint64_t)) {
        uint64_t number;
        memcpy(&number, msg->data, sizeof number);
        self->fired++;
        self->wrong += number % 2 == 1;
        return self->fired + self->cancelled == self->count ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
    }
    for (uint64_t i = 0; i < self->count; i++) {
        jzx_timer_id timer = 0;
        jzx_send_after(ctx->loop, ctx->self, ctx->self, &i, sizeof i, BALL,
                       JZX_MS(1 + i * 7919 % 100), &timer);
        self->cancelled += i % 2 == 1 && jzx_timer_cancel(ctx->loop, timer) == JZX_OK;
    }
    return JZX_BEHAVIOR_OK;
}

static bool timers(const struct options *options) {
    struct clockmaker clockmaker = {.count = options->smoke ? 2000 : 20000};
    struct seen seen = {0};
    jzx_actor_id id;
    jzx_loop *loop = create(options, &seen);
    jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = keep_time, .state = &clockmaker), &id);
    jzx_send(loop, id, JZX_NOBODY, NULL, 0, BALL);
    jzx_loop_run(loop);
    bool right = check(options, "cancelled", clockmaker.cancelled, clockmaker.count / 2);
    right &= check(options, "fired", clockmaker.fired, clockmaker.count / 2);
    right &= check(options, "fired though cancelled", clockmaker.wrong, 0);
    jzx_loop_destroy(loop);
    return right;
}

/* ---- restarts ---- */

static struct {
    uint64_t left;
    uint64_t starts;
} failures;

/* Each incarnation sends itself the message that it fails on; the last one stops the loop. */
static jzx_err begin_again(jzx_context *ctx) {
    failures.starts++;
    return jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, BALL);
}

static jzx_behavior_result fail_again(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    if (failures.left == 0) {
        jzx_loop_request_stop(ctx->loop);
        return JZX_BEHAVIOR_STOP;
    }
    failures.left--;
    return JZX_BEHAVIOR_FAIL;
}

static bool restarts(const struct options *options) {
    static const jzx_child_spec children[] = {
        {.name = "failing", .behavior = fail_again, .init = begin_again, .mode = JZX_TRANSIENT}};
    uint64_t count = options->smoke ? 100 : 1000;
    struct seen seen = {0};
    jzx_actor_id supervisor;
    jzx_loop *loop = create(options, &seen);
    failures.left = count;
    failures.starts = 0;
    jzx_spawn_supervisor(loop,
                         &JZX_SUPERVISOR_OPTS(.intensity = JZX_UNLIMITED, JZX_CHILDREN(children)),
                         &supervisor);
    jzx_loop_run(loop);
    bool right = check(options, "starts", failures.starts, count + 1);
    right &= check(options, "restarts seen", seen.restarts, options->observed ? count : 0);
    jzx_loop_destroy(loop);
    return right;
}

/* ---- mailbox ---- */

struct flooder {
    jzx_actor_id target;
    uint64_t sends;
    uint64_t failed;
};

static jzx_behavior_result swallow(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    ++*(uint64_t *)ctx->state;
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result flood(jzx_context *ctx, const jzx_message *msg) {
    struct flooder *self = ctx->state;
    (void)msg;
    for (uint64_t i = 0; i < self->sends; i++)
        self->failed +=
            jzx_send(ctx->loop, self->target, ctx->self, NULL, 0, BALL) == JZX_ERR_MAILBOX_FULL;
    return JZX_BEHAVIOR_STOP;
}

static bool mailbox(const struct options *options) {
    uint64_t extra = options->smoke ? 16 : 1024;
    uint64_t swallowed = 0;
    struct flooder flooder = {.sends = MAILBOX_CAP + extra};
    struct seen seen = {0};
    jzx_actor_id source;
    jzx_loop *loop = create(options, &seen);
    jzx_spawn(loop,
              &JZX_SPAWN_OPTS(.behavior = swallow, .state = &swallowed, .mailbox_cap = MAILBOX_CAP,
                              .daemon = true),
              &flooder.target);
    jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = flood, .state = &flooder), &source);
    jzx_send(loop, source, JZX_NOBODY, NULL, 0, BALL);
    jzx_loop_run(loop);
    jzx_loop_step(loop, JZX_NEVER);
    bool right = check(options, "failed sends", flooder.failed, extra);
    right &= check(options, "on_mailbox_full", seen.fulls, options->observed ? extra : 0);
    right &= check(options, "swallowed", swallowed, MAILBOX_CAP);
    jzx_loop_destroy(loop);
    return right;
}

/* ---- main ---- */

static bool run(const struct options *options, const char *name,
                bool (*part)(const struct options *)) {
    bool right = part(options);
    printf("%s: %s\n", name, right ? "ok" : "FAILED");
    return right;
}

int main(int argc, char **argv) {
    struct options options = {.observed = true};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--smoke") == 0) {
            options.smoke = true;
        } else if (strcmp(argv[i], "--verbose") == 0) {
            options.verbose = true;
        } else if (strcmp(argv[i], "--no-observer") == 0) {
            options.observed = false;
        } else {
            fprintf(stderr, "jzx_stress: unknown option %s\n", argv[i]);
            return 2;
        }
    }
    bool right = run(&options, "pingpong", pingpong);
    right &= run(&options, "timers", timers);
    right &= run(&options, "restarts", restarts);
    right &= run(&options, "mailbox", mailbox);
    return right ? 0 : 1;
}
