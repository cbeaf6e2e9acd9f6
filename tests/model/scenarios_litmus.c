/* SPDX-License-Identifier: MIT */
/* The engine against the textbook: small programs whose possible outcomes under C11 are known. Each
 * must show exactly the outcomes that are listed, so that the engine is neither too strong (a weak
 * outcome that it never shows would hide bugs) nor too weak (a forbidden one would invent them).
 * Load buffering is not here: the model leaves it out, see memory.c. */
#include "scenarios.h"

#include "base/atomic.h"
#include "base/lock.h"

#define EXPLORE_ALL                                                                                \
    { .preemptions = MODEL_UNBOUNDED, .stale = MODEL_UNBOUNDED, .spurious = MODEL_UNBOUNDED }

#define O(number) ((uint64_t)1 << (number))

static struct {
    _Atomic uint32_t x;
    _Atomic uint32_t y;
    _Atomic uint32_t z;
    uint32_t r[4];
    uint32_t data;
    struct jzx__lock lock;
    struct jzx__lock other_lock;
} s;

/* Results as bits: outcome number = r0 + 2 r1 + 4 r2 + 8 r3. */
static void report_bits(void) {
    model_outcome(s.r[0] | s.r[1] << 1 | s.r[2] << 2 | s.r[3] << 3);
}

/* Results as digits in base 3. */
static void report_digits(void) {
    model_outcome(s.r[0] + 3 * s.r[1]);
}

/* ---- store buffering ---- */

static void sb_relaxed_1(void) {
    jzx__atomic_store_relaxed(&s.x, 1u);
    s.r[0] = jzx__atomic_load_relaxed(&s.y);
}

static void sb_relaxed_2(void) {
    jzx__atomic_store_relaxed(&s.y, 1u);
    s.r[1] = jzx__atomic_load_relaxed(&s.x);
}

static void sb_acq_rel_1(void) {
    jzx__atomic_store_release(&s.x, 1u);
    s.r[0] = jzx__atomic_load_acquire(&s.y);
}

static void sb_acq_rel_2(void) {
    jzx__atomic_store_release(&s.y, 1u);
    s.r[1] = jzx__atomic_load_acquire(&s.x);
}

static void sb_seq_cst_1(void) {
    jzx__atomic_store_seq_cst(&s.x, 1u);
    s.r[0] = jzx__atomic_load_seq_cst(&s.y);
}

static void sb_seq_cst_2(void) {
    jzx__atomic_store_seq_cst(&s.y, 1u);
    s.r[1] = jzx__atomic_load_seq_cst(&s.x);
}

static void sb_fences_1(void) {
    jzx__atomic_store_relaxed(&s.x, 1u);
    model_fence(MODEL_SEQ_CST);
    s.r[0] = jzx__atomic_load_relaxed(&s.y);
}

static void sb_fences_2(void) {
    jzx__atomic_store_relaxed(&s.y, 1u);
    model_fence(MODEL_SEQ_CST);
    s.r[1] = jzx__atomic_load_relaxed(&s.x);
}

static void sb_membarrier_2(void) {
    jzx__atomic_store_relaxed(&s.y, 1u);
    model_membarrier();
    s.r[1] = jzx__atomic_load_relaxed(&s.x);
}

/* A fence in one thread only, and a seq_cst access without one in the other. */
static void sb_rmw_1(void) {
    jzx__atomic_exchange_seq_cst(&s.x, 1u);
    s.r[0] = jzx__atomic_load_seq_cst(&s.y);
}

static void sb_rmw_acq_rel_1(void) {
    jzx__atomic_exchange_acq_rel(&s.x, 1u);
    s.r[0] = jzx__atomic_load_seq_cst(&s.y);
}

/* ---- message passing ---- */

static void mp_relaxed_1(void) {
    jzx__atomic_store_relaxed(&s.x, 1u);
    jzx__atomic_store_relaxed(&s.y, 1u);
}

static void mp_release_1(void) {
    jzx__atomic_store_relaxed(&s.x, 1u);
    jzx__atomic_store_release(&s.y, 1u);
}

static void mp_relaxed_2(void) {
    s.r[0] = jzx__atomic_load_relaxed(&s.y);
    s.r[1] = jzx__atomic_load_relaxed(&s.x);
}

static void mp_acquire_2(void) {
    s.r[0] = jzx__atomic_load_acquire(&s.y);
    s.r[1] = jzx__atomic_load_relaxed(&s.x);
}

