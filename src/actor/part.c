/* SPDX-License-Identifier: MIT */
/* The cold record of an actor, the records of parts, and how they come to it. */
#include "actor/part.h"

#include "actor/loop.h"

#include "jzx/actor.h"

#include <string.h>

/* ---- the cold record of an actor ---- */

struct jzx__cold *jzx__cold_create(struct jzx_loop *loop, struct jzx__worker *me) {
    struct jzx__cold *cold = jzx__sched_alloc(&loop->sched, me, JZX__COLD_CLASS);
    if (cold != NULL) {
        memset(cold, 0, offsetof(struct jzx__cold, part_bits));
        /* relaxed, all: nobody has it yet; who reads it late compares generations */
        jzx__atomic_store_relaxed(&cold->part_bits, 0u);
        jzx__atomic_store_relaxed(&cold->bound, 0u);
        jzx__atomic_store_relaxed(&cold->wait_kind, (uint32_t)JZX_WAIT_NONE);
        /* relaxed: as above, both */
        jzx__atomic_store_relaxed(&cold->in_hand, 0u);
        jzx__atomic_store_relaxed(&cold->open_ref, (uint64_t)0);
        jzx__name_write(cold, "");
        cold->stash_cap = JZX_DEFAULT_STASH_CAP;
    }
    return cold;
}

void jzx__cold_destroy(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__cold *cold) {
    if (cold == NULL)
        return;
    for (uint32_t left = jzx__cold_parts(cold); left != 0; left &= left - 1)
        jzx__sched_free(&loop->sched, me, JZX__PART_CLASS, cold->parts[__builtin_ctz(left)]);
    jzx__sched_free(&loop->sched, me, JZX__COLD_CLASS, cold);
}

struct jzx__cold *jzx__cold_ensure(struct jzx_loop *loop, struct jzx__worker *me,
                                   struct jzx__actor *actor) {
    struct jzx__cold *cold = jzx__actor_cold(actor);
    if (JZX_LIKELY(cold != NULL))
        return cold;
    cold = jzx__cold_create(loop, me);
    if (cold != NULL && !jzx__actor_give_cold(actor, cold))
        jzx__sched_free(&loop->sched, me, JZX__COLD_CLASS, cold);
    return jzx__actor_cold(actor);
}

/* ---- records of parts ---- */

static void *create(struct jzx_loop *loop, struct jzx__worker *me, enum jzx__part part) {
    void *record = jzx__sched_alloc(&loop->sched, me, JZX__PART_CLASS);
    if (record == NULL)
        return NULL;
    memset(record, 0, jzx__slab_class_size(JZX__PART_CLASS));
    if (loop->part_ops[part]->init != NULL)
        loop->part_ops[part]->init(record);
    return record;
}

void *jzx__part_ensure(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__cold *cold,
                       enum jzx__part part) {
    void *record = jzx__cold_part(cold, part);
    if (JZX_LIKELY(record != NULL))
        return record;
    record = create(loop, me, part);
    if (record != NULL)
        jzx__cold_set_part(cold, part, record);
    return record;
}

/* ---- the parts of a loop ---- */

static void close_first(struct jzx_loop *loop, uint32_t count) {
    while (count-- != 0) {
        if (loop->part_ops[count]->close != NULL)
            loop->part_ops[count]->close(loop);
    }
}

bool jzx__parts_open(struct jzx_loop *loop, const jzx_config *config) {
    for (uint32_t i = 0; i < JZX__PART_COUNT; i++) {
        if (loop->part_ops[i]->open != NULL && !loop->part_ops[i]->open(loop, config)) {
            close_first(loop, i);
            return false;
        }
    }
    return true;
}

/* In reverse, as they are closed: files stop what waits in the pools, and these wait for it. */
void jzx__parts_halt(struct jzx_loop *loop, struct jzx__worker *me) {
    for (uint32_t i = JZX__PART_COUNT; i-- > 0;) {
        if (loop->part_ops[i]->halt != NULL)
            loop->part_ops[i]->halt(loop, me);
    }
}

void jzx__parts_close(struct jzx_loop *loop) {
    close_first(loop, JZX__PART_COUNT);
}

/* ---- spares ---- */

static struct jzx__cold *create_spare(struct jzx_loop *loop, struct jzx__worker *me,
                                      enum jzx__part part) {
    struct jzx__cold *spare = jzx__cold_create(loop, me);
    if (spare == NULL)
        return NULL;
    if (jzx__part_ensure(loop, me, spare, part) == NULL) {
        jzx__sched_free(&loop->sched, me, JZX__COLD_CLASS, spare);
        return NULL;
    }
    return spare;
}

/* The target may end meanwhile, and its record be another's: then the message finds another
 * generation. A record that is there stays for the life (part/A1). */
bool jzx__spare_prepare(struct jzx_loop *loop, struct jzx__worker *me,
                        const struct jzx__actor *target, enum jzx__part part,
                        struct jzx__cold **spare) {
    const struct jzx__cold *cold = jzx__actor_cold(target);
    *spare = NULL;
    /* relaxed: a hint, see above */
    if (cold != NULL && (jzx__atomic_load_relaxed(&cold->part_bits) & 1u << part) != 0)
        return true;
    *spare = create_spare(loop, me, part);
    return *spare != NULL;
}

bool jzx__spare_give_cold(struct jzx__actor *actor, struct jzx__cold *spare) {
    return spare != NULL && jzx__actor_cold(actor) == NULL && jzx__actor_give_cold(actor, spare);
}

void jzx__spare_use(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__cold *cold,
                    enum jzx__part part, struct jzx__cold *spare) {
    if (spare != NULL && jzx__cold_part(cold, part) == NULL) {
        jzx__cold_set_part(cold, part, jzx__cold_part(spare, part));
        jzx__cold_set_part(spare, part, NULL);
    }
    jzx__cold_destroy(loop, me, spare);
}
