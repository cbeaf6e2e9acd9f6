/* SPDX-License-Identifier: MIT */
/* A fault in the code of an actor ends that actor, and nobody else notices. */
#include "faults.h"
#include "fixture.h"

#include <fenv.h>
#include <pthread.h>
#include <signal.h>

#define ALL (JZX_CONTAIN_OVERFLOW | JZX_CONTAIN_FAULTS)

enum { GO = 1, WORK = 2, SECOND = 3 };

static jzx_loop *open_loop(uint32_t workers) {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = workers, .contain = ALL));
    assert_non_null(loop);
    return loop;
}

static void run(jzx_loop *loop) {
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
}

/* The state is the fault. */
static jzx_behavior_result fall(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    (void)msg;
    do_fault((enum fault)(uintptr_t)ctx->state);
    JZX_EXPECT(false && "it goes on");
    return JZX_BEHAVIOR_STOP;
}

static void *state_of(enum fault fault) {
    return (void *)(uintptr_t)fault;
}

/* ---- one among many ---- */

enum { CROWD = 9999, MESSAGES = 3 };

struct worker_bee {
    jzx_actor_id next;
    uint32_t seen;
};

static struct worker_bee crowd[CROWD];

/* Each hears MESSAGES times from the test, and as often from the one before it. */
static jzx_behavior_result work(jzx_context *ctx, const jzx_message *msg) {
    struct worker_bee *self = ctx->state;
    self->seen++;
    if (msg->tag == WORK)
        JZX_EXPECT_EQ(jzx_send(ctx->loop, self->next, ctx->self, NULL, 0, SECOND), JZX_OK);
    return self->seen == 2 * MESSAGES ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

static void crowd_open(jzx_loop *loop) {
    for (uint32_t i = 0; i < CROWD; i++)
        crowd[i] = (struct worker_bee){0};
    jzx_actor_id first = JZX_NOBODY;
    for (uint32_t i = 0; i < CROWD; i++) {
        jzx_actor_id id =
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = work, .state = &crowd[i]));
        if (i == 0)
            first = id;
        else
            crowd[i - 1].next = id;
    }
    crowd[CROWD - 1].next = first;
}

static void crowd_send(jzx_loop *loop) {
    for (uint32_t i = 0; i < CROWD; i++)
        fixture_send(loop, crowd[i].next, WORK);
}

static void fault_among_many(enum fault fault, uint32_t workers) {
    jzx_loop *loop = open_loop(workers);
    crowd_open(loop);
    jzx_actor_id id =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = fall, .state = state_of(fault)));
    crowd_send(loop);
    fixture_send(loop, id, GO);
    for (uint32_t i = 1; i < MESSAGES; i++)
        crowd_send(loop);
    run(loop);
    uint64_t seen = 0;
    for (uint32_t i = 0; i < CROWD; i++)
        seen += crowd[i].seen;
    JZX_EXPECT_EQ(seen, CROWD * 2 * MESSAGES);
    jzx_stats stats = fixture_stats(loop);
    JZX_EXPECT_EQ(stats.failed, 1);
    JZX_EXPECT_EQ(stats.handled, CROWD * 2 * MESSAGES + 1);
    JZX_EXPECT_EQ(stats.dead, 0);
    fixture_destroy(loop);
}

JZX_TEST(a_fault_in_one_of_ten_thousand_is_not_felt_by_the_others, "C20") {
    for (enum fault fault = 0; fault < FAULT_COUNT; fault++) {
        if (!can_happen(fault))
            continue;
        fault_among_many(fault, 1);
        fault_among_many(fault, 4);
    }
}

/* ---- calls of what is no code ---- */

