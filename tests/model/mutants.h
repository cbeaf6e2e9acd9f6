/* SPDX-License-Identifier: MIT */
/* Seeded mistakes, each of which a scenario must find. */
#ifndef MODEL_MUTANTS_H
#define MODEL_MUTANTS_H

#include <stddef.h>

struct model_mutant {
    const char *name;
    const char *about;
    const char *by;     /* the scenario that finds it */
    const char *weaken; /* the order that is too weak, see model_sites_weaken_by_spec; or NULL: a
                         * JZX__MUTANT(name) in the code under test or in a scenario */
};

extern const struct model_mutant model_mutants[];
extern const size_t model_mutant_count;

#endif
