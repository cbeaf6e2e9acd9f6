/* SPDX-License-Identifier: MIT */
/* Links from their making to their end: who goes with whom, who traps, who unlinks in time; and
 * actors that are watched from their first moment. */
#include "watching.h"

#include <string.h>

enum { GO = 1, WORK, LAST };

static char boom[] = "boom";

/* ---- two actors ---- */

struct pair {
    jzx_loop *loop;
    struct diary diaries[2];
    jzx_actor_id ids[2];
};

static void pair_open(struct pair *pair) {
    memset(pair, 0, sizeof *pair);
    pair->loop = fixture_loop();
    for (uint32_t i = 0; i < 2; i++)
        pair->ids[i] = diary_spawn(pair->loop, &pair->diaries[i]);
    step(pair->loop);
}

static void pair_close(struct pair *pair) {
    for (uint32_t i = 0; i < 2; i++)
        if (pair->diaries[i].cleanups == 0)
            JZX_EXPECT_EQ(jzx_actor_stop(pair->loop, pair->ids[i], JZX_STOP_KILL), JZX_OK);
    step(pair->loop);
    for (uint32_t i = 0; i < 2; i++)
        JZX_EXPECT_EQ(pair->diaries[i].cleanups, 1);
    fixture_destroy(pair->loop);
}

JZX_TEST(a_link_takes_the_other_along_whoever_made_it, "E19", "D+top") {
    for (uint32_t maker = 0; maker < 2; maker++) {
        struct pair pair;
        pair_open(&pair);
        JZX_EXPECT_EQ(now_link(pair.loop, pair.ids[maker], pair.ids[1 - maker]), JZX_OK);
        now(pair.loop, pair.ids[0], call_exit, boom);
        JZX_EXPECT_EQ(pair.diaries[0].cleanups, 1);
        JZX_EXPECT_EQ(pair.diaries[1].cleanups, 1);
        JZX_EXPECT_EQ(pair.diaries[1].reason, JZX_EXIT_FAIL);
        JZX_EXPECT_EQ(pair.diaries[1].count, 0);
        pair_close(&pair);
    }
}

static void end_how(jzx_loop *loop, jzx_actor_id id, int how) {
    switch (how) {
    case 0: order(loop, id, call_stop, NULL); break;
    case 1: JZX_EXPECT_EQ(jzx_actor_stop(loop, id, JZX_STOP_AFTER_QUEUE), JZX_OK); break;
    case 2: order(loop, id, call_exit, boom); break;
    case 3: JZX_EXPECT_EQ(jzx_actor_stop(loop, id, JZX_STOP_KILL), JZX_OK); break;
    default: JZX_EXPECT_EQ(jzx_actor_fail(loop, id), JZX_OK); break;
    }
    step(loop);
}

/* The other ends with the same reason, and normal ends are none of its business unless it traps. */
JZX_TEST(the_reason_goes_along_and_normal_ends_do_not, "E19", "E10", "D+top") {
    static const jzx_exit_reason reasons[] = {JZX_EXIT_NORMAL, JZX_EXIT_NORMAL, JZX_EXIT_FAIL,
                                              JZX_EXIT_KILLED, JZX_EXIT_FAIL};
    for (int how = 0; how < 5; how++) {
        for (int traps = 0; traps < 2; traps++) {
            struct pair pair;
            pair_open(&pair);
            struct diary *other = &pair.diaries[1];
            now(pair.loop, pair.ids[1], call_trap, traps ? &pair : NULL);
            JZX_EXPECT_EQ(now_link(pair.loop, pair.ids[0], pair.ids[1]), JZX_OK);
            end_how(pair.loop, pair.ids[0], how);
            JZX_EXPECT_EQ(pair.diaries[0].reason, reasons[how]);
            if (traps) {
                JZX_EXPECT_EQ(other->cleanups, 0);
                JZX_EXPECT_EQ(other->count, 1);
                expect_notice(other, 0, JZX_TAG_EXIT, pair.ids[0], reasons[how]);
                JZX_EXPECT_EQ(other->entries[0].notice.monitor, JZX_NO_MONITOR);
            } else {
                JZX_EXPECT_EQ(other->cleanups, reasons[how] != JZX_EXIT_NORMAL);
                JZX_EXPECT_EQ(other->count, 0);
                if (other->cleanups == 1)
                    JZX_EXPECT_EQ(other->reason, reasons[how]);
            }
            pair_close(&pair);
        }
    }
}

