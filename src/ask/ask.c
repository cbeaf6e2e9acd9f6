/* SPDX-License-Identifier: MIT */
/* Asking, answering, and who was first (Q1 of ask.h). */
#include "ask/ask.h"
#include "ask/wait.h"

#include "actor/mailbox.h"
#include "actor/own.h"
#include "actor/send.h"
#include "base/alloc.h"
#include "timer/easy.h"
#include "timer/make.h"

#include <string.h>

#define ASKS_FIRST 8u

/* What of a question or an answer can stay in the smallest block. */
#define INLINE_MAX (JZX_MSG_INLINE - sizeof(uint64_t))

_Static_assert(sizeof(uint64_t) == sizeof(jzx_msg_destructor), "a reference is a trailer");

/* The notice of a watch becomes that of a question. */
_Static_assert(sizeof(jzx_ask_down) == sizeof(jzx_exit_notice) &&
                   offsetof(jzx_ask_down, actor) == offsetof(jzx_exit_notice, actor) &&
                   offsetof(jzx_ask_down, ref) == offsetof(jzx_exit_notice, monitor) &&
                   offsetof(jzx_ask_down, reason) == offsetof(jzx_exit_notice, reason) &&
                   offsetof(jzx_ask_down, text) == offsetof(jzx_exit_notice, text),
               "the same with another name for the number");

/* ---- the table ---- */

static size_t table_size(uint32_t cap) {
    return sizeof(struct jzx__asks) + cap * sizeof(struct jzx__ask);
}

static struct jzx__asks *asks_of(const struct jzx__cold *cold) {
    return jzx__cold_part(cold, JZX__PART_ASK);
}

static bool grow(struct jzx_loop *loop, struct jzx__cold *cold) {
    struct jzx__asks *old = asks_of(cold);
    uint32_t cap = old == NULL ? ASKS_FIRST : old->cap * 2;
    if (cap > JZX__ASKS_MAX)
        return false;
    struct jzx__asks *asks = jzx__alloc(&loop->sched.allocator, table_size(cap));
    if (asks == NULL)
        return false;
    *asks = (struct jzx__asks){.free = JZX__ASK_NONE};
    if (old != NULL) {
        memcpy(asks, old, table_size(old->cap));
        jzx__free(&loop->sched.allocator, old, table_size(old->cap));
    }
    asks->cap = cap;
    jzx__cold_set_part(cold, JZX__PART_ASK, asks);
    return true;
}

/* A place that is pending from now on; false without memory. */
static bool acquire(struct jzx_loop *loop, struct jzx__cold *cold, uint32_t *index) {
    struct jzx__asks *asks = asks_of(cold);
    if (asks == NULL || (asks->free == JZX__ASK_NONE && asks->count == asks->cap)) {
        if (!grow(loop, cold))
            return false;
        asks = asks_of(cold);
    }
    *index = asks->free;
    if (*index != JZX__ASK_NONE) {
        asks->free = asks->places[*index].next;
    } else {
        *index = asks->count++;
        asks->places[*index].generation = 1;
    }
    asks->places[*index].timer = JZX_NO_TIMER;
    asks->places[*index].watch = NULL;
    asks->places[*index].next = JZX__ASK_PENDING;
    return true;
}

/* Q6 */
static void unbind(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__ask *ask) {
    if (ask->watch != NULL)
        jzx__watch_let_go(loop, me, ask->watch, 0);
    ask->watch = NULL;
}

static void release(struct jzx__asks *asks, struct jzx__ask *ask) {
    ask->next = JZX__ASK_NONE;
    if (++ask->generation == 0)
        return; /* Q2 */
    ask->next = asks->free;
    asks->free = (uint32_t)(ask - asks->places);
}

static uint64_t ref_of(const struct jzx__asks *asks, uint32_t index) {
    return (uint64_t)asks->places[index].generation << 32 | index;
}

static bool is_pending(const struct jzx__ask *ask) {
    return ask->next == JZX__ASK_PENDING || ask->next == JZX__ASK_ANSWERED;
}

