/* SPDX-License-Identifier: MIT */
/* The workers of the scenarios, in the order of a message: sent, taken in, handled; then moving
 * tasks, ending them, sleeping, and the checks. */
#include "rig.h"

#include <sched.h>
#define sched_yield() model_yield()
#include "sched/cut.h"

struct rig rig;

static uintptr_t word_of(const struct rig_worker *worker) {
    return (uintptr_t)worker;
}

static struct rig_task *task_of(struct jzx__task *task) {
    return (struct rig_task *)(void *)task;
}

static struct rig_message *message_of(struct jzx__node *node) {
    return (struct rig_message *)(void *)node;
}

static uint32_t generation_of(struct rig_task *task) {
    /* As a look-up of the table does it. */
    return (uint32_t)jzx__atomic_load_acquire(&task->task.id);
}

/* ---- setting up ---- */

static void *hook_alloc(void *ctx, size_t size) {
    (void)ctx;
    return rig.no_memory ? NULL : model_alloc(size);
}

static void hook_free(void *ctx, void *ptr, size_t size) {
    (void)ctx;
    (void)ptr;
    (void)size;
}

static const jzx_allocator hooks = {.alloc = hook_alloc, .free = hook_free};

void rig_set_up_worker(unsigned number) {
    struct rig_worker *worker = &rig.workers[number];
    jzx__mpsc_init(&worker->inject);
    jzx__parker_init(&worker->parker);
    worker->number = number;
}

void rig_set_up_offering_worker(unsigned number, uint32_t capacity) {
    rig_set_up_worker(number);
    MODEL_ASSERT(jzx__deque_init(&rig.workers[number].deque, capacity, &hooks));
    rig.workers[number].has_deque = true;
}

static void never_called(void) {}

/* As the spawn of an actor fills a slot and opens it (R13). */
static void open_slot(struct rig_task *task, struct rig_worker *owner) {
    jzx__task_clear(&task->task);
    task->task.entry = never_called;
    task->task.place = JZX__IDLE;
    task->task.rest = JZX__IDLE;
    task->task.holds = false;
    jzx__atomic_store_relaxed(&task->task.state, jzx__state_make(generation_of(task)));
    if (!JZX__MUTANT(slot_opened_before_owner))
        jzx__atomic_store_relaxed(&task->task.owner, word_of(owner));
    jzx__atomic_store_release(&task->task.inbox, (uint64_t)0);
    if (JZX__MUTANT(slot_opened_before_owner))
        jzx__atomic_store_relaxed(&task->task.owner, word_of(owner));
}

void rig_set_up_task(unsigned number, unsigned worker) {
    struct rig_task *task = &rig.tasks[number];
    jzx__atomic_store_relaxed(&task->task.id, (uint64_t)1);
    open_slot(task, &rig.workers[worker]);
}

struct rig_message *rig_write(struct rig_task *task, enum rig_action action) {
    MODEL_ASSERT(rig.message_count < RIG_MESSAGES_MAX);
    struct rig_message *message = &rig.messages[rig.message_count++];
    model_plain_write(&message->node);
    jzx__node_init_plain(&message->node, 0);
    message->action = action;
    message->from = model_self();
    message->number = ++rig.numbers[model_self()][task - rig.tasks];
    return message;
}

/* ---- sending ---- */

static void make_ready(struct rig_worker *me, struct rig_task *task) {
    MODEL_ASSERT(me->ready_count < RIG_READY_MAX);
    task->task.place = JZX__IN_WOKEN;
    me->ready[(me->ready_first + me->ready_count++) % RIG_READY_MAX] = task;
}

/* R4: the caller has got the token. */
static void inject_at(struct rig_task *task, uintptr_t word) {
    struct rig_worker *owner = (struct rig_worker *)(word & ~JZX__OWNER_FLAGS);
    MODEL_ASSERT(owner >= rig.workers && owner < rig.workers + RIG_WORKERS_MAX);
    jzx__mpsc_push(&owner->inject, &task->task.injected);
    jzx__parker_wake(&owner->parker);
}

static void inject(struct rig_task *task) {
    inject_at(task, jzx__atomic_load_relaxed(&task->task.owner));
}

static void bury(struct rig_message *message) {
    model_plain_write(&message->node);
    message->dead++;
    rig.dead++;
}

