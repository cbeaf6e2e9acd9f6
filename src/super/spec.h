/* SPDX-License-Identifier: MIT */
/* What supervisors are made from: checked, copied with all that it points to, and with its defaults
 * filled in. */
#ifndef JZX_SUPER_SPEC_H
#define JZX_SUPER_SPEC_H

#include "jzx/supervisor.h"

/* How many supervisors may stand below one another. */
#define JZX__SUPER_DEPTH_MAX 64u

#define JZX__INTENSITY_MAX 65535u

/* A copy in one block, strings included; each supervisor below is a block of its own. */
struct jzx__spec {
    jzx_supervisor_opts opts;
    size_t size_bytes;
    jzx_child_spec children[];
};

/* The child of that number, in full: the caller's struct may be smaller. Of checked options. */
jzx_child_spec jzx__spec_child(const jzx_supervisor_opts *opts, size_t index);

/* The first wrong field of a child, or NULL. */
const char *jzx__spec_wrong_child(const jzx_child_spec *child, unsigned depth);

/* True if a child is significant, and its supervisor does not mind. */
bool jzx__spec_is_in_vain(const jzx_supervisor_opts *opts, const jzx_child_spec *child);

/* True if every place in a tree is one that a loop with so many workers has. Of valid options. */
bool jzx__spec_has_places(const jzx_supervisor_opts *opts, uint32_t workers);

/* Of valid options, perhaps of an older program. NULL without memory. */
struct jzx__spec *jzx__spec_copy(const jzx_allocator *allocator, const jzx_supervisor_opts *opts);
void jzx__spec_free(const jzx_allocator *allocator, struct jzx__spec *spec);

/* How long the restart after n failures in a row waits, before jitter: at most INT64_MAX. */
uint64_t jzx__backoff_delay_ns(const jzx_backoff *backoff, uint32_t n);

#endif
