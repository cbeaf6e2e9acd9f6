/* SPDX-License-Identifier: MIT */
/* The heap of an actor: gone when the actor ends, however it ends; bounded by its quota; and only
 * for the actor itself, wherever its turn goes on. */
#include "fixture.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>

enum { GO = 1, WAKE = 2 };

static jzx_heap_info info_of(jzx_context *ctx) {
    jzx_heap_info info = {.size = sizeof info};
    JZX_EXPECT_EQ(jzx_heap_info_get(ctx, &info), JZX_OK);
    return info;
}

/* Has fn called in the turn of an actor of its own, and its cleanup with the same state. */
struct guest {
    void (*fn)(jzx_context *ctx);
    void (*at_end)(jzx_context *ctx);
    jzx_behavior_result result;
};

static jzx_behavior_result be_guest(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    const struct guest *self = ctx->state;
    (void)msg;
    self->fn(ctx);
    return self->result;
}

static void leave(jzx_context *ctx, jzx_exit_reason reason) {
    const struct guest *self = ctx->state;
    (void)reason;
    if (self->at_end != NULL)
        self->at_end(ctx);
}

static void run_guest(const jzx_config *config, struct guest guest) {
    uint64_t before = jzx_test_runs();
    jzx_loop *loop = fixture_loop_with(config);
    assert_non_null(loop);
    if (guest.result == JZX_BEHAVIOR_OK)
        guest.result = JZX_BEHAVIOR_STOP;
    jzx_actor_id id = fixture_spawn(
        loop, &JZX_SPAWN_OPTS(.behavior = be_guest, .cleanup = leave, .state = &guest));
    fixture_send(loop, id, GO);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), before + 1);
    fixture_destroy(loop);
    JZX_EXPECT_EQ(fixture_bytes(), 0);
}

/* ---- blocks ---- */

static void use_blocks(jzx_context *ctx) {
    JZX_EXPECT_EQ(info_of(ctx).taken_bytes, 0); /* nothing before the first block */
    unsigned char *blocks[300];
    for (uint32_t i = 0; i < 300; i++) {
        blocks[i] = jzx_alloc(ctx, 1 + i * 20);
        if (!JZX_EXPECT(blocks[i] != NULL))
            return;
        JZX_EXPECT_EQ((uintptr_t)blocks[i] % _Alignof(max_align_t), 0);
        memset(blocks[i], (int)i, 1 + i * 20);
    }
    for (uint32_t i = 0; i < 300; i++) {
        unsigned char *moved = jzx_realloc(ctx, blocks[i], 1 + (300 - i) * 20);
        if (!JZX_EXPECT(moved != NULL))
            return;
        size_t kept = 1 + 20 * (size_t)(i < 150 ? i : 300 - i);
        for (size_t at = 0; at < kept; at++)
            JZX_EXPECT(moved[at] == (unsigned char)i);
        blocks[i] = moved;
    }
    for (uint32_t i = 0; i < 300; i += 2)
        jzx_free(ctx, blocks[i]);
    jzx_free(ctx, NULL);
    const unsigned char *zeros = jzx_alloc_zeroed(ctx, 100, 7);
    for (uint32_t i = 0; zeros != NULL && i < 700; i++)
        JZX_EXPECT_EQ(zeros[i], 0);
}

JZX_TEST(blocks_keep_what_is_in_them_and_go_with_their_actor, "C17") {
    run_guest(NULL, (struct guest){.fn = use_blocks});
    run_guest(NULL, (struct guest){.fn = use_blocks, .result = JZX_BEHAVIOR_FAIL});
    run_guest(NULL, (struct guest){.fn = use_blocks, .result = (jzx_behavior_result)99});
}

