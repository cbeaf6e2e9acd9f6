/* SPDX-License-Identifier: MIT */
/* For tests of groups: actors that do in their turn what the test says, and note what they hear. */
#ifndef JZX_TEST_GROUPING_H
#define JZX_TEST_GROUPING_H

#include "fixture.h"

#include <stdio.h>
#include <string.h>

enum { GROUPING_DO = 9001, GROUPING_STOP = 9002 };

#define HEARD_MAX 4096u

struct heard {
    uint32_t tag;
    jzx_actor_id actor; /* of an event */
    char group[JZX_NAME_MAX + 1];
};

/* The state of an actor. */
struct ear {
    jzx_actor_id id;
    const void *arg; /* for what it is told to do */
    jzx_err err;     /* the result */
    size_t count;    /* likewise */
    uint32_t messages;
    struct heard *heard; /* events, HEARD_MAX; NULL if none is to come */
    uint32_t events;
};

typedef void (*ear_fn)(jzx_context *ctx, struct ear *self);

static inline jzx_behavior_result listen(jzx_context *ctx, const jzx_message *msg) {
    struct ear *self = ctx->state;
    if (msg->tag == GROUPING_STOP)
        return JZX_BEHAVIOR_STOP;
    if (msg->tag == GROUPING_DO) {
        ear_fn fn;
        memcpy(&fn, msg->data, sizeof fn);
        fn(ctx, self);
    } else if (msg->tag == JZX_TAG_GROUP_JOIN || msg->tag == JZX_TAG_GROUP_LEAVE) {
        jzx_group_event event;
        if (!JZX_EXPECT_EQ(msg->len, sizeof event) || !JZX_EXPECT(self->heard != NULL) ||
            !JZX_EXPECT(self->events < HEARD_MAX))
            return JZX_BEHAVIOR_OK;
        memcpy(&event, msg->data, sizeof event);
        JZX_EXPECT_EQ(msg->sender, event.actor);
        struct heard *heard = &self->heard[self->events++];
        *heard = (struct heard){.tag = msg->tag, .actor = event.actor};
        memcpy(heard->group, event.group, sizeof heard->group);
    } else {
        self->messages++;
    }
    return JZX_BEHAVIOR_OK;
}

static inline void ear_spawn(jzx_loop *loop, struct ear *ear) {
    ear->id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = listen, .state = ear));
}

static inline void grouping_step(jzx_loop *loop) {
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
}

/* Has the actor do something in its turn, now; returns what it noted. */
static inline jzx_err ear_do(jzx_loop *loop, struct ear *ear, ear_fn fn, const void *arg) {
    ear->arg = arg;
    ear->err = JZX_ERR_UNKNOWN;
    JZX_EXPECT_EQ(jzx_send(loop, ear->id, JZX_NOBODY, &fn, sizeof fn, GROUPING_DO), JZX_OK);
    grouping_step(loop);
    return ear->err;
}

static inline void do_join(jzx_context *ctx, struct ear *self) {
    self->err = jzx_group_join(ctx, self->arg);
}

static inline void do_leave(jzx_context *ctx, struct ear *self) {
    self->err = jzx_group_leave(ctx, self->arg);
}

static inline void do_monitor(jzx_context *ctx, struct ear *self) {
    self->err = jzx_group_monitor(ctx, self->arg, NULL, 0, &self->count);
}

static inline void do_demonitor(jzx_context *ctx, struct ear *self) {
    self->err = jzx_group_demonitor(ctx, self->arg);
}

static inline jzx_err join(jzx_loop *loop, struct ear *ear, const char *group) {
    return ear_do(loop, ear, do_join, group);
}

static inline jzx_err leave(jzx_loop *loop, struct ear *ear, const char *group) {
    return ear_do(loop, ear, do_leave, group);
}

static inline jzx_err monitor(jzx_loop *loop, struct ear *ear, const char *group) {
    return ear_do(loop, ear, do_monitor, group);
}

static inline jzx_err demonitor(jzx_loop *loop, struct ear *ear, const char *group) {
    return ear_do(loop, ear, do_demonitor, group);
}

static inline void ear_stop(jzx_loop *loop, struct ear *ear) {
    fixture_send(loop, ear->id, GROUPING_STOP);
    grouping_step(loop);
}

static inline size_t member_count(jzx_loop *loop, const char *group) {
    size_t count = 4711;
    JZX_EXPECT_EQ(jzx_group_members(loop, group, NULL, 0, &count), JZX_OK);
    return count;
}

static inline bool is_member(jzx_loop *loop, const char *group, jzx_actor_id id) {
    jzx_actor_id ids[64];
    size_t count = 0;
    uint32_t found = 0;
    JZX_EXPECT_EQ(jzx_group_members(loop, group, ids, 64, &count), JZX_OK);
    for (size_t i = 0; i < count && i < 64; i++)
        found += ids[i] == id;
    JZX_EXPECT(found <= 1);
    return found == 1;
}

static inline void expect_event(const struct ear *ear, uint32_t index, uint32_t tag,
                                jzx_actor_id actor, const char *group) {
    if (!JZX_EXPECT(index < ear->events))
        return;
    JZX_EXPECT_EQ(ear->heard[index].tag, tag);
    JZX_EXPECT_EQ(ear->heard[index].actor, actor);
    JZX_EXPECT(strcmp(ear->heard[index].group, group) == 0);
}

#endif
