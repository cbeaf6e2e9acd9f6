/* SPDX-License-Identifier: MIT */
/* The life of a processor, its inputs, and who carries them out. */
#include "command/processor.h"

#include "actor/table.h"
#include "base/alloc.h"
#include "base/sized.h"
#include "command/execute.h"
#include "command/output.h"
#include "command/recording.h"
#include "command/trace.h"

#include "jzx/context.h"

#include <string.h>

/* ---- inputs ---- */

void jzx__input_free(struct jzx_processor *processor, struct jzx__input *input) {
    if (input == NULL)
        return;
    if (input->is_embedded) { /* its roll goes with the inbox */
        jzx__subject_release(processor, input->inbox->subject);
        return;
    }
    jzx__roll_clear(&input->roll, &processor->allocator);
    jzx__free(&processor->allocator, input, sizeof *input);
}

/* With one action, or NULL without memory. */
static struct jzx__input *make_input(struct jzx_processor *processor, const jzx_action *action) {
    struct jzx__input *input = jzx__alloc(&processor->allocator, sizeof *input);
    if (input == NULL)
        return NULL;
    *input = (struct jzx__input){.source = JZX_PROCESSOR_NO_HANDLE};
    if (jzx__roll_add(&input->roll, &processor->allocator, action, JZX__CHUNK_EXACT) == NULL) {
        jzx__free(&processor->allocator, input, sizeof *input);
        return NULL;
    }
    return input;
}

/* Under the lock. */
static void append(struct jzx_processor *processor, struct jzx__input *input) {
    input->next = NULL;
    if (processor->first == NULL)
        processor->first = input;
    else
        processor->last->next = input;
    processor->last = input;
    processor->shown.waiting++;
    /* relaxed: a hint; the runner takes the lock when it sees it */
    jzx__atomic_store_relaxed(&processor->looks, !processor->tick_per_input);
}

/* ---- the runner ---- */

/* Under the lock: this thread is the runner from now on. */
static void become_runner(struct jzx_processor *processor) {
    processor->phase = JZX_PHASE_BUSY;
    processor->runner = (uintptr_t)&jzx__seat_of_thread;
    processor->runner_actor = jzx_current_actor();
    processor->err = JZX_OK;
}

/* Under the lock: this thread is the runner, so that this call comes from a handler. */
static bool is_runner(const struct jzx_processor *processor) {
    return processor->phase == JZX_PHASE_BUSY &&
           processor->runner == (uintptr_t)&jzx__seat_of_thread &&
           processor->runner_actor == jzx_current_actor(); /* else it has ended there, by a fault */
}

/* Under the lock: the actor that ran a handler has ended in it, by a fault that was contained. */
static bool is_abandoned(const struct jzx_processor *processor) {
    return processor->phase == JZX_PHASE_BUSY && processor->runner_actor != JZX_NOBODY &&
           !jzx__table_is_alive(&processor->loop->table, processor->runner_actor);
}

/* ---- taking inputs ---- */

/* It comes from an async actor that this tick has sent to (P9). */
static bool is_early(const struct jzx_processor *processor, const struct jzx__input *input) {
    if (input->source == JZX_PROCESSOR_NO_HANDLE)
        return false;
    const struct jzx__subject *subject = jzx__roster_find(&processor->registry, input->source);
    return subject != NULL && subject->inbox->told_in == processor->counts.ticks;
}

/* The next one that begins a tick, or may come into the one that goes on; or NULL. Under the lock,
 * as all that follow. */
static struct jzx__input *take(struct jzx_processor *processor, bool begins) {
    struct jzx__input *input = processor->first;
    if (!begins && processor->counts.ticks == 0)
        return NULL; /* P3 */
    if (input == NULL)
        return jzx__recording_next(processor, begins);
    if (!begins && (processor->tick_per_input || is_early(processor, input)))
        return NULL;
    processor->first = input->next;
    processor->shown.waiting--;
    input->place = begins ? JZX__PLACE_FIRST : processor->done;
    jzx__recording_place(processor, input);
    return input;
}

