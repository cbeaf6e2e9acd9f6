/* SPDX-License-Identifier: MIT */
/* Channels on real threads: fibers of several workers and threads send and receive with short
 * deadlines while fibers are killed wherever they wait. Each call writes down what it did and when
 * it began and ended, by one counter; the history is then compared with what a queue would do:
 *
 *   - each value that was sent was received, once, though receivers are killed
 *   - a receive does not end before the send of its value has begun
 *   - of two values whose sends do not overlap, the receives are in the same order, or overlap
 *   - a send that timed out sent nothing, and nothing is received after CLOSED has been seen */
#include "fixture.h"

#include <jzx/fiber.h>
#include <jzx/sync.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define SENDERS 6u
#define RECEIVERS 6u
#define THREADS 2u /* of each, beside the fibers */
#define VALUES_MAX 40000u

JZX_CHANNEL(number, uint64_t)

/* When calls began and ended; 0: not yet. */
struct event {
    _Atomic uint64_t send_begins;
    _Atomic uint64_t send_ends;
    _Atomic uint64_t receive_begins;
    _Atomic uint64_t receive_ends;
    _Atomic uint32_t received; /* times */
    _Atomic uint32_t refused;  /* its send has returned an error */
};

static struct {
    jzx_loop *loop;
    number_channel channel;
    number_channel other;
    struct event *events;
    uint64_t values; /* to be sent */
    _Atomic uint64_t next;
    _Atomic uint64_t clock;
    _Atomic uint64_t first_closed; /* when a receive that got CLOSED ended */
    _Atomic uint32_t senders;      /* that are left */
    _Atomic uint32_t kills;
    _Atomic jzx_actor_id ids[SENDERS + RECEIVERS];
} s;

static uint64_t tick(void) {
    return atomic_fetch_add(&s.clock, 1) + 1;
}

static uint64_t next_random(uint64_t *state) {
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    return z ^ (z >> 27);
}

static uint64_t random_deadline(uint64_t *random) {
    uint64_t r = next_random(random) % 3;
    return r == 0 ? JZX_NEVER : r == 1 ? jzx_loop_now(s.loop) + JZX_US(50) : 0;
}

/* ---- sending ---- */

static jzx_err send_as(jzx_context *ctx, uint64_t value, uint64_t *random) {
    uint64_t deadline_ns = random_deadline(random);
    if (next_random(random) % 4 == 0)
        return number_channel_try_send(&s.channel, value);
    return ctx != NULL ? number_channel_send(ctx, &s.channel, value, deadline_ns)
                       : number_channel_send_wait(&s.channel, value, deadline_ns);
}

static void end_sender(void) {
    if (atomic_fetch_sub(&s.senders, 1) == 1)
        JZX_EXPECT_EQ(number_channel_close(&s.channel), JZX_OK);
}

static void send_all(jzx_context *ctx, uint64_t *random) {
    uint64_t value;
    while ((value = atomic_fetch_add(&s.next, 1)) < s.values) {
        struct event *event = &s.events[value];
        atomic_store(&event->send_begins, tick());
        jzx_err err = send_as(ctx, value, random);
        atomic_store(&event->send_ends, tick());
        JZX_EXPECT(err == JZX_OK || err == JZX_ERR_TIMEOUT);
        atomic_store(&event->refused, err != JZX_OK);
    }
}

/* ---- receiving ---- */

/* With a second channel, which stays empty. */
static jzx_err select_as(jzx_context *ctx, uint64_t *value, uint64_t deadline_ns) {
    uint64_t none;
    const jzx_case cases[] = {number_channel_case_receive(&s.other, &none),
                              number_channel_case_receive(&s.channel, value)};
    size_t index = 1;
    jzx_err err = ctx != NULL ? jzx_select(ctx, JZX_CASES(cases), deadline_ns, &index)
                              : jzx_select_wait(JZX_CASES(cases), deadline_ns, &index);
    JZX_EXPECT_EQ(index, 1);
    return err;
}

