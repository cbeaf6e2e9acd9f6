/* SPDX-License-Identifier: MIT */
/* Coroutines, choices, and the depth-first search over them. */
#include "engine.h"

#include "memory.h"
#include "sites.h"
#include "system.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>

#define STACK_SIZE ((size_t)128 * 1024)
#define CHOICES_MAX 2048
#define LOCALS_MAX 4
#define LOCAL_SIZE 16
#define ARENA_SIZE ((size_t)64 * 1024)
#define GARBAGE 0xDB
#define HANG_SECONDS 5

enum thread_state { READY, BLOCKED, YIELDED, DONE };

struct thread {
    ucontext_t context;
    enum thread_state state;
    bool may_sleep;          /* when all others have ended */
    bool is_held_back;       /* E6 */
    struct engine_step step; /* the step at which it was preempted, while it is held back */
    const volatile void *blocked_at;
    uint64_t looked; /* stores that were there when it was last sure to see all */
    unsigned char locals[LOCALS_MAX][LOCAL_SIZE];
};

/* A choice that was made: the option and how many there were. */
struct choice {
    uint8_t taken;
    uint8_t count;
};

static struct {
    const struct model_scenario *scenario;
    struct model_result *result;
    ucontext_t home; /* the explorer; an execution that has ended or failed goes there */
    struct thread threads[MODEL_THREADS_MAX];
    unsigned thread_count;
    unsigned current;
    bool running; /* an execution is under way */
    bool full;    /* E6 is off */

    struct choice choices[CHOICES_MAX]; /* a path in the tree of choices */
    bool is_cut;                        /* this execution was given up (E6) */
    size_t depth;                       /* choices made in this execution */
    size_t known;                       /* choices that are replayed at its beginning */
    struct model_bounds left;           /* what is left of the bounds in this execution */
    unsigned steps;
    uint64_t stores;

    struct {
        void *variable;
        size_t size;
    } locals[LOCALS_MAX];
    size_t local_count;
    size_t arena_used;
    const char *mutant;
    volatile sig_atomic_t hang_ticks;
} engine;

static _Alignas(64) unsigned char arena[ARENA_SIZE];
static _Alignas(64) unsigned char stacks[MODEL_THREADS_MAX][STACK_SIZE];
static unsigned char signal_stack[64 * 1024];

/* ---- failing ---- */

static _Noreturn void go_home(void) {
    setcontext(&engine.home);
    abort(); /* not reached */
}

void model_fail(const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(engine.result->why, sizeof engine.result->why, format, args);
    va_end(args);
    engine.result->failed = true;
    if (!engine.running) {
        fprintf(stderr, "jzx_model: %s\n", engine.result->why);
        abort();
    }
    go_home();
}

/* The library's asserts end here as well, in place of src/base/assert.c. */
_Noreturn void jzx__assert_failed(const char *file, int line, const char *text);
void jzx__assert_failed(const char *file, int line, const char *text) {
    model_fail("%s:%d: invariant does not hold: %s", file, line, text);
}

_Noreturn void jzx__wrong_use(const char *text);
void jzx__wrong_use(const char *text) {
    jzx__assert_failed("wrong use", 0, text);
}

/* Weakened code may follow pointers to nowhere, or lists without end: that is a failure of the
 * execution, not of the program. */
static void on_signal(int number) {
    if (number == SIGPROF && (!engine.running || ++engine.hang_ticks < HANG_SECONDS))
        return;
    if (!engine.running)
        abort();
    model_fail(number == SIGPROF ? "an execution does not end" : "a bad address was used");
}

static void catch_signals(void) {
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGPROF};
    stack_t stack = {.ss_sp = signal_stack, .ss_size = sizeof signal_stack};
    sigaltstack(&stack, NULL);
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK | SA_RESTART};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaction(numbers[i], &action, NULL);
    struct itimerval every_second = {{1, 0}, {1, 0}};
    setitimer(ITIMER_PROF, &every_second, NULL); /* of CPU time, as on a busy machine one waits */
}

/* ---- choices ---- */

