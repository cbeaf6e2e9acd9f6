/* SPDX-License-Identifier: MIT */
/* src/subprocess: each system call fails at each of its uses: the call says so, and no process, no
 * descriptor and no memory is left. */
#include "subprocess/subprocess.h"

#include "descriptors.h"
#include "fixture.h"

#include <jzx/blocking.h>
#include <jzx/fiber.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum call {
    CALL_SPAWN,
    CALL_PIDFD_OPEN,
    CALL_SIGNAL,
    CALL_SIGNAL_GROUP,
    CALL_WAIT,
    CALL_DUPLICATE,
    CALL_SET_BLOCKING,
    CALL_EPOLL_CREATE,
    CALL_EPOLL_ADD,
    CALL_EVENTFD,
    CALL_SOCKETPAIR,
    CALL_COUNT
};

static struct {
    atomic_uint uses[CALL_COUNT]; /* by the threads of the pool and the reaper, too */
    enum call call;               /* this one fails */
    uint32_t at;                  /* at this use, from 1 on; 0: never */
    int error;
} faults;

static int use(enum call call) {
    uint32_t number = atomic_fetch_add(&faults.uses[call], 1) + 1;
    return call == faults.call && number == faults.at ? -faults.error : 0;
}

static void fail_at(enum call call, uint32_t at, int error) {
    for (int i = 0; i < CALL_COUNT; i++)
        atomic_store(&faults.uses[i], 0);
    faults.call = call;
    faults.at = at;
    faults.error = error;
}

#define SYSTEM jzx__subprocess_os_system

#define FAULTY(name, table, call, parameters, ...)                                                 \
    static int faulty_##name parameters {                                                          \
        int err = use(call);                                                                       \
        return err < 0 ? err : table.name(__VA_ARGS__);                                            \
    }

FAULTY(spawn, SYSTEM, CALL_SPAWN, (const struct jzx__spawn_plan *plan, pid_t *pid), plan, pid)
FAULTY(pidfd_open, SYSTEM, CALL_PIDFD_OPEN, (pid_t pid), pid)
FAULTY(signal, SYSTEM, CALL_SIGNAL, (int pidfd, int signal), pidfd, signal)
FAULTY(signal_group, SYSTEM, CALL_SIGNAL_GROUP, (pid_t pid, int signal), pid, signal)
FAULTY(duplicate, SYSTEM, CALL_DUPLICATE, (int fd), fd)
FAULTY(set_blocking, SYSTEM, CALL_SET_BLOCKING, (int fd), fd)
FAULTY(socketpair, jzx__os_system, CALL_SOCKETPAIR, (int family, int type, int pair[2]), family,
       type, pair)

static int faulty_epoll_create(void) {
    int err = use(CALL_EPOLL_CREATE);
    return err < 0 ? err : jzx__os_system.epoll_create();
}

static int faulty_eventfd(void) {
    int err = use(CALL_EVENTFD);
    return err < 0 ? err : jzx__os_system.eventfd();
}

/* As when another has reaped it: the status is lost, and the process gone. */
static int faulty_wait(int pidfd, siginfo_t *info, struct rusage *usage) {
    int got = SYSTEM.wait(pidfd, info, usage);
    if (got <= 0)
        return got;
    int err = use(CALL_WAIT);
    return err < 0 ? err : got;
}

static int faulty_epoll_ctl(int epoll, int op, int fd, struct epoll_event *event) {
    int err = op == EPOLL_CTL_ADD ? use(CALL_EPOLL_ADD) : 0;
    return err < 0 ? err : jzx__os_system.epoll_ctl(epoll, op, fd, event);
}

/* ---- a scene ---- */

struct scene {
    uint32_t steps;
    uint32_t failed;
    jzx_err first; /* error */
};

static void note(struct scene *scene, jzx_err err) {
    scene->steps++;
    if (err != JZX_OK && scene->failed++ == 0)
        scene->first = err;
}

