/* SPDX-License-Identifier: MIT */
/* all, race, any, some, all_settled: how inputs become an outcome, and how they are let go. */
#include "future/combine.h"

#include <string.h>

_Static_assert(sizeof(jzx_settled) == 8, "values behind it are aligned as a value in a future is");

struct jzx__combine *jzx__combine_of(struct jzx_future *result) {
    return jzx__future_extra(result);
}

/* ---- letting go of items (L4) ---- */

/* Items to let go, of this thread; linked by their thens, which are in no future. */
struct row {
    struct jzx__then *first;
    struct jzx__then **last;
};

static _Thread_local struct row *row_of_thread;

static struct jzx__combine_item *item_of(struct jzx__then *then) {
    return JZX_CONTAINER_OF(then, struct jzx__combine_item, then);
}

/* The builder, or an item, needs the block no more (L1). */
static void leave(struct jzx_future *result) {
    /* acq_rel: pairs with itself: what others did with the block is over */
    if (jzx__atomic_add_acq_rel(&jzx__combine_of(result)->kept, 0u - 1u) == 1)
        jzx__future_let_go(result, JZX__HOLDER_PROMISE);
}

static void end_item(struct jzx__combine_item *item) {
    struct jzx_future *result = item->result;
    struct jzx_future *input = item->then.future;
    if (jzx__future_is_settled(input))
        (void)jzx__future_read(input, NULL); /* its error counts as read */
    else if (jzx__combine_of(result)->cancels)
        jzx_future_cancel(input);
    jzx_future_release(input);
    leave(result);
}

/* Nobody else will. */
static void let_go(struct jzx__combine_item *item) {
    struct row row = {.last = &row.first};
    struct row *mine = row_of_thread != NULL ? row_of_thread : &row;
    item->then.next = NULL;
    *mine->last = &item->then;
    mine->last = &item->then.next;
    if (row_of_thread != NULL)
        return;
    row_of_thread = &row;
    while (row.first != NULL) {
        struct jzx__then *then = row.first;
        row.first = then->next;
        if (row.first == NULL)
            row.last = &row.first;
        end_item(item_of(then));
    }
    row_of_thread = NULL;
}

/* The result is settled, and all items are joined. */
static void take_out_all(struct jzx_future *result) {
    struct jzx__combine *combine = jzx__combine_of(result);
    for (uint32_t i = 0; i < combine->count; i++)
        if (jzx__future_off(&combine->items[i].then))
            let_go(&combine->items[i]);
}

/* The caller has settled the result (L2), and keeps the block. */
static void end(struct jzx_future *result) {
    struct jzx__combine *combine = jzx__combine_of(result);
    jzx__lock_acquire(result->source.lock);
    combine->is_over = true;
    bool closes = combine->is_built;
    jzx__lock_release(result->source.lock);
    if (closes)
        take_out_all(result);
}

/* ---- what an input that is settled does to the result ---- */

static bool has_errors(enum jzx__combine_kind kind) {
    return kind == JZX__COMBINE_ANY || kind == JZX__COMBINE_SOME;
}

/* One for each input, of any and some. */
static struct jzx__combine_error *errors_of(struct jzx__combine *combine) {
    return (struct jzx__combine_error *)(void *)&combine->items[combine->count];
}

static size_t stride_of(enum jzx__combine_kind kind, size_t input_size) {
    switch (kind) {
    case JZX__COMBINE_ALL: return input_size;
    case JZX__COMBINE_SETTLED:
    case JZX__COMBINE_SOME: return JZX_SETTLED_SIZE(input_size);
    default: return 0;
    }
}

/* True if the caller settles the result, with the outcome of that input (or of none): L2. */
static bool decide(struct jzx_future *result, uint32_t winner) {
    struct jzx__combine *combine = jzx__combine_of(result);
    jzx__lock_acquire(result->source.lock);
    bool is_mine = !combine->is_decided;
    if (is_mine) {
        combine->is_decided = true;
        combine->winner = winner;
    }
    jzx__lock_release(result->source.lock);
    return is_mine;
}