static void ask_for_nonsense(jzx_context *ctx) {
    JZX_EXPECT_EQ(jzx_alloc(ctx, 0), NULL);
    JZX_EXPECT_EQ(jzx_alloc(ctx, SIZE_MAX), NULL);
    JZX_EXPECT_EQ(jzx_alloc_zeroed(ctx, SIZE_MAX / 2, 3), NULL);
    JZX_EXPECT_EQ(jzx_alloc_zeroed(ctx, 0, 3), NULL);
    char *text = jzx_realloc(ctx, NULL, 5);
    memcpy(text, "kept", 5);
    JZX_EXPECT_EQ(jzx_realloc(ctx, text, 0), NULL);
    JZX_EXPECT_EQ(jzx_realloc(ctx, text, SIZE_MAX - 100), NULL);
    JZX_EXPECT_EQ(strcmp(text, "kept"), 0);
    JZX_EXPECT_EQ(jzx_heap_info_get(ctx, NULL), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_heap_info_get(ctx, &(jzx_heap_info){.size = 7}), JZX_ERR_INVALID_ARG);
}

JZX_TEST(sizes_that_cannot_be_are_refused_and_leave_the_block) {
    run_guest(NULL, (struct guest){.fn = ask_for_nonsense});
}

/* ---- the cleanup ---- */

static char *kept_text;

static void keep_text(jzx_context *ctx) {
    kept_text = jzx_alloc(ctx, 6);
    if (JZX_EXPECT(kept_text != NULL))
        memcpy(kept_text, "there", 6);
}

static void read_text(jzx_context *ctx) {
    JZX_EXPECT_EQ(strcmp(kept_text, "there"), 0);
    kept_text = jzx_realloc(ctx, kept_text, 5000);
    JZX_EXPECT(kept_text != NULL && strcmp(kept_text, "there") == 0);
    JZX_EXPECT(jzx_alloc(ctx, 100) != NULL);
    jzx_free(ctx, kept_text);
    JZX_EXPECT(info_of(ctx).peak_bytes >= 5000);
}

static void begin_late(jzx_context *ctx) {
    (void)ctx;
}

static void alloc_first_in_cleanup(jzx_context *ctx) {
    JZX_EXPECT(jzx_alloc(ctx, 100) != NULL);
}

JZX_TEST(the_heap_is_there_in_the_cleanup) {
    run_guest(NULL, (struct guest){.fn = keep_text, .at_end = read_text});
    run_guest(NULL, (struct guest){.fn = begin_late, .at_end = alloc_first_in_cleanup});
}

static jzx_err alloc_in_init(jzx_context *ctx) {
    JZX_EXPECT(jzx_alloc(ctx, 3000) != NULL);
    JZX_EXPECT(jzx_alloc(ctx, 30) != NULL);
    JZX_EXPECT_EQ(jzx_heap_set_quota(ctx, 1), JZX_OK);
    JZX_EXPECT_EQ(jzx_alloc(ctx, 30), NULL);
    return ctx->state != NULL ? JZX_ERR_UNKNOWN : JZX_OK;
}

/* However it ends: its init fails, it is killed, or the loop goes. */
JZX_TEST(the_heap_goes_with_an_actor_that_others_end, "C17") {
    for (uint32_t how = 0; how < 5; how++) {
        jzx_loop *loop = fixture_loop();
        struct recorder log = {0};
        jzx_actor_id id =
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .init = alloc_in_init,
                                                .state = how == 0 ? &log : NULL));
        assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
        if (how == 1)
            assert_int_equal(jzx_actor_stop(loop, id, JZX_STOP_KILL), JZX_OK);
        if (how == 2)
            assert_int_equal(jzx_actor_fail(loop, id), JZX_OK);
        if (how == 3)
            assert_int_equal(jzx_loop_request_stop(loop), JZX_OK);
        if (how != 4) {
            jzx_loop_step(loop, JZX_NEVER);
            JZX_EXPECT_EQ(fixture_stats(loop).exited, 1);
        }
        fixture_destroy(loop);
        JZX_EXPECT_EQ(fixture_bytes(), 0);
    }
}

/* ---- quota and figures ---- */

