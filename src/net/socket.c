/* SPDX-License-Identifier: MIT */
/* The life of a socket: made, listed at its owner's worker, given away, closed. */
#include "net/socket.h"

#include "actor/mailbox.h"
#include "actor/pin.h"
#include "base/alloc.h"
#include "fiber/fiber.h"
#include "io/watch_fd.h"
#include "net/place.h"
#include "timer/timer.h"

#include <errno.h>
#include <string.h>

#define TIMER_CLASS 1u
_Static_assert(sizeof(struct jzx__waiter) <= (size_t)JZX__BLOCK_SIZE_MIN << TIMER_CLASS,
               "fits its class");

#define INTEREST (JZX__READY_READ | JZX__READY_WRITE | JZX__READY_READ_END)

static const struct jzx__registration_ops registration_ops;
static const struct jzx__source_ops source_ops;
static const struct jzx__source_ops reader_ops;

/* ---- records ---- */

static uint32_t chunk_of(uint32_t index) {
    return 63u - 6u - (uint32_t)__builtin_clzll((uint64_t)index + JZX__SOCKET_FIRST);
}

static size_t chunk_count(uint32_t chunk) {
    return (size_t)JZX__SOCKET_FIRST << chunk;
}

/* Of an index whose chunk is there. */
static struct jzx__socket *record_at(const struct jzx__net *net, uint32_t index) {
    uint32_t chunk = chunk_of(index);
    /* relaxed: written before minted was raised past this index */
    char *first = jzx__atomic_load_relaxed(&net->chunks[chunk]);
    return (void *)(first +
                    ((size_t)index + JZX__SOCKET_FIRST - chunk_count(chunk)) * JZX__SOCKET_SIZE);
}

/* N7. */
static void init_record(struct jzx__socket *socket, struct jzx_loop *loop, uint32_t index) {
    memset(socket, 0, JZX__SOCKET_SIZE);
    jzx__lock_init(&socket->lock);
    jzx__source_init(&socket->readers, &socket->lock, &reader_ops);
    jzx__source_init(&socket->writers, &socket->lock, &source_ops);
    jzx__source_init(&socket->line, &socket->lock, &source_ops);
    socket->loop = loop;
    socket->index = index;
    socket->generation = 1;
}

/* Under the lock of the net. NULL without memory. */
static struct jzx__socket *mint(struct jzx_loop *loop, struct jzx__net *net) {
    /* relaxed: the lock orders it */
    uint32_t index = jzx__atomic_load_relaxed(&net->minted);
    uint32_t chunk = chunk_of(index);
    if (chunk >= JZX__SOCKET_CHUNK_COUNT)
        return NULL;
    /* relaxed: as above */
    if (jzx__atomic_load_relaxed(&net->chunks[chunk]) == NULL) {
        char *first = jzx__alloc_aligned(&loop->sched.allocator,
                                         chunk_count(chunk) * JZX__SOCKET_SIZE, JZX_CACHE_LINE);
        if (first == NULL)
            return NULL;
        /* relaxed: published by minted */
        jzx__atomic_store_relaxed(&net->chunks[chunk], first);
    }
    struct jzx__socket *socket = record_at(net, index);
    init_record(socket, loop, index);
    /* release: pairs with the acquire in jzx__socket_find; publishes the record and its chunk */
    jzx__atomic_store_release(&net->minted, index + 1);
    return socket;
}

static struct jzx__socket *take_record(struct jzx_loop *loop) {
    struct jzx__net *net = jzx__net_of(loop);
    jzx__lock_acquire(&net->lock);
    struct jzx__link *link = jzx__list_pop_front(&net->free);
    struct jzx__socket *socket =
        link != NULL ? JZX_CONTAINER_OF(link, struct jzx__socket, at_owner) : mint(loop, net);
    net->open_count += socket != NULL;
    jzx__lock_release(&net->lock);
    return socket;
}

