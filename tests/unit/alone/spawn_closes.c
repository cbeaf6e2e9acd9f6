/* SPDX-License-Identifier: MIT */
/* Descriptors of a new program where the C library cannot close all above a number:
 * src/subprocess/os.c, included as it is compiled there. */
#define JZX__NO_CLOSEFROM

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>

static bool has_proc;
#define opendir(path) (has_proc ? opendir(path) : NULL)

#include "subprocess/os.c"

#undef opendir

#include "fixture.h"

#include <jzx/fiber.h>
#include <jzx/subprocess.h>

/* The program prints which of our descriptors it has. */
static void look_at_descriptors(jzx_context *ctx) {
    static const char *const argv[] = {"/bin/sh", "-c",
                                       "for i in 3 4 5 6 7 8 9 150 151 300; do\n"
                                       "  [ ! -e /proc/$$/fd/$i ] || echo $i\n"
                                       "done; echo end",
                                       NULL};
    const jzx_subprocess_opts opts =
        JZX_SUBPROCESS_OPTS(.argv = argv, .output = {.kind = JZX_STDIO_STREAM});
    jzx_subprocess child;
    jzx_stream out;
    char text[64];
    size_t len = 0;
    jzx_test_ran();
    JZX_EXPECT_EQ(jzx_subprocess_spawn(ctx, &opts, JZX_NEVER, &child), JZX_OK);
    JZX_EXPECT_EQ(jzx_subprocess_stream(ctx->loop, child, 1, &out), JZX_OK);
    JZX_EXPECT_EQ(jzx_stream_read_until(ctx, out, 'd', text, sizeof text, JZX_NEVER, &len), JZX_OK);
    JZX_EXPECT(len == 3 && memcmp(text, "end", 3) == 0);
}

static void run_with_descriptors_open(void) {
    int fds[5];
    for (int i = 0; i < 2; i++)
        fds[i] = open("/dev/null", O_RDWR); /* on purpose */
    fds[2] = fcntl(fds[0], F_DUPFD, 150);
    fds[3] = fcntl(fds[0], F_DUPFD, 151);
    fds[4] = fcntl(fds[0], F_DUPFD, 300);
    JZX_EXPECT(fds[4] == 300);
    jzx_loop *loop = fixture_loop();
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = look_at_descriptors));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    fixture_destroy(loop);
    for (int i = 0; i < 5; i++)
        close(fds[i]);
    JZX_EXPECT_EQ(jzx_test_runs(), 1);
}

JZX_TEST(a_program_inherits_no_descriptor_though_the_c_library_cannot_close_all, "C+goal") {
    has_proc = true;
    run_with_descriptors_open();
}

JZX_TEST(a_program_inherits_no_descriptor_without_a_list_of_those_that_are_open, "C+goal") {
    has_proc = false;
    run_with_descriptors_open();
}
