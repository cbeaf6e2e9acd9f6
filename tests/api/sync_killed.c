/* SPDX-License-Identifier: MIT */
/* An actor that was told to end while it waits has delivered nothing and takes nothing, though what
 * it waited for comes before it has ended. */
#include "puppets.h"

#include <jzx/exit.h>
#include <jzx/op.h>

JZX_CHANNEL(number, uint64_t)

enum { VICTIM, NEXT, KILLER, PUPPETS, FULL = 77 };

/* How an actor is told to end. */
enum how { KILLED, FAILED, STOPPED, HOWS };

static struct {
    struct timing timing;
    struct puppet puppets[PUPPETS];
    enum how how;
    uint32_t calls; /* of the killer's turn */
    number_channel channel;
    number_channel other; /* is empty, and stays so */
    jzx_mutex mutex;
    jzx_semaphore semaphore;
    jzx_rwlock rwlock;
    jzx_barrier barrier;
    size_t index;
    struct life target; /* of jzx_send_until: has a full mailbox */
    jzx_actor_id target_id;
} s;

/* Takes a message whenever it is told so, by the tag FULL. */
static void be_target(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_message msg;
    while (jzx_receive(ctx, JZX_NEVER, &msg) == JZX_OK) {
        note_tag(life, msg.tag);
        if (msg.tag == FULL)
            (void)jzx_sleep(ctx, jzx_in(ctx, JZX_SECOND(1)));
    }
}

static void set_up(enum how how) {
    memset(&s, 0, sizeof s);
    s.how = how;
    s.timing = timing_open();
    jzx_loop *loop = s.timing.loop;
    for (int i = 0; i < PUPPETS; i++)
        puppet_spawn(&s.puppets[i], &s.timing);
    JZX_EXPECT_EQ(number_channel_init(loop, &s.channel, 1), JZX_OK);
    JZX_EXPECT_EQ(number_channel_init(loop, &s.other, 1), JZX_OK);
    JZX_EXPECT_EQ(jzx_mutex_init(loop, &s.mutex), JZX_OK);
    JZX_EXPECT_EQ(jzx_semaphore_init(loop, &s.semaphore, 0, 4), JZX_OK);
    JZX_EXPECT_EQ(jzx_rwlock_init(loop, &s.rwlock), JZX_OK);
    JZX_EXPECT_EQ(jzx_barrier_init(loop, &s.barrier, 2), JZX_OK);
    s.target_id = fixture_spawn(
        loop, &JZX_SPAWN_OPTS(.fiber = be_target, .state = &s.target, .mailbox_cap = 1));
}

static void tear_down(void) {
    timing_close(&s.timing);
    JZX_EXPECT_EQ(number_channel_deinit(&s.channel), JZX_OK);
    JZX_EXPECT_EQ(number_channel_deinit(&s.other), JZX_OK);
    JZX_EXPECT_EQ(jzx_mutex_deinit(&s.mutex), JZX_OK);
    JZX_EXPECT_EQ(jzx_semaphore_deinit(&s.semaphore), JZX_OK);
    JZX_EXPECT_EQ(jzx_rwlock_deinit(&s.rwlock), JZX_OK);
    JZX_EXPECT_EQ(jzx_barrier_deinit(&s.barrier), JZX_OK);
}

static void end_victim(void) {
    jzx_actor_id id = s.puppets[VICTIM].id;
    jzx_loop *loop = s.timing.loop;
    JZX_EXPECT_EQ(s.how == KILLED   ? jzx_actor_stop(loop, id, JZX_STOP_KILL)
                  : s.how == FAILED ? jzx_actor_fail(loop, id)
                                    : jzx_actor_stop(loop, id, JZX_STOP_AFTER_MESSAGE),
                  JZX_OK);
}

/* ---- what the victim waits for ---- */

static jzx_err send(jzx_context *ctx, struct puppet *puppet) {
    return number_channel_send(ctx, &s.channel, puppet->number, JZX_NEVER);
}

static jzx_err select_send(jzx_context *ctx, struct puppet *puppet) {
    uint64_t value;
    const jzx_case cases[] = {number_channel_case_receive(&s.other, &value),
                              number_channel_case_send(&s.channel, &puppet->number)};
    return jzx_select(ctx, JZX_CASES(cases), JZX_NEVER, &s.index);
}