/* All that can be taken now, as a list. */
static struct jzx__input *take_list(struct jzx_processor *processor, bool begins) {
    struct jzx__input *list = NULL;
    struct jzx__input **end = &list;
    while ((*end = take(processor, begins)) != NULL) {
        end = &(*end)->next;
        begins = false;
        *end = NULL;
    }
    /* relaxed: the runner's own; others set it under the lock */
    jzx__atomic_store_relaxed(&processor->looks, processor->replay.left != 0);
    return list;
}

/* All that waits: it came before the Terminate was carried out. */
static struct jzx__input *take_rest(struct jzx_processor *processor) {
    struct jzx__input *list = processor->first;
    processor->first = NULL;
    processor->shown.waiting = 0;
    processor->replay.left = 0;
    /* relaxed: as above */
    jzx__atomic_store_relaxed(&processor->looks, 0u);
    return list;
}

/* Its commands go to the end of the queue. */
static void queue_input(struct jzx_processor *processor, struct jzx__input *input) {
    struct jzx__chunk *chunk;
    const bool is_late = input->source != JZX_PROCESSOR_NO_HANDLE &&
                         jzx__roster_find(&processor->registry, input->source) == NULL; /* P6 */
    for (struct jzx__record *record = jzx__roll_next(&input->roll, &chunk, NULL);
         is_late && record != NULL; record = jzx__roll_next(&input->roll, &chunk, record))
        record->is_late = true;
    jzx__roll_join(&processor->queue, &input->roll, &processor->allocator);
}

/* Not under the lock. */
static void use_list(struct jzx_processor *processor, struct jzx__input *list, bool is_dropped) {
    while (list != NULL) {
        struct jzx__input *next = list->next;
        if (!is_dropped)
            queue_input(processor, list);
        jzx__input_free(processor, list);
        list = next;
    }
}

void jzx__processor_take_in(struct jzx_processor *processor) {
    struct jzx__visit visit;
    jzx__processor_lock(processor, &visit);
    const bool is_closed = processor->is_closed;
    struct jzx__input *list = is_closed ? take_rest(processor) : take_list(processor, false);
    jzx__processor_unlock(processor, &visit);
    use_list(processor, list, is_closed);
}

/* The runner's last act is to find nothing (P2). Returns what was lost. */
static jzx_err run(struct jzx_processor *processor) {
    struct jzx__visit visit;
    for (;;) {
        jzx__processor_lock(processor, &visit);
        uint64_t waiting = processor->shown.waiting;
        processor->shown = processor->counts;
        processor->shown.waiting = waiting;
        processor->shown.actors = processor->external;
        const bool is_closed = processor->is_closed;
        struct jzx__input *list = is_closed ? take_rest(processor) : take_list(processor, true);
        jzx_err err = processor->err;
        if (list == NULL) {
            processor->phase = JZX_PHASE_IDLE;
            processor->runner = 0;
        }
        jzx__processor_unlock(processor, &visit);
        if (list == NULL)
            return err;
        use_list(processor, list, is_closed);
        if (!is_closed)
            jzx__tick_run(processor);
    }
}

/* ---- bringing inputs in ---- */

/* Under the lock: nobody wants what its inbox brings. */
static bool is_unheard(const struct jzx__input *input) {
    const struct jzx_inbox *inbox = input->inbox;
    return inbox != NULL &&
           (!inbox->is_open || inbox->has_ended ||
            (input->generation != JZX__GENERATION_ANY && input->generation != inbox->generation));
}

/* Under the lock. */
static jzx_err accept(struct jzx_processor *processor, struct jzx__input *input) {
    if (processor->is_closed || is_unheard(input))
        return JZX_ERR_CLOSED;
    if (is_abandoned(processor) && !input->is_embedded)
        return JZX_ERR_FAILED;
    input->place = processor->phase == JZX_PHASE_QUEUED && !processor->tick_per_input
                       ? 0 /* with those that wait */
                       : JZX__PLACE_FIRST;
    if (!jzx__recording_add(processor, input))
        return JZX_ERR_NO_MEMORY;
    if (input->is_embedded) {
        input->inbox->has_ended = true;
        input->inbox->subject->references++; /* P8 */
    }
    append(processor, input);
    if (processor->phase == JZX_PHASE_IDLE)
        processor->phase = JZX_PHASE_QUEUED;
    return JZX_OK;
}

