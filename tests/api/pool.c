/* SPDX-License-Identifier: MIT */
/* Handle pools for one thread at a time: references, slots, iteration, and pools that a loop knows
 * by name. */
#include "fixture.h"

#include <string.h>

#define CAPACITY 100u
#define E58_CAPACITY 10000u

struct enemy {
    int health;
    char name[12];
};

JZX_POOL(enemy, struct enemy)
JZX_POOL(label, const char *)

struct aligned {
    _Alignas(256) char bytes[3];
};

JZX_POOL(aligned, struct aligned)
JZX_POOL(letter, char)

static enemy_pool *make_pool(uint32_t capacity) {
    enemy_pool *pool = NULL;
    jzx_allocator allocator = fixture_allocator();
    assert_int_equal(enemy_pool_create(capacity, &allocator, &pool), JZX_OK);
    return pool;
}

static void drop_pool(enemy_pool *pool) {
    assert_int_equal(enemy_pool_destroy(pool), JZX_OK);
    assert_int_equal(fixture_bytes(), 0);
}

static enemy_ref add(enemy_pool *pool, int health) {
    enemy_ref ref = {JZX_NO_REF};
    struct enemy value = {.health = health};
    assert_int_equal(enemy_pool_new(pool, &value, &ref), JZX_OK);
    assert_true(ref.ref != JZX_NO_REF);
    return ref;
}

static int health_of(const enemy_pool *pool, enemy_ref ref) {
    const struct enemy *found = enemy_pool_get(pool, ref);
    return found == NULL ? -1 : found->health;
}

/* ---- one object ---- */

JZX_TEST(an_object_is_found_by_its_reference_until_it_is_freed, "E58") {
    enemy_pool *pool = make_pool(E58_CAPACITY);
    struct enemy orc = {.health = 30, .name = "orc"};
    enemy_ref ref = {JZX_NO_REF};
    assert_int_equal(enemy_pool_new(pool, &orc, &ref), JZX_OK);
    assert_true(enemy_pool_valid(pool, ref));
    assert_string_equal(enemy_pool_get(pool, ref)->name, "orc");
    enemy_pool_get_mut(pool, ref)->health -= 10;
    assert_int_equal(health_of(pool, ref), 20);
    assert_int_equal(orc.health, 30); /* the pool has a copy */

    assert_true(enemy_pool_free(pool, ref));
    assert_false(enemy_pool_valid(pool, ref));
    assert_null(enemy_pool_get(pool, ref));
    assert_null(enemy_pool_get_mut(pool, ref));
    drop_pool(pool);
}

JZX_TEST(an_object_without_a_value_is_all_zero) {
    enemy_pool *pool = make_pool(1);
    struct enemy zero;
    memset(&zero, 0, sizeof zero);
    assert_true(enemy_pool_free(pool, add(pool, 77))); /* leaves something in the slot */
    enemy_ref ref = {JZX_NO_REF};
    assert_int_equal(enemy_pool_new(pool, NULL, &ref), JZX_OK);
    assert_memory_equal(enemy_pool_get(pool, ref), &zero, sizeof zero);
    drop_pool(pool);
}

JZX_TEST(a_pool_takes_types_of_any_size_and_alignment) {
    label_pool *labels = NULL;
    aligned_pool *blocks = NULL;
    letter_pool *letters = NULL;
    assert_int_equal(label_pool_create(2, NULL, &labels), JZX_OK);
    assert_int_equal(aligned_pool_create(3, NULL, &blocks), JZX_OK);
    assert_int_equal(letter_pool_create(3, NULL, &letters), JZX_OK);
    const char *text = "text";
    label_ref label = {JZX_NO_REF};
    assert_int_equal(label_pool_new(labels, &text, &label), JZX_OK);
    assert_ptr_equal(*label_pool_get(labels, label), text);
    for (int i = 0; i < 3; i++) {
        char letter = (char)('a' + i);
        aligned_ref block = {JZX_NO_REF};
        letter_ref one = {JZX_NO_REF};
        assert_int_equal(aligned_pool_new(blocks, NULL, &block), JZX_OK);
        assert_int_equal((uintptr_t)aligned_pool_get(blocks, block) % 256, 0);
        assert_int_equal(letter_pool_new(letters, &letter, &one), JZX_OK);
        assert_int_equal(*letter_pool_get(letters, one), letter);
    }
    assert_int_equal(label_pool_destroy(labels), JZX_OK);
    assert_int_equal(aligned_pool_destroy(blocks), JZX_OK);
    assert_int_equal(letter_pool_destroy(letters), JZX_OK);
}

