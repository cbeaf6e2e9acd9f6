/* SPDX-License-Identifier: MIT */
/* One round: a loop by seed, its life, and what must hold at its end. */
#include "fuzz.h"

#include "descriptors.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { OPERATIONS_MAX = 900, FOREIGN_MAX = 3, IDLE_LOOKS = 60 };

struct fuzz_round *fuzz_running;
struct fuzz_options fuzz_options;
struct fuzz_progress *fuzz_progress;

static struct fuzz_round the_round;

/* ---- what there is to call, from each context ---- */

struct choice {
    const struct fuzz_operation *operations[OPERATIONS_MAX];
    unsigned up_to[OPERATIONS_MAX]; /* the sum of the weights so far */
    unsigned count;
};
static struct choice choices[CONTEXTS];

static bool is_listed(const char *list, const char *name) {
    size_t length = strlen(name);
    for (const char *at = list; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, length) == 0 && (at[length] == '\0' || at[length] == ','))
            return true;
    }
    return false;
}

static void add(const struct fuzz_operation *operation) {
    for (unsigned context = 0; context < CONTEXTS; context++) {
        struct choice *choice = &choices[context];
        unsigned before = choice->count == 0 ? 0 : choice->up_to[choice->count - 1];
        if ((operation->contexts >> context & 1u) == 0)
            continue;
        if (choice->count == OPERATIONS_MAX)
            fuzz_fail("there are more than %d operations", OPERATIONS_MAX);
        choice->operations[choice->count] = operation;
        choice->up_to[choice->count++] = before + operation->weight;
    }
}

/* Messages and actors take part in each round, and one to all of the other families. */
static void choose_operations(struct fuzz *f) {
    static const struct fuzz_family *const families[] = {
#define FUZZ_ADDRESS(name) &fuzz_##name,
        FUZZ_FAMILIES(FUZZ_ADDRESS)};
    unsigned count = sizeof families / sizeof families[0];
    unsigned one_in = fuzz_chance(f, 3) ? 1 : 2 + BELOW(5);
    memset(choices, 0, sizeof choices);
    for (unsigned i = 0; i < count; i++) {
        bool is_wanted = i < 2 || fuzz_chance(f, one_in);
        for (size_t k = 0; k < families[i]->count; k++) {
            const struct fuzz_operation *operation = &families[i]->operations[k];
            bool is_in = is_wanted;
            if (fuzz_options.only != NULL)
                is_in = is_listed(fuzz_options.only, families[i]->name) ||
                        is_listed(fuzz_options.only, operation->name);
            if (is_in && !is_listed(fuzz_options.without, families[i]->name) &&
                !is_listed(fuzz_options.without, operation->name))
                add(operation);
        }
    }
}

static const struct fuzz_operation *choose(struct fuzz *f) {
    struct choice *choice = &choices[__builtin_ctz(f->context)];
    if (choice->count == 0)
        return NULL;
    unsigned at = (unsigned)fuzz_below(f, choice->up_to[choice->count - 1]);
    unsigned low = 0;
    for (unsigned high = choice->count - 1; low < high;) {
        unsigned middle = (low + high) / 2;
        if (choice->up_to[middle] > at)
            high = middle;
        else
            low = middle + 1;
    }
    return choice->operations[low];
}

void fuzz_act(struct fuzz *f, unsigned count) {
    static const char *const contexts[CONTEXTS] = {
        "before",    "between steps", "after",      "foreign thread", "init",
        "behaviour", "fiber",         "async",      "step",           "manual",
        "cleanup",   "observer",      "destructor", "predicate",      "call",
        "job",       "tick"};
    while (count-- > 0 && atomic_fetch_sub(&f->round->budget, 1) > 0) {
        const struct fuzz_operation *operation = choose(f);
        if (operation == NULL)
            return;
        atomic_fetch_add(&fuzz_progress->calls, 1);
        atomic_store(&fuzz_progress->last, operation->name);
        if (f->round->is_traced)
            fprintf(stderr, "%s %llx: %s\n", contexts[__builtin_ctz(f->context)],
                    f->ctx == NULL ? 0 : (unsigned long long)f->ctx->self, operation->name);
        f->operation = operation->name;
        operation->call(f);
    }
}

/* ---- verdicts ---- */

void fuzz_fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "jzx_fuzz: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    abort();
}

int fuzz_status(struct fuzz *f, int err) {
    if (f->round->is_traced)
        fprintf(stderr, "    = %s\n", jzx_err_name((jzx_err)err));
    if (err > 0 || err < JZX_ERR_TERMINATED)
        fuzz_fail("%s returned %d, which is no jzx_err", atomic_load(&fuzz_progress->last), err);
    return err;
}

