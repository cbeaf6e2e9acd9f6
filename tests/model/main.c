/* SPDX-License-Identifier: MIT */
/* jzx_model: explores the scenarios, looks for seeded mistakes, sweeps over all memory orders. */
#include "mutants.h"
#include "scenarios.h"
#include "sites.h"
#include "sweep.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SCENARIOS_MAX 256
#define EXIT_SKIPPED 77

static const char usage[] =
    "usage: jzx_model [OPTION]...\n"
    "  --list             the suites and scenarios, and the mutants\n"
    "  --suite NAME       only this suite\n"
    "  --scenario NAME    only this scenario\n"
    "  --bound N          at most N preemptions in an execution\n"
    "  --stale N          at most N steps that do not see the newest store\n"
    "  --executions N     at most N executions of a scenario\n"
    "  --mutant NAME      with this mistake; succeeds if the scenario fails that is to find it\n"
    "  --weaken SPEC      with a weaker order at FILE:LINE[:HOW] or "
    "FUNCTION/OPERATION/OPERAND[:HOW],\n"
    "                     HOW an order or \"failed\"; succeeds if a scenario fails\n"
    "  --replay CHOICES   one execution of one scenario, with its trace\n"
    "  --full             also executions that are the same as others\n"
    "  --sweep            weakens each site by one step, and says which of that is found\n"
    "  --file NAME        only in files of src with that in their name\n"
    "  --only-long        does nothing (and says 77) unless JZX_STRESS=long\n";

struct options {
    const char *suite;
    const char *scenario;
    const char *mutant;
    const char *weaken;
    const char *replay;
    const char *file;
    uint64_t executions_max;
    struct model_bounds bounds;
    bool list;
    bool sweep;
    bool only_long;
    bool expect_failure; /* a mistake was asked for */
};

static struct model_suite suites[] = {
    {"litmus", model_litmus, &model_litmus_count},
    {"deque", model_deque, &model_deque_count},
    {"job", model_job, &model_job_count},
    {"parker", model_parker, &model_parker_count},
    {"task", model_task, &model_task_count},
    {"move", model_move, &model_move_count},
    {"seat", model_seat, &model_seat_count},
    {"worker", model_worker, &model_worker_count},
    {"crew", model_crew, &model_crew_count},
    {"watchdog", model_watchdog, &model_watchdog_count},
    {"timer", model_timer, &model_timer_count},
    {"watch", model_watch, &model_watch_count},
    {"waiter", model_waiter, &model_waiter_count},
    {"served", model_served, &model_served_count},
    {"permits", model_permits, &model_permits_count},
    {"channel", model_channel, &model_channel_count},
    {"future", model_future, &model_future_count},
    {"room", model_room, &model_room_count},
};
static const size_t suite_count = sizeof suites / sizeof *suites;

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* The scenarios that the options choose, into chosen. */
static size_t choose(const struct options *options, const struct model_scenario **chosen) {
    size_t count = 0;
    for (size_t i = 0; i < suite_count; i++) {
        const struct model_suite *suite = &suites[i];
        if (options->suite != NULL && strcmp(options->suite, suite->name) != 0)
            continue;
        bool search = options->expect_failure || options->sweep;
        if (search && suite->scenarios == model_litmus)
            continue; /* not about the library's code */
        for (size_t k = 0; k < *suite->count; k++) {
            const char *name = suite->scenarios[k].name;
            bool wanted = options->scenario == NULL || strcmp(options->scenario, name) == 0;
            if (wanted && count < SCENARIOS_MAX)
                chosen[count++] = &suite->scenarios[k];
        }
    }
    return count;
}

/* ---- one scenario ---- */

static void print_rerun(const struct model_scenario *scenario, const struct options *options,
                        const struct model_result *result) {
    fprintf(stderr, "rerun: jzx_model --scenario %s", scenario->name);
    if (options->bounds.preemptions != 0)
        fprintf(stderr, " --bound %u", options->bounds.preemptions % MODEL_NONE);
    if (options->bounds.stale != 0)
        fprintf(stderr, " --stale %u", options->bounds.stale % MODEL_NONE);
    if (options->mutant != NULL)
        fprintf(stderr, " --mutant %s", options->mutant);
    if (options->weaken != NULL)
        fprintf(stderr, " --weaken '%s'", options->weaken);
    fprintf(stderr, " --replay %s\n", result->replay);
}

static bool explore(const struct model_scenario *scenario, const struct options *options,
                    struct model_result *result) {
    double began = seconds_now();
    model_explore(scenario, &options->bounds, options->replay, options->executions_max, result);
    printf("%-30s %9" PRIu64 " executions, %9" PRIu64 " cut %6.2f s%s%s\n", scenario->name,
           result->executions, result->cut, seconds_now() - began,
           result->limited ? "  not all" : "", result->failed ? "  FAILED" : "");
    fflush(stdout);
    return !result->failed;
}

static bool run_one(const struct model_scenario *scenario, const struct options *options) {
    struct model_result result;
    bool right = explore(scenario, options, &result);
    if (!right) {
        model_trace_print(stderr);
        fprintf(stderr, "%s: %s\n", scenario->name, result.why);
        if (result.replay[0] != '\0')
            print_rerun(scenario, options, &result);
    } else if (options->replay != NULL) {
        model_trace_print(stdout);
    }
    return right;
}

