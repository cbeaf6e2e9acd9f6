/* SPDX-License-Identifier: MIT */
/* Names and groups without memory: each call that finds none says so and has changed nothing, what
 * was joined before can always be left, and no event is lost.
 *
 * One scenario uses everything that allocates. It is run again and again, with the n-th allocation
 * failing, and then with all from the n-th on failing, until n is past the last. */
#include "grouping.h"

#define ACTORS 20u
#define GROUPS 12u

struct scenario {
    struct ear ears[ACTORS];
    bool joined[ACTORS][GROUPS];
    bool watches[2][GROUPS];
    uint32_t expected[2]; /* events */
    uint32_t refused;
};

static struct scenario now;
static struct heard stories[2][HEARD_MAX];

static bool worked(jzx_err err) {
    if (err == JZX_ERR_NO_MEMORY)
        now.refused++;
    else
        JZX_EXPECT_EQ(err, JZX_OK);
    return err == JZX_OK;
}

static void name_of(uint32_t group, char *name) {
    snprintf(name, JZX_NAME_MAX + 1, "group number %u", group);
}

static void expect_told(uint32_t group) {
    for (uint32_t i = 0; i < 2; i++)
        now.expected[i] += now.watches[i][group];
}

static void do_all(jzx_context *ctx, struct ear *self) {
    uint32_t index = (uint32_t)(self - now.ears);
    char name[JZX_NAME_MAX + 1];
    for (uint32_t g = 0; g < GROUPS; g++) {
        name_of(g, name);
        size_t count = 0;
        size_t before = member_count(ctx->loop, name);
        if (index < 2 && worked(jzx_group_monitor(ctx, name, NULL, 0, &count)))
            now.watches[index][g] = JZX_EXPECT_EQ(count, before);
        if (worked(jzx_group_join(ctx, name))) {
            now.joined[index][g] = true;
            expect_told(g);
            JZX_EXPECT_EQ(jzx_group_join(ctx, name), JZX_OK); /* a second one needs no memory */
        } else {
            JZX_EXPECT_EQ(jzx_group_leave(ctx, name), JZX_ERR_NO_SUCH_ACTOR);
        }
        JZX_EXPECT_EQ(member_count(ctx->loop, name), before + now.joined[index][g]);
    }
    snprintf(name, sizeof name, "actor %u", index);
    jzx_actor_id found = JZX_NOBODY;
    bool is_named = worked(jzx_register(ctx->loop, name, ctx->self));
    JZX_EXPECT_EQ(jzx_lookup(ctx->loop, name, &found), is_named ? JZX_OK : JZX_ERR_NO_SUCH_ACTOR);
}

/* Leaving is all that it does, so that nothing else needs memory. */
static void do_leave_some(jzx_context *ctx, struct ear *self) {
    uint32_t index = (uint32_t)(self - now.ears);
    char name[JZX_NAME_MAX + 1];
    for (uint32_t g = 0; g < GROUPS; g += 2) {
        name_of(g, name);
        jzx_err expected = now.joined[index][g] ? JZX_OK : JZX_ERR_NO_SUCH_ACTOR;
        JZX_EXPECT_EQ(jzx_group_leave(ctx, name), expected);
        JZX_EXPECT_EQ(jzx_group_leave(ctx, name), expected);
        if (now.joined[index][g])
            expect_told(g);
        now.joined[index][g] = false;
    }
}

static void broadcast_all(jzx_loop *loop) {
    static const size_t lens[] = {8, 200, 100000};
    static const char payload[100000];
    for (uint32_t i = 0; i < 3; i++) {
        size_t delivered = 4711;
        if (worked(jzx_group_broadcast(loop, "group number 1", JZX_NOBODY, payload, lens[i], 1,
                                       &delivered)))
            JZX_EXPECT(delivered <= ACTORS); /* each refusal is in the statistics */
        else
            JZX_EXPECT_EQ(delivered, 4711);
        grouping_step(loop);
    }
}

static void send_do(jzx_loop *loop, ear_fn fn, bool *was_sent) {
    for (uint32_t i = 0; i < ACTORS; i++) {
        was_sent[i] =
            now.ears[i].id != JZX_NOBODY &&
            worked(jzx_send(loop, now.ears[i].id, JZX_NOBODY, &fn, sizeof fn, GROUPING_DO));
        grouping_step(loop);
    }
}

static uint32_t play(void) {
    bool was_sent[ACTORS];
    memset(&now, 0, sizeof now);
    jzx_loop *loop = fixture_loop_with(NULL);
    if (loop == NULL)
        return 1;
    for (uint32_t i = 0; i < ACTORS; i++) {
        now.ears[i].heard = i < 2 ? stories[i] : NULL;
        worked(jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = listen, .state = &now.ears[i]),
                         &now.ears[i].id));
    }
    send_do(loop, do_all, was_sent);
    broadcast_all(loop);
    fixture_fail_allocations(UINT64_MAX, 0);
    jzx_send(loop, now.ears[ACTORS - 1].id, JZX_NOBODY, NULL, 0,
             1); /* the sends below have a block */
    grouping_step(loop);
    fixture_fail_allocations(0, UINT64_MAX); /* leaving and ending need none */
    send_do(loop, do_leave_some, was_sent);
    for (uint32_t i = 2; i < ACTORS; i++) {
        if (now.ears[i].id == JZX_NOBODY)
            continue;
        for (uint32_t g = 0; g < GROUPS; g++)
            if (now.joined[i][g])
                expect_told(g);
        JZX_EXPECT_EQ(jzx_actor_stop(loop, now.ears[i].id, JZX_STOP_KILL), JZX_OK);
    }
    grouping_step(loop);
    fixture_fail_allocations(UINT64_MAX, 0);
    for (uint32_t i = 0; i < 2; i++)
        JZX_EXPECT_EQ(now.ears[i].events, now.expected[i]);
    JZX_EXPECT_EQ(fixture_stats(loop).waiting, 0);
    fixture_destroy(loop);
    return now.refused;
}

static void fail_each(uint64_t failures) {
    uint64_t before = fixture_allocations();
    JZX_EXPECT_EQ(play(), 0);
    uint64_t total = fixture_allocations() - before;
    JZX_EXPECT(total > 15);
    for (uint64_t n = 0; n < total; n++) {
        fixture_fail_allocations(n, failures);
        play();
        fixture_fail_allocations(UINT64_MAX, 0);
        JZX_EXPECT_EQ(fixture_bytes(), 0);
    }
}

JZX_TEST(the_nth_allocation_fails_for_every_n, "C17", "C+fail", "X15", "D+pg", "D+name") {
    fail_each(1);
}

JZX_TEST(all_allocations_from_the_nth_on_fail_for_every_n, "C17", "C+fail", "X15", "D+pg") {
    fail_each(UINT64_MAX);
}
