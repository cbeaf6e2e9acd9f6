/* SPDX-License-Identifier: MIT */
/* What a loop and its workers have of I/O: made with the loop, the reactors when they are needed.
 */
#include "io/io.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/os_error.h"
#include "io/fd_waits.h"

#include "jzx/io.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The setting, or what the environment says in its place. */
static jzx_io_backend wanted_backend(struct jzx_loop *loop, const jzx_config *config) {
    const char *name = secure_getenv("JZX_IO_BACKEND");
    if (config->io_backend != JZX_IO_AUTO || name == NULL || name[0] == '\0')
        return config->io_backend;
    if (strcmp(name, "epoll") == 0)
        return JZX_IO_EPOLL;
    if (strcmp(name, "uring") == 0)
        return JZX_IO_URING;
    jzx__log(&loop->sched.log, JZX_LOG_WARN, "JZX_IO_BACKEND is \"%.32s\": not epoll or uring",
             name);
    return JZX_IO_AUTO;
}

/* False if it was asked for by name, and is not available. */
static bool has_backend(struct jzx_loop *loop, const struct jzx__io *io, const char *by) {
    struct jzx__poller poller = {
        .ops = io->poller, .os = io->os, .allocator = &loop->sched.allocator, .fd = -1};
    if (io->backend != JZX_IO_URING)
        return true;
    int err = poller.ops->open(&poller);
    if (err < 0) {
        char text[JZX__OS_ERROR_TEXT_SIZE];
        jzx__os_error_text(-err, text, sizeof text);
        jzx__log(&loop->sched.log, JZX_LOG_ERROR,
                 "%s asks for io_uring, which is not available: %s", by, text);
        return false;
    }
    poller.ops->close(&poller);
    return true;
}

bool jzx__io_open(struct jzx_loop *loop, const jzx_config *config) {
    struct jzx__io *io = jzx__alloc(&loop->sched.allocator, sizeof *io);
    if (io == NULL)
        return false;
    memset(io, 0, sizeof *io);
    io->os = &jzx__os_system;
    io->backend = wanted_backend(loop, config);
    io->poller = io->backend == JZX_IO_URING ? &jzx__poller_uring : &jzx__poller_epoll;
    if (!has_backend(loop, io,
                     config->io_backend == JZX_IO_URING ? "io_backend" : "JZX_IO_BACKEND")) {
        jzx__free(&loop->sched.allocator, io, sizeof *io);
        return false;
    }
    /* io_uring refuses what epoll refuses (poller/P5). */
    io->probe = (struct jzx__poller){.ops = &jzx__poller_epoll, .fd = -1};
    io->watches_max = config->max_io_watchers;
    jzx__lock_init(&io->lock);
    jzx__lock_init(&io->waits_lock);
    loop->parts[JZX__PART_IO] = io;
    return true;
}

static void close_worker(struct jzx_loop *loop, struct jzx__worker *worker) {
    struct jzx__reactor *reactor = jzx__reactor_of(worker);
    if (reactor == NULL)
        return;
    jzx__fd_waits_destroy(loop, reactor);
    jzx__reactor_deinit(reactor);
    jzx__free(&loop->sched.allocator, reactor, sizeof *reactor);
    jzx__actor_worker_of(worker)->parts[JZX__PART_IO] = NULL;
}

void jzx__io_close(struct jzx_loop *loop) {
    struct jzx__io *io = jzx__io_of(loop);
    JZX_ASSERT(io->watch_count == 0); /* they ended with their owners */
    for (uint32_t i = 0; i < loop->sched.worker_count; i++)
        close_worker(loop, loop->sched.workers[i]);
    if (io->probe.fd >= 0)
        io->probe.ops->close(&io->probe);
    if (io->by_fd != NULL)
        jzx__free(&loop->sched.allocator, io->by_fd, io->fd_cap * sizeof *io->by_fd);
    jzx__lock_deinit(&io->waits_lock);
    jzx__lock_deinit(&io->lock);
    jzx__free(&loop->sched.allocator, io, sizeof *io);
    loop->parts[JZX__PART_IO] = NULL;
}

struct jzx__reactor *jzx__reactor_ensure(struct jzx__worker *me) {
    struct jzx_loop *loop = jzx__loop_of(me);
    struct jzx__reactor *reactor = jzx__reactor_of(me);
    if (reactor != NULL)
        return reactor;
    reactor = jzx__alloc(&loop->sched.allocator, sizeof *reactor);
    if (reactor == NULL)
        return NULL;
    const struct jzx__io *io = jzx__io_of(loop);
    jzx__reactor_init(reactor, me, io->poller, io->os, &loop->sched.allocator);
    jzx__actor_worker_of(me)->parts[JZX__PART_IO] = reactor;
    return reactor;
}

int jzx__io_fd(struct jzx__worker *me) {
    struct jzx__reactor *reactor = jzx__reactor_ensure(me);
    if (reactor == NULL)
        return -ENOMEM;
    int err = jzx__reactor_open(reactor);
    return err < 0 ? err : reactor->poller.fd;
}

void jzx__io_wait(struct jzx__worker *me, uint64_t timeout_ns) {
    jzx__reactor_wait(jzx__reactor_of(me), timeout_ns);
}

bool jzx__io_poll(struct jzx__worker *me) {
    return jzx__reactor_poll(jzx__reactor_of(me));
}

void jzx__io_settle(struct jzx__worker *me) {
    if (jzx__reactor_of(me) != NULL)
        jzx__reactor_settle(jzx__reactor_of(me));
}

int jzx_last_os_error(const jzx_context *ctx) {
    const struct jzx__turn *turn = jzx__own_turn(ctx) == NULL ? NULL : (const void *)ctx;
    return turn == NULL ? 0 : turn->os_error;
}
