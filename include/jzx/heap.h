/* SPDX-License-Identifier: MIT */
/* The heap of an actor: memory that is the actor's own, and gone when the actor ends, however it
 * ends. What it allocates here it need not free, neither in a cleanup nor before it fails.
 *
 *     struct session *self = jzx_alloc(ctx, sizeof *self);
 *
 * It is there until after the cleanup. Blocks must not be sent to others: what they get is gone
 * with this actor (use jzx_msg_alloc).
 *
 * Threads: every call only in the actor's own turn, its init or its cleanup, on the thread that
 * runs it, and with the very context that it was given; other calls are refused as each says. A
 * behaviour whose worker went on without it may make them as before. None of them blocks. */
#ifndef JZX_HEAP_H
#define JZX_HEAP_H

#include "jzx/api.h"
#include "jzx/error.h"

#include <stddef.h>

typedef struct jzx_context jzx_context;

/* What an actor has of memory. */
typedef struct jzx_heap_info {
    size_t size;        /* sizeof(jzx_heap_info): set by the caller before the call */
    size_t used_bytes;  /* in blocks that are not freed, with what each takes beyond its size */
    size_t peak_bytes;  /* the highest used_bytes so far */
    size_t taken_bytes; /* from the loop's allocator, free blocks included */
    size_t quota_bytes; /* of used_bytes; 0: unlimited */
} jzx_heap_info;

JZX_BEGIN_C

/* size bytes, aligned for any type, not cleared. NULL without memory, beyond the quota, for size 0,
 * and with a wrong context. A block takes 8 bytes more than its size, rounded up to a multiple of
 * 16, beyond 256 bytes by up to a quarter; one of more than 2040 bytes takes 32 bytes more and
 * comes from the loop's allocator by itself. Under AddressSanitizer and memcheck, with the default
 * allocator, every block does, so that the tool sees what is used after its end. */
JZX_API JZX_MUST_USE void *jzx_alloc(jzx_context *ctx, size_t size);

/* The same for count * size bytes (NULL if that overflows), all zero. */
JZX_API JZX_MUST_USE void *jzx_alloc_zeroed(jzx_context *ctx, size_t count, size_t size);

/* Changes the size of a block, which may move; what it held is kept as far as it fits. NULL for ptr
 * is jzx_alloc. NULL as jzx_alloc, also for size 0 and for a pointer that jzx_free would leave
 * alone: then the block is as it was. Against the quota counts only the difference: a block that
 * becomes smaller is never refused for it. */
JZX_API JZX_MUST_USE void *jzx_realloc(jzx_context *ctx, void *ptr, size_t size);

/* Gives a block back, for blocks of about the same size; a large one to the loop's allocator. NULL
 * does nothing, nor does a wrong context. A pointer that is not a block of this actor, or was freed
 * before, is left alone where that can be seen, and the log names the actor. */
JZX_API void jzx_free(jzx_context *ctx, void *ptr);

/* How many bytes of blocks this actor may use from now on (used_bytes); 0: unlimited. What it uses
 * already stays, if it is more. The default is jzx_config.default_heap_quota; an init is a good
 * place to set another. JZX_ERR_INVALID_ARG (a wrong context), JZX_ERR_NO_MEMORY. */
JZX_API jzx_err jzx_heap_set_quota(jzx_context *ctx, size_t quota_bytes);

/* Fills *info. JZX_ERR_INVALID_ARG: a wrong context, no info or a wrong size in it. */
JZX_API jzx_err jzx_heap_info_get(jzx_context *ctx, jzx_heap_info *info);

JZX_END_C

#endif
