/* SPDX-License-Identifier: MIT */
#include "base/os_error.h"

#include <errno.h>

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
