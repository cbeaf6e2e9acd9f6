/* SPDX-License-Identifier: MIT */
/* What other threads bring to a worker: entries (R4-R6 of the protocol), sleeping without missing
 * one (R14, R15), and the descriptor of a host that sleeps elsewhere. */
#include "child.h"
#include "rig.h"
#include "sched/idle.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>

/* ---- taking in ---- */

JZX_TEST(injected_tasks_are_taken_in_oldest_first_and_wait_their_turn) {
    rig_open();
    rig_wake("w");
    rig_inject("abc");
    jzx__worker_drain_inject(rig_worker(), 100);
    assert_string_equal(rig_run(100), "wabc");
    JZX_EXPECT_EQ(jzx__counter_get(&rig_worker()->counters.injected), 3);
    rig_close();
}

JZX_TEST(a_drain_takes_in_no_more_than_it_may_and_the_rest_comes_before_newer_ones) {
    rig_open();
    rig_inject("abcde");
    JZX_EXPECT(jzx__worker_has_work(rig_worker()));
    jzx__worker_drain_inject(rig_worker(), 2);
    assert_string_equal(rig_run(100), "ab");
    JZX_EXPECT(jzx__worker_has_work(rig_worker()));
    rig_inject("fg");
    jzx__worker_drain_inject(rig_worker(), 0);
    assert_string_equal(rig_run(100), "");
    jzx__worker_drain_inject(rig_worker(), 4);
    assert_string_equal(rig_run(100), "cdef");
    jzx__worker_drain_inject(rig_worker(), 4);
    assert_string_equal(rig_run(100), "g");
    JZX_EXPECT(!jzx__worker_has_work(rig_worker()));
    rig_close();
}

JZX_TEST(an_entry_gives_its_token_to_the_owner_and_ends_a_hand_over) {
    rig_open();
    struct jzx__task *task = rig_task('a');
    jzx__atomic_store_relaxed(&task->owner, jzx__worker_word(rig_worker()) | JZX__OWNER_OUT);
    JZX_EXPECT(!jzx__worker_owns(rig_worker(), task));
    rig_inject("a");
    JZX_EXPECT(!task->holds);
    JZX_EXPECT(!jzx__worker_owns(rig_worker(), task));
    jzx__worker_drain_inject(rig_worker(), 1);
    JZX_EXPECT(task->holds);
    JZX_EXPECT(jzx__task_is_scheduled(task));
    JZX_EXPECT(jzx__worker_owns(rig_worker(), task));
    JZX_EXPECT(jzx__task_inbox(task) & JZX__INBOX_TOKEN);
    rig_close();
}

JZX_TEST(an_entry_for_a_task_that_is_queued_queues_it_no_second_time) {
    rig_open();
    rig_wake("ab");
    rig_spawn("s");
    rig_inject("abs");
    jzx__worker_drain_inject(rig_worker(), 100);
    JZX_EXPECT(rig_task('a')->holds && rig_task('b')->holds && rig_task('s')->holds);
    assert_string_equal(rig_run(100), "bsa");
    rig_close();
}

JZX_TEST(the_inbox_stays_where_it_is_until_the_turn) {
    rig_open();
    rig_inject("a");
    jzx__worker_drain_inject(rig_worker(), 1);
    JZX_EXPECT(jzx__inbox_list(jzx__task_inbox(rig_task('a'))) == &rig.sent[0].node);
    JZX_EXPECT(rig_task('a')->head == NULL);
    rig_close();
}

JZX_TEST(the_last_entry_of_a_task_that_has_ended_frees_its_slot_and_runs_nothing) {
    rig_open();
    rig_inject("abc");
    rig_task('b')->entry = NULL; /* it has ended */
    jzx__worker_drain_inject(rig_worker(), 100);
    assert_string_equal(rig.freed, "b");
    JZX_EXPECT_EQ(jzx__task_inbox(rig_task('b')), JZX__INBOX_CLOSED); /* I6 */
    assert_string_equal(rig_run(100), "ac");
    JZX_EXPECT(!jzx__task_is_scheduled(rig_task('b')));
    rig_close();
}

