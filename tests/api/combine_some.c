/* SPDX-License-Identifier: MIT */
/* The winner of a race, the errors of an any that has none, and some: the first k values. */
#include "fibering.h"

#include <jzx/combine.h>

enum { INPUTS = 5 };

struct list {
    jzx_promise *promises[INPUTS];
    jzx_future *futures[INPUTS];
};

static struct list make_list(jzx_loop *loop) {
    struct list list = {0};
    for (uint32_t i = 0; i < INPUTS; i++)
        assert_int_equal(jzx_promise_create(loop, 8, &list.promises[i], &list.futures[i]), JZX_OK);
    return list;
}

static void give(struct list *list, uint32_t at, uint64_t number) {
    JZX_EXPECT_EQ(jzx_promise_resolve(list->promises[at], &number), JZX_OK);
    list->promises[at] = NULL;
}

static void fail_at(struct list *list, uint32_t at, jzx_err err, const char *text) {
    JZX_EXPECT_EQ(jzx_promise_reject(list->promises[at], err, text), JZX_OK);
    list->promises[at] = NULL;
}

static void drop_list(struct list *list) {
    for (uint32_t i = 0; i < INPUTS; i++) {
        jzx_promise_drop(list->promises[i]);
        (void)jzx_future_error(list->futures[i], NULL);
        jzx_future_release(list->futures[i]);
    }
}

static jzx_err err_of(jzx_future *future) {
    return jzx_future_error(future, NULL);
}

static void expect_error_at(jzx_future *future, size_t index, jzx_err wanted,
                            const char *wanted_text) {
    jzx_err err = JZX_ERR_UNKNOWN;
    const char *text = NULL;
    JZX_EXPECT_EQ(jzx_future_error_at(future, index, &err, &text), JZX_OK);
    JZX_EXPECT_EQ(err, wanted);
    if (JZX_EXPECT(text != NULL))
        assert_string_equal(text, wanted_text);
}

static void expect_winner(jzx_future *future, size_t wanted) {
    size_t index = SIZE_MAX;
    JZX_EXPECT_EQ(jzx_future_winner(future, &index), JZX_OK);
    JZX_EXPECT_EQ(index, wanted);
}

static void expect_no_winner(jzx_future *future) {
    size_t index = 77;
    JZX_EXPECT_EQ(jzx_future_winner(future, &index), JZX_ERR_NOT_FOUND);
    JZX_EXPECT_EQ(index, 77);
}

/* ---- any ---- */

JZX_TEST(an_any_that_fails_has_all_errors_in_the_order_of_the_list, "E41") {
    jzx_loop *loop = fixture_loop();
    struct list list = make_list(loop);
    jzx_future *any;
    jzx_err err;
    assert_int_equal(jzx_future_any(loop, list.futures, 3, 0, &any), JZX_OK);
    assert_int_equal(jzx_future_error_at(any, 0, &err, NULL), JZX_ERR_INVALID_STATE);
    fail_at(&list, 2, JZX_ERR_CLOSED, "third");
    fail_at(&list, 0, JZX_ERR_FULL, "first");
    assert_false(jzx_future_is_ready(any));
    fail_at(&list, 1, JZX_ERR_TIMEOUT, NULL);
    assert_int_equal(err_of(any), JZX_ERR_ALL_REJECTED);
    for (uint32_t i = 0; i < 3; i++) { /* they are the result's own */
        jzx_future_release(list.futures[i]);
        list.futures[i] = NULL;
    }
    expect_error_at(any, 0, JZX_ERR_FULL, "first");
    expect_error_at(any, 1, JZX_ERR_TIMEOUT, "");
    expect_error_at(any, 2, JZX_ERR_CLOSED, "third");
    expect_no_winner(any);
    assert_int_equal(jzx_future_error_at(any, 3, &err, NULL), JZX_ERR_INVALID_ARG);
    jzx_future_release(any);
    drop_list(&list);
    fixture_destroy(loop);
}

