/* SPDX-License-Identifier: MIT */
/* Sending to a member that a policy chooses. */
#include "grouping.h"

#define MEMBERS 5u

static void open_group(jzx_loop *loop, struct ear *ears, uint32_t count, uint32_t mailbox_cap) {
    for (uint32_t i = 0; i < count; i++) {
        ears[i] = (struct ear){0};
        ears[i].id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = listen, .state = &ears[i],
                                                         .mailbox_cap = mailbox_cap));
        JZX_EXPECT_EQ(join(loop, &ears[i], "pool"), JZX_OK);
    }
}

static jzx_err route(jzx_loop *loop, jzx_route_policy policy, uint64_t key) {
    return jzx_route(loop, "pool", policy, key, JZX_NOBODY, "x", 1, 1);
}

static void expect_messages(const struct ear *ears, uint32_t count, uint32_t each) {
    for (uint32_t i = 0; i < count; i++)
        JZX_EXPECT_EQ(ears[i].messages, each);
}

JZX_TEST(round_robin_gives_everybody_its_turn) {
    jzx_loop *loop = fixture_loop();
    struct ear ears[MEMBERS];
    open_group(loop, ears, MEMBERS, 0);
    for (uint32_t round = 1; round <= 3; round++) {
        for (uint32_t i = 0; i < MEMBERS; i++)
            JZX_EXPECT_EQ(route(loop, JZX_ROUTE_ROUND_ROBIN, 0), JZX_OK);
        grouping_step(loop);
        expect_messages(ears, MEMBERS, round);
    }
    fixture_destroy(loop);
}

JZX_TEST(round_robin_is_even_also_around_holes) {
    jzx_loop *loop = fixture_loop();
    struct ear ears[8];
    open_group(loop, ears, 8, 0);
    JZX_EXPECT_EQ(leave(loop, &ears[2], "pool"), JZX_OK);
    JZX_EXPECT_EQ(leave(loop, &ears[3], "pool"), JZX_OK);
    ear_stop(loop, &ears[7]);
    for (uint32_t i = 0; i < 5 * 10; i++)
        JZX_EXPECT_EQ(route(loop, JZX_ROUTE_ROUND_ROBIN, 0), JZX_OK);
    grouping_step(loop);
    for (uint32_t i = 0; i < 8; i++)
        JZX_EXPECT_EQ(ears[i].messages, i == 2 || i == 3 || i == 7 ? 0 : 10);
    fixture_destroy(loop);
}

JZX_TEST(round_robin_passes_by_who_is_full_until_all_are, "X14") {
    jzx_loop *loop = fixture_loop();
    struct ear ears[3];
    open_group(loop, ears, 3, 2);
    fixture_send(loop, ears[1].id, 1);
    fixture_send(loop, ears[1].id, 1);
    for (uint32_t i = 0; i < 4; i++)
        JZX_EXPECT_EQ(route(loop, JZX_ROUTE_ROUND_ROBIN, 0), JZX_OK);
    JZX_EXPECT_EQ(route(loop, JZX_ROUTE_ROUND_ROBIN, 0), JZX_ERR_MAILBOX_FULL);
    JZX_EXPECT_EQ(route(loop, JZX_ROUTE_LEAST_LOADED, 0), JZX_ERR_MAILBOX_FULL);
    JZX_EXPECT_EQ(route(loop, JZX_ROUTE_HASH, 0), JZX_ERR_MAILBOX_FULL);
    JZX_EXPECT_EQ(route(loop, JZX_ROUTE_BROADCAST, 0), JZX_ERR_MAILBOX_FULL);
    fixture_check_books(loop);
    grouping_step(loop);
    expect_messages(ears, 3, 2);
    fixture_destroy(loop);
}

