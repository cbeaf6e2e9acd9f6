/* SPDX-License-Identifier: MIT */
/* Joining and leaving groups, who is in them, and sending to all. */
#include "grouping.h"

JZX_TEST(joins_are_counted_and_need_as_many_leaves, "D+pg") {
    jzx_loop *loop = fixture_loop();
    struct ear ear = {0};
    ear_spawn(loop, &ear);
    JZX_EXPECT_EQ(member_count(loop, "team"), 0);
    for (uint32_t i = 0; i < 3; i++) {
        JZX_EXPECT_EQ(join(loop, &ear, "team"), JZX_OK);
        JZX_EXPECT_EQ(member_count(loop, "team"), 1);
    }
    for (uint32_t i = 0; i < 3; i++) {
        JZX_EXPECT(is_member(loop, "team", ear.id));
        JZX_EXPECT_EQ(leave(loop, &ear, "team"), JZX_OK);
    }
    JZX_EXPECT_EQ(member_count(loop, "team"), 0);
    JZX_EXPECT_EQ(leave(loop, &ear, "team"), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(leave(loop, &ear, "never"), JZX_ERR_NO_SUCH_ACTOR);
    fixture_destroy(loop);
}

JZX_TEST(only_who_has_joined_may_leave, "D+pg") {
    jzx_loop *loop = fixture_loop();
    struct ear ears[2] = {0};
    ear_spawn(loop, &ears[0]);
    ear_spawn(loop, &ears[1]);
    JZX_EXPECT_EQ(join(loop, &ears[0], "team"), JZX_OK);
    JZX_EXPECT_EQ(leave(loop, &ears[1], "team"), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT(is_member(loop, "team", ears[0].id));
    fixture_destroy(loop);
}

#define CROWD 1000u

JZX_TEST(members_are_an_exact_snapshot_whatever_leaves_and_joins, "D+pg") {
    static struct ear ears[CROWD];
    static jzx_actor_id ids[CROWD + 10];
    jzx_loop *loop = fixture_loop();
    size_t count = 0;
    for (uint32_t i = 0; i < CROWD; i++) {
        ears[i] = (struct ear){0};
        ear_spawn(loop, &ears[i]);
        JZX_EXPECT_EQ(join(loop, &ears[i], "crowd"), JZX_OK);
    }
    for (uint32_t i = 0; i < CROWD; i += 3)
        JZX_EXPECT_EQ(leave(loop, &ears[i], "crowd"), JZX_OK);
    for (uint32_t i = 0; i < CROWD; i += 6)
        JZX_EXPECT_EQ(join(loop, &ears[i], "crowd"), JZX_OK);
    JZX_EXPECT_EQ(jzx_group_members(loop, "crowd", ids, CROWD + 10, &count), JZX_OK);
    uint32_t expected = 0;
    for (uint32_t i = 0; i < CROWD; i++) {
        bool is_in = i % 3 != 0 || i % 6 == 0;
        uint32_t found = 0;
        for (size_t k = 0; k < count; k++)
            found += ids[k] == ears[i].id;
        JZX_EXPECT_EQ(found, is_in);
        expected += is_in;
    }
    JZX_EXPECT_EQ(count, expected);
    ids[5] = 4711;
    JZX_EXPECT_EQ(jzx_group_members(loop, "crowd", ids, 5, &count), JZX_OK); /* those that fit */
    JZX_EXPECT_EQ(count, expected);
    JZX_EXPECT_EQ(ids[5], 4711);
    fixture_destroy(loop);
}

JZX_TEST(an_actor_that_ends_leaves_all_its_groups, "D+pg") {
    jzx_loop *loop = fixture_loop();
    struct ear ears[2] = {0};
    for (uint32_t i = 0; i < 2; i++) {
        ear_spawn(loop, &ears[i]);
        JZX_EXPECT_EQ(join(loop, &ears[i], "a"), JZX_OK);
        JZX_EXPECT_EQ(join(loop, &ears[i], "b"), JZX_OK);
        JZX_EXPECT_EQ(join(loop, &ears[i], "b"), JZX_OK);
    }
    ear_stop(loop, &ears[0]);
    JZX_EXPECT(!is_member(loop, "a", ears[0].id));
    JZX_EXPECT(!is_member(loop, "b", ears[0].id));
    JZX_EXPECT(is_member(loop, "a", ears[1].id));
    JZX_EXPECT(is_member(loop, "b", ears[1].id));
    JZX_EXPECT_EQ(jzx_actor_fail(loop, ears[1].id), JZX_OK);
    grouping_step(loop);
    JZX_EXPECT_EQ(member_count(loop, "a") + member_count(loop, "b"), 0);
    fixture_destroy(loop);
}

static jzx_err join_in_init(jzx_context *ctx) {
    return jzx_group_join(ctx, "early");
}

static void try_in_cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    struct ear *self = ctx->state;
    (void)reason;
    JZX_EXPECT_EQ(jzx_group_join(ctx, "late"), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_group_leave(ctx, "early"), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_group_monitor(ctx, "early", NULL, 0, &self->count), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_group_demonitor(ctx, "early"), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(member_count(ctx->loop, "early"), 0); /* it has left before */
    self->messages++;
}

JZX_TEST(an_init_may_join_and_a_cleanup_has_left, "D+pg") {
    jzx_loop *loop = fixture_loop();
    struct ear ear = {0};
    ear.id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = listen, .state = &ear,
                                                 .init = join_in_init, .cleanup = try_in_cleanup));
    grouping_step(loop);
    JZX_EXPECT(is_member(loop, "early", ear.id));
    ear_stop(loop, &ear);
    JZX_EXPECT_EQ(ear.messages, 1);
    fixture_destroy(loop);
}

