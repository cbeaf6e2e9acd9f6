/* SPDX-License-Identifier: MIT */
#include "base/os_error.h"

#include "jzx_test.h"

#include <errno.h>
#include <string.h>

JZX_TEST(errors_of_the_system_have_a_status_and_the_rest_is_an_io_error) {
    static const struct {
        int error;
        jzx_err status;
    } cases[] = {
        {ENOMEM, JZX_ERR_NO_MEMORY},
        {EBADF, JZX_ERR_INVALID_ARG},
        {EEXIST, JZX_ERR_EXISTS},
        {ENOENT, JZX_ERR_NOT_FOUND},
        {EACCES, JZX_ERR_PERMISSION},
        {ECONNREFUSED, JZX_ERR_REFUSED},
        {ECONNRESET, JZX_ERR_RESET},
        {EPIPE, JZX_ERR_RESET},
        {EHOSTUNREACH, JZX_ERR_UNREACHABLE},
        {EADDRINUSE, JZX_ERR_ADDRESS_IN_USE},
        {EMFILE, JZX_ERR_NO_DESCRIPTORS},
        {ENFILE, JZX_ERR_NO_DESCRIPTORS},
        {ENOSPC, JZX_ERR_NO_SPACE},
        {EFBIG, JZX_ERR_NO_SPACE},
        {EMSGSIZE, JZX_ERR_TOO_LONG},
        {ETIMEDOUT, JZX_ERR_TIMEOUT},
        {EIO, JZX_ERR_IO},
        {EISDIR, JZX_ERR_IO},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        JZX_EXPECT_EQ(jzx__os_error_status(cases[i].error), cases[i].status);
}

JZX_TEST(an_error_of_the_system_has_a_text_that_fits) {
    char text[JZX__OS_ERROR_TEXT_SIZE];
    char small[8];
    jzx__os_error_text(ENOSPC, text, sizeof text);
    assert_string_equal(text, "No space left on device (errno 28)");
    jzx__os_error_text(4711, text, sizeof text);
    assert_non_null(strstr(text, "(errno 4711)"));
    jzx__os_error_text(ENOSPC, small, sizeof small);
    assert_string_equal(small, "No spac");
}