jzx_err jzx__processor_bring(struct jzx_processor *processor, struct jzx__input *input, bool runs,
                             jzx_err *run_err) {
    struct jzx__visit visit;
    jzx__processor_lock(processor, &visit);
    jzx_err err = accept(processor, input);
    bool is_mine = err == JZX_OK && runs && processor->phase == JZX_PHASE_QUEUED;
    if (is_mine)
        become_runner(processor);
    jzx__processor_unlock(processor, &visit);
    jzx_err lost = is_mine ? run(processor) : JZX_OK;
    if (run_err != NULL && lost != JZX_OK)
        *run_err = lost;
    return err;
}

/* A dispatch by a handler: it goes to the end of the queue of its tick. */
static jzx_err append_in_tick(struct jzx_processor *processor, const jzx_action *action) {
    return jzx__roll_add(&processor->queue, &processor->allocator, action, JZX__CHUNK_SIZE) != NULL
               ? JZX_OK
               : JZX_ERR_NO_MEMORY;
}

/* What comes from outside, as an input with one action. */
static jzx_err bring_action(struct jzx_processor *processor, const jzx_action *action, bool runs) {
    struct jzx__visit visit;
    jzx__processor_lock(processor, &visit);
    bool is_inside = is_runner(processor);
    bool is_closed = processor->is_closed;
    jzx__processor_unlock(processor, &visit);
    if (is_closed)
        return JZX_ERR_CLOSED;
    if (is_inside)
        return append_in_tick(processor, action);
    struct jzx__input *input = make_input(processor, action);
    if (input == NULL)
        return JZX_ERR_NO_MEMORY;
    jzx_err run_err = JZX_OK;
    jzx_err err = jzx__processor_bring(processor, input, runs, &run_err);
    if (err != JZX_OK)
        jzx__input_free(processor, input);
    return err != JZX_OK ? err : run_err;
}

static jzx_err send(jzx_processor *processor, uint32_t tag, const void *data, size_t len,
                    bool runs) {
    if (processor == NULL || tag >= JZX_TAG_RESERVED || len > JZX_MSG_LEN_MAX ||
        (data == NULL && len != 0))
        return JZX_ERR_INVALID_ARG;
    const jzx_action action = {.kind = JZX_ACTION_SEND,
                               .source = JZX_PROCESSOR_INTERNAL,
                               .target = JZX_PROCESSOR_INPUT,
                               .tag = tag,
                               .len = (uint32_t)len,
                               .data = data};
    return bring_action(processor, &action, runs);
}

jzx_err jzx_processor_dispatch(jzx_processor *processor, uint32_t tag, const void *data,
                               size_t len) {
    return send(processor, tag, data, len, true);
}

jzx_err jzx_processor_enqueue(jzx_processor *processor, uint32_t tag, const void *data,
                              size_t len) {
    return send(processor, tag, data, len, false);
}

