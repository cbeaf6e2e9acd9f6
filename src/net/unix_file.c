/* SPDX-License-Identifier: MIT */
#include "net/unix_file.h"

#include "base/atomic.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Divides the path, "a/b/name", and opens its directory. 0 or the negative errno. */
static int open_dir(const struct jzx__os *os, const char *path, struct jzx__unix_file *file) {
    char dir[sizeof file->name] = ".";
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    if (slash != NULL) {
        memcpy(dir, path, (size_t)(name - path)); /* with its slash, which "/x" needs */
        dir[name - path] = '\0';
    }
    memcpy(file->name, name, strlen(name) + 1);
    file->dir = os->open_dir(dir);
    return file->dir < 0 ? file->dir : 0;
}

/* A socket of another type asks: a listener refuses that with another error and does not see it. */
static bool refuses(const struct jzx__os *os, const struct jzx__address *address) {
    int fd = os->socket(AF_UNIX, SOCK_DGRAM, 0);
    int err = fd < 0 ? fd : os->connect(fd, &address->any, address->size);
    if (fd >= 0)
        (void)os->close(fd);
    return err == -ECONNREFUSED;
}

static bool is_same(const struct stat *one, const struct stat *other) {
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

/* It goes back under its name, unless another has that by now. */
static void put_back(const struct jzx__os *os, const struct jzx__unix_file *file,
                     const char *aside) {
    int err = os->link_at(file->dir, aside, file->name);
    if (err == 0 || err == -EEXIST)
        (void)os->unlink_at(file->dir, aside);
    else
        (void)os->rename_at(file->dir, aside, file->name);
}

/* Removes that file, and no other that another listener has put at the name meanwhile: so it has a
 * name of its own first. */
static bool remove_that(const struct jzx__os *os, const struct jzx__unix_file *file,
                        const struct stat *stale) {
    static _Atomic uint32_t count;
    char aside[48];
    struct stat found;
    /* relaxed: it is to differ from others, no more */
    uint32_t number = jzx__atomic_add_relaxed(&count, 1u);
    snprintf(aside, sizeof aside, ".jzx-%ld-%u.old", (long)getpid(), number);
    if (os->rename_at(file->dir, file->name, aside) != 0)
        return false;
    bool is_it = os->stat_at(file->dir, aside, &found) == 0 && is_same(&found, stale);
    if (is_it)
        (void)os->unlink_at(file->dir, aside);
    else
        put_back(os, file, aside);
    return is_it;
}

/* True if a socket had the name that no process has open, and is removed. connect(2) says
 * ECONNREFUSED of other files, too, and follows links: so the file itself is looked at. It is held,
 * or its successor might have the number of its inode. */
static bool remove_left_behind(const struct jzx__os *os, const struct jzx__unix_file *file,
                               const struct jzx__address *address) {
    struct stat stat;
    int held = os->open_at(file->dir, file->name);
    if (held < 0)
        return false;
    bool is_gone = os->stat_at(held, "", &stat) == 0 && S_ISSOCK(stat.st_mode) &&
                   refuses(os, address) && remove_that(os, file, &stat);
    (void)os->close(held);
    return is_gone;
}

static int bind_there(const struct jzx__os *os, int fd, const struct jzx__address *address,
                      const struct jzx__unix_file *file) {
    int err = os->bind(fd, &address->any, address->size);
    if (err == -EADDRINUSE && remove_left_behind(os, file, address))
        err = os->bind(fd, &address->any, address->size);
    return err;
}

/* Looks at the file that the bind has made. */
static int note_file(const struct jzx__os *os, struct jzx__unix_file *file, struct stat *stat) {
    int err = os->stat_at(file->dir, file->name, stat);
    if (err < 0)
        (void)os->unlink_at(file->dir, file->name);
    else if (!S_ISSOCK(stat->st_mode))
        err = -EADDRINUSE; /* somebody has replaced it */
    file->device = stat->st_dev;
    file->inode = stat->st_ino;
    return err;
}

/* The file has the mode of the socket, less the umask: what that has taken is given back. A system
 * that does not set the mode of a socket makes a file as the umask says. */
int jzx__unix_file_bind(const struct jzx__os *os, int fd, const struct jzx__address *address,
                        mode_t mode, struct jzx__unix_file *file) {
    struct stat stat = {.st_mode = 0};
    int err = open_dir(os, address->local.sun_path, file);
    if (err < 0)
        return err;
    if (mode != 0)
        (void)os->chmod(fd, mode);
    err = bind_there(os, fd, address, file);
    if (err == 0)
        err = note_file(os, file, &stat);
    if (err < 0) {
        (void)os->close(file->dir);
        return err;
    }
    if (mode != 0 && (stat.st_mode & 07777) != mode)
        err = os->chmod_at(file->dir, file->name, &stat, mode);
    if (err < 0)
        jzx__unix_file_remove(os, file);
    return err;
}

void jzx__unix_file_remove(const struct jzx__os *os, const struct jzx__unix_file *file) {
    struct stat stat;
    if (os->stat_at(file->dir, file->name, &stat) == 0 && stat.st_dev == file->device &&
        stat.st_ino == file->inode)
        (void)os->unlink_at(file->dir, file->name);
    (void)os->close(file->dir);
}
