/* SPDX-License-Identifier: MIT */
/* Sending and receiving (C1-C4 of channel.h). */
#include "sync/channel.h"

#include "base/alloc.h"
#include "sync/to.h"

#include <string.h>

#define RING_FIRST 16u /* of an unbounded channel */

_Static_assert(sizeof(struct jzx__channel) <= sizeof(jzx_channel), "fits its storage");

/* ---- the ring, under the lock ---- */

static unsigned char *place_of(const struct jzx__channel *channel, size_t index) {
    size_t at = channel->first + index;
    return channel->ring + (at < channel->size ? at : at - channel->size) * channel->value_size;
}

/* Twice as large, or more than nothing. False without memory. */
static bool grow(struct jzx__channel *channel) {
    size_t size = channel->size == 0 ? RING_FIRST : channel->size * 2;
    if (size > SIZE_MAX / 2 / channel->value_size)
        return false;
    unsigned char *ring = jzx__alloc(&channel->allocator, size * channel->value_size);
    if (ring == NULL)
        return false;
    size_t until_end = channel->size - channel->first;
    size_t head = channel->count < until_end ? channel->count : until_end;
    if (channel->count != 0) {
        memcpy(ring, place_of(channel, 0), head * channel->value_size);
        memcpy(ring + head * channel->value_size, channel->ring,
               (channel->count - head) * channel->value_size);
    }
    if (channel->ring != NULL)
        jzx__free(&channel->allocator, channel->ring, channel->size * channel->value_size);
    channel->ring = ring;
    channel->size = size;
    channel->first = 0;
    return true;
}

static size_t unpromised(const struct jzx__channel *channel) {
    return JZX__MUTANT(channel_promised_twice) ? channel->count
                                               : channel->count - channel->promised;
}

/* The most common size is copied by one instruction in place of a call. */
static inline void copy(void *to, const void *from, size_t size) {
    if (size == sizeof(uint64_t))
        memcpy(to, from, sizeof(uint64_t));
    else
        memcpy(to, from, size);
}

/* C2: promises a value to the first that waits for one, if there are both. */
static void serve_receiver(struct jzx__channel *channel, struct jzx__wake *wake) {
    if (!jzx__list_is_empty(&channel->receivers.waiting) && unpromised(channel) != 0 &&
        jzx__source_claim(&channel->receivers, JZX__CAUSE_ITEM, wake) != NULL)
        channel->promised++;
}

/* There is room. */
static void put_last(struct jzx__channel *channel, const void *value, struct jzx__wake *wake) {
    copy(place_of(channel, channel->count), value, channel->value_size);
    channel->count++;
    channel->is_closed = channel->is_closed || channel->closes;
    serve_receiver(channel, wake);
}

/* What a receiver has to do when it has unlocked. */
struct wakes {
    struct jzx__wake sender;
    struct jzx__wake receiver;
    bool is_over; /* C4 */
};

/* The oldest value goes to *value; there is one. With a promise, which is used up by this. */
static void pop(struct jzx__channel *channel, bool was_promised, void *value, struct wakes *wakes) {
    JZX_ASSERT(channel->count != 0 && (!was_promised || channel->promised != 0)); /* C1 */
    copy(value, place_of(channel, 0), channel->value_size);
    channel->first = channel->first + 1 == channel->size ? 0 : channel->first + 1;
    channel->count--;
    channel->promised -= was_promised;
    if (!jzx__list_is_empty(&channel->senders.waiting) && !JZX__MUTANT(channel_room_unsaid)) {
        struct jzx__wait_link *link =
            jzx__source_claim(&channel->senders, JZX__CAUSE_ITEM, &wakes->sender);
        if (link != NULL)
            put_last(channel, link->slot, &wakes->receiver); /* C3 */
    }
    wakes->is_over = !JZX__MUTANT(channel_end_unsaid) && channel->is_closed &&
                     channel->count == 0 && !jzx__list_is_empty(&channel->receivers.waiting);
}

