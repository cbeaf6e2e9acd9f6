/* SPDX-License-Identifier: MIT */
/* One ring of io_uring. */
#include "io/ring.h"

#include "base/assert.h"

#include "jzx/time.h"

#include <errno.h>
#include <string.h>

#if defined(JZX__HAS_IO_URING)

#define NS_PER_S 1000000000u

#define FEATURES_NEEDED (IORING_FEAT_SINGLE_MMAP | IORING_FEAT_NODROP | IORING_FEAT_EXT_ARG)

#define PROBED_OPCODES (JZX__RING_OPCODE_WORDS * 64)

_Static_assert(sizeof(_Atomic uint32_t) == sizeof(uint32_t), "as the kernel sees it");

/* ---- open and close ---- */

/* A kernel that cannot be asked has nothing that we use. */
static int probe(struct jzx__ring *ring) {
    union {
        struct io_uring_probe probe;
        char bytes[sizeof(struct io_uring_probe) +
                   PROBED_OPCODES * sizeof(struct io_uring_probe_op)];
    } found;
    memset(&found, 0, sizeof found);
    int err = ring->os->io_uring_register(ring->fd, IORING_REGISTER_PROBE, &found, PROBED_OPCODES);
    if (err < 0)
        return err;
    for (uint32_t i = 0; i < found.probe.ops_len; i++) {
        const struct io_uring_probe_op *op = &found.probe.ops[i];
        if (op->flags & IO_URING_OP_SUPPORTED)
            ring->opcodes[op->op / 64] |= (uint64_t)1 << (op->op % 64);
    }
    return 0;
}

static _Atomic uint32_t *word_at(const struct jzx__ring *ring, uint32_t offset) {
    return (_Atomic uint32_t *)(void *)((char *)ring->ring_map + offset);
}

/* Entry i of the ring is always submission i. */
static void fill_array(const struct jzx__ring *ring, uint32_t offset) {
    uint32_t *array = (uint32_t *)(void *)((char *)ring->ring_map + offset);
    for (uint32_t i = 0; i < ring->sq_size; i++)
        array[i] = i;
}

static void find_parts(struct jzx__ring *ring, const struct io_uring_params *params) {
    ring->features = params->features;
    ring->sq_size = params->sq_entries;
    ring->sq_head = word_at(ring, params->sq_off.head);
    ring->sq_tail = word_at(ring, params->sq_off.tail);
    ring->sq_flags = word_at(ring, params->sq_off.flags);
    fill_array(ring, params->sq_off.array);
    ring->cq_size = params->cq_entries;
    ring->cq_head = word_at(ring, params->cq_off.head);
    ring->cq_tail = word_at(ring, params->cq_off.tail);
    ring->completions = (const void *)((const char *)ring->ring_map + params->cq_off.cqes);
}

/* Both rings are one mapping (SINGLE_MMAP), of the size of the larger. */
static int map_memory(struct jzx__ring *ring, const struct io_uring_params *params) {
    size_t sq_end = params->sq_off.array + params->sq_entries * sizeof(uint32_t);
    size_t cq_end = params->cq_off.cqes + params->cq_entries * sizeof(struct io_uring_cqe);
    void *entries = NULL;
    ring->ring_map_size = sq_end > cq_end ? sq_end : cq_end;
    ring->entries_size = params->sq_entries * sizeof(struct io_uring_sqe);
    int err = ring->os->map(ring->fd, ring->ring_map_size, IORING_OFF_SQ_RING, &ring->ring_map);
    if (err < 0)
        return err;
    err = ring->os->map(ring->fd, ring->entries_size, IORING_OFF_SQES, &entries);
    if (err < 0) {
        (void)ring->os->unmap(ring->ring_map, ring->ring_map_size);
        return err;
    }
    ring->entries = entries;
    return 0;
}

