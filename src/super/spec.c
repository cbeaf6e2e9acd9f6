/* SPDX-License-Identifier: MIT */
/* Checking and copying the specs of supervisors and their children. */
#include "super/spec.h"

#include "actor/spawn.h"

#include "base/alloc.h"
#include "base/sized.h"
#include "super/needs.h"

#include <string.h>

jzx_child_spec jzx__spec_child(const jzx_supervisor_opts *opts, size_t index) {
    jzx_child_spec child;
    const char *at = (const char *)opts->children + index * opts->child_size;
    (void)jzx__read_part(&child, sizeof child, at, opts->child_size); /* it was checked */
    return child;
}

/* ---- checking ---- */

/* The two are numbers of 32 bits: here they would be 4.29 s, which nobody means. */
static bool is_span(uint64_t ns) {
    return ns <= INT64_MAX && ns != JZX_UNLIMITED && ns != JZX_NONE;
}

static bool is_time(uint64_t ns) {
    return is_span(ns) || ns == JZX_NEVER;
}

static bool is_name(const char *name) {
    return name == NULL || strnlen(name, JZX_NAME_MAX + 1) <= JZX_NAME_MAX;
}

static const char *wrong_backoff(const jzx_backoff *backoff) {
    if ((unsigned)backoff->kind > JZX_BACKOFF_EXPONENTIAL)
        return "backoff.kind";
    if (!is_span(backoff->initial_delay_ns))
        return "backoff.initial_delay_ns";
    if (!is_span(backoff->step_ns))
        return "backoff.step_ns";
    if (!is_span(backoff->max_delay_ns))
        return "backoff.max_delay_ns";
    if (!is_span(backoff->jitter_ns))
        return "backoff.jitter_ns";
    /* Also false for what is no number. */
    if (!(backoff->factor == 0 || (backoff->factor >= 1 && backoff->factor <= 1e9)))
        return "backoff.factor";
    return NULL;
}

static const char *wrong_opts(const jzx_supervisor_opts *opts, unsigned depth);

static const char *wrong_kind(const jzx_child_spec *child) {
    int kinds = (child->behavior != NULL) + (child->fiber != NULL) + (child->supervisor != NULL) +
                (child->process != NULL) + (child->type != NULL);
    if (kinds == 0)
        return "behavior";
    if (kinds != 1)
        return child->process != NULL      ? "process"
               : child->supervisor != NULL ? "supervisor"
               : child->fiber != NULL      ? "fiber"
                                           : "type";
    if (!jzx__process_fits(child->process, child->method, child->input, child->input_len))
        return "process";
    if (child->process != NULL && child->init != NULL)
        return "init";
    return child->process != NULL && child->cleanup != NULL ? "cleanup" : NULL;
}

const char *jzx__spec_wrong_child(const jzx_child_spec *child, unsigned depth) {
    if (!is_name(child->name) || (child->name != NULL && child->name[0] == '\0'))
        return "name";
    if (!is_name(child->registered) ||
        (child->registered != NULL &&
         (child->registered[0] == '\0' || child->registered[0] == '@'))) /* see jzx/name.h */
        return "registered";
    const char *wrong = wrong_kind(child);
    if (wrong != NULL)
        return wrong;
    if (!jzx__stack_size_is_valid(child->fiber, child->stack_size_bytes))
        return "stack_size_bytes";
    if (child->migratable && child->fiber == NULL)
        return "migratable";
    if (child->thread_bound && (child->fiber == NULL || child->migratable))
        return "thread_bound";
    if ((unsigned)child->mode > JZX_TEMPORARY)
        return "mode";
    if (!is_time(child->shutdown_ns) && child->shutdown_ns != JZX_NONE)
        return "shutdown_ns";
    if (!is_time(child->start_ns))
        return "start_ns";
    if (!is_time(child->stable_ns))
        return "stable_ns";
    if (child->jitter_percent > 100 && child->jitter_percent != JZX_NONE)
        return "jitter_percent";
    if (child->mailbox_cap > JZX_MAILBOX_CAP_MAX)
        return "mailbox_cap";
    if (child->stash_cap > JZX_MAILBOX_CAP_MAX && child->stash_cap != JZX_NONE)
        return "stash_cap";
    if ((unsigned)child->on_full > JZX_FULL_DROP_NEW)
        return "on_full";
    if (child->priority > JZX_PRIORITY_LOW)
        return "priority";
    if (child->significant && child->mode == JZX_PERMANENT)
        return "significant";
    wrong = wrong_backoff(&child->backoff);
    if (wrong == NULL && child->supervisor != NULL)
        wrong =
            depth >= JZX__SUPER_DEPTH_MAX ? "supervisor" : wrong_opts(child->supervisor, depth + 1);
    return wrong;
}