/* The pending question, or NULL. */
static struct jzx__ask *find(struct jzx__asks *asks, uint64_t ref) {
    uint32_t index = (uint32_t)ref;
    if (asks == NULL || index >= asks->count)
        return NULL;
    struct jzx__ask *ask = &asks->places[index];
    return ask->generation == ref >> 32 && is_pending(ask) ? ask : NULL;
}

static void release_table(struct jzx_loop *loop, struct jzx__worker *me, void *record) {
    (void)me;
    struct jzx__asks *asks = record;
    jzx__free(&loop->sched.allocator, asks, table_size(asks->cap));
}

static size_t size_bytes(const void *record) {
    const struct jzx__asks *asks = record;
    return table_size(asks->cap);
}

/* The asker ends (Q6). */
static void let_go_all(struct jzx__worker *me, struct jzx__actor *actor) {
    struct jzx__asks *asks = asks_of(jzx__actor_cold(actor));
    for (uint32_t i = 0; i < asks->count; i++) {
        struct jzx__ask *ask = &asks->places[i];
        if (is_pending(ask))
            unbind(jzx__loop_of(me), me, ask);
    }
}

const struct jzx__part_ops jzx__part_ask = {.open = jzx__waits_open,
                                            .close = jzx__waits_close,
                                            .let_go = let_go_all,
                                            .release = release_table,
                                            .size_bytes = size_bytes};

/* The question waits no more; neither its deadline nor the end of who was asked will be handled. */
static bool settle(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__asks *asks,
                   uint64_t ref) {
    struct jzx__ask *ask = find(asks, ref);
    if (ask == NULL)
        return false;
    if (ask->timer != JZX_NO_TIMER &&
        (me == NULL || !jzx__timer_cancel_easy(loop, me, jzx__worker_current(me), ask->timer)))
        jzx__timer_cancel(loop, me, ask->timer); /* in time: else the place were free */
    unbind(loop, me, ask);
    release(asks, ask);
    return true;
}

/* ---- messages ---- */

/* What is sent. */
struct letter {
    jzx_actor_id to;
    jzx_actor_id from;
    const void *data;
    size_t len;
    uint32_t tag;
};

static bool is_valid(const struct letter *letter) {
    return (letter->data != NULL || letter->len == 0) && letter->len <= JZX_MSG_LEN_MAX &&
           letter->tag < JZX_TAG_RESERVED;
}

static uint64_t trailer_of(struct jzx__message *message) {
    uint64_t ref;
    memcpy(&ref, jzx__message_trailer(message), sizeof ref);
    return ref;
}

static uint64_t ref_of_down(const struct jzx__message *message) {
    jzx_ask_down down;
    memcpy(&down, message->payload, sizeof down);
    return down.ref;
}

/* kind is JZX__TRAILER_QUESTION or _ANSWER. NULL without memory. */
static struct jzx__message *compose(struct jzx_loop *loop, struct jzx__worker *me,
                                    const struct letter *letter, enum jzx__trailer kind,
                                    uint64_t ref) {
    if (me != NULL && !jzx__slab_is_stocked(&me->slab, loop->short_class))
        jzx__worker_end_turn(me); /* W6 */
    struct jzx__message *message =
        letter->len + JZX_MSG_INLINE - INLINE_MAX < loop->inline_end
            ? jzx__message_create_small(loop, me, JZX_MSG_INLINE)
            : jzx__message_create_large(loop, me, letter->len, jzx__no_destructor);
    if (message == NULL)
        return NULL;
    bool is_question = kind == JZX__TRAILER_QUESTION;
    message->node.generation = jzx_id_generation(letter->to);
    message->node.weight = is_question;
    message->node.lane = is_question ? JZX__LANE_USER : JZX__LANE_ANSWER;
    message->node.flags = (uint8_t)kind;
    message->sender = letter->from;
    message->tag = letter->tag;
    message->len = (uint32_t)letter->len;
    memcpy(jzx__message_trailer(message), &ref, sizeof ref);
    if (letter->len != 0)
        memcpy(message->payload, letter->data, letter->len);
    return message;
}

