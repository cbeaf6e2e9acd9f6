/* SPDX-License-Identifier: MIT */
/* Status codes. Every call that can fail returns jzx_err: 0 or negative, never errno. */
#ifndef JZX_ERROR_H
#define JZX_ERROR_H

#include "jzx/api.h"

#define JZX_ERR_MAP(X)                                                                             \
    X(JZX_OK, 0, "success")                                                                        \
    X(JZX_ERR_UNKNOWN, -1, "unknown error")                                                        \
    X(JZX_ERR_NO_MEMORY, -2, "out of memory")                                                      \
    X(JZX_ERR_INVALID_ARG, -3, "invalid argument")                                                 \
    X(JZX_ERR_LOOP_CLOSED, -4, "the loop is closed")                                               \
    X(JZX_ERR_NO_SUCH_ACTOR, -5, "no such actor")                                                  \
    X(JZX_ERR_ACTOR_NOT_LOCAL, -6, "the actor belongs to another thread")                          \
    X(JZX_ERR_MAILBOX_FULL, -7, "the mailbox is full")                                             \
    X(JZX_ERR_TIMER_INVALID, -8, "the timer is unknown, fired or cancelled")                       \
    X(JZX_ERR_IO_REG_FAILED, -9, "the file descriptor could not be registered")                    \
    X(JZX_ERR_IO_NOT_WATCHED, -10, "the file descriptor is not watched")                           \
    X(JZX_ERR_MAX_ACTORS, -11, "as many are alive as the configuration allows")                    \
    X(JZX_ERR_BUSY, -12, "in use, or another operation on it has not ended")                       \
    X(JZX_ERR_EXISTS, -13, "the name is taken")                                                    \
    X(JZX_ERR_ESCALATED, -14, "the supervisor at the top has given up")                            \
    X(JZX_ERR_FULL, -15, "full: as many are in use as there is room for")                          \
    X(JZX_ERR_TIMEOUT, -16, "the deadline has passed")                                             \
    X(JZX_ERR_WOULD_SUSPEND, -17, "only a fiber can wait here")                                    \
    X(JZX_ERR_CANCELLED, -18, "cancelled")                                                         \
    X(JZX_ERR_CLOSED, -19, "closed")                                                               \
    X(JZX_ERR_BROKEN_PROMISE, -20, "the promise was dropped")                                      \
    X(JZX_ERR_INVALID_STATE, -21, "not in a state for that")                                       \
    X(JZX_ERR_FAILED, -22, "the code that was to do it has failed")                                \
    X(JZX_ERR_NO_SUCH_OP, -23, "the operation is unknown or complete")                             \
    X(JZX_ERR_NO_THREAD, -24, "the system gives no more threads")                                  \
    X(JZX_ERR_OWNER_DIED, -25, "the last owner has ended without giving it back")                  \
    X(JZX_ERR_NOT_OWNER, -26, "the caller does not have it")                                       \
    X(JZX_ERR_LAGGED, -27, "values were overwritten before they were read")                        \
    X(JZX_ERR_ALL_REJECTED, -28, "too few of the futures have a value")                            \
    X(JZX_ERR_INVALID_DELAY, -29, "the delay or period is not positive, or too long")              \
    X(JZX_ERR_CAPACITY_EXCEEDED, -30, "too many jobs are due at that tick, or in the far future")  \
    X(JZX_ERR_QUOTA_EXCEEDED, -31, "the scheduler has as many jobs as it may")                     \
    X(JZX_ERR_BACKPRESSURED, -32, "the scheduler is overloaded")                                   \
    X(JZX_ERR_SHUTDOWN, -33, "the scheduler is shut down")                                         \
    X(JZX_ERR_UNSUPPORTED, -34, "not offered here, or excluded by the configuration")              \
    X(JZX_ERR_IO, -35, "the system has failed it: jzx_last_os_error tells why")                    \
    X(JZX_ERR_END, -36, "the end of the stream or file")                                           \
    X(JZX_ERR_NOT_FOUND, -37, "no such file, host or address")                                     \
    X(JZX_ERR_PERMISSION, -38, "the system does not permit it")                                    \
    X(JZX_ERR_REFUSED, -39, "nobody listens there")                                                \
    X(JZX_ERR_RESET, -40, "the peer has broken the connection")                                    \
    X(JZX_ERR_UNREACHABLE, -41, "the host or network cannot be reached")                           \
    X(JZX_ERR_ADDRESS_IN_USE, -42, "the address is in use")                                        \
    X(JZX_ERR_NO_DESCRIPTORS, -43, "the process or the system has no more descriptors")            \
    X(JZX_ERR_NO_SPACE, -44, "no space is left, or the file would be too large")                   \
    X(JZX_ERR_TOO_LONG, -45, "longer than there is room for")                                      \
    X(JZX_ERR_UNKNOWN_COMMAND, -46, "no handler is registered for the command")                    \
    X(JZX_ERR_UNKNOWN_METHOD, -47, "the process has no such method")                               \
    X(JZX_ERR_TERMINATED, -48, "it was killed before it had a result")

typedef enum jzx_err {
#define JZX_ERR_ENUM(name, code, text) name = code,
    JZX_ERR_MAP(JZX_ERR_ENUM)
#undef JZX_ERR_ENUM
} jzx_err;

JZX_BEGIN_C

/* "JZX_ERR_MAILBOX_FULL" and "the mailbox is full"; a fixed text for codes that do not exist.
 * The strings are static. Any thread. */
JZX_API const char *jzx_err_name(jzx_err err);
JZX_API const char *jzx_err_text(jzx_err err);

JZX_END_C

#endif
