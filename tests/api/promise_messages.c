/* SPDX-License-Identifier: MIT */
/* The promises about messages, attacked: random traffic against books of its own, mailboxes of one
 * place, buffers in wrong hands, and requests that overtake without memory. */
#include "fixture.h"

#include <pthread.h>
#include <string.h>

static uint64_t seed;

static uint32_t dice(uint32_t sides) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % sides;
}

/* ---- random traffic: each message has a number, and one fate ---- */

#define LETTERS 4000u
#define PLAYERS 12u

enum { UNSENT, REFUSED, ACCEPTED };

static struct {
    jzx_loop *loop;
    jzx_actor_id players[PLAYERS];
    uint32_t count; /* letters so far */
    uint8_t sent[LETTERS];
    uint8_t handled[LETTERS];
    uint8_t released[LETTERS];
    uint64_t dead_seen;
    uint32_t depth;
} post;

struct letter {
    uint32_t number;
};

/* Calls back into the loop, as destructors may. */
static void bury_letter(void *data, size_t len) {
    struct letter letter;
    JZX_EXPECT(len >= sizeof letter);
    memcpy(&letter, data, sizeof letter);
    post.released[letter.number]++;
    if (letter.number % 64 == 0 && post.loop != NULL)
        (void)jzx_send(post.loop, post.players[letter.number % PLAYERS], 0, NULL, 0, 1);
}

static void post_letter(jzx_actor_id from) {
    static const size_t sizes[] = {4, 8, 31, 32, 33, 63, 64, 65, 200, 4000, 4001, 9000};
    if (post.count == LETTERS)
        return;
    struct letter letter = {post.count++};
    size_t size = sizes[dice(12)];
    void *buffer = jzx_msg_alloc(post.loop, size, bury_letter);
    if (!JZX_EXPECT(buffer != NULL))
        return;
    memset(buffer, 0x5A, size);
    memcpy(buffer, &letter, sizeof letter);
    jzx_err err = jzx_send_msg(post.loop, post.players[dice(PLAYERS)], from, buffer, 2);
    post.sent[letter.number] = err == JZX_OK ? ACCEPTED : REFUSED;
    if (err != JZX_OK) {
        JZX_EXPECT_EQ(post.released[letter.number], 0);
        JZX_EXPECT_EQ(jzx_msg_len(buffer), size);
        memset((char *)buffer + sizeof letter, 0, size - sizeof letter);
        jzx_msg_free(post.loop, buffer);
    }
}

static jzx_behavior_result play(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    JZX_EXPECT_EQ(post.depth++, 0);
    if (msg->tag == 2) {
        struct letter letter;
        memcpy(&letter, msg->data, sizeof letter);
        bool aside = dice(8) == 0 && jzx_stash(ctx, msg) == JZX_OK;
        post.handled[letter.number] += !aside;
        void *mine = !aside && dice(4) == 0 ? jzx_msg_take(ctx, msg) : NULL;
        if (mine != NULL) {
            JZX_EXPECT(mine == msg->data);
            jzx_msg_free(ctx->loop, mine);
            JZX_EXPECT_EQ(post.released[letter.number], 1);
        }
    }
    if (dice(5) == 0)
        jzx_unstash(ctx);
    for (uint32_t i = dice(4); i > 0; i--)
        post_letter(ctx->self);
    if (dice(20) == 0)
        (void)jzx_send_when_room(ctx->loop, post.players[dice(PLAYERS)], ctx->self);
    if (dice(25) == 0)
        (void)jzx_actor_stop(ctx->loop, post.players[dice(PLAYERS)], (jzx_stop_kind)dice(3));
    post.depth--;
    uint32_t end = dice(60);
    return end == 0 ? JZX_BEHAVIOR_STOP : end == 1 ? JZX_BEHAVIOR_FAIL : JZX_BEHAVIOR_OK;
}

