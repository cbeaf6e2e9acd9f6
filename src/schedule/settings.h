/* SPDX-License-Identifier: MIT */
/* The configuration of a scheduler as its parts see it: checked, copied, without zero fields. */
#ifndef JZX_SCHEDULE_SETTINGS_H
#define JZX_SCHEDULE_SETTINGS_H

#include "schedule/core/config.h"

#include "jzx/schedule_admin.h"

#define JZX__DISPATCHERS_MAX 256u /* the default one among them */
#define JZX__POLICIES_MAX 256u

struct jzx__dispatcher {
    char name[JZX_NAME_MAX + 1];
    uint8_t priority;
    uint16_t place;
};

/* One block of memory, constant once it is made. */
struct jzx__settings {
    struct jzx__schedule_config core;
    jzx_driver_kind driver_kind;
    uint32_t without_probes;      /* JZX__PROBE_BIT */
    jzx_task_run_policy task_run; /* without the capacity, which is in core */
    jzx_tick_driver driver;
    bool has_driver;
    jzx_tick_clock clock; /* now_ns NULL: that of the loop */
    jzx_tick_timer timer; /* of the program; see core.timer */
    uint32_t dispatcher_count;
    struct jzx__dispatcher dispatchers[JZX__DISPATCHERS_MAX];
    char names[JZX__POLICIES_MAX][JZX_NAME_MAX + 1]; /* of subsystems, by key; "": none */
    struct jzx__policy_rule rules[JZX__POLICIES_MAX];
};

/* NULL, or the name of the field that is wrong. has_manual_clock: of the loop. */
const char *jzx__settings_wrong(const jzx_schedule_config *config, bool has_manual_clock);

/* Fills *settings from a configuration that is not wrong; NULL: the defaults. */
void jzx__settings_fill(struct jzx__settings *settings, const jzx_schedule_config *config);

/* The number of a dispatcher, or the key of a subsystem; UINT32_MAX: there is none of that name. */
uint32_t jzx__settings_dispatcher(const struct jzx__settings *settings, const char *name);
uint32_t jzx__settings_subsystem(const struct jzx__settings *settings, const char *name);

#endif
