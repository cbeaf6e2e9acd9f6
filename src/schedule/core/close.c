/* SPDX-License-Identifier: MIT */
/* A heap of tasks and a list of free ones. */
#include "schedule/core/close.h"

#include "base/compiler.h"

void jzx__close_init(struct jzx__close_tasks *close, struct jzx__close_task *tasks,
                     struct jzx__heap_item *items, uint32_t capacity) {
    *close = (struct jzx__close_tasks){.tasks = tasks, .capacity = capacity};
    jzx__heap_init(&close->heap, NULL); /* it never grows */
    close->heap.items = items;
    close->heap.capacity = capacity;
    for (uint32_t i = 0; i < capacity; i++)
        tasks[i] = (struct jzx__close_task){.next_free = i + 1};
}

uint64_t jzx__close_register(struct jzx__close_tasks *close, jzx__close_fn fn, void *ctx,
                             enum jzx__close_priority priority) {
    if (close->first_free == close->capacity)
        return 0;
    struct jzx__close_task *task = &close->tasks[close->first_free];
    close->first_free = task->next_free;
    task->id = ++close->next_id;
    task->fn = fn;
    task->ctx = ctx;
    (void)jzx__heap_push(&close->heap, &task->node, (uint64_t)priority, task->id);
    return task->id;
}

static void put_back(struct jzx__close_tasks *close, struct jzx__close_task *task) {
    task->next_free = close->first_free;
    close->first_free = (uint32_t)(task - close->tasks);
}

bool jzx__close_cancel(struct jzx__close_tasks *close, uint64_t id) {
    for (size_t i = 0; i < close->heap.count; i++) {
        struct jzx__heap_node *node = close->heap.items[i].node;
        struct jzx__close_task *task = JZX_CONTAINER_OF(node, struct jzx__close_task, node);
        if (task->id == id) {
            jzx__heap_remove(&close->heap, node);
            put_back(close, task);
            return true;
        }
    }
    return false;
}

const struct jzx__close_task *jzx__close_pop(struct jzx__close_tasks *close) {
    struct jzx__heap_node *node = jzx__heap_pop(&close->heap);
    if (node == NULL)
        return NULL;
    struct jzx__close_task *task = JZX_CONTAINER_OF(node, struct jzx__close_task, node);
    put_back(close, task);
    return task;
}
