/* SPDX-License-Identifier: MIT */
/* Signal handlers for faults, and the stacks that they run on. */
#include "base/fault.h"

#include "base/atomic.h"
#include "base/code.h"
#include "base/compiler.h"
#include "base/fault_text.h"
#include "base/sigstack.h"

#include "jzx/config.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__GLIBC__)
#include <execinfo.h>
#endif

/* A push, or the first store into a new frame, strikes at most so far below or above the stack
 * pointer. Larger frames may pass over the guard page anyway. */
#define BELOW_SP_MAX 65536u
#define ABOVE_SP_MAX 1048576u

/* ---- registers ---- */

#if defined(__x86_64__)

struct environment {
    uint32_t mxcsr;
    uint16_t x87;
};

static void save_environment(struct environment *environment) {
    __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(environment->mxcsr), "=m"(environment->x87));
}

/* The flags of exceptions that wait are dropped, or the next instruction would raise them. */
static void restore_environment(const struct environment *environment) {
    uint32_t mxcsr = environment->mxcsr & ~0x3fu;
    __asm__ volatile("fninit\n\tfldcw %1\n\tldmxcsr %0" : : "m"(mxcsr), "m"(environment->x87));
}

static void read_registers(const ucontext_t *context, struct jzx__fault *fault) {
    fault->pc = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
    fault->sp = (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
}

/* Where a call that has just been made would return to. */
static uintptr_t return_address(const ucontext_t *context) {
    return *(const uintptr_t *)(uintptr_t)context->uc_mcontext.gregs[REG_RSP];
}

/* The thread goes on in function(argument), on a stack that ends at sp, when the handler returns.
 * The bits that are cleared: direction (of a memmove that runs down), trap, alignment check. */
static void redirect(ucontext_t *context, uintptr_t function, uintptr_t argument, uintptr_t sp) {
    sp = (sp & ~(uintptr_t)15) - sizeof(uintptr_t); /* as after a call, */
    *(uintptr_t *)sp = 0;                           /* of nobody */
    context->uc_mcontext.gregs[REG_RIP] = (greg_t)function;
    context->uc_mcontext.gregs[REG_RDI] = (greg_t)argument;
    context->uc_mcontext.gregs[REG_RSP] = (greg_t)sp;
    context->uc_mcontext.gregs[REG_RBP] = 0;
    context->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)0x40500;
}

#elif defined(__aarch64__)

struct environment {
    uint64_t fpcr;
};

static void save_environment(struct environment *environment) {
    __asm__ volatile("mrs %0, fpcr" : "=r"(environment->fpcr));
}

static void restore_environment(const struct environment *environment) {
    __asm__ volatile("msr fpcr, %0\n\tmsr fpsr, xzr" : : "r"(environment->fpcr));
}

static void read_registers(const ucontext_t *context, struct jzx__fault *fault) {
    fault->pc = (uintptr_t)context->uc_mcontext.pc;
    fault->sp = (uintptr_t)context->uc_mcontext.sp;
}

static uintptr_t return_address(const ucontext_t *context) {
    return (uintptr_t)context->uc_mcontext.regs[30];
}

/* The bits that are cleared: the kind of a branch that was under way. */
static void redirect(ucontext_t *context, uintptr_t function, uintptr_t argument, uintptr_t sp) {
    context->uc_mcontext.pc = function;
    context->uc_mcontext.regs[0] = argument;
    context->uc_mcontext.regs[29] = 0;
    context->uc_mcontext.regs[30] = 0;
    context->uc_mcontext.sp = sp & ~(uintptr_t)15;
    context->uc_mcontext.pstate &= ~(uint64_t)0xc00;
}

#else
#error "how to read the registers of a fault on this processor?"
#endif

/* ---- guards ---- */

enum phase {
    QUIET,
    BUSY,   /* the handler runs */
    WALKING /* over a stack that may be broken: a fault leads to walk_end */
};

