/* SPDX-License-Identifier: MIT */
/* Timer, overflow, and the way between them. */
#include "schedule/core/places.h"

#include "base/assert.h"
#include "schedule/core/tick_wheel.h"

jzx_tick_timer jzx__places_timer(const struct jzx__schedule_config *config) {
    return config->timer != NULL ? *config->timer : jzx__tick_wheel(&config->shape);
}

static uint64_t span_of(struct jzx__wheel_shape shape) {
    uint64_t span = 1;
    for (uint32_t i = 0; i < JZX__WHEEL_LEVELS; i++)
        span *= shape.slots[i];
    return span;
}

bool jzx__places_init(struct jzx__places *places, const struct jzx__schedule_config *config,
                      const struct jzx__places_memory *memory, uint64_t now) {
    places->timer = jzx__places_timer(config);
    places->state =
        places->timer.create(places->timer.arg, memory->timer, config->capacity.system_quota, now);
    if (places->state == NULL)
        return false;
    places->now = now;
    places->said = UINT64_MAX;
    places->span = span_of(config->shape);
    places->in_timer = 0;
    jzx__slots_init(&places->slots, memory->cells, config->capacity.system_quota);
    jzx__heap_init(&places->overflow, NULL); /* it never grows */
    places->overflow.items = memory->items;
    places->overflow.capacity = config->capacity.overflow;
    places->slot_capacity = config->slot_capacity;
    places->batch_limit = config->reinsertion_batch_limit;
    places->threshold =
        (uint32_t)((uint64_t)config->capacity.overflow * config->overflow_threshold_pct / 100);
    places->threshold = places->threshold > 0 ? places->threshold : 1;
    places->lead_ticks = config->capacity.overflow / config->reinsertion_batch_limit + 2;
    places->moved_total = 0;
    return true;
}

void jzx__places_deinit(struct jzx__places *places) {
    JZX_ASSERT(jzx__places_count(places) == 0);
    if (places->timer.destroy != NULL)
        places->timer.destroy(places->state);
}

static void put_in_timer(struct jzx__places *places, struct jzx__job *job, uint64_t tick) {
    job->entry.tick = tick;
    places->timer.insert(places->state, &job->entry);
    places->in_timer++;
    jzx__slots_add(&places->slots, tick);
    job->where = JZX__WHERE_TIMER;
}

/* A job has left the timer. */
static void leave_timer(struct jzx__places *places, struct jzx__job *job) {
    places->in_timer--;
    jzx__slots_remove(&places->slots, job->entry.tick);
}

static uint64_t tick_for(const struct jzx__places *places, uint64_t deadline) {
    uint64_t soonest = places->now + 1;
    return deadline > soonest ? deadline : soonest;
}

static bool is_near(const struct jzx__places *places, uint64_t tick) {
    return tick - places->now < places->span;
}

static bool slot_is_full(const struct jzx__places *places, uint64_t tick) {
    return jzx__slots_count(&places->slots, tick) >= places->slot_capacity;
}

static bool put_in_overflow(struct jzx__places *places, struct jzx__job *job) {
    if (places->overflow.count == places->overflow.capacity)
        return false;
    bool pushed = jzx__heap_push(&places->overflow, &job->far, job->deadline, job->sequence);
    JZX_ASSERT(pushed);
    job->where = JZX__WHERE_OVERFLOW;
    return true;
}

enum jzx__placed jzx__places_add(struct jzx__places *places, struct jzx__job *job) {
    JZX_ASSERT(job->where == JZX__WHERE_NOWHERE);
    uint64_t tick = tick_for(places, job->deadline);
    if (!is_near(places, tick))
        return put_in_overflow(places, job) ? JZX__PLACED : JZX__OVERFLOW_FULL;
    if (slot_is_full(places, tick))
        return JZX__SLOT_FULL;
    put_in_timer(places, job, tick);
    return JZX__PLACED;
}

void jzx__places_add_again(struct jzx__places *places, struct jzx__job *job) {
    JZX_ASSERT(job->where == JZX__WHERE_NOWHERE);
    uint64_t deadline = job->deadline > job->not_before ? job->deadline : job->not_before;
    uint64_t tick = tick_for(places, deadline);
    bool fits = is_near(places, tick);
    if (!fits && put_in_overflow(places, job))
        return;
    /* A full overflow: it goes round in the timer until its time is near. */
    put_in_timer(places, job, fits ? tick : places->now + places->span - 1);
}