static jzx_err send_to(jzx_context *ctx, struct puppet *puppet) {
    jzx_op op = JZX_NO_OP;
    puppet->deadline_ns = JZX_NEVER;
    jzx_err err = number_channel_send_to(ctx, &s.channel, puppet->number, TAG_RESULT, &op);
    return puppet_await(ctx, err, op, NULL, 0);
}

static jzx_err select_send_to(jzx_context *ctx, struct puppet *puppet) {
    jzx_op op = JZX_NO_OP;
    puppet->deadline_ns = JZX_NEVER;
    const jzx_case cases[] = {number_channel_case_receive(&s.other, &puppet->value),
                              number_channel_case_send(&s.channel, &puppet->number)};
    jzx_err err = jzx_select_to(ctx, JZX_CASES(cases), TAG_RESULT, &op);
    return puppet_await(ctx, err, op, &s.index, sizeof s.index);
}

static jzx_err receive(jzx_context *ctx, struct puppet *puppet) {
    return number_channel_receive(ctx, &s.channel, JZX_NEVER, &puppet->value);
}

static jzx_err lock(jzx_context *ctx, struct puppet *puppet) {
    (void)puppet;
    return jzx_mutex_lock(ctx, &s.mutex, JZX_NEVER);
}

static jzx_err acquire(jzx_context *ctx, struct puppet *puppet) {
    (void)puppet;
    return jzx_semaphore_acquire(ctx, &s.semaphore, 1, JZX_NEVER);
}

static jzx_err write_lock(jzx_context *ctx, struct puppet *puppet) {
    (void)puppet;
    return jzx_rwlock_lock_write(ctx, &s.rwlock, JZX_NEVER);
}

static jzx_err arrive(jzx_context *ctx, struct puppet *puppet) {
    (void)puppet;
    return jzx_barrier_arrive(ctx, &s.barrier, JZX_NEVER, NULL);
}

static jzx_err arrive_to(jzx_context *ctx, struct puppet *puppet) {
    jzx_op op = JZX_NO_OP;
    bool is_last;
    puppet->deadline_ns = JZX_NEVER;
    jzx_err err = jzx_barrier_arrive_to(ctx, &s.barrier, TAG_RESULT, &op);
    return puppet_await(ctx, err, op, &is_last, sizeof is_last);
}

static jzx_err send_until(jzx_context *ctx, struct puppet *puppet) {
    return jzx_send_until(ctx, s.target_id, NULL, 0, (uint32_t)puppet->number, JZX_NEVER);
}

/* ---- what comes, in the turn in which the victim is told to end ---- */

static void make_room(jzx_context *ctx) {
    uint64_t value = 0;
    (void)ctx;
    JZX_EXPECT_EQ(number_channel_try_receive(&s.channel, &value), JZX_OK);
    JZX_EXPECT_EQ(value, 1);
    JZX_EXPECT_EQ(number_channel_count(&s.channel), 0);
    JZX_EXPECT_EQ(number_channel_try_receive(&s.channel, &value), JZX_ERR_TIMEOUT);
}

static void fill_channel(jzx_context *ctx) {
    (void)ctx;
    JZX_EXPECT_EQ(number_channel_try_send(&s.channel, 1), JZX_OK);
}

static void pass_value(jzx_context *ctx) {
    uint64_t value = 0;
    (void)ctx;
    JZX_EXPECT_EQ(number_channel_try_send(&s.channel, 5), JZX_OK);
    JZX_EXPECT_EQ(number_channel_try_receive(&s.channel, &value), JZX_OK);
    JZX_EXPECT_EQ(value, 5);
}

/* The killer has the locks, as a thread has if ctx is NULL. */
static void take_locks(jzx_context *ctx) {
    JZX_EXPECT_EQ(jzx_mutex_try_lock(ctx, &s.mutex), JZX_OK);
    JZX_EXPECT_EQ(jzx_rwlock_try_lock_write(ctx, &s.rwlock), JZX_OK);
}

