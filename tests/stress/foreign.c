/* SPDX-License-Identifier: MIT */
/* Many threads at one loop: nothing is lost, nothing comes twice, the order of each sender holds,
 * and slots are reused under late senders. Made for ThreadSanitizer. */
#include "fixture.h"

#include <pthread.h>
#include <sched.h>

#define SENDERS 4
#define RECEIVERS 8

/* ---- order and exactly-once ---- */

struct payload {
    uint32_t sender;
    uint32_t number;
};

struct receiver {
    uint32_t next[SENDERS]; /* number expected from each sender */
    uint64_t count;
};

struct world {
    jzx_loop *loop;
    jzx_actor_id ids[RECEIVERS];
    struct receiver receivers[RECEIVERS];
    uint32_t per_receiver; /* messages of each sender to each receiver */
};

static struct world world;

static jzx_behavior_result check_order(jzx_context *ctx, const jzx_message *msg) {
    struct receiver *self = ctx->state;
    const struct payload *payload = msg->data;
    JZX_EXPECT_EQ(payload->number, self->next[payload->sender]);
    self->next[payload->sender] = payload->number + 1;
    self->count++;
    return self->count == (uint64_t)SENDERS * world.per_receiver ? JZX_BEHAVIOR_STOP
                                                                 : JZX_BEHAVIOR_OK;
}

static void *send_in_order(void *arg) {
    uint32_t me = (uint32_t)(uintptr_t)arg;
    for (uint32_t n = 0; n < world.per_receiver; n++) {
        for (int r = 0; r < RECEIVERS; r++) {
            struct payload payload = {me, n};
            jzx_err err;
            while ((err = jzx_send_async(world.loop, world.ids[r], &payload, sizeof payload, 1)) ==
                   JZX_ERR_MAILBOX_FULL)
                sched_yield();
            JZX_EXPECT_EQ(err, JZX_OK);
        }
    }
    return NULL;
}

static void order_holds(uint32_t cap, uint32_t per_receiver) {
    world = (struct world){.loop = fixture_loop(), .per_receiver = per_receiver};
    for (int r = 0; r < RECEIVERS; r++)
        world.ids[r] = fixture_spawn(world.loop, &JZX_SPAWN_OPTS(.behavior = check_order,
                                                                 .state = &world.receivers[r],
                                                                 .mailbox_cap = cap));
    pthread_t threads[SENDERS];
    for (uintptr_t i = 0; i < SENDERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, send_in_order, (void *)i), 0);
    assert_int_equal(jzx_loop_run(world.loop), JZX_OK);
    for (int i = 0; i < SENDERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    jzx_stats stats = fixture_stats(world.loop);
    assert_int_equal(stats.handled, (uint64_t)SENDERS * RECEIVERS * per_receiver);
    assert_int_equal(stats.dead, 0);
    fixture_destroy(world.loop);
}

JZX_TEST(each_message_arrives_once_and_in_its_senders_order, "C8", "X16", "C+inv", "X14") {
    order_holds(1024, (uint32_t)jzx_test_rounds(2000, 100000));
}

JZX_TEST(order_holds_while_mailboxes_are_always_full, "C8", "C11", "X16", "C+inv") {
    order_holds(2, (uint32_t)jzx_test_rounds(500, 20000));
}

/* ---- the bound under a flood ---- */

struct bound {
    jzx_loop *loop;
    jzx_actor_id id;
    uint32_t sends;
    pthread_mutex_t lock;
    uint64_t accepted;
    uint64_t full;
    uint64_t fulls_seen; /* by the observer, on the loop's thread */
};

static struct bound bound = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void see_full(void *ctx, const jzx_event *event) {
    (void)ctx;
    if (event->kind == JZX_EVENT_MAILBOX_FULL)
        bound.fulls_seen += event->count;
}

static void *flood(void *arg) {
    uint64_t accepted = 0;
    uint64_t full = 0;
    (void)arg;
    for (uint32_t i = 0; i < bound.sends; i++) {
        jzx_err err = jzx_send_async(bound.loop, bound.id, NULL, 0, 1);
        accepted += err == JZX_OK;
        full += err == JZX_ERR_MAILBOX_FULL;
    }
    pthread_mutex_lock(&bound.lock);
    bound.accepted += accepted;
    bound.full += full;
    pthread_mutex_unlock(&bound.lock);
    jzx_loop_release(bound.loop);
    return NULL;
}

