/* SPDX-License-Identifier: MIT */
/* The system calls behind sleeping and waking. */
#include "base/parker.h"

#include "base/assert.h"
#include "base/futex.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

void jzx__parker_init(struct jzx__parker *parker) {
    /* relaxed: not shared yet */
    jzx__atomic_store_relaxed(&parker->state, JZX__AWAKE);
    /* relaxed: not shared yet */
    jzx__atomic_store_relaxed(&parker->event_fd, -1);
}

static int get_fd(const struct jzx__parker *parker) {
    /* relaxed: written once by the sleeper, before the announcement that tells wakers to use it */
    return jzx__atomic_load_relaxed(&parker->event_fd);
}

void jzx__parker_deinit(struct jzx__parker *parker) {
    if (get_fd(parker) >= 0)
        close(get_fd(parker));
}

int jzx__parker_open_fd(struct jzx__parker *parker) {
    if (get_fd(parker) < 0) {
        int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        /* relaxed: published to wakers by the seq_cst announcement that follows */
        jzx__atomic_store_relaxed(&parker->event_fd, fd);
    }
    return get_fd(parker);
}

static bool is_announced(struct jzx__parker *parker) {
    /* acquire: pairs with the exchange in wake; what the waker published is also read by seq_cst
     * operations on its queue, so this only ends the wait */
    return jzx__atomic_load_acquire(&parker->state) == JZX__SLEEPS_ON_FUTEX;
}

bool jzx__parker_wait(struct jzx__parker *parker, uint64_t timeout_ns) {
    while (is_announced(parker)) {
        bool timed_out = !jzx__futex_wait(&parker->state, JZX__SLEEPS_ON_FUTEX, timeout_ns);
        if (timed_out || timeout_ns != 0) /* after a signal the time that is left is another */
            return !is_announced(parker);
    }
    return true;
}

void jzx__parker_raise_fd(struct jzx__parker *parker) {
    uint64_t one = 1;
    if (get_fd(parker) >= 0) {
        ssize_t written = write(get_fd(parker), &one, sizeof one);
        JZX_ASSERT(written == (ssize_t)sizeof one || errno == EAGAIN || errno == EINTR);
    }
}

void jzx__parker_clear_fd(struct jzx__parker *parker) {
    uint64_t count;
    if (get_fd(parker) >= 0) {
        ssize_t got = read(get_fd(parker), &count, sizeof count);
        JZX_ASSERT(got == (ssize_t)sizeof count || errno == EAGAIN || errno == EINTR);
    }
}

bool jzx__parker_wake(struct jzx__parker *parker) {
    /* seq_cst: pairs with announce; the caller's push came before it (P1) */
    if (jzx__atomic_load_seq_cst(&parker->state) == JZX__AWAKE)
        return false;
    int saved = errno; /* signal handlers come through here */
    /* seq_cst: pairs with the load in wait; takes the announcement, of whatever sleep it is by
     * now, so that this thread and no other makes the call that ends it (P2) */
    uint32_t state = jzx__atomic_exchange_seq_cst(&parker->state, (uint32_t)JZX__AWAKE);
    if (state == JZX__SLEEPS_ON_FUTEX)
        jzx__futex_wake(&parker->state);
    else if (state == JZX__SLEEPS_ON_FD)
        jzx__parker_raise_fd(parker);
    errno = saved;
    return state != JZX__AWAKE;
}
