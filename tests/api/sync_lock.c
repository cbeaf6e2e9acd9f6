/* SPDX-License-Identifier: MIT */
/* Mutex, semaphore and rwlock: who gets them and in which order, who may not, and what becomes of
 * them when an actor ends. */
#include "puppets.h"

#include <jzx/observe.h>

enum { PUPPETS = 5 };

static struct {
    struct timing timing;
    struct puppet puppets[PUPPETS];
    jzx_mutex mutex;
    jzx_semaphore semaphore;
    jzx_rwlock rwlock;
    uint32_t deaths; /* events */
    jzx_actor_id dead;
    char detail[64];
    uint64_t count;
} s;

static void note_event(void *ctx, const jzx_event *event) {
    (void)ctx;
    if (event->kind != JZX_EVENT_OWNER_DIED)
        return;
    s.deaths++;
    s.dead = event->actor;
    s.count = event->count;
    snprintf(s.detail, sizeof s.detail, "%s", event->detail);
}

static void set_up(void) {
    memset(&s, 0, sizeof s);
    s.timing = timing_open();
    assert_int_equal(
        jzx_loop_set_observer(s.timing.loop, &JZX_OBSERVER(.on_event = note_event), NULL), JZX_OK);
    for (int i = 0; i < PUPPETS; i++)
        puppet_spawn(&s.puppets[i], &s.timing);
    assert_int_equal(jzx_mutex_init(s.timing.loop, &s.mutex), JZX_OK);
    assert_int_equal(jzx_semaphore_init(s.timing.loop, &s.semaphore, 4, 4), JZX_OK);
    assert_int_equal(jzx_rwlock_init(s.timing.loop, &s.rwlock), JZX_OK);
}

/* The objects are there after the loop. */
static void tear_down(void) {
    timing_close(&s.timing);
    assert_int_equal(jzx_mutex_deinit(&s.mutex), JZX_OK);
    assert_int_equal(jzx_semaphore_deinit(&s.semaphore), JZX_OK);
    assert_int_equal(jzx_rwlock_deinit(&s.rwlock), JZX_OK);
}

static jzx_err lock(jzx_context *ctx, struct puppet *puppet) {
    return jzx_mutex_lock(ctx, puppet->object, puppet->deadline_ns);
}

static jzx_err try_lock(jzx_context *ctx, struct puppet *puppet) {
    return jzx_mutex_try_lock(ctx, puppet->object);
}

static jzx_err unlock(jzx_context *ctx, struct puppet *puppet) {
    return jzx_mutex_unlock(ctx, puppet->object);
}

static jzx_err acquire(jzx_context *ctx, struct puppet *puppet) {
    return jzx_semaphore_acquire(ctx, puppet->object, (uint32_t)puppet->number,
                                 puppet->deadline_ns);
}

static jzx_err release(jzx_context *ctx, struct puppet *puppet) {
    return jzx_semaphore_release(ctx, puppet->object, (uint32_t)puppet->number);
}

static jzx_err forget(jzx_context *ctx, struct puppet *puppet) {
    return jzx_semaphore_forget(ctx, puppet->object, (uint32_t)puppet->number);
}

static jzx_err lock_read(jzx_context *ctx, struct puppet *puppet) {
    return jzx_rwlock_lock_read(ctx, puppet->object, puppet->deadline_ns);
}

static jzx_err unlock_read(jzx_context *ctx, struct puppet *puppet) {
    return jzx_rwlock_unlock_read(ctx, puppet->object);
}

static jzx_err lock_write(jzx_context *ctx, struct puppet *puppet) {
    return jzx_rwlock_lock_write(ctx, puppet->object, puppet->deadline_ns);
}

static jzx_err unlock_write(jzx_context *ctx, struct puppet *puppet) {
    return jzx_rwlock_unlock_write(ctx, puppet->object);
}

static jzx_err stop_itself(jzx_context *ctx, struct puppet *puppet) {
    (void)puppet;
    jzx_exit(ctx, JZX_EXIT_FAIL, "as told");
}

/* ---- mutex ---- */

