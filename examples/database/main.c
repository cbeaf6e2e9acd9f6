/* SPDX-License-Identifier: MIT */
/* A demonstration of the store, on a clock that it moves itself. Points come in, and one of them
 * is bad. A merge job fails until its bad block is given up. Then queries run, a series leaves, and
 * time passes.
 *
 * It prints the same every time: it has one worker, and every message has its place. */
#include "store.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ASK_RANGE = 2000, ASK_COUNTERS };

struct demo {
    jzx_clock *clock;
    jzx_loop *loop;
    jzx_actor_id root;
    jzx_actor_id console;
};

static void check(jzx_err err) {
    if (err != JZX_OK) {
        fprintf(stderr, "%s\n", jzx_err_text(err));
        exit(1);
    }
}

static void say(const jzx_loop *loop, const char *what) {
    printf("%6lld ms  %s\n", (long long)store_now_ms(loop), what);
}

/* ---- the console: an actor that asks, and prints the answers ---- */

static void print_result(const jzx_loop *loop, const struct result *result) {
    say(loop, result->complete ? "the query's result:" : "the query has failed");
    for (uint32_t i = 0; i < result->count; i++)
        printf("           %lld: %g\n", (long long)result->points[i].time_ms,
               result->points[i].value);
    printf("           %u points\n", result->count);
}

static void print_counters(const jzx_loop *loop, const struct counters *counters) {
    static const char *const names[COUNTERS_MAX] = {
        [POINTS_TAKEN] = "points taken",         [POINTS_REFUSED] = "points refused",
        [POINTS_LOST] = "points lost",           [BLOCKS_MERGED] = "blocks merged",
        [BLOCKS_REFUSED] = "bad blocks refused", [BLOCKS_DROPPED] = "old blocks dropped"};
    say(loop, "the counters:");
    for (int i = 0; i < COUNTERS_MAX; i++)
        printf("           %llu %s\n", (unsigned long long)counters->values[i], names[i]);
    printf("           the last merge: %s, %u of %u blocks\n", counters->progress.series,
           counters->progress.done, counters->progress.total);
}

static jzx_behavior_result console(jzx_context *ctx, const jzx_message *msg) {
    jzx_actor_id metrics_id;
    switch (msg->tag) {
    case ASK_RANGE: check(store_query(ctx->loop, msg->data, ctx->self)); break;
    case ASK_COUNTERS:
        check(jzx_lookup(ctx->loop, "metrics", &metrics_id));
        check(jzx_ask(ctx, metrics_id, NULL, 0, READ_COUNTERS, JZX_SECOND(1), NULL));
        break;
    case QUERY_RESULT: print_result(ctx->loop, msg->data); break;
    case COUNTERS: print_counters(ctx->loop, msg->data); break;
    case JZX_TAG_ASK_TIMEOUT: say(ctx->loop, "metrics does not answer"); break;
    default: break;
    }
    return JZX_BEHAVIOR_OK;
}

/* ---- seeing failures and restarts ---- */

static void print_event(void *ctx, const jzx_event *event) {
    const jzx_loop *loop = ctx;
    char text[160];
    if (event->kind == JZX_EVENT_ACTOR_FAIL) {
        snprintf(text, sizeof text, "%s has failed", event->name);
        say(loop, text);
    } else if (event->kind == JZX_EVENT_SUPERVISOR_ESCALATE) {
        snprintf(text, sizeof text, "%s gives up: %s", event->name, event->detail);
        say(loop, text);
    } else if (event->kind == JZX_EVENT_ACTOR_RESTART) {
        snprintf(text, sizeof text, "%s is started again, attempt %u after %llu ms", event->name,
                 event->attempt, (unsigned long long)(event->elapsed_ns / JZX_MS(1)));
        say(loop, text);
    }
}

/* The lines of a dump from "supervisor" to what is not indented. */
static void print_tree_line(void *ctx, const char *line) {
    bool *in_tree = ctx;
    bool is_top = strncmp(line, "supervisor ", 11) == 0;
    *in_tree = is_top || (*in_tree && line[0] == ' ');
    if (*in_tree)
        printf("           %s\n", line);
}

static void print_tree(const struct demo *demo) {
    bool in_tree = false;
    say(demo->loop, "the tree:");
    check(jzx_loop_dump(demo->loop, print_tree_line, &in_tree));
}

