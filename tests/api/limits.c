/* SPDX-License-Identifier: MIT */
/* Lengths and counts at their limits: what is too large is refused, and no sum of sizes wraps. */
#include "limiting.h"

#include <jzx/ask.h>
#include <jzx/blocking.h>
#include <jzx/combine.h>
#include <jzx/heap.h>
#include <jzx/path.h>
#include <jzx/schedule.h>
#include <jzx/sync.h>
#include <jzx/timer.h>

#include <stdlib.h>
#include <unistd.h>

#define MESSAGE_MAX ((size_t)JZX_MSG_LEN_MAX)
#define RESULT_MAX (MESSAGE_MAX - sizeof(jzx_result))
#define VALUE_MAX ((size_t)JZX_FUTURE_VALUE_MAX)
#define FILE_MAX ((size_t)INT64_MAX)

/* ---- messages ---- */

#define CALL(name, expression)                                                                     \
    static jzx_err name(size_t size) {                                                             \
        return expression;                                                                         \
    }

CALL(send_plain, jzx_send(loop, other, turn->self, bytes, size, 1))
CALL(send_urgent, jzx_send_urgent(loop, other, turn->self, bytes, size, 1))
CALL(send_async, jzx_send_async(loop, other, bytes, size, 1))
CALL(send_until, jzx_send_until(turn, other, bytes, size, 1, JZX_NEVER))
CALL(send_named, jzx_send_named(loop, "other", turn->self, bytes, size, 1))
CALL(call_other, jzx_call(turn, other, bytes, size, 1, JZX_NEVER, &(jzx_message){.len = 0}))
CALL(ask_other, jzx_ask(turn, other, bytes, size, 1, JZX_NEVER, &(uint64_t){0}))
CALL(send_group, jzx_group_broadcast(loop, "group", turn->self, bytes, size, 1, NULL))
CALL(send_route, jzx_route(loop, "group", JZX_ROUTE_ROUND_ROBIN, 0, turn->self, bytes, size, 1))
CALL(send_after, jzx_send_after(loop, other, turn->self, bytes, size, 1, 1, NULL))
CALL(send_every, jzx_send_every(loop, other, turn->self, bytes, size, 1, 1, JZX_FIXED_RATE, NULL))
CALL(start_timer, jzx_timer_start(turn, 1, bytes, size, 1, 1))
CALL(start_every, jzx_timer_start_every(turn, 1, bytes, size, 1, 1, JZX_FIXED_RATE))
CALL(plan_once, jzx_schedule_once(loop, 1, other, turn->self, bytes, size, 1, NULL))
CALL(plan_rate,
     jzx_schedule_at_fixed_rate(loop, 1, JZX_SECOND(1), other, turn->self, bytes, size, 1, NULL))
CALL(plan_delay,
     jzx_schedule_with_fixed_delay(loop, 1, JZX_SECOND(1), other, turn->self, bytes, size, 1, NULL))
CALL(make_message, or_no_memory(jzx_msg_alloc(loop, size, NULL)))

static void name_other(void) {
    JZX_EXPECT_EQ(jzx_register(loop, "other", other), JZX_OK);
    JZX_EXPECT_EQ(jzx_group_join(turn, "group"), JZX_OK);
}

JZX_TEST(a_message_that_is_too_long_is_refused_by_every_call_that_sends) {
    static const struct limit limits[] = {
        {"jzx_send", send_plain, .max = MESSAGE_MAX},
        {"jzx_send_urgent", send_urgent, .max = MESSAGE_MAX},
        {"jzx_send_async", send_async, .max = MESSAGE_MAX},
        {"jzx_send_until", send_until, .max = MESSAGE_MAX},
        {"jzx_send_named", send_named, .max = MESSAGE_MAX},
        {"jzx_call", call_other, .max = MESSAGE_MAX},
        {"jzx_ask", ask_other, .max = MESSAGE_MAX},
        {"jzx_group_broadcast", send_group, .max = MESSAGE_MAX},
        {"jzx_route", send_route, .max = MESSAGE_MAX},
        {"jzx_send_after", send_after, .max = MESSAGE_MAX},
        {"jzx_send_every", send_every, .max = MESSAGE_MAX},
        {"jzx_timer_start", start_timer, .max = MESSAGE_MAX},
        {"jzx_timer_start_every", start_every, .max = MESSAGE_MAX},
        {"jzx_schedule_once", plan_once, .max = MESSAGE_MAX},
        {"jzx_schedule_at_fixed_rate", plan_rate, .max = MESSAGE_MAX},
        {"jzx_schedule_with_fixed_delay", plan_delay, .max = MESSAGE_MAX},
        {"jzx_msg_alloc", make_message, .max = MESSAGE_MAX, .err = JZX_ERR_NO_MEMORY},
    };
    check_limits(LIMITS(limits), name_other);
}

