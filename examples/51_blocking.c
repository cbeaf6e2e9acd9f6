/* SPDX-License-Identifier: MIT */
/* Blocking work: a behaviour has a file counted on a pool's thread and hears of it by a message; a
 * fiber waits for the same in one line. Meanwhile the worker is free for others. */
#include <jzx/jzx.h>
#include <stdio.h>

enum { COUNT = 1, COUNTED };

/* ---- what may block: it runs on a thread of the pool ---- */

struct count {
    char path[64];
    long lines;
};

static jzx_err count_lines(void *arg) {
    struct count *count = arg;
    FILE *file = fopen(count->path, "r");
    if (file == NULL)
        return JZX_ERR_UNKNOWN;
    for (int c; (c = fgetc(file)) != EOF;)
        count->lines += c == '\n';
    fclose(file);
    return JZX_OK;
}

/* ---- a behaviour: the copy travels with the job, and comes back behind the result ---- */

static jzx_behavior_result be_clerk(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == COUNT) {
        struct count count = {.lines = 0};
        snprintf(count.path, sizeof count.path, "%s", (const char *)msg->data);
        jzx_err err =
            jzx_blocking_copy_to(ctx, NULL, count_lines, &count, sizeof count, COUNTED, NULL);
        return err == JZX_OK ? JZX_BEHAVIOR_OK : JZX_BEHAVIOR_FAIL;
    }
    const jzx_result *result = msg->data;
    const struct count *count = jzx_result_data(result);
    printf("behaviour: %s, %ld lines\n", jzx_err_name((jzx_err)result->err), count->lines);
    return JZX_BEHAVIOR_STOP;
}

/* ---- a fiber: the argument may be on its stack ---- */

static void be_reader(jzx_context *ctx) {
    struct count count = {.path = "/no/such/file"};
    jzx_err err = jzx_blocking(ctx, count_lines, &count, JZX_NEVER);
    printf("fiber: %s, %ld lines\n", jzx_err_name(err), count.lines);
}

int main(void) {
    static const char path[] = "/proc/self/comm";
    jzx_loop *loop = jzx_loop_create(&JZX_CONFIG(.workers = 1));
    jzx_actor_id clerk;
    if (loop == NULL || jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = be_clerk), &clerk) != JZX_OK)
        return 1;
    jzx_send(loop, clerk, JZX_NOBODY, path, sizeof path, COUNT);
    jzx_loop_run(loop);
    if (jzx_spawn(loop, &JZX_SPAWN_OPTS(.fiber = be_reader), NULL) != JZX_OK)
        return 1;
    jzx_loop_run(loop);
    return jzx_loop_destroy(loop) == JZX_OK ? 0 : 1;
}
