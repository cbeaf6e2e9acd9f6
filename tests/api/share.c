/* SPDX-License-Identifier: MIT */
/* Shared payloads: one buffer for many receivers, released once, when the last reference goes. */
#include "timing.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { LOOK = 1, KEEP = 2, STASH = 3, UNSTASH = 4, PASS_ON = 5, DROP = 6 };

static atomic_uint destroyed;
static atomic_uint destroyed_len;

static void note_destroyed(void *data, size_t len) {
    (void)data;
    atomic_fetch_add(&destroyed, 1);
    atomic_store(&destroyed_len, (unsigned)len);
}

#define TEXT_LEN 1000u

/* A shared buffer with a pattern in it. */
static void *make_shared(jzx_loop *loop, size_t len) {
    unsigned char *data = jzx_msg_alloc(loop, len, note_destroyed);
    assert_non_null(data);
    for (size_t i = 0; i < len; i++)
        data[i] = (unsigned char)(i * 7);
    JZX_EXPECT_EQ(jzx_msg_share(loop, data), data);
    JZX_EXPECT_EQ(jzx_msg_len(data), len);
    return data;
}

static bool is_intact(const void *data, size_t len) {
    const unsigned char *bytes = data;
    for (size_t i = 0; i < len; i++)
        if (bytes[i] != (unsigned char)(i * 7))
            return false;
    return true;
}

struct reader {
    void *expected; /* where the buffer is */
    void *kept;     /* a reference of its own */
    jzx_actor_id next;
    uint32_t seen;
};

static void look(struct reader *self, const jzx_message *msg) {
    self->seen++;
    JZX_EXPECT_EQ(msg->data, self->expected);
    JZX_EXPECT(is_intact(msg->data, msg->len));
}

static jzx_behavior_result read_it(jzx_context *ctx, const jzx_message *msg) {
    struct reader *self = ctx->state;
    switch (msg->tag) {
    case LOOK: look(self, msg); break;
    case KEEP:
        look(self, msg);
        self->kept = jzx_msg_take(ctx, msg);
        JZX_EXPECT_EQ(self->kept, self->expected);
        JZX_EXPECT_EQ(jzx_msg_take(ctx, msg), NULL);
        JZX_EXPECT_EQ(jzx_stash(ctx, msg), JZX_ERR_INVALID_ARG);
        break;
    case STASH:
        look(self, msg);
        if (self->seen == 1)
            JZX_EXPECT_EQ(jzx_stash(ctx, msg), JZX_OK);
        break;
    case UNSTASH: JZX_EXPECT_EQ(jzx_unstash(ctx), 1); break;
    case PASS_ON: {
        look(self, msg);
        void *mine = jzx_msg_take(ctx, msg);
        JZX_EXPECT_EQ(jzx_send_msg(ctx->loop, self->next, ctx->self, mine, LOOK), JZX_OK);
        break;
    }
    case DROP:
        jzx_msg_free(ctx->loop, self->kept);
        self->kept = NULL;
        break;
    }
    return JZX_BEHAVIOR_OK;
}

static jzx_actor_id spawn_reader(jzx_loop *loop, struct reader *reader) {
    return fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = read_it, .state = reader));
}

static void step(jzx_loop *loop) {
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
}

JZX_TEST(many_receivers_see_the_same_bytes_and_the_last_reference_frees_them) {
    static const size_t lens[] = {0, 1, 8, 32, 33, TEXT_LEN, 100000};
    for (size_t k = 0; k < sizeof lens / sizeof lens[0]; k++) {
        jzx_loop *loop = fixture_loop();
        atomic_store(&destroyed, 0);
        void *data = make_shared(loop, lens[k]);
        struct reader readers[10] = {0};
        for (uint32_t i = 0; i < 10; i++) {
            readers[i].expected = data;
            jzx_actor_id id = spawn_reader(loop, &readers[i]);
            JZX_EXPECT_EQ(jzx_send_shared(loop, id, JZX_NOBODY, data, LOOK), JZX_OK);
            JZX_EXPECT_EQ(jzx_send_shared(loop, id, JZX_NOBODY, data, LOOK), JZX_OK);
        }
        step(loop);
        for (uint32_t i = 0; i < 10; i++)
            JZX_EXPECT_EQ(readers[i].seen, 2);
        JZX_EXPECT_EQ(atomic_load(&destroyed), 0);
        jzx_msg_free(loop, data);
        JZX_EXPECT_EQ(atomic_load(&destroyed), 1);
        JZX_EXPECT_EQ(atomic_load(&destroyed_len), lens[k]);
        fixture_destroy(loop);
    }
}