static void mp_fence_1(void) {
    jzx__atomic_store_relaxed(&s.x, 1u);
    model_fence(MODEL_RELEASE);
    jzx__atomic_store_relaxed(&s.y, 1u);
}

static void mp_fence_2(void) {
    s.r[0] = jzx__atomic_load_relaxed(&s.y);
    model_fence(MODEL_ACQUIRE);
    s.r[1] = jzx__atomic_load_relaxed(&s.x);
}

/* ---- release sequences: a third thread between the two ---- */

static void sequence_rmw(void) {
    jzx__atomic_add_relaxed(&s.y, 1u);
}

static void sequence_store(void) {
    uint32_t seen = 1;
    if (jzx__atomic_load_relaxed(&s.y) == seen)
        jzx__atomic_store_relaxed(&s.y, 2u);
}

static void sequence_reader(void) {
    s.r[0] = jzx__atomic_load_acquire(&s.y) == 2;
    s.r[1] = jzx__atomic_load_relaxed(&s.x);
}

static void report_sequence(void) {
    model_outcome(s.r[0] ? s.r[1] : 2);
}

/* ---- independent reads of independent writes ---- */

static void iriw_write_x(void) {
    jzx__atomic_store_release(&s.x, 1u);
}

static void iriw_write_y(void) {
    jzx__atomic_store_release(&s.y, 1u);
}

static void iriw_read_xy(void) {
    s.r[0] = jzx__atomic_load_acquire(&s.x);
    s.r[1] = jzx__atomic_load_acquire(&s.y);
}

static void iriw_read_yx(void) {
    s.r[2] = jzx__atomic_load_acquire(&s.y);
    s.r[3] = jzx__atomic_load_acquire(&s.x);
}

static void iriw_write_x_sc(void) {
    jzx__atomic_store_seq_cst(&s.x, 1u);
}

static void iriw_write_y_sc(void) {
    jzx__atomic_store_seq_cst(&s.y, 1u);
}

static void iriw_read_xy_sc(void) {
    s.r[0] = jzx__atomic_load_seq_cst(&s.x);
    s.r[1] = jzx__atomic_load_seq_cst(&s.y);
}

static void iriw_read_yx_sc(void) {
    s.r[2] = jzx__atomic_load_seq_cst(&s.y);
    s.r[3] = jzx__atomic_load_seq_cst(&s.x);
}

/* ---- write to read causality ---- */

static void wrc_middle(void) {
    s.r[0] = jzx__atomic_load_acquire(&s.x);
    jzx__atomic_store_release(&s.y, s.r[0]);
}

static void wrc_middle_relaxed(void) {
    s.r[0] = jzx__atomic_load_relaxed(&s.x);
    jzx__atomic_store_release(&s.y, s.r[0]);
}

static void wrc_last(void) {
    s.r[1] = jzx__atomic_load_acquire(&s.y);
    s.r[2] = s.data;
    if (s.r[1] != 0)
        model_plain_read(&s.data);
}

static void wrc_first(void) {
    model_plain_write(&s.data);
    jzx__atomic_store_release(&s.x, 1u);
}

/* ---- coherence ---- */

static void coherence_writer(void) {
    jzx__atomic_store_relaxed(&s.x, 1u);
    jzx__atomic_store_relaxed(&s.x, 2u);
}

static void corr(void) {
    s.r[0] = jzx__atomic_load_relaxed(&s.x);
    s.r[1] = jzx__atomic_load_relaxed(&s.x);
}

static void cowr(void) {
    jzx__atomic_store_relaxed(&s.x, 2u);
    s.r[0] = jzx__atomic_load_relaxed(&s.x);
}

static void cowr_other(void) {
    jzx__atomic_store_relaxed(&s.x, 1u);
}

/* What is last in modification order at the end. */
static void report_cowr(void) {
    s.r[1] = jzx__atomic_load_relaxed(&s.x);
    report_digits();
}

/* ---- 2+2W: two writers of two objects in opposite order ---- */

static void ww_relaxed_1(void) {
    jzx__atomic_store_release(&s.x, 1u);
    jzx__atomic_store_release(&s.y, 2u);
}

static void ww_relaxed_2(void) {
    jzx__atomic_store_release(&s.y, 1u);
    jzx__atomic_store_release(&s.x, 2u);
}

