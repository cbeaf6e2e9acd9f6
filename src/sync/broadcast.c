/* SPDX-License-Identifier: MIT */
#include "sync/broadcast.h"

#include "base/alloc.h"
#include "sync/to.h"

#include <string.h>

_Static_assert(sizeof(struct jzx__broadcast) <= sizeof(jzx_broadcast), "fits its storage");

/* ---- under the lock ---- */

static unsigned char *place_of(const struct jzx__broadcast *broadcast, uint64_t number) {
    return broadcast->ring + (size_t)(number % broadcast->keep) * broadcast->value_size;
}

/* The number of the oldest value that is left. */
static uint64_t oldest(const struct jzx__broadcast *broadcast) {
    return broadcast->count < broadcast->keep ? 0 : broadcast->count - broadcast->keep;
}

static enum jzx__cause_kind look(struct jzx__source *source, const struct jzx__wait_link *link) {
    const struct jzx__broadcast *broadcast =
        JZX_CONTAINER_OF(source, struct jzx__broadcast, source);
    const uint64_t *number = link->slot;
    if (*number < broadcast->count)
        return JZX__CAUSE_ITEM;
    return broadcast->is_closed ? JZX__CAUSE_CLOSED : JZX__CAUSE_NONE;
}

/* The value stays. */
static bool take(struct jzx__source *source, struct jzx__wait_link *link, struct jzx__wake *wake) {
    (void)source;
    (void)link;
    (void)wake;
    return true;
}

/* ---- making one ---- */

jzx_err jzx_broadcast_init(jzx_loop *loop, jzx_broadcast *storage, size_t keep, size_t value_size) {
    static const struct jzx__source_ops ops = {
        .look = look, .take = take, .refs_at = JZX__REFS_AT(struct jzx__broadcast, source, refs)};
    struct jzx__broadcast *broadcast = (struct jzx__broadcast *)(void *)storage;
    if (keep == 0 || value_size == 0 || keep > SIZE_MAX / 2 / value_size)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__object_init((void *)storage, loop, JZX__SYNC_BROADCAST);
    if (err != JZX_OK)
        return err;
    struct jzx__object object = broadcast->object;
    *broadcast = (struct jzx__broadcast){.object = object,
                                         .keep = keep,
                                         .value_size = value_size,
                                         .allocator = loop->sched.allocator};
    broadcast->ring = jzx__alloc(&broadcast->allocator, keep * value_size);
    if (broadcast->ring == NULL) {
        jzx__object_deinit(&broadcast->object);
        return JZX_ERR_NO_MEMORY;
    }
    jzx__lock_init(&broadcast->lock);
    jzx__source_init(&broadcast->source, &broadcast->lock, &ops);
    return JZX_OK;
}