/* Nodes that came out of the inbox: of this generation, or dead letters. */
static void file(struct rig_task *task, struct jzx__node *nodes) {
    uint32_t generation = generation_of(task);
    while (nodes != NULL) {
        struct jzx__node *node = nodes;
        nodes = node->next;
        if (node->generation == generation)
            jzx__task_append(&task->task, node, node->weight);
        else
            bury(message_of(node));
    }
}

static struct jzx__node *take(struct rig_task *task) {
    bool is_locked = task->keeps_newest && !JZX__MUTANT(taken_without_lock);
    if (is_locked)
        jzx__task_lock(&task->task);
    struct jzx__node *nodes = jzx__task_take(&task->task);
    if (is_locked)
        jzx__task_unlock(&task->task, 0);
    return nodes;
}

/* On the owner's thread (R1), as src/actor/mailbox.c does it. */
static bool deliver(struct rig_worker *me, struct rig_task *task, struct rig_message *message) {
    jzx__touch(&task->task);
    uint64_t word = jzx__task_inbox(&task->task);
    for (;;) {
        if (word & JZX__INBOX_CLOSED)
            return false;
        if (task->task.pending + jzx__inbox_count(word) >= RIG_CAP)
            return false;
        if (jzx__inbox_list(word) == NULL)
            break;
        if (task->keeps_newest) {
            file(task, take(task));
            break;
        }
        uint64_t left = task->task.holds ? 0 : JZX__INBOX_TOKEN;
        if (jzx__atomic_cas_acq_rel(&task->task.inbox, &word, left)) {
            task->task.holds = false;
            file(task, jzx__inbox_oldest_first(word));
            break;
        }
    }
    jzx__task_append(&task->task, &message->node, 1);
    if (!jzx__task_is_scheduled(&task->task))
        make_ready(me, task);
    return true;
}

/* As src/actor/mailbox.c does it. */
static bool make_room(struct rig_task *task, uint32_t generation) {
    switch (jzx__task_try_lock(&task->task, generation)) {
    case JZX__LOCK_GONE: return false;
    case JZX__LOCK_BUSY: model_yield(); return true;
    case JZX__LOCK_GOT: break;
    }
    uint32_t count;
    struct jzx__node *dropped = jzx__task_cut(&task->task, RIG_NEWEST, &count);
    jzx__task_unlock(&task->task, 0);
    while (dropped != NULL) {
        struct rig_message *message = message_of(dropped);
        dropped = dropped->next;
        bury(message);
        count--;
    }
    MODEL_ASSERT(count == 0);
    return true;
}

static enum jzx__push_result push(struct rig_task *task, struct rig_message *message) {
    uint32_t limit = task->keeps_newest ? 2 * RIG_NEWEST : RIG_CAP;
    enum jzx__push_result result;
    do {
        result = jzx__task_push(&task->task, &message->node, limit);
    } while (result == JZX__PUSH_FULL && task->keeps_newest &&
             make_room(task, message->node.generation));
    return result;
}

static bool deliver_remote(struct rig_task *task, struct rig_message *message) {
    uintptr_t early = 0;
    if (JZX__MUTANT(owner_read_before_push))
        early = jzx__atomic_load_relaxed(&task->task.owner);
    enum jzx__push_result result = push(task, message);
    if (result == JZX__PUSH_OK_INJECT && early != 0)
        inject_at(task, early);
    else if (result == JZX__PUSH_OK_INJECT)
        inject(task);
    return result == JZX__PUSH_OK_INJECT || result == JZX__PUSH_OK;
}

bool rig_send_message(struct rig_worker *me, struct rig_task *task, struct rig_message *message) {
    bool mine = me != NULL && jzx__atomic_load_relaxed(&task->task.owner) == word_of(me);
    bool sent = mine ? deliver(me, task, message) : deliver_remote(task, message);
    if (!sent) {
        message->refused++;
        rig.refused++;
    }
    return sent;
}

bool rig_send(struct rig_worker *me, struct rig_task *task, enum rig_action action) {
    struct rig_message *message = rig_write(task, action);
    message->node.generation = generation_of(task);
    return rig_send_message(me, task, message);
}

void rig_request(struct rig_task *task) {
    uint64_t state = jzx__atomic_load_relaxed(&task->task.state);
    while (!jzx__atomic_cas_acq_rel(&task->task.state, &state, state | 1))
        continue;
    if (jzx__task_nudge(&task->task) == JZX__PUSH_OK_INJECT)
        inject(task);
}