static void hire(uint32_t i) {
    static const uint32_t caps[] = {1, 2, 3, 7, 64};
    jzx_spawn_opts opts =
        JZX_SPAWN_OPTS(.behavior = play, .mailbox_cap = caps[dice(5)], .stash_cap = dice(2) ? 2 : 0,
                       .on_full = (jzx_on_full)dice(3), .priority = (uint8_t)dice(5));
    JZX_EXPECT_EQ(jzx_spawn(post.loop, &opts, &post.players[i]), JZX_OK);
}

static void see_dead(void *ctx, const jzx_event *event) {
    (void)ctx;
    if (event->kind == JZX_EVENT_DEAD_LETTER)
        post.dead_seen += event->count;
}

static void play_traffic(uint64_t with_seed, uint32_t per_turn) {
    memset(&post, 0, sizeof post);
    seed = with_seed;
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.max_msgs_per_actor = per_turn));
    post.loop = loop;
    jzx_observer observer = JZX_OBSERVER(.on_event = see_dead);
    assert_int_equal(jzx_loop_set_observer(loop, &observer, NULL), JZX_OK);
    for (uint32_t i = 0; i < PLAYERS; i++)
        hire(i);
    while (post.count < LETTERS) {
        post_letter(JZX_NOBODY);
        if (dice(6) == 0)
            assert_int_equal(jzx_loop_step(loop, dice(2) ? 0 : JZX_NEVER), JZX_OK);
        jzx_actor_info info = {.size = sizeof info};
        uint32_t i = dice(PLAYERS);
        if (jzx_actor_info_get(loop, post.players[i], &info) != JZX_OK)
            hire(i);
    }
    jzx_stats stats = fixture_stats(loop);
    JZX_EXPECT_EQ(stats.accepted, stats.handled + stats.dead + stats.waiting);
    JZX_EXPECT_EQ(stats.dead_letters, stats.dead + stats.refused_no_actor);
    JZX_EXPECT_EQ(jzx_loop_request_stop(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK); /* carries it out */
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_ERR_LOOP_CLOSED);
    stats = fixture_stats(loop);
    JZX_EXPECT_EQ(stats.waiting, 0);
    JZX_EXPECT_EQ(stats.accepted, stats.handled + stats.dead);
    JZX_EXPECT_EQ(stats.dead, post.dead_seen);
    post.loop = NULL;
    JZX_EXPECT_EQ(jzx_loop_destroy(loop), JZX_OK);
    uint32_t fates[2] = {0};
    for (uint32_t i = 0; i < LETTERS; i++) {
        JZX_EXPECT_EQ(post.released[i], 1); /* whatever became of it */
        JZX_EXPECT(post.handled[i] <= (post.sent[i] == ACCEPTED));
        fates[post.handled[i] != 0]++;
    }
    assert_true(fates[0] > 100 && fates[1] > 100);
}

JZX_TEST(each_of_many_random_messages_has_one_fate_and_one_release) {
    for (uint64_t round = 0; round < 6; round++)
        play_traffic(77 + round, round % 2 == 0 ? 1 : 128);
    assert_true(jzx_test_runs() > 1000);
}

/* ---- order ---- */

#define RELAY_COUNT 3000u

struct relay {
    jzx_actor_id to;
    uint32_t next; /* expected, or to be sent */
    uint32_t stash_every;
    bool has_stash;
};

/* One number, in one of the forms that a message can have. */
static jzx_err send_number(jzx_loop *loop, jzx_actor_id to, jzx_actor_id from, uint32_t number) {
    static const size_t sizes[] = {4, 32, 33, 60, 5000};
    size_t size = sizes[number % 5];
    if (number % 3 == 0) {
        char copy[5000] = {0};
        memcpy(copy, &number, sizeof number);
        return jzx_send(loop, to, from, copy, size, 5);
    }
    void *buffer = jzx_msg_alloc(loop, size, NULL);
    if (buffer == NULL)
        return JZX_ERR_NO_MEMORY;
    memcpy(buffer, &number, sizeof number);
    jzx_err err;
    if (number % 3 == 1) {
        err = jzx_send_msg(loop, to, from, buffer, 5);
        if (err == JZX_OK)
            return err;
    } else {
        err = jzx_send_shared(loop, to, from, jzx_msg_share(loop, buffer), 5);
    }
    jzx_msg_free(loop, buffer);
    return err;
}

