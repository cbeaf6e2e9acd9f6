/* SPDX-License-Identifier: MIT */
/* The turn of a process: its events, its step, and what becomes of it. */
#include "process/process.h"

#include "actor/exit.h"
#include "actor/mailbox.h"
#include "actor/share.h"
#include "actor/turn.h"
#include "base/alloc.h"
#include "process/commands.h"
#include "process/out.h"
#include "process/proxy.h"

#include <stdio.h>
#include <string.h>

/* ---- making one ---- */

static jzx_err begin(jzx_context *ctx);
static void end(jzx_context *ctx, jzx_exit_reason reason);

static void free_input(struct jzx__process *process) {
    jzx__parcel_free(process->input);
    jzx__parcel_free(process->method);
    process->input = NULL;
    process->method = NULL;
}

static void destroy(struct jzx_loop *loop, struct jzx__process *process) {
    free_input(process);
    jzx__out_deinit(&process->out);
    jzx__proxies_deinit(process);
    jzx__free(&loop->sched.allocator, process, sizeof *process);
}

static void count_process(const struct jzx_loop *loop, uint32_t more) {
    struct jzx__commands *commands = loop->parts[JZX__PART_PROCESS];
    jzx__atomic_add_relaxed(&commands->process_count, more); /* relaxed: a gauge */
}

static bool make(struct jzx_loop *loop, struct jzx__cold *cold, const jzx_spawn_opts *opts) {
    const jzx_allocator *allocator = &loop->sched.allocator;
    const char *method = opts->method == NULL ? "" : opts->method;
    struct jzx__process *process = jzx__alloc(allocator, sizeof *process);
    if (process == NULL)
        return false;
    memset(process, 0, sizeof *process);
    process->ops = opts->process;
    process->loop = loop;
    process->is_due = true;
    process->opened = JZX__NO_EVENT;
    process->out.allocator = allocator;
    process->input = jzx__parcel_make(allocator, opts->input, opts->input_len);
    process->method = jzx__parcel_make(allocator, method, strlen(method) + 1);
    if (process->input == NULL || process->method == NULL) {
        destroy(loop, process);
        return false;
    }
    cold->init = begin;
    cold->cleanup = end;
    jzx__cold_set_part(cold, JZX__PART_PROCESS, process);
    count_process(loop, 1u);
    return true;
}

static void unmake(struct jzx_loop *loop, struct jzx__cold *cold) {
    struct jzx__process *process = jzx__cold_part(cold, JZX__PART_PROCESS);
    if (process == NULL)
        return;
    jzx__cold_set_part(cold, JZX__PART_PROCESS, NULL);
    count_process(loop, UINT32_MAX);
    destroy(loop, process);
}

/* ---- its own code, outside of the bracket ---- */

static jzx_err call_init(jzx_context *ctx, struct jzx__process *process) {
    jzx_err err = JZX_OK;
    if (process->ops->init != NULL)
        err = process->ops->init(ctx, process->method->bytes,
                                 process->input->len == 0 ? NULL : process->input->bytes,
                                 process->input->len);
    process->err = err;
    free_input(process);
    return err;
}

static jzx_err begin(jzx_context *ctx) {
    return call_init(ctx, jzx__process_of(jzx__turn_of(ctx)->actor));
}

static void end(jzx_context *ctx, jzx_exit_reason reason) {
    const struct jzx__process *process = jzx__process_of(jzx__turn_of(ctx)->actor);
    (void)reason;
    if (process->ops->close != NULL)
        process->ops->close(ctx);
}

/* P5, P6; its commands are cancelled. */
static jzx_err upgrade(jzx_context *ctx, struct jzx__process *process) {
    struct jzx_step_out *out = &process->out;
    const jzx_process_ops *old = process->ops;
    process->ops = out->next;
    process->input = out->input;
    process->method = out->method;
    out->input = NULL;
    out->method = NULL;
    process->epoch++;
    process->outstanding = 0;
    if (old->close != NULL)
        old->close(ctx);
    return call_init(ctx, process);
}

