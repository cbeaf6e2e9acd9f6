/* SPDX-License-Identifier: MIT */
/* The sweep, and the list of orders that are stronger than the model can show to be needed. */
#include "sweep.h"

#include "sites.h"

#include <stdio.h>
#include <string.h>

#define SCENARIOS_MAX 256

/* A weakening that no scenario can find, and why the source has the stronger order all the same. */
struct unneeded {
    const char *where; /* as for model_site_is: FUNCTION/OPERATION/OPERAND */
    enum model_order order;
    bool on_failure;
    const char *why;
};

static const struct unneeded list[] = {
    /* deque.h */
    {"jzx__deque_push/load/top", MODEL_RELAXED, false,
     "orders the read of a thief before our write to its place: only load buffering, which is not "
     "modelled, could turn them round"},
    {"jzx__deque_pop/cas/top", MODEL_ACQ_REL, false,
     "the loads of top that come before it are in the total order"},
    {"jzx__deque_pop/cas/top", MODEL_RELAXED, true, "the value is not used"},
    {"jzx__deque_pop/store/bottom", MODEL_RELAXED, false,
     "nothing is published: the deque is empty below it"},
    {"jzx__deque_steal/load/top", MODEL_ACQUIRE, false,
     "top was written in the total order; see steal_top_without_seq_cst"},
    {"jzx__deque_steal/cas/top", MODEL_ACQ_REL, false,
     "top was read in the total order; see steal_top_without_seq_cst"},
    {"jzx__deque_steal/cas/top", MODEL_RELAXED, true, "the value is not used"},
    {"jzx__deque_is_empty_seq_cst/load/top", MODEL_ACQUIRE, false,
     "top only grows: an old one shows too much, never too little"},
    /* mpsc.h, parker.c */
    {"jzx__mpsc_push/cas/head", MODEL_RELAXED, true, "the head is linked, not looked into"},
    {"jzx__mpsc_take_all/exchange/head", MODEL_ACQUIRE, false,
     "the consumer passes nothing back; a node is used again by other ways"},
    {"jzx__parker_wake/exchange/state", MODEL_ACQ_REL, false,
     "the load before it is in the total order"},
    {"is_announced/load/state", MODEL_RELAXED, false,
     "it only ends the wait; what came is read from its queue"},
    /* idle.c */
    {"spin/cas/spinners", MODEL_ACQ_REL, false,
     "who spins has announced nothing yet: it looks at everything once more before it sleeps"},
    {"spin/cas/spinners", MODEL_RELAXED, true, "the value is not used"},
    /* task.h */
    {"jzx__task_push/cas/inbox", MODEL_RELAXED, true, "the list is linked, not looked into"},
    {"jzx__task_inbox/load/inbox", MODEL_RELAXED, false,
     "the exchange that takes acquires, too; see nudge_seen_too_late"},
    {"jzx__task_go_idle/cas/inbox", MODEL_RELEASE, false,
     "the word was loaded with acquire; see nudge_seen_too_late"},
    {"jzx__task_go_idle/cas/inbox", MODEL_RELAXED, true, "the inbox is loaded again, with acquire"},
    {"jzx__task_nudge/cas/inbox", MODEL_RELAXED, true, "a guess for the next try"},
    {"jzx__task_close/cas/inbox", MODEL_ACQUIRE, false,
     "later pushes only see CLOSED; the next life is published by its opening"},
    {"jzx__task_close/cas/inbox", MODEL_RELEASE, false,
     "the word was loaded with acquire; see close_relaxed"},
    {"jzx__task_close/cas/inbox", MODEL_RELAXED, true, "the next try acquires"},
    {"jzx__task_accept/store/inbox", MODEL_RELAXED, false,
     "as for close: whoever sees it only sees CLOSED"},
    {"jzx__task_hold/cas/inbox", MODEL_ACQUIRE, false, "what the owner does next publishes"},
    {"jzx__task_hold/cas/inbox", MODEL_RELEASE, false,
     "an empty word was written by the owner itself"},
    {"jzx__task_hold/cas/inbox", MODEL_RELAXED, true, "the value is not used"},
    /* sched */
    {"jzx__worker_idle/sub/active", MODEL_ACQ_REL, false,
     "may_take reads it in the total order; see sleep_outside_total_order"},
    {"may_take/load/active", MODEL_ACQUIRE, false,
     "the worker wrote it in the total order; see sleep_outside_total_order"},
    {"run_is_over/add/checks", MODEL_ACQUIRE, false,
     "active, added to and subtracted from by all that fall asleep, does the same"},
    {"run_is_over/add/checks", MODEL_RELEASE, false, "as above"},
    {"add_late/load/spawned", MODEL_RELAXED, false, "nothing is read after it"},
    {"add_late/load/daemons_exited", MODEL_RELAXED, false, "as above"},
    {"jzx__worker_count_spawned/store/spawned", MODEL_RELAXED, false, "an exit brings its spawn"},
    {"jzx__worker_count_exited/store/daemons_exited", MODEL_RELAXED, false, "exited brings it"},
    {"jzx__sched_wake_one/load/active", MODEL_ACQUIRE, false,
     "its callers have read active before, and read no older one"},
    {"jzx__sched_close/store/stop", MODEL_RELEASE, false,
     "leave comes after it, in the total order"},
    {"begin_take/store/worker", MODEL_RELEASE, false, "the membarrier orders it"},
    {"nobody_needs_me/load/worker", MODEL_ACQUIRE, false, "the membarrier orders it"},
    {"claim_report/cas/report_state", MODEL_ACQUIRE, false,
     "a claim passes nothing on: the report is given back by a store"},
    {"claim_report/cas/report_state", MODEL_RELAXED, true, "the value is not used"},
    /* waiter.h */
    {"jzx__waiter_arm/cas/word", MODEL_ACQUIRE, false,
     "what a claimer reads of the party a lock has brought it"},
    {"jzx__waiter_arm/cas/word", MODEL_RELEASE, false, "it succeeds on the party's own word only"},
    {"jzx__waiter_claim/cas/word", MODEL_RELEASE, false, "as for the release of arm"},
    {"jzx__waiter_claim/cas/word", MODEL_RELAXED, true, "a guess for the next try"},
    /* control.c */
    {"set_want/cas/state", MODEL_ACQUIRE, false, "the bit is all that is passed; the nudge orders"},
    {"set_want/cas/state", MODEL_RELEASE, false, "as above"},
    {"set_want/cas/state", MODEL_RELAXED, true, "a guess for the next try"},
    /* timer.c */
    {"change_phase/cas/state", MODEL_RELEASE, false,
     "a record changes hands by an inbox or by timer mail; a cancel brings nothing but its bit"},
    {"change_phase/cas/state", MODEL_RELAXED, true, "as above"},
    {"jzx__timer_make_stale/store/timer->state", MODEL_RELAXED, false,
     "who has the old id only compares; the next life is published by its launch"},
    {"jzx__timer_cancel/cas/state", MODEL_ACQUIRE, false,
     "nothing is written before it; timer mail publishes what is written after it"},
    {"jzx__timer_cancel/cas/state", MODEL_RELAXED, true,
     "the word alone is looked at, and the next try acquires"},
    {"jzx__timer_cancel_easy/load/state", MODEL_RELAXED, false,
     "SET at this worker was written by this worker, as was the record"},
    {"jzx__timer_cancel_easy/cas/state", MODEL_ACQUIRE, false,
     "as for make_stale: who has the old id only compares"},
    {"jzx__timer_cancel_easy/cas/state", MODEL_RELEASE, false,
     "as for the load: it succeeds on this worker's own word only"},
    {"jzx__timer_cancel_easy/cas/state", MODEL_RELAXED, true,
     "the value is not used; the long way loads it again, with acquire"},
    {"set_bits/cas/state", MODEL_RELEASE, false,
     "the word was loaded with acquire; see timer_bounce_relaxed"},
    {"set_bits/cas/state", MODEL_RELAXED, true, "the next try acquires"},
    {"launch_there/store/state", MODEL_RELAXED, false,
     "a cancel of one in transit touches nothing else; the push publishes the record"},
    {"jzx__timer_request/store/state", MODEL_RELAXED, false,
     "as above; the turn is left with the worker by a push"},
    {"jzx__timer_stash/cas/state", MODEL_ACQUIRE, false,
     "a cancel of one that waits touches nothing else, and the owner stays the same"},
    {"jzx__timer_stash/cas/state", MODEL_RELEASE, false, "as above"},
    {"jzx__timer_stash/cas/state", MODEL_RELAXED, true, "the value is used for the next try only"},
    /* future.c */
    {"leave/cas/holders", MODEL_RELEASE, false,
     "the word was read with acquire, by the load or by the try before"},
    {"leave/cas/holders", MODEL_RELAXED, true, "the next try acquires"},
    {"jzx__future_read/load/object", MODEL_RELAXED, false, "its state was read with acquire"},
    /* schedule/core */
    {"jzx__job_step/cas/word", MODEL_ACQUIRE, false,
     "the word decides alone: records change hands by commands, by back and by the mailbox"},
    {"jzx__job_step/cas/word", MODEL_RELEASE, false, "as above"},
    {"jzx__job_step/cas/word", MODEL_RELAXED, true, "a guess for the next try"},
    {"jzx__job_cancel/cas/word", MODEL_ACQUIRE, false, "as for jzx__job_step"},
    {"jzx__job_cancel/cas/word", MODEL_RELEASE, false, "as for jzx__job_step"},
    {"jzx__job_cancel/cas/word", MODEL_RELAXED, true, "a guess for the next try"},
    {"jzx__job_table_take/cas/head", MODEL_RELEASE, false,
     "the record is published by the tail, which was loaded with acquire"},
    {"jzx__job_table_take/cas/head", MODEL_RELAXED, true,
     "the tail, loaded next, shows more cells or the exchange fails again"},
    {"jzx__job_table_put_back/store/history", MODEL_RELAXED, false, "the word is stored after it"},
    {"jzx__job_table_state/load/history", MODEL_RELAXED, false,
     "the word was loaded with acquire before it"},
    {"count_in/cas/active", MODEL_ACQUIRE, false, "who counts in publishes nothing by it"},
    {"count_in/cas/active", MODEL_RELAXED, true, "a guess for the next try"},
    {"recycle/add/active", MODEL_RELEASE, false, "the owner reads nothing by it"},
    {"jzx__schedule_publish/store/gate", MODEL_RELAXED, false,
     "the gate is all that a thread which schedules reads of it"},
    {"let_in/load/gate", MODEL_RELAXED, false, "as above"},
    {"note/or/notes", MODEL_ACQUIRE, false, "a note is its bit and nothing else"},
    {"note/or/notes", MODEL_RELEASE, false, "as above"},
    {"jzx__schedule_heed/exchange/notes", MODEL_ACQUIRE, false, "as above"},
    {"jzx__schedule_heed/exchange/notes", MODEL_RELEASE, false, "as above"},
    {"jzx__tick_source_open/store/is_open", MODEL_RELAXED, false,
     "ticks are a number and nothing else: a driver gets the source by other ways"},
    {"jzx__tick_source_flush/store/is_open", MODEL_RELAXED, false, "as above"},
    {"jzx__tick_source_flush/exchange/pending_total", MODEL_ACQUIRE, false, "as above"},
    {"jzx__tick_source_flush/exchange/pending_total", MODEL_RELEASE, false, "as above"},
    {"jzx__tick_source_notify/load/is_open", MODEL_RELAXED, false, "as above"},
    {"jzx__tick_source_notify/add/pending_total", MODEL_ACQUIRE, false, "as above"},
    {"jzx__tick_source_notify/add/pending_total", MODEL_RELEASE, false, "as above"},
    {"jzx__tick_source_pull/exchange/pending_total", MODEL_ACQUIRE, false, "as above"},
    {"jzx__tick_source_pull/exchange/pending_total", MODEL_RELEASE, false, "as above"},
    /* watch.c */
    {"advance/cas/state", MODEL_ACQUIRE, false,
     "the notice is published by the inbox that it goes to, and lists are their owner's"},
    {"advance/cas/state", MODEL_RELEASE, false,
     "what asks came by an inbox; one that fails acquires"},
    {"begin/load/state", MODEL_RELAXED, false, "as above: the node came by an inbox"},
    {"bury/load/state", MODEL_RELAXED, false, "as above"},
    {"be_left/load/state", MODEL_RELAXED, false, "as above: pushed after the mark"},
    /* The rest of src/actor, as far as timers meet it; see docs/memory-model.md. */
    {"jzx__actor_set_cold/store/cold", MODEL_RELAXED, false,
     "others than the owner only look whether there is one"},
    {"jzx__actor_cold/load/cold", MODEL_RELAXED, false, "as above"},
    {"jzx__actor_give_cold/cas/cold", MODEL_ACQUIRE, false,
     "no scenario: an owner and a turn that has lost its worker give one at the same time"},
    {"jzx__actor_give_cold/cas/cold", MODEL_RELEASE, false, "as above"},
    {"jzx__actor_give_cold/cas/cold", MODEL_RELAXED, true, "as above"},
    {"make_stale/store/task.id", MODEL_RELAXED, false,
     "who finds the old id meets CLOSED, or the generation of its node decides"},
    {"make_stale/store/task.state", MODEL_RELAXED, false, "no scenario: a request at the end"},
    {"make_stale/store/owner", MODEL_RELAXED, false, "no scenario: a request at the end"},
    {"jzx__table_lookup/load/id", MODEL_RELAXED, false, "as for the id above"},
    {"mint/store/table->minted", MODEL_RELAXED, false,
     "no scenario: a look-up while the first actor is made; the pool of timers does the same"},
    {"jzx__table_lookup/load/minted", MODEL_RELAXED, false, "as above"},
    {"ensure_chunk/store/directory", MODEL_RELAXED, false,
     "no scenario: a look-up while the table grows; unit.table does that"},
    {"jzx__table_slot/load/directory", MODEL_RELAXED, false, "as above"},
    {"open_slot/store/inbox", MODEL_RELAXED, false,
     "no scenario with another owner; rig.c does the same, see slot_opened_before_owner"},
    {"take_foreign/exchange/taken", MODEL_ACQUIRE, false, "no scenario: two threads at one cache"},
    {"take_foreign/exchange/taken", MODEL_RELEASE, false, "as above"},
    {"give_foreign/store/taken", MODEL_RELAXED, false, "as above"},
    /* No scenario yet. */
    {"jzx__sched_stop_state/load/stop", MODEL_RELAXED, false,
     "no scenario: the deadline of a gentle stop"},
    {"nothing_came/load/stop", MODEL_ACQUIRE, false, "no scenario: jzx_loop_stop"},
    {"jzx__sched_is_done/load/holds", MODEL_ACQUIRE, false, "no scenario: jzx_loop_release"},
    {"jzx__crew_sit/store/seat", MODEL_RELAXED, false,
     "no scenario: a dump, and a stall that is told of while the worker changes its thread"},
    {"handle_stall/load/seat", MODEL_RELAXED, false, "as above"},
    {"observe/load/task", MODEL_RELAXED, false,
     "no scenario: a stall that is told of while its task is new"},
};

