/* SPDX-License-Identifier: MIT */
/* Awaited descriptors when something ends: the file, the actor, the loop, the memory. */
#include "awaiting_fd.h"

#include <sys/eventfd.h>

/* ---- the descriptor is closed under a wait ---- */

JZX_TEST(a_wait_learns_that_its_descriptor_was_closed, "E54", "X40") {
    struct scene scene;
    open_scene(&scene);
    struct party party = {.fd = scene.fds[0], .interest = JZX_IO_READ, .deadline_ns = JZX_NEVER};
    spawn_party(&scene, &party);
    step(&scene);
    close(scene.fds[0]);
    scene.fds[0] = -1;
    step(&scene);
    expect_failed(&party, JZX_ERR_CLOSED);
    JZX_EXPECT_EQ(party.os_error, EBADF);
    close_scene(&scene);
}

JZX_TEST(each_of_many_closed_descriptors_is_found_out, "E54", "X40") {
    enum { MANY = 40 };
    struct scene scene;
    struct party parties[MANY];
    open_scene(&scene);
    for (int i = 0; i < MANY; i++) {
        parties[i] = (struct party){
            .fd = eventfd(0, EFD_NONBLOCK), .interest = JZX_IO_READ, .deadline_ns = JZX_NEVER};
        spawn_party(&scene, &parties[i]);
    }
    step(&scene);
    for (int i = 0; i < MANY; i++)
        close(parties[i].fd);
    for (int i = 0; i < MANY; i++) /* a check looks at some of them */
        step(&scene);
    for (int i = 0; i < MANY; i++)
        expect_failed(&parties[i], JZX_ERR_CLOSED);
    close_scene(&scene);
}

JZX_TEST(the_file_that_gets_the_number_is_not_taken_for_the_old_one, "E54", "X40") {
    struct scene scene;
    open_scene(&scene);
    struct party old = {.fd = scene.fds[0], .interest = JZX_IO_READ, .deadline_ns = JZX_NEVER};
    spawn_party(&scene, &old);
    step(&scene);
    int fd = eventfd(1, EFD_NONBLOCK); /* it can be read */
    int copy = dup(scene.fds[0]);      /* the old file stays open */
    assert_int_equal(dup2(fd, scene.fds[0]), scene.fds[0]);
    step(&scene);
    expect_failed(&old, JZX_ERR_CLOSED);
    struct party next = {.fd = scene.fds[0], .interest = JZX_IO_READ, .deadline_ns = JZX_NEVER};
    spawn_party(&scene, &next);
    step(&scene);
    expect_ready(&next, JZX_IO_READ);
    put_bytes(scene.fds[1], 1); /* the old one may be reported: to nobody */
    step(&scene);
    close(fd);
    close(copy);
    close_scene(&scene);
}

/* Awaits what the number stands for by now, before a check has looked. */
JZX_TEST(a_wait_for_a_reused_number_ends_those_of_the_old_file, "E54", "X40") {
    struct scene scene;
    jzx_future *futures[2] = {NULL, NULL};
    open_scene(&scene);
    JZX_EXPECT_EQ(jzx_fd_await_async(scene.loop, scene.fds[0], JZX_IO_READ, JZX_NEVER, &futures[0]),
                  JZX_OK);
    step(&scene);
    int fd = eventfd(0, EFD_NONBLOCK);
    int copy = dup(scene.fds[0]); /* the old file stays open */
    assert_int_equal(dup2(fd, scene.fds[0]), scene.fds[0]);
    JZX_EXPECT_EQ(jzx_fd_await_async(scene.loop, scene.fds[0], JZX_IO_READ, JZX_NEVER, &futures[1]),
                  JZX_OK);
    step(&scene);
    JZX_EXPECT_EQ(jzx_future_try(futures[0], NULL), JZX_ERR_CLOSED);
    JZX_EXPECT_EQ(jzx_future_try(futures[1], NULL), JZX_ERR_TIMEOUT);
    put_bytes(scene.fds[1], 1); /* of the old file */
    step(&scene);
    JZX_EXPECT_EQ(jzx_future_try(futures[1], NULL), JZX_ERR_TIMEOUT);
    const uint64_t one = 1;
    JZX_EXPECT_EQ(write(fd, &one, sizeof one), sizeof one);
    step(&scene);
    JZX_EXPECT_EQ(jzx_future_try(futures[1], NULL), JZX_OK);
    jzx_future_release(futures[0]);
    jzx_future_release(futures[1]);
    close(copy);
    close(fd);
    close_scene(&scene);
}

