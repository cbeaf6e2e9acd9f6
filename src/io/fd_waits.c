/* SPDX-License-Identifier: MIT */
#include "io/fd_waits.h"

#include "base/alloc.h"
#include "io/bits.h"
#include "timer/timer.h"

#include "jzx/io.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>

_Static_assert(EPOLLIN == POLLIN && EPOLLOUT == POLLOUT && EPOLLERR == POLLERR &&
                   EPOLLHUP == POLLHUP && EPOLLRDHUP == POLLRDHUP,
               "the same bits");

#define FD_CAP_FIRST 64u
#define AWAITED_CLASS 0u

/* Descriptors of which a check looks whether they are open (W4). */
#define CHECKS_AT_ONCE 8u

/* A descriptor that somebody waits for. */
struct jzx__awaited {
    struct jzx__link at_set; /* in the order of the checks */
    struct jzx__list waits;  /* not empty */
    struct jzx__fd_waits *set;
    uint32_t generation; /* in the key: an event of a predecessor finds another one */
    int fd;
    uint8_t interest; /* of the poller: that of all its waits, and at times of one that has gone */
};

_Static_assert(sizeof(struct jzx__awaited) <= (size_t)JZX__BLOCK_SIZE_MIN << AWAITED_CLASS,
               "fits its class");

/* The set of a worker. */
struct jzx__fd_waits {
    struct jzx__worker *worker;
    struct jzx__poller poller;
    struct jzx__registration registration; /* of the poller's descriptor */
    struct jzx__awaited **by_fd;           /* NULL: nobody waits for it */
    uint32_t fd_cap;
    uint32_t generation;
    struct jzx__list awaited;
    struct jzx__heap timed; /* waits with a deadline, by that */
    uint64_t sequence;      /* of the next wait in there */
    struct jzx__waiter timer;
    uint64_t timer_ns; /* when it is due; JZX_NEVER */
};

/* ---- bits ---- */

/* A reader is told that the other end writes no more. */
static uint32_t poll_interest(uint32_t interest) {
    bool wants_end = (interest & (JZX_IO_READ | JZX_IO_HANGUP)) != 0;
    return (interest & (JZX_IO_READ | JZX_IO_WRITE)) | (wants_end ? JZX__READY_READ_END : 0);
}

static uint32_t told_of(uint32_t ready, uint32_t interest) {
    uint32_t told = ready & (interest | JZX_IO_ERROR | JZX_IO_HANGUP);
    if ((ready & JZX__READY_READ_END) != 0 && (poll_interest(interest) & JZX__READY_READ_END) != 0)
        told |= JZX_IO_HANGUP;
    return told;
}

jzx_err jzx__fd_wait_status(int negative_errno) {
    switch (negative_errno) {
    case 0: return JZX_OK;
    case -EBADF: return JZX_ERR_CLOSED;
    case -ENOMEM: return JZX_ERR_NO_MEMORY;
    case -ETIMEDOUT: return JZX_ERR_TIMEOUT;
    case -ECANCELED: return JZX_ERR_CANCELLED;
    case -ESHUTDOWN: return JZX_ERR_LOOP_CLOSED;
    default: return JZX_ERR_IO_REG_FAILED;
    }
}

/* poll(2) calls it ready at all times. */
static bool is_file(const struct jzx__os *os, int fd) {
    struct stat stat;
    return os->stat_at(fd, "", &stat) == 0 && (S_ISREG(stat.st_mode) || S_ISDIR(stat.st_mode));
}

int jzx__fd_look(const struct jzx__io *io, int fd, uint32_t interest) {
    int events = fd < 0 ? -EBADF : io->os->poll(fd, jzx__events_of(poll_interest(interest)));
    if (events <= 0)
        return events;
    uint32_t told = told_of(jzx__ready_of((uint32_t)events), interest);
    return told != 0 && is_file(io->os, fd) ? -EPERM : (int)told;
}

/* ---- completing, without the lock ---- */