/* One that has used its last generation is not used again. */
static void give_record(struct jzx__socket *socket) {
    struct jzx__net *net = jzx__net_of(socket->loop);
    jzx__lock_acquire(&net->lock);
    net->open_count--;
    if (socket->generation != UINT32_MAX)
        jzx__list_push_back(&net->free, &socket->at_owner);
    jzx__lock_release(&net->lock);
}

struct jzx__socket *jzx__socket_create(struct jzx_loop *loop, int fd, enum jzx__socket_kind kind,
                                       const struct jzx__socket_ops *ops) {
    struct jzx__socket *socket = take_record(loop);
    if (socket == NULL)
        return NULL;
    jzx__lock_acquire_unordered(&socket->lock); /* N8 */
    socket->kind = (uint8_t)kind;
    socket->flags = 0;
    socket->ready = JZX__READY_READ | JZX__READY_WRITE; /* to be tried */
    socket->err = JZX_OK;
    socket->os_error = 0;
    socket->ops = ops;
    socket->owner = JZX_NOBODY;
    socket->lister = JZX_NOBODY;
    socket->home = NULL;
    socket->spare = NULL;
    socket->noted = socket->counted = 0;
    socket->ask = (struct jzx__node){.lane = JZX__LANE_SOCKET_ASK};
    jzx__registration_init(&socket->registration, &registration_ops, fd, JZX__POLL_EDGE);
    memset(socket + 1, 0, JZX__SOCKET_SIZE - sizeof *socket);
    jzx__lock_release(&socket->lock);
    return socket;
}

struct jzx__socket *jzx__socket_find(const struct jzx_loop *loop, uint64_t handle) {
    const struct jzx__net *net = jzx__net_of(loop);
    uint32_t index = (uint32_t)handle;
    /* acquire: pairs with the release in mint */
    return index < jzx__atomic_load_acquire(&net->minted) ? record_at(net, index) : NULL;
}

struct jzx__socket *jzx__socket_acquire(struct jzx_loop *loop, uint64_t handle,
                                        enum jzx__socket_kind kind) {
    struct jzx__socket *socket = jzx__socket_find(loop, handle);
    if (socket == NULL)
        return NULL;
    jzx__socket_lock(socket);
    if (socket->generation == handle >> 32 && socket->kind == kind)
        return socket;
    jzx__lock_release(&socket->lock);
    return NULL;
}

/* ---- operations ---- */

void jzx__done_add(struct jzx__done *done, struct jzx__socket_op *op, jzx_err err, int os_error,
                   size_t len) {
    op->is_pending = false;
    op->err = (int16_t)err;
    op->os_error = (uint16_t)os_error;
    op->len = (uint32_t)len;
    op->next = NULL;
    if (done->first == NULL)
        done->first = op;
    else
        done->last->next = op;
    done->last = op;
}

void jzx__done_drop(struct jzx__done *done, struct jzx__message *message) {
    message->node.next = done->garbage;
    done->garbage = &message->node;
}

static void destroy_garbage(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__done *done) {
    while (done->garbage != NULL) {
        struct jzx__message *message = jzx__message_of(done->garbage);
        done->garbage = message->node.next;
        jzx__message_destroy(loop, me, message);
    }
}

static void complete_all(struct jzx__done *done, struct jzx__worker *me) {
    while (done->first != NULL) {
        struct jzx__socket_op *own = done->first;
        struct jzx__op *op = jzx__op_of_own(own);
        done->first = own->next;
        jzx__op_set_os_error(op, own->os_error);
        jzx__op_complete(op, me, (jzx_err)own->err, NULL, own->len);
    }
}

/* N5. */
static bool is_unused(const struct jzx__socket *socket) {
    return (socket->flags & (JZX__SOCKET_CLOSED | JZX__SOCKET_ASKING)) == JZX__SOCKET_CLOSED &&
           socket->lister == JZX_NOBODY && socket->kind != JZX__SOCKET_NONE;
}

