/* SPDX-License-Identifier: MIT */
/* Fibers that are ended in each kind of wait: the cleanup runs once, and nothing of them is left.
 * And what is seen of them while they wait. */
#include "fibering.h"

#include <jzx/heap.h>

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum wait { MESSAGE, TAG, SENDER, MATCH, TIME, ANSWER, EXIT, ROOM, WAITS };

enum end { KILL, FAIL, LINK, MESSAGE_END, QUEUE, LOOP_STOP, REQUEST_STOP, DESTROY, ENDS };

static uint32_t destroyed;

static void count_destroyed(void *data, size_t len) {
    (void)data;
    (void)len;
    destroyed++;
}

struct waiter {
    struct life life; /* first; its other never ends by itself, and never answers */
    enum wait wait;
    uint64_t deadline_ns;
    jzx_actor_id linked;
    jzx_actor_id full; /* has no room */
};

static bool refuse_all(void *arg, const jzx_message *msg) {
    (void)arg;
    (void)msg;
    return false;
}

static jzx_err wait_for(jzx_context *ctx, struct waiter *self) {
    jzx_actor_id other = self->life.other;
    jzx_message msg;
    switch (self->wait) {
    case TAG: return jzx_receive_tag(ctx, 7, self->deadline_ns, &msg);
    case SENDER: return jzx_receive_from(ctx, other, self->deadline_ns, &msg);
    case MATCH: return jzx_receive_match(ctx, refuse_all, NULL, self->deadline_ns, &msg);
    case TIME: return jzx_sleep(ctx, self->deadline_ns);
    case ANSWER: return jzx_call(ctx, other, NULL, 0, 1, self->deadline_ns, &msg);
    case EXIT: return jzx_join(ctx, other, self->deadline_ns, NULL);
    case ROOM: return jzx_send_until(ctx, self->full, "a message", 10, 1, self->deadline_ns);
    default: return jzx_receive(ctx, self->deadline_ns, &msg);
    }
}

/* With memory of its own, a message in hand, a timer, a name on the stack of a deeper call. */
static void wait_deeply(jzx_context *ctx, struct waiter *self, int depth) {
    volatile char frame[100] = {(char)depth};
    if (depth > 0) {
        wait_deeply(ctx, self, depth - 1);
        JZX_EXPECT_EQ(frame[0], depth);
        return;
    }
    self->life.err = wait_for(ctx, self);
    self->life.woken_ns = jzx_loop_now(ctx->loop);
}

static void wait_in_state(jzx_context *ctx) {
    struct waiter *self = ctx->state;
    jzx_message msg;
    self->life.begun++;
    JZX_EXPECT(jzx_alloc(ctx, 5000) != NULL && jzx_alloc(ctx, 50) != NULL);
    JZX_EXPECT_EQ(jzx_link(ctx, self->linked), JZX_OK);
    JZX_EXPECT_EQ(jzx_timer_start(ctx, 1, NULL, 0, 2, JZX_SECOND(1000)), JZX_OK);
    JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK);
    wait_deeply(ctx, self, 5);
    self->life.finished++;
    JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK);
    note_tag(&self->life, msg.tag);
    jzx_receive(ctx, JZX_NEVER, &msg);
    JZX_EXPECT(false && "it goes on");
}

static jzx_behavior_result stay(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    return JZX_BEHAVIOR_OK;
}

static void be_full(jzx_context *ctx) {
    jzx_message msg;
    (void)jzx_receive_tag(ctx, 99, JZX_NEVER, &msg);
}

/* A waiter that waits, behind skipped messages that it has passed over, if it may have any. */
struct scene {
    struct timing timing;
    struct waiter waiter;
    jzx_actor_id id;
};

