/* SPDX-License-Identifier: MIT */
/* Tests of programs: patterns over traces, for any C test framework.
 *
 *     const jzx_pattern *order = JZX_SEQUENCE(
 *         JZX_STEP(JZX_HAS_KIND(JZX_ACTION_SPAWN)),
 *         JZX_STEP(JZX_ALL_OF(JZX_HAS_TAG(BUTTON), JZX_SENT_TO(JZX_PROCESSOR_INPUT))),
 *         JZX_ONE_OR_MORE(JZX_STEP(JZX_SENT_TO(JZX_PROCESSOR_OUTPUT))));
 *     char report[1024];
 *
 *     assert(jzx_trace_match(&trace, order, report, sizeof report) == JZX_OK);
 *
 * A trace comes from a processor (jzx/processor.h), or from a probe: an actor that records the
 * messages that it gets. A pattern says which traces are right. If a trace is not, the report shows
 * how much of it is, what would have come next, and what came instead.
 *
 * Patterns and predicates are plain data, made in place by the macros below; as such they live as
 * long as the block that they are in. At file scope they may be static const pointers. The macros
 * are for C; other languages fill the structs. docs/testing.md has examples. */
#ifndef JZX_TEST_H
#define JZX_TEST_H

#include "jzx/api.h"
#include "jzx/error.h"
#include "jzx/loop.h"
#include "jzx/processor.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- predicates: what holds for one step ---- */

typedef enum jzx_predicate_kind {
    JZX_PREDICATE_ANY = 1,
    JZX_PREDICATE_AND = 2,
    JZX_PREDICATE_OR = 3,
    JZX_PREDICATE_NOT = 4,
    JZX_PREDICATE_FIELD = 5,   /* field is number, or text */
    JZX_PREDICATE_PAYLOAD = 6, /* the payload is these bytes */
    JZX_PREDICATE_BYTES = 7,   /* the payload has these bytes at an offset */
    JZX_PREDICATE_EQUALS = 8,  /* the whole step is as that one, but for its tick */
    JZX_PREDICATE_WHERE = 9,   /* a function says so */
    JZX_PREDICATE_LAZY = 10,   /* the predicate that a function returns, each time it is needed */
    JZX_PREDICATE_CAPTURE = 11,
    JZX_PREDICATE_REF = 12
} jzx_predicate_kind;

/* A part of a step. */
typedef enum jzx_field {
    JZX_FIELD_KIND = 1,
    JZX_FIELD_TAG = 2,
    JZX_FIELD_SOURCE = 3,
    JZX_FIELD_TARGET = 4,
    JZX_FIELD_ERROR = 5,
    JZX_FIELD_OUTCOME = 6,
    JZX_FIELD_TYPE = 7,   /* of a Spawn: the type of its factory, a text */
    JZX_FIELD_PAYLOAD = 8 /* bytes; of captures and references only */
} jzx_field;

/* Captures have a number below this. */
#define JZX_CAPTURES_MAX 16u

typedef struct jzx_predicate jzx_predicate;

struct jzx_predicate {
    jzx_predicate_kind kind;
    jzx_field field;
    uint64_t number;  /* of a field; of a capture */
    const void *data; /* bytes, a text, or a jzx_trace_step */
    size_t len;
    size_t offset;
    const jzx_predicate *const *items;
    size_t count;
    bool (*where)(void *arg, const jzx_trace_step *step);
    const jzx_predicate *(*lazy)(void *arg);
    void *arg;
    const char *name; /* of where and lazy, for reports */
};

#define JZX_PREDICATE(...) (&(const jzx_predicate){__VA_ARGS__})
#define JZX_PREDICATES(...)                                                                        \
    .items = (const jzx_predicate *const[]){__VA_ARGS__},                                          \
    .count = sizeof((const jzx_predicate *const[]){__VA_ARGS__}) / sizeof(const jzx_predicate *)

/* Any step; all of some; at least one of some; not. */
#define JZX_ANY() JZX_PREDICATE(.kind = JZX_PREDICATE_ANY)
#define JZX_ALL_OF(...) JZX_PREDICATE(.kind = JZX_PREDICATE_AND, JZX_PREDICATES(__VA_ARGS__))
#define JZX_ANY_OF(...) JZX_PREDICATE(.kind = JZX_PREDICATE_OR, JZX_PREDICATES(__VA_ARGS__))
#define JZX_NOT(predicate) JZX_PREDICATE(.kind = JZX_PREDICATE_NOT, JZX_PREDICATES(predicate))

/* The parts of a step: the kind of the action, the tag of the message, where it comes from and goes
 * to, the error, the outcome, the type of what is spawned. */
