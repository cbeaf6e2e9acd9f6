/* SPDX-License-Identifier: MIT */
/* The life of actors, and what becomes of each command. */
#include "command/execute.h"

#include "base/alloc.h"
#include "command/inbox.h"
#include "command/output.h"
#include "command/processor.h"
#include "command/trace.h"

/* There is no memory to carry it out. */
static jzx_outcome lose(struct jzx_processor *processor) {
    processor->counts.lost++;
    processor->err = JZX_ERR_NO_MEMORY;
    return JZX_OUTCOME_FAILED;
}

static jzx_outcome drop(struct jzx_processor *processor) {
    processor->counts.dropped++;
    return JZX_OUTCOME_DROPPED;
}

/* ---- the life of an actor ---- */

void jzx__subject_remove(struct jzx_processor *processor, struct jzx__subject *subject) {
    bool was_reserved = subject->kind == JZX_REGISTERED_RESERVED;
    jzx__roster_remove(&processor->registry, subject->handle);
    processor->removals++;
    processor->reservations -= was_reserved;
    if (!was_reserved && !subject->is_internal && --processor->external == 0)
        processor->terminate_due = true;
    if (subject->inbox != NULL)
        jzx__inbox_close(subject->inbox);
    jzx__subject_release(processor, subject);
}

/* Of the registry, but for reservations of living actors if only orphans are meant. */
static void remove_all(struct jzx_processor *processor, bool only_orphans) {
    size_t slot = 0;
    while (slot < processor->registry.size) {
        struct jzx__subject *subject = processor->registry.slots[slot];
        bool goes =
            subject != NULL &&
            (!only_orphans || (subject->kind == JZX_REGISTERED_RESERVED &&
                               jzx__roster_find(&processor->registry, subject->parent) == NULL));
        if (goes)
            jzx__subject_remove(processor, subject); /* another may have moved up to this slot */
        else
            slot++;
    }
}

void jzx__subjects_clear(struct jzx_processor *processor) {
    remove_all(processor, false);
    while (jzx__roll_first(&processor->queue) != NULL)
        jzx__roll_pop(&processor->queue, &processor->allocator);
    processor->terminate_due = false;
}

/* The list could not take all that the actor wanted: it wanted nothing then, and ends. */
static void fail_for_memory(struct jzx_processor *processor, struct jzx__subject *subject,
                            struct jzx__roll_mark since) {
    const jzx_action fail = {.kind = JZX_ACTION_FAIL,
                             .error = JZX_ERR_NO_MEMORY,
                             .source = JZX_PROCESSOR_NO_HANDLE,
                             .target = subject->handle};
    jzx__roll_void(&processor->queue, since, subject->handle);
    (void)lose(processor);
    jzx__trace_note(processor, &fail, JZX_OUTCOME_DONE);
    jzx__subject_remove(processor, subject);
}

static void call_init(struct jzx_processor *processor, struct jzx__subject *subject) {
    struct jzx_actions out = {.processor = processor, .self = subject, .roll = &processor->queue};
    struct jzx__roll_mark since = jzx__roll_end(&processor->queue);
    subject->made_of.init(jzx__subject_state(subject), &out);
    if (out.err != JZX_OK)
        fail_for_memory(processor, subject, since);
}

static void call_handle(struct jzx_processor *processor, struct jzx__subject *subject,
                        const jzx_action *msg) {
    struct jzx_actions out = {.processor = processor, .self = subject, .roll = &processor->queue};
    struct jzx__roll_mark since = jzx__roll_end(&processor->queue);
    subject->made_of.handle(jzx__subject_state(subject), msg, &out);
    if (JZX_UNLIKELY(out.err != JZX_OK))
        fail_for_memory(processor, subject, since);
}

jzx_err jzx__subject_spawn(struct jzx_processor *processor, struct jzx__subject *subject,
                           const void *config, size_t len) {
    const jzx_actor_factory *made_of = &subject->made_of;
    jzx_err err = JZX_OK;
    if (made_of->create != NULL)
        err = made_of->create(jzx__subject_state(subject), subject->handle, config, len);
    subject->is_made = err == JZX_OK;
    if (err == JZX_OK && subject->inbox != NULL)
        err = jzx__inbox_open(subject->inbox);
    if (err != JZX_OK) {
        jzx__subject_remove(processor, subject);
        return err;
    }
    subject->kind = subject->inbox != NULL ? JZX_REGISTERED_ASYNC : JZX_REGISTERED_SYNC;
    processor->reservations--;
    processor->external += !subject->is_internal;
    if (made_of->init != NULL)
        call_init(processor, subject);
    return JZX_OK;
}

/* ---- commands ---- */

/* What a stage has set becomes the factory of the reservation, which goes if it cannot be made. */
static jzx_err use_factory(struct jzx_processor *processor, struct jzx__subject *subject,
                           jzx_action *action) {
    jzx_err err = JZX_OK;
    if (action->factory != subject->factory && action->factory != NULL)
        err = jzx__subject_replace(processor, subject, action->factory);
    action->factory = subject->factory;
    if (err != JZX_OK)
        jzx__subject_remove(processor, subject);
    return err;
}

