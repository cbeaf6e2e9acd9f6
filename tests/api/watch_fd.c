/* SPDX-License-Identifier: MIT */
/* Readiness of descriptors as messages, step by step on one worker. */
#include "watching_fd.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/socket.h>

static void expect_event(const struct scene *scene, uint32_t number, int fd, uint32_t ready) {
    if (!JZX_EXPECT(scene->listener.count >= number))
        return;
    JZX_EXPECT_EQ(scene->listener.events[number - 1].fd, fd);
    JZX_EXPECT_EQ(scene->listener.events[number - 1].ready, ready);
}

/* ---- events ---- */

JZX_TEST(a_descriptor_that_is_ready_is_a_message, "X29", "C+io", "C24", "C+msg", "E3") {
    struct scene scene;
    open_scene(&scene);
    watch_read(&scene);
    step(&scene);
    JZX_EXPECT_EQ(scene.listener.count, 0);
    scene.listener.reads = 16;
    put_bytes(scene.fds[1], 3);
    step(&scene);
    JZX_EXPECT_EQ(scene.listener.count, 1);
    JZX_EXPECT_EQ(scene.listener.tags[0], 5);
    expect_event(&scene, 1, scene.fds[0], JZX_IO_READ);
    JZX_EXPECT_EQ(scene.listener.got, 3);
    close_scene(&scene);
}

JZX_TEST(without_a_tag_events_have_that_of_the_runtime, "X29", "C+sys") {
    struct scene scene;
    open_scene(&scene);
    JZX_EXPECT_EQ(JZX_TAG_IO, 0xFFFF0001u);
    JZX_EXPECT_EQ(jzx_watch_fd(scene.loop, scene.fds[1], scene.id, JZX_IO_WRITE, 0), JZX_OK);
    scene.listener.unwatches = true;
    step(&scene);
    JZX_EXPECT_EQ(scene.listener.count, 1);
    JZX_EXPECT_EQ(scene.listener.tags[0], JZX_TAG_IO);
    expect_event(&scene, 1, scene.fds[1], JZX_IO_WRITE);
    close_scene(&scene);
}

JZX_TEST(the_bits_of_readiness_have_their_values, "E52") {
    struct scene scene;
    open_scene(&scene);
    JZX_EXPECT(JZX_IO_READ == 1 && JZX_IO_WRITE == 2 && JZX_IO_ERROR == 4 && JZX_IO_HANGUP == 8);
    int both[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, both), 0);
    put_bytes(both[1], 1);
    shutdown(both[1], SHUT_WR);
    scene.listener.unwatches = true;
    JZX_EXPECT_EQ(jzx_watch_fd(scene.loop, both[0], scene.id, JZX_IO_READ | JZX_IO_WRITE, 1),
                  JZX_OK);
    step(&scene);
    expect_event(&scene, 1, both[0], JZX_IO_READ | JZX_IO_WRITE | JZX_IO_HANGUP);
    JZX_EXPECT_EQ(jzx_watch_fd(scene.loop, both[0], scene.id, JZX_IO_WRITE, 1), JZX_OK);
    step(&scene); /* who only writes does not hear that the other does not */
    expect_event(&scene, 2, both[0], JZX_IO_WRITE);
    close(scene.fds[0]); /* a write end that nobody reads from */
    scene.fds[0] = -1;
    JZX_EXPECT_EQ(jzx_watch_fd(scene.loop, scene.fds[1], scene.id, JZX_IO_WRITE, 1), JZX_OK);
    step(&scene);
    expect_event(&scene, 3, scene.fds[1], JZX_IO_WRITE | JZX_IO_ERROR);
    close_pipe(both);
    close_scene(&scene);
}

