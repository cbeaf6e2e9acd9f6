/* SPDX-License-Identifier: MIT */
/* The waiter: each edge of its word, sources and their lists, deadlines on a wheel and on that of a
 * worker, and the two wakers of the scheduler (invariants A1-A9 of waiter.h). */
#include "sched/waiter.h"

#include "base/clock.h"
#include "timer/timer.h"

#include "rig.h"

#include <pthread.h>
#include <sched.h>

#define BOXES 3u
#define PARTIES 4u

static const struct jzx__wait_what nothing = {"nothing", 0, 0};

/* ---- boxes: sources that keep numbers, and parties that note their wakes ---- */

struct box {
    struct jzx__source source; /* first */
    struct jzx__lock lock;
    uint32_t items[8];
    uint32_t count;
    bool closed;
    struct jzx__wake on_take; /* who is woken when one is taken */
};

struct party {
    struct jzx__waiter waiter;
    struct jzx__wait_link links[BOXES];
    uint32_t slots[BOXES];
    uint32_t woken;
};

static struct box boxes[BOXES];
static struct party parties[PARTIES];

static struct box *box_of(struct jzx__source *source) {
    return (struct box *)(void *)source;
}

static enum jzx__cause_kind look(struct jzx__source *source, const struct jzx__wait_link *link) {
    (void)link;
    if (box_of(source)->count != 0)
        return JZX__CAUSE_ITEM;
    return box_of(source)->closed ? JZX__CAUSE_CLOSED : JZX__CAUSE_NONE;
}

static bool take(struct jzx__source *source, struct jzx__wait_link *link, struct jzx__wake *wake) {
    struct box *box = box_of(source);
    *(uint32_t *)link->slot = box->items[0];
    box->count--;
    memmove(box->items, box->items + 1, box->count * sizeof *box->items);
    *wake = box->on_take;
    return true;
}

static void note_wake(void *who, struct jzx__worker *me) {
    (void)me;
    ((struct party *)who)->woken++;
}

static void open_boxes(void) {
    static const struct jzx__source_ops ops = {.look = look, .take = take};
    memset(boxes, 0, sizeof boxes);
    memset(parties, 0, sizeof parties);
    for (uint32_t i = 0; i < BOXES; i++) {
        jzx__lock_init(&boxes[i].lock);
        jzx__source_init(&boxes[i].source, &boxes[i].lock, &ops);
    }
    for (uint32_t i = 0; i < PARTIES; i++)
        jzx__waiter_init(&parties[i].waiter, note_wake, &parties[i]);
}

static void close_boxes(void) {
    for (uint32_t i = 0; i < BOXES; i++) {
        jzx__source_deinit(&boxes[i].source); /* nobody waits there any more */
        jzx__lock_deinit(&boxes[i].lock);
    }
}

/* Hands the item to whoever waits first, or keeps it; true if somebody got it. */
static bool put(struct box *box, uint32_t item) {
    struct jzx__wake wake;
    jzx__lock_acquire(&box->lock);
    struct jzx__wait_link *link = jzx__source_claim(&box->source, JZX__CAUSE_ITEM, &wake);
    if (link != NULL)
        *(uint32_t *)link->slot = item;
    else
        box->items[box->count++] = item;
    jzx__lock_release(&box->lock);
    jzx__wake_make(&wake, NULL);
    return link != NULL;
}

/* Joins the first boxes, and arms. */
static enum jzx__arm_result wait_at(struct party *party, uint32_t count) {
    jzx__waiter_begin(&party->waiter, nothing);
    for (uint32_t i = 0; i < count; i++)
        party->links[i] = (struct jzx__wait_link){
            .source = &boxes[i].source, .slot = &party->slots[i], .index = i};
    jzx__waiter_join(&party->waiter, party->links, count, NULL);
    return jzx__waiter_arm(&party->waiter);
}

/* Ends the wait, after which its memory is used for something else; the kind of the cause. */
static enum jzx__cause_kind end(struct party *party) {
    uint32_t cause = jzx__waiter_end(&party->waiter);
    memset(party->links, 0xA5, sizeof party->links);
    return jzx__cause_kind(cause);
}

static uint64_t word_of(struct jzx__waiter *waiter) {
    return jzx__atomic_load_relaxed(&waiter->word);
}

static enum jzx__wait_phase phase_of(struct jzx__waiter *waiter) {
    return jzx__wait_phase(word_of(waiter));
}

static const uint32_t some_cause = 0x050007; /* CANCELLED, by the seventh link */

/* ---- the edges ---- */

