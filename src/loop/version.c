/* SPDX-License-Identifier: MIT */
/* The version, and the inline functions of the headers as symbols. */
#include "jzx/version.h"
#include "jzx/actor.h"
#include "jzx/id.h"

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

const char *jzx_version(void) {
    return TEXT(JZX_VERSION_MAJOR) "." TEXT(JZX_VERSION_MINOR) "." TEXT(JZX_VERSION_PATCH);
}

extern inline uint32_t jzx_id_index(jzx_actor_id id);
extern inline uint32_t jzx_id_generation(jzx_actor_id id);
extern inline jzx_actor_id jzx_make_id(uint32_t generation, uint32_t index);
extern inline uint16_t jzx_place_worker(uint32_t index);
