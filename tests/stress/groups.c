/* SPDX-License-Identifier: MIT */
/* Names and groups used by everybody at once: actors that join, leave, take names and die on
 * several workers, threads that look up, broadcast and route. Whoever stays in a group gets each
 * broadcast once, and whoever watches it sees a history that makes sense. */
#include "actor/loop.h"

#include "fixture.h"

#include <jzx/group.h>
#include <jzx/name.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { TICK = 1, CAST = 2, ROUTED = 3, STOP = 4 };

#define WORKERS 3u
#define CHURNERS 16u
#define STAYERS 4u
#define WATCHERS 2u
#define GROUPS 3u
#define SENDERS 2u
#define KNOWN_MAX 64u
#define AHEAD_MAX 16u /* broadcasts that were not received yet */

static const char *const groups[GROUPS] = {"red", "green", "the third group, with a long name"};

struct churner {
    bool passes_on; /* to an heir, when it has ended */
    uint32_t number;
    uint32_t seed;
    uint32_t joins[GROUPS];
};

struct stayer {
    jzx_actor_id id;
    uint32_t next[SENDERS]; /* of each sender's broadcasts */
};

struct watcher {
    jzx_actor_id id;
    jzx_actor_id known[GROUPS][KNOWN_MAX];
    uint32_t counts[GROUPS];
    uint32_t events; /* that it was told of, or has missed */
};

static struct {
    jzx_loop *loop;
    struct churner churners[CHURNERS];
    struct stayer stayers[STAYERS];
    struct watcher watchers[WATCHERS];
    atomic_uint ready; /* stayers and watchers */
    atomic_uint ticks; /* still to come */
    atomic_uint alive; /* churners, and their heirs */
    atomic_uint cast[SENDERS];
    atomic_uint seen[SENDERS]; /* of those, by the first stayer */
    atomic_bool over;
    bool lags;           /* at most two events wait for a watcher */
    atomic_ulong missed; /* then */
} all;

static uint32_t next_random(uint32_t *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* ---- those who come and go ---- */

static jzx_behavior_result churn(jzx_context *ctx, const jzx_message *msg);
static void leave(jzx_context *ctx, jzx_exit_reason reason);

static void count_end(jzx_context *ctx, jzx_exit_reason reason) {
    (void)ctx;
    (void)reason;
    atomic_fetch_sub(&all.alive, 1);
}

static void spawn_churner(jzx_loop *loop, struct churner *state) {
    jzx_actor_id id = JZX_NOBODY;
    memset(state->joins, 0, sizeof state->joins);
    atomic_fetch_add(&all.alive, 1);
    JZX_EXPECT_EQ(jzx_spawn(loop,
                            &JZX_SPAWN_OPTS(.behavior = churn, .state = state, .cleanup = leave,
                                            .mailbox_cap = JZX_MAILBOX_CAP_MAX),
                            &id),
                  JZX_OK);
    JZX_EXPECT_EQ(jzx_send(loop, id, JZX_NOBODY, NULL, 0, TICK), JZX_OK);
}

static void use_name(jzx_context *ctx, struct churner *self) {
    char name[32];
    snprintf(name, sizeof name, "churner %u", self->number);
    jzx_actor_id found = JZX_NOBODY;
    jzx_err err = jzx_register(ctx->loop, name, ctx->self);
    JZX_EXPECT_EQ(err, JZX_OK); /* its own name, and who had it before has ended */
    JZX_EXPECT_EQ(jzx_lookup(ctx->loop, name, &found), JZX_OK);
    JZX_EXPECT_EQ(found, ctx->self);
    if (next_random(&self->seed) % 2)
        JZX_EXPECT_EQ(jzx_unregister(ctx->loop, name), JZX_OK);
}

static bool take_tick(void) {
    unsigned ticks = atomic_load(&all.ticks);
    while (ticks != 0 && !atomic_compare_exchange_weak(&all.ticks, &ticks, ticks - 1))
        continue;
    return ticks != 0;
}

/* Its heir has the same state, and begins when this one has ended: the last thing that it does. */
static void hand_over(jzx_context *ctx, jzx_exit_reason reason) {
    spawn_churner(ctx->loop, ctx->state);
    count_end(ctx, reason);
}

static jzx_behavior_result die(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    return JZX_BEHAVIOR_STOP;
}

/* The one between: it waits for nothing and leaves the state to the next. */
static void spawn_between(jzx_context *ctx, struct churner *self) {
    jzx_actor_id id = JZX_NOBODY;
    atomic_fetch_add(&all.alive, 1);
    JZX_EXPECT_EQ(jzx_spawn(ctx->loop,
                            &JZX_SPAWN_OPTS(.behavior = die, .state = self, .cleanup = hand_over),
                            &id),
                  JZX_OK);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, id, ctx->self, NULL, 0, STOP), JZX_OK);
}