/* Puts the message of the open event back into the batch (P3). */
static void close_event(struct jzx__turn *turn, struct jzx__process *process) {
    if (process->opened != JZX__NO_EVENT)
        process->batch[process->opened] = jzx__turn_put_down(turn);
    process->opened = JZX__NO_EVENT;
}

static void open_event(struct jzx__turn *turn, struct jzx__process *process, uint32_t index) {
    turn->current = process->batch[index];
    process->batch[index] = NULL;
    process->opened = index;
}

/* What the step wants at once. An upgrade takes back what reads have consumed (proxy/V4), which
 * needs a worker: if the thread has lost its own, the next turn begins with this. */
static void carry_out(jzx_context *ctx, struct jzx__process *process) {
    const struct jzx_step_out *out = &process->out;
    bool upgrades = process->err == JZX_OK && out->status == JZX__STEP_UPGRADE;
    process->is_held_up = upgrades && !jzx__commands_cancel(ctx, process);
    if (process->is_held_up)
        return;
    if (upgrades)
        process->err = upgrade(ctx, process);
    if (process->err == JZX_OK && out->status != JZX__STEP_DONE && out->count != 0)
        jzx__commands_dispatch(ctx, process);
}

/* The step, and what it wants at once. */
static void run(struct jzx__turn *turn, struct jzx__process *process, uint32_t count) {
    jzx_context *ctx = &turn->ctx;
    struct jzx_step_out *out = &process->out;
    out->is_open = true;
    process->err = process->ops->step(ctx, process->events, count, out);
    out->is_open = false;
    carry_out(ctx, process);
    process->has_stepped = true;
}

jzx_err jzx_event_open(jzx_context *ctx, const jzx_process_event *event) {
    const struct jzx__actor *actor = ctx == NULL ? NULL : jzx__own_turn(ctx);
    struct jzx__process *process = actor == NULL ? NULL : jzx__process_of(actor);
    if (process == NULL || !process->out.is_open || event < process->events)
        return JZX_ERR_INVALID_ARG;
    uint32_t index = (uint32_t)(event - process->events);
    if (index >= process->batch_count || event != &process->events[index])
        return JZX_ERR_INVALID_ARG;
    struct jzx__turn *turn = jzx__turn_of(ctx);
    close_event(turn, process);
    if (process->batch[index] == NULL)
        return JZX_ERR_INVALID_ARG; /* it was taken */
    open_event(turn, process, index);
    return JZX_OK;
}

/* ---- events ---- */

/* What a message in the mailbox is to the process. */
enum mail { MAIL_MESSAGE, MAIL_COMPLETION, MAIL_PROXY };

static jzx_process_event *add_event(struct jzx__process *process, struct jzx__message *message) {
    uint32_t index = process->batch_count++;
    process->batch[index] = message;
    return &process->events[index];
}

/* A completion. False if it is of an earlier epoch. */
static bool add_completion(struct jzx__process *process, struct jzx__message *message) {
    const jzx_result *result = (const void *)message->payload;
    struct jzx__reply reply;
    char *data = jzx_result_data(result);
    memcpy(&reply, data, sizeof reply);
    if (reply.epoch != process->epoch)
        return false;
    size_t len = result->len - sizeof reply;
    process->outstanding--;
    *add_event(process, message) =
        (jzx_process_event){.kind = JZX_PROCESS_YIELD_COMPLETE,
                            .error = (jzx_err)result->err,
                            .tag = reply.tag,
                            .data = len == 0 ? NULL : data + sizeof reply,
                            .len = len};
    return true;
}

/* The same of a proxy. False if nobody is to hear of it. */
static bool add_proxy(struct jzx__process *process, struct jzx__message *message) {
    const jzx_result *result = (const void *)message->payload;
    uint64_t tag;
    if (!jzx__proxy_end(process, jzx__proxy_find(process, message), result, &tag))
        return false;
    process->outstanding--;
    *add_event(process, message) =
        (jzx_process_event){.kind = JZX_PROCESS_YIELD_COMPLETE,
                            .error = (jzx_err)result->err,
                            .tag = tag,
                            .data = result->len == 0 ? NULL : jzx_result_data(result),
                            .len = result->len};
    return true;
}

