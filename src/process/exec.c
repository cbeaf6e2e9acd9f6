/* SPDX-License-Identifier: MIT */
#include "process/exec.h"

#include "actor/control.h"
#include "actor/own.h"
#include "actor/spawn.h"
#include "actor/waitless.h"
#include "base/sized.h"
#include "fiber/fiber.h"
#include "fiber/operate.h"
#include "process/commands.h"
#include "process/out.h"

#include "jzx/future.h"

#include <string.h>

/* ---- an operation that waits for a result ---- */

struct execution {
    _Atomic uint64_t child; /* JZX_NOBODY: it is not there yet */
};

/* Nobody waits for it any more. */
static void cancel(struct jzx__op *op, struct jzx__worker *me);
static const struct jzx__op_ops exec_ops = {.cancel = cancel};

static void cancel(struct jzx__op *op, struct jzx__worker *me) {
    const struct execution *own = jzx__op_own(op);
    struct jzx_loop *loop = op->loop;
    /* acquire: pairs with the release in note_child */
    jzx_actor_id child = jzx__atomic_load_acquire(&own->child);
    if (jzx__op_claim(loop, jzx__op_id(op), &exec_ops) == NULL)
        return; /* the process has just ended */
    jzx__op_complete(op, me, JZX_ERR_CANCELLED, NULL, 0);
    if (child != JZX_NOBODY)
        (void)jzx__actor_request(loop, me, child, JZX__WANT_KILL);
}

/* ---- spawning ---- */

struct exec_bonds {
    struct jzx__bonds bonds; /* first */
    struct jzx_loop *loop;
    struct jzx__result_to to;
};

static bool prepare(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__cold *cold) {
    (void)loop, (void)me, (void)cold;
    return true;
}

static void tie(struct jzx__cold *cold, const struct jzx__bonds *bonds, jzx_actor_id id) {
    const struct exec_bonds *own = (const void *)bonds;
    struct jzx__process *process = jzx__cold_part(cold, JZX__PART_PROCESS);
    (void)id;
    process->to = own->to;
}

/* It cannot have begun: the operation is still there. */
static void note_child(void *arg, jzx_actor_id id) {
    const struct exec_bonds *own = arg;
    if (own->to.op == 0)
        return;
    if (own->to.is_command) {
        jzx__command_set_child(own->loop, own->to.op, id);
        return;
    }
    struct jzx__op *op = jzx__op_slot_at(jzx__op_slots_of(own->loop), (uint32_t)own->to.op);
    struct execution *execution = jzx__op_own(op);
    /* release: pairs with the acquire in cancel */
    jzx__atomic_store_release(&execution->child, id);
}

static jzx_err spawn(struct jzx_loop *loop, struct jzx__worker *me, const jzx_spawn_opts *opts,
                     struct jzx__result_to to, jzx_actor_id *id) {
    static const struct jzx__bond_ops ops = {.prepare = prepare, .tie = tie};
    struct exec_bonds bonds = {
        .bonds = {.ops = &ops, .before = note_child}, .loop = loop, .to = to};
    jzx_spawn_opts full;
    if (!jzx__read_sized(&full, sizeof full, opts) || full.process == NULL)
        return JZX_ERR_INVALID_ARG;
    bonds.bonds.before_arg = &bonds;
    return jzx__spawn_bound(loop, me, &full, &bonds.bonds, id);
}

jzx_err jzx__exec_handle(jzx_context *ctx, const jzx_command *command, void *data) {
    jzx_command_spawn arg;
    struct jzx__visit visit;
    (void)data;
    if (command->len != sizeof arg)
        return JZX_ERR_INVALID_ARG;
    memcpy(&arg, command->arg, sizeof arg);
    struct jzx__worker *me = jzx__loop_visit(ctx->loop, &visit);
    jzx_err err = spawn(ctx->loop, me, arg.opts,
                        (struct jzx__result_to){.op = command->ref, .is_command = true}, NULL);
    jzx__visit_end(&visit);
    return err;
}

/* ---- the end of the process ---- */

/* In place of a result. */
static jzx_err err_of(const struct jzx__process *process, const struct jzx__ending *ending) {
    if (process->is_done)
        return JZX_OK;
    if (ending->reason == JZX_EXIT_KILLED)
        return JZX_ERR_TERMINATED;
    if (ending->reason == JZX_EXIT_NORMAL || ending->reason == JZX_EXIT_SHUTDOWN)
        return JZX_ERR_CANCELLED;
    return process->err != JZX_OK ? process->err : JZX_ERR_FAILED;
}

static void drop(void *object) {
    jzx__parcel_free(object);
}

static void keep_promise(struct jzx__process *process, jzx_err err, const char *text) {
    jzx_promise *promise = process->to.promise;
    process->to.promise = NULL;
    if (err != JZX_OK) {
        (void)jzx_promise_reject(promise, err, text);
        return;
    }
    struct jzx__parcel *result = process->out.result;
    process->out.result = NULL;
    (void)jzx_promise_resolve_moved(promise, result, result == NULL ? NULL : drop);
}