/* Its id is stale by now, so that the name is free for the heir. */
static void leave(jzx_context *ctx, jzx_exit_reason reason) {
    struct churner *self = ctx->state;
    if (self->passes_on) {
        self->passes_on = false;
        spawn_between(ctx, self); /* the state is the heir's now */
    }
    count_end(ctx, reason);
}

static void join_or_leave(jzx_context *ctx, struct churner *self) {
    uint32_t g = next_random(&self->seed) % GROUPS;
    if (next_random(&self->seed) % 2) {
        JZX_EXPECT_EQ(jzx_group_join(ctx, groups[g]), JZX_OK);
        self->joins[g]++;
    } else {
        JZX_EXPECT_EQ(jzx_group_leave(ctx, groups[g]),
                      self->joins[g] != 0 ? JZX_OK : JZX_ERR_NO_SUCH_ACTOR);
        self->joins[g] -= self->joins[g] != 0;
    }
}

static jzx_behavior_result churn(jzx_context *ctx, const jzx_message *msg) {
    struct churner *self = ctx->state;
    if (msg->tag != TICK)
        return JZX_BEHAVIOR_OK;
    if (!take_tick())
        return JZX_BEHAVIOR_STOP;
    switch (next_random(&self->seed) % 16) {
    case 0: self->passes_on = true; return JZX_BEHAVIOR_STOP;
    case 1:
    case 2: use_name(ctx, self); break;
    default: join_or_leave(ctx, self); break;
    }
    JZX_EXPECT_EQ(jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, TICK), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

/* ---- those who stay ---- */

static jzx_behavior_result stay(jzx_context *ctx, const jzx_message *msg) {
    struct stayer *self = ctx->state;
    if (msg->tag == CAST) {
        uint32_t what[2]; /* sender, number */
        memcpy(what, msg->data, sizeof what);
        JZX_EXPECT_EQ(self->next[what[0]]++, what[1]); /* each once, and in order */
        if (self == &all.stayers[0])
            atomic_fetch_add(&all.seen[what[0]], 1);
    }
    return msg->tag == STOP ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

static jzx_err settle(jzx_context *ctx) {
    for (uint32_t g = 0; g < GROUPS; g++)
        JZX_EXPECT_EQ(jzx_group_join(ctx, groups[g]), JZX_OK);
    atomic_fetch_add(&all.ready, 1);
    return JZX_OK;
}

/* ---- those who watch ---- */

static uint32_t find_known(const struct watcher *self, uint32_t g, jzx_actor_id id) {
    uint32_t i = 0;
    while (i < self->counts[g] && self->known[g][i] != id)
        i++;
    return i;
}

/* It begins anew with the members as they are now; what waits may tell of them once more. */
static void catch_up(jzx_context *ctx, struct watcher *self, uint32_t g, uint64_t missed) {
    size_t count = 0;
    JZX_EXPECT(all.lags && missed != 0);
    atomic_fetch_add(&all.missed, missed);
    self->events += (uint32_t)missed;
    JZX_EXPECT_EQ(jzx_group_monitor(ctx, groups[g], self->known[g], KNOWN_MAX, &count), JZX_OK);
    self->counts[g] = (uint32_t)count;
}

static void note_event(jzx_context *ctx, struct watcher *self, const jzx_message *msg) {
    jzx_group_event event;
    uint32_t g = 0;
    memcpy(&event, msg->data, sizeof event);
    while (g < GROUPS && strcmp(groups[g], event.group) != 0)
        g++;
    if (!JZX_EXPECT(g < GROUPS))
        return;
    if (msg->tag == JZX_TAG_GROUP_LAGGED) {
        catch_up(ctx, self, g, event.missed);
        return;
    }
    uint32_t at = find_known(self, g, event.actor);
    bool is_known = at < self->counts[g];
    self->events++;
    if (all.lags && is_known == (msg->tag == JZX_TAG_GROUP_JOIN))
        return;
    if (msg->tag == JZX_TAG_GROUP_JOIN) {
        JZX_EXPECT(!is_known);
        if (JZX_EXPECT(self->counts[g] < KNOWN_MAX))
            self->known[g][self->counts[g]++] = event.actor;
    } else if (JZX_EXPECT(is_known)) {
        self->known[g][at] = self->known[g][--self->counts[g]];
    }
}

static jzx_behavior_result watch(jzx_context *ctx, const jzx_message *msg) {
    struct watcher *self = ctx->state;
    if (msg->tag != STOP) {
        note_event(ctx, self, msg);
        return JZX_BEHAVIOR_OK;
    }
    for (uint32_t g = 0; g < GROUPS; g++) {
        JZX_EXPECT_EQ(self->counts[g], STAYERS);
        for (uint32_t i = 0; i < STAYERS; i++)
            JZX_EXPECT(find_known(self, g, all.stayers[i].id) < self->counts[g]);
    }
    atomic_fetch_sub(&all.ready, 1);
    return JZX_BEHAVIOR_STOP;
}

static jzx_err begin_watch(jzx_context *ctx) {
    struct watcher *self = ctx->state;
    for (uint32_t g = 0; g < GROUPS; g++) {
        size_t count = 0;
        JZX_EXPECT_EQ(jzx_group_monitor(ctx, groups[g], self->known[g], KNOWN_MAX, &count), JZX_OK);
        self->counts[g] = (uint32_t)count;
    }
    atomic_fetch_add(&all.ready, 1);
    return JZX_OK;
}

/* ---- threads ---- */

static void send_one_way_or_other(uint32_t *seed, uint32_t sender) {
    char long_payload[200] = {0};
    uint32_t number = atomic_load(&all.cast[sender]);
    uint32_t what[2] = {sender, number};
    size_t delivered = 0;
    size_t count = 0;
    char name[32];
    jzx_actor_id id;
    memcpy(long_payload, what, sizeof what);
    switch (next_random(seed) % 4) {
    case 0:
        JZX_EXPECT_EQ(jzx_group_broadcast(all.loop, groups[number % GROUPS], JZX_NOBODY,
                                          long_payload, number % 2 ? sizeof what : 200, CAST,
                                          &delivered),
                      JZX_OK);
        JZX_EXPECT(delivered >= STAYERS);
        atomic_fetch_add(&all.cast[sender], 1);
        break;
    case 1:
        JZX_EXPECT_EQ(jzx_route(all.loop, groups[next_random(seed) % GROUPS],
                                (jzx_route_policy)(next_random(seed) % 3), next_random(seed),
                                JZX_NOBODY, "x", 1, ROUTED),
                      JZX_OK);
        break;
    case 2:
        JZX_EXPECT_EQ(jzx_group_members(all.loop, groups[number % GROUPS], NULL, 0, &count),
                      JZX_OK);
        JZX_EXPECT(count >= STAYERS && count <= STAYERS + CHURNERS);
        break;
    default:
        snprintf(name, sizeof name, "churner %u", next_random(seed) % CHURNERS);
        jzx_err err = jzx_lookup(all.loop, name, &id);
        JZX_EXPECT(err == JZX_OK || err == JZX_ERR_NO_SUCH_ACTOR);
        if (err == JZX_OK)
            jzx_send_named(all.loop, name, JZX_NOBODY, NULL, 0, ROUTED);
        break;
    }
}

static void *send_from_outside(void *arg) {
    uint32_t sender = (uint32_t)(uintptr_t)arg;
    uint32_t seed = sender + 77;
    while (!atomic_load(&all.over)) {
        if (atomic_load(&all.cast[sender]) - atomic_load(&all.seen[sender]) < AHEAD_MAX)
            send_one_way_or_other(&seed, sender);
        else
            sched_yield();
    }
    return NULL;
}

/* Starts what comes and goes when the others are there, and ends the others afterwards. */
static void *direct(void *arg) {
    pthread_t senders[SENDERS];
    (void)arg;
    while (atomic_load(&all.ready) < STAYERS + WATCHERS)
        sched_yield();
    for (uint32_t i = 0; i < CHURNERS; i++) {
        all.churners[i] = (struct churner){.number = i, .seed = i + 1};
        spawn_churner(all.loop, &all.churners[i]);
    }
    for (uintptr_t i = 0; i < SENDERS; i++)
        JZX_EXPECT_EQ(pthread_create(&senders[i], NULL, send_from_outside, (void *)i), 0);
    while (atomic_load(&all.alive) != 0)
        sched_yield();
    atomic_store(&all.over, true);
    for (uint32_t i = 0; i < SENDERS; i++)
        JZX_EXPECT_EQ(pthread_join(senders[i], NULL), 0);
    for (uint32_t i = 0; i < WATCHERS; i++)
        JZX_EXPECT_EQ(jzx_send(all.loop, all.watchers[i].id, JZX_NOBODY, NULL, 0, STOP), JZX_OK);
    while (atomic_load(&all.ready) != STAYERS) /* they look who is left */
        sched_yield();
    for (uint32_t i = 0; i < STAYERS; i++)
        JZX_EXPECT_EQ(jzx_send(all.loop, all.stayers[i].id, JZX_NOBODY, NULL, 0, STOP), JZX_OK);
    return NULL;
}

static void spawn_those_who_stay(void) {
    for (uint32_t i = 0; i < STAYERS; i++) {
        jzx_spawn_opts opts = JZX_SPAWN_OPTS(.behavior = stay, .state = &all.stayers[i],
                                             .init = settle, .mailbox_cap = JZX_MAILBOX_CAP_MAX);
        all.stayers[i].id = fixture_spawn(all.loop, &opts);
    }
    for (uint32_t i = 0; i < WATCHERS; i++) {
        jzx_spawn_opts opts = JZX_SPAWN_OPTS(.behavior = watch, .state = &all.watchers[i],
                                             .init = begin_watch, .mailbox_cap = 1);
        all.watchers[i].id = fixture_spawn(all.loop, &opts);
    }
}

static void play(bool restless, bool lags) {
    pthread_t director;
    memset(&all, 0, sizeof all);
    all.lags = lags;
    atomic_store(&all.ticks, (unsigned)jzx_test_rounds(restless ? 30000 : 200000, 2000000));
    all.loop = fixture_loop_with(&JZX_CONFIG(.workers = WORKERS, .balance = JZX_BALANCE_EAGER,
                                             .max_group_events = lags ? 2 : JZX_UNLIMITED));
    assert_non_null(all.loop);
    all.loop->sched.restless = restless;
    /* relaxed: sends every spawn the long way, where it is made restless */
    jzx__atomic_store_relaxed(&all.loop->observer.is_set, restless ? 1u : 0u);
    spawn_those_who_stay();
    assert_int_equal(pthread_create(&director, NULL, direct, NULL), 0);
    assert_int_equal(jzx_loop_run(all.loop), JZX_OK);
    assert_int_equal(pthread_join(director, NULL), 0);
    for (uint32_t i = 0; i < STAYERS; i++)
        for (uint32_t k = 0; k < SENDERS; k++)
            JZX_EXPECT_EQ(all.stayers[i].next[k], atomic_load(&all.cast[k]));
    for (uint32_t i = 0; i < WATCHERS; i++)
        JZX_EXPECT(all.watchers[i].events > 100);
    jzx__atomic_store_relaxed(&all.loop->observer.is_set, 0u);
    fixture_destroy(all.loop);
}

JZX_TEST(who_stays_gets_each_broadcast_once_and_who_watches_sees_all, "D+pg", "D+name", "X14",
         "X15") {
    play(false, false);
}

JZX_TEST(groups_and_names_hold_while_actors_move_after_every_message, "D+pg", "D+name", "X15") {
    play(true, false);
}

JZX_TEST(a_watcher_that_lags_catches_up_and_knows_who_is_left, "D+pg") {
    play(false, true);
    JZX_EXPECT(atomic_load(&all.missed) != 0);
}