/* Three programs: one that ends, one that is stopped, and one that its owner leaves behind. */
static void play(jzx_context *ctx) {
    static const char *const yes[] = {"true", NULL};
    static const char *const cat[] = {"cat", NULL};
    static const char *const deaf[] = {"/bin/sh", "-c", "trap '' TERM; cat; exec sleep 60", NULL};
    struct scene *scene = ctx->state;
    jzx_subprocess child = JZX_NO_SUBPROCESS;
    jzx_subprocess_status status;
    const jzx_stdio stream = {.kind = JZX_STDIO_STREAM};
    note(scene, jzx_subprocess_spawn(ctx,
                                     &JZX_SUBPROCESS_OPTS(.argv = yes, .output = {JZX_STDIO_FD, 1},
                                                          .error = {JZX_STDIO_FD, 2}),
                                     JZX_NEVER, &child));
    note(scene, jzx_subprocess_wait(ctx, child, JZX_NEVER, &status));
    child = JZX_NO_SUBPROCESS;
    note(scene, jzx_subprocess_spawn(ctx, &JZX_SUBPROCESS_OPTS(.argv = cat, .input = stream),
                                     JZX_NEVER, &child));
    note(scene, jzx_subprocess_signal(ctx->loop, child, SIGCONT));
    note(scene, jzx_subprocess_stop(ctx, child, SIGTERM, jzx_in(ctx, JZX_MS(10)), &status));
    note(scene, jzx_subprocess_spawn(ctx,
                                     &JZX_SUBPROCESS_OPTS(.argv = deaf, .input = stream,
                                                          .output = {.kind = JZX_STDIO_NULL},
                                                          .new_group = true, .grace_ns = JZX_MS(1)),
                                     JZX_NEVER, &child));
}

static void expect_no_children(void) {
    siginfo_t info;
    errno = 0;
    JZX_EXPECT_EQ(waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT), -1);
    JZX_EXPECT_EQ(errno, ECHILD);
}

static void run(struct scene *scene) {
    struct jzx__subprocess_os os = SYSTEM;
    struct jzx__os io = jzx__os_system;
    int before = descriptors_open();
    *scene = (struct scene){.steps = 0};
    os.spawn = faulty_spawn;
    os.pidfd_open = faulty_pidfd_open;
    os.signal = faulty_signal;
    os.signal_group = faulty_signal_group;
    os.wait = faulty_wait;
    os.duplicate = faulty_duplicate;
    os.set_blocking = faulty_set_blocking;
    io.epoll_create = faulty_epoll_create;
    io.epoll_ctl = faulty_epoll_ctl;
    io.eventfd = faulty_eventfd;
    io.socketpair = faulty_socketpair;
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    jzx__subprocesses_of(loop)->os = &os;
    jzx__io_of(loop)->os = &io;
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = play, .state = scene));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(scene->steps, 6);
    fixture_destroy(loop);
    expect_no_children();
    JZX_EXPECT_EQ(descriptors_open(), before);
    JZX_EXPECT_EQ(fixture_bytes(), 0);
}

/* A signal that is not sent in the course of a stop is followed by SIGKILL, and that by another;
 * one that leads a group is signalled by itself then. */
static bool may_fail_nobody(enum call call) {
    return call == CALL_SIGNAL || call == CALL_SIGNAL_GROUP || call == CALL_WAIT ||
           call == CALL_EPOLL_ADD;
}

JZX_TEST(each_system_call_of_a_subprocess_fails_at_each_use_and_nothing_is_left, "C+fail") {
    struct scene scene;
    uint32_t uses[CALL_COUNT];
    fail_at(CALL_SPAWN, 0, 0);
    run(&scene);
    assert_int_equal(scene.failed, 0);
    for (int i = 0; i < CALL_COUNT; i++)
        uses[i] = atomic_load(&faults.uses[i]);
    for (int call = 0; call < CALL_COUNT; call++) {
        JZX_EXPECT(uses[call] != 0);
        for (uint32_t at = 1; at <= uses[call]; at++) {
            fail_at((enum call)call, at, EIO);
            run(&scene);
            /* On a busy machine a stop may take fewer calls than the first time. */
            bool has_failed = atomic_load(&faults.uses[call]) >= at;
            JZX_EXPECT(scene.failed != 0 || !has_failed || may_fail_nobody((enum call)call));
        }
    }
}