void jzx__places_remove(struct jzx__places *places, struct jzx__job *job) {
    switch (job->where) {
    case JZX__WHERE_NOWHERE: return;
    case JZX__WHERE_TIMER:
        places->timer.cancel(places->state, &job->entry);
        leave_timer(places, job);
        break;
    case JZX__WHERE_OVERFLOW: jzx__heap_remove(&places->overflow, &job->far); break;
    case JZX__WHERE_DUE: jzx__list_remove(&job->due); break;
    }
    job->where = JZX__WHERE_NOWHERE;
}

/* How many ticks ahead jobs leave the overflow (P3). */
static uint64_t reach_of(const struct jzx__places *places) {
    return jzx__places_is_near_capacity(places) ? places->span - 1 : places->lead_ticks;
}

uint32_t jzx__places_reinsert(struct jzx__places *places) {
    uint64_t last = places->now + reach_of(places);
    uint32_t moved = 0;
    const struct jzx__heap_item *item;
    while (moved < places->batch_limit && (item = jzx__heap_peek(&places->overflow)) != NULL &&
           item->key <= last) {
        uint64_t tick = tick_for(places, item->key);
        if (slot_is_full(places, tick))
            break;
        struct jzx__heap_node *node = jzx__heap_pop(&places->overflow);
        put_in_timer(places, JZX_CONTAINER_OF(node, struct jzx__job, far), tick);
        moved++;
    }
    places->moved_total += moved;
    return moved;
}

struct jzx__job *jzx__places_pop(struct jzx__places *places, uint64_t tick) {
    jzx_tick_entry *entry;
    places->now = tick;
    while ((entry = places->timer.poll_expired(places->state, tick)) != NULL) {
        struct jzx__job *job = JZX_CONTAINER_OF(entry, struct jzx__job, entry);
        leave_timer(places, job);
        job->where = JZX__WHERE_NOWHERE;
        if (job->deadline <= tick)
            return job;
        jzx__places_add_again(places, job); /* it went round */
    }
    return NULL;
}

/* ---- a timer that is wrong ---- */

/* The core has no printf. */
struct line {
    char text[128];
    size_t length;
};

static void add_text(struct line *line, const char *text) {
    while (*text != '\0' && line->length + 1 < sizeof line->text)
        line->text[line->length++] = *text++;
    line->text[line->length] = '\0';
}

static void add_tick(struct line *line, uint64_t tick) {
    char digits[21];
    char *first = &digits[20];
    *first = '\0';
    do {
        *--first = (char)('0' + tick % 10);
        tick /= 10;
    } while (tick != 0);
    add_text(line, first);
}

JZX_COLD static void next_was_too_late(uint64_t said, uint64_t due) {
    struct line line = {.length = 0};
    add_text(&line, "jzx_tick_timer.next was too late: it returned ");
    if (said == UINT64_MAX)
        add_text(&line, "UINT64_MAX");
    else
        add_tick(&line, said);
    add_text(&line, ", and an entry is due at tick ");
    add_tick(&line, due);
    jzx__wrong_use(line.text);
}

/* ---- time passes ---- */

void jzx__places_pass(struct jzx__places *places, uint64_t to) {
    const jzx_tick_entry *due = places->timer.poll_expired(places->state, to);
    if (JZX_UNLIKELY(due != NULL))
        next_was_too_late(places->said, due->tick);
    places->now = to;
}

uint64_t jzx__places_next(struct jzx__places *places) {
    uint64_t next = places->timer.next(places->state);
    places->said = next;
    const struct jzx__heap_item *item = jzx__heap_peek(&places->overflow);
    if (item == NULL)
        return next;
    uint64_t reach = reach_of(places);
    /* reinsertion before tick t reaches t - 1 + reach */
    uint64_t leaves = item->key >= reach ? item->key - reach + 1 : 0;
    leaves = tick_for(places, leaves);
    return leaves < next ? leaves : next;
}