static jzx_behavior_result call_it(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    no_function = (void (*)(void))(uintptr_t)ctx->state;
    call_wild();
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(a_behaviour_that_recurses_without_end_fails_alone, "C20", "E+wait") {
    for (uint32_t workers = 1; workers <= 2; workers++)
        fault_among_many(OVERFLOW, workers);
}

JZX_TEST(a_call_through_any_bad_pointer_is_contained, "C20") {
    static char data[8192];
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *gone = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(gone != MAP_FAILED && munmap(gone, page) == 0);
    char *locked = mmap(NULL, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(locked != MAP_FAILED);
    void *const targets[] = {NULL,
                             (void *)(uintptr_t)1,
                             (void *)(uintptr_t)0x10000,
                             (void *)(uintptr_t)0x12345678,
                             (void *)(uintptr_t)0x5a5a5a5a5a5a5a58u,
                             data + 100, /* there, but no code */
                             locked,
                             gone};
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        jzx_loop *loop = open_loop(1);
        jzx_actor_id id =
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = call_it, .state = targets[i]));
        fixture_send(loop, id, GO);
        run(loop);
        JZX_EXPECT_EQ(fixture_stats(loop).failed, 1);
        fixture_destroy(loop);
    }
    no_function = NULL;
    munmap(locked, page);
}

/* ---- what is said of it ---- */

static struct {
    pthread_mutex_t lock;
    uint32_t failed;
    uint32_t stopped;
    jzx_exit_reason reason;
    jzx_actor_id actor;
    char detail[JZX_EXIT_TEXT_MAX + 1];
    void *stack[64];
    size_t stack_count;
} seen = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void on_event(void *ctx, const jzx_event *event) {
    (void)ctx;
    pthread_mutex_lock(&seen.lock);
    seen.stopped += event->kind == JZX_EVENT_ACTOR_STOP;
    if (event->kind == JZX_EVENT_ACTOR_STOP)
        JZX_EXPECT_EQ(event->stack_count, 0);
    if (event->kind == JZX_EVENT_ACTOR_FAIL && event->stack_count != 0) {
        seen.failed++;
        seen.reason = event->reason;
        seen.actor = event->actor;
        seen.stack_count = event->stack_count;
        memcpy(seen.stack, event->stack, event->stack_count * sizeof event->stack[0]);
        snprintf(seen.detail, sizeof seen.detail, "%s", event->detail);
    }
    pthread_mutex_unlock(&seen.lock);
}

static void observe(jzx_loop *loop) {
    pthread_mutex_lock(&seen.lock);
    seen.failed = seen.stopped = 0;
    pthread_mutex_unlock(&seen.lock);
    assert_int_equal(jzx_loop_set_observer(loop, &JZX_OBSERVER(.on_event = on_event), NULL),
                     JZX_OK);
}

static bool begins_with(const char *text, const char *beginning) {
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

/* One monitors, one traps exits, one is linked. */
struct witness {
    jzx_actor_id faulty;
    enum fault fault;
    uint32_t heard;
    jzx_exit_reason link_reason;
    jzx_exit_notice notice;
};

static jzx_behavior_result witness(jzx_context *ctx, const jzx_message *msg) {
    struct witness *self = ctx->state;
    if (msg->tag == GO) {
        JZX_EXPECT_EQ(jzx_trap_exits(ctx, true), JZX_OK);
        JZX_EXPECT_EQ(jzx_spawn_watched(ctx,
                                        &JZX_SPAWN_OPTS(.behavior = fall, .name = "faulty",
                                                        .state = state_of(self->fault)),
                                        true, &self->faulty, &(jzx_monitor_ref){0}),
                      JZX_OK);
        JZX_EXPECT_EQ(jzx_send(ctx->loop, self->faulty, ctx->self, NULL, 0, GO), JZX_OK);
        return JZX_BEHAVIOR_OK;
    }
    JZX_EXPECT(msg->tag == JZX_TAG_DOWN || msg->tag == JZX_TAG_EXIT);
    const jzx_exit_notice *notice = msg->data;
    JZX_EXPECT_EQ(notice->actor, self->faulty);
    JZX_EXPECT_EQ(notice->reason, JZX_EXIT_FAULT);
    self->notice = *notice;
    return ++self->heard == 2 ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

JZX_TEST(monitors_links_and_observers_hear_what_happened_and_where, "C20") {
    for (enum fault fault = 0; fault < FAULT_COUNT; fault++) {
        if (!can_happen(fault))
            continue;
        struct witness self = {.fault = fault};
        jzx_loop *loop = open_loop(1);
        observe(loop);
        fixture_send(loop,
                     fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = witness, .state = &self)), GO);
        run(loop);
        JZX_EXPECT_EQ(self.heard, 2);
        JZX_EXPECT(begins_with(self.notice.text, text_of(fault)));
        JZX_EXPECT(strstr(self.notice.text, " in ") != NULL);
        JZX_EXPECT_EQ(seen.failed, 1);
        JZX_EXPECT_EQ(seen.reason, JZX_EXIT_FAULT);
        JZX_EXPECT_EQ(seen.actor, self.faulty);
        JZX_EXPECT_EQ(strcmp(seen.detail, self.notice.text), 0);
        JZX_EXPECT(seen.stack_count >= 2);
        /* the place first, as the text has it */
        char pc[32];
        snprintf(pc, sizeof pc, "pc 0x%zx in", (size_t)(uintptr_t)seen.stack[0]);
        JZX_EXPECT(strstr(self.notice.text, pc) != NULL);
        fixture_destroy(loop);
    }
}

