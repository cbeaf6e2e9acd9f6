/* SPDX-License-Identifier: MIT */
/* Questions to actors that die all the time, on one to four workers, with actors that move after
 * every message: each question without a deadline is answered or ends with who was asked, once. */
#include "actor/loop.h"

#include "fixture.h"

#include <jzx/ask.h>
#include <jzx/supervisor.h>

#include <stdatomic.h>
#include <string.h>

enum { START = 1, QUESTION, ANSWER, PASSED, AGAIN };

#define DESKS 4u
#define ASKERS 8u
#define OPEN_MAX 16u
#define PATIENCE 100u

static struct {
    jzx_loop *loop;
    _Atomic uint64_t desks[DESKS]; /* soon stale */
    atomic_uint seed;
    uint32_t questions; /* of each asker */
    atomic_uint askers_left;
    jzx_actor_id root; /* of the desks, if they are children */
    atomic_bool over;
    atomic_uint answered;
    atomic_uint downs;
    atomic_uint timeouts;
} stage;

static uint32_t next_random(uint32_t *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static uint32_t any_number(void) {
    uint32_t seed = atomic_fetch_add(&stage.seed, 1) * 2654435761u;
    next_random(&seed);
    return next_random(&seed);
}

/* A loop whose actors move to another worker after every message, if it is restless. */
static jzx_loop *open_loop(uint32_t workers, bool restless) {
    jzx_loop *loop =
        fixture_loop_with(&JZX_CONFIG(.workers = workers, .balance = JZX_BALANCE_EAGER));
    assert_non_null(loop);
    loop->sched.restless = restless && workers > 1;
    /* relaxed: sends every spawn the long way, where it is made restless */
    jzx__atomic_store_relaxed(&loop->observer.is_set, loop->sched.restless ? 1u : 0u);
    return loop;
}

/* ---- desks ---- */

/* Has another desk answer. */
static void pass_on(jzx_context *ctx, const jzx_message *msg) {
    jzx_ask_handle handle = jzx_ask_from(ctx, msg);
    jzx_actor_id other = atomic_load(&stage.desks[any_number() % DESKS]);
    jzx_send(ctx->loop, other, ctx->self, &handle, sizeof handle, PASSED); /* perhaps to nobody */
}

static jzx_behavior_result be_desk(jzx_context *ctx, const jzx_message *msg) {
    jzx_ask_handle handle;
    jzx_err err = JZX_OK;
    if (msg->tag == PASSED) {
        memcpy(&handle, msg->data, sizeof handle);
        err = jzx_reply_to(ctx->loop, handle, ctx->self, NULL, 0, ANSWER);
        JZX_EXPECT(err == JZX_OK || err == JZX_ERR_NO_SUCH_ACTOR);
        return JZX_BEHAVIOR_OK;
    }
    uint32_t choice = any_number() % 16;
    if (choice < 8)
        err = jzx_reply(ctx, msg, msg->data, msg->len, ANSWER);
    else if (choice < 11)
        pass_on(ctx, msg);
    JZX_EXPECT(err == JZX_OK || err == JZX_ERR_NO_SUCH_ACTOR);
    return choice % 8 == 0 ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK; /* with an answer or without */
}

static void end_desk(jzx_context *ctx, jzx_exit_reason reason);

static void spawn_desk(_Atomic uint64_t *place) {
    jzx_actor_id id = JZX_NOBODY;
    JZX_EXPECT_EQ(jzx_spawn(stage.loop,
                            &JZX_SPAWN_OPTS(.behavior = be_desk, .cleanup = end_desk,
                                            .state = place, .mailbox_cap = JZX_MAILBOX_CAP_MAX),
                            &id),
                  JZX_OK);
    atomic_store(place, id);
    if (atomic_load(&stage.over))
        jzx_actor_stop(stage.loop, id, JZX_STOP_KILL);
}

/* The next one comes in its place. */
static void end_desk(jzx_context *ctx, jzx_exit_reason reason) {
    (void)reason;
    if (!atomic_load(&stage.over))
        spawn_desk(ctx->state);
}

/* ---- askers ---- */

struct asker {
    uint64_t refs[OPEN_MAX]; /* 0: none is open there */
    jzx_actor_id asked_of[OPEN_MAX];
    uint32_t open;
    uint32_t asked;
    uint32_t settled;
    uint32_t seed;
    uint32_t idle; /* looks in vain since it has heard something */
    bool waits;    /* for AGAIN */
};

static struct asker askers[ASKERS];

/* False if nobody is at the desk just now. */
static bool ask_one(jzx_context *ctx, uint32_t place) {
    struct asker *self = ctx->state;
    char data[100] = {0};
    jzx_actor_id desk = atomic_load(&stage.desks[next_random(&self->seed) % DESKS]);
    size_t len = next_random(&self->seed) % 4 ? 8 : sizeof data;
    uint64_t timeout_ns =
        next_random(&self->seed) % 4 ? JZX_NEVER : JZX_US(next_random(&self->seed) % 500);
    jzx_err err = jzx_ask(ctx, desk, data, len, QUESTION, timeout_ns, &self->refs[place]);
    JZX_EXPECT(err == JZX_OK || err == JZX_ERR_NO_SUCH_ACTOR);
    if (err != JZX_OK)
        return false;
    self->asked_of[place] = desk;
    self->asked++;
    self->open++;
    return true;
}

static void close_place(struct asker *self, uint32_t place) {
    self->refs[place] = 0;
    self->open--;
    self->settled++;
}

static void hear(jzx_context *ctx, const jzx_message *msg) {
    struct asker *self = ctx->state;
    uint64_t ref = jzx_ask_ref(ctx);
    uint32_t place = 0;
    JZX_EXPECT(ref != 0);
    while (place < OPEN_MAX && self->refs[place] != ref)
        place++;
    if (!JZX_EXPECT(place < OPEN_MAX)) /* it was settled before */
        return;
    if (msg->tag == JZX_TAG_ASK_DOWN) {
        jzx_ask_down down;
        memcpy(&down, msg->data, sizeof down);
        JZX_EXPECT_EQ(down.ref, ref);
        JZX_EXPECT_EQ(down.actor, self->asked_of[place]);
        atomic_fetch_add(&stage.downs, 1);
    } else if (msg->tag == ANSWER) {
        atomic_fetch_add(&stage.answered, 1);
    } else {
        JZX_EXPECT_EQ(msg->tag, JZX_TAG_ASK_TIMEOUT);
        atomic_fetch_add(&stage.timeouts, 1);
    }
    close_place(self, place);
    uint32_t other = next_random(&self->seed) % OPEN_MAX;
    if (self->refs[other] != 0 && next_random(&self->seed) % 8 == 0) {
        JZX_EXPECT_EQ(jzx_ask_cancel(ctx, self->refs[other]), JZX_OK); /* it is open: in time */
        close_place(self, other);
    }
}

static void end_all_desks(void) {
    if (stage.root != JZX_NOBODY) {
        JZX_EXPECT_EQ(jzx_actor_stop(stage.loop, stage.root, JZX_STOP_AFTER_MESSAGE), JZX_OK);
        return;
    }
    atomic_store(&stage.over, true);
    for (uint32_t i = 0; i < DESKS; i++)
        jzx_actor_stop(stage.loop, atomic_load(&stage.desks[i]), JZX_STOP_KILL);
}

/* Nobody else ends those that keep a question for ever, perhaps as an heirloom. */
static void end_who_keeps_me_waiting(const struct asker *self) {
    for (uint32_t i = 0; i < DESKS && stage.root != JZX_NOBODY; i++)
        jzx_actor_stop(stage.loop, atomic_load(&stage.desks[i]), JZX_STOP_KILL);
    for (uint32_t i = 0; i < OPEN_MAX; i++)
        if (self->refs[i] != 0)
            jzx_actor_stop(stage.loop, self->asked_of[i], JZX_STOP_KILL);
}

static void look_again(jzx_context *ctx) {
    struct asker *self = ctx->state;
    if (!self->waits)
        JZX_EXPECT_EQ(jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, AGAIN), JZX_OK);
    self->waits = true;
}

