/* SPDX-License-Identifier: MIT */
/* Adding to rolls, walking over them, and giving their chunks back. */
#include "command/roll.h"

#include "base/alloc.h"
#include "base/assert.h"

#include <string.h>

static size_t bytes_of(uint32_t capacity) {
    return sizeof(struct jzx__chunk) + capacity;
}

static void free_chunk(const jzx_allocator *allocator, struct jzx__chunk *chunk) {
    if (chunk != NULL)
        jzx__free(allocator, chunk, bytes_of(chunk->capacity));
}

static struct jzx__chunk *make_chunk(struct jzx__roll *roll, const jzx_allocator *allocator,
                                     uint32_t capacity) {
    struct jzx__chunk *chunk = roll->spare;
    if (chunk != NULL && chunk->capacity >= capacity) {
        roll->spare = NULL;
        return chunk;
    }
    chunk = jzx__alloc(allocator, bytes_of(capacity));
    if (chunk != NULL)
        *chunk = (struct jzx__chunk){.capacity = capacity};
    return chunk;
}

/* Keeps it for the next add, if it is of the usual size and there is none yet. */
static void put_by(struct jzx__roll *roll, const jzx_allocator *allocator,
                   struct jzx__chunk *chunk) {
    if (chunk != NULL && roll->spare == NULL && chunk->capacity == JZX__CHUNK_SIZE)
        roll->spare = chunk;
    else
        free_chunk(allocator, chunk);
}

/* A chunk with room for size bytes at its end, or NULL without memory. */
static struct jzx__chunk *room_for(struct jzx__roll *roll, const jzx_allocator *allocator,
                                   uint32_t size, uint32_t capacity) {
    struct jzx__chunk *tail = roll->tail;
    if (tail != NULL && tail->capacity - tail->used >= size)
        return tail;
    struct jzx__chunk *chunk = make_chunk(roll, allocator, size > capacity ? size : capacity);
    if (chunk == NULL)
        return NULL;
    if (tail != NULL && tail->used == 0) { /* R4: the only one, and too small */
        put_by(roll, allocator, tail);
        tail = NULL;
    }
    if (tail == NULL)
        roll->head = chunk;
    else
        tail->next = chunk;
    roll->tail = chunk;
    return chunk;
}

struct jzx__record *jzx__roll_add(struct jzx__roll *roll, const jzx_allocator *allocator,
                                  const jzx_action *action, uint32_t capacity) {
    const uint32_t size = (uint32_t)sizeof(struct jzx__record) + ((action->len + 15u) & ~15u);
    struct jzx__chunk *chunk = room_for(roll, allocator, size, capacity);
    if (chunk == NULL)
        return NULL;
    struct jzx__record *record = (void *)(chunk->data + chunk->used);
    chunk->used += size;
    *record = (struct jzx__record){.size = size, .action = *action};
    record->action.data = record + 1; /* never NULL */
    if (action->len != 0)
        memcpy(record + 1, action->data, action->len);
    return record;
}

void jzx__roll_join(struct jzx__roll *roll, struct jzx__roll *more,
                    const jzx_allocator *allocator) {
    if (jzx__roll_first(more) == NULL) {
        jzx__roll_clear(more, allocator);
        return;
    }
    if (jzx__roll_first(roll) == NULL) {
        put_by(roll, allocator, roll->head); /* the one that it would begin anew in */
        roll->head = more->head;
    } else {
        roll->tail->next = more->head;
    }
    roll->tail = more->tail;
    put_by(roll, allocator, more->spare);
    *more = (struct jzx__roll){.head = NULL};
}

void jzx__roll_pop(struct jzx__roll *roll, const jzx_allocator *allocator) {
    struct jzx__chunk *head = roll->head;
    head->read += jzx__roll_first(roll)->size;
    if (head->read != head->used)
        return;
    head->read = 0;
    head->used = 0;
    if (head->next == NULL && head->capacity == JZX__CHUNK_SIZE)
        return; /* the only one: it begins anew */
    roll->head = head->next;
    if (roll->head == NULL)
        roll->tail = NULL;
    head->next = NULL;
    put_by(roll, allocator, head);
}

struct jzx__record *jzx__roll_next(const struct jzx__roll *roll, struct jzx__chunk **chunk,
                                   struct jzx__record *record) {
    uint32_t at;
    if (record == NULL) {
        *chunk = roll->head;
        at = roll->head == NULL ? 0 : roll->head->read;
    } else {
        at = (uint32_t)((unsigned char *)record - (*chunk)->data) + record->size;
    }
    while (*chunk != NULL && at == (*chunk)->used) {
        *chunk = (*chunk)->next;
        at = 0;
    }
    return *chunk == NULL ? NULL : (void *)((*chunk)->data + at);
}

void jzx__roll_void(struct jzx__roll *roll, struct jzx__roll_mark since,
                    jzx_processor_handle source) {
    struct jzx__chunk *chunk = since.chunk == NULL ? roll->head : since.chunk;
    uint32_t at = since.used;
    for (; chunk != NULL; chunk = chunk->next, at = 0) {
        while (at != chunk->used) {
            struct jzx__record *record = (void *)(chunk->data + at);
            record->is_void = record->is_void || record->action.source == source;
            at += record->size;
        }
    }
}

void jzx__roll_clear(struct jzx__roll *roll, const jzx_allocator *allocator) {
    while (roll->head != NULL) {
        struct jzx__chunk *head = roll->head;
        roll->head = head->next;
        free_chunk(allocator, head);
    }
    free_chunk(allocator, roll->spare);
    *roll = (struct jzx__roll){.head = NULL};
}