static void stay_within(jzx_context *ctx) {
    JZX_EXPECT_EQ(info_of(ctx).quota_bytes, 1000);
    void *last = NULL;
    for (uint32_t i = 0; i < 15; i++) /* 64 bytes each */
        JZX_EXPECT((last = jzx_alloc(ctx, 56)) != NULL);
    JZX_EXPECT_EQ(info_of(ctx).used_bytes, 960);
    JZX_EXPECT_EQ(jzx_alloc(ctx, 33), NULL); /* 48 */
    JZX_EXPECT_EQ(jzx_alloc(ctx, 5000), NULL);
    JZX_EXPECT_EQ(jzx_realloc(ctx, last, 89), NULL); /* 112 for 64 */
    JZX_EXPECT(jzx_realloc(ctx, last, 88) != NULL);  /* 96: exactly 992 */
    JZX_EXPECT_EQ(jzx_alloc(ctx, 1), NULL);
    JZX_EXPECT_EQ(jzx_heap_set_quota(ctx, 1008), JZX_OK);
    JZX_EXPECT(jzx_alloc(ctx, 8) != NULL); /* the last 16 */
    JZX_EXPECT_EQ(jzx_alloc(ctx, 1), NULL);
    JZX_EXPECT_EQ(jzx_heap_set_quota(ctx, 10), JZX_OK); /* what is there stays */
    JZX_EXPECT_EQ(info_of(ctx).used_bytes, 1008);
    JZX_EXPECT_EQ(jzx_alloc(ctx, 1), NULL);
    JZX_EXPECT_EQ(jzx_alloc(ctx, 4000), NULL);
    JZX_EXPECT_EQ(jzx_heap_set_quota(ctx, 0), JZX_OK);
    JZX_EXPECT(jzx_alloc(ctx, 100000) != NULL);
    JZX_EXPECT_EQ(info_of(ctx).quota_bytes, 0);
}

JZX_TEST(the_quota_is_exact) {
    run_guest(&JZX_CONFIG(.default_heap_quota = 1000), (struct guest){.fn = stay_within});
}

static void have_no_quota(jzx_context *ctx) {
    JZX_EXPECT_EQ(info_of(ctx).quota_bytes, 0);
    JZX_EXPECT(jzx_alloc(ctx, 10000000) != NULL);
}

JZX_TEST(without_a_quota_there_is_no_bound, "C16") {
    run_guest(NULL, (struct guest){.fn = have_no_quota});
}

static void look_at_figures(jzx_context *ctx) {
    void *small = jzx_alloc(ctx, 100); /* 112 */
    void *large = jzx_alloc(ctx, 10000);
    jzx_heap_info info = info_of(ctx);
    JZX_EXPECT_EQ(info.used_bytes, 112 + 10032);
    JZX_EXPECT_EQ(info.peak_bytes, info.used_bytes);
    JZX_EXPECT_EQ(info.taken_bytes, 1024 + 10032);
    jzx_free(ctx, large);
    jzx_free(ctx, small);
    info = info_of(ctx);
    JZX_EXPECT_EQ(info.used_bytes, 0);
    JZX_EXPECT_EQ(info.peak_bytes, 112 + 10032);
    JZX_EXPECT_EQ(info.taken_bytes, 1024);
    jzx_actor_info actor = {.size = sizeof actor};
    JZX_EXPECT_EQ(jzx_actor_info_get(ctx->loop, ctx->self, &actor), JZX_OK);
    JZX_EXPECT(actor.memory_bytes >= 1024);
}

JZX_TEST(the_figures_tell_use_peak_and_what_was_taken) {
    run_guest(NULL, (struct guest){.fn = look_at_figures});
}

/* ---- wrong use ---- */

