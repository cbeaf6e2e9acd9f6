/* SPDX-License-Identifier: MIT */
/* Waiters on real threads: threads that block, tasks of a worker, and actors that move wait at a
 * few boxes for items, in all ways at once, while others put items in, cancel, and let time run
 * out. Each item is taken once or is left, by whoever was told so. Made for the sanitizers: links
 * and slots are in frames that end, items are plain memory that is freed by who takes them. */
#include "sched/waiter.h"

#include "actor/loop.h"
#include "base/clock.h"
#include "base/rng.h"
#include "sched/idle.h"

#include "../unit/rig.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#define BOXES 3u
#define BOX_CAPACITY 2u
#define PARTIES 8u
#define PUTTERS 2u
#define SHORT_NS 20000u

enum { START = 1, LOOK = 2 };

struct item {
    uint64_t number;
    uint64_t body; /* that belongs to the number */
};

struct box {
    struct jzx__source source; /* first */
    struct jzx__lock lock;
    struct item *items[BOX_CAPACITY];
    uint32_t count;
};

struct party {
    struct jzx__waiter waiter; /* type-stable: may be cancelled at any time */
    struct jzx__wait_link links[BOXES];
    struct item *slots[BOXES];
    struct jzx__rng rng;
    uint64_t waits_left;
    uint64_t got;
    uint64_t ended[JZX__CAUSE_KILLED + 1]; /* waits, by the kind of their cause */
    bool is_waiting;
    jzx_actor_id id; /* of an actor */
};

static struct {
    struct box boxes[BOXES];
    struct party parties[PARTIES];
    struct jzx__clock clock;
    jzx_loop *loop;
    _Atomic uint64_t put;
    _Atomic bool is_over;
    uint32_t done; /* tasks */
} s;

static uint64_t body_of(uint64_t number) {
    return (number + 1) * 0x9E3779B97F4A7C15u;
}

/* ---- boxes ---- */

static enum jzx__cause_kind look(struct jzx__source *source, const struct jzx__wait_link *link) {
    (void)link;
    return ((struct box *)(void *)source)->count != 0 ? JZX__CAUSE_ITEM : JZX__CAUSE_NONE;
}

static bool take(struct jzx__source *source, struct jzx__wait_link *link, struct jzx__wake *wake) {
    struct box *box = (struct box *)(void *)source;
    (void)wake;
    *(struct item **)link->slot = box->items[--box->count];
    return true;
}

/* False if nobody waits and the box is full. */
static bool put(struct box *box, struct jzx__worker *me) {
    struct item *item = malloc(sizeof *item);
    struct jzx__wake wake;
    item->number = jzx__atomic_add_relaxed(&s.put, 1u);
    item->body = body_of(item->number);
    jzx__lock_acquire(&box->lock);
    struct jzx__wait_link *link = jzx__source_claim(&box->source, JZX__CAUSE_ITEM, &wake);
    bool is_full = link == NULL && box->count == BOX_CAPACITY;
    if (link != NULL)
        *(struct item **)link->slot = item;
    else if (!is_full)
        box->items[box->count++] = item;
    jzx__lock_release(&box->lock);
    jzx__wake_make(&wake, me);
    if (is_full) {
        jzx__atomic_add_relaxed(&s.put, (uint64_t)-1);
        free(item);
    }
    return !is_full;
}

/* ---- waiting ---- */

/* Joins some boxes, beginning with any. */
static void join(struct jzx__waiter *waiter, struct jzx__wait_link *links, struct item **slots,
                 struct jzx__rng *rng, struct jzx__worker *me) {
    uint32_t count = 1 + jzx__rng_below(rng, BOXES);
    uint32_t first = jzx__rng_below(rng, BOXES);
    jzx__waiter_begin(waiter, (struct jzx__wait_what){"boxes", count, first});
    for (uint32_t i = 0; i < count; i++) {
        slots[i] = NULL;
        links[i] = (struct jzx__wait_link){
            .source = &s.boxes[(first + i) % BOXES].source, .slot = &slots[i], .index = i};
    }
    jzx__waiter_join(waiter, links, count, me);
}

static void end(struct party *party, struct jzx__waiter *waiter, struct item **slots) {
    uint32_t joined = waiter->joined;
    uint32_t cause = jzx__waiter_end(waiter);
    bool has_item = jzx__cause_kind(cause) == JZX__CAUSE_ITEM;
    for (uint32_t i = 0; i < joined; i++)
        JZX_EXPECT((slots[i] != NULL) == (has_item && jzx__cause_index(cause) == i));
    if (has_item) {
        struct item *item = slots[jzx__cause_index(cause)];
        JZX_EXPECT_EQ(item->body, body_of(item->number));
        free(item);
        party->got++;
    }
    party->ended[jzx__cause_kind(cause)]++;
    party->waits_left--;
}

