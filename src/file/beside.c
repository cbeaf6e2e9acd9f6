/* SPDX-License-Identifier: MIT */
#include "file/beside.h"

#include "base/atomic.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Names that are tried. */
#define TRIES 100u

static _Atomic uint32_t name_count;

int jzx__open_again(const struct jzx__file_os *os, const char *path, int flags, mode_t mode) {
    int fd;
    do {
        fd = os->open(path, flags, mode);
    } while (fd == -EINTR);
    return fd;
}

/* One that nobody has had; path has JZX__PATH_SIZE_MAX bytes. */
static int next_name(const char *folder, char *path) {
    /* relaxed: it is to differ from others, no more */
    uint32_t number = jzx__atomic_add_relaxed(&name_count, 1u);
    int len =
        snprintf(path, JZX__PATH_SIZE_MAX, "%s/.jzx-%ld-%u.tmp", folder, (long)getpid(), number);
    return len < 0 || (size_t)len >= JZX__PATH_SIZE_MAX ? -ENAMETOOLONG : 0;
}

int jzx__open_new(const struct jzx__file_os *os, const char *folder, char *path, mode_t mode) {
    int fd = -EEXIST;
    for (uint32_t i = 0; i < TRIES && fd == -EEXIST; i++) {
        int err = next_name(folder, path);
        fd = err < 0 ? err : jzx__open_again(os, path, O_RDWR | O_CREAT | O_EXCL, mode);
    }
    return fd;
}

int jzx__open_unnamed(const struct jzx__file_os *os, const char *folder, mode_t mode,
                      bool *exists) {
    int fd = jzx__open_again(os, folder, O_RDWR | O_TMPFILE, mode);
    *exists = fd != -EOPNOTSUPP && fd != -EISDIR;
    return fd;
}

/* folder has JZX__PATH_SIZE_MAX bytes. */
static int folder_of(const char *path, char *folder) {
    const char *slash = strrchr(path, '/');
    size_t len = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
    if (len >= JZX__PATH_SIZE_MAX)
        return -ENAMETOOLONG;
    memcpy(folder, path, len);
    folder[len] = '\0';
    if (len == 0)
        memcpy(folder, ".", 2);
    return 0;
}

/* ---- its life ---- */

int jzx__beside_begin(struct jzx__beside *beside, mode_t mode) {
    char folder[JZX__PATH_SIZE_MAX];
    bool exists = false;
    beside->has_name = false;
    beside->cannot_link = false;
    beside->fd = folder_of(beside->target, folder);
    if (beside->fd < 0)
        return beside->fd;
    if (!beside->is_by_name)
        beside->fd = jzx__open_unnamed(beside->os, folder, mode, &exists);
    if (!exists) {
        beside->fd = jzx__open_new(beside->os, folder, beside->path, mode);
        beside->has_name = beside->fd >= 0;
    }
    return beside->fd;
}

/* Without /proc, without the right, or on a file system that cannot. */
static bool cannot_link(int err) {
    switch (err) {
    case -ENOENT:
    case -ENOTDIR:
    case -EPERM:
    case -EACCES:
    case -EXDEV:
    case -EINVAL:
    case -EMLINK:
    case -ELOOP:
    case -ENOSYS:
    case -EOPNOTSUPP: return true;
    default: return false;
    }
}

/* A link replaces nothing: so it has a name of its own first. */
static int give_name(struct jzx__beside *beside) {
    char folder[JZX__PATH_SIZE_MAX];
    int named = folder_of(beside->target, folder);
    int err = -EEXIST;
    for (uint32_t i = 0; i < TRIES && err == -EEXIST; i++) {
        err = named < 0 ? named : next_name(folder, beside->path);
        if (err == 0)
            err = beside->os->link(beside->fd, beside->path);
    }
    beside->has_name = err == 0;
    beside->cannot_link = cannot_link(err);
    return err;
}

int jzx__beside_end(struct jzx__beside *beside, int err) {
    const struct jzx__file_os *os = beside->os;
    if (err == 0 && !beside->has_name)
        err = give_name(beside);
    int closed = os->close(beside->fd);
    if (err == 0 && closed < 0 && closed != -EINTR)
        err = closed; /* an error of a write that came late */
    if (err == 0)
        err = os->rename(beside->path, beside->target);
    if (err < 0 && beside->has_name)
        (void)os->unlink(beside->path);
    return err < 0 ? err : 0;
}

int jzx__folder_sync(const struct jzx__file_os *os, const char *path) {
    char folder[JZX__PATH_SIZE_MAX];
    int err = folder_of(path, folder);
    if (err < 0)
        return err;
    int fd = jzx__open_again(os, folder, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0)
        return fd;
    err = os->sync(fd);
    (void)os->close(fd);
    return err == -EINVAL ? 0 : err; /* a file system that has nothing to sync */
}
