/* SPDX-License-Identifier: MIT */
/* Wrong use of message buffers and of an actor's heap: it is refused, the log names the actor and
 * the call, and nothing else changes. What no call can see (writing where one must not) is shown by
 * AddressSanitizer and memcheck. */
#include "../unit/child.h"
#include "fixture.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__)
#define UNDER_ASAN true
#elif defined(__has_feature)
#define UNDER_ASAN __has_feature(address_sanitizer)
#else
#define UNDER_ASAN false
#endif
#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN true
#elif defined(__has_feature)
#define UNDER_TSAN __has_feature(thread_sanitizer)
#else
#define UNDER_TSAN false
#endif

enum { GO = 1, AGAIN, LAST };

/* ---- a loop whose reports are kept ---- */

static struct {
    uint32_t count;
    char last[512];
} reports;

static void keep_report(void *ctx, jzx_log_level level, const char *text) {
    (void)ctx;
    JZX_EXPECT_EQ(level, JZX_LOG_ERROR);
    reports.count++;
    snprintf(reports.last, sizeof reports.last, "%s", text);
}

static jzx_loop *open_loop(void) {
    jzx_loop *loop =
        fixture_loop_with(&JZX_CONFIG(.log = {.write = keep_report, .level = JZX_LOG_ERROR}));
    assert_non_null(loop);
    return loop;
}

/* One more report than before, with all three in it. */
static void expect_report(uint32_t before, const char *call, const char *who, const char *what) {
    JZX_EXPECT_EQ(reports.count, before + 1);
    if (!JZX_EXPECT(strstr(reports.last, call) != NULL && strstr(reports.last, who) != NULL &&
                    strstr(reports.last, what) != NULL))
        fprintf(stderr, "the report: %s\n", reports.last);
}

#define NO_ACTOR "a thread that is no actor"

/* Has a function called in the turn of an actor, for each of its messages. */
typedef void (*mistake_fn)(jzx_context *ctx, const jzx_message *msg);

static jzx_behavior_result make_mistake(jzx_context *ctx, const jzx_message *msg) {
    mistake_fn fn = *(const mistake_fn *)ctx->state;
    jzx_test_ran();
    fn(ctx, msg);
    return msg->tag == LAST ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

/* Two messages of len bytes, and a last one. */
static void run_mistakes(jzx_loop *loop, mistake_fn fn, size_t len) {
    static unsigned char bytes[20000];
    uint64_t before = jzx_test_runs();
    jzx_actor_id id = fixture_spawn(
        loop, &JZX_SPAWN_OPTS(.behavior = make_mistake, .name = "clumsy", .state = &fn));
    for (uint32_t tag = GO; tag <= LAST; tag++) {
        memset(bytes, (int)tag, len);
        JZX_EXPECT_EQ(jzx_send(loop, id, JZX_NOBODY, bytes, len, tag), JZX_OK);
    }
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), before + LAST);
}

/* No two of the next buffers are one, and they hold what is written to them. */
static void expect_sound_buffers(jzx_loop *loop, size_t len) {
    unsigned char *buffers[40];
    for (size_t i = 0; i < 40; i++) {
        buffers[i] = jzx_msg_alloc(loop, len, NULL);
        assert_non_null(buffers[i]);
        memset(buffers[i], (int)i, len);
    }
    for (size_t i = 0; i < 40; i++) {
        JZX_EXPECT(len == 0 || (buffers[i][0] == i && buffers[i][len - 1] == i));
        jzx_msg_free(loop, buffers[i]);
    }
}

static const size_t lengths[] = {0, 8, 32, 33, 200, 2000, 4064, 10000};

#define EACH_LENGTH(i)                                                                             \
    size_t i = 0;                                                                                  \
    (i) < sizeof lengths / sizeof lengths[0];                                                      \
    (i)++

/* ---- freed ---- */

