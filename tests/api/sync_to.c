/* SPDX-License-Identifier: MIT */
/* Locks, values and signals as messages, for behaviours. An actor has what it waited for when it
 * handles the message, and if it never does, the next one gets it. The models of the other tests of
 * synchronisation cover orders and deadlines; these look at what only operations can do. */
#include "timing.h"

#include <jzx/fiber.h>
#include <jzx/observe.h>
#include <jzx/sync.h>

#include <string.h>

JZX_CHANNEL(number, uint64_t)
JZX_ONESHOT(number, uint64_t)
JZX_BROADCAST(number, uint64_t)
JZX_LATEST(number, uint64_t)

enum { CLERKS = 3, RESULTS_MAX = 64, GO = 1, RESULT };

struct clerk;
typedef jzx_err (*clerk_fn)(jzx_context *ctx, struct clerk *clerk);

/* A behaviour that does what the test tells it, and keeps the results that come. */
struct clerk {
    jzx_actor_id id;
    clerk_fn fn;
    jzx_err err; /* of the last call */
    jzx_op op;
    uint32_t count; /* results */
    jzx_result results[RESULTS_MAX];
    uint64_t values[RESULTS_MAX];
    uint64_t value; /* of a select */
    uint64_t version;
};

static struct {
    struct timing timing;
    struct clerk clerks[CLERKS];
    jzx_mutex mutex;
    jzx_semaphore semaphore;
    jzx_rwlock rwlock;
    number_channel channel;
    number_oneshot once;
    number_broadcast news;
    number_latest latest;
    jzx_reader reader;
    jzx_gate gate;
    jzx_wait_group group;
    jzx_barrier barrier;
    jzx_future *future;
    uint32_t deaths;
} s;

static jzx_behavior_result be_clerk(jzx_context *ctx, const jzx_message *msg) {
    struct clerk *clerk = ctx->state;
    jzx_test_ran();
    if (msg->tag == GO) {
        clerk->err = clerk->fn(ctx, clerk);
        return JZX_BEHAVIOR_OK;
    }
    const jzx_result *result = msg->data;
    JZX_EXPECT_EQ(msg->tag, RESULT);
    clerk->results[clerk->count % RESULTS_MAX] = *result;
    if (result->len == sizeof(uint64_t))
        memcpy(&clerk->values[clerk->count % RESULTS_MAX], jzx_result_data(result), result->len);
    else if (result->len == sizeof(bool))
        clerk->values[clerk->count % RESULTS_MAX] = *(bool *)jzx_result_data(result);
    else
        JZX_EXPECT_EQ(result->len, 0);
    clerk->count++;
    return JZX_BEHAVIOR_OK;
}

static void note_event(void *ctx, const jzx_event *event) {
    (void)ctx;
    s.deaths += event->kind == JZX_EVENT_OWNER_DIED;
}

static void set_up(void) {
    memset(&s, 0, sizeof s);
    s.timing = timing_open();
    jzx_loop *loop = s.timing.loop;
    JZX_EXPECT_EQ(jzx_loop_set_observer(loop, &JZX_OBSERVER(.on_event = note_event), NULL), JZX_OK);
    for (int i = 0; i < CLERKS; i++)
        s.clerks[i].id =
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = be_clerk, .state = &s.clerks[i]));
    JZX_EXPECT_EQ(jzx_mutex_init(loop, &s.mutex), JZX_OK);
    JZX_EXPECT_EQ(jzx_semaphore_init(loop, &s.semaphore, 2, 2), JZX_OK);
    JZX_EXPECT_EQ(jzx_rwlock_init(loop, &s.rwlock), JZX_OK);
    JZX_EXPECT_EQ(number_channel_init(loop, &s.channel, 1), JZX_OK);
    JZX_EXPECT_EQ(number_oneshot_init(loop, &s.once), JZX_OK);
    JZX_EXPECT_EQ(number_broadcast_init(loop, &s.news, 2), JZX_OK);
    JZX_EXPECT_EQ(number_broadcast_subscribe(&s.news, &s.reader), JZX_OK);
    JZX_EXPECT_EQ(number_latest_init(loop, &s.latest, 100), JZX_OK);
    JZX_EXPECT_EQ(jzx_gate_init(loop, &s.gate, false), JZX_OK);
    JZX_EXPECT_EQ(jzx_wait_group_init(loop, &s.group), JZX_OK);
    JZX_EXPECT_EQ(jzx_barrier_init(loop, &s.barrier, 2), JZX_OK);
}

