/* SPDX-License-Identifier: MIT */
/* The slots of a pool against a model, and what becomes of a slot whose generations are used up,
 * which no test could reach by making objects. */
#include "pool/pool.h"

#include "seeds.h"

#include <string.h>

#define CAPACITY_MAX 12u
#define STEPS 300u
#define GONE_MAX STEPS

JZX_POOL(thing, uint64_t)
JZX_SHARED_POOL(common, uint64_t)

static struct jzx__pool *inside(void *pool) {
    return jzx__pool_of((jzx_pool *)pool);
}

static uint64_t generation_of(void *pool, jzx_ref ref) {
    return ref / (inside(pool)->head.index_mask + 1);
}

/* Makes the object in this slot one of the generation that has `left` to come after it, if it is
 * not as old already. */
static jzx_ref age(void *pool, jzx_ref ref, uint64_t left) {
    struct jzx__pool *self = inside(pool);
    jzx_ref *mark = jzx_pool_find_slot(&self->head, ref, self->type.slot_size);
    uint64_t mask = self->head.index_mask;
    jzx_ref older = ((UINT64_MAX / (mask + 1) - left) * (mask + 1)) | (ref & mask);
    *mark = older > ref ? older : ref;
    return *mark;
}

/* ---- references ---- */

JZX_TEST(a_reference_is_an_index_and_a_generation_from_one, "E+pool") {
    static const uint32_t capacities[] = {1, 2, 3, 4, 7, 8, 9, 1000};
    for (size_t i = 0; i < sizeof capacities / sizeof capacities[0]; i++) {
        thing_pool *pool = NULL;
        assert_int_equal(thing_pool_create(capacities[i], NULL, &pool), JZX_OK);
        uint64_t mask = inside(pool)->head.index_mask;
        assert_true(mask >= capacities[i] && mask / 2 < capacities[i]); /* V2, and no bit wasted */
        for (uint32_t k = 0; k < capacities[i]; k++) {
            thing_ref ref = {JZX_NO_REF};
            assert_int_equal(thing_pool_new(pool, NULL, &ref), JZX_OK);
            assert_int_equal(ref.ref & mask, k);
            assert_int_equal(generation_of(pool, ref.ref), 1);
        }
        assert_int_equal(thing_pool_destroy(pool), JZX_OK);
    }
}

/* Memory for a pool of any size of which only the first slots are used. */
static void *alloc_little(void *ctx, size_t size) {
    (void)ctx;
    return malloc(size < 4096 ? size : 4096);
}

static void free_little(void *ctx, void *ptr, size_t size) {
    (void)ctx;
    (void)size;
    free(ptr);
}

JZX_TEST(the_largest_pool_has_an_index_to_spare, "E+pool") {
    static const jzx_allocator little = {alloc_little, free_little, NULL};
    thing_pool *pool = NULL;
    thing_ref ref = {JZX_NO_REF};
    assert_int_equal(thing_pool_create(JZX_POOL_CAPACITY_MAX, &little, &pool), JZX_OK);
    assert_int_equal(inside(pool)->head.index_mask, UINT32_MAX);
    assert_int_equal(thing_pool_new(pool, NULL, &ref), JZX_OK);
    assert_int_equal(ref.ref, (uint64_t)1 << 32);
    assert_true(thing_pool_free(pool, ref)); /* the last of the free list: its link is the mask */
    assert_false(thing_pool_valid(pool, ref));
    assert_int_equal(thing_pool_new(pool, NULL, &ref), JZX_OK);
    assert_int_equal(ref.ref, (uint64_t)2 << 32);
    assert_int_equal(thing_pool_capacity(pool), JZX_POOL_CAPACITY_MAX);
    assert_int_equal(thing_pool_destroy(pool), JZX_OK);
}

