/* SPDX-License-Identifier: MIT */
/* Faults in words. The report is put together by hand, as it is written by a signal handler. */
#include "base/fault_text.h"

#include "base/log.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#if defined(__GLIBC__)
#include <execinfo.h>
#endif

const char *jzx__fault_signal_name(int number) {
    switch (number) {
    case SIGSEGV: return "SIGSEGV";
    case SIGBUS: return "SIGBUS";
    case SIGFPE: return "SIGFPE";
    case SIGILL: return "SIGILL";
    case SIGABRT: return "SIGABRT";
    default: return "signal";
    }
}

bool jzx__fault_has_address(const struct jzx__fault *fault) {
    return fault->code != SI_KERNEL;
}

/* ---- after the fault ---- */

/* "read_it+0x1c", or "program+0x1139" if the place has no symbol. */
static void describe_place(uintptr_t pc, char *text, size_t size) {
    Dl_info info;
    if (dladdr((void *)pc, &info) == 0) {
        snprintf(text, size, "no code");
        return;
    }
    const char *slash = strrchr(info.dli_fname, '/');
    const char *object = slash == NULL ? info.dli_fname : slash + 1;
    if (info.dli_sname != NULL)
        snprintf(text, size, "%s+0x%zx", info.dli_sname, (size_t)(pc - (uintptr_t)info.dli_saddr));
    else
        snprintf(text, size, "%s+0x%zx", object, (size_t)(pc - (uintptr_t)info.dli_fbase));
}

void jzx__fault_describe(const struct jzx__fault *fault, char *text, size_t size) {
    char place[128];
    char address[32] = "a wild address";
    describe_place(fault->pc, place, sizeof place);
    if (jzx__fault_has_address(fault))
        snprintf(address, sizeof address, "0x%zx", (size_t)fault->address);
    const char *what =
        fault->is_overflow ? "stack overflow" : jzx__fault_signal_name(fault->signal);
    int length =
        snprintf(text, size, "%s at %s, pc 0x%zx in %s", what, address, (size_t)fault->pc, place);
    const char *offset = strrchr(place, '+');
    if (length >= (int)size && offset != NULL) /* an offset that was cut would be another one */
        snprintf(text, size, "%s at %s, pc 0x%zx in ...%s", what, address, (size_t)fault->pc,
                 offset);
}

/* ---- in the handler ---- */

struct line {
    char text[512];
    size_t length;
};

static void put(struct line *line, const char *text) {
    while (*text != '\0' && line->length < sizeof line->text)
        line->text[line->length++] = *text++;
}

static void put_name(struct line *line, const char *name) {
    char escaped[JZX__LOG_LINE_SIZE];
    (void)jzx__log_escape(escaped, sizeof escaped, name);
    put(line, escaped);
}

static void put_number(struct line *line, uint64_t number, unsigned base) {
    char digits[24];
    size_t at = sizeof digits - 1;
    digits[at] = '\0';
    do {
        digits[--at] = "0123456789abcdef"[number % base];
        number /= base;
    } while (number != 0);
    put(line, base == 16 ? "0x" : "");
    put(line, digits + at);
}

static void put_what(struct line *line, const struct jzx__fault *fault) {
    put(line, jzx__fault_signal_name(fault->signal));
    if (fault->signal != SIGABRT) {
        put(line, " at ");
        if (jzx__fault_has_address(fault))
            put_number(line, fault->address, 16);
        else
            put(line, "a wild address");
        put(line, fault->is_overflow ? " (stack overflow)" : "");
    }
    put(line, ", pc ");
    put_number(line, fault->pc, 16);
}

static void write_all(const char *text, size_t length) {
    while (length != 0) {
        ssize_t done = write(STDERR_FILENO, text, length);
        if (done <= 0)
            return;
        text += done;
        length -= (size_t)done;
    }
}

void jzx__fault_report(const struct jzx__fault *fault, const char *why) {
    struct line line = {.length = 0};
    put(&line, "jzx: ");
    put_what(&line, fault);
    put(&line, ", in actor ");
    put_number(&line, (uint32_t)fault->actor, 10);
    put(&line, ".");
    put_number(&line, fault->actor >> 32, 10);
    put(&line, fault->name[0] != '\0' ? " " : "");
    put_name(&line, fault->name);
    put(&line, ": ");
    put(&line, why);
    put(&line, "; the process ends\n");
    write_all(line.text, line.length);
#if defined(__GLIBC__)
    backtrace_symbols_fd(fault->stack, (int)fault->stack_count, STDERR_FILENO);
#endif
}
