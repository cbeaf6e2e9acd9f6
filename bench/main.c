/* SPDX-License-Identifier: MIT */
/* jzx_bench [names] [--json] [--pairs N] [--cpu N] [--profile]: measures the rows that were named,
 * or all. A missed aim is a line in the table and no failure; a wrong result is. With --profile
 * our side of each row runs once, in this process and without a floor: for perf and valgrind. Exit
 * codes: 0, 1 if a run was wrong, 2 for wrong use. */
#include "driver.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>

static const struct bench *const benches[] = {
#define BENCH_ADDRESS(name) &bench_##name,
    BENCH_MAP(BENCH_ADDRESS)
#undef BENCH_ADDRESS
};

#define BENCH_COUNT (sizeof benches / sizeof benches[0])

struct options {
    bool json;
    bool profile;
    unsigned pairs;
    int cpu;
    bool selected[BENCH_COUNT];
};

__attribute__((noreturn)) static void wrong_use(const char *what, const char *value) {
    fprintf(stderr, "jzx bench: %s '%s'\n", what, value);
    fprintf(stderr, "usage: jzx bench [names] [--json] [--pairs N] [--cpu N] [--profile]\n"
                    "names:");
    for (size_t i = 0; i < BENCH_COUNT; i++)
        fprintf(stderr, " %s", benches[i]->name);
    fputc('\n', stderr);
    exit(2);
}

/* "foreign" names "foreign-2", too. */
static bool is_named(const struct bench *bench, const char *name) {
    size_t len = strlen(name);
    return strncmp(bench->name, name, len) == 0 &&
           (bench->name[len] == '\0' || bench->name[len] == '-');
}

static bool select_name(struct options *options, const char *name) {
    bool found = false;
    for (size_t i = 0; i < BENCH_COUNT; i++) {
        if (is_named(benches[i], name))
            found = options->selected[i] = true;
    }
    return found;
}

static long number_of(const char *option, const char *text, long min, long max) {
    char *end = NULL;
    if (text == NULL)
        wrong_use("a number must follow", option);
    errno = 0;
    long number = strtol(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || number < min || number > max)
        wrong_use("not a number that is allowed here:", text);
    return number;
}

/* The last CPU that we may use: the first is where a system does its other work. */
static int default_cpu(void) {
    cpu_set_t allowed;
    int cpu = 0;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
        for (int i = 0; i < CPU_SETSIZE; i++) {
            if (CPU_ISSET((size_t)i, &allowed))
                cpu = i;
        }
    }
    return cpu;
}

static int cpu_of(const char *option, const char *text) {
    cpu_set_t allowed;
    long cpu = number_of(option, text, 0, CPU_SETSIZE - 1);
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0 && !CPU_ISSET((size_t)cpu, &allowed))
        wrong_use("not a CPU that we may use:", text);
    return (int)cpu;
}

static struct options parse(char **args) {
    struct options options = {.pairs = PAIRS_DEFAULT, .cpu = default_cpu()};
    bool all = true;
    for (; *args != NULL; args++) {
        if (strcmp(*args, "--json") == 0) {
            options.json = true;
        } else if (strcmp(*args, "--profile") == 0) {
            options.profile = true;
        } else if (strcmp(*args, "--pairs") == 0) {
            options.pairs = (unsigned)number_of(args[0], args[1], PAIRS_MIN, PAIRS_MAX);
            args++;
        } else if (strcmp(*args, "--cpu") == 0) {
            options.cpu = cpu_of(args[0], args[1]);
            args++;
        } else if (**args == '-') {
            wrong_use("no option", *args);
        } else if (select_name(&options, *args)) {
            all = false;
        } else {
            wrong_use("no benchmark", *args);
        }
    }
    for (size_t i = 0; i < BENCH_COUNT && all; i++)
        options.selected[i] = true;
    return options;
}

static void profile(const struct options *options) {
    for (size_t i = 0; i < BENCH_COUNT; i++) {
        struct bench_run run = {0};
        if (!options->selected[i])
            continue;
        run_here(benches[i], &run);
        printf("%s: %llu operations in %.3f s\n", benches[i]->name, (unsigned long long)run.ops,
               run.seconds);
    }
}

int main(int argc, char **argv) {
    (void)argc;
    struct options options = parse(argv + 1);
    bool failed = false;
    if (options.profile) {
        profile(&options);
        return 0;
    }
    if (!options.json)
        print_head(stdout, options.pairs, options.cpu);
    for (size_t i = 0; i < BENCH_COUNT; i++) {
        if (!options.selected[i])
            continue;
        struct measured measured;
        measure(benches[i], options.pairs, options.cpu, &measured);
        failed |= measured.failed;
        if (options.json)
            print_json(stdout, &measured);
        else
            print_row(stdout, &measured);
    }
    return failed ? 1 : 0;
}
