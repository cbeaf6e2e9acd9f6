/* SPDX-License-Identifier: MIT */
/* Mailboxes: order, the bound, what a full one does, and that the books balance. */
#include "fixture.h"

#include <pthread.h>
#include <string.h>

JZX_TEST(messages_arrive_in_the_order_they_were_sent, "C+inv", "C27") {
    jzx_loop *loop = fixture_loop();
    struct recorder log = {0};
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log));
    for (uint32_t tag = 0; tag < 1000; tag++)
        fixture_send(loop, id, tag);
    fixture_check_books(loop); /* all of them wait */
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(log.count, 1000);
    for (uint32_t tag = 0; tag < 1000; tag++)
        assert_int_equal(log.tags[tag], tag);
    fixture_destroy(loop);
}

/* ---- the bound, from another thread and from the owner's ---- */

struct flooder {
    jzx_actor_id target;
    uint32_t attempts;
    uint32_t accepted;
    uint32_t full;
};

static jzx_behavior_result flood(jzx_context *ctx, const jzx_message *msg) {
    struct flooder *self = ctx->state;
    (void)msg;
    for (uint32_t i = 0; i < self->attempts; i++) {
        jzx_err err = jzx_send(ctx->loop, self->target, ctx->self, NULL, 0, i);
        self->accepted += err == JZX_OK;
        self->full += err == JZX_ERR_MAILBOX_FULL;
    }
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(a_full_mailbox_refuses_and_keeps_order, "C11", "C27", "C+fail", "C+inv", "X14") {
    jzx_loop *loop = fixture_loop();
    struct recorder log = {0};
    struct flooder flooder = {.attempts = 20};
    flooder.target =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log, .mailbox_cap = 8));
    jzx_actor_id source =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = flood, .state = &flooder));
    fixture_send(loop, source, 1);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(flooder.accepted, 8);
    assert_int_equal(flooder.full, 12);
    assert_int_equal(log.count, 8);
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(log.tags[i], i);
    jzx_stats stats = fixture_stats(loop);
    assert_int_equal(stats.refused_full, 12);
    assert_int_equal(stats.accepted + stats.refused_full, 1 + 20);
    fixture_destroy(loop);
}

JZX_TEST(a_full_mailbox_refuses_other_threads_at_the_same_bound, "C11", "X16") {
    jzx_loop *loop = fixture_loop();
    struct recorder log = {0};
    jzx_actor_id id =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log, .mailbox_cap = 8));
    for (uint32_t i = 0; i < 8; i++)
        fixture_send(loop, id, i);
    assert_int_equal(jzx_send(loop, id, JZX_NOBODY, NULL, 0, 8), JZX_ERR_MAILBOX_FULL);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(log.count, 8);
    fixture_send(loop, id, 9); /* room again */
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(log.tags[8], 9);
    fixture_destroy(loop);
}

/* Half of the bound comes through the inbox, the rest from the owner: together exactly the cap. */
static jzx_behavior_result top_up(jzx_context *ctx, const jzx_message *msg) {
    flood(ctx, msg);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(the_bound_counts_the_inbox_and_the_private_list_together, "C11") {
    jzx_loop *loop = fixture_loop();
    struct recorder log = {0};
    struct flooder flooder = {.attempts = 10};
    jzx_actor_id source =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = top_up, .state = &flooder));
    flooder.target =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log, .mailbox_cap = 8));
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK); /* both are taken in */
    fixture_send(loop, source, 0);
    for (uint32_t i = 0; i < 5; i++)
        fixture_send(loop, flooder.target, 100 + i);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(flooder.accepted, 3);
    assert_int_equal(flooder.full, 7);
    assert_int_equal(log.count, 8);
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(log.tags[i], i < 5 ? 100 + i : i - 5);
    fixture_destroy(loop);
}

struct refill {
    jzx_loop *loop;
    jzx_actor_id target;
    uint32_t handled;
    uint32_t accepted[2]; /* before and after the first lot was taken in */
    uint32_t depth;       /* the highest */
};

static struct refill refill;

static void *fill_up(void *arg) {
    uint32_t *accepted = arg;
    while (jzx_send(refill.loop, refill.target, JZX_NOBODY, NULL, 0, 1) == JZX_OK)
        ++*accepted;
    return NULL;
}

