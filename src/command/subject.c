/* SPDX-License-Identifier: MIT */
/* The registry, and the memory of subjects. */
#include "command/subject.h"

#include "base/alloc.h"
#include "base/sized.h"

#include <string.h>

#define REGISTRY_FIRST 16u

/* ---- the registry ---- */

static size_t home_of(const struct jzx__roster *registry, jzx_processor_handle handle) {
    uint64_t hash = handle * 0x9E3779B97F4A7C15u;
    return (size_t)(hash >> 32) & (registry->size - 1);
}

/* Where it is, or where it would be. */
static size_t slot_of(const struct jzx__roster *registry, jzx_processor_handle handle) {
    size_t slot = home_of(registry, handle);
    while (registry->slots[slot] != NULL && registry->slots[slot]->handle != handle)
        slot = (slot + 1) & (registry->size - 1);
    return slot;
}

struct jzx__subject *jzx__roster_find(const struct jzx__roster *registry,
                                      jzx_processor_handle handle) {
    return registry->size == 0 ? NULL : registry->slots[slot_of(registry, handle)];
}

bool jzx__roster_reserve(struct jzx__roster *registry, const jzx_allocator *allocator) {
    if ((registry->count + 1) * 2 <= registry->size)
        return true;
    struct jzx__roster larger = {.size = registry->size == 0 ? REGISTRY_FIRST : registry->size * 2};
    larger.slots = jzx__alloc(allocator, larger.size * sizeof(struct jzx__subject *));
    if (larger.slots == NULL)
        return false;
    memset(larger.slots, 0, larger.size * sizeof(struct jzx__subject *));
    for (size_t i = 0; i < registry->size; i++) {
        if (registry->slots[i] != NULL)
            jzx__roster_add(&larger, registry->slots[i]);
    }
    jzx__roster_deinit(registry, allocator);
    *registry = larger;
    return true;
}

void jzx__roster_add(struct jzx__roster *registry, struct jzx__subject *subject) {
    registry->slots[slot_of(registry, subject->handle)] = subject;
    registry->count++;
}

void jzx__roster_remove(struct jzx__roster *registry, jzx_processor_handle handle) {
    size_t hole = slot_of(registry, handle);
    const size_t mask = registry->size - 1;
    registry->slots[hole] = NULL;
    registry->count--;
    /* Those behind it that could not be at their home move up, so that no search ends early. */
    for (size_t i = (hole + 1) & mask; registry->slots[i] != NULL; i = (i + 1) & mask) {
        size_t home = home_of(registry, registry->slots[i]->handle);
        if (((i - home) & mask) < ((i - hole) & mask))
            continue;
        registry->slots[hole] = registry->slots[i];
        registry->slots[i] = NULL;
        hole = i;
    }
}

void jzx__roster_deinit(struct jzx__roster *registry, const jzx_allocator *allocator) {
    if (registry->slots != NULL)
        jzx__free(allocator, registry->slots, registry->size * sizeof(struct jzx__subject *));
    *registry = (struct jzx__roster){.slots = NULL};
}

/* ---- what a subject consists of ---- */

bool jzx__factory_read(const jzx_actor_factory *factory, jzx_actor_factory *full) {
    return jzx__read_sized(full, sizeof *full, factory) && full->type != NULL &&
           full->type[0] != '\0' && strlen(full->type) <= JZX_NAME_MAX &&
           (full->handle != NULL) != (full->run != NULL) && full->state_size <= SIZE_MAX / 2;
}

static void inbox_free(struct jzx_processor *processor, struct jzx_inbox *inbox) {
    struct jzx__parcel *parcel;
    if (inbox == NULL)
        return;
    while (jzx_channel_try_receive(&inbox->messages, &parcel) == JZX_OK)
        jzx__free(&processor->allocator, parcel, parcel->size);
    if (inbox->current != NULL)
        jzx__free(&processor->allocator, inbox->current, inbox->current->size);
    jzx_err err = jzx_channel_deinit(&inbox->messages);
    JZX_ASSERT(err == JZX_OK); /* its fiber has ended, or never began */
    jzx__roll_clear(&inbox->roll, &processor->allocator);
    jzx__roll_clear(&inbox->end.roll, &processor->allocator);
    jzx__free(&processor->allocator, inbox, sizeof *inbox);
}

