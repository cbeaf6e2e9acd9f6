/* SPDX-License-Identifier: MIT */
/* Setting a scheduler up, what its workers share, and memory for threads that are no workers. */
#include "sched/sched.h"

#include "base/alloc.h"
#include "base/cpus.h"

#include "jzx/time.h"

#include <sched.h>
#include <string.h>

#define WORKER_ALIGN 128u

/* So many tasks of other threads are worth a second worker: one look takes in 17. */
#define BACKLOG 18u

/* A worker that has ticked within that time is attentive (W9): ticks come every JZX__TICK_NS. */
#define ATTENTIVE_NS 100000u

/* So often an idle worker looks around before it sleeps, and so many times in each look. */
#define SPIN_LOOKS 16u
#define SPIN_PEEKS 48u

/* ---- setting up ---- */

static void deinit_workers(struct jzx__sched *sched, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        jzx__worker_deinit(sched->workers[i]);
        jzx__free_aligned(&sched->allocator, sched->workers[i], sched->ops.worker_size,
                          WORKER_ALIGN);
    }
    jzx__free(&sched->allocator, sched->workers, sched->worker_count * sizeof *sched->workers);
}

static bool init_workers(struct jzx__sched *sched) {
    sched->workers = jzx__alloc(&sched->allocator, sched->worker_count * sizeof *sched->workers);
    if (sched->workers == NULL)
        return false;
    for (uint32_t i = 0; i < sched->worker_count; i++) {
        struct jzx__worker *worker =
            jzx__alloc_aligned(&sched->allocator, sched->ops.worker_size, WORKER_ALIGN);
        if (worker != NULL) {
            memset(worker, 0, sched->ops.worker_size);
            sched->workers[i] = worker;
            if (jzx__worker_init(worker, sched, i))
                continue;
            jzx__free_aligned(&sched->allocator, worker, sched->ops.worker_size, WORKER_ALIGN);
        }
        deinit_workers(sched, i);
        return false;
    }
    return true;
}

static void note_feeds(struct jzx__sched *sched, const struct jzx__task_ops *ops) {
    uint32_t i = JZX__FEED_OWN_COUNT;
    for (; i < JZX__FEED_MAX && ops->feeds[i] != NULL; i++)
        sched->pass_enders |= (uint32_t)ops->feeds[i]->ends_pass << i;
    sched->feed_count = i;
}

static void deinit_memory(struct jzx__sched *sched) {
    for (uint32_t i = 0; i < JZX__FOREIGN_COUNT; i++)
        jzx__slab_deinit(&sched->foreign[i].slab);
    jzx__depot_check_leaks(&sched->depot);
    jzx__depot_deinit(&sched->depot);
}

bool jzx__sched_init(struct jzx__sched *sched, const jzx_config *config,
                     const struct jzx__task_ops *ops) {
    memset(sched, 0, sizeof *sched);
    sched->allocator = config->allocator;
    sched->mapper = config->mapper;
    sched->log = config->log;
    sched->msgs_per_turn = config->max_msgs_per_actor;
    sched->turns_per_pass = config->max_actors_per_tick;
    sched->drain_max = config->max_async_drain;
    sched->worker_count = config->workers;
    sched->cpu_count = jzx__cpus_available(&sched->allocator);
    sched->local_size = config->local_queue_size;
    sched->global_max = config->global_queue_size;
    sched->steal_max = config->steal_batch;
    sched->balance = config->balance;
    sched->spin_looks = SPIN_LOOKS;
    sched->spin_peeks = SPIN_PEEKS;
    sched->park_timeout_ns = config->park_timeout_ns;
    sched->ops = *ops;
    note_feeds(sched, ops);
    /* relaxed: not shared yet */
    jzx__atomic_store_relaxed(&sched->stop_deadline_ns, JZX_NEVER);
    jzx__clock_init_monotonic(&sched->clock);
    sched->shared_clock = config->clock;
    jzx__depot_init(&sched->depot, &sched->allocator, "the slabs of a loop");
    jzx__global_init(&sched->global);
    for (uint32_t i = 0; i < JZX__FOREIGN_COUNT; i++)
        jzx__slab_init(&sched->foreign[i].slab, &sched->depot);
    jzx__crew_init(&sched->crew, config);
    if (init_workers(sched))
        return true;
    jzx__crew_deinit(&sched->crew, &sched->allocator);
    jzx__global_deinit(&sched->global);
    deinit_memory(sched);
    return false;
}

void jzx__sched_deinit(struct jzx__sched *sched) {
    deinit_workers(sched, sched->worker_count);
    jzx__crew_deinit(&sched->crew, &sched->allocator);
    jzx__global_deinit(&sched->global);
    deinit_memory(sched);
}