static void add_message(struct jzx__process *process, struct jzx__message *message) {
    const jzx_message view = {jzx__message_data(message), message->len, message->tag,
                              message->sender};
    bool is_stop = message->tag == JZX_TAG_STOP;
    *add_event(process, message) =
        (jzx_process_event){.kind = is_stop ? JZX_PROCESS_CANCEL : JZX_PROCESS_MESSAGE,
                            .tag = message->tag,
                            .data = view.data,
                            .len = view.len,
                            .message = view};
}

/* Commands that could not begin (P4). */
static void add_failures(struct jzx__process *process) {
    struct jzx_step_out *out = &process->out;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < out->count; i++) {
        const struct jzx__yield *yield = jzx__out_at(out, i);
        if (process->batch_count == JZX_PROCESS_EVENTS_MAX)
            *jzx__out_at(out, kept++) = *yield; /* for the next step */
        else
            *add_event(process, NULL) = (jzx_process_event){
                .kind = JZX_PROCESS_YIELD_COMPLETE, .error = yield->err, .tag = yield->tag};
    }
    out->count = kept;
}

/* The head of the private list is out of it, and handled from now on: an event, or nothing. */
static void take(struct jzx__worker *me, struct jzx__actor *actor, struct jzx__process *process,
                 struct jzx__message *message, enum mail mail) {
    struct jzx__cold *cold = jzx__actor_cold(actor);
    me->pass_handled++;
    cold->hears = cold->hears || (cold->listens && message->node.lane == JZX__LANE_USER);
    if (mail != MAIL_MESSAGE) {
        bool is_event =
            mail == MAIL_PROXY ? add_proxy(process, message) : add_completion(process, message);
        if (!is_event)
            jzx__message_destroy(process->loop, me, message);
    } else if (message->tag == JZX__TAG_SLEPT) {
        jzx_op ref;
        memcpy(&ref, jzx__message_data(message), sizeof ref);
        jzx__message_destroy(process->loop, me, message);
        (void)jzx__command_finish(process->loop, me, ref, NULL, 0, JZX_OK);
    } else {
        add_message(process, message);
    }
}

/* Before its lane has looked at it. */
static enum mail mail_of(const struct jzx__process *process, struct jzx__node *node) {
    if (node->lane != JZX__LANE_OP)
        return MAIL_MESSAGE;
    const struct jzx__message *message = jzx__message_of(node);
    const jzx_result *result = (const void *)message->payload;
    const struct jzx__op_slots *slots = jzx__op_slots_of(process->loop);
    if (jzx__op_is_command(jzx__op_slot_at(slots, (uint32_t)result->op)))
        return MAIL_COMPLETION;
    return jzx__proxy_find(process, message) != NULL ? MAIL_PROXY : MAIL_MESSAGE;
}

/* Makes events of what waits, as far as the batch and the turn's budget go. HANDLE, AGAIN or ENDED.
 */
static enum jzx__look gather(struct jzx__worker *me, struct jzx__actor *actor,
                             struct jzx__process *process) {
    struct jzx__task *task = &actor->task;
    while (process->batch_count < JZX_PROCESS_EVENTS_MAX && me->budget.left > 1) {
        struct jzx__node *node = task->head;
        if (node == NULL) {
            if (jzx__inbox_list(jzx__task_inbox(task)) == NULL)
                break;
            jzx__mailbox_take_in(me, actor);
            continue;
        }
        enum mail mail = MAIL_MESSAGE;
        if (jzx__lane_is_special(node->lane)) {
            if (node->lane == JZX__LANE_WATCH && process->batch_count != 0)
                break; /* it may end the process: what came before is handled before */
            const struct jzx__lane_ops *lane = jzx__lane_of(node);
            const struct jzx__spot head = {actor, NULL, node};
            mail = mail_of(process, node);
            enum jzx__look look = lane->begin == NULL ? JZX__LOOK_HANDLE : lane->begin(me, &head);
            me->budget.left -= me->budget.left > 1 && look != JZX__LOOK_HANDLE;
            if (look == JZX__LOOK_GONE)
                continue;
            if (look != JZX__LOOK_HANDLE)
                return look;
        }
        if (task->care & JZX__CARE_DROP_OLDEST)
            jzx__mailbox_leave_head(actor);
        jzx__task_pop(task, node);
        me->budget.left--;
        take(me, actor, process, jzx__message_of(node), mail);
    }
    return JZX__LOOK_HANDLE;
}

