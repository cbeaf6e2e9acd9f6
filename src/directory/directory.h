/* SPDX-License-Identifier: MIT */
/* What a loop keeps of names and groups. */
#ifndef JZX_DIRECTORY_DIRECTORY_H
#define JZX_DIRECTORY_DIRECTORY_H

#include "actor/loop.h"
#include "directory/groups.h"
#include "directory/registry.h"

struct jzx__directory {
    struct jzx__registry registry;
    struct jzx__groups groups;
};

static inline struct jzx__directory *jzx__directory_of(const struct jzx_loop *loop) {
    return loop->parts[JZX__PART_DIRECTORY];
}

static inline struct jzx__registry *jzx__registry_of(const struct jzx_loop *loop) {
    return &jzx__directory_of(loop)->registry;
}

static inline struct jzx__groups *jzx__groups_of(const struct jzx_loop *loop) {
    return &jzx__directory_of(loop)->groups;
}

#endif
