/* SPDX-License-Identifier: MIT */
/* Who has made a call that makes no sense. */
#include "actor/misuse.h"

#include "actor/loop.h"
#include "actor/own.h"
#include "base/log.h"

#include <stdio.h>

_Static_assert(JZX_NAME_MAX + 48 <= JZX__CALLER_SIZE, "a name fits");

static jzx_actor_id actor_of(const struct jzx__turn *turn, char *name) {
    name[0] = '\0';
    if (turn == NULL)
        return JZX_NOBODY;
    jzx__name_read(turn->actor, name);
    return turn->ctx.self;
}

jzx_actor_id jzx__misuse_actor(const struct jzx_loop *loop, char *name) {
    const struct jzx__turn *turn = jzx__running_turn();
    return actor_of(turn != NULL && turn->ctx.loop == loop ? turn : NULL, name);
}

void jzx__misuse_name(char *text, size_t size, jzx_actor_id id, const char *name) {
    if (id == JZX_NOBODY)
        snprintf(text, size, "a thread that is no actor");
    else
        snprintf(text, size, "actor %u.%u%s%s", jzx_id_index(id), jzx_id_generation(id),
                 name[0] == '\0' ? "" : " ", name);
}

void jzx__misuse_caller(char *text, size_t size) {
    char name[JZX_NAME_MAX + 1];
    jzx_actor_id id = actor_of(jzx__running_turn(), name);
    jzx__misuse_name(text, size, id, name);
}

void jzx__misuse_report(struct jzx_loop *loop, const char *call, const void *ptr,
                        const char *what) {
    char who[JZX__CALLER_SIZE];
    jzx__misuse_caller(who, sizeof who);
    struct jzx__visit visit;
    jzx__visit_begin(&visit); /* S3 of seat.h */
    jzx__log(&loop->sched.log, JZX_LOG_ERROR, "%s(%p) by %s: %s", call, ptr, who, what);
    jzx__visit_end(&visit);
}