JZX_TEST(errors_that_are_there_already_are_those_of_their_inputs, "E41") {
    jzx_loop *loop = fixture_loop();
    struct list list = make_list(loop);
    jzx_future *any;
    fail_at(&list, 0, JZX_ERR_FULL, "a");
    fail_at(&list, 1, JZX_ERR_CLOSED, "b");
    assert_int_equal(jzx_future_any(loop, list.futures, 2, 0, &any), JZX_OK);
    assert_int_equal(err_of(any), JZX_ERR_ALL_REJECTED);
    expect_error_at(any, 0, JZX_ERR_FULL, "a");
    expect_error_at(any, 1, JZX_ERR_CLOSED, "b");
    jzx_future_release(any);
    drop_list(&list);
    fixture_destroy(loop);
}

/* Races, alls and timeouts have an error of their own, and no list of them. */
JZX_TEST(only_any_and_some_have_the_errors_of_their_inputs) {
    jzx_loop *loop = fixture_loop();
    struct list list = make_list(loop);
    jzx_future *made[3];
    jzx_err err;
    fail_at(&list, 0, JZX_ERR_FULL, "a");
    assert_int_equal(jzx_future_race(loop, list.futures, 1, 0, &made[0]), JZX_OK);
    assert_int_equal(jzx_future_all(loop, list.futures, 1, 0, &made[1]), JZX_OK);
    assert_int_equal(jzx_future_all_settled(loop, list.futures, 1, 0, &made[2]), JZX_OK);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(jzx_future_error_at(made[i], 0, &err, NULL), JZX_ERR_INVALID_ARG);
        (void)err_of(made[i]);
        jzx_future_release(made[i]);
    }
    assert_int_equal(jzx_future_error_at(list.futures[0], 0, &err, NULL), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_future_error_at(NULL, 0, &err, NULL), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_future_any(loop, list.futures, 1, 0, &made[0]), JZX_OK);
    assert_int_equal(jzx_future_error_at(made[0], 0, NULL, NULL), JZX_ERR_INVALID_ARG);
    (void)err_of(made[0]);
    jzx_future_release(made[0]);
    drop_list(&list);
    fixture_destroy(loop);
}

/* Of a result that was cancelled: those that had come, and no more. */
JZX_TEST(a_cancelled_any_has_the_errors_that_had_come, "E41") {
    jzx_loop *loop = fixture_loop();
    struct list list = make_list(loop);
    jzx_future *any;
    assert_int_equal(jzx_future_any(loop, list.futures, 3, 0, &any), JZX_OK);
    fail_at(&list, 1, JZX_ERR_FULL, "no room");
    jzx_future_cancel(any);
    fail_at(&list, 0, JZX_ERR_CLOSED, "late");
    assert_int_equal(err_of(any), JZX_ERR_CANCELLED);
    expect_error_at(any, 0, JZX_OK, "");
    expect_error_at(any, 1, JZX_ERR_FULL, "no room");
    expect_no_winner(any);
    jzx_future_release(any);
    drop_list(&list);
    fixture_destroy(loop);
}

/* ---- the winner ---- */

JZX_TEST(an_any_and_a_race_tell_the_winner, "E40", "E41") {
    jzx_loop *loop = fixture_loop();
    struct list list = make_list(loop);
    jzx_future *any;
    jzx_future *race;
    size_t index = 77;
    assert_int_equal(jzx_future_any(loop, list.futures, 3, 0, &any), JZX_OK);
    assert_int_equal(jzx_future_race(loop, list.futures, 3, 0, &race), JZX_OK);
    assert_int_equal(jzx_future_winner(any, &index), JZX_ERR_INVALID_STATE);
    fail_at(&list, 1, JZX_ERR_FULL, NULL);
    expect_winner(race, 1); /* an error wins a race */
    assert_int_equal(err_of(race), JZX_ERR_FULL);
    assert_int_equal(jzx_future_winner(any, &index), JZX_ERR_INVALID_STATE);
    give(&list, 2, 9);
    expect_winner(any, 2);
    expect_error_at(any, 1, JZX_ERR_FULL, "");
    expect_error_at(any, 2, JZX_OK, "");
    give(&list, 0, 8); /* too late */
    expect_winner(any, 2);
    assert_int_equal(jzx_future_winner(list.futures[0], &index), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_future_winner(NULL, &index), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_future_winner(any, NULL), JZX_ERR_INVALID_ARG);
    assert_int_equal(index, 77);
    jzx_future_release(any);
    jzx_future_release(race);
    drop_list(&list);
    fixture_destroy(loop);
}

