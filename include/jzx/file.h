/* SPDX-License-Identifier: MIT */
/* Files: opened, read, written and moved about without blocking a worker. docs/files.md has the
 * whole picture.
 *
 *     jzx_file file;                                                          in a fiber
 *     jzx_file_open(ctx, "log.txt", JZX_FILE_WRITE | JZX_FILE_CREATE, 0644, JZX_NEVER, &file);
 *     jzx_file_write(ctx, file, line, strlen(line), 0, JZX_NEVER, NULL);
 *     jzx_file_close(ctx->loop, file);
 *
 * Requests go to io_uring where the system has it, unless config.io_backend says otherwise, and
 * else to a pool of threads of their own (jzx/blocking.h). The pool is called JZX_FILE_POOL and has
 * JZX_DEFAULT_FILE_THREADS threads; to set its limits, make a pool of that name before the first
 * call. When its queue is full a call is JZX_ERR_FULL, at once. io_uring has as many threads of the
 * kernel for each worker. While requests that block (an open of a pipe without its other end) have
 * all of them, other requests wait.
 *
 * Each operation comes in three forms. The plain one suspends a fiber until it is complete, and
 * returns JZX_ERR_WOULD_SUSPEND elsewhere; buffers and paths are borrowed until it returns. The one
 * that ends in _to returns at once and completes by a message with a jzx_result (jzx/op.h). The one
 * that ends in _async returns a future (jzx/future.h), and may be called on any thread. The last
 * two copy what they are given.
 *
 * **Deadlines and cancels** stop an operation that waits for a thread, a read at JZX_FILE_HERE that
 * waits for a pipe or a terminal, and one that io_uring can stop. Any other that has begun runs to
 * its end, and returns its result: a system call on a file cannot be taken back.
 *
 * **Order.** Operations that are pending at the same time run at the same time, in any order. Those
 * that use the position of the file (JZX_FILE_HERE) do so one at a time: a second one is
 * JZX_ERR_BUSY.
 *
 * **Owners.** A file belongs to the actor that opened it, or that it was given to, and is closed
 * when that ends; one that an _async form has opened belongs to nobody until it is given away, and
 * is closed with the loop at the latest. Any actor or thread that has the handle may use it; only
 * the owner may give it away.
 *
 * **Handles** are plain data. One whose file is closed is JZX_ERR_CLOSED for ever: no handle ever
 * means another file.
 *
 * **Errors** common to all: JZX_ERR_INVALID_ARG (NULL, a wrong context, a length or tag out of
 * range, a read of a file that is open for writing only, or the reverse), JZX_ERR_CLOSED,
 * JZX_ERR_FULL, JZX_ERR_NO_THREAD, JZX_ERR_TIMEOUT, JZX_ERR_CANCELLED, JZX_ERR_NO_MEMORY,
 * JZX_ERR_LOOP_CLOSED; of the _to forms JZX_ERR_NO_SUCH_ACTOR (this actor works off its queue). Of
 * the system: JZX_ERR_NOT_FOUND, JZX_ERR_EXISTS, JZX_ERR_PERMISSION, JZX_ERR_NO_DESCRIPTORS,
 * JZX_ERR_NO_SPACE (also a limit on the size of files), JZX_ERR_TOO_LONG (a path),
 * JZX_ERR_UNSUPPORTED, and JZX_ERR_IO for what has no name of its own. The errno is in
 * jzx_last_os_error, in jzx_result.os_error, or in the text of the future. An error is returned by
 * the call or comes with the completion, never both. */
#ifndef JZX_FILE_H
#define JZX_FILE_H

#include "jzx/actor.h"
#include "jzx/api.h"
#include "jzx/error.h"
#include "jzx/future.h"
#include "jzx/op.h"
#include "jzx/time.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* A handle. Never 0. */
typedef uint64_t jzx_file;

#define JZX_NO_FILE 0u

#define JZX_FILE_POOL "file"
#define JZX_DEFAULT_FILE_THREADS 16u

/* In place of an offset: where the last operation of this kind has ended (or the end of the file,
 * for writes with JZX_FILE_APPEND). */
#define JZX_FILE_HERE UINT64_MAX

/* Pieces of a vectored operation at most. */
#define JZX_FILE_PARTS_MAX 64u

