/* SPDX-License-Identifier: MIT */
/* One record is recycled by one path: a job that another thread cancels while it is Scheduled comes
 * back by the queue, one that is in flight by its completion, and the owner does the rest itself.
 * */
#include "schedule/core/life.h"

#include "schedule/core/admit.h"
#include "schedule/core/rate.h"

/* ---- ending ---- */

static void recycle(struct jzx__schedule *s, struct jzx__job *job) {
    enum jzx__job_state end = jzx__job_word_state(jzx__job_word_load(&job->word));
    void *payload = job->payload;
    jzx__places_remove(&s->places, job);
    s->metrics.periodic_total -= jzx__job_is_periodic(job);
    job->is_registered = false;
    job->is_in_flight = false;
    job->payload = NULL;
    jzx__job_table_put_back(&s->table, job);
    /* pairs with count_in of admit.c: the record is free before it is counted out (S4) */
    (void)jzx__atomic_add_acq_rel(&s->active, UINT32_MAX);
    if (payload != NULL && s->ops.release != NULL)
        s->ops.release(s->ops.ctx, payload, end);
}

static void end_cancelled(struct jzx__schedule *s, struct jzx__job *job) {
    jzx__schedule_record(s, job, JZX__LOG_CANCEL);
    recycle(s, job);
}

bool jzx__schedule_discard(struct jzx__schedule *s, struct jzx__job *job) {
    if (!jzx__job_step(&job->word, JZX__JOB_SCHEDULED, JZX__JOB_CANCELLED))
        return false;
    recycle(s, job);
    return true;
}

static uintptr_t generation_of(const struct jzx__job *job) {
    return jzx__job_word_generation(jzx__job_word_load(&job->word));
}

/* What the owner does with a job that it cancels. */
static bool cancel_here(struct jzx__schedule *s, struct jzx__job *job, uintptr_t generation) {
    switch (jzx__job_cancel(&job->word, generation)) {
    case JZX__CANCEL_REFUSED: return false;
    case JZX__CANCEL_LAST_RUN: return true;
    case JZX__CANCEL_UNLINK: break;
    }
    end_cancelled(s, job);
    return true;
}

bool jzx__schedule_drop(struct jzx__schedule *s, struct jzx__job *job) {
    if (!cancel_here(s, job, generation_of(job)))
        return false;
    s->metrics.dropped_total++;
    return true;
}

void jzx__schedule_abandon(struct jzx__schedule *s, struct jzx__job *job) {
    s->metrics.dropped_total++;
    jzx__job_abandon(&job->word);
    end_cancelled(s, job);
}

/* ---- registering ---- */

/* What the owner keeps of a job, from the beginning. */
static void enter(struct jzx__schedule *s, struct jzx__job *job) {
    job->sequence = ++s->sequence;
    job->last_fire = 0;
    job->paced_until = s->pass_end;
    job->not_before = 0;
    job->batch = (struct jzx__batch){0, 0, job->mode};
    job->deferrals = 0;
    job->is_registered = true;
    s->metrics.periodic_total += jzx__job_is_periodic(job);
}

static bool find_place(struct jzx__schedule *s, struct jzx__job *job) {
    if (jzx__places_add(&s->places, job) == JZX__PLACED) {
        jzx__schedule_record(s, job, JZX__LOG_SCHEDULE);
        return true;
    }
    jzx__schedule_tell(s, (struct jzx__schedule_event){.kind = JZX__EVENT_CAPACITY_EXCEEDED,
                                                       .job = job->id,
                                                       .priority = job->policy.priority,
                                                       .value = job->deadline});
    return false;
}

bool jzx__schedule_register(struct jzx__schedule *s, struct jzx__job *job) {
    enter(s, job);
    return find_place(s, job);
}

/* A job that was cancelled on its way gets no place: its record comes back by the other queue. */
static void take_command(struct jzx__schedule *s, struct jzx__job *job) {
    enter(s, job);
    if (jzx__job_word_state(jzx__job_word_load(&job->word)) == JZX__JOB_CANCELLED)
        return;
    bool is_open = s->phase == JZX__PHASE_ACTIVE;
    if ((!is_open || !find_place(s, job)) && jzx__schedule_discard(s, job))
        s->metrics.dropped_total++;
}

static void take_commands(struct jzx__schedule *s) {
    if (jzx__mpsc_is_empty(&s->commands))
        return;
    struct jzx__mpsc_node *node = jzx__mpsc_take_all(&s->commands);
    while (node != NULL) {
        struct jzx__mpsc_node *next = node->next; /* the record may be in use again afterwards */
        take_command(s, JZX_CONTAINER_OF(node, struct jzx__job, command));
        node = next;
    }
}

/* ---- the end of a run ---- */

static void go_again(struct jzx__schedule *s, struct jzx__job *job) {
    if (s->phase != JZX__PHASE_ACTIVE)
        jzx__job_abandon(&job->word); /* a shutdown starts no further run */
    else if (job->mode == JZX__JOB_FIXED_DELAY)
        job->deadline = jzx__delay_next(job->finished_ns, job->delay_ns, s->config.resolution_ns,
                                        s->places.now);
    /* Ticks that passed during the run are missed, also if they are still to be run; those that had
     * passed before are the driver's, which makes up for them. */
    uint64_t finished = jzx__ticks_down(job->finished_ns, s->config.resolution_ns);
    job->not_before = finished > job->paced_until ? finished + 1 : 0;
    if (!jzx__job_again(&job->word)) {
        end_cancelled(s, job);
        return;
    }
    jzx__places_add_again(&s->places, job);
}

