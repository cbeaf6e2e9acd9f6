/* SPDX-License-Identifier: MIT */
/* Subprocesses: programs that the operating system runs as children of this one.
 * docs/subprocess.md has the whole picture.
 *
 *     static const char *const argv[] = {"sort", "-n", NULL};              in a fiber
 *     jzx_subprocess child;
 *     jzx_subprocess_status status;
 *     jzx_stream in;
 *     jzx_subprocess_spawn(ctx, &JZX_SUBPROCESS_OPTS(.argv = argv, .input = {JZX_STDIO_STREAM}),
 *                          JZX_NEVER, &child);
 *     jzx_subprocess_stream(ctx->loop, child, 0, &in);
 *     jzx_stream_write(ctx, in, "3\n1\n2\n", 6, JZX_NEVER);
 *     jzx_stream_close(ctx->loop, in);                                     its end of input
 *     jzx_subprocess_wait(ctx, child, JZX_NEVER, &status);                 status.code == 0
 *     jzx_subprocess_close(ctx->loop, child);
 *
 * The operations that may wait come in three forms. The plain one suspends a fiber until it is
 * complete, and returns JZX_ERR_WOULD_SUSPEND elsewhere. The one that ends in _to returns at once
 * and completes by a message with a jzx_result (jzx/op.h). The one that ends in _async returns a
 * future (jzx/future.h), and may be called on any thread.
 *
 * **Owners.** A subprocess belongs to the actor that started it, or that it was given to. When the
 * owner ends, however it does, the subprocess is told to end by its stop_signal, killed if it is
 * there after grace_ns, and reaped: no worker waits for it, and no zombie is left. The owner stays
 * on its worker while it has subprocesses. Any actor that has the handle may wait, signal, stop and
 * close; only the owner may give it away. Its streams are streams as any other (jzx/stream.h), and
 * belong to the same actor at first.
 *
 * **Threads.** The first spawn of a loop starts one thread beside its pools, "jzx-reaper", and the
 * loop keeps it until it is destroyed. It runs no code of the program: it waits for subprocesses
 * that have lost their owner, whether the loop runs or not. A loop that starts none has none.
 *
 * **Handles** are plain data. One that was closed is JZX_ERR_CLOSED for ever. A subprocess that has
 * ended keeps its handle, its status and one descriptor until it is closed. One that the owner's
 * worker has no memory to watch is closed by the library, as a socket would be.
 *
 * **Errors** common to all: JZX_ERR_INVALID_ARG (NULL, a wrong context, a number out of range),
 * JZX_ERR_CLOSED, JZX_ERR_NO_MEMORY, JZX_ERR_LOOP_CLOSED; of those that wait JZX_ERR_TIMEOUT and
 * JZX_ERR_CANCELLED; of the _to forms JZX_ERR_NO_SUCH_ACTOR (this actor works off its queue). The
 * errno behind an error is in jzx_last_os_error, in jzx_result.os_error, or in the text of the
 * future. An error is returned by the call or comes with the completion, never both. */
#ifndef JZX_SUBPROCESS_H
#define JZX_SUBPROCESS_H

#include "jzx/actor.h"
#include "jzx/api.h"
#include "jzx/error.h"
#include "jzx/future.h"
#include "jzx/op.h"
#include "jzx/stream.h"
#include "jzx/time.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A handle. Never 0. */
typedef uint64_t jzx_subprocess;

#define JZX_NO_SUBPROCESS 0u

/* The pool of threads (jzx/blocking.h) that start programs. To set its limits, make a pool of that
 * name before the first call. */
#define JZX_SUBPROCESS_POOL "subprocess"
#define JZX_DEFAULT_SUBPROCESS_THREADS 4u

#define JZX_DEFAULT_SUBPROCESS_GRACE_NS 5000000000u

/* What a standard descriptor of a subprocess is. */
typedef enum jzx_stdio_kind {
    JZX_STDIO_INHERIT = 0, /* that of this program */
    JZX_STDIO_NULL = 1,    /* "/dev/null" */
    JZX_STDIO_STREAM = 2,  /* the other end of a stream: jzx_subprocess_stream */
    JZX_STDIO_FD = 3,      /* a copy of fd, which stays the caller's, and may be closed at once */
    JZX_STDIO_OUTPUT = 4   /* error only: the same as output */
} jzx_stdio_kind;

