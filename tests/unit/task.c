/* SPDX-License-Identifier: MIT */
/* The inbox word and the owner protocol (rules R2, R3, R8, R12 and invariants I1, I2 of task.h):
 * first each edge alone, then pushers on other threads against the owner. */
#include "sched/task.h"

#include "base/parker.h"
#include "base/rng.h"

#include "jzx_test.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define TOKEN JZX__INBOX_TOKEN
#define CLOSED JZX__INBOX_CLOSED
#define NO_LIMIT ((uint32_t)JZX__INBOX_COUNT_MAX)

struct letter {
    _Alignas(64) struct jzx__node node;
    uint32_t pusher;
    uint64_t number;
};

static struct letter *letter_of(struct jzx__node *node) {
    return (struct letter *)(void *)node;
}

static void open_task(struct jzx__task *task) {
    memset(task, 0, sizeof *task);
    jzx__task_clear(task);
}

static uint64_t word_of(struct jzx__task *task) {
    return jzx__task_inbox(task);
}

/* Pushes letters 0 .. count - 1, each of weight 1. */
static void push_letters(struct jzx__task *task, struct letter *letters, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        letters[i].node.weight = 1;
        letters[i].number = i;
        enum jzx__push_result result = jzx__task_push(task, &letters[i].node, NO_LIMIT);
        JZX_EXPECT(result == JZX__PUSH_OK || result == JZX__PUSH_OK_INJECT);
    }
}

/* The nodes are letters 0 .. count - 1, oldest first. */
static void expect_letters(struct jzx__node *node, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (!JZX_EXPECT(node != NULL))
            return;
        JZX_EXPECT_EQ(letter_of(node)->number, i);
        node = node->next;
    }
    JZX_EXPECT(node == NULL);
}

/* ---- the word ---- */

JZX_TEST(the_inbox_word_keeps_list_count_and_bits_apart_at_their_extremes) {
    static const uintptr_t lists[] = {0, 64, 0x7FFFFFFFFFC0u, 0xFFFFFFFFFFC0u, 0xAAAAAAAAAA80u};
    static const uint32_t counts[] = {0, 1, (uint32_t)JZX__INBOX_COUNT_MAX};
    const uint64_t all = TOKEN | CLOSED | JZX__INBOX_NUDGED;
    for (size_t l = 0; l < 5; l++) {
        for (size_t c = 0; c < 3; c++) {
            for (uint64_t bits = 0; bits <= all; bits++) {
                uint64_t word = jzx__inbox_make((void *)lists[l], counts[c], bits);
                JZX_EXPECT_EQ((uintptr_t)jzx__inbox_list(word), lists[l]);
                JZX_EXPECT_EQ(jzx__inbox_count(word), bits & CLOSED ? 0 : counts[c]);
                JZX_EXPECT_EQ(word & all, bits);
            }
        }
    }
}

JZX_TEST(the_inbox_word_can_count_the_largest_mailbox) {
    JZX_EXPECT(JZX__INBOX_COUNT_MAX >= 524287);
}

JZX_TEST(the_state_word_keeps_the_generation_apart_from_requests_and_fulls) {
    static const uint32_t generations[] = {0, 1, 0x80000000u, UINT32_MAX};
    for (size_t i = 0; i < 4; i++) {
        uint64_t state = jzx__state_make(generations[i]);
        JZX_EXPECT_EQ(jzx__state_generation(state), generations[i]);
        JZX_EXPECT_EQ(state & JZX__ATTENTION_MASK, 0);
        JZX_EXPECT_EQ(jzx__state_generation(state | JZX__CONTROL_BITS | JZX__FULLS_MASK),
                      generations[i]);
    }
    JZX_EXPECT_EQ(JZX__CONTROL_BITS & JZX__FULLS_MASK, 0);
    JZX_EXPECT_EQ(JZX__CONTROL_BITS | JZX__FULLS_MASK, JZX__ATTENTION_MASK);
    JZX_EXPECT_EQ(JZX__FULLS_MASK & ~(JZX__FULLS_MASK - 1), JZX__FULLS_ONE);
}

/* ---- push and nudge ---- */

