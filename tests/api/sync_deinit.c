/* SPDX-License-Identifier: MIT */
/* Deinit against those that wait: an object is busy until a waiter that was released has run on,
 * or has ended, and is free from then on. The test frees its memory then, so that the sanitizers
 * see a later use. */
#include "puppets.h"

JZX_CHANNEL(number, uint64_t)
JZX_BROADCAST(number, uint64_t)

struct objects {
    jzx_mutex mutex;
    jzx_semaphore semaphore;
    jzx_rwlock rwlock;
    number_channel channel;
    number_broadcast news;
    jzx_reader reader;
    jzx_gate gate;
    jzx_wait_group group;
    jzx_barrier barrier;
};

static struct {
    struct timing timing;
    struct puppet puppet;
    struct objects *it;
} s;

/* ---- what a puppet waits for; locks and permits it gives back at once ---- */

static jzx_err lock(jzx_context *ctx, struct puppet *puppet) {
    jzx_err err = jzx_mutex_lock(ctx, &s.it->mutex, puppet->deadline_ns);
    if (err == JZX_OK)
        JZX_EXPECT_EQ(jzx_mutex_unlock(ctx, &s.it->mutex), JZX_OK);
    return err;
}

static jzx_err acquire(jzx_context *ctx, struct puppet *puppet) {
    jzx_err err = jzx_semaphore_acquire(ctx, &s.it->semaphore, 1, puppet->deadline_ns);
    if (err == JZX_OK)
        JZX_EXPECT_EQ(jzx_semaphore_release(ctx, &s.it->semaphore, 1), JZX_OK);
    return err;
}

static jzx_err lock_read(jzx_context *ctx, struct puppet *puppet) {
    jzx_err err = jzx_rwlock_lock_read(ctx, &s.it->rwlock, puppet->deadline_ns);
    if (err == JZX_OK)
        JZX_EXPECT_EQ(jzx_rwlock_unlock_read(ctx, &s.it->rwlock), JZX_OK);
    return err;
}

static jzx_err send_second(jzx_context *ctx, struct puppet *puppet) {
    return number_channel_send(ctx, &s.it->channel, 2, puppet->deadline_ns);
}

static jzx_err receive(jzx_context *ctx, struct puppet *puppet) {
    return number_channel_receive(ctx, &s.it->channel, puppet->deadline_ns, &puppet->value);
}

static jzx_err read_news(jzx_context *ctx, struct puppet *puppet) {
    return number_broadcast_read(ctx, &s.it->reader, puppet->deadline_ns, &puppet->value);
}

static jzx_err pass(jzx_context *ctx, struct puppet *puppet) {
    return jzx_gate_pass(ctx, &s.it->gate, puppet->deadline_ns);
}

static jzx_err join(jzx_context *ctx, struct puppet *puppet) {
    return jzx_wait_group_join(ctx, &s.it->group, puppet->deadline_ns);
}

static jzx_err arrive(jzx_context *ctx, struct puppet *puppet) {
    return jzx_barrier_arrive(ctx, &s.it->barrier, puppet->deadline_ns, NULL);
}

static jzx_err select_all(jzx_context *ctx, struct puppet *puppet) {
    const jzx_case cases[] = {number_channel_case_receive(&s.it->channel, &puppet->value),
                              number_broadcast_case_read(&s.it->reader, &puppet->number),
                              jzx_gate_case(&s.it->gate)};
    size_t index = 0;
    return jzx_select(ctx, JZX_CASES(cases), puppet->deadline_ns, &index);
}

/* ---- what lets it go on: calls of a thread ---- */

static void unlock(void) {
    JZX_EXPECT_EQ(jzx_mutex_unlock(NULL, &s.it->mutex), JZX_OK);
}

static void release(void) {
    JZX_EXPECT_EQ(jzx_semaphore_release(NULL, &s.it->semaphore, 1), JZX_OK);
}

static void unlock_write(void) {
    JZX_EXPECT_EQ(jzx_rwlock_unlock_write(NULL, &s.it->rwlock), JZX_OK);
}

