/* SPDX-License-Identifier: MIT */
/* Processes: the steps' own calls, commands and their handlers, exec; and trees of supervisors. */
#include "fuzz.h"

#include <string.h>

enum { A_COMMAND = JZX_COMMAND_CUSTOM, LATER_COMMAND };

RUN(jzx_out_continue, f->out);
RUN(jzx_out_idle, f->out);
RUN(jzx_out_wait, f->out);
CALL(jzx_out_done, f->out, DATA, LEN);

static void do_jzx_out_upgrade(struct fuzz *f) {
    f->me->is_child = true; /* its close runs more than once */
    if (fuzz_status(f, jzx_out_upgrade(f->out, OR_NULL(&fuzz_process_ops), TEXT, &f->me,
                                       sizeof f->me)) == JZX_OK)
        f->me->has_upgraded = true; /* commands may complete that this step has yielded */
}

static void count_command(struct fuzz *f, int err) {
    if (fuzz_status(f, err) == JZX_OK)
        f->me->commands++;
}

static void do_jzx_out_send(struct fuzz *f) {
    count_command(f, jzx_out_send(f->out, WORD, ID, DATA, LEN, TAG));
}

/* Arguments of the sizes that the commands have, and others. */
static void do_jzx_out_yield(struct fuzz *f) {
    _Alignas(max_align_t) unsigned char arg[256] = {0};
    static const uint16_t commands[] = {JZX_COMMAND_TERMINATE,
                                        JZX_COMMAND_MONITOR,
                                        JZX_COMMAND_UNMONITOR,
                                        JZX_COMMAND_LINK,
                                        JZX_COMMAND_UNLINK,
                                        JZX_COMMAND_SLEEP,
                                        JZX_COMMAND_NOW,
                                        JZX_COMMAND_CANCEL,
                                        JZX_COMMAND_SOCKET_ACCEPT,
                                        JZX_COMMAND_SOCKET_CLOSE,
                                        JZX_COMMAND_SOCKET_SHUTDOWN,
                                        JZX_COMMAND_FILE_CLOSE,
                                        JZX_COMMAND_FILE_STAT,
                                        JZX_COMMAND_SOCKET_READ,
                                        A_COMMAND,
                                        LATER_COMMAND,
                                        A_COMMAND,
                                        LATER_COMMAND};
    uint16_t command = commands[fuzz_below(f, sizeof commands / sizeof commands[0])];
    size_t len = fuzz_chance(f, 12) ? BELOW(16) : sizeof(uint64_t);
    uint64_t word = YES_OR_NO ? ID : fuzz_handle(f, A_STREAM);
    if (command == JZX_COMMAND_SLEEP)
        word = WHEN;
    if (command == JZX_COMMAND_NOW)
        len = 0;
    if (command == JZX_COMMAND_CANCEL)
        len = sizeof(jzx_command_cancel);
    if (command == JZX_COMMAND_SOCKET_READ) {
        const jzx_command_socket_read read = {fuzz_handle(f, A_STREAM), 1 + BELOW(64), 0};
        memcpy(arg, &read, len = sizeof read);
    } else
        memcpy(arg, &word, sizeof word);
    count_command(f, jzx_out_yield(f->out, WORD, command, arg, len));
}

static void do_jzx_event_open(struct fuzz *f) {
    jzx_process_event wrong = {0};
    const jzx_process_event *event = &wrong;
    if (f->event_count > 0 && !fuzz_chance(f, 12))
        event = &f->events[fuzz_below(f, f->event_count)];
    if (fuzz_status(f, jzx_event_open(f->ctx, event)) == JZX_OK)
        f->msg = &event->message;
}

/* ---- commands of the program's own ---- */

static _Atomic uint64_t later_process, later_ref;

static jzx_err at_once(jzx_context *ctx, const jzx_command *command, void *data) {
    (void)data;
    if (command->tag % 3 == 0)
        return JZX_ERR_FAILED;
    return jzx_command_complete(ctx->loop, command->process, command->ref, command->arg,
                                command->len, JZX_OK);
}

static jzx_err later(jzx_context *ctx, const jzx_command *command, void *data) {
    (void)ctx;
    (void)data;
    atomic_store(&later_process, command->process);
    atomic_store(&later_ref, command->ref);
    return JZX_OK;
}

static void cancelled(jzx_loop *loop, jzx_op ref, void *data) {
    (void)loop;
    (void)ref;
    (void)data;
}

static void do_jzx_command_register(struct fuzz *f) {
    jzx_command_handler handler = {YES_OR_NO ? at_once : later, YES_OR_NO ? cancelled : NULL, NULL};
    fuzz_status(f, jzx_command_register(LOOP, (uint16_t)(YES_OR_NO ? A_COMMAND : LATER_COMMAND),
                                        OR_NULL(&handler)));
}