JZX_TEST(slots_that_were_never_used_are_not_looked_at) {
    thing_pool *pool = NULL;
    thing_ref ref = {JZX_NO_REF};
    assert_int_equal(thing_pool_create(4, NULL, &pool), JZX_OK);
    jzx_pool *head = &inside(pool)->head;
    jzx_ref guess = (head->index_mask + 1) | 2;
    struct thing_pool_slot *slots = (struct thing_pool_slot *)(void *)head->slots;
    slots[2].mark = guess; /* what was in that memory before */
    assert_int_equal(thing_pool_new(pool, NULL, &ref), JZX_OK);
    assert_false(thing_pool_valid(pool, (thing_ref){guess}));
    assert_false(thing_pool_free(pool, (thing_ref){guess}));
    assert_non_null(thing_pool_next(pool, &(thing_ref){JZX_NO_REF}));
    assert_null(thing_pool_next(pool, &ref));
    assert_int_equal(thing_pool_destroy(pool), JZX_OK);
}

/* ---- generations that end ---- */

JZX_TEST(a_slot_that_has_used_all_its_generations_is_retired, "E+pool") {
    thing_pool *pool = NULL;
    thing_ref other = {JZX_NO_REF};
    thing_ref ref = {JZX_NO_REF};
    assert_int_equal(thing_pool_create(2, NULL, &pool), JZX_OK);
    assert_int_equal(thing_pool_new(pool, &(uint64_t){1}, &other), JZX_OK);
    assert_int_equal(thing_pool_new(pool, &(uint64_t){2}, &ref), JZX_OK);
    ref.ref = age(pool, ref.ref, 1);
    assert_true(thing_pool_free(pool, ref));

    thing_ref last = {JZX_NO_REF}; /* the same slot once more, for the last time */
    assert_int_equal(thing_pool_new(pool, &(uint64_t){3}, &last), JZX_OK);
    assert_int_equal(generation_of(pool, last.ref), generation_of(pool, UINT64_MAX));
    assert_int_equal(*thing_pool_get(pool, last), 3);
    assert_int_equal(thing_pool_capacity(pool), 2);
    assert_true(thing_pool_free(pool, last));
    assert_int_equal(thing_pool_capacity(pool), 1);
    assert_int_equal(thing_pool_count(pool), 1);

    assert_int_equal(thing_pool_new(pool, NULL, NULL), JZX_ERR_FULL);
    assert_false(thing_pool_valid(pool, last));
    assert_false(thing_pool_free(pool, last));
    assert_false(thing_pool_valid(pool, (thing_ref){UINT64_MAX})); /* nor what its mark says */
    thing_ref at = {JZX_NO_REF};
    assert_int_equal(*thing_pool_next(pool, &at), 1);
    assert_null(thing_pool_next(pool, &at));
    assert_true(thing_pool_free(pool, other)); /* the other slot goes on */
    assert_int_equal(thing_pool_new(pool, NULL, NULL), JZX_OK);
    assert_int_equal(thing_pool_destroy(pool), JZX_OK);
}

JZX_TEST(a_shared_pool_retires_slots_as_well, "E+pool") {
    common_pool *pool = NULL;
    common_ref ref = {JZX_NO_REF};
    uint64_t value = 9;
    assert_int_equal(common_pool_create(1, NULL, &pool), JZX_OK);
    assert_int_equal(common_pool_new(pool, &value, &ref), JZX_OK);
    ref.ref = age(pool, ref.ref, 0);
    value = 0;
    assert_true(common_pool_take(pool, ref, &value));
    assert_int_equal(value, 9);
    assert_int_equal(common_pool_capacity(pool), 0);
    assert_int_equal(common_pool_new(pool, NULL, NULL), JZX_ERR_FULL);
    assert_int_equal(common_pool_destroy(pool), JZX_OK);
}

/* ---- against a model ---- */

/* What is there, in any order, and every reference that has gone. */
struct model {
    uint32_t capacity;
    uint32_t retired;
    uint32_t count;
    jzx_ref refs[CAPACITY_MAX];
    uint64_t values[CAPACITY_MAX];
    uint32_t gone_count;
    jzx_ref gone[GONE_MAX];
};

static bool was_there(const struct model *model, jzx_ref ref) {
    for (uint32_t i = 0; i < model->gone_count; i++) {
        if (model->gone[i] == ref)
            return true;
    }
    for (uint32_t i = 0; i < model->count; i++) {
        if (model->refs[i] == ref)
            return true;
    }
    return false;
}

