/* SPDX-License-Identifier: MIT */
/* Stops that an actor sees coming, and exit signals. */
#include "fibering.h"

#include <jzx/exit.h>
#include <jzx/supervisor.h>

/* ---- behaviours ---- */

struct guest {
    struct diary diary; /* first: keep_diary writes into it */
    jzx_stop_notice notice;
    uint32_t stops;
    uint32_t ends;
    jzx_exit_reason reason;
    bool obeys; /* it ends when the rest of its queue is handled */
    bool traps_exits;
    jzx_exit_notice exit;
    uint32_t exits;
};

static jzx_behavior_result be_guest(jzx_context *ctx, const jzx_message *msg) {
    struct guest *guest = ctx->state;
    (void)keep_diary(ctx, msg);
    if (msg->tag == JZX_TAG_STOP) {
        JZX_EXPECT_EQ(msg->len, sizeof guest->notice);
        memcpy(&guest->notice, msg->data, sizeof guest->notice);
        guest->stops++;
        if (guest->obeys)
            fixture_send(ctx->loop, ctx->self, 99);
    }
    if (msg->tag == JZX_TAG_EXIT) {
        memcpy(&guest->exit, msg->data, sizeof guest->exit);
        guest->exits++;
    }
    return msg->tag == 99 ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

static jzx_err begin_guest(jzx_context *ctx) {
    const struct guest *guest = ctx->state;
    return guest->traps_exits ? jzx_trap_exits(ctx, true) : JZX_OK;
}

static void end_guest(jzx_context *ctx, jzx_exit_reason reason) {
    struct guest *guest = ctx->state;
    guest->ends++;
    guest->reason = reason;
}

static jzx_actor_id spawn_guest(const struct timing *timing, struct guest *guest, bool traps) {
    jzx_actor_id id = fixture_spawn(
        timing->loop, &JZX_SPAWN_OPTS(.behavior = be_guest, .state = guest, .init = begin_guest,
                                      .cleanup = end_guest, .trap_stop = traps));
    timing_step(timing);
    return id;
}

JZX_TEST(a_trapped_stop_is_a_message_before_all_others_and_the_actor_goes_on, "X15", "D18") {
    static const jzx_stop_kind kinds[] = {JZX_STOP_AFTER_MESSAGE, JZX_STOP_AFTER_QUEUE};
    for (uint32_t i = 0; i < 2; i++) {
        struct timing timing = timing_open_with(JZX_MS(5), NULL);
        struct guest guest = {.obeys = true};
        jzx_actor_id id = spawn_guest(&timing, &guest, true);
        fixture_send(timing.loop, id, 1);
        fixture_send(timing.loop, id, 2);
        JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, id, kinds[i]), JZX_OK);
        JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, id, kinds[i]), JZX_OK); /* told once */
        fixture_send(timing.loop, id, 3); /* it still takes messages */
        timing_step(&timing);
        expect_tags(&guest.diary, 5, (uint32_t[]){JZX_TAG_STOP, 1, 2, 3, 99});
        JZX_EXPECT_EQ(guest.stops, 1);
        JZX_EXPECT_EQ(guest.notice.deadline_ns, JZX_MS(5) + JZX_DEFAULT_STOP_GRACE);
        JZX_EXPECT_EQ(guest.notice.reason, JZX_EXIT_NORMAL);
        JZX_EXPECT_EQ(guest.ends, 1);
        JZX_EXPECT_EQ(guest.reason, JZX_EXIT_NORMAL);
        timing_close(&timing);
    }
}

JZX_TEST(an_actor_that_does_not_stop_is_killed_at_its_deadline, "D18", "D+stop") {
    struct timing timing = timing_open();
    struct guest guest = {.obeys = false};
    jzx_actor_id id = spawn_guest(&timing, &guest, true);
    JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, id, JZX_STOP_AFTER_QUEUE), JZX_OK);
    timing_step(&timing);
    JZX_EXPECT_EQ(info_of(timing.loop, id).status, JZX_ACTOR_STOPPING);
    timing_advance(&timing, JZX_DEFAULT_STOP_GRACE - JZX_MS(1));
    JZX_EXPECT_EQ(guest.ends, 0);
    timing_advance(&timing, JZX_MS(1));
    JZX_EXPECT_EQ(guest.ends, 1);
    JZX_EXPECT_EQ(guest.reason, JZX_EXIT_KILLED);
    timing_close(&timing);
}