JZX_TEST(what_was_written_before_the_other_end_closed_can_be_read, "E52", "C+inv") {
    struct scene scene;
    open_scene(&scene);
    watch_read(&scene);
    scene.listener.reads = 2;
    put_bytes(scene.fds[1], 3);
    close(scene.fds[1]);
    scene.fds[1] = -1;
    step(&scene);
    expect_event(&scene, 1, scene.fds[0], JZX_IO_READ | JZX_IO_HANGUP);
    step(&scene);
    expect_event(&scene, 2, scene.fds[0], JZX_IO_READ | JZX_IO_HANGUP);
    JZX_EXPECT_EQ(scene.listener.got, 3);
    scene.listener.unwatches = true;
    step(&scene);
    expect_event(&scene, 3, scene.fds[0], JZX_IO_HANGUP);
    step(&scene);
    JZX_EXPECT_EQ(scene.listener.count, 3);
    close_scene(&scene);
}

/* ---- one event at a time ---- */

static jzx_behavior_result flood(jzx_context *ctx, const jzx_message *msg) {
    struct scene *scene = ctx->state;
    (void)msg;
    jzx_test_ran();
    put_bytes(scene->fds[1], 1);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(one_event_is_outstanding_however_much_comes, "X29", "C+inv") {
    struct scene scene;
    open_scene(&scene);
    scene.listener.reads = 256;
    watch_read(&scene);
    jzx_actor_id writer =
        fixture_spawn(scene.loop, &JZX_SPAWN_OPTS(.behavior = flood, .state = &scene));
    for (uint32_t round = 1; round <= 20; round++) {
        for (int i = 0; i < 10; i++)
            fixture_send(scene.loop, writer, 1);
        step(&scene);
        step(&scene);
        JZX_EXPECT(scene.listener.count >= round && scene.listener.count <= 2 * round);
        JZX_EXPECT_EQ(scene.listener.got, 10 * round);
    }
    close_scene(&scene);
}

JZX_TEST(a_handler_that_reads_a_part_is_told_again, "X29", "C+inv") {
    struct scene scene;
    open_scene(&scene);
    watch_read(&scene);
    scene.listener.reads = 10;
    put_bytes(scene.fds[1], 95);
    for (uint32_t i = 1; i <= 10; i++) {
        step(&scene);
        JZX_EXPECT_EQ(scene.listener.count, i);
    }
    JZX_EXPECT_EQ(scene.listener.got, 95);
    step(&scene);
    JZX_EXPECT_EQ(scene.listener.count, 10);
    close_scene(&scene);
}

static jzx_behavior_result stash_first(jzx_context *ctx, const jzx_message *msg) {
    struct listener *me = ctx->state;
    if (msg->tag == PLAIN_TAG) {
        JZX_EXPECT_EQ(jzx_unstash(ctx), me->others == 0);
        me->others++;
    } else if (me->others == 0) {
        me->count++;
        JZX_EXPECT_EQ(jzx_stash(ctx, msg), JZX_OK);
        return JZX_BEHAVIOR_OK;
    } else {
        return listen_to(ctx, msg);
    }
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(an_event_that_is_stashed_is_outstanding, "X29") {
    for (int unwatched = 0; unwatched < 2; unwatched++) {
        struct scene scene;
        open_scene(&scene);
        struct listener late = {.reads = 1};
        jzx_actor_id id =
            fixture_spawn(scene.loop, &JZX_SPAWN_OPTS(.behavior = stash_first, .state = &late));
        JZX_EXPECT_EQ(jzx_watch_fd(scene.loop, scene.fds[0], id, JZX_IO_READ, 1), JZX_OK);
        put_bytes(scene.fds[1], 1);
        for (int i = 0; i < 3; i++)
            step(&scene);
        JZX_EXPECT_EQ(late.count, 1);
        if (unwatched)
            JZX_EXPECT_EQ(jzx_unwatch_fd(scene.loop, scene.fds[0]), JZX_OK);
        fixture_send(scene.loop, id, PLAIN_TAG);
        step(&scene);
        JZX_EXPECT_EQ(late.count, unwatched ? 1 : 2);
        JZX_EXPECT_EQ(late.got, !unwatched);
        close_scene(&scene);
    }
}

JZX_TEST(a_full_mailbox_takes_events, "C+sys", "X29") {
    struct scene scene;
    open_scene(&scene);
    struct listener full = {.reads = 1};
    jzx_actor_id id = fixture_spawn(
        scene.loop, &JZX_SPAWN_OPTS(.behavior = listen_to, .state = &full, .mailbox_cap = 1));
    JZX_EXPECT_EQ(jzx_watch_fd(scene.loop, scene.fds[0], id, JZX_IO_READ, 1), JZX_OK);
    step(&scene);
    put_bytes(scene.fds[1], 1);
    fixture_send(scene.loop, id, PLAIN_TAG);
    JZX_EXPECT_EQ(jzx_send(scene.loop, id, JZX_NOBODY, NULL, 0, PLAIN_TAG), JZX_ERR_MAILBOX_FULL);
    step(&scene);
    JZX_EXPECT_EQ(full.others, 1);
    JZX_EXPECT_EQ(full.count, 1);
    close_scene(&scene);
}

/* ---- watching again, and no more ---- */

JZX_TEST(a_second_watch_updates_interest_and_tag, "C+io") {
    struct scene scene;
    open_scene(&scene);
    int both[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, both), 0);
    JZX_EXPECT_EQ(jzx_watch_fd(scene.loop, both[0], scene.id, JZX_IO_READ, 5), JZX_OK);
    step(&scene);
    JZX_EXPECT_EQ(scene.listener.count, 0);
    JZX_EXPECT_EQ(jzx_watch_fd(scene.loop, both[0], scene.id, JZX_IO_WRITE, 6), JZX_OK);
    step(&scene);
    expect_event(&scene, 1, both[0], JZX_IO_WRITE);
    JZX_EXPECT_EQ(scene.listener.tags[0], 6);
    JZX_EXPECT_EQ(jzx_watch_fd(scene.loop, both[0], scene.id, JZX_IO_READ, 7), JZX_OK);
    step(&scene); /* an event for the write may be under way: it says no more than is asked for */
    JZX_EXPECT_EQ(scene.listener.count, 1);
    put_bytes(both[1], 1);
    scene.listener.reads = 1;
    step(&scene);
    expect_event(&scene, 2, both[0], JZX_IO_READ);
    JZX_EXPECT_EQ(scene.listener.tags[1], 7);
    JZX_EXPECT_EQ(jzx_unwatch_fd(scene.loop, both[0]), JZX_OK);
    JZX_EXPECT_EQ(jzx_unwatch_fd(scene.loop, both[0]), JZX_ERR_IO_NOT_WATCHED);
    close_pipe(both);
    close_scene(&scene);
}

/* The event of the first is in its mailbox when the second takes over. */
static jzx_behavior_result pass_on(jzx_context *ctx, const jzx_message *msg) {
    struct scene *scene = ctx->state;
    (void)msg;
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_watch_fd(ctx->loop, scene->fds[0], ctx->self, JZX_IO_READ, 9), JZX_OK);
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(another_owner_gets_the_descriptor, "C+io") {
    struct scene scene;
    open_scene(&scene);
    struct listener second = {.reads = 8};
    jzx_actor_id other = spawn_listener(scene.loop, &second);
    watch_read(&scene);
    step(&scene);
    JZX_EXPECT_EQ(jzx_watch_fd(scene.loop, scene.fds[0], other, JZX_IO_READ, 8), JZX_OK);
    put_bytes(scene.fds[1], 1);
    step(&scene);
    JZX_EXPECT_EQ(scene.listener.count, 0);
    JZX_EXPECT_EQ(second.count, 1);
    JZX_EXPECT_EQ(second.tags[0], 8);
    jzx_actor_id thief =
        fixture_spawn(scene.loop, &JZX_SPAWN_OPTS(.behavior = pass_on, .state = &scene));
    fixture_send(scene.loop, thief, 1);
    step(&scene); /* takes it, and ends: nobody has it */
    put_bytes(scene.fds[1], 1);
    step(&scene);
    JZX_EXPECT_EQ(second.count, 1);
    JZX_EXPECT_EQ(jzx_unwatch_fd(scene.loop, scene.fds[0]), JZX_ERR_IO_NOT_WATCHED);
    close_scene(&scene);
}

/* Handles one message in a turn, so that an event can wait behind it. */
static jzx_behavior_result unwatch_it(jzx_context *ctx, const jzx_message *msg) {
    struct scene *scene = ctx->state;
    jzx_test_ran();
    if (msg->tag == PLAIN_TAG)
        JZX_EXPECT_EQ(jzx_unwatch_fd(ctx->loop, scene->fds[0]), JZX_OK);
    else
        scene->listener.count++;
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(unwatch_drops_the_event_that_waits, "C+io") {
    struct scene scene;
    open_scene(&scene);
    jzx_actor_id id =
        fixture_spawn(scene.loop, &JZX_SPAWN_OPTS(.behavior = unwatch_it, .state = &scene));
    JZX_EXPECT_EQ(jzx_watch_fd(scene.loop, scene.fds[0], id, JZX_IO_READ, 1), JZX_OK);
    step(&scene);
    put_bytes(scene.fds[1], 1);
    fixture_send(scene.loop, id, PLAIN_TAG); /* comes before the event */
    step(&scene);
    step(&scene);
    JZX_EXPECT_EQ(scene.listener.count, 0);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    JZX_EXPECT_EQ(jzx_unwatch_fd(scene.loop, scene.fds[0]), JZX_ERR_IO_NOT_WATCHED);
    JZX_EXPECT_EQ(jzx_unwatch_fd(scene.loop, -1), JZX_ERR_IO_NOT_WATCHED);
    JZX_EXPECT_EQ(jzx_unwatch_fd(scene.loop, BAD_FD), JZX_ERR_IO_NOT_WATCHED);
    JZX_EXPECT_EQ(jzx_unwatch_fd(NULL, scene.fds[0]), JZX_ERR_INVALID_ARG);
    close_scene(&scene);
}

JZX_TEST(the_watches_of_an_actor_end_with_it, "C+io") {
    for (int ready = 0; ready < 2; ready++) {
        struct scene scene;
        open_scene(&scene);
        int more[2];
        open_pipe(more);
        watch_read(&scene);
        JZX_EXPECT_EQ(jzx_watch_fd(scene.loop, more[0], scene.id, JZX_IO_READ, 1), JZX_OK);
        if (ready) {
            put_bytes(scene.fds[1], 1);
            put_bytes(more[1], 1);
        } else {
            step(&scene);
        }
        JZX_EXPECT_EQ(jzx_actor_stop(scene.loop, scene.id, JZX_STOP_KILL), JZX_OK);
        step(&scene);
        JZX_EXPECT(scene.listener.ended);
        JZX_EXPECT_EQ(jzx_unwatch_fd(scene.loop, scene.fds[0]), JZX_ERR_IO_NOT_WATCHED);
        JZX_EXPECT_EQ(jzx_unwatch_fd(scene.loop, more[0]), JZX_ERR_IO_NOT_WATCHED);
        put_bytes(scene.fds[1], 1);
        step(&scene);
        JZX_EXPECT_EQ(scene.listener.count, 0);
        JZX_EXPECT_EQ(fcntl(more[0], F_GETFD) >= 0, true); /* it stays the user's */
        close_pipe(more);
        close_scene(&scene);
    }
}

static jzx_behavior_result begin_to_stop(jzx_context *ctx, const jzx_message *msg) {
    struct scene *scene = ctx->state;
    int fd = scene->fds[0];
    jzx_test_ran();
    if (msg->tag != PLAIN_TAG) {
        scene->listener.count++;
    } else if (scene->listener.others++ == 0) {
        JZX_EXPECT_EQ(jzx_watch_fd(ctx->loop, fd, ctx->self, JZX_IO_READ, 1), JZX_OK);
        JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, ctx->self, JZX_STOP_AFTER_QUEUE), JZX_OK);
        JZX_EXPECT_EQ(jzx_watch_fd(ctx->loop, scene->fds[1], ctx->self, JZX_IO_WRITE, 1),
                      JZX_ERR_NO_SUCH_ACTOR);
        put_bytes(scene->fds[1], 1);
    }
    return JZX_BEHAVIOR_OK;
}

