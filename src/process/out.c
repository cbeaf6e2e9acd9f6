/* SPDX-License-Identifier: MIT */
#include "process/out.h"

#include "base/alloc.h"

#include <string.h>

/* ---- parcels ---- */

struct jzx__parcel *jzx__parcel_make(const jzx_allocator *allocator, const void *data, size_t len) {
    size_t size = sizeof(struct jzx__parcel) + len;
    struct jzx__parcel *parcel = jzx__alloc(allocator, size);
    if (parcel == NULL)
        return NULL;
    parcel->allocator = *allocator;
    parcel->len = len;
    if (len != 0)
        memcpy(parcel->bytes, data, len);
    return parcel;
}

void jzx__parcel_free(struct jzx__parcel *parcel) {
    if (parcel == NULL)
        return;
    const jzx_allocator allocator = parcel->allocator;
    jzx__free(&allocator, parcel, sizeof *parcel + parcel->len);
}

/* ---- its life ---- */

static size_t block_size_bytes(size_t len) {
    return len <= JZX__ARG_POOLED ? JZX__ARG_POOLED : len;
}

/* For an argument of that length; NULL without memory. */
static void *take_block(struct jzx_step_out *out, size_t len) {
    void *block = out->spare;
    if (len > JZX__ARG_POOLED || block == NULL)
        return jzx__alloc(out->allocator, block_size_bytes(len));
    memcpy(&out->spare, block, sizeof out->spare);
    out->spare_count--;
    return block;
}

void jzx__yield_drop(struct jzx_step_out *out, struct jzx__yield *yield) {
    void *block = yield->block;
    yield->block = NULL;
    if (block == NULL)
        return;
    if (yield->len > JZX__ARG_POOLED || out->spare_count == JZX__ARG_SPARES_MAX) {
        jzx__free(out->allocator, block, block_size_bytes(yield->len));
        return;
    }
    memcpy(block, &out->spare, sizeof out->spare);
    out->spare = block;
    out->spare_count++;
}

static void drop_spares(struct jzx_step_out *out) {
    while (out->spare != NULL) {
        void *block = out->spare;
        memcpy(&out->spare, block, sizeof out->spare);
        jzx__free(out->allocator, block, JZX__ARG_POOLED);
    }
    out->spare_count = 0;
}

static void drop_orders(struct jzx_step_out *out) {
    jzx__parcel_free(out->result);
    jzx__parcel_free(out->input);
    jzx__parcel_free(out->method);
    out->result = NULL;
    out->input = NULL;
    out->method = NULL;
}

void jzx__out_reset(struct jzx_step_out *out) {
    out->status = JZX__STEP_DEFAULT;
    drop_orders(out);
}

void jzx__out_deinit(struct jzx_step_out *out) {
    jzx__out_reset(out);
    for (uint32_t i = 0; i < out->count; i++)
        jzx__yield_drop(out, jzx__out_at(out, i));
    out->count = 0;
    drop_spares(out);
    if (out->more != NULL)
        jzx__free(out->allocator, out->more, out->more_cap * sizeof *out->more);
    out->more = NULL;
}

/* ---- status ---- */

static void say(jzx_step_out *out, enum jzx__status status) {
    if (out != NULL && out->is_open)
        out->status = status;
}

void jzx_out_continue(jzx_step_out *out) {
    say(out, JZX__STEP_CONTINUE);
}

void jzx_out_idle(jzx_step_out *out) {
    say(out, JZX__STEP_IDLE);
}

void jzx_out_wait(jzx_step_out *out) {
    say(out, JZX__STEP_WAIT);
}

static bool is_valid(const jzx_step_out *out, const void *data, size_t len) {
    return out != NULL && out->is_open && (data != NULL || len == 0) && len <= JZX_MSG_LEN_MAX;
}

