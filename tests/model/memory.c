/* SPDX-License-Identifier: MIT */
/* The part of the C11 memory model that the library uses, as a machine that runs.
 *
 * For each atomic object (a **place**) the machine keeps all **stores** of the execution in their
 * modification order. Each thread has a **view**: for each place the newest store in modification
 * order that the thread must not look behind any more, because it has read or written it or
 * because it happens before the thread's next step; and a vector clock, which says what of the
 * other threads happens before. A store carries the view that an acquire load of it obtains.
 *
 *   C1  coherence. A load returns any store that is not older than the thread's view of the place,
 *       and the view moves to it. This is CoRR, CoWR, CoRW and CoWW at once.
 *   C2  modification order is not the order of execution: a store takes any position newer than the
 *       thread's view of the place. So 2+2W is weak, as in C11.
 *   C3  a read-modify-write takes the position directly behind the store that it reads, and nothing
 *       comes between the two ever: it reads the last value before its own in modification order.
 *   C4  a release store carries its thread's view; a relaxed store carries the view of its thread's
 *       last release fence, which is empty without one. A read-modify-write carries in addition
 *       what the store that it reads carries: that is the release sequence (of C++20: relaxed
 *       stores of the same thread do not continue it).
 *   C5  an acquire load joins what the store carries into its thread's view. A relaxed load keeps
 *       it aside, and the thread's next acquire fence joins it.
 *   C6  the total order S of seq_cst operations is the order in which they are executed. On one
 *       place they come in modification order, reads included: a global view gives for each place
 *       the newest store that an operation in S has read or written, and no seq_cst operation on
 *       it looks or stores behind that. A seq_cst fence exchanges views with the global one in both
 *       directions. It orders, but does not synchronise: clocks are not exchanged.
 *   C7  happens-before is in the clocks, and clocks travel with C4 and C5 alone. Two accesses to
 *       plain data that it does not order are a race.
 *
 * An execution order that extends program order and reads-from, a modification order chosen
 * freely, and S as part of the execution order: that yields the executions of RC11, with S as C++20
 * words it but always consistent with the order in which values flow.
 *
 * Not modelled, and so not found here:
 *   - load buffering and values out of thin air: a load never returns a store that is executed
 *     later. C11 allows the first, and some processors do it for relaxed operations.
 *   - consume, which compilers treat as acquire.
 *   - executions in which S contradicts the flow of relaxed values; C++20 allows a few with mixed
 *     orders on one object.
 *   - compiler reordering of plain accesses: plain data is checked for races only (C7), its value
 *     is always the one last written. A compiler barrier does nothing: steps are in program order.
 *   - objects of mixed size, but for a futex that is the low half of one; and plain access to
 *     atomic objects after the first atomic access. */
#include "memory.h"

#include <string.h>

#define PLACES_MAX 160
#define STORES_MAX 1500
#define ORDER_MAX 250
#define PLAIN_MAX 96
#define INDEX_SIZE 512 /* a power of two, well above PLACES_MAX and PLAIN_MAX */

struct view {
    uint16_t seen[PLACES_MAX]; /* a store of that place; 0 is older than all */
    uint32_t clock[MODEL_THREADS_MAX];
};

struct store {
    uint64_t value;
    uint16_t rank; /* position in modification order */
    bool is_rmw;   /* nothing may come between it and the one before (C3) */
    struct view carried;
};

struct place {
    const volatile void *address; /* its memory has the newest value, for debuggers and gauges */
    size_t size;
    unsigned count;
    uint16_t order[ORDER_MAX]; /* stores, in modification order */
};

/* Plain data: who wrote it last and when, and when each thread read it last. */
struct plain {
    const volatile void *address;
    unsigned writer;
    uint32_t written;
    uint32_t read[MODEL_THREADS_MAX];
};

/* From addresses to positions in an array; stamped, so that forgetting it costs nothing. */
struct index {
    uint32_t stamp[INDEX_SIZE];
    uint16_t position[INDEX_SIZE];
    const volatile void *address[INDEX_SIZE];
};

struct memory_thread {
    struct view now;        /* C1 */
    struct view acquirable; /* read by relaxed loads: what an acquire fence would join (C5) */
    struct view released;   /* at the last release fence (C4) */
};

static struct {
    struct memory_thread threads[MODEL_THREADS_MAX];
    struct view sc; /* the global view of S (C6); its clock is not used */
    struct place places[PLACES_MAX];
    struct store stores[STORES_MAX]; /* 0 is not used */
    struct plain plains[PLAIN_MAX];
    unsigned place_count;
    unsigned store_count;
    unsigned plain_count;
    uint32_t stamp; /* of this execution */
    struct index place_index;
    struct index plain_index;
} memory;