static void tell_listener(struct jzx_loop *loop, struct jzx__worker *me, jzx_listener handle) {
    struct jzx__done done = {.first = NULL};
    struct jzx__socket *listener = jzx__socket_acquire(loop, handle, JZX__SOCKET_LISTENER);
    if (listener == NULL)
        return;
    listener->ops->vacated(listener, me, &done);
    jzx__socket_release(listener, me, &done);
}

void jzx__socket_release(struct jzx__socket *socket, struct jzx__worker *me,
                         struct jzx__done *done) {
    struct jzx_loop *loop = socket->loop;
    bool frees = is_unused(socket);
    if (frees) {
        if (socket->ops->release != NULL)
            socket->ops->release(socket, me);
        socket->kind = JZX__SOCKET_NONE;
    }
    jzx__lock_release(&socket->lock);
    if (frees)
        give_record(socket);
    jzx__wake_make(&done->wake, me);
    complete_all(done, me);
    destroy_garbage(loop, me, done);
    if (done->vacated != 0)
        tell_listener(loop, me, done->vacated);
}

/* ---- its timer, on the home worker ---- */

static void stop_timer(struct jzx__socket *socket) {
    struct jzx__waiter *timer = socket->timer;
    if (timer->wheel == NULL)
        return;
    (void)jzx__waiter_withdraw(timer, JZX__CAUSE_CANCELLED);
    (void)jzx__waiter_end(timer);
}

/* By the wheel. */
static void wake_timer(void *who, struct jzx__worker *me) {
    struct jzx__socket *socket = who;
    struct jzx__done done = {.first = NULL};
    jzx__socket_lock(socket);
    (void)jzx__waiter_end(socket->timer);
    if ((socket->flags & JZX__SOCKET_CLOSED) == 0 && socket->err == JZX_OK)
        socket->ops->expire(socket, me, &done);
    jzx__socket_release(socket, me, &done);
}

bool jzx__socket_set_timer(struct jzx__socket *socket, struct jzx__worker *me, uint64_t due_ns) {
    struct jzx_loop *loop = socket->loop;
    if (socket->timer == NULL) {
        if (due_ns == JZX_NEVER)
            return true;
        socket->timer = jzx__sched_alloc(&loop->sched, me, TIMER_CLASS);
        if (socket->timer == NULL)
            return false;
        jzx__waiter_init(socket->timer, wake_timer, socket);
    }
    stop_timer(socket);
    if (due_ns == JZX_NEVER)
        return true;
    jzx__waiter_begin(socket->timer, (struct jzx__wait_what){.kind = "socket"});
    jzx__timers_set_deadline(me, socket->timer, due_ns);
    (void)jzx__waiter_arm(socket->timer);
    return true;
}

static void free_timer(struct jzx__socket *socket, struct jzx__worker *me) {
    if (socket->timer == NULL)
        return;
    stop_timer(socket);
    jzx__sched_free(&socket->loop->sched, me, TIMER_CLASS, socket->timer);
    socket->timer = NULL;
}

/* ---- at the lister's worker (N3) ---- */

static struct jzx__actor_io *actor_io(const struct jzx__actor *actor) {
    return jzx__actor_part(actor, JZX__PART_IO);
}

/* True if this thread may act for the actor. */
static bool may_act_for(const struct jzx__worker *me, struct jzx__actor *actor) {
    return me != NULL && actor != NULL && jzx__worker_owns(me, &actor->task) &&
           actor->task.place != JZX__AWAY;
}

/* The actor has its part. 0 or the negative errno. */
static int list(struct jzx__socket *socket, struct jzx__worker *me, struct jzx__actor *actor) {
    struct jzx__actor_io *own = actor_io(actor);
    struct jzx__reactor *reactor = jzx__reactor_ensure(me);
    int err =
        reactor == NULL ? -ENOMEM : jzx__reactor_add(reactor, &socket->registration, INTEREST);
    if (err < 0)
        return err;
    socket->home = reactor;
    jzx__socket_count(socket, me);
    if (jzx__list_is_empty(&own->sockets))
        jzx__actor_pin(actor);
    jzx__list_push_back(&own->sockets, &socket->at_owner);
    own->sockets_size_bytes += JZX__SOCKET_SIZE;
    socket->lister = jzx__actor_id(actor);
    if (socket->ops->listed != NULL)
        socket->ops->listed(socket, me);
    return 0;
}

