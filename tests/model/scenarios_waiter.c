/* SPDX-License-Identifier: MIT */
/* src/sched/waiter.h and waiter.c: threads that block and a task on a real worker wait at boxes,
 * which other threads put items into, against deadlines, cancels and a kill.
 *
 * What every scenario checks: an item is in a box or was taken, once (A6); who was woken by an item
 * has it in its slot, and who was not has none; nobody sleeps beside what it waits for (A3); a
 * source is done with links, slots and waiters when their memory is used again (A4, A5), which is
 * a race here; nobody comes to an object that was deinited (A11): its lock is never free again. */
#include "scenarios.h"
#include "sched/idle.h"
#include "workers.h"

#include "sched/waiter.h"

#include "jzx/time.h"

#include <string.h>

#define O(number) ((uint64_t)1 << (number))

#define PARTIES_MAX 2
#define BOXES_MAX 2
#define WAITS_MAX 2
#define KILL 1u

struct box {
    struct jzx__source source; /* first */
    struct jzx__lock lock;
    unsigned items;
    bool closed;
    _Atomic uint32_t refs; /* of parties, where they are counted */
    unsigned memory;       /* given back by deinit */
};

struct party {
    struct jzx__waiter waiter;
    struct jzx__wait_link links[BOXES_MAX];
    unsigned slots[BOXES_MAX]; /* items that were handed over */
    unsigned waits;            /* that have ended, */
    uint32_t causes[WAITS_MAX];
    unsigned got; /* and the items of all of them */
};

static struct {
    struct box boxes[BOXES_MAX];
    struct party parties[PARTIES_MAX];
    struct jzx__clock clock;
    unsigned reason;         /* that a canceller gives */
    unsigned put;            /* items */
    unsigned wakes;          /* puts that had to wake somebody */
    unsigned handed;         /* puts that had somebody to hand the item to */
    unsigned again;          /* waits that were claimed for nothing */
    bool was_shown;          /* to a glance */
    struct jzx__wheel wheel; /* only its address is used */
    bool expires;            /* the wait of the task has a deadline, */
    bool has_expired;        /* which has come */
    bool has_begun;          /* its wait */
    bool puts_itself;        /* the task does, when it is armed */
    bool cancel_ended;       /* a wait, and knew it */
    unsigned deinited;       /* boxes; and deinits that found */
    unsigned busy;           /* one in use */
} s;

/* ---- boxes ---- */

static struct box *box_of(struct jzx__source *source) {
    return (struct box *)(void *)source;
}

static enum jzx__cause_kind look(struct jzx__source *source, const struct jzx__wait_link *link) {
    (void)link;
    model_plain_read(&box_of(source)->items);
    if (box_of(source)->items != 0)
        return JZX__CAUSE_ITEM;
    return box_of(source)->closed ? JZX__CAUSE_CLOSED : JZX__CAUSE_NONE;
}

static void fill(struct jzx__wait_link *link) {
    unsigned *slot = link->slot;
    model_plain_write(slot);
    (*slot)++;
}

static bool take(struct jzx__source *source, struct jzx__wait_link *link, struct jzx__wake *wake) {
    (void)wake;
    model_plain_write(&box_of(source)->items);
    box_of(source)->items--;
    fill(link);
    return true;
}

static const struct jzx__source_ops ops = {.look = look, .take = take};

/* The same for an object that can be deinited. */
static const struct jzx__source_ops counting = {
    .look = look, .take = take, .refs_at = JZX__REFS_AT(struct box, source, refs)};

/* As a channel would hand over an item, or keep it. */
static void put_as(struct jzx__worker *me, unsigned number) {
    struct box *box = &s.boxes[number];
    struct jzx__wake wake;
    s.put++;
    jzx__lock_acquire(&box->lock);
    struct jzx__wait_link *link = jzx__source_claim(&box->source, JZX__CAUSE_ITEM, &wake);
    model_plain_write(&box->items);
    if (link == NULL)
        box->items++;
    else if (!JZX__MUTANT(waiter_slot_after_unlock))
        fill(link);
    struct jzx__waiter *waiter = link != NULL ? link->waiter : NULL;
    jzx__lock_release(&box->lock);
    if (link != NULL && JZX__MUTANT(waiter_slot_after_unlock))
        fill(link);
    if (waiter != NULL && JZX__MUTANT(waiter_used_after_unlock)) {
        jzx__touch(&waiter->wake);
        wake = waiter->wake;
    }
    s.handed += link != NULL;
    s.wakes += wake.fn != NULL;
    jzx__wake_make(&wake, me);
}

