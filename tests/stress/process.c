/* SPDX-License-Identifier: MIT */
/* Processes under threads: ten thousand of them, completions from elsewhere that race with the end,
 * the upgrade and the next actor of a slot, and loops that start and stop. */
#include "fixture.h"

#include <jzx/process.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define ELSEWHERE 300u
#define THREADS 2u
#define RING 4096u

/* ---- commands that other threads complete ---- */

struct order {
    jzx_actor_id process;
    jzx_op ref;
    uint64_t tag;
};

/* A queue of commands under a lock, and threads that complete them in any order. */
struct service {
    jzx_loop *loop;
    pthread_mutex_t lock;
    struct order orders[RING];
    uint32_t count;
    bool is_over;
    pthread_t threads[THREADS];
    _Atomic uint64_t completed;
    _Atomic uint64_t stale;
    _Atomic uint64_t cancelled;
};

static struct service service;

static jzx_err take_order(jzx_context *ctx, const jzx_command *command, void *data) {
    (void)ctx, (void)data;
    pthread_mutex_lock(&service.lock);
    bool fits = service.count < RING;
    if (fits)
        service.orders[service.count++] =
            (struct order){command->process, command->ref, command->tag};
    pthread_mutex_unlock(&service.lock);
    return fits ? JZX_OK : JZX_ERR_FULL;
}

static void note_cancel(jzx_loop *loop, jzx_op ref, void *data) {
    (void)loop, (void)ref, (void)data;
    atomic_fetch_add(&service.cancelled, 1);
}

static bool next_order(struct order *order, uint64_t *random) {
    pthread_mutex_lock(&service.lock);
    bool found = service.count != 0;
    if (found) {
        *random = *random * 6364136223846793005u + 1442695040888963407u;
        uint32_t at = (uint32_t)(*random >> 33) % service.count;
        *order = service.orders[at];
        service.orders[at] = service.orders[--service.count];
    }
    pthread_mutex_unlock(&service.lock);
    return found;
}

static bool is_over(void) {
    pthread_mutex_lock(&service.lock);
    bool over = service.is_over && service.count == 0;
    pthread_mutex_unlock(&service.lock);
    return over;
}

static void *serve(void *arg) {
    uint64_t random = (uintptr_t)arg;
    struct order order;
    while (!is_over()) {
        if (!next_order(&order, &random)) {
            sched_yield();
            continue;
        }
        uint64_t answer = order.tag * 2;
        jzx_err err = jzx_command_complete(service.loop, order.process, order.ref, &answer,
                                           sizeof answer, JZX_OK);
        if (err == JZX_OK)
            atomic_fetch_add(&service.completed, 1);
        else if (JZX_EXPECT_EQ(err, JZX_ERR_NO_SUCH_OP))
            atomic_fetch_add(&service.stale, 1);
    }
    return NULL;
}

static void open_service(jzx_loop *loop) {
    memset(&service, 0, sizeof service);
    service.loop = loop;
    pthread_mutex_init(&service.lock, NULL);
    JZX_EXPECT_EQ(
        jzx_command_register(loop, ELSEWHERE,
                             &(jzx_command_handler){.handle = take_order, .cancel = note_cancel}),
        JZX_OK);
    JZX_EXPECT_EQ(jzx_commands_freeze(loop), JZX_OK);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&service.threads[i], NULL, serve, (void *)(i + 1)), 0);
}

static void close_service(void) {
    pthread_mutex_lock(&service.lock);
    service.is_over = true;
    pthread_mutex_unlock(&service.lock);
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(service.threads[i], NULL);
    pthread_mutex_destroy(&service.lock);
}

/* ---- ten thousand ---- */

static _Atomic uint64_t inits;
static _Atomic uint64_t closes;
static _Atomic uint64_t answers;

struct small {
    uint32_t steps;
    uint32_t got;
    uint32_t messages;
    uint32_t in_step; /* never two at once */
    bool is_later;    /* it was upgraded */
};

static jzx_err small_init(jzx_context *ctx, const char *method, const void *input, size_t len) {
    (void)method, (void)input, (void)len;
    struct small *self = jzx_alloc(ctx, sizeof *self);
    if (self == NULL)
        return JZX_ERR_NO_MEMORY;
    *self = (struct small){0};
    ctx->state = self;
    atomic_fetch_add(&inits, 1);
    return JZX_OK;
}

