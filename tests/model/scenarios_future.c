/* SPDX-License-Identifier: MIT */
/* src/future/future.c, whose home is a stub: one future, which threads resolve, cancel, wait for,
 * hang a then on, and release.
 *
 * What every scenario checks: it is settled once, and all who read it read the same (F1); its
 * object is seen as it was when it was moved, and dropped once; the future is freed once, when
 * nobody uses it any more (F2); nobody sleeps beside a future that is settled, and a then is run
 * once, without the lock (F3). */
#include "scenarios.h"

#include "future/future.c"

#define O(number) ((uint64_t)1 << (number))
#define READERS 2u

static struct {
    struct jzx__future_home home;
    struct jzx__clock clock;
    struct jzx_future block;
    struct jzx_future *future;
    unsigned object; /* moved into it */
    unsigned dropped;
    unsigned freed;
    unsigned reads; /* that have ended, */
    jzx_err errs[READERS];
    bool is_resolved; /* by who has the promise: it was the first */
    struct jzx__then then;
    unsigned runs;
    bool is_hung;  /* the then was kept, */
    bool is_taken; /* and taken out again */
    unsigned given_up;
} s;

/* ---- the home ---- */

bool jzx__future_visit(struct jzx__future_home *home, struct jzx__future_visit *visit) {
    (void)home;
    *visit = (struct jzx__future_visit){.is_open = true};
    return true;
}

void jzx__future_visit_end(struct jzx__future_home *home, const struct jzx__future_visit *visit) {
    (void)home, (void)visit;
}

void *jzx__future_alloc(struct jzx__future_home *home, struct jzx__worker *me, size_t size,
                        uint8_t *class_index) {
    (void)home, (void)me;
    MODEL_ASSERT(size == sizeof s.block);
    *class_index = 0;
    return &s.block;
}

void jzx__future_free(struct jzx__future_home *home, struct jzx__worker *me, void *block,
                      size_t size, uint8_t class_index) {
    (void)home, (void)me, (void)class_index;
    MODEL_ASSERT(block == s.future && size == sizeof s.block);
    model_plain_write(&s.block);
    s.freed++;
}

uint32_t jzx__future_block(struct jzx__future_home *home, struct jzx__wait_link *links,
                           uint32_t count, uint64_t deadline_ns) {
    struct jzx__waiter waiter;
    (void)home;
    jzx__waiter_init_thread(&waiter);
    jzx__waiter_begin(&waiter, (struct jzx__wait_what){.kind = "future"});
    jzx__waiter_join(&waiter, links, count, NULL);
    if (jzx__waiter_arm(&waiter) == JZX__ARM_SUSPEND)
        jzx__waiter_block(&waiter, &s.clock, deadline_ns);
    return jzx__waiter_end(&waiter);
}

/* ---- fibers: there are none ---- */

struct jzx__seat *jzx__fiber_seat(void) {
    return jzx__seat_of_thread;
}

jzx_err jzx__fiber_refuse(const jzx_context *ctx, const char *call) {
    (void)ctx, (void)call;
    return JZX_ERR_WOULD_SUSPEND;
}

uint32_t jzx__fiber_await(struct jzx__fiber *fiber, const struct jzx__event *event,
                          uint64_t deadline_ns) {
    (void)fiber, (void)event, (void)deadline_ns;
    return 0;
}

/* ---- threads ---- */

static void drop_object(void *object) {
    MODEL_ASSERT(object == &s.object);
    model_plain_write(&s.object);
    s.dropped++;
}

static void resolves(void) {
    model_plain_write(&s.object);
    s.object = 7;
    jzx_promise *promise = (jzx_promise *)(void *)s.future;
    s.is_resolved = jzx_promise_resolve_moved(promise, &s.object, drop_object) == JZX_OK;
}

static void cancels(void) {
    jzx_future_cancel(s.future);
    model_plain_read(&s.block); /* by its handle */
    jzx_future_release(s.future);
}

