/* SPDX-License-Identifier: MIT */
/* Where calls come from: the code of the actors, and the callbacks of the runtime. Each makes a few
 * calls by the state of its actor's generator, and checks the little that it can see. */
#include "fuzz.h"

#include <string.h>

struct fuzz fuzz_here(struct fuzz_round *round, unsigned context) {
    struct fuzz f = {.round = round, .context = context};
    uint64_t turn = atomic_fetch_add(&round->turns_of_random, 1);
    f.own_random = round->seed ^ turn * 0xD1342543DE82EF95u;
    return f; /* the caller lets .random point to .own_random */
}

static struct fuzz in_actor(jzx_context *ctx, const jzx_message *msg, unsigned context) {
    struct fuzz_actor *me = ctx->state;
    return (struct fuzz){.round = me->round,
                         .me = me,
                         .ctx = ctx,
                         .msg = msg,
                         .random = &me->random,
                         .context = context};
}

struct fuzz_actor *fuzz_new_actor(struct fuzz *f) {
    unsigned index = atomic_fetch_add(&f->round->actors, 1);
    if (index >= FUZZ_ACTORS)
        return NULL;
    struct fuzz_actor *actor = &f->round->actor[index];
    actor->round = f->round;
    actor->made_by = f->operation;
    actor->random = fuzz_random(f);
    return actor;
}

/* ---- operations under way ---- */

void fuzz_begun(struct fuzz *f, int err, const jzx_op *made) {
    jzx_op op = *made; /* behind the call: an argument may be made before it */
    if (fuzz_status(f, err) != JZX_OK || op == JZX_NO_OP)
        return;
    fuzz_note(f, AN_OP, op);
    if (f->me == NULL)
        fuzz_fail("an operation began where no actor's own code runs");
    for (unsigned i = 0; i < FUZZ_PENDING; i++)
        if (f->me->pending[i] == JZX_NO_OP) {
            f->me->pending[i] = op;
            return;
        }
    f->me->pending[0] = op; /* a message of the one that is forgotten is not checked */
    f->me->is_child = true;
}

static void complete(struct fuzz_actor *me, const jzx_message *msg) {
    const jzx_result *result = msg->data;
    if (msg->tag == FUZZ_TAG_READER)
        me->is_reader_busy = false;
    if (msg->tag == FUZZ_TAG_VERSION)
        me->is_version_busy = false;
    if (msg->tag == FUZZ_TAG_SELECT)
        me->is_select_busy = false;
    if (msg->tag != FUZZ_TAG_OP)
        return;
    if (msg->len < sizeof *result)
        fuzz_fail("the message of an operation has %zu bytes", msg->len);
    for (unsigned i = 0; i < FUZZ_PENDING; i++)
        if (me->pending[i] == result->op) {
            me->pending[i] = JZX_NO_OP;
            return;
        }
    if (!me->is_child)
        fuzz_fail("operation %llx is complete, which is not under way: %s",
                  (unsigned long long)result->op, jzx_err_name((jzx_err)result->err));
}

/* ---- actors ---- */

static jzx_err init(jzx_context *ctx) {
    struct fuzz f = in_actor(ctx, NULL, IN_INIT);
    memset(f.me->pending, 0, sizeof f.me->pending);
    f.me->scope = NULL;
    f.me->commands = 0;
    f.me->is_reader_busy = f.me->is_version_busy = f.me->is_select_busy = false;
    fuzz_note(&f, AN_ACTOR, ctx->self);
    fuzz_act(&f, (unsigned)fuzz_below(&f, 3));
    return fuzz_chance(&f, 24) ? (jzx_err) - (int)fuzz_below(&f, 48) : JZX_OK;
}

static void cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    struct fuzz f = in_actor(ctx, NULL, IN_CLEANUP);
    atomic_fetch_add(&f.me->ended, 1);
    f.me->scope = NULL;
    if (reason == JZX_EXIT_FAULT)
        atomic_fetch_add(&f.round->faults_seen, 1);
    if (strncmp(jzx_exit_name(reason), "JZX_EXIT_", 9) != 0)
        fuzz_fail("an actor ended for the unknown reason %d", (int)reason);
    fuzz_act(&f, (unsigned)fuzz_below(&f, 3));
}

void fuzz_async_cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    struct fuzz_actor **state = ctx->state;
    (void)reason;
    atomic_fetch_add(&(*state)->ended, 1);
}

