/* SPDX-License-Identifier: MIT */
/* Combinators of futures: what each makes of its inputs, and when it lets go of them. */
#include "fibering.h"

#include <jzx/combine.h>

#include <stdlib.h>

struct pair {
    jzx_promise *promise;
    jzx_future *future;
};

static struct pair make_pair(jzx_loop *loop) {
    struct pair pair = {NULL, NULL};
    assert_int_equal(jzx_promise_create(loop, sizeof(uint64_t), &pair.promise, &pair.future),
                     JZX_OK);
    return pair;
}

/* n of them: the promises, and the futures as a list. */
struct list {
    jzx_promise *promises[4];
    jzx_future *futures[4];
};

static struct list make_list(jzx_loop *loop, uint32_t count) {
    struct list list = {0};
    for (uint32_t i = 0; i < count; i++) {
        struct pair pair = make_pair(loop);
        list.promises[i] = pair.promise;
        list.futures[i] = pair.future;
    }
    return list;
}

static void release_list(struct list *list) {
    for (uint32_t i = 0; i < 4; i++)
        jzx_future_release(list->futures[i]);
}

static jzx_err give(jzx_promise *promise, uint64_t number) {
    return jzx_promise_resolve(promise, &number);
}

static uint64_t value_of(jzx_future *future) {
    uint64_t value = 0;
    JZX_EXPECT_EQ(jzx_future_try(future, &value), JZX_OK);
    return value;
}

static jzx_err err_of(jzx_future *future) {
    return jzx_future_error(future, NULL);
}

/* ---- all ---- */

JZX_TEST(all_has_the_values_in_the_order_of_the_list, "E39") {
    jzx_loop *loop = fixture_loop();
    struct list list = make_list(loop, 3);
    jzx_future *all;
    uint64_t values[3];
    assert_int_equal(jzx_future_all(loop, list.futures, 3, 0, &all), JZX_OK);
    assert_int_equal(jzx_future_value_size(all), sizeof values);
    give(list.promises[2], 30);
    give(list.promises[0], 10);
    assert_false(jzx_future_is_ready(all));
    give(list.promises[1], 20);
    assert_int_equal(jzx_future_try(all, values), JZX_OK);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(values[i], 10 * (i + 1));
    jzx_future_release(all);
    release_list(&list);
    fixture_destroy(loop);
}

JZX_TEST(all_is_rejected_as_soon_as_one_is_wherever_it_is_in_the_list, "E39", "X8") {
    jzx_loop *loop = fixture_loop();
    for (uint32_t at = 0; at < 3; at++) {
        struct list list = make_list(loop, 3);
        jzx_future *all;
        const char *text;
        assert_int_equal(jzx_future_all(loop, list.futures, 3, 0, &all), JZX_OK);
        jzx_promise_reject(list.promises[at], JZX_ERR_FULL, "no room");
        assert_int_equal(jzx_future_error(all, &text), JZX_ERR_FULL);
        assert_string_equal(text, "no room");
        for (uint32_t i = 0; i < 3; i++) {
            if (i != at) { /* they go on: others have handles */
                assert_true(jzx_promise_is_wanted(list.promises[i]));
                assert_int_equal(give(list.promises[i], i), JZX_OK);
            }
        }
        jzx_future_release(all);
        release_list(&list);
    }
    fixture_destroy(loop);
}

JZX_TEST(inputs_that_are_settled_already_need_no_turn) {
    jzx_loop *loop = fixture_loop();
    struct list list = make_list(loop, 2);
    jzx_future *made;
    uint64_t values[2] = {0, 0};
    give(list.promises[0], 1);
    give(list.promises[1], 2);
    assert_int_equal(jzx_future_all(loop, list.futures, 2, 0, &made), JZX_OK);
    assert_int_equal(jzx_future_try(made, values), JZX_OK);
    assert_int_equal(values[1], 2);
    jzx_future_release(made);
    assert_int_equal(jzx_future_race(loop, list.futures, 2, 0, &made), JZX_OK);
    assert_int_equal(value_of(made), 1);
    jzx_future_release(made);
    assert_int_equal(jzx_future_any(loop, list.futures, 2, 0, &made), JZX_OK);
    assert_int_equal(value_of(made), 1);
    jzx_future_release(made);
    release_list(&list);
    fixture_destroy(loop);
}

