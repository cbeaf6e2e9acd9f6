/* SPDX-License-Identifier: MIT */
/* The index of examples/database by itself: it brings blocks to their places a few at a time, by a
 * timer that it sets for itself, and handles other messages in between. */
#include "timing.h"

#include "../../examples/database/store.h"

enum { BLOCKS = 40 };

static struct {
    char trace[64]; /* w: work, r: a question */
    uint32_t works;
    uint32_t questions;
    uint64_t worked_ns; /* the time of the last work */
} seen;

static void note(char what) {
    size_t len = strlen(seen.trace);
    if (JZX_EXPECT(len + 1 < sizeof seen.trace))
        seen.trace[len] = what;
}

/* The index, and what it is told. */
static jzx_behavior_result index_and_note(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    if (msg->tag == INDEX_WORK) {
        uint64_t now_ns = jzx_loop_now(ctx->loop);
        JZX_EXPECT_EQ(now_ns - seen.worked_ns, JZX_MS(INDEX_MS));
        seen.worked_ns = now_ns;
        seen.works++;
        note('w');
    } else if (msg->tag == RANGE) {
        seen.questions++;
        note('r');
    }
    return index_blocks(ctx, msg);
}

/* Blocks with falling times: each belongs in front of those before it. */
static void send_blocks(jzx_loop *loop, jzx_actor_id id) {
    for (uint32_t i = 0; i < BLOCKS; i++) {
        const struct point point = {.time_ms = BLOCKS - (int64_t)i};
        struct block *block = block_create(loop, "cpu", i, &point, 1);
        assert_non_null(block);
        assert_int_equal(jzx_send_shared(loop, id, JZX_NOBODY, block, BLOCK), JZX_OK);
        jzx_msg_free(loop, block);
    }
}

JZX_TEST(the_index_works_by_its_own_timer_and_yields_in_between, "C25") {
    const struct range range = {.series = "cpu", .from_ms = INT64_MIN, .to_ms = INT64_MAX};
    struct timing timing = timing_open();
    memset(&seen, 0, sizeof seen);
    jzx_actor_id id =
        fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.behavior = index_and_note, .init = index_init,
                                                   .cleanup = index_cleanup));
    send_blocks(timing.loop, id);
    timing_step(&timing);
    JZX_EXPECT_EQ(seen.works, 0); /* adding sorts nothing */
    for (uint32_t i = 0; i < 5; i++) {
        timing_advance(&timing, JZX_MS(INDEX_MS));
        assert_int_equal(jzx_send(timing.loop, id, JZX_NOBODY, &range, sizeof range, RANGE),
                         JZX_OK);
        timing_step(&timing);
    }
    assert_string_equal(seen.trace, "wrwrwrwrwr");
    JZX_EXPECT(jzx_loop_next_deadline(timing.loop) != JZX_NEVER); /* there is more to do */
    while (jzx_loop_next_deadline(timing.loop) != JZX_NEVER)
        timing_advance(&timing, JZX_MS(INDEX_MS));
    JZX_EXPECT(seen.works > 5 && seen.works <= BLOCKS);
    uint32_t works = seen.works;
    timing_advance(&timing, JZX_SECOND(1));
    JZX_EXPECT_EQ(seen.works, works); /* it sleeps until there is a new block */
    seen.worked_ns = jzx_loop_now(timing.loop);
    send_blocks(timing.loop, id);
    timing_step(&timing);
    timing_advance(&timing, JZX_MS(INDEX_MS));
    JZX_EXPECT_EQ(seen.works, works + 1);
    JZX_EXPECT_EQ(jzx_test_runs(), 2 * BLOCKS + works + 1 + seen.questions);
    timing_close(&timing);
}