static void put(unsigned number) {
    put_as(NULL, number);
}

static void close_box(unsigned number) {
    struct box *box = &s.boxes[number];
    jzx__lock_acquire(&box->lock);
    model_plain_write(&box->items);
    box->closed = true;
    jzx__lock_release(&box->lock);
    s.wakes += jzx__source_wake_all(&box->source, JZX__CAUSE_CLOSED, NULL);
}

/* As all objects are. */
static void deinit_box(unsigned number) {
    struct box *box = &s.boxes[number];
    jzx__lock_acquire(&box->lock);
    bool is_used = jzx__source_has_refs(&box->source);
    if (JZX__MUTANT(waiter_list_decides))
        is_used = !jzx__list_is_empty(&box->source.waiting);
    jzx__lock_release(&box->lock);
    if (is_used) {
        s.busy++;
        return;
    }
    jzx__source_deinit(&box->source);
    jzx__lock_deinit(&box->lock);
    model_plain_write(&box->memory);
    s.deinited++;
}

/* A rendezvous: who waits at the one is what there is for those who come to the other. */
static struct jzx__source *across(const struct jzx__source *source) {
    return &s.boxes[source == &s.boxes[0].source].source;
}

static enum jzx__cause_kind look_across(struct jzx__source *source,
                                        const struct jzx__wait_link *link) {
    (void)link;
    return jzx__list_is_empty(&across(source)->waiting) ? JZX__CAUSE_NONE : JZX__CAUSE_ITEM;
}

static bool meet(struct jzx__source *source, struct jzx__wait_link *link, struct jzx__wake *wake) {
    struct jzx__wait_link *other = jzx__source_claim(across(source), JZX__CAUSE_ITEM, wake);
    if (other == NULL)
        return false;
    s.put += 2; /* each has the other */
    fill(other);
    fill(link);
    return true;
}

static const struct jzx__source_ops meeting = {.look = look_across, .take = meet};

/* ---- waiting ---- */

static const char kinds[WAITS_MAX + 1]; /* which wait it is: as the object and the time */

static void begin(struct party *party, unsigned boxes) {
    struct jzx__waiter *waiter = &party->waiter;
    uint64_t epoch = jzx__waiter_epoch(waiter);
    jzx__waiter_begin(waiter, (struct jzx__wait_what){&kinds[epoch], epoch, epoch});
    for (unsigned i = 0; i < boxes; i++) {
        party->links[i].source = &s.boxes[i].source;
        party->links[i].slot = &party->slots[i];
        party->links[i].index = i;
    }
    jzx__waiter_join(waiter, party->links, boxes, NULL);
}

/* After the end all of it is the party's, and may be used for something else. */
static void use_again(struct party *party) {
    model_plain_write(&party->waiter.wake);
    for (unsigned i = 0; i < BOXES_MAX; i++) {
        model_plain_write(&party->links[i]);
        model_plain_write(&party->slots[i]);
    }
}

static void end(struct party *party) {
    uint32_t cause = jzx__waiter_end(&party->waiter);
    bool has_item = jzx__cause_kind(cause) == JZX__CAUSE_ITEM;
    use_again(party);
    for (unsigned i = 0; i < BOXES_MAX; i++) { /* A6 */
        MODEL_ASSERT(party->slots[i] == (has_item && jzx__cause_index(cause) == i));
        party->slots[i] = 0;
    }
    party->got += has_item;
    party->causes[party->waits++] = cause;
}

/* With a reason, if it was cancelled. Looks at it by the order of the call before alone. */
static void check_reason(struct party *party) {
    uint64_t word = jzx__atomic_load_relaxed(&party->waiter.word);
    if (jzx__cause_kind(jzx__wait_cause(word)) != JZX__CAUSE_CANCELLED)
        return;
    model_plain_read(&s.reason);
    MODEL_ASSERT(s.reason == 1);
}

static void wait_as_thread(struct party *party, unsigned boxes, uint64_t deadline_ns) {
    begin(party, boxes);
    if (jzx__waiter_arm(&party->waiter) == JZX__ARM_SUSPEND)
        jzx__waiter_block(&party->waiter, &s.clock, deadline_ns);
    check_reason(party);
    end(party);
}