int jzx__ring_open(struct jzx__ring *ring, const struct jzx__os *os, uint32_t entries) {
    JZX_ASSERT(entries != 0 && entries <= JZX__RING_ENTRIES_MAX && (entries & (entries - 1)) == 0);
    struct io_uring_params params;
    memset(ring, 0, sizeof *ring);
    memset(&params, 0, sizeof params);
    ring->os = os;
    ring->fd = os->io_uring_setup(entries, &params);
    if (ring->fd < 0) {
        int err = ring->fd;
        ring->fd = -1;
        return err;
    }
    int err = (params.features & FEATURES_NEEDED) == FEATURES_NEEDED ? 0 : -ENOSYS;
    if (err == 0)
        err = probe(ring);
    if (err == 0)
        err = map_memory(ring, &params);
    if (err < 0) {
        (void)os->close(ring->fd);
        ring->fd = -1;
        return err;
    }
    find_parts(ring, &params);
    jzx__lock_init(&ring->lock);
    return 0;
}

void jzx__ring_close(struct jzx__ring *ring) {
    jzx__lock_deinit(&ring->lock);
    (void)ring->os->unmap(ring->entries, ring->entries_size);
    (void)ring->os->unmap(ring->ring_map, ring->ring_map_size);
    (void)ring->os->close(ring->fd);
    ring->fd = -1;
}

int jzx__ring_limit_threads(struct jzx__ring *ring, uint32_t count) {
    uint32_t limits[2] = {count, 0}; /* of bounded work; 0: of the rest as it is */
    return ring->os->io_uring_register(ring->fd, IORING_REGISTER_IOWQ_MAX_WORKERS, limits, 2);
}

bool jzx__ring_can(const struct jzx__ring *ring, uint32_t opcode) {
    return opcode < PROBED_OPCODES && (ring->opcodes[opcode / 64] >> (opcode % 64) & 1) != 0;
}

/* ---- submissions, under the lock ---- */

/* Of those that were pushed. */
static uint32_t not_taken(const struct jzx__ring *ring) {
    /* relaxed: written under the lock, which the caller has */
    uint32_t tail = jzx__atomic_load_relaxed(ring->sq_tail);
    /* acquire: pairs with the kernel's release; it does not read the entries before it any more */
    return tail - jzx__atomic_load_acquire(ring->sq_head);
}

static bool put(struct jzx__ring *ring, const struct io_uring_sqe *entry) {
    if (not_taken(ring) == ring->sq_size)
        return false;
    /* relaxed: as above */
    uint32_t tail = jzx__atomic_load_relaxed(ring->sq_tail);
    ring->entries[tail & (ring->sq_size - 1)] = *entry;
    /* release: pairs with the kernel's acquire in io_uring_enter; the entry is there */
    jzx__atomic_store_release(ring->sq_tail, tail + 1);
    return true;
}

/* The kernel takes entries in order, and says by its head how far it has come. It may take fewer
 * than it was told of without an error: those behind one that is not valid, which has completed
 * with its own error then. */
static int give_all(struct jzx__ring *ring) {
    for (;;) {
        uint32_t count = not_taken(ring);
        if (count == 0)
            return 0;
        int taken = ring->os->io_uring_enter(ring->fd, count, 0, 0, NULL, 0);
        if (taken == -EINTR)
            continue;
        if (taken <= 0)
            return taken == 0 ? -EAGAIN : taken; /* 0: it would never end */
    }
}

int jzx__ring_push(struct jzx__ring *ring, const struct io_uring_sqe *entry) {
    jzx__lock_acquire(&ring->lock);
    bool was_put = put(ring, entry);
    jzx__lock_release(&ring->lock);
    return was_put ? 0 : -EBUSY;
}

int jzx__ring_submit(struct jzx__ring *ring) {
    jzx__lock_acquire(&ring->lock);
    int err = give_all(ring);
    jzx__lock_release(&ring->lock);
    return err;
}

/* The last entry is the caller's, and the kernel has not taken it, as it takes them in order: it
 * goes back. The kernel looks at the tail only while it is told to submit, which is done under the
 * lock. */
static void take_back(struct jzx__ring *ring) {
    /* relaxed: under the lock; the kernel needs no order to see less */
    uint32_t tail = jzx__atomic_load_relaxed(ring->sq_tail);
    jzx__atomic_store_relaxed(ring->sq_tail, tail - 1); /* relaxed: as above */
}