JZX_TEST(the_messages_keep_a_buffer_that_its_maker_has_given_up, "X14") {
    jzx_loop *loop = fixture_loop();
    atomic_store(&destroyed, 0);
    void *data = make_shared(loop, TEXT_LEN);
    struct reader readers[2] = {{.expected = data}, {.expected = data}};
    for (uint32_t i = 0; i < 2; i++) {
        jzx_actor_id id = spawn_reader(loop, &readers[i]);
        JZX_EXPECT_EQ(jzx_send_shared(loop, id, JZX_NOBODY, data, LOOK), JZX_OK);
    }
    jzx_msg_free(loop, data);
    JZX_EXPECT_EQ(atomic_load(&destroyed), 0);
    step(loop);
    JZX_EXPECT_EQ(readers[0].seen + readers[1].seen, 2);
    JZX_EXPECT_EQ(atomic_load(&destroyed), 1);
    JZX_EXPECT_EQ(fixture_stats(loop).handled, 2);
    fixture_destroy(loop);
}

JZX_TEST(a_receiver_may_keep_its_reference) {
    jzx_loop *loop = fixture_loop();
    atomic_store(&destroyed, 0);
    void *data = make_shared(loop, TEXT_LEN);
    struct reader reader = {.expected = data};
    jzx_actor_id id = spawn_reader(loop, &reader);
    JZX_EXPECT_EQ(jzx_send_shared(loop, id, JZX_NOBODY, data, KEEP), JZX_OK);
    jzx_msg_free(loop, data);
    step(loop);
    JZX_EXPECT_EQ(atomic_load(&destroyed), 0);
    JZX_EXPECT(is_intact(reader.kept, TEXT_LEN));
    JZX_EXPECT_EQ(jzx_send_shared(loop, id, JZX_NOBODY, reader.kept, LOOK),
                  JZX_OK); /* it is shared */
    fixture_send(loop, id, DROP);
    step(loop);
    JZX_EXPECT_EQ(reader.seen, 2);
    JZX_EXPECT_EQ(atomic_load(&destroyed), 1);
    fixture_destroy(loop);
}

JZX_TEST(a_move_passes_the_reference_on) {
    jzx_loop *loop = fixture_loop();
    atomic_store(&destroyed, 0);
    void *data = make_shared(loop, TEXT_LEN);
    struct reader last = {.expected = data};
    struct reader first = {.expected = data, .next = spawn_reader(loop, &last)};
    jzx_actor_id id = spawn_reader(loop, &first);
    JZX_EXPECT_EQ(jzx_send_shared(loop, id, JZX_NOBODY, data, PASS_ON), JZX_OK);
    JZX_EXPECT_EQ(jzx_send_msg(loop, id, JZX_NOBODY, data, PASS_ON), JZX_OK); /* our own */
    step(loop);
    JZX_EXPECT_EQ(first.seen, 2);
    JZX_EXPECT_EQ(last.seen, 2);
    JZX_EXPECT_EQ(atomic_load(&destroyed), 1);
    fixture_destroy(loop);
}

JZX_TEST(a_shared_message_may_be_stashed, "X14") {
    jzx_loop *loop = fixture_loop();
    atomic_store(&destroyed, 0);
    void *data = make_shared(loop, TEXT_LEN);
    struct reader reader = {.expected = data};
    jzx_actor_id id = spawn_reader(loop, &reader);
    JZX_EXPECT_EQ(jzx_send_msg(loop, id, JZX_NOBODY, data, STASH), JZX_OK);
    step(loop);
    JZX_EXPECT_EQ(fixture_stats(loop).waiting, 1);
    fixture_check_books(loop);
    jzx_actor_info info = {.size = sizeof info};
    JZX_EXPECT_EQ(jzx_actor_info_get(loop, id, &info), JZX_OK);
    JZX_EXPECT_EQ(info.stashed, 1);
    JZX_EXPECT(info.memory_bytes < TEXT_LEN); /* the buffer is not the actor's own */
    fixture_send(loop, id, UNSTASH);
    step(loop);
    JZX_EXPECT_EQ(reader.seen, 2);
    JZX_EXPECT_EQ(atomic_load(&destroyed), 1);
    fixture_destroy(loop);
}

