/* SPDX-License-Identifier: MIT */
/* Making and ending the instances of types. */
#include "typed/typed.h"

#include "actor/own.h"
#include "actor/spawn.h"
#include "base/alloc.h"
#include "base/sized.h"
#include "typed/registry.h"

#include "jzx/io.h"

#include <string.h>

/* ---- what a type and a source must be ---- */

static bool type_is_valid(const jzx_actor_type *type) {
    return type->size == sizeof *type && type->name != NULL && type->name[0] != '\0' &&
           strnlen(type->name, JZX_NAME_MAX + 1) <= JZX_NAME_MAX && type->receive != NULL &&
           type->state_size <= JZX_TYPE_STATE_MAX && type->messages != NULL &&
           type->message_count <= JZX_TYPE_MESSAGES_MAX;
}

/* The message of the type that has this tag; NULL: none. */
static const jzx_message_type *message_of(const jzx_actor_type *type, uint32_t tag) {
    uint32_t index = tag - jzx_type_base(type->name, strlen(type->name));
    return index < type->message_count ? &type->messages[index] : NULL;
}

static bool source_is_valid(const jzx_actor_type *type, const jzx_source *source) {
    const jzx_message_type *message = message_of(type, source->tag);
    if (message == NULL)
        return false;
    switch (source->kind) {
    case JZX_SOURCE_FD: return message->len == sizeof(jzx_io_event);
    case JZX_SOURCE_SIGNAL: return message->len == sizeof(jzx_signal_event);
    case JZX_SOURCE_TIMER:
        return message->len == 0 && source->period_ns != 0 &&
               (unsigned)source->repeat <= JZX_FIXED_DELAY;
    }
    return false;
}

/* ---- spawning ---- */

static struct jzx__instance *instance_of(const jzx_context *ctx) {
    const struct jzx__actor *actor = jzx__own_turn(ctx);
    return actor == NULL ? NULL : jzx__actor_part(actor, JZX__PART_TYPED);
}

/* The first turn of an actor that is bound to a source. */
static jzx_err start_bound(jzx_context *ctx) {
    const struct jzx__instance *instance = instance_of(ctx);
    const jzx_source *source = &instance->source;
    jzx_err err = JZX_OK;
    switch (source->kind) {
    case JZX_SOURCE_FD:
        err = jzx_watch_fd(ctx->loop, source->number, ctx->self, source->interest, source->tag);
        break;
    case JZX_SOURCE_SIGNAL: err = jzx_signal_to(ctx, source->number, source->tag); break;
    case JZX_SOURCE_TIMER:
        err = jzx_send_every(ctx->loop, ctx->self, ctx->self, NULL, 0, source->tag,
                             source->period_ns, source->repeat, NULL);
        break;
    }
    return err != JZX_OK || instance->init == NULL ? err : instance->init(ctx);
}

static struct jzx__instance *create(struct jzx_loop *loop, const jzx_actor_type *type,
                                    const void *state) {
    size_t size = sizeof(struct jzx__instance) + type->state_size;
    struct jzx__instance *instance =
        jzx__alloc_aligned(&loop->sched.allocator, size, _Alignof(struct jzx__instance));
    if (instance == NULL)
        return NULL;
    memset(instance, 0, size);
    instance->type = type;
    instance->loop = loop;
    if (state != NULL)
        memcpy(instance->state, state, type->state_size);
    else if (type->construct != NULL)
        type->construct(instance->state);
    return instance;
}

static void release(struct jzx_loop *loop, struct jzx__worker *me, void *record) {
    struct jzx__instance *instance = record;
    size_t size = sizeof *instance + instance->type->state_size;
    (void)me;
    jzx__types_remove(loop, instance);
    jzx__free_aligned(&loop->sched.allocator, instance, size, _Alignof(struct jzx__instance));
}

static jzx_err outfit(struct jzx_loop *loop, jzx_spawn_opts *opts, const jzx_source *source,
                      void **record) {
    const jzx_actor_type *type = opts->type;
    struct jzx__known_type *known;
    if (!type_is_valid(type) || (opts->init != NULL && type->init != NULL) ||
        (opts->cleanup != NULL && type->cleanup != NULL))
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__types_know(loop, type, &known);
    if (err != JZX_OK)
        return err;
    struct jzx__instance *instance = create(loop, type, opts->state);
    if (instance == NULL)
        return JZX_ERR_NO_MEMORY;
    instance->known = known;
    opts->behavior = type->receive;
    opts->state = instance->state;
    if (opts->name == NULL)
        opts->name = type->name;
    if (opts->init == NULL)
        opts->init = type->init;
    if (opts->cleanup == NULL)
        opts->cleanup = type->cleanup;
    if (opts->priority == JZX_PRIORITY_DEFAULT)
        opts->priority = JZX_PRIORITY_HIGH;
    if (source != NULL) {
        instance->source = *source;
        instance->init = opts->init;
        opts->init = start_bound;
    }
    *record = instance;
    return JZX_OK;
}

static size_t size_bytes(const void *record) {
    const struct jzx__instance *instance = record;
    return sizeof *instance + instance->type->state_size;
}

const struct jzx__part_ops jzx__part_typed = {
    .open = jzx__types_open,
    .close = jzx__types_close,
    .outfit = outfit,
    .settle = jzx__types_add,
    .release = release,
    .size_bytes = size_bytes,
};

jzx_err jzx_type_register(jzx_loop *loop, const jzx_actor_type *type) {
    struct jzx__known_type *known;
    struct jzx__visit visit;
    if (loop == NULL || type == NULL || !type_is_valid(type))
        return JZX_ERR_INVALID_ARG;
    (void)jzx__loop_visit(loop, &visit);
    jzx_err err = jzx__types_know(loop, type, &known);
    jzx__visit_end(&visit);
    return err;
}

jzx_err jzx_spawn_on(jzx_loop *loop, const jzx_spawn_opts *opts, const jzx_source *source,
                     jzx_actor_id *id) {
    jzx_spawn_opts full;
    jzx_source bound;
    struct jzx__visit visit;
    if (loop == NULL || !jzx__read_sized(&full, sizeof full, opts) || full.type == NULL ||
        !jzx__read_sized(&bound, sizeof bound, source) || !type_is_valid(full.type) ||
        !source_is_valid(full.type, &bound))
        return JZX_ERR_INVALID_ARG;
    const struct jzx__bonds bonds = {.source = &bound};
    struct jzx__worker *me = jzx__loop_visit(loop, &visit);
    jzx_err err = jzx__spawn_bound(loop, me, &full, &bonds, id);
    jzx__visit_end(&visit);
    return err;
}

/* For other languages: the inline functions of the header as symbols. */
extern inline uint32_t jzx_type_base(const char *name, size_t length);
extern inline jzx_behavior_result jzx_type_dispatch(jzx_context *ctx, const jzx_message *msg,
                                                    const jzx_actor_type *type,
                                                    const jzx_message_type *messages, uint32_t base,
                                                    uint32_t count);
