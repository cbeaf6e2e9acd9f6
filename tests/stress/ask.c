/* SPDX-License-Identifier: MIT */
/* Questions on the machine's clock, answered at once, late, twice or never, by actors that move and
 * by threads that are none: of each the asker hears exactly one thing, and only of its own. */
#include "actor/loop.h"

#include "fixture.h"

#include <jzx/ask.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

enum { START = 1, QUESTION = 2, ANSWER = 3, DONE = 4 };

#define DESKS 4u
#define ASKERS 8u
#define OPEN_MAX 16u
#define HANDLES_MAX 256u

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

static uint32_t next_random(uint32_t *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* What is asked, and comes back with the answer. */
struct question {
    jzx_actor_id asker;
    uint32_t number;
};

struct task {
    jzx_ask_handle handle;
    struct question question;
};

/* Questions for the threads outside; what finds no place is answered by the desk. */
struct outside {
    pthread_mutex_t lock;
    struct task tasks[HANDLES_MAX];
    uint32_t count;
    atomic_bool over;
};

struct stage {
    jzx_loop *loop;
    jzx_actor_id desks[DESKS];
    uint32_t desk_seeds[DESKS];
    uint32_t questions; /* of each asker */
    atomic_uint askers_left;
    struct outside outside;
};

static struct stage stage;

static void answer(const struct task *task, jzx_actor_id from) {
    jzx_err err = jzx_reply_to(stage.loop, task->handle, from, &task->question,
                               sizeof task->question, ANSWER);
    JZX_EXPECT(err == JZX_OK || err == JZX_ERR_NO_SUCH_ACTOR);
}

static bool hand_out(const struct task *task) {
    struct outside *outside = &stage.outside;
    pthread_mutex_lock(&outside->lock);
    bool has_room = outside->count < HANDLES_MAX;
    if (has_room)
        outside->tasks[outside->count++] = *task;
    pthread_mutex_unlock(&outside->lock);
    return has_room;
}

/* Answers what it finds, sometimes twice. */
static void *answer_from_outside(void *arg) {
    uint32_t seed = (uint32_t)(uintptr_t)arg;
    struct outside *outside = &stage.outside;
    while (!atomic_load(&outside->over)) {
        struct task task = {.handle.ref = 0};
        pthread_mutex_lock(&outside->lock);
        if (outside->count != 0)
            task = outside->tasks[--outside->count];
        pthread_mutex_unlock(&outside->lock);
        if (task.handle.ref == 0) {
            sched_yield();
            continue;
        }
        answer(&task, JZX_NOBODY);
        if (next_random(&seed) % 4 == 0)
            answer(&task, JZX_NOBODY);
    }
    return NULL;
}

static jzx_behavior_result be_desk(jzx_context *ctx, const jzx_message *msg) {
    uint32_t *seed = ctx->state;
    struct task task = {.handle = jzx_ask_from(ctx, msg)};
    if (msg->tag == DONE)
        return JZX_BEHAVIOR_STOP;
    JZX_EXPECT(task.handle.ref != 0);
    memcpy(&task.question, msg->data, sizeof task.question);
    jzx_err err;
    switch (next_random(seed) % 5) {
    case 0: break; /* the deadline answers */
    case 1: answer(&task, ctx->self); break;
    case 2:
        if (hand_out(&task))
            break;
        __attribute__((fallthrough));
    default:
        err = jzx_reply(ctx, msg, msg->data, msg->len, ANSWER);
        JZX_EXPECT(err == JZX_OK || err == JZX_ERR_NO_SUCH_ACTOR);
        break;
    }
    return JZX_BEHAVIOR_OK;
}

/* ---- each question is settled once ---- */

struct asker {
    uint64_t refs[OPEN_MAX]; /* 0: none is open there */
    uint32_t numbers[OPEN_MAX];
    uint32_t open;
    uint32_t asked;
    uint32_t settled;
    uint32_t seed;
};

static struct asker askers[ASKERS];

static void ask_one(jzx_context *ctx, uint32_t place) {
    struct asker *self = ctx->state;
    char data[100] = {0};
    struct question question = {ctx->self, self->asked};
    memcpy(data, &question, sizeof question);
    jzx_actor_id desk = stage.desks[next_random(&self->seed) % DESKS];
    size_t len = next_random(&self->seed) % 4 ? sizeof question : sizeof data;
    JZX_EXPECT_EQ(jzx_ask(ctx, desk, data, len, QUESTION, JZX_US(next_random(&self->seed) % 3000),
                          &self->refs[place]),
                  JZX_OK);
    self->numbers[place] = self->asked++;
    self->open++;
}

static void close_place(struct asker *self, uint32_t place) {
    self->refs[place] = 0;
    self->open--;
    self->settled++;
}

/* What was heard is of an open question of this very actor. */
static void hear(jzx_context *ctx, const jzx_message *msg) {
    struct asker *self = ctx->state;
    uint64_t ref = jzx_ask_ref(ctx);
    uint32_t place = 0;
    JZX_EXPECT(ref != 0);
    while (place < OPEN_MAX && self->refs[place] != ref)
        place++;
    if (!JZX_EXPECT(place < OPEN_MAX))
        return;
    if (msg->tag == ANSWER) {
        struct question question;
        memcpy(&question, msg->data, sizeof question);
        JZX_EXPECT_EQ(question.asker, ctx->self);
        JZX_EXPECT_EQ(question.number, self->numbers[place]);
    } else {
        JZX_EXPECT_EQ(msg->tag, JZX_TAG_ASK_TIMEOUT);
    }
    close_place(self, place);
    uint32_t other = next_random(&self->seed) % OPEN_MAX;
    if (self->refs[other] != 0 && next_random(&self->seed) % 4 == 0) {
        JZX_EXPECT_EQ(jzx_ask_cancel(ctx, self->refs[other]), JZX_OK); /* it is open: in time */
        close_place(self, other);
    }
}

static jzx_behavior_result be_asker(jzx_context *ctx, const jzx_message *msg) {
    struct asker *self = ctx->state;
    if (msg->tag != START)
        hear(ctx, msg);
    for (uint32_t place = 0; place < OPEN_MAX && self->asked < stage.questions; place++)
        if (self->refs[place] == 0)
            ask_one(ctx, place);
    if (self->open != 0)
        return JZX_BEHAVIOR_OK;
    JZX_EXPECT_EQ(self->settled, stage.questions);
    if (atomic_fetch_sub(&stage.askers_left, 1) == 1)
        for (uint32_t i = 0; i < DESKS; i++)
            JZX_EXPECT_EQ(jzx_send(ctx->loop, stage.desks[i], ctx->self, NULL, 0, DONE), JZX_OK);
    return JZX_BEHAVIOR_STOP;
}

static void set_stage(uint32_t workers, bool restless) {
    stage = (struct stage){.loop = open_loop(workers, restless),
                           .outside.lock = PTHREAD_MUTEX_INITIALIZER};
    for (uint32_t i = 0; i < DESKS; i++) {
        stage.desk_seeds[i] = i + 1;
        stage.desks[i] = fixture_spawn(
            stage.loop, &JZX_SPAWN_OPTS(.behavior = be_desk, .state = &stage.desk_seeds[i],
                                        .mailbox_cap = JZX_MAILBOX_CAP_MAX));
    }
}

/* Runs it, with two threads that answer from outside. */
static void run_stage(void) {
    pthread_t threads[2];
    for (uintptr_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, answer_from_outside, (void *)(i + 7)),
                         0);
    JZX_EXPECT_EQ(jzx_loop_run(stage.loop), JZX_OK);
    atomic_store(&stage.outside.over, true);
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    JZX_EXPECT_EQ(fixture_stats(stage.loop).timers_set, fixture_stats(stage.loop).timers_ended);
    fixture_destroy(stage.loop);
}

