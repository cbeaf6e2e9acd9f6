/* SPDX-License-Identifier: MIT */
/* Waiting in fibers, work on blocking pools, scopes; and the same calls where nothing may wait. */
#include "fuzz.h"

USE(jzx_in, f->ctx != NULL ? f->ctx : &(jzx_context){NULL, 0, THE_LOOP}, SPAN);
CALL(jzx_receive, CTX, WHEN, OR_NULL(&(jzx_message){0}));
CALL(jzx_receive_tag, CTX, TAG, WHEN, OR_NULL(&(jzx_message){0}));
CALL(jzx_receive_from, CTX, ID, WHEN, OR_NULL(&(jzx_message){0}));
CALL(jzx_receive_match, CTX, OR_NULL(fuzz_matches), f->round, WHEN, &(jzx_message){0});
CALL(jzx_sleep, CTX, WHEN);
CALL(jzx_yield, CTX);
CALL(jzx_call, CTX, ID, DATA, LEN, TAG, WHEN, OR_NULL(&(jzx_message){0}));
CALL(jzx_join, CTX, ID, WHEN, OR_NULL(&(jzx_exit_notice){0}));
CALL(jzx_send_until, CTX, ID, DATA, LEN, TAG, WHEN);

/* ---- blocking work ---- */

#define POOL jzx_blocking_pool_find(THE_LOOP, fuzz_chance(f, 2) ? JZX_BLOCKING_DEFAULT : NAME)

static void do_jzx_blocking_pool_create(struct fuzz *f) {
    jzx_blocking_pool *pool = NULL;
    jzx_blocking_opts opts = JZX_BLOCKING_OPTS(.name = fuzz_chance(f, 3) ? JZX_FILE_POOL : NAME,
                                               .threads_max = 1 + BELOW(2), .queue_max = BELOW(3));
    opts.size = fuzz_options_size(f, sizeof opts);
    opts.idle_ns = YES_OR_NO ? JZX_MS(1) : 0;
    fuzz_status(f, jzx_blocking_pool_create(LOOP, OR_NULL(&opts), YES_OR_NO ? &pool : NULL));
}

USE(jzx_blocking_pool_find, LOOP, NAME);
CALL(jzx_blocking_pool_stats, POOL,
     OR_NULL(&(jzx_blocking_stats){.size = fuzz_options_size(f, sizeof(jzx_blocking_stats))}));
CALL(jzx_blocking_opts_init, OR_NULL(&(jzx_blocking_opts){0}),
     fuzz_options_size(f, sizeof(jzx_blocking_opts)));
RUN(jzx_blocking_os_error, (int)BELOW(200));
BEGIN(jzx_blocking_to, CTX, OR_NULL(fuzz_blocking), NULL);
BEGIN(jzx_blocking_copy_to, CTX, POOL, OR_NULL(fuzz_blocking), DATA, LEN);
CALL(jzx_blocking, CTX, OR_NULL(fuzz_blocking), NULL, WHEN);

static void do_jzx_blocking_copy(struct fuzz *f) {
    unsigned char data[FUZZ_ROOM] = {0};
    fuzz_status(f,
                jzx_blocking_copy(CTX, POOL, fuzz_blocking, OR_NULL(data), ROOM % FUZZ_ROOM, WHEN));
}

FUTURE(jzx_blocking_async, LOOP, OR_NULL(fuzz_blocking), NULL);
FUTURE(jzx_blocking_copy_async, LOOP, POOL, OR_NULL(fuzz_blocking), DATA, LEN);

static void do_jzx_op_cancel(struct fuzz *f) {
    fuzz_status(f, jzx_op_cancel(LOOP, fuzz_handle(f, AN_OP)));
}

USE(jzx_result_data,
    f->msg != NULL && f->msg->tag == FUZZ_TAG_OP ? (const jzx_result *)f->msg->data : NULL);

/* ---- scopes: one for each actor, used by nobody else ---- */

static void do_jzx_scope_open(struct fuzz *f) {
    jzx_scope *scope = NULL;
    if (f->me->scope != NULL || f->ctx == NULL)
        return;
    if (fuzz_status(f, jzx_scope_open(f->ctx, WHEN, &scope)) == JZX_OK)
        f->me->scope = scope;
}

