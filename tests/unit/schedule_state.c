/* SPDX-License-Identifier: MIT */
/* The word of a job and the table of records: every edge, every edge that must not be taken, and
 * handles that outlive their record's generation. */
#include "schedule/core/state.h"
#include "schedule/core/table.h"

#include "seeds.h"

#include <string.h>

#define COUNT 6u

struct box {
    struct jzx__job_table table;
    struct jzx__job records[COUNT];
    _Atomic uint32_t cells[8];
};

static struct box *make(void) {
    static struct box box;
    memset(&box, 0, sizeof box);
    jzx__job_table_init(&box.table, box.records, COUNT, box.cells);
    return &box;
}

static enum jzx__job_state state_of(const struct jzx__job *job) {
    return jzx__job_word_state(jzx__job_word_load(&job->word));
}

static void put_in_state(struct jzx__job *job, enum jzx__job_state state) {
    uintptr_t word = jzx__job_word_load(&job->word);
    job->word = (word & ~JZX__JOB_STATE) | (uintptr_t)state;
}

static uintptr_t generation_of(const struct jzx__job *job) {
    return jzx__job_word_generation(jzx__job_word_load(&job->word));
}

/* ---- the word ---- */

JZX_TEST(a_one_shot_goes_from_pending_to_completed) {
    struct jzx__job *job = jzx__job_table_take(&make()->table, false);
    JZX_EXPECT_EQ(state_of(job), JZX__JOB_PENDING);
    JZX_EXPECT_EQ(JZX__JOB_PENDING, 0);
    jzx__job_submit(&job->word);
    JZX_EXPECT_EQ(state_of(job), JZX__JOB_SCHEDULED);
    JZX_EXPECT(jzx__job_begin(&job->word));
    JZX_EXPECT_EQ(state_of(job), JZX__JOB_EXECUTING);
    JZX_EXPECT(jzx__job_finish(&job->word));
    JZX_EXPECT_EQ(state_of(job), JZX__JOB_COMPLETED);
}

JZX_TEST(a_periodic_job_goes_back_to_scheduled_after_a_run) {
    struct jzx__job *job = jzx__job_table_take(&make()->table, true);
    jzx__job_submit(&job->word);
    for (unsigned i = 0; i < 3; i++) {
        JZX_EXPECT(jzx__job_begin(&job->word));
        JZX_EXPECT(jzx__job_again(&job->word));
        JZX_EXPECT_EQ(state_of(job), JZX__JOB_SCHEDULED);
    }
}

/* Every edge from every state: {begin, finish, again, cancel of a one-shot, of a periodic job}. */
JZX_TEST(an_edge_is_taken_only_from_its_own_state) {
    static const bool begins[] = {false, true, false, false, false};
    static const bool finishes[] = {false, false, true, false, false};
    static const enum jzx__job_cancel once[] = {JZX__CANCEL_REFUSED, JZX__CANCEL_UNLINK,
                                                JZX__CANCEL_REFUSED, JZX__CANCEL_REFUSED,
                                                JZX__CANCEL_REFUSED};
    static const enum jzx__job_cancel periodic[] = {JZX__CANCEL_REFUSED, JZX__CANCEL_UNLINK,
                                                    JZX__CANCEL_LAST_RUN, JZX__CANCEL_REFUSED,
                                                    JZX__CANCEL_REFUSED};
    struct box *box = make();
    struct jzx__job *one = jzx__job_table_take(&box->table, false);
    struct jzx__job *many = jzx__job_table_take(&box->table, true);
    for (int i = JZX__JOB_PENDING; i <= JZX__JOB_CANCELLED; i++) {
        enum jzx__job_state state = (enum jzx__job_state)i;
        put_in_state(one, state);
        JZX_EXPECT_EQ(jzx__job_begin(&one->word), begins[i]);
        JZX_EXPECT_EQ(state_of(one), begins[i] ? JZX__JOB_EXECUTING : state);
        put_in_state(one, state);
        JZX_EXPECT_EQ(jzx__job_finish(&one->word), finishes[i]);
        put_in_state(many, state);
        JZX_EXPECT_EQ(jzx__job_again(&many->word), finishes[i]);
        put_in_state(one, state);
        JZX_EXPECT_EQ(jzx__job_cancel(&one->word, 0), once[i]);
        JZX_EXPECT_EQ(state_of(one), once[i] == JZX__CANCEL_REFUSED ? state : JZX__JOB_CANCELLED);
        put_in_state(many, state);
        JZX_EXPECT_EQ(jzx__job_cancel(&many->word, 0), periodic[i]);
        JZX_EXPECT_EQ(state_of(many),
                      periodic[i] == JZX__CANCEL_REFUSED ? state : JZX__JOB_CANCELLED);
    }
}

JZX_TEST(a_cancel_with_another_generation_changes_nothing) {
    struct jzx__job *job = jzx__job_table_take(&make()->table, true);
    jzx__job_submit(&job->word);
    JZX_EXPECT_EQ(jzx__job_cancel(&job->word, generation_of(job) + 1), JZX__CANCEL_REFUSED);
    JZX_EXPECT_EQ(state_of(job), JZX__JOB_SCHEDULED);
}

