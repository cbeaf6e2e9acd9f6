/* SPDX-License-Identifier: MIT */
/* Files in a fiber: copies a file block by block, as cp does, without blocking a worker. Without
 * arguments the program copies itself, and removes the copy. */
#include <jzx/jzx.h>

#include <stdio.h>
#include <string.h>

#define BLOCK_SIZE 65536u

struct job {
    const char *from;
    const char *to;
    uint64_t bytes;
    jzx_err err;
};

/* Both files are closed when the fiber ends, however it does. */
static jzx_err copy(jzx_context *ctx, struct job *job) {
    static char block[BLOCK_SIZE];
    jzx_file from;
    jzx_file to;
    size_t len = 0;
    jzx_err err = jzx_file_open(ctx, job->from, JZX_FILE_READ, 0, JZX_NEVER, &from);
    if (err == JZX_OK)
        err = jzx_file_open(ctx, job->to, JZX_FILE_WRITE | JZX_FILE_CREATE | JZX_FILE_TRUNCATE,
                            0644, JZX_NEVER, &to);
    while (err == JZX_OK) {
        err = jzx_file_read(ctx, from, block, sizeof block, job->bytes, JZX_NEVER, &len);
        if (err == JZX_OK)
            err = jzx_file_write(ctx, to, block, len, job->bytes, JZX_NEVER, NULL);
        if (err == JZX_OK)
            job->bytes += len;
    }
    return err == JZX_ERR_END ? jzx_file_sync(ctx, to, true, JZX_NEVER) : err;
}

static void copier(jzx_context *ctx) {
    struct job *job = ctx->state;
    job->err = copy(ctx, job);
    if (job->err != JZX_OK)
        printf("%s: %s (%s)\n", job->from, jzx_err_text(job->err),
               strerror(jzx_last_os_error(ctx)));
}

int main(int argc, char **argv) {
    struct job job = {.from = argc == 3 ? argv[1] : argv[0],
                      .to = argc == 3 ? argv[2] : "/tmp/jzx_54_copy"};
    jzx_loop *loop = jzx_loop_create(NULL);
    jzx_actor_id id;
    if (loop == NULL || jzx_spawn(loop, &JZX_SPAWN_OPTS(.fiber = copier, .state = &job), &id) != 0)
        return 1;
    jzx_loop_run(loop);
    jzx_loop_destroy(loop);
    if (job.err == JZX_OK)
        printf("copied %s\n", job.bytes > 1000 ? "all of it" : "a little");
    if (argc != 3)
        remove(job.to);
    return job.err == JZX_OK ? 0 : 1;
}
