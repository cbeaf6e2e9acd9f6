/* SPDX-License-Identifier: MIT */
/* The life of a watch: made, registered, ready, handled, armed again, ended. */
#include "io/watch_fd.h"

#include "actor/mailbox.h"
#include "actor/pin.h"
#include "base/alloc.h"
#include "io/fd_waits.h"

#include <errno.h>
#include <string.h>

_Static_assert(JZX_IO_READ == JZX__READY_READ && JZX_IO_WRITE == JZX__READY_WRITE &&
                   JZX_IO_ERROR == JZX__READY_ERROR && JZX_IO_HANGUP == JZX__READY_HANGUP,
               "the same bits");

#define INTERESTS (JZX_IO_READ | JZX_IO_WRITE | JZX_IO_ERROR | JZX_IO_HANGUP)
#define FD_CAP_FIRST 64u

/* ---- small things ---- */

static struct jzx__fd_watch *watch_of_node(struct jzx__node *node) {
    return node->lane == JZX__LANE_IO_ASK ? JZX_CONTAINER_OF(node, struct jzx__fd_watch, ask)
                                          : (void *)node; /* its event comes first */
}

static struct jzx__fd_watch *watch_of_registration(struct jzx__registration *registration) {
    return JZX_CONTAINER_OF(registration, struct jzx__fd_watch, registration);
}

static struct jzx__message *event_of(struct jzx__fd_watch *watch) {
    return (void *)watch->block;
}

static int fd_of(const struct jzx__fd_watch *watch) {
    return watch->registration.entry.fd;
}

static struct jzx__actor_io *actor_io(const struct jzx__actor *actor) {
    return jzx__actor_part(actor, JZX__PART_IO);
}

/* What the poller is asked for. That the other end writes no more is told to those who read. */
static uint32_t poll_interest(const struct jzx__fd_watch *watch) {
    bool wants_end = (watch->interest & (JZX_IO_READ | JZX_IO_HANGUP)) != 0;
    return (watch->interest & (JZX_IO_READ | JZX_IO_WRITE)) | (wants_end ? JZX__READY_READ_END : 0);
}

/* What its owner hears of what is ready. */
static uint32_t told_of(const struct jzx__fd_watch *watch) {
    uint32_t ready = watch->ready;
    if (watch->flags & JZX__FD_LOST)
        return JZX_IO_ERROR | JZX_IO_CLOSED;
    if (ready & JZX__READY_READ_END)
        ready |= JZX_IO_HANGUP;
    return ready & (watch->interest | JZX_IO_ERROR | JZX_IO_HANGUP);
}

static jzx_err err_of(int negative_errno) {
    return negative_errno == -ENOMEM ? JZX_ERR_NO_MEMORY : JZX_ERR_IO_REG_FAILED;
}

/* True if this thread may act for the owner (X1). */
static bool may_act_for(const struct jzx__worker *me, struct jzx__actor *actor) {
    return me != NULL && actor != NULL && jzx__worker_owns(me, &actor->task) &&
           actor->task.place != JZX__AWAY;
}

/* ---- the table, under the lock ---- */

static struct jzx__fd_watch *find(const struct jzx__io *io, int fd) {
    return fd < 0 || (uint32_t)fd >= io->fd_cap ? NULL : io->by_fd[fd];
}

/* Makes a place for that descriptor, and for all numbers below it: so not for one that nobody has,
 * which may be any. */
static jzx_err reserve(struct jzx_loop *loop, struct jzx__io *io, int fd) {
    uint32_t cap = io->fd_cap == 0 ? FD_CAP_FIRST : io->fd_cap;
    if ((uint32_t)fd < io->fd_cap)
        return JZX_OK;
    if (io->os->is_open(fd) < 0)
        return JZX_ERR_IO_REG_FAILED;
    while (cap <= (uint32_t)fd)
        cap *= 2;
    struct jzx__fd_watch **by_fd = jzx__alloc(&loop->sched.allocator, cap * sizeof *by_fd);
    if (by_fd == NULL)
        return JZX_ERR_NO_MEMORY;
    memset(by_fd, 0, cap * sizeof *by_fd);
    if (io->by_fd != NULL) {
        memcpy(by_fd, io->by_fd, io->fd_cap * sizeof *by_fd);
        jzx__free(&loop->sched.allocator, io->by_fd, io->fd_cap * sizeof *by_fd);
    }
    io->by_fd = by_fd;
    io->fd_cap = cap;
    return JZX_OK;
}