/* ---- stale, guessed, full ---- */

JZX_TEST(a_stale_reference_is_none_though_its_slot_is_used_again, "E58", "E+pool") {
    enemy_pool *pool = make_pool(1); /* so there is but one slot */
    enemy_ref old[CAPACITY];
    for (uint32_t i = 0; i < CAPACITY; i++) {
        old[i] = add(pool, (int)i);
        for (uint32_t k = 0; k < i; k++) {
            assert_true(old[k].ref != old[i].ref);
            assert_null(enemy_pool_get(pool, old[k]));
            assert_false(enemy_pool_free(pool, old[k])); /* and harms nobody */
        }
        assert_int_equal(health_of(pool, old[i]), (int)i);
        assert_true(enemy_pool_free(pool, old[i]));
    }
    assert_int_equal(enemy_pool_count(pool), 0);
    drop_pool(pool);
}

JZX_TEST(a_full_pool_is_an_error_and_changes_nothing, "E58", "E+pool") {
    enemy_pool *pool = make_pool(CAPACITY);
    enemy_ref refs[CAPACITY];
    enemy_ref untouched = {12345};
    for (uint32_t i = 0; i < CAPACITY; i++)
        refs[i] = add(pool, (int)i);
    uint64_t allocations = fixture_allocations();
    assert_int_equal(enemy_pool_new(pool, NULL, &untouched), JZX_ERR_FULL);
    assert_int_equal(untouched.ref, 12345);
    assert_int_equal(enemy_pool_count(pool), CAPACITY);
    assert_int_equal(enemy_pool_capacity(pool), CAPACITY);
    for (uint32_t i = 0; i < CAPACITY; i++)
        assert_int_equal(health_of(pool, refs[i]), (int)i);
    assert_true(enemy_pool_free(pool, refs[7])); /* room for one, and no more */
    refs[7] = add(pool, 700);
    assert_int_equal(enemy_pool_new(pool, NULL, NULL), JZX_ERR_FULL);
    assert_int_equal(health_of(pool, refs[7]), 700);
    assert_int_equal(fixture_allocations(), allocations); /* new and free take no memory */
    drop_pool(pool);
}

JZX_TEST(a_second_free_does_nothing, "E+pool") {
    enemy_pool *pool = make_pool(2);
    enemy_ref first = add(pool, 1);
    assert_true(enemy_pool_free(pool, first));
    assert_false(enemy_pool_free(pool, first));
    enemy_ref a = add(pool, 2);
    enemy_ref b = add(pool, 3); /* would be the slot of a, had it been put back twice */
    assert_int_equal(health_of(pool, a), 2);
    assert_int_equal(health_of(pool, b), 3);
    drop_pool(pool);
}

JZX_TEST(dropping_a_reference_frees_nothing, "E+pool") {
    enemy_pool *pool = make_pool(2);
    assert_int_equal(enemy_pool_new(pool, &(struct enemy){.health = 5}, NULL), JZX_OK);
    assert_int_equal(enemy_pool_count(pool), 1);
    enemy_ref found = {JZX_NO_REF};
    assert_int_equal(enemy_pool_next(pool, &found)->health, 5);
    assert_true(enemy_pool_free(pool, found));
    drop_pool(pool);
}

/* All references of up to three objects, and all words around them: no other is valid. */
JZX_TEST(no_guessed_reference_is_valid, "E+pool") {
    enemy_pool *pool = make_pool(3);
    enemy_ref refs[3];
    for (int i = 0; i < 3; i++)
        refs[i] = add(pool, i);
    assert_true(enemy_pool_free(pool, refs[1]));
    assert_true(enemy_pool_free(pool, refs[2])); /* a free list of two */
    for (uint64_t guess = 0; guess < 4096; guess++) {
        enemy_ref ref = {guess};
        enemy_ref high = {~guess};
        JZX_EXPECT_EQ(enemy_pool_valid(pool, ref), guess == refs[0].ref);
        JZX_EXPECT(!enemy_pool_valid(pool, high));
        if (guess != refs[0].ref)
            JZX_EXPECT(!enemy_pool_free(pool, ref));
    }
    assert_int_equal(enemy_pool_count(pool), 1);
    drop_pool(pool);
}