/* ---- ending ---- */

void jzx__sched_wake_all(struct jzx__sched *sched) {
    for (uint32_t i = 0; i < sched->worker_count; i++)
        jzx__parker_wake(&sched->workers[i]->parker);
}

void jzx__sched_end_run(struct jzx__sched *sched) {
    /* seq_cst: pairs with the load before sleeping, after sleep was announced */
    jzx__atomic_store_seq_cst(&sched->leave, 1u);
    jzx__sched_wake_all(sched);
    jzx__parker_wake(&sched->crew.main.parker); /* it may wait for worker 0 */
}

void jzx__sched_close(struct jzx__sched *sched) {
    /* seq_cst: pairs with the acquire in stop_state, and comes before leave for those who see that
     */
    jzx__atomic_store_seq_cst(&sched->stop, (uint32_t)JZX__STOPPED);
    jzx__sched_end_run(sched);
}

/* Adds up, over all threads, who was made or ended early and who late; see below. */
static void add_early(const struct jzx__counters *counters, bool daemons, uint64_t *born,
                      uint64_t *died) {
    *died += jzx__counter_get_acquire(&counters->exited);
    *born -= daemons ? 0 : jzx__counter_get_acquire(&counters->daemons_spawned);
}

static void add_late(const struct jzx__counters *counters, bool daemons, uint64_t *born,
                     uint64_t *died) {
    *died -= daemons ? 0 : jzx__counter_get_acquire(&counters->daemons_exited);
    *born += jzx__counter_get_acquire(&counters->spawned);
}

/* Exits and new daemons are read before spawns and ended daemons. An exit that is seen brings its
 * spawn with it. So what we call born is at least what was born at the moment between the two
 * readings, and what we call died at most what had died then: if they are equal, nobody lived. */
uint64_t jzx__sched_live(const struct jzx__sched *sched) {
    bool stops = jzx__sched_stop_state(sched) != JZX__OPEN; /* then daemons are waited for, too */
    uint64_t died = 0;
    uint64_t born = 0;
    for (uint32_t i = 0; i < sched->worker_count; i++)
        add_early(&sched->workers[i]->counters, stops, &born, &died);
    for (uint32_t i = 0; i < JZX__FOREIGN_COUNT; i++)
        add_early(&sched->foreign[i].counters, stops, &born, &died);
    for (uint32_t i = 0; i < sched->worker_count; i++)
        add_late(&sched->workers[i]->counters, stops, &born, &died);
    for (uint32_t i = 0; i < JZX__FOREIGN_COUNT; i++)
        add_late(&sched->foreign[i].counters, stops, &born, &died);
    return born - died;
}

/* True if a feed of worker 0 has something that keeps the run going. */
static bool has_to_take(const struct jzx__sched *sched) {
    const struct jzx__feed *feeds = sched->workers[0]->feeds;
    for (uint32_t i = 0; i < sched->feed_count; i++) {
        if (feeds[i].ops->keeps_run && !jzx__feed_is_empty_seq_cst(&feeds[i]))
            return true;
    }
    return false;
}

bool jzx__sched_is_done(const struct jzx__sched *sched) {
    /* seq_cst: pairs with the decrement in jzx_loop_release, which then wakes worker 0 */
    bool is_held = jzx__atomic_load_seq_cst(&sched->holds) != 0;
    if (is_held && jzx__sched_stop_state(sched) == JZX__OPEN)
        return false;
    return jzx__sched_live(sched) == 0 && !has_to_take(sched) &&
           jzx__global_is_empty_seq_cst(&sched->global);
}

/* ---- waking workers ---- */

bool jzx__sched_has_idle(const struct jzx__sched *sched) {
    /* relaxed: a hint for those who offer work; who falls asleep looks at all offers */
    uint32_t active = jzx__atomic_load_relaxed(&sched->active);
    return active < sched->worker_count && jzx__sched_busy(sched) < sched->cpu_count;
}

static bool wake_sleeper(struct jzx__sched *sched) {
    for (uint32_t i = 0; i < sched->worker_count; i++) {
        if (jzx__parker_wake(&sched->workers[i]->parker))
            return true;
    }
    return false;
}

bool jzx__sched_wake_one(struct jzx__sched *sched) {
    if (jzx__sched_busy(sched) >= sched->cpu_count)
        return false;
    /* seq_cst: pairs with the store of who ends to look around, and then looks once more */
    return jzx__atomic_load_seq_cst(&sched->spinners) != 0 || wake_sleeper(sched);
}

/* The worker with the least that it has not taken in yet would be better; but it is only a way out
 * of a full queue. */
