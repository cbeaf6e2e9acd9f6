/* SPDX-License-Identifier: MIT */
/* What actors may want: the calls that add to a list. */
#include "command/subject.h"

#include <string.h>

/* True in a tick, where the registry may be changed. */
static bool is_in_tick(const jzx_actions *out) {
    return out->roll == &out->processor->queue;
}

/* Adds to the list's roll, or to what a stage passes. */
static jzx_err add(jzx_actions *out, struct jzx__roll *roll, const jzx_action *action,
                   uint8_t stage) {
    struct jzx__record *record =
        jzx__roll_add(roll, &out->processor->allocator, action,
                      roll == &out->processor->queue ? JZX__CHUNK_SIZE : JZX__CHUNK_EXACT);
    if (record == NULL) {
        out->err = JZX_ERR_NO_MEMORY;
        return JZX_ERR_NO_MEMORY;
    }
    record->is_frozen = !is_in_tick(out);
    record->is_internal = stage == 0 && out->self->is_internal;
    record->stage = stage;
    return JZX_OK;
}

static bool is_payload(const void *data, size_t len) {
    return len <= JZX_MSG_LEN_MAX && (data != NULL || len == 0);
}

jzx_err jzx_actions_send(jzx_actions *out, jzx_processor_handle to, uint32_t tag, const void *data,
                         size_t len) {
    if (out == NULL || !is_payload(data, len) || tag >= JZX_TAG_RESERVED)
        return JZX_ERR_INVALID_ARG;
    const jzx_action action = {.kind = JZX_ACTION_SEND,
                               .source = out->self->handle,
                               .target = to,
                               .tag = tag,
                               .len = (uint32_t)len,
                               .data = data};
    return add(out, out->roll, &action, 0);
}

jzx_err jzx_actions_reserve(jzx_actions *out, const jzx_actor_factory *factory, const void *config,
                            size_t len, jzx_processor_handle *handle) {
    struct jzx__subject *subject;
    if (out == NULL || handle == NULL)
        return JZX_ERR_INVALID_ARG;
    if (!is_in_tick(out))
        return JZX_ERR_INVALID_STATE;
    const struct jzx__subject_spec spec = {.factory = factory,
                                           .config = config,
                                           .config_len = len,
                                           .parent = out->self->handle,
                                           .is_internal = out->self->is_internal};
    jzx_err err =
        jzx__subject_reserve(out->processor, &spec, out->processor->next_handle, &subject);
    if (err == JZX_ERR_NO_MEMORY)
        out->err = err;
    if (err == JZX_OK)
        *handle = out->processor->next_handle++;
    return err;
}

jzx_err jzx_actions_spawn(jzx_actions *out, jzx_processor_handle handle) {
    jzx_action action = {.kind = JZX_ACTION_SPAWN, .target = handle};
    if (out == NULL)
        return JZX_ERR_INVALID_ARG;
    if (!is_in_tick(out))
        return JZX_ERR_INVALID_STATE;
    action.source = out->self->handle;
    const struct jzx__subject *subject = jzx__roster_find(&out->processor->registry, handle);
    if (subject != NULL && subject->kind == JZX_REGISTERED_RESERVED) {
        action.factory = subject->factory;
        action.data = subject->config;
        action.len = (uint32_t)subject->config_len;
    }
    return add(out, out->roll, &action, 0);
}

jzx_err jzx_actions_spawn_new(jzx_actions *out, const jzx_actor_factory *factory,
                              const void *config, size_t len, jzx_processor_handle *handle) {
    jzx_processor_handle made;
    jzx_err err = jzx_actions_reserve(out, factory, config, len, &made);
    if (err == JZX_OK)
        err = jzx_actions_spawn(out, made);
    if (err == JZX_OK && handle != NULL)
        *handle = made;
    return err;
}

static jzx_err end(jzx_actions *out, jzx_action_kind kind, jzx_processor_handle handle,
                   jzx_err error) {
    if (out == NULL)
        return JZX_ERR_INVALID_ARG;
    const jzx_action action = {
        .kind = kind, .error = error, .source = out->self->handle, .target = handle};
    return add(out, out->roll, &action, 0);
}

jzx_err jzx_actions_kill(jzx_actions *out, jzx_processor_handle handle) {
    return end(out, JZX_ACTION_KILL, handle, JZX_OK);
}

jzx_err jzx_actions_fail(jzx_actions *out, jzx_processor_handle handle, jzx_err error) {
    return end(out, JZX_ACTION_FAIL, handle, error);
}

jzx_err jzx_actions_pass(jzx_actions *out, const jzx_action *command) {
    if (out == NULL || command == NULL || !is_payload(command->data, command->len) ||
        command->kind < JZX_ACTION_SEND || command->kind > JZX_ACTION_TERMINATE ||
        (command->kind == JZX_ACTION_SEND && command->tag >= JZX_TAG_RESERVED))
        return JZX_ERR_INVALID_ARG;
    if (out->self->stage == 0 || out->passes == NULL)
        return JZX_ERR_INVALID_STATE;
    return add(out, out->passes, command, out->self->stage); /* counted from 1: the next one */
}

jzx_processor_handle jzx_actions_self(const jzx_actions *out) {
    return out == NULL ? JZX_PROCESSOR_NO_HANDLE : out->self->handle;
}

jzx_processor *jzx_actions_processor(const jzx_actions *out) {
    return out == NULL ? NULL : out->processor;
}

jzx_err jzx_actions_flow(jzx_actions *out, const jzx_stage *stages, size_t count, size_t stage_size,
                         jzx_processor_handle to, jzx_processor_handle *head) {
    unsigned char config[256];
    if (out == NULL || head == NULL || stage_size != sizeof(jzx_stage) ||
        (stages == NULL && count != 0))
        return JZX_ERR_INVALID_ARG;
    for (size_t i = 0; i < count; i++) {
        size_t len = stages[i].config_len;
        if (stages[i].config == NULL || len < sizeof to || len > sizeof config)
            return JZX_ERR_INVALID_ARG;
    }
    for (size_t i = count; i-- > 0;) { /* from the last, whose target is known */
        memcpy(config, stages[i].config, stages[i].config_len);
        memcpy(config, &to, sizeof to);
        jzx_err err =
            jzx_actions_spawn_new(out, stages[i].factory, config, stages[i].config_len, &to);
        if (err != JZX_OK)
            return err;
    }
    *head = to;
    return JZX_OK;
}
