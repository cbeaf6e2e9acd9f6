/* SPDX-License-Identifier: MIT */
/* sort | head -n 2, without a shell: a fiber starts both, with a pipe of the system between them,
 * so that what passes there does not pass through this program; it writes the input of the first
 * and reads the output of the second. Both belong to the fiber: however it ends, they do.
 *
 * It prints:
 *
 *     apple
 *     banana
 *     sort: 0, head: 0
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pipe2 */
#endif
#include <jzx/jzx.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char fruit[] = "cherry\nbanana\ndate\napple\n";

struct pipeline {
    jzx_subprocess sort;
    jzx_subprocess head;
    jzx_stream input;
    jzx_stream output;
};

/* The programs have copies of the ends of the pipe, as soon as the calls have returned. */
static jzx_err start(jzx_context *ctx, struct pipeline *self, const int ends[2]) {
    static const char *const sort[] = {"sort", NULL};
    static const char *const head[] = {"head", "-n", "2", NULL};
    jzx_err err =
        jzx_subprocess_spawn(ctx,
                             &JZX_SUBPROCESS_OPTS(.argv = sort, .input = {.kind = JZX_STDIO_STREAM},
                                                  .output = {.kind = JZX_STDIO_FD, .fd = ends[1]}),
                             JZX_NEVER, &self->sort);
    if (err == JZX_OK)
        err = jzx_subprocess_spawn(
            ctx,
            &JZX_SUBPROCESS_OPTS(.argv = head, .input = {.kind = JZX_STDIO_FD, .fd = ends[0]},
                                 .output = {.kind = JZX_STDIO_STREAM}),
            JZX_NEVER, &self->head);
    if (err == JZX_OK)
        err = jzx_subprocess_stream(ctx->loop, self->sort, 0, &self->input);
    if (err == JZX_OK)
        err = jzx_subprocess_stream(ctx->loop, self->head, 1, &self->output);
    return err;
}

/* sort writes nothing before its input has ended. With programs that write as they read, another
 * fiber would have to read meanwhile. */
static jzx_err feed_and_print(jzx_context *ctx, const struct pipeline *self) {
    char block[256];
    size_t len;
    jzx_err err = jzx_stream_write(ctx, self->input, fruit, strlen(fruit), JZX_NEVER);
    jzx_stream_close(ctx->loop, self->input);
    while (err == JZX_OK) {
        err = jzx_stream_read(ctx, self->output, block, sizeof block, JZX_NEVER, &len);
        if (err == JZX_OK)
            fwrite(block, 1, len, stdout);
    }
    return err == JZX_ERR_END ? JZX_OK : err;
}

static void run(jzx_context *ctx) {
    bool *is_well = ctx->state;
    struct pipeline self;
    jzx_subprocess_status sort = {.code = -1};
    jzx_subprocess_status head = {.code = -1};
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return;
    jzx_err err = start(ctx, &self, ends);
    close(ends[0]);
    close(ends[1]);
    if (err == JZX_OK)
        err = feed_and_print(ctx, &self);
    if (err == JZX_OK)
        err = jzx_subprocess_wait(ctx, self.sort, JZX_NEVER, &sort);
    if (err == JZX_OK)
        err = jzx_subprocess_wait(ctx, self.head, JZX_NEVER, &head);
    if (err != JZX_OK)
        jzx_exit(ctx, JZX_EXIT_FAIL, jzx_err_text(err));
    printf("sort: %d, head: %d\n", (int)sort.code, (int)head.code);
    *is_well = sort.code == 0 && head.code == 0;
}

int main(void) {
    bool is_well = false;
    jzx_loop *loop = jzx_loop_create(NULL);
    jzx_actor_id id;
    if (loop == NULL)
        return 1;
    if (jzx_spawn(loop, &JZX_SPAWN_OPTS(.fiber = run, .state = &is_well), &id) == JZX_OK)
        jzx_loop_run(loop);
    jzx_loop_destroy(loop);
    return is_well ? 0 : 1;
}