/* A step takes one turn, of one message, and polls before it. */
JZX_TEST(an_actor_that_works_its_queue_off_gets_no_more_events, "C+io") {
    struct scene scene;
    open_scene_with(&scene, &JZX_CONFIG(.max_msgs_per_actor = 1));
    jzx_actor_id id =
        fixture_spawn(scene.loop, &JZX_SPAWN_OPTS(.behavior = begin_to_stop, .state = &scene));
    for (int i = 0; i < 3; i++)
        fixture_send(scene.loop, id, PLAIN_TAG);
    JZX_EXPECT_EQ(jzx_loop_step(scene.loop, 0), JZX_OK);
    JZX_EXPECT_EQ(scene.listener.others, 1);
    JZX_EXPECT_EQ(jzx_loop_step(scene.loop, 0), JZX_OK);
    JZX_EXPECT_EQ(scene.listener.others, 2);
    JZX_EXPECT_EQ(jzx_unwatch_fd(scene.loop, scene.fds[0]), JZX_ERR_IO_NOT_WATCHED);
    step(&scene);
    JZX_EXPECT_EQ(scene.listener.others, 3);
    JZX_EXPECT_EQ(scene.listener.count, 0);
    JZX_EXPECT_EQ(jzx_actor_stop(scene.loop, id, JZX_STOP_KILL), JZX_ERR_NO_SUCH_ACTOR);
    close_scene(&scene);
}