void jzx__exec_tell(struct jzx__worker *me, struct jzx__process *process,
                    const struct jzx__ending *ending) {
    struct jzx_loop *loop = process->loop;
    const struct jzx__parcel *result = process->out.result;
    jzx_err err = err_of(process, ending);
    size_t len = err != JZX_OK || result == NULL ? 0 : result->len;
    if (process->to.promise != NULL)
        keep_promise(process, err, ending->text);
    if (process->to.op == 0)
        return;
    if (process->to.is_command) {
        (void)jzx__command_finish(loop, me, process->to.op, len == 0 ? NULL : result->bytes, len,
                                  err);
        return;
    }
    struct jzx__op *op = jzx__op_claim(loop, process->to.op, &exec_ops);
    if (op == NULL)
        return; /* nobody waits any more */
    if (len > jzx__op_capacity(op))
        jzx__op_complete(op, me, JZX_ERR_FULL, NULL, 0);
    else
        jzx__op_complete(op, me, err, len == 0 ? NULL : result->bytes, len);
}

/* ---- the public calls ---- */

/* Begins an operation for the result, and the process. */
static JZX_ACROSS_WAIT jzx_err begin(jzx_context *ctx, const jzx_spawn_opts *opts,
                                     const struct jzx__op_spec *spec, struct jzx__op **op,
                                     jzx_op *id) {
    struct jzx__own own;
    if (!jzx__own_begin(&own, ctx))
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__op_begin(&own, spec, op);
    if (err == JZX_OK) {
        struct execution *execution = jzx__op_own(*op);
        /* relaxed: published by the launch */
        jzx__atomic_store_relaxed(&execution->child, JZX_NOBODY);
        *id = jzx__op_id(*op);
        jzx__op_launch(*op);
        err = spawn(ctx->loop, own.me, opts, (struct jzx__result_to){.op = *id}, NULL);
        if (err != JZX_OK)
            jzx__op_undo(&own, *op);
    }
    jzx__own_end(&own);
    return err;
}

jzx_err jzx_process_exec(jzx_context *ctx, const jzx_spawn_opts *opts, uint64_t deadline_ns,
                         void *result, size_t *len) {
    struct jzx__op *op;
    jzx_op id;
    if (ctx == NULL || (result == NULL && len != NULL && *len != 0))
        return JZX_ERR_INVALID_ARG;
    if (!jzx__fiber_may_wait(ctx))
        return jzx__fiber_refuse(ctx, "jzx_process_exec");
    const struct jzx__op_spec spec = {.ops = &exec_ops,
                                      .capacity = len == NULL ? 0 : *len,
                                      .is_waited = true,
                                      .is_claimable = true};
    jzx_err err = begin(ctx, opts, &spec, &op, &id);
    return err == JZX_OK ? jzx__fiber_operate(ctx, op, deadline_ns, result, len) : err;
}

jzx_err jzx_process_exec_to(jzx_context *ctx, const jzx_spawn_opts *opts, size_t capacity,
                            uint32_t tag, jzx_op *op) {
    struct jzx__op *made;
    jzx_op id;
    const struct jzx__op_spec spec = {
        .ops = &exec_ops, .capacity = capacity, .tag = tag, .is_claimable = true};
    if (ctx == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = begin(ctx, opts, &spec, &made, &id);
    if (err == JZX_OK && op != NULL)
        *op = id;
    return err;
}

/* Copies a result to its caller. */
static jzx_err hand_over(const struct jzx__parcel *parcel, void *result, size_t *len) {
    size_t room = len == NULL ? 0 : *len;
    size_t size = parcel == NULL ? 0 : parcel->len;
    if (len != NULL)
        *len = size <= room ? size : 0;
    if (size > room)
        return JZX_ERR_FULL;
    if (size != 0)
        memcpy(result, parcel->bytes, size);
    return JZX_OK;
}

static jzx_err spawn_for_thread(jzx_loop *loop, const jzx_spawn_opts *opts, jzx_promise *promise,
                                jzx_actor_id *id) {
    struct jzx__visit visit;
    struct jzx__worker *me = jzx__loop_visit(loop, &visit);
    jzx_err err = spawn(loop, me, opts, (struct jzx__result_to){.promise = promise}, id);
    jzx__visit_end(&visit);
    return err;
}

jzx_err jzx_process_exec_wait(jzx_loop *loop, const jzx_spawn_opts *opts, uint64_t deadline_ns,
                              void *result, size_t *len) {
    jzx_promise *promise;
    jzx_future *future;
    jzx_actor_id id;
    void *object = NULL;
    if (loop == NULL || opts == NULL || (result == NULL && len != NULL && *len != 0))
        return JZX_ERR_INVALID_ARG;
    if (jzx__seat_exists(jzx__seat_of_thread))
        return jzx__waitless_refuse(loop, "jzx_process_exec_wait");
    jzx_err err = jzx_promise_create(loop, sizeof object, &promise, &future);
    if (err != JZX_OK)
        return err;
    err = spawn_for_thread(loop, opts, promise, &id);
    if (err != JZX_OK) {
        jzx_future_cancel(future);
        jzx_promise_drop(promise);
    } else {
        err = jzx_future_wait(future, deadline_ns, &object);
        if (err == JZX_OK)
            err = hand_over(object, result, len);
        else if (!jzx_future_is_ready(future))
            (void)jzx_actor_stop(loop, id, JZX_STOP_KILL);
    }
    jzx_future_release(future);
    return err;
}
