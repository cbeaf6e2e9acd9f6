/* SPDX-License-Identifier: MIT */
#include "typed/registry.h"

#include "actor/loop.h"
#include "base/alloc.h"
#include "base/sized.h"

#include <stdio.h>
#include <string.h>

static struct jzx__types *types_of(const struct jzx_loop *loop) {
    return loop->parts[JZX__PART_TYPED];
}

static struct jzx__list *bucket_of(struct jzx__types *types, jzx_actor_id id) {
    return &types->by_id[jzx_id_index(id) % JZX__TYPE_BUCKETS];
}

bool jzx__types_open(struct jzx_loop *loop, const jzx_config *config) {
    struct jzx__types *types = jzx__alloc(&config->allocator, sizeof *types);
    if (types == NULL)
        return false;
    jzx__lock_init(&types->lock);
    jzx__list_init(&types->known);
    for (size_t i = 0; i < JZX__TYPE_BUCKETS; i++)
        jzx__list_init(&types->by_id[i]);
    loop->parts[JZX__PART_TYPED] = types;
    return true;
}

void jzx__types_close(struct jzx_loop *loop) {
    struct jzx__types *types = types_of(loop);
    struct jzx__link *link;
    while ((link = jzx__list_pop_front(&types->known)) != NULL) {
        struct jzx__known_type *known = JZX_CONTAINER_OF(link, struct jzx__known_type, link);
        jzx__free(&loop->sched.allocator, known, sizeof *known);
    }
    jzx__lock_deinit(&types->lock);
    jzx__free(&loop->sched.allocator, types, sizeof *types);
}

/* ---- types ---- */

static struct jzx__known_type *known_of(struct jzx__link *link) {
    return JZX_CONTAINER_OF(link, struct jzx__known_type, link);
}

/* Under the lock. */
static struct jzx__known_type *find(struct jzx__types *types, const char *name) {
    struct jzx__link *ring = &types->known.ring;
    for (struct jzx__link *link = ring->next; link != ring; link = link->next) {
        if (known_of(link)->type->name == name || strcmp(known_of(link)->type->name, name) == 0)
            return known_of(link);
    }
    return NULL;
}

/* True if they are one block, perhaps in two files. */
static bool are_alike(const jzx_actor_type *a, const jzx_actor_type *b) {
    bool alike = a->state_size == b->state_size && a->message_count == b->message_count;
    for (uint32_t i = 0; a != b && alike && i < a->message_count; i++)
        alike = strcmp(a->messages[i].name, b->messages[i].name) == 0 &&
                a->messages[i].len == b->messages[i].len &&
                a->messages[i].answer_len == b->messages[i].answer_len;
    return alike;
}

/* Under the lock; NULL without memory. */
static struct jzx__known_type *create(struct jzx_loop *loop, struct jzx__types *types,
                                      const jzx_actor_type *type) {
    struct jzx__known_type *known = jzx__alloc(&loop->sched.allocator, sizeof *known);
    if (known == NULL)
        return NULL;
    memset(known, 0, sizeof *known);
    known->type = type;
    jzx__list_init(&known->instances);
    jzx__list_push_back(&types->known, &known->link);
    return known;
}

jzx_err jzx__types_know(struct jzx_loop *loop, const jzx_actor_type *type,
                        struct jzx__known_type **known) {
    struct jzx__types *types = types_of(loop);
    jzx_err err = JZX_OK;
    jzx__lock_acquire(&types->lock);
    *known = find(types, type->name);
    if (*known == NULL) {
        *known = create(loop, types, type);
        err = *known == NULL ? JZX_ERR_NO_MEMORY : JZX_OK;
    } else if (!are_alike((*known)->type, type)) {
        err = JZX_ERR_EXISTS;
    }
    jzx__lock_release(&types->lock);
    return err;
}

/* ---- instances ---- */

void jzx__types_add(void *record, jzx_actor_id id) {
    struct jzx__instance *instance = record;
    struct jzx__types *types = types_of(instance->loop);
    jzx__lock_acquire(&types->lock);
    instance->id = id;
    instance->known->alive++;
    instance->known->made++;
    jzx__list_push_back(&instance->known->instances, &instance->at_type);
    jzx__list_push_back(bucket_of(types, id), &instance->at_id);
    jzx__lock_release(&types->lock);
}

void jzx__types_remove(struct jzx_loop *loop, struct jzx__instance *instance) {
    if (instance->id == JZX_NOBODY)
        return;
    struct jzx__types *types = types_of(loop);
    jzx__lock_acquire(&types->lock);
    instance->known->alive--;
    jzx__list_remove(&instance->at_type);
    jzx__list_remove(&instance->at_id);
    jzx__lock_release(&types->lock);
}

/* ---- looking ---- */

static void fill(const struct jzx__known_type *known, jzx_type_info *info) {
    const jzx_type_info full = {
        .size = sizeof full, .type = known->type, .alive = known->alive, .made = known->made};
    jzx__write_sized(info, &full);
}

