/* SPDX-License-Identifier: MIT */
/* Handlers, and how commands begin, complete and are cancelled. */
#include "process/commands.h"

#include "actor/control.h"
#include "actor/own.h"
#include "base/alloc.h"
#include "process/out.h"
#include "process/proxy.h"

#include <string.h>

static struct jzx__commands *commands_of(const struct jzx_loop *loop) {
    return loop->parts[JZX__PART_PROCESS];
}

/* ---- the registry ---- */

static jzx_command_handler *slot_of(const struct jzx__commands *commands, uint16_t command) {
    struct jzx__command_page *page = commands->pages[command / JZX__COMMAND_PAGE];
    return page == NULL ? NULL : &page->handlers[command % JZX__COMMAND_PAGE];
}

static bool is_frozen(const struct jzx__commands *commands) {
    /* acquire: pairs with the release in freeze; all handlers are visible */
    return jzx__atomic_load_acquire(&commands->is_frozen) != 0;
}

const jzx_command_handler *jzx__command_find(struct jzx_loop *loop, uint16_t command) {
    struct jzx__commands *commands = commands_of(loop);
    bool is_locked = !is_frozen(commands); /* R2 */
    if (is_locked)
        jzx__lock_acquire(&commands->lock);
    const jzx_command_handler *handler = slot_of(commands, command);
    if (handler != NULL && handler->handle == NULL)
        handler = NULL;
    if (is_locked)
        jzx__lock_release(&commands->lock);
    return handler;
}

static struct jzx__command_page *make_page(const jzx_allocator *allocator) {
    struct jzx__command_page *page = jzx__alloc(allocator, sizeof *page);
    if (page != NULL)
        memset(page, 0, sizeof *page);
    return page;
}

/* Under the lock. */
static jzx_err add(struct jzx_loop *loop, struct jzx__commands *commands, uint16_t command,
                   const jzx_command_handler *handler) {
    struct jzx__command_page **page = &commands->pages[command / JZX__COMMAND_PAGE];
    if (is_frozen(commands))
        return JZX_ERR_INVALID_STATE;
    if (*page == NULL)
        *page = make_page(&loop->sched.allocator);
    if (*page == NULL)
        return JZX_ERR_NO_MEMORY;
    jzx_command_handler *slot = slot_of(commands, command);
    if (slot->handle != NULL)
        return JZX_ERR_EXISTS;
    *slot = *handler;
    return JZX_OK;
}

jzx_err jzx_command_register(jzx_loop *loop, uint16_t command, const jzx_command_handler *handler) {
    if (loop == NULL || handler == NULL || handler->handle == NULL || command == 0)
        return JZX_ERR_INVALID_ARG;
    struct jzx__commands *commands = commands_of(loop);
    struct jzx__visit visit;
    (void)jzx__loop_visit(loop, &visit); /* locks are taken inside */
    jzx__lock_acquire(&commands->lock);
    jzx_err err = add(loop, commands, command, handler);
    jzx__lock_release(&commands->lock);
    jzx__visit_end(&visit);
    return err;
}

jzx_err jzx_commands_freeze(jzx_loop *loop) {
    if (loop == NULL)
        return JZX_ERR_INVALID_ARG;
    struct jzx__commands *commands = commands_of(loop);
    struct jzx__visit visit;
    (void)jzx__loop_visit(loop, &visit);
    jzx__lock_acquire(&commands->lock);
    /* release: pairs with the acquire in is_frozen; publishes the handlers (R2) */
    jzx__atomic_store_release(&commands->is_frozen, 1u);
    jzx__lock_release(&commands->lock);
    jzx__visit_end(&visit);
    return JZX_OK;
}

bool jzx_command_get(jzx_loop *loop, uint16_t command, jzx_command_handler *handler) {
    if (loop == NULL)
        return false;
    struct jzx__visit visit;
    (void)jzx__loop_visit(loop, &visit);
    const jzx_command_handler *found = jzx__command_find(loop, command);
    jzx__visit_end(&visit);
    if (found != NULL && handler != NULL)
        *handler = *found; /* R1 */
    return found != NULL;
}

