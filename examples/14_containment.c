/* SPDX-License-Identifier: MIT */
/* An actor reads through a NULL pointer: that ends the actor and not the process. One that watches
 * it hears what happened, starts another, and all goes on. */
#include <jzx/jzx.h>
#include <stdio.h>
#include <string.h>

enum { START = 1, JOB = 2 };

struct job {
    const int *numbers; /* NULL in a job that nobody checked */
    int count;
};

/* The attribute leaves the fault to the processor where this is built with sanitizers. */
__attribute__((no_sanitize("undefined", "thread"))) static int add(const struct job *job) {
    int sum = 0;
    for (int i = 0; i < job->count; i++)
        sum += job->numbers[i];
    return sum;
}

static jzx_behavior_result calculate(jzx_context *ctx, const jzx_message *msg) {
    struct job job;
    (void)ctx;
    memcpy(&job, msg->data, sizeof job);
    printf("the sum is %d\n", add(&job));
    return JZX_BEHAVIOR_STOP;
}

static void give(jzx_context *ctx, const struct job *job) {
    jzx_actor_id id;
    if (jzx_spawn_watched(ctx, &JZX_SPAWN_OPTS(.behavior = calculate), false, &id,
                          &(jzx_monitor_ref){0}) == JZX_OK)
        jzx_send(ctx->loop, id, ctx->self, job, sizeof *job, JOB);
}

static jzx_behavior_result watch(jzx_context *ctx, const jzx_message *msg) {
    static const int numbers[] = {1, 2, 3, 4};
    if (msg->tag == START) {
        give(ctx, &(struct job){NULL, 4});
        return JZX_BEHAVIOR_OK;
    }
    const jzx_exit_notice *notice = msg->data; /* JZX_TAG_DOWN */
    /* The text goes on with the place, which differs from build to build. */
    printf("%s %.*s\n", jzx_exit_name(notice->reason), (int)strcspn(notice->text, ","),
           notice->text);
    if (notice->reason == JZX_EXIT_NORMAL)
        return JZX_BEHAVIOR_STOP;
    give(ctx, &(struct job){numbers, 4});
    return JZX_BEHAVIOR_OK;
}

int main(void) {
    jzx_actor_id id;
    jzx_loop *loop =
        jzx_loop_create(&JZX_CONFIG(.contain = JZX_CONTAIN_OVERFLOW | JZX_CONTAIN_FAULTS,
                                    .log = {.level = JZX_LOG_OFF}));
    if (loop == NULL || jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = watch), &id) != JZX_OK)
        return 1;
    jzx_send(loop, id, JZX_NOBODY, NULL, 0, START);
    jzx_loop_run(loop);
    return jzx_loop_destroy(loop) == JZX_OK ? 0 : 1;
}
