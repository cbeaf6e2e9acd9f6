/* SPDX-License-Identifier: MIT */
/* Where jobs wait for their tick: in the timer, or beyond its span in the overflow heap. Knows
 * records, ticks and limits, and nothing of delivery. Owner only.
 *
 *   P1  a job that is placed comes out at its deadline: not a tick earlier, and later only if more
 *       jobs are due at once than a slot holds.
 *   P2  a tick takes slot_capacity new jobs. A periodic job that comes back is placed all the same;
 *       the tick itself decides which is dropped then.
 *   P3  at most batch_limit jobs leave the overflow per tick. They start early enough that a full
 *       overflow of jobs for one tick is in the timer when the tick comes, and as early as the span
 *       allows once the overflow is filled to its threshold.
 *
 * The timer is a table of functions (jzx/tick_timer.h): the wheel, the heap, or one of the program.
 * It orders jobs by their tick. All limits stand here, so that they hold with every timer.
 *
 *   P4  the timer has entries for ticks from now + 1 to now + span - 1 alone, and no more than
 *       system_quota of them. */
#ifndef JZX_SCHEDULE_CORE_PLACES_H
#define JZX_SCHEDULE_CORE_PLACES_H

#include "schedule/core/config.h"
#include "schedule/core/job.h"
#include "schedule/core/slots.h"

struct jzx__places {
    jzx_tick_timer timer;
    void *state;   /* the timer itself */
    uint64_t now;  /* the tick that it was polled for last */
    uint64_t said; /* what its `next` returned last */
    uint64_t span; /* ticks; jobs further away go into the overflow */
    size_t in_timer;
    struct jzx__slots slots;
    struct jzx__heap overflow; /* by deadline, then sequence; its array never grows */
    uint32_t slot_capacity;
    uint32_t batch_limit;
    uint32_t threshold;  /* jobs in the overflow */
    uint32_t lead_ticks; /* how early they leave it below the threshold */
    uint64_t moved_total;
};

enum jzx__placed { JZX__PLACED, JZX__SLOT_FULL, JZX__OVERFLOW_FULL };

/* The caller's, as long as the places are in use. */
struct jzx__places_memory {
    struct jzx__slot_cell *cells; /* jzx__slots_cells of the quota */
    struct jzx__heap_item *items; /* config->capacity.overflow */
    void *timer;                  /* as many bytes as it asks for */
};

/* The timer of a configuration, whose shape must live until the places are made. */
jzx_tick_timer jzx__places_timer(const struct jzx__schedule_config *config);

/* False: the timer could not be made. */
bool jzx__places_init(struct jzx__places *places, const struct jzx__schedule_config *config,
                      const struct jzx__places_memory *memory, uint64_t now);

/* All jobs have been taken out. */
void jzx__places_deinit(struct jzx__places *places);

/* For job->deadline; at the next tick if that is over. A job that is refused is nowhere. */
enum jzx__placed jzx__places_add(struct jzx__places *places, struct jzx__job *job);

/* The same for a job that must not get lost (P2), and not before job->not_before. */
void jzx__places_add_again(struct jzx__places *places, struct jzx__job *job);

/* Takes a job out, wherever it is. */
void jzx__places_remove(struct jzx__places *places, struct jzx__job *job);

/* One pass from the overflow into the timer, before tick now + 1 (P3). Returns how many. */
uint32_t jzx__places_reinsert(struct jzx__places *places);

/* The next job that is due at the tick, in no order; NULL: none is left, and the tick is over. */
struct jzx__job *jzx__places_pop(struct jzx__places *places, uint64_t tick);

/* Lets ticks pass at which there is nothing to do, by jzx__places_next. Ends the process if the
 * timer has an entry that was due: its `next` was too late. */
void jzx__places_pass(struct jzx__places *places, uint64_t to);

/* No job is due, and none leaves the overflow, before this tick; UINT64_MAX: there is none. */
uint64_t jzx__places_next(struct jzx__places *places);

static inline bool jzx__places_is_near_capacity(const struct jzx__places *places) {
    return places->overflow.count >= places->threshold;
}

static inline size_t jzx__places_count(const struct jzx__places *places) {
    return places->in_timer + places->overflow.count;
}

#endif
