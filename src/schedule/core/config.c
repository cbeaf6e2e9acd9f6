/* SPDX-License-Identifier: MIT */
/* Defaults, derived values and what is refused. */
#include "schedule/core/config.h"

#include "schedule/core/rate.h"

#define NS_PER_SECOND 1000000000u
#define NS_PER_MS 1000000u

#define DEFAULT_RESOLUTION_NS (10u * NS_PER_MS)
#define DEFAULT_SLOT_CAPACITY 1024u
#define DEFAULT_THRESHOLD_PCT 75u
#define DEFAULT_REINSERTION_LIMIT 100u
#define DEFAULT_WINDOW_NS (50u * NS_PER_MS)
#define DEFAULT_CHUNK_TICKS 1024u
#define DEFAULT_DRIFT_PCT 5u
#define DEFAULT_COOLDOWN_TICKS 5u
#define DEFAULT_ENGAGED_TICKS 2u
#define DEFAULT_STALLED_WINDOWS 4u
#define DEFAULT_DIAGNOSTICS 256u
#define TICK_BUFFER_MIN 32u

#define WINDOW_LIMIT_HOST 32u
#define WINDOW_LIMIT_EMBEDDED 8u
#define DIAGNOSTICS_MAX 65536u
#define LOG_MAX (1u << 24)
#define POLICIES_MAX 256u

static const struct jzx__schedule_capacity profiles[] = {
    [JZX__PROFILE_TINY] = {2048, 512, 128},
    [JZX__PROFILE_SMALL] = {4096, 1024, 256},
    [JZX__PROFILE_STANDARD] = {10240, 2560, 512},
    [JZX__PROFILE_LARGE] = {25600, 6400, 1024},
};

struct jzx__schedule_capacity jzx__schedule_capacity_of(enum jzx__schedule_profile profile) {
    bool listed = profile >= JZX__PROFILE_TINY && profile <= JZX__PROFILE_LARGE;
    return profiles[listed ? profile : JZX__PROFILE_STANDARD];
}

uint32_t jzx__catch_up_limit(enum jzx__schedule_platform platform) {
    return platform == JZX__PLATFORM_EMBEDDED ? WINDOW_LIMIT_EMBEDDED : WINDOW_LIMIT_HOST;
}

uint32_t jzx__catch_up_window_for(uint64_t pause_ns, uint32_t resolution_ns) {
    uint64_t ticks = jzx__ticks_up(pause_ns, resolution_ns);
    return ticks < UINT32_MAX ? (uint32_t)ticks : UINT32_MAX;
}

uint32_t jzx__max_frequency(uint32_t resolution_ns) {
    return NS_PER_SECOND / resolution_ns;
}

/* ---- checks, each of a group of fields ---- */

typedef struct jzx__schedule_config_check check;

static const check fine = {JZX__CONFIG_OK, NULL};

static check wrong(enum jzx__schedule_config_error error, const char *field) {
    return (check){error, field};
}

static void set_default(uint32_t *field, uint32_t value) {
    if (*field == 0)
        *field = value;
}

static check resolve_capacity(struct jzx__schedule_config *c) {
    const struct jzx__schedule_capacity *most = &profiles[JZX__PROFILE_LARGE];
    if (c->profile > JZX__PROFILE_CUSTOM)
        return wrong(JZX__CONFIG_INVALID_VALUE, "profile");
    struct jzx__schedule_capacity capacity = jzx__schedule_capacity_of(c->profile);
    if (c->profile == JZX__PROFILE_CUSTOM) {
        set_default(&c->capacity.system_quota, capacity.system_quota);
        set_default(&c->capacity.overflow, capacity.overflow);
        set_default(&c->capacity.task_run, capacity.task_run);
        capacity = c->capacity;
    }
    c->capacity = capacity;
    if (capacity.system_quota > most->system_quota)
        return wrong(JZX__CONFIG_CAPACITY_TOO_LARGE, "capacity.system_quota");
    if (capacity.overflow > most->overflow)
        return wrong(JZX__CONFIG_CAPACITY_TOO_LARGE, "capacity.overflow");
    if (capacity.task_run > most->task_run)
        return wrong(JZX__CONFIG_CAPACITY_TOO_LARGE, "capacity.task_run");
    uint32_t half = capacity.system_quota / 2;
    set_default(&c->adaptive_quota, half > 0 ? half : 1);
    if (c->adaptive_quota > capacity.system_quota)
        return wrong(JZX__CONFIG_CAPACITY_TOO_LARGE, "adaptive_quota");
    return fine;
}

