/* SPDX-License-Identifier: MIT */
/* A behaviour that does not return: its worker goes on without it, and that is reported. Most
 * behaviours here wait for what only an actor of their own worker can do: without the hand-over the
 * test does not end. */
#include "fixture.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STALL_AFTER JZX_MS(10)

enum { GO = 1, WAKE = 3, FIRST = 5, SECOND = 6 };

/* A signal may interrupt it. */
static void wait_for(sem_t *sem) {
    while (sem_wait(sem) != 0 && errno == EINTR)
        continue;
}

static jzx_loop *open_loop(uint32_t workers) {
    jzx_loop *loop =
        fixture_loop_with(&JZX_CONFIG(.workers = workers, .stall_after_ns = STALL_AFTER,
                                      .relieve_after_ns = JZX_NEVER));
    assert_non_null(loop);
    return loop;
}

static void run(jzx_loop *loop) {
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
}

/* ---- events ---- */

struct seen {
    jzx_event event;
    char name[JZX_NAME_MAX + 1];
};

static struct {
    pthread_mutex_t lock;
    struct seen stalls[64];
    uint32_t stall_count;
    struct seen ends[64];
    uint32_t end_count;
    sem_t *post_at_stall;
} events = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void keep_event(struct seen *list, uint32_t *count, const jzx_event *event) {
    if (*count == 64)
        return;
    struct seen *seen = &list[(*count)++];
    seen->event = *event;
    snprintf(seen->name, sizeof seen->name, "%s", event->name == NULL ? "" : event->name);
}

static void on_event(void *ctx, const jzx_event *event) {
    (void)ctx;
    pthread_mutex_lock(&events.lock);
    if (event->kind == JZX_EVENT_STALL)
        keep_event(events.stalls, &events.stall_count, event);
    if (event->kind == JZX_EVENT_STALL_END)
        keep_event(events.ends, &events.end_count, event);
    if (event->kind == JZX_EVENT_STALL && event->tag == GO && events.post_at_stall != NULL)
        sem_post(events.post_at_stall);
    pthread_mutex_unlock(&events.lock);
}

static void observe_with(jzx_loop *loop, void (*callback)(void *ctx, const jzx_event *event)) {
    events.stall_count = events.end_count = 0;
    assert_int_equal(jzx_loop_set_observer(loop, &JZX_OBSERVER(.on_event = callback), NULL),
                     JZX_OK);
}

static void observe(jzx_loop *loop) {
    observe_with(loop, on_event);
}

/* ---- one behaviour that waits, and one of the same worker that lets it go on ---- */

/* Or nowhere: on a busy machine a thread may lose its worker before it does anything. */
static bool is_on(uint32_t worker) {
    return jzx_current_worker() == worker || jzx_current_worker() == JZX_NONE;
}

struct stuck {
    sem_t go;           /* what it waits for */
    jzx_actor_id waker; /* who posts it, on the same worker */
    uint32_t worker;
    uint32_t rounds;  /* that are left */
    uint32_t lost;    /* rounds in which it found itself without a worker */
    pthread_t thread; /* that ran it last */
};