/* All objects are free after the loop, whatever actors had or wanted. */
static void tear_down(void) {
    jzx_future_release(s.future);
    timing_close(&s.timing);
    JZX_EXPECT_EQ(jzx_mutex_deinit(&s.mutex), JZX_OK);
    JZX_EXPECT_EQ(jzx_semaphore_deinit(&s.semaphore), JZX_OK);
    JZX_EXPECT_EQ(jzx_rwlock_deinit(&s.rwlock), JZX_OK);
    JZX_EXPECT_EQ(number_channel_deinit(&s.channel), JZX_OK);
    JZX_EXPECT_EQ(number_oneshot_deinit(&s.once), JZX_OK);
    JZX_EXPECT_EQ(number_broadcast_deinit(&s.news), JZX_OK);
    JZX_EXPECT_EQ(number_latest_deinit(&s.latest), JZX_OK);
    JZX_EXPECT_EQ(jzx_gate_deinit(&s.gate), JZX_OK);
    JZX_EXPECT_EQ(jzx_wait_group_deinit(&s.group), JZX_OK);
    JZX_EXPECT_EQ(jzx_barrier_deinit(&s.barrier), JZX_OK);
}

/* Has the clerk call fn, and everything run that can. */
static void tell(int index, clerk_fn fn, jzx_err expected) {
    struct clerk *clerk = &s.clerks[index];
    clerk->fn = fn;
    clerk->err = 1;
    fixture_send(s.timing.loop, clerk->id, GO);
    timing_step(&s.timing);
    JZX_EXPECT_EQ(clerk->err, expected);
}

static void end(int index) {
    JZX_EXPECT_EQ(jzx_actor_stop(s.timing.loop, s.clerks[index].id, JZX_STOP_KILL), JZX_OK);
    timing_step(&s.timing);
}

/* It has so many results, and this is the last. */
static const jzx_result *last(int index, uint32_t count, jzx_err err) {
    const struct clerk *clerk = &s.clerks[index];
    static const jzx_result none;
    if (!JZX_EXPECT_EQ(clerk->count, count))
        return &none;
    JZX_EXPECT_EQ(clerk->results[count - 1].err, err);
    return &clerk->results[count - 1];
}

static void last_value(int index, uint32_t count, uint64_t value) {
    if (last(index, count, JZX_OK)->len != 0)
        JZX_EXPECT_EQ(s.clerks[index].values[count - 1], value);
    else
        JZX_EXPECT(false && "no value");
}

static jzx_err lock(jzx_context *ctx, struct clerk *clerk) {
    return jzx_mutex_lock_to(ctx, &s.mutex, RESULT, &clerk->op);
}

static jzx_err unlock(jzx_context *ctx, struct clerk *clerk) {
    (void)clerk;
    return jzx_mutex_unlock(ctx, &s.mutex);
}

static jzx_err acquire_one(jzx_context *ctx, struct clerk *clerk) {
    return jzx_semaphore_acquire_to(ctx, &s.semaphore, 1, RESULT, &clerk->op);
}

static jzx_err acquire_both(jzx_context *ctx, struct clerk *clerk) {
    return jzx_semaphore_acquire_to(ctx, &s.semaphore, 2, RESULT, &clerk->op);
}

static jzx_err release_one(jzx_context *ctx, struct clerk *clerk) {
    (void)clerk;
    return jzx_semaphore_release(ctx, &s.semaphore, 1);
}

static jzx_err lock_read(jzx_context *ctx, struct clerk *clerk) {
    return jzx_rwlock_lock_read_to(ctx, &s.rwlock, RESULT, &clerk->op);
}

static jzx_err unlock_read(jzx_context *ctx, struct clerk *clerk) {
    (void)clerk;
    return jzx_rwlock_unlock_read(ctx, &s.rwlock);
}

static jzx_err lock_write(jzx_context *ctx, struct clerk *clerk) {
    return jzx_rwlock_lock_write_to(ctx, &s.rwlock, RESULT, &clerk->op);
}

static jzx_err unlock_write(jzx_context *ctx, struct clerk *clerk) {
    (void)clerk;
    return jzx_rwlock_unlock_write(ctx, &s.rwlock);
}