static check resolve_window(struct jzx__schedule_config *c) {
    uint32_t limit = jzx__catch_up_limit(c->platform);
    uint64_t window_ns = c->catch_up_window_ns != 0 ? c->catch_up_window_ns : DEFAULT_WINDOW_NS;
    uint32_t ticks = jzx__catch_up_window_for(window_ns, c->resolution_ns);
    if (c->catch_up_window_ns == 0 && ticks > limit)
        ticks = limit;
    if (ticks > limit)
        return wrong(JZX__CONFIG_CATCH_UP_WINDOW_TOO_LARGE, "catch_up_window_ns");
    c->catch_up_window_ns = window_ns;
    c->catch_up_window_ticks = ticks;
    set_default(&c->catch_up_chunk_ticks,
                ticks < DEFAULT_CHUNK_TICKS ? ticks : DEFAULT_CHUNK_TICKS);
    if (c->catch_up_chunk_ticks > ticks)
        return wrong(JZX__CONFIG_CHUNK_TOO_LARGE, "catch_up_chunk_ticks");
    set_default(&c->stalled_after_ticks, DEFAULT_STALLED_WINDOWS * ticks);
    return fine;
}

static check resolve_limits(struct jzx__schedule_config *c) {
    uint32_t eighth = c->capacity.system_quota / 8;
    set_default(&c->tick_buffer_quota, eighth > TICK_BUFFER_MIN ? eighth : TICK_BUFFER_MIN);
    set_default(&c->slot_capacity, DEFAULT_SLOT_CAPACITY);
    set_default(&c->overflow_threshold_pct, DEFAULT_THRESHOLD_PCT);
    set_default(&c->reinsertion_batch_limit, DEFAULT_REINSERTION_LIMIT);
    set_default(&c->drift_budget_pct, DEFAULT_DRIFT_PCT);
    set_default(&c->cooldown_ticks, DEFAULT_COOLDOWN_TICKS);
    set_default(&c->gauge_engaged_ticks, DEFAULT_ENGAGED_TICKS);
    set_default(&c->diagnostics_queue_capacity, DEFAULT_DIAGNOSTICS);
    if (c->overflow_threshold_pct > 100)
        return wrong(JZX__CONFIG_INVALID_VALUE, "overflow_threshold_pct");
    if (c->drift_budget_pct > 100)
        return wrong(JZX__CONFIG_INVALID_VALUE, "drift_budget_pct");
    if (c->diagnostics_queue_capacity > DIAGNOSTICS_MAX)
        return wrong(JZX__CONFIG_CAPACITY_TOO_LARGE, "diagnostics_queue_capacity");
    if (c->log_capacity > LOG_MAX)
        return wrong(JZX__CONFIG_CAPACITY_TOO_LARGE, "log_capacity");
    if (c->without_modes > (JZX__WITHOUT_FIXED_RATE | JZX__WITHOUT_FIXED_DELAY))
        return wrong(JZX__CONFIG_INVALID_VALUE, "without_modes");
    return fine;
}

