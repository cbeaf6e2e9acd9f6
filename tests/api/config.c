/* SPDX-License-Identifier: MIT */
/* Configurations: defaults, checks, and what create makes of them. */
#include "fixture.h"

#include <stdio.h>
#include <string.h>

JZX_TEST(init_writes_the_defaults, "C16", "C+def", "X5", "X16", "X21") {
    jzx_config config;
    memset(&config, 0xFF, sizeof config);
    jzx_config_init(&config, sizeof config);
    assert_int_equal(config.size, sizeof config);
    assert_non_null(config.allocator.alloc);
    assert_non_null(config.allocator.free);
    assert_int_equal(config.max_actors, 16777216);
    assert_int_equal(config.default_mailbox_cap, 1024);
    assert_int_equal(config.max_msgs_per_actor, 128);
    assert_int_equal(config.max_actors_per_tick, 1024);
    assert_int_equal(config.max_async_drain, 256);
    assert_int_equal(config.max_io_watchers, 1024);
    assert_int_equal(config.default_heap_quota, 0);
    assert_int_equal(config.log.level, JZX_LOG_WARN);
    assert_int_equal(config.on_wait, JZX_ON_WAIT_REFUSE);
    assert_int_equal(config.on_stall, JZX_ON_STALL_GO_ON);
    assert_int_equal(jzx_config_check(&config, NULL), JZX_OK);
}

static jzx_behavior_result ignore(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(zero_fields_take_the_defaults, "C16", "C+def", "X21") {
    jzx_loop *loop = jzx_loop_create(&JZX_CONFIG());
    assert_non_null(loop);
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = ignore));
    jzx_actor_info info = {.size = sizeof info};
    assert_int_equal(jzx_actor_info_get(loop, id, &info), JZX_OK);
    assert_int_equal(info.mailbox_cap, 1024);
    assert_int_equal(jzx_loop_destroy(loop), JZX_OK);
}

JZX_TEST(a_loop_without_configuration_runs, "C16") {
    assert_int_equal(jzx_config_check(NULL, NULL), JZX_OK);
    jzx_loop *loop = jzx_loop_create(NULL);
    assert_non_null(loop);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(jzx_loop_destroy(loop), JZX_OK);
    assert_int_equal(jzx_loop_destroy(NULL), JZX_OK);
}

static void *some_alloc(void *ctx, size_t size) {
    (void)ctx;
    (void)size;
    return NULL;
}