/* ---- the actor ends ---- */

JZX_TEST(a_killed_fiber_leaves_no_wait_behind, "X40") {
    struct scene scene;
    open_scene(&scene);
    struct party party = {
        .fd = scene.fds[0], .interest = JZX_IO_READ, .deadline_ns = JZX_SECOND(1)};
    struct party other = {.fd = scene.fds[0], .interest = JZX_IO_READ, .deadline_ns = JZX_NEVER};
    jzx_actor_id id = spawn_party(&scene, &party);
    spawn_party(&scene, &other);
    step(&scene);
    JZX_EXPECT_EQ(jzx_actor_stop(scene.loop, id, JZX_STOP_KILL), JZX_OK);
    step(&scene);
    JZX_EXPECT(party.is_cleaned);
    JZX_EXPECT_EQ(party.ended, 0);
    put_bytes(scene.fds[1], 1);
    step(&scene);
    expect_ready(&other, JZX_IO_READ); /* that of another goes on */
    close_scene(&scene);
}

static jzx_behavior_result begin_and_die(jzx_context *ctx, const jzx_message *msg) {
    const struct scene *scene = ctx->state;
    (void)msg;
    jzx_test_ran();
    for (uint32_t i = 0; i < 3; i++)
        JZX_EXPECT_EQ(jzx_fd_await_to(ctx, scene->fds[0], JZX_IO_READ,
                                      i == 0 ? JZX_NEVER : JZX_SECOND(i), 1, NULL),
                      JZX_OK);
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(operations_end_with_their_actor, "X40") {
    struct scene scene;
    open_scene(&scene);
    jzx_actor_id id =
        fixture_spawn(scene.loop, &JZX_SPAWN_OPTS(.behavior = begin_and_die, .state = &scene));
    fixture_send(scene.loop, id, 1);
    step(&scene);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    JZX_EXPECT_EQ(jzx_loop_next_deadline(scene.loop), JZX_NEVER);
    put_bytes(scene.fds[1], 1);
    step(&scene);
    close_scene(&scene);
}

/* ---- the loop ends ---- */

JZX_TEST(a_fiber_that_is_asked_to_end_waits_no_more, "X40") {
    struct scene scene;
    open_scene(&scene);
    struct party party = {
        .fd = scene.fds[0], .interest = JZX_IO_READ, .deadline_ns = JZX_NEVER, .times = 2};
    spawn_party(&scene, &party);
    step(&scene);
    JZX_EXPECT_EQ(jzx_loop_stop(scene.loop, JZX_SECOND(1)), JZX_OK);
    step(&scene);
    expect_failed(&party, JZX_ERR_CANCELLED);
    JZX_EXPECT(party.is_cleaned);
    close_scene(&scene);
}

static void drain_ready(jzx_context *ctx) {
    const struct scene *scene = ctx->state;
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_fd_await(ctx, scene->fds[0], JZX_IO_READ, JZX_NEVER, NULL),
                  JZX_ERR_CANCELLED);
    JZX_EXPECT_EQ(jzx_fd_await(ctx, scene->fds[1], JZX_IO_WRITE, JZX_NEVER, NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_fd_await(ctx, scene->fds[0], JZX_IO_READ, JZX_NEVER, NULL),
                  JZX_ERR_CANCELLED);
    jzx_test_ran();
}

JZX_TEST(a_fiber_that_drains_still_hears_of_what_is_ready, "X40") {
    struct scene scene;
    open_scene(&scene);
    fixture_spawn(scene.loop, &JZX_SPAWN_OPTS(.fiber = drain_ready, .state = &scene));
    step(&scene);
    JZX_EXPECT_EQ(jzx_loop_stop(scene.loop, JZX_SECOND(1)), JZX_OK);
    step(&scene);
    JZX_EXPECT_EQ(jzx_test_runs(), 2);
    close_scene(&scene);
}

JZX_TEST(a_loop_is_destroyed_under_all_kinds_of_waits, "X40") {
    struct scene scene;
    jzx_future *future = NULL;
    open_scene(&scene);
    struct party party = {
        .fd = scene.fds[0], .interest = JZX_IO_READ, .deadline_ns = JZX_SECOND(1)};
    spawn_party(&scene, &party);
    JZX_EXPECT_EQ(jzx_fd_await_async(scene.loop, scene.fds[0], JZX_IO_READ, JZX_SECOND(2), &future),
                  JZX_OK);
    step(&scene);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    JZX_EXPECT_EQ(party.ended, 0);
    fixture_destroy(scene.loop);
    JZX_EXPECT(party.is_cleaned);
    JZX_EXPECT_EQ(jzx_future_try(future, NULL), JZX_ERR_LOOP_CLOSED);
    jzx_future_release(future);
    JZX_EXPECT_EQ(jzx_clock_free(scene.clock), JZX_OK);
    close_pipe(scene.fds);
    JZX_EXPECT_EQ(descriptors_open(), scene.open_before);
}

/* ---- memory ---- */

/* True if no allocation has failed. */
static bool use_waits(struct scene *scene) {
    struct party party = {
        .fd = scene->fds[0], .interest = JZX_IO_READ, .deadline_ns = JZX_SECOND(1)};
    jzx_future *future = NULL;
    jzx_actor_id id;
    if (jzx_spawn(scene->loop,
                  &JZX_SPAWN_OPTS(.fiber = await_fd, .state = &party, .cleanup = note_party),
                  &id) != JZX_OK)
        return false;
    jzx_err err =
        jzx_fd_await_async(scene->loop, scene->fds[0], JZX_IO_READ, JZX_SECOND(2), &future);
    JZX_EXPECT(err == JZX_OK || err == JZX_ERR_NO_MEMORY);
    JZX_EXPECT_EQ(future != NULL, err == JZX_OK);
    (void)jzx_loop_step(scene->loop, JZX_NEVER);
    put_bytes(scene->fds[1], 1);
    (void)jzx_loop_step(scene->loop, JZX_NEVER);
    (void)jzx_loop_step(scene->loop, JZX_NEVER);
    bool whole = err == JZX_OK && party.ended == 1 && party.err == JZX_OK;
    if (party.ended == 1 && party.err != JZX_OK)
        JZX_EXPECT_EQ(party.err, JZX_ERR_NO_MEMORY);
    if (future != NULL) {
        uint32_t ready = UNTOUCHED;
        jzx_err read = jzx_future_try(future, &ready);
        JZX_EXPECT(read == JZX_OK ? ready == JZX_IO_READ : read == JZX_ERR_NO_MEMORY);
        whole = whole && read == JZX_OK;
        jzx_future_release(future);
    }
    JZX_EXPECT(party.is_cleaned); /* it was told, or had no stack */
    return whole;
}

JZX_TEST(each_allocation_of_a_wait_may_fail, "C+fail") {
    for (uint64_t count = 1; count != 0; count = count == 1 ? UINT64_MAX : 0) {
        bool whole = false;
        uint64_t n = 0;
        for (; n < 200 && !whole; n++) {
            struct scene scene;
            open_scene(&scene);
            fixture_fail_allocations(n, count);
            whole = use_waits(&scene);
            fixture_fail_allocations(UINT64_MAX, 0);
            close_scene(&scene);
        }
        JZX_EXPECT(whole);
        JZX_EXPECT(n > 3);
    }
}