static jzx_behavior_result be_refilled(jzx_context *ctx, const jzx_message *msg) {
    jzx_actor_info info = {.size = sizeof info};
    pthread_t thread;
    (void)msg;
    if (refill.handled < 2 &&
        JZX_EXPECT_EQ(pthread_create(&thread, NULL, fill_up, &refill.accepted[refill.handled]), 0))
        JZX_EXPECT_EQ(pthread_join(thread, NULL), 0);
    refill.handled++;
    JZX_EXPECT_EQ(jzx_actor_info_get(ctx->loop, ctx->self, &info), JZX_OK);
    refill.depth = info.depth > refill.depth ? info.depth : refill.depth;
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(other_threads_fill_a_mailbox_at_most_twice, "C11", "X16") {
    refill = (struct refill){.loop = fixture_loop()};
    refill.target =
        fixture_spawn(refill.loop, &JZX_SPAWN_OPTS(.behavior = be_refilled, .mailbox_cap = 10));
    fixture_send(refill.loop, refill.target, 1);
    assert_int_equal(jzx_loop_step(refill.loop, JZX_NEVER), JZX_OK);
    assert_int_equal(refill.accepted[0], 10);
    assert_int_equal(refill.accepted[1], 10);
    assert_int_equal(refill.depth, 19);
    assert_int_equal(refill.handled, 21);
    fixture_destroy(refill.loop);
}

JZX_TEST(a_mailbox_may_be_as_large_as_its_limit_and_no_larger, "X22", "C11") {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.default_mailbox_cap = JZX_MAILBOX_CAP_MAX));
    assert_non_null(loop);
    static const jzx_on_full policies[] = {JZX_FULL_REFUSE, JZX_FULL_DROP_OLDEST,
                                           JZX_FULL_DROP_NEW};
    for (int i = 0; i < 3; i++) {
        jzx_actor_info info = {.size = sizeof info};
        struct recorder log = {0};
        jzx_spawn_opts opts =
            JZX_SPAWN_OPTS(.behavior = record, .state = &log, .mailbox_cap = JZX_MAILBOX_CAP_MAX,
                           .on_full = policies[i]);
        jzx_actor_id id = fixture_spawn(loop, &opts);
        assert_int_equal(jzx_actor_info_get(loop, id, &info), JZX_OK);
        assert_int_equal(info.mailbox_cap, JZX_MAILBOX_CAP_MAX);
        for (uint32_t n = 0; n < 10; n++)
            fixture_send(loop, id, n);
        assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
        assert_int_equal(log.count, 10);
        opts.mailbox_cap++;
        assert_int_equal(jzx_spawn(loop, &opts, &id), JZX_ERR_INVALID_ARG);
    }
    jzx_actor_info info = {.size = sizeof info};
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = flood));
    assert_int_equal(jzx_actor_info_get(loop, id, &info), JZX_OK);
    assert_int_equal(info.mailbox_cap, JZX_MAILBOX_CAP_MAX); /* by default */
    fixture_destroy(loop);
}

/* ---- policies ---- */

struct drops {
    uint32_t calls; /* of on_mailbox_full */
    uint64_t fulls;
    uint64_t letters;
    uint32_t last_tag;
    jzx_actor_id last_sender;
    size_t last_len;
};

static void count_full(void *ctx, jzx_actor_id id) {
    (void)id;
    ((struct drops *)ctx)->calls++;
}

static void count_event(void *ctx, const jzx_event *event) {
    struct drops *drops = ctx;
    if (event->kind == JZX_EVENT_MAILBOX_FULL)
        drops->fulls += event->count;
    if (event->kind != JZX_EVENT_DEAD_LETTER)
        return;
    drops->letters += event->count;
    drops->last_tag = event->tag;
    drops->last_sender = event->sender;
    drops->last_len = event->len;
}

static const jzx_observer drop_observer = {
    .size = sizeof(jzx_observer), .on_mailbox_full = count_full, .on_event = count_event};

