/* SPDX-License-Identifier: MIT */
/* Actors: spawning, ending, watching, looking at them; typed and manual ones. */
#include "fuzz.h"

#include <string.h>

static void do_jzx_spawn(struct fuzz *f) {
    jzx_spawn_opts opts;
    struct fuzz_actor *actor;
    jzx_actor_id id = JZX_NOBODY;
    const jzx_spawn_opts *given = fuzz_spawn_opts(f, &opts, &actor);
    fuzz_spawned(f, jzx_spawn(LOOP, given, fuzz_chance(f, 16) ? NULL : &id), actor, id);
}

static void do_jzx_spawn_wait(struct fuzz *f) {
    jzx_spawn_opts opts;
    struct fuzz_actor *actor;
    jzx_actor_id id = JZX_NOBODY;
    const jzx_spawn_opts *given = fuzz_spawn_opts(f, &opts, &actor);
    if (actor != NULL)
        actor->is_child = true; /* it may have lived though the call fails */
    fuzz_spawned(f, jzx_spawn_wait(LOOP, given, WHEN, &id), actor, id);
}

static void do_jzx_spawn_watched(struct fuzz *f) {
    jzx_spawn_opts opts;
    struct fuzz_actor *actor;
    jzx_actor_id id = JZX_NOBODY;
    jzx_monitor_ref ref = JZX_NO_MONITOR;
    const jzx_spawn_opts *given = fuzz_spawn_opts(f, &opts, &actor);
    fuzz_spawned(f, jzx_spawn_watched(CTX, given, YES_OR_NO, &id, YES_OR_NO ? &ref : NULL), actor,
                 id);
    fuzz_note(f, A_MONITOR, ref);
}

CALL(jzx_spawn_opts_init, OR_NULL(&(jzx_spawn_opts){0}),
     fuzz_options_size(f, sizeof(jzx_spawn_opts)));
USE(jzx_place_worker, BELOW(2000));
CALL(jzx_actor_stop, LOOP, ID, (jzx_stop_kind)BELOW(fuzz_chance(f, 16) ? 9 : 3));
CALL(jzx_actor_fail, LOOP, ID);
CALL(jzx_actor_exit, LOOP, ID, (jzx_exit_reason)BELOW(8), TEXT);
CALL(jzx_actor_cancel, LOOP, ID, WHEN, TEXT);
CALL(jzx_become, CTX, OR_NULL(fuzz_behave));
USE(jzx_turn_spent, CTX);
USE(jzx_wait_name, (jzx_wait_kind)BELOW(30));
USE(jzx_exit_name, (jzx_exit_reason)BELOW(12));
MAKE(A_MONITOR, jzx_monitor, CTX, ID);
CALL(jzx_demonitor, CTX, fuzz_handle(f, A_MONITOR));
CALL(jzx_link, CTX, ID);
CALL(jzx_unlink, CTX, ID);
CALL(jzx_trap_exits, CTX, YES_OR_NO);

static void do_jzx_exit(struct fuzz *f) {
    jzx_exit(f->ctx, (jzx_exit_reason)BELOW(8), TEXT);
}

static void do_jzx_check_failed(struct fuzz *f) {
    jzx_check_failed(f->ctx, "by seed", "calls_actors.c", 1);
}

/* A fault in the code of an actor, where it is contained: not in that of a manual one. */
static void do_fault(struct fuzz *f) {
    if (!f->round->is_contained || f->me->is_manual)
        return;
    atomic_fetch_add(&f->round->faults_made, 1);
    *(volatile int *)(f->round->loop == NULL ? (void *)f : NULL) = 1;
}

static void do_jzx_actor_info_get(struct fuzz *f) {
    jzx_actor_info info = {.size = fuzz_options_size(f, sizeof info)};
    fuzz_status(f, jzx_actor_info_get(LOOP, ID, OR_NULL(&info)));
}

static void do_jzx_actor_next(struct fuzz *f) {
    jzx_actor_info info = {.size = sizeof info};
    uint64_t cursor = fuzz_chance(f, 8) ? WORD : 0;
    for (unsigned i = BELOW(12); i > 0 && jzx_actor_next(LOOP, &cursor, &info) == JZX_OK; i--) {
        if (memchr(info.name, '\0', sizeof info.name) == NULL)
            fuzz_fail("the name of an actor does not end");
        fuzz_note(f, AN_ACTOR, info.id);
    }
}

USE(jzx_current_kind, );
USE(jzx_current_actor, );
USE(jzx_current_worker, );
USE(jzx_errno, );

static void do_jzx_current_context(struct fuzz *f) {
    jzx_context *ctx = jzx_current_context();
    if ((f->context & (OWN_CODE & ~(unsigned)IN_MANUAL)) != 0 && ctx != f->ctx)
        fuzz_fail("jzx_current_context is not that of the code that calls it");
}

static void do_ids(struct fuzz *f) {
    jzx_actor_id id = ID;
    if (jzx_make_id(jzx_id_generation(id), jzx_id_index(id)) != id)
        fuzz_fail("an id is not made of its parts");
}