static jzx_behavior_result link_to(jzx_context *ctx, const jzx_message *msg) {
    jzx_actor_id other;
    memcpy(&other, msg->data, sizeof other);
    JZX_EXPECT_EQ(jzx_link(ctx, other), JZX_OK);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, other, ctx->self, NULL, 0, GO), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

static void keep_reason(jzx_context *ctx, jzx_exit_reason reason) {
    *(jzx_exit_reason *)ctx->state = reason;
}

JZX_TEST(who_is_linked_ends_with_it, "C20") {
    jzx_loop *loop = open_loop(1);
    jzx_exit_reason reason = JZX_EXIT_NORMAL;
    observe(loop);
    jzx_actor_id faulty =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = fall, .state = state_of(READ_NULL)));
    jzx_actor_id linked = fixture_spawn(
        loop, &JZX_SPAWN_OPTS(.behavior = link_to, .state = &reason, .cleanup = keep_reason));
    assert_int_equal(jzx_send(loop, linked, JZX_NOBODY, &faulty, sizeof faulty, GO), JZX_OK);
    run(loop);
    JZX_EXPECT_EQ(reason, JZX_EXIT_FAULT);
    JZX_EXPECT_EQ(seen.failed, 1); /* only one has a stack */
    JZX_EXPECT_EQ(fixture_stats(loop).failed, 2);
    fixture_destroy(loop);
}

static struct {
    char text[8][256];
    uint32_t count;
} logged;

static void keep_line(void *ctx, jzx_log_level level, const char *text) {
    (void)ctx;
    (void)level;
    if (logged.count < 8)
        snprintf(logged.text[logged.count++], sizeof logged.text[0], "%s", text);
}

JZX_TEST(the_log_has_the_text_and_the_stack, "C20") {
    jzx_loop *loop = fixture_loop_with(
        &JZX_CONFIG(.contain = ALL, .log = {.write = keep_line, .level = JZX_LOG_WARN},
                    .workers = 1));
    jzx_actor_id id = fixture_spawn(
        loop, &JZX_SPAWN_OPTS(.behavior = fall, .state = state_of(WRITE_NULL), .name = "ann"));
    fixture_send(loop, id, GO);
    run(loop);
    assert_int_equal(logged.count, 2);
    JZX_EXPECT(strstr(logged.text[0], " ann failed: SIGSEGV at 0x0, pc 0x") != NULL);
    JZX_EXPECT(begins_with(logged.text[1], "its stack: 0x"));
    fixture_destroy(loop);
}

/* ---- in init and in cleanup ---- */

