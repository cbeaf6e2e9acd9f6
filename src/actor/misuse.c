/* SPDX-License-Identifier: MIT */
/* Who has made a call that makes no sense. */
#include "actor/misuse.h"

#include "actor/loop.h"
#include "actor/own.h"
#include "base/log.h"

#include <stdio.h>

_Static_assert(JZX_NAME_MAX + 48 <= JZX__CALLER_SIZE, "a name fits");

void jzx__misuse_caller(char *text, size_t size) {
    const struct jzx__turn *turn = jzx__running_turn();
    char name[JZX_NAME_MAX + 1] = "";
    if (turn == NULL) {
        snprintf(text, size, "a thread that is no actor");
        return;
    }
    jzx__name_read(turn->actor, name);
    snprintf(text, size, "actor %u.%u%s%s", jzx_id_index(turn->ctx.self),
             jzx_id_generation(turn->ctx.self), name[0] == '\0' ? "" : " ", name);
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
