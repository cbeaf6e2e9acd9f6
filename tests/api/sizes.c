/* SPDX-License-Identifier: MIT */
/* Programs that were compiled with an older header: they have smaller structs, with nothing behind
 * them that is theirs. So each struct ends where its block ends, for the address sanitizer, and
 * before bytes that must stay as they are. */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

#define GUARD 0xA5

/* The first `size` bytes of a struct of `full`, in a block of their own. */
static void *cut(const void *full, size_t size) {
    void *copy = malloc(size);
    assert_non_null(copy);
    memcpy(copy, full, size);
    return copy;
}

/* The same for one that begins with its size. */
static void *older(const void *full, size_t size) {
    void *copy = cut(full, size);
    memcpy(copy, &size, sizeof size);
    return copy;
}

static size_t size_in(const void *sized) {
    size_t size;
    memcpy(&size, sized, sizeof size);
    return size;
}

#define UP_TO(type, field) (offsetof(type, field) + sizeof(((type *)0)->field))

/* ---- infos ---- */

static jzx_loop *loop;
static jzx_actor_id actor;
static jzx_actor_id root;
static jzx_context *turn;

static jzx_err get_stats(void *info) {
    return jzx_loop_stats(loop, info);
}

static jzx_err get_worker_stats(void *info) {
    return jzx_loop_worker_stats(loop, 0, info);
}

static jzx_err get_actor(void *info) {
    return jzx_actor_info_get(loop, actor, info);
}

static jzx_err get_next(void *info) {
    uint64_t cursor = 0;
    return jzx_actor_next(loop, &cursor, info);
}

static jzx_err get_heap(void *info) {
    return jzx_heap_info_get(turn, info);
}

static jzx_err get_child(void *info) {
    return jzx_supervisor_child_info(loop, root, 0, info);
}

static jzx_err get_family(void *info) {
    return jzx_supervisor_info_get(loop, root, info);
}

/* Each size from the first field on gives the same bytes as the full one, and no more. */
static void check_info(jzx_err (*get)(void *info), size_t full) {
    union {
        size_t size;
        unsigned char bytes[1024];
    } whole;
    assert_true(full + 8 <= sizeof whole);
    memset(&whole, GUARD, sizeof whole);
    whole.size = full;
    JZX_EXPECT_EQ(get(&whole), JZX_OK);
    for (size_t size = 0; size <= full + 8; size++) {
        unsigned char block[1024] __attribute__((aligned(16)));
        bool is_valid = size >= sizeof size && size <= full;
        memset(block, GUARD, sizeof block);
        memcpy(block, &size, sizeof size);
        JZX_EXPECT_EQ(get(block), is_valid ? JZX_OK : JZX_ERR_INVALID_ARG);
        JZX_EXPECT_EQ(size_in(block), size);
        if (is_valid)
            JZX_EXPECT(memcmp(block + sizeof size, whole.bytes + sizeof size, size - sizeof size) ==
                       0);
        for (size_t i = is_valid ? size : sizeof size; i < sizeof block; i++) {
            if (!JZX_EXPECT_EQ(block[i], GUARD))
                break;
        }
    }
}

static jzx_behavior_result check_heap(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    turn = ctx;
    JZX_EXPECT(jzx_alloc(ctx, 100) != NULL);
    check_info(get_heap, sizeof(jzx_heap_info));
    return JZX_BEHAVIOR_OK;
}

static const jzx_child_spec children[] = {{.name = "child", .behavior = record}};

JZX_TEST(infos_are_filled_up_to_the_size_of_their_caller) {
    loop = fixture_loop();
    actor = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = check_heap, .name = "older"));
    assert_int_equal(
        jzx_spawn_supervisor(loop, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(children)), &root), JZX_OK);
    fixture_send(loop, actor, 1);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_true(turn != NULL);
    check_info(get_stats, sizeof(jzx_stats));
    check_info(get_worker_stats, sizeof(jzx_worker_stats));
    check_info(get_actor, sizeof(jzx_actor_info));
    check_info(get_next, sizeof(jzx_actor_info));
    check_info(get_child, sizeof(jzx_child_info));
    check_info(get_family, sizeof(jzx_supervisor_info));
    fixture_destroy(loop);
}

/* ---- options ---- */