static void settle_once(uint32_t workers, bool restless) {
    set_stage(workers, restless);
    stage.questions = (uint32_t)jzx_test_rounds(400, 20000);
    atomic_store(&stage.askers_left, ASKERS);
    for (uint32_t i = 0; i < ASKERS; i++) {
        askers[i] = (struct asker){.seed = i + 100};
        jzx_actor_id id =
            fixture_spawn(stage.loop, &JZX_SPAWN_OPTS(.behavior = be_asker, .state = &askers[i]));
        fixture_send(stage.loop, id, START);
    }
    run_stage();
}

JZX_TEST(each_question_is_settled_exactly_once, "E+mode", "X22") {
    settle_once(1, false);
    settle_once(4, false);
}

JZX_TEST(so_it_is_when_everybody_moves_all_the_time, "E+mode") {
    settle_once(4, true);
}

/* ---- askers that end ---- */

#define GENERATIONS_OPEN 5u

struct mayfly {
    uint32_t seed;
    uint32_t left; /* generations to come */
};

static struct mayfly mayflies[ASKERS];

/* Asks, hears a few things or nothing, and ends with questions open; the next one may get its
 * slot. */
static jzx_behavior_result be_mayfly(jzx_context *ctx, const jzx_message *msg) {
    struct mayfly *self = ctx->state;
    struct question question = {ctx->self, 0};
    if (msg->tag == START) {
        for (uint32_t i = 0; i < GENERATIONS_OPEN; i++)
            JZX_EXPECT_EQ(jzx_ask(ctx, stage.desks[next_random(&self->seed) % DESKS], &question,
                                  sizeof question, QUESTION,
                                  JZX_US(next_random(&self->seed) % 2000), NULL),
                          JZX_OK);
        if (next_random(&self->seed) % 3 != 0)
            return JZX_BEHAVIOR_OK;
    } else if (msg->tag == ANSWER) {
        JZX_EXPECT(jzx_ask_ref(ctx) != 0);
        memcpy(&question, msg->data, sizeof question);
        JZX_EXPECT_EQ(question.asker, ctx->self); /* never that of another life */
    }
    if (--self->left > 0) {
        jzx_actor_id next =
            fixture_spawn(ctx->loop, &JZX_SPAWN_OPTS(.behavior = be_mayfly, .state = self));
        fixture_send(ctx->loop, next, START);
    } else if (atomic_fetch_sub(&stage.askers_left, 1) == 1) {
        for (uint32_t i = 0; i < DESKS; i++)
            JZX_EXPECT_EQ(jzx_send(ctx->loop, stage.desks[i], ctx->self, NULL, 0, DONE), JZX_OK);
    }
    return next_random(&self->seed) % 2 ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_FAIL;
}