bool jzx__spec_is_in_vain(const jzx_supervisor_opts *opts, const jzx_child_spec *child) {
    return child->significant && opts->auto_shutdown == JZX_AUTO_SHUTDOWN_NEVER;
}

static bool are_equal(const char *a, const char *b) {
    return a != NULL && b != NULL && strcmp(a, b) == 0;
}

/* The field in which a child is like one before it, and must not be; or NULL. */
static const char *doubled(const jzx_supervisor_opts *opts, size_t index) {
    const jzx_child_spec child = jzx__spec_child(opts, index);
    for (size_t i = 0; i < index; i++) {
        const jzx_child_spec before = jzx__spec_child(opts, i);
        if (are_equal(before.name, child.name))
            return "name";
        if (are_equal(before.registered, child.registered))
            return "registered";
    }
    return NULL;
}

static const char *wrong_children(const jzx_supervisor_opts *opts, unsigned depth) {
    if (opts->child_count == 0)
        return NULL;
    if (opts->children == NULL)
        return "children";
    if (opts->child_size < sizeof(size_t) || opts->child_size > sizeof(jzx_child_spec))
        return "child_size";
    if (opts->child_count > SIZE_MAX / 4 / sizeof(jzx_child_spec))
        return "child_count";
    for (size_t i = 0; i < opts->child_count; i++) {
        const jzx_child_spec child = jzx__spec_child(opts, i);
        const char *wrong = jzx__spec_wrong_child(&child, depth);
        if (wrong == NULL)
            wrong = doubled(opts, i);
        if (wrong == NULL && jzx__spec_is_in_vain(opts, &child))
            wrong = "significant";
        if (wrong != NULL)
            return wrong;
    }
    return jzx__needs_are_sound(opts, NULL) ? NULL : "depends_on";
}

static const char *wrong_opts(const jzx_supervisor_opts *from, unsigned depth) {
    jzx_supervisor_opts full;
    const jzx_supervisor_opts *opts = &full;
    if (!jzx__read_sized(&full, sizeof full, from))
        return "size";
    if (!is_name(opts->name))
        return "name";
    if ((unsigned)opts->strategy > JZX_DYNAMIC)
        return "strategy";
    if ((unsigned)opts->auto_shutdown > JZX_AUTO_SHUTDOWN_ALL)
        return "auto_shutdown";
    if (opts->intensity > JZX__INTENSITY_MAX && opts->intensity != JZX_UNLIMITED &&
        opts->intensity != JZX_NONE)
        return "intensity";
    if (!is_time(opts->period_ns))
        return "period_ns";
    if (!is_time(opts->stable_ns))
        return "stable_ns";
    return wrong_children(opts, depth);
}

bool jzx__spec_has_places(const jzx_supervisor_opts *from, uint32_t workers) {
    jzx_supervisor_opts opts;
    (void)jzx__read_sized(&opts, sizeof opts, from); /* it was checked */
    for (size_t i = 0; i < opts.child_count; i++) {
        const jzx_child_spec child = jzx__spec_child(&opts, i);
        if (child.place != JZX_PLACE_CALLER && child.place > workers)
            return false;
        if (child.supervisor != NULL && !jzx__spec_has_places(child.supervisor, workers))
            return false;
    }
    return true;
}

