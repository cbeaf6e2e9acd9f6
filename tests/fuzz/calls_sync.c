/* SPDX-License-Identifier: MIT */
/* Locks, semaphores, channels, gates, groups, barriers, once, broadcasts, select. The objects are
 * those of the round. Without an actor's context a thread is the owner, and gives back at once what
 * it gets: threads that end are not noticed. */
#include "fuzz.h"

#define SYNC(kind) (&f->round->sync.kind[fuzz_below(f, FUZZ_SYNC)])
#define MUTEX OR_NULL(SYNC(mutex))
#define SEMAPHORE OR_NULL(SYNC(semaphore))
#define RWLOCK OR_NULL(SYNC(rwlock))
#define CHANNEL OR_NULL(SYNC(channel))
#define GATE OR_NULL(SYNC(gate))
#define WAIT_GROUP OR_NULL(SYNC(wait_group))
#define BARRIER OR_NULL(SYNC(barrier))
#define ONCE OR_NULL(SYNC(once))
#define BROADCAST OR_NULL(SYNC(broadcast))

/* ---- locks ---- */

CALL(jzx_mutex_lock, CTX, MUTEX, WHEN);
BEGIN(jzx_mutex_lock_to, CTX, MUTEX);
CALL(jzx_mutex_unlock, CTX, MUTEX);

static void do_jzx_mutex_lock_wait(struct fuzz *f) {
    jzx_mutex *mutex = MUTEX;
    jzx_err err = (jzx_err)fuzz_status(f, jzx_mutex_lock_wait(mutex, WHEN));
    if (err == JZX_OK || err == JZX_ERR_OWNER_DIED)
        fuzz_status(f, jzx_mutex_unlock(NULL, mutex));
}

static void do_jzx_mutex_try_lock(struct fuzz *f) {
    jzx_mutex *mutex = MUTEX;
    jzx_context *ctx = f->ctx != NULL ? CTX : NULL;
    jzx_err err = (jzx_err)fuzz_status(f, jzx_mutex_try_lock(ctx, mutex));
    if ((err == JZX_OK || err == JZX_ERR_OWNER_DIED) && ctx == NULL)
        fuzz_status(f, jzx_mutex_unlock(NULL, mutex));
}

CALL(jzx_semaphore_acquire, CTX, SEMAPHORE, BELOW(6), WHEN);
BEGIN(jzx_semaphore_acquire_to, CTX, SEMAPHORE, BELOW(6));
CALL(jzx_semaphore_release, CTX, SEMAPHORE, (uint32_t)(fuzz_chance(f, 8) ? WORD : BELOW(3)));
CALL(jzx_semaphore_forget, CTX, SEMAPHORE, BELOW(3));
USE(jzx_semaphore_available, SEMAPHORE);

static void do_jzx_semaphore_acquire_wait(struct fuzz *f) {
    jzx_semaphore *semaphore = SEMAPHORE;
    uint32_t count = BELOW(6);
    jzx_err err = (jzx_err)fuzz_status(f, jzx_semaphore_acquire_wait(semaphore, count, WHEN));
    if (err == JZX_OK || err == JZX_ERR_OWNER_DIED)
        jzx_semaphore_release(NULL, semaphore, count);
}

static void do_jzx_semaphore_try_acquire(struct fuzz *f) {
    jzx_semaphore *semaphore = SEMAPHORE;
    jzx_context *ctx = f->ctx != NULL ? CTX : NULL;
    jzx_err err = (jzx_err)fuzz_status(f, jzx_semaphore_try_acquire(ctx, semaphore, 1));
    if ((err == JZX_OK || err == JZX_ERR_OWNER_DIED) && ctx == NULL)
        jzx_semaphore_release(NULL, semaphore, 1);
}

