/* SPDX-License-Identifier: MIT */
/* The calls of threads that wait for an answer or for an init. See wait.h for the rules. */
#include "ask/wait.h"

#include "actor/message.h"
#include "actor/spawn.h"
#include "actor/waitless.h"
#include "base/alloc.h"
#include "sched/waiter.h"

#include "jzx/actor.h"
#include "jzx/ask.h"

#include <sched.h>
#include <string.h>

/* What a thread gets. */
struct result {
    jzx_err err;
    jzx_message answer; /* of JZX_OK, from jzx_call_wait: its data is a buffer of the caller's */
};

/* In the frame of the thread. */
struct call {
    struct jzx__link at_loop; /* under the lock, as what follows up to the result */
    uint64_t ticket;
    struct jzx__source source;
    struct result result;
    struct jzx__waiter waiter;
    struct jzx__wait_link link;
    bool keeps_answer; /* the thread's own */
};

struct waits {
    struct jzx__lock lock;
    struct jzx__list calls; /* under the lock, as what follows */
    uint64_t next_ticket;
    uint32_t inside; /* threads, which may still touch this */
};

static struct waits *waits_of(const struct jzx_loop *loop) {
    return loop->parts[JZX__PART_ASK];
}

/* ---- the loop's record ---- */

bool jzx__waits_open(struct jzx_loop *loop, const jzx_config *config) {
    (void)config;
    struct waits *waits = jzx__alloc(&loop->sched.allocator, sizeof *waits);
    if (waits == NULL)
        return false;
    jzx__lock_init(&waits->lock);
    jzx__list_init(&waits->calls);
    waits->next_ticket = 1;
    waits->inside = 0;
    loop->parts[JZX__PART_ASK] = waits;
    return true;
}

static uint32_t count_inside(struct waits *waits) {
    jzx__lock_acquire(&waits->lock);
    uint32_t count = waits->inside;
    jzx__lock_release(&waits->lock);
    return count;
}

/* All actors have ended, so all threads have their results and are on their way out (T3). */
void jzx__waits_close(struct jzx_loop *loop) {
    struct waits *waits = waits_of(loop);
    while (count_inside(waits) != 0)
        sched_yield();
    jzx__lock_deinit(&waits->lock);
    jzx__free(&loop->sched.allocator, waits, sizeof *waits);
    loop->parts[JZX__PART_ASK] = NULL;
}

/* ---- a thread that waits ---- */

/* Results come by hand_in alone. */
static enum jzx__cause_kind look(struct jzx__source *source, const struct jzx__wait_link *link) {
    (void)source;
    (void)link;
    return JZX__CAUSE_NONE;
}

static const struct jzx__source_ops source_ops = {.look = look};

/* From here on results are taken. */
static void begin(struct jzx_loop *loop, struct call *call, const char *what, uint64_t object) {
    struct waits *waits = waits_of(loop);
    jzx__lock_acquire(&waits->lock);
    waits->inside++;
    call->ticket = waits->next_ticket++;
    jzx__source_init(&call->source, &waits->lock, &source_ops);
    jzx__list_push_back(&waits->calls, &call->at_loop);
    jzx__lock_release(&waits->lock);
    call->keeps_answer = false;
    jzx__waiter_init_thread(&call->waiter);
    jzx__waiter_begin(&call->waiter, (struct jzx__wait_what){what, object, jzx_loop_now(loop)});
    call->link = (struct jzx__wait_link){.source = &call->source};
    jzx__waiter_join(&call->waiter, &call->link, 1, NULL);
}

/* The wait is over: takes the record out (T1), and leaves the loop. */
static jzx_err end(struct jzx_loop *loop, struct call *call) {
    struct waits *waits = waits_of(loop);
    uint32_t cause = jzx__waiter_end(&call->waiter);
    bool has_result = jzx__cause_kind(cause) == JZX__CAUSE_ITEM;
    if (has_result && !call->keeps_answer)
        jzx_msg_free(loop, call->result.answer.data); /* NULL: there is none */
    jzx__lock_acquire(&waits->lock);
    jzx__list_remove(&call->at_loop);
    waits->inside--;
    jzx__lock_release(&waits->lock); /* the last that is touched of the loop */
    return has_result ? call->result.err : jzx__cause_err(cause);
}