/* The three are no errors of the system. */
static bool is_os_error(int result) {
    return result < 0 && result != -ETIMEDOUT && result != -ECANCELED && result != -ESHUTDOWN;
}

void jzx__fd_wait_finish(struct jzx__op *op, struct jzx__worker *me, int result) {
    const uint32_t ready = result > 0 ? (uint32_t)result : 0;
    if (is_os_error(result))
        jzx__op_set_os_error(op, -result);
    jzx__op_complete(op, me, result > 0 ? JZX_OK : jzx__fd_wait_status(result), &ready,
                     result > 0 ? sizeof ready : 0);
}

static struct jzx__fd_wait *wait_at_fd(struct jzx__link *link) {
    return JZX_CONTAINER_OF(link, struct jzx__fd_wait, at_fd);
}

static void finish_all(struct jzx__list *over, struct jzx__worker *me) {
    for (struct jzx__link *link; (link = jzx__list_pop_front(over)) != NULL;) {
        struct jzx__fd_wait *wait = wait_at_fd(link);
        jzx__fd_wait_finish(jzx__op_of_own(wait), me, wait->result);
    }
}

/* ---- the set, under the lock ---- */

static struct jzx__awaited *find(const struct jzx__fd_waits *set, int fd) {
    return (uint32_t)fd >= set->fd_cap ? NULL : set->by_fd[fd];
}

/* The number is that of an open file, so the table does not grow without end. */
static bool reserve(struct jzx__fd_waits *set, int fd) {
    const jzx_allocator *allocator = &set->worker->sched->allocator;
    uint32_t cap = set->fd_cap == 0 ? FD_CAP_FIRST : set->fd_cap;
    if ((uint32_t)fd < set->fd_cap)
        return true;
    while (cap <= (uint32_t)fd)
        cap *= 2;
    struct jzx__awaited **by_fd = jzx__alloc(allocator, cap * sizeof *by_fd);
    if (by_fd == NULL)
        return false;
    memset(by_fd, 0, cap * sizeof *by_fd);
    if (set->by_fd != NULL) {
        memcpy(by_fd, set->by_fd, set->fd_cap * sizeof *by_fd);
        jzx__free(allocator, set->by_fd, set->fd_cap * sizeof *by_fd);
    }
    set->by_fd = by_fd;
    set->fd_cap = cap;
    return true;
}

static uint8_t interest_of(const struct jzx__awaited *awaited) {
    uint32_t interest = 0;
    const struct jzx__link *ring = &awaited->waits.ring;
    for (struct jzx__link *at = ring->next; at != ring; at = at->next)
        interest |= poll_interest(wait_at_fd(at)->interest);
    return (uint8_t)interest;
}

static struct jzx__poll_entry entry_of(const struct jzx__awaited *awaited) {
    return (struct jzx__poll_entry){.fd = awaited->fd,
                                    .mode = JZX__POLL_ONCE,
                                    .interest = awaited->interest,
                                    .key = (uint64_t)awaited->generation << 32 |
                                           (uint32_t)awaited->fd};
}

/* 0 or the negative errno. A number that the set does not know stands for another file by now. */
static int arm(const struct jzx__awaited *awaited) {
    struct jzx__poller *poller = &awaited->set->poller;
    const struct jzx__poll_entry entry = entry_of(awaited);
    int err = poller->ops->change(poller, &entry);
    return err == -ENOENT ? -EBADF : err;
}

/* The descriptor leaves the set (W3). me may be any worker, or NULL. */
static void put_away(struct jzx__awaited *awaited, struct jzx__worker *me) {
    struct jzx__fd_waits *set = awaited->set;
    (void)set->poller.ops->remove(&set->poller, awaited->fd); /* it may be closed */
    set->by_fd[awaited->fd] = NULL;
    jzx__list_remove(&awaited->at_set);
    jzx__sched_free(set->worker->sched, me, AWAITED_CLASS, awaited);
}