typedef struct jzx_stdio {
    uint32_t kind; /* a jzx_stdio_kind */
    int fd;        /* JZX_STDIO_FD */
} jzx_stdio;

/* What is to be started, and how. Zero fields are the defaults. All that it points to is copied, or
 * borrowed until a plain call returns. */
typedef struct jzx_subprocess_opts {
    size_t size;             /* sizeof(jzx_subprocess_opts): set by JZX_SUBPROCESS_OPTS or _init */
    const char *const *argv; /* ends with NULL; argv[0] is needed */
    const char *program;     /* NULL: argv[0]. Without a '/' it is looked for in the PATH of this
                              * program; a relative path begins in cwd */
    const char *const *env;  /* "NAME=value", ends with NULL. NULL: that of this program */
    const char *cwd;         /* NULL: that of this program */
    jzx_stdio input;
    jzx_stdio output;
    jzx_stdio error;
    const jzx_stream_opts *stream; /* of its streams; NULL: the defaults */
    uint64_t grace_ns;    /* from stop_signal to SIGKILL when the owner ends, or at a close: 5 s, by
                        * the clock of the system. JZX_NEVER: it is not killed before the loop is
                        * destroyed */
    int stop_signal;      /* SIGTERM. With SIGKILL there is no grace */
    bool new_group : 1;   /* it leads a process group, and all signals go to that: to what it has
                           * started, too, as long as it has not ended itself */
    bool new_session : 1; /* the same, and it leads a session without a terminal */
} jzx_subprocess_opts;

/* Options in place, in C. In C++ use jzx_subprocess_opts_init. */
#define JZX_SUBPROCESS_OPTS(...)                                                                   \
    ((jzx_subprocess_opts){.size = sizeof(jzx_subprocess_opts), __VA_ARGS__})

/* How a subprocess has ended. code is 0 only for an exit with 0. */
typedef enum jzx_subprocess_end {
    JZX_SUBPROCESS_EXITED = 1, /* code is what it has returned, 0 to 255 */
    JZX_SUBPROCESS_KILLED = 2  /* code is the signal */
} jzx_subprocess_end;

typedef struct jzx_subprocess_status {
    uint32_t end; /* a jzx_subprocess_end */
    int32_t code;
    bool has_core;    /* it was killed, and has left a core dump */
    uint64_t user_ns; /* processor time, of what it has started and waited for, too */
    uint64_t system_ns;
    uint64_t memory_max; /* the most that one of them had resident, in bytes */
} jzx_subprocess_status;

typedef struct jzx_subprocess_info {
    size_t size; /* sizeof(jzx_subprocess_info), set by the caller */
    jzx_actor_id owner;
    int pid; /* somebody else's when it has ended: for logs only */
    bool has_ended;
    uint64_t started_ns; /* loop time */
} jzx_subprocess_info;

JZX_BEGIN_C

/* As JZX_SUBPROCESS_OPTS(); size is sizeof *opts. JZX_ERR_INVALID_ARG. */
JZX_API jzx_err jzx_subprocess_opts_init(jzx_subprocess_opts *opts, size_t size);

/* ---- starting one ----
 *
 * When it is complete the program runs. It has its three standard descriptors, and no other; no
 * signal is blocked, and all have their default action. The system looks for the program, and loads
 * it, on a thread of JZX_SUBPROCESS_POOL. A deadline or a cancel stops one that waits for a thread;
 * one that has begun goes on to its end, and returns what it has come to.
 *
 * JZX_ERR_NOT_FOUND (the program, or cwd), JZX_ERR_PERMISSION (it is not executable, or a folder),
 * JZX_ERR_UNSUPPORTED (it is no program), JZX_ERR_TOO_LONG (argv and env), JZX_ERR_NO_DESCRIPTORS,
 * JZX_ERR_FULL (the pool has no room, or with EAGAIN the system has as many processes as it may),
 * JZX_ERR_NO_THREAD, JZX_ERR_IO. */

/* It belongs to the calling actor. */
JZX_API jzx_err jzx_subprocess_spawn(jzx_context *ctx, const jzx_subprocess_opts *opts,
                                     uint64_t deadline_ns, jzx_subprocess *child);