static jzx_behavior_result post(jzx_context *ctx, const jzx_message *msg) {
    struct stuck *stuck = ctx->state;
    (void)msg;
    bool is_last = stuck->rounds == 1;
    JZX_EXPECT(is_on(stuck->worker));
    sem_post(&stuck->go);
    return is_last ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

static jzx_behavior_result get_stuck(jzx_context *ctx, const jzx_message *msg) {
    struct stuck *self = ctx->state;
    (void)msg;
    JZX_EXPECT(is_on(self->worker));
    JZX_EXPECT_EQ(jzx_send(ctx->loop, self->waker, ctx->self, NULL, 0, WAKE), JZX_OK);
    wait_for(&self->go);
    JZX_EXPECT_EQ(jzx_current_worker(), JZX_NONE); /* the worker has another thread now */
    JZX_EXPECT_EQ(jzx_current_kind(), JZX_CONTEXT_WAITLESS);
    JZX_EXPECT_EQ(jzx_current_actor(), ctx->self);
    self->lost++;
    self->thread = pthread_self();
    if (--self->rounds == 0)
        return JZX_BEHAVIOR_STOP;
    JZX_EXPECT_EQ(jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, GO), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

static jzx_actor_id stuck_spawn(jzx_loop *loop, struct stuck *stuck, uint32_t worker,
                                uint32_t rounds, jzx_cleanup_fn cleanup) {
    *stuck = (struct stuck){.worker = worker, .rounds = rounds};
    sem_init(&stuck->go, 0, 0);
    stuck->waker = fixture_spawn(
        loop, &JZX_SPAWN_OPTS(.behavior = post, .state = stuck, .place = JZX_PLACE_WORKER(worker)));
    return fixture_spawn(loop,
                         &JZX_SPAWN_OPTS(.behavior = get_stuck, .state = stuck, .name = "stuck",
                                         .cleanup = cleanup, .place = JZX_PLACE_WORKER(worker)));
}

static void stuck_open(jzx_loop *loop, struct stuck *stuck, uint32_t worker, uint32_t rounds,
                       jzx_cleanup_fn cleanup) {
    fixture_send(loop, stuck_spawn(loop, stuck, worker, rounds, cleanup), GO);
}

JZX_TEST(a_worker_goes_on_without_a_behaviour_that_does_not_return, "D12") {
    for (uint32_t worker = 0; worker < 2; worker++) {
        struct stuck stuck;
        jzx_loop *loop = open_loop(2);
        stuck_open(loop, &stuck, worker, 1, NULL);
        run(loop);
        JZX_EXPECT_EQ(stuck.lost, 1);
        JZX_EXPECT_EQ(pthread_equal(stuck.thread, pthread_self()) != 0, worker == 0);
        JZX_EXPECT(fixture_stats(loop).stalls >= 1);
        JZX_EXPECT(fixture_stats(loop).handovers >= 1);
        jzx_worker_stats stats = {.size = sizeof stats};
        assert_int_equal(jzx_loop_worker_stats(loop, worker, &stats), JZX_OK);
        JZX_EXPECT(stats.handovers >= 1);
        fixture_destroy(loop);
    }
}

JZX_TEST(all_workers_may_stall_at_once) {
    enum { WORKERS = 3 };
    struct stuck stuck[WORKERS];
    jzx_loop *loop = open_loop(WORKERS);
    for (uint32_t i = 0; i < WORKERS; i++)
        stuck_open(loop, &stuck[i], i, 1, NULL);
    run(loop);
    for (uint32_t i = 0; i < WORKERS; i++)
        JZX_EXPECT_EQ(stuck[i].lost, 1);
    JZX_EXPECT(fixture_stats(loop).handovers >= WORKERS);
    fixture_destroy(loop);
}

/* The last actor ends while the caller's thread waits for its worker: its cleanup sees to that. */
static pid_t caller_tid;
static pthread_t caller_thread;

static void wait_until_caller_sleeps(jzx_context *ctx, jzx_exit_reason reason) {
    char path[64];
    char state = 'R';
    (void)ctx;
    (void)reason;
    if (pthread_equal(pthread_self(), caller_thread))
        return; /* it has its worker back already */
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)caller_tid);
    while (state != 'S') {
        FILE *file = fopen(path, "r");
        if (file == NULL || fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
            state = 'S';
        if (file != NULL)
            fclose(file);
    }
}

JZX_TEST(a_run_may_be_over_before_its_caller_has_its_worker_back) {
    jzx_loop *loop = open_loop(2);
    caller_tid = (pid_t)syscall(SYS_gettid);
    caller_thread = pthread_self();
    for (uint64_t round = 0; round < jzx_test_rounds(100, 2000); round++) {
        struct stuck stuck;
        stuck_open(loop, &stuck, 0, 1, wait_until_caller_sleeps);
        run(loop);
        JZX_EXPECT_EQ(stuck.lost, 1);
    }
    fixture_destroy(loop);
}

/* Threads of loops, by their names. */
static uint32_t count_threads(void) {
    uint32_t count = 0;
    DIR *dir = opendir("/proc/self/task");
    JZX_EXPECT(dir != NULL);
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        char path[300];
        char name[16] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
        FILE *file = fopen(path, "r");
        if (file != NULL && fgets(name, sizeof name, file) != NULL)
            count += strncmp(name, "jzx-", 4) == 0;
        if (file != NULL)
            fclose(file);
    }
    if (dir != NULL)
        closedir(dir);
    return count;
}