/* ---- the demonstration ---- */

/* Moves the clock from timer to timer, without waiting. */
static void pass(const struct demo *demo, uint64_t duration_ms) {
    uint64_t end = jzx_loop_now(demo->loop) + JZX_MS(duration_ms);
    for (;;) {
        check(jzx_loop_step(demo->loop, JZX_NEVER));
        uint64_t now = jzx_loop_now(demo->loop);
        uint64_t next = jzx_loop_next_deadline(demo->loop);
        if (now == end && next > now)
            return;
        if (next > now)
            check(jzx_clock_advance(demo->clock, (next < end ? next : end) - now));
    }
}

/* A point of cpu and one of mem every 10 ms. */
static void ingest(const struct demo *demo, int points) {
    for (int i = 0; i < points; i++) {
        int64_t now = store_now_ms(demo->loop);
        check(store_append(demo->loop, "cpu", (struct point){now, 0.5 * (double)(now % 100)}));
        check(store_append(demo->loop, "mem", (struct point){now, 1000.0 + (double)now}));
        pass(demo, 10);
    }
}

/* A block that is not sorted, as no head makes it. */
static void send_bad_block(const struct demo *demo) {
    const struct point points[] = {{2, 0}, {1, 0}};
    struct block *block = block_create(demo->loop, "disk", 0, points, 2);
    check(block == NULL ? JZX_ERR_NO_MEMORY : block_send(demo->loop, "planner", JZX_NOBODY, block));
    jzx_msg_free(demo->loop, block); /* the planner has its own reference */
}

static void ask_range(const struct demo *demo, const char *series, int64_t from_ms, int64_t to_ms) {
    struct range range = {.from_ms = from_ms, .to_ms = to_ms};
    snprintf(range.series, sizeof range.series, "%s", series);
    check(jzx_send(demo->loop, demo->console, JZX_NOBODY, &range, sizeof range, ASK_RANGE));
    pass(demo, 0);
}

static void ask_counters(const struct demo *demo) {
    check(jzx_send(demo->loop, demo->console, JZX_NOBODY, NULL, 0, ASK_COUNTERS));
    pass(demo, 0);
}

static void run(const struct demo *demo) {
    pass(demo, 0);
    say(demo->loop, "two series, a point each every 10 ms");
    ingest(demo, 25);

    say(demo->loop, "a bad point for mem");
    check(store_append(demo->loop, "mem", (struct point){store_now_ms(demo->loop), (double)NAN}));
    ingest(demo, 5);

    say(demo->loop, "a bad block for disk");
    send_bad_block(demo);
    ingest(demo, 90);

    pass(demo, 500); /* all is flushed and merged */
    ask_range(demo, "mem", 220, 290);
    ask_range(demo, "cpu", 400, 430);

    print_tree(demo);
    ask_counters(demo);

    say(demo->loop, "mem leaves, and a minute passes");
    check(jzx_send_named(demo->loop, "head/mem", JZX_NOBODY, NULL, 0, SHUTDOWN));
    pass(demo, RETENTION_MS + COMPACT_MS);
    ask_range(demo, "cpu", 0, 1000);
    print_tree(demo);
    ask_counters(demo);
}

int main(void) {
    struct demo demo = {.clock = jzx_clock_manual(0)};
    if (demo.clock == NULL)
        return 1;
    demo.loop = jzx_loop_create(
        &JZX_CONFIG(.workers = 1, .clock = demo.clock, .log = {.level = JZX_LOG_OFF}));
    if (demo.loop == NULL)
        return 1;
    check(jzx_loop_set_observer(demo.loop, &JZX_OBSERVER(.on_event = print_event), demo.loop));
    check(store_start(demo.loop, &demo.root));
    check(jzx_spawn(demo.loop,
                    &JZX_SPAWN_OPTS(.behavior = console, .name = "console", .daemon = true),
                    &demo.console));
    run(&demo);
    say(demo.loop, "the end");
    check(jzx_actor_stop(demo.loop, demo.root, JZX_STOP_AFTER_MESSAGE));
    check(jzx_loop_run(demo.loop)); /* until the tree is gone, leaves first */
    check(jzx_loop_destroy(demo.loop));
    check(jzx_clock_free(demo.clock));
    return 0;
}
