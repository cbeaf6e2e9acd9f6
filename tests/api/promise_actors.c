/* SPDX-License-Identifier: MIT */
/* The promises about actors, attacked: ends in odd places, turns beside floods of newer actors, and
 * actors that are bound while everything else moves. */
#include "fixture.h"

#include <pthread.h>

/* ---- init and cleanup, however it ends ---- */

enum way {
    RETURN_STOP,
    RETURN_FAIL,
    RETURN_NONSENSE,
    EXIT_DEEP,
    EXIT_IN_CLEANUP,
    INIT_REFUSES,
    INIT_EXITS,
    INIT_STOPS_ITSELF,
    KILLED_BEFORE_INIT,
    STOPPED_BEFORE_INIT,
    QUEUE_BEFORE_INIT,
    FAILED_BEFORE_INIT,
    KILLS_ITSELF,
    LINK_DIES,
    LEFT_ALIVE,
    NEVER_RUN,
    LOOP_STOPPED_INSIDE,
    WAYS
};

struct life {
    enum way way;
    uint32_t inits;
    uint32_t messages;
    uint32_t cleanups;
    jzx_exit_reason reason;
    jzx_actor_id self;
};

static jzx_err begin(jzx_context *ctx) {
    struct life *self = ctx->state;
    jzx_test_ran();
    self->inits++;
    JZX_EXPECT_EQ(self->messages, 0);
    JZX_EXPECT_EQ(self->cleanups, 0);
    if (self->way == INIT_EXITS)
        jzx_exit(ctx, JZX_EXIT_FAIL, "in its init");
    if (self->way == INIT_STOPS_ITSELF)
        JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, ctx->self, JZX_STOP_KILL), JZX_OK);
    /* Sent before its first message, handled after what waits. */
    JZX_EXPECT_EQ(jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, 2),
                  self->way == QUEUE_BEFORE_INIT ? JZX_ERR_NO_SUCH_ACTOR : JZX_OK);
    return self->way == INIT_REFUSES ? JZX_ERR_UNKNOWN : JZX_OK;
}

static void finish(jzx_context *ctx, jzx_exit_reason reason) {
    struct life *self = ctx->state;
    jzx_test_ran();
    self->cleanups++;
    self->reason = reason;
    JZX_EXPECT_EQ(ctx->self, self->self);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, ctx->self, 0, NULL, 0, 1) == JZX_OK, false);
    JZX_EXPECT_EQ(jzx_become(ctx, NULL) == JZX_OK, false);
    jzx_actor_info info = {.size = sizeof info};
    JZX_EXPECT_EQ(jzx_actor_info_get(ctx->loop, ctx->self, &info), JZX_OK);
    JZX_EXPECT_EQ(info.status == JZX_ACTOR_STOPPED || info.status == JZX_ACTOR_FAILED, true);
    if (self->way == EXIT_IN_CLEANUP)
        jzx_exit(ctx, JZX_EXIT_FAIL, "in its cleanup");
}

static void deep(jzx_context *ctx, uint32_t levels) {
    volatile char ballast[64];
    ballast[0] = (char)levels;
    if (levels > 0)
        deep(ctx, levels - 1);
    JZX_CHECK(ctx, ballast[0] != 0); /* the innermost one ends the actor */
}

static jzx_behavior_result die(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    return JZX_BEHAVIOR_FAIL;
}