static jzx_err fall_in_init(jzx_context *ctx) {
    do_fault((enum fault)(uintptr_t)ctx->state);
    return JZX_OK;
}

static jzx_behavior_result stop(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    return JZX_BEHAVIOR_STOP;
}

static uint32_t cleanups;

static void fall_in_cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    (void)reason;
    cleanups++;
    do_fault((enum fault)(uintptr_t)ctx->state);
    cleanups += 1000;
}

JZX_TEST(a_fault_in_the_init_ends_the_actor_and_its_messages_are_dead, "C20") {
    for (uint32_t workers = 1; workers <= 2; workers++) {
        jzx_loop *loop = open_loop(workers);
        observe(loop);
        jzx_actor_id id =
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = stop, .init = fall_in_init,
                                                .state = state_of(OVERFLOW)));
        fixture_send(loop, id, GO);
        run(loop);
        JZX_EXPECT_EQ(seen.failed, 1);
        JZX_EXPECT_EQ(seen.actor, id);
        JZX_EXPECT_EQ(fixture_stats(loop).dead, 1);
        fixture_destroy(loop);
    }
}

JZX_TEST(a_fault_in_a_cleanup_ends_the_cleanup_and_the_end_goes_on, "C20") {
    static const enum fault faults[] = {WRITE_NULL, OVERFLOW};
    for (uint32_t i = 0; i < 2; i++) {
        jzx_loop *loop = open_loop(1);
        observe(loop);
        cleanups = 0;
        for (uint32_t round = 0; round < 3; round++) {
            jzx_actor_id id =
                fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = stop, .cleanup = fall_in_cleanup,
                                                    .state = state_of(faults[i])));
            fixture_send(loop, id, GO);
            run(loop);
            JZX_EXPECT_EQ(cleanups, round + 1);
            JZX_EXPECT_EQ(seen.stopped, round + 1); /* it ended as it wanted to */
        }
        JZX_EXPECT_EQ(fixture_stats(loop).exited, 3);
        JZX_EXPECT_EQ(fixture_stats(loop).failed, 0);
        /* and at destroy, where no pass is under way */
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = stop, .cleanup = fall_in_cleanup,
                                            .state = state_of(faults[i])));
        fixture_destroy(loop);
        JZX_EXPECT_EQ(cleanups, 4);
    }
}

JZX_TEST(the_stack_of_a_fault_outlives_another_in_the_cleanup, "C20") {
    jzx_loop *loop = open_loop(1);
    observe(loop);
    cleanups = 0;
    jzx_actor_id id =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = fall, .cleanup = fall_in_cleanup,
                                            .state = state_of(DIVIDE)));
    fixture_send(loop, id, GO);
    run(loop);
    JZX_EXPECT_EQ(cleanups, 1);
    JZX_EXPECT_EQ(seen.failed, 1);
    char pc[32];
    snprintf(pc, sizeof pc, "pc 0x%zx in", (size_t)(uintptr_t)seen.stack[0]);
    JZX_EXPECT(strstr(seen.detail, pc) != NULL);
    JZX_EXPECT(begins_with(seen.detail, text_of(DIVIDE)));
    fixture_destroy(loop);
}

/* ---- again and again ---- */

static uint64_t mapped_pages(void) {
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    JZX_EXPECT(file != NULL && fscanf(file, "%lu", &pages) == 1);
    if (file != NULL)
        fclose(file);
    return pages;
}

static void fault_often(enum fault fault, uint32_t times) {
    jzx_loop *loop = open_loop(1);
    uint64_t pages = 0;
    for (uint32_t i = 0; i < times; i++) {
        if (i == times / 2)
            pages = mapped_pages();
        jzx_actor_id id =
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = fall, .state = state_of(fault)));
        fixture_send(loop, id, GO);
        assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    }
    JZX_EXPECT_EQ(fixture_stats(loop).failed, times);
    if (!UNDER_SANITIZER) /* whose own books grow */
        JZX_EXPECT_EQ(mapped_pages(), pages);
    fixture_destroy(loop);
}

