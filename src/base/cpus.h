/* SPDX-License-Identifier: MIT */
/* How many CPUs this process may really use, and which: a machine's count says little where
 * containers and affinity masks deal them out. Nothing is kept; a file that is missing or makes
 * no sense sets no limit, nor does one that cannot be read without memory. */
#ifndef JZX_BASE_CPUS_H
#define JZX_BASE_CPUS_H

#include "jzx/allocator.h"

#include <stdbool.h>
#include <stdint.h>

/* What jzx__cpus_quota returns if there is no quota. */
#define JZX__CPUS_NO_QUOTA UINT32_MAX

/* The CPUs in the calling thread's affinity mask, or the quota if that is less; at least 1. */
uint32_t jzx__cpus_available(const jzx_allocator *hooks);

/* The tightest CPU quota of this process's cgroup and its parents, in whole CPUs, rounded up. The
 * files are looked for below root: "" for the machine's own, a folder in tests. */
uint32_t jzx__cpus_quota(const char *root, const jzx_allocator *hooks);

/* The k-th CPU, modulo their count, of the calling thread's affinity mask into *cpu. False if the
 * system does not tell. */
bool jzx__cpus_nth(uint32_t k, int *cpu);

#endif
