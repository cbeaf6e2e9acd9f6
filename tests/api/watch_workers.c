/* SPDX-License-Identifier: MIT */
/* Monitors and links between actors of different workers, and in turns that have lost theirs: all
 * is as on one worker. */
#include "watching.h"

#include <errno.h>
#include <semaphore.h>
#include <string.h>

enum { WORK = 1, LAST, WAKE, DONE };

/* ---- across workers ---- */

#define TARGETS 40u
#define MESSAGES 20u

struct target {
    struct diary diary; /* must come first */
    jzx_actor_id watcher;
    uint32_t left;
};

static jzx_behavior_result talk_and_die(jzx_context *ctx, const jzx_message *msg) {
    struct target *self = ctx->state;
    (void)msg;
    uint32_t number = --self->left;
    JZX_EXPECT_EQ(jzx_send(ctx->loop, self->watcher, ctx->self, &number, sizeof number, WORK),
                  JZX_OK);
    if (number == 0)
        jzx_exit(ctx, JZX_EXIT_SHUTDOWN, "talked");
    JZX_EXPECT_EQ(jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, WORK), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

static void talk_in_cleanup(jzx_context *ctx) {
    struct target *self = ctx->state;
    JZX_EXPECT_EQ(jzx_send(ctx->loop, self->watcher, ctx->self, NULL, 0, LAST), JZX_OK);
}

/* Knows of each target what came last, and ends when it has heard of all. */
struct watcher {
    jzx_actor_id ids[TARGETS];
    jzx_monitor_ref refs[TARGETS];
    uint32_t numbers[TARGETS];
    uint32_t lasts[TARGETS];
    uint32_t downs[TARGETS];
    uint32_t exits[TARGETS];
    uint32_t notices;
    bool started;
    struct target *targets;
    uint32_t workers;
};

static void start_targets(jzx_context *ctx, struct watcher *self) {
    JZX_EXPECT_EQ(jzx_trap_exits(ctx, true), JZX_OK);
    for (uint32_t i = 0; i < TARGETS; i++) {
        struct target *target = &self->targets[i];
        *target = (struct target){
            .left = MESSAGES, .watcher = ctx->self, .diary = {.last = talk_in_cleanup}};
        uint16_t place = JZX_PLACE_ANY;
        if (i % 2)
            place = JZX_PLACE_WORKER(i % self->workers);
        jzx_spawn_opts opts = JZX_SPAWN_OPTS(.behavior = talk_and_die, .cleanup = end_diary,
                                             .state = target, .place = place);
        if (i % 3 == 0) {
            JZX_EXPECT_EQ(jzx_spawn_watched(ctx, &opts, true, &self->ids[i], &self->refs[i]),
                          JZX_OK);
        } else {
            self->ids[i] = fixture_spawn(ctx->loop, &opts);
            JZX_EXPECT_EQ(jzx_monitor(ctx, self->ids[i], &self->refs[i]), JZX_OK);
            JZX_EXPECT_EQ(jzx_link(ctx, self->ids[i]), JZX_OK);
        }
        JZX_EXPECT_EQ(jzx_send(ctx->loop, self->ids[i], ctx->self, NULL, 0, WORK), JZX_OK);
    }
}

static jzx_behavior_result watch_all(jzx_context *ctx, const jzx_message *msg) {
    struct watcher *self = ctx->state;
    uint32_t i = 0;
    if (!self->started) {
        self->started = true;
        start_targets(ctx, self);
        return JZX_BEHAVIOR_OK;
    }
    while (i < TARGETS && self->ids[i] != msg->sender)
        i++;
    if (!JZX_EXPECT(i < TARGETS))
        return JZX_BEHAVIOR_OK;
    if (msg->tag == WORK) {
        uint32_t number;
        memcpy(&number, msg->data, sizeof number);
        JZX_EXPECT_EQ(number, MESSAGES - ++self->numbers[i]);
        JZX_EXPECT_EQ(self->lasts[i], 0);
    } else if (msg->tag == LAST) {
        JZX_EXPECT_EQ(self->numbers[i], MESSAGES);
        JZX_EXPECT_EQ(self->lasts[i]++, 0);
    } else {
        jzx_exit_notice notice;
        memcpy(&notice, msg->data, sizeof notice);
        JZX_EXPECT_EQ(self->lasts[i], 1);
        JZX_EXPECT_EQ(notice.reason, JZX_EXIT_SHUTDOWN);
        JZX_EXPECT(strcmp(notice.text, "talked") == 0);
        if (msg->tag == JZX_TAG_DOWN)
            JZX_EXPECT_EQ(notice.monitor, self->refs[i]);
        JZX_EXPECT_EQ(msg->tag == JZX_TAG_DOWN ? self->downs[i]++ : self->exits[i]++, 0);
        self->notices++;
    }
    return self->notices == 2 * TARGETS ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

JZX_TEST(ends_are_heard_last_across_workers, "E19", "D+top", "C20", "X15") {
    static struct watcher watchers[4];
    static struct target targets[4][TARGETS];
    for (uint32_t workers = 1; workers <= 4; workers++) {
        jzx_loop *loop =
            fixture_loop_with(&JZX_CONFIG(.workers = workers, .balance = JZX_BALANCE_EAGER));
        memset(watchers, 0, sizeof watchers);
        for (uint32_t i = 0; i < 4; i++) {
            watchers[i].targets = targets[i];
            watchers[i].workers = workers;
            fixture_send(
                loop,
                fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = watch_all, .state = &watchers[i])),
                WORK);
        }
        JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
        for (uint32_t i = 0; i < 4; i++)
            JZX_EXPECT_EQ(watchers[i].notices, 2 * TARGETS);
        JZX_EXPECT_EQ(fixture_stats(loop).exited, 4 * (TARGETS + 1));
        fixture_destroy(loop);
    }
}