/* Which scenarios meet which sites. */
static bool meets[SCENARIOS_MAX][MODEL_SITES_MAX];

/* Returns how many scenarios fail as they are; those find nothing. */
static unsigned survey(const struct model_scenario *const *scenarios, size_t count,
                       const struct model_bounds *bounds, uint64_t executions_max) {
    unsigned failed = 0;
    for (size_t i = 0; i < count; i++) {
        struct model_result result;
        model_sites_forget_met();
        model_explore(scenarios[i], bounds, NULL, executions_max, &result);
        for (size_t k = 0; k < model_site_count() && !result.failed; k++)
            meets[i][k] = model_site_at(k)->met;
        if (result.failed) {
            printf("%s fails as it is: %s\n", scenarios[i]->name, result.why);
            failed++;
        }
    }
    return failed;
}

static const struct unneeded *find_unneeded(const struct model_site *site,
                                            struct model_weakening weakening) {
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        if (model_site_is(site, list[i].where) && list[i].order == weakening.order &&
            list[i].on_failure == weakening.on_failure)
            return &list[i];
    }
    return NULL;
}

/* True if what came out is what was to be expected. */
static bool report(const struct model_site *site, struct model_weakening weakening,
                   const struct model_scenario *by, const struct model_result *result) {
    const struct unneeded *unneeded = find_unneeded(site, weakening);
    bool right = (by != NULL) == (unneeded == NULL);
    printf("%s  ", by != NULL ? "found    " : "NOT FOUND");
    model_site_print(stdout, site);
    printf(" -> %s%s", model_order_name(weakening.order),
           weakening.on_failure ? " on failure" : "");
    if (by != NULL)
        printf("  by %s: %s", by->name, result->why);
    if (unneeded != NULL)
        printf("  not needed: %s", unneeded->why);
    printf("%s\n", right ? "" : "  UNEXPECTED");
    fflush(stdout);
    return right;
}

