/* SPDX-License-Identifier: MIT */
/* Where a process goes on when a command completes or a message comes. */
#include "processes.h"

#include <pthread.h>
#include <semaphore.h>

#define WORKERS 3u
#define PROCESSES 4u /* on each worker */
#define ROUNDS 20u

/* ---- the last worker ---- */

/* Commands that wait for the thread that completes them. */
static struct {
    pthread_mutex_t lock;
    sem_t come;
    jzx_loop *loop;
    struct held waiting[WORKERS * PROCESSES]; /* each process has one */
    uint32_t count;
} far_away = {.lock = PTHREAD_MUTEX_INITIALIZER};

static jzx_err send_far_away(jzx_context *ctx, const jzx_command *command, void *data) {
    (void)ctx, (void)data;
    pthread_mutex_lock(&far_away.lock);
    far_away.waiting[far_away.count++] =
        (struct held){command->process, command->ref, command->tag};
    pthread_mutex_unlock(&far_away.lock);
    sem_post(&far_away.come);
    return JZX_OK;
}

static void *complete_all(void *arg) {
    (void)arg;
    for (uint32_t i = 0; i < WORKERS * PROCESSES * ROUNDS; i++) {
        while (sem_wait(&far_away.come) != 0)
            continue;
        pthread_mutex_lock(&far_away.lock);
        struct held held_one = far_away.waiting[--far_away.count];
        pthread_mutex_unlock(&far_away.lock);
        JZX_EXPECT_EQ(
            jzx_command_complete(far_away.loop, held_one.process, held_one.ref, NULL, 0, JZX_OK),
            JZX_OK);
    }
    return NULL;
}

struct traveller {
    uint32_t home;
    uint32_t steps;
};

static jzx_err stay_home(jzx_context *ctx, const jzx_process_event *events, size_t count,
                         jzx_step_out *out) {
    struct traveller *self = ctx->state;
    (void)events;
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_current_worker(), self->home);
    JZX_EXPECT_EQ(count, self->steps == 0 ? 0 : 1);
    if (self->steps++ == ROUNDS)
        return jzx_out_done(out, NULL, 0);
    return jzx_out_yield(out, self->steps, HELD, NULL, 0);
}

static const jzx_process_ops staying = {.size = sizeof staying, .step = stay_home};

static jzx_behavior_result found_processes(jzx_context *ctx, const jzx_message *msg) {
    struct traveller *all = ctx->state;
    (void)msg;
    for (uint32_t i = 0; i < PROCESSES; i++) {
        all[i].home = jzx_current_worker();
        fixture_spawn(ctx->loop, &JZX_SPAWN_OPTS(.process = &staying, .state = &all[i]));
    }
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(a_completion_goes_to_the_worker_where_its_process_was_last, "D+aff") {
    struct traveller all[WORKERS][PROCESSES] = {{{0}}};
    pthread_t thread;
    jzx_loop *loop =
        fixture_loop_with(&JZX_CONFIG(.workers = WORKERS, .balance = JZX_BALANCE_NONE));
    far_away.loop = loop;
    far_away.count = 0;
    assert_int_equal(sem_init(&far_away.come, 0, 0), 0);
    JZX_EXPECT_EQ(jzx_command_register(loop, HELD, &(jzx_command_handler){.handle = send_far_away}),
                  JZX_OK);
    assert_int_equal(pthread_create(&thread, NULL, complete_all, NULL), 0);
    for (uint32_t i = 0; i < WORKERS; i++)
        fixture_send(
            loop,
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = found_processes, .state = all[i],
                                                .place = JZX_PLACE_WORKER(i))),
            1);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    pthread_join(thread, NULL);
    for (uint32_t i = 0; i < WORKERS * PROCESSES; i++) {
        JZX_EXPECT_EQ(all[i / PROCESSES][i % PROCESSES].home, i / PROCESSES);
        JZX_EXPECT_EQ(all[i / PROCESSES][i % PROCESSES].steps, ROUNDS + 1);
    }
    sem_destroy(&far_away.come);
    fixture_destroy(loop);
}

/* ---- blocked ---- */

static jzx_err block(jzx_context *ctx, struct journal *journal, jzx_step_out *out) {
    (void)ctx;
    jzx_out_wait(out);
    return journal->steps == 1 ? jzx_out_yield(out, 9, HELD, NULL, 0) : JZX_OK;
}

static jzx_process_state state_of(jzx_loop *loop) {
    uint64_t cursor = 0;
    jzx_process_info info = {.size = sizeof info};
    JZX_EXPECT_EQ(jzx_process_next(loop, &cursor, &info), JZX_OK);
    return info.state;
}

JZX_TEST(a_message_wakes_a_process_that_is_blocked_and_its_command_goes_on, "D+aff") {
    struct timing timing = timing_open();
    struct journal journal = {.plan = block};
    register_held(timing.loop);
    jzx_actor_id id = journal_spawn(&timing, &journal);
    for (uint32_t i = 0; i < 3; i++) {
        JZX_EXPECT_EQ(state_of(timing.loop), JZX_PROCESS_BLOCKED);
        JZX_EXPECT_EQ(journal.count, i);
        fixture_send(timing.loop, id, 40 + i);
        timing_step(&timing);
        expect_note(&journal, i, JZX_PROCESS_MESSAGE, 40 + i, JZX_OK);
    }
    JZX_EXPECT_EQ(complete_held(timing.loop, 0, 1, JZX_OK), JZX_OK);
    timing_step(&timing);
    expect_completion(&journal, 3, 9, JZX_OK);
    JZX_EXPECT_EQ(journal.steps, 5);
    timing_close(&timing);
}
