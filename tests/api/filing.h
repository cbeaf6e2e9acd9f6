/* SPDX-License-Identifier: MIT */
/* What the tests of files share: a folder of their own, a fiber that does something in it, and a
 * look for descriptors and memory that were left. */
#ifndef JZX_API_FILING_H
#define JZX_API_FILING_H

#include "descriptors.h"
#include "fixture.h"

#include <jzx/fiber.h>
#include <jzx/file.h>
#include <jzx/path.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];
static int descriptors_before;

/* The path of a name in the folder; a few are valid at a time. */
static inline const char *in_folder(const char *name) {
    static char paths[8][128];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static inline void folder_open(void) {
    snprintf(folder, sizeof folder, "/tmp/jzx_file_XXXXXX");
    assert_non_null(mkdtemp(folder));
    descriptors_before = descriptors_open();
}

static inline void remove_all(const char *path) {
    DIR *directory = opendir(path);
    char inside[512];
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        snprintf(inside, sizeof inside, "%s/%s", path, entry->d_name);
        if (unlink(inside) != 0)
            remove_all(inside);
    }
    if (directory != NULL)
        closedir(directory);
    rmdir(path);
}

/* The loop is gone: so is all that was opened. */
static inline void folder_close(void) {
    JZX_EXPECT_EQ(descriptors_open(), descriptors_before);
    JZX_EXPECT_EQ(fixture_bytes(), 0);
    remove_all(folder);
}

/* Files in the folder. */
static inline unsigned count_names(void) {
    DIR *directory = opendir(folder);
    unsigned count = 0;
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    if (directory != NULL)
        closedir(directory);
    return count;
}

static inline void put_file(const char *name, const char *text) {
    FILE *file = fopen(in_folder(name), "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static inline bool has_text(const char *name, const char *text) {
    char buffer[4096];
    FILE *file = fopen(in_folder(name), "r");
    if (file == NULL)
        return false;
    size_t len = fread(buffer, 1, sizeof buffer - 1, file);
    fclose(file);
    buffer[len] = '\0';
    return strcmp(buffer, text) == 0;
}

/* Runs a fiber to its end in a folder. */
static inline void in_a_fiber(jzx_fiber_fn fn, void *state) {
    folder_open();
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = fn, .state = state));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
    fixture_destroy(loop);
    folder_close();
}

#endif
