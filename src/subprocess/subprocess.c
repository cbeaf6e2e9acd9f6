/* SPDX-License-Identifier: MIT */
/* The life of a subprocess as a socket, and what can be asked of it. */
#include "subprocess/subprocess.h"

#include "base/sized.h"
#include "net/handle.h"
#include "subprocess/wait.h"

#include <errno.h>
#include <string.h>

static const struct jzx__subprocess_os *os_of(const struct jzx__subprocess *child) {
    return jzx__subprocesses_of(child->socket.loop)->os;
}

/* ---- records ---- */

static const struct jzx__socket_ops socket_ops;

static const jzx_allocator *allocator_of(const struct jzx_loop *loop) {
    return &loop->sched.allocator;
}

struct jzx__subprocess *jzx__subprocess_create(struct jzx_loop *loop) {
    struct jzx__orphan *process = jzx__orphan_create(allocator_of(loop));
    if (process == NULL)
        return NULL;
    struct jzx__socket *socket = jzx__socket_create(loop, -1, JZX__SOCKET_SUBPROCESS, &socket_ops);
    if (socket == NULL) {
        jzx__orphan_destroy(allocator_of(loop), process);
        return NULL;
    }
    struct jzx__subprocess *child = jzx__subprocess_of(socket);
    jzx__list_init(&child->waits);
    child->process = process;
    child->kill_ns = JZX_NEVER;
    return child;
}

void jzx__subprocess_begin(struct jzx__subprocess *child, int pid, int pidfd) {
    struct jzx_loop *loop = child->socket.loop;
    child->process->pid = pid;
    child->process->pidfd = pidfd;
    child->socket.registration.entry.fd = pidfd;
    child->started_ns = jzx__clock_now(&loop->sched.clock);
}

struct jzx__subprocess *jzx__subprocess_acquire(struct jzx_loop *loop, jzx_subprocess handle) {
    struct jzx__socket *socket = jzx__socket_acquire(loop, handle, JZX__SOCKET_SUBPROCESS);
    return socket == NULL ? NULL : jzx__subprocess_of(socket);
}

/* ---- how it ends, under the lock ---- */

static uint64_t time_of(const struct timeval *time) {
    return (uint64_t)time->tv_sec * JZX_SECOND(1) + (uint64_t)time->tv_usec * JZX_US(1);
}

static void keep_status(struct jzx__subprocess *child, const siginfo_t *info,
                        const struct rusage *usage) {
    bool has_exited = info->si_code == CLD_EXITED;
    child->status =
        (jzx_subprocess_status){.end = has_exited ? JZX_SUBPROCESS_EXITED : JZX_SUBPROCESS_KILLED,
                                .code = info->si_status,
                                .has_core = info->si_code == CLD_DUMPED,
                                .user_ns = time_of(&usage->ru_utime),
                                .system_ns = time_of(&usage->ru_stime),
                                .memory_max = (uint64_t)usage->ru_maxrss * 1024};
}

/* True if it has ended. */
static bool try_reap(struct jzx__subprocess *child) {
    siginfo_t info;
    struct rusage usage;
    if (child->has_ended)
        return true;
    int got = os_of(child)->wait(child->process->pidfd, &info, &usage);
    if (got == 0) {
        child->socket.ready &= (uint8_t)~JZX__READY_READ;
        return false;
    }
    child->has_ended = true;
    child->lost_error = got < 0 ? -got : 0;
    child->socket.ready |= JZX__READY_READ;
    if (got > 0)
        keep_status(child, &info, &usage);
    return true;
}

jzx_err jzx__subprocess_result(const struct jzx__subprocess *child, int *os_error) {
    *os_error = child->lost_error;
    return child->lost_error == 0 ? JZX_OK : JZX_ERR_IO;
}

bool jzx__subprocess_look(struct jzx__subprocess *child, struct jzx__worker *me,
                          struct jzx__done *done) {
    bool had_ended = child->has_ended;
    if (!try_reap(child))
        return false;
    if (!had_ended) {
        jzx__socket_wake_all(&child->socket.readers, me);
        jzx__subprocess_complete_waits(child, done);
    }
    return true;
}