jzx_err jzx_type_info_get(jzx_loop *loop, const char *name, jzx_type_info *info) {
    struct jzx__visit visit;
    if (loop == NULL || name == NULL || !jzx__is_sized(info, sizeof *info))
        return JZX_ERR_INVALID_ARG;
    struct jzx__types *types = types_of(loop);
    (void)jzx__loop_visit(loop, &visit); /* S4 of seat.h, as below */
    jzx__lock_acquire(&types->lock);
    const struct jzx__known_type *known = find(types, name);
    if (known != NULL)
        fill(known, info);
    jzx__lock_release(&types->lock);
    jzx__visit_end(&visit);
    return known == NULL ? JZX_ERR_INVALID_ARG : JZX_OK;
}

jzx_err jzx_type_next(jzx_loop *loop, uint64_t *cursor, jzx_type_info *info) {
    struct jzx__visit visit;
    if (loop == NULL || cursor == NULL || !jzx__is_sized(info, sizeof *info))
        return JZX_ERR_INVALID_ARG;
    struct jzx__types *types = types_of(loop);
    (void)jzx__loop_visit(loop, &visit);
    jzx__lock_acquire(&types->lock);
    struct jzx__link *ring = &types->known.ring;
    struct jzx__link *link = ring->next;
    for (uint64_t i = 0; i < *cursor && link != ring; i++)
        link = link->next;
    bool is_there = link != ring;
    if (is_there)
        fill(known_of(link), info);
    jzx__lock_release(&types->lock);
    jzx__visit_end(&visit);
    *cursor += is_there;
    return is_there ? JZX_OK : JZX_ERR_INVALID_ARG;
}

const jzx_actor_type *jzx_type_of(jzx_loop *loop, jzx_actor_id id) {
    struct jzx__visit visit;
    const jzx_actor_type *type = NULL;
    if (loop == NULL || id == JZX_NOBODY)
        return NULL;
    struct jzx__types *types = types_of(loop);
    (void)jzx__loop_visit(loop, &visit);
    jzx__lock_acquire(&types->lock);
    struct jzx__link *ring = &bucket_of(types, id)->ring;
    for (struct jzx__link *link = ring->next; link != ring && type == NULL; link = link->next) {
        const struct jzx__instance *instance = JZX_CONTAINER_OF(link, struct jzx__instance, at_id);
        if (instance->id == id)
            type = instance->type;
    }
    jzx__lock_release(&types->lock);
    jzx__visit_end(&visit);
    return type;
}

size_t jzx_type_instances(jzx_loop *loop, const char *name, jzx_actor_id *ids, size_t max) {
    struct jzx__visit visit;
    size_t count = 0;
    if (loop == NULL || name == NULL || (ids == NULL && max != 0))
        return 0;
    struct jzx__types *types = types_of(loop);
    (void)jzx__loop_visit(loop, &visit);
    jzx__lock_acquire(&types->lock);
    struct jzx__known_type *known = find(types, name);
    struct jzx__link *ring = known == NULL ? NULL : &known->instances.ring;
    struct jzx__link *link = known == NULL ? NULL : ring->next;
    for (; link != ring && count < max; link = link->next)
        ids[count++] = JZX_CONTAINER_OF(link, struct jzx__instance, at_type)->id;
    size_t alive = known == NULL ? 0 : (size_t)known->alive;
    jzx__lock_release(&types->lock);
    jzx__visit_end(&visit);
    return alive;
}

/* ---- the dump ---- */

/* "inc 8, get 0 -> 8": as many as fit. */
static void describe_messages(const jzx_actor_type *type, char *text, size_t size) {
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < type->message_count && used < size; i++) {
        const jzx_message_type *message = &type->messages[i];
        int length = message->answer_len == 0
                         ? snprintf(text + used, size - used, "%s%s %zu", i == 0 ? "" : ", ",
                                    message->name, message->len)
                         : snprintf(text + used, size - used, "%s%s %zu -> %zu", i == 0 ? "" : ", ",
                                    message->name, message->len, message->answer_len);
        used += length < 0 ? 0 : (size_t)length;
    }
}

void jzx__types_print(struct jzx_loop *loop, jzx_dump_fn line, void *ctx) {
    jzx_type_info info = {.size = sizeof info};
    uint64_t cursor = 0;
    while (jzx_type_next(loop, &cursor, &info) == JZX_OK) { /* no lock while it prints */
        char messages[160];
        char text[256];
        snprintf(text, sizeof text, "type      %s: state %zu bytes, %llu alive, %llu made",
                 info.type->name, info.type->state_size, (unsigned long long)info.alive,
                 (unsigned long long)info.made);
        line(ctx, text);
        describe_messages(info.type, messages, sizeof messages);
        snprintf(text, sizeof text, "  handles %u messages: %s", info.type->message_count,
                 messages);
        line(ctx, text);
    }
}
