/* SPDX-License-Identifier: MIT */
/* The processes of a loop, and their states. */
#include "base/sized.h"
#include "process/process.h"

#include "jzx/loop.h"

static bool is_process(const struct jzx_loop *loop, jzx_actor_id id) {
    const struct jzx__actor *actor = jzx__table_lookup(&loop->table, id);
    const struct jzx__cold *cold = actor == NULL ? NULL : jzx__actor_cold(actor);
    /* relaxed: a hint, of a record that may be another's by now */
    return cold != NULL &&
           (jzx__atomic_load_relaxed(&cold->part_bits) & 1u << JZX__PART_PROCESS) != 0;
}

/* P2 of process.h. */
static jzx_process_state state_of(const jzx_actor_info *info) {
    switch (info->activity) {
    case JZX_ACTIVITY_RUNNING:
    case JZX_ACTIVITY_BLOCKED: return JZX_PROCESS_RUNNING;
    case JZX_ACTIVITY_COMPLETE: return JZX_PROCESS_COMPLETE;
    case JZX_ACTIVITY_READY:
        if (!info->is_partial)
            return JZX_PROCESS_READY;
        break;
    default: break;
    }
    if (info->depth != 0 || info->wait == JZX_WAIT_NONE)
        return JZX_PROCESS_READY;
    return info->wait == JZX_WAIT_OP ? JZX_PROCESS_BLOCKED : JZX_PROCESS_IDLE;
}

#define SHOWN_ITSELF UINT64_MAX /* a cursor */

/* The process whose close makes this call: its id is stale, so the walk passes it over. */
static jzx_err show_itself(jzx_loop *loop, uint64_t *cursor, jzx_actor_info *info) {
    const struct jzx__seat *seat = jzx__seat_of_thread;
    const struct jzx__turn *turn = jzx__seat_exists(seat) ? seat->cleanup : NULL;
    if (turn == NULL || turn->ctx.loop != loop || *cursor == SHOWN_ITSELF ||
        jzx__actor_cold(turn->actor) == NULL || jzx__process_of(turn->actor) == NULL)
        return JZX_ERR_NO_SUCH_ACTOR;
    *cursor = SHOWN_ITSELF;
    return jzx_actor_info_get(loop, turn->ctx.self, info);
}

jzx_err jzx_process_next(jzx_loop *loop, uint64_t *cursor, jzx_process_info *info) {
    jzx_process_info found = {.actor = {.size = sizeof found.actor}};
    if (!jzx__is_sized(info, sizeof *info))
        return JZX_ERR_INVALID_ARG;
    jzx_err err;
    do {
        err = jzx_actor_next(loop, cursor, &found.actor);
    } while (err == JZX_OK && !is_process(loop, found.actor.id));
    if (err == JZX_ERR_NO_SUCH_ACTOR)
        err = show_itself(loop, cursor, &found.actor);
    if (err != JZX_OK)
        return err;
    found.id = found.actor.id;
    found.state = state_of(&found.actor);
    jzx__write_sized(info, &found);
    return JZX_OK;
}

const char *jzx_process_state_name(jzx_process_state state) {
    switch (state) {
    case JZX_PROCESS_READY: return "ready";
    case JZX_PROCESS_RUNNING: return "running";
    case JZX_PROCESS_BLOCKED: return "blocked";
    case JZX_PROCESS_IDLE: return "idle";
    case JZX_PROCESS_COMPLETE: return "complete";
    }
    return "unknown";
}
