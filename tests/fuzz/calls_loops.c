/* SPDX-License-Identifier: MIT */
/* The loop itself, configurations, observers, statistics, clocks; and loops inside of loops. */
#include "fuzz.h"

#include <string.h>

USE(jzx_loop_workers, LOOP);
USE(jzx_loop_now, THE_LOOP);
USE(jzx_loop_next_deadline, THE_LOOP);
USE(jzx_loop_alive, THE_LOOP);
USE(jzx_err_name, (jzx_err) - (int)BELOW(60));
USE(jzx_err_text, (jzx_err) - (int)BELOW(60));
USE(jzx_version, );
CALL(jzx_loop_call, LOOP, OR_NULL(fuzz_called), f->round);
/* With one thread a handler of a manual actor would run the loop, and nobody would stop it. */
CALL(jzx_loop_run, fuzz_chance(f, 2) || !f->round->has_threads ? NULL : THE_LOOP);
CALL(jzx_loop_step, LOOP, 0);
CALL(jzx_loop_destroy, NULL);
CALL(jzx_loop_worker_stats, LOOP, BELOW(6),
     OR_NULL(&(jzx_worker_stats){.size = fuzz_options_size(f, sizeof(jzx_worker_stats))}));
CALL(jzx_config_init, OR_NULL(&(jzx_config){0}), fuzz_options_size(f, sizeof(jzx_config)));
CALL(jzx_config_init_one_thread, OR_NULL(&(jzx_config){0}),
     fuzz_options_size(f, sizeof(jzx_config)));
USE(jzx_clock_now, f->round->clock);
CALL(jzx_clock_advance, f->round->clock, fuzz_below(f, JZX_MS(2)));

static void do_jzx_clock_create(struct fuzz *f) {
    jzx_allocator allocator = fuzz_allocator();
    jzx_clock *clock = NULL;
    allocator.free = fuzz_chance(f, 16) ? NULL : allocator.free;
    fuzz_status(f, jzx_clock_create(WORD, OR_NULL(&allocator), &clock));
    fuzz_status(f, jzx_clock_free(clock));
}

/* The loop ends: once in a while. */
static void do_jzx_loop_stop(struct fuzz *f) {
    if (!fuzz_chance(f, 40))
        return;
    if (YES_OR_NO)
        fuzz_status(f, jzx_loop_stop(LOOP, WHEN));
    else
        fuzz_status(f, jzx_loop_request_stop(LOOP));
}

static void do_jzx_loop_hold(struct fuzz *f) {
    if (fuzz_status(f, jzx_loop_hold(LOOP)) == JZX_OK)
        fuzz_status(f, jzx_loop_release(THE_LOOP));
}

static void do_jzx_loop_fd(struct fuzz *f) {
    int fd = jzx_loop_fd(THE_LOOP);
    if (fd < 0)
        fuzz_status(f, fd);
}

static void do_jzx_loop_stats(struct fuzz *f) {
    jzx_stats stats = {.size = fuzz_options_size(f, sizeof stats)};
    if (fuzz_status(f, jzx_loop_stats(LOOP, OR_NULL(&stats))) == JZX_OK &&
        stats.size == sizeof stats && stats.exited > stats.spawned)
        fuzz_fail("more actors have ended than were spawned");
}

static void do_jzx_loop_set_observer(struct fuzz *f) {
    jzx_observer observer = fuzz_observer();
    observer.size = fuzz_options_size(f, sizeof observer);
    fuzz_status(f, jzx_loop_set_observer(THE_LOOP, YES_OR_NO ? NULL : &observer, f->round));
}

static void line(void *arg, const char *text) {
    (void)arg;
    if (strchr(text, '\n') != NULL)
        fuzz_fail("a line of a dump has a line feed");
}
CALL(jzx_loop_dump, LOOP, OR_NULL(line), NULL);

static void do_jzx_config_check(struct fuzz *f) {
    jzx_config config = JZX_CONFIG(.workers = (uint32_t)WORD);
    const char *field = NULL;
    config.default_mailbox_cap = (uint32_t)WORD;
    config.local_queue_size = (uint32_t)WORD;
    config.steal_batch = (uint32_t)WORD;
    config.balance = (jzx_balance)BELOW(9);
    config.urgent_cap = (uint32_t)WORD;
    config.max_actors = (uint32_t)WORD;
    config.thread_name = TEXT;
    config.allocator.alloc = fuzz_chance(f, 8) ? fuzz_allocator().alloc : NULL;
    config.mapper.unmap = fuzz_chance(f, 8) ? fuzz_mapper().unmap : NULL;
    config.size = fuzz_options_size(f, sizeof config);
    if (fuzz_status(f, jzx_config_check(OR_NULL(&config), &field)) != JZX_OK && field == NULL)
        fuzz_fail("jzx_config_check names no field");
}