static jzx_behavior_result send_in_order(jzx_context *ctx, const jzx_message *msg) {
    struct relay *self = ctx->state;
    jzx_test_ran();
    (void)msg;
    while (self->next < RELAY_COUNT) {
        jzx_err err = send_number(ctx->loop, self->to, ctx->self, self->next);
        if (err == JZX_ERR_MAILBOX_FULL) {
            JZX_EXPECT_EQ(jzx_send_when_room(ctx->loop, self->to, ctx->self), JZX_OK);
            return JZX_BEHAVIOR_OK;
        }
        if (!JZX_EXPECT_EQ(err, JZX_OK))
            return JZX_BEHAVIOR_FAIL;
        self->next++;
    }
    return JZX_BEHAVIOR_STOP;
}

static jzx_behavior_result expect_order(jzx_context *ctx, const jzx_message *msg) {
    struct relay *self = ctx->state;
    uint32_t number;
    jzx_test_ran();
    JZX_EXPECT(msg->len >= sizeof number);
    memcpy(&number, msg->data, sizeof number);
    if (self->stash_every != 0 && number % self->stash_every == 0 && !self->has_stash) {
        /* Aside, and back at once: it is again before all that wait. */
        JZX_EXPECT_EQ(number, self->next);
        JZX_EXPECT_EQ(jzx_stash(ctx, msg), JZX_OK);
        JZX_EXPECT_EQ(jzx_unstash(ctx), 1);
        self->has_stash = true;
        return JZX_BEHAVIOR_OK;
    }
    self->has_stash = false;
    if (!JZX_EXPECT_EQ(number, self->next))
        return JZX_BEHAVIOR_FAIL;
    return ++self->next == RELAY_COUNT ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

static void relay_in_order(uint32_t cap, uint32_t workers, uint8_t priority, uint32_t stash) {
    jzx_loop *loop =
        fixture_loop_with(&JZX_CONFIG(.workers = workers, .balance = JZX_BALANCE_EAGER));
    struct relay to = {.stash_every = stash};
    struct relay from = {0};
    from.to = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = expect_order, .state = &to,
                                                  .mailbox_cap = cap, .priority = priority));
    jzx_actor_id sender =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = send_in_order, .state = &from));
    fixture_send(loop, sender, 1);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(to.next, RELAY_COUNT);
    fixture_destroy(loop);
}

JZX_TEST(messages_of_all_forms_and_sizes_keep_their_order_through_small_mailboxes) {
    relay_in_order(1, 1, JZX_PRIORITY_LOW, 0);
    relay_in_order(2, 1, JZX_PRIORITY_CRITICAL, 7);
    relay_in_order(1, 2, JZX_PRIORITY_CRITICAL, 5);
    relay_in_order(64, 2, JZX_PRIORITY_LOW, 1);
    assert_true(jzx_test_runs() > 4 * RELAY_COUNT);
}

/* ---- bounds and policies ---- */

#define FLOOD 200u

struct flood {
    jzx_on_full on_full;
    uint32_t cap;
    bool from_thread;
    uint32_t accepted;
    uint32_t got[FLOOD];
    uint32_t count;
    bool began;
    uint8_t released[FLOOD];
    uint32_t refused;
};

static struct flood flood;

static void count_drop(void *data, size_t len) {
    uint32_t number;
    JZX_EXPECT_EQ(len, sizeof number);
    memcpy(&number, data, sizeof number);
    flood.released[number]++;
}

static void pour(jzx_loop *loop, jzx_actor_id to) {
    for (uint32_t i = 0; i < FLOOD; i++) {
        void *buffer = jzx_msg_alloc(loop, sizeof i, count_drop);
        if (!JZX_EXPECT(buffer != NULL))
            return;
        memcpy(buffer, &i, sizeof i);
        jzx_err err = jzx_send_msg(loop, to, JZX_NOBODY, buffer, 5);
        flood.accepted += err == JZX_OK;
        if (err != JZX_OK) {
            flood.refused++;
            JZX_EXPECT_EQ(err, JZX_ERR_MAILBOX_FULL);
            JZX_EXPECT_EQ(flood.released[i], 0);
            jzx_msg_free(loop, buffer);
        }
    }
}

