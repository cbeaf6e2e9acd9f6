/* SPDX-License-Identifier: MIT */
/* Attacks on what docs/guarantees.md promises about ends: every way to end, ends inside ends,
 * cleanups that send, spawn, rename and exit, and ends without memory. */
#include "watching.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { END_YOURSELF = 1, REST, LAST_WORD, NUDGE };

/* ---- the steps of an end, whatever the cause ---- */

#define BLOCK_BYTES 8000u

enum way {
    WAY_STOP,
    WAY_FAIL,
    WAY_PANIC,
    WAY_EXIT,
    WAY_EXIT_AS_IF_KILLED,
    WAY_KILL,
    WAY_ACTOR_FAIL,
    WAY_STOP_BESIDE_KILL,
    WAY_ALL_REQUESTS,
    WAY_QUEUE,
    WAY_COUNT
};

static const struct {
    jzx_exit_reason reason;
    const char *text;
    const char *steps;
} ways[WAY_COUNT] = {
    [WAY_STOP] = {JZX_EXIT_NORMAL, "", "ddco"},
    [WAY_FAIL] = {JZX_EXIT_FAIL, "", "ddco"},
    [WAY_PANIC] = {JZX_EXIT_PANIC, "its behaviour returned an unknown result", "ddco"},
    [WAY_EXIT] = {JZX_EXIT_SHUTDOWN, "bye", "ddco"},
    [WAY_EXIT_AS_IF_KILLED] = {JZX_EXIT_FAIL, "not killed", "ddco"},
    [WAY_KILL] = {JZX_EXIT_KILLED, "", "ddco"},
    [WAY_ACTOR_FAIL] = {JZX_EXIT_FAIL, "", "ddco"},
    [WAY_STOP_BESIDE_KILL] = {JZX_EXIT_NORMAL, "", "ddco"},
    [WAY_ALL_REQUESTS] = {JZX_EXIT_KILLED, "", "ddco"},
    [WAY_QUEUE] = {JZX_EXIT_NORMAL, "", "co"},
};

static struct {
    char steps[64];
    jzx_actor_id victim;
    jzx_actor_id watcher;
    jzx_timer_id timer;
    unsigned char *block;
    uint64_t bytes_seen;
    jzx_exit_reason reason;
    bool is_over;
    struct diary watched;
} stage;

static void note_step(char step) {
    size_t length = strlen(stage.steps);
    if (JZX_EXPECT(length + 1 < sizeof stage.steps))
        stage.steps[length] = step;
}

/* From the first sign of the end on nothing reaches the actor. */
static void expect_out_of_reach(jzx_loop *loop) {
    jzx_actor_id id = JZX_NOBODY;
    size_t members = 99;
    JZX_EXPECT_EQ(jzx_send(loop, stage.victim, JZX_NOBODY, NULL, 0, REST), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_actor_stop(loop, stage.victim, JZX_STOP_KILL), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_lookup(loop, "service", &id), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(id, JZX_NOBODY);
    JZX_EXPECT_EQ(jzx_group_members(loop, "crowd", NULL, 0, &members), JZX_OK);
    JZX_EXPECT(members == 0 || strchr(stage.steps, 'c') == NULL);
    JZX_EXPECT_EQ(jzx_timer_cancel(loop, stage.timer), JZX_ERR_TIMER_INVALID);
}

static jzx_err victim_init(jzx_context *ctx) {
    jzx_actor_id id = JZX_NOBODY;
    if (stage.victim != JZX_NOBODY) {
        note_step('r');
        JZX_EXPECT(fixture_bytes() + BLOCK_BYTES <= stage.bytes_seen);
    }
    JZX_EXPECT_EQ(jzx_lookup(ctx->loop, "service", &id), JZX_OK);
    JZX_EXPECT_EQ(id, ctx->self);
    jzx_err expected = jzx_lookup(ctx->loop, "alias", &id) == JZX_OK ? JZX_ERR_EXISTS : JZX_OK;
    JZX_EXPECT_EQ(jzx_register(ctx->loop, "alias", ctx->self), expected);
    JZX_EXPECT_EQ(jzx_group_join(ctx, "crowd"), JZX_OK);
    JZX_EXPECT_EQ(jzx_send_every(ctx->loop, ctx->self, JZX_NOBODY, NULL, 0, REST, JZX_SECOND(9),
                                 JZX_FIXED_RATE, &stage.timer),
                  JZX_OK);
    stage.block = jzx_alloc(ctx, BLOCK_BYTES);
    if (JZX_EXPECT(stage.block != NULL))
        memset(stage.block, 0x5a, BLOCK_BYTES);
    stage.victim = ctx->self;
    return JZX_OK;
}

static void victim_cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    if (stage.is_over)
        return;
    note_step('c');
    stage.reason = reason;
    stage.bytes_seen = fixture_bytes();
    expect_out_of_reach(ctx->loop);
    JZX_EXPECT(stage.block[0] == 0x5a && stage.block[BLOCK_BYTES - 1] == 0x5a);
    JZX_EXPECT_EQ(jzx_register(ctx->loop, "mine again", ctx->self), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_register(ctx->loop, "alias", stage.watcher), JZX_OK);
    JZX_EXPECT_EQ(jzx_group_join(ctx, "crowd"), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_monitor(ctx, stage.watcher, NULL), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, stage.watcher, ctx->self, NULL, 0, LAST_WORD), JZX_OK);
}

