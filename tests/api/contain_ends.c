/* SPDX-License-Identifier: MIT */
/* What is not contained ends the process, and says whose turn it was; and whose handler is whose.
 * Each in a child process. */
#include "../unit/child.h"

#include "faults.h"
#include "fixture.h"

#include <pthread.h>

#define ALL (JZX_CONTAIN_OVERFLOW | JZX_CONTAIN_FAULTS)

enum { GO = 1 };

static const int fault_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};

/* Not those of the test harness. */
static void default_actions(void) {
    for (uint32_t i = 0; i < 4; i++)
        signal(fault_signals[i], SIG_DFL);
}

static jzx_loop *open_child_loop(uint32_t contain) {
    default_actions();
    return jzx_loop_create(
        &JZX_CONFIG(.workers = 1, .contain = contain, .log = {.level = JZX_LOG_OFF}));
}

static void run_one(jzx_loop *loop, const jzx_spawn_opts *opts) {
    jzx_actor_id id;
    if (jzx_spawn(loop, opts, &id) != JZX_OK ||
        jzx_send(loop, id, JZX_NOBODY, NULL, 0, GO) != JZX_OK)
        _exit(3);
    jzx_loop_run(loop);
    jzx_loop_destroy(loop);
}

static void run_named(uint32_t contain, jzx_behavior_fn behavior) {
    run_one(open_child_loop(contain), &JZX_SPAWN_OPTS(.behavior = behavior, .name = "culprit"));
}

/* Under AddressSanitizer the default is its own report, which ends with exit(1). */
static bool died_of(const struct child_end *end, int number) {
    if (WIFSIGNALED(end->status) && WTERMSIG(end->status) == number)
        return true;
    return UNDER_SANITIZER && !(WIFEXITED(end->status) && WEXITSTATUS(end->status) == 0);
}

static void expect_report(void (*body)(void), int number, const char *signal_name,
                          const char *why) {
    struct child_end end = run_in_child(body);
    JZX_EXPECT(died_of(&end, number));
    if (!JZX_EXPECT(strstr(end.text, signal_name) == end.text + strlen("jzx: ")) ||
        !JZX_EXPECT(strstr(end.text, ", in actor 0.1 culprit: ") != NULL) ||
        !JZX_EXPECT(strstr(end.text, why) != NULL))
        print_message("%s\n", end.text);
    /* the backtrace: a line for each address */
    const char *line = strchr(end.text, '\n');
    JZX_EXPECT(line != NULL && strstr(line, "[0x") != NULL);
}

/* ---- not contained ---- */

static const char in_runtime[] = "in the runtime, or in a callback of it";
static const char not_own[] = "in code that is not the program's own";

static jzx_behavior_result send_bad(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    void *volatile bad = (void *)(uintptr_t)4096;
    jzx_send(ctx->loop, ctx->self, ctx->self, bad, 4000, GO);
    return JZX_BEHAVIOR_STOP;
}

static void in_send(void) {
    run_named(ALL, send_bad);
}

/* Calls that need no worker hold locks all the same, which others will want. */
static jzx_behavior_result list_members_badly(jzx_context *ctx, const jzx_message *msg) {
    jzx_actor_id *volatile bad = (void *)(uintptr_t)4096;
    size_t count;
    (void)msg;
    if (jzx_group_join(ctx, "group") != JZX_OK)
        _exit(3);
    jzx_group_members(ctx->loop, "group", bad, 1, &count);
    return JZX_BEHAVIOR_STOP;
}

static void in_group_members(void) {
    run_named(ALL, list_members_badly);
}

static jzx_behavior_result look_for_child_badly(jzx_context *ctx, const jzx_message *msg) {
    static const jzx_child_spec children[] = {{.name = "child", .behavior = look_for_child_badly}};
    const char *volatile bad = (const char *)(uintptr_t)4096;
    jzx_actor_id id;
    (void)msg;
    if (jzx_spawn_supervisor(ctx->loop, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(children)), &id) !=
        JZX_OK)
        _exit(3);
    jzx_supervisor_child(ctx->loop, id, bad, &id);
    return JZX_BEHAVIOR_STOP;
}

static void in_supervisor_child(void) {
    run_named(ALL, look_for_child_badly);
}

static jzx_behavior_result stop(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    return JZX_BEHAVIOR_STOP;
}

static void send_bad_in_cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    (void)reason;
    void *volatile bad = (void *)(uintptr_t)4096;
    jzx_actor_id id;
    jzx_spawn(ctx->loop, &JZX_SPAWN_OPTS(.behavior = stop), &id);
    jzx_send(ctx->loop, id, ctx->self, bad, 4000, GO);
}

static void in_send_of_cleanup(void) {
    run_one(open_child_loop(ALL),
            &JZX_SPAWN_OPTS(.behavior = stop, .name = "culprit", .cleanup = send_bad_in_cleanup));
}

static void destroy_badly(void *data, size_t len) {
    (void)data;
    (void)len;
    write_null();
}

