/* SPDX-License-Identifier: MIT */
/* Predicates over steps. */
#include "testkit/predicate.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define DEPTH_MAX 64u
#define BYTES_SHOWN 16u

/* ---- parts of a step ---- */

static struct jzx__capture part_of(const jzx_trace_step *step, jzx_field field) {
    const jzx_action *action = &step->action;
    struct jzx__capture part = {.is_set = true};
    switch (field) {
    case JZX_FIELD_KIND: part.number = (uint64_t)action->kind; break;
    case JZX_FIELD_TAG: part.number = action->tag; break;
    case JZX_FIELD_SOURCE: part.number = action->source; break;
    case JZX_FIELD_TARGET: part.number = action->target; break;
    case JZX_FIELD_ERROR: part.number = (uint64_t)(int64_t)action->error; break;
    case JZX_FIELD_OUTCOME: part.number = (uint64_t)step->outcome; break;
    case JZX_FIELD_TYPE:
        part.data = action->factory == NULL ? "" : action->factory->type;
        part.len = strlen(part.data);
        break;
    case JZX_FIELD_PAYLOAD:
        part.data = action->data;
        part.len = action->len;
        break;
    default: part.is_set = false; break;
    }
    return part;
}

static bool is_bytes(const void *a, size_t a_len, const void *b, size_t b_len) {
    return a_len == b_len && (a_len == 0 || memcmp(a, b, a_len) == 0);
}

static bool is_same(const struct jzx__capture *a, const struct jzx__capture *b) {
    return a->is_set == b->is_set && a->number == b->number &&
           is_bytes(a->data, a->len, b->data, b->len);
}

bool jzx__captures_are_same(const struct jzx__captures *a, const struct jzx__captures *b) {
    for (size_t i = 0; i < JZX_CAPTURES_MAX; i++) {
        if (!is_same(&a->slots[i], &b->slots[i]))
            return false;
    }
    return true;
}

/* ---- validity ---- */

static bool is_valid_at(const jzx_predicate *predicate, unsigned depth) {
    if (predicate == NULL || depth == DEPTH_MAX)
        return false;
    bool has_bytes = predicate->data != NULL || predicate->len == 0;
    switch (predicate->kind) {
    case JZX_PREDICATE_ANY: return true;
    case JZX_PREDICATE_FIELD:
        return predicate->field == JZX_FIELD_TYPE
                   ? predicate->data != NULL
                   : predicate->field >= JZX_FIELD_KIND && predicate->field < JZX_FIELD_TYPE;
    case JZX_PREDICATE_PAYLOAD:
    case JZX_PREDICATE_BYTES: return has_bytes;
    case JZX_PREDICATE_EQUALS: return predicate->data != NULL;
    case JZX_PREDICATE_WHERE: return predicate->where != NULL;
    case JZX_PREDICATE_LAZY: return predicate->lazy != NULL;
    case JZX_PREDICATE_CAPTURE:
    case JZX_PREDICATE_REF:
        return predicate->number < JZX_CAPTURES_MAX && predicate->field >= JZX_FIELD_KIND &&
               predicate->field <= JZX_FIELD_PAYLOAD;
    case JZX_PREDICATE_AND:
    case JZX_PREDICATE_OR:
    case JZX_PREDICATE_NOT: break;
    default: return false;
    }
    if (predicate->kind == JZX_PREDICATE_NOT && predicate->count != 1)
        return false;
    for (size_t i = 0; i < predicate->count; i++) {
        if (!is_valid_at(predicate->items[i], depth + 1))
            return false;
    }
    return true;
}

bool jzx__predicate_is_valid(const jzx_predicate *predicate) {
    return is_valid_at(predicate, 0);
}

/* ---- whether it holds ---- */

static bool has_field(const jzx_predicate *predicate, const jzx_trace_step *step) {
    const struct jzx__capture part = part_of(step, predicate->field);
    return predicate->field == JZX_FIELD_TYPE
               ? is_bytes(part.data, part.len, predicate->data, strlen(predicate->data))
               : part.number == predicate->number;
}

static bool has_bytes(const jzx_predicate *predicate, const jzx_trace_step *step) {
    const jzx_action *action = &step->action;
    return predicate->offset <= action->len && predicate->len <= action->len - predicate->offset &&
           is_bytes((const char *)action->data + predicate->offset, predicate->len, predicate->data,
                    predicate->len);
}

static bool equals(const jzx_trace_step *a, const jzx_trace_step *b) {
    for (int field = JZX_FIELD_KIND; field <= JZX_FIELD_PAYLOAD; field++) {
        const struct jzx__capture x = part_of(a, (jzx_field)field);
        const struct jzx__capture y = part_of(b, (jzx_field)field);
        if (!is_same(&x, &y))
            return false;
    }
    return true;
}

