/* SPDX-License-Identifier: MIT */
/* Blocks, and the helpers that all actors of the store use. */
#include "store.h"

#include <stdio.h>
#include <string.h>

struct block *block_create(jzx_loop *loop, const char *series, uint64_t number,
                           const struct point *points, uint32_t count) {
    struct block *block = jzx_msg_alloc(loop, sizeof *block + count * sizeof *points, NULL);
    if (block == NULL)
        return NULL;
    *block = (struct block){.number = number, .count = count};
    snprintf(block->series, sizeof block->series, "%s", series);
    memcpy(block->points, points, count * sizeof *points);
    return jzx_msg_share(loop, block);
}

bool block_has_name(const struct block *block, size_t len) {
    return len >= sizeof *block && block->series[0] != '\0' &&
           memchr(block->series, '\0', sizeof block->series) != NULL;
}

bool block_is_sound(const struct block *block, size_t len) {
    if (!block_has_name(block, len) || block->count == 0 || block->count > HEAD_POINTS ||
        len != sizeof *block + block->count * sizeof block->points[0])
        return false;
    for (uint32_t i = 1; i < block->count; i++) {
        if (block->points[i - 1].time_ms >= block->points[i].time_ms)
            return false;
    }
    return true;
}

bool block_overlaps(const struct block *block, const struct range *range) {
    return strcmp(block->series, range->series) == 0 && block->points[0].time_ms < range->to_ms &&
           block->points[block->count - 1].time_ms >= range->from_ms;
}

jzx_err block_send(jzx_loop *loop, const char *name, jzx_actor_id from, struct block *block) {
    jzx_actor_id to;
    jzx_err err = jzx_lookup(loop, name, &to);
    return err == JZX_OK ? jzx_send_shared(loop, to, from, block, BLOCK) : err;
}

void store_count(jzx_loop *loop, enum counter counter, uint32_t amount) {
    struct count count = {.counter = counter, .amount = amount};
    if (amount != 0)
        (void)jzx_send_named(loop, "metrics", JZX_NOBODY, &count, sizeof count, COUNT);
}

int64_t store_now_ms(const jzx_loop *loop) {
    return (int64_t)(jzx_loop_now(loop) / JZX_MS(1));
}

void head_name(const char *series, char name[JZX_NAME_MAX + 1]) {
    snprintf(name, JZX_NAME_MAX + 1, "head/%.*s", SERIES_SIZE - 1, series);
}