/* The slot is used again at once, by another thread, for a task that is injected here. */
static void reuse_the_slot(struct jzx__task *task) {
    task->entry = rig_do_nothing;
    jzx__atomic_store_release(&task->inbox, JZX__INBOX_TOKEN);
    jzx__task_inject(task, NULL);
}

JZX_TEST(a_slot_that_is_injected_again_while_a_batch_is_taken_in_breaks_no_chain) {
    rig_open();
    rig.on_freed = reuse_the_slot;
    rig_inject("abc");
    rig_task('a')->entry = NULL;
    jzx__worker_drain_inject(rig_worker(), 100);
    assert_string_equal(rig.freed, "a");
    JZX_EXPECT_EQ(jzx__task_inbox(rig_task('a')), JZX__INBOX_TOKEN); /* open, as it was made */
    assert_string_equal(rig_run(100), "bca");
    rig_close();
}

static void inject_at_the_wrong_worker(void) {
    rig_open();
    static struct jzx__worker other;
    rig_inject("a");
    jzx__atomic_store_relaxed(&rig_task('a')->owner, jzx__worker_word(&other));
    jzx__worker_drain_inject(rig_worker(), 1);
}

static void inject_while_the_owner_holds(void) {
    rig_open();
    rig_inject("a");
    rig_task('a')->holds = true;
    jzx__worker_drain_inject(rig_worker(), 1);
}

JZX_TEST(an_entry_at_the_wrong_worker_or_beside_a_held_token_breaks_an_invariant) {
    struct child_end end = run_in_child(inject_at_the_wrong_worker);
    JZX_EXPECT(child_aborted(&end, "task.h:"));
    end = run_in_child(inject_while_the_owner_holds);
    JZX_EXPECT(child_aborted(&end, "holds"));
}

JZX_TEST(work_is_a_ready_task_an_entry_or_what_a_source_has) {
    struct jzx__mpsc_node node;
    rig_open();
    struct jzx__worker *me = rig_worker();
    JZX_EXPECT(!jzx__worker_has_work(me) && !jzx__worker_others_wait(me));
    rig_wake("a"); /* in the next-slot */
    JZX_EXPECT(jzx__worker_has_work(me) && jzx__worker_others_wait(me));
    rig_run(1);
    rig_spawn("a");
    JZX_EXPECT(jzx__worker_has_work(me) && jzx__worker_others_wait(me));
    rig_run(1);
    rig_inject("a");
    JZX_EXPECT(jzx__worker_has_work(me) && jzx__worker_others_wait(me));
    jzx__worker_drain_inject(me, 1); /* woken */
    JZX_EXPECT(jzx__worker_has_work(me) && jzx__worker_others_wait(me));
    rig_run(1);
    JZX_EXPECT(!jzx__worker_has_work(me));
    jzx__worker_bring(me, RIG_FEED, &node);
    JZX_EXPECT(jzx__worker_has_work(me));
    rig_close();
}

/* ---- sources ---- */

JZX_TEST(a_round_takes_from_every_source_then_polls_then_runs, "C+loop") {
    struct jzx__mpsc_node nodes[3];
    rig_open();
    for (int i = 0; i < 3; i++)
        jzx__worker_bring(rig_worker(), RIG_FEED, &nodes[i]);
    rig_inject("ab");
    rig_worker()->poll_due = true;
    JZX_EXPECT(jzx__worker_has_untaken(rig_worker()));
    JZX_EXPECT_EQ(jzx__crew_round(rig_worker(), 100), JZX__PASS_RAN);
    JZX_EXPECT_EQ(rig.brought, 3);
    JZX_EXPECT_EQ(rig.polls, 1);
    JZX_EXPECT_EQ(rig.brought_at_poll, 3); /* taken in before, */
    JZX_EXPECT_EQ(rig.turns_at_poll, 0);   /* and no actor ran yet */
    JZX_EXPECT_EQ(rig.turns, 2);
    assert_string_equal(rig.trace, "ab");
    JZX_EXPECT(!jzx__worker_has_untaken(rig_worker()));
    JZX_EXPECT_EQ(jzx__crew_round(rig_worker(), 100), JZX__PASS_EMPTY);
    JZX_EXPECT_EQ(rig.brought, 3);
    JZX_EXPECT_EQ(rig.polls, 1); /* it was not due again */
    rig_close();
}

