/* SPDX-License-Identifier: MIT */
/* src/watch/watch.c, included, so that its use of records can be marked (watch_marks.h), with the
 * real calls of actors (link.c), the real mailbox, table and end of an actor. Of the turn there is
 * only what it does with the messages of watches.
 *
 * Two actors: A of worker 0 and B of worker 1. What every scenario checks: a monitor is heard of
 * once XOR it was taken back; a link is mutual or there is none; in the end, when both have ended
 * and all have looked at what came, every record was freed, once (Z4). */
#include "scenarios.h"
#include "watch_marks.h"
#include "workers.h"

#include "watch/watch.c"

#define O(number) ((uint64_t)1 << (number))

enum { A, B, ACTORS };
#define COLD_MAX 5

static struct {
    struct jzx_loop loop;
    struct jzx__seat seats[2];
    struct jzx__seat lost_seat; /* of a turn that has lost its worker */
    _Alignas(64) char cold[COLD_MAX][JZX__RECORD_SIZE];
    _Alignas(64) char records[COLD_MAX + 1][JZX__BLOCK_SIZE_MIN];
    struct watch_marks marks;
    struct jzx__actor *actors[ACTORS];
    jzx_actor_id ids[ACTORS];
    bool ended[ACTORS];
    unsigned told[ACTORS]; /* messages about the end of another */
    jzx_err asked[ACTORS]; /* what jzx_monitor or jzx_link said */
    jzx_err taken_back[ACTORS];
    jzx_monitor_ref ref;
} s;