/* ---- threads that wait ---- */

static struct party *const party_a = &s.parties[0];
static struct party *const party_b = &s.parties[1];

static void a_waits(void) {
    wait_as_thread(party_a, 1, JZX_NEVER);
}

static void a_waits_twice(void) {
    a_waits();
    a_waits();
}

/* Setting up has made the reference: a wait that begins is none of deinit's business. */
static void wait_and_release(struct party *party, uint64_t deadline_ns) {
    if (JZX__MUTANT(waiter_releases_too_early))
        jzx__sources_release(party->links, 1);
    wait_as_thread(party, 1, deadline_ns);
    model_plain_read(&s.boxes[0].memory); /* as who has a promise */
    if (!JZX__MUTANT(waiter_releases_too_early))
        jzx__sources_release(party->links, 1);
}

static void a_waits_at_object(void) {
    wait_and_release(party_a, JZX_NEVER);
}

static void a_waits_and_deinits(void) {
    wait_and_release(party_a, JZX_NEVER);
    deinit_box(0);
}

static void b_waits_at_object_until(void) {
    wait_and_release(party_b, 5);
}

static void a_waits_until(void) {
    wait_as_thread(party_a, 1, 5);
}

static void a_selects(void) {
    wait_as_thread(party_a, 2, JZX_NEVER);
}

static void a_selects_until(void) {
    wait_as_thread(party_a, 2, 5);
}

static void b_waits(void) {
    wait_as_thread(party_b, 1, JZX_NEVER);
}

static void b_waits_until(void) {
    wait_as_thread(party_b, 1, 5);
}

/* Comes to one side of the rendezvous until it has met somebody, or for a time. */
static void come(struct party *party, unsigned side) {
    struct jzx__wait_link *link = &party->links[0];
    enum jzx__cause_kind kind = JZX__CAUSE_AGAIN;
    model_may_sleep();
    while (kind == JZX__CAUSE_AGAIN) {
        jzx__waiter_begin(&party->waiter, (struct jzx__wait_what){kinds, 0, 0});
        *link = (struct jzx__wait_link){.source = &s.boxes[side].source, .slot = &party->slots[0]};
        jzx__waiter_join(&party->waiter, link, 1, NULL);
        if (jzx__waiter_arm(&party->waiter) == JZX__ARM_SUSPEND)
            jzx__waiter_block(&party->waiter, &s.clock, 5);
        kind = jzx__cause_kind(jzx__waiter_end(&party->waiter));
        s.again += kind == JZX__CAUSE_AGAIN;
    }
    use_again(party);
    MODEL_ASSERT(party->slots[0] == (kind == JZX__CAUSE_ITEM));
    party->waits++;
    party->got += party->slots[0];
}

static void a_comes(void) {
    come(party_a, 0);
}

static void b_comes(void) {
    come(party_b, 1);
}

/* ---- a task that waits ---- */

static struct jzx__task *const task = &workers.tasks[0];

static bool is_killed(void) {
    return (jzx__atomic_load_acquire(&task->state) & KILL) != 0;
}

/* As a fiber will: obeys, arms, and goes idle only if neither word has changed (I8). True when the
 * wait is over. */
static bool run_turn(struct jzx__worker *me) {
    struct jzx__waiter *waiter = &party_a->waiter;
    task->place = JZX__RUNNING;
    if (!s.has_begun) {
        s.has_begun = true;
        begin(party_a, 1);
        if (s.expires)
            jzx__waiter_set_deadline(waiter, &s.wheel, 1);
        if (jzx__waiter_arm(waiter) == JZX__ARM_CLAIMED) {
            end(party_a);
            return true;
        }
        if (s.puts_itself)
            put_as(me, 0);
        if (jzx__task_go_idle(task, jzx__task_inbox(task))) /* armed: needs no second look */
            return false;
    }
    for (;;) {
        if (is_killed())
            (void)jzx__waiter_withdraw(waiter, JZX__CAUSE_KILLED);
        if (jzx__waiter_cause(waiter) != 0) {
            end(party_a);
            return true;
        }
        if (jzx__task_go_idle(task, jzx__task_inbox(task)))
            return false;
    }
}