/* ---- descriptors that are closed under their watch ---- */

static void step_until(struct scene *scene, uint32_t count) {
    for (int i = 0; i < 100 && scene->listener.count < count; i++)
        step(scene);
}

JZX_TEST(a_closed_descriptor_gives_one_error, "C+io") {
    struct scene scene;
    open_scene(&scene);
    watch_read(&scene);
    step(&scene);
    int closed = scene.fds[0];
    close(closed);
    scene.fds[0] = -1;
    step_until(&scene, 1);
    expect_event(&scene, 1, closed, JZX_IO_ERROR | JZX_IO_CLOSED);
    for (int i = 0; i < 5; i++)
        step(&scene);
    JZX_EXPECT_EQ(scene.listener.count, 1);
    JZX_EXPECT_EQ(jzx_unwatch_fd(scene.loop, closed), JZX_ERR_IO_NOT_WATCHED);
    close_scene(&scene);
}

static jzx_behavior_result close_in_handler(jzx_context *ctx, const jzx_message *msg) {
    jzx_behavior_result result = listen_to(ctx, msg);
    jzx_io_event event = event_of(msg);
    if (event.ready & JZX_IO_READ)
        close(event.fd);
    return result;
}

JZX_TEST(a_descriptor_closed_by_its_handler_gives_one_error, "C+io") {
    struct scene scene;
    open_scene(&scene);
    struct listener closer = {.reads = 1};
    jzx_actor_id id =
        fixture_spawn(scene.loop, &JZX_SPAWN_OPTS(.behavior = close_in_handler, .state = &closer));
    JZX_EXPECT_EQ(jzx_watch_fd(scene.loop, scene.fds[0], id, JZX_IO_READ, 1), JZX_OK);
    put_bytes(scene.fds[1], 1);
    for (int i = 0; i < 5; i++)
        step(&scene);
    JZX_EXPECT_EQ(closer.count, 2);
    JZX_EXPECT_EQ(closer.events[0].ready, JZX_IO_READ);
    JZX_EXPECT_EQ(closer.events[1].ready, JZX_IO_ERROR | JZX_IO_CLOSED);
    JZX_EXPECT_EQ(closer.events[1].fd, scene.fds[0]);
    scene.fds[0] = -1;
    close_scene(&scene);
}

