/* SPDX-License-Identifier: MIT */
/* Descriptors of the system: readiness as messages, and as something to await. docs/io.md has the
 * whole picture.
 *
 * A watch belongs to an actor, its owner, and ends with it. While an actor has a watch it stays on
 * its worker, which sleeps where the descriptor wakes it. Pipes, sockets, terminals, eventfd,
 * timerfd, inotify and whatever else poll(2) can wait for can be watched; regular files cannot. */
#ifndef JZX_IO_H
#define JZX_IO_H

#include "jzx/api.h"
#include "jzx/error.h"
#include "jzx/future.h"
#include "jzx/id.h"
#include "jzx/message.h"
#include "jzx/op.h"

#include <stdint.h>

/* What a descriptor is watched for, and what it is ready for. */
#define JZX_IO_READ 1u
#define JZX_IO_WRITE 2u
#define JZX_IO_ERROR 4u /* an error waits to be fetched; comes in any case, as the next */
#define JZX_IO_HANGUP                                                                              \
    8u /* the other end has closed, or writes no more: with READ, what it wrote
                          * before can still be read, and then read(2) returns 0 */
#define JZX_IO_CLOSED                                                                              \
    16u /* only in events, with ERROR: the descriptor was closed without
                           * jzx_unwatch_fd, or the system cannot watch it any more. The watch has
                           * ended; this is its last event */

/* The tag of events, if the watch has none of its own. */
#define JZX_TAG_IO 0xFFFF0001u

/* The payload of an event. It belongs to the runtime: jzx_msg_take returns NULL for it. The sender
 * is JZX_NOBODY. */
typedef struct jzx_io_event {
    int fd;
    uint32_t ready; /* JZX_IO_* */
} jzx_io_event;

/* The payload of a signal's message, which belongs to the runtime as well. */
typedef struct jzx_signal_event {
    int signo;
    uint32_t count; /* how often it came since the last message: at least 1 */
} jzx_signal_event;

JZX_BEGIN_C

/* Tells owner when fd is ready for one of interest (JZX_IO_READ, _WRITE, _ERROR, _HANGUP; not 0),
 * by a message with that tag, or with JZX_TAG_IO if tag is 0, and a jzx_io_event.
 *
 * One event is outstanding per watch: between the moment an event is sent and the moment its
 * handler returns (the next receive, in a fiber) no other is. Then the watch is armed again, and if
 * the descriptor is still ready, or is again, the next event comes. So no readiness is lost,
 * whether the handler reads everything or only a part, and no mailbox is flooded; but a handler
 * that leaves things as they are gets one event after another: it reads, or changes its interest,
 * or unwatches. No mailbox refuses an event, and events do not count against its bound.
 *
 * A second watch for the same fd takes the place of the first: the same owner gets the new interest
 * and tag, and a pending event, which has the old tag, says no more than fits the new interest;
 * another owner gets the descriptor, and what was pending for the first is dropped. The descriptor
 * stays the caller's: the library neither reads nor closes it, nor changes its flags. Unwatch
 * before you close: a descriptor that was closed under its watch is noticed when its worker next
 * goes to sleep or polls (each time it looks at some of its watches), and gives one last event,
 * JZX_IO_ERROR | JZX_IO_CLOSED.
 *
 * Any thread. What fails on another thread than the owner's after the call has returned (the
 * descriptor was closed meanwhile, the system is out of memory) gives that last event as well.
 * JZX_ERR_IO_REG_FAILED: fd is not open, is a regular file or a directory, which poll(2) calls
 * ready at all times, or the system has no descriptors or memory for it. JZX_ERR_FULL: as many are
 * watched as config.max_io_watchers allows. JZX_ERR_NO_SUCH_ACTOR (also if owner works off its
 * queue and takes nothing more), JZX_ERR_LOOP_CLOSED, JZX_ERR_NO_MEMORY, JZX_ERR_INVALID_ARG.
 * JZX_ERR_UNSUPPORTED: owner is an async function, which gets no messages and awaits
 * jzx_fd_await_async instead; called on another thread than the owner's, the watch ends by itself
 * then. After an error an earlier watch of fd is as it
 * was, unless fd was closed. */
JZX_API jzx_err jzx_watch_fd(jzx_loop *loop, int fd, jzx_actor_id owner, uint32_t interest,
                             uint32_t tag);

