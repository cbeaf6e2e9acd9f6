/* SPDX-License-Identifier: MIT */
/* Subprocesses that are stopped, closed, given away, let go, or lose their owner: in every state,
 * no process, no zombie and no descriptor is left. */
#include "subprocessing.h"

#include <jzx/clock.h>

#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>

/* Ends when it hears nothing more, in case a test fails. */
#define STUBBORN "trap '' TERM; echo ready; while read line; do :; done; sleep 60"
#define QUIET "echo ready; read line; sleep 60"

static jzx_subprocess start_script(jzx_context *ctx, const char *script) {
    jzx_subprocess child = start(ctx, &JZX_SUBPROCESS_OPTS(.argv = shell(script), .input = STREAM,
                                                           .output = STREAM, .new_group = true));
    read_line(ctx, stream_of(ctx, child, 1));
    return child;
}

/* ---- stopping ---- */

static void stop_each(jzx_context *ctx) {
    jzx_subprocess_status status = {.code = -1};
    jzx_test_ran();
    jzx_subprocess child = start_script(ctx, QUIET);
    JZX_EXPECT_EQ(jzx_subprocess_stop(ctx, child, SIGUSR1, JZX_NEVER, &status), JZX_OK);
    JZX_EXPECT_EQ(status.code, SIGUSR1);
    child = start_script(ctx, QUIET);
    JZX_EXPECT_EQ(jzx_subprocess_stop(ctx, child, 0, JZX_NEVER, &status), JZX_OK);
    JZX_EXPECT_EQ(status.code, SIGTERM);
    child =
        start_script(ctx, "trap 'exit 9' TERM; echo ready; while :; do read x || sleep 1; done");
    JZX_EXPECT_EQ(jzx_subprocess_stop(ctx, child, 0, JZX_NEVER, &status), JZX_OK);
    JZX_EXPECT_EQ(status.end, JZX_SUBPROCESS_EXITED);
    JZX_EXPECT_EQ(status.code, 9);
    child = start_script(ctx, STUBBORN);
    JZX_EXPECT_EQ(jzx_subprocess_stop(ctx, child, 0, 0, &status), JZX_OK); /* at once */
    JZX_EXPECT_EQ(status.code, SIGKILL);
}

JZX_TEST(a_subprocess_is_stopped_by_a_signal_or_killed, "C+goal") {
    in_a_fiber(stop_each, NULL);
}

/* The clock stands still: before it is moved nobody is killed. */
static atomic_int stops;

static void stop_stubborn(jzx_context *ctx) {
    jzx_subprocess_status status = {.code = -1};
    jzx_test_ran();
    jzx_subprocess child = start_script(ctx, STUBBORN);
    JZX_EXPECT_EQ(jzx_subprocess_signal(ctx->loop, child, SIGTERM), JZX_OK);
    JZX_EXPECT_EQ(jzx_subprocess_wait(ctx, child, 0, &status), JZX_ERR_TIMEOUT);
    atomic_store(&stops, pid_of(ctx->loop, child));
    JZX_EXPECT_EQ(jzx_subprocess_stop(ctx, child, SIGTERM, jzx_in(ctx, JZX_SECOND(10)), &status),
                  JZX_OK);
    JZX_EXPECT_EQ(status.end, JZX_SUBPROCESS_KILLED);
    JZX_EXPECT_EQ(status.code, SIGKILL);
}

/* Steps until it is so. */
#define STEP_UNTIL(loop, condition)                                                                \
    do {                                                                                           \
        JZX_EXPECT_EQ(jzx_loop_step(loop, 0), JZX_OK);                                             \
        sched_yield();                                                                             \
    } while (!(condition))

static bool is_idle(jzx_loop *loop, jzx_actor_id id) {
    jzx_actor_info info = {.size = sizeof info};
    return jzx_actor_info_get(loop, id, &info) == JZX_OK && info.wait == JZX_WAIT_IO;
}

