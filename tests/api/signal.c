/* SPDX-License-Identifier: MIT */
/* Signals as messages. Each test blocks the signals that it is about before it begins, and leaves
 * none pending. */
#include "descriptors.h"
#include "fixture.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum { SUBSCRIBE = 1, RESUBSCRIBE, END, STOP, HEARD = 10, HEARD_AGAIN = 11 };

struct hearer {
    int signo;
    jzx_err err; /* of the last call */
    uint32_t messages;
    uint32_t signals; /* as the counts say */
    uint32_t tag;     /* of the last message */
    uint32_t stop_at; /* ends after so many signals; 0: never */
};

static jzx_behavior_result hear(jzx_context *ctx, const jzx_message *msg) {
    struct hearer *me = ctx->state;
    jzx_signal_event event;
    jzx_test_ran();
    switch (msg->tag) {
    case SUBSCRIBE: me->err = jzx_signal_to(ctx, me->signo, HEARD); break;
    case RESUBSCRIBE: me->err = jzx_signal_to(ctx, me->signo, HEARD_AGAIN); break;
    case END: me->err = jzx_signal_end(ctx, me->signo); break;
    case STOP: return JZX_BEHAVIOR_STOP;
    default:
        if (!JZX_EXPECT_EQ(msg->len, sizeof event))
            return JZX_BEHAVIOR_FAIL;
        memcpy(&event, msg->data, sizeof event);
        JZX_EXPECT(jzx_msg_take(ctx, msg) == NULL);
        JZX_EXPECT_EQ(event.signo, me->signo);
        JZX_EXPECT(event.count >= 1);
        me->messages++;
        me->signals += event.count;
        me->tag = msg->tag;
    }
    return me->stop_at != 0 && me->signals >= me->stop_at ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

static void block(int signo) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, signo);
    assert_int_equal(pthread_sigmask(SIG_BLOCK, &signals, NULL), 0);
}

static jzx_actor_id spawn_hearer(jzx_loop *loop, struct hearer *hearer, int signo) {
    *hearer = (struct hearer){.signo = signo, .err = JZX_ERR_UNKNOWN};
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = hear, .state = hearer));
    fixture_send(loop, id, SUBSCRIBE);
    return id;
}

static void step(jzx_loop *loop) {
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
}

/* Two steps: one fetches the signal, and what was told comes with the next poll at the latest. */
static void settle(jzx_loop *loop) {
    for (int i = 0; i < 3; i++)
        step(loop);
}

static void raise_signal(int signo) {
    JZX_EXPECT_EQ(kill(getpid(), signo), 0);
}

JZX_TEST(a_signal_is_a_message) {
    int open_before = descriptors_open();
    struct hearer hearer;
    block(SIGUSR1);
    jzx_loop *loop = fixture_loop();
    spawn_hearer(loop, &hearer, SIGUSR1);
    settle(loop);
    JZX_EXPECT_EQ(hearer.err, JZX_OK);
    JZX_EXPECT_EQ(hearer.messages, 0);
    for (uint32_t i = 1; i <= 3; i++) {
        raise_signal(SIGUSR1);
        settle(loop);
        JZX_EXPECT_EQ(hearer.messages, i);
        JZX_EXPECT_EQ(hearer.signals, i);
        JZX_EXPECT_EQ(hearer.tag, HEARD);
    }
    fixture_destroy(loop);
    JZX_EXPECT_EQ(descriptors_open(), open_before);
}

JZX_TEST(a_signal_that_came_before_is_told_as_well) {
    struct hearer hearer;
    block(SIGUSR2);
    raise_signal(SIGUSR2);
    jzx_loop *loop = fixture_loop();
    spawn_hearer(loop, &hearer, SIGUSR2);
    settle(loop);
    JZX_EXPECT_EQ(hearer.signals, 1);
    fixture_destroy(loop);
}

/* Those of real time are queued by the system: none is lost. */
JZX_TEST(signals_are_counted) {
    struct hearer hearer;
    int signo = SIGRTMIN + 2;
    block(signo);
    jzx_loop *loop = fixture_loop();
    spawn_hearer(loop, &hearer, signo);
    settle(loop);
    for (int i = 0; i < 20; i++)
        raise_signal(signo);
    settle(loop);
    JZX_EXPECT_EQ(hearer.signals, 20);
    JZX_EXPECT(hearer.messages <= 20);
    fixture_destroy(loop);
}

