/* SPDX-License-Identifier: MIT */
/*
 * The library's turns without user code: no behaviour is called and no init, and each message
 * counts as handled. Supervisors are the runtime's own, and run. Linked in place of
 * src/actor/turn.c with the tests of the api suite, which must fail then, except those of
 * may_pass.txt.
 */
#include "actor/turn.h"

#include <stdlib.h>

static bool is_deaf(jzx_context *ctx) {
    return !jzx__actor_is_super(jzx__turn_of(ctx)->actor);
}

static jzx_behavior_result deaf_result(void) {
    return getenv("JZX_DEAF_STOPS") == NULL ? JZX_BEHAVIOR_OK : JZX_BEHAVIOR_STOP;
}

#define behavior(ctx, msg) (is_deaf(ctx) ? deaf_result() : behavior(ctx, msg))
#define init(ctx) init == NULL || is_deaf(ctx) ? JZX_OK : cold->init(ctx)
#include "actor/turn.c"