struct pourer {
    jzx_loop *loop;
    jzx_actor_id to;
};

static void *pour_on_thread(void *arg) {
    struct pourer *self = arg;
    pour(self->loop, self->to);
    return NULL;
}

/* The first message floods its own mailbox while it is being handled. */
static jzx_behavior_result be_flooded(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    if (!flood.began) {
        flood.began = true;
        if (flood.from_thread) {
            struct pourer pourer = {ctx->loop, ctx->self};
            pthread_t thread;
            JZX_EXPECT_EQ(pthread_create(&thread, NULL, pour_on_thread, &pourer), 0);
            JZX_EXPECT_EQ(pthread_join(thread, NULL), 0);
        } else {
            pour(ctx->loop, ctx->self);
        }
        return JZX_BEHAVIOR_OK;
    }
    if (msg->tag == 5 && JZX_EXPECT(flood.count < FLOOD))
        memcpy(&flood.got[flood.count++], msg->data, sizeof(uint32_t));
    return JZX_BEHAVIOR_OK;
}

static void expect_run(uint32_t first, uint32_t count) {
    assert_int_equal(flood.count, count);
    for (uint32_t i = 0; i < count; i++)
        JZX_EXPECT_EQ(flood.got[i], first + i);
}

static void flood_one(jzx_on_full on_full, uint32_t cap, bool from_thread) {
    flood = (struct flood){.on_full = on_full, .cap = cap, .from_thread = from_thread};
    jzx_loop *loop = fixture_loop();
    jzx_actor_id id = fixture_spawn(
        loop, &JZX_SPAWN_OPTS(.behavior = be_flooded, .mailbox_cap = cap, .on_full = on_full));
    uint64_t runs = jzx_test_runs();
    for (uint32_t i = 0; i < cap; i++) /* full as it begins: these wait before the flood */
        fixture_send(loop, id, 1);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_true(jzx_test_runs() > runs);
    uint32_t waiting = cap - 1; /* of the first ones */
    if (on_full == JZX_FULL_DROP_OLDEST) {
        JZX_EXPECT_EQ(flood.accepted, FLOOD);
        JZX_EXPECT(flood.count <= 3 * cap);
        JZX_EXPECT(flood.count >= cap);
        if (!from_thread)
            assert_int_equal(flood.count, cap);
        expect_run(FLOOD - flood.count, flood.count);
    } else {
        if (from_thread) {
            JZX_EXPECT(flood.count + waiting <= 2 * cap);
            JZX_EXPECT(flood.count + waiting >= cap);
        } else {
            assert_int_equal(flood.count + waiting, cap);
        }
        expect_run(0, flood.count);
        JZX_EXPECT_EQ(flood.refused, on_full == JZX_FULL_REFUSE ? FLOOD - flood.count : 0);
    }
    for (uint32_t i = 0; i < FLOOD; i++)
        JZX_EXPECT_EQ(flood.released[i], 1);
    jzx_stats stats = fixture_stats(loop);
    JZX_EXPECT_EQ(stats.refused_full, flood.refused);
    fixture_destroy(loop);
}

JZX_TEST(a_flood_in_the_middle_of_a_message_keeps_what_the_policy_says) {
    static const uint32_t caps[] = {1, 2, 3, 8, 31};
    for (size_t i = 0; i < sizeof caps / sizeof caps[0]; i++) {
        for (int policy = JZX_FULL_REFUSE; policy <= JZX_FULL_DROP_NEW; policy++) {
            flood_one((jzx_on_full)policy, caps[i], false);
            flood_one((jzx_on_full)policy, caps[i], true);
        }
    }
}

/* ---- buffers in wrong hands ---- */