static jzx_behavior_result live(jzx_context *ctx, const jzx_message *msg) {
    struct life *self = ctx->state;
    (void)msg;
    jzx_test_ran();
    JZX_EXPECT_EQ(self->inits, 1);
    JZX_EXPECT_EQ(self->cleanups, 0);
    self->messages++;
    if (self->way == RETURN_STOP || self->way == EXIT_IN_CLEANUP)
        return JZX_BEHAVIOR_STOP;
    if (self->way == RETURN_FAIL)
        return JZX_BEHAVIOR_FAIL;
    if (self->way == RETURN_NONSENSE)
        return (jzx_behavior_result)77;
    if (self->way == EXIT_DEEP)
        deep(ctx, 50);
    if (self->way == KILLS_ITSELF)
        JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, ctx->self, JZX_STOP_KILL), JZX_OK);
    if (self->way == LINK_DIES && self->messages == 1) {
        jzx_actor_id other = JZX_NOBODY;
        jzx_spawn_opts opts = JZX_SPAWN_OPTS(.behavior = die);
        JZX_EXPECT_EQ(jzx_spawn_watched(ctx, &opts, true, &other, NULL), JZX_OK);
        JZX_EXPECT_EQ(jzx_send(ctx->loop, other, 0, NULL, 0, 1), JZX_OK);
    }
    if (self->way == LOOP_STOPPED_INSIDE)
        JZX_EXPECT_EQ(jzx_loop_request_stop(ctx->loop), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

static jzx_exit_reason reason_of(enum way way) {
    switch (way) {
    case RETURN_STOP:
    case STOPPED_BEFORE_INIT:
    case QUEUE_BEFORE_INIT:
    case EXIT_IN_CLEANUP: return JZX_EXIT_NORMAL;
    case RETURN_FAIL:
    case INIT_REFUSES:
    case INIT_EXITS:
    case FAILED_BEFORE_INIT:
    case EXIT_DEEP:
    case LINK_DIES: return JZX_EXIT_FAIL;
    case RETURN_NONSENSE: return JZX_EXIT_PANIC;
    case INIT_STOPS_ITSELF:
    case KILLED_BEFORE_INIT:
    case KILLS_ITSELF: return JZX_EXIT_KILLED;
    default: return JZX_EXIT_SHUTDOWN;
    }
}

static void end_in_way(enum way way) {
    jzx_loop *loop = fixture_loop();
    struct life life = {.way = way};
    life.self = fixture_spawn(
        loop, &JZX_SPAWN_OPTS(.behavior = live, .state = &life, .init = begin, .cleanup = finish));
    for (uint32_t i = 0; i < 3; i++)
        fixture_send(loop, life.self, 1);
    if (way == KILLED_BEFORE_INIT)
        assert_int_equal(jzx_actor_stop(loop, life.self, JZX_STOP_KILL), JZX_OK);
    if (way == STOPPED_BEFORE_INIT)
        assert_int_equal(jzx_actor_stop(loop, life.self, JZX_STOP_AFTER_MESSAGE), JZX_OK);
    if (way == QUEUE_BEFORE_INIT)
        assert_int_equal(jzx_actor_stop(loop, life.self, JZX_STOP_AFTER_QUEUE), JZX_OK);
    if (way == FAILED_BEFORE_INIT)
        assert_int_equal(jzx_actor_fail(loop, life.self), JZX_OK);
    if (way != NEVER_RUN)
        assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(life.cleanups, way != LEFT_ALIVE && way != NEVER_RUN);
    fixture_destroy(loop);
    assert_int_equal(life.cleanups, 1);
    JZX_EXPECT_EQ(life.reason, reason_of(way));
    JZX_EXPECT(life.inits <= 1);
    JZX_EXPECT(life.inits == 1 || life.messages == 0);
    if (way == LEFT_ALIVE)
        JZX_EXPECT_EQ(life.messages, 4);
}

JZX_TEST(init_comes_first_and_cleanup_once_in_every_way_to_end) {
    for (int way = 0; way < WAYS; way++)
        end_in_way((enum way)way);
    assert_true(jzx_test_runs() > WAYS);
}

/* ---- nobody runs inside another ---- */

static struct {
    uint32_t depth;
    uint32_t turns;
    jzx_actor_id friends[8];
} nest;

static jzx_loop *nest_loop; /* NULL: it is being destroyed */

static void send_from_destructor(void *data, size_t len);

/* Does all that could make somebody else run at once. */
static jzx_behavior_result provoke(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    JZX_EXPECT_EQ(nest.depth++, 0);
    nest.turns++;
    JZX_EXPECT_EQ(jzx_current_actor(), ctx->self);
    JZX_EXPECT_EQ(jzx_current_kind(), JZX_CONTEXT_WAITLESS);
    jzx_actor_id friend = nest.friends[(nest.turns * 5) % 8];
    void *buffer = jzx_msg_alloc(ctx->loop, 8, send_from_destructor);
    if (JZX_EXPECT(buffer != NULL) && jzx_send_msg(ctx->loop, friend, ctx->self, buffer, 1))
        jzx_msg_free(ctx->loop, buffer);
    (void)jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, 2);
    (void)jzx_send_when_room(ctx->loop, friend, ctx->self);
    (void)jzx_send_after(ctx->loop, friend, 0, NULL, 0, 3, 0, NULL);
    if (nest.turns % 16 == 0)
        (void)jzx_actor_stop(ctx->loop, friend, (jzx_stop_kind)(nest.turns / 16 % 3));
    JZX_EXPECT_EQ(jzx_loop_run(ctx->loop), JZX_ERR_BUSY);
    JZX_EXPECT_EQ(jzx_loop_step(ctx->loop, JZX_NEVER), JZX_ERR_BUSY);
    JZX_EXPECT_EQ(jzx_loop_destroy(ctx->loop), JZX_ERR_BUSY);
    JZX_EXPECT_EQ(jzx_current_actor(), ctx->self);
    JZX_EXPECT_EQ(nest.depth--, 1);
    (void)msg;
    return JZX_BEHAVIOR_OK;
}