static void put(struct jzx__io *io, struct jzx__fd_watch *watch) {
    io->watch_count += io->by_fd[fd_of(watch)] == NULL;
    io->by_fd[fd_of(watch)] = watch;
}

/* Unless another has taken its place. */
static void take_out(struct jzx__io *io, struct jzx__fd_watch *watch) {
    if (find(io, fd_of(watch)) != watch)
        return;
    io->by_fd[fd_of(watch)] = NULL;
    io->watch_count--;
}

/* ---- records ---- */

static const struct jzx__registration_ops registration_ops;

struct jzx__fd_watch *jzx__fd_watch_create(struct jzx_loop *loop, struct jzx__worker *me, int fd,
                                           jzx_actor_id owner) {
    struct jzx__fd_watch *watch = jzx__sched_alloc(&loop->sched, me, JZX__FD_WATCH_CLASS);
    if (watch == NULL)
        return NULL;
    memset(watch, 0, sizeof *watch);
    watch->owner = owner;
    watch->ask = (struct jzx__node){.generation = jzx_id_generation(owner),
                                    .lane = JZX__LANE_IO_ASK,
                                    .size_class = JZX__FD_WATCH_CLASS};
    struct jzx__message *event = event_of(watch);
    event->node = watch->ask;
    event->node.lane = JZX__LANE_IO;
    event->sender = JZX_NOBODY;
    event->len = sizeof(jzx_io_event);
    jzx__registration_init(&watch->registration, &registration_ops, fd, JZX__POLL_ONCE);
    return watch;
}

void jzx__fd_watch_destroy(struct jzx_loop *loop, struct jzx__worker *me,
                           struct jzx__fd_watch *watch) {
    if (watch->kind != NULL)
        watch->kind->close(watch);
    jzx__cold_destroy(loop, me, watch->spare);
    jzx__sched_free(&loop->sched, me, JZX__FD_WATCH_CLASS, watch);
}

/* X5 */
static void destroy_if_unused(struct jzx_loop *loop, struct jzx__worker *me,
                              struct jzx__fd_watch *watch) {
    if ((watch->flags & (JZX__FD_LISTED | JZX__FD_OUT | JZX__FD_ASKING)) == 0)
        jzx__fd_watch_destroy(loop, me, watch);
}

/* ---- at the owner's worker, under the lock ---- */

/* An async function has no messages: it would drop each event, and get the next at once. */
static bool can_be_told(const struct jzx__actor *owner) {
    const struct jzx__cold *cold = jzx__actor_cold(owner);
    return cold == NULL || cold->kind != JZX__KIND_ASYNC;
}

static void list(struct jzx__actor *owner, struct jzx__fd_watch *watch) {
    struct jzx__actor_io *own = actor_io(owner);
    if (jzx__list_is_empty(&own->watches))
        jzx__actor_pin(owner);
    jzx__list_push_back(&own->watches, &watch->at_owner);
    watch->flags |= JZX__FD_LISTED;
}

/* Puts one away that is DEAD or LOST. It may be gone after this. */
static void unlist(struct jzx__worker *me, struct jzx__actor *owner, struct jzx__fd_watch *watch) {
    if (watch->home != NULL && watch->kind != NULL)
        watch->kind->detach(watch->home, watch);
    if (watch->home != NULL)
        jzx__reactor_remove(watch->home, &watch->registration);
    watch->home = NULL;
    if (watch->flags & JZX__FD_LISTED) {
        jzx__list_remove(&watch->at_owner);
        if (jzx__list_is_empty(&actor_io(owner)->watches))
            jzx__actor_unpin(owner);
    }
    watch->flags &= (uint8_t)~JZX__FD_LISTED;
    destroy_if_unused(jzx__loop_of(me), me, watch);
}