/* ---- one that is watched in its last turn ---- */

struct last_turn {
    struct diary diary; /* of the watcher; must come first */
    jzx_actor_id target;
    jzx_actor_id watcher;
    sem_t begun;
    sem_t watched;
};

static void wait_until(sem_t *sem) {
    while (sem_wait(sem) != 0 && errno == EINTR)
        continue;
}

static jzx_behavior_result end_when_watched(jzx_context *ctx, const jzx_message *msg) {
    struct last_turn *self = ctx->state;
    (void)msg;
    sem_post(&self->begun);
    wait_until(&self->watched);
    return JZX_BEHAVIOR_FAIL;
}

static void say_goodbye(jzx_context *ctx, jzx_exit_reason reason) {
    struct last_turn *self = ctx->state;
    JZX_EXPECT_EQ(reason, JZX_EXIT_FAIL);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, self->watcher, ctx->self, NULL, 0, LAST), JZX_OK);
}

static jzx_behavior_result watch_last_turn(jzx_context *ctx, void *arg) {
    struct last_turn *self = arg;
    wait_until(&self->begun);
    JZX_EXPECT_EQ(jzx_trap_exits(ctx, true), JZX_OK);
    JZX_EXPECT_EQ(jzx_monitor(ctx, self->target, NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_link(ctx, self->target), JZX_OK);
    sem_post(&self->watched);
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result stop_after_three(jzx_context *ctx, const jzx_message *msg) {
    struct diary *self = ctx->state;
    (void)msg;
    return self->count == 3 ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

/* What asks to be listed waits in the inbox when the actor ends. */
JZX_TEST(who_begins_to_watch_in_the_last_turn_hears_of_the_end_after_the_cleanup, "E19", "D+top") {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 2, .stall_after_ns = JZX_NEVER));
    struct last_turn self = {.diary = {.then = stop_after_three}};
    assert_int_equal(sem_init(&self.begun, 0, 0), 0);
    assert_int_equal(sem_init(&self.watched, 0, 0), 0);
    self.target =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = end_when_watched, .cleanup = say_goodbye,
                                            .state = &self, .place = JZX_PLACE_WORKER(1)));
    self.watcher = fixture_spawn(loop, &DIARY_OPTS(&self, .place = JZX_PLACE_WORKER(0)));
    fixture_send(loop, self.target, WORK);
    order(loop, self.watcher, watch_last_turn, &self);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(self.diary.count, 3);
    JZX_EXPECT_EQ(self.diary.entries[0].tag, LAST);
    JZX_EXPECT_EQ(self.diary.entries[1].tag, JZX_TAG_DOWN);
    JZX_EXPECT_EQ(self.diary.entries[2].tag, JZX_TAG_EXIT);
    for (uint32_t i = 1; i < 3; i++)
        JZX_EXPECT_EQ(self.diary.entries[i].notice.reason, JZX_EXIT_FAIL);
    fixture_destroy(loop);
    assert_int_equal(sem_destroy(&self.watched), 0);
    assert_int_equal(sem_destroy(&self.begun), 0);
}

