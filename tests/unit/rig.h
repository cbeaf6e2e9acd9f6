/* SPDX-License-Identifier: MIT */
/* A scheduler without actors: 26 tasks named a to z on a manual clock. A turn writes the task's
 * name down and then does what the test wants. */
#ifndef JZX_UNIT_RIG_H
#define JZX_UNIT_RIG_H

#include "sched/crew.h"
#include "sched/pass.h"
#include "sched/sched.h"

#include "jzx/time.h"

#include "fixture.h"

#include <poll.h>
#include <string.h>

/* A test may have more than have a letter. */
#ifndef RIG_TASK_COUNT
#define RIG_TASK_COUNT 26u
#endif
#define RIG_TRACE_MAX 4000u

struct rig {
    struct jzx__sched sched;
    struct jzx__seat seat;
    struct jzx__task tasks[RIG_TASK_COUNT];
    struct {
        _Alignas(64) struct jzx__node node;
    } sent[RIG_TASK_COUNT];                   /* what another thread sends to each task */
    void (*on_turn)(struct jzx__task *task);  /* NULL: nothing */
    void (*on_freed)(struct jzx__task *task); /* NULL: nothing */
    uint32_t turns;
    uint32_t taken;   /* nodes that the turn which runs took in */
    uint32_t brought; /* taken from RIG_FEED */
    uint32_t polls;
    uint32_t turns_at_poll; /* at the last one */
    uint32_t brought_at_poll;
    uint32_t more_polls; /* so many of them say that there is more */
    uint32_t waits;
    void (*on_wait)(struct jzx__worker *me); /* NULL: nothing */
    char trace[RIG_TRACE_MAX + 1];
    char freed[RIG_TASK_COUNT + 1];
};

static struct rig rig;

static inline struct jzx__worker *rig_worker(void) {
    return rig.sched.workers[0];
}

static inline struct jzx__task *rig_task(char name) {
    return &rig.tasks[name - 'a'];
}

static inline char rig_name(const struct jzx__task *task) {
    return (char)('a' + (task - rig.tasks));
}

/* True if the turn that runs ends after this message. */
static inline bool rig_turn_is_over(void) {
    return (rig_worker()->budget.flags & JZX__TURN_OVER) != 0;
}

static inline bool rig_turn(struct jzx__worker *me, struct jzx__task *task, void *ctx) {
    JZX_EXPECT(me == rig_worker() && ctx == &rig);
    JZX_EXPECT_EQ(task->place, JZX__RUNNING);
    JZX_EXPECT_EQ(me->budget.flags, 0);
    if (JZX_EXPECT(rig.turns < RIG_TRACE_MAX))
        rig.trace[rig.turns++] = rig_name(task);
    rig.taken = 0;
    if (jzx__inbox_list(jzx__task_inbox(task)) != NULL) {
        for (struct jzx__node *node = jzx__task_take(task); node != NULL; node = node->next)
            rig.taken++;
    }
    if (rig.on_turn != NULL)
        rig.on_turn(task);
    if (task->place == JZX__RUNNING) {
        uint64_t word = jzx__task_inbox(task);
        if (jzx__inbox_list(word) != NULL || !jzx__task_go_idle(task, word))
            jzx__worker_requeue_any(me, task);
    }
    return true;
}

static inline enum jzx__pass_result rig_run_ready(struct jzx__worker *me, uint32_t turns_max) {
    return jzx__worker_pass(me, turns_max, jzx__order_choose, rig_turn, &rig);
}

static inline void rig_free_slot(struct jzx__worker *me, struct jzx__task *task) {
    JZX_EXPECT(me == rig_worker());
    rig.freed[strlen(rig.freed)] = rig_name(task);
    if (rig.on_freed != NULL)
        rig.on_freed(task);
}

/* The feed of the layer above. */
#define RIG_FEED JZX__FEED_OWN_COUNT

static inline void rig_take(struct jzx__worker *me, uint32_t max) {
    JZX_EXPECT(me == rig_worker() && max != 0);
    struct jzx__mpsc_node *node = jzx__mpsc_take_all(jzx__worker_queue(me, RIG_FEED));
    for (; node != NULL; node = node->next)
        rig.brought++;
}

static const struct jzx__feed_ops rig_feed_ops = {.take = rig_take, .keeps_run = true};

static inline bool rig_poll(struct jzx__worker *me) {
    JZX_EXPECT(me == rig_worker());
    rig.polls++;
    rig.turns_at_poll = rig.turns;
    rig.brought_at_poll = rig.brought;
    return rig.more_polls != 0 && rig.more_polls-- != 0;
}