static jzx_behavior_result victim(jzx_context *ctx, const jzx_message *msg) {
    enum way way;
    jzx_test_ran();
    if (msg->tag != END_YOURSELF)
        return JZX_BEHAVIOR_OK;
    memcpy(&way, msg->data, sizeof way);
    switch (way) {
    case WAY_STOP: return JZX_BEHAVIOR_STOP;
    case WAY_FAIL: return JZX_BEHAVIOR_FAIL;
    case WAY_PANIC: return (jzx_behavior_result)99;
    case WAY_EXIT: jzx_exit(ctx, JZX_EXIT_SHUTDOWN, "bye");
    case WAY_EXIT_AS_IF_KILLED: jzx_exit(ctx, JZX_EXIT_KILLED, "not killed");
    case WAY_ACTOR_FAIL:
        JZX_EXPECT_EQ(jzx_actor_fail(ctx->loop, ctx->self), JZX_OK);
        return JZX_BEHAVIOR_OK;
    case WAY_ALL_REQUESTS:
        JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, ctx->self, JZX_STOP_AFTER_QUEUE), JZX_OK);
        JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, ctx->self, JZX_STOP_KILL), JZX_OK);
        JZX_EXPECT_EQ(jzx_actor_fail(ctx->loop, ctx->self), JZX_OK);
        JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, ctx->self, JZX_STOP_AFTER_MESSAGE), JZX_OK);
        return JZX_BEHAVIOR_OK;
    case WAY_QUEUE:
        JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, ctx->self, JZX_STOP_AFTER_QUEUE), JZX_OK);
        return JZX_BEHAVIOR_OK;
    default:
        JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, ctx->self, JZX_STOP_KILL), JZX_OK);
        return way == WAY_KILL ? JZX_BEHAVIOR_OK : JZX_BEHAVIOR_STOP;
    }
}

static void see_victim(void *ctx, const jzx_event *event) {
    jzx_loop *loop = ctx;
    if (event->actor != stage.victim)
        return;
    if (event->kind == JZX_EVENT_DEAD_LETTER && event->tag == REST) {
        note_step('d');
        expect_out_of_reach(loop);
    } else if (event->kind == JZX_EVENT_ACTOR_STOP || event->kind == JZX_EVENT_ACTOR_FAIL) {
        note_step('o');
        expect_out_of_reach(loop);
        JZX_EXPECT_EQ(event->reason, stage.reason);
        JZX_EXPECT(fixture_bytes() >= stage.bytes_seen);
        JZX_EXPECT(stage.block[0] == 0x5a);
    }
}