JZX_TEST(a_mutex_goes_from_one_to_the_next_in_order, "E57") {
    set_up();
    assert_true(puppet_do(&s.puppets[0], lock, &s.mutex, JZX_NEVER));
    for (int i = 1; i < PUPPETS; i++)
        assert_false(puppet_do(&s.puppets[i], lock, &s.mutex, JZX_NEVER));
    jzx_actor_info info = info_of(s.timing.loop, s.puppets[1].id);
    assert_int_equal(info.wait, JZX_WAIT_MUTEX);
    assert_ptr_equal((void *)(uintptr_t)info.wait_object, &s.mutex);
    assert_string_equal(jzx_wait_name(info.wait), "a mutex");
    for (int i = 0; i < PUPPETS; i++) {
        for (int k = 0; k < PUPPETS; k++)
            JZX_EXPECT_EQ(puppet_waits(&s.puppets[k]), k > i);
        puppet_gets(&s.puppets[i], JZX_OK);
        puppet_expect(&s.puppets[i], unlock, &s.mutex, JZX_OK);
    }
    puppet_expect(&s.puppets[0], lock, &s.mutex, JZX_OK); /* it is free again */
    puppet_expect(&s.puppets[0], unlock, &s.mutex, JZX_OK);
    assert_int_equal(s.deaths, 0);
    tear_down();
}

JZX_TEST(a_lock_that_timed_out_was_not_taken, "E57", "E+sem") {
    set_up();
    puppet_do(&s.puppets[0], lock, &s.mutex, JZX_NEVER);
    assert_false(puppet_do(&s.puppets[1], lock, &s.mutex, JZX_MS(5)));
    assert_false(puppet_do(&s.puppets[2], lock, &s.mutex, JZX_MS(9)));
    timing_advance(&s.timing, JZX_MS(5) - 1);
    assert_true(puppet_waits(&s.puppets[1]));
    timing_advance(&s.timing, 1);
    puppet_gets(&s.puppets[1], JZX_ERR_TIMEOUT);
    puppet_expect(&s.puppets[1], unlock, &s.mutex, JZX_ERR_NOT_OWNER);
    puppet_expect(&s.puppets[1], lock, &s.mutex, JZX_ERR_TIMEOUT); /* a look */
    puppet_expect(&s.puppets[1], try_lock, &s.mutex, JZX_ERR_TIMEOUT);
    puppet_expect(&s.puppets[0], unlock, &s.mutex, JZX_OK);
    puppet_gets(&s.puppets[2], JZX_OK);
    puppet_expect(&s.puppets[2], unlock, &s.mutex, JZX_OK);
    tear_down();
}

JZX_TEST(a_mutex_is_unlocked_by_its_owner_alone_and_not_locked_twice, "E57") {
    set_up();
    puppet_expect(&s.puppets[0], unlock, &s.mutex, JZX_ERR_NOT_OWNER);
    puppet_expect(&s.puppets[0], try_lock, &s.mutex, JZX_OK);
    puppet_expect(&s.puppets[0], lock, &s.mutex, JZX_ERR_BUSY);
    puppet_expect(&s.puppets[0], try_lock, &s.mutex, JZX_ERR_BUSY);
    puppet_expect(&s.puppets[1], unlock, &s.mutex, JZX_ERR_NOT_OWNER);
    assert_int_equal(jzx_mutex_unlock(NULL, &s.mutex), JZX_ERR_NOT_OWNER);
    assert_int_equal(jzx_mutex_try_lock(NULL, &s.mutex), JZX_ERR_TIMEOUT);
    puppet_expect(&s.puppets[0], unlock, &s.mutex, JZX_OK);
    assert_int_equal(jzx_mutex_try_lock(NULL, &s.mutex), JZX_OK); /* this thread */
    assert_int_equal(jzx_mutex_lock_wait(&s.mutex, 0), JZX_ERR_BUSY);
    puppet_expect(&s.puppets[0], unlock, &s.mutex, JZX_ERR_NOT_OWNER);
    assert_int_equal(jzx_mutex_unlock(NULL, &s.mutex), JZX_OK);
    tear_down();
}

