/* SPDX-License-Identifier: MIT */
/* The promises about identity, attacked: stale and guessed ids through every call that takes one,
 * slots that are used again at once, and references of pools in random order. */
#include "fixture.h"

#include <pthread.h>
#include <string.h>

/* ---- every call that takes an id ---- */

static uint32_t strangers; /* messages and ends that the new actor of a slot must not see */

static jzx_behavior_result hear_nothing(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    if (msg->tag == 7) /* the one that is meant for it */
        return JZX_BEHAVIOR_OK;
    (void)ctx;
    strangers++;
    return JZX_BEHAVIOR_OK;
}

static void end_for_no_stranger(jzx_context *ctx, jzx_exit_reason reason) {
    (void)ctx;
    if (reason != JZX_EXIT_SHUTDOWN)
        strangers++;
}

static uint32_t released;

static void count_release(void *data, size_t len) {
    (void)data;
    (void)len;
    released++;
}

/* What any thread may call. Each must say that there is no such actor. */
static void knock_from_outside(jzx_loop *loop, jzx_actor_id id, jzx_actor_id alive) {
    static const char text[] = "some bytes that are longer than an inline message, in all";
    JZX_EXPECT_EQ(jzx_send(loop, id, alive, NULL, 0, 1), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_send(loop, id, id, text, sizeof text, 1), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_send_async(loop, id, text, 1, 1), JZX_ERR_NO_SUCH_ACTOR);
    void *buffer = jzx_msg_alloc(loop, 40, count_release);
    if (JZX_EXPECT(buffer != NULL)) {
        uint32_t before = released;
        JZX_EXPECT_EQ(jzx_send_msg(loop, id, JZX_NOBODY, buffer, 1), JZX_ERR_NO_SUCH_ACTOR);
        JZX_EXPECT(jzx_msg_share(loop, buffer) == buffer);
        JZX_EXPECT_EQ(jzx_send_shared(loop, id, JZX_NOBODY, buffer, 1), JZX_ERR_NO_SUCH_ACTOR);
        JZX_EXPECT_EQ(released, before);
        jzx_msg_free(loop, buffer);
        JZX_EXPECT_EQ(released, before + 1);
    }
    JZX_EXPECT_EQ(jzx_send_when_room(loop, id, alive), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_send_when_room(loop, alive, id), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_actor_stop(loop, id, JZX_STOP_AFTER_QUEUE), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_actor_stop(loop, id, JZX_STOP_AFTER_MESSAGE), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_actor_stop(loop, id, JZX_STOP_KILL), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_actor_fail(loop, id), JZX_ERR_NO_SUCH_ACTOR);
    jzx_timer_id timer = 99;
    JZX_EXPECT_EQ(jzx_send_after(loop, id, JZX_NOBODY, NULL, 0, 1, 0, &timer),
                  JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(
        jzx_send_every(loop, id, JZX_NOBODY, NULL, 0, 1, JZX_MS(1), JZX_FIXED_RATE, &timer),
        JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(timer, 99);
    JZX_EXPECT_EQ(jzx_register(loop, "a name", id), JZX_ERR_NO_SUCH_ACTOR);
    jzx_ask_handle handle = {.asker = id, .ref = 1};
    JZX_EXPECT_EQ(jzx_reply_to(loop, handle, alive, NULL, 0, 1), JZX_ERR_NO_SUCH_ACTOR);
    jzx_actor_info info = {.size = sizeof info};
    JZX_EXPECT_EQ(jzx_actor_info_get(loop, id, &info), JZX_ERR_NO_SUCH_ACTOR);
}

/* What an actor may call. */
static void knock_as_actor(jzx_context *ctx, jzx_actor_id id) {
    jzx_monitor_ref ref = 99;
    uint64_t question = 99;
    JZX_EXPECT_EQ(jzx_monitor(ctx, id, &ref), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_link(ctx, id), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_ask(ctx, id, NULL, 0, 1, JZX_MS(1), &question), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(question, 99);
    knock_from_outside(ctx->loop, id, ctx->self);
}

struct knocker {
    jzx_actor_id id;
    uint32_t knocked;
    uint32_t heard; /* of knocks: no timeout of a question, no notice, no room */
};

static jzx_behavior_result knock(jzx_context *ctx, const jzx_message *msg) {
    struct knocker *self = ctx->state;
    jzx_test_ran();
    if (msg->tag != 1) {
        self->heard++;
        return JZX_BEHAVIOR_OK;
    }
    self->knocked++;
    knock_as_actor(ctx, self->id);
    return JZX_BEHAVIOR_OK;
}

struct outside {
    jzx_loop *loop;
    jzx_actor_id id;
    jzx_actor_id alive;
};

static void *knock_on_a_thread(void *arg) {
    const struct outside *self = arg;
    knock_from_outside(self->loop, self->id, self->alive);
    return NULL;
}

/* Slots are used again on the worker that freed them: an actor spawns. */
struct spawner {
    jzx_spawn_opts opts;
    jzx_actor_id made[64];
    uint32_t count;
};

static jzx_behavior_result spawn_on_worker(jzx_context *ctx, const jzx_message *msg) {
    struct spawner *self = ctx->state;
    jzx_test_ran();
    for (uint32_t i = 0; i < msg->tag; i++)
        JZX_EXPECT_EQ(jzx_spawn(ctx->loop, &self->opts, &self->made[self->count++ % 64]), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

static jzx_actor_id spawn_one(jzx_loop *loop, jzx_actor_id spawner, struct spawner *state) {
    fixture_send(loop, spawner, 1);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    return state->made[(state->count - 1) % 64];
}

/* From an actor, from the thread that drives the loop and from another one. */
static void knock_everywhere(jzx_loop *loop, jzx_actor_id id, jzx_actor_id knocker,
                             struct knocker *state) {
    struct outside outside = {loop, id, knocker};
    pthread_t thread;
    uint32_t before = state->knocked;
    state->id = id;
    fixture_send(loop, knocker, 1);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(state->knocked, before + 1);
    knock_from_outside(loop, id, knocker);
    assert_int_equal(pthread_create(&thread, NULL, knock_on_a_thread, &outside), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

JZX_TEST(no_call_with_a_stale_id_touches_the_next_actors_of_its_slot) {
    jzx_clock *clock = jzx_clock_manual(0);
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.clock = clock));
    struct knocker state = {0};
    jzx_actor_id knocker = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = knock, .state = &state));
    struct spawner made = {.opts = JZX_SPAWN_OPTS(.behavior = hear_nothing)};
    jzx_actor_id spawner =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = spawn_on_worker, .state = &made));
    jzx_actor_id stale[8];
    for (uint32_t i = 0; i < 8; i++) {
        stale[i] = spawn_one(loop, spawner, &made);
        /* Its timers, names and requests die with it. */
        assert_int_equal(jzx_send_after(loop, stale[i], 0, "x", 1, 1, JZX_MS(1), NULL), JZX_OK);
        assert_int_equal(jzx_register(loop, "its name", stale[i]), JZX_OK);
        assert_int_equal(jzx_actor_stop(loop, stale[i], JZX_STOP_KILL), JZX_OK);
        assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    }
    made.opts.cleanup = end_for_no_stranger;
    jzx_actor_id next = spawn_one(loop, spawner, &made);
    assert_int_equal(jzx_id_index(next), jzx_id_index(stale[0])); /* else this shows nothing */
    jzx_actor_id found = 1;
    assert_int_equal(jzx_lookup(loop, "its name", &found), JZX_ERR_NO_SUCH_ACTOR);
    for (uint32_t i = 0; i < 8; i++) {
        assert_true(stale[i] != next);
        knock_everywhere(loop, stale[i], knocker, &state);
        jzx_clock_advance(clock, JZX_MS(2));
        assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    }
    uint64_t runs = jzx_test_runs();
    fixture_send(loop, next, 7);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(jzx_test_runs(), runs + 1); /* it lives, and is reached by its own id */
    assert_int_equal(state.heard, 0);
    fixture_destroy(loop);
    assert_int_equal(strangers, 0);
    assert_int_equal(jzx_clock_free(clock), JZX_OK);
}

JZX_TEST(no_call_with_a_guessed_id_touches_an_actor_to_come) {
    jzx_clock *clock = jzx_clock_manual(0);
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.clock = clock));
    struct knocker state = {0};
    jzx_actor_id knocker = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = knock, .state = &state));
    struct spawner made = {.opts = JZX_SPAWN_OPTS(.behavior = hear_nothing)};
    jzx_actor_id spawner =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = spawn_on_worker, .state = &made));
    jzx_actor_id dead = spawn_one(loop, spawner, &made);
    assert_int_equal(jzx_actor_stop(loop, dead, JZX_STOP_KILL), JZX_OK);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    uint32_t index = jzx_id_index(dead);
    uint32_t generation = jzx_id_generation(dead);
    jzx_actor_id guesses[] = {
        jzx_make_id(generation + 1, index),
        jzx_make_id(generation + 2, index),
        jzx_make_id(generation - 1, index),
        jzx_make_id(0, index),
        jzx_make_id(UINT32_MAX, index),
        jzx_make_id(0x80000000u | generation, index),
        jzx_make_id(1, 0x7FFFFFFFu), /* slots that never were in use */
        jzx_make_id(1, UINT32_MAX),
        jzx_make_id(UINT32_MAX, UINT32_MAX),
        jzx_make_id(1, index + 1),
        jzx_make_id(1, 4095),
        jzx_make_id(0, 0),
    };
    for (size_t i = 0; i < sizeof guesses / sizeof guesses[0]; i++)
        knock_everywhere(loop, guesses[i], knocker, &state);
    made.opts.cleanup = end_for_no_stranger;
    made.count = 0;
    fixture_send(loop, spawner, 64);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_true(made.made[0] == guesses[0]); /* it was a good guess */
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    jzx_clock_advance(clock, JZX_SECOND(2));
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(strangers, 0);
    assert_int_equal(state.heard, 0);
    fixture_destroy(loop);
    assert_int_equal(strangers, 0);
    assert_int_equal(jzx_clock_free(clock), JZX_OK);
}

