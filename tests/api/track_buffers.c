/* SPDX-License-Identifier: MIT */
/* Buffers of jzx_msg_alloc and jzx_msg_take that were never released: the end of the loop names the
 * actors that took them. */
#include "fixture.h"

#include <jzx/timer.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the log ---- */

struct lines {
    uint32_t count;
    char text[24][256];
};

static void keep_line(void *ctx, jzx_log_level level, const char *text) {
    struct lines *lines = ctx;
    JZX_EXPECT_EQ(level, JZX_LOG_WARN);
    if (JZX_EXPECT(lines->count < 24))
        snprintf(lines->text[lines->count++], sizeof lines->text[0], "%s", text);
}

static jzx_config tracking(struct lines *lines) {
    memset(lines, 0, sizeof *lines);
    return JZX_CONFIG(.track_buffers = true,
                      .log = {.write = keep_line, .ctx = lines, .level = JZX_LOG_WARN});
}

/* True if a line says that such a buffer was not released, and names that taker. */
static bool is_told(const struct lines *lines, const char *what, const char *who) {
    for (uint32_t i = 0; i < lines->count; i++) {
        if (strstr(lines->text[i], what) != NULL && strstr(lines->text[i], who) != NULL &&
            strstr(lines->text[i], "was not released") != NULL)
            return true;
    }
    for (uint32_t i = 0; i < lines->count; i++)
        fprintf(stderr, "not \"%s ... %s\": %s\n", what, who, lines->text[i]);
    return false;
}

/* ---- actors that take what comes ---- */

struct taker {
    bool frees; /* what it takes */
    uint32_t taken;
    void *last;
};

static jzx_behavior_result take_all(jzx_context *ctx, const jzx_message *msg) {
    struct taker *self = ctx->state;
    self->last = jzx_msg_take(ctx, msg);
    self->taken += self->last != NULL;
    jzx_test_ran();
    if (self->frees)
        jzx_msg_free(ctx->loop, self->last);
    return JZX_BEHAVIOR_OK;
}

static void send_zeroes(jzx_loop *loop, jzx_actor_id to, size_t len) {
    static const char zeroes[8192];
    JZX_EXPECT_EQ(jzx_send(loop, to, JZX_NOBODY, zeroes, len, 1), JZX_OK);
}

static jzx_actor_id spawn_taker(jzx_loop *loop, const char *name, struct taker *self) {
    return fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = take_all, .state = self, .name = name));
}

JZX_TEST(the_end_of_a_loop_names_the_actor_that_has_kept_a_buffer) {
    struct lines lines;
    const jzx_config config = tracking(&lines);
    jzx_loop *loop = fixture_loop_with(&config);
    struct taker bank = {0};
    struct taker nameless = {0};
    jzx_actor_id id = spawn_taker(loop, "bank", &bank);
    jzx_actor_id other = spawn_taker(loop, NULL, &nameless);
    send_zeroes(loop, id, 20);
    send_zeroes(loop, id, 300);
    send_zeroes(loop, other, 40);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(jzx_actor_stop(loop, id, JZX_STOP_KILL), JZX_OK); /* long before the end */
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(bank.taken, 2);
    assert_int_equal(lines.count, 0);
    assert_int_equal(jzx_loop_destroy(loop), JZX_OK);
    assert_int_equal(jzx_test_runs(), 3);
    assert_int_equal(lines.count, 3);
    assert_true(is_told(&lines, "buffer of 20 bytes", "actor 0.1 bank"));
    assert_true(is_told(&lines, "buffer of 300 bytes", "actor 0.1 bank"));
    assert_true(is_told(&lines, "buffer of 40 bytes", "actor 1.1 has taken it"));
}