/* Drives worker 0 until the wait of its task is over. */
static void task_waits(void) {
    jzx__seat_of_thread = &workers.threads[0].seat;
    struct jzx__worker *me = jzx__seat_enter(jzx__seat_of_thread);
    bool is_over = false;
    jzx__worker_ready(me, task);
    while (!is_over) {
        jzx__worker_drain_inject(me, UINT32_MAX);
        if (jzx__order_choose(&me->order) != NULL) {
            is_over = run_turn(me);
        } else if (s.expires && !s.has_expired) {
            s.has_expired = true; /* as if it came off the wheel */
            MODEL_ASSERT(jzx__waiter_expire(&party_a->waiter, 1, me));
        } else {
            jzx__worker_idle(me);
        }
    }
}

/* ---- the others ---- */

static void put_0(void) {
    put(0);
}

static void put_1(void) {
    put(1);
}

static void put_two(void) {
    put(0);
    put(0);
}

static void close_0(void) {
    close_box(0);
}

static void put_and_deinit(void) {
    put(0);
    deinit_box(0);
}

/* As objects do: once it has unlocked, it comes back only for those it has a reference for. */
static void close_object(void) {
    struct box *box = &s.boxes[0];
    jzx__lock_acquire(&box->lock);
    model_plain_write(&box->items);
    box->closed = true;
    s.wakes += jzx__source_unlock_and_wake_all(&box->source, JZX__CAUSE_CLOSED, NULL);
}

static void cancel_first(void) {
    model_plain_write(&s.reason);
    s.reason = 1;
    s.cancel_ended = jzx__waiter_cancel(&party_a->waiter, 0, JZX__CAUSE_CANCELLED, NULL);
}

/* The same, and an item if it came too early. */
static void cancel_or_put(void) {
    cancel_first();
    if (!s.cancel_ended)
        put(0);
}

static void kill_task(void) {
    uint64_t state = jzx__atomic_load_relaxed(&task->state);
    while (!jzx__atomic_cas_acq_rel(&task->state, &state, state | KILL))
        continue;
    if (jzx__task_nudge(task) == JZX__PUSH_OK_INJECT)
        jzx__task_inject(task, NULL);
}

static void glance(void) {
    struct jzx__wait_what what;
    if (!jzx__waiter_glance(&party_a->waiter, &what))
        return;
    s.was_shown = true;
    MODEL_ASSERT(what.object == what.since_ns && what.kind == &kinds[what.object]);
}

/* ---- setting up ---- */

static void set_up_boxes(void) {
    jzx__clock_init_manual(&s.clock, 1);
    s.clock.is_real = true; /* a deadline passes when the engine lets a futex time out */
    for (unsigned i = 0; i < BOXES_MAX; i++) {
        jzx__lock_init(&s.boxes[i].lock);
        jzx__source_init(&s.boxes[i].source, &s.boxes[i].lock, &ops);
    }
}

static void set_up(void) {
    set_up_boxes();
    for (unsigned i = 0; i < PARTIES_MAX; i++)
        jzx__waiter_init_thread(&s.parties[i].waiter);
}

static void set_up_meeting(void) {
    set_up();
    for (unsigned i = 0; i < BOXES_MAX; i++)
        jzx__source_init(&s.boxes[i].source, &s.boxes[0].lock, &meeting);
}

static void set_up_object(void) {
    set_up();
    jzx__source_init(&s.boxes[0].source, &s.boxes[0].lock, &counting);
    s.parties[0].links[0].source = &s.boxes[0].source;
    jzx__sources_ref(s.parties[0].links, 1);
}

static void set_up_object_of_two(void) {
    set_up_object();
    s.parties[1].links[0].source = &s.boxes[0].source;
    jzx__sources_ref(s.parties[1].links, 1);
}

static void set_up_full(void) {
    set_up();
    s.boxes[0].items = 2;
    s.put = 2;
}

static void set_up_worker(void) {
    memset(&workers, 0, sizeof workers);
    workers_set_up(1, 1);
    set_up_boxes();
    jzx__waiter_init(&party_a->waiter, jzx__wake_task, task);
}

static void set_up_deadline(void) {
    set_up_worker();
    s.expires = true;
}

static void set_up_own_put(void) {
    set_up_worker();
    s.puts_itself = true;
}