/* What a reader has got is what was moved. */
static void note_read(jzx_err err, const unsigned *object) {
    if (err == JZX_OK) {
        MODEL_ASSERT(object == &s.object);
        model_plain_read(object);
        MODEL_ASSERT(*object == 7);
    }
    model_plain_read(&s.block);
    s.errs[s.reads++] = err;
}

static void wait_until(uint64_t deadline_ns) {
    void *object = NULL;
    jzx_err err = block(s.future, deadline_ns, &object);
    note_read(err, object);
    jzx_future_release(s.future);
}

static void waits(void) {
    wait_until(JZX_NEVER);
}

static void waits_for_a_time(void) {
    wait_until(5);
}

static void tries(void) {
    void *object = NULL;
    jzx_err err = jzx_future_try(s.future, &object);
    note_read(err, object);
    jzx_future_release(s.future);
}

/* Takes the lock: it must be free. */
static void run_then(struct jzx__then *then, struct jzx_future *future, struct jzx__worker *me) {
    (void)me;
    MODEL_ASSERT(then == &s.then && future == s.future);
    jzx__lock_acquire(future->source.lock);
    s.runs++;
    jzx__lock_release(future->source.lock);
    MODEL_ASSERT(jzx__future_is_settled(future));
}

static void hangs_a_then(void) {
    s.is_hung = jzx__future_on(s.future, &s.then, run_then);
}

static void hangs_and_takes(void) {
    hangs_a_then();
    s.is_taken = s.is_hung && jzx__future_off(&s.then);
}

/* ---- threads with one that was not started ---- */

static void give_up(struct jzx_future *future, struct jzx__worker *me) {
    MODEL_ASSERT(future == s.future);
    s.given_up++;
    (void)jzx__future_reject(future, me, JZX_ERR_CANCELLED, NULL);
    jzx__future_let_go(future, JZX__HOLDER_PROMISE);
}

static const struct jzx__future_ops unstarted_ops = {.give_up = give_up};

static void releases(void) {
    model_plain_read(&s.block);
    jzx_future_release(s.future);
}

/* Gives up the handle of the then. */
static void run_and_release(struct jzx__then *then, struct jzx_future *future,
                            struct jzx__worker *me) {
    run_then(then, future, me);
    jzx_future_release(future);
}

/* It could start it until the end. */
static void hangs_and_releases(void) {
    (void)jzx_future_ref(s.future); /* of the then */
    s.is_hung = jzx__future_on(s.future, &s.then, run_and_release);
    MODEL_ASSERT(s.is_hung && jzx__future_state(s.future) == JZX_FUTURE_PENDING); /* F5 */
    model_plain_read(&s.block);
    jzx_future_release(s.future);
}

static void hangs_takes_and_releases(void) {
    (void)jzx_future_ref(s.future);
    hangs_and_takes();
    MODEL_ASSERT(s.is_taken && jzx__future_state(s.future) == JZX_FUTURE_PENDING);
    jzx_future_release(s.future);
    jzx_future_release(s.future);
}

/* ---- setting up, and what holds at the end ---- */

static void set_up_with(uint32_t handles) {
    row_of_thread = NULL;                /* the threads share it here: one of them settles */
    jzx__seat_of_thread = &jzx__no_seat; /* a scenario before may have left one: nobody may wait */
    jzx__clock_init_manual(&s.clock, 1);
    s.clock.is_real = true; /* a deadline passes when the engine lets a futex time out */
    for (uint32_t i = 0; i < JZX__FUTURE_LOCKS; i++)
        jzx__lock_init(&s.home.locks[i]);
    s.future = jzx__future_create(&s.home, NULL, sizeof(void *), 0, NULL);
    for (uint32_t i = 1; i < handles; i++)
        (void)jzx_future_ref(s.future);
}

static void set_up_one(void) {
    set_up_with(1);
}

static void set_up_two(void) {
    set_up_with(2);
}

