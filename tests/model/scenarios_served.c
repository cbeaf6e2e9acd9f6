/* SPDX-License-Identifier: MIT */
/* src/sched/waiter.h, A12: a source serves a task that waits, and the task is killed at any moment.
 * The work of the source is to put an item into the slot of the task.
 *
 * Every scenario checks that each item is in the box or was taken once, that a killed task has
 * none, and that the source serves nobody at the end. */
#include "scenarios.h"
#include "sched/idle.h"
#include "workers.h"

#include "sched/waiter.h"

#include "jzx/time.h"

#include <string.h>

#define O(number) ((uint64_t)1 << (number))

#define KILL 1u

struct party {
    struct jzx__waiter waiter;
    struct jzx__wait_link link;
    unsigned slot; /* items that were handed over */
    unsigned got;
};

static struct {
    struct jzx__served_source source;
    struct jzx__lock lock;
    unsigned items; /* in the box */
    unsigned put;
    struct party task;
    struct party thread;
    struct jzx__clock clock;
    bool has_begun;
    bool was_killed;
    unsigned taken_back; /* items that the killed task had been served */
} s;

static struct jzx__task *const task = &workers.tasks[0];

/* ---- the source ---- */

static enum jzx__cause_kind look(struct jzx__source *source, const struct jzx__wait_link *link) {
    (void)source;
    (void)link;
    return JZX__CAUSE_NONE; /* parties try, and do not join */
}

static bool take(struct jzx__source *source, struct jzx__wait_link *link, struct jzx__wake *wake) {
    (void)source;
    (void)link;
    (void)wake;
    return false;
}

static void change(unsigned *number, int by) {
    model_plain_write(number);
    *number += (unsigned)by;
}

static void give_back(struct jzx__source *source, struct jzx__wait_link *link,
                      struct jzx__worker *me) {
    (void)source;
    (void)me;
    jzx__lock_acquire(&s.lock);
    if (jzx__source_take_back(&s.source, link)) {
        change(link->slot, -1);
        change(&s.items, 1);
        s.taken_back++;
    }
    jzx__lock_release(&s.lock);
}

static const struct jzx__source_ops ops = {
    .look = look, .take = take, .give_back = give_back, .serves = true};

/* As a stream reads for the fiber that waits. */
static void serve(void) {
    struct jzx__wake wake;
    jzx__lock_acquire(&s.lock);
    s.put++;
    bool is_waited_for = !jzx__list_is_empty(&s.source.source.waiting);
    struct jzx__wait_link *link = jzx__source_serve(&s.source, &wake);
    if (link != NULL)
        change(link->slot, 1);
    else if (!is_waited_for || !JZX__MUTANT(waiter_works_before_the_claim))
        change(&s.items, 1);
    jzx__lock_release(&s.lock);
    jzx__wake_make(&wake, NULL);
}

static void serve_twice(void) {
    serve();
    serve();
}

/* ---- the parties ---- */

/* Tries, and queues, under one lock. True if that is all: it has an item, or the source is busy
 * with another party, which the try must not overtake. */
static bool begin_or_take(struct party *party) {
    party->link = (struct jzx__wait_link){.source = &s.source.source, .slot = &party->slot};
    jzx__lock_acquire(&s.lock);
    bool is_busy = s.source.served != NULL || !jzx__list_is_empty(&s.source.source.waiting);
    bool has_item = !is_busy && s.items != 0;
    if (has_item) {
        change(&s.items, -1);
        party->got++;
    } else if (!is_busy) {
        jzx__waiter_begin(&party->waiter, (struct jzx__wait_what){"item", 0, 0});
        jzx__waiter_queue(&party->waiter, &party->link);
    }
    jzx__lock_release(&s.lock);
    return has_item || is_busy;
}

