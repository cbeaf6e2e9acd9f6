/* SPDX-License-Identifier: MIT */
/* Fibers as children of supervisors: they are restarted, stopped and killed in their waits as
 * behaviours are between two messages. */
#include "supervising.h"

#include <jzx/ask.h>
#include <jzx/fiber.h>

/* A toy that waits in the middle of its code. */
static void handle(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    switch (msg->tag) {
    case TOY_FAIL: jzx_exit(ctx, JZX_EXIT_FAIL, "as it was told");
    case TOY_EXIT_SHUTDOWN: jzx_exit(ctx, JZX_EXIT_SHUTDOWN, "going down");
    default: break;
    }
}

static void toy_fiber(jzx_context *ctx) {
    jzx_message msg;
    while (jzx_receive(ctx, JZX_NEVER, &msg) == JZX_OK && msg.tag != TOY_STOP)
        handle(ctx, &msg);
}

static void toy_sleeper(jzx_context *ctx) {
    jzx_sleep(ctx, jzx_in(ctx, JZX_SECOND(3600)));
    JZX_EXPECT(false && "it goes on");
}

static void toy_chooser(jzx_context *ctx) {
    jzx_message msg;
    jzx_receive_tag(ctx, 99, JZX_NEVER, &msg);
    JZX_EXPECT(false && "it goes on");
}

/* Asks its sibling "f", which does not answer. */
static void toy_asker(jzx_context *ctx) {
    jzx_actor_id id = JZX_NOBODY;
    jzx_message answer;
    JZX_EXPECT_EQ(jzx_lookup(ctx->loop, "asked", &id), JZX_OK);
    JZX_EXPECT(jzx_call(ctx, id, NULL, 0, 50, JZX_NEVER, &answer) != JZX_OK);
    JZX_EXPECT_EQ(jzx_sleep(ctx, JZX_NEVER), JZX_OK);
}

#define FIBER(child, fn)                                                                           \
    .name = (child), .fiber = (fn), .init = toy_init, .cleanup = toy_cleanup,                      \
    .state = (void *)(uintptr_t)(child)

JZX_TEST(fibers_are_restarted_as_their_modes_say, "C21") {
    static const jzx_child_spec specs[] = {
        {FIBER("p", toy_fiber)},
        {FIBER("t", toy_fiber), .mode = JZX_TRANSIENT},
        {FIBER("u", toy_fiber), .mode = JZX_TEMPORARY},
        {FIBER("m", toy_fiber), .migratable = true, .stack_size_bytes = 16 << 10},
    };
    struct timing timing = nursery_open();
    jzx_actor_id root =
        nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(.intensity = 100, JZX_CHILDREN(specs)));
    expect_trace("+p +t +u +m ");
    for (int i = 0; i < 3; i++) {
        jzx_actor_id before = child_of(&timing, root, "p");
        tell(&timing, root, "p", TOY_FAIL);
        expect_trace("-pF +p ");
        JZX_EXPECT(child_of(&timing, root, "p") != before);
        tell(&timing, root, "p", TOY_NOTHING); /* the successor waits as it did */
        expect_trace("");
    }
    fixture_send(timing.loop, child_of(&timing, root, "p"), TOY_STOP); /* it returns */
    timing_step(&timing);
    expect_trace("-pN +p ");
    tell(&timing, root, "t", TOY_FAIL);
    expect_trace("-tF +t ");
    tell(&timing, root, "t", TOY_EXIT_SHUTDOWN);
    expect_trace("-tS ");
    tell(&timing, root, "u", TOY_FAIL);
    expect_trace("-uF ");
    JZX_EXPECT(!has_child(&timing, root, "u"));
    tell(&timing, root, "m", TOY_FAIL);
    expect_trace("-mF +m ");
    JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, child_of(&timing, root, "m"), JZX_STOP_KILL), JZX_OK);
    timing_step(&timing);
    expect_trace("-mK +m ");
    nursery_close(&timing, root);
}

/* One for all: the failure of a behaviour stops its siblings in each kind of wait. */
JZX_TEST(fibers_that_wait_are_stopped_and_restarted_with_their_siblings, "C21") {
    static const jzx_child_spec specs[] = {
        {TOY("b")},
        {FIBER("f", toy_fiber), .registered = "asked"},
        {FIBER("s", toy_sleeper), .stop_at_once = true},
        {FIBER("c", toy_chooser)},
        {FIBER("a", toy_asker), .stop_at_once = true},
    };
    struct timing timing = nursery_open();
    jzx_actor_id root = nursery_tree(
        &timing, &JZX_SUPERVISOR_OPTS(.strategy = JZX_ONE_FOR_ALL, JZX_CHILDREN(specs)));
    expect_trace("+b +f +s +c +a ");
    for (int i = 0; i < 2; i++) {
        tell(&timing, root, "b", TOY_FAIL);
        expect_trace("-bF -aS -cS -sS -fS +b +f +s +c +a ");
    }
    tell(&timing, root, "f", TOY_FAIL);
    expect_trace("-fF -aS -cS -sS -bS +b +f +s +c +a ");
    stop_supervisor(&timing, root);
    expect_trace("-aS -cS -sS -fS -bS ");
    JZX_EXPECT(!jzx_loop_alive(timing.loop));
    timing_close(&timing);
}

