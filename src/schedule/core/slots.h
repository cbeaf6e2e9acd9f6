/* SPDX-License-Identifier: MIT */
/* How many jobs the timer has for a tick: what makes a slot a queue of fixed length. A hash table
 * by tick with one cell per distinct tick in use; it has at least twice as many cells as there are
 * jobs, so that a search is short and a free cell always exists. */
#ifndef JZX_SCHEDULE_CORE_SLOTS_H
#define JZX_SCHEDULE_CORE_SLOTS_H

#include <stdint.h>

struct jzx__slot_cell {
    uint64_t tick;
    uint32_t count; /* 0: the cell is free */
};

struct jzx__slots {
    struct jzx__slot_cell *cells;
    uint32_t mask;
    uint32_t used; /* ticks that have jobs */
};

/* Cells for so many jobs. */
uint32_t jzx__slots_cells(uint32_t jobs);

/* The memory is the caller's. */
void jzx__slots_init(struct jzx__slots *slots, struct jzx__slot_cell *cells, uint32_t jobs);

uint32_t jzx__slots_count(const struct jzx__slots *slots, uint64_t tick);
void jzx__slots_add(struct jzx__slots *slots, uint64_t tick);

/* The tick must have a job. */
void jzx__slots_remove(struct jzx__slots *slots, uint64_t tick);

#endif
