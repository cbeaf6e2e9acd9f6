/* SPDX-License-Identifier: MIT */
/* The deterministic log: a ring of what was scheduled, fired and cancelled, when, and where. The
 * digest covers all records ever written, also those that the ring has dropped, so that two runs
 * can be compared by one number. Owner only. */
#ifndef JZX_SCHEDULE_CORE_LOG_H
#define JZX_SCHEDULE_CORE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum jzx__log_kind { JZX__LOG_SCHEDULE, JZX__LOG_FIRE, JZX__LOG_CANCEL };

struct jzx__log_record {
    uint64_t timer_id;
    uint64_t scheduled_at; /* ticks, all three */
    uint64_t deadline;
    uint64_t fired_at; /* or when it was scheduled or cancelled */
    uint32_t executor;
    enum jzx__log_kind kind;
};

struct jzx__schedule_log {
    struct jzx__log_record *records; /* NULL: there is no log */
    uint32_t capacity;
    uint64_t written; /* since the beginning */
    uint64_t digest;
};

/* The memory is the caller's. */
void jzx__log_init(struct jzx__schedule_log *log, struct jzx__log_record *records,
                   uint32_t capacity);
void jzx__log_write(struct jzx__schedule_log *log, const struct jzx__log_record *record);

/* Records that are still there, and one of them: 0 is the oldest. */
uint32_t jzx__log_count(const struct jzx__schedule_log *log);
const struct jzx__log_record *jzx__log_at(const struct jzx__schedule_log *log, uint32_t i);

/* The bytes of a record in a trace, in a fixed order of bytes. */
#define JZX__LOG_RECORD_BYTES 37u
void jzx__log_encode(const struct jzx__log_record *record, unsigned char *bytes);
void jzx__log_decode(const unsigned char *bytes, struct jzx__log_record *record);

/* A replay is right if it wrote the same records; *first is the number of the first that differs
 * among those that both still have, or their count. */
bool jzx__log_matches(const struct jzx__schedule_log *a, const struct jzx__schedule_log *b,
                      uint32_t *first);

/* Time in the log never goes backwards. */
bool jzx__log_is_monotonic(const struct jzx__schedule_log *log);

#endif
