/* SPDX-License-Identifier: MIT */
/* An actor whose worker went on without it joins, leaves and watches as any other, and keeps what
 * it was sent. */
#include "fixture.h"

#include <errno.h>
#include <semaphore.h>
#include <string.h>

enum { WAKE = 1, JOIN = 2, SHARED = 3 };

struct staller {
    sem_t go;
    jzx_actor_id waker;
    jzx_actor_id joiner;
    void *kept;
    uint32_t joins; /* events of the joiner */
};

static jzx_behavior_result let_go(jzx_context *ctx, const jzx_message *msg) {
    struct staller *staller = ctx->state;
    (void)msg;
    sem_post(&staller->go); /* it runs on the worker of who waits: so that one has lost it */
    return JZX_BEHAVIOR_STOP;
}

static void wait_for(sem_t *sem) {
    while (sem_wait(sem) != 0 && errno == EINTR)
        continue;
}

static void stall(jzx_context *ctx, struct staller *self) {
    char names[3][JZX_NAME_MAX + 1];
    jzx_actor_id ids[4];
    size_t count = 0;
    JZX_EXPECT_EQ(jzx_group_join(ctx, "before"), JZX_OK);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, self->waker, ctx->self, NULL, 0, WAKE), JZX_OK);
    wait_for(&self->go);
    JZX_EXPECT_EQ(jzx_current_worker(), JZX_NONE);
    JZX_EXPECT_EQ(jzx_group_join(ctx, "during"), JZX_OK);
    JZX_EXPECT_EQ(jzx_group_join(ctx, "during"), JZX_OK);
    JZX_EXPECT_EQ(jzx_group_leave(ctx, "during"), JZX_OK);
    JZX_EXPECT_EQ(jzx_group_leave(ctx, "before"), JZX_OK);
    JZX_EXPECT_EQ(jzx_group_leave(ctx, "before"), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_group_monitor(ctx, "during", ids, 4, &count), JZX_OK);
    JZX_EXPECT_EQ(count, 1);
    JZX_EXPECT_EQ(ids[0], ctx->self);
    JZX_EXPECT_EQ(jzx_group_monitor(ctx, "other", NULL, 0, &count), JZX_OK);
    JZX_EXPECT_EQ(jzx_group_demonitor(ctx, "other"), JZX_OK);
    JZX_EXPECT_EQ(jzx_group_list(ctx, names, 3, &count), JZX_OK);
    JZX_EXPECT_EQ(count, 1);
    JZX_EXPECT(strcmp(names[0], "during") == 0);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, self->joiner, ctx->self, NULL, 0, JOIN), JZX_OK);
}

static jzx_behavior_result do_staller(jzx_context *ctx, const jzx_message *msg) {
    struct staller *self = ctx->state;
    jzx_group_event event;
    switch (msg->tag) {
    case SHARED:
        stall(ctx, self);
        self->kept = jzx_msg_take(ctx, msg); /* without the worker, too */
        JZX_EXPECT(self->kept != NULL && memcmp(self->kept, "shared", 6) == 0);
        return JZX_BEHAVIOR_OK;
    case JZX_TAG_GROUP_JOIN:
        memcpy(&event, msg->data, sizeof event);
        JZX_EXPECT_EQ(event.actor, self->joiner);
        self->joins++;
        jzx_msg_free(ctx->loop, self->kept);
        return JZX_BEHAVIOR_STOP;
    default: JZX_EXPECT(false); return JZX_BEHAVIOR_FAIL;
    }
}

static jzx_behavior_result do_joiner(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == JOIN)
        JZX_EXPECT_EQ(jzx_group_join(ctx, "during"), JZX_OK);
    return JZX_BEHAVIOR_STOP;
}

static uint32_t destroyed;

static void note_destroyed(void *data, size_t len) {
    (void)data;
    (void)len;
    destroyed++;
}

JZX_TEST(an_actor_that_has_lost_its_worker_joins_leaves_and_watches, "D+pg", "X14") {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 2, .stall_after_ns = JZX_MS(1)));
    struct staller staller = {0};
    size_t count = 4711;
    assert_non_null(loop);
    assert_int_equal(sem_init(&staller.go, 0, 0), 0);
    destroyed = 0;
    jzx_spawn_opts opts =
        JZX_SPAWN_OPTS(.behavior = let_go, .state = &staller, .place = JZX_PLACE_WORKER(1));
    staller.waker = fixture_spawn(loop, &opts);
    opts.behavior = do_staller;
    jzx_actor_id id = fixture_spawn(loop, &opts);
    staller.joiner = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = do_joiner));
    void *data = jzx_msg_alloc(loop, 6, note_destroyed);
    assert_non_null(data);
    memcpy(data, "shared", 6);
    JZX_EXPECT_EQ(jzx_send_msg(loop, id, JZX_NOBODY, jzx_msg_share(loop, data), SHARED), JZX_OK);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(staller.joins, 1);
    JZX_EXPECT_EQ(destroyed, 1);
    JZX_EXPECT_EQ(jzx_group_members(loop, "during", NULL, 0, &count), JZX_OK);
    JZX_EXPECT_EQ(count, 0);
    fixture_destroy(loop);
    assert_int_equal(sem_destroy(&staller.go), 0);
}
