/* SPDX-License-Identifier: MIT */
/* A send from another thread that is held up while its receiver is restarted in the same slot. */
#include "fixture.h"

#include <jzx/supervisor.h>

#include <pthread.h>
#include <semaphore.h>

#define PAYLOAD 100000u /* from the allocator, after the receiver was looked up */

enum { FAIL = 1, NUMBER };

struct held {
    jzx_allocator below;
    jzx_loop *loop;
    jzx_actor_id id;
    sem_t is_held;
    sem_t goes_on;
    jzx_err err;
    uint32_t handled;
};

static struct held held;
static _Thread_local bool is_sender;

static void *alloc_and_wait(void *ctx, size_t size) {
    (void)ctx;
    if (is_sender && size >= PAYLOAD) {
        JZX_EXPECT_EQ(sem_post(&held.is_held), 0);
        JZX_EXPECT_EQ(sem_wait(&held.goes_on), 0);
    }
    return held.below.alloc(held.below.ctx, size);
}

static void free_below(void *ctx, void *ptr, size_t size) {
    (void)ctx;
    held.below.free(held.below.ctx, ptr, size);
}

static void *send_slowly(void *arg) {
    static const char payload[PAYLOAD];
    (void)arg;
    is_sender = true;
    held.err = jzx_send(held.loop, held.id, JZX_NOBODY, payload, sizeof payload, NUMBER);
    return NULL;
}

static jzx_behavior_result count_or_fail(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    jzx_test_ran();
    held.handled += msg->tag == NUMBER;
    return msg->tag == FAIL ? JZX_BEHAVIOR_FAIL : JZX_BEHAVIOR_OK;
}

JZX_TEST(a_send_that_meets_the_restart_is_refused_or_kept, "C21", "X14") {
    static const jzx_child_spec specs[] = {
        {.name = "keeper", .behavior = count_or_fail, .keep_mailbox = true}};
    pthread_t sender;
    jzx_actor_id root;
    jzx_actor_id next;
    held.below = fixture_allocator();
    assert_int_equal(sem_init(&held.is_held, 0, 0), 0);
    assert_int_equal(sem_init(&held.goes_on, 0, 0), 0);
    held.loop =
        jzx_loop_create(&JZX_CONFIG(.workers = 1, .log.level = JZX_LOG_OFF,
                                    .allocator = {.alloc = alloc_and_wait, .free = free_below}));
    assert_non_null(held.loop);
    assert_int_equal(
        jzx_spawn_supervisor(held.loop, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(specs)), &root), JZX_OK);
    assert_int_equal(jzx_loop_step(held.loop, JZX_NEVER), JZX_OK);
    assert_int_equal(jzx_supervisor_child(held.loop, root, "keeper", &held.id), JZX_OK);
    assert_int_equal(pthread_create(&sender, NULL, send_slowly, NULL), 0);
    assert_int_equal(sem_wait(&held.is_held), 0);
    fixture_send(held.loop, held.id, FAIL);
    assert_int_equal(jzx_loop_step(held.loop, JZX_NEVER), JZX_OK);
    assert_int_equal(jzx_test_runs(), 1);
    assert_int_equal(jzx_supervisor_child(held.loop, root, "keeper", &next), JZX_OK);
    assert_int_equal(jzx_id_index(next), jzx_id_index(held.id)); /* or it shows nothing */
    assert_true(next != held.id);
    assert_int_equal(sem_post(&held.goes_on), 0);
    assert_int_equal(pthread_join(sender, NULL), 0);
    assert_int_equal(jzx_loop_step(held.loop, JZX_NEVER), JZX_OK);
    assert_int_equal(fixture_stats(held.loop).dead, 0);
    assert_int_equal(held.err, held.handled == 1 ? JZX_OK : JZX_ERR_NO_SUCH_ACTOR);
    fixture_destroy(held.loop);
    assert_int_equal(sem_destroy(&held.is_held), 0);
    assert_int_equal(sem_destroy(&held.goes_on), 0);
}