static char log_lines[8192];

static void keep_log(void *ctx, jzx_log_level level, const char *text) {
    (void)ctx;
    JZX_EXPECT_EQ(level, JZX_LOG_ERROR);
    strncat(log_lines, text, sizeof log_lines - strlen(log_lines) - 2);
    strcat(log_lines, "\n");
}

/* The log has a line with both; and nothing else was written since. */
static void expect_line(const char *call, const char *actor) {
    JZX_EXPECT(strstr(log_lines, call) != NULL);
    JZX_EXPECT(actor == NULL || strstr(log_lines, actor) != NULL);
    const char *end = strchr(log_lines, '\n');
    JZX_EXPECT(end != NULL && end[1] == '\0');
    log_lines[0] = '\0';
}

static void misuse(jzx_loop *loop, jzx_actor_id to, void *pointer, const char *actor) {
    JZX_EXPECT_EQ(jzx_send_msg(loop, to, JZX_NOBODY, pointer, 1), JZX_ERR_INVALID_ARG);
    expect_line("jzx_send_msg", actor);
    JZX_EXPECT_EQ(jzx_send_shared(loop, to, JZX_NOBODY, pointer, 1), JZX_ERR_INVALID_ARG);
    expect_line("jzx_send_shared", actor);
    JZX_EXPECT(jzx_msg_share(loop, pointer) == NULL);
    expect_line("jzx_msg_share", actor);
    jzx_msg_free(loop, pointer);
    expect_line("jzx_msg_free", actor);
    size_t delivered = 9;
    JZX_EXPECT_EQ(jzx_group_broadcast_shared(loop, "all", JZX_NOBODY, pointer, 1, &delivered),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(delivered, 9);
    expect_line("jzx_group_broadcast_shared", actor);
}

static jzx_loop *other_loop;

static jzx_behavior_result misuse_all(jzx_context *ctx, const jzx_message *msg) {
    _Alignas(64) char stack[512] = {0};
    jzx_test_ran();
    if (msg->tag != 3)
        return JZX_BEHAVIOR_OK;
    misuse(ctx->loop, ctx->self, stack + 256, "the culprit");
    misuse(ctx->loop, ctx->self, msg->data, "the culprit");
    void *foreign = jzx_msg_alloc(other_loop, 40, NULL);
    misuse(ctx->loop, ctx->self, foreign, "the culprit");
    jzx_msg_free(other_loop, foreign);
    void *inside = jzx_msg_alloc(ctx->loop, 512, NULL);
    memset(inside, 0, 512);
    misuse(ctx->loop, ctx->self, (char *)inside + 64, "the culprit");
    misuse(ctx->loop, ctx->self, (char *)inside + 16, "the culprit");
    jzx_msg_free(ctx->loop, inside);
    misuse(ctx->loop, ctx->self, inside, "the culprit");
    void *sent = jzx_msg_alloc(ctx->loop, 20, NULL);
    JZX_EXPECT_EQ(jzx_send_msg(ctx->loop, ctx->self, 0, sent, 4), JZX_OK);
    misuse(ctx->loop, ctx->self, sent, "the culprit");
    void *taken = jzx_msg_take(ctx, msg);
    if (JZX_EXPECT(taken != NULL)) {
        JZX_EXPECT(jzx_msg_take(ctx, msg) == NULL);
        jzx_msg_free(ctx->loop, taken);
        misuse(ctx->loop, ctx->self, taken, "the culprit");
    }
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(every_call_refuses_every_pointer_that_is_no_buffer_of_the_callers) {
    other_loop = fixture_loop();
    jzx_loop *loop = fixture_loop_with(
        &JZX_CONFIG(.log = {.write = keep_log, .level = JZX_LOG_ERROR}, .max_actors = 10));
    jzx_actor_id id =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = misuse_all, .name = "the culprit"));
    assert_int_equal(jzx_send(loop, id, JZX_NOBODY, "a text", 7, 3), JZX_OK);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(jzx_test_runs(), 2); /* and the one that it sent itself */
    fixture_destroy(loop);
    fixture_destroy(other_loop);
}