/* ---- asking ---- */

/* The actor's deadline, to be set by its worker if the turn has lost it. */
static jzx_err set_deadline(struct jzx__turn *turn, struct jzx__worker *me, jzx_actor_id asked,
                            uint64_t ref, uint64_t timeout_ns, jzx_timer_id *timer) {
    struct jzx_loop *loop = turn->ctx.loop;
    jzx_actor_id self = turn->ctx.self;
    if (timeout_ns == JZX_NEVER)
        return JZX_OK;
    const struct jzx__timer_spec spec = {.to = self,
                                         .from = asked,
                                         .data = &ref,
                                         .len = sizeof ref,
                                         .tag = JZX_TAG_ASK_TIMEOUT,
                                         .mode = JZX__TIMER_ONCE,
                                         .delay_ns = timeout_ns};
    if (me != NULL && jzx__timer_set_easy(loop, me, jzx__worker_current(me),
                                          jzx__timer_now(loop, me), &spec, timer))
        return JZX_OK;
    return jzx__timer_start(turn, me, &spec, timer);
}

/* The question is bound to the life of who is asked (Q6). */
static jzx_err bind(struct jzx__turn *turn, struct jzx__worker *me, struct jzx__actor *target,
                    jzx_actor_id asked, uint64_t ref) {
    struct jzx_loop *loop = turn->ctx.loop;
    struct jzx__asks *asks = asks_of(jzx__actor_cold(turn->actor));
    if (asked == turn->ctx.self)
        return JZX_OK;
    struct jzx__watch *watch = jzx__watch_create(loop, me, JZX__WATCH_ASK, turn->ctx.self, asked);
    if (watch == NULL)
        return JZX_ERR_NO_MEMORY;
    jzx__watch_notice(watch)->monitor = ref;
    jzx_err err = jzx__watch_ask_found(loop, me, target, watch);
    if (err != JZX_OK)
        jzx__watch_destroy(loop, me, watch);
    else
        asks->places[(uint32_t)ref].watch = watch;
    return err;
}

/* The question has its place. It is delivered last, as that cannot be undone. */
static jzx_err send_question(struct jzx__turn *turn, struct jzx__worker *me,
                             struct jzx__actor *target, const struct letter *letter,
                             uint64_t timeout_ns, uint64_t ref) {
    struct jzx_loop *loop = turn->ctx.loop;
    struct jzx__cold *cold = jzx__actor_cold(turn->actor);
    jzx_timer_id timer = JZX_NO_TIMER;
    struct jzx__message *message = compose(loop, me, letter, JZX__TRAILER_QUESTION, ref);
    if (message == NULL)
        return JZX_ERR_NO_MEMORY;
    jzx_err err = bind(turn, me, target, letter->to, ref);
    if (err == JZX_OK)
        err = set_deadline(turn, me, letter->to, ref, timeout_ns, &timer);
    if (err == JZX_OK) {
        asks_of(cold)->places[(uint32_t)ref].timer = timer;
        err = jzx__mailbox_deliver(loop, me, target, message);
    }
    if (err != JZX_OK)
        jzx__message_destroy(loop, me, message);
    return err;
}

static jzx_err ask_inside(struct jzx__turn *turn, struct jzx__worker *me,
                          const struct letter *letter, uint64_t timeout_ns, uint64_t *ref) {
    struct jzx_loop *loop = turn->ctx.loop;
    struct jzx__actor *self = turn->actor;
    uint32_t index;
    if (!is_valid(letter))
        return JZX_ERR_INVALID_ARG;
    struct jzx__actor *target = jzx__table_lookup(&loop->table, letter->to);
    if (target == NULL || (jzx__task_inbox(&self->task) & JZX__INBOX_CLOSED) != 0)
        return jzx__mailbox_gone(loop);
    struct jzx__cold *cold = jzx__cold_ensure(loop, me, self);
    if (cold == NULL || !acquire(loop, cold, &index))
        return JZX_ERR_NO_MEMORY;
    uint64_t made = ref_of(asks_of(cold), index);
    jzx_err err = send_question(turn, me, target, letter, timeout_ns, made);
    if (err != JZX_OK)
        settle(loop, me, asks_of(cold), made);
    else if (ref != NULL)
        *ref = made;
    return err;
}

