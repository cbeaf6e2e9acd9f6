/* SPDX-License-Identifier: MIT */
/* Random programs of combinators against a model: a graph of nodes whose outcome follows from those
 * of their inputs, in steps. In each step one thing happens: a promise is settled, a future is
 * cancelled or let go, time passes. A seed that fails prints the line that reruns it. */
#include "timing.h"

#include <jzx/combine.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

enum { NODES = 24, BASES = 6, LIST_MAX = 4, EVENTS = 40 };

enum kind {
    BASE,
    ALL,
    RACE,
    ANY,
    SOME,
    SETTLED,
    THEN,
    THEN_FUTURE,
    CATCH,
    FINALLY,
    DELAYED,
    TIMEOUT,
    KINDS
};

struct outcome {
    jzx_err err;
    uint64_t values[LIST_MAX * 2];
};

struct node {
    enum kind kind;
    jzx_promise *promise; /* of a base that was not settled */
    jzx_future *future;   /* NULL: the program has let go of it */
    uint32_t inputs[LIST_MAX];
    uint32_t count;
    uint32_t wanted; /* of some: at most one more than there are */
    bool cancels;
    uint64_t time_ns;
    uint32_t born;     /* the step */
    uint32_t step;     /* in which it was settled; 0: it is not */
    bool is_unknown;   /* settled, but two outcomes were possible, and nobody could look */
    bool is_cancelled; /* in this step */
    struct outcome outcome;
};

struct model {
    struct timing timing;
    uint64_t random;
    struct node nodes[NODES];
    uint32_t count;
    uint32_t step;
    bool all_held;
    bool is_astray; /* see follow_all */
};

static struct model model;
static uint64_t seeds_astray;

static void expect(bool held) {
    model.all_held = model.all_held && held;
}

static uint32_t below(uint32_t limit) {
    model.random = model.random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(model.random >> 33) % limit;
}

static bool is_list(const struct node *node) {
    return node->kind == ALL || node->kind == SOME || node->kind == SETTLED;
}

/* ---- the functions of chains ---- */

static jzx_err add_hundred(jzx_context *ctx, const void *value, void *result, void *arg) {
    uint64_t number;
    (void)ctx, (void)arg;
    memcpy(&number, value, sizeof number);
    number += 100;
    memcpy(result, &number, sizeof number);
    jzx_test_ran();
    return number % 7 == 0 ? JZX_ERR_FULL : JZX_OK;
}

/* An odd number goes on at once, an even one when the time of the node has come. */
static jzx_err add_later(jzx_context *ctx, const void *value, jzx_future **next, void *arg) {
    const struct node *node = arg;
    uint64_t number;
    memcpy(&number, value, sizeof number);
    jzx_test_ran();
    if (number % 2 == 0)
        return jzx_future_delayed(ctx->loop, node->time_ns, &(uint64_t){6000}, 8, next);
    number += 200;
    return jzx_future_resolved(ctx->loop, &number, 8, next);
}

static jzx_err make_good(jzx_context *ctx, jzx_err err, const char *text, void *result, void *arg) {
    const uint64_t number = (uint64_t)(1000 - (int)err);
    (void)ctx, (void)text, (void)arg;
    memcpy(result, &number, sizeof number);
    return JZX_OK;
}

static void look_on(jzx_context *ctx, jzx_err err, void *arg) {
    (void)ctx, (void)err, (void)arg;
}

/* ---- making nodes ---- */

static bool choose_inputs(struct node *node, uint32_t count) {
    for (uint32_t tries = 0; node->count < count && tries < 100; tries++) {
        uint32_t index = below(model.count);
        const struct node *input = &model.nodes[index];
        if (input->future == NULL || is_list(input) ||
            ((node->cancels || node->kind == SOME) && input->kind != BASE))
            continue;
        node->inputs[node->count++] = index;
    }
    return node->count == count;
}

static jzx_err make_list(struct node *node) {
    jzx_loop *loop = model.timing.loop;
    jzx_future *inputs[LIST_MAX];
    const uint32_t flags = node->cancels ? JZX_CANCEL_INPUTS : 0;
    for (uint32_t i = 0; i < node->count; i++)
        inputs[i] = model.nodes[node->inputs[i]].future;
    switch (node->kind) {
    case ALL: return jzx_future_all(loop, inputs, node->count, flags, &node->future);
    case RACE: return jzx_future_race(loop, inputs, node->count, flags, &node->future);
    case ANY: return jzx_future_any(loop, inputs, node->count, flags, &node->future);
    case SOME:
        return jzx_future_some(loop, inputs, node->count, node->wanted, flags, &node->future);
    default: return jzx_future_all_settled(loop, inputs, node->count, flags, &node->future);
    }
}

