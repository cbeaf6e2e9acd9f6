/* SPDX-License-Identifier: MIT */
/* What monitors and links cost: nothing once they are over, whoever ended them; and what they do
 * without memory: they refuse, but an end never fails. */
#include "watching.h"

#include <string.h>

enum { GO = 1, WORK };

/* Chunks of slabs that one run may need more than another, as turns fall differently. A single
 * record that is left behind each time is many times that. */
#define SLACK 600000u

/* ---- taken back ---- */

struct churn {
    jzx_actor_id target;
    jzx_actor_id holder;
    uint32_t left;
    uint32_t at_once; /* monitors that are there at the same time */
    bool links;
    uint32_t errors;
};

static jzx_behavior_result make_and_take_back(jzx_context *ctx, void *arg);

static jzx_behavior_result answer(jzx_context *ctx, void *arg) {
    const struct churn *churn = arg;
    order(ctx->loop, churn->holder, churn->left == 0 ? call_stop : make_and_take_back, arg);
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result make_and_take_back(jzx_context *ctx, void *arg) {
    static jzx_monitor_ref refs[1000];
    struct churn *churn = arg;
    for (uint32_t i = 0; i < churn->at_once; i++)
        churn->errors += (churn->links ? jzx_link(ctx, churn->target)
                                       : jzx_monitor(ctx, churn->target, &refs[i])) != JZX_OK;
    for (uint32_t i = churn->at_once; i-- > 0;)
        churn->errors +=
            (churn->links ? jzx_unlink(ctx, churn->target) : jzx_demonitor(ctx, refs[i])) != JZX_OK;
    churn->left -= churn->at_once;
    churn->holder = ctx->self;
    order(ctx->loop, churn->target, answer, churn);
    return JZX_BEHAVIOR_OK;
}

/* The target has seen all that came before: what is in use does not depend on how many there
 * were. */
static uint64_t bytes_after(uint32_t workers, uint32_t count, uint32_t at_once, bool links) {
    struct diary target = {0};
    struct diary holder = {0};
    struct churn churn = {.left = count, .at_once = at_once, .links = links};
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = workers));
    churn.target = fixture_spawn(
        loop, &DIARY_OPTS(&target, .daemon = true, .place = JZX_PLACE_WORKER(workers - 1)));
    order(loop, fixture_spawn(loop, &DIARY_OPTS(&holder, .place = JZX_PLACE_WORKER(0))),
          make_and_take_back, &churn);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(churn.left, 0);
    JZX_EXPECT_EQ(churn.errors, 0);
    JZX_EXPECT_EQ(holder.cleanups, 1);
    uint64_t bytes = fixture_bytes();
    jzx_actor_info info = {.size = sizeof info};
    JZX_EXPECT_EQ(jzx_actor_info_get(loop, churn.target, &info), JZX_OK);
    JZX_EXPECT(info.memory_bytes < 10000);
    fixture_destroy(loop);
    JZX_EXPECT_EQ(target.count, 0);
    return bytes;
}

JZX_TEST(monitors_that_were_taken_back_leave_no_memory_behind, "E19", "C17", "X15") {
    for (uint32_t at_once = 1; at_once <= 1000; at_once *= 10) {
        uint64_t few = bytes_after(1, 1000, at_once, false);
        uint64_t many = bytes_after(1, 100000, at_once, false);
        JZX_EXPECT(many < few + SLACK);
    }
}

JZX_TEST(links_that_were_taken_back_leave_no_memory_behind, "E19", "C17", "X15") {
    JZX_EXPECT(bytes_after(1, 100000, 1, true) < bytes_after(1, 1000, 1, true) + SLACK);
}

/* Each worker has its slabs, between which blocks may wander: a bound instead of a figure. */
JZX_TEST(monitors_of_another_worker_leave_no_memory_behind, "E19", "C17", "X15") {
    uint32_t rounds = (uint32_t)jzx_test_rounds(100000, 100000);
    for (int links = 0; links < 2; links++)
        JZX_EXPECT(bytes_after(2, rounds, links ? 1 : 50, links != 0) < 2000000);
}

/* ---- holders that die ---- */

struct family {
    struct diary child;
    jzx_actor_id target;
    uint32_t left;
    uint32_t mode;
};

static struct family family;