static void do_jzx_scope_spawn(struct fuzz *f) {
    jzx_spawn_opts opts;
    struct fuzz_actor *actor;
    jzx_actor_id id = JZX_NOBODY;
    if (f->me->scope == NULL)
        return;
    const jzx_spawn_opts *given = fuzz_spawn_opts(f, &opts, &actor);
    fuzz_spawned(f, jzx_scope_spawn(f->me->scope, given, &id), actor, id);
}

static void do_jzx_scope_async(struct fuzz *f) {
    _Alignas(max_align_t) unsigned char state[FUZZ_ASYNC_STATE];
    jzx_future *future = NULL;
    if (f->me->scope == NULL)
        return;
    fuzz_async_state(f, state);
    if (*(struct fuzz_actor **)(void *)state == NULL)
        return;
    fuzz_keep_future(f, jzx_scope_async(f->me->scope, &fuzz_async_type, state, &future), &future);
}

static void do_jzx_scope_cancel(struct fuzz *f) {
    if (f->me->scope != NULL)
        jzx_scope_cancel(f->me->scope);
}

static void do_jzx_scope_members(struct fuzz *f) {
    if (f->me->scope != NULL)
        (void)jzx_scope_members(f->me->scope);
}

/* Not closed: a status that leaves the scope as it was. */
static void do_jzx_scope_close(struct fuzz *f) {
    jzx_scope *scope = f->me->scope;
    jzx_scope_result how = {.size = sizeof how};
    if (scope == NULL)
        return;
    f->me->scope = NULL; /* the call may not return */
    if ((f->context & IN_FIBER) == 0) {
        f->me->scope = scope;
        fuzz_status(f, jzx_scope_close(f->ctx, scope, &how));
        return;
    }
    fuzz_status(f, jzx_scope_close(f->ctx, scope, fuzz_chance(f, 3) ? NULL : &how));
}

static void do_jzx_scope_close_to(struct fuzz *f) {
    jzx_op op = JZX_NO_OP;
    if (f->me->scope == NULL)
        return;
    jzx_err err = jzx_scope_close_to(f->ctx, f->me->scope, FUZZ_TAG_OP, &op);
    if (err == JZX_OK)
        f->me->scope = NULL;
    fuzz_begun(f, err, &op);
}

#define SCOPES (IN_INIT | IN_BEHAVIOUR | IN_FIBER | IN_STEP | IN_MANUAL)

static const struct fuzz_operation operations[] = {
    ROW(jzx_in, 2, ANYWHERE),
    ROW(jzx_receive, 8, OWN_CODE),
    ROW(jzx_receive_tag, 4, OWN_CODE),
    ROW(jzx_receive_from, 4, OWN_CODE),
    ROW(jzx_receive_match, 4, OWN_CODE),
    ROW(jzx_sleep, 5, ANYWHERE),
    ROW(jzx_yield, 5, ANYWHERE),
    ROW(jzx_call, 8, ANYWHERE),
    ROW(jzx_join, 6, ANYWHERE),
    ROW(jzx_send_until, 6, ANYWHERE),
    ROW(jzx_blocking_pool_create, 1, ANYWHERE),
    ROW(jzx_blocking_pool_find, 1, ANYWHERE),
    ROW(jzx_blocking_pool_stats, 1, ANYWHERE),
    ROW(jzx_blocking_opts_init, 1, ANYWHERE),
    ROW(jzx_blocking_os_error, 1, ANYWHERE),
    ROW(jzx_blocking_to, 4, ANYWHERE),
    ROW(jzx_blocking_copy_to, 4, ANYWHERE),
    ROW(jzx_blocking, 4, ANYWHERE),
    ROW(jzx_blocking_copy, 4, ANYWHERE),
    ROW(jzx_blocking_async, 4, ANYWHERE),
    ROW(jzx_blocking_copy_async, 4, ANYWHERE),
    ROW(jzx_op_cancel, 6, ANYWHERE),
    ROW(jzx_result_data, 1, ANYWHERE),
    ROW(jzx_scope_open, 5, SCOPES),
    ROW(jzx_scope_spawn, 5, SCOPES),
    ROW(jzx_scope_async, 5, SCOPES),
    ROW(jzx_scope_cancel, 1, SCOPES),
    ROW(jzx_scope_members, 1, SCOPES),
    ROW(jzx_scope_close, 3, SCOPES),
    ROW(jzx_scope_close_to, 2, SCOPES),
};
FUZZ_FAMILY(fibers, operations);