jzx_behavior_result fuzz_behave(jzx_context *ctx, const jzx_message *msg) {
    bool is_manual = ((struct fuzz_actor *)ctx->state)->is_manual;
    struct fuzz f = in_actor(ctx, msg, is_manual ? IN_MANUAL : IN_BEHAVIOUR);
    if (msg->len > 0)
        f.me->value[0] ^= *(unsigned char *)msg->data;
    complete(f.me, msg);
    fuzz_act(&f, (unsigned)fuzz_below(&f, 4));
    switch (fuzz_below(&f, 96)) {
    case 0: return JZX_BEHAVIOR_STOP;
    case 1: return JZX_BEHAVIOR_FAIL;
    case 2: return fuzz_chance(&f, 4) ? (jzx_behavior_result)7 : JZX_BEHAVIOR_STOP;
    default: return JZX_BEHAVIOR_OK;
    }
}

static void fiber(jzx_context *ctx) {
    struct fuzz f = in_actor(ctx, NULL, IN_FIBER);
    jzx_message msg = {0};
    while (atomic_load(&f.round->budget) > 0 && !fuzz_chance(&f, 24)) {
        fuzz_act(&f, 1 + (unsigned)fuzz_below(&f, 4));
        if (fuzz_chance(&f, 3) && jzx_receive(ctx, fuzz_deadline(&f), &msg) == JZX_OK) {
            f.msg = &msg;
            complete(f.me, &msg);
            fuzz_act(&f, (unsigned)fuzz_below(&f, 3));
            f.msg = NULL;
        }
    }
}

/* ---- processes ---- */

static jzx_err process_init(jzx_context *ctx, const char *method, const void *input, size_t len) {
    struct fuzz_actor *me = NULL;
    if (method == NULL || (input == NULL && len != 0))
        fuzz_fail("a process begins with no method, or no input of %zu bytes", len);
    if (len != sizeof me)
        return JZX_ERR_UNKNOWN_METHOD;
    memcpy(&me, input, sizeof me);
    ctx->state = me;
    return init(ctx);
}

static jzx_err process_step(jzx_context *ctx, const jzx_process_event *events, size_t count,
                            jzx_step_out *out) {
    struct fuzz f = in_actor(ctx, NULL, IN_STEP);
    f.out = out;
    f.events = events;
    f.event_count = count;
    for (size_t i = 0; i < count; i++) {
        if (events[i].kind == JZX_PROCESS_MESSAGE)
            complete(f.me, &events[i].message);
        if (events[i].kind != JZX_PROCESS_YIELD_COMPLETE)
            continue;
        if (f.me->commands == 0 && !f.me->has_upgraded)
            fuzz_fail("a command completed that was not yielded");
        f.me->commands -= f.me->commands > 0;
    }
    if (count > 0 && events[0].kind != JZX_PROCESS_YIELD_COMPLETE)
        f.msg = &events[0].message;
    fuzz_act(&f, (unsigned)fuzz_below(&f, 4));
    return fuzz_chance(&f, 96) ? JZX_ERR_FAILED : JZX_OK;
}

static void process_close(jzx_context *ctx) {
    struct fuzz f = in_actor(ctx, NULL, IN_CLEANUP);
    atomic_fetch_add(&f.me->ended, 1);
    f.me->scope = NULL;
    fuzz_act(&f, (unsigned)fuzz_below(&f, 2));
}

const jzx_process_ops fuzz_process_ops =
    JZX_PROCESS_OPS(.init = process_init, .step = process_step, .close = process_close);

/* ---- async functions ---- */

JZX_ASYNC(inner, jzx_await_op, int) {
    JZX_AWAIT(jzx_op_sleep(self, 0), NULL);
    JZX_RETURN(1);
}
JZX_END

struct walk {
    struct fuzz_actor *me;
    jzx_await_op wait;
    struct inner_call call;
    jzx_future *future;
    int ticket;
    unsigned left;
    jzx_err err;
    uint64_t result;
};
_Static_assert(sizeof(struct walk) <= FUZZ_ASYNC_STATE, "the state of walk");

/* A scope of its own, which it closes at once. */
static jzx_awaitable *open_and_close(jzx_context *ctx, struct walk *self) {
    jzx_scope *scope = NULL;
    if (jzx_scope_open(ctx, JZX_NEVER, &scope) != JZX_OK)
        return jzx_op_sleep(&self->wait, 0);
    jzx_scope_cancel(scope);
    return jzx_op_close(&self->wait, scope);
}

/* Makes the calls, and the future that is awaited next, if there is one. */
static jzx_awaitable *walk_on(jzx_context *ctx, struct walk *self) {
    struct fuzz f = {.round = self->me->round,
                     .me = self->me,
                     .ctx = ctx,
                     .random = &self->me->random,
                     .context = IN_ASYNC};
    fuzz_act(&f, (unsigned)fuzz_below(&f, 3));
    self->future = fuzz_borrow(&f, OF_FUTURE, &self->ticket);
    if (self->future != NULL && fuzz_chance(&f, 4)) /* a handle of its own, which is consumed */
        return jzx_op_consume(&self->wait, jzx_future_ref(self->future), fuzz_deadline(&f));
    if (fuzz_chance(&f, 8))
        return open_and_close(ctx, self);
    if (self->future == NULL || fuzz_chance(&f, 3))
        return jzx_op_sleep(&self->wait, fuzz_deadline(&f));
    return jzx_op_await(&self->wait, self->future, fuzz_deadline(&f));
}

