/* SPDX-License-Identifier: MIT */
/* Stripes, and the lines in them. */
#include "actor/line.h"

#include "sched/sched.h"

#define LINE_CLASS 0u
_Static_assert(sizeof(struct jzx__line) <= JZX__BLOCK_SIZE_MIN, "fits its class");

void jzx__lines_init(struct jzx__lines *lines, struct jzx__sched *sched) {
    lines->sched = sched;
    for (uint32_t i = 0; i < JZX__LINE_STRIPE_COUNT; i++) {
        struct jzx__line_stripe *stripe = &lines->stripes[i];
        jzx__lock_init(&stripe->lock);
        stripe->lines = NULL;
        /* relaxed: nobody else has the loop yet */
        jzx__atomic_store_relaxed(&stripe->users, 0u);
    }
}

void jzx__lines_deinit(struct jzx__lines *lines) {
    for (uint32_t i = 0; i < JZX__LINE_STRIPE_COUNT; i++) {
        JZX_ASSERT(lines->stripes[i].lines == NULL); /* F6 */
        jzx__lock_deinit(&lines->stripes[i].lock);
    }
}

/* Where the pointer to the line is, or the NULL at the end. Under the lock. */
static struct jzx__line **place_of(struct jzx__line_stripe *stripe, jzx_actor_id to) {
    struct jzx__line **place = &stripe->lines;
    while (*place != NULL && (*place)->to != to)
        place = &(*place)->next;
    return place;
}

struct jzx__line *jzx__line_find(struct jzx__lines *lines, jzx_actor_id to) {
    struct jzx__line *line = *place_of(jzx__line_stripe(lines, to), to);
    return line == NULL || jzx__list_is_empty(&line->source.waiting) ? NULL : line;
}

bool jzx__line_is_taken(struct jzx__lines *lines, jzx_actor_id to) {
    struct jzx__line_stripe *stripe = jzx__line_stripe(lines, to);
    /* relaxed: a hint; one that joined before the caller came is counted by then */
    if (jzx__atomic_load_relaxed(&stripe->users) == 0)
        return false;
    jzx__lock_acquire(&stripe->lock);
    bool is_taken = jzx__line_find(lines, to) != NULL;
    jzx__lock_release(&stripe->lock);
    return is_taken;
}

/* Under the lock. */
static void count_user(struct jzx__line_stripe *stripe, struct jzx__line *line) {
    line->users++;
    /* relaxed: written under the lock; see is_taken */
    jzx__atomic_add_relaxed(&stripe->users, 1u);
}

struct jzx__line *jzx__line_enter(struct jzx__lines *lines, struct jzx__worker *me, jzx_actor_id to,
                                  const struct jzx__source_ops *ops) {
    struct jzx__line_stripe *stripe = jzx__line_stripe(lines, to);
    struct jzx__line *spare = jzx__sched_alloc(lines->sched, me, LINE_CLASS);
    if (spare == NULL)
        return NULL;
    jzx__source_init(&spare->source, &stripe->lock, ops);
    spare->next = NULL;
    spare->to = to;
    spare->users = 0;
    jzx__lock_acquire(&stripe->lock);
    struct jzx__line **place = place_of(stripe, to);
    if (*place == NULL) {
        *place = spare;
        spare = NULL;
    }
    struct jzx__line *line = *place;
    count_user(stripe, line);
    jzx__lock_release(&stripe->lock);
    if (spare != NULL)
        jzx__sched_free(lines->sched, me, LINE_CLASS, spare);
    return line;
}

void jzx__line_leave(struct jzx__lines *lines, struct jzx__worker *me, struct jzx__line *line) {
    struct jzx__line_stripe *stripe = jzx__line_stripe(lines, line->to);
    jzx__lock_acquire(&stripe->lock);
    bool is_last = --line->users == 0;
    /* relaxed: as in count_user. It wraps, and so is one less */
    jzx__atomic_add_relaxed(&stripe->users, UINT32_MAX);
    if (is_last)
        *place_of(stripe, line->to) = line->next;
    jzx__lock_release(&stripe->lock);
    if (!is_last)
        return;
    jzx__source_deinit(&line->source);
    jzx__sched_free(lines->sched, me, LINE_CLASS, line);
}

void jzx__line_close(struct jzx__lines *lines, struct jzx__worker *me, jzx_actor_id to) {
    struct jzx__line_stripe *stripe = jzx__line_stripe(lines, to);
    jzx__lock_acquire(&stripe->lock);
    struct jzx__line *line = jzx__line_find(lines, to);
    if (line != NULL)
        count_user(stripe, line);
    jzx__lock_release(&stripe->lock);
    if (line == NULL)
        return;
    jzx__source_wake_all(&line->source, JZX__CAUSE_CLOSED, me);
    jzx__line_leave(lines, me, line);
}