static void pass_locks(jzx_context *ctx) {
    JZX_EXPECT_EQ(jzx_mutex_unlock(ctx, &s.mutex), JZX_OK);
    JZX_EXPECT_EQ(jzx_rwlock_unlock_write(ctx, &s.rwlock), JZX_OK);
    JZX_EXPECT_EQ(jzx_semaphore_release(NULL, &s.semaphore, 1), JZX_OK);
    take_locks(ctx);
    JZX_EXPECT_EQ(jzx_semaphore_try_acquire(NULL, &s.semaphore, 1), JZX_OK);
    JZX_EXPECT_EQ(jzx_mutex_unlock(ctx, &s.mutex), JZX_OK);
    JZX_EXPECT_EQ(jzx_rwlock_unlock_write(ctx, &s.rwlock), JZX_OK);
}

static void be_alone(jzx_context *ctx) {
    (void)ctx;
    JZX_EXPECT_EQ(jzx_barrier_arrive_wait(&s.barrier, 0, NULL), JZX_ERR_TIMEOUT);
}

static void arrive_in_vain(jzx_context *ctx) {
    JZX_EXPECT_EQ(jzx_barrier_arrive(ctx, &s.barrier, 0, NULL), JZX_ERR_TIMEOUT);
}

/* The first thing that the killer does is on behalf of the object; the rest is in one turn. */
struct deed {
    void (*before)(jzx_context *ctx);
    void (*after)(jzx_context *ctx);
};

static const struct deed *deed;

static jzx_err do_before(jzx_context *ctx, struct puppet *puppet) {
    (void)puppet;
    deed->before(ctx);
    return JZX_OK;
}

static jzx_err kill_and_do(jzx_context *ctx, struct puppet *puppet) {
    (void)puppet;
    s.calls++;
    end_victim();
    deed->after(ctx);
    return JZX_OK;
}

/* A victim that waits by that call is told to end, and then comes what it waits for: in one turn
 * of an actor, or from a thread that is none. It has not taken part in it. */
static void play(puppet_fn wait, const struct deed *of_actor, const struct deed *of_thread) {
    for (uint32_t i = 0; i < 2 * HOWS; i++) {
        bool is_thread = i % 2 == 1;
        deed = is_thread ? of_thread : of_actor;
        set_up((enum how)(i / 2));
        s.puppets[VICTIM].number = 2;
        if (deed->before != NULL && is_thread)
            deed->before(NULL);
        else if (deed->before != NULL)
            puppet_expect(&s.puppets[KILLER], do_before, NULL, JZX_OK);
        assert_false(puppet_do(&s.puppets[VICTIM], wait, NULL, JZX_NEVER));
        if (is_thread)
            (void)kill_and_do(NULL, NULL);
        else
            puppet_expect(&s.puppets[KILLER], kill_and_do, NULL, JZX_OK);
        timing_step(&s.timing);
        assert_int_equal(s.calls, 1);
        assert_true(puppet_waits(&s.puppets[VICTIM]));
        assert_int_equal(number_channel_count(&s.channel), 0);
        tear_down();
    }
}

static void play_the_same(puppet_fn wait, struct deed how) {
    play(wait, &how, &how);
}

JZX_TEST(a_sender_that_is_told_to_end_while_it_waits_sends_nothing, "E57", "E+sem") {
    play_the_same(send, (struct deed){fill_channel, make_room});
    play_the_same(select_send, (struct deed){fill_channel, make_room});
}

JZX_TEST(an_operation_of_an_actor_that_is_told_to_end_sends_nothing, "E57", "E+sem") {
    play_the_same(send_to, (struct deed){fill_channel, make_room});
    play_the_same(select_send_to, (struct deed){fill_channel, make_room});
}

JZX_TEST(a_receiver_that_is_told_to_end_keeps_no_value_from_others, "E57", "E+sem") {
    play_the_same(receive, (struct deed){NULL, pass_value});
}

JZX_TEST(a_fiber_that_is_told_to_end_keeps_no_lock_from_others, "E57", "E+sem") {
    play_the_same(lock, (struct deed){take_locks, pass_locks});
    play_the_same(write_lock, (struct deed){take_locks, pass_locks});
    play_the_same(acquire, (struct deed){take_locks, pass_locks});
}