static void unlist(struct jzx__socket *socket, struct jzx__worker *me, struct jzx__actor *actor) {
    struct jzx__actor_io *own = actor_io(actor);
    jzx__reactor_remove(socket->home, &socket->registration);
    socket->home = NULL;
    free_timer(socket, me);
    jzx__list_remove(&socket->at_owner);
    own->sockets_size_bytes -= JZX__SOCKET_SIZE;
    if (jzx__list_is_empty(&own->sockets))
        jzx__actor_unpin(actor);
    socket->lister = JZX_NOBODY;
}

/* ---- the ask (N4) ---- */

/* Brings it to that actor's worker. False if it takes nothing in any more. */
static bool ask(struct jzx__socket *socket, struct jzx__worker *me, jzx_actor_id id) {
    struct jzx__actor *actor = jzx__table_lookup(&socket->loop->table, id);
    if (socket->flags & JZX__SOCKET_ASKING)
        return true;
    if (actor == NULL)
        return false;
    socket->ask.generation = jzx_id_generation(id);
    socket->flags |= JZX__SOCKET_ASKING;
    switch (jzx__task_push(&actor->task, &socket->ask, 0)) {
    case JZX__PUSH_OK_INJECT: jzx__task_inject(&actor->task, me); return true;
    case JZX__PUSH_OK: return true;
    case JZX__PUSH_FULL:
    case JZX__PUSH_CLOSED: break;
    }
    socket->flags &= (uint8_t)~JZX__SOCKET_ASKING;
    return false;
}

/* The same for one that is to be listed there, with what that needs. */
static jzx_err ask_to_list(struct jzx__socket *socket, struct jzx__worker *me, jzx_actor_id id) {
    struct jzx_loop *loop = socket->loop;
    struct jzx__actor *actor = jzx__table_lookup(&loop->table, id);
    struct jzx__cold *spare = NULL;
    if (actor == NULL)
        return jzx__mailbox_gone(loop);
    if (may_act_for(me, actor))
        jzx__socket_place_owner(socket, me, actor);
    if (!jzx__spare_prepare(loop, me, actor, JZX__PART_IO, &spare))
        return JZX_ERR_NO_MEMORY;
    socket->spare = spare;
    if (ask(socket, me, id))
        return JZX_OK;
    socket->spare = NULL;
    jzx__cold_destroy(loop, me, spare);
    return jzx__mailbox_gone(loop);
}

/* At the worker of the actor, which takes in. */
static jzx_err list_here(struct jzx__socket *socket, struct jzx__worker *me,
                         struct jzx__actor *actor) {
    struct jzx_loop *loop = socket->loop;
    if (jzx__task_inbox(&actor->task) & JZX__INBOX_CLOSED)
        return jzx__mailbox_gone(loop); /* it works its queue off */
    struct jzx__cold *cold = jzx__cold_ensure(loop, me, actor);
    if (cold == NULL || jzx__part_ensure(loop, me, cold, JZX__PART_IO) == NULL)
        return JZX_ERR_NO_MEMORY;
    int err = list(socket, me, actor);
    return err == 0 ? JZX_OK : err == -ENOMEM ? JZX_ERR_NO_MEMORY : JZX_ERR_IO_REG_FAILED;
}

/* ---- its life ---- */

/* One that is LISTED leaves its lister first, if this is the place; else the ask does that. A move
 * on one worker goes by the ask, too: what the old owner sends afterwards comes behind it. */