/* ---- a turn that has lost its worker ---- */

struct lost {
    struct diary diary; /* must come first */
    sem_t go;
    jzx_actor_id waker;
    order_fn then; /* in the turn that has lost its worker */
    jzx_actor_id near;
    jzx_actor_id far;
    struct diary near_diary;
    struct diary far_diary;
    struct diary child_diary;
    jzx_actor_id child;
    jzx_monitor_ref refs[3];
    uint16_t place;
};

static void wait_for(sem_t *sem) {
    while (sem_wait(sem) != 0 && errno == EINTR)
        continue;
}

static jzx_behavior_result wake(jzx_context *ctx, const jzx_message *msg) {
    struct lost *lost = ctx->state;
    (void)msg;
    sem_post(&lost->go);
    return JZX_BEHAVIOR_STOP;
}

static jzx_behavior_result lose_worker(jzx_context *ctx, void *arg) {
    struct lost *self = ctx->state;
    JZX_EXPECT_EQ(jzx_send(ctx->loop, self->waker, ctx->self, NULL, 0, WAKE), JZX_OK);
    wait_for(&self->go);
    JZX_EXPECT_EQ(jzx_current_worker(), JZX_NONE);
    return self->then(ctx, arg);
}

/* Stops when it was told of `wanted` ends. */
static uint32_t wanted;

static jzx_behavior_result stop_when_all(jzx_context *ctx, const jzx_message *msg) {
    struct diary *self = ctx->state;
    (void)msg;
    return self->count == wanted ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

static void lost_run(struct lost *lost, uint32_t worker, order_fn then, order_fn before) {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 2, .stall_after_ns = JZX_MS(1)));
    memset(lost, 0, sizeof *lost);
    lost->diary.then = stop_when_all;
    lost->then = then;
    lost->place = JZX_PLACE_WORKER(worker);
    sem_init(&lost->go, 0, 0);
    lost->near =
        fixture_spawn(loop, &DIARY_OPTS(&lost->near_diary, .place = JZX_PLACE_WORKER(worker)));
    lost->far =
        fixture_spawn(loop, &DIARY_OPTS(&lost->far_diary, .place = JZX_PLACE_WORKER(1 - worker)));
    lost->waker = fixture_spawn(
        loop, &JZX_SPAWN_OPTS(.behavior = wake, .state = lost, .place = JZX_PLACE_WORKER(worker)));
    jzx_actor_id id = fixture_spawn(loop, &DIARY_OPTS(lost, .place = JZX_PLACE_WORKER(worker)));
    if (before != NULL)
        order(loop, id, before, NULL);
    order(loop, id, lose_worker, NULL);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT(fixture_stats(loop).handovers >= 1);
    JZX_EXPECT_EQ(lost->diary.cleanups, 1);
    JZX_EXPECT_EQ(lost->near_diary.cleanups, 1);
    JZX_EXPECT_EQ(lost->far_diary.cleanups, 1);
    fixture_destroy(loop);
}

static void end_near_and_far(jzx_context *ctx, struct lost *self) {
    order(ctx->loop, self->near, call_stop, NULL);
    order(ctx->loop, self->far, call_stop, NULL);
}

static jzx_behavior_result watch_lost(jzx_context *ctx, void *arg) {
    struct lost *self = ctx->state;
    (void)arg;
    JZX_EXPECT_EQ(jzx_trap_exits(ctx, true), JZX_OK);
    JZX_EXPECT_EQ(jzx_monitor(ctx, self->near, &self->refs[0]), JZX_OK);
    JZX_EXPECT_EQ(jzx_monitor(ctx, self->far, &self->refs[1]), JZX_OK);
    JZX_EXPECT_EQ(jzx_monitor(ctx, ctx->self, NULL), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_link(ctx, self->near), JZX_OK);
    JZX_EXPECT_EQ(jzx_link(ctx, self->far), JZX_OK);
    JZX_EXPECT_EQ(jzx_link(ctx, self->far), JZX_OK);
    JZX_EXPECT_EQ(jzx_spawn_watched(ctx, &DIARY_OPTS(&self->child_diary, .place = self->place),
                                    true, &self->child, &self->refs[2]),
                  JZX_OK);
    order(ctx->loop, self->child, call_stop, NULL);
    end_near_and_far(ctx, self);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_turn_without_a_worker_can_watch, "E19", "D12", "D+top") {
    static struct lost lost;
    for (uint32_t worker = 0; worker < 2; worker++) {
        uint32_t downs = 0;
        uint32_t exits = 0;
        wanted = 6;
        lost_run(&lost, worker, watch_lost, NULL);
        JZX_EXPECT_EQ(lost.diary.count, 6);
        for (uint32_t i = 0; i < 6; i++) {
            downs += lost.diary.entries[i].tag == JZX_TAG_DOWN;
            exits += lost.diary.entries[i].tag == JZX_TAG_EXIT;
        }
        JZX_EXPECT_EQ(downs, 3);
        JZX_EXPECT_EQ(exits, 3);
        JZX_EXPECT(lost.refs[0] != lost.refs[1] && lost.refs[1] != lost.refs[2]);
    }
}

