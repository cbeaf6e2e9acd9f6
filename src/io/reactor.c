/* SPDX-License-Identifier: MIT */
/* Registrations of a worker, and the events for them. */
#include "io/reactor.h"

#include "base/alloc.h"
#include "base/assert.h"

#include <errno.h>
#include <string.h>

#define SLOTS_FIRST 8u

/* The key of the parker's descriptor. No slot has it: there are fewer. */
#define WAKE_KEY UINT64_MAX

void jzx__reactor_init(struct jzx__reactor *reactor, struct jzx__worker *worker,
                       const struct jzx__poller_ops *ops, const struct jzx__os *os,
                       const jzx_allocator *allocator) {
    memset(reactor, 0, sizeof *reactor);
    reactor->worker = worker;
    reactor->allocator = allocator;
    reactor->poller = (struct jzx__poller){.ops = ops, .os = os, .allocator = allocator, .fd = -1};
}

static void free_slots(struct jzx__reactor *reactor) {
    if (reactor->slots != NULL)
        jzx__free(reactor->allocator, reactor->slots, reactor->slot_cap * sizeof *reactor->slots);
}

/* The watchdog looks there whether the system has something ready. relaxed: a hint */
static void show_poller(struct jzx__reactor *reactor, int fd) {
    jzx__atomic_store_relaxed(&reactor->worker->poll_fd, fd + 1);
}

void jzx__reactor_deinit(struct jzx__reactor *reactor) {
    show_poller(reactor, -1);
    if (reactor->poller.fd >= 0)
        reactor->poller.ops->close(&reactor->poller);
    free_slots(reactor);
}

/* For edges: each raise of the descriptor is one, so that it need not be read. */
static int add_parker(struct jzx__reactor *reactor) {
    struct jzx__poll_entry entry = {.fd = jzx__parker_open_fd(&reactor->worker->parker),
                                    .mode = JZX__POLL_EDGE,
                                    .interest = JZX__READY_READ,
                                    .key = WAKE_KEY};
    return entry.fd < 0 ? -EMFILE : reactor->poller.ops->add(&reactor->poller, &entry);
}

int jzx__reactor_open(struct jzx__reactor *reactor) {
    struct jzx__poller *poller = &reactor->poller;
    if (poller->fd >= 0)
        return 0;
    int err = poller->ops->open(poller);
    if (err < 0)
        return err;
    err = add_parker(reactor);
    if (err < 0)
        poller->ops->close(poller);
    else
        show_poller(reactor, poller->fd);
    reactor->worker->poll_rearms = err >= 0 && poller->ops == &jzx__poller_uring;
    return err;
}

/* ---- slots ---- */

static bool grow(struct jzx__reactor *reactor) {
    uint32_t cap = reactor->slot_cap == 0 ? SLOTS_FIRST : reactor->slot_cap * 2;
    struct jzx__reactor_slot *slots = jzx__alloc(reactor->allocator, cap * sizeof *slots);
    if (slots == NULL)
        return false;
    memset(slots, 0, cap * sizeof *slots);
    if (reactor->slots != NULL)
        memcpy(slots, reactor->slots, reactor->slot_count * sizeof *slots);
    free_slots(reactor);
    reactor->slots = slots;
    reactor->slot_cap = cap;
    return true;
}

/* False without memory. */
static bool take_slot(struct jzx__reactor *reactor, uint32_t *index) {
    if (reactor->free_slot != 0) {
        *index = reactor->free_slot - 1;
        reactor->free_slot = reactor->slots[*index].next_free;
        return true;
    }
    if (reactor->slot_count == reactor->slot_cap && !grow(reactor))
        return false;
    *index = reactor->slot_count++;
    return true;
}

/* From here on its key is nobody's. */
static void give_slot(struct jzx__reactor *reactor, uint32_t index) {
    struct jzx__reactor_slot *slot = &reactor->slots[index];
    slot->registration = NULL;
    slot->generation++;
    slot->next_free = reactor->free_slot;
    reactor->free_slot = index + 1;
}

/* NULL if the registration of that key has ended. */
static struct jzx__registration *find(const struct jzx__reactor *reactor, uint64_t key) {
    uint32_t index = (uint32_t)key;
    if (index >= reactor->slot_count || reactor->slots[index].generation != key >> 32)
        return NULL;
    return reactor->slots[index].registration;
}

/* ---- registrations ---- */

void jzx__registration_init(struct jzx__registration *registration,
                            const struct jzx__registration_ops *ops, int fd,
                            enum jzx__poll_mode mode) {
    *registration = (struct jzx__registration){
        .ops = ops, .entry = {.fd = fd, .mode = (uint8_t)mode}, .index = JZX__NOT_REGISTERED};
}

