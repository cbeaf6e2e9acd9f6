/* SPDX-License-Identifier: MIT */
#include "process/proxy.h"

#include "actor/own.h"
#include "base/alloc.h"
#include "process/commands.h"

#include <sched.h>
#include <string.h>

#define PROXIES_FIRST 4u

/* ---- the table ---- */

/* An entry is free when this returns true. False without memory, or with too many for tags. */
static bool grow(struct jzx__process *process) {
    const jzx_allocator *allocator = &process->loop->sched.allocator;
    struct jzx__proxies *proxies = &process->proxies;
    uint32_t cap = proxies->cap == 0 ? PROXIES_FIRST : 2 * proxies->cap;
    if (proxies->free != 0)
        return true;
    if (cap >= JZX_TAG_RESERVED / 2)
        return false;
    struct jzx__proxy *all = jzx__alloc(allocator, cap * sizeof *all);
    if (all == NULL)
        return false;
    if (proxies->all != NULL)
        memcpy(all, proxies->all, proxies->cap * sizeof *all);
    for (uint32_t i = cap; i > proxies->cap; i--) {
        all[i - 1] = (struct jzx__proxy){.op = JZX_NO_OP, .next_free = proxies->free};
        proxies->free = i;
    }
    if (proxies->all != NULL)
        jzx__free(allocator, proxies->all, proxies->cap * sizeof *all);
    proxies->all = all;
    proxies->cap = cap;
    return true;
}

static void let_go(struct jzx__process *process, struct jzx__proxy *proxy) {
    struct jzx__proxies *proxies = &process->proxies;
    *proxy = (struct jzx__proxy){.op = JZX_NO_OP, .next_free = proxies->free};
    proxies->free = (uint32_t)(proxy - proxies->all) + 1;
}

struct jzx__proxy *jzx__proxy_find(const struct jzx__process *process,
                                   const struct jzx__message *message) {
    const struct jzx__proxies *proxies = &process->proxies;
    const jzx_result *result = (const void *)message->payload;
    if (message->tag == 0 || message->tag > proxies->cap)
        return NULL;
    struct jzx__proxy *proxy = &proxies->all[message->tag - 1];
    return proxy->op == result->op ? proxy : NULL; /* V2 */
}

void jzx__proxies_deinit(struct jzx__process *process) {
    struct jzx__proxies *proxies = &process->proxies;
    if (proxies->all != NULL)
        jzx__free(&process->loop->sched.allocator, proxies->all,
                  proxies->cap * sizeof *proxies->all);
    *proxies = (struct jzx__proxies){.all = NULL};
}

/* ---- begin ---- */

/* The proxy takes the place of the command's own operation; unless that has completed meanwhile, or
 * is to be cancelled. */
static void take_place(jzx_context *ctx, jzx_op ref, struct jzx__proxy *proxy) {
    struct jzx__own own;
    bool is_cancelled = false;
    if (!jzx__own_begin(&own, ctx))
        return; /* cannot be: the operation has just begun in this turn */
    proxy->is_dropped = !jzx__command_replace(&own, ref, &is_cancelled);
    if (proxy->is_dropped || is_cancelled)
        (void)jzx_op_cancel(ctx->loop, proxy->op);
    jzx__own_end(&own);
}

jzx_err jzx__proxy_handle(jzx_context *ctx, const jzx_command *command, void *data) {
    const struct jzx__proxy_kind *kind = data;
    const struct jzx__actor *actor = jzx__own_turn(ctx);
    struct jzx__process *process = actor == NULL ? NULL : jzx__process_of(actor);
    jzx_op op;
    if (process == NULL || command->process != ctx->self || command->len != kind->arg_size)
        return JZX_ERR_INVALID_ARG;
    if (!grow(process))
        return JZX_ERR_NO_MEMORY;
    uint32_t tag = process->proxies.free;
    jzx_err err = kind->start(ctx, command->arg, tag, &op);
    if (err != JZX_OK)
        return err;
    struct jzx__proxy *proxy = &process->proxies.all[tag - 1];
    process->proxies.free = proxy->next_free;
    *proxy =
        (struct jzx__proxy){.op = op, .tag = command->tag, .kind = kind, .epoch = process->epoch};
    if (kind->close_source != NULL)
        memcpy(&proxy->object, command->arg, sizeof proxy->object);
    take_place(ctx, command->ref, proxy);
    return JZX_OK;
}

