/* SPDX-License-Identifier: MIT */
/* Open addressing with linear probing; a removal closes the gap, so that nothing is left to clean
 * up later. */
#include "schedule/core/slots.h"

#include "base/assert.h"

uint32_t jzx__slots_cells(uint32_t jobs) {
    uint32_t cells = 4;
    while (cells < 2 * jobs)
        cells *= 2;
    return cells;
}

void jzx__slots_init(struct jzx__slots *slots, struct jzx__slot_cell *cells, uint32_t jobs) {
    uint32_t size = jzx__slots_cells(jobs);
    *slots = (struct jzx__slots){.cells = cells, .mask = size - 1};
    for (uint32_t i = 0; i < size; i++)
        cells[i] = (struct jzx__slot_cell){0, 0};
}

/* Ticks in a row share a cache line. */
#define LINE_CELLS 4u

static uint32_t home_of(const struct jzx__slots *slots, uint64_t tick) {
    uint32_t line = (uint32_t)((tick / LINE_CELLS * 0x9E3779B97F4A7C15u) >> 32);
    return (line * LINE_CELLS + (uint32_t)(tick % LINE_CELLS)) & slots->mask;
}

/* The cell of that tick, or the free one where it belongs. */
static uint32_t cell_of(const struct jzx__slots *slots, uint64_t tick) {
    uint32_t i = home_of(slots, tick);
    while (slots->cells[i].count != 0 && slots->cells[i].tick != tick)
        i = (i + 1) & slots->mask;
    return i;
}

uint32_t jzx__slots_count(const struct jzx__slots *slots, uint64_t tick) {
    return slots->cells[cell_of(slots, tick)].count;
}

void jzx__slots_add(struct jzx__slots *slots, uint64_t tick) {
    struct jzx__slot_cell *cell = &slots->cells[cell_of(slots, tick)];
    if (cell->count == 0) {
        JZX_ASSERT(slots->used < slots->mask);
        slots->used++;
    }
    cell->tick = tick;
    cell->count++;
}

/* Moves every cell behind the gap that could not be found across it any more. */
static void close_gap(struct jzx__slots *slots, uint32_t gap) {
    uint32_t i = gap;
    for (;;) {
        i = (i + 1) & slots->mask;
        if (slots->cells[i].count == 0)
            break;
        uint32_t from_home = (i - home_of(slots, slots->cells[i].tick)) & slots->mask;
        uint32_t from_gap = (i - gap) & slots->mask;
        if (from_home >= from_gap) {
            slots->cells[gap] = slots->cells[i];
            slots->cells[i].count = 0;
            gap = i;
        }
    }
}

void jzx__slots_remove(struct jzx__slots *slots, uint64_t tick) {
    uint32_t i = cell_of(slots, tick);
    JZX_ASSERT(slots->cells[i].count > 0);
    if (--slots->cells[i].count == 0) {
        slots->used--;
        close_gap(slots, i);
    }
}