static void end_in_way(jzx_loop *loop, enum way way) {
    struct diary *diary = &stage.watched;
    jzx_actor_id victim_id = stage.victim;
    jzx_actor_id id = JZX_NOBODY;
    JZX_EXPECT_EQ(now_monitor(loop, stage.watcher, victim_id, NULL), JZX_OK);
    JZX_EXPECT_EQ(now_link(loop, stage.watcher, victim_id), JZX_OK);
    memset(stage.steps, 0, sizeof stage.steps);
    diary->count = 0;
    JZX_EXPECT_EQ(jzx_send(loop, victim_id, JZX_NOBODY, &way, sizeof way, END_YOURSELF), JZX_OK);
    fixture_send(loop, victim_id, REST);
    fixture_send(loop, victim_id, REST);
    step(loop);
    char expected[16];
    snprintf(expected, sizeof expected, "%sr", ways[way].steps);
    assert_string_equal(stage.steps, expected);
    JZX_EXPECT_EQ(stage.reason, ways[way].reason);
    JZX_EXPECT_EQ(diary->count, 3);
    JZX_EXPECT_EQ(diary->entries[0].tag, LAST_WORD);
    bool down_first = diary->entries[1].tag == JZX_TAG_DOWN;
    expect_notice(diary, down_first ? 1 : 2, JZX_TAG_DOWN, victim_id, ways[way].reason);
    expect_notice(diary, down_first ? 2 : 1, JZX_TAG_EXIT, victim_id, ways[way].reason);
    assert_string_equal(diary->entries[1].notice.text, ways[way].text);
    assert_string_equal(diary->entries[2].notice.text, ways[way].text);
    JZX_EXPECT_EQ(jzx_lookup(loop, "service", &id), JZX_OK);
    JZX_EXPECT(id == stage.victim && id != victim_id);
    JZX_EXPECT_EQ(jzx_lookup(loop, "alias", &id), JZX_OK);
    JZX_EXPECT_EQ(id, stage.watcher);
    JZX_EXPECT_EQ(jzx_unregister(loop, "alias"), JZX_OK);
}

JZX_TEST(each_way_to_end_takes_the_same_steps_once) {
    const jzx_child_spec specs[] = {{.name = "victim",
                                     .registered = "service",
                                     .behavior = victim,
                                     .init = victim_init,
                                     .cleanup = victim_cleanup}};
    jzx_loop *loop = fixture_loop();
    assert_int_equal(jzx_loop_set_observer(loop, &JZX_OBSERVER(.on_event = see_victim), loop),
                     JZX_OK);
    stage.watcher = diary_spawn(loop, &stage.watched);
    now(loop, stage.watcher, call_trap, loop);
    assert_int_equal(
        jzx_spawn_supervisor(
            loop, &JZX_SUPERVISOR_OPTS(.intensity = JZX_UNLIMITED, JZX_CHILDREN(specs)), NULL),
        JZX_OK);
    step(loop);
    for (enum way way = 0; way < WAY_COUNT; way++)
        end_in_way(loop, way);
    JZX_EXPECT_EQ(stage.watched.cleanups, 0);
    assert_int_equal(jzx_loop_set_observer(loop, NULL, NULL), JZX_OK);
    stage.is_over = true;
    fixture_destroy(loop);
}

/* ---- ends inside ends ---- */

#define RING 300u

static struct {
    jzx_actor_id ids[RING];
    uint32_t cleanups[RING];
    uint32_t killed;
    uint32_t heirs;
    uint32_t heir_ends;
} ring;

static void heir_cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    JZX_EXPECT_EQ(reason, JZX_EXIT_FAIL);
    ring.heir_ends++;
    JZX_CHECK(ctx, ring.heir_ends == 0);
    JZX_EXPECT(false);
}

static jzx_err heir_init(jzx_context *ctx) {
    ring.heirs++;
    jzx_exit(ctx, JZX_EXIT_FAIL, "born to fail");
}

/* Kills a neighbour that ends anyway, spawns one that fails in its init, and leaves by jzx_exit. */
static void ring_cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    uint32_t index = (uint32_t)(uintptr_t)ctx->state;
    jzx_test_ran();
    ring.cleanups[index]++;
    ring.killed += reason == JZX_EXIT_KILLED;
    jzx_err err = jzx_actor_stop(ctx->loop, ring.ids[(index + 7) % RING], JZX_STOP_KILL);
    JZX_EXPECT(err == JZX_OK || err == JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(
        jzx_spawn(ctx->loop,
                  &JZX_SPAWN_OPTS(.behavior = record, .init = heir_init, .cleanup = heir_cleanup),
                  NULL),
        JZX_OK);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, NUDGE), JZX_ERR_NO_SUCH_ACTOR);
    jzx_exit(ctx, JZX_EXIT_NORMAL, "out of the cleanup");
}