/* ---- end ---- */

/* Nobody hears of that result. */
static void discard(const struct jzx__process *process, const struct jzx__proxy *proxy,
                    const jzx_result *result) {
    const struct jzx__proxy_kind *kind = proxy->kind;
    uint64_t handle;
    if (result->err != JZX_OK)
        return;
    if (kind->close_result != NULL) {
        memcpy(&handle, jzx_result_data(result), sizeof handle);
        (void)kind->close_result(process->loop, handle);
    } else if (kind->close_source != NULL && !proxy->is_revoked) {
        (void)kind->close_source(process->loop, proxy->object); /* it would have a gap */
    }
}

bool jzx__proxy_end(struct jzx__process *process, struct jzx__proxy *proxy,
                    const jzx_result *result, uint64_t *tag) {
    bool is_heard = !proxy->is_dropped && proxy->epoch == process->epoch;
    if (is_heard)
        *tag = proxy->tag;
    else
        discard(process, proxy, result);
    let_go(process, proxy);
    return is_heard;
}

static struct jzx__op *op_of(const struct jzx__process *process, const struct jzx__proxy *proxy) {
    return jzx__op_slot_at(jzx__op_slots_of(process->loop), (uint32_t)proxy->op); /* V1: LISTED */
}

/* Takes back what the latest reads have consumed, then what earlier ones have (V4). */
static void revoke_all(struct jzx__own *own, const struct jzx__process *process) {
    struct jzx__actor_ops *ops = jzx__own_part(own, JZX__PART_OP);
    struct jzx__link *ring = &ops->listed.ring; /* in the order of their begin */
    for (struct jzx__link *link = ring->prev; link != ring; link = link->prev) {
        struct jzx__op *op = JZX_CONTAINER_OF(link, struct jzx__op, at_owner);
        if (jzx__op_is_command(op) || !jzx__op_is_done(op))
            continue;
        struct jzx__proxy *proxy = jzx__proxy_find(process, op->message);
        if (proxy == NULL || !proxy->is_complete)
            continue;
        proxy->is_revoked = true;
        if (!jzx__op_revoke(own, op))
            (void)proxy->kind->close_source(process->loop, proxy->object);
    }
    const struct jzx__proxies *proxies = &process->proxies;
    for (uint32_t i = 0; i < proxies->cap; i++) {
        const struct jzx__proxy *proxy = &proxies->all[i];
        if (proxy->is_revoked && proxy->epoch == process->epoch)
            jzx__op_restore(own, op_of(process, proxy));
    }
}

/* A read that was cancelled has ended, unless another thread has its bytes already, and is about to
 * complete it: the one that serves the stream, if that belongs to another actor. */
static void await_end(const struct jzx__process *process, const struct jzx__proxy *proxy) {
    const struct jzx__op *op = op_of(process, proxy);
    while (!jzx__op_is_done(op))
        sched_yield();
}

void jzx__proxies_drop(struct jzx__own *own, const struct jzx__process *process) {
    const struct jzx__proxies *proxies = &process->proxies;
    bool is_any_complete = false;
    for (uint32_t i = 0; i < proxies->cap; i++) {
        struct jzx__proxy *proxy = &proxies->all[i];
        if (proxy->op == JZX_NO_OP || proxy->epoch != process->epoch || proxy->kind->goes_on)
            continue;
        (void)jzx_op_cancel(process->loop, proxy->op);
        proxy->is_complete = proxy->kind->close_source != NULL;
        is_any_complete |= proxy->is_complete;
        if (proxy->is_complete)
            await_end(process, proxy);
    }
    /* Messages are there to be read while the mailbox takes them, and that is this turn's to say:
     * it has its worker. Else the streams are closed when the messages come. */
    bool is_open = (jzx__task_inbox(&own->turn->actor->task) & JZX__INBOX_CLOSED) == 0;
    if (is_any_complete && is_open)
        revoke_all(own, process);
}
