/* SPDX-License-Identifier: MIT */
/* Taking and recycling records. */
#include "schedule/core/table.h"

#include "base/assert.h"

#define HISTORY_BITS (((uint32_t)1 << JZX__HISTORY) - 1)

uint32_t jzx__job_table_cells(uint32_t count) {
    uint32_t cells = 2;
    while (cells < count)
        cells *= 2;
    return cells;
}

void jzx__job_table_init(struct jzx__job_table *table, struct jzx__job *records, uint32_t count,
                         _Atomic uint32_t *cells) {
    uint32_t size = jzx__job_table_cells(count);
    *table = (struct jzx__job_table){.records = records,
                                     .count = count,
                                     .shift = (uint32_t)__builtin_ctz(size),
                                     .cells = cells,
                                     .mask = size - 1};
    for (uint32_t i = 0; i < count; i++) {
        records[i] = (struct jzx__job){.index = i};
        /* relaxed: nobody shares the table yet */
        jzx__atomic_store_relaxed(&cells[i], i);
    }
    /* relaxed: nobody shares the table yet */
    jzx__atomic_store_relaxed(&table->tail, count);
}

static jzx__job_id make_id(const struct jzx__job_table *table, uint32_t index,
                           uintptr_t generation) {
    return ((jzx__job_id)generation << table->shift | index) + 1;
}

struct jzx__job *jzx__job_table_take(struct jzx__job_table *table, bool periodic) {
    /* acquire: pairs with the exchange below, so that head and tail are read in this order */
    uint32_t head = jzx__atomic_load_acquire(&table->head);
    uint32_t index;
    do {
        /* acquire: pairs with put_back; the cell and the record are visible */
        if (head == jzx__atomic_load_acquire(&table->tail))
            return NULL;
        /* relaxed: what is read counts only if head is still the same (F1) */
        index = jzx__atomic_load_relaxed(&table->cells[head & table->mask]);
        /* pairs with the other takers: one of them gets the cell */
    } while (!jzx__atomic_cas_acq_rel(&table->head, &head, head + 1));
    struct jzx__job *job = &table->records[index];
    jzx__job_open(&job->word, periodic);
    /* relaxed: the record is the caller's */
    uintptr_t generation = jzx__job_word_generation(jzx__atomic_load_relaxed(&job->word));
    job->id = make_id(table, index, generation);
    return job;
}

/* The history of the next generation: one outcome more. */
static uint32_t remember(uint32_t history, uintptr_t next, bool cancelled) {
    uint32_t bits = (history << 1 | (cancelled ? 1u : 0u)) & HISTORY_BITS;
    return (uint32_t)(next & 0xFF) << JZX__HISTORY | bits;
}

void jzx__job_table_put_back(struct jzx__job_table *table, struct jzx__job *job) {
    uintptr_t word = jzx__job_word_load(&job->word);
    enum jzx__job_state state = jzx__job_word_state(word);
    JZX_ASSERT(job->where == JZX__WHERE_NOWHERE);
    JZX_ASSERT(state == JZX__JOB_COMPLETED || state == JZX__JOB_CANCELLED);
    uintptr_t next = (jzx__job_word_generation(word) + 1) & JZX__JOB_GENERATION_MAX;
    /* relaxed: only the owner writes the history */
    uint32_t history = jzx__atomic_load_relaxed(&job->history);
    /* release: pairs with the load in jzx__job_table_state */
    jzx__atomic_store_release(&job->history, remember(history, next, state == JZX__JOB_CANCELLED));
    /* release: pairs with jzx__job_word_load; who sees the new generation sees its history */
    jzx__atomic_store_release(&job->word, jzx__job_word_make(next, false, JZX__JOB_PENDING));
    /* relaxed: only the owner writes the tail */
    uint32_t tail = jzx__atomic_load_relaxed(&table->tail);
    /* relaxed: the store of the tail publishes it */
    jzx__atomic_store_relaxed(&table->cells[tail & table->mask], job->index);
    /* release: pairs with take; publishes the cell and the record */
    jzx__atomic_store_release(&table->tail, tail + 1);
}

struct jzx__job *jzx__job_table_find(const struct jzx__job_table *table, jzx__job_id id,
                                     uintptr_t *generation) {
    jzx__job_id number = id - 1;
    uint32_t index = (uint32_t)number & table->mask;
    if (id == JZX__NO_JOB || index >= table->count ||
        number >> table->shift > JZX__JOB_GENERATION_MAX)
        return NULL;
    *generation = (uintptr_t)(number >> table->shift);
    return &table->records[index];
}

enum jzx__job_state jzx__job_table_state(const struct jzx__job_table *table, jzx__job_id id) {
    uintptr_t generation = 0;
    struct jzx__job *job = jzx__job_table_find(table, id, &generation);
    if (job == NULL)
        return JZX__JOB_CANCELLED;
    uintptr_t word = jzx__job_word_load(&job->word);
    uintptr_t current = jzx__job_word_generation(word);
    if (current == generation)
        return jzx__job_word_state(word);
    /* acquire: pairs with put_back, whose history is at least as new as the word */
    uint32_t history = jzx__atomic_load_acquire(&job->history);
    uint32_t ago = ((history >> JZX__HISTORY) - (uint32_t)generation) & 0xFF;
    uintptr_t behind = (current - generation) & JZX__JOB_GENERATION_MAX;
    if (behind > JZX__HISTORY || ago == 0 || ago > JZX__HISTORY)
        return JZX__JOB_FORGOTTEN;
    return (history >> (ago - 1) & 1) != 0 ? JZX__JOB_CANCELLED : JZX__JOB_COMPLETED;
}