static jzx_behavior_result ring_member(jzx_context *ctx, const jzx_message *msg) {
    uint32_t index = (uint32_t)(uintptr_t)ctx->state;
    (void)msg;
    JZX_EXPECT_EQ(jzx_link(ctx, ring.ids[(index + 1) % RING]), JZX_OK);
    JZX_EXPECT_EQ(jzx_link(ctx, ring.ids[(index + RING / 2) % RING]), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_ring_of_links_whose_cleanups_kill_spawn_and_exit_ends_once_each) {
    jzx_loop *loop = fixture_loop();
    for (uint32_t i = 0; i < RING; i++)
        ring.ids[i] =
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = ring_member, .cleanup = ring_cleanup,
                                                .state = (void *)(uintptr_t)i));
    for (uint32_t i = 0; i < RING; i++)
        fixture_send(loop, ring.ids[i], NUDGE);
    step(loop);
    JZX_EXPECT_EQ(fixture_stats(loop).exited, 0);
    assert_int_equal(jzx_actor_stop(loop, ring.ids[17], JZX_STOP_KILL), JZX_OK);
    step(loop);
    assert_false(jzx_loop_alive(loop));
    for (uint32_t i = 0; i < RING; i++)
        assert_int_equal(ring.cleanups[i], 1);
    JZX_EXPECT_EQ(ring.killed, RING);
    JZX_EXPECT_EQ(ring.heirs, RING);
    JZX_EXPECT_EQ(ring.heir_ends, RING);
    JZX_EXPECT_EQ(fixture_stats(loop).exited, 2 * RING);
    fixture_destroy(loop);
}

/* ---- monitors that are taken back at odd moments ---- */

struct odd {
    jzx_actor_id target;
    jzx_monitor_ref refs[3];
    uint32_t downs;
    uint32_t exits;
    bool stash;
};

static jzx_behavior_result odd_watcher(jzx_context *ctx, const jzx_message *msg) {
    struct odd *self = ctx->state;
    jzx_test_ran();
    if (msg->tag == JZX_TAG_DOWN || msg->tag == JZX_TAG_EXIT) {
        if (self->stash) {
            JZX_EXPECT_EQ(jzx_stash(ctx, msg), JZX_OK);
            return JZX_BEHAVIOR_OK;
        }
        self->downs += msg->tag == JZX_TAG_DOWN;
        self->exits += msg->tag == JZX_TAG_EXIT;
    } else if (msg->tag == NUDGE) {
        JZX_EXPECT_EQ(jzx_trap_exits(ctx, true), JZX_OK);
        for (int i = 0; i < 3; i++)
            JZX_EXPECT_EQ(jzx_monitor(ctx, self->target, &self->refs[i]), JZX_OK);
        JZX_EXPECT(self->refs[0] != self->refs[1] && self->refs[1] != self->refs[2]);
        JZX_EXPECT_EQ(jzx_link(ctx, self->target), JZX_OK);
        JZX_EXPECT_EQ(jzx_link(ctx, self->target), JZX_OK);
    } else {
        JZX_EXPECT_EQ(jzx_demonitor(ctx, self->refs[1]), JZX_OK);
        JZX_EXPECT_EQ(jzx_demonitor(ctx, self->refs[1]), JZX_ERR_NO_SUCH_ACTOR);
        JZX_EXPECT_EQ(jzx_unlink(ctx, self->target), JZX_OK);
        self->stash = false;
        jzx_unstash(ctx);
    }
    return JZX_BEHAVIOR_OK;
}