void fuzz_keep_future(struct fuzz *f, int err, jzx_future *const *made) {
    jzx_future *future = *made; /* behind the call: an argument may be made before it */
    if (fuzz_status(f, err) == JZX_OK && future == NULL)
        fuzz_fail("%s succeeded without a future", atomic_load(&fuzz_progress->last));
    if (err == JZX_OK)
        fuzz_put(f, OF_FUTURE, future);
    else if (future != NULL)
        fuzz_fail("%s failed with a future", atomic_load(&fuzz_progress->last));
}

/* ---- the configuration ---- */

static void few_descriptors(struct fuzz *f, int open) {
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = (rlim_t)open + 1 + BELOW(16);
    setrlimit(RLIMIT_NOFILE, &limit);
}

static void many_descriptors(void) {
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max < 1024 ? limit.rlim_max : 1024;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static void on_alarm(int signo) {
    (void)signo;
}

/* System calls are interrupted, so often in a second; 0: never. */
static void interrupt_system_calls(unsigned hz) {
    struct sigaction action = {.sa_handler = on_alarm};
    struct itimerval timer = {{0, hz == 0 ? 0 : 1000000 / (long)hz}, {0, 0}};
    timer.it_value = timer.it_interval;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const bool is_sanitized = true;
#else
static const bool is_sanitized = false;
#endif

static void quiet(void *ctx, jzx_log_level level, const char *text) {
    (void)ctx;
    if (strlen(text) == 0 || level < JZX_LOG_ERROR)
        fuzz_fail("the log has an empty line, or one of level %d", (int)level);
}

static void configure(struct fuzz *f, jzx_config *config, jzx_schedule_config *schedule) {
    struct fuzz_round *round = f->round;
    round->has_threads = !fuzz_chance(f, 3);
    round->workers = round->has_threads ? 1 + BELOW(4) : 1;
    if (fuzz_options.workers > 0) {
        round->has_threads = true;
        round->workers = (uint32_t)fuzz_options.workers;
    }
    if (!round->has_threads)
        round->clock = jzx_clock_manual(fuzz_chance(f, 2) ? 0 : JZX_SECOND(1));
    round->is_contained = !is_sanitized && fuzz_chance(f, 4);
    *config = JZX_CONFIG(.allocator = fuzz_allocator(), .log = {quiet, NULL, JZX_LOG_DEBUG},
                         .clock = round->clock, .workers = round->workers);
    config->io_backend = (jzx_io_backend)BELOW(3);
    if (YES_OR_NO)
        config->mapper = fuzz_mapper();
    config->max_actors = fuzz_chance(f, 6) ? 3 + BELOW(20) : 0;
    config->default_mailbox_cap = fuzz_chance(f, 3) ? 1 + BELOW(3) : 0;
    config->max_msgs_per_actor = fuzz_chance(f, 4) ? 1 : 0;
    config->default_heap_quota = fuzz_chance(f, 4) ? 4096 : 0;
    config->balance = (jzx_balance)BELOW(4);
    config->stall_after_ns = fuzz_chance(f, 3) ? JZX_US(200) : JZX_NEVER;
    config->spare_threads_max = BELOW(3);
    config->on_stall = (jzx_on_stall)BELOW(3);
    config->on_wait = (jzx_on_wait)BELOW(3);
    config->max_groups = fuzz_chance(f, 8) ? 2 : 0;
    config->max_members_per_group = fuzz_chance(f, 8) ? 2 : 0;
    config->max_calls = fuzz_chance(f, 4) ? 2 : 0;
    config->max_io_watchers = fuzz_chance(f, 4) ? 2 : 0;
    config->urgent_cap = fuzz_chance(f, 4) ? 1 : 0;
    config->stamp_messages = fuzz_chance(f, 3);
    config->deadlock_after_ns = fuzz_chance(f, 2) ? JZX_MS(1) : 0;
    config->contain = round->is_contained ? JZX_CONTAIN_OVERFLOW | JZX_CONTAIN_FAULTS : 0;
    *schedule = JZX_SCHEDULE_CONFIG(.resolution_ns = 1000000, .profile = JZX_SCHEDULE_TINY);
    schedule->log_capacity = BELOW(64);
    schedule->driver_kind = (jzx_driver_kind)BELOW(4);
    schedule->timer_kind = YES_OR_NO ? JZX_TICK_TIMER_HEAP : JZX_TICK_TIMER_DEFAULT;
    schedule->test_mode = YES_OR_NO;
    if (schedule->test_mode && round->clock != NULL && YES_OR_NO)
        schedule->driver_kind = JZX_DRIVER_MANUAL;
    if (fuzz_chance(f, 4))
        schedule->slot_capacity = 2;
    config->schedule = YES_OR_NO ? schedule : NULL;
}

/* ---- the life of a loop ---- */

static void do_nothing_for(long microseconds) {
    struct timespec span = {0, microseconds * 1000};
    nanosleep(&span, NULL);
}

static void *foreign(void *arg) {
    struct fuzz *f = arg;
    f->random = &f->own_random;
    while (atomic_load(&f->round->budget) > 0) {
        fuzz_act(f, 1 + BELOW(6));
        do_nothing_for(BELOW(200));
    }
    return NULL;
}

static void stop(struct fuzz *f) {
    jzx_loop *loop = f->round->loop;
    if (YES_OR_NO)
        jzx_loop_stop(loop, jzx_loop_now(loop) + BELOW(JZX_MS(3)));
    else
        jzx_loop_request_stop(loop);
}

/* Lets the run go on while there is something to see, and then ends it. */
static void *conduct(void *arg) {
    struct fuzz *f = arg;
    f->random = &f->own_random;
    unsigned long long seen = 0;
    for (unsigned idle = 0; idle < IDLE_LOOKS && atomic_load(&f->round->budget) > 0; idle++) {
        unsigned long long calls = atomic_load(&fuzz_progress->calls);
        if (calls != seen)
            idle = 0;
        seen = calls;
        do_nothing_for(300);
    }
    stop(f);
    atomic_store(&f->round->budget, 0);
    do_nothing_for(4000);
    jzx_loop_request_stop(f->round->loop);
    return NULL;
}

static void phase(unsigned number) {
    atomic_store(&fuzz_progress->phase, number);
    atomic_store(&fuzz_progress->last, "none");
    atomic_fetch_add(&fuzz_progress->calls, 1);
}

static void run_with_threads(struct fuzz *f) {
    struct fuzz_round *round = f->round;
    pthread_t threads[FOREIGN_MAX + 1];
    struct fuzz theirs[FOREIGN_MAX + 1];
    unsigned count = 0;
    unsigned foreigners = BELOW(FOREIGN_MAX);
    theirs[0] = fuzz_here(round, AT_FOREIGN);
    bool has_held = jzx_loop_hold(round->loop) == JZX_OK;
    if (pthread_create(&threads[count], NULL, conduct, &theirs[0]) == 0)
        count++;
    for (unsigned i = 0; i < foreigners; i++) {
        theirs[count] = fuzz_here(round, AT_FOREIGN);
        if (pthread_create(&threads[count], NULL, foreign, &theirs[count]) == 0)
            count++;
    }
    while (atomic_load(&round->budget) > 0) {
        jzx_err err = (jzx_err)fuzz_status(f, jzx_loop_run(round->loop));
        if (err != JZX_OK)
            do_nothing_for(100);
    }
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    if (has_held)
        jzx_loop_release(round->loop);
    jzx_loop_request_stop(round->loop);
    while (jzx_loop_run(round->loop) == JZX_ERR_NO_MEMORY)
        fuzz_memory_fails(false);
}

/* One thread moves the time and drives the loop: the same seed makes the same calls. */
static void run_in_steps(struct fuzz *f) {
    struct fuzz_round *round = f->round;
    f->context = AT_STEPS;
    while (atomic_load(&round->budget) > 0) {
        fuzz_act(f, BELOW(3));
        fuzz_status(f, jzx_loop_step(round->loop, YES_OR_NO ? JZX_NEVER : 0));
        jzx_clock_advance(round->clock, fuzz_below(f, YES_OR_NO ? JZX_MS(3) : 1000));
        if (YES_OR_NO)
            atomic_fetch_sub(&round->budget, 1); /* it ends though nobody calls anything */
    }
    stop(f);
    for (unsigned i = 0; jzx_loop_alive(round->loop); i++) {
        if (i == 64)
            jzx_loop_request_stop(round->loop);
        if (jzx_loop_step(round->loop, JZX_NEVER) == JZX_ERR_NO_MEMORY)
            fuzz_memory_fails(false);
        jzx_clock_advance(round->clock, JZX_MS(1));
        if (i > 64)
            do_nothing_for(50); /* for the threads of pools */
    }
    jzx_loop_request_stop(round->loop);
    jzx_loop_step(round->loop, JZX_NEVER);
}

/* ---- the objects that actors share ---- */

static void init_sync(struct fuzz_round *round) {
    struct fuzz_sync *sync = &round->sync;
    for (unsigned i = 0; i < FUZZ_SYNC; i++) {
        jzx_mutex_init(round->loop, &sync->mutex[i]);
        jzx_semaphore_init(round->loop, &sync->semaphore[i], 2, 4);
        jzx_rwlock_init(round->loop, &sync->rwlock[i]);
        jzx_channel_init(round->loop, &sync->channel[i], i == 0 ? 2 : JZX_UNBOUNDED, 8);
        jzx_gate_init(round->loop, &sync->gate[i], i == 0);
        jzx_wait_group_init(round->loop, &sync->wait_group[i]);
        jzx_barrier_init(round->loop, &sync->barrier[i], 2);
        jzx_once_init(round->loop, &sync->once[i]);
        jzx_broadcast_init(round->loop, &sync->broadcast[i], 2, 8);
    }
}

/* When all actors have ended nobody waits at them or has something of them. */
static void deinit_sync(struct fuzz_round *round) {
    struct fuzz_sync *sync = &round->sync;
#define DEINIT(kind)                                                                               \
    do {                                                                                           \
        jzx_err err = jzx_##kind##_deinit(&sync->kind[i]);                                         \
        if (err != JZX_OK && err != JZX_ERR_INVALID_ARG)                                           \
            fuzz_fail("jzx_" #kind "_deinit after the end: %s", jzx_err_name(err));                \
    } while (0)
    for (unsigned i = 0; i < FUZZ_SYNC; i++) {
        DEINIT(mutex);
        DEINIT(semaphore);
        DEINIT(rwlock);
        DEINIT(channel);
        DEINIT(gate);
        DEINIT(wait_group);
        DEINIT(barrier);
        DEINIT(once);
        DEINIT(broadcast);
    }
#undef DEINIT
}

/* ---- the end ---- */

/* There is no budget any more, but a job may be in a call that it began before. It borrows objects
 * and makes some, so they can be disposed of only when it is done. */
static void await_jobs(struct fuzz_round *round) {
    while (atomic_load(&round->jobs) != 0)
        do_nothing_for(50);
}

static void check_books(struct fuzz_round *round) {
    jzx_stats stats = {.size = sizeof stats};
    jzx_err err = jzx_loop_stats(round->loop, &stats);
    if (err != JZX_OK)
        fuzz_fail("jzx_loop_stats: %s", jzx_err_name(err));
    if (stats.accepted != stats.handled + stats.dead || stats.waiting != 0)
        fuzz_fail("%llu messages were accepted, %llu handled, %llu died and %llu wait",
                  (unsigned long long)stats.accepted, (unsigned long long)stats.handled,
                  (unsigned long long)stats.dead, (unsigned long long)stats.waiting);
    if (stats.spawned != stats.exited)
        fuzz_fail("%llu actors were spawned, %llu have ended", (unsigned long long)stats.spawned,
                  (unsigned long long)stats.exited);
}

static void check_actors(struct fuzz_round *round) {
    unsigned count = atomic_load(&round->actors);
    for (unsigned i = 0; i < count && i < FUZZ_ACTORS; i++) {
        struct fuzz_actor *actor = &round->actor[i];
        unsigned spawned = atomic_load(&actor->spawned);
        unsigned ended = atomic_load(&actor->ended);
        if (!actor->is_child && spawned != ended)
            fuzz_fail("an actor of %s was spawned %u times and cleaned up %u times", actor->made_by,
                      spawned, ended);
    }
    if (atomic_load(&round->buffers_made) != atomic_load(&round->buffers_gone))
        fuzz_fail("%u buffers were made, %u destructors have run",
                  atomic_load(&round->buffers_made), atomic_load(&round->buffers_gone));
    if (atomic_load(&round->faults_seen) > 0 && atomic_load(&round->faults_made) == 0)
        fuzz_fail("%u actors ended by a fault that was not made on purpose",
                  atomic_load(&round->faults_seen)); /* a link makes several of one */
}

static void tell_descriptors(void) {
    DIR *directory = opendir("/proc/self/fd");
    struct dirent *entry;
    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        char target[128] = "";
        if (readlinkat(dirfd(directory), entry->d_name, target, sizeof target - 1) > 0)
            fprintf(stderr, "  open: %s %s\n", entry->d_name, target);
    }
}

/* The buffers belong to the loop; handles of futures may outlive it; pools must. */
static void end(struct fuzz *f) {
    struct fuzz_round *round = f->round;
    bool before = YES_OR_NO;
    fuzz_dispose_all(f, OF_BUFFER);
    fuzz_dispose_all(f, OF_SHARED);
    fuzz_dispose_all(f, OF_EXECUTOR);
    for (unsigned late = 0; late < 2; late++) {
        if (late == 1) {
            phase(6);
            jzx_err err = jzx_loop_destroy(round->loop);
            if (err != JZX_OK)
                fuzz_fail("jzx_loop_destroy: %s", jzx_err_name(err));
            round->loop = NULL;
        }
        if (before == (late == 1))
            continue;
        fuzz_dispose_all(f, OF_PROCESSOR);
        fuzz_dispose_all(f, OF_MANUAL);
        fuzz_dispose_all(f, OF_PROBE);
        fuzz_dispose_all(f, OF_PROMISE);
        fuzz_dispose_all(f, OF_FUTURE);
    }
    fuzz_dispose_all(f, OF_POOL);
    deinit_sync(round);
}

static void live(struct fuzz *f) {
    struct fuzz_round *round = f->round;
    jzx_observer observer = fuzz_observer();
    round->is_observed = YES_OR_NO;
    if (round->is_observed)
        jzx_loop_set_observer(round->loop, &observer, round);
    init_sync(round);
    phase(2);
    fuzz_act(f, 5 + BELOW(60));
    phase(3);
    if (round->has_threads)
        run_with_threads(f);
    else
        run_in_steps(f);
    phase(4);
    interrupt_system_calls(0);
    atomic_store(&round->budget, BELOW(20));
    f->context = AT_AFTER;
    fuzz_act(f, 20);
    atomic_store(&round->budget, 0);
    if (YES_OR_NO)
        fuzz_memory_fails(false);
    phase(5);
    await_jobs(round);
    check_books(round);
    end(f);
}

static void name_paths(struct fuzz_round *round) {
    static const char *const names[FUZZ_PATHS] = {"a", "b", "c", "sub", "sub/d", "socket", "other"};
    for (unsigned i = 0; i < FUZZ_PATHS; i++)
        snprintf(round->paths[i], sizeof round->paths[i], "%s/%s", round->folder, names[i]);
}

void fuzz_round(uint64_t seed) {
    struct fuzz_round *round = &the_round;
    fuzz_running = round;
    round->seed = seed;
    round->actor = calloc(FUZZ_ACTORS, sizeof *round->actor);
    struct fuzz here = fuzz_here(round, AT_BEFORE);
    struct fuzz *f = &here;
    f->random = &f->own_random;
    phase(1);
    choose_operations(f);
    jzx_config config;
    jzx_schedule_config schedule;
    configure(f, &config, &schedule);
    round->is_traced = fuzz_options.traces;
    uint64_t calls = 50 + fuzz_below(f, fuzz_chance(f, 8) ? 4000 : 800);
    atomic_store(&round->budget, (long long)(fuzz_options.calls ? fuzz_options.calls : calls));
    snprintf(round->folder, sizeof round->folder, "/tmp/jzx_fuzz_XXXXXX");
    if (round->actor == NULL || mkdtemp(round->folder) == NULL)
        fuzz_fail("no memory, or no folder: %s", strerror(errno));
    name_paths(round);
    round->descriptors[2] = open(round->paths[0], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (pipe2(round->descriptors, O_NONBLOCK | O_CLOEXEC) != 0 ||
        write(round->descriptors[1], fuzz_bytes, 9) != 9)
        fuzz_fail("no pipe: %s", strerror(errno));
    if (chdir(round->folder) != 0) /* an address that is taken for a path makes a file there */
        fuzz_fail("%s: %s", round->folder, strerror(errno));
    memcpy(fuzz_progress->folder, round->folder, sizeof round->folder);
    int open_before = descriptors_open();
    fuzz_memory_reset(seed, fuzz_chance(f, 3) ? 10u << BELOW(7) : 0);
    if (fuzz_chance(f, 4))
        few_descriptors(f, open_before);
    fuzz_memory_fails(fuzz_chance(f, 8));
    round->loop = jzx_loop_create(&config);
    fuzz_memory_fails(true);
    if (fuzz_chance(f, 4))
        interrupt_system_calls(1000 + 500 * BELOW(5));
    if (round->loop != NULL)
        live(f);
    interrupt_system_calls(0);
    phase(7);
    many_descriptors();
    if (jzx_clock_free(round->clock) != JZX_OK)
        fuzz_fail("jzx_clock_free after the end of the loop fails");
    check_actors(round);
    if (fuzz_memory_blocks() != 0) {
        fuzz_memory_report(stderr);
        fuzz_fail("%lld blocks of %lld bytes are left", fuzz_memory_blocks(), fuzz_memory_bytes());
    }
    int open_after = descriptors_open();
    if (open_after != open_before) {
        tell_descriptors();
        fuzz_fail("%d descriptors were open before, %d are now", open_before, open_after);
    }
    free(round->actor);
}