JZX_TEST(only_the_push_that_gets_the_token_must_inject) {
    struct jzx__task task;
    struct letter letters[3];
    open_task(&task);
    for (uint32_t i = 0; i < 3; i++) {
        letters[i].node.weight = 1;
        enum jzx__push_result result = jzx__task_push(&task, &letters[i].node, NO_LIMIT);
        JZX_EXPECT_EQ(result, i == 0 ? JZX__PUSH_OK_INJECT : JZX__PUSH_OK);
        JZX_EXPECT_EQ(word_of(&task), jzx__inbox_make(&letters[i].node, i + 1, TOKEN));
    }
}

JZX_TEST(a_push_is_full_exactly_at_the_limit_and_changes_nothing_then) {
    struct letter letters[6];
    for (uint32_t limit = 0; limit <= 5; limit++) {
        struct jzx__task task;
        open_task(&task);
        push_letters(&task, letters, limit);
        uint64_t before = word_of(&task);
        letters[limit].node.weight = 1;
        JZX_EXPECT_EQ(jzx__task_push(&task, &letters[limit].node, limit), JZX__PUSH_FULL);
        JZX_EXPECT_EQ(word_of(&task), before);
        enum jzx__push_result result = jzx__task_push(&task, &letters[limit].node, limit + 1);
        JZX_EXPECT(result == JZX__PUSH_OK || result == JZX__PUSH_OK_INJECT);
    }
}

JZX_TEST(a_node_without_weight_is_never_refused_for_the_limit_and_does_not_count) {
    struct jzx__task task;
    struct letter letters[4];
    open_task(&task);
    push_letters(&task, letters, 2);
    letters[2].node.weight = 0;
    letters[2].number = 2;
    JZX_EXPECT_EQ(jzx__task_push(&task, &letters[2].node, 2), JZX__PUSH_OK);
    JZX_EXPECT_EQ(jzx__inbox_count(word_of(&task)), 2);
    letters[3].node.weight = 0;
    letters[3].number = 3;
    JZX_EXPECT_EQ(jzx__task_push(&task, &letters[3].node, 0), JZX__PUSH_OK);
    JZX_EXPECT_EQ(jzx__inbox_count(word_of(&task)), 2);
    expect_letters(jzx__task_take(&task), 4);
}

JZX_TEST(the_count_can_reach_its_largest_value_and_not_more) {
    struct jzx__task task;
    struct letter letter, other;
    open_task(&task);
    letter.node.weight = other.node.weight = 1;
    uint64_t almost = jzx__inbox_make(&other.node, NO_LIMIT - 1, TOKEN);
    jzx__atomic_store_relaxed(&task.inbox, almost);
    JZX_EXPECT_EQ(jzx__task_push(&task, &letter.node, NO_LIMIT), JZX__PUSH_OK);
    JZX_EXPECT_EQ(word_of(&task), jzx__inbox_make(&letter.node, NO_LIMIT, TOKEN));
    JZX_EXPECT_EQ(jzx__task_push(&task, &other.node, NO_LIMIT), JZX__PUSH_FULL);
}

JZX_TEST(a_closed_inbox_refuses_every_push_and_nudge) {
    struct jzx__task task;
    struct letter letter;
    for (uint64_t bits = CLOSED; bits <= (CLOSED | TOKEN); bits++) {
        open_task(&task);
        jzx__atomic_store_relaxed(&task.inbox, bits);
        for (uint8_t weight = 0; weight <= 1; weight++) {
            letter.node.weight = weight;
            JZX_EXPECT_EQ(jzx__task_push(&task, &letter.node, NO_LIMIT), JZX__PUSH_CLOSED);
            JZX_EXPECT_EQ(jzx__task_push(&task, &letter.node, 0), JZX__PUSH_CLOSED);
        }
        JZX_EXPECT_EQ(jzx__task_nudge(&task), JZX__PUSH_CLOSED);
        JZX_EXPECT_EQ(word_of(&task), bits);
    }
}