JZX_TEST(one_that_ignores_its_signal_is_killed_at_the_deadline_and_not_before, "C+goal") {
    children_open();
    jzx_clock *clock = jzx_clock_manual(0);
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1, .clock = clock));
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = stop_stubborn));
    atomic_store(&stops, 0);
    STEP_UNTIL(loop, atomic_load(&stops) != 0 && is_idle(loop, id));
    JZX_EXPECT_EQ(jzx_clock_advance(clock, JZX_SECOND(10) - 1), JZX_OK);
    for (int i = 0; i < 100; i++)
        JZX_EXPECT_EQ(jzx_loop_step(loop, 0), JZX_OK);
    JZX_EXPECT(is_idle(loop, id));
    JZX_EXPECT_EQ(kill(atomic_load(&stops), 0), 0); /* it is there */
    JZX_EXPECT_EQ(jzx_clock_advance(clock, 1), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    fixture_destroy(loop);
    JZX_EXPECT_EQ(jzx_clock_free(clock), JZX_OK);
    children_close();
}

/* ---- two that stop it ---- */

static const uint64_t *kill_times; /* of the two, in seconds */

static void stop_twice(jzx_context *ctx) {
    jzx_message msg;
    jzx_subprocess child = start_script(ctx, STUBBORN);
    for (uint32_t i = 0; i < 2; i++)
        JZX_EXPECT_EQ(jzx_subprocess_stop_to(ctx, child, SIGTERM,
                                             jzx_in(ctx, JZX_SECOND(kill_times[i])), i + 1, NULL),
                      JZX_OK);
    atomic_store(&stops, pid_of(ctx->loop, child));
    for (uint32_t i = 0; i < 2; i++) {
        jzx_subprocess_status status;
        JZX_EXPECT_EQ(jzx_receive_tag(ctx, i + 1, JZX_NEVER, &msg), JZX_OK);
        const jzx_result *result = msg.data;
        JZX_EXPECT_EQ(result->err, JZX_OK);
        memcpy(&status, jzx_result_data(result), sizeof status);
        JZX_EXPECT_EQ(status.code, SIGKILL);
    }
    jzx_test_ran();
}

JZX_TEST(of_two_deadlines_of_stops_the_earlier_one_kills, "C+goal") {
    static const uint64_t times[][2] = {{10, 5}, {5, 10}};
    for (unsigned i = 0; i < 2; i++) {
        children_open();
        jzx_clock *clock = jzx_clock_manual(0);
        jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1, .clock = clock));
        kill_times = times[i];
        atomic_store(&stops, 0);
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = stop_twice));
        STEP_UNTIL(loop, atomic_load(&stops) != 0);
        JZX_EXPECT_EQ(jzx_clock_advance(clock, JZX_SECOND(5) - 1), JZX_OK);
        for (int step = 0; step < 100; step++)
            JZX_EXPECT_EQ(jzx_loop_step(loop, 0), JZX_OK);
        JZX_EXPECT_EQ(kill(atomic_load(&stops), 0), 0); /* it is there */
        JZX_EXPECT_EQ(jzx_test_runs(), i);
        JZX_EXPECT_EQ(jzx_clock_advance(clock, 1), JZX_OK);
        JZX_EXPECT_EQ(jzx_loop_step(loop, 0), JZX_OK);
        JZX_EXPECT_EQ(jzx_loop_next_deadline(loop), JZX_NEVER);         /* it is killed */
        JZX_EXPECT_EQ(jzx_clock_advance(clock, JZX_SECOND(5)), JZX_OK); /* else it is now */
        JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
        JZX_EXPECT_EQ(jzx_test_runs(), i + 1);
        fixture_destroy(loop);
        JZX_EXPECT_EQ(jzx_clock_free(clock), JZX_OK);
        children_close();
    }
}

/* ---- the owner ends ---- */

/* Its own signal is the first that it gets. */
static int heard_fd;

