/* SPDX-License-Identifier: MIT */
/* Requests on open files, as system calls. */
#include "file/execute.h"

#include "base/os_error.h"
#include "file/await.h"
#include "file/execute_path.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

void jzx__file_fail(struct jzx__file_request *request, int error) {
    request->os_error = -error;
    request->err = jzx__os_error_status(-error);
}

/* ---- bytes ---- */

static ssize_t read_some(const struct jzx__file_request *request) {
    off_t offset = request->offset == JZX_FILE_HERE ? -1 : (off_t)request->offset;
    ssize_t got;
    do {
        got =
            request->os->readv(request->file->fd, request->parts, (int)request->part_count, offset);
    } while (got == -EINTR);
    return got;
}

/* With an offset a file that is no regular one is refused, as is one that cannot be read, and
 * nobody waits. */
static bool may_wait(const struct jzx__file_request *request) {
    const struct jzx__file *file = request->file;
    return !file->is_regular && file->is_readable && request->offset == JZX_FILE_HERE;
}

static void do_read(struct jzx__file_request *request) {
    int err = may_wait(request) ? jzx__file_await(request) : 0;
    if (err == -ECANCELED) {
        request->err = JZX_ERR_CANCELLED; /* no error of the system */
        return;
    }
    ssize_t got = err < 0 ? err : read_some(request);
    if (got < 0)
        jzx__file_fail(request, (int)got);
    else if (got == 0)
        request->err = JZX_ERR_END;
    else
        request->count = (uint64_t)got;
}

/* The first so many bytes are done. */
static void skip(struct iovec **parts, uint32_t *count, size_t done) {
    while (*count != 0 && done >= (*parts)->iov_len) {
        done -= (*parts)->iov_len;
        (*parts)++;
        (*count)--;
    }
    if (*count != 0) {
        (*parts)->iov_base = (char *)(*parts)->iov_base + done;
        (*parts)->iov_len -= done;
    }
}

int jzx__file_write_all(const struct jzx__file_os *os, int fd, struct iovec *parts, uint32_t count,
                        off_t offset, uint64_t *done) {
    skip(&parts, &count, 0);
    while (count != 0) {
        ssize_t put = os->writev(fd, parts, (int)count, offset);
        if (put == -EINTR)
            continue;
        if (put <= 0)
            return put == 0 ? -EIO : (int)put; /* 0: it would never end */
        *done += (uint64_t)put;
        offset = offset < 0 ? offset : offset + (off_t)put;
        skip(&parts, &count, (size_t)put);
    }
    return 0;
}

static void do_write(struct jzx__file_request *request) {
    struct iovec parts[JZX_FILE_PARTS_MAX];
    off_t offset = request->offset == JZX_FILE_HERE ? -1 : (off_t)request->offset;
    struct iovec *first = parts;
    uint32_t count = request->part_count;
    memcpy(parts, request->parts, count * sizeof(*parts));
    skip(&first, &count, (size_t)request->count); /* another back end may have begun */
    offset = offset < 0 ? offset : offset + (off_t)request->count;
    int err =
        jzx__file_write_all(request->os, request->file->fd, first, count, offset, &request->count);
    if (err < 0)
        jzx__file_fail(request, err);
}

/* ---- the rest ---- */

static void do_open(struct jzx__file_request *request) {
    int fd;
    do {
        fd = request->os->open(request->path, request->flags, request->mode);
    } while (fd == -EINTR);
    request->fd = fd;
    if (fd < 0)
        jzx__file_fail(request, fd);
}

static int sync_or_size(const struct jzx__file_request *request) {
    const struct jzx__file_os *os = request->os;
    int fd = request->file->fd;
    switch (request->what) {
    case JZX__FILE_DO_SYNC: return request->len != 0 ? os->sync_data(fd) : os->sync(fd);
    case JZX__FILE_DO_ALLOCATE:
        return os->allocate(fd, (off_t)request->offset, (off_t)request->len);
    default: return os->truncate(fd, (off_t)request->len);
    }
}

static void do_sync_or_size(struct jzx__file_request *request) {
    int err;
    do {
        err = sync_or_size(request);
    } while (err == -EINTR);
    if (err < 0)
        jzx__file_fail(request, err);
}

static int64_t ns_of(struct timespec time) {
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static uint32_t kind_of(mode_t mode) {
    return S_ISREG(mode)   ? JZX_FILE_REGULAR
           : S_ISDIR(mode) ? JZX_FILE_FOLDER
           : S_ISLNK(mode) ? JZX_FILE_LINK
                           : JZX_FILE_OTHER;
}

static void do_stat(struct jzx__file_request *request) {
    struct stat stat;
    int err = request->what == JZX__FILE_DO_STAT ? request->os->stat(request->file->fd, &stat)
                                                 : request->os->stat_path(request->path, &stat);
    if (err < 0) {
        jzx__file_fail(request, err);
        return;
    }
    const jzx_file_info info = {.bytes = (uint64_t)stat.st_size,
                                .allocated = (uint64_t)stat.st_blocks * 512,
                                .modified_ns = ns_of(stat.st_mtim),
                                .accessed_ns = ns_of(stat.st_atim),
                                .changed_ns = ns_of(stat.st_ctim),
                                .device = stat.st_dev,
                                .inode = stat.st_ino,
                                .kind = kind_of(stat.st_mode),
                                .mode = stat.st_mode & 07777u,
                                .user = stat.st_uid,
                                .group = stat.st_gid,
                                .links = (uint32_t)stat.st_nlink};
    memcpy(request->data, &info, sizeof info);
    request->count = sizeof info;
}

void jzx__file_execute(struct jzx__file_request *request) {
    static void (*const functions[JZX__FILE_DO_COUNT])(struct jzx__file_request * request) = {
        [JZX__FILE_DO_OPEN] = do_open,
        [JZX__FILE_DO_TEMPORARY] = jzx__file_execute_path,
        [JZX__FILE_DO_READ] = do_read,
        [JZX__FILE_DO_WRITE] = do_write,
        [JZX__FILE_DO_SYNC] = do_sync_or_size,
        [JZX__FILE_DO_ALLOCATE] = do_sync_or_size,
        [JZX__FILE_DO_TRUNCATE] = do_sync_or_size,
        [JZX__FILE_DO_STAT] = do_stat,
        [JZX__FILE_DO_STAT_PATH] = do_stat,
        [JZX__FILE_DO_RENAME] = jzx__file_execute_path,
        [JZX__FILE_DO_REMOVE] = jzx__file_execute_path,
        [JZX__FILE_DO_MKDIR] = jzx__file_execute_path,
        [JZX__FILE_DO_LIST] = jzx__file_execute_path,
        [JZX__FILE_DO_COPY] = jzx__file_execute_path,
        [JZX__FILE_DO_REPLACE] = jzx__file_execute_path,
    };
    request->err = JZX_OK;
    request->os_error = 0;
    request->fd = -1;
    functions[request->what](request);
}
