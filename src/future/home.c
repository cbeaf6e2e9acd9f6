/* SPDX-License-Identifier: MIT */
#include "future/home.h"

#include "base/alloc.h"
#include "base/futex.h"
#include "future/future.h"

#define GATE_CLOSED 1u
#define GATE_ONE 2u

/* A thread that waits; in its frame. */
struct waiting_thread {
    struct jzx__link at_home;
    struct jzx__waiter *waiter;
    uint32_t epoch;
};

/* ---- the gate ---- */

static void leave_gate(struct jzx__future_home *home) {
    /* seq_cst: pairs with close_gate; what was done to the loop is over. The home stays: who leaves
     * has a future */
    if (jzx__atomic_sub_seq_cst(&home->gate, GATE_ONE) == (GATE_ONE | GATE_CLOSED))
        jzx__futex_wake(&home->gate);
}

static bool enter_gate(struct jzx__future_home *home) {
    /* seq_cst: pairs with close_gate: it is seen there, or the gate is seen closed here */
    if ((jzx__atomic_add_seq_cst(&home->gate, GATE_ONE) & GATE_CLOSED) == 0)
        return true;
    leave_gate(home);
    return false;
}

static void close_gate(struct jzx__future_home *home) {
    /* seq_cst: pairs with enter_gate */
    uint32_t gate = jzx__atomic_add_seq_cst(&home->gate, GATE_CLOSED) + GATE_CLOSED;
    while (gate != GATE_CLOSED) {
        jzx__futex_wait(&home->gate, gate, 0);
        /* seq_cst: pairs with leave_gate */
        gate = jzx__atomic_load_seq_cst(&home->gate);
    }
}

bool jzx__future_visit(struct jzx__future_home *home, struct jzx__future_visit *visit) {
    struct jzx__worker *me = jzx__visit_begin(&visit->visit);
    bool is_ours = me != NULL && jzx__future_home_of(jzx__loop_of(me)) == home;
    visit->me = is_ours ? me : NULL;
    visit->is_open = is_ours || enter_gate(home);
    return visit->is_open;
}

void jzx__future_visit_end(struct jzx__future_home *home, const struct jzx__future_visit *visit) {
    if (visit->me == NULL && visit->is_open)
        leave_gate(home);
    jzx__visit_end(&visit->visit);
}

/* ---- memory ---- */

static struct jzx__future_worker *worker_of(struct jzx__worker *me) {
    return jzx__actor_worker_of(me)->parts[JZX__PART_FUTURE];
}

static uint8_t class_of(size_t size) {
    return (uint8_t)(size <= JZX__FUTURE_SMALL    ? JZX__SLAB_RECORD
                     : size > JZX__BLOCK_SIZE_MAX ? JZX__SLAB_RECORD + 1
                                                  : jzx__slab_class(size));
}

static bool is_large(uint8_t class_index) {
    return class_index > JZX__SLAB_RECORD;
}

/* Under the home's lock, or on the worker whose slab it is. */
static void *alloc(struct jzx__future_home *home, struct jzx__slab *slab, size_t size,
                   uint8_t class_index) {
    return is_large(class_index) ? jzx__alloc(&home->allocator, size)
                                 : jzx__slab_alloc(slab, class_index);
}

void *jzx__future_alloc(struct jzx__future_home *home, struct jzx__worker *me, size_t size,
                        uint8_t *class_index) {
    void *block;
    *class_index = class_of(size);
    if (me != NULL) {
        block = alloc(home, &worker_of(me)->slab, size, *class_index);
        worker_of(me)->live += block != NULL;
        return block;
    }
    jzx__lock_acquire(&home->lock);
    block = alloc(home, &home->slab, size, *class_index);
    home->live += block != NULL;
    jzx__lock_release(&home->lock);
    return block;
}

static void destroy(struct jzx__future_home *home) {
    jzx_allocator allocator = home->allocator;
    jzx__slab_deinit(&home->slab);
    jzx__depot_check_leaks(&home->depot);
    jzx__depot_deinit(&home->depot);
    for (uint32_t i = 0; i < JZX__FUTURE_LOCKS; i++)
        jzx__lock_deinit(&home->locks[i]);
    jzx__lock_deinit(&home->lock);
    jzx__free(&allocator, home, sizeof *home);
}

void jzx__future_free(struct jzx__future_home *home, struct jzx__worker *me, void *block,
                      size_t size, uint8_t class_index) {
    struct jzx__slab *slab = me != NULL ? &worker_of(me)->slab : &home->slab;
    if (me == NULL)
        jzx__lock_acquire(&home->lock);
    if (is_large(class_index))
        jzx__free(&home->allocator, block, size);
    else
        jzx__slab_free(slab, class_index, block);
    if (me != NULL) {
        worker_of(me)->live--;
        return;
    }
    bool is_last = --home->live == 0 && home->is_closed;
    jzx__lock_release(&home->lock);
    if (is_last)
        destroy(home);
}

/* ---- threads that wait ---- */

