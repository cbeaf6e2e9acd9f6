/* SPDX-License-Identifier: MIT */
/* What gate, wait group and barrier are made of: one source, and a wait at it. */
#ifndef JZX_SYNC_SIGNAL_H
#define JZX_SYNC_SIGNAL_H

#include "sync/object.h"

/* The first member of each of them. */
struct jzx__signal {
    struct jzx__object object; /* first */
    struct jzx__lock lock;
    struct jzx__source source;
    _Atomic uint32_t refs; /* of parties that wait (waiter/A11) */
};

#define JZX__SIGNAL_REFS_AT JZX__REFS_AT(struct jzx__signal, source, refs)

jzx_err jzx__signal_init(struct jzx__signal *signal, struct jzx_loop *loop,
                         enum jzx__object_type type, const struct jzx__source_ops *ops);

/* ops have JZX__SIGNAL_REFS_AT. JZX_ERR_BUSY while a party has a reference; signal is NULL for a
 * wrong object. */
jzx_err jzx__signal_deinit(struct jzx__signal *signal);

/* Waits; signal is NULL for a wrong object. call: its public name. */
jzx_err jzx__signal_await_fiber(jzx_context *ctx, struct jzx__signal *signal, const char *call,
                                uint64_t deadline_ns);
jzx_err jzx__signal_await_thread(struct jzx__signal *signal, const char *call,
                                 uint64_t deadline_ns);

jzx_err jzx__signal_await_to(const jzx_context *ctx, struct jzx__signal *signal, uint32_t tag,
                             jzx_op *op);

#endif