JZX_TEST(an_abandoned_run_leaves_the_job_cancelled_however_it_came_to_that) {
    struct jzx__job *job = jzx__job_table_take(&make()->table, true);
    put_in_state(job, JZX__JOB_EXECUTING);
    jzx__job_abandon(&job->word);
    JZX_EXPECT_EQ(state_of(job), JZX__JOB_CANCELLED);
    jzx__job_abandon(&job->word);
    JZX_EXPECT_EQ(state_of(job), JZX__JOB_CANCELLED);
}

/* ---- the table ---- */

JZX_TEST(ids_start_at_one_and_count_up) {
    struct box *box = make();
    for (unsigned i = 1; i <= COUNT; i++)
        JZX_EXPECT_EQ(jzx__job_table_take(&box->table, false)->id, i);
    JZX_EXPECT(jzx__job_table_take(&box->table, false) == NULL);
}

static void end_and_put_back(struct box *box, struct jzx__job *job, enum jzx__job_state state) {
    put_in_state(job, state);
    jzx__job_table_put_back(&box->table, job);
}

JZX_TEST(the_record_that_rested_longest_is_used_first) {
    struct box *box = make();
    struct jzx__job *jobs[COUNT];
    for (unsigned i = 0; i < COUNT; i++)
        jobs[i] = jzx__job_table_take(&box->table, false);
    static const unsigned order[] = {3, 0, 5, 1, 2, 4};
    for (unsigned i = 0; i < COUNT; i++)
        end_and_put_back(box, jobs[order[i]], JZX__JOB_COMPLETED);
    for (unsigned i = 0; i < COUNT; i++)
        JZX_EXPECT(jzx__job_table_take(&box->table, false) == jobs[order[i]]);
}

JZX_TEST(a_handle_tells_how_its_job_ended_when_the_record_is_in_use_again) {
    struct box *box = make();
    jzx__job_id ids[JZX__HISTORY + 2];
    struct jzx__job *job = NULL;
    for (unsigned i = 1; i < COUNT; i++)
        (void)jzx__job_table_take(&box->table, false);
    for (unsigned i = 0; i < JZX__HISTORY + 2; i++) {
        job = jzx__job_table_take(&box->table, false);
        ids[i] = job->id;
        end_and_put_back(box, job, i % 3 == 0 ? JZX__JOB_CANCELLED : JZX__JOB_COMPLETED);
    }
    for (unsigned i = 2; i < JZX__HISTORY + 2; i++)
        JZX_EXPECT_EQ(jzx__job_table_state(&box->table, ids[i]),
                      i % 3 == 0 ? JZX__JOB_CANCELLED : JZX__JOB_COMPLETED);
    JZX_EXPECT_EQ(jzx__job_table_state(&box->table, ids[1]), JZX__JOB_FORGOTTEN);
    JZX_EXPECT_EQ(jzx__job_table_state(&box->table, ids[0]), JZX__JOB_FORGOTTEN);
}

JZX_TEST(no_job_is_cancelled_and_an_id_that_never_was_finds_nothing) {
    struct box *box = make();
    uintptr_t generation;
    JZX_EXPECT_EQ(jzx__job_table_state(&box->table, JZX__NO_JOB), JZX__JOB_CANCELLED);
    JZX_EXPECT(jzx__job_table_find(&box->table, 7, &generation) == NULL); /* beyond the records */
    JZX_EXPECT(jzx__job_table_find(&box->table, UINT64_MAX, &generation) == NULL);
    JZX_EXPECT_EQ(jzx__job_table_state(&box->table, 1 + 8), JZX__JOB_FORGOTTEN); /* to come */
}

/* Takes and gives back at random; the model remembers every id's end. */
static bool ids_are_never_given_out_twice(struct jzx__rng *rng) {
    struct box *box = make();
    struct jzx__job *live[COUNT];
    unsigned count = 0;
    jzx__job_id ended[64] = {0};
    enum jzx__job_state ends[64];
    unsigned ended_count = 0;
    while (ended_count < 64) {
        if (count < COUNT && jzx__rng_below(rng, 2) == 0) {
            struct jzx__job *job = jzx__job_table_take(&box->table, false);
            for (unsigned i = 0; i < ended_count; i++) {
                if (!JZX_EXPECT(job->id != ended[i]))
                    return false;
            }
            live[count++] = job;
        } else if (count > 0) {
            unsigned i = jzx__rng_below(rng, count);
            ended[ended_count] = live[i]->id;
            ends[ended_count] =
                jzx__rng_below(rng, 2) == 0 ? JZX__JOB_CANCELLED : JZX__JOB_COMPLETED;
            end_and_put_back(box, live[i], ends[ended_count++]);
            live[i] = live[--count];
        }
    }
    for (unsigned i = 0; i < ended_count; i++) {
        enum jzx__job_state state = jzx__job_table_state(&box->table, ended[i]);
        if (!JZX_EXPECT(state == ends[i] || state == JZX__JOB_FORGOTTEN))
            return false;
    }
    return true;
}

JZX_TEST(handles_stay_true_whatever_the_order_of_ends) {
    run_seeds("handles_stay_true_whatever_the_order_of_ends", 500, ids_are_never_given_out_twice);
}