JZX_TEST(a_nudge_gets_the_token_as_a_push_does_and_leaves_the_list) {
    struct jzx__task task;
    struct letter letters[2];
    open_task(&task);
    JZX_EXPECT_EQ(jzx__task_nudge(&task), JZX__PUSH_OK_INJECT);
    JZX_EXPECT_EQ(word_of(&task), TOKEN | JZX__INBOX_NUDGED);
    JZX_EXPECT_EQ(jzx__task_nudge(&task), JZX__PUSH_OK);
    push_letters(&task, letters, 2);
    uint64_t before = word_of(&task);
    JZX_EXPECT(before & JZX__INBOX_NUDGED); /* a push does not hide it */
    JZX_EXPECT_EQ(jzx__task_nudge(&task), JZX__PUSH_OK);
    JZX_EXPECT_EQ(word_of(&task), before);
    expect_letters(jzx__task_take(&task), 2);
}

/* The state word was looked at before: what a nudge announces would otherwise never be seen (I8).
 */
JZX_TEST(a_nudge_between_the_last_look_and_going_idle_keeps_the_task_awake) {
    struct jzx__task task;
    for (int held = 0; held <= 1; held++) {
        open_task(&task);
        jzx__atomic_store_relaxed(&task.inbox, TOKEN);
        task.holds = held == 1;
        task.place = JZX__RUNNING;
        uint64_t seen = word_of(&task);
        JZX_EXPECT_EQ(jzx__task_nudge(&task), JZX__PUSH_OK);
        if (held)
            JZX_EXPECT(!jzx__task_go_idle(&task, seen));
        JZX_EXPECT(!jzx__task_go_idle(&task, word_of(&task))); /* takes note of it */
        JZX_EXPECT_EQ(task.place, JZX__RUNNING);
        JZX_EXPECT_EQ(task.holds, held == 1);
        JZX_EXPECT_EQ(word_of(&task), TOKEN);
        JZX_EXPECT(jzx__task_go_idle(&task, word_of(&task))); /* once */
        JZX_EXPECT_EQ(word_of(&task), held ? 0 : TOKEN);
    }
}

/* ---- take, go_idle, close, append ---- */

JZX_TEST(a_take_that_does_not_hold_leaves_the_token_to_the_entry_under_way) {
    struct jzx__task task;
    struct letter letters[4];
    open_task(&task);
    push_letters(&task, letters, 3);
    expect_letters(jzx__task_take(&task), 3);
    JZX_EXPECT_EQ(word_of(&task), TOKEN);
    JZX_EXPECT(!task.holds);
    letters[3].node.weight = 1;
    JZX_EXPECT_EQ(jzx__task_push(&task, &letters[3].node, NO_LIMIT), JZX__PUSH_OK);
    JZX_EXPECT_EQ(jzx__inbox_count(word_of(&task)), 1);
}

JZX_TEST(a_take_that_holds_gives_up_the_token_so_that_the_next_push_injects) {
    struct jzx__task task;
    struct letter letters[4];
    open_task(&task);
    push_letters(&task, letters, 3);
    task.holds = true;
    expect_letters(jzx__task_take(&task), 3);
    JZX_EXPECT_EQ(word_of(&task), 0);
    JZX_EXPECT(!task.holds);
    letters[3].node.weight = 1;
    JZX_EXPECT_EQ(jzx__task_push(&task, &letters[3].node, NO_LIMIT), JZX__PUSH_OK_INJECT);
}

JZX_TEST(going_idle_gives_up_a_held_token) {
    struct jzx__task task;
    struct letter letter = {.node.weight = 1};
    open_task(&task);
    jzx__atomic_store_relaxed(&task.inbox, TOKEN);
    task.holds = true;
    task.place = JZX__RUNNING;
    JZX_EXPECT(jzx__task_go_idle(&task, word_of(&task)));
    JZX_EXPECT(!task.holds);
    JZX_EXPECT_EQ(task.place, JZX__IDLE);
    JZX_EXPECT_EQ(word_of(&task), 0);
    JZX_EXPECT_EQ(jzx__task_push(&task, &letter.node, NO_LIMIT), JZX__PUSH_OK_INJECT);
}

JZX_TEST(a_push_between_the_last_look_and_going_idle_keeps_the_task_awake) {
    struct jzx__task task;
    struct letter letters[1];
    open_task(&task);
    jzx__atomic_store_relaxed(&task.inbox, TOKEN);
    task.holds = true;
    task.place = JZX__RUNNING;
    uint64_t seen = word_of(&task);
    push_letters(&task, letters, 1); /* finds the token: injects nothing */
    JZX_EXPECT(!jzx__task_go_idle(&task, seen));
    JZX_EXPECT(task.holds);
    JZX_EXPECT_EQ(task.place, JZX__RUNNING);
    expect_letters(jzx__task_take(&task), 1);
    JZX_EXPECT(jzx__task_go_idle(&task, word_of(&task)));
}