static void free_in_hand(jzx_context *ctx, const jzx_message *msg) {
    uint32_t before = reports.count;
    jzx_msg_free(ctx->loop, msg->data);
    expect_report(before, "jzx_msg_free", "clumsy", "in hand");
    for (size_t i = 0; i < msg->len; i++)
        JZX_EXPECT_EQ(((unsigned char *)msg->data)[i], msg->tag);
}

JZX_TEST(to_free_the_message_in_hand_is_reported_and_does_nothing) {
    for (EACH_LENGTH(i)) {
        jzx_loop *loop = open_loop();
        reports.count = 0;
        run_mistakes(loop, free_in_hand, lengths[i]);
        JZX_EXPECT_EQ(reports.count, 3);
        expect_sound_buffers(loop, lengths[i]);
        fixture_destroy(loop);
    }
}

static uint32_t destroyed;

static void count_destroyed(void *data, size_t len) {
    (void)data;
    (void)len;
    destroyed++;
}

/* Longer ones are the allocator's again, which may have anything there. */
#define LEN_KEPT_MAX 4000u

JZX_TEST(to_free_a_buffer_twice_is_reported_and_frees_it_once) {
    for (EACH_LENGTH(i)) {
        if (lengths[i] > LEN_KEPT_MAX)
            continue;
        for (uint32_t has_destructor = 0; has_destructor < 2; has_destructor++) {
            jzx_loop *loop = open_loop();
            uint32_t before = reports.count;
            destroyed = 0;
            void *data =
                jzx_msg_alloc(loop, lengths[i], has_destructor == 1 ? count_destroyed : NULL);
            assert_non_null(data);
            jzx_msg_free(loop, data);
            JZX_EXPECT_EQ(reports.count, before);
            jzx_msg_free(loop, data);
            expect_report(before, "jzx_msg_free", NO_ACTOR, "freed before");
            JZX_EXPECT_EQ(destroyed, has_destructor);
            expect_sound_buffers(loop, lengths[i]);
            fixture_destroy(loop);
        }
    }
}

static void *kept;

static void keep_and_free(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == GO)
        kept = msg->data;
    if (msg->tag != AGAIN)
        return;
    uint32_t before = reports.count;
    jzx_msg_free(ctx->loop, kept);
    expect_report(before, "jzx_msg_free", "clumsy", "");
    JZX_EXPECT_EQ(jzx_send_msg(ctx->loop, ctx->self, ctx->self, kept, GO), JZX_ERR_INVALID_ARG);
    expect_report(before + 1, "jzx_send_msg", "clumsy", "");
    JZX_EXPECT(jzx_msg_share(ctx->loop, kept) == NULL);
    expect_report(before + 2, "jzx_msg_share", "clumsy", "");
}

JZX_TEST(a_payload_that_was_kept_after_its_call_is_nobodys) {
    for (EACH_LENGTH(i)) {
        if (lengths[i] > LEN_KEPT_MAX)
            continue;
        jzx_loop *loop = open_loop();
        run_mistakes(loop, keep_and_free, lengths[i]);
        expect_sound_buffers(loop, lengths[i]);
        fixture_destroy(loop);
    }
}

/* ---- sent ---- */

static void send_in_hand(jzx_context *ctx, const jzx_message *msg) {
    uint32_t before = reports.count;
    JZX_EXPECT_EQ(jzx_send_msg(ctx->loop, ctx->self, ctx->self, msg->data, GO),
                  JZX_ERR_INVALID_ARG);
    expect_report(before, "jzx_send_msg", "clumsy", "in hand");
    JZX_EXPECT_EQ(jzx_send_shared(ctx->loop, ctx->self, ctx->self, msg->data, GO),
                  JZX_ERR_INVALID_ARG);
    expect_report(before + 1, "jzx_send_shared", "clumsy", "in hand");
    JZX_EXPECT(jzx_msg_share(ctx->loop, msg->data) == NULL);
    expect_report(before + 2, "jzx_msg_share", "clumsy", "in hand");
}