JZX_TEST(a_fiber_that_is_told_to_end_completes_no_barrier, "E57", "E+sem") {
    const struct deed of_actor = {NULL, arrive_in_vain};
    const struct deed of_thread = {NULL, be_alone};
    play(arrive, &of_actor, &of_thread);
    play(arrive_to, &of_actor, &of_thread);
}

/* ---- the next in line ---- */

JZX_TEST(the_next_in_line_is_served_in_place_of_one_that_is_told_to_end, "E57") {
    uint64_t value = 0;
    set_up(KILLED);
    fill_channel(NULL);
    s.puppets[VICTIM].number = 2;
    s.puppets[NEXT].number = 3;
    assert_false(puppet_do(&s.puppets[VICTIM], send, NULL, JZX_NEVER));
    assert_false(puppet_do(&s.puppets[NEXT], send, NULL, JZX_NEVER));
    end_victim();
    assert_int_equal(number_channel_try_receive(&s.channel, &value), JZX_OK);
    assert_int_equal(number_channel_try_receive(&s.channel, &value), JZX_OK);
    assert_int_equal(value, 3);
    timing_step(&s.timing);
    puppet_gets(&s.puppets[NEXT], JZX_OK);
    tear_down();
}

/* Of three that a barrier for two counts, two live. */
JZX_TEST(those_that_live_pass_a_barrier_that_counts_one_that_is_told_to_end, "E57") {
    set_up(KILLED);
    assert_false(puppet_do(&s.puppets[VICTIM], arrive, NULL, JZX_NEVER));
    s.puppets[NEXT].fn = s.puppets[KILLER].fn = arrive;
    fixture_send(s.timing.loop, s.puppets[NEXT].id, TAG_OBEY);
    fixture_send(s.timing.loop, s.puppets[KILLER].id, TAG_OBEY);
    end_victim();
    timing_step(&s.timing);
    assert_true(puppet_waits(&s.puppets[VICTIM]));
    puppet_gets(&s.puppets[NEXT], JZX_OK);
    puppet_gets(&s.puppets[KILLER], JZX_OK);
    assert_false(puppet_do(&s.puppets[NEXT], arrive, NULL, JZX_NEVER));
    assert_true(puppet_do(&s.puppets[KILLER], arrive, NULL, JZX_NEVER));
    tear_down();
}

static jzx_err acquire_all(jzx_context *ctx, struct puppet *puppet) {
    (void)puppet;
    return jzx_semaphore_acquire(ctx, &s.semaphore, 4, JZX_NEVER);
}

/* A later one takes it out of the count; its own end does not do so again. */
JZX_TEST(one_that_is_told_to_end_leaves_a_barrier_once, "E57") {
    set_up(KILLED);
    assert_false(puppet_do(&s.puppets[VICTIM], arrive, NULL, JZX_NEVER));
    end_victim();
    be_alone(NULL);
    timing_step(&s.timing);
    assert_true(puppet_waits(&s.puppets[VICTIM]));
    be_alone(NULL);
    assert_false(puppet_do(&s.puppets[NEXT], arrive, NULL, JZX_NEVER));
    assert_true(puppet_do(&s.puppets[KILLER], arrive, NULL, JZX_NEVER));
    puppet_gets(&s.puppets[NEXT], JZX_OK);
    tear_down();
}

/* It wants more than there is, and has not ended yet. */
JZX_TEST(one_that_is_told_to_end_is_in_nobodys_way, "E57", "E+sem") {
    for (uint32_t how = 0; how < HOWS; how++) {
        set_up((enum how)how);
        assert_int_equal(jzx_semaphore_release(NULL, &s.semaphore, 3), JZX_OK);
        assert_false(puppet_do(&s.puppets[VICTIM], acquire_all, NULL, JZX_NEVER));
        assert_int_equal(jzx_semaphore_acquire_wait(&s.semaphore, 1, 0), JZX_ERR_TIMEOUT);
        end_victim();
        assert_int_equal(jzx_semaphore_acquire_wait(&s.semaphore, 1, 0), JZX_OK);
        assert_int_equal(jzx_semaphore_available(&s.semaphore), 2);
        timing_step(&s.timing);
        assert_true(puppet_waits(&s.puppets[VICTIM]));
        assert_int_equal(jzx_semaphore_available(&s.semaphore), 2);
        tear_down();
    }
}