JZX_TEST(the_word_keeps_epoch_cause_and_phase_apart) {
    uint32_t cause = jzx__cause_make(JZX__CAUSE_KILLED, JZX__WAIT_LINKS_MAX);
    uint64_t word = jzx__wait_word(UINT32_MAX, cause, JZX__WAIT_CLAIMED);
    assert_int_equal(jzx__wait_epoch(word), UINT32_MAX);
    assert_int_equal(jzx__wait_phase(word), JZX__WAIT_CLAIMED);
    assert_int_equal(jzx__cause_kind(jzx__wait_cause(word)), JZX__CAUSE_KILLED);
    assert_int_equal(jzx__cause_index(jzx__wait_cause(word)), JZX__WAIT_LINKS_MAX);
    word = jzx__wait_word(0, jzx__cause_make(JZX__CAUSE_ITEM, 0), JZX__WAIT_IDLE);
    assert_int_equal(jzx__wait_epoch(word), 0);
    assert_int_equal(jzx__wait_cause(word), jzx__cause_make(JZX__CAUSE_ITEM, 0));
}

JZX_TEST(a_claim_of_an_armed_wait_has_to_wake) {
    struct jzx__waiter waiter;
    jzx__waiter_init(&waiter, note_wake, NULL);
    uint32_t epoch = jzx__waiter_begin(&waiter, nothing);
    assert_int_equal(phase_of(&waiter), JZX__WAIT_ARMING);
    assert_int_equal(jzx__waiter_arm(&waiter), JZX__ARM_SUSPEND);
    assert_int_equal(phase_of(&waiter), JZX__WAIT_ARMED);
    assert_int_equal(jzx__waiter_cause(&waiter), 0);
    assert_int_equal(jzx__waiter_claim(&waiter, epoch, some_cause), JZX__CLAIM_WAKE);
    assert_int_equal(phase_of(&waiter), JZX__WAIT_CLAIMED);
    assert_int_equal(jzx__waiter_cause(&waiter), some_cause);
    assert_int_equal(jzx__waiter_end(&waiter), some_cause);
    assert_int_equal(word_of(&waiter), jzx__wait_word(epoch + 1, 0, JZX__WAIT_IDLE));
}

JZX_TEST(a_claim_while_arming_wakes_nobody_and_the_party_does_not_suspend) {
    struct jzx__waiter waiter;
    jzx__waiter_init(&waiter, note_wake, NULL);
    uint32_t epoch = jzx__waiter_begin(&waiter, nothing);
    assert_int_equal(jzx__waiter_claim(&waiter, epoch, some_cause), JZX__CLAIM_WON);
    assert_int_equal(jzx__waiter_arm(&waiter), JZX__ARM_CLAIMED);
    assert_int_equal(jzx__waiter_end(&waiter), some_cause);
}

JZX_TEST(of_several_claims_the_first_wins_and_its_cause_stays) {
    struct jzx__waiter waiter;
    jzx__waiter_init(&waiter, note_wake, NULL);
    uint32_t epoch = jzx__waiter_begin(&waiter, nothing);
    jzx__waiter_arm(&waiter);
    assert_int_equal(jzx__waiter_claim(&waiter, epoch, some_cause), JZX__CLAIM_WAKE);
    assert_int_equal(jzx__waiter_claim(&waiter, epoch, some_cause + 1), JZX__CLAIM_LOST);
    assert_false(jzx__waiter_withdraw(&waiter, JZX__CAUSE_KILLED));
    assert_int_equal(jzx__waiter_end(&waiter), some_cause);
}

JZX_TEST(a_claim_for_a_wait_that_is_over_or_has_not_begun_is_lost) {
    struct jzx__waiter waiter;
    jzx__waiter_init(&waiter, note_wake, NULL);
    assert_int_equal(jzx__waiter_claim(&waiter, 0, some_cause), JZX__CLAIM_LOST);
    uint32_t first = jzx__waiter_begin(&waiter, nothing);
    assert_int_equal(jzx__waiter_claim(&waiter, first + 1, some_cause), JZX__CLAIM_LOST);
    assert_true(jzx__waiter_withdraw(&waiter, JZX__CAUSE_CANCELLED));
    jzx__waiter_end(&waiter);
    uint32_t second = jzx__waiter_begin(&waiter, nothing);
    assert_int_equal(second, first + 1);
    assert_int_equal(jzx__waiter_claim(&waiter, first, some_cause), JZX__CLAIM_LOST);
    jzx__waiter_arm(&waiter);
    assert_int_equal(jzx__waiter_claim(&waiter, first, some_cause), JZX__CLAIM_LOST);
    assert_int_equal(jzx__waiter_claim(&waiter, second, some_cause), JZX__CLAIM_WAKE);
    jzx__waiter_end(&waiter);
}