void memory_reset(void) {
    memset(memory.threads, 0, sizeof memory.threads);
    memset(&memory.sc, 0, sizeof memory.sc);
    memory.place_count = 0;
    memory.store_count = 1;
    memory.plain_count = 0;
    memory.stamp++;
}

/* ---- views ---- */

static unsigned rank_of(uint16_t store) {
    return memory.stores[store].rank; /* store 0 has rank 0: older than or as old as any other */
}

static void raise_view(struct view *view, unsigned place, uint16_t store) {
    if (view->seen[place] == 0 || rank_of(view->seen[place]) < rank_of(store))
        view->seen[place] = store;
}

static void join_places(struct view *view, const struct view *other) {
    for (unsigned i = 0; i < memory.place_count; i++) {
        if (other->seen[i] != 0)
            raise_view(view, i, other->seen[i]);
    }
}

static void join(struct view *view, const struct view *other) {
    join_places(view, other);
    for (unsigned i = 0; i < MODEL_THREADS_MAX; i++) {
        if (view->clock[i] < other->clock[i])
            view->clock[i] = other->clock[i];
    }
}

static bool acquires(enum model_order order) {
    return order == MODEL_ACQUIRE || order == MODEL_ACQ_REL || order == MODEL_SEQ_CST;
}

static bool releases(enum model_order order) {
    return order == MODEL_RELEASE || order == MODEL_ACQ_REL || order == MODEL_SEQ_CST;
}

void memory_fork(unsigned parent, unsigned child) {
    memory.threads[child].now = memory.threads[parent].now;
}

void memory_join(unsigned parent, unsigned child) {
    join(&memory.threads[parent].now, &memory.threads[child].now);
}

void memory_refresh(unsigned thread) {
    for (unsigned i = 0; i < memory.place_count; i++) {
        const struct place *place = &memory.places[i];
        raise_view(&memory.threads[thread].now, i, place->order[place->count - 1]);
    }
}

/* ---- places and stores ---- */

/* The slot of address: filled with its position, or free. */
static unsigned find_slot(const struct index *index, const volatile void *address) {
    unsigned slot = (unsigned)(((uintptr_t)address >> 2) * 0x9E3779B1u >> 7) % INDEX_SIZE;
    while (index->stamp[slot] == memory.stamp && index->address[slot] != address)
        slot = (slot + 1) % INDEX_SIZE;
    return slot;
}

static void fill_slot(struct index *index, unsigned slot, const volatile void *address,
                      unsigned position) {
    index->stamp[slot] = memory.stamp;
    index->address[slot] = address;
    index->position[slot] = (uint16_t)position;
}

static uint64_t read_plainly(const volatile void *address, size_t size) {
    switch (size) {
    case 1: return *(const volatile uint8_t *)address;
    case 2: return *(const volatile uint16_t *)address;
    case 4: return *(const volatile uint32_t *)address;
    default: return *(const volatile uint64_t *)address;
    }
}

static void write_plainly(volatile void *address, size_t size, uint64_t value) {
    switch (size) {
    case 1: *(volatile uint8_t *)address = (uint8_t)value; break;
    case 2: *(volatile uint16_t *)address = (uint16_t)value; break;
    case 4: *(volatile uint32_t *)address = (uint32_t)value; break;
    default: *(volatile uint64_t *)address = value; break;
    }
}

static uint64_t cut(uint64_t value, size_t size) {
    return size == 8 ? value : value & (((uint64_t)1 << 8 * size) - 1);
}

static uint16_t new_store(uint64_t value, bool is_rmw) {
    if (memory.store_count == STORES_MAX)
        model_fail("more than %d stores in an execution", STORES_MAX);
    uint16_t index = (uint16_t)memory.store_count++;
    struct store *store = &memory.stores[index];
    store->value = value;
    store->is_rmw = is_rmw;
    return index;
}

/* Puts store at rank of the place; what was there and behind it moves up. */
static void insert(struct place *place, unsigned rank, uint16_t store) {
    if (place->count == ORDER_MAX)
        model_fail("more than %d stores to one place in an execution", ORDER_MAX);
    for (unsigned i = place->count++; i > rank; i--) {
        place->order[i] = place->order[i - 1];
        memory.stores[place->order[i]].rank = (uint16_t)i;
    }
    place->order[rank] = store;
    memory.stores[store].rank = (uint16_t)rank;
}

/* The place at address. At its first use its memory holds its first store, which everybody may
 * read and which synchronises with nobody. */
