/* SPDX-License-Identifier: MIT */
/* src/timer/timer.c, included, so that its use of records can be marked (timer_marks.h), with the
 * real mailbox, table, pool and wheel, and the real end of an actor. Of the turn there is only what
 * it does with messages of timers.
 *
 * What every scenario checks: a message of a one-shot is handled XOR it was cancelled, and a cancel
 * succeeds once (H2); a record is freed once, and touched by who may touch it (H1, H3); in the end,
 * when all workers have looked at their timers and their actors, as many have ended as were set. */
#include "scenarios.h"
#include "timer_marks.h"
#include "workers.h"

#include "actor/exit.h"
#include "actor/kind.h"
#include "actor/waitless.h"
#include "ask/wait.h"

/* A small wheel: it is set up anew for each execution. No timer here is further away. */
#undef JZX__WHEEL_SHAPE
#define JZX__WHEEL_SHAPE ((struct jzx__wheel_shape){{8, 2, 2}})

#include "timer/easy.h"
#include "timer/make.c"
#include "timer/timer.c"
#include "timer/worker.c"

#define O(number) ((uint64_t)1 << (number))

#define MS ((uint64_t)1000000)
#define COLD_MAX 2
#define BLOCKS_MAX 2
#define GUESSED_ID (JZX__TIMER_GENERATION_ONE | 0) /* of the first timer of all */

static struct {
    struct jzx_loop loop;
    struct jzx__timer_pool timer_pool;
    struct jzx__timers timers[2];
    struct jzx__seat seats[2];
    _Alignas(64) char cold[COLD_MAX][JZX__RECORD_SIZE];
    _Alignas(64) char blocks[2][BLOCKS_MAX][JZX__BLOCK_SIZE_MIN]; /* for lists, and what repeats */
    _Alignas(64) char record[JZX__BLOCK_SIZE_MIN];                /* of the actor's timers */
    struct timer_marks marks;
    struct jzx__actor *actor;
    jzx_actor_id actor_id;
    jzx_timer_id id;
    struct jzx__message *current; /* of who is in a turn from the beginning */
    struct jzx__seat lost_seat;   /* of a turn that has lost its worker */
    struct jzx__turn turn;        /* that one */
    unsigned begun;
    unsigned cancelled;
} s;

static struct timer_marks *timer_marks(void) {
    return &s.marks;
}

/* In place of the parts that are not under test here. */
const struct jzx__part_ops jzx__part_directory = {0};
const struct jzx__lane_ops jzx__lane_group = {0};
const struct jzx__part_ops jzx__part_super = {0};
const struct jzx__part_ops jzx__part_pool = {0};
const struct jzx__part_ops jzx__part_fiber = {0};
const struct jzx__part_ops jzx__part_future = {0};
const struct jzx__part_ops jzx__part_async = {0};
const struct jzx__part_ops jzx__part_scope = {0};
const struct jzx__kind_ops jzx__kind_async = {0};
const struct jzx__kind_ops jzx__kind_manual = {0};
const struct jzx__kind_ops jzx__kind_process = {0};
const struct jzx__part_ops jzx__part_op = {0};
const struct jzx__part_ops jzx__part_blocking = {0};
const struct jzx__part_ops jzx__part_file = {0};
const struct jzx__lane_ops jzx__lane_op = {0};
const struct jzx__part_ops jzx__part_io = {0};
const struct jzx__lane_ops jzx__lane_io = {0};
const struct jzx__part_ops jzx__part_schedule = {0};
const struct jzx__part_ops jzx__part_typed = {0};
const struct jzx__part_ops jzx__part_manual = {0};
const struct jzx__part_ops jzx__part_process = {0};
const struct jzx__part_ops jzx__part_net = {0};
const struct jzx__part_ops jzx__part_subprocess = {0};
const struct jzx__lane_ops jzx__lane_socket_ask = {0};
const struct jzx__lane_ops jzx__lane_stream = {0};
const struct jzx__lane_ops jzx__lane_datagram = {0};
const struct jzx__lane_ops jzx__lane_job = {0};
const struct jzx__lane_ops jzx__lane_file = {0};
const struct jzx__kind_ops jzx__kind_fiber = {0};
const struct jzx__part_ops jzx__part_sync = {0};

