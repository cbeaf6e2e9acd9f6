/* SPDX-License-Identifier: MIT */
/* Defaults and checks of a configuration. */
#include "jzx/config.h"

#include "loop/config.h"

#include "base/alloc.h"
#include "base/cpus.h"
#include "base/log.h"
#include "base/sized.h"
#include "sched/crew.h"
#include "schedule/settings.h"

#include "jzx/time.h"

#include <signal.h>
#include <string.h>

#define LOCAL_QUEUE_SIZE_MAX 1048576u

static void default_to(uint32_t *field, uint32_t value) {
    if (*field == 0)
        *field = value;
}

void jzx__config_fill(jzx_config *config) {
    if (config->allocator.alloc == NULL)
        config->allocator = jzx__allocator_default;
    jzx__log_defaults(&config->log);
    default_to(&config->max_actors, JZX_DEFAULT_MAX_ACTORS);
    default_to(&config->default_mailbox_cap, JZX_DEFAULT_MAILBOX_CAP);
    default_to(&config->max_msgs_per_actor, JZX_DEFAULT_MSGS_PER_ACTOR);
    default_to(&config->max_actors_per_tick, JZX_DEFAULT_ACTORS_PER_TICK);
    default_to(&config->max_async_drain, JZX_DEFAULT_ASYNC_DRAIN);
    if (config->max_actors == JZX_UNLIMITED)
        config->max_actors = JZX_ACTORS_MAX;
    if (config->balance == JZX_BALANCE_DEFAULT)
        config->balance = JZX_BALANCE_ADAPTIVE;
    if (config->thread_name == NULL)
        config->thread_name = "jzx";
    if (config->stall_after_ns == 0)
        config->stall_after_ns = JZX_DEFAULT_STALL_AFTER_NS;
    if (config->relieve_after_ns == 0)
        config->relieve_after_ns = JZX_DEFAULT_RELIEVE_AFTER_NS;
    if (config->clock != NULL) /* how long something takes is not known */
        config->stall_after_ns = config->relieve_after_ns = JZX_NEVER;
    if (config->deadlock_after_ns == 0)
        config->deadlock_after_ns = JZX_DEFAULT_DEADLOCK_AFTER_NS;
    default_to(&config->local_queue_size, JZX_DEFAULT_LOCAL_QUEUE_SIZE);
    default_to(&config->global_queue_size, JZX_DEFAULT_GLOBAL_QUEUE_SIZE);
    default_to(&config->steal_batch, JZX_DEFAULT_STEAL_BATCH);
    default_to(&config->max_groups, JZX_UNLIMITED);
    default_to(&config->max_members_per_group, JZX_UNLIMITED);
    default_to(&config->max_group_events, 64);
    default_to(&config->max_calls, JZX_DEFAULT_MAX_CALLS);
    if (config->on_wait == JZX_ON_WAIT_DEFAULT)
        config->on_wait = JZX_ON_WAIT_REFUSE;
    if (config->on_stall == JZX_ON_STALL_DEFAULT)
        config->on_stall = JZX_ON_STALL_GO_ON;
    default_to(&config->max_io_watchers, JZX_DEFAULT_MAX_IO_WATCHERS);
    default_to(&config->urgent_cap, JZX_DEFAULT_URGENT_CAP);
}

/* What depends on the machine, and is not written into a user's configuration. */
static void fill_threads(jzx_config *config) {
    if (config->workers == 0)
        config->workers = jzx__cpus_available(&config->allocator);
    if (config->workers > JZX_WORKERS_MAX)
        config->workers = JZX_WORKERS_MAX;
    if (config->spare_threads_max == JZX_NONE)
        config->spare_threads_max = 0;
    else if (config->spare_threads_max == 0)
        config->spare_threads_max = JZX_DEFAULT_SPARE_THREADS;
}

void jzx__config_settle(jzx_config *config) {
    jzx__config_fill(config);
    fill_threads(config);
}

jzx_err jzx_config_init(jzx_config *config, size_t size) {
    jzx_config full = JZX_CONFIG();
    jzx__config_fill(&full);
    return jzx__init_sized(config, size, &full, sizeof full) ? JZX_OK : JZX_ERR_INVALID_ARG;
}