JZX_TEST(to_send_the_message_in_hand_without_taking_it_is_refused) {
    for (EACH_LENGTH(i)) {
        jzx_loop *loop = open_loop();
        run_mistakes(loop, send_in_hand, lengths[i]);
        JZX_EXPECT_EQ(fixture_stats(loop).refused_invalid, 6); /* a share is no send */
        expect_sound_buffers(loop, lengths[i]);
        fixture_destroy(loop);
    }
}

JZX_TEST(a_buffer_that_was_sent_can_be_neither_sent_nor_freed_again) {
    for (EACH_LENGTH(i)) {
        jzx_loop *loop = open_loop();
        static struct recorder recorder;
        recorder = (struct recorder){.stop_at = 1};
        uint32_t before = reports.count;
        jzx_actor_id id =
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &recorder));
        destroyed = 0;
        void *data = jzx_msg_alloc(loop, lengths[i], count_destroyed);
        assert_non_null(data);
        JZX_EXPECT_EQ(jzx_send_msg(loop, id, JZX_NOBODY, data, GO), JZX_OK);
        JZX_EXPECT_EQ(jzx_send_msg(loop, id, JZX_NOBODY, data, AGAIN), JZX_ERR_INVALID_ARG);
        expect_report(before, "jzx_send_msg", NO_ACTOR, "does not own it");
        jzx_msg_free(loop, data);
        expect_report(before + 1, "jzx_msg_free", NO_ACTOR, "does not own it");
        JZX_EXPECT_EQ(destroyed, 0);
        JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
        JZX_EXPECT_EQ(recorder.count, 1);
        JZX_EXPECT_EQ(recorder.tags[0], GO);
        JZX_EXPECT_EQ(destroyed, 1);
        fixture_destroy(loop);
    }
}

JZX_TEST(a_buffer_whose_send_was_refused_is_still_the_callers) {
    jzx_loop *loop = open_loop();
    uint32_t before = reports.count;
    static struct recorder recorder;
    jzx_actor_id id = fixture_spawn(
        loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &recorder, .mailbox_cap = 1));
    fixture_send(loop, id, GO);
    for (EACH_LENGTH(i)) {
        void *data = jzx_msg_alloc(loop, lengths[i], NULL);
        assert_non_null(data);
        JZX_EXPECT_EQ(jzx_send_msg(loop, id, JZX_NOBODY, data, GO), JZX_ERR_MAILBOX_FULL);
        JZX_EXPECT_EQ(jzx_send_msg(loop, JZX_NOBODY, JZX_NOBODY, data, GO), JZX_ERR_NO_SUCH_ACTOR);
        JZX_EXPECT_EQ(jzx_send_msg(loop, id, JZX_NOBODY, data, JZX_TAG_RESERVED),
                      JZX_ERR_INVALID_ARG);
        memset(data, 1, lengths[i]);
        jzx_msg_free(loop, data);
    }
    JZX_EXPECT_EQ(reports.count, before);
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(recorder.count, 1); /* the one that filled the mailbox */
    fixture_destroy(loop);
}

/* ---- not ours ---- */

JZX_TEST(memory_that_is_no_buffer_is_refused_wherever_it_begins) {
    jzx_loop *loop = open_loop();
    static struct recorder recorder;
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &recorder));
    unsigned char *memory = malloc(1024);
    assert_non_null(memory);
    for (int fill = 0; fill < 256; fill += 0x55) {
        memset(memory, fill, 1024);
        for (size_t at = 256; at < 256 + 128; at++) {
            uint32_t before = reports.count;
            JZX_EXPECT_EQ(jzx_send_msg(loop, id, JZX_NOBODY, memory + at, GO), JZX_ERR_INVALID_ARG);
            expect_report(before, "jzx_send_msg", NO_ACTOR, "no message buffer");
            jzx_msg_free(loop, memory + at);
            expect_report(before + 1, "jzx_msg_free", NO_ACTOR, "no message buffer");
            JZX_EXPECT(jzx_msg_share(loop, memory + at) == NULL);
            JZX_EXPECT_EQ(jzx_group_broadcast_shared(loop, "group", id, memory + at, GO, NULL),
                          JZX_ERR_INVALID_ARG);
            expect_report(before + 3, "jzx_group_broadcast_shared", NO_ACTOR, "no message buffer");
        }
        for (size_t i = 0; i < 1024; i++)
            JZX_EXPECT_EQ(memory[i], fill);
    }
    JZX_EXPECT_EQ(jzx_msg_len(memory + 1), 0);
    free(memory);
    fixture_send(loop, id, LAST);
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(recorder.count, 1); /* none of them arrives */
    JZX_EXPECT_EQ(recorder.tags[0], LAST);
    fixture_destroy(loop);
}

