/* SPDX-License-Identifier: MIT */
/* A request on a file: what is to be done, and what it has come to. It is filled by a call, given
 * to jzx__file_submit with an operation, carried out by whatever back end there is, and handed back
 * when it is done. One back end makes the system calls on a thread of the blocking pool
 * (execute.h), the other hands them to io_uring (uring.h); both take the same record.
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
    struct jzx__op *op;     /* from its launch on */
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

#endif
