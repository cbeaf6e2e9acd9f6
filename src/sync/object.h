/* SPDX-License-Identifier: MIT */
/* What the objects of jzx/sync.h have in common: a head that tells whether it is one, and who calls
 * and who waits.
 *
 * The memory is the program's and may be used after the loop was destroyed, so that the last ones
 * can be deinited: what is needed of the loop is copied, and its address is only compared. */
#ifndef JZX_SYNC_OBJECT_H
#define JZX_SYNC_OBJECT_H

#include "actor/own.h"
#include "base/clock.h"
#include "fiber/fiber.h"
#include "sched/waiter.h"

#include "jzx/sync.h"

/* Of which type an object is: part of its mark. */
enum jzx__object_type {
    JZX__SYNC_MUTEX = 1,
    JZX__SYNC_SEMAPHORE,
    JZX__SYNC_RWLOCK,
    JZX__SYNC_CHANNEL,
    JZX__SYNC_GATE,
    JZX__SYNC_WAIT_GROUP,
    JZX__SYNC_BARRIER,
    JZX__SYNC_ONCE,
    JZX__SYNC_BROADCAST
};

/* The first member of every object. Written by init and deinit, which the program does not call
 * while others use the object. */
struct jzx__object {
    uint64_t mark; /* its address and its type, so that a copy is none */
    struct jzx_loop *loop;
    struct jzx__clock clock;
};

/* An object of that type, or NULL: the storage was not inited as one. */
static inline void *jzx__object_of(const void *storage, enum jzx__object_type type) {
    uint64_t mark = 0;
    if (storage != NULL)
        mark = ((const struct jzx__object *)storage)->mark ^ (uint64_t)(uintptr_t)storage;
    return mark == 0x6A7A7853796E6300u + (uint64_t)type ? (void *)(uintptr_t)storage : NULL;
}

/* JZX_ERR_INVALID_ARG (NULL), JZX_ERR_BUSY (it is an object already). */
jzx_err jzx__object_init(struct jzx__object *object, struct jzx_loop *loop,
                         enum jzx__object_type type);

/* It is none from now on. */
void jzx__object_deinit(struct jzx__object *object);

/* ---- who calls ---- */

/* Who has a lock. */
struct jzx__owner {
    jzx_actor_id actor; /* JZX_NOBODY: */
    uintptr_t thread;   /* a thread, by the address of something that only it has */
};

static inline struct jzx__owner jzx__owner_actor(jzx_actor_id id) {
    return (struct jzx__owner){.actor = id};
}

static inline struct jzx__owner jzx__owner_thread(void) {
    return (struct jzx__owner){.thread = (uintptr_t)&jzx__seat_of_thread};
}

static inline bool jzx__owner_is(struct jzx__owner a, struct jzx__owner b) {
    return a.actor == b.actor && a.thread == b.thread;
}

/* A call that does not wait, in a visit (S4 of seat.h). */
struct jzx__caller {
    struct jzx__visit visit;
    struct jzx__worker *me;   /* the thread's, if it is one of the object's loop, else NULL */
    struct jzx__actor *actor; /* NULL: the thread itself */
    struct jzx__owner owner;
};

/* JZX_ERR_INVALID_ARG: the context is not that of a turn or a cleanup that runs on this thread, or
 * is another loop's; nothing is to be ended then. ctx may be NULL: the thread. */
JZX_INLINE jzx_err jzx__caller_begin(struct jzx__caller *caller, const struct jzx__object *object,
                                     const jzx_context *ctx) {
    caller->actor = NULL;
    caller->owner = jzx__owner_thread();
    if (ctx != NULL) {
        caller->actor = jzx__own_turn(ctx);
        if (caller->actor == NULL)
            caller->actor = jzx__own_cleanup(ctx);
        if (caller->actor == NULL || ctx->loop != object->loop)
            return JZX_ERR_INVALID_ARG;
        caller->owner = jzx__owner_actor(ctx->self);
    }
    caller->me = jzx__loop_visit(object->loop, &caller->visit);
    return JZX_OK;
}

/* The same for calls that need no owner. */
static inline void jzx__caller_begin_any(struct jzx__caller *caller,
                                         const struct jzx__object *object) {
    caller->me = jzx__loop_visit(object->loop, &caller->visit);
    caller->actor = NULL;
    caller->owner = (struct jzx__owner){.actor = JZX_NOBODY};
}

static inline void jzx__caller_end(struct jzx__caller *caller) {
    jzx__visit_end(&caller->visit);
}

/* ---- who waits ---- */

/* A fiber or a thread in a call that may wait. */
struct jzx__party {
    struct jzx__fiber *fiber; /* NULL: a thread */
    const struct jzx__clock *clock;
    struct jzx__worker *me; /* of a fiber that has not lost it, else NULL. Changes in a wait */
    struct jzx__owner owner;
};

/* call: its public name. JZX_ERR_WOULD_SUSPEND: this is no fiber's own code, or a worker's thread,
 * and config.on_wait says no more. JZX_ERR_INVALID_ARG: the fiber is another loop's, or ctx is
 * NULL. Nothing is to be ended then. The object of a fiber may be NULL: any loop's will do. */
JZX_INLINE jzx_err jzx__party_begin_fiber(struct jzx__party *party,
                                          const struct jzx__object *object, jzx_context *ctx,
                                          const char *call) {
    jzx_err err;
    party->fiber = jzx__fiber_enter(ctx, call, &err);
    if (party->fiber == NULL)
        return err;
    const jzx_context *own = &party->fiber->turn.ctx;
    if (object != NULL && own->loop != object->loop) {
        jzx__fiber_leave(party->fiber);
        return JZX_ERR_INVALID_ARG;
    }
    party->clock = NULL;
    party->me = jzx__fiber_worker(party->fiber);
    party->owner = jzx__owner_actor(own->self);
    return JZX_OK;
}

jzx_err jzx__party_begin_thread(struct jzx__party *party, const struct jzx__object *object,
                                const char *call);

static inline void jzx__party_end(struct jzx__party *party) {
    if (party->fiber != NULL)
        jzx__fiber_leave(party->fiber);
}

/* True if it may take what it wants at once, if that is there. */
static inline bool jzx__party_goes_on(struct jzx__party *party) {
    return party->fiber == NULL || jzx__fiber_goes_on(party->fiber);
}

/* Waits at the sources of the event; the cause. The party has references of their objects, which it
 * drops when it has taken what it waited for. If it ends in the wait they are dropped for it
 * (waiter/A11). */
uint32_t jzx__party_await(struct jzx__party *party, const struct jzx__event *event,
                          uint64_t deadline_ns);

#endif