static jzx_behavior_result call_shut_down(jzx_context *ctx, void *arg) {
    (void)arg;
    jzx_exit(ctx, JZX_EXIT_SHUTDOWN, NULL);
}

/* It is no normal end: only those are none of the other's business. */
JZX_TEST(a_shutdown_goes_along_a_link) {
    for (int traps = 0; traps < 2; traps++) {
        struct pair pair;
        pair_open(&pair);
        struct diary *other = &pair.diaries[1];
        now(pair.loop, pair.ids[1], call_trap, traps ? &pair : NULL);
        JZX_EXPECT_EQ(now_link(pair.loop, pair.ids[0], pair.ids[1]), JZX_OK);
        now(pair.loop, pair.ids[0], call_shut_down, NULL);
        JZX_EXPECT_EQ(pair.diaries[0].reason, JZX_EXIT_SHUTDOWN);
        JZX_EXPECT_EQ(other->cleanups, !traps);
        JZX_EXPECT_EQ(other->count, traps);
        if (traps)
            expect_notice(other, 0, JZX_TAG_EXIT, pair.ids[0], JZX_EXIT_SHUTDOWN);
        else
            JZX_EXPECT_EQ(other->reason, JZX_EXIT_SHUTDOWN);
        pair_close(&pair);
    }
}

JZX_TEST(a_trap_counts_when_the_end_comes_not_when_the_link_is_made, "E19") {
    for (int on = 0; on < 2; on++) {
        struct pair pair;
        pair_open(&pair);
        now(pair.loop, pair.ids[1], call_trap, on ? NULL : &pair);
        JZX_EXPECT_EQ(now_link(pair.loop, pair.ids[1], pair.ids[0]), JZX_OK);
        now(pair.loop, pair.ids[1], call_trap, on ? &pair : NULL);
        now(pair.loop, pair.ids[0], call_exit, boom);
        JZX_EXPECT_EQ(pair.diaries[1].cleanups, !on);
        JZX_EXPECT_EQ(pair.diaries[1].count, on);
        pair_close(&pair);
    }
}

JZX_TEST(linking_twice_is_linking_once, "E19", "D+top") {
    for (uint32_t way = 0; way < 4; way++) {
        struct pair pair;
        pair_open(&pair);
        now(pair.loop, pair.ids[1], call_trap, &pair);
        JZX_EXPECT_EQ(now_link(pair.loop, pair.ids[way & 1], pair.ids[1 - (way & 1)]), JZX_OK);
        JZX_EXPECT_EQ(now_link(pair.loop, pair.ids[way >> 1], pair.ids[1 - (way >> 1)]), JZX_OK);
        now(pair.loop, pair.ids[0], call_exit, boom);
        JZX_EXPECT_EQ(pair.diaries[1].count, 1);
        pair_close(&pair);
    }
}

/* Both ask before either has been asked. */
JZX_TEST(linking_each_other_at_once_is_linking_once, "E19", "D+top") {
    for (int ender = 0; ender < 2; ender++) {
        struct pair pair;
        pair_open(&pair);
        struct call calls[2] = {{.target = pair.ids[1]}, {.target = pair.ids[0]}};
        for (uint32_t i = 0; i < 2; i++)
            now(pair.loop, pair.ids[i], call_trap, &pair);
        for (uint32_t i = 0; i < 2; i++)
            order(pair.loop, pair.ids[i], call_link, &calls[i]);
        step(pair.loop);
        JZX_EXPECT_EQ(calls[0].err, JZX_OK);
        JZX_EXPECT_EQ(calls[1].err, JZX_OK);
        now(pair.loop, pair.ids[ender], call_exit, boom);
        JZX_EXPECT_EQ(pair.diaries[1 - ender].count, 1);
        pair_close(&pair);
    }
}

/* Polls until nothing waits: an end is an answer, too. */
static void drain(jzx_manual *manual) {
    size_t count = 1;
    while (count != 0 && jzx_manual_drain(manual, 0, &count) == JZX_OK)
        continue;
}

/* Both have asked before either is asked, so there are two links: each actor that is polled by a
 * thread is asked by a message. */
