/* SPDX-License-Identifier: MIT */
/* What the tests of the command processor share. */
#ifndef JZX_API_PROCESSING_H
#define JZX_API_PROCESSING_H

#include "fixture.h"

#include <jzx/processor.h>

#include <stdio.h>
#include <string.h>

/* The state of an actor that sends somewhere: its config says where. */
struct relay {
    jzx_processor_handle to;
    uint64_t number;
};

static inline jzx_err relay_create(void *state, jzx_processor_handle self, const void *config,
                                   size_t len) {
    struct relay *relay = state;
    (void)self;
    if (len < sizeof relay->to)
        return JZX_ERR_INVALID_ARG;
    memcpy(&relay->to, config, sizeof relay->to);
    return JZX_OK;
}

#define RELAY(name, fn)                                                                            \
    JZX_ACTOR_FACTORY(.type = (name), .state_size = sizeof(struct relay), .create = relay_create,  \
                      .handle = (fn))

static inline jzx_processor *make(jzx_loop *loop, const jzx_processor_opts *opts) {
    jzx_processor *processor = NULL;
    assert_int_equal(jzx_processor_create(loop, opts, &processor), JZX_OK);
    assert_non_null(processor);
    return processor;
}

static inline void unmake(jzx_processor *processor) {
    assert_int_equal(jzx_processor_destroy(processor), JZX_OK);
}

static inline jzx_trace trace_of(jzx_processor *processor) {
    jzx_trace trace = {.count = 0};
    assert_int_equal(jzx_processor_trace(processor, &trace), JZX_OK);
    assert_false(trace.is_cut);
    return trace;
}

static inline void check_step(const jzx_trace_step *step, jzx_action_kind kind,
                              jzx_processor_handle source, jzx_processor_handle target) {
    assert_int_equal(step->action.kind, kind);
    assert_int_equal(step->action.source, source);
    assert_int_equal(step->action.target, target);
}

static inline void check_output(jzx_processor *processor, uint32_t tag, const void *data,
                                size_t len) {
    jzx_output *output = NULL;
    assert_int_equal(jzx_processor_try_next(processor, &output), JZX_OK);
    assert_int_equal(output->tag, tag);
    assert_int_equal(output->len, len);
    if (len != 0)
        assert_memory_equal(output->data, data, len);
    jzx_output_free(output);
}

static inline void check_no_output(jzx_processor *processor) {
    jzx_output *output = NULL;
    assert_int_equal(jzx_processor_try_next(processor, &output), JZX_ERR_TIMEOUT);
}

/* ---- a stage that writes down what it sees, and passes it on ---- */

struct log {
    char text[4096];
    size_t len;
};

static inline const char *log_handle(jzx_processor_handle handle, char *text, size_t size) {
    static const char *const names[] = {"input", "output", "internal"};
    if (handle == JZX_PROCESSOR_NO_HANDLE)
        return "none";
    if (handle <= JZX_PROCESSOR_INTERNAL)
        return names[handle];
    (void)snprintf(text, size, "%u", (unsigned)handle);
    return text;
}

static inline jzx_err log_create(void *state, jzx_processor_handle self, const void *config,
                                 size_t len) {
    (void)self;
    memcpy(state, config, len);
    return JZX_OK;
}

static inline void log_command(struct log *log, const jzx_action *command) {
    static const char *const kinds[] = {"?", "Send", "Spawn", "Kill", "Fail", "Terminate"};
    char source[24];
    char target[24];
    int len = snprintf(log->text + log->len, sizeof log->text - log->len, "%s %s->%s\n",
                       kinds[command->kind], log_handle(command->source, source, sizeof source),
                       log_handle(command->target, target, sizeof target));
    log->len += len < 0 ? 0 : (size_t)len;
}

static inline void log_handle_command(void *state, const jzx_action *msg, jzx_actions *out) {
    struct log *log;
    memcpy(&log, state, sizeof(struct log *));
    JZX_EXPECT_EQ(msg->tag, JZX_TAG_COMMAND);
    log_command(log, msg->data);
    JZX_EXPECT_EQ(jzx_actions_pass(out, msg->data), JZX_OK);
}

static const jzx_actor_factory log_actor __attribute__((unused)) =
    JZX_ACTOR_FACTORY(.type = "log", .state_size = sizeof(struct log *), .create = log_create,
                      .handle = log_handle_command);

/* The pointer is copied when the processor is made: it may be in a static here. */
static inline jzx_stage log_stage(struct log *log) {
    static struct log *logs[8];
    static unsigned count;
    memset(log, 0, sizeof *log);
    logs[count % 8] = log;
    return (jzx_stage){
        .factory = &log_actor, .config = &logs[count++ % 8], .config_len = sizeof(struct log *)};
}

#endif