static void ww_seq_cst_1(void) {
    jzx__atomic_store_seq_cst(&s.x, 1u);
    jzx__atomic_store_seq_cst(&s.y, 2u);
}

static void ww_seq_cst_2(void) {
    jzx__atomic_store_seq_cst(&s.y, 1u);
    jzx__atomic_store_seq_cst(&s.x, 2u);
}

static void report_ww(void) {
    s.r[0] = jzx__atomic_load_relaxed(&s.x) - 1;
    s.r[1] = jzx__atomic_load_relaxed(&s.y) - 1;
    report_bits();
}

/* ---- read-modify-writes ---- */

static void add_one(void) {
    uint32_t before = jzx__atomic_add_relaxed(&s.x, 1u);
    s.r[before]++;
}

static void check_adds(void) {
    MODEL_ASSERT(jzx__atomic_load_relaxed(&s.x) == 3);
    for (unsigned i = 0; i < 3; i++)
        MODEL_ASSERT(s.r[i] == 1);
    model_outcome(0);
}

static void weak_cas(void) {
    uint32_t expected = 0;
    s.r[0] = jzx__atomic_cas_acq_rel(&s.x, &expected, 1u);
    s.r[1] = expected;
}

static void strong_cas(void) {
    uint32_t expected = 0;
    s.r[0] = jzx__atomic_cas_strong_seq_cst(&s.x, &expected, 1u);
    s.r[1] = expected;
}

/* ---- locks, races, deadlock ---- */

static void locked_access(void) {
    jzx__lock_acquire(&s.lock);
    model_plain_write(&s.data);
    s.data++;
    jzx__lock_release(&s.lock);
}

static void check_locked(void) {
    MODEL_ASSERT(s.data == 3);
    model_outcome(0);
}

static void lock_both(void) {
    jzx__lock_acquire(&s.lock);
    jzx__lock_acquire(&s.other_lock);
    jzx__lock_release(&s.other_lock);
    jzx__lock_release(&s.lock);
}

static void lock_both_reversed(void) {
    jzx__lock_acquire(&s.other_lock);
    jzx__lock_acquire(&s.lock);
    jzx__lock_release(&s.lock);
    jzx__lock_release(&s.other_lock);
}

static void race_writer(void) {
    model_plain_write(&s.data);
    jzx__atomic_store_release(&s.x, 1u);
}

static void race_writer_relaxed(void) {
    model_plain_write(&s.data);
    jzx__atomic_store_relaxed(&s.x, 1u);
}

static void race_reader(void) {
    if (jzx__atomic_load_acquire(&s.x) == 1)
        model_plain_read(&s.data);
}

static void race_reader_careless(void) {
    jzx__atomic_load_acquire(&s.x);
    model_plain_read(&s.data);
}

static void read_data(void) {
    model_plain_read(&s.data);
}

static void read_then_flag(void) {
    model_plain_read(&s.data);
    jzx__atomic_store_relaxed(&s.x, 1u);
}

static void write_when_flagged(void) {
    if (jzx__atomic_load_acquire(&s.x) == 1)
        model_plain_write(&s.data);
}

/* ---- waiting in a loop ---- */

static void spin_for_x(void) {
    while (jzx__atomic_load_acquire(&s.x) == 0)
        model_yield();
    model_plain_read(&s.data);
    model_outcome(0);
}

static void nothing(void) {}

static void fail_always(void) {
    MODEL_ASSERT(s.data != 0);
}

#define LITMUS .state = &s, .state_size = sizeof s, .bounds = EXPLORE_ALL