static void flood_with_policy(jzx_on_full on_full, struct recorder *log, struct drops *drops) {
    jzx_loop *loop = fixture_loop();
    assert_int_equal(jzx_loop_set_observer(loop, &drop_observer, drops), JZX_OK);
    struct flooder flooder = {.attempts = 10};
    flooder.target = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = log,
                                                         .mailbox_cap = 4, .on_full = on_full));
    jzx_actor_id source =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = flood, .state = &flooder));
    fixture_send(loop, source, 1);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(flooder.accepted, on_full == JZX_FULL_REFUSE ? 4 : 10);
    assert_int_equal(fixture_stats(loop).dead, on_full == JZX_FULL_REFUSE ? 0 : 6);
    assert_int_equal(drops->fulls, 6);
    assert_int_equal(drops->calls, 6);
    assert_int_equal(log->count, 4);
    fixture_destroy(loop);
}

JZX_TEST(refuse_tells_the_observer_once_per_refused_message, "C14", "C15", "C11") {
    struct recorder log = {0};
    struct drops drops = {0};
    flood_with_policy(JZX_FULL_REFUSE, &log, &drops);
    assert_int_equal(drops.letters, 0);
}

JZX_TEST(drop_oldest_keeps_the_newest_messages_and_buries_the_others, "C13", "C12", "X14") {
    struct recorder log = {0};
    struct drops drops = {0};
    flood_with_policy(JZX_FULL_DROP_OLDEST, &log, &drops);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(log.tags[i], 6 + i);
    assert_int_equal(drops.letters, 6);
    assert_int_equal(drops.last_tag, 5);
}

JZX_TEST(drop_new_keeps_the_oldest_messages_and_buries_the_others, "C12", "X14") {
    struct recorder log = {0};
    struct drops drops = {0};
    flood_with_policy(JZX_FULL_DROP_NEW, &log, &drops);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(log.tags[i], i);
    assert_int_equal(drops.letters, 6);
    assert_int_equal(drops.last_tag, 9);
}

static void flood_from_outside(jzx_on_full on_full, struct recorder *log, struct drops *drops) {
    jzx_loop *loop = fixture_loop();
    assert_int_equal(jzx_loop_set_observer(loop, &drop_observer, drops), JZX_OK);
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = log,
                                                          .mailbox_cap = 4, .on_full = on_full));
    jzx_err expected = on_full == JZX_FULL_REFUSE ? JZX_ERR_MAILBOX_FULL : JZX_OK;
    for (uint32_t i = 0; i < 10; i++)
        assert_int_equal(jzx_send(loop, id, JZX_NOBODY, "x", 1, i), i < 4 ? JZX_OK : expected);
    assert_int_equal(drops->fulls, 0); /* observers are called on the loop's thread only */
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(drops->fulls, 6);
    assert_true(on_full == JZX_FULL_DROP_OLDEST || drops->calls == 1); /* all at once */
    assert_int_equal(log->count, 4);
    fixture_destroy(loop);
}

JZX_TEST(refuse_from_another_thread_is_seen_on_the_loops_thread, "C14", "C15", "X16") {
    struct recorder log = {0};
    struct drops drops = {0};
    flood_from_outside(JZX_FULL_REFUSE, &log, &drops);
    assert_int_equal(drops.letters, 0);
}

JZX_TEST(drop_oldest_from_another_thread_keeps_the_newest, "C13", "X16") {
    struct recorder log = {0};
    struct drops drops = {0};
    flood_from_outside(JZX_FULL_DROP_OLDEST, &log, &drops);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(log.tags[i], 6 + i);
    assert_int_equal(drops.letters, 6);
}

JZX_TEST(drop_new_from_another_thread_keeps_the_oldest, "C12", "X16") {
    struct recorder log = {0};
    struct drops drops = {0};
    flood_from_outside(JZX_FULL_DROP_NEW, &log, &drops);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(log.tags[i], i);
    assert_int_equal(drops.letters, 6);
}

/* ---- drop_oldest under a flood from outside ---- */