/* Spares, by what the hook is told. */
static _Atomic uint32_t spares_started;

static void count_spares(void *ctx, uint32_t worker) {
    (void)ctx;
    if (worker == JZX_NONE)
        spares_started++;
}

JZX_TEST(the_threads_of_stalled_workers_are_used_again) {
    enum { ROUNDS = 12, SPARES = 3 };
    for (uint32_t worker = 0; worker < 2; worker++) {
        struct stuck stuck;
        spares_started = 0;
        jzx_loop *loop = fixture_loop_with(
            &JZX_CONFIG(.workers = 2, .stall_after_ns = STALL_AFTER, .relieve_after_ns = JZX_NEVER,
                        .spare_threads_max = SPARES, .on_thread_start = count_spares));
        assert_non_null(loop);
        for (uint32_t i = 0; i < 2; i++) { /* the second run finds the threads of the first */
            stuck_open(loop, &stuck, worker, ROUNDS, NULL);
            run(loop);
            JZX_EXPECT_EQ(stuck.lost, ROUNDS);
        }
        JZX_EXPECT(spares_started >= 2 && spares_started <= 2 * SPARES);
        JZX_EXPECT(fixture_stats(loop).handovers >= 2 * ROUNDS);
        fixture_destroy(loop);
        while (count_threads() != 0) /* none is left; the last may take a moment to vanish */
            continue;
    }
}

/* ---- what is reported ---- */

/* The report of the turn that gets stuck. On a busy machine others are reported, too, and that one
 * may have been over before it was a stall, or was seen by nobody while it stood: so as often as it
 * takes. NULL: it is never reported. */
static const struct seen *stall_of_stuck(jzx_loop *loop, bool has_stack) {
    for (uint32_t i = 0; i < 15 && events.stall_count < 64; i++) {
        struct stuck stuck;
        uint32_t at = events.stall_count;
        stuck_open(loop, &stuck, 1, 1, NULL);
        run(loop);
        JZX_EXPECT_EQ(stuck.lost, 1);
        for (; at < events.stall_count; at++) {
            const jzx_event *event = &events.stalls[at].event;
            if (event->tag == GO && event->handed_over && (event->stack_count > 0 || !has_stack))
                return &events.stalls[at];
        }
    }
    return NULL;
}

JZX_TEST(a_stall_is_reported_with_who_what_and_where, "E8") {
    jzx_loop *loop = open_loop(2);
    observe(loop);
    const struct seen *seen = stall_of_stuck(loop, false);
    assert_non_null(seen);
    JZX_EXPECT(seen->event.actor != JZX_NOBODY);
    assert_string_equal(seen->name, "stuck");
    JZX_EXPECT_EQ(seen->event.worker, 1);
    JZX_EXPECT(seen->event.elapsed_ns >= STALL_AFTER);
    JZX_EXPECT_EQ(seen->event.stack_count, 0); /* nobody asked for it */
    JZX_EXPECT_EQ(fixture_stats(loop).stalls, events.stall_count);
    fixture_destroy(loop);
}

JZX_TEST(the_end_of_a_stall_is_reported_when_the_worker_went_on, "E8") {
    jzx_loop *loop = open_loop(2);
    observe(loop);
    const struct seen *seen = stall_of_stuck(loop, false);
    assert_non_null(seen);
    assert_int_equal(events.end_count, events.stall_count);
    uint32_t at = 0;
    while (at < events.end_count &&
           (events.ends[at].event.actor != seen->event.actor || events.ends[at].event.tag != GO))
        at++;
    assert_true(at < events.end_count);
    JZX_EXPECT_EQ(events.ends[at].event.worker, 1);
    JZX_EXPECT(events.ends[at].event.elapsed_ns >= STALL_AFTER);
    assert_string_equal(events.ends[at].name, "stuck");
    fixture_destroy(loop);
}

