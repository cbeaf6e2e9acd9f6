/* SPDX-License-Identifier: MIT */
/* Looking for fields, and for elements of lists. */
#include "fields.h"

#include "jzx_test.h"

#include <string.h>

JZX_TEST(the_first_field_of_a_name_is_found_in_any_case) {
    static const char data[] = "A: 1\r\nLong-Name: 2\r\nlong-name: 3\r\n\r\n";
    struct jzx__http_field list[3];
    struct jzx__http_fields fields = {
        .list = list, .count_max = 3, .line_bytes_max = 100, .end_max = 100};
    struct jzx__http_refusal refusal;
    jzx__http_fields_begin(&fields, 0);
    JZX_EXPECT_EQ(jzx__http_fields_parse(&fields, data, sizeof(data) - 1, &refusal),
                  JZX__HTTP_DONE);
    const struct jzx__http_field *found = jzx__http_fields_find(&fields, data, "long-name");
    JZX_EXPECT(found == &list[1]);
    JZX_EXPECT(jzx__http_fields_find(&fields, data, "a") == &list[0]);
    JZX_EXPECT(jzx__http_fields_find(&fields, data, "long-nam") == NULL);
    JZX_EXPECT(jzx__http_fields_find(&fields, data, "b") == NULL);
}

static bool has(const char *value, const char *word) {
    return jzx__http_list_has(value, strlen(value), word);
}

JZX_TEST(a_list_has_its_elements_without_white_space_and_case) {
    JZX_EXPECT(has("close", "close"));
    JZX_EXPECT(has("a ,\tClose\t, b", "close"));
    JZX_EXPECT(has(",, close", "close"));
    JZX_EXPECT(has("a,close", "close"));
    JZX_EXPECT(!has("", "close"));
    JZX_EXPECT(!has(", ,", "close"));
    JZX_EXPECT(!has("closed, xclose, clo se", "close"));
    JZX_EXPECT(!has("close;q=1", "close"));
}
