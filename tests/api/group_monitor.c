/* SPDX-License-Identifier: MIT */
/* Watching a group: a snapshot, and then every join and leave, in order and exactly once. */
#include "grouping.h"

static struct heard heard[4][HEARD_MAX];

static void open_ears(jzx_loop *loop, struct ear *ears, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        ears[i] = (struct ear){.heard = i < 4 ? heard[i] : NULL};
        ear_spawn(loop, &ears[i]);
    }
}

JZX_TEST(a_subscriber_hears_of_first_joins_and_last_leaves, "D+pg", "X15") {
    jzx_loop *loop = fixture_loop();
    struct ear ears[3];
    open_ears(loop, ears, 3);
    JZX_EXPECT_EQ(join(loop, &ears[1], "g"), JZX_OK); /* before: no message */
    JZX_EXPECT_EQ(monitor(loop, &ears[0], "g"), JZX_OK);
    JZX_EXPECT_EQ(ears[0].count, 1);
    JZX_EXPECT_EQ(join(loop, &ears[1], "g"), JZX_OK); /* it is one already */
    JZX_EXPECT_EQ(join(loop, &ears[2], "g"), JZX_OK);
    JZX_EXPECT_EQ(leave(loop, &ears[1], "g"), JZX_OK);
    JZX_EXPECT_EQ(join(loop, &ears[2], "other"), JZX_OK); /* another group */
    JZX_EXPECT_EQ(leave(loop, &ears[1], "g"), JZX_OK);
    JZX_EXPECT_EQ(join(loop, &ears[0], "g"), JZX_OK); /* itself */
    ear_stop(loop, &ears[2]);
    JZX_EXPECT_EQ(ears[0].events, 4);
    expect_event(&ears[0], 0, JZX_TAG_GROUP_JOIN, ears[2].id, "g");
    expect_event(&ears[0], 1, JZX_TAG_GROUP_LEAVE, ears[1].id, "g");
    expect_event(&ears[0], 2, JZX_TAG_GROUP_JOIN, ears[0].id, "g");
    expect_event(&ears[0], 3, JZX_TAG_GROUP_LEAVE, ears[2].id, "g");
    JZX_EXPECT_EQ(ears[1].events, 0);
    fixture_destroy(loop);
}

struct snapshot {
    const char *group;
    jzx_actor_id *ids;
    size_t capacity;
};

static void do_snapshot(jzx_context *ctx, struct ear *self) {
    const struct snapshot *wanted = self->arg;
    self->err = jzx_group_monitor(ctx, wanted->group, wanted->ids, wanted->capacity, &self->count);
}