JZX_TEST(a_system_without_room_for_processes_or_memory_says_so, "C+fail") {
    static const struct {
        enum call call;
        int error;
        jzx_err err;
    } cases[] = {{CALL_SPAWN, EAGAIN, JZX_ERR_FULL},
                 {CALL_SPAWN, ENOMEM, JZX_ERR_NO_MEMORY},
                 {CALL_PIDFD_OPEN, EMFILE, JZX_ERR_NO_DESCRIPTORS},
                 {CALL_PIDFD_OPEN, ENOSYS, JZX_ERR_UNSUPPORTED},
                 {CALL_PIDFD_OPEN, ENOMEM, JZX_ERR_NO_MEMORY},
                 {CALL_SOCKETPAIR, EMFILE, JZX_ERR_NO_DESCRIPTORS},
                 {CALL_DUPLICATE, EMFILE, JZX_ERR_NO_DESCRIPTORS},
                 {CALL_EVENTFD, ENFILE, JZX_ERR_NO_DESCRIPTORS}};
    struct scene scene;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fail_at(cases[i].call, 1, cases[i].error);
        run(&scene);
        JZX_EXPECT_EQ(scene.first, cases[i].err);
    }
}

/* ---- a program with the rights of another user ---- */

static int refuse_signal(int pidfd, int signal) {
    (void)pidfd, (void)signal;
    return -EPERM;
}

static void leave_behind(jzx_context *ctx) {
    static const char *const idle[] = {"sleep", "600", NULL};
    jzx_subprocess_info info = {.size = sizeof info};
    jzx_subprocess child = JZX_NO_SUBPROCESS;
    JZX_EXPECT_EQ(jzx_subprocess_spawn(ctx, &JZX_SUBPROCESS_OPTS(.argv = idle), JZX_NEVER, &child),
                  JZX_OK);
    JZX_EXPECT_EQ(jzx_subprocess_info_get(ctx->loop, child, &info), JZX_OK);
    *(int *)ctx->state = info.pid;
}

JZX_TEST(the_end_of_a_loop_does_not_wait_for_a_program_that_it_may_not_kill, "C+fail") {
    struct jzx__subprocess_os os = SYSTEM;
    int before = descriptors_open();
    int pid = -1;
    int status = 0;
    os.signal = refuse_signal;
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    jzx__subprocesses_of(loop)->os = &os;
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = leave_behind, .state = &pid));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    fixture_destroy(loop);
    assert_true(pid > 0); /* else the kill below would be that of all processes */
    JZX_EXPECT_EQ(kill(pid, SIGKILL), 0);
    JZX_EXPECT_EQ(waitpid(pid, &status, 0), pid); /* ours again */
    expect_no_children();
    JZX_EXPECT_EQ(descriptors_open(), before);
    JZX_EXPECT_EQ(fixture_bytes(), 0);
}

/* ---- what the system says of an end ---- */

static siginfo_t said;

/* The process itself is reaped. */
static int say_so(int pidfd, siginfo_t *info, struct rusage *usage) {
    int got = SYSTEM.wait(pidfd, info, usage);
    if (got <= 0)
        return got;
    *info = said;
    *usage = (struct rusage){.ru_utime = {2, 3}, .ru_stime = {4, 5}, .ru_maxrss = 12345};
    return got;
}