int jzx__subprocess_send_signal(struct jzx__subprocess *child, int signal) {
    return jzx__process_signal(os_of(child), child->process, signal);
}

void jzx__subprocess_kill_at(struct jzx__subprocess *child, struct jzx__worker *me,
                             uint64_t kill_ns) {
    if (kill_ns >= child->kill_ns)
        return;
    child->kill_ns = kill_ns;
    if (kill_ns <= jzx__clock_now(&child->socket.loop->sched.clock))
        (void)jzx__subprocess_send_signal(child, SIGKILL);
    else
        jzx__socket_attend(&child->socket, me);
}

/* ---- as a socket ---- */

static void on_ready(struct jzx__socket *socket, struct jzx__worker *me, struct jzx__done *done) {
    struct jzx__subprocess *child = jzx__subprocess_of(socket);
    if (jzx__subprocess_look(child, me, done))
        (void)jzx__socket_set_timer(socket, me, JZX_NEVER);
}

static void on_end(struct jzx__socket *socket, struct jzx__worker *me, jzx_err err,
                   struct jzx__done *done) {
    (void)me;
    jzx__subprocess_end_waits(jzx__subprocess_of(socket), err, done);
}

/* Without memory for a timer it is killed now, not never. */
static void on_listed(struct jzx__socket *socket, struct jzx__worker *me) {
    struct jzx__subprocess *child = jzx__subprocess_of(socket);
    if (child->has_ended || child->kill_ns == JZX_NEVER)
        return;
    if (!jzx__socket_set_timer(socket, me, child->kill_ns))
        (void)jzx__subprocess_send_signal(child, SIGKILL);
}

static void on_expire(struct jzx__socket *socket, struct jzx__worker *me, struct jzx__done *done) {
    struct jzx__subprocess *child = jzx__subprocess_of(socket);
    if (!jzx__subprocess_look(child, me, done))
        (void)jzx__subprocess_send_signal(child, SIGKILL);
}

/* P3. */
static void put_away(struct jzx__socket *socket, int fd) {
    struct jzx__subprocess *child = jzx__subprocess_of(socket);
    if (try_reap(child)) {
        (void)jzx__socket_os(socket)->close(fd);
        return;
    }
    if (!child->process->is_detached)
        (void)jzx__subprocess_send_signal(child, child->stop_signal);
    jzx__reaper_adopt(&jzx__subprocesses_of(socket->loop)->reaper, child->process,
                      child->process->is_detached ? JZX_NEVER : child->grace_ns);
    child->process = NULL;
}

static void on_release(struct jzx__socket *socket, struct jzx__worker *me) {
    struct jzx__subprocess *child = jzx__subprocess_of(socket);
    (void)me;
    jzx__orphan_destroy(allocator_of(socket->loop), child->process);
    child->process = NULL;
}

static const struct jzx__socket_ops socket_ops = {.ready = on_ready,
                                                  .end = on_end,
                                                  .put_away = put_away,
                                                  .release = on_release,
                                                  .listed = on_listed,
                                                  .expire = on_expire};

/* ---- calls ---- */

static jzx_err stream_of(const struct jzx__subprocess *child, uint32_t which, jzx_stream *stream) {
    if (child->streams[which] == JZX_NO_STREAM)
        return JZX_ERR_INVALID_STATE;
    *stream = child->streams[which];
    return JZX_OK;
}

jzx_err jzx_subprocess_stream(jzx_loop *loop, jzx_subprocess handle, uint32_t which,
                              jzx_stream *stream) {
    struct jzx__visit visit;
    jzx_err err = JZX_ERR_CLOSED;
    if (loop == NULL || stream == NULL || which > 2)
        return JZX_ERR_INVALID_ARG;
    (void)jzx__loop_visit(loop, &visit);
    struct jzx__subprocess *child = jzx__subprocess_acquire(loop, handle);
    if (child != NULL) {
        err = stream_of(child, which, stream);
        jzx__lock_release(&child->socket.lock);
    }
    jzx__visit_end(&visit);
    return err;
}