/* ---- taking in ---- */

static void free_slot(struct rig_task *task) {
    jzx__lock_acquire(&rig.pool_lock);
    MODEL_ASSERT(rig.pool == NULL);
    rig.pool = task;
    rig.freed++;
    jzx__lock_release(&rig.pool_lock);
}

void rig_drain(struct rig_worker *me) {
    if (jzx__mpsc_is_empty(&me->inject))
        return;
    struct jzx__mpsc_node *entry = jzx__mpsc_take_all(&me->inject);
    while (entry != NULL) {
        struct jzx__task *task = JZX_CONTAINER_OF(entry, struct jzx__task, injected);
        if (!JZX__MUTANT(next_entry_read_late))
            entry = entry->next; /* read first: the task may be injected again at once */
        switch (jzx__task_accept(task, word_of(me))) {
        case JZX__ENTRY_READY:
            if (!JZX__MUTANT(entry_means_inbox_only) ||
                jzx__inbox_list(jzx__task_inbox(task)) != NULL)
                make_ready(me, task_of(task));
            break;
        case JZX__ENTRY_SCHEDULED: break;
        case JZX__ENTRY_FREE: free_slot(task_of(task)); break;
        }
        if (JZX__MUTANT(next_entry_read_late)) {
            rig_run(me);
            entry = entry->next;
        }
    }
}

/* ---- running ---- */

/* False if the task has ended. */
static bool handle(struct rig_worker *me, struct rig_task *task, struct rig_message *message) {
    MODEL_ASSERT(message->node.generation == generation_of(task)); /* I7 */
    MODEL_ASSERT(message->number > task->seen[message->from]);     /* order of one sender */
    task->seen[message->from] = message->number;
    task->handled++;
    message->handled++;
    switch (message->action) {
    case RIG_NOTE: break;
    case RIG_STOP: rig_end(me, task); return false;
    case RIG_FORWARD: rig_send(me, &rig.tasks[task == rig.tasks], RIG_NOTE); break;
    case RIG_SELF: rig_send(me, task, RIG_NOTE); break;
    }
    return true;
}

/* What a turn looks at before each message, and before it goes idle (I8). */
static void attend(struct rig_task *task) {
    if ((jzx__atomic_load_acquire(&task->task.state) & JZX__CONTROL_BITS) == 0)
        return;
    uint64_t state = jzx__atomic_load_relaxed(&task->task.state);
    while (
        !jzx__atomic_cas_acq_rel(&task->task.state, &state, state & ~(uint64_t)JZX__CONTROL_BITS))
        continue;
    task->requests++;
}

void rig_turn(struct rig_worker *me, struct rig_task *task) {
    jzx__touch(&task->task);
    task->task.place = JZX__RUNNING;
    for (;;) {
        attend(task);
        struct jzx__node *node = task->task.head;
        if (node != NULL) {
            jzx__task_pop(&task->task, node);
            if (!handle(me, task, message_of(node)))
                return;
            continue;
        }
        uint64_t word = jzx__task_inbox(&task->task);
        if (jzx__inbox_list(word) != NULL)
            file(task, take(task));
        else if (jzx__task_go_idle(&task->task, word))
            return;
    }
}

struct rig_task *rig_pick(struct rig_worker *me) {
    if (me->ready_count == 0)
        return NULL;
    struct rig_task *task = me->ready[me->ready_first];
    me->ready_first = (me->ready_first + 1) % RIG_READY_MAX;
    me->ready_count--;
    return task;
}

/* ---- moving ---- */

bool rig_offer(struct rig_worker *me, struct rig_task *task) {
    if (!jzx__task_offer(&task->task, word_of(me), &me->deque))
        return false;
    if (me->target != NULL)
        jzx__parker_wake(&me->target->parker);
    return true;
}

bool rig_hand_over(struct rig_worker *me, struct rig_task *task) {
    if (!jzx__task_hand_over(&task->task, word_of(me->target), &me->target->inject))
        return false;
    jzx__parker_wake(&me->target->parker);
    return true;
}