bool jzx__commands_open(struct jzx_loop *loop) {
    const jzx_allocator *allocator = &loop->sched.allocator;
    struct jzx__commands *commands = jzx__alloc(allocator, sizeof *commands);
    if (commands == NULL)
        return false;
    memset(commands, 0, sizeof *commands);
    commands->pages[0] = make_page(allocator);
    if (commands->pages[0] == NULL) {
        jzx__free(allocator, commands, sizeof *commands);
        return false;
    }
    jzx__lock_init(&commands->lock);
    loop->parts[JZX__PART_PROCESS] = commands;
    return true;
}

jzx_command_handler *jzx__commands_first(const struct jzx_loop *loop) {
    return commands_of(loop)->pages[0]->handlers;
}

void jzx__commands_close(struct jzx_loop *loop) {
    const jzx_allocator *allocator = &loop->sched.allocator;
    struct jzx__commands *commands = commands_of(loop);
    for (uint32_t i = 0; i < JZX__COMMAND_PAGE; i++) {
        if (commands->pages[i] != NULL)
            jzx__free(allocator, commands->pages[i], sizeof *commands->pages[i]);
    }
    jzx__lock_deinit(&commands->lock);
    jzx__free(allocator, commands, sizeof *commands);
    loop->parts[JZX__PART_PROCESS] = NULL;
}

/* ---- commands under way ---- */

/* What an operation that is a command has in its slot. */
struct under_way {
    const jzx_command_handler *handler; /* NULL: there was none */
    struct jzx__reply reply;
    _Atomic uint64_t child; /* of EXEC: the process that is to complete it, or JZX_NOBODY */
};
_Static_assert(sizeof(struct under_way) <= JZX__OP_OWN_SIZE, "fits the slot");
_Static_assert(sizeof(struct jzx__reply) == 16, "data behind it is aligned for any type");

/* The caller has claimed it. */
static jzx_err finish(struct jzx__op *op, struct jzx__worker *me, const void *data, size_t len,
                      jzx_err err) {
    const struct under_way *own = jzx__op_own(op);
    jzx_err told = JZX_OK;
    if (!jzx__op_grow(op, me, sizeof own->reply + len)) {
        told = err = JZX_ERR_NO_MEMORY;
        len = 0;
    }
    char *room = jzx__op_data(op);
    memcpy(room, &own->reply, sizeof own->reply);
    if (len != 0)
        memcpy(room + sizeof own->reply, data, len);
    jzx__op_complete(op, me, err, NULL, sizeof own->reply + len);
    return told;
}

static const struct jzx__op_ops command_ops;

bool jzx__op_is_command(const struct jzx__op *op) {
    return op->ops == &command_ops;
}

/* Nobody waits for it any more: unless somebody completes it at this moment, it is over. */
static void cancel(struct jzx__op *op, struct jzx__worker *me) {
    const struct under_way *own = jzx__op_own(op);
    const jzx_command_handler *handler = own->handler;
    /* acquire: pairs with the release in jzx__command_set_child */
    jzx_actor_id child = jzx__atomic_load_acquire(&own->child);
    struct jzx_loop *loop = op->loop;
    jzx_op ref = jzx__op_id(op);
    if (jzx__op_claim(loop, ref, &command_ops) == NULL)
        return;
    (void)finish(op, me, NULL, 0, JZX_ERR_CANCELLED);
    if (child != JZX_NOBODY)
        (void)jzx__actor_request(loop, me, child, JZX__WANT_KILL);
    if (handler != NULL && handler->cancel != NULL)
        handler->cancel(loop, ref, handler->data);
}

static const struct jzx__op_ops command_ops = {.cancel = cancel};

void jzx__command_set_child(struct jzx_loop *loop, jzx_op ref, jzx_actor_id child) {
    struct jzx__op *op = jzx__op_slot_at(jzx__op_slots_of(loop), (uint32_t)ref);
    struct under_way *own = jzx__op_own(op);
    /* release: pairs with the acquire in cancel */
    jzx__atomic_store_release(&own->child, child);
}

bool jzx__command_replace(struct jzx__own *own, jzx_op ref, bool *is_cancelled) {
    struct jzx__op *op = jzx__op_claim(own->turn->ctx.loop, ref, &command_ops);
    if (op == NULL)
        return false;
    *is_cancelled = jzx__op_is_cancelled(op);
    jzx__op_undo(own, op);
    return true;
}