JZX_TEST(options_that_an_older_program_does_not_know_are_defaults) {
    struct recorder log = {0};
    const jzx_spawn_opts full = JZX_SPAWN_OPTS(.behavior = record, .state = &log);
    loop = fixture_loop();
    for (size_t size = 0; size <= sizeof full; size += 8) { /* a pointer is there or not */
        void *opts = older(&full, size < sizeof size ? sizeof size : size);
        memcpy(opts, &size, sizeof size);
        jzx_actor_id id = JZX_NOBODY;
        bool has_behavior = size >= UP_TO(jzx_spawn_opts, behavior);
        JZX_EXPECT_EQ(jzx_spawn(loop, opts, &id), has_behavior ? JZX_OK : JZX_ERR_INVALID_ARG);
        free(opts);
        if (has_behavior && size >= UP_TO(jzx_spawn_opts, state))
            fixture_send(loop, id, 1);
    }
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(log.count, (sizeof full - UP_TO(jzx_spawn_opts, state)) / 8 + 1);
    const jzx_spawn_opts newer = {.size = sizeof newer + 8, .behavior = record};
    JZX_EXPECT_EQ(jzx_spawn(loop, &newer, NULL), JZX_ERR_INVALID_ARG);
    fixture_destroy(loop);
}

static jzx_behavior_result spawn_older(jzx_context *ctx, const jzx_message *msg) {
    struct recorder *log = ctx->state;
    const jzx_spawn_opts full = JZX_SPAWN_OPTS(.behavior = record, .state = log);
    void *opts = older(&full, UP_TO(jzx_spawn_opts, state));
    jzx_actor_id id = JZX_NOBODY;
    (void)msg;
    JZX_EXPECT_EQ(jzx_spawn(ctx->loop, opts, &id), JZX_OK); /* where a spawn is fastest */
    JZX_EXPECT_EQ(jzx_send(ctx->loop, id, ctx->self, NULL, 0, 7), JZX_OK);
    JZX_EXPECT_EQ(jzx_spawn_watched(ctx, opts, true, &id, NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, id, ctx->self, NULL, 0, 7), JZX_OK);
    free(opts);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(an_actor_spawns_with_smaller_options) {
    struct recorder log = {0};
    loop = fixture_loop();
    fixture_send(loop, fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = spawn_older, .state = &log)),
                 1);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(log.count, 2);
    fixture_destroy(loop);
}

JZX_TEST(a_loop_is_made_from_every_older_configuration) {
    const jzx_config full = JZX_CONFIG(.workers = 1, .max_actors = 3);
    for (size_t size = 0; size <= sizeof full + 8; size++) {
        jzx_config padded[2] = {full};
        void *config = older(padded, size < sizeof size ? sizeof size : size);
        memcpy(config, &size, sizeof size);
        bool is_valid = size >= sizeof size && size <= sizeof full;
        const char *field = "none";
        JZX_EXPECT_EQ(jzx_config_check(config, &field), is_valid ? JZX_OK : JZX_ERR_INVALID_ARG);
        JZX_EXPECT_EQ(strcmp(field, is_valid ? "none" : "size"), 0);
        if (!is_valid) {
            JZX_EXPECT(jzx_loop_create(config) == NULL);
        } else if (size == UP_TO(jzx_config, max_actors)) {
            loop = jzx_loop_create(config);
            for (uint32_t i = 0; i < 4; i++)
                JZX_EXPECT_EQ(jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record), NULL),
                              i < 3 ? JZX_OK : JZX_ERR_MAX_ACTORS);
            JZX_EXPECT_EQ(jzx_loop_destroy(loop), JZX_OK);
        }
        free(config);
    }
}

static uint32_t starts;

static void count_start(void *ctx, jzx_actor_id id, const char *name) {
    (void)ctx;
    (void)id;
    (void)name;
    starts++;
}

JZX_TEST(an_older_observer_hears_what_it_knows) {
    const jzx_observer full = JZX_OBSERVER(.on_actor_start = count_start);
    void *observer = older(&full, UP_TO(jzx_observer, on_actor_start));
    loop = fixture_loop();
    starts = 0;
    JZX_EXPECT_EQ(jzx_loop_set_observer(loop, observer, NULL), JZX_OK);
    free(observer); /* it was copied */
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record));
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(starts, 1);
    size_t none = 0;
    JZX_EXPECT_EQ(jzx_loop_set_observer(loop, (void *)&none, NULL), JZX_ERR_INVALID_ARG);
    fixture_destroy(loop);
}