static jzx_err receive(jzx_context *ctx, struct clerk *clerk) {
    return number_channel_receive_to(ctx, &s.channel, RESULT, &clerk->op);
}

static jzx_err receive_once(jzx_context *ctx, struct clerk *clerk) {
    return number_oneshot_receive_to(ctx, &s.once, RESULT, &clerk->op);
}

static jzx_err send(jzx_context *ctx, struct clerk *clerk) {
    return number_channel_send_to(ctx, &s.channel, clerk->value, RESULT, &clerk->op);
}

static jzx_err read_news(jzx_context *ctx, struct clerk *clerk) {
    return number_broadcast_read_to(ctx, &s.reader, RESULT, &clerk->op);
}

static jzx_err await_change(jzx_context *ctx, struct clerk *clerk) {
    return number_latest_changed_to(ctx, &s.latest, &clerk->version, RESULT, &clerk->op);
}

static jzx_err pass(jzx_context *ctx, struct clerk *clerk) {
    return jzx_gate_pass_to(ctx, &s.gate, RESULT, &clerk->op);
}

static jzx_err join(jzx_context *ctx, struct clerk *clerk) {
    return jzx_wait_group_join_to(ctx, &s.group, RESULT, &clerk->op);
}

static jzx_err arrive(jzx_context *ctx, struct clerk *clerk) {
    return jzx_barrier_arrive_to(ctx, &s.barrier, RESULT, &clerk->op);
}

static jzx_err select_any(jzx_context *ctx, struct clerk *clerk) {
    const jzx_case cases[] = {number_channel_case_receive(&s.channel, &clerk->value),
                              number_broadcast_case_read(&s.reader, &clerk->value),
                              jzx_future_case(s.future, &clerk->value), jzx_gate_case(&s.gate)};
    return jzx_select_to(ctx, JZX_CASES(cases), RESULT, &clerk->op);
}

/* ---- having it ---- */

JZX_TEST(a_behaviour_has_a_mutex_when_it_handles_the_message, "E57") {
    set_up();
    tell(0, lock, JZX_OK);
    JZX_EXPECT_EQ(last(0, 1, JZX_OK)->op, s.clerks[0].op); /* it was free */
    tell(0, lock, JZX_ERR_BUSY);
    tell(1, lock, JZX_OK);
    tell(2, lock, JZX_OK);
    JZX_EXPECT_EQ(s.clerks[1].count, 0);
    tell(1, unlock, JZX_ERR_NOT_OWNER);
    tell(0, unlock, JZX_OK);
    last(1, 1, JZX_OK);
    JZX_EXPECT_EQ(s.clerks[2].count, 0);
    tell(0, unlock, JZX_ERR_NOT_OWNER);
    end(1); /* with the mutex in hand */
    JZX_EXPECT_EQ(s.deaths, 1);
    last(2, 1, JZX_ERR_OWNER_DIED);
    tell(2, unlock, JZX_OK);
    tear_down();
}

JZX_TEST(an_actor_that_ends_before_its_message_has_taken_no_mutex, "E57", "E+sem") {
    set_up();
    JZX_EXPECT_EQ(jzx_mutex_try_lock(NULL, &s.mutex), JZX_OK);
    tell(0, lock, JZX_OK);
    tell(1, lock, JZX_OK);
    JZX_EXPECT_EQ(jzx_mutex_unlock(NULL, &s.mutex), JZX_OK); /* the message is under way */
    JZX_EXPECT_EQ(jzx_mutex_try_lock(NULL, &s.mutex), JZX_ERR_TIMEOUT);
    JZX_EXPECT_EQ(jzx_mutex_deinit(&s.mutex), JZX_ERR_BUSY);
    end(0);
    JZX_EXPECT_EQ(s.clerks[0].count, 0);
    last(1, 1, JZX_OK); /* and no news of a death */
    JZX_EXPECT_EQ(s.deaths, 0);
    tell(1, unlock, JZX_OK);
    tell(1, lock, JZX_OK);
    tell(2, lock, JZX_OK);
    end(2); /* while it waits */
    tell(1, unlock, JZX_OK);
    JZX_EXPECT_EQ(jzx_mutex_try_lock(NULL, &s.mutex), JZX_OK);
    JZX_EXPECT_EQ(jzx_mutex_unlock(NULL, &s.mutex), JZX_OK);
    tear_down();
}

