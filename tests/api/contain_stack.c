/* SPDX-License-Identifier: MIT */
/* Behaviours that run on small stacks of their own, as coroutine libraries do: their faults are
 * contained, and signal handlers of the library do not run there. */
#include "faults.h"
#include "fixture.h"

#include <pthread.h>
#include <signal.h>
#include <ucontext.h>

#define ALL (JZX_CONTAIN_OVERFLOW | JZX_CONTAIN_FAULTS)
#define SMALL 16384u /* bytes of a stack */

enum { GO = 1 };

static void run(jzx_loop *loop) {
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
}

/* ---- stacks ---- */

enum place { ANYWHERE, ABOVE }; /* the stack of the thread */

/* With a page below it that nobody may touch. */
static unsigned char *map_stack(enum place place) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *memory = MAP_FAILED;
    uintptr_t here = (uintptr_t)__builtin_frame_address(0) & ~(uintptr_t)(page - 1);
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    for (uint32_t i = 1; place == ABOVE && i < 4096 && memory == MAP_FAILED; i++)
        memory = mmap((void *)(here + i * ((uintptr_t)4 << 20)), page + SMALL,
                      PROT_READ | PROT_WRITE, flags | MAP_FIXED_NOREPLACE, -1, 0);
    if (place == ANYWHERE)
        memory = mmap(NULL, page + SMALL, PROT_READ | PROT_WRITE, flags, -1, 0);
    assert_true(memory != MAP_FAILED);
    assert_int_equal(mprotect(memory, page, PROT_NONE), 0);
    return memory + page;
}

static void unmap_stack(unsigned char *stack) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    assert_int_equal(munmap(stack - page, page + SMALL), 0);
}

/* What an actor has on its own stack. */
struct own {
    enum fault fault;
    enum place place;
    unsigned char *stack;
    ucontext_t here;
    ucontext_t there;
    uint32_t ended;
    jzx_exit_reason reason;
};

static struct own *volatile running; /* where the function on the stack finds it */

static void run_on_own_stack(struct own *self, void (*function)(void)) {
    if (self->stack == NULL)
        self->stack = map_stack(self->place);
    assert_int_equal(getcontext(&self->there), 0);
    self->there.uc_stack.ss_sp = self->stack;
    self->there.uc_stack.ss_size = SMALL;
    self->there.uc_link = &self->here;
    makecontext(&self->there, function, 0);
    running = self;
    assert_int_equal(swapcontext(&self->here, &self->there), 0);
}

/* ---- faults ---- */

static struct {
    pthread_mutex_t lock;
    char detail[JZX_EXIT_TEXT_MAX + 1];
    size_t stack_count;
} seen = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void on_event(void *ctx, const jzx_event *event) {
    (void)ctx;
    pthread_mutex_lock(&seen.lock);
    if (event->kind == JZX_EVENT_ACTOR_FAIL) {
        snprintf(seen.detail, sizeof seen.detail, "%s", event->detail);
        seen.stack_count = event->stack_count;
    }
    pthread_mutex_unlock(&seen.lock);
}

static AS_IT_IS void fall(void) {
    do_fault(running->fault);
    abort();
}

static jzx_behavior_result fall_on_own_stack(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    run_on_own_stack(ctx->state, fall);
    JZX_EXPECT(false && "it goes on");
    return JZX_BEHAVIOR_STOP;
}

static void note_end(jzx_context *ctx, jzx_exit_reason reason) {
    struct own *self = ctx->state;
    self->ended++;
    self->reason = reason;
}

static jzx_behavior_result answer_pings(jzx_context *ctx, const jzx_message *msg) {
    uint32_t *count = ctx->state;
    (void)msg;
    return ++*count == 2 ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

/* Another actor of the same worker is served before and after. */
static void contain_one(uint32_t worker, enum fault fault, enum place place) {
    struct own self = {.fault = fault, .place = place};
    uint32_t pings = 0;
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = worker + 1, .contain = ALL));
    assert_non_null(loop);
    assert_int_equal(jzx_loop_set_observer(loop, &JZX_OBSERVER(.on_event = on_event), NULL),
                     JZX_OK);
    jzx_actor_id other =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = answer_pings, .state = &pings,
                                            .place = JZX_PLACE_WORKER(worker)));
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = fall_on_own_stack,
                                                          .state = &self, .cleanup = note_end,
                                                          .place = JZX_PLACE_WORKER(worker)));
    fixture_send(loop, other, GO);
    fixture_send(loop, id, GO);
    fixture_send(loop, other, GO);
    run(loop);
    JZX_EXPECT_EQ(pings, 2);
    JZX_EXPECT_EQ(self.ended, 1);
    JZX_EXPECT_EQ(self.reason, JZX_EXIT_FAULT);
    JZX_EXPECT_EQ(strncmp(seen.detail, text_of(fault), strlen(text_of(fault))), 0);
    JZX_EXPECT(seen.stack_count >= 2);
    fixture_destroy(loop);
    unmap_stack(self.stack);
}

