/* SPDX-License-Identifier: MIT */
/* The sweep over memory orders: is each of them needed, and would we notice? */
#ifndef MODEL_SWEEP_H
#define MODEL_SWEEP_H

#include "engine.h"

/* Weakens every ordered operation of src/ (or only of a file there, if that is not NULL) that the
 * scenarios meet by one step, one at a time, and explores the scenarios that meet it. True if each
 * weakening is found by one of them or is listed in sweep.c as not needed, and none of the list is
 * found. */
bool model_sweep(const struct model_scenario *const *scenarios, size_t count,
                 const struct model_bounds *bounds, uint64_t executions_max, const char *file);

#endif
