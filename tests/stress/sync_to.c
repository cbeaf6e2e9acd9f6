/* SPDX-License-Identifier: MIT */
/* Operations on real threads: behaviours of several workers wait by message for a mutex, permits
 * and values, beside fibers and threads that wait in their own ways. Operations are cancelled and
 * behaviours killed by others, at any moment. No lock is had twice, no permit and no value is lost
 * or made. */
#include "fixture.h"

#include <jzx/fiber.h>
#include <jzx/observe.h>
#include <jzx/sync.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#define SLOTS 8u
#define FIBERS 2u
#define PERMITS 3u
#define VISITS 30u /* results of one life */

enum { START = 1, LOCKED, ACQUIRED, VALUE, CHOSEN };

JZX_CHANNEL(number, uint64_t)

struct slot {
    _Atomic jzx_actor_id id;
    _Atomic jzx_op op; /* the last one that was begun */
    uint64_t random;
    uint32_t left;
    uint64_t chosen; /* by a select; in the memory of the slot, which outlives its actors */
};

static struct {
    jzx_loop *loop;
    jzx_mutex mutex;
    jzx_semaphore semaphore;
    number_channel channel;
    jzx_gate gate;
    uint32_t inside;     /* under the mutex */
    uint64_t done;       /* likewise */
    uint64_t sent_count; /* by the thread that sends, */
    uint64_t sent_sum;
    _Atomic uint64_t received_count; /* and received by all */
    _Atomic uint64_t received_sum;
    _Atomic uint32_t cancels; /* that were in time */
    _Atomic uint64_t lives;
    uint64_t lives_max;
    _Atomic uint32_t alive;
    struct slot slots[SLOTS];
    atomic_bool is_over;
} s;

static uint64_t next_random(uint64_t *state) {
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    return z ^ (z >> 27);
}

static void note_received(uint64_t value) {
    atomic_fetch_add(&s.received_count, 1);
    atomic_fetch_add(&s.received_sum, value);
}

/* Kills one of the behaviours, or cancels what it does. */
static void disturb(uint64_t *random) {
    struct slot *slot = &s.slots[next_random(random) % SLOTS];
    uint64_t choice = next_random(random) % 48;
    if (choice == 0)
        (void)jzx_actor_stop(s.loop, atomic_load(&slot->id), JZX_STOP_KILL);
    else if (choice < 8 && jzx_op_cancel(s.loop, atomic_load(&slot->op)) == JZX_OK)
        atomic_fetch_add(&s.cancels, 1);
}

/* ---- behaviours ---- */

static void begin_one(jzx_context *ctx, struct slot *slot) {
    const jzx_case cases[] = {jzx_gate_case(&s.gate),
                              number_channel_case_receive(&s.channel, &slot->chosen)};
    jzx_op op = JZX_NO_OP;
    jzx_err err = JZX_OK;
    switch (next_random(&slot->random) % 5) {
    case 0: err = jzx_mutex_lock_to(ctx, &s.mutex, LOCKED, &op); break;
    case 1:
        err = jzx_semaphore_acquire_to(
            ctx, &s.semaphore, 1 + (uint32_t)(next_random(&slot->random) % PERMITS), ACQUIRED, &op);
        break;
    case 2: err = number_channel_receive_to(ctx, &s.channel, VALUE, &op); break;
    case 3: err = jzx_select_to(ctx, JZX_CASES(cases), CHOSEN, &op); break;
    default: err = jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, START); break;
    }
    JZX_EXPECT_EQ(err, JZX_OK);
    atomic_store(&slot->op, op);
}

static void use_mutex(jzx_context *ctx, jzx_err err) {
    if (err == JZX_ERR_CANCELLED)
        return;
    JZX_EXPECT_EQ(err, JZX_OK); /* nobody ends with it */
    JZX_EXPECT_EQ(s.inside++, 0);
    s.done++;
    JZX_EXPECT_EQ(--s.inside, 0);
    JZX_EXPECT_EQ(jzx_mutex_unlock(ctx, &s.mutex), JZX_OK);
}

static void use_permits(jzx_context *ctx, jzx_err err) {
    if (err == JZX_ERR_CANCELLED)
        return;
    JZX_EXPECT(err == JZX_OK || err == JZX_ERR_OWNER_DIED);
    JZX_EXPECT(jzx_semaphore_available(&s.semaphore) < PERMITS);
    while (jzx_semaphore_forget(ctx, &s.semaphore, 1) == JZX_OK)
        JZX_EXPECT_EQ(jzx_semaphore_release(NULL, &s.semaphore, 1), JZX_OK);
}

static void use_value(const struct slot *slot, const jzx_message *msg, jzx_err err) {
    if (err == JZX_ERR_CANCELLED)
        return;
    JZX_EXPECT_EQ(err, JZX_OK);
    if (msg->tag == VALUE)
        note_received(*(uint64_t *)jzx_result_data(msg->data));
    else if (JZX_EXPECT_EQ(*(size_t *)jzx_result_data(msg->data), 1))
        note_received(slot->chosen);
}

static jzx_behavior_result live(jzx_context *ctx, const jzx_message *msg) {
    struct slot *slot = ctx->state;
    jzx_err err = msg->tag == START ? JZX_OK : ((const jzx_result *)msg->data)->err;
    jzx_test_ran();
    if (msg->tag == LOCKED)
        use_mutex(ctx, err);
    else if (msg->tag == ACQUIRED)
        use_permits(ctx, err);
    else if (msg->tag != START)
        use_value(slot, msg, err);
    disturb(&slot->random);
    if (slot->left-- == 0)
        return JZX_BEHAVIOR_STOP;
    begin_one(ctx, slot);
    return JZX_BEHAVIOR_OK;
}