static void send_from_destructor(void *data, size_t len) {
    (void)data;
    JZX_EXPECT_EQ(len, 8);
    if (nest_loop != NULL)
        (void)jzx_send(nest_loop, nest.friends[nest.turns % 8], 0, NULL, 0, 4);
}

static jzx_err nest_init(jzx_context *ctx) {
    (void)ctx;
    JZX_EXPECT_EQ(nest.depth, 0);
    return JZX_OK;
}

static void nest_cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    JZX_EXPECT_EQ(nest.depth, 0);
    if (reason == JZX_EXIT_SHUTDOWN || nest_loop == NULL)
        return;
    jzx_spawn_opts opts =
        JZX_SPAWN_OPTS(.behavior = provoke, .init = nest_init, .cleanup = nest_cleanup,
                       .mailbox_cap = 1, .on_full = JZX_FULL_DROP_OLDEST,
                       .priority = (uint8_t)(nest.turns % 5));
    for (uint32_t i = 0; i < 8; i++) {
        if (nest.friends[i] == ctx->self)
            JZX_EXPECT_EQ(jzx_spawn(ctx->loop, &opts, &nest.friends[i]), JZX_OK);
    }
}

static void nest_observe(void *ctx, const jzx_event *event) {
    static uint32_t inside; /* its own send may drop a message, too */
    (void)ctx;
    if (event->kind == JZX_EVENT_DEAD_LETTER && nest_loop != NULL && inside++ == 0)
        (void)jzx_send(nest_loop, nest.friends[nest.turns % 8], 0, NULL, 0, 5);
    inside -= event->kind == JZX_EVENT_DEAD_LETTER && nest_loop != NULL;
}

JZX_TEST(nothing_that_a_behaviour_calls_runs_another_inside_it) {
    jzx_clock *clock = jzx_clock_manual(5);
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.clock = clock, .max_msgs_per_actor = 2));
    jzx_observer observer = JZX_OBSERVER(.on_event = nest_observe);
    nest_loop = loop;
    assert_int_equal(jzx_loop_set_observer(loop, &observer, NULL), JZX_OK);
    for (uint32_t i = 0; i < 8; i++)
        nest.friends[i] = fixture_spawn(
            loop, &JZX_SPAWN_OPTS(.behavior = provoke, .init = nest_init, .cleanup = nest_cleanup,
                                  .mailbox_cap = 1 + i / 4, .on_full = (jzx_on_full)(i % 3)));
    for (uint32_t i = 0; i < 8; i++)
        (void)jzx_send(loop, nest.friends[i], 0, NULL, 0, 1);
    while (nest.turns < 3000) { /* each step ends after a turn */
        uint32_t before = nest.turns;
        assert_int_equal(jzx_loop_step(loop, 0), JZX_OK);
        jzx_clock_advance(clock, 1000);
        if (nest.turns == before)
            (void)jzx_send(loop, nest.friends[before % 8], 0, NULL, 0, 1);
    }
    nest_loop = NULL;
    assert_int_equal(jzx_loop_destroy(loop), JZX_OK);
    assert_int_equal(jzx_clock_free(clock), JZX_OK);
}

/* ---- turns ---- */

static struct {
    uint32_t last;
    uint32_t in_a_row;
    uint32_t longest;
} streak;

static jzx_behavior_result count_streak(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    streak.in_a_row = streak.last == msg->tag ? streak.in_a_row + 1 : 1;
    streak.last = msg->tag;
    if (streak.in_a_row > streak.longest)
        streak.longest = streak.in_a_row;
    (void)ctx;
    return JZX_BEHAVIOR_OK;
}