static _Atomic int handled_signals;

static void handle_signal(int number) {
    (void)number;
    handled_signals++;
}

/* Lines of the log, and where the last stall was. */
static struct {
    pthread_mutex_t lock;
    uint32_t stalls;
    uint32_t stacks;
    char innermost[32];
} lines = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void keep_line(void *ctx, jzx_log_level level, const char *text) {
    static const char label[] = "; its stack: ";
    const char *stack = strstr(text, label);
    (void)ctx;
    (void)level;
    pthread_mutex_lock(&lines.lock);
    if (stack != NULL)
        snprintf(lines.innermost, sizeof lines.innermost, "%.*s",
                 (int)strcspn(stack + sizeof label - 1, " "), stack + sizeof label - 1);
    lines.stacks += stack != NULL;
    lines.stalls += strstr(text, " a message with tag ") != NULL;
    pthread_mutex_unlock(&lines.lock);
}

static char innermost_seen[32]; /* by the observer */

static void see_stack(void *ctx, const jzx_event *event) {
    on_event(ctx, event);
    if (event->kind == JZX_EVENT_STALL && event->stack_count != 0)
        snprintf(innermost_seen, sizeof innermost_seen, "%p", event->stack[0]);
}

JZX_TEST(the_log_shows_the_stack_of_a_stall_if_a_signal_may_be_used) {
    const int numbers[] = {0, SIGRTMIN + 3};
    for (int i = 0; i < 2; i++) {
        struct stuck stuck;
        int number = numbers[i];
        uint32_t stacks = 0;
        memset(events.stalls, 0, sizeof events.stalls);
        events.stall_count = lines.stalls = lines.stacks = 0;
        jzx_loop *loop =
            fixture_loop_with(&JZX_CONFIG(.workers = 2, .stall_after_ns = STALL_AFTER,
                                          .relieve_after_ns = JZX_NEVER, .stall_signal = number,
                                          .log = {.write = keep_line, .level = JZX_LOG_WARN}));
        assert_non_null(loop);
        assert_int_equal(jzx_loop_set_observer(loop, &JZX_OBSERVER(.on_event = see_stack), NULL),
                         JZX_OK);
        stuck_open(loop, &stuck, 1, 1, NULL);
        run(loop);
        assert_true(events.stall_count >= 1 && events.stall_count < 64);
        for (uint32_t k = 0; k < events.stall_count; k++)
            stacks += events.stalls[k].event.stack_count != 0;
        assert_int_equal(lines.stalls, events.stall_count);
        assert_int_equal(lines.stacks, stacks);
#if defined(__GLIBC__)
        JZX_EXPECT_EQ(stacks != 0, number != 0);
#endif
        if (stacks != 0)
            assert_string_equal(lines.innermost, innermost_seen);
        fixture_destroy(loop);
    }
}

JZX_TEST(a_stall_shows_the_stack_if_a_signal_may_be_used) {
    int number = SIGRTMIN + 3;
    struct sigaction mine = {.sa_handler = handle_signal};
    struct sigaction after;
    assert_int_equal(sigaction(number, &mine, NULL), 0);
    jzx_loop *loop =
        fixture_loop_with(&JZX_CONFIG(.workers = 2, .stall_after_ns = STALL_AFTER,
                                      .relieve_after_ns = JZX_NEVER, .stall_signal = number));
    assert_non_null(loop);
    observe(loop);
#if defined(__GLIBC__)
    const struct seen *seen = stall_of_stuck(loop, true);
#else
    const struct seen *seen = stall_of_stuck(loop, false);
#endif
    assert_non_null(seen);
    JZX_EXPECT(seen->event.stack_count == 0 || seen->event.stack != NULL);
    JZX_EXPECT_EQ(handled_signals, 0); /* it was the library's during the run */
    assert_int_equal(sigaction(number, NULL, &after), 0);
    JZX_EXPECT(after.sa_handler == handle_signal);
    fixture_destroy(loop);
}