static void end_with_questions(uint32_t workers) {
    set_stage(workers, false);
    atomic_store(&stage.askers_left, ASKERS);
    for (uint32_t i = 0; i < ASKERS; i++) {
        mayflies[i] = (struct mayfly){i + 1, (uint32_t)jzx_test_rounds(200, 10000)};
        jzx_actor_id id = fixture_spawn(
            stage.loop, &JZX_SPAWN_OPTS(.behavior = be_mayfly, .state = &mayflies[i]));
        fixture_send(stage.loop, id, START);
    }
    run_stage();
}

JZX_TEST(answers_never_reach_the_next_actor_of_a_slot, "E+mode", "X14") {
    end_with_questions(1);
    end_with_questions(4);
}

/* ---- an asker to which others send ---- */

enum { NEXT = 100, NOISE, ASKED };

struct besieged {
    jzx_actor_id oracle; /* on the same worker */
    uint64_t left;       /* questions */
    uint64_t answered;
    _Atomic bool is_over;
};

static void ask_next(jzx_context *ctx, struct besieged *self) {
    JZX_EXPECT_EQ(jzx_ask(ctx, self->oracle, NULL, 0, ASKED, JZX_SECOND(60), NULL), JZX_OK);
}

static jzx_behavior_result ask_on(jzx_context *ctx, const jzx_message *msg) {
    struct besieged *self = ctx->state;
    if (msg->tag == NOISE)
        return JZX_BEHAVIOR_OK;
    self->answered += msg->tag == ASKED;
    if (msg->tag == JZX_TAG_ASK_TIMEOUT || self->left == 0) {
        self->is_over = true;
        return JZX_BEHAVIOR_STOP;
    }
    self->left--;
    ask_next(ctx, self);
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result answer_all(jzx_context *ctx, const jzx_message *msg) {
    JZX_EXPECT_EQ(jzx_reply(ctx, msg, NULL, 0, ASKED), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

struct noise {
    struct besieged *besieged;
    jzx_actor_id to;
};

static jzx_behavior_result make_noise(jzx_context *ctx, const jzx_message *msg) {
    struct noise *self = ctx->state;
    (void)msg;
    for (uint32_t i = 0; i < 16; i++)
        (void)jzx_send(ctx->loop, self->to, ctx->self, NULL, 0, NOISE);
    if (self->besieged->is_over)
        return JZX_BEHAVIOR_STOP;
    fixture_send(ctx->loop, ctx->self, NEXT);
    return JZX_BEHAVIOR_OK;
}

/* The answer is judged and delivered by the asker's own worker, while others push into its inbox.
 */
JZX_TEST(no_answer_is_lost_while_other_workers_send_to_the_asker) {
    struct besieged besieged = {.left = jzx_test_rounds(20000, 500000)};
    struct noise noises[2];
    uint64_t questions = besieged.left;
    jzx_loop *loop = open_loop(3, false);
    besieged.oracle =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = answer_all, .place = JZX_PLACE_WORKER(0),
                                            .daemon = true));
    jzx_actor_id asker =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = ask_on, .state = &besieged,
                                            .mailbox_cap = 64, .place = JZX_PLACE_WORKER(0)));
    for (uint16_t i = 0; i < 2; i++) {
        noises[i] = (struct noise){&besieged, asker};
        fixture_send(
            loop,
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = make_noise, .state = &noises[i],
                                                .place = JZX_PLACE_WORKER(1 + i))),
            NEXT);
    }
    fixture_send(loop, asker, NEXT);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(besieged.answered, questions);
    fixture_destroy(loop);
}
