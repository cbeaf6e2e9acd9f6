/* SPDX-License-Identifier: MIT */
/* Keeping traces, printing and comparing them. */
#include "command/trace.h"

#include "base/alloc.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TRACE_FIRST 64u
#define BYTES_SHOWN 16u

/* ---- keeping ---- */

static bool has_room(struct jzx_processor *processor) {
    if (processor->trace_count < processor->trace_size)
        return true;
    size_t size = processor->trace_size == 0 ? TRACE_FIRST : processor->trace_size * 2;
    jzx_trace_step *larger = jzx__alloc(&processor->allocator, size * sizeof *larger);
    if (larger == NULL)
        return false;
    if (processor->trace != NULL) {
        memcpy(larger, processor->trace, processor->trace_count * sizeof *larger);
        jzx__free(&processor->allocator, processor->trace, processor->trace_size * sizeof *larger);
    }
    processor->trace = larger;
    processor->trace_size = size;
    return true;
}

void jzx__trace_note(struct jzx_processor *processor, const jzx_action *action,
                     jzx_outcome outcome) {
    if (!processor->keeps_trace || processor->trace_is_cut)
        return;
    struct jzx__record *record = NULL;
    if (has_room(processor))
        record =
            jzx__roll_add(&processor->trace_data, &processor->allocator, action, JZX__CHUNK_SIZE);
    processor->trace_is_cut = record == NULL;
    if (record != NULL)
        processor->trace[processor->trace_count++] = (jzx_trace_step){
            .action = record->action, .outcome = outcome, .tick = processor->counts.ticks};
}

void jzx__trace_deinit(struct jzx_processor *processor) {
    jzx__roll_clear(&processor->trace_data, &processor->allocator);
    if (processor->trace != NULL)
        jzx__free(&processor->allocator, processor->trace,
                  processor->trace_size * sizeof *processor->trace);
    processor->trace = NULL;
    processor->trace_count = 0;
    processor->trace_size = 0;
}

jzx_err jzx_processor_trace(jzx_processor *processor, jzx_trace *trace) {
    struct jzx__visit visit;
    jzx_err err = JZX_OK;
    if (processor == NULL || trace == NULL)
        return JZX_ERR_INVALID_ARG;
    if (!processor->keeps_trace)
        return JZX_ERR_INVALID_STATE;
    jzx__processor_lock(processor, &visit);
    if (processor->phase == JZX_PHASE_BUSY)
        err = JZX_ERR_BUSY;
    else
        *trace = (jzx_trace){.steps = processor->trace,
                             .count = processor->trace_count,
                             .is_cut = processor->trace_is_cut};
    jzx__processor_unlock(processor, &visit);
    return err;
}

/* ---- printing ---- */

/* A text that is cut to its room. */
struct text {
    char *at;
    size_t room;
    size_t len; /* without a cut */
};

static struct text text_begin(char *at, size_t size) {
    struct text text = {.at = at, .room = at == NULL ? 0 : size};
    if (text.room != 0)
        at[0] = '\0';
    return text;
}

static __attribute__((format(printf, 2, 3))) void add(struct text *text, const char *format, ...) {
    va_list arguments;
    bool fits = text->len < text->room;
    va_start(arguments, format);
    int len = vsnprintf(fits ? text->at + text->len : NULL, fits ? text->room - text->len : 0,
                        format, arguments);
    va_end(arguments);
    text->len += len < 0 ? 0 : (size_t)len;
}

static void add_handle(struct text *text, jzx_processor_handle handle) {
    switch (handle) {
    case JZX_PROCESSOR_INPUT: add(text, "input"); break;
    case JZX_PROCESSOR_OUTPUT: add(text, "output"); break;
    case JZX_PROCESSOR_INTERNAL: add(text, "internal"); break;
    case JZX_PROCESSOR_NO_HANDLE: add(text, "none"); break;
    default: add(text, "%" PRIu64, handle); break;
    }
}

static void add_bytes(struct text *text, const jzx_action *action) {
    const unsigned char *bytes = action->data;
    if (action->len == 0)
        return;
    add(text, " [");
    for (uint32_t i = 0; i < action->len && i < BYTES_SHOWN; i++)
        add(text, i == 0 ? "%02x" : " %02x", bytes[i]);
    if (action->len > BYTES_SHOWN)
        add(text, " ... %" PRIu32 " bytes", action->len);
    add(text, "]");
}

static const char *kind_name(jzx_action_kind kind) {
    static const char *const names[] = {"?", "Send", "Spawn", "Kill", "Fail", "Terminate"};
    return (unsigned)kind < sizeof names / sizeof names[0] ? names[kind] : names[0];
}

static void add_step(struct text *text, const jzx_trace_step *step) {
    static const char *const outcomes[] = {"", " (dropped)", " (blocked)", " (deferred)",
                                           " (failed)"};
    const jzx_action *action = &step->action;
    add(text, "%" PRIu64 ": %s ", step->tick, kind_name(action->kind));
    add_handle(text, action->source);
    add(text, " -> ");
    add_handle(text, action->target);
    if (action->kind == JZX_ACTION_SEND)
        add(text, " tag %" PRIu32, action->tag);
    if (action->factory != NULL)
        add(text, " %s", action->factory->type);
    add_bytes(text, action);
    if (action->error != JZX_OK)
        add(text, " %s", jzx_err_name(action->error));
    add(text, "%s", (unsigned)step->outcome < 5u ? outcomes[step->outcome] : " (?)");
}

size_t jzx_trace_step_print(const jzx_trace_step *step, char *text, size_t size) {
    struct text to = text_begin(text, size);
    if (step != NULL)
        add_step(&to, step);
    return to.len;
}

size_t jzx_trace_print(const jzx_trace *trace, char *text, size_t size) {
    struct text to = text_begin(text, size);
    for (size_t i = 0; trace != NULL && i < trace->count; i++) {
        add_step(&to, &trace->steps[i]);
        add(&to, "\n");
    }
    if (trace != NULL && trace->is_cut)
        add(&to, "(cut: there was no memory)\n");
    return to.len;
}

/* ---- comparing ---- */

static bool is_same_factory(const jzx_actor_factory *a, const jzx_actor_factory *b) {
    return a == b || (a != NULL && b != NULL && strcmp(a->type, b->type) == 0);
}

static bool is_same(const jzx_trace_step *a, const jzx_trace_step *b) {
    const jzx_action *x = &a->action;
    const jzx_action *y = &b->action;
    return a->outcome == b->outcome && a->tick == b->tick && x->kind == y->kind &&
           x->error == y->error && x->source == y->source && x->target == y->target &&
           x->tag == y->tag && x->len == y->len && is_same_factory(x->factory, y->factory) &&
           (x->len == 0 || memcmp(x->data, y->data, x->len) == 0);
}

size_t jzx_trace_difference(const jzx_trace *a, const jzx_trace *b) {
    size_t i = 0;
    if (a == NULL || b == NULL)
        return a == b ? SIZE_MAX : 0;
    while (i < a->count && i < b->count && is_same(&a->steps[i], &b->steps[i]))
        i++;
    return i == a->count && i == b->count ? SIZE_MAX : i;
}