/* It waits no more; its descriptor stays in the set. */
static void take_out(struct jzx__fd_wait *wait, int result, struct jzx__list *over) {
    jzx__list_remove(&wait->at_fd);
    if (wait->deadline_ns != JZX_NEVER)
        jzx__heap_remove(&wait->awaited->set->timed, &wait->at_time);
    wait->awaited = NULL;
    wait->result = result;
    jzx__list_push_back(over, &wait->at_fd);
}

/* The same, with its descriptor if it was the last one. */
static void end_wait(struct jzx__fd_wait *wait, struct jzx__worker *me, int result,
                     struct jzx__list *over) {
    struct jzx__awaited *awaited = wait->awaited;
    take_out(wait, result, over);
    if (jzx__list_is_empty(&awaited->waits))
        put_away(awaited, me);
}

/* The system does not know the descriptor any more (W4). */
static void lose(struct jzx__awaited *awaited, struct jzx__worker *me, int err,
                 struct jzx__list *over) {
    while (!jzx__list_is_empty(&awaited->waits))
        take_out(wait_at_fd(awaited->waits.ring.next), err, over);
    put_away(awaited, me);
}

/* 0 or the negative errno: then nothing has happened. */
static int make(struct jzx__fd_waits *set, int fd, uint32_t interest,
                struct jzx__awaited **awaited) {
    struct jzx__awaited *made = jzx__sched_alloc(set->worker->sched, set->worker, AWAITED_CLASS);
    if (made == NULL)
        return -ENOMEM;
    *made = (struct jzx__awaited){.set = set,
                                  .generation = ++set->generation,
                                  .fd = fd,
                                  .interest = (uint8_t)poll_interest(interest)};
    jzx__list_init(&made->waits);
    const struct jzx__poll_entry entry = entry_of(made);
    int err = set->poller.ops->add(&set->poller, &entry);
    if (err == 0 && !reserve(set, fd)) {
        (void)set->poller.ops->remove(&set->poller, fd);
        err = -ENOMEM;
    }
    if (err < 0) {
        jzx__sched_free(set->worker->sched, set->worker, AWAITED_CLASS, made);
        return err;
    }
    set->by_fd[fd] = made;
    jzx__list_push_back(&set->awaited, &made->at_set);
    *awaited = made;
    return 0;
}

/* The first deadline; NULL: there is none. */
static struct jzx__fd_wait *first_timed(const struct jzx__fd_waits *set) {
    const struct jzx__heap_item *item = jzx__heap_peek(&set->timed);
    return item == NULL ? NULL : JZX_CONTAINER_OF(item->node, struct jzx__fd_wait, at_time);
}

/* 0 or the negative errno. Waits for a file that had the number before are over. */
static int add(struct jzx__fd_waits *set, struct jzx__fd_wait *wait, struct jzx__list *over) {
    struct jzx__awaited *awaited = find(set, wait->fd);
    bool has_deadline = wait->deadline_ns != JZX_NEVER;
    int err = 0;
    if (has_deadline &&
        !jzx__heap_push(&set->timed, &wait->at_time, wait->deadline_ns, set->sequence++))
        return -ENOMEM;
    if (awaited != NULL) {
        awaited->interest |= (uint8_t)poll_interest(wait->interest);
        err = arm(awaited);
    }
    if (err < 0) {
        lose(awaited, set->worker, err, over);
        awaited = NULL;
    }
    if (awaited == NULL)
        err = make(set, wait->fd, wait->interest, &awaited);
    if (err < 0) {
        if (has_deadline)
            jzx__heap_remove(&set->timed, &wait->at_time);
        return err;
    }
    wait->awaited = awaited;
    jzx__list_push_back(&awaited->waits, &wait->at_fd);
    return 0;
}

