/* SPDX-License-Identifier: MIT */
/* A roll: commands with their payloads, one behind the other in chunks of memory, first in, first
 * out. The queue of a processor is one, and so is each input, and the payloads of a trace.
 *
 *   R1  a record stays where it is until it is popped: what is added meanwhile goes behind it.
 *   R2  a roll belongs to one thread at a time; who hands it over does so under the lock of the
 *       processor.
 *   R3  an add that fails has changed nothing.
 *   R4  a chunk without records is the only one. */
#ifndef JZX_COMMAND_ROLL_H
#define JZX_COMMAND_ROLL_H

#include "jzx/config.h"
#include "jzx/processor.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A command. Its payload follows it, at a multiple of 16. */
struct jzx__record {
    uint32_t size;    /* with the payload */
    uint8_t stage;    /* of the middleware that sees it next */
    bool is_internal; /* by its source: it goes past the middleware */
    bool is_void;     /* it is passed over, without a trace */
    bool is_late;     /* its async source was gone before its tick began: it is dropped */
    bool is_frozen;   /* from an async actor: its factory is the one that was reserved */
    jzx_action action;
};

_Static_assert(sizeof(struct jzx__record) % 16 == 0, "payloads are aligned");

struct jzx__chunk {
    struct jzx__chunk *next;
    uint32_t capacity; /* of data */
    uint32_t used;
    uint32_t read; /* popped */
    uint32_t unused[3];
    _Alignas(16) unsigned char data[];
};

struct jzx__roll {
    struct jzx__chunk *head;
    struct jzx__chunk *tail;
    struct jzx__chunk *spare; /* one that is empty, for the next add; or NULL */
};

/* Where a roll ends, to come back to what is added after. */
struct jzx__roll_mark {
    struct jzx__chunk *chunk;
    uint32_t used;
};

/* The usual data of a chunk. A roll that will not grow begins with a smaller one. */
#define JZX__CHUNK_SIZE 4064u
#define JZX__CHUNK_EXACT 0u

/* Adds a copy of the action and its payload, in a chunk of at least that capacity if a new one is
 * needed. NULL without memory. */
struct jzx__record *jzx__roll_add(struct jzx__roll *roll, const jzx_allocator *allocator,
                                  const jzx_action *action, uint32_t capacity);

/* The oldest one, or NULL. */
static inline struct jzx__record *jzx__roll_first(const struct jzx__roll *roll) {
    struct jzx__chunk *head = roll->head;
    return head == NULL || head->read == head->used ? NULL : (void *)(head->data + head->read);
}

/* Moves all records of `more`, which is empty then, behind those of the roll. */
void jzx__roll_join(struct jzx__roll *roll, struct jzx__roll *more, const jzx_allocator *allocator);

/* Takes the oldest one off. */
void jzx__roll_pop(struct jzx__roll *roll, const jzx_allocator *allocator);

/* The one after a record, or the first one for NULL; NULL behind the last. *chunk is the walk's. */
struct jzx__record *jzx__roll_next(const struct jzx__roll *roll, struct jzx__chunk **chunk,
                                   struct jzx__record *record);

static inline struct jzx__roll_mark jzx__roll_end(const struct jzx__roll *roll) {
    struct jzx__chunk *tail = roll->tail;
    if (tail == NULL || tail->used == 0)
        return (struct jzx__roll_mark){.chunk = NULL}; /* R4: the next add may replace it */
    return (struct jzx__roll_mark){.chunk = tail, .used = tail->used};
}

/* Voids what the source has added since. */
void jzx__roll_void(struct jzx__roll *roll, struct jzx__roll_mark since,
                    jzx_processor_handle source);

/* Frees all chunks. */
void jzx__roll_clear(struct jzx__roll *roll, const jzx_allocator *allocator);

#endif
