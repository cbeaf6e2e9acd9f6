/* SPDX-License-Identifier: MIT */
/* Checking the names that children depend on. It takes no memory, because a check needs no loop. */
#include "super/needs.h"

#include <string.h>

size_t jzx__needs_count(const jzx_child_spec *child) {
    size_t count = 0;
    for (size_t k = 0; k < JZX_DEPENDS_MAX; k++)
        count += jzx__needs_is_name(child->depends_on[k]);
    return count;
}

/* A pointer in the spec of a child; NULL if the caller's struct is too small to have it. */
static const char *pointer_at(const jzx_supervisor_opts *opts, size_t index, size_t offset) {
    const char *pointer = NULL;
    if (opts->child_size >= offset + sizeof pointer)
        memcpy(&pointer, (const char *)opts->children + index * opts->child_size + offset,
               sizeof pointer);
    return pointer;
}

static const char *name_of(const jzx_supervisor_opts *opts, size_t index) {
    return pointer_at(opts, index, offsetof(jzx_child_spec, name));
}

/* An entry of depends_on. */
static const char *entry_of(const jzx_supervisor_opts *opts, size_t index, size_t k) {
    return pointer_at(opts, index, offsetof(jzx_child_spec, depends_on) + k * sizeof(char *));
}

bool jzx__needs_are_named(const jzx_supervisor_opts *opts) {
    for (size_t i = 0; i < opts->child_count; i++)
        for (size_t k = 0; k < JZX_DEPENDS_MAX; k++)
            if (entry_of(opts, i, k) != NULL)
                return true;
    return false;
}

/* The child of that name; child_count if there is none. */
static size_t find(const jzx_supervisor_opts *opts, const char *name) {
    size_t index = 0;
    while (index < opts->child_count &&
           (name_of(opts, index) == NULL || strcmp(name_of(opts, index), name) != 0))
        index++;
    return index;
}

/* The first need of a child that is not among those marked, or NULL. */
static const char *first_open(const jzx_supervisor_opts *opts, size_t index, const bool *marked) {
    for (size_t k = 0; k < JZX_DEPENDS_MAX; k++) {
        const char *entry = entry_of(opts, index, k);
        if (jzx__needs_is_name(entry) && !marked[find(opts, entry)])
            return entry;
    }
    return NULL;
}

static const char *first_unknown(const jzx_supervisor_opts *opts, size_t index) {
    for (size_t k = 0; k < JZX_DEPENDS_MAX; k++) {
        const char *entry = entry_of(opts, index, k);
        if (jzx__needs_is_name(entry) && find(opts, entry) == opts->child_count)
            return entry;
    }
    return NULL;
}

static bool find_unknown(const jzx_supervisor_opts *opts, struct jzx__needs_wrong *wrong) {
    for (size_t i = 0; i < opts->child_count; i++) {
        const char *name = first_unknown(opts, i);
        if (name == NULL)
            continue;
        *wrong = (struct jzx__needs_wrong){JZX__NEEDS_UNKNOWN, name_of(opts, i), name};
        return true;
    }
    return false;
}

/* Marks children all of whose needs are marked, until none is left to mark. A child that is left
 * then is in a circle, or depends on one. */
static bool find_circle(const jzx_supervisor_opts *opts, struct jzx__needs_wrong *wrong) {
    bool marked[JZX__NEEDS_MAX] = {false};
    bool again = true;
    while (again) {
        again = false;
        for (size_t i = 0; i < opts->child_count; i++) {
            if (marked[i] || first_open(opts, i, marked) != NULL)
                continue;
            marked[i] = true;
            again = true;
        }
    }
    for (size_t i = 0; i < opts->child_count; i++) {
        if (marked[i])
            continue;
        *wrong = (struct jzx__needs_wrong){JZX__NEEDS_CIRCLE, name_of(opts, i),
                                           first_open(opts, i, marked)};
        return true;
    }
    return false;
}

bool jzx__needs_are_sound(const jzx_supervisor_opts *opts, struct jzx__needs_wrong *wrong) {
    struct jzx__needs_wrong found = {JZX__NEEDS_SOUND, NULL, NULL};
    if (!jzx__needs_are_named(opts))
        return true;
    if (opts->strategy == JZX_DYNAMIC)
        found.fault = JZX__NEEDS_DYNAMIC;
    else if (opts->child_count > JZX__NEEDS_MAX)
        found.fault = JZX__NEEDS_TOO_MANY;
    else if (!find_unknown(opts, &found))
        (void)find_circle(opts, &found);
    if (wrong != NULL)
        *wrong = found;
    return found.fault == JZX__NEEDS_SOUND;
}