static void scene_open(struct scene *scene, enum wait wait, uint64_t deadline_ns,
                       uint32_t skipped) {
    *scene = (struct scene){.timing = timing_open(),
                            .waiter = {.wait = wait, .deadline_ns = deadline_ns}};
    struct timing *timing = &scene->timing;
    destroyed = 0;
    scene->waiter.life.err = 1;
    scene->waiter.life.other = fixture_spawn(timing->loop, &JZX_SPAWN_OPTS(.behavior = stay));
    scene->waiter.linked = fixture_spawn(timing->loop, &JZX_SPAWN_OPTS(.behavior = stay));
    scene->waiter.full =
        fixture_spawn(timing->loop, &JZX_SPAWN_OPTS(.fiber = be_full, .mailbox_cap = 1));
    fixture_send(timing->loop, scene->waiter.full, 1);
    timing_step(timing);
    scene->id =
        fixture_spawn(timing->loop, &JZX_SPAWN_OPTS(.fiber = wait_in_state, .state = &scene->waiter,
                                                    .cleanup = note_cleanup, .name = "sleeper"));
    void *data = jzx_msg_alloc(timing->loop, 100, count_destroyed);
    assert_int_equal(jzx_send_msg(timing->loop, scene->id, JZX_NOBODY, data, 1), JZX_OK);
    for (uint32_t i = 0; i < skipped; i++)
        fixture_send(timing->loop, scene->id, 8);
    timing_step(timing);
    assert_int_equal(scene->waiter.life.begun, 1);
    assert_int_equal(scene->waiter.life.finished, 0);
}

static void apply(struct scene *scene, enum end end) {
    jzx_loop *loop = scene->timing.loop;
    jzx_err err = JZX_OK;
    switch (end) {
    case KILL: err = jzx_actor_stop(loop, scene->id, JZX_STOP_KILL); break;
    case FAIL: err = jzx_actor_fail(loop, scene->id); break;
    case LINK: err = jzx_actor_fail(loop, scene->waiter.linked); break;
    case MESSAGE_END: err = jzx_actor_stop(loop, scene->id, JZX_STOP_AFTER_MESSAGE); break;
    case QUEUE: err = jzx_actor_stop(loop, scene->id, JZX_STOP_AFTER_QUEUE); break;
    case LOOP_STOP: err = jzx_loop_stop(loop, JZX_SECOND(50)); break;
    case REQUEST_STOP: err = jzx_loop_request_stop(loop); break;
    default: return;
    }
    assert_int_equal(err, JZX_OK);
    jzx_loop_step(loop, JZX_NEVER); /* JZX_OK, or the loop is closed */
}

static void scene_close(struct scene *scene, jzx_exit_reason reason) {
    fixture_destroy(scene->timing.loop);
    expect_ended(&scene->waiter.life, reason);
    assert_int_equal(destroyed, 1);
    assert_int_equal(jzx_clock_free(scene->timing.clock), JZX_OK);
}

JZX_TEST(a_fiber_can_be_ended_in_each_kind_of_wait, "E19") {
    static const jzx_exit_reason reasons[ENDS] = {
        JZX_EXIT_KILLED, JZX_EXIT_FAIL,   JZX_EXIT_FAIL,     JZX_EXIT_NORMAL,
        JZX_EXIT_NORMAL, JZX_EXIT_NORMAL, JZX_EXIT_SHUTDOWN, JZX_EXIT_SHUTDOWN};
    for (enum wait wait = 0; wait < WAITS; wait++) {
        for (enum end end = 0; end < ENDS; end++) {
            for (uint32_t variant = 0; variant < 4; variant++) {
                struct scene scene;
                bool gentle = end == QUEUE || end == LOOP_STOP;
                uint32_t skipped = wait == MESSAGE ? 0 : variant / 2 * 3;
                if (gentle && (wait == TIME || skipped != 0))
                    continue; /* apart, below */
                scene_open(&scene, wait, variant % 2 ? JZX_SECOND(100) : JZX_NEVER, skipped);
                apply(&scene, end);
                if (end != DESTROY)
                    expect_ended(&scene.waiter.life, reasons[end]);
                /* Only these waits return, and it ends at the next receive. */
                bool returns = gentle && wait >= ANSWER;
                bool first = wait == ROOM && end == LOOP_STOP; /* who is full stops, too */
                jzx_err err = first ? JZX_ERR_NO_SUCH_ACTOR : JZX_ERR_CANCELLED;
                assert_int_equal(scene.waiter.life.finished, returns);
                assert_int_equal(scene.waiter.life.err, returns ? err : 1);
                if (end != DESTROY)
                    assert_int_equal(timing_pending(scene.timing.loop), 0);
                scene_close(&scene, reasons[end]);
            }
        }
    }
}