JZX_TEST(the_epoch_wraps_around) {
    struct jzx__waiter waiter;
    jzx__waiter_init(&waiter, note_wake, NULL);
    jzx__atomic_store_relaxed(&waiter.word, jzx__wait_word(UINT32_MAX, 0, JZX__WAIT_IDLE));
    assert_int_equal(jzx__waiter_begin(&waiter, nothing), UINT32_MAX);
    assert_int_equal(jzx__waiter_arm(&waiter), JZX__ARM_SUSPEND);
    assert_int_equal(jzx__waiter_claim(&waiter, UINT32_MAX, some_cause), JZX__CLAIM_WAKE);
    assert_int_equal(jzx__waiter_end(&waiter), some_cause);
    assert_int_equal(word_of(&waiter), 0);
    assert_int_equal(jzx__waiter_begin(&waiter, nothing), 0);
    assert_int_equal(jzx__waiter_claim(&waiter, UINT32_MAX, some_cause), JZX__CLAIM_LOST);
    assert_true(jzx__waiter_withdraw(&waiter, JZX__CAUSE_KILLED));
    jzx__waiter_end(&waiter);
}

JZX_TEST(a_cancel_wakes_who_is_armed_and_is_told_if_it_was_late) {
    open_boxes();
    struct party *party = &parties[0];
    uint32_t epoch = jzx__waiter_epoch(&party->waiter);
    assert_int_equal(wait_at(party, 1), JZX__ARM_SUSPEND);
    assert_true(jzx__waiter_cancel(&party->waiter, epoch, JZX__CAUSE_CANCELLED, NULL));
    assert_false(jzx__waiter_cancel(&party->waiter, epoch, JZX__CAUSE_CANCELLED, NULL));
    assert_int_equal(party->woken, 1);
    assert_int_equal(end(party), JZX__CAUSE_CANCELLED);
    assert_false(jzx__waiter_cancel(&party->waiter, epoch, JZX__CAUSE_CANCELLED, NULL));
    jzx__waiter_begin(&party->waiter, nothing);
    assert_true(jzx__waiter_cancel(&party->waiter, epoch + 1, JZX__CAUSE_CANCELLED, NULL));
    assert_int_equal(party->woken, 1); /* it was arming */
    assert_int_equal(end(party), JZX__CAUSE_CANCELLED);
    close_boxes();
}

/* ---- sources ---- */

JZX_TEST(items_go_to_who_waits_in_the_order_of_their_coming) {
    open_boxes();
    for (uint32_t i = 0; i < PARTIES; i++)
        assert_int_equal(wait_at(&parties[i], 1), JZX__ARM_SUSPEND);
    for (uint32_t i = 0; i < PARTIES; i++) {
        assert_true(put(&boxes[0], 100 + i));
        for (uint32_t k = 0; k < PARTIES; k++)
            assert_int_equal(parties[k].woken, k <= i);
    }
    assert_false(put(&boxes[0], 200)); /* nobody is left: the box keeps it */
    for (uint32_t i = 0; i < PARTIES; i++) {
        assert_int_equal(end(&parties[i]), JZX__CAUSE_ITEM);
        assert_int_equal(parties[i].slots[0], 100 + i);
    }
    assert_int_equal(boxes[0].count, 1);
    close_boxes();
}

JZX_TEST(an_offer_passes_by_who_cannot_be_claimed_any_more) {
    open_boxes();
    for (uint32_t i = 0; i < 3; i++)
        wait_at(&parties[i], 1);
    assert_true(jzx__waiter_withdraw(&parties[0].waiter, JZX__CAUSE_TIMEOUT));
    assert_true(jzx__waiter_cancel(&parties[1].waiter, 0, JZX__CAUSE_CANCELLED, NULL));
    assert_true(put(&boxes[0], 7));
    assert_int_equal(parties[0].woken, 0);
    assert_int_equal(parties[1].woken, 1); /* by the cancel */
    assert_int_equal(parties[2].woken, 1);
    assert_int_equal(end(&parties[0]), JZX__CAUSE_TIMEOUT);
    assert_int_equal(end(&parties[1]), JZX__CAUSE_CANCELLED);
    assert_int_equal(end(&parties[2]), JZX__CAUSE_ITEM);
    assert_int_equal(parties[0].slots[0] + parties[1].slots[0], 0);
    assert_int_equal(parties[2].slots[0], 7);
    close_boxes();
}

JZX_TEST(a_wait_that_timed_out_has_consumed_nothing) {
    open_boxes();
    wait_at(&parties[0], 1);
    assert_true(jzx__waiter_withdraw(&parties[0].waiter, JZX__CAUSE_TIMEOUT));
    assert_false(put(&boxes[0], 7)); /* it stands in the list, but is passed by */
    assert_int_equal(boxes[0].count, 1);
    assert_int_equal(end(&parties[0]), JZX__CAUSE_TIMEOUT);
    assert_int_equal(wait_at(&parties[1], 1), JZX__ARM_CLAIMED);
    assert_int_equal(end(&parties[1]), JZX__CAUSE_ITEM);
    assert_int_equal(parties[1].slots[0], 7);
    close_boxes();
}

