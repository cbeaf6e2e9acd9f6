/* SPDX-License-Identifier: MIT */
/* Records of parts, and how they come to an actor. */
#include "actor/part.h"

#include "actor/system.h"

#include <string.h>

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

/* ---- spares ---- */

struct jzx__cold *jzx__spare_create(struct jzx_loop *loop, struct jzx__worker *me,
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
    if (cold != NULL && (jzx__cold_parts(cold) & 1u << part) != 0)
        return true;
    *spare = jzx__spare_create(loop, me, part);
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
    jzx__spare_destroy(loop, me, part, spare);
}

void jzx__spare_destroy(struct jzx_loop *loop, struct jzx__worker *me, enum jzx__part part,
                        struct jzx__cold *spare) {
    if (spare == NULL)
        return;
    void *record = jzx__cold_part(spare, part);
    if (record != NULL)
        jzx__sched_free(&loop->sched, me, JZX__PART_CLASS, record);
    jzx__sched_free(&loop->sched, me, JZX__COLD_CLASS, spare);
}
