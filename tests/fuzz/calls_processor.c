/* SPDX-License-Identifier: MIT */
/* Processors: dispatches, the actions of their actors, output, traces and replay. */
#include "fuzz.h"

#include <string.h>

enum { GO_ON = 3 };

static const jzx_actor_factory leaf, waiter;

#define HANDLE fuzz_handle(f, A_PROCESSOR_HANDLE)

static jzx_message mapped(void *arg, const jzx_message *msg) {
    (void)arg;
    return *msg;
}

/* What an actor does, by the bytes of its message: no seed, so that a replay does the same. */
static void act(jzx_actions *out, const jzx_action *msg, unsigned depth) {
    jzx_processor_handle handle = JZX_PROCESSOR_NO_HANDLE;
    unsigned char byte = msg->len > 0 ? *(const unsigned char *)msg->data : 0;
    unsigned char next = (unsigned char)(byte * 5u + 1u + depth);
    (void)jzx_actions_processor(out);
    switch (byte % 9) {
    case 0: (void)jzx_actions_send(out, JZX_PROCESSOR_OUTPUT, msg->tag, &byte, 1); break;
    case 1:
        if (jzx_actions_spawn_new(out, &leaf, NULL, 0, &handle) == JZX_OK)
            (void)jzx_actions_send(out, handle, 1, &next, 1);
        break;
    case 2: (void)jzx_actions_kill(out, jzx_actions_self(out)); break;
    case 3:
        (void)jzx_actions_fail(out, JZX_PROCESSOR_FIRST_HANDLE + byte % 5, JZX_ERR_FAILED);
        break;
    case 4:
        if (jzx_actions_reserve(out, &waiter, NULL, 0, &handle) == JZX_OK) {
            (void)jzx_actions_spawn(out, handle);
            (void)jzx_actions_send(out, handle, 1, &next, 1);
        }
        break;
    case 5: (void)jzx_actions_send(out, byte, 0xFFFF0000u, NULL, 0); break;
    case 6: {
        const jzx_stage stages[] = {
            {&jzx_map_actor, &(jzx_map_config){0, mapped, NULL}, sizeof(jzx_map_config)}};
        (void)jzx_actions_pass(out, msg);
        if (jzx_actions_flow(out, JZX_STAGES(stages), JZX_PROCESSOR_OUTPUT, &handle) == JZX_OK)
            (void)jzx_actions_send(out, handle, 3, &next, 1);
        break;
    }
    default: (void)jzx_actions_send(out, JZX_PROCESSOR_INPUT + byte % 7, 2, &next, byte % 2); break;
    }
}

static void handle(void *state, const jzx_action *msg, jzx_actions *out) {
    unsigned *count = state;
    if (++*count < GO_ON * 4)
        act(out, msg, *count);
}

static void destroyed(void *state) {
    memset(state, 0x5A, sizeof(unsigned));
}

/* Passes each command on, and now and then not. */
static void stage(void *state, const jzx_action *msg, jzx_actions *out) {
    unsigned *count = state;
    if (msg->tag == JZX_TAG_COMMAND && ++*count % 7 != 0)
        (void)jzx_actions_pass(out, msg->data);
}

static void run(jzx_context *ctx, void *state, jzx_inbox *inbox) {
    const jzx_action *msg;
    unsigned *count = state;
    while (++*count < GO_ON && jzx_inbox_next(ctx, inbox, JZX_NEVER, &msg) == JZX_OK) {
        act(jzx_inbox_actions(inbox), msg, *count);
        (void)jzx_inbox_flush(inbox);
        (void)jzx_yield(ctx);
    }
}

static const jzx_actor_factory leaf =
    JZX_ACTOR_FACTORY(.type = "leaf", .state_size = sizeof(unsigned), .handle = handle,
                      .destroy = destroyed);
static const jzx_actor_factory waiter =
    JZX_ACTOR_FACTORY(.type = "waiter", .state_size = sizeof(unsigned), .run = run,
                      .destroy = destroyed);
static const jzx_actor_factory watcher =
    JZX_ACTOR_FACTORY(.type = "watcher", .state_size = sizeof(unsigned), .handle = stage,
                      .destroy = destroyed);

static void do_jzx_processor_create(struct fuzz *f) {
    const jzx_stage stages[] = {{&watcher, NULL, 0}};
    jzx_processor *processor = NULL;
    jzx_processor_opts opts = JZX_PROCESSOR_OPTS(.root = fuzz_chance(f, 16) ? NULL : &leaf);
    if (fuzz_chance(f, 3)) {
        opts.middleware = stages;
        opts.middleware_count = 1;
        opts.middleware_size = sizeof stages[0];
    }
    opts.trace = YES_OR_NO;
    opts.record = YES_OR_NO;
    opts.tick_per_input = YES_OR_NO;
    opts.size = fuzz_options_size(f, sizeof opts);
    if (fuzz_status(f, jzx_processor_create(LOOP, OR_NULL(&opts), &processor)) == JZX_OK)
        fuzz_put(f, OF_PROCESSOR, processor);
}

static void do_jzx_processor_destroy(struct fuzz *f) {
    void *processor = fuzz_take(f, OF_PROCESSOR);
    if (fuzz_status(f, jzx_processor_destroy(processor)) == JZX_ERR_BUSY)
        fuzz_put(f, OF_PROCESSOR, processor);
}

#define WITH(function, statement)                                                                  \
    static void do_##function(struct fuzz *f) {                                                    \
        int ticket;                                                                                \
        jzx_processor *processor = fuzz_borrow(f, OF_PROCESSOR, &ticket);                          \
        if (processor != NULL)                                                                     \
            statement;                                                                             \
        fuzz_give_back(f, OF_PROCESSOR, ticket);                                                   \
    }                                                                                              \
    struct fuzz