JZX_TEST(the_thousandth_fault_is_contained_as_the_first_and_takes_no_memory, "C20") {
    fault_often(READ_NULL, 1000);
    fault_often(DIVIDE, 1000);
    fault_often(ILLEGAL, 1000);
    fault_often(OVERFLOW, 1000);
}

JZX_TEST(threads_take_their_signal_stacks_with_them, "C20") {
    uint64_t pages = 0;
    for (uint32_t round = 0; round < 40; round++) {
        jzx_loop *loop = open_loop(4);
        for (uint32_t again = 0; again < 3; again++) {
            jzx_actor_id id =
                fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = fall, .state = state_of(OVERFLOW),
                                                    .place = JZX_PLACE_WORKER(round % 4)));
            fixture_send(loop, id, GO);
            run(loop);
        }
        JZX_EXPECT_EQ(fixture_stats(loop).failed, 3);
        fixture_destroy(loop);
        if (round == 20)
            pages = mapped_pages();
    }
    /* 20 loops of 4 stacks each would be 1280 pages and more; the arenas of malloc vary */
    if (!UNDER_SANITIZER)
        JZX_EXPECT(mapped_pages() < pages + 600);
}

/* ---- at the same time ---- */

static pthread_barrier_t together;

static jzx_behavior_result fall_together(jzx_context *ctx, const jzx_message *msg) {
    pthread_barrier_wait(&together);
    return fall(ctx, msg);
}

JZX_TEST(all_workers_may_fault_at_the_same_time, "C20") {
    static const enum fault mix[] = {READ_NULL, OVERFLOW, DIVIDE, ILLEGAL};
    enum { WORKERS = 4 };
    jzx_loop *loop = open_loop(WORKERS);
    for (uint32_t round = 0; round < 25; round++) {
        pthread_barrier_init(&together, NULL, WORKERS);
        for (uint32_t i = 0; i < WORKERS; i++) {
            enum fault fault = mix[(i + round) % WORKERS];
            jzx_actor_id id = fixture_spawn(
                loop, &JZX_SPAWN_OPTS(.behavior = fall_together, .place = JZX_PLACE_WORKER(i),
                                      .state = state_of(can_happen(fault) ? fault : READ_NULL)));
            fixture_send(loop, id, GO);
        }
        run(loop);
        pthread_barrier_destroy(&together);
    }
    JZX_EXPECT_EQ(fixture_stats(loop).failed, 25 * WORKERS);
    fixture_destroy(loop);
}

/* ---- a turn that has lost its worker ---- */

static _Atomic uint32_t relieved;

static jzx_behavior_result let_go(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    relieved = 1;
    return JZX_BEHAVIOR_STOP;
}

static jzx_behavior_result lose_and_fall(jzx_context *ctx, const jzx_message *msg) {
    jzx_actor_id waker;
    memcpy(&waker, msg->data, sizeof waker);
    JZX_EXPECT_EQ(jzx_send(ctx->loop, waker, ctx->self, NULL, 0, GO), JZX_OK);
    while (relieved == 0)
        sched_yield();
    JZX_EXPECT_EQ(jzx_current_worker(), JZX_NONE);
    return fall(ctx, msg);
}

JZX_TEST(a_fault_in_a_turn_that_has_lost_its_worker_is_contained, "C20") {
    static const enum fault faults[] = {WRITE_NULL, OVERFLOW};
    for (uint32_t i = 0; i < 8; i++) {
        uint32_t worker = i % 2;
        jzx_loop *loop = fixture_loop_with(
            &JZX_CONFIG(.workers = 2, .contain = ALL, .stall_after_ns = JZX_MS(5)));
        observe(loop);
        relieved = 0;
        jzx_actor_id waker = fixture_spawn(
            loop, &JZX_SPAWN_OPTS(.behavior = let_go, .place = JZX_PLACE_WORKER(worker)));
        jzx_actor_id id = fixture_spawn(
            loop, &JZX_SPAWN_OPTS(.behavior = lose_and_fall, .place = JZX_PLACE_WORKER(worker),
                                  .state = state_of(faults[i / 2 % 2])));
        assert_int_equal(jzx_send(loop, id, JZX_NOBODY, &waker, sizeof waker, GO), JZX_OK);
        run(loop);
        JZX_EXPECT_EQ(seen.failed, 1);
        JZX_EXPECT_EQ(seen.actor, id);
        JZX_EXPECT(begins_with(seen.detail, text_of(faults[i / 2 % 2])));
        fixture_destroy(loop);
    }
}

