/* SPDX-License-Identifier: MIT */
/* Libraries that know nothing of actors have a descriptor to wait at. Here it is the C library, as
 * any other one: a fiber awaits inotify, a behaviour a timer of the kernel, an async function a
 * terminal. None of them holds up its worker. examples/libraries/libpq.c does the same with the
 * client library of PostgreSQL.
 *
 * It prints:
 *     inotify: READ, report.txt was made
 *     timerfd: READ, it has expired
 *     terminal: READ, hello
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* posix_openpt */
#endif
#include <jzx/jzx.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <termios.h>
#include <unistd.h>

enum { START = 1, EXPIRED };

struct app {
    char folder[32];
    char file[64];
    jzx_actor_id clock;
    int inotify;
    int timer;
    int terminal; /* our end; the other is program */
    int program;
};

/* The bits that a wait has brought: those of the interest, and what else is worth knowing. */
static void print_bits(const char *what, uint32_t ready) {
    static const struct {
        uint32_t bit;
        const char *name;
    } bits[] = {{JZX_IO_READ, "READ"},
                {JZX_IO_WRITE, "WRITE"},
                {JZX_IO_ERROR, "ERROR"},
                {JZX_IO_HANGUP, "HANGUP"}};
    printf("%s:", what);
    for (size_t i = 0; i < sizeof bits / sizeof bits[0]; i++)
        if ((ready & bits[i].bit) != 0)
            printf(" %s,", bits[i].name);
}

/* ---- 3: an async function and a terminal ---- */

struct typist {
    struct app *app;
    jzx_await_op wait;
    uint32_t ready;
};

static jzx_future *readable(jzx_context *ctx, int fd) {
    jzx_future *future = NULL;
    (void)jzx_fd_await_async(ctx->loop, fd, JZX_IO_READ, JZX_NEVER, &future);
    return future; /* NULL: the await says so */
}

JZX_ASYNC(typist, struct typist, int) {
    char line[32];
    (void)!write(self->app->program, "hello\n", 6);
    JZX_AWAIT(jzx_op_consume(&self->wait, readable(ctx, self->app->terminal), JZX_NEVER),
              &self->ready);
    ssize_t len = read(self->app->terminal, line, sizeof line);
    print_bits("terminal", self->ready);
    printf(" %.*s\n", len > 0 ? (int)strcspn(line, "\r\n") : 0, line);
    JZX_RETURN(0);
}
JZX_END

static jzx_err type(jzx_context *ctx, struct app *app) {
    jzx_future *future;
    jzx_err err = typist_spawn(ctx->loop, (struct typist){.app = app}, &future);
    if (err == JZX_OK)
        jzx_future_detach(future);
    return err;
}

/* ---- 2: a behaviour and a timer ---- */

static jzx_behavior_result be_clock(jzx_context *ctx, const jzx_message *msg) {
    struct app *app = ctx->state;
    const struct itimerspec soon = {.it_value = {.tv_nsec = 1000000}};
    uint64_t count = 0;
    if (msg->tag == START) {
        timerfd_settime(app->timer, 0, &soon, NULL);
        return jzx_fd_await_to(ctx, app->timer, JZX_IO_READ, JZX_NEVER, EXPIRED, NULL) == JZX_OK
                   ? JZX_BEHAVIOR_OK
                   : JZX_BEHAVIOR_FAIL;
    }
    const jzx_result *result = msg->data;
    uint32_t ready;
    if (result->err != JZX_OK || read(app->timer, &count, sizeof count) != sizeof count)
        return JZX_BEHAVIOR_FAIL;
    memcpy(&ready, jzx_result_data(result), sizeof ready);
    print_bits("timerfd", ready);
    printf(" it has expired\n");
    return type(ctx, app) == JZX_OK ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_FAIL;
}

/* ---- 1: a fiber and a folder ---- */

static void watch_folder(jzx_context *ctx) {
    const struct app *app = ctx->state;
    _Alignas(struct inotify_event) char buffer[512];
    const struct inotify_event *event = (const void *)buffer;
    uint32_t ready = 0;
    /* The file is not there yet: deadline 0 looks without waiting. */
    if (jzx_fd_await(ctx, app->inotify, JZX_IO_READ, 0, NULL) != JZX_ERR_TIMEOUT)
        jzx_exit(ctx, JZX_EXIT_FAIL, "the folder is not empty");
    close(open(app->file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    if (jzx_fd_await(ctx, app->inotify, JZX_IO_READ, jzx_in(ctx, JZX_SECOND(60)), &ready) !=
            JZX_OK ||
        read(app->inotify, buffer, sizeof buffer) <= 0)
        jzx_exit(ctx, JZX_EXIT_FAIL, "nothing has happened in the folder");
    print_bits("inotify", ready);
    printf(" %s was made\n", event->name);
    jzx_send(ctx->loop, app->clock, ctx->self, NULL, 0, START);
}

/* ---- the descriptors ---- */

/* A terminal without an echo: the program writes, and we read. */
static bool open_terminal(struct app *app) {
    struct termios settings;
    app->terminal = posix_openpt(O_RDWR | O_NOCTTY);
    if (app->terminal < 0 || grantpt(app->terminal) != 0 || unlockpt(app->terminal) != 0)
        return false;
    app->program = open(ptsname(app->terminal), O_RDWR | O_NOCTTY);
    if (app->program < 0 || tcgetattr(app->program, &settings) != 0)
        return false;
    settings.c_lflag &= ~(tcflag_t)ECHO;
    return tcsetattr(app->program, TCSANOW, &settings) == 0;
}

static bool open_all(struct app *app) {
    snprintf(app->folder, sizeof app->folder, "/tmp/jzx-XXXXXX");
    if (mkdtemp(app->folder) == NULL)
        return false;
    snprintf(app->file, sizeof app->file, "%s/report.txt", app->folder);
    app->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    app->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    return app->inotify >= 0 && app->timer >= 0 && open_terminal(app) &&
           inotify_add_watch(app->inotify, app->folder, IN_CREATE) >= 0;
}

static void close_all(const struct app *app) {
    unlink(app->file);
    rmdir(app->folder);
    close(app->inotify);
    close(app->timer);
    close(app->terminal);
    close(app->program);
}

int main(void) {
    struct app app = {.inotify = -1, .timer = -1, .terminal = -1, .program = -1};
    jzx_loop *loop = jzx_loop_create(NULL);
    if (loop == NULL || !open_all(&app))
        return 1;
    jzx_err err = jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = be_clock, .state = &app), &app.clock);
    if (err == JZX_OK)
        err = jzx_spawn(loop, &JZX_SPAWN_OPTS(.fiber = watch_folder, .state = &app), NULL);
    if (err == JZX_OK)
        err = jzx_loop_run(loop);
    jzx_loop_destroy(loop);
    close_all(&app);
    return err != JZX_OK;
}