/* Writes what the input has come to at that place (L3). Under the lock. */
static void write_place(struct jzx_future *result, uint32_t at, uint32_t index,
                        struct jzx_future *input, jzx_err err) {
    const struct jzx__combine *combine = jzx__combine_of(result);
    const size_t stride = stride_of(combine->kind, combine->input_size);
    unsigned char *place = result->value.bytes + at * stride;
    if (combine->kind != JZX__COMBINE_ALL) {
        const jzx_settled record = {.err = err, .index = index};
        memset(place, 0, stride);
        memcpy(place, &record, sizeof record);
        place += sizeof record;
    }
    if (err == JZX_OK && combine->input_size != 0)
        memcpy(place, input->value.bytes, combine->input_size);
}

/* True for the last one that was missed, if the result was not decided before: it is now. */
static bool count_input(struct jzx_future *result, uint32_t index, struct jzx_future *input,
                        jzx_err err) {
    struct jzx__combine *combine = jzx__combine_of(result);
    jzx__lock_acquire(result->source.lock);
    bool is_open = !combine->is_decided;
    if (is_open) {
        bool in_order = combine->kind != JZX__COMBINE_SOME;
        write_place(result, in_order ? index : combine->wanted - combine->left, index, input, err);
        combine->is_decided = --combine->left == 0;
    }
    bool is_last = is_open && combine->is_decided;
    jzx__lock_release(result->source.lock);
    return is_last;
}

/* True for the error that leaves too few inputs, if the result was not decided before: it is
 * now. */
static bool count_error(struct jzx_future *result, uint32_t index, jzx_err err, const char *text) {
    struct jzx__combine *combine = jzx__combine_of(result);
    char *copy = jzx__future_text_copy(result->home, text);
    jzx__lock_acquire(result->source.lock);
    bool is_open = !combine->is_decided;
    if (is_open) {
        errors_of(combine)[index] = (struct jzx__combine_error){err, copy};
        combine->is_decided = combine->spare-- == 0;
    }
    bool is_last = is_open && combine->is_decided;
    jzx__lock_release(result->source.lock);
    if (!is_open)
        jzx__future_text_free(result->home, copy);
    return is_last;
}

/* True if the input has settled the result. */
static bool take_list(struct jzx_future *result, struct jzx__worker *me, uint32_t index,
                      struct jzx_future *input) {
    const char *text = NULL;
    const enum jzx__combine_kind kind = jzx__combine_of(result)->kind;
    jzx_err err = jzx_future_error(input, &text);
    if (err == JZX_OK && (input->flags & JZX__FUTURE_MOVED)) {
        err = JZX_ERR_INVALID_ARG;
        text = "an object cannot be part of a list";
    }
    if (kind == JZX__COMBINE_ALL && err != JZX_OK)
        return decide(result, index) && jzx__future_reject(result, me, err, text) == JZX_OK;
    if (kind == JZX__COMBINE_SOME && err != JZX_OK)
        return count_error(result, index, err, text) &&
               jzx__future_reject(result, me, JZX_ERR_ALL_REJECTED, NULL) == JZX_OK;
    return count_input(result, index, input, err) &&
           jzx__future_resolve(result, me, result->value.bytes) == JZX_OK;
}

/* The outcome of the input is the result's. */
static bool take_first(struct jzx_future *result, struct jzx__worker *me, uint32_t index,
                       struct jzx_future *input) {
    return decide(result, index) && jzx__future_copy(result, me, input) == JZX_OK;
}

static bool take_any(struct jzx_future *result, struct jzx__worker *me, uint32_t index,
                     struct jzx_future *input) {
    const char *text;
    jzx_err err = jzx_future_error(input, &text);
    if (err == JZX_OK)
        return take_first(result, me, index, input);
    return count_error(result, index, err, text) &&
           jzx__future_reject(result, me, JZX_ERR_ALL_REJECTED, NULL) == JZX_OK;
}