/* ---- an actor that is replaced in its own cleanup ---- */

struct phoenix {
    uint32_t lives;
    jzx_actor_id before;
    uint32_t wrong;
};

static jzx_behavior_result live_once(jzx_context *ctx, const jzx_message *msg) {
    struct phoenix *self = ctx->state;
    jzx_test_ran();
    self->lives++;
    if (msg->len != sizeof ctx->self || memcmp(msg->data, &ctx->self, msg->len) != 0)
        self->wrong++;
    for (uint32_t i = 0; i < 3; i++) /* dead letters, as it ends after this message */
        JZX_EXPECT_EQ(jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, i), JZX_OK);
    JZX_EXPECT_EQ(jzx_send_after(ctx->loop, ctx->self, 0, NULL, 0, 9, 0, NULL), JZX_OK);
    return self->lives % 2 == 0 ? JZX_BEHAVIOR_FAIL : JZX_BEHAVIOR_STOP;
}

static void rise_again(jzx_context *ctx, jzx_exit_reason reason) {
    struct phoenix *self = ctx->state;
    jzx_actor_id next = JZX_NOBODY;
    if (reason == JZX_EXIT_SHUTDOWN || self->lives == 5000)
        return;
    jzx_spawn_opts opts =
        JZX_SPAWN_OPTS(.behavior = live_once, .state = self, .cleanup = rise_again);
    JZX_EXPECT_EQ(jzx_spawn(ctx->loop, &opts, &next), JZX_OK);
    JZX_EXPECT(next != ctx->self && next != self->before);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, ctx->self, next, "x", 1, 66), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, self->before, next, "x", 1, 66), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, ctx->self, JZX_STOP_KILL), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, next, ctx->self, &next, sizeof next, 1), JZX_OK);
    self->before = ctx->self;
}