JZX_TEST(who_leaves_from_the_middle_of_the_list_breaks_nothing) {
    open_boxes();
    for (uint32_t i = 0; i < PARTIES; i++)
        wait_at(&parties[i], 1);
    assert_true(jzx__waiter_withdraw(&parties[1].waiter, JZX__CAUSE_TIMEOUT));
    assert_int_equal(end(&parties[1]), JZX__CAUSE_TIMEOUT);
    assert_int_equal(wait_at(&parties[1], 1), JZX__ARM_SUSPEND); /* again, at the end now */
    static const uint32_t order[PARTIES] = {0, 2, 3, 1};
    for (uint32_t i = 0; i < PARTIES; i++) {
        assert_true(put(&boxes[0], i));
        assert_int_equal(end(&parties[order[i]]), JZX__CAUSE_ITEM);
        assert_int_equal(parties[order[i]].slots[0], i);
    }
    close_boxes();
}

/* ---- select ---- */

JZX_TEST(a_select_takes_the_first_that_is_there_and_joins_no_further) {
    open_boxes();
    put(&boxes[1], 11);
    put(&boxes[2], 12);
    boxes[1].on_take = (struct jzx__wake){note_wake, &parties[3]};
    assert_int_equal(wait_at(&parties[0], BOXES), JZX__ARM_CLAIMED);
    assert_int_equal(jzx__cause_index(jzx__waiter_cause(&parties[0].waiter)), 1);
    assert_int_equal(parties[3].woken, 1); /* there is room in the box now */
    assert_true(jzx__list_is_empty(&boxes[2].source.waiting));
    assert_false(put(&boxes[0], 10)); /* it stands there, but its wait is over */
    assert_int_equal(end(&parties[0]), JZX__CAUSE_ITEM);
    assert_int_equal(parties[0].slots[1], 11);
    assert_int_equal(parties[0].slots[0] + parties[0].slots[2], 0);
    assert_int_equal(parties[0].woken, 0);
    assert_int_equal(boxes[0].count, 1);
    assert_int_equal(boxes[1].count, 0);
    assert_int_equal(boxes[2].count, 1);
    close_boxes();
}

JZX_TEST(of_several_sources_one_wins_and_the_others_keep_their_items) {
    open_boxes();
    assert_int_equal(wait_at(&parties[0], BOXES), JZX__ARM_SUSPEND);
    assert_int_equal(wait_at(&parties[1], 1), JZX__ARM_SUSPEND);
    assert_true(put(&boxes[2], 12));
    assert_true(put(&boxes[0], 10)); /* to the next there */
    assert_false(put(&boxes[1], 11));
    assert_int_equal(parties[0].woken, 1);
    assert_int_equal(parties[1].woken, 1);
    uint32_t cause = jzx__waiter_cause(&parties[0].waiter);
    assert_int_equal(cause, jzx__cause_make(JZX__CAUSE_ITEM, 2));
    assert_int_equal(end(&parties[0]), JZX__CAUSE_ITEM);
    assert_int_equal(end(&parties[1]), JZX__CAUSE_ITEM);
    assert_int_equal(parties[0].slots[2], 12);
    assert_int_equal(parties[1].slots[0], 10);
    assert_int_equal(boxes[1].count, 1);
    close_boxes();
}

JZX_TEST(the_same_source_may_be_selected_twice) {
    open_boxes();
    struct party *party = &parties[0];
    jzx__waiter_begin(&party->waiter, nothing);
    for (uint32_t i = 0; i < 2; i++)
        party->links[i] = (struct jzx__wait_link){
            .source = &boxes[0].source, .slot = &party->slots[i], .index = 40 + i};
    jzx__waiter_join(&party->waiter, party->links, 2, NULL);
    assert_int_equal(jzx__waiter_arm(&party->waiter), JZX__ARM_SUSPEND);
    assert_true(put(&boxes[0], 1));
    assert_false(put(&boxes[0], 2));
    assert_int_equal(jzx__cause_index(jzx__waiter_end(&party->waiter)), 40);
    assert_int_equal(party->slots[0], 1);
    assert_int_equal(party->slots[1], 0);
    close_boxes();
}

JZX_TEST(a_closed_source_wakes_all_and_turns_away_who_comes) {
    open_boxes();
    wait_at(&parties[0], 1);
    wait_at(&parties[1], BOXES);
    wait_at(&parties[2], 1);
    assert_true(jzx__waiter_withdraw(&parties[0].waiter, JZX__CAUSE_TIMEOUT));
    boxes[0].closed = true;
    assert_int_equal(jzx__source_wake_all(&boxes[0].source, JZX__CAUSE_CLOSED, NULL), 2);
    assert_int_equal(parties[0].woken, 0);
    assert_int_equal(parties[1].woken, 1);
    assert_int_equal(end(&parties[0]), JZX__CAUSE_TIMEOUT);
    assert_int_equal(end(&parties[1]), JZX__CAUSE_CLOSED);
    assert_int_equal(end(&parties[2]), JZX__CAUSE_CLOSED);
    assert_int_equal(wait_at(&parties[3], BOXES), JZX__ARM_CLAIMED);
    assert_int_equal(end(&parties[3]), JZX__CAUSE_CLOSED);
    assert_int_equal(jzx__source_wake_all(&boxes[1].source, JZX__CAUSE_CLOSED, NULL), 0);
    close_boxes();
}

