/* SPDX-License-Identifier: MIT */
/* What is over when others hear of an end, and who hears first: names, then the id, then monitors,
 * then links. For behaviours and processes, as the one that ends and as the one that watches. */
#include "fixture.h"

#include <jzx/exit.h>
#include <jzx/group.h>
#include <jzx/heap.h>
#include <jzx/name.h>
#include <jzx/process.h>

#include <string.h>

#define NAME "the one that ends"
#define GROUP "those that live"
#define HEARD_MAX 8u

enum { END = 1, BEGIN };

/* The one that watches. */
struct watcher {
    jzx_actor_id target;
    bool links_first;
    bool traps;
    bool is_named; /* it has taken the name */
    uint32_t heard[HEARD_MAX];
    uint32_t count;
};

/* ---- what it sees ---- */

static void watch(jzx_context *ctx, struct watcher *self) {
    if (self->traps)
        JZX_EXPECT_EQ(jzx_trap_exits(ctx, true), JZX_OK);
    if (self->links_first)
        JZX_EXPECT_EQ(jzx_link(ctx, self->target), JZX_OK);
    JZX_EXPECT_EQ(jzx_monitor(ctx, self->target, NULL), JZX_OK);
    if (!self->links_first)
        JZX_EXPECT_EQ(jzx_link(ctx, self->target), JZX_OK);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, self->target, ctx->self, NULL, 0, END), JZX_OK);
}

static void look_around(jzx_context *ctx, struct watcher *self) {
    jzx_actor_id id = JZX_NOBODY;
    size_t members = 1;
    JZX_EXPECT_EQ(jzx_send(ctx->loop, self->target, ctx->self, NULL, 0, END),
                  JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_group_members(ctx->loop, GROUP, NULL, 0, &members), JZX_OK);
    JZX_EXPECT_EQ(members, 0);
    if (!self->is_named) { /* free, and free to be taken */
        JZX_EXPECT_EQ(jzx_lookup(ctx->loop, NAME, &id), JZX_ERR_NO_SUCH_ACTOR);
        JZX_EXPECT_EQ(jzx_register(ctx->loop, NAME, ctx->self), JZX_OK);
        self->is_named = true;
    }
    JZX_EXPECT_EQ(jzx_lookup(ctx->loop, NAME, &id), JZX_OK);
    JZX_EXPECT_EQ(id, ctx->self);
}

/* False if it is to end. */
static bool hear(jzx_context *ctx, uint32_t tag) {
    struct watcher *self = ctx->state;
    jzx_test_ran();
    if (tag == BEGIN) {
        watch(ctx, self);
        return true;
    }
    if (JZX_EXPECT(self->count < HEARD_MAX))
        self->heard[self->count++] = tag;
    look_around(ctx, self);
    return tag != JZX_TAG_EXIT;
}

static jzx_behavior_result hear_message(jzx_context *ctx, const jzx_message *msg) {
    return hear(ctx, msg->tag) ? JZX_BEHAVIOR_OK : JZX_BEHAVIOR_STOP;
}

static jzx_err hear_events(jzx_context *ctx, const jzx_process_event *events, size_t count,
                           jzx_step_out *out) {
    for (size_t i = 0; i < count; i++) {
        if (!hear(ctx, (uint32_t)events[i].tag))
            return jzx_out_done(out, NULL, 0);
    }
    return JZX_OK;
}

/* ---- the one that ends ---- */

static jzx_err join(jzx_context *ctx) {
    return jzx_group_join(ctx, GROUP);
}

static jzx_err join_as_process(jzx_context *ctx, const char *method, const void *input,
                               size_t len) {
    (void)method, (void)input, (void)len;
    return join(ctx);
}

static jzx_behavior_result break_down(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx, (void)msg;
    return JZX_BEHAVIOR_FAIL;
}

static jzx_err fail_step(jzx_context *ctx, const jzx_process_event *events, size_t count,
                         jzx_step_out *out) {
    (void)ctx, (void)events, (void)out;
    return count == 0 ? JZX_OK : JZX_ERR_FAILED;
}

static const jzx_process_ops hearing = {.size = sizeof hearing, .step = hear_events};
static const jzx_process_ops failing = {
    .size = sizeof failing, .init = join_as_process, .step = fail_step};

static void run_end(bool of_process, bool by_process, uint32_t workers, struct watcher *watcher) {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = workers));
    jzx_spawn_opts target = JZX_SPAWN_OPTS(.name = NAME);
    jzx_spawn_opts holder = JZX_SPAWN_OPTS(.state = watcher);
    if (of_process) {
        target.process = &failing;
    } else {
        target.behavior = break_down;
        target.init = join;
    }
    if (by_process)
        holder.process = &hearing;
    else
        holder.behavior = hear_message;
    watcher->target = fixture_spawn(loop, &target);
    fixture_send(loop, fixture_spawn(loop, &holder), BEGIN);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    fixture_destroy(loop);
}

