/* SPDX-License-Identifier: MIT */
/* The command line: what to measure, and which rows. */
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

/* What was said, as it is read. */
struct said {
    struct options options;
    bool profile;
    bool workers;
    bool balance;
    bool every_balance;
    bool held;
    bool cpu;
    bool either; /* names of rows that are in a race with another number of workers are fine */
    bool peers;
    bool names;
    bool named[BENCH_COUNT];
    bool named_in_full[BENCH_COUNT];
};

static void print_usage(FILE *out) {
    fputs("usage: jzx bench [names] [--json] [--pairs N] [--cpu N] [--profile] [--small]\n"
          "       jzx bench [names] --workers N[:M] [--held] [--balance adaptive|eager|none|all]\n"
          "                 [--json] [--pairs N] [--profile] [--small]\n"
          "       jzx bench [names] --peers[=all] [--workers N] [--json] [--pairs N] [--small]\n"
          "any:   [--save FILE]  append what --json prints to a file\n"
          "names:",
          out);
    for (size_t i = 0; i < BENCH_COUNT; i++)
        fprintf(out, " %s", benches[i]->name);
    fputs("\ngroups: what is before a '-', as scale; timers\n"
          "run only if they are named:",
          out);
    for (size_t i = 0; i < BENCH_COUNT; i++) {
        if (benches[i]->if_named)
            fprintf(out, " %s", benches[i]->name);
    }
    fputc('\n', out);
}

__attribute__((noreturn)) static void wrong_use(const char *what, const char *value) {
    print_usage(stderr);
    fprintf(stderr, "jzx bench: %s '%s'\n", what, value);
    exit(2);
}

/* ---- values ---- */

static long number_of(const char *option, const char *text, char after, long min, long max) {
    char *end = NULL;
    if (text == NULL)
        wrong_use("a number must follow", option);
    errno = 0;
    long number = strtol(text, &end, 10);
    if (end == text || (*end != '\0' && *end != after) || errno != 0 || number < min ||
        number > max)
        wrong_use("not a number that is allowed here:", text);
    return number;
}

/* The last CPU that we may use: the first is where a system does its other work. */
static int default_cpu(void) {
    return bench_cpu_at(bench_cpus() - 1);
}

static int cpu_of(const char *option, const char *text) {
    cpu_set_t allowed;
    long cpu = number_of(option, text, '\0', 0, CPU_SETSIZE - 1);
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0 && !CPU_ISSET((size_t)cpu, &allowed))
        wrong_use("not a CPU that we may use:", text);
    return (int)cpu;
}

/* "N:M", or "N": against one worker, or, if N are more than there are CPUs, against one for each
 * CPU. */
static void set_workers(struct said *said, const char *option, const char *text) {
    long workers = number_of(option, text, ':', 1, JZX_WORKERS_MAX);
    const char *colon = strchr(text, ':');
    unsigned cpus = bench_cpus();
    said->workers = true;
    said->options.workers = (uint32_t)workers;
    if (colon != NULL)
        said->options.against = (uint32_t)number_of(option, colon + 1, '\0', 1, JZX_WORKERS_MAX);
    else
        said->options.against = workers > cpus ? cpus : 1;
}

static void set_balance(struct said *said, const char *option, const char *text) {
    if (text == NULL)
        wrong_use("a setting must follow", option);
    said->balance = true;
    said->every_balance = strcmp(text, "all") == 0;
    if (said->every_balance)
        return;
    for (jzx_balance i = JZX_BALANCE_ADAPTIVE; i <= JZX_BALANCE_NONE; i++) {
        if (strcmp(text, balance_name(i)) == 0) {
            said->options.balance = i;
            return;
        }
    }
    wrong_use("not a setting of balance:", text);
}

/* ---- names ---- */

/* "foreign" names "foreign-2", too; and "timers" all that is about a timer. */
static bool is_named(const struct bench *bench, const char *name) {
    size_t len = strcmp(name, "timers") == 0 ? strlen("timer") : strlen(name);
    return strncmp(bench->name, name, len) == 0 &&
           (bench->name[len] == '\0' || bench->name[len] == '-');
}

static void add_name(struct said *said, const char *name) {
    bool found = false;
    for (size_t i = 0; i < BENCH_COUNT; i++) {
        if (is_named(benches[i], name))
            found = said->named[i] = true;
        if (strcmp(benches[i]->name, name) == 0)
            said->named_in_full[i] = true;
    }
    if (!found)
        wrong_use("no benchmark", name);
    said->names = true;
}

/* Is the row in the table that was asked for? */
static bool is_in_table(const struct said *said, const struct bench *bench) {
    if (bench->if_named && !said->names)
        return false;
    if (said->peers)
        return is_in_race(bench, said->options.workers);
    switch (bench->kind) {
    case BENCH_ONE: return !said->workers;
    case BENCH_BOTH: return !said->held;
    case BENCH_WORKERS: return said->workers && !said->held;
    case BENCH_SEVERAL: return said->workers && !said->held && said->options.workers > 1;
    case BENCH_HELD: return said->held;
    }
    return false;
}

