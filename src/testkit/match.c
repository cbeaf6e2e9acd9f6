/* SPDX-License-Identifier: MIT */
/* What is left of a pattern after a step. */
#include "testkit/match.h"

#include "base/alloc.h"

#include <string.h>

#define PAGE_SIZE 16384u
#define DEPTH_MAX 64u

/* ---- memory ---- */

static void *take_memory(struct jzx__match *match, size_t size) {
    size = (size + 15u) & ~(size_t)15u;
    if (match->pages == NULL || PAGE_SIZE - match->pages->used < size) {
        struct jzx__match_page *page =
            size > PAGE_SIZE
                ? NULL
                : jzx__alloc(&jzx__allocator_default, sizeof(struct jzx__match_page) + PAGE_SIZE);
        if (page == NULL) {
            match->err = match->err == JZX_OK ? JZX_ERR_NO_MEMORY : match->err;
            return NULL;
        }
        page->next = match->pages;
        page->used = 0;
        match->pages = page;
    }
    void *memory = match->pages->data + match->pages->used;
    match->pages->used += size;
    return memory;
}

void jzx__ways_deinit(struct jzx__ways *ways) {
    if (ways->items != NULL)
        jzx__free(&jzx__allocator_default, ways->items, ways->size * sizeof *ways->items);
    *ways = (struct jzx__ways){.items = NULL};
}

/* ---- ways that are the same ---- */

static bool is_same_todo(const struct jzx__todo *a, const struct jzx__todo *b) {
    for (; a != b; a = a->next, b = b->next) {
        if (a == NULL || b == NULL || a->pattern != b->pattern || a->done != b->done ||
            a->part_count != b->part_count)
            return false;
        for (uint32_t i = 0; i < a->part_count; i++) {
            if (!is_same_todo(a->parts[i], b->parts[i]))
                return false;
        }
    }
    return true;
}

static bool is_same_way(const struct jzx__way *a, const struct jzx__way *b) {
    return is_same_todo(a->todo, b->todo) &&
           (a->captures == b->captures || jzx__captures_are_same(a->captures, b->captures));
}

static void add_way(struct jzx__match *match, struct jzx__ways *ways, struct jzx__way way) {
    for (size_t i = 0; i < ways->count; i++) {
        if (is_same_way(&ways->items[i], &way))
            return;
    }
    if (ways->count == JZX_MATCH_WAYS_MAX && match->err == JZX_OK)
        match->err = JZX_ERR_FULL;
    if (match->err != JZX_OK)
        return;
    if (ways->count == ways->size) {
        size_t size = ways->size == 0 ? 8 : ways->size * 2;
        struct jzx__way *items = jzx__alloc(&jzx__allocator_default, size * sizeof *items);
        if (items == NULL) {
            match->err = JZX_ERR_NO_MEMORY;
            return;
        }
        if (ways->count != 0)
            memcpy(items, ways->items, ways->count * sizeof *items);
        size_t count = ways->count;
        jzx__ways_deinit(ways);
        *ways = (struct jzx__ways){.items = items, .count = count, .size = size};
    }
    ways->items[ways->count++] = way;
}

/* ---- what may be passed over (M2) ---- */

static bool is_optional(const jzx_pattern *pattern);

static bool is_optional_from(const jzx_pattern *pattern, uint32_t done) {
    switch (pattern->kind) {
    case JZX_PATTERN_STEP: return false;
    case JZX_PATTERN_ZERO_OR_MORE: return true;
    case JZX_PATTERN_ONE_OR_MORE: return done != 0 || is_optional(pattern->items[0]);
    case JZX_PATTERN_REPEAT: return done >= pattern->times || is_optional(pattern->items[0]);
    case JZX_PATTERN_ONE_OF:
        for (size_t i = 0; i < pattern->count; i++) {
            if (is_optional(pattern->items[i]))
                return true;
        }
        return false;
    default: /* a sequence; a parallel that has not begun */
        for (size_t i = done; i < pattern->count; i++) {
            if (!is_optional(pattern->items[i]))
                return false;
        }
        return true;
    }
}

static bool is_optional(const jzx_pattern *pattern) {
    return is_optional_from(pattern, 0);
}

/* Nothing of it, and of what comes behind it, need be taken. */
static bool may_end(const struct jzx__todo *todo);

static bool todo_is_optional(const struct jzx__todo *todo) {
    if (todo->parts == NULL)
        return is_optional_from(todo->pattern, todo->done);
    for (uint32_t i = 0; i < todo->part_count; i++) {
        if (!may_end(todo->parts[i]))
            return false;
    }
    return true;
}