JZX_TEST(a_buffer_of_another_loop_is_refused) {
    jzx_loop *loop = open_loop();
    jzx_loop *other = open_loop();
    static struct recorder recorder;
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &recorder));
    uint32_t before = reports.count;
    void *data = jzx_msg_alloc(other, 100, NULL);
    JZX_EXPECT_EQ(jzx_send_msg(loop, id, JZX_NOBODY, data, GO), JZX_ERR_INVALID_ARG);
    expect_report(before, "jzx_send_msg", NO_ACTOR, "no message buffer of this loop");
    jzx_msg_free(loop, data);
    expect_report(before + 1, "jzx_msg_free", NO_ACTOR, "no message buffer of this loop");
    jzx_msg_free(other, data);
    JZX_EXPECT_EQ(reports.count, before + 2);
    fixture_destroy(loop);
    fixture_destroy(other);
}

/* ---- shared ---- */

static void misuse_shared(jzx_context *ctx, const jzx_message *msg) {
    uint32_t before = reports.count;
    jzx_msg_free(ctx->loop, msg->data);
    expect_report(before, "jzx_msg_free", "clumsy", "in hand");
    JZX_EXPECT_EQ(jzx_send_msg(ctx->loop, ctx->self, ctx->self, msg->data, GO),
                  JZX_ERR_INVALID_ARG);
    expect_report(before + 1, "jzx_send_msg", "clumsy", "in hand");
    JZX_EXPECT_EQ(destroyed, 0);
    void *mine = jzx_msg_take(ctx, msg);
    JZX_EXPECT(mine == msg->data);
    jzx_msg_free(ctx->loop, mine); /* its own: the last */
    JZX_EXPECT_EQ(destroyed, 1);
    JZX_EXPECT_EQ(reports.count, before + 2);
    jzx_msg_free(ctx->loop, mine);
    expect_report(before + 2, "jzx_msg_free", "clumsy", "freed before");
    JZX_EXPECT_EQ(destroyed, 1);
}

