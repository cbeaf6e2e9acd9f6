/* SPDX-License-Identifier: MIT */
#include "process/builtin.h"

#include "actor/own.h"
#include "process/commands.h"
#include "process/commands_file.h"
#include "process/commands_socket.h"
#include "process/exec.h"
#include "timer/make.h"
#include "watch/watch.h"

#include "jzx/loop.h"

#include <string.h>

static jzx_err done(jzx_context *ctx, const jzx_command *command, const void *data, size_t len) {
    (void)jzx_command_complete(ctx->loop, command->process, command->ref, data, len, JZX_OK);
    return JZX_OK;
}

/* Without data, unless it has failed. */
static jzx_err over(jzx_context *ctx, const jzx_command *command, jzx_err err) {
    return err == JZX_OK ? done(ctx, command, NULL, 0) : err;
}

/* The argument, if it has that size. */
static bool read_arg(const jzx_command *command, void *arg, size_t size) {
    if (command->len != size)
        return false;
    memcpy(arg, command->arg, size);
    return true;
}

/* ---- other actors ---- */

static jzx_err do_send(jzx_context *ctx, const jzx_command *command, void *data) {
    uint64_t head[2]; /* as jzx_out_send has it */
    (void)data;
    if (command->len < sizeof head)
        return JZX_ERR_INVALID_ARG;
    memcpy(head, command->arg, sizeof head);
    size_t len = command->len - sizeof head;
    const char *bytes = (const char *)command->arg + sizeof head;
    return over(
        ctx, command,
        jzx_send(ctx->loop, head[0], ctx->self, len == 0 ? NULL : bytes, len, (uint32_t)head[1]));
}

static jzx_err do_spawn(jzx_context *ctx, const jzx_command *command, void *data) {
    jzx_command_spawn arg;
    jzx_spawned made = {JZX_NOBODY, JZX_NO_MONITOR};
    (void)data;
    if (!read_arg(command, &arg, sizeof arg))
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx_spawn_watched(ctx, arg.opts, arg.linked, &made.id,
                                    arg.monitored ? &made.monitor : NULL);
    return err == JZX_OK ? done(ctx, command, &made, sizeof made) : err;
}

static jzx_err do_terminate(jzx_context *ctx, const jzx_command *command, void *data) {
    jzx_actor_id id;
    (void)data;
    if (!read_arg(command, &id, sizeof id))
        return JZX_ERR_INVALID_ARG;
    return over(ctx, command, jzx_actor_stop(ctx->loop, id, JZX_STOP_KILL));
}

static jzx_err do_cancel(jzx_context *ctx, const jzx_command *command, void *data) {
    jzx_command_cancel arg;
    (void)data;
    if (!read_arg(command, &arg, sizeof arg) || memchr(arg.text, '\0', sizeof arg.text) == NULL)
        return JZX_ERR_INVALID_ARG;
    return over(ctx, command, jzx_actor_cancel(ctx->loop, arg.id, arg.deadline_ns, arg.text));
}

/* The monitor that the process has of that actor, or JZX_NO_MONITOR. */
static jzx_monitor_ref monitor_of(jzx_context *ctx, jzx_actor_id id) {
    struct jzx__own own;
    jzx_monitor_ref found = JZX_NO_MONITOR;
    if (!jzx__own_begin(&own, ctx))
        return found;
    struct jzx__actor_watches *watches = jzx__own_part(&own, JZX__PART_WATCH);
    struct jzx__link *ring = watches == NULL ? NULL : &watches->watches.ring;
    for (struct jzx__link *link = ring == NULL ? NULL : ring->next; link != ring;
         link = link->next) {
        struct jzx__watch *watch = JZX_CONTAINER_OF(link, struct jzx__watch, at_holder);
        if (watch->kind == JZX__WATCH_MONITOR && jzx__watch_notice(watch)->actor == id)
            found = jzx__watch_notice(watch)->monitor;
    }
    jzx__own_end(&own);
    return found;
}