/* ---- the gentle stop ---- */

JZX_TEST(a_fiber_that_is_to_stop_receives_what_waits) {
    for (enum wait wait = ANSWER; wait < WAITS; wait++) {
        struct scene scene;
        scene_open(&scene, wait, JZX_NEVER, 1);
        apply(&scene, QUEUE);
        assert_int_equal(scene.waiter.life.err, JZX_ERR_CANCELLED);
        expect_life_tags(&scene.waiter.life, 1, (uint32_t[]){8});
        expect_ended(&scene.waiter.life, JZX_EXIT_NORMAL);
        scene_close(&scene, JZX_EXIT_NORMAL);
    }
}

JZX_TEST(a_fiber_that_is_to_stop_ends_at_a_receive_that_finds_nothing) {
    for (enum wait wait = TAG; wait <= MATCH; wait++) {
        struct scene scene;
        scene_open(&scene, wait, JZX_NEVER, 3);
        apply(&scene, QUEUE);
        expect_ended(&scene.waiter.life, JZX_EXIT_NORMAL);
        assert_int_equal(scene.waiter.life.finished, 0);
        assert_int_equal(fixture_stats(scene.timing.loop).dead, 3);
        scene_close(&scene, JZX_EXIT_NORMAL);
    }
}

JZX_TEST(a_fiber_that_sleeps_and_is_to_stop_does_so_when_it_receives) {
    struct scene scene;
    scene_open(&scene, TIME, JZX_SECOND(10), 1);
    apply(&scene, QUEUE);
    assert_int_equal(scene.waiter.life.cleaned, 0);
    timing_advance(&scene.timing, JZX_SECOND(10));
    assert_int_equal(scene.waiter.life.err, JZX_OK);
    assert_int_equal(scene.waiter.life.woken_ns, JZX_SECOND(10));
    expect_life_tags(&scene.waiter.life, 1, (uint32_t[]){8});
    expect_ended(&scene.waiter.life, JZX_EXIT_NORMAL);
    scene_close(&scene, JZX_EXIT_NORMAL);
}

JZX_TEST(a_fiber_that_sleeps_beyond_the_end_of_a_loop_is_shut_down) {
    struct scene scene;
    scene_open(&scene, TIME, JZX_SECOND(100), 0);
    apply(&scene, LOOP_STOP);
    assert_int_equal(scene.waiter.life.cleaned, 0);
    assert_int_equal(jzx_clock_advance(scene.timing.clock, JZX_SECOND(50)), JZX_OK);
    jzx_loop_step(scene.timing.loop, JZX_NEVER);
    expect_ended(&scene.waiter.life, JZX_EXIT_SHUTDOWN);
    assert_int_equal(scene.waiter.life.finished, 0);
    scene_close(&scene, JZX_EXIT_SHUTDOWN);
}