/* How a file is opened: READ, WRITE or both, and any of the others. */
enum {
    JZX_FILE_READ = 0x01,
    JZX_FILE_WRITE = 0x02,
    JZX_FILE_CREATE = 0x04,    /* if it is not there, with the mode less the umask */
    JZX_FILE_NEW = 0x08,       /* only with CREATE: JZX_ERR_EXISTS if it is there */
    JZX_FILE_TRUNCATE = 0x10,  /* what was in it is gone */
    JZX_FILE_APPEND = 0x20,    /* each write goes to the end */
    JZX_FILE_DIRECTORY = 0x40, /* to sync one; anything else fails */
    JZX_FILE_NO_FOLLOW = 0x80  /* fails if the last part of the path is a symbolic link */
};

typedef enum jzx_file_kind {
    JZX_FILE_OTHER = 0, /* a device, a pipe, a socket */
    JZX_FILE_REGULAR = 1,
    JZX_FILE_FOLDER = 2,
    JZX_FILE_LINK = 3
} jzx_file_kind;

/* What the system knows of a file. */
typedef struct jzx_file_info {
    uint64_t bytes;
    uint64_t allocated;  /* bytes on the disk */
    int64_t modified_ns; /* since 1970, as the next two */
    int64_t accessed_ns;
    int64_t changed_ns;
    uint64_t device;
    uint64_t inode;
    uint32_t kind; /* a jzx_file_kind */
    uint32_t mode; /* permissions, 0777 and the bits above */
    uint32_t user;
    uint32_t group;
    uint32_t links;
    uint32_t reserved;
} jzx_file_info;

JZX_BEGIN_C

/* ---- handles ---- */

/* Opens a file, which then belongs to the calling actor. how is JZX_FILE_*, mode as 0644, for
 * CREATE. Symbolic links are followed; descriptors are close-on-exec. */
JZX_API jzx_err jzx_file_open(jzx_context *ctx, const char *path, uint32_t how, uint32_t mode,
                              uint64_t deadline_ns, jzx_file *file);
/* The data of the result are the jzx_file. If the actor ends before it gets the message, the file
 * is closed. */
JZX_API jzx_err jzx_file_open_to(jzx_context *ctx, const char *path, uint32_t how, uint32_t mode,
                                 uint32_t tag, jzx_op *op);
/* The value is the jzx_file. It is closed if the last handle to the future goes before it is
 * open. */
JZX_API jzx_err jzx_file_open_async(jzx_loop *loop, const char *path, uint32_t how, uint32_t mode,
                                    jzx_future **future);

/* The same for a file without a name in that folder (NULL: "/tmp"), for reading and writing, which
 * is gone when it is closed. */
JZX_API jzx_err jzx_file_temporary(jzx_context *ctx, const char *folder, uint64_t deadline_ns,
                                   jzx_file *file);
JZX_API jzx_err jzx_file_temporary_to(jzx_context *ctx, const char *folder, uint32_t tag,
                                      jzx_op *op);
JZX_API jzx_err jzx_file_temporary_async(jzx_loop *loop, const char *folder, jzx_future **future);

/* Closes it: at once, or when the last operation on it that has begun or waits is complete. The
 * handle is stale from here on. Any thread; JZX_ERR_CLOSED. What the system has not written yet may
 * still fail, and nothing tells: jzx_file_sync before. */
JZX_API jzx_err jzx_file_close(jzx_loop *loop, jzx_file file);

/* The file belongs to that actor from here on; if that ends before it hears of it, the file is
 * closed. Only the owner, in its own turn; a file of nobody's may be given by any actor, also to
 * itself. JZX_ERR_NOT_OWNER, JZX_ERR_BUSY (the receiver has not taken the last one in yet),
 * JZX_ERR_NO_SUCH_ACTOR. */
JZX_API jzx_err jzx_file_give(jzx_context *ctx, jzx_file file, jzx_actor_id to);

/* Its descriptor, for calls that this library does not have; it stays the library's. Any thread.
 * Negative: a jzx_err. */
JZX_API int jzx_file_fd(jzx_loop *loop, jzx_file file);

/* ---- reading ----
 *
 * At least one byte, and at most cap (not 0), from that offset on, or JZX_FILE_HERE. JZX_ERR_END:
 * there is nothing at or after that offset. */

JZX_API jzx_err jzx_file_read(jzx_context *ctx, jzx_file file, void *buf, size_t cap,
                              uint64_t offset, uint64_t deadline_ns, size_t *len);
/* The data are behind the jzx_result; the room for cap bytes is taken now. */
JZX_API jzx_err jzx_file_read_to(jzx_context *ctx, jzx_file file, size_t cap, uint64_t offset,
                                 uint32_t tag, jzx_op *op);