JZX_TEST(actors_that_are_linked_twice_hear_of_an_end_once, "E19", "D+top") {
    for (int way = 0; way < 4; way++) {
        const int ender = way & 1;
        const bool traps = (way & 2) != 0;
        struct diary diaries[2] = {{.count = 0}, {.count = 0}};
        struct call calls[2];
        jzx_manual *manuals[2];
        jzx_loop *loop = fixture_loop();
        for (int i = 0; i < 2; i++)
            JZX_EXPECT_EQ(
                jzx_manual_create(loop, &DIARY_OPTS(&diaries[i], .name = "manual"), &manuals[i]),
                JZX_OK);
        for (int i = 0; i < 2; i++) {
            calls[i] = (struct call){.target = jzx_manual_id(manuals[1 - i]), .err = 1};
            order(loop, jzx_manual_id(manuals[i]), call_trap, traps ? &calls : NULL);
            order(loop, jzx_manual_id(manuals[i]), call_link, &calls[i]);
        }
        for (int round = 0; round < 2; round++) {
            for (int i = 0; i < 2; i++) {
                bool handled = false; /* one message: what the other asks comes behind */
                JZX_EXPECT_EQ(jzx_manual_poll_one(manuals[i], &handled), JZX_OK);
                JZX_EXPECT(handled);
            }
        }
        JZX_EXPECT(calls[0].err == JZX_OK && calls[1].err == JZX_OK);
        for (int i = 0; i < 2; i++)
            drain(manuals[i]);
        order(loop, jzx_manual_id(manuals[ender]), call_exit, boom);
        drain(manuals[ender]);
        JZX_EXPECT_EQ(diaries[ender].cleanups, 1);
        drain(manuals[1 - ender]);
        JZX_EXPECT_EQ(diaries[1 - ender].count, traps);
        JZX_EXPECT_EQ(diaries[1 - ender].cleanups, !traps);
        if (traps)
            JZX_EXPECT_EQ(diaries[1 - ender].entries[0].notice.monitor, JZX_NO_MONITOR);
        for (int i = 0; i < 2; i++)
            jzx_manual_destroy(manuals[i]);
        fixture_destroy(loop);
    }
}

/* Two ends wait when its turn comes. */
JZX_TEST(of_two_linked_ends_the_first_gives_the_reason, "E19", "D+top") {
    for (int first = 0; first < 2; first++) {
        struct diary diaries[3] = {{.count = 0}, {.count = 0}, {.count = 0}};
        jzx_actor_id ids[3];
        jzx_loop *loop = fixture_loop();
        jzx_manual *third;
        for (int i = 0; i < 2; i++)
            ids[i] = diary_spawn(loop, &diaries[i]);
        JZX_EXPECT_EQ(jzx_manual_create(loop, &DIARY_OPTS(&diaries[2], .name = "third"), &third),
                      JZX_OK);
        ids[2] = jzx_manual_id(third);
        for (int i = 0; i < 2; i++)
            JZX_EXPECT_EQ(now_link(loop, ids[i], ids[2]), JZX_OK);
        drain(third);
        for (int i = 0; i < 2; i++) {
            if (i == first)
                now(loop, ids[0], call_exit, boom);
            else
                JZX_EXPECT_EQ(jzx_actor_stop(loop, ids[1], JZX_STOP_KILL), JZX_OK);
            step(loop);
        }
        JZX_EXPECT(diaries[0].cleanups == 1 && diaries[1].cleanups == 1);
        JZX_EXPECT_EQ(diaries[2].cleanups, 0);
        drain(third);
        JZX_EXPECT_EQ(diaries[2].cleanups, 1);
        JZX_EXPECT_EQ(diaries[2].reason, first == 0 ? JZX_EXIT_FAIL : JZX_EXIT_KILLED);
        jzx_manual_destroy(third);
        fixture_destroy(loop);
    }
}

/* ---- unlink ---- */

/* Whoever linked and whoever unlinks: it is over for both. */
JZX_TEST(an_unlink_is_for_both, "E19", "D+top") {
    for (uint32_t way = 0; way < 8; way++) {
        struct pair pair;
        uint32_t linker = way & 1;
        uint32_t unlinker = way >> 1 & 1;
        uint32_t ender = way >> 2;
        pair_open(&pair);
        JZX_EXPECT_EQ(now_link(pair.loop, pair.ids[linker], pair.ids[1 - linker]), JZX_OK);
        JZX_EXPECT_EQ(now_unlink(pair.loop, pair.ids[unlinker], pair.ids[1 - unlinker]), JZX_OK);
        JZX_EXPECT_EQ(now_unlink(pair.loop, pair.ids[unlinker], pair.ids[1 - unlinker]), JZX_OK);
        JZX_EXPECT_EQ(now_unlink(pair.loop, pair.ids[1 - unlinker], pair.ids[unlinker]), JZX_OK);
        now(pair.loop, pair.ids[ender], call_exit, boom);
        JZX_EXPECT_EQ(pair.diaries[1 - ender].cleanups, 0);
        JZX_EXPECT_EQ(pair.diaries[1 - ender].count, 0);
        pair_close(&pair);
    }
}