/* The order to take back stands in the mailbox before, or behind the notices. */
static void take_back(bool stash, bool before) {
    jzx_loop *loop = fixture_loop();
    struct recorder quiet = {0};
    struct odd odd = {.stash = stash};
    jzx_actor_id watcher =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = odd_watcher, .state = &odd));
    odd.target = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &quiet));
    fixture_send(loop, watcher, NUDGE);
    step(loop);
    if (before)
        fixture_send(loop, watcher, REST);
    JZX_EXPECT_EQ(jzx_actor_stop(loop, odd.target, JZX_STOP_KILL), JZX_OK);
    if (!before) {
        step(loop);
        JZX_EXPECT_EQ(odd.downs, stash ? 0 : 3);
        if (stash)
            fixture_send(loop, watcher, REST);
    }
    step(loop);
    JZX_EXPECT_EQ(odd.downs, before || stash ? 2 : 3);
    JZX_EXPECT_EQ(odd.exits, before || stash ? 0 : 1);
    check_sums(loop);
    fixture_destroy(loop);
}

JZX_TEST(what_was_taken_back_is_not_heard_of_and_all_else_once) {
    take_back(false, false);
    take_back(false, true);
    take_back(true, false);
    take_back(true, true);
}

/* ---- on several workers: behind the cleanup's words, once each ---- */

#define FAR_TARGETS 200u
#define FAR_WORDS 5u

struct far_watcher {
    uint32_t words[FAR_TARGETS];
    uint32_t downs[FAR_TARGETS];
    uint32_t exits[FAR_TARGETS];
    uint32_t done;
};

static struct {
    struct far_watcher watchers[2];
    jzx_actor_id ids[2];
    jzx_actor_id targets[FAR_TARGETS];
} far_stage;

static uint32_t far_index(jzx_actor_id id) {
    for (uint32_t i = 0; i < FAR_TARGETS; i++)
        if (far_stage.targets[i] == id)
            return i;
    JZX_EXPECT(false);
    return 0;
}

static void far_cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    (void)reason;
    for (uint32_t w = 0; w < 2; w++)
        for (uint32_t i = 0; i < FAR_WORDS; i++)
            JZX_EXPECT_EQ(jzx_send(ctx->loop, far_stage.ids[w], ctx->self, NULL, 0, LAST_WORD),
                          JZX_OK);
}

static jzx_behavior_result far_target(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    jzx_test_ran();
    if (ctx->self & 1u)
        jzx_exit(ctx, JZX_EXIT_FAIL, "far");
    return JZX_BEHAVIOR_STOP;
}

static jzx_behavior_result far_watch(jzx_context *ctx, const jzx_message *msg) {
    struct far_watcher *self = ctx->state;
    if (msg->tag == NUDGE) {
        JZX_EXPECT_EQ(jzx_trap_exits(ctx, true), JZX_OK);
        for (uint32_t i = 0; i < FAR_TARGETS; i++) {
            JZX_EXPECT_EQ(jzx_monitor(ctx, far_stage.targets[i], NULL), JZX_OK);
            JZX_EXPECT_EQ(jzx_link(ctx, far_stage.targets[i]), JZX_OK);
        }
        for (uint32_t i = 0; i < FAR_TARGETS && self == &far_stage.watchers[1]; i++)
            fixture_send(ctx->loop, far_stage.targets[i], END_YOURSELF);
        if (self == &far_stage.watchers[0])
            fixture_send(ctx->loop, far_stage.ids[1], NUDGE);
        return JZX_BEHAVIOR_OK;
    }
    uint32_t index = far_index(msg->sender);
    if (msg->tag == LAST_WORD) {
        self->words[index]++;
        JZX_EXPECT_EQ(self->downs[index] + self->exits[index], 0);
        return JZX_BEHAVIOR_OK;
    }
    JZX_EXPECT_EQ(self->words[index], FAR_WORDS);
    self->downs[index] += msg->tag == JZX_TAG_DOWN;
    self->exits[index] += msg->tag == JZX_TAG_EXIT;
    return ++self->done == 2 * FAR_TARGETS ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

JZX_TEST(on_several_workers_notices_come_once_and_behind_the_words_of_the_cleanup) {
    jzx_loop *loop = fixture_loop_with(
        &JZX_CONFIG(.workers = 3, .balance = JZX_BALANCE_EAGER, .default_mailbox_cap = 4096));
    assert_non_null(loop);
    for (uint32_t i = 0; i < FAR_TARGETS; i++)
        far_stage.targets[i] =
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = far_target, .cleanup = far_cleanup,
                                                .place = JZX_PLACE_WORKER(i % 3)));
    for (uint32_t w = 0; w < 2; w++)
        far_stage.ids[w] = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = far_watch,
                                                               .state = &far_stage.watchers[w],
                                                               .place = JZX_PLACE_WORKER(w)));
    fixture_send(loop, far_stage.ids[0], NUDGE);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), FAR_TARGETS);
    for (uint32_t w = 0; w < 2; w++)
        for (uint32_t i = 0; i < FAR_TARGETS; i++) {
            assert_int_equal(far_stage.watchers[w].words[i], FAR_WORDS);
            assert_int_equal(far_stage.watchers[w].downs[i], 1);
            assert_int_equal(far_stage.watchers[w].exits[i], 1);
        }
    fixture_destroy(loop);
}