JZX_TEST(the_payload_of_a_timer_that_was_kept_is_named_too) {
    struct lines lines;
    const jzx_config config = tracking(&lines);
    jzx_loop *loop = fixture_loop_with(&config);
    struct taker self = {0};
    jzx_actor_id id = spawn_taker(loop, "clock", &self);
    static const char payload[100];
    assert_int_equal(jzx_send_after(loop, id, JZX_NOBODY, payload, 5, 1, 0, NULL), JZX_OK);
    assert_int_equal(jzx_send_after(loop, id, JZX_NOBODY, payload, 100, 1, 0, NULL), JZX_OK);
    while (self.taken < 2)
        assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(jzx_loop_destroy(loop), JZX_OK);
    assert_int_equal(lines.count, 2);
    assert_true(is_told(&lines, "buffer of 5 bytes", "clock"));
    assert_true(is_told(&lines, "buffer of 100 bytes", "clock"));
}

static void *make_on_a_thread(void *loop) {
    return jzx_msg_alloc(loop, 33, NULL);
}

static jzx_behavior_result make_one(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    jzx_test_ran();
    JZX_EXPECT(jzx_msg_alloc(ctx->loop, 44, NULL) != NULL);
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(buffers_that_were_made_and_not_sent_are_named_with_their_makers) {
    struct lines lines;
    const jzx_config config = tracking(&lines);
    jzx_loop *loop = fixture_loop_with(&config);
    pthread_t thread;
    void *made;
    assert_int_equal(pthread_create(&thread, NULL, make_on_a_thread, loop), 0);
    assert_int_equal(pthread_join(thread, &made), 0);
    assert_non_null(made);
    fixture_send(loop, fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = make_one, .name = "mint")),
                 1);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(jzx_loop_destroy(loop), JZX_OK);
    assert_int_equal(jzx_test_runs(), 1);
    assert_int_equal(lines.count, 2);
    assert_true(is_told(&lines, "buffer of 33 bytes", "a thread that is no actor"));
    assert_true(is_told(&lines, "buffer of 44 bytes", "mint"));
}

JZX_TEST(a_reference_to_a_shared_buffer_that_was_kept_is_named) {
    struct lines lines;
    const jzx_config config = tracking(&lines);
    jzx_loop *loop = fixture_loop_with(&config);
    struct taker self = {0};
    jzx_actor_id id = spawn_taker(loop, "reader", &self);
    void *shared = jzx_msg_share(loop, jzx_msg_alloc(loop, 60, NULL));
    assert_non_null(shared);
    assert_int_equal(jzx_send_shared(loop, id, JZX_NOBODY, shared, 1), JZX_OK);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_ptr_equal(self.last, shared);
    jzx_msg_free(loop, shared); /* the reader has the last reference */
    assert_int_equal(jzx_loop_destroy(loop), JZX_OK);
    assert_int_equal(lines.count, 1);
    assert_true(is_told(&lines, "shared buffer of 60 bytes", "reader"));
}

/* ---- what was released ---- */

/* Buffers of all sizes, in all ways: sent, sent on, taken, shared, refused, freed, dead letters. */
static void use_and_release(jzx_loop *loop, jzx_actor_id keeper, jzx_actor_id nobody) {
    static const size_t sizes[] = {0, 8, 32, 33, 500, 4000, 5000, 8192};
    for (uint32_t i = 0; i < 8; i++) {
        send_zeroes(loop, keeper, sizes[i]);
        void *sent = jzx_msg_alloc(loop, sizes[i], NULL);
        JZX_EXPECT_EQ(jzx_send_msg(loop, keeper, JZX_NOBODY, sent, 1), JZX_OK);
        void *refused = jzx_msg_alloc(loop, sizes[i], NULL);
        JZX_EXPECT_EQ(jzx_send_msg(loop, nobody, JZX_NOBODY, refused, 1), JZX_ERR_NO_SUCH_ACTOR);
        void *shared = jzx_msg_share(loop, refused);
        JZX_EXPECT_EQ(jzx_send_shared(loop, keeper, JZX_NOBODY, shared, 1), JZX_OK);
        jzx_msg_free(loop, shared);
    }
}

