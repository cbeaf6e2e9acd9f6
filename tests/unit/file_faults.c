/* SPDX-License-Identifier: MIT */
/* src/file: each system call fails at each of its uses, for every use of a scenario: the call says
 * so, and no descriptor, no file beside another one and no memory is left. */
#include "file/file.h"

#include "descriptors.h"
#include "fixture.h"

#include <jzx/fiber.h>
#include <jzx/path.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum call {
    CALL_OPEN,
    CALL_CLOSE,
    CALL_READV,
    CALL_WRITEV,
    CALL_SYNC,
    CALL_SYNC_DATA,
    CALL_ALLOCATE,
    CALL_TRUNCATE,
    CALL_STAT,
    CALL_STAT_PATH,
    CALL_SET_MODE,
    CALL_RENAME,
    CALL_LINK,
    CALL_UNLINK,
    CALL_RMDIR,
    CALL_MKDIR,
    CALL_ENTRIES,
    CALL_COPY_RANGE,
    CALL_COUNT
};

static struct {
    uint32_t uses[CALL_COUNT];
    enum call call; /* this one fails */
    uint32_t at;    /* at this use, from 1 on; 0: never */
    uint32_t times; /* so often */
    int error;
    bool is_short; /* reads and writes are of one byte */
} faults;

static int use(enum call call) {
    uint32_t number = ++faults.uses[call];
    bool fails = call == faults.call && faults.at != 0 && number >= faults.at &&
                 number - faults.at < faults.times;
    return fails ? -faults.error : 0;
}

#define SYSTEM jzx__file_os_system

static int faulty_open(const char *path, int flags, mode_t mode) {
    int err = use(CALL_OPEN);
    return err < 0 ? err : SYSTEM.open(path, flags, mode);
}

/* As Linux does it: the descriptor is closed, whatever the call says. */
static int faulty_close(int fd) {
    int err = use(CALL_CLOSE);
    int closed = SYSTEM.close(fd);
    return err < 0 ? err : closed;
}

static ssize_t faulty_readv(int fd, const struct iovec *parts, int count, off_t offset) {
    int err = use(CALL_READV);
    return err < 0 ? err : SYSTEM.readv(fd, parts, count, offset);
}

static int faulty_await(int fd, int event) {
    return SYSTEM.await(fd, event);
}

static ssize_t faulty_writev(int fd, const struct iovec *parts, int count, off_t offset) {
    struct iovec one = {parts->iov_base, 1};
    int err = use(CALL_WRITEV);
    if (err < 0)
        return err;
    return faults.is_short ? SYSTEM.writev(fd, &one, 1, offset)
                           : SYSTEM.writev(fd, parts, count, offset);
}

#define FAULTY(name, call, parameters, ...)                                                        \
    static int faulty_##name parameters {                                                          \
        int err = use(call);                                                                       \
        return err < 0 ? err : SYSTEM.name(__VA_ARGS__);                                           \
    }

FAULTY(sync, CALL_SYNC, (int fd), fd)
FAULTY(sync_data, CALL_SYNC_DATA, (int fd), fd)
FAULTY(allocate, CALL_ALLOCATE, (int fd, off_t offset, off_t len), fd, offset, len)
FAULTY(truncate, CALL_TRUNCATE, (int fd, off_t len), fd, len)
FAULTY(stat, CALL_STAT, (int fd, struct stat *stat), fd, stat)
FAULTY(stat_path, CALL_STAT_PATH, (const char *path, struct stat *stat), path, stat)
FAULTY(set_mode, CALL_SET_MODE, (int fd, mode_t mode), fd, mode)
FAULTY(rename, CALL_RENAME, (const char *from, const char *to), from, to)
FAULTY(link, CALL_LINK, (int fd, const char *path), fd, path)
FAULTY(unlink, CALL_UNLINK, (const char *path), path)
FAULTY(rmdir, CALL_RMDIR, (const char *path), path)
FAULTY(mkdir, CALL_MKDIR, (const char *path, mode_t mode), path, mode)

static ssize_t faulty_entries(int fd, void *buffer, size_t size) {
    int err = use(CALL_ENTRIES);
    return err < 0 ? err : SYSTEM.entries(fd, buffer, size);
}

static ssize_t faulty_copy_range(int from, int to, size_t len) {
    int err = use(CALL_COPY_RANGE);
    return err < 0 ? err : SYSTEM.copy_range(from, to, len);
}

static const struct jzx__file_os faulty = {
    .open = faulty_open,
    .close = faulty_close,
    .readv = faulty_readv,
    .await = faulty_await,
    .writev = faulty_writev,
    .sync = faulty_sync,
    .sync_data = faulty_sync_data,
    .allocate = faulty_allocate,
    .truncate = faulty_truncate,
    .stat = faulty_stat,
    .stat_path = faulty_stat_path,
    .set_mode = faulty_set_mode,
    .rename = faulty_rename,
    .link = faulty_link,
    .unlink = faulty_unlink,
    .rmdir = faulty_rmdir,
    .mkdir = faulty_mkdir,
    .entries = faulty_entries,
    .copy_range = faulty_copy_range,
};

/* ---- a scenario: what each step returned ---- */

#define STEPS_MAX 32u

struct scene {
    char folder[64];
    jzx_err errs[STEPS_MAX];
    uint32_t count;
    uint32_t failed;
    char text[16]; /* what was read at last */
};

static const char *path_of(const struct scene *scene, char *path, const char *name) {
    snprintf(path, 128, "%s/%s", scene->folder, name);
    return path;
}

static void note(struct scene *scene, jzx_err err) {
    scene->failed += err != JZX_OK;
    scene->errs[scene->count++] = err;
}

