/* SPDX-License-Identifier: MIT */
/* A request on a file: what is to be done, and what it has come to. It is filled by a call, given
 * to jzx__file_submit with an operation, carried out by whatever back end there is, and handed back
 * when it is done. The one back end makes the system calls on a thread of the blocking pool; one on
 * io_uring would take the same record.
 *
 *   R1  a request has a use of its file, and for what opens one the record of the file to come
 *       (file/F2), until it is done.
 *   R2  what a request points to is the calling fiber's, whose end waits for it (op/O9), or lies
 *       in its block behind it. */
#ifndef JZX_FILE_REQUEST_H
#define JZX_FILE_REQUEST_H

#include "file/file.h"
#include "op/op.h"

enum jzx__file_do {
    JZX__FILE_DO_OPEN,
    JZX__FILE_DO_TEMPORARY,
    JZX__FILE_DO_READ,
    JZX__FILE_DO_WRITE,
    JZX__FILE_DO_SYNC, /* len != 0: the data only */
    JZX__FILE_DO_ALLOCATE,
    JZX__FILE_DO_TRUNCATE,
    JZX__FILE_DO_STAT,
    JZX__FILE_DO_STAT_PATH,
    JZX__FILE_DO_RENAME,
    JZX__FILE_DO_REMOVE,
    JZX__FILE_DO_MKDIR,
    JZX__FILE_DO_LIST,
    JZX__FILE_DO_COPY,
    JZX__FILE_DO_REPLACE,
    JZX__FILE_DO_COUNT
};

struct jzx__file_request {
    enum jzx__file_do what;
    const struct jzx__file_os *os;
    jzx_file handle;        /* of those that work on one; then of the one that was opened */
    struct jzx__file *file; /* R1, or NULL */
    const char *path;
    const char *other; /* the second path */
    int flags;         /* of open(2) */
    uint32_t mode;
    uint64_t offset;
    uint64_t len;
    const struct iovec *parts; /* to be read into, or written */
    uint32_t part_count;
    struct iovec part; /* if it is one */
    void *data;        /* where names or a jzx_file_info go */
    size_t capacity;
    size_t block_size; /* R2; 0: it is on the stack of a fiber */

    /* The outcome. */
    jzx_err err;
    int os_error;
    int fd;         /* that was opened, or -1 */
    uint64_t count; /* bytes */
};

/* Makes the system calls. On a thread that may block. */
void jzx__file_execute(struct jzx__file_request *request);

/* ---- for jzx__file_execute ---- */

/* Ends it with the negative errno; false. */
bool jzx__file_fail(struct jzx__file_request *request, int error);

/* Writes all of the parts, which change; *count grows. 0 or the negative errno. */
int jzx__file_write_all(const struct jzx__file_os *os, int fd, struct iovec *parts, uint32_t count,
                        off_t offset, uint64_t *done);

/* Those that work on names. */
void jzx__file_execute_path(struct jzx__file_request *request);

/* ---- the three ways (start.c) ---- */

/* Suspends the calling fiber. request->err is set in every case. */
jzx_err jzx__file_wait(jzx_context *ctx, const char *call, struct jzx__file_request *request,
                       uint64_t deadline_ns);

/* Copies what the request points to. */
jzx_err jzx__file_start_to(jzx_context *ctx, const struct jzx__file_request *request, uint32_t tag,
                           jzx_op *op);
jzx_err jzx__file_start_async(jzx_loop *loop, const struct jzx__file_request *request,
                              jzx_future **future);

#endif