CALL(jzx_commands_freeze, LOOP);
USE(jzx_command_get, LOOP, (uint16_t)BELOW(300), OR_NULL(&(jzx_command_handler){0}));
CALL(jzx_command_complete, LOOP, fuzz_chance(f, 8) ? ID : atomic_load(&later_process),
     fuzz_chance(f, 8) ? WORD : atomic_load(&later_ref), DATA, LEN, (jzx_err) - (int)BELOW(40));

/* ---- exec, and looking ---- */

static const jzx_spawn_opts *process_opts(struct fuzz *f, jzx_spawn_opts *opts,
                                          struct fuzz_actor **actor) {
    fuzz_spawn_opts(f, opts, actor);
    if (*actor == NULL)
        return opts;
    (*actor)->is_child = true; /* an exec that is refused may have spawned it */
    if (fuzz_chance(f, 16))
        return opts;
    opts->behavior = NULL;
    opts->fiber = NULL;
    opts->init = NULL;
    opts->cleanup = NULL;
    opts->trap_stop = false;
    opts->stack_size_bytes = 0;
    opts->migratable = false;
    opts->thread_bound = false;
    opts->process = &fuzz_process_ops;
    opts->method = "exec";
    opts->input = &(*actor)->me_address;
    opts->input_len = sizeof(*actor)->me_address;
    return opts;
}

static void do_jzx_process_exec(struct fuzz *f) {
    jzx_spawn_opts opts;
    struct fuzz_actor *actor;
    unsigned char result[64];
    size_t len = BELOW(sizeof result + 1);
    const jzx_spawn_opts *given = process_opts(f, &opts, &actor);
    fuzz_status(f, jzx_process_exec(CTX, given, WHEN, result, OR_NULL(&len)));
}

static void do_jzx_process_exec_to(struct fuzz *f) {
    jzx_spawn_opts opts;
    struct fuzz_actor *actor;
    jzx_op op = JZX_NO_OP;
    const jzx_spawn_opts *given = process_opts(f, &opts, &actor);
    fuzz_begun(f, jzx_process_exec_to(CTX, given, BELOW(64), FUZZ_TAG_OP, &op), &op);
}

static void do_jzx_process_exec_wait(struct fuzz *f) {
    jzx_spawn_opts opts;
    struct fuzz_actor *actor;
    unsigned char result[64];
    size_t len = sizeof result;
    const jzx_spawn_opts *given = process_opts(f, &opts, &actor);
    fuzz_status(f, jzx_process_exec_wait(LOOP, given, WHEN, result, &len));
}

static void do_jzx_process_next(struct fuzz *f) {
    jzx_process_info info = {.size = fuzz_options_size(f, sizeof info)};
    uint64_t cursor = fuzz_chance(f, 8) ? WORD : 0;
    for (unsigned i = BELOW(5); i > 0 && jzx_process_next(LOOP, &cursor, &info) == JZX_OK; i--)
        (void)jzx_process_state_name(info.state);
}

static const struct fuzz_operation operations[] = {
    ROW(jzx_out_continue, 6, IN_STEP),       ROW(jzx_out_idle, 3, IN_STEP),
    ROW(jzx_out_wait, 3, IN_STEP),           ROW(jzx_out_done, 2, IN_STEP),
    ROW(jzx_out_upgrade, 3, IN_STEP),        ROW(jzx_out_send, 10, IN_STEP),
    ROW(jzx_out_yield, 40, IN_STEP),         ROW(jzx_event_open, 12, IN_STEP),
    ROW(jzx_command_register, 4, ANYWHERE),  ROW(jzx_commands_freeze, 1, ANYWHERE),
    ROW(jzx_command_get, 1, ANYWHERE),       ROW(jzx_command_complete, 6, ANYWHERE),
    ROW(jzx_process_exec, 5, ANYWHERE),      ROW(jzx_process_exec_to, 5, ANYWHERE),
    ROW(jzx_process_exec_wait, 2, ANYWHERE), ROW(jzx_process_next, 2, ANYWHERE),
};
FUZZ_FAMILY(process, operations);

/* ---- supervisors ---- */

#define SUPERVISOR fuzz_handle(f, A_SUPERVISOR)
#define CHILD_NAME (fuzz_chance(f, 8) ? NAME : YES_OR_NO ? "one" : YES_OR_NO ? "two" : "three")

enum { CHILDREN = 3, DEPTH = 2 };