static jzx_err receive_as(jzx_context *ctx, uint64_t *value, uint64_t *random) {
    uint64_t deadline_ns = random_deadline(random);
    if (next_random(random) % 2 == 0)
        return select_as(ctx, value, deadline_ns);
    if (next_random(random) % 4 == 0)
        return number_channel_try_receive(&s.channel, value);
    return ctx != NULL ? number_channel_receive(ctx, &s.channel, deadline_ns, value)
                       : number_channel_receive_wait(&s.channel, deadline_ns, value);
}

static void receive_all(jzx_context *ctx, uint64_t *random) {
    for (;;) {
        uint64_t value = UINT64_MAX;
        uint64_t begins = tick();
        jzx_err err = receive_as(ctx, &value, random);
        uint64_t ends = tick();
        if (err == JZX_ERR_CLOSED) {
            uint64_t none = 0;
            atomic_compare_exchange_strong(&s.first_closed, &none, ends);
            return;
        }
        if (err != JZX_OK) {
            JZX_EXPECT_EQ(err, JZX_ERR_TIMEOUT);
            if (ctx != NULL)
                jzx_yield(ctx);
            continue;
        }
        if (!JZX_EXPECT(value < s.values))
            return;
        struct event *event = &s.events[value];
        JZX_EXPECT_EQ(atomic_fetch_add(&event->received, 1), 0);
        atomic_store(&event->receive_begins, begins);
        atomic_store(&event->receive_ends, ends);
    }
}

/* ---- who does it ---- */

static void be_fiber(jzx_context *ctx) {
    uint64_t random = ctx->self;
    jzx_test_ran();
    if ((uintptr_t)ctx->state < SENDERS)
        send_all(ctx, &random);
    else
        receive_all(ctx, &random);
}

static void end_fiber(jzx_context *ctx, jzx_exit_reason reason);

static void spawn(uintptr_t index) {
    jzx_actor_id id = JZX_NOBODY;
    jzx_spawn_opts opts = JZX_SPAWN_OPTS(.fiber = be_fiber, .state = (void *)index,
                                         .cleanup = end_fiber, .migratable = index % 2 == 0);
    JZX_EXPECT_EQ(jzx_spawn(s.loop, &opts, &id), JZX_OK);
    atomic_store(&s.ids[index], id);
}

/* One that was killed has a successor. */
static void end_fiber(jzx_context *ctx, jzx_exit_reason reason) {
    if (reason == JZX_EXIT_KILLED) {
        atomic_fetch_add(&s.kills, 1);
        spawn((uintptr_t)ctx->state);
    } else if ((uintptr_t)ctx->state < SENDERS) {
        end_sender();
    }
}

static void *be_thread(void *arg) {
    uint64_t random = 99 + (uint64_t)(uintptr_t)arg;
    if ((uintptr_t)arg % 2 == 0) {
        send_all(NULL, &random);
        end_sender();
    } else {
        receive_all(NULL, &random);
    }
    JZX_EXPECT_EQ(jzx_loop_release(s.loop), JZX_OK);
    return NULL;
}

static void *kill_some(void *arg) {
    uint64_t random = 5;
    (void)arg;
    while (atomic_load(&s.next) < s.values) {
        uint64_t kills = atomic_load(&s.kills);
        jzx_actor_id id = atomic_load(&s.ids[next_random(&random) % (SENDERS + RECEIVERS)]);
        if (jzx_actor_stop(s.loop, id, JZX_STOP_KILL) == JZX_OK) {
            while (atomic_load(&s.kills) == kills && atomic_load(&s.next) < s.values)
                sched_yield();
        }
    }
    JZX_EXPECT_EQ(jzx_loop_release(s.loop), JZX_OK);
    return NULL;
}

/* ---- the history ---- */

static int by_send_end(const void *a, const void *b) {
    uint64_t x = s.events[*(const uint64_t *)a].send_ends;
    uint64_t y = s.events[*(const uint64_t *)b].send_ends;
    return x < y ? -1 : x > y;
}