static void small_close(jzx_context *ctx) {
    (void)ctx;
    atomic_fetch_add(&closes, 1);
}

static jzx_err small_step(jzx_context *ctx, const jzx_process_event *events, size_t count,
                          jzx_step_out *out) {
    struct small *self = ctx->state;
    JZX_EXPECT_EQ(self->in_step, 0);
    self->in_step = 1;
    if (self->steps++ == 0) {
        for (uint64_t tag = 1; tag <= 3; tag++)
            JZX_EXPECT_EQ(jzx_out_yield(out, tag, ELSEWHERE, NULL, 0), JZX_OK);
        JZX_EXPECT_EQ(jzx_out_send(out, 4, ctx->self, &self->steps, sizeof self->steps, 1), JZX_OK);
    }
    for (size_t i = 0; i < count; i++) {
        if (events[i].kind == JZX_PROCESS_MESSAGE) {
            self->messages++;
        } else if (events[i].error == JZX_OK && events[i].len == sizeof(uint64_t)) {
            JZX_EXPECT_EQ(*(uint64_t *)events[i].data, 2 * events[i].tag);
            self->got++;
        } else {
            self->got++; /* the service was full, or the message was sent */
        }
    }
    self->in_step = 0;
    if (self->got < 4 || self->messages < 1)
        return JZX_OK;
    atomic_fetch_add(&answers, 1);
    return jzx_out_done(out, NULL, 0);
}

static const jzx_process_ops small_ops = {
    .size = sizeof small_ops, .init = small_init, .step = small_step, .close = small_close};

static void run_many(uint32_t workers, uint64_t count) {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = workers));
    atomic_store(&inits, 0);
    atomic_store(&closes, 0);
    atomic_store(&answers, 0);
    open_service(loop);
    for (uint64_t i = 0; i < count; i++)
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.process = &small_ops));
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    close_service();
    JZX_EXPECT_EQ(atomic_load(&inits), count);
    JZX_EXPECT_EQ(atomic_load(&answers), count);
    JZX_EXPECT_EQ(atomic_load(&closes), count);
    JZX_EXPECT_EQ(atomic_load(&service.stale), 0);
    fixture_destroy(loop);
}

JZX_TEST(stress_10k_processes_on_1_4_8_and_32_workers, "D13", "D14", "D15", "D17", "D19", "D+tests",
         "X6", "X30") {
    static const uint32_t workers[] = {1, 4, 8, 32};
    for (uint32_t i = 0; i < 4; i++)
        run_many(workers[i], jzx_test_rounds(10000, 50000));
}

/* ---- completions against ends, upgrades and slots that are used again ---- */

/* Ends, upgrades or fails with commands outstanding, by the number in its input. */
static jzx_err brief_step(jzx_context *ctx, const jzx_process_event *events, size_t count,
                          jzx_step_out *out);
static const jzx_process_ops brief_ops = {
    .size = sizeof brief_ops, .init = small_init, .step = brief_step, .close = small_close};

static jzx_err later_init(jzx_context *ctx, const char *method, const void *input, size_t len) {
    jzx_err err = small_init(ctx, method, input, len);
    if (err == JZX_OK)
        ((struct small *)ctx->state)->is_later = true;
    return err;
}

static const jzx_process_ops later_ops = {
    .size = sizeof later_ops, .init = later_init, .step = brief_step, .close = small_close};

static jzx_err brief_step(jzx_context *ctx, const jzx_process_event *events, size_t count,
                          jzx_step_out *out) {
    struct small *self = ctx->state;
    uint32_t number = jzx_id_generation(ctx->self) + self->steps;
    for (size_t i = 0; i < count; i++) {
        if (events[i].len == sizeof(uint64_t))
            JZX_EXPECT_EQ(*(uint64_t *)events[i].data, 2 * events[i].tag);
        if (events[i].error == JZX_OK)
            JZX_EXPECT(events[i].tag == ctx->self); /* its own, and of this life */
    }
    if (++self->steps > 3)
        return number % 3 == 0 ? JZX_ERR_CANCELLED : jzx_out_done(out, NULL, 0);
    for (uint32_t i = 0; i < 2; i++)
        JZX_EXPECT_EQ(jzx_out_yield(out, ctx->self, ELSEWHERE, NULL, 0), JZX_OK);
    if (number % 2 == 0 && !self->is_later)
        return jzx_out_upgrade(out, &later_ops, NULL, NULL, 0);
    if (number % 3 == 0)
        jzx_out_continue(out);
    return JZX_OK;
}

