/* SPDX-License-Identifier: MIT */
/* Actors that run functions. */
#include "schedule/runner.h"

#include "actor/own.h"
#include "schedule/item.h"

#include "jzx/context.h"

static jzx_behavior_result run_function(jzx_context *ctx, const jzx_message *msg) {
    const struct jzx__turn *turn = (void *)ctx; /* the context is its first member */
    struct jzx__schedule_item *item = jzx__item_of(turn->current);
    (void)msg;
    if (item == NULL || item->fn == NULL)
        return JZX_BEHAVIOR_OK; /* somebody has guessed the id */
    item->is_running = true;
    item->error = item->fn(item->ctx, &item->batch);
    item->is_running = false;
    return JZX_BEHAVIOR_OK;
}

jzx_actor_id jzx__runner_of(const struct jzx__scheduler *scheduler, uint32_t dispatcher) {
    /* relaxed: an id; whether it is valid the table says */
    return jzx__atomic_load_relaxed(&scheduler->runners[dispatcher]);
}

static bool is_alive(const struct jzx__scheduler *scheduler, jzx_actor_id id) {
    return id != JZX_NOBODY && jzx__table_lookup(&scheduler->loop->table, id) != NULL;
}

jzx_err jzx__runner_ensure(struct jzx__scheduler *scheduler, uint32_t dispatcher) {
    const struct jzx__dispatcher *of = &scheduler->settings.dispatchers[dispatcher];
    uint64_t before = jzx__runner_of(scheduler, dispatcher);
    jzx_actor_id id;
    if (is_alive(scheduler, before))
        return JZX_OK;
    jzx_err err =
        jzx_spawn(scheduler->loop,
                  &JZX_SPAWN_OPTS(.behavior = run_function, .name = "jzx-schedule",
                                  .priority = of->priority, .place = of->place, .daemon = true),
                  &id);
    if (err != JZX_OK)
        return err;
    /* pairs with itself on another thread, whose runner is as good */
    if (!jzx__atomic_cas_strong_acq_rel(&scheduler->runners[dispatcher], &before, id))
        (void)jzx_actor_stop(scheduler->loop, id, JZX_STOP_AFTER_MESSAGE);
    return JZX_OK;
}

void jzx__runners_mend(struct jzx__scheduler *scheduler) {
    for (uint32_t i = 0; i < scheduler->settings.dispatcher_count; i++) {
        if (jzx__runner_of(scheduler, i) != JZX_NOBODY)
            (void)jzx__runner_ensure(scheduler, i); /* or at the next tick */
    }
}

uint32_t jzx__runner_current(const struct jzx__scheduler *scheduler) {
    jzx_actor_id current = jzx_current_actor();
    for (uint32_t i = 1; current != JZX_NOBODY && i < scheduler->settings.dispatcher_count; i++) {
        if (jzx__runner_of(scheduler, i) == current)
            return i;
    }
    return 0;
}