int jzx__ring_start(struct jzx__ring *ring, const struct io_uring_sqe *entry) {
    jzx__lock_acquire(&ring->lock);
    int err = -EBUSY;
    if (put(ring, entry)) {
        err = give_all(ring);
        if (err < 0)
            take_back(ring);
    }
    jzx__lock_release(&ring->lock);
    return err;
}

/* ---- completions ---- */

int jzx__ring_wait(struct jzx__ring *ring, uint64_t timeout_ns) {
    struct __kernel_timespec timeout = {.tv_sec = (long long)(timeout_ns / NS_PER_S),
                                        .tv_nsec = (long long)(timeout_ns % NS_PER_S)};
    struct io_uring_getevents_arg arg;
    memset(&arg, 0, sizeof arg);
    if (timeout_ns != JZX_NEVER)
        arg.ts = (uint64_t)(uintptr_t)&timeout;
    int err = jzx__ring_submit(ring);
    if (err < 0)
        return err;
    err = ring->os->io_uring_enter(ring->fd, 0, 1, IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG,
                                   &arg, sizeof arg);
    return err == -ETIME || err == -EINTR || err > 0 ? 0 : err;
}

/* Has the kernel move what it had no room for. An error changes nothing: the flag stays, and the
 * next reap tries again. */
static void fetch_overflow(const struct jzx__ring *ring) {
    /* relaxed: a hint; the completions themselves are ordered by the tail */
    if (jzx__atomic_load_relaxed(ring->sq_flags) & IORING_SQ_CQ_OVERFLOW)
        (void)ring->os->io_uring_enter(ring->fd, 0, 0, IORING_ENTER_GETEVENTS, NULL, 0);
}

static uint32_t take(struct jzx__ring *ring, struct jzx__ring_done *done, uint32_t count_max) {
    /* relaxed: only the reaper writes it */
    uint32_t head = jzx__atomic_load_relaxed(ring->cq_head);
    /* acquire: pairs with the kernel's release; the completions before it are there */
    uint32_t count = jzx__atomic_load_acquire(ring->cq_tail) - head;
    count = count < count_max ? count : count_max;
    for (uint32_t i = 0; i < count; i++) {
        const struct io_uring_cqe *from = &ring->completions[(head + i) & (ring->cq_size - 1)];
        done[i] = (struct jzx__ring_done){from->user_data, from->res, from->flags};
    }
    /* release: pairs with the kernel's acquire; we have read them */
    jzx__atomic_store_release(ring->cq_head, head + count);
    return count;
}

uint32_t jzx__ring_reap(struct jzx__ring *ring, struct jzx__ring_done *done, uint32_t count_max) {
    uint32_t count = take(ring, done, count_max);
    if (count < count_max) {
        fetch_overflow(ring);
        count += take(ring, done + count, count_max - count);
    }
    return count;
}

#else

int jzx__ring_open(struct jzx__ring *ring, const struct jzx__os *os, uint32_t entries) {
    (void)entries;
    memset(ring, 0, sizeof *ring);
    ring->os = os;
    ring->fd = -1;
    return -ENOSYS;
}

void jzx__ring_close(struct jzx__ring *ring) {
    (void)ring;
}

int jzx__ring_limit_threads(struct jzx__ring *ring, uint32_t count) {
    (void)ring;
    (void)count;
    return -ENOSYS;
}

bool jzx__ring_can(const struct jzx__ring *ring, uint32_t opcode) {
    (void)ring;
    (void)opcode;
    return false;
}

int jzx__ring_push(struct jzx__ring *ring, const struct io_uring_sqe *entry) {
    (void)ring;
    (void)entry;
    return -ENOSYS;
}

int jzx__ring_submit(struct jzx__ring *ring) {
    (void)ring;
    return -ENOSYS;
}

int jzx__ring_start(struct jzx__ring *ring, const struct io_uring_sqe *entry) {
    (void)ring;
    (void)entry;
    return -ENOSYS;
}

int jzx__ring_wait(struct jzx__ring *ring, uint64_t timeout_ns) {
    (void)ring;
    (void)timeout_ns;
    return -ENOSYS;
}

uint32_t jzx__ring_reap(struct jzx__ring *ring, struct jzx__ring_done *done, uint32_t count_max) {
    (void)ring;
    (void)done;
    (void)count_max;
    return 0;
}

#endif
