/* SPDX-License-Identifier: MIT */
/* src/file/beside.c: a file that is to appear whole. Nobody can open it for more than the file will
 * allow, a process that dies leaves nothing, and it is on the disk before it has its name. */
#include "child.h"
#include "file/beside.h"
#include "file/file.h"
#include "fixture.h"

#include <jzx/fiber.h>
#include <jzx/path.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SYSTEM jzx__file_os_system

static struct {
    char folder[64];
    char target[80];
    char source[80];
    mode_t mode;      /* what the file will allow */
    bool is_by_name;  /* the file system has no files without a name */
    bool cannot_link; /* it has, and they cannot be named */
    bool dies;        /* the process, when the data are to be on the disk */
    unsigned looks;   /* at a file that is being written */
    char calls[16]; /* w: written, m: mode set, s: file synced, l: linked, r: renamed, f: folder */
} world;

static void note(char call) {
    size_t len = strlen(world.calls);
    if (JZX_EXPECT(len + 1 < sizeof world.calls))
        world.calls[len] = call;
}

/* W1, of all names in the folder but those that were there. */
static void look(void) {
    DIR *directory = opendir(world.folder);
    struct stat stat;
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        if (strstr(entry->d_name, ".tmp") == NULL)
            continue;
        world.looks++;
        JZX_EXPECT_EQ(fstatat(dirfd(directory), entry->d_name, &stat, 0), 0);
        JZX_EXPECT_EQ(stat.st_mode & 07777 & ~world.mode, 0);
    }
    if (directory != NULL)
        closedir(directory);
}

static int open_or_refuse(const char *path, int flags, mode_t mode) {
    bool is_unnamed = (flags & O_TMPFILE) == O_TMPFILE;
    return is_unnamed && world.is_by_name ? -EOPNOTSUPP : SYSTEM.open(path, flags, mode);
}

static ssize_t write_and_look(int fd, const struct iovec *parts, int count, off_t offset) {
    ssize_t put = SYSTEM.writev(fd, parts, count, offset);
    note('w');
    look();
    return put;
}

static ssize_t copy_and_look(int from, int to, size_t len) {
    ssize_t put = SYSTEM.copy_range(from, to, len);
    look();
    return put;
}

static int set_mode_and_look(int fd, mode_t mode) {
    int err = SYSTEM.set_mode(fd, mode);
    note('m');
    look();
    return err;
}

static int sync_or_die(int fd) {
    struct stat stat;
    JZX_EXPECT_EQ(SYSTEM.stat(fd, &stat), 0);
    note(S_ISDIR(stat.st_mode) ? 'f' : 's');
    look();
    if (world.dies)
        _exit(7);
    return SYSTEM.sync(fd);
}

static int sync_data(int fd) {
    note('d');
    return SYSTEM.sync_data(fd);
}

static int link_and_look(int fd, const char *path) {
    int err = world.cannot_link ? -ENOENT : SYSTEM.link(fd, path);
    note('l');
    look();
    return err;
}

static int rename_and_look(const char *from, const char *to) {
    note('r');
    look();
    return SYSTEM.rename(from, to);
}

static struct jzx__file_os hooked(void) {
    struct jzx__file_os os = SYSTEM;
    os.open = open_or_refuse;
    os.writev = write_and_look;
    os.copy_range = copy_and_look;
    os.set_mode = set_mode_and_look;
    os.sync = sync_or_die;
    os.sync_data = sync_data;
    os.link = link_and_look;
    os.rename = rename_and_look;
    return os;
}

/* ---- a folder with one private file ---- */

static void put(const char *path, const char *text, mode_t mode) {
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    assert_int_equal(close(fd), 0);
}

static void open_world(mode_t mode) {
    memset(&world, 0, sizeof world);
    strcpy(world.folder, "/tmp/jzx_beside_XXXXXX");
    assert_non_null(mkdtemp(world.folder));
    snprintf(world.target, sizeof world.target, "%s/target", world.folder);
    snprintf(world.source, sizeof world.source, "%s/source", world.folder);
    world.mode = mode;
    put(world.target, "old", mode);
    put(world.source, "new", mode);
}

static void expect_text(const char *path, const char *text) {
    char buffer[16] = "";
    int fd = open(path, O_RDONLY);
    JZX_EXPECT(fd >= 0);
    JZX_EXPECT_EQ(read(fd, buffer, sizeof buffer - 1), strlen(text));
    JZX_EXPECT(strcmp(buffer, text) == 0);
    close(fd);
}

