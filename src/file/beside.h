/* SPDX-License-Identifier: MIT */
/* A file that is to appear whole under a name: it is written beside the target, and then takes its
 * name.
 *
 *   beside/W1  nobody can open it for more than the file under that name will allow.
 *   beside/W2  where the file system has files without a name, it has one for the moment between
 *              two system calls only: a process that dies before leaves nothing. Elsewhere it is
 *              called ".jzx-<pid>-<number>.tmp" from the start, and such a process
 *              leaves it.
 *   beside/W3  its name does not depend on the target's, which may be as long as names can be. */
#ifndef JZX_FILE_BESIDE_H
#define JZX_FILE_BESIDE_H

#include "file/os.h"

/* With the '\0'. */
#define JZX__PATH_SIZE_MAX 4096u

struct jzx__beside {
    const struct jzx__file_os *os;
    const char *target;
    bool is_by_name;  /* W2: files without a name do not do */
    bool cannot_link; /* set by the end: the caller does all of it again, by name */
    bool has_name;    /* path is one of its own */
    int fd;
    char path[JZX__PATH_SIZE_MAX];
};

/* open(2), again if a signal has interrupted it. */
int jzx__open_again(const struct jzx__file_os *os, const char *path, int flags, mode_t mode);

/* A new file called ".jzx-<pid>-<number>.tmp" in that folder; path has JZX__PATH_SIZE_MAX bytes.
 * The descriptor, or the negative errno. */
int jzx__open_new(const struct jzx__file_os *os, const char *folder, char *path, mode_t mode);

/* A file without a name in that folder. *exists is false if the file system has no such files. */
int jzx__open_unnamed(const struct jzx__file_os *os, const char *folder, mode_t mode, bool *exists);

/* Opens one whose mode is that, less the umask. os, target and is_by_name are set. The descriptor,
 * or the negative errno. */
int jzx__beside_begin(struct jzx__beside *beside, mode_t mode);

/* Gives it the name of the target, or removes it if err, or the naming, is an error: what it
 * returns. */
int jzx__beside_end(struct jzx__beside *beside, int err);

/* The names in the folder of the path are on the disk. */
int jzx__folder_sync(const struct jzx__file_os *os, const char *path);

#endif
