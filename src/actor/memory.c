/* SPDX-License-Identifier: MIT */
/* The memory of an actor: jzx_alloc and its relatives. They find out whose context it is, and leave
 * the work to an arena, which takes its memory from the allocator hooks and not from the worker's
 * slabs, so that a turn can go on without its worker. */
#include "actor/misuse.h"
#include "actor/own.h"
#include "base/arena.h"
#include "base/size.h"
#include "base/sized.h"

#include "jzx/heap.h"

static JZX_COLD struct jzx__actor *owner_of(const jzx_context *ctx) {
    struct jzx__actor *actor = jzx__own_turn(ctx);
    return JZX_LIKELY(actor != NULL) ? actor : jzx__own_cleanup(ctx);
}

/* Of an actor that may have none yet; NULL for no actor, too. */
static struct jzx__arena *arena_of(const struct jzx__actor *actor) {
    return actor == NULL ? NULL : jzx__actor_part(actor, JZX__PART_HEAP);
}

/* As the arena has it. */
static size_t quota_of(size_t quota_bytes) {
    return quota_bytes == 0 ? SIZE_MAX : quota_bytes;
}

static struct jzx__cold *cold_of(jzx_context *ctx, struct jzx__actor *actor) {
    struct jzx__cold *cold = jzx__actor_cold(actor);
    if (cold == NULL) {
        struct jzx__visit visit;
        struct jzx__worker *me = jzx__loop_visit(ctx->loop, &visit);
        cold = jzx__cold_ensure(ctx->loop, me, actor);
        jzx__visit_end(&visit);
    }
    return cold;
}

/* NULL without memory, or if the context is nobody's. */
static struct jzx__arena *open_arena(jzx_context *ctx) {
    struct jzx__actor *actor = owner_of(ctx);
    struct jzx__cold *cold = actor == NULL ? NULL : cold_of(ctx, actor);
    if (cold == NULL)
        return NULL;
    struct jzx__arena *arena = jzx__cold_part(cold, JZX__PART_HEAP);
    if (arena == NULL) {
        arena =
            jzx__arena_create(&ctx->loop->sched.allocator, quota_of(ctx->loop->default_heap_quota));
        jzx__cold_set_part(cold, JZX__PART_HEAP, arena);
    }
    return arena;
}

/* The first block, a cleanup, a chunk that is used up, large blocks, errors. */
static JZX_COLD void *alloc_any(jzx_context *ctx, size_t size) {
    struct jzx__arena *arena = size == 0 ? NULL : open_arena(ctx);
    if (arena == NULL)
        return NULL;
    struct jzx__visit visit;
    jzx__visit_begin(&visit); /* what the hooks do is no code of the actor (S4 of seat.h) */
    void *block = jzx__arena_alloc(arena, size);
    jzx__visit_end(&visit);
    return block;
}

void *jzx_alloc(jzx_context *ctx, size_t size) {
    struct jzx__arena *arena = arena_of(jzx__own_turn(ctx));
    void *block = JZX_LIKELY(arena != NULL) ? jzx__arena_alloc_easy(arena, size) : NULL;
    return JZX_LIKELY(block != NULL) ? block : alloc_any(ctx, size);
}

void *jzx_alloc_zeroed(jzx_context *ctx, size_t count, size_t size) {
    size_t total;
    if (!jzx__size_array(&total, count, size))
        return NULL;
    void *block = jzx_alloc(ctx, total);
    return block == NULL ? NULL : memset(block, 0, total);
}

static JZX_COLD void refuse(jzx_context *ctx, const void *ptr, const char *call) {
    jzx__misuse_report(ctx->loop, call, ptr,
                       "it is no block of this actor: freed before, of another, or the word before "
                       "it was overwritten");
}

void *jzx_realloc(jzx_context *ctx, void *ptr, size_t size) {
    if (ptr == NULL)
        return jzx_alloc(ctx, size);
    const struct jzx__actor *actor = owner_of(ctx);
    struct jzx__arena *arena = arena_of(actor);
    if (arena == NULL || !jzx__arena_owns(arena, ptr)) {
        if (actor != NULL)
            refuse(ctx, ptr, "jzx_realloc");
        return NULL;
    }
    struct jzx__visit visit;
    jzx__visit_begin(&visit); /* as above */
    void *block = jzx__arena_realloc(arena, ptr, size);
    jzx__visit_end(&visit);
    return block;
}

void jzx_free(jzx_context *ctx, void *ptr) {
    struct jzx__actor *actor = jzx__own_turn(ctx);
    if (JZX_UNLIKELY(actor == NULL))
        actor = jzx__own_cleanup(ctx);
    if (JZX_UNLIKELY(actor == NULL || ptr == NULL))
        return;
    struct jzx__arena *arena = arena_of(actor);
    if (JZX_LIKELY(arena != NULL && jzx__arena_owns(arena, ptr)))
        jzx__arena_free(arena, ptr);
    else
        refuse(ctx, ptr, "jzx_free");
}

jzx_err jzx_heap_set_quota(jzx_context *ctx, size_t quota_bytes) {
    if (owner_of(ctx) == NULL)
        return JZX_ERR_INVALID_ARG;
    struct jzx__arena *arena = open_arena(ctx);
    if (arena == NULL)
        return JZX_ERR_NO_MEMORY;
    arena->quota_bytes = quota_of(quota_bytes);
    return JZX_OK;
}

jzx_err jzx_heap_info_get(jzx_context *ctx, jzx_heap_info *info) {
    struct jzx__actor *actor = owner_of(ctx);
    if (actor == NULL || !jzx__is_sized(info, sizeof *info))
        return JZX_ERR_INVALID_ARG;
    struct jzx__arena *arena = arena_of(actor);
    jzx_heap_info seen = {.size = sizeof seen, .quota_bytes = ctx->loop->default_heap_quota};
    if (arena != NULL) {
        seen.used_bytes = arena->used_bytes;
        seen.peak_bytes = jzx__arena_peak(arena);
        seen.taken_bytes = arena->taken_bytes;
        seen.quota_bytes = arena->quota_bytes == SIZE_MAX ? 0 : arena->quota_bytes;
    }
    jzx__write_sized(info, &seen);
    return JZX_OK;
}

/* The actor has ended, and its cleanup is over: all of it goes. */
static void release(struct jzx_loop *loop, struct jzx__worker *me, void *record) {
    (void)loop;
    (void)me;
    jzx__arena_destroy(record);
}

static size_t size_bytes(const void *record) {
    const struct jzx__arena *arena = record;
    return arena->taken_bytes;
}

const struct jzx__part_ops jzx__part_heap = {.release = release, .size_bytes = size_bytes};
