/* SPDX-License-Identifier: MIT */
/* A queue of ready tasks, with a fence: a mark that says how long the tasks behind it have waited
 * at least, without a time in each task. The owner of the queue sets the fence behind the newest
 * task; when it finds the fence still there after some time, the queue is **overdue**: what is
 * older than the fence runs before it waits longer.
 *
 * Q1  the fence is in the list if and only if `fenced`.
 * Q2  overdue implies fenced, and ends when no task older than the fence is left. */
#ifndef JZX_SCHED_RUNQ_H
#define JZX_SCHED_RUNQ_H

#include "base/compiler.h"
#include "base/list.h"
#include "sched/task.h"

struct jzx__runq {
    struct jzx__list list;
    struct jzx__link fence;
    uint32_t depth; /* tasks */
    bool fenced;
    bool overdue;
    uint16_t fenced_at; /* the inspection that set the fence */
};

static inline void jzx__runq_init(struct jzx__runq *queue) {
    jzx__list_init(&queue->list);
    queue->depth = 0;
    queue->fenced = false;
    queue->overdue = false;
}

static inline void jzx__runq_push_back(struct jzx__runq *queue, struct jzx__task *task) {
    jzx__list_push_back(&queue->list, &task->run);
    queue->depth++;
}

static inline void jzx__runq_push_front(struct jzx__runq *queue, struct jzx__task *task) {
    jzx__list_push_front(&queue->list, &task->run);
    queue->depth++;
}

static inline void jzx__runq_remove(struct jzx__runq *queue, struct jzx__task *task) {
    jzx__list_remove(&task->run);
    queue->depth--;
}

static inline void jzx__runq_unfence(struct jzx__runq *queue) {
    jzx__list_remove(&queue->fence);
    queue->fenced = false;
    queue->overdue = false;
}

static inline struct jzx__task *jzx__runq_take(struct jzx__runq *queue, struct jzx__link *link) {
    struct jzx__task *task = JZX_CONTAINER_OF(link, struct jzx__task, run);
    jzx__runq_remove(queue, task);
    return task;
}

/* The oldest of a queue that is pushed at the back; NULL if there is none. */
static inline struct jzx__task *jzx__runq_pop_front(struct jzx__runq *queue) {
    struct jzx__link *link = queue->list.ring.next;
    if (JZX_UNLIKELY(link == &queue->fence)) {
        jzx__runq_unfence(queue); /* all that is left is newer */
        link = queue->list.ring.next;
    }
    return link == &queue->list.ring ? NULL : jzx__runq_take(queue, link);
}

/* The newest of a queue that is pushed at the front, or the oldest of one; NULL if there is none.
 * Such a queue has no fence. */
static inline struct jzx__task *jzx__runq_pop_newest(struct jzx__runq *queue) {
    struct jzx__link *link = queue->list.ring.next;
    return link == &queue->list.ring ? NULL : jzx__runq_take(queue, link);
}

static inline struct jzx__task *jzx__runq_pop_back(struct jzx__runq *queue) {
    struct jzx__link *link = queue->list.ring.prev;
    return link == &queue->list.ring ? NULL : jzx__runq_take(queue, link);
}

/* Every so often, for a queue that is pushed at the back: tasks that were there the last time make
 * the queue overdue; else a fence is set behind the newest task. Inspections are numbered, modulo
 * 2^16. */
static inline void jzx__runq_inspect(struct jzx__runq *queue, uint16_t number) {
    if (queue->fenced) {
        queue->overdue = true;
    } else if (queue->depth != 0) {
        jzx__list_push_back(&queue->list, &queue->fence);
        queue->fenced = true;
        queue->fenced_at = number;
    }
}

/* Of an overdue queue, at a number: inspections since its fence was set. 0: it is not overdue, or
 * has nothing left that is older than the fence. */
static inline uint16_t jzx__runq_overdue_by(struct jzx__runq *queue, uint16_t number) {
    if (queue->overdue && queue->list.ring.next == &queue->fence)
        jzx__runq_unfence(queue);
    return queue->overdue ? (uint16_t)(number - queue->fenced_at) : 0;
}

#endif
