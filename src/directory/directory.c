/* SPDX-License-Identifier: MIT */
/* The part of names and groups (actor/part.h). */
#include "directory/directory.h"

#include "actor/part.h"
#include "base/alloc.h"

#include <string.h>

static bool open_directory(struct jzx_loop *loop, const jzx_config *config) {
    const jzx_allocator *allocator = &loop->sched.allocator;
    struct jzx__directory *directory =
        jzx__alloc_aligned(allocator, sizeof *directory, _Alignof(struct jzx__directory));
    if (directory == NULL)
        return false;
    memset(directory, 0, sizeof *directory);
    jzx__registry_init(&directory->registry, &loop->table, allocator);
    jzx__groups_init(&directory->groups, config, allocator);
    loop->parts[JZX__PART_DIRECTORY] = directory;
    return true;
}

static void close_directory(struct jzx_loop *loop) {
    struct jzx__directory *directory = jzx__directory_of(loop);
    jzx__groups_deinit(&directory->groups);
    jzx__registry_deinit(&directory->registry);
    jzx__free_aligned(&loop->sched.allocator, directory, sizeof *directory,
                      _Alignof(struct jzx__directory));
    loop->parts[JZX__PART_DIRECTORY] = NULL;
}

const struct jzx__part_ops jzx__part_directory = {
    .open = open_directory, .close = close_directory, .leave = jzx__groups_leave_all};