JZX_TEST(faults_on_a_small_stack_of_the_program_are_contained, "C20") {
    for (enum fault fault = 0; fault < FAULT_COUNT; fault++) {
        if (!can_happen(fault))
            continue;
        contain_one(0, fault, ANYWHERE);
        contain_one(1, fault, ANYWHERE);
        contain_one(1, fault, ABOVE);
    }
}

/* Again and again on one thread: nothing of its own stack is used up. */
JZX_TEST(many_faults_on_small_stacks_leave_the_stack_of_the_thread_as_it_was, "C20") {
    enum { TIMES = 300 };
    static struct own selves[2];
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1, .contain = ALL));
    assert_non_null(loop);
    selves[0] = (struct own){.fault = WRITE_NULL};
    selves[1] = (struct own){.fault = OVERFLOW};
    for (uint32_t i = 0; i < TIMES; i++) {
        jzx_actor_id id =
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = fall_on_own_stack,
                                                .state = &selves[i % 2], .cleanup = note_end));
        fixture_send(loop, id, GO);
        assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    }
    JZX_EXPECT_EQ(fixture_stats(loop).failed, TIMES);
    JZX_EXPECT_EQ(selves[0].ended + selves[1].ended, TIMES);
    fixture_destroy(loop);
    unmap_stack(selves[0].stack);
    unmap_stack(selves[1].stack);
}

static jzx_behavior_result stop(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    return JZX_BEHAVIOR_STOP;
}

static void fall_in_cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    note_end(ctx, reason);
    run_on_own_stack(ctx->state, fall);
    JZX_EXPECT(false && "it goes on");
}

JZX_TEST(a_cleanup_on_a_small_stack_is_left_and_the_end_goes_on, "C20") {
    static const enum fault faults[] = {WRITE_NULL, OVERFLOW};
    for (uint32_t i = 0; i < 2; i++) {
        struct own self = {.fault = faults[i]};
        jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1, .contain = ALL));
        assert_non_null(loop);
        jzx_actor_id id = fixture_spawn(
            loop, &JZX_SPAWN_OPTS(.behavior = stop, .state = &self, .cleanup = fall_in_cleanup));
        fixture_send(loop, id, GO);
        run(loop);
        JZX_EXPECT_EQ(self.ended, 1);
        JZX_EXPECT_EQ(self.reason, JZX_EXIT_NORMAL);
        fixture_destroy(loop);
        unmap_stack(self.stack);
    }
}

/* ---- the stall signal ---- */

static _Atomic uint32_t stalls;
static _Atomic size_t shown; /* of the stack, at the last stall that showed one */

static void on_stall(void *ctx, const jzx_event *event) {
    (void)ctx;
    if (event->kind != JZX_EVENT_STALL)
        return;
    if (event->stack_count != 0)
        shown = event->stack_count;
    stalls++;
}

/* All but two kilobytes of the stack are used: no handler could run there. */
static AS_IT_IS void wait_with_little_room(void) {
    volatile char used[SMALL - 2048];
    used[0] = 1;
    used[sizeof used - 1] = 1;
    while (stalls == 0)
        continue;
    sink = used[0] + used[sizeof used - 1];
}

/* A sanitizer delays signals until the thread calls something. */
static bool shows_stacks(void) {
#if defined(__GLIBC__)
    return !UNDER_SANITIZER;
#else
    return false;
#endif
}

