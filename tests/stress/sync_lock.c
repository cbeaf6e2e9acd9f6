/* SPDX-License-Identifier: MIT */
/* Locks on real threads: fibers of several workers and threads take a mutex, permits and a rwlock
 * in all ways, with short deadlines, while fibers are killed wherever they wait, also with a lock
 * in hand. What the locks guard is plain memory, so that the sanitizers see what a lock lets
 * through. */
#include "fixture.h"

#include <jzx/fiber.h>
#include <jzx/observe.h>
#include <jzx/sync.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#define SLOTS 8u
#define THREADS 2u
#define PERMITS 3u
#define VISITS 40u /* of one life */

static struct {
    jzx_loop *loop;
    jzx_mutex mutex;
    jzx_semaphore semaphore;
    jzx_rwlock rwlock;
    uint32_t inside; /* under the mutex */
    uint64_t done;   /* likewise */
    uint64_t a, b;   /* under the rwlock: equal */
    _Atomic int64_t permits_out;
    _Atomic uint32_t repairs; /* of what dead owners have left */
    _Atomic uint32_t deaths;
    _Atomic uint64_t lives;
    uint64_t lives_max;
    _Atomic uint32_t alive;
    _Atomic jzx_actor_id ids[SLOTS];
    uint32_t slots[SLOTS];
    atomic_bool is_over;
} s;

static uint64_t next_random(uint64_t *state) {
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    return z ^ (z >> 27);
}

/* A third never, a third soon, a third at once. */
static uint64_t random_deadline(uint64_t *random) {
    uint64_t r = next_random(random) % 3;
    return r == 0 ? JZX_NEVER : r == 1 ? jzx_loop_now(s.loop) + JZX_US(50) : 0;
}

static bool was_taken(jzx_err err) {
    if (err == JZX_OK || err == JZX_ERR_OWNER_DIED)
        return true;
    JZX_EXPECT_EQ(err, JZX_ERR_TIMEOUT);
    return false;
}

/* ctx is NULL for a thread. A fiber may be killed here. */
static void linger(jzx_context *ctx) {
    if (ctx != NULL)
        jzx_yield(ctx);
    else
        sched_yield();
}

static void visit_mutex(jzx_context *ctx, uint64_t *random) {
    uint64_t deadline_ns = random_deadline(random);
    jzx_err err = next_random(random) % 4 == 0 ? jzx_mutex_try_lock(ctx, &s.mutex)
                  : ctx != NULL                ? jzx_mutex_lock(ctx, &s.mutex, deadline_ns)
                                               : jzx_mutex_lock_wait(&s.mutex, deadline_ns);
    if (!was_taken(err))
        return;
    if (err == JZX_ERR_OWNER_DIED) {
        s.inside = 0;
        atomic_fetch_add(&s.repairs, 1);
    }
    JZX_EXPECT_EQ(s.inside, 0);
    s.inside++;
    s.done++;
    linger(ctx);
    JZX_EXPECT_EQ(s.inside, 1);
    s.inside--;
    JZX_EXPECT_EQ(jzx_mutex_unlock(ctx, &s.mutex), JZX_OK);
}

static void visit_semaphore(jzx_context *ctx, uint64_t *random) {
    uint32_t count = 1 + (uint32_t)(next_random(random) % PERMITS);
    uint64_t deadline_ns = random_deadline(random);
    jzx_err err = next_random(random) % 4 == 0 ? jzx_semaphore_try_acquire(ctx, &s.semaphore, count)
                  : ctx != NULL ? jzx_semaphore_acquire(ctx, &s.semaphore, count, deadline_ns)
                                : jzx_semaphore_acquire_wait(&s.semaphore, count, deadline_ns);
    if (!was_taken(err))
        return;
    JZX_EXPECT(atomic_fetch_add(&s.permits_out, count) + count <= PERMITS);
    linger(ctx);
    atomic_fetch_sub(&s.permits_out, count);
    JZX_EXPECT_EQ(jzx_semaphore_release(ctx, &s.semaphore, count), JZX_OK);
}

static void read_both(jzx_context *ctx, uint64_t deadline_ns) {
    jzx_err err = ctx != NULL ? jzx_rwlock_lock_read(ctx, &s.rwlock, deadline_ns)
                              : jzx_rwlock_lock_read_wait(&s.rwlock, deadline_ns);
    if (!was_taken(err))
        return;
    uint64_t a = s.a;
    linger(ctx);
    JZX_EXPECT_EQ(s.b, a);
    JZX_EXPECT_EQ(jzx_rwlock_unlock_read(ctx, &s.rwlock), JZX_OK);
}

static void write_both(jzx_context *ctx, uint64_t deadline_ns) {
    jzx_err err = ctx != NULL ? jzx_rwlock_lock_write(ctx, &s.rwlock, deadline_ns)
                              : jzx_rwlock_lock_write_wait(&s.rwlock, deadline_ns);
    if (!was_taken(err))
        return;
    s.a++;
    s.b++;
    linger(ctx);
    JZX_EXPECT_EQ(jzx_rwlock_unlock_write(ctx, &s.rwlock), JZX_OK);
}