CALL(jzx_rwlock_lock_read, CTX, RWLOCK, WHEN);
BEGIN(jzx_rwlock_lock_read_to, CTX, RWLOCK);
CALL(jzx_rwlock_unlock_read, CTX, RWLOCK);
CALL(jzx_rwlock_lock_write, CTX, RWLOCK, WHEN);
BEGIN(jzx_rwlock_lock_write_to, CTX, RWLOCK);
CALL(jzx_rwlock_unlock_write, CTX, RWLOCK);

static void do_jzx_rwlock_lock_read_wait(struct fuzz *f) {
    jzx_rwlock *lock = RWLOCK;
    jzx_err err = (jzx_err)fuzz_status(f, jzx_rwlock_lock_read_wait(lock, WHEN));
    if (err == JZX_OK || err == JZX_ERR_OWNER_DIED)
        fuzz_status(f, jzx_rwlock_unlock_read(NULL, lock));
}

static void do_jzx_rwlock_lock_write_wait(struct fuzz *f) {
    jzx_rwlock *lock = RWLOCK;
    jzx_err err = (jzx_err)fuzz_status(f, jzx_rwlock_lock_write_wait(lock, WHEN));
    if (err == JZX_OK || err == JZX_ERR_OWNER_DIED)
        fuzz_status(f, jzx_rwlock_unlock_write(NULL, lock));
}

static void do_jzx_rwlock_try_lock_read(struct fuzz *f) {
    jzx_rwlock *lock = RWLOCK;
    jzx_context *ctx = f->ctx != NULL ? CTX : NULL;
    jzx_err err = (jzx_err)fuzz_status(f, jzx_rwlock_try_lock_read(ctx, lock));
    if ((err == JZX_OK || err == JZX_ERR_OWNER_DIED) && ctx == NULL)
        fuzz_status(f, jzx_rwlock_unlock_read(NULL, lock));
}

static void do_jzx_rwlock_try_lock_write(struct fuzz *f) {
    jzx_rwlock *lock = RWLOCK;
    jzx_context *ctx = f->ctx != NULL ? CTX : NULL;
    jzx_err err = (jzx_err)fuzz_status(f, jzx_rwlock_try_lock_write(ctx, lock));
    if ((err == JZX_OK || err == JZX_ERR_OWNER_DIED) && ctx == NULL)
        fuzz_status(f, jzx_rwlock_unlock_write(NULL, lock));
}

/* ---- their lives: with threads that use them meanwhile, only the inits, which are refused ---- */

/* No thread calls an object while another inits or deinits it: no job begins to act meanwhile. */
static bool begin_alone(struct fuzz *f) {
    int none = 0;
    return !f->round->has_threads && f->context != IN_JOB &&
           atomic_compare_exchange_strong(&f->round->jobs, &none, -1);
}

#define ALONE(call)                                                                                \
    do {                                                                                           \
        if (begin_alone(f)) {                                                                      \
            fuzz_status(f, call);                                                                  \
            atomic_store(&f->round->jobs, 0);                                                      \
        }                                                                                          \
    } while (0)

#define LIVES(kind, OBJECT, init)                                                                  \
    static void do_jzx_##kind##_init(struct fuzz *f) {                                             \
        jzx_##kind *object = OBJECT;                                                               \
        if (f->round->has_threads)                                                                 \
            fuzz_status(f, init);                                                                  \
        else                                                                                       \
            ALONE(init);                                                                           \
    }                                                                                              \
    static void do_jzx_##kind##_deinit(struct fuzz *f) {                                           \
        ALONE(jzx_##kind##_deinit(OBJECT));                                                        \
    }                                                                                              \
    struct fuzz

LIVES(mutex, MUTEX, jzx_mutex_init(LOOP, object));
LIVES(rwlock, RWLOCK, jzx_rwlock_init(LOOP, object));
LIVES(once, ONCE, jzx_once_init(LOOP, object));
LIVES(wait_group, WAIT_GROUP, jzx_wait_group_init(LOOP, object));
LIVES(gate, GATE, jzx_gate_init(LOOP, object, YES_OR_NO));
LIVES(semaphore, SEMAPHORE,
      jzx_semaphore_init(LOOP, object, BELOW(4), fuzz_chance(f, 8) ? UINT32_MAX : 4));
