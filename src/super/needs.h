/* SPDX-License-Identifier: MIT */
/* The names in depends_on of specs: checked before anything is made. */
#ifndef JZX_SUPER_NEEDS_H
#define JZX_SUPER_NEEDS_H

#include "jzx/supervisor.h"

/* Children of a supervisor that goes by depends_on. */
#define JZX__NEEDS_MAX 256u

enum jzx__needs_fault {
    JZX__NEEDS_SOUND = 0,
    JZX__NEEDS_UNKNOWN,  /* a name that no sibling has */
    JZX__NEEDS_CIRCLE,   /* a child depends on itself, directly or not */
    JZX__NEEDS_DYNAMIC,  /* children of a dynamic supervisor do not depend on one another */
    JZX__NEEDS_TOO_MANY, /* children */
};

/* The first wrong dependency: child needs name. Either may be NULL. */
struct jzx__needs_wrong {
    enum jzx__needs_fault fault;
    const char *child;
    const char *name;
};

/* True for an entry of depends_on that names a sibling. */
static inline bool jzx__needs_is_name(const char *entry) {
    return entry != NULL && entry[0] != '\0';
}

/* How many siblings a child names. */
size_t jzx__needs_count(const jzx_child_spec *child);

/* True if the supervisor goes by depends_on: one of its children has an entry, perhaps that of
 * nobody. The options are full, as for the next call. */
bool jzx__needs_are_named(const jzx_supervisor_opts *opts);

/* False: see *wrong (may be NULL). The children are valid one by one. */
bool jzx__needs_are_sound(const jzx_supervisor_opts *opts, struct jzx__needs_wrong *wrong);

#endif