/* 0 or the negative errno. */
static int attach(struct jzx__worker *me, struct jzx__fd_watch *watch) {
    struct jzx__reactor *reactor = jzx__reactor_ensure(me);
    if (reactor == NULL)
        return -ENOMEM;
    int err = jzx__reactor_add(reactor, &watch->registration, poll_interest(watch));
    watch->flags &= (uint8_t)~JZX__FD_RENEWED;
    if (err < 0)
        return err;
    if (watch->kind != NULL && (err = watch->kind->attach(reactor, watch)) < 0) {
        jzx__reactor_remove(reactor, &watch->registration);
        return err;
    }
    watch->home = reactor;
    me->poll_due = true; /* it may be ready */
    return 0;
}

/* ---- on any thread, under the lock ---- */

/* Brings it to its owner's worker, if it is not on its way already. False if that cannot be
 * reached: it ends, or takes nothing in any more. */
static bool ask(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__fd_watch *watch) {
    struct jzx__actor *owner = jzx__table_lookup(&loop->table, watch->owner);
    if (watch->flags & JZX__FD_ASKING)
        return true;
    if (owner == NULL)
        return false;
    watch->flags |= JZX__FD_ASKING;
    switch (jzx__task_push(&owner->task, &watch->ask, 0)) {
    case JZX__PUSH_OK_INJECT: jzx__task_inject(&owner->task, me); return true;
    case JZX__PUSH_OK: return true;
    case JZX__PUSH_FULL:
    case JZX__PUSH_CLOSED: break;
    }
    watch->flags &= (uint8_t)~JZX__FD_ASKING;
    return false;
}

static void detach(struct jzx__fd_watch *watch) {
    if (watch->home != NULL)
        jzx__reactor_detach(watch->home, &watch->registration);
}

static void make_dead(struct jzx__io *io, struct jzx__fd_watch *watch) {
    take_out(io, watch);
    detach(watch);
    watch->flags |= JZX__FD_DEAD;
}

/* X3. What is left of it goes away at its owner: here, or where the ask comes to; else with it. */
void jzx__fd_watch_end(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__fd_watch *watch) {
    struct jzx__actor *owner = jzx__table_lookup(&loop->table, watch->owner);
    make_dead(jzx__io_of(loop), watch);
    if (may_act_for(me, owner))
        unlist(me, owner, watch);
    else
        (void)ask(loop, me, watch);
}

/* X4 */
static void lose(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__fd_watch *watch) {
    detach(watch);
    watch->flags |= JZX__FD_LOST;
    (void)ask(loop, me, watch);
}

/* Tells the poller what is wanted, and that it is wanted now. After the owner has watched the
 * number again, it may be that of another file, which the poller does not know. */
static int arm(struct jzx__fd_watch *watch) {
    int err = jzx__reactor_change(watch->home, &watch->registration, poll_interest(watch));
    if (err == -ENOENT && (watch->flags & JZX__FD_RENEWED))
        err = jzx__reactor_attach(watch->home, &watch->registration);
    watch->flags &= (uint8_t)~JZX__FD_RENEWED;
    return err;
}

/* Its event was handled: X2. */
static void arm_again(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__fd_watch *watch) {
    watch->flags &= (uint8_t)~JZX__FD_OUT;
    if (watch->home != NULL && arm(watch) < 0)
        lose(loop, me, watch);
}

/* ---- events ---- */

/* What its owner gets to see, and its filters before. */
static void write_event(struct jzx__fd_watch *watch) {
    const jzx_io_event told = {.fd = fd_of(watch), .ready = told_of(watch)};
    memcpy(event_of(watch)->payload, &told, sizeof told);
}

/* From here on it is OUT. */
static void prepare_event(struct jzx__fd_watch *watch, uint32_t ready) {
    watch->ready = (uint8_t)ready;
    watch->flags |= JZX__FD_OUT;
    event_of(watch)->tag = watch->tag;
    if (watch->kind == NULL)
        write_event(watch);
}

/* Sends the event, outside the lock; it is OUT. An owner that takes nothing in any more will hear
 * of nothing. */