bool rig_take(struct rig_worker *me, struct rig_worker *victim) {
    void *item = NULL;
    if (victim == me) {
        item = jzx__deque_pop(&me->deque);
    } else {
        while (jzx__deque_steal(&victim->deque, &item) == JZX__STEAL_LOST)
            item = NULL;
        rig.stolen += item != NULL;
    }
    if (item == NULL)
        return false;
    jzx__task_adopt(item, word_of(me));
    make_ready(me, task_of(item));
    return true;
}

/* ---- the end of a task, and the next one in its slot ---- */

static void bury_list(struct jzx__node *nodes) {
    while (nodes != NULL) {
        struct jzx__node *node = nodes;
        nodes = node->next;
        bury(message_of(node));
    }
}

void rig_end(struct rig_worker *me, struct rig_task *task) {
    bool entry_left;
    if (task->keeps_newest && !JZX__MUTANT(closed_without_lock))
        jzx__task_lock(&task->task);
    struct jzx__node *inbox = jzx__task_close(&task->task, &entry_left);
    jzx__atomic_store_release(&task->task.id, (uint64_t)generation_of(task) + 1);
    jzx__atomic_store_release(&task->task.state, jzx__state_make(generation_of(task)));
    jzx__atomic_store_release(&task->task.owner, word_of(me) | JZX__OWNER_FLAGS);
    bury_list(jzx__task_clear(&task->task));
    bury_list(inbox);
    task->task.entry = NULL;
    if (!entry_left || JZX__MUTANT(slot_freed_with_token))
        free_slot(task);
}

struct rig_task *rig_spawn(struct rig_worker *me) {
    jzx__lock_acquire(&rig.pool_lock);
    struct rig_task *task = rig.pool;
    rig.pool = NULL;
    jzx__lock_release(&rig.pool_lock);
    if (task != NULL) {
        rig.spawned++;
        for (unsigned i = 0; i < MODEL_THREADS_MAX; i++)
            task->seen[i] = 0;
        open_slot(task, me);
    }
    return task;
}

/* ---- the loop of a worker ---- */

void rig_run(struct rig_worker *me) {
    struct rig_task *task;
    for (;;) {
        rig_drain(me);
        if ((task = rig_pick(me)) != NULL) {
            if (me->hand_overs != 0 && rig_hand_over(me, task))
                me->hand_overs--;
            else if (me->offers != 0 && rig_offer(me, task))
                me->offers--;
            else
                rig_turn(me, task);
        } else if (!(me->victim != NULL && rig_take(me, me->victim))) {
            return;
        }
    }
}

static bool nothing_came(const struct rig_worker *me) {
    return jzx__mpsc_is_empty_seq_cst(&me->inject) &&
           (me->victim == NULL || jzx__deque_is_empty_seq_cst(&me->victim->deque));
}

void rig_park(struct rig_worker *me) {
    jzx__parker_announce(&me->parker, JZX__SLEEPS_ON_FUTEX);
    if (nothing_came(me))
        jzx__parker_wait(&me->parker, 0);
    jzx__parker_cancel(&me->parker);
}

void rig_serve(struct rig_worker *me) {
    model_may_sleep();
    for (;;) {
        rig_run(me);
        rig_park(me);
    }
}

/* ---- at the end ---- */

void rig_check(void) {
    for (unsigned i = 0; i < rig.message_count; i++) {
        const struct rig_message *message = &rig.messages[i];
        MODEL_ASSERT(message->handled + message->dead + message->refused == 1);
    }
    for (unsigned i = 0; i < RIG_WORKERS_MAX; i++) {
        MODEL_ASSERT(rig.workers[i].ready_count == 0);
        if (rig.workers[i].has_deque)
            MODEL_ASSERT(jzx__deque_is_empty_seq_cst(&rig.workers[i].deque));
    }
    for (unsigned i = 0; i < RIG_TASKS_MAX; i++) {
        struct jzx__task *task = &rig.tasks[i].task;
        uint64_t word = jzx__task_inbox(task);
        MODEL_ASSERT(word == 0 || word == JZX__INBOX_CLOSED); /* I1, I2 */
        MODEL_ASSERT(!task->holds && task->head == NULL);
        MODEL_ASSERT(word != 0 || task->place == JZX__IDLE);
        MODEL_ASSERT((word == JZX__INBOX_CLOSED) == (&rig.tasks[i] == rig.pool)); /* I6 */
    }
}
