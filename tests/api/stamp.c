/* SPDX-License-Identifier: MIT */
/* Messages that carry the time of their send: config.stamp_messages. */
#include "fibering.h"

#include <jzx/ask.h>

#include <pthread.h>

#define SEEN_MAX 16u

enum {
    PLAIN = 1,
    LONG,
    MOVED,
    SHARED,
    URGENT,
    ASYNC,
    FOREIGN,
    QUESTION,
    ANSWER,
    TIMER,
    HELD,
    OPEN
};

/* What an actor has seen of each message. */
struct witness {
    uint32_t tags[SEEN_MAX];
    jzx_actor_id senders[SEEN_MAX];
    uint64_t sent_ns[SEEN_MAX];
    uint64_t waited_ns[SEEN_MAX];
    uint32_t count;
    jzx_actor_id next; /* whom it asks or forwards to */
    jzx_clock *clock;  /* that it moves */
};

static void see(jzx_context *ctx, const jzx_message *msg) {
    struct witness *self = ctx->state;
    uint64_t sent = jzx_msg_sent_ns(ctx, msg);
    if (!JZX_EXPECT(self->count < SEEN_MAX))
        return;
    self->tags[self->count] = msg->tag;
    self->senders[self->count] = msg->sender;
    self->sent_ns[self->count] = sent;
    self->waited_ns[self->count++] = jzx_loop_now(ctx->loop) - sent;
}

static jzx_behavior_result witness(jzx_context *ctx, const jzx_message *msg) {
    see(ctx, msg);
    return JZX_BEHAVIOR_OK;
}

static struct timing open_stamped(void) {
    return timing_open_with(1000, &JZX_CONFIG(.stamp_messages = true));
}

static jzx_actor_id spawn_witness(const struct timing *timing, jzx_behavior_fn behavior,
                                  struct witness *state) {
    jzx_actor_id id =
        fixture_spawn(timing->loop, &JZX_SPAWN_OPTS(.behavior = behavior, .state = state));
    timing_step(timing);
    return id;
}

static void expect_seen(const struct witness *witness, uint32_t index, uint32_t tag,
                        uint64_t sent_ns) {
    if (!JZX_EXPECT(index < witness->count))
        return;
    JZX_EXPECT_EQ(witness->tags[index], tag);
    JZX_EXPECT_EQ(witness->sent_ns[index], sent_ns);
}

/* ---- the ways to send ---- */

struct foreign {
    jzx_loop *loop;
    jzx_actor_id to;
};

static void *send_from_outside(void *arg) {
    const struct foreign *foreign = arg;
    fixture_send(foreign->loop, foreign->to, FOREIGN);
    return NULL;
}

static void send_by_a_thread(jzx_loop *loop, jzx_actor_id to) {
    struct foreign foreign = {loop, to};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, send_from_outside, &foreign), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