/* ---- a rendezvous: two sources with one lock, whose parties are each other's items ---- */

static struct jzx__source sides[2]; /* senders, receivers */

static struct jzx__source *other_side(const struct jzx__source *source) {
    return &sides[source == &sides[0]];
}

static enum jzx__cause_kind look_across(struct jzx__source *source,
                                        const struct jzx__wait_link *link) {
    (void)link;
    bool is_empty = jzx__list_is_empty(&other_side(source)->waiting);
    return is_empty ? JZX__CAUSE_NONE : JZX__CAUSE_ITEM;
}

static bool meet(struct jzx__source *source, struct jzx__wait_link *link, struct jzx__wake *wake) {
    struct jzx__wait_link *other = jzx__source_claim(other_side(source), JZX__CAUSE_ITEM, wake);
    if (other == NULL)
        return false;
    bool sends = source == &sides[0];
    *(uint32_t *)(sends ? other : link)->slot = *(uint32_t *)(sends ? link : other)->slot;
    return true;
}

static enum jzx__arm_result wait_for(struct party *party, uint32_t side, uint32_t value) {
    party->slots[0] = value;
    party->links[0] = (struct jzx__wait_link){.source = &sides[side], .slot = &party->slots[0]};
    jzx__waiter_begin(&party->waiter, nothing);
    jzx__waiter_join(&party->waiter, party->links, 1, NULL);
    return jzx__waiter_arm(&party->waiter);
}

JZX_TEST(who_meets_a_partner_that_has_just_gone_waits_again) {
    static const struct jzx__source_ops ops = {.look = look_across, .take = meet};
    struct jzx__lock lock;
    open_boxes();
    jzx__lock_init(&lock);
    jzx__source_init(&sides[0], &lock, &ops);
    jzx__source_init(&sides[1], &lock, &ops);
    assert_int_equal(wait_for(&parties[0], 0, 7), JZX__ARM_SUSPEND);
    assert_true(jzx__waiter_withdraw(&parties[0].waiter, JZX__CAUSE_TIMEOUT));
    assert_int_equal(wait_for(&parties[1], 1, 0), JZX__ARM_CLAIMED);
    assert_int_equal(end(&parties[1]), JZX__CAUSE_AGAIN);
    assert_int_equal(wait_for(&parties[1], 1, 0), JZX__ARM_SUSPEND);
    assert_int_equal(end(&parties[0]), JZX__CAUSE_TIMEOUT);
    assert_int_equal(wait_for(&parties[0], 0, 8), JZX__ARM_CLAIMED);
    assert_int_equal(end(&parties[0]), JZX__CAUSE_ITEM);
    assert_int_equal(parties[1].woken, 1);
    assert_int_equal(end(&parties[1]), JZX__CAUSE_ITEM);
    assert_int_equal(parties[1].slots[0], 8);
    jzx__source_deinit(&sides[0]);
    jzx__source_deinit(&sides[1]);
    jzx__lock_deinit(&lock);
    close_boxes();
}

/* ---- deadlines ---- */

JZX_TEST(a_deadline_ends_the_wait_or_goes_off_the_wheel_with_it) {
    const jzx_allocator allocator = fixture_allocator();
    struct jzx__wheel wheel;
    open_boxes();
    assert_true(jzx__wheel_init(&wheel, JZX__WHEEL_SHAPE, 0, &allocator));
    for (uint32_t i = 0; i < 3; i++) {
        wait_at(&parties[i], 1);
        jzx__waiter_set_deadline(&parties[i].waiter, &wheel, 10 + i);
        assert_true(jzx__wheel_set(&wheel, &parties[i].waiter.deadline, 10 + i));
    }
    assert_true(put(&boxes[0], 7)); /* to the first: it ends before its time */
    assert_int_equal(end(&parties[0]), JZX__CAUSE_ITEM);
    assert_int_equal(wheel.count, 2);
    struct jzx__wheel_entry *entry = jzx__wheel_pop(&wheel, 11);
    assert_int_equal(jzx__wheel_spare(entry), JZX__WHEEL_WAITER);
    assert_ptr_equal(jzx__waiter_of_entry(entry), &parties[1].waiter);
    assert_true(jzx__waiter_expire(&parties[1].waiter, 11, NULL));
    assert_int_equal(parties[1].woken, 1);
    assert_int_equal(end(&parties[1]), JZX__CAUSE_TIMEOUT);
    assert_true(put(&boxes[0], 8)); /* to the third, which has not seen it when its time comes */
    assert_ptr_equal(jzx__wheel_pop(&wheel, 12), &parties[2].waiter.deadline);
    assert_true(jzx__waiter_expire(&parties[2].waiter, 12, NULL));
    assert_int_equal(parties[2].woken, 1);
    assert_int_equal(end(&parties[2]), JZX__CAUSE_ITEM);
    assert_int_equal(wheel.count, 0);
    jzx__wheel_deinit(&wheel);
    close_boxes();
}

