/* SPDX-License-Identifier: MIT */
#include "future/executor.h"

#include "base/alloc.h"
#include "future/async.h"

#include "jzx/loop.h"

#include <string.h>

struct jzx_executor {
    struct jzx_loop *loop;
    jzx_allocator allocator; /* of the loop, which may be gone before the last handle */
    struct jzx__lock lock;   /* of all that follows */
    struct jzx__list members;
    struct jzx__list left; /* members of an executor that was destroyed, which were cancelled */
    struct jzx__list held; /* in the order in which they became ready */
    uint32_t refs;
    uint32_t pending; /* members */
    uint64_t polls;   /* made by admissions */
    bool is_destroyed;
};

/* ---- its members ---- */

/* The caller has the lock, which this releases. */
static void unref_locked(struct jzx_executor *executor) {
    bool is_last = --executor->refs == 0;
    jzx_allocator allocator = executor->allocator;
    jzx__lock_release(&executor->lock);
    if (!is_last)
        return;
    jzx__lock_deinit(&executor->lock);
    jzx__free(&allocator, executor, sizeof *executor);
}

bool jzx__executor_fits(const jzx_executor *executor, const jzx_loop *loop) {
    return executor == NULL || executor->loop == loop;
}

void jzx__executor_join(jzx_executor *executor, struct jzx__executed *executed) {
    executed->executor = executor;
    if (executor == NULL)
        return;
    jzx__lock_acquire(&executor->lock);
    executor->refs++;
    executor->pending++;
    jzx__list_push_back(&executor->members, &executed->at_members);
    jzx__lock_release(&executor->lock);
}

/* Under the lock. */
static void unhold(struct jzx__executed *executed) {
    if (executed->is_held)
        jzx__list_remove(&executed->at_held);
    executed->is_held = false;
}

void jzx__executor_leave(struct jzx__executed *executed) {
    struct jzx_executor *executor = executed->executor;
    if (executor == NULL)
        return;
    executed->executor = NULL;
    jzx__lock_acquire(&executor->lock);
    unhold(executed);
    jzx__list_remove(&executed->at_members);
    executor->pending--;
    unref_locked(executor);
}

bool jzx__executor_admit(struct jzx__executed *executed, struct jzx__task *task) {
    struct jzx_executor *executor = executed->executor;
    if (executor == NULL)
        return true;
    jzx__lock_acquire(&executor->lock);
    bool may = executed->is_admitted || executor->is_destroyed; /* X4 */
    executed->is_admitted = false;                              /* X1 */
    executed->task = task;
    if (may) {
        executor->polls++;
    } else if (!executed->is_held) {
        executed->is_held = true;
        jzx__list_push_back(&executor->held, &executed->at_held);
    }
    jzx__lock_release(&executor->lock);
    return may;
}

/* Admits the first that is held. Under the lock, which keeps it a member. */
static void admit_first(struct jzx_executor *executor, struct jzx__worker *me) {
    struct jzx__executed *executed =
        JZX_CONTAINER_OF(executor->held.ring.next, struct jzx__executed, at_held);
    unhold(executed);
    executed->is_admitted = true;
    jzx__wake_task(executed->task, me);
}

/* ---- the calls ---- */

jzx_err jzx_executor_create(jzx_loop *loop, jzx_executor **executor) {
    struct jzx__visit visit;
    if (loop == NULL || executor == NULL || loop->sched.worker_count != 1)
        return JZX_ERR_INVALID_ARG;
    (void)jzx__loop_visit(loop, &visit);
    struct jzx_executor *made = jzx__alloc(&loop->sched.allocator, sizeof *made);
    if (made != NULL) {
        memset(made, 0, sizeof *made);
        made->loop = loop;
        made->allocator = loop->sched.allocator;
        made->refs = 1;
        jzx__lock_init(&made->lock);
        jzx__list_init(&made->members);
        jzx__list_init(&made->left);
        jzx__list_init(&made->held);
    }
    jzx__visit_end(&visit);
    if (made == NULL)
        return JZX_ERR_NO_MEMORY;
    *executor = made;
    return JZX_OK;
}

/* Admits at most max of those that are held. */
static void admit(struct jzx_executor *executor, uint32_t max) {
    struct jzx__visit visit;
    struct jzx__worker *me = jzx__loop_visit(executor->loop, &visit);
    jzx__lock_acquire(&executor->lock);
    for (; max != 0 && !jzx__list_is_empty(&executor->held); max--)
        admit_first(executor, me);
    jzx__lock_release(&executor->lock);
    jzx__visit_end(&visit);
}

static uint64_t polls_of(struct jzx_executor *executor) {
    struct jzx__visit visit;
    jzx__visit_begin(&visit);
    jzx__lock_acquire(&executor->lock);
    uint64_t polls = executor->polls;
    jzx__lock_release(&executor->lock);
    jzx__visit_end(&visit);
    return polls;
}

static jzx_err poll(struct jzx_executor *executor, uint32_t max, uint64_t *count) {
    jzx_err err = jzx_loop_step(executor->loop, JZX_NEVER); /* who is due is held afterwards */
    *count = 0;
    if (err != JZX_OK)
        return err;
    uint64_t before = polls_of(executor);
    admit(executor, max);
    err = jzx_loop_step(executor->loop, JZX_NEVER);
    *count = polls_of(executor) - before;
    return err;
}

jzx_err jzx_executor_poll_one(jzx_executor *executor, bool *polled) {
    uint64_t count;
    if (executor == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = poll(executor, 1, &count);
    if (polled != NULL)
        *polled = count != 0;
    return err;
}

jzx_err jzx_executor_poll_all(jzx_executor *executor, uint32_t *polled) {
    uint64_t count;
    if (executor == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = poll(executor, UINT32_MAX, &count);
    if (polled != NULL)
        *polled = (uint32_t)count;
    return err;
}

uint32_t jzx_executor_pending(jzx_executor *executor) {
    if (executor == NULL)
        return 0;
    struct jzx__visit visit;
    jzx__visit_begin(&visit);
    jzx__lock_acquire(&executor->lock);
    uint32_t pending = executor->pending;
    jzx__lock_release(&executor->lock);
    jzx__visit_end(&visit);
    return pending;
}

/* A handle to the next member that was not cancelled, which it is from now on; NULL: there is none.
 * Under the lock (X2). */
static struct jzx_future *next_to_cancel(struct jzx_executor *executor) {
    struct jzx__link *link = jzx__list_pop_front(&executor->members);
    if (link == NULL)
        return NULL;
    struct jzx__executed *executed = JZX_CONTAINER_OF(link, struct jzx__executed, at_members);
    jzx__list_push_back(&executor->left, link);
    return jzx_future_ref(JZX_CONTAINER_OF(executed, struct jzx__async, executed)->future);
}

void jzx_executor_destroy(jzx_executor *executor) {
    struct jzx__visit visit;
    struct jzx_future *future;
    if (executor == NULL)
        return;
    struct jzx__worker *me = jzx__loop_visit(executor->loop, &visit);
    jzx__lock_acquire(&executor->lock);
    executor->is_destroyed = true;
    while (!jzx__list_is_empty(&executor->held))
        admit_first(executor, me);
    while ((future = next_to_cancel(executor)) != NULL) {
        jzx__lock_release(&executor->lock);
        jzx_future_cancel(future);
        jzx_future_release(future);
        jzx__lock_acquire(&executor->lock);
    }
    unref_locked(executor);
    jzx__visit_end(&visit);
}