JZX_TEST(actors_of_several_loops_hear_of_the_same_signal) {
    int open_before = descriptors_open();
    struct hearer hearers[2][3];
    jzx_loop *loops[2];
    block(SIGUSR1);
    block(SIGUSR2);
    for (int i = 0; i < 2; i++) {
        loops[i] = fixture_loop();
        for (int k = 0; k < 3; k++)
            spawn_hearer(loops[i], &hearers[i][k], k == 2 ? SIGUSR2 : SIGUSR1);
        settle(loops[i]);
    }
    for (uint32_t round = 1; round <= 4; round++) {
        raise_signal(SIGUSR1);
        settle(loops[round % 2]); /* whichever comes first tells the others */
        settle(loops[(round + 1) % 2]);
        for (int i = 0; i < 2; i++) {
            JZX_EXPECT_EQ(hearers[i][0].signals, round);
            JZX_EXPECT_EQ(hearers[i][1].signals, round);
            JZX_EXPECT_EQ(hearers[i][2].signals, 0);
        }
    }
    fixture_destroy(loops[0]);
    raise_signal(SIGUSR1);
    settle(loops[1]);
    JZX_EXPECT_EQ(hearers[1][0].signals, 5);
    fixture_destroy(loops[1]);
    JZX_EXPECT_EQ(descriptors_open(), open_before);
}

JZX_TEST(a_subscription_has_one_tag_and_can_be_ended) {
    struct hearer hearer;
    block(SIGUSR1);
    jzx_loop *loop = fixture_loop();
    jzx_actor_id id = spawn_hearer(loop, &hearer, SIGUSR1);
    fixture_send(loop, id, RESUBSCRIBE);
    settle(loop);
    JZX_EXPECT_EQ(hearer.err, JZX_OK);
    raise_signal(SIGUSR1);
    settle(loop);
    JZX_EXPECT_EQ(hearer.messages, 1);
    JZX_EXPECT_EQ(hearer.tag, HEARD_AGAIN);
    int open_before = descriptors_open();
    fixture_send(loop, id, END);
    settle(loop);
    JZX_EXPECT_EQ(hearer.err, JZX_OK);
    JZX_EXPECT_EQ(descriptors_open(), open_before - 2);
    fixture_send(loop, id, END);
    settle(loop);
    JZX_EXPECT_EQ(hearer.err, JZX_ERR_IO_NOT_WATCHED);
    raise_signal(SIGUSR1); /* stays pending */
    settle(loop);
    JZX_EXPECT_EQ(hearer.messages, 1);
    fixture_send(loop, id, SUBSCRIBE);
    settle(loop);
    JZX_EXPECT_EQ(hearer.messages, 2);
    fixture_destroy(loop);
}

JZX_TEST(the_subscriptions_of_an_actor_end_with_it) {
    struct hearer hearer;
    block(SIGUSR1);
    jzx_loop *loop = fixture_loop();
    JZX_EXPECT(jzx_loop_fd(loop) >= 0); /* the poller and the parker's descriptor stay */
    int open_before = descriptors_open();
    for (int ready = 0; ready < 2; ready++) {
        jzx_actor_id id = spawn_hearer(loop, &hearer, SIGUSR1);
        settle(loop);
        fixture_send(loop, id, STOP);
        if (ready)
            raise_signal(SIGUSR1);
        settle(loop);
        JZX_EXPECT_EQ(jzx_actor_stop(loop, id, JZX_STOP_KILL), JZX_ERR_NO_SUCH_ACTOR);
        JZX_EXPECT_EQ(descriptors_open(), open_before);
    }
    fixture_destroy(loop);
}

static jzx_behavior_result ask_wrongly(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    jzx_test_ran();
    const int wrong[] = {0,       -1,      SIGKILL,  SIGSTOP,     SIGSEGV,
                         SIGABRT, SIGALRM, SIGRTMAX, SIGRTMAX + 1}; /* not blocked, or none */
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        JZX_EXPECT_EQ(jzx_signal_to(ctx, wrong[i], HEARD), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_signal_to(ctx, SIGUSR1, 0), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_signal_to(ctx, SIGUSR1, JZX_TAG_RESERVED), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_signal_to(NULL, SIGUSR1, HEARD), JZX_ERR_INVALID_ARG);
    jzx_context copy = *ctx;
    JZX_EXPECT_EQ(jzx_signal_to(&copy, SIGUSR1, HEARD), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_signal_end(ctx, SIGUSR1), JZX_ERR_IO_NOT_WATCHED);
    JZX_EXPECT_EQ(jzx_signal_end(NULL, SIGUSR1), JZX_ERR_INVALID_ARG);
    return JZX_BEHAVIOR_STOP;
}

