/* SPDX-License-Identifier: MIT */
/* Requests on files as requests of io_uring. */
#include "file/uring.h"

#include "base/alloc.h"
#include "file/uring_entry.h"
#include "io/workforce.h"
#include "sched/fork.h"

#include "jzx/time.h"

#include <errno.h>
#include <string.h>

/* Completions that are taken from a ring at once. */
#define BATCH 16u

/* How often the end of a loop asks again for the cancel of what is still under way. */
#define DRAIN_TICK_NS JZX_MS(10)

static struct jzx__uring *uring_at(struct jzx__registration *registration) {
    return JZX_CONTAINER_OF(registration, struct jzx__uring, registration);
}

/* ---- the end of a request ---- */

static struct jzx__job *take_out(struct jzx__uring *uring, struct jzx__op *op) {
    struct jzx__file_own *own = jzx__op_own(op);
    jzx__list_remove(&own->job.at_queue);
    uring->count--;
    return &own->job;
}

/* The pool does the request, or the rest of it (U2). */
static void pass_on(struct jzx__job *job, struct jzx__worker *me) {
    struct jzx__file_own *own = (struct jzx__file_own *)(void *)job;
    /* release: pairs with the acquire in cancel; from here on the pool's cancel is the right one */
    jzx__atomic_store_release(&own->ring, NULL);
    jzx_err err = jzx__workforce_submit(job->pool, job, me);
    if (err == JZX_OK)
        return;
    struct jzx__file_request *request = job->arg;
    request->err = err;
    job->done(job, me, err, true); /* it may be half done */
}

static void end_request(struct jzx__uring *uring, struct jzx__op *op, struct jzx__worker *me,
                        int32_t result) {
    struct jzx__job *job = take_out(uring, op);
    struct jzx__file_request *request = job->arg;
    if (jzx__uring_settle(request, result))
        job->done(job, me, request->err, true);
    else if (jzx__uring_is_interrupted(result) && (uring->is_halted || jzx__op_is_cancelled(op)))
        job->done(job, me, JZX_ERR_CANCELLED, false);
    else {
        jzx__counter_add(&uring->undone, 1);
        pass_on(job, me);
    }
}

/* Ends all requests that are complete. True if that of this operation is among them. */
static bool take_done(struct jzx__uring *uring, struct jzx__worker *me, const struct jzx__op *op) {
    struct jzx__ring_done done[BATCH];
    bool is_among = false;
    uint32_t count;
    do {
        count = jzx__ring_reap(&uring->ring, done, BATCH);
        for (uint32_t i = 0; i < count; i++) {
            struct jzx__op *ended = (void *)(uintptr_t)done[i].key;
            if (ended == NULL)
                continue; /* a cancel */
            is_among |= ended == op;
            end_request(uring, ended, me, done[i].result);
        }
    } while (count == BATCH);
    return is_among;
}

/* U7 */
static void set_quiet(struct jzx__uring *uring, struct jzx__worker *me) {
    jzx__reactor_set_quiet(jzx__reactor_of(me), &uring->registration, uring->count == 0);
}

static void on_ready(struct jzx__worker *me, struct jzx__registration *registration,
                     uint32_t ready) {
    struct jzx__uring *uring = uring_at(registration);
    (void)ready;
    (void)take_done(uring, me, NULL);
    set_quiet(uring, me);
}

/* ---- a ring ---- */

static const struct jzx__registration_ops registration_ops = {.ready = on_ready};

static bool open_ring(struct jzx__uring *uring, struct jzx__worker *me) {
    struct jzx__reactor *reactor = jzx__reactor_ensure(me);
    if (reactor == NULL ||
        jzx__ring_open(&uring->ring, jzx__io_of(jzx__loop_of(me))->os, JZX__URING_ENTRIES) < 0)
        return false;
    /* If the kernel does not know the call it goes on with its own limit. */
    (void)jzx__ring_limit_threads(&uring->ring, JZX_DEFAULT_FILE_THREADS);
    jzx__registration_init(&uring->registration, &registration_ops, uring->ring.fd, JZX__POLL_EDGE);
    if (jzx__reactor_add(reactor, &uring->registration, JZX__READY_READ) < 0) {
        jzx__ring_close(&uring->ring);
        return false;
    }
    jzx__reactor_set_quiet(reactor, &uring->registration, true);
    return true;
}

/* Opens it if need be. One that could not be opened is not tried again. */
static bool is_open(struct jzx__uring *uring, struct jzx__worker *me) {
    if (JZX_UNLIKELY(uring->state == JZX__URING_CLOSED))
        uring->state = open_ring(uring, me) ? JZX__URING_OPEN : JZX__URING_FAILED;
    return uring->state == JZX__URING_OPEN;
}

/* ---- the start of a request ---- */

/* Not taken: nothing is left of it here. */
static bool hand_over(struct jzx__uring *uring, struct jzx__op *op,
                      const struct io_uring_sqe *entry) {
    struct jzx__file_own *own = jzx__op_own(op);
    /* release: pairs with the acquire in cancel, which must see the ring before it looks for the
     * request there, or be seen below */
    jzx__atomic_store_release(&own->ring, uring);
    jzx__list_push_back(&uring->under_way, &own->job.at_queue);
    uring->count++;
    if (jzx__ring_start(&uring->ring, entry) == 0)
        return true;
    (void)take_out(uring, op);
    /* release: pairs with the acquire in cancel, as above */
    jzx__atomic_store_release(&own->ring, NULL);
    return false;
}