int jzx__reactor_add(struct jzx__reactor *reactor, struct jzx__registration *registration,
                     uint32_t interest) {
    JZX_ASSERT_OWNER(reactor->worker);
    JZX_ASSERT(registration->index == JZX__NOT_REGISTERED);
    uint32_t index;
    int err = jzx__reactor_open(reactor);
    if (err < 0)
        return err;
    if (!take_slot(reactor, &index))
        return -ENOMEM;
    registration->entry.interest = (uint8_t)interest;
    registration->entry.key = (uint64_t)reactor->slots[index].generation << 32 | index;
    err = reactor->poller.ops->add(&reactor->poller, &registration->entry);
    if (err < 0) {
        give_slot(reactor, index);
        return err;
    }
    reactor->slots[index].registration = registration;
    registration->index = index;
    registration->is_attached = true;
    registration->is_quiet = false;
    registration->ready = 0;
    reactor->checked += registration->ops->check != NULL;
    reactor->worker->io_count++;
    return 0;
}

int jzx__reactor_change(struct jzx__reactor *reactor, struct jzx__registration *registration,
                        uint32_t interest) {
    registration->entry.interest = (uint8_t)interest;
    return reactor->poller.ops->change(&reactor->poller, &registration->entry);
}

int jzx__reactor_attach(struct jzx__reactor *reactor, struct jzx__registration *registration) {
    int err = reactor->poller.ops->add(&reactor->poller, &registration->entry);
    registration->is_attached = err == 0;
    return err;
}

/* An error says that the descriptor was closed before: the system has forgotten it then. */
void jzx__reactor_detach(struct jzx__reactor *reactor, struct jzx__registration *registration) {
    if (registration->is_attached)
        (void)reactor->poller.ops->remove(&reactor->poller, registration->entry.fd);
    registration->is_attached = false;
}

void jzx__reactor_remove(struct jzx__reactor *reactor, struct jzx__registration *registration) {
    JZX_ASSERT_OWNER(reactor->worker);
    JZX_ASSERT(reactor->slots[registration->index].registration == registration);
    jzx__reactor_detach(reactor, registration);
    give_slot(reactor, registration->index);
    registration->index = JZX__NOT_REGISTERED;
    reactor->checked -= registration->ops->check != NULL;
    reactor->worker->io_count -= registration->is_quiet ? 0 : 1;
}

void jzx__reactor_set_quiet(struct jzx__reactor *reactor, struct jzx__registration *registration,
                            bool is_quiet) {
    JZX_ASSERT_OWNER(reactor->worker);
    if (registration->is_quiet == is_quiet)
        return;
    registration->is_quiet = is_quiet;
    if (is_quiet)
        reactor->worker->io_count--;
    else
        reactor->worker->io_count++;
}

/* ---- events ---- */

/* Has some registrations looked at that may have lost their descriptor, in turn. */
static void check(struct jzx__reactor *reactor, uint32_t count_max) {
    uint32_t looks = reactor->slot_count;
    for (uint32_t count = 0; reactor->checked != 0 && count < count_max && looks != 0; looks--) {
        uint32_t index = reactor->next_check++;
        if (index >= reactor->slot_count) {
            index = 0;
            reactor->next_check = 1;
        }
        struct jzx__registration *registration = reactor->slots[index].registration;
        if (registration == NULL || registration->ops->check == NULL)
            continue;
        count++;
        registration->ops->check(reactor->worker, registration);
    }
}

static void fetch(struct jzx__reactor *reactor, uint64_t timeout_ns) {
    struct jzx__poller *poller = &reactor->poller;
    int count = poller->ops->wait(poller, reactor->events, JZX__POLL_EVENTS, timeout_ns);
    JZX_ASSERT(count != -EBADF && count != -EINVAL); /* the program has closed our descriptor */
    reactor->event_count = count < 0 ? 0 : (uint32_t)count;
    if (count == 1 && reactor->events[0].key == WAKE_KEY)
        reactor->event_count = 0; /* what the waker has brought is elsewhere */
}

void jzx__reactor_wait(struct jzx__reactor *reactor, uint64_t timeout_ns) {
    JZX_ASSERT_OWNER(reactor->worker);
    if (reactor->event_count == 0) {
        check(reactor, JZX__CHECKS_BEFORE_SLEEP);
        if (!jzx__worker_has_work(reactor->worker))
            fetch(reactor, timeout_ns);
    }
    reactor->worker->poll_due = reactor->event_count != 0;
}

void jzx__reactor_settle(struct jzx__reactor *reactor) {
    JZX_ASSERT_OWNER(reactor->worker);
    if (reactor->poller.fd < 0 || !reactor->poller.ops->latches)
        return;
    if (reactor->event_count == 0)
        fetch(reactor, 0);
    reactor->worker->poll_due = reactor->worker->poll_due || reactor->event_count != 0;
}

static void call_back(struct jzx__reactor *reactor, const struct jzx__poll_event *event) {
    struct jzx__registration *registration = find(reactor, event->key);
    if (event->key == WAKE_KEY || registration == NULL)
        return;
    registration->ready |= (uint8_t)event->ready;
    registration->ops->ready(reactor->worker, registration, event->ready);
}

bool jzx__reactor_poll(struct jzx__reactor *reactor) {
    JZX_ASSERT_OWNER(reactor->worker);
    if (reactor->event_count == 0) {
        check(reactor, JZX__CHECKS_PER_POLL);
        fetch(reactor, 0);
    }
    uint32_t count = reactor->event_count;
    for (uint32_t i = 0; i < count; i++)
        call_back(reactor, &reactor->events[i]);
    reactor->event_count = 0;
    return count == JZX__POLL_EVENTS;
}