static jzx_behavior_result watch_and_end(jzx_context *ctx, void *arg) {
    (void)arg;
    for (uint32_t i = 0; i < 10; i++)
        JZX_EXPECT_EQ(jzx_monitor(ctx, family.target, NULL), JZX_OK);
    if (family.mode % 3 == 1)
        JZX_EXPECT_EQ(jzx_link(ctx, family.target), JZX_OK);
    if (family.mode % 3 == 2)
        jzx_exit(ctx, JZX_EXIT_FAIL, NULL);
    return JZX_BEHAVIOR_STOP;
}

/* The target makes the next one: it has seen then what became of the last. */
static jzx_behavior_result breed(jzx_context *ctx, void *arg) {
    jzx_actor_id id = JZX_NOBODY;
    (void)arg;
    JZX_EXPECT_EQ(
        jzx_spawn(ctx->loop, &DIARY_OPTS(&family.child, .place = JZX_PLACE_WORKER(0)), &id),
        JZX_OK);
    order(ctx->loop, id, watch_and_end, NULL);
    return JZX_BEHAVIOR_OK;
}

static void breed_on(jzx_context *ctx) {
    if (family.left > 0) {
        family.left--;
        order(ctx->loop, family.target, breed, NULL);
    } else {
        order(ctx->loop, family.target, call_stop, NULL);
    }
}

static uint64_t bytes_after_holders(uint32_t workers, uint32_t count, uint32_t mode) {
    struct diary target = {0};
    memset(&family, 0, sizeof family);
    family.left = count;
    family.mode = mode;
    family.child.last = breed_on;
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = workers));
    family.target =
        fixture_spawn(loop, &DIARY_OPTS(&target, .place = JZX_PLACE_WORKER(workers - 1)));
    order(loop, family.target, breed, NULL);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(family.child.cleanups, count + 1);
    uint64_t bytes = fixture_bytes();
    JZX_EXPECT_EQ(target.cleanups, 1);
    JZX_EXPECT_EQ(target.count, 0);
    fixture_destroy(loop);
    return bytes;
}

JZX_TEST(holders_that_die_leave_nothing_at_their_target, "E19", "C17", "X15") {
    uint32_t rounds = (uint32_t)jzx_test_rounds(10000, 10000);
    for (uint32_t mode = 0; mode < 3; mode++) {
        JZX_EXPECT(bytes_after_holders(1, 10000, mode) < bytes_after_holders(1, 100, mode) + SLACK);
        JZX_EXPECT(bytes_after_holders(2, rounds, mode) < 2000000);
    }
}

/* And targets that die leave nothing at a holder who lives long and takes nothing back. */
static jzx_behavior_result watch_and_go_on(jzx_context *ctx, void *arg) {
    static struct diary child;
    struct churn *churn = arg;
    jzx_actor_id id = JZX_NOBODY;
    jzx_monitor_ref ref = JZX_NO_MONITOR;
    JZX_EXPECT_EQ(jzx_spawn_watched(ctx, &DIARY_OPTS(&child, .name = "child"), true, &id, &ref),
                  JZX_OK);
    order(ctx->loop, id, call_stop, NULL);
    if (--churn->left == 0)
        return JZX_BEHAVIOR_STOP;
    order(ctx->loop, ctx->self, watch_and_go_on, churn);
    return JZX_BEHAVIOR_OK;
}

static uint64_t bytes_after_targets(uint32_t count, bool traps) {
    struct diary holder = {0};
    struct churn churn = {.left = count};
    jzx_loop *loop = fixture_loop();
    jzx_actor_id id = diary_spawn(loop, &holder);
    now(loop, id, call_trap, traps ? loop : NULL);
    order(loop, id, watch_and_go_on, &churn);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    uint64_t bytes = fixture_bytes();
    fixture_destroy(loop);
    return bytes;
}

JZX_TEST(targets_that_die_leave_nothing_at_who_watched_them, "E19", "C17", "X15") {
    for (int traps = 0; traps < 2; traps++)
        JZX_EXPECT(bytes_after_targets(50000, traps != 0) <
                   bytes_after_targets(5000, traps != 0) + SLACK);
}

/* Targets of another worker that have nothing but their mailbox, each watched several times before
 * it knows of the first. */
struct plain {
    jzx_actor_id target;
    uint32_t left;
    uint32_t downs;
};