static jzx_behavior_result be_asker(jzx_context *ctx, const jzx_message *msg) {
    struct asker *self = ctx->state;
    self->idle = msg->tag == AGAIN ? self->idle + 1 : 0;
    if (msg->tag == AGAIN)
        self->waits = false;
    else if (msg->tag != START)
        hear(ctx, msg);
    for (uint32_t i = 0; i < OPEN_MAX && self->asked < stage.questions; i++)
        if (self->refs[i] == 0 && !ask_one(ctx, i))
            break;
    if (self->open != 0 || self->asked < stage.questions) {
        if (self->idle != 0 && self->idle % PATIENCE == 0)
            end_who_keeps_me_waiting(self);
        look_again(ctx);
        return JZX_BEHAVIOR_OK;
    }
    JZX_EXPECT_EQ(self->settled, stage.questions);
    if (atomic_fetch_sub(&stage.askers_left, 1) == 1)
        end_all_desks();
    return JZX_BEHAVIOR_STOP;
}

/* ---- desks whose successors inherit the questions ---- */

static jzx_err begin_as_heir(jzx_context *ctx) {
    atomic_store((_Atomic uint64_t *)ctx->state, ctx->self);
    return JZX_OK;
}

static jzx_behavior_result be_heir(jzx_context *ctx, const jzx_message *msg) {
    jzx_behavior_result result = be_desk(ctx, msg);
    return result == JZX_BEHAVIOR_STOP ? JZX_BEHAVIOR_FAIL : result;
}

