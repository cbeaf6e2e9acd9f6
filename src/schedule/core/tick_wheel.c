/* SPDX-License-Identifier: MIT */
/* All entries are within the span, so neither the wheel's own heap nor any later memory is used. */
#include "schedule/core/tick_wheel.h"

#include "base/assert.h"
#include "schedule/core/region.h"

struct tick_wheel {
    struct jzx__wheel wheel;
    struct jzx__region region; /* of the slots, behind this struct */
    jzx_allocator allocator;   /* in the region */
};

_Static_assert(sizeof(struct jzx__wheel_entry) <= sizeof(((jzx_tick_entry *)NULL)->own),
               "an entry of the wheel fits in the room of its timer");

static struct jzx__wheel_entry *inner_of(jzx_tick_entry *entry) {
    return (struct jzx__wheel_entry *)(void *)entry->own;
}

static size_t wheel_size(void *arg, size_t entries_max) {
    const struct jzx__wheel_shape *shape = arg;
    (void)entries_max;
    return jzx__region_round(sizeof(struct tick_wheel)) +
           jzx__region_round(jzx__wheel_bytes(*shape));
}

static void *wheel_create(void *arg, void *memory, size_t entries_max, uint64_t now) {
    const struct jzx__wheel_shape *shape = arg;
    struct tick_wheel *self = memory;
    size_t used = jzx__region_round(sizeof *self);
    self->region =
        (struct jzx__region){(char *)memory + used, wheel_size(arg, entries_max) - used, 0};
    self->allocator = jzx__region_allocator(&self->region);
    bool made = jzx__wheel_init(&self->wheel, *shape, now, &self->allocator);
    JZX_ASSERT(made);
    return self;
}

static void wheel_destroy(void *timer) {
    struct tick_wheel *self = timer;
    jzx__wheel_deinit(&self->wheel);
}

static void wheel_insert(void *timer, jzx_tick_entry *entry) {
    struct tick_wheel *self = timer;
    JZX_ASSERT(jzx__wheel_is_near(&self->wheel, entry->tick));
    jzx__wheel_set_near(&self->wheel, inner_of(entry), 0, entry->tick);
}

static void wheel_cancel(void *timer, jzx_tick_entry *entry) {
    struct tick_wheel *self = timer;
    jzx__wheel_remove_near(&self->wheel, inner_of(entry));
}

static jzx_tick_entry *wheel_poll_expired(void *timer, uint64_t tick) {
    struct tick_wheel *self = timer;
    struct jzx__wheel_entry *inner = jzx__wheel_pop(&self->wheel, tick);
    return inner == NULL ? NULL : JZX_CONTAINER_OF(inner, jzx_tick_entry, own);
}

static uint64_t wheel_next(void *timer) {
    struct tick_wheel *self = timer;
    return jzx__wheel_next(&self->wheel);
}

jzx_tick_timer jzx__tick_wheel(const struct jzx__wheel_shape *shape) {
    return (jzx_tick_timer){.arg = (void *)(uintptr_t)shape,
                            .size = wheel_size,
                            .create = wheel_create,
                            .destroy = wheel_destroy,
                            .insert = wheel_insert,
                            .cancel = wheel_cancel,
                            .poll_expired = wheel_poll_expired,
                            .next = wheel_next};
}