static jzx_behavior_result end_plainly(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    return JZX_BEHAVIOR_STOP;
}

static jzx_behavior_result watch_plain(jzx_context *ctx, const jzx_message *msg) {
    struct plain *self = ctx->state;
    if (msg->tag == JZX_TAG_DOWN && ++self->downs % 3 != 0)
        return JZX_BEHAVIOR_OK;
    if (self->left-- == 0)
        return JZX_BEHAVIOR_STOP;
    self->target = fixture_spawn(
        ctx->loop, &JZX_SPAWN_OPTS(.behavior = end_plainly, .place = JZX_PLACE_WORKER(1)));
    for (uint32_t i = 0; i < 3; i++)
        JZX_EXPECT_EQ(jzx_monitor(ctx, self->target, NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, self->target, ctx->self, NULL, 0, WORK), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(what_monitors_bring_along_for_plain_targets_is_given_back, "E19", "C17", "X15") {
    uint32_t rounds = (uint32_t)jzx_test_rounds(20000, 20000);
    struct plain plain = {.left = rounds};
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 2));
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = watch_plain, .state = &plain,
                                                          .place = JZX_PLACE_WORKER(0)));
    fixture_send(loop, id, GO);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(plain.downs, 3 * rounds);
    JZX_EXPECT(fixture_bytes() < 2000000);
    fixture_destroy(loop);
}

/* ---- without memory ---- */

/* All kinds of calls by one actor, of which each may fail. */
struct attempt {
    struct diary diaries[4]; /* two targets, two children */
    jzx_actor_id targets[2];
    jzx_err errors[5];
    jzx_monitor_ref refs[2];
    jzx_actor_id children[2];
};

static jzx_behavior_result try_all(jzx_context *ctx, void *arg) {
    struct attempt *a = arg;
    JZX_EXPECT_EQ(jzx_trap_exits(ctx, true), JZX_OK);
    a->errors[0] = jzx_monitor(ctx, a->targets[0], &a->refs[0]);
    a->errors[1] = jzx_link(ctx, a->targets[0]);
    a->errors[2] = jzx_link(ctx, a->targets[1]);
    a->errors[3] = jzx_spawn_watched(ctx, &DIARY_OPTS(&a->diaries[2], .mailbox_cap = 2), true,
                                     &a->children[0], &a->refs[1]);
    a->errors[4] = jzx_spawn_watched(ctx, &DIARY_OPTS(&a->diaries[3], .mailbox_cap = 2), true,
                                     &a->children[1], NULL);
    return JZX_BEHAVIOR_OK;
}

/* Who dies: the targets and children, or the holder. */
static void end_some(jzx_loop *loop, struct attempt *a, jzx_actor_id holder, bool holder_ends) {
    if (holder_ends) {
        JZX_EXPECT_EQ(jzx_actor_fail(loop, holder), JZX_OK);
        return;
    }
    for (uint32_t i = 0; i < 2; i++) {
        JZX_EXPECT_EQ(jzx_actor_fail(loop, a->targets[i]), JZX_OK);
        if (a->errors[3 + i] == JZX_OK)
            JZX_EXPECT_EQ(jzx_actor_fail(loop, a->children[i]), JZX_OK);
    }
}

