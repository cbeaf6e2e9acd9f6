/* SPDX-License-Identifier: MIT */
#include "sync/gate.h"

_Static_assert(sizeof(struct jzx__gate) <= sizeof(jzx_gate), "fits its storage");

static enum jzx__cause_kind look(struct jzx__source *source, const struct jzx__wait_link *link) {
    const struct jzx__gate *gate = JZX_CONTAINER_OF(source, struct jzx__gate, signal.source);
    (void)link;
    return gate->is_open ? JZX__CAUSE_ITEM : JZX__CAUSE_NONE;
}

/* There is nothing to take. */
static bool take(struct jzx__source *source, struct jzx__wait_link *link, struct jzx__wake *wake) {
    (void)source;
    (void)link;
    (void)wake;
    return true;
}

jzx_err jzx_gate_init(jzx_loop *loop, jzx_gate *storage, bool is_open) {
    static const struct jzx__source_ops ops = {
        .look = look, .take = take, .refs_at = JZX__SIGNAL_REFS_AT};
    struct jzx__gate *gate = (struct jzx__gate *)(void *)storage;
    jzx_err err = jzx__signal_init((void *)storage, loop, JZX__SYNC_GATE, &ops);
    if (err == JZX_OK)
        gate->is_open = is_open;
    return err;
}

jzx_err jzx_gate_deinit(jzx_gate *storage) {
    struct jzx__gate *gate = jzx__gate_of(storage);
    return jzx__signal_deinit(gate == NULL ? NULL : &gate->signal);
}

static jzx_err set(struct jzx__gate *gate, bool is_open) {
    struct jzx__caller caller;
    if (gate == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx__caller_begin_any(&caller, &gate->signal.object);
    jzx__lock_acquire(&gate->signal.lock);
    gate->is_open = is_open;
    if (is_open)
        jzx__source_unlock_and_wake_all(&gate->signal.source, JZX__CAUSE_ITEM, caller.me);
    else
        jzx__lock_release(&gate->signal.lock);
    jzx__caller_end(&caller);
    return JZX_OK;
}

jzx_err jzx_gate_open(jzx_gate *gate) {
    return set(jzx__gate_of(gate), true);
}

jzx_err jzx_gate_close(jzx_gate *gate) {
    return set(jzx__gate_of(gate), false);
}

bool jzx_gate_is_open(const jzx_gate *storage) {
    struct jzx__gate *gate = jzx__gate_of(storage);
    struct jzx__caller caller;
    if (gate == NULL)
        return false;
    jzx__caller_begin_any(&caller, &gate->signal.object);
    jzx__lock_acquire(&gate->signal.lock);
    bool is_open = gate->is_open;
    jzx__lock_release(&gate->signal.lock);
    jzx__caller_end(&caller);
    return is_open;
}

jzx_err jzx_gate_pass(jzx_context *ctx, jzx_gate *storage, uint64_t deadline_ns) {
    struct jzx__gate *gate = jzx__gate_of(storage);
    return jzx__signal_await_fiber(ctx, gate == NULL ? NULL : &gate->signal, "jzx_gate_pass",
                                   deadline_ns);
}

jzx_err jzx_gate_pass_wait(jzx_gate *storage, uint64_t deadline_ns) {
    struct jzx__gate *gate = jzx__gate_of(storage);
    return jzx__signal_await_thread(gate == NULL ? NULL : &gate->signal, "jzx_gate_pass_wait",
                                    deadline_ns);
}

jzx_err jzx_gate_pass_to(jzx_context *ctx, jzx_gate *storage, uint32_t tag, jzx_op *op) {
    struct jzx__gate *gate = jzx__gate_of(storage);
    return jzx__signal_await_to(ctx, gate == NULL ? NULL : &gate->signal, tag, op);
}