/* The caller has the lock, which is released. */
static inline void unlock_and_wake(struct jzx__channel *channel, const struct wakes *wakes,
                                   struct jzx__worker *me) {
    if (JZX_UNLIKELY(wakes->is_over))
        jzx__source_unlock_and_wake_all(&channel->receivers, JZX__CAUSE_CLOSED, me);
    else
        jzx__lock_release(&channel->lock);
    jzx__wake_make(&wakes->sender, me);
    jzx__wake_make(&wakes->receiver, me);
}

/* ---- the two sources, under the lock ---- */

static enum jzx__cause_kind look_for_value(struct jzx__source *source,
                                           const struct jzx__wait_link *link) {
    const struct jzx__channel *channel = JZX_CONTAINER_OF(source, struct jzx__channel, receivers);
    (void)link;
    if (unpromised(channel) != 0)
        return JZX__CAUSE_ITEM;
    return channel->is_closed && channel->count == 0 ? JZX__CAUSE_CLOSED : JZX__CAUSE_NONE;
}

static bool promise(struct jzx__source *source, struct jzx__wait_link *link,
                    struct jzx__wake *wake) {
    struct jzx__channel *channel = JZX_CONTAINER_OF(source, struct jzx__channel, receivers);
    (void)link;
    (void)wake;
    channel->promised++;
    return true;
}

static void take_promise_back(struct jzx__source *source, struct jzx__wait_link *link,
                              struct jzx__worker *me) {
    struct jzx__channel *channel = JZX_CONTAINER_OF(source, struct jzx__channel, receivers);
    struct jzx__wake wake = {.fn = NULL};
    (void)link;
    jzx__lock_acquire(&channel->lock);
    channel->promised -= !JZX__MUTANT(channel_promise_kept);
    serve_receiver(channel, &wake);
    jzx__lock_release(&channel->lock);
    jzx__wake_make(&wake, me);
}

static enum jzx__cause_kind look_for_room(struct jzx__source *source,
                                          const struct jzx__wait_link *link) {
    const struct jzx__channel *channel = JZX_CONTAINER_OF(source, struct jzx__channel, senders);
    (void)link;
    if (channel->is_closed)
        return JZX__CAUSE_CLOSED;
    return channel->count < channel->bound ? JZX__CAUSE_ITEM : JZX__CAUSE_NONE;
}

static bool put(struct jzx__source *source, struct jzx__wait_link *link, struct jzx__wake *wake) {
    struct jzx__channel *channel = JZX_CONTAINER_OF(source, struct jzx__channel, senders);
    put_last(channel, link->slot, wake);
    return true;
}

/* ---- making one ---- */

static jzx_err init(jzx_loop *loop, jzx_channel *storage, size_t capacity, size_t value_size,
                    bool closes) {
    static const struct jzx__source_ops receiver_ops = {
        .look = look_for_value,
        .take = promise,
        .give_back = take_promise_back,
        .refs_at = JZX__REFS_AT(struct jzx__channel, receivers, refs)};
    static const struct jzx__source_ops sender_ops = {
        .look = look_for_room,
        .take = put,
        .refs_at = JZX__REFS_AT(struct jzx__channel, senders, refs)};
    struct jzx__channel *channel = (struct jzx__channel *)(void *)storage;
    bool is_bounded = capacity != JZX_UNBOUNDED;
    if (capacity == 0 || value_size == 0 || (is_bounded && capacity > SIZE_MAX / 2 / value_size))
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__object_init((void *)storage, loop, JZX__SYNC_CHANNEL);
    if (err != JZX_OK)
        return err;
    struct jzx__object object = channel->object;
    *channel = (struct jzx__channel){.object = object,
                                     .value_size = value_size,
                                     .bound = capacity,
                                     .size = is_bounded ? capacity : 0,
                                     .closes = closes,
                                     .allocator = loop->sched.allocator};
    if (is_bounded)
        channel->ring = jzx__alloc(&channel->allocator, capacity * value_size);
    if (is_bounded && channel->ring == NULL) {
        jzx__object_deinit(&channel->object);
        return JZX_ERR_NO_MEMORY;
    }
    jzx__lock_init(&channel->lock);
    jzx__source_init(&channel->receivers, &channel->lock, &receiver_ops);
    jzx__source_init(&channel->senders, &channel->lock, &sender_ops);
    return JZX_OK;
}