jzx_err jzx_out_done(jzx_step_out *out, const void *result, size_t len) {
    if (!is_valid(out, result, len))
        return JZX_ERR_INVALID_ARG;
    struct jzx__parcel *parcel = NULL;
    if (len != 0) {
        parcel = jzx__parcel_make(out->allocator, result, len);
        if (parcel == NULL)
            return JZX_ERR_NO_MEMORY;
    }
    drop_orders(out);
    out->result = parcel;
    out->status = JZX__STEP_DONE;
    return JZX_OK;
}

jzx_err jzx_out_upgrade(jzx_step_out *out, const jzx_process_ops *ops, const char *method,
                        const void *input, size_t len) {
    if (!is_valid(out, input, len) || ops == NULL || ops->size != sizeof *ops || ops->step == NULL)
        return JZX_ERR_INVALID_ARG;
    const char *name = method == NULL ? "" : method;
    struct jzx__parcel *copy = jzx__parcel_make(out->allocator, input, len);
    struct jzx__parcel *name_copy = jzx__parcel_make(out->allocator, name, strlen(name) + 1);
    if (copy == NULL || name_copy == NULL) {
        jzx__parcel_free(copy);
        jzx__parcel_free(name_copy);
        return JZX_ERR_NO_MEMORY;
    }
    drop_orders(out);
    out->next = ops;
    out->input = copy;
    out->method = name_copy;
    out->status = JZX__STEP_UPGRADE;
    return JZX_OK;
}

/* ---- commands ---- */

/* Room for one more behind the inline ones. False without memory. */
static bool grow(struct jzx_step_out *out) {
    uint32_t used = out->count - JZX__YIELDS_INLINE;
    if (used < out->more_cap)
        return true;
    uint32_t cap = out->more_cap == 0 ? 4 : 2 * out->more_cap;
    struct jzx__yield *more = jzx__alloc(out->allocator, cap * sizeof *more);
    if (more == NULL)
        return false;
    if (out->more != NULL) {
        memcpy(more, out->more, used * sizeof *more);
        jzx__free(out->allocator, out->more, out->more_cap * sizeof *more);
    }
    out->more = more;
    out->more_cap = cap;
    return true;
}

/* A new one with room for its argument; NULL without memory. */
static struct jzx__yield *add(struct jzx_step_out *out, uint64_t tag, uint16_t command,
                              size_t len) {
    void *block = NULL;
    if (out->count >= JZX__YIELDS_INLINE && !grow(out))
        return NULL;
    if (len > JZX__ARG_INLINE) {
        block = take_block(out, len);
        if (block == NULL)
            return NULL;
    }
    struct jzx__yield *yield = jzx__out_at(out, out->count++);
    yield->tag = tag;
    yield->block = block;
    yield->len = (uint32_t)len;
    yield->command = command;
    yield->err = JZX_OK;
    return yield;
}

static char *room_of(struct jzx__yield *yield) {
    return yield->block != NULL ? yield->block : yield->bytes;
}

jzx_err jzx_out_yield(jzx_step_out *out, uint64_t tag, uint16_t command, const void *arg,
                      size_t len) {
    if (!is_valid(out, arg, len))
        return JZX_ERR_INVALID_ARG;
    struct jzx__yield *yield = add(out, tag, command, len);
    if (yield == NULL)
        return JZX_ERR_NO_MEMORY;
    if (len != 0)
        memcpy(room_of(yield), arg, len);
    return JZX_OK;
}

jzx_err jzx_out_send(jzx_step_out *out, uint64_t tag, jzx_actor_id to, const void *data, size_t len,
                     uint32_t message_tag) {
    const uint64_t head[2] = {to, message_tag};
    if (!is_valid(out, data, len) || len > JZX_MSG_LEN_MAX - sizeof head)
        return JZX_ERR_INVALID_ARG;
    struct jzx__yield *yield = add(out, tag, JZX_COMMAND_SEND, sizeof head + len);
    if (yield == NULL)
        return JZX_ERR_NO_MEMORY;
    memcpy(room_of(yield), head, sizeof head);
    if (len != 0)
        memcpy(room_of(yield) + sizeof head, data, len);
    return JZX_OK;
}
