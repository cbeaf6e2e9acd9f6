/* SPDX-License-Identifier: MIT */
/* src/actor/room.c and line.c, with the real mailbox, control and end of an actor: senders that
 * have met a full mailbox join its line, while the owner on a real worker makes room, goes idle or
 * ends. Of the turn there is only what it does with requests, lines and messages.
 *
 * What every scenario checks: nobody sleeps beside room, or beside a target that has ended (F2,
 * F3); a message is handled or dead if its sender was told so, and else still the sender's (F1). */
#include "scenarios.h"
#include "sched/idle.h"
#include "workers.h"

#include "actor/exit.h"
#include "actor/mailbox.h"
#include "actor/part.h"
#include "actor/room.h"
#include "actor/send.h"
#include "sched/crew.h"
#include "sched/report.h"

#include "jzx/time.h"

#define O(number) ((uint64_t)1 << (number))

#define SENDERS_MAX 2
#define BLOCKS 6
enum { FIRST = 1, BEFORE, WAITS, AFTER, WAITS_TOO }; /* tags */

struct sender {
    struct jzx__waiter waiter;
    struct jzx__wait_link link;
    struct jzx__room_wait wait;
    enum jzx__cause_kind kind;
};

static struct {
    struct jzx_loop loop;
    struct jzx__thread thread; /* that drives worker 0 */
    struct jzx__clock clock;
    _Alignas(64) char blocks[BLOCKS][JZX__BLOCK_SIZE_MIN];
    _Alignas(64) char lines[SENDERS_MAX][JZX__BLOCK_SIZE_MIN];
    struct sender senders[SENDERS_MAX];
    struct jzx__actor *actor;
    jzx_actor_id id;
    uint32_t handled[BLOCKS]; /* tags, in their order */
    unsigned handled_count;
    enum { GOES_ON, ENDS, DRAINS } then; /* after the first message */
    bool has_ended;
} s;

/* ---- the owner ---- */

static void free_slot(struct jzx__worker *me, struct jzx__task *task) {
    jzx__table_release(&s.loop.table, jzx__slots_of(me), jzx__actor_of(task));
}

static void go_on_stopping(struct jzx__worker *me) {
    (void)me;
}

static const struct jzx__task_ops ops = {.free_slot = free_slot,
                                         .go_on_stopping = go_on_stopping,
                                         .stall_is_over = jzx__report_tick,
                                         .worker_size = sizeof(struct jzx__actor_worker),
                                         .feeds = {[JZX__FEED_RETURNS] = &jzx__crew_returns}};

/* As attend and obey in turn.c. */
static void attend(struct jzx__worker *me) {
    struct jzx__task *task = &s.actor->task;
    if (task->care & JZX__CARE_LINE)
        jzx__room_serve(me, s.actor);
    uint64_t state = jzx__atomic_load_acquire(&task->state);
    while ((state & JZX__WANT_ROOM) != 0 &&
           !jzx__atomic_cas_acq_rel(&task->state, &state, state & ~(uint64_t)JZX__WANT_ROOM))
        continue;
    task->care |= jzx__line_care(state);
    if (state & JZX__WANT_ROOM)
        jzx__room_open(me, s.actor);
}

/* What it does beside its messages. True if it has ended. */
static bool does_more(struct jzx__worker *me) {
    if (s.handled_count == 0 || s.then == GOES_ON)
        return false;
    if (s.then == ENDS) {
        s.has_ended = true;
        jzx__actor_end(me, s.actor, JZX_EXIT_NORMAL, NULL);
        return true;
    }
    s.then = GOES_ON;
    jzx__actor_drain(me, s.actor, JZX__WANT_DRAIN);
    return false;
}

static void run_turn(struct jzx__worker *me) {
    struct jzx__task *task = &s.actor->task;
    task->place = JZX__RUNNING;
    for (;;) {
        attend(me);
        if (does_more(me))
            return;
        struct jzx__node *node = task->head;
        uint64_t word;
        if (node != NULL) {
            jzx__task_pop(task, node);
            s.handled[s.handled_count++] = jzx__message_of(node)->tag;
        } else if (jzx__inbox_list(word = jzx__task_inbox(task)) != NULL) {
            jzx__mailbox_take_in(me, s.actor);
        } else if (jzx__task_go_idle(task, word)) {
            return;
        }
    }
}

static void drive(void) {
    jzx__seat_of_thread = &s.thread.seat;
    struct jzx__worker *me = jzx__seat_enter(jzx__seat_of_thread);
    model_may_sleep();
    while (!s.has_ended) {
        jzx__worker_drain_inject(me, UINT32_MAX);
        if (jzx__order_choose(&me->order) != NULL)
            run_turn(me);
        else
            jzx__worker_idle(me);
    }
}