/* Sleeps as the poller of a worker does, on the parker's descriptor alone. */
static inline void rig_wait(struct jzx__worker *me, uint64_t timeout_ns) {
    struct pollfd entry = {.fd = jzx__parker_open_fd(&me->parker), .events = POLLIN};
    JZX_EXPECT_EQ(timeout_ns, JZX_NEVER);
    rig.waits++;
    if (rig.on_wait != NULL)
        rig.on_wait(me);
    if (!me->poll_due)
        JZX_EXPECT_EQ(poll(&entry, 1, -1), 1);
}

static inline void rig_do_nothing(void) {}

/* With several workers the tests drive the first; the others stand still, and nothing moves. */
static inline void rig_open_with(uint32_t workers) {
    static const struct jzx__task_ops ops = {
        .run_ready = rig_run_ready,
        .free_slot = rig_free_slot,
        .poll = rig_poll,
        .wait = rig_wait,
        .worker_size = sizeof(struct jzx__worker),
        .feeds = {[JZX__FEED_RETURNS] = &jzx__crew_returns, [RIG_FEED] = &rig_feed_ops}};
    jzx_config config =
        JZX_CONFIG(.allocator = fixture_allocator(), .max_msgs_per_actor = 128,
                   .max_actors_per_tick = 1024, .max_async_drain = 256, .workers = workers,
                   .local_queue_size = 256, .thread_name = "rig", .stall_after_ns = JZX_NEVER,
                   .balance = JZX_BALANCE_NONE);
    memset(&rig, 0, sizeof rig);
    JZX_EXPECT(jzx__sched_init(&rig.sched, &config, &ops));
    jzx__clock_init_manual(&rig.sched.clock, 1000000);
    rig.sched.clock.is_real = true; /* it stands for the system's: nothing but it counts */
    for (uint32_t i = 0; i < RIG_TASK_COUNT; i++) {
        rig.tasks[i].entry = rig_do_nothing; /* alive */
        rig.tasks[i].rank = JZX__NORMAL;
        jzx__task_clear(&rig.tasks[i]);
        jzx__atomic_store_relaxed(&rig.tasks[i].owner, jzx__worker_word(rig_worker()));
    }
    jzx__seat_init(&rig.seat, NULL);
    jzx__crew_sit(&rig.seat, rig_worker(), true);
    jzx__seat_enter(&rig.seat);
    jzx__worker_resume(rig_worker());
    jzx__worker_count_spawned(rig_worker(), false); /* somebody keeps the run going */
}

static inline void rig_open(void) {
    rig_open_with(1);
}

static inline void rig_close(void) {
    jzx__crew_rise(&rig.seat, rig_worker());
    jzx__seat_deinit(&rig.seat);
    jzx__sched_deinit(&rig.sched);
    JZX_EXPECT_EQ(fixture_bytes(), 0);
}

/* Makes tasks ready that ran before: the last one first, so that with a free next-slot it gets that
 * and the others wait in the order of their names. */
static inline void rig_wake(const char *names) {
    size_t last = strlen(names) - 1;
    jzx__worker_ready(rig_worker(), rig_task(names[last]));
    for (size_t i = 0; i < last; i++)
        jzx__worker_ready(rig_worker(), rig_task(names[i]));
}

/* Makes tasks ready that never ran, one after another. */
static inline void rig_spawn(const char *names) {
    for (; *names != '\0'; names++) {
        if (rig_task(*names)->place == JZX__IDLE)
            rig_task(*names)->place = JZX__NEW;
        jzx__worker_ready(rig_worker(), rig_task(*names));
    }
}

/* What another thread does to make tasks ready. */
static inline void rig_inject(const char *names) {
    for (; *names != '\0'; names++) {
        struct jzx__node *node = &rig.sent[*names - 'a'].node;
        node->weight = 1;
        if (jzx__task_push(rig_task(*names), node, 1) == JZX__PUSH_OK_INJECT)
            jzx__task_inject(rig_task(*names), NULL);
    }
}

/* One pass of at most this many turns; returns the names of those that ran. */
static inline const char *rig_run(uint32_t turns) {
    uint32_t before = rig.turns;
    bool ran = rig_run_ready(rig_worker(), turns) == JZX__PASS_RAN;
    JZX_EXPECT_EQ(ran, rig.turns > before);
    rig.trace[rig.turns] = '\0';
    return rig.trace + before;
}

/* Pass after pass, as a worker does, for so many turns. */
static inline const char *rig_run_on(uint32_t turns) {
    uint32_t before = rig.turns;
    while (rig.turns - before < turns && *rig_run(turns - (rig.turns - before)) != '\0')
        continue;
    return rig.trace + before;
}

/* What a pass does before each turn, for tests that tick outside of one. */
static inline void rig_begin_turn(void) {
    rig_worker()->budget.flags = 0;
}

/* So much time passes, and a tick comes. */
static inline void rig_tick(uint64_t after_ns) {
    jzx__clock_advance(&rig.sched.clock, after_ns);
    jzx__meter_tick(rig_worker());
}

#endif
