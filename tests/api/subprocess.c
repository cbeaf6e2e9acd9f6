/* SPDX-License-Identifier: MIT */
/* Subprocesses in a fiber: how they end, what they are given, what they say. */
#include "subprocessing.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* ---- how they end ---- */

static void run_to_ends(jzx_context *ctx) {
    static const char *const yes[] = {"true", NULL};
    static const char *const no[] = {"false", NULL};
    jzx_test_ran();
    expect_end(ctx, start(ctx, &JZX_SUBPROCESS_OPTS(.argv = yes)), JZX_SUBPROCESS_EXITED, 0);
    expect_end(ctx, start(ctx, &JZX_SUBPROCESS_OPTS(.argv = no)), JZX_SUBPROCESS_EXITED, 1);
    expect_end(ctx, start(ctx, &JZX_SUBPROCESS_OPTS(.argv = shell("exit 255"))),
               JZX_SUBPROCESS_EXITED, 255);
    expect_end(ctx, start(ctx, &JZX_SUBPROCESS_OPTS(.argv = shell("kill -USR1 $$"))),
               JZX_SUBPROCESS_KILLED, SIGUSR1);
    expect_end(ctx, start(ctx, &JZX_SUBPROCESS_OPTS(.argv = shell("kill -KILL $$"))),
               JZX_SUBPROCESS_KILLED, SIGKILL);
}

JZX_TEST(exit_codes_and_signals_are_told, "C+goal") {
    in_a_fiber(run_to_ends, NULL);
}