static void send(void) {
    JZX_EXPECT_EQ(number_channel_try_send(&s.it->channel, 3), JZX_OK);
}

static void receive_first(void) {
    uint64_t value;
    JZX_EXPECT_EQ(number_channel_try_receive(&s.it->channel, &value), JZX_OK);
}

static void close_channel(void) {
    JZX_EXPECT_EQ(number_channel_close(&s.it->channel), JZX_OK);
}

static void publish(void) {
    JZX_EXPECT_EQ(number_broadcast_publish(&s.it->news, 4), JZX_OK);
}

static void close_news(void) {
    JZX_EXPECT_EQ(number_broadcast_close(&s.it->news), JZX_OK);
}

static void open_gate(void) {
    JZX_EXPECT_EQ(jzx_gate_open(&s.it->gate), JZX_OK);
}

static void end_work(void) {
    JZX_EXPECT_EQ(jzx_wait_group_done(&s.it->group), JZX_OK);
}

static void arrive_last(void) {
    (void)jzx_barrier_arrive_wait(&s.it->barrier, 0, NULL); /* too early if nobody waits */
}

/* ---- what is deinited ---- */

static jzx_err deinit_mutex(void) {
    return jzx_mutex_deinit(&s.it->mutex);
}

static jzx_err deinit_semaphore(void) {
    return jzx_semaphore_deinit(&s.it->semaphore);
}

static jzx_err deinit_rwlock(void) {
    return jzx_rwlock_deinit(&s.it->rwlock);
}

static jzx_err deinit_channel(void) {
    return number_channel_deinit(&s.it->channel);
}

static jzx_err deinit_news(void) {
    return number_broadcast_deinit(&s.it->news);
}

static jzx_err deinit_gate(void) {
    return jzx_gate_deinit(&s.it->gate);
}

static jzx_err deinit_group(void) {
    return jzx_wait_group_deinit(&s.it->group);
}

static jzx_err deinit_barrier(void) {
    return jzx_barrier_deinit(&s.it->barrier);
}

static void lock_mutex(void) {
    JZX_EXPECT_EQ(jzx_mutex_try_lock(NULL, &s.it->mutex), JZX_OK);
}

static void take_permit(void) {
    JZX_EXPECT_EQ(jzx_semaphore_try_acquire(NULL, &s.it->semaphore, 1), JZX_OK);
}

static void lock_write(void) {
    JZX_EXPECT_EQ(jzx_rwlock_try_lock_write(NULL, &s.it->rwlock), JZX_OK);
}

static void send_first(void) {
    JZX_EXPECT_EQ(number_channel_try_send(&s.it->channel, 1), JZX_OK);
}

static const struct {
    void (*prepare)(void); /* may be NULL */
    puppet_fn wait;
    void (*let_go)(void);
    jzx_err (*deinit)(void);
    jzx_err result; /* of the wait */
} cases[] = {
    {lock_mutex, lock, unlock, deinit_mutex, JZX_OK},
    {take_permit, acquire, release, deinit_semaphore, JZX_OK},
    {lock_write, lock_read, unlock_write, deinit_rwlock, JZX_OK},
    {send_first, send_second, receive_first, deinit_channel, JZX_OK},
    {send_first, send_second, close_channel, deinit_channel, JZX_ERR_CLOSED},
    {NULL, receive, send, deinit_channel, JZX_OK},
    {NULL, receive, close_channel, deinit_channel, JZX_ERR_CLOSED},
    {NULL, read_news, publish, deinit_news, JZX_OK},
    {NULL, read_news, close_news, deinit_news, JZX_ERR_CLOSED},
    {NULL, pass, open_gate, deinit_gate, JZX_OK},
    {NULL, join, end_work, deinit_group, JZX_OK},
    {NULL, arrive, arrive_last, deinit_barrier, JZX_OK},
    {NULL, select_all, send, deinit_channel, JZX_OK},
    {NULL, select_all, send, deinit_news, JZX_OK},
    {NULL, select_all, publish, deinit_news, JZX_OK},
    {NULL, select_all, open_gate, deinit_channel, JZX_OK},
    {NULL, select_all, close_channel, deinit_gate, JZX_ERR_CLOSED},
};
enum { CASES = sizeof cases / sizeof cases[0] };