jzx_err jzx_ask(jzx_context *ctx, jzx_actor_id to, const void *data, size_t len, uint32_t tag,
                uint64_t timeout_ns, uint64_t *ref) {
    if (jzx__own_turn(ctx) == NULL)
        return JZX_ERR_INVALID_ARG;
    struct jzx__visit visit;
    struct jzx__worker *me = jzx__loop_visit(ctx->loop, &visit);
    const struct letter letter = {to, ctx->self, data, len, tag};
    jzx_err err = ask_inside(jzx__turn_of(ctx), me, &letter, timeout_ns, ref);
    if (JZX_UNLIKELY(err != JZX_OK))
        jzx__send_refuse(ctx->loop, me, err);
    jzx__visit_end(&visit);
    return err;
}

jzx_err jzx_ask_cancel(jzx_context *ctx, uint64_t ref) {
    struct jzx__actor *self = jzx__own_turn(ctx);
    struct jzx__cold *cold = self == NULL ? NULL : jzx__actor_cold(self);
    if (cold == NULL)
        return JZX_ERR_INVALID_ARG;
    struct jzx__visit visit;
    struct jzx__worker *me = jzx__loop_visit(ctx->loop, &visit);
    bool settled = settle(ctx->loop, me, asks_of(cold), ref);
    jzx__visit_end(&visit);
    return settled ? JZX_OK : JZX_ERR_INVALID_ARG;
}

uint64_t jzx_ask_ref(const jzx_context *ctx) {
    if (jzx__own_turn(ctx) == NULL)
        return 0;
    const struct jzx__turn *turn = (const void *)ctx; /* the context is its first member */
    struct jzx__message *message = turn->current;
    uint64_t ref = 0;
    if (message == NULL)
        return 0;
    if (jzx__message_trailer_kind(message) == JZX__TRAILER_ANSWER)
        return trailer_of(message);
    if (message->tag == JZX_TAG_ASK_TIMEOUT)
        memcpy(&ref, message->payload, sizeof ref);
    if (message->tag == JZX_TAG_ASK_DOWN)
        ref = ref_of_down(message);
    return ref;
}

bool jzx__ask_is_down(const struct jzx__message *message, uint64_t ref) {
    return message->tag == JZX_TAG_ASK_DOWN && ref_of_down(message) == ref;
}

bool jzx__ask_is_answer(struct jzx__message *message, uint64_t ref) {
    return jzx__message_trailer_kind(message) == JZX__TRAILER_ANSWER && trailer_of(message) == ref;
}

/* ---- answering ---- */

/* Q5, by the owner: false if an answer to that question is in vain, as far as that can be known. */
static bool expects_answer(struct jzx__actor *asker, uint64_t ref) {
    struct jzx__cold *cold = jzx__actor_cold(asker);
    if (cold == NULL)
        return false; /* Q4 */
    if (asker->task.place == JZX__AWAY)
        return true; /* the table is its turn's */
    struct jzx__ask *ask = find(asks_of(cold), ref);
    if (ask == NULL || ask->next == JZX__ASK_ANSWERED)
        return false;
    ask->next = JZX__ASK_ANSWERED;
    return true;
}

/* The same for one that is about to be delivered: what is behind others in the inbox is judged when
 * they are taken in. Another thread may push one of them after this look. */
static bool is_in_vain(struct jzx__worker *me, struct jzx__actor *asker,
                       struct jzx__message *message, uint64_t ref) {
    if (!jzx__worker_owns(me, &asker->task) ||
        (jzx__task_inbox(&asker->task) & ~JZX__INBOX_TOKEN) != 0)
        return false;
    if (!expects_answer(asker, ref))
        return true;
    if (asker->task.place != JZX__AWAY)
        message->node.flags |= JZX__MSG_EXPECTED;
    return false;
}