/* ---- threads that wait: every second time with all of it in a frame ---- */

static void block(struct party *party, struct jzx__waiter *waiter) {
    struct jzx__wait_link links[BOXES];
    struct item *slots[BOXES];
    uint64_t deadline_ns = JZX_NEVER;
    if (jzx__rng_below(&party->rng, 2) == 0)
        deadline_ns = jzx__clock_now(&s.clock) + jzx__rng_below(&party->rng, SHORT_NS);
    join(waiter, links, slots, &party->rng, NULL);
    if (jzx__waiter_arm(waiter) == JZX__ARM_SUSPEND)
        jzx__waiter_block(waiter, &s.clock, deadline_ns);
    end(party, waiter, slots);
}

static void *wait_on_thread(void *arg) {
    struct party *party = arg;
    while (party->waits_left != 0) {
        struct jzx__waiter waiter;
        jzx__waiter_init_thread(&waiter);
        block(party, party->waits_left % 2 == 0 ? &waiter : &party->waiter);
    }
    return NULL;
}

/* ---- tasks that wait ---- */

static void wake_nobody(void *who, struct jzx__worker *me) {
    (void)who;
    (void)me;
}

/* Waits again and again, until it has to suspend or has waited often enough. */
static void run_party(struct party *party, struct jzx__worker *me) {
    if (party->is_waiting && jzx__waiter_cause(&party->waiter) == 0)
        return; /* a wake that came late */
    for (;;) {
        if (party->is_waiting)
            end(party, &party->waiter, party->slots);
        party->is_waiting = party->waits_left != 0;
        if (!party->is_waiting)
            return;
        join(&party->waiter, party->links, party->slots, &party->rng, me);
        if (jzx__waiter_arm(&party->waiter) == JZX__ARM_CLAIMED)
            continue;
        if (jzx__rng_below(&party->rng, 8) != 0)
            return;
        (void)jzx__waiter_withdraw(&party->waiter, JZX__CAUSE_KILLED);
    }
}

/* One that is awake may have something for the others of its worker. */
static void run_task(struct jzx__task *task) {
    struct party *party = &s.parties[task - rig.tasks];
    bool was_done = party->waits_left == 0;
    run_party(party, rig_worker());
    if (jzx__rng_below(&party->rng, 4) == 0)
        put(&s.boxes[jzx__rng_below(&party->rng, BOXES)], rig_worker());
    s.done += !was_done && party->waits_left == 0;
}

static void drive_tasks(void) {
    struct jzx__worker *me = rig_worker();
    for (uint32_t i = 0; i < PARTIES; i++)
        jzx__worker_ready(me, &rig.tasks[i]);
    while (s.done < PARTIES) {
        rig.turns = 0;
        jzx__worker_drain_inject(me, UINT32_MAX);
        if (*rig_run(64) == '\0' && !jzx__worker_has_work(me))
            jzx__worker_idle(me);
    }
}

/* ---- actors that wait: their wakes are messages ---- */

static void wake_actor(void *who, struct jzx__worker *me) {
    struct party *party = who;
    (void)me;
    jzx_err err = jzx_send_async(s.loop, party->id, NULL, 0, LOOK);
    JZX_EXPECT(err == JZX_OK || err == JZX_ERR_NO_SUCH_ACTOR || err == JZX_ERR_LOOP_CLOSED);
}