/* ---- after a step; owner ---- */

static void release_batch(struct jzx__worker *me, struct jzx__process *process) {
    for (uint32_t i = 0; i < process->batch_count; i++) {
        if (process->batch[i] != NULL)
            jzx__message_destroy(process->loop, me, process->batch[i]);
        process->batch[i] = NULL;
    }
    process->batch_count = 0;
}

static void note_handled(struct jzx__worker *me, struct jzx__actor *actor) {
    struct jzx__cold *cold = jzx__actor_cold(actor);
    if (JZX_UNLIKELY(cold->hears)) {
        cold->heard_ns = jzx__clock_now(&me->sched->clock);
        cold->hears = false;
    }
}

static enum jzx__fate fail(struct jzx__worker *me, struct jzx__actor *actor, jzx_err err,
                           const char *what) {
    char text[JZX_EXIT_TEXT_MAX + 1];
    snprintf(text, sizeof text, "its %s: %s", what, jzx_err_name(err));
    jzx__actor_end(me, actor, JZX_EXIT_FAIL, text);
    return JZX__FATE_OVER;
}

/* GOES_ON: the process waits, or is stepped again. */
static enum jzx__fate settle(struct jzx__worker *me, struct jzx__actor *actor,
                             struct jzx__process *process) {
    process->has_stepped = false;
    note_handled(me, actor);
    release_batch(me, process); /* a job that repeats counts from here */
    if (process->err != JZX_OK)
        return fail(me, actor, process->err,
                    process->out.status == JZX__STEP_UPGRADE ? "upgrade" : "step");
    switch (process->out.status) {
    case JZX__STEP_DONE:
        process->is_done = true;
        jzx__actor_end(me, actor, JZX_EXIT_NORMAL, NULL);
        return JZX__FATE_OVER;
    case JZX__STEP_CONTINUE:
        process->is_due = true;
        jzx__worker_requeue_any(me, &actor->task);
        return JZX__FATE_OVER;
    case JZX__STEP_UPGRADE: process->is_due = true; break;
    default: break;
    }
    return JZX__FATE_GOES_ON;
}

/* ---- waiting ---- */

/* For dumps and lists, of any thread (P2). */
static void show_wait(struct jzx__worker *me, const struct jzx__actor *actor,
                      const struct jzx__process *process) {
    struct jzx__cold *cold = jzx__actor_cold(actor);
    bool is_blocked = process->outstanding != 0 && process->out.status != JZX__STEP_IDLE;
    /* relaxed, all: a picture of the moment */
    jzx__atomic_store_relaxed(&cold->wait_object, (uint64_t)process->outstanding);
    jzx__atomic_store_relaxed(&cold->wait_since_ns, jzx__worker_last_tick(me));
    jzx__atomic_store_relaxed(&cold->wait_kind,
                              (uint32_t)(is_blocked ? JZX_WAIT_OP : JZX_WAIT_MESSAGE));
}

static enum jzx__fate wait(struct jzx__worker *me, struct jzx__actor *actor,
                           const struct jzx__process *process) {
    struct jzx__task *task = &actor->task;
    JZX_ASSERT((task->care & JZX__CARE_DRAIN) == 0); /* it is told of stops (actor/trap.h) */
    show_wait(me, actor, process);
    uint64_t word = jzx__task_inbox(task);
    return jzx__inbox_list(word) == NULL && jzx__task_go_idle(task, word) ? JZX__FATE_OVER
                                                                          : JZX__FATE_AGAIN;
}