static void send_event(struct jzx__worker *me, struct jzx__actor *owner,
                       struct jzx__fd_watch *watch) {
    struct jzx_loop *loop = jzx__loop_of(me);
    struct jzx__io *io = jzx__io_of(loop);
    if (jzx__mailbox_deliver(loop, me, owner, event_of(watch)) == JZX_OK)
        return;
    jzx__lock_acquire(&io->lock);
    watch->flags &= (uint8_t)~JZX__FD_OUT;
    if ((watch->flags & JZX__FD_DEAD) == 0)
        jzx__fd_watch_end(loop, me, watch);
    else
        unlist(me, owner, watch);
    jzx__lock_release(&io->lock);
}

static void on_ready(struct jzx__worker *me, struct jzx__registration *registration,
                     uint32_t ready) {
    struct jzx__fd_watch *watch = watch_of_registration(registration);
    struct jzx_loop *loop = jzx__loop_of(me);
    struct jzx__io *io = jzx__io_of(loop);
    struct jzx__actor *owner = jzx__table_lookup(&loop->table, watch->owner);
    jzx__lock_acquire(&io->lock);
    bool sends = (watch->flags & (JZX__FD_OUT | JZX__FD_DEAD | JZX__FD_LOST)) == 0;
    if (sends)
        prepare_event(watch, ready);
    jzx__lock_release(&io->lock);
    if (sends)
        send_event(me, owner, watch);
}

/* The program may have closed the descriptor. While an event is OUT that is seen later. */
static void check(struct jzx__worker *me, struct jzx__registration *registration) {
    struct jzx__fd_watch *watch = watch_of_registration(registration);
    struct jzx_loop *loop = jzx__loop_of(me);
    struct jzx__io *io = jzx__io_of(loop);
    jzx__lock_acquire(&io->lock);
    if ((watch->flags & (JZX__FD_OUT | JZX__FD_DEAD | JZX__FD_LOST)) == 0 && arm(watch) < 0)
        lose(loop, me, watch);
    jzx__lock_release(&io->lock);
}

static const struct jzx__registration_ops registration_ops = {.ready = on_ready, .check = check};
static const struct jzx__registration_ops own_registration_ops = {.ready = on_ready};

/* ---- nodes in a mailbox ---- */

/* Its owner has a cold record from here on. */
static enum jzx__filed file(struct jzx__worker *me, struct jzx__actor *actor,
                            struct jzx__node *node) {
    (void)me;
    struct jzx__fd_watch *watch = watch_of_node(node);
    if (node->lane == JZX__LANE_IO_ASK && jzx__spare_give_cold(actor, watch->spare))
        watch->spare = NULL;
    return JZX__FILED_KEEP;
}

/* The ask has come to its owner. True if the event is to go out: the last one. */
static bool be_asked(struct jzx__worker *me, struct jzx__actor *owner,
                     struct jzx__fd_watch *watch) {
    watch->flags &= (uint8_t)~JZX__FD_ASKING;
    if (watch->flags & JZX__FD_DEAD) {
        unlist(me, owner, watch);
        return false;
    }
    if ((watch->flags & JZX__FD_LISTED) == 0) {
        list(owner, watch);
        if (can_be_told(owner) && attach(me, watch) == 0)
            return false;
        watch->flags |= JZX__FD_LOST;
    }
    prepare_event(watch, 0);
    unlist(me, owner, watch);
    return true;
}

static enum jzx__look begin_ask(struct jzx__worker *me, const struct jzx__spot *at,
                                struct jzx__fd_watch *watch) {
    struct jzx_loop *loop = jzx__loop_of(me);
    struct jzx__io *io = jzx__io_of(loop);
    struct jzx__cold *spare = watch->spare;
    jzx__spot_remove(at);
    watch->spare = NULL;
    jzx__spare_use(loop, me, jzx__actor_cold(at->actor), JZX__PART_IO, spare);
    jzx__lock_acquire(&io->lock);
    bool sends = be_asked(me, at->actor, watch);
    jzx__lock_release(&io->lock);
    if (sends)
        send_event(me, at->actor, watch);
    return JZX__LOOK_GONE;
}