/* Three members that have different amounts of mail, as the driving thread sees them. */
static void do_route_least(jzx_context *ctx, struct ear *self) {
    const struct ear *ears = self->arg;
    static const uint32_t load[] = {3, 1, 2};
    for (uint32_t i = 0; i < 3; i++)
        for (uint32_t n = 0; n < load[i]; n++)
            JZX_EXPECT_EQ(jzx_send(ctx->loop, ears[i].id, ctx->self, NULL, 0, 1), JZX_OK);
    for (uint32_t n = 0; n < 3; n++) /* the first two fill up the second, then all have 3 */
        JZX_EXPECT_EQ(route(ctx->loop, JZX_ROUTE_LEAST_LOADED, 0), JZX_OK);
    for (uint32_t n = 0; n < 3; n++) /* of equals one after another */
        JZX_EXPECT_EQ(route(ctx->loop, JZX_ROUTE_LEAST_LOADED, 0), JZX_OK);
    self->err = JZX_OK;
}

JZX_TEST(the_least_loaded_member_gets_the_message) {
    jzx_loop *loop = fixture_loop();
    struct ear ears[3];
    struct ear router = {0};
    open_group(loop, ears, 3, 0);
    ear_spawn(loop, &router);
    JZX_EXPECT_EQ(ear_do(loop, &router, do_route_least, ears), JZX_OK);
    expect_messages(ears, 3, 4);
    fixture_destroy(loop);
}

JZX_TEST(from_outside_the_load_is_what_was_not_taken_in) {
    jzx_loop *loop = fixture_loop();
    struct ear ears[3];
    open_group(loop, ears, 3, 0);
    for (uint32_t i = 0; i < 5; i++) {
        fixture_send(loop, ears[0].id, 1);
        fixture_send(loop, ears[2].id, 1);
    }
    for (uint32_t i = 0; i < 5; i++)
        JZX_EXPECT_EQ(route(loop, JZX_ROUTE_LEAST_LOADED, 0), JZX_OK);
    grouping_step(loop);
    expect_messages(ears, 3, 5);
    fixture_destroy(loop);
}

/* ---- by key ---- */

#define KEYS 1000u

/* Who gets each key now: the index of the member. */
static void map_keys(jzx_loop *loop, struct ear *ears, uint32_t count, uint32_t *map) {
    for (uint32_t key = 0; key < KEYS; key++) {
        for (uint32_t i = 0; i < count; i++)
            ears[i].messages = 0;
        JZX_EXPECT_EQ(route(loop, JZX_ROUTE_HASH, key), JZX_OK);
        grouping_step(loop);
        map[key] = count;
        for (uint32_t i = 0; i < count; i++)
            if (ears[i].messages != 0)
                map[key] = i;
        JZX_EXPECT(map[key] < count);
    }
}

JZX_TEST(a_key_stays_with_its_member_and_few_keys_move) {
    jzx_loop *loop = fixture_loop();
    static uint32_t before[KEYS], again[KEYS], fewer[KEYS], more[KEYS];
    struct ear ears[11];
    uint32_t share[10] = {0};
    open_group(loop, ears, 10, 0);
    map_keys(loop, ears, 10, before);
    map_keys(loop, ears, 10, again);
    for (uint32_t key = 0; key < KEYS; key++)
        share[before[key]]++;
    for (uint32_t i = 0; i < 10; i++) /* about a tenth each */
        JZX_EXPECT(share[i] > KEYS / 20 && share[i] < KEYS / 5);
    ear_stop(loop, &ears[4]);
    map_keys(loop, ears, 10, fewer);
    ears[10] = (struct ear){0};
    ear_spawn(loop, &ears[10]);
    JZX_EXPECT_EQ(join(loop, &ears[10], "pool"), JZX_OK);
    map_keys(loop, ears, 11, more);
    for (uint32_t key = 0; key < KEYS; key++) {
        JZX_EXPECT_EQ(again[key], before[key]);
        JZX_EXPECT(fewer[key] == before[key] || before[key] == 4);
        JZX_EXPECT(more[key] == fewer[key] || more[key] == 10);
    }
    fixture_destroy(loop);
}