/* True if an allocation was there to fail. Nothing may be half done; ends need no memory. */
static bool try_without(uint64_t after, uint64_t count, bool holder_ends) {
    static struct attempt a;
    struct diary holder = {0};
    memset(&a, 0, sizeof a);
    jzx_loop *loop = fixture_loop();
    jzx_actor_id id = diary_spawn(loop, &holder);
    for (uint32_t i = 0; i < 2; i++)
        a.targets[i] = diary_spawn(loop, &a.diaries[i]);
    step(loop);
    order(loop, id, try_all, &a);
    fixture_fail_allocations(after, count);
    step(loop);
    bool failed = false;
    for (uint32_t i = 0; i < 5; i++) {
        JZX_EXPECT(a.errors[i] == JZX_OK || a.errors[i] == JZX_ERR_NO_MEMORY);
        failed = failed || a.errors[i] != JZX_OK;
    }
    JZX_EXPECT_EQ(a.refs[0] != JZX_NO_MONITOR, a.errors[0] == JZX_OK);
    JZX_EXPECT_EQ(a.refs[1] != JZX_NO_MONITOR, a.errors[3] == JZX_OK);
    JZX_EXPECT_EQ(a.children[1] != JZX_NOBODY, a.errors[4] == JZX_OK);
    fixture_fail_allocations(0, UINT64_MAX); /* none is made from here on */
    uint64_t before = fixture_allocations();
    end_some(loop, &a, id, holder_ends);
    step(loop);
    uint32_t wanted = 0;
    for (uint32_t i = 0; i < 5; i++)
        wanted += a.errors[i] == JZX_OK;
    wanted += a.errors[3] == JZX_OK; /* that one is linked and monitored */
    JZX_EXPECT_EQ(holder.count, holder_ends ? 0 : wanted);
    if (holder_ends) {
        JZX_EXPECT_EQ(a.diaries[0].cleanups, a.errors[1] == JZX_OK);
        JZX_EXPECT_EQ(a.diaries[1].cleanups, a.errors[2] == JZX_OK);
        JZX_EXPECT_EQ(a.diaries[2].cleanups, a.errors[3] == JZX_OK);
        JZX_EXPECT_EQ(a.diaries[3].cleanups, a.errors[4] == JZX_OK);
    }
    JZX_EXPECT_EQ(fixture_allocations(), before);
    fixture_destroy(loop);
    fixture_fail_allocations(UINT64_MAX, 0);
    return failed;
}

JZX_TEST(the_nth_allocation_fails_for_every_n, "E19", "C17", "C+fail") {
    for (int holder_ends = 0; holder_ends < 2; holder_ends++) {
        uint64_t n = 0;
        while (try_without(n, 1, holder_ends != 0))
            n++;
        JZX_EXPECT(n > 0);
    }
}

JZX_TEST(all_allocations_from_the_nth_on_fail_for_every_n, "E19", "C17", "C+fail") {
    for (int holder_ends = 0; holder_ends < 2; holder_ends++) {
        uint64_t n = 0;
        while (try_without(n, UINT64_MAX, holder_ends != 0))
            n++;
        JZX_EXPECT(n > 0);
    }
}

/* ---- an end of many, without memory, on several workers ---- */

#define CROWD 200u

static jzx_behavior_result watch_crowd(jzx_context *ctx, void *arg) {
    const jzx_actor_id *ids = arg;
    for (uint32_t i = 0; i < 20; i++) {
        jzx_actor_id other = ids[(ctx->self * 31 + i * 7) % CROWD];
        if (other != ctx->self && i % 3 == 0)
            JZX_EXPECT_EQ(jzx_link(ctx, other), JZX_OK);
        else if (other != ctx->self)
            JZX_EXPECT_EQ(jzx_monitor(ctx, other, NULL), JZX_OK);
    }
    return JZX_BEHAVIOR_OK;
}

/* The last of the crowd to be ready lets the run be over. */
static jzx_behavior_result end_run(jzx_context *ctx, void *arg) {
    (void)ctx;
    (void)arg;
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(ends_need_no_memory_on_several_workers, "E19", "C17", "C20") {
    static struct diary diaries[CROWD];
    static jzx_actor_id ids[CROWD];
    for (uint32_t workers = 1; workers <= 4; workers += 3) {
        struct diary starter = {0};
        jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = workers));
        memset(diaries, 0, sizeof diaries);
        for (uint32_t i = 0; i < CROWD; i++)
            ids[i] = fixture_spawn(loop, &DIARY_OPTS(&diaries[i], .daemon = true));
        for (uint32_t round = 0; round < 2; round++) {
            for (uint32_t i = 0; i < CROWD && round == 0; i++)
                order(loop, ids[i], watch_crowd, ids);
            order(loop, diary_spawn(loop, &starter), end_run, NULL);
            JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
        }
        fixture_fail_allocations(0, UINT64_MAX);
        JZX_EXPECT_EQ(jzx_actor_fail(loop, ids[0]), JZX_OK);
        if (workers == 1)
            step(loop);
        check_sums(loop);
        JZX_EXPECT_EQ(jzx_loop_destroy(loop), JZX_OK);
        fixture_fail_allocations(UINT64_MAX, 0);
        for (uint32_t i = 0; i < CROWD; i++)
            JZX_EXPECT_EQ(diaries[i].cleanups, 1);
    }
}