JZX_TEST(drop_oldest_bounds_the_memory_of_what_other_threads_send, "C13", "C11", "X16") {
    enum { CAP = 64, SENDS = 20000 };
    static char payload[3000];
    static struct recorder log;
    struct drops drops = {0};
    jzx_loop *loop = fixture_loop();
    assert_int_equal(jzx_loop_set_observer(loop, &drop_observer, &drops), JZX_OK);
    jzx_actor_id id =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log, .mailbox_cap = CAP,
                                            .on_full = JZX_FULL_DROP_OLDEST));
    for (uint32_t i = 0; i < SENDS; i++)
        assert_int_equal(jzx_send(loop, id, JZX_NOBODY, payload, sizeof payload, i), JZX_OK);
    jzx_actor_info info = {.size = sizeof info};
    assert_int_equal(jzx_actor_info_get(loop, id, &info), JZX_OK);
    assert_true(info.depth >= CAP && info.depth <= 2 * CAP);
    assert_true(fixture_bytes() < 4u << 20);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(log.count, CAP);
    for (uint32_t i = 0; i < CAP; i++)
        assert_int_equal(log.tags[i], SENDS - CAP + i);
    assert_int_equal(drops.fulls, SENDS - CAP);
    assert_int_equal(drops.letters, SENDS - CAP);
    assert_int_equal(fixture_stats(loop).dead, SENDS - CAP);
    fixture_destroy(loop);
}

/* ---- refusals while they are reported ---- */

struct insistent {
    jzx_loop *loop;
    jzx_actor_id target;
    uint32_t reports; /* before the first message was handled */
    uint32_t handled;
};

static void *send_until_refused(void *arg) {
    const struct insistent *self = arg;
    while (jzx_send(self->loop, self->target, JZX_NOBODY, NULL, 0, 2) == JZX_OK)
        continue;
    return NULL;
}

/* Whenever a refusal is reported, another thread has met the next one. */
static void insist(void *ctx, const jzx_event *event) {
    struct insistent *self = ctx;
    pthread_t thread;
    if (event->kind != JZX_EVENT_MAILBOX_FULL || self->handled != 0 || self->reports == 100)
        return;
    self->reports++;
    if (JZX_EXPECT_EQ(pthread_create(&thread, NULL, send_until_refused, self), 0))
        JZX_EXPECT_EQ(pthread_join(thread, NULL), 0);
}

static jzx_behavior_result count_handled(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    ((struct insistent *)ctx->state)->handled++;
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_sender_that_tries_again_and_again_does_not_keep_an_observed_actor_from_its_messages,
         "C14", "C28") {
    struct insistent self = {.loop = fixture_loop()};
    assert_int_equal(jzx_loop_set_observer(self.loop, &JZX_OBSERVER(.on_event = insist), &self),
                     JZX_OK);
    self.target = fixture_spawn(
        self.loop, &JZX_SPAWN_OPTS(.behavior = count_handled, .state = &self, .mailbox_cap = 1));
    fixture_send(self.loop, self.target, 1);
    assert_int_equal(jzx_send(self.loop, self.target, JZX_NOBODY, NULL, 0, 2),
                     JZX_ERR_MAILBOX_FULL);
    assert_int_equal(jzx_loop_step(self.loop, JZX_NEVER), JZX_OK);
    assert_int_equal(self.handled, 2); /* one more fitted when the first was taken in */
    assert_int_equal(self.reports, 2); /* before and after that */
    assert_int_equal(jzx_loop_set_observer(self.loop, NULL, NULL), JZX_OK);
    fixture_destroy(self.loop);
}

/* ---- dead letters ---- */

JZX_TEST(what_waits_for_a_dead_actor_becomes_dead_letters, "X14", "C14") {
    jzx_loop *loop = fixture_loop();
    struct drops drops = {0};
    assert_int_equal(jzx_loop_set_observer(loop, &drop_observer, &drops), JZX_OK);
    struct recorder log = {.stop_at = 2};
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log));
    for (uint32_t tag = 1; tag <= 5; tag++)
        assert_int_equal(jzx_send(loop, id, 42, "four", 4, tag), JZX_OK);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(log.count, 2);
    assert_int_equal(drops.letters, 3);
    assert_int_equal(drops.last_tag, 5);
    assert_int_equal(drops.last_len, 4);
    assert_true(drops.last_sender == 42);
    jzx_stats stats = fixture_stats(loop);
    assert_int_equal(stats.accepted, 5);
    assert_int_equal(stats.handled, 2);
    assert_int_equal(stats.dead, 3);
    fixture_destroy(loop);
}

struct last_words {
    jzx_loop *loop;
    jzx_actor_id id;
    struct recorder letters;
};

static struct last_words last_words;

static void record_letter(void *ctx, const jzx_event *event) {
    (void)ctx;
    if (event->kind == JZX_EVENT_DEAD_LETTER)
        last_words.letters.tags[last_words.letters.count++] = event->tag;
}