const struct model_scenario model_litmus[] = {
    {.name = "sb_relaxed",
     .about = "store buffering: both may miss the other",
     .threads = {sb_relaxed_1, sb_relaxed_2},
     .check = report_bits,
     .outcomes = O(0) | O(1) | O(2) | O(3),
     LITMUS},
    {.name = "sb_acq_rel",
     .about = "store buffering: acquire and release do not help",
     .threads = {sb_acq_rel_1, sb_acq_rel_2},
     .check = report_bits,
     .outcomes = O(0) | O(1) | O(2) | O(3),
     LITMUS},
    {.name = "sb_seq_cst",
     .about = "store buffering: with seq_cst one sees the other",
     .threads = {sb_seq_cst_1, sb_seq_cst_2},
     .check = report_bits,
     .outcomes = O(1) | O(2) | O(3),
     LITMUS},
    {.name = "sb_one_side_seq_cst",
     .about = "store buffering: seq_cst on one side is not enough",
     .threads = {sb_seq_cst_1, sb_acq_rel_2},
     .check = report_bits,
     .outcomes = O(0) | O(1) | O(2) | O(3),
     LITMUS},
    {.name = "sb_exchange_seq_cst",
     .about = "store buffering with a seq_cst exchange as the store",
     .threads = {sb_rmw_1, sb_seq_cst_2},
     .check = report_bits,
     .outcomes = O(1) | O(2) | O(3),
     LITMUS},
    {.name = "sb_exchange_acq_rel",
     .about = "store buffering: an acq_rel exchange is no fence",
     .threads = {sb_rmw_acq_rel_1, sb_seq_cst_2},
     .check = report_bits,
     .outcomes = O(0) | O(1) | O(2) | O(3),
     LITMUS},
    {.name = "sb_fences",
     .about = "store buffering: seq_cst fences order relaxed accesses",
     .threads = {sb_fences_1, sb_fences_2},
     .check = report_bits,
     .outcomes = O(1) | O(2) | O(3),
     LITMUS},
    {.name = "sb_fence_and_seq_cst",
     .about = "store buffering: a fence on one side, seq_cst accesses on the other",
     .threads = {sb_fences_1, sb_seq_cst_2},
     .check = report_bits,
     .outcomes = O(1) | O(2) | O(3),
     LITMUS},
    {.name = "sb_fence_one_side",
     .about = "store buffering: a fence on one side is not enough",
     .threads = {sb_fences_1, sb_relaxed_2},
     .check = report_bits,
     .outcomes = O(0) | O(1) | O(2) | O(3),
     LITMUS},
    {.name = "sb_membarrier",
     .about = "store buffering: a membarrier on one side is enough",
     .threads = {sb_relaxed_1, sb_membarrier_2},
     .check = report_bits,
     .outcomes = O(1) | O(2) | O(3),
     LITMUS},
    {.name = "mp_relaxed",
     .about = "message passing: the flag without the message",
     .threads = {mp_relaxed_1, mp_relaxed_2},
     .check = report_bits,
     .outcomes = O(0) | O(1) | O(2) | O(3),
     LITMUS},
    {.name = "mp_release_acquire",
     .about = "message passing: flag seen, message seen",
     .threads = {mp_release_1, mp_acquire_2},
     .check = report_bits,
     .outcomes = O(0) | O(2) | O(3),
     LITMUS},
    {.name = "mp_release_relaxed",
     .about = "message passing: release alone is not enough",
     .threads = {mp_release_1, mp_relaxed_2},
     .check = report_bits,
     .outcomes = O(0) | O(1) | O(2) | O(3),
     LITMUS},
    {.name = "mp_relaxed_acquire",
     .about = "message passing: acquire alone is not enough",
     .threads = {mp_relaxed_1, mp_acquire_2},
     .check = report_bits,
     .outcomes = O(0) | O(1) | O(2) | O(3),
     LITMUS},
    {.name = "mp_fences",
     .about = "message passing by fences around relaxed accesses",
     .threads = {mp_fence_1, mp_fence_2},
     .check = report_bits,
     .outcomes = O(0) | O(2) | O(3),
     LITMUS},
    {.name = "release_sequence_rmw",
     .about = "a relaxed read-modify-write carries a release on",
     .threads = {mp_release_1, sequence_rmw, sequence_reader},
     .check = report_sequence,
     .outcomes = O(1) | O(2),
     LITMUS},
    {.name = "release_sequence_store",
     .about = "a relaxed store of another thread does not",
     .threads = {mp_release_1, sequence_store, sequence_reader},
     .check = report_sequence,
     .outcomes = O(0) | O(1) | O(2),
     LITMUS},
    {.name = "iriw_acq_rel",
     .about = "two readers may disagree on the order of two writers",
     .threads = {iriw_write_x, iriw_write_y, iriw_read_xy, iriw_read_yx},
     .check = report_bits,
     .outcomes = 0xFFFF,
     LITMUS},
    {.name = "iriw_seq_cst",
     .about = "with seq_cst they agree",
     .threads = {iriw_write_x_sc, iriw_write_y_sc, iriw_read_xy_sc, iriw_read_yx_sc},
     .check = report_bits,
     .outcomes = 0xFFFF & ~O(5),
     LITMUS},
    {.name = "corr",
     .about = "two loads of one thread never go back",
     .threads = {coherence_writer, corr},
     .check = report_digits,
     .outcomes = O(0) | O(3) | O(6) | O(4) | O(7) | O(8),
     LITMUS},
    {.name = "cowr",
     .about = "a thread sees its own store, or a later one",
     .threads = {cowr, cowr_other},
     .check = report_cowr,
     .outcomes = O(2 + 3) | O(2 + 6) | O(1 + 3),
     LITMUS},
    {.name = "ww_release",
     .about = "2+2W: both first stores may be last",
     .threads = {ww_relaxed_1, ww_relaxed_2},
     .check = report_ww,
     .outcomes = O(0) | O(1) | O(2) | O(3),
     LITMUS},
    {.name = "ww_seq_cst",
     .about = "2+2W: not with seq_cst",
     .threads = {ww_seq_cst_1, ww_seq_cst_2},
     .check = report_ww,
     .outcomes = O(1) | O(2) | O(3),
     LITMUS},
    {.name = "adds_are_not_lost",
     .about = "relaxed read-modify-writes are atomic all the same",
     .threads = {add_one, add_one, add_one},
     .check = check_adds,
     .outcomes = O(0),
     LITMUS},
    {.name = "cas_weak",
     .about = "a weak exchange may fail without cause",
     .threads = {weak_cas},
     .check = report_digits,
     .outcomes = O(0) | O(1),
     LITMUS},
    {.name = "cas_strong",
     .about = "a strong one does not",
     .threads = {strong_cas},
     .check = report_digits,
     .outcomes = O(1),
     LITMUS},
    {.name = "lock_excludes",
     .about = "what a lock guards is no race",
     .threads = {locked_access, locked_access, locked_access},
     .check = check_locked,
     .outcomes = O(0),
     LITMUS},
    {.name = "causality",
     .about = "happens-before is transitive",
     .threads = {wrc_first, wrc_middle, wrc_last},
     .check = report_bits,
     .outcomes = O(0) | O(1) | O(3),
     LITMUS},
    {.name = "release_acquire_orders_plain_data",
     .about = "no race behind a release and an acquire",
     .threads = {race_writer, race_reader},
     LITMUS},
    {.name = "reads_do_not_race",
     .about = "two reads of plain data are no race",
     .threads = {read_data, read_data},
     LITMUS},
    {.name = "spin",
     .about = "a loop that yields ends when its store comes",
     .threads = {spin_for_x, race_writer},
     .outcomes = O(0),
     LITMUS},
};
const size_t model_litmus_count = sizeof model_litmus / sizeof *model_litmus;