JZX_TEST(a_deadline_that_comes_out_early_is_to_be_set_again) {
    const jzx_allocator allocator = fixture_allocator();
    struct jzx__wheel wheel;
    open_boxes();
    assert_true(jzx__wheel_init(&wheel, JZX__WHEEL_SHAPE, 0, &allocator));
    wait_at(&parties[0], 1);
    jzx__waiter_set_deadline(&parties[0].waiter, &wheel, 100);
    assert_false(jzx__waiter_expire(&parties[0].waiter, 99, NULL));
    assert_int_equal(parties[0].woken, 0);
    assert_true(jzx__waiter_expire(&parties[0].waiter, 100, NULL));
    assert_int_equal(parties[0].woken, 1);
    assert_int_equal(end(&parties[0]), JZX__CAUSE_TIMEOUT);
    jzx__wheel_deinit(&wheel);
    close_boxes();
}

/* On the wheel of a worker, among its timers. */
enum { SLEEPERS = 5 };

static struct {
    jzx_clock *clock;
    struct jzx__waiter waiters[SLEEPERS];
    uint32_t woken[SLEEPERS];
    uint64_t at_ms[SLEEPERS];
    jzx_timer_id timer; /* that the first to wake cancels */
    uint32_t messages;
} sleepers;

static void sleep_until(struct jzx__worker *me, struct jzx__waiter *waiter, uint64_t due_ns) {
    jzx__waiter_begin(waiter, (struct jzx__wait_what){"time", due_ns, 0});
    jzx__timers_set_deadline(me, waiter, due_ns);
    JZX_EXPECT_EQ(jzx__waiter_arm(waiter), JZX__ARM_SUSPEND);
}

static void wake_sleeper(void *who, struct jzx__worker *me) {
    struct jzx__waiter *waiter = who;
    ptrdiff_t number = waiter - sleepers.waiters;
    sleepers.woken[number]++;
    sleepers.at_ms[number] = jzx_clock_now(sleepers.clock) / JZX_MS(1);
    JZX_EXPECT_EQ(jzx__cause_kind(jzx__waiter_end(waiter)), JZX__CAUSE_TIMEOUT);
    if (number == 0) {
        struct jzx__waiter *behind = &sleepers.waiters[3]; /* due at the same tick */
        JZX_EXPECT(jzx__waiter_withdraw(behind, JZX__CAUSE_KILLED));
        JZX_EXPECT_EQ(jzx__cause_kind(jzx__waiter_end(behind)), JZX__CAUSE_KILLED);
        JZX_EXPECT_EQ(jzx_timer_cancel(jzx__loop_of(me), sleepers.timer), JZX_OK);
    }
    if (number == 1 && sleepers.woken[1] == 1) /* again, from inside */
        sleep_until(me, waiter, jzx_clock_now(sleepers.clock) + JZX_SECOND(2000));
}

static void put_to_sleep(jzx_loop *loop, void *ctx) {
    static const uint64_t due_ns[SLEEPERS] = {JZX_MS(5), JZX_MS(5) - 1, JZX_SECOND(3), JZX_MS(5),
                                              JZX_NEVER};
    (void)ctx;
    for (uint32_t i = 0; i < SLEEPERS; i++) {
        jzx__waiter_init(&sleepers.waiters[i], wake_sleeper, &sleepers.waiters[i]);
        sleep_until(loop->sched.workers[0], &sleepers.waiters[i], due_ns[i]);
    }
}

static void end_third_and_fifth(jzx_loop *loop, void *ctx) {
    (void)loop;
    (void)ctx;
    for (uint32_t i = 2; i < SLEEPERS; i += 2) {
        JZX_EXPECT(jzx__waiter_withdraw(&sleepers.waiters[i], JZX__CAUSE_KILLED));
        JZX_EXPECT_EQ(jzx__cause_kind(jzx__waiter_end(&sleepers.waiters[i])), JZX__CAUSE_KILLED);
    }
}

static jzx_behavior_result count_messages(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    sleepers.messages++;
    return JZX_BEHAVIOR_OK;
}

