/* SPDX-License-Identifier: MIT */
#include "subprocess/reaper.h"

#include "jzx/time.h"

#include <errno.h>
#include <time.h>

/* How often orphans are looked at that epoll did not take (R3). */
#define LOOK_NS JZX_MS(5)

#define EVENTS 64

static uint64_t system_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * JZX_SECOND(1) + (uint64_t)now.tv_nsec;
}

static struct jzx__orphan *of_link(struct jzx__link *link) {
    return JZX_CONTAINER_OF(link, struct jzx__orphan, link);
}

/* ---- orphans ---- */

struct jzx__orphan *jzx__orphan_create(const jzx_allocator *allocator) {
    struct jzx__orphan *orphan = jzx__alloc(allocator, sizeof *orphan);
    if (orphan != NULL)
        *orphan = (struct jzx__orphan){.kill_ns = JZX_NEVER, .pidfd = -1};
    return orphan;
}

void jzx__orphan_destroy(const jzx_allocator *allocator, struct jzx__orphan *orphan) {
    if (orphan != NULL)
        jzx__free(allocator, orphan, sizeof *orphan);
}

/* A group that has nobody left, though its leader was not reaped: the leader alone. */
int jzx__process_signal(const struct jzx__subprocess_os *os, const struct jzx__orphan *process,
                        int signal) {
    if (process->has_group && os->signal_group(process->pid, signal) == 0)
        return 0;
    return os->signal(process->pidfd, signal);
}

static void kill_it(struct jzx__reaper *reaper, struct jzx__orphan *orphan) {
    orphan->kill_ns = JZX_NEVER;
    (void)jzx__process_signal(reaper->os, orphan, SIGKILL);
}

/* The loop is destroyed. One that has other rights by now, and cannot be killed, would be waited
 * for as long as it pleases: it is let go as if it was detached. */
static void kill_last(struct jzx__reaper *reaper, struct jzx__orphan *orphan) {
    kill_it(reaper, orphan);
    orphan->is_detached = reaper->os->signal(orphan->pidfd, SIGKILL) == -EPERM;
}

static void wake(struct jzx__reaper *reaper) {
    const uint64_t one = 1;
    (void)reaper->io->write(reaper->event, &one, sizeof one); /* full: it is awake anyway */
}

void jzx__reaper_adopt(struct jzx__reaper *reaper, struct jzx__orphan *orphan, uint64_t grace_ns) {
    struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = orphan}};
    uint64_t now_ns = system_now();
    jzx__lock_acquire(&reaper->lock);
    orphan->kill_ns = grace_ns >= JZX_NEVER - now_ns ? JZX_NEVER : now_ns + grace_ns;
    orphan->is_polled =
        reaper->io->epoll_ctl(reaper->epoll, EPOLL_CTL_ADD, orphan->pidfd, &event) == 0;
    if (!orphan->is_polled && !orphan->is_detached)
        kill_it(reaper, orphan);
    jzx__list_push_back(&reaper->orphans, &orphan->link);
    jzx__lock_release(&reaper->lock);
    wake(reaper);
}

/* ---- the thread, under the lock ---- */

static void bury(struct jzx__reaper *reaper, struct jzx__orphan *orphan) {
    if (orphan->is_polled)
        (void)reaper->io->epoll_ctl(reaper->epoll, EPOLL_CTL_DEL, orphan->pidfd, NULL);
    jzx__list_remove(&orphan->link);
    (void)reaper->io->close(orphan->pidfd);
    jzx__orphan_destroy(reaper->allocator, orphan);
}

/* An error says that somebody else has reaped it. One that may live on is let go at the end. */
static void reap(struct jzx__reaper *reaper, struct jzx__orphan *orphan) {
    siginfo_t info;
    struct rusage usage;
    bool is_gone = reaper->os->wait(orphan->pidfd, &info, &usage) != 0;
    if (is_gone || (reaper->is_ending && orphan->is_detached))
        bury(reaper, orphan);
}