jzx_err jzx_config_init_one_thread(jzx_config *config, size_t size) {
    jzx_config full = JZX_CONFIG_ONE_THREAD();
    jzx__config_fill(&full);
    return jzx__init_sized(config, size, &full, sizeof full) ? JZX_OK : JZX_ERR_INVALID_ARG;
}

static bool is_power_of_two(uint32_t n) {
    return (n & (n - 1)) == 0;
}

/* Those that cannot be handled, or that mean a fault of the program, are not free for us. */
static bool is_free_signal(int number) {
    return number >= 0 && number <= SIGRTMAX && number != SIGKILL && number != SIGSTOP &&
           number != SIGSEGV && number != SIGBUS && number != SIGFPE && number != SIGILL &&
           number != SIGTRAP && number != SIGABRT;
}

static const char *wrong_thread_field(const jzx_config *config) {
    if (config->workers > JZX_WORKERS_MAX)
        return "workers";
    if ((unsigned)config->balance > JZX_BALANCE_NONE)
        return "balance";
    if (config->thread_name != NULL &&
        strnlen(config->thread_name, JZX__THREAD_NAME_MAX + 1) > JZX__THREAD_NAME_MAX)
        return "thread_name";
    if (!is_free_signal(config->stall_signal))
        return "stall_signal";
    if (!is_power_of_two(config->local_queue_size) ||
        config->local_queue_size > LOCAL_QUEUE_SIZE_MAX)
        return "local_queue_size";
    if (config->global_queue_size == JZX_NONE)
        return "global_queue_size";
    if (config->steal_batch == JZX_NONE)
        return "steal_batch";
    if (config->max_groups == JZX_NONE)
        return "max_groups";
    if (config->max_members_per_group == JZX_NONE)
        return "max_members_per_group";
    if (config->max_group_events == JZX_NONE)
        return "max_group_events";
    if ((config->contain & ~(uint32_t)(JZX_CONTAIN_OVERFLOW | JZX_CONTAIN_FAULTS)) != 0)
        return "contain";
    if (config->max_calls == JZX_NONE)
        return "max_calls";
    if ((unsigned)config->on_wait > JZX_ON_WAIT_ABORT)
        return "on_wait";
    if ((unsigned)config->on_stall > JZX_ON_STALL_FAIL)
        return "on_stall";
    if (config->max_io_watchers == JZX_NONE)
        return "max_io_watchers";
    if (config->urgent_cap > JZX_MAILBOX_CAP_MAX)
        return "urgent_cap";
    if ((unsigned)config->io_backend > JZX_IO_URING)
        return "io_backend";
    return jzx__settings_wrong(config->schedule, config->clock != NULL);
}

static const char *wrong_field(const jzx_config *config) {
    if (!jzx__allocator_is_valid(&config->allocator))
        return "allocator";
    if ((config->mapper.map == NULL) != (config->mapper.unmap == NULL))
        return "mapper"; /* both, or none */
    if ((unsigned)config->log.level > JZX_LOG_DEBUG)
        return "log";
    if (config->max_actors > JZX_ACTORS_MAX && config->max_actors != JZX_UNLIMITED)
        return "max_actors";
    if (config->default_mailbox_cap > JZX_MAILBOX_CAP_MAX)
        return "default_mailbox_cap";
    if (config->max_msgs_per_actor == JZX_NONE)
        return "max_msgs_per_actor";
    if (config->max_actors_per_tick == JZX_NONE)
        return "max_actors_per_tick";
    if (config->max_async_drain == JZX_NONE)
        return "max_async_drain";
    return wrong_thread_field(config);
}

jzx_err jzx_config_check(const jzx_config *config, const char **field) {
    jzx_config full;
    if (config == NULL)
        return JZX_OK;
    const char *wrong = jzx__read_sized(&full, sizeof full, config) ? wrong_field(&full) : "size";
    if (wrong == NULL)
        return JZX_OK;
    if (field != NULL)
        *field = wrong;
    return JZX_ERR_INVALID_ARG;
}