jzx_err jzx__waitless_refuse(struct jzx_loop *loop, const char *call) {
    (void)loop;
    (void)call;
    return JZX_ERR_WOULD_SUSPEND;
}

bool jzx__waits_open(struct jzx_loop *loop, const jzx_config *config) {
    (void)loop;
    (void)config;
    return true;
}

void jzx__waits_close(struct jzx_loop *loop) {
    (void)loop;
}

/* ---- workers ---- */

static void free_slot(struct jzx__worker *me, struct jzx__task *task) {
    jzx__table_release(&s.loop.table, jzx__slots_of(me), jzx__actor_of(task));
}

static const struct jzx__task_ops ops = {.free_slot = free_slot,
                                         .worker_size = sizeof(struct jzx__actor_worker)};

static struct jzx__worker *sit(unsigned index) {
    jzx__seat_of_thread = &s.seats[index];
    return s.loop.sched.workers[index];
}

static void handle(struct jzx__worker *me, struct jzx__actor *actor, struct jzx__node *node) {
    s.begun++;
    jzx__task_pop(&actor->task, node);
    jzx__message_destroy(&s.loop, me, jzx__message_of(node));
}

/* As look_at_head and the loop around it in turn.c. */
static void run_turn(struct jzx__worker *me, struct jzx__actor *actor) {
    struct jzx__task *task = &actor->task;
    task->place = JZX__RUNNING;
    for (;;) {
        struct jzx__node *node = task->head;
        uint64_t word;
        if (node != NULL) {
            if (jzx__timer_begin(me, &(struct jzx__spot){actor, NULL, node}) == JZX__LOOK_HANDLE)
                handle(me, actor, node);
        } else if (jzx__inbox_list(word = jzx__task_inbox(task)) != NULL) {
            jzx__mailbox_take_in(me, actor);
        } else if (jzx__task_go_idle(task, word)) {
            return;
        }
    }
}

static void run_turns(struct jzx__worker *me) {
    struct jzx__task *task;
    jzx__worker_drain_inject(me, UINT32_MAX);
    while ((task = jzx__order_choose(&me->order)) != NULL)
        run_turn(me, jzx__actor_of(task));
}

/* ---- setting up ---- */

static void set_up_worker(unsigned index) {
    struct jzx__worker *worker = s.loop.sched.workers[index];
    jzx__atomic_store_relaxed(&worker->seat, &s.seats[index]);
    jzx__atomic_store_relaxed(&s.seats[index].worker, worker);
    jzx__actor_worker_of(worker)->parts[JZX__PART_TIMER] = &s.timers[index];
    MODEL_ASSERT(jzx__timers_init(worker));
}

static jzx_behavior_result behave(jzx_context *ctx, const jzx_message *message) {
    (void)ctx;
    (void)message;
    model_fail("there are no turns here");
}

static void spawn(void) {
    const jzx_spawn_opts opts = {.size = sizeof opts, .behavior = behave, .mailbox_cap = 4};
    MODEL_ASSERT(jzx_spawn(&s.loop, &opts, &s.actor_id) == JZX_OK);
    s.actor = jzx__table_lookup(&s.loop.table, s.actor_id);
}

/* Only workers see how time passes, so that what other threads set is due soon. */
static uint64_t clock_now(const struct jzx__clock *clock) {
    return jzx__seat_of_thread == NULL ? MS : clock->manual_ns;
}

static void pass_time(void) {
    s.loop.sched.clock.manual_ns += 2 * MS;
}

