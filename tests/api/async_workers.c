/* SPDX-License-Identifier: MIT */
/* Async functions and the workers of a loop: the threaded executor, with so many of them. */
#include "fibering.h"

#include <jzx/async.h>
#include <jzx/context.h>

#include <sched.h>
#include <stdatomic.h>

enum { FUNCTIONS = 12 };

/* ---- some of the workers ---- */

struct walk {
    uint32_t worker; /* that it should be polled by, */
    uint32_t rounds;
    atomic_uint *astray; /* and polls by others */
    jzx_await_op op;
};

static void note_poll(struct walk *walk) {
    jzx_test_ran();
    if (jzx_current_worker() != walk->worker)
        atomic_fetch_add(walk->astray, 1);
}

/* A function that is called: it is polled where its caller is. */
JZX_ASYNC(nap, struct walk *, int) {
    JZX_AWAIT(jzx_op_sleep(&(*self)->op, jzx_in(ctx, 1000)), NULL);
    note_poll(*self);
    JZX_RETURN(0);
}
JZX_END

struct walker {
    struct walk walk;
    struct nap_call nap;
};

JZX_ASYNC(walker, struct walker, int) {
    note_poll(&self->walk);
    while (self->walk.rounds-- != 0) {
        JZX_YIELD();
        note_poll(&self->walk);
        JZX_AWAIT(nap_call(&self->nap, &self->walk), NULL);
        note_poll(&self->walk);
    }
    JZX_RETURN(0);
}
JZX_END

JZX_TEST(functions_are_polled_by_those_workers_that_they_are_placed_on, "E+mode") {
    jzx_loop *loop = fixture_loop_with(&(jzx_config){.size = sizeof(jzx_config), .workers = 4});
    jzx_future *futures[FUNCTIONS];
    atomic_uint astray = 0;
    for (uint32_t i = 0; i < FUNCTIONS; i++) { /* by two of four */
        struct walker state = {.walk = {.worker = i % 2, .rounds = 20, .astray = &astray}};
        assert_int_equal(jzx_async_spawn(loop, &walker_type, &state,
                                         &JZX_ASYNC_OPTS(.place = JZX_PLACE_WORKER(i % 2)),
                                         &futures[i]),
                         JZX_OK);
    }
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    for (uint32_t i = 0; i < FUNCTIONS; i++) {
        assert_int_equal(jzx_future_try(futures[i], NULL), JZX_OK);
        jzx_future_release(futures[i]);
    }
    assert_int_equal(atomic_load(&astray), 0);
    assert_int_equal(jzx_test_runs(), FUNCTIONS * (1 + 20 * 3));
    fixture_destroy(loop);
}

/* ---- all of them at the same time ---- */

struct party {
    atomic_uint there;
    uint32_t all;
};

/* Leaves its poll when all are in theirs. */
JZX_ASYNC(guest, struct party *, uint32_t) {
    atomic_fetch_add(&(*self)->there, 1);
    while (atomic_load(&(*self)->there) < (*self)->all)
        sched_yield();
    jzx_test_ran();
    JZX_RETURN(jzx_current_worker());
}
JZX_END

JZX_TEST(a_loop_with_n_workers_polls_n_functions_at_the_same_time, "E+mode") {
    enum { WORKERS = 3 };
    jzx_loop *loop = fixture_loop_with(
        &(jzx_config){.size = sizeof(jzx_config), .workers = WORKERS, .stall_after_ns = JZX_NEVER});
    struct party party = {.all = WORKERS};
    struct party *at = &party;
    jzx_future *futures[WORKERS];
    for (uint32_t i = 0; i < WORKERS; i++)
        assert_int_equal(jzx_async_spawn(loop, &guest_type, &at,
                                         &JZX_ASYNC_OPTS(.place = JZX_PLACE_WORKER(i)),
                                         &futures[i]),
                         JZX_OK);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    for (uint32_t i = 0; i < WORKERS; i++) {
        uint32_t worker = UINT32_MAX;
        assert_int_equal(jzx_future_try(futures[i], &worker), JZX_OK);
        assert_int_equal(worker, i);
        jzx_future_release(futures[i]);
    }
    assert_int_equal(jzx_test_runs(), WORKERS);
    fixture_destroy(loop);
}

JZX_TEST(a_function_for_a_worker_that_is_not_there_is_refused, "E+mode") {
    jzx_loop *loop = fixture_loop_with(&(jzx_config){.size = sizeof(jzx_config), .workers = 2});
    struct walker state = {.walk = {.rounds = 0}};
    jzx_future *future = NULL;
    const jzx_async_opts opts = JZX_ASYNC_OPTS(.place = JZX_PLACE_WORKER(2));
    assert_int_equal(jzx_async_spawn(loop, &walker_type, &state, &opts, &future),
                     JZX_ERR_INVALID_ARG);
    assert_null(future);
    assert_int_equal(jzx_async_create(loop, &walker_type, &state, &opts, &future), JZX_OK);
    assert_int_equal(jzx_async_start(future), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_future_error(future, NULL), JZX_ERR_INVALID_ARG);
    jzx_future_release(future);
    fixture_destroy(loop);
}
