/* SPDX-License-Identifier: MIT */
/* Files by io_uring: the outcomes of the pool of threads, and what only a ring has to get right:
 * requests that block, threads that end, workers that change their thread. */
#include "filing.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>

#define RW (JZX_FILE_READ | JZX_FILE_WRITE)
#define LARGE 300000u /* done by a thread of the kernel */

enum { GO = 1, DONE, END };

/* ---- which back end ---- */

struct files_line {
    char text[128];
    unsigned long long taken;
};

static void look_at_line(void *ctx, const char *text) {
    struct files_line *line = ctx;
    if (strncmp(text, "files ", 6) == 0)
        snprintf(line->text, sizeof line->text, "%s", text);
}

static struct files_line files_line(const jzx_loop *loop) {
    struct files_line line = {{0}, 0};
    const char *at;
    JZX_EXPECT_EQ(jzx_loop_dump(loop, look_at_line, &line), JZX_OK);
    if ((at = strstr(line.text, "io_uring: ")) != NULL)
        line.taken = strtoull(at + 10, NULL, 10);
    return line;
}

static bool says_threads(const jzx_loop *loop) {
    return strstr(files_line(loop).text, "threads: ") != NULL;
}

static jzx_loop *ring_loop(uint32_t workers) {
    jzx_allocator allocator = fixture_allocator();
    const jzx_config config = JZX_CONFIG(.workers = workers, .io_backend = JZX_IO_URING,
                                         .allocator = allocator, .log.level = JZX_LOG_OFF);
    jzx_loop *loop = jzx_loop_create(&config);
    if (loop == NULL)
        skip(); /* this system has no io_uring, or forbids it */
    jzx_loop_destroy(loop);
    folder_open();
    return fixture_loop_with(&JZX_CONFIG(.workers = workers, .io_backend = JZX_IO_URING));
}

static void close_loop(jzx_loop *loop) {
    fixture_destroy(loop);
    folder_close();
}

JZX_TEST(the_setting_chooses_the_back_end_and_the_variable_replaces_only_auto) {
    const char *field = NULL;
    JZX_EXPECT_EQ(jzx_config_check(&JZX_CONFIG(.io_backend = (jzx_io_backend)3), &field),
                  JZX_ERR_INVALID_ARG);
    assert_string_equal(field, "io_backend");
    jzx_loop *loop = ring_loop(1);
    JZX_EXPECT(!says_threads(loop));
    fixture_destroy(loop);
    assert_int_equal(setenv("JZX_IO_BACKEND", "epoll", 1), 0);
    loop = fixture_loop();
    JZX_EXPECT(says_threads(loop));
    fixture_destroy(loop);
    loop = fixture_loop_with(&JZX_CONFIG(.io_backend = JZX_IO_URING));
    JZX_EXPECT(!says_threads(loop));
    fixture_destroy(loop);
    assert_int_equal(setenv("JZX_IO_BACKEND", "kqueue", 1), 0);
    loop = fixture_loop();
    JZX_EXPECT(!says_threads(loop));
    fixture_destroy(loop);
    assert_int_equal(unsetenv("JZX_IO_BACKEND"), 0);
    loop = fixture_loop_with(&JZX_CONFIG(.io_backend = JZX_IO_EPOLL));
    JZX_EXPECT(says_threads(loop));
    fixture_destroy(loop);
    folder_close();
}

/* ---- the same outcomes ---- */

struct log {
    char text[4096];
    size_t len;
};

static void note(jzx_context *ctx, const char *what, jzx_err err, const uint64_t *counted) {
    struct log *log = ctx->state;
    uint64_t count = counted == NULL ? 0 : *counted;
    int os_error = err == JZX_OK ? 0 : jzx_last_os_error(ctx);
    log->len +=
        (size_t)snprintf(log->text + log->len, sizeof log->text - log->len, "%s: %s %d %llu\n",
                         what, jzx_err_name(err), os_error, (unsigned long long)count);
}

