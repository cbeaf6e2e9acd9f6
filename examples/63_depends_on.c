/* SPDX-License-Identifier: MIT */
/* Services that say which others they need. The array has them in any order: the names decide. They
 * start when what they need is up, and stop when nobody needs them any more. When the store fails,
 * rest_for_one stops and restarts those that need it, and the log goes on.
 *
 * It prints:
 *     the start: +log +store +index +web
 *     the store fails: -store -web -index +store +index +web
 *     the stop: -web -index -store -log
 */
#include <jzx/jzx.h>

#include <stdio.h>
#include <stdlib.h>

enum { FAIL = 1 };

static void check(jzx_err err) {
    if (err != JZX_OK) {
        fprintf(stderr, "%s\n", jzx_err_text(err));
        exit(1);
    }
}

static jzx_err start(jzx_context *ctx) {
    printf(" +%s", (const char *)ctx->state);
    return JZX_OK;
}

static void stop(jzx_context *ctx, jzx_exit_reason reason) {
    (void)reason;
    printf(" -%s", (const char *)ctx->state);
}

static jzx_behavior_result serve(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == FAIL)
        jzx_exit(ctx, JZX_EXIT_FAIL, "the disk is full");
    return JZX_BEHAVIOR_OK;
}

#define SERVICE(service, ...)                                                                      \
    JZX_SERVICE(.name = (service), .state = (service), .behavior = serve, .init = start,           \
                .cleanup = stop, __VA_ARGS__)

/* Runs all that happens within a minute of a clock that nobody waits for. */
static void pass_a_minute(jzx_loop *loop, jzx_clock *clock) {
    const uint64_t end = jzx_loop_now(loop) + JZX_SECOND(60);
    for (;;) {
        check(jzx_loop_step(loop, JZX_NEVER));
        uint64_t now = jzx_loop_now(loop);
        uint64_t next = jzx_loop_next_deadline(loop);
        if (now == end)
            return;
        if (next > now)
            check(jzx_clock_advance(clock, (next < end ? next : end) - now));
    }
}

int main(void) {
    static char web[] = "web";
    static char index[] = "index";
    static char store[] = "store";
    static char log[] = "log";
    const jzx_child_spec services[] = {
        SERVICE(web, .depends_on = {store, index}), SERVICE(index, .depends_on = {store}),
        SERVICE(store, .depends_on = {log}),
        SERVICE(log, .depends_on = {JZX_DEPENDS_ON_NOBODY}), /* as if it said nothing */
    };
    const jzx_supervisor_opts opts =
        JZX_SUPERVISOR_OPTS(.strategy = JZX_REST_FOR_ONE, JZX_CHILDREN(services));
    jzx_clock *clock = jzx_clock_manual(0);
    jzx_loop *loop =
        jzx_loop_create(&JZX_CONFIG_ONE_THREAD(.clock = clock, .log.level = JZX_LOG_OFF));
    jzx_actor_id root;
    jzx_actor_id id;
    if (clock == NULL || loop == NULL)
        return 1;
    check(jzx_supervisor_check(&opts, NULL)); /* refuses circles, and names that no child has */
    printf("the start:");
    check(jzx_spawn_supervisor(loop, &opts, &root));
    pass_a_minute(loop, clock);

    printf("\nthe store fails:");
    check(jzx_supervisor_child(loop, root, store, &id));
    check(jzx_send(loop, id, JZX_NOBODY, NULL, 0, FAIL));
    pass_a_minute(loop, clock);

    printf("\nthe stop:");
    check(jzx_actor_stop(loop, root, JZX_STOP_AFTER_MESSAGE));
    check(jzx_loop_run(loop));
    printf("\n");
    check(jzx_loop_destroy(loop));
    check(jzx_clock_free(clock));
    return 0;
}