static jzx_err answer(struct jzx_loop *loop, struct jzx__worker *me, const struct letter *letter,
                      uint64_t ref) {
    if (!is_valid(letter))
        return JZX_ERR_INVALID_ARG;
    struct jzx__actor *asker = jzx__table_lookup(&loop->table, letter->to);
    if (asker == NULL)
        return jzx__mailbox_gone(loop);
    struct jzx__message *message = compose(loop, me, letter, JZX__TRAILER_ANSWER, ref);
    if (message == NULL)
        return JZX_ERR_NO_MEMORY;
    if (JZX_UNLIKELY(is_in_vain(me, asker, message, ref))) {
        jzx__counter_add(&me->counters.accepted, 1);
        jzx__message_bury(loop, me, message, letter->to, jzx__actor_name(asker));
        return JZX_OK;
    }
    jzx_err err = jzx__mailbox_deliver(loop, me, asker, message);
    if (err != JZX_OK)
        jzx__message_destroy(loop, me, message);
    return err;
}

jzx_err jzx_reply_to(jzx_loop *loop, jzx_ask_handle handle, jzx_actor_id from, const void *data,
                     size_t len, uint32_t tag) {
    if (loop == NULL)
        return JZX_ERR_INVALID_ARG;
    struct jzx__visit visit;
    struct jzx__worker *me = jzx__loop_visit(loop, &visit);
    const struct letter letter = {handle.asker, from, data, len, tag};
    jzx_err err = handle.ref == 0 ? JZX_ERR_INVALID_ARG : answer(loop, me, &letter, handle.ref);
    if (JZX_UNLIKELY(err != JZX_OK))
        jzx__send_refuse(loop, me, err);
    jzx__visit_end(&visit);
    return err;
}

/* The message that is being handled, if it is msg and a question that waits for an answer. */
static struct jzx__message *question_of(const jzx_context *ctx, const jzx_message *msg) {
    if (msg == NULL || jzx__own_turn(ctx) == NULL)
        return NULL;
    const struct jzx__turn *turn = (const void *)ctx; /* the context is its first member */
    struct jzx__message *message = turn->current;
    return message != NULL && message->payload == msg->data &&
                   jzx__message_trailer_kind(message) == JZX__TRAILER_QUESTION
               ? message
               : NULL;
}

/* From now on others may answer: who waits for the answer does not wait for this actor alone. */
static void note_open(const struct jzx_loop *loop, jzx_ask_handle handle) {
    const struct jzx__actor *asker = jzx__table_lookup(&loop->table, handle.asker);
    struct jzx__cold *cold = asker == NULL ? NULL : jzx__actor_cold(asker);
    /* relaxed: a hint that rules a deadlock out (fiber/D5); the record may be another's by now */
    if (cold != NULL)
        jzx__atomic_store_relaxed(&cold->open_ref, handle.ref);
}

jzx_ask_handle jzx_ask_from(const jzx_context *ctx, const jzx_message *msg) {
    struct jzx__message *question = question_of(ctx, msg);
    if (question == NULL)
        return (jzx_ask_handle){JZX_NOBODY, 0};
    const jzx_ask_handle handle = {question->sender, trailer_of(question)};
    note_open(ctx->loop, handle);
    return handle;
}