static struct place *find_place(const volatile void *address, size_t size) {
    unsigned slot = find_slot(&memory.place_index, address);
    if (memory.place_index.stamp[slot] == memory.stamp) {
        struct place *found = &memory.places[memory.place_index.position[slot]];
        if (found->size != size)
            model_fail("an object is used with sizes %zu and %zu", found->size, size);
        return found;
    }
    if (memory.place_count == PLACES_MAX)
        model_fail("more than %d atomic objects in an execution", PLACES_MAX);
    fill_slot(&memory.place_index, slot, address, memory.place_count);
    struct place *place = &memory.places[memory.place_count++];
    place->address = address;
    place->size = size;
    place->count = 0;
    uint16_t first = new_store(cut(read_plainly(address, size), size), false);
    memset(&memory.stores[first].carried, 0, sizeof memory.stores[first].carried);
    insert(place, 0, first);
    return place;
}

static unsigned number_of(const struct place *place) {
    return (unsigned)(place - memory.places);
}

/* The lowest rank that the thread may still read with that order, or store behind (C1, C6). */
static unsigned lowest_rank(unsigned thread, const struct place *place, enum model_order order) {
    unsigned number = number_of(place);
    unsigned lowest = rank_of(memory.threads[thread].now.seen[number]);
    unsigned lowest_sc = order == MODEL_SEQ_CST ? rank_of(memory.sc.seen[number]) : 0;
    return lowest > lowest_sc ? lowest : lowest_sc;
}

/* True if a new store may come directly behind that rank (C3). */
static bool has_gap(const struct place *place, unsigned rank) {
    return rank + 1 == place->count || !memory.stores[place->order[rank + 1]].is_rmw;
}

/* ---- the operations ---- */

/* The thread has read store (C1, C5, C6). */
static void observe(unsigned thread, const struct place *place, uint16_t store,
                    enum model_order order) {
    struct memory_thread *me = &memory.threads[thread];
    unsigned number = number_of(place);
    raise_view(&me->now, number, store);
    if (order == MODEL_SEQ_CST)
        raise_view(&memory.sc, number, store);
    join(acquires(order) ? &me->now : &me->acquirable, &memory.stores[store].carried);
}

/* The thread stores value at address, directly behind the store that has that rank; is_rmw if it
 * has read it (C2, C3, C4, C6). */
static void put(unsigned thread, struct place *place, volatile void *address, unsigned rank,
                bool is_rmw, uint64_t value, enum model_order order) {
    struct memory_thread *me = &memory.threads[thread];
    unsigned number = number_of(place);
    uint16_t before = place->order[rank];
    uint16_t index = new_store(cut(value, place->size), is_rmw);
    struct store *store = &memory.stores[index];
    insert(place, rank + 1, index);
    if (rank + 2 == place->count)
        write_plainly(address, place->size, value);
    raise_view(&me->now, number, index);
    if (order == MODEL_SEQ_CST)
        raise_view(&memory.sc, number, index);
    store->carried = releases(order) ? me->now : me->released;
    if (is_rmw)
        join(&store->carried, &memory.stores[before].carried);
    engine_stored();
}

static struct memory_read result_of(const struct place *place, unsigned rank) {
    return (struct memory_read){.value = memory.stores[place->order[rank]].value,
                                .newer = place->count - 1 - rank};
}

struct memory_read memory_load(unsigned thread, const volatile void *address, size_t size,
                               enum model_order order) {
    struct place *place = find_place(address, size);
    unsigned lowest = lowest_rank(thread, place, order);
    unsigned rank = place->count - 1 - engine_choose_stale(place->count - lowest);
    struct memory_read result = result_of(place, rank);
    observe(thread, place, place->order[rank], order);
    return result;
}

/* Chooses a rank behind which a store may come, from the newest down to lowest. */
static unsigned choose_gap(const struct place *place, unsigned lowest) {
    unsigned ranks[ORDER_MAX];
    unsigned count = 0;
    for (unsigned rank = place->count; rank-- > lowest;) {
        if (has_gap(place, rank))
            ranks[count++] = rank;
    }
    return ranks[engine_choose_stale(count)];
}

void memory_store(unsigned thread, volatile void *address, size_t size, uint64_t value,
                  enum model_order order) {
    struct place *place = find_place(address, size);
    unsigned rank = choose_gap(place, lowest_rank(thread, place, order));
    put(thread, place, address, rank, false, value, order);
}

static uint64_t apply(enum model_op op, uint64_t value, uint64_t operand) {
    switch (op) {
    case MODEL_ADD: return value + operand;
    case MODEL_SUB: return value - operand;
    case MODEL_OR: return value | operand;
    case MODEL_AND: return value & operand;
    default: return operand;
    }
}

