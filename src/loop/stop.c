/* SPDX-License-Identifier: MIT */
/* Stopping gently, with a deadline, and telling what holds a loop up. */
#include "loop/stop.h"

#include "actor/control.h"
#include "actor/info.h"
#include "actor/mailbox.h"
#include "actor/trap.h"
#include "base/log.h"
#include "loop/wait_text.h"
#include "sched/crew.h"

#include <stdio.h>
#include <string.h>

/* Lines in the log about actors that are still alive; the observer hears of all. */
#define LATE_LINES_MAX 32u

/* Behaviours that the line about the limit of spare threads can name. */
#define STALLED_MAX 16u

static uint64_t default_deadline(const jzx_loop *loop) {
    uint64_t now = jzx_loop_now(loop);
    return now < JZX_NEVER - JZX_DEFAULT_LOOP_STOP ? now + JZX_DEFAULT_LOOP_STOP : JZX_NEVER;
}

jzx_err jzx_loop_stop(jzx_loop *loop, uint64_t deadline_ns) {
    if (loop == NULL)
        return JZX_ERR_INVALID_ARG;
    struct jzx__sched *sched = &loop->sched;
    if (deadline_ns == 0)
        deadline_ns = default_deadline(loop);
    /* relaxed: a first guess for the exchange below */
    uint64_t deadline = jzx__atomic_load_relaxed(&sched->stop_deadline_ns);
    /* pairs with the load of worker 0, which sees the state below */
    while (deadline_ns < deadline &&
           !jzx__atomic_cas_acq_rel(&sched->stop_deadline_ns, &deadline, deadline_ns))
        continue;
    uint32_t open = JZX__OPEN;
    /* seq_cst: pairs with the load before sleeping, after sleep was announced */
    jzx__atomic_cas_strong_seq_cst(&sched->stop, &open, (uint32_t)JZX__STOPPING);
    jzx__sched_wake_all(sched);
    return JZX_OK;
}

static bool deadline_has_passed(const struct jzx_loop *loop) {
    /* acquire: pairs with the exchange in jzx_loop_stop */
    uint64_t deadline = jzx__atomic_load_acquire(&loop->sched.stop_deadline_ns);
    return deadline != JZX_NEVER && jzx_loop_now(loop) >= deadline;
}

/* ---- asking (K7 of sched/worker.h) ---- */

/* After the deadline nobody is asked: worker 0 is about to report and end all that live. */
void jzx__loop_ask_to_end(struct jzx__worker *me, struct jzx__task *task) {
    struct jzx_loop *loop = jzx__loop_of(me);
    const struct jzx__cold *cold = jzx__actor_cold(jzx__actor_of(task));
    if (deadline_has_passed(loop) || (cold != NULL && cold->is_child))
        return; /* a child is stopped by its supervisor, when its turn comes */
    jzx__actor_request(loop, me, jzx__actor_id(jzx__actor_of(task)), JZX__WANT_DRAIN);
}

void jzx__loop_begin_stop(struct jzx__worker *me) {
    struct jzx_loop *loop = jzx__loop_of(me);
    /* acquire: pairs with the release in mint */
    uint32_t minted = jzx__atomic_load_acquire(&loop->table.minted);
    for (uint32_t i = 0; i < minted; i++) {
        struct jzx__task *task = &jzx__table_slot(&loop->table, i)->task;
        if (jzx__worker_owns(me, task))
            jzx__loop_ask_to_end(me, task);
    }
}

bool jzx__loop_has_stop_to_do(const struct jzx_loop *loop) {
    return jzx__sched_stop_state(&loop->sched) == JZX__STOPPING &&
           (loop->sched.workers[0]->seen.stop == JZX__OPEN || deadline_has_passed(loop));
}

/* ---- the report ---- */

/* A picture of the moment: the actor may belong to another worker. */
struct rest {
    bool is_idle; /* nothing is ready for it */
    bool is_super;
    bool is_polled; /* by a thread of the program */
    bool was_told;  /* it traps its stop, and has the notice of it */
};

JZX_PEEKS static struct rest rest_of(struct jzx__actor *actor) {
    uint8_t place = jzx__peek(&actor->task.place);
    const struct jzx__cold *cold = jzx__actor_cold(actor);
    struct rest rest = {.is_idle = place == JZX__IDLE || place == JZX__NEW || place == JZX__ASIDE};
    if (jzx__task_inbox(&actor->task) & JZX__INBOX_TOKEN) /* an entry is under way */
        rest.is_idle = false;
    if (cold == NULL)
        return rest;
    const struct jzx__trap *trap = jzx__peek(&cold->trap);
    rest.is_super = jzx__peek(&cold->is_super);
    rest.is_polled = jzx__peek(&cold->kind) == JZX__KIND_MANUAL;
    rest.was_told = trap != NULL && jzx__peek(&trap->note) == NULL;
    return rest;
}