unsigned engine_choose(unsigned count) {
    if (count <= 1)
        return 0;
    if (engine.depth == CHOICES_MAX || count > UINT8_MAX)
        model_fail("more than %d choices, or %u options", CHOICES_MAX, count);
    struct choice *choice = &engine.choices[engine.depth];
    if (engine.depth++ < engine.known) {
        if (choice->count != count && choice->count != 0)
            model_fail("the scenario does not replay: %u options, %u before", count,
                       (unsigned)choice->count); /* E1 */
        if (choice->taken >= count)
            model_fail("no such choice");
    } else {
        choice->taken = 0;
    }
    choice->count = (uint8_t)count;
    return choice->taken;
}

static unsigned choose_within(unsigned count, unsigned *left) {
    unsigned taken = *left == 0 ? 0 : engine_choose(count);
    if (taken != 0)
        --*left;
    return taken;
}

unsigned engine_choose_stale(unsigned count) {
    return choose_within(count, &engine.left.stale);
}

unsigned engine_choose_spurious(unsigned count) {
    return choose_within(count, &engine.left.spurious);
}

/* Goes on to the next path: the last choice that has another option takes it. False if none has. */
static bool next_path(void) {
    size_t depth = engine.depth;
    while (depth > 0) {
        struct choice *choice = &engine.choices[depth - 1];
        if (choice->taken + 1u < choice->count) {
            choice->taken++;
            engine.known = depth;
            return true;
        }
        depth--;
    }
    return false;
}

/* ---- threads ---- */

unsigned model_self(void) {
    return engine.current;
}

static bool can_go_on(const struct thread *thread) {
    return thread->state == READY || (thread->state == YIELDED && thread->looked < engine.stores);
}

static void swap_locals(unsigned from, unsigned to) {
    for (size_t i = 0; i < engine.local_count; i++) {
        void *variable = engine.locals[i].variable;
        memcpy(engine.threads[from].locals[i], variable, engine.locals[i].size);
        memcpy(variable, engine.threads[to].locals[i], engine.locals[i].size);
    }
}

static void switch_to(unsigned to) {
    unsigned from = engine.current;
    if (from == to)
        return;
    swap_locals(from, to);
    engine.current = to;
    swapcontext(&engine.threads[from].context, &engine.threads[to].context);
}

void model_may_sleep(void) {
    engine.threads[engine.current].may_sleep = true;
}

static bool all_may_sleep(void) {
    for (unsigned i = 1; i < engine.thread_count; i++) {
        const struct thread *thread = &engine.threads[i];
        if (thread->state != DONE && !(thread->state == BLOCKED && thread->may_sleep))
            return false;
    }
    return true;
}

static _Noreturn void fail_stuck(void) {
    char who[200] = "";
    size_t used = 0;
    for (unsigned i = 1; i < engine.thread_count; i++) {
        const struct thread *thread = &engine.threads[i];
        if (thread->state != DONE && used < sizeof who - 32)
            used += (size_t)snprintf(who + used, sizeof who - used, " T%u %s", i,
                                     thread->state == BLOCKED ? "sleeps" : "waits in a loop");
    }
    model_fail("nobody can go on:%s", who); /* E4 */
}

static bool commute(struct engine_step one, struct engine_step other) {
    if (one.address == NULL || other.address == NULL)
        return false;
    return one.address != other.address || (one.is_load && other.is_load);
}

/* The running thread takes this step: who was held back for want of it may go on (E6). */
static void note_step(struct engine_step step) {
    for (unsigned i = 0; i < engine.thread_count; i++) {
        struct thread *thread = &engine.threads[i];
        if (thread->is_held_back && !commute(thread->step, step))
            thread->is_held_back = false;
    }
}

static _Noreturn void cut(void) {
    engine.is_cut = true;
    go_home();
}

static bool nobody_is_held_back(void) {
    for (unsigned i = 0; i < engine.thread_count; i++) {
        if (engine.threads[i].is_held_back)
            return false;
    }
    return true;
}

