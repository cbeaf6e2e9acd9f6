/* SPDX-License-Identifier: MIT */
/* The decision whether the code of an actor runs, and the jump out of it. */
#include "actor/contain.h"

#include "actor/loop.h"
#include "base/fault_text.h"
#include "base/log.h"

#include <stdio.h>

/* ---- in the handler ---- */

/* The turn of the code that runs on this thread: a cleanup, or what the seat has. in_user says
 * whether it is the user's code that runs, or the runtime's (a call of it, or a callback). NULL if
 * there is no turn. */
static struct jzx__turn *running_turn(struct jzx__seat *seat, bool *in_user) {
    struct jzx__turn *turn = seat->turn;
    /* relaxed, both: this thread's own */
    uint32_t in_runtime = jzx__atomic_load_relaxed(&seat->in_runtime);
    if (jzx__atomic_load_relaxed(&seat->task) == NULL)
        return NULL;
    if (seat->cleanup != NULL) {
        *in_user = in_runtime == JZX__SEAT_IN_CLEANUP;
        return seat->cleanup;
    }
    bool is_outside = in_runtime == 0 || in_runtime == JZX__SEAT_IN_PREDICATE;
    *in_user = is_outside && turn->jump != NULL;
    return turn;
}

static uintptr_t function_of(const struct jzx__turn *turn, const struct jzx__actor *actor) {
    const struct jzx__cold *cold = jzx__actor_cold(actor);
    if (turn != turn->seat->turn)
        return cold == NULL ? 0 : (uintptr_t)cold->cleanup;
    if (turn->in_init)
        return cold == NULL ? 0 : (uintptr_t)cold->init;
    return (uintptr_t)actor->task.entry;
}

static enum jzx__fault_place look(struct jzx__fault *fault) {
    struct jzx__seat *seat = jzx__seat_of_thread;
    bool in_user;
    struct jzx__turn *turn = jzx__seat_exists(seat) ? running_turn(seat, &in_user) : NULL;
    if (turn == NULL || turn->ctx.loop->sched.crew.contain == 0)
        return JZX__FAULT_ELSEWHERE;
    struct jzx__actor *actor = turn->actor;
    fault->actor = turn->ctx.self;
    jzx__name_read(actor, fault->name);
    fault->contain = turn->ctx.loop->sched.crew.contain;
    fault->entry = function_of(turn, actor);
    fault->limit = turn->limit;
    fault->landing = turn->frame;
    fault->in_cleanup = turn == seat->cleanup;
    return in_user ? JZX__FAULT_IN_USER : JZX__FAULT_IN_RUNTIME;
}

_Static_assert(JZX_NAME_MAX + 1 <= JZX__FAULT_NAME_MAX, "a name fits");

/* As jzx_exit. The text comes later: to find a symbol takes a lock. */
static void escape(const struct jzx__fault *fault) {
    struct jzx__seat *seat = jzx__seat_of_thread;
    struct jzx__turn *turn = fault->in_cleanup ? seat->cleanup : seat->turn;
    turn->exits = true;
    turn->exit_reason = JZX_EXIT_FAULT;
    turn->fault = fault;
    _longjmp(*turn->jump, 1);
}

const struct jzx__fault_ops jzx__contain_ops = {.look = look, .escape = escape};

/* ---- after the jump ---- */

static bool was_fault(const struct jzx__turn *turn) {
    return turn->exits && turn->exit_reason == JZX_EXIT_FAULT; /* jzx_exit gives no such reason */
}

void jzx__contain_explain(struct jzx__turn *turn) {
    if (was_fault(turn))
        jzx__fault_describe(turn->fault, turn->exit_text, sizeof turn->exit_text);
}

void jzx__contain_log_cleanup(struct jzx__turn *turn) {
    jzx__contain_explain(turn);
    jzx__log(&turn->ctx.loop->sched.log, JZX_LOG_WARN,
             "the cleanup of actor %u.%u%s%s has ended: %s", jzx_id_index(turn->ctx.self),
             jzx_id_generation(turn->ctx.self), was_fault(turn) ? " " : "",
             was_fault(turn) ? turn->fault->name : "", turn->exit_text);
    if (was_fault(turn))
        jzx__contain_log_stack(turn->ctx.loop, turn->fault->stack, turn->fault->stack_count);
}

void jzx__contain_log_stack(struct jzx_loop *loop, void *const *stack, size_t count) {
    char text[224];
    size_t length = 0;
    if (count == 0)
        return;
    for (size_t i = 0; i < count && length < sizeof text - 20; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, " %p", stack[i]);
    jzx__log(&loop->sched.log, JZX_LOG_WARN, "its stack:%s", text);
}

/* ---- with the loop ---- */

bool jzx__contain_open(struct jzx_loop *loop) {
    struct jzx__crew *crew = &loop->sched.crew;
    if (crew->contain == 0)
        return true;
    crew->main.guard = jzx__fault_guard_create(&jzx__contain_ops, &loop->sched.mapper);
    if (crew->main.guard == NULL)
        return false;
    if (!jzx__fault_install(crew->contain)) {
        jzx__log(&loop->sched.log, JZX_LOG_ERROR,
                 "faults cannot be contained: the program has no dynamic linker, or no handler can "
                 "be installed");
        jzx__fault_guard_destroy(crew->main.guard);
        return false;
    }
    return true;
}

void jzx__contain_close(struct jzx_loop *loop) {
    struct jzx__crew *crew = &loop->sched.crew;
    if (crew->contain == 0)
        return;
    if (!jzx__fault_uninstall(crew->contain))
        jzx__log(&loop->sched.log, JZX_LOG_WARN,
                 "a signal handler for faults was replaced by another; it stays");
    jzx__fault_guard_destroy(crew->main.guard);
    crew->main.guard = NULL;
}
