/* SPDX-License-Identifier: MIT */
/* Threads send to a child that keeps its mailbox and fails all the time: what they were told is
 * accepted is handled, but for the messages that it fails on. */
#include "fixture.h"

#include <jzx/supervisor.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define SENDERS 4u

struct keep {
    jzx_loop *loop;
    uint32_t sends; /* of each thread */
    atomic_uint handled;
    atomic_uint lost; /* accepted, and then dead letters */
    atomic_uint left; /* threads */
};

static struct keep keep;

static jzx_behavior_result count_and_fail(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    atomic_fetch_add(&keep.handled, 1);
    return msg->tag % 50 == 0 ? JZX_BEHAVIOR_FAIL : JZX_BEHAVIOR_OK;
}

static void see_lost(void *ctx, const jzx_event *event) {
    (void)ctx;
    if (event->kind == JZX_EVENT_DEAD_LETTER && event->tag < JZX_TAG_RESERVED)
        atomic_fetch_add(&keep.lost, 1);
}

static void *send_all(void *arg) {
    (void)arg;
    for (uint32_t i = 0; i < keep.sends;) {
        if (jzx_send_named(keep.loop, "keeper", JZX_NOBODY, &i, sizeof i, i) == JZX_OK)
            i++;
        else
            sched_yield(); /* full, or being restarted */
    }
    if (atomic_fetch_sub(&keep.left, 1) != 1)
        return NULL;
    while (atomic_load(&keep.handled) + atomic_load(&keep.lost) < SENDERS * keep.sends)
        sched_yield();
    JZX_EXPECT_EQ(jzx_loop_request_stop(keep.loop), JZX_OK);
    return NULL;
}

static void restart_under_senders(uint32_t workers) {
    static const jzx_child_spec specs[] = {{.name = "k",
                                            .registered = "keeper",
                                            .behavior = count_and_fail,
                                            .keep_mailbox = true,
                                            .mailbox_cap = 64}};
    pthread_t threads[SENDERS];
    jzx_actor_id root;
    keep = (struct keep){.loop = fixture_loop_with(&JZX_CONFIG(.workers = workers)),
                         .sends = (uint32_t)jzx_test_rounds(20000, 300000),
                         .left = SENDERS};
    assert_non_null(keep.loop);
    assert_int_equal(jzx_loop_set_observer(keep.loop, &JZX_OBSERVER(.on_event = see_lost), NULL),
                     JZX_OK);
    assert_int_equal(
        jzx_spawn_supervisor(keep.loop,
                             &JZX_SUPERVISOR_OPTS(.intensity = JZX_UNLIMITED, JZX_CHILDREN(specs)),
                             &root),
        JZX_OK);
    for (uint32_t i = 0; i < SENDERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, send_all, NULL), 0);
    assert_int_equal(jzx_loop_run(keep.loop), JZX_OK);
    for (uint32_t i = 0; i < SENDERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(keep.handled, SENDERS * keep.sends);
    fixture_destroy(keep.loop);
}

JZX_TEST(no_accepted_message_is_lost_in_a_restart_with_one_worker, "C21", "X14", "X16") {
    restart_under_senders(1);
}

JZX_TEST(no_accepted_message_is_lost_in_a_restart_with_two_workers, "C21", "X14", "X16") {
    restart_under_senders(2);
}