JZX_TEST(the_last_reference_to_a_shared_buffer_is_not_freed_while_it_is_in_hand) {
    jzx_loop *loop = open_loop();
    mistake_fn fn = misuse_shared;
    destroyed = 0;
    jzx_actor_id id = fixture_spawn(
        loop, &JZX_SPAWN_OPTS(.behavior = make_mistake, .name = "clumsy", .state = &fn));
    void *data = jzx_msg_share(loop, jzx_msg_alloc(loop, 100, count_destroyed));
    assert_non_null(data);
    JZX_EXPECT_EQ(jzx_send_msg(loop, id, JZX_NOBODY, data, LAST), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    fixture_destroy(loop);
}

/* ---- the heap of an actor ---- */

static void misuse_heap(jzx_context *ctx, const jzx_message *msg) {
    static char other[64];
    uint32_t before = reports.count;
    if (msg->tag == GO) {
        jzx_free(ctx, other + 32); /* it has no heap yet */
        expect_report(before, "jzx_free", "clumsy", "no block of this actor");
        return;
    }
    jzx_heap_info info = {.size = sizeof info};
    for (size_t size = 1; size < 10000; size *= 3) {
        char *block = jzx_alloc(ctx, size);
        if (!JZX_EXPECT(block != NULL))
            return;
        before = reports.count;
        for (size_t at = 1; at < 32 && at < size; at++) {
            jzx_free(ctx, block + at);
            expect_report(before++, "jzx_free", "clumsy", "no block of this actor");
        }
        jzx_free(ctx, block);
        JZX_EXPECT_EQ(reports.count, before);
        if (size > 2040)
            continue; /* the allocator's again */
        jzx_free(ctx, block);
        expect_report(before, "jzx_free", "clumsy", "no block of this actor");
        JZX_EXPECT(jzx_realloc(ctx, block, 10) == NULL);
        expect_report(before + 1, "jzx_realloc", "clumsy", "no block of this actor");
    }
    JZX_EXPECT_EQ(jzx_heap_info_get(ctx, &info), JZX_OK);
    JZX_EXPECT_EQ(info.used_bytes, 0);
}

JZX_TEST(to_free_what_is_no_block_of_the_heap_is_reported_and_does_nothing) {
    jzx_loop *loop = open_loop();
    run_mistakes(loop, misuse_heap, 8);
    fixture_destroy(loop);
}

static void free_a_page(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    uint32_t before = reports.count;
    long size = sysconf(_SC_PAGESIZE);
    char *pages = NULL;
    if (!JZX_EXPECT(posix_memalign((void **)&pages, (size_t)size, (size_t)size * 2) == 0))
        return;
    void *block = jzx_alloc(ctx, 100);
    jzx_free(ctx, pages + size);
    expect_report(before, "jzx_free", "clumsy", "no block of this actor");
    jzx_free(ctx, block);
    free(pages);
    JZX_EXPECT_EQ(reports.count, before + 1);
}

JZX_TEST(what_lies_before_a_page_of_others_is_not_looked_at) {
    jzx_loop *loop = open_loop();
    run_mistakes(loop, free_a_page, 8);
    fixture_destroy(loop);
}

/* ---- a copy of the context ---- */

static void use_copy(jzx_context *copy, const jzx_message *msg) {
    jzx_heap_info info = {.size = sizeof info};
    jzx_monitor_ref monitor;
    jzx_actor_id id;
    uint64_t ref;
    const jzx_spawn_opts opts = JZX_SPAWN_OPTS(.behavior = make_mistake);
    JZX_EXPECT(!jzx_turn_spent(copy));
    JZX_EXPECT_EQ(jzx_become(copy, make_mistake), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_stash(copy, msg), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_unstash(copy), 0);
    JZX_EXPECT(jzx_msg_take(copy, msg) == NULL);
    JZX_EXPECT(jzx_alloc(copy, 8) == NULL);
    JZX_EXPECT(jzx_realloc(copy, msg->data, 8) == NULL);
    jzx_free(copy, msg->data);
    JZX_EXPECT_EQ(jzx_heap_set_quota(copy, 8), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_heap_info_get(copy, &info), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_ask(copy, copy->self, NULL, 0, GO, JZX_NEVER, &ref), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_ask_cancel(copy, 1), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_ask_ref(copy), 0);
    JZX_EXPECT_EQ(jzx_reply(copy, msg, NULL, 0, GO), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_ask_from(copy, msg).asker, JZX_NOBODY);
    JZX_EXPECT_EQ(jzx_monitor(copy, copy->self, &monitor), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_demonitor(copy, 1), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_link(copy, copy->self), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_unlink(copy, copy->self), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_trap_exits(copy, true), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_spawn_watched(copy, &opts, false, &id, &monitor), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_group_join(copy, "group"), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_group_leave(copy, "group"), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_timer_start(copy, 1, NULL, 0, GO, 1), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_timer_stop(copy, 1), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_timer_stop_all(copy), 0);
    JZX_EXPECT(!jzx_timer_is_active(copy, 1));
    JZX_EXPECT_EQ(jzx_timer_missed(copy), 0);
    JZX_EXPECT_EQ(jzx_receive_timeout(copy, 1), JZX_ERR_INVALID_ARG);
    jzx_receive_timeout_ignore(copy);
}

/* The copy has nothing behind it, which the sanitizer watches. */
static void use_copies(jzx_context *ctx, const jzx_message *msg) {
    jzx_context *copy = malloc(sizeof *copy);
    *copy = *ctx;
    use_copy(copy, msg);
    while (msg->tag == LAST && jzx_current_worker() != JZX_NONE)
        sched_yield(); /* until the worker goes on without it */
    use_copy(copy, msg);
    JZX_EXPECT(msg->tag != LAST || jzx_turn_spent(ctx));
    free(copy);
}

JZX_TEST(a_copy_of_the_context_is_nobodys_in_every_call) {
    jzx_loop *loop = fixture_loop_with(
        &JZX_CONFIG(.workers = 2, .stall_after_ns = JZX_MS(1), .log.level = JZX_LOG_OFF));
    assert_non_null(loop);
    run_mistakes(loop, use_copies, 8);
    fixture_destroy(loop);
}

/* ---- under AddressSanitizer and memcheck ---- */

static char *volatile wild; /* nobody knows where it leads */

static void write_to(char *at) {
    wild = at;
    *wild = 1;
}

static void overflow_buffer(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    char *data = jzx_msg_alloc(ctx->loop, 100, NULL);
    write_to(data + 100);
    jzx_msg_free(ctx->loop, data);
}

static void overflow_buffer_with_destructor(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    char *data = jzx_msg_alloc(ctx->loop, 100, count_destroyed);
    write_to(data + 100);
    jzx_msg_free(ctx->loop, data);
}

static void overflow_in_hand(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    write_to((char *)msg->data + msg->len);
}

static void write_to_kept(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    if (msg->tag == AGAIN)
        write_to(kept);
    else
        kept = msg->data;
}

static void write_after_free(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    char *data = jzx_msg_alloc(ctx->loop, 100, NULL);
    jzx_msg_free(ctx->loop, data);
    write_to(data);
}

static void write_after_send(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag != GO)
        return;
    char *data = jzx_msg_alloc(ctx->loop, 100, NULL);
    if (jzx_send_msg(ctx->loop, ctx->self, ctx->self, data, AGAIN) == JZX_OK)
        write_to(data + 50);
}