static jzx_behavior_result wait_as_actor(jzx_context *ctx, const jzx_message *msg) {
    struct party *party = ctx->state;
    struct jzx__visit visit;
    (void)msg;
    struct jzx__worker *me = jzx__visit_begin(&visit); /* A9 */
    run_party(party, me);
    if (jzx__rng_below(&party->rng, 4) == 0)
        put(&s.boxes[jzx__rng_below(&party->rng, BOXES)], me);
    jzx__visit_end(&visit);
    return party->waits_left == 0 ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

/* ---- those who put and cancel ---- */

static void *put_and_cancel(void *arg) {
    struct jzx__rng rng;
    jzx__rng_init(&rng, (uint64_t)(uintptr_t)arg);
    /* relaxed: it ends the thread, nothing else */
    while (!jzx__atomic_load_relaxed(&s.is_over)) {
        struct jzx__waiter *waiter = &s.parties[jzx__rng_below(&rng, PARTIES)].waiter;
        struct jzx__wait_what what;
        if (!put(&s.boxes[jzx__rng_below(&rng, BOXES)], NULL))
            sched_yield();
        if (jzx__rng_below(&rng, 8) == 0) /* this wait, or one that has just ended */
            jzx__waiter_cancel(waiter, jzx__waiter_epoch(waiter), JZX__CAUSE_CANCELLED, NULL);
        if (jzx__waiter_glance(waiter, &what))
            JZX_EXPECT(what.object - 1 < BOXES && what.since_ns < BOXES);
    }
    return NULL;
}

/* ---- the tests ---- */

static void open_boxes(jzx__wake_fn *wake, uint64_t waits) {
    static const struct jzx__source_ops ops = {.look = look, .take = take};
    memset(&s, 0, sizeof s);
    jzx__clock_init_monotonic(&s.clock);
    for (uint32_t i = 0; i < BOXES; i++) {
        jzx__lock_init(&s.boxes[i].lock);
        jzx__source_init(&s.boxes[i].source, &s.boxes[i].lock, &ops);
    }
    for (uint32_t i = 0; i < PARTIES; i++) {
        struct party *party = &s.parties[i];
        jzx__rng_init(&party->rng, i + 1);
        party->waits_left = waits;
        jzx__waiter_init(&party->waiter, wake, party);
    }
}

static void start_putters(pthread_t *putters) {
    for (uintptr_t i = 0; i < PUTTERS; i++)
        assert_int_equal(pthread_create(&putters[i], NULL, put_and_cancel, (void *)(100 + i)), 0);
}

/* Items are where they were put, or were taken, once each. */
static void stop_putters_and_count(const pthread_t *putters) {
    uint64_t there = 0;
    uint64_t ended[JZX__CAUSE_KILLED + 1] = {0};
    /* relaxed: it ends the threads, nothing else */
    jzx__atomic_store_relaxed(&s.is_over, true);
    for (uint32_t i = 0; i < PUTTERS; i++)
        assert_int_equal(pthread_join(putters[i], NULL), 0);
    for (uint32_t i = 0; i < PARTIES; i++) {
        there += s.parties[i].got;
        for (uint32_t k = 0; k <= JZX__CAUSE_KILLED; k++)
            ended[k] += s.parties[i].ended[k];
    }
    for (uint32_t i = 0; i < BOXES; i++) {
        there += s.boxes[i].count;
        while (s.boxes[i].count != 0)
            free(s.boxes[i].items[--s.boxes[i].count]);
        jzx__source_deinit(&s.boxes[i].source);
        jzx__lock_deinit(&s.boxes[i].lock);
    }
    /* relaxed: all threads have ended */
    JZX_EXPECT_EQ(there, jzx__atomic_load_relaxed(&s.put));
    JZX_EXPECT_EQ(ended[JZX__CAUSE_NONE] + ended[JZX__CAUSE_CLOSED] + ended[JZX__CAUSE_AGAIN], 0);
    JZX_EXPECT(ended[JZX__CAUSE_ITEM] != 0);
}

JZX_TEST(threads_that_block_get_each_item_once_or_time_out) {
    pthread_t putters[PUTTERS];
    pthread_t threads[PARTIES];
    open_boxes(wake_nobody, jzx_test_rounds(1500, 100000));
    for (uint32_t i = 0; i < PARTIES; i++)
        jzx__waiter_init_thread(&s.parties[i].waiter);
    start_putters(putters);
    for (uint32_t i = 0; i < PARTIES; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, wait_on_thread, &s.parties[i]), 0);
    for (uint32_t i = 0; i < PARTIES; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    stop_putters_and_count(putters);
}

JZX_TEST(tasks_are_woken_by_their_own_worker_and_by_other_threads) {
    pthread_t putters[PUTTERS];
    open_boxes(jzx__wake_task, jzx_test_rounds(5000, 300000));
    rig_open();
    rig.on_turn = run_task;
    for (uint32_t i = 0; i < PARTIES; i++)
        jzx__waiter_init(&s.parties[i].waiter, jzx__wake_task, &rig.tasks[i]);
    start_putters(putters);
    drive_tasks();
    stop_putters_and_count(putters);
    rig_close();
}

JZX_TEST(actors_that_move_are_woken_by_messages) {
    pthread_t putters[PUTTERS];
    open_boxes(wake_actor, jzx_test_rounds(2000, 100000));
    s.loop = fixture_loop_with(&JZX_CONFIG(.workers = 3, .balance = JZX_BALANCE_EAGER));
    s.loop->sched.restless = true;
    /* relaxed: sends every spawn the long way, where it is made restless */
    jzx__atomic_store_relaxed(&s.loop->observer.is_set, 1u);
    for (uint32_t i = 0; i < PARTIES; i++) {
        s.parties[i].id = fixture_spawn(
            s.loop, &JZX_SPAWN_OPTS(.behavior = wait_as_actor, .state = &s.parties[i]));
        fixture_send(s.loop, s.parties[i].id, START);
    }
    start_putters(putters);
    assert_int_equal(jzx_loop_run(s.loop), JZX_OK);
    stop_putters_and_count(putters);
    fixture_destroy(s.loop);
}