jzx_err jzx_processor_process(jzx_processor *processor) {
    struct jzx__visit visit;
    if (processor == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx__processor_lock(processor, &visit);
    bool is_mine = processor->phase == JZX_PHASE_QUEUED;
    if (is_mine)
        become_runner(processor);
    jzx__processor_unlock(processor, &visit);
    return is_mine ? run(processor) : JZX_OK;
}

jzx_err jzx_processor_replay(jzx_processor *processor, const jzx_recording *recording) {
    struct jzx__visit visit;
    struct jzx__reader reader;
    jzx_err err = JZX_OK;
    if (processor == NULL || !jzx__recording_open(recording, &reader))
        return JZX_ERR_INVALID_ARG;
    jzx__processor_lock(processor, &visit);
    if (is_abandoned(processor)) {
        err = JZX_ERR_FAILED;
    } else if (processor->phase == JZX_PHASE_BUSY) {
        err = JZX_ERR_BUSY;
    } else {
        become_runner(processor);
        processor->replay = reader;
    }
    jzx__processor_unlock(processor, &visit);
    return err == JZX_OK ? run(processor) : err;
}

jzx_err jzx_processor_kill(jzx_processor *processor, jzx_processor_handle handle) {
    const jzx_action action = {
        .kind = JZX_ACTION_KILL, .source = JZX_PROCESSOR_INTERNAL, .target = handle};
    return processor == NULL ? JZX_ERR_INVALID_ARG : bring_action(processor, &action, true);
}

jzx_err jzx_processor_terminate(jzx_processor *processor) {
    const jzx_action action = {.kind = JZX_ACTION_TERMINATE,
                               .source = JZX_PROCESSOR_INTERNAL,
                               .target = JZX_PROCESSOR_NO_HANDLE};
    return processor == NULL ? JZX_ERR_INVALID_ARG : bring_action(processor, &action, true);
}

/* ---- looking ---- */

jzx_phase jzx_processor_phase(jzx_processor *processor) {
    struct jzx__visit visit;
    if (processor == NULL)
        return JZX_PHASE_IDLE;
    jzx__processor_lock(processor, &visit);
    jzx_phase phase = processor->phase;
    jzx__processor_unlock(processor, &visit);
    return phase;
}

jzx_registered jzx_processor_lookup(jzx_processor *processor, jzx_processor_handle handle) {
    struct jzx__visit visit;
    jzx_registered kind = JZX_REGISTERED_NONE;
    if (processor == NULL)
        return kind;
    jzx__processor_lock(processor, &visit);
    if (processor->phase != JZX_PHASE_BUSY || is_runner(processor)) {
        const struct jzx__subject *subject = jzx__roster_find(&processor->registry, handle);
        kind = subject == NULL ? JZX_REGISTERED_NONE : subject->kind;
    }
    jzx__processor_unlock(processor, &visit);
    return kind;
}

jzx_err jzx_processor_stats_get(jzx_processor *processor, jzx_processor_stats *stats) {
    struct jzx__visit visit;
    if (processor == NULL || !jzx__is_sized(stats, sizeof *stats))
        return JZX_ERR_INVALID_ARG;
    jzx__processor_lock(processor, &visit);
    const jzx_processor_stats now = processor->shown;
    jzx__processor_unlock(processor, &visit);
    jzx__write_sized(stats, &now);
    return JZX_OK;
}

/* ---- its life ---- */

static bool settle_opts(jzx_processor_opts *opts, const jzx_processor_opts *from) {
    jzx_actor_factory full;
    if (!jzx__read_sized(opts, sizeof *opts, from) || !jzx__factory_read(opts->root, &full) ||
        opts->middleware_count > JZX_MIDDLEWARE_MAX || opts->config_len > JZX_MSG_LEN_MAX ||
        (opts->config == NULL && opts->config_len != 0))
        return false;
    if (opts->middleware_count == 0)
        return true;
    if (opts->middleware == NULL || opts->middleware_size != sizeof(jzx_stage))
        return false;
    for (size_t i = 0; i < opts->middleware_count; i++) {
        if (!jzx__factory_read(opts->middleware[i].factory, &full))
            return false;
    }
    return true;
}

/* Its stages are there before the first command. */
static jzx_err spawn_stages(struct jzx_processor *processor, const jzx_processor_opts *opts) {
    for (size_t i = 0; i < opts->middleware_count; i++) {
        const jzx_stage *stage = &opts->middleware[i];
        struct jzx__subject *subject;
        const struct jzx__subject_spec spec = {.factory = stage->factory,
                                               .config = stage->config,
                                               .config_len = stage->config_len,
                                               .parent = JZX_PROCESSOR_INTERNAL,
                                               .is_internal = true};
        jzx_err err = jzx__subject_reserve(processor, &spec, processor->next_handle, &subject);
        if (err != JZX_OK)
            return err;
        subject->stage = (uint8_t)(i + 1);
        processor->stages[i] = processor->next_handle++;
        err = jzx__subject_spawn(processor, subject, stage->config, stage->config_len);
        if (err != JZX_OK)
            return err;
    }
    processor->stage_count = (uint32_t)opts->middleware_count;
    return JZX_OK;
}

/* The Spawn of the root is the first command. */
static jzx_err queue_root(struct jzx_processor *processor, const jzx_processor_opts *opts) {
    static const jzx_processor_handle output = JZX_PROCESSOR_OUTPUT;
    const bool has_config = opts->config != NULL;
    struct jzx__subject *subject;
    const struct jzx__subject_spec spec = {
        .factory = opts->root,
        .config = has_config ? opts->config : &output,
        .config_len = has_config ? opts->config_len : sizeof output,
        .parent = JZX_PROCESSOR_INPUT /* it is its own, so that no sweep takes it */};
    jzx_err err = jzx__subject_reserve(processor, &spec, JZX_PROCESSOR_INPUT, &subject);
    if (err != JZX_OK)
        return err;
    const jzx_action action = {.kind = JZX_ACTION_SPAWN,
                               .source = JZX_PROCESSOR_NO_HANDLE,
                               .target = JZX_PROCESSOR_INPUT,
                               .len = (uint32_t)spec.config_len,
                               .data = spec.config,
                               .factory = opts->root};
    return append_in_tick(processor, &action);
}

/* As the runner: nobody else knows the processor yet. */
static jzx_err start(struct jzx_processor *processor, const jzx_processor_opts *opts) {
    struct jzx__visit visit;
    jzx__processor_lock(processor, &visit);
    become_runner(processor);
    bool has_memory = jzx__recording_begin(processor);
    jzx__processor_unlock(processor, &visit);
    jzx_err err = has_memory ? spawn_stages(processor, opts) : JZX_ERR_NO_MEMORY;
    if (err == JZX_OK)
        err = queue_root(processor, opts);
    if (err == JZX_OK)
        jzx__tick_run(processor);
    jzx_err lost = run(processor);
    return err != JZX_OK ? err : lost;
}

static void deinit(struct jzx_processor *processor) {
    jzx__trace_deinit(processor);
    jzx__recording_deinit(processor);
    jzx__roll_clear(&processor->queue, &processor->allocator);
    jzx__roster_deinit(&processor->registry, &processor->allocator);
    jzx__output_deinit(processor);
    jzx__lock_deinit(&processor->lock);
}

void jzx__processor_release(struct jzx_processor *processor) {
    struct jzx__visit visit;
    jzx_allocator allocator = processor->allocator;
    jzx__processor_lock(processor, &visit);
    bool is_last = --processor->refs == 0;
    jzx__processor_unlock(processor, &visit);
    if (!is_last)
        return;
    deinit(processor);
    jzx__free(&allocator, processor, sizeof *processor);
}

/* As the runner, for good: removes all that there is, and gives up the creator's reference. */
static void dismantle(struct jzx_processor *processor) {
    struct jzx__visit visit;
    jzx__subjects_clear(processor);
    jzx__processor_lock(processor, &visit);
    struct jzx__input *inputs = processor->first;
    processor->first = NULL;
    jzx__processor_unlock(processor, &visit);
    while (inputs != NULL) {
        struct jzx__input *next = inputs->next;
        jzx__input_free(processor, inputs);
        inputs = next;
    }
    jzx__processor_release(processor);
}

jzx_err jzx_processor_create(jzx_loop *loop, const jzx_processor_opts *opts,
                             jzx_processor **processor) {
    jzx_processor_opts full;
    if (loop == NULL || processor == NULL || !settle_opts(&full, opts))
        return JZX_ERR_INVALID_ARG;
    const jzx_allocator *allocator = &loop->sched.allocator;
    struct jzx_processor *made = jzx__alloc(allocator, sizeof *made);
    if (made == NULL)
        return JZX_ERR_NO_MEMORY;
    *made = (struct jzx_processor){.loop = loop,
                                   .allocator = *allocator,
                                   .keeps_trace = full.trace,
                                   .is_recorded = full.record,
                                   .is_replay = full.replay,
                                   .tick_per_input = full.tick_per_input,
                                   .refs = 1,
                                   .next_handle = JZX_PROCESSOR_FIRST_HANDLE};
    jzx__lock_init(&made->lock);
    jzx__output_init(made);
    jzx_err err = start(made, &full);
    if (err != JZX_OK) {
        (void)jzx_processor_destroy(made);
        return err;
    }
    *processor = made;
    return JZX_OK;
}

jzx_err jzx_processor_destroy(jzx_processor *processor) {
    struct jzx__visit visit;
    if (processor == NULL)
        return JZX_OK;
    bool is_waited = jzx__output_is_waited(processor);
    jzx__processor_lock(processor, &visit);
    bool is_free = !is_waited && (processor->phase != JZX_PHASE_BUSY || is_abandoned(processor));
    if (is_free) {
        become_runner(processor);
        processor->is_closed = true;
    }
    jzx__processor_unlock(processor, &visit);
    if (!is_free)
        return JZX_ERR_BUSY;
    dismantle(processor);
    return JZX_OK;
}
