/* SPDX-License-Identifier: MIT */
/* Short histories of three threads with one object, each checked for linearizability: is there an
 * order of all calls, in which no call is before one that ended before it began, and in which each
 * returns what a sequential object would have returned? All orders are tried (Wing and Gong).
 *
 * A wait that times out has changed nothing, and may do so at any moment. A try fails also while
 * others wait, or are about to take what they were promised: so it may fail if a wait overlaps it.
 * Channels under load have a history test of their own, in sync_channel.c. */
#include "fixture.h"

#include <jzx/sync.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define THREADS 3u
#define CALLS 4u /* of each thread */
#define ALL_CALLS (THREADS * CALLS)
#define PERMITS 3u
#define PLACES 2u

JZX_CHANNEL(number, uint64_t)
JZX_BROADCAST(number, uint64_t)

enum kind { MUTEX, RWLOCK, SEMAPHORE, GATE, GROUP, CHANNEL, BROADCAST, KINDS };

struct call {
    uint32_t code; /* of the kind's calls */
    uint32_t thread;
    uint64_t arg;
    bool waits;
    bool may_fail; /* a wait overlaps it */
    jzx_err err;
    uint64_t value;
    uint64_t begins, ends;
};

/* The sequential objects. */
struct model {
    int64_t owner;   /* of the mutex, or who writes: a thread, or -1 */
    uint64_t number; /* readers, permits, what is to be done, values that were published */
    bool is_open;    /* the gate; the channel is closed */
    uint64_t values[PLACES + 1];
    uint64_t next[THREADS]; /* of the readers of a broadcast */
};

static struct {
    jzx_loop *loop;
    enum kind kind;
    jzx_mutex mutex;
    jzx_rwlock rwlock;
    jzx_semaphore semaphore;
    jzx_gate gate;
    jzx_wait_group group;
    number_channel channel;
    number_broadcast broadcast;
    jzx_reader readers[THREADS];
    struct call calls[ALL_CALLS];
    _Atomic uint64_t clock;
    pthread_barrier_t round;
    bool is_over;
} s;

static uint64_t next_random(uint64_t *state) {
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    return z ^ (z >> 27);
}

/* ---- calls ---- */

static uint64_t soon(void) {
    return jzx_loop_now(s.loop) + JZX_US(20);
}

static jzx_err call_mutex(struct call *it) {
    switch (it->code % 3) {
    case 0: return jzx_mutex_try_lock(NULL, &s.mutex);
    case 1: return it->waits = true, jzx_mutex_lock_wait(&s.mutex, soon());
    default: return jzx_mutex_unlock(NULL, &s.mutex);
    }
}

static jzx_err call_rwlock(struct call *it) {
    switch (it->code % 6) {
    case 0: return jzx_rwlock_try_lock_read(NULL, &s.rwlock);
    case 1: return it->waits = true, jzx_rwlock_lock_read_wait(&s.rwlock, soon());
    case 2: return jzx_rwlock_unlock_read(NULL, &s.rwlock);
    case 3: return jzx_rwlock_try_lock_write(NULL, &s.rwlock);
    case 4: return it->waits = true, jzx_rwlock_lock_write_wait(&s.rwlock, soon());
    default: return jzx_rwlock_unlock_write(NULL, &s.rwlock);
    }
}

static jzx_err call_semaphore(struct call *it) {
    uint32_t count = (uint32_t)it->arg;
    switch (it->code % 4) {
    case 0: return jzx_semaphore_try_acquire(NULL, &s.semaphore, count);
    case 1: return it->waits = true, jzx_semaphore_acquire_wait(&s.semaphore, count, soon());
    case 2: return jzx_semaphore_release(NULL, &s.semaphore, count);
    default: it->value = jzx_semaphore_available(&s.semaphore); return JZX_OK;
    }
}

static jzx_err call_gate(struct call *it) {
    switch (it->code % 4) {
    case 0: return jzx_gate_open(&s.gate);
    case 1: return jzx_gate_close(&s.gate);
    case 2: return it->waits = true, jzx_gate_pass_wait(&s.gate, soon());
    default: it->value = jzx_gate_is_open(&s.gate); return JZX_OK;
    }
}

