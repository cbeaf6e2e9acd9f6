/* SPDX-License-Identifier: MIT */
/* What a loop has of files: their table, and the rings of its workers. */
#include "base/alloc.h"
#include "file/await.h"
#include "file/uring.h"

#include <string.h>

static bool open_files(struct jzx_loop *loop, const jzx_config *config) {
    (void)config;
    struct jzx__files *files = jzx__alloc(&loop->sched.allocator, sizeof *files);
    if (files == NULL)
        return false;
    memset(files, 0, sizeof *files);
    files->os = &jzx__file_os_system;
    if (!jzx__urings_open(loop, files)) {
        jzx__free(&loop->sched.allocator, files, sizeof *files);
        return false;
    }
    jzx__lock_init(&files->lock);
    jzx__lock_init(&files->making);
    jzx__lock_init(&files->waits_lock);
    jzx__list_init(&files->waits);
    loop->parts[JZX__PART_FILE] = files;
    return true;
}

/* No operation is under way, and no actor is left: what is open is nobody's. */
static void close_files(struct jzx_loop *loop) {
    struct jzx__files *files = jzx__files_of(loop);
    const jzx_allocator *allocator = &loop->sched.allocator;
    for (uint32_t i = 0; i < files->count; i++) {
        struct jzx__file *file = files->records[i];
        JZX_ASSERT(file->uses == 0);
        if (file->flags & JZX__FILE_OPEN)
            (void)files->os->close(file->fd);
        jzx__free_aligned(allocator, file, sizeof *file, JZX_CACHE_LINE);
    }
    if (files->cap != 0)
        jzx__free(allocator, files->records, files->cap * sizeof(*files->records));
    jzx__urings_close(loop, files);
    jzx__lock_deinit(&files->lock);
    jzx__lock_deinit(&files->making);
    jzx__lock_deinit(&files->waits_lock);
    jzx__free(allocator, files, sizeof *files);
    loop->parts[JZX__PART_FILE] = NULL;
}

/* The loop is destroyed: what it has begun is not waited for longer than need be. */
static void halt_files(struct jzx_loop *loop, struct jzx__worker *me) {
    jzx__urings_drain(loop, me);
    jzx__file_stop_wait(loop, NULL);
}

const struct jzx__part_ops jzx__part_file = {
    .open = open_files, .halt = halt_files, .close = close_files};
