/* SPDX-License-Identifier: MIT */
/* Threads of a pool: started for a job, handed further ones, ended when there is nothing to do. */
#include "io/workforce.h"

#include "base/alloc.h"
#include "base/futex.h"
#include "base/log.h"

#include "jzx/time.h"

#include <signal.h>
#include <stdio.h>

/* called of a thread. AWAKE -> ASLEEP by the thread itself; CALLED by who took it out of the idle
 * list, under the lock, after it has written job. */
enum { AWAKE, ASLEEP, CALLED };

/* How a thread stands to the lists of its pool. Under the lock. */
enum standing {
    STARTING, /* its starter is about to list it */
    LISTED,
    GONE /* it has ended, and its starter has not come to list it */
};

struct jzx__pool_thread {
    pthread_t handle;
    struct jzx_blocking_pool *pool;
    struct jzx__link at_pool;
    struct jzx__link at_idle;
    struct jzx__pool_thread *next_ended;
    struct jzx__job *job;    /* to be run next; NULL when called: the loop is destroyed */
    _Atomic uint32_t called; /* decides; a futex */
    uint8_t standing;        /* enum standing */
    char name[16];
};

static struct jzx__pool_thread *thread_at_pool(struct jzx__link *link) {
    return JZX_CONTAINER_OF(link, struct jzx__pool_thread, at_pool);
}

static struct jzx__pool_thread *thread_at_idle(struct jzx__link *link) {
    return JZX_CONTAINER_OF(link, struct jzx__pool_thread, at_idle);
}

static struct jzx__job *job_at_queue(struct jzx__link *link) {
    return JZX_CONTAINER_OF(link, struct jzx__job, at_queue);
}

/* A job that has not run, and will not. */
static void refuse(struct jzx__job *job, struct jzx__worker *me, jzx_err err) {
    jzx__op_complete(jzx__op_of_own(job), me, err, NULL, 0);
}

static void refuse_all(struct jzx__list *jobs, struct jzx__worker *me, jzx_err err) {
    struct jzx__link *link;
    while ((link = jzx__list_pop_front(jobs)) != NULL)
        refuse(job_at_queue(link), me, err);
}

void jzx__workforce_init(struct jzx_blocking_pool *pool, struct jzx_loop *loop,
                         const jzx_blocking_opts *opts) {
    *pool = (struct jzx_blocking_pool){.loop = loop,
                                       .threads_max = opts->threads_max,
                                       .queue_max = opts->queue_max,
                                       .idle_ns = opts->idle_ns};
    snprintf(pool->name, sizeof pool->name, "%s", opts->name);
    jzx__lock_init(&pool->lock);
    jzx__list_init(&pool->queue);
    jzx__list_init(&pool->threads);
    jzx__list_init(&pool->idle);
}

/* ---- jobs, under the lock ---- */

static void put_at(struct jzx_blocking_pool *pool, struct jzx__job *job, bool first) {
    job->place = JZX__JOB_QUEUED;
    pool->queue_count++;
    if (first)
        jzx__list_push_front(&pool->queue, &job->at_queue);
    else
        jzx__list_push_back(&pool->queue, &job->at_queue);
}

static void take_out(struct jzx_blocking_pool *pool, struct jzx__job *job) {
    JZX_ASSERT(job->place == JZX__JOB_QUEUED); /* J1 */
    jzx__list_remove(&job->at_queue);
    job->place = JZX__JOB_GONE;
    pool->queue_count--;
}

/* The one to be started now; NULL if none waits. */
static struct jzx__job *take_first(struct jzx_blocking_pool *pool) {
    if (jzx__list_is_empty(&pool->queue))
        return NULL;
    struct jzx__job *job = job_at_queue(pool->queue.ring.next);
    take_out(pool, job);
    return job;
}

static void take_all(struct jzx_blocking_pool *pool, struct jzx__list *jobs) {
    struct jzx__job *job;
    jzx__list_init(jobs);
    while ((job = take_first(pool)) != NULL)
        jzx__list_push_back(jobs, &job->at_queue);
}

/* ---- calling an idle thread ---- */

/* Takes the thread out of the idle list for the job, or NULL for its end. Under the lock. True if
 * it sleeps: the caller wakes it, after the lock. */