JZX_TEST(a_lock_that_was_cancelled_is_not_taken_and_one_that_was_granted_stays, "E57", "E+sem") {
    set_up();
    tell(0, lock, JZX_OK);
    tell(1, lock, JZX_OK);
    tell(2, lock, JZX_OK);
    JZX_EXPECT_EQ(jzx_op_cancel(s.timing.loop, s.clerks[1].op), JZX_OK);
    JZX_EXPECT_EQ(jzx_op_cancel(s.timing.loop, s.clerks[1].op), JZX_ERR_NO_SUCH_OP);
    timing_step(&s.timing);
    last(1, 1, JZX_ERR_CANCELLED);
    tell(1, unlock, JZX_ERR_NOT_OWNER);
    tell(0, unlock, JZX_OK);
    last(2, 1, JZX_OK);
    JZX_EXPECT_EQ(jzx_op_cancel(s.timing.loop, s.clerks[2].op), JZX_ERR_NO_SUCH_OP);
    tell(2, unlock, JZX_OK);
    tear_down();
}

JZX_TEST(permits_of_several_operations_add_up_and_have_one_owner, "E57") {
    set_up();
    tell(0, acquire_one, JZX_OK);
    tell(0, acquire_one, JZX_OK);
    last(0, 2, JZX_OK);
    JZX_EXPECT_EQ(jzx_semaphore_available(&s.semaphore), 0);
    tell(1, acquire_both, JZX_OK);
    tell(2, acquire_one, JZX_OK);
    tell(0, release_one, JZX_OK);
    JZX_EXPECT_EQ(s.clerks[1].count + s.clerks[2].count, 0); /* not overtaken */
    JZX_EXPECT_EQ(jzx_op_cancel(s.timing.loop, s.clerks[1].op), JZX_OK);
    timing_step(&s.timing);
    last(1, 1, JZX_ERR_CANCELLED);
    last(2, 1, JZX_OK); /* it was in the way */
    tell(0, release_one, JZX_OK);
    tell(2, release_one, JZX_OK);
    JZX_EXPECT_EQ(jzx_semaphore_available(&s.semaphore), 2);
    JZX_EXPECT_EQ(jzx_semaphore_deinit(&s.semaphore), JZX_OK); /* nobody is left on its books */
    JZX_EXPECT_EQ(jzx_semaphore_init(s.timing.loop, &s.semaphore, 2, 2), JZX_OK);
    tell(0, acquire_both, JZX_OK);
    tell(1, acquire_one, JZX_OK);
    end(0);
    JZX_EXPECT_EQ(s.deaths, 1);
    last(1, 2, JZX_ERR_OWNER_DIED);
    tear_down();
}

JZX_TEST(readers_share_by_message_and_a_second_read_lock_is_refused, "E57") {
    set_up();
    tell(0, lock_write, JZX_OK);
    tell(1, lock_read, JZX_OK);
    tell(1, lock_read, JZX_OK); /* it has none yet */
    tell(2, lock_read, JZX_OK);
    JZX_EXPECT_EQ(s.clerks[1].count + s.clerks[2].count, 0);
    tell(0, unlock_write, JZX_OK);
    JZX_EXPECT_EQ(s.clerks[1].results[0].err, JZX_OK);
    last(1, 2, JZX_ERR_BUSY);
    last(2, 1, JZX_OK);
    tell(1, lock_write, JZX_ERR_BUSY);
    tell(0, lock_write, JZX_OK);
    tell(1, unlock_read, JZX_OK);
    tell(2, unlock_read, JZX_OK);
    last(0, 2, JZX_OK);
    tell(0, unlock_write, JZX_OK);
    JZX_EXPECT_EQ(jzx_rwlock_deinit(&s.rwlock), JZX_OK);
    JZX_EXPECT_EQ(jzx_rwlock_init(s.timing.loop, &s.rwlock), JZX_OK);
    tear_down();
}

/* ---- values ---- */