static void advance(jzx_loop *loop, uint64_t ns) {
    JZX_EXPECT_EQ(jzx_clock_advance(sleepers.clock, ns), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
}

JZX_TEST(waits_on_a_worker_time_out_at_their_tick_in_order_with_timers) {
    memset(&sleepers, 0, sizeof sleepers);
    sleepers.clock = jzx_clock_manual(0);
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1, .clock = sleepers.clock));
    jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = count_messages));
    JZX_EXPECT_EQ(jzx_loop_call(loop, put_to_sleep, NULL), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    JZX_EXPECT_EQ(jzx_send_after(loop, id, JZX_NOBODY, NULL, 0, 1, JZX_MS(5), &sleepers.timer),
                  JZX_OK);
    advance(loop, JZX_MS(5) - 1);
    for (uint32_t i = 0; i < SLEEPERS; i++)
        JZX_EXPECT_EQ(sleepers.woken[i], 0);
    advance(loop, 1);
    JZX_EXPECT_EQ(sleepers.woken[0], 1);
    JZX_EXPECT_EQ(sleepers.woken[1], 1);
    JZX_EXPECT_EQ(sleepers.woken[3], 0);
    JZX_EXPECT_EQ(sleepers.messages, 0); /* its timer was due behind the first of them */
    JZX_EXPECT_EQ(jzx_loop_call(loop, end_third_and_fifth, NULL), JZX_OK);
    advance(loop, JZX_SECOND(2000) - 1);
    JZX_EXPECT_EQ(sleepers.woken[1], 1);
    advance(loop, 1);
    JZX_EXPECT_EQ(sleepers.woken[1], 2);
    JZX_EXPECT_EQ(sleepers.at_ms[1], 2000005);
    JZX_EXPECT_EQ(sleepers.woken[2] + sleepers.woken[4], 0);
    fixture_destroy(loop);
    JZX_EXPECT_EQ(jzx_clock_free(sleepers.clock), JZX_OK);
}

/* ---- wakers ---- */

JZX_TEST(a_task_is_made_ready_at_home_and_nudged_from_elsewhere) {
    open_boxes();
    rig_open();
    struct jzx__waiter *waiter = &parties[0].waiter;
    struct jzx__task *task = rig_task('a');
    jzx__waiter_init(waiter, jzx__wake_task, task);
    uint32_t epoch = jzx__waiter_begin(waiter, nothing);
    jzx__waiter_arm(waiter);
    assert_true(jzx__waiter_cancel(waiter, epoch, JZX__CAUSE_CANCELLED, rig_worker()));
    assert_int_equal(task->place, JZX__IN_NEXT); /* on its own worker: at once */
    assert_int_equal(jzx__task_inbox(task), 0);
    assert_string_equal(rig_run(1), "a");
    end(&parties[0]);
    epoch = jzx__waiter_begin(waiter, nothing);
    jzx__waiter_arm(waiter);
    assert_true(jzx__waiter_cancel(waiter, epoch, JZX__CAUSE_CANCELLED, NULL));
    assert_int_equal(task->place, JZX__IDLE); /* elsewhere: by an entry */
    assert_int_equal(jzx__task_inbox(task), JZX__INBOX_TOKEN | JZX__INBOX_NUDGED);
    jzx__worker_drain_inject(rig_worker(), UINT32_MAX);
    assert_string_equal(rig_run(1), "a");
    end(&parties[0]);
    jzx__wake_task(task, NULL); /* late: it only looks once more */
    jzx__wake_task(task, NULL);
    jzx__worker_drain_inject(rig_worker(), UINT32_MAX);
    while (*rig_run(1) != '\0')
        continue;
    assert_int_equal(jzx__task_inbox(task), 0);
    rig_close();
    close_boxes();
}

/* In its turn a task arms, and then does what claims its own wait. */
static void claim_own_wait(struct jzx__task *task) {
    struct jzx__waiter *waiter = &parties[0].waiter;
    if (rig.turns == 1) {
        uint32_t epoch = jzx__waiter_begin(waiter, nothing);
        JZX_EXPECT_EQ(jzx__waiter_arm(waiter), JZX__ARM_SUSPEND);
        JZX_EXPECT(jzx__waiter_cancel(waiter, epoch, JZX__CAUSE_CANCELLED, rig_worker()));
        JZX_EXPECT_EQ(task->place, JZX__RUNNING);
    } else {
        JZX_EXPECT_EQ(jzx__cause_kind(jzx__waiter_end(waiter)), JZX__CAUSE_CANCELLED);
        rig.on_turn = NULL;
    }
}

JZX_TEST(a_task_that_is_claimed_in_its_own_turn_does_not_go_idle) {
    open_boxes();
    rig_open();
    jzx__waiter_init(&parties[0].waiter, jzx__wake_task, rig_task('a'));
    rig.on_turn = claim_own_wait;
    rig_wake("a");
    assert_string_equal(rig_run_on(2), "aa");
    assert_null(rig.on_turn);
    assert_int_equal(phase_of(&parties[0].waiter), JZX__WAIT_IDLE);
    jzx__worker_drain_inject(rig_worker(), UINT32_MAX); /* the entry of the nudge */
    while (*rig_run(1) != '\0')
        continue;
    assert_int_equal(jzx__task_inbox(rig_task('a')), 0);
    rig_close();
    close_boxes();
}

