/* SPDX-License-Identifier: MIT */
/* Sizes, lengths and counts in options at their limits. */
#include "limiting.h"

#include <jzx/blocking.h>
#include <jzx/pool.h>
#include <jzx/process.h>
#include <jzx/processor.h>
#include <jzx/schedule_admin.h>
#include <jzx/subprocess.h>
#include <jzx/supervisor.h>
#include <jzx/tcp.h>
#include <jzx/typed.h>
#include <jzx/udp.h>

#include <stddef.h>

#define MESSAGE_MAX ((size_t)JZX_MSG_LEN_MAX)

#define CALL(name, expression)                                                                     \
    static jzx_err name(size_t size) {                                                             \
        return expression;                                                                         \
    }

/* ---- the size of a struct ---- */

static union {
    max_align_t any;
    char bytes[4096];
} room;

#define INIT(type, init)                                                                           \
    CALL(init_##type, init((type *)(void *)room.bytes, size))                                      \
    _Static_assert(sizeof(type) <= sizeof room, "has its room there");

INIT(jzx_spawn_opts, jzx_spawn_opts_init)
INIT(jzx_config, jzx_config_init)
INIT(jzx_blocking_opts, jzx_blocking_opts_init)
INIT(jzx_schedule_opts, jzx_schedule_opts_init)
INIT(jzx_schedule_config, jzx_schedule_config_init)
INIT(jzx_stream_opts, jzx_stream_opts_init)
INIT(jzx_listen_opts, jzx_listen_opts_init)
INIT(jzx_connect_opts, jzx_connect_opts_init)
INIT(jzx_udp_opts, jzx_udp_opts_init)
INIT(jzx_subprocess_opts, jzx_subprocess_opts_init)
INIT(jzx_supervisor_opts, jzx_supervisor_opts_init)
INIT(jzx_child_spec, jzx_service_init)

#define OF(type, init)                                                                             \
    { init, init_##type, .max = sizeof(type) }

JZX_TEST(a_size_that_no_struct_has_is_refused) {
    static const struct limit limits[] = {
        OF(jzx_spawn_opts, "jzx_spawn_opts_init"),
        OF(jzx_config, "jzx_config_init"),
        OF(jzx_blocking_opts, "jzx_blocking_opts_init"),
        OF(jzx_schedule_opts, "jzx_schedule_opts_init"),
        OF(jzx_schedule_config, "jzx_schedule_config_init"),
        OF(jzx_stream_opts, "jzx_stream_opts_init"),
        OF(jzx_listen_opts, "jzx_listen_opts_init"),
        OF(jzx_connect_opts, "jzx_connect_opts_init"),
        OF(jzx_udp_opts, "jzx_udp_opts_init"),
        OF(jzx_subprocess_opts, "jzx_subprocess_opts_init"),
        OF(jzx_supervisor_opts, "jzx_supervisor_opts_init"),
        OF(jzx_child_spec, "jzx_service_init"),
    };
    check_limits(LIMITS(limits), NULL);
}

/* ---- pools, types, processes, supervisors ---- */

static jzx_err make_pool(size_t value_size, size_t slot_size) {
    const jzx_pool_type type = {.size = sizeof type,
                                .name = "pool",
                                .value_size = value_size,
                                .slot_size = slot_size,
                                .slot_align = 16};
    jzx_pool *pool = NULL;
    return jzx_pool_create(&type, 16, &limited, &pool);
}

static jzx_err spawn_type(size_t state_size) {
    static const jzx_message_type messages[1] = {{"message", 0, 0, ignore}};
    const jzx_actor_type type = {.size = sizeof type,
                                 .name = "type",
                                 .state_size = state_size,
                                 .receive = ignore,
                                 .messages = messages,
                                 .message_count = 1};
    return jzx_spawn(loop, &JZX_SPAWN_OPTS(.type = &type, .state = NULL), NULL);
}

static jzx_err step(jzx_context *ctx, const jzx_process_event *events, size_t count,
                    jzx_step_out *out) {
    (void)ctx, (void)events, (void)count, (void)out;
    return JZX_OK;
}

static const jzx_process_ops ops = JZX_PROCESS_OPS(.step = step);

static jzx_err supervise(const jzx_child_spec *children, size_t count, size_t size) {
    return jzx_supervisor_check(
        &JZX_SUPERVISOR_OPTS(.children = children, .child_count = count, .child_size = size), NULL);
}

static jzx_err supervise_input(size_t len) {
    const jzx_child_spec child = {.process = &ops, .input = bytes, .input_len = len};
    return jzx_spawn_supervisor(
        loop,
        &JZX_SUPERVISOR_OPTS(.children = &child, .child_count = 1, .child_size = sizeof child),
        &(jzx_actor_id){0});
}

CALL(pool_slots, make_pool(8, size / 16 * 16))
CALL(pool_values, make_pool(size, 64))
CALL(type_state, spawn_type(size))
CALL(process_input,
     jzx_spawn(loop, &JZX_SPAWN_OPTS(.process = &ops, .input = bytes, .input_len = size), NULL))
CALL(process_result, jzx_process_exec_to(turn, &JZX_SPAWN_OPTS(.process = &ops), size, 1, NULL))
CALL(child_count,
     supervise((const jzx_child_spec *)(const void *)room.bytes, size, sizeof(jzx_child_spec)))
CALL(child_size, supervise(&(jzx_child_spec){.behavior = ignore}, 1, size))

JZX_TEST(a_size_in_options_that_no_memory_could_hold_is_refused) {
    static const struct limit limits[] = {
        {"jzx_pool_create, slots", pool_slots, .max = LARGEST, .is_read = true,
         .err = JZX_ERR_NO_MEMORY},
        {"jzx_pool_create, values", pool_values, .max = 64 - sizeof(jzx_ref), .is_read = true},
        {"jzx_spawn, state", type_state, .max = JZX_TYPE_STATE_MAX},
        {"jzx_spawn, input", process_input, .max = MESSAGE_MAX},
        {"jzx_process_exec_to", process_result, .max = MESSAGE_MAX - sizeof(jzx_result)},
        {"jzx_supervisor_check, count", child_count, .max = SIZE_MAX / 4 / sizeof(jzx_child_spec),
         .is_read = true},
        {"jzx_supervisor_check, size", child_size, .max = sizeof(jzx_child_spec)},
        {"jzx_spawn_supervisor, input", supervise_input, .max = MESSAGE_MAX},
    };
    check_limits(LIMITS(limits), NULL);
}

/* ---- a loop ---- */

#define FIELD(name) offsetof(jzx_config, name)

/* At UINT32_MAX or near it each field is refused, or has a meaning that costs nothing yet. */
JZX_TEST(a_number_of_a_configuration_at_its_limit_is_refused_or_makes_a_loop) {
    static const size_t fields[] = {FIELD(max_actors),
                                    FIELD(default_mailbox_cap),
                                    FIELD(max_msgs_per_actor),
                                    FIELD(max_actors_per_tick),
                                    FIELD(max_async_drain),
                                    FIELD(spare_threads_max),
                                    FIELD(local_queue_size),
                                    FIELD(global_queue_size),
                                    FIELD(steal_batch),
                                    FIELD(max_groups),
                                    FIELD(max_members_per_group),
                                    FIELD(max_calls),
                                    FIELD(max_io_watchers),
                                    FIELD(urgent_cap)};
    static const uint32_t values[] = {UINT32_MAX, UINT32_MAX - 1, UINT32_MAX / 2,
                                      UINT32_MAX / 2 + 1};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0] * 4; i++) {
        jzx_config config =
            JZX_CONFIG(.workers = 1, .allocator = limited, .log = {.level = JZX_LOG_OFF});
        memcpy((char *)&config + fields[i / 4], &values[i % 4], sizeof values[0]);
        bool is_right = jzx_config_check(&config, NULL) == JZX_OK;
        loop = jzx_loop_create(&config);
        JZX_EXPECT(is_right || loop == NULL);
        if (loop == NULL)
            continue;
        fixture_send(loop, fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = ignore)), 1);
        JZX_EXPECT_EQ(jzx_loop_step(loop, 0), JZX_OK);
        fixture_destroy(loop);
    }
    assert_int_equal(fixture_bytes(), 0);
}