/* Two workers, and an actor of the first. There is no memory for a list. */
static void set_up_bare(void) {
    const jzx_config config = {.size = sizeof config,
                               .allocator = model_allocator,
                               .workers = 2,
                               .local_queue_size = 4,
                               .global_queue_size = 4,
                               .steal_batch = 4,
                               .max_msgs_per_actor = 4,
                               .max_actors_per_tick = 4,
                               .max_async_drain = 4,
                               .stall_after_ns = UINT64_MAX,
                               .thread_name = "model"};
    workers.cpu_count = 2;
    MODEL_ASSERT(jzx__sched_init(&s.loop.sched, &config, &ops));
    s.loop.sched.clock = (struct jzx__clock){.now = clock_now, .manual_ns = MS};
    model_thread_local(&jzx__seat_of_thread, sizeof jzx__seat_of_thread);
    jzx__timer_pool_init(&s.timer_pool, &model_allocator);
    s.loop.inline_end = JZX_MSG_INLINE + 1;
    s.loop.parts[JZX__PART_TIMER] = &s.timer_pool;
    s.loop.part_ops = jzx__part_table;
    s.loop.table.max = 2; /* the rest of it is zero already, as jzx__table_init would have it */
    s.loop.table.allocator = &model_allocator;
    set_up_worker(0);
    set_up_worker(1);
    sit(0);
    spawn();
}

static void set_up(void) {
    set_up_bare();
    for (unsigned i = 0; i < 2 * BLOCKS_MAX; i++)
        jzx__slab_free(&s.loop.sched.workers[i % 2]->slab, 0, s.blocks[i % 2][i / 2]);
}

/* Worker 0 has one record at hand: of a batch, most would only cost time. */
static void stock(void) {
    struct jzx__timer *timer = (jzx__timer_alloc)(jzx__timer_pool_of(&s.loop), NULL);
    (jzx__timer_free)(jzx__timer_pool_of(&s.loop), &jzx__timers_of(sit(0))->cache, timer);
}

/* The same, and the actor has a cold record. */
static void set_up_stocked(void) {
    set_up();
    struct jzx__worker *me = sit(0);
    stock();
    jzx__slab_free(&me->slab, JZX__COLD_CLASS, s.cold[0]);
    jzx__actor_set_cold(s.actor, jzx__cold_create(&s.loop, me));
    jzx__slab_free(&me->slab, JZX__PART_CLASS, s.record);
    MODEL_ASSERT(jzx__part_ensure(&s.loop, me, jzx__actor_cold(s.actor), JZX__PART_TIMER) != NULL);
}

static jzx_err set(struct jzx__worker *me, uint8_t mode, jzx_timer_id *id) {
    struct jzx__timer_spec spec = {.to = s.actor_id, .mode = mode, .delay_ns = 1};
    struct jzx__timer *timer = jzx__timer_make(&s.loop, me, &spec);
    MODEL_ASSERT(timer != NULL);
    return jzx__timer_launch(&s.loop, me, timer, id);
}

/* Set by worker 0. */
static void set_up_set(void) {
    set_up_stocked();
    MODEL_ASSERT(set(sit(0), JZX__TIMER_ONCE, &s.id) == JZX_OK);
    pass_time();
}

static void move_actor(void) {
    struct jzx__worker *to = s.loop.sched.workers[1];
    sit(0);
    MODEL_ASSERT(jzx__task_hand_over(&s.actor->task, jzx__worker_word(to),
                                     jzx__worker_queue(to, JZX__FEED_INJECT)));
    run_turns(sit(1));
    MODEL_ASSERT(jzx__worker_owns(to, &s.actor->task));
}

/* Set by worker 0, and since then the actor has moved to worker 1. */
static void set_up_moved(void) {
    set_up_set();
    move_actor();
}

/* The same, before it is due. */
static void set_up_moved_early(void) {
    set_up_moved();
    s.loop.sched.clock.manual_ns = MS;
}

/* ---- a message that is being handled ---- */

/* Fires on worker 0, and is begun by worker. */
static void begin_on(unsigned worker) {
    struct jzx__task *task = &s.actor->task;
    jzx__timers_run(sit(0));
    struct jzx__worker *me = sit(worker);
    jzx__worker_drain_inject(me, UINT32_MAX);
    MODEL_ASSERT(jzx__order_choose(&me->order) == task);
    task->place = JZX__RUNNING;
    if (task->head == NULL)
        jzx__mailbox_take_in(me, s.actor);
    s.current = jzx__message_of(task->head);
    const struct jzx__spot at = {s.actor, NULL, &s.current->node};
    MODEL_ASSERT(jzx__timer_begin(me, &at) == JZX__LOOK_HANDLE);
    jzx__task_pop(task, &s.current->node);
}