static bool take_input(struct jzx_future *result, struct jzx__worker *me, uint32_t index,
                       struct jzx_future *input) {
    switch ((enum jzx__combine_kind)jzx__combine_of(result)->kind) {
    case JZX__COMBINE_RACE: return take_first(result, me, index, input);
    case JZX__COMBINE_ANY: return take_any(result, me, index, input);
    default: return take_list(result, me, index, input);
    }
}

/* The block stays until the item is let go, which is the last thing. */
static void run(struct jzx__then *then, struct jzx_future *input, struct jzx__worker *me) {
    struct jzx__combine_item *item = item_of(then);
    struct jzx_future *result = item->result;
    struct jzx__combine *combine = jzx__combine_of(result);
    if (take_input(result, me, (uint32_t)(item - combine->items), input))
        end(result);
    else if (combine->is_map)
        jzx__combine_start_next(result);
    let_go(item);
}

/* ---- the kind of future ---- */

static size_t extra_size(enum jzx__combine_kind kind, size_t count) {
    size_t each = sizeof(struct jzx__combine_item);
    if (has_errors(kind))
        each += sizeof(struct jzx__combine_error);
    return sizeof(struct jzx__combine) + count * each;
}

static size_t extra_of(struct jzx_future *future) {
    const struct jzx__combine *combine = jzx__combine_of(future);
    return extra_size(combine->kind, combine->count);
}

static void cancel(struct jzx_future *future, struct jzx__worker *me) {
    if (decide(future, JZX__COMBINE_NOBODY) &&
        jzx__future_reject(future, me, JZX_ERR_CANCELLED, NULL) == JZX_OK)
        end(future);
}

static void release(struct jzx_future *future, struct jzx__worker *me) {
    struct jzx__combine *combine = jzx__combine_of(future);
    (void)me;
    for (uint32_t i = 0; has_errors(combine->kind) && i < combine->count; i++)
        jzx__future_text_free(future->home, errors_of(combine)[i].text);
}

static const struct jzx__future_ops combine_ops = {
    .extra = extra_of, .cancel = cancel, .release = release};

/* ---- making one ---- */

static size_t value_size_of(const struct jzx__combine_plan *plan) {
    switch (plan->kind) {
    case JZX__COMBINE_RACE:
    case JZX__COMBINE_ANY: return plan->input_size;
    case JZX__COMBINE_SOME:
        return plan->wanted > plan->count ? 0
                                          : plan->wanted * stride_of(plan->kind, plan->input_size);
    default: return plan->count * stride_of(plan->kind, plan->input_size);
    }
}

/* How many inputs may be rejected, before the one that rejects the result. */
static uint32_t spare_of(const struct jzx__combine_plan *plan) {
    const size_t wanted = plan->kind == JZX__COMBINE_ANY ? 1 : plan->wanted;
    return wanted > plan->count ? 0 : (uint32_t)(plan->count - wanted);
}

struct jzx_future *jzx__combine_create(struct jzx_loop *loop, struct jzx__worker *me,
                                       const struct jzx__combine_plan *plan) {
    const size_t extra = extra_size(plan->kind, plan->count);
    struct jzx_future *result =
        jzx__future_create(jzx__future_home_of(loop), me, value_size_of(plan), extra, &combine_ops);
    if (result == NULL)
        return NULL;
    struct jzx__combine *combine = jzx__combine_of(result);
    memset(combine, 0, extra);
    combine->kind = (uint8_t)plan->kind;
    combine->count = (uint32_t)plan->count;
    combine->wanted = combine->count;
    if (plan->kind == JZX__COMBINE_SOME) /* more than there are is one more */
        combine->wanted = (uint32_t)(plan->wanted > plan->count ? plan->count + 1 : plan->wanted);
    combine->left = combine->wanted;
    combine->spare = spare_of(plan);
    combine->winner = JZX__COMBINE_NOBODY;
    combine->input_size = (uint32_t)plan->input_size;
    /* relaxed: nobody else has it yet */
    jzx__atomic_store_relaxed(&combine->kept, combine->count + 1);
    return result;
}

