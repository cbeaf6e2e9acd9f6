/* SPDX-License-Identifier: MIT */
/* Runs rounds by seed, each in a process of its own, and watches that they get on. */
#include "fuzz.h"

#include <ftw.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A round that begins no call for so many looks hangs. A look takes 20 ms, and longer on a machine
 * that is too busy to look: so its time is no clock's. */
enum { LOOKS_UNTIL_HANG = 3000, LOOK_US = 20000, FAILURES_MAX = 20 };

static const char usage[] =
    "jzx_fuzz [--seed N] [--rounds N] [--seconds N] [--calls N] [--workers N]\n"
    "         [--only NAMES] [--without NAMES] [--trace] [--no-fork] [--gdb] [--list]\n"
    "\n"
    "Runs rounds with the seeds N, N+1, ...: as many as --rounds says, or for --seconds. NAMES "
    "are\n"
    "families or operations with commas between: --list prints them. A round that fails prints "
    "the\n"
    "line that reruns it; --gdb has its threads shown.\n";

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED_PART 10u
#else
#define SANITIZED_PART 1u
#endif

static uint64_t rounds;
static uint64_t seconds;
static bool forks = true;
static bool debugs; /* a debugger shows the threads of a round that fails */

static void list(void) {
    static const struct fuzz_family *const families[] = {
#define FUZZ_ADDRESS(name) &fuzz_##name,
        FUZZ_FAMILIES(FUZZ_ADDRESS)};
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
        for (size_t k = 0; k < families[i]->count; k++)
            printf("%s %s\n", families[i]->name, families[i]->operations[k].name);
}