static void set_up_repeating(void) {
    set_up_stocked();
    MODEL_ASSERT(set(sit(0), JZX__TIMER_DELAY, &s.id) == JZX_OK);
    pass_time();
}

static void set_up_repeating_here(void) {
    set_up_repeating();
    begin_on(0);
}

static void set_up_repeating_away(void) {
    set_up_repeating();
    move_actor();
    begin_on(1);
}

/* The handler returns: it is set again, at this worker; and time passes. */
static void release_and_look(unsigned worker) {
    struct jzx__worker *me = sit(worker);
    jzx__message_destroy(&s.loop, me, s.current);
    run_turn(me, s.actor);
    pass_time();
    jzx__timers_run(me);
    run_turns(me);
}

static void release_here(void) {
    release_and_look(0);
}

static void release_away(void) {
    release_and_look(1);
}

/* The handler puts the message aside, and takes it back. */
static void stash_and_unstash(void) {
    struct jzx__worker *me = sit(0);
    jzx__timer_stash(jzx__actor_cold(s.actor), s.current);
    s.current->node.next = NULL;
    s.actor->task.head = s.actor->task.last = &s.current->node;
    jzx__mailbox_look(s.actor);
    run_turn(me, s.actor);
}

static void set_up_begun(void) {
    set_up_set();
    begin_on(0);
}

/* ---- threads ---- */

static void look_0(void) {
    jzx__timers_run(sit(0));
}

static void look_and_run_0(void) {
    look_0();
    run_turns(sit(0));
}

/* What was set elsewhere comes in, fires and is handled. */
static void run_and_look_0(void) {
    run_turns(sit(0));
    look_and_run_0();
}

static void run_1(void) {
    run_turns(sit(1));
}

/* A thread that is no worker. */
static void cancel_set(void) {
    s.cancelled += jzx__timer_cancel(&s.loop, NULL, s.id) == JZX_OK;
}

static void cancel_guessed(void) {
    s.cancelled += jzx__timer_cancel(&s.loop, NULL, GUESSED_ID) == JZX_OK;
}

/* The actor cancels its own, as src/timer/send.c has it, and has its turn. */
static void cancel_easily_and_run_0(void) {
    struct jzx__worker *me = sit(0);
    s.cancelled += jzx__timer_cancel_easy(&s.loop, me, NULL, s.id) ||
                   jzx__timer_cancel(&s.loop, me, s.id) == JZX_OK;
    run_turns(me);
}

/* The actor cancels its own, which is on the wheel of another worker. */
static void cancel_and_run_1(void) {
    struct jzx__worker *me = sit(1);
    s.cancelled += jzx__timer_cancel(&s.loop, me, s.id) == JZX_OK;
    run_turns(me);
}

/* The actor has a turn if something came, and ends before it handles anything. */
static void end_on(unsigned worker) {
    struct jzx__worker *me = sit(worker);
    jzx__worker_drain_inject(me, UINT32_MAX);
    if (jzx__order_choose(&me->order) != NULL)
        s.actor->task.place = JZX__RUNNING;
    jzx__actor_end(me, s.actor, JZX_EXIT_NORMAL, NULL);
}

static void end_0(void) {
    end_on(0);
}

static void end_1(void) {
    end_on(1);
}

static void run_and_end_0(void) {
    run_turns(sit(0));
    end_on(0);
}

static void look_and_end_0(void) {
    look_0();
    end_on(0);
}

static void end_and_spawn_1(void) {
    end_on(1);
    spawn();
    run_turns(sit(1));
}

/* Nothing reaches the actor any more, but it has its timers still. */
static void drain_and_end_1(void) {
    struct jzx__worker *me = sit(1);
    jzx__actor_drain(me, s.actor, JZX__WANT_DRAIN);
    end_on(1);
}

static void set_and_look_0(void) {
    MODEL_ASSERT(set(sit(0), JZX__TIMER_ONCE, NULL) == JZX_OK);
    pass_time();
    look_and_run_0();
}

static void set_outside(void) {
    jzx_err err = set(NULL, JZX__TIMER_ONCE, &s.id);
    MODEL_ASSERT(err == JZX_OK || err == JZX_ERR_NO_SUCH_ACTOR);
}