static void write_after_stash(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == GO && jzx_stash(ctx, msg) == JZX_OK)
        write_to(msg->data);
}

static void overflow_block(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    write_to((char *)jzx_alloc(ctx, 20) + 20);
}

static void write_to_freed_block(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    char *block = jzx_alloc(ctx, 20);
    jzx_free(ctx, block);
    write_to(block + 3);
}

static const struct {
    mistake_fn fn;
    size_t len;
} mistakes[] = {
    {overflow_buffer, 8},    {overflow_buffer_with_destructor, 8},
    {overflow_in_hand, 0},   {overflow_in_hand, 8},
    {overflow_in_hand, 200}, {write_to_kept, 8},
    {write_to_kept, 2000},   {write_after_free, 8},
    {write_after_send, 8},   {write_after_stash, 200},
    {overflow_block, 8},     {write_to_freed_block, 8},
};

#define MISTAKE_COUNT (sizeof mistakes / sizeof mistakes[0])

/* Under the tool, with memory that it sees: malloc's. */
static void run_wild(size_t i) {
    jzx_loop *loop = jzx_loop_create(&JZX_CONFIG(.workers = 1, .log = {.level = JZX_LOG_OFF}));
    run_mistakes(loop, mistakes[i].fn, mistakes[i].len);
    jzx_loop_destroy(loop);
}

static size_t chosen;

static void run_chosen(void) {
    run_wild(chosen);
}

