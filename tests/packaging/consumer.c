/* SPDX-License-Identifier: MIT */
/* What a user's program needs first: the headers, the library, and a loop that runs. */
#include <jzx/jzx.h>

#include <stdio.h>
#include <string.h>

int main(void) {
    char expected[32];
    jzx_loop *loop = jzx_loop_create(NULL);

    snprintf(expected, sizeof expected, "%d.%d.%d", JZX_VERSION_MAJOR, JZX_VERSION_MINOR,
             JZX_VERSION_PATCH);
    if (loop == NULL || strcmp(jzx_version(), expected) != 0)
        return 1;
    if (jzx_loop_run(loop) != 0)
        return 1;
    jzx_loop_destroy(loop);
    printf("consumer of jzx %s\n", jzx_version());
    return 0;
}
