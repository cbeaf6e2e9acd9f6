/* SPDX-License-Identifier: MIT */
#include "sched/fork.h"

#include "sched/seat.h"

#include <pthread.h>

static uint32_t forks; /* written in a child before it has a second thread */

static void in_child(void) {
    forks++;
    for (struct jzx__seat *seat = jzx__seat_of_thread; jzx__seat_exists(seat); seat = seat->outer) {
        /* relaxed: there is no other thread */
        jzx__atomic_store_relaxed(&seat->worker, NULL);
    }
}

static void watch(void) {
    (void)pthread_atfork(NULL, NULL, in_child); /* without memory forks are not noticed */
}

void jzx__fork_watch(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, watch);
}

uint32_t jzx__fork_count(void) {
    return forks;
}
