/* SPDX-License-Identifier: MIT */
/* What the code under test does that others can observe: atomic operations, locks, plain data that
 * was marked, and the system calls of the parker. Each is a point at which another thread may go
 * on, followed by the step itself, and a line in the trace. */
#include "engine.h"
#include "memory.h"
#include "sites.h"
#include "system.h"

#include "base/futex.h"

#include <errno.h>
#include <string.h>

#define FDS_MAX 4
#define FIRST_FD 1000

static void trace_words(const char *words, const volatile void *address) {
    model_trace_add(
        &(struct model_event){.thread = model_self(), .words = words, .address = address});
}

static void point_at(const volatile void *address) {
    engine_point((struct engine_step){.address = address});
}

/* ---- atomic operations ---- */

uint64_t model_load(const volatile void *p, size_t size, enum model_order order,
                    MODEL_HERE_PARAMS) {
    const struct model_site *site =
        model_site_find(MODEL_LOAD, order, order, text, function, file, line);
    engine_point((struct engine_step){.address = p, .is_load = true});
    struct memory_read read = memory_load(model_self(), p, size, site->used);
    model_trace_add(&(struct model_event){
        .thread = model_self(), .site = site, .read = read.value, .newer = read.newer});
    return read.value;
}

void model_store(volatile void *p, size_t size, uint64_t value, enum model_order order,
                 MODEL_HERE_PARAMS) {
    const struct model_site *site =
        model_site_find(MODEL_STORE, order, order, text, function, file, line);
    point_at(p);
    memory_store(model_self(), p, size, value, site->used);
    model_trace_add(&(struct model_event){.thread = model_self(), .site = site, .written = value});
}

uint64_t model_rmw(volatile void *p, size_t size, enum model_op op, uint64_t operand,
                   enum model_order order, MODEL_HERE_PARAMS) {
    const struct model_site *site = model_site_find(op, order, order, text, function, file, line);
    point_at(p);
    struct memory_read read = memory_rmw(model_self(), p, size, op, operand, site->used);
    model_trace_add(&(struct model_event){.thread = model_self(),
                                          .site = site,
                                          .read = read.value,
                                          .written = operand,
                                          .newer = read.newer,
                                          .stored = true});
    return read.value;
}

bool model_cas(volatile void *p, size_t size, void *expected, uint64_t desired,
               enum model_order order, enum model_order order_failed, bool weak,
               MODEL_HERE_PARAMS) {
    const struct model_site *site =
        model_site_find(MODEL_CAS, order, order_failed, text, function, file, line);
    struct memory_cas cas = {.desired = desired, .weak = weak};
    cas.order = site->used;
    cas.order_failed = site->used_failed;
    memcpy(&cas.expected, expected, size);
    point_at(p);
    struct memory_read read = memory_compare_exchange(model_self(), p, size, &cas);
    model_trace_add(&(struct model_event){.thread = model_self(),
                                          .site = site,
                                          .read = read.value,
                                          .written = desired,
                                          .newer = read.newer,
                                          .stored = read.stored});
    if (!read.stored)
        memcpy(expected, &read.value, size);
    return read.stored;
}

void model_fence(enum model_order order) {
    point_at(NULL);
    memory_fence(model_self(), order);
    trace_words("fence", NULL);
}

void model_membarrier(void) {
    point_at(NULL);
    memory_fence_all(model_self(), MODEL_THREADS_MAX);
    trace_words("membarrier", NULL);
}

/* ---- locks and plain data ---- */

void model_lock(volatile uint32_t *held) {
    point_at(held);
    while (memory_latest(model_self(), held, sizeof *held) != 0)
        engine_block(held);
    memory_rmw(model_self(), held, sizeof *held, MODEL_EXCHANGE, 1, MODEL_ACQUIRE);
    trace_words("lock", held);
}

void model_unlock(volatile uint32_t *held) {
    point_at(held);
    MODEL_ASSERT(memory_latest(model_self(), held, sizeof *held) == 1);
    memory_store(model_self(), held, sizeof *held, 0, MODEL_RELEASE);
    trace_words("unlock", held);
    engine_unblock(held, MODEL_THREADS_MAX);
}

/* Not a point: who goes first makes no difference to what is a race. */
void model_plain(const volatile void *address, bool is_write, const char *text, const char *file,
                 int line) {
    trace_words(text, address);
    unsigned other = memory_plain(model_self(), address, is_write);
    if (other != model_self())
        model_fail("%s:%d: race of T%u with T%u on %s", file, line, model_self(), other, text);
}

/* ---- system calls, as src/base makes them; futex and eventfd synchronise nothing ---- */

/* In place of src/base/futex.c. The kernel compares and goes to sleep in one step. Time does not
 * pass: a wait with a time-out ends late or without cause, so that a lost wake-up is found. */
bool jzx__futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns) {
    point_at(word);
    if (memory_latest_futex(model_self(), word) != value) {
        trace_words("futex wait: value has changed", word);
        return true;
    }
    if (engine_choose_spurious(2) == 1) {
        trace_words("futex wait: ended without cause", word);
        return timeout_ns == 0;
    }
    trace_words("futex wait: sleeps", word);
    engine_block(word);
    trace_words("futex wait: woken", word);
    return true;
}

void jzx__futex_wake(_Atomic uint32_t *word) {
    point_at(word);
    trace_words("futex wake", word);
    engine_unblock(word, 1);
}

bool jzx__membarrier_register(void) {
    return true;
}

void jzx__membarrier(void) {
    model_membarrier();
}

/* Counters of eventfds. Made in setup, or by their one owner; forgotten with the execution. */
static struct {
    uint64_t counters[FDS_MAX];
    unsigned count;
} fds;

void model_fds_reset(void) {
    fds.count = 0;
}

static uint64_t *counter_of(int fd) {
    MODEL_ASSERT(fd >= FIRST_FD && fd < FIRST_FD + (int)fds.count);
    return &fds.counters[fd - FIRST_FD];
}

int model_eventfd(unsigned initial, int flags) {
    (void)flags;
    MODEL_ASSERT(fds.count < FDS_MAX);
    fds.counters[fds.count] = initial;
    return FIRST_FD + (int)fds.count++;
}

int model_close(int fd) {
    (void)counter_of(fd);
    return 0;
}

ssize_t model_write(int fd, const void *buffer, size_t size) {
    uint64_t more;
    memcpy(&more, buffer, sizeof more);
    uint64_t *counter = counter_of(fd);
    point_at(counter);
    *counter += more;
    trace_words("eventfd write", counter);
    engine_unblock(counter, MODEL_THREADS_MAX);
    return (ssize_t)size;
}

ssize_t model_read(int fd, void *buffer, size_t size) {
    uint64_t *counter = counter_of(fd);
    point_at(counter);
    trace_words("eventfd read", counter);
    if (*counter == 0) {
        errno = EAGAIN;
        return -1;
    }
    memcpy(buffer, counter, sizeof *counter);
    *counter = 0;
    return (ssize_t)size;
}

void model_poll_fd(int fd) {
    uint64_t *counter = counter_of(fd);
    point_at(counter);
    while (*counter == 0) {
        trace_words("poll: sleeps", counter);
        engine_block(counter);
    }
    trace_words("poll: readable", counter);
}

/* ---- memory ---- */

static void *hook_alloc(void *ctx, size_t size) {
    (void)ctx;
    return model_alloc(size);
}

static void hook_free(void *ctx, void *ptr, size_t size) {
    (void)ctx;
    (void)ptr;
    (void)size;
}

const jzx_allocator model_allocator = {.alloc = hook_alloc, .free = hook_free};