JZX_TEST(an_all_tells_which_input_has_rejected_it, "E39") {
    jzx_loop *loop = fixture_loop();
    struct list list = make_list(loop);
    jzx_future *all;
    assert_int_equal(jzx_future_all(loop, list.futures, 3, 0, &all), JZX_OK);
    give(&list, 0, 1);
    fail_at(&list, 2, JZX_ERR_FULL, NULL);
    fail_at(&list, 1, JZX_ERR_CLOSED, NULL);
    assert_int_equal(err_of(all), JZX_ERR_FULL);
    expect_winner(all, 2);
    jzx_future_release(all);
    assert_int_equal(jzx_future_all(loop, list.futures, 1, 0, &all), JZX_OK);
    expect_no_winner(all); /* it has all their values */
    jzx_future_release(all);
    drop_list(&list);
    fixture_destroy(loop);
}

/* The input may have been rejected with JZX_ERR_TIMEOUT itself. */
JZX_TEST(a_timeout_tells_whether_it_was_the_time, "E44") {
    struct timing timing = timing_open();
    struct list list = make_list(timing.loop);
    jzx_future *made[2];
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(jzx_future_timeout(list.futures[i], JZX_MS(5), 0, &made[i]), JZX_OK);
    timing_step(&timing);
    fail_at(&list, 0, JZX_ERR_TIMEOUT, NULL);
    timing_advance(&timing, JZX_MS(5));
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(err_of(made[i]), JZX_ERR_TIMEOUT);
        expect_winner(made[i], i);
        jzx_future_release(made[i]);
    }
    drop_list(&list);
    timing_close(&timing);
}

/* ---- some ---- */

JZX_TEST(some_has_the_first_k_values_and_their_indices_as_they_came, "E41", "X8") {
    jzx_loop *loop = fixture_loop();
    struct list list = make_list(loop);
    jzx_future *some;
    uint64_t records[3 * JZX_SETTLED_SIZE(8) / 8];
    assert_int_equal(jzx_future_some(loop, list.futures, INPUTS, 3, 0, &some), JZX_OK);
    assert_int_equal(jzx_future_value_size(some), sizeof records);
    give(&list, 4, 40);
    fail_at(&list, 1, JZX_ERR_FULL, "no room");
    give(&list, 0, 10);
    assert_false(jzx_future_is_ready(some));
    give(&list, 2, 20);
    assert_int_equal(jzx_future_try(some, records), JZX_OK);
    static const uint32_t indices[] = {4, 0, 2};
    static const uint64_t values[] = {40, 10, 20};
    for (uint32_t i = 0; i < 3; i++) {
        const jzx_settled *record = jzx_settled_at(records, 8, i);
        assert_int_equal(record->err, JZX_OK);
        assert_int_equal(record->index, indices[i]);
        assert_int_equal(*(const uint64_t *)(const void *)(record + 1), values[i]);
    }
    expect_error_at(some, 1, JZX_ERR_FULL, "no room");
    expect_no_winner(some);
    assert_true(jzx_promise_is_wanted(list.promises[3])); /* others have a handle */
    jzx_future_release(some);
    drop_list(&list);
    fixture_destroy(loop);
}

JZX_TEST(some_is_rejected_as_soon_as_too_few_inputs_are_left, "E41", "X8") {
    jzx_loop *loop = fixture_loop();
    struct list list = make_list(loop);
    jzx_future *some;
    assert_int_equal(jzx_future_some(loop, list.futures, INPUTS, 4, JZX_CANCEL_INPUTS, &some),
                     JZX_OK);
    give(&list, 3, 30);
    fail_at(&list, 4, JZX_ERR_CLOSED, "gone");
    assert_false(jzx_future_is_ready(some)); /* four are left */
    fail_at(&list, 1, JZX_ERR_FULL, "no room");
    assert_int_equal(err_of(some), JZX_ERR_ALL_REJECTED);
    expect_error_at(some, 0, JZX_OK, "");
    expect_error_at(some, 1, JZX_ERR_FULL, "no room");
    expect_error_at(some, 3, JZX_OK, "");
    expect_error_at(some, 4, JZX_ERR_CLOSED, "gone");
    assert_int_equal(err_of(list.futures[0]), JZX_ERR_CANCELLED); /* as was asked for */
    assert_int_equal(err_of(list.futures[2]), JZX_ERR_CANCELLED);
    jzx_future_release(some);
    drop_list(&list);
    fixture_destroy(loop);
}