jzx_err jzx_supervisor_opts_init(jzx_supervisor_opts *opts, size_t size) {
    const jzx_supervisor_opts full = JZX_SUPERVISOR_OPTS();
    return jzx__init_sized(opts, size, &full, sizeof full) ? JZX_OK : JZX_ERR_INVALID_ARG;
}

jzx_err jzx_supervisor_check(const jzx_supervisor_opts *opts, const char **field) {
    const char *wrong = wrong_opts(opts, 0);
    if (wrong != NULL && field != NULL)
        *field = wrong;
    return wrong == NULL ? JZX_OK : JZX_ERR_INVALID_ARG;
}

/* ---- copying ---- */

static void default_to(uint32_t *field, uint32_t value) {
    if (*field == 0)
        *field = value;
}

static void default_span(uint64_t *ns, uint64_t value) {
    if (*ns == 0)
        *ns = value;
}

/* Of any child but a service. */
static void fill_backoff(jzx_backoff *backoff) {
    bool is_set = backoff->initial_delay_ns != 0 || backoff->step_ns != 0 ||
                  backoff->max_delay_ns != 0 || backoff->jitter_ns != 0 || backoff->factor != 0;
    if (backoff->kind == JZX_BACKOFF_DEFAULT && !is_set)
        return;
    if (backoff->kind == JZX_BACKOFF_DEFAULT)
        backoff->kind = JZX_BACKOFF_EXPONENTIAL;
    default_span(&backoff->initial_delay_ns, JZX_MS(100));
    default_span(&backoff->max_delay_ns, JZX_SECOND(10));
    if (backoff->factor == 0)
        backoff->factor = 2;
}

/* The defaults of a service; those that it shares with other children are not here. */
static void fill_service(jzx_child_spec *child) {
    jzx_backoff *backoff = &child->backoff;
    if (backoff->kind == JZX_BACKOFF_DEFAULT)
        backoff->kind = JZX_BACKOFF_EXPONENTIAL;
    default_span(&backoff->initial_delay_ns, JZX_SECOND(1));
    default_span(&backoff->max_delay_ns, JZX_SECOND(90));
    if (backoff->factor == 0)
        backoff->factor = 2;
    default_to(&child->jitter_percent, 10);
    default_span(&child->stable_ns, JZX_SECOND(5));
    default_span(&child->shutdown_ns, child->supervisor != NULL ? JZX_NEVER : JZX_SECOND(10));
}

static void fill_child(jzx_child_spec *child) {
    if (child->service)
        fill_service(child);
    else
        fill_backoff(&child->backoff);
    default_span(&child->shutdown_ns, child->supervisor != NULL ? JZX_NEVER : JZX_SECOND(5));
    default_span(&child->start_ns, child->supervisor != NULL ? JZX_NEVER : JZX_SECOND(10));
}

/* Filled a second time it stays as it is: the copy of a supervisor below is copied again each time
 * that it is started. */
static void fill_opts(jzx_supervisor_opts *opts) {
    default_to(&opts->intensity, 3);
    default_span(&opts->period_ns, JZX_SECOND(5));
    default_span(&opts->stable_ns, JZX_SECOND(5));
}

static size_t string_size(const char *string) {
    return string == NULL ? 0 : strlen(string) + 1;
}

static size_t size_of(const jzx_supervisor_opts *opts) {
    size_t size = sizeof(struct jzx__spec) + opts->child_count * sizeof(jzx_child_spec) +
                  string_size(opts->name);
    for (size_t i = 0; i < opts->child_count; i++) {
        const jzx_child_spec child = jzx__spec_child(opts, i);
        for (size_t k = 0; k < JZX_DEPENDS_MAX; k++)
            size += string_size(child.depends_on[k]);
        size += string_size(child.name) + string_size(child.registered) +
                string_size(child.method) + child.input_len;
    }
    return size;
}

/* Copies a string to *room, behind which the next one goes. */
static const char *copy_string(const char *string, char **room) {
    if (string == NULL)
        return NULL;
    char *copy = *room;
    size_t size = string_size(string);
    memcpy(copy, string, size);
    *room += size;
    return copy;
}

