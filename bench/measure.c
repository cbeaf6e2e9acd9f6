/* SPDX-License-Identifier: MIT */
/* Running. Every run is a process of its own, so that no run inherits a heap, and the sides of a
 * pair come one right after the other, so that they meet the same phase of a noisy machine:
 * against the floor on one and the same CPU, for a gain on each CPU in turn. */
#include "driver.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* A run that takes longer than this is stuck. */
#define RUN_SECONDS_MAX 60u

/* What a peer's program says that does not have the row. */
#define NO_SUCH_ROW 3

/* More than any run takes but those that measure memory. */
#define SUPPLY_BYTES ((size_t)160 << 20)

/* Of the sizes, with --small. */
#define SMALL_SHARE 100u

/* ---- the child ---- */

/* Another program of this build. */
static void program_beside(char *path, size_t size, const char *name) {
    ssize_t len = readlink("/proc/self/exe", path, size - 1);
    BENCH_CHECK(len > 0);
    path[len] = '\0';
    char *file = strrchr(path, '/') + 1;
    BENCH_CHECK((size_t)(file - path) + strlen(name) < size);
    strcpy(file, name);
}

/* Where a server finds its client, and which CPU that is pinned to: not the server's. */
static void offer_client(const struct setup *setup) {
    char path[PATH_MAX];
    char cpu[16];
    int other = bench_cpu_at(setup->cpu == bench_cpu_at(1) ? 0 : 1);
    program_beside(path, sizeof path, "client");
    setenv("JZX_BENCH_CLIENT", path, 1);
    snprintf(cpu, sizeof cpu, "%d", other);
    if (setup->workers == 1 && other != BENCH_NO_CPU)
        setenv("JZX_BENCH_CLIENT_CPU", cpu, 1);
    else
        unsetenv("JZX_BENCH_CLIENT_CPU");
}

static void prepare_child(int cpu) {
    alarm(RUN_SECONDS_MAX); /* also bounds the program that replaces this one */
    if (cpu != ANY_CPU)
        bench_pin(cpu);
}

static void print_line(void *ctx, const char *text) {
    (void)ctx;
    puts(text);
}

/* A core each if a gain is asked for: what the system's scheduler does is not the question. */
static bool is_pinned(const struct bench *bench, const struct setup *setup) {
    return setup->may_pin && bench->speedup_min > 0 && setup->workers > 1 &&
           setup->workers <= bench_cpus();
}

void run_here(const struct bench *bench, const struct setup *setup, struct bench_run *run) {
    jzx_config config;
    jzx_config_init(&config, sizeof config);
    if (bench->config != NULL)
        config = *bench->config;
    config.workers = setup->workers;
    config.balance = setup->balance;
    config.pin_threads = setup->may_pin && (config.pin_threads || is_pinned(bench, setup));
    config.log.level = JZX_LOG_ERROR; /* stalls are counted, and shown with the row */
    jzx_loop *loop = jzx_loop_create(&config);
    BENCH_CHECK(loop != NULL);
    BENCH_CHECK_EQUAL(jzx_loop_workers(loop), setup->workers);
    if (setup->alone)
        bench->alone(loop, setup->size, run);
    else if (setup->apart)
        bench->apart(loop, setup->size, run);
    else
        bench->run(loop, setup->size, run);
    run->handovers = bench_stats(loop).handovers;
    if (setup->dump)
        jzx_loop_dump(loop, print_line, NULL);
    BENCH_CHECK(jzx_loop_destroy(loop) == JZX_OK);
}

static void run_jzx(const struct bench *bench, const struct setup *setup) {
    struct bench_run run = {0};
    run_here(bench, setup, &run);
    printf("%.9f %llu %.1f %llu", run.seconds, (unsigned long long)run.ops, run.amount,
           (unsigned long long)run.handovers);
    for (unsigned i = 0; i < BENCH_NOTES_MAX; i++)
        printf(" %.6f", run.notes[i]);
    exit(fflush(stdout) == 0 ? 0 : 1);
}

static void run_floor(const struct bench *bench, const struct setup *setup) {
    char path[PATH_MAX];
    program_beside(path, sizeof path, "floor");
    char size[32];
    snprintf(size, sizeof size, "%llu", (unsigned long long)setup->size);
    execl(path, "floor", bench->floor_row, size, (char *)NULL);
    bench_fail("cannot run %s: %s", path, strerror(errno));
}