static void do_list(jzx_context *ctx, struct ear *self) {
    char names[3][JZX_NAME_MAX + 1] = {"x", "x", "x"};
    JZX_EXPECT_EQ(jzx_group_list(ctx, names, 2, &self->count), JZX_OK);
    JZX_EXPECT_EQ(self->count, 3);
    JZX_EXPECT(strcmp(names[0], "three") == 0);
    JZX_EXPECT(strcmp(names[1], "one") == 0);
    JZX_EXPECT(strcmp(names[2], "x") == 0);
    JZX_EXPECT_EQ(jzx_group_list(ctx, names, 3, &self->count), JZX_OK);
    JZX_EXPECT(strcmp(names[2], "zero") == 0);
    JZX_EXPECT_EQ(jzx_group_list(ctx, NULL, 0, &self->count), JZX_OK);
    JZX_EXPECT_EQ(self->count, 3);
    JZX_EXPECT_EQ(jzx_group_list(ctx, NULL, 1, &self->count), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_group_list(ctx, names, 1, NULL), JZX_ERR_INVALID_ARG);
    self->err = JZX_OK;
}

static void do_list_none(jzx_context *ctx, struct ear *self) {
    self->err = jzx_group_list(ctx, NULL, 0, &self->count);
}

JZX_TEST(an_actor_knows_its_groups, "D+pg") {
    jzx_loop *loop = fixture_loop();
    struct ear ear = {0};
    ear_spawn(loop, &ear);
    JZX_EXPECT_EQ(ear_do(loop, &ear, do_list_none, NULL), JZX_OK);
    JZX_EXPECT_EQ(ear.count, 0);
    static const char *const groups[] = {"zero", "one", "two", "three", "one"};
    for (uint32_t i = 0; i < 5; i++)
        JZX_EXPECT_EQ(join(loop, &ear, groups[i]), JZX_OK);
    JZX_EXPECT_EQ(leave(loop, &ear, "two"), JZX_OK);
    JZX_EXPECT_EQ(monitor(loop, &ear, "watched only"), JZX_OK);
    JZX_EXPECT_EQ(ear_do(loop, &ear, do_list, NULL), JZX_OK);
    fixture_destroy(loop);
}