static void note_bytes(jzx_context *ctx, jzx_file file) {
    static char big[LARGE];
    char small[9] = {0};
    char tail[9] = {0};
    const struct iovec parts[] = {{(char[]){"one"}, 3}, {small, 0}, {(char[]){"two"}, 3}};
    const struct iovec places[] = {{small, 4}, {tail, 8}};
    uint64_t len = 0;
    jzx_file_info info = {0};
    memset(big, 'b', sizeof big);
    note(ctx, "write", jzx_file_write(ctx, file, "hello", 5, 0, JZX_NEVER, &len), &len);
    note(ctx, "writev", jzx_file_writev(ctx, file, parts, 3, 5, JZX_NEVER, &len), &len);
    note(ctx, "large", jzx_file_write(ctx, file, big, sizeof big, 11, JZX_NEVER, &len), &len);
    note(ctx, "read", jzx_file_read(ctx, file, small, 8, 3, JZX_NEVER, &len), &len);
    note(ctx, small, JZX_OK, NULL);
    note(ctx, "readv", jzx_file_readv(ctx, file, places, 2, 5, JZX_NEVER, &len), &len);
    note(ctx, tail, JZX_OK, NULL);
    note(ctx, "large", jzx_file_read(ctx, file, big, sizeof big, 11, JZX_NEVER, &len), &len);
    JZX_EXPECT(big[0] == 'b' && big[LARGE - 1] == 'b');
    for (int i = 0; i < 3; i++)
        note(ctx, "here", jzx_file_read(ctx, file, small, 3, JZX_FILE_HERE, JZX_NEVER, &len), &len);
    note(ctx, "end", jzx_file_read(ctx, file, small, 8, 10 * LARGE, JZX_NEVER, &len), NULL);
    note(ctx, "sync", jzx_file_sync(ctx, file, false, JZX_NEVER), NULL);
    note(ctx, "sync data", jzx_file_sync(ctx, file, true, JZX_NEVER), NULL);
    note(ctx, "allocate", jzx_file_allocate(ctx, file, 0, 2 * LARGE, JZX_NEVER), NULL);
    note(ctx, "stat", jzx_file_stat(ctx, file, JZX_NEVER, &info), &info.bytes);
    note(ctx, "negative", jzx_file_read(ctx, file, small, 8, UINT64_MAX - 9, JZX_NEVER, &len),
         NULL);
}

static void note_names(jzx_context *ctx) {
    jzx_file file = JZX_NO_FILE;
    size_t len = 0;
    note(ctx, "none", jzx_file_open(ctx, in_folder("no"), RW, 0, JZX_NEVER, &file), NULL);
    note(ctx, "new",
         jzx_file_open(ctx, in_folder("a"), RW | JZX_FILE_CREATE | JZX_FILE_NEW, 0600, JZX_NEVER,
                       &file),
         0);
    note(ctx, "folder", jzx_file_open(ctx, folder, RW, 0, JZX_NEVER, &file), NULL);
    note(ctx, "mkdir", jzx_path_mkdir(ctx, in_folder("d"), 0700, JZX_NEVER), NULL);
    note(ctx, "mkdir", jzx_path_mkdir(ctx, in_folder("d"), 0700, JZX_NEVER), NULL);
    note(ctx, "rename", jzx_path_rename(ctx, in_folder("a"), in_folder("b"), JZX_NEVER), NULL);
    note(ctx, "rename", jzx_path_rename(ctx, in_folder("a"), in_folder("c"), JZX_NEVER), NULL);
    note(ctx, "remove", jzx_path_remove(ctx, in_folder("b"), JZX_NEVER), NULL);
    note(ctx, "remove", jzx_path_remove(ctx, in_folder("b"), JZX_NEVER), NULL);
    note(ctx, "rmdir", jzx_path_remove(ctx, in_folder("d"), JZX_NEVER), NULL);
    note(ctx, "read-only",
         jzx_file_open(ctx, "/proc/self/status", JZX_FILE_READ, 0, JZX_NEVER, &file), NULL);
    note(ctx, "refused", jzx_file_write(ctx, file, "x", 1, 0, JZX_NEVER, &len), &len);
}