JZX_TEST(a_kill_and_a_fail_are_not_trapped, "D18") {
    struct timing timing = timing_open();
    struct guest guests[2] = {{.obeys = false}, {.obeys = false}};
    jzx_actor_id killed = spawn_guest(&timing, &guests[0], true);
    jzx_actor_id failed = spawn_guest(&timing, &guests[1], true);
    JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, killed, JZX_STOP_AFTER_QUEUE), JZX_OK);
    JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, killed, JZX_STOP_KILL), JZX_OK);
    JZX_EXPECT_EQ(jzx_actor_fail(timing.loop, failed), JZX_OK);
    timing_step(&timing);
    JZX_EXPECT_EQ(guests[0].reason, JZX_EXIT_KILLED);
    JZX_EXPECT_EQ(guests[1].reason, JZX_EXIT_FAIL);
    JZX_EXPECT_EQ(guests[0].ends + guests[1].ends, 2);
    timing_close(&timing);
}

JZX_TEST(a_stop_of_the_loop_is_told_with_its_deadline, "D18", "D+stop") {
    struct timing timing = timing_open();
    struct guest guests[3] = {{.obeys = true}, {.obeys = false}, {.obeys = true}};
    spawn_guest(&timing, &guests[0], true);
    spawn_guest(&timing, &guests[1], true);
    spawn_guest(&timing, &guests[2], false);
    JZX_EXPECT_EQ(jzx_loop_stop(timing.loop, JZX_MS(200)), JZX_OK);
    timing_step(&timing);
    JZX_EXPECT_EQ(guests[0].ends, 1);
    JZX_EXPECT_EQ(guests[0].notice.deadline_ns, JZX_MS(200));
    assert_string_equal(guests[0].notice.text, "scheduler shutdown");
    JZX_EXPECT_EQ(guests[1].stops, 1);
    JZX_EXPECT_EQ(guests[1].ends, 0);
    JZX_EXPECT_EQ(guests[2].stops, 0);
    JZX_EXPECT_EQ(guests[2].ends, 1); /* as ever */
    JZX_EXPECT_EQ(jzx_clock_advance(timing.clock, JZX_MS(200)), JZX_OK);
    (void)jzx_loop_step(timing.loop, JZX_NEVER);
    JZX_EXPECT_EQ(guests[1].ends, 1);
    timing_close(&timing);
}

JZX_TEST(a_cancel_tells_why_and_the_earlier_deadline_counts, "D18", "D+top") {
    struct timing timing = timing_open();
    struct guest trapping = {.obeys = false};
    struct guest plain = {.obeys = false};
    jzx_actor_id id = spawn_guest(&timing, &trapping, true);
    jzx_actor_id other = spawn_guest(&timing, &plain, false);
    JZX_EXPECT_EQ(jzx_actor_cancel(timing.loop, id, JZX_MS(50), "no longer wanted"), JZX_OK);
    JZX_EXPECT_EQ(jzx_actor_cancel(timing.loop, other, JZX_MS(50), "no longer wanted"), JZX_OK);
    timing_step(&timing);
    JZX_EXPECT_EQ(trapping.stops, 1);
    JZX_EXPECT_EQ(trapping.notice.deadline_ns, JZX_MS(50));
    assert_string_equal(trapping.notice.text, "no longer wanted");
    JZX_EXPECT_EQ(plain.ends, 1);
    JZX_EXPECT_EQ(plain.reason, JZX_EXIT_NORMAL);
    JZX_EXPECT_EQ(jzx_actor_cancel(timing.loop, id, JZX_MS(20), NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_actor_cancel(timing.loop, id, JZX_NEVER, NULL), JZX_OK);
    timing_step(&timing);
    JZX_EXPECT_EQ(trapping.stops, 3);
    timing_advance(&timing, JZX_MS(20));
    JZX_EXPECT_EQ(trapping.ends, 1);
    JZX_EXPECT_EQ(trapping.reason, JZX_EXIT_KILLED);
    JZX_EXPECT_EQ(jzx_actor_cancel(timing.loop, id, 0, NULL), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_actor_cancel(NULL, id, 0, NULL), JZX_ERR_INVALID_ARG);
    timing_close(&timing);
}

/* ---- fibers ---- */

static void stop_by_message(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_message msg;
    while (jzx_receive(ctx, JZX_NEVER, &msg) == JZX_OK) {
        note_tag(life, msg.tag);
        if (msg.tag == JZX_TAG_STOP)
            break;
    }
    life->err = jzx_sleep(ctx, jzx_in(ctx, JZX_MS(10))); /* it can still wait */
    life->finished++;
}

JZX_TEST(a_fiber_is_told_of_its_stop_and_can_wait_after_it, "D18") {
    struct timing timing = timing_open();
    struct life life = {0};
    jzx_actor_id id =
        fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.fiber = stop_by_message, .state = &life,
                                                   .cleanup = note_cleanup, .trap_stop = true));
    timing_step(&timing);
    fixture_send(timing.loop, id, 1);
    JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, id, JZX_STOP_AFTER_QUEUE), JZX_OK);
    timing_step(&timing);
    expect_life_tags(&life, 1, (uint32_t[]){JZX_TAG_STOP});
    timing_advance(&timing, JZX_MS(10));
    JZX_EXPECT_EQ(life.finished, 1);
    JZX_EXPECT_EQ(life.err, JZX_OK);
    expect_ended(&life, JZX_EXIT_NORMAL);
    timing_close(&timing);
}