static void do_wrong(jzx_context *ctx, struct ear *self) {
    char longest[JZX_NAME_MAX + 2];
    size_t count = 4711;
    jzx_actor_id ids[1];
    memset(longest, 'g', sizeof longest);
    longest[JZX_NAME_MAX + 1] = '\0';
    const char *const wrong[] = {NULL, "", longest, "@team"};
    for (size_t i = 0; i < 4; i++) {
        JZX_EXPECT_EQ(jzx_group_join(ctx, wrong[i]), JZX_ERR_INVALID_ARG);
        JZX_EXPECT_EQ(jzx_group_leave(ctx, wrong[i]), JZX_ERR_INVALID_ARG);
        JZX_EXPECT_EQ(jzx_group_monitor(ctx, wrong[i], NULL, 0, &count), JZX_ERR_INVALID_ARG);
        JZX_EXPECT_EQ(jzx_group_demonitor(ctx, wrong[i]), JZX_ERR_INVALID_ARG);
        JZX_EXPECT_EQ(jzx_group_members(ctx->loop, wrong[i], ids, 1, &count), JZX_ERR_INVALID_ARG);
        JZX_EXPECT_EQ(jzx_group_broadcast(ctx->loop, wrong[i], JZX_NOBODY, NULL, 0, 1, &count),
                      JZX_ERR_INVALID_ARG);
    }
    JZX_EXPECT_EQ(jzx_group_join(NULL, "team"), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_group_leave(NULL, "team"), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_group_monitor(NULL, "team", NULL, 0, &count), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_group_monitor(ctx, "team", ids, 1, NULL), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_group_monitor(ctx, "team", NULL, 1, &count), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_group_demonitor(NULL, "team"), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_group_list(NULL, NULL, 0, &count), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_group_members(NULL, "team", ids, 1, &count), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_group_members(ctx->loop, "team", NULL, 1, &count), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_group_members(ctx->loop, "team", ids, 1, NULL), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(count, 4711);
    longest[JZX_NAME_MAX] = '\0';
    self->err = jzx_group_join(ctx, longest);
}

JZX_TEST(wrong_arguments_are_refused, "D+pg", "C+fail") {
    jzx_loop *loop = fixture_loop();
    struct ear ear = {0};
    ear_spawn(loop, &ear);
    JZX_EXPECT_EQ(ear_do(loop, &ear, do_wrong, NULL), JZX_OK);
    fixture_destroy(loop);
}

/* A behaviour that runs another loop inside its turn: there it is not its turn. */
static jzx_behavior_result join_outer(jzx_context *ctx, const jzx_message *msg) {
    jzx_context *outer = ctx->state;
    size_t count;
    (void)msg;
    JZX_EXPECT_EQ(jzx_group_join(outer, "team"), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_group_leave(outer, "team"), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_group_list(outer, NULL, 0, &count), JZX_ERR_INVALID_ARG);
    return JZX_BEHAVIOR_STOP;
}

static void do_nested(jzx_context *ctx, struct ear *self) {
    jzx_loop *inner = fixture_loop();
    jzx_actor_id id = fixture_spawn(inner, &JZX_SPAWN_OPTS(.behavior = join_outer, .state = ctx));
    fixture_send(inner, id, 1);
    JZX_EXPECT_EQ(jzx_loop_run(inner), JZX_OK);
    fixture_destroy(inner);
    self->err = jzx_group_join(ctx, "team");
}

JZX_TEST(only_the_actor_in_its_turn_joins_and_leaves, "D+pg") {
    jzx_loop *loop = fixture_loop();
    struct ear ear = {0};
    ear_spawn(loop, &ear);
    JZX_EXPECT_EQ(ear_do(loop, &ear, do_nested, NULL), JZX_OK);
    JZX_EXPECT(is_member(loop, "team", ear.id));
    fixture_destroy(loop);
}

JZX_TEST(limits_of_the_configuration_hold, "D+pg", "C16") {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.max_groups = 2, .max_members_per_group = 3));
    struct ear ears[4] = {0};
    for (uint32_t i = 0; i < 4; i++) {
        ear_spawn(loop, &ears[i]);
        JZX_EXPECT_EQ(join(loop, &ears[i], "first"), i < 3 ? JZX_OK : JZX_ERR_MAX_ACTORS);
    }
    JZX_EXPECT_EQ(member_count(loop, "first"), 3);
    JZX_EXPECT_EQ(join(loop, &ears[0], "first"), JZX_OK); /* it is one of the three */
    JZX_EXPECT_EQ(join(loop, &ears[3], "second"), JZX_OK);
    JZX_EXPECT_EQ(join(loop, &ears[3], "third"), JZX_ERR_MAX_ACTORS);
    JZX_EXPECT_EQ(monitor(loop, &ears[3], "third"), JZX_ERR_MAX_ACTORS);
    JZX_EXPECT_EQ(monitor(loop, &ears[3], "first"), JZX_OK); /* subscribers are no members */
    JZX_EXPECT_EQ(leave(loop, &ears[3], "second"), JZX_OK);
    JZX_EXPECT_EQ(join(loop, &ears[2], "third"), JZX_OK);
    fixture_destroy(loop);
}