JZX_TEST(a_message_carries_the_time_of_its_send_whatever_way_it_goes, "E12") {
    static const char text[5000];
    struct timing timing = open_stamped();
    struct witness seen = {.count = 0};
    jzx_actor_id id = spawn_witness(&timing, witness, &seen);
    void *moved = jzx_msg_alloc(timing.loop, 40, NULL); /* long before it is sent */
    void *shared = jzx_msg_share(timing.loop, jzx_msg_alloc(timing.loop, 8, NULL));
    JZX_EXPECT_EQ(jzx_clock_advance(timing.clock, 100), JZX_OK);
    fixture_send(timing.loop, id, PLAIN);
    JZX_EXPECT_EQ(jzx_clock_advance(timing.clock, 1), JZX_OK);
    JZX_EXPECT_EQ(jzx_send(timing.loop, id, JZX_NOBODY, text, sizeof text, LONG), JZX_OK);
    JZX_EXPECT_EQ(jzx_clock_advance(timing.clock, 1), JZX_OK);
    JZX_EXPECT_EQ(jzx_send_msg(timing.loop, id, JZX_NOBODY, moved, MOVED), JZX_OK);
    JZX_EXPECT_EQ(jzx_clock_advance(timing.clock, 1), JZX_OK);
    JZX_EXPECT_EQ(jzx_send_shared(timing.loop, id, JZX_NOBODY, shared, SHARED), JZX_OK);
    JZX_EXPECT_EQ(jzx_clock_advance(timing.clock, 1), JZX_OK);
    JZX_EXPECT_EQ(jzx_send_async(timing.loop, id, text, 8, ASYNC), JZX_OK);
    JZX_EXPECT_EQ(jzx_clock_advance(timing.clock, 1), JZX_OK);
    send_by_a_thread(timing.loop, id);
    JZX_EXPECT_EQ(jzx_clock_advance(timing.clock, 1), JZX_OK);
    JZX_EXPECT_EQ(jzx_send_urgent(timing.loop, id, JZX_NOBODY, NULL, 0, URGENT), JZX_OK);
    timing_advance(&timing, 50);
    static const uint32_t tags[] = {URGENT, PLAIN, LONG, MOVED, SHARED, ASYNC, FOREIGN};
    static const uint64_t sent[] = {1106, 1100, 1101, 1102, 1103, 1104, 1105};
    JZX_EXPECT_EQ(seen.count, 7);
    for (uint32_t i = 0; i < 7; i++) {
        expect_seen(&seen, i, tags[i], sent[i]);
        JZX_EXPECT_EQ(seen.waited_ns[i], 1156 - sent[i]);
    }
    jzx_msg_free(timing.loop, shared);
    timing_close(&timing);
}

/* ---- questions ---- */

