/* SPDX-License-Identifier: MIT */
/* The poller on io_uring(7). A descriptor has a slot, found by its number, and the kernel has a
 * request to poll it: one that goes on (EDGE) or one that ends with its first event (ONCE).
 *
 *   poller/P1  a completion counts if its generation is the slot's. Each request takes the next
 *              one, and so do change and remove, which cancel the request before. So nothing that
 *              happened to a descriptor is reported with the key of its successor.
 *   poller/P2  only the thread that waits arms. A request belongs to the thread that submits it and
 *              completes there: at its next return from the kernel, to which the kernel urges it,
 *              but not out of a sleep that nothing can interrupt. So add and change put the slot on
 *              a list, and wait arms what is there. If another thread than the last waiter does
 *              this, a request that does nothing wakes the waiter, or the host at the descriptor.
 *   poller/P3  a thread that was not the last waiter cancels all requests and arms them anew. So a
 *              hand-over, after which the old thread may be stuck in the kernel, leaves nothing
 *              with that thread, and neither does a run that has ended.
 *   poller/P4  a request that counts and was cancelled (its thread has exited), or an EDGE that has
 *              ended (no place for completions), is armed anew. A new request reports at once what
 *              is ready, so nothing is lost; an edge may be reported twice.
 *   poller/P5  the kernel looks a number up when it takes the request, and keeps the file from then
 *              on, open or closed. Which files the numbers stood for when they were added is known
 *              to the **registry**, an epoll instance at which nobody waits: it refuses what cannot
 *              be polled, and says of a closed or reused number what the other back end says. ONCE,
 *              which may be closed by others, asks it again whenever it is armed.
 *   poller/P6  remove gives the cancellation to the kernel before it returns. The file is released
 *              when the request completes (P2): before remove returns if the waiter calls it, else
 *              a moment later.
 *   poller/P7  the kernel reports the end of the other side even if nobody wants to know. Such an
 *              event is dropped. A new request would end by it at once again, so that of a ONCE
 *              goes on from then, and is cancelled with the first event that is wanted: PATIENT.
 *   poller/P8  wait takes all completions, whatever it has places for, and queues the slots: one
 *              event for all that has happened to a descriptor. So a request that has ended because
 *              the kernel had no place finds one, and is not ended again by those that wait to be
 *              reported. What stays in the queue is bounded by the descriptors.
 *   poller/P9  everything but the ring is guarded by the lock, and so is reaping (ring/G3). Nobody
 *              sleeps under it.
 *
 * Rejected: IORING_POLL_UPDATE (it fails while an event is on its way, which then has to be treated
 * as a removal anyway); arming by any thread (P2: an idle worker would hear of nothing while the
 * thread that armed sits in fsync); fstat instead of the registry (all eventfds have one inode). */
#include "base/alloc.h"
#include "io/bits.h"
#include "io/ring.h"

#include "jzx/time.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#if defined(JZX__HAS_IO_URING)

/* Submissions that may be pushed at a time; twice as many completions. */
#define RING_ENTRIES 512u

/* Completions that are looked at in one piece, and pieces in one wait at most. */
#define REAP_COUNT 64u
#define REAPS_MAX 256u

#define SLOTS_FIRST 64u

/* A wait with requests that the kernel has refused is no longer than that. */
#define RETRY_NS 1000000u

/* No number is that high. */
#define NUDGE_KEY UINT64_MAX
#define CANCEL_KEY (UINT64_MAX - 1)

#define KNOWN 0x01u   /* added, and not removed since */
#define ARMED 0x02u   /* the request of this generation is the kernel's, or pushed */
#define LISTED 0x04u  /* on the list: to be armed, if it is KNOWN and not ARMED */
#define QUEUED 0x08u  /* in the queue: to be reported, if there is something still */
#define PATIENT 0x10u /* P7 */

struct slot {
    uint64_t key;
    uint32_t generation; /* P1 */
    uint32_t next;       /* on the list: one more than a number; 0: none */
    uint32_t next_ready; /* in the queue, in the same way */
    uint8_t mode;        /* as in jzx__poll_entry */
    uint8_t interest;
    uint8_t ready; /* JZX__READY_*, to be reported; 0: nothing */
    uint8_t flags;
};