/* Nodes that come after the look bring an entry, or the entry under way answers for them. */
JZX_TEST(going_idle_without_the_token_leaves_the_inbox_to_its_entry) {
    struct jzx__task task;
    struct letter letters[2];
    for (uint64_t seen = 0; seen <= TOKEN; seen += TOKEN) {
        for (uint32_t count = 0; count <= 2; count++) {
            open_task(&task);
            jzx__atomic_store_relaxed(&task.inbox, seen);
            task.place = JZX__RUNNING;
            push_letters(&task, letters, count);
            uint64_t before = word_of(&task);
            JZX_EXPECT(jzx__task_go_idle(&task, seen));
            JZX_EXPECT_EQ(task.place, JZX__IDLE);
            JZX_EXPECT_EQ(word_of(&task), before);
        }
    }
}

JZX_TEST(closing_keeps_the_token_only_for_an_entry_that_is_under_way) {
    static const struct {
        uint32_t letters; /* pushed, so that an entry is under way */
        bool token;       /* set without a letter */
        bool holds;
        bool entry_left;
    } cases[] = {
        {0, false, false, false}, /* idle */
        {0, true, true, false},   /* running, the token is the owner's */
        {3, true, true, false},   /* the same, and nodes came meanwhile */
        {0, true, false, true},   /* nudged */
        {3, false, false, true},
    };
    struct letter letters[3];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct jzx__task task;
        bool entry_left = !cases[i].entry_left;
        open_task(&task);
        if (cases[i].token)
            jzx__atomic_store_relaxed(&task.inbox, TOKEN);
        push_letters(&task, letters, cases[i].letters);
        task.holds = cases[i].holds;
        expect_letters(jzx__task_close(&task, &entry_left), cases[i].letters);
        JZX_EXPECT_EQ(entry_left, cases[i].entry_left);
        JZX_EXPECT_EQ(word_of(&task), cases[i].entry_left ? CLOSED | TOKEN : CLOSED);
        JZX_EXPECT(!task.holds);
    }
}

JZX_TEST(appended_nodes_are_in_order_and_weigh_what_they_weigh) {
    struct jzx__task task;
    struct letter letters[4];
    open_task(&task);
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < 4; i++) {
            letters[i].number = i;
            letters[i].node.next = &letters[i].node; /* what was there does not matter */
            jzx__task_append(&task, &letters[i].node, i % 2);
        }
        expect_letters(task.head, 4);
        JZX_EXPECT_EQ(task.pending, 2);
        expect_letters(jzx__task_clear(&task), 4);
        JZX_EXPECT(task.head == NULL);
        JZX_EXPECT_EQ(task.pending, 0);
    }
}

/* Appends and pops in turn, so that the list is empty, of one, and longer, again and again. */
JZX_TEST(nodes_are_popped_in_the_order_in_which_they_were_appended) {
    enum { COUNT = 200 };
    static struct letter letters[COUNT];
    struct jzx__task task;
    uint32_t appended = 0;
    uint32_t popped = 0;
    open_task(&task);
    for (uint32_t step = 0; popped < COUNT; step++) {
        if (appended < COUNT && step % 5 < 3) {
            letters[appended].number = appended;
            letters[appended].node.weight = 1;
            jzx__task_append(&task, &letters[appended++].node, 1);
        } else if (task.head != NULL) {
            JZX_EXPECT_EQ(letter_of(task.head)->number, popped++);
            jzx__task_pop(&task, task.head);
        }
        while (step % 20 == 0 && task.head != NULL) { /* all of them, now and then */
            JZX_EXPECT_EQ(letter_of(task.head)->number, popped++);
            jzx__task_pop(&task, task.head);
        }
        JZX_EXPECT_EQ(task.pending, appended - popped);
        JZX_EXPECT((task.head == NULL) == (appended == popped));
    }
}