static void run_peer(const struct bench *bench, const struct setup *setup) {
    char path[PATH_MAX];
    char size[32];
    char workers[16];
    peer_path(path, sizeof path, setup->peer);
    snprintf(size, sizeof size, "%llu", (unsigned long long)setup->size);
    snprintf(workers, sizeof workers, "%u", (unsigned)setup->workers);
    execl(path, path, peer_row(bench), size, workers, (char *)NULL);
    bench_fail("cannot run %s: %s", path, strerror(errno));
}

/* ---- the parent ---- */

static bool await_child(pid_t child, const char *name, const char *peer) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR)
            bench_fail("waitpid: %s", strerror(errno));
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_SUCH_ROW)
        return false;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        fprintf(stderr, "jzx bench: %s (%s) took more than %u s\n", name, peer, RUN_SECONDS_MAX);
    else if (WIFSIGNALED(status))
        fprintf(stderr, "jzx bench: %s (%s) ended by signal %d\n", name, peer, WTERMSIG(status));
    else
        fprintf(stderr, "jzx bench: %s (%s) failed\n", name, peer);
    return false;
}

/* What a child printed. The floor has neither handovers nor notes. */
static bool read_run(int fd, struct bench_run *run) {
    FILE *answer = fdopen(fd, "r");
    if (answer == NULL)
        bench_fail("fdopen: %s", strerror(errno));
    unsigned long long ops = 0;
    bool read = fscanf(answer, "%lf %llu %lf", &run->seconds, &ops, &run->amount) == 3;
    run->ops = ops;
    unsigned long long handovers = 0;
    if (fscanf(answer, "%llu", &handovers) == 1)
        run->handovers = handovers;
    for (unsigned i = 0; i < BENCH_NOTES_MAX; i++) {
        if (fscanf(answer, "%lf", &run->notes[i]) != 1)
            run->notes[i] = 0;
    }
    fclose(answer);
    return read && ops != 0;
}

/* Touches memory and frees it, so that the system has it for the run. The host of a virtual machine
 * takes back what is free for some seconds, and getting it again costs whoever comes next up to 160
 * ns a timer of timer-fire: that is neither side's doing. Without memory it is left out. */
