/* SPDX-License-Identifier: MIT */
#include "file/uring_entry.h"

#include "file/execute.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#if defined(JZX__HAS_IO_URING)

_Static_assert(sizeof(struct io_uring_sqe) <= sizeof(struct jzx__uring_entry), "there is room");

/* What one call reads or writes at most, as the kernel has it. */
#define SIZE_MAX_AT_ONCE 0x7ffff000u

static uint64_t address_of(const void *place) {
    return (uint64_t)(uintptr_t)place;
}

static uint64_t size_of_parts(const struct jzx__file_request *request) {
    uint64_t size = 0;
    for (uint32_t i = 0; i < request->part_count; i++)
        size += request->parts[i].iov_len;
    return size;
}

/* ---- submissions ---- */

/* U5 */
static bool may_take(const struct jzx__file_request *request) {
    if (request->what == JZX__FILE_DO_READ)
        return request->file->is_regular || request->offset == JZX_FILE_HERE;
    return request->file->is_regular && !request->os->has_size_limit();
}

/* One part goes without its vector, which the kernel would have to fetch and check. */
static bool fill_bytes(struct io_uring_sqe *sqe, const struct jzx__file_request *request) {
    bool is_read = request->what == JZX__FILE_DO_READ;
    uint64_t size = size_of_parts(request);
    if (size == 0 || !may_take(request))
        return false;
    sqe->fd = request->file->fd;
    sqe->off = request->offset; /* HERE is -1 for the kernel, too */
    if (request->part_count == 1) {
        sqe->opcode = is_read ? IORING_OP_READ : IORING_OP_WRITE;
        sqe->addr = address_of(request->parts->iov_base);
        sqe->len = size < SIZE_MAX_AT_ONCE ? (uint32_t)size : SIZE_MAX_AT_ONCE;
    } else {
        sqe->opcode = is_read ? IORING_OP_READV : IORING_OP_WRITEV;
        sqe->addr = address_of(request->parts);
        sqe->len = request->part_count;
    }
    if (size > JZX__URING_INLINE_MAX)
        sqe->flags = IOSQE_ASYNC; /* U6 */
    return true;
}

static void fill_path(struct io_uring_sqe *sqe, uint8_t opcode, const char *path) {
    sqe->opcode = opcode;
    sqe->fd = AT_FDCWD;
    sqe->addr = address_of(path);
}

static bool fill(struct io_uring_sqe *sqe, const struct jzx__file_request *request) {
    switch (request->what) {
    case JZX__FILE_DO_READ:
    case JZX__FILE_DO_WRITE: return fill_bytes(sqe, request);
    case JZX__FILE_DO_OPEN:
        fill_path(sqe, IORING_OP_OPENAT, request->path);
        sqe->open_flags = (uint32_t)request->flags | O_CLOEXEC;
        sqe->len = request->mode;
        sqe->flags = IOSQE_ASYNC; /* U6 */
        return true;
    case JZX__FILE_DO_SYNC:
        sqe->opcode = IORING_OP_FSYNC;
        sqe->fd = request->file->fd;
        sqe->fsync_flags = request->len != 0 ? IORING_FSYNC_DATASYNC : 0;
        return true;
    case JZX__FILE_DO_ALLOCATE:
        sqe->opcode = IORING_OP_FALLOCATE;
        sqe->fd = request->file->fd;
        sqe->off = request->offset;
        sqe->addr = request->len;
        return true;
    case JZX__FILE_DO_RENAME:
        fill_path(sqe, IORING_OP_RENAMEAT, request->path);
        sqe->len = (uint32_t)AT_FDCWD;
        sqe->addr2 = address_of(request->other);
        return true;
    case JZX__FILE_DO_REMOVE: fill_path(sqe, IORING_OP_UNLINKAT, request->path); return true;
    case JZX__FILE_DO_MKDIR:
        fill_path(sqe, IORING_OP_MKDIRAT, request->path);
        sqe->len = request->mode;
        return true;
    default: return false;
    }
}

bool jzx__uring_fill(struct jzx__uring_entry *entry, const struct jzx__ring *ring,
                     struct jzx__file_request *request, uint64_t key) {
    struct io_uring_sqe *sqe = (void *)entry->bytes;
    memset(entry, 0, sizeof *entry);
    sqe->user_data = key;
    request->err = JZX_OK;
    request->os_error = 0;
    request->fd = -1;
    return fill(sqe, request) && jzx__ring_can(ring, sqe->opcode);
}

void jzx__uring_fill_cancel(struct jzx__uring_entry *entry, uint64_t key) {
    struct io_uring_sqe *sqe = (void *)entry->bytes;
    memset(entry, 0, sizeof *entry);
    sqe->opcode = IORING_OP_ASYNC_CANCEL;
    sqe->fd = -1;
    sqe->addr = key;
}

/* ---- completions ---- */

/* What a system call that a signal has stopped leaves for the way back to user space, which a
 * thread of the kernel does not take: ERESTARTSYS and its kin. They are in no header. */
#define RESTART_FIRST 512
#define RESTART_LAST 516

bool jzx__uring_is_interrupted(int32_t result) {
    return result == -ECANCELED || result == -EINTR ||
           (result <= -RESTART_FIRST && result >= -RESTART_LAST);
}

/* True if the error may be io_uring's, or of the thread that has started the request, rather than
 * the file's. */
static bool is_doubtful(const struct jzx__file_request *request, int32_t error) {
    if (jzx__uring_is_interrupted(error))
        return true;
    switch (error) {
    case -EAGAIN:
    case -EBADF: /* also for what threads are told ESPIPE */
    case -EFAULT:
    case -EINVAL:
    case -ENOMEM:
    case -ENOSYS:
    case -EOPNOTSUPP: return true;
    case -EISDIR:
    case -EPERM: return request->what == JZX__FILE_DO_REMOVE; /* it may be a folder */
    default: return false;
    }
}

/* False: the rest is to be written. */
static bool settle_write(struct jzx__file_request *request, uint32_t put) {
    request->count += put;
    return put != 0 && request->count == size_of_parts(request);
}

bool jzx__uring_settle(struct jzx__file_request *request, int32_t result) {
    if (result < 0) {
        if (is_doubtful(request, result))
            return false;
        jzx__file_fail(request, result);
        return true;
    }
    switch (request->what) {
    case JZX__FILE_DO_OPEN: request->fd = result; return true;
    case JZX__FILE_DO_WRITE: return settle_write(request, (uint32_t)result);
    case JZX__FILE_DO_READ:
        request->count = (uint32_t)result;
        request->err = result == 0 ? JZX_ERR_END : JZX_OK;
        return true;
    default: return true;
    }
}

#else

bool jzx__uring_fill(struct jzx__uring_entry *entry, const struct jzx__ring *ring,
                     struct jzx__file_request *request, uint64_t key) {
    (void)entry, (void)ring, (void)request, (void)key;
    return false;
}

void jzx__uring_fill_cancel(struct jzx__uring_entry *entry, uint64_t key) {
    (void)entry, (void)key;
}

bool jzx__uring_is_interrupted(int32_t result) {
    (void)result;
    return false;
}

bool jzx__uring_settle(struct jzx__file_request *request, int32_t result) {
    (void)request, (void)result;
    return false;
}

#endif
