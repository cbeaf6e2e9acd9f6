/* SPDX-License-Identifier: MIT */
#include "net/start.h"

#include "future/operate.h"

jzx_err jzx__start_enter(struct jzx__start *start) {
    bool is_async = start->future != NULL;
    if (start->is_open)
        return JZX_OK;
    if (is_async) {
        start->me = jzx__loop_visit(start->loop, &start->visit);
    } else {
        if (!jzx__own_begin(&start->own, start->ctx))
            return JZX_ERR_INVALID_ARG;
        start->me = start->own.me;
        start->loop = start->ctx->loop;
    }
    start->is_open = true;
    return JZX_OK;
}

static jzx_err make(struct jzx__start *start, const struct jzx__start_spec *spec) {
    if (start->future == NULL) {
        const struct jzx__op_spec what = {
            .ops = spec->ops, .capacity = spec->capacity, .tag = start->tag};
        return jzx__op_begin(&start->own, &what, &start->made);
    }
    const struct jzx__future_op what = {
        .ops = spec->ops, .capacity = spec->capacity, .has_result = spec->has_result};
    return jzx__future_operate(start->loop, start->me, &what, &start->made, &start->made_future);
}

jzx_err jzx__start_open(struct jzx__start *start, struct jzx__socket *socket,
                        const struct jzx__start_spec *spec) {
    jzx_err err = jzx__start_enter(start);
    if (err != JZX_OK)
        return err;
    err = socket == NULL ? JZX_ERR_CLOSED : make(start, spec);
    if (err != JZX_OK) {
        start->made = NULL;
        return err;
    }
    struct jzx__socket_op *own = jzx__op_own(start->made);
    *own = (struct jzx__socket_op){.socket = socket};
    jzx__op_launch(start->made);
    return JZX_OK;
}

/* That of an actor stays until its message is handled: so its id may be read when it is complete.
 */
jzx_err jzx__start_close(struct jzx__start *start, jzx_err err) {
    bool is_async = start->future != NULL;
    if (!start->is_open)
        return err;
    if (err != JZX_OK && start->made != NULL) {
        if (is_async)
            jzx__future_undo(start->made, start->me);
        else
            jzx__op_undo(&start->own, start->made);
    } else if (err == JZX_OK && is_async) {
        *start->future = start->made_future;
    } else if (err == JZX_OK && start->op != NULL) {
        *start->op = jzx__op_id(start->made);
    }
    if (is_async)
        jzx__visit_end(&start->visit);
    else
        jzx__own_end(&start->own);
    return err;
}