/* Nothing but the two files is left. */
static void close_world(const char *text) {
    struct stat stat_of;
    expect_text(world.target, text);
    JZX_EXPECT_EQ(stat(world.target, &stat_of), 0);
    JZX_EXPECT_EQ(stat_of.st_mode & 07777, world.mode);
    unlink(world.target);
    unlink(world.source);
    JZX_EXPECT_EQ(rmdir(world.folder), 0);
}

static bool has_unnamed(void) {
    int fd = open(world.folder, O_RDWR | O_TMPFILE, 0600);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static void run(jzx_fiber_fn fn) {
    struct jzx__file_os os = hooked();
    jzx_loop *loop = fixture_loop();
    jzx__files_of(loop)->os = &os;
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = fn));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    fixture_destroy(loop);
}

static void replace(jzx_context *ctx) {
    JZX_EXPECT_EQ(jzx_path_replace(ctx, world.target, "new", 3, 0, JZX_NEVER), JZX_OK);
}

static void replace_with_mode(jzx_context *ctx) {
    JZX_EXPECT_EQ(jzx_path_replace(ctx, world.target, "new", 3, world.mode, JZX_NEVER), JZX_OK);
}

static void copy(jzx_context *ctx) {
    JZX_EXPECT_EQ(jzx_path_copy(ctx, world.source, world.target, JZX_NEVER), JZX_OK);
}

/* ---- W1 ---- */

JZX_TEST(a_file_that_is_written_allows_no_more_than_it_will_at_last) {
    static const mode_t modes[] = {0600, 0400, 0640, 0666};
    static const jzx_fiber_fn calls[] = {replace, replace_with_mode, copy};
    const mode_t before = umask(022);
    for (size_t i = 0; i < 4 * 3 * 2; i++) {
        open_world(modes[i % 4]);
        world.is_by_name = i / 12 != 0;
        run(calls[i / 4 % 3]);
        assert_true(world.looks != 0);
        close_world("new");
    }
    umask(before);
}

JZX_TEST(a_new_file_has_the_mode_that_the_umask_leaves) {
    const mode_t before = umask(027);
    for (int i = 0; i < 2; i++) {
        open_world(0640);
        unlink(world.target);
        world.is_by_name = i != 0;
        run(replace);
        assert_true(world.looks != 0);
        close_world("new");
    }
    umask(before);
}

/* ---- W2 ---- */

static void replace_and_die(void) {
    world.dies = true;
    run(replace);
}

JZX_TEST(a_process_that_dies_while_it_replaces_a_file_leaves_nothing) {
    open_world(0600);
    bool can_run = has_unnamed();
    if (can_run) {
        const struct child_end end = run_in_child(replace_and_die);
        assert_true(WIFEXITED(end.status));
        assert_int_equal(WEXITSTATUS(end.status), 7);
    }
    close_world("old");
    if (!can_run)
        skip(); /* no files without a name in /tmp */
}

JZX_TEST(where_a_file_without_a_name_cannot_be_named_it_has_one_from_the_start) {
    static const jzx_fiber_fn calls[] = {replace, copy};
    for (size_t i = 0; i < 2; i++) {
        open_world(0600);
        world.cannot_link = true;
        run(calls[i]);
        close_world("new");
    }
}

/* ---- on the disk ---- */

JZX_TEST(a_replaced_file_is_on_the_disk_before_it_has_its_name_and_the_name_after_it, "E55") {
    open_world(0600);
    bool is_unnamed = has_unnamed();
    run(replace);
    assert_string_equal(world.calls, is_unnamed ? "wmslrf" : "wmsrf");
    close_world("new");
    open_world(0600);
    world.is_by_name = true;
    run(replace);
    assert_string_equal(world.calls, "wmsrf");
    close_world("new");
}

static void sync_both_ways(jzx_context *ctx) {
    jzx_file file;
    JZX_EXPECT_EQ(jzx_file_open(ctx, world.source, JZX_FILE_WRITE, 0, JZX_NEVER, &file), JZX_OK);
    JZX_EXPECT_EQ(jzx_file_sync(ctx, file, false, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_file_sync(ctx, file, true, JZX_NEVER), JZX_OK);
}

JZX_TEST(a_sync_is_one_of_all_unless_only_the_data_were_asked_for, "E55") {
    open_world(0600);
    run(sync_both_ways);
    assert_string_equal(world.calls, "sd");
    close_world("old");
}
