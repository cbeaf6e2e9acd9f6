/* SPDX-License-Identifier: MIT */
#include "sched/threads.h"

#include "base/alloc.h"
#include "base/futex.h"

#include "jzx/time.h"

#include <stdio.h>

void jzx__crew_init(struct jzx__crew *crew, const jzx_config *config) {
    crew->stall_after_ns = config->stall_after_ns;
    crew->relieve_after_ns = config->relieve_after_ns;
    crew->notice_after_ns = config->workers > 1 && crew->stall_after_ns > JZX__LONG_NS
                                ? JZX__LONG_NS
                                : crew->stall_after_ns;
    crew->spare_max = config->spare_threads_max;
    crew->stall_signal = config->stall_signal;
    crew->contain = config->contain;
    crew->pin_threads = config->pin_threads;
    crew->on_start = config->on_thread_start;
    crew->on_stop = config->on_thread_stop;
    crew->hook_ctx = config->thread_hook_ctx;
    snprintf(crew->name, sizeof crew->name, "%s", config->thread_name);
    /* Here and not in run: in a process that has threads already the first call takes 10 ms. */
    crew->can_take =
        config->workers > 1 && jzx__crew_wants_watchdog(crew) && jzx__membarrier_register();
    jzx__lock_init(&crew->lock);
    jzx__parker_init(&crew->watch);
    jzx__parker_init(&crew->main.parker);
    crew->watcher.seat.is_substitute = true;
}

void jzx__crew_deinit(struct jzx__crew *crew, const jzx_allocator *allocator) {
    while (crew->retired != NULL) {
        struct jzx__thread *thread = crew->retired;
        crew->retired = thread->next;
        jzx__parker_deinit(&thread->parker);
        jzx__fault_guard_destroy(thread->guard);
        jzx__sigstack_deinit(&thread->sigstack);
        jzx__free_aligned(allocator, thread, sizeof *thread, _Alignof(struct jzx__thread));
    }
    jzx__sigstack_deinit(&crew->main.sigstack);
    jzx__parker_deinit(&crew->main.parker);
    jzx__parker_deinit(&crew->watch);
    jzx__lock_deinit(&crew->lock);
}
