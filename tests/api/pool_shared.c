/* SPDX-License-Identifier: MIT */
/* Handle pools for any thread, step by step on one; tests/stress/pool.c has the threads. */
#include "fixture.h"

#include <string.h>

struct session {
    uint32_t hits;
    _Alignas(32) uint64_t user;
};

JZX_SHARED_POOL(session, struct session)

static session_pool *make_pool(uint32_t capacity) {
    session_pool *pool = NULL;
    jzx_allocator allocator = fixture_allocator();
    assert_int_equal(session_pool_create(capacity, &allocator, &pool), JZX_OK);
    return pool;
}

static void drop_pool(session_pool *pool) {
    assert_int_equal(session_pool_destroy(pool), JZX_OK);
    assert_int_equal(fixture_bytes(), 0);
}

static session_ref add(session_pool *pool, uint64_t user) {
    session_ref ref = {JZX_NO_REF};
    struct session value = {.user = user};
    assert_int_equal(session_pool_new(pool, &value, &ref), JZX_OK);
    return ref;
}

static uint64_t user_of(session_pool *pool, session_ref ref) {
    struct session copy = {.user = 0};
    return session_pool_get(pool, ref, &copy) ? copy.user : 0;
}

JZX_TEST(a_shared_pool_gives_copies_until_the_object_is_freed, "E58") {
    session_pool *pool = make_pool(4);
    session_ref ref = add(pool, 7);
    struct session copy;
    assert_true(session_pool_get(pool, ref, &copy));
    assert_int_equal(copy.user, 7);
    copy.user = 8; /* nobody sees it */
    assert_int_equal(user_of(pool, ref), 7);
    assert_true(session_pool_valid(pool, ref));
    assert_true(session_pool_free(pool, ref));
    assert_false(session_pool_valid(pool, ref));
    copy.user = 99;
    assert_false(session_pool_get(pool, ref, &copy));
    assert_int_equal(copy.user, 99); /* untouched */
    assert_false(session_pool_free(pool, ref));
    drop_pool(pool);
}

JZX_TEST(a_full_shared_pool_is_an_error_and_a_stale_reference_is_none, "E58") {
    session_pool *pool = make_pool(2);
    session_ref a = add(pool, 1);
    session_ref b = add(pool, 2);
    session_ref untouched = {12345};
    assert_int_equal(session_pool_new(pool, NULL, &untouched), JZX_ERR_FULL);
    assert_int_equal(untouched.ref, 12345);
    assert_int_equal(session_pool_count(pool), 2);
    assert_true(session_pool_free(pool, a));
    session_ref c = add(pool, 3);
    assert_int_equal(user_of(pool, a), 0);
    assert_int_equal(user_of(pool, b), 2);
    assert_int_equal(user_of(pool, c), 3);
    session_ref refs[] = {a, b, a, c};
    assert_int_equal(session_pool_compact(pool, refs, 4), 2);
    assert_true(refs[0].ref == b.ref && refs[1].ref == c.ref);
    assert_int_equal(session_pool_capacity(pool), 2);
    drop_pool(pool);
}

JZX_TEST(a_commit_replaces_the_object_unless_it_changed_meanwhile, "E58") {
    session_pool *pool = make_pool(1);
    session_ref ref = add(pool, 5);
    session_edit mine;
    session_edit other;
    assert_true(session_pool_get_mut(pool, ref, &mine));
    assert_true(session_pool_get_mut(pool, ref, &other));
    mine.value.hits = 1;
    assert_true(session_pool_commit(pool, &mine));
    other.value.hits = 100;
    assert_false(session_pool_commit(pool, &other));
    struct session copy;
    assert_true(session_pool_get(pool, ref, &copy));
    assert_int_equal(copy.hits, 1);
    mine.value.hits = 2; /* still the newest version */
    assert_true(session_pool_commit(pool, &mine));
    assert_true(session_pool_get_mut(pool, ref, &other));
    assert_int_equal(other.value.hits, 2);
    assert_int_equal(other.value.user, 5);

    assert_true(session_pool_free(pool, ref));
    session_ref next = add(pool, 6); /* the same slot */
    assert_false(session_pool_commit(pool, &other));
    assert_false(session_pool_get_mut(pool, ref, &other));
    assert_int_equal(user_of(pool, next), 6);
    drop_pool(pool);
}

