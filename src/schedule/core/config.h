/* SPDX-License-Identifier: MIT */
/* The configuration of a scheduler: capacity profiles, windows, limits. 0 always means the default.
 * jzx__schedule_resolve fills the defaults in and names the field that is wrong, so that a mistake
 * aborts the start and nothing is dropped in silence later. */
#ifndef JZX_SCHEDULE_CORE_CONFIG_H
#define JZX_SCHEDULE_CORE_CONFIG_H

#include "jzx/tick_timer.h"

#include "schedule/core/batch.h"
#include "schedule/core/policy.h"
#include "time/wheel.h"

#include <stdbool.h>
#include <stdint.h>

enum jzx__schedule_profile {
    JZX__PROFILE_DEFAULT, /* Standard */
    JZX__PROFILE_TINY,
    JZX__PROFILE_SMALL,
    JZX__PROFILE_STANDARD,
    JZX__PROFILE_LARGE,
    JZX__PROFILE_CUSTOM /* `capacity` says */
};

struct jzx__schedule_capacity {
    uint32_t system_quota; /* jobs alive, of all kinds */
    uint32_t overflow;     /* of them beyond the timer's span */
    uint32_t task_run;     /* close tasks */
};

enum jzx__schedule_platform { JZX__PLATFORM_HOST, JZX__PLATFORM_EMBEDDED };

/* Bits of modes that a scheduler shall not offer. */
#define JZX__WITHOUT_FIXED_RATE 1u
#define JZX__WITHOUT_FIXED_DELAY 2u

struct jzx__schedule_config {
    uint32_t resolution_ns; /* of a tick; 10 ms */
    enum jzx__schedule_platform platform;
    enum jzx__schedule_profile profile;
    struct jzx__schedule_capacity capacity;
    uint32_t adaptive_quota;             /* while backpressure is engaged; half of the quota */
    uint32_t slot_capacity;              /* jobs due at one tick; 1,024 */
    uint32_t overflow_threshold_pct;     /* of the overflow, where eager reinsertion begins; 75 */
    uint32_t reinsertion_batch_limit;    /* from the overflow, per tick; 100 */
    uint64_t catch_up_window_ns;         /* 50 ms, at most the platform's limit */
    uint32_t catch_up_chunk_ticks;       /* per pass; min(1024, window) */
    uint32_t tick_buffer_quota;          /* ticks that wait, above which it is counted;
                                          * max(32, system_quota / 8) */
    uint32_t drift_budget_pct;           /* of the resolution; 5 */
    uint32_t cooldown_ticks;             /* in Rejecting; 5 */
    uint32_t gauge_engaged_ticks;        /* in a row, until the gauge raises; 2 */
    uint32_t stalled_after_ticks;        /* without a tick; 4 windows */
    uint32_t diagnostics_queue_capacity; /* of each subscriber; 256 */
    uint32_t log_capacity;               /* records of the deterministic log; none */
    uint32_t without_modes;              /* JZX__WITHOUT_*; none */
    bool test_mode;                      /* allows ticks by hand */
    struct jzx__wheel_shape shape;       /* JZX__WHEEL_SHAPE; its span is that of every timer */
    const jzx_tick_timer *timer;         /* outlives the scheduler; NULL: a wheel of that shape */
    const struct jzx__policy_rule *policies; /* outlive the scheduler */
    uint32_t policies_count;

    uint32_t catch_up_window_ticks; /* derived */
};

enum jzx__schedule_config_error {
    JZX__CONFIG_OK,
    JZX__CONFIG_INVALID_RESOLUTION,
    JZX__CONFIG_INVALID_VALUE,
    JZX__CONFIG_CAPACITY_TOO_LARGE,
    JZX__CONFIG_CATCH_UP_WINDOW_TOO_LARGE,
    JZX__CONFIG_CHUNK_TOO_LARGE,
    JZX__CONFIG_INVALID_SHAPE
};

struct jzx__schedule_config_check {
    enum jzx__schedule_config_error error;
    const char *field; /* static; NULL if nothing is wrong */
};

/* *out is *config with defaults and derived values; untouched on an error. */
struct jzx__schedule_config_check jzx__schedule_resolve(const struct jzx__schedule_config *config,
                                                        struct jzx__schedule_config *out);

/* The table of profiles. Profiles other than the four give Standard. */
struct jzx__schedule_capacity jzx__schedule_capacity_of(enum jzx__schedule_profile profile);

/* The longest catch-up window of a platform. */
uint32_t jzx__catch_up_limit(enum jzx__schedule_platform platform);

/* The window for the longest pause that a driver is known to make. */
uint32_t jzx__catch_up_window_for(uint64_t pause_ns, uint32_t resolution_ns);

struct jzx__schedule_capabilities {
    uint32_t max_frequency_hz;
    uint32_t min_delay_ticks;
    uint64_t tick_resolution_ns;
    bool fixed_rate;
    bool fixed_delay;
    bool manual_clock;
};

/* Of a resolved configuration. */
struct jzx__schedule_capabilities
jzx__schedule_capabilities_of(const struct jzx__schedule_config *config);
bool jzx__schedule_capabilities_are_valid(const struct jzx__schedule_capabilities *capabilities);
bool jzx__schedule_offers(const struct jzx__schedule_config *config, enum jzx__job_mode mode);

/* 1e9 / resolution, in Hz. */
uint32_t jzx__max_frequency(uint32_t resolution_ns);

#endif