static void turns_of(uint32_t most) {
    jzx_clock *clock = jzx_clock_manual(0);
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.max_msgs_per_actor = most, .clock = clock));
    jzx_actor_id ids[3];
    for (uint32_t i = 0; i < 3; i++)
        ids[i] = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = count_streak));
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    streak.last = UINT32_MAX;
    streak.longest = 0;
    uint64_t runs = jzx_test_runs();
    for (uint32_t round = 0; round < 100; round++) {
        for (uint32_t i = 0; i < 3; i++)
            fixture_send(loop, ids[i], i);
    }
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(jzx_test_runs(), runs + 300);
    JZX_EXPECT(streak.longest <= most);
    fixture_destroy(loop);
    assert_int_equal(jzx_clock_free(clock), JZX_OK);
}

JZX_TEST(while_others_wait_no_actor_has_more_than_its_messages_in_a_row) {
    turns_of(1);
    turns_of(2);
    turns_of(7);
    turns_of(33);
}

static struct {
    uint32_t born;
    uint32_t old_turns;
    uint64_t messages;
    uint64_t longest_wait;
    uint64_t last_old;
    bool over;
} nursery;

static jzx_behavior_result breed(jzx_context *ctx, const jzx_message *msg);

static jzx_err breed_at_birth(jzx_context *ctx) {
    jzx_spawn_opts opts =
        JZX_SPAWN_OPTS(.behavior = breed, .init = breed_at_birth, .priority = JZX_PRIORITY_DEFAULT);
    nursery.messages++;
    jzx_test_ran();
    if (!nursery.over && ++nursery.born < 200000)
        JZX_EXPECT_EQ(jzx_spawn(ctx->loop, &opts, NULL), JZX_OK);
    return JZX_ERR_UNKNOWN; /* it ends at once: only newer ones are left */
}

static jzx_behavior_result breed(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    return JZX_BEHAVIOR_STOP;
}

static jzx_behavior_result be_old(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    uint64_t wait = nursery.messages - nursery.last_old;
    if (wait > nursery.longest_wait)
        nursery.longest_wait = wait;
    nursery.last_old = nursery.messages;
    if (++nursery.old_turns == 50) {
        nursery.over = true;
        return JZX_BEHAVIOR_STOP;
    }
    return jzx_send(ctx->loop, ctx->self, 0, NULL, 0, 1) == JZX_OK ? JZX_BEHAVIOR_OK
                                                                   : JZX_BEHAVIOR_FAIL;
}

/* Each new actor makes the next one before it ends: there is always one that is newer. Time stands
 * still, so a turn counts for 100 ns and the bound of 5 ms is 50,000 of them. */
JZX_TEST(an_actor_that_is_ready_is_not_starved_by_a_flood_of_newer_ones) {
    for (uint8_t priority = JZX_PRIORITY_CRITICAL; priority <= JZX_PRIORITY_LOW; priority++) {
        jzx_clock *clock = jzx_clock_manual(0);
        jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.clock = clock));
        nursery.born = 0;
        nursery.old_turns = 0;
        nursery.over = false;
        jzx_actor_id old =
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = be_old, .priority = priority));
        assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
        nursery.last_old = nursery.messages;
        fixture_send(loop, old, 1);
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = breed, .init = breed_at_birth));
        assert_int_equal(jzx_loop_run(loop), JZX_OK);
        assert_int_equal(nursery.old_turns, 50);
        JZX_EXPECT(nursery.born < 200000);
        fixture_destroy(loop);
        assert_int_equal(jzx_clock_free(clock), JZX_OK);
    }
    assert_true(jzx_test_runs() > 4);
}

/* ---- places ---- */

#define WORKERS 3u

struct bound {
    uint16_t place;
    uint32_t messages;
    uint32_t calls; /* init, messages and cleanup */
};

static pthread_t caller;

static void check_place(struct bound *self) {
    jzx_test_ran();
    self->calls++;
    if (self->place == JZX_PLACE_CALLER)
        JZX_EXPECT(pthread_equal(pthread_self(), caller) != 0);
    else
        JZX_EXPECT_EQ(jzx_current_worker() + 1u, self->place);
}