static jzx_err signal_child(struct jzx__subprocess *child, struct jzx__worker *me, int signal,
                            struct jzx__done *done) {
    if (jzx__subprocess_look(child, me, done))
        return JZX_ERR_INVALID_STATE;
    int failed = jzx__subprocess_send_signal(child, signal);
    return failed < 0 ? jzx__os_error_status(-failed) : JZX_OK;
}

jzx_err jzx_subprocess_signal(jzx_loop *loop, jzx_subprocess handle, int signal) {
    struct jzx__visit visit;
    struct jzx__done done = {.first = NULL};
    jzx_err err = JZX_ERR_CLOSED;
    if (loop == NULL || signal < 1 || signal > JZX__SIGNAL_MAX)
        return JZX_ERR_INVALID_ARG;
    struct jzx__worker *me = jzx__loop_visit(loop, &visit);
    struct jzx__subprocess *child = jzx__subprocess_acquire(loop, handle);
    if (child != NULL) {
        err = signal_child(child, me, signal, &done);
        jzx__socket_release(&child->socket, me, &done);
    }
    jzx__visit_end(&visit);
    return err;
}

jzx_err jzx_subprocess_close(jzx_loop *loop, jzx_subprocess handle) {
    return jzx__socket_close_handle(loop, handle, JZX__SOCKET_SUBPROCESS);
}

jzx_err jzx_subprocess_detach(jzx_loop *loop, jzx_subprocess handle) {
    struct jzx__visit visit;
    struct jzx__done done = {.first = NULL};
    if (loop == NULL)
        return JZX_ERR_INVALID_ARG;
    struct jzx__worker *me = jzx__loop_visit(loop, &visit);
    struct jzx__subprocess *child = jzx__subprocess_acquire(loop, handle);
    if (child != NULL) {
        child->process->is_detached = true;
        jzx__socket_close(&child->socket, me, &done);
        jzx__socket_release(&child->socket, me, &done);
    }
    jzx__visit_end(&visit);
    return child == NULL ? JZX_ERR_CLOSED : JZX_OK;
}

jzx_err jzx_subprocess_give(jzx_context *ctx, jzx_subprocess handle, jzx_actor_id to) {
    return jzx__socket_give(ctx, handle, JZX__SOCKET_SUBPROCESS, to);
}

jzx_err jzx_subprocess_info_get(jzx_loop *loop, jzx_subprocess handle, jzx_subprocess_info *info) {
    struct jzx__visit visit;
    struct jzx__done done = {.first = NULL};
    jzx_subprocess_info now = {.size = sizeof now};
    if (loop == NULL || !jzx__is_sized(info, sizeof *info))
        return JZX_ERR_INVALID_ARG;
    struct jzx__worker *me = jzx__loop_visit(loop, &visit);
    struct jzx__subprocess *child = jzx__subprocess_acquire(loop, handle);
    if (child != NULL) {
        now.has_ended = jzx__subprocess_look(child, me, &done);
        now.owner = child->socket.owner;
        now.pid = child->process->pid;
        now.started_ns = child->started_ns;
        jzx__socket_release(&child->socket, me, &done);
    }
    jzx__visit_end(&visit);
    if (child == NULL)
        return JZX_ERR_CLOSED;
    jzx__write_sized(info, &now);
    return JZX_OK;
}

/* ---- the part of a loop ---- */

static bool open_subprocesses(struct jzx_loop *loop, const jzx_config *config) {
    (void)config;
    struct jzx__subprocesses *own = jzx__alloc(allocator_of(loop), sizeof *own);
    if (own == NULL)
        return false;
    memset(own, 0, sizeof *own);
    own->os = &jzx__subprocess_os_system;
    jzx__reaper_init(&own->reaper, allocator_of(loop));
    loop->parts[JZX__PART_SUBPROCESS] = own;
    return true;
}

/* All owners have ended: what is left is with the reaper. */
static void close_subprocesses(struct jzx_loop *loop) {
    struct jzx__subprocesses *own = jzx__subprocesses_of(loop);
    jzx__reaper_deinit(&own->reaper);
    jzx__free(allocator_of(loop), own, sizeof *own);
    loop->parts[JZX__PART_SUBPROCESS] = NULL;
}

const struct jzx__part_ops jzx__part_subprocess = {.open = open_subprocesses,
                                                   .close = close_subprocesses};