JZX_TEST(take_frees_the_object_and_gives_its_last_value_once) {
    session_pool *pool = make_pool(1);
    session_ref ref = add(pool, 5);
    struct session last = {.user = 0};
    assert_true(session_pool_take(pool, ref, &last));
    assert_int_equal(last.user, 5);
    last.user = 99;
    assert_false(session_pool_take(pool, ref, &last));
    assert_int_equal(last.user, 99);
    assert_int_equal(session_pool_count(pool), 0);
    drop_pool(pool);
}

JZX_TEST(iteration_over_a_shared_pool_shows_each_object_once) {
    session_pool *pool = make_pool(8);
    uint64_t sum = 0;
    for (uint64_t i = 0; i < 8; i++) {
        session_ref ref = add(pool, i + 1);
        if (i % 2 == 0)
            assert_true(session_pool_free(pool, ref));
    }
    session_ref at = {JZX_NO_REF};
    struct session copy;
    while (session_pool_next(pool, &at, &copy)) {
        JZX_EXPECT_EQ(user_of(pool, at), copy.user);
        sum = sum * 10 + copy.user;
        JZX_EXPECT(session_pool_free(pool, at));
    }
    /* Every second one takes the slot that the one before it has left. */
    assert_int_equal(sum, 2468);
    assert_int_equal(session_pool_count(pool), 0);
    drop_pool(pool);
}

struct judge {
    session_pool *pool;
    int asked;
};

/* The pool can be used from here, as no lock is held; the session of user 4 changes. */
static bool is_odd(session_ref ref, const struct session *copy, void *ctx) {
    struct judge *judge = ctx;
    session_edit edit;
    judge->asked++;
    JZX_EXPECT(session_pool_get_mut(judge->pool, ref, &edit));
    JZX_EXPECT_EQ(edit.value.user, copy->user);
    if (copy->user == 4)
        JZX_EXPECT(session_pool_commit(judge->pool, &edit));
    return copy->user % 2 == 1;
}

JZX_TEST(retain_leaves_an_object_that_changed_while_it_was_judged) {
    session_pool *pool = make_pool(6);
    session_ref refs[6];
    for (uint64_t i = 0; i < 6; i++)
        refs[i] = add(pool, i + 1);
    struct judge judge = {.pool = pool};
    assert_int_equal(session_pool_retain(pool, is_odd, &judge), 2);
    assert_int_equal(judge.asked, 6);
    for (uint64_t i = 0; i < 6; i++)
        JZX_EXPECT_EQ(session_pool_valid(pool, refs[i]), i % 2 == 0 || i + 1 == 4);
    drop_pool(pool);
}

JZX_TEST(shared_calls_on_a_pool_of_the_other_kind_do_nothing) {
    jzx_pool_type type = *session_pool_type();
    jzx_pool *plain = NULL;
    jzx_ref ref = JZX_NO_REF;
    struct session value = {.user = 1};
    uint64_t version = 0;
    type.is_shared = false;
    assert_int_equal(jzx_pool_create(&type, 1, NULL, &plain), JZX_OK);
    assert_non_null(jzx_pool_take_slot(plain, &ref));
    assert_int_equal(jzx_pool_add(plain, &value, &ref), JZX_ERR_INVALID_ARG);
    assert_false(jzx_pool_read(plain, ref, &value, NULL));
    assert_false(jzx_pool_write(plain, ref, &value, &version));
    assert_false(jzx_pool_remove(plain, ref, &value, NULL));
    assert_false(jzx_pool_read_next(plain, &ref, &value, NULL));
    assert_int_equal(jzx_pool_count(plain), 1);
    assert_int_equal(jzx_pool_destroy(plain), JZX_OK);
    assert_int_equal(session_pool_new(NULL, &value, NULL), JZX_ERR_INVALID_ARG);
    assert_false(session_pool_get(NULL, (session_ref){1}, &value));
}

JZX_TEST(a_shared_pool_without_memory_is_not_created_and_leaves_nothing) {
    jzx_allocator allocator = fixture_allocator();
    session_pool *pool = NULL;
    uint64_t refused = 0;
    for (;; refused++) {
        fixture_fail_allocations(refused, 1);
        if (session_pool_create(3, &allocator, &pool) == JZX_OK)
            break;
        assert_int_equal(fixture_bytes(), 0);
    }
    fixture_fail_allocations(UINT64_MAX, 0);
    assert_in_range(refused, 1, 8);
    drop_pool(pool);
}
