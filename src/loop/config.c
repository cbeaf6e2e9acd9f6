/* SPDX-License-Identifier: MIT */
/* Defaults and checks of a configuration. */
#include "jzx/config.h"

#include "loop/config.h"

#include "base/alloc.h"
#include "base/log.h"

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
}

void jzx_config_init(jzx_config *config) {
    if (config == NULL)
        return;
    *config = JZX_CONFIG();
    jzx__config_fill(config);
}

static const char *wrong_field(const jzx_config *config) {
    if (config->size != sizeof *config)
        return "size";
    if ((config->allocator.alloc == NULL) != (config->allocator.free == NULL) ||
        (config->allocator.alloc == jzx__allocator_default.alloc) !=
            (config->allocator.free == jzx__allocator_default.free))
        return "allocator"; /* both, or none */
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
    return NULL;
}

jzx_err jzx_config_check(const jzx_config *config, const char **field) {
    const char *wrong = config == NULL ? NULL : wrong_field(config);
    if (wrong == NULL)
        return JZX_OK;
    if (field != NULL)
        *field = wrong;
    return JZX_ERR_INVALID_ARG;
}
