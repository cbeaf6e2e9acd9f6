/* SPDX-License-Identifier: MIT */
/* The layer above the real workers, reduced to counting, and their set-up. */
#include "workers.h"

#include "base/cpus.h"
#include "sched/crew.h"
#include "sched/idle.h"
#include "sched/report.h"

struct workers workers;

/* In place of src/base/cpus.c. */
uint32_t jzx__cpus_available(const jzx_allocator *hooks) {
    (void)hooks;
    return workers.cpu_count;
}

bool jzx__cpus_nth(uint32_t k, int *cpu) {
    (void)k;
    (void)cpu;
    return false;
}

/* ---- the layer above ---- */

static unsigned number_of(const struct jzx__task *task) {
    return (unsigned)(task - workers.tasks);
}

/* The private list, then the inbox, then idle (R8). */
void workers_run_turn(struct jzx__worker *me, struct jzx__task *task) {
    task->place = JZX__RUNNING;
    workers.ran[number_of(task)]++;
    workers.ran_by[number_of(task)] = me->index;
    if (workers.long_turns) {
        workers.busy++;
        return;
    }
    for (;;) {
        struct jzx__node *node = task->head;
        if (node != NULL) {
            jzx__task_pop(task, node);
            continue;
        }
        uint64_t word = jzx__task_inbox(task);
        if (jzx__inbox_list(word) != NULL) {
            for (node = jzx__task_take(task); node != NULL;) {
                struct jzx__node *next = node->next;
                jzx__task_append(task, node, 1);
                node = next;
            }
        } else if (jzx__task_go_idle(task, word)) {
            break;
        }
    }
    if (task->daemon)
        return;
    task->daemon = true; /* it has ended, for the books */
    jzx__worker_count_exited(me, false);
}

static enum jzx__pass_result run_ready(struct jzx__worker *me, uint32_t turns_max) {
    struct jzx__task *task = turns_max != 0 ? jzx__order_choose(&me->order) : NULL;
    if (task == NULL)
        return JZX__PASS_EMPTY;
    workers_run_turn(me, task);
    return workers.busy != 0 && workers.ran_by[number_of(task)] == me->index ? JZX__PASS_LOST
                                                                             : JZX__PASS_RAN;
}

static void free_slot(struct jzx__worker *me, struct jzx__task *task) {
    (void)me;
    (void)task;
    model_fail("a task has ended");
}

static void go_on_stopping(struct jzx__worker *me) {
    (void)me; /* nobody waits for a deadline here */
}

static const struct jzx__task_ops ops = {.run_ready = run_ready,
                                         .free_slot = free_slot,
                                         .go_on_stopping = go_on_stopping,
                                         .stall_is_over = jzx__report_tick,
                                         .worker_size = sizeof(struct jzx__worker),
                                         .feeds = {[JZX__FEED_RETURNS] = &jzx__crew_returns}};

/* ---- setting up ---- */

static void never_called(void) {}

void workers_set_up_task(unsigned number, struct jzx__worker *owner) {
    struct jzx__task *task = &workers.tasks[number];
    jzx__task_clear(task);
    task->entry = never_called;
    task->rank = JZX__NORMAL;
    jzx__atomic_store_relaxed(&task->owner, jzx__worker_word(owner));
    jzx__atomic_store_relaxed(&task->inbox, (uint64_t)0);
}

/* As jzx__crew_sit does it; here no thread waits for it. */
static void workers_sit(uint32_t index) {
    struct jzx__seat *seat = &workers.threads[index].seat;
    workers.threads[index].sched = &workers.sched;
    workers.threads[index].home = workers.sched.workers[index];
    jzx__parker_init(&workers.threads[index].parker);
    workers.sched.workers[index]->order.by_caller = index == 0;
    jzx__atomic_store_relaxed(&workers.sched.workers[index]->seat, seat);
    jzx__atomic_store_relaxed(&seat->worker, workers.sched.workers[index]);
}

void workers_set_up(uint32_t worker_count, uint32_t cpu_count) {
    const jzx_config config = {.size = sizeof config,
                               .allocator = model_allocator,
                               .workers = worker_count,
                               .local_queue_size = 4,
                               .global_queue_size = 4,
                               .steal_batch = 4,
                               .balance = JZX_BALANCE_EAGER,
                               .max_msgs_per_actor = 4,
                               .max_actors_per_tick = 4,
                               .max_async_drain = 4,
                               .stall_after_ns = UINT64_MAX,
                               .thread_name = "model"};
    workers.cpu_count = cpu_count;
    MODEL_ASSERT(jzx__sched_init(&workers.sched, &config, &ops));
    jzx__clock_init_manual(&workers.sched.clock, 1);
    model_thread_local(&jzx__seat_of_thread, sizeof jzx__seat_of_thread);
    workers.sched.spin_looks = 0;
    jzx__atomic_store_relaxed(&workers.sched.active, worker_count);
    jzx__atomic_store_relaxed(&workers.sched.holds, 1u); /* the run does not end by itself */
    workers.sched.crew.relieve_after_ns = UINT64_MAX;
    for (uint32_t i = 0; i < worker_count; i++)
        workers_sit(i);
    for (unsigned i = 0; i < WORKERS_TASKS_MAX; i++)
        workers_set_up_task(i, workers.sched.workers[0]);
}

void workers_drive(struct jzx__task *task, bool (*turn)(struct jzx__worker *me)) {
    jzx__seat_of_thread = &workers.threads[0].seat;
    struct jzx__worker *me = jzx__seat_enter(jzx__seat_of_thread);
    bool is_over = false;
    jzx__worker_ready(me, task);
    while (!is_over) {
        jzx__worker_drain_inject(me, UINT32_MAX);
        if (jzx__order_choose(&me->order) != NULL)
            is_over = turn(me);
        else
            jzx__worker_idle(me);
    }
}