JZX_TEST(five_thousand_lives_that_follow_one_another_in_their_cleanups_stay_apart) {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.max_actors = 2));
    struct phoenix state = {.before = JZX_NOBODY};
    jzx_actor_id id = fixture_spawn(
        loop, &JZX_SPAWN_OPTS(.behavior = live_once, .state = &state, .cleanup = rise_again));
    assert_int_equal(jzx_send(loop, id, JZX_NOBODY, &id, sizeof id, 1), JZX_OK);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(state.lives, 5000);
    assert_int_equal(state.wrong, 0);
    jzx_stats stats = fixture_stats(loop);
    assert_int_equal(stats.handled, 5000);
    assert_int_equal(stats.dead, 15000);
    assert_int_equal(stats.timers_set, stats.timers_ended);
    fixture_destroy(loop);
}

/* ---- max_actors ---- */

struct filler {
    uint32_t max;
    uint32_t rounds;
    uint32_t spawned;
    uint32_t alive;
    uint32_t beyond;
};

static void count_end(jzx_context *ctx, jzx_exit_reason reason) {
    struct filler *self = ctx->state;
    (void)reason;
    self->alive--;
}

static jzx_behavior_result end_at_once(jzx_context *ctx, const jzx_message *msg) {
    struct filler *self = ctx->state;
    (void)msg;
    if (self == NULL)
        jzx_test_ran();
    return JZX_BEHAVIOR_STOP;
}