static void use_file(jzx_context *ctx, struct scene *scene, const char *path) {
    jzx_file file = JZX_NO_FILE;
    jzx_file_info info;
    size_t len = 0;
    note(scene, jzx_file_open(ctx, path, JZX_FILE_READ | JZX_FILE_WRITE | JZX_FILE_CREATE, 0600,
                              JZX_NEVER, &file));
    note(scene, jzx_file_write(ctx, file, "abcdef", 6, 0, JZX_NEVER, &len));
    note(scene, jzx_file_sync(ctx, file, false, JZX_NEVER));
    note(scene, jzx_file_sync(ctx, file, true, JZX_NEVER));
    note(scene, jzx_file_allocate(ctx, file, 0, 8, JZX_NEVER));
    note(scene, jzx_file_truncate(ctx, file, 6, JZX_NEVER));
    note(scene, jzx_file_stat(ctx, file, JZX_NEVER, &info));
    note(scene, jzx_file_read(ctx, file, scene->text, 16, 0, JZX_NEVER, &len));
    note(scene, jzx_file_close(ctx->loop, file));
}

static void use_names(jzx_context *ctx, struct scene *scene, const char *a) {
    char b[128];
    char d[128];
    char names[256];
    size_t len;
    jzx_file_info info;
    (void)path_of(scene, b, "b");
    (void)path_of(scene, d, "d");
    note(scene, jzx_path_copy(ctx, a, b, JZX_NEVER));
    note(scene, jzx_path_replace(ctx, b, "123", 3, 0, JZX_NEVER));
    note(scene, jzx_path_stat(ctx, b, JZX_NEVER, &info));
    note(scene, jzx_path_mkdir(ctx, d, 0700, JZX_NEVER));
    note(scene, jzx_path_list(ctx, scene->folder, names, sizeof names, JZX_NEVER, &len));
    note(scene, jzx_path_remove(ctx, d, JZX_NEVER));
    note(scene, jzx_path_rename(ctx, b, a, JZX_NEVER));
    note(scene, jzx_path_remove(ctx, a, JZX_NEVER));
}

static void play(jzx_context *ctx) {
    struct scene *scene = ctx->state;
    char path[128];
    (void)path_of(scene, path, "a");
    use_file(ctx, scene, path);
    use_names(ctx, scene, path);
}

/* What was left of the program's own: at most these three. */
static void expect_clean(const struct scene *scene) {
    char path[128];
    (void)unlink(path_of(scene, path, "a"));
    (void)unlink(path_of(scene, path, "b"));
    (void)rmdir(path_of(scene, path, "d"));
    JZX_EXPECT_EQ(rmdir(scene->folder), 0); /* nothing else is in it */
}

static void run(struct scene *scene) {
    *scene = (struct scene){.folder = "/tmp/jzx_faults_XXXXXX"};
    assert_non_null(mkdtemp(scene->folder));
    int before = descriptors_open();
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    jzx__files_of(loop)->os = &faulty;
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = play, .state = scene));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(scene->count, 17);
    fixture_destroy(loop);
    JZX_EXPECT_EQ(descriptors_open(), before);
    JZX_EXPECT_EQ(fixture_bytes(), 0);
}

static void fail_at(enum call call, uint32_t at, uint32_t times, int error) {
    memset(&faults, 0, sizeof faults);
    faults.call = call;
    faults.at = at;
    faults.times = times;
    faults.error = error;
}

JZX_TEST(each_system_call_fails_at_each_use_and_nothing_is_left, "C+fail", "E55") {
    static struct scene scene;
    uint32_t uses[CALL_COUNT];
    fail_at(CALL_OPEN, 0, 0, 0);
    run(&scene);
    assert_int_equal(scene.failed, 0);
    assert_memory_equal(scene.text, "abcdef", 6);
    expect_clean(&scene);
    memcpy(uses, faults.uses, sizeof uses);
    for (uint32_t call = 0; call < CALL_COUNT; call++) {
        JZX_EXPECT(uses[call] != 0);
        for (uint32_t at = 1; at <= uses[call]; at++) {
            fail_at((enum call)call, at, 1, EIO);
            run(&scene);
            /* A lost name of a file that was to be unlinked is the one thing that stays. */
            bool may_fail_nobody =
                call == CALL_CLOSE || call == CALL_STAT_PATH || (call == CALL_STAT && at == 1);
            JZX_EXPECT(scene.failed != 0 || may_fail_nobody);
            expect_clean(&scene);
        }
    }
}

JZX_TEST(interrupted_and_short_calls_are_made_again, "C+fail") {
    static const enum call calls[] = {CALL_OPEN,     CALL_READV,    CALL_WRITEV,  CALL_SYNC_DATA,
                                      CALL_ALLOCATE, CALL_TRUNCATE, CALL_ENTRIES, CALL_COPY_RANGE};
    static struct scene scene;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        fail_at(calls[i], 1, 50, EINTR); /* a storm of signals */
        faults.is_short = true;
        run(&scene);
        JZX_EXPECT_EQ(scene.failed, 0);
        assert_memory_equal(scene.text, "abcdef", 6);
        expect_clean(&scene);
    }
}

JZX_TEST(a_system_that_cannot_copy_by_itself_is_helped) {
    static const int errors[] = {EXDEV, EINVAL, ENOSYS, EOPNOTSUPP};
    static struct scene scene;
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        fail_at(CALL_COPY_RANGE, 1, UINT32_MAX, errors[i]);
        run(&scene);
        JZX_EXPECT_EQ(scene.failed, 0);
        expect_clean(&scene);
    }
}