static bool all_hold(const jzx_predicate *predicate, const jzx_trace_step *step,
                     struct jzx__captures *captures) {
    struct jzx__captures with = *captures;
    for (size_t i = 0; i < predicate->count; i++) {
        if (!jzx__predicate_holds(predicate->items[i], step, &with))
            return false;
    }
    *captures = with;
    return true;
}

static bool one_holds(const jzx_predicate *predicate, const jzx_trace_step *step,
                      struct jzx__captures *captures) {
    for (size_t i = 0; i < predicate->count; i++) {
        if (jzx__predicate_holds(predicate->items[i], step, captures))
            return true;
    }
    return false;
}

static bool not_holds(const jzx_predicate *predicate, const jzx_trace_step *step,
                      const struct jzx__captures *captures) {
    struct jzx__captures unused = *captures;
    return !jzx__predicate_holds(predicate->items[0], step, &unused);
}

static bool lazy_holds(const jzx_predicate *predicate, const jzx_trace_step *step,
                       struct jzx__captures *captures) {
    const jzx_predicate *made = predicate->lazy(predicate->arg);
    return jzx__predicate_is_valid(made) && jzx__predicate_holds(made, step, captures);
}

bool jzx__predicate_holds(const jzx_predicate *predicate, const jzx_trace_step *step,
                          struct jzx__captures *captures) {
    struct jzx__capture part;
    switch (predicate->kind) {
    case JZX_PREDICATE_ANY: return true;
    case JZX_PREDICATE_AND: return all_hold(predicate, step, captures);
    case JZX_PREDICATE_OR: return one_holds(predicate, step, captures);
    case JZX_PREDICATE_NOT: return not_holds(predicate, step, captures);
    case JZX_PREDICATE_FIELD: return has_field(predicate, step);
    case JZX_PREDICATE_PAYLOAD:
        return is_bytes(step->action.data, step->action.len, predicate->data, predicate->len);
    case JZX_PREDICATE_BYTES: return has_bytes(predicate, step);
    case JZX_PREDICATE_EQUALS: return equals(predicate->data, step);
    case JZX_PREDICATE_WHERE: return predicate->where(predicate->arg, step);
    case JZX_PREDICATE_LAZY: return lazy_holds(predicate, step, captures);
    case JZX_PREDICATE_CAPTURE:
        captures->slots[predicate->number] = part_of(step, predicate->field);
        return true;
    case JZX_PREDICATE_REF:
        part = part_of(step, predicate->field);
        return captures->slots[predicate->number].is_set &&
               is_same(&part, &captures->slots[predicate->number]);
    default: return false;
    }
}

/* ---- texts ---- */

void jzx__report_begin(struct jzx__report *report, char *at, size_t size) {
    *report = (struct jzx__report){.at = at, .room = at == NULL ? 0 : size};
    if (report->room != 0)
        at[0] = '\0';
}

void jzx__report_add(struct jzx__report *report, const char *format, ...) {
    va_list arguments;
    bool fits = report->len < report->room;
    va_start(arguments, format);
    int len = vsnprintf(fits ? report->at + report->len : NULL,
                        fits ? report->room - report->len : 0, format, arguments);
    va_end(arguments);
    report->len += len < 0 ? 0 : (size_t)len;
}

static void add_bytes(struct jzx__report *report, const void *data, size_t len) {
    const unsigned char *bytes = data;
    jzx__report_add(report, "[");
    for (size_t i = 0; i < len && i < BYTES_SHOWN; i++)
        jzx__report_add(report, i == 0 ? "%02x" : " %02x", bytes[i]);
    jzx__report_add(report, len > BYTES_SHOWN ? " ...]" : "]");
}

static void add_number(struct jzx__report *report, jzx_field field, uint64_t number) {
    static const char *const kinds[] = {"?", "Send", "Spawn", "Kill", "Fail", "Terminate"};
    static const char *const outcomes[] = {"done", "dropped", "blocked", "deferred", "failed"};
    static const char *const handles[] = {"input", "output", "internal"};
    bool is_handle = field == JZX_FIELD_SOURCE || field == JZX_FIELD_TARGET;
    if (field == JZX_FIELD_KIND && number < sizeof kinds / sizeof kinds[0])
        jzx__report_add(report, "%s", kinds[number]);
    else if (field == JZX_FIELD_OUTCOME && number < sizeof outcomes / sizeof outcomes[0])
        jzx__report_add(report, "%s", outcomes[number]);
    else if (field == JZX_FIELD_ERROR)
        jzx__report_add(report, "%s", jzx_err_name((jzx_err)(int64_t)number));
    else if (is_handle && number == JZX_PROCESSOR_NO_HANDLE)
        jzx__report_add(report, "none");
    else if (is_handle && number < sizeof handles / sizeof handles[0])
        jzx__report_add(report, "%s", handles[number]);
    else
        jzx__report_add(report, "%" PRIu64, number);
}

