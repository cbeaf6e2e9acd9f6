/* SPDX-License-Identifier: MIT */
/* Files by their names: renamed, removed, listed, copied and replaced as a whole. */
#include "filing.h"

#include <errno.h>
#include <jzx/io.h>

static void move_about(jzx_context *ctx) {
    jzx_file_info info;
    jzx_test_ran();
    put_file("a", "one");
    JZX_EXPECT_EQ(jzx_path_rename(ctx, in_folder("a"), in_folder("b"), JZX_NEVER), JZX_OK);
    JZX_EXPECT(has_text("b", "one"));
    JZX_EXPECT_EQ(jzx_path_rename(ctx, in_folder("a"), in_folder("b"), JZX_NEVER),
                  JZX_ERR_NOT_FOUND);
    JZX_EXPECT_EQ(jzx_path_stat(ctx, in_folder("b"), JZX_NEVER, &info), JZX_OK);
    JZX_EXPECT_EQ(info.bytes, 3);
    JZX_EXPECT_EQ(jzx_path_mkdir(ctx, in_folder("d"), 0700, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_path_mkdir(ctx, in_folder("d"), 0700, JZX_NEVER), JZX_ERR_EXISTS);
    JZX_EXPECT_EQ(jzx_path_stat(ctx, in_folder("d"), JZX_NEVER, &info), JZX_OK);
    JZX_EXPECT_EQ(info.kind, JZX_FILE_FOLDER);
    JZX_EXPECT_EQ(info.mode, 0700);
    JZX_EXPECT_EQ(jzx_path_rename(ctx, in_folder("b"), in_folder("d/b"), JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_path_remove(ctx, in_folder("d"), JZX_NEVER), JZX_ERR_IO);
    JZX_EXPECT_EQ(jzx_last_os_error(ctx), ENOTEMPTY);
    JZX_EXPECT_EQ(jzx_path_remove(ctx, in_folder("d/b"), JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_path_remove(ctx, in_folder("d"), JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_path_remove(ctx, in_folder("d"), JZX_NEVER), JZX_ERR_NOT_FOUND);
    JZX_EXPECT_EQ(jzx_path_stat(ctx, in_folder("d"), JZX_NEVER, &info), JZX_ERR_NOT_FOUND);
    JZX_EXPECT_EQ(jzx_path_remove(ctx, NULL, JZX_NEVER), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_path_rename(ctx, "a", NULL, JZX_NEVER), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_path_mkdir(ctx, "a", 0xffff, JZX_NEVER), JZX_ERR_INVALID_ARG);
}

JZX_TEST(files_and_folders_are_made_renamed_and_removed, "E55") {
    in_a_fiber(move_about, NULL);
}

static void list_names(jzx_context *ctx) {
    static char names[65536];
    unsigned count = 0;
    size_t len = 0;
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_path_list(ctx, folder, names, sizeof names, JZX_NEVER, &len), JZX_OK);
    JZX_EXPECT_EQ(len, 0);
    JZX_EXPECT(jzx_path_next(names, len, NULL) == NULL);
    for (unsigned i = 0; i < 500; i++) { /* more than one system call gives */
        char name[32];
        snprintf(name, sizeof name, "name_%03u", i);
        put_file(name, "");
    }
    JZX_EXPECT_EQ(mkdir(in_folder("inner"), 0700), 0);
    JZX_EXPECT_EQ(jzx_path_list(ctx, folder, names, sizeof names, JZX_NEVER, &len), JZX_OK);
    bool seen[500] = {false};
    for (const char *name = NULL; (name = jzx_path_next(names, len, name)) != NULL; count++) {
        if (strcmp(name, "inner/") == 0)
            continue;
        unsigned i = (unsigned)atoi(name + 5);
        JZX_EXPECT(strncmp(name, "name_", 5) == 0 && i < 500 && !seen[i]);
        seen[i % 500] = true;
    }
    JZX_EXPECT_EQ(count, 501);
    JZX_EXPECT_EQ(len, 500 * 9 + 7);
    JZX_EXPECT_EQ(jzx_path_list(ctx, folder, names, len, JZX_NEVER, &len), JZX_OK);
    JZX_EXPECT_EQ(jzx_path_list(ctx, folder, names, len - 1, JZX_NEVER, &len), JZX_ERR_TOO_LONG);
    JZX_EXPECT_EQ(jzx_path_list(ctx, in_folder("none"), names, 9, JZX_NEVER, &len),
                  JZX_ERR_NOT_FOUND);
}

JZX_TEST(a_folder_is_listed_whole, "E55") {
    in_a_fiber(list_names, NULL);
}

static void copy_files(jzx_context *ctx) {
    jzx_file_info info;
    jzx_test_ran();
    put_file("a", "some text");
    put_file("b", "other text, which is longer");
    JZX_EXPECT_EQ(chmod(in_folder("a"), 0640), 0);
    JZX_EXPECT_EQ(jzx_path_copy(ctx, in_folder("a"), in_folder("b"), JZX_NEVER), JZX_OK);
    JZX_EXPECT(has_text("b", "some text"));
    JZX_EXPECT_EQ(jzx_path_stat(ctx, in_folder("b"), JZX_NEVER, &info), JZX_OK);
    JZX_EXPECT_EQ(info.mode, 0640);
    JZX_EXPECT_EQ(jzx_path_copy(ctx, "/proc/self/status", in_folder("c"), JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_path_stat(ctx, in_folder("c"), JZX_NEVER, &info), JZX_OK);
    JZX_EXPECT(info.bytes > 100); /* of a file whose size is 0 */
    JZX_EXPECT_EQ(jzx_path_copy(ctx, in_folder("none"), in_folder("d"), JZX_NEVER),
                  JZX_ERR_NOT_FOUND);
    JZX_EXPECT_EQ(jzx_path_copy(ctx, folder, in_folder("d"), JZX_NEVER), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(mkfifo(in_folder("pipe"), 0600), 0);
    JZX_EXPECT_EQ(jzx_path_copy(ctx, in_folder("pipe"), in_folder("d"), JZX_NEVER),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_path_copy(ctx, in_folder("a"), in_folder("none/d"), JZX_NEVER),
                  JZX_ERR_NOT_FOUND);
    JZX_EXPECT_EQ(count_names(), 4); /* nothing half done is left */
}

JZX_TEST(a_copy_is_whole_or_not_there, "E55") {
    in_a_fiber(copy_files, NULL);
}

static void replace_files(jzx_context *ctx) {
    jzx_file_info info;
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_path_replace(ctx, in_folder("a"), "one", 3, 0600, JZX_NEVER), JZX_OK);
    JZX_EXPECT(has_text("a", "one"));
    JZX_EXPECT_EQ(jzx_path_replace(ctx, in_folder("a"), "three", 5, 0, JZX_NEVER), JZX_OK);
    JZX_EXPECT(has_text("a", "three"));
    JZX_EXPECT_EQ(jzx_path_stat(ctx, in_folder("a"), JZX_NEVER, &info), JZX_OK);
    JZX_EXPECT_EQ(info.mode, 0600); /* as before */
    JZX_EXPECT_EQ(jzx_path_replace(ctx, in_folder("a"), NULL, 0, 0, JZX_NEVER), JZX_OK);
    JZX_EXPECT(has_text("a", ""));
    JZX_EXPECT_EQ(jzx_path_replace(ctx, in_folder("none/a"), "x", 1, 0, JZX_NEVER),
                  JZX_ERR_NOT_FOUND);
    JZX_EXPECT_EQ(mkdir(in_folder("d"), 0700), 0);
    JZX_EXPECT_EQ(jzx_path_replace(ctx, in_folder("d"), "x", 1, 0, JZX_NEVER), JZX_ERR_IO);
    JZX_EXPECT_EQ(jzx_path_replace(ctx, in_folder("a"), NULL, 1, 0, JZX_NEVER),
                  JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(count_names(), 2);
}

JZX_TEST(a_file_is_replaced_as_a_whole, "E55") {
    in_a_fiber(replace_files, NULL);
}

/* No file beside it may need a longer name. */
static void use_long_name(jzx_context *ctx) {
    char path[512];
    char copy[512];
    char target[256];
    jzx_file_info info;
    jzx_test_ran();
    memset(target, 'n', 255);
    target[255] = '\0';
    snprintf(path, sizeof path, "%s/%s", folder, target);
    target[0] = 'c';
    snprintf(copy, sizeof copy, "%s/%s", folder, target);
    for (unsigned i = 0; i < 2; i++) { /* a new one, and in place of another */
        JZX_EXPECT_EQ(jzx_path_replace(ctx, path, "x", 1, 0600, JZX_NEVER), JZX_OK);
        JZX_EXPECT_EQ(jzx_path_copy(ctx, path, copy, JZX_NEVER), JZX_OK);
    }
    JZX_EXPECT_EQ(jzx_path_stat(ctx, copy, JZX_NEVER, &info), JZX_OK);
    JZX_EXPECT_EQ(info.bytes, 1);
    JZX_EXPECT_EQ(count_names(), 2);
}

JZX_TEST(a_name_of_the_greatest_length_is_replaced_and_copied_to, "E55") {
    in_a_fiber(use_long_name, NULL);
}

static void expect_mode(jzx_context *ctx, const char *name, uint32_t mode) {
    jzx_file_info info;
    JZX_EXPECT_EQ(jzx_path_stat(ctx, in_folder(name), JZX_NEVER, &info), JZX_OK);
    JZX_EXPECT_EQ(info.mode, mode);
    JZX_EXPECT_EQ(info.user, 0);
}

static void take_over(jzx_context *ctx) {
    static const struct {
        uid_t user;
        gid_t group;
        uint32_t kept;
    } owners[] = {{0, 0, 06755}, {65534, 0, 0755}, {0, 65534, 0755}};
    jzx_test_ran();
    for (size_t i = 0; i < 3; i++) {
        JZX_EXPECT_EQ(jzx_path_replace(ctx, in_folder("a"), "x", 1, 0600, JZX_NEVER), JZX_OK);
        JZX_EXPECT_EQ(chown(in_folder("a"), owners[i].user, owners[i].group), 0);
        JZX_EXPECT_EQ(chmod(in_folder("a"), 06755), 0); /* a chown takes them away */
        JZX_EXPECT_EQ(jzx_path_copy(ctx, in_folder("a"), in_folder("b"), JZX_NEVER), JZX_OK);
        expect_mode(ctx, "b", owners[i].kept);
        JZX_EXPECT_EQ(jzx_path_replace(ctx, in_folder("a"), "y", 1, 0, JZX_NEVER), JZX_OK);
        expect_mode(ctx, "a", owners[i].kept);
    }
    JZX_EXPECT_EQ(chown(in_folder("a"), 65534, 0), 0);
    JZX_EXPECT_EQ(jzx_path_replace(ctx, in_folder("a"), "z", 1, 04755, JZX_NEVER), JZX_OK);
    expect_mode(ctx, "a", 04755); /* the caller says so */
}

JZX_TEST(set_id_bits_of_another_owner_are_not_taken_over) {
    if (geteuid() != 0 || getegid() != 0)
        skip(); /* only root has files of others */
    in_a_fiber(take_over, NULL);
}