static check check_policies(const struct jzx__schedule_config *c) {
    if (c->policies_count > POLICIES_MAX || (c->policies_count > 0 && c->policies == NULL))
        return wrong(JZX__CONFIG_INVALID_VALUE, "policies_count");
    for (uint32_t i = 0; i < c->policies_count; i++) {
        const struct jzx__policy_rule *rule = &c->policies[i];
        if (!jzx__policy_allows(rule->affinity, rule->policy.priority))
            return wrong(JZX__CONFIG_INVALID_VALUE, "policies");
    }
    return fine;
}

static check resolve_shape(struct jzx__schedule_config *c) {
    bool unset = true;
    for (uint32_t i = 0; i < JZX__WHEEL_LEVELS; i++)
        unset = unset && c->shape.slots[i] == 0;
    if (unset)
        c->shape = JZX__WHEEL_SHAPE;
    uint64_t span = 1;
    for (uint32_t i = 0; i < JZX__WHEEL_LEVELS; i++) {
        uint32_t slots = c->shape.slots[i];
        if (slots < 2 || slots > 4096 || (slots & (slots - 1)) != 0)
            return wrong(JZX__CONFIG_INVALID_SHAPE, "shape");
        span *= slots;
    }
    if (span > JZX__WHEEL_REACH)
        return wrong(JZX__CONFIG_INVALID_SHAPE, "shape");
    /* A full overflow must fit through the batches of one span (P3 of places.h). */
    uint64_t passes = (uint64_t)c->capacity.overflow / c->reinsertion_batch_limit + 2;
    return passes < span ? fine : wrong(JZX__CONFIG_INVALID_VALUE, "reinsertion_batch_limit");
}

struct jzx__schedule_config_check jzx__schedule_resolve(const struct jzx__schedule_config *config,
                                                        struct jzx__schedule_config *out) {
    struct jzx__schedule_config c = *config;
    set_default(&c.resolution_ns, DEFAULT_RESOLUTION_NS);
    if (c.resolution_ns > NS_PER_SECOND)
        return wrong(JZX__CONFIG_INVALID_RESOLUTION, "resolution_ns");
    if (c.platform > JZX__PLATFORM_EMBEDDED)
        return wrong(JZX__CONFIG_INVALID_VALUE, "platform");
    check result = resolve_capacity(&c);
    if (result.error == JZX__CONFIG_OK)
        result = resolve_window(&c);
    if (result.error == JZX__CONFIG_OK)
        result = resolve_limits(&c);
    if (result.error == JZX__CONFIG_OK)
        result = check_policies(&c);
    if (result.error == JZX__CONFIG_OK)
        result = resolve_shape(&c);
    if (result.error == JZX__CONFIG_OK)
        *out = c;
    return result;
}

/* ---- capabilities ---- */

bool jzx__schedule_offers(const struct jzx__schedule_config *config, enum jzx__job_mode mode) {
    switch (mode) {
    case JZX__JOB_ONE_SHOT: return true;
    case JZX__JOB_FIXED_RATE: return (config->without_modes & JZX__WITHOUT_FIXED_RATE) == 0;
    case JZX__JOB_FIXED_DELAY: return (config->without_modes & JZX__WITHOUT_FIXED_DELAY) == 0;
    }
    return false;
}

struct jzx__schedule_capabilities
jzx__schedule_capabilities_of(const struct jzx__schedule_config *config) {
    return (struct jzx__schedule_capabilities){
        .max_frequency_hz = jzx__max_frequency(config->resolution_ns),
        .min_delay_ticks = 1,
        .tick_resolution_ns = config->resolution_ns,
        .fixed_rate = jzx__schedule_offers(config, JZX__JOB_FIXED_RATE),
        .fixed_delay = jzx__schedule_offers(config, JZX__JOB_FIXED_DELAY),
        .manual_clock = config->test_mode};
}

bool jzx__schedule_capabilities_are_valid(const struct jzx__schedule_capabilities *capabilities) {
    return capabilities->max_frequency_hz > 0 && capabilities->min_delay_ticks >= 1;
}
