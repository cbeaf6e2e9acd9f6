/* SPDX-License-Identifier: MIT */
/* src/file/start.c: a file that was opened for a future which nobody wants any more. */
#include "file/file.h"
#include "fixture.h"

#include <jzx/blocking.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <semaphore.h>

static struct {
    sem_t is_inside; /* a thread is about to open a file */
    sem_t may_open;
    int fd;
} world;

static int open_later(const char *path, int flags, mode_t mode) {
    sem_post(&world.is_inside);
    while (sem_wait(&world.may_open) != 0)
        ;
    world.fd = jzx__file_os_system.open(path, flags, mode);
    return world.fd;
}

static jzx_blocking_stats stats_of(jzx_loop *loop) {
    jzx_blocking_stats stats = {.size = sizeof stats};
    JZX_EXPECT_EQ(jzx_blocking_pool_stats(jzx_blocking_pool_find(loop, JZX_FILE_POOL), &stats),
                  JZX_OK);
    return stats;
}

/* All that its threads had to do is done. */
static void wait_for_pool(jzx_loop *loop) {
    jzx_blocking_stats stats;
    do {
        sched_yield();
        stats = stats_of(loop);
    } while (stats.queued != 0 || stats.idle != stats.threads);
}

static bool is_open(int fd) {
    return fcntl(fd, F_GETFD) >= 0;
}

static void open_for(jzx_future *(*start)(jzx_loop *loop), bool is_wanted) {
    struct jzx__file_os os = jzx__file_os_system;
    jzx_loop *loop = fixture_loop();
    jzx_file file = JZX_NO_FILE;
    sem_init(&world.is_inside, 0, 0);
    sem_init(&world.may_open, 0, 0);
    os.open = open_later;
    jzx__files_of(loop)->os = &os;
    jzx_future *future = start(loop);
    while (sem_wait(&world.is_inside) != 0)
        ;
    if (!is_wanted)
        jzx_future_release(future);
    sem_post(&world.may_open);
    wait_for_pool(loop);
    JZX_EXPECT(world.fd >= 0);
    while (!is_wanted && is_open(world.fd)) /* its thread may be called idle before (J3) */
        sched_yield();
    JZX_EXPECT_EQ(is_open(world.fd), is_wanted);
    if (is_wanted) {
        JZX_EXPECT_EQ(jzx_future_wait(future, JZX_NEVER, &file), JZX_OK);
        JZX_EXPECT_EQ(jzx_file_fd(loop, file), world.fd);
        jzx_future_release(future);
        JZX_EXPECT(is_open(world.fd)); /* it is the loop's until it is given away */
    }
    fixture_destroy(loop);
    JZX_EXPECT(!is_open(world.fd));
    JZX_EXPECT_EQ(fixture_bytes(), 0);
    sem_destroy(&world.is_inside);
    sem_destroy(&world.may_open);
}

static jzx_future *start_open(jzx_loop *loop) {
    jzx_future *future = NULL;
    JZX_EXPECT_EQ(jzx_file_open_async(loop, "/dev/null", JZX_FILE_READ, 0, &future), JZX_OK);
    return future;
}

static jzx_future *start_temporary(jzx_loop *loop) {
    jzx_future *future = NULL;
    JZX_EXPECT_EQ(jzx_file_temporary_async(loop, NULL, &future), JZX_OK);
    return future;
}

JZX_TEST(a_file_whose_future_nobody_wants_is_closed_when_it_is_open, "E55") {
    for (int is_wanted = 0; is_wanted < 2; is_wanted++) {
        open_for(start_open, is_wanted != 0);
        open_for(start_temporary, is_wanted != 0);
    }
}