static void set_and_cancel_outside(void) {
    jzx_timer_id id;
    if (set(NULL, JZX__TIMER_ONCE, &id) == JZX_OK)
        s.cancelled += jzx__timer_cancel(&s.loop, NULL, id) == JZX_OK;
}

/* As from set_up, with what whoever makes the timer brings along. */
static void stock_outside(void) {
    pass_time();
    jzx__slab_free(&jzx__sched_foreign(&s.loop.sched)->slab, JZX__COLD_CLASS, s.cold[0]);
    jzx__slab_free(&jzx__sched_foreign(&s.loop.sched)->slab, JZX__PART_CLASS, s.record);
}

static void set_up_outside(void) {
    set_up();
    stock_outside();
}

static void set_up_outside_bare(void) {
    set_up_bare();
    stock_outside();
}

/* ---- a turn without its worker (H4) ---- */

static void lose_worker(void) {
    s.actor->task.place = JZX__AWAY;
    s.turn = (struct jzx__turn){
        .ctx = {.loop = &s.loop, .self = s.actor_id}, .actor = s.actor, .seat = &s.lost_seat};
    jzx__atomic_store_relaxed(&s.lost_seat.task, &s.actor->task);
}

static void set_up_lost(void) {
    set_up_set();
    lose_worker();
}

/* In the turn that handles a timer's message; another is due. */
static void set_up_lost_and_begun(void) {
    set_up_begun();
    stock();
    MODEL_ASSERT(set(sit(0), JZX__TIMER_ONCE, &s.id) == JZX_OK);
    pass_time();
    lose_worker();
}

static void leave_turn(void) {
    (jzx__mpsc_push)(jzx__worker_queue(s.loop.sched.workers[0], JZX__FEED_RETURNS),
                     &s.lost_seat.returned);
}

/* The actor takes the payload for itself, and releases it. */
static void take_and_return(void) {
    MODEL_ASSERT(jzx__timer_take(&s.loop, NULL, s.current));
    jzx__message_destroy(&s.loop, NULL, s.current);
    leave_turn();
}

/* As in src/timer/own.c: the actor finds its timer, cancels it and starts another; then it leaves
 * the turn with the worker. */
static void restart_and_return(void) {
    const struct jzx__timer_spec spec = {.to = s.actor_id, .delay_ns = 1};
    const struct jzx__timer_list *list = jzx__actor_timers(s.actor)->plain;
    model_plain_read(list);
    struct jzx__timer *timer = jzx__timer_record(jzx__timer_pool_of(&s.loop), list->places[0]);
    s.cancelled += jzx__timer_cancel_listed(&s.loop, NULL, timer, list->places[0]);
    timer = jzx__timer_make(&s.loop, NULL, &spec);
    MODEL_ASSERT(timer != NULL && jzx__timer_request(&s.turn, timer));
    leave_turn();
}

/* As jzx__actor_take_back. */
static void take_back_0(void) {
    struct jzx__worker *me = sit(0);
    if (jzx__mpsc_is_empty(jzx__worker_queue(me, JZX__FEED_RETURNS)))
        return;
    MODEL_ASSERT(jzx__mpsc_take_all(jzx__worker_queue(me, JZX__FEED_RETURNS)) ==
                 &s.lost_seat.returned);
    s.actor->task.place = JZX__RUNNING;
    jzx__mailbox_file_deferred(me, s.actor, &s.turn);
    jzx__worker_requeue_any(me, &s.actor->task);
}

static void look_and_take_back_0(void) {
    look_and_run_0();
    take_back_0();
    look_and_run_0();
}

/* ---- at the end ---- */

static void add_up(const struct jzx__counters *counters, uint64_t *count, uint64_t *ended) {
    *count += jzx__counter_get(&counters->timers_set);
    *ended += jzx__counter_get(&counters->timers_ended);
}

