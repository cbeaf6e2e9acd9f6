/* SPDX-License-Identifier: MIT */
/* From the errno of a failed system call to a status of the library. */
#ifndef JZX_BASE_OS_ERROR_H
#define JZX_BASE_OS_ERROR_H

#include "jzx/error.h"

/* error is positive. JZX_ERR_IO where the library has no name of its own for it. */
jzx_err jzx__os_error_status(int error);

#endif
