/* SPDX-License-Identifier: MIT */
/* Running. Every run is a process of its own, so that no run inherits a heap, and both sides of a
 * pair are on one CPU, one right after the other, so that both meet the same phase of a noisy
 * machine. */
#include "driver.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* A run that takes longer than this is stuck. */
#define RUN_SECONDS_MAX 60u

/* ---- the child ---- */

static void prepare_child(int cpu) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0)
        bench_fail("cannot run on CPU %d: %s", cpu, strerror(errno));
    alarm(RUN_SECONDS_MAX); /* also bounds the program that replaces this one */
}

void run_here(const struct bench *bench, struct bench_run *run) {
    jzx_loop *loop = jzx_loop_create(bench->config);
    BENCH_CHECK(loop != NULL);
    bench->run(loop, bench->size, run);
    BENCH_CHECK(jzx_loop_destroy(loop) == JZX_OK);
}

static void run_jzx(const struct bench *bench) {
    struct bench_run run = {0};
    run_here(bench, &run);
    printf("%.9f %llu %.1f\n", run.seconds, (unsigned long long)run.ops, run.amount);
    exit(fflush(stdout) == 0 ? 0 : 1);
}

static void run_floor(const struct bench *bench) {
    char path[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", path, sizeof path - sizeof "floor");
    BENCH_CHECK(len > 0);
    path[len] = '\0';
    memcpy(strrchr(path, '/') + 1, "floor", sizeof "floor");
    char size[32];
    snprintf(size, sizeof size, "%llu", (unsigned long long)bench->size);
    execl(path, "floor", bench->floor_row, size, (char *)NULL);
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
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        fprintf(stderr, "jzx bench: %s (%s) took more than %u s\n", name, peer, RUN_SECONDS_MAX);
    else if (WIFSIGNALED(status))
        fprintf(stderr, "jzx bench: %s (%s) ended by signal %d\n", name, peer, WTERMSIG(status));
    else
        fprintf(stderr, "jzx bench: %s (%s) failed\n", name, peer);
    return false;
}

/* One run in a new process. False if it failed, which it has said. */
static bool run_once(const struct bench *bench, bool floor, int cpu, struct bench_run *run) {
    int fds[2];
    fflush(NULL); /* or the child would print it again */
    if (pipe(fds) != 0)
        bench_fail("pipe: %s", strerror(errno));
    pid_t child = fork();
    if (child < 0)
        bench_fail("fork: %s", strerror(errno));
    if (child == 0) {
        prepare_child(cpu);
        dup2(fds[1], STDOUT_FILENO);
        close(fds[0]);
        close(fds[1]);
        if (floor)
            run_floor(bench);
        else
            run_jzx(bench);
    }
    close(fds[1]);
    FILE *answer = fdopen(fds[0], "r");
    if (answer == NULL)
        bench_fail("fdopen: %s", strerror(errno));
    unsigned long long ops = 0;
    bool read = fscanf(answer, "%lf %llu %lf", &run->seconds, &ops, &run->amount) == 3;
    run->ops = ops;
    fclose(answer);
    return await_child(child, bench->name, floor ? "floor" : "jzx") && read && ops != 0;
}

/* ---- figures ---- */

static int compare_doubles(const void *a, const void *b) {
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

static double quantile(const double *sorted, unsigned count, double fraction) {
    double place = fraction * (double)(count - 1);
    unsigned below = (unsigned)place;
    unsigned above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (place - (double)below) * (sorted[above] - sorted[below]);
}

struct spread spread_of(double *values, unsigned count) {
    qsort(values, count, sizeof values[0], compare_doubles);
    return (struct spread){.median = quantile(values, count, 0.5),
                           .q1 = quantile(values, count, 0.25),
                           .q3 = quantile(values, count, 0.75),
                           .max = values[count - 1]};
}

static double figure_of(const struct bench *bench, const struct bench_run *run) {
    double amount = bench->unit == BENCH_NS ? run->seconds * 1e9 : run->amount;
    return amount / (double)run->ops;
}

struct samples {
    double seconds[PAIRS_MAX];
    double figures[PAIRS_MAX];
};

static struct side side_of(struct samples *samples, unsigned pairs, uint64_t ops) {
    return (struct side){.ops = ops,
                         .seconds = spread_of(samples->seconds, pairs),
                         .figure = spread_of(samples->figures, pairs)};
}

/* The floor's share of pair i is missing if the row has no floor. */
void measure(const struct bench *bench, unsigned pairs, int cpu, struct measured *measured) {
    static struct samples jzx;
    static struct samples floor;
    static double ratios[PAIRS_MAX];
    struct bench_run ours = {0};
    struct bench_run theirs = {0};
    *measured = (struct measured){.bench = bench, .pairs = pairs};
    for (unsigned i = 0; i < pairs; i++) {
        bool good = run_once(bench, false, cpu, &ours);
        if (good && has_floor(measured))
            good = run_once(bench, true, cpu, &theirs);
        if (!good) {
            measured->failed = true;
            return;
        }
        jzx.seconds[i] = ours.seconds;
        jzx.figures[i] = figure_of(bench, &ours);
        if (has_floor(measured)) {
            floor.seconds[i] = theirs.seconds;
            floor.figures[i] = figure_of(bench, &theirs);
            ratios[i] = jzx.figures[i] / floor.figures[i];
        }
    }
    measured->jzx = side_of(&jzx, pairs, ours.ops);
    if (has_floor(measured)) {
        measured->floor = side_of(&floor, pairs, theirs.ops);
        measured->ratio = spread_of(ratios, pairs);
    }
}

/* Of allocations not one is allowed, so there the worst run counts, and not the middle. */
bool keeps_aim(const struct measured *measured) {
    const struct bench *bench = measured->bench;
    const struct spread *figure = &measured->jzx.figure;
    double value = bench->unit == BENCH_ALLOCATIONS ? figure->max : figure->median;
    return bench->aim < 0 || value <= bench->aim;
}

bool keeps_ratio(const struct measured *measured) {
    double limit = measured->bench->ratio_limit;
    return limit <= 0 || measured->ratio.median <= limit;
}
