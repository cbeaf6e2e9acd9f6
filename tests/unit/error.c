/* SPDX-License-Identifier: MIT */
/* The status codes: their numbers are part of the interface, their names are those of the source.
 */
#include "jzx/error.h"

#include "jzx_test.h"

#include <string.h>

static const struct {
    jzx_err err;
    int code;
    const char *name;
} expected[] = {
    {JZX_OK, 0, "JZX_OK"},
    {JZX_ERR_UNKNOWN, -1, "JZX_ERR_UNKNOWN"},
    {JZX_ERR_NO_MEMORY, -2, "JZX_ERR_NO_MEMORY"},
    {JZX_ERR_INVALID_ARG, -3, "JZX_ERR_INVALID_ARG"},
    {JZX_ERR_LOOP_CLOSED, -4, "JZX_ERR_LOOP_CLOSED"},
    {JZX_ERR_NO_SUCH_ACTOR, -5, "JZX_ERR_NO_SUCH_ACTOR"},
    {JZX_ERR_ACTOR_NOT_LOCAL, -6, "JZX_ERR_ACTOR_NOT_LOCAL"},
    {JZX_ERR_MAILBOX_FULL, -7, "JZX_ERR_MAILBOX_FULL"},
    {JZX_ERR_TIMER_INVALID, -8, "JZX_ERR_TIMER_INVALID"},
    {JZX_ERR_IO_REG_FAILED, -9, "JZX_ERR_IO_REG_FAILED"},
    {JZX_ERR_IO_NOT_WATCHED, -10, "JZX_ERR_IO_NOT_WATCHED"},
    {JZX_ERR_MAX_ACTORS, -11, "JZX_ERR_MAX_ACTORS"},
    {JZX_ERR_BUSY, -12, "JZX_ERR_BUSY"},
    {JZX_ERR_EXISTS, -13, "JZX_ERR_EXISTS"},
    {JZX_ERR_FULL, -15, "JZX_ERR_FULL"},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define CODE(name, code, text) code,
static const int all_codes[] = {JZX_ERR_MAP(CODE)};
#undef CODE

JZX_TEST(every_code_has_its_number_and_its_own_name, "C+err") {
    for (size_t i = 0; i < COUNT(expected); i++) {
        JZX_EXPECT_EQ(expected[i].err, expected[i].code);
        JZX_EXPECT(strcmp(jzx_err_name(expected[i].err), expected[i].name) == 0);
    }
}

JZX_TEST(no_code_is_positive_and_none_stands_twice, "C+err") {
    for (size_t i = 0; i < COUNT(all_codes); i++) {
        JZX_EXPECT(all_codes[i] <= 0);
        for (size_t k = 0; k < i; k++)
            JZX_EXPECT(all_codes[i] != all_codes[k]);
    }
}

JZX_TEST(every_code_has_a_text_of_its_own) {
    for (size_t i = 0; i < COUNT(all_codes); i++) {
        const char *text = jzx_err_text((jzx_err)all_codes[i]);
        JZX_EXPECT(strlen(text) > 0);
        for (size_t k = 0; k < i; k++)
            JZX_EXPECT(strcmp(text, jzx_err_text((jzx_err)all_codes[k])) != 0);
    }
}

JZX_TEST(a_code_that_does_not_exist_has_a_fixed_name_and_text) {
    const int strangers[] = {1, 7, -1000, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < COUNT(strangers); i++) {
        JZX_EXPECT(strcmp(jzx_err_name((jzx_err)strangers[i]), "JZX_ERR_?") == 0);
        JZX_EXPECT(strcmp(jzx_err_text((jzx_err)strangers[i]), "not a status of libjzx") == 0);
    }
}