/* ---- loops in loops ---- */

static jzx_behavior_result fall_in_inner_loop(jzx_context *ctx, const jzx_message *msg) {
    jzx_loop *inner = open_loop(1);
    for (uint32_t i = 0; i < 2; i++) {
        jzx_actor_id id =
            fixture_spawn(inner, &JZX_SPAWN_OPTS(.behavior = fall, .state = state_of(OVERFLOW)));
        fixture_send(inner, id, GO);
        JZX_EXPECT_EQ(jzx_loop_run(inner), JZX_OK);
    }
    JZX_EXPECT_EQ(fixture_stats(inner).failed, 2);
    fixture_destroy(inner);
    return fall(ctx, msg); /* and then the outer one, on its own signal stack */
}

JZX_TEST(each_of_two_nested_loops_contains_its_own_faults, "C20") {
    for (uint32_t i = 0; i < 4; i++) {
        jzx_loop *loop = open_loop(2);
        jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = fall_in_inner_loop,
                                                              .state = state_of(OVERFLOW),
                                                              .place = JZX_PLACE_WORKER(i % 2)));
        fixture_send(loop, id, GO);
        run(loop);
        JZX_EXPECT_EQ(fixture_stats(loop).failed, 1);
        fixture_destroy(loop);
    }
}

/* ---- the thread is as it was ---- */

struct thread_state {
    int rounding;
    sigset_t mask;
};

static jzx_behavior_result spoil_and_fall(jzx_context *ctx, const jzx_message *msg) {
    fesetround(FE_UPWARD);
    feenableexcept(FE_DIVBYZERO);
    volatile double divisor = 0;
    volatile double quotient = 1.0 / divisor;
    (void)quotient;
    return fall(ctx, msg);
}

static jzx_behavior_result look_around(jzx_context *ctx, const jzx_message *msg) {
    struct thread_state *self = ctx->state;
    (void)msg;
    self->rounding = fegetround();
    volatile double divisor = 0;
    volatile double quotient = 1.0 / divisor; /* does not trap any more */
    JZX_EXPECT(quotient > 1);
    pthread_sigmask(SIG_SETMASK, NULL, &self->mask);
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(a_contained_fault_leaves_mask_and_floating_point_as_they_were, "C20") {
    struct thread_state state = {0};
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR2);
    sigaddset(&blocked, SIGSEGV); /* a program that blocks all signals is guarded, too */
    pthread_sigmask(SIG_BLOCK, &blocked, NULL);
    fesetround(FE_DOWNWARD);
    jzx_loop *loop = open_loop(1);
    jzx_actor_id spoiler = fixture_spawn(
        loop, &JZX_SPAWN_OPTS(.behavior = spoil_and_fall, .state = state_of(READ_NULL)));
    jzx_actor_id next =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = look_around, .state = &state));
    fixture_send(loop, spoiler, GO);
    fixture_send(loop, next, GO);
    run(loop);
    JZX_EXPECT_EQ(state.rounding, FE_DOWNWARD);
    JZX_EXPECT_EQ(sigismember(&state.mask, SIGUSR2), 1);
    JZX_EXPECT_EQ(sigismember(&state.mask, SIGSEGV), 0);
    JZX_EXPECT_EQ(sigismember(&state.mask, SIGTERM), 0);
    fixture_destroy(loop);
    pthread_sigmask(SIG_SETMASK, NULL, &state.mask);
    JZX_EXPECT_EQ(sigismember(&state.mask, SIGSEGV), 1); /* as it was */
    fesetround(FE_TONEAREST);
}

