/* SPDX-License-Identifier: MIT */
/* Rings that keep the newest. */
#include "schedule/core/events.h"

size_t jzx__events_storage(uint32_t capacity) {
    return (size_t)capacity * (JZX__SUBSCRIBERS_MAX + 1);
}

void jzx__events_init(struct jzx__schedule_events *events, struct jzx__schedule_event *storage,
                      uint32_t capacity, jzx__schedule_emit_fn emit, void *ctx) {
    *events = (struct jzx__schedule_events){.emit = emit, .ctx = ctx};
    for (uint32_t i = 0; i < JZX__SUBSCRIBERS_MAX; i++)
        events->rings[i] =
            (struct jzx__event_ring){storage + (size_t)i * capacity, capacity, 0, 0, 0, 0, 0};
    events->early = (struct jzx__event_ring){
        storage + (size_t)JZX__SUBSCRIBERS_MAX * capacity, capacity, 0, 0, JZX__EVENT_ALL, 0, 0};
}

/* ---- one ring ---- */

/* i is below twice the capacity. */
static uint32_t wrap(const struct jzx__event_ring *ring, uint32_t i) {
    return i < ring->capacity ? i : i - ring->capacity;
}

/* True if an older event had to go. */
static bool ring_push(struct jzx__event_ring *ring, const struct jzx__schedule_event *event) {
    bool is_full = ring->count == ring->capacity;
    ring->events[wrap(ring, ring->first + ring->count)] = *event;
    if (is_full) {
        ring->first = wrap(ring, ring->first + 1);
        ring->dropped++;
        ring->lost++;
    } else {
        ring->count++;
    }
    return is_full;
}

static bool ring_pop(struct jzx__event_ring *ring, struct jzx__schedule_event *event) {
    if (ring->count == 0)
        return false;
    *event = ring->events[ring->first];
    ring->first = wrap(ring, ring->first + 1);
    if (--ring->count == 0)
        ring->lost = 0;
    return true;
}

static void ring_clear(struct jzx__event_ring *ring, uint32_t kinds) {
    ring->first = ring->count = 0;
    ring->kinds = kinds;
    ring->dropped = ring->lost = 0;
}

/* ---- telling ---- */

static void to_stream(struct jzx__schedule_events *events,
                      const struct jzx__schedule_event *event) {
    if (events->emit != NULL)
        events->emit(events->ctx, event);
}

/* The first event that a ring loses is reported on the stream; losing as many as it holds is an
 * overflow, of which its subscriber hears, too. */
static void tell_loss(struct jzx__schedule_events *events, struct jzx__event_ring *ring,
                      uint64_t tick) {
    events->dropped_total++;
    struct jzx__schedule_event loss = {.kind = JZX__EVENT_DIAGNOSTICS_DROPPED,
                                       .tick = tick,
                                       .value = ring->lost,
                                       .capacity = ring->capacity};
    if (ring->lost == 1)
        to_stream(events, &loss);
    if (ring->lost != ring->capacity)
        return;
    loss.kind = JZX__EVENT_DIAGNOSTICS_OVERFLOW;
    to_stream(events, &loss);
    if (ring_push(ring, &loss)) /* it takes the place of one more */
        events->dropped_total++;
}

void jzx__events_tell(struct jzx__schedule_events *events,
                      const struct jzx__schedule_event *event) {
    if (event->kind >= JZX__EVENT_FIRST_WARNING || events->subscribers == 0)
        to_stream(events, event);
    if (!events->had_subscriber && ring_push(&events->early, event))
        events->dropped_total++;
    for (uint32_t i = 0; i < JZX__SUBSCRIBERS_MAX && events->subscribers > 0; i++) {
        struct jzx__event_ring *ring = &events->rings[i];
        if ((ring->kinds & JZX__EVENT_BIT(event->kind)) != 0 && ring_push(ring, event))
            tell_loss(events, ring, event->tick);
    }
}

/* ---- subscribers ---- */

static void replay_early(struct jzx__schedule_events *events, struct jzx__event_ring *ring) {
    struct jzx__schedule_event event;
    while (ring_pop(&events->early, &event)) {
        if ((ring->kinds & JZX__EVENT_BIT(event.kind)) != 0)
            (void)ring_push(ring, &event); /* as large as the early one: nothing is lost */
    }
}

int jzx__events_subscribe(struct jzx__schedule_events *events, uint32_t kinds) {
    kinds &= JZX__EVENT_ALL;
    for (int i = 0; kinds != 0 && i < (int)JZX__SUBSCRIBERS_MAX; i++) {
        struct jzx__event_ring *ring = &events->rings[i];
        if (ring->kinds != 0)
            continue;
        ring_clear(ring, kinds);
        if (!events->had_subscriber)
            replay_early(events, ring);
        events->had_subscriber = true;
        events->subscribers++;
        return i;
    }
    return -1;
}

static struct jzx__event_ring *ring_of(struct jzx__schedule_events *events, int subscriber) {
    if (subscriber < 0 || subscriber >= (int)JZX__SUBSCRIBERS_MAX ||
        events->rings[subscriber].kinds == 0)
        return NULL;
    return &events->rings[subscriber];
}

void jzx__events_unsubscribe(struct jzx__schedule_events *events, int subscriber) {
    struct jzx__event_ring *ring = ring_of(events, subscriber);
    if (ring == NULL)
        return;
    ring_clear(ring, 0);
    events->subscribers--;
}

bool jzx__events_next(struct jzx__schedule_events *events, int subscriber,
                      struct jzx__schedule_event *event) {
    struct jzx__event_ring *ring = ring_of(events, subscriber);
    return ring != NULL && ring_pop(ring, event);
}

const char *jzx__event_text(enum jzx__schedule_event_kind kind) {
    static const char *const texts[] = {
#define JZX__EVENT_TEXT(name, text) text,
        JZX__SCHEDULE_EVENTS(JZX__EVENT_TEXT)
#undef JZX__EVENT_TEXT
    };
    return kind < JZX__EVENT_KINDS ? texts[kind] : "unknown";
}
