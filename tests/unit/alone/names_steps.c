/* SPDX-License-Identifier: MIT */
/* A look-up with a writer between any two of its loads: src/directory/names.c, included, so that
 * each load can be counted, and something done before it. */
#include "base/atomic.h"

#include <stdbool.h>
#include <stdint.h>

static void before_load(void);

#undef jzx__atomic_load_acquire
#define jzx__atomic_load_acquire(p) (before_load(), atomic_load_explicit((p), memory_order_acquire))
#undef jzx__atomic_load_relaxed
#define jzx__atomic_load_relaxed(p) (before_load(), atomic_load_explicit((p), memory_order_relaxed))

#include "directory/names.c"

#include "fixture.h"

#include <stdio.h>

static int64_t loads_left = -1; /* until it happens; negative: it does not */
static bool has_happened;
static void (*what_happens)(void);

static void before_load(void) {
    if (loads_left < 0 || loads_left-- != 0)
        return;
    has_happened = true;
    what_happens();
}

static struct jzx__names names;
static jzx_allocator hooks;

static bool is_never_dead(const void *ctx, uint64_t value) {
    (void)ctx;
    (void)value;
    return true;
}

static void open_names(void) {
    hooks = fixture_allocator();
    jzx__names_init(&names, &hooks, is_never_dead, NULL);
}

static struct jzx__name_key numbered(uint32_t number) {
    struct jzx__name_key key;
    char name[32];
    snprintf(name, sizeof name, "the name with number %u", number);
    JZX_EXPECT(jzx__name_pack(&key, name));
    return key;
}

/* Numbers from 1 on whose chains begin at the same slot of the first array. */
static struct jzx__name_key rival(uint32_t index) {
    static const struct jzx__name_key none;
    struct jzx__name_key first = numbered(1);
    for (uint32_t i = 1; i < 1000000; i++) {
        struct jzx__name_key key = numbered(i);
        if (((key.hash ^ first.hash) & (FIRST_SLOTS - 1)) == 0 && index-- == 0)
            return key;
    }
    return none;
}

static struct jzx__name *put(struct jzx__name_key key, uint64_t value) {
    struct jzx__name *entry = jzx__names_put(&names, &key);
    if (JZX_EXPECT(entry != NULL))
        jzx__name_set(entry, value);
    return entry;
}

static void forget(struct jzx__name_key key) {
    jzx__name_set(jzx__names_find(&names, &key), 0);
}

/* The look-up, with something before its n-th load. */
static uint64_t get_with(struct jzx__name_key key, int64_t n, void (*happens)(void)) {
    what_happens = happens;
    has_happened = false;
    loads_left = n;
    uint64_t value = jzx__names_get(&names, &key);
    loads_left = -1;
    return value;
}

static struct jzx__name_key keys[8];

static void pass_entry_on(void) {
    forget(keys[0]);
    put(keys[1], 2); /* in the same entry */
}

JZX_TEST(no_load_can_be_in_time_to_take_the_value_of_another_name) {
    keys[0] = rival(0);
    keys[1] = rival(1);
    int64_t n = 0;
    do {
        open_names();
        put(keys[0], 1);
        uint64_t value = get_with(keys[0], n, pass_entry_on);
        JZX_EXPECT(value <= 1);
        JZX_EXPECT(has_happened || value == 1);
        JZX_EXPECT_EQ(jzx__names_get(&names, &keys[1]), has_happened ? 2 : 0);
        jzx__names_deinit(&names);
        n++;
    } while (has_happened);
    JZX_EXPECT(n > 6);
}

static void come_back(void) {
    pass_entry_on();
    forget(keys[1]);
    put(keys[0], 3); /* there again: a second change of the same entry */
}

JZX_TEST(a_name_that_goes_and_comes_back_is_found_with_one_of_its_values) {
    keys[0] = rival(0);
    keys[1] = rival(1);
    int64_t n = 0;
    do {
        open_names();
        put(keys[0], 1);
        uint64_t value = get_with(keys[0], n, come_back);
        JZX_EXPECT(value == 0 || value == 1 || value == 3);
        jzx__names_deinit(&names);
        n++;
    } while (has_happened);
    JZX_EXPECT(n > 6);
}

/* Names come and go until the array has been filled twice, and is current again. Without those that
 * were before it in its chain the name that is looked for stands further in front then. */
static void rebuild_twice(void) {
    struct jzx__name_array *array = current_of(&names);
    uint32_t number = 100000;
    for (uint32_t i = 1; i < 4; i++)
        forget(keys[i]);
    for (uint32_t rebuilds = 0; rebuilds < 2; number++) {
        struct jzx__name_array *before = current_of(&names);
        put(numbered(number), number);
        forget(numbered(number));
        rebuilds += current_of(&names) != before;
    }
    JZX_EXPECT_EQ(current_of(&names), array);
}

JZX_TEST(a_name_that_stays_is_found_whatever_array_it_is_looked_for_in) {
    for (uint32_t i = 0; i < 4; i++)
        keys[i] = rival(i);
    int64_t n = 0;
    do {
        open_names();
        for (uint32_t i = 1; i < 4; i++)
            put(keys[i], i);
        put(keys[0], 7); /* behind them */
        uint32_t number = 50000;
        while (names.spare == NULL) { /* two arrays of this size */
            put(numbered(number), number);
            forget(numbered(number++));
        }
        JZX_EXPECT_EQ(get_with(keys[0], n, rebuild_twice), 7);
        JZX_EXPECT_EQ(jzx__names_get(&names, &keys[0]), 7);
        jzx__names_deinit(&names);
        n++;
    } while (has_happened);
    JZX_EXPECT(n > 6);
}

static void grow(void) {
    for (uint32_t i = 200; i < 400; i++)
        put(numbered(i), i);
}

JZX_TEST(a_name_that_stays_is_found_while_the_table_grows) {
    int64_t n = 0;
    do {
        open_names();
        put(numbered(1), 7);
        JZX_EXPECT_EQ(get_with(numbered(1), n, grow), 7);
        bool has_grown = has_happened;
        struct jzx__name_key last = numbered(399);
        JZX_EXPECT_EQ(jzx__names_get(&names, &last), has_grown ? 399 : 0);
        jzx__names_deinit(&names);
        n++;
        has_happened = has_grown;
    } while (has_happened);
    JZX_EXPECT(n > 6);
}
