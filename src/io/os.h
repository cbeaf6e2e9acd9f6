/* SPDX-License-Identifier: MIT */
/* The system calls of the I/O layer, in one table: no file of this folder makes one by itself. A
 * test puts its own table in place of this one and lets any call fail at any use; a simulated
 * network will do the same.
 *
 * Each function returns what the call returns, or the negative errno. Descriptors are made
 * close-on-exec and do not block. */
#ifndef JZX_IO_OS_H
#define JZX_IO_OS_H

#include <signal.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/types.h>

struct jzx__os {
    int (*epoll_create)(void);
    int (*epoll_ctl)(int epoll, int op, int fd, struct epoll_event *event);
    /* Waits for at most timeout_ns; JZX_NEVER: for ever. */
    int (*epoll_wait)(int epoll, struct epoll_event *events, int count_max, uint64_t timeout_ns);
    int (*eventfd)(void);
    int (*signalfd)(const sigset_t *signals);
    ssize_t (*read)(int fd, void *buffer, size_t size);
    ssize_t (*write)(int fd, const void *buffer, size_t size);
    int (*close)(int fd);
};

/* Linux. */
extern const struct jzx__os jzx__os_system;

#endif