/* On the worker of the members: a stop after the queue closes the mailbox at once. */
static void do_route_draining(jzx_context *ctx, struct ear *self) {
    const struct ear *ears = self->arg;
    static const jzx_route_policy policies[] = {JZX_ROUTE_ROUND_ROBIN, JZX_ROUTE_LEAST_LOADED,
                                                JZX_ROUTE_HASH, JZX_ROUTE_BROADCAST};
    JZX_EXPECT_EQ(jzx_send(ctx->loop, ears[0].id, ctx->self, NULL, 0, 1), JZX_OK);
    JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, ears[0].id, JZX_STOP_AFTER_QUEUE), JZX_OK);
    JZX_EXPECT_EQ(member_count(ctx->loop, "pool"), 2); /* it has not ended yet */
    for (uint32_t p = 0; p < 4; p++)
        for (uint32_t key = 0; key < 8; key++)
            JZX_EXPECT_EQ(route(ctx->loop, policies[p], key), JZX_OK);
    self->err = JZX_OK;
}

JZX_TEST(a_member_that_only_works_its_queue_off_is_passed_by) {
    jzx_loop *loop = fixture_loop();
    struct ear ears[2];
    struct ear router = {0};
    open_group(loop, ears, 2, 0);
    ear_spawn(loop, &router);
    JZX_EXPECT_EQ(ear_do(loop, &router, do_route_draining, ears), JZX_OK);
    JZX_EXPECT_EQ(ears[0].messages, 1);
    JZX_EXPECT_EQ(ears[1].messages, 32);
    JZX_EXPECT_EQ(fixture_stats(loop).refused_no_actor, 0);
    JZX_EXPECT_EQ(member_count(loop, "pool"), 1);
    fixture_destroy(loop);
}

/* ---- all, and errors ---- */

JZX_TEST(a_route_to_all_is_a_broadcast) {
    jzx_loop *loop = fixture_loop();
    static const char payload[500];
    struct ear ears[MEMBERS];
    open_group(loop, ears, MEMBERS, 0);
    JZX_EXPECT_EQ(route(loop, JZX_ROUTE_BROADCAST, 0), JZX_OK);
    JZX_EXPECT_EQ(
        jzx_route(loop, "pool", JZX_ROUTE_BROADCAST, 0, JZX_NOBODY, payload, sizeof payload, 1),
        JZX_OK);
    grouping_step(loop);
    expect_messages(ears, MEMBERS, 2);
    fixture_destroy(loop);
}

JZX_TEST(without_members_or_with_wrong_arguments_nothing_is_sent, "C+fail", "X14") {
    jzx_loop *loop = fixture_loop();
    struct ear ear;
    for (uint32_t p = 0; p < 4; p++)
        JZX_EXPECT_EQ(route(loop, (jzx_route_policy)p, 1), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(fixture_stats(loop).refused_no_actor, 4);
    open_group(loop, &ear, 1, 0);
    uint64_t accepted = fixture_stats(loop).accepted;
    JZX_EXPECT_EQ(route(NULL, JZX_ROUTE_HASH, 1), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(route(loop, (jzx_route_policy)4, 1), JZX_ERR_INVALID_ARG);
    for (uint32_t p = 0; p < 4; p++) {
        jzx_route_policy policy = (jzx_route_policy)p;
        JZX_EXPECT_EQ(jzx_route(loop, "", policy, 0, JZX_NOBODY, NULL, 0, 1), JZX_ERR_INVALID_ARG);
        JZX_EXPECT_EQ(jzx_route(loop, "@a", policy, 0, JZX_NOBODY, NULL, 0, 1),
                      JZX_ERR_INVALID_ARG);
        JZX_EXPECT_EQ(jzx_route(loop, "pool", policy, 0, JZX_NOBODY, NULL, 1, 1),
                      JZX_ERR_INVALID_ARG);
        JZX_EXPECT_EQ(jzx_route(loop, "pool", policy, 0, JZX_NOBODY, NULL, 0, JZX_TAG_RESERVED),
                      JZX_ERR_INVALID_ARG);
    }
    ear_stop(loop, &ear);
    for (uint32_t p = 0; p < 4; p++)
        JZX_EXPECT_EQ(route(loop, (jzx_route_policy)p, 1), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(fixture_stats(loop).accepted, accepted + 1);
    JZX_EXPECT_EQ(jzx_loop_request_stop(loop), JZX_OK);
    grouping_step(loop);
    for (uint32_t p = 0; p < 4; p++)
        JZX_EXPECT_EQ(route(loop, (jzx_route_policy)p, 1), JZX_ERR_LOOP_CLOSED);
    fixture_destroy(loop);
}