static void never_look(jzx_context *ctx) {
    struct life *life = ctx->state;
    life->begun++;
    (void)jzx_sleep(ctx, JZX_NEVER - 1);
    life->finished++;
}

JZX_TEST(a_fiber_that_does_not_look_is_killed_at_the_deadline, "D18") {
    struct timing timing = timing_open();
    struct life life = {0};
    jzx_actor_id id =
        fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.fiber = never_look, .state = &life,
                                                   .cleanup = note_cleanup, .trap_stop = true));
    timing_step(&timing);
    JZX_EXPECT_EQ(jzx_actor_cancel(timing.loop, id, JZX_MS(30), NULL), JZX_OK);
    timing_advance(&timing, JZX_MS(29));
    JZX_EXPECT_EQ(life.cleaned, 0);
    timing_advance(&timing, JZX_MS(1));
    expect_ended(&life, JZX_EXIT_KILLED);
    timing_close(&timing);
}

/* ---- children ---- */

JZX_TEST(a_child_is_told_how_long_its_supervisor_waits, "D18") {
    struct timing timing = timing_open();
    static struct guest guests[2];
    memset(guests, 0, sizeof guests);
    guests[0].obeys = true;
    const jzx_child_spec children[] = {{.name = "a",
                                        .behavior = be_guest,
                                        .state = &guests[0],
                                        .cleanup = end_guest,
                                        .shutdown_ns = JZX_MS(300),
                                        .trap_stop = true},
                                       {.name = "b",
                                        .behavior = be_guest,
                                        .state = &guests[1],
                                        .cleanup = end_guest,
                                        .shutdown_ns = JZX_MS(100),
                                        .trap_stop = true}};
    jzx_actor_id root;
    JZX_EXPECT_EQ(
        jzx_spawn_supervisor(timing.loop, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(children)), &root),
        JZX_OK);
    timing_step(&timing);
    JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, root, JZX_STOP_AFTER_QUEUE), JZX_OK);
    timing_step(&timing);
    JZX_EXPECT_EQ(guests[1].notice.deadline_ns, JZX_MS(100));
    JZX_EXPECT_EQ(guests[1].notice.reason, JZX_EXIT_SHUTDOWN);
    assert_string_equal(guests[1].notice.text, "its supervisor stops it");
    timing_advance(&timing, JZX_MS(100));
    JZX_EXPECT_EQ(guests[1].ends, 1);
    JZX_EXPECT_EQ(guests[1].reason, JZX_EXIT_KILLED);
    JZX_EXPECT_EQ(guests[0].notice.deadline_ns, JZX_MS(400));
    JZX_EXPECT_EQ(guests[0].ends, 1);
    JZX_EXPECT_EQ(guests[0].reason, JZX_EXIT_NORMAL);
    timing_close(&timing);
}

/* ---- exit signals ---- */

JZX_TEST(an_exit_signal_ends_its_actor_with_the_reason_or_is_trapped, "D+top") {
    struct timing timing = timing_open();
    struct guest plain = {.obeys = false};
    struct guest trapping = {.traps_exits = true};
    jzx_actor_id id = spawn_guest(&timing, &plain, false);
    jzx_actor_id other = spawn_guest(&timing, &trapping, false);
    fixture_send(timing.loop, id, 1);
    JZX_EXPECT_EQ(jzx_actor_exit(timing.loop, id, JZX_EXIT_NORMAL, NULL), JZX_OK);
    timing_step(&timing);
    JZX_EXPECT_EQ(plain.ends, 0); /* normal: nothing happens */
    fixture_send(timing.loop, id, 2);
    fixture_send(timing.loop, other, 2);
    JZX_EXPECT_EQ(jzx_actor_exit(timing.loop, id, JZX_EXIT_SHUTDOWN, "enough"), JZX_OK);
    JZX_EXPECT_EQ(jzx_actor_exit(timing.loop, other, JZX_EXIT_FAIL, "enough"), JZX_OK);
    timing_step(&timing);
    JZX_EXPECT_EQ(plain.ends, 1);
    JZX_EXPECT_EQ(plain.reason, JZX_EXIT_SHUTDOWN);
    JZX_EXPECT_EQ(plain.exits, 0);
    expect_tags(&plain.diary, 1, (uint32_t[]){1});
    expect_tags(&trapping.diary, 2, (uint32_t[]){JZX_TAG_EXIT, 2});
    JZX_EXPECT_EQ(trapping.exit.actor, JZX_NOBODY);
    JZX_EXPECT_EQ(trapping.exit.reason, JZX_EXIT_FAIL);
    assert_string_equal(trapping.exit.text, "enough");
    JZX_EXPECT_EQ(jzx_actor_exit(timing.loop, other, JZX_EXIT_KILLED, NULL), JZX_OK);
    timing_step(&timing);
    JZX_EXPECT_EQ(trapping.reason, JZX_EXIT_KILLED);
    timing_close(&timing);
}