/* Its reservation was removed. */
static jzx_outcome fail_spawn(struct jzx_processor *processor, struct jzx__record *record,
                              jzx_err err) {
    jzx_action *action = &record->action;
    if (err == JZX_ERR_NO_MEMORY)
        (void)lose(processor);
    action->error = err;
    if (action->target == JZX_PROCESSOR_INPUT)
        processor->err = err; /* for jzx_processor_create */
    if (processor->external == 0 && !record->is_internal)
        processor->terminate_due = true; /* nobody is left to spawn another */
    return JZX_OUTCOME_FAILED;
}

/* What a Spawn would make an actor of; NULL if that is gone, or one already. */
static struct jzx__subject *reservation_of(const struct jzx_processor *processor,
                                           const jzx_action *spawn) {
    struct jzx__subject *subject = jzx__roster_find(&processor->registry, spawn->target);
    return subject != NULL && subject->kind == JZX_REGISTERED_RESERVED ? subject : NULL;
}

static jzx_outcome carry_out_spawn(struct jzx_processor *processor, struct jzx__record *record) {
    jzx_action *action = &record->action;
    struct jzx__subject *subject = reservation_of(processor, action);
    if (subject == NULL)
        return drop(processor);
    jzx_err err = use_factory(processor, subject, action);
    if (err == JZX_OK)
        err = jzx__subject_spawn(processor, subject, action->data, action->len);
    action->error = err;
    return err == JZX_OK ? JZX_OUTCOME_DONE : fail_spawn(processor, record, err);
}

static jzx_outcome carry_out_send(struct jzx_processor *processor, struct jzx__record *record) {
    jzx_action *action = &record->action;
    /* Its source was there when it was added: only what was removed since can be missing, in this
     * tick, or in others if a stage has held it back. */
    if ((processor->removals != 0 || record->stage != 0) &&
        action->source != JZX_PROCESSOR_INTERNAL && action->source != JZX_PROCESSOR_NO_HANDLE &&
        jzx__roster_find(&processor->registry, action->source) == NULL)
        return drop(processor);
    jzx_err err = JZX_OK;
    if (action->target == JZX_PROCESSOR_OUTPUT) {
        err = jzx__output_push(processor, action);
    } else {
        struct jzx__subject *target = jzx__roster_find(&processor->registry, action->target);
        if (target == NULL || target->kind == JZX_REGISTERED_RESERVED)
            return drop(processor);
        if (target->kind == JZX_REGISTERED_SYNC)
            call_handle(processor, target, action);
        else
            err = jzx__inbox_push(target->inbox, action);
    }
    action->error = err;
    return err == JZX_OK ? JZX_OUTCOME_DONE : lose(processor);
}

static jzx_outcome carry_out_kill(struct jzx_processor *processor, struct jzx__record *record) {
    struct jzx__subject *subject = jzx__roster_find(&processor->registry, record->action.target);
    if (subject == NULL || subject->kind == JZX_REGISTERED_RESERVED)
        return drop(processor);
    jzx__subject_remove(processor, subject);
    return JZX_OUTCOME_DONE;
}

static jzx_outcome carry_out_terminate(struct jzx_processor *processor) {
    struct jzx__visit visit;
    jzx__processor_lock(processor, &visit);
    processor->is_closed = true;
    jzx__processor_unlock(processor, &visit);
    remove_all(processor, false);
    processor->terminate_due = false;
    (void)jzx_channel_close(&processor->output);
    return JZX_OUTCOME_DONE;
}

static void carry_out(struct jzx_processor *processor, struct jzx__record *record) {
    jzx_outcome outcome;
    switch (record->action.kind) {
    case JZX_ACTION_SEND: outcome = carry_out_send(processor, record); break;
    case JZX_ACTION_SPAWN: outcome = carry_out_spawn(processor, record); break;
    case JZX_ACTION_KILL:
    case JZX_ACTION_FAIL: outcome = carry_out_kill(processor, record); break;
    case JZX_ACTION_TERMINATE: outcome = carry_out_terminate(processor); break;
    default: outcome = drop(processor); break;
    }
    if (processor->keeps_trace)
        jzx__trace_note(processor, &record->action, outcome);
}

/* ---- middleware ---- */

static void route(struct jzx_processor *processor, struct jzx__record *record);