/* In a turn with a worker, before it is lost. */
static jzx_behavior_result watch_first(jzx_context *ctx, void *arg) {
    struct lost *self = ctx->state;
    (void)arg;
    JZX_EXPECT_EQ(jzx_trap_exits(ctx, true), JZX_OK);
    JZX_EXPECT_EQ(jzx_monitor(ctx, self->near, &self->refs[0]), JZX_OK);
    JZX_EXPECT_EQ(jzx_monitor(ctx, self->far, &self->refs[1]), JZX_OK);
    JZX_EXPECT_EQ(jzx_monitor(ctx, self->far, &self->refs[2]), JZX_OK);
    JZX_EXPECT_EQ(jzx_link(ctx, self->near), JZX_OK);
    JZX_EXPECT_EQ(jzx_link(ctx, self->far), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result unwatch_lost(jzx_context *ctx, void *arg) {
    struct lost *self = ctx->state;
    jzx_monitor_ref own = JZX_NO_MONITOR;
    (void)arg;
    JZX_EXPECT_EQ(jzx_demonitor(ctx, self->refs[0]), JZX_OK);
    JZX_EXPECT_EQ(jzx_demonitor(ctx, self->refs[0]), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_demonitor(ctx, self->refs[2]), JZX_OK);
    JZX_EXPECT_EQ(jzx_unlink(ctx, self->near), JZX_OK);
    JZX_EXPECT_EQ(jzx_unlink(ctx, self->far), JZX_OK);
    JZX_EXPECT_EQ(jzx_unlink(ctx, self->far), JZX_OK);
    JZX_EXPECT_EQ(jzx_monitor(ctx, self->near, &own), JZX_OK); /* made and taken back here */
    JZX_EXPECT_EQ(jzx_demonitor(ctx, own), JZX_OK);
    JZX_EXPECT_EQ(jzx_demonitor(ctx, own), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_link(ctx, self->near), JZX_OK);
    JZX_EXPECT_EQ(jzx_unlink(ctx, self->near), JZX_OK);
    end_near_and_far(ctx, self);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_turn_without_a_worker_can_take_back, "E19", "D12", "D+top") {
    static struct lost lost;
    for (uint32_t worker = 0; worker < 2; worker++) {
        wanted = 1;
        lost_run(&lost, worker, unwatch_lost, watch_first);
        JZX_EXPECT_EQ(lost.diary.count, 1);
        JZX_EXPECT_EQ(lost.diary.entries[0].notice.monitor, lost.refs[1]);
    }
}

/* What it watches ends while it is away; then it takes all back, and exits or goes on. */
static sem_t both_ended;

static void say_ended(jzx_context *ctx) {
    (void)ctx;
    sem_post(&both_ended);
}

static jzx_behavior_result end_then_unwatch(jzx_context *ctx, void *arg) {
    struct lost *self = ctx->state;
    self->near_diary.last = self->far_diary.last = say_ended;
    end_near_and_far(ctx, self);
    wait_for(&both_ended);
    wait_for(&both_ended); /* perhaps their messages wait already */
    for (uint32_t i = 0; i < 3; i++) {
        jzx_err err = jzx_demonitor(ctx, self->refs[i]);
        JZX_EXPECT_EQ(err, JZX_OK);
    }
    JZX_EXPECT_EQ(jzx_unlink(ctx, self->near), JZX_OK);
    JZX_EXPECT_EQ(jzx_unlink(ctx, self->far), JZX_OK);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, DONE), JZX_OK);
    (void)arg;
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_turn_without_a_worker_takes_back_what_waits, "E19", "D12", "X15") {
    static struct lost lost;
    for (uint32_t worker = 0; worker < 2; worker++) {
        sem_init(&both_ended, 0, 0);
        wanted = 1;
        lost_run(&lost, worker, end_then_unwatch, watch_first);
        JZX_EXPECT_EQ(lost.diary.count, 1);
        JZX_EXPECT_EQ(lost.diary.entries[0].tag, DONE);
    }
}