JZX_TEST(some_of_none_and_of_more_than_there_are_is_settled_at_once) {
    jzx_loop *loop = fixture_loop();
    struct list list = make_list(loop);
    for (uint32_t count = 0; count < 3; count++) {
        jzx_future *some;
        assert_int_equal(jzx_future_some(loop, list.futures, count, 0, 0, &some), JZX_OK);
        assert_int_equal(jzx_future_state(some), JZX_FUTURE_RESOLVED);
        assert_int_equal(jzx_future_value_size(some), 0);
        jzx_future_release(some);
        assert_int_equal(jzx_future_some(loop, list.futures, count, count + 1, 0, &some), JZX_OK);
        assert_int_equal(err_of(some), JZX_ERR_ALL_REJECTED);
        jzx_future_release(some);
        assert_int_equal(jzx_future_some(loop, list.futures, count, SIZE_MAX, 0, &some), JZX_OK);
        assert_int_equal(err_of(some), JZX_ERR_ALL_REJECTED);
        jzx_future_release(some);
    }
    assert_true(jzx_promise_is_wanted(list.promises[0]));
    jzx_future *some;
    assert_int_equal(jzx_future_some(loop, list.futures, 1, 0, JZX_CANCEL_INPUTS, &some), JZX_OK);
    jzx_future_release(some);
    assert_int_equal(jzx_future_some(loop, list.futures + 1, 1, 2, JZX_CANCEL_INPUTS, &some),
                     JZX_OK);
    (void)err_of(some);
    jzx_future_release(some);
    assert_int_equal(err_of(list.futures[0]), JZX_ERR_CANCELLED); /* nobody needs them */
    assert_int_equal(err_of(list.futures[1]), JZX_ERR_CANCELLED);
    drop_list(&list);
    fixture_destroy(loop);
}

JZX_TEST(of_inputs_that_are_settled_already_some_takes_the_first_in_the_list) {
    jzx_loop *loop = fixture_loop();
    struct list list = make_list(loop);
    jzx_future *some;
    uint64_t records[2 * JZX_SETTLED_SIZE(8) / 8];
    give(&list, 3, 30);
    give(&list, 2, 20);
    fail_at(&list, 0, JZX_ERR_FULL, NULL);
    give(&list, 1, 10);
    assert_int_equal(jzx_future_some(loop, list.futures, INPUTS, 2, 0, &some), JZX_OK);
    assert_int_equal(jzx_future_try(some, records), JZX_OK);
    assert_int_equal(jzx_settled_at(records, 8, 0)->index, 1);
    assert_int_equal(jzx_settled_at(records, 8, 1)->index, 2);
    jzx_future_release(some);
    drop_list(&list);
    fixture_destroy(loop);
}

/* The records of all_settled say of which input they are, too. */
JZX_TEST(records_have_the_index_of_their_input, "E42") {
    jzx_loop *loop = fixture_loop();
    struct list list = make_list(loop);
    jzx_future *all;
    uint64_t records[INPUTS * JZX_SETTLED_SIZE(8) / 8];
    assert_int_equal(jzx_future_all_settled(loop, list.futures, INPUTS, 0, &all), JZX_OK);
    for (uint32_t i = 0; i < INPUTS; i++) {
        if (i % 2 == 0)
            give(&list, i, i);
        else
            fail_at(&list, i, JZX_ERR_FULL, NULL);
    }
    assert_int_equal(jzx_future_try(all, records), JZX_OK);
    for (uint32_t i = 0; i < INPUTS; i++)
        assert_int_equal(jzx_settled_at(records, 8, i)->index, i);
    jzx_future_release(all);
    drop_list(&list);
    fixture_destroy(loop);
}

static uint32_t drops;

static void count_drop(void *object) {
    (void)object;
    drops++;
}

