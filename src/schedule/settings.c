/* SPDX-License-Identifier: MIT */
/* From the public configuration to that of the core. */
#include "schedule/settings.h"

#include "base/sized.h"
#include "schedule/core/tick_heap.h"

#include <string.h>

/* ---- names of fields ---- */

struct field {
    const char *core;
    const char *public;
};

/* What the core calls the fields, where the public name is another; all public names are static. */
static const struct field fields[] = {
    {"resolution_ns", "schedule.resolution_ns"},
    {"profile", "schedule.profile"},
    {"capacity.system_quota", "schedule.system_quota"},
    {"capacity.overflow", "schedule.overflow_capacity"},
    {"capacity.task_run", "schedule.task_run_capacity"},
    {"adaptive_quota", "schedule.adaptive_quota"},
    {"catch_up_window_ns", "schedule.catch_up_window_ns"},
    {"catch_up_chunk_ticks", "schedule.catch_up_chunk_ticks"},
    {"overflow_threshold_pct", "schedule.overflow_threshold_pct"},
    {"drift_budget_pct", "schedule.drift_budget_pct"},
    {"diagnostics_queue_capacity", "schedule.diagnostics_queue_capacity"},
    {"log_capacity", "schedule.log_capacity"},
    {"without_modes", "schedule.without_modes"},
    {"policies", "schedule.policies"},
    {"shape", "schedule.wheel_slots"},
    {"reinsertion_batch_limit", "schedule.reinsertion_batch_limit"},
};

static const char *public_name(const char *core) {
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (strcmp(fields[i].core, core) == 0)
            return fields[i].public;
    }
    return "schedule";
}

/* ---- lists ---- */

/* Element i of an array of public structs, of which the caller may know an older form. */
static void read_element(void *to, size_t full, const void *array, size_t size, uint32_t i) {
    memset(to, 0, full);
    memcpy(to, (const char *)array + i * size, size);
}

static jzx_dispatcher dispatcher_at(const jzx_schedule_config *config, uint32_t i) {
    jzx_dispatcher dispatcher;
    read_element(&dispatcher, sizeof dispatcher, config->dispatchers, config->dispatcher_size, i);
    return dispatcher;
}

static jzx_schedule_policy policy_at(const jzx_schedule_config *config, uint32_t i) {
    jzx_schedule_policy policy;
    read_element(&policy, sizeof policy, config->policies, config->policy_size, i);
    return policy;
}

static bool is_name(const char *name) {
    return name != NULL && name[0] != '\0' && strnlen(name, JZX_NAME_MAX + 1) <= JZX_NAME_MAX;
}

/* The number of the dispatcher of that name among the first `count` of the list, from 1 on; 0: none
 * of them. */
static uint32_t find_dispatcher(const jzx_schedule_config *config, const char *name,
                                uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(dispatcher_at(config, i).name, name) == 0)
            return i + 1;
    }
    return 0;
}

/* ---- checks ---- */

static bool dispatchers_are_fine(const jzx_schedule_config *config) {
    if (config->dispatcher_count == 0)
        return true;
    if (config->dispatchers == NULL || config->dispatcher_count >= JZX__DISPATCHERS_MAX ||
        config->dispatcher_size < sizeof(const char *) ||
        config->dispatcher_size > sizeof(jzx_dispatcher))
        return false;
    for (uint32_t i = 0; i < config->dispatcher_count; i++) {
        jzx_dispatcher dispatcher = dispatcher_at(config, i);
        if (!is_name(dispatcher.name) || (unsigned)dispatcher.priority > JZX_PRIORITY_LOW ||
            find_dispatcher(config, dispatcher.name, i) != 0)
            return false;
    }
    return true;
}

static bool policy_is_fine(const jzx_schedule_config *config, const jzx_schedule_policy *policy) {
    if (policy->affinity == JZX_SCHEDULE_SUBSYSTEM)
        return is_name(policy->name) && (unsigned)policy->priority <= JZX_JOB_PRIORITY_HIGH;
    if (policy->affinity != JZX_SCHEDULE_DISPATCHER)
        return false;
    if (policy->name != NULL &&
        (!is_name(policy->name) ||
         find_dispatcher(config, policy->name, config->dispatcher_count) == 0))
        return false;
    return (unsigned)policy->priority <= JZX_JOB_PRIORITY_NORMAL;
}

static bool policies_are_fine(const jzx_schedule_config *config) {
    if (config->policy_count == 0)
        return true;
    if (config->policies == NULL || config->policy_count > JZX__POLICIES_MAX ||
        config->policy_size < sizeof(const char *) ||
        config->policy_size > sizeof(jzx_schedule_policy))
        return false;
    for (uint32_t i = 0; i < config->policy_count; i++) {
        jzx_schedule_policy policy = policy_at(config, i);
        if (!policy_is_fine(config, &policy))
            return false;
    }
    return true;
}