/* What was to bring a result could not be made. */
static jzx_err give_up(struct jzx_loop *loop, struct call *call, jzx_err err) {
    (void)jzx__waiter_withdraw(&call->waiter, JZX__CAUSE_CANCELLED);
    (void)end(loop, call);
    return err;
}

/* Blocks until a result comes, or the time. The actor, which was to bring it, is ended if it comes
 * too late. */
static jzx_err wait_for(struct jzx_loop *loop, struct call *call, uint64_t deadline_ns,
                        jzx_actor_id actor) {
    if (jzx__waiter_arm(&call->waiter) == JZX__ARM_SUSPEND)
        jzx__waiter_block(&call->waiter, &loop->sched.clock, deadline_ns);
    if (jzx__cause_kind(jzx__waiter_cause(&call->waiter)) == JZX__CAUSE_TIMEOUT)
        (void)jzx_actor_stop(loop, actor, JZX_STOP_KILL);
    return end(loop, call);
}

/* ---- results ---- */

static struct call *find(struct waits *waits, uint64_t ticket) {
    struct jzx__link *ring = &waits->calls.ring;
    for (struct jzx__link *link = ring->next; link != ring; link = link->next) {
        struct call *call = JZX_CONTAINER_OF(link, struct call, at_loop);
        if (call->ticket == ticket)
            return call;
    }
    return NULL;
}

/* False if nobody waits for it any more: what is in the result is still the caller's (T2). */
static bool hand_in(struct jzx_loop *loop, uint64_t ticket, const struct result *result) {
    struct waits *waits = waits_of(loop);
    struct jzx__wake wake = {.fn = NULL};
    struct jzx__visit visit;
    struct jzx__worker *me = jzx__loop_visit(loop, &visit);
    jzx__lock_acquire(&waits->lock);
    struct call *call = find(waits, ticket);
    bool is_taken =
        call != NULL && jzx__source_claim(&call->source, JZX__CAUSE_ITEM, &wake) != NULL;
    if (is_taken)
        call->result = *result;
    jzx__lock_release(&waits->lock);
    jzx__wake_make(&wake, me);
    jzx__visit_end(&visit);
    return is_taken;
}

static void hand_in_error(struct jzx_loop *loop, uint64_t ticket, jzx_err err) {
    (void)hand_in(loop, ticket, &(struct result){.err = err});
}

/* The error of an actor that is not there (any more): if the loop stops, that is why. */
static jzx_err explain(const struct jzx_loop *loop, jzx_err err) {
    bool is_gone = err == JZX_ERR_NO_SUCH_ACTOR || err == JZX_ERR_CANCELLED;
    bool stops = jzx__sched_stop_state(&loop->sched) != JZX__OPEN;
    return is_gone && stops ? JZX_ERR_LOOP_CLOSED : err;
}

/* ---- the actor that asks in place of a thread ---- */

struct proxy {
    uint64_t ticket;
    jzx_actor_id to;
    size_t len;
    uint32_t tag;
    char data[];
};

static jzx_err ask(jzx_context *ctx) {
    const struct proxy *self = ctx->state;
    jzx_err err = jzx_ask(ctx, self->to, self->data, self->len, self->tag, JZX_NEVER, NULL);
    if (err == JZX_OK)
        return JZX_OK;
    hand_in_error(ctx->loop, self->ticket, explain(ctx->loop, err));
    jzx_exit(ctx, JZX_EXIT_NORMAL, NULL); /* an init that fails is a failure in the log */
}

static jzx_behavior_result hear(jzx_context *ctx, const jzx_message *msg) {
    const struct proxy *self = ctx->state;
    if (jzx_ask_ref(ctx) == 0)
        return JZX_BEHAVIOR_OK; /* of somebody who walks over all actors */
    if (msg->tag == JZX_TAG_ASK_DOWN) {
        hand_in_error(ctx->loop, self->ticket, explain(ctx->loop, JZX_ERR_NO_SUCH_ACTOR));
        return JZX_BEHAVIOR_STOP;
    }
    struct result result = {.err = JZX_OK, .answer = *msg};
    result.answer.data = jzx_msg_take(ctx, msg);
    if (!hand_in(ctx->loop, self->ticket, &result))
        jzx_msg_free(ctx->loop, result.answer.data);
    return JZX_BEHAVIOR_STOP;
}