#define JZX_HAS_NUMBER(part, value)                                                                \
    JZX_PREDICATE(.kind = JZX_PREDICATE_FIELD, .field = (part), .number = (uint64_t)(value))
#define JZX_HAS_KIND(value) JZX_HAS_NUMBER(JZX_FIELD_KIND, value)
#define JZX_HAS_TAG(value) JZX_HAS_NUMBER(JZX_FIELD_TAG, value)
#define JZX_SENT_FROM(handle) JZX_HAS_NUMBER(JZX_FIELD_SOURCE, handle)
#define JZX_SENT_TO(handle) JZX_HAS_NUMBER(JZX_FIELD_TARGET, handle)
#define JZX_HAS_ERROR(value) JZX_HAS_NUMBER(JZX_FIELD_ERROR, (int64_t)(value))
#define JZX_HAS_OUTCOME(value) JZX_HAS_NUMBER(JZX_FIELD_OUTCOME, value)
#define JZX_HAS_TYPE(text)                                                                         \
    JZX_PREDICATE(.kind = JZX_PREDICATE_FIELD, .field = JZX_FIELD_TYPE, .data = (text))

/* The payload: all of it, or a member of the struct that it is. */
#define JZX_HAS_PAYLOAD(bytes, size)                                                               \
    JZX_PREDICATE(.kind = JZX_PREDICATE_PAYLOAD, .data = (bytes), .len = (size))
#define JZX_HAS_BYTES(at, bytes, size)                                                             \
    JZX_PREDICATE(.kind = JZX_PREDICATE_BYTES, .offset = (at), .data = (bytes), .len = (size))
#define JZX_HAS_FIELD(type, member, ...)                                                           \
    JZX_HAS_BYTES(offsetof(type, member), &(__typeof__(((type *)0)->member)){__VA_ARGS__},         \
                  sizeof(((type *)0)->member))

/* A whole step, by a pointer to one. */
#define JZX_EQUALS(step) JZX_PREDICATE(.kind = JZX_PREDICATE_EQUALS, .data = (step))