jzx_err jzx__socket_adopt(struct jzx__socket *socket, struct jzx__worker *me, jzx_actor_id owner) {
    struct jzx_loop *loop = socket->loop;
    struct jzx__actor *actor = jzx__table_lookup(&loop->table, owner);
    struct jzx__actor *lister = jzx__table_lookup(&loop->table, socket->lister);
    if (actor == NULL || jzx__sched_is_stopped(&loop->sched))
        return jzx__mailbox_gone(loop);
    if (socket->flags & JZX__SOCKET_ASKING) { /* it is passed on when that arrives */
        socket->owner = owner;
        return JZX_OK;
    }
    jzx_err err;
    if (socket->lister == owner)
        err = JZX_OK;
    else if (socket->lister == JZX_NOBODY && may_act_for(me, actor))
        err = list_here(socket, me, actor);
    else if (socket->lister == JZX_NOBODY)
        err = ask_to_list(socket, me, owner);
    else if (may_act_for(me, lister)) {
        if (!jzx__table_is_alive(&loop->table, owner))
            return jzx__mailbox_gone(loop);
        err = ask_to_list(socket, me, owner);
        if (err == JZX_OK)
            unlist(socket, me, lister);
    } else
        err = ask(socket, me, socket->lister) ? JZX_OK : jzx__mailbox_gone(loop);
    if (err == JZX_OK)
        socket->owner = owner;
    return err;
}

void jzx__socket_attend(struct jzx__socket *socket, struct jzx__worker *me) {
    struct jzx__actor *lister = jzx__table_lookup(&socket->loop->table, socket->lister);
    if (may_act_for(me, lister))
        socket->ops->listed(socket, me);
    else if (socket->lister != JZX_NOBODY)
        (void)ask(socket, me, socket->lister); /* else it is about to be listed */
}

/* The descriptor goes; nothing is ready any more. */
static void close_fd(struct jzx__socket *socket) {
    int fd = jzx__socket_fd(socket);
    if (fd < 0)
        return;
    if (socket->home != NULL)
        jzx__reactor_detach(socket->home, &socket->registration);
    socket->registration.entry.fd = -1;
    if (socket->ops->put_away != NULL)
        socket->ops->put_away(socket, fd);
    else
        (void)jzx__socket_os(socket)->close(fd);
}

static void end(struct jzx__socket *socket, struct jzx__worker *me, jzx_err err,
                struct jzx__done *done) {
    close_fd(socket);
    jzx__socket_wake_all(&socket->readers, me);
    jzx__socket_wake_all(&socket->writers, me);
    jzx__socket_wake_all(&socket->line, me);
    if (socket->ops->end != NULL)
        socket->ops->end(socket, me, err, done);
}

static void shut(struct jzx__socket *socket, struct jzx__worker *me, struct jzx__done *done) {
    if (socket->flags & JZX__SOCKET_CLOSED)
        return;
    socket->flags |= JZX__SOCKET_CLOSED;
    socket->generation++; /* N2 */
    socket->reading.served = NULL;
    jzx__socket_uncount(socket);
    end(socket, me, JZX_ERR_CLOSED, done);
}

/* If the lister cannot be reached it ends, and unlists what it has. */
void jzx__socket_close(struct jzx__socket *socket, struct jzx__worker *me, struct jzx__done *done) {
    struct jzx__actor *lister = jzx__table_lookup(&socket->loop->table, socket->lister);
    shut(socket, me, done);
    if (socket->lister == JZX_NOBODY)
        return;
    if (may_act_for(me, lister))
        unlist(socket, me, lister);
    else
        (void)ask(socket, me, socket->lister);
}

void jzx__socket_fail(struct jzx__socket *socket, struct jzx__worker *me, jzx_err err, int os_error,
                      struct jzx__done *done) {
    if ((socket->flags & JZX__SOCKET_CLOSED) != 0 || socket->err != JZX_OK)
        return;
    socket->err = (int16_t)err;
    socket->os_error = (uint16_t)os_error;
    end(socket, me, err, done);
}

/* ---- readiness ---- */

static struct jzx__socket *of_registration(struct jzx__registration *registration) {
    return JZX_CONTAINER_OF(registration, struct jzx__socket, registration);
}