/* The signals that actors may ask for are blocked in all threads. */
static void block_signals(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static void print_rerun(FILE *out, uint64_t seed) {
    fprintf(out, "rerun: jzx_fuzz --seed %llu", (unsigned long long)seed);
    if (fuzz_options.calls != 0)
        fprintf(out, " --calls %llu", (unsigned long long)fuzz_options.calls);
    if (fuzz_options.workers != 0)
        fprintf(out, " --workers %d", fuzz_options.workers);
    if (fuzz_options.only != NULL)
        fprintf(out, " --only %s", fuzz_options.only);
    if (fuzz_options.without != NULL)
        fprintf(out, " --without %s", fuzz_options.without);
    fprintf(out, "\n");
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *walk) {
    (void)info;
    (void)kind;
    (void)walk;
    return remove(path);
}

static void remove_folder(void) {
    if (fuzz_progress->folder[0] != '\0')
        nftw(fuzz_progress->folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

/* With --gdb a round that fails stops, and the parent has its threads shown. */
static void on_fault(int signo) {
    signal(signo, SIG_DFL);
    raise(SIGSTOP);
    raise(signo);
}

static void stop_at_faults(void) {
    static const int faults[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        signal(faults[i], on_fault);
}

static void show_threads(pid_t child) {
    char command[160];
    snprintf(command, sizeof command,
             "gdb -q -batch -p %d -ex 'thread apply all bt 24' 2>/dev/null | grep -a '^[#T]'",
             child);
    if (debugs && system(command) != 0)
        fprintf(stderr, "gdb shows nothing\n");
}

/* Waits for the child, and ends it if it begins no call any more. True if it ended well. */
static bool watch(pid_t child, uint64_t seed) {
    unsigned long long seen = 0;
    int status = 0;
    bool hangs = false;
    for (unsigned looks = 0;; looks++) {
        pid_t changed = waitpid(child, &status, WNOHANG | WUNTRACED);
        if (changed == child && !WIFSTOPPED(status))
            break;
        if (changed == child) {
            show_threads(child);
            kill(child, SIGCONT);
        }
        unsigned long long calls = atomic_load(&fuzz_progress->calls);
        if (calls != seen)
            looks = 0;
        seen = calls;
        if (looks == LOOKS_UNTIL_HANG) {
            hangs = true;
            show_threads(child);
            kill(child, SIGKILL);
        }
        struct timespec look = {0, looks < 50 ? 1000000 : LOOK_US * 1000};
        nanosleep(&look, NULL);
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    const char *last = atomic_load(&fuzz_progress->last);
    fprintf(stderr, "seed %llu %s, in phase %u, call %llu; the last one begun is %s\n",
            (unsigned long long)seed,
            hangs                 ? "hangs"
            : WIFSIGNALED(status) ? strsignal(WTERMSIG(status))
                                  : "failed",
            atomic_load(&fuzz_progress->phase), seen, last == NULL ? "none" : last);
    print_rerun(stderr, seed);
    return false;
}

static bool run_round(uint64_t seed) {
    *fuzz_progress = (struct fuzz_progress){0};
    fflush(stdout);
    pid_t child = forks ? fork() : 0;
    if (child < 0) {
        perror("fork");
        exit(EXIT_FAILURE);
    }
    if (child > 0) {
        bool is_well = watch(child, seed);
        remove_folder();
        return is_well;
    }
    block_signals();
    if (debugs)
        stop_at_faults();
    fuzz_round(seed);
    exit(EXIT_SUCCESS); /* so that leaks of malloc are looked for */
}

static uint64_t number(const char *option, const char *text) {
    char *after;
    uint64_t value = text == NULL ? 0 : strtoull(text, &after, 0);
    if (text == NULL || *after != '\0') {
        fprintf(stderr, "%s needs a number\n%s", option, usage);
        exit(2);
    }
    return value;
}

static void read_options(char **argv) {
    const char *stress = getenv("JZX_STRESS");
    bool is_long = stress != NULL && strcmp(stress, "long") == 0;
    fuzz_options.seed = 1;
    for (char **arg = argv + 1; *arg != NULL; arg++) {
        const char *name = *arg;
        if (strcmp(name, "--trace") == 0)
            fuzz_options.traces = true;
        else if (strcmp(name, "--no-fork") == 0)
            forks = false;
        else if (strcmp(name, "--gdb") == 0)
            debugs = true;
        else if (strcmp(name, "--list") == 0)
            list(), exit(EXIT_SUCCESS);
        else if (strcmp(name, "--seed") == 0)
            fuzz_options.seed = number(name, *++arg);
        else if (strcmp(name, "--rounds") == 0)
            rounds = number(name, *++arg);
        else if (strcmp(name, "--usual") == 0) /* of ctest: fewer with sanitizers, more if long */
            rounds = number(name, *++arg) * (is_long ? 20 : 1) / SANITIZED_PART;
        else if (strcmp(name, "--seconds") == 0)
            seconds = number(name, *++arg);
        else if (strcmp(name, "--calls") == 0)
            fuzz_options.calls = number(name, *++arg);
        else if (strcmp(name, "--workers") == 0)
            fuzz_options.workers = (int)number(name, *++arg);
        else if (strcmp(name, "--only") == 0 && arg[1] != NULL)
            fuzz_options.only = *++arg;
        else if (strcmp(name, "--without") == 0 && arg[1] != NULL)
            fuzz_options.without = *++arg;
        else {
            fprintf(stderr, "%s", usage);
            exit(2);
        }
    }
    if (rounds == 0)
        rounds = seconds == 0 ? 1 : UINT64_MAX;
}

int main(int argc, char **argv) {
    (void)argc;
    read_options(argv);
    fuzz_progress = mmap(NULL, sizeof *fuzz_progress, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (fuzz_progress == MAP_FAILED) {
        perror("mmap");
        return EXIT_FAILURE;
    }
    time_t end = time(NULL) + (time_t)seconds;
    uint64_t done = 0;
    unsigned failures = 0;
    for (; done < rounds && failures < FAILURES_MAX; done++) {
        if (seconds != 0 && time(NULL) >= end)
            break;
        if (!run_round(fuzz_options.seed + done))
            failures++;
    }
    printf("%llu rounds from seed %llu, %u failed\n", (unsigned long long)done,
           (unsigned long long)fuzz_options.seed, failures);
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