/* Scenarios that must fail: the engine's own mutants. */
static unsigned run_broken(const struct options *options) {
    unsigned wrong = 0;
    for (size_t i = 0; i < model_broken_count; i++) {
        struct model_result result;
        const struct model_broken *broken = &model_broken[i];
        model_explore(&broken->scenario, &options->bounds, NULL, 0, &result);
        bool right = result.failed && strstr(result.why, broken->says) != NULL;
        printf("%-30s %9" PRIu64 " executions, %s\n", broken->scenario.name, result.executions,
               right ? "fails as it must" : "DOES NOT FAIL AS IT MUST");
        wrong += !right;
    }
    return wrong;
}

static bool run(const struct options *options, const struct model_scenario **chosen, size_t count) {
    unsigned failed = 0;
    for (size_t i = 0; i < count; i++) {
        failed += !run_one(chosen[i], options);
        if (failed != 0 && options->expect_failure) {
            printf("found\n");
            return true;
        }
    }
    if (options->expect_failure) {
        printf("NOT FOUND\n");
        return false;
    }
    bool litmus = options->suite == NULL || strcmp(options->suite, "litmus") == 0;
    if (litmus && options->scenario == NULL)
        failed += run_broken(options);
    return failed == 0;
}

/* ---- options ---- */

static void list(void) {
    for (size_t i = 0; i < suite_count; i++) {
        const struct model_suite *suite = &suites[i];
        for (size_t k = 0; k < *suite->count; k++)
            printf("%-8s %-30s %s\n", suite->name, suite->scenarios[k].name,
                   suite->scenarios[k].about);
    }
    for (size_t i = 0; i < model_mutant_count; i++)
        printf("mutant   %-30s %s\n", model_mutants[i].name, model_mutants[i].about);
}

static bool set_bound(unsigned *bound, const char *text) {
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    if (*text == '\0' || *end != '\0' || value > MODEL_UNBOUNDED)
        return false;
    *bound = value == 0 ? MODEL_NONE : (unsigned)value;
    return true;
}

/* A mutant is a weakened order, or a JZX__MUTANT of the source. */
static bool set_mutant(struct options *options, const char *name) {
    for (size_t i = 0; i < model_mutant_count; i++) {
        if (strcmp(model_mutants[i].name, name) != 0)
            continue;
        options->mutant = name;
        options->expect_failure = true;
        if (options->scenario == NULL)
            options->scenario = model_mutants[i].by;
        if (model_mutants[i].weaken != NULL)
            return model_sites_weaken_by_spec(model_mutants[i].weaken);
        model_set_mutant(name);
        return true;
    }
    return false;
}

static bool set_option(struct options *options, const char *name, const char *value) {
    if (strcmp(name, "--suite") == 0)
        options->suite = value;
    else if (strcmp(name, "--scenario") == 0)
        options->scenario = value;
    else if (strcmp(name, "--bound") == 0)
        return set_bound(&options->bounds.preemptions, value);
    else if (strcmp(name, "--stale") == 0)
        return set_bound(&options->bounds.stale, value);
    else if (strcmp(name, "--executions") == 0)
        options->executions_max = strtoull(value, NULL, 10);
    else if (strcmp(name, "--file") == 0)
        options->file = value;
    else if (strcmp(name, "--replay") == 0)
        options->replay = value;
    else if (strcmp(name, "--mutant") == 0)
        return set_mutant(options, value);
    else if (strcmp(name, "--weaken") == 0) {
        options->weaken = value;
        options->expect_failure = true;
        return model_sites_weaken_by_spec(value);
    } else
        return false;
    return true;
}

/* Options without a value. */
static bool set_flag(struct options *options, const char *name) {
    if (strcmp(name, "--list") == 0)
        options->list = true;
    else if (strcmp(name, "--sweep") == 0)
        options->sweep = true;
    else if (strcmp(name, "--only-long") == 0)
        options->only_long = true;
    else if (strcmp(name, "--full") == 0)
        model_set_full(true);
    else
        return false;
    return true;
}

static bool is_long_run(void) {
    const char *stress = getenv("JZX_STRESS");
    return stress != NULL && strcmp(stress, "long") == 0;
}

int main(int argc, char **argv) {
    struct options options = {.suite = NULL};
    const struct model_scenario *chosen[SCENARIOS_MAX];
    for (int i = 1; i < argc; i++) {
        if (set_flag(&options, argv[i]))
            continue;
        if (i + 1 == argc || !set_option(&options, argv[i], argv[i + 1])) {
            fputs(usage, stderr);
            return EXIT_FAILURE;
        }
        i++;
    }
    if (options.only_long && !is_long_run())
        return EXIT_SKIPPED;
    if (options.list) {
        list();
        return EXIT_SUCCESS;
    }
    size_t count = choose(&options, chosen);
    if (count == 0) {
        fprintf(stderr, "jzx_model: no such scenario\n");
        return EXIT_FAILURE;
    }
    bool right = options.sweep ? model_sweep(chosen, count, &options.bounds, options.executions_max,
                                             options.file)
                               : run(&options, chosen, count);
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