static jzx_err call_group(struct call *it) {
    switch (it->code % 4) {
    case 0: return jzx_wait_group_add(&s.group, (uint32_t)it->arg);
    case 1: return jzx_wait_group_done(&s.group);
    case 2: return it->waits = true, jzx_wait_group_join_wait(&s.group, soon());
    default: it->value = jzx_wait_group_count(&s.group); return JZX_OK;
    }
}

static jzx_err call_channel(struct call *it) {
    switch (it->code % 12) {
    case 0:
    case 1:
    case 2: return number_channel_try_send(&s.channel, it->arg);
    case 3:
    case 4: return it->waits = true, number_channel_send_wait(&s.channel, it->arg, soon());
    case 5:
    case 6:
    case 7: return number_channel_try_receive(&s.channel, &it->value);
    case 8:
    case 9: return it->waits = true, number_channel_receive_wait(&s.channel, soon(), &it->value);
    case 10: it->value = number_channel_count(&s.channel); return JZX_OK;
    default: return number_channel_close(&s.channel);
    }
}

static jzx_err call_broadcast(struct call *it) {
    jzx_reader *reader = &s.readers[it->thread];
    switch (it->code % 4) {
    case 0: return number_broadcast_publish(&s.broadcast, it->arg);
    case 1: return number_broadcast_try_read(reader, &it->value);
    case 2: return it->waits = true, number_broadcast_read_wait(reader, soon(), &it->value);
    default: return jzx_broadcast_latest(&s.broadcast.broadcast, &it->value, NULL);
    }
}

/* ---- what a sequential object would do: false if the call cannot have returned that ---- */

/* Of a try or a wait that found nothing. */
static bool may_time_out(const struct call *it, bool is_there) {
    return it->waits || it->may_fail || !is_there;
}

/* It takes what is there, or times out. */
static bool takes(const struct call *it, bool is_there) {
    return it->err == JZX_OK ? is_there : it->err == JZX_ERR_TIMEOUT && may_time_out(it, is_there);
}

static bool apply_mutex(struct model *m, const struct call *it) {
    bool is_owner = m->owner == (int64_t)it->thread;
    if (it->code % 3 == 2) {
        if (is_owner)
            m->owner = -1;
        return it->err == (is_owner ? JZX_OK : JZX_ERR_NOT_OWNER);
    }
    if (is_owner)
        return it->err == JZX_ERR_BUSY;
    if (!takes(it, m->owner == -1))
        return false;
    m->owner = it->err == JZX_OK ? (int64_t)it->thread : m->owner;
    return true;
}

static bool apply_rwlock(struct model *m, const struct call *it) {
    bool is_writer = m->owner == (int64_t)it->thread;
    uint32_t code = it->code % 6;
    if (code == 2) {
        bool is_read = m->number != 0;
        m->number -= is_read;
        return it->err == (is_read ? JZX_OK : JZX_ERR_NOT_OWNER);
    }
    if (code == 5) {
        m->owner = is_writer ? -1 : m->owner;
        return it->err == (is_writer ? JZX_OK : JZX_ERR_NOT_OWNER);
    }
    if (is_writer)
        return it->err == JZX_ERR_BUSY;
    if (!takes(it, m->owner == -1 && (code < 2 || m->number == 0)))
        return false;
    m->number += it->err == JZX_OK && code < 2;
    m->owner = it->err == JZX_OK && code > 2 ? (int64_t)it->thread : m->owner;
    return true;
}

static bool apply_semaphore(struct model *m, const struct call *it) {
    bool fits = m->number + it->arg <= PERMITS;
    switch (it->code % 4) {
    case 0:
    case 1:
        if (!takes(it, m->number >= it->arg))
            return false;
        m->number -= it->err == JZX_OK ? it->arg : 0;
        return true;
    case 2: m->number += fits ? it->arg : 0; return it->err == (fits ? JZX_OK : JZX_ERR_FULL);
    default: return it->value == m->number;
    }
}

static bool apply_gate(struct model *m, const struct call *it) {
    switch (it->code % 4) {
    case 0: m->is_open = true; return it->err == JZX_OK;
    case 1: m->is_open = false; return it->err == JZX_OK;
    case 2: return takes(it, m->is_open);
    default: return it->value == m->is_open;
    }
}

static bool apply_group(struct model *m, const struct call *it) {
    bool is_any = m->number != 0;
    switch (it->code % 4) {
    case 0: m->number += it->arg; return it->err == JZX_OK;
    case 1: m->number -= is_any; return it->err == (is_any ? JZX_OK : JZX_ERR_INVALID_ARG);
    case 2: return takes(it, !is_any);
    default: return it->value == m->number;
    }
}