static const void *copy_bytes(const void *bytes, size_t len, char **room) {
    if (len == 0)
        return NULL;
    void *copy = memcpy(*room, bytes, len);
    *room += len;
    return copy;
}

static jzx_child_spec copy_child(jzx_child_spec copy, char **room) {
    for (size_t k = 0; k < JZX_DEPENDS_MAX; k++)
        copy.depends_on[k] = copy_string(copy.depends_on[k], room);
    copy.name = copy_string(copy.name, room);
    copy.registered = copy_string(copy.registered, room);
    copy.method = copy_string(copy.method, room);
    copy.input = copy_bytes(copy.input, copy.input_len, room);
    fill_child(&copy);
    return copy;
}

struct jzx__spec *jzx__spec_copy(const jzx_allocator *allocator, const jzx_supervisor_opts *from) {
    jzx_supervisor_opts full;
    const jzx_supervisor_opts *opts = &full;
    (void)jzx__read_sized(&full, sizeof full, from); /* it was checked */
    size_t size = size_of(opts);
    struct jzx__spec *spec = jzx__alloc(allocator, size);
    if (spec == NULL)
        return NULL;
    char *room = (char *)&spec->children[opts->child_count];
    spec->opts = *opts;
    spec->opts.name = copy_string(opts->name, &room);
    spec->opts.children = spec->children;
    spec->opts.child_size = sizeof(jzx_child_spec);
    spec->opts.child_count = 0; /* so many are complete */
    spec->size_bytes = size;
    fill_opts(&spec->opts);
    for (size_t i = 0; i < opts->child_count; i++) {
        jzx_child_spec *child = &spec->children[i];
        *child = copy_child(jzx__spec_child(opts, i), &room);
        if (child->supervisor != NULL) {
            const struct jzx__spec *below = jzx__spec_copy(allocator, child->supervisor);
            if (below == NULL) {
                jzx__spec_free(allocator, spec);
                return NULL;
            }
            child->supervisor = &below->opts;
        }
        spec->opts.child_count++;
    }
    return spec;
}

void jzx__spec_free(const jzx_allocator *allocator, struct jzx__spec *spec) {
    for (size_t i = 0; i < spec->opts.child_count; i++) {
        const jzx_supervisor_opts *below = spec->children[i].supervisor;
        if (below != NULL) /* it is the head of its copy */
            jzx__spec_free(allocator, (struct jzx__spec *)(uintptr_t)below);
    }
    jzx__free(allocator, spec, spec->size_bytes);
}

jzx_err jzx_service_init(jzx_child_spec *spec, size_t size) {
    jzx_child_spec full = {.service = true};
    if (spec == NULL || size < sizeof(size_t) || size > sizeof full)
        return JZX_ERR_INVALID_ARG;
    fill_child(&full);
    memcpy(spec, &full, size);
    return JZX_OK;
}

/* ---- delays ---- */

/* first + n * step, at most max. */
static uint64_t grow_by_steps(uint64_t first, uint64_t step, uint32_t n, uint64_t max) {
    return n != 0 && step > (max - first) / n ? max : first + n * step;
}

/* first * factor^n, at most max: a double below that of max is below max, also if max is rounded
 * up. */
static uint64_t grow_by_factor(uint64_t first, double factor, uint32_t n, uint64_t max) {
    double delay = (double)first;
    for (uint32_t i = 0; i < n && delay < (double)max && factor > 1; i++)
        delay *= factor;
    return delay < (double)max ? (uint64_t)delay : max;
}

uint64_t jzx__backoff_delay_ns(const jzx_backoff *backoff, uint32_t n) {
    uint64_t max = backoff->max_delay_ns;
    uint64_t first = backoff->initial_delay_ns < max ? backoff->initial_delay_ns : max;
    switch (backoff->kind) {
    case JZX_BACKOFF_DEFAULT: break;
    case JZX_BACKOFF_CONSTANT: return grow_by_steps(first, backoff->step_ns, n, max);
    case JZX_BACKOFF_EXPONENTIAL: return grow_by_factor(first, backoff->factor, n, max);
    }
    return 0;
}