static bool is_swept(const struct model_site *site, const char *file) {
    return strstr(site->file, "/tests/model/") == NULL &&
           (file == NULL || strstr(site->file, file) != NULL);
}

bool model_sweep(const struct model_scenario *const *scenarios, size_t count,
                 const struct model_bounds *bounds, uint64_t executions_max, const char *file) {
    unsigned found = 0;
    unsigned tried = 0;
    if (count > SCENARIOS_MAX)
        return false;
    unsigned unexpected = survey(scenarios, count, bounds, executions_max);
    for (size_t i = 0; i < model_site_count(); i++) {
        struct model_weakening weakenings[3];
        struct model_site *site = model_site_at(i);
        size_t ways = is_swept(site, file) ? model_site_weakenings(site, weakenings) : 0;
        for (size_t k = 0; k < ways; k++) {
            struct model_result result = {.failed = false};
            size_t by = 0;
            model_sites_restore();
            model_site_weaken(site, weakenings[k]);
            for (; by < count && !result.failed; by++) {
                if (meets[by][i])
                    model_explore(scenarios[by], bounds, NULL, executions_max, &result);
            }
            tried++;
            found += result.failed;
            unexpected +=
                !report(site, weakenings[k], result.failed ? scenarios[by - 1] : NULL, &result);
        }
    }
    model_sites_restore();
    printf("%u weakenings, %u found, %u unexpected\n", tried, found, unexpected);
    return unexpected == 0;
}
