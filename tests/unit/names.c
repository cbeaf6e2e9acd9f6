/* SPDX-License-Identifier: MIT */
/* The table of names by itself: values live or die by a table of the test. */
#include "directory/names.h"

#include "fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define VALUES 20000u

static atomic_uchar dead[VALUES + 1]; /* by value */

static bool is_live(const void *ctx, uint64_t value) {
    (void)ctx;
    return atomic_load_explicit(&dead[value % (VALUES + 1)], memory_order_relaxed) == 0;
}

static jzx_allocator hooks;

static void open_names(struct jzx__names *names) {
    hooks = fixture_allocator();
    for (uint32_t i = 0; i <= VALUES; i++)
        atomic_store(&dead[i], 0);
    jzx__names_init(names, &hooks, is_live, NULL);
}

static void close_names(struct jzx__names *names) {
    jzx__names_deinit(names);
    JZX_EXPECT_EQ(fixture_bytes(), 0);
}

static struct jzx__name_key key_of(const char *name) {
    struct jzx__name_key key;
    JZX_EXPECT(jzx__name_pack(&key, name));
    return key;
}

static struct jzx__name_key numbered(uint32_t number) {
    char name[JZX_NAME_MAX + 1];
    switch (number % 4) {
    case 0: snprintf(name, sizeof name, "%u", number); break;
    case 1: snprintf(name, sizeof name, "n%u", number); break;
    case 2: snprintf(name, sizeof name, "worker/%u", number); break;
    default: snprintf(name, sizeof name, "a name of many words, number %u", number); break;
    }
    return key_of(name);
}

static struct jzx__name *put(struct jzx__names *names, struct jzx__name_key key, uint64_t value) {
    struct jzx__name *entry = jzx__names_put(names, &key);
    if (JZX_EXPECT(entry != NULL))
        jzx__name_set(entry, value);
    return entry;
}

static uint64_t get(const struct jzx__names *names, struct jzx__name_key key) {
    return jzx__names_get(names, &key);
}

JZX_TEST(a_name_is_1_to_47_bytes) {
    struct jzx__name_key key;
    char name[JZX_NAME_MAX + 2];
    JZX_EXPECT(!jzx__name_pack(&key, NULL));
    JZX_EXPECT(!jzx__name_pack(&key, ""));
    for (uint32_t len = 1; len <= JZX_NAME_MAX + 1; len++) {
        memset(name, 'x', len);
        name[len] = '\0';
        JZX_EXPECT_EQ(jzx__name_pack(&key, name), len <= JZX_NAME_MAX);
    }
}

/* Every length, and names that differ in one byte only or are beginnings of each other. */
JZX_TEST(names_that_differ_anywhere_are_different) {
    struct jzx__names names;
    open_names(&names);
    uint64_t value = 0;
    char name[JZX_NAME_MAX + 1];
    for (int round = 0; round < 2; round++) {
        value = 0;
        for (uint32_t len = 1; len <= JZX_NAME_MAX; len++)
            for (uint32_t at = 0; at <= len; at++) {
                memset(name, '\xE9', len);
                name[len] = '\0';
                if (at < len)
                    name[at] = 'y';
                value++;
                if (round == 0)
                    put(&names, key_of(name), value);
                else
                    JZX_EXPECT_EQ(get(&names, key_of(name)), value);
            }
    }
    close_names(&names);
}

JZX_TEST(a_table_grows_and_finds_everything) {
    struct jzx__names names;
    open_names(&names);
    JZX_EXPECT_EQ(get(&names, key_of("nobody")), 0);
    for (uint32_t i = 1; i <= VALUES; i++)
        put(&names, numbered(i), i);
    for (uint32_t i = 1; i <= VALUES; i++) {
        struct jzx__name_key key = numbered(i);
        JZX_EXPECT_EQ(get(&names, key), i);
        struct jzx__name *entry = jzx__names_find(&names, &key);
        if (JZX_EXPECT(entry != NULL))
            JZX_EXPECT_EQ(jzx__name_value(entry), i);
        JZX_EXPECT_EQ(jzx__names_put(&names, &key), entry); /* N3 */
    }
    for (uint32_t i = VALUES + 1; i <= 2 * VALUES; i++)
        JZX_EXPECT_EQ(get(&names, numbered(i)), 0);
    close_names(&names);
}

JZX_TEST(names_that_come_and_go_take_no_more_memory_than_those_that_are_there) {
    struct jzx__names names;
    open_names(&names);
    uint64_t bytes = 0;
    for (uint32_t i = 1; i <= 200000; i++) {
        uint64_t value = i % VALUES + 1;
        atomic_store(&dead[value], 0);
        put(&names, numbered(i), value);
        JZX_EXPECT_EQ(get(&names, numbered(i)), value);
        if (i > 100) { /* 100 are alive at a time */
            atomic_store(&dead[(i - 100) % VALUES + 1], 1);
            JZX_EXPECT_EQ(get(&names, numbered(i - 99)), (i - 99) % VALUES + 1);
        }
        if (i == 20000)
            bytes = fixture_bytes();
    }
    JZX_EXPECT_EQ(fixture_bytes(), bytes);
    close_names(&names);
}

JZX_TEST(a_pinned_entry_stays_whatever_comes_and_goes) {
    struct jzx__names names;
    open_names(&names);
    struct jzx__name *pin = put(&names, key_of("pinned"), 1);
    pin->pins++;
    atomic_store(&dead[1], 1);
    for (uint32_t i = 2; i <= VALUES; i++) {
        put(&names, numbered(i), i);
        atomic_store(&dead[i], i % 2);
    }
    jzx__name_set(pin, VALUES);
    JZX_EXPECT_EQ(get(&names, key_of("pinned")), VALUES);
    struct jzx__name_key key = key_of("pinned");
    JZX_EXPECT_EQ(jzx__names_find(&names, &key), pin);
    close_names(&names);
}