/* After an error or a hang-up every call says at once what there is. */
static void on_ready(struct jzx__worker *me, struct jzx__registration *registration,
                     uint32_t ready) {
    struct jzx__socket *socket = of_registration(registration);
    struct jzx__done done = {.first = NULL};
    if (ready & (JZX__READY_ERROR | JZX__READY_HANGUP))
        ready |= JZX__READY_READ | JZX__READY_WRITE;
    jzx__socket_lock(socket);
    if (jzx__socket_fd(socket) >= 0) {
        socket->ready |= (uint8_t)ready;
        socket->ops->ready(socket, me, &done);
    }
    jzx__socket_release(socket, me, &done);
}

static const struct jzx__registration_ops registration_ops = {.ready = on_ready};

/* ---- the ask in a mailbox ---- */

static struct jzx__socket *of_ask(struct jzx__node *node) {
    return JZX_CONTAINER_OF(node, struct jzx__socket, ask);
}

/* It has come to its lister or owner. */
static void be_asked(struct jzx__socket *socket, struct jzx__worker *me, struct jzx__actor *actor,
                     struct jzx__done *done) {
    jzx_actor_id id = jzx__actor_id(actor);
    bool is_closed = (socket->flags & JZX__SOCKET_CLOSED) != 0;
    if (socket->lister == id && (is_closed || socket->owner != id))
        unlist(socket, me, actor);
    if (is_closed)
        return;
    if (socket->lister == id) {
        if (socket->ops->listed != NULL)
            socket->ops->listed(socket, me);
        return;
    }
    if (socket->owner != id) {
        if (ask_to_list(socket, me, socket->owner) != JZX_OK)
            shut(socket, me, done);
        return;
    }
    if (list(socket, me, actor) < 0)
        shut(socket, me, done); /* the system has no memory for it */
}

static enum jzx__filed file(struct jzx__worker *me, struct jzx__actor *actor,
                            struct jzx__node *node) {
    struct jzx__socket *socket = of_ask(node);
    struct jzx__done done = {.first = NULL};
    jzx__socket_lock(socket);
    struct jzx__cold *spare = socket->spare;
    if (jzx__spare_give_cold(actor, spare))
        spare = socket->spare = NULL;
    if (actor->task.place == JZX__AWAY) {
        jzx__lock_release(&socket->lock);
        return JZX__FILED_DEFER;
    }
    socket->spare = NULL;
    socket->flags &= (uint8_t)~JZX__SOCKET_ASKING;
    jzx__spare_use(socket->loop, me, jzx__actor_cold(actor), JZX__PART_IO, spare);
    be_asked(socket, me, actor, &done);
    jzx__socket_release(socket, me, &done);
    return JZX__FILED_TAKEN;
}

/* The actor has ended. Another that it has given the socket to meanwhile may be there. */
static void bury(struct jzx__worker *me, struct jzx__node *node, const struct jzx__addressee *to) {
    struct jzx__socket *socket = of_ask(node);
    struct jzx__done done = {.first = NULL};
    jzx__socket_lock(socket);
    jzx__cold_destroy(socket->loop, me, socket->spare);
    socket->spare = NULL;
    socket->flags &= (uint8_t)~JZX__SOCKET_ASKING;
    bool is_anothers = (socket->flags & JZX__SOCKET_CLOSED) == 0 && socket->owner != to->id;
    if (!is_anothers || ask_to_list(socket, me, socket->owner) != JZX_OK)
        shut(socket, me, &done);
    jzx__socket_release(socket, me, &done);
}

const struct jzx__lane_ops jzx__lane_socket_ask = {.file = file, .bury = bury};

/* ---- fibers that wait ---- */

static struct jzx__socket_wait *of_link(const struct jzx__wait_link *link) {
    return JZX_CONTAINER_OF((struct jzx__wait_link *)(uintptr_t)link, struct jzx__socket_wait,
                            link);
}