static jzx_err bound_init(jzx_context *ctx) {
    check_place(ctx->state);
    return JZX_OK;
}

static void bound_cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    (void)reason;
    check_place(ctx->state);
}

static jzx_behavior_result be_bound(jzx_context *ctx, const jzx_message *msg) {
    struct bound *self = ctx->state;
    check_place(self);
    jzx_actor_id back = msg->sender;
    if (back != JZX_NOBODY)
        (void)jzx_send(ctx->loop, back, ctx->self, NULL, 0, 1);
    return ++self->messages == 100 ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

static jzx_actor_id bound_ids[12];

/* Unbound, and talks to all of them. */
static jzx_behavior_result talk(jzx_context *ctx, const jzx_message *msg) {
    uint32_t *gone = ctx->state;
    (void)msg;
    jzx_test_ran();
    *gone = 0;
    for (uint32_t i = 0; i < 12; i++)
        *gone += jzx_send(ctx->loop, bound_ids[i], 0, NULL, 0, 1) == JZX_ERR_NO_SUCH_ACTOR;
    if (*gone == 12)
        return JZX_BEHAVIOR_STOP;
    jzx_err err = jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, 1);
    return err == JZX_OK ? JZX_BEHAVIOR_OK : JZX_BEHAVIOR_FAIL;
}

static void *spawn_bound(void *arg) {
    jzx_loop *loop = ((void **)arg)[0];
    struct bound *states = ((void **)arg)[1];
    for (uint32_t i = 0; i < 12; i++) {
        states[i].place = i % 4 == 3 ? JZX_PLACE_CALLER : JZX_PLACE_WORKER(i % 4);
        bound_ids[i] = fixture_spawn(
            loop, &JZX_SPAWN_OPTS(.behavior = be_bound, .state = &states[i], .init = bound_init,
                                  .cleanup = bound_cleanup, .place = states[i].place,
                                  .priority = (uint8_t)(i % 5)));
    }
    return NULL;
}

JZX_TEST(bound_actors_stay_where_they_are_while_all_others_move) {
    for (uint32_t round = 0; round < 2; round++) {
        jzx_loop *loop =
            fixture_loop_with(&JZX_CONFIG(.workers = WORKERS, .balance = JZX_BALANCE_EAGER));
        struct bound states[12] = {{0}};
        uint32_t gone[4];
        void *args[2] = {loop, states};
        caller = pthread_self();
        if (round == 0) {
            spawn_bound(args);
        } else { /* from a thread that is none of the loop's */
            pthread_t thread;
            assert_int_equal(pthread_create(&thread, NULL, spawn_bound, args), 0);
            assert_int_equal(pthread_join(thread, NULL), 0);
        }
        for (uint32_t i = 0; i < 4; i++) {
            jzx_actor_id id =
                fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = talk, .state = &gone[i]));
            fixture_send(loop, id, 1);
        }
        assert_int_equal(jzx_loop_run(loop), JZX_OK);
        for (uint32_t i = 0; i < 12; i++) {
            assert_int_equal(states[i].messages, 100);
            assert_int_equal(states[i].calls, 102);
        }
        fixture_destroy(loop);
    }
}

JZX_TEST(a_place_that_the_loop_does_not_have_is_refused) {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 2));
    static const uint32_t workers[] = {2,     3,     JZX_WORKERS_MAX - 1, JZX_WORKERS_MAX,
                                       65534, 65535, UINT32_MAX};
    struct bound state = {.place = JZX_PLACE_WORKER(1)};
    for (size_t i = 0; i < sizeof workers / sizeof workers[0]; i++) {
        jzx_actor_id id = 9;
        JZX_EXPECT_EQ(jzx_spawn(loop,
                                &JZX_SPAWN_OPTS(.behavior = be_bound, .state = &state,
                                                .place = JZX_PLACE_WORKER(workers[i])),
                                &id),
                      JZX_ERR_INVALID_ARG);
        JZX_EXPECT_EQ(id, 9);
    }
    jzx_actor_id id = fixture_spawn(
        loop, &JZX_SPAWN_OPTS(.behavior = be_bound, .state = &state, .place = JZX_PLACE_WORKER(1)));
    for (uint32_t i = 0; i < 100; i++)
        fixture_send(loop, id, 1);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(state.messages, 100);
    fixture_destroy(loop);
}