/* ---- senders ---- */

static struct jzx__message *message_of(unsigned block, uint32_t tag) {
    struct jzx__message *message = (void *)s.blocks[block];
    message->node.flags = 0;
    message->node.size_class = 0;
    message->len = 0;
    jzx__send_address(message, s.id, JZX_NOBODY, tag);
    return message;
}

/* As jzx_send_wait does, after it was refused and has prepared its link. */
static void wait_in_line(struct sender *sender, uint64_t deadline_ns) {
    struct jzx__waiter *waiter = &sender->waiter;
    jzx__waiter_begin(waiter, (struct jzx__wait_what){"room at", s.id, 0});
    jzx__waiter_join(waiter, &sender->link, 1, NULL);
    if (jzx__waiter_arm(waiter) == JZX__ARM_SUSPEND)
        jzx__waiter_block(waiter, &s.clock, deadline_ns);
    sender->kind = jzx__cause_kind(jzx__waiter_end(waiter));
    MODEL_ASSERT((sender->kind == JZX__CAUSE_ITEM) == (sender->wait.message == NULL)); /* F1 */
}

static void wait_0(void) {
    wait_in_line(&s.senders[0], JZX_NEVER);
}

static void wait_1(void) {
    wait_in_line(&s.senders[1], JZX_NEVER);
}

static void wait_until_0(void) {
    wait_in_line(&s.senders[0], 5);
}

/* Sends without waiting, and the rest may be refused. */
static bool push(unsigned block, uint32_t tag) {
    return jzx__mailbox_deliver_remote(&s.loop, NULL, s.actor, message_of(block, tag)) == JZX_OK;
}

static void send_wait_and_send_0(void) {
    MODEL_ASSERT(push(3, BEFORE));
    wait_0();
    (void)push(4, AFTER);
}

/* ---- setting up ---- */

static jzx_behavior_result behave(jzx_context *ctx, const jzx_message *message) {
    (void)ctx;
    (void)message;
    model_fail("there are no turns here");
}

static void set_up_worker(void) {
    struct jzx__worker *worker = s.loop.sched.workers[0];
    s.thread.sched = &s.loop.sched;
    s.thread.home = worker;
    jzx__parker_init(&s.thread.parker);
    worker->order.by_caller = true;
    jzx__atomic_store_relaxed(&worker->seat, &s.thread.seat);
    jzx__atomic_store_relaxed(&s.thread.seat.worker, worker);
    jzx__seat_of_thread = &s.thread.seat;
}

static void set_up_loop(void) {
    const jzx_config config = {.size = sizeof config,
                               .allocator = model_allocator,
                               .workers = 1,
                               .local_queue_size = 4,
                               .global_queue_size = 4,
                               .steal_batch = 4,
                               .max_msgs_per_actor = 4,
                               .max_actors_per_tick = 4,
                               .max_async_drain = 4,
                               .stall_after_ns = UINT64_MAX,
                               .thread_name = "model"};
    workers.cpu_count = 1;
    MODEL_ASSERT(jzx__sched_init(&s.loop.sched, &config, &ops));
    model_thread_local(&jzx__seat_of_thread, sizeof jzx__seat_of_thread);
    jzx__clock_init_manual(&s.loop.sched.clock, 1);
    jzx__clock_init_manual(&s.clock, 1);
    s.clock.is_real = true; /* a deadline passes when the engine lets a futex time out */
    s.loop.sched.spin_looks = 0;
    jzx__atomic_store_relaxed(&s.loop.sched.active, 1u);
    jzx__atomic_store_relaxed(&s.loop.sched.holds, 1u); /* the run does not end by itself */
    s.loop.inline_end = JZX_MSG_INLINE + 1;
    s.loop.part_ops = jzx__part_table;
    s.loop.table.max = 4; /* the rest of it is zero already, as jzx__table_init would have it */
    s.loop.table.allocator = &model_allocator;
    jzx__lines_init(&s.loop.lines, &s.loop.sched);
}

/* An actor with one message, and senders that are about to join its line. */
static void set_up_with(uint32_t cap) {
    const jzx_spawn_opts opts = {.size = sizeof opts, .behavior = behave, .mailbox_cap = cap};
    set_up_loop();
    set_up_worker();
    MODEL_ASSERT(jzx_spawn(&s.loop, &opts, &s.id) == JZX_OK);
    s.actor = jzx__table_lookup(&s.loop.table, s.id);
    struct jzx__worker *me = s.loop.sched.workers[0];
    jzx__task_append(&s.actor->task, &message_of(0, FIRST)->node, 1);
    jzx__worker_ready(me, &s.actor->task);
    for (unsigned i = 0; i < SENDERS_MAX; i++) {
        struct sender *sender = &s.senders[i];
        jzx__slab_free(&jzx__sched_foreign(&s.loop.sched)->slab, 0, s.lines[i]);
        jzx__waiter_init_thread(&sender->waiter);
        sender->wait = (struct jzx__room_wait){
            .loop = &s.loop, .to = s.id, .message = message_of(1 + i, i == 0 ? WAITS : WAITS_TOO)};
        MODEL_ASSERT(jzx__room_join(&sender->wait, &sender->link) == JZX_OK);
    }
}