/* A gentle stop lets it receive what waits, and it ends at a receive that finds nothing; a sleep
 * goes on until the time for the shutdown is over. */
JZX_TEST(a_supervisor_waits_for_its_fibers_and_kills_those_that_take_too_long, "C21") {
    static const jzx_child_spec specs[] = {
        {FIBER("s", toy_sleeper), .shutdown_ns = JZX_MS(700)},
        {FIBER("f", toy_fiber)},
        {FIBER("k", toy_sleeper), .shutdown_ns = JZX_NONE},
    };
    struct timing timing = nursery_open();
    jzx_actor_id root = nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(specs)));
    expect_trace("+s +f +k ");
    jzx_actor_id f = child_of(&timing, root, "f");
    for (int i = 0; i < 5; i++)
        fixture_send(timing.loop, f, TOY_NOTHING);
    stop_supervisor(&timing, root);
    JZX_EXPECT_EQ(jzx_test_runs(), 5);
    expect_trace("-kK -fS ");
    timing_advance(&timing, JZX_MS(699));
    expect_trace("");
    timing_advance(&timing, JZX_MS(2));
    expect_trace("-sK ");
    JZX_EXPECT(!jzx_loop_alive(timing.loop));
    timing_close(&timing);
}

static uint32_t heard[8];
static uint32_t heard_count;

/* Fails at tag 2, with later messages passed over and waiting. */
static void hear_in_order(jzx_context *ctx) {
    jzx_message msg;
    jzx_test_ran();
    while (jzx_receive_tag(ctx, 1, 0, &msg) == JZX_OK || jzx_receive(ctx, JZX_NEVER, &msg) == 0) {
        if (JZX_EXPECT(heard_count < 8))
            heard[heard_count++] = msg.tag;
        if (msg.tag == 2)
            jzx_exit(ctx, JZX_EXIT_FAIL, NULL);
    }
}

JZX_TEST(a_restarted_fiber_goes_on_with_the_mail_that_was_kept, "C21") {
    static const jzx_child_spec specs[] = {{FIBER("h", hear_in_order), .keep_mailbox = true}};
    static const uint32_t sent[] = {2, 3, 1, 4};
    static const uint32_t wanted[] = {2, 1, 3, 4};
    struct timing timing = nursery_open();
    jzx_actor_id root = nursery_tree(&timing, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(specs)));
    heard_count = 0;
    jzx_actor_id id = child_of(&timing, root, "h");
    for (uint32_t i = 0; i < 4; i++)
        fixture_send(timing.loop, id, sent[i]);
    timing_step(&timing);
    expect_trace("+h -hF +h ");
    JZX_EXPECT_EQ(jzx_test_runs(), 2);
    JZX_EXPECT_EQ(heard_count, 4);
    for (uint32_t i = 0; i < heard_count; i++)
        JZX_EXPECT_EQ(heard[i], wanted[i]);
    nursery_close(&timing, root);
}

JZX_TEST(a_child_is_a_behaviour_or_a_fiber_with_a_stack_in_range, "C+fail") {
    static const jzx_child_spec wrong[] = {
        {FIBER("both", toy_fiber), .behavior = toy},
        {FIBER("large", toy_fiber), .stack_size_bytes = 65 << 20},
        {FIBER("torn", toy_fiber), .migratable = true, .thread_bound = true},
        {.name = "bound", .behavior = toy, .thread_bound = true},
        {.name = "none", .init = toy_init},
    };
    struct timing timing = nursery_open();
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        jzx_actor_id root = 77;
        jzx_supervisor_opts opts = JZX_SUPERVISOR_OPTS(.children = &wrong[i], .child_count = 1,
                                                       .child_size = sizeof wrong[i]);
        JZX_EXPECT_EQ(jzx_spawn_supervisor(timing.loop, &opts, &root), JZX_ERR_INVALID_ARG);
        JZX_EXPECT_EQ(root, 77);
    }
    expect_trace("");
    timing_close(&timing);
}
