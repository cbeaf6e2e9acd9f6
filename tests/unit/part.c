/* SPDX-License-Identifier: MIT */
/* The two-phase end of an actor (A3 of actor/part.h), with a part that says when it is quiet: it
 * stands in the place of questions, which these actors do not ask. */
#include "actor/part.h"

#include "actor/exit.h"
#include "actor/mailbox.h"

#include "fixture.h"

#include <pthread.h>

enum { GO = 1, FINISH, NEWS };

#define ACTORS_MAX 2u

static struct {
    jzx_loop *loop;
    const struct jzx__part_ops *table[JZX__PART_COUNT];
    jzx_actor_id id; /* of the actor that ends */
    struct jzx__actor *actor;
    bool busy; /* its part is not quiet */
    bool asks_again;
    struct jzx__ending_kept kept;
    unsigned quiesced;
    unsigned released;
    unsigned cleaned;
    unsigned told;
    jzx_exit_reason reason;
    char text[JZX_EXIT_TEXT_MAX + 1];
} world;

static struct jzx__ending_kept *quiesce(struct jzx__worker *me, struct jzx__actor *actor) {
    (void)me;
    JZX_EXPECT(actor == world.actor);
    JZX_EXPECT_EQ(world.cleaned, 0);
    world.quiesced++;
    return world.busy ? &world.kept : NULL;
}

static void release(struct jzx_loop *loop, struct jzx__worker *me, void *record) {
    (void)loop;
    (void)me;
    JZX_EXPECT(record == &world.kept);
    world.released++;
}

static void abort_part(struct jzx__worker *me, struct jzx__actor *actor) {
    (void)me;
    JZX_EXPECT(actor == world.actor);
    JZX_EXPECT(world.busy);
    JZX_EXPECT_EQ(world.cleaned, 0);
    world.busy = false;
}

static struct jzx__part_ops slow_part = {
    .quiesce = quiesce, .abort = abort_part, .release = release};

static void clean_up(jzx_context *ctx, jzx_exit_reason reason) {
    (void)ctx;
    (void)reason;
    world.cleaned++;
}

static void *send_news(void *unused) {
    (void)unused;
    JZX_EXPECT_EQ(jzx_send(world.loop, world.id, JZX_NOBODY, NULL, 0, NEWS), JZX_OK);
    return NULL;
}

/* Has the part, and ends; with an entry under way if msg has data, by a message of another thread.
 */
static jzx_behavior_result end_slowly(jzx_context *ctx, const jzx_message *msg) {
    world.actor = jzx__table_lookup(&ctx->loop->table, ctx->self);
    jzx__cold_set_part(jzx__actor_cold(world.actor), JZX__PART_ASK, &world.kept);
    world.busy = true;
    if (msg->len != 0) {
        pthread_t thread;
        JZX_EXPECT_EQ(pthread_create(&thread, NULL, send_news, NULL), 0);
        JZX_EXPECT_EQ(pthread_join(thread, NULL), 0);
    }
    jzx_exit(ctx, JZX_EXIT_FAIL, "in two steps");
    return JZX_BEHAVIOR_OK;
}

static void finish(void) {
    struct jzx__visit visit;
    jzx__visit_begin(&visit);
    world.busy = world.asks_again;
    world.asks_again = false;
    jzx__actor_finish(world.loop->sched.workers[0], world.actor, &world.kept);
    jzx__visit_end(&visit);
}

/* Watches the other, and says when its part is quiet. */
static jzx_behavior_result watch(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == GO) {
        JZX_EXPECT_EQ(jzx_monitor(ctx, world.id, NULL), JZX_OK);
    } else if (msg->tag == FINISH) {
        finish();
    } else if (JZX_EXPECT_EQ(msg->tag, JZX_TAG_DOWN)) {
        const jzx_exit_notice *notice = msg->data;
        world.told++;
        world.reason = notice->reason;
        memcpy(world.text, notice->text, sizeof world.text);
        return JZX_BEHAVIOR_STOP;
    }
    return JZX_BEHAVIOR_OK;
}

static void step(void) {
    JZX_EXPECT_EQ(jzx_loop_step(world.loop, JZX_NEVER), JZX_OK);
}

static jzx_actor_id open_world(void) {
    memset(&world, 0, sizeof world);
    world.loop = fixture_loop_with(&JZX_CONFIG(.workers = 1, .max_actors = ACTORS_MAX));
    assert_non_null(world.loop);
    memcpy(world.table, jzx__part_table, sizeof world.table);
    slow_part.close = jzx__part_ask.close; /* that of the loop, which is open */
    world.table[JZX__PART_ASK] = &slow_part;
    world.loop->part_ops = world.table;
    world.id =
        fixture_spawn(world.loop, &JZX_SPAWN_OPTS(.behavior = end_slowly, .cleanup = clean_up));
    jzx_actor_id watcher = fixture_spawn(world.loop, &JZX_SPAWN_OPTS(.behavior = watch));
    fixture_send(world.loop, watcher, GO);
    while (jzx_loop_next_deadline(world.loop) == 0)
        step();
    return watcher;
}

