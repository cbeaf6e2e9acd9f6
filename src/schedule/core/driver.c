/* SPDX-License-Identifier: MIT */
/* Judging the backlog. */
#include "schedule/core/driver.h"

void jzx__tick_runner_init(struct jzx__tick_runner *runner, uint32_t window_ticks,
                           uint32_t chunk_ticks) {
    *runner = (struct jzx__tick_runner){.window_ticks = window_ticks,
                                        .chunk_ticks_max = chunk_ticks,
                                        .chunk_ticks = chunk_ticks,
                                        .buffer_quota = UINT32_MAX,
                                        .status = JZX__DRIVER_STATUS_SUSPENDED};
}

bool jzx__tick_runner_set_status(struct jzx__tick_runner *runner, enum jzx__driver_status status) {
    bool changed = runner->status != status;
    runner->status = status;
    return changed;
}

static void judge_late(struct jzx__tick_runner *runner, struct jzx__tick_verdict *verdict) {
    runner->overflow_events++;
    runner->chunk_ticks = runner->chunk_ticks > 1 ? runner->chunk_ticks / 2 : 1;
    verdict->raises = true;
    verdict->status_changed = jzx__tick_runner_set_status(runner, JZX__DRIVER_STATUS_BACKPRESSURED);
}

static void judge_in_time(struct jzx__tick_runner *runner, struct jzx__tick_verdict *verdict) {
    runner->chunk_ticks = runner->chunk_ticks_max;
    verdict->clears = true;
    if (runner->status == JZX__DRIVER_STATUS_BACKPRESSURED)
        verdict->status_changed = jzx__tick_runner_set_status(runner, JZX__DRIVER_STATUS_OK);
}

struct jzx__tick_verdict jzx__tick_runner_observe(struct jzx__tick_runner *runner) {
    uint64_t backlog = runner->owed;
    uint64_t window = runner->window_ticks;
    struct jzx__tick_verdict verdict = {.mode = JZX__TICKS_NORMAL};
    if (backlog > runner->backlog_peak)
        runner->backlog_peak = backlog;
    runner->buffer_overflows += backlog > runner->buffer_quota;
    if (10 * backlog > 8 * window) {
        verdict.mode = JZX__TICKS_CATCH_UP;
        runner->catch_ups++;
    }
    if (backlog > window)
        judge_late(runner, &verdict);
    else if (10 * backlog < 8 * window)
        judge_in_time(runner, &verdict);
    bool far_behind = backlog > 2 * window;
    verdict.is_exceeded = far_behind && runner->far_behind == 1;
    runner->far_behind = !far_behind ? 0 : runner->far_behind < 2 ? runner->far_behind + 1 : 2;
    verdict.recovered = 2 * backlog < window;
    return verdict;
}

uint32_t jzx__tick_runner_chunk(const struct jzx__tick_runner *runner) {
    return runner->owed < runner->chunk_ticks ? (uint32_t)runner->owed : runner->chunk_ticks;
}