/* When the thread must look again. */
static uint64_t look_at_all(struct jzx__reaper *reaper, uint64_t now_ns) {
    uint64_t next_ns = JZX_NEVER;
    struct jzx__link *after;
    for (struct jzx__link *link = reaper->orphans.ring.next; link != &reaper->orphans.ring;
         link = after) {
        struct jzx__orphan *orphan = of_link(link);
        after = link->next;
        if (reaper->is_ending && !orphan->is_detached)
            kill_last(reaper, orphan);
        else if (orphan->kill_ns <= now_ns)
            kill_it(reaper, orphan);
        if (!orphan->is_polled && now_ns + LOOK_NS < next_ns)
            next_ns = now_ns + LOOK_NS;
        if (orphan->kill_ns < next_ns)
            next_ns = orphan->kill_ns;
        if (!orphan->is_polled || (reaper->is_ending && orphan->is_detached))
            reap(reaper, orphan);
    }
    return next_ns;
}

static bool is_over(const struct jzx__reaper *reaper) {
    return reaper->is_ending && jzx__list_is_empty(&reaper->orphans);
}

/* ---- the thread ---- */

static void take_events(struct jzx__reaper *reaper, const struct epoll_event *events, int count) {
    uint64_t value;
    for (int i = 0; i < count; i++) {
        if (events[i].data.ptr == NULL)
            (void)reaper->io->read(reaper->event, &value, sizeof value);
        else
            reap(reaper, events[i].data.ptr);
    }
}

static void *thread_main(void *arg) {
    struct jzx__reaper *reaper = arg;
    struct epoll_event events[EVENTS];
    pthread_setname_np(pthread_self(), "jzx-reaper");
    jzx__lock_acquire(&reaper->lock);
    for (;;) {
        uint64_t now_ns = system_now();
        uint64_t next_ns = look_at_all(reaper, now_ns);
        if (is_over(reaper))
            break;
        jzx__lock_release(&reaper->lock);
        int count = reaper->io->epoll_wait(reaper->epoll, events, EVENTS,
                                           next_ns == JZX_NEVER ? JZX_NEVER : next_ns - now_ns);
        jzx__lock_acquire(&reaper->lock);
        take_events(reaper, events, count);
    }
    jzx__lock_release(&reaper->lock);
    return NULL;
}

/* ---- its life ---- */

void jzx__reaper_init(struct jzx__reaper *reaper, const jzx_allocator *allocator) {
    *reaper = (struct jzx__reaper){.allocator = allocator, .epoll = -1, .event = -1};
    jzx__lock_init(&reaper->lock);
    jzx__list_init(&reaper->orphans);
}

static void close_fds(struct jzx__reaper *reaper) {
    if (reaper->epoll >= 0)
        (void)reaper->io->close(reaper->epoll);
    if (reaper->event >= 0)
        (void)reaper->io->close(reaper->event);
    reaper->epoll = reaper->event = -1;
}

static int open_fds(struct jzx__reaper *reaper) {
    struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = NULL}};
    reaper->epoll = reaper->io->epoll_create();
    if (reaper->epoll < 0)
        return reaper->epoll;
    reaper->event = reaper->io->eventfd();
    if (reaper->event < 0)
        return reaper->event;
    return reaper->io->epoll_ctl(reaper->epoll, EPOLL_CTL_ADD, reaper->event, &event);
}

/* Handlers of the program run on other threads. */
static int create_thread(struct jzx__reaper *reaper) {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int err = pthread_create(&reaper->thread, NULL, thread_main, reaper);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -err;
}

int jzx__reaper_start(struct jzx__reaper *reaper, const struct jzx__os *io,
                      const struct jzx__subprocess_os *os) {
    int err = 0;
    jzx__lock_acquire(&reaper->lock);
    if (!reaper->is_started) {
        reaper->io = io;
        reaper->os = os;
        err = open_fds(reaper);
        if (err == 0)
            err = create_thread(reaper);
        if (err == 0)
            reaper->is_started = true;
        else
            close_fds(reaper);
    }
    jzx__lock_release(&reaper->lock);
    return err;
}

void jzx__reaper_deinit(struct jzx__reaper *reaper) {
    if (reaper->is_started) {
        jzx__lock_acquire(&reaper->lock);
        reaper->is_ending = true;
        jzx__lock_release(&reaper->lock);
        wake(reaper);
        (void)pthread_join(reaper->thread, NULL);
        close_fds(reaper);
    }
    jzx__lock_deinit(&reaper->lock);
}