JZX_TEST(a_pool_is_made_from_an_older_type) {
    const jzx_pool_type full = {
        .size = sizeof full, .name = "older", .value_size = 8, .slot_size = 16, .slot_align = 8};
    void *type = older(&full, UP_TO(jzx_pool_type, slot_align));
    jzx_pool *pool = NULL;
    loop = fixture_loop();
    assert_int_equal(jzx_pool_create(type, 4, NULL, &pool), JZX_OK);
    JZX_EXPECT_EQ(jzx_pool_register(loop, pool), JZX_OK);
    JZX_EXPECT(jzx_pool_lookup(loop, type) == pool);
    JZX_EXPECT_EQ(jzx_pool_unregister(loop, pool), JZX_OK);
    JZX_EXPECT_EQ(jzx_pool_destroy(pool), JZX_OK);
    free(type);
    fixture_destroy(loop);
}

/* ---- supervisors ---- */

static uint32_t begun;

static jzx_err begin(jzx_context *ctx) {
    begun += *(const uint32_t *)ctx->state;
    return JZX_OK;
}

/* An array of children as an older program has it: its stride is its own size of a spec. */
static char *older_children(const jzx_child_spec *specs, size_t count, size_t size) {
    char *array = malloc(count * size);
    assert_non_null(array);
    for (size_t i = 0; i < count; i++)
        memcpy(array + i * size, &specs[i], size);
    return array;
}

JZX_TEST(trees_of_older_programs_start) {
    uint32_t units[] = {1, 10, 100};
    const jzx_child_spec specs[] = {
        {.name = "a", .behavior = record, .init = begin, .state = &units[0]},
        {.name = "b", .behavior = record, .init = begin, .state = &units[1]},
        {.name = "c", .behavior = record, .init = begin, .state = &units[2]}};
    const size_t size = UP_TO(jzx_child_spec, state);
    char *array = older_children(specs, 2, size);
    const jzx_supervisor_opts full = {
        .size = sizeof full, .children = (void *)array, .child_count = 2, .child_size = size};
    void *low = older(&full, UP_TO(jzx_supervisor_opts, child_size));
    const jzx_child_spec above[] = {{.name = "low", .supervisor = low}};
    loop = fixture_loop();
    begun = 0;
    const char *field = "none";
    JZX_EXPECT_EQ(jzx_supervisor_check(&JZX_SUPERVISOR_OPTS(JZX_CHILDREN(above)), &field), JZX_OK);
    JZX_EXPECT_EQ(strcmp(field, "none"), 0);
    assert_int_equal(jzx_spawn_supervisor(loop, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(above)), &root),
                     JZX_OK);
    free(low);
    free(array);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(begun, 11);
    void *third = cut(&specs[2], size);
    JZX_EXPECT_EQ(jzx_supervisor_add(loop, root, third, size, JZX_NOBODY), JZX_OK);
    JZX_EXPECT_EQ(jzx_supervisor_add(loop, root, third, 7, JZX_NOBODY), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_supervisor_add(loop, root, &specs[2], sizeof(jzx_child_spec) + 1, JZX_NOBODY),
                  JZX_ERR_INVALID_ARG);
    free(third);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(begun, 111);
    fixture_destroy(loop);
}

JZX_TEST(a_supervisor_of_every_older_size_is_right) {
    const jzx_supervisor_opts full = JZX_SUPERVISOR_OPTS(.name = "older");
    for (size_t size = sizeof size; size <= sizeof full; size += 8) {
        void *opts = older(&full, size);
        JZX_EXPECT_EQ(jzx_supervisor_check(opts, NULL), JZX_OK);
        free(opts);
    }
}

/* ---- init ---- */

#define CHECK_INIT(type, init)                                                                     \
    for (size_t size = 0; size <= sizeof(type) + 8; size++) {                                      \
        unsigned char block[1024] __attribute__((aligned(16)));                                    \
        bool is_valid = size >= sizeof size && size <= sizeof(type);                               \
        memset(block, GUARD, sizeof block);                                                        \
        JZX_EXPECT_EQ(init((type *)(void *)block, size), is_valid ? JZX_OK : JZX_ERR_INVALID_ARG); \
        if (is_valid)                                                                              \
            JZX_EXPECT_EQ(size_in(block), size);                                                   \
        for (size_t i = is_valid ? size : 0; i < sizeof block; i++) {                              \
            if (!JZX_EXPECT_EQ(block[i], GUARD))                                                   \
                break;                                                                             \
        }                                                                                          \
    }                                                                                              \
    JZX_EXPECT_EQ(init(NULL, sizeof(type)), JZX_ERR_INVALID_ARG)

JZX_TEST(options_are_initialised_up_to_the_size_of_their_caller) {
    CHECK_INIT(jzx_config, jzx_config_init);
    CHECK_INIT(jzx_spawn_opts, jzx_spawn_opts_init);
    CHECK_INIT(jzx_supervisor_opts, jzx_supervisor_opts_init);
}