LIVES(channel, CHANNEL,
      jzx_channel_init(LOOP, object, fuzz_chance(f, 8) ? SIZE_MAX - 1 : BELOW(4),
                       fuzz_chance(f, 16) ? 0 : 8));
LIVES(barrier, BARRIER, jzx_barrier_init(LOOP, object, BELOW(4)));
LIVES(broadcast, BROADCAST,
      jzx_broadcast_init(LOOP, object, fuzz_chance(f, 8) ? SIZE_MAX / 8 : BELOW(4),
                         fuzz_chance(f, 16) ? 0 : 8));

static void do_jzx_channel_init_oneshot(struct fuzz *f) {
    fuzz_status(f, jzx_channel_init_oneshot(LOOP, CHANNEL, fuzz_chance(f, 8) ? SIZE_MAX : 8));
}

/* ---- channels ---- */

#define VALUE OR_NULL(&(uint64_t){0})

CALL(jzx_channel_send, CTX, CHANNEL, VALUE, WHEN);
CALL(jzx_channel_send_wait, CHANNEL, VALUE, WHEN);
BEGIN(jzx_channel_send_to, CTX, CHANNEL, VALUE);
CALL(jzx_channel_try_send, CHANNEL, VALUE);
CALL(jzx_channel_receive, CTX, CHANNEL, WHEN, VALUE);
CALL(jzx_channel_receive_wait, CHANNEL, WHEN, VALUE);
BEGIN(jzx_channel_receive_to, CTX, CHANNEL);
CALL(jzx_channel_try_receive, CHANNEL, VALUE);
CALL(jzx_channel_close, CHANNEL);
USE(jzx_channel_is_closed, CHANNEL);
USE(jzx_channel_count, CHANNEL);

/* ---- gates, groups, barriers, once ---- */

CALL(jzx_gate_open, GATE);
CALL(jzx_gate_close, GATE);
USE(jzx_gate_is_open, GATE);
CALL(jzx_gate_pass, CTX, GATE, WHEN);
CALL(jzx_gate_pass_wait, GATE, WHEN);
BEGIN(jzx_gate_pass_to, CTX, GATE);
CALL(jzx_wait_group_add, WAIT_GROUP, (uint32_t)(fuzz_chance(f, 24) ? WORD : BELOW(3)));
CALL(jzx_wait_group_done, WAIT_GROUP);
USE(jzx_wait_group_count, WAIT_GROUP);
CALL(jzx_wait_group_join, CTX, WAIT_GROUP, WHEN);
CALL(jzx_wait_group_join_wait, WAIT_GROUP, WHEN);
BEGIN(jzx_wait_group_join_to, CTX, WAIT_GROUP);
CALL(jzx_barrier_arrive, CTX, BARRIER, WHEN, OR_NULL(&(bool){false}));
CALL(jzx_barrier_arrive_wait, BARRIER, WHEN, OR_NULL(&(bool){false}));
BEGIN(jzx_barrier_arrive_to, CTX, BARRIER);

static jzx_err once(jzx_context *ctx, void *arg) {
    struct fuzz *f = arg; /* of the caller, which waits for this */
    if (ctx != NULL && f->ctx != ctx)
        fuzz_fail("the function of jzx_once_run has another context than its caller");
    fuzz_act(f, BELOW(2));
    return YES_OR_NO ? JZX_OK : JZX_ERR_FAILED;
}
CALL(jzx_once_run, CTX, ONCE, WHEN, OR_NULL(once), f);
CALL(jzx_once_run_wait, ONCE, WHEN, OR_NULL(once), f);
USE(jzx_once_is_done, ONCE);

/* ---- broadcasts: reader and version are the actor's, and used for one thing at a time ---- */