/* Suspends the calling fiber until fd is ready for one of interest (as above; ERROR and HANGUP end
 * the wait in any case), and stores the JZX_IO_* bits that are ready in *ready; NULL: nobody wants
 * them. Any descriptor that poll(2) can wait for: pipes, devices, sockets of other libraries, an
 * epoll instance. The three forms share what follows.
 *
 * A descriptor that is ready already ends the wait at once: the plain call returns without being
 * suspended. deadline_ns 0 only looks: JZX_ERR_TIMEOUT, or the bits. The library neither reads nor
 * closes fd, nor changes its flags; so a wait that timed out or was cancelled has consumed nothing.
 * Any number of waits may be under way for one descriptor, each with its own interest, and each
 * ends as soon as its own is ready: make fd non-blocking if several read it. Waits and a watch of
 * the same descriptor do not know of each other: jzx_unwatch_fd ends no wait. The calling actor
 * need not stay on its worker.
 *
 * Do not close fd under a wait: cancel it first, and close after it has completed. A descriptor
 * that was closed all the same is noticed as with a watch, and the wait ends with JZX_ERR_CLOSED.
 *
 * JZX_ERR_CLOSED: fd is not open, or was closed. JZX_ERR_IO_REG_FAILED: poll(2) cannot wait for it
 * (a regular file, a directory), or the system has no descriptors or memory for that.
 * JZX_ERR_TIMEOUT, JZX_ERR_CANCELLED (the actor works off its queue, and fd is not ready),
 * JZX_ERR_WOULD_SUSPEND (no fiber's own code), JZX_ERR_LOOP_CLOSED, JZX_ERR_NO_MEMORY,
 * JZX_ERR_INVALID_ARG. jzx_last_os_error has the errno. */
JZX_API jzx_err jzx_fd_await(jzx_context *ctx, int fd, uint32_t interest, uint64_t deadline_ns,
                             uint32_t *ready);

/* The same by one message with a jzx_result: its data are a uint32_t, the bits. An error of the
 * descriptor, or of its registration, comes with the message, the others are returned.
 * jzx_op_cancel ends it: JZX_ERR_CANCELLED. Only in the actor's own turn. op may be NULL.
 * JZX_ERR_NO_SUCH_ACTOR (this actor works off its queue). */
JZX_API jzx_err jzx_fd_await_to(jzx_context *ctx, int fd, uint32_t interest, uint64_t deadline_ns,
                                uint32_t tag, jzx_op *op);

/* The same by a future, whose value is a uint32_t, the bits: for async functions (JZX_AWAIT), and
 * for threads that are no workers. Any thread; errors as with the message. A cancel of the future,
 * and the release of its last handle, end the wait. The loop's end rejects it with
 * JZX_ERR_LOOP_CLOSED. */
JZX_API jzx_err jzx_fd_await_async(jzx_loop *loop, int fd, uint32_t interest, uint64_t deadline_ns,
                                   jzx_future **future);

/* Ends a watch; an event that waits is dropped. (One that its owner is handling on another thread
 * is not called back.) From the return on fd may be closed. Any thread.
 * JZX_ERR_IO_NOT_WATCHED, JZX_ERR_INVALID_ARG. */
JZX_API jzx_err jzx_unwatch_fd(jzx_loop *loop, int fd);

/* Tells the calling actor of each signal of that number that comes to the process, by a message
 * with that tag (not 0) and a jzx_signal_event; again: with another tag. It ends with the actor.
 * Signals that come while a message is outstanding are counted, and the next message, after its
 * handler has returned, has the count.
 *
 * The signal must be blocked in every thread of the program, or the system acts on it as if nobody
 * had asked: block it with pthread_sigmask in main, before the first thread and before
 * jzx_loop_run, whose threads inherit that. It may go to any number of actors in any number of
 * loops: whichever loop fetches it tells all. (Signals that are directed at one thread, as by
 * pthread_kill, reach nobody here unless that thread polls.) What no actor is told of any more
 * stays blocked and pending. Programs that are started inherit the mask: unblock it there.
 *
 * Only in the actor's own turn. JZX_ERR_INVALID_ARG: another context, tag 0 or reserved, a signal
 * that cannot be blocked (SIGKILL, SIGSTOP) or means a fault (SIGSEGV, SIGBUS, SIGFPE, SIGILL,
 * SIGTRAP, SIGABRT), config.stall_signal, or, most often, a signal that is not blocked in the
 * calling thread. The log says which signal, and why.
 * JZX_ERR_IO_REG_FAILED, JZX_ERR_NO_SUCH_ACTOR, JZX_ERR_LOOP_CLOSED, JZX_ERR_NO_MEMORY. */
JZX_API jzx_err jzx_signal_to(jzx_context *ctx, int signo, uint32_t tag);

/* The calling actor is told of that signal no more; a message that waits is dropped. Only in its
 * own turn. JZX_ERR_IO_NOT_WATCHED, JZX_ERR_INVALID_ARG. */
JZX_API jzx_err jzx_signal_end(jzx_context *ctx, int signo);

/* The errno behind the call of this actor that the system failed last: for logs, and for what
 * jzx_err does not tell apart. Ask right after the call: calls that succeed, or fail for a reason
 * of the library's own (a NULL, a handle that is closed, a deadline), leave it as it was.
 * jzx_fd_await asks the system about its descriptor, so JZX_ERR_CLOSED sets it there, to EBADF. Of
 * an operation that completes by a message the errno is in jzx_result.os_error, of a future in its
 * text. Only in the actor's own turn; 0 elsewhere. */
JZX_API int jzx_last_os_error(const jzx_context *ctx);

JZX_END_C

#endif
