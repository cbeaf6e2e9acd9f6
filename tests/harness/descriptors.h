/* SPDX-License-Identifier: MIT */
/* Which descriptors the process has: a test that opens some compares before and after. */
#ifndef JZX_TEST_DESCRIPTORS_H
#define JZX_TEST_DESCRIPTORS_H

#include <dirent.h>
#include <stdlib.h>

/* How many are open. */
static inline int descriptors_open(void) {
    DIR *directory = opendir("/proc/self/fd");
    int count = 0;
    if (directory == NULL)
        return -1;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        count += entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(directory);
    closedir(directory);
    return count;
}

#endif