/* ---- typed actors ---- */

#define BOX(T, STATE, ON, ASK)                                                                     \
    STATE(T, int, value, 3)                                                                        \
    ON(T, put, int, value)                                                                         \
    ON(T, tick)                                                                                    \
    ON(T, ready, jzx_io_event, event)                                                              \
    ON(T, signalled, jzx_signal_event, event)                                                      \
    ASK(T, get, int)
static struct fuzz_actor *typed_me; /* that of all of them: one worker has a turn of it at a time */
static jzx_behavior_result box_other(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    return ctx->self % 7 == 0 ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}
JZX_ACTOR_TYPE_WITH(box, BOX, NULL, NULL, box_other);

static jzx_behavior_result box_on_put(jzx_context *ctx, struct box *self,
                                      const struct box_put *msg) {
    jzx_message raw;
    self->value = msg->value;
    if (jzx_type_message(ctx, &raw) != JZX_OK || raw.tag != box_tag_put())
        fuzz_fail("a handler cannot see its message");
    (void)jzx_type_sender(ctx);
    return JZX_BEHAVIOR_OK;
}
static jzx_behavior_result box_on_tick(jzx_context *ctx, struct box *self,
                                       const struct box_tick *msg) {
    (void)ctx;
    (void)msg;
    return self->value++ > 20 ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}
static jzx_behavior_result box_on_ready(jzx_context *ctx, struct box *self,
                                        const struct box_ready *msg) {
    (void)ctx;
    (void)self;
    (void)msg;
    return JZX_BEHAVIOR_STOP;
}
static jzx_behavior_result box_on_signalled(jzx_context *ctx, struct box *self,
                                            const struct box_signalled *msg) {
    (void)ctx;
    self->value += (int)msg->event.count;
    return JZX_BEHAVIOR_OK;
}
static jzx_behavior_result box_on_get(jzx_context *ctx, struct box *self, const struct box_get *msg,
                                      int *answer) {
    (void)msg;
    *answer = self->value;
    if (self->value % 4 == 0) {
        jzx_ask_handle handle = jzx_type_defer(ctx);
        if (handle.asker != JZX_NOBODY)
            (void)box_answer_get(ctx->loop, handle, ctx->self, 1);
    }
    return JZX_BEHAVIOR_OK;
}

static void do_box_spawn(struct fuzz *f) {
    jzx_actor_id id = JZX_NOBODY;
    if (fuzz_status(f, box_spawn(LOOP, &id)) == JZX_OK)
        fuzz_note(f, AN_ACTOR, id);
    (void)typed_me;
}

static void do_jzx_spawn_on(struct fuzz *f) {
    jzx_actor_id id = JZX_NOBODY;
    const jzx_source sources[] = {
        JZX_ON_TIMER(SPAN, YES_OR_NO ? JZX_FIXED_RATE : JZX_FIXED_DELAY, box_tag_tick()),
        JZX_ON_FD(fuzz_descriptor(f), JZX_IO_READ, box_tag_ready()),
        JZX_ON_SIGNAL((int)BELOW(40), box_tag_signalled()),
        JZX_ON_TIMER(SPAN, JZX_FIXED_RATE, TAG),
    };
    jzx_source source = sources[fuzz_below(f, 4)];
    source.size = fuzz_options_size(f, sizeof source);
    if (fuzz_status(f, jzx_spawn_on(LOOP, &JZX_SPAWN_OPTS(.type = &box_type, .daemon = true),
                                    OR_NULL(&source), &id)) == JZX_OK)
        fuzz_note(f, AN_ACTOR, id);
}

CALL(box_post_put, THE_LOOP, ID, (int)BELOW(9));
CALL(jzx_type_register, LOOP, OR_NULL(&box_type));
CALL(jzx_type_info_get, LOOP, YES_OR_NO ? "box" : NAME,
     OR_NULL(&(jzx_type_info){.size = fuzz_options_size(f, sizeof(jzx_type_info))}));
CALL(jzx_type_next, LOOP, &(uint64_t){fuzz_chance(f, 2) ? 0 : WORD},
     OR_NULL(&(jzx_type_info){.size = sizeof(jzx_type_info)}));
USE(jzx_type_of, LOOP, ID);
USE(jzx_type_instances, LOOP, YES_OR_NO ? "box" : NAME, (jzx_actor_id[4]){0}, BELOW(5));
CALL(jzx_type_message, CTX, OR_NULL(&(jzx_message){0}));
USE(jzx_type_sender, CTX);
USE(jzx_type_defer, CTX);

static void do_jzx_type_is_answer(struct fuzz *f) {
    int answer;
    if (f->msg != NULL)
        (void)jzx_type_is_answer(f->msg, YES_OR_NO ? f->msg->tag : TAG, &answer, sizeof answer);
}

static void do_jzx_type_call_fiber(struct fuzz *f) {
    int answer = 0;
    if (f->ctx != NULL)
        fuzz_status(f, box_call_get(f->ctx, ID, WHEN, &answer));
}