/* ---- ends without memory, notices without room ---- */

static void end_without_memory(jzx_on_full on_full) {
    struct diary watched = {0};
    static struct diary targets[40];
    jzx_actor_id ids[40];
    jzx_loop *loop = fixture_loop();
    memset(targets, 0, sizeof targets);
    jzx_actor_id watcher =
        fixture_spawn(loop, &DIARY_OPTS(&watched, .mailbox_cap = 1, .on_full = on_full));
    for (uint32_t i = 0; i < 40; i++) {
        ids[i] = diary_spawn(loop, &targets[i]);
        JZX_EXPECT_EQ(now_monitor(loop, watcher, ids[i], NULL), JZX_OK);
        if (i > 0)
            JZX_EXPECT_EQ(now_link(loop, ids[i], ids[i - 1]), JZX_OK);
    }
    fixture_send(loop, watcher, REST);
    fixture_fail_allocations(0, UINT64_MAX);
    uint64_t before = fixture_allocations();
    JZX_EXPECT_EQ(jzx_actor_stop(loop, ids[20], JZX_STOP_KILL), JZX_OK);
    step(loop);
    JZX_EXPECT_EQ(fixture_allocations(), before);
    fixture_fail_allocations(UINT64_MAX, 0);
    JZX_EXPECT_EQ(watched.count, 41);
    uint64_t seen = 0;
    for (uint32_t i = 0; i < watched.count && i < DIARY_MAX; i++)
        for (uint32_t k = 0; k < 40; k++)
            if (watched.entries[i].notice.actor == ids[k])
                seen |= UINT64_C(1) << k;
    JZX_EXPECT_EQ(seen, (UINT64_C(1) << 40) - 1);
    for (uint32_t i = 0; i < 40; i++)
        JZX_EXPECT_EQ(targets[i].cleanups, 1);
    fixture_destroy(loop);
}

JZX_TEST(forty_linked_ends_need_no_memory_and_no_room_with_the_watcher) {
    end_without_memory(JZX_FULL_REFUSE);
    end_without_memory(JZX_FULL_DROP_OLDEST);
    end_without_memory(JZX_FULL_DROP_NEW);
}

/* ---- what was taken back, or whose holder has ended, leaves nothing ---- */

struct fan {
    jzx_actor_id target;
    uint32_t left;
};

static jzx_behavior_result passer_by(jzx_context *ctx, const jzx_message *msg) {
    jzx_actor_id target;
    memcpy(&target, msg->data, sizeof target);
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_monitor(ctx, target, NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_link(ctx, target), JZX_OK);
    return JZX_BEHAVIOR_STOP;
}