JZX_TEST(empty_lists_are_defined, "E39", "X8") {
    jzx_loop *loop = fixture_loop();
    jzx_future *made = NULL;
    assert_int_equal(jzx_future_all(loop, NULL, 0, 0, &made), JZX_OK);
    assert_int_equal(jzx_future_state(made), JZX_FUTURE_RESOLVED);
    assert_int_equal(jzx_future_value_size(made), 0);
    jzx_future_release(made);
    assert_int_equal(jzx_future_all_settled(loop, NULL, 0, 0, &made), JZX_OK);
    assert_int_equal(jzx_future_state(made), JZX_FUTURE_RESOLVED);
    jzx_future_release(made);
    assert_int_equal(jzx_future_any(loop, NULL, 0, 0, &made), JZX_OK);
    assert_int_equal(err_of(made), JZX_ERR_ALL_REJECTED);
    jzx_future_release(made);
    assert_int_equal(jzx_future_race(loop, NULL, 0, 0, &made), JZX_ERR_INVALID_ARG);
    fixture_destroy(loop);
}

/* ---- race, any, all_settled ---- */

JZX_TEST(race_is_the_first_outcome_value_or_error, "E40") {
    jzx_loop *loop = fixture_loop();
    struct list list = make_list(loop, 4);
    jzx_future *race;
    assert_int_equal(jzx_future_race(loop, list.futures, 2, 0, &race), JZX_OK);
    give(list.promises[1], 7);
    assert_int_equal(value_of(race), 7);
    give(list.promises[0], 8);
    assert_int_equal(value_of(race), 7);
    jzx_future_release(race);
    assert_int_equal(jzx_future_race(loop, list.futures + 2, 2, JZX_CANCEL_INPUTS, &race), JZX_OK);
    jzx_promise_reject(list.promises[2], JZX_ERR_FULL, NULL);
    assert_int_equal(err_of(race), JZX_ERR_FULL);
    assert_int_equal(err_of(list.futures[3]), JZX_ERR_CANCELLED); /* as was asked for */
    assert_int_equal(give(list.promises[3], 1), JZX_ERR_CANCELLED);
    jzx_future_release(race);
    release_list(&list);
    fixture_destroy(loop);
}

JZX_TEST(any_is_the_first_value_or_the_fact_that_there_is_none, "E41", "X8") {
    jzx_loop *loop = fixture_loop();
    struct list list = make_list(loop, 4);
    jzx_future *any;
    assert_int_equal(jzx_future_any(loop, list.futures, 2, 0, &any), JZX_OK);
    jzx_promise_reject(list.promises[0], JZX_ERR_FULL, NULL);
    assert_false(jzx_future_is_ready(any));
    give(list.promises[1], 5);
    assert_int_equal(value_of(any), 5);
    jzx_future_release(any);
    assert_int_equal(jzx_future_any(loop, list.futures + 2, 2, 0, &any), JZX_OK);
    jzx_promise_reject(list.promises[3], JZX_ERR_CLOSED, "gone");
    jzx_promise_drop(list.promises[2]);
    assert_int_equal(err_of(any), JZX_ERR_ALL_REJECTED);
    assert_int_equal(err_of(list.futures[2]), JZX_ERR_BROKEN_PROMISE); /* each has its own */
    assert_int_equal(err_of(list.futures[3]), JZX_ERR_CLOSED);
    jzx_future_release(any);
    release_list(&list);
    fixture_destroy(loop);
}

JZX_TEST(all_settled_has_every_outcome_in_the_order_of_the_list, "E42") {
    jzx_loop *loop = fixture_loop();
    struct list list = make_list(loop, 3);
    jzx_future *all;
    uint64_t records[6];
    assert_int_equal(jzx_future_all_settled(loop, list.futures, 3, 0, &all), JZX_OK);
    assert_int_equal(jzx_future_value_size(all), sizeof records);
    give(list.promises[2], 30);
    jzx_promise_reject(list.promises[1], JZX_ERR_FULL, NULL);
    assert_false(jzx_future_is_ready(all));
    give(list.promises[0], 10);
    assert_int_equal(jzx_future_try(all, records), JZX_OK);
    const jzx_err errs[] = {JZX_OK, JZX_ERR_FULL, JZX_OK};
    for (uint32_t i = 0; i < 3; i++) {
        jzx_settled *record = jzx_settled_at(records, sizeof(uint64_t), i);
        assert_int_equal(record->err, errs[i]);
        assert_int_equal(*(uint64_t *)(void *)(record + 1), errs[i] == JZX_OK ? 10 * (i + 1) : 0);
    }
    jzx_future_release(all);
    release_list(&list);
    fixture_destroy(loop);
}