/* T3 */
static void clean_up(jzx_context *ctx, jzx_exit_reason reason) {
    struct proxy *self = ctx->state;
    (void)reason;
    hand_in_error(ctx->loop, self->ticket, explain(ctx->loop, JZX_ERR_CANCELLED));
    struct jzx__visit visit;
    jzx__visit_begin(&visit);
    jzx__free(&ctx->loop->sched.allocator, self, sizeof *self + self->len);
    jzx__visit_end(&visit);
}

static jzx_err spawn_proxy(struct jzx_loop *loop, const struct proxy *question, const void *data,
                           jzx_actor_id *id) {
    size_t size = sizeof(struct proxy) + question->len;
    struct proxy *proxy = jzx__alloc(&loop->sched.allocator, size);
    if (proxy == NULL)
        return JZX_ERR_NO_MEMORY;
    *proxy = *question;
    if (question->len != 0)
        memcpy(proxy->data, data, question->len);
    jzx_err err = jzx_spawn(loop,
                            &JZX_SPAWN_OPTS(.behavior = hear, .init = ask, .cleanup = clean_up,
                                            .state = proxy, .name = "jzx_call_wait"),
                            id);
    if (err != JZX_OK)
        jzx__free(&loop->sched.allocator, proxy, size);
    return err;
}

/* ---- the calls ---- */

static bool may_block(void) {
    return !jzx__seat_exists(jzx__seat_of_thread);
}

jzx_err jzx_call_wait(jzx_loop *loop, jzx_actor_id to, const void *data, size_t len, uint32_t tag,
                      uint64_t deadline_ns, jzx_message *answer) {
    struct call call;
    jzx_actor_id id = JZX_NOBODY;
    if (loop == NULL || (data == NULL && len != 0) || len > JZX_MSG_LEN_MAX ||
        tag >= JZX_TAG_RESERVED)
        return JZX_ERR_INVALID_ARG;
    if (!may_block())
        return jzx__waitless_refuse(loop, "jzx_call_wait");
    if (!jzx__table_is_alive(&loop->table, to))
        return explain(loop, JZX_ERR_NO_SUCH_ACTOR);
    begin(loop, &call, "answer", to);
    const struct proxy question = {.ticket = call.ticket, .to = to, .len = len, .tag = tag};
    jzx_err err = spawn_proxy(loop, &question, data, &id);
    if (err != JZX_OK)
        return give_up(loop, &call, err);
    call.keeps_answer = answer != NULL;
    err = wait_for(loop, &call, deadline_ns, id);
    if (err == JZX_OK && answer != NULL)
        *answer = call.result.answer;
    return err;
}

/* The init of an actor is through, or the actor has ended before. */
static void tell_started(struct jzx_loop *loop, const struct jzx__started *started) {
    hand_in_error(loop, started->ticket, explain(loop, started->err));
}

jzx_err jzx_spawn_wait(jzx_loop *loop, const jzx_spawn_opts *opts, uint64_t deadline_ns,
                       jzx_actor_id *id) {
    struct call call;
    jzx_actor_id made = JZX_NOBODY;
    if (loop == NULL)
        return JZX_ERR_INVALID_ARG;
    if (!may_block())
        return jzx__waitless_refuse(loop, "jzx_spawn_wait");
    begin(loop, &call, "start", 0);
    struct jzx__started started = {.tell = tell_started, .ticket = call.ticket};
    struct jzx__bonds bonds = {.started_note = jzx__started_note(loop, &started)};
    if (bonds.started_note == NULL)
        return give_up(loop, &call, JZX_ERR_NO_MEMORY);
    jzx_err err = jzx__spawn_bound(loop, NULL, opts, &bonds, &made);
    if (err != JZX_OK) {
        jzx__message_destroy(loop, NULL, bonds.started_note);
        return give_up(loop, &call, err);
    }
    err = wait_for(loop, &call, deadline_ns, made);
    if (err == JZX_OK && id != NULL)
        *id = made;
    return err;
}