static void send_exit(jzx_context *ctx) {
    JZX_EXPECT_EQ(
        jzx_actor_exit(ctx->loop, *(jzx_actor_id *)(void *)ctx->state, JZX_EXIT_PANIC, NULL),
        JZX_OK);
}

static jzx_behavior_result do_it(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    send_exit(ctx);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(an_exit_signal_names_the_actor_that_sent_it, "D+top") {
    struct timing timing = timing_open();
    struct guest trapping = {.traps_exits = true};
    jzx_actor_id target = spawn_guest(&timing, &trapping, false);
    jzx_actor_id from =
        fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.behavior = do_it, .state = &target));
    fixture_send(timing.loop, from, 1);
    timing_step(&timing);
    JZX_EXPECT_EQ(trapping.exits, 1);
    JZX_EXPECT_EQ(trapping.exit.actor, from);
    JZX_EXPECT_EQ(trapping.exit.reason, JZX_EXIT_PANIC);
    timing_close(&timing);
}

static void only_sevens(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_message msg;
    (void)jzx_receive_tag(ctx, 7, JZX_NEVER, &msg);
    life->finished++;
}

JZX_TEST(an_exit_signal_ends_a_fiber_that_waits_for_something_else, "D+top") {
    struct timing timing = timing_open();
    struct life life = {0};
    jzx_actor_id id = timing_fiber(&timing, only_sevens, &life);
    fixture_send(timing.loop, id, 1);
    timing_step(&timing);
    JZX_EXPECT_EQ(jzx_actor_exit(timing.loop, id, JZX_EXIT_FAIL, "enough"), JZX_OK);
    timing_step(&timing);
    JZX_EXPECT_EQ(life.finished, 0);
    expect_ended(&life, JZX_EXIT_FAIL);
    timing_close(&timing);
}

JZX_TEST(wrong_exit_signals_are_refused, "D+top") {
    struct timing timing = timing_open();
    struct guest guest = {.obeys = false};
    jzx_actor_id id = spawn_guest(&timing, &guest, false);
    JZX_EXPECT_EQ(jzx_actor_exit(NULL, id, JZX_EXIT_FAIL, NULL), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_actor_exit(timing.loop, id, JZX_EXIT_FAULT, NULL), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_actor_exit(timing.loop, id, (jzx_exit_reason)77, NULL), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_actor_exit(timing.loop, JZX_NOBODY, JZX_EXIT_FAIL, NULL),
                  JZX_ERR_NO_SUCH_ACTOR);
    timing_step(&timing);
    JZX_EXPECT_EQ(guest.ends, 0);
    timing_close(&timing);
}

JZX_TEST(an_actor_that_traps_stops_needs_memory_only_when_it_is_made) {
    uint32_t refused = 0;
    for (uint32_t n = 0; n < 8; n++) {
        struct timing timing = timing_open();
        struct guest guest = {.obeys = true};
        jzx_actor_id id = JZX_NOBODY;
        fixture_fail_allocations(n, UINT64_MAX);
        jzx_err err = jzx_spawn(timing.loop,
                                &JZX_SPAWN_OPTS(.behavior = be_guest, .state = &guest,
                                                .cleanup = end_guest, .trap_stop = true),
                                &id);
        if (err == JZX_OK) {
            JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, id, JZX_STOP_AFTER_QUEUE), JZX_OK);
            guest.obeys = false;
            timing_step(&timing);
            JZX_EXPECT_EQ(guest.stops, 1);
        } else {
            JZX_EXPECT_EQ(err, JZX_ERR_NO_MEMORY);
            refused++;
        }
        fixture_fail_allocations(UINT64_MAX, 0);
        JZX_EXPECT_EQ(guest.ends, 0);
        timing_close(&timing);
        JZX_EXPECT_EQ(guest.ends, err == JZX_OK);
    }
    JZX_EXPECT(refused > 0 && refused < 8);
}
