/* SPDX-License-Identifier: MIT */
/* Records, their digest and their comparison. */
#include "schedule/core/log.h"

#define FNV_OFFSET 0xCBF29CE484222325u
#define FNV_PRIME 0x100000001B3u

void jzx__log_init(struct jzx__schedule_log *log, struct jzx__log_record *records,
                   uint32_t capacity) {
    *log = (struct jzx__schedule_log){
        .records = capacity > 0 ? records : NULL, .capacity = capacity, .digest = FNV_OFFSET};
}

static unsigned char *put(unsigned char *bytes, uint64_t value, unsigned size) {
    for (unsigned i = 0; i < size; i++)
        *bytes++ = (unsigned char)(value >> 8 * i);
    return bytes;
}

static const unsigned char *get(const unsigned char *bytes, uint64_t *value, unsigned size) {
    *value = 0;
    for (unsigned i = 0; i < size; i++)
        *value |= (uint64_t)*bytes++ << 8 * i;
    return bytes;
}

void jzx__log_encode(const struct jzx__log_record *record, unsigned char *bytes) {
    bytes = put(bytes, record->timer_id, 8);
    bytes = put(bytes, record->scheduled_at, 8);
    bytes = put(bytes, record->deadline, 8);
    bytes = put(bytes, record->fired_at, 8);
    bytes = put(bytes, record->executor, 4);
    (void)put(bytes, (uint64_t)record->kind, 1);
}

void jzx__log_decode(const unsigned char *bytes, struct jzx__log_record *record) {
    uint64_t executor;
    uint64_t kind;
    bytes = get(bytes, &record->timer_id, 8);
    bytes = get(bytes, &record->scheduled_at, 8);
    bytes = get(bytes, &record->deadline, 8);
    bytes = get(bytes, &record->fired_at, 8);
    bytes = get(bytes, &executor, 4);
    (void)get(bytes, &kind, 1);
    record->executor = (uint32_t)executor;
    record->kind = (enum jzx__log_kind)kind;
}

void jzx__log_write(struct jzx__schedule_log *log, const struct jzx__log_record *record) {
    if (log->records == NULL)
        return;
    unsigned char bytes[JZX__LOG_RECORD_BYTES];
    jzx__log_encode(record, bytes);
    for (unsigned i = 0; i < JZX__LOG_RECORD_BYTES; i++)
        log->digest = (log->digest ^ bytes[i]) * FNV_PRIME;
    log->records[log->written++ % log->capacity] = *record;
}

uint32_t jzx__log_count(const struct jzx__schedule_log *log) {
    return log->written < log->capacity ? (uint32_t)log->written : log->capacity;
}

const struct jzx__log_record *jzx__log_at(const struct jzx__schedule_log *log, uint32_t i) {
    uint64_t oldest = log->written - jzx__log_count(log);
    return &log->records[(oldest + i) % log->capacity];
}

static bool is_equal(const struct jzx__log_record *a, const struct jzx__log_record *b) {
    return a->timer_id == b->timer_id && a->scheduled_at == b->scheduled_at &&
           a->deadline == b->deadline && a->fired_at == b->fired_at && a->executor == b->executor &&
           a->kind == b->kind;
}

bool jzx__log_matches(const struct jzx__schedule_log *a, const struct jzx__schedule_log *b,
                      uint32_t *first) {
    uint32_t count = jzx__log_count(a) < jzx__log_count(b) ? jzx__log_count(a) : jzx__log_count(b);
    uint32_t i = 0;
    while (i < count && is_equal(jzx__log_at(a, i), jzx__log_at(b, i)))
        i++;
    *first = i;
    return a->written == b->written && a->digest == b->digest;
}

bool jzx__log_is_monotonic(const struct jzx__schedule_log *log) {
    for (uint32_t i = 1; i < jzx__log_count(log); i++) {
        if (jzx__log_at(log, i)->fired_at < jzx__log_at(log, i - 1)->fired_at)
            return false;
    }
    return true;
}
