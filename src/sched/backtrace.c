/* SPDX-License-Identifier: MIT */
/* The stack of another thread, by a signal. See sched/backtrace.h. */
#include "sched/backtrace.h"

#include "base/futex.h"
#include "sched/sched.h"

#include <pthread.h>
#include <signal.h>

#if defined(__GLIBC__)
#include <execinfo.h>
#endif

/* How long to wait for the stack of a thread. */
#define STACK_WAIT_NS 10000000u
#define STACK_LOOK_NS 100000u

#define SIGNAL_MAX 64

/* The thread that is asked for its stack, by one watchdog of the process at a time. */
static _Atomic(struct jzx__thread *) asked;

static void answer(int signal_number) {
    (void)signal_number;
    /* acquire: pairs with the release in ask */
    struct jzx__thread *thread = jzx__atomic_load_acquire(&asked);
    if (thread == NULL || !pthread_equal(thread->handle, pthread_self()))
        return;
#if defined(__GLIBC__)
    int count = backtrace(thread->stack, (int)JZX__STACK_MAX);
    thread->stack_count = count > 0 ? (uint32_t)count : 0;
#endif
    /* release: pairs with the acquire in ask; publishes the stack */
    jzx__atomic_store_release(&thread->stack_state, 1u);
}

void jzx__backtrace_ask(struct jzx__sched *sched, struct jzx__thread *thread) {
    struct jzx__thread *nobody = NULL;
    thread->stack_count = 0;
    /* relaxed: not asked yet */
    jzx__atomic_store_relaxed(&thread->stack_state, 0u);
    /* release: pairs with the acquire in answer */
    if (!sched->crew.is_signal_set || !jzx__atomic_cas_strong_seq_cst(&asked, &nobody, thread))
        return;
    bool answered = false;
    if (pthread_kill(thread->handle, sched->crew.stall_signal) == 0) {
        for (uint64_t waited = 0; waited < STACK_WAIT_NS && !answered; waited += STACK_LOOK_NS) {
            jzx__futex_wait(&thread->stack_state, 0, STACK_LOOK_NS);
            /* acquire: pairs with the release in answer */
            answered = jzx__atomic_load_acquire(&thread->stack_state) != 0;
        }
    }
    if (!answered)
        thread->stack_count = 0;
    /* release: pairs with the exchange of the next watchdog */
    jzx__atomic_store_release(&asked, NULL);
}

/* Several loops may use one signal: the first installs the handler, the last puts back what was
 * there. */
static struct {
    pthread_mutex_t lock;
    uint32_t users[SIGNAL_MAX + 1];
    struct sigaction before[SIGNAL_MAX + 1];
} handlers = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool add_user(int number) {
    /* SA_ONSTACK: the stack that the behaviour runs on may be too small for it */
    struct sigaction action = {.sa_handler = answer, .sa_flags = SA_RESTART | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    pthread_mutex_lock(&handlers.lock);
    bool set =
        handlers.users[number] != 0 || sigaction(number, &action, &handlers.before[number]) == 0;
    handlers.users[number] += set;
    pthread_mutex_unlock(&handlers.lock);
    return set;
}

static void remove_user(int number) {
    pthread_mutex_lock(&handlers.lock);
    if (--handlers.users[number] == 0)
        sigaction(number, &handlers.before[number], NULL);
    pthread_mutex_unlock(&handlers.lock);
}

void jzx__backtrace_install(struct jzx__crew *crew) {
    if (crew->stall_signal == 0 || crew->stall_signal > SIGNAL_MAX)
        return;
#if defined(__GLIBC__)
    void *warm[1];
    backtrace(warm, 1); /* its first call allocates, which a signal handler must not */
#endif
    crew->is_signal_set = add_user(crew->stall_signal);
}

void jzx__backtrace_restore(struct jzx__crew *crew) {
    if (crew->is_signal_set)
        remove_user(crew->stall_signal);
    crew->is_signal_set = false;
}