/* ---- refused buffers ---- */

JZX_TEST(a_buffer_that_is_refused_for_any_reason_stays_with_its_caller) {
    flood = (struct flood){0};
    jzx_loop *loop = fixture_loop();
    struct recorder log = {0};
    jzx_actor_id id =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log, .mailbox_cap = 1));
    uint32_t zero = 0;
    void *buffer = jzx_msg_alloc(loop, sizeof zero, count_drop);
    memcpy(buffer, &zero, sizeof zero);
    fixture_send(loop, id, 1);
    assert_int_equal(jzx_send_msg(loop, id, 0, buffer, 2), JZX_ERR_MAILBOX_FULL);
    assert_int_equal(jzx_send_msg(loop, id, 0, buffer, JZX_TAG_RESERVED), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_send_msg(loop, id, 0, buffer, UINT32_MAX), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_send_msg(loop, JZX_NOBODY, 0, buffer, 2), JZX_ERR_NO_SUCH_ACTOR);
    assert_int_equal(jzx_send_msg(NULL, id, 0, buffer, 2), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(jzx_send_msg(loop, id, 0, buffer, JZX_TAG_RESERVED - 1), JZX_OK);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(flood.released[0], 1);
    assert_int_equal(log.count, 2);
    assert_int_equal(jzx_loop_request_stop(loop), JZX_OK);
    (void)jzx_loop_step(loop, JZX_NEVER);
    void *late = jzx_msg_alloc(loop, 0, NULL);
    if (late != NULL) {
        assert_int_equal(jzx_send_msg(loop, id, 0, late, 2), JZX_ERR_LOOP_CLOSED);
        jzx_msg_free(loop, late);
    }
    fixture_destroy(loop);
}

/* ---- room ---- */

struct waiter {
    jzx_actor_id target;
    uint32_t answers;
    uint32_t asked;
};

static jzx_behavior_result wait_for_room(jzx_context *ctx, const jzx_message *msg) {
    struct waiter *self = ctx->state;
    jzx_test_ran();
    if (msg->tag == JZX_TAG_ROOM) {
        self->answers++;
        JZX_EXPECT_EQ(msg->sender, self->target);
        return JZX_BEHAVIOR_OK;
    }
    for (uint32_t i = 0; i < 3; i++) /* one request, as they wait together */
        JZX_EXPECT_EQ(jzx_send_when_room(ctx->loop, self->target, ctx->self), JZX_OK);
    self->asked++;
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result end_as_told(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    if (msg->tag == 1)
        return JZX_BEHAVIOR_OK;
    if (msg->tag == 7)
        jzx_exit(ctx, JZX_EXIT_FAIL, "told so");
    return (jzx_behavior_result)msg->tag - 1; /* 2: stop, 3: fail, 9: panic */
}

enum { BY_MESSAGE = 10 };

/* The target is full, then it ends: by a message (how < 10) or by a request. */
static void end_a_target(uint32_t how, uint32_t waiters) {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.max_msgs_per_actor = 1));
    struct waiter states[8] = {{0}};
    jzx_actor_id ids[8];
    jzx_actor_id target =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = end_as_told, .mailbox_cap = 40,
                                            .priority = JZX_PRIORITY_LOW));
    for (uint32_t i = 0; i < waiters; i++) {
        states[i].target = target;
        ids[i] = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = wait_for_room, .state = &states[i],
                                                     .priority = JZX_PRIORITY_CRITICAL));
    }
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    fixture_send(loop, target, 1);
    if (how < BY_MESSAGE)
        fixture_send(loop, target, how);
    while (jzx_send(loop, target, JZX_NOBODY, NULL, 0, 1) == JZX_OK)
        continue;
    for (uint32_t i = 0; i < waiters; i++)
        fixture_send(loop, ids[i], 1);
    if (how >= BY_MESSAGE)
        assert_int_equal(jzx_actor_stop(loop, target, (jzx_stop_kind)(how - BY_MESSAGE)), JZX_OK);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    for (uint32_t i = 0; i < waiters; i++) {
        JZX_EXPECT_EQ(states[i].asked, 1);
        JZX_EXPECT_EQ(states[i].answers, 1);
    }
    assert_int_equal(jzx_send(loop, target, JZX_NOBODY, NULL, 0, 1), JZX_ERR_NO_SUCH_ACTOR);
    fixture_destroy(loop);
}