/* The event is about to be handled. False if it is to be dropped. */
static bool may_be_handled(struct jzx__io *io, struct jzx__fd_watch *watch) {
    if ((watch->flags & JZX__FD_DEAD) != 0 || told_of(watch) == 0)
        return false;
    if (watch->kind != NULL)
        return watch->kind->write(watch);
    if (watch->flags & JZX__FD_LOST)
        take_out(io, watch);
    write_event(watch); /* the interest may be another by now */
    return true;
}

/* An event that nobody handles, or that was handled. It may be gone after this. */
static void put_back(struct jzx__worker *me, struct jzx__actor *owner,
                     struct jzx__fd_watch *watch) {
    struct jzx_loop *loop = jzx__loop_of(me);
    if ((watch->flags & (JZX__FD_DEAD | JZX__FD_LOST)) == 0) {
        arm_again(loop, me, watch);
        return;
    }
    take_out(jzx__io_of(loop), watch);
    watch->flags &= (uint8_t)~JZX__FD_OUT;
    unlist(me, owner, watch);
}

static enum jzx__look begin(struct jzx__worker *me, const struct jzx__spot *at) {
    struct jzx__fd_watch *watch = watch_of_node(at->node);
    struct jzx__io *io = jzx__io_of(jzx__loop_of(me));
    jzx__mailbox_looked(at->actor);
    if (at->node->lane == JZX__LANE_IO_ASK)
        return begin_ask(me, at, watch);
    jzx__lock_acquire(&io->lock);
    bool is_told = may_be_handled(io, watch);
    if (!is_told) {
        jzx__spot_remove(at);
        me->pass_handled++; /* the books: it was accepted */
        put_back(me, at->actor, watch);
    }
    jzx__lock_release(&io->lock);
    return is_told ? JZX__LOOK_HANDLE : JZX__LOOK_GONE;
}

static void release(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__message *message) {
    struct jzx__fd_watch *watch = watch_of_node(&message->node);
    struct jzx__io *io = jzx__io_of(loop);
    struct jzx__actor *owner = jzx__table_slot(&loop->table, jzx_id_index(watch->owner));
    jzx__lock_acquire(&io->lock);
    put_back(me, owner, watch);
    jzx__lock_release(&io->lock);
}

/* The event is the runtime's. */
static bool take(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__message *message) {
    (void)loop;
    (void)me;
    (void)message;
    return false;
}

/* Its owner has ended. */
static void bury(struct jzx__worker *me, struct jzx__node *node, const struct jzx__addressee *to) {
    struct jzx_loop *loop = jzx__loop_of(me);
    struct jzx__io *io = jzx__io_of(loop);
    struct jzx__fd_watch *watch = watch_of_node(node);
    if (node->lane == JZX__LANE_IO) {
        jzx__message_bury(loop, me, event_of(watch), to->id, to->name);
        return;
    }
    jzx__lock_acquire(&io->lock);
    take_out(io, watch);
    watch->flags |= JZX__FD_DEAD;
    watch->flags &= (uint8_t)~JZX__FD_ASKING;
    destroy_if_unused(loop, me, watch);
    jzx__lock_release(&io->lock);
}

const struct jzx__lane_ops jzx__lane_io = {
    .file = file, .begin = begin, .bury = bury, .release = release, .take = take};

/* ---- the part of an actor ---- */

static void init(void *record) {
    struct jzx__actor_io *own = record;
    jzx__list_init(&own->watches);
    jzx__list_init(&own->things);
    jzx__list_init(&own->sockets);
}

/* Its owner ends. */
static void cancel(struct jzx__worker *me, struct jzx__actor *actor) {
    struct jzx__actor_io *own = actor_io(actor);
    struct jzx__list *watches = &own->watches;
    struct jzx__io *io = jzx__io_of(jzx__loop_of(me));
    if (io->close_sockets != NULL)
        io->close_sockets(me, actor);
    jzx__lock_acquire(&io->lock);
    while (!jzx__list_is_empty(watches)) {
        struct jzx__fd_watch *watch =
            JZX_CONTAINER_OF(watches->ring.next, struct jzx__fd_watch, at_owner);
        make_dead(io, watch);
        unlist(me, actor, watch);
    }
    jzx__lock_release(&io->lock);
    if (own->end_things != NULL)
        own->end_things(me, &own->things);
}

