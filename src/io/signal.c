/* SPDX-License-Identifier: MIT */
/* Subscriptions of signals, and how a signal comes to all of them. */
#include "io/signal.h"

#include "actor/mailbox.h"
#include "actor/own.h"
#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <sys/signalfd.h>

/* Signals that are read at once. */
#define SIGNALS_PER_READ 8u

/* G1 */
static struct {
    struct jzx__lock lock;
    struct jzx__list subscriptions;
} process = {.lock = {PTHREAD_MUTEX_INITIALIZER},
             .subscriptions = {{&process.subscriptions.ring, &process.subscriptions.ring}}};

static struct jzx__subscription *of_watch(struct jzx__fd_watch *watch) {
    return JZX_CONTAINER_OF(watch, struct jzx__subscription, watch);
}

static struct jzx__subscription *of_link(struct jzx__link *link) {
    return JZX_CONTAINER_OF(link, struct jzx__subscription, in_process);
}

static const struct jzx__os *os_of(const struct jzx__subscription *subscription) {
    return jzx__io_of(subscription->loop)->os;
}

static int event_fd(const struct jzx__subscription *subscription) {
    return subscription->watch.registration.entry.fd;
}

/* ---- a signal has come ---- */

/* An eventfd that is full counts no more: those are more signals than anybody will ever see. */
static void tell(const struct jzx__subscription *subscription, uint64_t count) {
    ssize_t written;
    do {
        written = os_of(subscription)->write(event_fd(subscription), &count, sizeof count);
    } while (written == -EINTR);
}

static void tell_all(int signo, uint64_t count) {
    struct jzx__link *ring = &process.subscriptions.ring;
    jzx__lock_acquire(&process.lock);
    for (struct jzx__link *link = ring->next; link != ring; link = link->next) {
        if (of_link(link)->signo == signo)
            tell(of_link(link), count);
    }
    jzx__lock_release(&process.lock);
}

/* Until nothing is left, as edges are reported; others may be faster. */
static void on_signal(struct jzx__worker *me, struct jzx__registration *registration,
                      uint32_t ready) {
    (void)me;
    (void)ready;
    struct jzx__subscription *subscription =
        JZX_CONTAINER_OF(registration, struct jzx__subscription, source);
    struct signalfd_siginfo infos[SIGNALS_PER_READ];
    ssize_t size;
    do {
        size = os_of(subscription)->read(registration->entry.fd, infos, sizeof infos);
        if (size > 0)
            tell_all(subscription->signo, (uint64_t)size / sizeof infos[0]);
    } while (size == (ssize_t)sizeof infos || size == -EINTR);
    jzx__registration_block(registration, JZX__READY_READ);
}

static const struct jzx__registration_ops source_ops = {.ready = on_signal};

/* ---- the kind of watch ---- */

static int attach(struct jzx__reactor *reactor, struct jzx__fd_watch *watch) {
    return jzx__reactor_add(reactor, &of_watch(watch)->source, JZX__READY_READ);
}

static void detach(struct jzx__reactor *reactor, struct jzx__fd_watch *watch) {
    jzx__reactor_remove(reactor, &of_watch(watch)->source);
}

static bool write_payload(struct jzx__fd_watch *watch) {
    struct jzx__subscription *subscription = of_watch(watch);
    struct jzx__message *event = (void *)watch->block;
    uint64_t count = 0;
    if (os_of(subscription)->read(event_fd(subscription), &count, sizeof count) !=
        (ssize_t)sizeof count)
        return false;
    const jzx_signal_event told = {.signo = subscription->signo,
                                   .count = count > UINT32_MAX ? UINT32_MAX : (uint32_t)count};
    memcpy(event->payload, &told, sizeof told);
    return true;
}

static void close_fds(struct jzx__fd_watch *watch) {
    struct jzx__subscription *subscription = of_watch(watch);
    jzx__lock_acquire(&process.lock);
    jzx__list_remove(&subscription->in_process);
    jzx__lock_release(&process.lock);
    os_of(subscription)->close(event_fd(subscription));
    os_of(subscription)->close(subscription->source.entry.fd);
}

static const struct jzx__fd_kind signal_kind = {
    .attach = attach, .detach = detach, .write = write_payload, .close = close_fds};

/* ---- making one ---- */

/* The descriptors; 0 or the negative errno. */
static int open_fds(const struct jzx__os *os, int signo, int *event, int *source) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, signo);
    *event = os->eventfd();
    if (*event < 0)
        return *event;
    *source = os->signalfd(&signals);
    if (*source < 0)
        os->close(*event);
    return *source < 0 ? *source : 0;
}

/* NULL without memory: then *err says so, or that there are no descriptors. */
static struct jzx__subscription *create(struct jzx_loop *loop, struct jzx__worker *me, int signo,
                                        jzx_actor_id owner, jzx_err *err) {
    const struct jzx__os *os = jzx__io_of(loop)->os;
    int event;
    int source;
    *err = JZX_ERR_IO_REG_FAILED;
    if (open_fds(os, signo, &event, &source) < 0)
        return NULL;
    struct jzx__fd_watch *watch = jzx__fd_watch_create(loop, me, event, owner);
    *err = JZX_ERR_NO_MEMORY;
    if (watch == NULL) {
        os->close(event);
        os->close(source);
        return NULL;
    }
    struct jzx__subscription *subscription = of_watch(watch);
    subscription->loop = loop;
    subscription->signo = signo;
    watch->kind = &signal_kind;
    jzx__registration_init(&subscription->source, &source_ops, source, JZX__POLL_EDGE);
    jzx__lock_acquire(&process.lock);
    jzx__list_push_back(&process.subscriptions, &subscription->in_process);
    jzx__lock_release(&process.lock);
    return subscription;
}