struct held {
    sem_t go;
    uint32_t worker_after;
};

static jzx_behavior_result hold_on(jzx_context *ctx, const jzx_message *msg) {
    struct held *self = ctx->state;
    if (msg->tag != GO)
        return JZX_BEHAVIOR_OK;
    wait_for(&self->go);
    self->worker_after = jzx_current_worker();
    return JZX_BEHAVIOR_STOP;
}

/* Without spares: the observer lets the behaviour go on. */
static void stall_without_spares(uint32_t messages_before) {
    struct held held = {.worker_after = 99};
    sem_init(&held.go, 0, 0);
    events.post_at_stall = &held.go;
    events.stall_count = events.end_count = 0;
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 2, .stall_after_ns = STALL_AFTER,
                                                   .relieve_after_ns = JZX_NEVER,
                                                   .spare_threads_max = JZX_NONE));
    assert_non_null(loop);
    observe(loop);
    jzx_actor_id id =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = hold_on, .state = &held, .name = "held",
                                            .place = JZX_PLACE_WORKER(1)));
    for (uint32_t i = 0; i < messages_before; i++)
        fixture_send(loop, id, FIRST);
    fixture_send(loop, id, GO);
    run(loop);
    uint32_t at = 0; /* on a busy machine there may be others before and after it */
    while (at < events.stall_count && events.stalls[at].event.tag != GO)
        at++;
    assert_true(at < events.stall_count);
    JZX_EXPECT(!events.stalls[at].event.handed_over);
    JZX_EXPECT_EQ(events.stalls[at].event.actor, id);
    assert_string_equal(events.stalls[at].name, "held");
    JZX_EXPECT_EQ(held.worker_after, 1); /* it kept its worker */
    JZX_EXPECT_EQ(fixture_stats(loop).stalls, events.stall_count);
    JZX_EXPECT_EQ(fixture_stats(loop).handovers, 0);
    fixture_destroy(loop);
    events.post_at_stall = NULL;
}

JZX_TEST(without_spare_threads_a_stall_is_only_reported) {
    stall_without_spares(0);
}

JZX_TEST(whoever_stalled_is_reported_to_have_returned_if_it_goes_on) {
    stall_without_spares(500);
    JZX_EXPECT_EQ(events.end_count, events.stall_count);
}

/* One spare: who holds it is stalled first, lets the other begin, and returns when that was
 * reported to stand. */
static struct {
    jzx_loop *loop;
    struct held held;
    jzx_actor_id holder;
    jzx_actor_id stuck;
    bool began;
} late;

static void pass_spare_on(void *ctx, const jzx_event *event) {
    on_event(ctx, event);
    if (event->kind != JZX_EVENT_STALL)
        return;
    if (event->actor == late.holder && !late.began)
        fixture_send(late.loop, late.stuck, GO);
    late.began = true;
    if (event->actor == late.stuck)
        sem_post(&late.held.go);
}

static uint32_t count_of(const struct seen *list, uint32_t count, jzx_actor_id id) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++)
        found += list[i].event.actor == id;
    return found;
}

JZX_TEST(a_stall_has_one_end_also_if_it_is_relieved_after_it_was_reported) {
    enum { ROUNDS = 2 }; /* the second would end the first once more */
    struct stuck stuck;
    late.loop =
        fixture_loop_with(&JZX_CONFIG(.workers = 2, .stall_after_ns = STALL_AFTER,
                                      .relieve_after_ns = JZX_NEVER, .spare_threads_max = 1));
    assert_non_null(late.loop);
    observe_with(late.loop, pass_spare_on);
    sem_init(&late.held.go, 0, 0);
    late.holder = fixture_spawn(late.loop, &JZX_SPAWN_OPTS(.behavior = hold_on, .state = &late.held,
                                                           .place = JZX_PLACE_WORKER(0)));
    late.stuck = stuck_spawn(late.loop, &stuck, 1, ROUNDS, NULL);
    fixture_send(late.loop, late.holder, GO);
    run(late.loop);
    JZX_EXPECT_EQ(stuck.lost, ROUNDS);
    JZX_EXPECT(count_of(events.stalls, events.stall_count, late.stuck) >= ROUNDS);
    JZX_EXPECT_EQ(count_of(events.ends, events.end_count, late.stuck),
                  count_of(events.stalls, events.stall_count, late.stuck));
    JZX_EXPECT_EQ(events.end_count, events.stall_count);
    JZX_EXPECT_EQ(fixture_stats(late.loop).stalls, events.stall_count);
    fixture_destroy(late.loop);
}