static void release_part(struct jzx_loop *loop, struct jzx__worker *me, void *record) {
    jzx__sched_free(&loop->sched, me, JZX__PART_CLASS, record);
}

static size_t size_bytes(const void *record) {
    const struct jzx__actor_io *own = record;
    size_t size = jzx__slab_class_size(JZX__PART_CLASS) + own->sockets_size_bytes;
    for (const struct jzx__link *link = own->watches.ring.next; link != &own->watches.ring;
         link = link->next)
        size += jzx__slab_class_size(JZX__FD_WATCH_CLASS);
    return size;
}

const struct jzx__part_ops jzx__part_io = {.open = jzx__io_open,
                                           .halt = jzx__fd_waits_halt,
                                           .close = jzx__io_close,
                                           .init = init,
                                           .cancel = cancel,
                                           .release = release_part,
                                           .size_bytes = size_bytes};

/* ---- watching ---- */

struct wish {
    int fd;
    jzx_actor_id owner;
    uint32_t interest;
    uint32_t tag;
};

static void fill(struct jzx__fd_watch *watch, const struct wish *wish) {
    watch->interest = (uint8_t)wish->interest;
    watch->tag = wish->tag == 0 ? JZX_TAG_IO : wish->tag;
}

/* The owner watches it already. */
static jzx_err update(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__fd_watch *watch,
                      const struct wish *wish) {
    fill(watch, wish);
    watch->flags |= JZX__FD_RENEWED;
    if (watch->home == NULL || (watch->flags & JZX__FD_OUT) != 0)
        return JZX_OK; /* it is armed when it is registered, or when its event was handled */
    int err = arm(watch);
    if (err == 0)
        return JZX_OK;
    lose(loop, me, watch);
    return err_of(err);
}

/* On the owner's thread. old, or NULL, is what it takes the place of. */
static jzx_err watch_here(struct jzx__worker *me, struct jzx__actor *owner,
                          struct jzx__fd_watch *watch, struct jzx__fd_watch *old) {
    struct jzx_loop *loop = jzx__loop_of(me);
    struct jzx__cold *cold = jzx__cold_ensure(loop, me, owner);
    if (jzx__task_inbox(&owner->task) & JZX__INBOX_CLOSED)
        return jzx__mailbox_gone(loop); /* it works its queue off */
    if (!can_be_told(owner))
        return JZX_ERR_UNSUPPORTED;
    if (cold == NULL || jzx__part_ensure(loop, me, cold, JZX__PART_IO) == NULL)
        return JZX_ERR_NO_MEMORY;
    bool was_attached = old != NULL && old->registration.is_attached;
    if (was_attached)
        detach(old); /* a poller has a descriptor once */
    int err = attach(me, watch);
    if (err == 0) {
        list(owner, watch);
        return JZX_OK;
    }
    if (was_attached && jzx__reactor_attach(old->home, &old->registration) < 0)
        lose(loop, me, old);
    return err_of(err);
}

/* The probe says what the poller of the owner's worker will say. */
static int probe(struct jzx__io *io, int fd) {
    struct jzx__poller *poller = &io->probe;
    const struct jzx__poll_entry entry = {.fd = fd, .mode = JZX__POLL_ONCE};
    poller->os = io->os;
    int err = poller->fd >= 0 ? 0 : poller->ops->open(poller);
    if (err == 0)
        err = poller->ops->add(poller, &entry);
    if (err == 0)
        (void)poller->ops->remove(poller, fd);
    return err;
}

/* On any other thread. */
static jzx_err watch_there(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__actor *owner,
                           struct jzx__fd_watch *watch) {
    int err = watch->kind == NULL ? probe(jzx__io_of(loop), fd_of(watch)) : 0;
    if (err < 0)
        return err_of(err);
    if (!jzx__spare_prepare(loop, me, owner, JZX__PART_IO, &watch->spare))
        return JZX_ERR_NO_MEMORY;
    return ask(loop, me, watch) ? JZX_OK : jzx__mailbox_gone(loop);
}

