/* SPDX-License-Identifier: MIT */
/* Files: a copy by fibers that read and write blocks in turn, against cp, which has a process of
 * its own; and small reads of a file that is in memory, by io_uring against the pool of threads.
 * Both back ends copy, in two rows. Files are below /tmp, or where TMPDIR says. */
#include "bench.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCK 524288u
#define MIB 1048576u
#define COPIERS 2u
#define SMALL 4096u
#define PATH_SIZE 256u

extern char **environ;

struct paths {
    char from[PATH_SIZE];
    char to[PATH_SIZE];
};

static void make_source(struct paths *paths, uint64_t mib) {
    static char block[MIB];
    const char *folder = getenv("TMPDIR");
    folder = folder == NULL ? "/tmp" : folder;
    snprintf(paths->from, sizeof paths->from, "%s/jzx_bench_from_%ld", folder, (long)getpid());
    snprintf(paths->to, sizeof paths->to, "%s/jzx_bench_to_%ld", folder, (long)getpid());
    int fd = open(paths->from, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    BENCH_CHECK(fd >= 0);
    for (uint64_t i = 0; i < mib; i++) {
        memset(block, (int)(i % 251), sizeof block);
        BENCH_CHECK(write(fd, block, sizeof block) == (ssize_t)sizeof block);
    }
    (void)fsync(fd); /* or its way to the disk is measured */
    (void)close(fd);
}

/* The copy has every byte; then both are gone. */
static void check_and_remove(const struct paths *paths, uint64_t mib) {
    static char block[MIB];
    int fd = open(paths->to, O_RDONLY | O_CLOEXEC);
    BENCH_CHECK(fd >= 0);
    for (uint64_t i = 0; i < mib; i++) {
        BENCH_CHECK(read(fd, block, sizeof block) == (ssize_t)sizeof block);
        for (uint32_t at = 0; at < MIB; at += SMALL)
            BENCH_CHECK(block[at] == (char)(i % 251) && block[at + SMALL - 1] == (char)(i % 251));
    }
    BENCH_CHECK(read(fd, block, 1) == 0);
    (void)close(fd);
    (void)unlink(paths->from);
    (void)unlink(paths->to);
}

/* ---- a copy ---- */

struct copy {
    struct paths paths;
    jzx_file from;
    jzx_file to;
    uint64_t blocks;
    uint64_t next; /* block that nobody has taken */
    uint32_t left; /* copiers */
};

struct copier {
    struct copy *copy;
    char block[BLOCK];
};

/* Blocks are taken in order by whoever is free: one worker, so no two take the same. */
static void copy_blocks(jzx_context *ctx) {
    struct copier *self = ctx->state;
    struct copy *copy = self->copy;
    while (copy->next < copy->blocks) {
        uint64_t at = copy->next++ * BLOCK;
        size_t len = 0;
        BENCH_CHECK(jzx_file_read(ctx, copy->from, self->block, BLOCK, at, JZX_NEVER, &len) ==
                    JZX_OK);
        BENCH_CHECK(len == BLOCK);
        BENCH_CHECK(jzx_file_write(ctx, copy->to, self->block, len, at, JZX_NEVER, NULL) == JZX_OK);
    }
    copy->left--;
}

static void open_both(jzx_context *ctx) {
    static struct copier copiers[COPIERS];
    struct copy *copy = ctx->state;
    jzx_actor_id id;
    BENCH_CHECK(jzx_file_open(ctx, copy->paths.from, JZX_FILE_READ, 0, JZX_NEVER, &copy->from) ==
                JZX_OK);
    BENCH_CHECK(jzx_file_open(ctx, copy->paths.to,
                              JZX_FILE_WRITE | JZX_FILE_CREATE | JZX_FILE_TRUNCATE, 0600, JZX_NEVER,
                              &copy->to) == JZX_OK);
    for (uint32_t i = 0; i < COPIERS; i++) {
        copiers[i].copy = copy;
        jzx_spawn_opts opts = JZX_SPAWN_OPTS(.fiber = copy_blocks, .state = &copiers[i]);
        BENCH_CHECK(jzx_spawn(ctx->loop, &opts, &id) == JZX_OK);
        BENCH_CHECK(jzx_monitor(ctx, id, NULL) == JZX_OK);
    }
    while (copy->left != 0) { /* the files are closed when this fiber ends */
        jzx_message down;
        BENCH_CHECK(jzx_receive(ctx, JZX_NEVER, &down) == JZX_OK);
    }
}

static void run_copy(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    static struct copy copy;
    jzx_actor_id id;
    jzx_spawn_opts opts = JZX_SPAWN_OPTS(.fiber = open_both, .state = &copy);
    copy = (struct copy){.left = COPIERS};
    make_source(&copy.paths, size);
    copy.blocks = size * MIB / BLOCK;
    double start = bench_now();
    BENCH_CHECK(jzx_spawn(loop, &opts, &id) == JZX_OK);
    bench_run_to_end(loop);
    run->seconds = bench_now() - start;
    run->ops = size;
    check_and_remove(&copy.paths, size);
}

/* As a user would copy: a process, reads and writes. */
static void run_cp(jzx_loop *unused, uint64_t size, struct bench_run *run) {
    struct paths paths;
    char name[] = "cp";
    char option[] = "--reflink=never";
    char *arguments[] = {name, option, paths.from, paths.to, NULL};
    pid_t child;
    int status = 0;
    (void)unused;
    make_source(&paths, size);
    double start = bench_now();
    BENCH_CHECK(posix_spawnp(&child, "cp", NULL, NULL, arguments, environ) == 0);
    BENCH_CHECK(waitpid(child, &status, 0) == child && status == 0);
    run->seconds = bench_now() - start;
    run->ops = size;
    check_and_remove(&paths, size);
}

/* ---- small reads ---- */

struct reader {
    struct paths paths;
    uint64_t left;
};

static void read_small(jzx_context *ctx) {
    static char block[SMALL];
    struct reader *self = ctx->state;
    jzx_file file;
    size_t len = 0;
    BENCH_CHECK(jzx_file_open(ctx, self->paths.from, JZX_FILE_READ, 0, JZX_NEVER, &file) == JZX_OK);
    for (; self->left != 0; self->left--) {
        uint64_t at = self->left % (MIB / SMALL) * SMALL;
        BENCH_CHECK(jzx_file_read(ctx, file, block, SMALL, at, JZX_NEVER, &len) == JZX_OK);
        BENCH_CHECK(len == SMALL);
    }
}

static void run_reads(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    struct reader reader = {.left = size};
    jzx_actor_id id;
    jzx_spawn_opts opts = JZX_SPAWN_OPTS(.fiber = read_small, .state = &reader);
    make_source(&reader.paths, 1);
    double start = bench_now();
    BENCH_CHECK(jzx_spawn(loop, &opts, &id) == JZX_OK);
    bench_run_to_end(loop);
    run->seconds = bench_now() - start;
    run->ops = size;
    BENCH_CHECK_EQUAL(reader.left, 0);
    (void)unlink(reader.paths.from);
}

static void run_reads_by_threads(jzx_loop *unused, uint64_t size, struct bench_run *run) {
    jzx_loop *loop = jzx_loop_create(&JZX_CONFIG(.workers = 1, .io_backend = JZX_IO_EPOLL));
    (void)unused;
    BENCH_CHECK(loop != NULL);
    run_reads(loop, size, run);
    BENCH_CHECK(jzx_loop_destroy(loop) == JZX_OK);
}

static const jzx_config by_ring = {.size = sizeof(jzx_config), .io_backend = JZX_IO_URING};
static const jzx_config by_threads = {.size = sizeof(jzx_config), .io_backend = JZX_IO_EPOLL};

const struct bench bench_file_copy = {
    .name = "file-copy",
    .op = "a MiB copied, by io_uring",
    .checked = "every page of the copy",
    .batch = "1",
    .kind = BENCH_ONE,
    .run = run_copy,
    .alone = run_cp,
    .size = 256,
    .size_min = 1,
    .config = &by_ring,
    .pairs_max = 7,
    .aim = -1,
    .ratio_limit = 1.11,
};

const struct bench bench_file_copy_threads = {
    .name = "file-copy-threads",
    .op = "a MiB copied, by the pool of threads",
    .checked = "every page of the copy",
    .batch = "1",
    .kind = BENCH_ONE,
    .run = run_copy,
    .alone = run_cp,
    .size = 256,
    .size_min = 1,
    .config = &by_threads,
    .foreign_threads = COPIERS,
    .pairs_max = 7,
    .aim = -1,
};

const struct bench bench_file_read = {
    .name = "file-read",
    .op = "4 KiB read from memory, by io_uring",
    .checked = "lengths",
    .batch = "1",
    .kind = BENCH_ONE,
    .run = run_reads,
    .alone = run_reads_by_threads,
    .size = 20000,
    .size_min = 100,
    .config = &by_ring,
    .aim = -1,
    .ratio_limit = 1.0,
};