static jzx_err make_other(struct node *node) {
    jzx_future *input = node->count != 0 ? model.nodes[node->inputs[0]].future : NULL;
    const uint64_t number = 5000;
    switch (node->kind) {
    case BASE: return jzx_promise_create(model.timing.loop, 8, &node->promise, &node->future);
    case THEN: return jzx_future_then(input, 8, add_hundred, NULL, &node->future);
    case THEN_FUTURE: return jzx_future_then_future(input, 8, add_later, node, &node->future);
    case CATCH: return jzx_future_catch(input, make_good, NULL, &node->future);
    case FINALLY: return jzx_future_finally(input, look_on, NULL, &node->future);
    case DELAYED:
        return jzx_future_delayed(model.timing.loop, node->time_ns, &number, 8, &node->future);
    default:
        return jzx_future_timeout(input, node->time_ns, node->cancels ? JZX_CANCEL_INPUTS : 0,
                                  &node->future);
    }
}

/* One that no other node has, so that one thing happens at a time. */
static uint64_t free_time(void) {
    uint64_t time_ns = jzx_clock_now(model.timing.clock) + JZX_MS(1 + below(20));
    for (uint32_t i = 0; i < model.count; i++) {
        if (model.nodes[i].time_ns == time_ns) {
            time_ns += JZX_MS(1);
            i = UINT32_MAX; /* from the first again */
        }
    }
    return time_ns;
}

static void make_node(enum kind kind) {
    struct node *node = &model.nodes[model.count];
    uint32_t count = kind == BASE || kind == DELAYED ? 0
                     : kind <= SETTLED               ? 1 + below(LIST_MAX)
                                                     : 1;
    *node = (struct node){.kind = kind, .born = model.step};
    node->cancels = (kind <= SETTLED || kind == TIMEOUT) && kind != BASE && below(4) == 0;
    node->time_ns = free_time();
    if (!choose_inputs(node, count))
        return;
    node->wanted = below(count + 2);
    expect((kind != BASE && kind <= SETTLED ? make_list(node) : make_other(node)) == JZX_OK);
    model.count++;
}

/* ---- what follows ---- */

/* Somebody waits for it: the program, or a node that is not settled and is wanted itself. */
static bool is_wanted(uint32_t index) {
    if (model.nodes[index].future != NULL)
        return true;
    for (uint32_t i = index + 1; i < model.count; i++) {
        const struct node *node = &model.nodes[i];
        for (uint32_t k = 0; k < node->count; k++)
            if (node->inputs[k] == index && node->step == 0 && is_wanted(i))
                return true;
    }
    return false;
}

static bool same(const struct outcome *a, const struct outcome *b) {
    return a->err == b->err && memcmp(a->values, b->values, sizeof a->values) == 0;
}

static void settle(struct node *node, const struct outcome *outcome) {
    node->step = model.step;
    node->outcome = *outcome;
}

/* The inputs that decide it have come to several outcomes in one step: one of them it is. */
static void settle_one_of(struct node *node, const struct outcome *options, uint32_t count) {
    uint64_t value = 0;
    node->step = model.step;
    node->outcome = options[0];
    bool is_sure = true;
    for (uint32_t i = 1; i < count; i++)
        is_sure = is_sure && same(&options[i], &options[0]);
    if (is_sure)
        return;
    node->is_unknown = node->future == NULL;
    if (node->is_unknown)
        return;
    struct outcome seen = {.err = jzx_future_error(node->future, NULL)};
    if (seen.err == JZX_OK && !is_list(node) && jzx_future_try(node->future, &value) == JZX_OK)
        seen.values[0] = value;
    bool is_one = false;
    for (uint32_t i = 0; i < count; i++)
        is_one = is_one || same(&options[i], &seen);
    expect(is_one);
    node->outcome = seen;
}

/* The outcomes of those inputs that have one of that sort and were the first; how many. sort: 0
 * any, 1 values, 2 errors. Of those that were settled when the node was made, the first in its
 * list. */
static uint32_t first_of(const struct node *node, int sort, struct outcome *options,
                         bool *is_unknown) {
    uint32_t first = UINT32_MAX;
    uint32_t count = 0;
    for (uint32_t i = 0; i < node->count; i++) {
        const struct node *input = &model.nodes[node->inputs[i]];
        uint32_t step = input->step < node->born ? node->born : input->step;
        *is_unknown = *is_unknown || input->is_unknown;
        if (input->step == 0 || (sort != 0 && (input->outcome.err == JZX_OK) != (sort == 1)))
            continue;
        if (step < first)
            count = 0;
        if (step < first || (step == first && step != node->born))
            options[count++] = input->outcome;
        first = step < first ? step : first;
    }
    return count;
}