jzx_err jzx_broadcast_deinit(jzx_broadcast *storage) {
    struct jzx__broadcast *broadcast = jzx__broadcast_of(storage);
    if (broadcast == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx__lock_acquire(&broadcast->lock);
    bool is_used = jzx__source_has_refs(&broadcast->source);
    jzx__lock_release(&broadcast->lock);
    if (is_used)
        return JZX_ERR_BUSY;
    jzx__source_deinit(&broadcast->source);
    jzx__lock_deinit(&broadcast->lock);
    jzx__free(&broadcast->allocator, broadcast->ring, broadcast->keep * broadcast->value_size);
    jzx__object_deinit(&broadcast->object);
    return JZX_OK;
}

/* ---- publishing ---- */

jzx_err jzx_broadcast_publish(jzx_broadcast *storage, const void *value) {
    struct jzx__broadcast *broadcast = jzx__broadcast_of(storage);
    struct jzx__caller caller;
    jzx_err err = JZX_OK;
    if (broadcast == NULL || value == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx__caller_begin_any(&caller, &broadcast->object);
    jzx__lock_acquire(&broadcast->lock);
    if (broadcast->is_closed) {
        err = JZX_ERR_CLOSED;
        jzx__lock_release(&broadcast->lock);
    } else {
        memcpy(place_of(broadcast, broadcast->count), value, broadcast->value_size);
        broadcast->count++;
        jzx__source_unlock_and_wake_all(&broadcast->source, JZX__CAUSE_ITEM, caller.me);
    }
    jzx__caller_end(&caller);
    return err;
}

jzx_err jzx_broadcast_close(jzx_broadcast *storage) {
    struct jzx__broadcast *broadcast = jzx__broadcast_of(storage);
    struct jzx__caller caller;
    if (broadcast == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx__caller_begin_any(&caller, &broadcast->object);
    jzx__lock_acquire(&broadcast->lock);
    broadcast->is_closed = true;
    jzx__source_unlock_and_wake_all(&broadcast->source, JZX__CAUSE_CLOSED, caller.me);
    jzx__caller_end(&caller);
    return JZX_OK;
}

/* ---- reading ---- */

jzx_err jzx_broadcast_subscribe(jzx_broadcast *storage, jzx_reader *reader) {
    struct jzx__broadcast *broadcast = jzx__broadcast_of(storage);
    struct jzx__caller caller;
    if (broadcast == NULL || reader == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx__caller_begin_any(&caller, &broadcast->object);
    jzx__lock_acquire(&broadcast->lock);
    *reader = (jzx_reader){.from = storage, .next = broadcast->count};
    jzx__lock_release(&broadcast->lock);
    jzx__caller_end(&caller);
    return JZX_OK;
}

jzx_err jzx__broadcast_read_now(struct jzx__broadcast *broadcast, jzx_reader *reader, void *value) {
    jzx_err err = JZX_OK;
    jzx__lock_acquire(&broadcast->lock);
    uint64_t first = oldest(broadcast);
    if (reader->next < first) {
        reader->missed = first - reader->next;
        reader->next = first;
        err = JZX_ERR_LAGGED;
    } else if (reader->next < broadcast->count) {
        memcpy(value, place_of(broadcast, reader->next), broadcast->value_size);
        reader->missed = 0;
        reader->next++;
    } else {
        err = broadcast->is_closed ? JZX_ERR_CLOSED : JZX_ERR_TIMEOUT;
    }
    jzx__lock_release(&broadcast->lock);
    return err;
}

/* A wait for the value of that number. */
static struct jzx__wait_link link_to(struct jzx__broadcast *broadcast, uint64_t *number) {
    return (struct jzx__wait_link){.source = &broadcast->source, .slot = number};
}

static struct jzx__event event_of(struct jzx__broadcast *broadcast, struct jzx__wait_link *link) {
    return (struct jzx__event){
        .kind = JZX_WAIT_CHANNEL, .object = (uintptr_t)broadcast, .links = link, .count = 1};
}

static jzx_err read_as(struct jzx__party *party, struct jzx__broadcast *broadcast,
                       jzx_reader *reader, uint64_t deadline_ns, void *value) {
    if (jzx__party_goes_on(party)) {
        jzx_err err = jzx__broadcast_read_now(broadcast, reader, value);
        if (err != JZX_ERR_TIMEOUT)
            return err;
    }
    uint64_t number = reader->next;
    struct jzx__wait_link link = link_to(broadcast, &number);
    const struct jzx__event event = event_of(broadcast, &link);
    jzx__refs_add(&broadcast->refs);
    jzx_err err = jzx__cause_err(jzx__party_await(party, &event, deadline_ns));
    if (err == JZX_OK)
        err = jzx__broadcast_read_now(broadcast, reader, value);
    jzx__refs_drop(&broadcast->refs);
    return err;
}

/* NULL for a wrong reader. */
static struct jzx__broadcast *read_from(const jzx_reader *reader, const void *value) {
    return reader == NULL || value == NULL ? NULL : jzx__broadcast_of(reader->from);
}

jzx_err jzx_broadcast_read(jzx_context *ctx, jzx_reader *reader, uint64_t deadline_ns,
                           void *value) {
    struct jzx__broadcast *broadcast = read_from(reader, value);
    struct jzx__party party;
    if (broadcast == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__party_begin_fiber(&party, &broadcast->object, ctx, "jzx_broadcast_read");
    if (err != JZX_OK)
        return err;
    err = read_as(&party, broadcast, reader, deadline_ns, value);
    jzx__party_end(&party);
    return err;
}

jzx_err jzx_broadcast_read_wait(jzx_reader *reader, uint64_t deadline_ns, void *value) {
    struct jzx__broadcast *broadcast = read_from(reader, value);
    struct jzx__party party;
    if (broadcast == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__party_begin_thread(&party, &broadcast->object, "jzx_broadcast_read_wait");
    if (err != JZX_OK)
        return err;
    err = read_as(&party, broadcast, reader, deadline_ns, value);
    jzx__party_end(&party);
    return err;
}

jzx_err jzx_broadcast_try_read(jzx_reader *reader, void *value) {
    struct jzx__broadcast *broadcast = read_from(reader, value);
    struct jzx__caller caller;
    if (broadcast == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx__caller_begin_any(&caller, &broadcast->object);
    jzx_err err = jzx__broadcast_read_now(broadcast, reader, value);
    jzx__caller_end(&caller);
    return err;
}

/* ---- the latest value ---- */

/* The last one, if there were others than so many. JZX_ERR_TIMEOUT: there were not. */
static jzx_err read_latest(struct jzx__broadcast *broadcast, uint64_t known, void *value,
                           uint64_t *version) {
    jzx_err err = JZX_OK;
    jzx__lock_acquire(&broadcast->lock);
    if (broadcast->count > known) {
        memcpy(value, place_of(broadcast, broadcast->count - 1), broadcast->value_size);
        if (version != NULL)
            *version = broadcast->count;
    } else {
        err = broadcast->is_closed ? JZX_ERR_CLOSED : JZX_ERR_TIMEOUT;
    }
    jzx__lock_release(&broadcast->lock);
    return err;
}

jzx_err jzx_broadcast_latest(jzx_broadcast *storage, void *value, uint64_t *version) {
    struct jzx__broadcast *broadcast = jzx__broadcast_of(storage);
    struct jzx__caller caller;
    if (broadcast == NULL || value == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx__caller_begin_any(&caller, &broadcast->object);
    jzx_err err = read_latest(broadcast, 0, value, version);
    jzx__caller_end(&caller);
    return err;
}

static jzx_err changed(struct jzx__party *party, struct jzx__broadcast *broadcast,
                       uint64_t *version, uint64_t deadline_ns, void *value) {
    if (jzx__party_goes_on(party)) {
        jzx_err err = read_latest(broadcast, *version, value, version);
        if (err != JZX_ERR_TIMEOUT)
            return err;
    }
    uint64_t number = *version;
    struct jzx__wait_link link = link_to(broadcast, &number);
    const struct jzx__event event = event_of(broadcast, &link);
    jzx__refs_add(&broadcast->refs);
    jzx_err err = jzx__cause_err(jzx__party_await(party, &event, deadline_ns));
    if (err == JZX_OK)
        err = read_latest(broadcast, *version, value, version);
    jzx__refs_drop(&broadcast->refs);
    return err;
}

jzx_err jzx_broadcast_changed(jzx_context *ctx, jzx_broadcast *storage, uint64_t *version,
                              uint64_t deadline_ns, void *value) {
    struct jzx__broadcast *broadcast = jzx__broadcast_of(storage);
    struct jzx__party party;
    if (broadcast == NULL || version == NULL || value == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__party_begin_fiber(&party, &broadcast->object, ctx, "jzx_broadcast_changed");
    if (err != JZX_OK)
        return err;
    err = changed(&party, broadcast, version, deadline_ns, value);
    jzx__party_end(&party);
    return err;
}

jzx_err jzx_broadcast_changed_wait(jzx_broadcast *storage, uint64_t *version, uint64_t deadline_ns,
                                   void *value) {
    struct jzx__broadcast *broadcast = jzx__broadcast_of(storage);
    struct jzx__party party;
    if (broadcast == NULL || version == NULL || value == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__party_begin_thread(&party, &broadcast->object, "jzx_broadcast_changed_wait");
    if (err != JZX_OK)
        return err;
    err = changed(&party, broadcast, version, deadline_ns, value);
    jzx__party_end(&party);
    return err;
}

/* ---- as an operation ---- */

struct read_to {
    struct jzx__to to; /* first */
    struct jzx__wait_link link;
    uint64_t number; /* of the value that is waited for: the slot */
    struct jzx__broadcast *broadcast;
    jzx_reader *reader; /* NULL: for the latest value */
    uint64_t *version;
};

/* Reads in the owner's turn, so that only the owner touches its reader. */
static bool handle(struct jzx__to *to, struct jzx__worker *me, struct jzx__actor *owner) {
    const struct read_to *it = (void *)to;
    jzx_result *result = jzx__to_result(to);
    (void)me;
    (void)owner;
    jzx_err err = it->reader != NULL
                      ? jzx__broadcast_read_now(it->broadcast, it->reader, jzx__to_data(to))
                      : read_latest(it->broadcast, it->number, jzx__to_data(to), it->version);
    result->err = (int16_t)err;
    if (err == JZX_OK)
        result->len = (uint32_t)it->broadcast->value_size;
    return true;
}

static const struct jzx__to_kind read_kind = {.handle = handle};

static jzx_err read_to(const jzx_context *ctx, const struct read_to *what, uint32_t tag,
                       jzx_op *op) {
    struct jzx__broadcast *broadcast = what->broadcast;
    struct jzx__to_call call;
    const struct jzx__to_spec spec = {.object = &broadcast->object,
                                      .kind = &read_kind,
                                      .record_size = sizeof(struct read_to),
                                      .capacity = broadcast->value_size,
                                      .tag = tag};
    jzx_err err = jzx__to_begin(&call, &spec, ctx);
    if (err != JZX_OK)
        return err;
    struct read_to *it = (void *)call.to;
    it->broadcast = broadcast;
    it->reader = what->reader;
    it->version = what->version;
    it->number = what->number;
    it->link = link_to(broadcast, &it->number);
    jzx__to_start(&call, &it->link, 1, op);
    return JZX_OK;
}

jzx_err jzx_broadcast_read_to(jzx_context *ctx, jzx_reader *reader, uint32_t tag, jzx_op *op) {
    struct jzx__broadcast *broadcast = read_from(reader, reader);
    if (broadcast == NULL)
        return JZX_ERR_INVALID_ARG;
    const struct read_to what = {.broadcast = broadcast, .reader = reader, .number = reader->next};
    return read_to(ctx, &what, tag, op);
}

jzx_err jzx_broadcast_changed_to(jzx_context *ctx, jzx_broadcast *storage, uint64_t *version,
                                 uint32_t tag, jzx_op *op) {
    struct jzx__broadcast *broadcast = jzx__broadcast_of(storage);
    if (broadcast == NULL || version == NULL)
        return JZX_ERR_INVALID_ARG;
    const struct read_to what = {.broadcast = broadcast, .version = version, .number = *version};
    return read_to(ctx, &what, tag, op);
}