JZX_TEST(a_number_that_is_used_again_is_not_watched_by_itself, "C+io") {
    struct scene scene;
    open_scene(&scene);
    watch_read(&scene);
    step(&scene);
    int other[2];
    open_pipe(other);
    assert_int_equal(dup2(other[0], scene.fds[0]), scene.fds[0]); /* another file from now on */
    put_bytes(other[1], 1);
    step_until(&scene, 1);
    expect_event(&scene, 1, scene.fds[0], JZX_IO_ERROR | JZX_IO_CLOSED);
    for (int i = 0; i < 3; i++)
        step(&scene);
    JZX_EXPECT_EQ(scene.listener.count, 1);
    watch_read(&scene);
    scene.listener.reads = 8;
    step(&scene);
    expect_event(&scene, 2, scene.fds[0], JZX_IO_READ);
    close_pipe(other);
    close_scene(&scene);
}

/* Another file under the same number, watched at once: it is that one which is meant. */
static jzx_behavior_result replace_in_handler(jzx_context *ctx, const jzx_message *msg) {
    struct scene *scene = ctx->state;
    jzx_io_event event = event_of(msg);
    int other[2];
    jzx_test_ran();
    scene->listener.count++;
    JZX_EXPECT_EQ(event.ready, JZX_IO_READ);
    if (scene->listener.count > 1)
        return JZX_BEHAVIOR_STOP;
    open_pipe(other);
    put_bytes(other[1], 1);
    JZX_EXPECT_EQ(dup2(other[0], event.fd), event.fd);
    close(other[0]);
    close(scene->fds[1]);
    scene->fds[1] = other[1];
    JZX_EXPECT_EQ(jzx_watch_fd(ctx->loop, event.fd, ctx->self, JZX_IO_READ, 2), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_number_that_is_watched_again_means_the_file_that_it_is_now, "C+io") {
    struct scene scene;
    open_scene(&scene);
    jzx_actor_id id =
        fixture_spawn(scene.loop, &JZX_SPAWN_OPTS(.behavior = replace_in_handler, .state = &scene));
    JZX_EXPECT_EQ(jzx_watch_fd(scene.loop, scene.fds[0], id, JZX_IO_READ, 1), JZX_OK);
    put_bytes(scene.fds[1], 1);
    step_until(&scene, 2);
    JZX_EXPECT_EQ(scene.listener.count, 2);
    close_scene(&scene);
}

/* ---- refusals ---- */

JZX_TEST(what_cannot_be_watched_is_refused, "C+fail", "X29") {
    struct scene scene;
    open_scene(&scene);
    char path[] = "/tmp/jzx_watch_XXXXXX";
    int file = mkstemp(path);
    unlink(path);
    int fd = scene.fds[0];
    JZX_EXPECT_EQ(jzx_watch_fd(NULL, fd, scene.id, JZX_IO_READ, 1), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_watch_fd(scene.loop, fd, scene.id, 0, 1), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_watch_fd(scene.loop, fd, scene.id, 16, 1), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_watch_fd(scene.loop, fd, scene.id, JZX_IO_READ, JZX_TAG_RESERVED),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_watch_fd(scene.loop, -1, scene.id, JZX_IO_READ, 1), JZX_ERR_IO_REG_FAILED);
    JZX_EXPECT_EQ(jzx_watch_fd(scene.loop, BAD_FD, scene.id, JZX_IO_READ, 1),
                  JZX_ERR_IO_REG_FAILED);
    JZX_EXPECT_EQ(jzx_watch_fd(scene.loop, file, scene.id, JZX_IO_READ, 1), JZX_ERR_IO_REG_FAILED);
    JZX_EXPECT_EQ(jzx_watch_fd(scene.loop, fd, JZX_NOBODY, JZX_IO_READ, 1), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_actor_stop(scene.loop, scene.id, JZX_STOP_KILL), JZX_OK);
    step(&scene);
    JZX_EXPECT_EQ(jzx_watch_fd(scene.loop, fd, scene.id, JZX_IO_READ, 1), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_loop_request_stop(scene.loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_watch_fd(scene.loop, fd, scene.id, JZX_IO_READ, 1), JZX_ERR_LOOP_CLOSED);
    close(file);
    close_scene(&scene);
}

static const int numbers_of_nobody[] = {1000000, 100000000, INT_MAX};

/* No memory is asked for: all of it would be refused. */
static void watch_numbers_of_nobody(jzx_loop *loop, jzx_actor_id id) {
    for (size_t i = 0; i < 3; i++) {
        fixture_fail_allocations(0, UINT64_MAX);
        JZX_EXPECT_EQ(jzx_watch_fd(loop, numbers_of_nobody[i], id, JZX_IO_READ, 1),
                      JZX_ERR_IO_REG_FAILED);
        fixture_fail_allocations(UINT64_MAX, 0);
        JZX_EXPECT_EQ(jzx_unwatch_fd(loop, numbers_of_nobody[i]), JZX_ERR_IO_NOT_WATCHED);
    }
}

static jzx_behavior_result watch_own(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    jzx_test_ran();
    watch_numbers_of_nobody(ctx->loop, ctx->self);
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(a_number_that_no_descriptor_has_takes_no_memory, "C+fail", "C+io") {
    jzx_loop *loop = fixture_loop();
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = watch_own));
    watch_numbers_of_nobody(loop, id);
    fixture_send(loop, id, 1);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(jzx_test_runs(), 1);
    fixture_destroy(loop);
}

JZX_TEST(a_refused_watch_leaves_the_one_before_as_it_was, "C+fail", "C+io") {
    struct scene scene;
    open_scene(&scene);
    watch_read(&scene);
    JZX_EXPECT_EQ(jzx_watch_fd(scene.loop, scene.fds[0], JZX_NOBODY, JZX_IO_READ, 1),
                  JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_watch_fd(scene.loop, scene.fds[0], scene.id, 0, 1), JZX_ERR_INVALID_ARG);
    put_bytes(scene.fds[1], 1);
    step(&scene);
    JZX_EXPECT_EQ(scene.listener.count, 1);
    JZX_EXPECT_EQ(scene.listener.tags[0], 5);
    close_scene(&scene);
}

JZX_TEST(so_many_descriptors_are_watched_as_the_configuration_allows, "C+def", "X9") {
    jzx_config defaults;
    JZX_EXPECT_EQ(jzx_config_init(&defaults, sizeof defaults), JZX_OK);
    JZX_EXPECT_EQ(defaults.max_io_watchers, 1024);
    int fds[3][2];
    struct scene scene;
    open_scene_with(&scene, &JZX_CONFIG(.max_io_watchers = 2));
    jzx_loop *loop = scene.loop;
    jzx_actor_id id = scene.id;
    for (int i = 0; i < 3; i++)
        open_pipe(fds[i]);
    for (int round = 0; round < 3; round++) {
        JZX_EXPECT_EQ(jzx_watch_fd(loop, fds[0][0], id, JZX_IO_READ, 1), JZX_OK);
        JZX_EXPECT_EQ(jzx_watch_fd(loop, fds[1][0], id, JZX_IO_READ, 1), JZX_OK);
        JZX_EXPECT_EQ(jzx_watch_fd(loop, fds[2][0], id, JZX_IO_READ, 1), JZX_ERR_FULL);
        JZX_EXPECT_EQ(jzx_watch_fd(loop, fds[1][0], id, JZX_IO_READ, 2), JZX_OK); /* an update */
        JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
        JZX_EXPECT_EQ(jzx_unwatch_fd(loop, fds[0][0]), JZX_OK);
        JZX_EXPECT_EQ(jzx_watch_fd(loop, fds[2][0], id, JZX_IO_READ, 1), JZX_OK);
        JZX_EXPECT_EQ(jzx_unwatch_fd(loop, fds[1][0]), JZX_OK);
        JZX_EXPECT_EQ(jzx_unwatch_fd(loop, fds[2][0]), JZX_OK);
    }
    for (int i = 0; i < 3; i++)
        close_pipe(fds[i]);
    close_scene(&scene);
}
