/* SPDX-License-Identifier: MIT */
/* How a request on a file is said to io_uring, and what its answer means. Without io_uring nothing
 * can be said: an empty module. */
#ifndef JZX_FILE_URING_ENTRY_H
#define JZX_FILE_URING_ENTRY_H

#include "file/request.h"
#include "io/ring.h"

/* Bytes that io_uring_enter may copy on the spot (uring/U6). */
#define JZX__URING_INLINE_MAX 131072u

/* Large enough for a submission, also where the kernel's header is missing. */
struct jzx__uring_entry {
    _Alignas(8) unsigned char bytes[64];
};

static inline const struct io_uring_sqe *jzx__uring_sqe(const struct jzx__uring_entry *entry) {
    return (const void *)entry->bytes;
}

/* False if the request is for the pool: the kernel has no opcode for it, or uring/U5 says so. */
bool jzx__uring_fill(struct jzx__uring_entry *entry, const struct jzx__ring *ring,
                     struct jzx__file_request *request, uint64_t key);

/* Of the request with that key. Its own completion has the key 0. */
void jzx__uring_fill_cancel(struct jzx__uring_entry *entry, uint64_t key);

/* True if the kernel was made to stop before it had done anything. */
bool jzx__uring_is_interrupted(int32_t result);

/* The kernel has answered: sets the outcome. False if the pool has to do the request, or the rest
 * of it (uring/U2): then count says how many bytes are written. */
bool jzx__uring_settle(struct jzx__file_request *request, int32_t result);

#endif