static jzx_err do_monitor(jzx_context *ctx, const jzx_command *command, void *data) {
    jzx_actor_id id;
    jzx_monitor_ref ref;
    (void)data;
    if (!read_arg(command, &id, sizeof id))
        return JZX_ERR_INVALID_ARG;
    if (monitor_of(ctx, id) != JZX_NO_MONITOR)
        return JZX_ERR_EXISTS;
    jzx_err err = jzx_monitor(ctx, id, &ref);
    return err == JZX_OK ? done(ctx, command, &ref, sizeof ref) : err;
}

static jzx_err do_unmonitor(jzx_context *ctx, const jzx_command *command, void *data) {
    jzx_actor_id id;
    (void)data;
    if (!read_arg(command, &id, sizeof id))
        return JZX_ERR_INVALID_ARG;
    (void)jzx_demonitor(ctx, monitor_of(ctx, id)); /* if there is one */
    return done(ctx, command, NULL, 0);
}

static jzx_err do_link(jzx_context *ctx, const jzx_command *command, void *data) {
    jzx_actor_id id;
    (void)data;
    if (!read_arg(command, &id, sizeof id))
        return JZX_ERR_INVALID_ARG;
    return over(ctx, command, jzx_link(ctx, id));
}

static jzx_err do_unlink(jzx_context *ctx, const jzx_command *command, void *data) {
    jzx_actor_id id;
    (void)data;
    if (!read_arg(command, &id, sizeof id))
        return JZX_ERR_INVALID_ARG;
    return over(ctx, command, jzx_unlink(ctx, id));
}

/* ---- time ---- */

/* A timer of the process; its turn completes the command when that fires. */
static jzx_err do_sleep(jzx_context *ctx, const jzx_command *command, void *data) {
    uint64_t until_ns;
    struct jzx__own own;
    (void)data;
    if (!read_arg(command, &until_ns, sizeof until_ns))
        return JZX_ERR_INVALID_ARG;
    uint64_t now_ns = jzx_loop_now(ctx->loop);
    if (until_ns <= now_ns)
        return done(ctx, command, NULL, 0);
    if (!jzx__own_begin(&own, ctx))
        return JZX_ERR_INVALID_STATE;
    const struct jzx__timer_spec spec = {.to = ctx->self,
                                         .from = ctx->self,
                                         .data = &command->ref,
                                         .len = sizeof command->ref,
                                         .tag = JZX__TAG_SLEPT,
                                         .mode = JZX__TIMER_ONCE,
                                         .delay_ns = until_ns - now_ns};
    jzx_err err = jzx__timer_start(own.turn, own.me, &spec, NULL);
    jzx__own_end(&own);
    return err;
}

static jzx_err do_now(jzx_context *ctx, const jzx_command *command, void *data) {
    uint64_t now_ns = jzx_loop_now(ctx->loop);
    (void)data;
    return done(ctx, command, &now_ns, sizeof now_ns);
}

void jzx__builtin_fill(jzx_command_handler *handlers) {
    static const struct {
        uint16_t id;
        jzx_command_handler handler;
    } all[] = {
        {JZX_COMMAND_SEND, {.handle = do_send}},
        {JZX_COMMAND_SPAWN, {.handle = do_spawn}},
        {JZX_COMMAND_TERMINATE, {.handle = do_terminate}},
        {JZX_COMMAND_CANCEL, {.handle = do_cancel}},
        {JZX_COMMAND_MONITOR, {.handle = do_monitor}},
        {JZX_COMMAND_UNMONITOR, {.handle = do_unmonitor}},
        {JZX_COMMAND_LINK, {.handle = do_link}},
        {JZX_COMMAND_UNLINK, {.handle = do_unlink}},
        {JZX_COMMAND_EXEC, {.handle = jzx__exec_handle}},
        {JZX_COMMAND_SLEEP, {.handle = do_sleep}},
        {JZX_COMMAND_NOW, {.handle = do_now}},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        handlers[all[i].id] = all[i].handler;
    jzx__commands_fill_socket(handlers);
    jzx__commands_fill_file(handlers);
}