static void do_all(jzx_context *ctx) {
    jzx_file file = JZX_NO_FILE;
    jzx_test_ran();
    note(ctx, "open",
         jzx_file_open(ctx, in_folder("a"), RW | JZX_FILE_CREATE, 0640, JZX_NEVER, &file), NULL);
    note_bytes(ctx, file);
    note_names(ctx);
}

/* Line by line: a failure names the call. */
static void expect_same(const char *left, const char *right) {
    while (*left != '\0' && *right != '\0') {
        size_t len = strcspn(left, "\n") + 1;
        if (!JZX_EXPECT(strncmp(left, right, len) == 0))
            print_error("%.*s%.*s", (int)len, left, (int)strcspn(right, "\n") + 1, right);
        left += len;
        right += strcspn(right, "\n") + 1;
    }
    JZX_EXPECT(*left == *right);
}

JZX_TEST(both_back_ends_give_the_same_outcomes, "E55") {
    static struct log logs[2];
    jzx_loop *loop = ring_loop(1);
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = do_all, .state = &logs[0]));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT(files_line(loop).taken > 10);
    fixture_destroy(loop);
    loop = fixture_loop_with(&JZX_CONFIG(.workers = 1, .io_backend = JZX_IO_EPOLL));
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = do_all, .state = &logs[1]));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), 2);
    expect_same(logs[0].text, logs[1].text);
    close_loop(loop);
}

/* ---- pipes: opened by the ring, used by threads ---- */

static void *open_and_close_pipe(void *arg) {
    int fd = open(arg, O_WRONLY | O_CLOEXEC);
    if (JZX_EXPECT(fd >= 0)) {
        JZX_EXPECT_EQ(write(fd, "water", 5), 5);
        (void)close(fd);
    }
    return NULL;
}

static void read_pipe(jzx_context *ctx) {
    jzx_file file;
    char text[8] = {0};
    size_t len = 0;
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_file_open(ctx, in_folder("pipe"), JZX_FILE_READ, 0, JZX_NEVER, &file),
                  JZX_OK);
    JZX_EXPECT_EQ(jzx_file_read(ctx, file, text, 5, JZX_FILE_HERE, JZX_NEVER, &len), JZX_OK);
    JZX_EXPECT(len == 5 && strcmp(text, "water") == 0);
    JZX_EXPECT_EQ(jzx_file_read(ctx, file, text, 5, JZX_FILE_HERE, JZX_NEVER, &len), JZX_ERR_END);
}

JZX_TEST(a_pipe_is_read_until_its_end) {
    static char path[128];
    pthread_t thread;
    jzx_loop *loop = ring_loop(1);
    snprintf(path, sizeof path, "%s", in_folder("pipe"));
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(pthread_create(&thread, NULL, open_and_close_pipe, path), 0);
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = read_pipe));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(jzx_test_runs(), 1); /* else the thread waits for ever */
    assert_int_equal(pthread_join(thread, NULL), 0);
    close_loop(loop);
}

static void write_to_nobody(jzx_context *ctx) {
    jzx_file file;
    jzx_test_ran();
    int reader = open(in_folder("pipe"), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    JZX_EXPECT_EQ(jzx_file_open(ctx, in_folder("pipe"), JZX_FILE_WRITE, 0, JZX_NEVER, &file),
                  JZX_OK);
    (void)close(reader);
    JZX_EXPECT(jzx_file_write(ctx, file, "x", 1, JZX_FILE_HERE, JZX_NEVER, NULL) != JZX_OK);
    JZX_EXPECT_EQ(jzx_last_os_error(ctx), EPIPE);
}

JZX_TEST(a_pipe_without_a_reader_is_an_error_and_no_signal) {
    jzx_loop *loop = ring_loop(1);
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = write_to_nobody));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    close_loop(loop);
}