JZX_TEST(a_subscription_begins_with_a_snapshot_or_not_at_all, "D+pg") {
    jzx_loop *loop = fixture_loop();
    struct ear ears[4];
    jzx_actor_id ids[3] = {0};
    open_ears(loop, ears, 4);
    for (uint32_t i = 1; i < 4; i++)
        JZX_EXPECT_EQ(join(loop, &ears[i], "g"), JZX_OK);
    struct snapshot small = {"g", ids, 2};
    JZX_EXPECT_EQ(ear_do(loop, &ears[0], do_snapshot, &small), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(ears[0].count, 3); /* so many there are */
    JZX_EXPECT_EQ(ids[0], 0);
    JZX_EXPECT_EQ(leave(loop, &ears[3], "g"), JZX_OK);
    JZX_EXPECT_EQ(ears[0].events, 0); /* it is no subscriber */
    JZX_EXPECT_EQ(join(loop, &ears[3], "g"), JZX_OK);
    struct snapshot large = {"g", ids, 3};
    JZX_EXPECT_EQ(ear_do(loop, &ears[0], do_snapshot, &large), JZX_OK);
    JZX_EXPECT_EQ(ears[0].count, 3);
    for (uint32_t i = 1; i < 4; i++)
        JZX_EXPECT(ids[0] == ears[i].id || ids[1] == ears[i].id || ids[2] == ears[i].id);
    JZX_EXPECT_EQ(ear_do(loop, &ears[0], do_snapshot, &large), JZX_OK); /* only looks again */
    JZX_EXPECT_EQ(leave(loop, &ears[3], "g"), JZX_OK);
    JZX_EXPECT_EQ(ears[0].events, 1); /* one subscription */
    fixture_destroy(loop);
}

JZX_TEST(who_ends_its_subscription_hears_nothing_more, "D+pg") {
    jzx_loop *loop = fixture_loop();
    struct ear ears[3];
    open_ears(loop, ears, 3);
    JZX_EXPECT_EQ(demonitor(loop, &ears[0], "g"), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(monitor(loop, &ears[0], "g"), JZX_OK);
    JZX_EXPECT_EQ(monitor(loop, &ears[1], "g"), JZX_OK);
    JZX_EXPECT_EQ(join(loop, &ears[2], "g"), JZX_OK);
    JZX_EXPECT_EQ(demonitor(loop, &ears[0], "g"), JZX_OK);
    JZX_EXPECT_EQ(demonitor(loop, &ears[0], "g"), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(demonitor(loop, &ears[2], "g"), JZX_ERR_NO_SUCH_ACTOR); /* a member only */
    JZX_EXPECT_EQ(leave(loop, &ears[2], "g"), JZX_OK);
    JZX_EXPECT_EQ(ears[0].events, 1);
    JZX_EXPECT_EQ(ears[1].events, 2);
    fixture_destroy(loop);
}

/* ---- events that wait when the subscription ends ---- */

static void post(jzx_loop *loop, struct ear *ear, ear_fn fn) {
    ear->arg = "g";
    JZX_EXPECT_EQ(jzx_send(loop, ear->id, JZX_NOBODY, &fn, sizeof fn, GROUPING_DO), JZX_OK);
}

static void do_monitor_only(jzx_context *ctx, struct ear *self) {
    self->err = jzx_group_monitor(ctx, self->arg, NULL, 0, NULL);
}

static void do_monitor_again(jzx_context *ctx, struct ear *self) {
    JZX_EXPECT_EQ(jzx_group_demonitor(ctx, self->arg), JZX_OK);
    do_monitor_only(ctx, self);
}

/* The member's turn comes first: its event waits when the subscriber's comes. */
JZX_TEST(events_that_wait_go_with_their_subscription) {
    static const ear_fn ends[] = {do_demonitor, do_monitor_again};
    for (uint32_t i = 0; i < 2; i++) {
        jzx_loop *loop = fixture_loop();
        struct ear ears[3];
        open_ears(loop, ears, 3);
        JZX_EXPECT_EQ(ear_do(loop, &ears[0], do_monitor_only, "g"), JZX_OK);
        JZX_EXPECT_EQ(ear_do(loop, &ears[0], do_monitor_only, "other"), JZX_OK);
        post(loop, &ears[1], do_join);
        post(loop, &ears[0], ends[i]);
        grouping_step(loop);
        JZX_EXPECT_EQ(ears[0].err, JZX_OK);
        JZX_EXPECT_EQ(ears[0].events, 0);
        fixture_check_books(loop);
        JZX_EXPECT_EQ(join(loop, &ears[2], "g"), JZX_OK);
        JZX_EXPECT_EQ(ears[0].events, i);
        JZX_EXPECT_EQ(join(loop, &ears[2], "other"), JZX_OK); /* another subscription goes on */
        JZX_EXPECT_EQ(ears[0].events, i + 1);
        fixture_destroy(loop);
    }
}

struct hoarder {
    struct ear ear;
    bool stashes;
    void *taken;
};

static jzx_behavior_result hoard(jzx_context *ctx, const jzx_message *msg) {
    struct hoarder *self = ctx->state;
    if (msg->tag != JZX_TAG_GROUP_JOIN)
        return listen(ctx, msg);
    if (self->stashes)
        JZX_EXPECT_EQ(jzx_stash(ctx, msg), JZX_OK);
    else if (self->ear.events++ == 0)
        self->taken = jzx_msg_take(ctx, msg);
    return JZX_BEHAVIOR_OK;
}

static void do_unstash(jzx_context *ctx, struct ear *self) {
    struct hoarder *hoarder = ctx->state; /* its first member is the ear */
    hoarder->stashes = false;
    self->count = jzx_unstash(ctx);
    self->err = JZX_OK;
}

JZX_TEST(events_that_are_stashed_go_with_their_subscription) {
    for (uint32_t ends = 0; ends < 2; ends++) {
        jzx_loop *loop = fixture_loop();
        struct hoarder hoarder = {.stashes = true};
        struct ear member = {0};
        hoarder.ear.id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = hoard, .state = &hoarder));
        ear_spawn(loop, &member);
        JZX_EXPECT_EQ(ear_do(loop, &hoarder.ear, do_monitor_only, "g"), JZX_OK);
        JZX_EXPECT_EQ(join(loop, &member, "g"), JZX_OK);
        if (ends == 1)
            JZX_EXPECT_EQ(demonitor(loop, &hoarder.ear, "g"), JZX_OK);
        JZX_EXPECT_EQ(ear_do(loop, &hoarder.ear, do_unstash, NULL), JZX_OK);
        JZX_EXPECT_EQ(hoarder.ear.count, 1);
        JZX_EXPECT_EQ(hoarder.ear.events, 1 - ends);
        if (ends == 0 && JZX_EXPECT(hoarder.taken != NULL)) {
            JZX_EXPECT_EQ(jzx_msg_len(hoarder.taken), sizeof(jzx_group_event));
            jzx_msg_free(loop, hoarder.taken);
        }
        fixture_destroy(loop);
    }
}

JZX_TEST(a_subscriber_that_ends_is_forgotten, "D+pg") {
    jzx_loop *loop = fixture_loop();
    struct ear ears[3];
    open_ears(loop, ears, 3);
    for (uint32_t i = 0; i < 3; i++) {
        JZX_EXPECT_EQ(monitor(loop, &ears[i], "g"), JZX_OK);
        JZX_EXPECT_EQ(join(loop, &ears[i], "g"), JZX_OK);
    }
    ear_stop(loop, &ears[0]);
    JZX_EXPECT_EQ(ears[0].events, 3); /* the joins, not its own end */
    JZX_EXPECT_EQ(ears[1].events, 3);
    JZX_EXPECT_EQ(ears[2].events, 2);
    JZX_EXPECT_EQ(leave(loop, &ears[1], "g"), JZX_OK);
    JZX_EXPECT_EQ(ears[2].events, 3);
    expect_event(&ears[2], 1, JZX_TAG_GROUP_LEAVE, ears[0].id, "g");
    expect_event(&ears[2], 2, JZX_TAG_GROUP_LEAVE, ears[1].id, "g");
    fixture_destroy(loop);
}

JZX_TEST(events_pass_a_full_mailbox_and_are_in_the_books, "D+pg", "X14", "X15") {
    jzx_loop *loop = fixture_loop();
    struct ear ears[3];
    open_ears(loop, ears, 3);
    ear_stop(loop, &ears[0]);
    ears[0].id = fixture_spawn(
        loop, &JZX_SPAWN_OPTS(.behavior = listen, .state = &ears[0], .mailbox_cap = 1));
    JZX_EXPECT_EQ(monitor(loop, &ears[0], "g"), JZX_OK);
    uint64_t accepted = fixture_stats(loop).accepted;
    ear_fn fn = do_join;
    ears[1].arg = ears[2].arg = "g";
    JZX_EXPECT_EQ(jzx_send(loop, ears[1].id, JZX_NOBODY, &fn, sizeof fn, GROUPING_DO), JZX_OK);
    JZX_EXPECT_EQ(jzx_send(loop, ears[2].id, JZX_NOBODY, &fn, sizeof fn, GROUPING_DO), JZX_OK);
    fixture_send(loop, ears[0].id, 1);
    JZX_EXPECT_EQ(jzx_send(loop, ears[0].id, JZX_NOBODY, NULL, 0, 1), JZX_ERR_MAILBOX_FULL);
    grouping_step(loop);
    JZX_EXPECT_EQ(ears[0].events, 2);
    JZX_EXPECT_EQ(ears[0].messages, 1);
    jzx_stats stats = fixture_stats(loop);
    JZX_EXPECT_EQ(stats.accepted, accepted + 3 + 2);
    JZX_EXPECT_EQ(stats.waiting, 0);
    fixture_destroy(loop);
}

/* Of a subscriber that has ended: what waited for it is dead, what comes later is not sent. */
JZX_TEST(events_that_wait_for_a_subscriber_that_ends_are_dead_letters, "X14") {
    jzx_loop *loop = fixture_loop();
    struct ear ears[2];
    open_ears(loop, ears, 2);
    JZX_EXPECT_EQ(monitor(loop, &ears[0], "g"), JZX_OK);
    ear_fn fn = do_join;
    ears[1].arg = "g";
    JZX_EXPECT_EQ(jzx_send(loop, ears[1].id, JZX_NOBODY, &fn, sizeof fn, GROUPING_DO), JZX_OK);
    fixture_send(loop, ears[0].id, GROUPING_STOP); /* runs after the join, before its event */
    grouping_step(loop);
    jzx_stats stats = fixture_stats(loop);
    JZX_EXPECT_EQ(stats.accepted, stats.handled + stats.dead);
    JZX_EXPECT_EQ(ears[0].events + stats.dead, 1);
    JZX_EXPECT_EQ(leave(loop, &ears[1], "g"), JZX_OK);
    fixture_destroy(loop);
}

/* ---- against a model ---- */

#define ACTORS 12u
#define GROUPS 3u

struct model {
    uint32_t joins[ACTORS][GROUPS];
    bool watches[ACTORS][GROUPS];
    bool seen[ACTORS][GROUPS][ACTORS]; /* what a subscriber thinks */
    uint32_t told[ACTORS];             /* events that it has taken into account */
};

static struct heard stories[ACTORS][HEARD_MAX];

static const char *const group_names[GROUPS] = {"red", "green", "a group with a longer name"};

static uint32_t index_of(const struct ear *ears, jzx_actor_id id) {
    uint32_t i = 0;
    while (i < ACTORS && ears[i].id != id)
        i++;
    return i;
}

/* Replays what a subscriber has heard: no join of a member, no leave of a stranger. */
static void catch_up(struct model *model, const struct ear *ears, uint32_t who) {
    for (; model->told[who] < ears[who].events; model->told[who]++) {
        const struct heard *event = &ears[who].heard[model->told[who]];
        uint32_t actor = index_of(ears, event->actor);
        uint32_t group = 0;
        while (group < GROUPS && strcmp(group_names[group], event->group) != 0)
            group++;
        if (!JZX_EXPECT(actor < ACTORS && group < GROUPS))
            continue;
        bool joins = event->tag == JZX_TAG_GROUP_JOIN;
        JZX_EXPECT_EQ(model->seen[who][group][actor], !joins);
        model->seen[who][group][actor] = joins;
    }
}

static void check_model(jzx_loop *loop, struct model *model, const struct ear *ears) {
    for (uint32_t g = 0; g < GROUPS; g++) {
        uint32_t members = 0;
        for (uint32_t i = 0; i < ACTORS; i++) {
            members += model->joins[i][g] != 0;
            JZX_EXPECT_EQ(is_member(loop, group_names[g], ears[i].id), model->joins[i][g] != 0);
        }
        JZX_EXPECT_EQ(member_count(loop, group_names[g]), members);
        for (uint32_t who = 0; who < ACTORS; who++) {
            catch_up(model, ears, who);
            for (uint32_t i = 0; i < ACTORS && model->watches[who][g]; i++)
                JZX_EXPECT_EQ(model->seen[who][g][i], model->joins[i][g] != 0);
        }
    }
}

static void begin_watch(jzx_loop *loop, struct model *model, struct ear *ears, uint32_t who,
                        uint32_t g) {
    jzx_actor_id ids[ACTORS];
    struct snapshot wanted = {group_names[g], ids, ACTORS};
    JZX_EXPECT_EQ(ear_do(loop, &ears[who], do_snapshot, &wanted), JZX_OK);
    model->watches[who][g] = true;
    memset(model->seen[who][g], 0, sizeof model->seen[who][g]);
    for (size_t i = 0; i < ears[who].count && i < ACTORS; i++)
        model->seen[who][g][index_of(ears, ids[i])] = true;
}

static void replace(jzx_loop *loop, struct model *model, struct ear *ears, uint32_t who) {
    ear_stop(loop, &ears[who]);
    memset(model->joins[who], 0, sizeof model->joins[who]);
    memset(model->watches[who], 0, sizeof model->watches[who]);
    check_model(loop, model, ears); /* while the old id is known */
    ears[who] = (struct ear){.heard = stories[who]};
    model->told[who] = 0;
    ear_spawn(loop, &ears[who]);
}

JZX_TEST(whatever_happens_the_groups_are_as_in_the_model, "D+pg", "X15") {
    for (uint32_t seed = 1; seed <= 20; seed++) {
        static struct model model;
        static struct ear ears[ACTORS];
        uint32_t random = seed;
        jzx_loop *loop = fixture_loop();
        memset(&model, 0, sizeof model);
        for (uint32_t i = 0; i < ACTORS; i++) {
            ears[i] = (struct ear){.heard = stories[i]};
            ear_spawn(loop, &ears[i]);
        }
        for (uint32_t n = 0; n < 300; n++) {
            random = random * 1664525u + 1013904223u;
            uint32_t who = (random >> 8) % ACTORS;
            uint32_t g = (random >> 16) % GROUPS;
            uint32_t *joins = &model.joins[who][g];
            switch ((random >> 24) % 8) {
            case 0:
            case 1:
            case 2:
                JZX_EXPECT_EQ(join(loop, &ears[who], group_names[g]), JZX_OK);
                ++*joins;
                break;
            case 3:
            case 4:
                JZX_EXPECT_EQ(leave(loop, &ears[who], group_names[g]),
                              *joins != 0 ? JZX_OK : JZX_ERR_NO_SUCH_ACTOR);
                *joins -= *joins != 0;
                break;
            case 5: begin_watch(loop, &model, ears, who, g); break;
            case 6:
                JZX_EXPECT_EQ(demonitor(loop, &ears[who], group_names[g]),
                              model.watches[who][g] ? JZX_OK : JZX_ERR_NO_SUCH_ACTOR);
                model.watches[who][g] = false;
                break;
            default: replace(loop, &model, ears, who); break;
            }
            check_model(loop, &model, ears);
        }
        fixture_destroy(loop);
    }
}

/* ---- subscribers that lag ---- */

static void do_come_and_go(jzx_context *ctx, struct ear *self) {
    const uint32_t *times = self->arg;
    self->err = JZX_OK;
    for (uint32_t i = 0; i < *times; i++) {
        JZX_EXPECT_EQ(jzx_group_join(ctx, "g"), JZX_OK);
        JZX_EXPECT_EQ(jzx_group_leave(ctx, "g"), JZX_OK);
    }
    JZX_EXPECT_EQ(jzx_group_join(ctx, "g"), JZX_OK);
}

struct laggard {
    struct ear ear;
    uint32_t notices;
    uint64_t missed;
    bool stashes; /* the notice, once */
};

static jzx_behavior_result lag(jzx_context *ctx, const jzx_message *msg) {
    struct laggard *self = ctx->state;
    if (msg->tag != JZX_TAG_GROUP_LAGGED)
        return listen(ctx, msg);
    jzx_group_event event;
    memcpy(&event, msg->data, sizeof event);
    JZX_EXPECT_EQ(strcmp(event.group, "g"), 0);
    JZX_EXPECT_EQ(event.actor, JZX_NOBODY);
    JZX_EXPECT_EQ(msg->sender, JZX_NOBODY);
    if (self->stashes) {
        self->stashes = false;
        JZX_EXPECT_EQ(jzx_stash(ctx, msg), JZX_OK);
        return JZX_BEHAVIOR_OK;
    }
    self->notices++;
    self->missed += event.missed;
    JZX_EXPECT_EQ(jzx_group_monitor(ctx, "g", NULL, 0, &self->ear.count), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

static void expect_lag(jzx_loop *loop, uint32_t times, uint32_t heard_events, uint64_t missed) {
    struct laggard laggard = {.ear = {.heard = heard[0]}};
    struct ear member = {0};
    laggard.ear.id =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = lag, .state = &laggard, .mailbox_cap = 1));
    ear_spawn(loop, &member);
    JZX_EXPECT_EQ(monitor(loop, &laggard.ear, "g"), JZX_OK);
    for (uint32_t round = 1; round <= 2; round++) { /* a notice that was handled begins anew */
        JZX_EXPECT_EQ(ear_do(loop, &member, do_come_and_go, &times), JZX_OK);
        JZX_EXPECT_EQ(laggard.ear.events, round * heard_events + round - 1);
        JZX_EXPECT_EQ(laggard.missed, round * missed);
        JZX_EXPECT_EQ(laggard.notices, missed != 0 ? round : 0);
        JZX_EXPECT_EQ(laggard.ear.count, missed != 0 ? 1 : 0); /* the members as they are */
        expect_event(&laggard.ear, 0, JZX_TAG_GROUP_JOIN, member.id, "g");
        JZX_EXPECT_EQ(leave(loop, &member, "g"), JZX_OK);
        expect_event(&laggard.ear, laggard.ear.events - 1, JZX_TAG_GROUP_LEAVE, member.id, "g");
    }
    fixture_destroy(loop);
}

JZX_TEST(a_subscriber_that_lags_is_told_how_much_it_missed, "D+pg") {
    expect_lag(fixture_loop(), 31, 63, 0);
    expect_lag(fixture_loop(), 32, 64, 1);
    expect_lag(fixture_loop(), 100, 64, 137);
    expect_lag(fixture_loop_with(&JZX_CONFIG(.max_group_events = 1)), 2, 1, 4);
    expect_lag(fixture_loop_with(&JZX_CONFIG(.max_group_events = JZX_UNLIMITED)), 100, 201, 0);
}

static uint64_t bytes_then;

static void do_churn(jzx_context *ctx, struct ear *self) {
    uint32_t times = 100;
    self->arg = &times;
    do_come_and_go(ctx, self);
    uint64_t bytes = fixture_bytes();
    times = 10000;
    do_come_and_go(ctx, self);
    bytes_then = fixture_bytes() - bytes;
}

JZX_TEST(events_for_a_subscriber_that_lags_take_no_memory_for_ever, "D+pg") {
    jzx_loop *loop = fixture_loop();
    struct laggard laggard = {.ear = {.heard = heard[0]}};
    struct ear member = {0};
    laggard.ear.id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = lag, .state = &laggard));
    ear_spawn(loop, &member);
    JZX_EXPECT_EQ(monitor(loop, &laggard.ear, "g"), JZX_OK);
    bytes_then = 77;
    JZX_EXPECT_EQ(ear_do(loop, &member, do_churn, NULL), JZX_OK);
    JZX_EXPECT_EQ(bytes_then, 0);
    JZX_EXPECT_EQ(laggard.notices, 1);
    fixture_destroy(loop);
}