struct jzx__fault_guard {
    const struct jzx__fault_ops *ops;
    struct jzx__fault_guard *outer; /* of the loop that runs around this one */
    struct jzx__sigstack stack;     /* of the handler; the guard lies above it */
    sigset_t blocked_before;        /* of the signals that we handle */
    bool had_blocked;               /* blocked_before is not empty */
    struct environment environment;
    _Atomic uint32_t phase; /* written by the thread and its handler alone. Decides */
    jmp_buf walk_end;
    struct jzx__fault faults[2]; /* the last one of a turn, and of a cleanup */
};

static _Thread_local struct jzx__fault_guard *guard_of_thread;

struct jzx__fault_guard *jzx__fault_guard_create(const struct jzx__fault_ops *ops,
                                                 const jzx_mapper *mapper) {
    struct jzx__sigstack stack;
    if (!jzx__sigstack_init(&stack, sizeof(struct jzx__fault_guard), mapper))
        return NULL;
    struct jzx__fault_guard *guard = jzx__sigstack_extra(&stack);
    guard->ops = ops;
    guard->stack = stack;
    return guard;
}

void jzx__fault_guard_destroy(struct jzx__fault_guard *guard) {
    if (guard == NULL)
        return;
    struct jzx__sigstack stack = guard->stack;
    jzx__sigstack_deinit(&stack);
}

static void set_phase(struct jzx__fault_guard *guard, enum phase phase) {
    jzx__atomic_compiler_barrier();
    /* relaxed: seen by this thread alone, in its handler */
    jzx__atomic_store_relaxed(&guard->phase, (uint32_t)phase);
    jzx__atomic_compiler_barrier();
}

static enum phase phase_of(const struct jzx__fault_guard *guard) {
    /* relaxed: as above */
    return (enum phase)jzx__atomic_load_relaxed(&guard->phase);
}

static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
#define SIGNAL_COUNT (sizeof signals / sizeof signals[0])

static void all_signals(sigset_t *set) {
    sigemptyset(set);
    for (size_t i = 0; i < SIGNAL_COUNT; i++)
        sigaddset(set, signals[i]);
}

/* A fault whose signal is blocked ends the process at once. */
static void unblock_signals(struct jzx__fault_guard *guard) {
    sigset_t ours;
    sigset_t before;
    all_signals(&ours);
    pthread_sigmask(SIG_UNBLOCK, &ours, &before);
    sigemptyset(&guard->blocked_before);
    guard->had_blocked = false;
    for (size_t i = 0; i < SIGNAL_COUNT; i++) {
        if (sigismember(&before, signals[i]) == 1) {
            sigaddset(&guard->blocked_before, signals[i]);
            guard->had_blocked = true;
        }
    }
}

void jzx__fault_note_environment(struct jzx__fault_guard *guard) {
    if (guard != NULL)
        save_environment(&guard->environment);
}

void jzx__fault_arm(struct jzx__fault_guard *guard) {
    if (guard == NULL)
        return;
    jzx__sigstack_set(&guard->stack);
    unblock_signals(guard);
    jzx__fault_note_environment(guard);
    set_phase(guard, QUIET);
    guard->outer = guard_of_thread;
    guard_of_thread = guard;
    jzx__atomic_compiler_barrier();
}

void jzx__fault_disarm(struct jzx__fault_guard *guard) {
    if (guard == NULL)
        return;
    guard_of_thread = guard->outer;
    jzx__atomic_compiler_barrier();
    if (guard->had_blocked)
        pthread_sigmask(SIG_BLOCK, &guard->blocked_before, NULL);
    jzx__sigstack_clear(&guard->stack);
}

/* ---- what was there before ---- */

#define SIGNAL_MAX 64

