/* SPDX-License-Identifier: MIT */
#include "nomad.h"

#include "actor/loop.h"
#include "actor/turn.h"
#include "base/fault.h"
#include "fiber/fiber.h"
#include "sched/crew.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

/* The fibers that were refused in a pass: a hash table of their tasks, at most half full. */
struct refused {
    const struct jzx__task **tasks;
    size_t size; /* a power of two, or 0 */
    size_t count;
};

/* A thread that runs passes in place of another one, its principal. */
struct companion {
    struct jzx__thread thread;   /* with the seat of a substitute */
    struct jzx__seat *principal; /* of that one; NULL: none any more */
    struct refused mine;         /* of the pass that it runs */
    struct refused its;          /* of the one that the principal runs */
    struct jzx__worker *me;      /* of the pass, as what follows */
    uint32_t turns_max;
    bool by_caller;
    enum jzx__pass_result result;
    bool is_taken; /* the pass is over, but the watchdog has taken the worker */
    bool ends;
    sem_t go;
    sem_t done;
    struct companion *next;
};

struct nomad {
    const jzx_loop *loop;
    struct companion *companions;
    struct nomad *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct nomad *nomads; /* under the lock, as the lists of companions */

/* The last pass of this thread. */
static _Thread_local struct {
    struct refused *refused; /* NULL: none, in a pass of a principal */
    bool has_refused;        /* since the last pass of its companion */
} pass;

static void wait_for(sem_t *sem) {
    while (sem_wait(sem) != 0 && errno == EINTR)
        continue;
}

/* ---- refusing ---- */

static size_t place_of(const struct refused *refused, const struct jzx__task *task) {
    size_t place = ((uintptr_t)task / sizeof *task * 0x9E3779B97F4A7C15u) & (refused->size - 1);
    while (refused->tasks[place] != NULL && refused->tasks[place] != task)
        place = (place + 1) & (refused->size - 1);
    return place;
}

static void clear(struct refused *refused) {
    if (refused->count != 0)
        memset((void *)refused->tasks, 0, refused->size * sizeof *refused->tasks);
    refused->count = 0;
}

static void grow(struct refused *refused) {
    struct refused old = *refused;
    refused->size = old.size == 0 ? 64 : 2 * old.size;
    refused->tasks = calloc(refused->size, sizeof *refused->tasks);
    if (refused->tasks == NULL)
        abort();
    for (size_t i = 0; i < old.size; i++)
        if (old.tasks[i] != NULL)
            refused->tasks[place_of(refused, old.tasks[i])] = old.tasks[i];
    free((void *)old.tasks);
}

/* False if it was there already. */
static bool add(struct refused *refused, const struct jzx__task *task) {
    if (2 * refused->count >= refused->size)
        grow(refused);
    size_t place = place_of(refused, task);
    if (refused->tasks[place] == task)
        return false;
    refused->tasks[place] = task;
    refused->count++;
    return true;
}

static struct companion *companion_of(struct jzx__sched *sched, struct jzx__seat *principal);

/* Puts a fiber back that is not to be resumed by this thread; that counts as no turn. The pass goes
 * on with others until it comes to the same one again. */
static bool wander(struct jzx__worker *me, struct jzx__task *task) {
    struct jzx__seat *seat = jzx__seat_of_thread;
    const struct jzx__cold *cold = jzx__actor_cold(jzx__actor_of(task));
    if (cold == NULL || cold->kind != JZX__KIND_FIBER || cold->is_thread_bound)
        return false;
    const struct jzx__fiber *fiber = jzx__fiber_of(cold);
    if (fiber == NULL || fiber->turn.seat != seat)
        return false;
    if (pass.refused == NULL) {
        pass.refused = &companion_of(me->sched, seat)->its;
        clear(pass.refused);
    }
    me->turns_left = add(pass.refused, task) ? me->turns_left + 1 : 1;
    pass.has_refused = true;
    jzx__worker_requeue_any(me, task);
    return true;
}

static enum jzx__pass_result run_here(struct jzx__worker *me, uint32_t turns_max,
                                      struct refused *refused) {
    pass.refused = refused;
    if (refused != NULL)
        clear(refused);
    return jzx__actor_run_ready(me, turns_max);
}

/* ---- a companion ---- */

/* The worker changes its seat. False if the watchdog has taken it from the first. Both threads are
 * inside their brackets. */
static bool change_seats(struct jzx__worker *me, struct jzx__seat *from, struct jzx__seat *to,
                         bool by_caller) {
    jzx__lock_acquire(&me->sched->crew.lock);
    /* relaxed: changes under the lock (C1) */
    bool is_mine = jzx__atomic_load_relaxed(&from->worker) == me;
    if (is_mine) {
        /* relaxed: as above */
        jzx__atomic_store_relaxed(&from->worker, NULL);
        jzx__crew_sit(to, me, by_caller);
    }
    jzx__lock_release(&me->sched->crew.lock);
    return is_mine;
}

static void run_pass(struct companion *self) {
    struct jzx__worker *me = self->me;
    if (jzx__seat_enter(&self->thread.seat) != me) { /* taken already, before anything ran */
        self->result = JZX__PASS_EMPTY;
        self->is_taken = true;
        jzx__seat_leave(&self->thread.seat, 0);
        return;
    }
    self->result = run_here(me, self->turns_max, &self->mine);
    self->is_taken = false;
    if (self->result == JZX__PASS_LOST)
        return; /* outside the bracket already */
    self->is_taken = !change_seats(me, &self->thread.seat, self->principal, self->by_caller);
    jzx__seat_leave(&self->thread.seat, 0);
}

static void *companion_main(void *arg) {
    struct companion *self = arg;
    jzx__fault_arm(self->thread.guard);
    jzx__seat_of_thread = &self->thread.seat;
    for (wait_for(&self->go); !self->ends; wait_for(&self->go)) {
        run_pass(self);
        sem_post(&self->done);
    }
    jzx__seat_of_thread = &jzx__no_seat;
    jzx__fault_disarm(self->thread.guard);
    return NULL;
}

static struct companion *start_companion(struct jzx__sched *sched) {
    struct companion *self = aligned_alloc(_Alignof(struct companion), sizeof *self);
    if (self == NULL)
        abort();
    memset(self, 0, sizeof *self);
    jzx__parker_init(&self->thread.parker);
    self->thread.sched = sched;
    self->thread.home = sched->workers[0]; /* any: so it is no spare (become_spare of crew.c) */
    self->thread.seat.is_substitute = true;
    if (sched->crew.contain != 0)
        self->thread.guard = jzx__fault_guard_create(sched->ops.faults, &sched->mapper);
    if (sem_init(&self->go, 0, 0) != 0 || sem_init(&self->done, 0, 0) != 0 ||
        pthread_create(&self->thread.handle, NULL, companion_main, self) != 0)
        abort();
    return self;
}

static void end_companion(struct companion *self) {
    self->ends = true;
    sem_post(&self->go);
    pthread_join(self->thread.handle, NULL);
    jzx__fault_guard_destroy(self->thread.guard);
    jzx__parker_deinit(&self->thread.parker);
    sem_destroy(&self->go);
    sem_destroy(&self->done);
    free((void *)self->mine.tasks);
    free((void *)self->its.tasks);
    free(self);
}

static struct companion *companion_of(struct jzx__sched *sched, struct jzx__seat *principal) {
    pthread_mutex_lock(&lock);
    struct nomad *nomad = nomads;
    while (&nomad->loop->sched != sched)
        nomad = nomad->next;
    struct companion *companion = nomad->companions;
    while (companion != NULL && companion->principal != principal)
        companion = companion->next;
    if (companion == NULL) {
        companion = start_companion(sched);
        companion->principal = principal;
        companion->next = nomad->companions;
        nomad->companions = companion;
    }
    pthread_mutex_unlock(&lock);
    return companion;
}

/* Its seat has a turn until the worker takes that back: it serves no more. */
static void leave_companion(struct companion *companion) {
    pthread_mutex_lock(&lock);
    companion->principal = NULL;
    pthread_mutex_unlock(&lock);
}

/* ---- its principal ---- */

static enum jzx__pass_result run_beside(struct jzx__worker *me, uint32_t turns_max) {
    struct jzx__seat *seat = jzx__seat_of_thread;
    struct companion *companion = companion_of(me->sched, seat);
    bool by_caller = me->order.by_caller;
    if (!change_seats(me, seat, &companion->thread.seat, false))
        return JZX__PASS_EMPTY; /* the watchdog waits for this thread to leave */
    companion->me = me;
    companion->turns_max = turns_max;
    companion->by_caller = by_caller;
    sem_post(&companion->go);
    wait_for(&companion->done);
    if (companion->result != JZX__PASS_LOST && !companion->is_taken)
        return companion->result;
    if (companion->result == JZX__PASS_LOST)
        leave_companion(companion);
    jzx__seat_leave(seat, 0);
    jzx__crew_relieve(seat);
    return JZX__PASS_LOST;
}

/* Each round has a pass of the driving thread itself: what is bound to that waits for it. */
static enum jzx__pass_result run_ready(struct jzx__worker *me, uint32_t turns_max) {
    enum jzx__pass_result beside = JZX__PASS_EMPTY;
    if (pass.has_refused) {
        pass.has_refused = false;
        beside = run_beside(me, turns_max);
        if (beside == JZX__PASS_LOST)
            return beside;
    }
    enum jzx__pass_result here = run_here(me, turns_max, NULL);
    return here == JZX__PASS_EMPTY ? beside : here;
}

/* ---- loops ---- */

void nomad_begin(jzx_loop *loop) {
    struct nomad *nomad = malloc(sizeof *nomad);
    if (nomad == NULL)
        abort();
    loop->sched.restless = true;
    loop->sched.wander = wander;
    loop->sched.ops.run_ready = run_ready;
    pthread_mutex_lock(&lock);
    *nomad = (struct nomad){.loop = loop, .next = nomads};
    nomads = nomad;
    pthread_mutex_unlock(&lock);
}

void nomad_end(const jzx_loop *loop) {
    pthread_mutex_lock(&lock);
    struct nomad **place = &nomads;
    while (*place != NULL && (*place)->loop != loop)
        place = &(*place)->next;
    struct nomad *nomad = *place;
    if (nomad != NULL)
        *place = nomad->next;
    pthread_mutex_unlock(&lock);
    while (nomad != NULL && nomad->companions != NULL) {
        struct companion *companion = nomad->companions;
        nomad->companions = companion->next;
        end_companion(companion);
    }
    free(nomad);
}