static void spawn_heirs(void) {
    static const char *const names[DESKS] = {"a", "b", "c", "d"};
    jzx_child_spec specs[DESKS] = {{0}};
    for (uint32_t i = 0; i < DESKS; i++)
        specs[i] = (jzx_child_spec){.name = names[i],
                                    .behavior = be_heir,
                                    .init = begin_as_heir,
                                    .state = &stage.desks[i],
                                    .mailbox_cap = JZX_MAILBOX_CAP_MAX,
                                    .keep_mailbox = true};
    const jzx_supervisor_opts opts =
        JZX_SUPERVISOR_OPTS(JZX_CHILDREN(specs), .intensity = JZX_UNLIMITED);
    JZX_EXPECT_EQ(jzx_spawn_supervisor(stage.loop, &opts, &stage.root), JZX_OK);
}

/* ---- each question is settled once ---- */

static void settle_once(uint32_t workers, bool restless, bool inherits) {
    stage.loop = open_loop(workers, restless);
    stage.root = JZX_NOBODY;
    stage.questions = (uint32_t)jzx_test_rounds(1000, 20000);
    atomic_store(&stage.askers_left, ASKERS);
    atomic_store(&stage.over, false);
    atomic_store(&stage.answered, 0);
    atomic_store(&stage.downs, 0);
    for (uint32_t i = 0; i < DESKS && !inherits; i++)
        spawn_desk(&stage.desks[i]);
    if (inherits)
        spawn_heirs();
    for (uint32_t i = 0; i < ASKERS; i++) {
        askers[i] = (struct asker){.seed = i + 100};
        jzx_actor_id id =
            fixture_spawn(stage.loop, &JZX_SPAWN_OPTS(.behavior = be_asker, .state = &askers[i]));
        fixture_send(stage.loop, id, START);
    }
    JZX_EXPECT_EQ(jzx_loop_run(stage.loop), JZX_OK);
    JZX_EXPECT(atomic_load(&stage.answered) > 0);
    JZX_EXPECT(atomic_load(&stage.downs) > 0);
    JZX_EXPECT_EQ(fixture_stats(stage.loop).timers_set, fixture_stats(stage.loop).timers_ended);
    fixture_destroy(stage.loop);
}

JZX_TEST(questions_to_the_mortal_are_settled_exactly_once, "E+mode", "X14") {
    settle_once(1, false, false);
    settle_once(4, false, false);
}

JZX_TEST(so_they_are_when_everybody_moves_all_the_time, "E+mode") {
    settle_once(4, true, false);
}

JZX_TEST(questions_that_successors_inherit_are_settled_exactly_once, "E+mode", "C21") {
    settle_once(1, false, true);
    settle_once(4, false, true);
    settle_once(4, true, true);
}

/* ---- askers that die, too ---- */

static atomic_uint lives_left;

/* Asks all desks and ends, perhaps with its first notice or answer, and another one comes. */
static jzx_behavior_result be_mayfly(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    if (msg->tag == START) {
        for (uint32_t i = 0; i < 2 * DESKS; i++)
            jzx_ask(ctx, atomic_load(&stage.desks[i % DESKS]), NULL, 0, QUESTION, JZX_US(200),
                    NULL);
        if (any_number() % 2 == 0)
            return JZX_BEHAVIOR_OK;
    }
    return JZX_BEHAVIOR_STOP;
}

static void spawn_mayfly(void);

static void end_mayfly(jzx_context *ctx, jzx_exit_reason reason) {
    (void)ctx;
    (void)reason;
    spawn_mayfly();
}

static void spawn_mayfly(void) {
    jzx_actor_id id;
    uint32_t left = atomic_load(&lives_left);
    while (left != 0 && !atomic_compare_exchange_weak(&lives_left, &left, left - 1))
        continue;
    if (left == 0) {
        if (atomic_fetch_sub(&stage.askers_left, 1) == 1)
            end_all_desks();
        return;
    }
    JZX_EXPECT_EQ(
        jzx_spawn(stage.loop, &JZX_SPAWN_OPTS(.behavior = be_mayfly, .cleanup = end_mayfly), &id),
        JZX_OK);
    JZX_EXPECT_EQ(jzx_send(stage.loop, id, JZX_NOBODY, NULL, 0, START), JZX_OK);
}

static void die_on_both_sides(uint32_t workers, bool restless) {
    stage.loop = open_loop(workers, restless);
    stage.root = JZX_NOBODY;
    atomic_store(&stage.askers_left, ASKERS);
    atomic_store(&stage.over, false);
    atomic_store(&lives_left, (uint32_t)jzx_test_rounds(2000, 50000));
    for (uint32_t i = 0; i < DESKS; i++)
        spawn_desk(&stage.desks[i]);
    for (uint32_t i = 0; i < ASKERS; i++)
        spawn_mayfly();
    JZX_EXPECT_EQ(jzx_loop_run(stage.loop), JZX_OK);
    JZX_EXPECT_EQ(fixture_stats(stage.loop).timers_set, fixture_stats(stage.loop).timers_ended);
    fixture_destroy(stage.loop);
}

JZX_TEST(nothing_is_left_when_askers_and_asked_die, "X14") {
    die_on_both_sides(1, false);
    die_on_both_sides(4, false);
    die_on_both_sides(4, true);
    JZX_EXPECT(jzx_test_runs() != 0);
}
