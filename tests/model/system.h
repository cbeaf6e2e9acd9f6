/* SPDX-License-Identifier: MIT */
/* The system calls of src/base/parker.c, which the model build compiles with each name defined as
 * one of these. */
#ifndef MODEL_SYSTEM_H
#define MODEL_SYSTEM_H

#include <stddef.h>
#include <sys/types.h>

int model_eventfd(unsigned initial, int flags);
ssize_t model_write(int fd, const void *buffer, size_t size);
ssize_t model_read(int fd, void *buffer, size_t size);
int model_close(int fd);

/* An execution begins. */
void model_fds_reset(void);

#endif
