/* SPDX-License-Identifier: MIT */
#include "actor/announce.h"

#include "actor/loop.h"

void jzx__actor_announce(struct jzx_loop *loop, struct jzx__actor *actor) {
    if ((actor->task.care & JZX__CARE_ANNOUNCE) == 0)
        return;
    actor->task.care &= (uint16_t)~JZX__CARE_ANNOUNCE;
    if (!jzx__observer_is_set(&loop->observer))
        return;
    jzx_event event = {.kind = JZX_EVENT_ACTOR_START,
                       .actor = jzx__actor_id(actor),
                       .name = jzx__actor_name(actor)};
    jzx__loop_emit(loop, &event);
}