static jzx_behavior_result spin(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    (void)ctx;
    (void)msg;
    fixture_compute(2 * STALL_AFTER);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(one_worker_reports_a_stall_when_it_is_over, "E8") {
    jzx_loop *loop = open_loop(1);
    observe(loop);
    jzx_actor_id id =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = spin, .daemon = true, .name = "spinner"));
    fixture_send(loop, id, GO);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(jzx_test_runs(), 1);
    assert_int_equal(events.stall_count, 1);
    assert_int_equal(events.end_count, 1);
    JZX_EXPECT_EQ(events.stalls[0].event.actor, id);
    JZX_EXPECT_EQ(events.stalls[0].event.tag, GO);
    JZX_EXPECT_EQ(events.stalls[0].event.worker, 0);
    JZX_EXPECT(!events.stalls[0].event.handed_over);
    assert_string_equal(events.stalls[0].name, "spinner");
    JZX_EXPECT_EQ(events.ends[0].event.actor, id);
    JZX_EXPECT(events.ends[0].event.elapsed_ns >= STALL_AFTER);
    JZX_EXPECT_EQ(fixture_stats(loop).stalls, 1);
    JZX_EXPECT_EQ(fixture_stats(loop).handovers, 0);
    fixture_destroy(loop);
}

JZX_TEST(who_never_looks_reports_nothing) {
    jzx_loop *loop = fixture_loop_with(
        &JZX_CONFIG(.workers = 2, .stall_after_ns = JZX_NEVER, .relieve_after_ns = JZX_NEVER));
    assert_non_null(loop);
    observe(loop);
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = spin));
    fixture_send(loop, id, GO);
    assert_int_equal(jzx_actor_stop(loop, id, JZX_STOP_AFTER_QUEUE), JZX_OK);
    run(loop);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    JZX_EXPECT_EQ(fixture_stats(loop).stalls, 0);
    JZX_EXPECT_EQ(events.stall_count, 0);
    fixture_destroy(loop);
}

/* ---- the caller's thread ---- */

struct caller {
    pthread_t thread;
    jzx_actor_id bound;
    jzx_actor_id waker;
    sem_t go;
    _Atomic bool is_away;
    uint32_t ran;
};

static jzx_behavior_result run_on_caller(jzx_context *ctx, const jzx_message *msg) {
    struct caller *caller = ctx->state;
    (void)msg;
    JZX_EXPECT(!caller->is_away);
    JZX_EXPECT(pthread_equal(caller->thread, pthread_self()));
    JZX_EXPECT(is_on(0));
    return ++caller->ran == 2 ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

static jzx_behavior_result wake_caller(jzx_context *ctx, const jzx_message *msg) {
    struct caller *caller = ctx->state;
    if (msg->tag == WAKE) { /* on another thread; what it sends waits */
        JZX_EXPECT(!pthread_equal(caller->thread, pthread_self()));
        fixture_send(ctx->loop, caller->bound, FIRST);
        fixture_send(ctx->loop, ctx->self, SECOND);
        return JZX_BEHAVIOR_OK;
    }
    sem_post(&caller->go);
    return JZX_BEHAVIOR_STOP;
}

static jzx_behavior_result keep_caller(jzx_context *ctx, const jzx_message *msg) {
    struct caller *caller = ctx->state;
    (void)msg;
    JZX_EXPECT(pthread_equal(caller->thread, pthread_self()));
    caller->is_away = true;
    fixture_send(ctx->loop, caller->bound, FIRST); /* it waits from the beginning */
    fixture_send(ctx->loop, caller->waker, WAKE);
    wait_for(&caller->go);
    caller->is_away = false;
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(who_is_bound_to_the_callers_thread_waits_while_that_is_away) {
    struct caller caller = {.thread = pthread_self()};
    jzx_loop *loop = open_loop(2);
    sem_init(&caller.go, 0, 0);
    caller.bound = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = run_on_caller, .state = &caller,
                                                       .place = JZX_PLACE_CALLER));
    caller.waker = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = wake_caller, .state = &caller,
                                                       .place = JZX_PLACE_WORKER(0)));
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = keep_caller, .state = &caller,
                                                          .place = JZX_PLACE_WORKER(0)));
    fixture_send(loop, id, GO);
    run(loop);
    JZX_EXPECT_EQ(caller.ran, 2);
    JZX_EXPECT(fixture_stats(loop).handovers >= 1);
    fixture_destroy(loop);
}