static void walked(jzx_context *ctx, struct walk *self) {
    (void)ctx;
    struct fuzz f = {.round = self->me->round, .random = &self->me->random};
    fuzz_status(&f, self->err);
    fuzz_give_back(&f, OF_FUTURE, self->ticket);
}

JZX_ASYNC(walk, struct walk, uint64_t) {
    while (self->left-- > 0) {
        JZX_TRY(self->err, walk_on(ctx, self), NULL);
        walked(ctx, self);
        if (self->err == JZX_ERR_CANCELLED)
            JZX_FAIL(JZX_ERR_CANCELLED, "cancelled");
        JZX_TRY(self->err, inner_call(&self->call, (jzx_await_op){0}), NULL);
        JZX_YIELD();
    }
    if (self->me->random % 8 == 0)
        JZX_FAIL(JZX_ERR_FAILED, "by seed");
    JZX_RETURN(self->me->random);
}
JZX_END

const jzx_async_type fuzz_async_type = {sizeof(jzx_async_type), "walk", sizeof(struct walk),
                                        sizeof(uint64_t), walk_step};

void fuzz_async_state(struct fuzz *f, void *state) {
    struct walk walk = {.me = fuzz_new_actor(f), .left = (unsigned)fuzz_below(f, 6)};
    memcpy(state, &walk, sizeof walk);
}

/* ---- how actors are spawned ---- */

static void choose_kind(struct fuzz *f, jzx_spawn_opts *opts, struct fuzz_actor *actor) {
    switch (fuzz_below(f, 8)) {
    case 0:
    case 1:
    case 2:
        opts->fiber = fiber;
        opts->migratable = YES_OR_NO;
        opts->thread_bound = YES_OR_NO && (!opts->migratable || fuzz_chance(f, 8));
        opts->stack_size_bytes = fuzz_chance(f, 48) ? (uint32_t)WORD : 65536;
        break;
    case 3:
        opts->process = &fuzz_process_ops;
        opts->method = TEXT;
        opts->input = &actor->me_address;
        opts->input_len = sizeof actor->me_address;
        opts->init = NULL;
        opts->cleanup = NULL;
        break;
    default: opts->behavior = fuzz_behave; break;
    }
}

jzx_spawn_opts *fuzz_spawn_opts(struct fuzz *f, jzx_spawn_opts *opts, struct fuzz_actor **actor) {
    *actor = fuzz_new_actor(f);
    *opts = JZX_SPAWN_OPTS();
    if (*actor == NULL)
        return opts; /* without a behaviour: refused */
    (*actor)->me_address = *actor;
    opts->state = *actor;
    opts->init = init;
    opts->cleanup = cleanup;
    opts->name = NAME;
    opts->mailbox_cap = fuzz_chance(f, 4) ? 1 + BELOW(4) : 0;
    opts->stash_cap = fuzz_chance(f, 8) ? JZX_NONE : BELOW(4);
    opts->on_full = (jzx_on_full)BELOW(3);
    opts->place = (uint16_t)(fuzz_chance(f, 8) ? JZX_PLACE_WORKER(BELOW(5)) : JZX_PLACE_ANY);
    if (fuzz_chance(f, 16))
        opts->place = JZX_PLACE_CALLER;
    opts->priority = (uint8_t)BELOW(5);
    opts->daemon = YES_OR_NO;
    opts->account = YES_OR_NO;
    opts->trap_stop = fuzz_chance(f, 6);
    choose_kind(f, opts, *actor);
    if (fuzz_chance(f, 96))
        opts->priority = 77;
    opts->size = fuzz_options_size(f, sizeof *opts);
    if (opts->size != sizeof *opts && opts->size != sizeof *opts + 8 && opts->size != SIZE_MAX)
        opts->size = 0; /* options that are cut off may leave the cleanup out */
    return fuzz_chance(f, 96) ? NULL : opts;
}

void fuzz_spawned(struct fuzz *f, int err, struct fuzz_actor *actor, jzx_actor_id id) {
    if (fuzz_status(f, err) != JZX_OK)
        return;
    fuzz_note(f, AN_ACTOR, id);
    if (actor != NULL)
        atomic_fetch_add(&actor->spawned, 1);
}

