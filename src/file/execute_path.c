/* SPDX-License-Identifier: MIT */
/* Requests on names, as system calls. What is to appear whole is written to a file beside it first
 * (beside.h); on any error that one is removed. */
#include "file/execute_path.h"

#include "file/beside.h"
#include "file/execute.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define COPY_AT_ONCE ((size_t)1 << 30)
#define BUFFER_SIZE 65536u

/* As struct linux_dirent64 of getdents64(2). */
struct entry {
    uint64_t inode;
    int64_t offset;
    uint16_t size;
    uint8_t type;
    char name[];
};

#define TYPE_FOLDER 4u

/* ---- replacing ---- */

/* Of the file to come, while it is written: less than it will allow at last (beside/W1). */
static mode_t mode_meanwhile(uint32_t mode) {
    return mode & 0600;
}

/* The mode of that file for another one. Set-id bits lend the rights of an owner: they are kept for
 * the same owner and group only. Negative: an errno. */
static int mode_as(const struct jzx__file_os *os, const struct stat *model, int fd) {
    struct stat made;
    mode_t mode = model->st_mode & 07777;
    if ((mode & 07000) == 0)
        return (int)mode;
    int err = os->stat(fd, &made);
    if (err < 0)
        return err;
    bool is_same_owner = made.st_uid == model->st_uid && made.st_gid == model->st_gid;
    return (int)(is_same_owner ? mode : mode & 0777);
}

static int set_mode_as(const struct jzx__file_os *os, const struct stat *model, int fd) {
    int mode = mode_as(os, model, fd);
    return mode < 0 ? mode : os->set_mode(fd, (mode_t)mode);
}

static int replace_by(struct jzx__file_request *request, struct jzx__beside *beside) {
    const struct jzx__file_os *os = request->os;
    struct stat before;
    struct iovec part = request->part;
    uint32_t mode = request->mode;
    bool is_given = mode != 0;
    bool has_model =
        !is_given && os->stat_path(request->path, &before) == 0 && S_ISREG(before.st_mode);
    if (has_model)
        mode = before.st_mode;
    request->count = 0;
    int fd = jzx__beside_begin(beside, is_given || has_model ? mode_meanwhile(mode) : 0666);
    if (fd < 0)
        return fd;
    int err = jzx__file_write_all(os, fd, &part, 1, -1, &request->count);
    if (err == 0 && is_given)
        err = os->set_mode(fd, mode);
    if (err == 0 && has_model)
        err = set_mode_as(os, &before, fd);
    if (err == 0)
        err = os->sync(fd);
    return jzx__beside_end(beside, err);
}

static int replace(struct jzx__file_request *request) {
    struct jzx__beside beside = {.os = request->os, .target = request->path};
    int err = replace_by(request, &beside);
    if (beside.cannot_link) {
        beside.is_by_name = true;
        err = replace_by(request, &beside);
    }
    return err < 0 ? err : jzx__folder_sync(request->os, request->path);
}

/* ---- copies ---- */

/* Where the system cannot copy by itself. */
static int copy_by_hand(const struct jzx__file_os *os, int from, int to, uint64_t *count) {
    char buffer[BUFFER_SIZE]; /* on a thread of the pool, whose stack is the system's default */
    int err = 0;
    while (err == 0) {
        struct iovec part = {buffer, BUFFER_SIZE};
        ssize_t got = os->readv(from, &part, 1, -1);
        if (got == -EINTR)
            continue;
        if (got <= 0) {
            err = (int)got;
            break;
        }
        part.iov_len = (size_t)got;
        err = jzx__file_write_all(os, to, &part, 1, -1, count);
    }
    return err;
}

static bool cannot_copy(ssize_t err) {
    return err == -EXDEV || err == -EINVAL || err == -ENOSYS || err == -EOPNOTSUPP;
}

/* Some file systems (of /proc, for instance) say 0 though there is something: so by hand it is
 * tried last in every case. */
static int copy_all(const struct jzx__file_os *os, int from, int to, uint64_t *count) {
    ssize_t done;
    do {
        done = os->copy_range(from, to, COPY_AT_ONCE);
        *count += done > 0 ? (uint64_t)done : 0;
    } while (done > 0 || done == -EINTR);
    return done == 0 || cannot_copy(done) ? copy_by_hand(os, from, to, count) : (int)done;
}