JZX_TEST(the_address_sanitizer_sees_what_is_written_where_nobody_may) {
    if (!UNDER_ASAN)
        skip();
    for (chosen = 0; chosen < MISTAKE_COUNT; chosen++) {
        struct child_end end = run_in_child(run_chosen);
        if (!JZX_EXPECT(strstr(end.text, "ERROR: AddressSanitizer") != NULL &&
                        strstr(end.text, "in write_to") != NULL))
            fprintf(stderr, "mistake %zu: %s\n", chosen, end.text);
    }
}

#define INSIDE "JZX_TEST_INSIDE_VALGRIND"

static char self_path[4096]; /* under valgrind /proc/self/exe is valgrind */
static const char *test_inside;

static void exec_valgrind(void) {
    setenv(INSIDE, "1", 1);
    execlp("valgrind", "valgrind", "-q", "--leak-check=no", "--num-callers=3", self_path,
           test_inside, (char *)NULL);
    _exit(127);
}

/* Runs a test under valgrind. */
static struct child_end run_in_valgrind(const char *test) {
    if (UNDER_ASAN || UNDER_TSAN)
        skip(); /* which do not run under it */
    test_inside = test;
    assert_true(readlink("/proc/self/exe", self_path, sizeof self_path - 1) > 0);
    struct child_end end = run_in_child(exec_valgrind);
    if (WEXITSTATUS(end.status) == 127)
        skip(); /* there is no valgrind */
    if (strstr(end.text, "debuginfo reader") != NULL)
        skip(); /* an old one, which cannot read the DWARF 5 of clang */
    return end;
}

static jzx_behavior_result end_after_a_while(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    if (msg->tag != GO)
        return msg->tag == LAST ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
    JZX_EXPECT_EQ(jzx_send_when_room(ctx->loop, ctx->self, ctx->self), JZX_OK);
    JZX_EXPECT_EQ(jzx_send_after(ctx->loop, ctx->self, ctx->self, NULL, 0, LAST, 1, NULL), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(memcheck_has_nothing_to_say_of_a_run) {
    if (getenv(INSIDE) == NULL) {
        struct child_end end = run_in_valgrind("misuse.memcheck_has_nothing_to_say_of_a_run");
        if (!JZX_EXPECT(end.status == 0 && strstr(end.text, "==") == NULL))
            fprintf(stderr, "%s\n", end.text);
        return;
    }
    jzx_loop *loop = jzx_loop_create(&JZX_CONFIG(.workers = 2));
    assert_non_null(loop);
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = end_after_a_while));
    fixture_send(loop, id, GO);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), 3); /* go, room, last */
    JZX_EXPECT_EQ(jzx_loop_destroy(loop), JZX_OK);
}

/* Runs itself under valgrind, where it makes all mistakes; memcheck reports and goes on. */
JZX_TEST(memcheck_sees_what_is_written_where_nobody_may) {
    if (getenv(INSIDE) != NULL) {
        for (size_t i = 0; i < MISTAKE_COUNT; i++) {
            fprintf(stderr, "mistake %zu:\n", i);
            run_wild(i);
        }
        fprintf(stderr, "mistake %zu:\n", MISTAKE_COUNT);
        return;
    }
    struct child_end end = run_in_valgrind("misuse.memcheck_sees_what_is_written_where_nobody_may");
    for (size_t i = 0; i < MISTAKE_COUNT; i++) {
        char mark[32];
        snprintf(mark, sizeof mark, "mistake %zu:\n", i);
        const char *from = strstr(end.text, mark);
        snprintf(mark, sizeof mark, "mistake %zu:\n", i + 1);
        const char *to = strstr(end.text, mark);
        const char *report = from == NULL ? NULL : strstr(from, "Invalid write");
        bool is_known = i > 0 && mistakes[i].fn == mistakes[i - 1].fn; /* reported once */
        if (!JZX_EXPECT(is_known || (report != NULL && to != NULL && report < to)))
            fprintf(stderr, "mistake %zu of: %s\n", i, end.text);
    }
}