static void *put_from_thread(void *arg) {
    (void)arg;
    JZX_EXPECT(put(&boxes[0], 9));
    return NULL;
}

JZX_TEST(a_thread_blocks_until_it_is_claimed) {
    pthread_t thread;
    open_boxes();
    jzx__waiter_init_thread(&parties[0].waiter);
    assert_int_equal(wait_at(&parties[0], 1), JZX__ARM_SUSPEND);
    assert_int_equal(pthread_create(&thread, NULL, put_from_thread, NULL), 0);
    jzx__waiter_block(&parties[0].waiter, NULL, JZX_NEVER);
    assert_int_equal(end(&parties[0]), JZX__CAUSE_ITEM);
    assert_int_equal(parties[0].slots[0], 9);
    assert_int_equal(pthread_join(thread, NULL), 0);
    close_boxes();
}

JZX_TEST(a_thread_times_out_and_its_item_stays) {
    struct jzx__clock clock;
    jzx__clock_init_monotonic(&clock);
    open_boxes();
    jzx__waiter_init_thread(&parties[0].waiter);
    for (uint32_t i = 0; i < 2; i++) { /* in the past, and in a moment */
        uint64_t deadline_ns = jzx__clock_now(&clock) + i * JZX_MS(1);
        assert_int_equal(wait_at(&parties[0], BOXES), JZX__ARM_SUSPEND);
        jzx__waiter_block(&parties[0].waiter, &clock, deadline_ns);
        assert_true(jzx__clock_now(&clock) >= deadline_ns);
        assert_false(put(&boxes[i], 9));
        assert_int_equal(end(&parties[0]), JZX__CAUSE_TIMEOUT);
        assert_int_equal(boxes[i].count, 1);
        boxes[i].count = 0;
    }
    close_boxes();
}

static void *move_clock(void *arg) {
    while (phase_of(&parties[0].waiter) != JZX__WAIT_ARMED)
        sched_yield();
    for (uint32_t i = 0; i < 10; i++)
        JZX_EXPECT_EQ(jzx_clock_advance(arg, 1), JZX_OK);
    return NULL;
}

JZX_TEST(a_thread_times_out_when_a_clock_is_moved_by_hand) {
    jzx_clock *shared = jzx_clock_manual(100);
    struct jzx__clock clock;
    struct jzx__clock_user user = {.wake = NULL};
    pthread_t thread;
    jzx__clock_join(&clock, shared, &user);
    jzx__clock_leave(shared, &user);
    open_boxes();
    jzx__waiter_init_thread(&parties[0].waiter);
    const uint64_t deadlines_ns[] = {99, 100, 104}; /* in the past, now, and when it is moved */
    for (uint32_t i = 0; i < 3; i++) {
        uint64_t deadline_ns = deadlines_ns[i];
        assert_int_equal(wait_at(&parties[0], 1), JZX__ARM_SUSPEND);
        if (deadline_ns > 100)
            assert_int_equal(pthread_create(&thread, NULL, move_clock, shared), 0);
        jzx__waiter_block(&parties[0].waiter, &clock, deadline_ns);
        assert_true(jzx_clock_now(shared) >= deadline_ns);
        assert_int_equal(end(&parties[0]), JZX__CAUSE_TIMEOUT);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(wait_at(&parties[0], 1), JZX__ARM_SUSPEND);
    assert_int_equal(pthread_create(&thread, NULL, put_from_thread, NULL), 0);
    jzx__waiter_block(&parties[0].waiter, &clock, 1000); /* it stands still */
    assert_int_equal(end(&parties[0]), JZX__CAUSE_ITEM);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(jzx_clock_free(shared), JZX_OK); /* nobody is there any more */
    close_boxes();
}

/* ---- dumps ---- */

JZX_TEST(a_dump_says_what_is_waited_for_and_since_when) {
    struct jzx__waiter waiter;
    struct jzx__wait_what what;
    char text[64];
    jzx__waiter_init(&waiter, note_wake, NULL);
    assert_false(jzx__waiter_glance(&waiter, &what));
    jzx__waiter_begin(&waiter, (struct jzx__wait_what){"tag", 7, JZX_SECOND(1)});
    assert_true(jzx__waiter_glance(&waiter, &what));
    jzx__waiter_arm(&waiter);
    assert_true(jzx__waiter_glance(&waiter, &what));
    assert_int_equal(jzx__wait_describe(&what, JZX_MS(4250), text, sizeof text), 27);
    assert_string_equal(text, "waits for tag 7 since 3.2 s");
    assert_int_equal(jzx__wait_describe(&what, 0, text, 10), 27); /* a clock that is behind */
    assert_string_equal(text, "waits for");
    jzx__waiter_withdraw(&waiter, JZX__CAUSE_KILLED);
    jzx__waiter_end(&waiter);
    assert_false(jzx__waiter_glance(&waiter, &what));
}