static struct jzx_inbox *inbox_make(struct jzx_processor *processor, struct jzx__subject *subject) {
    struct jzx_inbox *inbox = jzx__alloc(&processor->allocator, sizeof *inbox);
    const jzx_action end = {
        .kind = JZX_ACTION_KILL, .source = subject->handle, .target = subject->handle};
    if (inbox == NULL)
        return NULL;
    *inbox = (struct jzx_inbox){
        .processor = processor,
        .subject = subject,
        .end = {.source = subject->handle,
                .inbox = inbox,
                .generation = JZX__GENERATION_ANY,
                .is_embedded = true},
        .fiber = JZX_NOBODY,
    };
    inbox->out = (struct jzx_actions){
        .processor = processor, .self = subject, .roll = &inbox->roll, .passes = &inbox->roll};
    if (jzx_channel_init(processor->loop, &inbox->messages, JZX_UNBOUNDED,
                         sizeof(struct jzx__parcel *)) != JZX_OK ||
        jzx__roll_add(&inbox->end.roll, &processor->allocator, &end, JZX__CHUNK_EXACT) == NULL) {
        inbox_free(processor, inbox);
        return NULL;
    }
    return inbox;
}

/* The state, or a pointer to nothing for one without. */
static void *state_make(struct jzx_processor *processor, const jzx_actor_factory *full) {
    size_t size = full->state_size == 0 ? 1 : full->state_size;
    void *state = jzx__alloc(&processor->allocator, size);
    if (state != NULL)
        memset(state, 0, size);
    return state;
}

static void state_free(struct jzx_processor *processor, const jzx_actor_factory *full,
                       void *state) {
    if (state != NULL)
        jzx__free(&processor->allocator, state, full->state_size == 0 ? 1 : full->state_size);
}

/* State and inbox, as its factory wants them. False without memory: then it has neither. */
static bool equip(struct jzx_processor *processor, struct jzx__subject *subject) {
    subject->state = state_make(processor, &subject->made_of);
    if (subject->made_of.run != NULL)
        subject->inbox = inbox_make(processor, subject);
    if (subject->state != NULL && (subject->made_of.run == NULL || subject->inbox != NULL))
        return true;
    state_free(processor, &subject->made_of, subject->state);
    inbox_free(processor, subject->inbox);
    subject->state = NULL;
    subject->inbox = NULL;
    return false;
}

static void subject_free(struct jzx_processor *processor, struct jzx__subject *subject) {
    if (subject->is_made && subject->made_of.destroy != NULL)
        subject->made_of.destroy(jzx__subject_state(subject));
    state_free(processor, &subject->made_of, subject->state);
    inbox_free(processor, subject->inbox);
    jzx__free(&processor->allocator, subject, sizeof *subject + subject->config_len);
}

jzx_err jzx__subject_reserve(struct jzx_processor *processor, const struct jzx__subject_spec *spec,
                             jzx_processor_handle handle, struct jzx__subject **subject) {
    jzx_actor_factory full;
    if (!jzx__factory_read(spec->factory, &full) || spec->config_len > JZX_MSG_LEN_MAX ||
        (spec->config == NULL && spec->config_len != 0))
        return JZX_ERR_INVALID_ARG;
    if (!jzx__roster_reserve(&processor->registry, &processor->allocator))
        return JZX_ERR_NO_MEMORY;
    struct jzx__subject *made = jzx__alloc(&processor->allocator, sizeof *made + spec->config_len);
    if (made == NULL)
        return JZX_ERR_NO_MEMORY;
    *made = (struct jzx__subject){.handle = handle,
                                  .parent = spec->parent,
                                  .kind = JZX_REGISTERED_RESERVED,
                                  .is_internal = spec->is_internal,
                                  .references = 1,
                                  .factory = spec->factory,
                                  .made_of = full,
                                  .config_len = spec->config_len};
    if (spec->config_len != 0)
        memcpy(made->config, spec->config, spec->config_len);
    if (!equip(processor, made)) {
        jzx__free(&processor->allocator, made, sizeof *made + spec->config_len);
        return JZX_ERR_NO_MEMORY;
    }
    jzx__roster_add(&processor->registry, made);
    processor->reservations++;
    *subject = made;
    return JZX_OK;
}

jzx_err jzx__subject_replace(struct jzx_processor *processor, struct jzx__subject *subject,
                             const jzx_actor_factory *factory) {
    struct jzx__subject other = *subject; /* for what equip reads and writes; it has no config */
    if (!jzx__factory_read(factory, &other.made_of))
        return JZX_ERR_INVALID_ARG;
    other.inbox = NULL;
    if (!equip(processor, &other))
        return JZX_ERR_NO_MEMORY;
    state_free(processor, &subject->made_of, subject->state);
    inbox_free(processor, subject->inbox);
    subject->factory = factory;
    subject->made_of = other.made_of;
    subject->state = other.state;
    subject->inbox = other.inbox;
    if (subject->inbox != NULL) {
        subject->inbox->subject = subject;
        subject->inbox->out.self = subject;
    }
    return JZX_OK;
}

void jzx__subject_release(struct jzx_processor *processor, struct jzx__subject *subject) {
    struct jzx__visit visit;
    jzx__processor_lock(processor, &visit);
    bool is_last = --subject->references == 0;
    jzx__processor_unlock(processor, &visit);
    if (is_last)
        subject_free(processor, subject);
}