static bool apply_channel(struct model *m, const struct call *it) {
    uint32_t code = it->code % 12;
    if (code == 11) {
        m->is_open = true; /* that is: closed */
        return it->err == JZX_OK;
    }
    if (code == 10)
        return it->value == m->number;
    if (code < 5) {
        if (m->is_open)
            return it->err == JZX_ERR_CLOSED || (it->waits && it->err == JZX_ERR_TIMEOUT);
        if (!takes(it, m->number < PLACES))
            return false;
        if (it->err == JZX_OK)
            m->values[m->number++] = it->arg;
        return true;
    }
    if (m->is_open && m->number == 0)
        return it->err == JZX_ERR_CLOSED || (it->waits && it->err == JZX_ERR_TIMEOUT);
    if (!takes(it, m->number != 0 && (it->err != JZX_OK || m->values[0] == it->value)))
        return false;
    if (it->err == JZX_OK)
        memmove(m->values, m->values + 1, --m->number * sizeof m->values[0]);
    return true;
}

static bool apply_broadcast(struct model *m, const struct call *it) {
    uint64_t *next = &m->next[it->thread];
    uint64_t oldest = m->number < PLACES ? 0 : m->number - PLACES;
    uint32_t code = it->code % 4;
    if (code == 0) {
        m->values[m->number++ % PLACES] = it->arg;
        return it->err == JZX_OK;
    }
    if (code == 3)
        return m->number == 0 ? it->err == JZX_ERR_TIMEOUT
                              : it->value == m->values[(m->number - 1) % PLACES];
    if (it->err == JZX_ERR_LAGGED) {
        bool lags = *next < oldest;
        *next = oldest;
        return lags;
    }
    if (it->err == JZX_ERR_TIMEOUT)
        return *next == m->number; /* a reader is one thread's: nobody is in its way */
    return it->err == JZX_OK && *next >= oldest && *next < m->number &&
           m->values[(*next)++ % PLACES] == it->value;
}

static const struct {
    jzx_err (*call)(struct call *it);
    bool (*apply)(struct model *m, const struct call *it);
} kinds[KINDS] = {
    [MUTEX] = {call_mutex, apply_mutex},
    [RWLOCK] = {call_rwlock, apply_rwlock},
    [SEMAPHORE] = {call_semaphore, apply_semaphore},
    [GATE] = {call_gate, apply_gate},
    [GROUP] = {call_group, apply_group},
    [CHANNEL] = {call_channel, apply_channel},
    [BROADCAST] = {call_broadcast, apply_broadcast},
};

/* ---- the search ---- */

/* No call that is left has ended before this one began. */
static bool can_be_next(uint32_t done, uint32_t index) {
    for (uint32_t i = 0; i < ALL_CALLS; i++) {
        if ((done & 1u << i) == 0 && s.calls[i].ends < s.calls[index].begins)
            return false;
    }
    return true;
}

/* The depth is that of the history. */
static bool search(const struct model *before, uint32_t done) {
    if (done == (1u << ALL_CALLS) - 1)
        return true;
    for (uint32_t i = 0; i < ALL_CALLS; i++) {
        struct model after = *before;
        if ((done & 1u << i) == 0 && can_be_next(done, i) &&
            kinds[s.kind].apply(&after, &s.calls[i]) && search(&after, done | 1u << i))
            return true;
    }
    return false;
}

static bool overlaps_a_wait(const struct call *it) {
    for (uint32_t i = 0; i < ALL_CALLS; i++) {
        const struct call *other = &s.calls[i];
        if (other != it && other->waits && other->begins < it->ends && it->begins < other->ends)
            return true;
    }
    return false;
}

static void check_history(void) {
    struct model start = {.owner = -1, .number = s.kind == SEMAPHORE ? PERMITS : 0};
    for (uint32_t i = 0; i < ALL_CALLS; i++)
        s.calls[i].may_fail = overlaps_a_wait(&s.calls[i]);
    if (JZX_EXPECT(search(&start, 0)))
        return;
    for (uint32_t i = 0; i < ALL_CALLS; i++)
        printf("kind %d thread %u code %u arg %" PRIu64 ": %d, %" PRIu64 " (%" PRIu64 "-%" PRIu64
               ")\n",
               (int)s.kind, s.calls[i].thread, s.calls[i].code, s.calls[i].arg, s.calls[i].err,
               s.calls[i].value, s.calls[i].begins, s.calls[i].ends);
}

