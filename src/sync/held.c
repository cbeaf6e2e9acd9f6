/* SPDX-License-Identifier: MIT */
/* The part of actors that have locks. */
#include "sync/held.h"

#include "actor/loop.h"

#include <inttypes.h>
#include <stdio.h>

_Static_assert(sizeof(struct jzx__held) <= JZX__BLOCK_SIZE_MIN, "fits JZX__PART_CLASS");
_Static_assert(sizeof(struct jzx__helds) <= JZX__BLOCK_SIZE_MIN, "fits JZX__PART_CLASS");

struct jzx__helds *jzx__helds_ensure(struct jzx_loop *loop, struct jzx__worker *me,
                                     struct jzx__actor *actor) {
    struct jzx__cold *cold = jzx__cold_ensure(loop, me, actor);
    return cold == NULL ? NULL : jzx__part_ensure(loop, me, cold, JZX__PART_SYNC);
}

struct jzx__held *jzx__helds_find(const struct jzx__helds *helds, const void *object) {
    if (helds == NULL)
        return NULL;
    const struct jzx__link *end = &helds->list.ring;
    for (struct jzx__link *link = end->next; link != end; link = link->next) {
        struct jzx__held *held = JZX_CONTAINER_OF(link, struct jzx__held, link);
        if (held->object == object)
            return held;
    }
    return NULL;
}

/* ---- blocks ---- */

bool jzx__helds_stock(struct jzx__helds *helds, struct jzx_loop *loop, struct jzx__worker *me) {
    if (helds->spare == NULL)
        helds->spare = jzx__sched_alloc(&loop->sched, me, JZX__PART_CLASS);
    return helds->spare != NULL;
}

void jzx__helds_add_block(struct jzx__helds *helds, const struct jzx__held_ops *ops, void *object,
                          uint32_t count) {
    struct jzx__held *held = helds->spare;
    helds->spare = NULL;
    jzx__helds_adopt_block(helds, ops, held, object, count);
}

struct jzx__held *jzx__held_make_block(struct jzx_loop *loop, struct jzx__worker *me) {
    return jzx__sched_alloc(&loop->sched, me, JZX__PART_CLASS);
}

void jzx__helds_adopt_block(struct jzx__helds *helds, const struct jzx__held_ops *ops,
                            struct jzx__held *block, void *object, uint32_t count) {
    *block = (struct jzx__held){.ops = ops, .object = object, .count = count};
    jzx__helds_add(helds, block);
}

void jzx__helds_remove_block(struct jzx__helds *helds, struct jzx__held *held,
                             struct jzx_loop *loop, struct jzx__worker *me) {
    jzx__list_remove(&held->link);
    if (helds->spare == NULL)
        helds->spare = held;
    else
        jzx__sched_free(&loop->sched, me, JZX__PART_CLASS, held);
}

void jzx__held_free_block(struct jzx__held *held, struct jzx__worker *me) {
    jzx__sched_free(me->sched, me, JZX__PART_CLASS, held);
}

/* ---- the part ---- */

static void init(void *record) {
    struct jzx__helds *helds = record;
    jzx__list_init(&helds->list);
}

static void tell_one(struct jzx_loop *loop, const struct jzx__cold *cold,
                     const struct jzx__ending *ending, const struct jzx__held *held) {
    const char *name = cold->name[0] == '\0' ? NULL : cold->name;
    char detail[64];
    snprintf(detail, sizeof detail, "%s at %p", held->ops->what, held->object);
    jzx__log(&loop->sched.log, JZX_LOG_WARN, "actor %u.%u%s%s ended with %s",
             jzx_id_index(ending->id), jzx_id_generation(ending->id), name != NULL ? " " : "",
             name != NULL ? name : "", detail);
    jzx_event event = {.kind = JZX_EVENT_OWNER_DIED,
                       .actor = ending->id,
                       .name = name,
                       .reason = ending->reason,
                       .detail = detail,
                       .count = held->count};
    jzx__loop_emit(loop, &event);
}

/* After its cleanup, which may have released some: the rest goes to others. */
static void tell(struct jzx__worker *me, struct jzx__cold *cold, struct jzx__ending *ending) {
    struct jzx__helds *helds = jzx__cold_part(cold, JZX__PART_SYNC);
    struct jzx__link *link;
    while ((link = jzx__list_pop_front(&helds->list)) != NULL) {
        struct jzx__held *held = JZX_CONTAINER_OF(link, struct jzx__held, link);
        tell_one(jzx__loop_of(me), cold, ending, held);
        held->ops->died(held, me);
    }
}

static void release(struct jzx_loop *loop, struct jzx__worker *me, void *record) {
    struct jzx__helds *helds = record;
    if (helds->spare != NULL)
        jzx__sched_free(&loop->sched, me, JZX__PART_CLASS, helds->spare);
    jzx__sched_free(&loop->sched, me, JZX__PART_CLASS, helds);
}

static size_t size_bytes(const void *record) {
    const struct jzx__helds *helds = record;
    size_t class_size = jzx__slab_class_size(JZX__PART_CLASS);
    return helds->spare != NULL ? 2 * class_size : class_size;
}

const struct jzx__part_ops jzx__part_sync = {
    .init = init, .tell = tell, .release = release, .size_bytes = size_bytes};