/* False if the loop closes. */
static bool enlist(struct jzx__future_home *home, struct waiting_thread *thread) {
    jzx__lock_acquire(&home->lock);
    bool is_open = !home->is_closed;
    if (is_open)
        jzx__list_push_back(&home->threads, &thread->at_home);
    jzx__lock_release(&home->lock);
    return is_open;
}

static void delist(struct jzx__future_home *home, struct waiting_thread *thread) {
    jzx__lock_acquire(&home->lock);
    jzx__list_remove(&thread->at_home);
    jzx__lock_release(&home->lock);
}

uint32_t jzx__future_block(struct jzx__future_home *home, struct jzx__wait_link *links,
                           uint32_t count, uint64_t deadline_ns) {
    struct jzx__waiter waiter;
    struct waiting_thread thread = {.waiter = &waiter};
    jzx__waiter_init_thread(&waiter);
    thread.epoch = jzx__waiter_begin(&waiter, (struct jzx__wait_what){.kind = "future"});
    if (enlist(home, &thread)) {
        jzx__waiter_join(&waiter, links, count, NULL);
        if (jzx__waiter_arm(&waiter) == JZX__ARM_SUSPEND)
            jzx__waiter_block(&waiter, &home->loop->sched.clock, deadline_ns);
        delist(home, &thread);
    } else {
        (void)jzx__waiter_withdraw(&waiter, JZX__CAUSE_CLOSED);
    }
    return jzx__waiter_end(&waiter);
}

/* ---- the part ---- */

static void close_worker(struct jzx_loop *loop, uint32_t index) {
    struct jzx__actor_worker *worker = jzx__actor_worker_of(loop->sched.workers[index]);
    struct jzx__future_worker *own = worker->parts[JZX__PART_FUTURE];
    jzx__slab_deinit(&own->slab);
    jzx__free(&loop->sched.allocator, own, sizeof *own);
    worker->parts[JZX__PART_FUTURE] = NULL;
}

static bool open_workers(struct jzx_loop *loop, struct jzx__future_home *home) {
    for (uint32_t i = 0; i < loop->sched.worker_count; i++) {
        struct jzx__future_worker *worker = jzx__alloc(&loop->sched.allocator, sizeof *worker);
        if (worker == NULL) {
            while (i != 0)
                close_worker(loop, --i);
            return false;
        }
        jzx__slab_init(&worker->slab, &home->depot);
        worker->live = 0;
        jzx__actor_worker_of(loop->sched.workers[i])->parts[JZX__PART_FUTURE] = worker;
    }
    return true;
}

static bool open_home(struct jzx_loop *loop, const jzx_config *config) {
    (void)config;
    struct jzx__future_home *home = jzx__alloc(&loop->sched.allocator, sizeof *home);
    if (home == NULL)
        return false;
    home->loop = loop;
    home->allocator = loop->sched.allocator;
    home->is_closed = false;
    home->live = 0;
    /* relaxed: nobody else can see it yet */
    jzx__atomic_store_relaxed(&home->gate, 0u);
    jzx__lock_init(&home->lock);
    for (uint32_t i = 0; i < JZX__FUTURE_LOCKS; i++)
        jzx__lock_init(&home->locks[i]);
    jzx__depot_init_records(&home->depot, &home->allocator, "the slabs of futures",
                            JZX__FUTURE_SMALL);
    jzx__slab_init(&home->slab, &home->depot);
    jzx__list_init(&home->threads);
    if (!open_workers(loop, home)) {
        destroy(home);
        return false;
    }
    loop->parts[JZX__PART_FUTURE] = home;
    return true;
}

static void cancel_threads(struct jzx__future_home *home) {
    const struct jzx__link *end = &home->threads.ring;
    for (struct jzx__link *at = home->threads.ring.next; at != end; at = at->next) {
        struct waiting_thread *thread = JZX_CONTAINER_OF(at, struct waiting_thread, at_home);
        (void)jzx__waiter_cancel(thread->waiter, thread->epoch, JZX__CAUSE_CLOSED, NULL);
    }
}

static void close_home(struct jzx_loop *loop) {
    struct jzx__future_home *home = jzx__future_home_of(loop);
    jzx__lock_acquire(&home->lock);
    home->is_closed = true;
    cancel_threads(home);
    home->live++; /* this one, until the gate is closed */
    for (uint32_t i = 0; i < loop->sched.worker_count; i++)
        home->live += worker_of(loop->sched.workers[i])->live;
    jzx__lock_release(&home->lock);
    close_gate(home);
    for (uint32_t i = 0; i < loop->sched.worker_count; i++)
        close_worker(loop, i);
    loop->parts[JZX__PART_FUTURE] = NULL;
    jzx__lock_acquire(&home->lock);
    bool is_last = --home->live == 0;
    jzx__lock_release(&home->lock);
    if (is_last)
        destroy(home);
}

const struct jzx__part_ops jzx__part_future = {.open = open_home, .close = close_home};
