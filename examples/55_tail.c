/* SPDX-License-Identifier: MIT */
/* tail -f: a fiber prints what is appended to a file. It reads to the end, and waits until inotify
 * says that the file has changed; the descriptor of inotify is watched as any other. Without an
 * argument another fiber appends three lines to a file of its own. */
#include <jzx/jzx.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

enum { CHANGED = 1 };

struct tail {
    const char *path;
    uint64_t lines_max; /* ends after so many */
    uint64_t lines;
};

/* Prints up to the end of the file. */
static jzx_err print_new(jzx_context *ctx, struct tail *tail, jzx_file file, uint64_t *offset) {
    char block[4096];
    size_t len;
    jzx_err err;
    while ((err = jzx_file_read(ctx, file, block, sizeof block, *offset, JZX_NEVER, &len)) ==
           JZX_OK) {
        fwrite(block, 1, len, stdout);
        *offset += len;
        for (size_t i = 0; i < len; i++)
            tail->lines += block[i] == '\n';
    }
    return err == JZX_ERR_END ? JZX_OK : err;
}

/* What inotify tells is of no interest, only that it does. */
static jzx_err wait_for_change(jzx_context *ctx, int notifier) {
    char events[4096];
    jzx_message msg;
    jzx_err err = jzx_receive_tag(ctx, CHANGED, JZX_NEVER, &msg);
    while (err == JZX_OK && read(notifier, events, sizeof events) > 0)
        continue;
    return err;
}

static void follow(jzx_context *ctx) {
    struct tail *tail = ctx->state;
    jzx_file file;
    uint64_t offset = 0;
    int notifier = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    /* Before the first read: what is appended after that is not missed. */
    if (notifier < 0 || inotify_add_watch(notifier, tail->path, IN_MODIFY) < 0)
        jzx_exit(ctx, JZX_EXIT_FAIL, "inotify");
    jzx_err err = jzx_watch_fd(ctx->loop, notifier, ctx->self, JZX_IO_READ, CHANGED);
    if (err == JZX_OK)
        err = jzx_file_open(ctx, tail->path, JZX_FILE_READ, 0, JZX_NEVER, &file);
    while (err == JZX_OK && tail->lines < tail->lines_max) {
        err = print_new(ctx, tail, file, &offset);
        if (err == JZX_OK && tail->lines < tail->lines_max)
            err = wait_for_change(ctx, notifier);
    }
    jzx_unwatch_fd(ctx->loop, notifier); /* before it is closed */
    close(notifier);
}

static void append(jzx_context *ctx) {
    static const char *const lines[] = {"first\n", "second\n", "third\n"};
    jzx_file file;
    jzx_err err =
        jzx_file_open(ctx, ctx->state, JZX_FILE_WRITE | JZX_FILE_APPEND, 0, JZX_NEVER, &file);
    for (int i = 0; err == JZX_OK && i < 3; i++) {
        jzx_sleep(ctx, jzx_in(ctx, JZX_MS(10)));
        err = jzx_file_write(ctx, file, lines[i], strlen(lines[i]), JZX_FILE_HERE, JZX_NEVER, NULL);
    }
}

int main(int argc, char **argv) {
    char own[] = "/tmp/jzx_55_tail_XXXXXX";
    int fd = argc > 1 ? -1 : mkstemp(own);
    struct tail tail = {.path = argc > 1 ? argv[1] : own, .lines_max = argc > 1 ? UINT64_MAX : 3};
    jzx_loop *loop = jzx_loop_create(NULL);
    jzx_actor_id id;
    if (loop == NULL || (argc == 1 && fd < 0))
        return 1;
    jzx_spawn(loop, &JZX_SPAWN_OPTS(.fiber = follow, .state = &tail), &id);
    if (argc == 1)
        jzx_spawn(loop, &JZX_SPAWN_OPTS(.fiber = append, .state = own), &id);
    jzx_loop_run(loop);
    jzx_loop_destroy(loop);
    if (fd >= 0) {
        close(fd);
        remove(own);
    }
    return tail.lines == tail.lines_max ? 0 : 1;
}
