/* SPDX-License-Identifier: MIT */
/* Where overload meets the jobs: what the driver and the gauge say goes into the state machine, and
 * each change of state is told, published to all threads, and acted on. Owner only. */
#ifndef JZX_SCHEDULE_CORE_PRESSURE_H
#define JZX_SCHEDULE_CORE_PRESSURE_H

#include "schedule/core/schedule.h"

/* One look at the backlog, before it is run. */
enum jzx__tick_mode jzx__pressure_observe_driver(struct jzx__schedule *s);

/* A job is about to be added: samples the probes of the library, unless this tick has done so or
 * ticks go on anyway. */
void jzx__pressure_look(struct jzx__schedule *s);

/* Once per tick, before its jobs: the probes, and the cooldown; and after them: the quota. */
void jzx__pressure_tick(struct jzx__schedule *s);
void jzx__pressure_end_tick(struct jzx__schedule *s);

/* The adaptive quota is used up. */
void jzx__pressure_exhausted(struct jzx__schedule *s);

void jzx__pressure_set_driver_status(struct jzx__schedule *s, enum jzx__driver_status status);

/* Why the state is what it is: JZX__BP_BY_*, and the kinds of probes. */
uint32_t jzx__pressure_reasons(const struct jzx__schedule *s);

/* True while time must go on although no job waits: a cooldown, a load to be looked at. */
bool jzx__pressure_needs_ticks(const struct jzx__schedule *s);

#endif