/* ---- opens that block for ever, unless they are stopped ---- */

static void open_until(jzx_context *ctx) {
    const uint64_t *wait_ns = ctx->state;
    jzx_file file = JZX_NO_FILE;
    jzx_test_ran();
    jzx_err err = jzx_file_open(ctx, in_folder("pipe"), JZX_FILE_READ, 0,
                                *wait_ns == JZX_NEVER ? JZX_NEVER : jzx_in(ctx, *wait_ns), &file);
    JZX_EXPECT_EQ(err, JZX_ERR_TIMEOUT);
    JZX_EXPECT_EQ(file, JZX_NO_FILE);
}

static jzx_actor_id spawn_blocked(jzx_loop *loop, uint64_t *wait_ns) {
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    return fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = open_until, .state = wait_ns));
}

JZX_TEST(a_deadline_stops_an_open_that_blocks) {
    uint64_t wait_ns = JZX_MS(5);
    jzx_loop *loop = ring_loop(1);
    spawn_blocked(loop, &wait_ns);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    close_loop(loop);
}

static jzx_actor_id victim;

static void kill_it(jzx_context *ctx) {
    JZX_EXPECT_EQ(jzx_sleep(ctx, jzx_in(ctx, JZX_MS(2))), JZX_OK);
    if (ctx->state == NULL)
        JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, victim, JZX_STOP_KILL), JZX_OK);
    else
        JZX_EXPECT_EQ(jzx_loop_request_stop(ctx->loop), JZX_OK);
    jzx_test_ran();
}

JZX_TEST(a_kill_stops_an_open_that_blocks) {
    uint64_t wait_ns = JZX_NEVER;
    jzx_loop *loop = ring_loop(2);
    victim = spawn_blocked(loop, &wait_ns);
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = kill_it));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), 2);
    close_loop(loop);
}

JZX_TEST(the_end_of_a_loop_stops_an_open_that_blocks) {
    uint64_t wait_ns = JZX_NEVER;
    jzx_loop *loop = ring_loop(2);
    spawn_blocked(loop, &wait_ns);
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = kill_it, .state = &wait_ns));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    close_loop(loop);
    JZX_EXPECT_EQ(jzx_test_runs(), 2);
}

/* ---- so do reads of a pipe that is open ---- */

static int writer; /* the other end, which writes nothing */

static void read_until(jzx_context *ctx) {
    const uint64_t *wait_ns = ctx->state;
    jzx_file file;
    char byte;
    size_t len = 9;
    JZX_EXPECT_EQ(jzx_file_open(ctx, in_folder("pipe"), JZX_FILE_READ, 0, JZX_NEVER, &file),
                  JZX_OK);
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_file_read(ctx, file, &byte, 1, JZX_FILE_HERE,
                                *wait_ns == JZX_NEVER ? JZX_NEVER : jzx_in(ctx, *wait_ns), &len),
                  JZX_ERR_TIMEOUT);
    JZX_EXPECT_EQ(len, 9);
    JZX_EXPECT_EQ(write(writer, "x", 1), 1);
    JZX_EXPECT_EQ(jzx_file_read(ctx, file, &byte, 1, JZX_FILE_HERE, JZX_NEVER, &len), JZX_OK);
    JZX_EXPECT_EQ(byte, 'x');
    JZX_EXPECT_EQ(jzx_file_read(ctx, file, &byte, 1, 0, JZX_NEVER, &len), JZX_ERR_IO);
    JZX_EXPECT_EQ(jzx_last_os_error(ctx), ESPIPE);
}

/* The pool: a thread that waits can be stopped, too. */
static jzx_loop *thread_loop(uint32_t workers) {
    folder_open();
    return fixture_loop_with(&JZX_CONFIG(.workers = workers, .io_backend = JZX_IO_EPOLL));
}

static void open_pipe(void) {
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    writer = open(in_folder("pipe"), O_RDWR | O_CLOEXEC);
    assert_true(writer >= 0);
}