JZX_TEST(who_unlinks_may_link_again, "E19", "D+top") {
    for (uint32_t way = 0; way < 4; way++) {
        struct pair pair;
        pair_open(&pair);
        now(pair.loop, pair.ids[1], call_trap, &pair);
        for (uint32_t round = 0; round < 5; round++) {
            uint32_t maker = (way ^ round) & 1;
            uint32_t breaker = way >> 1;
            JZX_EXPECT_EQ(now_link(pair.loop, pair.ids[maker], pair.ids[1 - maker]), JZX_OK);
            if (round < 4)
                JZX_EXPECT_EQ(now_unlink(pair.loop, pair.ids[breaker], pair.ids[1 - breaker]),
                              JZX_OK);
        }
        now(pair.loop, pair.ids[0], call_exit, boom);
        JZX_EXPECT_EQ(pair.diaries[1].count, 1);
        JZX_EXPECT_EQ(pair.diaries[1].cleanups, 0);
        pair_close(&pair);
    }
}

/* Unlink in the same turn in which the end of the other waits already. */
JZX_TEST(an_unlink_holds_though_the_end_waits_already, "E19", "X15", "D+top") {
    for (uint32_t way = 0; way < 4; way++) {
        struct pair pair;
        bool traps = (way & 1) != 0;
        bool other_linked = way >> 1 != 0;
        pair_open(&pair);
        struct call call = {.target = pair.ids[0], .err = 1};
        now(pair.loop, pair.ids[1], call_trap, traps ? &pair : NULL);
        if (other_linked)
            JZX_EXPECT_EQ(now_link(pair.loop, pair.ids[0], pair.ids[1]), JZX_OK);
        else
            JZX_EXPECT_EQ(now_link(pair.loop, pair.ids[1], pair.ids[0]), JZX_OK);
        order(pair.loop, pair.ids[0], call_exit, boom); /* its turn comes first */
        order(pair.loop, pair.ids[1], call_unlink, &call);
        fixture_send(pair.loop, pair.ids[1], WORK);
        step(pair.loop);
        JZX_EXPECT_EQ(pair.diaries[0].cleanups, 1);
        JZX_EXPECT_EQ(call.err, JZX_OK);
        JZX_EXPECT_EQ(pair.diaries[1].cleanups, 0);
        JZX_EXPECT_EQ(pair.diaries[1].count, 1);
        JZX_EXPECT_EQ(pair.diaries[1].entries[0].tag, WORK);
        check_sums(pair.loop);
        pair_close(&pair);
    }
}