static void own_one_with_signal(jzx_context *ctx) {
    jzx_subprocess child = start(
        ctx, &JZX_SUBPROCESS_OPTS(.argv = shell(
                                      "trap 'echo usr2; exit' USR2; trap 'echo term; exit' TERM;"
                                      "echo ready; while :; do read x || sleep 1; done"),
                                  .input = STREAM, .output = {JZX_STDIO_FD, heard_fd},
                                  .error = STREAM, .stop_signal = SIGUSR2, .grace_ns = JZX_NEVER));
    char line[8];
    JZX_EXPECT(child != JZX_NO_SUBPROCESS);
    JZX_EXPECT_EQ(read(*(const int *)ctx->state, line, 6), 6); /* "ready" */
    jzx_test_ran();
}

JZX_TEST(the_end_of_its_owner_sends_a_subprocess_its_stop_signal, "C+goal") {
    int ends[2];
    char line[8] = "";
    children_open();
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    heard_fd = ends[1];
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = own_one_with_signal, .state = &ends[0]));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    close(ends[1]);
    JZX_EXPECT_EQ(read(ends[0], line, sizeof line - 1), 5);
    JZX_EXPECT(strcmp(line, "usr2\n") == 0);
    JZX_EXPECT_EQ(read(ends[0], line, sizeof line - 1), 0);
    fixture_destroy(loop);
    close(ends[0]);
    children_close();
}

enum how { RETURNS, FAILS, IS_KILLED, IS_STOPPED, LOOP_STOPS, LOOP_GOES, HOW_COUNT };
enum state { JUST_STARTED, RUNNING, WAITED_FOR, READ_FROM, STUBBORNLY, HAS_ENDED, STATE_COUNT };

struct ending {
    enum how how;
    enum state state;
    atomic_bool is_there;
};

static void be_in_state(jzx_context *ctx, struct ending *self) {
    const char *script = self->state == HAS_ENDED ? "echo ready" : QUIET;
    jzx_subprocess child = start(
        ctx, &JZX_SUBPROCESS_OPTS(.argv = shell(self->state == STUBBORNLY ? STUBBORN : script),
                                  .input = STREAM, .output = STREAM, .error = STREAM,
                                  .new_group = true, .grace_ns = JZX_MS(20)));
    if (self->state != JUST_STARTED)
        read_line(ctx, stream_of(ctx, child, 1));
    if (self->state == HAS_ENDED)
        expect_end(ctx, child, JZX_SUBPROCESS_EXITED, 0);
    atomic_store(&self->is_there, true);
    if (self->how == RETURNS)
        return;
    if (self->how == FAILS)
        jzx_exit(ctx, JZX_EXIT_FAIL, "on purpose");
    char block[16];
    size_t len;
    jzx_message msg;
    if (self->state == WAITED_FOR)
        (void)jzx_subprocess_wait(ctx, child, JZX_NEVER, NULL);
    else if (self->state == READ_FROM)
        (void)jzx_stream_read(ctx, stream_of(ctx, child, 2), block, sizeof block, JZX_NEVER, &len);
    (void)jzx_receive(ctx, JZX_NEVER, &msg);
}

static void own_one(jzx_context *ctx) {
    be_in_state(ctx, ctx->state);
}

/* Another fiber keeps the loop until no child is left: the reaper works while it runs. */
static void outlive_children(jzx_context *ctx) {
    const struct ending *self = ctx->state;
    siginfo_t info;
    while (!atomic_load(&self->is_there) ||
           waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0)
        (void)jzx_sleep(ctx, jzx_in(ctx, JZX_MS(1)));
}

static void end_once(enum how how, enum state state) {
    struct ending self = {.how = how, .state = state};
    children_open();
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = own_one, .state = &self));
    if (how < LOOP_STOPS)
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = outlive_children, .state = &self));
    while (!atomic_load(&self.is_there))
        JZX_EXPECT_EQ(jzx_loop_step(loop, jzx_loop_now(loop) + JZX_MS(1)), JZX_OK);
    if (how == IS_KILLED)
        JZX_EXPECT_EQ(jzx_actor_stop(loop, id, JZX_STOP_KILL), JZX_OK);
    else if (how == IS_STOPPED)
        JZX_EXPECT_EQ(jzx_actor_stop(loop, id, JZX_STOP_AFTER_QUEUE), JZX_OK);
    else if (how == LOOP_STOPS)
        jzx_loop_request_stop(loop);
    if (how != LOOP_GOES)
        JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    fixture_destroy(loop);
    children_close();
}

