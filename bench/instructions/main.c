/* SPDX-License-Identifier: MIT */
/* jzx_instructions [rows]: runs the named rows, or all, each in a process of its own. Under
 * callgrind (see count.sh) every such process leaves its counts; alone the rows just check
 * themselves. Prints what the counts depend on, then a line for each row: name, process,
 * operations, "alone" or "threads", and what one operation is. Exit codes: 0, 1 if a row failed,
 * 2 for wrong use. */
#include "instructions.h"

#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__GLIBC__)
#include <gnu/libc-version.h>
#endif
#if defined(__x86_64__)
#include <cpuid.h>
#endif

void check_failed(const char *file, int line, const char *what) {
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
    exit(1);
}

/* ---- the rig ---- */

/* Callgrind finds it by its name. Without the asm its call would become a jump, which ends the
 * count. */
void counted(void (*work)(struct rig *rig), struct rig *rig);
__attribute__((noinline)) void counted(void (*work)(struct rig *rig), struct rig *rig) {
    work(rig);
    __asm__ volatile("" ::: "memory");
}

void rig_count(struct rig *rig, void (*work)(struct rig *rig)) {
    if (rig->is_counting)
        counted(work, rig);
    else
        work(rig);
}

void rig_step(struct rig *rig) {
    CHECK(jzx_loop_step(rig->loop, JZX_NEVER) == JZX_OK);
}

static void run_twice(const struct row *row) {
    struct rig rig = {.clock = jzx_clock_manual(JZX_SECOND(1)), .ops = row->ops};
    CHECK(rig.clock != NULL);
    jzx_config config;
    CHECK(jzx_config_init(&config, sizeof config) == JZX_OK);
    config.workers = 1;
    config.clock = rig.clock;
    config.io_backend = JZX_IO_EPOLL;
    config.log.level = JZX_LOG_ERROR; /* actors that fail are no news here */
    rig.loop = jzx_loop_create(&config);
    CHECK(rig.loop != NULL);
    row->run(&rig);
    rig.is_counting = true;
    row->run(&rig);
    CHECK(jzx_loop_destroy(rig.loop) == JZX_OK);
    CHECK(jzx_clock_free(rig.clock) == JZX_OK);
}

/* In a process of its own: no row depends on those before it. */
static bool run_apart(const struct row *row) {
    int status = 0;
    fflush(NULL);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        run_twice(row);
        exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fprintf(stderr, "the row %s has failed\n", row->name);
        return false;
    }
    printf("%s\t%d\t%llu\t%s\t%s\n", row->name, (int)pid, (unsigned long long)row->ops,
           row->has_threads ? "threads" : "alone", row->op);
    return true;
}

/* ---- what the counts depend on ---- */

/* The processor that the program sees: Valgrind shows one of its own. */
static void print_processor(void) {
    struct utsname name;
    CHECK(uname(&name) == 0);
    printf("%s", name.machine);
#if defined(__x86_64__)
    unsigned eax, vendor[3], ecx, edx;
    CHECK(__get_cpuid(0, &eax, &vendor[0], &vendor[2], &vendor[1]));
    printf(" %.12s", (const char *)vendor);
    CHECK(__get_cpuid(1, &eax, &vendor[0], &ecx, &edx));
    unsigned family = eax >> 8 & 0xF;
    unsigned model = eax >> 4 & 0xF;
    if (family == 6 || family == 15)
        model += (eax >> 16 & 0xF) << 4;
    if (family == 15)
        family += eax >> 20 & 0xFF;
    printf(" family %u model %u", family, model);
#endif
}

static void print_conditions(void) {
#if defined(__clang__)
    printf("clang %d.%d %s; ", __clang_major__, __clang_minor__, INSTRUCTIONS_FLAGS);
#else
    printf("gcc %d.%d %s; ", __GNUC__, __GNUC_MINOR__, INSTRUCTIONS_FLAGS);
#endif
#if defined(__GLIBC__)
    printf("glibc %s; ", gnu_get_libc_version());
#endif
    print_processor();
    printf("\n");
}

/* ---- the rows ---- */

static const struct row *const files[] = {actor_rows, fiber_rows, system_rows};
#define FILE_COUNT (sizeof files / sizeof files[0])

/* A name also means those that continue it behind a '-'. */
static bool is_named(const struct row *row, const char *name) {
    size_t length = strlen(name);
    return strncmp(row->name, name, length) == 0 &&
           (row->name[length] == '\0' || row->name[length] == '-');
}

static bool is_wanted(const struct row *row, char **names) {
    bool is_wanted = *names == NULL;
    for (; *names != NULL; names++)
        is_wanted |= is_named(row, *names);
    return is_wanted;
}

static bool names_a_row(const char *name) {
    for (size_t i = 0; i < FILE_COUNT; i++) {
        for (const struct row *row = files[i]; row->name != NULL; row++) {
            if (is_named(row, name))
                return true;
        }
    }
    return false;
}

int main(int argc, char **argv) {
    (void)argc;
    bool all_passed = true;
    for (char **name = argv + 1; *name != NULL; name++) {
        if (!names_a_row(*name)) {
            fprintf(stderr, "no row '%s'\n", *name);
            return 2;
        }
    }
    print_conditions();
    for (size_t i = 0; i < FILE_COUNT; i++) {
        for (const struct row *row = files[i]; row->name != NULL; row++) {
            if (is_wanted(row, argv + 1))
                all_passed &= run_apart(row);
        }
    }
    return all_passed ? 0 : 1;
}