JZX_TEST(values_come_as_messages_and_wait_for_room_in_them, "E57") {
    set_up();
    tell(0, receive, JZX_OK);
    tell(1, receive, JZX_OK);
    JZX_EXPECT_EQ(number_channel_try_send(&s.channel, 5), JZX_OK);
    timing_step(&s.timing);
    last_value(0, 1, 5);
    JZX_EXPECT_EQ(s.clerks[1].count, 0);
    s.clerks[2].value = 6;
    tell(2, send, JZX_OK);
    last(2, 1, JZX_OK);
    last_value(1, 1, 6);
    for (uint64_t value = 7; value < 10; value++) {
        s.clerks[2].value = value; /* the last two wait */
        tell(2, send, JZX_OK);
    }
    last(2, 2, JZX_OK);
    JZX_EXPECT_EQ(jzx_op_cancel(s.timing.loop, s.clerks[2].op), JZX_OK);
    timing_step(&s.timing);
    last(2, 3, JZX_ERR_CANCELLED); /* of 9 */
    tell(0, receive, JZX_OK);
    last_value(0, 2, 7);
    last(2, 4, JZX_OK); /* of 8 */
    tell(0, receive, JZX_OK);
    last_value(0, 3, 8);
    tell(0, receive, JZX_OK);
    JZX_EXPECT_EQ(number_channel_close(&s.channel), JZX_OK);
    timing_step(&s.timing);
    last(0, 4, JZX_ERR_CLOSED);
    tell(2, send, JZX_OK);
    last(2, 5, JZX_ERR_CLOSED);
    tear_down();
}

JZX_TEST(a_value_for_an_actor_that_ends_before_its_message_goes_to_the_next, "E57", "E+sem") {
    set_up();
    tell(0, receive, JZX_OK);
    tell(1, receive, JZX_OK);
    JZX_EXPECT_EQ(number_channel_try_send(&s.channel, 5), JZX_OK);
    JZX_EXPECT_EQ(jzx_op_cancel(s.timing.loop, s.clerks[0].op), JZX_ERR_NO_SUCH_OP);
    JZX_EXPECT_EQ(number_channel_deinit(&s.channel), JZX_ERR_BUSY);
    end(0);
    JZX_EXPECT_EQ(s.clerks[0].count, 0);
    last_value(1, 1, 5);
    tell(1, receive_once, JZX_OK);
    JZX_EXPECT_EQ(number_oneshot_send(&s.once, 6), JZX_OK);
    end(1);
    tell(2, receive_once, JZX_OK);
    last_value(2, 1, 6);
    tear_down();
}

static jzx_err receive_many(jzx_context *ctx, struct clerk *clerk) {
    for (int i = 0; i < 3000; i++)
        JZX_EXPECT_EQ(receive(ctx, clerk), JZX_OK);
    return JZX_OK;
}

static jzx_err send_many(jzx_context *ctx, struct clerk *clerk) {
    for (clerk->value = 0; clerk->value < 3000; clerk->value++)
        JZX_EXPECT_EQ(send(ctx, clerk), JZX_OK);
    return JZX_OK;
}

JZX_TEST(thousands_that_wait_at_both_ends_are_served_in_order, "E57") {
    set_up();
    tell(0, receive_many, JZX_OK);
    tell(1, send_many, JZX_OK);
    JZX_EXPECT_EQ(s.clerks[0].count, 3000);
    JZX_EXPECT_EQ(s.clerks[1].count, 3000);
    for (uint32_t i = 0; i < RESULTS_MAX; i++) {
        uint64_t turn = (2999u - i) % RESULTS_MAX;
        JZX_EXPECT_EQ(s.clerks[0].values[turn], 2999u - i);
    }
    tell(0, receive_many, JZX_OK);
    end(0); /* with all of them waiting */
    JZX_EXPECT_EQ(number_channel_count(&s.channel), 0);
    tear_down();
}

JZX_TEST(a_broadcast_is_read_when_the_message_is_handled, "E57") {
    set_up();
    tell(0, read_news, JZX_OK);
    JZX_EXPECT_EQ(number_broadcast_publish(&s.news, 1), JZX_OK);
    JZX_EXPECT_EQ(number_broadcast_deinit(&s.news), JZX_ERR_BUSY);
    end(0);
    JZX_EXPECT_EQ(s.reader.next, 0); /* nothing was read */
    tell(1, read_news, JZX_OK);
    last_value(1, 1, 1);
    for (uint64_t value = 2; value < 6; value++)
        JZX_EXPECT_EQ(number_broadcast_publish(&s.news, value), JZX_OK);
    tell(1, read_news, JZX_OK);
    last(1, 2, JZX_ERR_LAGGED);
    JZX_EXPECT_EQ(s.reader.missed, 2);
    tell(1, read_news, JZX_OK);
    last_value(1, 3, 4);
    tell(2, await_change, JZX_OK);
    last_value(2, 1, 100);
    tell(2, await_change, JZX_OK);
    JZX_EXPECT_EQ(number_latest_set(&s.latest, 101), JZX_OK);
    JZX_EXPECT_EQ(number_latest_set(&s.latest, 102), JZX_OK);
    timing_step(&s.timing);
    last_value(2, 2, 102);
    JZX_EXPECT_EQ(s.clerks[2].version, 3);
    tear_down();
}

