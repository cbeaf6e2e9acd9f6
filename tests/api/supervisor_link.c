/* SPDX-License-Identifier: MIT */
/* Actors that link themselves to a supervisor: their ends are no concern of the tree, but they hear
 * of the supervisor's. */
#include "supervising.h"

/* Links itself to its state, an id, and then does as it is told. */
static jzx_err link_to_state(jzx_context *ctx) {
    return jzx_link(ctx, *(const jzx_actor_id *)ctx->state);
}

static uint32_t strangers_ended[8]; /* by reason */

static void count_end(jzx_context *ctx, jzx_exit_reason reason) {
    (void)ctx;
    strangers_ended[reason]++;
}

static jzx_actor_id spawn_stranger(const struct timing *timing, jzx_actor_id *supervisor) {
    jzx_actor_id id =
        fixture_spawn(timing->loop, &JZX_SPAWN_OPTS(.behavior = toy, .init = link_to_state,
                                                    .cleanup = count_end, .state = supervisor));
    timing_step(timing);
    JZX_EXPECT(lives(timing, id));
    return id;
}

static const jzx_child_spec below[] = {{TOY("x")}};
static const jzx_supervisor_opts lower = {.size = sizeof lower, JZX_CHILDREN(below)};
static const jzx_child_spec above[] = {{TOY("a")}, {.name = "lower", .supervisor = &lower}};

static void open_tree(struct timing *timing, jzx_actor_id *root, jzx_actor_id *low) {
    memset(strangers_ended, 0, sizeof strangers_ended);
    *timing = nursery_open();
    *root = nursery_tree(
        timing, &JZX_SUPERVISOR_OPTS(.intensity = JZX_NONE, .name = "root", JZX_CHILDREN(above)));
    *low = child_of(timing, *root, "lower");
    trace_clear();
}

JZX_TEST(an_actor_that_is_linked_to_a_supervisor_fails_alone) {
    static const uint32_t ends[] = {TOY_FAIL, TOY_STOP, TOY_PANIC, TOY_EXIT_FAIL,
                                    TOY_EXIT_SHUTDOWN};
    struct timing timing;
    jzx_actor_id root;
    jzx_actor_id low;
    open_tree(&timing, &root, &low);
    for (uint32_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        fixture_send(timing.loop, spawn_stranger(&timing, &root), ends[i]);
        fixture_send(timing.loop, spawn_stranger(&timing, &low), ends[i]);
        timing_step(&timing);
    }
    jzx_actor_id killed = spawn_stranger(&timing, &low);
    JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, killed, JZX_STOP_KILL), JZX_OK);
    timing_step(&timing);
    JZX_EXPECT_EQ(strangers_ended[JZX_EXIT_FAIL], 4);
    JZX_EXPECT_EQ(strangers_ended[JZX_EXIT_KILLED], 1);
    expect_trace("");
    JZX_EXPECT_EQ(child_of(&timing, root, "lower"), low);
    JZX_EXPECT_EQ(escalations, 0);
    JZX_EXPECT_EQ(restarts, 0);
    nursery_close(&timing, root);
}

static jzx_err link_to_parent(jzx_context *ctx) {
    jzx_actor_id root = JZX_NOBODY;
    trace_start("c");
    return jzx_lookup(ctx->loop, "root", &root) != JZX_OK ? JZX_ERR_UNKNOWN : jzx_link(ctx, root);
}

JZX_TEST(a_child_that_links_itself_to_its_supervisor_is_restarted_as_any) {
    const jzx_child_spec specs[] = {{.name = "c",
                                     .behavior = toy,
                                     .init = link_to_parent,
                                     .cleanup = toy_cleanup,
                                     .state = (void *)(uintptr_t) "c"}};
    struct timing timing = nursery_open();
    jzx_actor_id root = JZX_NOBODY;
    assert_int_equal(
        jzx_spawn_supervisor(timing.loop, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(specs)), &root),
        JZX_OK);
    JZX_EXPECT_EQ(jzx_register(timing.loop, "root", root), JZX_OK);
    timing_step(&timing);
    tell(&timing, root, "c", TOY_FAIL);
    tell(&timing, root, "c", TOY_FAIL);
    expect_trace("+c -cF +c -cF +c ");
    JZX_EXPECT_EQ(family_of(&timing, root).restarts, 2);
    nursery_close(&timing, root);
}

JZX_TEST(an_actor_that_is_linked_to_a_supervisor_ends_with_it) {
    struct timing timing;
    jzx_actor_id root;
    jzx_actor_id low;
    open_tree(&timing, &root, &low);
    jzx_actor_id stranger = spawn_stranger(&timing, &low);
    JZX_EXPECT_EQ(jzx_actor_stop(timing.loop, root, JZX_STOP_KILL), JZX_OK);
    timing_step(&timing); /* the one below ends with the one above, linked or not */
    JZX_EXPECT(!lives(&timing, low) && !lives(&timing, stranger));
    JZX_EXPECT_EQ(strangers_ended[JZX_EXIT_SHUTDOWN], 1);
    JZX_EXPECT(!jzx_loop_alive(timing.loop));
    timing_close(&timing);
}