JZX_TEST(nothing_is_left_of_a_subprocess_however_its_owner_ends, "C+fail", "C+goal") {
    for (int how = 0; how < HOW_COUNT; how++)
        for (int state = 0; state < STATE_COUNT; state++)
            end_once((enum how)how, (enum state)state);
}

/* The owner is gone while the program is being started, or waits for a thread. */
static jzx_behavior_result start_and_end(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    jzx_test_ran();
    for (int i = 0; i < 8; i++)
        JZX_EXPECT_EQ(
            jzx_subprocess_spawn_to(ctx,
                                    &JZX_SUBPROCESS_OPTS(.argv = shell("exec sleep 60"),
                                                         .input = STREAM, .output = STREAM),
                                    1, NULL),
            JZX_OK);
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(nothing_is_left_if_the_owner_ends_before_the_program_begins, "C+fail") {
    for (int i = 0; i < 4; i++) {
        children_open();
        jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
        fixture_send(loop, fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = start_and_end)), 1);
        JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
        JZX_EXPECT_EQ(jzx_test_runs(), 1 + i);
        fixture_destroy(loop);
        children_close();
    }
}

/* ---- handles ---- */

static void wait_for_close(jzx_context *ctx) {
    jzx_subprocess child;
    jzx_message msg;
    JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK);
    memcpy(&child, msg.data, sizeof child);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, msg.sender, ctx->self, NULL, 0, 1), JZX_OK);
    JZX_EXPECT_EQ(jzx_subprocess_wait(ctx, child, JZX_NEVER, NULL), JZX_ERR_CLOSED);
    jzx_test_ran();
}

static void close_running(jzx_context *ctx) {
    jzx_actor_id other;
    jzx_message msg;
    jzx_subprocess child = start_script(ctx, QUIET);
    JZX_EXPECT_EQ(jzx_spawn(ctx->loop, &JZX_SPAWN_OPTS(.fiber = wait_for_close), &other), JZX_OK);
    JZX_EXPECT_EQ(jzx_subprocess_wait_to(ctx, child, 7, NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, other, ctx->self, &child, sizeof child, 1), JZX_OK);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, 1, JZX_NEVER, &msg), JZX_OK);
    JZX_EXPECT_EQ(jzx_yield(ctx), JZX_OK); /* it waits now */
    JZX_EXPECT_EQ(jzx_subprocess_close(ctx->loop, child), JZX_OK);
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, 7, JZX_NEVER, &msg), JZX_OK);
    JZX_EXPECT_EQ(((const jzx_result *)msg.data)->err, JZX_ERR_CLOSED);
}

JZX_TEST(a_close_ends_the_program_and_all_waits) {
    in_a_fiber(close_running, NULL);
}

/* A detached one goes on, and is reaped when it ends. */
static void let_go(jzx_context *ctx) {
    jzx_stream in;
    siginfo_t info;
    jzx_test_ran();
    jzx_subprocess child = start_script(ctx, "echo ready; read line; echo done; exit 3");
    in = stream_of(ctx, child, 0);
    jzx_stream out = stream_of(ctx, child, 1);
    JZX_EXPECT_EQ(jzx_subprocess_detach(ctx->loop, child), JZX_OK);
    JZX_EXPECT_EQ(jzx_subprocess_wait(ctx, child, 0, NULL), JZX_ERR_CLOSED);
    JZX_EXPECT_EQ(jzx_stream_write(ctx, in, "\n", 1, JZX_NEVER), JZX_OK);
    JZX_EXPECT(strcmp(read_all(ctx, out), "done\n") == 0);
    while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0)
        (void)jzx_sleep(ctx, jzx_in(ctx, JZX_MS(1)));
}