static jzx_behavior_result check_depth(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    jzx_actor_info info = {.size = sizeof info};
    (void)msg;
    JZX_EXPECT_EQ(jzx_actor_info_get(ctx->loop, ctx->self, &info), JZX_OK);
    JZX_EXPECT(info.depth <= 2 * info.mailbox_cap);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_flood_is_bounded_and_every_refusal_is_counted_and_seen, "C11", "X14", "C15", "C+tool") {
    bound.loop = fixture_loop();
    bound.sends = (uint32_t)jzx_test_rounds(5000, 200000);
    jzx_observer observer = {.size = sizeof observer, .on_event = see_full};
    assert_int_equal(jzx_loop_set_observer(bound.loop, &observer, NULL), JZX_OK);
    bound.id = fixture_spawn(
        bound.loop, &JZX_SPAWN_OPTS(.behavior = check_depth, .mailbox_cap = 8, .daemon = true));
    pthread_t threads[SENDERS];
    for (int i = 0; i < SENDERS; i++) {
        assert_int_equal(jzx_loop_hold(bound.loop), JZX_OK);
        assert_int_equal(pthread_create(&threads[i], NULL, flood, NULL), 0);
    }
    assert_int_equal(jzx_loop_run(bound.loop), JZX_OK);
    for (int i = 0; i < SENDERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(jzx_loop_step(bound.loop, JZX_NEVER), JZX_OK); /* the rest */
    jzx_stats stats = fixture_stats(bound.loop);
    assert_int_equal(bound.accepted + bound.full, (uint64_t)SENDERS * bound.sends);
    assert_int_equal(stats.accepted, bound.accepted);
    assert_int_equal(stats.refused_full, bound.full);
    assert_int_equal(bound.fulls_seen, bound.full);
    assert_int_equal(stats.handled, bound.accepted);
    assert_int_equal(jzx_test_runs(), bound.accepted);
    fixture_destroy(bound.loop);
}

/* ---- slots that are reused under late senders ---- */

#define SLOTS 4

struct churn {
    jzx_loop *loop;
    pthread_mutex_t lock;
    jzx_actor_id ids[SLOTS]; /* what the spawner made last: soon stale */
    uint64_t accepted;
    uint32_t rounds;
    bool done;
};

static struct churn churn = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Each message carries the id it was sent to: none may reach another actor. */
static jzx_behavior_result check_id(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    jzx_actor_id meant;
    if (JZX_EXPECT_EQ(msg->len, sizeof meant)) {
        meant = *(const jzx_actor_id *)msg->data;
        JZX_EXPECT_EQ(meant, ctx->self);
    }
    return msg->tag % 3 == 0 ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

static jzx_behavior_result ignore_room(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    return msg->tag == JZX_TAG_ROOM ? JZX_BEHAVIOR_OK : check_id(ctx, msg);
}

static void *send_late(void *arg) {
    uint32_t seed = (uint32_t)(uintptr_t)arg + 1;
    uint64_t accepted = 0;
    bool done = false;
    while (!done) {
        seed = seed * 1664525u + 1013904223u;
        pthread_mutex_lock(&churn.lock);
        jzx_actor_id id = churn.ids[(seed >> 8) % SLOTS];
        done = churn.done;
        pthread_mutex_unlock(&churn.lock);
        jzx_err err = JZX_OK;
        for (int i = 0; i < 3; i++) { /* the first may end it: the others come late */
            err = jzx_send_async(churn.loop, id, &id, sizeof id, seed >> 16);
            accepted += err == JZX_OK;
            JZX_EXPECT(err == JZX_OK || err == JZX_ERR_NO_SUCH_ACTOR ||
                       err == JZX_ERR_MAILBOX_FULL || err == JZX_ERR_LOOP_CLOSED);
        }
        if ((seed >> 20) % 8 == 0)
            jzx_actor_stop(churn.loop, id, (jzx_stop_kind)((seed >> 24) % 3));
        if ((seed >> 20) % 8 == 1)
            jzx_send_when_room(churn.loop, id, id);
        if (err == JZX_ERR_NO_SUCH_ACTOR)
            sched_yield(); /* there is a slot for the thread that spawns */
    }
    pthread_mutex_lock(&churn.lock);
    churn.accepted += accepted;
    pthread_mutex_unlock(&churn.lock);
    return NULL;
}

static void *spawn_again_and_again(void *arg) {
    (void)arg;
    for (uint32_t round = 0; round < churn.rounds;) {
        jzx_actor_id id;
        jzx_err err =
            jzx_spawn(churn.loop, &JZX_SPAWN_OPTS(.behavior = ignore_room, .name = "churn"), &id);
        if (err == JZX_ERR_MAX_ACTORS) {
            sched_yield();
            continue;
        }
        JZX_EXPECT_EQ(err, JZX_OK);
        pthread_mutex_lock(&churn.lock);
        churn.ids[round % SLOTS] = id;
        churn.done = ++round == churn.rounds;
        pthread_mutex_unlock(&churn.lock);
    }
    jzx_loop_request_stop(churn.loop);
    return NULL;
}

JZX_TEST(a_late_sender_never_reaches_the_next_actor_of_a_slot, "C6", "X16", "X14", "C+inv") {
    churn.loop = fixture_loop_with(&JZX_CONFIG(.max_actors = SLOTS));
    churn.rounds = (uint32_t)jzx_test_rounds(800, 20000);
    assert_int_equal(jzx_loop_hold(churn.loop), JZX_OK); /* at times nobody lives; stop ends it */
    for (int i = 0; i < SLOTS; i++)
        churn.ids[i] = fixture_spawn(churn.loop, &JZX_SPAWN_OPTS(.behavior = ignore_room));
    pthread_t senders[SENDERS];
    pthread_t spawner;
    for (uintptr_t i = 0; i < SENDERS; i++)
        assert_int_equal(pthread_create(&senders[i], NULL, send_late, (void *)i), 0);
    assert_int_equal(pthread_create(&spawner, NULL, spawn_again_and_again, NULL), 0);
    assert_int_equal(jzx_loop_run(churn.loop), JZX_OK);
    for (int i = 0; i < SENDERS; i++)
        assert_int_equal(pthread_join(senders[i], NULL), 0);
    assert_int_equal(pthread_join(spawner, NULL), 0);
    jzx_stats stats = fixture_stats(churn.loop);
    assert_true(stats.accepted >= churn.accepted); /* and the answers of when_room */
    assert_int_equal(jzx_test_runs() == 0, stats.handled == 0);
    assert_int_equal(jzx_loop_destroy(churn.loop), JZX_OK); /* asserts that the books balance */
}

/* ---- requests ---- */

struct victims {
    jzx_loop *loop;
    uint32_t count;
};

static jzx_behavior_result ignore(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    (void)ctx;
    (void)msg;
    return JZX_BEHAVIOR_OK;
}

/* A message and then the end: the request often meets the actor on its way to idle. */
static void *send_and_kill(void *arg) {
    struct victims *victims = arg;
    for (uint32_t i = 0; i < victims->count; i++) {
        jzx_actor_id id;
        JZX_EXPECT_EQ(jzx_spawn(victims->loop, &JZX_SPAWN_OPTS(.behavior = ignore), &id), JZX_OK);
        for (uint32_t sends = 0; sends <= i % 3; sends++)
            JZX_EXPECT_EQ(jzx_send_async(victims->loop, id, NULL, 0, 1), JZX_OK);
        for (volatile uint32_t spin = 0; spin < i % 50 * 40; spin++) {
        } /* a yield would be milliseconds on a busy machine */
        JZX_EXPECT_EQ(jzx_actor_stop(victims->loop, id, (jzx_stop_kind)(i % 3)), JZX_OK);
    }
    JZX_EXPECT_EQ(jzx_loop_release(victims->loop), JZX_OK);
    return NULL;
}

JZX_TEST(a_request_to_end_is_never_lost, "X16", "C27") {
    struct victims victims = {.loop = fixture_loop(),
                              .count = (uint32_t)jzx_test_rounds(3000, 20000)};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(jzx_loop_hold(victims.loop), JZX_OK);
        assert_int_equal(pthread_create(&threads[i], NULL, send_and_kill, &victims), 0);
    }
    assert_int_equal(jzx_loop_run(victims.loop), JZX_OK); /* returns only if every one ended */
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(fixture_stats(victims.loop).exited, 2 * victims.count);
    assert_int_equal(jzx_test_runs(), fixture_stats(victims.loop).handled);
    fixture_destroy(victims.loop);
}

/* ---- starting and stopping, again and again ---- */

static void *stop_soon(void *arg) {
    jzx_loop *loop = arg;
    jzx_actor_id id = JZX_NOBODY;
    if (jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = check_id), &id) == JZX_OK)
        jzx_send_async(loop, id, &id, sizeof id, 1);
    jzx_loop_request_stop(loop);
    jzx_send_async(loop, id, &id, sizeof id, 1);
    return NULL;
}