/* ---- memory of an actor ---- */

CALL(take, or_no_memory(jzx_alloc(turn, size)))
CALL(take_zeroed, or_no_memory(jzx_alloc_zeroed(turn, size, 2)))
CALL(take_many, or_no_memory(jzx_alloc_zeroed(turn, 48, size)))

static jzx_err grow(size_t size) {
    void *block = jzx_alloc(turn, 3000);
    JZX_EXPECT(block != NULL);
    void *grown = jzx_realloc(turn, block, size);
    jzx_free(turn, grown == NULL ? block : grown);
    return or_no_memory(grown);
}

JZX_TEST(no_block_of_a_heap_is_shorter_than_was_asked_for) {
    static const struct limit limits[] = {
        {"jzx_alloc", take, .max = LARGEST, .is_read = true, .err = JZX_ERR_NO_MEMORY},
        {"jzx_alloc_zeroed, count", take_zeroed, .max = LARGEST / 2, .is_read = true,
         .err = JZX_ERR_NO_MEMORY},
        {"jzx_alloc_zeroed, size", take_many, .max = LARGEST / 48, .is_read = true,
         .err = JZX_ERR_NO_MEMORY},
        {"jzx_realloc", grow, .max = LARGEST, .is_read = true, .err = JZX_ERR_NO_MEMORY},
    };
    check_limits(LIMITS(limits), NULL);
}

/* ---- operations ---- */

static jzx_err nothing(void *arg) {
    (void)arg;
    return JZX_OK;
}

CALL(copy_to, jzx_blocking_copy_to(turn, NULL, nothing, bytes, size, 1, NULL))
CALL(copy_wait, jzx_blocking_copy(turn, NULL, nothing, bytes, size, JZX_NEVER))

static jzx_err copy_async(size_t size) {
    jzx_future *future;
    return let_go(jzx_blocking_copy_async(loop, NULL, nothing, bytes, size, &future), &future);
}

static jzx_err make_promise(size_t size) {
    jzx_promise *promise;
    jzx_future *future;
    return jzx_promise_create(loop, size, &promise, &future);
}

static jzx_err make_value(size_t size) {
    jzx_future *future;
    return let_go(jzx_future_resolved(loop, bytes, size, &future), &future);
}

static jzx_err make_delayed(size_t size) {
    jzx_future *future;
    return let_go(jzx_future_delayed(loop, 1, bytes, size, &future), &future);
}

static jzx_poll step(jzx_context *ctx, jzx_async *async, void *state, void *result) {
    (void)ctx, (void)async, (void)state, (void)result;
    return JZX_READY;
}

static jzx_err make_async(size_t state_size, size_t result_size) {
    const jzx_async_type type = {sizeof type, "async", state_size, result_size, step};
    jzx_future *future;
    return let_go(jzx_async_create(loop, &type, bytes, NULL, &future), &future);
}

CALL(make_state, make_async(size, 8))
CALL(make_result, make_async(8, size))

static jzx_future *const *const no_inputs = (jzx_future *const *)(const void *)bytes;

static jzx_err list(size_t count, jzx_err (*call)(jzx_loop *, jzx_future *const *, size_t, uint32_t,
                                                  jzx_future **)) {
    jzx_future *future;
    return call(loop, no_inputs, count, 0, &future);
}

CALL(all, list(size, jzx_future_all))
CALL(race, list(size, jzx_future_race))
CALL(any, list(size, jzx_future_any))
CALL(all_settled, list(size, jzx_future_all_settled))

static jzx_err map(size_t count) {
    const jzx_async_type type = {sizeof type, "async", 0, 64, step};
    jzx_future *future;
    return jzx_future_map(loop, &type, bytes, count, 1, &future);
}

