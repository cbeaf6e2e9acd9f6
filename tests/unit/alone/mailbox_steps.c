/* SPDX-License-Identifier: MIT */
/* A send from another thread, with the end of its receiver between any two of its steps:
 * src/actor/mailbox.c, included, so that each atomic operation can be counted, and something done
 * before it. */
#include "base/atomic.h"

#include <stdbool.h>
#include <stdint.h>

static void before_step(void);

#undef jzx__atomic_load_acquire
#define jzx__atomic_load_acquire(p) (before_step(), atomic_load_explicit((p), memory_order_acquire))
#undef jzx__atomic_load_relaxed
#define jzx__atomic_load_relaxed(p) (before_step(), atomic_load_explicit((p), memory_order_relaxed))
#undef jzx__atomic_cas_acq_rel
#define jzx__atomic_cas_acq_rel(p, expected, desired)                                              \
    (before_step(), atomic_compare_exchange_strong_explicit(                                       \
                        (p), (expected), (desired), memory_order_acq_rel, memory_order_acquire))

#include "actor/mailbox.c"

#include "fixture.h"

#include <pthread.h>

#define CAP 2u

static _Thread_local int64_t steps_left = -1; /* until it happens; negative: it does not */
static bool has_happened;
static void *(*what_happens)(void *);

static pthread_t thread; /* which drives the loop then */
static bool is_pending;  /* it was not joined yet */
static struct jzx__actor *slot;

static void before_step(void) {
    if (steps_left < 0 || steps_left-- != 0)
        return;
    has_happened = true;
    JZX_EXPECT_EQ(pthread_create(&thread, NULL, what_happens, NULL), 0);
    is_pending = (atomic_load(&slot->task.state) & JZX__LOCKED) != 0; /* it waits for us then */
    if (!is_pending)
        JZX_EXPECT_EQ(pthread_join(thread, NULL), 0);
}

struct seen {
    uint64_t fulls;
    uint64_t letters;
};

static struct seen seen;
static jzx_loop *loop;
static jzx_actor_id receiver;
static jzx_spawn_opts opts;
static struct recorder heard;

static void see(void *ctx, const jzx_event *event) {
    (void)ctx;
    seen.fulls += event->kind == JZX_EVENT_MAILBOX_FULL ? event->count : 0;
    seen.letters += event->kind == JZX_EVENT_DEAD_LETTER ? event->count : 0;
}

static void *end_receiver(void *arg) {
    (void)arg;
    JZX_EXPECT_EQ(jzx_actor_stop(loop, receiver, JZX_STOP_KILL), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    return NULL;
}

static void *replace_receiver(void *arg) {
    jzx_actor_id next;
    end_receiver(arg);
    JZX_EXPECT_EQ(jzx_spawn(loop, &opts, &next), JZX_OK);
    JZX_EXPECT_EQ(jzx_id_index(next), jzx_id_index(receiver));
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    return NULL;
}

static void *run_receiver(void *arg) {
    (void)arg;
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    return NULL;
}

/* After `sent` messages one more, with something before its step number `step`. False if it has
 * fewer steps. */
static bool send_with(int64_t step, uint32_t sent) {
    seen = (struct seen){0};
    heard.count = 0;
    loop = fixture_loop_with(&JZX_CONFIG(.max_actors = 1)); /* there is one slot */
    assert_non_null(loop);
    assert_int_equal(jzx_loop_set_observer(loop, &JZX_OBSERVER(.on_event = see), NULL), JZX_OK);
    receiver = fixture_spawn(loop, &opts);
    slot = jzx__table_lookup(&loop->table, receiver);
    for (uint32_t i = 0; i < sent; i++)
        fixture_send(loop, receiver, i);
    has_happened = false;
    steps_left = step;
    jzx_err err = jzx_send(loop, receiver, JZX_NOBODY, NULL, 0, sent);
    steps_left = -1;
    if (is_pending)
        assert_int_equal(pthread_join(thread, NULL), 0);
    is_pending = false;
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    jzx_stats stats = fixture_stats(loop);
    assert_int_equal(stats.accepted, sent + (err == JZX_OK));
    assert_int_equal(stats.handled, heard.count);
    assert_int_equal(stats.handled + stats.dead, stats.accepted);
    assert_int_equal(seen.letters, stats.dead);
    if (opts.on_full == JZX_FULL_REFUSE)
        assert_int_equal(seen.fulls, stats.refused_full);
    for (uint32_t i = 1; i < heard.count; i++)
        assert_true(heard.tags[i - 1] < heard.tags[i]);
    if (opts.on_full == JZX_FULL_DROP_OLDEST && what_happens == run_receiver)
        assert_true(heard.count >= CAP && heard.tags[heard.count - 1] == sent);
    fixture_destroy(loop);
    return has_happened;
}

static void try_all(jzx_on_full on_full, uint32_t sent) {
    static void *(*const happenings[])(void *) = {end_receiver, replace_receiver, run_receiver};
    opts =
        JZX_SPAWN_OPTS(.behavior = record, .state = &heard, .mailbox_cap = CAP, .on_full = on_full);
    for (size_t i = 0; i < sizeof happenings / sizeof *happenings; i++) {
        int64_t steps = 0;
        what_happens = happenings[i];
        while (send_with(steps, sent))
            steps++;
        JZX_EXPECT(steps >= 4);
    }
}

JZX_TEST(a_message_that_meets_the_end_of_a_full_actor_is_refused_or_shown, "X14", "C14", "C12") {
    try_all(JZX_FULL_DROP_NEW, CAP);
}

JZX_TEST(a_refusal_that_meets_the_end_of_a_full_actor_is_shown, "X14", "C14", "C11") {
    try_all(JZX_FULL_REFUSE, CAP);
}

JZX_TEST(a_message_that_meets_the_end_of_its_actor_is_refused_or_shown, "X14", "C14") {
    try_all(JZX_FULL_REFUSE, 0);
    try_all(JZX_FULL_DROP_NEW, 1);
}

JZX_TEST(what_a_sender_cuts_off_is_shown_and_the_newest_stay, "X14", "C14", "C13") {
    try_all(JZX_FULL_DROP_OLDEST, 2 * CAP);
    try_all(JZX_FULL_DROP_OLDEST, 5 * CAP);
}