static bool may_end(const struct jzx__todo *todo) {
    while (todo != NULL && todo_is_optional(todo))
        todo = todo->next;
    return todo == NULL;
}

bool jzx__ways_may_end(const struct jzx__ways *ways) {
    for (size_t i = 0; i < ways->count; i++) {
        if (may_end(ways->items[i].todo))
            return true;
    }
    return false;
}

/* ---- taking a step ---- */

/* Where a step leads to. */
struct from {
    const struct jzx__todo *next; /* behind the pattern that is asked */
    const struct jzx__captures *captures;
    struct jzx__ways *to;
};

static const struct jzx__todo *make_todo(struct jzx__match *match, const jzx_pattern *pattern,
                                         uint32_t done, const struct jzx__todo *next) {
    struct jzx__todo *todo = take_memory(match, sizeof *todo);
    if (todo != NULL)
        *todo = (struct jzx__todo){.pattern = pattern, .done = done, .next = next};
    return todo;
}

static void take_pattern(struct jzx__match *match, const jzx_pattern *pattern, uint32_t done,
                         const struct from *from);
static void take_todo(struct jzx__match *match, const struct jzx__todo *todo,
                      const struct jzx__captures *captures, struct jzx__ways *to);

static void take_step(struct jzx__match *match, const jzx_pattern *pattern,
                      const struct from *from) {
    if (match->step == NULL) {
        const struct jzx__todo *wanted = make_todo(match, pattern, 0, NULL);
        if (wanted != NULL)
            add_way(match, &match->wanted,
                    (struct jzx__way){.todo = wanted, .captures = from->captures});
        return;
    }
    struct jzx__captures captures = *from->captures;
    if (!jzx__predicate_holds(pattern->predicate, match->step, &captures))
        return;
    const struct jzx__captures *kept = from->captures;
    if (!jzx__captures_are_same(&captures, kept)) {
        struct jzx__captures *copy = take_memory(match, sizeof *copy);
        if (copy == NULL)
            return;
        *copy = captures;
        kept = copy;
    }
    add_way(match, from->to, (struct jzx__way){.todo = from->next, .captures = kept});
}

/* The item takes it, and then the pattern goes on with so much done, unless that is all. */
static void take_item(struct jzx__match *match, const jzx_pattern *pattern, size_t item,
                      uint32_t done, const struct from *from) {
    bool is_over = (pattern->kind == JZX_PATTERN_SEQUENCE && done == pattern->count) ||
                   (pattern->kind == JZX_PATTERN_REPEAT && done == pattern->times);
    const struct jzx__todo *next =
        is_over ? from->next : make_todo(match, pattern, done, from->next);
    const struct from behind = {.next = next, .captures = from->captures, .to = from->to};
    if (is_over || next != NULL)
        take_pattern(match, pattern->items[item], 0, &behind);
}

/* One part of a parallel takes it (M3). */
static void take_part(struct jzx__match *match, const struct jzx__todo *parallel, uint32_t part,
                      const struct from *from) {
    struct jzx__ways ways = {.items = NULL};
    take_todo(match, parallel->parts[part], from->captures, &ways);
    for (size_t i = 0; i < ways.count && match->err == JZX_OK; i++) {
        const size_t size = parallel->part_count * sizeof *parallel->parts;
        const struct jzx__todo **parts = take_memory(match, size);
        struct jzx__todo *after = take_memory(match, sizeof *after);
        if (parts == NULL || after == NULL)
            break;
        memcpy(parts, parallel->parts, size);
        parts[part] = ways.items[i].todo;
        *after = *parallel;
        after->parts = parts;
        after->next = from->next;
        add_way(match, from->to,
                (struct jzx__way){.todo = after, .captures = ways.items[i].captures});
    }
    jzx__ways_deinit(&ways);
}

/* A parallel that has not begun gets its parts. NULL without memory. */
static const struct jzx__todo *open_parallel(struct jzx__match *match, const jzx_pattern *pattern) {
    const struct jzx__todo **parts = take_memory(match, pattern->count * sizeof *parts + 1);
    struct jzx__todo *todo = take_memory(match, sizeof *todo);
    if (parts == NULL || todo == NULL)
        return NULL;
    for (size_t i = 0; i < pattern->count; i++) {
        parts[i] = make_todo(match, pattern->items[i], 0, NULL);
        if (parts[i] == NULL)
            return NULL;
    }
    *todo = (struct jzx__todo){
        .pattern = pattern, .part_count = (uint32_t)pattern->count, .parts = parts};
    return todo;
}

static void take_parallel(struct jzx__match *match, const struct jzx__todo *parallel,
                          const struct from *from) {
    for (uint32_t i = 0; parallel != NULL && i < parallel->part_count; i++)
        take_part(match, parallel, i, from);
}