JZX_TEST(a_name_that_comes_back_is_found_where_it_was) {
    struct jzx__names names;
    open_names(&names);
    struct jzx__name *entry = put(&names, key_of("phoenix"), 7);
    jzx__name_set(entry, 0);
    JZX_EXPECT_EQ(get(&names, key_of("phoenix")), 0);
    JZX_EXPECT_EQ(put(&names, key_of("phoenix"), 8), entry);
    JZX_EXPECT_EQ(get(&names, key_of("phoenix")), 8);
    close_names(&names);
}

JZX_TEST(without_memory_nothing_changes, "C17") {
    uint64_t refused = 1;
    for (uint64_t n = 0; refused != 0; n++) {
        struct jzx__names names;
        open_names(&names);
        refused = 0;
        fixture_fail_allocations(n, UINT64_MAX);
        uint32_t last = 0;
        for (uint32_t i = 1; i <= 1000 && refused == 0; i++) {
            struct jzx__name_key key = numbered(i);
            struct jzx__name *entry = jzx__names_put(&names, &key);
            refused += entry == NULL;
            if (entry != NULL) {
                jzx__name_set(entry, i);
                last = i;
            } else {
                JZX_EXPECT_EQ(jzx__names_find(&names, &key), NULL);
                JZX_EXPECT_EQ(get(&names, key), 0);
            }
        }
        for (uint32_t i = 1; i <= last; i++)
            JZX_EXPECT_EQ(get(&names, numbered(i)), i);
        fixture_fail_allocations(UINT64_MAX, 0);
        put(&names, numbered(last + 1), last + 1);
        JZX_EXPECT_EQ(get(&names, numbered(last + 1)), last + 1);
        close_names(&names);
    }
}

/* ---- readers while the table changes ---- */

#define STABLE 50u

struct race {
    struct jzx__names names;
    atomic_bool over;
    _Atomic uint32_t newest; /* of the names that come and go: all after newest - 20 are there */
    atomic_uint reads;
};

/* The value of every name is its number, so that a mixture would show. */
static void *read_all(void *arg) {
    struct race *race = arg;
    while (!atomic_load(&race->over)) {
        for (uint32_t i = 1; i <= STABLE; i++)
            JZX_EXPECT_EQ(get(&race->names, numbered(i)), i);
        uint32_t before = atomic_load(&race->newest);
        for (uint32_t i = before; i > before - 20; i--) {
            uint64_t value = get(&race->names, numbered(i));
            bool may_be_gone = atomic_load(&race->newest) >= i + 20;
            JZX_EXPECT(value == i || (value == 0 && may_be_gone));
        }
        atomic_fetch_add(&race->reads, 1);
    }
    return NULL;
}

JZX_TEST(readers_see_what_stays_and_never_a_mixture_while_names_come_and_go) {
    static struct race race;
    pthread_t threads[3];
    uint32_t rounds = (uint32_t)jzx_test_rounds(VALUES - 100, VALUES - 100);
    open_names(&race.names);
    for (uint32_t i = 1; i <= STABLE + 40; i++)
        put(&race.names, numbered(i), i);
    atomic_store(&race.newest, STABLE + 40);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_all, &race), 0);
    for (uint32_t i = STABLE + 41; i < rounds || atomic_load(&race.reads) < 10; i++) {
        if (i >= VALUES)
            continue; /* until the readers have run */
        put(&race.names, numbered(i), i);
        atomic_store(&race.newest, i);
        struct jzx__name_key gone = numbered(i - 20);
        jzx__name_set(jzx__names_find(&race.names, &gone), 0);
    }
    atomic_store(&race.over, true);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    close_names(&race.names);
}

/* ---- two names that take one entry from each other ---- */

struct duel {
    struct jzx__names names;
    struct jzx__name_key keys[2];
    atomic_bool over;
    atomic_uint found;
};

/* The first has the value 1 or none, the second 2 or none. */
static void *read_both(void *arg) {
    struct duel *duel = arg;
    while (!atomic_load_explicit(&duel->over, memory_order_relaxed))
        for (uint32_t i = 0; i < 2; i++) {
            uint64_t value = get(&duel->names, duel->keys[i]);
            JZX_EXPECT(value == 0 || value == i + 1);
            if (value != 0)
                atomic_fetch_add_explicit(&duel->found, 1, memory_order_relaxed);
        }
    return NULL;
}

/* Names whose chains begin at the same slot of the first array. */
static void find_rivals(struct jzx__name_key *keys) {
    keys[0] = numbered(1);
    uint32_t i = 2;
    do {
        keys[1] = numbered(i++);
    } while (((keys[0].hash ^ keys[1].hash) & 63) != 0);
}

JZX_TEST(a_reader_takes_no_value_of_the_name_that_has_the_entry_now) {
    static struct duel duel;
    pthread_t threads[2];
    uint64_t rounds = jzx_test_rounds(1000000, 20000000);
    open_names(&duel.names);
    find_rivals(duel.keys);
    struct jzx__name *entry = put(&duel.names, duel.keys[0], 1);
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_both, &duel), 0);
    for (uint64_t i = 0; i < rounds || atomic_load(&duel.found) < 10; i++) {
        jzx__name_set(entry, 0);
        JZX_EXPECT_EQ(put(&duel.names, duel.keys[i % 2], i % 2 + 1), entry);
    }
    atomic_store(&duel.over, true);
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    close_names(&duel.names);
}