JZX_TEST(an_object_among_some_is_an_error_and_stays_with_its_input) {
    jzx_loop *loop = fixture_loop();
    struct list list = make_list(loop);
    jzx_future *some;
    uint64_t record[JZX_SETTLED_SIZE(8) / 8];
    drops = 0;
    assert_int_equal(jzx_future_some(loop, list.futures, 2, 1, 0, &some), JZX_OK);
    assert_int_equal(jzx_promise_resolve_moved(list.promises[0], &drops, count_drop), JZX_OK);
    list.promises[0] = NULL;
    assert_false(jzx_future_is_ready(some));
    give(&list, 1, 10);
    assert_int_equal(jzx_future_try(some, record), JZX_OK);
    assert_int_equal(jzx_settled_at(record, 8, 0)->index, 1);
    expect_error_at(some, 0, JZX_ERR_INVALID_ARG, "an object cannot be part of a list");
    jzx_future_release(some);
    assert_int_equal(drops, 0);
    drop_list(&list);
    assert_int_equal(drops, 1);
    fixture_destroy(loop);
}

/* ---- memory ---- */

/* Returns true if the call had no memory. */
static bool attempt(uint64_t nth, uint64_t bytes) {
    jzx_loop *loop = fixture_loop();
    struct list list = make_list(loop);
    jzx_future *made[2] = {NULL, NULL};
    fixture_fail_allocations(nth, UINT64_MAX);
    jzx_err err = jzx_future_any(loop, list.futures, INPUTS, 0, &made[0]);
    JZX_EXPECT((err == JZX_OK) == (made[0] != NULL));
    err = jzx_future_some(loop, list.futures, INPUTS, 2, 0, &made[1]);
    JZX_EXPECT((err == JZX_OK) == (made[1] != NULL));
    bool failed = made[0] == NULL || made[1] == NULL;
    for (uint32_t i = 0; i < INPUTS; i++)
        fail_at(&list, i, JZX_ERR_FULL, "no room");
    fixture_fail_allocations(UINT64_MAX, 0);
    for (uint32_t i = 0; i < 2; i++) {
        jzx_err at = JZX_OK;
        const char *text = NULL;
        if (made[i] == NULL)
            continue;
        JZX_EXPECT_EQ(err_of(made[i]), JZX_ERR_ALL_REJECTED);
        JZX_EXPECT_EQ(jzx_future_error_at(made[i], 3, &at, &text), JZX_OK);
        JZX_EXPECT_EQ(at, JZX_ERR_FULL); /* the text may be lost, the error is not */
        JZX_EXPECT(strcmp(text, "no room") == 0 || text[0] == '\0');
        jzx_future_release(made[i]);
    }
    drop_list(&list);
    fixture_destroy(loop);
    JZX_EXPECT_EQ(fixture_bytes(), bytes);
    return failed;
}

JZX_TEST(the_errors_of_an_any_need_no_memory_and_their_texts_leave_none, "E41") {
    const uint64_t bytes = fixture_bytes();
    uint32_t failed = 0;
    for (uint64_t nth = 0; nth < 16; nth++)
        failed += attempt(nth, bytes);
    assert_true(failed != 0 && failed < 16);
    assert_false(attempt(UINT64_MAX, bytes));
}

JZX_TEST(a_long_chain_of_any_and_some_needs_no_stack) {
    const uint32_t length = (uint32_t)jzx_test_rounds(300000, 300000);
    jzx_loop *loop = fixture_loop();
    for (uint32_t end = 0; end < 2; end++) { /* rejected; let go */
        struct list list = make_list(loop);
        jzx_future *last = jzx_future_ref(list.futures[0]);
        for (uint32_t i = 0; i < length; i++) {
            jzx_future *next = NULL;
            jzx_err err = i == 0 ? jzx_future_some(loop, &last, 1, 1, 0, &next)
                                 : jzx_future_any(loop, &last, 1, 0, &next);
            JZX_EXPECT_EQ(err, JZX_OK);
            jzx_future_release(last);
            last = next;
        }
        if (end == 0) {
            fail_at(&list, 0, JZX_ERR_FULL, "no room");
            expect_error_at(last, 0, JZX_ERR_ALL_REJECTED, "");
            (void)err_of(last);
        }
        jzx_future_release(last);
        drop_list(&list);
    }
    fixture_destroy(loop);
}