static const char *field_name(jzx_field field) {
    static const char *const names[] = {"?",     "kind",    "tag",  "source", "target",
                                        "error", "outcome", "type", "payload"};
    return (unsigned)field < sizeof names / sizeof names[0] ? names[field] : names[0];
}

static void describe_items(const jzx_predicate *predicate, const struct jzx__captures *captures,
                           const char *word, struct jzx__report *report) {
    if (predicate->count == 0)
        jzx__report_add(report, predicate->kind == JZX_PREDICATE_AND ? "any step" : "no step");
    for (size_t i = 0; i < predicate->count; i++) {
        const jzx_predicate *item = predicate->items[i];
        bool is_list = item->kind == JZX_PREDICATE_AND || item->kind == JZX_PREDICATE_OR;
        jzx__report_add(report, "%s%s", i == 0 ? "" : word, is_list ? "(" : "");
        jzx__predicate_describe(item, captures, report);
        jzx__report_add(report, is_list ? ")" : "");
    }
}

static void describe_field(const jzx_predicate *predicate, struct jzx__report *report) {
    jzx__report_add(report, "%s ", field_name(predicate->field));
    if (predicate->field == JZX_FIELD_TYPE)
        jzx__report_add(report, "%s", (const char *)predicate->data);
    else
        add_number(report, predicate->field, predicate->number);
}

static void describe_ref(const jzx_predicate *predicate, const struct jzx__captures *captures,
                         struct jzx__report *report) {
    const struct jzx__capture *slot = &captures->slots[predicate->number];
    jzx__report_add(report, "%s as captured in %" PRIu64 " (", field_name(predicate->field),
                    predicate->number);
    if (!slot->is_set)
        jzx__report_add(report, "nothing");
    else if (predicate->field == JZX_FIELD_PAYLOAD)
        add_bytes(report, slot->data, slot->len);
    else if (predicate->field == JZX_FIELD_TYPE)
        jzx__report_add(report, "%.*s", (int)slot->len, (const char *)slot->data);
    else
        add_number(report, predicate->field, slot->number);
    jzx__report_add(report, ")");
}

static void describe_equals(const jzx_trace_step *step, struct jzx__report *report) {
    char text[256];
    (void)jzx_trace_step_print(step, text, sizeof text);
    const char *behind_tick = strchr(text, ' ');
    jzx__report_add(report, "the step%s", behind_tick == NULL ? "" : behind_tick);
}

void jzx__predicate_describe(const jzx_predicate *predicate, const struct jzx__captures *captures,
                             struct jzx__report *report) {
    switch (predicate->kind) {
    case JZX_PREDICATE_ANY: jzx__report_add(report, "any step"); break;
    case JZX_PREDICATE_AND: describe_items(predicate, captures, " and ", report); break;
    case JZX_PREDICATE_OR: describe_items(predicate, captures, " or ", report); break;
    case JZX_PREDICATE_NOT:
        jzx__report_add(report, "not (");
        describe_items(predicate, captures, "", report);
        jzx__report_add(report, ")");
        break;
    case JZX_PREDICATE_FIELD: describe_field(predicate, report); break;
    case JZX_PREDICATE_PAYLOAD:
        jzx__report_add(report, "payload ");
        add_bytes(report, predicate->data, predicate->len);
        break;
    case JZX_PREDICATE_BYTES:
        jzx__report_add(report, "payload at %zu ", predicate->offset);
        add_bytes(report, predicate->data, predicate->len);
        break;
    case JZX_PREDICATE_EQUALS: describe_equals(predicate->data, report); break;
    case JZX_PREDICATE_WHERE:
    case JZX_PREDICATE_LAZY:
        jzx__report_add(report, "%s", predicate->name == NULL ? "a function" : predicate->name);
        break;
    case JZX_PREDICATE_CAPTURE:
        jzx__report_add(report, "a %s to capture in %" PRIu64, field_name(predicate->field),
                        predicate->number);
        break;
    case JZX_PREDICATE_REF: describe_ref(predicate, captures, report); break;
    default: jzx__report_add(report, "?"); break;
    }
}