/* ---- many objects ---- */

JZX_TEST(iteration_shows_each_object_once_while_it_frees_and_adds) {
    enemy_pool *pool = make_pool(CAPACITY);
    uint32_t seen[CAPACITY] = {0};
    enemy_ref refs[CAPACITY];
    for (uint32_t i = 0; i < CAPACITY; i++)
        refs[i] = add(pool, (int)i);
    for (uint32_t i = 0; i < CAPACITY; i += 3)
        assert_true(enemy_pool_free(pool, refs[i]));
    enemy_ref at = {JZX_NO_REF};
    struct enemy *each;
    uint32_t count = 0;
    while ((each = enemy_pool_next_mut(pool, &at)) != NULL) {
        if (each->health >= (int)CAPACITY)
            continue; /* added below */
        seen[each->health]++;
        count++;
        if (each->health % 3 == 1) {
            JZX_EXPECT(enemy_pool_free(pool, at)); /* the one in hand */
            add(pool, 1000);
        }
    }
    assert_int_equal(at.ref, JZX_NO_REF); /* ready to begin again */
    for (uint32_t i = 0; i < CAPACITY; i++)
        JZX_EXPECT_EQ(seen[i], i % 3 == 0 ? 0 : 1);
    assert_int_equal(count, CAPACITY - (CAPACITY + 2) / 3);
    drop_pool(pool);
}

JZX_TEST(iteration_goes_on_behind_an_object_that_was_freed_meanwhile) {
    enemy_pool *pool = make_pool(4);
    enemy_ref first = add(pool, 1);
    add(pool, 2);
    enemy_ref at = {JZX_NO_REF};
    assert_int_equal(enemy_pool_next(pool, &at)->health, 1);
    assert_true(enemy_pool_free(pool, first));
    add(pool, 3); /* takes the slot of the first */
    assert_int_equal(enemy_pool_next(pool, &at)->health, 2);
    assert_null(enemy_pool_next(pool, &at));
    drop_pool(pool);
}

struct judge {
    enemy_pool *pool;
    int asked;
    int less_than;
};

/* Also frees the object itself at times, which the pool must not do again. */
static bool is_alive(enemy_ref ref, struct enemy *enemy, void *ctx) {
    struct judge *judge = ctx;
    judge->asked++;
    JZX_EXPECT(enemy_pool_get(judge->pool, ref) == enemy);
    enemy->name[0] = 'k';
    if (enemy->health == 10)
        enemy_pool_free(judge->pool, ref);
    return enemy->health >= judge->less_than;
}

JZX_TEST(retain_frees_what_is_not_kept_and_says_how_many) {
    enemy_pool *pool = make_pool(CAPACITY);
    enemy_ref refs[CAPACITY];
    for (uint32_t i = 0; i < CAPACITY; i++)
        refs[i] = add(pool, (int)i);
    struct judge judge = {.pool = pool, .less_than = 40};
    assert_int_equal(enemy_pool_retain(pool, is_alive, &judge), 39); /* one freed itself */
    assert_int_equal(judge.asked, CAPACITY);
    for (uint32_t i = 0; i < CAPACITY; i++) {
        JZX_EXPECT_EQ(enemy_pool_valid(pool, refs[i]), i >= 40);
        JZX_EXPECT(i < 40 || enemy_pool_get(pool, refs[i])->name[0] == 'k');
    }
    assert_int_equal(enemy_pool_count(pool), CAPACITY - 40);
    drop_pool(pool);
}