/* ---- at the end ---- */

/* Every item is somewhere, once (A6), and no source knows anybody (A5). */
static void check_items(void) {
    unsigned there = 0;
    for (unsigned i = 0; i < BOXES_MAX; i++) {
        there += s.boxes[i].items;
        jzx__source_deinit(&s.boxes[i].source);
    }
    for (unsigned i = 0; i < PARTIES_MAX; i++)
        there += s.parties[i].got;
    MODEL_ASSERT(there == s.put);
}

/* Both have met or neither, and they do not wait beside each other. 0: they have not; 1: they have;
 * 2: one of them found the other just gone. */
static void check_meeting(void) {
    MODEL_ASSERT(party_a->got == party_b->got);
    MODEL_ASSERT(party_a->waits + party_b->waits != 0);
    MODEL_ASSERT(party_a->got == 0 || s.again == 0);
    model_outcome(s.again != 0 ? 2 : party_a->got);
}

/* How the first wait of A ended. */
static void check_kind(void) {
    check_items();
    MODEL_ASSERT(party_a->waits == 1);
    model_outcome(jzx__cause_kind(party_a->causes[0]));
}

/* 0: the item was there already; 1: claimed in ARMING; 2: in ARMED. */
static void check_claim(void) {
    check_items();
    MODEL_ASSERT(party_a->got == 1);
    model_outcome(s.handed + s.wakes);
}

/* Which box, and 2 if time was over. */
static void check_select(void) {
    check_items();
    bool has_item = jzx__cause_kind(party_a->causes[0]) == JZX__CAUSE_ITEM;
    model_outcome(has_item ? jzx__cause_index(party_a->causes[0]) : 2);
}

/* A cancel ends the wait that it is for, or none (A8). */
static void check_cancel(void) {
    check_items();
    bool cancelled = jzx__cause_kind(party_a->causes[0]) == JZX__CAUSE_CANCELLED;
    MODEL_ASSERT(cancelled == s.cancel_ended);
    MODEL_ASSERT(jzx__cause_kind(party_a->causes[1]) == JZX__CAUSE_ITEM);
    model_outcome(cancelled);
}

/* Both have heard of it, whether they waited then or came later; or A was too late for it. */
static void check_closed(void) {
    check_items();
    MODEL_ASSERT(jzx__cause_kind(party_a->causes[0]) == JZX__CAUSE_CLOSED);
    MODEL_ASSERT(jzx__cause_kind(party_b->causes[0]) == JZX__CAUSE_CLOSED ||
                 jzx__cause_kind(party_b->causes[0]) == JZX__CAUSE_TIMEOUT);
    model_outcome(s.wakes);
}

/* 0: the object was busy, 1: it was deinited. */
static void check_deinit(void) {
    check_items();
    MODEL_ASSERT(s.deinited + s.busy == 1);
    model_outcome(s.deinited);
}

static void check_glance(void) {
    check_items();
    model_outcome(s.was_shown);
}

#define WAITER .state = &s, .state_size = sizeof s