/* ---- letting go ---- */

typedef jzx_err (*list_fn)(jzx_loop *, jzx_future *const *, size_t, uint32_t, jzx_future **);

static jzx_err one_of_some(jzx_loop *loop, jzx_future *const *inputs, size_t count, uint32_t flags,
                           jzx_future **result) {
    return jzx_future_some(loop, inputs, count, 1, flags, result);
}

enum { LIST_FNS = 5 };
static const list_fn list_fns[LIST_FNS] = {jzx_future_all, jzx_future_race, jzx_future_any,
                                           jzx_future_all_settled, one_of_some};

JZX_TEST(a_result_that_nobody_wants_lets_go_of_its_inputs) {
    jzx_loop *loop = fixture_loop();
    for (uint32_t i = 0; i < LIST_FNS; i++) {
        for (uint32_t cancels = 0; cancels < 2; cancels++) {
            struct list list = make_list(loop, 2);
            jzx_future *made;
            assert_int_equal(list_fns[i](loop, list.futures, 2, 0, &made), JZX_OK);
            jzx_future_release(list.futures[0]); /* the combinator has the last handle */
            list.futures[0] = NULL;
            assert_true(jzx_promise_is_wanted(list.promises[0]));
            if (cancels) {
                jzx_future_cancel(made);
                assert_int_equal(err_of(made), JZX_ERR_CANCELLED);
            }
            jzx_future_release(made);
            assert_false(jzx_promise_is_wanted(list.promises[0]));
            assert_true(jzx_promise_is_wanted(list.promises[1])); /* yours stays yours */
            jzx_promise_drop(list.promises[0]);
            assert_int_equal(give(list.promises[1], 1), JZX_OK);
            release_list(&list);
        }
    }
    fixture_destroy(loop);
}

JZX_TEST(inputs_are_cancelled_whoever_has_them_if_asked) {
    jzx_loop *loop = fixture_loop();
    for (uint32_t i = 0; i < LIST_FNS; i++) {
        struct list list = make_list(loop, 2);
        jzx_future *made;
        assert_int_equal(list_fns[i](loop, list.futures, 2, JZX_CANCEL_INPUTS, &made), JZX_OK);
        jzx_future_release(made);
        assert_int_equal(err_of(list.futures[0]), JZX_ERR_CANCELLED);
        assert_int_equal(err_of(list.futures[1]), JZX_ERR_CANCELLED);
        jzx_promise_drop(list.promises[0]);
        jzx_promise_drop(list.promises[1]);
        release_list(&list);
    }
    fixture_destroy(loop);
}

JZX_TEST(a_future_that_is_never_settled_keeps_nothing_of_races_that_are_over) {
    jzx_loop *loop = fixture_loop();
    struct pair never = make_pair(loop);
    uint64_t before = 0;
    for (uint32_t i = 0; i < 10000; i++) {
        struct pair quick = make_pair(loop);
        jzx_future *race;
        jzx_future *both[] = {never.future, quick.future};
        assert_int_equal(jzx_future_race(loop, both, 2, 0, &race), JZX_OK);
        give(quick.promise, i);
        assert_int_equal(value_of(race), i);
        jzx_future_release(quick.future);
        jzx_future_release(race);
        if (i == 100)
            before = fixture_bytes();
    }
    assert_int_equal(fixture_bytes(), before);
    jzx_promise_drop(never.promise);
    assert_int_equal(err_of(never.future), JZX_ERR_BROKEN_PROMISE);
    jzx_future_release(never.future);
    fixture_destroy(loop);
}