/* That of the actor, which lives: nobody but itself ends it. NULL: it has none. Under the lock of
 * its loop's I/O. */
static struct jzx__subscription *find(const struct jzx_loop *loop, jzx_actor_id owner, int signo) {
    const struct jzx__link *ring = &process.subscriptions.ring;
    struct jzx__subscription *found = NULL;
    jzx__lock_acquire(&process.lock);
    for (struct jzx__link *link = ring->next; link != ring && found == NULL; link = link->next) {
        struct jzx__subscription *subscription = of_link(link);
        if (subscription->signo == signo && subscription->loop == loop &&
            subscription->watch.owner == owner && (subscription->watch.flags & JZX__FD_DEAD) == 0)
            found = subscription;
    }
    jzx__lock_release(&process.lock);
    return found;
}

static jzx_err subscribe(struct jzx_loop *loop, struct jzx__worker *me, jzx_actor_id owner,
                         int signo, uint32_t tag) {
    struct jzx__subscription *subscription = find(loop, owner, signo);
    jzx_err err;
    if (subscription != NULL) {
        subscription->watch.tag = tag;
        return JZX_OK;
    }
    subscription = create(loop, me, signo, owner, &err);
    if (subscription == NULL)
        return err;
    subscription->watch.tag = tag;
    err = jzx__fd_watch_start(loop, me, &subscription->watch);
    if (err != JZX_OK)
        jzx__fd_watch_destroy(loop, me, &subscription->watch);
    return err;
}

static bool is_blocked(int signo) {
    sigset_t blocked;
    return pthread_sigmask(SIG_BLOCK, NULL, &blocked) == 0 && sigismember(&blocked, signo) == 1;
}

static bool may_be_asked_for(const struct jzx_loop *loop, int signo) {
    static const int refused[] = {SIGKILL, SIGSTOP, SIGSEGV, SIGBUS,
                                  SIGFPE,  SIGILL,  SIGTRAP, SIGABRT};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        if (signo == refused[i])
            return false;
    }
    return signo > 0 && signo <= SIGRTMAX && signo != loop->sched.crew.stall_signal;
}

/* The name of a signal that programs ask for; "" for others. */
static const char *name_of(int signo) {
    static const struct {
        int signo;
        const char *name;
    } names[] = {{SIGHUP, " SIGHUP"},   {SIGINT, " SIGINT"},   {SIGQUIT, " SIGQUIT"},
                 {SIGTERM, " SIGTERM"}, {SIGUSR1, " SIGUSR1"}, {SIGUSR2, " SIGUSR2"},
                 {SIGCHLD, " SIGCHLD"}, {SIGALRM, " SIGALRM"}, {SIGPIPE, " SIGPIPE"},
                 {SIGCONT, " SIGCONT"}, {SIGTSTP, " SIGTSTP"}, {SIGWINCH, " SIGWINCH"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (signo == names[i].signo)
            return names[i].name;
    }
    return "";
}

/* The status has many causes: the log says which one it was, and what to do. */
static void log_refusal(const struct jzx__own *own, int signo, const char *why) {
    jzx_actor_id id = own->turn->ctx.self;
    const char *name = jzx__actor_name(own->turn->actor);
    jzx__log(&own->turn->ctx.loop->sched.log, JZX_LOG_WARN,
             "actor %u.%u%s%s cannot be told of signal %d%s: %s", jzx_id_index(id),
             jzx_id_generation(id), name != NULL ? " " : "", name != NULL ? name : "", signo,
             name_of(signo), why);
}

static bool is_available(const struct jzx__own *own, int signo) {
    const char *why = NULL;
    if (!may_be_asked_for(own->turn->ctx.loop, signo))
        why = "it is none, or a fault, or the stall signal, or cannot be blocked";
    else if (!is_blocked(signo))
        why = "it is not blocked in this thread. Block it with pthread_sigmask in main, before the "
              "first thread and before jzx_loop_run";
    if (why != NULL)
        log_refusal(own, signo, why);
    return why == NULL;
}

jzx_err jzx_signal_to(jzx_context *ctx, int signo, uint32_t tag) {
    struct jzx__own own;
    if (ctx == NULL || tag == 0 || tag >= JZX_TAG_RESERVED || !jzx__own_begin(&own, ctx))
        return JZX_ERR_INVALID_ARG;
    struct jzx_loop *loop = own.turn->ctx.loop;
    jzx_err err = JZX_ERR_INVALID_ARG;
    if (is_available(&own, signo)) {
        jzx__lock_acquire(&jzx__io_of(loop)->lock);
        err = jzx__sched_is_stopped(&loop->sched)
                  ? JZX_ERR_LOOP_CLOSED
                  : subscribe(loop, own.me, own.turn->ctx.self, signo, tag);
        jzx__lock_release(&jzx__io_of(loop)->lock);
    }
    jzx__own_end(&own);
    return err;
}

jzx_err jzx_signal_end(jzx_context *ctx, int signo) {
    struct jzx__own own;
    if (ctx == NULL || !jzx__own_begin(&own, ctx))
        return JZX_ERR_INVALID_ARG;
    struct jzx_loop *loop = own.turn->ctx.loop;
    jzx__lock_acquire(&jzx__io_of(loop)->lock);
    struct jzx__subscription *subscription = find(loop, own.turn->ctx.self, signo);
    if (subscription != NULL)
        jzx__fd_watch_end(loop, own.me, &subscription->watch);
    jzx__lock_release(&jzx__io_of(loop)->lock);
    jzx__own_end(&own);
    return subscription == NULL ? JZX_ERR_IO_NOT_WATCHED : JZX_OK;
}
