/* SPDX-License-Identifier: MIT */
/* Listeners of supervisors on several workers: storms of failures, and a listener on another worker
 * that is slow, has room for one message, or ends in the middle. One that lives hears of every end
 * once, and of a restart after the end of its predecessor. */
#include "fixture.h"

#include <jzx/supervisor.h>
#include <jzx/timer.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define LEAVES 8u
#define BRANCHES 4u
#define FOREIGN 2u
#define BOOK_SIZE 65536u /* a power of two, much more than there are incarnations */

enum { HIT = 1, END };

/* What the listener knows of an id. */
struct entry {
    jzx_actor_id id;
    bool has_ended;
    bool was_started; /* by a restart */
};

struct storm {
    jzx_loop *loop;
    jzx_actor_id root;
    jzx_actor_id listener;
    uint64_t seed;
    uint32_t rounds; /* it is over when so many have ended */
    bool ends_early; /* the listener */
    bool is_slow;
    atomic_uint ended;    /* actors, by the observer */
    atomic_uint restarts; /* told */
    uint32_t exits;       /* told; the listener's, as what follows */
    bool is_done;         /* it has heard of the end of the root */
    struct entry book[BOOK_SIZE];
};

static struct storm *storm;

static uint64_t mix(uint64_t *state) {
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* ---- the listener ---- */

static struct entry *entry_of(jzx_actor_id id) {
    uint64_t at = id;
    for (at = mix(&at);; at++) {
        struct entry *entry = &storm->book[at % BOOK_SIZE];
        if (entry->id == JZX_NOBODY)
            entry->id = id;
        if (entry->id == id)
            return entry;
    }
}

static void hear_exit(const jzx_child_event *event) {
    struct entry *entry = entry_of(event->child);
    JZX_EXPECT(!entry->has_ended);
    entry->has_ended = true;
    storm->exits++;
    JZX_EXPECT(event->state >= JZX_CHILD_WAITING && event->state <= JZX_CHILD_FAILED);
}

static void hear_restart(const jzx_child_event *event) {
    struct entry *entry = entry_of(event->child);
    JZX_EXPECT(entry_of(event->before)->has_ended);
    JZX_EXPECT(!entry->has_ended && !entry->was_started);
    entry->was_started = true;
    atomic_fetch_add(&storm->restarts, 1);
    JZX_EXPECT_EQ(event->state, JZX_CHILD_RUNNING);
}

static jzx_err watch_root(jzx_context *ctx) {
    return storm->ends_early ? JZX_OK : jzx_monitor(ctx, storm->root, NULL);
}

static jzx_behavior_result listen_slowly(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    (void)ctx;
    switch (msg->tag) {
    case JZX_TAG_CHILD_EXIT: hear_exit(msg->data); break;
    case JZX_TAG_CHILD_RESTART: hear_restart(msg->data); break;
    case JZX_TAG_DOWN: storm->is_done = true; return JZX_BEHAVIOR_STOP;
    case END: return storm->seed % 2 ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_FAIL;
    default: break;
    }
    for (uint32_t i = 0; storm->is_slow && i < 4; i++)
        sched_yield();
    return JZX_BEHAVIOR_OK;
}

/* ---- the children ---- */

static jzx_err leaf_init(jzx_context *ctx) {
    uint64_t random = ctx->self;
    return mix(&random) % 8 == 0 && jzx_id_generation(ctx->self) > 1 ? JZX_ERR_UNKNOWN : JZX_OK;
}

static jzx_behavior_result leaf(jzx_context *ctx, const jzx_message *msg) {
    uint64_t random = ctx->self ^ (uint64_t)msg->len << 20;
    switch (mix(&random) % 4) {
    case 0: return JZX_BEHAVIOR_FAIL;
    case 1: return JZX_BEHAVIOR_STOP;
    case 2: jzx_exit(ctx, JZX_EXIT_FAIL, "hit");
    default: break;
    }
    return JZX_BEHAVIOR_OK;
}

static void count_end(void *ctx, jzx_actor_id id, jzx_exit_reason reason) {
    (void)ctx;
    (void)reason;
    if (id != storm->root && id != storm->listener)
        atomic_fetch_add(&storm->ended, 1);
}

/* ---- what the foreign threads do ---- */

static void order_about(jzx_actor_id branch, uint64_t *random) {
    char name[8];
    snprintf(name, sizeof name, "l%u", (unsigned)(mix(random) % LEAVES));
    if (mix(random) % 4 == 0)
        (void)jzx_supervisor_stop_child(storm->loop, branch, name);
    else
        (void)jzx_supervisor_restart(storm->loop, branch, name);
}

static bool root_lives(void) {
    jzx_supervisor_info family = {.size = sizeof family};
    return JZX_EXPECT_EQ(jzx_supervisor_info_get(storm->loop, storm->root, &family), JZX_OK);
}

/* Not before a restart was told, to a listener that stays. */
static bool is_over(void) {
    return atomic_load(&storm->ended) >= storm->rounds &&
           (storm->ends_early || atomic_load(&storm->restarts) > 0);
}

static void *rage(void *arg) {
    uint64_t random = storm->seed * 31 + (uint64_t)(uintptr_t)arg;
    for (uint32_t i = 0; !is_over() && root_lives(); i++) {
        jzx_actor_id branch = JZX_NOBODY;
        jzx_actor_id id = JZX_NOBODY;
        (void)jzx_supervisor_child_id(storm->loop, storm->root, mix(&random) % BRANCHES, &branch);
        (void)jzx_supervisor_child_id(storm->loop, branch, mix(&random) % LEAVES, &id);
        switch (mix(&random) % 8) {
        case 0: (void)jzx_actor_stop(storm->loop, id, JZX_STOP_KILL); break;
        case 1: (void)jzx_actor_fail(storm->loop, mix(&random) % 16 ? id : branch); break;
        case 2: order_about(branch, &random); break;
        default: (void)jzx_send(storm->loop, id, JZX_NOBODY, "0123456789", i % 10, HIT); break;
        }
        if (storm->ends_early && atomic_load(&storm->ended) > storm->rounds / 2)
            (void)jzx_send(storm->loop, storm->listener, JZX_NOBODY, NULL, 0, END);
        sched_yield();
    }
    return NULL;
}

static void *end_it(void *arg) {
    pthread_t threads[FOREIGN];
    jzx_supervisor_info family = {.size = sizeof family};
    (void)arg;
    while (jzx_supervisor_info_get(storm->loop, storm->root, &family) == JZX_OK &&
           family.running < BRANCHES)
        sched_yield();
    for (uint32_t i = 0; i < FOREIGN; i++)
        JZX_EXPECT_EQ(pthread_create(&threads[i], NULL, rage, (void *)(uintptr_t)(i + 1)), 0);
    for (uint32_t i = 0; i < FOREIGN; i++)
        JZX_EXPECT_EQ(pthread_join(threads[i], NULL), 0);
    /* The storm may have been over before a thread looked: nobody else ends this listener then. A
     * mailbox that is full has an END already. */
    if (storm->ends_early)
        (void)jzx_send(storm->loop, storm->listener, JZX_NOBODY, NULL, 0, END);
    jzx_actor_stop(storm->loop, storm->root, JZX_STOP_AFTER_MESSAGE);
    return NULL;
}

/* ---- the storm ---- */

/* The listener is made first, and begins when the loop runs: then the root is there. */
static void plant(uint32_t workers) {
    static char names[LEAVES][8];
    jzx_child_spec leaves[LEAVES];
    jzx_supervisor_opts branches[BRANCHES];
    jzx_child_spec specs[BRANCHES];
    storm->listener = fixture_spawn(
        storm->loop, &JZX_SPAWN_OPTS(.behavior = listen_slowly, .init = watch_root,
                                     .mailbox_cap = 1, .place = jzx_place_worker(workers - 1)));
    for (uint32_t i = 0; i < LEAVES; i++) {
        snprintf(names[i], sizeof names[i], "l%u", i);
        leaves[i] = (jzx_child_spec){.name = names[i],
                                     .behavior = leaf,
                                     .init = i % 3 ? leaf_init : NULL,
                                     .mode = i % 5 ? JZX_PERMANENT : JZX_TRANSIENT,
                                     .service = i % 2 == 0,
                                     .backoff.initial_delay_ns = i % 2 == 0 ? JZX_MS(1) : 0,
                                     .backoff.max_delay_ns = i % 2 == 0 ? JZX_MS(3) : 0};
    }
    for (uint32_t i = 0; i < BRANCHES; i++) {
        branches[i] = JZX_SUPERVISOR_OPTS(.strategy = (jzx_strategy)(i % 4),
                                          .intensity = JZX_UNLIMITED, JZX_CHILDREN(leaves));
        specs[i] = (jzx_child_spec){.supervisor = &branches[i]};
    }
    JZX_EXPECT_EQ(
        jzx_spawn_supervisor(storm->loop,
                             &JZX_SUPERVISOR_OPTS(.intensity = JZX_UNLIMITED,
                                                  .listener = storm->listener, JZX_CHILDREN(specs)),
                             &storm->root),
        JZX_OK);
}

static void weather(uint32_t workers, bool ends_early, bool is_slow) {
    static struct storm here;
    pthread_t thread;
    memset(&here, 0, sizeof here);
    here.seed = workers * 4 + ends_early * 2 + is_slow;
    here.rounds = (uint32_t)jzx_test_rounds(400, 4000);
    here.ends_early = ends_early;
    here.is_slow = is_slow;
    storm = &here;
    here.loop = fixture_loop_with(&JZX_CONFIG(.workers = workers));
    assert_non_null(here.loop);
    JZX_EXPECT_EQ(jzx_loop_set_observer(here.loop, &JZX_OBSERVER(.on_actor_stop = count_end), NULL),
                  JZX_OK);
    plant(workers);
    assert_int_equal(jzx_loop_hold(here.loop), JZX_OK);
    assert_int_equal(pthread_create(&thread, NULL, end_it, NULL), 0);
    assert_int_equal(jzx_loop_release(here.loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_run(here.loop), JZX_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    if (!ends_early) {
        JZX_EXPECT(here.is_done);
        JZX_EXPECT_EQ(here.exits, atomic_load(&here.ended));
        JZX_EXPECT(atomic_load(&here.restarts) <= here.exits);
    } else {
        JZX_EXPECT(here.exits <= atomic_load(&here.ended));
    }
    jzx_stats stats = fixture_stats(here.loop);
    JZX_EXPECT_EQ(stats.spawned, stats.exited);
    JZX_EXPECT_EQ(stats.accepted, stats.handled + stats.dead);
    fixture_destroy(here.loop);
    JZX_EXPECT_EQ(fixture_bytes(), 0);
}

JZX_TEST(every_end_is_told_once_across_workers, "C+inv", "C+sys", "X15") {
    for (uint32_t workers = 1; workers <= 4; workers++) {
        weather(workers, false, false);
        weather(workers, false, true);
    }
}

JZX_TEST(a_listener_that_ends_in_the_middle_of_a_storm_leaves_nothing, "C+sys", "X14") {
    for (uint32_t workers = 1; workers <= 4; workers++) {
        weather(workers, true, false);
        weather(workers, true, true);
    }
    JZX_EXPECT(jzx_test_runs() != 0);
}
