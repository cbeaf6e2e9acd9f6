/* SPDX-License-Identifier: MIT */
/* The queue of ready tasks and its fence (Q1, Q2 of runq.h), against a model. */
#include "sched/runq.h"

#include "base/rng.h"

#include "jzx_test.h"

#include <string.h>

#define TASKS 12u

static struct jzx__task tasks[TASKS];

/* What the queue should be: the tasks in order, and how many stand before the fence. */
struct model {
    uint32_t order[TASKS];
    uint32_t count;
    uint32_t older; /* than the fence */
    bool fenced;
    bool overdue;
    uint16_t fenced_at;
};

static uint16_t looks; /* so many inspections, modulo 2^16 */

static struct jzx__runq queue;
static struct model model;

static void open_both(void) {
    memset(tasks, 0, sizeof tasks);
    memset(&queue, 0xA5, sizeof queue);
    memset(&model, 0, sizeof model);
    jzx__runq_init(&queue);
    looks = UINT16_MAX - 2; /* the number goes round */
}

static uint32_t index_of(const struct jzx__task *task) {
    return (uint32_t)(task - tasks);
}

static bool is_in(uint32_t task) {
    for (uint32_t i = 0; i < model.count; i++) {
        if (model.order[i] == task)
            return true;
    }
    return false;
}

static void model_remove_at(uint32_t place) {
    memmove(&model.order[place], &model.order[place + 1],
            (model.count - place - 1) * sizeof model.order[0]);
    model.count--;
    if (model.fenced && place < model.older)
        model.older--;
}

static void model_unfence_if_first(void) {
    if (model.fenced && model.older == 0)
        model.fenced = model.overdue = false;
}

/* Q1, Q2, and the order. */
static void compare(void) {
    uint32_t place = 0;
    uint32_t fences = 0;
    for (struct jzx__link *link = queue.list.ring.next; link != &queue.list.ring;
         link = link->next) {
        if (link == &queue.fence) {
            fences++;
            JZX_EXPECT_EQ(place, model.older);
            continue;
        }
        if (!JZX_EXPECT(place < model.count))
            return;
        JZX_EXPECT_EQ(index_of(JZX_CONTAINER_OF(link, struct jzx__task, run)),
                      model.order[place++]);
    }
    JZX_EXPECT_EQ(place, model.count);
    JZX_EXPECT_EQ(queue.depth, model.count);
    JZX_EXPECT_EQ(fences, queue.fenced ? 1 : 0); /* Q1 */
    JZX_EXPECT_EQ(queue.fenced, model.fenced);
    JZX_EXPECT_EQ(queue.overdue, model.overdue);
    JZX_EXPECT(queue.fenced || !queue.overdue); /* Q2 */
}

/* ---- a queue that is pushed at the back ---- */

static void push(uint32_t task) {
    jzx__runq_push_back(&queue, &tasks[task]);
    model.order[model.count++] = task;
}

static void pop(void) {
    model_unfence_if_first();
    struct jzx__task *task = jzx__runq_pop_front(&queue);
    if (model.count == 0) {
        JZX_EXPECT(task == NULL);
        return;
    }
    if (JZX_EXPECT(task != NULL))
        JZX_EXPECT_EQ(index_of(task), model.order[0]);
    model_remove_at(0);
}

static void remove_at(uint32_t place) {
    jzx__runq_remove(&queue, &tasks[model.order[place]]);
    model_remove_at(place);
}

static void inspect(void) {
    jzx__runq_inspect(&queue, ++looks);
    if (model.fenced) {
        model.overdue = true;
    } else if (model.count != 0) {
        model.fenced = true;
        model.older = model.count;
        model.fenced_at = looks;
    }
}

static void ask_how_long(void) {
    if (model.overdue)
        model_unfence_if_first();
    uint16_t overdue_by = jzx__runq_overdue_by(&queue, looks);
    JZX_EXPECT_EQ(overdue_by, model.overdue ? (uint16_t)(looks - model.fenced_at) : 0);
}

JZX_TEST(a_queue_keeps_its_order_and_its_fence_whatever_happens) {
    for (uint64_t seed = 1; seed <= jzx_test_rounds(200, 5000); seed++) {
        struct jzx__rng rng;
        jzx__rng_init(&rng, seed);
        open_both();
        for (uint32_t step = 0; step < 300; step++) {
            uint32_t task = jzx__rng_below(&rng, TASKS);
            switch (jzx__rng_below(&rng, 7)) {
            case 0:
            case 1:
                if (!is_in(task))
                    push(task);
                break;
            case 2:
            case 3: pop(); break;
            case 4:
                if (model.count != 0)
                    remove_at(jzx__rng_below(&rng, model.count));
                break;
            case 5: ask_how_long(); break;
            default: inspect(); break;
            }
            compare();
        }
    }
}

JZX_TEST(a_queue_is_overdue_when_who_was_there_at_one_look_is_there_at_the_next) {
    open_both();
    inspect();
    inspect();
    JZX_EXPECT(!queue.fenced); /* nobody waits */
    push(0);
    inspect();
    JZX_EXPECT(queue.fenced && !queue.overdue);
    push(1);
    inspect();
    JZX_EXPECT(queue.overdue);
    JZX_EXPECT_EQ(jzx__runq_overdue_by(&queue, looks), 1);
    pop();
    JZX_EXPECT(queue.overdue); /* as far as it knows */
    pop();
    JZX_EXPECT(!queue.overdue); /* who is left came later */
    compare();
}

JZX_TEST(a_queue_that_is_served_between_two_looks_is_not_overdue) {
    open_both();
    push(0);
    push(1);
    for (uint32_t i = 0; i < 20; i++) { /* a whole pass between two looks */
        inspect();
        JZX_EXPECT(!queue.overdue);
        for (uint32_t k = 0; k < 3; k++) {
            uint32_t first = model.order[0];
            pop();
            push(first);
        }
        compare();
    }
}

/* ---- a queue that is pushed at the front has no fence ---- */

JZX_TEST(a_queue_that_is_pushed_at_the_front_gives_the_newest_and_the_oldest) {
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct jzx__rng rng;
        jzx__rng_init(&rng, seed);
        open_both();
        for (uint32_t step = 0; step < 200; step++) {
            uint32_t task = jzx__rng_below(&rng, TASKS);
            uint32_t kind = jzx__rng_below(&rng, 4);
            if (kind < 2) {
                if (is_in(task))
                    continue;
                jzx__runq_push_front(&queue, &tasks[task]);
                memmove(&model.order[1], &model.order[0], model.count * sizeof model.order[0]);
                model.order[0] = task;
                model.count++;
            } else {
                struct jzx__task *got =
                    kind == 2 ? jzx__runq_pop_newest(&queue) : jzx__runq_pop_back(&queue);
                JZX_EXPECT_EQ(got == NULL, model.count == 0);
                if (got == NULL)
                    continue;
                uint32_t place = kind == 2 ? 0 : model.count - 1;
                JZX_EXPECT_EQ(index_of(got), model.order[place]);
                model_remove_at(place);
            }
            compare();
        }
    }
}