/* Fills the loop up to its bound, tries more, frees an odd part of it and comes again. */
static jzx_behavior_result fill(jzx_context *ctx, const jzx_message *msg) {
    struct filler *self = ctx->state;
    (void)msg;
    jzx_test_ran();
    jzx_spawn_opts opts =
        JZX_SPAWN_OPTS(.behavior = end_at_once, .state = self, .cleanup = count_end);
    jzx_actor_id id = JZX_NOBODY;
    jzx_err err;
    while ((err = jzx_spawn(ctx->loop, &opts, &id)) == JZX_OK) {
        self->spawned++;
        if (++self->alive + 1 > self->max)
            self->beyond++;
        if (self->spawned % 3 != 0)
            JZX_EXPECT_EQ(jzx_send(ctx->loop, id, 0, NULL, 0, 1), JZX_OK);
        else if (self->spawned % 2 != 0)
            JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, id, JZX_STOP_KILL), JZX_OK);
    }
    JZX_EXPECT_EQ(err, JZX_ERR_MAX_ACTORS);
    JZX_EXPECT_EQ(self->alive + 1, self->max); /* exact: with itself */
    for (int i = 0; i < 3; i++) {
        jzx_actor_id untouched = 5;
        JZX_EXPECT_EQ(jzx_spawn(ctx->loop, &opts, &untouched), JZX_ERR_MAX_ACTORS);
        JZX_EXPECT_EQ(untouched, 5);
    }
    if (--self->rounds == 0)
        return JZX_BEHAVIOR_STOP;
    return jzx_send_after(ctx->loop, ctx->self, 0, NULL, 0, 1, 0, NULL) == JZX_OK
               ? JZX_BEHAVIOR_OK
               : JZX_BEHAVIOR_FAIL;
}

static void fill_to(uint32_t max) {
    jzx_clock *clock = jzx_clock_manual(0);
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.max_actors = max, .clock = clock));
    struct filler state = {.max = max, .rounds = 7};
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = fill, .state = &state));
    uint64_t runs = jzx_test_runs();
    fixture_send(loop, id, 1);
    for (uint32_t i = 0; i < 10; i++) {
        assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
        jzx_clock_advance(clock, JZX_MS(1));
    }
    assert_int_equal(jzx_test_runs(), runs + 7);
    assert_int_equal(state.beyond, 0);
    fixture_destroy(loop);
    assert_int_equal(state.alive, 0);
    assert_int_equal(jzx_clock_free(clock), JZX_OK);
}

JZX_TEST(max_actors_is_exact_on_the_only_worker_for_odd_bounds) {
    static const uint32_t bounds[] = {1, 2, 3, 63, 64, 65, 127, 255, 256, 257, 1000};
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++)
        fill_to(bounds[i]);
}

struct outside_filler {
    jzx_loop *loop;
    uint32_t max;
    uint32_t count;
};

static void *fill_from_outside(void *arg) {
    struct outside_filler *self = arg;
    jzx_spawn_opts opts = JZX_SPAWN_OPTS(.behavior = end_at_once);
    jzx_err err = JZX_OK;
    while (self->count <= self->max && err == JZX_OK) {
        jzx_actor_id id = JZX_NOBODY;
        err = jzx_spawn(self->loop, &opts, &id);
        if (err == JZX_OK) {
            self->count++;
            JZX_EXPECT_EQ(jzx_send_async(self->loop, id, NULL, 0, 1), JZX_OK);
        }
    }
    JZX_EXPECT_EQ(err, JZX_ERR_MAX_ACTORS);
    return NULL;
}

/* Two threads in turn, then the loop's own, fill it; what ends is free again for all. */
static void share_the_bound(uint32_t max, uint32_t workers) {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.max_actors = max, .workers = workers));
    uint32_t early = 256 * workers < max / 64 ? 256 * workers : max / 64;
    for (uint32_t round = 0; round < 3; round++) {
        uint32_t in_all = 0;
        for (uint32_t i = 0; i < 2; i++) {
            struct outside_filler state = {.loop = loop, .max = max};
            pthread_t thread;
            assert_int_equal(pthread_create(&thread, NULL, fill_from_outside, &state), 0);
            assert_int_equal(pthread_join(thread, NULL), 0);
            in_all += state.count;
        }
        JZX_EXPECT(in_all + early >= max);
        JZX_EXPECT(in_all <= max);
        struct outside_filler mine = {.loop = loop, .max = max};
        fill_from_outside(&mine);
        JZX_EXPECT(in_all + mine.count <= max);
        JZX_EXPECT(in_all + mine.count + early >= max);
        uint64_t before = fixture_stats(loop).handled;
        uint64_t runs = jzx_test_runs();
        assert_int_equal(jzx_loop_run(loop), JZX_OK);
        assert_int_equal(jzx_test_runs() - runs, in_all + mine.count);
        assert_int_equal(fixture_stats(loop).handled - before, in_all + mine.count);
    }
    fixture_destroy(loop);
}