static void gather(struct node *node) {
    const uint32_t width = node->kind == ALL ? 1 : 2;
    struct outcome outcome = {.err = JZX_OK};
    for (uint32_t i = 0; i < node->count; i++) {
        const struct node *input = &model.nodes[node->inputs[i]];
        if (input->step == 0)
            return;
        outcome.values[i * width + width - 1] = input->outcome.values[0];
        if (width == 2)
            outcome.values[i * 2] = (uint64_t)i << 32 | (uint32_t)input->outcome.err;
    }
    settle(node, &outcome);
}

/* The step in which the node has heard of it; 0: it is not settled. */
static uint32_t heard_step(const struct node *node, uint32_t at) {
    const struct node *input = &model.nodes[node->inputs[at]];
    return input->step != 0 && input->step < node->born ? node->born : input->step;
}

/* The value of a promise comes in a step of its own; it may be in the list several times. */
static void follow_some(struct node *node) {
    struct outcome outcome = {.err = JZX_OK};
    uint32_t values = 0;
    uint32_t errors = 0;
    for (uint32_t step = node->born; step <= model.step; step++) {
        for (uint32_t i = 0; i < node->count; i++) {
            const struct node *input = &model.nodes[node->inputs[i]];
            if (heard_step(node, i) != step || (step == 0 && input->step == 0))
                continue;
            errors += input->outcome.err != JZX_OK;
            if (input->outcome.err != JZX_OK || values >= node->wanted)
                continue;
            outcome.values[values * 2] = (uint64_t)i << 32;
            outcome.values[values * 2 + 1] = input->outcome.values[0];
            values++;
        }
    }
    if (node->wanted <= node->count && values == node->wanted)
        settle(node, &outcome);
    else if (node->wanted > node->count || errors > node->count - node->wanted)
        settle(node, &(struct outcome){.err = JZX_ERR_ALL_REJECTED});
}

static void follow_list(struct node *node) {
    struct outcome options[LIST_MAX];
    const int sort = node->kind == ALL ? 2 : node->kind == ANY ? 1 : 0;
    bool is_unknown = false;
    uint32_t count = node->kind == SETTLED ? 0 : first_of(node, sort, options, &is_unknown);
    if (node->kind == SETTLED)
        (void)first_of(node, 0, options, &is_unknown);
    if (count != 0)
        settle_one_of(node, options, count);
    else if (is_list(node))
        gather(node);
    else if (node->kind == ANY && first_of(node, 2, options, &is_unknown) != 0) {
        uint32_t rejected = 0;
        for (uint32_t i = 0; i < node->count; i++)
            rejected += model.nodes[node->inputs[i]].step != 0;
        if (rejected == node->count)
            settle(node, &(struct outcome){.err = JZX_ERR_ALL_REJECTED});
    }
    node->is_unknown = node->is_unknown || (is_unknown && node->step != 0);
}

static void follow_chain(struct node *node) {
    const struct node *input = &model.nodes[node->inputs[0]];
    struct outcome outcome = input->outcome;
    if (input->step == 0)
        return;
    if (node->kind == THEN && outcome.err == JZX_OK) {
        outcome.values[0] += 100;
        if (outcome.values[0] % 7 == 0)
            outcome = (struct outcome){.err = JZX_ERR_FULL};
    } else if (node->kind == THEN_FUTURE && outcome.err == JZX_OK && outcome.values[0] % 2 != 0) {
        outcome.values[0] += 200;
    } else if (node->kind == THEN_FUTURE && outcome.err == JZX_OK) {
        if (jzx_clock_now(model.timing.clock) < node->time_ns && !input->is_unknown)
            return;
        outcome.values[0] = 6000;
    } else if (node->kind == CATCH && outcome.err != JZX_OK) {
        outcome = (struct outcome){.values = {(uint64_t)(1000 - (int)outcome.err)}};
    }
    settle(node, &outcome);
    node->is_unknown = input->is_unknown;
}