CALL(jzx_broadcast_publish, BROADCAST, VALUE);
CALL(jzx_broadcast_close, BROADCAST);
CALL(jzx_broadcast_latest, BROADCAST, VALUE, OR_NULL(&(uint64_t){0}));

#define IS_READER_FREE (f->me != NULL && !f->me->is_reader_busy)

static void do_jzx_broadcast_subscribe(struct fuzz *f) {
    jzx_reader reader;
    fuzz_status(f, jzx_broadcast_subscribe(BROADCAST, IS_READER_FREE ? &f->me->reader : &reader));
}

static void do_jzx_broadcast_read(struct fuzz *f) {
    if (IS_READER_FREE)
        fuzz_status(f, jzx_broadcast_read(CTX, &f->me->reader, WHEN, VALUE));
}

static void do_jzx_broadcast_try_read(struct fuzz *f) {
    if (IS_READER_FREE)
        fuzz_status(f, jzx_broadcast_try_read(&f->me->reader, VALUE));
}

static void do_jzx_broadcast_read_wait(struct fuzz *f) {
    jzx_reader reader = {0};
    if (jzx_broadcast_subscribe(SYNC(broadcast), &reader) == JZX_OK || fuzz_chance(f, 8))
        fuzz_status(f, jzx_broadcast_read_wait(OR_NULL(&reader), WHEN, VALUE));
}

static void do_jzx_broadcast_read_to(struct fuzz *f) {
    if (IS_READER_FREE && fuzz_status(f, jzx_broadcast_read_to(f->ctx, &f->me->reader,
                                                               FUZZ_TAG_READER, NULL)) == JZX_OK)
        f->me->is_reader_busy = true;
}

static void do_jzx_broadcast_changed(struct fuzz *f) {
    uint64_t version = BELOW(3);
    fuzz_status(f, jzx_broadcast_changed(CTX, BROADCAST, OR_NULL(&version), WHEN, VALUE));
}

static void do_jzx_broadcast_changed_wait(struct fuzz *f) {
    uint64_t version = BELOW(3);
    fuzz_status(f, jzx_broadcast_changed_wait(BROADCAST, OR_NULL(&version), WHEN, VALUE));
}

static void do_jzx_broadcast_changed_to(struct fuzz *f) {
    if (f->me == NULL || f->me->is_version_busy)
        return;
    if (fuzz_status(f, jzx_broadcast_changed_to(f->ctx, BROADCAST, &f->me->version,
                                                FUZZ_TAG_VERSION, NULL)) == JZX_OK)
        f->me->is_version_busy = true;
}

/* ---- select ---- */

/* Now and then more than a call has on its stack. */
enum { CASES = 40, VALUES = 4 };

/* Cases whose values are `values`, and no reader: that of the actor may be in use. */
static size_t make_cases(struct fuzz *f, jzx_case *cases, uint64_t *values, jzx_future *future) {
    size_t count = fuzz_chance(f, 24) ? 0 : 1 + BELOW(fuzz_chance(f, 4) ? CASES : 4);
    for (size_t i = 0; i < count; i++) {
        uint64_t *value = &values[i % VALUES];
        switch (fuzz_below(f, 5)) {
        case 0: cases[i] = jzx_gate_case(GATE); break;
        case 1: cases[i] = jzx_make_case(JZX_CASE_SEND, CHANNEL, value); break;
        case 2: cases[i] = jzx_future_case(future, NULL); break;
        case 3:
            if (fuzz_chance(f, 8)) {
                cases[i] = jzx_make_case((jzx_case_kind)9, CHANNEL, value);
                break;
            } /* fall through */
        default: cases[i] = jzx_make_case(JZX_CASE_RECEIVE, CHANNEL, value); break;
        }
    }
    return count;
}