/* A kill counts, though it comes when the wait is over already. */
JZX_TEST(a_kill_and_what_a_fiber_waits_for_at_once_end_it) {
    for (enum wait wait = MESSAGE; wait <= TIME; wait++) {
        struct scene scene;
        scene_open(&scene, wait, JZX_SECOND(1), 0);
        send_number(scene.timing.loop, scene.id, scene.waiter.life.other, 1, 7);
        assert_int_equal(jzx_clock_advance(scene.timing.clock, JZX_SECOND(1)), JZX_OK);
        assert_int_equal(jzx_actor_stop(scene.timing.loop, scene.id, JZX_STOP_KILL), JZX_OK);
        timing_step(&scene.timing);
        assert_int_equal(scene.waiter.life.finished, 0);
        expect_ended(&scene.waiter.life, JZX_EXIT_KILLED);
        scene_close(&scene, JZX_EXIT_KILLED);
    }
}

/* ---- what is seen of it ---- */

static char dump[20000];

static void keep_line(void *ctx, const char *text) {
    (void)ctx;
    size_t used = strlen(dump);
    snprintf(dump + used, sizeof dump - used, "%s\n", text);
}

/* The line about an actor has the text. */
static void expect_in_dump(jzx_loop *loop, const char *name, const char *text) {
    dump[0] = 0;
    assert_int_equal(jzx_loop_dump(loop, keep_line, NULL), JZX_OK);
    for (char *line = strtok(dump, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        if (strstr(line, name) != NULL && strstr(line, text) != NULL)
            return;
    }
    fail_msg("no line with %s and %s", name, text);
}

JZX_TEST(what_a_fiber_waits_for_is_seen, "E11") {
    static const jzx_wait_kind kinds[WAITS] = {JZX_WAIT_MESSAGE, JZX_WAIT_TAG,  JZX_WAIT_SENDER,
                                               JZX_WAIT_MATCH,   JZX_WAIT_TIME, JZX_WAIT_ANSWER,
                                               JZX_WAIT_EXIT,    JZX_WAIT_ROOM};
    for (enum wait wait = 0; wait < WAITS; wait++) {
        struct scene scene;
        char text[64];
        scene_open(&scene, wait, JZX_SECOND(100), 0);
        const uint64_t objects[WAITS] = {[TAG] = 7,
                                         [SENDER] = scene.waiter.life.other,
                                         [TIME] = JZX_SECOND(100),
                                         [ANSWER] = scene.waiter.life.other,
                                         [EXIT] = scene.waiter.life.other,
                                         [ROOM] = scene.waiter.full};
        timing_advance(&scene.timing, JZX_MS(3200));
        jzx_actor_info info = info_of(scene.timing.loop, scene.id);
        assert_int_equal(info.wait, kinds[wait]);
        if (wait != MESSAGE && wait != MATCH)
            assert_int_equal(info.wait_object, objects[wait]);
        assert_int_equal(info.wait_since_ns, 0);
        assert_int_equal(info.activity, JZX_ACTIVITY_IDLE);
        snprintf(text, sizeof text, "waits for %s", jzx_wait_name(kinds[wait]));
        expect_in_dump(scene.timing.loop, "sleeper", text);
        info = info_of(scene.timing.loop, scene.waiter.life.other); /* a behaviour */
        assert_int_equal(info.wait, JZX_WAIT_NONE);
        scene_close(&scene, JZX_EXIT_SHUTDOWN);
    }
}

static void look_at_itself(jzx_context *ctx) {
    struct life *life = ctx->state;
    jzx_message msg;
    for (int i = 0; i < 3; i++) {
        JZX_EXPECT_EQ(jzx_receive_tag(ctx, 7, JZX_NEVER, &msg), JZX_OK);
        jzx_actor_info info = info_of(ctx->loop, ctx->self);
        JZX_EXPECT_EQ(info.wait, JZX_WAIT_NONE);
        JZX_EXPECT_EQ(info.activity, JZX_ACTIVITY_RUNNING);
        JZX_EXPECT_EQ(info.current_tag, 7);
        JZX_EXPECT_EQ(info.steps, i + 1);
    }
    life->finished++;
}

JZX_TEST(a_fiber_that_runs_is_seen_running, "E11") {
    jzx_loop *loop = fixture_loop();
    struct life life = {0};
    jzx_actor_id id = fixture_spawn(
        loop, &JZX_SPAWN_OPTS(.fiber = look_at_itself, .state = &life, .account = true));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
        jzx_actor_info info = info_of(loop, id);
        assert_int_equal(info.wait, JZX_WAIT_TAG);
        assert_int_equal(info.wait_object, 7);
        fixture_send(loop, id, 7);
    }
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(life.finished, 1);
    fixture_destroy(loop);
}

