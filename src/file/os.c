/* SPDX-License-Identifier: MIT */
/* The table of system calls on files, for Linux. */
#include "file/os.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static int checked(int result) {
    return result < 0 ? -errno : result;
}

static ssize_t checked_size(ssize_t result) {
    return result < 0 ? -errno : result;
}

static int open_path(const char *path, int flags, mode_t mode) {
    return checked(open(path, flags | O_CLOEXEC, mode));
}

static int close_fd(int fd) {
    return checked(close(fd));
}

static ssize_t read_parts(int fd, const struct iovec *parts, int count, off_t offset) {
    return checked_size(offset < 0 ? readv(fd, parts, count) : preadv(fd, parts, count, offset));
}

static int await_either(int fd, int event) {
    struct pollfd both[2] = {{.fd = fd, .events = POLLIN}, {.fd = event, .events = POLLIN}};
    return checked(poll(both, 2, -1));
}

static ssize_t write_parts(int fd, const struct iovec *parts, int count, off_t offset) {
    return checked_size(offset < 0 ? writev(fd, parts, count) : pwritev(fd, parts, count, offset));
}

static int sync_fd(int fd) {
    return checked(fsync(fd));
}

static int sync_data(int fd) {
    return checked(fdatasync(fd));
}

static int allocate(int fd, off_t offset, off_t len) {
    return checked(fallocate(fd, 0, offset, len));
}

static int truncate_fd(int fd, off_t len) {
    return checked(ftruncate(fd, len));
}

static int stat_fd(int fd, struct stat *stat) {
    return checked(fstat(fd, stat));
}

static int stat_path(const char *path, struct stat *stat) {
    return checked(lstat(path, stat));
}

static int set_mode(int fd, mode_t mode) {
    return checked(fchmod(fd, mode));
}

static int rename_path(const char *from, const char *to) {
    return checked(rename(from, to));
}

/* By the link that the system has for the descriptor: to name the descriptor itself takes more
 * rights. */
static int link_unnamed(int fd, const char *path) {
    char name[32];
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    return checked(linkat(AT_FDCWD, name, AT_FDCWD, path, AT_SYMLINK_FOLLOW));
}

static int unlink_path(const char *path) {
    return checked(unlink(path));
}

static int remove_folder(const char *path) {
    return checked(rmdir(path));
}

static int make_folder(const char *path, mode_t mode) {
    return checked(mkdir(path, mode));
}

/* By number, as the libraries have it only since lately. */
static ssize_t read_entries(int fd, void *buffer, size_t size) {
    return checked_size((ssize_t)syscall(SYS_getdents64, fd, buffer, size));
}

static ssize_t copy_range(int from, int to, size_t len) {
    return checked_size(copy_file_range(from, NULL, to, NULL, len, 0));
}

static bool has_size_limit(void) {
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
}

const struct jzx__file_os jzx__file_os_system = {
    .open = open_path,
    .close = close_fd,
    .readv = read_parts,
    .await = await_either,
    .writev = write_parts,
    .sync = sync_fd,
    .sync_data = sync_data,
    .allocate = allocate,
    .truncate = truncate_fd,
    .stat = stat_fd,
    .stat_path = stat_path,
    .set_mode = set_mode,
    .rename = rename_path,
    .link = link_unnamed,
    .unlink = unlink_path,
    .rmdir = remove_folder,
    .mkdir = make_folder,
    .entries = read_entries,
    .copy_range = copy_range,
    .has_size_limit = has_size_limit,
};
