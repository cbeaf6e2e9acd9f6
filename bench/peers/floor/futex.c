/* SPDX-License-Identifier: MIT */
/* Two threads that wake each other, on a CPU each: a futex and nothing else. */
#include "floor.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* How long a thread is left asleep in futex-slept; plain futex wakes it at once. */
#define DWELL_NS 50000u

/* Its way is measured so often at most. */
#define WAYS_MAX 4096u

struct bell {
    _Alignas(128) _Atomic uint32_t rung; /* times; the futex */
    uint64_t rung_ns;                    /* when, last */
};

struct ringer {
    struct bell *rings;
    struct bell *hears;
    uint64_t size;
    uint32_t cpu;   /* of those that we may use */
    uint64_t dwell; /* ns */
    uint32_t heard;
    uint64_t ways[WAYS_MAX]; /* ns from a ring until it was heard */
};

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* On the k-th CPU that we may use, if there is one. */
static void take_cpu(uint32_t k) {
    cpu_set_t allowed;
    cpu_set_t one;
    sched_getaffinity(0, sizeof allowed, &allowed);
    CPU_ZERO(&one);
    for (uint32_t i = 0; i < CPU_SETSIZE; i++) {
        if (CPU_ISSET(i, &allowed) && k-- == 0)
            CPU_SET(i, &one);
    }
    if (CPU_COUNT(&one) == 1)
        sched_setaffinity(0, sizeof one, &one);
}

static void ring(struct ringer *self) {
    if (self->dwell != 0) {
        uint64_t until = now_ns() + self->dwell;
        while ((self->rings->rung_ns = now_ns()) < until) {
        }
    }
    atomic_fetch_add_explicit(&self->rings->rung, 1, memory_order_release);
    syscall(SYS_futex, &self->rings->rung, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void hear(struct ringer *self, uint32_t times) {
    while (atomic_load_explicit(&self->hears->rung, memory_order_acquire) < times)
        syscall(SYS_futex, &self->hears->rung, FUTEX_WAIT_PRIVATE, times - 1, NULL, NULL, 0);
    if (self->dwell != 0)
        self->ways[self->heard++] = now_ns() - self->hears->rung_ns;
}

static int compare_ways(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The median: a host that takes a CPU away for milliseconds would be most of the mean. */
static uint64_t usual_way(struct ringer *self) {
    qsort(self->ways, self->heard, sizeof self->ways[0], compare_ways);
    return self->ways[self->heard / 2];
}

static void *answer(void *arg) {
    struct ringer *self = arg;
    take_cpu(self->cpu);
    for (uint32_t i = 1; i <= self->size; i++) {
        hear(self, i);
        ring(self);
    }
    return NULL;
}

static void ring_bells(uint64_t size, uint64_t dwell, struct result *result) {
    static struct bell bells[2];
    static struct ringer here;
    static struct ringer there;
    here = (struct ringer){&bells[0], &bells[1], size, .cpu = 0, .dwell = dwell};
    there = (struct ringer){&bells[1], &bells[0], size, .cpu = 1, .dwell = dwell};
    check(dwell == 0 || size <= WAYS_MAX, "futex: every way has a place");
    pthread_t thread;
    check(pthread_create(&thread, NULL, answer, &there) == 0, "futex: a thread starts");
    take_cpu(here.cpu);
    double start = now();
    for (uint32_t i = 1; i <= size; i++) {
        ring(&here);
        hear(&here, i);
    }
    result->seconds = now() - start;
    pthread_join(thread, NULL);
    if (dwell != 0)
        result->seconds = (double)(usual_way(&here) + usual_way(&there)) * 1e-9 * (double)size;
    result->ops = size;
    check(bells[0].rung == size && bells[1].rung == size, "futex: every bell was rung");
}

void row_futex(uint64_t size, struct result *result) {
    ring_bells(size, 0, result);
}

void row_futex_slept(uint64_t size, struct result *result) {
    ring_bells(size, DWELL_NS, result);
}
