/* SPDX-License-Identifier: MIT */
/* jzx_test_verify: a processor on virtual time, until its trace is right or nothing more
 * happens. */
#include "base/sized.h"
#include "testkit/predicate.h"

#include "jzx/clock.h"
#include "jzx/time.h"

#include <inttypes.h>
#include <string.h>

/* ---- overrides: a stage that replaces factories ---- */

struct overrides {
    const jzx_test_override *items;
    size_t count;
};

static jzx_err create_overrides(void *state, jzx_processor_handle self, const void *config,
                                size_t len) {
    (void)self;
    if (len != sizeof(struct overrides))
        return JZX_ERR_INVALID_ARG;
    memcpy(state, config, len);
    return JZX_OK;
}

static void override(void *state, const jzx_action *msg, jzx_actions *out) {
    const struct overrides *overrides = state;
    jzx_action command;
    memcpy(&command, msg->data, sizeof command);
    for (size_t i = 0; i < overrides->count && command.kind == JZX_ACTION_SPAWN; i++) {
        const jzx_test_override *item = &overrides->items[i];
        if (command.factory != NULL && strcmp(command.factory->type, item->type) == 0) {
            command.factory = item->factory;
            break;
        }
    }
    (void)jzx_actions_pass(out, &command);
}

static const jzx_actor_factory override_actor =
    JZX_ACTOR_FACTORY(.type = "override", .state_size = sizeof(struct overrides),
                      .create = create_overrides, .handle = override);

/* ---- the run ---- */

struct run {
    jzx_test_verify_opts opts;
    jzx_clock *clock;
    jzx_loop *loop;
    jzx_processor *processor;
    uint64_t until_ns;
};

static bool settle_opts(jzx_test_verify_opts *opts, const jzx_test_verify_opts *from) {
    if (!jzx__read_sized(opts, sizeof *opts, from) || opts->pattern == NULL ||
        (opts->input_count != 0 &&
         (opts->inputs == NULL || opts->input_size != sizeof(jzx_test_input))) ||
        (opts->override_count != 0 &&
         (opts->overrides == NULL || opts->override_size != sizeof(jzx_test_override))))
        return false;
    for (size_t i = 0; i < opts->override_count; i++) {
        if (opts->overrides[i].type == NULL || opts->overrides[i].factory == NULL)
            return false;
    }
    if (opts->timeout_ns == 0)
        opts->timeout_ns = JZX_TEST_TIMEOUT_NS;
    return true;
}

static jzx_err open(struct run *run) {
    const jzx_test_verify_opts *opts = &run->opts;
    const struct overrides overrides = {.items = opts->overrides, .count = opts->override_count};
    const jzx_stage stage = {
        .factory = &override_actor, .config = &overrides, .config_len = sizeof overrides};
    run->clock = jzx_clock_manual(0);
    if (run->clock == NULL)
        return JZX_ERR_NO_MEMORY;
    run->loop = jzx_loop_create(&JZX_CONFIG(.workers = 1, .clock = run->clock));
    if (run->loop == NULL)
        return JZX_ERR_NO_MEMORY;
    run->until_ns = jzx_loop_now(run->loop) + opts->timeout_ns;
    return jzx_processor_create(run->loop,
                                &JZX_PROCESSOR_OPTS(.root = opts->root, .config = opts->config,
                                                    .config_len = opts->config_len,
                                                    .middleware = &stage,
                                                    .middleware_count = opts->override_count != 0,
                                                    .middleware_size = sizeof stage, .trace = true),
                                &run->processor);
}

static void close(struct run *run) {
    if (run->processor != NULL)
        (void)jzx_processor_destroy(run->processor);
    if (run->loop != NULL)
        (void)jzx_loop_destroy(run->loop);
    if (run->clock != NULL)
        (void)jzx_clock_free(run->clock);
}

static jzx_err dispatch_all(struct run *run) {
    for (size_t i = 0; i < run->opts.input_count; i++) {
        const jzx_test_input *input = &run->opts.inputs[i];
        jzx_err err = jzx_processor_dispatch(run->processor, input->tag, input->data, input->len);
        if (err != JZX_OK && err != JZX_ERR_CLOSED)
            return err;
    }
    return JZX_OK;
}

/* Runs what is ready, then moves the time on to what is due next. False if nothing is. */
static bool go_on(struct run *run) {
    if (jzx_loop_step(run->loop, JZX_NEVER) != JZX_OK)
        return false;
    uint64_t now_ns = jzx_loop_now(run->loop);
    uint64_t due_ns = jzx_loop_next_deadline(run->loop);
    if (due_ns == JZX_NEVER || due_ns > run->until_ns)
        return false;
    if (due_ns > now_ns)
        (void)jzx_clock_advance(run->clock, due_ns - now_ns);
    return true;
}

static jzx_err match(struct run *run, char *report, size_t size) {
    jzx_trace trace;
    jzx_err err = jzx_processor_trace(run->processor, &trace);
    return err != JZX_OK ? err : jzx_trace_match(&trace, run->opts.pattern, report, size);
}

jzx_err jzx_test_verify(const jzx_test_verify_opts *opts, char *report, size_t size) {
    struct run run = {.processor = NULL};
    struct jzx__report text;
    jzx__report_begin(&text, report, size);
    if (!settle_opts(&run.opts, opts))
        return JZX_ERR_INVALID_ARG;
    jzx_err err = open(&run);
    if (err == JZX_OK)
        err = dispatch_all(&run);
    if (err == JZX_OK) {
        while ((err = match(&run, report, size)) == JZX_ERR_FAILED && go_on(&run)) {
        }
        if (err == JZX_ERR_FAILED) /* of what the last step of the loop has brought */
            err = match(&run, report, size);
    }
    close(&run);
    return err;
}