static void do_unstash_all(jzx_context *ctx, struct ear *self) {
    self->count = jzx_unstash(ctx);
    self->err = JZX_OK;
}

JZX_TEST(a_notice_that_is_put_aside_counts_what_was_missed_before_it, "D+pg") {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.max_group_events = 1));
    struct laggard laggard = {.ear = {.heard = heard[0]}, .stashes = true};
    struct ear member = {0};
    uint32_t times = 1;
    laggard.ear.id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = lag, .state = &laggard));
    ear_spawn(loop, &member);
    JZX_EXPECT_EQ(monitor(loop, &laggard.ear, "g"), JZX_OK);
    JZX_EXPECT_EQ(ear_do(loop, &member, do_come_and_go, &times), JZX_OK); /* one, and two missed */
    JZX_EXPECT_EQ(laggard.notices, 0);
    JZX_EXPECT_EQ(leave(loop, &member, "g"), JZX_OK); /* told, as the notice was seen */
    JZX_EXPECT_EQ(laggard.ear.events, 2);
    JZX_EXPECT_EQ(ear_do(loop, &laggard.ear, do_unstash_all, NULL), JZX_OK);
    grouping_step(loop);
    JZX_EXPECT_EQ(laggard.notices, 1);
    JZX_EXPECT_EQ(laggard.missed, 2);
    fixture_destroy(loop);
}