JZX_TEST(results_and_inputs_may_outlive_the_loop) {
    jzx_loop *loop = fixture_loop();
    struct list list = make_list(loop, 2);
    jzx_future *inner;
    jzx_future *outer;
    assert_int_equal(jzx_future_all(loop, list.futures, 2, JZX_CANCEL_INPUTS, &inner), JZX_OK);
    assert_int_equal(jzx_future_race(loop, &inner, 1, 0, &outer), JZX_OK);
    jzx_future_release(inner);
    assert_int_equal(jzx_loop_destroy(loop), JZX_OK);
    assert_int_equal(give(list.promises[0], 1), JZX_ERR_LOOP_CLOSED);
    jzx_future_release(outer);
    jzx_promise_drop(list.promises[1]);
    release_list(&list);
}

/* Each kind, alone and as the input of another, with nobody who has a handle. */
JZX_TEST(detached_results_end_when_their_inputs_do_after_the_loop) {
    uint64_t bytes = fixture_bytes();
    for (uint32_t i = 0; i < LIST_FNS; i++) {
        jzx_loop *loop = fixture_loop();
        struct list list = make_list(loop, 2);
        jzx_future *inner;
        jzx_future *outer;
        assert_int_equal(list_fns[i](loop, list.futures, 2, 0, &inner), JZX_OK);
        assert_int_equal(jzx_future_all(loop, &inner, 1, JZX_CANCEL_INPUTS, &outer), JZX_OK);
        jzx_future_detach(inner);
        jzx_future_detach(outer);
        release_list(&list);
        assert_int_equal(jzx_loop_destroy(loop), JZX_OK);
        assert_int_equal(give(list.promises[0], 1), JZX_ERR_LOOP_CLOSED);
        jzx_promise_drop(list.promises[1]);
        assert_int_equal(fixture_bytes(), bytes);
    }
}

JZX_TEST(an_input_that_is_settled_after_the_loop_rejects_the_result) {
    jzx_loop *loop = fixture_loop();
    struct pair pair = make_pair(loop);
    jzx_future *race;
    assert_int_equal(jzx_future_race(loop, &pair.future, 1, 0, &race), JZX_OK);
    assert_int_equal(jzx_loop_destroy(loop), JZX_OK);
    assert_int_equal(jzx_future_try(race, NULL), JZX_ERR_TIMEOUT);
    assert_int_equal(give(pair.promise, 1), JZX_ERR_LOOP_CLOSED);
    assert_int_equal(jzx_future_try(pair.future, NULL), JZX_ERR_LOOP_CLOSED);
    assert_int_equal(jzx_future_try(race, NULL), JZX_ERR_LOOP_CLOSED);
    jzx_future_release(race);
    jzx_future_release(pair.future);
}

static uint32_t objects_dropped;

static void drop_object(void *object) {
    objects_dropped++;
    free(object);
}

JZX_TEST(an_object_moves_on_to_the_result_and_is_dropped_once) {
    jzx_loop *loop = fixture_loop();
    struct pair pair;
    jzx_future *race;
    jzx_future *all;
    void *object = malloc(8);
    objects_dropped = 0;
    assert_int_equal(jzx_promise_create(loop, sizeof(void *), &pair.promise, &pair.future), JZX_OK);
    assert_int_equal(jzx_future_race(loop, &pair.future, 1, 0, &race), JZX_OK);
    assert_int_equal(jzx_promise_resolve_moved(pair.promise, object, drop_object), JZX_OK);
    jzx_future_release(pair.future);
    assert_int_equal(objects_dropped, 0);
    assert_int_equal(jzx_future_all(loop, &race, 1, 0, &all), JZX_OK);
    assert_int_equal(err_of(all), JZX_ERR_INVALID_ARG); /* none in a list */
    jzx_future_release(all);
    assert_ptr_equal(jzx_future_take(race), object);
    jzx_future_release(race);
    assert_int_equal(objects_dropped, 0);
    free(object);
    object = malloc(8);
    assert_int_equal(jzx_promise_create(loop, sizeof(void *), &pair.promise, &pair.future), JZX_OK);
    assert_int_equal(jzx_promise_resolve_moved(pair.promise, object, drop_object), JZX_OK);
    assert_int_equal(jzx_future_any(loop, &pair.future, 1, 0, &race), JZX_OK);
    jzx_future_release(pair.future);
    assert_int_equal(objects_dropped, 0);
    jzx_future_release(race);
    assert_int_equal(objects_dropped, 1);
    fixture_destroy(loop);
}