/* ---- processors ---- */

static jzx_processor *processor;
static jzx_actions *actions;

static jzx_err create(void *state, jzx_processor_handle self, const void *config, size_t len) {
    (void)state, (void)self, (void)config, (void)len;
    return JZX_OK;
}

static void handle_none(void *state, const jzx_action *msg, jzx_actions *out) {
    (void)state, (void)msg, (void)out;
}

static const jzx_actor_factory plain =
    JZX_ACTOR_FACTORY(.type = "plain", .create = create, .handle = handle_none);

static jzx_err act(size_t size, int which) {
    jzx_processor_handle handle;
    const jzx_stage stage = {.factory = &plain, .config = bytes, .config_len = size};
    switch (which) {
    case 0: return jzx_actions_send(actions, JZX_PROCESSOR_OUTPUT, 1, bytes, size);
    case 1: return jzx_actions_reserve(actions, &plain, bytes, size, &handle);
    case 2: return jzx_actions_spawn_new(actions, &plain, bytes, size, &handle);
    default:
        return jzx_actions_flow(actions, &stage, 1, sizeof stage, JZX_PROCESSOR_OUTPUT, &handle);
    }
}

CALL(action_send, act(size, 0))
CALL(action_reserve, act(size, 1))
CALL(action_spawn, act(size, 2))
CALL(action_flow, act(size, 3))