static int by_send_begin(const void *a, const void *b) {
    uint64_t x = s.events[*(const uint64_t *)a].send_begins;
    uint64_t y = s.events[*(const uint64_t *)b].send_begins;
    return x < y ? -1 : x > y;
}

/* For each value: of all whose send had ended before its own began, the latest begin of a receive
 * is before the end of its own. */
static void check_order(void) {
    uint64_t *ended = malloc(s.values * sizeof *ended);
    uint64_t *begun = malloc(s.values * sizeof *begun);
    uint64_t count = 0, at = 0, latest = 0;
    for (uint64_t i = 0; i < s.values; i++) {
        if (s.events[i].received != 0 && s.events[i].send_ends != 0)
            ended[count] = begun[count] = i, count++;
    }
    qsort(ended, count, sizeof *ended, by_send_end);
    qsort(begun, count, sizeof *begun, by_send_begin);
    for (uint64_t i = 0; i < count; i++) {
        const struct event *event = &s.events[begun[i]];
        for (; at < count && s.events[ended[at]].send_ends < event->send_begins; at++) {
            uint64_t begins = s.events[ended[at]].receive_begins;
            latest = begins > latest ? begins : latest;
        }
        JZX_EXPECT(latest < event->receive_ends);
    }
    free(ended);
    free(begun);
}

static void check_values(void) {
    uint64_t missing = 0;
    for (uint64_t i = 0; i < s.values; i++) {
        const struct event *event = &s.events[i];
        if (event->received != 0) {
            JZX_EXPECT(!event->refused);
            JZX_EXPECT(event->receive_ends > event->send_begins);
            JZX_EXPECT(event->receive_begins < s.first_closed);
        } else if (event->send_ends != 0 && !event->refused) {
            missing++;
        }
    }
    /* A fiber is killed only where it waits: what it has received, it has written down. */
    JZX_EXPECT_EQ(missing, 0);
    JZX_EXPECT_EQ(number_channel_count(&s.channel), 0);
}

static void run(uint32_t workers, size_t capacity) {
    pthread_t threads[2 * THREADS + 1];
    memset(&s, 0, sizeof s);
    s.values = jzx_test_rounds(VALUES_MAX, 10 * VALUES_MAX);
    s.events = calloc(s.values, sizeof *s.events);
    s.loop = fixture_loop_with(&JZX_CONFIG(.workers = workers));
    s.senders = SENDERS + THREADS;
    assert_int_equal(number_channel_init(s.loop, &s.channel, capacity), JZX_OK);
    assert_int_equal(number_channel_init(s.loop, &s.other, 1), JZX_OK);
    for (uintptr_t i = 0; i < SENDERS + RECEIVERS; i++)
        spawn(i);
    for (uintptr_t i = 0; i <= 2 * THREADS; i++) {
        assert_int_equal(jzx_loop_hold(s.loop), JZX_OK);
        void *(*fn)(void *) = i < 2 * THREADS ? be_thread : kill_some;
        assert_int_equal(pthread_create(&threads[i], NULL, fn, (void *)i), 0);
    }
    assert_int_equal(jzx_loop_run(s.loop), JZX_OK);
    for (uintptr_t i = 0; i <= 2 * THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(jzx_test_runs() > 0, 1);
    check_values();
    check_order();
    fixture_destroy(s.loop);
    assert_int_equal(number_channel_deinit(&s.channel), JZX_OK);
    assert_int_equal(number_channel_deinit(&s.other), JZX_OK);
    free(s.events);
}

JZX_TEST(histories_of_a_small_channel_are_those_of_a_queue, "E57", "E+sem") {
    run(3, 2);
}

JZX_TEST(histories_of_an_unbounded_channel_are_those_of_a_queue, "E57", "E+sem") {
    run(2, JZX_UNBOUNDED);
}