JZX_TEST(a_fiber_that_is_killed_while_it_waits_is_passed_by, "E57") {
    set_up();
    puppet_do(&s.puppets[0], lock, &s.mutex, JZX_NEVER);
    for (int i = 1; i < PUPPETS; i++)
        puppet_do(&s.puppets[i], lock, &s.mutex, JZX_NEVER);
    puppet_kill(&s.puppets[1]);
    puppet_expect(&s.puppets[0], unlock, &s.mutex, JZX_OK);
    puppet_gets(&s.puppets[2], JZX_OK);
    assert_int_equal(s.deaths, 0);
    /* One that was handed the mutex, and is killed before it goes on. */
    s.puppets[2].fn = unlock;
    fixture_send(s.timing.loop, s.puppets[2].id, TAG_OBEY);
    assert_int_equal(jzx_actor_stop(s.timing.loop, s.puppets[3].id, JZX_STOP_KILL), JZX_OK);
    timing_step(&s.timing);
    puppet_gets(&s.puppets[4], JZX_OK);
    assert_int_equal(s.deaths, 0);
    puppet_expect(&s.puppets[4], unlock, &s.mutex, JZX_OK);
    tear_down();
}

JZX_TEST(the_next_owner_is_told_once_that_the_last_one_died, "E57") {
    set_up();
    puppet_do(&s.puppets[0], lock, &s.mutex, JZX_NEVER);
    puppet_do(&s.puppets[1], lock, &s.mutex, JZX_NEVER);
    puppet_do(&s.puppets[2], lock, &s.mutex, JZX_NEVER);
    jzx_actor_id dead = s.puppets[0].id;
    puppet_kill(&s.puppets[0]);
    puppet_gets(&s.puppets[1], JZX_ERR_OWNER_DIED);
    assert_int_equal(s.deaths, 1);
    assert_int_equal(s.dead, dead);
    assert_non_null(strstr(s.detail, "a mutex at 0x"));
    puppet_expect(&s.puppets[1], unlock, &s.mutex, JZX_OK);
    puppet_gets(&s.puppets[2], JZX_OK);
    puppet_do(&s.puppets[2], stop_itself, NULL, 0); /* and nobody waits */
    assert_int_equal(s.deaths, 2);
    puppet_expect(&s.puppets[3], try_lock, &s.mutex, JZX_ERR_OWNER_DIED);
    puppet_expect(&s.puppets[3], unlock, &s.mutex, JZX_OK);
    puppet_expect(&s.puppets[3], lock, &s.mutex, JZX_OK);
    puppet_expect(&s.puppets[3], unlock, &s.mutex, JZX_OK);
    tear_down();
}

JZX_TEST(a_handed_over_mutex_keeps_the_news_of_a_death_when_it_is_given_back, "E57") {
    set_up();
    for (int i = 0; i < 3; i++)
        puppet_do(&s.puppets[i], lock, &s.mutex, JZX_NEVER);
    assert_int_equal(jzx_actor_stop(s.timing.loop, s.puppets[0].id, JZX_STOP_KILL), JZX_OK);
    assert_int_equal(jzx_actor_stop(s.timing.loop, s.puppets[1].id, JZX_STOP_KILL), JZX_OK);
    timing_step(&s.timing);
    puppet_gets(&s.puppets[2], JZX_ERR_OWNER_DIED);
    assert_int_equal(s.deaths, 1); /* the second never knew that it had it */
    puppet_expect(&s.puppets[2], unlock, &s.mutex, JZX_OK);
    tear_down();
}

static void unlock_at_end(jzx_context *ctx, jzx_exit_reason reason) {
    (void)reason;
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_mutex_unlock(ctx, &s.mutex), JZX_OK);
    JZX_EXPECT_EQ(jzx_mutex_unlock(ctx, &s.mutex), JZX_ERR_NOT_OWNER);
    JZX_EXPECT_EQ(jzx_mutex_lock(ctx, &s.mutex, JZX_NEVER), JZX_ERR_WOULD_SUSPEND);
    JZX_EXPECT_EQ(jzx_rwlock_unlock_write(ctx, &s.rwlock), JZX_OK);
    JZX_EXPECT_EQ(jzx_semaphore_release(ctx, &s.semaphore, 3), JZX_OK);
}