JZX_TEST(compact_drops_stale_references_and_keeps_the_order, "E+pool") {
    enemy_pool *pool = make_pool(CAPACITY);
    enemy_ref refs[CAPACITY];
    for (uint32_t i = 0; i < CAPACITY; i++)
        refs[i] = add(pool, (int)i);
    for (uint32_t i = 0; i < CAPACITY; i += 2)
        assert_true(enemy_pool_free(pool, refs[i]));
    for (uint32_t i = 0; i < CAPACITY; i += 2)
        add(pool, 500); /* the slots are in use, but not by these */
    size_t kept = enemy_pool_compact(pool, refs, CAPACITY);
    assert_int_equal(kept, CAPACITY / 2);
    for (uint32_t i = 0; i < kept; i++)
        assert_int_equal(health_of(pool, refs[i]), (int)(2 * i + 1));
    assert_int_equal(enemy_pool_compact(pool, refs, kept), kept);
    drop_pool(pool);
}

/* ---- memory and wrong use ---- */

JZX_TEST(a_pool_without_memory_is_not_created_and_leaves_nothing) {
    jzx_allocator allocator = fixture_allocator();
    enemy_pool *untouched = (enemy_pool *)&allocator;
    enemy_pool *pool = untouched;
    uint64_t refused = 0;
    for (;; refused++) {
        fixture_fail_allocations(refused, 1);
        if (enemy_pool_create(CAPACITY, &allocator, &pool) == JZX_OK)
            break;
        assert_ptr_equal(pool, untouched);
        assert_int_equal(fixture_bytes(), 0);
    }
    fixture_fail_allocations(UINT64_MAX, 0);
    assert_in_range(refused, 1, 8);
    drop_pool(pool);
}

static void *alloc_nothing(void *ctx, size_t size) {
    (void)ctx;
    (void)size;
    return NULL;
}

JZX_TEST(wrong_arguments_are_refused) {
    enemy_pool *pool = NULL;
    jzx_allocator half = {.alloc = alloc_nothing};
    jzx_pool *any = NULL;
    jzx_pool_type type = *enemy_pool_type();
    assert_int_equal(enemy_pool_create(0, NULL, &pool), JZX_ERR_INVALID_ARG);
    assert_int_equal(enemy_pool_create(1, NULL, NULL), JZX_ERR_INVALID_ARG);
    assert_int_equal(enemy_pool_create(1, &half, &pool), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_pool_create(NULL, 1, NULL, &any), JZX_ERR_INVALID_ARG);
    type.size = 0;
    assert_int_equal(jzx_pool_create(&type, 1, NULL, &any), JZX_ERR_INVALID_ARG);
    type = *enemy_pool_type();
    type.slot_align = 24;
    assert_int_equal(jzx_pool_create(&type, 1, NULL, &any), JZX_ERR_INVALID_ARG);
    type = *enemy_pool_type();
    type.value_size = type.slot_size; /* no room for the mark */
    assert_int_equal(jzx_pool_create(&type, 1, NULL, &any), JZX_ERR_INVALID_ARG);
    type = *enemy_pool_type();
    type.slot_size = SIZE_MAX / 4 & ~(size_t)63;
    assert_int_equal(jzx_pool_create(&type, 8, NULL, &any), JZX_ERR_NO_MEMORY);
    assert_null(any);
    assert_int_equal(enemy_pool_destroy(NULL), JZX_OK);
}

JZX_TEST(no_pool_has_no_objects) {
    enemy_ref ref = {JZX_NO_REF};
    assert_int_equal(enemy_pool_new(NULL, NULL, &ref), JZX_ERR_INVALID_ARG);
    assert_null(enemy_pool_get(NULL, ref));
    assert_false(enemy_pool_free(NULL, ref));
    assert_null(enemy_pool_next(NULL, &ref));
    assert_int_equal(enemy_pool_count(NULL), 0);
    assert_int_equal(enemy_pool_capacity(NULL), 0);
    assert_int_equal(enemy_pool_register(NULL, NULL), JZX_ERR_INVALID_ARG);
    assert_null(enemy_pool_lookup(NULL));
}

/* ---- by name ---- */