#define BYTE                                                                                       \
    &(unsigned char) {                                                                             \
        (unsigned char)fuzz_random(f)                                                              \
    }
WITH(jzx_processor_dispatch, fuzz_status(f, jzx_processor_dispatch(processor, TAG, BYTE, 1)));
WITH(jzx_processor_enqueue, fuzz_status(f, jzx_processor_enqueue(processor, TAG, BYTE, 1)));
WITH(jzx_processor_process, fuzz_status(f, jzx_processor_process(processor)));
WITH(jzx_processor_kill, fuzz_status(f, jzx_processor_kill(processor, BELOW(9))));
WITH(jzx_processor_terminate,
     if (fuzz_chance(f, 4)) fuzz_status(f, jzx_processor_terminate(processor)));
WITH(jzx_processor_phase, (void)jzx_processor_phase(processor));
WITH(jzx_processor_lookup, (void)jzx_processor_lookup(processor, BELOW(9)));
WITH(jzx_processor_stats_get,
     fuzz_status(f, jzx_processor_stats_get(processor, OR_NULL(&(jzx_processor_stats){
                                                           .size = fuzz_options_size(
                                                               f, sizeof(jzx_processor_stats))}))));
WITH(jzx_processor_output_state, (void)jzx_processor_output_state(processor));

static void do_jzx_processor_next(struct fuzz *f) {
    int ticket;
    jzx_output *output = NULL;
    jzx_err err = JZX_ERR_TIMEOUT;
    jzx_processor *processor = fuzz_borrow(f, OF_PROCESSOR, &ticket);
    if (processor == NULL)
        return;
    switch (fuzz_below(f, 3)) {
    case 0: err = jzx_processor_next(CTX, processor, WHEN, &output); break;
    case 1: err = jzx_processor_next_wait(processor, WHEN, &output); break;
    default: err = jzx_processor_try_next(processor, &output); break;
    }
    if (fuzz_status(f, err) == JZX_OK)
        jzx_output_free(output);
    fuzz_give_back(f, OF_PROCESSOR, ticket);
}

WITH(jzx_processor_next_to, {
    jzx_op op = JZX_NO_OP;
    fuzz_begun(f, jzx_processor_next_to(CTX, processor, FUZZ_TAG_OP, &op), &op);
});

static void do_jzx_processor_output_of(struct fuzz *f) {
    if (f->msg != NULL && f->msg->tag == FUZZ_TAG_OP)
        jzx_output_free(NULL);
}

/* Its value is a pointer to the output: taken at once, or dropped with the future. */
WITH(jzx_processor_next_async, {
    jzx_future *future = NULL;
    if (fuzz_status(f, jzx_processor_next_async(processor, &future)) == JZX_OK) {
        jzx_output_free(jzx_future_take(future));
        jzx_future_release(future);
    }
});

/* Traces and recordings are valid until the processor is used again: by one thread alone. */
WITH(jzx_processor_trace, {
    jzx_trace trace;
    char text[256];
    if (!f->round->has_threads &&
        fuzz_status(f, jzx_processor_trace(processor, &trace)) == JZX_OK) {
        (void)jzx_trace_print(&trace, text, BELOW(sizeof text));
        if (trace.count > 0)
            (void)jzx_trace_step_print(&trace.steps[0], text, BELOW(sizeof text));
        if (jzx_trace_difference(&trace, &trace) != SIZE_MAX)
            fuzz_fail("a trace differs from itself");
    }
});

WITH(jzx_processor_replay, {
    jzx_recording recording;
    unsigned char bytes[2048];
    if (!f->round->has_threads &&
        fuzz_status(f, jzx_processor_recording(processor, &recording)) == JZX_OK &&
        recording.len <= sizeof bytes && recording.len > 0) {
        memcpy(bytes, recording.data, recording.len);
        recording.data = bytes;
        if (fuzz_chance(f, 3))
            bytes[fuzz_below(f, recording.len)] ^= 1u;
        jzx_recording cut =
            jzx_recording_cut(&recording, BELOW((unsigned)jzx_recording_count(&recording) + 1));
        jzx_processor *other = NULL;
        if (jzx_processor_create(THE_LOOP, &JZX_PROCESSOR_OPTS(.root = &leaf, .replay = true),
                                 &other) == JZX_OK) {
            fuzz_status(f, jzx_processor_replay(other, &cut));
            fuzz_put(f, OF_PROCESSOR, other);
        }
    }
});

static const struct fuzz_operation operations[] = {
    ROW(jzx_processor_create, 6, ANYWHERE),       ROW(jzx_processor_destroy, 2, ANYWHERE),
    ROW(jzx_processor_dispatch, 20, ANYWHERE),    ROW(jzx_processor_enqueue, 6, ANYWHERE),
    ROW(jzx_processor_process, 4, ANYWHERE),      ROW(jzx_processor_kill, 3, ANYWHERE),
    ROW(jzx_processor_terminate, 2, ANYWHERE),    ROW(jzx_processor_phase, 1, ANYWHERE),
    ROW(jzx_processor_lookup, 1, ANYWHERE),       ROW(jzx_processor_stats_get, 1, ANYWHERE),
    ROW(jzx_processor_next, 8, ANYWHERE),         ROW(jzx_processor_next_to, 6, ANYWHERE),
    ROW(jzx_processor_output_of, 1, ANYWHERE),    ROW(jzx_processor_next_async, 4, ANYWHERE),
    ROW(jzx_processor_output_state, 1, ANYWHERE), ROW(jzx_processor_trace, 2, ANYWHERE),
    ROW(jzx_processor_replay, 2, MAIN_THREAD),
};
FUZZ_FAMILY(processor, operations);