/* ---- threads and rounds ---- */

static void play(uint32_t thread, uint64_t *random) {
    for (uint32_t i = 0; i < CALLS; i++) {
        struct call *it = &s.calls[thread * CALLS + i];
        *it = (struct call){.code = (uint32_t)(next_random(random) % 12),
                            .thread = thread,
                            .arg = 1 + next_random(random) % PERMITS};
        it->begins = atomic_fetch_add(&s.clock, 1);
        it->err = kinds[s.kind].call(it);
        it->ends = atomic_fetch_add(&s.clock, 1);
    }
}

/* What it may still have, when the history is at its end. */
static void give_back(void) {
    (void)jzx_mutex_unlock(NULL, &s.mutex);
    (void)jzx_rwlock_unlock_write(NULL, &s.rwlock);
}

static void *be_thread(void *arg) {
    uint32_t thread = (uint32_t)(uintptr_t)arg;
    uint64_t random = thread * 1000003u + 17;
    for (;;) {
        pthread_barrier_wait(&s.round);
        if (s.is_over)
            return NULL;
        play(thread, &random);
        pthread_barrier_wait(&s.round);
        give_back();
        pthread_barrier_wait(&s.round);
    }
}

static void open_objects(void) {
    JZX_EXPECT_EQ(jzx_mutex_init(s.loop, &s.mutex), JZX_OK);
    JZX_EXPECT_EQ(jzx_rwlock_init(s.loop, &s.rwlock), JZX_OK);
    JZX_EXPECT_EQ(jzx_semaphore_init(s.loop, &s.semaphore, PERMITS, PERMITS), JZX_OK);
    JZX_EXPECT_EQ(jzx_gate_init(s.loop, &s.gate, false), JZX_OK);
    JZX_EXPECT_EQ(jzx_wait_group_init(s.loop, &s.group), JZX_OK);
    JZX_EXPECT_EQ(number_channel_init(s.loop, &s.channel, PLACES), JZX_OK);
    JZX_EXPECT_EQ(number_broadcast_init(s.loop, &s.broadcast, PLACES), JZX_OK);
    for (uint32_t i = 0; i < THREADS; i++)
        JZX_EXPECT_EQ(number_broadcast_subscribe(&s.broadcast, &s.readers[i]), JZX_OK);
}

static void close_objects(void) {
    while (jzx_rwlock_unlock_read(NULL, &s.rwlock) == JZX_OK)
        ;
    JZX_EXPECT_EQ(jzx_mutex_deinit(&s.mutex), JZX_OK);
    JZX_EXPECT_EQ(jzx_rwlock_deinit(&s.rwlock), JZX_OK);
    JZX_EXPECT_EQ(jzx_semaphore_deinit(&s.semaphore), JZX_OK);
    JZX_EXPECT_EQ(jzx_gate_deinit(&s.gate), JZX_OK);
    JZX_EXPECT_EQ(jzx_wait_group_deinit(&s.group), JZX_OK);
    JZX_EXPECT_EQ(number_channel_deinit(&s.channel), JZX_OK);
    JZX_EXPECT_EQ(number_broadcast_deinit(&s.broadcast), JZX_OK);
}

JZX_TEST(short_histories_of_every_object_are_linearizable, "E57", "E+sem") {
    pthread_t threads[THREADS];
    uint64_t rounds = jzx_test_rounds(2800, 28000);
    memset(&s, 0, sizeof s);
    s.loop = fixture_loop();
    assert_int_equal(pthread_barrier_init(&s.round, NULL, THREADS + 1), 0);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, be_thread, (void *)i), 0);
    for (uint64_t round = 0; round < rounds; round++) {
        s.kind = (enum kind)(round % KINDS);
        open_objects();
        for (uint32_t i = 0; i < 3; i++) /* begin, end, all given back */
            pthread_barrier_wait(&s.round);
        check_history();
        close_objects();
    }
    s.is_over = true;
    pthread_barrier_wait(&s.round);
    for (uint32_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    pthread_barrier_destroy(&s.round);
    fixture_destroy(s.loop);
}