static bool call(struct jzx_blocking_pool *pool, struct jzx__pool_thread *thread,
                 struct jzx__job *job) {
    jzx__list_remove(&thread->at_idle);
    pool->idle_count--;
    thread->job = job;
    if (job != NULL) {
        job->place = JZX__JOB_GONE;
        pool->started++;
    }
    /* release: pairs with the acquire in is_called; publishes the job */
    return jzx__atomic_exchange_acq_rel(&thread->called, (uint32_t)CALLED) == ASLEEP;
}

static bool is_called(struct jzx__pool_thread *thread) {
    /* acquire: pairs with the release in call; the job is visible */
    return jzx__atomic_load_acquire(&thread->called) == CALLED;
}

/* ---- a thread ---- */

/* The signals of the process are for threads that run the program's own code; faults are not
 * blocked, or they would end the process without a handler of the program's. */
static void signals_of_threads(sigset_t *set) {
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    sigfillset(set);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        sigdelset(set, faults[i]);
}

/* The thread that has started it may be bound to one CPU. */
static void leave_cpu_of_starter(const struct jzx_blocking_pool *pool) {
    const struct jzx__blocking *blocking = pool->loop->parts[JZX__PART_BLOCKING];
    if (blocking->has_cpus)
        (void)sched_setaffinity(0, sizeof blocking->cpus, &blocking->cpus);
}

/* It has no job any more: gets one, or is idle. */
static void look_for_job(struct jzx__pool_thread *self) {
    struct jzx_blocking_pool *pool = self->pool;
    jzx__lock_acquire(&pool->lock);
    self->job = take_first(pool);
    if (self->job != NULL) {
        pool->started++;
    } else if (!pool->is_halted) {
        jzx__list_push_front(&pool->idle, &self->at_idle); /* J4 */
        pool->idle_count++;
    }
    /* relaxed: under the lock, before anybody finds it in the list */
    jzx__atomic_store_relaxed(&self->called,
                              (uint32_t)(self->job != NULL || pool->is_halted ? CALLED : AWAKE));
    jzx__lock_release(&pool->lock);
}

/* Nothing came for too long. False if it was called at the last moment. */
static bool leave_idle(struct jzx__pool_thread *self) {
    struct jzx_blocking_pool *pool = self->pool;
    jzx__lock_acquire(&pool->lock);
    bool left = !is_called(self);
    if (left) {
        jzx__list_remove(&self->at_idle);
        pool->idle_count--;
        self->job = NULL;
    }
    jzx__lock_release(&pool->lock);
    return left;
}

/* Waits until it is called, or for too long. */
static void wait_for_call(struct jzx__pool_thread *self) {
    uint64_t idle_ns = self->pool->idle_ns == JZX_NEVER ? 0 : self->pool->idle_ns;
    uint32_t awake = AWAKE;
    /* acquire: pairs with the release in call, if that was faster */
    (void)jzx__atomic_cas_strong_acq_rel(&self->called, &awake, (uint32_t)ASLEEP);
    while (!is_called(self)) {
        if (!jzx__futex_wait(&self->called, ASLEEP, idle_ns) && leave_idle(self))
            return;
    }
}

static void run(struct jzx__pool_thread *self) {
    struct jzx__job *job = self->job;
    struct jzx__visit visit;
    jzx_err err = job->fn(job->arg);
    look_for_job(self); /* J3 */
    struct jzx__worker *me = jzx__loop_visit(self->pool->loop, &visit);
    struct jzx__op *op = jzx__op_of_own(job);
    jzx__op_complete(op, me, err, NULL, jzx__op_capacity(op)); /* 0 without a copy */
    jzx__visit_end(&visit);
}

static void join_all(const jzx_allocator *allocator, struct jzx__pool_thread *ended) {
    while (ended != NULL) {
        struct jzx__pool_thread *thread = ended;
        ended = thread->next_ended;
        int failed = pthread_join(thread->handle, NULL);
        JZX_ASSERT(failed == 0);
        jzx__free(allocator, thread, sizeof *thread);
    }
}

/* It ends (J5). While the loop is destroyed it stays listed, for who joins all. */
static void retire(struct jzx__pool_thread *self) {
    struct jzx_blocking_pool *pool = self->pool;
    const jzx_allocator *allocator = &pool->loop->sched.allocator;
    struct jzx__pool_thread *others = NULL;
    jzx__lock_acquire(&pool->lock);
    pool->thread_count--;
    if (self->standing == STARTING) {
        self->standing = GONE;
    } else if (!pool->is_halted) {
        others = pool->ended;
        self->next_ended = NULL;
        pool->ended = self;
        jzx__list_remove(&self->at_pool);
    }
    jzx__lock_release(&pool->lock);
    join_all(allocator, others);
}