jzx_err jzx_channel_init(jzx_loop *loop, jzx_channel *channel, size_t capacity, size_t value_size) {
    return init(loop, channel, capacity, value_size, false);
}

jzx_err jzx_channel_init_oneshot(jzx_loop *loop, jzx_channel *channel, size_t value_size) {
    return init(loop, channel, 1, value_size, true);
}

jzx_err jzx_channel_deinit(jzx_channel *storage) {
    struct jzx__channel *channel = jzx__channel_of(storage);
    if (channel == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx__lock_acquire(&channel->lock);
    bool is_used = jzx__source_has_refs(&channel->receivers); /* the senders' are the same */
    jzx__lock_release(&channel->lock);
    if (is_used)
        return JZX_ERR_BUSY;
    JZX_ASSERT(channel->promised == 0); /* C1: it has a reference */
    jzx__source_deinit(&channel->receivers);
    jzx__source_deinit(&channel->senders);
    jzx__lock_deinit(&channel->lock);
    if (channel->ring != NULL)
        jzx__free(&channel->allocator, channel->ring, channel->size * channel->value_size);
    jzx__object_deinit(&channel->object);
    return JZX_OK;
}

jzx_err jzx_channel_close(jzx_channel *storage) {
    struct jzx__channel *channel = jzx__channel_of(storage);
    struct jzx__caller caller;
    if (channel == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx__caller_begin_any(&caller, &channel->object);
    jzx__lock_acquire(&channel->lock);
    channel->is_closed = true;
    if (channel->count == 0) /* C4 */
        jzx__list_splice(&channel->senders.waiting, &channel->receivers.waiting);
    jzx__source_unlock_and_wake_all(&channel->senders, JZX__CAUSE_CLOSED, caller.me);
    jzx__caller_end(&caller);
    return JZX_OK;
}

/* A look under the lock. */
static size_t count_of(const jzx_channel *storage, bool *is_closed) {
    struct jzx__channel *channel = jzx__channel_of(storage);
    struct jzx__caller caller;
    *is_closed = false;
    if (channel == NULL)
        return 0;
    jzx__caller_begin_any(&caller, &channel->object);
    jzx__lock_acquire(&channel->lock);
    size_t count = channel->count;
    *is_closed = channel->is_closed;
    jzx__lock_release(&channel->lock);
    jzx__caller_end(&caller);
    return count;
}

bool jzx_channel_is_closed(const jzx_channel *channel) {
    bool is_closed;
    (void)count_of(channel, &is_closed);
    return is_closed;
}

size_t jzx_channel_count(const jzx_channel *channel) {
    bool is_closed;
    return count_of(channel, &is_closed);
}

/* ---- sending ---- */

/* JZX_ERR_TIMEOUT: there is no room now. */
static jzx_err send_now(struct jzx__channel *channel, const void *value, struct jzx__worker *me) {
    struct jzx__wake wake = {.fn = NULL};
    jzx_err err = JZX_OK;
    jzx__lock_acquire(&channel->lock);
    if (channel->is_closed)
        err = JZX_ERR_CLOSED;
    else if (channel->count == channel->bound)
        err = JZX_ERR_TIMEOUT;
    else if (channel->count == channel->size && !grow(channel))
        err = JZX_ERR_NO_MEMORY;
    else
        put_last(channel, value, &wake);
    jzx__lock_release(&channel->lock);
    jzx__wake_make(&wake, me);
    return err;
}

static jzx_err await_room(struct jzx__party *party, struct jzx__channel *channel, const void *value,
                          uint64_t deadline_ns) {
    struct jzx__wait_link link = {.source = &channel->senders, .slot = (void *)(uintptr_t)value};
    const struct jzx__event event = {
        .kind = JZX_WAIT_CHANNEL, .object = (uintptr_t)channel, .links = &link, .count = 1};
    jzx__refs_add(&channel->refs);
    jzx_err err = jzx__cause_err(jzx__party_await(party, &event, deadline_ns));
    jzx__refs_drop(&channel->refs);
    return err;
}

static jzx_err send(struct jzx__party *party, struct jzx__channel *channel, const void *value,
                    uint64_t deadline_ns) {
    bool never_waits = channel->bound == JZX_UNBOUNDED;
    if (jzx__party_goes_on(party) || never_waits) {
        jzx_err err = send_now(channel, value, party->me);
        if (err != JZX_ERR_TIMEOUT)
            return err;
    }
    return await_room(party, channel, value, deadline_ns);
}

jzx_err jzx_channel_send(jzx_context *ctx, jzx_channel *storage, const void *value,
                         uint64_t deadline_ns) {
    struct jzx__channel *channel = jzx__channel_of(storage);
    struct jzx__party party;
    if (channel == NULL || value == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__party_begin_fiber(&party, &channel->object, ctx, "jzx_channel_send");
    if (err != JZX_OK)
        return err;
    err = send(&party, channel, value, deadline_ns);
    jzx__party_end(&party);
    return err;
}

jzx_err jzx_channel_send_wait(jzx_channel *storage, const void *value, uint64_t deadline_ns) {
    struct jzx__channel *channel = jzx__channel_of(storage);
    struct jzx__party party;
    if (channel == NULL || value == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__party_begin_thread(&party, &channel->object, "jzx_channel_send_wait");
    if (err != JZX_OK)
        return err;
    err = send(&party, channel, value, deadline_ns);
    jzx__party_end(&party);
    return err;
}

jzx_err jzx_channel_try_send(jzx_channel *storage, const void *value) {
    struct jzx__channel *channel = jzx__channel_of(storage);
    struct jzx__caller caller;
    if (channel == NULL || value == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx__caller_begin_any(&caller, &channel->object);
    jzx_err err = send_now(channel, value, caller.me);
    jzx__caller_end(&caller);
    return err;
}

/* ---- receiving ---- */

/* JZX_ERR_TIMEOUT: there is nothing now. */
static jzx_err receive_now(struct jzx__channel *channel, void *value, struct jzx__worker *me) {
    struct wakes wakes = {.is_over = false};
    jzx_err err = JZX_OK;
    jzx__lock_acquire(&channel->lock);
    if (unpromised(channel) != 0)
        pop(channel, false, value, &wakes);
    else
        err = channel->is_closed && channel->count == 0 ? JZX_ERR_CLOSED : JZX_ERR_TIMEOUT;
    unlock_and_wake(channel, &wakes, me);
    return err;
}

void jzx__channel_take_promised(struct jzx__channel *channel, void *value, struct jzx__worker *me) {
    struct wakes wakes = {.is_over = false};
    jzx__lock_acquire(&channel->lock);
    pop(channel, true, value, &wakes);
    unlock_and_wake(channel, &wakes, me);
}

static jzx_err receive(struct jzx__party *party, struct jzx__channel *channel, uint64_t deadline_ns,
                       void *value) {
    if (jzx__party_goes_on(party)) {
        jzx_err err = receive_now(channel, value, party->me);
        if (err != JZX_ERR_TIMEOUT)
            return err;
    }
    struct jzx__wait_link link = {.source = &channel->receivers};
    const struct jzx__event event = {
        .kind = JZX_WAIT_CHANNEL, .object = (uintptr_t)channel, .links = &link, .count = 1};
    jzx__refs_add(&channel->refs);
    uint32_t cause = jzx__party_await(party, &event, deadline_ns);
    if (jzx__cause_kind(cause) == JZX__CAUSE_ITEM)
        jzx__channel_take_promised(channel, value, party->me);
    jzx__refs_drop(&channel->refs);
    return jzx__cause_err(cause);
}

jzx_err jzx_channel_receive(jzx_context *ctx, jzx_channel *storage, uint64_t deadline_ns,
                            void *value) {
    struct jzx__channel *channel = jzx__channel_of(storage);
    struct jzx__party party;
    if (channel == NULL || value == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__party_begin_fiber(&party, &channel->object, ctx, "jzx_channel_receive");
    if (err != JZX_OK)
        return err;
    err = receive(&party, channel, deadline_ns, value);
    jzx__party_end(&party);
    return err;
}

jzx_err jzx_channel_receive_wait(jzx_channel *storage, uint64_t deadline_ns, void *value) {
    struct jzx__channel *channel = jzx__channel_of(storage);
    struct jzx__party party;
    if (channel == NULL || value == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__party_begin_thread(&party, &channel->object, "jzx_channel_receive_wait");
    if (err != JZX_OK)
        return err;
    err = receive(&party, channel, deadline_ns, value);
    jzx__party_end(&party);
    return err;
}

jzx_err jzx_channel_try_receive(jzx_channel *storage, void *value) {
    struct jzx__channel *channel = jzx__channel_of(storage);
    struct jzx__caller caller;
    if (channel == NULL || value == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx__caller_begin_any(&caller, &channel->object);
    jzx_err err = receive_now(channel, value, caller.me);
    jzx__caller_end(&caller);
    return err;
}

/* ---- as an operation ---- */

struct channel_to {
    struct jzx__to to; /* first */
    struct jzx__wait_link link;
    struct jzx__channel *channel;
};

static bool handle_receive(struct jzx__to *to, struct jzx__worker *me, struct jzx__actor *owner) {
    const struct channel_to *it = (void *)to;
    (void)owner;
    jzx__channel_take_promised(it->channel, jzx__to_data(to), me);
    jzx__to_result(to)->len = (uint32_t)it->channel->value_size;
    return true;
}

static const struct jzx__to_kind receive_kind = {.handle = handle_receive};
static const struct jzx__to_kind send_kind = {.handle = NULL};

/* Begins a call of either kind. */
static jzx_err begin_to(struct jzx__to_call *call, struct jzx__channel *channel,
                        const struct jzx__to_kind *kind, uint32_t tag, const jzx_context *ctx) {
    const struct jzx__to_spec spec = {.object = &channel->object,
                                      .kind = kind,
                                      .record_size = sizeof(struct channel_to),
                                      .capacity = channel->value_size,
                                      .tag = tag};
    jzx_err err = jzx__to_begin(call, &spec, ctx);
    if (err == JZX_OK)
        ((struct channel_to *)(void *)call->to)->channel = channel;
    return err;
}

jzx_err jzx_channel_receive_to(jzx_context *ctx, jzx_channel *storage, uint32_t tag, jzx_op *op) {
    struct jzx__channel *channel = jzx__channel_of(storage);
    struct jzx__to_call call;
    if (channel == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = begin_to(&call, channel, &receive_kind, tag, ctx);
    if (err != JZX_OK)
        return err;
    struct channel_to *it = (void *)call.to;
    it->link.source = &channel->receivers;
    jzx__to_start(&call, &it->link, 1, op);
    return JZX_OK;
}

/* The value waits in the block of the message. */
jzx_err jzx_channel_send_to(jzx_context *ctx, jzx_channel *storage, const void *value, uint32_t tag,
                            jzx_op *op) {
    struct jzx__channel *channel = jzx__channel_of(storage);
    struct jzx__to_call call;
    if (channel == NULL || value == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = begin_to(&call, channel, &send_kind, tag, ctx);
    if (err != JZX_OK)
        return err;
    if (channel->bound == JZX_UNBOUNDED) {
        err = send_now(channel, value, call.own.me);
        if (err == JZX_ERR_NO_MEMORY)
            return jzx__to_refuse(&call, err);
        jzx__to_finish(&call, err, op);
        return JZX_OK;
    }
    struct channel_to *it = (void *)call.to;
    it->link.source = &channel->senders;
    it->link.slot = jzx__to_data(call.to);
    memcpy(it->link.slot, value, channel->value_size);
    jzx__to_start(&call, &it->link, 1, op);
    return JZX_OK;
}