/* ---- the turn ---- */

/* From code of the process. */
static enum jzx__fate come_back(struct jzx__worker *me, struct jzx__turn *turn,
                                struct jzx__process *process) {
    struct jzx__actor *actor = turn->actor;
    if (JZX_UNLIKELY(jzx__seat_enter(turn->seat) != me))
        return jzx__turn_lose(me, turn);
    if (turn->ctx.state != actor->task.arg)
        actor->task.arg = turn->ctx.state;
    jzx__worker_count_message(me);
    return settle(me, actor, process);
}

static enum jzx__fate make_step(struct jzx__worker *me, struct jzx__turn *turn,
                                struct jzx__process *process) {
    struct jzx__actor *actor = turn->actor;
    struct jzx__seat *seat = turn->seat;
    struct jzx__cold *cold = jzx__actor_cold(actor);
    uint32_t count = process->batch_count;
    process->is_due = false;
    cold->steps += cold->accounts;
    /* relaxed: a picture of the moment, both; the second for dumps and the watchdog */
    jzx__atomic_store_relaxed(&cold->wait_kind, (uint32_t)JZX_WAIT_NONE);
    jzx__atomic_store_relaxed(&seat->tag, count == 0 ? 0u : (uint32_t)process->events[0].tag);
    jzx__out_reset(&process->out);
    JZX_ASSERT(turn->current == NULL); /* turn/C1 */
    if (count != 0)
        open_event(turn, process, 0);
    jzx__seat_leave(seat, 0);
    run(turn, process, count);
    close_event(turn, process);
    return come_back(me, turn, process);
}

/* The step before has lost its worker, and could not be carried out without one. */
static enum jzx__fate finish_step(struct jzx__worker *me, struct jzx__turn *turn,
                                  struct jzx__process *process) {
    jzx__seat_leave(turn->seat, 0);
    carry_out(&turn->ctx, process);
    return come_back(me, turn, process);
}

static enum jzx__fate turn(struct jzx__worker *me, struct jzx__turn *turn) {
    struct jzx__actor *actor = turn->actor;
    struct jzx__process *process = jzx__process_of(actor);
    if (JZX_UNLIKELY(process->has_stepped)) {
        enum jzx__fate fate =
            process->is_held_up ? finish_step(me, turn, process) : settle(me, actor, process);
        if (fate != JZX__FATE_GOES_ON)
            return fate;
    }
    if (JZX_UNLIKELY(process->out.count != 0))
        add_failures(process);
    switch (gather(me, actor, process)) {
    case JZX__LOOK_ENDED: return JZX__FATE_OVER;
    case JZX__LOOK_AGAIN:
        if (process->batch_count == 0)
            return JZX__FATE_AGAIN;
        break;
    default: break;
    }
    if (process->batch_count == 0 && !process->is_due) {
        if (me->budget.left > 1)
            return wait(me, actor, process);
        jzx__worker_requeue_any(me, &actor->task);
        return JZX__FATE_OVER;
    }
    enum jzx__fate fate = make_step(me, turn, process);
    return fate == JZX__FATE_GOES_ON ? JZX__FATE_AGAIN : fate;
}

const struct jzx__kind_ops jzx__kind_process = {.turn = turn, .make = make, .unmake = unmake};

/* ---- its part ---- */

/* Perhaps out of its step: the open event is the turn's. */
void jzx__process_cancel(struct jzx__worker *me, struct jzx__actor *actor) {
    struct jzx__process *process = jzx__process_of(actor);
    note_handled(me, actor);
    release_batch(me, process);
}

void jzx__process_release(struct jzx_loop *loop, struct jzx__worker *me, void *record) {
    (void)me;
    count_process(loop, UINT32_MAX);
    destroy(loop, record);
}

uint32_t jzx__process_count(const struct jzx_loop *loop) {
    const struct jzx__commands *commands = loop->parts[JZX__PART_PROCESS];
    /* relaxed: a gauge */
    return commands == NULL ? 0 : jzx__atomic_load_relaxed(&commands->process_count);
}