static void expect_refused(jzx_context *ctx, void *block) {
    jzx_heap_info info = {.size = sizeof info};
    JZX_EXPECT_EQ(jzx_alloc(ctx, 8), NULL);
    JZX_EXPECT_EQ(jzx_alloc_zeroed(ctx, 1, 8), NULL);
    JZX_EXPECT_EQ(jzx_realloc(ctx, NULL, 8), NULL);
    JZX_EXPECT_EQ(jzx_realloc(ctx, block, 9), NULL);
    jzx_free(ctx, block);
    JZX_EXPECT_EQ(jzx_heap_set_quota(ctx, 1), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_heap_info_get(ctx, &info), JZX_ERR_INVALID_ARG);
}

struct lent {
    jzx_context *ctx;
    void *block;
};

static struct lent lent;

static void *refuse_on_a_thread(void *arg) {
    (void)arg;
    expect_refused(lent.ctx, lent.block);
    return NULL;
}

static jzx_behavior_result use_the_lent(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    expect_refused(lent.ctx, lent.block); /* in a turn, but not in that actor's */
    return JZX_BEHAVIOR_STOP;
}

static void lend(jzx_context *ctx) {
    jzx_context copy = *ctx;
    lent = (struct lent){ctx, jzx_alloc(ctx, 8)};
    size_t used = info_of(ctx).used_bytes;
    pthread_t thread;
    if (JZX_EXPECT_EQ(pthread_create(&thread, NULL, refuse_on_a_thread, NULL), 0))
        JZX_EXPECT_EQ(pthread_join(thread, NULL), 0);
    expect_refused(NULL, lent.block);
    expect_refused(&copy, lent.block);
    jzx_loop *inner = fixture_loop();
    jzx_actor_id id = fixture_spawn(inner, &JZX_SPAWN_OPTS(.behavior = use_the_lent));
    fixture_send(inner, id, GO);
    JZX_EXPECT_EQ(jzx_loop_run(inner), JZX_OK);
    fixture_destroy(inner);
    JZX_EXPECT_EQ(info_of(ctx).used_bytes, used); /* nothing happened to it */
    JZX_EXPECT_EQ(info_of(ctx).quota_bytes, 0);
}

/* The context of the turn is not that of the cleanup. */
static void use_the_lent_at_end(jzx_context *ctx) {
    JZX_EXPECT(ctx != lent.ctx);
    expect_refused(lent.ctx, lent.block);
}

static void call_with_the_lent(jzx_loop *loop, void *ctx) {
    (void)loop;
    (void)ctx;
    expect_refused(lent.ctx, NULL); /* outside of any turn */
}

JZX_TEST(the_heap_is_only_for_the_actor_itself) {
    run_guest(NULL, (struct guest){.fn = lend, .at_end = use_the_lent_at_end});
    jzx_loop *loop = fixture_loop();
    struct guest guest = {.fn = lend, .result = JZX_BEHAVIOR_OK};
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = be_guest, .state = &guest));
    expect_refused(&(jzx_context){.self = id, .loop = loop}, NULL);
    fixture_send(loop, id, GO);
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_call(loop, call_with_the_lent, NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    fixture_destroy(loop);
}

/* ---- without memory ---- */

static void alloc_what_is_there(jzx_context *ctx) {
    for (size_t size = 1; size < 10000; size += size / 4 + 1) {
        unsigned char *block = jzx_alloc(ctx, size);
        if (block == NULL)
            continue;
        memset(block, 1, size);
        unsigned char *grown = jzx_realloc(ctx, block, size * 2);
        JZX_EXPECT_EQ((grown != NULL ? grown : block)[size - 1], 1);
    }
    jzx_err err = jzx_heap_set_quota(ctx, 1000000);
    JZX_EXPECT(err == JZX_OK || err == JZX_ERR_NO_MEMORY);
}

static void play(void) {
    jzx_loop *loop = fixture_loop_with(NULL);
    if (loop == NULL)
        return;
    struct guest guest = {.fn = alloc_what_is_there, .result = JZX_BEHAVIOR_STOP};
    jzx_actor_id id;
    if (jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = be_guest, .state = &guest), &id) == JZX_OK)
        jzx_send(loop, id, JZX_NOBODY, NULL, 0, GO);
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    fixture_destroy(loop);
}