/* W3. */
static void report(struct jzx__fd_waits *set, const struct jzx__poll_event *event,
                   struct jzx__list *over) {
    struct jzx__awaited *awaited = find(set, (int)(uint32_t)event->key);
    if (awaited == NULL || awaited->generation != event->key >> 32)
        return;
    struct jzx__link *ring = &awaited->waits.ring;
    for (struct jzx__link *at = ring->next, *next = at->next; at != ring;
         at = next, next = at->next) {
        uint32_t told = told_of(event->ready, wait_at_fd(at)->interest);
        if (told != 0)
            take_out(wait_at_fd(at), (int)told, over);
    }
    awaited->interest = interest_of(awaited);
    int err = jzx__list_is_empty(&awaited->waits) ? 0 : arm(awaited);
    if (err < 0)
        lose(awaited, set->worker, err, over);
    else if (jzx__list_is_empty(&awaited->waits))
        put_away(awaited, set->worker);
}

/* ---- at the set's worker, without the lock ---- */

static struct jzx__io *io_of(const struct jzx__fd_waits *set) {
    return jzx__io_of(jzx__loop_of(set->worker));
}

static void stop_timer(struct jzx__fd_waits *set) {
    if (set->timer_ns == JZX_NEVER)
        return;
    (void)jzx__waiter_withdraw(&set->timer, JZX__CAUSE_CANCELLED);
    (void)jzx__waiter_end(&set->timer);
    set->timer_ns = JZX_NEVER;
}

static void set_timer(struct jzx__fd_waits *set, uint64_t due_ns) {
    if (set->timer_ns == due_ns)
        return;
    stop_timer(set);
    if (due_ns == JZX_NEVER)
        return;
    set->timer_ns = due_ns;
    (void)jzx__waiter_begin(&set->timer, (struct jzx__wait_what){.kind = "descriptor"});
    jzx__timers_set_deadline(set->worker, &set->timer, due_ns);
    (void)jzx__waiter_arm(&set->timer);
}

/* Sees to the timer, and to W5. */
static void settle(struct jzx__fd_waits *set) {
    struct jzx__io *io = io_of(set);
    uint64_t due_ns = JZX_NEVER;
    jzx__lock_acquire(&io->waits_lock);
    const struct jzx__fd_wait *first = first_timed(set);
    if (first != NULL && !io->waits_are_over)
        due_ns = first->deadline_ns;
    bool is_quiet = jzx__list_is_empty(&set->awaited);
    jzx__lock_release(&io->waits_lock);
    set_timer(set, due_ns);
    jzx__reactor_set_quiet(jzx__reactor_of(set->worker), &set->registration, is_quiet);
}

/* By the wheel. */
static void wake_timer(void *who, struct jzx__worker *me) {
    struct jzx__fd_waits *set = who;
    struct jzx__io *io = io_of(set);
    uint64_t now_ns = jzx__clock_now(&me->sched->clock);
    struct jzx__fd_wait *wait;
    struct jzx__list over;
    jzx__list_init(&over);
    (void)jzx__waiter_end(&set->timer);
    set->timer_ns = JZX_NEVER;
    jzx__lock_acquire(&io->waits_lock);
    while ((wait = first_timed(set)) != NULL && wait->deadline_ns <= now_ns)
        end_wait(wait, me, -ETIMEDOUT, &over);
    jzx__lock_release(&io->waits_lock);
    settle(set);
    finish_all(&over, me);
}

/* The registration is reported by edges: takes all. A descriptor comes twice only if another of
 * its bits has become ready. */
static void on_ready(struct jzx__worker *me, struct jzx__registration *registration,
                     uint32_t ready) {
    struct jzx__fd_waits *set = JZX_CONTAINER_OF(registration, struct jzx__fd_waits, registration);
    struct jzx__io *io = io_of(set);
    struct jzx__poll_event events[JZX__POLL_EVENTS];
    struct jzx__list over;
    int count;
    (void)ready;
    jzx__list_init(&over);
    do {
        count = set->poller.ops->wait(&set->poller, events, JZX__POLL_EVENTS, 0);
        jzx__lock_acquire(&io->waits_lock);
        for (int i = 0; i < count; i++)
            report(set, &events[i], &over);
        jzx__lock_release(&io->waits_lock);
    } while (count == (int)JZX__POLL_EVENTS || count == -EINTR);
    settle(set);
    finish_all(&over, me);
}