/* Time and an input in one step: either may be first. */
static void follow_timeout(struct node *node, uint64_t now) {
    const struct node *input = &model.nodes[node->inputs[0]];
    struct outcome options[2];
    uint32_t count = 0;
    if (input->step != 0)
        options[count++] = input->outcome;
    if (now >= node->time_ns)
        options[count++] = (struct outcome){.err = JZX_ERR_TIMEOUT};
    if (count != 0)
        settle_one_of(node, options, count);
    node->is_unknown = node->is_unknown || (node->step != 0 && input->is_unknown);
}

static void follow(struct node *node) {
    const uint64_t now = jzx_clock_now(model.timing.clock);
    switch (node->kind) {
    case BASE: return;
    case THEN:
    case THEN_FUTURE:
    case CATCH:
    case FINALLY: follow_chain(node); return;
    case DELAYED:
        if (now >= node->time_ns)
            settle(node, &(struct outcome){.values = {5000}});
        return;
    case TIMEOUT: follow_timeout(node, now); return;
    case SOME: follow_some(node); return;
    default: follow_list(node); return;
    }
}

/* One that is over cancels its inputs, which are bases, if it was told to. True if that changed
 * something. */
static bool cancel_inputs(const struct node *node) {
    bool changed = false;
    for (uint32_t i = 0; node->cancels && node->step != 0 && i < node->count; i++) {
        struct node *input = &model.nodes[node->inputs[i]];
        if (input->step == 0) {
            settle(input, &(struct outcome){.err = JZX_ERR_CANCELLED});
            changed = true;
        }
    }
    return changed;
}

/* One pass over all nodes: what nobody wants is cancelled, and is as good as settled; then all that
 * follows. True if that changed something. */
static bool follow_each(void) {
    bool changed = false;
    for (uint32_t i = 0; i < model.count; i++) {
        struct node *node = &model.nodes[i];
        if (node->step != 0)
            continue;
        if ((node->is_cancelled || !is_wanted(i)) && node->kind != BASE)
            settle(node, &(struct outcome){.err = JZX_ERR_CANCELLED});
        else
            follow(node);
        changed = changed || node->step != 0;
    }
    return changed;
}

/* True if what was settled in this step has come to something else. */
static bool differs(void) {
    bool does = false;
    for (uint32_t i = 0; i < model.count; i++) {
        const struct node *node = &model.nodes[i];
        struct outcome seen = {.err = JZX_OK};
        if (node->step != model.step || node->future == NULL || node->is_unknown)
            continue;
        seen.err = jzx_future_try(node->future, seen.values);
        does = does || !same(&seen, &node->outcome);
    }
    return does;
}

/* Until nothing follows. A result cancels its inputs at once, and the model sees that after what
 * needs a turn. If that makes a difference, the seed is over: there are few of them. */
static void follow_all(void) {
    const bool held = model.all_held;
    bool cancelled = false;
    bool changed = true;
    while (changed) {
        changed = follow_each();
        for (uint32_t i = 0; i < model.count; i++) {
            if (!cancel_inputs(&model.nodes[i]))
                continue;
            changed = cancelled = true;
        }
    }
    model.is_astray = cancelled && (model.all_held != held || differs());
    if (model.is_astray)
        model.all_held = held;
}

/* ---- comparing ---- */

/* The input that the result has its outcome of, if it has one. */
static void compare_winner(const struct node *node) {
    size_t index = SIZE_MAX;
    jzx_err err = jzx_future_winner(node->future, &index);
    if (err == JZX_ERR_NOT_FOUND) {
        expect(is_list(node) || node->outcome.err == JZX_ERR_CANCELLED ||
               node->outcome.err == JZX_ERR_ALL_REJECTED);
        return;
    }
    expect(err == JZX_OK && node->kind != SOME && node->kind != SETTLED);
    if (node->kind == TIMEOUT && index == 1) {
        expect(node->outcome.err == JZX_ERR_TIMEOUT);
        return;
    }
    if (index >= node->count) {
        expect(false);
        return;
    }
    const struct node *input = &model.nodes[node->inputs[index]];
    expect(input->step != 0 && (input->is_unknown || same(&input->outcome, &node->outcome)));
}

/* Those that had come before the result was settled, and perhaps those of the same step. */
static void compare_errors(const struct node *node) {
    const bool at_once = node->kind == SOME && (node->wanted == 0 || node->wanted > node->count);
    for (uint32_t i = 0; i < node->count; i++) {
        const struct node *input = &model.nodes[node->inputs[i]];
        const uint32_t step = heard_step(node, i);
        const bool was_settled = input->step != 0 && step <= node->step && !at_once;
        const bool is_sure = !was_settled || step < node->step ||
                             (node->kind == ANY && node->outcome.err == JZX_ERR_ALL_REJECTED);
        jzx_err err = JZX_ERR_UNKNOWN;
        expect(jzx_future_error_at(node->future, i, &err, NULL) == JZX_OK);
        if (!input->is_unknown)
            expect(err == (was_settled ? input->outcome.err : JZX_OK) ||
                   (!is_sure && err == JZX_OK));
    }
}