/* Until the handler has run: a busy machine may not run it in time. */
static jzx_behavior_result stall_on_own_stack(jzx_context *ctx, const jzx_message *msg) {
    struct own *self = ctx->state;
    (void)msg;
    stalls = 0;
    run_on_own_stack(self, wait_with_little_room);
    self->ended++;
    if (shown != 0 || !shows_stacks())
        return JZX_BEHAVIOR_STOP;
    fixture_send(ctx->loop, ctx->self, GO);
    return JZX_BEHAVIOR_OK;
}

/* On the thread of the caller, and on one of the loop's. */
static void stall_with(uint32_t worker, uint32_t contain, uint32_t spares) {
    struct own self = {.place = ANYWHERE};
    shown = 0;
    jzx_loop *loop = fixture_loop_with(
        &JZX_CONFIG(.workers = 2, .contain = contain, .stall_after_ns = JZX_MS(10),
                    .stall_signal = SIGRTMIN + 3, .spare_threads_max = spares));
    assert_non_null(loop);
    assert_int_equal(jzx_loop_set_observer(loop, &JZX_OBSERVER(.on_event = on_stall), NULL),
                     JZX_OK);
    jzx_actor_id id =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = stall_on_own_stack, .state = &self,
                                            .place = JZX_PLACE_WORKER(worker)));
    fixture_send(loop, id, GO);
    run(loop);
    JZX_EXPECT(self.ended >= 1);
    fixture_destroy(loop);
    unmap_stack(self.stack);
}

JZX_TEST(the_stall_signal_does_not_use_the_stack_of_the_behaviour) {
    for (uint32_t worker = 0; worker < 2; worker++) {
        stall_with(worker, 0, 0);
        stall_with(worker, 0, JZX_NONE);
        stall_with(worker, ALL, 0);
    }
}

/* Every thread has it, the substitutes, too, and the caller has its own back. */
static _Atomic uint32_t without_stack;

static jzx_behavior_result look_at_sigstack(jzx_context *ctx, const jzx_message *msg) {
    stack_t stack;
    (void)ctx;
    (void)msg;
    assert_int_equal(sigaltstack(NULL, &stack), 0);
    without_stack += (stack.ss_flags & SS_DISABLE) != 0 || stack.ss_size < 65536;
    return JZX_BEHAVIOR_STOP;
}

static _Atomic bool has_looked;

static jzx_behavior_result look_and_let_go(jzx_context *ctx, const jzx_message *msg) {
    (void)look_at_sigstack(ctx, msg);
    has_looked = true;
    return JZX_BEHAVIOR_STOP;
}

static jzx_behavior_result wait_for_look(jzx_context *ctx, const jzx_message *msg) {
    jzx_actor_id other;
    memcpy(&other, msg->data, sizeof other);
    fixture_send(ctx->loop, other, GO);
    while (!has_looked)
        sched_yield();
    return look_at_sigstack(ctx, msg);
}

JZX_TEST(every_thread_that_may_be_signalled_has_a_signal_stack_during_the_run) {
    static char memory[65536];
    stack_t mine = {.ss_sp = memory, .ss_size = sizeof memory};
    stack_t before;
    stack_t after;
    assert_int_equal(sigaltstack(&mine, &before), 0);
    for (uint32_t worker = 0; worker < 2; worker++) {
        has_looked = false;
        jzx_loop *loop = fixture_loop_with(
            &JZX_CONFIG(.workers = 2, .stall_after_ns = JZX_MS(10), .stall_signal = SIGRTMIN + 3));
        assert_non_null(loop);
        jzx_actor_id other = fixture_spawn(
            loop, &JZX_SPAWN_OPTS(.behavior = look_and_let_go, .place = JZX_PLACE_WORKER(worker)));
        jzx_actor_id id = fixture_spawn(
            loop, &JZX_SPAWN_OPTS(.behavior = wait_for_look, .place = JZX_PLACE_WORKER(worker)));
        assert_int_equal(jzx_send(loop, id, JZX_NOBODY, &other, sizeof other, GO), JZX_OK);
        run(loop);
        fixture_destroy(loop);
        assert_int_equal(sigaltstack(NULL, &after), 0);
        JZX_EXPECT(after.ss_sp == (void *)memory && after.ss_size == sizeof memory);
    }
    JZX_EXPECT_EQ(without_stack, 0);
    assert_int_equal(sigaltstack(&before, NULL), 0);
}
