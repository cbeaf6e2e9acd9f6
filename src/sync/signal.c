/* SPDX-License-Identifier: MIT */
#include "sync/signal.h"

#include "sync/to.h"

jzx_err jzx__signal_init(struct jzx__signal *signal, struct jzx_loop *loop,
                         enum jzx__object_type type, const struct jzx__source_ops *ops) {
    jzx_err err = jzx__object_init((void *)signal, loop, type);
    if (err != JZX_OK)
        return err;
    jzx__lock_init(&signal->lock);
    jzx__source_init(&signal->source, &signal->lock, ops);
    /* relaxed: not shared yet */
    jzx__atomic_store_relaxed(&signal->refs, 0u);
    return JZX_OK;
}

jzx_err jzx__signal_deinit(struct jzx__signal *signal) {
    if (signal == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx__lock_acquire(&signal->lock);
    bool is_used = jzx__source_has_refs(&signal->source);
    jzx__lock_release(&signal->lock);
    if (is_used)
        return JZX_ERR_BUSY;
    jzx__source_deinit(&signal->source);
    jzx__lock_deinit(&signal->lock);
    jzx__object_deinit(&signal->object);
    return JZX_OK;
}

static jzx_err await(struct jzx__party *party, struct jzx__signal *signal, uint64_t deadline_ns) {
    struct jzx__wait_link link = {.source = &signal->source};
    const struct jzx__event event = {
        .kind = JZX_WAIT_SIGNAL, .object = (uintptr_t)signal, .links = &link, .count = 1};
    jzx__refs_add(&signal->refs);
    jzx_err err = jzx__cause_err(jzx__party_await(party, &event, deadline_ns));
    jzx__refs_drop(&signal->refs);
    return err;
}

jzx_err jzx__signal_await_fiber(jzx_context *ctx, struct jzx__signal *signal, const char *call,
                                uint64_t deadline_ns) {
    struct jzx__party party;
    if (signal == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__party_begin_fiber(&party, &signal->object, ctx, call);
    if (err != JZX_OK)
        return err;
    err = await(&party, signal, deadline_ns);
    jzx__party_end(&party);
    return err;
}

jzx_err jzx__signal_await_thread(struct jzx__signal *signal, const char *call,
                                 uint64_t deadline_ns) {
    struct jzx__party party;
    if (signal == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__party_begin_thread(&party, &signal->object, call);
    if (err != JZX_OK)
        return err;
    err = await(&party, signal, deadline_ns);
    jzx__party_end(&party);
    return err;
}

struct signal_to {
    struct jzx__to to; /* first */
    struct jzx__wait_link link;
};

static const struct jzx__to_kind signal_kind = {.handle = NULL};

jzx_err jzx__signal_await_to(const jzx_context *ctx, struct jzx__signal *signal, uint32_t tag,
                             jzx_op *op) {
    struct jzx__to_call call;
    if (signal == NULL)
        return JZX_ERR_INVALID_ARG;
    const struct jzx__to_spec spec = {.object = &signal->object,
                                      .kind = &signal_kind,
                                      .record_size = sizeof(struct signal_to),
                                      .tag = tag};
    jzx_err err = jzx__to_begin(&call, &spec, ctx);
    if (err != JZX_OK)
        return err;
    struct signal_to *it = (void *)call.to;
    it->link.source = &signal->source;
    jzx__to_start(&call, &it->link, 1, op);
    return JZX_OK;
}
