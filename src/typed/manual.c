/* SPDX-License-Identifier: MIT */
/* Both sides of a manual actor; jzx_manual_poll_one and its like are in loop/manual.c, as they may
 * have to drive the loop. */
#include "typed/manual.h"

#include "actor/exit.h"
#include "actor/mailbox.h"
#include "actor/message.h"
#include "actor/misuse.h"
#include "actor/part.h"
#include "actor/share.h"
#include "actor/spawn.h"
#include "actor/turn.h"
#include "base/alloc.h"
#include "base/futex.h"
#include "base/sized.h"

#include "jzx/time.h"

#include <string.h>

/* ---- phases ---- */

static void set_phase(struct jzx_manual *manual, enum jzx__manual_phase phase) {
    /* release: pairs with jzx__manual_phase and try_phase; the record is the other side's */
    jzx__atomic_store_release(&manual->phase, (uint32_t)phase);
    jzx__futex_wake(&manual->phase); /* G3 */
}

static bool try_phase(struct jzx_manual *manual, enum jzx__manual_phase from,
                      enum jzx__manual_phase to) {
    uint32_t seen = (uint32_t)from;
    /* pairs with the release of set_phase, and with the other exchange on it */
    while (!jzx__atomic_cas_acq_rel(&manual->phase, &seen, (uint32_t)to)) {
        if (seen != (uint32_t)from)
            return false;
    }
    return true;
}

void jzx__manual_ref(struct jzx_manual *manual) {
    /* relaxed: who refers to it has a reference */
    jzx__atomic_add_relaxed(&manual->refs, 1u);
}

void jzx__manual_unref(struct jzx_manual *manual) {
    /* pairs with itself: the last one sees what the others did */
    if (jzx__atomic_add_acq_rel(&manual->refs, UINT32_MAX) != 1)
        return;
    jzx_allocator allocator = manual->allocator;
    jzx__free_aligned(&allocator, manual, sizeof *manual, _Alignof(struct jzx_manual));
}

void jzx__manual_leave(struct jzx_manual *manual) {
    /* release: pairs with is_left, though nothing is passed but the flag; a worker that misses it
     * hands the turn over, and the caller, who looks at the phase next, gives it back */
    jzx__atomic_store_release(&manual->is_left, 1u);
}

static bool is_left(struct jzx_manual *manual) {
    /* acquire: pairs with jzx__manual_leave */
    return jzx__atomic_load_acquire(&manual->is_left) != 0;
}

void jzx__manual_wait(struct jzx_manual *manual) {
    uint32_t phase = jzx__manual_phase(manual);
    if (phase == JZX__GIVEN || phase == JZX__WITH_WORKER)
        jzx__futex_wait(&manual->phase, phase, JZX_MS(1));
}

/* ---- the poller ---- */

bool jzx__manual_begin(struct jzx_manual *manual) {
    return try_phase(manual, JZX__WITH_POLLER, JZX__HANDLING);
}

void jzx__manual_rest(struct jzx_manual *manual) {
    set_phase(manual, JZX__WITH_POLLER);
}

/* The next message in hand was begun, and cannot be given back. */
static bool has_begun(const struct jzx_manual *manual) {
    return manual->batch != NULL && jzx__lane_is_special(manual->batch->lane);
}

enum jzx__manual_look jzx__manual_look(struct jzx_manual *manual) {
    /* acquire: pairs with the exchange that set a bit */
    uint64_t state = jzx__atomic_load_acquire(&manual->actor->task.state);
    if ((state & JZX__CONTROL_BITS) != 0 && !has_begun(manual))
        return JZX__MANUAL_WANTED;
    return manual->batch != NULL || manual->init != NULL ? JZX__MANUAL_HAS : JZX__MANUAL_NONE;
}

void jzx__manual_give(struct jzx_manual *manual) {
    jzx__manual_ref(manual);
    set_phase(manual, JZX__GIVEN);
    jzx__mpsc_push(jzx__worker_queue(manual->worker, JZX__FEED_MANUAL), &manual->request);
}

void jzx__manual_call(struct jzx_manual *manual) {
    jzx__parker_wake(&manual->worker->parker); /* seq_cst, after the push: as all feeds */
}

static void set_in_hand(const struct jzx_manual *manual, uint32_t count) {
    /* relaxed: a gauge */
    jzx__atomic_store_relaxed(&jzx__actor_cold(manual->actor)->in_hand, count);
}