JZX_TEST(limits_have_defaults_and_are_checked, "C16", "D+pg") {
    jzx_config config;
    const char *field = NULL;
    jzx_config_init(&config, sizeof config);
    JZX_EXPECT_EQ(config.max_groups, JZX_UNLIMITED);
    JZX_EXPECT_EQ(config.max_members_per_group, JZX_UNLIMITED);
    JZX_EXPECT_EQ(jzx_config_check(&JZX_CONFIG(.max_groups = JZX_NONE), &field),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT(field != NULL && strcmp(field, "max_groups") == 0);
    JZX_EXPECT_EQ(jzx_config_check(&JZX_CONFIG(.max_members_per_group = JZX_NONE), &field),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT(field != NULL && strcmp(field, "max_members_per_group") == 0);
    JZX_EXPECT_EQ(config.max_group_events, 64);
    JZX_EXPECT_EQ(jzx_config_check(&JZX_CONFIG(.max_group_events = JZX_NONE), &field),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT(field != NULL && strcmp(field, "max_group_events") == 0);
}

/* ---- broadcast ---- */

JZX_TEST(a_broadcast_reaches_every_member_once_and_counts, "D+pg", "X14") {
    static const size_t lens[] = {0, 8, 32, 33, 5000};
    static const char payload[5000];
    jzx_loop *loop = fixture_loop();
    struct ear ears[20] = {0};
    struct ear stranger = {0};
    for (uint32_t i = 0; i < 20; i++) {
        ear_spawn(loop, &ears[i]);
        JZX_EXPECT_EQ(join(loop, &ears[i], "all"), JZX_OK);
    }
    JZX_EXPECT_EQ(leave(loop, &ears[7], "all"), JZX_OK); /* a hole */
    JZX_EXPECT_EQ(join(loop, &ears[3], "all"), JZX_OK);  /* twice a member, one message */
    ear_spawn(loop, &stranger);
    for (uint32_t k = 0; k < 5; k++) {
        size_t delivered = 4711;
        JZX_EXPECT_EQ(jzx_group_broadcast(loop, "all", JZX_NOBODY, payload, lens[k], 1, &delivered),
                      JZX_OK);
        JZX_EXPECT_EQ(delivered, 19);
        grouping_step(loop);
        for (uint32_t i = 0; i < 20; i++)
            JZX_EXPECT_EQ(ears[i].messages, i == 7 ? 0 : k + 1);
    }
    JZX_EXPECT_EQ(stranger.messages, 0);
    JZX_EXPECT_EQ(jzx_group_broadcast(loop, "all", JZX_NOBODY, NULL, 0, 1, NULL), JZX_OK);
    fixture_destroy(loop);
}

JZX_TEST(a_broadcast_to_nobody_delivers_nothing, "D+pg") {
    jzx_loop *loop = fixture_loop();
    size_t delivered = 4711;
    JZX_EXPECT_EQ(jzx_group_broadcast(loop, "none", JZX_NOBODY, NULL, 0, 1, &delivered), JZX_OK);
    JZX_EXPECT_EQ(delivered, 0);
    fixture_destroy(loop);
}

JZX_TEST(a_broadcast_passes_by_who_is_full_or_ends, "D+pg", "X14") {
    jzx_loop *loop = fixture_loop();
    struct ear ears[3] = {0};
    size_t delivered = 0;
    for (uint32_t i = 0; i < 3; i++) {
        ears[i].id = fixture_spawn(
            loop, &JZX_SPAWN_OPTS(.behavior = listen, .state = &ears[i], .mailbox_cap = 2));
        JZX_EXPECT_EQ(join(loop, &ears[i], "all"), JZX_OK);
    }
    fixture_send(loop, ears[0].id, 1);
    fixture_send(loop, ears[0].id, 1);
    JZX_EXPECT_EQ(jzx_group_broadcast(loop, "all", JZX_NOBODY, "x", 1, 1, &delivered), JZX_OK);
    JZX_EXPECT_EQ(delivered, 2);
    JZX_EXPECT_EQ(fixture_stats(loop).refused_full, 1);
    ear_stop(loop, &ears[1]);
    JZX_EXPECT_EQ(jzx_group_broadcast(loop, "all", JZX_NOBODY, "x", 1, 1, &delivered), JZX_OK);
    JZX_EXPECT_EQ(delivered, 2);
    JZX_EXPECT_EQ(fixture_stats(loop).refused_no_actor, 0);
    fixture_destroy(loop);
}

static void broadcast_at_the_end(jzx_context *ctx, jzx_exit_reason reason) {
    struct ear *self = ctx->state;
    (void)reason;
    JZX_EXPECT_EQ(jzx_group_broadcast(ctx->loop, "all", ctx->self, "x", 1, 1, &self->count),
                  JZX_OK);
}

JZX_TEST(a_cleanup_may_broadcast_to_those_who_are_left, "D+pg") {
    jzx_loop *loop = fixture_loop();
    struct ear ears[2] = {0};
    for (uint32_t i = 0; i < 2; i++) {
        ears[i].id =
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = listen, .state = &ears[i],
                                                .cleanup = i ? NULL : broadcast_at_the_end));
        JZX_EXPECT_EQ(join(loop, &ears[i], "all"), JZX_OK);
    }
    ear_stop(loop, &ears[0]);
    JZX_EXPECT_EQ(ears[0].count, 1);
    JZX_EXPECT_EQ(ears[1].messages, 1);
    fixture_destroy(loop);
}

static uint32_t destroyed;

static void note_destroyed(void *data, size_t len) {
    (void)data;
    (void)len;
    destroyed++;
}

JZX_TEST(a_shared_buffer_may_be_broadcast_without_a_copy, "D+pg", "X14") {
    jzx_loop *loop = fixture_loop();
    struct ear ears[5] = {0};
    size_t delivered = 0;
    destroyed = 0;
    for (uint32_t i = 0; i < 5; i++) {
        ear_spawn(loop, &ears[i]);
        JZX_EXPECT_EQ(join(loop, &ears[i], "all"), JZX_OK);
    }
    void *data = jzx_msg_alloc(loop, 3000, note_destroyed);
    JZX_EXPECT_EQ(jzx_group_broadcast_shared(loop, "all", JZX_NOBODY, data, 1, &delivered),
                  JZX_ERR_INVALID_ARG); /* it is not shared */
    JZX_EXPECT_EQ(jzx_group_broadcast_shared(loop, "all", JZX_NOBODY, NULL, 1, &delivered),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_msg_share(loop, data), data);
    JZX_EXPECT_EQ(
        jzx_group_broadcast_shared(loop, "all", JZX_NOBODY, data, JZX_TAG_RESERVED, &delivered),
        JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(delivered, 0);
    JZX_EXPECT_EQ(jzx_group_broadcast_shared(loop, "all", JZX_NOBODY, data, 1, &delivered), JZX_OK);
    JZX_EXPECT_EQ(delivered, 5);
    jzx_msg_free(loop, data);
    JZX_EXPECT_EQ(destroyed, 0);
    grouping_step(loop);
    JZX_EXPECT_EQ(destroyed, 1);
    for (uint32_t i = 0; i < 5; i++)
        JZX_EXPECT_EQ(ears[i].messages, 1);
    fixture_destroy(loop);
}

static void do_close(jzx_context *ctx, struct ear *self) {
    size_t count = 4711;
    JZX_EXPECT_EQ(jzx_loop_request_stop(ctx->loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_group_join(ctx, "after"), JZX_ERR_LOOP_CLOSED);
    JZX_EXPECT_EQ(jzx_group_monitor(ctx, "after", NULL, 0, &count), JZX_ERR_LOOP_CLOSED);
    JZX_EXPECT_EQ(jzx_group_broadcast(ctx->loop, "all", ctx->self, NULL, 0, 1, &count),
                  JZX_ERR_LOOP_CLOSED);
    JZX_EXPECT_EQ(count, 4711);
    self->err = jzx_group_leave(ctx, "all");
}

JZX_TEST(a_closed_loop_lets_nobody_join, "D+pg") {
    jzx_loop *loop = fixture_loop();
    struct ear ear = {0};
    ear_spawn(loop, &ear);
    JZX_EXPECT_EQ(join(loop, &ear, "all"), JZX_OK);
    JZX_EXPECT_EQ(ear_do(loop, &ear, do_close, NULL), JZX_OK);
    JZX_EXPECT_EQ(member_count(loop, "all"), 0);
    fixture_destroy(loop);
}

JZX_TEST(groups_that_come_and_go_take_no_memory_for_ever, "D+pg", "C17") {
    jzx_loop *loop = fixture_loop();
    struct ear ears[40] = {0};
    struct heard heard[1];
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < 40; i++) {
        ears[i].heard = heard;
        ear_spawn(loop, &ears[i]);
    }
    for (uint32_t round = 0; round < 300; round++) {
        char group[32];
        snprintf(group, sizeof group, "round %u", round);
        for (uint32_t i = 0; i < 40; i++)
            JZX_EXPECT_EQ(join(loop, &ears[i], group), JZX_OK);
        JZX_EXPECT_EQ(member_count(loop, group), 40);
        for (uint32_t i = 0; i < 40; i++)
            JZX_EXPECT_EQ(leave(loop, &ears[i], group), JZX_OK);
        JZX_EXPECT_EQ(monitor(loop, &ears[0], group), JZX_OK);
        JZX_EXPECT_EQ(demonitor(loop, &ears[0], group), JZX_OK);
        if (round == 100)
            bytes = fixture_bytes();
    }
    JZX_EXPECT_EQ(fixture_bytes(), bytes);
    fixture_destroy(loop);
}

/* ---- contexts that are nobody's ---- */

static jzx_context *kept;

static jzx_behavior_result keep_context(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    jzx_context copy = *ctx;
    (void)msg;
    kept = ctx;
    JZX_EXPECT_EQ(jzx_group_join(&copy, "g"), JZX_ERR_INVALID_ARG);
    return JZX_BEHAVIOR_OK;
}

static void use_context(jzx_loop *loop, void *arg) {
    jzx_test_ran();
    size_t count = 7;
    (void)loop;
    (void)arg;
    JZX_EXPECT_EQ(jzx_group_join(kept, "g"), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_group_leave(kept, "g"), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_group_list(kept, NULL, 0, &count), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_group_monitor(kept, "g", NULL, 0, &count), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_group_demonitor(kept, "g"), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(count, 7);
}

JZX_TEST(contexts_that_were_copied_or_kept_join_nothing, "D+pg") {
    jzx_loop *loop = fixture_loop();
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = keep_context));
    fixture_send(loop, id, 1);
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_call(loop, use_context, NULL), JZX_OK); /* no turn runs then */
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), 2);
    fixture_destroy(loop);
}
