/* SPDX-License-Identifier: MIT */
/* From the errno of a failed system call to a status of the library. */
#ifndef JZX_BASE_OS_ERROR_H
#define JZX_BASE_OS_ERROR_H

#include "jzx/error.h"

#include <stddef.h>

/* Bytes that hold every text of the next function. */
#define JZX__OS_ERROR_TEXT_SIZE 96u

/* error is positive. JZX_ERR_IO where the library has no name of its own for it. */
jzx_err jzx__os_error_status(int error);

/* Writes what the system calls that error, with its number: "No such file or directory (errno 2)".
 * Cut to fit; always ended. Any thread. */
void jzx__os_error_text(int error, char *text, size_t size);

#endif