/* The data of the result are the jzx_subprocess. */
JZX_API jzx_err jzx_subprocess_spawn_to(jzx_context *ctx, const jzx_subprocess_opts *opts,
                                        uint32_t tag, jzx_op *op);
/* The value is the jzx_subprocess, which belongs to owner. It is closed if the last handle to the
 * future goes before it has started. */
JZX_API jzx_err jzx_subprocess_spawn_async(jzx_loop *loop, const jzx_subprocess_opts *opts,
                                           jzx_actor_id owner, jzx_future **future);

/* The stream that is its input (0, to be written), output (1) or error (2, both to be read), of one
 * started with JZX_STDIO_STREAM there; JZX_ERR_INVALID_STATE else. jzx_stream_shutdown or
 * jzx_stream_close of the input is the end of file for the program. JZX_ERR_END of the others comes
 * when all that have the descriptor have closed it, which may be after the subprocess has ended, if
 * it has started others. Any thread. */
JZX_API jzx_err jzx_subprocess_stream(jzx_loop *loop, jzx_subprocess child, uint32_t which,
                                      jzx_stream *stream);

/* ---- its end ----
 *
 * Any number may wait; each gets the same status, as does one that asks later. status may be NULL.
 * JZX_ERR_IO with ECHILD: it has ended, but something else in this program has taken its status:
 * another waitpid, or SIGCHLD is ignored. */

JZX_API jzx_err jzx_subprocess_wait(jzx_context *ctx, jzx_subprocess child, uint64_t deadline_ns,
                                    jzx_subprocess_status *status);
/* The data of the result, and the value, are a jzx_subprocess_status. */
JZX_API jzx_err jzx_subprocess_wait_to(jzx_context *ctx, jzx_subprocess child, uint32_t tag,
                                       jzx_op *op);
JZX_API jzx_err jzx_subprocess_wait_async(jzx_loop *loop, jzx_subprocess child,
                                          jzx_future **future);

/* Sends it a signal, 1 to 64; never another process, whose pid may be the same by now. Any thread.
 * JZX_ERR_INVALID_STATE: it has ended. JZX_ERR_PERMISSION. */
JZX_API jzx_err jzx_subprocess_signal(jzx_loop *loop, jzx_subprocess child, int signal);

/* Ends it: sends the signal (0: its stop_signal), waits, sends SIGKILL at kill_ns if it has not
 * ended (JZX_NEVER: not at all; 0, or a time that has passed: at once), and waits on. Of several
 * stops the earliest kill_ns counts. A cancel ends the wait only: SIGKILL is sent all the same. No
 * error if it has ended before. */
JZX_API jzx_err jzx_subprocess_stop(jzx_context *ctx, jzx_subprocess child, int signal,
                                    uint64_t kill_ns, jzx_subprocess_status *status);
JZX_API jzx_err jzx_subprocess_stop_to(jzx_context *ctx, jzx_subprocess child, int signal,
                                       uint64_t kill_ns, uint32_t tag, jzx_op *op);
JZX_API jzx_err jzx_subprocess_stop_async(jzx_loop *loop, jzx_subprocess child, int signal,
                                          uint64_t kill_ns, jzx_future **future);

/* ---- its handle ---- */

/* The handle is stale from here on, and all that wait get JZX_ERR_CLOSED. One that has not ended is
 * ended as with its owner: stop_signal, SIGKILL after grace_ns. Its streams stay. Any thread. */
JZX_API jzx_err jzx_subprocess_close(jzx_loop *loop, jzx_subprocess child);

/* The same, but it runs on. It is reaped when it ends, until the loop is destroyed; after that it
 * is the program's to wait for. Any thread. */
JZX_API jzx_err jzx_subprocess_detach(jzx_loop *loop, jzx_subprocess child);

/* It belongs to that actor from here on. Its streams are given by jzx_stream_give. Only the owner,
 * in its own turn. JZX_ERR_NOT_OWNER, JZX_ERR_NO_SUCH_ACTOR. */
JZX_API jzx_err jzx_subprocess_give(jzx_context *ctx, jzx_subprocess child, jzx_actor_id to);

/* Any thread. */
JZX_API jzx_err jzx_subprocess_info_get(jzx_loop *loop, jzx_subprocess child,
                                        jzx_subprocess_info *info);

JZX_END_C

#endif