void jzx__schedule_end_run(struct jzx__schedule *s, struct jzx__job *job) {
    if (job == s->firing) {
        s->firing_ended = true;
        return;
    }
    job->is_in_flight = false;
    if (job->error != 0)
        jzx__schedule_tell(s, (struct jzx__schedule_event){.kind = JZX__EVENT_HANDLER_FAILED,
                                                           .job = job->id,
                                                           .error = job->error,
                                                           .batch = job->batch});
    switch (jzx__job_word_state(jzx__job_word_load(&job->word))) {
    case JZX__JOB_COMPLETED: recycle(s, job); break;
    case JZX__JOB_CANCELLED: end_cancelled(s, job); break;
    default: go_again(s, job); break;
    }
}

void jzx__schedule_put_off(struct jzx__schedule *s, struct jzx__job *job) {
    if (jzx__job_again(&job->word))
        jzx__places_add_again(&s->places, job);
    else
        end_cancelled(s, job);
}

/* The part that may run on any thread. Only the completer writes these fields, once per run. */
static struct jzx__job *note_end(struct jzx__schedule *s, jzx__job_id id, uint64_t finished_ns,
                                 int32_t error) {
    uintptr_t generation = 0;
    struct jzx__job *job = jzx__job_table_find(&s->table, id, &generation);
    if (job == NULL)
        return NULL;
    uintptr_t word = jzx__job_word_load(&job->word);
    enum jzx__job_state state = jzx__job_word_state(word);
    if (jzx__job_word_generation(word) != generation ||
        (state != JZX__JOB_EXECUTING && state != JZX__JOB_CANCELLED))
        return NULL;
    job->finished_ns = finished_ns;
    job->error = error;
    if (error != 0)
        jzx__job_abandon(&job->word);
    else if ((word & JZX__JOB_PERIODIC) == 0)
        (void)jzx__job_finish(&job->word);
    return job;
}

bool jzx__schedule_complete(struct jzx__schedule *s, jzx__job_id id, uint64_t finished_ns,
                            int32_t error) {
    uintptr_t generation = 0;
    const struct jzx__job *job = jzx__job_table_find(&s->table, id, &generation);
    if (job == NULL || generation_of(job) != generation || !job->is_in_flight)
        return false;
    struct jzx__job *ended = note_end(s, id, finished_ns, error);
    if (ended == NULL)
        return false;
    jzx__schedule_end_run(s, ended);
    return true;
}

bool jzx__schedule_complete_elsewhere(struct jzx__schedule *s, jzx__job_id id, uint64_t finished_ns,
                                      int32_t error) {
    struct jzx__job *job = note_end(s, id, finished_ns, error);
    if (job == NULL)
        return false;
    jzx__mpsc_push(&s->back, &job->back);
    return true;
}

void jzx__schedule_give_up(struct jzx__schedule *s, jzx__job_id id) {
    uintptr_t generation = 0;
    struct jzx__job *job = jzx__job_table_find(&s->table, id, &generation);
    if (job != NULL && generation_of(job) == generation)
        jzx__job_abandon(&job->word);
    /* relaxed: a gauge that the owner reads */
    (void)jzx__atomic_add_relaxed(&s->dropped_elsewhere, 1);
}

bool jzx__schedule_may_run(struct jzx__schedule *s, jzx__job_id id) {
    if (jzx__schedule_state(s, id) == JZX__JOB_EXECUTING)
        return true;
    /* relaxed: a gauge that the owner reads */
    (void)jzx__atomic_add_relaxed(&s->dropped_elsewhere, 1);
    return false;
}

/* ---- handles ---- */

bool jzx__schedule_cancel(struct jzx__schedule *s, jzx__job_id id) {
    uintptr_t generation = 0;
    struct jzx__job *job = jzx__job_table_find(&s->table, id, &generation);
    if (job == NULL)
        return false;
    take_commands(s); /* it may be on its way */
    return cancel_here(s, job, generation);
}

bool jzx__schedule_cancel_elsewhere(struct jzx__schedule *s, jzx__job_id id) {
    uintptr_t generation = 0;
    struct jzx__job *job = jzx__job_table_find(&s->table, id, &generation);
    enum jzx__job_cancel cancel =
        job == NULL ? JZX__CANCEL_REFUSED : jzx__job_cancel(&job->word, generation);
    if (cancel == JZX__CANCEL_UNLINK)
        jzx__mpsc_push(&s->back, &job->back);
    return cancel != JZX__CANCEL_REFUSED;
}

enum jzx__job_state jzx__schedule_state(const struct jzx__schedule *s, jzx__job_id id) {
    return jzx__job_table_state(&s->table, id);
}

/* ---- what comes back ---- */

void jzx__schedule_take_in(struct jzx__schedule *s) {
    if (JZX__MUTANT(commands_before_back))
        take_commands(s);
    struct jzx__mpsc_node *node =
        jzx__mpsc_is_empty(&s->back) ? NULL : jzx__mpsc_take_all(&s->back);
    /* Every record that came back was submitted before: so it is registered now. */
    if (!JZX__MUTANT(commands_before_back))
        take_commands(s);
    while (node != NULL) {
        struct jzx__mpsc_node *next = node->next; /* the record may be in use again afterwards */
        struct jzx__job *job = JZX_CONTAINER_OF(node, struct jzx__job, back);
        if (job->is_in_flight)
            jzx__schedule_end_run(s, job);
        else
            end_cancelled(s, job);
        node = next;
    }
    jzx__schedule_heed(s);
}