static struct {
    pthread_mutex_t lock;
    uint32_t users[SIGNAL_MAX + 1];           /* guarded by lock */
    struct sigaction before[SIGNAL_MAX + 1];  /* published by known */
    struct sigaction instead[SIGNAL_MAX + 1]; /* what has replaced ours when we left it */
    bool was_left[SIGNAL_MAX + 1];
    _Atomic uint32_t known; /* 1: before was written. Decides */
} handlers = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Something that a process has sent, not the processor; the latter comes again on return. */
static bool was_sent(const siginfo_t *info) {
    return info->si_code <= 0;
}

static void reset(int number, const struct sigaction *to, const siginfo_t *info) {
    sigaction(number, to, NULL);
    if (was_sent(info))
        syscall(SYS_tgkill, getpid(), (pid_t)syscall(SYS_gettid), number);
}

static void call(const struct sigaction *action, int number, siginfo_t *info, ucontext_t *context) {
    sigset_t mask;
    sigemptyset(&mask);
    for (int i = 1; i <= SIGNAL_MAX; i++) {
        if (sigismember(&context->uc_sigmask, i) == 1 || sigismember(&action->sa_mask, i) == 1 ||
            (i == number && (action->sa_flags & SA_NODEFER) == 0))
            sigaddset(&mask, i);
    }
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    if (action->sa_flags & SA_SIGINFO)
        action->sa_sigaction(number, info, context);
    else
        action->sa_handler(number);
}

/* F3. Returns if what was there before says so. */
static void pass_on(int number, siginfo_t *info, ucontext_t *context) {
    static const struct sigaction by_default = {.sa_handler = SIG_DFL};
    struct sigaction before = by_default;
    /* acquire: pairs with the release in add_user; the action is there */
    if (jzx__atomic_load_acquire(&handlers.known) != 0)
        before = handlers.before[number];
    bool is_function = (before.sa_flags & SA_SIGINFO) != 0 ||
                       (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN);
    if (!is_function && before.sa_handler == SIG_IGN && was_sent(info))
        return;
    if (!is_function)
        reset(number, &by_default, info); /* a fault cannot be ignored */
    else if (before.sa_flags & (int)SA_RESETHAND)
        reset(number, &before, info);
    else
        call(&before, number, info, context);
}

/* ---- judging ---- */

/* A jump to what is no code: it is the call that is wrong. */
static bool is_wild_call(const struct jzx__fault *fault) {
    return (fault->signal == SIGSEGV || fault->signal == SIGBUS) && jzx__fault_has_address(fault) &&
           fault->address == fault->pc;
}

/* By the distance from the stack pointer: that may be on a stack that only the program knows. If it
 * lies above the one that we know, all that we know of its end is that distance. */
static bool is_overflow(const struct jzx__fault *fault) {
    if (fault->signal != SIGSEGV || !jzx__fault_has_address(fault))
        return false;
    uintptr_t end = fault->sp < fault->limit ? fault->limit : UINTPTR_MAX;
    return fault->address >= fault->sp - BELOW_SP_MAX && fault->address < end &&
           fault->address < fault->sp + ABOVE_SP_MAX;
}

/* Drops what belongs to the handler: the stack begins with the pc. */
static void trim_stack(struct jzx__fault *fault) {
    uint32_t first = 0;
    while (first < fault->stack_count && (uintptr_t)fault->stack[first] != fault->pc)
        first++;
    if (first == fault->stack_count) {
        fault->stack[0] = (void *)fault->pc;
        fault->stack_count = 1;
        return;
    }
    fault->stack_count -= first;
    memmove(fault->stack, fault->stack + first, fault->stack_count * sizeof fault->stack[0]);
}

/* Its caller is all that is known of a call of what is no code: to unwind from there one would have
 * to read the code. */
static void walk_wild_call(const ucontext_t *context, struct jzx__fault *fault) {
    fault->stack[0] = (void *)fault->pc;
    fault->stack_count = 1;
    fault->stack[1] = (void *)return_address(context); /* which may not be there */
    fault->stack_count = 2;
}

static void walk_stack(struct jzx__fault *fault) {
#if defined(__GLIBC__)
    int count = backtrace(fault->stack, (int)JZX__FAULT_STACK_MAX);
    fault->stack_count = count > 0 ? (uint32_t)count : 0;
#endif
    trim_stack(fault);
}