jzx_child_spec *fuzz_child_spec(struct fuzz *f, jzx_child_spec *spec) {
    static const char *const names[] = {"one", "two", "three", "four", "five"};
    struct fuzz_actor *actor = fuzz_new_actor(f);
    *spec = (jzx_child_spec){.name = fuzz_chance(f, 8) ? NULL : names[fuzz_below(f, 5)],
                             .init = init,
                             .cleanup = cleanup,
                             .state = actor,
                             .mode = (jzx_child_mode)BELOW(3),
                             .backoff = {.initial_delay_ns = JZX_MS(1), .max_delay_ns = JZX_MS(3)},
                             .shutdown_ns = fuzz_chance(f, 4) ? JZX_NONE : JZX_MS(20),
                             .start_ns = JZX_MS(50),
                             .mailbox_cap = BELOW(5),
                             .keep_mailbox = fuzz_chance(f, 4),
                             .stop_at_once = fuzz_chance(f, 4),
                             .trap_stop = fuzz_chance(f, 6),
                             .service = fuzz_chance(f, 6),
                             .max_attempts = BELOW(4)};
    if (actor == NULL)
        return spec;
    actor->is_child = true;
    if (fuzz_chance(f, 8))
        spec->registered = NAME;
    if (fuzz_chance(f, 3))
        spec->fiber = fiber;
    else
        spec->behavior = fuzz_behave;
    if (fuzz_chance(f, 24))
        spec->mode = (jzx_child_mode)9;
    for (unsigned i = 0; i < 2 && fuzz_chance(f, 4); i++)
        spec->depends_on[i] = fuzz_chance(f, 4) ? JZX_DEPENDS_ON_NOBODY : names[fuzz_below(f, 5)];
    return spec;
}

/* ---- callbacks of the runtime ---- */

static struct fuzz_round *round_of_callbacks(void *arg) {
    return arg != NULL ? arg : fuzz_running;
}

/* Callbacks cause callbacks, so that most of them make no call. */
static void act_in_callback(struct fuzz_round *round, unsigned context) {
    struct fuzz f = fuzz_here(round, context);
    f.random = &f.own_random;
    if (!fuzz_chance(&f, 8) || atomic_load(&round->nested) > 8)
        return;
    atomic_fetch_add(&round->nested, 1);
    fuzz_act(&f, 1 + (unsigned)fuzz_below(&f, 2));
    atomic_fetch_sub(&round->nested, 1);
}

void fuzz_message_gone(void *data, size_t len) {
    struct fuzz_round *round = round_of_callbacks(NULL);
    (void)data;
    (void)len;
    atomic_fetch_add(&round->buffers_gone, 1);
    if (round->loop != NULL)
        act_in_callback(round, IN_DESTRUCTOR);
}

bool fuzz_matches(void *arg, const jzx_message *msg) {
    struct fuzz_round *round = round_of_callbacks(arg);
    act_in_callback(round, IN_PREDICATE);
    return msg->tag % 2 == 0;
}

/* Unless another thread is alone now. */
static void begin_job(struct fuzz_round *round) {
    int jobs = atomic_load(&round->jobs);
    while (jobs < 0 || !atomic_compare_exchange_weak(&round->jobs, &jobs, jobs + 1)) {
        if (jobs < 0)
            jobs = atomic_load(&round->jobs);
    }
}

jzx_err fuzz_blocking(void *arg) {
    struct fuzz_round *round = round_of_callbacks(NULL);
    (void)arg;
    struct fuzz f = fuzz_here(round, IN_JOB);
    f.random = &f.own_random;
    begin_job(round);
    fuzz_act(&f, (unsigned)fuzz_below(&f, 2));
    atomic_fetch_sub(&round->jobs, 1);
    jzx_blocking_os_error(fuzz_chance(&f, 4) ? 2 : 0);
    return fuzz_chance(&f, 4) ? JZX_ERR_FAILED : JZX_OK;
}

void fuzz_called(jzx_loop *loop, void *arg) {
    (void)loop;
    act_in_callback(round_of_callbacks(arg), IN_CALL);
}

jzx_err fuzz_ticked(void *arg, const jzx_batch *batch) {
    if (batch->runs == 0)
        fuzz_fail("a job's function is called for no run");
    act_in_callback(round_of_callbacks(arg), IN_TICK);
    return batch->runs > 3 ? JZX_ERR_FAILED : JZX_OK;
}

static void seen(void *ctx, const jzx_event *event) {
    struct fuzz_round *round = ctx;
    if (event->kind < JZX_EVENT_LOOP_START || event->kind > JZX_EVENT_DEADLOCK)
        fuzz_fail("an event of the unknown kind %d", (int)event->kind);
    if (event->kind != JZX_EVENT_LOOP_STOP)
        act_in_callback(round, IN_OBSERVER);
}

jzx_observer fuzz_observer(void) {
    return JZX_OBSERVER(.on_event = seen);
}
