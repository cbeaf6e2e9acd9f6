/* SPDX-License-Identifier: MIT */
/* The linker leads every clock_gettime of the program and of a static library here, so that a test
 * can have the date of the system jump. */
#include "jzx_test.h"

#include <stdatomic.h>
#include <time.h>

#define NS_PER_SECOND 1000000000

int real_clock_gettime(clockid_t which, struct timespec *time) __asm__("__real_clock_gettime");
int wrap_clock_gettime(clockid_t which, struct timespec *time) __asm__("__wrap_clock_gettime");

static atomic_int_least64_t jumped_ns;

void jzx_test_jump_realtime(int64_t ns) {
    atomic_fetch_add(&jumped_ns, ns);
}

static bool is_a_date(clockid_t which) {
    return which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE || which == CLOCK_TAI;
}

int wrap_clock_gettime(clockid_t which, struct timespec *time) {
    int result = real_clock_gettime(which, time);
    if (result != 0 || !is_a_date(which))
        return result;
    int64_t ns = (int64_t)time->tv_nsec + atomic_load(&jumped_ns) % NS_PER_SECOND;
    time->tv_sec += (time_t)(atomic_load(&jumped_ns) / NS_PER_SECOND);
    if (ns < 0) {
        time->tv_sec--;
        ns += NS_PER_SECOND;
    }
    time->tv_sec += ns >= NS_PER_SECOND;
    time->tv_nsec = (long)(ns % NS_PER_SECOND);
    return 0;
}
