/* SPDX-License-Identifier: MIT */
/* The load of the system, as probes report it: mailboxes, dispatchers, the runtime itself. Each
 * probe is sampled at most once per tick. Reports that arrive between ticks wait for the next one,
 * so that a run on virtual time is the same every time.
 *
 * The library registers probes of its own when a scheduler is made. They are sampled at ticks that
 * have something to do, and when a job is added; they do not make time go on by themselves, as a
 * probe of the program does. */
#ifndef JZX_SCHEDULE_CORE_GAUGE_H
#define JZX_SCHEDULE_CORE_GAUGE_H

#include "base/atomic.h"

#include <stdbool.h>
#include <stdint.h>

#define JZX__PROBES_MAX 8u      /* of the program */
#define JZX__PROBES_OWN 3u      /* of the library: one of each kind */
#define JZX__LOAD_FULL 1000u    /* loads are in thousandths */
#define JZX__LOAD_CRITICAL 800u /* from here on the load counts */

enum jzx__probe_kind { JZX__PROBE_MAILBOX, JZX__PROBE_DISPATCHER_LOAD, JZX__PROBE_RUNTIME };

#define JZX__PROBE_BIT(kind) (1u << (kind))

struct jzx__probe {
    const char *name; /* outlives the scheduler */
    enum jzx__probe_kind kind;
    uint32_t (*sample)(void *ctx); /* 0 .. JZX__LOAD_FULL */
    void *ctx;
};

struct jzx__gauge {
    struct jzx__probe probes[JZX__PROBES_OWN + JZX__PROBES_MAX]; /* those of the library first */
    uint32_t samples[JZX__PROBES_OWN + JZX__PROBES_MAX];         /* of the last poll */
    uint32_t count;
    uint32_t own_count;           /* of them those of the library */
    uint32_t kinds;               /* JZX__PROBE_BIT: critical at the last poll that was critical */
    uint32_t critical_ticks;      /* in a row */
    uint32_t engaged_ticks;       /* so many of them raise */
    uint32_t load;                /* of the last poll */
    _Atomic uint32_t pushed_load; /* the largest report since; by any thread, taken by the owner */
};

enum jzx__gauge_level {
    JZX__GAUGE_CLEAR,
    JZX__GAUGE_CRITICAL, /* not for long enough */
    JZX__GAUGE_ENGAGED
};

void jzx__gauge_init(struct jzx__gauge *gauge, uint32_t engaged_ticks);

/* Owner. One of the library, before all others. */
void jzx__gauge_register_own(struct jzx__gauge *gauge, struct jzx__probe probe);

/* Owner. False: there are JZX__PROBES_MAX already. */
bool jzx__gauge_register(struct jzx__gauge *gauge, struct jzx__probe probe);

/* Any thread. Counts at the next poll. */
void jzx__gauge_push(struct jzx__gauge *gauge, uint32_t load);

/* Owner, once per tick: samples every probe; the largest load counts. */
enum jzx__gauge_level jzx__gauge_poll(struct jzx__gauge *gauge);

/* True if there must be polls: the program has a probe, or the last poll was not clear, or a report
 * waits. */
bool jzx__gauge_is_active(const struct jzx__gauge *gauge);

#endif