/* Takes the next one out of the batch. It counts as handled from here on. */
static struct jzx__message *next_message(struct jzx_manual *manual) {
    struct jzx__node *node = manual->batch;
    /* relaxed: only who has the turn writes it */
    uint32_t in_hand = jzx__atomic_load_relaxed(&jzx__actor_cold(manual->actor)->in_hand);
    manual->batch = node->next;
    node->next = NULL;
    set_in_hand(manual, in_hand - node->weight);
    jzx__counter_add_shared(&jzx__sched_foreign(&manual->loop->sched)->counters.handled, 1);
    return jzx__message_of(node);
}

/* User code, on this thread's own stack: jzx_exit comes back here. */
static __attribute__((noinline)) void run(struct jzx_manual *manual, struct jzx__message *message) {
    struct jzx__turn *turn = &manual->turn;
    jmp_buf jump;
    turn->jump = &jump;
    turn->current = message;
    jzx__seat_init(&manual->seat, NULL);
    /* relaxed, both: this thread's own */
    jzx__atomic_store_relaxed(&manual->seat.task, &manual->actor->task);
    jzx__atomic_store_relaxed(&manual->seat.tag, message == NULL ? 0u : message->tag);
    if (_setjmp(jump) == 0 && message == NULL) {
        jzx_init_fn init = manual->init;
        manual->init = NULL;
        turn->in_init = true;
        turn->init_err = init(&turn->ctx);
    } else if (!turn->exits) {
        jzx_behavior_fn behavior =
            turn->become_to != NULL ? turn->become_to : (jzx_behavior_fn)manual->actor->task.entry;
        jzx_message view = {jzx__message_data(message), message->len, message->tag,
                            message->sender};
        turn->result = behavior(&turn->ctx, &view);
    }
    /* relaxed: this thread's own */
    jzx__atomic_store_relaxed(&manual->seat.task, NULL);
    jzx__seat_deinit(&manual->seat);
    turn->jump = NULL;
}

/* The worker must see to what the handler has left in its turn. */
static bool needs_worker(const struct jzx__turn *turn) {
    return turn->exits || turn->in_init || turn->has_stashed || turn->result != JZX_BEHAVIOR_OK ||
           turn->unreleased != NULL || turn->unstashed != NULL || turn->requested != NULL;
}

enum jzx__manual_fate jzx__manual_handle(struct jzx_manual *manual) {
    struct jzx__turn *turn = &manual->turn;
    struct jzx__message *message = manual->init != NULL ? NULL : next_message(manual);
    run(manual, message);
    jzx__turn_release_without_worker(turn);
    enum jzx__manual_fate fate = message == NULL ? JZX__MANUAL_STARTED
                                 : turn->exits || turn->result != JZX_BEHAVIOR_OK
                                     ? JZX__MANUAL_LEFT
                                     : JZX__MANUAL_HANDLED;
    if (needs_worker(turn) || is_left(manual)) {
        jzx__manual_give(manual);
        jzx__manual_call(manual);
    } else {
        jzx__manual_rest(manual);
    }
    return fate; /* the turn is perhaps another's */
}

/* ---- the worker: taking the turn back ---- */

/* What is left of the batch waits again; one that was begun is over. */
static void absorb(struct jzx_manual *manual) {
    if (has_begun(manual)) {
        JZX_ASSERT(manual->turn.unreleased == NULL);
        manual->turn.unreleased = next_message(manual);
    }
    if (manual->batch != NULL)
        jzx__mailbox_put_first(manual->actor, manual->batch, manual->batch_last);
    manual->batch = NULL;
    set_in_hand(manual, 0);
}

void jzx__manual_take(struct jzx__worker *me, uint32_t max) {
    (void)max; /* there are few */
    struct jzx__mpsc_node *node = jzx__mpsc_take_all(jzx__worker_queue(me, JZX__FEED_MANUAL));
    while (node != NULL) {
        struct jzx_manual *manual = JZX_CONTAINER_OF(node, struct jzx_manual, request);
        node = node->next; /* read first: it may be given again at once */
        if (try_phase(manual, JZX__GIVEN, JZX__WITH_WORKER)) { /* else the actor has ended */
            absorb(manual);
            jzx__actor_take_back(me, &manual->seat);
        }
        jzx__manual_unref(manual);
    }
}

const struct jzx__feed_ops jzx__manual_feed = {.take = jzx__manual_take, .ends_pass = true};

/* ---- the worker: the turn ---- */

/* Takes plain messages from the head, at most JZX__BATCH_MAX. */
static void take_plain(struct jzx_manual *manual, struct jzx__task *task) {
    struct jzx__node *node;
    for (uint32_t i = 0; i < JZX__BATCH_MAX; i++) {
        node = task->head;
        if (node == NULL || jzx__lane_is_special(node->lane))
            break;
        jzx__task_pop(task, node);
        node->next = NULL;
        if (manual->batch == NULL)
            manual->batch = node;
        else
            manual->batch_last->next = node;
        manual->batch_last = node;
        manual->batch_count++;
    }
}