/* ---- another loop, which this thread runs wherever it is ---- */

static jzx_behavior_result end(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    return JZX_BEHAVIOR_STOP;
}

static void do_other_loop(struct fuzz *f) {
    jzx_config config = JZX_CONFIG(.workers = 1 + BELOW(2), .allocator = fuzz_allocator());
    config.log.level = JZX_LOG_OFF;
    config.stall_after_ns = JZX_NEVER;
    config.io_backend = (jzx_io_backend)BELOW(3);
    jzx_actor_id id = JZX_NOBODY;
    jzx_loop *other = jzx_loop_create(&config);
    if (other == NULL)
        return;
    if (jzx_spawn(other, &JZX_SPAWN_OPTS(.behavior = end), &id) == JZX_OK) {
        if (jzx_send(other, id, ID, NULL, 0, 1) != JZX_OK)
            jzx_actor_stop(other, id, JZX_STOP_KILL);
        (void)jzx_send(other, ID, id, NULL, 0, 1); /* an id of this loop means nobody there */
    }
    if (fuzz_status(f, jzx_loop_run(other)) != JZX_OK)
        jzx_loop_request_stop(other);
    jzx_err err = jzx_loop_destroy(other);
    if (err != JZX_OK)
        fuzz_fail("another loop is not destroyed: %s", jzx_err_name(err));
}

/* ---- probes, of jzx/test.h ---- */

static void do_jzx_test_probe_create(struct fuzz *f) {
    jzx_test_probe *probe = NULL;
    if (fuzz_status(f, jzx_test_probe_create(LOOP, ID, &probe)) != JZX_OK)
        return;
    fuzz_note(f, AN_ACTOR, jzx_test_probe_id(probe));
    fuzz_put(f, OF_PROBE, probe);
}

static void do_jzx_test_probe_trace(struct fuzz *f) {
    int ticket;
    jzx_trace trace;
    char report[128];
    jzx_test_probe *probe = fuzz_borrow(f, OF_PROBE, &ticket);
    if (probe != NULL && jzx_test_probe_trace(probe, &trace) == JZX_OK) {
        const jzx_pattern *pattern = JZX_SEQUENCE(JZX_STEP(JZX_HAS_TAG(1)), JZX_ANYTHING());
        fuzz_status(f, jzx_trace_match(&trace, pattern, report, BELOW(sizeof report)));
        (void)jzx_trace_print(&trace, report, BELOW(sizeof report));
    }
    fuzz_give_back(f, OF_PROBE, ticket);
}

RUN(jzx_test_probe_destroy, fuzz_take(f, OF_PROBE));

#define DRIVER (AT_BEFORE | AT_STEPS | AT_AFTER)

static const struct fuzz_operation operations[] = {
    ROW(jzx_loop_workers, 1, ANYWHERE),
    ROW(jzx_loop_now, 1, ANYWHERE),
    ROW(jzx_loop_next_deadline, 1, DRIVER),
    ROW(jzx_loop_alive, 1, DRIVER),
    ROW(jzx_loop_fd, 1, DRIVER),
    ROW(jzx_err_name, 1, ANYWHERE),
    ROW(jzx_err_text, 1, ANYWHERE),
    ROW(jzx_version, 1, ANYWHERE),
    ROW(jzx_loop_call, 6, ANYWHERE),
    ROW(jzx_loop_run, 1, OWN_CODE | IN_OBSERVER | IN_CALL | IN_TICK | IN_DESTRUCTOR),
    ROW(jzx_loop_step, 1, OWN_CODE | IN_OBSERVER | IN_CALL | IN_TICK),
    ROW(jzx_loop_stop, 1, ANYWHERE),
    ROW(jzx_loop_hold, 2, ANYWHERE),
    ROW(jzx_loop_destroy, 1, ANYWHERE),
    ROW(jzx_loop_stats, 2, ANYWHERE),
    ROW(jzx_loop_worker_stats, 2, ANYWHERE),
    ROW(jzx_loop_set_observer, 1, DRIVER),
    ROW(jzx_loop_dump, 1, ANYWHERE),
    ROW(jzx_config_init, 1, ANYWHERE),
    ROW(jzx_config_init_one_thread, 1, ANYWHERE),
    ROW(jzx_config_check, 1, ANYWHERE),
    ROW(jzx_clock_create, 1, ANYWHERE),
    ROW(jzx_clock_now, 1, ANYWHERE),
    ROW(jzx_clock_advance, 1, ANYWHERE),
    {"other_loop", 1, ANYWHERE, do_other_loop},
    ROW(jzx_test_probe_create, 2, ANYWHERE),
    ROW(jzx_test_probe_trace, 1, AT_STEPS | AT_AFTER),
    ROW(jzx_test_probe_destroy, 1, ANYWHERE),
};
FUZZ_FAMILY(loops, operations);