/* It is in no turn. */
static void describe_rest(struct jzx_loop *loop, struct jzx__actor *actor,
                          const jzx_actor_info *info, char *text, size_t size) {
    char what[JZX__WAIT_TEXT_SIZE];
    struct rest rest = rest_of(actor);
    if (rest.is_polled)
        snprintf(text, size, "waits for the thread that polls it");
    else if (info->worker == JZX_NONE)
        snprintf(text, size, "waits for a worker");
    else if (!rest.is_idle)
        snprintf(text, size, "waits for its turn on worker %u", info->worker);
    else if (info->wait != JZX_WAIT_NONE)
        snprintf(text, size, "waits for %s", jzx__loop_wait_text(loop, info, what, sizeof what));
    else if (rest.is_super)
        snprintf(text, size, "waits for its children");
    else
        snprintf(text, size, "waits for messages");
    size_t length = strlen(text);
    if (rest.was_told)
        snprintf(text + length, size - length, "; was told to stop");
}

static void describe(struct jzx_loop *loop, struct jzx__actor *actor, const jzx_actor_info *info,
                     char *text, size_t size) {
    uint32_t tag = 0;
    uint32_t worker = 0;
    switch (jzx__crew_find(&loop->sched, &actor->task, &tag, &worker)) {
    case JZX__TURN_ON_WORKER:
        snprintf(text, size, "handles a message with tag %u on worker %u", tag, worker);
        break;
    case JZX__TURN_AWAY:
        snprintf(text, size, "handles a message with tag %u for so long that its worker went on",
                 tag);
        break;
    case JZX__TURN_NONE: describe_rest(loop, actor, info, text, size); break;
    }
}

static void report_late(struct jzx_loop *loop) {
    /* acquire: pairs with the release in mint */
    uint32_t minted = jzx__atomic_load_acquire(&loop->table.minted);
    uint32_t late = 0;
    for (uint32_t i = 0; i < minted; i++) {
        jzx_actor_info info;
        struct jzx__actor *actor = jzx__table_slot(&loop->table, i);
        if (!jzx__actor_glance(actor, &info))
            continue;
        char detail[JZX__WAIT_TEXT_SIZE + 64];
        describe(loop, actor, &info, detail, sizeof detail);
        jzx_event event = {.kind = JZX_EVENT_STOP_LATE,
                           .actor = info.id,
                           .name = info.name[0] == '\0' ? NULL : info.name,
                           .worker = info.worker,
                           .detail = detail};
        jzx__loop_emit(loop, &event);
        if (late++ < LATE_LINES_MAX)
            jzx__log(&loop->sched.log, JZX_LOG_WARN, "stop: actor %u.%u %s is still alive: %s",
                     jzx_id_index(info.id), jzx_id_generation(info.id), info.name, detail);
    }
    if (late > LATE_LINES_MAX)
        jzx__log(&loop->sched.log, JZX_LOG_WARN, "stop: and %u more", late - LATE_LINES_MAX);
}

void jzx__loop_go_on_stopping(struct jzx__worker *me) {
    struct jzx_loop *loop = jzx__loop_of(me);
    if (!jzx__sched_is_stopped(&loop->sched) && deadline_has_passed(loop)) {
        report_late(loop);
        jzx__sched_close(&loop->sched);
    }
}

void jzx__loop_tell_left(struct jzx_loop *loop) {
    /* relaxed: all threads that add to it have ended */
    uint64_t left = jzx__atomic_load_relaxed(&loop->left_at_stop);
    if (left != 0)
        jzx__log(&loop->sched.log, JZX_LOG_WARN, "stop: %llu messages not handled",
                 (unsigned long long)left);
}

/* ---- stalls ---- */

/* It sees the request when its code has returned, which the observer may bring about: so before
 * that. */
static void fail_stalled(struct jzx_loop *loop, jzx_actor_id id) {
    struct jzx__visit visit;
    struct jzx__worker *me = jzx__loop_visit(loop, &visit);
    if (jzx__table_lookup(&loop->table, id) != NULL) /* else it has ended, which is no error */
        (void)jzx__actor_request(loop, me, id, JZX__WANT_STALLED);
    jzx__visit_end(&visit);
}