static void spawn_next(jzx_context *ctx, jzx_exit_reason reason);

static void spawn(struct slot *slot) {
    jzx_actor_id id = JZX_NOBODY;
    if (atomic_fetch_add(&s.lives, 1) >= s.lives_max)
        return;
    atomic_fetch_add(&s.alive, 1);
    slot->left = VISITS;
    jzx_spawn_opts opts = JZX_SPAWN_OPTS(.behavior = live, .state = slot, .cleanup = spawn_next);
    if (JZX_EXPECT_EQ(jzx_spawn(s.loop, &opts, &id), JZX_OK)) {
        atomic_store(&slot->id, id);
        (void)jzx_send(s.loop, id, JZX_NOBODY, NULL, 0, START); /* unless it was killed */
    }
}

static void spawn_next(jzx_context *ctx, jzx_exit_reason reason) {
    (void)reason;
    spawn(ctx->state);
    if (atomic_fetch_sub(&s.alive, 1) == 1)
        atomic_store(&s.is_over, true);
}

/* ---- fibers and a thread beside them ---- */

static void be_fiber(jzx_context *ctx) {
    uint64_t random = ctx->self;
    uint64_t value;
    while (!atomic_load(&s.is_over)) {
        disturb(&random);
        if (jzx_mutex_lock(ctx, &s.mutex, jzx_in(ctx, JZX_US(100))) == JZX_OK) {
            JZX_EXPECT_EQ(s.inside++, 0);
            jzx_yield(ctx);
            JZX_EXPECT_EQ(--s.inside, 0);
            JZX_EXPECT_EQ(jzx_mutex_unlock(ctx, &s.mutex), JZX_OK);
        }
        if (number_channel_receive(ctx, &s.channel, jzx_in(ctx, JZX_US(50)), &value) == JZX_OK)
            note_received(value);
        jzx_yield(ctx);
    }
}

static void *be_thread(void *arg) {
    uint64_t random = 77;
    (void)arg;
    while (!atomic_load(&s.is_over)) {
        uint64_t value = next_random(&random) % 1000;
        disturb(&random);
        if (number_channel_send_wait(&s.channel, value, jzx_loop_now(s.loop) + JZX_US(100)) ==
            JZX_OK) {
            s.sent_count++;
            s.sent_sum += value;
        }
        if (jzx_semaphore_acquire_wait(&s.semaphore, 1, jzx_loop_now(s.loop) + JZX_US(100)) !=
            JZX_ERR_TIMEOUT)
            JZX_EXPECT_EQ(jzx_semaphore_release(NULL, &s.semaphore, 1), JZX_OK);
    }
    JZX_EXPECT_EQ(jzx_loop_release(s.loop), JZX_OK);
    return NULL;
}

/* ---- the run ---- */

static void set_up(uint32_t workers) {
    memset(&s, 0, sizeof s);
    s.lives_max = jzx_test_rounds(4000, 40000);
    s.loop = fixture_loop_with(&JZX_CONFIG(.workers = workers));
    assert_int_equal(jzx_mutex_init(s.loop, &s.mutex), JZX_OK);
    assert_int_equal(jzx_semaphore_init(s.loop, &s.semaphore, PERMITS, PERMITS), JZX_OK);
    assert_int_equal(number_channel_init(s.loop, &s.channel, 4), JZX_OK);
    assert_int_equal(jzx_gate_init(s.loop, &s.gate, false), JZX_OK);
    for (uint32_t i = 0; i < SLOTS; i++) {
        s.slots[i].random = i;
        spawn(&s.slots[i]);
    }
    for (uint32_t i = 0; i < FIBERS; i++)
        fixture_spawn(s.loop, &JZX_SPAWN_OPTS(.fiber = be_fiber));
}

static void check_all_is_there(void) {
    uint64_t value;
    assert_int_equal(jzx_semaphore_available(&s.semaphore), PERMITS);
    assert_int_equal(jzx_mutex_try_lock(NULL, &s.mutex), JZX_OK);
    assert_int_equal(jzx_mutex_unlock(NULL, &s.mutex), JZX_OK);
    while (number_channel_try_receive(&s.channel, &value) == JZX_OK)
        note_received(value);
    assert_int_equal(atomic_load(&s.received_count), s.sent_count);
    assert_int_equal(atomic_load(&s.received_sum), s.sent_sum);
}

static void run(uint32_t workers) {
    pthread_t thread;
    set_up(workers);
    assert_int_equal(jzx_loop_hold(s.loop), JZX_OK);
    assert_int_equal(pthread_create(&thread, NULL, be_thread, NULL), 0);
    assert_int_equal(jzx_loop_run(s.loop), JZX_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(jzx_test_runs() > 0, 1);
    assert_int_equal(atomic_load(&s.cancels) > 0, 1);
    check_all_is_there();
    fixture_destroy(s.loop);
    assert_int_equal(jzx_mutex_deinit(&s.mutex), JZX_OK);
    assert_int_equal(jzx_semaphore_deinit(&s.semaphore), JZX_OK);
    assert_int_equal(number_channel_deinit(&s.channel), JZX_OK);
    assert_int_equal(jzx_gate_deinit(&s.gate), JZX_OK);
}

JZX_TEST(operations_hold_under_cancels_and_kills_on_one_worker, "E57", "E+sem") {
    run(1);
}

JZX_TEST(operations_hold_under_cancels_and_kills_on_several_workers, "E57", "E+sem") {
    run(3);
}