/* Which one it is, of the three. */
static struct jzx__socket *of_source(struct jzx__source *source) {
    return JZX_CONTAINER_OF(source->lock, struct jzx__socket, lock);
}

static bool is_of(const struct jzx__socket *socket, const struct jzx__socket_wait *wait) {
    return jzx__socket_handle(socket) == wait->handle && socket->err == JZX_OK;
}

/* Under the lock. One that is closed or has failed lets the fiber look again. */
static enum jzx__cause_kind look(struct jzx__source *source, const struct jzx__wait_link *link) {
    struct jzx__socket *socket = of_source(source);
    if (!is_of(socket, of_link(link)))
        return JZX__CAUSE_CLOSED;
    bool is_there;
    if (source == &socket->line)
        is_there =
            jzx__list_is_empty(&source->waiting) && socket->ops->may_go(socket, of_link(link));
    else
        is_there = (socket->ready &
                    (source == &socket->readers ? JZX__READY_READ : JZX__READY_WRITE)) != 0;
    return is_there ? JZX__CAUSE_ITEM : JZX__CAUSE_NONE;
}

static bool take(struct jzx__source *source, struct jzx__wait_link *link, struct jzx__wake *wake) {
    struct jzx__socket *socket = of_source(source);
    (void)wake;
    if (source == &socket->line)
        socket->ops->grant(socket, of_link(link));
    return true;
}

/* The fiber was killed. */
static void abandon(struct jzx__source *source, struct jzx__wait_link *link,
                    struct jzx__worker *me) {
    struct jzx__socket *socket = of_source(source);
    struct jzx__done done = {.first = NULL};
    jzx__socket_lock(socket);
    if (is_of(socket, of_link(link)) && socket->ops->abandon != NULL)
        socket->ops->abandon(socket, of_link(link), me, &done);
    jzx__socket_release(socket, me, &done);
}

/* The fiber was killed after it was served. One that was closed meanwhile takes nothing back. */
static void give_back(struct jzx__source *source, struct jzx__wait_link *link,
                      struct jzx__worker *me) {
    struct jzx__socket *socket = of_source(source);
    struct jzx__done done = {.first = NULL};
    jzx__socket_lock(socket);
    if (jzx__source_take_back(&socket->reading, link))
        socket->ops->revoke(socket, of_link(link), me);
    jzx__socket_release(socket, me, &done);
}

static const struct jzx__source_ops source_ops = {.look = look, .take = take, .abandon = abandon};
static const struct jzx__source_ops reader_ops = {
    .look = look, .take = take, .give_back = give_back, .abandon = abandon, .serves = true};

jzx_err jzx__socket_await(jzx_context *ctx, struct jzx__socket_wait *wait,
                          struct jzx__source *source, uint64_t deadline_ns) {
    jzx_err err;
    const struct jzx__event event = {
        .kind = JZX_WAIT_IO, .object = wait->handle, .links = &wait->link, .count = 1};
    wait->link = (struct jzx__wait_link){.source = source};
    struct jzx__fiber *fiber = jzx__fiber_enter(ctx, "", &err);
    JZX_ASSERT(fiber != NULL); /* the caller has looked */
    err = jzx__cause_err(jzx__fiber_await(fiber, &event, deadline_ns));
    jzx__fiber_leave(fiber);
    return err == JZX_ERR_CLOSED ? JZX_OK : err;
}

bool jzx__socket_wake_one(struct jzx__source *source, struct jzx__worker *me) {
    struct jzx__wake wake;
    if (jzx__list_is_empty(&source->waiting) ||
        jzx__source_claim(source, JZX__CAUSE_ITEM, &wake) == NULL)
        return false;
    jzx__wake_make(&wake, me);
    return true;
}

void jzx__socket_wake_all(struct jzx__source *source, struct jzx__worker *me) {
    struct jzx__wake wake;
    while (!jzx__list_is_empty(&source->waiting) &&
           jzx__source_claim(source, JZX__CAUSE_CLOSED, &wake) != NULL)
        jzx__wake_make(&wake, me);
}