static uint64_t handle_one(void) {
    jzx_loop *loop = fixture_loop();
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = check_id));
    JZX_EXPECT_EQ(jzx_send(loop, id, JZX_NOBODY, &id, sizeof id, 1), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    fixture_destroy(loop);
    return 1;
}

JZX_TEST(a_stop_may_come_at_any_moment, "X16", "C+loop", "X14") {
    uint64_t handled = 0;
    uint64_t rounds = jzx_test_rounds(300, 10000);
    for (uint64_t i = 0; i < rounds; i++) {
        jzx_loop *loop = fixture_loop();
        pthread_t threads[2];
        assert_int_equal(jzx_loop_hold(loop), JZX_OK);
        for (int t = 0; t < 2; t++)
            assert_int_equal(pthread_create(&threads[t], NULL, stop_soon, loop), 0);
        assert_int_equal(jzx_loop_run(loop), JZX_OK);
        for (int t = 0; t < 2; t++)
            assert_int_equal(pthread_join(threads[t], NULL), 0);
        handled += fixture_stats(loop).handled;
        fixture_destroy(loop);
    }
    handled += handle_one(); /* each stop may have come first */
    JZX_EXPECT_EQ(jzx_test_runs(), handled);
}

/* ---- a driver that changes how it sleeps ---- */