/* Chooses who goes on. The running thread comes first, if it can. */
static void pick_next(void) {
    unsigned options[MODEL_THREADS_MAX];
    unsigned count = 0;
    if (can_go_on(&engine.threads[engine.current]))
        options[count++] = engine.current;
    bool is_preemption = count != 0;
    if (is_preemption && engine.left.preemptions == 0)
        return;
    for (unsigned i = 0; i < engine.thread_count; i++) {
        const struct thread *thread = &engine.threads[i];
        if (i != engine.current && can_go_on(thread) && !thread->is_held_back)
            options[count++] = i;
    }
    if (count == 0) {
        if (!nobody_is_held_back())
            cut();
        if (!all_may_sleep())
            fail_stuck();
        engine.threads[0].state = READY; /* it checks what was done */
        options[count++] = 0;
    }
    unsigned taken = engine_choose(count);
    if (is_preemption && taken != 0) {
        engine.left.preemptions--;
        engine.threads[engine.current].is_held_back = !engine.full;
    }
    switch_to(options[taken]);
}

void engine_point(struct engine_step step) {
    if (engine.current == 0)
        return; /* setup and check are alone */
    if (++engine.steps > MODEL_STEPS_MAX)
        model_fail("more than %u operations", MODEL_STEPS_MAX); /* E5 */
    engine.threads[engine.current].step = step;
    pick_next();
    note_step(step);
}

void engine_block(const volatile void *address) {
    struct thread *me = &engine.threads[engine.current];
    me->state = BLOCKED;
    me->blocked_at = address;
    pick_next();
}

void engine_unblock(const volatile void *address, unsigned max) {
    for (unsigned i = 0; i < engine.thread_count && max > 0; i++) {
        struct thread *thread = &engine.threads[i];
        if (thread->state == BLOCKED && thread->blocked_at == address) {
            thread->state = READY;
            max--;
        }
    }
}

void engine_stored(void) {
    engine.stores++;
}

void model_yield(void) {
    struct thread *me = &engine.threads[engine.current];
    if (++engine.steps > MODEL_STEPS_MAX)
        model_fail("more than %u operations", MODEL_STEPS_MAX); /* E5 */
    me->state = YIELDED;
    pick_next();
    note_step((struct engine_step){.address = NULL}); /* it sees the stores of all */
    me->state = READY;
    me->looked = engine.stores;
    memory_refresh(engine.current);
}

void model_thread_local(void *variable, size_t size) {
    MODEL_ASSERT(engine.local_count < LOCALS_MAX && size <= LOCAL_SIZE);
    engine.locals[engine.local_count].variable = variable;
    engine.locals[engine.local_count++].size = size;
    memset(variable, 0, size);
}

/* ---- an execution ---- */

static void thread_main(void) {
    engine.scenario->threads[engine.current - 1]();
    engine.threads[engine.current].state = DONE;
    pick_next(); /* does not come back */
}

static void start_thread(unsigned number, void (*entry)(void)) {
    struct thread *thread = &engine.threads[number];
    memset(thread->locals, 0, sizeof thread->locals);
    thread->state = READY;
    thread->may_sleep = false;
    thread->is_held_back = false;
    thread->looked = 0;
    getcontext(&thread->context);
    thread->context.uc_stack.ss_sp = stacks[number];
    thread->context.uc_stack.ss_size = STACK_SIZE;
    thread->context.uc_link = &engine.home;
    makecontext(&thread->context, entry, 0);
}

/* Thread 0. */
static void scenario_main(void) {
    const struct model_scenario *scenario = engine.scenario;
    if (scenario->setup != NULL)
        scenario->setup();
    for (unsigned i = 1; i < MODEL_THREADS_MAX && scenario->threads[i - 1] != NULL; i++) {
        start_thread(i, thread_main);
        memory_fork(0, i);
        engine.thread_count++;
    }
    engine_block(&engine);
    for (unsigned i = 1; i < engine.thread_count; i++)
        memory_join(0, i);
    if (scenario->check != NULL)
        scenario->check();
}