static jzx_behavior_result send_buffer(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == GO && jzx_send_msg(ctx->loop, ctx->self, ctx->self,
                                       jzx_msg_alloc(ctx->loop, 16, destroy_badly), 7) != JZX_OK)
        _exit(3);
    return JZX_BEHAVIOR_OK;
}

static void in_destructor(void) {
    run_named(ALL, send_buffer);
}

static void observe_badly(void *ctx, jzx_actor_id id, const char *name) {
    (void)ctx;
    (void)id;
    (void)name;
    write_null();
}

static void in_observer(void) {
    jzx_loop *loop = open_child_loop(ALL);
    jzx_loop_set_observer(loop, &JZX_OBSERVER(.on_actor_start = observe_badly), NULL);
    run_one(loop, &JZX_SPAWN_OPTS(.behavior = stop, .name = "culprit"));
}

static int no_order(const void *a, const void *b) {
    (void)a;
    (void)b;
    return 0;
}

static jzx_behavior_result sort_badly(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    void *volatile bad = (void *)(uintptr_t)4096;
    qsort(bad, 64, sizeof(int), no_order);
    return JZX_BEHAVIOR_STOP;
}

static void in_library(void) {
    run_named(ALL, sort_badly);
}

/* memcpy, but on behalf of the library, which holds the lock of the stream. */
static jzx_behavior_result write_badly(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    void *volatile bad = (void *)(uintptr_t)4096;
    FILE *file = fopen("/dev/null", "w");
    fwrite(bad, 1, 100, file);
    return JZX_BEHAVIOR_STOP;
}

static void in_memcpy_of_library(void) {
    run_named(ALL, write_badly);
}

static jzx_behavior_result overflow(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    do_fault(OVERFLOW);
    return JZX_BEHAVIOR_STOP;
}

static jzx_behavior_result read_it(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    (void)ctx;
    (void)msg;
    do_fault(READ_NULL);
    return JZX_BEHAVIOR_STOP;
}

static void overflow_not_asked_for(void) {
    run_named(JZX_CONTAIN_FAULTS, overflow);
}

static void fault_not_asked_for(void) {
    run_named(JZX_CONTAIN_OVERFLOW, read_it);
}

JZX_TEST(a_fault_in_the_runtime_ends_the_process_with_a_report, "C20") {
    if (UNDER_SANITIZER)
        skip(); /* its memcpy stands between the runtime and libc's, and it reports by itself */
    expect_report(in_send, SIGSEGV, "SIGSEGV at 0x1", in_runtime);
    expect_report(in_send_of_cleanup, SIGSEGV, "SIGSEGV at 0x1", in_runtime);
    expect_report(in_group_members, SIGSEGV, "SIGSEGV at 0x1", in_runtime);
    expect_report(in_supervisor_child, SIGSEGV, "SIGSEGV at 0x1", in_runtime);
}

JZX_TEST(a_fault_in_a_callback_of_the_runtime_ends_the_process_with_a_report, "C20") {
    expect_report(in_destructor, SIGSEGV, "SIGSEGV at 0x0, pc 0x", in_runtime);
    expect_report(in_observer, SIGSEGV, "SIGSEGV at 0x0, pc 0x", in_runtime);
}

JZX_TEST(a_fault_in_another_library_ends_the_process_with_a_report, "C20") {
    expect_report(in_library, SIGSEGV, "SIGSEGV at 0x1", not_own);
    if (!UNDER_SANITIZER) /* whose fwrite looks at the bytes first */
        expect_report(in_memcpy_of_library, SIGSEGV, "SIGSEGV at 0x1", not_own);
}

JZX_TEST(each_flag_stands_for_itself, "C20") {
    const char *not_asked = "config.contain does not ask for it";
    expect_report(overflow_not_asked_for, SIGSEGV, "SIGSEGV at 0x", not_asked);
    expect_report(fault_not_asked_for, SIGSEGV, "SIGSEGV at 0x0", not_asked);
}

/* ---- abort ---- */

static jzx_behavior_result call_abort(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    abort();
}

static void abort_contained(void) {
    run_named(ALL, call_abort);
}

static void abort_elsewhere(void) {
    open_child_loop(ALL);
    abort();
}

JZX_TEST(abort_ends_the_process_and_names_the_actor, "C20") {
    expect_report(abort_contained, SIGABRT, "SIGABRT", "abort() is not contained");
    struct child_end end = run_in_child(abort_elsewhere);
    JZX_EXPECT(WIFSIGNALED(end.status) && WTERMSIG(end.status) == SIGABRT);
    JZX_EXPECT(strstr(end.text, "jzx:") == NULL);
}

/* ---- off ---- */

static void check_no_handler(void) {
    jzx_loop *loop = open_child_loop(0);
    for (uint32_t i = 0; i < 4; i++) {
        struct sigaction action;
        sigaction(fault_signals[i], NULL, &action);
        if (action.sa_handler != SIG_DFL)
            _exit(2);
    }
    run_one(loop, &JZX_SPAWN_OPTS(.behavior = read_it, .name = "culprit"));
}