static void *thread_main(void *arg) {
    struct jzx__pool_thread *self = arg;
    pthread_setname_np(pthread_self(), self->name);
    leave_cpu_of_starter(self->pool);
    do {
        run(self);
        wait_for_call(self);
    } while (self->job != NULL);
    retire(self);
    return NULL;
}

/* ---- starting one ---- */

static bool create_thread(struct jzx__pool_thread *thread) {
    sigset_t blocked;
    sigset_t before;
    signals_of_threads(&blocked);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    bool started = pthread_create(&thread->handle, NULL, thread_main, thread) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

/* It runs: it can be joined from now on. */
static void list_thread(struct jzx_blocking_pool *pool, struct jzx__pool_thread *thread) {
    jzx__lock_acquire(&pool->lock);
    if (thread->standing == GONE) {
        thread->next_ended = pool->ended;
        pool->ended = thread;
    } else {
        thread->standing = LISTED;
        jzx__list_push_back(&pool->threads, &thread->at_pool);
    }
    jzx__lock_release(&pool->lock);
}

/* A job whose thread could not be started. */
struct stranded {
    struct jzx__job *job;
    bool had_waited; /* it was taken out of the queue for that thread */
};

/* It waits for another thread, if there is one (J2): *sleeper is to be woken, or NULL. Under the
 * lock. */
static jzx_err place_otherwise(struct jzx_blocking_pool *pool, const struct stranded *stranded,
                               struct jzx__pool_thread **sleeper) {
    struct jzx__link *idle = pool->idle.ring.next;
    if (pool->thread_count == 0)
        return JZX_ERR_NO_THREAD;
    if (!jzx__list_is_empty(&pool->idle)) {
        if (call(pool, thread_at_idle(idle), stranded->job))
            *sleeper = thread_at_idle(idle);
        return JZX_OK;
    }
    if (!stranded->had_waited && pool->queue_count >= pool->queue_max)
        return JZX_ERR_FULL;
    put_at(pool, stranded->job, stranded->had_waited);
    return JZX_OK;
}

/* The thread for the job was counted, and could not be started. Those that wait for it alone fail
 * with the job (J2). */
static JZX_COLD jzx_err do_without(struct jzx_blocking_pool *pool, const struct stranded *stranded,
                                   struct jzx__worker *me) {
    struct jzx__pool_thread *sleeper = NULL;
    struct jzx__list others;
    jzx__list_init(&others);
    jzx__lock_acquire(&pool->lock);
    pool->thread_count--;
    pool->started--;
    stranded->job->place = JZX__JOB_WITH_CALLER;
    jzx_err err = place_otherwise(pool, stranded, &sleeper);
    if (err != JZX_OK)
        pool->refused++;
    if (pool->thread_count == 0)
        take_all(pool, &others);
    jzx__lock_release(&pool->lock);
    if (sleeper != NULL)
        jzx__futex_wake(&sleeper->called);
    if (err == JZX_ERR_NO_THREAD)
        jzx__log(&pool->loop->sched.log, JZX_LOG_WARN,
                 "pool %s: a thread could not be started, and it has no other", pool->name);
    refuse_all(&others, me, JZX_ERR_NO_THREAD);
    return err;
}

/* The job has a thread that was counted; now it is started. */
static jzx_err start_thread(struct jzx_blocking_pool *pool, const struct stranded *first,
                            uint64_t number, struct jzx__worker *me) {
    const jzx_allocator *allocator = &pool->loop->sched.allocator;
    struct jzx__pool_thread *thread = jzx__alloc(allocator, sizeof *thread);
    if (thread == NULL) {
        jzx_err err = do_without(pool, first, me);
        return err == JZX_ERR_NO_THREAD ? JZX_ERR_NO_MEMORY : err;
    }
    *thread = (struct jzx__pool_thread){.pool = pool, .job = first->job, .standing = STARTING};
    snprintf(thread->name, sizeof thread->name, "%s-%u", pool->name, (unsigned)(number % 10000u));
    if (!create_thread(thread)) {
        jzx__free(allocator, thread, sizeof *thread);
        return do_without(pool, first, me);
    }
    list_thread(pool, thread);
    return JZX_OK;
}

/* Counts a thread that is to be started, for the job or the first that waits. Under the lock. */
static uint64_t count_thread(struct jzx_blocking_pool *pool, struct stranded *first) {
    if (pool->queue_count != 0) { /* a thread could not be started before */
        put_at(pool, first->job, false);
        first->job = take_first(pool);
        first->had_waited = true;
    }
    first->job->place = JZX__JOB_GONE;
    pool->thread_count++;
    pool->started++;
    return ++pool->threads_started;
}

jzx_err jzx__workforce_submit(struct jzx_blocking_pool *pool, struct jzx__job *job,
                              struct jzx__worker *me) {
    struct jzx__pool_thread *sleeper = NULL;
    struct stranded first = {.job = job};
    uint64_t number = 0; /* of the thread that is to be started */
    jzx_err err = JZX_OK;
    jzx__lock_acquire(&pool->lock);
    if (pool->is_halted) {
        err = JZX_ERR_LOOP_CLOSED; /* J6 */
    } else if (!jzx__list_is_empty(&pool->idle)) {
        struct jzx__pool_thread *thread = thread_at_idle(pool->idle.ring.next);
        if (call(pool, thread, job))
            sleeper = thread;
    } else if (pool->thread_count < pool->threads_max) {
        number = count_thread(pool, &first);
    } else if (pool->queue_count < pool->queue_max) {
        put_at(pool, job, false);
    } else {
        pool->refused++;
        err = JZX_ERR_FULL;
    }
    jzx__lock_release(&pool->lock);
    if (sleeper != NULL)
        jzx__futex_wake(&sleeper->called);
    if (number != 0)
        err = start_thread(pool, &first, number, me);
    if (err != JZX_OK && first.had_waited) {
        refuse(first.job, me, err); /* it was accepted before */
        err = JZX_OK;
    }
    return err;
}

void jzx__workforce_cancel(struct jzx__op *op, struct jzx__worker *me) {
    struct jzx__job *job = jzx__op_own(op);
    struct jzx_blocking_pool *pool = job->pool;
    jzx__lock_acquire(&pool->lock);
    bool waits = job->place == JZX__JOB_QUEUED;
    if (waits) {
        take_out(pool, job);
        pool->cancelled++;
    }
    jzx__lock_release(&pool->lock);
    if (waits)
        refuse(job, me, JZX_ERR_CANCELLED);
}

/* ---- the end ---- */

/* Those that can be joined, whether they have ended or will; linked by next_ended. */
static struct jzx__pool_thread *take_threads(struct jzx_blocking_pool *pool) {
    struct jzx__link *link;
    jzx__lock_acquire(&pool->lock);
    struct jzx__pool_thread *all = pool->ended;
    pool->ended = NULL;
    while ((link = jzx__list_pop_front(&pool->threads)) != NULL) {
        thread_at_pool(link)->next_ended = all;
        all = thread_at_pool(link);
    }
    jzx__lock_release(&pool->lock);
    return all;
}

/* Every idle thread is told to end. Under the lock, which they need before they are gone. */
static void dismiss_idle(struct jzx_blocking_pool *pool) {
    while (!jzx__list_is_empty(&pool->idle)) {
        struct jzx__pool_thread *thread = thread_at_idle(pool->idle.ring.next);
        if (call(pool, thread, NULL))
            jzx__futex_wake(&thread->called);
    }
}

void jzx__workforce_halt(struct jzx_blocking_pool *pool, struct jzx__worker *me) {
    struct jzx__list waiting;
    jzx__lock_acquire(&pool->lock);
    pool->is_halted = true;
    pool->cancelled += pool->queue_count;
    take_all(pool, &waiting);
    dismiss_idle(pool);
    jzx__lock_release(&pool->lock);
    refuse_all(&waiting, me, JZX_ERR_CANCELLED);
}

bool jzx__workforce_join(struct jzx_blocking_pool *pool) {
    struct jzx__pool_thread *threads = take_threads(pool);
    join_all(&pool->loop->sched.allocator, threads);
    return threads != NULL;
}

void jzx__workforce_deinit(struct jzx_blocking_pool *pool) {
    JZX_ASSERT(pool->thread_count == 0 && pool->queue_count == 0);
    jzx__lock_deinit(&pool->lock);
}