/* ---- many ---- */

static uint32_t finished;

static void wait_for_two(jzx_context *ctx) {
    jzx_message msg;
    JZX_EXPECT_EQ(jzx_receive_tag(ctx, 2, JZX_NEVER, &msg), JZX_OK);
    JZX_EXPECT_EQ(number_of(&msg), ctx->self);
    finished++;
}

#if defined(__SANITIZE_THREAD__)
/* ThreadSanitizer has room for few. */
static uint32_t crowd_size(void) {
    return 500;
}
#elif defined(__SANITIZE_ADDRESS__)
static uint32_t crowd_size(void) {
    return 5000;
}
#else
/* True if the system marks a guard in the page table: else each is a mapping, of which there are
 * too few for more than 20,000 fibers or so. */
static bool guards_need_no_mapping(void) {
    const int guard_install = 102; /* MADV_GUARD_INSTALL, Linux 6.13 */
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *memory = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    bool works = madvise(memory, page, guard_install) == 0;
    assert_int_equal(munmap(memory, page), 0);
    return works;
}

/* In long runs a million, where there is memory for it: 4.7 GB. */
static uint32_t crowd_size(void) {
    uint32_t most = (uint32_t)jzx_test_rounds(20000, 1000000);
    double bytes = (double)sysconf(_SC_AVPHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    if (most > 20000 && !guards_need_no_mapping())
        return 20000;
    return most > 100000 && bytes < 7e9 ? 100000 : most;
}
#endif

JZX_TEST(thousands_of_fibers_wait_at_once) {
    uint32_t count = crowd_size();
    jzx_actor_id *ids = calloc(count, sizeof *ids);
    assert_non_null(ids);
    jzx_loop *loop = fixture_loop();
    for (int round = 0; round < 2; round++) { /* with new stacks, and with those of others */
        finished = 0;
        for (uint32_t i = 0; i < count; i++)
            ids[i] = fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = wait_for_two));
        assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
        for (uint32_t i = 0; i < count; i++)
            fixture_send(loop, ids[i], 1);
        assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
        assert_int_equal(finished, 0);
        for (uint32_t i = 0; i < count; i += 1 + (uint32_t)round)
            send_number(loop, ids[i], JZX_NOBODY, ids[i], 2);
        assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
        assert_int_equal(finished, count / (1 + (uint32_t)round));
    }
    fixture_destroy(loop); /* half of the second round waits still */
    free(ids);
}

static void use_stack(jzx_context *ctx) {
    volatile char deep[24 << 10];
    jzx_message msg;
    deep[0] = 1;
    jzx_test_ran();
    (void)jzx_receive(ctx, JZX_NEVER, &msg);
    JZX_EXPECT_EQ(deep[0], 1);
}

JZX_TEST(how_much_of_its_stack_a_fiber_has_touched_is_seen, "E11") {
    struct timing timing = timing_open();
    struct life life = {0};
    jzx_actor_id id = timing_fiber(&timing, use_stack, &life);
    jzx_actor_info info = info_of(timing.loop, id);
    assert_int_equal(jzx_test_runs(), 1);
    assert_in_range(info.stack_bytes, 24 << 10, JZX_DEFAULT_STACK_SIZE);
    assert_true(info.memory_bytes > info.stack_bytes);
    fixture_send(timing.loop, id, 1);
    timing_step(&timing);
    timing_close(&timing);
}