static jzx_stall_cause public_cause(enum jzx__stall_cause cause) {
    return cause == JZX__CAUSE_COMPUTES  ? JZX_STALL_COMPUTES
           : cause == JZX__CAUSE_BLOCKED ? JZX_STALL_BLOCKED
                                         : JZX_STALL_UNKNOWN;
}

/* "; its stack: 0x... 0x...", or nothing. */
static void print_stack(char *text, size_t size, void *const *stack, size_t count) {
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < count && length + 20 < size; i++)
        length += (size_t)snprintf(text + length, size - length, "%s %p",
                                   i == 0 ? "; its stack:" : "", stack[i]);
}

static void log_stall(struct jzx_loop *loop, const struct jzx__worker *worker,
                      const struct jzx__stall *stall, const char *name) {
    static const char *const doing[] = {[JZX__CAUSE_UNKNOWN] = "has not returned from",
                                        [JZX__CAUSE_COMPUTES] = "computes in",
                                        [JZX__CAUSE_BLOCKED] = "is blocked in",
                                        [JZX__CAUSE_HELD_UP] = "has no CPU in"};
    char stack[JZX__LOG_LINE_SIZE / 2];
    print_stack(stack, sizeof stack, stall->stack, stall->stack_count);
    jzx__log(&loop->sched.log, JZX_LOG_WARN,
             "actor %u.%u%s%s %s a message with tag %u for %llu ms; worker %u %s%s",
             jzx_id_index(stall->id), jzx_id_generation(stall->id), name[0] == '\0' ? "" : " ",
             name, doing[stall->cause], stall->tag,
             (unsigned long long)(stall->elapsed_ns / 1000000u), worker->index,
             stall->handed_over ? "goes on without it" : "waits for it", stack);
}

void jzx__loop_tell_stall(struct jzx__worker *worker, const struct jzx__stall *stall) {
    struct jzx_loop *loop = jzx__loop_of(worker);
    char name[JZX_NAME_MAX + 1];
    if (!stall->over && loop->on_stall == JZX_ON_STALL_FAIL)
        fail_stalled(loop, stall->id);
    jzx__name_read(jzx__actor_of(stall->task), name);
    /* relaxed: who has ended meanwhile has no name any more */
    if (jzx__atomic_load_relaxed(&stall->task->id) != stall->id)
        name[0] = '\0';
    jzx_event event = {.kind = stall->over ? JZX_EVENT_STALL_END : JZX_EVENT_STALL,
                       .actor = stall->id,
                       .name = name[0] == '\0' ? NULL : name,
                       .tag = stall->tag,
                       .worker = worker->index,
                       .elapsed_ns = stall->elapsed_ns,
                       .cause = public_cause(stall->cause),
                       .handed_over = stall->handed_over,
                       .stack = stall->stack,
                       .stack_count = stall->stack_count};
    jzx__loop_emit(loop, &event);
    if (!stall->over)
        log_stall(loop, worker, stall, name);
}

/* The behaviours that keep all spare threads, as far as a line has room. */
void jzx__loop_tell_limit(struct jzx__worker *worker) {
    struct jzx_loop *loop = jzx__loop_of(worker);
    struct jzx__lost_turn turns[STALLED_MAX];
    struct jzx__visit visit;
    char text[160] = "";
    jzx__visit_begin(&visit); /* S4 of seat.h */
    uint32_t count = jzx__crew_lost_turns(&loop->sched, turns, STALLED_MAX);
    jzx__visit_end(&visit);
    for (uint32_t i = 0; i < count && strlen(text) < sizeof text - JZX_NAME_MAX; i++) {
        jzx_actor_info info = {.name = ""};
        struct jzx__actor *actor = jzx__table_lookup(&loop->table, turns[i].id);
        if (actor == NULL || !jzx__actor_glance(actor, &info) || info.id != turns[i].id)
            info.name[0] = '\0';
        size_t length = strlen(text);
        snprintf(text + length, sizeof text - length, "%s%u.%u%s%s", i == 0 ? "" : ", ",
                 jzx_id_index(turns[i].id), jzx_id_generation(turns[i].id),
                 info.name[0] == '\0' ? "" : " ", info.name);
    }
    jzx__log(&loop->sched.log, JZX_LOG_WARN,
             "no spare thread is left (%u) and worker %u stands still; these do not return: %s",
             loop->sched.crew.spare_max, worker->index, text);
}