static char log_text[512];

static void keep_log(void *ctx, jzx_log_level level, const char *text) {
    (void)ctx;
    JZX_EXPECT_EQ(level, JZX_LOG_WARN);
    size_t len = strlen(log_text);
    snprintf(log_text + len, sizeof log_text - len, "%s\n", text);
}

static jzx_err ask_in_init(jzx_context *ctx) {
    return jzx_signal_to(ctx, *(const int *)ctx->state, HEARD);
}

JZX_TEST(a_signal_that_is_not_blocked_is_named_in_the_log_with_what_to_do) {
    int signals[] = {SIGTERM, SIGKILL};
    const char *const texts[] = {
        "clerk cannot be told of signal 15 SIGTERM: it is not blocked in this thread. Block it "
        "with pthread_sigmask",
        "clerk cannot be told of signal 9: it is none, or a fault"};
    for (int i = 0; i < 2; i++) {
        jzx_loop *loop =
            fixture_loop_with(&JZX_CONFIG(.log = {.write = keep_log, .level = JZX_LOG_WARN}));
        jzx_actor_id id;
        log_text[0] = '\0';
        assert_int_equal(jzx_spawn(loop,
                                   &JZX_SPAWN_OPTS(.behavior = ask_wrongly, .init = ask_in_init,
                                                   .state = &signals[i], .name = "clerk"),
                                   &id),
                         JZX_OK);
        step(loop);
        JZX_EXPECT(strstr(log_text, texts[i]) != NULL);
        fixture_destroy(loop);
    }
}

JZX_TEST(signals_that_cannot_be_had_are_refused) {
    block(SIGUSR1);
    jzx_loop *loop = fixture_loop();
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = ask_wrongly));
    fixture_send(loop, id, 1);
    step(loop);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    fixture_destroy(loop);
}

/* ---- with threads ---- */

static _Atomic uint32_t subscribed;

static jzx_behavior_result hear_and_count(jzx_context *ctx, const jzx_message *msg) {
    const struct hearer *me = ctx->state;
    jzx_behavior_result result = hear(ctx, msg);
    if (msg->tag == SUBSCRIBE && JZX_EXPECT_EQ(me->err, JZX_OK))
        subscribed++;
    return result;
}

static void *raise_when_subscribed(void *arg) {
    int signo = *(const int *)arg;
    while (subscribed < 6)
        sched_yield();
    for (int i = 0; i < 10; i++)
        raise_signal(signo);
    return NULL;
}

JZX_TEST(every_actor_on_every_worker_hears_of_every_signal) {
    struct hearer hearers[6];
    int signo = SIGRTMIN + 3;
    block(signo);
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 3));
    for (uint32_t i = 0; i < 6; i++) {
        hearers[i] = (struct hearer){.signo = signo, .stop_at = 10};
        jzx_actor_id id =
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = hear_and_count, .state = &hearers[i],
                                                .place = JZX_PLACE_WORKER(i % 3)));
        fixture_send(loop, id, SUBSCRIBE);
    }
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, raise_when_subscribed, &signo), 0);
    assert_int_equal(jzx_loop_run(loop), JZX_OK); /* each ends at its tenth */
    assert_int_equal(pthread_join(thread, NULL), 0);
    for (int i = 0; i < 6; i++)
        JZX_EXPECT_EQ(hearers[i].signals, 10);
    fixture_destroy(loop);
}

/* ---- without memory ---- */

JZX_TEST(a_subscription_without_memory_is_refused_and_leaves_nothing) {
    struct hearer hearer;
    block(SIGUSR1);
    bool whole = false;
    for (uint64_t n = 0; n < 100 && !whole; n++) {
        int open_before = descriptors_open();
        jzx_loop *loop = fixture_loop();
        spawn_hearer(loop, &hearer, SIGUSR1);
        fixture_fail_allocations(n, 1);
        settle(loop);
        fixture_fail_allocations(UINT64_MAX, 0);
        whole = hearer.err == JZX_OK;
        JZX_EXPECT(whole || hearer.err == JZX_ERR_NO_MEMORY);
        if (whole) {
            raise_signal(SIGUSR1);
            settle(loop);
            JZX_EXPECT_EQ(hearer.signals, 1);
        }
        fixture_destroy(loop);
        JZX_EXPECT_EQ(descriptors_open(), open_before);
    }
    JZX_EXPECT(whole);
}