JZX_TEST(a_plain_node_counts_and_has_nothing_of_what_was_there_but_its_link) {
    struct jzx__node node;
    memset(&node, 0xFF, sizeof node);
    struct jzx__node *link = node.next;
    jzx__node_init_plain(&node, 0xABCDEF01u);
    JZX_EXPECT(node.next == link);
    JZX_EXPECT_EQ(node.generation, 0xABCDEF01u);
    JZX_EXPECT_EQ(node.weight, 1);
    JZX_EXPECT_EQ(node.lane, 0);
    JZX_EXPECT_EQ(node.flags, 0);
    JZX_EXPECT_EQ(node.size_class, 0);
}

JZX_TEST(a_node_is_plain_only_if_both_its_class_and_its_flags_are_zero) {
    struct jzx__node node;
    memset(&node, 0xFF, sizeof node); /* the other fields do not matter */
    for (unsigned flags = 0; flags <= 0xFF; flags++) {
        for (unsigned size_class = 0; size_class <= 0xFF; size_class++) {
            node.flags = (uint8_t)flags;
            node.size_class = (uint8_t)size_class;
            JZX_EXPECT(jzx__node_is_plain(&node) == (flags == 0 && size_class == 0));
        }
    }
}

/* ---- threads ---- */

#define PUSHER_COUNT 3u

struct arena {
    struct jzx__task task;
    struct jzx__mpsc inject;
    struct jzx__parker parker;
    _Atomic uint32_t linked; /* 1 while an entry is in the inject queue */
    uint32_t limit;
    _Atomic uint64_t life;           /* how often the task was opened */
    uint64_t lives;                  /* after so many the pushers leave */
    uint64_t expected[PUSHER_COUNT]; /* the owner's: the next number of each pusher */
    uint64_t received;
    _Atomic uint64_t wanted[PUSHER_COUNT]; /* requests, set before a nudge */
    _Atomic uint64_t seen[PUSHER_COUNT];   /* what the owner has seen of them */
};

struct pusher {
    struct arena *arena;
    struct letter *letters;
    uint64_t count;
    uint64_t accepted;     /* in this life; read by the owner when done */
    _Atomic uint64_t done; /* lives in which it has pushed what it could */
};

static void arena_init(struct arena *arena, uint32_t limit, uint64_t lives) {
    memset(arena, 0, sizeof *arena);
    jzx__mpsc_init(&arena->inject);
    jzx__parker_init(&arena->parker);
    arena->limit = limit;
    arena->lives = lives;
}

static void inject(struct arena *arena) {
    JZX_EXPECT_EQ(jzx__atomic_exchange_seq_cst(&arena->linked, 1u), 0); /* I1 */
    jzx__mpsc_push(&arena->inject, &arena->task.injected);
    jzx__parker_wake(&arena->parker);
}

/* Pushes its letters until all are in or the inbox is closed; nudges now and then. */
static void push_all(struct pusher *pusher) {
    struct arena *arena = pusher->arena;
    pusher->accepted = 0;
    for (uint64_t i = 0; i < pusher->count;) {
        enum jzx__push_result result =
            jzx__task_push(&arena->task, &pusher->letters[i].node, arena->limit);
        if (result == JZX__PUSH_CLOSED)
            break;
        if (result == JZX__PUSH_OK_INJECT)
            inject(arena);
        if (result == JZX__PUSH_FULL)
            sched_yield();
        else
            i++;
        pusher->accepted = i;
        if (i % 7 == 0 && jzx__task_nudge(&arena->task) == JZX__PUSH_OK_INJECT)
            inject(arena);
    }
}

static void *push_in_every_life(void *ctx) {
    struct pusher *pusher = ctx;
    for (uint64_t life = 1; life <= pusher->arena->lives; life++) {
        while (jzx__atomic_load_acquire(&pusher->arena->life) < life)
            sched_yield();
        push_all(pusher);
        jzx__atomic_store_release(&pusher->done, life);
    }
    return NULL;
}