static const char *wrong_driver_field(const jzx_schedule_config *config, bool has_manual_clock) {
    bool is_foreign = config->driver_kind == JZX_DRIVER_FOREIGN;
    if ((unsigned)config->driver_kind > JZX_DRIVER_MANUAL)
        return "schedule.driver_kind";
    if (config->driver_kind == JZX_DRIVER_MANUAL && (!config->test_mode || !has_manual_clock))
        return "schedule.driver_kind"; /* production refuses ticks by hand */
    if (config->driver_kind == JZX_DRIVER_THREAD && has_manual_clock)
        return "schedule.driver_kind"; /* it cannot know when the clock is moved */
    if (config->driver != NULL && (!is_foreign || config->driver->name == NULL))
        return "schedule.driver";
    if (config->clock != NULL && (!is_foreign || config->clock->now_ns == NULL ||
                                  (unsigned)config->clock->kind > JZX_TICK_CLOCK_REALTIME_HARDWARE))
        return "schedule.clock";
    return NULL;
}

static const char *wrong_timer_field(const jzx_schedule_config *config) {
    const jzx_tick_timer *timer = config->timer;
    if ((unsigned)config->timer_kind > JZX_TICK_TIMER_FOREIGN)
        return "schedule.timer_kind";
    if ((timer != NULL) != (config->timer_kind == JZX_TICK_TIMER_FOREIGN))
        return "schedule.timer";
    if (timer != NULL && (timer->create == NULL || timer->insert == NULL || timer->cancel == NULL ||
                          timer->poll_expired == NULL || timer->next == NULL))
        return "schedule.timer";
    return NULL;
}

/* False if its size is wrong. NULL: the defaults. */
static bool read_task_run(const jzx_schedule_config *config, jzx_task_run_policy *policy) {
    *policy = (jzx_task_run_policy){.size = sizeof *policy};
    return config->task_run_policy == NULL ||
           jzx__read_sized(policy, sizeof *policy, config->task_run_policy);
}

static bool is_close_priority(jzx_close_priority priority) {
    return (unsigned)priority <= JZX_CLOSE_USER;
}

static bool task_run_is_fine(const jzx_schedule_config *config) {
    jzx_task_run_policy policy;
    return read_task_run(config, &policy) &&
           policy.capacity <= jzx__schedule_capacity_of(JZX__PROFILE_LARGE).task_run &&
           is_close_priority(policy.delays) && is_close_priority(policy.remoting) &&
           is_close_priority(policy.actor_timers) && is_close_priority(policy.user_hooks);
}

/* The core's part of it, with defaults to come. */
static struct jzx__schedule_config core_config(const jzx_schedule_config *config) {
    struct jzx__schedule_config core = {
        .resolution_ns = config->resolution_ns,
        .profile = (enum jzx__schedule_profile)config->profile,
        .capacity = {config->system_quota, config->overflow_capacity, config->task_run_capacity},
        .adaptive_quota = config->adaptive_quota,
        .slot_capacity = config->slot_capacity,
        .overflow_threshold_pct = config->overflow_threshold_pct,
        .reinsertion_batch_limit = config->reinsertion_batch_limit,
        .catch_up_window_ns = config->catch_up_window_ns,
        .catch_up_chunk_ticks = config->catch_up_chunk_ticks,
        .drift_budget_pct = config->drift_budget_pct,
        .tick_buffer_quota = config->tick_buffer_quota,
        .cooldown_ticks = config->cooldown_ticks,
        .gauge_engaged_ticks = config->gauge_engaged_ticks,
        .stalled_after_ticks = config->stalled_after_ticks,
        .diagnostics_queue_capacity = config->diagnostics_queue_capacity,
        .log_capacity = config->log_capacity,
        .without_modes = config->without_modes,
        .test_mode = config->test_mode,
    };
    memcpy(core.shape.slots, config->wheel_slots, sizeof core.shape.slots);
    return core;
}

const char *jzx__settings_wrong(const jzx_schedule_config *config, bool has_manual_clock) {
    jzx_schedule_config full;
    if (config == NULL)
        return NULL;
    if (!jzx__read_sized(&full, sizeof full, config))
        return "schedule.size";
    struct jzx__schedule_config core = core_config(&full);
    struct jzx__schedule_config_check check = jzx__schedule_resolve(&core, &core);
    if (check.error != JZX__CONFIG_OK)
        return public_name(check.field);
    if (!dispatchers_are_fine(&full))
        return "schedule.dispatchers";
    if (!policies_are_fine(&full))
        return "schedule.policies";
    if (!task_run_is_fine(&full))
        return "schedule.task_run_policy";
    if (full.without_probes > JZX_SCHEDULE_WITHOUT_PROBES)
        return "schedule.without_probes";
    const char *wrong = wrong_timer_field(&full);
    return wrong != NULL ? wrong : wrong_driver_field(&full, has_manual_clock);
}