/* Each of these must fail, and say why. */
const struct model_broken model_broken[] = {
    {{.name = "deadlock",
      .about = "two locks in opposite order",
      .threads = {lock_both, lock_both_reversed},
      LITMUS},
     "nobody can go on"},
    {{.name = "race_relaxed_store",
      .about = "a relaxed flag orders nothing",
      .threads = {race_writer_relaxed, race_reader},
      LITMUS},
     "race"},
    {{.name = "race_flag_ignored",
      .about = "an acquire that read too early orders nothing",
      .threads = {race_writer, race_reader_careless},
      LITMUS},
     "race"},
    {{.name = "race_write_after_read",
      .about = "a write races with a read before it",
      .threads = {read_then_flag, write_when_flagged},
      LITMUS},
     "race"},
    {{.name = "causality_relaxed",
      .about = "a relaxed load breaks the chain",
      .threads = {wrc_first, wrc_middle_relaxed, wrc_last},
      LITMUS},
     "race"},
    {{.name = "spin_for_ever",
      .about = "nobody stores what a loop waits for",
      .threads = {spin_for_x},
      LITMUS},
     "nobody can go on"},
    {{.name = "outcome_missing",
      .about = "an outcome that never comes",
      .threads = {sb_seq_cst_1, sb_seq_cst_2},
      .check = report_bits,
      .outcomes = 0xF,
      LITMUS},
     "never seen"},
    {{.name = "outcome_forbidden",
      .about = "an outcome that must not come",
      .threads = {sb_relaxed_1, sb_relaxed_2},
      .check = report_bits,
      .outcomes = 0xE,
      LITMUS},
     "must not be seen"},
    {{.name = "assertion",
      .about = "a check that does not hold",
      .threads = {nothing},
      .check = fail_always,
      LITMUS},
     "does not hold"},
};
const size_t model_broken_count = sizeof model_broken / sizeof *model_broken;