jzx_err jzx__command_finish(struct jzx_loop *loop, struct jzx__worker *me, jzx_op ref,
                            const void *data, size_t len, jzx_err err) {
    struct jzx__op *op = jzx__op_claim(loop, ref, &command_ops);
    return op == NULL ? JZX_ERR_NO_SUCH_OP : finish(op, me, data, len, err);
}

jzx_err jzx_command_complete(jzx_loop *loop, jzx_actor_id process, jzx_op ref, const void *data,
                             size_t len, jzx_err err) {
    if (loop == NULL || process == JZX_NOBODY || (data == NULL && len != 0) ||
        len > JZX_MSG_LEN_MAX - sizeof(struct jzx__reply) - sizeof(jzx_result))
        return JZX_ERR_INVALID_ARG;
    struct jzx__visit visit;
    struct jzx__worker *me = jzx__loop_visit(loop, &visit);
    jzx_err told = jzx__command_finish(loop, me, ref, data, len, err);
    jzx__visit_end(&visit);
    return told;
}

/* ---- the process's side ---- */

/* Makes the operation of a command, which is under way then. */
static jzx_err begin(jzx_context *ctx, struct jzx__process *process, const struct jzx__yield *yield,
                     const jzx_command_handler *handler, jzx_op *ref) {
    struct jzx__own own;
    struct jzx__op *op;
    const struct jzx__op_spec spec = {.ops = &command_ops,
                                      .capacity = sizeof(struct jzx__reply) + JZX_COMMAND_INLINE,
                                      .is_claimable = true};
    if (!jzx__own_begin(&own, ctx))
        return JZX_ERR_INVALID_STATE;
    jzx_err err = jzx__op_begin(&own, &spec, &op);
    if (err == JZX_OK) {
        struct under_way *under_way = jzx__op_own(op);
        under_way->handler = handler;
        under_way->reply = (struct jzx__reply){yield->tag, process->epoch, yield->command};
        /* relaxed: published by the launch */
        jzx__atomic_store_relaxed(&under_way->child, JZX_NOBODY);
        *ref = jzx__op_id(op);
        process->outstanding++;
        jzx__op_launch(op);
    }
    jzx__own_end(&own);
    return err;
}

static jzx_err dispatch(jzx_context *ctx, struct jzx__process *process,
                        const struct jzx__yield *yield) {
    const jzx_command_handler *handler = jzx__command_find(ctx->loop, yield->command);
    jzx_op ref;
    jzx_err err = begin(ctx, process, yield, handler, &ref);
    if (err != JZX_OK)
        return err;
    const jzx_command command = {.process = ctx->self,
                                 .ref = ref,
                                 .tag = yield->tag,
                                 .arg = jzx__yield_arg(yield),
                                 .len = yield->len,
                                 .id = yield->command};
    err = handler == NULL ? JZX_ERR_UNKNOWN_COMMAND : handler->handle(ctx, &command, handler->data);
    if (err != JZX_OK) /* if it has completed it before, that counts */
        (void)jzx_command_complete(ctx->loop, ctx->self, ref, NULL, 0, err);
    return JZX_OK;
}

void jzx__commands_dispatch(jzx_context *ctx, struct jzx__process *process) {
    struct jzx_step_out *out = &process->out;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < out->count; i++) {
        struct jzx__yield *yield = jzx__out_at(out, i);
        if (yield->err == JZX_OK) {
            yield->err = dispatch(ctx, process, yield);
            jzx__yield_drop(out, yield);
        }
        if (yield->err != JZX_OK)
            *jzx__out_at(out, kept++) = *yield; /* P4 */
    }
    out->count = kept;
}

bool jzx__commands_cancel(jzx_context *ctx, const struct jzx__process *process) {
    struct jzx__own own;
    if (!jzx__own_begin(&own, ctx))
        return true;
    bool has_worker = own.me != NULL;
    struct jzx__actor_ops *ops = jzx__own_part(&own, JZX__PART_OP);
    if (has_worker && ops != NULL) {
        struct jzx__link *ring = &ops->listed.ring;
        for (struct jzx__link *link = ring->next; link != ring;) {
            const struct jzx__op *op = JZX_CONTAINER_OF(link, struct jzx__op, at_owner);
            link = link->next; /* it stays listed until its message is handled */
            if (jzx__op_is_command(op))
                (void)jzx_op_cancel(ctx->loop, jzx__op_id(op));
        }
        jzx__proxies_drop(&own, process);
    }
    jzx__own_end(&own);
    return has_worker;
}