static void set_up(void) {
    set_up_with(1);
}

static void set_up_two(void) {
    set_up_with(2);
}

static void set_up_end(void) {
    set_up();
    s.then = ENDS;
}

static void set_up_drain(void) {
    set_up();
    s.then = DRAINS;
}

/* ---- at the end ---- */

static unsigned count_of(uint32_t tag) {
    unsigned count = 0;
    for (unsigned i = 0; i < s.handled_count; i++)
        count += s.handled[i] == tag;
    return count;
}

static unsigned place_of(uint32_t tag) {
    for (unsigned i = 0; i < s.handled_count; i++) {
        if (s.handled[i] == tag)
            return i;
    }
    return BLOCKS;
}

static void check_sender(unsigned i, uint32_t tag) {
    const struct sender *sender = &s.senders[i];
    MODEL_ASSERT(sender->kind != JZX__CAUSE_NONE);
    if (!s.has_ended) /* else it may be dead */
        MODEL_ASSERT(count_of(tag) == (sender->kind == JZX__CAUSE_ITEM));
    MODEL_ASSERT(count_of(tag) <= (sender->kind == JZX__CAUSE_ITEM));
}

static void check_served(void) {
    check_sender(0, WAITS);
    MODEL_ASSERT(count_of(FIRST) == 1);
    model_outcome(s.senders[0].kind);
}

static void check_both(void) {
    check_served();
    check_sender(1, WAITS_TOO);
    MODEL_ASSERT(s.senders[1].kind == JZX__CAUSE_ITEM);
}

/* F5. 0: what was sent afterwards was refused; 1: it came last. */
static void check_order(void) {
    check_sender(0, WAITS);
    MODEL_ASSERT(s.senders[0].kind == JZX__CAUSE_ITEM);
    MODEL_ASSERT(place_of(BEFORE) < place_of(WAITS));
    MODEL_ASSERT(place_of(WAITS) < place_of(AFTER));
    model_outcome(count_of(AFTER));
}

#define ROOM .state = &s, .state_size = sizeof s

const struct model_scenario model_room[] = {
    {.name = "room_against_idle",
     .about = "F2: a sender joins the line while the owner makes room and goes idle",
     .setup = set_up,
     .threads = {drive, wait_0},
     .check = check_served,
     .outcomes = O(JZX__CAUSE_ITEM),
     ROOM},
    {.name = "room_against_timeout",
     .about = "F1: the same with a deadline: the message is handled, or still the sender's",
     .setup = set_up,
     .threads = {drive, wait_until_0},
     .check = check_served,
     .outcomes = O(JZX__CAUSE_ITEM) | O(JZX__CAUSE_TIMEOUT),
     ROOM},
    {.name = "room_two_in_line",
     .about = "F2: two senders, one place",
     .setup = set_up,
     .threads = {drive, wait_0, wait_1},
     .check = check_both,
     .outcomes = O(JZX__CAUSE_ITEM),
     .bounds = {.preemptions = 1, .stale = MODEL_NONE},
     ROOM},
    {.name = "room_against_end",
     .about = "F3: the target ends while a sender joins its line",
     .setup = set_up_end,
     .threads = {drive, wait_0},
     .check = check_served,
     .outcomes = O(JZX__CAUSE_ITEM) | O(JZX__CAUSE_CLOSED),
     .bounds = {.preemptions = 3, .stale = 2},
     ROOM},
    {.name = "room_against_drain",
     .about = "F3: the target closes its mailbox while a sender joins its line",
     .setup = set_up_drain,
     .threads = {drive, wait_0},
     .check = check_served,
     .outcomes = O(JZX__CAUSE_ITEM) | O(JZX__CAUSE_CLOSED),
     ROOM},
    {.name = "room_order",
     .about = "F5: what a sender sends before, in and after the line comes in this order",
     .setup = set_up_two,
     .threads = {drive, send_wait_and_send_0},
     .check = check_order,
     .outcomes = O(1),
     .bounds = {.preemptions = 2, .stale = 1},
     ROOM},
};
const size_t model_room_count = sizeof model_room / sizeof *model_room;