struct uring {
    struct jzx__ring ring;
    int registry; /* P5 */
    struct jzx__lock lock;
    const void *waiter; /* the last thread that has waited, or has opened it */
    struct slot *slots; /* by number */
    uint32_t slot_cap;
    uint32_t listed;      /* as next */
    uint32_t first_ready; /* as next_ready, and the last one of the queue */
    uint32_t last_ready;
    bool is_pushed; /* the ring may have requests that were not submitted */
    bool is_nudged; /* the completion of a nudge is there, or comes */
};

/* The address says which thread it is. That of one that has exited may be used again: P4. */
static const void *this_thread(void) {
    static _Thread_local char mark;
    return &mark;
}

static struct uring *uring_of(const struct jzx__poller *poller) {
    return poller->state;
}

/* ---- bits ---- */

/* The kernel reads the two halves of the word in the order of a little-endian machine. */
static uint32_t poll_word(uint32_t events) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return events << 16 | events >> 16;
#else
    return events;
#endif
}

static int fd_of(const struct uring *uring, const struct slot *slot) {
    return (int)(slot - uring->slots);
}

static uint64_t data_of(const struct uring *uring, const struct slot *slot) {
    return (uint64_t)slot->generation << 32 | (uint32_t)fd_of(uring, slot);
}

static void fill(struct slot *slot, const struct jzx__poll_entry *entry) {
    slot->key = entry->key;
    slot->mode = entry->mode;
    slot->interest = entry->interest;
}

/* ---- open and close ---- */

/* Requests that go on, and successes that need no completion: Linux 5.13 and 5.17. */
static bool is_able(const struct jzx__ring *ring) {
    const uint32_t needed = IORING_FEAT_RSRC_TAGS | IORING_FEAT_CQE_SKIP;
    return (ring->features & needed) == needed && jzx__ring_can(ring, IORING_OP_POLL_ADD) &&
           jzx__ring_can(ring, IORING_OP_POLL_REMOVE);
}

static int open_both(struct uring *uring, const struct jzx__os *os) {
    uring->registry = os->epoll_create();
    if (uring->registry < 0)
        return uring->registry;
    int err = jzx__ring_open(&uring->ring, os, RING_ENTRIES);
    if (err == 0 && !is_able(&uring->ring)) {
        jzx__ring_close(&uring->ring);
        err = -ENOSYS;
    }
    if (err < 0)
        (void)os->close(uring->registry);
    return err;
}

static int open_uring(struct jzx__poller *poller) {
    struct uring *uring = jzx__alloc(poller->allocator, sizeof *uring);
    if (uring == NULL)
        return -ENOMEM;
    memset(uring, 0, sizeof *uring);
    int err = open_both(uring, poller->os);
    if (err < 0) {
        jzx__free(poller->allocator, uring, sizeof *uring);
        return err;
    }
    jzx__lock_init(&uring->lock);
    uring->waiter = this_thread();
    poller->state = uring;
    poller->fd = uring->ring.fd;
    return 0;
}

static void close_uring(struct jzx__poller *poller) {
    struct uring *uring = uring_of(poller);
    jzx__ring_close(&uring->ring); /* cancels what is left */
    (void)poller->os->close(uring->registry);
    jzx__lock_deinit(&uring->lock);
    if (uring->slots != NULL)
        jzx__free(poller->allocator, uring->slots, uring->slot_cap * sizeof *uring->slots);
    jzx__free(poller->allocator, uring, sizeof *uring);
    poller->state = NULL;
    poller->fd = -1;
}

/* ---- slots, under the lock ---- */

/* Makes a place for that number. False without memory. */
static bool reserve(struct jzx__poller *poller, uint32_t fd) {
    struct uring *uring = uring_of(poller);
    uint32_t cap = uring->slot_cap == 0 ? SLOTS_FIRST : uring->slot_cap;
    while (cap <= fd)
        cap *= 2;
    if (cap == uring->slot_cap)
        return true;
    struct slot *slots = jzx__alloc(poller->allocator, cap * sizeof *slots);
    if (slots == NULL)
        return false;
    memset(slots, 0, cap * sizeof *slots);
    if (uring->slots != NULL) {
        memcpy(slots, uring->slots, uring->slot_cap * sizeof *slots);
        jzx__free(poller->allocator, uring->slots, uring->slot_cap * sizeof *slots);
    }
    uring->slots = slots;
    uring->slot_cap = cap;
    return true;
}

/* NULL: nobody has added it. */
static struct slot *find(const struct uring *uring, int fd) {
    if (fd < 0 || (uint32_t)fd >= uring->slot_cap)
        return NULL;
    struct slot *slot = &uring->slots[fd];
    return slot->flags & KNOWN ? slot : NULL;
}

