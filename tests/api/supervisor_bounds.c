/* SPDX-License-Identifier: MIT */
/* What is counted once, and how much is told at most: failures of a group, the lines of a tree in a
 * dump, the lines of a stop in the log. */
#include "supervising.h"

/* ---- one crash of several ---- */

#define FIRST(child) TOY(child), .priority = JZX_PRIORITY_CRITICAL

static const jzx_child_spec three[] = {{FIRST("a")}, {FIRST("b")}, {FIRST("c")}};

/* All three fail before their supervisor has a turn; gives what the step returned. */
static jzx_err crash_together(const struct timing *timing, jzx_actor_id root) {
    static const char *const names[] = {"a", "b", "c"};
    uint64_t before = jzx_test_runs();
    for (uint32_t i = 0; i < 3; i++)
        fixture_send(timing->loop, child_of(timing, root, names[i]), TOY_FAIL);
    jzx_err err = jzx_loop_step(timing->loop, JZX_NEVER);
    JZX_EXPECT_EQ(jzx_test_runs(), before + 3);
    return err;
}

static void crash_group(jzx_strategy strategy) {
    struct timing timing = nursery_open();
    jzx_actor_id root = nursery_tree(
        &timing, &JZX_SUPERVISOR_OPTS(.strategy = strategy, .intensity = 2, JZX_CHILDREN(three)));
    for (uint32_t crash = 1; crash <= 2; crash++) {
        JZX_EXPECT_EQ(crash_together(&timing, root), JZX_OK);
        JZX_EXPECT_EQ(escalations, 0);
        JZX_EXPECT_EQ(family_of(&timing, root).running, 3);
        JZX_EXPECT_EQ(family_of(&timing, root).restarts, 3 * crash);
    }
    JZX_EXPECT_EQ(crash_together(&timing, root), JZX_ERR_ESCALATED); /* one too many */
    JZX_EXPECT_EQ(escalations, 1);
    timing_close(&timing);
}

JZX_TEST(a_crash_of_several_children_of_a_group_counts_once) {
    crash_group(JZX_ONE_FOR_ALL);
    crash_group(JZX_REST_FOR_ONE);
}

/* Of one_for_one each child is a failure of its own. */
JZX_TEST(a_crash_of_several_children_without_a_group_counts_for_each) {
    struct timing timing = nursery_open();
    jzx_actor_id root =
        nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(.intensity = 2, JZX_CHILDREN(three)));
    JZX_EXPECT_EQ(crash_together(&timing, root), JZX_ERR_ESCALATED);
    JZX_EXPECT_EQ(escalations, 1);
    timing_close(&timing);
}

/* ---- the tree in a dump ---- */

struct lines {
    uint32_t children; /* that are shown */
    uint32_t rests;    /* lines that say how many are not */
    char rest[64];
};

static void read_line(void *ctx, const char *text) {
    struct lines *lines = ctx;
    lines->children += strstr(text, " restarts, ") != NULL && strncmp(text, "  ", 2) == 0;
    const char *rest = strstr(text, "  and ");
    if (rest != NULL && strstr(rest, " more") != NULL) {
        lines->rests++;
        snprintf(lines->rest, sizeof lines->rest, "%s", rest);
    }
}

static struct lines dump_family(uint32_t count) {
    jzx_child_spec specs[80];
    struct lines lines = {0};
    memset(specs, 0, sizeof specs);
    for (uint32_t i = 0; i < count; i++)
        specs[i].behavior = toy;
    struct timing timing = nursery_open();
    jzx_actor_id root =
        nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(.children = specs, .child_count = count,
                                                   .child_size = sizeof specs[0]));
    JZX_EXPECT_EQ(jzx_loop_dump(timing.loop, read_line, &lines), JZX_OK);
    nursery_close(&timing, root);
    return lines;
}

JZX_TEST(a_dump_shows_64_children_of_a_supervisor_and_counts_the_rest) {
    struct lines lines = dump_family(64);
    JZX_EXPECT_EQ(lines.children, 64);
    JZX_EXPECT_EQ(lines.rests, 0);
    lines = dump_family(65);
    JZX_EXPECT_EQ(lines.children, 64);
    JZX_EXPECT_EQ(lines.rests, 1);
    JZX_EXPECT_EQ(strcmp(lines.rest, "  and 1 more"), 0);
    lines = dump_family(80);
    JZX_EXPECT_EQ(lines.children, 64);
    JZX_EXPECT_EQ(strcmp(lines.rest, "  and 16 more"), 0);
}

/* ---- the log of a stop ---- */

static struct {
    uint32_t actors;
    uint32_t rests;
    char rest[64];
} log_seen;

static void read_log(void *ctx, jzx_log_level level, const char *text) {
    (void)ctx;
    (void)level;
    log_seen.actors += strstr(text, "is still alive") != NULL;
    if (strncmp(text, "stop: and ", 10) == 0) {
        log_seen.rests++;
        snprintf(log_seen.rest, sizeof log_seen.rest, "%s", text);
    }
}

static void stop_late(uint32_t count) {
    memset(&log_seen, 0, sizeof log_seen);
    struct timing timing =
        timing_open_with(1, &JZX_CONFIG(.log = {.write = read_log, .level = JZX_LOG_WARN}));
    for (uint32_t i = 0; i < count; i++)
        fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.behavior = toy));
    JZX_EXPECT_EQ(jzx_loop_stop(timing.loop, 1), JZX_OK);
    timing_step(&timing);
    timing_close(&timing);
}

JZX_TEST(a_stop_names_32_late_actors_in_the_log_and_counts_the_rest) {
    stop_late(32);
    JZX_EXPECT_EQ(log_seen.actors, 32);
    JZX_EXPECT_EQ(log_seen.rests, 0);
    stop_late(33);
    JZX_EXPECT_EQ(log_seen.actors, 32);
    JZX_EXPECT_EQ(log_seen.rests, 1);
    JZX_EXPECT_EQ(strcmp(log_seen.rest, "stop: and 1 more"), 0);
    stop_late(50);
    JZX_EXPECT_EQ(log_seen.actors, 32);
    JZX_EXPECT_EQ(strcmp(log_seen.rest, "stop: and 18 more"), 0);
}