JZX_TEST(a_value_of_a_future_that_is_too_long_is_refused) {
    static const struct limit limits[] = {
        {"jzx_blocking_copy_to", copy_to, .max = RESULT_MAX},
        {"jzx_blocking_copy", copy_wait, .max = RESULT_MAX},
        {"jzx_blocking_copy_async", copy_async, .max = VALUE_MAX},
        {"jzx_promise_create", make_promise, .max = VALUE_MAX},
        {"jzx_future_resolved", make_value, .max = VALUE_MAX},
        {"jzx_future_delayed", make_delayed, .max = VALUE_MAX},
        {"jzx_async_create, state", make_state, .max = VALUE_MAX},
        {"jzx_async_create, result", make_result, .max = VALUE_MAX},
        {"jzx_future_all", all, .max = VALUE_MAX / 16, .is_read = true},
        {"jzx_future_race", race, .max = VALUE_MAX / 16, .is_read = true},
        {"jzx_future_any", any, .max = VALUE_MAX / 16, .is_read = true},
        {"jzx_future_all_settled", all_settled, .max = VALUE_MAX / 16, .is_read = true},
        {"jzx_future_map", map, .max = VALUE_MAX / 64},
    };
    check_limits(LIMITS(limits), NULL);
}

/* ---- files ---- */

static jzx_file file;

static void open_file(void) {
    JZX_EXPECT_EQ(jzx_file_temporary(turn, NULL, JZX_NEVER, &file), JZX_OK);
}

static struct iovec part(size_t size) {
    return (struct iovec){bytes, size};
}

static jzx_err write_two(size_t size) {
    const struct iovec parts[2] = {part(1), part(size)};
    return jzx_file_writev_to(turn, file, parts, 2, 0, 1, NULL);
}

CALL(read_file, jzx_file_read(turn, file, bytes, size, 0, JZX_NEVER, &(size_t){0}))
CALL(readv_file, jzx_file_readv(turn, file, &(struct iovec){bytes, 1}, (uint32_t)size, 0, JZX_NEVER,
                                &(size_t){0}))
CALL(read_to, jzx_file_read_to(turn, file, size, 0, 1, NULL))
CALL(write_file, jzx_file_write(turn, file, bytes, size, 0, JZX_NEVER, NULL))
CALL(write_to, jzx_file_write_to(turn, file, bytes, size, 0, 1, NULL))
CALL(allocate, jzx_file_allocate_to(turn, file, 1, size, 1, NULL))
CALL(truncate_to, jzx_file_truncate_to(turn, file, size, 1, NULL))
CALL(list_to, jzx_path_list_to(turn, "/none", size, 1, NULL))
CALL(replace, jzx_path_replace(turn, "/none/x", bytes, size, 0, JZX_NEVER))
CALL(replace_to, jzx_path_replace_to(turn, "/none/x", bytes, size, 0, 1, NULL))

static jzx_err read_async(size_t size) {
    jzx_future *future;
    return let_go(jzx_file_read_async(loop, file, size, 0, &future), &future);
}

static jzx_err list_async(size_t size) {
    jzx_future *future;
    return let_go(jzx_path_list_async(loop, "/none", size, &future), &future);
}

static jzx_err write_async(size_t size) {
    jzx_future *future;
    return let_go(jzx_file_write_async(loop, file, bytes, size, 0, &future), &future);
}

static jzx_err replace_async(size_t size) {
    jzx_future *future;
    return let_go(jzx_path_replace_async(loop, "/none/x", bytes, size, 0, &future), &future);
}

JZX_TEST(a_length_that_no_file_has_is_refused_before_anything_is_copied) {
    static const struct limit limits[] = {
        {"jzx_file_read", read_file, .max = FILE_MAX, .is_read = true},
        {"jzx_file_readv", readv_file, .max = JZX_FILE_PARTS_MAX, .is_read = true},
        {"jzx_file_read_to", read_to, .max = RESULT_MAX},
        {"jzx_file_read_async", read_async, .max = VALUE_MAX - sizeof(jzx_result)},
        {"jzx_file_write", write_file, .max = FILE_MAX, .is_read = true},
        {"jzx_file_write_to", write_to, .max = FILE_MAX},
        {"jzx_file_write_async", write_async, .max = FILE_MAX},
        {"jzx_file_writev_to", write_two, .max = FILE_MAX - 1},
        {"jzx_file_allocate_to", allocate, .max = FILE_MAX - 1, .is_read = true},
        {"jzx_file_truncate_to", truncate_to, .max = FILE_MAX, .is_read = true},
        {"jzx_path_list_to", list_to, .max = RESULT_MAX},
        {"jzx_path_list_async", list_async, .max = VALUE_MAX - sizeof(jzx_result)},
        {"jzx_path_replace", replace, .max = FILE_MAX},
        {"jzx_path_replace_to", replace_to, .max = FILE_MAX},
        {"jzx_path_replace_async", replace_async, .max = FILE_MAX},
    };
    check_limits(LIMITS(limits), open_file);
}

