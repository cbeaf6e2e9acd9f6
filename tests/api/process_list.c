/* SPDX-License-Identifier: MIT */
/* Processes in lists, in statistics and in a dump. */
#include "processes.h"

static jzx_err done_when_cancelled(jzx_context *ctx, struct journal *journal, jzx_step_out *out) {
    (void)ctx;
    if (journal->count != 0 && journal->notes[journal->count - 1].kind == JZX_PROCESS_CANCEL)
        return jzx_out_done(out, NULL, 0);
    return JZX_OK;
}

static uint32_t process_count(const jzx_loop *loop) {
    return fixture_stats(loop).processes;
}

struct founder {
    struct journal child;
    jzx_actor_id id;
};

static jzx_behavior_result found_a_process(jzx_context *ctx, const jzx_message *msg) {
    struct founder *founder = ctx->state;
    (void)msg;
    jzx_test_ran();
    founder->id =
        fixture_spawn(ctx->loop, &JZX_SPAWN_OPTS(.process = &journal_ops, .state = &founder->child,
                                                 .name = "child", .account = true));
    return JZX_BEHAVIOR_OK;
}

struct page {
    char text[4096];
};

static void add_line(void *ctx, const char *line) {
    struct page *page = ctx;
    size_t length = strlen(page->text);
    snprintf(page->text + length, sizeof page->text - length, "%s\n", line);
}

JZX_TEST(a_process_is_listed_with_its_steps_its_start_and_its_parent, "D+def") {
    struct timing timing = timing_open_with(JZX_MS(1234), NULL);
    struct founder founder = {.id = JZX_NOBODY};
    jzx_actor_id parent =
        fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.behavior = found_a_process, .state = &founder));
    fixture_send(timing.loop, parent, 1);
    timing_advance(&timing, JZX_MS(6));
    fixture_send(timing.loop, founder.id, 1);
    timing_advance(&timing, JZX_SECOND(1));
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    jzx_process_info info = {.size = sizeof info};
    uint64_t cursor = 0;
    assert_int_equal(jzx_process_next(timing.loop, &cursor, &info), JZX_OK);
    JZX_EXPECT_EQ(info.id, founder.id);
    JZX_EXPECT_EQ(info.state, JZX_PROCESS_IDLE);
    JZX_EXPECT_EQ(info.actor.steps, 2);
    JZX_EXPECT(info.actor.started_ns == JZX_MS(1234) || info.actor.started_ns == JZX_MS(1240));
    JZX_EXPECT_EQ(info.actor.parent, parent);

    struct page page = {""};
    char line[160];
    snprintf(line, sizeof line,
             "  process %u.%u child is idle; 2 steps, started at %llu ms, parent %u.%u\n",
             jzx_id_index(info.id), jzx_id_generation(info.id),
             (unsigned long long)(info.actor.started_ns / 1000000u), jzx_id_index(parent),
             jzx_id_generation(parent));
    JZX_EXPECT_EQ(jzx_loop_dump(timing.loop, add_line, &page), JZX_OK);
    JZX_EXPECT(strstr(page.text, line) != NULL);
    JZX_EXPECT(strstr(page.text, "\nprocesses 1\n") != NULL);
    timing_close(&timing);
}

JZX_TEST(the_statistics_have_the_number_of_processes, "D+def") {
    struct timing timing = timing_open();
    struct journal journals[3] = {{.plan = done_when_cancelled}, {.steps = 0}, {.steps = 0}};
    jzx_actor_id ids[3];
    JZX_EXPECT_EQ(process_count(timing.loop), 0);
    for (uint32_t i = 0; i < 3; i++) {
        ids[i] = journal_spawn(&timing, &journals[i]);
        JZX_EXPECT_EQ(process_count(timing.loop), i + 1);
    }
    JZX_EXPECT_EQ(jzx_actor_cancel(timing.loop, ids[0], JZX_SECOND(1), ""), JZX_OK);
    JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, ids[1], JZX_STOP_KILL), JZX_OK);
    fixture_fail_allocations(0, 1);
    JZX_EXPECT(jzx_spawn(timing.loop,
                         &JZX_SPAWN_OPTS(.process = &journal_ops, .state = &journals[0]),
                         NULL) == JZX_ERR_NO_MEMORY);
    fixture_fail_allocations(UINT64_MAX, 0);
    timing_step(&timing);
    JZX_EXPECT_EQ(journals[1].closes, 1);
    JZX_EXPECT_EQ(journals[0].closes, 1);
    JZX_EXPECT_EQ(process_count(timing.loop), 1);
    timing_close(&timing);
}

static jzx_process_state seen_in_close;
static uint64_t steps_in_close;

static void list_itself_in_close(jzx_context *ctx) {
    jzx_process_info info = {.size = sizeof info};
    uint64_t cursor = 0;
    uint32_t found = 0;
    jzx_test_ran();
    while (jzx_process_next(ctx->loop, &cursor, &info) == JZX_OK) {
        if (info.id != ctx->self)
            continue;
        found++;
        seen_in_close = info.state;
        steps_in_close = info.actor.steps;
    }
    JZX_EXPECT_EQ(found, 1);
}

JZX_TEST(a_process_in_its_close_is_listed_as_complete, "D12", "D+def") {
    static const jzx_process_ops ops = {.size = sizeof ops,
                                        .init = journal_init,
                                        .step = journal_step,
                                        .close = list_itself_in_close};
    struct timing timing = timing_open();
    struct journal ended = {.plan = done_when_cancelled};
    struct journal other = {.steps = 0};
    seen_in_close = JZX_PROCESS_READY;
    jzx_actor_id id = fixture_spawn(
        timing.loop, &JZX_SPAWN_OPTS(.process = &ops, .state = &ended, .account = true));
    jzx_actor_id living = journal_spawn(&timing, &other);
    JZX_EXPECT_EQ(jzx_actor_cancel(timing.loop, id, JZX_MS(30), "why"), JZX_OK);
    timing_step(&timing);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    JZX_EXPECT_EQ(seen_in_close, JZX_PROCESS_COMPLETE);
    JZX_EXPECT_EQ(steps_in_close, 2);
    assert_string_equal(jzx_process_state_name(JZX_PROCESS_COMPLETE), "complete");
    JZX_EXPECT_EQ(listed_state_of(timing.loop, living), JZX_PROCESS_IDLE);
    timing_close(&timing);
}
