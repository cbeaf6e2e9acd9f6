/* SPDX-License-Identifier: MIT */
/* Carries a request out by system calls, on a thread that may block. */
#ifndef JZX_FILE_EXECUTE_H
#define JZX_FILE_EXECUTE_H

#include "file/request.h"

/* Sets the outcome. Of a write whose count is not 0 so many bytes are in the file already. */
void jzx__file_execute(struct jzx__file_request *request);

/* ---- for all that carry requests out ---- */

/* The request has failed by that negative errno. */
void jzx__file_fail(struct jzx__file_request *request, int error);

/* Writes all of the parts, which change; *done grows. 0 or the negative errno. */
int jzx__file_write_all(const struct jzx__file_os *os, int fd, struct iovec *parts, uint32_t count,
                        off_t offset, uint64_t *done);

#endif
