/* SPDX-License-Identifier: MIT */
/* Polling manual actors. A poll that needs the worker of its actor waits for a thread that drives
 * the loop, or, if there is none, does what is needed itself. */
#include "typed/manual.h"

#include "loop/loop.h"

static bool is_inside_a_loop(void) {
    return jzx__seat_exists(jzx__seat_of_thread);
}

/* The turn is not the poller's: until it may be. */
static jzx_err wait_for_worker(struct jzx_manual *manual) {
    jzx_err err = jzx__loop_run_alone(manual->loop, manual->worker, &manual->actor->task);
    if (err == JZX_ERR_BUSY) {
        jzx__manual_call(manual);
        jzx__manual_wait(manual);
        return JZX_OK;
    }
    return err == JZX_ERR_ESCALATED ? JZX_OK : err;
}

/* The poller has begun: true if *has says what there is; else the worker has the turn. */
static bool settle(struct jzx_manual *manual, bool *looked, bool *has) {
    enum jzx__manual_look look = jzx__manual_look(manual);
    if (look == JZX__MANUAL_WANTED || (look == JZX__MANUAL_NONE && !*looked)) {
        *looked = true;
        jzx__manual_give(manual);
        return false;
    }
    *has = look == JZX__MANUAL_HAS;
    if (!*has)
        jzx__manual_rest(manual);
    return true;
}

/* *has: the phase is HANDLING, and there is something to handle; else nothing waits. *looked: the
 * worker was asked what waits, before or in this call. */
static jzx_err obtain(struct jzx_manual *manual, bool *looked, bool *has) {
    jzx_err err = JZX_OK;
    *has = false;
    while (err == JZX_OK) {
        switch (jzx__manual_phase(manual)) {
        case JZX__MANUAL_ENDED: return JZX_ERR_NO_SUCH_ACTOR;
        case JZX__HANDLING: return JZX_ERR_BUSY;
        case JZX__WITH_POLLER:
            if (jzx__manual_begin(manual) && settle(manual, looked, has))
                return JZX_OK;
            break;
        default: err = wait_for_worker(manual); break;
        }
    }
    return jzx__manual_phase(manual) == JZX__MANUAL_ENDED ? JZX_ERR_NO_SUCH_ACTOR : err;
}

/* What was obtained: counts a message. An actor that ends by it is gone when this returns. */
static void handle(struct jzx_manual *manual, size_t *count) {
    enum jzx__manual_fate fate = jzx__manual_handle(manual);
    jzx_err err = fate == JZX__MANUAL_LEFT ? JZX_OK : JZX_ERR_NO_SUCH_ACTOR;
    *count += fate != JZX__MANUAL_STARTED;
    while (err == JZX_OK && jzx__manual_phase(manual) != JZX__MANUAL_ENDED)
        err = wait_for_worker(manual);
}

/* Handles at most max messages, while more, which is asked before each, says so. */
static jzx_err poll(struct jzx_manual *manual, size_t max, bool (*more)(void *arg), void *arg,
                    size_t *count) {
    jzx_err err = JZX_OK;
    bool has = true;
    bool asks = true; /* not again for the message that follows the init */
    while (err == JZX_OK && has && *count < max && (!asks || more == NULL || more(arg))) {
        bool looked = false;
        size_t before = *count;
        err = obtain(manual, &looked, &has);
        if (err == JZX_OK && has)
            handle(manual, count);
        asks = *count != before;
    }
    return err;
}

/* ---- the calls ---- */

/* One that other calls may give up meanwhile. */
static jzx_err enter(struct jzx_manual *manual) {
    if (manual == NULL)
        return JZX_ERR_INVALID_ARG;
    if (is_inside_a_loop())
        return JZX_ERR_BUSY;
    jzx__manual_ref(manual);
    return JZX_OK;
}

/* What the last handler has left to the worker, a timer to arm for instance, is seen to before the
 * poll returns. A thread that drives the loop was called, and is not waited for. */
static void leave(struct jzx_manual *manual) {
    if (jzx__manual_phase(manual) == JZX__GIVEN)
        (void)jzx__loop_run_alone(manual->loop, manual->worker, &manual->actor->task);
    jzx__manual_unref(manual);
}

jzx_err jzx_manual_poll_one(jzx_manual *manual, bool *handled) {
    size_t count = 0;
    jzx_err err = enter(manual);
    if (err == JZX_OK) {
        err = poll(manual, 1, NULL, NULL, &count);
        leave(manual);
    }
    if (handled != NULL)
        *handled = count != 0;
    return err;
}

static jzx_err poll_many(jzx_manual *manual, size_t max, bool (*more)(void *arg), void *arg,
                         size_t *count) {
    size_t handled = 0;
    jzx_err err = enter(manual);
    if (err == JZX_OK) {
        err = poll(manual, max, more, arg, &handled);
        leave(manual);
    }
    if (count != NULL)
        *count = handled;
    return err;
}

jzx_err jzx_manual_drain(jzx_manual *manual, uint32_t max_messages, size_t *count) {
    const bool is_bounded = max_messages != 0 && max_messages != JZX_UNLIMITED;
    return poll_many(manual, is_bounded ? max_messages : SIZE_MAX, NULL, NULL, count);
}

jzx_err jzx_manual_poll_while(jzx_manual *manual, bool (*more)(void *arg), void *arg,
                              size_t *count) {
    if (more != NULL)
        return poll_many(manual, SIZE_MAX, more, arg, count);
    if (count != NULL)
        *count = 0;
    return JZX_ERR_INVALID_ARG;
}

void *jzx_manual_state(jzx_manual *manual) {
    jzx_err err = JZX_OK;
    if (manual == NULL)
        return NULL;
    for (;;) {
        switch (jzx__manual_phase(manual)) {
        case JZX__MANUAL_ENDED: return NULL;
        case JZX__WITH_POLLER:
        case JZX__HANDLING: return manual->turn.ctx.state;
        default: err = is_inside_a_loop() ? JZX_ERR_BUSY : wait_for_worker(manual); break;
        }
        if (err != JZX_OK)
            return NULL;
    }
}

/* Has its worker look at it. */
static void give_up(struct jzx_manual *manual) {
    jzx_err err = JZX_OK;
    while (err == JZX_OK) {
        switch (jzx__manual_phase(manual)) {
        case JZX__MANUAL_ENDED:
        case JZX__HANDLING: return; /* by this thread, further out */
        case JZX__WITH_POLLER:
            if (jzx__manual_begin(manual)) {
                jzx__manual_give(manual);
                jzx__manual_call(manual);
            }
            break;
        default: err = is_inside_a_loop() ? JZX_ERR_BUSY : wait_for_worker(manual); break;
        }
    }
}

void jzx_manual_destroy(jzx_manual *manual) {
    if (manual == NULL)
        return;
    if (jzx__manual_phase(manual) != JZX__MANUAL_ENDED) {
        jzx__manual_leave(manual);
        (void)jzx_actor_stop(manual->loop, manual->id, JZX_STOP_AFTER_MESSAGE);
        give_up(manual);
    }
    jzx__manual_unref(manual);
}
