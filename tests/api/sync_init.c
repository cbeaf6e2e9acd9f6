/* SPDX-License-Identifier: MIT */
/* Objects of synchronisation are made in memory and for a loop: without either nothing is. */
#include "fixture.h"

#include <jzx/sync.h>

/* Each calls the init with that loop and that memory. */
static jzx_err init_mutex(jzx_loop *loop, void *memory) {
    return jzx_mutex_init(loop, memory);
}

static jzx_err init_semaphore(jzx_loop *loop, void *memory) {
    return jzx_semaphore_init(loop, memory, 1, 1);
}

static jzx_err init_rwlock(jzx_loop *loop, void *memory) {
    return jzx_rwlock_init(loop, memory);
}

static jzx_err init_channel(jzx_loop *loop, void *memory) {
    return jzx_channel_init(loop, memory, 1, 8);
}

static jzx_err init_unbounded(jzx_loop *loop, void *memory) {
    return jzx_channel_init(loop, memory, JZX_UNBOUNDED, 8);
}

static jzx_err init_oneshot(jzx_loop *loop, void *memory) {
    return jzx_channel_init_oneshot(loop, memory, 8);
}

static jzx_err init_broadcast(jzx_loop *loop, void *memory) {
    return jzx_broadcast_init(loop, memory, 1, 8);
}

static jzx_err init_gate(jzx_loop *loop, void *memory) {
    return jzx_gate_init(loop, memory, true);
}

static jzx_err init_group(jzx_loop *loop, void *memory) {
    return jzx_wait_group_init(loop, memory);
}

static jzx_err init_barrier(jzx_loop *loop, void *memory) {
    return jzx_barrier_init(loop, memory, 1);
}

static jzx_err init_once(jzx_loop *loop, void *memory) {
    return jzx_once_init(loop, memory);
}

static jzx_err deinit_mutex(void *memory) {
    return jzx_mutex_deinit(memory);
}

static jzx_err deinit_semaphore(void *memory) {
    return jzx_semaphore_deinit(memory);
}

static jzx_err deinit_rwlock(void *memory) {
    return jzx_rwlock_deinit(memory);
}

static jzx_err deinit_channel(void *memory) {
    return jzx_channel_deinit(memory);
}

static jzx_err deinit_broadcast(void *memory) {
    return jzx_broadcast_deinit(memory);
}

static jzx_err deinit_gate(void *memory) {
    return jzx_gate_deinit(memory);
}

static jzx_err deinit_group(void *memory) {
    return jzx_wait_group_deinit(memory);
}

static jzx_err deinit_barrier(void *memory) {
    return jzx_barrier_deinit(memory);
}

static jzx_err deinit_once(void *memory) {
    return jzx_once_deinit(memory);
}

static const struct {
    jzx_err (*init)(jzx_loop *loop, void *memory);
    jzx_err (*deinit)(void *memory);
} types[] = {{init_mutex, deinit_mutex},
             {init_semaphore, deinit_semaphore},
             {init_rwlock, deinit_rwlock},
             {init_channel, deinit_channel},
             {init_unbounded, deinit_channel},
             {init_oneshot, deinit_channel},
             {init_broadcast, deinit_broadcast},
             {init_gate, deinit_gate},
             {init_group, deinit_group},
             {init_barrier, deinit_barrier},
             {init_once, deinit_once}};

JZX_TEST(no_object_is_made_without_memory_or_a_loop, "E57") {
    static union {
        jzx_mutex mutex;
        jzx_semaphore semaphore;
        jzx_rwlock rwlock;
        jzx_channel channel;
        jzx_broadcast broadcast;
        jzx_gate gate;
        jzx_wait_group group;
        jzx_barrier barrier;
        jzx_once once;
    } memory;
    jzx_loop *loop = fixture_loop();
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        assert_int_equal(types[i].init(loop, NULL), JZX_ERR_INVALID_ARG);
        assert_int_equal(types[i].init(NULL, NULL), JZX_ERR_INVALID_ARG);
        assert_int_equal(types[i].init(NULL, &memory), JZX_ERR_INVALID_ARG);
        assert_int_equal(types[i].deinit(&memory), JZX_ERR_INVALID_ARG);
        assert_int_equal(types[i].deinit(NULL), JZX_ERR_INVALID_ARG);
        assert_int_equal(types[i].init(loop, &memory), JZX_OK);
        assert_int_equal(types[i].deinit(&memory), JZX_OK);
    }
    fixture_destroy(loop);
}
