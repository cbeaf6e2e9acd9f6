/* SPDX-License-Identifier: MIT */
/* What a job delivers: the payload of the core's records. Its message is made with the job, so that
 * no delivery needs memory, and is used for every run: the core begins no run before the one under
 * way has ended (S2 of schedule/core/schedule.h).
 *
 * An item is the owner's until it is delivered, then the mailbox's and the handler's, and again the
 * owner's when its completion was accepted.
 *
 * A **wake** is a job of another part of the library: it has no message, and calls a function once,
 * when the job has ended in whatever way: at its tick, cancelled, dropped, or by a shutdown. It is
 * called when the lock is released (scheduler.h, Q1), inside the bracket; in a shutdown under the
 * lock. */
#ifndef JZX_SCHEDULE_ITEM_H
#define JZX_SCHEDULE_ITEM_H

#include "actor/message.h"
#include "schedule/scheduler.h"

/* me is this thread's worker of the loop, or NULL. */
typedef void jzx__wake_fn(void *ctx, struct jzx__worker *me);

struct jzx__schedule_item {
    struct jzx__scheduler *scheduler;
    struct jzx__message *body; /* NULL: its receiver has taken it */
    jzx_actor_id to;           /* of a message */
    jzx_job_fn fn;             /* NULL: it is a message or a wake */
    jzx__wake_fn *wake;        /* NULL: it is no wake */
    void *ctx;                 /* of the function or the wake */
    struct jzx__schedule_item *next_woken;
    struct jzx__link receiver; /* of a message, from its first delivery on; next NULL: none */
    struct jzx__cold *spare;   /* for a receiver without a cold record (part.h), or NULL */
    uint64_t metadata;
    jzx__job_id job; /* written at each delivery, as what follows */
    jzx_batch batch;
    jzx_err error;     /* of the function */
    uint16_t executor; /* of a function: its dispatcher */
    bool is_looked;    /* the turn has looked at the message */
    bool has_begun;    /* and its handler may have been called */
    bool is_running;   /* the function has been called, and has not returned */
};

#define JZX__ITEM_CLASS 1u
_Static_assert(sizeof(struct jzx__schedule_item) <= JZX__BLOCK_SIZE_MIN << JZX__ITEM_CLASS,
               "fits its class");

/* What is to be delivered. */
struct jzx__item_spec {
    jzx_actor_id to;
    jzx_actor_id from;
    const void *data;
    size_t len;
    uint32_t tag;
    jzx_job_fn fn;
    jzx__wake_fn *wake;
    void *ctx;
    uint64_t metadata;
};

/* NULL without memory. me is this thread's worker of the loop, or NULL. */
struct jzx__schedule_item *jzx__item_create(struct jzx__scheduler *scheduler,
                                            struct jzx__worker *me,
                                            const struct jzx__item_spec *spec);
void jzx__item_destroy(struct jzx__schedule_item *item, struct jzx__worker *me);

/* The item of a message, or NULL if that is no job's. */
struct jzx__schedule_item *jzx__item_of(struct jzx__message *message);

/* Owner. Takes the wakes whose jobs have ended. */
struct jzx__schedule_item *jzx__items_take_woken(struct jzx__scheduler *scheduler);

/* Calls them, and frees their items. */
void jzx__items_ring(struct jzx__schedule_item *woken, struct jzx__worker *me);

/* The operations of the core (schedule/core/schedule.h). */
enum jzx__delivery jzx__item_deliver(void *ctx, const struct jzx__delivery_order *order);
int32_t jzx__item_run_inline(void *ctx, const struct jzx__delivery_order *order);
void jzx__item_release(void *ctx, void *payload, enum jzx__job_state end);

#endif