static jzx_behavior_result stop_at_once(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    return JZX_BEHAVIOR_STOP;
}

struct letters {
    uint32_t count;
    size_t len;
};

static void count_letters(void *ctx, const jzx_event *event) {
    struct letters *letters = ctx;
    if (event->kind == JZX_EVENT_DEAD_LETTER) {
        letters->count++;
        letters->len = event->len;
    }
}

JZX_TEST(dead_letters_give_their_reference_up, "X14") {
    jzx_loop *loop = fixture_loop();
    struct letters letters = {0};
    atomic_store(&destroyed, 0);
    JZX_EXPECT_EQ(jzx_loop_set_observer(loop, &JZX_OBSERVER(.on_event = count_letters), &letters),
                  JZX_OK);
    void *data = make_shared(loop, TEXT_LEN);
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = stop_at_once));
    for (uint32_t i = 0; i < 4; i++)
        JZX_EXPECT_EQ(jzx_send_shared(loop, id, JZX_NOBODY, data, LOOK), JZX_OK);
    jzx_msg_free(loop, data);
    step(loop);
    JZX_EXPECT_EQ(fixture_stats(loop).dead, 3);
    JZX_EXPECT_EQ(letters.count, 3);
    JZX_EXPECT_EQ(letters.len, TEXT_LEN);
    JZX_EXPECT_EQ(atomic_load(&destroyed), 1);
    fixture_destroy(loop);
}

JZX_TEST(what_waits_when_the_loop_is_destroyed_is_released) {
    jzx_loop *loop = fixture_loop();
    atomic_store(&destroyed, 0);
    void *data = make_shared(loop, TEXT_LEN);
    struct reader reader = {.expected = data};
    jzx_actor_id id = spawn_reader(loop, &reader);
    JZX_EXPECT_EQ(jzx_send_msg(loop, id, JZX_NOBODY, data, LOOK), JZX_OK);
    fixture_destroy(loop);
    JZX_EXPECT_EQ(reader.seen, 0);
    JZX_EXPECT_EQ(atomic_load(&destroyed), 1);
}

JZX_TEST(a_full_mailbox_refuses_or_drops_references, "X14", "C+fail") {
    static const jzx_on_full policies[] = {JZX_FULL_REFUSE, JZX_FULL_DROP_OLDEST,
                                           JZX_FULL_DROP_NEW};
    for (size_t i = 0; i < 3; i++) {
        jzx_loop *loop = fixture_loop();
        atomic_store(&destroyed, 0);
        void *data = make_shared(loop, TEXT_LEN);
        struct reader reader = {.expected = data};
        jzx_actor_id id =
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = read_it, .state = &reader,
                                                .mailbox_cap = 2, .on_full = policies[i]));
        for (uint32_t n = 0; n < 5; n++) {
            jzx_err err = jzx_send_shared(loop, id, JZX_NOBODY, data, LOOK);
            JZX_EXPECT_EQ(err, n >= 2 && i == 0 ? JZX_ERR_MAILBOX_FULL : JZX_OK);
        }
        jzx_err moved = jzx_send_msg(loop, id, JZX_NOBODY, data, LOOK);
        JZX_EXPECT_EQ(moved, i == 0 ? JZX_ERR_MAILBOX_FULL : JZX_OK);
        if (moved != JZX_OK) {
            JZX_EXPECT(is_intact(data, TEXT_LEN)); /* still ours */
            jzx_msg_free(loop, data);
        }
        step(loop);
        JZX_EXPECT_EQ(reader.seen, 2);
        JZX_EXPECT_EQ(atomic_load(&destroyed), 1);
        fixture_destroy(loop);
    }
}

