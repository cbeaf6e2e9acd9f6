/* SPDX-License-Identifier: MIT */
/* Several requests to end that wait together: the strongest gives the reason, whichever came first
 * and on whatever thread. */
#include "actor/control.h"

#include "actor/loop.h"

#include "fixture.h"

#include <pthread.h>

/* The strongest first. A supervisor stops a child at once, or lets it work off its queue: one
 * reason, as of the last two. */
static const struct {
    uint32_t want;
    jzx_exit_reason reason;
} kinds[] = {{JZX__WANT_KILL, JZX_EXIT_KILLED},       {JZX__WANT_FAIL, JZX_EXIT_FAIL},
             {JZX__WANT_SHUTDOWN, JZX_EXIT_SHUTDOWN}, {JZX__WANT_FINISH, JZX_EXIT_SHUTDOWN},
             {JZX__WANT_STOP, JZX_EXIT_NORMAL},       {JZX__WANT_DRAIN, JZX_EXIT_NORMAL}};
#define KINDS (sizeof kinds / sizeof kinds[0])

static struct {
    jzx_loop *loop;
    jzx_actor_id target;
    uint32_t wants[2]; /* in this order */
    uint32_t handled;
    uint32_t ends;
    jzx_exit_reason reason;
} world;

static jzx_behavior_result work(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    world.handled++;
    return JZX_BEHAVIOR_OK;
}

static void note_end(jzx_context *ctx, jzx_exit_reason reason) {
    (void)ctx;
    world.ends++;
    world.reason = reason;
}

static void request_both(struct jzx__worker *me) {
    for (uint32_t i = 0; i < 2; i++)
        JZX_EXPECT_EQ(jzx__actor_request(world.loop, me, world.target, world.wants[i]), JZX_OK);
}

static jzx_behavior_result request_here(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    struct jzx__visit visit;
    struct jzx__worker *me = jzx__loop_visit(ctx->loop, &visit);
    JZX_EXPECT(me != NULL);
    request_both(me);
    jzx__visit_end(&visit);
    return JZX_BEHAVIOR_STOP;
}

/* In its own turn, from its own message. */
static jzx_behavior_result request_for_self(jzx_context *ctx, const jzx_message *msg) {
    world.handled++;
    request_here(ctx, msg);
    return JZX_BEHAVIOR_OK;
}

static void *request_elsewhere(void *arg) {
    (void)arg;
    request_both(NULL);
    return NULL;
}

enum way { BY_ANOTHER, BY_ITSELF, BY_THREAD, WAYS };

static void expect_reason(enum way way, size_t first, size_t second) {
    size_t strongest = first < second ? first : second;
    world.loop = fixture_loop();
    world.wants[0] = kinds[first].want;
    world.wants[1] = kinds[second].want;
    world.handled = world.ends = 0;
    jzx_actor_id asker = fixture_spawn(world.loop, &JZX_SPAWN_OPTS(.behavior = request_here));
    world.target = fixture_spawn(
        world.loop, &JZX_SPAWN_OPTS(.behavior = way == BY_ITSELF ? request_for_self : work,
                                    .cleanup = note_end));
    if (way == BY_ANOTHER) {
        fixture_send(world.loop, asker, 1);
        JZX_EXPECT_EQ(jzx_loop_step(world.loop, 0), JZX_OK); /* of both, the older one begins */
    } else if (way == BY_THREAD) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, request_elsewhere, NULL), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
    } else {
        fixture_send(world.loop, world.target, 1);
    }
    JZX_EXPECT_EQ(jzx_loop_step(world.loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(world.ends, 1);
    JZX_EXPECT_EQ(world.reason, kinds[strongest].reason);
    JZX_EXPECT_EQ(world.handled, way == BY_ITSELF);
    fixture_destroy(world.loop);
}

JZX_TEST(of_two_requests_the_stronger_gives_the_reason_in_any_order) {
    for (enum way way = BY_ANOTHER; way < WAYS; way++) {
        for (size_t first = 0; first < KINDS; first++) {
            for (size_t second = 0; second < KINDS; second++)
                expect_reason(way, first, second);
        }
    }
}

/* What waits is handled if nothing stronger comes than the wish to work it off. */
JZX_TEST(a_stronger_request_cuts_a_queue_short) {
    for (size_t second = 0; second < KINDS; second++) {
        world.loop = fixture_loop();
        world.handled = world.ends = 0;
        world.target =
            fixture_spawn(world.loop, &JZX_SPAWN_OPTS(.behavior = work, .cleanup = note_end));
        for (uint32_t i = 0; i < 3; i++)
            fixture_send(world.loop, world.target, 1);
        world.wants[0] = JZX__WANT_DRAIN;
        world.wants[1] = kinds[second].want;
        request_both(NULL);
        JZX_EXPECT_EQ(jzx_loop_step(world.loop, JZX_NEVER), JZX_OK);
        JZX_EXPECT_EQ(world.reason, kinds[second].reason);
        JZX_EXPECT_EQ(world.handled, kinds[second].want & JZX__WANT_GENTLE ? 3 : 0);
        fixture_destroy(world.loop);
    }
}

/* The end of the loop is as strong as the stop by a supervisor. */
JZX_TEST(a_request_that_waits_when_the_loop_is_closed_counts_as_any) {
    for (size_t i = 0; i < KINDS; i++) {
        world.loop = fixture_loop();
        world.ends = 0;
        world.target =
            fixture_spawn(world.loop, &JZX_SPAWN_OPTS(.behavior = work, .cleanup = note_end));
        JZX_EXPECT_EQ(jzx__actor_request(world.loop, NULL, world.target, kinds[i].want), JZX_OK);
        JZX_EXPECT_EQ(jzx_loop_request_stop(world.loop), JZX_OK);
        JZX_EXPECT_EQ(jzx_loop_run(world.loop), JZX_OK);
        JZX_EXPECT_EQ(world.ends, 1);
        JZX_EXPECT_EQ(world.reason, kinds[i < 2 ? i : 2].reason);
        fixture_destroy(world.loop);
    }
}