static void lock_all(jzx_context *ctx) {
    jzx_message msg;
    JZX_EXPECT_EQ(jzx_mutex_lock(ctx, &s.mutex, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_rwlock_lock_write(ctx, &s.rwlock, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_semaphore_acquire(ctx, &s.semaphore, 3, JZX_NEVER), JZX_OK);
    jzx_receive(ctx, JZX_NEVER, &msg);
}

JZX_TEST(a_cleanup_may_give_back_what_its_actor_has, "E57") {
    set_up();
    jzx_actor_id id =
        fixture_spawn(s.timing.loop, &JZX_SPAWN_OPTS(.fiber = lock_all, .cleanup = unlock_at_end));
    timing_step(&s.timing);
    uint64_t before = jzx_test_runs();
    jzx_actor_stop(s.timing.loop, id, JZX_STOP_KILL);
    timing_step(&s.timing);
    assert_int_equal(jzx_test_runs(), before + 1);
    assert_int_equal(s.deaths, 0);
    puppet_expect(&s.puppets[0], try_lock, &s.mutex, JZX_OK);
    puppet_expect(&s.puppets[0], unlock, &s.mutex, JZX_OK);
    assert_int_equal(jzx_semaphore_available(&s.semaphore), 4);
    tear_down();
}

/* ---- behaviours ---- */

enum { TRY = 1, UNLOCK, REFUSED, DIE };

static jzx_behavior_result be_owner(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    switch (msg->tag) {
    case TRY: JZX_EXPECT_EQ(jzx_mutex_try_lock(ctx, &s.mutex), JZX_OK); break;
    case UNLOCK: JZX_EXPECT_EQ(jzx_mutex_unlock(ctx, &s.mutex), JZX_OK); break;
    case REFUSED:
        JZX_EXPECT_EQ(jzx_mutex_lock(ctx, &s.mutex, 0), JZX_ERR_WOULD_SUSPEND);
        JZX_EXPECT_EQ(jzx_mutex_lock_wait(&s.mutex, 0), JZX_ERR_WOULD_SUSPEND);
        JZX_EXPECT_EQ(jzx_semaphore_acquire(ctx, &s.semaphore, 1, 0), JZX_ERR_WOULD_SUSPEND);
        JZX_EXPECT_EQ(jzx_semaphore_acquire_wait(&s.semaphore, 1, 0), JZX_ERR_WOULD_SUSPEND);
        JZX_EXPECT_EQ(jzx_rwlock_lock_read(ctx, &s.rwlock, 0), JZX_ERR_WOULD_SUSPEND);
        JZX_EXPECT_EQ(jzx_rwlock_lock_write_wait(&s.rwlock, 0), JZX_ERR_WOULD_SUSPEND);
        break;
    default: return JZX_BEHAVIOR_FAIL;
    }
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_behaviour_tries_and_owns_and_does_not_wait, "E57") {
    set_up();
    jzx_actor_id id = fixture_spawn(s.timing.loop, &JZX_SPAWN_OPTS(.behavior = be_owner));
    fixture_send(s.timing.loop, id, REFUSED);
    fixture_send(s.timing.loop, id, TRY);
    timing_step(&s.timing);
    assert_false(puppet_do(&s.puppets[0], lock, &s.mutex, JZX_NEVER));
    fixture_send(s.timing.loop, id, UNLOCK); /* in another turn */
    timing_step(&s.timing);
    puppet_gets(&s.puppets[0], JZX_OK);
    puppet_expect(&s.puppets[0], unlock, &s.mutex, JZX_OK);
    fixture_send(s.timing.loop, id, TRY);
    fixture_send(s.timing.loop, id, DIE);
    timing_step(&s.timing);
    puppet_expect(&s.puppets[0], try_lock, &s.mutex, JZX_ERR_OWNER_DIED);
    puppet_expect(&s.puppets[0], unlock, &s.mutex, JZX_OK);
    assert_int_equal(s.deaths, 1);
    tear_down();
}

/* ---- semaphore ---- */

JZX_TEST(a_wait_for_many_permits_is_not_overtaken, "E57") {
    set_up();
    for (int i = 0; i < PUPPETS; i++)
        s.puppets[i].number = (uint64_t)i + 1;                               /* 1 2 3 4 5 */
    assert_true(puppet_do(&s.puppets[1], acquire, &s.semaphore, JZX_NEVER)); /* 2 are left */
    assert_false(puppet_do(&s.puppets[2], acquire, &s.semaphore, JZX_MS(4)));
    assert_false(puppet_do(&s.puppets[0], acquire, &s.semaphore, JZX_NEVER));
    assert_int_equal(jzx_semaphore_available(&s.semaphore), 2);
    assert_int_equal(jzx_semaphore_try_acquire(NULL, &s.semaphore, 1), JZX_ERR_TIMEOUT);
    timing_advance(&s.timing, JZX_MS(4)); /* it is in the way no more */
    puppet_gets(&s.puppets[2], JZX_ERR_TIMEOUT);
    puppet_gets(&s.puppets[0], JZX_OK);
    assert_int_equal(jzx_semaphore_available(&s.semaphore), 1);
    puppet_expect(&s.puppets[4], acquire, &s.semaphore, JZX_ERR_INVALID_ARG); /* above max */
    assert_false(puppet_do(&s.puppets[3], acquire, &s.semaphore, JZX_NEVER));
    s.puppets[2].number = 1;
    assert_false(puppet_do(&s.puppets[2], acquire, &s.semaphore, JZX_NEVER));
    puppet_kill(&s.puppets[3]); /* nor that one */
    puppet_gets(&s.puppets[2], JZX_OK);
    puppet_expect(&s.puppets[0], release, &s.semaphore, JZX_OK);
    puppet_expect(&s.puppets[1], release, &s.semaphore, JZX_OK);
    puppet_expect(&s.puppets[2], release, &s.semaphore, JZX_OK);
    assert_int_equal(jzx_semaphore_available(&s.semaphore), 4);
    tear_down();
}

JZX_TEST(permits_have_owners_can_be_forgotten_and_added, "E57") {
    set_up();
    s.puppets[0].number = 2;
    puppet_expect(&s.puppets[0], acquire, &s.semaphore, JZX_OK);
    s.puppets[0].number = 1;
    puppet_expect(&s.puppets[0], acquire, &s.semaphore, JZX_OK);
    assert_int_equal(jzx_semaphore_deinit(&s.semaphore), JZX_ERR_BUSY);
    s.puppets[1].number = 1;
    puppet_expect(&s.puppets[1], acquire, &s.semaphore, JZX_OK);
    puppet_expect(&s.puppets[2], forget, &s.semaphore, JZX_ERR_INVALID_ARG); /* 0 */
    s.puppets[2].number = 1;
    puppet_expect(&s.puppets[2], forget, &s.semaphore, JZX_ERR_NOT_OWNER);
    puppet_expect(&s.puppets[0], forget, &s.semaphore, JZX_OK);
    puppet_kill(&s.puppets[0]); /* two of its three come back */
    assert_int_equal(s.deaths, 1);
    assert_int_equal(s.count, 2);
    assert_int_equal(jzx_semaphore_available(&s.semaphore), 2);
    puppet_expect(&s.puppets[2], acquire, &s.semaphore, JZX_ERR_OWNER_DIED);
    puppet_expect(&s.puppets[2], acquire, &s.semaphore, JZX_OK);
    assert_int_equal(jzx_semaphore_release(NULL, &s.semaphore, 1), JZX_OK); /* the forgotten one */
    s.puppets[2].number = 3; /* its two, and one of the first puppet's kind: there is no room */
    assert_int_equal(jzx_semaphore_release(NULL, &s.semaphore, 4), JZX_ERR_FULL);
    puppet_expect(&s.puppets[2], release, &s.semaphore, JZX_OK);
    assert_int_equal(jzx_semaphore_available(&s.semaphore), 4);
    puppet_kill(&s.puppets[1]); /* its permit was added in its place */
    assert_int_equal(jzx_semaphore_available(&s.semaphore), 4);
    assert_int_equal(jzx_semaphore_release(NULL, &s.semaphore, 1), JZX_ERR_FULL);
    tear_down();
}

/* ---- rwlock ---- */

JZX_TEST(readers_share_and_wait_behind_a_writer_that_waits, "E57") {
    set_up();
    puppet_expect(&s.puppets[0], lock_read, &s.rwlock, JZX_OK);
    puppet_expect(&s.puppets[1], lock_read, &s.rwlock, JZX_OK);
    assert_false(puppet_do(&s.puppets[2], lock_write, &s.rwlock, JZX_NEVER));
    assert_false(puppet_do(&s.puppets[3], lock_read, &s.rwlock, JZX_NEVER));
    assert_false(puppet_do(&s.puppets[4], lock_read, &s.rwlock, JZX_NEVER));
    assert_int_equal(jzx_rwlock_try_lock_read(NULL, &s.rwlock), JZX_ERR_TIMEOUT);
    puppet_expect(&s.puppets[0], unlock_read, &s.rwlock, JZX_OK);
    assert_true(puppet_waits(&s.puppets[2]));
    puppet_expect(&s.puppets[1], unlock_read, &s.rwlock, JZX_OK);
    puppet_gets(&s.puppets[2], JZX_OK);
    assert_true(puppet_waits(&s.puppets[3]) && puppet_waits(&s.puppets[4]));
    assert_int_equal(jzx_rwlock_deinit(&s.rwlock), JZX_ERR_BUSY);
    puppet_expect(&s.puppets[2], unlock_write, &s.rwlock, JZX_OK);
    puppet_gets(&s.puppets[3], JZX_OK); /* both at once */
    puppet_gets(&s.puppets[4], JZX_OK);
    assert_int_equal(jzx_rwlock_try_lock_read(NULL, &s.rwlock), JZX_OK);
    assert_int_equal(jzx_rwlock_unlock_read(NULL, &s.rwlock), JZX_OK);
    puppet_expect(&s.puppets[3], unlock_read, &s.rwlock, JZX_OK);
    puppet_expect(&s.puppets[4], unlock_read, &s.rwlock, JZX_OK);
    tear_down();
}

JZX_TEST(a_rwlock_refuses_a_second_lock_and_the_unlock_of_others, "E57") {
    set_up();
    puppet_expect(&s.puppets[0], unlock_read, &s.rwlock, JZX_ERR_NOT_OWNER);
    puppet_expect(&s.puppets[0], unlock_write, &s.rwlock, JZX_ERR_NOT_OWNER);
    puppet_expect(&s.puppets[0], lock_read, &s.rwlock, JZX_OK);
    puppet_expect(&s.puppets[0], lock_read, &s.rwlock, JZX_ERR_BUSY);
    puppet_expect(&s.puppets[0], lock_write, &s.rwlock, JZX_ERR_BUSY);
    puppet_expect(&s.puppets[0], unlock_write, &s.rwlock, JZX_ERR_NOT_OWNER);
    puppet_expect(&s.puppets[1], unlock_read, &s.rwlock, JZX_ERR_NOT_OWNER);
    assert_int_equal(jzx_rwlock_unlock_read(NULL, &s.rwlock), JZX_ERR_NOT_OWNER);
    puppet_expect(&s.puppets[0], unlock_read, &s.rwlock, JZX_OK);
    puppet_expect(&s.puppets[0], lock_write, &s.rwlock, JZX_OK);
    puppet_expect(&s.puppets[0], lock_read, &s.rwlock, JZX_ERR_BUSY);
    puppet_expect(&s.puppets[0], lock_write, &s.rwlock, JZX_ERR_BUSY);
    puppet_expect(&s.puppets[0], unlock_read, &s.rwlock, JZX_ERR_NOT_OWNER);
    puppet_expect(&s.puppets[1], unlock_write, &s.rwlock, JZX_ERR_NOT_OWNER);
    puppet_expect(&s.puppets[0], unlock_write, &s.rwlock, JZX_OK);
    tear_down();
}

JZX_TEST(a_dead_writer_is_news_and_a_dead_reader_is_not, "E57") {
    set_up();
    puppet_expect(&s.puppets[0], lock_read, &s.rwlock, JZX_OK);
    assert_false(puppet_do(&s.puppets[1], lock_write, &s.rwlock, JZX_NEVER));
    puppet_kill(&s.puppets[0]);
    puppet_gets(&s.puppets[1], JZX_OK);
    assert_int_equal(s.deaths, 1);
    assert_non_null(strstr(s.detail, "a read lock"));
    assert_false(puppet_do(&s.puppets[2], lock_read, &s.rwlock, JZX_NEVER));
    assert_false(puppet_do(&s.puppets[3], lock_read, &s.rwlock, JZX_NEVER));
    puppet_kill(&s.puppets[1]);
    assert_non_null(strstr(s.detail, "a write lock"));
    puppet_gets(&s.puppets[2], JZX_ERR_OWNER_DIED);
    puppet_gets(&s.puppets[3], JZX_OK);
    tear_down(); /* which ends readers with their locks */
    assert_int_equal(s.deaths, 4);
}

/* ---- fibers that work off their queue ---- */

JZX_TEST(a_fiber_that_drains_does_not_wait_for_locks, "E57") {
    set_up();
    puppet_expect(&s.puppets[0], lock, &s.mutex, JZX_OK);
    assert_false(puppet_do(&s.puppets[1], lock, &s.mutex, JZX_NEVER));
    jzx_actor_stop(s.timing.loop, s.puppets[1].id, JZX_STOP_AFTER_QUEUE);
    timing_step(&s.timing);
    puppet_gets(&s.puppets[1], JZX_ERR_CANCELLED);
    puppet_expect(&s.puppets[0], unlock, &s.mutex, JZX_OK);
    assert_int_equal(jzx_mutex_try_lock(NULL, &s.mutex), JZX_OK);
    assert_int_equal(jzx_mutex_unlock(NULL, &s.mutex), JZX_OK);
    tear_down();
}

/* ---- misuse ---- */

static jzx_context kept;

static jzx_err keep_context(jzx_context *ctx, struct puppet *puppet) {
    (void)puppet;
    kept = *ctx;
    return JZX_OK;
}

JZX_TEST(objects_and_contexts_that_are_none_are_refused, "E57") {
    static jzx_mutex copy;
    set_up();
    copy = s.mutex;
    assert_int_equal(jzx_mutex_init(s.timing.loop, &s.mutex), JZX_ERR_BUSY);
    assert_int_equal(jzx_semaphore_init(s.timing.loop, &s.semaphore, 1, 1), JZX_ERR_BUSY);
    assert_int_equal(jzx_rwlock_init(s.timing.loop, &s.rwlock), JZX_ERR_BUSY);
    assert_int_equal(jzx_mutex_init(NULL, &copy), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_mutex_init(s.timing.loop, NULL), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_semaphore_init(s.timing.loop, (void *)&copy, 0, 0), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_semaphore_init(s.timing.loop, (void *)&copy, 2, 1), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_semaphore_init(s.timing.loop, (void *)&copy, 0, JZX_SEMAPHORE_MAX + 1),
                     JZX_ERR_INVALID_ARG);
    void *const wrong[] = {NULL, &copy, &s.semaphore};
    for (int i = 0; i < 3; i++) {
        puppet_expect(&s.puppets[0], lock, wrong[i], JZX_ERR_INVALID_ARG);
        puppet_expect(&s.puppets[0], try_lock, wrong[i], JZX_ERR_INVALID_ARG);
        puppet_expect(&s.puppets[0], unlock, wrong[i], JZX_ERR_INVALID_ARG);
        puppet_expect(&s.puppets[0], lock_read, wrong[i], JZX_ERR_INVALID_ARG);
        puppet_expect(&s.puppets[0], unlock_write, wrong[i], JZX_ERR_INVALID_ARG);
        assert_int_equal(jzx_mutex_deinit(wrong[i]), JZX_ERR_INVALID_ARG);
        assert_int_equal(jzx_mutex_lock_wait(wrong[i], 0), JZX_ERR_INVALID_ARG);
        assert_int_equal(jzx_rwlock_deinit(wrong[i]), JZX_ERR_INVALID_ARG);
    }
    assert_int_equal(jzx_semaphore_available((void *)&s.mutex), 0);
    puppet_expect(&s.puppets[0], keep_context, NULL, JZX_OK);
    assert_int_equal(jzx_mutex_try_lock(&kept, &s.mutex), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_mutex_unlock(&kept, &s.mutex), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_semaphore_release(&kept, &s.semaphore, 1), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_mutex_lock(NULL, &s.mutex, 0), JZX_ERR_INVALID_ARG);
    tear_down();
    assert_int_equal(jzx_mutex_deinit(&s.mutex), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_mutex_try_lock(NULL, &s.mutex), JZX_ERR_INVALID_ARG);
}

JZX_TEST(an_object_is_busy_while_it_is_had_or_waited_for, "E57") {
    set_up();
    puppet_expect(&s.puppets[0], lock, &s.mutex, JZX_OK);
    assert_int_equal(jzx_mutex_deinit(&s.mutex), JZX_ERR_BUSY);
    s.puppets[1].number = 4;
    assert_int_equal(jzx_semaphore_try_acquire(NULL, &s.semaphore, 2), JZX_OK);
    assert_false(puppet_do(&s.puppets[1], acquire, &s.semaphore, JZX_NEVER));
    assert_int_equal(jzx_semaphore_deinit(&s.semaphore), JZX_ERR_BUSY);
    assert_int_equal(jzx_semaphore_release(NULL, &s.semaphore, 2), JZX_OK);
    timing_step(&s.timing);
    puppet_gets(&s.puppets[1], JZX_OK);
    puppet_expect(&s.puppets[1], release, &s.semaphore, JZX_OK);
    puppet_expect(&s.puppets[0], unlock, &s.mutex, JZX_OK);
    tear_down();
}

static jzx_loop *other_loop;

static void use_others(jzx_context *ctx) {
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_mutex_lock(ctx, &s.mutex, 0), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_mutex_try_lock(ctx, &s.mutex), JZX_ERR_INVALID_ARG);
}

JZX_TEST(an_actor_of_another_loop_is_refused, "E57") {
    set_up();
    other_loop = fixture_loop();
    fixture_spawn(other_loop, &JZX_SPAWN_OPTS(.fiber = use_others));
    assert_int_equal(jzx_loop_run(other_loop), JZX_OK);
    assert_int_equal(jzx_test_runs(), 1);
    fixture_destroy(other_loop);
    tear_down();
}

/* ---- memory ---- */

static void *hoard;

/* Takes all blocks that the loop has, while it gets no more from the allocator. */
static void hoard_blocks(jzx_loop *loop) {
    void **block;
    fixture_fail_allocations(0, UINT64_MAX);
    while ((block = jzx_msg_alloc(loop, sizeof(void *), NULL)) != NULL) {
        *block = hoard;
        hoard = block;
    }
}

static void free_blocks(jzx_loop *loop) {
    fixture_fail_allocations(UINT64_MAX, 0);
    while (hoard != NULL) {
        void *block = hoard;
        hoard = *(void **)block;
        jzx_msg_free(loop, block);
    }
}

static puppet_fn const first_locks[] = {lock, acquire, lock_read, lock_write};

static jzx_err lock_without_memory(jzx_context *ctx, struct puppet *puppet) {
    hoard_blocks(ctx->loop);
    jzx_err err = first_locks[puppet->value](ctx, puppet);
    free_blocks(ctx->loop);
    return err;
}

JZX_TEST(a_lock_without_memory_is_an_error_and_not_taken, "E57") {
    set_up();
    void *const objects[] = {&s.mutex, &s.semaphore, &s.rwlock, &s.rwlock};
    for (uint32_t i = 0; i < 4; i++) {
        s.puppets[i].value = i;
        s.puppets[i].number = 1;
        puppet_expect(&s.puppets[i], lock_without_memory, objects[i], JZX_ERR_NO_MEMORY);
    }
    assert_int_equal(jzx_mutex_try_lock(NULL, &s.mutex), JZX_OK);
    assert_int_equal(jzx_mutex_unlock(NULL, &s.mutex), JZX_OK);
    assert_int_equal(jzx_semaphore_available(&s.semaphore), 4);
    assert_int_equal(jzx_rwlock_try_lock_write(NULL, &s.rwlock), JZX_OK);
    assert_int_equal(jzx_rwlock_unlock_write(NULL, &s.rwlock), JZX_OK);
    puppet_expect(&s.puppets[0], lock, &s.mutex, JZX_OK);
    puppet_expect(&s.puppets[0], unlock, &s.mutex, JZX_OK);
    puppet_expect(&s.puppets[0], lock_without_memory, &s.mutex, JZX_OK); /* it has its record */
    tear_down();
}