static void expect_waiting(void) {
    JZX_EXPECT(world.quiesced != 0);
    JZX_EXPECT_EQ(world.cleaned, 0);
    JZX_EXPECT_EQ(world.released, 0);
    JZX_EXPECT_EQ(world.told, 0);
    JZX_EXPECT(jzx_loop_alive(world.loop));
    JZX_EXPECT_EQ(jzx_send(world.loop, world.id, JZX_NOBODY, NULL, 0, NEWS), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_actor_stop(world.loop, world.id, JZX_STOP_KILL), JZX_ERR_NO_SUCH_ACTOR);
}

static void expect_ended(void) {
    JZX_EXPECT_EQ(world.cleaned, 1);
    JZX_EXPECT_EQ(world.released, 1);
    JZX_EXPECT_EQ(world.told, 1);
    JZX_EXPECT_EQ(world.reason, JZX_EXIT_FAIL);
    JZX_EXPECT_EQ(strcmp(world.text, "in two steps"), 0);
    JZX_EXPECT(!jzx_loop_alive(world.loop));
    for (unsigned i = 0; i < ACTORS_MAX; i++) /* both slots are free */
        fixture_spawn(world.loop, &JZX_SPAWN_OPTS(.behavior = watch));
    fixture_destroy(world.loop);
}

static void finish_and_expect_end(jzx_actor_id watcher) {
    fixture_send(world.loop, watcher, FINISH);
    while (jzx_loop_alive(world.loop))
        step();
    expect_ended();
}

JZX_TEST(an_actor_ends_when_its_last_part_is_quiet) {
    jzx_actor_id watcher = open_world();
    fixture_send(world.loop, world.id, GO);
    step();
    expect_waiting();
    finish_and_expect_end(watcher);
}

JZX_TEST(a_part_that_is_still_not_quiet_is_waited_for_again) {
    jzx_actor_id watcher = open_world();
    fixture_send(world.loop, world.id, GO);
    step();
    world.asks_again = true;
    fixture_send(world.loop, watcher, FINISH);
    step();
    expect_waiting();
    finish_and_expect_end(watcher);
}

/* The entry comes while the actor waits for its part, */
JZX_TEST(an_entry_under_way_finds_an_actor_that_waits_for_its_part) {
    jzx_actor_id watcher = open_world();
    JZX_EXPECT_EQ(jzx_send(world.loop, world.id, JZX_NOBODY, "x", 1, GO), JZX_OK);
    step();
    while (jzx_loop_next_deadline(world.loop) == 0)
        step();
    expect_waiting();
    finish_and_expect_end(watcher);
}

/* or after it has ended: its slot waits for the entry. */
JZX_TEST(a_slot_waits_for_the_entry_that_is_under_way_when_its_part_is_quiet) {
    open_world();
    world.actor = jzx__table_lookup(&world.loop->table, world.id);
    world.busy = true;
    fixture_send(world.loop, world.id, NEWS); /* from outside: by way of the inbox */
    struct jzx__drive drive;
    assert_true(jzx__loop_enter(world.loop, &drive));
    jzx__cold_set_part(jzx__actor_cold(world.actor), JZX__PART_ASK, &world.kept);
    jzx__actor_end(drive.me, world.actor, JZX_EXIT_FAIL, "in two steps");
    JZX_EXPECT_EQ(world.cleaned, 0);
    finish();
    JZX_EXPECT_EQ(world.cleaned, 1);
    JZX_EXPECT((jzx__task_inbox(&world.actor->task) & JZX__INBOX_TOKEN) != 0);
    jzx__loop_leave(world.loop, &drive);
    while (jzx_loop_alive(world.loop))
        step();
    expect_ended();
}

static void wait_and(void (*end)(void)) {
    open_world();
    fixture_send(world.loop, world.id, GO);
    step();
    expect_waiting();
    end();
    JZX_EXPECT_EQ(world.cleaned, 1);
    JZX_EXPECT_EQ(world.released, 1);
}

/* Not by the fixture, whose books know no actor that is neither alive nor gone. */
static void destroy(void) {
    JZX_EXPECT_EQ(jzx_loop_destroy(world.loop), JZX_OK);
}

JZX_TEST(a_loop_that_is_destroyed_aborts_what_its_actors_wait_for) {
    wait_and(destroy);
}

/* Its deadline is over at once: nobody is waited for. */
static void stop_and_destroy(void) {
    JZX_EXPECT_EQ(jzx_loop_stop(world.loop, jzx_loop_now(world.loop)), JZX_OK);
    while (jzx_loop_alive(world.loop))
        step();
    fixture_destroy(world.loop);
}

JZX_TEST(a_loop_that_stops_aborts_what_its_actors_wait_for) {
    wait_and(stop_and_destroy);
}