/* A second wait, and one with a deadline that has passed, say the same; a stale handle does not. */
static void ask_again(jzx_context *ctx) {
    jzx_subprocess_status status;
    jzx_subprocess_info info = {.size = sizeof info};
    jzx_test_ran();
    jzx_subprocess child = start(ctx, &JZX_SUBPROCESS_OPTS(.argv = shell("exit 7")));
    expect_end(ctx, child, JZX_SUBPROCESS_EXITED, 7);
    expect_end(ctx, child, JZX_SUBPROCESS_EXITED, 7);
    JZX_EXPECT_EQ(jzx_subprocess_wait(ctx, child, 0, &status), JZX_OK);
    JZX_EXPECT_EQ(status.code, 7);
    JZX_EXPECT(status.memory_max > 0);
    JZX_EXPECT_EQ(jzx_subprocess_wait(ctx, child, 0, NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_subprocess_signal(ctx->loop, child, SIGTERM), JZX_ERR_INVALID_STATE);
    JZX_EXPECT_EQ(jzx_subprocess_stop(ctx, child, SIGTERM, 0, &status), JZX_OK);
    JZX_EXPECT_EQ(jzx_subprocess_info_get(ctx->loop, child, &info), JZX_OK);
    JZX_EXPECT(info.has_ended && info.pid > 0 && info.owner == ctx->self);
    JZX_EXPECT_EQ(jzx_subprocess_close(ctx->loop, child), JZX_OK);
    JZX_EXPECT_EQ(jzx_subprocess_close(ctx->loop, child), JZX_ERR_CLOSED);
    JZX_EXPECT_EQ(jzx_subprocess_wait(ctx, child, JZX_NEVER, &status), JZX_ERR_CLOSED);
    JZX_EXPECT_EQ(jzx_subprocess_stop(ctx, child, 0, 0, &status), JZX_ERR_CLOSED);
    JZX_EXPECT_EQ(jzx_subprocess_signal(ctx->loop, child, SIGTERM), JZX_ERR_CLOSED);
    JZX_EXPECT_EQ(jzx_subprocess_detach(ctx->loop, child), JZX_ERR_CLOSED);
    JZX_EXPECT_EQ(jzx_subprocess_give(ctx, child, ctx->self), JZX_ERR_CLOSED);
    JZX_EXPECT_EQ(jzx_subprocess_info_get(ctx->loop, child, &info), JZX_ERR_CLOSED);
}

JZX_TEST(a_status_stays_until_the_handle_is_closed) {
    in_a_fiber(ask_again, NULL);
}

/* ---- what cannot be started ---- */

static char folder[64];

static const char *in_folder(const char *name) {
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void put_file(const char *name, const char *text, mode_t mode) {
    int fd = open(in_folder(name), O_WRONLY | O_CREAT | O_CLOEXEC, mode);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void expect_refused(jzx_context *ctx, const char *program, const char *cwd, jzx_err expected,
                           int error) {
    static const char *const argv[] = {"x", NULL};
    jzx_subprocess child = 42;
    JZX_EXPECT_EQ(jzx_subprocess_spawn(ctx,
                                       &JZX_SUBPROCESS_OPTS(.argv = argv, .program = program,
                                                            .cwd = cwd, .input = STREAM,
                                                            .output = STREAM, .error = STREAM),
                                       JZX_NEVER, &child),
                  expected);
    JZX_EXPECT_EQ(jzx_last_os_error(ctx), error);
    JZX_EXPECT_EQ(child, 42);
}

static void start_what_is_none(jzx_context *ctx) {
    jzx_test_ran();
    expect_refused(ctx, "/nowhere/program", NULL, JZX_ERR_NOT_FOUND, ENOENT);
    expect_refused(ctx, "jzx-there-is-no-such-program", NULL, JZX_ERR_NOT_FOUND, ENOENT);
    expect_refused(ctx, "", NULL, JZX_ERR_NOT_FOUND, ENOENT);
    expect_refused(ctx, in_folder("plain/x"), NULL, JZX_ERR_NOT_FOUND, ENOTDIR);
    expect_refused(ctx, in_folder("plain"), NULL, JZX_ERR_PERMISSION, EACCES);
    expect_refused(ctx, folder, NULL, JZX_ERR_PERMISSION, EACCES);
    expect_refused(ctx, in_folder("junk"), NULL, JZX_ERR_UNSUPPORTED, ENOEXEC);
    expect_refused(ctx, "/bin/sh", "/nowhere", JZX_ERR_NOT_FOUND, ENOENT);
    expect_refused(ctx, "/bin/sh", in_folder("plain"), JZX_ERR_NOT_FOUND, ENOTDIR);
}

JZX_TEST(programs_that_cannot_be_started_say_why, "C+fail") {
    snprintf(folder, sizeof folder, "/tmp/jzx_subprocess_XXXXXX");
    assert_non_null(mkdtemp(folder));
    put_file("plain", "echo", 0600);
    put_file("junk", "this is no program\n", 0700);
    in_a_fiber(start_what_is_none, NULL);
    unlink(in_folder("plain"));
    unlink(in_folder("junk"));
    rmdir(folder);
}

static void start_too_much(jzx_context *ctx) {
    size_t size = 1u << 20;
    char *text = malloc(size); /* the system allows 128 KiB for one */
    const char *const argv[] = {"true", text, NULL};
    jzx_subprocess child;
    jzx_test_ran();
    memset(text, 'x', size - 1);
    text[size - 1] = '\0';
    JZX_EXPECT_EQ(jzx_subprocess_spawn(ctx, &JZX_SUBPROCESS_OPTS(.argv = argv), JZX_NEVER, &child),
                  JZX_ERR_TOO_LONG);
    free(text);
}

JZX_TEST(an_argument_that_the_system_does_not_take_is_too_long, "C+fail") {
    in_a_fiber(start_too_much, NULL);
}

static jzx_behavior_result call_from_behavior(jzx_context *ctx, const jzx_message *msg) {
    jzx_subprocess child;
    jzx_subprocess_status status;
    (void)msg;
    jzx_test_ran();
    JZX_EXPECT_EQ(
        jzx_subprocess_spawn(ctx, &JZX_SUBPROCESS_OPTS(.argv = shell("")), JZX_NEVER, &child),
        JZX_ERR_WOULD_SUSPEND);
    JZX_EXPECT_EQ(jzx_subprocess_wait(ctx, 1, JZX_NEVER, &status), JZX_ERR_WOULD_SUSPEND);
    JZX_EXPECT_EQ(jzx_subprocess_stop(ctx, 1, 0, 0, &status), JZX_ERR_WOULD_SUSPEND);
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(only_fibers_wait) {
    children_open();
    jzx_loop *loop = fixture_loop();
    fixture_send(loop, fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = call_from_behavior)), 1);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    fixture_destroy(loop);
    children_close();
}

static void expect_invalid(jzx_context *ctx, const jzx_subprocess_opts *opts) {
    jzx_subprocess child;
    jzx_future *future;
    JZX_EXPECT_EQ(jzx_subprocess_spawn(ctx, opts, JZX_NEVER, &child), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_subprocess_spawn_to(ctx, opts, 1, NULL), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_subprocess_spawn_async(ctx->loop, opts, ctx->self, &future),
                  JZX_ERR_INVALID_ARG);
}

static void call_wrongly(jzx_context *ctx) {
    static const char *const nothing[] = {NULL};
    const char *const *argv = shell("exit 0");
    jzx_subprocess child;
    jzx_subprocess_status status;
    jzx_stream stream;
    jzx_future *future;
    const jzx_subprocess_opts good = JZX_SUBPROCESS_OPTS(.argv = argv);
    jzx_test_ran();
    expect_invalid(ctx, NULL);
    expect_invalid(ctx, &(jzx_subprocess_opts){.argv = argv});
    expect_invalid(ctx, &JZX_SUBPROCESS_OPTS(.argv = NULL));
    expect_invalid(ctx, &JZX_SUBPROCESS_OPTS(.argv = nothing));
    expect_invalid(ctx, &JZX_SUBPROCESS_OPTS(.argv = argv, .output = {.kind = 9}));
    expect_invalid(ctx, &JZX_SUBPROCESS_OPTS(.argv = argv, .output = {JZX_STDIO_OUTPUT, 0}));
    expect_invalid(ctx, &JZX_SUBPROCESS_OPTS(.argv = argv, .output = {JZX_STDIO_FD, -1}));
    expect_invalid(ctx, &JZX_SUBPROCESS_OPTS(.argv = argv, .stop_signal = 65));
    expect_invalid(ctx, &JZX_SUBPROCESS_OPTS(.argv = argv, .input = {JZX_STDIO_FD, 1000000}));
    JZX_EXPECT_EQ(jzx_subprocess_spawn(ctx, &good, JZX_NEVER, NULL), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_subprocess_spawn(ctx, &good, 0, &child), JZX_ERR_TIMEOUT);
    JZX_EXPECT_EQ(jzx_subprocess_spawn_async(ctx->loop, &good, 12345, &future),
                  JZX_ERR_NO_SUCH_ACTOR);
    child = start(ctx, &good);
    JZX_EXPECT_EQ(jzx_subprocess_signal(ctx->loop, child, 0), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_subprocess_signal(ctx->loop, child, 65), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_subprocess_stop(ctx, child, -1, 0, &status), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_subprocess_stop_to(ctx, child, 65, 0, 1, NULL), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_subprocess_stream(ctx->loop, child, 3, &stream), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_subprocess_stream(ctx->loop, child, 1, &stream), JZX_ERR_INVALID_STATE);
    JZX_EXPECT_EQ(jzx_subprocess_give(ctx, child, JZX_NOBODY), JZX_ERR_NO_SUCH_ACTOR);
    JZX_EXPECT_EQ(jzx_stream_close(ctx->loop, child), JZX_ERR_CLOSED); /* it is no stream */
}

JZX_TEST(wrong_calls_are_refused, "C+fail") {
    jzx_subprocess_opts opts;
    assert_int_equal(jzx_subprocess_opts_init(&opts, sizeof opts), JZX_OK);
    assert_int_equal(opts.size, sizeof opts);
    assert_int_equal(jzx_subprocess_opts_init(&opts, 0), JZX_ERR_INVALID_ARG);
    in_a_fiber(call_wrongly, NULL);
}

/* ---- what they are given ---- */

static void look_around(jzx_context *ctx) {
    static const char *const env[] = {"ONE=1", "TWO=two words", NULL};
    jzx_test_ran();
    jzx_subprocess child =
        start(ctx, &JZX_SUBPROCESS_OPTS(.argv = shell("echo $ONE/$TWO/$HOME; pwd"), .env = env,
                                        .cwd = "/", .output = STREAM));
    JZX_EXPECT(strcmp(read_all(ctx, stream_of(ctx, child, 1)), "1/two words/\n/\n") == 0);
    setenv("JZX_INHERITED", "yes", 1);
    child =
        start(ctx, &JZX_SUBPROCESS_OPTS(.argv = shell("echo $JZX_INHERITED"), .output = STREAM));
    JZX_EXPECT(strcmp(read_all(ctx, stream_of(ctx, child, 1)), "yes\n") == 0);
    unsetenv("JZX_INHERITED");
}

JZX_TEST(environment_and_folder_are_set_or_inherited, "C+goal") {
    in_a_fiber(look_around, NULL);
}

/* Handlers, ignored and blocked signals of this program are not those of the other. */
static void look_at_signals(jzx_context *ctx) {
    jzx_test_ran();
    jzx_subprocess child =
        start(ctx, &JZX_SUBPROCESS_OPTS(.argv = shell("kill -USR1 $$; echo lives")));
    expect_end(ctx, child, JZX_SUBPROCESS_KILLED, SIGUSR1);
    child = start(ctx, &JZX_SUBPROCESS_OPTS(.argv = shell("kill -USR2 $$; echo lives")));
    expect_end(ctx, child, JZX_SUBPROCESS_KILLED, SIGUSR2);
}

JZX_TEST(signals_have_their_default_action_in_a_subprocess) {
    sigset_t set;
    void (*before)(int) = signal(SIGUSR1, SIG_IGN);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    in_a_fiber(look_at_signals, NULL);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    signal(SIGUSR1, before);
}

/* One that is open without close-on-exec, too. */
static void look_at_descriptors(jzx_context *ctx) {
    jzx_test_ran();
    jzx_subprocess child =
        start(ctx, &JZX_SUBPROCESS_OPTS(.argv = shell("for i in 3 4 5 6 7 8 9; do\n"
                                                      "  (: <&$i) 2>/dev/null && echo $i\n"
                                                      "done; echo end"),
                                        .input = STREAM, .output = STREAM, .error = STREAM));
    JZX_EXPECT(strcmp(read_all(ctx, stream_of(ctx, child, 1)), "end\n") == 0);
}

static void expect_no_other_descriptor(void) {
    int fds[4];
    for (int i = 0; i < 4; i++)
        fds[i] = open("/dev/null", O_RDWR); /* on purpose */
    in_a_fiber(look_at_descriptors, NULL);
    for (int i = 0; i < 4; i++)
        close(fds[i]);
}

JZX_TEST(no_other_descriptor_is_inherited, "C+goal") {
    expect_no_other_descriptor();
}

/* As before Linux 5.9. It lasts for the rest of the process. */
static bool take_close_range_away(void) {
#if defined(SYS_close_range)
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const struct sock_fprog program = {sizeof code / sizeof code[0], code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 &&
           syscall(SYS_close_range, ~0u, ~0u, 0) < 0 && errno == ENOSYS;
#else
    return true;
#endif
}

JZX_TEST(no_other_descriptor_is_inherited_without_close_range, "C+goal") {
    if (!take_close_range_away())
        skip();
    expect_no_other_descriptor();
}

/* ---- standard descriptors ---- */

static void use_each_kind(jzx_context *ctx) {
    int pair[2];
    char text[16] = "";
    jzx_test_ran();
    jzx_subprocess child =
        start(ctx, &JZX_SUBPROCESS_OPTS(.argv = shell("cat; echo out; echo err >&2"),
                                        .input = {.kind = JZX_STDIO_NULL}, .output = STREAM,
                                        .error = {.kind = JZX_STDIO_OUTPUT}));
    JZX_EXPECT(strcmp(read_all(ctx, stream_of(ctx, child, 1)), "out\nerr\n") == 0);
    child = start(ctx, &JZX_SUBPROCESS_OPTS(.argv = shell("echo out; echo err >&2"),
                                            .output = {.kind = JZX_STDIO_NULL}, .error = STREAM));
    JZX_EXPECT(strcmp(read_all(ctx, stream_of(ctx, child, 2)), "err\n") == 0);
    JZX_EXPECT_EQ(pipe(pair), 0);
    child = start(ctx, &JZX_SUBPROCESS_OPTS(.argv = shell("echo piped"),
                                            .output = {.kind = JZX_STDIO_FD, .fd = pair[1]}));
    close(pair[1]); /* it has a copy */
    expect_end(ctx, child, JZX_SUBPROCESS_EXITED, 0);
    JZX_EXPECT_EQ(read(pair[0], text, sizeof text), 6);
    JZX_EXPECT(strcmp(text, "piped\n") == 0);
    JZX_EXPECT_EQ(read(pair[0], text, sizeof text), 0); /* nobody has the other end any more */
    close(pair[0]);
}

JZX_TEST(standard_descriptors_are_null_streams_or_copies, "C+goal") {
    in_a_fiber(use_each_kind, NULL);
}

/* Output goes to our error and error to our output, by numbers that are each other's. */
static void swap_them(jzx_context *ctx) {
    jzx_test_ran();
    expect_end(ctx,
               start(ctx, &JZX_SUBPROCESS_OPTS(.argv = shell("echo out; echo err >&2"),
                                               .output = {.kind = JZX_STDIO_FD, .fd = 2},
                                               .error = {.kind = JZX_STDIO_FD, .fd = 1})),
               JZX_SUBPROCESS_EXITED, 0);
    expect_end(ctx, start(ctx, &JZX_SUBPROCESS_OPTS(.argv = shell("echo inherited"))),
               JZX_SUBPROCESS_EXITED, 0);
}

static int replace(int number, int fd) {
    int before = fcntl(number, F_DUPFD_CLOEXEC, 10);
    assert_int_equal(dup2(fd, number), number);
    return before;
}

JZX_TEST(standard_descriptors_may_be_swapped_and_inherited) {
    FILE *out = tmpfile();
    FILE *err = tmpfile();
    char text[64] = "";
    fflush(NULL);
    int out_before = replace(1, fileno(out));
    int err_before = replace(2, fileno(err));
    in_a_fiber(swap_them, NULL);
    fflush(NULL);
    dup2(out_before, 1);
    dup2(err_before, 2);
    close(out_before);
    close(err_before);
    assert_int_equal(pread(fileno(out), text, sizeof text - 1, 0), 14);
    assert_string_equal(text, "err\ninherited\n");
    memset(text, 0, sizeof text);
    assert_int_equal(pread(fileno(err), text, sizeof text - 1, 0), 4);
    assert_string_equal(text, "out\n");
    fclose(out);
    fclose(err);
}

/* This program has no standard input, so a stream gets its number. */
static void talk(jzx_context *ctx) {
    static const char *const cat[] = {"cat", NULL};
    jzx_test_ran();
    jzx_subprocess child =
        start(ctx, &JZX_SUBPROCESS_OPTS(.argv = cat, .input = STREAM, .output = STREAM));
    JZX_EXPECT_EQ(jzx_stream_write(ctx, stream_of(ctx, child, 0), "hello", 5, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_shutdown(ctx, stream_of(ctx, child, 0), JZX_NEVER), JZX_OK);
    JZX_EXPECT(strcmp(read_all(ctx, stream_of(ctx, child, 1)), "hello") == 0);
    expect_end(ctx, child, JZX_SUBPROCESS_EXITED, 0);
}

JZX_TEST(a_program_without_standard_input_starts_others_all_the_same) {
    int before = fcntl(0, F_DUPFD_CLOEXEC, 10);
    close(0);
    in_a_fiber(talk, NULL);
    if (before >= 0) {
        dup2(before, 0);
        close(before);
    }
}

/* ---- much data ---- */

#define MUCH (1u << 20)

struct cat {
    jzx_stream in;
    jzx_stream out;
    size_t received;
    uint32_t wrong;
};

static unsigned char byte_at(size_t i) {
    return (unsigned char)(i * 31 + (i >> 8));
}

static void feed(jzx_context *ctx) {
    const struct cat *cat = ctx->state;
    static unsigned char data[MUCH];
    for (size_t i = 0; i < MUCH; i++)
        data[i] = byte_at(i);
    JZX_EXPECT_EQ(jzx_stream_write(ctx, cat->in, data, MUCH, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_close(ctx->loop, cat->in), JZX_OK);
}

static void drain(jzx_context *ctx) {
    static const char *const argv[] = {"cat", NULL};
    struct cat *cat = ctx->state;
    unsigned char block[8192];
    size_t len;
    jzx_actor_id feeder;
    jzx_test_ran();
    jzx_subprocess child =
        start(ctx, &JZX_SUBPROCESS_OPTS(.argv = argv, .input = STREAM, .output = STREAM));
    cat->in = stream_of(ctx, child, 0);
    cat->out = stream_of(ctx, child, 1);
    JZX_EXPECT_EQ(jzx_spawn(ctx->loop, &JZX_SPAWN_OPTS(.fiber = feed, .state = cat), &feeder),
                  JZX_OK);
    while (jzx_stream_read(ctx, cat->out, block, sizeof block, JZX_NEVER, &len) == JZX_OK) {
        for (size_t i = 0; i < len; i++)
            cat->wrong += block[i] != byte_at(cat->received + i);
        cat->received += len;
    }
    expect_end(ctx, child, JZX_SUBPROCESS_EXITED, 0);
}

JZX_TEST(a_mebibyte_goes_through_cat_in_both_directions, "C+goal") {
    static struct cat cat;
    in_a_fiber(drain, &cat);
    assert_int_equal(cat.received, MUCH);
    assert_int_equal(cat.wrong, 0);
}

/* ---- ends that are not the same ---- */

static void outlive_output(jzx_context *ctx) {
    jzx_subprocess_status status;
    jzx_test_ran();
    jzx_subprocess child =
        start(ctx, &JZX_SUBPROCESS_OPTS(.argv = shell("echo x; exec >&-; read line; exit 4"),
                                        .input = STREAM, .output = STREAM));
    JZX_EXPECT(strcmp(read_all(ctx, stream_of(ctx, child, 1)), "x\n") == 0);
    JZX_EXPECT_EQ(jzx_subprocess_wait(ctx, child, 0, &status), JZX_ERR_TIMEOUT); /* it lives */
    JZX_EXPECT_EQ(jzx_stream_write(ctx, stream_of(ctx, child, 0), "\n", 1, JZX_NEVER), JZX_OK);
    expect_end(ctx, child, JZX_SUBPROCESS_EXITED, 4);
}

JZX_TEST(a_program_may_outlive_its_output) {
    in_a_fiber(outlive_output, NULL);
}

/* What it has started goes on, with its output, until its own input ends. */
static void outlive_program(jzx_context *ctx) {
    char block[16];
    size_t len;
    const char *const *argv = shell("exec 3<&0; cat <&3 & exit 5");
    jzx_test_ran();
    jzx_subprocess child =
        start(ctx, &JZX_SUBPROCESS_OPTS(.argv = argv, .input = STREAM, .output = STREAM));
    expect_end(ctx, child, JZX_SUBPROCESS_EXITED, 5);
    jzx_stream out = stream_of(ctx, child, 1);
    JZX_EXPECT_EQ(jzx_stream_read(ctx, out, block, sizeof block, 0, &len), JZX_ERR_TIMEOUT);
    JZX_EXPECT_EQ(jzx_stream_write(ctx, stream_of(ctx, child, 0), "late", 4, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_close(ctx->loop, stream_of(ctx, child, 0)), JZX_OK);
    JZX_EXPECT(strcmp(read_all(ctx, out), "late") == 0);
}

JZX_TEST(output_may_outlive_its_program) {
    in_a_fiber(outlive_program, NULL);
}

/* ---- limits of the system ---- */

/* The next descriptors of this process: none, or as many as it takes. */
static void start_with_few(jzx_context *ctx) {
    struct rlimit before;
    bool has_started = false;
    jzx_test_ran();
    expect_end(ctx, start(ctx, &JZX_SUBPROCESS_OPTS(.argv = shell("exit 0"))),
               JZX_SUBPROCESS_EXITED, 0); /* the reaper and the pool are there */
    getrlimit(RLIMIT_NOFILE, &before);
    int first = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(first);
    for (rlim_t more = 0; more < 16 && !has_started; more++) {
        jzx_subprocess child;
        struct rlimit now = {.rlim_cur = (rlim_t)first + more, .rlim_max = before.rlim_max};
        setrlimit(RLIMIT_NOFILE, &now);
        jzx_err err = jzx_subprocess_spawn(
            ctx, &JZX_SUBPROCESS_OPTS(.argv = shell("exit 0"), .input = STREAM, .output = STREAM),
            JZX_NEVER, &child);
        setrlimit(RLIMIT_NOFILE, &before);
        has_started = err == JZX_OK;
        JZX_EXPECT(has_started || err == JZX_ERR_NO_DESCRIPTORS);
        if (has_started)
            expect_end(ctx, child, JZX_SUBPROCESS_EXITED, 0);
    }
    JZX_EXPECT(has_started);
}

JZX_TEST(without_descriptors_nothing_is_started_or_left, "C+fail") {
    in_a_fiber(start_with_few, NULL);
}

/* ---- those who take the statuses of others ---- */

static void wait_in_vain(jzx_context *ctx) {
    jzx_subprocess_status status = {.code = 77};
    jzx_test_ran();
    jzx_subprocess child =
        start(ctx, &JZX_SUBPROCESS_OPTS(.argv = shell("read line; exit 6"), .input = STREAM));
    JZX_EXPECT_EQ(jzx_stream_close(ctx->loop, stream_of(ctx, child, 0)), JZX_OK);
    JZX_EXPECT_EQ(jzx_subprocess_wait(ctx, child, JZX_NEVER, &status), JZX_ERR_IO);
    JZX_EXPECT_EQ(jzx_last_os_error(ctx), ECHILD);
    JZX_EXPECT_EQ(status.code, 77);
    JZX_EXPECT_EQ(jzx_subprocess_wait(ctx, child, 0, &status), JZX_ERR_IO);
    JZX_EXPECT_EQ(jzx_subprocess_signal(ctx->loop, child, SIGTERM), JZX_ERR_INVALID_STATE);
}

JZX_TEST(a_status_that_is_lost_is_an_error, "C+fail") {
    void (*before)(int) = signal(SIGCHLD, SIG_IGN); /* the system reaps by itself */
    in_a_fiber(wait_in_vain, NULL);
    signal(SIGCHLD, before);
}

static volatile sig_atomic_t children_heard;

static void hear(int signo) {
    (void)signo;
    children_heard = 1;
}

JZX_TEST(a_handler_of_the_program_hears_of_children_and_takes_nothing) {
    void (*before)(int) = signal(SIGCHLD, hear);
    in_a_fiber(run_to_ends, NULL);
    signal(SIGCHLD, before);
    assert_int_equal(children_heard, 1);
}