JZX_TEST(without_containment_no_handler_is_installed_and_the_process_dies_as_ever, "C20") {
    struct child_end end = run_in_child(check_no_handler);
    JZX_EXPECT(WIFSIGNALED(end.status) && WTERMSIG(end.status) == SIGSEGV);
    JZX_EXPECT_EQ(strlen(end.text), 0);
}

/* ---- handlers of others ---- */

static volatile sig_atomic_t calls;
static sigjmp_buf back;

static void other_handler(int number, siginfo_t *info, void *context) {
    (void)context;
    calls += number == SIGSEGV && info->si_addr == NULL;
    siglongjmp(back, 1);
}

static void install_other(struct sigaction *action) {
    *action = (struct sigaction){.sa_sigaction = other_handler, .sa_flags = SA_SIGINFO};
    sigaddset(&action->sa_mask, SIGUSR1);
    sigaction(SIGSEGV, action, NULL);
}

static void expect_other_is_back(const struct sigaction *other) {
    struct sigaction now;
    sigaction(SIGSEGV, NULL, &now);
    JZX_EXPECT(now.sa_sigaction == other->sa_sigaction);
    JZX_EXPECT_EQ(now.sa_flags & SA_SIGINFO, SA_SIGINFO);
    JZX_EXPECT_EQ(now.sa_flags & (SA_ONSTACK | SA_NODEFER), 0);
    JZX_EXPECT_EQ(sigismember(&now.sa_mask, SIGUSR1), 1);
    JZX_EXPECT_EQ(sigismember(&now.sa_mask, SIGUSR2), 0);
}

static void *fault_on_a_thread(void *arg) {
    (void)arg;
    if (sigsetjmp(back, 1) == 0)
        read_null();
    return NULL;
}

JZX_TEST(faults_outside_of_actors_go_to_the_handler_that_was_there_before, "C20") {
    struct sigaction other;
    pthread_t thread;
    install_other(&other);
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.contain = ALL));
    jzx_loop *second = fixture_loop_with(&JZX_CONFIG(.contain = JZX_CONTAIN_OVERFLOW));
    for (int i = 1; i <= 3; i++) {
        if (sigsetjmp(back, 1) == 0)
            read_null();
        JZX_EXPECT_EQ(calls, i);
    }
    assert_int_equal(pthread_create(&thread, NULL, fault_on_a_thread, NULL), 0);
    pthread_join(thread, NULL);
    JZX_EXPECT_EQ(calls, 4);
    fixture_send(loop, fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = read_it)), GO);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    JZX_EXPECT_EQ(calls, 4); /* that one was an actor's */
    fixture_destroy(loop);
    if (sigsetjmp(back, 1) == 0) /* the other loop still has the handler, and it still passes on */
        read_null();
    JZX_EXPECT_EQ(calls, 5);
    fixture_destroy(second);
    expect_other_is_back(&other);
}

/* What is not contained on a guarded thread goes there, too. */
static void observe_and_jump(void *ctx, jzx_actor_id id, const char *name) {
    (void)ctx;
    (void)id;
    (void)name;
    if (sigsetjmp(back, 1) == 0)
        read_null();
}

JZX_TEST(a_handler_from_before_may_save_what_is_not_contained, "C20") {
    struct sigaction other;
    install_other(&other);
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.contain = ALL));
    jzx_loop_set_observer(loop, &JZX_OBSERVER(.on_actor_start = observe_and_jump), NULL);
    for (int i = 1; i <= 2; i++) {
        fixture_send(loop, fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = read_it)), GO);
        assert_int_equal(jzx_loop_run(loop), JZX_OK);
        JZX_EXPECT_EQ(calls, i);
        JZX_EXPECT_EQ(fixture_stats(loop).failed, i);
    }
    fixture_destroy(loop);
    expect_other_is_back(&other);
}

static uint32_t lines;

static void count_line(void *ctx, jzx_log_level level, const char *text) {
    (void)ctx;
    (void)level;
    lines += strstr(text, "was replaced by another") != NULL;
}

JZX_TEST(a_handler_that_has_replaced_ours_stays, "C20") {
    struct sigaction other;
    struct sigaction now;
    jzx_loop *loop = fixture_loop_with(
        &JZX_CONFIG(.contain = ALL, .log = {.write = count_line, .level = JZX_LOG_WARN}));
    install_other(&other);
    fixture_destroy(loop);
    expect_other_is_back(&other);
    JZX_EXPECT_EQ(lines, 1);
    sigaction(SIGFPE, NULL, &now); /* the others were put back */
    JZX_EXPECT_EQ(now.sa_flags & SA_ONSTACK, 0);
}

/* ---- from outside ---- */

static jzx_behavior_result kill_self(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    kill(getpid(), SIGSEGV);
    return JZX_BEHAVIOR_STOP;
}

static void send_signal(void) {
    run_named(ALL, kill_self);
}

JZX_TEST(a_signal_that_somebody_has_sent_is_not_contained, "C20") {
    struct child_end end = run_in_child(send_signal);
    JZX_EXPECT(died_of(&end, SIGSEGV));
    JZX_EXPECT(strstr(end.text, "in actor") == NULL);
}
