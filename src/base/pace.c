/* SPDX-License-Identifier: MIT */
#include "base/pace.h"

#include "base/atomic.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#if JZX__HAS_CYCLES

#define WINDOW ((uint64_t)1 << 21)
#define RATE_FROM ((uint64_t)1 << 24) /* cycles that tell the rate exactly enough */
#define RATE_TO ((uint64_t)1 << 34)   /* and so many that it is measured anew */
#define LOOK_MAX 4096u                /* a look that took longer was interrupted */

enum { UNKNOWN, STEADY, UNSTEADY };

/* Cycles are counted alike on all CPUs if the system itself tells the time by them. */
static bool is_steady(void) {
    static _Atomic uint32_t known;
    /* relaxed, both: whoever asks first finds the same answer */
    uint32_t answer = jzx__atomic_load_relaxed(&known);
    if (answer == UNKNOWN) {
        char text[8] = "";
        int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                      O_RDONLY | O_CLOEXEC);
        if (fd >= 0) {
            if (read(fd, text, sizeof text - 1) < 0)
                text[0] = '\0';
            close(fd);
        }
        answer = strncmp(text, "tsc\n", 4) == 0 ? STEADY : UNSTEADY;
        /* relaxed: see above */
        jzx__atomic_store_relaxed(&known, answer);
    }
    return answer == STEADY;
}

static void begin_anew(struct jzx__pace *pace, uint64_t cycles, uint64_t ns) {
    pace->first_cycles = cycles;
    pace->first_ns = ns;
}

/* True if the two differ by no more than the system lets its clock drift, and what a look takes. */
static bool agree(uint64_t a, uint64_t b) {
    uint64_t apart = a > b ? a - b : b - a;
    return apart < b >> 11;
}

/* A rate counts if the one before was the same: in a suspend one of the two clocks stands still. */
static void measure_rate(struct jzx__pace *pace, uint64_t cycles, uint64_t ns) {
    uint64_t passed = cycles - pace->first_cycles;
    if (pace->first_ns == 0) {
        begin_anew(pace, cycles, ns);
    } else if (passed >= RATE_FROM) {
        double rate = (double)(ns - pace->first_ns) / (double)passed * 4294967296.0;
        uint64_t measured = rate < 1e18 ? (uint64_t)rate : 0;
        bool same = agree(measured, pace->measured);
        pace->measured = measured;
        pace->rate = measured + measured / 1000 + 1;
        pace->window = same ? WINDOW : 0;
        if (!same || passed >= RATE_TO)
            begin_anew(pace, cycles, ns);
    }
}

uint64_t jzx__pace_look(struct jzx__pace *pace, const struct jzx__clock *clock) {
    if (!clock->is_real || !is_steady())
        return jzx__clock_now(clock);
    uint64_t cycles = __rdtsc(); /* first, so that what is counted from here is never behind */
    uint64_t ns = jzx__clock_now(clock);
    if (__rdtsc() - cycles > LOOK_MAX)
        return ns;
    measure_rate(pace, cycles, ns);
    pace->cycles = cycles;
    pace->ns = ns;
    return ns;
}

#else

uint64_t jzx__pace_look(struct jzx__pace *pace, const struct jzx__clock *clock) {
    (void)pace;
    return jzx__clock_now(clock);
}

#endif