JZX_TEST(an_end_frees_name_and_id_then_tells_monitors_then_links, "D+top") {
    for (uint32_t i = 0; i < 16; i++) {
        struct watcher watcher = {.links_first = (i & 4) != 0, .traps = true};
        run_end((i & 1) != 0, (i & 2) != 0, i & 8 ? 2 : 1, &watcher);
        JZX_EXPECT_EQ(watcher.count, 2);
        JZX_EXPECT_EQ(watcher.heard[0], JZX_TAG_DOWN);
        JZX_EXPECT_EQ(watcher.heard[1], JZX_TAG_EXIT);
    }
}

/* It still hears of its monitor before the link ends it. */
JZX_TEST(an_actor_that_goes_along_with_its_link_has_heard_of_its_monitor_before, "D+top") {
    for (uint32_t i = 0; i < 16; i++) {
        struct watcher watcher = {.links_first = (i & 4) != 0};
        run_end((i & 1) != 0, (i & 2) != 0, i & 8 ? 2 : 1, &watcher);
        JZX_EXPECT_EQ(watcher.count, 1);
        JZX_EXPECT_EQ(watcher.heard[0], JZX_TAG_DOWN);
    }
}

/* ---- its memory, and its supervisor ---- */

/* The block that the child takes from the loop's allocator, and what was delivered when. */
static struct {
    jzx_loop *loop;
    void *block;
    uint64_t accepted_in_cleanup;
    uint64_t accepted_at_free;
    uint32_t frees;
} estate;

static void *alloc_noted(void *ctx, size_t size) {
    const jzx_allocator *inner = ctx;
    return inner->alloc(inner->ctx, size);
}

static void free_noted(void *ctx, void *ptr, size_t size) {
    const jzx_allocator *inner = ctx;
    if (estate.block >= ptr && (char *)estate.block < (char *)ptr + size) {
        estate.accepted_at_free = fixture_stats(estate.loop).accepted;
        estate.block = NULL;
        estate.frees++;
    }
    inner->free(inner->ctx, ptr, size);
}

static jzx_err take_block(jzx_context *ctx) {
    jzx_test_ran();
    estate.block = jzx_alloc(ctx, 100000);
    return JZX_EXPECT(estate.block != NULL) ? JZX_OK : JZX_ERR_NO_MEMORY;
}

static void note_accepted(jzx_context *ctx, jzx_exit_reason reason) {
    (void)reason;
    estate.accepted_in_cleanup = fixture_stats(ctx->loop).accepted;
}

/* The supervisor may start the next one at once, on another worker: both must not need the memory
 * of the first. */
JZX_TEST(a_supervisor_hears_of_an_end_when_the_memory_of_its_child_is_free, "D+top") {
    static const jzx_child_spec child = {
        .name = "child", .behavior = break_down, .init = take_block, .cleanup = note_accepted};
    jzx_allocator inner = fixture_allocator();
    const jzx_allocator noted = {alloc_noted, free_noted, &inner};
    jzx_actor_id root = JZX_NOBODY;
    jzx_actor_id id = JZX_NOBODY;
    memset(&estate, 0, sizeof estate);
    estate.loop = jzx_loop_create(
        &JZX_CONFIG(.workers = 1, .allocator = noted, .log = {.level = JZX_LOG_OFF}));
    assert_non_null(estate.loop);
    JZX_EXPECT_EQ(jzx_spawn_supervisor(estate.loop,
                                       &JZX_SUPERVISOR_OPTS(.children = &child, .child_count = 1,
                                                            .child_size = sizeof child),
                                       &root),
                  JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_step(estate.loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    JZX_EXPECT_EQ(jzx_supervisor_child(estate.loop, root, "child", &id), JZX_OK);
    fixture_send(estate.loop, id, BEGIN);
    JZX_EXPECT_EQ(jzx_loop_step(estate.loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(estate.frees, 1);
    JZX_EXPECT(estate.accepted_in_cleanup != 0);
    JZX_EXPECT_EQ(estate.accepted_at_free, estate.accepted_in_cleanup); /* it was not told yet */
    JZX_EXPECT(fixture_stats(estate.loop).accepted > estate.accepted_at_free);
    JZX_EXPECT_EQ(jzx_test_runs(), 2); /* and then it has started the next one */
    fixture_destroy(estate.loop);
    JZX_EXPECT_EQ(estate.frees, 2);
}