JZX_TEST(check_names_the_wrong_field_and_create_refuses_it, "X24", "C16", "C+fail") {
    static const struct {
        jzx_config config;
        const char *field;
    } cases[] = {
        {{.size = 0}, "size"},
        {{.size = sizeof(jzx_config) + 8}, "size"},
        {{.size = sizeof(jzx_config), .allocator.alloc = some_alloc}, "allocator"},
        {{.size = sizeof(jzx_config), .log.level = (jzx_log_level)6}, "log"},
        {{.size = sizeof(jzx_config), .max_actors = JZX_NONE}, "max_actors"},
        {{.size = sizeof(jzx_config), .default_mailbox_cap = JZX_MAILBOX_CAP_MAX + 1},
         "default_mailbox_cap"},
        {{.size = sizeof(jzx_config), .default_mailbox_cap = JZX_UNLIMITED}, "default_mailbox_cap"},
        {{.size = sizeof(jzx_config), .max_msgs_per_actor = JZX_NONE}, "max_msgs_per_actor"},
        {{.size = sizeof(jzx_config), .max_actors_per_tick = JZX_NONE}, "max_actors_per_tick"},
        {{.size = sizeof(jzx_config), .max_async_drain = JZX_NONE}, "max_async_drain"},
        {{.size = sizeof(jzx_config), .max_calls = JZX_NONE}, "max_calls"},
        {{.size = sizeof(jzx_config), .on_wait = (jzx_on_wait)4}, "on_wait"},
        {{.size = sizeof(jzx_config), .on_stall = (jzx_on_stall)3}, "on_stall"},
        {{.size = sizeof(jzx_config), .max_io_watchers = JZX_NONE}, "max_io_watchers"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *field = "untouched";
        assert_int_equal(jzx_config_check(&cases[i].config, &field), JZX_ERR_INVALID_ARG);
        assert_string_equal(field, cases[i].field);
        assert_null(jzx_loop_create(&cases[i].config));
    }
    const char *field = "untouched";
    assert_int_equal(jzx_config_check(&JZX_CONFIG(), &field), JZX_OK);
    assert_string_equal(field, "untouched");
}

JZX_TEST(one_hook_alone_is_refused_however_the_configuration_was_made, "X24", "C16") {
    jzx_config config;
    const char *field = NULL;
    jzx_config_init(&config, sizeof config);
    config.allocator.alloc = some_alloc; /* and free is still the default's */
    assert_int_equal(jzx_config_check(&config, &field), JZX_ERR_INVALID_ARG);
    assert_string_equal(field, "allocator");
}

static void *some_map(void *ctx, size_t size) {
    (void)ctx;
    (void)size;
    return NULL;
}

static void some_unmap(void *ctx, void *ptr, size_t size) {
    (void)ctx;
    (void)ptr;
    (void)size;
}

JZX_TEST(a_hook_for_pages_alone_is_refused, "X24", "C17") {
    const jzx_mapper halves[] = {{.map = some_map}, {.unmap = some_unmap}};
    for (size_t i = 0; i < 2; i++) {
        const char *field = NULL;
        const jzx_config config = JZX_CONFIG(.mapper = halves[i]);
        assert_int_equal(jzx_config_check(&config, &field), JZX_ERR_INVALID_ARG);
        assert_string_equal(field, "mapper");
        assert_null(jzx_loop_create(&config));
    }
    assert_int_equal(jzx_config_check(&JZX_CONFIG(.mapper = {some_map, some_unmap, NULL}), NULL),
                     JZX_OK);
}

JZX_TEST(create_without_memory_is_null, "C16", "C17", "C+fail") {
    assert_null(
        jzx_loop_create(&JZX_CONFIG(.allocator = {some_alloc, fixture_allocator().free, NULL})));
}

struct log_lines {
    int count;
    char last[256];
    jzx_log_level level;
};

static void keep_line(void *ctx, jzx_log_level level, const char *text) {
    struct log_lines *lines = ctx;
    lines->count++;
    lines->level = level;
    snprintf(lines->last, sizeof lines->last, "%s", text);
}

static jzx_behavior_result break_down(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    jzx_test_ran();
    return JZX_BEHAVIOR_FAIL;
}

static void leave(jzx_context *ctx) {
    jzx_test_ran();
    jzx_exit(ctx, JZX_EXIT_FAIL, "bad request 'x\njzx: error: forged\x1b[2J'");
}

JZX_TEST(names_and_texts_forge_no_line_of_the_log) {
    struct log_lines lines = {0};
    jzx_loop *loop = fixture_loop_with(
        &JZX_CONFIG(.log = {.write = keep_line, .ctx = &lines, .level = JZX_LOG_WARN}));
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = leave, .name = "bob\njzx: forged"));
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(lines.count, 1);
    assert_int_equal(jzx_test_runs(), 1);
    assert_null(strpbrk(lines.last, "\n\x1b"));
    assert_non_null(strstr(lines.last, "bob\\njzx: forged"));
    assert_non_null(strstr(lines.last, "'x\\njzx: error: forged\\x1b[2J'"));
    fixture_destroy(loop);
}

JZX_TEST(the_log_sink_hears_of_a_failed_actor_by_name) {
    struct log_lines lines = {0};
    jzx_loop *loop = fixture_loop_with(
        &JZX_CONFIG(.log = {.write = keep_line, .ctx = &lines, .level = JZX_LOG_WARN}));
    jzx_actor_id id =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = break_down, .name = "teapot"));
    fixture_send(loop, id, 1);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(lines.count, 1);
    assert_int_equal(lines.level, JZX_LOG_WARN);
    assert_non_null(strstr(lines.last, "teapot"));
    assert_int_equal(jzx_test_runs(), 1);
    fixture_destroy(loop);
}
