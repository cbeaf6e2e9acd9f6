/* SPDX-License-Identifier: MIT */
/* What a step says: its status and its commands. */
#ifndef JZX_PROCESS_OUT_H
#define JZX_PROCESS_OUT_H

#include "process/process.h"

/* A copy of len bytes; NULL without memory. */
struct jzx__parcel *jzx__parcel_make(const jzx_allocator *allocator, const void *data, size_t len);
void jzx__parcel_free(struct jzx__parcel *parcel); /* NULL is fine */

static inline struct jzx__yield *jzx__out_at(struct jzx_step_out *out, uint32_t index) {
    return index < JZX__YIELDS_INLINE ? &out->yields[index]
                                      : &out->more[index - JZX__YIELDS_INLINE];
}

static inline const void *jzx__yield_arg(const struct jzx__yield *yield) {
    return yield->block != NULL ? yield->block : yield->bytes;
}

/* Arguments of up to so many bytes have blocks of this size, of which a process keeps a few for its
 * next commands: so a steady stream of commands allocates nothing. */
#define JZX__ARG_POOLED 512u
#define JZX__ARG_SPARES_MAX 16u

/* The argument is not needed any more. */
void jzx__yield_drop(struct jzx_step_out *out, struct jzx__yield *yield);

/* Before a step: nothing is said yet. Commands that could not begin stay (P4 of process.h). */
void jzx__out_reset(struct jzx_step_out *out);

/* Frees all that it has. */
void jzx__out_deinit(struct jzx_step_out *out);

#endif
