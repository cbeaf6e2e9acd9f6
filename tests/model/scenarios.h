/* SPDX-License-Identifier: MIT */
/* The suites of scenarios. */
#ifndef MODEL_SCENARIOS_H
#define MODEL_SCENARIOS_H

#include "engine.h"

extern const struct model_scenario model_litmus[];
extern const size_t model_litmus_count;

extern const struct model_scenario model_task[];
extern const size_t model_task_count;
extern const struct model_scenario model_move[];
extern const size_t model_move_count;
extern const struct model_scenario model_seat[];
extern const size_t model_seat_count;
extern const struct model_scenario model_worker[];
extern const size_t model_worker_count;
extern const struct model_scenario model_crew[];
extern const size_t model_crew_count;
extern const struct model_scenario model_watchdog[];
extern const size_t model_watchdog_count;
extern const struct model_scenario model_timer[];
extern const size_t model_timer_count;
extern const struct model_scenario model_watch[];
extern const size_t model_watch_count;
extern const struct model_scenario model_waiter[];
extern const size_t model_waiter_count;
extern const struct model_scenario model_served[];
extern const size_t model_served_count;
extern const struct model_scenario model_future[];
extern const size_t model_future_count;
extern const struct model_scenario model_room[];
extern const size_t model_room_count;
extern const struct model_scenario model_permits[];
extern const size_t model_permits_count;
extern const struct model_scenario model_channel[];
extern const size_t model_channel_count;
extern const struct model_scenario model_parker[];
extern const size_t model_parker_count;
extern const struct model_scenario model_deque[];
extern const size_t model_deque_count;
extern const struct model_scenario model_job[];
extern const size_t model_job_count;

/* A scenario that must fail, and part of what it must say. */
struct model_broken {
    struct model_scenario scenario;
    const char *says;
};
extern const struct model_broken model_broken[];
extern const size_t model_broken_count;

#endif