struct restless {
    jzx_loop *loop;
    pthread_mutex_t lock;
    uint32_t round; /* that the driver has begun */
    uint32_t called;
    uint32_t rounds;
};

static struct restless restless = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint32_t read_restless(const uint32_t *field) {
    pthread_mutex_lock(&restless.lock);
    uint32_t value = *field;
    pthread_mutex_unlock(&restless.lock);
    return value;
}

static void note_call(jzx_loop *loop, void *ctx) {
    (void)loop;
    (void)ctx;
    pthread_mutex_lock(&restless.lock);
    restless.called++;
    pthread_mutex_unlock(&restless.lock);
}

static void *call_and_release(void *arg) {
    (void)arg;
    for (uint32_t i = 1; i <= restless.rounds; i++) {
        while (read_restless(&restless.round) < i)
            sched_yield();
        JZX_EXPECT_EQ(jzx_loop_call(restless.loop, note_call, NULL), JZX_OK);
        while (read_restless(&restless.called) < i)
            sched_yield();
        JZX_EXPECT_EQ(jzx_loop_release(restless.loop), JZX_OK);
    }
    return NULL;
}

/* step announces that a host sleeps on the descriptor, run then sleeps on the futex: a waker that
 * saw the one must not take away the other. A wake that got lost would hang here. */
JZX_TEST(no_wake_is_lost_between_step_and_run, "X16", "C+loop") {
    restless.loop = fixture_loop();
    restless.rounds = (uint32_t)jzx_test_rounds(5000, 100000);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, call_and_release, NULL), 0);
    for (uint32_t i = 1; i <= restless.rounds; i++) {
        assert_int_equal(jzx_loop_hold(restless.loop), JZX_OK);
        pthread_mutex_lock(&restless.lock);
        restless.round = i;
        pthread_mutex_unlock(&restless.lock);
        assert_int_equal(jzx_loop_step(restless.loop, 0), JZX_OK);
        assert_int_equal(jzx_loop_run(restless.loop), JZX_OK); /* until the release */
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    fixture_destroy(restless.loop);
}