static jzx_behavior_result ask_on(jzx_context *ctx, const jzx_message *msg) {
    const struct witness *self = ctx->state;
    see(ctx, msg);
    if (msg->tag == PLAIN)
        JZX_EXPECT_EQ(jzx_ask(ctx, self->next, NULL, 0, QUESTION, 1000000, NULL), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result reply(jzx_context *ctx, const jzx_message *msg) {
    const struct witness *self = ctx->state;
    see(ctx, msg);
    JZX_EXPECT_EQ(jzx_clock_advance(self->clock, 7), JZX_OK);
    JZX_EXPECT_EQ(jzx_reply(ctx, msg, NULL, 0, ANSWER), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(questions_and_answers_carry_their_times, "E12") {
    struct timing timing = open_stamped();
    struct witness asked = {.clock = timing.clock};
    struct witness asks = {.next = spawn_witness(&timing, reply, &asked)};
    jzx_actor_id id = spawn_witness(&timing, ask_on, &asks);
    fixture_send(timing.loop, id, PLAIN);
    timing_step(&timing);
    expect_seen(&asked, 0, QUESTION, 1000);
    expect_seen(&asks, 1, ANSWER, 1007);
    timing_close(&timing);
}

/* ---- what becomes of a message before it is handled ---- */

/* Puts aside what comes, until it is told to open. */
static jzx_behavior_result hold(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == OPEN) {
        JZX_EXPECT_EQ(jzx_become(ctx, witness), JZX_OK);
        JZX_EXPECT_EQ(jzx_unstash(ctx), 1);
        return JZX_BEHAVIOR_OK;
    }
    JZX_EXPECT_EQ(jzx_stash(ctx, msg), JZX_OK);
    JZX_EXPECT_EQ(jzx_msg_sent_ns(ctx, msg), 0); /* it is not in hand any more */
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_stash_keeps_the_time_of_the_send, "E12") {
    struct timing timing = open_stamped();
    struct witness seen = {.count = 0};
    jzx_actor_id id = spawn_witness(&timing, hold, &seen);
    fixture_send(timing.loop, id, HELD);
    timing_advance(&timing, 5000);
    fixture_send(timing.loop, id, OPEN);
    timing_step(&timing);
    expect_seen(&seen, 0, HELD, 1000);
    JZX_EXPECT_EQ(seen.waited_ns[0], 5000);
    timing_close(&timing);
}

static jzx_behavior_result forward(jzx_context *ctx, const jzx_message *msg) {
    const struct witness *self = ctx->state;
    uint32_t tag = msg->tag;
    see(ctx, msg);
    void *data = jzx_msg_take(ctx, msg);
    JZX_EXPECT_EQ(jzx_msg_sent_ns(ctx, msg), 0);
    JZX_EXPECT_EQ(jzx_clock_advance(self->clock, 7), JZX_OK);
    JZX_EXPECT_EQ(jzx_send_msg(ctx->loop, self->next, ctx->self, data, tag), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_message_that_is_forwarded_carries_the_time_of_its_last_send, "E12") {
    static const char text[5000];
    static const size_t lens[] = {0, 1, JZX_MSG_INLINE, JZX_MSG_INLINE + 1, 4000, sizeof text};
    for (size_t i = 0; i < sizeof lens / sizeof lens[0]; i++) {
        struct timing timing = open_stamped();
        struct witness last = {.count = 0};
        struct witness first = {.clock = timing.clock,
                                .next = spawn_witness(&timing, witness, &last)};
        jzx_actor_id id = spawn_witness(&timing, forward, &first);
        JZX_EXPECT_EQ(jzx_send(timing.loop, id, JZX_NOBODY, text, lens[i], PLAIN), JZX_OK);
        timing_step(&timing);
        expect_seen(&first, 0, PLAIN, 1000);
        expect_seen(&last, 0, PLAIN, 1007);
        JZX_EXPECT_EQ(last.senders[0], id);
        timing_close(&timing);
    }
}

/* Sends three messages to a mailbox with room for two: the third send waits for room. */
static void send_three(jzx_context *ctx) {
    struct life *life = ctx->state;
    for (uint32_t i = 0; i < 3; i++)
        JZX_EXPECT_EQ(jzx_send_until(ctx, life->other, NULL, 0, PLAIN, JZX_NEVER), JZX_OK);
    life->finished++;
}

static void receive_slowly(jzx_context *ctx) {
    jzx_message msg;
    JZX_EXPECT_EQ(jzx_sleep(ctx, jzx_loop_now(ctx->loop) + 20000000), JZX_OK);
    for (uint32_t i = 0; i < 3; i++) {
        if (JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK))
            see(ctx, &msg);
    }
}

JZX_TEST(a_wait_for_room_counts_as_waiting, "E12") {
    struct timing timing = open_stamped();
    struct witness seen = {.count = 0};
    struct life life = {
        .other = fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.fiber = receive_slowly, .state = &seen,
                                                            .mailbox_cap = 2))};
    timing_fiber(&timing, send_three, &life);
    JZX_EXPECT_EQ(life.finished, 0);
    timing_advance(&timing, 30000000);
    JZX_EXPECT_EQ(life.finished, 1);
    JZX_EXPECT_EQ(seen.count, 3);
    for (uint32_t i = 0; i < 3; i++)
        expect_seen(&seen, i, PLAIN, 1000);
    timing_close(&timing);
}

/* ---- those without ---- */

static void misuse(jzx_context *ctx) {
    jzx_message other = {.data = &other};
    JZX_EXPECT_EQ(jzx_msg_sent_ns(ctx, &other), 0);
    JZX_EXPECT_EQ(jzx_msg_sent_ns(ctx, NULL), 0);
    JZX_EXPECT_EQ(jzx_msg_sent_ns(NULL, &other), 0);
}

JZX_TEST(messages_of_timers_have_no_time_and_wrong_use_gets_none, "E12", "X22") {
    struct timing timing = open_stamped();
    struct diary diary = {.count = 0};
    struct witness seen = {.count = 0};
    static const char text[100];
    jzx_actor_id id = spawn_witness(&timing, witness, &seen);
    timing_set(timing.loop, id, TIMER, 1000000);
    JZX_EXPECT_EQ(
        jzx_send_after(timing.loop, id, JZX_NOBODY, text, sizeof text, TIMER, 2000000, NULL),
        JZX_OK);
    timing_advance(&timing, 5000000);
    JZX_EXPECT_EQ(seen.count, 2);
    expect_seen(&seen, 0, TIMER, 0);
    expect_seen(&seen, 1, TIMER, 0);
    timing_do(&timing, timing_spawn(&timing, &diary), misuse);
    timing_close(&timing);
}

JZX_TEST(without_the_setting_no_message_has_a_time, "E12", "X22") {
    struct timing timing = timing_open_with(1000, NULL);
    struct witness seen = {.count = 0};
    jzx_actor_id id = spawn_witness(&timing, witness, &seen);
    fixture_send(timing.loop, id, PLAIN);
    JZX_EXPECT_EQ(jzx_send_urgent(timing.loop, id, JZX_NOBODY, NULL, 0, URGENT), JZX_OK);
    timing_step(&timing);
    expect_seen(&seen, 0, URGENT, 0);
    expect_seen(&seen, 1, PLAIN, 0);
    timing_close(&timing);
}

/* ---- memory ---- */

static uint32_t destroyed;

static void count_destroyed(void *data, size_t len) {
    JZX_EXPECT_EQ(((unsigned char *)data)[len - 1], 0xA5);
    destroyed++;
}

static jzx_behavior_result check_bytes(jzx_context *ctx, const jzx_message *msg) {
    const unsigned char *bytes = msg->data;
    see(ctx, msg);
    for (size_t i = 0; i < msg->len; i++) {
        if (!JZX_EXPECT_EQ(bytes[i], 0xA5))
            break;
    }
    return JZX_BEHAVIOR_OK;
}

/* With the memory of the fixture, which looks at the sizes that are given back, or the default,
 * whose blocks a sanitizer sees. */
static void send_buffers_of_all_sizes(jzx_loop *loop) {
    static const size_t lens[] = {1, 24, 25, 32, 33, 88, 89, 1000, 3992, 4000, 4064, 70000};
    struct witness seen = {.count = 0};
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = check_bytes, .state = &seen));
    uint32_t count = sizeof lens / sizeof lens[0];
    destroyed = 0;
    for (uint32_t i = 0; i < count; i++) {
        unsigned char *data = jzx_msg_alloc(loop, lens[i], count_destroyed);
        assert_non_null(data);
        memset(data, 0xA5, lens[i]);
        JZX_EXPECT_EQ(jzx_msg_len(data), lens[i]);
        JZX_EXPECT_EQ(jzx_send_msg(loop, id, JZX_NOBODY, data, i), JZX_OK);
    }
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(seen.count, count);
    JZX_EXPECT_EQ(destroyed, count);
    for (uint32_t i = 0; i < seen.count; i++)
        JZX_EXPECT(seen.sent_ns[i] != 0);
}

JZX_TEST(stamped_buffers_of_all_sizes_keep_their_bytes_and_destructors, "E12") {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.stamp_messages = true));
    send_buffers_of_all_sizes(loop);
    fixture_destroy(loop);
    loop = jzx_loop_create(&JZX_CONFIG(.workers = 1, .stamp_messages = true));
    assert_non_null(loop);
    send_buffers_of_all_sizes(loop);
    JZX_EXPECT_EQ(jzx_loop_destroy(loop), JZX_OK);
}

JZX_TEST(a_stamped_message_without_memory_is_refused, "E12") {
    static const char text[70000];
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.stamp_messages = true));
    struct witness seen = {.count = 0};
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = witness, .state = &seen));
    fixture_fail_allocations(0, 1);
    JZX_EXPECT_EQ(jzx_send(loop, id, JZX_NOBODY, text, sizeof text, PLAIN), JZX_ERR_NO_MEMORY);
    JZX_EXPECT_EQ(jzx_send(loop, id, JZX_NOBODY, text, sizeof text, LONG), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(seen.count, 1);
    JZX_EXPECT_EQ(seen.tags[0], LONG);
    fixture_destroy(loop);
}