static void do_jzx_select(struct fuzz *f) {
    jzx_case cases[CASES];
    uint64_t values[VALUES] = {0};
    size_t index;
    int ticket;
    jzx_future *future = fuzz_borrow(f, OF_FUTURE, &ticket);
    size_t count = make_cases(f, cases, values, future);
    fuzz_status(f, jzx_select(CTX, OR_NULL(cases), count, sizeof cases[0], WHEN, &index));
    fuzz_give_back(f, OF_FUTURE, ticket);
}

static void do_jzx_select_wait(struct fuzz *f) {
    jzx_case cases[CASES];
    uint64_t values[VALUES] = {0};
    size_t index;
    size_t count = make_cases(f, cases, values, NULL);
    fuzz_status(f, jzx_select_wait(OR_NULL(cases), count, sizeof cases[0], WHEN, &index));
}

/* The future is kept by an actor that waits for it: it is given back by nobody. */
static void do_jzx_select_to(struct fuzz *f) {
    jzx_case cases[CASES];
    int ticket;
    if (f->me == NULL || f->me->is_select_busy)
        return;
    jzx_future *future = fuzz_borrow(f, OF_FUTURE, &ticket);
    size_t count = make_cases(f, cases, (uint64_t *)(void *)f->me->value, future);
    if (fuzz_status(f, jzx_select_to(f->ctx, cases, count, sizeof cases[0], FUZZ_TAG_SELECT,
                                     NULL)) == JZX_OK)
        f->me->is_select_busy = true;
    else
        fuzz_give_back(f, OF_FUTURE, ticket);
}

static const struct fuzz_operation lock_operations[] = {
    ROW(jzx_mutex_init, 1, ANYWHERE),
    ROW(jzx_mutex_deinit, 1, ANYWHERE),
    ROW(jzx_mutex_lock, 6, ANYWHERE),
    ROW(jzx_mutex_lock_wait, 3, ANYWHERE),
    ROW(jzx_mutex_lock_to, 5, ANYWHERE),
    ROW(jzx_mutex_try_lock, 3, OWN_CODE | OFF_THE_LOOP),
    ROW(jzx_mutex_unlock, 6, ANYWHERE),
    ROW(jzx_semaphore_init, 1, ANYWHERE),
    ROW(jzx_semaphore_deinit, 1, ANYWHERE),
    ROW(jzx_semaphore_acquire, 6, ANYWHERE),
    ROW(jzx_semaphore_acquire_wait, 3, ANYWHERE),
    ROW(jzx_semaphore_acquire_to, 5, ANYWHERE),
    ROW(jzx_semaphore_try_acquire, 3, OWN_CODE | OFF_THE_LOOP),
    ROW(jzx_semaphore_release, 6, ANYWHERE),
    ROW(jzx_semaphore_forget, 1, ANYWHERE),
    ROW(jzx_semaphore_available, 1, ANYWHERE),
    ROW(jzx_rwlock_init, 1, ANYWHERE),
    ROW(jzx_rwlock_deinit, 1, ANYWHERE),
    ROW(jzx_rwlock_lock_read, 5, ANYWHERE),
    ROW(jzx_rwlock_lock_read_wait, 3, ANYWHERE),
    ROW(jzx_rwlock_lock_read_to, 5, ANYWHERE),
    ROW(jzx_rwlock_try_lock_read, 2, OWN_CODE | OFF_THE_LOOP),
    ROW(jzx_rwlock_unlock_read, 5, ANYWHERE),
    ROW(jzx_rwlock_lock_write, 4, ANYWHERE),
    ROW(jzx_rwlock_lock_write_wait, 3, ANYWHERE),
    ROW(jzx_rwlock_lock_write_to, 4, ANYWHERE),
    ROW(jzx_rwlock_try_lock_write, 2, OWN_CODE | OFF_THE_LOOP),
    ROW(jzx_rwlock_unlock_write, 5, ANYWHERE),
    ROW(jzx_once_init, 1, ANYWHERE),
    ROW(jzx_once_deinit, 1, ANYWHERE),
    ROW(jzx_once_run, 4, ANYWHERE),
    ROW(jzx_once_run_wait, 2, ANYWHERE),
    ROW(jzx_once_is_done, 1, ANYWHERE),
};
FUZZ_FAMILY(locks, lock_operations);