bool jzx__uring_start(struct jzx__op *op, struct jzx__file_request *request,
                      struct jzx__worker *me) {
    struct jzx__uring_entry entry;
    if (me == NULL || op->has_target || !jzx__urings_serve(op->loop)) /* U3 */
        return false;
    struct jzx__uring *uring = &jzx__files_of(op->loop)->rings[me->index];
    if (uring->is_halted || !is_open(uring, me) ||
        !jzx__uring_fill(&entry, &uring->ring, request, (uint64_t)(uintptr_t)op))
        return false;
    if (uring->count == JZX__URING_COUNT_MAX || !hand_over(uring, op, jzx__uring_sqe(&entry))) {
        jzx__counter_add(&uring->refused, 1);
        return false;
    }
    jzx__counter_add(&uring->taken, 1);
    if (!take_done(uring, me, op) && jzx__op_is_cancelled(op))
        jzx__uring_cancel(uring, op); /* a cancel that came before the kernel knew of it */
    set_quiet(uring, me);
    return true;
}

/* The slot is not used for another operation meanwhile (op/O5), and the kernel looks for the
 * request at once: so it finds this one or none. One that it does not find, or that is refused,
 * goes on. */
void jzx__uring_cancel(struct jzx__uring *uring, const struct jzx__op *op) {
    struct jzx__uring_entry entry;
    jzx__uring_fill_cancel(&entry, (uint64_t)(uintptr_t)op);
    (void)jzx__ring_start(&uring->ring, jzx__uring_sqe(&entry));
}

/* ---- of a loop ---- */

bool jzx__urings_serve(const struct jzx_loop *loop) {
    const struct jzx__files *files = jzx__files_of(loop);
    return files->rings != NULL && files->os == &jzx__file_os_system &&
           /* relaxed: written before the pool, which the caller has read with acquire */
           jzx__atomic_load_relaxed(&files->is_pool_only) == 0 && loop->forks == jzx__fork_count();
}

bool jzx__urings_open(struct jzx_loop *loop, struct jzx__files *files) {
    uint32_t count = loop->sched.worker_count;
    if (jzx__io_of(loop)->backend == JZX_IO_EPOLL)
        return true;
    files->rings = jzx__alloc_aligned(&loop->sched.allocator, count * sizeof *files->rings,
                                      _Alignof(struct jzx__uring));
    if (files->rings == NULL)
        return false;
    memset(files->rings, 0, count * sizeof *files->rings);
    for (uint32_t i = 0; i < count; i++)
        jzx__list_init(&files->rings[i].under_way);
    jzx__op_slots_of(loop)->drain = jzx__urings_drain;
    return true;
}

void jzx__urings_close(struct jzx_loop *loop, struct jzx__files *files) {
    uint32_t count = loop->sched.worker_count;
    if (files->rings == NULL)
        return;
    for (uint32_t i = 0; i < count; i++) {
        JZX_ASSERT(files->rings[i].count == 0);
        if (files->rings[i].state == JZX__URING_OPEN)
            jzx__ring_close(&files->rings[i].ring); /* the reactor polls no more */
    }
    jzx__free_aligned(&loop->sched.allocator, files->rings, count * sizeof *files->rings,
                      _Alignof(struct jzx__uring));
    files->rings = NULL;
}

bool jzx__urings_look(const struct jzx_loop *loop, struct jzx__urings_books *books) {
    const struct jzx__files *files = jzx__files_of(loop);
    if (!jzx__urings_serve(loop))
        return false;
    *books = (struct jzx__urings_books){0};
    for (uint32_t i = 0; i < loop->sched.worker_count; i++) {
        books->taken += jzx__counter_get(&files->rings[i].taken);
        books->refused += jzx__counter_get(&files->rings[i].refused);
        books->undone += jzx__counter_get(&files->rings[i].undone);
    }
    return true;
}

static void cancel_all(struct jzx__uring *uring) {
    for (struct jzx__link *at = uring->under_way.ring.next; at != &uring->under_way.ring;
         at = at->next) {
        struct jzx__job *job = JZX_CONTAINER_OF(at, struct jzx__job, at_queue);
        jzx__uring_cancel(uring, jzx__op_of_own(job));
    }
}

static void drain(struct jzx__uring *uring, struct jzx__worker *me) {
    uring->is_halted = true;
    (void)take_done(uring, me, NULL);
    while (uring->count != 0) {
        cancel_all(uring);
        (void)jzx__ring_wait(&uring->ring, DRAIN_TICK_NS);
        (void)take_done(uring, me, NULL);
    }
}

void jzx__urings_drain(struct jzx_loop *loop, struct jzx__worker *me) {
    const struct jzx__files *files = jzx__files_of(loop);
    for (uint32_t i = 0; files->rings != NULL && i < loop->sched.worker_count; i++) {
        if (files->rings[i].state == JZX__URING_OPEN)
            drain(&files->rings[i], me);
    }
}
