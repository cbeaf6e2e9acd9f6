/* SPDX-License-Identifier: MIT */
/* src/base/mpsc.h, parker.c and deque.h together: producers against a consumer that sleeps when it
 * has nothing to do (scenario 14 of the protocol). A lost wake-up leaves the consumer asleep with
 * something in its queue, and then nobody can go on. */
#include "scenarios.h"

#include "base/deque.h"
#include "base/mpsc.h"
#include "base/parker.h"

#define O(number) ((uint64_t)1 << (number))
#define NODES_MAX 4

struct letter {
    struct jzx__mpsc_node node;
    unsigned taken;
    unsigned sender;
};

static struct {
    struct jzx__mpsc queue;
    struct jzx__parker parker;
    struct jzx__deque deque;
    bool has_deque; /* else it is left out, so that there is less to explore */
    bool has_stop;
    _Atomic uint32_t stop;
    struct letter letters[MODEL_THREADS_MAX][NODES_MAX];
    unsigned taken;
    unsigned slept;
    unsigned last_of[MODEL_THREADS_MAX]; /* letters taken, per sender */
} s;

static void set_up(void) {
    jzx__mpsc_init(&s.queue);
    jzx__parker_init(&s.parker);
}

static void set_up_deque(void) {
    set_up();
    MODEL_ASSERT(jzx__deque_init(&s.deque, 2, &model_allocator));
    s.has_deque = true;
}

static void set_up_stop(void) {
    set_up();
    s.has_stop = true;
}

static void set_up_fd(void) {
    set_up();
    MODEL_ASSERT(jzx__parker_open_fd(&s.parker) >= 0);
}

/* ---- producers ---- */

static void push(unsigned number) {
    struct letter *letter = &s.letters[model_self()][number];
    model_plain_write(letter);
    letter->sender = model_self();
    jzx__mpsc_push(&s.queue, &letter->node);
}

static void produce_one(void) {
    push(0);
    jzx__parker_wake(&s.parker);
}

static void produce_two(void) {
    push(0);
    jzx__parker_wake(&s.parker);
    push(1);
    jzx__parker_wake(&s.parker);
}

/* Two at a time, as a batch would do it. */
static void produce_pair(void) {
    push(0);
    push(1);
    jzx__parker_wake(&s.parker);
}

static void publish_two(void) {
    for (unsigned i = 0; i < 2; i++) {
        struct letter *letter = &s.letters[model_self()][i];
        model_plain_write(letter);
        MODEL_ASSERT(jzx__deque_push(&s.deque, letter));
        jzx__parker_wake(&s.parker);
    }
}

static void request_stop(void) {
    jzx__atomic_store_seq_cst(&s.stop, 1u);
    jzx__parker_wake(&s.parker);
}

/* ---- the consumer ---- */

static void take_in(struct letter *letter) {
    model_plain_write(letter);
    letter->taken++;
    s.taken++;
}

/* Order of one sender: its letters come in the order in which it pushed them. */
static void take_queue(void) {
    struct jzx__mpsc_node *node = jzx__mpsc_take_all(&s.queue);
    while (node != NULL) {
        struct letter *letter = (struct letter *)(void *)node;
        node = node->next;
        take_in(letter);
        MODEL_ASSERT(letter == &s.letters[letter->sender][s.last_of[letter->sender]++]);
    }
}

static void take_deque(void) {
    void *item;
    while (s.has_deque && jzx__deque_steal(&s.deque, &item) == JZX__STEAL_GOT)
        take_in(item);
}

static bool nothing_came(void) {
    return (s.has_deque || jzx__mpsc_is_empty_seq_cst(&s.queue)) &&
           (!s.has_deque || jzx__deque_is_empty_seq_cst(&s.deque)) &&
           (!s.has_stop || jzx__atomic_load_seq_cst(&s.stop) == 0);
}

/* As a worker parks: R14. */
static void park(void) {
    bool quiet;
    if (JZX__MUTANT(park_checks_before_announcing)) {
        quiet = nothing_came();
        jzx__parker_announce(&s.parker, JZX__SLEEPS_ON_FUTEX);
    } else {
        jzx__parker_announce(&s.parker, JZX__SLEEPS_ON_FUTEX);
        quiet = nothing_came();
    }
    if (quiet) {
        s.slept++;
        jzx__parker_wait(&s.parker, 0);
    }
    jzx__parker_cancel(&s.parker);
}