JZX_TEST(whoever_waits_for_room_is_told_once_however_the_target_ends) {
    static const uint32_t ways[] = {2, 3, 7, 9, BY_MESSAGE + 0, BY_MESSAGE + 1, BY_MESSAGE + 2};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        end_a_target(ways[i], 1);
        end_a_target(ways[i], 8);
    }
}

/* An actor that waits for room in its own mailbox. */
static jzx_behavior_result wait_for_myself(jzx_context *ctx, const jzx_message *msg) {
    struct waiter *self = ctx->state;
    jzx_test_ran();
    if (msg->tag == JZX_TAG_ROOM) {
        JZX_EXPECT_EQ(msg->sender, ctx->self);
        return ++self->answers == 5 ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
    }
    if (msg->tag != 1)
        return JZX_BEHAVIOR_OK;
    while (jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, 2) == JZX_OK)
        continue;
    JZX_EXPECT_EQ(jzx_send_when_room(ctx->loop, ctx->self, ctx->self), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(an_actor_may_wait_for_room_in_its_own_mailbox) {
    jzx_loop *loop = fixture_loop();
    for (uint32_t cap = 1; cap < 6; cap++) {
        struct waiter state = {0};
        jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = wait_for_myself,
                                                              .state = &state, .mailbox_cap = cap));
        for (uint32_t i = 1; i <= 5; i++) {
            fixture_send(loop, id, 1);
            assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
            assert_int_equal(state.answers, i);
        }
    }
    fixture_destroy(loop);
}

/* ---- runtime messages ---- */

static jzx_behavior_result watch_then_record(jzx_context *ctx, const jzx_message *msg) {
    struct recorder *self = ctx->state;
    jzx_test_ran();
    if (msg->tag == 1) { /* data: whom to watch */
        jzx_actor_id target;
        memcpy(&target, msg->data, sizeof target);
        JZX_EXPECT_EQ(jzx_trap_exits(ctx, true), JZX_OK);
        JZX_EXPECT_EQ(jzx_monitor(ctx, target, NULL), JZX_OK);
        return JZX_BEHAVIOR_OK;
    }
    self->tags[self->count++] = msg->tag;
    return JZX_BEHAVIOR_OK;
}

static void runtime_messages_in(jzx_on_full on_full) {
    jzx_clock *clock = jzx_clock_manual(0);
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.clock = clock));
    struct recorder log = {0};
    struct recorder idle = {0};
    jzx_actor_id who = fixture_spawn(
        loop, &JZX_SPAWN_OPTS(.behavior = watch_then_record, .state = &log, .mailbox_cap = 1,
                              .on_full = on_full, .priority = JZX_PRIORITY_LOW));
    jzx_actor_id watched[3];
    for (uint32_t i = 0; i < 3; i++) {
        watched[i] = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &idle));
        assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
        assert_int_equal(jzx_send(loop, who, 0, &watched[i], sizeof watched[i], 1), JZX_OK);
        assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    }
    fixture_send(loop, who, 2);
    assert_int_equal(jzx_send_when_room(loop, watched[0], who), JZX_OK);
    assert_int_equal(jzx_send_after(loop, who, 0, NULL, 0, 3, JZX_MS(1), NULL), JZX_OK);
    jzx_err extra = jzx_send(loop, who, 0, NULL, 0, 4);
    assert_int_equal(extra, on_full == JZX_FULL_REFUSE ? JZX_ERR_MAILBOX_FULL : JZX_OK);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(jzx_actor_stop(loop, watched[i], JZX_STOP_KILL), JZX_OK);
    jzx_clock_advance(clock, JZX_MS(1));
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    uint32_t users = 0, rooms = 0, downs = 0, timers = 0;
    for (uint32_t i = 0; i < log.count; i++) {
        users += log.tags[i] == 2 || log.tags[i] == 4;
        rooms += log.tags[i] == JZX_TAG_ROOM;
        downs += log.tags[i] == JZX_TAG_DOWN;
        timers += log.tags[i] == 3;
    }
    assert_int_equal(users, 1);
    assert_int_equal(log.tags[0], on_full == JZX_FULL_DROP_OLDEST ? 4 : 2);
    assert_int_equal(rooms, 1);
    assert_int_equal(timers, 1);
    assert_int_equal(downs, 3);
    assert_int_equal(log.count, 6);
    fixture_destroy(loop);
    assert_int_equal(jzx_clock_free(clock), JZX_OK);
}