JZX_TEST(what_is_not_shared_or_not_there_is_refused, "C+fail", "X14") {
    jzx_loop *loop = fixture_loop();
    struct reader reader = {0};
    jzx_actor_id id = spawn_reader(loop, &reader);
    void *plain = jzx_msg_alloc(loop, 8, NULL);
    void *shared = jzx_msg_share(loop, jzx_msg_alloc(loop, 8, NULL));
    JZX_EXPECT_EQ(jzx_send_shared(loop, id, JZX_NOBODY, plain, LOOK), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_send_shared(loop, id, JZX_NOBODY, NULL, LOOK), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_send_shared(NULL, id, JZX_NOBODY, shared, LOOK), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_send_shared(loop, id, JZX_NOBODY, shared, JZX_TAG_RESERVED),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_send_shared(loop, JZX_NOBODY, JZX_NOBODY, shared, LOOK),
                  JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_msg_share(NULL, plain), NULL);
    JZX_EXPECT_EQ(jzx_msg_share(loop, NULL), NULL);
    fixture_fail_allocations(0, UINT64_MAX);
    static void *stock[4096];
    uint32_t count = 0; /* use up what is in stock */
    while (count < 4096 && (stock[count] = jzx_msg_alloc(loop, 8, NULL)) != NULL)
        count++;
    JZX_EXPECT(count < 4096);
    JZX_EXPECT_EQ(jzx_send_shared(loop, id, JZX_NOBODY, shared, LOOK), JZX_ERR_NO_MEMORY);
    JZX_EXPECT_EQ(jzx_send_msg(loop, id, JZX_NOBODY, shared, LOOK), JZX_ERR_NO_MEMORY);
    fixture_fail_allocations(UINT64_MAX, 0);
    while (count > 0)
        jzx_msg_free(loop, stock[--count]);
    JZX_EXPECT_EQ(jzx_loop_request_stop(loop), JZX_OK);
    step(loop);
    JZX_EXPECT_EQ(jzx_send_shared(loop, id, JZX_NOBODY, shared, LOOK), JZX_ERR_LOOP_CLOSED);
    jzx_stats stats = fixture_stats(loop);
    JZX_EXPECT_EQ(stats.refused_invalid, 3);
    JZX_EXPECT_EQ(stats.refused_no_actor, 1);
    JZX_EXPECT_EQ(stats.refused_no_memory, 2);
    JZX_EXPECT_EQ(stats.refused_closed, 1);
    JZX_EXPECT_EQ(stats.accepted, 0);
    jzx_msg_free(loop, plain);
    jzx_msg_free(loop, shared);
    fixture_destroy(loop);
}

JZX_TEST(sharing_again_changes_nothing) {
    jzx_loop *loop = fixture_loop();
    atomic_store(&destroyed, 0);
    void *data = make_shared(loop, TEXT_LEN);
    JZX_EXPECT_EQ(jzx_msg_share(loop, data), data);
    JZX_EXPECT_EQ(jzx_msg_share(loop, data), data);
    jzx_msg_free(loop, data); /* the one reference */
    JZX_EXPECT_EQ(atomic_load(&destroyed), 1);
    fixture_destroy(loop);
}

/* ---- what was taken ---- */

struct taker {
    jzx_actor_id to[3];
    struct reader readers[3];
    uint32_t taken;
};