/* Ends any of the fibers, wherever it is. */
static void kill_some(uint64_t *random) {
    if (next_random(random) % 32 == 0)
        (void)jzx_actor_stop(s.loop, atomic_load(&s.ids[next_random(random) % SLOTS]),
                             JZX_STOP_KILL);
}

static void visit(jzx_context *ctx, uint64_t *random) {
    kill_some(random);
    switch (next_random(random) % 4) {
    case 0: visit_mutex(ctx, random); break;
    case 1: visit_semaphore(ctx, random); break;
    case 2: read_both(ctx, random_deadline(random)); break;
    default: write_both(ctx, random_deadline(random)); break;
    }
}

/* ---- fibers ---- */

static void live(jzx_context *ctx) {
    uint64_t random = ctx->self;
    jzx_test_ran();
    for (uint32_t i = 0; i < VISITS; i++)
        visit(ctx, &random);
}

static void spawn_next(jzx_context *ctx, jzx_exit_reason reason);

static void spawn(uint32_t *slot) {
    jzx_actor_id id = JZX_NOBODY;
    if (atomic_fetch_add(&s.lives, 1) >= s.lives_max)
        return;
    atomic_fetch_add(&s.alive, 1);
    jzx_spawn_opts opts = JZX_SPAWN_OPTS(.fiber = live, .state = slot, .cleanup = spawn_next,
                                         .migratable = *slot % 2 == 0);
    if (JZX_EXPECT_EQ(jzx_spawn(s.loop, &opts, &id), JZX_OK))
        atomic_store(&s.ids[*slot], id);
}

static void spawn_next(jzx_context *ctx, jzx_exit_reason reason) {
    (void)reason;
    spawn(ctx->state);
    if (atomic_fetch_sub(&s.alive, 1) == 1)
        atomic_store(&s.is_over, true);
}

/* Before what it had is released. */
static void note_death(void *ctx, const jzx_event *event) {
    (void)ctx;
    if (event->kind != JZX_EVENT_OWNER_DIED)
        return;
    atomic_fetch_add(&s.deaths, 1);
    if (strstr(event->detail, "permits") != NULL)
        atomic_fetch_sub(&s.permits_out, (int64_t)event->count);
}

/* ---- threads ---- */

static void *be_thread(void *arg) {
    uint64_t random = 77 + (uint64_t)(uintptr_t)arg;
    while (!atomic_load(&s.is_over))
        visit(NULL, &random);
    JZX_EXPECT_EQ(jzx_loop_release(s.loop), JZX_OK);
    return NULL;
}

static void run(uint32_t workers) {
    pthread_t threads[THREADS];
    memset(&s, 0, sizeof s);
    s.lives_max = jzx_test_rounds(3000, 60000);
    s.loop = fixture_loop_with(&JZX_CONFIG(.workers = workers));
    assert_int_equal(jzx_loop_set_observer(s.loop, &JZX_OBSERVER(.on_event = note_death), NULL),
                     JZX_OK);
    assert_int_equal(jzx_mutex_init(s.loop, &s.mutex), JZX_OK);
    assert_int_equal(jzx_semaphore_init(s.loop, &s.semaphore, PERMITS, PERMITS), JZX_OK);
    assert_int_equal(jzx_rwlock_init(s.loop, &s.rwlock), JZX_OK);
    for (uint32_t i = 0; i < SLOTS; i++) {
        s.slots[i] = i;
        spawn(&s.slots[i]);
    }
    for (uintptr_t i = 0; i < THREADS; i++) {
        assert_int_equal(jzx_loop_hold(s.loop), JZX_OK);
        assert_int_equal(pthread_create(&threads[i], NULL, be_thread, (void *)i), 0);
    }
    assert_int_equal(jzx_loop_run(s.loop), JZX_OK);
    for (uint32_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(jzx_test_runs() > 0, 1);
    assert_int_equal(atomic_load(&s.deaths) > 0, 1);
    assert_int_equal(atomic_load(&s.permits_out), 0);
    assert_int_equal(jzx_semaphore_available(&s.semaphore), PERMITS);
    fixture_destroy(s.loop);
    assert_int_equal(jzx_mutex_deinit(&s.mutex), JZX_OK);
    assert_int_equal(jzx_semaphore_deinit(&s.semaphore), JZX_OK);
    assert_int_equal(jzx_rwlock_deinit(&s.rwlock), JZX_OK);
}

JZX_TEST(locks_hold_under_threads_cancels_and_kills_on_one_worker, "E57") {
    run(1);
}

JZX_TEST(locks_hold_under_threads_cancels_and_kills_on_several_workers, "E57") {
    run(3);
}
