/* SPDX-License-Identifier: MIT */
/* Whose code has called, and whether it can be left. */
#include "actor/waitless.h"

#include "actor/loop.h"
#include "actor/misuse.h"
#include "actor/own.h"
#include "actor/turn.h"
#include "base/log.h"

#include "jzx/context.h"

#include <stdio.h>

jzx_context *jzx_current_context(void) {
    struct jzx__turn *turn = jzx__running_turn();
    return turn != NULL && jzx__turn_can_exit(turn) ? &turn->ctx : NULL;
}

static void log_call(struct jzx_loop *loop, const char *text) {
    char who[JZX__CALLER_SIZE];
    struct jzx__visit visit;
    jzx__misuse_caller(who, sizeof who);
    jzx__visit_begin(&visit); /* S3 of seat.h */
    jzx__log(&loop->sched.log, JZX_LOG_ERROR, "%s, by %s", text, who);
    jzx__visit_end(&visit);
}

/* The loop whose worker this thread drives, or NULL. */
static struct jzx_loop *loop_of_thread(void) {
    struct jzx__visit visit;
    struct jzx__worker *me = jzx__visit_begin(&visit);
    struct jzx_loop *loop = me == NULL ? NULL : jzx__loop_of(me);
    jzx__visit_end(&visit);
    return loop;
}

jzx_err jzx__waitless_refuse(struct jzx_loop *loop, const char *call) {
    struct jzx__turn *turn = jzx__running_turn();
    char text[JZX_EXIT_TEXT_MAX + 1];
    if (turn != NULL)
        loop = turn->ctx.loop;
    else if (loop == NULL)
        loop = loop_of_thread();
    if (loop == NULL || loop->on_wait == JZX_ON_WAIT_REFUSE)
        return JZX_ERR_WOULD_SUSPEND;
    snprintf(text, sizeof text, "%s called where nothing may wait", call);
    if (loop->on_wait == JZX_ON_WAIT_ABORT)
        jzx__wrong_use(text);
    if (turn != NULL && jzx__turn_can_exit(turn))
        jzx_exit(&turn->ctx, JZX_EXIT_FAIL, text);
    log_call(loop, text);
    return JZX_ERR_WOULD_SUSPEND;
}