static void put_on_list(struct uring *uring, struct slot *slot) {
    if (slot->flags & LISTED)
        return;
    slot->flags |= LISTED;
    slot->next = uring->listed;
    uring->listed = (uint32_t)fd_of(uring, slot) + 1;
}

/* P5 */
static int ask_registry(const struct uring *uring, int op, int fd) {
    struct epoll_event nothing = {0};
    return uring->ring.os->epoll_ctl(uring->registry, op, fd, &nothing);
}

/* ---- requests, under the lock ---- */

/* What is refused stays pushed, and goes with the next. */
static int submit(struct uring *uring) {
    int err = uring->is_pushed ? jzx__ring_submit(&uring->ring) : 0;
    uring->is_pushed = err < 0;
    return err;
}

/* If there is no place, what was pushed goes first. */
static int push(struct uring *uring, const struct io_uring_sqe *request) {
    uring->is_pushed = true;
    int err = jzx__ring_push(&uring->ring, request);
    if (err != -EBUSY)
        return err;
    err = submit(uring);
    uring->is_pushed = true;
    return err < 0 ? err : jzx__ring_push(&uring->ring, request);
}

/* If that is refused the request stays, and is found by its next completion: drop_stale. */
static void cancel_request(struct uring *uring, uint64_t data) {
    struct io_uring_sqe request;
    memset(&request, 0, sizeof request);
    request.opcode = IORING_OP_POLL_REMOVE;
    request.flags = IOSQE_CQE_SKIP_SUCCESS;
    request.fd = -1;
    request.addr = data;
    request.user_data = CANCEL_KEY;
    (void)push(uring, &request);
}

/* From here on nothing of the request before counts (P1). */
static void disarm(struct uring *uring, struct slot *slot) {
    if (slot->flags & ARMED)
        cancel_request(uring, data_of(uring, slot));
    slot->flags &= (uint8_t)~ARMED;
    slot->ready = 0;
    slot->generation++;
}

/* Pushes a new request. The kernel looks the number up when it is submitted, soon after this. */
static int arm(struct uring *uring, struct slot *slot) {
    struct io_uring_sqe request;
    slot->generation++;
    memset(&request, 0, sizeof request);
    request.opcode = IORING_OP_POLL_ADD;
    request.fd = fd_of(uring, slot);
    bool goes_on = slot->mode == JZX__POLL_EDGE || (slot->flags & PATIENT) != 0;
    request.len = goes_on ? IORING_POLL_ADD_MULTI : 0;
    request.poll32_events = poll_word(jzx__events_of(slot->interest));
    request.user_data = data_of(uring, slot);
    int err = push(uring, &request);
    if (err == 0)
        slot->flags |= ARMED;
    return err;
}

/* P5 */
static bool is_forgotten(const struct uring *uring, const struct slot *slot) {
    if (slot->mode == JZX__POLL_EDGE)
        return false;
    int err = ask_registry(uring, EPOLL_CTL_MOD, fd_of(uring, slot));
    return err == -EBADF || err == -ENOENT || err == -EPERM;
}

static bool is_to_be_armed(const struct uring *uring, const struct slot *slot) {
    return (slot->flags & (KNOWN | ARMED)) == KNOWN && !is_forgotten(uring, slot);
}

/* P2. What is refused stays on the list, or pushed. */
static void arm_listed(struct uring *uring) {
    while (uring->listed != 0) {
        struct slot *slot = &uring->slots[uring->listed - 1];
        if (is_to_be_armed(uring, slot) && arm(uring, slot) < 0)
            return;
        uring->listed = slot->next;
        slot->flags &= (uint8_t)~LISTED;
    }
    (void)submit(uring);
}

/* P3 */
static void take_over(struct uring *uring) {
    if (uring->waiter == this_thread())
        return;
    uring->waiter = this_thread();
    for (uint32_t i = 0; i < uring->slot_cap; i++) {
        struct slot *slot = &uring->slots[i];
        if ((slot->flags & (KNOWN | ARMED)) != (KNOWN | ARMED))
            continue;
        disarm(uring, slot);
        put_on_list(uring, slot);
    }
}

/* Makes the descriptor readable, and wakes the waiter. */
static int start_nudge(struct uring *uring) {
    struct io_uring_sqe request;
    if (uring->is_nudged)
        return 0;
    memset(&request, 0, sizeof request);
    request.opcode = IORING_OP_NOP;
    request.fd = -1;
    request.user_data = NUDGE_KEY;
    int err = jzx__ring_start(&uring->ring, &request);
    uring->is_nudged = err == 0;
    return err == -EBUSY ? 0 : err; /* there are completions: the waiter comes for those */
}