/* Shares what it was sent, whatever block that is in. */
static jzx_behavior_result share_what_comes(jzx_context *ctx, const jzx_message *msg) {
    struct taker *self = ctx->state;
    void *mine = jzx_msg_take(ctx, msg);
    if (!JZX_EXPECT(mine != NULL))
        return JZX_BEHAVIOR_FAIL;
    JZX_EXPECT_EQ(jzx_msg_share(ctx->loop, mine), mine);
    for (uint32_t i = 0; i < 3; i++) {
        self->readers[i].expected = mine;
        JZX_EXPECT_EQ(jzx_send_shared(ctx->loop, self->to[i], ctx->self, mine, LOOK), JZX_OK);
    }
    jzx_msg_free(ctx->loop, mine);
    self->taken++;
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_taken_payload_of_a_message_or_a_timer_may_be_shared) {
    static const size_t lens[] = {0, 8, 32, 33, TEXT_LEN, 100000};
    static unsigned char payload[100000];
    for (size_t i = 0; i < sizeof payload; i++)
        payload[i] = (unsigned char)(i * 7);
    struct timing timing = timing_open();
    struct taker taker = {0};
    for (uint32_t i = 0; i < 3; i++)
        taker.to[i] = spawn_reader(timing.loop, &taker.readers[i]);
    jzx_actor_id id =
        fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.behavior = share_what_comes, .state = &taker));
    uint32_t sent = 0;
    for (size_t i = 0; i < sizeof lens / sizeof lens[0]; i++) {
        JZX_EXPECT_EQ(jzx_send(timing.loop, id, JZX_NOBODY, payload, lens[i], LOOK), JZX_OK);
        timing_step(&timing);
        JZX_EXPECT_EQ(taker.taken, ++sent);
        JZX_EXPECT_EQ(
            jzx_send_after(timing.loop, id, JZX_NOBODY, payload, lens[i], LOOK, JZX_MS(1), NULL),
            JZX_OK);
        timing_advance(&timing, JZX_MS(1));
        JZX_EXPECT_EQ(taker.taken, ++sent);
    }
    for (uint32_t i = 0; i < 3; i++)
        JZX_EXPECT_EQ(taker.readers[i].seen, sent);
    timing_close(&timing);
}

/* ---- threads ---- */

#define PASSERS 4u
#define BUFFERS 200u

struct ring {
    jzx_loop *loop;
    jzx_actor_id actors[PASSERS];
    atomic_uint left; /* hops */
};

static struct ring ring;

/* Sends each buffer to two others, until enough was sent. */
static jzx_behavior_result pass_around(jzx_context *ctx, const jzx_message *msg) {
    JZX_EXPECT(is_intact(msg->data, msg->len));
    unsigned left = atomic_load(&ring.left);
    while (left != 0 && !atomic_compare_exchange_weak(&ring.left, &left, left - 1))
        continue;
    if (left == 1)
        for (uint32_t i = 0; i < PASSERS; i++)
            JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, ring.actors[i], JZX_STOP_KILL), JZX_OK);
    if (left == 0)
        return JZX_BEHAVIOR_OK;
    void *mine = jzx_msg_take(ctx, msg);
    jzx_send_shared(ctx->loop, ring.actors[left % PASSERS], ctx->self, mine, LOOK);
    if (jzx_send_msg(ctx->loop, ring.actors[(left + 1) % PASSERS], ctx->self, mine, LOOK) != JZX_OK)
        jzx_msg_free(ctx->loop, mine);
    return JZX_BEHAVIOR_OK;
}

static void *send_buffers(void *arg) {
    (void)arg;
    for (uint32_t i = 0; i < BUFFERS; i++) {
        void *data = make_shared(ring.loop, i % 2 ? TEXT_LEN : 16);
        jzx_send_shared(ring.loop, ring.actors[i % PASSERS], JZX_NOBODY, data, LOOK);
        jzx_send_shared(ring.loop, ring.actors[(i + 1) % PASSERS], JZX_NOBODY, data, LOOK);
        jzx_msg_free(ring.loop, data);
    }
    return NULL;
}

JZX_TEST(references_pass_between_threads_and_each_buffer_is_released_once, "X14") {
    atomic_store(&destroyed, 0);
    ring.loop = fixture_loop_with(&JZX_CONFIG(.workers = 3, .balance = JZX_BALANCE_EAGER));
    assert_non_null(ring.loop);
    atomic_store(&ring.left, (unsigned)jzx_test_rounds(20000, 1000000));
    for (uint32_t i = 0; i < PASSERS; i++)
        ring.actors[i] = fixture_spawn(
            ring.loop, &JZX_SPAWN_OPTS(.behavior = pass_around, .place = JZX_PLACE_WORKER(i % 3)));
    pthread_t threads[2];
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, send_buffers, NULL), 0);
    assert_int_equal(jzx_loop_run(ring.loop), JZX_OK);
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    fixture_destroy(ring.loop);
    JZX_EXPECT_EQ(atomic_load(&ring.left), 0);
    JZX_EXPECT_EQ(atomic_load(&destroyed), 2 * BUFFERS);
}