/* A sync stage sees it; what it passes goes on at once. */
static void show_sync(struct jzx_processor *processor, struct jzx__subject *stage,
                      struct jzx__record *record, const jzx_action *wrapped) {
    struct jzx__roll passes = {.head = NULL};
    struct jzx_actions out = {
        .processor = processor, .self = stage, .roll = &processor->queue, .passes = &passes};
    struct jzx__roll_mark since = jzx__roll_end(&processor->queue);
    stage->made_of.handle(jzx__subject_state(stage), wrapped, &out);
    if (out.err != JZX_OK) {
        fail_for_memory(processor, stage, since);
        record->action.error = JZX_ERR_NO_MEMORY;
        jzx__trace_note(processor, &record->action, JZX_OUTCOME_FAILED);
    } else if (jzx__roll_first(&passes) == NULL) {
        jzx__trace_note(processor, &record->action, JZX_OUTCOME_BLOCKED);
    } else {
        struct jzx__record *pass;
        while ((pass = jzx__roll_first(&passes)) != NULL) {
            route(processor, pass);
            jzx__roll_pop(&passes, &processor->allocator);
        }
    }
    jzx__roll_clear(&passes, &processor->allocator);
}

/* An async stage sees it; what it passes comes in a later tick, with the factory of the
 * reservation. */
static jzx_outcome show_async(struct jzx_processor *processor, struct jzx__subject *stage,
                              struct jzx__record *record, const jzx_action *wrapped) {
    struct jzx__subject *subject =
        record->action.kind == JZX_ACTION_SPAWN ? reservation_of(processor, &record->action) : NULL;
    jzx_err err = subject == NULL ? JZX_OK : use_factory(processor, subject, &record->action);
    if (err != JZX_OK)
        return fail_spawn(processor, record, err);
    if (jzx__inbox_push_command(stage->inbox, wrapped) == JZX_OK)
        return JZX_OUTCOME_DEFERRED;
    record->action.error = JZX_ERR_NO_MEMORY;
    return lose(processor);
}

static void show(struct jzx_processor *processor, struct jzx__subject *stage,
                 struct jzx__record *record) {
    const jzx_action wrapped = {.kind = JZX_ACTION_SEND,
                                .source = JZX_PROCESSOR_INTERNAL,
                                .target = stage->handle,
                                .tag = JZX_TAG_COMMAND,
                                .len = sizeof(jzx_action),
                                .data = &record->action};
    if (stage->kind == JZX_REGISTERED_SYNC)
        show_sync(processor, stage, record, &wrapped);
    else
        jzx__trace_note(processor, &record->action, show_async(processor, stage, record, &wrapped));
}

/* To the next stage that is there, or to its end. Stages are at most JZX_MIDDLEWARE_MAX, and so is
 * the depth of this. */
static void route(struct jzx_processor *processor, struct jzx__record *record) {
    while (JZX_UNLIKELY(record->stage < processor->stage_count) && !record->is_internal) {
        struct jzx__subject *stage =
            jzx__roster_find(&processor->registry, processor->stages[record->stage]);
        if (stage != NULL && stage->kind != JZX_REGISTERED_RESERVED) {
            show(processor, stage, record);
            return;
        }
        record->stage++; /* it was killed */
    }
    carry_out(processor, record);
}

/* ---- a tick ---- */

/* An async stage cannot replace the factory of a Spawn, and a recording has none. */
static void settle_factory(const struct jzx_processor *processor, struct jzx__record *record) {
    const struct jzx__subject *subject = reservation_of(processor, &record->action);
    record->action.factory = subject != NULL ? subject->factory : NULL;
}

/* Brings in what came meanwhile, and returns the next command; NULL if there is none. */
static struct jzx__record *next_record(struct jzx_processor *processor) {
    /* relaxed: the list has a lock; whoever misses the hint looks at the end of the tick */
    if (JZX_UNLIKELY(jzx__atomic_load_relaxed(&processor->looks) != 0))
        jzx__processor_take_in(processor);
    return jzx__roll_first(&processor->queue);
}

static void run_queue(struct jzx_processor *processor) {
    struct jzx__record *record;
    while ((record = next_record(processor)) != NULL) {
        if (JZX_UNLIKELY(record->is_late)) {
            processor->counts.commands++;
            jzx__trace_note(processor, &record->action, drop(processor)); /* P6 */
        } else if (!record->is_void) {
            processor->counts.commands++;
            if (record->action.kind == JZX_ACTION_SPAWN &&
                (record->is_frozen || record->action.factory == NULL))
                settle_factory(processor, record);
            route(processor, record);
        }
        jzx__roll_pop(&processor->queue, &processor->allocator);
        processor->done++;
    }
}

void jzx__tick_run(struct jzx_processor *processor) {
    processor->removals = 0;
    run_queue(processor);
    while (processor->terminate_due && processor->external == 0) {
        struct jzx__record record = {.size = sizeof record,
                                     .action = {.kind = JZX_ACTION_TERMINATE,
                                                .source = JZX_PROCESSOR_NO_HANDLE,
                                                .target = JZX_PROCESSOR_NO_HANDLE}};
        processor->terminate_due = false;
        processor->counts.commands++;
        route(processor, &record);
        processor->done++;
        run_queue(processor); /* what a stage has added */
    }
    if (processor->removals != 0 && processor->reservations != 0)
        remove_all(processor, true);
    processor->counts.ticks++;
    processor->done = 0;
}