/* Links and monitors that it asked for on its last breath. */
static jzx_behavior_result watch_and_exit(jzx_context *ctx, void *arg) {
    struct lost *self = ctx->state;
    (void)arg;
    JZX_EXPECT_EQ(jzx_monitor(ctx, self->near, &self->refs[0]), JZX_OK);
    JZX_EXPECT_EQ(jzx_monitor(ctx, self->far, &self->refs[1]), JZX_OK);
    JZX_EXPECT_EQ(jzx_link(ctx, self->near), JZX_OK);
    JZX_EXPECT_EQ(jzx_link(ctx, self->far), JZX_OK);
    JZX_EXPECT_EQ(jzx_spawn_watched(ctx, &DIARY_OPTS(&self->child_diary, .place = self->place),
                                    true, &self->child, NULL),
                  JZX_OK);
    jzx_exit(ctx, JZX_EXIT_FAIL, "lost");
}

JZX_TEST(links_of_a_turn_without_a_worker_hold_when_it_exits, "E19", "D12", "E10") {
    static struct lost lost;
    for (uint32_t worker = 0; worker < 2; worker++) {
        lost_run(&lost, worker, watch_and_exit, NULL);
        JZX_EXPECT_EQ(lost.child_diary.cleanups, 1);
        JZX_EXPECT_EQ(lost.child_diary.reason, JZX_EXIT_FAIL);
        JZX_EXPECT_EQ(lost.near_diary.reason, JZX_EXIT_FAIL);
        JZX_EXPECT_EQ(lost.far_diary.reason, JZX_EXIT_FAIL);
    }
}

/* The target is the one that has lost its worker: asked for, asked back, and killed meanwhile. */
static jzx_behavior_result watch_the_lost(jzx_context *ctx, void *arg) {
    struct call *call = arg;
    jzx_monitor_ref gone = JZX_NO_MONITOR;
    JZX_EXPECT_EQ(jzx_trap_exits(ctx, true), JZX_OK);
    JZX_EXPECT_EQ(jzx_monitor(ctx, call->target, &call->ref), JZX_OK);
    JZX_EXPECT_EQ(jzx_monitor(ctx, call->target, &gone), JZX_OK);
    JZX_EXPECT_EQ(jzx_link(ctx, call->target), JZX_OK);
    JZX_EXPECT_EQ(jzx_demonitor(ctx, gone), JZX_OK);
    JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, call->target, JZX_STOP_KILL), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result release_lost(jzx_context *ctx, void *arg) {
    (void)ctx;
    sem_post(arg);
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result ask_to_be_watched(jzx_context *ctx, void *arg) {
    struct lost *self = ctx->state;
    static struct call calls[2];
    (void)arg;
    for (uint32_t i = 0; i < 2; i++) {
        jzx_actor_id to = i == 0 ? self->near : self->far;
        struct diary *diary = i == 0 ? &self->near_diary : &self->far_diary;
        diary->then = stop_when_all;
        calls[i] = (struct call){.target = ctx->self};
        order(ctx->loop, to, watch_the_lost, &calls[i]);
        order(ctx->loop, to, release_lost, &both_ended);
    }
    wait_for(&both_ended);
    wait_for(&both_ended);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(who_has_lost_its_worker_can_be_watched, "E19", "D12", "D+top") {
    static struct lost lost;
    for (uint32_t worker = 0; worker < 2; worker++) {
        sem_init(&both_ended, 0, 0);
        wanted = 2;
        lost_run(&lost, worker, ask_to_be_watched, NULL);
        JZX_EXPECT_EQ(lost.diary.reason, JZX_EXIT_KILLED);
        JZX_EXPECT_EQ(lost.near_diary.count, 2);
        JZX_EXPECT_EQ(lost.far_diary.count, 2);
        for (uint32_t i = 0; i < 2; i++) {
            JZX_EXPECT_EQ(lost.near_diary.entries[i].notice.reason, JZX_EXIT_KILLED);
            JZX_EXPECT_EQ(lost.far_diary.entries[i].notice.reason, JZX_EXIT_KILLED);
        }
    }
}