/* The next batch. HANDLE: it is made, and may be empty. */
static enum jzx__look collect(struct jzx__worker *me, struct jzx_manual *manual) {
    struct jzx__actor *actor = manual->actor;
    struct jzx__task *task = &actor->task;
    manual->batch_count = 0;
    for (;;) {
        struct jzx__node *node = task->head;
        if (node == NULL) {
            if (jzx__inbox_list(jzx__task_inbox(task)) == NULL)
                return JZX__LOOK_HANDLE;
            jzx__mailbox_take_in(me, actor);
            continue;
        }
        if (!jzx__lane_is_special(node->lane)) {
            take_plain(manual, task);
            return JZX__LOOK_HANDLE;
        }
        const struct jzx__lane_ops *lane = jzx__lane_of(node);
        const struct jzx__spot head = {actor, NULL, node};
        enum jzx__look look = lane->begin == NULL ? JZX__LOOK_HANDLE : lane->begin(me, &head);
        if (look == JZX__LOOK_HANDLE) {
            jzx__task_pop(task, node);
            node->next = NULL;
            manual->batch = node;
            manual->batch_last = node;
            manual->batch_count++;
        }
        if (look != JZX__LOOK_GONE)
            return look;
    }
}

/* For receive timeouts and accounts, as of all that is in the batch. */
static void note_batch(struct jzx__worker *me, const struct jzx_manual *manual) {
    struct jzx__cold *cold = jzx__actor_cold(manual->actor);
    if (cold->hears)
        cold->heard_ns = jzx__clock_now(&me->sched->clock);
    cold->hears = cold->listens && manual->batch != NULL && manual->batch->lane == JZX__LANE_USER;
    cold->steps += cold->accounts ? manual->batch_count : 0;
}

static uint32_t weight_of(const struct jzx__node *nodes) {
    uint32_t weight = 0;
    for (; nodes != NULL; nodes = nodes->next)
        weight += nodes->weight;
    return weight;
}

/* The turn is away from here on, and the actor its poller's. The token stays with the owner, so
 * that a send makes nobody look. */
static enum jzx__fate hand_over(struct jzx_manual *manual) {
    struct jzx__task *task = &manual->actor->task;
    struct jzx__turn *turn = &manual->turn;
    set_in_hand(manual, weight_of(manual->batch));
    memset(turn, 0, offsetof(struct jzx__turn, exit_text));
    turn->ctx = (jzx_context){task->arg, jzx__actor_id(manual->actor), manual->loop};
    turn->actor = manual->actor;
    turn->seat = &manual->seat;
    manual->seat.turn = turn;
    task->place = JZX__AWAY;
    (void)jzx__task_hold(task); /* else an entry brings it */
    set_phase(manual, JZX__WITH_POLLER);
    return JZX__FATE_OVER;
}

static enum jzx__fate turn(struct jzx__worker *me, struct jzx__turn *turn) {
    struct jzx__actor *actor = turn->actor;
    struct jzx_manual *manual = jzx__cold_part(jzx__actor_cold(actor), JZX__PART_MANUAL);
    if (is_left(manual)) {
        jzx__actor_end(me, actor, JZX_EXIT_NORMAL, NULL);
        return JZX__FATE_OVER;
    }
    switch (collect(me, manual)) {
    case JZX__LOOK_ENDED: return JZX__FATE_OVER;
    case JZX__LOOK_AGAIN: return JZX__FATE_AGAIN;
    default: break;
    }
    if (manual->batch == NULL && (actor->task.care & JZX__CARE_DRAIN)) {
        jzx__actor_end(me, actor, JZX_EXIT_NORMAL, NULL); /* it has no supervisor */
        return JZX__FATE_OVER;
    }
    note_batch(me, manual);
    return hand_over(manual);
}

const struct jzx__kind_ops jzx__kind_manual = {.turn = turn};

/* ---- the part ---- */

/* True if this thread is in a handler of the actor. */
static bool is_inside(const struct jzx_manual *manual) {
    const struct jzx__seat *seat = jzx__seat_of_thread;
    while (jzx__seat_exists(seat) && seat != &manual->seat)
        seat = seat->outer;
    return seat == &manual->seat;
}

/* The actor ends: the turn is the worker's. What its handlers have begun, and what came meanwhile,
 * is filed while all parts of the actor can still cancel it. */