static void check_books(void) {
    uint64_t count = 0;
    uint64_t ended = 0;
    for (unsigned i = 0; i < s.loop.sched.worker_count; i++)
        add_up(&s.loop.sched.workers[i]->counters, &count, &ended);
    for (unsigned i = 0; i < JZX__FOREIGN_COUNT; i++)
        add_up(&s.loop.sched.foreign[i].counters, &count, &ended);
    MODEL_ASSERT(ended == count);
    MODEL_ASSERT(s.marks.freed == s.marks.made && s.marks.made >= count);
}

/* Everybody looks at everything: what was cancelled goes by way of its home to its owner. */
static void settle(void) {
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < s.loop.sched.worker_count; i++) {
            jzx__timers_run(sit(i));
            run_turns(sit(i));
        }
    }
    check_books();
    MODEL_ASSERT(s.cancelled <= 1);
    for (unsigned i = 0; i < s.loop.sched.worker_count; i++)
        MODEL_ASSERT(jzx__timers_of(s.loop.sched.workers[i])->wheel.count == 0);
}

/* Handled or cancelled. */
static void check_one(void) {
    settle();
    MODEL_ASSERT(s.begun + s.cancelled == 1);
    model_outcome(s.cancelled);
}

static void check_taken(void) {
    take_back_0();
    check_one();
}

/* The same, and the other one is handled. */
static void check_restarted(void) {
    take_back_0();
    settle();
    MODEL_ASSERT(s.begun + s.cancelled == 2);
    model_outcome(s.cancelled);
}

/* Cancelled, or gone with the actor. */
static void check_end(void) {
    settle();
    MODEL_ASSERT(s.begun == 0);
    model_outcome(s.cancelled);
}

/* Handled so often before it was cancelled. */
static void check_repeating(void) {
    settle();
    MODEL_ASSERT(s.cancelled == 1);
    model_outcome(s.begun);
}

#define TIMER .state = &s, .state_size = sizeof s