/* A function of its own: it comes back by a jump if the stack is broken. */
static __attribute__((noinline)) void walk(struct jzx__fault_guard *guard,
                                           const ucontext_t *context, struct jzx__fault *fault) {
    set_phase(guard, WALKING);
    if (_setjmp(guard->walk_end) == 0) {
        if (is_wild_call(fault))
            walk_wild_call(context, fault);
        else
            walk_stack(fault);
    } else if (fault->stack_count == 0) {
        fault->stack[0] = (void *)fault->pc;
        fault->stack_count = 1;
    }
    set_phase(guard, BUSY);
}

/* F1: by the innermost code that is no leaf. */
static bool is_programs(const struct jzx__fault *fault) {
    uint32_t i = is_wild_call(fault) ? 1 : 0;
    while (i < fault->stack_count) {
        enum jzx__code code = jzx__code_of((uintptr_t)fault->stack[i], fault->entry);
        if (code != JZX__CODE_LEAF)
            return code == JZX__CODE_PROGRAM;
        i++;
    }
    return false;
}

/* NULL if the fault can be contained. */
static const char *why_not(const struct jzx__fault *fault, enum jzx__fault_place place) {
    uint32_t asked = fault->is_overflow ? JZX_CONTAIN_OVERFLOW : JZX_CONTAIN_FAULTS;
    if (fault->signal == SIGABRT)
        return "abort() is not contained";
    if (place == JZX__FAULT_IN_RUNTIME)
        return "in the runtime, or in a callback of it";
    if ((fault->contain & asked) == 0)
        return "config.contain does not ask for it";
    return is_programs(fault) ? NULL : "in code that is not the program's own";
}

/* Not to be inlined: its frame lies below the caller's. */
__attribute__((noinline)) uintptr_t jzx__fault_landing(void) {
    return (uintptr_t)__builtin_frame_address(0);
}

/* Where the thread goes on: out of the handler, with the mask that it had, on its own stack, on
 * whichever the fault was. */
static void land(const struct jzx__fault *fault) {
    struct jzx__fault_guard *guard = guard_of_thread;
    restore_environment(&guard->environment);
    guard->ops->escape(fault);
}

static void contain(struct jzx__fault_guard *guard, const struct jzx__fault *fault,
                    ucontext_t *context) {
    struct jzx__fault *kept = &guard->faults[fault->in_cleanup ? 1 : 0];
    *kept = *fault;
    redirect(context, (uintptr_t)land, (uintptr_t)kept, fault->landing);
}

/* Only what happens on this thread by its own doing. */
static bool is_own(int number, const siginfo_t *info) {
    if (number == SIGABRT)
        return info->si_code == SI_TKILL && info->si_pid == getpid();
#if defined(BUS_MCEERR_AO)
    if (number == SIGBUS && info->si_code == BUS_MCEERR_AO)
        return false; /* memory that somebody will miss some day */
#endif
    return !was_sent(info);
}

/* True if it is contained. */
static bool judge(struct jzx__fault_guard *guard, int number, const siginfo_t *info,
                  ucontext_t *context) {
    struct jzx__fault fault;
    memset(&fault, 0, offsetof(struct jzx__fault, stack));
    fault.signal = number;
    fault.code = info->si_code;
    fault.address = (uintptr_t)info->si_addr;
    read_registers(context, &fault);
    enum jzx__fault_place place = guard->ops->look(&fault);
    if (place == JZX__FAULT_ELSEWHERE)
        return false;
    fault.is_overflow = is_overflow(&fault);
    walk(guard, context, &fault);
    const char *why = why_not(&fault, place);
    if (why == NULL)
        contain(guard, &fault, context);
    else
        jzx__fault_report(&fault, why);
    return why == NULL;
}