static void compare(uint32_t index) {
    struct node *node = &model.nodes[index];
    struct outcome seen = {.err = JZX_OK};
    if (node->promise != NULL && node->step == 0)
        expect(jzx_promise_is_wanted(node->promise) == is_wanted(index));
    if (node->future == NULL)
        return;
    expect(jzx_future_is_ready(node->future) == (node->step != 0));
    if (node->step == 0 || !jzx_future_is_ready(node->future) || node->is_unknown)
        return;
    seen.err = jzx_future_try(node->future, seen.values);
    expect(same(&seen, &node->outcome));
    if ((node->kind != BASE && node->kind <= SETTLED) || node->kind == TIMEOUT)
        compare_winner(node);
    if (node->kind == ANY || node->kind == SOME)
        compare_errors(node);
}

static void settle_base(struct node *node) {
    const bool fails = below(3) == 0;
    struct outcome outcome = {.err = fails ? JZX_ERR_CLOSED : JZX_OK};
    outcome.values[0] = fails ? 0 : 1 + below(60);
    const jzx_err wanted = node->step != 0 ? JZX_ERR_CANCELLED : JZX_OK;
    jzx_err err = fails ? jzx_promise_reject(node->promise, JZX_ERR_CLOSED, NULL)
                        : jzx_promise_resolve(node->promise, outcome.values);
    expect(err == wanted);
    node->promise = NULL;
    if (node->step == 0)
        settle(node, &outcome);
}

static void look(void) {
    timing_step(&model.timing);
    follow_all();
    for (uint32_t i = 0; i < model.count && !model.is_astray; i++)
        compare(i);
}

static void operate(void) {
    struct node *node = &model.nodes[below(model.count)];
    uint32_t pause_ms = 0;
    model.step++;
    switch (below(8)) {
    case 0:
        if (node->future != NULL && node->step == 0) {
            jzx_future_cancel(node->future);
            node->is_cancelled = true;
            if (node->kind == BASE)
                settle(node, &(struct outcome){.err = JZX_ERR_CANCELLED});
        }
        break;
    case 1:
        jzx_future_release(node->future);
        node->future = NULL;
        break;
    case 2: pause_ms = below(6); break;
    case 3:
    case 4:
        if (model.count < NODES)
            make_node((enum kind)below(KINDS));
        break;
    default:
        if (node->promise != NULL)
            settle_base(node);
    }
    look();
    for (uint32_t i = 0; i < pause_ms && !model.is_astray; i++) {
        model.step++;
        timing_advance(&model.timing, JZX_MS(1));
        look();
    }
}

static bool check_seed(uint64_t seed) {
    memset(&model, 0, sizeof model);
    model.random = seed;
    model.all_held = true;
    model.timing = timing_open();
    for (uint32_t i = 0; i < BASES; i++)
        make_node(BASE);
    for (uint32_t i = 0; i < EVENTS && model.all_held && !model.is_astray; i++)
        operate();
    for (uint32_t i = 0; i < model.count; i++)
        jzx_promise_drop(model.nodes[i].promise);
    timing_step(&model.timing);
    for (uint32_t i = 0; i < model.count; i++) {
        (void)jzx_future_error(model.nodes[i].future, NULL);
        jzx_future_release(model.nodes[i].future);
    }
    timing_step(&model.timing);
    timing_close(&model.timing);
    seeds_astray += model.is_astray;
    return model.all_held;
}

JZX_TEST(random_programs_come_to_what_a_model_says, "E36", "E37", "E38", "E39", "E40", "E41", "E42",
         "E44", "X8") {
    const char *only = getenv("JZX_SEED");
    uint64_t first = only != NULL ? strtoull(only, NULL, 10) : 1;
    uint64_t last = only != NULL ? first : jzx_test_rounds(10000, 200000);
    for (uint64_t seed = first; seed <= last; seed++)
        if (!check_seed(seed))
            fail_msg("rerun with: JZX_SEED=%" PRIu64
                     " %s combine_model.random_programs_come_to_what_a_model_says",
                     seed, program_invocation_name);
    assert_true(seeds_astray <= 1 + (last - first) / 1000);
    assert_true(jzx_test_runs() != 0);
}
