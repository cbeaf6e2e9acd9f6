/* SPDX-License-Identifier: MIT */
/* Descriptors and signals as messages: an actor reads lines from a pipe, whose other end a thread
 * writes to, until the other end closes; then a signal ends the program. */
#include <jzx/jzx.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { START = 1, INPUT, SIGNAL };

struct reader {
    int fd;
    char line[128];
    size_t len;
};

/* Prints what is complete, and keeps the rest for the next time. */
static void print_lines(struct reader *self) {
    char *end;
    while ((end = memchr(self->line, '\n', self->len)) != NULL) {
        size_t len = (size_t)(end - self->line);
        printf("line: %.*s\n", (int)len, self->line);
        self->len -= len + 1;
        memmove(self->line, end + 1, self->len);
    }
}

/* One read per event is enough: if something is left, the next event comes at once. */
static void read_some(jzx_context *ctx, struct reader *self) {
    ssize_t got = read(self->fd, self->line + self->len, sizeof self->line - self->len);
    if (got > 0) {
        self->len += (size_t)got;
        print_lines(self);
        return;
    }
    printf("end of input\n");
    jzx_unwatch_fd(ctx->loop, self->fd); /* before it is closed */
    close(self->fd);
    kill(getpid(), SIGTERM); /* as an operator would */
}

static jzx_behavior_result reader(jzx_context *ctx, const jzx_message *msg) {
    struct reader *self = ctx->state;
    switch (msg->tag) {
    case START:
        if (jzx_watch_fd(ctx->loop, self->fd, ctx->self, JZX_IO_READ, INPUT) != JZX_OK ||
            jzx_signal_to(ctx, SIGTERM, SIGNAL) != JZX_OK)
            return JZX_BEHAVIOR_FAIL;
        return JZX_BEHAVIOR_OK;
    case INPUT: read_some(ctx, self); return JZX_BEHAVIOR_OK;
    case SIGNAL: printf("SIGTERM: good bye\n"); return JZX_BEHAVIOR_STOP;
    default: return JZX_BEHAVIOR_OK;
    }
}

static void *write_lines(void *arg) {
    static const char *const pieces[] = {"first\nsec", "ond\nthi", "rd\n"};
    int fd = *(const int *)arg;
    for (int i = 0; i < 3; i++) {
        if (write(fd, pieces[i], strlen(pieces[i])) < 0)
            break;
    }
    close(fd);
    return NULL;
}

int main(void) {
    int fds[2];
    pthread_t writer;
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, NULL); /* before the first thread: all inherit it */

    jzx_loop *loop = jzx_loop_create(NULL);
    if (loop == NULL || pipe(fds) != 0)
        return 1;
    struct reader state = {.fd = fds[0]};
    jzx_actor_id id;
    jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = reader, .state = &state), &id);
    jzx_send(loop, id, JZX_NOBODY, NULL, 0, START);
    pthread_create(&writer, NULL, write_lines, &fds[1]);
    jzx_err err = jzx_loop_run(loop);
    pthread_join(writer, NULL);
    jzx_loop_destroy(loop);
    return err == JZX_OK ? 0 : 1;
}