/* Something is on the list. 0 if the waiter will look there, or the negative errno (P2). */
static int call_waiter(struct uring *uring) {
    return uring->waiter == this_thread() ? 0 : start_nudge(uring);
}

/* ---- add, change and remove ---- */

static int add_slot(struct jzx__poller *poller, const struct jzx__poll_entry *entry) {
    struct uring *uring = uring_of(poller);
    if (entry->fd >= 0 && !reserve(poller, (uint32_t)entry->fd))
        return -ENOMEM;
    int err = ask_registry(uring, EPOLL_CTL_ADD, entry->fd);
    if (err < 0)
        return err;
    struct slot *slot = &uring->slots[entry->fd];
    disarm(uring, slot); /* of a file that had the number, and was closed */
    fill(slot, entry);
    slot->flags &= (uint8_t)~PATIENT;
    slot->flags |= KNOWN;
    put_on_list(uring, slot);
    err = call_waiter(uring);
    if (err < 0) {
        slot->flags &= (uint8_t)~KNOWN;
        (void)ask_registry(uring, EPOLL_CTL_DEL, entry->fd);
    }
    return err;
}

static int add(struct jzx__poller *poller, const struct jzx__poll_entry *entry) {
    struct uring *uring = uring_of(poller);
    jzx__lock_acquire(&uring->lock);
    int err = add_slot(poller, entry);
    jzx__lock_release(&uring->lock);
    return err;
}

/* True if what it has been armed for, and has not reported yet, is what is wanted. */
static bool is_armed_for(const struct slot *slot, const struct jzx__poll_entry *entry) {
    return (slot->flags & ARMED) != 0 && entry->mode == JZX__POLL_ONCE &&
           slot->mode == entry->mode && slot->interest == entry->interest &&
           slot->key == entry->key;
}

static int change_slot(struct uring *uring, const struct jzx__poll_entry *entry) {
    int err = ask_registry(uring, EPOLL_CTL_MOD, entry->fd);
    struct slot *slot = find(uring, entry->fd);
    if (err < 0 || slot == NULL)
        return err < 0 ? err : -ENOENT;
    if (is_armed_for(slot, entry))
        return 0;
    disarm(uring, slot);
    fill(slot, entry);
    put_on_list(uring, slot);
    return call_waiter(uring);
}

static int change(struct jzx__poller *poller, const struct jzx__poll_entry *entry) {
    struct uring *uring = uring_of(poller);
    jzx__lock_acquire(&uring->lock);
    int err = change_slot(uring, entry);
    jzx__lock_release(&uring->lock);
    return err;
}

/* P6 */
static int remove_fd(struct jzx__poller *poller, int fd) {
    struct uring *uring = uring_of(poller);
    jzx__lock_acquire(&uring->lock);
    struct slot *slot = find(uring, fd);
    if (slot != NULL) {
        disarm(uring, slot);
        slot->flags &= (uint8_t)~KNOWN;
        (void)submit(uring);
    }
    int err = ask_registry(uring, EPOLL_CTL_DEL, fd);
    jzx__lock_release(&uring->lock);
    return err;
}

/* ---- completions, under the lock ---- */

/* P8 */
static void report(struct uring *uring, struct slot *slot, uint32_t ready) {
    uint32_t place = (uint32_t)fd_of(uring, slot) + 1;
    slot->ready |= (uint8_t)ready;
    if (slot->flags & QUEUED)
        return;
    slot->flags |= QUEUED;
    slot->next_ready = 0;
    if (uring->first_ready == 0)
        uring->first_ready = place;
    else
        uring->slots[uring->last_ready - 1].next_ready = place;
    uring->last_ready = place;
}

static void handle_event(struct uring *uring, struct slot *slot, uint32_t ready) {
    bool is_once = slot->mode == JZX__POLL_ONCE;
    ready &= slot->interest | JZX__READY_ERROR | JZX__READY_HANGUP;
    if (ready != 0 && is_once)
        disarm(uring, slot);
    if (ready != 0)
        report(uring, slot, ready);
    else if (is_once)
        slot->flags |= PATIENT; /* P7 */
    if ((slot->flags & ARMED) == 0 && (!is_once || ready == 0))
        put_on_list(uring, slot); /* P4 */
}