static void run_once(const struct model_bounds *bounds) {
    const struct model_scenario *scenario = engine.scenario;
    if (scenario->state != NULL)
        memset(scenario->state, 0, scenario->state_size);
    memory_reset();
    model_fds_reset();
    model_trace_clear();
    memset(arena, GARBAGE, engine.arena_used);
    engine.arena_used = 0;
    engine.local_count = 0;
    engine.thread_count = 1;
    engine.current = 0;
    engine.depth = 0;
    engine.steps = 0;
    engine.stores = 1;
    engine.left = *bounds;
    engine.hang_ticks = 0;
    engine.is_cut = false;
    engine.running = true;
    start_thread(0, scenario_main);
    swapcontext(&engine.home, &engine.threads[0].context);
    engine.running = false;
}

/* ---- exploring ---- */

static void write_replay(struct model_result *result) {
    size_t used = 0;
    size_t depth = engine.depth;
    while (depth > 1 && engine.choices[depth - 1].taken == 0)
        depth--; /* what is not replayed takes option 0 */
    result->replay[0] = '\0';
    for (size_t i = 0; i < depth && used < sizeof result->replay - 8; i++)
        used += (size_t)snprintf(result->replay + used, sizeof result->replay - used, "%s%u",
                                 i == 0 ? "" : ".", (unsigned)engine.choices[i].taken);
}

static void read_replay(const char *replay) {
    char *end;
    while (*replay != '\0' && engine.known < CHOICES_MAX) {
        engine.choices[engine.known].taken = (uint8_t)strtoul(replay, &end, 10);
        engine.choices[engine.known++].count = 0;
        replay = *end == '.' ? end + 1 : end;
        if (*end != '.')
            return;
    }
}

/* What was seen against what must be seen. */
static void compare_outcomes(const struct model_scenario *scenario, struct model_result *result) {
    uint64_t missing = scenario->outcomes & ~result->outcomes;
    if (result->failed || result->limited || missing == 0)
        return;
    result->failed = true;
    model_trace_clear();
    snprintf(result->why, sizeof result->why, "never seen: the outcomes %#llx",
             (unsigned long long)missing);
}

void model_outcome(unsigned number) {
    uint64_t bit = (uint64_t)1 << number;
    engine.result->outcomes |= bit;
    if (engine.scenario->outcomes != 0 && (engine.scenario->outcomes & bit) == 0)
        model_fail("outcome %u must not be seen", number);
}

static void take_default(unsigned *bound, unsigned of_scenario, unsigned usual) {
    if (*bound == 0)
        *bound = of_scenario != 0 ? of_scenario : usual;
    if (*bound == MODEL_NONE)
        *bound = 0;
}

void model_explore(const struct model_scenario *scenario, const struct model_bounds *bounds,
                   const char *replay, uint64_t executions_max, struct model_result *result) {
    static const struct model_bounds usual = MODEL_DEFAULT_BOUNDS;
    struct model_bounds wanted = *bounds;
    take_default(&wanted.preemptions, scenario->bounds.preemptions, usual.preemptions);
    take_default(&wanted.stale, scenario->bounds.stale, usual.stale);
    take_default(&wanted.spurious, scenario->bounds.spurious, usual.spurious);
    memset(result, 0, sizeof *result);
    engine.scenario = scenario;
    engine.result = result;
    engine.known = 0;
    engine.arena_used = ARENA_SIZE;
    catch_signals();
    if (replay != NULL)
        read_replay(replay);
    do {
        run_once(&wanted);
        *(engine.is_cut ? &result->cut : &result->executions) += 1;
        if (result->failed) {
            write_replay(result);
            return;
        }
        if (executions_max != 0 && result->executions + result->cut >= executions_max)
            result->limited = true;
    } while (replay == NULL && !result->limited && next_path());
    if (replay == NULL)
        compare_outcomes(scenario, result);
}

/* ---- the rest of what scenarios use ---- */

void *model_alloc(size_t size) {
    size_t rounded = (size + 63) & ~(size_t)63;
    if (rounded > ARENA_SIZE - engine.arena_used)
        return NULL;
    void *block = arena + engine.arena_used;
    engine.arena_used += rounded;
    return block;
}

void model_set_full(bool full) {
    engine.full = full;
}

void model_set_mutant(const char *name) {
    engine.mutant = name;
}

bool model_mutant(const char *name) {
    return engine.mutant != NULL && strcmp(engine.mutant, name) == 0;
}