static void fail_each(uint64_t failures) {
    uint64_t before = fixture_allocations();
    play();
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    uint64_t total = fixture_allocations() - before;
    JZX_EXPECT(total > 10);
    for (uint64_t n = 0; n < total; n++) {
        fixture_fail_allocations(n, failures);
        play();
        fixture_fail_allocations(UINT64_MAX, 0);
        JZX_EXPECT_EQ(fixture_bytes(), 0);
    }
}

JZX_TEST(the_nth_allocation_fails_for_every_n, "C17", "C+fail") {
    fail_each(1);
}

JZX_TEST(all_allocations_from_the_nth_on_fail_for_every_n, "C17", "C+fail") {
    fail_each(UINT64_MAX);
}

/* ---- actors that leak ---- */

static void leak(jzx_context *ctx) {
    for (size_t size = 10; size < 2000; size += 300)
        JZX_EXPECT(jzx_alloc(ctx, size) != NULL);
    JZX_EXPECT(jzx_alloc(ctx, 3000) != NULL);
}

JZX_TEST(a_hundred_thousand_actors_that_leak_run_in_constant_memory, "C17") {
    jzx_loop *loop = fixture_loop();
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < 100000; i++) {
        struct guest guest = {.fn = leak, .result = i % 2 ? JZX_BEHAVIOR_FAIL : JZX_BEHAVIOR_STOP};
        jzx_actor_id id =
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = be_guest, .state = &guest));
        fixture_send(loop, id, GO);
        if (!JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK))
            break;
        if (i == 1000) /* the table of actors has grown */
            bytes = fixture_bytes();
        if (i > 1000 && !JZX_EXPECT_EQ(fixture_bytes(), bytes))
            break;
    }
    JZX_EXPECT_EQ(jzx_test_runs(), 100000);
    fixture_destroy(loop);
}

/* ---- a behaviour whose worker went on ---- */

struct staller {
    sem_t go;
    jzx_actor_id waker;
    void *before;
};

static struct staller staller;

/* Runs only when a spare thread drives the worker. */
static jzx_behavior_result let_go(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    sem_post(&staller.go);
    return JZX_BEHAVIOR_STOP;
}

/* The first block of all comes when the worker is lost already, or there was one before. */
static jzx_behavior_result alloc_in_a_stall(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == WAKE)
        return JZX_BEHAVIOR_STOP;
    if (ctx->state != NULL)
        staller.before = jzx_alloc(ctx, 40);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, staller.waker, ctx->self, NULL, 0, WAKE), JZX_OK);
    while (sem_wait(&staller.go) != 0 && errno == EINTR)
        continue;
    JZX_EXPECT_EQ(jzx_current_worker(), JZX_NONE);
    if (ctx->state != NULL)
        jzx_free(ctx, staller.before);
    for (size_t size = 1; size < 100000; size *= 2) {
        unsigned char *block = jzx_alloc(ctx, size);
        if (JZX_EXPECT(block != NULL))
            memset(block, 1, size);
    }
    JZX_EXPECT_EQ(jzx_heap_set_quota(ctx, 1), JZX_OK);
    JZX_EXPECT_EQ(jzx_alloc(ctx, 1), NULL);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(the_heap_works_in_a_behaviour_whose_worker_went_on, "C23") {
    for (uint32_t i = 0; i < 2; i++) {
        jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 2, .stall_after_ns = 1000000));
        assert_non_null(loop);
        sem_init(&staller.go, 0, 0);
        jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = alloc_in_a_stall,
                                                              .state = i == 0 ? NULL : &staller,
                                                              .place = JZX_PLACE_WORKER(1)));
        staller.waker =
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = let_go, .place = JZX_PLACE_WORKER(1)));
        fixture_send(loop, id, GO);
        fixture_send(loop, id, WAKE);
        assert_int_equal(jzx_loop_run(loop), JZX_OK);
        fixture_destroy(loop);
        sem_destroy(&staller.go);
    }
}