const struct model_scenario model_waiter[] = {
    {.name = "waiter_claim",
     .about = "A3: a claim before the wait, while it is arming, and when it is armed",
     .setup = set_up,
     .threads = {a_waits, put_0},
     .check = check_claim,
     .outcomes = O(0) | O(1) | O(2),
     .bounds = {.preemptions = 4, .stale = 3},
     WAITER},
    {.name = "waiter_claim_against_timeout",
     .about = "A1, A6: a thread times out, and its item goes to nobody",
     .setup = set_up,
     .threads = {a_waits_until, put_0},
     .check = check_kind,
     .outcomes = O(JZX__CAUSE_ITEM) | O(JZX__CAUSE_TIMEOUT),
     .bounds = {.preemptions = 4, .stale = 3},
     WAITER},
    {.name = "waiter_next_in_line",
     .about = "A6: a thread times out, and its item goes to the next",
     .setup = set_up,
     .threads = {a_waits_until, b_waits, put_two},
     .check = check_kind,
     .outcomes = O(JZX__CAUSE_ITEM) | O(JZX__CAUSE_TIMEOUT),
     WAITER},
    {.name = "waiter_select",
     .about = "A1, A6: two sources, one wait",
     .setup = set_up,
     .threads = {a_selects, put_0, put_1},
     .check = check_select,
     .outcomes = O(0) | O(1),
     WAITER},
    {.name = "waiter_select_against_timeout",
     .about = "the same with a deadline",
     .setup = set_up,
     .threads = {a_selects_until, put_1, put_0},
     .check = check_select,
     .outcomes = O(0) | O(1) | O(2),
     WAITER},
    {.name = "waiter_rendezvous",
     .about = "both sides are claimed or none, and who finds its partner gone waits again",
     .setup = set_up_meeting,
     .threads = {a_comes, b_comes},
     .check = check_meeting,
     .outcomes = O(0) | O(1) | O(2),
     .bounds = {.preemptions = 4, .stale = 3, .spurious = 2},
     WAITER},
    {.name = "waiter_waits_again",
     .about = "A4, A5: the waiter is used again while the wake of its last wait is under way",
     .setup = set_up,
     .threads = {a_waits_twice, put_0, put_0},
     .check = check_items,
     WAITER},
    {.name = "waiter_cancel",
     .about = "A8: a cancel ends the wait that it is for, and brings its reason",
     .setup = set_up,
     .threads = {a_waits_twice, put_two, cancel_first},
     .check = check_cancel,
     .outcomes = O(0) | O(1),
     WAITER},
    {.name = "waiter_cancel_or_claim",
     .about = "the same for one wait, which may be arming",
     .setup = set_up,
     .threads = {a_waits, cancel_or_put},
     .check = check_kind,
     .outcomes = O(JZX__CAUSE_ITEM) | O(JZX__CAUSE_CANCELLED),
     .bounds = {.preemptions = 4, .stale = 3},
     WAITER},
    {.name = "waiter_closed_source",
     .about = "all that wait are woken, and those that time out are not",
     .setup = set_up,
     .threads = {a_waits, b_waits_until, close_0},
     .check = check_closed,
     .outcomes = O(0) | O(1) | O(2),
     WAITER},
    {.name = "waiter_glance",
     .about = "a dump shows one wait, not a mixture of two",
     .setup = set_up_full,
     .threads = {a_waits_twice, glance},
     .check = check_glance,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 3, .stale = 4},
     WAITER},
    {.name = "waiter_deinit",
     .about = "A11: whoever lets the last party go finds the object busy until that has left",
     .setup = set_up_object,
     .threads = {a_waits_at_object, put_and_deinit},
     .check = check_deinit,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 4, .stale = 3},
     WAITER},
    {.name = "waiter_deinit_by_a_party",
     .about = "A11: a party deinits while another may still wait, and while both are let go",
     .setup = set_up_object_of_two,
     .threads = {a_waits_and_deinits, b_waits_at_object_until, close_object},
     .check = check_deinit,
     .outcomes = O(0) | O(1),
     WAITER},
    {.name = "waiter_task_claim",
     .about = "A3, I8: a claim against a task that goes idle",
     .setup = set_up_worker,
     .threads = {task_waits, put_0},
     .check = check_claim,
     .outcomes = O(0) | O(1) | O(2),
     .bounds = {.preemptions = 3, .stale = 3},
     WAITER},
    {.name = "waiter_task_claim_against_kill",
     .about = "A1: the owner obeys a kill while a source claims",
     .setup = set_up_worker,
     .threads = {task_waits, put_0, kill_task},
     .check = check_kind,
     .outcomes = O(JZX__CAUSE_ITEM) | O(JZX__CAUSE_KILLED),
     WAITER},
    {.name = "waiter_task_claim_against_deadline",
     .about = "A1, A7: the wheel of the home worker against a source",
     .setup = set_up_deadline,
     .threads = {task_waits, put_0},
     .check = check_kind,
     .outcomes = O(JZX__CAUSE_ITEM) | O(JZX__CAUSE_TIMEOUT),
     .bounds = {.preemptions = 3, .stale = 3},
     WAITER},
    {.name = "waiter_task_claims_itself",
     .about = "A3: a task that is armed claims its own wait in its turn, or another does",
     .setup = set_up_own_put,
     .threads = {task_waits, put_0},
     .check = check_kind,
     .outcomes = O(JZX__CAUSE_ITEM),
     .bounds = {.preemptions = 3, .stale = 3},
     WAITER},
};
const size_t model_waiter_count = sizeof model_waiter / sizeof *model_waiter;