/* After the end all of it is the party's, and may be used for something else. */
static void end(struct party *party, bool is_killed) {
    uint32_t cause =
        is_killed ? jzx__waiter_end_killed(&party->waiter) : jzx__waiter_end(&party->waiter);
    bool has_item = jzx__cause_kind(cause) == JZX__CAUSE_ITEM;
    if (has_item && is_killed)
        give_back(&s.source.source, &party->link, NULL);
    model_plain_write(&party->waiter.wake);
    model_plain_write(&party->link);
    model_plain_write(&party->slot);
    MODEL_ASSERT(party->slot == (has_item && !is_killed));
    party->got += party->slot;
    party->slot = 0;
}

static void thread_reads(void) {
    struct party *party = &s.thread;
    if (begin_or_take(party))
        return;
    if (jzx__waiter_arm(&party->waiter) == JZX__ARM_SUSPEND)
        jzx__waiter_block(&party->waiter, &s.clock, 5);
    end(party, false);
}

static bool is_killed(void) {
    return (jzx__atomic_load_acquire(&task->state) & KILL) != 0;
}

/* As a fiber. True when the wait is over. */
static bool run_turn(struct jzx__worker *me) {
    struct party *party = &s.task;
    (void)me;
    task->place = JZX__RUNNING;
    if (!s.has_begun) {
        s.has_begun = true;
        if (begin_or_take(party))
            return true;
        (void)jzx__waiter_arm(&party->waiter);
    }
    for (;;) {
        s.was_killed = is_killed();
        if (s.was_killed)
            (void)jzx__waiter_withdraw(&party->waiter, JZX__CAUSE_KILLED);
        if (jzx__waiter_cause(&party->waiter) != 0) {
            end(party, s.was_killed);
            return true;
        }
        if (jzx__task_go_idle(task, jzx__task_inbox(task)))
            return false;
    }
}

static void task_reads(void) {
    workers_drive(task, run_turn);
}

static void kill_task(void) {
    uint64_t state = jzx__atomic_load_relaxed(&task->state);
    while (!jzx__atomic_cas_acq_rel(&task->state, &state, state | KILL))
        continue;
    if (jzx__task_nudge(task) == JZX__PUSH_OK_INJECT)
        jzx__task_inject(task, NULL);
}

/* ---- the scenarios ---- */

static void set_up(void) {
    memset(&workers, 0, sizeof workers);
    workers_set_up(1, 1);
    jzx__clock_init_manual(&s.clock, 1);
    s.clock.is_real = true; /* a deadline passes when the engine lets a futex time out */
    jzx__lock_init(&s.lock);
    jzx__source_init(&s.source.source, &s.lock, &ops);
    jzx__waiter_init(&s.task.waiter, jzx__wake_task, task);
    jzx__waiter_init_thread(&s.thread.waiter);
}

/* 0: the task took its item; 1: it was killed before it was served; 2: after that. */
static void check(void) {
    jzx__source_deinit(&s.source.source);
    MODEL_ASSERT(s.source.served == NULL);
    MODEL_ASSERT(s.items + s.task.got + s.thread.got == s.put);
    MODEL_ASSERT(!s.was_killed || s.task.got == 0);
    model_outcome(s.was_killed ? 1 + s.taken_back : 0);
}

#define SERVED .state = &s, .state_size = sizeof s, .setup = set_up, .check = check

const struct model_scenario model_served[] = {
    {.name = "waiter_serve_against_kill",
     .about = "A12: a task is killed while a source serves it",
     .threads = {task_reads, serve, kill_task},
     .outcomes = O(0) | O(1) | O(2),
     SERVED},
    {.name = "waiter_serve_in_order",
     .about = "A12: a second item comes while a task is served, and killed",
     .threads = {task_reads, serve_twice, kill_task},
     .outcomes = O(0) | O(1) | O(2),
     SERVED},
    {.name = "waiter_serve_beside_another",
     .about = "A12: another party tries, or waits, while a task is served",
     .threads = {task_reads, serve_twice, thread_reads},
     .outcomes = O(0),
     SERVED},
};
const size_t model_served_count = sizeof model_served / sizeof *model_served;
