/* SPDX-License-Identifier: MIT */
#include "net/unix_file.h"

#include <errno.h>
#include <string.h>

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

/* True if a socket has the name and no process has it open. A socket of another type asks: a
 * listener refuses that with another error and does not see it. connect(2) says ECONNREFUSED of
 * other files, too, and follows links: so the file itself is looked at. */
static bool is_left_behind(const struct jzx__os *os, const struct jzx__unix_file *file,
                           const struct jzx__address *address) {
    struct stat stat;
    if (os->stat_at(file->dir, file->name, &stat) != 0 || !S_ISSOCK(stat.st_mode))
        return false;
    int fd = os->socket(AF_UNIX, SOCK_DGRAM, 0);
    int err = fd < 0 ? fd : os->connect(fd, &address->any, address->size);
    if (fd >= 0)
        (void)os->close(fd);
    return err == -ECONNREFUSED;
}

static int bind_there(const struct jzx__os *os, int fd, const struct jzx__address *address,
                      const struct jzx__unix_file *file) {
    int err = os->bind(fd, &address->any, address->size);
    if (err == -EADDRINUSE && is_left_behind(os, file, address)) {
        (void)os->unlink_at(file->dir, file->name);
        err = os->bind(fd, &address->any, address->size);
    }
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