JZX_TEST(wrong_lists_are_refused) {
    jzx_loop *loop = fixture_loop();
    jzx_loop *other = fixture_loop();
    struct list list = make_list(loop, 2);
    struct pair elsewhere = make_pair(other);
    jzx_future *small;
    jzx_future *failed;
    jzx_future *made = NULL;
    assert_int_equal(jzx_future_resolved(loop, "a", 1, &small), JZX_OK);
    assert_int_equal(jzx_future_rejected(loop, JZX_ERR_FULL, NULL, &failed), JZX_OK);
    for (uint32_t i = 0; i < LIST_FNS; i++) {
        const list_fn make = list_fns[i];
        assert_int_equal(make(NULL, list.futures, 1, 0, &made), JZX_ERR_INVALID_ARG);
        assert_int_equal(make(loop, NULL, 1, 0, &made), JZX_ERR_INVALID_ARG);
        assert_int_equal(make(loop, list.futures, 1, 0, NULL), JZX_ERR_INVALID_ARG);
        assert_int_equal(make(loop, list.futures, 3, 0, &made), JZX_ERR_INVALID_ARG); /* a NULL */
        assert_int_equal(make(loop, list.futures, 1, 2, &made), JZX_ERR_INVALID_ARG);
        jzx_future *mixed[] = {list.futures[0], small};
        assert_int_equal(make(loop, mixed, 2, 0, &made), JZX_ERR_INVALID_ARG);
        mixed[1] = elsewhere.future;
        assert_int_equal(make(loop, mixed, 2, 0, &made), JZX_ERR_INVALID_ARG);
        assert_null(made);
        mixed[1] = failed; /* has no value, of whatever size */
        assert_int_equal(make(loop, mixed, 2, 0, &made), JZX_OK);
        (void)err_of(made);
        jzx_future_release(made);
        made = NULL;
    }
    jzx_future_release(small);
    jzx_future_release(failed);
    jzx_promise_drop(list.promises[0]);
    jzx_promise_drop(list.promises[1]);
    (void)err_of(list.futures[0]), (void)err_of(list.futures[1]);
    release_list(&list);
    jzx_promise_drop(elsewhere.promise);
    (void)err_of(elsewhere.future);
    jzx_future_release(elsewhere.future);
    fixture_destroy(other);
    fixture_destroy(loop);
}

/* A chain of races and alls of one; returns its end. */
static jzx_future *make_links(jzx_loop *loop, jzx_future *first, uint32_t length) {
    jzx_future *last = jzx_future_ref(first);
    for (uint32_t i = 0; i < length; i++) {
        jzx_future *next = NULL;
        jzx_err err = i % 2 ? jzx_future_all(loop, &last, 1, 0, &next)
                            : jzx_future_race(loop, &last, 1, 0, &next);
        JZX_EXPECT_EQ(err, JZX_OK);
        jzx_future_release(last);
        last = next;
    }
    return last;
}

JZX_TEST(a_long_chain_is_settled_cancelled_and_released_without_a_stack) {
    const uint32_t length = (uint32_t)jzx_test_rounds(1000000, 1000000);
    jzx_loop *loop = fixture_loop();
    struct pair pair = make_pair(loop);
    jzx_future *end = make_links(loop, pair.future, length);
    give(pair.promise, 77);
    assert_int_equal(value_of(end), 77);
    jzx_future_release(pair.future);
    jzx_future_release(end);
    for (uint32_t cancels = 0; cancels < 2; cancels++) {
        pair = make_pair(loop);
        end = make_links(loop, pair.future, length);
        jzx_future_release(pair.future);
        assert_true(jzx_promise_is_wanted(pair.promise));
        if (cancels)
            jzx_future_cancel(end);
        jzx_future_release(end);
        assert_false(jzx_promise_is_wanted(pair.promise));
        jzx_promise_drop(pair.promise);
    }
    fixture_destroy(loop);
}