/* ---- stopping the loop meanwhile ---- */

struct stopper {
    bool gently;
    bool from_outside; /* by the waker, else by the stalled behaviour itself */
    jzx_actor_id waker;
    sem_t go;
    uint32_t ended;
    jzx_exit_reason reason;
    struct recorder log;
};

static void stop_loop(jzx_loop *loop, const struct stopper *stopper) {
    if (stopper->gently)
        JZX_EXPECT_EQ(jzx_loop_stop(loop, JZX_NEVER), JZX_OK);
    else
        JZX_EXPECT_EQ(jzx_loop_request_stop(loop), JZX_OK);
}

static jzx_behavior_result wake_stopper(jzx_context *ctx, const jzx_message *msg) {
    struct stopper *stopper = ctx->state;
    (void)msg;
    if (stopper->from_outside)
        stop_loop(ctx->loop, stopper);
    sem_post(&stopper->go);
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result stop_when_away(jzx_context *ctx, const jzx_message *msg) {
    struct stopper *self = ctx->state;
    self->log.tags[self->log.count++] = msg->tag;
    if (msg->tag != GO)
        return JZX_BEHAVIOR_OK;
    fixture_send(ctx->loop, self->waker, WAKE);
    wait_for(&self->go);
    if (!self->from_outside)
        stop_loop(ctx->loop, self);
    return JZX_BEHAVIOR_OK;
}

static void note_stopper_end(jzx_context *ctx, jzx_exit_reason reason) {
    struct stopper *self = ctx->state;
    self->ended++;
    self->reason = reason;
}

static void stop_while_away(struct stopper *stopper, uint32_t worker) {
    jzx_loop *loop = open_loop(2);
    sem_init(&stopper->go, 0, 0);
    stopper->log.count = stopper->ended = 0;
    stopper->waker = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = wake_stopper, .state = stopper,
                                                         .place = JZX_PLACE_WORKER(worker)));
    jzx_actor_id id = fixture_spawn(
        loop, &JZX_SPAWN_OPTS(.behavior = stop_when_away, .state = stopper,
                              .cleanup = note_stopper_end, .place = JZX_PLACE_WORKER(worker)));
    fixture_send(loop, id, GO);
    fixture_send(loop, id, FIRST);
    run(loop);
    JZX_EXPECT_EQ(stopper->ended, 1);
    JZX_EXPECT_EQ(stopper->reason, stopper->gently ? JZX_EXIT_NORMAL : JZX_EXIT_SHUTDOWN);
    JZX_EXPECT_EQ(stopper->log.count, stopper->gently ? 2 : 1);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_ERR_LOOP_CLOSED);
    fixture_destroy(loop);
}

JZX_TEST(a_loop_that_is_stopped_waits_for_a_stalled_behaviour, "D18") {
    static struct stopper stopper;
    for (uint32_t worker = 0; worker < 2; worker++) {
        for (int outside = 0; outside < 2; outside++) {
            stopper = (struct stopper){.from_outside = outside != 0};
            stop_while_away(&stopper, worker);
        }
    }
}

