/* SPDX-License-Identifier: MIT */
/* Rolls against a plain array, and the table of handles against a set. */
#include "base/alloc.h"
#include "command/subject.h"

#include "jzx_test.h"

#include <stdlib.h>
#include <string.h>

enum { MODEL = 512 };

static uint64_t seed;

static uint64_t draw(uint64_t below) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % below;
}

static void add(struct jzx__roll *roll, uint32_t tag, uint32_t len) {
    static unsigned char bytes[6000];
    memset(bytes, (int)(tag % 251), len);
    const jzx_action action = {
        .kind = JZX_ACTION_SEND, .source = tag % 3, .tag = tag, .len = len, .data = bytes};
    const struct jzx__record *record =
        jzx__roll_add(roll, &jzx__allocator_default, &action, JZX__CHUNK_SIZE);
    assert_non_null(record);
    assert_int_equal((uintptr_t)record->action.data % 16, 0);
}

static void check_first(const struct jzx__roll *roll, uint32_t tag, uint32_t len) {
    const struct jzx__record *record = jzx__roll_first(roll);
    assert_non_null(record);
    assert_int_equal(record->action.tag, tag);
    assert_int_equal(record->action.len, len);
    const unsigned char *bytes = record->action.data;
    for (uint32_t i = 0; i < len; i++)
        assert_int_equal(bytes[i], tag % 251);
}

JZX_TEST(a_roll_gives_back_what_was_added_in_its_order) {
    static uint32_t lens[MODEL];
    struct jzx__roll roll = {.head = NULL};
    uint32_t first = 0;
    uint32_t next = 0;
    seed = 1;
    for (int round = 0; round < 4000; round++) {
        if (draw(2) == 0 && next - first < MODEL) {
            uint32_t len = (uint32_t)(draw(50) == 0 ? draw(6000) : draw(40));
            lens[next % MODEL] = len;
            add(&roll, next++, len);
        } else if (next != first) {
            check_first(&roll, first, lens[first % MODEL]);
            jzx__roll_pop(&roll, &jzx__allocator_default);
            first++;
        }
        struct jzx__chunk *chunk;
        uint32_t walked = first;
        for (struct jzx__record *record = jzx__roll_next(&roll, &chunk, NULL); record != NULL;
             record = jzx__roll_next(&roll, &chunk, record))
            assert_int_equal(record->action.tag, walked++);
        assert_int_equal(walked, next);
    }
    jzx__roll_clear(&roll, &jzx__allocator_default);
    assert_null(jzx__roll_first(&roll));
}

JZX_TEST(a_roll_that_begins_anew_takes_what_is_larger_than_its_chunk) {
    struct jzx__roll roll = {.head = NULL};
    for (uint32_t tag = 0; tag < 6; tag++) {
        const uint32_t len = tag % 2 == 0 ? 10 : 6000;
        const struct jzx__roll_mark mark = jzx__roll_end(&roll);
        add(&roll, tag, len);
        check_first(&roll, tag, len);
        jzx__roll_void(&roll, mark, tag % 3);
        assert_true(jzx__roll_first(&roll)->is_void);
        jzx__roll_pop(&roll, &jzx__allocator_default);
        assert_null(jzx__roll_first(&roll));
    }
    jzx__roll_clear(&roll, &jzx__allocator_default);
}

/* Every state that the two can be in: never used, begun anew, with one chunk, with many. */
JZX_TEST(what_is_joined_to_a_roll_comes_behind_its_own) {
    static const uint32_t counts[] = {0, 1, 300};
    for (uint32_t round = 0; round < 18; round++) {
        struct jzx__roll rolls[2] = {{.head = NULL}, {.head = NULL}};
        uint32_t next = 0;
        uint32_t has[2] = {counts[round % 3], counts[round / 3 % 3]};
        for (int i = 0; i < 2; i++) {
            if (round >= 9) {
                add(&rolls[i], 0, 30);
                jzx__roll_pop(&rolls[i], &jzx__allocator_default);
            }
            for (uint32_t k = 0; k < has[i]; k++)
                add(&rolls[i], next++, 30);
        }
        jzx__roll_join(&rolls[0], &rolls[1], &jzx__allocator_default);
        assert_null(rolls[1].head);
        add(&rolls[0], next++, 30);
        for (uint32_t tag = 0; tag < next; tag++) {
            check_first(&rolls[0], tag, 30);
            jzx__roll_pop(&rolls[0], &jzx__allocator_default);
        }
        assert_null(jzx__roll_first(&rolls[0]));
        jzx__roll_clear(&rolls[0], &jzx__allocator_default);
    }
}

JZX_TEST(what_a_source_has_added_since_a_mark_is_voided) {
    struct jzx__roll roll = {.head = NULL};
    struct jzx__chunk *chunk;
    for (uint32_t tag = 0; tag < 100; tag++)
        add(&roll, tag, 30);
    const struct jzx__roll_mark mark = jzx__roll_end(&roll);
    for (uint32_t tag = 100; tag < 300; tag++)
        add(&roll, tag, 30);
    jzx__roll_void(&roll, mark, 1);
    for (struct jzx__record *record = jzx__roll_next(&roll, &chunk, NULL); record != NULL;
         record = jzx__roll_next(&roll, &chunk, record))
        assert_int_equal(record->is_void, record->action.tag >= 100 && record->action.tag % 3 == 1);
    jzx__roll_clear(&roll, &jzx__allocator_default);
}

JZX_TEST(the_table_of_handles_finds_those_that_were_not_removed) {
    static struct jzx__subject *subjects[MODEL];
    static bool is_there[MODEL];
    struct jzx__roster roster = {.slots = NULL};
    seed = 2;
    assert_null(jzx__roster_find(&roster, 0));
    for (size_t i = 0; i < MODEL; i++)
        subjects[i] = aligned_alloc(16, sizeof(struct jzx__subject));
    for (size_t i = 0; i < MODEL; i++)
        subjects[i]->handle = i % 2 == 0 ? i : i << 32; /* also such as share their low bits */
    for (int round = 0; round < 20000; round++) {
        size_t i = draw(MODEL);
        if (is_there[i]) {
            jzx__roster_remove(&roster, subjects[i]->handle);
        } else {
            assert_true(jzx__roster_reserve(&roster, &jzx__allocator_default));
            jzx__roster_add(&roster, subjects[i]);
        }
        is_there[i] = !is_there[i];
        for (size_t k = (size_t)round % 16; k < MODEL; k += 16)
            assert_ptr_equal(jzx__roster_find(&roster, subjects[k]->handle),
                             is_there[k] ? subjects[k] : NULL);
    }
    jzx__roster_deinit(&roster, &jzx__allocator_default);
    for (size_t i = 0; i < MODEL; i++)
        free(subjects[i]);
}