static jzx_behavior_result fan(jzx_context *ctx, const jzx_message *msg) {
    struct fan *self = ctx->state;
    jzx_monitor_ref ref = JZX_NO_MONITOR;
    jzx_actor_id id = JZX_NOBODY;
    (void)msg;
    for (int i = 0; i < 10; i++) {
        JZX_EXPECT_EQ(jzx_monitor(ctx, self->target, &ref), JZX_OK);
        JZX_EXPECT_EQ(jzx_link(ctx, self->target), JZX_OK);
        JZX_EXPECT_EQ(jzx_unlink(ctx, self->target), JZX_OK);
        JZX_EXPECT_EQ(jzx_demonitor(ctx, ref), JZX_OK);
    }
    JZX_EXPECT_EQ(jzx_spawn(ctx->loop, &JZX_SPAWN_OPTS(.behavior = passer_by), &id), JZX_OK);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, id, JZX_NOBODY, &self->target, sizeof self->target, NUDGE),
                  JZX_OK);
    if (self->left-- > 0)
        fixture_send(ctx->loop, ctx->self, NUDGE);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(monitors_and_links_of_thousands_that_went_leave_nothing_at_the_target) {
    /* How many passers-by wait at a time must not depend on the machine. */
    jzx_clock *clock = jzx_clock_manual(0);
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.clock = clock));
    assert_non_null(loop);
    struct diary target = {0};
    struct fan self = {.left = 600};
    jzx_actor_info info = {.size = sizeof info};
    self.target = diary_spawn(loop, &target);
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = fan, .state = &self));
    fixture_send(loop, id, NUDGE);
    step(loop);
    uint64_t bytes = fixture_bytes();
    assert_int_equal(jzx_actor_info_get(loop, self.target, &info), JZX_OK);
    size_t target_bytes = info.memory_bytes;
    self.left = 3000;
    fixture_send(loop, id, NUDGE);
    step(loop);
    JZX_EXPECT_EQ(fixture_bytes(), bytes);
    assert_int_equal(jzx_actor_info_get(loop, self.target, &info), JZX_OK);
    JZX_EXPECT_EQ(info.memory_bytes, target_bytes);
    JZX_EXPECT_EQ(target.count, 0);
    JZX_EXPECT_EQ(jzx_test_runs(), 3602);
    fixture_destroy(loop);
    assert_int_equal(jzx_clock_free(clock), JZX_OK);
}

/* ---- jzx_exit from any depth, on every worker ---- */

struct deep {
    uint32_t depth;
    uint32_t where; /* 0: init, 1: behaviour, 2: cleanup */
    atomic_uint cleanups;
    jzx_exit_reason reason;
};

static void sink_down(jzx_context *ctx, uint32_t depth) {
    volatile char frame[256];
    frame[0] = (char)depth;
    JZX_CHECK(ctx, depth != 0);
    if (depth != 0)
        sink_down(ctx, depth - 1);
    frame[255] = frame[0];
    JZX_EXPECT(false);
}

static jzx_err deep_init(jzx_context *ctx) {
    struct deep *self = ctx->state;
    jzx_test_ran();
    if (self->where == 0)
        sink_down(ctx, self->depth);
    return JZX_OK;
}

static jzx_behavior_result deep_behavior(jzx_context *ctx, const jzx_message *msg) {
    struct deep *self = ctx->state;
    (void)msg;
    if (self->where == 1)
        sink_down(ctx, self->depth);
    return JZX_BEHAVIOR_STOP;
}

static void deep_cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    struct deep *self = ctx->state;
    atomic_fetch_add(&self->cleanups, 1);
    self->reason = reason;
    sink_down(ctx, self->depth);
}

JZX_TEST(exit_leaves_from_any_depth_of_init_behaviour_and_cleanup_on_every_worker) {
    static struct deep actors[90];
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 3));
    assert_non_null(loop);
    for (uint32_t i = 0; i < 90; i++) {
        actors[i].depth = i;
        actors[i].where = i % 3;
        jzx_actor_id id =
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = deep_behavior, .init = deep_init,
                                                .cleanup = deep_cleanup, .state = &actors[i],
                                                .place = JZX_PLACE_WORKER(i / 3 % 3)));
        fixture_send(loop, id, NUDGE);
    }
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), 90);
    for (uint32_t i = 0; i < 90; i++) {
        assert_int_equal(atomic_load(&actors[i].cleanups), 1);
        assert_int_equal(actors[i].reason, actors[i].where == 2 ? JZX_EXIT_NORMAL : JZX_EXIT_FAIL);
    }
    fixture_destroy(loop);
}
