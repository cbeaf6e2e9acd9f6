/* SPDX-License-Identifier: MIT */
/* The records of all jobs, and the ring of those that are free.
 *
 * Any thread takes a record out of the ring; only the owner puts one back. The ring is first in,
 * first out, so that a record rests as long as possible before it is used again. It has a cell for
 * every record, so it cannot be full, and a cell is not written again before `head` has passed it:
 *
 *   F1  a thread that has read cell `head` and then moves head by a compare-and-exchange has read
 *       what was there, as nobody writes that cell before head moves.
 *
 * Rejected: a stack of free records (the compare-and-exchange of its head needs a tag beside the
 * index, and a 32-bit target has no room for one that is wide enough).
 *
 * A record remembers how its last JZX__HISTORY generations ended, so that a handle tells the truth
 * after its record is in use again. The history is one word with the low bits of the generation
 * that it belongs to, so that one load is consistent. */
#ifndef JZX_SCHEDULE_CORE_TABLE_H
#define JZX_SCHEDULE_CORE_TABLE_H

#include "schedule/core/job.h"

#define JZX__HISTORY 24u

struct jzx__job_table {
    struct jzx__job *records;
    uint32_t count;
    uint32_t shift;          /* an index takes so many bits of an id */
    _Atomic uint32_t *cells; /* of the ring: indices; written by the owner, read by all */
    uint32_t mask;           /* of a cell's number */
    _Atomic uint32_t head;   /* moved by all */
    _Atomic uint32_t tail;   /* written by the owner */
};

/* Cells for so many records. */
uint32_t jzx__job_table_cells(uint32_t count);

/* The memory of both arrays is the caller's. All records are free. */
void jzx__job_table_init(struct jzx__job_table *table, struct jzx__job *records, uint32_t count,
                         _Atomic uint32_t *cells);

/* Any thread. A record that is the caller's, with its id, or NULL. */
struct jzx__job *jzx__job_table_take(struct jzx__job_table *table, bool periodic);

/* Owner. The job has ended and is nowhere: its record may be used again. */
void jzx__job_table_put_back(struct jzx__job_table *table, struct jzx__job *job);

/* Any thread. The record that the id names, which may have moved on to another generation; NULL for
 * ids that were never given out. */
struct jzx__job *jzx__job_table_find(const struct jzx__job_table *table, jzx__job_id id,
                                     uintptr_t *generation);

/* Any thread. JZX__NO_JOB is Cancelled; a handle beyond the history is Forgotten. */
enum jzx__job_state jzx__job_table_state(const struct jzx__job_table *table, jzx__job_id id);

#endif