static void look_at_end(jzx_context *ctx) {
    static const char *const yes[] = {"true", NULL};
    jzx_subprocess child = JZX_NO_SUBPROCESS;
    jzx_subprocess_status status = {.end = 0};
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_subprocess_spawn(ctx, &JZX_SUBPROCESS_OPTS(.argv = yes), JZX_NEVER, &child),
                  JZX_OK);
    JZX_EXPECT_EQ(jzx_subprocess_wait(ctx, child, JZX_NEVER, &status), JZX_OK);
    bool has_exited = said.si_code == CLD_EXITED;
    JZX_EXPECT_EQ(status.end, has_exited ? JZX_SUBPROCESS_EXITED : JZX_SUBPROCESS_KILLED);
    JZX_EXPECT_EQ(status.code, said.si_status);
    JZX_EXPECT_EQ(status.has_core, said.si_code == CLD_DUMPED);
    JZX_EXPECT_EQ(status.user_ns, 2 * JZX_SECOND(1) + 3 * JZX_US(1));
    JZX_EXPECT_EQ(status.system_ns, 4 * JZX_SECOND(1) + 5 * JZX_US(1));
    JZX_EXPECT_EQ(status.memory_max, UINT64_C(12345) * 1024);
}

JZX_TEST(a_status_has_the_figures_of_the_system, "C+goal") {
    static const int codes[] = {CLD_EXITED, CLD_KILLED, CLD_DUMPED};
    for (unsigned i = 0; i < 3; i++) {
        struct jzx__subprocess_os os = SYSTEM;
        memset(&said, 0, sizeof said);
        said.si_code = codes[i];
        said.si_status = codes[i] == CLD_EXITED ? 3 : SIGABRT;
        os.wait = say_so;
        jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
        jzx__subprocesses_of(loop)->os = &os;
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = look_at_end));
        JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
        JZX_EXPECT_EQ(jzx_test_runs(), i + 1);
        fixture_destroy(loop);
    }
}

/* ---- a future that nobody wants ---- */

static sem_t is_inside; /* a thread is about to start a program */
static sem_t may_spawn;

static int spawn_later(const struct jzx__spawn_plan *plan, pid_t *pid) {
    sem_post(&is_inside);
    while (sem_wait(&may_spawn) != 0)
        ;
    return SYSTEM.spawn(plan, pid);
}

static jzx_behavior_result own_nothing(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx, (void)msg;
    return JZX_BEHAVIOR_OK;
}

/* Up to the end of what it writes, which is its own. */
static size_t read_to_end(int fd, char *text, size_t size) {
    size_t len = 0;
    ssize_t got;
    while ((got = read(fd, text + len, size - len)) > 0)
        len += (size_t)got;
    return len;
}

/* It says that it lives after a while; it is ended long before. */
JZX_TEST(a_program_whose_future_nobody_wants_is_ended_and_reaped, "C+goal", "C+fail") {
    static const char *const argv[] = {"/bin/sh", "-c", "sleep 3; echo alive", NULL};
    struct jzx__subprocess_os os = SYSTEM;
    jzx_future *future = NULL;
    siginfo_t info;
    char text[16];
    int ends[2];
    sem_init(&is_inside, 0, 0);
    sem_init(&may_spawn, 0, 0);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    os.spawn = spawn_later;
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    jzx__subprocesses_of(loop)->os = &os;
    jzx_actor_id owner =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = own_nothing, .daemon = true));
    const jzx_subprocess_opts opts =
        JZX_SUBPROCESS_OPTS(.argv = argv, .output = {JZX_STDIO_FD, ends[1]}, .new_group = true);
    assert_int_equal(jzx_subprocess_spawn_async(loop, &opts, owner, &future), JZX_OK);
    close(ends[1]);
    while (sem_wait(&is_inside) != 0)
        ;
    jzx_future_release(future);
    sem_post(&may_spawn);
    assert_int_equal(read_to_end(ends[0], text, sizeof text), 0);
    while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0) /* the reaper is at it */
        sched_yield();
    expect_no_children();
    fixture_destroy(loop);
    JZX_EXPECT_EQ(fixture_bytes(), 0);
    close(ends[0]);
    sem_destroy(&is_inside);
    sem_destroy(&may_spawn);
}