JZX_TEST(the_signal_stack_of_the_caller_is_put_back, "C20") {
    static char memory[65536];
    stack_t mine = {.ss_sp = memory, .ss_size = sizeof memory};
    stack_t before;
    stack_t after;
    assert_int_equal(sigaltstack(&mine, &before), 0);
    jzx_loop *loop = open_loop(1);
    jzx_actor_id id =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = fall, .state = state_of(OVERFLOW)));
    fixture_send(loop, id, GO);
    run(loop);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    assert_int_equal(sigaltstack(NULL, &after), 0);
    JZX_EXPECT_EQ(after.ss_sp, memory);
    JZX_EXPECT_EQ(after.ss_size, sizeof memory);
    fixture_destroy(loop);
    assert_int_equal(sigaltstack(&before, NULL), 0);
}

/* ---- configuration ---- */

JZX_TEST(unknown_flags_are_refused_by_name, "C20") {
    const char *field = NULL;
    for (uint32_t contain = 0; contain <= ALL; contain++) {
        jzx_config config = JZX_CONFIG(.contain = contain);
        JZX_EXPECT_EQ(jzx_config_check(&config, &field), JZX_OK);
    }
    jzx_config config = JZX_CONFIG(.contain = ALL + 1);
    JZX_EXPECT_EQ(jzx_config_check(&config, &field), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(strcmp(field == NULL ? "" : field, "contain"), 0);
    JZX_EXPECT(jzx_loop_create(&config) == NULL);
}

/* ---- in calls that have no bracket ---- */

JZX_SHARED_POOL(counter, struct worker_bee)

enum call { ADD, READ, WRITE, REMOVE, NEXT, CALLS };

static jzx_pool *shared;
static jzx_ref target;

/* A pointer to nowhere for the value. */
static jzx_behavior_result fault_in_call(jzx_context *ctx, const jzx_message *msg) {
    void *nowhere = (void *)(uintptr_t)64;
    uint64_t version = 0;
    jzx_ref ref = JZX_NO_REF;
    (void)msg;
    jzx_test_ran();
    switch ((enum call)(uintptr_t)ctx->state) {
    case ADD: (void)jzx_pool_add(shared, nowhere, &ref); break;
    case READ: (void)jzx_pool_read(shared, target, nowhere, &version); break;
    case WRITE: (void)jzx_pool_write(shared, target, nowhere, &version); break;
    case REMOVE: (void)jzx_pool_remove(shared, target, nowhere, NULL); break;
    default: (void)jzx_pool_read_next(shared, &ref, nowhere, &version); break;
    }
    JZX_EXPECT(false && "it goes on");
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(a_fault_in_a_call_of_a_shared_pool_leaves_it_to_others, "E+pool") {
    if (UNDER_SANITIZER)
        skip(); /* they end the process for it */
    counter_pool *pool = NULL;
    counter_ref ref = {JZX_NO_REF};
    struct worker_bee value = {.seen = 7};
    assert_int_equal(counter_pool_create(4, NULL, &pool), JZX_OK);
    assert_int_equal(counter_pool_new(pool, &value, &ref), JZX_OK);
    shared = (jzx_pool *)(void *)pool;
    target = ref.ref;
    jzx_loop *loop = open_loop(1);
    for (uintptr_t call = 0; call < CALLS; call++) {
        jzx_actor_id id =
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = fault_in_call, .state = (void *)call));
        fixture_send(loop, id, 1);
    }
    run(loop);
    assert_int_equal(jzx_test_runs(), CALLS);
    assert_true(counter_pool_get(pool, ref, &value)); /* the lock is free */
    assert_int_equal(value.seen, 7);
    fixture_destroy(loop);
    assert_int_equal(counter_pool_destroy(pool), JZX_OK);
}