JZX_TEST(entries_that_a_round_has_left_over_are_untaken) {
    rig_open();
    rig_inject("ab");
    jzx__worker_take_in_own(rig_worker(), 1);
    JZX_EXPECT(jzx__worker_has_untaken(rig_worker()));
    jzx__worker_take_in_own(rig_worker(), 1);
    JZX_EXPECT(!jzx__worker_has_untaken(rig_worker()));
    assert_string_equal(rig_run(9), "ab");
    rig_close();
}

JZX_TEST(a_run_goes_on_while_a_source_that_keeps_it_has_something) {
    struct jzx__mpsc_node node;
    rig_open();
    jzx__worker_count_exited(rig_worker(), false);
    JZX_EXPECT(jzx__sched_is_done(&rig.sched));
    jzx__worker_bring(rig_worker(), RIG_FEED, &node);
    JZX_EXPECT(!jzx__sched_is_done(&rig.sched));
    jzx__worker_take_in_above(rig_worker(), 1);
    JZX_EXPECT(jzx__sched_is_done(&rig.sched));
    rig_close();
}

static void bring_in_turn(struct jzx__task *task) {
    static struct jzx__mpsc_node node;
    if (task == rig_task('a'))
        jzx__mpsc_push(jzx__worker_queue(rig_worker(), RIG_FEED), &node);
    rig_tick(JZX__TICK_NS);
}

JZX_TEST(only_a_source_that_says_so_ends_a_pass_at_a_tick) {
    for (int urgent = 0; urgent < 2; urgent++) {
        rig_open();
        rig.sched.pass_enders = urgent ? 1u << RIG_FEED : 0;
        rig.on_turn = bring_in_turn;
        rig_wake("bca");
        assert_string_equal(rig_run(9), urgent ? "a" : "abc");
        rig_close();
    }
}

/* ---- sleeping ---- */

JZX_TEST(a_worker_for_which_something_came_does_not_sleep) {
    struct jzx__mpsc_node node;
    for (int what = 0; what < 4; what++) {
        rig_open();
        if (what == 0)
            rig_inject("a");
        else if (what == 1)
            jzx__worker_bring(rig_worker(), RIG_FEED, &node);
        else if (what == 2)
            jzx__sched_close(&rig.sched);
        else
            jzx__worker_count_exited(rig_worker(), false); /* the run is over */
        jzx__worker_idle(rig_worker());
        JZX_EXPECT_EQ(jzx__counter_get(&rig_worker()->counters.parked), 0);
        JZX_EXPECT_EQ(jzx__atomic_load_seq_cst(&rig_worker()->parker.state), JZX__AWAKE);
        rig_close();
    }
}

static void wait_until_asleep(void) {
    while (jzx__atomic_load_seq_cst(&rig_worker()->parker.state) == JZX__AWAKE)
        sched_yield();
}

static void *inject_a_when_asleep(void *ctx) {
    (void)ctx;
    wait_until_asleep();
    rig_inject("a");
    return NULL;
}

JZX_TEST(an_inject_wakes_a_worker_that_sleeps) {
    pthread_t thread;
    rig_open();
    assert_int_equal(pthread_create(&thread, NULL, inject_a_when_asleep, NULL), 0);
    while (!jzx__worker_has_work(rig_worker()))
        jzx__worker_idle(rig_worker());
    assert_int_equal(pthread_join(thread, NULL), 0);
    JZX_EXPECT_EQ(jzx__atomic_load_seq_cst(&rig_worker()->parker.state), JZX__AWAKE);
    jzx__worker_drain_inject(rig_worker(), 1);
    assert_string_equal(rig_run(1), "a");
    rig_close();
}

JZX_TEST(time_asleep_is_not_the_turns) {
    rig_open();
    rig_inject("a");
    jzx__clock_advance(&rig.sched.clock, 1000000000);
    jzx__worker_idle(rig_worker());
    rig_begin_turn();
    rig_tick(1);
    JZX_EXPECT(!rig_turn_is_over());
    rig_close();
}

/* Two threads send to a task each, as soon as what they sent before was taken. */