jzx_err jzx_reply(jzx_context *ctx, const jzx_message *msg, const void *data, size_t len,
                  uint32_t tag) {
    struct jzx__message *question = question_of(ctx, msg);
    if (question == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx_ask_handle handle = {question->sender, trailer_of(question)};
    jzx_err err = jzx_reply_to(ctx->loop, handle, ctx->self, data, len, tag);
    if (err == JZX_OK)
        jzx__message_set_trailer_kind(question, JZX__TRAILER_OTHER); /* once */
    return err;
}

/* ---- in the asker's turn ---- */

static enum jzx__filed file_answer(struct jzx__worker *me, struct jzx__actor *actor,
                                   struct jzx__node *node) {
    (void)me;
    if (node->flags & JZX__MSG_EXPECTED) /* its question is marked already */
        return JZX__FILED_KEEP;
    return expects_answer(actor, trailer_of(jzx__message_of(node))) ? JZX__FILED_KEEP
                                                                    : JZX__FILED_VAIN;
}

/* An answer is about to be handled: does its question still wait? */
static enum jzx__look begin_answer(struct jzx__worker *me, const struct jzx__spot *at) {
    struct jzx__actor *actor = at->actor;
    struct jzx_loop *loop = jzx__loop_of(me);
    struct jzx__message *message = jzx__message_of(at->node);
    jzx__mailbox_looked(actor);
    if (settle(loop, me, asks_of(jzx__actor_cold(actor)), trailer_of(message))) {
        at->node->lane = JZX__LANE_USER; /* Q3 */
        return JZX__LOOK_HANDLE;
    }
    jzx__spot_remove(at);
    jzx__message_bury(loop, me, message, jzx__actor_id(actor), jzx__actor_name(actor));
    return JZX__LOOK_AGAIN;
}

const struct jzx__lane_ops jzx__lane_answer = {.file = file_answer, .begin = begin_answer};

/* A deadline is about to be handled, as any timer: the question waits no more. */
static enum jzx__look begin_deadline(struct jzx__worker *me, const struct jzx__spot *at) {
    enum jzx__look look = jzx__timer_begin(me, at);
    if (look != JZX__LOOK_HANDLE)
        return look;
    struct jzx__asks *asks = asks_of(jzx__actor_cold(at->actor));
    uint64_t ref;
    memcpy(&ref, jzx__message_of(at->node)->payload, sizeof ref);
    struct jzx__ask *ask = find(asks, ref); /* NULL: it was put aside, and comes again */
    if (ask != NULL) {
        unbind(jzx__loop_of(me), me, ask);
        release(asks, ask);
    }
    return look;
}

const struct jzx__lane_ops jzx__lane_deadline = {.file = jzx__timer_file,
                                                 .begin = begin_deadline,
                                                 .bury = jzx__timer_bury,
                                                 .release = jzx__timer_release,
                                                 .take = jzx__timer_take,
                                                 .stash = jzx__timer_stash};

/* ---- the end of who was asked ---- */

static enum jzx__filed file_down(struct jzx__worker *me, struct jzx__actor *actor,
                                 struct jzx__node *node) {
    return jzx__lane_watch.file(me, actor, node);
}

/* At the asked actor, which is to list it; or at the asker, as a notice that is about to be
 * handled. */
static enum jzx__look begin_down(struct jzx__worker *me, const struct jzx__spot *at) {
    struct jzx_loop *loop = jzx__loop_of(me);
    struct jzx__message *message = jzx__message_of(at->node);
    if (!jzx__watch_has_fired(at->node))
        return jzx__lane_watch.begin(me, at);
    jzx__mailbox_looked(at->actor);
    if (settle(loop, me, asks_of(jzx__actor_cold(at->actor)), ref_of_down(message))) {
        at->node->lane = JZX__LANE_RUNTIME; /* as Q3: nobody else knows the block any more */
        return JZX__LOOK_HANDLE;
    }
    jzx__spot_remove(at);
    me->pass_handled++; /* the books: it was accepted */
    jzx__message_destroy(loop, me, message);
    return JZX__LOOK_GONE;
}

/* A notice for an asker that has ended was let go of (Q6), and is no dead letter. */
static void bury_down(struct jzx__worker *me, struct jzx__node *node,
                      const struct jzx__addressee *to) {
    struct jzx_loop *loop = jzx__loop_of(me);
    if (!jzx__watch_has_fired(node)) {
        jzx__lane_watch.bury(me, node, to);
        return;
    }
    jzx__loop_count(loop, me, handled);
    jzx__message_destroy(loop, me, jzx__message_of(node));
}

const struct jzx__lane_ops jzx__lane_down = {
    .file = file_down, .begin = begin_down, .bury = bury_down};