/* Puts the first EXIT aside. */
static jzx_behavior_result stash_exit(jzx_context *ctx, const jzx_message *msg) {
    const struct diary *self = ctx->state;
    if (msg->tag == JZX_TAG_EXIT && self->count == 1)
        JZX_EXPECT_EQ(jzx_stash(ctx, msg), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result unstash(jzx_context *ctx, void *arg) {
    (void)arg;
    JZX_EXPECT_EQ(jzx_unstash(ctx), 1);
    return JZX_BEHAVIOR_OK;
}

/* Without the unlink it comes back, and is a message still, though exits are trapped no longer. */
JZX_TEST(an_unlink_holds_though_the_end_is_stashed) {
    for (uint32_t way = 0; way < 2; way++) {
        struct pair pair;
        pair_open(&pair);
        struct diary *diary = &pair.diaries[1];
        struct call call = {.target = pair.ids[0], .err = 1};
        diary->then = stash_exit;
        now(pair.loop, pair.ids[1], call_trap, &pair);
        JZX_EXPECT_EQ(now_link(pair.loop, pair.ids[1], pair.ids[0]), JZX_OK);
        now(pair.loop, pair.ids[0], call_exit, boom);
        JZX_EXPECT_EQ(diary->count, 1);
        now(pair.loop, pair.ids[1], call_trap, NULL);
        if (way == 0)
            order(pair.loop, pair.ids[1], call_unlink, &call);
        order(pair.loop, pair.ids[1], unstash, NULL);
        step(pair.loop);
        JZX_EXPECT_EQ(diary->count, way == 0 ? 1 : 2);
        if (way != 0) {
            JZX_EXPECT_EQ(diary->entries[1].tag, JZX_TAG_EXIT);
            JZX_EXPECT_EQ(diary->entries[1].notice.reason, JZX_EXIT_FAIL);
        } else {
            JZX_EXPECT_EQ(call.err, JZX_OK);
        }
        JZX_EXPECT_EQ(diary->cleanups, 0);
        check_sums(pair.loop);
        pair_close(&pair);
    }
}

JZX_TEST(unlinking_whom_one_was_never_linked_to_is_no_error, "E19") {
    struct pair pair;
    pair_open(&pair);
    JZX_EXPECT_EQ(now_unlink(pair.loop, pair.ids[0], pair.ids[1]), JZX_OK);
    JZX_EXPECT_EQ(now_unlink(pair.loop, pair.ids[0], 123456), JZX_OK);
    pair_close(&pair);
}

/* A monitor and a link to the same actor do not know of each other. */
JZX_TEST(an_unlink_leaves_monitors_alone, "E19", "D+top") {
    struct pair pair;
    jzx_monitor_ref ref = JZX_NO_MONITOR;
    pair_open(&pair);
    JZX_EXPECT_EQ(now_monitor(pair.loop, pair.ids[1], pair.ids[0], &ref), JZX_OK);
    JZX_EXPECT_EQ(now_link(pair.loop, pair.ids[1], pair.ids[0]), JZX_OK);
    JZX_EXPECT_EQ(now_unlink(pair.loop, pair.ids[1], pair.ids[0]), JZX_OK);
    now(pair.loop, pair.ids[0], call_exit, boom);
    JZX_EXPECT_EQ(pair.diaries[1].count, 1);
    expect_notice(&pair.diaries[1], 0, JZX_TAG_DOWN, pair.ids[0], JZX_EXIT_FAIL);
    pair_close(&pair);
}

/* ---- order ---- */

static jzx_actor_id talk_to;

static void send_in_cleanup(jzx_context *ctx) {
    JZX_EXPECT_EQ(jzx_send(ctx->loop, talk_to, ctx->self, NULL, 0, LAST), JZX_OK);
}

static jzx_behavior_result send_and_exit(jzx_context *ctx, void *arg) {
    JZX_EXPECT_EQ(jzx_send(ctx->loop, talk_to, ctx->self, NULL, 0, WORK), JZX_OK);
    jzx_exit(ctx, JZX_EXIT_FAIL, arg);
}

/* What was sent before is handled before, also by who does not trap and goes along. */
JZX_TEST(an_end_goes_along_behind_what_was_sent, "E19", "D+top", "X15") {
    for (int traps = 0; traps < 2; traps++) {
        struct pair pair;
        pair_open(&pair);
        talk_to = pair.ids[1];
        pair.diaries[0].last = send_in_cleanup;
        now(pair.loop, pair.ids[1], call_trap, traps ? &pair : NULL);
        JZX_EXPECT_EQ(now_link(pair.loop, pair.ids[1], pair.ids[0]), JZX_OK);
        now(pair.loop, pair.ids[0], send_and_exit, boom);
        assert_int_equal(pair.diaries[1].count, traps ? 3 : 2);
        JZX_EXPECT_EQ(pair.diaries[1].entries[0].tag, WORK);
        JZX_EXPECT_EQ(pair.diaries[1].entries[1].tag, LAST);
        JZX_EXPECT_EQ(pair.diaries[1].cleanups, !traps);
        pair_close(&pair);
    }
}

/* ---- many ---- */

#define CHAIN 1000u

static struct diary chain[CHAIN];

/* Each is linked to the next; the chain is let go at one place. */
static void run_chain(uint32_t workers, uint32_t first, bool ring) {
    static jzx_actor_id ids[CHAIN];
    static struct call calls[CHAIN];
    jzx_loop *loop =
        fixture_loop_with(&JZX_CONFIG(.workers = workers, .balance = JZX_BALANCE_EAGER));
    memset(chain, 0, sizeof chain);
    for (uint32_t i = 0; i < CHAIN; i++)
        ids[i] = diary_spawn(loop, &chain[i]);
    for (uint32_t i = 0; i < CHAIN; i++) {
        calls[i] = (struct call){.target = ids[(i + 1) % CHAIN], .err = 1};
        if (i + 1 < CHAIN || ring)
            order(loop, ids[i], call_link, &calls[i]);
    }
    if (workers == 1)
        step(loop);
    order(loop, ids[first], call_exit, boom);
    if (workers == 1) {
        step(loop);
    } else { /* some may have come too late to be linked: they are told so, and end here */
        JZX_EXPECT_EQ(jzx_loop_hold(loop), JZX_OK);
        JZX_EXPECT_EQ(jzx_loop_stop(loop, jzx_loop_now(loop) + JZX_SECOND(1000)), JZX_OK);
        JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    }
    for (uint32_t i = 0; i < CHAIN; i++) {
        JZX_EXPECT_EQ(chain[i].cleanups, 1);
        JZX_EXPECT_EQ(chain[i].count, 0);
        if (workers == 1 || i == first)
            JZX_EXPECT_EQ(chain[i].reason, JZX_EXIT_FAIL);
    }
    fixture_destroy(loop);
}

JZX_TEST(a_chain_of_a_thousand_dies_from_any_link, "E19", "C20", "D+top") {
    run_chain(1, 0, false);
    run_chain(1, CHAIN - 1, false);
    run_chain(1, CHAIN / 2, true);
}

JZX_TEST(a_chain_of_a_thousand_dies_on_four_workers, "E19", "C20", "D+top") {
    run_chain(4, 0, false);
    run_chain(4, CHAIN / 2, true);
}

/* Everybody is linked to a hub that traps: it hears of each once. */
JZX_TEST(who_traps_hears_of_each_of_a_thousand_once, "E19", "C20") {
    static struct diary hub;
    static jzx_actor_id ids[CHAIN];
    jzx_loop *loop = fixture_loop();
    memset(&hub, 0, sizeof hub);
    memset(chain, 0, sizeof chain);
    jzx_actor_id hub_id = fixture_spawn(loop, &DIARY_OPTS(&hub, .mailbox_cap = 1));
    now(loop, hub_id, call_trap, &hub);
    for (uint32_t i = 0; i < CHAIN; i++) {
        ids[i] = diary_spawn(loop, &chain[i]);
        if (i % 2)
            JZX_EXPECT_EQ(now_link(loop, hub_id, ids[i]), JZX_OK);
        else
            JZX_EXPECT_EQ(now_link(loop, ids[i], hub_id), JZX_OK);
    }
    for (uint32_t i = 0; i < CHAIN; i++)
        order(loop, ids[i], i % 3 ? call_exit : call_stop, boom);
    step(loop);
    JZX_EXPECT_EQ(hub.count, CHAIN);
    JZX_EXPECT_EQ(hub.cleanups, 0);
    fixture_destroy(loop);
}

/* ---- actors that are watched from their first moment ---- */

struct birth {
    struct diary child;
    jzx_spawn_opts opts;
    bool linked;
    bool wants_id;
    bool wants_ref;
    jzx_err err;
    jzx_actor_id id;
    jzx_monitor_ref ref;
};

static jzx_behavior_result call_spawn(jzx_context *ctx, void *arg) {
    struct birth *birth = arg;
    birth->err =
        jzx_spawn_watched(ctx, &birth->opts, birth->linked, birth->wants_id ? &birth->id : NULL,
                          birth->wants_ref ? &birth->ref : NULL);
    return JZX_BEHAVIOR_OK;
}

static jzx_err fail_in_init(jzx_context *ctx) {
    jzx_exit(ctx, JZX_EXIT_FAIL, "stillborn");
}

/* The child dies in its init, before its parent's turn is long over. */
JZX_TEST(children_are_watched_in_all_combinations, "E19", "D+top", "E10") {
    for (uint32_t way = 0; way < 16; way++) {
        struct diary parent = {0};
        struct birth birth = {.linked = (way & 1) != 0,
                              .wants_ref = (way & 2) != 0,
                              .wants_id = (way & 4) != 0,
                              .id = 55,
                              .ref = 66};
        bool traps = (way & 8) != 0;
        jzx_loop *loop = fixture_loop();
        jzx_actor_id id = diary_spawn(loop, &parent);
        now(loop, id, call_trap, traps ? loop : NULL);
        birth.opts = DIARY_OPTS(&birth.child, .init = fail_in_init);
        now(loop, id, call_spawn, &birth);
        JZX_EXPECT_EQ(birth.err, JZX_OK);
        JZX_EXPECT_EQ(birth.child.cleanups, 1);
        JZX_EXPECT_EQ(birth.id == 55, !birth.wants_id);
        JZX_EXPECT_EQ(birth.ref == 66, !birth.wants_ref);
        bool dies = birth.linked && !traps;
        uint32_t exits = 0;
        uint32_t downs = 0;
        for (uint32_t i = 0; i < parent.count; i++) {
            exits += parent.entries[i].tag == JZX_TAG_EXIT;
            downs += parent.entries[i].tag == JZX_TAG_DOWN;
            assert_string_equal(parent.entries[i].notice.text, "stillborn");
            if (parent.entries[i].tag == JZX_TAG_DOWN)
                JZX_EXPECT_EQ(parent.entries[i].notice.monitor, birth.ref);
        }
        JZX_EXPECT_EQ(parent.cleanups, dies);
        JZX_EXPECT_EQ(exits, birth.linked && traps);
        if (!dies) /* who dies of its link may have heard of it first, or not */
            JZX_EXPECT_EQ(downs, birth.wants_ref);
        fixture_destroy(loop);
    }
}

/* The link is mutual: the parent's end takes the child along before its first turn. */
static jzx_behavior_result spawn_and_exit(jzx_context *ctx, void *arg) {
    call_spawn(ctx, arg);
    jzx_exit(ctx, JZX_EXIT_FAIL, "parent");
}

JZX_TEST(a_parent_that_ends_at_once_takes_its_linked_child_along, "E19", "D+top") {
    for (int linked = 0; linked < 2; linked++) {
        struct diary parent = {0};
        struct birth birth = {.linked = linked != 0, .wants_ref = true};
        jzx_loop *loop = fixture_loop();
        birth.opts = DIARY_OPTS(&birth.child, .mailbox_cap = 1);
        now(loop, diary_spawn(loop, &parent), spawn_and_exit, &birth);
        JZX_EXPECT_EQ(birth.err, JZX_OK);
        JZX_EXPECT_EQ(parent.cleanups, 1);
        JZX_EXPECT_EQ(birth.child.cleanups, linked);
        fixture_destroy(loop);
    }
}

JZX_TEST(a_birth_that_is_refused_changes_nothing, "E19", "C+fail") {
    struct diary parent = {0};
    struct diary filler = {0};
    struct birth birth = {.linked = true, .wants_id = true, .wants_ref = true, .id = 55, .ref = 66};
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.max_actors = 2));
    jzx_actor_id id = diary_spawn(loop, &parent);
    birth.opts = JZX_SPAWN_OPTS(.behavior = NULL);
    now(loop, id, call_spawn, &birth);
    JZX_EXPECT_EQ(birth.err, JZX_ERR_INVALID_ARG);
    birth.opts = DIARY_OPTS(&birth.child, .priority = 200);
    now(loop, id, call_spawn, &birth);
    JZX_EXPECT_EQ(birth.err, JZX_ERR_INVALID_ARG);
    birth.opts = DIARY_OPTS(&birth.child, .place = JZX_PLACE_WORKER(7));
    now(loop, id, call_spawn, &birth);
    JZX_EXPECT_EQ(birth.err, JZX_ERR_INVALID_ARG);
    jzx_actor_id filler_id = diary_spawn(loop, &filler);
    birth.opts = DIARY_OPTS(&birth.child, .mailbox_cap = 1);
    for (uint32_t i = 0; i < 3; i++)
        now(loop, id, call_spawn, &birth);
    JZX_EXPECT_EQ(birth.err, JZX_ERR_MAX_ACTORS);
    JZX_EXPECT_EQ(birth.id, 55);
    JZX_EXPECT_EQ(birth.ref, 66);
    JZX_EXPECT_EQ(birth.child.cleanups, 0);
    now(loop, filler_id, call_exit, boom);
    JZX_EXPECT_EQ(parent.cleanups, 0);
    now(loop, id, call_spawn, &birth);
    JZX_EXPECT_EQ(birth.err, JZX_OK);
    now(loop, birth.id, call_exit, boom);
    JZX_EXPECT_EQ(parent.cleanups, 1);
    fixture_destroy(loop);
}