/* ---- filling ---- */

static void fill_dispatchers(struct jzx__settings *settings, const jzx_schedule_config *config) {
    settings->dispatchers[0].priority = JZX_PRIORITY_CRITICAL;
    settings->dispatcher_count = 1 + config->dispatcher_count;
    for (uint32_t i = 0; i < config->dispatcher_count; i++) {
        jzx_dispatcher from = dispatcher_at(config, i);
        struct jzx__dispatcher *to = &settings->dispatchers[i + 1];
        memcpy(to->name, from.name, strlen(from.name) + 1);
        to->priority = (uint8_t)(from.priority == JZX_PRIORITY_DEFAULT ? JZX_PRIORITY_CRITICAL
                                                                       : from.priority);
        to->place = from.place;
    }
}

static void fill_policies(struct jzx__settings *settings, const jzx_schedule_config *config) {
    for (uint32_t i = 0; i < config->policy_count; i++) {
        jzx_schedule_policy from = policy_at(config, i);
        bool is_subsystem = from.affinity == JZX_SCHEDULE_SUBSYSTEM;
        uint32_t number =
            from.name == NULL ? 0 : find_dispatcher(config, from.name, config->dispatcher_count);
        settings->rules[i] = (struct jzx__policy_rule){
            .affinity = {is_subsystem ? JZX__AFFINITY_SUBSYSTEM : JZX__AFFINITY_DISPATCHER,
                         is_subsystem ? i : number},
            .policy = {(enum jzx__job_priority)from.priority, from.backlog_limit,
                       from.burst_threshold}};
        if (is_subsystem)
            memcpy(settings->names[i], from.name, strlen(from.name) + 1);
    }
}

static const jzx_tick_timer *fill_timer(struct jzx__settings *settings,
                                        const jzx_schedule_config *config) {
    if (config->timer_kind == JZX_TICK_TIMER_HEAP)
        return &jzx__tick_heap;
    if (config->timer_kind != JZX_TICK_TIMER_FOREIGN)
        return NULL;
    settings->timer = *config->timer;
    return &settings->timer;
}

void jzx__settings_fill(struct jzx__settings *settings, const jzx_schedule_config *config) {
    jzx_schedule_config full = JZX_SCHEDULE_CONFIG();
    if (config != NULL)
        (void)jzx__read_sized(&full, sizeof full, config); /* as the check has found */
    memset(settings, 0, sizeof *settings);
    fill_dispatchers(settings, &full);
    fill_policies(settings, &full);
    struct jzx__schedule_config core = core_config(&full);
    core.timer = fill_timer(settings, &full);
    core.policies = settings->rules;
    core.policies_count = full.policy_count;
    (void)jzx__schedule_resolve(&core, &settings->core); /* as the check has found */
    settings->without_probes = full.without_probes;
    (void)read_task_run(&full, &settings->task_run);
    if (settings->task_run.capacity != 0)
        settings->core.capacity.task_run = settings->task_run.capacity;
    settings->driver_kind =
        full.driver_kind == JZX_DRIVER_DEFAULT ? JZX_DRIVER_AUTOMATIC : full.driver_kind;
    settings->has_driver = full.driver != NULL;
    if (full.driver != NULL)
        settings->driver = *full.driver;
    if (full.clock != NULL)
        settings->clock = *full.clock;
}

uint32_t jzx__settings_dispatcher(const struct jzx__settings *settings, const char *name) {
    for (uint32_t i = 1; i < settings->dispatcher_count; i++) {
        if (strcmp(settings->dispatchers[i].name, name) == 0)
            return i;
    }
    return UINT32_MAX;
}

uint32_t jzx__settings_subsystem(const struct jzx__settings *settings, const char *name) {
    for (uint32_t i = 0; name[0] != '\0' && i < settings->core.policies_count; i++) {
        if (strcmp(settings->names[i], name) == 0)
            return i;
    }
    return UINT32_MAX;
}

jzx_err jzx_schedule_config_init(jzx_schedule_config *config, size_t size) {
    const jzx_schedule_config full = JZX_SCHEDULE_CONFIG();
    return jzx__init_sized(config, size, &full, sizeof full) ? JZX_OK : JZX_ERR_INVALID_ARG;
}

jzx_err jzx_schedule_config_check(const jzx_schedule_config *config, const char **field) {
    /* The clock of the loop is not known here: the kinds that depend on it are refused later. */
    bool is_manual = config != NULL && jzx__size_of(config) == sizeof *config &&
                     config->driver_kind == JZX_DRIVER_MANUAL;
    const char *wrong = jzx__settings_wrong(config, is_manual);
    if (wrong != NULL && field != NULL)
        *field = wrong;
    return wrong == NULL ? JZX_OK : JZX_ERR_INVALID_ARG;
}