JZX_TEST(the_walk_over_names_takes_any_length) {
    static const char names[] = "a\0b";
    assert_ptr_equal(jzx_path_next(names, sizeof names, NULL), names);
    assert_ptr_equal(jzx_path_next(names, sizeof names, names), names + 2);
    assert_null(jzx_path_next(names, sizeof names, names + 2));
    assert_ptr_equal(jzx_path_next(names, SIZE_MAX, names), names + 2);
    assert_null(jzx_path_next(names, 0, NULL));
}

/* ---- what synchronises ---- */

static jzx_err make_channel(size_t capacity, size_t value_size) {
    static jzx_channel channel;
    jzx_err err = jzx_channel_init(loop, &channel, capacity, value_size);
    if (err == JZX_OK)
        JZX_EXPECT_EQ(jzx_channel_deinit(&channel), JZX_OK);
    return err;
}

static jzx_err make_oneshot(size_t value_size) {
    static jzx_channel channel;
    return jzx_channel_init_oneshot(loop, &channel, value_size);
}

static jzx_err make_broadcast(size_t keep, size_t value_size) {
    static jzx_broadcast broadcast;
    return jzx_broadcast_init(loop, &broadcast, keep, value_size);
}

static jzx_err choose(size_t count) {
    static jzx_case cases[JZX_SELECT_MAX];
    return jzx_select_to(turn, cases, count, sizeof cases[0], 1, NULL);
}

static jzx_err make_semaphore(size_t permits) {
    static jzx_semaphore semaphore;
    return permits > UINT32_MAX ? JZX_ERR_INVALID_ARG
                                : jzx_semaphore_init(loop, &semaphore, (uint32_t)permits, 0);
}

CALL(make_long_channel, make_channel(size, 24))
CALL(make_wide_channel, make_channel(24, size))
CALL(make_long_broadcast, make_broadcast(size, 24))
CALL(make_wide_broadcast, make_broadcast(24, size))

JZX_TEST(a_channel_that_no_memory_could_hold_is_refused) {
    static const struct limit limits[] = {
        {"jzx_channel_init, values", make_wide_channel, .max = SIZE_MAX / 2 / 24},
        {"jzx_channel_init_oneshot", make_oneshot, .max = SIZE_MAX / 2},
        {"jzx_broadcast_init", make_long_broadcast, .max = SIZE_MAX / 2 / 24},
        {"jzx_broadcast_init, values", make_wide_broadcast, .max = SIZE_MAX / 2 / 24},
        {"jzx_select_to", choose, .max = JZX_SELECT_MAX, .is_read = true},
        {"jzx_semaphore_init", make_semaphore, .max = JZX_SEMAPHORE_MAX, .is_read = true},
    };
    check_limits(LIMITS(limits), NULL);
}

/* SIZE_MAX is JZX_UNBOUNDED: the only one beyond the limit that is in range. */
static void try_capacities(jzx_context *ctx) {
    loop = ctx->loop;
    turn = ctx;
    jzx_test_ran();
    JZX_EXPECT_EQ(make_long_channel(JZX_UNBOUNDED), JZX_OK);
    JZX_EXPECT_EQ(make_long_channel(SIZE_MAX / 2 / 24 + 1), JZX_ERR_INVALID_ARG);
    for (size_t back = 0; back < WRAPS; back++) {
        if (SIZE_MAX - back != JZX_UNBOUNDED)
            JZX_EXPECT_EQ(make_long_channel(SIZE_MAX - back), JZX_ERR_INVALID_ARG);
    }
}

JZX_TEST(a_channel_without_a_bound_is_no_large_one) {
    jzx_loop *made = fixture_loop();
    fixture_spawn(made, &JZX_SPAWN_OPTS(.fiber = try_capacities));
    assert_int_equal(jzx_loop_run(made), JZX_OK);
    assert_int_equal(jzx_test_runs(), 1);
    fixture_destroy(made);
}