static struct watch_marks *watch_marks(void) {
    return &s.marks;
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

static unsigned number_of(const struct jzx__actor *actor) {
    return actor == s.actors[A] ? A : B;
}

/* A notice reaches the behaviour, and its record is freed as a message. */
static void handle(struct jzx__actor *actor, struct jzx__node *node) {
    struct jzx__watch *watch = watch_of_node(node);
    jzx__task_pop(&actor->task, node);
    model_plain_read(jzx__watch_notice(watch)->text);
    s.told[number_of(actor)]++;
    watch_end(watch);
}

/* As look_at_head and the loop around it in turn.c. */
static void run_turn(struct jzx__worker *me, struct jzx__actor *actor) {
    struct jzx__task *task = &actor->task;
    task->place = JZX__RUNNING;
    for (;;) {
        struct jzx__node *node = task->head;
        uint64_t word;
        if (node != NULL) {
            enum jzx__look look = begin(me, &(struct jzx__spot){actor, NULL, node});
            if (look == JZX__LOOK_ENDED) {
                s.ended[number_of(actor)] = true;
                return;
            }
            if (look == JZX__LOOK_HANDLE)
                handle(actor, node);
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

static void run(unsigned worker) {
    run_turns(sit(worker));
}

/* The actor has a turn if something came, and ends before it looks at anything. */
static void end_with(unsigned actor, jzx_exit_reason reason) {
    struct jzx__worker *me = sit(actor);
    if (s.ended[actor])
        return;
    jzx__worker_drain_inject(me, UINT32_MAX);
    if (jzx__order_choose(&me->order) != NULL)
        s.actors[actor]->task.place = JZX__RUNNING;
    s.ended[actor] = true;
    jzx__actor_end(me, s.actors[actor], reason, "text");
}

static void fail(unsigned actor) {
    end_with(actor, JZX_EXIT_FAIL);
}

/* ---- what an actor does in its own turn ---- */

static jzx_context *turn_in(struct jzx__seat *seat, unsigned actor) {
    struct jzx__turn *turn = (void *)seat->turn_room;
    *turn = (struct jzx__turn){
        .ctx = {.loop = &s.loop, .self = s.ids[actor]}, .actor = s.actors[actor], .seat = seat};
    seat->turn = turn;
    jzx__atomic_store_relaxed(&seat->task, &s.actors[actor]->task);
    return &turn->ctx;
}

static jzx_context *turn_of(unsigned actor) {
    sit(actor);
    return turn_in(&s.seats[actor], actor);
}

static void monitor_b(void) {
    s.asked[A] = jzx_monitor(turn_of(A), s.ids[B], &s.ref);
    MODEL_ASSERT(s.asked[A] == JZX_OK || s.asked[A] == JZX_ERR_NO_SUCH_ACTOR);
}

static void demonitor_b(void) {
    s.taken_back[A] = jzx_demonitor(turn_of(A), s.ref);
}

static void link_other(unsigned actor) {
    s.asked[actor] = jzx_link(turn_of(actor), s.ids[1 - actor]);
    MODEL_ASSERT(s.asked[actor] == JZX_OK || s.asked[actor] == JZX_ERR_NO_SUCH_ACTOR);
}

static void unlink_other(unsigned actor) {
    MODEL_ASSERT(jzx_unlink(turn_of(actor), s.ids[1 - actor]) == JZX_OK);
}

/* ---- setting up ---- */

static void set_up_worker(unsigned index) {
    struct jzx__worker *worker = s.loop.sched.workers[index];
    jzx__atomic_store_relaxed(&worker->seat, &s.seats[index]);
    jzx__atomic_store_relaxed(&s.seats[index].worker, worker);
}

static jzx_behavior_result behave(jzx_context *ctx, const jzx_message *message) {
    (void)ctx;
    (void)message;
    model_fail("there are no turns here");
}

static void give_cold(unsigned actor) {
    struct jzx__worker *me = sit(actor);
    jzx__slab_free(&me->slab, JZX__COLD_CLASS, s.cold[actor]);
    jzx__actor_set_cold(s.actors[actor], jzx__cold_create(&s.loop, me));
    jzx__slab_free(&me->slab, JZX__COLD_CLASS, s.cold[ACTORS + actor]); /* a spare at hand */
    jzx__slab_free(&me->slab, JZX__PART_CLASS, s.records[actor]);
    jzx__slab_free(&me->slab, JZX__PART_CLASS, s.records[ACTORS + actor]);
}

static jzx_actor_id spawn(unsigned worker) {
    const jzx_spawn_opts opts = {.size = sizeof opts, .behavior = behave, .mailbox_cap = 4};
    jzx_actor_id id = JZX_NOBODY;
    sit(worker);
    MODEL_ASSERT(jzx_spawn(&s.loop, &opts, &id) == JZX_OK);
    return id;
}

static void set_up(void) {
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
    model_thread_local(&jzx__seat_of_thread, sizeof jzx__seat_of_thread);
    s.loop.inline_end = JZX_MSG_INLINE + 1;
    s.loop.part_ops = jzx__part_table;
    s.loop.table.max = 4; /* the rest of it is zero already, as jzx__table_init would have it */
    s.loop.table.allocator = &model_allocator;
    set_up_worker(0);
    set_up_worker(1);
    for (unsigned i = A; i < ACTORS; i++) {
        s.ids[i] = spawn(i);
        s.actors[i] = jzx__table_lookup(&s.loop.table, s.ids[i]);
        give_cold(i);
    }
}

static void set_up_monitored(void) {
    set_up();
    monitor_b();
    run(1);
}

/* Who traps tells twice from once. */
static void set_up_trapping(void) {
    set_up();
    jzx__actor_cold(s.actors[A])->traps_exits = true;
    jzx__actor_cold(s.actors[B])->traps_exits = true;
}

static void set_up_linked(void) {
    set_up();
    link_other(A);
    run(1);
}

static void set_up_linked_trapping(void) {
    set_up_trapping();
    link_other(A);
    run(1);
}

/* A's turn has lost its worker. */
static void set_up_lost(void) {
    set_up_monitored();
    s.actors[A]->task.place = JZX__AWAY;
    turn_in(&s.lost_seat, A);
}

/* The same, and it is yet to ask. */
static void set_up_lost_early(void) {
    set_up();
    jzx__slab_free(&jzx__sched_foreign(&s.loop.sched)->slab, JZX__COLD_CLASS, s.cold[4]);
    for (unsigned i = 4; i < COLD_MAX + 1; i++) /* its own, and that of a spare */
        jzx__slab_free(&jzx__sched_foreign(&s.loop.sched)->slab, JZX__PART_CLASS, s.records[i]);
    s.actors[A]->task.place = JZX__AWAY;
    turn_in(&s.lost_seat, A);
}

/* A has unlinked, which B does not know when it comes to A's worker; there A links again. */
static void set_up_moved(void) {
    set_up_linked_trapping();
    struct jzx__worker *to = s.loop.sched.workers[0];
    sit(1);
    MODEL_ASSERT(jzx__task_hand_over(&s.actors[B]->task, jzx__worker_word(to),
                                     jzx__worker_queue(to, JZX__FEED_INJECT)));
    jzx__worker_drain_inject(sit(0), UINT32_MAX);
}

static void set_up_linked_again(void) {
    set_up_linked_trapping();
    unlink_other(A);
    struct jzx__worker *to = s.loop.sched.workers[0];
    sit(1);
    jzx__worker_drain_inject(s.loop.sched.workers[1], UINT32_MAX);
    struct jzx__task *task = jzx__order_choose(&s.loop.sched.workers[1]->order);
    MODEL_ASSERT(task == &s.actors[B]->task);
    task->place = JZX__RUNNING;
    jzx__mailbox_take_in(s.loop.sched.workers[1], s.actors[B]);
    MODEL_ASSERT(
        jzx__task_hand_over(task, jzx__worker_word(to), jzx__worker_queue(to, JZX__FEED_INJECT)));
    jzx__worker_drain_inject(sit(0), UINT32_MAX);
    link_other(A);
}

/* ---- threads ---- */

static void run_0(void) {
    run(0);
}

static void run_1(void) {
    run(1);
}

static void demonitor_and_run_0(void) {
    demonitor_b();
    run(0);
}

static void run_and_demonitor_0(void) {
    run(0);
    demonitor_b();
}

static void fail_0(void) {
    fail(A);
}

static void fail_1(void) {
    fail(B);
}

static void run_and_fail_1(void) {
    run(1);
    fail(B);
}

static void drain_and_fail_1(void) {
    struct jzx__worker *me = sit(1);
    run_turns(me);
    if (!s.ended[B])
        jzx__actor_drain(me, s.actors[B], JZX__WANT_DRAIN);
    fail(B);
}

static void monitor_and_run_0(void) {
    monitor_b();
    run(0);
}

static void monitor_and_demonitor_0(void) {
    monitor_b();
    demonitor_b();
}

static void monitor_and_fail_0(void) {
    monitor_b();
    fail(A);
}

static void link_and_run_0(void) {
    link_other(A);
    run(0);
}

static void link_and_run_1(void) {
    link_other(B);
    run(1);
}

static void link_and_fail_0(void) {
    link_other(A);
    fail(A);
}

static void link_and_unlink_0(void) {
    link_other(A);
    unlink_other(A);
}

/* Perhaps the other has asked meanwhile: then that is undone, too. */
static void link_run_and_unlink_0(void) {
    link_and_run_0();
    unlink_other(A);
}

static void unlink_and_run_0(void) {
    unlink_other(A);
    run(0);
}

static void unlink_and_run_1(void) {
    unlink_other(B);
    run(1);
}

/* The slot has another actor then, which must hear of nothing. */
static void fail_and_spawn_0(void) {
    fail(A);
    spawn(0);
    run(0);
}

static void fail_and_spawn_1(void) {
    fail(B);
    spawn(1);
    run(1);
}

/* In the turn that has lost its worker; then it leaves the turn with the worker. */
static void demonitor_lost(void) {
    jzx__seat_of_thread = &s.lost_seat;
    struct jzx__turn *turn = (void *)s.lost_seat.turn_room;
    s.taken_back[A] = jzx_demonitor(&turn->ctx, s.ref);
    (jzx__mpsc_push)(jzx__worker_queue(s.loop.sched.workers[0], JZX__FEED_RETURNS),
                     &s.lost_seat.returned);
}

static void link_lost(void) {
    jzx__seat_of_thread = &s.lost_seat;
    struct jzx__turn *turn = (void *)s.lost_seat.turn_room;
    s.asked[A] = jzx_link(&turn->ctx, s.ids[B]);
    MODEL_ASSERT(s.asked[A] == JZX_OK || s.asked[A] == JZX_ERR_NO_SUCH_ACTOR);
    (jzx__mpsc_push)(jzx__worker_queue(s.loop.sched.workers[0], JZX__FEED_RETURNS),
                     &s.lost_seat.returned);
}

static void take_back_0(void) {
    struct jzx__worker *me = sit(0);
    if (jzx__mpsc_is_empty(jzx__worker_queue(me, JZX__FEED_RETURNS)))
        return;
    MODEL_ASSERT(jzx__mpsc_take_all(jzx__worker_queue(me, JZX__FEED_RETURNS)) ==
                 &s.lost_seat.returned);
    s.actors[A]->task.place = JZX__RUNNING;
    jzx__worker_requeue_any(me, &s.actors[A]->task);
}

static void run_and_take_back_0(void) {
    run(0);
    take_back_0();
    run(0);
}

/* ---- at the end ---- */

static void settle(void) {
    for (unsigned round = 0; round < 3; round++) {
        run(0);
        run(1);
    }
}

/* Everybody ends: each record was freed. */
static void check_freed(void) {
    for (unsigned i = A; i < ACTORS; i++) {
        end_with(i, JZX_EXIT_NORMAL);
        settle();
    }
    MODEL_ASSERT(s.marks.freed == s.marks.made);
}

/* Told, or taken back, or refused; B has ended. */
static void check_one(void) {
    settle();
    bool watched = s.asked[A] == JZX_OK;
    bool taken_back = s.ref != JZX_NO_MONITOR && s.taken_back[A] == JZX_OK;
    MODEL_ASSERT(s.told[A] + taken_back == watched);
    MODEL_ASSERT(s.told[B] == 0 && !s.ended[A]);
    check_freed();
    model_outcome(s.told[A]);
}

/* The same for a scenario that takes nothing back. */
static void check_told(void) {
    settle();
    MODEL_ASSERT(s.told[A] == (s.asked[A] == JZX_OK));
    check_freed();
    model_outcome(s.told[A]);
}

static void check_untold(void) {
    settle();
    MODEL_ASSERT(s.told[A] == 0 && s.told[B] == 0);
    check_freed();
}

static void check_lost(void) {
    take_back_0();
    MODEL_ASSERT(s.taken_back[A] == JZX_OK);
    check_untold();
}

static bool is_linked_to(unsigned actor) {
    struct jzx__link *ring = &jzx__watches_of(jzx__actor_cold(s.actors[actor]))->watches.ring;
    for (struct jzx__link *link = ring->next; link != ring; link = link->next)
        if (target_of(watch_at_holder(link)) == s.ids[1 - actor])
            return true;
    return false;
}

/* Both or none; and if one fails now the other hears of it once, or never. */
static void check_mutual(void) {
    settle();
    MODEL_ASSERT(!s.ended[A] && !s.ended[B]);
    bool linked = is_linked_to(A);
    MODEL_ASSERT(is_linked_to(B) == linked);
    fail(A);
    settle();
    MODEL_ASSERT(s.told[B] == linked);
    check_freed();
    model_outcome(linked);
}

static void check_unlinked(void) {
    settle();
    MODEL_ASSERT(!is_linked_to(A) && !is_linked_to(B));
    check_mutual();
}

/* B has failed: A has gone along if it was linked. */
static void check_gone_along(void) {
    settle();
    MODEL_ASSERT(s.ended[A] == (s.asked[A] == JZX_OK));
    check_freed();
    model_outcome(s.asked[A] == JZX_OK);
}

static void check_lost_link(void) {
    take_back_0();
    check_gone_along();
}

/* A has failed: B has gone along. */
static void check_taken_along(void) {
    settle();
    MODEL_ASSERT(s.ended[B] && s.asked[A] == JZX_OK);
    check_freed();
}

/* A has unlinked, and B has failed. */
static void check_spared(void) {
    settle();
    MODEL_ASSERT(!s.ended[A] && s.told[A] == 0);
    check_freed();
}

/* B came to worker 0: the rest of it is as check_mutual. */
static void check_linked_again(void) {
    settle();
    MODEL_ASSERT(is_linked_to(A) && is_linked_to(B));
    fail(A);
    settle();
    MODEL_ASSERT(s.told[B] == 1);
    sit(0);
    s.ended[B] = true;
    jzx__actor_end(s.loop.sched.workers[0], s.actors[B], JZX_EXIT_NORMAL, NULL);
    MODEL_ASSERT(s.marks.freed == s.marks.made);
}

static void check_moved(void) {
    settle();
    MODEL_ASSERT(!is_linked_to(A) && !is_linked_to(B));
    sit(0);
    s.ended[B] = true;
    jzx__actor_end(s.loop.sched.workers[0], s.actors[B], JZX_EXIT_FAIL, NULL);
    settle();
    MODEL_ASSERT(s.told[A] == 0);
    fail(A);
    MODEL_ASSERT(s.marks.freed == s.marks.made);
}

#define WATCH .state = &s, .state_size = sizeof s
#define DEEP .bounds = {.preemptions = 4, .stale = 4}

const struct model_scenario model_watch[] = {
    {.name = "watch_let_go_against_fire",
     .about = "Z3, Z4: a monitor is taken back while its target ends",
     .setup = set_up_monitored,
     .threads = {demonitor_and_run_0, fail_1},
     .check = check_untold,
     DEEP,
     WATCH},
    {.name = "watch_told_or_let_go",
     .about = "Z2, Z3: it is taken back before or after the notice was handled",
     .setup = set_up_monitored,
     .threads = {run_and_demonitor_0, fail_1},
     .check = check_one,
     .outcomes = O(0) | O(1),
     DEEP,
     WATCH},
    {.name = "watch_both_end",
     .about = "Z4, Z5: the holder ends while the target ends",
     .setup = set_up_monitored,
     .threads = {fail_0, fail_1},
     .check = check_untold,
     DEEP,
     WATCH},
    {.name = "watch_ask_against_end",
     .about = "Z2: a target is asked while it ends",
     .setup = set_up,
     .threads = {monitor_and_run_0, run_and_fail_1},
     .check = check_told,
     .outcomes = O(0) | O(1),
     DEEP,
     WATCH},
    {.name = "watch_ask_and_let_go_against_end",
     .about = "Z2, Z3: the same, and it is taken back at once",
     .setup = set_up,
     .threads = {monitor_and_demonitor_0, run_and_fail_1},
     .check = check_untold,
     DEEP,
     WATCH},
    {.name = "watch_ask_and_let_go",
     .about = "Z2, Z3: it is taken back while the target lists it",
     .setup = set_up,
     .threads = {monitor_and_demonitor_0, run_1},
     .check = check_untold,
     DEEP,
     WATCH},
    {.name = "watch_ask_and_end_against_end",
     .about = "Z5: the holder asks and ends while the target ends",
     .setup = set_up,
     .threads = {monitor_and_fail_0, run_and_fail_1},
     .check = check_untold,
     .bounds = {.preemptions = 3, .stale = 3},
     WATCH},
    {.name = "watch_drain_against_let_go",
     .about = "Z4: a target with a closed mailbox, which ends then, is let go of",
     .setup = set_up_monitored,
     .threads = {demonitor_and_run_0, drain_and_fail_1},
     .check = check_untold,
     .bounds = {.preemptions = 3, .stale = 3},
     WATCH},
    {.name = "watch_holder_slot_reused",
     .about = "Z5: the notice meets another actor in its holder's slot",
     .setup = set_up_monitored,
     .threads = {fail_and_spawn_0, fail_1},
     .check = check_untold,
     .bounds = {.preemptions = 3, .stale = 2},
     WATCH},
    {.name = "watch_target_slot_reused",
     .about = "Z4: the second message meets another actor in its target's slot",
     .setup = set_up_monitored,
     .threads = {demonitor_and_run_0, fail_and_spawn_1},
     .check = check_untold,
     .bounds = {.preemptions = 3, .stale = 2},
     WATCH},
    {.name = "watch_ask_slot_reused",
     .about = "Z2: what asks meets another actor in its target's slot",
     .setup = set_up,
     .threads = {monitor_and_run_0, fail_and_spawn_1},
     .check = check_told,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 3, .stale = 2},
     WATCH},
    {.name = "watch_let_go_without_worker",
     .about = "Z1: a turn that has lost its worker takes back while the target ends",
     .setup = set_up_lost,
     .threads = {demonitor_lost, fail_1, run_and_take_back_0},
     .check = check_lost,
     .bounds = {.preemptions = 2, .stale = 1},
     WATCH},
    {.name = "watch_link_without_worker",
     .about = "N1: a turn that has lost its worker asks for a link while the other fails",
     .setup = set_up_lost_early,
     .threads = {link_lost, run_and_fail_1, run_and_take_back_0},
     .check = check_lost_link,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 2, .stale = 1},
     WATCH},
    {.name = "watch_link_against_end",
     .about = "a link is asked for while the other fails",
     .setup = set_up,
     .threads = {link_and_run_0, run_and_fail_1},
     .check = check_gone_along,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 3, .stale = 3},
     WATCH},
    {.name = "watch_link_and_own_end",
     .about = "a link is asked for by who fails then",
     .setup = set_up,
     .threads = {link_and_fail_0, run_1},
     .check = check_taken_along,
     .bounds = {.preemptions = 3, .stale = 3},
     WATCH},
    {.name = "watch_link_and_both_end",
     .about = "the same, and the other fails as well",
     .setup = set_up_trapping,
     .threads = {link_and_fail_0, run_and_fail_1},
     .check = check_freed,
     .bounds = {.preemptions = 3, .stale = 2},
     WATCH},
    {.name = "watch_linked_both_end",
     .about = "two that are linked fail",
     .setup = set_up_linked_trapping,
     .threads = {fail_0, fail_1},
     .check = check_untold,
     DEEP,
     WATCH},
    {.name = "watch_unlink_against_end",
     .about = "an unlink while the other fails",
     .setup = set_up_linked,
     .threads = {unlink_and_run_0, fail_1},
     .check = check_spared,
     DEEP,
     WATCH},
    {.name = "watch_unlink_by_both",
     .about = "both unlink",
     .setup = set_up_linked_trapping,
     .threads = {unlink_and_run_0, unlink_and_run_1},
     .check = check_unlinked,
     .outcomes = O(0),
     .bounds = {.preemptions = 3, .stale = 2},
     WATCH},
    {.name = "watch_link_each_other",
     .about = "two link each other at once: they are linked, and hear once",
     .setup = set_up_trapping,
     .threads = {link_and_run_0, link_and_run_1},
     .check = check_mutual,
     .outcomes = O(1),
     .bounds = {.preemptions = 3, .stale = 2},
     WATCH},
    {.name = "watch_link_and_unlink",
     .about = "a link that is undone while the other holds it",
     .setup = set_up_trapping,
     .threads = {link_and_unlink_0, run_1},
     .check = check_unlinked,
     .outcomes = O(0),
     .bounds = {.preemptions = 3, .stale = 3},
     WATCH},
    {.name = "watch_unlink_against_link",
     .about = "one links and unlinks while the other links: in the end it is mutual or not at all",
     .setup = set_up_trapping,
     .threads = {link_run_and_unlink_0, link_and_run_1},
     .check = check_mutual,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 3, .stale = 2},
     WATCH},
    {.name = "watch_linked_again",
     .about = "the second message of an old link comes after a new link was made directly",
     .setup = set_up_linked_again,
     .threads = {run_0},
     .check = check_linked_again,
     WATCH},
    {.name = "watch_unlink_moved",
     .about = "Z1: an unlink by the worker that both have come to",
     .setup = set_up_moved,
     .threads = {unlink_and_run_0},
     .check = check_moved,
     WATCH},
};
const size_t model_watch_count = sizeof model_watch / sizeof *model_watch;