struct memory_read memory_rmw(unsigned thread, volatile void *address, size_t size,
                              enum model_op op, uint64_t operand, enum model_order order) {
    struct place *place = find_place(address, size);
    unsigned rank = choose_gap(place, lowest_rank(thread, place, order));
    struct memory_read result = result_of(place, rank);
    observe(thread, place, place->order[rank], order);
    put(thread, place, address, rank, true, apply(op, result.value, operand), order);
    result.stored = true;
    return result;
}

/* True if an exchange that reads that rank has a result: it stores, or it fails for a reason. */
static bool is_decided(const struct place *place, unsigned rank, unsigned lowest_to_store,
                       uint64_t expected) {
    if (memory.stores[place->order[rank]].value != expected)
        return true;
    return rank >= lowest_to_store && has_gap(place, rank);
}

struct memory_read memory_compare_exchange(unsigned thread, volatile void *address, size_t size,
                                           const struct memory_cas *cas) {
    struct place *place = find_place(address, size);
    unsigned lowest = lowest_rank(thread, place, cas->order_failed);
    unsigned lowest_to_store = lowest_rank(thread, place, cas->order);
    unsigned ranks[ORDER_MAX];
    unsigned count = 0;
    for (unsigned rank = place->count; rank-- > lowest;) {
        if (is_decided(place, rank, lowest_to_store, cas->expected))
            ranks[count++] = rank;
    }
    unsigned rank = ranks[engine_choose_stale(count)];
    struct memory_read result = result_of(place, rank);
    result.stored = result.value == cas->expected;
    if (result.stored && cas->weak && engine_choose_spurious(2) == 1)
        result.stored = false;
    observe(thread, place, place->order[rank], result.stored ? cas->order : cas->order_failed);
    if (result.stored)
        put(thread, place, address, rank, true, cas->desired, cas->order);
    return result;
}

uint64_t memory_latest(unsigned thread, const volatile void *address, size_t size) {
    struct place *place = find_place(address, size);
    uint16_t last = place->order[place->count - 1];
    raise_view(&memory.threads[thread].now, number_of(place), last);
    return memory.stores[last].value;
}

uint32_t memory_latest_futex(unsigned thread, const volatile void *address) {
    unsigned slot = find_slot(&memory.place_index, address);
    size_t size = sizeof(uint32_t);
    if (memory.place_index.stamp[slot] == memory.stamp)
        size = memory.places[memory.place_index.position[slot]].size;
    return (uint32_t)memory_latest(thread, address, size);
}

/* ---- fences ---- */

void memory_fence(unsigned thread, enum model_order order) {
    struct memory_thread *me = &memory.threads[thread];
    if (acquires(order))
        join(&me->now, &me->acquirable);
    if (order == MODEL_SEQ_CST) {
        join_places(&me->now, &memory.sc);
        join_places(&memory.sc, &me->now);
    }
    if (releases(order))
        me->released = me->now;
}

void memory_fence_all(unsigned thread, unsigned thread_count) {
    memory_fence(thread, MODEL_SEQ_CST);
    for (unsigned i = 0; i < thread_count; i++) {
        if (i != thread)
            memory_fence(i, MODEL_SEQ_CST);
    }
    memory_fence(thread, MODEL_SEQ_CST);
}

/* ---- plain data ---- */

static struct plain *find_plain(const volatile void *address) {
    unsigned slot = find_slot(&memory.plain_index, address);
    if (memory.plain_index.stamp[slot] == memory.stamp)
        return &memory.plains[memory.plain_index.position[slot]];
    if (memory.plain_count == PLAIN_MAX)
        model_fail("more than %d pieces of plain data in an execution", PLAIN_MAX);
    fill_slot(&memory.plain_index, slot, address, memory.plain_count);
    struct plain *plain = &memory.plains[memory.plain_count++];
    memset(plain, 0, sizeof *plain);
    plain->address = address;
    return plain;
}

unsigned memory_plain(unsigned thread, const volatile void *address, bool is_write) {
    struct view *now = &memory.threads[thread].now;
    struct plain *plain = find_plain(address);
    if (plain->written > now->clock[plain->writer])
        return plain->writer;
    for (unsigned i = 0; is_write && i < MODEL_THREADS_MAX; i++) {
        if (plain->read[i] > now->clock[i])
            return i;
    }
    now->clock[thread]++; /* what this thread releases from now on includes the access (C7) */
    if (is_write) {
        plain->writer = thread;
        plain->written = now->clock[thread];
    } else {
        plain->read[thread] = now->clock[thread];
    }
    return thread;
}