/* The request has ended without an event, or could not begin. */
static void handle_failure(struct uring *uring, struct slot *slot, int32_t result) {
    if (result == -ECANCELED || result == -ENOMEM || result == -EAGAIN)
        put_on_list(uring, slot); /* P4 */
    else if (result != -EBADF)    /* closed meanwhile: forgotten */
        report(uring, slot, JZX__READY_ERROR);
}

/* One that goes on although nobody wants it: its cancellation was refused. */
static void drop_stale(struct uring *uring, const struct jzx__ring_done *done) {
    if (done->key == NUDGE_KEY)
        uring->is_nudged = false;
    else if (done->key != CANCEL_KEY && (done->flags & IORING_CQE_F_MORE) != 0)
        cancel_request(uring, done->key);
}

static void handle(struct uring *uring, const struct jzx__ring_done *done) {
    uint32_t fd = (uint32_t)done->key;
    struct slot *slot = fd < uring->slot_cap ? &uring->slots[fd] : NULL;
    if (slot == NULL || (slot->flags & ARMED) == 0 || slot->generation != done->key >> 32) {
        drop_stale(uring, done);
        return;
    }
    if ((done->flags & IORING_CQE_F_MORE) == 0)
        slot->flags &= (uint8_t)~ARMED;
    if (done->result < 0)
        handle_failure(uring, slot, done->result);
    else
        handle_event(uring, slot, jzx__ready_of((uint32_t)done->result));
}

/* Others may go on to complete meanwhile: there is an end to it. */
static void collect(struct uring *uring) {
    struct jzx__ring_done done[REAP_COUNT];
    uint32_t got = REAP_COUNT;
    for (uint32_t reaps = 0; got == REAP_COUNT && reaps < REAPS_MAX; reaps++) {
        got = jzx__ring_reap(&uring->ring, done, REAP_COUNT);
        for (uint32_t i = 0; i < got; i++)
            handle(uring, &done[i]);
    }
}

static uint32_t take_ready(struct uring *uring, struct jzx__poll_event *events,
                           uint32_t count_max) {
    uint32_t count = 0;
    while (uring->first_ready != 0 && count < count_max) {
        struct slot *slot = &uring->slots[uring->first_ready - 1];
        uring->first_ready = slot->next_ready;
        slot->flags &= (uint8_t)~QUEUED;
        if (slot->ready != 0)
            events[count++] = (struct jzx__poll_event){slot->key, slot->ready};
        slot->ready = 0;
    }
    return count;
}

/* ---- waiting ---- */

/* Arms before, for what is ready already, and after, for what has ended: then a host may sleep at
 * the descriptor. Returns how many events there are. */
static uint32_t look(struct uring *uring, struct jzx__poll_event *events, uint32_t count_max) {
    jzx__lock_acquire(&uring->lock);
    take_over(uring);
    arm_listed(uring);
    collect(uring);
    arm_listed(uring);
    uint32_t count = take_ready(uring, events, count_max);
    if (uring->first_ready != 0)
        (void)start_nudge(uring); /* the descriptor stays readable */
    jzx__lock_release(&uring->lock);
    return count;
}

/* False if the kernel has refused something, which has to be tried again. */
static bool is_whole(struct uring *uring) {
    jzx__lock_acquire(&uring->lock);
    bool is_whole = uring->listed == 0 && !uring->is_pushed;
    jzx__lock_release(&uring->lock);
    return is_whole;
}

static int wait(struct jzx__poller *poller, struct jzx__poll_event *events, uint32_t count_max,
                uint64_t timeout_ns) {
    struct uring *uring = uring_of(poller);
    uint32_t count = look(uring, events, count_max);
    if (count != 0 || timeout_ns == 0)
        return (int)count;
    if (timeout_ns > RETRY_NS && !is_whole(uring))
        timeout_ns = RETRY_NS;
    int err = jzx__ring_wait(&uring->ring, timeout_ns);
    if (err < 0 && err != -EBUSY)
        return err;
    return (int)look(uring, events, count_max);
}

#else

static int open_uring(struct jzx__poller *poller) {
    (void)poller;
    return -ENOSYS;
}

/* Nothing of this is called for what could not be opened. */
#define close_uring NULL
#define add NULL
#define change NULL
#define remove_fd NULL
#define wait NULL

#endif

const struct jzx__poller_ops jzx__poller_uring = {
    .latches = true,
    .open = open_uring,
    .close = close_uring,
    .add = add,
    .change = change,
    .remove = remove_fd,
    .wait = wait,
};