static void start_pushers(struct arena *arena, struct pusher *pushers, pthread_t *threads,
                          uint64_t each) {
    for (uint32_t i = 0; i < PUSHER_COUNT; i++) {
        struct letter *letters = aligned_alloc(64, each * sizeof *letters);
        assert_non_null(letters);
        for (uint64_t n = 0; n < each; n++)
            letters[n] = (struct letter){.node.weight = 1, .pusher = i, .number = n};
        pushers[i] = (struct pusher){.arena = arena, .letters = letters, .count = each};
        assert_int_equal(pthread_create(&threads[i], NULL, push_in_every_life, &pushers[i]), 0);
    }
}

static void begin_life(struct arena *arena) {
    arena->received = 0;
    memset(arena->expected, 0, sizeof arena->expected);
    jzx__atomic_store_release(&arena->task.inbox, (uint64_t)0);
    jzx__atomic_store_release(&arena->life, jzx__atomic_load_relaxed(&arena->life) + 1);
}

/* Waits until no pusher pushes any more in this life; returns what they pushed. */
static uint64_t wait_for_pushers(struct arena *arena, struct pusher *pushers) {
    uint64_t accepted = 0;
    for (uint32_t i = 0; i < PUSHER_COUNT; i++) {
        while (jzx__atomic_load_acquire(&pushers[i].done) < jzx__atomic_load_relaxed(&arena->life))
            sched_yield();
        accepted += pushers[i].accepted;
    }
    return accepted;
}

static void join_pushers(struct pusher *pushers, pthread_t *threads) {
    for (uint32_t i = 0; i < PUSHER_COUNT; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        free(pushers[i].letters);
    }
}

static void receive(struct arena *arena, struct jzx__node *node) {
    uint64_t batch = 0;
    while (node != NULL) {
        struct letter *letter = letter_of(node);
        node = node->next;
        JZX_EXPECT_EQ(letter->number, arena->expected[letter->pusher]);
        arena->expected[letter->pusher] = letter->number + 1;
        arena->received++;
        batch++;
    }
    JZX_EXPECT(batch <= arena->limit);
}

/* Pops the entry, if there is one: its token is the owner's now. */
static bool pop_entry(struct arena *arena) {
    struct jzx__mpsc_node *entry = jzx__mpsc_take_all(&arena->inject);
    if (entry == NULL)
        return false;
    JZX_EXPECT(entry == &arena->task.injected && entry->next == NULL);
    JZX_EXPECT_EQ(jzx__atomic_exchange_seq_cst(&arena->linked, 0u), 1);
    JZX_EXPECT(!arena->task.holds);
    return true;
}

static void turn(struct arena *arena) {
    struct jzx__task *task = &arena->task;
    task->place = JZX__RUNNING;
    uint64_t word;
    do {
        while (jzx__inbox_list(word = word_of(task)) != NULL)
            receive(arena, jzx__task_take(task));
    } while (!jzx__task_go_idle(task, word));
    JZX_EXPECT(!task->holds && task->place == JZX__IDLE);
}

static void wait_for_entry(struct arena *arena) {
    while (!pop_entry(arena)) {
        jzx__parker_announce(&arena->parker, JZX__SLEEPS_ON_FUTEX);
        if (jzx__mpsc_is_empty_seq_cst(&arena->inject))
            jzx__parker_wait(&arena->parker, 0);
        jzx__parker_cancel(&arena->parker);
    }
    arena->task.holds = true;
}

/* Waits for an entry and gives the task a turn; at times one without, as a local send does. */
static void drive(struct arena *arena, struct jzx__rng *rng) {
    if (jzx__rng_below(rng, 4) != 0)
        wait_for_entry(arena);
    turn(arena);
}

static void push_against_an_owner(uint64_t each, uint32_t limit) {
    struct arena arena;
    struct pusher pushers[PUSHER_COUNT];
    pthread_t threads[PUSHER_COUNT];
    struct jzx__rng rng;
    jzx__rng_init(&rng, limit);
    arena_init(&arena, limit, 1);
    start_pushers(&arena, pushers, threads, each);
    begin_life(&arena);
    while (arena.received < each * PUSHER_COUNT)
        drive(&arena, &rng); /* what is missing is bound to bring an entry */
    JZX_EXPECT_EQ(wait_for_pushers(&arena, pushers), each * PUSHER_COUNT);
    bool entry_left = pop_entry(&arena);
    JZX_EXPECT_EQ(word_of(&arena.task), entry_left ? TOKEN : 0); /* I1, I2 */
    for (uint32_t i = 0; i < PUSHER_COUNT; i++)
        JZX_EXPECT_EQ(arena.expected[i], each);
    join_pushers(pushers, threads);
}