/* Goes on until it has wanted letters. */
static void consume(unsigned wanted) {
    for (;;) {
        if (!s.has_deque && !jzx__mpsc_is_empty(&s.queue))
            take_queue();
        take_deque();
        if (s.taken >= wanted)
            return;
        park();
    }
}

static void consume_two(void) {
    consume(2);
}

static void consume_three(void) {
    consume(3);
}

static void consume_until_stop(void) {
    while (jzx__atomic_load_relaxed(&s.stop) == 0) {
        if (!jzx__mpsc_is_empty(&s.queue))
            take_queue();
        park();
    }
}

/* A host that polls: what jzx__worker_settle_fd does, and then poll(2). */
static void settle(void) {
    jzx__parker_clear_fd(&s.parker);
    jzx__parker_announce(&s.parker, JZX__SLEEPS_ON_FD);
    if (!nothing_came()) {
        jzx__parker_cancel(&s.parker);
        jzx__parker_raise_fd(&s.parker);
    }
}

static void host_two(void) {
    while (s.taken < 2) {
        settle();
        s.slept++;
        model_poll_fd(jzx__parker_open_fd(&s.parker));
        if (!jzx__mpsc_is_empty(&s.queue))
            take_queue();
    }
}

/* ---- at the end ---- */

static void check_all_taken(void) {
    take_queue();
    take_deque();
    for (unsigned i = 0; i < MODEL_THREADS_MAX; i++) {
        for (unsigned k = 0; k < NODES_MAX; k++)
            MODEL_ASSERT(s.letters[i][k].taken <= 1);
    }
}

/* How often the consumer slept: it must be able to sleep, and to go without. */
static void check_slept(void) {
    check_all_taken();
    model_outcome(s.slept < 3 ? s.slept : 3);
}

static void check_stopped(void) {
    check_all_taken();
    MODEL_ASSERT(s.taken == 1);
    model_outcome(s.slept == 0 ? 0 : 1);
}

#define PARKER .state = &s, .state_size = sizeof s

const struct model_scenario model_parker[] = {
    {.name = "mpsc_two_producers",
     .about = "every node comes out once, in each sender's order",
     .setup = set_up,
     .threads = {produce_two, produce_one, consume_three},
     .check = check_all_taken,
     PARKER},
    {.name = "park_against_push",
     .about = "one producer, two pushes",
     .setup = set_up,
     .threads = {consume_two, produce_two},
     .check = check_slept,
     .outcomes = O(0) | O(1) | O(2),
     .bounds = {.preemptions = 4, .stale = 3},
     PARKER},
    {.name = "park_two_wakers",
     .about = "two wakers for one sleep",
     .setup = set_up,
     .threads = {consume_two, produce_one, produce_one},
     .check = check_slept,
     .outcomes = O(0) | O(1) | O(2),
     .bounds = {.preemptions = 3, .stale = 2},
     PARKER},
    {.name = "park_batch",
     .about = "one wake for two pushes, and another thread's",
     .setup = set_up,
     .threads = {consume_three, produce_pair, produce_one},
     .check = check_all_taken,
     PARKER},
    {.name = "park_against_publish",
     .about = "the sleeper takes from a deque",
     .setup = set_up_deque,
     .threads = {consume_two, publish_two},
     .check = check_slept,
     .outcomes = O(0) | O(1) | O(2),
     .bounds = {.preemptions = 4, .stale = 3},
     PARKER},
    {.name = "park_against_stop",
     .about = "a push and a stop, by two threads",
     .setup = set_up_stop,
     .threads = {consume_until_stop, produce_one, request_stop},
     .check = check_stopped,
     .outcomes = O(0) | O(1),
     PARKER},
    {.name = "park_on_fd",
     .about = "the host sleeps in poll",
     .setup = set_up_fd,
     .threads = {host_two, produce_one, produce_one},
     .check = check_slept,
     .outcomes = O(1) | O(2) | O(3),
     PARKER},
};
const size_t model_parker_count = sizeof model_parker / sizeof *model_parker;