jzx_err jzx__fd_watch_start(struct jzx_loop *loop, struct jzx__worker *me,
                            struct jzx__fd_watch *watch) {
    struct jzx__actor *owner = jzx__table_lookup(&loop->table, watch->owner);
    watch->interest = JZX_IO_READ;
    watch->registration.ops = &own_registration_ops;
    if (owner == NULL)
        return jzx__mailbox_gone(loop);
    return may_act_for(me, owner) ? watch_here(me, owner, watch, NULL)
                                  : watch_there(loop, me, owner, watch);
}

/* Under the lock. old, or NULL, is another owner's, or was lost. */
static jzx_err make(struct jzx_loop *loop, struct jzx__worker *me, const struct wish *wish,
                    struct jzx__fd_watch *old) {
    struct jzx__io *io = jzx__io_of(loop);
    struct jzx__actor *owner = jzx__table_lookup(&loop->table, wish->owner);
    if (owner == NULL)
        return jzx__mailbox_gone(loop);
    if (old == NULL && io->watch_count >= io->watches_max)
        return JZX_ERR_FULL;
    jzx_err err = reserve(loop, io, wish->fd);
    if (err != JZX_OK)
        return err;
    struct jzx__fd_watch *watch = jzx__fd_watch_create(loop, me, wish->fd, wish->owner);
    if (watch == NULL)
        return JZX_ERR_NO_MEMORY;
    fill(watch, wish);
    err = may_act_for(me, owner) ? watch_here(me, owner, watch, old)
                                 : watch_there(loop, me, owner, watch);
    if (err != JZX_OK) {
        jzx__fd_watch_destroy(loop, me, watch);
        return err;
    }
    put(io, watch);
    if (old != NULL)
        jzx__fd_watch_end(loop, me, old);
    return JZX_OK;
}

static jzx_err watch_fd(struct jzx_loop *loop, struct jzx__worker *me, const struct wish *wish) {
    struct jzx__io *io = jzx__io_of(loop);
    if (jzx__sched_is_stopped(&loop->sched) || !jzx__table_is_alive(&loop->table, wish->owner))
        return jzx__mailbox_gone(loop);
    if (wish->fd < 0)
        return JZX_ERR_IO_REG_FAILED;
    jzx__lock_acquire(&io->lock);
    struct jzx__fd_watch *old = find(io, wish->fd);
    bool is_same = old != NULL && old->owner == wish->owner && (old->flags & JZX__FD_LOST) == 0;
    jzx_err err = is_same ? update(loop, me, old, wish) : make(loop, me, wish, old);
    jzx__lock_release(&io->lock);
    return err;
}

jzx_err jzx_watch_fd(jzx_loop *loop, int fd, jzx_actor_id owner, uint32_t interest, uint32_t tag) {
    const struct wish wish = {.fd = fd, .owner = owner, .interest = interest, .tag = tag};
    if (loop == NULL || interest == 0 || (interest & ~INTERESTS) != 0 || tag >= JZX_TAG_RESERVED)
        return JZX_ERR_INVALID_ARG;
    struct jzx__visit visit;
    struct jzx__worker *me = jzx__loop_visit(loop, &visit);
    jzx_err err = watch_fd(loop, me, &wish);
    jzx__visit_end(&visit);
    return err;
}

jzx_err jzx_unwatch_fd(jzx_loop *loop, int fd) {
    if (loop == NULL)
        return JZX_ERR_INVALID_ARG;
    struct jzx__visit visit;
    struct jzx__worker *me = jzx__loop_visit(loop, &visit);
    struct jzx__io *io = jzx__io_of(loop);
    jzx__lock_acquire(&io->lock);
    struct jzx__fd_watch *watch = find(io, fd);
    if (watch != NULL)
        jzx__fd_watch_end(loop, me, watch);
    jzx__lock_release(&io->lock);
    jzx__visit_end(&visit);
    return watch == NULL ? JZX_ERR_IO_NOT_WATCHED : JZX_OK;
}