static struct jzx__worker *any_worker(struct jzx__sched *sched, const struct jzx__task *task) {
    return sched->workers[((uintptr_t)task / sizeof *task) % sched->worker_count];
}

/* W9: true if an awake worker has passed a tick lately. It comes to the global queue soon, or looks
 * there before it sleeps. A worker without a tick may be in a long turn. So may one that has just
 * passed a tick: the watchdog finds that out, and where it relieves nobody no worker is trusted. */
static bool is_attended(const struct jzx__sched *sched) {
    uint64_t now = jzx__clock_now(&sched->clock);
    if (sched->worker_count == 1 || !sched->clock.is_real)
        return true;
    if (sched->crew.relieve_after_ns == JZX_NEVER && !JZX__MUTANT(submit_trusts_without_relief))
        return false;
    for (uint32_t i = 0; i < sched->worker_count; i++) {
        const struct jzx__worker *worker = sched->workers[i];
        /* relaxed: a tick that is missed costs a wake-up */
        uint64_t tick = jzx__atomic_load_relaxed(&worker->tick_at_ns);
        if (now < tick + ATTENTIVE_NS && !jzx__parker_sleeps_seq_cst(&worker->parker))
            return true;
    }
    return JZX__MUTANT(submit_trusts_the_awake);
}

void jzx__sched_wake_for_global(struct jzx__sched *sched) {
    /* seq_cst: pairs with the decrement of a worker that falls asleep (K4) */
    if (jzx__atomic_load_seq_cst(&sched->active) == 0)
        wake_sleeper(sched); /* a spinner may be without a CPU, and nobody wakes again */
    else
        jzx__sched_wake_one(sched);
}

void jzx__sched_submit(struct jzx__sched *sched, struct jzx__task *task) {
    uint32_t waiting = jzx__global_push(&sched->global, task, sched->global_max);
    if (waiting != 0) {
        /* seq_cst: pairs with the decrement of a worker that falls asleep (K4). An awake worker
         * that ticks looks here at its next pass; its ticks wake another if that takes long */
        if (jzx__atomic_load_seq_cst(&sched->active) == 0 || waiting >= BACKLOG ||
            !is_attended(sched))
            jzx__sched_wake_for_global(sched);
        return;
    }
    struct jzx__worker *worker = any_worker(sched, task);
    bool handed = jzx__task_hand_over(task, jzx__worker_word(worker),
                                      jzx__worker_queue(worker, JZX__FEED_INJECT));
    JZX_ASSERT(handed); /* it is held */
    jzx__parker_wake(&worker->parker);
}

/* ---- memory for threads that are no workers ---- */

/* Every thread has its own copy of the thread-local, so its address tells threads apart. */
static uint32_t foreign_index(void) {
    uint64_t hash = (uint64_t)(uintptr_t)&jzx__seat_of_thread * 0x9E3779B97F4A7C15u;
    return (uint32_t)(hash >> 32) % JZX__FOREIGN_COUNT;
}

struct jzx__foreign *jzx__sched_foreign(struct jzx__sched *sched) {
    return &sched->foreign[foreign_index()];
}

/* Takes a cache that nobody uses. Whoever has one is about to give it back: no call out, no sleep.
 */
static struct jzx__foreign *take_foreign(struct jzx__sched *sched) {
    for (uint32_t i = foreign_index(), tries = 1;; i = (i + 1) % JZX__FOREIGN_COUNT, tries++) {
        struct jzx__foreign *foreign = &sched->foreign[i];
        /* acquire: pairs with give_foreign; the slab is as its last user left it */
        if (jzx__atomic_exchange_acq_rel(&foreign->taken, 1u) == 0)
            return foreign;
        if (tries % JZX__FOREIGN_COUNT == 0)
            sched_yield(); /* one of its users may wait for this CPU */
    }
}

static void give_foreign(struct jzx__foreign *foreign) {
    /* release: pairs with take_foreign; publishes the slab */
    jzx__atomic_store_release(&foreign->taken, 0u);
}

void *jzx__sched_alloc(struct jzx__sched *sched, struct jzx__worker *me, uint32_t class_index) {
    if (me != NULL)
        return jzx__slab_alloc(&me->slab, class_index);
    struct jzx__foreign *foreign = take_foreign(sched);
    void *block = jzx__slab_alloc(&foreign->slab, class_index);
    give_foreign(foreign);
    return block;
}

void jzx__sched_free(struct jzx__sched *sched, struct jzx__worker *me, uint32_t class_index,
                     void *block) {
    if (me != NULL) {
        jzx__slab_free(&me->slab, class_index, block);
        return;
    }
    struct jzx__foreign *foreign = take_foreign(sched);
    jzx__slab_free(&foreign->slab, class_index, block);
    give_foreign(foreign);
}