/* The value is a jzx_result with the data behind it: sizeof(jzx_result) + cap bytes. */
JZX_API jzx_err jzx_file_read_async(jzx_loop *loop, jzx_file file, size_t cap, uint64_t offset,
                                    jzx_future **future);

/* Into several pieces, one after another; at most JZX_FILE_PARTS_MAX. */
JZX_API jzx_err jzx_file_readv(jzx_context *ctx, jzx_file file, const struct iovec *parts,
                               uint32_t count, uint64_t offset, uint64_t deadline_ns, size_t *len);

/* ---- writing ----
 *
 * All len bytes, at that offset or at JZX_FILE_HERE. On an error some of them may be in the file:
 * *done (may be NULL) says how many in every case. */

JZX_API jzx_err jzx_file_write(jzx_context *ctx, jzx_file file, const void *buf, size_t len,
                               uint64_t offset, uint64_t deadline_ns, size_t *done);
/* The data of the result are the number of bytes that are in the file, a uint64_t, also with an
 * error of the system. */
JZX_API jzx_err jzx_file_write_to(jzx_context *ctx, jzx_file file, const void *buf, size_t len,
                                  uint64_t offset, uint32_t tag, jzx_op *op);
/* The value is that number. */
JZX_API jzx_err jzx_file_write_async(jzx_loop *loop, jzx_file file, const void *buf, size_t len,
                                     uint64_t offset, jzx_future **future);

/* The same for several pieces, at most JZX_FILE_PARTS_MAX. */
JZX_API jzx_err jzx_file_writev(jzx_context *ctx, jzx_file file, const struct iovec *parts,
                                uint32_t count, uint64_t offset, uint64_t deadline_ns,
                                size_t *done);
JZX_API jzx_err jzx_file_writev_to(jzx_context *ctx, jzx_file file, const struct iovec *parts,
                                   uint32_t count, uint64_t offset, uint32_t tag, jzx_op *op);
JZX_API jzx_err jzx_file_writev_async(jzx_loop *loop, jzx_file file, const struct iovec *parts,
                                      uint32_t count, uint64_t offset, jzx_future **future);

/* ---- the rest of an open file; results and values have no data unless it says so ---- */

/* What was written is on the disk: fsync; with data_only fdatasync, which leaves times and the like
 * for later. */
JZX_API jzx_err jzx_file_sync(jzx_context *ctx, jzx_file file, bool data_only,
                              uint64_t deadline_ns);
JZX_API jzx_err jzx_file_sync_to(jzx_context *ctx, jzx_file file, bool data_only, uint32_t tag,
                                 jzx_op *op);
JZX_API jzx_err jzx_file_sync_async(jzx_loop *loop, jzx_file file, bool data_only,
                                    jzx_future **future);

/* Takes room on the disk for len bytes (not 0) from that offset on; a shorter file grows. */
JZX_API jzx_err jzx_file_allocate(jzx_context *ctx, jzx_file file, uint64_t offset, uint64_t len,
                                  uint64_t deadline_ns);
JZX_API jzx_err jzx_file_allocate_to(jzx_context *ctx, jzx_file file, uint64_t offset, uint64_t len,
                                     uint32_t tag, jzx_op *op);
JZX_API jzx_err jzx_file_allocate_async(jzx_loop *loop, jzx_file file, uint64_t offset,
                                        uint64_t len, jzx_future **future);

/* It has len bytes from then on: cut, or filled with zeroes. */
JZX_API jzx_err jzx_file_truncate(jzx_context *ctx, jzx_file file, uint64_t len,
                                  uint64_t deadline_ns);
JZX_API jzx_err jzx_file_truncate_to(jzx_context *ctx, jzx_file file, uint64_t len, uint32_t tag,
                                     jzx_op *op);
JZX_API jzx_err jzx_file_truncate_async(jzx_loop *loop, jzx_file file, uint64_t len,
                                        jzx_future **future);

/* The data, and the value, are a jzx_file_info. */
JZX_API jzx_err jzx_file_stat(jzx_context *ctx, jzx_file file, uint64_t deadline_ns,
                              jzx_file_info *info);
JZX_API jzx_err jzx_file_stat_to(jzx_context *ctx, jzx_file file, uint32_t tag, jzx_op *op);
JZX_API jzx_err jzx_file_stat_async(jzx_loop *loop, jzx_file file, jzx_future **future);

JZX_END_C

#endif
