/* SPDX-License-Identifier: MIT */
/* Actor ids: a slot index and the generation of that slot. A stale id never reaches a newer
 * actor. */
#ifndef JZX_ID_H
#define JZX_ID_H

#include "jzx/api.h"

#include <stdint.h>

/* Bits 0-31: slot index. Bits 32-63: generation, which starts at 1. */
typedef uint64_t jzx_actor_id;

/* No actor: the sender of a message that nobody sent, and never a valid target. */
#define JZX_NOBODY ((jzx_actor_id)0)

JZX_BEGIN_C

/* These are also symbols of the library, for languages that cannot use inline functions. */
JZX_API inline uint32_t jzx_id_index(jzx_actor_id id) {
    return (uint32_t)id;
}

JZX_API inline uint32_t jzx_id_generation(jzx_actor_id id) {
    return (uint32_t)(id >> 32);
}

JZX_API inline jzx_actor_id jzx_make_id(uint32_t generation, uint32_t index) {
    return (jzx_actor_id)generation << 32 | index;
}

JZX_END_C

#endif