static const char *why_not(const struct said *said, const struct bench *bench) {
    if (said->peers)
        return "not in the race with so many workers:";
    if (bench->kind == BENCH_HELD)
        return "held out, see --held:";
    if (said->held)
        return "not one of those that are held out:";
    if (bench->kind == BENCH_ONE)
        return "runs with one worker only:";
    return said->workers ? "needs two workers at least:" : "needs --workers:";
}

static void select_rows(struct said *said) {
    static const struct bench *selected[BENCH_COUNT + 1];
    const struct bench *wanted = NULL;
    bool elsewhere = false;
    size_t count = 0;
    for (size_t i = 0; i < BENCH_COUNT; i++) {
        bool in_table = is_in_table(said, benches[i]);
        bool in_other_table =
            said->either && (is_in_race(benches[i], 1) || is_in_race(benches[i], 2));
        if (said->named_in_full[i] && !in_table && !in_other_table)
            wrong_use(why_not(said, benches[i]), benches[i]->name);
        if (in_table && (!said->names || said->named[i]))
            selected[count++] = benches[i];
        elsewhere = elsewhere || (said->named[i] && in_other_table);
        wanted = said->named[i] ? benches[i] : wanted;
    }
    if (count == 0 && wanted != NULL && !elsewhere)
        wrong_use(why_not(said, wanted), wanted->name);
    selected[count] = NULL;
    said->options.selected = selected;
}

/* ---- all together ---- */

static bool *flag_of(struct said *said, const char *option) {
    if (strcmp(option, "--json") == 0)
        return &said->options.json;
    if (strcmp(option, "--small") == 0)
        return &said->options.small;
    if (strcmp(option, "--profile") == 0)
        return &said->profile;
    if (strcmp(option, "--peers") == 0)
        return &said->peers;
    if (strcmp(option, "--either") == 0)
        return &said->either;
    if (strcmp(option, "--check") == 0)
        return &said->options.check;
    return strcmp(option, "--held") == 0 ? &said->held : NULL;
}

static void take_value(struct said *said, const char *option, const char *value) {
    if (strcmp(option, "--pairs") == 0) {
        said->options.pairs = (unsigned)number_of(option, value, '\0', PAIRS_MIN, PAIRS_MAX);
    } else if (strcmp(option, "--cpu") == 0) {
        said->cpu = true;
        said->options.cpu = cpu_of(option, value);
    } else if (strcmp(option, "--workers") == 0) {
        set_workers(said, option, value);
    } else if (strcmp(option, "--save") == 0) {
        if (value == NULL)
            wrong_use("a file must follow", option);
        said->options.save = value;
    } else if (strcmp(option, "--balance") == 0) {
        set_balance(said, option, value);
    } else {
        wrong_use("no option", option);
    }
}

/* Takes one option with its value, or a name, and returns where the next begins. */
static char **take(struct said *said, char **args) {
    bool *flag = flag_of(said, args[0]);
    if (strcmp(args[0], "--help") == 0 || strcmp(args[0], "-h") == 0) {
        print_usage(stdout);
        exit(0);
    }
    if (strcmp(args[0], "--peers=all") == 0) {
        said->peers = said->options.every_peer = true;
    } else if (flag != NULL) {
        *flag = true;
    } else if (args[0][0] == '-') {
        take_value(said, args[0], args[1]);
        return args + 2;
    } else {
        add_name(said, args[0]);
    }
    return args + 1;
}

static void check_together(const struct said *said) {
    const struct options *options = &said->options;
    if (said->held && !said->workers)
        wrong_use("needs --workers:", "--held");
    if (said->balance && !said->workers)
        wrong_use("needs --workers:", "--balance");
    if (said->cpu && said->workers)
        wrong_use("several workers have all CPUs:", "--cpu");
    if (said->profile && said->every_balance)
        wrong_use("--profile takes one setting of", "--balance");
    if (said->peers && (said->profile || said->held || said->balance || said->cpu))
        wrong_use("takes names, --workers, --json, --pairs and --small beside it:", "--peers");
    if (said->workers && !said->profile && !said->peers && options->workers <= options->against)
        wrong_use("more workers are compared with fewer:", "--workers");
}

const struct options *options_parse(char **args) {
    static struct said said;
    said = (struct said){.options = {.pairs = PAIRS_DEFAULT,
                                     .cpu = default_cpu(),
                                     .workers = 1,
                                     .balance = JZX_BALANCE_ADAPTIVE}};
    while (*args != NULL)
        args = take(&said, args);
    check_together(&said);
    if (said.profile)
        said.options.mode = MODE_PROFILE;
    else if (said.peers)
        said.options.mode = MODE_PEERS;
    else if (said.every_balance)
        said.options.mode = MODE_BALANCE;
    else
        said.options.mode = said.workers ? MODE_WORKERS : MODE_FLOOR;
    select_rows(&said);
    return &said.options;
}