JZX_TEST(a_loop_that_is_stopped_gently_lets_a_stalled_actor_work_its_queue_off, "D18", "D+stop") {
    static struct stopper stopper;
    for (uint32_t worker = 0; worker < 2; worker++) {
        for (int outside = 0; outside < 2; outside++) {
            stopper = (struct stopper){.gently = true, .from_outside = outside != 0};
            stop_while_away(&stopper, worker);
        }
    }
}

/* As soon as it finds itself without its worker, perhaps before another thread drives that. */
static jzx_behavior_result stop_at_once(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    struct stopper *self = ctx->state;
    (void)msg;
    while (jzx_current_worker() != JZX_NONE)
        continue;
    stop_loop(ctx->loop, self);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_loop_may_be_stopped_while_a_worker_changes_its_thread, "D18") {
    static struct stopper stopper;
    for (uint32_t round = 0; round < jzx_test_rounds(20, 500); round++) {
        stopper = (struct stopper){.gently = round % 4 >= 2};
        jzx_loop *loop = open_loop(2);
        jzx_actor_id id =
            fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = stop_at_once, .state = &stopper,
                                                .cleanup = note_stopper_end,
                                                .place = JZX_PLACE_WORKER(round % 2)));
        fixture_send(loop, id, GO);
        fixture_send(loop, id, GO);
        run(loop);
        JZX_EXPECT(jzx_test_runs() > round);
        JZX_EXPECT_EQ(stopper.ended, 1);
        jzx_stats stats = fixture_stats(loop);
        JZX_EXPECT_EQ(stats.handled + stats.dead, 2);
        fixture_destroy(loop);
    }
}

/* ---- a loop inside a behaviour ---- */

struct outer {
    uint32_t inner_workers;
    uint32_t worker;
    jzx_actor_id waker;
    jzx_loop *loop;
    sem_t go;
    bool inner_ended;
};

static jzx_behavior_result wake_inner(jzx_context *ctx, const jzx_message *msg) {
    struct outer *outer = ctx->state;
    (void)msg;
    JZX_EXPECT(is_on(outer->worker));
    sem_post(&outer->go);
    return JZX_BEHAVIOR_STOP;
}

static jzx_behavior_result wait_inside(jzx_context *ctx, const jzx_message *msg) {
    struct outer *outer = ctx->state;
    (void)msg;
    fixture_send(outer->loop, outer->waker, WAKE);
    wait_for(&outer->go);
    return JZX_BEHAVIOR_STOP;
}

static jzx_behavior_result run_inner(jzx_context *ctx, const jzx_message *msg) {
    struct outer *outer = ctx->state;
    (void)msg;
    jzx_loop *inner = open_loop(outer->inner_workers);
    jzx_actor_id id = fixture_spawn(inner, &JZX_SPAWN_OPTS(.behavior = wait_inside, .state = outer,
                                                           .place = JZX_PLACE_WORKER(0)));
    fixture_send(inner, id, GO);
    JZX_EXPECT_EQ(jzx_loop_run(inner), JZX_OK);
    fixture_destroy(inner);
    JZX_EXPECT_EQ(jzx_current_actor(), ctx->self);
    outer->inner_ended = true;
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(a_behaviour_that_stalls_in_a_loop_of_its_own_is_relieved) {
    for (uint32_t i = 0; i < 4; i++) {
        struct outer outer = {.inner_workers = 1 + i / 2, .worker = i % 2};
        sem_init(&outer.go, 0, 0);
        outer.loop = open_loop(2);
        outer.waker =
            fixture_spawn(outer.loop, &JZX_SPAWN_OPTS(.behavior = wake_inner, .state = &outer,
                                                      .place = JZX_PLACE_WORKER(outer.worker)));
        jzx_actor_id id =
            fixture_spawn(outer.loop, &JZX_SPAWN_OPTS(.behavior = run_inner, .state = &outer,
                                                      .place = JZX_PLACE_WORKER(outer.worker)));
        fixture_send(outer.loop, id, GO);
        run(outer.loop);
        JZX_EXPECT(outer.inner_ended);
        JZX_EXPECT(fixture_stats(outer.loop).handovers >= 1);
        fixture_destroy(outer.loop);
    }
}