/* ---- signals, and the first of several ---- */

JZX_TEST(signals_come_as_messages, "E57") {
    set_up();
    tell(0, pass, JZX_OK);
    JZX_EXPECT_EQ(s.clerks[0].count, 0);
    JZX_EXPECT_EQ(jzx_gate_open(&s.gate), JZX_OK);
    timing_step(&s.timing);
    last(0, 1, JZX_OK);
    JZX_EXPECT_EQ(jzx_wait_group_add(&s.group, 1), JZX_OK);
    tell(0, join, JZX_OK);
    JZX_EXPECT_EQ(s.clerks[0].count, 1);
    JZX_EXPECT_EQ(jzx_wait_group_done(&s.group), JZX_OK);
    timing_step(&s.timing);
    last(0, 2, JZX_OK);
    tell(1, arrive, JZX_OK);
    JZX_EXPECT_EQ(jzx_op_cancel(s.timing.loop, s.clerks[1].op), JZX_OK);
    timing_step(&s.timing);
    last(1, 1, JZX_ERR_CANCELLED); /* it does not count */
    tell(1, arrive, JZX_OK);
    JZX_EXPECT_EQ(s.clerks[1].count, 1);
    tell(2, arrive, JZX_OK);
    last_value(1, 2, false);
    last_value(2, 1, true);
    tear_down();
}

JZX_TEST(a_behaviour_selects_by_message, "E57") {
    set_up();
    jzx_promise *promise = NULL;
    JZX_EXPECT_EQ(jzx_promise_create(s.timing.loop, sizeof(uint64_t), &promise, &s.future), JZX_OK);
    tell(0, select_any, JZX_OK);
    tell(1, select_any, JZX_OK);
    JZX_EXPECT_EQ(s.clerks[0].count, 0);
    JZX_EXPECT_EQ(number_channel_try_send(&s.channel, 5), JZX_OK);
    end(0); /* the value goes on */
    last_value(1, 1, 0);
    JZX_EXPECT_EQ(s.clerks[1].value, 5);
    tell(1, select_any, JZX_OK);
    JZX_EXPECT_EQ(number_broadcast_publish(&s.news, 6), JZX_OK);
    timing_step(&s.timing);
    last_value(1, 2, 1);
    JZX_EXPECT_EQ(s.clerks[1].value, 6);
    tell(1, select_any, JZX_OK);
    JZX_EXPECT_EQ(jzx_promise_resolve(promise, &(uint64_t){7}), JZX_OK);
    timing_step(&s.timing);
    last_value(1, 3, 2);
    JZX_EXPECT_EQ(s.clerks[1].value, 7);
    JZX_EXPECT_EQ(number_channel_close(&s.channel), JZX_OK);
    tell(1, select_any, JZX_OK);
    last(1, 4, JZX_ERR_CLOSED);
    JZX_EXPECT_EQ(s.clerks[1].values[3], 0);
    tear_down();
}

/* ---- refusals ---- */