static bool model_new(struct model *model, thing_pool *pool, struct jzx__rng *rng) {
    uint64_t value = jzx__rng_next(rng);
    thing_ref ref = {77};
    jzx_err err = thing_pool_new(pool, &value, &ref);
    if (model->count + model->retired == model->capacity)
        return JZX_EXPECT_EQ(err, JZX_ERR_FULL) && JZX_EXPECT_EQ(ref.ref, 77);
    bool held = JZX_EXPECT_EQ(err, JZX_OK) && JZX_EXPECT(!was_there(model, ref.ref));
    if (jzx__rng_below(rng, 8) == 0) /* a slot near its end */
        ref.ref = age(pool, ref.ref, jzx__rng_below(rng, 3));
    model->refs[model->count] = ref.ref;
    model->values[model->count++] = value;
    return held;
}

static bool model_free(struct model *model, thing_pool *pool, uint32_t at) {
    thing_ref ref = {model->refs[at]};
    bool held = JZX_EXPECT(thing_pool_free(pool, ref));
    if (generation_of(pool, ref.ref) == generation_of(pool, UINT64_MAX))
        model->retired++;
    model->gone[model->gone_count++] = ref.ref;
    model->refs[at] = model->refs[--model->count];
    model->values[at] = model->values[model->count];
    return held;
}

static bool keep_even(thing_ref ref, uint64_t *value, void *ctx) {
    (void)ref;
    (void)ctx;
    return *value % 2 == 0;
}

static bool model_retain(struct model *model, thing_pool *pool) {
    uint32_t expected = 0;
    size_t freed = thing_pool_retain(pool, keep_even, NULL);
    for (uint32_t i = model->count; i-- > 0;) {
        if (model->values[i] % 2 == 0)
            continue;
        expected++;
        if (generation_of(pool, model->refs[i]) == generation_of(pool, UINT64_MAX))
            model->retired++;
        model->gone[model->gone_count++] = model->refs[i];
        model->refs[i] = model->refs[--model->count];
        model->values[i] = model->values[model->count];
    }
    return JZX_EXPECT_EQ(freed, expected);
}

/* Everything that can be seen of the pool is as in the model. */
static bool looks_as(const struct model *model, thing_pool *pool) {
    bool held = JZX_EXPECT_EQ(thing_pool_count(pool), model->count) &&
                JZX_EXPECT_EQ(thing_pool_capacity(pool), model->capacity - model->retired);
    for (uint32_t i = 0; held && i < model->count; i++) {
        const uint64_t *value = thing_pool_get(pool, (thing_ref){model->refs[i]});
        held = JZX_EXPECT(value != NULL && *value == model->values[i]);
    }
    for (uint32_t i = 0; held && i < model->gone_count; i++)
        held = JZX_EXPECT(thing_pool_get(pool, (thing_ref){model->gone[i]}) == NULL);
    uint32_t shown = 0;
    thing_ref at = {JZX_NO_REF};
    while (held && thing_pool_next(pool, &at) != NULL) {
        held = JZX_EXPECT(was_there(model, at.ref) && thing_pool_valid(pool, at));
        shown++;
    }
    return held && JZX_EXPECT_EQ(shown, model->count);
}

static bool behaves_as_the_model(struct jzx__rng *rng) {
    struct model model = {.capacity = 1 + (uint32_t)jzx__rng_below(rng, CAPACITY_MAX)};
    thing_pool *pool = NULL;
    if (!JZX_EXPECT_EQ(thing_pool_create(model.capacity, NULL, &pool), JZX_OK))
        return false;
    bool held = true;
    for (uint32_t step = 0; held && step < STEPS; step++) {
        uint64_t what = jzx__rng_below(rng, 100);
        if (what < 50)
            held = model_new(&model, pool, rng);
        else if (what < 90 && model.count > 0)
            held = model_free(&model, pool, (uint32_t)jzx__rng_below(rng, model.count));
        else if (what < 95 && model.gone_count > 0)
            held = JZX_EXPECT(!thing_pool_free(
                pool, (thing_ref){model.gone[jzx__rng_below(rng, model.gone_count)]}));
        else if (what == 99)
            held = model_retain(&model, pool);
        held = held && looks_as(&model, pool);
    }
    thing_pool_destroy(pool);
    return held;
}

JZX_TEST(random_programs_see_what_a_model_says, "E58", "E+pool") {
    run_seeds("random_programs_see_what_a_model_says", jzx_test_rounds(1000, 20000),
              behaves_as_the_model);
}