/* One whose time is over is taken out of the line, and the next is looked at (waiter/A6). */
bool jzx__socket_admit(struct jzx__socket *socket, struct jzx__worker *me) {
    struct jzx__wake wake;
    while (!jzx__list_is_empty(&socket->line.waiting)) {
        struct jzx__wait_link *link =
            JZX_CONTAINER_OF(socket->line.waiting.ring.next, struct jzx__wait_link, at_source);
        if (!socket->ops->may_go(socket, of_link(link)))
            return false;
        if (jzx__source_claim_first(&socket->line, JZX__CAUSE_ITEM, &wake) == NULL)
            continue;
        socket->ops->grant(socket, of_link(link));
        jzx__wake_make(&wake, me);
        return true;
    }
    return false;
}

/* ---- messages ---- */

bool jzx__socket_tell(struct jzx__socket *socket, struct jzx__worker *me,
                      struct jzx__message *message, enum jzx__lane lane) {
    struct jzx_loop *loop = socket->loop;
    struct jzx__actor *actor = jzx__table_lookup(&loop->table, socket->owner);
    message->node.generation = jzx_id_generation(socket->owner);
    message->node.weight = 0;
    message->node.lane = (uint8_t)lane;
    message->sender = JZX_NOBODY;
    if (actor != NULL && jzx__mailbox_deliver(loop, me, actor, message) == JZX_OK)
        return true;
    message->node.lane = JZX__LANE_USER;
    jzx__message_destroy(loop, me, message);
    return false;
}

/* ---- the end of an actor ---- */

/* It ends, and what it has is closed. */
static void close_sockets(struct jzx__worker *me, struct jzx__actor *actor) {
    struct jzx__list *sockets = &actor_io(actor)->sockets;
    while (!jzx__list_is_empty(sockets)) {
        struct jzx__socket *socket =
            JZX_CONTAINER_OF(sockets->ring.next, struct jzx__socket, at_owner);
        struct jzx__done done = {.first = NULL};
        jzx__socket_lock(socket);
        shut(socket, me, &done);
        unlist(socket, me, actor);
        jzx__socket_release(socket, me, &done);
    }
}

/* ---- the part of a loop ---- */

static bool open_net(struct jzx_loop *loop, const jzx_config *config) {
    (void)config;
    struct jzx__net *net = jzx__alloc(&loop->sched.allocator, sizeof *net);
    if (net == NULL)
        return false;
    memset(net, 0, sizeof *net);
    if (!jzx__net_open_loads(loop, net)) {
        jzx__free(&loop->sched.allocator, net, sizeof *net);
        return false;
    }
    jzx__lock_init(&net->lock);
    jzx__list_init(&net->free);
    loop->parts[JZX__PART_NET] = net;
    jzx__io_of(loop)->close_sockets = close_sockets;
    return true;
}

static void close_net(struct jzx_loop *loop) {
    struct jzx__net *net = jzx__net_of(loop);
    JZX_ASSERT(net->open_count == 0); /* they ended with their owners */
    /* relaxed: nobody else is left, as below */
    uint32_t minted = jzx__atomic_load_relaxed(&net->minted);
    for (uint32_t i = 0; i < minted; i++)
        jzx__lock_deinit(&record_at(net, i)->lock);
    for (uint32_t i = 0; i < JZX__SOCKET_CHUNK_COUNT; i++) {
        /* relaxed: as above */
        char *chunk = jzx__atomic_load_relaxed(&net->chunks[i]);
        if (chunk != NULL)
            jzx__free_aligned(&loop->sched.allocator, chunk, chunk_count(i) * JZX__SOCKET_SIZE,
                              JZX_CACHE_LINE);
    }
    jzx__lock_deinit(&net->lock);
    jzx__net_close_loads(loop, net);
    jzx__free(&loop->sched.allocator, net, sizeof *net);
    loop->parts[JZX__PART_NET] = NULL;
}

const struct jzx__part_ops jzx__part_net = {.open = open_net, .close = close_net};