static void handle_limits(void *state, const jzx_action *msg, jzx_actions *out) {
    static const struct limit limits[] = {
        {"jzx_actions_send", action_send, .max = MESSAGE_MAX},
        {"jzx_actions_reserve", action_reserve, .max = MESSAGE_MAX},
        {"jzx_actions_spawn_new", action_spawn, .max = MESSAGE_MAX},
        {"jzx_actions_flow", action_flow, .max = 256},
    };
    (void)state, (void)msg;
    actions = out;
    jzx_test_ran();
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        check_limit(&limits[i]);
}

static const jzx_actor_factory trying =
    JZX_ACTOR_FACTORY(.type = "trying", .create = create, .handle = handle_limits);

static jzx_err make_with(size_t config_len, size_t stages, size_t state_size) {
    jzx_actor_factory factory =
        JZX_ACTOR_FACTORY(.type = "plain", .create = create, .handle = handle_none);
    static jzx_stage middleware[JZX_MIDDLEWARE_MAX];
    jzx_processor *made = NULL;
    factory.state_size = state_size;
    for (size_t i = 0; i < JZX_MIDDLEWARE_MAX; i++)
        middleware[i] = (jzx_stage){.factory = &plain};
    jzx_err err = jzx_processor_create(
        loop,
        &JZX_PROCESSOR_OPTS(.root = &factory, .config = bytes, .config_len = config_len,
                            .middleware = middleware, .middleware_count = stages,
                            .middleware_size = sizeof middleware[0]),
        &made);
    if (err == JZX_OK)
        JZX_EXPECT_EQ(jzx_processor_destroy(made), JZX_OK);
    return err;
}

CALL(root_config, make_with(size, 0, 8))
CALL(root_state, make_with(8, 0, size))
CALL(middleware_count, make_with(8, size, 8))
CALL(dispatch, jzx_processor_dispatch(processor, 1, bytes, size))
CALL(enqueue, jzx_processor_enqueue(processor, 1, bytes, size))

static void open_processor(void) {
    JZX_EXPECT_EQ(jzx_processor_create(loop, &JZX_PROCESSOR_OPTS(.root = &plain), &processor),
                  JZX_OK);
}

static void close_processor(void) {
    JZX_EXPECT_EQ(jzx_processor_destroy(processor), JZX_OK);
}

JZX_TEST(a_length_that_no_processor_takes_is_refused) {
    static const struct limit limits[] = {
        {"jzx_processor_dispatch", dispatch, .max = MESSAGE_MAX},
        {"jzx_processor_enqueue", enqueue, .max = MESSAGE_MAX},
        {"jzx_processor_create, config", root_config, .max = MESSAGE_MAX},
        {"jzx_processor_create, state", root_state, .max = SIZE_MAX / 2},
        {"jzx_processor_create, middleware", middleware_count, .max = JZX_MIDDLEWARE_MAX},
    };
    check_limits_between(LIMITS(limits), open_processor, close_processor);
}

JZX_TEST(an_action_that_is_too_long_is_refused) {
    loop = jzx_loop_create(
        &JZX_CONFIG(.workers = 1, .allocator = limited, .log = {.level = JZX_LOG_OFF}));
    assert_non_null(loop);
    assert_int_equal(jzx_processor_create(loop, &JZX_PROCESSOR_OPTS(.root = &trying), &processor),
                     JZX_OK);
    (void)jzx_processor_dispatch(processor, 1, NULL, 0);
    assert_int_equal(jzx_test_runs(), 1);
    assert_int_equal(jzx_processor_destroy(processor), JZX_OK);
    fixture_destroy(loop);
    assert_int_equal(fixture_bytes(), 0);
}
