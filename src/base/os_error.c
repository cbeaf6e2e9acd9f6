/* SPDX-License-Identifier: MIT */
#include "base/os_error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

jzx_err jzx__os_error_status(int error) {
    switch (error) {
    case ENOMEM:
    case ENOBUFS: return JZX_ERR_NO_MEMORY;
    case EINVAL:
    case EAFNOSUPPORT:
    case EBADF: return JZX_ERR_INVALID_ARG;
    case EEXIST: return JZX_ERR_EXISTS;
    case EBUSY: return JZX_ERR_BUSY;
    case ETIMEDOUT: return JZX_ERR_TIMEOUT;
    case ECANCELED: return JZX_ERR_CANCELLED;
    case EOPNOTSUPP:
    case ENOSYS: return JZX_ERR_UNSUPPORTED;
    case ENOENT:
    case ENXIO:
    case EADDRNOTAVAIL: return JZX_ERR_NOT_FOUND;
    case EACCES:
    case EPERM:
    case EROFS: return JZX_ERR_PERMISSION;
    case ECONNREFUSED: return JZX_ERR_REFUSED;
    case ECONNRESET:
    case ECONNABORTED:
    case EPIPE: return JZX_ERR_RESET;
    case ENETUNREACH:
    case EHOSTUNREACH:
    case ENETDOWN: return JZX_ERR_UNREACHABLE;
    case EADDRINUSE: return JZX_ERR_ADDRESS_IN_USE;
    case EMFILE:
    case ENFILE: return JZX_ERR_NO_DESCRIPTORS;
    case ENOSPC:
    case EDQUOT:
    case EFBIG: return JZX_ERR_NO_SPACE;
    case EMSGSIZE:
    case ENAMETOOLONG: return JZX_ERR_TOO_LONG;
    default: return JZX_ERR_IO;
    }
}

/* strerror_r returns its text in one C library, and a status in another. */
static const char *text_returned(const char *text, const char *buffer) {
    (void)buffer;
    return text;
}

static const char *text_written(int failed, const char *buffer) {
    return failed == 0 ? buffer : "unknown error";
}

void jzx__os_error_text(int error, char *text, size_t size) {
    char buffer[64] = "";
    const char *name = _Generic(strerror_r(error, buffer, sizeof buffer), char *
                                : text_returned, int
                                : text_written)(strerror_r(error, buffer, sizeof buffer), buffer);
    snprintf(text, size, "%s (errno %d)", name, error);
}