/* The result of an empty list, or of some that wants no value, or more than there are inputs. */
static void settle_at_once(struct jzx_future *result, struct jzx__worker *me) {
    const struct jzx__combine *combine = jzx__combine_of(result);
    if (!decide(result, JZX__COMBINE_NOBODY))
        return;
    if (combine->kind == JZX__COMBINE_ANY || combine->wanted > combine->count)
        (void)jzx__future_reject(result, me, JZX_ERR_ALL_REJECTED, NULL);
    else
        (void)jzx__future_resolve(result, me, NULL);
    end(result);
}

void jzx__combine_build(struct jzx_future *result, struct jzx__worker *me) {
    struct jzx__combine *combine = jzx__combine_of(result);
    if (combine->count == 0 || combine->wanted == 0 || combine->wanted > combine->count)
        settle_at_once(result, me);
    for (uint32_t i = 0; i < combine->count; i++) { /* for the closing */
        struct jzx__combine_item *item = &combine->items[i];
        item->result = result;
        item->then.lock = item->then.future->source.lock;
    }
    for (uint32_t i = 0; i < combine->count; i++) {
        struct jzx__combine_item *item = &combine->items[i];
        if (jzx__future_is_settled(result))
            let_go(item);
        else if (!jzx__future_on(item->then.future, &item->then, run))
            run(&item->then, item->then.future, me);
    }
    jzx__lock_acquire(result->source.lock);
    combine->is_built = true;
    bool closes = combine->is_over;
    jzx__lock_release(result->source.lock);
    if (closes)
        take_out_all(result);
    leave(result);
}

void jzx__combine_abandon(struct jzx_future *result) {
    struct jzx__combine *combine = jzx__combine_of(result);
    for (uint32_t i = 0; i < combine->count; i++)
        jzx_future_release(combine->items[i].then.future);
    jzx__future_let_go(result, JZX__HOLDER_PROMISE);
    jzx_future_detach(result); /* it is not settled, and there is nothing to cancel */
}

void jzx__combine_start_next(struct jzx_future *result) {
    struct jzx__combine *combine = jzx__combine_of(result);
    struct jzx_future *input = NULL;
    jzx__lock_acquire(result->source.lock);
    if (!combine->is_over && combine->next < combine->count)
        input = jzx_future_ref(combine->items[combine->next++].then.future);
    jzx__lock_release(result->source.lock);
    if (input == NULL)
        return;
    (void)jzx_async_start(input); /* an error rejects it, and so the result */
    jzx_future_release(input);
}

/* The size of the values of a list; false if they are not of one, or a list is not valid. Of inputs
 * that are all rejected, the largest: it does not depend on when they were. */
static bool measure(const struct jzx_loop *loop, jzx_future *const *inputs, size_t count,
                    size_t *value_size) {
    bool is_known = false;
    *value_size = 0;
    if (count > JZX_FUTURE_VALUE_MAX / sizeof(struct jzx__combine_item) ||
        (inputs == NULL && count != 0))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (inputs[i] == NULL || inputs[i]->home != jzx__future_home_of(loop))
            return false;
        if (jzx__future_state(inputs[i]) == JZX_FUTURE_REJECTED) {
            if (!is_known && inputs[i]->value_size > *value_size)
                *value_size = inputs[i]->value_size;
            continue;
        }
        if (is_known && inputs[i]->value_size != *value_size)
            return false;
        is_known = true;
        *value_size = inputs[i]->value_size;
    }
    return count == 0 || JZX_SETTLED_SIZE(*value_size) <= JZX_FUTURE_VALUE_MAX / count;
}

