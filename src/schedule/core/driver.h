/* SPDX-License-Identifier: MIT */
/* Tick drivers, and what the runner concludes from their backlog.
 *
 * A driver announces ticks to a tick source and does nothing else. Three kinds: **automatic** (the
 * worker's own wheel, or a thread), **foreign** (a thread of the program, or an interrupt), and
 * **manual** (a test, by jzx__schedule_advance; refused unless the configuration is for tests).
 *
 * The backlog is judged against the catch-up window, never clamped to it:
 *
 *   above 0.8 windows             the ticks are made up in mode CATCH_UP
 *   above 1 window                status Backpressured; passes get shorter until it clears
 *   above 2 windows, twice        the driver is far behind: the scheduler rejects
 *   below 0.8 windows             status Ok
 *   below 0.5 windows             a scheduler that rejects for the driver's sake recovers */
#ifndef JZX_SCHEDULE_CORE_DRIVER_H
#define JZX_SCHEDULE_CORE_DRIVER_H

#include "schedule/core/ticks.h"

#include <stddef.h>

enum jzx__driver_kind { JZX__DRIVER_AUTOMATIC, JZX__DRIVER_FOREIGN, JZX__DRIVER_MANUAL };

enum jzx__driver_error {
    JZX__DRIVER_OK,
    JZX__DRIVER_SPAWN_FAILED,
    JZX__DRIVER_HANDLE_UNAVAILABLE,
    JZX__DRIVER_UNSUPPORTED_ENVIRONMENT,
    JZX__DRIVER_DRIFT_EXCEEDED,
    JZX__DRIVER_STOPPED,
    JZX__DRIVER_UNSUPPORTED_EXECUTOR,
    JZX__DRIVER_INVALID_RESOLUTION
};

struct jzx__driver {
    enum jzx__driver_kind kind;
    const char *name; /* static */
    void *ctx;
    /* From now on the driver may announce ticks. NULL: nothing to start. */
    enum jzx__driver_error (*start)(void *ctx, struct jzx__tick_source *source,
                                    uint32_t resolution_ns);
    /* When it returns no tick is announced any more. NULL: nothing to stop. */
    void (*stop)(void *ctx);
    /* By how much the driver itself is known to be late. NULL: not at all. */
    uint64_t (*jitter_ns)(void *ctx);
};

enum jzx__driver_status {
    JZX__DRIVER_STATUS_OK,
    JZX__DRIVER_STATUS_BACKPRESSURED,
    JZX__DRIVER_STATUS_SUSPENDED, /* while the scheduler shuts down, and before it starts */
    JZX__DRIVER_STATUS_STALLED    /* no ticks although time passes */
};

struct jzx__tick_runner {
    uint32_t window_ticks;
    uint32_t chunk_ticks_max; /* as configured */
    uint32_t chunk_ticks;     /* ticks per pass now */
    uint32_t buffer_quota;    /* ticks that a bounded buffer would hold; nothing is dropped */
    uint64_t owed;            /* pulled and not run yet */
    enum jzx__driver_status status;
    uint32_t far_behind; /* observations above two windows in a row, up to 2 */

    uint64_t backlog_peak;
    uint64_t overflow_events;  /* observations above the window */
    uint64_t catch_ups;        /* observations in mode CATCH_UP */
    uint64_t buffer_overflows; /* observations above buffer_quota */
};

/* What one look at the backlog asks for. */
struct jzx__tick_verdict {
    enum jzx__tick_mode mode;
    bool status_changed;
    bool raises;      /* the driver is late now */
    bool clears;      /* it is not, any more or still */
    bool recovered;   /* below half a window */
    bool is_exceeded; /* far behind for the second time in a row */
};

void jzx__tick_runner_init(struct jzx__tick_runner *runner, uint32_t window_ticks,
                           uint32_t chunk_ticks);

/* Judges what is owed, before it is run. */
struct jzx__tick_verdict jzx__tick_runner_observe(struct jzx__tick_runner *runner);

/* The ticks of the next pass. */
uint32_t jzx__tick_runner_chunk(const struct jzx__tick_runner *runner);

/* Returns whether it is another one. */
bool jzx__tick_runner_set_status(struct jzx__tick_runner *runner, enum jzx__driver_status status);

#endif