static void supply_memory(void) {
    const size_t page = 4096;
    char *memory =
        mmap(NULL, SUPPLY_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return;
    (void)madvise(memory, SUPPLY_BYTES, MADV_HUGEPAGE);
    for (size_t i = 0; i < SUPPLY_BYTES; i += page)
        *(volatile char *)(memory + i) = 1;
    munmap(memory, SUPPLY_BYTES);
}

bool run_once(const struct bench *bench, const struct setup *setup, struct bench_run *run) {
    int fds[2];
    if (setup->size >= bench->size || setup->peer != NULL) /* small runs need none */
        supply_memory();
    fflush(NULL); /* or the child would print it again */
    if (pipe(fds) != 0)
        bench_fail("pipe: %s", strerror(errno));
    pid_t child = fork();
    if (child < 0)
        bench_fail("fork: %s", strerror(errno));
    if (child == 0) {
        if (bench->has_client)
            offer_client(setup);
        prepare_child(setup->cpu);
        dup2(fds[1], STDOUT_FILENO);
        close(fds[0]);
        close(fds[1]);
        if (setup->peer != NULL)
            run_peer(bench, setup);
        else if (setup->floor)
            run_floor(bench, setup);
        else
            run_jzx(bench, setup);
    }
    close(fds[1]);
    bool read = read_run(fds[0], run);
    const char *who = setup->peer != NULL ? setup->peer : setup->floor ? "floor" : "jzx";
    return await_child(child, bench->name, who) && read;
}

/* CPUs of a shared machine are not equally fast, by up to a factor of two. So a gain by a second
 * one is compared with what one worker reaches on the average of both. */
static bool run_side(const struct bench *bench, const struct setup *setup, struct bench_run *run) {
    if (setup->over <= 1)
        return run_once(bench, setup, run);
    double speed = 0;
    uint64_t handovers = 0;
    BENCH_CHECK(bench->unit == BENCH_NS || bench->unit == BENCH_PER_S);
    for (unsigned i = 0; i < setup->over; i++) {
        struct setup on_one = *setup;
        on_one.cpu = bench_cpu_at(i);
        if (!run_once(bench, &on_one, run))
            return false;
        speed += (double)run->ops / run->seconds / setup->over;
        handovers += run->handovers;
    }
    run->handovers = handovers;
    run->seconds = (double)run->ops / speed;
    return true;
}

/* ---- figures ---- */

static double quantile(const double *sorted, unsigned count, double fraction) {
    double place = fraction * (double)(count - 1);
    unsigned below = (unsigned)place;
    unsigned above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (place - (double)below) * (sorted[above] - sorted[below]);
}

static struct spread spread_of(double *values, unsigned count) {
    bench_sort(values, count);
    return (struct spread){.median = quantile(values, count, 0.5),
                           .q1 = quantile(values, count, 0.25),
                           .q3 = quantile(values, count, 0.75),
                           .max = values[count - 1]};
}

double figure_of(const struct bench *bench, const struct bench_run *run) {
    switch (bench->unit) {
    case BENCH_NS:
    case BENCH_PER_S: return run->seconds * 1e9 / (double)run->ops;
    case BENCH_US: return run->amount;
    default: return run->amount / (double)run->ops;
    }
}

/* The runs of one side. */
struct samples {
    double seconds[PAIRS_MAX];
    double figures[PAIRS_MAX];
    double ratios[PAIRS_MAX];
    double notes[BENCH_NOTES_MAX][PAIRS_MAX];
    uint64_t ops;
    uint64_t handovers;
};

static void add_run(struct samples *samples, unsigned i, const struct bench *bench,
                    const struct bench_run *run) {
    samples->seconds[i] = run->seconds;
    samples->figures[i] = figure_of(bench, run);
    for (unsigned note = 0; note < BENCH_NOTES_MAX; note++)
        samples->notes[note][i] = run->notes[note];
    samples->ops = run->ops;
    samples->handovers = (i == 0 ? 0 : samples->handovers) + run->handovers;
}

static void finish_side(struct side *side, struct samples *samples, unsigned pairs) {
    side->ops = samples->ops;
    side->handovers = samples->handovers;
    side->seconds = spread_of(samples->seconds, pairs);
    side->figure = spread_of(samples->figures, pairs);
    side->ratio = spread_of(samples->ratios, pairs);
    for (unsigned note = 0; note < BENCH_NOTES_MAX; note++)
        side->notes[note] = spread_of(samples->notes[note], pairs).median;
}

/* ---- what is compared ---- */

uint64_t size_of(const struct bench *bench, const struct options *options) {
    uint64_t size_min = bench->size_min != 0 ? bench->size_min : 1;
    uint64_t size = options->small ? bench->size / SMALL_SHARE : bench->size;
    return size > size_min ? size : size_min;
}

static struct side *add_side(struct measured *measured, struct setup setup) {
    struct side *side = &measured->sides[measured->count++];
    side->setup = setup;
    return side;
}

static bool has_apart(const struct bench *bench, const struct setup *setup, enum mode mode) {
    return bench->apart != NULL && mode == MODE_WORKERS && is_pinned(bench, setup) &&
           setup->workers <= BENCH_APART_MAX;
}

static struct setup apart_of(struct setup setup) {
    setup.apart = true;
    return setup;
}

static void set_sides(struct measured *measured, const struct options *options) {
    const struct bench *bench = measured->bench;
    struct setup setup = {.workers = options->workers,
                          .balance = options->balance,
                          .size = size_of(bench, options),
                          .cpu = options->mode == MODE_FLOOR ? options->cpu : ANY_CPU,
                          .may_pin = options->mode != MODE_PEERS}; /* the peers do not */
    if (bench->has_client)
        setup.cpu = setup.workers == 1 ? bench_cpu_at(0) : ANY_CPU;
    if (options->mode == MODE_BALANCE) {
        for (setup.balance = JZX_BALANCE_ADAPTIVE; setup.balance < JZX_BALANCE_NONE;
             setup.balance++)
            add_side(measured, setup);
    }
    add_side(measured, setup);
    if (options->mode == MODE_PEERS) {
        choose_peers(options, measured);
        return;
    }
    bool with_floor = options->mode == MODE_FLOOR || bench->kind == BENCH_SEVERAL;
    bool with_alone = with_floor && bench->kind == BENCH_ONE && bench->alone != NULL;
    measured->has_reference = !with_floor || bench->floor_row != NULL || with_alone;
    if (with_alone) {
        setup.alone = true;
    } else if (with_floor) {
        setup.floor = true;
    } else {
        if (has_apart(bench, &setup, options->mode))
            add_side(measured, apart_of(setup));
        setup.workers = options->against;
        setup.alone = setup.workers == 1 && bench->alone != NULL;
        if (options->mode == MODE_BALANCE)
            setup.balance = JZX_BALANCE_ADAPTIVE;
        if (setup.workers == 1 && is_pinned(bench, &measured->sides[0].setup))
            setup.over = options->workers;
    }
    if (measured->has_reference)
        add_side(measured, setup);
}

/* Which side runs at that turn of a pair: every other time in the opposite order. What shares
 * nothing, the second side then, comes before or after the two that are compared. */
static unsigned side_at(const struct measured *measured, unsigned i, unsigned turn) {
    unsigned side = i % 2 == 0 ? turn : measured->count - 1 - turn;
    return measured->sides[1].setup.apart && side < 2 ? 1 - side : side;
}

/* One run of every side, and the ratios of the pair. False if a run failed. */
static bool run_pair(const struct measured *measured, struct samples *samples, unsigned i) {
    unsigned last = measured->count - 1;
    for (unsigned turn = 0; turn <= last; turn++) {
        unsigned side = side_at(measured, i, turn);
        struct bench_run run = {0};
        if (!run_side(measured->bench, &measured->sides[side].setup, &run))
            return false;
        add_run(&samples[side], i, measured->bench, &run);
    }
    unsigned reference = measured->is_race ? 0 : last;
    for (unsigned side = 0; side <= last; side++)
        samples[side].ratios[i] = samples[side].figures[i] / samples[reference].figures[i];
    return true;
}

/* True if the ratios of the first side say little as yet. */
static bool is_unsure(const struct samples *samples, unsigned pairs) {
    double ratios[PAIRS_MAX];
    memcpy(ratios, samples[0].ratios, pairs * sizeof ratios[0]);
    struct spread spread = spread_of(ratios, pairs);
    return spread.q3 > QUARTILES_APART * spread.q1;
}

unsigned pairs_of(const struct bench *bench, const struct options *options) {
    bool is_enough = bench->pairs_max != 0 && bench->pairs_max < options->pairs;
    return is_enough ? bench->pairs_max : options->pairs;
}

unsigned pairs_most(const struct options *options) {
    if (options->mode == MODE_PEERS || options->small)
        return options->pairs;
    return options->pairs * PAIRS_GROW < PAIRS_MAX ? options->pairs * PAIRS_GROW : PAIRS_MAX;
}

void measure(const struct bench *bench, const struct options *options, struct measured *measured) {
    static struct samples samples[SIDES_MAX];
    *measured = (struct measured){.bench = bench, .is_race = options->mode == MODE_PEERS};
    set_sides(measured, options);
    unsigned enough = bench->pairs_max != 0 ? bench->pairs_max : PAIRS_MAX;
    unsigned pairs = pairs_of(bench, options);
    unsigned most = measured->has_reference ? pairs_most(options) : pairs;
    most = most < enough ? most : enough;
    do {
        for (unsigned i = 0; i < pairs && measured->pairs < most; i++) {
            if (!run_pair(measured, samples, measured->pairs++)) {
                measured->failed = true;
                return;
            }
        }
    } while (measured->pairs < most && is_unsure(samples, measured->pairs));
    for (unsigned side = 0; side < measured->count; side++)
        finish_side(&measured->sides[side], &samples[side], measured->pairs);
}

/* ---- verdicts ---- */

/* The aims for two workers, and what a second one must gain, were written for two CPUs. */
struct limits limits_of(const struct measured *measured) {
    const struct bench *bench = measured->bench;
    const struct setup *first = &measured->sides[0].setup;
    const struct setup *last = &measured->sides[measured->count - 1].setup;
    bool on_two = first->workers == 2 && first->cpu == ANY_CPU && bench_cpus() >= 2;
    struct limits limits = {.aim = bench->aim, .ratio = -1};
    if (first->workers > 1 && bench->kind == BENCH_BOTH)
        limits.aim = on_two && bench->aim_2 > 0 ? bench->aim_2 : -1;
    if (!measured->has_reference)
        return limits;
    if (last->floor || last->alone)
        limits.ratio = bench->ratio_limit > 0 ? bench->ratio_limit : -1;
    else if (on_two && last->workers == 1 && bench->speedup_min > 0)
        limits.ratio = 1 / bench->speedup_min;
    else
        limits.ratio = SLOWDOWN_MAX;
    return limits;
}

/* Of allocations and switches not one is allowed, so there the worst run counts, and not the
 * middle. */
bool keeps_aim(const struct measured *measured) {
    enum bench_unit unit = measured->bench->unit;
    const struct spread *figure = &measured->sides[0].figure;
    bool none_allowed = unit == BENCH_ALLOCATIONS || unit == BENCH_SWITCHES;
    double aim = limits_of(measured).aim;
    return aim < 0 || (none_allowed ? figure->max : figure->median) <= aim;
}

bool keeps_ratio(const struct measured *measured) {
    double limit = limits_of(measured).ratio;
    return limit < 0 || measured->sides[0].ratio.median <= limit;
}