/* The pattern takes the step itself (M2). */
static void take_pattern(struct jzx__match *match, const jzx_pattern *pattern, uint32_t done,
                         const struct from *from) {
    if (match->err != JZX_OK)
        return;
    switch (pattern->kind) {
    case JZX_PATTERN_STEP: take_step(match, pattern, from); break;
    case JZX_PATTERN_SEQUENCE:
        for (uint32_t i = done; i < pattern->count; i++) {
            take_item(match, pattern, i, i + 1, from);
            if (!is_optional(pattern->items[i]))
                break;
        }
        break;
    case JZX_PATTERN_ONE_OF:
        for (size_t i = 0; i < pattern->count; i++)
            take_pattern(match, pattern->items[i], 0, from);
        break;
    case JZX_PATTERN_ZERO_OR_MORE: take_item(match, pattern, 0, 0, from); break;
    case JZX_PATTERN_ONE_OR_MORE: take_item(match, pattern, 0, 1, from); break;
    case JZX_PATTERN_REPEAT:
        if (done < pattern->times)
            take_item(match, pattern, 0, done + 1, from);
        break;
    default: take_parallel(match, open_parallel(match, pattern), from); break;
    }
}

/* The first of the list takes it, or, if that may be passed over, one behind it. */
static void take_todo(struct jzx__match *match, const struct jzx__todo *todo,
                      const struct jzx__captures *captures, struct jzx__ways *to) {
    for (; todo != NULL && match->err == JZX_OK; todo = todo->next) {
        const struct from from = {.next = todo->next, .captures = captures, .to = to};
        if (todo->parts != NULL)
            take_parallel(match, todo, &from);
        else
            take_pattern(match, todo->pattern, todo->done, &from);
        if (!todo_is_optional(todo))
            break;
    }
}

/* ---- the match ---- */

static bool is_valid_at(const jzx_pattern *pattern, unsigned depth) {
    if (pattern == NULL || depth == DEPTH_MAX)
        return false;
    if (pattern->kind == JZX_PATTERN_STEP)
        return jzx__predicate_is_valid(pattern->predicate);
    if (pattern->kind < JZX_PATTERN_STEP || pattern->kind > JZX_PATTERN_PARALLEL ||
        (pattern->items == NULL && pattern->count != 0) || pattern->count > 1000)
        return false;
    bool has_one = pattern->kind >= JZX_PATTERN_ZERO_OR_MORE && pattern->kind <= JZX_PATTERN_REPEAT;
    if (has_one && pattern->count != 1)
        return false;
    for (size_t i = 0; i < pattern->count; i++) {
        if (!is_valid_at(pattern->items[i], depth + 1))
            return false;
    }
    return true;
}

bool jzx__pattern_is_valid(const jzx_pattern *pattern) {
    return is_valid_at(pattern, 0);
}

bool jzx__match_begin(struct jzx__match *match, const jzx_pattern *pattern,
                      struct jzx__ways *ways) {
    *match = (struct jzx__match){.err = JZX_OK};
    *ways = (struct jzx__ways){.items = NULL};
    struct jzx__captures *none = take_memory(match, sizeof *none);
    const struct jzx__todo *todo = make_todo(match, pattern, 0, NULL);
    if (none == NULL || todo == NULL)
        return false;
    memset(none, 0, sizeof *none);
    add_way(match, ways, (struct jzx__way){.todo = todo, .captures = none});
    return match->err == JZX_OK;
}

void jzx__match_end(struct jzx__match *match, struct jzx__ways *ways) {
    jzx__ways_deinit(ways);
    jzx__ways_deinit(&match->wanted);
    while (match->pages != NULL) {
        struct jzx__match_page *page = match->pages;
        match->pages = page->next;
        jzx__free(&jzx__allocator_default, page, sizeof *page + PAGE_SIZE);
    }
}

bool jzx__match_take(struct jzx__match *match, struct jzx__ways *ways, const jzx_trace_step *step) {
    struct jzx__ways to = {.items = NULL};
    match->step = step;
    for (size_t i = 0; i < ways->count; i++)
        take_todo(match, ways->items[i].todo, ways->items[i].captures, &to);
    if (to.count == 0)
        return false; /* there is nothing to free */
    jzx__ways_deinit(ways);
    *ways = to;
    return true;
}

void jzx__match_ask(struct jzx__match *match, const struct jzx__ways *ways) {
    struct jzx__ways unused = {.items = NULL};
    match->step = NULL;
    for (size_t i = 0; i < ways->count; i++)
        take_todo(match, ways->items[i].todo, ways->items[i].captures, &unused);
    jzx__ways_deinit(&unused);
}