/* The plan has kind, count and wanted. */
static jzx_err combine(jzx_loop *loop, struct jzx__combine_plan plan, jzx_future *const *inputs,
                       uint32_t flags, jzx_future **result) {
    struct jzx__visit visit;
    if (loop == NULL || result == NULL || (flags & ~JZX_CANCEL_INPUTS) != 0 ||
        !measure(loop, inputs, plan.count, &plan.input_size))
        return JZX_ERR_INVALID_ARG;
    struct jzx__worker *me = jzx__loop_visit(loop, &visit);
    struct jzx_future *made = jzx__combine_create(loop, me, &plan);
    if (made != NULL) {
        jzx__combine_of(made)->cancels = (flags & JZX_CANCEL_INPUTS) != 0;
        for (size_t i = 0; i < plan.count; i++)
            jzx__combine_of(made)->items[i].then.future = jzx_future_ref(inputs[i]);
        jzx__combine_build(made, me);
    }
    jzx__visit_end(&visit);
    if (made == NULL)
        return JZX_ERR_NO_MEMORY;
    *result = made;
    return JZX_OK;
}

jzx_err jzx_future_all(jzx_loop *loop, jzx_future *const *inputs, size_t count, uint32_t flags,
                       jzx_future **result) {
    const struct jzx__combine_plan plan = {.kind = JZX__COMBINE_ALL, .count = count};
    return combine(loop, plan, inputs, flags, result);
}

jzx_err jzx_future_race(jzx_loop *loop, jzx_future *const *inputs, size_t count, uint32_t flags,
                        jzx_future **result) {
    const struct jzx__combine_plan plan = {.kind = JZX__COMBINE_RACE, .count = count};
    return count == 0 ? JZX_ERR_INVALID_ARG : combine(loop, plan, inputs, flags, result);
}

jzx_err jzx_future_any(jzx_loop *loop, jzx_future *const *inputs, size_t count, uint32_t flags,
                       jzx_future **result) {
    const struct jzx__combine_plan plan = {.kind = JZX__COMBINE_ANY, .count = count};
    return combine(loop, plan, inputs, flags, result);
}

jzx_err jzx_future_some(jzx_loop *loop, jzx_future *const *inputs, size_t count, size_t k,
                        uint32_t flags, jzx_future **result) {
    const struct jzx__combine_plan plan = {.kind = JZX__COMBINE_SOME, .count = count, .wanted = k};
    return combine(loop, plan, inputs, flags, result);
}

jzx_err jzx_future_all_settled(jzx_loop *loop, jzx_future *const *inputs, size_t count,
                               uint32_t flags, jzx_future **result) {
    const struct jzx__combine_plan plan = {.kind = JZX__COMBINE_SETTLED, .count = count};
    return combine(loop, plan, inputs, flags, result);
}

/* ---- what a result can tell ---- */

/* NULL: it is no combinator's of a list. */
static struct jzx__combine *look_into(jzx_future *future) {
    return future != NULL && future->ops == &combine_ops ? jzx__combine_of(future) : NULL;
}

jzx_err jzx_future_winner(jzx_future *result, size_t *index) {
    const struct jzx__combine *combine = look_into(result);
    if (combine == NULL || index == NULL)
        return JZX_ERR_INVALID_ARG;
    if (!jzx__future_is_settled(result))
        return JZX_ERR_INVALID_STATE;
    if (combine->winner == JZX__COMBINE_NOBODY)
        return JZX_ERR_NOT_FOUND;
    *index = combine->winner;
    return JZX_OK;
}

jzx_err jzx_future_error_at(jzx_future *result, size_t index, jzx_err *err, const char **text) {
    struct jzx__combine *combine = look_into(result);
    if (combine == NULL || !has_errors(combine->kind) || index >= combine->count || err == NULL)
        return JZX_ERR_INVALID_ARG;
    if (!jzx__future_is_settled(result))
        return JZX_ERR_INVALID_STATE;
    const struct jzx__combine_error *error = &errors_of(combine)[index];
    *err = error->err;
    if (text != NULL)
        *text = error->text != NULL ? error->text : "";
    return JZX_OK;
}

/* For other languages: the inline function of the header as a symbol. */
extern inline jzx_settled *jzx_settled_at(void *records, size_t value_size, size_t index);