static const struct fuzz_operation channel_operations[] = {
    ROW(jzx_channel_init, 1, ANYWHERE),
    ROW(jzx_channel_init_oneshot, 1, ANYWHERE),
    ROW(jzx_channel_deinit, 1, ANYWHERE),
    ROW(jzx_channel_send, 6, ANYWHERE),
    ROW(jzx_channel_send_wait, 3, ANYWHERE),
    ROW(jzx_channel_send_to, 5, ANYWHERE),
    ROW(jzx_channel_try_send, 4, ANYWHERE),
    ROW(jzx_channel_receive, 6, ANYWHERE),
    ROW(jzx_channel_receive_wait, 3, ANYWHERE),
    ROW(jzx_channel_receive_to, 5, ANYWHERE),
    ROW(jzx_channel_try_receive, 4, ANYWHERE),
    ROW(jzx_channel_close, 1, ANYWHERE),
    ROW(jzx_channel_is_closed, 1, ANYWHERE),
    ROW(jzx_channel_count, 1, ANYWHERE),
    ROW(jzx_gate_init, 1, ANYWHERE),
    ROW(jzx_gate_deinit, 1, ANYWHERE),
    ROW(jzx_gate_open, 3, ANYWHERE),
    ROW(jzx_gate_close, 3, ANYWHERE),
    ROW(jzx_gate_is_open, 1, ANYWHERE),
    ROW(jzx_gate_pass, 4, ANYWHERE),
    ROW(jzx_gate_pass_wait, 2, ANYWHERE),
    ROW(jzx_gate_pass_to, 4, ANYWHERE),
    ROW(jzx_wait_group_init, 1, ANYWHERE),
    ROW(jzx_wait_group_deinit, 1, ANYWHERE),
    ROW(jzx_wait_group_add, 4, ANYWHERE),
    ROW(jzx_wait_group_done, 4, ANYWHERE),
    ROW(jzx_wait_group_count, 1, ANYWHERE),
    ROW(jzx_wait_group_join, 4, ANYWHERE),
    ROW(jzx_wait_group_join_wait, 2, ANYWHERE),
    ROW(jzx_wait_group_join_to, 4, ANYWHERE),
    ROW(jzx_barrier_init, 1, ANYWHERE),
    ROW(jzx_barrier_deinit, 1, ANYWHERE),
    ROW(jzx_barrier_arrive, 4, ANYWHERE),
    ROW(jzx_barrier_arrive_wait, 2, ANYWHERE),
    ROW(jzx_barrier_arrive_to, 4, ANYWHERE),
    ROW(jzx_broadcast_init, 1, ANYWHERE),
    ROW(jzx_broadcast_deinit, 1, ANYWHERE),
    ROW(jzx_broadcast_publish, 6, ANYWHERE),
    ROW(jzx_broadcast_close, 1, ANYWHERE),
    ROW(jzx_broadcast_subscribe, 4, ANYWHERE),
    ROW(jzx_broadcast_read, 4, OWN_CODE),
    ROW(jzx_broadcast_read_wait, 2, ANYWHERE),
    ROW(jzx_broadcast_read_to, 4, OWN_TURNS),
    ROW(jzx_broadcast_try_read, 3, OWN_CODE),
    ROW(jzx_broadcast_latest, 2, ANYWHERE),
    ROW(jzx_broadcast_changed, 4, ANYWHERE),
    ROW(jzx_broadcast_changed_wait, 2, ANYWHERE),
    ROW(jzx_broadcast_changed_to, 4, OWN_TURNS),
    ROW(jzx_select, 6, ANYWHERE),
    ROW(jzx_select_wait, 3, ANYWHERE),
    ROW(jzx_select_to, 5, OWN_TURNS),
};
FUZZ_FAMILY(channels, channel_operations);
