/* SPDX-License-Identifier: MIT */
/* Three services, each of which needs those before it: a store, an index over it, and a web front
 * end. The index finds the store unready when the machine boots, and later loses it once. Nobody
 * but the supervisor deals with that: it tries the index again with growing pauses, and starts the
 * front end, which depends on it, after it. A monitor listens, and prints the state of each
 * service whenever it is told of a change.
 *
 * Runs on a clock of its own, so that a minute takes a moment. It prints:
 *
 *      0.0 s  store starts
 *      0.0 s  index starts
 *      0.0 s  index waiting: the store is not ready; attempt 1, again in 1.0 s
 *      1.0 s  index starts
 *      1.0 s  index waiting: the store is not ready; attempt 2, again in 2.0 s
 *      3.0 s  index starts
 *      3.0 s  index running
 *      3.0 s  web starts
 *     33.0 s  index waiting: lost the store; attempt 1, again in 1.0 s
 *     33.0 s  web waiting: asked to stop
 *     34.0 s  index starts
 *     34.0 s  index running
 *     34.0 s  web starts
 *     34.0 s  web running
 *     60.0 s  web stopped: asked to stop
 *     60.0 s  index stopped: asked to stop
 *     60.0 s  store stopped: asked to stop
 */
#include <jzx/jzx.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOSE_STORE = 1 };

static void check(jzx_err err) {
    if (err != JZX_OK) {
        fprintf(stderr, "%s\n", jzx_err_text(err));
        exit(1);
    }
}

static double seconds(uint64_t ns) {
    return (double)ns / 1e9;
}

static void print_time(jzx_loop *loop) {
    printf("%4.1f s  ", seconds(jzx_loop_now(loop)));
}

/* ---- the services ---- */

static jzx_err start(jzx_context *ctx) {
    print_time(ctx->loop);
    printf("%s starts\n", (const char *)ctx->state);
    return JZX_OK;
}

static jzx_err start_index(jzx_context *ctx) {
    check(start(ctx));
    if (jzx_loop_now(ctx->loop) < JZX_SECOND(3))
        jzx_exit(ctx, JZX_EXIT_FAIL, "the store is not ready");
    return JZX_OK;
}

static jzx_behavior_result serve(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == LOSE_STORE)
        jzx_exit(ctx, JZX_EXIT_FAIL, "lost the store");
    return JZX_BEHAVIOR_OK;
}

/* ---- the monitor ---- */

static const char *name_of(jzx_child_state state) {
    static const char *const names[] = {"unknown", "starting", "running", "stopping",
                                        "waiting", "stopped",  "exited",  "failed"};
    return names[state];
}

static jzx_behavior_result monitor(jzx_context *ctx, const jzx_message *msg) {
    const jzx_child_event *event = msg->data;
    if (msg->tag != JZX_TAG_CHILD_EXIT && msg->tag != JZX_TAG_CHILD_RESTART)
        return JZX_BEHAVIOR_OK;
    print_time(ctx->loop);
    printf("%s %s", event->name, name_of(event->state));
    if (msg->tag == JZX_TAG_CHILD_EXIT && event->asked)
        printf(": asked to stop");
    else if (msg->tag == JZX_TAG_CHILD_EXIT)
        printf(": %s; attempt %u, again in %.1f s", event->text, event->attempt,
               seconds(event->delay_ns));
    printf("\n");
    return JZX_BEHAVIOR_OK;
}

/* ---- the machine ---- */

/* Runs the loop up to that time, from one timer to the next. */
static void run_until(jzx_loop *loop, jzx_clock *clock, uint64_t until_ns) {
    for (;;) {
        check(jzx_loop_step(loop, JZX_NEVER));
        uint64_t next = jzx_loop_next_deadline(loop);
        if (next > until_ns)
            next = until_ns;
        if (next <= jzx_loop_now(loop))
            return;
        check(jzx_clock_advance(clock, next - jzx_loop_now(loop)));
    }
}

int main(void) {
    static char names[3][8] = {"store", "index", "web"};
    /* In the order in which they depend on each other. Without jitter, to print the same times. */
    const jzx_child_spec services[] = {
        JZX_SERVICE(.name = names[0], .behavior = serve, .init = start, .state = names[0]),
        JZX_SERVICE(.name = names[1], .behavior = serve, .init = start_index, .state = names[1],
                    .jitter_percent = JZX_NONE),
        JZX_SERVICE(.name = names[2], .behavior = serve, .init = start, .state = names[2]),
    };
    jzx_clock *clock = jzx_clock_manual(0);
    jzx_loop *loop =
        jzx_loop_create(&JZX_CONFIG(.workers = 1, .clock = clock, .log.level = JZX_LOG_OFF));
    if (clock == NULL || loop == NULL)
        return 1;
    jzx_actor_id listener;
    jzx_actor_id root;
    jzx_actor_id index;
    check(jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = monitor, .daemon = true), &listener));
    check(jzx_spawn_supervisor(loop,
                               &JZX_SUPERVISOR_OPTS(.strategy = JZX_REST_FOR_ONE,
                                                    .listener = listener, JZX_CHILDREN(services)),
                               &root));
    run_until(loop, clock, JZX_SECOND(33));
    check(jzx_supervisor_child(loop, root, "index", &index));
    check(jzx_send(loop, index, JZX_NOBODY, NULL, 0, LOSE_STORE));
    run_until(loop, clock, JZX_SECOND(60));
    check(jzx_actor_stop(loop, root, JZX_STOP_AFTER_MESSAGE));
    run_until(loop, clock, JZX_SECOND(61));
    check(jzx_loop_run(loop));
    check(jzx_loop_destroy(loop));
    check(jzx_clock_free(clock));
    return 0;
}