JZX_TEST(no_policy_of_a_full_mailbox_touches_runtime_messages) {
    runtime_messages_in(JZX_FULL_REFUSE);
    runtime_messages_in(JZX_FULL_DROP_OLDEST);
    runtime_messages_in(JZX_FULL_DROP_NEW);
}

/* ---- requests that overtake ---- */

static struct {
    uint32_t handled;
    uint32_t ends;
    jzx_exit_reason reason;
} victim;

static jzx_behavior_result be_victim(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    jzx_test_ran();
    victim.handled++;
    return JZX_BEHAVIOR_OK;
}

static void note_reason(jzx_context *ctx, jzx_exit_reason reason) {
    (void)ctx;
    victim.ends++;
    victim.reason = reason;
}

static jzx_err ask_to_end(jzx_loop *loop, jzx_actor_id id, uint32_t how) {
    return how == 3 ? jzx_actor_fail(loop, id) : jzx_actor_stop(loop, id, (jzx_stop_kind)how);
}

struct enders {
    jzx_loop *loop;
    jzx_actor_id id;
    uint32_t first, second;
};

static void *end_on_thread(void *arg) {
    const struct enders *self = arg;
    JZX_EXPECT_EQ(ask_to_end(self->loop, self->id, self->first), JZX_OK);
    JZX_EXPECT_EQ(ask_to_end(self->loop, self->id, self->second), JZX_OK);
    return NULL;
}

/* Both requests come while 100 messages wait and nothing can be allocated. */
static void end_without_memory(uint32_t first, uint32_t second, bool on_thread) {
    static const uint32_t strength[] = {1, 0, 3, 2}; /* message, queue, kill, fail */
    static const jzx_exit_reason reasons[] = {JZX_EXIT_NORMAL, JZX_EXIT_NORMAL, JZX_EXIT_KILLED,
                                              JZX_EXIT_FAIL};
    memset(&victim, 0, sizeof victim);
    jzx_loop *loop = fixture_loop();
    jzx_actor_id id =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = be_victim, .cleanup = note_reason));
    fixture_send(loop, id, 1);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    for (uint32_t i = 0; i < 100; i++)
        fixture_send(loop, id, 1);
    struct enders enders = {loop, id, first, second};
    pthread_t thread;
    fixture_fail_allocations(0, UINT64_MAX);
    if (on_thread) {
        assert_int_equal(pthread_create(&thread, NULL, end_on_thread, &enders), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
    } else {
        end_on_thread(&enders);
    }
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    fixture_fail_allocations(UINT64_MAX, 0);
    uint32_t strongest = strength[first] > strength[second] ? first : second;
    assert_int_equal(victim.ends, 1);
    assert_int_equal(victim.reason, reasons[strongest]);
    assert_int_equal(victim.handled, strongest == JZX_STOP_AFTER_QUEUE ? 101 : 1);
    fixture_destroy(loop);
}

JZX_TEST(ends_overtake_the_queue_without_memory_and_the_strongest_counts) {
    for (uint32_t first = 0; first < 4; first++) {
        for (uint32_t second = 0; second < 4; second++) {
            end_without_memory(first, second, false);
            end_without_memory(first, second, true);
        }
    }
}
