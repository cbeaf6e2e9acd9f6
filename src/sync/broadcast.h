/* SPDX-License-Identifier: MIT */
/* A broadcast: the last values that were published, by number, and those that wait for one that is
 * not there yet. A value is read in the reader's own code and stays where it is, so that a wait
 * that ends otherwise has consumed nothing. */
#ifndef JZX_SYNC_BROADCAST_H
#define JZX_SYNC_BROADCAST_H

#include "sync/object.h"

struct jzx__broadcast {
    struct jzx__object object; /* first */
    struct jzx__lock lock;
    struct jzx__source source; /* slots are uint64_t: the number of the value that is waited for */
    _Atomic uint32_t refs;     /* of parties that wait, and have not read yet (waiter/A11) */

    /* Under the lock, but for what never changes. */
    unsigned char *ring;
    size_t keep; /* never changes, as the next */
    size_t value_size;
    uint64_t count; /* values that were published: the number of the next one */
    bool is_closed;
    jzx_allocator allocator;
};

static inline struct jzx__broadcast *jzx__broadcast_of(const void *storage) {
    return jzx__object_of(storage, JZX__SYNC_BROADCAST);
}

/* JZX_ERR_TIMEOUT: there is nothing now. */
jzx_err jzx__broadcast_read_now(struct jzx__broadcast *broadcast, jzx_reader *reader, void *value);

#endif
