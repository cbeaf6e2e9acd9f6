/* SPDX-License-Identifier: MIT */
/* What the tests of processes share: a process that writes down its events and does what the test
 * has planned for each step, and a command that the test completes when it likes. */
#ifndef JZX_API_PROCESSES_H
#define JZX_API_PROCESSES_H

#include "fibering.h"

#include <jzx/process.h>

#define NOTES_MAX 256u
#define HELD 300u /* a command that waits in `held` */
#define HELD_MAX 64u

struct note {
    jzx_process_event_kind kind;
    jzx_err error;
    uint64_t tag;
    uint64_t value; /* the first 8 bytes of data */
    size_t len;
    uint32_t step;
};

struct journal;

/* What it does in a step, after the events are written down. */
typedef jzx_err (*plan_fn)(jzx_context *ctx, struct journal *journal, jzx_step_out *out);

struct journal {
    struct note notes[NOTES_MAX];
    uint32_t count;
    uint32_t steps;
    uint32_t inits;
    uint32_t closes;
    char method[32];
    uint64_t input;
    size_t input_len;
    jzx_err init_err;
    plan_fn plan;        /* may be NULL */
    uint64_t numbers[4]; /* the plan's own */
    jzx_actor_id other;
    char stop_text[JZX_EXIT_TEXT_MAX + 1]; /* of the last CANCEL */
};

static inline jzx_err journal_init(jzx_context *ctx, const char *method, const void *input,
                                   size_t len) {
    struct journal *journal = ctx->state;
    journal->inits++;
    snprintf(journal->method, sizeof journal->method, "%s", method);
    journal->input_len = len;
    if (len >= sizeof journal->input)
        memcpy(&journal->input, input, sizeof journal->input);
    return journal->init_err;
}

static inline jzx_err journal_step(jzx_context *ctx, const jzx_process_event *events, size_t count,
                                   jzx_step_out *out) {
    struct journal *journal = ctx->state;
    journal->steps++;
    for (size_t i = 0; i < count; i++) {
        struct note note = {.kind = events[i].kind,
                            .error = events[i].error,
                            .tag = events[i].tag,
                            .len = events[i].len,
                            .step = journal->steps};
        if (events[i].len >= sizeof note.value)
            memcpy(&note.value, events[i].data, sizeof note.value);
        if (events[i].kind == JZX_PROCESS_CANCEL) {
            const jzx_stop_notice *notice = events[i].data;
            snprintf(journal->stop_text, sizeof journal->stop_text, "%s", notice->text);
        }
        if (JZX_EXPECT(journal->count < NOTES_MAX))
            journal->notes[journal->count++] = note;
    }
    return journal->plan == NULL ? JZX_OK : journal->plan(ctx, journal, out);
}

static inline void journal_close(jzx_context *ctx) {
    struct journal *journal = ctx->state;
    journal->closes++;
}

static const jzx_process_ops journal_ops = {
    .size = sizeof journal_ops, .init = journal_init, .step = journal_step, .close = journal_close};

static inline jzx_actor_id journal_spawn(const struct timing *timing, struct journal *journal) {
    jzx_actor_id id =
        fixture_spawn(timing->loop, &JZX_SPAWN_OPTS(.process = &journal_ops, .state = journal));
    timing_step(timing);
    return id;
}

/* The i-th event is that. */
static inline void expect_note(const struct journal *journal, uint32_t i,
                               jzx_process_event_kind kind, uint64_t tag, jzx_err error) {
    if (!JZX_EXPECT(i < journal->count))
        return;
    JZX_EXPECT_EQ(journal->notes[i].kind, kind);
    JZX_EXPECT_EQ(journal->notes[i].tag, tag);
    JZX_EXPECT_EQ(journal->notes[i].error, error);
}

static inline void expect_completion(const struct journal *journal, uint32_t i, uint64_t tag,
                                     jzx_err error) {
    expect_note(journal, i, JZX_PROCESS_YIELD_COMPLETE, tag, error);
}

/* ---- commands that the test completes ---- */

struct held {
    jzx_actor_id process;
    jzx_op ref;
    uint64_t tag;
};

static struct held held[HELD_MAX];
static uint32_t held_count;
static uint32_t held_cancelled;

static inline jzx_err hold_command(jzx_context *ctx, const jzx_command *command, void *data) {
    (void)data;
    JZX_EXPECT_EQ(command->process, ctx->self);
    if (JZX_EXPECT(held_count < HELD_MAX))
        held[held_count++] = (struct held){command->process, command->ref, command->tag};
    return JZX_OK;
}

static inline void note_cancelled(jzx_loop *loop, jzx_op ref, void *data) {
    (void)loop, (void)ref, (void)data;
    held_cancelled++;
}

static inline void register_held(jzx_loop *loop) {
    held_count = 0;
    held_cancelled = 0;
    JZX_EXPECT_EQ(
        jzx_command_register(
            loop, HELD, &(jzx_command_handler){.handle = hold_command, .cancel = note_cancelled}),
        JZX_OK);
}

/* Completes the i-th that was held, with a number. */
static inline jzx_err complete_held(jzx_loop *loop, uint32_t i, uint64_t value, jzx_err err) {
    return jzx_command_complete(loop, held[i].process, held[i].ref, &value, sizeof value, err);
}

static inline jzx_process_state listed_state_of(jzx_loop *loop, jzx_actor_id id) {
    jzx_process_info info = {.size = sizeof info};
    uint64_t cursor = 0;
    while (jzx_process_next(loop, &cursor, &info) == JZX_OK) {
        if (info.id == id)
            return info.state;
    }
    JZX_EXPECT(false && "listed");
    return JZX_PROCESS_READY;
}

#endif