JZX_TEST(buffers_that_were_released_or_sent_are_not_named) {
    struct lines lines;
    const jzx_config config = tracking(&lines);
    jzx_loop *loop = fixture_loop_with(&config);
    struct taker self = {.frees = true};
    jzx_actor_id id = spawn_taker(loop, "tidy", &self);
    for (uint32_t round = 0; round < 20; round++) {
        use_and_release(loop, id, jzx_make_id(7, 7));
        if (round != 19) /* what comes last stays in the mailbox: dead letters */
            assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    }
    assert_int_equal(self.taken, 19 * 24);
    assert_int_equal(jzx_loop_destroy(loop), JZX_OK);
    assert_int_equal(lines.count, 0);
    assert_int_equal(fixture_bytes(), 0);
}

JZX_TEST(among_many_released_buffers_the_kept_ones_are_found) {
    enum { COUNT = 3000, KEPT = 20 };
    static void *buffers[COUNT];
    struct lines lines;
    const jzx_config config = tracking(&lines);
    jzx_loop *loop = fixture_loop_with(&config);
    for (uint32_t i = 0; i < COUNT; i++) {
        buffers[i] = jzx_msg_alloc(loop, i % 3 == 0 ? 5000 : 50, NULL);
        assert_non_null(buffers[i]);
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < COUNT; i++) {
        if (i % 3 != 0 && kept < KEPT && i % 7 == 0)
            kept++;
        else
            jzx_msg_free(loop, buffers[i]);
    }
    assert_int_equal(kept, KEPT);
    assert_int_equal(jzx_loop_destroy(loop), JZX_OK);
    assert_int_equal(lines.count, 17); /* sixteen, and how many there are beyond */
    assert_true(is_told(&lines, "buffer of 50 bytes", "a thread that is no actor"));
    assert_non_null(strstr(lines.text[16], "and 4 more buffers were not released"));
}

/* ---- large blocks, and memory ---- */

/* Its own hooks: what is kept is of malloc, and is seen and freed here. */
static void *large_kept;

static void *keep_largest(void *ctx, size_t size) {
    void *block = malloc(size);
    (void)ctx;
    if (size > 100000 && size < 110000)
        large_kept = block;
    return block;
}

static void free_plainly(void *ctx, void *ptr, size_t size) {
    (void)ctx, (void)size;
    if (ptr == large_kept)
        large_kept = NULL;
    free(ptr);
}

JZX_TEST(a_large_buffer_that_was_kept_is_named_and_stays_the_callers) {
    struct lines lines;
    jzx_config config = tracking(&lines);
    config.allocator = (jzx_allocator){keep_largest, free_plainly, NULL};
    config.workers = 1;
    jzx_loop *loop = jzx_loop_create(&config);
    assert_non_null(loop);
    void *first = jzx_msg_alloc(loop, 100001, NULL);
    jzx_msg_free(loop, first);
    char *second = jzx_msg_alloc(loop, 100002, NULL);
    assert_non_null(second);
    assert_int_equal(jzx_loop_destroy(loop), JZX_OK);
    assert_int_equal(lines.count, 1);
    assert_true(is_told(&lines, "buffer of 100002 bytes", "a thread that is no actor"));
    assert_non_null(large_kept);
    memset(second, 1, 100002);
    free(large_kept);
}

JZX_TEST(without_memory_to_track_a_buffer_it_can_be_taken_and_the_log_says_so) {
    struct lines lines;
    const jzx_config config = tracking(&lines);
    jzx_loop *loop = fixture_loop_with(&config);
    void *first = jzx_msg_alloc(loop, 10, NULL); /* the chunk, and the table */
    void *many[200];
    fixture_fail_allocations(0, UINT64_MAX);
    for (uint32_t i = 0; i < 200; i++) {
        many[i] = jzx_msg_alloc(loop, 10, NULL);
        JZX_EXPECT(many[i] != NULL); /* the chunk has room */
    }
    fixture_fail_allocations(UINT64_MAX, 0);
    for (uint32_t i = 0; i < 200; i++)
        jzx_msg_free(loop, many[i]);
    jzx_msg_free(loop, first);
    assert_int_equal(jzx_loop_destroy(loop), JZX_OK);
    assert_int_equal(lines.count, 1);
    assert_non_null(strstr(lines.text[0], "without memory to track them"));
    assert_int_equal(fixture_bytes(), 0);
}