/* W4: the program may have closed some of them. */
static void check(struct jzx__worker *me, struct jzx__registration *registration) {
    struct jzx__fd_waits *set = JZX_CONTAINER_OF(registration, struct jzx__fd_waits, registration);
    struct jzx__io *io = io_of(set);
    struct jzx__link *last = NULL;
    struct jzx__list over;
    jzx__list_init(&over);
    jzx__lock_acquire(&io->waits_lock);
    if (!jzx__list_is_empty(&set->awaited))
        last = set->awaited.ring.prev;
    for (uint32_t i = 0; i < CHECKS_AT_ONCE && last != NULL; i++) {
        struct jzx__link *link = jzx__list_pop_front(&set->awaited);
        struct jzx__awaited *awaited = JZX_CONTAINER_OF(link, struct jzx__awaited, at_set);
        last = link == last ? NULL : last;
        jzx__list_push_back(&set->awaited, link);
        int err = arm(awaited);
        if (err < 0)
            lose(awaited, me, err, &over);
    }
    jzx__lock_release(&io->waits_lock);
    settle(set);
    finish_all(&over, me);
}

static const struct jzx__registration_ops registration_ops = {.ready = on_ready, .check = check};

/* ---- the set's life ---- */

static void free_set(struct jzx_loop *loop, struct jzx__fd_waits *set) {
    const jzx_allocator *allocator = &loop->sched.allocator;
    jzx__heap_deinit(&set->timed);
    if (set->by_fd != NULL)
        jzx__free(allocator, set->by_fd, set->fd_cap * sizeof *set->by_fd);
    jzx__free(allocator, set, sizeof *set);
}

/* 0 or the negative errno. It is quiet. */
static int open_set(struct jzx__fd_waits *set, struct jzx__reactor *reactor) {
    int err = set->poller.ops->open(&set->poller);
    if (err < 0)
        return err;
    jzx__registration_init(&set->registration, &registration_ops, set->poller.fd, JZX__POLL_EDGE);
    err = jzx__reactor_add(reactor, &set->registration, JZX__READY_READ);
    if (err < 0)
        set->poller.ops->close(&set->poller);
    else
        jzx__reactor_set_quiet(reactor, &set->registration, true);
    return err;
}

/* The set of this worker. 0 or the negative errno. */
static int ensure_set(struct jzx__worker *me, struct jzx__fd_waits **set) {
    struct jzx_loop *loop = jzx__loop_of(me);
    struct jzx__reactor *reactor = jzx__reactor_ensure(me);
    if (reactor == NULL)
        return -ENOMEM;
    *set = reactor->waits;
    if (*set != NULL)
        return 0;
    struct jzx__fd_waits *made = jzx__alloc(&loop->sched.allocator, sizeof *made);
    if (made == NULL)
        return -ENOMEM;
    memset(made, 0, sizeof *made);
    made->worker = me;
    /* io_uring would need a ring for each, and the thread that waits to arm it (poller/P2). */
    made->poller =
        (struct jzx__poller){.ops = &jzx__poller_epoll, .os = jzx__io_of(loop)->os, .fd = -1};
    jzx__list_init(&made->awaited);
    jzx__heap_init(&made->timed, &loop->sched.allocator);
    jzx__waiter_init(&made->timer, wake_timer, made);
    made->timer_ns = JZX_NEVER;
    int err = open_set(made, reactor);
    if (err < 0)
        free_set(loop, made);
    else
        *set = reactor->waits = made;
    return err;
}

void jzx__fd_waits_destroy(struct jzx_loop *loop, struct jzx__reactor *reactor) {
    struct jzx__fd_waits *set = reactor->waits;
    if (set == NULL)
        return;
    JZX_ASSERT(jzx__list_is_empty(&set->awaited) && set->timer_ns == JZX_NEVER);
    set->poller.ops->close(&set->poller);
    free_set(loop, set);
}

