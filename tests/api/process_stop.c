/* SPDX-License-Identifier: MIT */
/* Processes when their loop stops without a deadline: ten seconds, written out. */
#include "processes.h"

#include <pthread.h>
#include <sched.h>

static jzx_err done_when_cancelled(jzx_context *ctx, struct journal *journal, jzx_step_out *out) {
    (void)ctx;
    if (journal->count != 0 && journal->notes[journal->count - 1].kind == JZX_PROCESS_CANCEL)
        return jzx_out_done(out, NULL, 0);
    return JZX_OK;
}

#define TEN_SECONDS UINT64_C(10000000000)

struct ends {
    uint32_t normal;
    uint32_t shut_down;
    uint32_t late;
    char text[JZX_EXIT_TEXT_MAX + 1]; /* of the last end */
};

static void note_ends(void *ctx, const jzx_event *event) {
    struct ends *ends = ctx;
    ends->late += event->kind == JZX_EVENT_STOP_LATE;
    if (event->kind != JZX_EVENT_ACTOR_STOP)
        return;
    ends->normal += event->reason == JZX_EXIT_NORMAL;
    ends->shut_down += event->reason == JZX_EXIT_SHUTDOWN;
    snprintf(ends->text, sizeof ends->text, "%s", event->detail);
}

static void observe_ends(const struct timing *timing, struct ends *ends) {
    *ends = (struct ends){0};
    JZX_EXPECT_EQ(jzx_loop_set_observer(timing->loop, &JZX_OBSERVER(.on_event = note_ends), ends),
                  JZX_OK);
}

JZX_TEST(a_stop_without_a_deadline_lets_ten_of_ten_processes_end_by_themselves, "D18", "D+stop") {
    struct timing timing = timing_open_with(JZX_SECOND(5), NULL);
    static struct journal journals[10];
    struct ends ends;
    observe_ends(&timing, &ends);
    memset(journals, 0, sizeof journals);
    for (uint32_t i = 0; i < 10; i++) {
        journals[i].plan = done_when_cancelled;
        journal_spawn(&timing, &journals[i]);
    }
    JZX_EXPECT_EQ(jzx_loop_stop(timing.loop, 0), JZX_OK);
    timing_step(&timing);
    for (uint32_t i = 0; i < 10; i++) {
        JZX_EXPECT_EQ(journals[i].closes, 1);
        expect_note(&journals[i], 0, JZX_PROCESS_CANCEL, JZX_TAG_STOP, JZX_OK);
        JZX_EXPECT_EQ(journals[i].notes[0].value, JZX_SECOND(5) + TEN_SECONDS);
        assert_string_equal(journals[i].stop_text, "scheduler shutdown");
    }
    JZX_EXPECT_EQ(ends.normal, 10);
    JZX_EXPECT_EQ(ends.shut_down + ends.late, 0);
    timing_close(&timing);
}

struct waiting {
    pthread_t thread;
    jzx_loop *loop;
    struct journal journal;
    jzx_err err;
};

static void *wait_for_result(void *arg) {
    struct waiting *waiting = arg;
    waiting->err = jzx_process_exec_wait(
        waiting->loop, &JZX_SPAWN_OPTS(.process = &journal_ops, .state = &waiting->journal),
        JZX_NEVER, NULL, NULL);
    return NULL;
}

JZX_TEST(a_stop_without_a_deadline_completes_what_is_left_after_ten_seconds_as_cancelled, "D18",
         "D+stop") {
    struct timing timing = timing_open_with(JZX_SECOND(5), NULL);
    struct waiting waiting = {.loop = timing.loop};
    struct ends ends;
    observe_ends(&timing, &ends);
    assert_int_equal(pthread_create(&waiting.thread, NULL, wait_for_result, &waiting), 0);
    while (waiting.journal.inits == 0) {
        (void)jzx_loop_step(timing.loop, JZX_NEVER);
        sched_yield();
    }
    JZX_EXPECT_EQ(jzx_loop_stop(timing.loop, 0), JZX_OK);
    timing_step(&timing);
    timing_advance(&timing, TEN_SECONDS - 1);
    JZX_EXPECT_EQ(waiting.journal.count, 1); /* it was told, and goes on */
    JZX_EXPECT_EQ(waiting.journal.closes, 0);
    JZX_EXPECT_EQ(ends.late, 0);
    JZX_EXPECT_EQ(jzx_clock_advance(timing.clock, 1), JZX_OK);
    (void)jzx_loop_step(timing.loop, JZX_NEVER);
    JZX_EXPECT_EQ(waiting.journal.closes, 1);
    JZX_EXPECT_EQ(ends.late, 1);
    JZX_EXPECT_EQ(ends.shut_down, 1);
    assert_string_equal(ends.text, "scheduler shutdown");
    pthread_join(waiting.thread, NULL);
    JZX_EXPECT_EQ(waiting.err, JZX_ERR_CANCELLED);
    timing_close(&timing);
}

JZX_TEST(a_stop_that_may_take_for_ever_has_no_deadline, "D+stop") {
    struct timing timing = timing_open();
    struct journal journal = {.steps = 0};
    journal_spawn(&timing, &journal);
    JZX_EXPECT_EQ(jzx_loop_stop(timing.loop, JZX_NEVER), JZX_OK);
    timing_step(&timing);
    JZX_EXPECT(journal.notes[0].value == JZX_NEVER);
    timing_advance(&timing, 1000 * TEN_SECONDS);
    JZX_EXPECT_EQ(journal.closes, 0);
    JZX_EXPECT_EQ(jzx_loop_stop(timing.loop, 0), JZX_OK); /* the earlier one counts */
    timing_advance(&timing, TEN_SECONDS - 1);
    JZX_EXPECT_EQ(journal.closes, 0);
    JZX_EXPECT_EQ(jzx_clock_advance(timing.clock, 1), JZX_OK);
    (void)jzx_loop_step(timing.loop, JZX_NEVER);
    JZX_EXPECT_EQ(journal.closes, 1);
    timing_close(&timing);
}