JZX_TEST(completions_race_with_ends_upgrades_and_reused_slots, "D14", "D19", "D+q", "D+top") {
    for (uint32_t round = 0; round < 2; round++) {
        jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 2 + 2 * round));
        atomic_store(&inits, 0);
        atomic_store(&closes, 0);
        open_service(loop);
        uint64_t spawned = 0;
        uint64_t goal = jzx_test_rounds(4000, 40000);
        while (spawned < goal) {
            for (uint32_t i = 0; i < 100; i++, spawned++) {
                jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.process = &brief_ops));
                if (i % 5 == 0)
                    (void)jzx_actor_stop(loop, id, JZX_STOP_KILL);
            }
            assert_int_equal(jzx_loop_run(loop), JZX_OK);
        }
        close_service();
        /* Each init has its close; one that was killed before its init has one, too. */
        JZX_EXPECT(atomic_load(&closes) >= atomic_load(&inits));
        JZX_EXPECT(atomic_load(&closes) >= spawned);
        JZX_EXPECT(atomic_load(&service.completed) + atomic_load(&service.stale) > 0);
        fixture_destroy(loop);
    }
}

/* ---- balance, and loops that come and go ---- */

static _Atomic uint64_t steps_on[8];

static uint32_t workers_used(void) {
    uint32_t used = 0;
    for (uint32_t i = 0; i < 8; i++)
        used += atomic_load(&steps_on[i]) != 0;
    return used;
}

/* Goes on until another worker has a part of it: it may take a while until that has a thread. */
static jzx_err busy_step(jzx_context *ctx, const jzx_process_event *events, size_t count,
                         jzx_step_out *out) {
    struct small *self = ctx->state;
    (void)events, (void)count;
    uint32_t worker = jzx_current_worker();
    if (worker < 8)
        atomic_fetch_add(&steps_on[worker], 1);
    for (volatile uint32_t i = 0; i < 2000; i++)
        continue;
    if (++self->steps >= 50 && (workers_used() >= 2 || self->steps == 1000000))
        return jzx_out_done(out, NULL, 0);
    jzx_out_continue(out);
    return JZX_OK;
}

JZX_TEST(worker_balance, "D+tests") {
    static const jzx_process_ops busy_ops = {
        .size = sizeof busy_ops, .init = small_init, .step = busy_step, .close = small_close};
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 4));
    memset(steps_on, 0, sizeof steps_on);
    for (uint32_t i = 0; i < 400; i++)
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.process = &busy_ops));
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT(workers_used() >= 2); /* not all on one */
    fixture_destroy(loop);
}

static jzx_err obedient_step(jzx_context *ctx, const jzx_process_event *events, size_t count,
                             jzx_step_out *out) {
    struct small *self = ctx->state;
    if (self->steps++ == 0)
        JZX_EXPECT_EQ(jzx_out_yield(out, 1, ELSEWHERE, NULL, 0), JZX_OK);
    for (size_t i = 0; i < count; i++) {
        if (events[i].kind == JZX_PROCESS_CANCEL)
            return jzx_out_done(out, NULL, 0);
    }
    return JZX_OK;
}

static void *stop_soon(void *arg) {
    for (uint32_t i = 0; i < 20; i++)
        sched_yield();
    JZX_EXPECT_EQ(jzx_loop_stop(arg, JZX_NEVER), JZX_OK);
    return NULL;
}

JZX_TEST(rapid_stop_start, "D18", "D19", "D+stop", "D+tests") {
    static const jzx_process_ops ops = {
        .size = sizeof ops, .init = small_init, .step = obedient_step, .close = small_close};
    uint64_t rounds = jzx_test_rounds(60, 1000);
    for (uint64_t round = 0; round < rounds; round++) {
        pthread_t thread;
        jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1 + (uint32_t)round % 4));
        atomic_store(&closes, 0);
        open_service(loop);
        for (uint32_t i = 0; i < 10; i++)
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.process = &ops));
        assert_int_equal(pthread_create(&thread, NULL, stop_soon, loop), 0);
        assert_int_equal(jzx_loop_run(loop), JZX_OK);
        pthread_join(thread, NULL);
        close_service();
        JZX_EXPECT_EQ(atomic_load(&closes), 10);
        fixture_destroy(loop);
    }
}