static int copy_open(struct jzx__file_request *request, int from, struct jzx__beside *beside) {
    const struct jzx__file_os *os = request->os;
    struct stat stat;
    int err = os->stat(from, &stat);
    if (err < 0)
        return err;
    if (!S_ISREG(stat.st_mode))
        return -EINVAL;
    int to = jzx__beside_begin(beside, mode_meanwhile(stat.st_mode));
    if (to < 0)
        return to;
    err = copy_all(os, from, to, &request->count);
    if (err == 0)
        err = set_mode_as(os, &stat, to);
    return jzx__beside_end(beside, err);
}

static int copy_by(struct jzx__file_request *request, struct jzx__beside *beside) {
    request->count = 0;
    /* NONBLOCK: a pipe without a writer would never open; it is refused above. */
    int from = jzx__open_again(request->os, request->path, O_RDONLY | O_NONBLOCK, 0);
    if (from < 0)
        return from;
    int err = copy_open(request, from, beside);
    (void)request->os->close(from);
    return err;
}

static int copy(struct jzx__file_request *request) {
    struct jzx__beside beside = {.os = request->os, .target = request->other};
    int err = copy_by(request, &beside);
    if (beside.cannot_link) {
        beside.is_by_name = true;
        err = copy_by(request, &beside);
    }
    return err;
}

/* ---- folders ---- */

static bool is_listed(const struct entry *entry) {
    return strcmp(entry->name, ".") != 0 && strcmp(entry->name, "..") != 0;
}

/* Appends the names of some entries. */
static bool add_names(struct jzx__file_request *request, const char *buffer, size_t size) {
    for (size_t at = 0; at < size;) {
        const struct entry *entry = (const void *)(buffer + at);
        size_t len = strlen(entry->name);
        size_t need = len + 1 + (entry->type == TYPE_FOLDER);
        at += entry->size;
        if (!is_listed(entry))
            continue;
        if (need > request->capacity - request->count)
            return false;
        char *place = (char *)request->data + request->count;
        memcpy(place, entry->name, len);
        if (entry->type == TYPE_FOLDER)
            place[len++] = '/';
        place[len] = '\0';
        request->count += need;
    }
    return true;
}

static void list(struct jzx__file_request *request) {
    _Alignas(struct entry) char buffer[8192];
    ssize_t got;
    int fd = jzx__open_again(request->os, request->path, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0) {
        jzx__file_fail(request, fd);
        return;
    }
    do {
        got = request->os->entries(fd, buffer, sizeof buffer);
        if (got > 0 && !add_names(request, buffer, (size_t)got))
            request->err = JZX_ERR_TOO_LONG;
    } while ((got > 0 || got == -EINTR) && request->err == JZX_OK);
    if (got < 0)
        jzx__file_fail(request, (int)got);
    if (request->err != JZX_OK)
        request->count = 0;
    (void)request->os->close(fd);
}

/* Most files: so that is tried first. A folder is EISDIR here, EPERM on other systems. */
static int remove_any(const struct jzx__file_request *request) {
    int err = request->os->unlink(request->path);
    return err == -EISDIR || err == -EPERM ? request->os->rmdir(request->path) : err;
}

/* ---- files without a name ---- */

static int open_temporary(const struct jzx__file_request *request) {
    const struct jzx__file_os *os = request->os;
    char path[JZX__PATH_SIZE_MAX];
    bool exists;
    int fd = jzx__open_unnamed(os, request->path, 0600, &exists);
    if (exists)
        return fd;
    /* A file system without such files: it has a name for a moment. */
    fd = jzx__open_new(os, request->path, path, 0600);
    int err = fd < 0 ? fd : os->unlink(path);
    if (err < 0 && fd >= 0)
        (void)os->close(fd);
    return err < 0 ? err : fd;
}

static int execute(struct jzx__file_request *request) {
    const struct jzx__file_os *os = request->os;
    switch (request->what) {
    case JZX__FILE_DO_RENAME: return os->rename(request->path, request->other);
    case JZX__FILE_DO_REMOVE: return remove_any(request);
    case JZX__FILE_DO_MKDIR: return os->mkdir(request->path, request->mode);
    case JZX__FILE_DO_COPY: return copy(request);
    case JZX__FILE_DO_REPLACE: return replace(request);
    default: return request->fd = open_temporary(request);
    }
}

void jzx__file_execute_path(struct jzx__file_request *request) {
    if (request->what == JZX__FILE_DO_LIST) {
        list(request);
        return;
    }
    int err = execute(request);
    if (err < 0)
        jzx__file_fail(request, err);
}