static void stop_by_deadline(jzx_loop *loop) {
    uint64_t wait_ns = JZX_MS(5);
    open_pipe();
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = read_until, .state = &wait_ns));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    close(writer);
    close_loop(loop);
}

JZX_TEST(a_deadline_stops_a_read_of_a_pipe) {
    stop_by_deadline(ring_loop(1));
}

JZX_TEST(a_deadline_stops_a_read_of_a_pipe_by_a_thread) {
    stop_by_deadline(thread_loop(1));
}

static void stop_with_loop(jzx_loop *loop) {
    uint64_t wait_ns = JZX_NEVER;
    open_pipe();
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = read_until, .state = &wait_ns));
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = kill_it, .state = &wait_ns));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT(jzx_test_runs() != 0);
    close(writer);
    close_loop(loop);
}

JZX_TEST(the_end_of_a_loop_stops_a_read_of_a_pipe) {
    stop_with_loop(ring_loop(2));
}

JZX_TEST(the_end_of_a_loop_stops_a_read_of_a_pipe_by_a_thread) {
    stop_with_loop(thread_loop(2));
}

/* The thread that would wait has no descriptor to be stopped by: in read(2) it would stay. */
static void read_without_descriptors(jzx_context *ctx) {
    struct rlimit before;
    jzx_file file;
    char byte;
    size_t len;
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_file_open(ctx, in_folder("pipe"), JZX_FILE_READ, 0, JZX_NEVER, &file),
                  JZX_OK);
    JZX_EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit few = {3, before.rlim_max}; /* what is open stays so */
    JZX_EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    JZX_EXPECT_EQ(jzx_file_read(ctx, file, &byte, 1, JZX_FILE_HERE, JZX_NEVER, &len),
                  JZX_ERR_NO_DESCRIPTORS);
    JZX_EXPECT_EQ(jzx_last_os_error(ctx), EMFILE);
    JZX_EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    JZX_EXPECT_EQ(write(writer, "x", 1), 1);
    JZX_EXPECT_EQ(jzx_file_read(ctx, file, &byte, 1, JZX_FILE_HERE, JZX_NEVER, &len), JZX_OK);
}

JZX_TEST(a_read_of_a_pipe_that_nothing_could_stop_is_refused, "C+fail") {
    jzx_loop *loop = thread_loop(1);
    open_pipe();
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = read_without_descriptors));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    close(writer);
    close_loop(loop);
}

/* A future is settled, whether it is cancelled or its loop goes. */
JZX_TEST(a_future_of_a_read_of_a_pipe_is_settled_by_a_cancel_and_by_its_loop) {
    for (int is_cancelled = 0; is_cancelled < 2; is_cancelled++) {
        jzx_loop *loop = thread_loop(1);
        jzx_future *future = NULL;
        jzx_file file = JZX_NO_FILE;
        open_pipe();
        assert_int_equal(jzx_file_open_async(loop, in_folder("pipe"), JZX_FILE_READ, 0, &future),
                         JZX_OK);
        assert_int_equal(jzx_future_wait(future, JZX_NEVER, &file), JZX_OK);
        jzx_future_release(future);
        assert_int_equal(jzx_file_read_async(loop, file, 1, JZX_FILE_HERE, &future), JZX_OK);
        if (is_cancelled) {
            jzx_future_cancel(future);
            assert_int_equal(jzx_future_wait(future, JZX_NEVER, NULL), JZX_ERR_CANCELLED);
        }
        fixture_destroy(loop);
        assert_int_equal(jzx_future_state(future), JZX_FUTURE_REJECTED);
        jzx_future_release(future);
        close(writer);
        folder_close();
    }
}

/* ---- and leave room for others ---- */

#define BLOCKED 15u

static void open_blocked(jzx_context *ctx) {
    jzx_file file;
    JZX_EXPECT_EQ(jzx_file_open(ctx, in_folder("pipe"), JZX_FILE_READ, 0, JZX_NEVER, &file),
                  JZX_OK);
    jzx_test_ran();
}