JZX_TEST(a_writer_that_is_told_to_end_is_in_no_readers_way, "E57", "E+sem") {
    for (uint32_t how = 0; how < HOWS; how++) {
        set_up((enum how)how);
        assert_int_equal(jzx_rwlock_lock_read_wait(&s.rwlock, 0), JZX_OK);
        assert_false(puppet_do(&s.puppets[VICTIM], write_lock, NULL, JZX_NEVER));
        assert_int_equal(jzx_rwlock_lock_read_wait(&s.rwlock, 0), JZX_ERR_TIMEOUT);
        end_victim();
        assert_int_equal(jzx_rwlock_lock_read_wait(&s.rwlock, 0), JZX_OK);
        timing_step(&s.timing);
        assert_true(puppet_waits(&s.puppets[VICTIM]));
        for (int i = 0; i < 2; i++)
            assert_int_equal(jzx_rwlock_unlock_read(NULL, &s.rwlock), JZX_OK);
        tear_down();
    }
}

JZX_TEST(a_release_serves_those_behind_one_that_is_told_to_end, "E57", "E+sem") {
    set_up(KILLED);
    assert_false(puppet_do(&s.puppets[VICTIM], acquire_all, NULL, JZX_NEVER));
    assert_false(puppet_do(&s.puppets[NEXT], acquire, NULL, JZX_NEVER));
    assert_false(puppet_do(&s.puppets[KILLER], acquire, NULL, JZX_NEVER));
    end_victim();
    assert_int_equal(jzx_semaphore_release(NULL, &s.semaphore, 3), JZX_OK);
    assert_int_equal(jzx_semaphore_available(&s.semaphore), 1);
    timing_step(&s.timing);
    assert_true(puppet_waits(&s.puppets[VICTIM]));
    puppet_gets(&s.puppets[NEXT], JZX_OK);
    puppet_gets(&s.puppets[KILLER], JZX_OK);
    assert_int_equal(jzx_semaphore_available(&s.semaphore), 1);
    tear_down();
}

/* ---- room in a mailbox ---- */

/* The target sleeps with a full mailbox until second 1. */
JZX_TEST(a_message_of_a_fiber_that_is_told_to_end_is_not_sent, "E16") {
    for (uint32_t how = 0; how < HOWS; how++) {
        set_up((enum how)how);
        fixture_send(s.timing.loop, s.target_id, FULL);
        timing_step(&s.timing);
        fixture_send(s.timing.loop, s.target_id, FULL);
        s.puppets[VICTIM].number = 2;
        s.puppets[NEXT].number = 3;
        assert_false(puppet_do(&s.puppets[VICTIM], send_until, NULL, JZX_NEVER));
        assert_false(puppet_do(&s.puppets[NEXT], send_until, NULL, JZX_NEVER));
        /* The timer of the target comes before the turn in which the victim would end. */
        assert_int_equal(jzx_clock_advance(s.timing.clock, JZX_SECOND(1)), JZX_OK);
        end_victim();
        timing_step(&s.timing);
        timing_advance(&s.timing, JZX_SECOND(1));
        assert_true(puppet_waits(&s.puppets[VICTIM]));
        puppet_gets(&s.puppets[NEXT], JZX_OK);
        expect_life_tags(&s.target, 3, (uint32_t[]){FULL, FULL, 3});
        tear_down();
    }
}

/* ---- those that live on ---- */

/* A stop is told to an actor that traps it, and what it has begun goes on. */
static void send_and_hear(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_message msg;
    jzx_test_ran();
    life->err = number_channel_send(ctx, &s.channel, 2, JZX_NEVER);
    JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK);
    JZX_EXPECT_EQ(msg.tag, JZX_TAG_STOP);
    life->finished++;
}