JZX_TEST(letters_of_many_threads_arrive_once_in_order_and_wake_the_owner) {
    push_against_an_owner(jzx_test_rounds(30000, 300000), NO_LIMIT);
}

JZX_TEST(a_bounded_inbox_never_holds_more_than_its_limit) {
    push_against_an_owner(jzx_test_rounds(20000, 200000), 5);
}

/* One life: some turns, then the end while others push. */
static void live_and_close(struct arena *arena, struct pusher *pushers, struct jzx__rng *rng) {
    begin_life(arena);
    uint64_t enough = jzx__rng_below(rng, 100);
    while (arena->received < enough)
        drive(arena, rng);
    if (jzx__rng_below(rng, 2) == 0)
        arena->task.holds = pop_entry(arena);
    bool entry_left;
    receive(arena, jzx__task_close(&arena->task, &entry_left));
    JZX_EXPECT_EQ(arena->received, wait_for_pushers(arena, pushers));
    JZX_EXPECT_EQ(pop_entry(arena), entry_left);
    JZX_EXPECT_EQ(word_of(&arena->task), entry_left ? CLOSED | TOKEN : CLOSED);
}

JZX_TEST(a_task_that_closes_loses_no_letter_and_knows_whether_an_entry_is_left) {
    struct arena arena;
    struct pusher pushers[PUSHER_COUNT];
    pthread_t threads[PUSHER_COUNT];
    struct jzx__rng rng;
    jzx__rng_init(&rng, 1);
    arena_init(&arena, NO_LIMIT, jzx_test_rounds(5000, 50000));
    start_pushers(&arena, pushers, threads, 3000);
    for (uint64_t i = 0; i < arena.lives; i++)
        live_and_close(&arena, pushers, &rng);
    join_pushers(pushers, threads);
}

/* Makes a request, nudges, and waits until it was seen, again and again. */
static void *request(void *ctx) {
    struct pusher *pusher = ctx;
    struct arena *arena = pusher->arena;
    uint32_t me = pusher->letters->pusher;
    for (uint64_t i = 1; i <= pusher->count; i++) {
        jzx__atomic_store_release(&arena->wanted[me], i);
        if (jzx__task_nudge(&arena->task) == JZX__PUSH_OK_INJECT)
            inject(arena);
        while (jzx__atomic_load_acquire(&arena->seen[me]) < i)
            sched_yield();
    }
    return NULL;
}

/* As a turn does: looks at the requests, and goes idle. Returns whether all were seen. */
static bool turn_with_requests(struct arena *arena, uint64_t each) {
    struct jzx__task *task = &arena->task;
    bool all;
    task->place = JZX__RUNNING;
    do {
        all = true;
        for (uint32_t i = 0; i < PUSHER_COUNT; i++) {
            uint64_t wanted = jzx__atomic_load_relaxed(&arena->wanted[i]);
            jzx__atomic_store_release(&arena->seen[i], wanted);
            all = all && wanted == each;
        }
    } while (!jzx__task_go_idle(task, word_of(task)));
    return all;
}

JZX_TEST(a_request_that_is_followed_by_a_nudge_is_seen_however_it_meets_the_turn) {
    struct arena arena;
    struct pusher pushers[PUSHER_COUNT];
    struct letter names[PUSHER_COUNT];
    pthread_t threads[PUSHER_COUNT];
    uint64_t each = jzx_test_rounds(5000, 50000);
    arena_init(&arena, NO_LIMIT, 1);
    for (uint32_t i = 0; i < PUSHER_COUNT; i++) {
        names[i].pusher = i;
        pushers[i] = (struct pusher){.arena = &arena, .letters = &names[i], .count = each};
        assert_int_equal(pthread_create(&threads[i], NULL, request, &pushers[i]), 0);
    }
    do {
        wait_for_entry(&arena); /* and never without: a request that is lost stays lost */
    } while (!turn_with_requests(&arena, each));
    for (uint32_t i = 0; i < PUSHER_COUNT; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}