/* The kernel has got the others before. The deadline ends a test that fails. */
static void open_another(jzx_context *ctx) {
    jzx_file file;
    JZX_EXPECT_EQ(jzx_file_open(ctx, in_folder("file"), RW | JZX_FILE_CREATE, 0600,
                                jzx_in(ctx, JZX_SECOND(60)), &file),
                  JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), 0);
    writer = open(in_folder("pipe"), O_RDWR | O_CLOEXEC);
    JZX_EXPECT(writer >= 0);
}

JZX_TEST(fifteen_opens_that_block_leave_room_for_another) {
    jzx_loop *loop = ring_loop(1);
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    for (unsigned i = 0; i < BLOCKED; i++)
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = open_blocked));
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = open_another));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), BLOCKED);
    close(writer);
    close_loop(loop);
}

static jzx_behavior_result start_open(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == GO)
        JZX_EXPECT_EQ(jzx_file_open_to(ctx, in_folder("pipe"), JZX_FILE_READ, 0, DONE, NULL),
                      JZX_OK);
    jzx_test_ran();
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_loop_can_be_destroyed_while_an_open_blocks) {
    jzx_loop *loop = ring_loop(1);
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = start_open));
    fixture_send(loop, id, GO);
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(files_line(loop).taken, 1);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    close_loop(loop);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
}

static jzx_behavior_result open_and_tell(jzx_context *ctx, const jzx_message *msg) {
    jzx_op *op = ctx->state;
    if (msg->tag == GO) {
        JZX_EXPECT_EQ(jzx_file_open_to(ctx, in_folder("pipe"), JZX_FILE_READ, 0, DONE, op), JZX_OK);
        return JZX_BEHAVIOR_OK;
    }
    const jzx_result *result = msg->data;
    JZX_EXPECT_EQ(result->err, JZX_ERR_CANCELLED);
    jzx_test_ran();
    return JZX_BEHAVIOR_OK;
}

/* The completion of the cancel itself does not keep the host busy either. */
JZX_TEST(a_cancelled_open_wakes_the_host_and_leaves_it_alone) {
    jzx_op op = 0;
    jzx_loop *loop = ring_loop(1);
    struct pollfd host = {.fd = jzx_loop_fd(loop), .events = POLLIN};
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = open_and_tell, .state = &op));
    fixture_send(loop, id, GO);
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_not_equal(op, 0);
    JZX_EXPECT_EQ(jzx_op_cancel(loop, op), JZX_OK);
    while (jzx_test_runs() == 0) {
        JZX_EXPECT_EQ(poll(&host, 1, -1), 1);
        JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    }
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(poll(&host, 1, 0), 0);
    close_loop(loop);
}

/* ---- more than a ring takes ---- */

#define MANY 400u

static jzx_behavior_result read_many(jzx_context *ctx, const jzx_message *msg) {
    uint32_t *left = ctx->state;
    if (msg->tag == GO) {
        for (*left = 0; *left < MANY; (*left)++)
            JZX_EXPECT_EQ(jzx_path_mkdir_to(ctx, folder, 0700, DONE, NULL), JZX_OK);
        return JZX_BEHAVIOR_OK;
    }
    const jzx_result *result = msg->data;
    JZX_EXPECT_EQ(result->err, JZX_ERR_EXISTS);
    return --*left == 0 ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

JZX_TEST(what_a_ring_does_not_take_is_done_by_threads) {
    uint32_t left = 0;
    jzx_loop *loop = ring_loop(1);
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = read_many, .state = &left));
    fixture_send(loop, id, GO);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(left, 0);
    JZX_EXPECT(files_line(loop).taken != 0);
    close_loop(loop);
}

/* ---- threads that end, and workers that change theirs ---- */

#define READERS 4u

static atomic_uint whole;    /* reads of a large file that were right */
static char large_path[128]; /* in_folder is for one thread at a time */