JZX_TEST(a_detached_program_runs_on_and_is_reaped) {
    in_a_fiber(let_go, NULL);
}

/* One that outlives the loop is the program's. */
static int outliving;

static void let_go_for_ever(jzx_context *ctx) {
    jzx_test_ran();
    jzx_subprocess child = start_script(ctx, "echo ready; sleep 60");
    outliving = pid_of(ctx->loop, child);
    JZX_EXPECT_EQ(jzx_subprocess_detach(ctx->loop, child), JZX_OK);
}

JZX_TEST(a_detached_program_outlives_the_loop) {
    children_open();
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = let_go_for_ever));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    fixture_destroy(loop);
    int status;
    assert_true(outliving > 1); /* else the kill would be that of others */
    JZX_EXPECT_EQ(waitpid(outliving, &status, WNOHANG), 0);
    JZX_EXPECT_EQ(kill(-outliving, SIGKILL), 0);
    JZX_EXPECT_EQ(waitpid(outliving, &status, 0), outliving);
    children_close();
}

/* Signals go to the whole group: the shell waits for another program that does not end by itself.
 */
static void end_group(jzx_context *ctx) {
    jzx_subprocess_status status;
    jzx_test_ran();
    jzx_subprocess child =
        start(ctx, &JZX_SUBPROCESS_OPTS(.argv = shell("sleep 60 & echo ready; wait"),
                                        .output = STREAM, .new_session = true));
    jzx_stream out = stream_of(ctx, child, 1);
    read_line(ctx, out);
    JZX_EXPECT_EQ(jzx_subprocess_stop(ctx, child, SIGTERM, JZX_NEVER, &status), JZX_OK);
    JZX_EXPECT_EQ(status.code, SIGTERM);
    JZX_EXPECT(strcmp(read_all(ctx, out), "") == 0); /* nobody has it any more */
}

JZX_TEST(signals_reach_the_group_that_a_subprocess_leads) {
    in_a_fiber(end_group, NULL);
}

/* ---- handing one over ---- */

static void receive_one(jzx_context *ctx) {
    jzx_message msg;
    jzx_subprocess child;
    jzx_subprocess_status status;
    jzx_subprocess_info info = {.size = sizeof info};
    JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK);
    memcpy(&child, msg.data, sizeof child);
    JZX_EXPECT_EQ(jzx_join(ctx, msg.sender, JZX_NEVER, NULL), JZX_OK); /* it ends; this does not */
    JZX_EXPECT_EQ(jzx_subprocess_info_get(ctx->loop, child, &info), JZX_OK);
    JZX_EXPECT(info.owner == ctx->self && !info.has_ended);
    JZX_EXPECT_EQ(jzx_subprocess_stop(ctx, child, SIGTERM, jzx_in(ctx, JZX_MS(20)), &status),
                  JZX_OK);
    JZX_EXPECT_EQ(status.code, SIGKILL);
    jzx_test_ran();
}

static void give_one(jzx_context *ctx) {
    const jzx_actor_id *to = ctx->state;
    jzx_subprocess child = start_script(ctx, STUBBORN);
    jzx_stream in = stream_of(ctx, child, 0); /* it would end by itself without */
    JZX_EXPECT_EQ(jzx_subprocess_give(ctx, child, *to), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_give(ctx, in, *to), JZX_OK);
    JZX_EXPECT_EQ(jzx_subprocess_give(ctx, child, *to), JZX_ERR_NOT_OWNER);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, *to, ctx->self, &child, sizeof child, 1), JZX_OK);
}

JZX_TEST(a_subprocess_that_is_given_away_lives_with_its_new_owner, "C+goal") {
    for (uint32_t workers = 1; workers <= 2; workers++) {
        children_open();
        jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = workers));
        jzx_actor_id to = fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = receive_one));
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = give_one, .state = &to));
        JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
        JZX_EXPECT_EQ(jzx_test_runs(), workers);
        fixture_destroy(loop);
        children_close();
    }
}
