/* SPDX-License-Identifier: MIT */
/* A supervised program: an actor runs one, prints what it says, and fails if the program does, so
 * that its supervisor starts both again. The program of this example fails at its first two runs.
 * A second fiber starts one that ignores SIGTERM, and stops it.
 *
 * It prints:
 *
 *     run 1: starting
 *     failed: the program has exited with 3
 *     run 2: starting
 *     failed: the program was killed by signal 9
 *     run 3: starting
 *     run 3: all is well
 *     stubborn: killed by signal 9
 */
#include <jzx/jzx.h>

#include <signal.h>
#include <stdio.h>

static const char script[] = "echo \"run $RUN: starting\"\n"
                             "case $RUN in\n"
                             "1) exit 3 ;;\n"
                             "2) kill -KILL $$ ;;\n"
                             "esac\n"
                             "echo \"run $RUN: all is well\"\n";

/* ---- the actor of a program ---- */

static void print_all(jzx_context *ctx, jzx_stream out) {
    char block[256];
    size_t len;
    while (jzx_stream_read(ctx, out, block, sizeof block, JZX_NEVER, &len) == JZX_OK)
        fwrite(block, 1, len, stdout);
    fflush(stdout);
}

/* The reason goes to the supervisor, and to whoever observes. */
static void end_as(jzx_context *ctx, const jzx_subprocess_status *status) {
    char text[64];
    if (status->code == 0)
        return;
    snprintf(text, sizeof text, "the program %s %d",
             status->end == JZX_SUBPROCESS_EXITED ? "has exited with" : "was killed by signal",
             (int)status->code);
    jzx_exit(ctx, JZX_EXIT_FAIL, text);
}

/* What it has started ends with it, whatever happens. */
static void run_program(jzx_context *ctx) {
    static const char *const argv[] = {"/bin/sh", "-c", script, NULL};
    int *runs = ctx->state;
    char run[16];
    const char *const env[] = {run, NULL};
    jzx_subprocess child;
    jzx_stream out;
    jzx_subprocess_status status;
    snprintf(run, sizeof run, "RUN=%d", ++*runs);
    jzx_err err = jzx_subprocess_spawn(
        ctx, &JZX_SUBPROCESS_OPTS(.argv = argv, .env = env, .output = {.kind = JZX_STDIO_STREAM}),
        JZX_NEVER, &child);
    if (err == JZX_OK)
        err = jzx_subprocess_stream(ctx->loop, child, 1, &out);
    if (err != JZX_OK)
        jzx_exit(ctx, JZX_EXIT_FAIL, jzx_err_text(err));
    print_all(ctx, out);
    err = jzx_subprocess_wait(ctx, child, JZX_NEVER, &status);
    if (err == JZX_OK)
        end_as(ctx, &status);
}

/* ---- one that does not want to end ---- */

static void stop_stubborn(jzx_context *ctx) {
    static const char *const argv[] = {"/bin/sh", "-c",
                                       "trap '' TERM; echo ready; while :; do sleep 1; done", NULL};
    jzx_subprocess child;
    jzx_stream out;
    char line[16];
    size_t len;
    jzx_subprocess_status status;
    const jzx_subprocess_opts opts =
        JZX_SUBPROCESS_OPTS(.argv = argv, .output = {.kind = JZX_STDIO_STREAM}, .new_group = true);
    if (jzx_subprocess_spawn(ctx, &opts, JZX_NEVER, &child) != JZX_OK ||
        jzx_subprocess_stream(ctx->loop, child, 1, &out) != JZX_OK ||
        jzx_stream_read_until(ctx, out, '\n', line, sizeof line, JZX_NEVER, &len) != JZX_OK)
        jzx_exit(ctx, JZX_EXIT_FAIL, "the stubborn one did not start");
    if (jzx_subprocess_stop(ctx, child, SIGTERM, jzx_in(ctx, JZX_MS(50)), &status) == JZX_OK &&
        status.end == JZX_SUBPROCESS_KILLED)
        printf("stubborn: killed by signal %d\n", (int)status.code);
}

static void report(void *unused, const jzx_event *event) {
    (void)unused;
    if (event->kind == JZX_EVENT_ACTOR_FAIL)
        printf("failed: %s\n", event->detail);
    fflush(stdout);
}

/* ---- the tree ---- */

static void stop_it_afterwards(jzx_context *ctx) {
    const int *runs = ctx->state;
    jzx_actor_id program;
    while (*runs < 3 || jzx_lookup(ctx->loop, "program", &program) == JZX_OK)
        jzx_sleep(ctx, jzx_in(ctx, JZX_MS(5)));
    stop_stubborn(ctx);
    jzx_loop_request_stop(ctx->loop);
}

int main(void) {
    int runs = 0;
    const jzx_child_spec children[] = {
        {.name = "program",
         .registered = "program",
         .fiber = run_program,
         .state = &runs,
         .mode = JZX_TRANSIENT},
        {.name = "other", .fiber = stop_it_afterwards, .state = &runs, .mode = JZX_TEMPORARY},
    };
    /* With one worker the two fibers may share an int. */
    jzx_loop *loop = jzx_loop_create(&JZX_CONFIG(.workers = 1, .log = {.level = JZX_LOG_OFF}));
    if (loop == NULL)
        return 1;
    jzx_loop_set_observer(loop, &JZX_OBSERVER(.on_event = report), NULL);
    jzx_err err = jzx_spawn_supervisor(loop,
                                       &JZX_SUPERVISOR_OPTS(.name = "root", .children = children,
                                                            .child_size = sizeof children[0],
                                                            .child_count = 2),
                                       NULL);
    if (err == JZX_OK)
        err = jzx_loop_run(loop);
    jzx_loop_destroy(loop);
    return err == JZX_OK && runs == 3 ? 0 : 1;
}