static void read_for_ever(jzx_context *ctx) {
    char *buf = ctx->state;
    jzx_file file;
    size_t len = 0;
    if (!JZX_EXPECT_EQ(jzx_file_open(ctx, large_path, RW, 0, JZX_NEVER, &file), JZX_OK))
        return;
    for (;;) {
        memset(buf, 0, LARGE);
        if (!JZX_EXPECT_EQ(jzx_file_read(ctx, file, buf, LARGE, 0, JZX_NEVER, &len), JZX_OK) ||
            !JZX_EXPECT(len == LARGE && buf[0] == 'x' && buf[LARGE - 1] == 'x') ||
            !JZX_EXPECT_EQ(jzx_file_sync(ctx, file, true, JZX_NEVER), JZX_OK))
            return;
        atomic_fetch_add(&whole, 1);
    }
}

static void end_run(jzx_context *ctx) {
    JZX_EXPECT_EQ(jzx_sleep(ctx, jzx_in(ctx, JZX_MS(1))), JZX_OK);
}

static void put_large_file(void) {
    snprintf(large_path, sizeof large_path, "%s", in_folder("a"));
    FILE *out = fopen(large_path, "w");
    assert_non_null(out);
    for (uint32_t i = 0; i < LARGE; i++)
        (void)putc('x', out);
    assert_int_equal(fclose(out), 0);
}

/* The threads of a run end while their requests are under way. */
JZX_TEST(requests_under_way_outlive_the_threads_of_a_run) {
    static char bufs[READERS][LARGE];
    jzx_loop *loop = ring_loop(2);
    put_large_file();
    atomic_store(&whole, 0);
    for (uint32_t i = 0; i < READERS; i++)
        fixture_spawn(loop,
                      &JZX_SPAWN_OPTS(.fiber = read_for_ever, .state = bufs[i], .daemon = true));
    for (uint32_t run = 0; run < 20 || (atomic_load(&whole) < 40 && run < 20000); run++) {
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = end_run));
        JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    }
    JZX_EXPECT(atomic_load(&whole) >= 40);
    JZX_EXPECT(files_line(loop).taken != 0);
    close_loop(loop);
}

struct hog {
    uint32_t heard;
    uint32_t wrong;
};

static uint64_t handovers(const jzx_loop *loop) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < jzx_loop_workers(loop); i++) {
        jzx_worker_stats stats = {.size = sizeof stats};
        JZX_EXPECT_EQ(jzx_loop_worker_stats(loop, i, &stats), JZX_OK);
        count += stats.handovers;
    }
    return count;
}

/* Starts requests, then does not return before another thread has its worker; then some more. */
static jzx_behavior_result be_hog(jzx_context *ctx, const jzx_message *msg) {
    struct hog *self = ctx->state;
    if (msg->tag == DONE) {
        const jzx_result *result = msg->data;
        self->wrong += result->err != JZX_ERR_EXISTS;
        return ++self->heard == 20 ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
    }
    for (int i = 0; i < 10; i++)
        JZX_EXPECT_EQ(jzx_path_mkdir_to(ctx, folder, 0700, DONE, NULL), JZX_OK);
    while (handovers(ctx->loop) == 0)
        sched_yield();
    for (int i = 0; i < 10; i++)
        JZX_EXPECT_EQ(jzx_path_mkdir_to(ctx, folder, 0700, DONE, NULL), JZX_OK);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(requests_of_a_worker_that_is_handed_over_complete) {
    struct hog hog = {0};
    fixture_destroy(ring_loop(2));
    jzx_loop *loop = fixture_loop_with(
        &JZX_CONFIG(.workers = 2, .io_backend = JZX_IO_URING, .stall_after_ns = JZX_MS(1)));
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = be_hog, .state = &hog));
    fixture_send(loop, id, GO);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(hog.heard, 20);
    JZX_EXPECT_EQ(hog.wrong, 0);
    close_loop(loop);
}