static void set_up(void) {
    memset(&s, 0, sizeof s);
    s.timing = timing_open();
    jzx_loop *loop = s.timing.loop;
    puppet_spawn(&s.puppet, &s.timing);
    s.it = calloc(1, sizeof *s.it);
    JZX_EXPECT_EQ(jzx_mutex_init(loop, &s.it->mutex), JZX_OK);
    JZX_EXPECT_EQ(jzx_semaphore_init(loop, &s.it->semaphore, 1, 1), JZX_OK);
    JZX_EXPECT_EQ(jzx_rwlock_init(loop, &s.it->rwlock), JZX_OK);
    JZX_EXPECT_EQ(number_channel_init(loop, &s.it->channel, 1), JZX_OK);
    JZX_EXPECT_EQ(number_broadcast_init(loop, &s.it->news, 2), JZX_OK);
    JZX_EXPECT_EQ(number_broadcast_subscribe(&s.it->news, &s.it->reader), JZX_OK);
    JZX_EXPECT_EQ(jzx_gate_init(loop, &s.it->gate, false), JZX_OK);
    JZX_EXPECT_EQ(jzx_wait_group_init(loop, &s.it->group), JZX_OK);
    JZX_EXPECT_EQ(jzx_wait_group_add(&s.it->group, 1), JZX_OK);
    JZX_EXPECT_EQ(jzx_barrier_init(loop, &s.it->barrier, 2), JZX_OK);
}

/* A puppet waits in that way. */
static void begin(int number, uint64_t deadline_ns) {
    set_up();
    if (cases[number].prepare != NULL)
        cases[number].prepare();
    assert_false(puppet_do(&s.puppet, cases[number].wait, NULL, deadline_ns));
    assert_int_equal(cases[number].deinit(), JZX_ERR_BUSY);
}

/* All objects are free, and the library does not touch their memory any more. */
static void tear_down(int number) {
    JZX_EXPECT_EQ(cases[number].deinit(), JZX_OK);
    JZX_EXPECT_EQ(cases[number].deinit(), JZX_ERR_INVALID_ARG);
    (void)deinit_mutex();
    (void)deinit_semaphore();
    (void)deinit_rwlock();
    (void)deinit_channel();
    (void)deinit_news();
    (void)deinit_gate();
    (void)deinit_group();
    (void)deinit_barrier();
    memset(s.it, 0x5A, sizeof *s.it);
    free(s.it);
    timing_close(&s.timing);
}

JZX_TEST(an_object_is_busy_until_a_released_waiter_has_run_on, "E57") {
    for (int i = 0; i < CASES; i++) {
        begin(i, JZX_NEVER);
        cases[i].let_go();
        assert_int_equal(cases[i].deinit(), JZX_ERR_BUSY);
        timing_step(&s.timing);
        puppet_gets(&s.puppet, cases[i].result);
        tear_down(i);
    }
}

JZX_TEST(a_released_waiter_that_is_killed_leaves_its_object_free, "E57") {
    for (int i = 0; i < CASES; i++) {
        begin(i, JZX_NEVER);
        cases[i].let_go();
        puppet_kill(&s.puppet);
        tear_down(i);
    }
}

JZX_TEST(a_waiter_that_is_killed_leaves_its_object_free, "E57") {
    for (int i = 0; i < CASES; i++) {
        begin(i, JZX_NEVER);
        puppet_kill(&s.puppet);
        cases[i].let_go();
        tear_down(i);
    }
}

JZX_TEST(a_waiter_that_times_out_leaves_its_object_free, "E57") {
    for (int i = 0; i < CASES; i++) {
        begin(i, JZX_MS(1));
        timing_advance(&s.timing, JZX_MS(1));
        puppet_gets(&s.puppet, JZX_ERR_TIMEOUT);
        cases[i].let_go();
        tear_down(i);
    }
}