static void do_jzx_type_call_wait(struct fuzz *f) {
    int answer = 0;
    fuzz_status(f, box_call_get_wait(THE_LOOP, ID, WHEN, &answer));
}

/* ---- manual actors ---- */

static void do_jzx_manual_create(struct fuzz *f) {
    jzx_spawn_opts opts;
    struct fuzz_actor *actor;
    jzx_manual *manual = NULL;
    const jzx_spawn_opts *given = fuzz_spawn_opts(f, &opts, &actor);
    if (actor != NULL)
        actor->is_manual = true;
    if (fuzz_status(f, jzx_manual_create(LOOP, given, &manual)) != JZX_OK)
        return;
    fuzz_spawned(f, JZX_OK, actor, jzx_manual_id(manual));
    fuzz_put(f, OF_MANUAL, manual);
}

static bool goes_on(void *arg) {
    return --*(unsigned *)arg > 0;
}

/* One thread at a time has it. */
static void do_jzx_manual_poll_one(struct fuzz *f) {
    jzx_manual *manual = fuzz_take(f, OF_MANUAL);
    unsigned left = 1 + BELOW(5);
    size_t count;
    bool handled;
    switch (fuzz_below(f, 4)) {
    case 0: fuzz_status(f, jzx_manual_poll_one(manual, OR_NULL(&handled))); break;
    case 1: fuzz_status(f, jzx_manual_drain(manual, 1 + BELOW(20), OR_NULL(&count))); break;
    case 2: fuzz_status(f, jzx_manual_poll_while(manual, goes_on, &left, &count)); break;
    default: (void)jzx_manual_state(manual); break;
    }
    if (!fuzz_chance(f, 8))
        fuzz_put(f, OF_MANUAL, manual);
    else
        jzx_manual_destroy(manual);
}

static const struct fuzz_operation operations[] = {
    ROW(jzx_spawn, 24, ANYWHERE),
    ROW(jzx_spawn_wait, 3, ANYWHERE),
    ROW(jzx_spawn_watched, 6, ANYWHERE),
    ROW(jzx_spawn_opts_init, 1, ANYWHERE),
    ROW(jzx_place_worker, 1, ANYWHERE),
    ROW(jzx_actor_stop, 6, ANYWHERE),
    ROW(jzx_actor_fail, 2, ANYWHERE),
    ROW(jzx_actor_exit, 3, ANYWHERE),
    ROW(jzx_actor_cancel, 3, ANYWHERE),
    ROW(jzx_become, 1, ANYWHERE),
    ROW(jzx_turn_spent, 1, ANYWHERE),
    ROW(jzx_wait_name, 1, ANYWHERE),
    ROW(jzx_exit_name, 1, ANYWHERE),
    ROW(jzx_monitor, 4, ANYWHERE),
    ROW(jzx_demonitor, 2, ANYWHERE),
    ROW(jzx_link, 3, ANYWHERE),
    ROW(jzx_unlink, 2, ANYWHERE),
    ROW(jzx_trap_exits, 2, ANYWHERE),
    ROW(jzx_exit, 1, OWN_CODE),
    ROW(jzx_check_failed, 1, OWN_CODE),
    {"fault", 1, IN_INIT | IN_BEHAVIOUR | IN_CLEANUP | IN_FIBER, do_fault},
    ROW(jzx_actor_info_get, 3, ANYWHERE),
    ROW(jzx_actor_next, 2, ANYWHERE),
    ROW(jzx_current_kind, 1, ANYWHERE),
    ROW(jzx_current_actor, 1, ANYWHERE),
    ROW(jzx_current_worker, 1, ANYWHERE),
    ROW(jzx_errno, 1, ANYWHERE),
    ROW(jzx_current_context, 1, ANYWHERE),
    {"ids", 1, ANYWHERE, do_ids},
    {"box_spawn", 4, ANYWHERE, do_box_spawn},
    ROW(jzx_spawn_on, 3, ANYWHERE),
    {"box_post_put", 4, ANYWHERE, do_box_post_put},
    ROW(jzx_type_register, 1, ANYWHERE),
    ROW(jzx_type_info_get, 1, ANYWHERE),
    ROW(jzx_type_next, 1, ANYWHERE),
    ROW(jzx_type_of, 1, ANYWHERE),
    ROW(jzx_type_instances, 1, ANYWHERE),
    ROW(jzx_type_message, 1, ANYWHERE),
    ROW(jzx_type_sender, 1, ANYWHERE),
    ROW(jzx_type_defer, 1, OWN_TURNS),
    ROW(jzx_type_is_answer, 1, ANYWHERE),
    ROW(jzx_type_call_fiber, 2, OWN_CODE),
    ROW(jzx_type_call_wait, 1, ANYWHERE),
    ROW(jzx_manual_create, 3, ANYWHERE),
    ROW(jzx_manual_poll_one, 4, ANYWHERE),
};
FUZZ_FAMILY(actors, operations);