static jzx_err use_wrong(jzx_context *ctx, struct clerk *clerk) {
    static jzx_mutex none;
    jzx_op op = 77;
    (void)clerk;
    JZX_EXPECT_EQ(jzx_mutex_lock_to(ctx, &none, RESULT, &op), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_mutex_lock_to(ctx, NULL, RESULT, &op), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_mutex_lock_to(ctx, &s.mutex, JZX_TAG_RESERVED, &op), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_mutex_lock_to(NULL, &s.mutex, RESULT, &op), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_semaphore_acquire_to(ctx, &s.semaphore, 0, RESULT, &op), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_semaphore_acquire_to(ctx, &s.semaphore, 3, RESULT, &op), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_rwlock_lock_read_to(ctx, NULL, RESULT, &op), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(number_channel_receive_to(ctx, NULL, RESULT, &op), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_channel_send_to(ctx, &s.channel.channel, NULL, RESULT, &op),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(number_broadcast_read_to(ctx, NULL, RESULT, &op), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(number_latest_changed_to(ctx, &s.latest, NULL, RESULT, &op), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_gate_pass_to(ctx, NULL, RESULT, &op), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_wait_group_join_to(ctx, NULL, RESULT, &op), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_barrier_arrive_to(ctx, NULL, RESULT, &op), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_select_to(ctx, NULL, 1, sizeof(jzx_case), RESULT, &op), JZX_ERR_INVALID_ARG);
    const jzx_case none_of_them[] = {jzx_future_case(NULL, NULL)};
    JZX_EXPECT_EQ(jzx_select_to(ctx, JZX_CASES(none_of_them), RESULT, &op), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(op, 77);
    return jzx_mutex_lock_to(ctx, &s.mutex, RESULT, NULL); /* who wants no id gets none */
}

static jzx_mutex foreign; /* of another loop */

static jzx_err lock_foreign(jzx_context *ctx, struct clerk *clerk) {
    return jzx_mutex_lock_to(ctx, &foreign, RESULT, &clerk->op);
}

JZX_TEST(operations_on_objects_that_are_none_are_refused, "E57") {
    set_up();
    tell(0, use_wrong, JZX_OK);
    last(0, 1, JZX_OK);
    tell(0, unlock, JZX_OK);
    jzx_loop *other = fixture_loop();
    JZX_EXPECT_EQ(jzx_mutex_init(other, &foreign), JZX_OK);
    tell(0, lock_foreign, JZX_ERR_INVALID_ARG);
    fixture_destroy(other);
    JZX_EXPECT_EQ(jzx_mutex_deinit(&foreign), JZX_OK);
    tear_down();
}

static void *hoard;

/* Takes all blocks of a size that the loop has, while it gets no more from the allocator. */
static void hoard_blocks(jzx_loop *loop, size_t size) {
    void **block;
    while ((block = jzx_msg_alloc(loop, size, NULL)) != NULL) {
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

static clerk_fn const all_calls[] = {lock,         acquire_one, lock_read, lock_write,
                                     receive,      send,        read_news, await_change,
                                     receive_once, pass,        join,      arrive};

/* Each allocation of each call fails once, the first, the second and so on, until the call needs no
 * more of them. */
static jzx_err call_without_memory(jzx_context *ctx, struct clerk *clerk) {
    clerk_fn fn = all_calls[clerk->version];
    jzx_err err = JZX_ERR_NO_MEMORY;
    uint64_t after = 0;
    for (; err == JZX_ERR_NO_MEMORY; after++) {
        JZX_EXPECT(after < 16);
        fixture_fail_allocations(0, UINT64_MAX);
        for (size_t size = 8; size <= 2048; size *= 2)
            hoard_blocks(ctx->loop, size);
        fixture_fail_allocations(after, UINT64_MAX);
        err = fn(ctx, clerk);
        free_blocks(ctx->loop);
    }
    JZX_EXPECT(after > 1); /* it needs memory, so one call at least was refused */
    return err;
}

JZX_TEST(operations_without_memory_are_refused_and_leave_nothing, "E57") {
    for (uint32_t i = 0; i < sizeof all_calls / sizeof all_calls[0]; i++) {
        set_up();
        s.clerks[0].version = i;
        tell(0, call_without_memory, JZX_OK);
        s.clerks[0].version = 0;
        tear_down();
    }
}

JZX_TEST(what_actors_want_when_the_loop_ends_goes_back, "E57", "E+sem") {
    set_up();
    tell(0, lock, JZX_OK);
    tell(1, lock, JZX_OK);
    tell(1, acquire_both, JZX_OK);
    tell(2, acquire_one, JZX_OK);
    tell(2, receive, JZX_OK);
    tell(2, read_news, JZX_OK);
    JZX_EXPECT_EQ(number_channel_try_send(&s.channel, 1), JZX_OK); /* a message that never comes */
    JZX_EXPECT_EQ(number_broadcast_publish(&s.news, 1), JZX_OK);
    tear_down();
    JZX_EXPECT_EQ(s.deaths, 2); /* a mutex, and permits */
}
