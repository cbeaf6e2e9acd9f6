/* SPDX-License-Identifier: MIT */
/* Close tasks: functions that a shutdown runs, the most important first and equals in the order of
 * their registration. Room for all of them is taken in advance, so that none can be lost when the
 * shutdown comes. Owner only. */
#ifndef JZX_SCHEDULE_CORE_CLOSE_H
#define JZX_SCHEDULE_CORE_CLOSE_H

#include "base/heap.h"

enum jzx__close_priority { JZX__CLOSE_SYSTEM_CRITICAL, JZX__CLOSE_RUNTIME, JZX__CLOSE_USER };

/* 0, or an error that is reported; later tasks still run. */
typedef int32_t (*jzx__close_fn)(void *ctx);

struct jzx__close_task {
    struct jzx__heap_node node;
    uint64_t id; /* 0: free */
    jzx__close_fn fn;
    void *ctx;
    uint32_t next_free;
};

struct jzx__close_tasks {
    struct jzx__close_task *tasks;
    uint32_t capacity;
    uint32_t first_free; /* an index; capacity: none */
    uint64_t next_id;
    struct jzx__heap heap; /* by priority, then id; its array has room for all */
};

/* The memory of both arrays is the caller's. */
void jzx__close_init(struct jzx__close_tasks *close, struct jzx__close_task *tasks,
                     struct jzx__heap_item *items, uint32_t capacity);

/* The task's id, from 1 on; 0 if there is no room. */
uint64_t jzx__close_register(struct jzx__close_tasks *close, jzx__close_fn fn, void *ctx,
                             enum jzx__close_priority priority);

/* False: there is no such task, any more. */
bool jzx__close_cancel(struct jzx__close_tasks *close, uint64_t id);

/* Takes the next task out: NULL if none is left. Valid until the next registration. */
const struct jzx__close_task *jzx__close_pop(struct jzx__close_tasks *close);

#endif