static void set_up_unstarted(void) {
    set_up_with(2);
    s.future->ops = &unstarted_ops;
    jzx__atomic_store_relaxed(&s.future->state, (uint8_t)JZX_FUTURE_PENDING);
}

static void check_once(void) {
    MODEL_ASSERT(s.dropped == 1);
    for (unsigned i = 0; i < s.reads; i++) {
        MODEL_ASSERT(s.errs[i] == JZX_OK || s.errs[i] == JZX_ERR_TIMEOUT ||
                     s.errs[i] == JZX_ERR_CANCELLED);
        MODEL_ASSERT(s.errs[i] != (s.is_resolved ? JZX_ERR_CANCELLED : JZX_OK)); /* F1 */
    }
}

static void check_freed(void) {
    check_once();
    MODEL_ASSERT(s.freed == 1);
    model_outcome(s.errs[0] == JZX_OK ? 0 : s.errs[0] == JZX_ERR_TIMEOUT ? 1 : 2);
}

/* 0: it was settled before; 1: the then was run; 2: it was taken out. */
static void check_then(void) {
    MODEL_ASSERT(s.runs == (s.is_hung && !s.is_taken));
    model_outcome(!s.is_hung ? 0 : s.is_taken ? 2 : 1);
}

/* F5: given up once, when nobody was left who could start it. */
static void check_given_up(void) {
    MODEL_ASSERT(s.is_hung && s.given_up == 1 && s.freed == 1);
    MODEL_ASSERT(s.runs == !s.is_taken);
    model_outcome(0);
}

#define FUTURE .state = &s, .state_size = sizeof s

const struct model_scenario model_future[] = {
    {.name = "future_wait",
     .about = "F1, F3: a thread waits while another settles, and has the last handle",
     .setup = set_up_one,
     .threads = {waits, resolves},
     .check = check_freed,
     .outcomes = O(0),
     .bounds = {.preemptions = 4, .stale = 3},
     FUTURE},
    {.name = "future_wait_against_timeout",
     .about = "the same; the wait may be over before",
     .setup = set_up_one,
     .threads = {waits_for_a_time, resolves},
     .check = check_freed,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 4, .stale = 3},
     FUTURE},
    {.name = "future_cancel",
     .about = "F1, F2: who waits sees what came first, the value or the cancel",
     .setup = set_up_two,
     .threads = {waits, resolves, cancels},
     .check = check_freed,
     .outcomes = O(0) | O(2),
     FUTURE},
    {.name = "future_release",
     .about = "F2: the last of three frees it, after all that the others did",
     .setup = set_up_two,
     .threads = {tries, resolves, cancels},
     .check = check_freed,
     .outcomes = O(0) | O(1) | O(2),
     FUTURE},
    {.name = "future_then",
     .about = "F3: a then is run once, or was not kept",
     .setup = set_up_one,
     .threads = {hangs_a_then, resolves},
     .check = check_then,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 4, .stale = 3},
     FUTURE},
    {.name = "future_then_taken_out",
     .about = "F3: a then is run, or taken out",
     .setup = set_up_one,
     .threads = {hangs_and_takes, resolves},
     .check = check_then,
     .outcomes = O(0) | O(1) | O(2),
     .bounds = {.preemptions = 4, .stale = 3},
     FUTURE},
    {.name = "future_not_started",
     .about = "F5: one that was not started stays so while a handle is left besides a then's",
     .setup = set_up_unstarted,
     .threads = {releases, hangs_and_releases},
     .check = check_given_up,
     .outcomes = O(0),
     .bounds = {.preemptions = 4, .stale = 3},
     FUTURE},
    {.name = "future_not_started_then_taken_out",
     .about = "F5: the same while a then comes and goes",
     .setup = set_up_unstarted,
     .threads = {releases, hangs_takes_and_releases},
     .check = check_given_up,
     .outcomes = O(0),
     .bounds = {.preemptions = 4, .stale = 3},
     FUTURE},
};
const size_t model_future_count = sizeof model_future / sizeof *model_future;