struct injector {
    char name;
    uint64_t rounds;
    _Atomic uint64_t done; /* nodes that its task took, written by the worker */
};

static struct injector injectors[2] = {{.name = 'a'}, {.name = 'b'}};

static void count_taken(struct jzx__task *task) {
    _Atomic uint64_t *done = &injectors[task - rig.tasks].done;
    jzx__atomic_store_release(done, jzx__atomic_load_relaxed(done) + rig.taken);
    rig.turns = 0; /* no trace */
}

static void *inject_round_after_round(void *ctx) {
    struct injector *injector = ctx;
    const char name[2] = {injector->name, '\0'};
    for (uint64_t i = 1; i <= injector->rounds; i++) {
        rig_inject(name);
        while (jzx__atomic_load_acquire(&injector->done) < i)
            sched_yield();
    }
    return NULL;
}

JZX_TEST(a_worker_that_sleeps_whenever_it_can_misses_no_entry) {
    pthread_t threads[2];
    uint64_t rounds = jzx_test_rounds(5000, 50000);
    rig_open();
    rig.on_turn = count_taken;
    for (int i = 0; i < 2; i++) {
        injectors[i].rounds = rounds;
        injectors[i].done = 0;
        assert_int_equal(pthread_create(&threads[i], NULL, inject_round_after_round, &injectors[i]),
                         0);
    }
    while (injectors[0].done < rounds || injectors[1].done < rounds) {
        jzx__worker_drain_inject(rig_worker(), 1);
        if (!rig_run_ready(rig_worker(), 1000) && !jzx__worker_has_work(rig_worker()))
            jzx__worker_idle(rig_worker());
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        JZX_EXPECT_EQ(injectors[i].done, rounds);
    }
    JZX_EXPECT(jzx__counter_get(&rig_worker()->counters.injected) <= 2 * rounds);
    rig_close();
}

/* ---- the descriptor of a host ---- */

static bool is_readable(int fd) {
    struct pollfd entry = {.fd = fd, .events = POLLIN};
    return poll(&entry, 1, 0) == 1 && (entry.revents & POLLIN) != 0;
}

JZX_TEST(the_descriptor_is_readable_while_there_is_work) {
    rig_open();
    int fd = jzx__parker_open_fd(&rig_worker()->parker);
    rig_wake("ab");
    jzx__worker_settle_fd(rig_worker());
    JZX_EXPECT(is_readable(fd));
    rig_run(1);
    jzx__worker_settle_fd(rig_worker());
    JZX_EXPECT(is_readable(fd));
    rig_run(1);
    jzx__worker_settle_fd(rig_worker());
    JZX_EXPECT(!is_readable(fd));
    rig_close();
}

JZX_TEST(the_descriptor_becomes_readable_when_another_thread_brings_something) {
    rig_open();
    int fd = jzx__parker_open_fd(&rig_worker()->parker);
    jzx__worker_settle_fd(rig_worker());
    JZX_EXPECT(!is_readable(fd));
    rig_inject("a");
    JZX_EXPECT(is_readable(fd));
    jzx__worker_drain_inject(rig_worker(), 1);
    rig_run(1);
    jzx__worker_settle_fd(rig_worker());
    JZX_EXPECT(!is_readable(fd));
    jzx__atomic_store_seq_cst(&rig.sched.stop, 1u);
    jzx__parker_wake(&rig_worker()->parker);
    JZX_EXPECT(is_readable(fd));
    rig_close();
}

JZX_TEST(what_came_before_the_host_sleeps_makes_the_descriptor_readable_at_once) {
    struct jzx__mpsc_node node;
    for (int what = 0; what < 3; what++) {
        rig_open();
        int fd = jzx__parker_open_fd(&rig_worker()->parker);
        if (what == 0)
            rig_inject("a");
        else if (what == 1)
            jzx__worker_bring(rig_worker(), RIG_FEED, &node);
        else
            jzx__atomic_store_seq_cst(&rig.sched.stop, 1u);
        jzx__worker_settle_fd(rig_worker());
        JZX_EXPECT(is_readable(fd));
        JZX_EXPECT_EQ(jzx__atomic_load_seq_cst(&rig_worker()->parker.state), JZX__AWAKE);
        rig_close();
    }
}