JZX_TEST(other_threads_reach_max_actors_no_earlier_than_stated_and_never_exceed_it) {
    static const uint32_t bounds[] = {1, 2, 63, 64, 65, 500, 5000};
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        share_the_bound(bounds[i], 1);
        share_the_bound(bounds[i], 3);
    }
}

/* ---- pools ---- */

struct thing {
    uint64_t number;
    char odd[5];
};
JZX_POOL(promise_thing, struct thing)
JZX_SHARED_POOL(promise_shared, struct thing)

#define REFS 4000u

/* Random new and free against a table of all references that ever were. */
static void play_with_pool(uint32_t capacity, uint64_t seed) {
    static jzx_ref made[REFS];
    static bool alive[REFS];
    jzx_allocator allocator = fixture_allocator();
    promise_thing_pool *pool = NULL;
    assert_int_equal(promise_thing_pool_create(capacity, &allocator, &pool), JZX_OK);
    uint32_t count = 0;
    uint32_t living = 0;
    for (uint32_t step = 0; step < 6000 && count < REFS; step++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        uint32_t pick = (uint32_t)(seed >> 33);
        if (pick % 2 == 0) {
            promise_thing_ref ref = {77};
            jzx_err err = promise_thing_pool_new(pool, &(struct thing){.number = count}, &ref);
            JZX_EXPECT_EQ(err, living == capacity ? JZX_ERR_FULL : JZX_OK);
            if (err != JZX_OK)
                continue;
            made[count] = ref.ref;
            alive[count++] = true;
            living++;
        } else if (count > 0) {
            uint32_t i = (pick / 2) % 4 != 0 ? count - 1 - (pick / 8) % (count < 9 ? count : 9)
                                             : (pick / 8) % count;
            bool freed = promise_thing_pool_free(pool, (promise_thing_ref){made[i]});
            JZX_EXPECT_EQ(freed, alive[i]);
            living -= freed;
            alive[i] = false;
        }
    }
    assert_true(count > 100);
    for (uint32_t i = 0; i < count; i++) {
        const struct thing *found = promise_thing_pool_get(pool, (promise_thing_ref){made[i]});
        if (JZX_EXPECT_EQ(found != NULL, alive[i]) && found != NULL)
            JZX_EXPECT_EQ(found->number, i);
    }
    JZX_EXPECT(promise_thing_pool_get(pool, (promise_thing_ref){JZX_NO_REF}) == NULL);
    assert_int_equal(promise_thing_pool_count(pool), living);
    assert_int_equal(promise_thing_pool_destroy(pool), JZX_OK);
}

JZX_TEST(a_reference_finds_its_object_or_nothing_in_pools_of_odd_sizes) {
    static const uint32_t capacities[] = {1, 2, 3, 5, 8, 9, 64, 100};
    for (size_t i = 0; i < sizeof capacities / sizeof capacities[0]; i++)
        play_with_pool(capacities[i], 2026 + i);
    assert_int_equal(fixture_bytes(), 0);
}

/* Forged references: each bit of a good one turned, and all that zero could stand for. */
JZX_TEST(a_forged_reference_finds_nothing_but_what_has_that_very_reference) {
    promise_shared_pool *pool = NULL;
    jzx_allocator allocator = fixture_allocator();
    assert_int_equal(promise_shared_pool_create(5, &allocator, &pool), JZX_OK);
    promise_shared_ref refs[5];
    struct thing value = {0};
    for (uint32_t i = 0; i < 5; i++) {
        value.number = i;
        assert_int_equal(promise_shared_pool_new(pool, &value, &refs[i]), JZX_OK);
    }
    assert_true(promise_shared_pool_free(pool, refs[3]));
    assert_false(promise_shared_pool_valid(pool, refs[3]));
    for (uint32_t i = 0; i < 5; i++) {
        for (uint32_t bit = 0; bit < 64; bit++) {
            promise_shared_ref forged = {refs[i].ref ^ (uint64_t)1 << bit};
            bool right = false;
            for (uint32_t k = 0; k < 5; k++)
                right = right || (k != 3 && refs[k].ref == forged.ref);
            JZX_EXPECT_EQ(promise_shared_pool_valid(pool, forged), right);
            if (!right) {
                JZX_EXPECT(!promise_shared_pool_take(pool, forged, &value));
                JZX_EXPECT(!promise_shared_pool_free(pool, forged));
            }
        }
    }
    assert_int_equal(promise_shared_pool_count(pool), 4);
    assert_int_equal(promise_shared_pool_destroy(pool), JZX_OK);
}