/* Children with names of their own, and below one of them perhaps another supervisor. */
static void tree(struct fuzz *f, jzx_supervisor_opts *opts, jzx_child_spec *specs,
                 const jzx_supervisor_opts *below) {
    *opts = JZX_SUPERVISOR_OPTS(.name = NAME, .strategy = (jzx_strategy)BELOW(4),
                                .auto_shutdown = (jzx_auto_shutdown)BELOW(2),
                                .intensity = YES_OR_NO ? JZX_UNLIMITED : BELOW(4),
                                .period_ns = JZX_MS(1000),
                                .listener = fuzz_chance(f, 2) ? ID : JZX_NOBODY);
    static const char *const names[CHILDREN] = {"one", "two", "three"};
    for (unsigned i = 0; i < CHILDREN; i++) {
        fuzz_child_spec(f, &specs[i]);
        specs[i].name = names[i];
        memset(specs[i].depends_on, 0, sizeof specs[i].depends_on);
        if (fuzz_chance(f, 2)) /* mostly there, and no circle */
            specs[i].depends_on[0] = i == 0 || fuzz_chance(f, 8) ? NULL : names[BELOW(i)];
    }
    if (below != NULL)
        specs[1] = (jzx_child_spec){
            .name = "two", .supervisor = below, .depends_on = {fuzz_chance(f, 2) ? "one" : NULL}};
    opts->children = specs;
    opts->child_count = fuzz_chance(f, 16) ? 0 : 1 + BELOW(CHILDREN);
    opts->child_size = fuzz_options_size(f, sizeof specs[0]);
    if (opts->child_size != sizeof specs[0] && opts->child_size < sizeof specs[0])
        opts->child_size = 0; /* children that are cut off may leave the state out */
    opts->size = fuzz_options_size(f, sizeof *opts);
}

static void do_jzx_spawn_supervisor(struct fuzz *f) {
    jzx_child_spec specs[DEPTH][CHILDREN];
    jzx_supervisor_opts opts[DEPTH];
    const char *field = NULL;
    jzx_actor_id id = JZX_NOBODY;
    tree(f, &opts[1], specs[1], NULL);
    tree(f, &opts[0], specs[0], fuzz_chance(f, 3) ? &opts[1] : NULL);
    if (fuzz_status(f, jzx_supervisor_check(&opts[0], &field)) != JZX_OK && field == NULL)
        fuzz_fail("jzx_supervisor_check names no field");
    if (fuzz_status(f, jzx_spawn_supervisor(LOOP, OR_NULL(&opts[0]), &id)) != JZX_OK)
        return;
    fuzz_note(f, A_SUPERVISOR, id);
    fuzz_note(f, AN_ACTOR, id);
}

static void do_jzx_supervisor_child(struct fuzz *f) {
    jzx_actor_id id = JZX_NOBODY;
    jzx_err err = YES_OR_NO ? jzx_supervisor_child(LOOP, SUPERVISOR, CHILD_NAME, &id)
                            : jzx_supervisor_child_id(LOOP, SUPERVISOR, BELOW(4), &id);
    if (fuzz_status(f, err) == JZX_OK)
        fuzz_note(f, AN_ACTOR, id);
}

CALL(jzx_supervisor_opts_init, OR_NULL(&(jzx_supervisor_opts){0}),
     fuzz_options_size(f, sizeof(jzx_supervisor_opts)));
CALL(jzx_service_init, OR_NULL(&(jzx_child_spec){0}), fuzz_options_size(f, sizeof(jzx_child_spec)));
CALL(jzx_supervisor_info_get, LOOP, SUPERVISOR,
     OR_NULL(&(jzx_supervisor_info){.size = fuzz_options_size(f, sizeof(jzx_supervisor_info))}));
CALL(jzx_supervisor_child_info, LOOP, SUPERVISOR, BELOW(4),
     OR_NULL(&(jzx_child_info){.size = fuzz_options_size(f, sizeof(jzx_child_info))}));
CALL(jzx_supervisor_child_state, LOOP, SUPERVISOR, CHILD_NAME,
     OR_NULL(&(jzx_child_state){JZX_CHILD_UNKNOWN}));
CALL(jzx_supervisor_remove, LOOP, SUPERVISOR, CHILD_NAME);
CALL(jzx_supervisor_stop_child, LOOP, SUPERVISOR, CHILD_NAME);
CALL(jzx_supervisor_restart, LOOP, SUPERVISOR, CHILD_NAME);

static void do_jzx_supervisor_add(struct fuzz *f) {
    jzx_child_spec spec;
    fuzz_child_spec(f, &spec);
    fuzz_status(f, jzx_supervisor_add(LOOP, SUPERVISOR, OR_NULL(&spec),
                                      fuzz_chance(f, 24) ? 0 : sizeof spec, ID));
}

static const struct fuzz_operation supervisor_operations[] = {
    ROW(jzx_spawn_supervisor, 8, ANYWHERE),       ROW(jzx_supervisor_child, 6, ANYWHERE),
    ROW(jzx_supervisor_opts_init, 1, ANYWHERE),   ROW(jzx_service_init, 1, ANYWHERE),
    ROW(jzx_supervisor_info_get, 2, ANYWHERE),    ROW(jzx_supervisor_child_info, 2, ANYWHERE),
    ROW(jzx_supervisor_child_state, 2, ANYWHERE), ROW(jzx_supervisor_add, 6, ANYWHERE),
    ROW(jzx_supervisor_remove, 3, ANYWHERE),      ROW(jzx_supervisor_stop_child, 3, ANYWHERE),
    ROW(jzx_supervisor_restart, 4, ANYWHERE),
};
FUZZ_FAMILY(supervisors, supervisor_operations);