static void *send_two_late(void *arg) {
    (void)arg;
    JZX_EXPECT_EQ(jzx_send(last_words.loop, last_words.id, JZX_NOBODY, NULL, 0, 6), JZX_OK);
    JZX_EXPECT_EQ(jzx_send(last_words.loop, last_words.id, JZX_NOBODY, NULL, 0, 7), JZX_OK);
    return NULL;
}

/* Stashes 1 and 2, and ends at 3, with 4 and 5 taken in and two more in the inbox. */
static jzx_behavior_result stash_and_end(jzx_context *ctx, const jzx_message *msg) {
    pthread_t thread;
    if (msg->tag < 3) {
        JZX_EXPECT_EQ(jzx_stash(ctx, msg), JZX_OK);
        return JZX_BEHAVIOR_OK;
    }
    if (JZX_EXPECT_EQ(pthread_create(&thread, NULL, send_two_late, NULL), 0))
        JZX_EXPECT_EQ(pthread_join(thread, NULL), 0);
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(dead_letters_come_in_order_the_queue_the_stash_then_what_came_last, "X14", "C14") {
    static const uint32_t expected[] = {4, 5, 1, 2, 6, 7};
    last_words.loop = fixture_loop();
    assert_int_equal(
        jzx_loop_set_observer(last_words.loop, &JZX_OBSERVER(.on_event = record_letter), NULL),
        JZX_OK);
    last_words.id = fixture_spawn(last_words.loop, &JZX_SPAWN_OPTS(.behavior = stash_and_end));
    for (uint32_t tag = 1; tag <= 5; tag++)
        fixture_send(last_words.loop, last_words.id, tag);
    assert_int_equal(jzx_loop_run(last_words.loop), JZX_OK);
    assert_int_equal(last_words.letters.count, 6);
    assert_memory_equal(last_words.letters.tags, expected, sizeof expected);
    fixture_destroy(last_words.loop);
}

JZX_TEST(a_send_to_a_dead_actor_is_refused_and_counted_as_a_dead_letter, "X11", "C+fail") {
    jzx_loop *loop = fixture_loop();
    struct recorder log = {.stop_at = 1};
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log));
    fixture_send(loop, id, 1);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(log.count, 1);
    assert_int_equal(jzx_send(loop, id, JZX_NOBODY, NULL, 0, 1), JZX_ERR_NO_SUCH_ACTOR);
    jzx_stats stats = fixture_stats(loop);
    assert_int_equal(stats.refused_no_actor, 1);
    assert_int_equal(stats.dead, 0);
    assert_int_equal(stats.dead_letters, 1);
    fixture_destroy(loop);
}

/* ---- arguments ---- */

JZX_TEST(send_refuses_bad_arguments, "X22", "C+fail", "X14") {
    jzx_loop *loop = fixture_loop();
    struct recorder log = {0};
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log));
    assert_int_equal(jzx_send(NULL, id, JZX_NOBODY, NULL, 0, 1), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_send(loop, id, JZX_NOBODY, NULL, 1, 1), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_send(loop, id, JZX_NOBODY, "", (size_t)JZX_MSG_LEN_MAX + 1, 1),
                     JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_send(loop, id, JZX_NOBODY, NULL, 0, 0xFFFF0000u), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_send(loop, id, JZX_NOBODY, NULL, 0, UINT32_MAX), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_send(loop, id, JZX_NOBODY, NULL, 0, 0xFFFEFFFFu), JZX_OK);
    jzx_stats stats = fixture_stats(loop);
    assert_int_equal(stats.refused_invalid, 4);
    assert_int_equal(stats.accepted, 1);
    fixture_destroy(loop);
}

static jzx_behavior_result send_badly(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    (void)msg;
    JZX_EXPECT_EQ(jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 1, 1), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, JZX_TAG_ROOM),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_send(NULL, ctx->self, ctx->self, NULL, 0, 1), JZX_ERR_INVALID_ARG);
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(send_inside_an_actor_refuses_bad_arguments, "X22", "C+fail") {
    jzx_loop *loop = fixture_loop();
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = send_badly));
    fixture_send(loop, id, 1);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    fixture_destroy(loop);
}