const struct model_scenario model_timer[] = {
    {.name = "timer_cancel_against_fire",
     .about = "H2: a cancel elsewhere against the firing and the handling on one worker",
     .setup = set_up_set,
     .threads = {look_and_run_0, cancel_set},
     .check = check_one,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 4, .stale = 4},
     TIMER},
    {.name = "timer_cancel_against_fire_away",
     .about = "H1, H2: the same with an actor that has moved since",
     .setup = set_up_moved,
     .threads = {look_0, run_1, cancel_set},
     .check = check_one,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 3, .stale = 2},
     TIMER},
    {.name = "timer_end_against_cancel",
     .about = "H3: the actor ends against a cancel",
     .setup = set_up_set,
     .threads = {end_0, cancel_set},
     .check = check_end,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 4, .stale = 4},
     TIMER},
    {.name = "timer_end_after_fire",
     .about = "H3: the same after the timer has fired",
     .setup = set_up_set,
     .threads = {look_and_end_0, cancel_set},
     .check = check_end,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 4, .stale = 4},
     TIMER},
    {.name = "timer_end_or_fire",
     .about = "H3: an actor that has moved ends against the firing",
     .setup = set_up_moved,
     .threads = {look_0, end_1},
     .check = check_end,
     .outcomes = O(0),
     .bounds = {.preemptions = 3, .stale = 3},
     TIMER},
    {.name = "timer_end_or_undo",
     .about = "H3: it ends against a cancel and what its home does then",
     .setup = set_up_moved_early,
     .threads = {look_0, end_1, cancel_set},
     .check = check_end,
     .outcomes = O(0) | O(1),
     TIMER},
    {.name = "timer_end_against_fire",
     .about = "H3: it ends against the firing and a cancel",
     .setup = set_up_moved,
     .threads = {look_0, end_1, cancel_set},
     .check = check_end,
     .outcomes = O(0) | O(1),
     TIMER},
    {.name = "timer_end_slot_reused",
     .about = "H3: the same with another actor in the slot",
     .setup = set_up_moved,
     .threads = {look_0, end_and_spawn_1, cancel_set},
     .check = check_end,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 2, .stale = 1},
     TIMER},
    {.name = "timer_drain_against_fire",
     .about = "H3: a closed inbox, then the end, against the firing and a cancel",
     .setup = set_up_moved,
     .threads = {look_0, drain_and_end_1, cancel_set},
     .check = check_end,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 2, .stale = 1},
     TIMER},
    {.name = "timer_two_cancels",
     .about = "H2: two cancels against the firing",
     .setup = set_up_set,
     .threads = {look_and_run_0, cancel_set, cancel_set},
     .check = check_one,
     .outcomes = O(0) | O(1),
     TIMER},
    {.name = "timer_owner_cancels_here",
     .about = "H2: the actor cancels and frees in one exchange, against a cancel elsewhere",
     .setup = set_up_set,
     .threads = {cancel_easily_and_run_0, cancel_set},
     .check = check_one,
     .outcomes = O(1),
     TIMER},
    {.name = "timer_owner_cancels",
     .about = "H2, H3: the actor that has moved and another thread cancel against the firing",
     .setup = set_up_moved,
     .threads = {look_0, cancel_and_run_1, cancel_set},
     .check = check_one,
     .outcomes = O(1),
     TIMER},
    {.name = "timer_set_outside",
     .about = "H1: set and cancelled elsewhere, against its way to the actor",
     .setup = set_up_outside,
     .threads = {run_and_look_0, set_and_cancel_outside},
     .check = check_one,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 4, .stale = 4},
     TIMER},
    {.name = "timer_set_outside_unlisted",
     .about = "H6: the same, without memory for a list",
     .setup = set_up_outside_bare,
     .threads = {run_and_look_0, set_and_cancel_outside},
     .check = check_one,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 3, .stale = 2},
     TIMER},
    {.name = "timer_set_unlisted_against_end",
     .about = "H6: set and cancelled elsewhere without a list, against the end of its actor",
     .setup = set_up_outside_bare,
     .threads = {run_and_end_0, set_and_cancel_outside},
     .check = check_end,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 3, .stale = 2},
     TIMER},
    {.name = "timer_set_here_and_guessed",
     .about = "H1: set by its own actor, and cancelled by who has guessed its id",
     .setup = set_up_stocked,
     .threads = {set_and_look_0, cancel_guessed},
     .check = check_one,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 4, .stale = 4},
     TIMER},
    {.name = "timer_set_and_guessed",
     .about = "Y1: set elsewhere, and cancelled by who has guessed its id",
     .setup = set_up_outside,
     .threads = {run_and_look_0, set_outside, cancel_guessed},
     .check = check_one,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 3, .stale = 2},
     TIMER},
    {.name = "timer_set_against_end",
     .about = "H3: set and cancelled elsewhere, against the end of its actor",
     .setup = set_up_outside,
     .threads = {run_and_end_0, set_and_cancel_outside},
     .check = check_end,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 4, .stale = 4},
     TIMER},
    {.name = "timer_repeats",
     .about = "H1, H2: the handler of one that repeats returns against a cancel",
     .setup = set_up_repeating_here,
     .threads = {release_here, cancel_set},
     .check = check_repeating,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 3, .stale = 3},
     TIMER},
    {.name = "timer_repeats_away",
     .about = "H1, H2: the same with a new home",
     .setup = set_up_repeating_away,
     .threads = {release_away, cancel_set, look_0},
     .check = check_repeating,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 2, .stale = 2},
     TIMER},
    {.name = "timer_stashed",
     .about = "H2: a message that is put aside can be cancelled again",
     .setup = set_up_begun,
     .threads = {stash_and_unstash, cancel_set},
     .check = check_one,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 4, .stale = 4},
     TIMER},
    {.name = "timer_turn_without_worker",
     .about = "H4: a turn without its worker cancels and starts, against a cancel and the worker",
     .setup = set_up_lost,
     .threads = {look_and_take_back_0, restart_and_return, cancel_set},
     .check = check_restarted,
     .outcomes = O(1),
     TIMER},
    {.name = "timer_taken_without_worker",
     .about = "H4: it takes a timer off its list, against the firing of the next one and a cancel",
     .setup = set_up_lost_and_begun,
     .threads = {look_and_take_back_0, take_and_return, cancel_set},
     .check = check_taken,
     .outcomes = O(0) | O(1),
     TIMER},
};
const size_t model_timer_count = sizeof model_timer / sizeof *model_timer;