JZX_TEST(a_sender_that_traps_its_stop_sends, "E57") {
    struct life life = {.err = JZX_ERR_UNKNOWN};
    uint64_t value = 0;
    set_up(STOPPED);
    fill_channel(NULL);
    s.puppets[VICTIM].id = fixture_spawn(
        s.timing.loop, &JZX_SPAWN_OPTS(.fiber = send_and_hear, .state = &life, .trap_stop = true));
    timing_step(&s.timing);
    end_victim();
    assert_int_equal(number_channel_try_receive(&s.channel, &value), JZX_OK);
    assert_int_equal(number_channel_try_receive(&s.channel, &value), JZX_OK);
    assert_int_equal(value, 2);
    timing_step(&s.timing);
    assert_int_equal(life.err, JZX_OK);
    assert_int_equal(life.finished, 1);
    assert_int_equal(jzx_test_runs(), 1);
    tear_down();
}

/* ---- one that is told to end while it runs ---- */

static void end_itself_and_send(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_test_ran();
    s.puppets[VICTIM].id = ctx->self;
    end_victim();
    life->err = number_channel_send(ctx, &s.channel, 2, JZX_NEVER);
    life->finished++;
}

JZX_TEST(a_call_that_waits_after_the_fiber_was_told_to_end_does_nothing, "E57") {
    for (uint32_t how = 0; how < HOWS; how++) {
        struct life life = {.err = JZX_ERR_UNKNOWN};
        set_up((enum how)how);
        timing_fiber(&s.timing, end_itself_and_send, &life);
        assert_int_equal(life.finished, 0);
        assert_int_equal(life.cleaned, 1);
        assert_int_equal(number_channel_count(&s.channel), 0);
        tear_down();
    }
    assert_int_equal(jzx_test_runs(), HOWS);
}

/* ---- the last party of a barrier ---- */

#define CALLS_MAX 2000u /* more than a turn may have */

static struct {
    uint32_t calls; /* before it arrives */
    uint32_t arrivals;
    uint32_t returns;
} last;

/* Calls that need no wait use up what is left of its turn. */
static jzx_err arrive_last(jzx_context *ctx, struct puppet *puppet) {
    uint64_t value;
    (void)puppet;
    for (uint32_t i = 0; i < last.calls; i++)
        JZX_EXPECT_EQ(i % 2 == 0 ? number_channel_send(ctx, &s.channel, i, JZX_NEVER)
                                 : number_channel_receive(ctx, &s.channel, JZX_NEVER, &value),
                      JZX_OK);
    last.arrivals++;
    JZX_EXPECT_EQ(jzx_barrier_arrive(ctx, &s.barrier, JZX_NEVER, NULL), JZX_OK);
    last.returns++;
    return JZX_OK;
}

static jzx_err kill_victim(jzx_context *ctx, struct puppet *puppet) {
    (void)ctx;
    (void)puppet;
    end_victim();
    return JZX_OK;
}

/* The killer has its turn when the last party is suspended or done. */
static bool is_killed_as_it_passes(uint32_t calls) {
    set_up(KILLED);
    memset(&last, 0, sizeof last);
    last.calls = calls;
    JZX_EXPECT(!puppet_do(&s.puppets[NEXT], arrive, NULL, JZX_NEVER));
    s.puppets[VICTIM].fn = arrive_last;
    s.puppets[KILLER].fn = kill_victim;
    fixture_send(s.timing.loop, s.puppets[VICTIM].id, TAG_OBEY);
    fixture_send(s.timing.loop, s.puppets[KILLER].id, TAG_OBEY);
    timing_step(&s.timing);
    JZX_EXPECT_EQ(s.puppets[KILLER].done, 1);
    JZX_EXPECT_EQ(puppet_waits(&s.puppets[NEXT]), last.arrivals == 0);
    if (last.arrivals == 0)
        puppet_kill(&s.puppets[NEXT]);
    else
        JZX_EXPECT(puppet_gets(&s.puppets[NEXT], JZX_OK));
    bool is_killed = last.arrivals != last.returns;
    tear_down();
    return is_killed;
}

JZX_TEST(the_others_pass_a_barrier_whose_last_party_is_killed_before_it_goes_on, "E57") {
    uint32_t calls = 0;
    while (calls < CALLS_MAX && !is_killed_as_it_passes(calls))
        calls++;
    assert_in_range(calls, 1, CALLS_MAX - 1);
}