/* Functions of the program. */
#define JZX_WHERE(fn, context)                                                                     \
    JZX_PREDICATE(.kind = JZX_PREDICATE_WHERE, .where = (fn), .arg = (context), .name = #fn)
#define JZX_LAZY(fn, context)                                                                      \
    JZX_PREDICATE(.kind = JZX_PREDICATE_LAZY, .lazy = (fn), .arg = (context), .name = #fn)

/* Keeps a part of the step under a number, and holds for every step; holds if a part is the same as
 * what was kept, which may be another part, as the target of a Spawn and the source of a Send.
 * Nothing is the same as what was never kept. A later capture replaces an earlier one. */
#define JZX_CAPTURE(index, part)                                                                   \
    JZX_PREDICATE(.kind = JZX_PREDICATE_CAPTURE, .number = (index), .field = (part))
#define JZX_REF(index, part)                                                                       \
    JZX_PREDICATE(.kind = JZX_PREDICATE_REF, .number = (index), .field = (part))

/* ---- patterns: which steps follow one another ---- */

typedef enum jzx_pattern_kind {
    JZX_PATTERN_STEP = 1,
    JZX_PATTERN_SEQUENCE = 2,
    JZX_PATTERN_ONE_OF = 3,
    JZX_PATTERN_ZERO_OR_MORE = 4,
    JZX_PATTERN_ONE_OR_MORE = 5,
    JZX_PATTERN_REPEAT = 6,
    JZX_PATTERN_PARALLEL = 7
} jzx_pattern_kind;

typedef struct jzx_pattern jzx_pattern;

struct jzx_pattern {
    jzx_pattern_kind kind;
    uint32_t times;                 /* REPEAT */
    const jzx_predicate *predicate; /* STEP */
    const jzx_pattern *const *items;
    size_t count;
};

#define JZX_PATTERN(...) (&(const jzx_pattern){__VA_ARGS__})
#define JZX_PATTERNS(...)                                                                          \
    .items = (const jzx_pattern *const[]){__VA_ARGS__},                                            \
    .count = sizeof((const jzx_pattern *const[]){__VA_ARGS__}) / sizeof(const jzx_pattern *)

/* One step; patterns one after another; one of several; one or more, zero or more, or exactly n
 * times a pattern; patterns in any order, the steps of which may be mixed. */
#define JZX_STEP(what) JZX_PATTERN(.kind = JZX_PATTERN_STEP, .predicate = (what))
#define JZX_SEQUENCE(...) JZX_PATTERN(.kind = JZX_PATTERN_SEQUENCE, JZX_PATTERNS(__VA_ARGS__))
#define JZX_ONE_OF(...) JZX_PATTERN(.kind = JZX_PATTERN_ONE_OF, JZX_PATTERNS(__VA_ARGS__))
#define JZX_ZERO_OR_MORE(pattern)                                                                  \
    JZX_PATTERN(.kind = JZX_PATTERN_ZERO_OR_MORE, JZX_PATTERNS(pattern))
#define JZX_ONE_OR_MORE(pattern) JZX_PATTERN(.kind = JZX_PATTERN_ONE_OR_MORE, JZX_PATTERNS(pattern))
#define JZX_REPEAT(n, pattern)                                                                     \
    JZX_PATTERN(.kind = JZX_PATTERN_REPEAT, .times = (n), JZX_PATTERNS(pattern))
#define JZX_PARALLEL(...) JZX_PATTERN(.kind = JZX_PATTERN_PARALLEL, JZX_PATTERNS(__VA_ARGS__))
#define JZX_ANYTHING() JZX_ZERO_OR_MORE(JZX_STEP(JZX_ANY()))

JZX_BEGIN_C

/* JZX_OK if the whole trace is one that the pattern describes, in any of the ways in which it can:
 * all are followed. JZX_ERR_FAILED if not: then the report (may be NULL), cut to size and ended
 * with a 0 byte, says why. JZX_ERR_FULL: more than JZX_MATCH_WAYS_MAX ways are open at one step.
 * JZX_ERR_INVALID_ARG (NULL, a pattern that is not well-formed), JZX_ERR_NO_MEMORY. Any thread. */
#define JZX_MATCH_WAYS_MAX 4096u
JZX_API jzx_err jzx_trace_match(const jzx_trace *trace, const jzx_pattern *pattern, char *report,
                                size_t size);

/* ---- probes: traces of messages between actors ---- */

typedef struct jzx_test_probe jzx_test_probe;

/* An actor, a daemon, that records each message that it gets, and sends it on to `to` (may be
 * JZX_NOBODY) with the sender that it came from: give its id to others in place of `to`. Messages
 * of the runtime are recorded only. A step of its trace is a Send; source and target are actor ids
 * (JZX_PROCESSOR_NO_HANDLE for JZX_NOBODY), and tick is the time of the loop. If it could not be
 * sent on, its outcome is JZX_OUTCOME_FAILED. Any thread. Errors of jzx_spawn. */
JZX_API jzx_err jzx_test_probe_create(jzx_loop *loop, jzx_actor_id to, jzx_test_probe **probe);

JZX_API jzx_actor_id jzx_test_probe_id(const jzx_test_probe *probe);

/* What it has recorded, valid until it records again: while the loop is not run, or in its
 * behaviours with one worker. JZX_ERR_INVALID_ARG. */
JZX_API jzx_err jzx_test_probe_trace(jzx_test_probe *probe, jzx_trace *trace);

/* Ends the actor, and frees the trace. Also after the end of the loop. NULL is fine. */
JZX_API void jzx_test_probe_destroy(jzx_test_probe *probe);

/* ---- a whole processor, on virtual time ---- */

typedef struct jzx_test_input {
    uint32_t tag;
    const void *data;
    size_t len;
} jzx_test_input;

/* Spawns of a type are made by another factory. */
typedef struct jzx_test_override {
    const char *type;
    const jzx_actor_factory *factory;
} jzx_test_override;

typedef struct jzx_test_verify_opts {
    size_t size;                   /* sizeof(jzx_test_verify_opts) */
    const jzx_actor_factory *root; /* required */
    const void *config;            /* as for jzx_processor_opts */
    size_t config_len;
    const jzx_test_input *inputs; /* dispatched one after another; these three at once:
                                   * .inputs = JZX_STAGES(array) */
    size_t input_count;
    size_t input_size;
    const jzx_test_override *overrides; /* .overrides = JZX_STAGES(array) */
    size_t override_count;
    size_t override_size;
    const jzx_pattern *pattern; /* required: of the whole trace */
    uint64_t timeout_ns;        /* of virtual time; 0: JZX_TEST_TIMEOUT_NS */
    uint64_t reserved[4];
} jzx_test_verify_opts;

#define JZX_TEST_TIMEOUT_NS 10000000000u

#define JZX_TEST_VERIFY_OPTS(...)                                                                  \
    ((jzx_test_verify_opts){.size = sizeof(jzx_test_verify_opts), __VA_ARGS__})

/* Makes a loop on virtual time and a processor, dispatches the inputs, and runs, moving the time on
 * whenever all actors wait, until the trace is what the pattern says: JZX_OK. JZX_ERR_FAILED, with
 * a report: nothing more happened, or the time was over. Other errors as for jzx_trace_match and
 * jzx_processor_create. Takes no real time beyond what the actors compute. */
JZX_API jzx_err jzx_test_verify(const jzx_test_verify_opts *opts, char *report, size_t size);

JZX_END_C

#endif