/* F2. */
static void handle_nested(struct jzx__fault_guard *guard, int number) {
    static const struct sigaction by_default = {.sa_handler = SIG_DFL};
    if (phase_of(guard) == WALKING && number != SIGABRT)
        _longjmp(guard->walk_end, 1);
    sigaction(number, &by_default, NULL);
}

static void handle(int number, siginfo_t *info, void *context) {
    int error = errno;
    bool is_contained = false;
    struct jzx__fault_guard *guard = guard_of_thread;
    if (guard != NULL && is_own(number, info)) {
        if (phase_of(guard) != QUIET) {
            handle_nested(guard, number);
            errno = error;
            return;
        }
        set_phase(guard, BUSY);
        is_contained = judge(guard, number, info, context);
        set_phase(guard, QUIET);
    }
    if (!is_contained)
        pass_on(number, info, context);
    errno = error;
}

/* ---- install ---- */

static bool is_ours(const struct sigaction *action) {
    return (action->sa_flags & SA_SIGINFO) != 0 && action->sa_sigaction == handle;
}

static bool is_same(const struct sigaction *a, const struct sigaction *b) {
    return a->sa_sigaction == b->sa_sigaction && ((a->sa_flags ^ b->sa_flags) & SA_SIGINFO) == 0;
}

/* Signals that are no faults wait until the handler is done: sa_mask. A fault in it is one of the
 * same thread, and must be seen (F2): SA_NODEFER. */
static bool add_user(int number) {
    struct sigaction ours = {.sa_sigaction = handle,
                             .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    struct sigaction current;
    sigfillset(&ours.sa_mask);
    for (size_t i = 0; i < SIGNAL_COUNT; i++)
        sigdelset(&ours.sa_mask, signals[i]);
    if (handlers.users[number] == 0) {
        if (sigaction(number, NULL, &current) != 0)
            return false;
        /* Who came after us the last time may pass on to us: then before must not lead to him. */
        bool passes_on = handlers.was_left[number] && is_same(&current, &handlers.instead[number]);
        if (!is_ours(&current) && !passes_on) {
            handlers.before[number] = current;
            /* release: pairs with the acquire in pass_on */
            jzx__atomic_store_release(&handlers.known, 1u);
            if (sigaction(number, &ours, NULL) != 0)
                return false;
        }
    }
    handlers.users[number]++;
    return true;
}

static bool remove_user(int number) {
    struct sigaction current;
    if (--handlers.users[number] != 0)
        return true;
    if (sigaction(number, NULL, &current) != 0)
        return true;
    handlers.was_left[number] = !is_ours(&current);
    handlers.instead[number] = current;
    if (is_ours(&current))
        sigaction(number, &handlers.before[number], NULL);
    return is_ours(&current);
}

static bool is_asked_for(int number, uint32_t contain) {
    return number == SIGABRT || number == SIGSEGV || (contain & JZX_CONTAIN_FAULTS) != 0;
}

bool jzx__fault_install(uint32_t contain) {
    size_t done = 0;
    pthread_mutex_lock(&handlers.lock);
    bool possible = jzx__code_learn();
#if defined(__GLIBC__)
    void *warm[1];
    backtrace(warm, 1); /* its first call allocates, which a signal handler must not */
#endif
    while (possible && done < SIGNAL_COUNT) {
        possible = !is_asked_for(signals[done], contain) || add_user(signals[done]);
        done += possible;
    }
    while (!possible && done > 0) {
        if (is_asked_for(signals[--done], contain))
            remove_user(signals[done]);
    }
    pthread_mutex_unlock(&handlers.lock);
    return possible;
}

bool jzx__fault_uninstall(uint32_t contain) {
    bool restored = true;
    pthread_mutex_lock(&handlers.lock);
    for (size_t i = 0; i < SIGNAL_COUNT; i++) {
        if (is_asked_for(signals[i], contain))
            restored &= remove_user(signals[i]);
    }
    pthread_mutex_unlock(&handlers.lock);
    return restored;
}
