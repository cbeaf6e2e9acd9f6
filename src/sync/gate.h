/* SPDX-License-Identifier: MIT */
/* The gate. */
#ifndef JZX_SYNC_GATE_H
#define JZX_SYNC_GATE_H

#include "sync/signal.h"

struct jzx__gate {
    struct jzx__signal signal; /* first */
    bool is_open;              /* under its lock */
};

/* NULL: it is none. */
static inline struct jzx__gate *jzx__gate_of(const void *storage) {
    return jzx__object_of(storage, JZX__SYNC_GATE);
}

#endif