/* ---- operations ---- */

static void enter_here(struct jzx__op *op, struct jzx__worker *me) {
    struct jzx__fd_wait *wait = jzx__op_own(op);
    struct jzx__io *io = jzx__io_of(op->loop);
    struct jzx__fd_waits *set = NULL;
    struct jzx__list over;
    jzx__list_init(&over);
    /* A worker's thread may look without the lock: none is left when it is set. */
    int err = io->waits_are_over ? -ESHUTDOWN : ensure_set(me, &set);
    jzx__lock_acquire(&io->waits_lock);
    if (err == 0)
        err = jzx__op_is_cancelled(op) ? -ECANCELED : add(set, wait, &over);
    jzx__lock_release(&io->waits_lock);
    if (set != NULL)
        settle(set);
    if (err < 0)
        jzx__fd_wait_finish(op, me, err);
    finish_all(&over, me);
}

void jzx__fd_wait_enter(struct jzx__op *op, struct jzx__worker *me) {
    struct jzx__io *io = jzx__io_of(op->loop);
    if (me != NULL) {
        enter_here(op, me);
        return;
    }
    jzx__lock_acquire(&io->waits_lock);
    bool is_over = io->waits_are_over;
    if (!is_over)
        jzx__op_bring(op, op->loop->sched.workers[0]);
    jzx__lock_release(&io->waits_lock);
    if (is_over)
        jzx__fd_wait_finish(op, NULL, -ESHUTDOWN);
}

/* An operation that has not entered its set finds the cancel when it does (W2). */
static void cancel(struct jzx__op *op, struct jzx__worker *me) {
    struct jzx__fd_wait *wait = jzx__op_own(op);
    struct jzx__io *io = jzx__io_of(op->loop);
    struct jzx__fd_waits *set = NULL;
    struct jzx__list over;
    jzx__list_init(&over);
    jzx__lock_acquire(&io->waits_lock);
    if (wait->awaited != NULL) {
        set = wait->awaited->set;
        end_wait(wait, me, -ECANCELED, &over);
    }
    jzx__lock_release(&io->waits_lock);
    if (set != NULL && set->worker == me)
        settle(set);
    finish_all(&over, me);
}

const struct jzx__op_ops jzx__fd_wait_ops = {.cancel = cancel, .arrive = enter_here};

/* ---- the end of the loop ---- */

/* Under the lock: those of futures. */
static void end_targets(struct jzx__fd_waits *set, struct jzx__worker *me, struct jzx__list *over) {
    for (struct jzx__link *at = set->awaited.ring.next, *next; at != &set->awaited.ring;
         at = next) {
        struct jzx__awaited *awaited = JZX_CONTAINER_OF(at, struct jzx__awaited, at_set);
        next = at->next;
        for (struct jzx__link *of = awaited->waits.ring.next, *then; of != &awaited->waits.ring;
             of = then) {
            then = of->next;
            if (jzx__op_of_own(wait_at_fd(of))->has_target)
                take_out(wait_at_fd(of), -ESHUTDOWN, over);
        }
        if (jzx__list_is_empty(&awaited->waits))
            put_away(awaited, me);
    }
}

/* Those on their way (W2) are refused when they arrive: the end of the loop takes all mail. */
void jzx__fd_waits_halt(struct jzx_loop *loop, struct jzx__worker *me) {
    struct jzx__io *io = jzx__io_of(loop);
    struct jzx__list over;
    jzx__list_init(&over);
    jzx__lock_acquire(&io->waits_lock);
    io->waits_are_over = true;
    for (uint32_t i = 0; i < loop->sched.worker_count; i++) {
        struct jzx__reactor *reactor = jzx__reactor_of(loop->sched.workers[i]);
        if (reactor == NULL || reactor->waits == NULL)
            continue;
        end_targets(reactor->waits, me, &over);
        stop_timer(reactor->waits); /* no thread drives that worker */
    }
    jzx__lock_release(&io->waits_lock);
    finish_all(&over, me);
}