/* Finds the pool of its loop, and hits the enemy whose reference it was sent. */
static jzx_behavior_result hit(jzx_context *ctx, const jzx_message *msg) {
    enemy_ref target;
    memcpy(&target, msg->data, sizeof target);
    struct enemy *enemy = enemy_pool_get_mut(enemy_pool_lookup(ctx->loop), target);
    if (enemy != NULL)
        enemy->health -= 7;
    *(int *)ctx->state += enemy != NULL;
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(actors_find_the_pool_of_their_loop_and_send_references, "E58", "E+pool") {
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    enemy_pool *pool = NULL;
    int hits = 0;
    assert_int_equal(enemy_pool_create(E58_CAPACITY, NULL, &pool), JZX_OK);
    assert_int_equal(enemy_pool_register(loop, pool), JZX_OK);
    jzx_actor_id hitter = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = hit, .state = &hits));
    enemy_ref alive = add(pool, 30);
    enemy_ref gone = add(pool, 30);
    assert_true(enemy_pool_free(pool, gone));
    enemy_ref next = add(pool, 30); /* in the slot of the one that has gone */
    assert_int_equal(jzx_send(loop, hitter, JZX_NOBODY, &alive, sizeof alive, 1), JZX_OK);
    assert_int_equal(jzx_send(loop, hitter, JZX_NOBODY, &gone, sizeof gone, 1), JZX_OK);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(hits, 1);
    assert_int_equal(health_of(pool, alive), 23);
    assert_int_equal(health_of(pool, next), 30);
    fixture_destroy(loop);
    assert_int_equal(enemy_pool_destroy(pool), JZX_OK); /* it was unregistered with the loop */
}

JZX_TEST(a_loop_knows_one_pool_of_a_family, "E+pool") {
    jzx_loop *loop = fixture_loop();
    jzx_loop *other = fixture_loop();
    enemy_pool *first = NULL;
    enemy_pool *second = NULL;
    label_pool *labels = NULL;
    assert_int_equal(enemy_pool_create(1, NULL, &first), JZX_OK);
    assert_int_equal(enemy_pool_create(1, NULL, &second), JZX_OK);
    assert_int_equal(label_pool_create(1, NULL, &labels), JZX_OK);
    assert_null(enemy_pool_lookup(loop));
    assert_int_equal(enemy_pool_register(loop, first), JZX_OK);
    assert_int_equal(label_pool_register(loop, labels), JZX_OK);
    assert_int_equal(enemy_pool_register(loop, second), JZX_ERR_EXISTS);
    assert_int_equal(enemy_pool_register(loop, first), JZX_ERR_BUSY);
    assert_int_equal(enemy_pool_register(other, first), JZX_ERR_BUSY);
    assert_int_equal(enemy_pool_register(other, second), JZX_OK);
    assert_ptr_equal(enemy_pool_lookup(loop), first);
    assert_ptr_equal(enemy_pool_lookup(other), second);
    assert_ptr_equal(label_pool_lookup(loop), labels);

    assert_int_equal(enemy_pool_destroy(first), JZX_ERR_BUSY);
    assert_int_equal(enemy_pool_unregister(other, first), JZX_ERR_INVALID_ARG);
    assert_int_equal(enemy_pool_unregister(loop, first), JZX_OK);
    assert_int_equal(enemy_pool_unregister(loop, first), JZX_ERR_INVALID_ARG);
    assert_null(enemy_pool_lookup(loop));
    assert_ptr_equal(label_pool_lookup(loop), labels);
    assert_int_equal(enemy_pool_destroy(first), JZX_OK);
    fixture_destroy(loop);
    fixture_destroy(other);
    assert_int_equal(enemy_pool_destroy(second), JZX_OK);
    assert_int_equal(label_pool_destroy(labels), JZX_OK);
}

JZX_TEST(a_pool_of_the_same_name_and_another_type_is_not_found) {
    jzx_loop *loop = fixture_loop();
    jzx_pool_type other = *label_pool_type();
    jzx_pool *pool = NULL;
    other.name = enemy_pool_type()->name; /* as two files that disagree */
    assert_int_equal(jzx_pool_create(&other, 1, NULL, &pool), JZX_OK);
    assert_int_equal(jzx_pool_register(loop, pool), JZX_OK);
    assert_null(enemy_pool_lookup(loop));
    assert_ptr_equal(jzx_pool_lookup(loop, &other), pool);
    fixture_destroy(loop);
    assert_int_equal(jzx_pool_destroy(pool), JZX_OK);
}