static void reclaim(struct jzx__worker *me, struct jzx__actor *actor) {
    struct jzx_manual *manual = jzx__cold_part(jzx__actor_cold(actor), JZX__PART_MANUAL);
    for (;;) {
        switch (jzx__manual_phase(manual)) {
        case JZX__HANDLING: /* G2 */
            if (is_inside(manual))
                jzx__wrong_use("a loop was ended by a handler of its own manual actor");
            jzx__futex_wait(&manual->phase, JZX__HANDLING, 0);
            break;
        case JZX__WITH_POLLER:
        case JZX__GIVEN:
            if (try_phase(manual, JZX__WITH_POLLER, JZX__WITH_WORKER) ||
                try_phase(manual, JZX__GIVEN, JZX__WITH_WORKER)) {
                absorb(manual);
                jzx__turn_take_changes(me, &manual->turn);
            }
            break;
        default: return;
        }
    }
}

static void release(struct jzx_loop *loop, struct jzx__worker *me, void *record) {
    (void)loop, (void)me;
    set_phase(record, JZX__MANUAL_ENDED);
    jzx__manual_unref(record);
}

static size_t size_bytes(const void *record) {
    (void)record;
    return sizeof(struct jzx_manual);
}

const struct jzx__part_ops jzx__part_manual = {
    .reclaim = reclaim, .release = release, .size_bytes = size_bytes};

/* ---- making one ---- */

struct manual_bonds {
    struct jzx__bonds bonds; /* first */
    struct jzx_manual *manual;
};

static bool prepare(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__cold *cold) {
    (void)loop, (void)me, (void)cold;
    return true;
}

/* The init is the poller's to run. */
static void tie(struct jzx__cold *cold, const struct jzx__bonds *bonds, jzx_actor_id id) {
    struct jzx_manual *manual = ((const struct manual_bonds *)(const void *)bonds)->manual;
    manual->id = id;
    manual->actor = jzx__table_slot(&manual->loop->table, jzx_id_index(id));
    manual->init = cold->init;
    cold->init = NULL;
    jzx__cold_set_part(cold, JZX__PART_MANUAL, manual);
}

static const struct jzx__bond_ops bond_ops = {.prepare = prepare, .tie = tie};

static struct jzx_manual *create(struct jzx_loop *loop, const jzx_spawn_opts *opts) {
    struct jzx_manual *manual =
        jzx__alloc_aligned(&loop->sched.allocator, sizeof *manual, _Alignof(struct jzx_manual));
    if (manual == NULL)
        return NULL;
    memset(manual, 0, sizeof *manual);
    manual->loop = loop;
    manual->allocator = loop->sched.allocator;
    manual->worker = loop->sched.workers[opts->place - JZX_PLACE_WORKER(0)];
    /* relaxed, both: nobody else has it yet */
    jzx__atomic_store_relaxed(&manual->phase, (uint32_t)JZX__WITH_WORKER);
    jzx__atomic_store_relaxed(&manual->refs, 2u); /* the handle, and the actor */
    return manual;
}

static jzx_err spawn(struct jzx_loop *loop, struct jzx__worker *me, const jzx_spawn_opts *opts,
                     struct jzx_manual **made) {
    struct manual_bonds bonds = {{.ops = &bond_ops, .kind = JZX__KIND_MANUAL}, create(loop, opts)};
    jzx_actor_id id;
    if (bonds.manual == NULL)
        return JZX_ERR_NO_MEMORY;
    jzx_err err = jzx__spawn_bound(loop, me, opts, &bonds.bonds, &id);
    if (err == JZX_OK) {
        *made = bonds.manual;
    } else {
        jzx__manual_unref(bonds.manual);
        jzx__manual_unref(bonds.manual);
    }
    return err;
}

jzx_err jzx_manual_create(jzx_loop *loop, const jzx_spawn_opts *opts, jzx_manual **manual) {
    jzx_spawn_opts full;
    struct jzx__visit visit;
    if (loop == NULL || manual == NULL || !jzx__read_sized(&full, sizeof full, opts))
        return JZX_ERR_INVALID_ARG;
    if (full.place == JZX_PLACE_ANY)
        full.place = JZX_PLACE_WORKER(0);
    if (full.fiber != NULL || full.process != NULL || full.place > loop->sched.worker_count ||
        full.on_full == JZX_FULL_DROP_OLDEST)
        return JZX_ERR_INVALID_ARG;
    full.daemon = true;
    struct jzx__worker *me = jzx__loop_visit(loop, &visit);
    jzx_err err = spawn(loop, me, &full, manual);
    jzx__visit_end(&visit);
    return err;
}

jzx_actor_id jzx_manual_id(const jzx_manual *manual) {
    return manual == NULL ? JZX_NOBODY : manual->id;
}
