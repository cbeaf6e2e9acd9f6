/* SPDX-License-Identifier: MIT */
/* The system calls on files, in one table: no other file of this folder makes one by itself. A test
 * puts its own table in place of this one and lets any call fail at any use.
 *
 * Each function returns what the call returns, or the negative errno. Descriptors are made
 * close-on-exec. */
#ifndef JZX_FILE_OS_H
#define JZX_FILE_OS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

struct jzx__file_os {
    int (*open)(const char *path, int flags, mode_t mode);
    int (*close)(int fd);
    /* At that offset; -1: at the position of the file. */
    ssize_t (*readv)(int fd, const struct iovec *parts, int count, off_t offset);
    /* Waits until one of them can be read, or is at its end. */
    int (*await)(int fd, int event);
    ssize_t (*writev)(int fd, const struct iovec *parts, int count, off_t offset);
    int (*sync)(int fd);
    int (*sync_data)(int fd);
    int (*allocate)(int fd, off_t offset, off_t len);
    int (*truncate)(int fd, off_t len);
    int (*stat)(int fd, struct stat *stat);
    int (*stat_path)(const char *path, struct stat *stat); /* a link itself */
    int (*set_mode)(int fd, mode_t mode);
    int (*rename)(const char *from, const char *to);
    int (*link)(int fd, const char *path); /* names a file that has no name */
    int (*unlink)(const char *path);
    int (*rmdir)(const char *path);
    int (*mkdir)(const char *path, mode_t mode);
    /* Entries as the system has them (struct dirent64); 0 at the end. */
    ssize_t (*entries)(int fd, void *buffer, size_t size);
    ssize_t (*copy_range)(int from, int to, size_t len); /* both positions move */
    /* True if files may have a limited size only: a write beyond it raises SIGXFSZ, but on threads
     * that have it blocked. */
    bool (*has_size_limit)(void);
};

/* Linux. */
extern const struct jzx__file_os jzx__file_os_system;

#endif
