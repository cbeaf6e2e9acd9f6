/* SPDX-License-Identifier: MIT */
/* Typed actors: one block declares the state and the messages, and the compiler checks the rest.
 *
 *     #define COUNTER(T, STATE, ON, ASK)  \
 *         STATE(T, int64_t, value, 0)     \
 *         ON(T, inc, int64_t, by)         \
 *         ON(T, reset)                    \
 *         ASK(T, get, int64_t)
 *     JZX_ACTOR_TYPE(counter, COUNTER);
 *
 *     static jzx_behavior_result counter_on_inc(jzx_context *ctx, struct counter *self,
 *                                               const struct counter_inc *msg) {
 *         self->value += msg->by;
 *         return JZX_BEHAVIOR_OK;
 *     }
 *     ... counter_on_reset; and of a question, with a place for the answer:
 *     static jzx_behavior_result counter_on_get(jzx_context *ctx, struct counter *self,
 *                                               const struct counter_get *msg, int64_t *answer) {
 *         *answer = self->value;
 *         return JZX_BEHAVIOR_OK;
 *     }
 *
 *     counter_spawn(loop, &id);                          or jzx_spawn with .type = &counter_type
 *     counter_send_inc(ctx, id, 5);                      in an actor
 *     counter_post_inc(loop, id, 5);                     anywhere
 *     counter_call_get_wait(loop, id, JZX_NEVER, &value) on a thread that is no actor
 *
 * **The block** is a macro with these four parameters. T goes through as it is.
 *   STATE(T, type, field, default)            a field of the state, and what it begins with
 *   ON(T, name, type, field, ...)             a message with up to 6 fields, or none
 *   ASK(T, name, answer type, type, field, ...) a message that is answered
 * A type has at least one field of state, and at most JZX_TYPE_MESSAGES_MAX messages. The compiler
 * demands a handler for each. Names are those of C; an array goes into a struct of its own.
 *
 * **What it makes**, for a type t and a message m:
 *   struct t, struct t_m              the state; a message, with its fields
 *   t_on_m(ctx, self, msg [, answer]) the handlers, which the program defines below the block
 *   t_type                            for jzx_spawn_opts.type and jzx_child_spec.type
 *   t_spawn(loop, &id)                a registered actor; t_manual: see jzx/manual.h
 *   t_send_m(ctx, to, fields...)      ON: jzx_send from this actor
 *   t_post_m(loop, to, fields...)     ON: the same without a sender, on any thread
 *   t_schedule_once_m(ctx, delay_ns, to, fields..., opts, &job)   ON: jobs of jzx/schedule.h from
 *   t_schedule_at_fixed_rate_m(ctx, initial_delay_ns, interval_ns, to, fields..., opts, &job)
 *   t_schedule_with_fixed_delay_m(ctx, initial_delay_ns, delay_ns, to, fields..., opts, &job)
 *                                     this actor; opts and job may be NULL
 *   t_ref, t_ref_of(id)               the type of `to` of those three: an actor of type t. An id
 *                                     alone, or the reference of another type, does not compile
 *   t_ask_m(ctx, to, fields..., timeout_ns, &ref)           ASK: jzx_ask
 *   t_call_m(ctx, to, fields..., deadline_ns, &answer)      ASK: jzx_call, in a fiber
 *   t_call_m_wait(loop, to, fields..., deadline_ns, &answer) ASK: jzx_call_wait, on a thread
 *   t_answer_m(loop, handle, from, answer)                  ASK: jzx_reply_to, see below
 *   t_is_answer_m(msg, &answer)       ASK: true, and the answer, if msg is one to t_ask_m
 *   t_tag_m(), t_len_m                for timers, watches and raw sends: its tag and its length
 *
 * **The actor** is an actor as any other: links, names, groups, timers, supervisors and dumps work
 * on it. Its state is its own: made with the defaults at each spawn and each restart, or copied
 * from jzx_spawn_opts.state (a struct t) if that is set; freed after the cleanup. Its priority is
 * JZX_PRIORITY_HIGH unless the options say another. Its handler is found by one subtraction: the
 * tags of a type are dense. One handler runs at a time, to its end; it may not wait.
 *
 * **Wrong messages.** A wrong number of fields, a wrong type, an unknown message do not compile.
 * What a raw jzx_send brings is checked: a tag of the type with another length ends the actor with
 * JZX_EXIT_FAIL and a text that names type, message and both lengths. All tags that are not the
 * type's own, as those of timers, of JZX_TAG_DOWN and of answers, go to its `other` behaviour
 * (JZX_ACTOR_TYPE_WITH); a type without one fails on them.
 *
 * From the first block on a conversion between integers and pointers is an error in that file, as
 * ISO C has it: else gcc before 14 only warns of a wrong field. */
#ifndef JZX_TYPED_H
#define JZX_TYPED_H

#include "jzx/actor.h"
#include "jzx/api.h"
#include "jzx/ask.h"
#include "jzx/error.h"
#include "jzx/fiber.h"
#include "jzx/id.h"
#include "jzx/manual.h"
#include "jzx/message.h"
#include "jzx/schedule.h"
#include "jzx/timer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Messages of one type. */
#define JZX_TYPE_MESSAGES_MAX 128u

/* The longest state. */
#define JZX_TYPE_STATE_MAX (64u << 20)

/* What a message without fields has in place of them. */
typedef struct jzx_nothing {
    char nothing;
} jzx_nothing;

/* One message of a type. */
typedef struct jzx_message_type {
    const char *name;
    size_t len;        /* of its payload: exactly */
    size_t answer_len; /* 0: it is not answered */
    jzx_behavior_fn handle;
} jzx_message_type;

/* A type, as JZX_ACTOR_TYPE makes it: static, and the same for ever. */
struct jzx_actor_type {
    size_t size; /* sizeof(jzx_actor_type) */
    const char *name;
    size_t state_size;
    void (*construct)(void *state); /* writes the defaults */
    jzx_behavior_fn receive;        /* finds the handler */
    const jzx_message_type *messages;
    uint32_t message_count;
    jzx_init_fn init;       /* NULL, or as of jzx_spawn_opts, as the next. Options that have one as
                             * well are JZX_ERR_INVALID_ARG */
    jzx_cleanup_fn cleanup; /* what the state owns is given up here */
    jzx_behavior_fn other;  /* NULL, or for messages that are not the type's; ctx->state is its
                             * state */
};

/* ---- event-driven actors: bound to a descriptor, a signal or a timer ---- */

typedef enum jzx_source_kind {
    JZX_SOURCE_FD = 1,     /* messages as of jzx_watch_fd: one field, a jzx_io_event */
    JZX_SOURCE_SIGNAL = 2, /* messages as of jzx_signal_to: one field, a jzx_signal_event */
    JZX_SOURCE_TIMER = 3   /* messages as of jzx_send_every: no field */
} jzx_source_kind;

typedef struct jzx_source {
    size_t size; /* sizeof(jzx_source) */
    jzx_source_kind kind;
    uint32_t tag;       /* of the message of the type that is sent: t_tag_m() */
    int number;         /* the descriptor or the signal */
    uint32_t interest;  /* of a descriptor: JZX_IO_* */
    uint64_t period_ns; /* of a timer */
    jzx_repeat repeat;
} jzx_source;

/* Sources in place, in C. */
#define JZX_ON_FD(fd, io_interest, message_tag)                                                    \
    ((jzx_source){.size = sizeof(jzx_source),                                                      \
                  .kind = JZX_SOURCE_FD,                                                           \
                  .tag = (message_tag),                                                            \
                  .number = (fd),                                                                  \
                  .interest = (io_interest)})
#define JZX_ON_SIGNAL(signo, message_tag)                                                          \
    ((jzx_source){.size = sizeof(jzx_source),                                                      \
                  .kind = JZX_SOURCE_SIGNAL,                                                       \
                  .tag = (message_tag),                                                            \
                  .number = (signo)})
#define JZX_ON_TIMER(timer_period_ns, timer_repeat, message_tag)                                   \
    ((jzx_source){.size = sizeof(jzx_source),                                                      \
                  .kind = JZX_SOURCE_TIMER,                                                        \
                  .tag = (message_tag),                                                            \
                  .period_ns = (timer_period_ns),                                                  \
                  .repeat = (timer_repeat)})

/* What is known of a type in a loop. */
typedef struct jzx_type_info {
    size_t size;                /* sizeof(jzx_type_info): set by the caller before the call */
    const jzx_actor_type *type; /* as registered first: its name, sizes and handlers */
    uint64_t alive;             /* instances */
    uint64_t made;              /* and all that ever were */
} jzx_type_info;

JZX_BEGIN_C

/* jzx_spawn of a type (opts->type) that is bound to a source: it handles the source's messages
 * besides what it is sent. The source is bound in the actor's first turn, before its init; if that
 * fails, its init has failed with that error. It ends with the actor. Any thread. Errors as
 * jzx_spawn; JZX_ERR_INVALID_ARG also if tag is no message of the type, or one of another length
 * than the source's. */
JZX_API jzx_err jzx_spawn_on(jzx_loop *loop, const jzx_spawn_opts *opts, const jzx_source *source,
                             jzx_actor_id *id);

/* ---- the types of a loop ----
 *
 * A loop knows a type from its first spawn on, by its name. Two types of one name are one if their
 * state and messages have the same sizes, as those of a block in two files; else the second is
 * JZX_ERR_EXISTS. Any thread. */

/* Makes a type known before its first spawn; again: nothing. JZX_ERR_EXISTS, JZX_ERR_NO_MEMORY,
 * JZX_ERR_INVALID_ARG. */
JZX_API jzx_err jzx_type_register(jzx_loop *loop, const jzx_actor_type *type);

/* JZX_ERR_INVALID_ARG, also if there is no type of that name. */
JZX_API jzx_err jzx_type_info_get(jzx_loop *loop, const char *name, jzx_type_info *info);

/* Walks over the types in the order of their registration: start with *cursor = 0, call until it is
 * JZX_ERR_INVALID_ARG. */
JZX_API jzx_err jzx_type_next(jzx_loop *loop, uint64_t *cursor, jzx_type_info *info);

/* The type of an actor; NULL if it has none, or there is no such actor. */
JZX_API const jzx_actor_type *jzx_type_of(jzx_loop *loop, jzx_actor_id id);

/* Writes the ids of up to max instances of a type, oldest first; returns how many there are. */
JZX_API size_t jzx_type_instances(jzx_loop *loop, const char *name, jzx_actor_id *ids, size_t max);

/* ---- in a handler ---- */

/* The message that is being handled, as a behaviour sees it: for jzx_msg_take, jzx_stash and the
 * like. JZX_ERR_INVALID_ARG: another context, or the message was taken or stashed. */
JZX_API jzx_err jzx_type_message(const jzx_context *ctx, jzx_message *msg);

/* Its sender; JZX_NOBODY: none, or as above. */
JZX_API jzx_actor_id jzx_type_sender(const jzx_context *ctx);

/* In the handler of a question: the answer comes later, by t_answer_m with this handle; what the
 * handler has written to *answer is not sent. All zero if there is no question to answer. */
JZX_API jzx_ask_handle jzx_type_defer(jzx_context *ctx);

/* ---- for the macros ---- */

/* A message that has no handler. */
JZX_API jzx_behavior_result jzx_type_stray(jzx_context *ctx, const jzx_message *msg,
                                           const jzx_actor_type *type);

/* The handler of a question has returned. */
JZX_API jzx_behavior_result jzx_type_reply(jzx_context *ctx, const jzx_message *msg,
                                           const void *answer, size_t len,
                                           jzx_behavior_result result);

/* t_call_m, and t_call_m_wait: what is asked, and where the answer goes.
 * JZX_ERR_INVALID_STATE: an answer of another length. */
typedef struct jzx_type_call {
    jzx_actor_id to;
    const void *data;
    size_t len;
    uint32_t tag;
    void *answer;
    size_t answer_len;
} jzx_type_call;

JZX_API jzx_err jzx_type_call_fiber(jzx_context *ctx, const jzx_type_call *call,
                                    uint64_t deadline_ns);
JZX_API jzx_err jzx_type_call_wait(jzx_loop *loop, const jzx_type_call *call, uint64_t deadline_ns);

/* t_is_answer_m. */
JZX_API bool jzx_type_is_answer(const jzx_message *msg, uint32_t tag, void *answer, size_t len);

/* ---- tags: 256 for each type, from a hash of its name on. Questions are answered with the tag of
 * the question plus JZX_TYPE_MESSAGES_MAX ---- */

#define JZX_TYPED_HASH(i)                                                                          \
    hash = (hash ^ ((i) < length ? (unsigned char)name[(i)] : 0u)) * 0x01000193u;
#define JZX_TYPED_HASH_4(i)                                                                        \
    JZX_TYPED_HASH(i) JZX_TYPED_HASH(i + 1) JZX_TYPED_HASH(i + 2) JZX_TYPED_HASH(i + 3)

/* Straight code, so that the compiler makes a number of it. Of long names 24 characters count. */
JZX_API inline __attribute__((always_inline)) uint32_t jzx_type_base(const char *name,
                                                                     size_t length) {
    uint32_t hash = 0x811C9DC5u ^ (uint32_t)length;
    JZX_TYPED_HASH_4(0u)
    JZX_TYPED_HASH_4(4u)
    JZX_TYPED_HASH_4(8u)
    JZX_TYPED_HASH_4(12u)
    JZX_TYPED_HASH_4(16u)
    JZX_TYPED_HASH_4(20u)
    return 0x40000000u + (hash >> 9 << 8);
}

JZX_API inline __attribute__((always_inline)) jzx_behavior_result
jzx_type_dispatch(jzx_context *ctx, const jzx_message *msg, const jzx_actor_type *type,
                  const jzx_message_type *messages, uint32_t base, uint32_t count) {
    uint32_t index = msg->tag - base;
    if (__builtin_expect(index < count && msg->len == messages[index].len, 1))
        return messages[index].handle(ctx, msg);
    return jzx_type_stray(ctx, msg, type);
}

JZX_END_C

/* ---- lists of fields: the first argument, then pairs of a type and a name ---- */

#define JZX_TYPED_PICK(a, b, c, d, e, f, g, h, i, j, k, l, m, n, ...) n
#define JZX_TYPED_COUNT(...) JZX_TYPED_PICK(__VA_ARGS__, 13, x, 11, x, 9, x, 7, x, 5, x, 3, x, 1, x)
#define JZX_TYPED_JOIN_(a, b) a##b
#define JZX_TYPED_JOIN(a, b) JZX_TYPED_JOIN_(a, b)
#define JZX_TYPED_FIRST_(a, ...) a
#define JZX_TYPED_FIRST(...) JZX_TYPED_FIRST_(__VA_ARGS__, x)

#ifdef __cplusplus
#define JZX_TYPED_ASSERT(condition, text) static_assert(condition, text)
#define JZX_TYPED_ALIGN(type) alignof(type)
#else
#define JZX_TYPED_ASSERT(condition, text) _Static_assert(condition, text)
#define JZX_TYPED_ALIGN(type) _Alignof(type)
#endif

/* The members of a message. */
#define JZX_TYPED_MEMBERS(...)                                                                     \
    JZX_TYPED_JOIN(JZX_TYPED_MEMBERS_, JZX_TYPED_COUNT(__VA_ARGS__))(__VA_ARGS__)
#define JZX_TYPED_MEMBERS_x(...) JZX_TYPED_ASSERT(0, "each field has a type and a name");
#define JZX_TYPED_MEMBERS_1(x) jzx_nothing nothing;
#define JZX_TYPED_MEMBERS_3(x, t, f) t f;
#define JZX_TYPED_MEMBERS_5(x, t, f, ...)                                                          \
    t f;                                                                                           \
    JZX_TYPED_MEMBERS_3(x, __VA_ARGS__)
#define JZX_TYPED_MEMBERS_7(x, t, f, ...)                                                          \
    t f;                                                                                           \
    JZX_TYPED_MEMBERS_5(x, __VA_ARGS__)
#define JZX_TYPED_MEMBERS_9(x, t, f, ...)                                                          \
    t f;                                                                                           \
    JZX_TYPED_MEMBERS_7(x, __VA_ARGS__)
#define JZX_TYPED_MEMBERS_11(x, t, f, ...)                                                         \
    t f;                                                                                           \
    JZX_TYPED_MEMBERS_9(x, __VA_ARGS__)
#define JZX_TYPED_MEMBERS_13(x, t, f, ...)                                                         \
    t f;                                                                                           \
    JZX_TYPED_MEMBERS_11(x, __VA_ARGS__)

/* The parameters of a send, each behind a comma. */
#define JZX_TYPED_PARAMS(...)                                                                      \
    JZX_TYPED_JOIN(JZX_TYPED_PARAMS_, JZX_TYPED_COUNT(__VA_ARGS__))(__VA_ARGS__)
#define JZX_TYPED_PARAMS_x(...)
#define JZX_TYPED_PARAMS_1(x)
#define JZX_TYPED_PARAMS_3(x, t, f) , t f
#define JZX_TYPED_PARAMS_5(x, t, f, ...) , t f JZX_TYPED_PARAMS_3(x, __VA_ARGS__)
#define JZX_TYPED_PARAMS_7(x, t, f, ...) , t f JZX_TYPED_PARAMS_5(x, __VA_ARGS__)
#define JZX_TYPED_PARAMS_9(x, t, f, ...) , t f JZX_TYPED_PARAMS_7(x, __VA_ARGS__)
#define JZX_TYPED_PARAMS_11(x, t, f, ...) , t f JZX_TYPED_PARAMS_9(x, __VA_ARGS__)
#define JZX_TYPED_PARAMS_13(x, t, f, ...) , t f JZX_TYPED_PARAMS_11(x, __VA_ARGS__)

/* A message made of them. */
#define JZX_TYPED_STORE(...)                                                                       \
    JZX_TYPED_JOIN(JZX_TYPED_STORE_, JZX_TYPED_COUNT(__VA_ARGS__))(__VA_ARGS__)
#define JZX_TYPED_STORE_x(...)
#define JZX_TYPED_STORE_1(x)
#define JZX_TYPED_STORE_3(x, t, f) jzx_m.f = f;
#define JZX_TYPED_STORE_5(x, t, f, ...)                                                            \
    jzx_m.f = f;                                                                                   \
    JZX_TYPED_STORE_3(x, __VA_ARGS__)
#define JZX_TYPED_STORE_7(x, t, f, ...)                                                            \
    jzx_m.f = f;                                                                                   \
    JZX_TYPED_STORE_5(x, __VA_ARGS__)
#define JZX_TYPED_STORE_9(x, t, f, ...)                                                            \
    jzx_m.f = f;                                                                                   \
    JZX_TYPED_STORE_7(x, __VA_ARGS__)
#define JZX_TYPED_STORE_11(x, t, f, ...)                                                           \
    jzx_m.f = f;                                                                                   \
    JZX_TYPED_STORE_9(x, __VA_ARGS__)
#define JZX_TYPED_STORE_13(x, t, f, ...)                                                           \
    jzx_m.f = f;                                                                                   \
    JZX_TYPED_STORE_11(x, __VA_ARGS__)

/* The length of its payload. */
#define JZX_TYPED_LEN(type, ...)                                                                   \
    JZX_TYPED_JOIN(JZX_TYPED_LEN_, JZX_TYPED_JOIN(of_, JZX_TYPED_COUNT(__VA_ARGS__)))(type)
#define JZX_TYPED_LEN_of_x(type) 0
#define JZX_TYPED_LEN_of_1(type) 0
#define JZX_TYPED_LEN_of_3(type) sizeof(type)
#define JZX_TYPED_LEN_of_5(type) sizeof(type)
#define JZX_TYPED_LEN_of_7(type) sizeof(type)
#define JZX_TYPED_LEN_of_9(type) sizeof(type)
#define JZX_TYPED_LEN_of_11(type) sizeof(type)
#define JZX_TYPED_LEN_of_13(type) sizeof(type)

/* ---- what each line of a block becomes, pass by pass ---- */

#define JZX_TYPED_NONE(T, ...)
#define JZX_TYPED_FUNCTION static inline __attribute__((unused))

/* The number, the struct, the length and the tag of a message. */
#define JZX_TYPED_ON_INDEX(T, ...) JZX_TYPED_INDEX(T, JZX_TYPED_FIRST(__VA_ARGS__))
#define JZX_TYPED_ASK_INDEX(T, name, ...) JZX_TYPED_INDEX(T, name)
#define JZX_TYPED_INDEX(T, name) JZX_TYPED_INDEX_(T, name)
#define JZX_TYPED_INDEX_(T, name) T##_index_##name,

#define JZX_TYPED_ON_STRUCT(T, ...) JZX_TYPED_STRUCT(T, JZX_TYPED_FIRST(__VA_ARGS__), __VA_ARGS__)
#define JZX_TYPED_ASK_STRUCT(T, name, ...) JZX_TYPED_STRUCT(T, name, __VA_ARGS__)
#define JZX_TYPED_STRUCT(T, name, ...) JZX_TYPED_STRUCT_(T, name, __VA_ARGS__)
#define JZX_TYPED_STRUCT_(T, name, ...)                                                            \
    struct T##_##name {                                                                            \
        JZX_TYPED_MEMBERS(__VA_ARGS__)                                                             \
    };                                                                                             \
    enum { T##_len_##name = JZX_TYPED_LEN(struct T##_##name, __VA_ARGS__) };                       \
    JZX_TYPED_FUNCTION uint32_t T##_tag_##name(void) {                                             \
        return jzx_type_base(#T, sizeof(#T) - 1) + (uint32_t)T##_index_##name;                     \
    }

/* Makes jzx_m of the parameters. */
#define JZX_TYPED_MAKE(T, name, ...)                                                               \
    struct T##_##name jzx_m;                                                                       \
    memset(&jzx_m, 0, sizeof jzx_m);                                                               \
    JZX_TYPED_STORE(__VA_ARGS__)

/* Sends. */
#define JZX_TYPED_ON_SEND(T, ...) JZX_TYPED_SEND(T, JZX_TYPED_FIRST(__VA_ARGS__), __VA_ARGS__)
#define JZX_TYPED_SEND(T, name, ...) JZX_TYPED_SEND_(T, name, __VA_ARGS__)
#define JZX_TYPED_SEND_(T, name, ...)                                                              \
    JZX_TYPED_FUNCTION jzx_err T##_send_##name(                                                    \
        jzx_context *jzx_ctx, jzx_actor_id jzx_to JZX_TYPED_PARAMS(__VA_ARGS__)) {                 \
        JZX_TYPED_MAKE(T, name, __VA_ARGS__)                                                       \
        return jzx_send(jzx_ctx->loop, jzx_to, jzx_ctx->self, &jzx_m, T##_len_##name,              \
                        T##_tag_##name());                                                         \
    }                                                                                              \
    JZX_TYPED_FUNCTION jzx_err T##_post_##name(                                                    \
        jzx_loop *jzx_loop_, jzx_actor_id jzx_to JZX_TYPED_PARAMS(__VA_ARGS__)) {                  \
        JZX_TYPED_MAKE(T, name, __VA_ARGS__)                                                       \
        return jzx_send(jzx_loop_, jzx_to, JZX_NOBODY, &jzx_m, T##_len_##name, T##_tag_##name());  \
    }

/* Jobs. */
#define JZX_TYPED_ON_JOB(T, ...) JZX_TYPED_JOB(T, JZX_TYPED_FIRST(__VA_ARGS__), __VA_ARGS__)
#define JZX_TYPED_JOB(T, name, ...) JZX_TYPED_JOB_(T, name, __VA_ARGS__)
#define JZX_TYPED_JOB_(T, name, ...)                                                               \
    JZX_TYPED_FUNCTION jzx_err T##_schedule_once_##name(                                           \
        jzx_context *jzx_ctx, int64_t jzx_delay_ns, T##_ref jzx_to JZX_TYPED_PARAMS(__VA_ARGS__),  \
        const jzx_schedule_opts *jzx_opts, jzx_job_id *jzx_job) {                                  \
        JZX_TYPED_MAKE(T, name, __VA_ARGS__)                                                       \
        return jzx_schedule_once_by(jzx_ctx, jzx_delay_ns, jzx_to.id, &jzx_m, T##_len_##name,      \
                                    T##_tag_##name(), jzx_opts, jzx_job);                          \
    }                                                                                              \
    JZX_TYPED_FUNCTION jzx_err T##_schedule_at_fixed_rate_##name(                                  \
        jzx_context *jzx_ctx, int64_t jzx_initial_delay_ns, int64_t jzx_interval_ns,               \
        T##_ref jzx_to JZX_TYPED_PARAMS(__VA_ARGS__), const jzx_schedule_opts *jzx_opts,           \
        jzx_job_id *jzx_job) {                                                                     \
        JZX_TYPED_MAKE(T, name, __VA_ARGS__)                                                       \
        return jzx_schedule_at_fixed_rate_by(jzx_ctx, jzx_initial_delay_ns, jzx_interval_ns,       \
                                             jzx_to.id, &jzx_m, T##_len_##name, T##_tag_##name(),  \
                                             jzx_opts, jzx_job);                                   \
    }                                                                                              \
    JZX_TYPED_FUNCTION jzx_err T##_schedule_with_fixed_delay_##name(                               \
        jzx_context *jzx_ctx, int64_t jzx_initial_delay_ns, int64_t jzx_delay_ns,                  \
        T##_ref jzx_to JZX_TYPED_PARAMS(__VA_ARGS__), const jzx_schedule_opts *jzx_opts,           \
        jzx_job_id *jzx_job) {                                                                     \
        JZX_TYPED_MAKE(T, name, __VA_ARGS__)                                                       \
        return jzx_schedule_with_fixed_delay_by(jzx_ctx, jzx_initial_delay_ns, jzx_delay_ns,       \
                                                jzx_to.id, &jzx_m, T##_len_##name,                 \
                                                T##_tag_##name(), jzx_opts, jzx_job);              \
    }

/* Questions: the first of the rest is the type of the answer. */
#define JZX_TYPED_ASK_SEND(T, name, ...)                                                           \
    JZX_TYPED_ASK_(T, name, JZX_TYPED_FIRST(__VA_ARGS__), __VA_ARGS__)
#define JZX_TYPED_ASK_(T, name, answer_type, ...)                                                  \
    JZX_TYPED_FUNCTION jzx_err T##_ask_##name(jzx_context *jzx_ctx,                                \
                                              jzx_actor_id jzx_to JZX_TYPED_PARAMS(__VA_ARGS__),   \
                                              uint64_t jzx_timeout_ns, uint64_t *jzx_ref_) {       \
        JZX_TYPED_MAKE(T, name, __VA_ARGS__)                                                       \
        return jzx_ask(jzx_ctx, jzx_to, &jzx_m, T##_len_##name, T##_tag_##name(), jzx_timeout_ns,  \
                       jzx_ref_);                                                                  \
    }                                                                                              \
    JZX_TYPED_FUNCTION jzx_err T##_call_##name(                                                    \
        jzx_context *jzx_ctx, jzx_actor_id jzx_to JZX_TYPED_PARAMS(__VA_ARGS__),                   \
        uint64_t jzx_deadline_ns, answer_type *jzx_answer) {                                       \
        JZX_TYPED_MAKE(T, name, __VA_ARGS__)                                                       \
        const jzx_type_call jzx_call_ = {jzx_to,           &jzx_m,     T##_len_##name,             \
                                         T##_tag_##name(), jzx_answer, sizeof(answer_type)};       \
        return jzx_type_call_fiber(jzx_ctx, &jzx_call_, jzx_deadline_ns);                          \
    }                                                                                              \
    JZX_TYPED_FUNCTION jzx_err T##_call_##name##_wait(                                             \
        jzx_loop *jzx_loop_, jzx_actor_id jzx_to JZX_TYPED_PARAMS(__VA_ARGS__),                    \
        uint64_t jzx_deadline_ns, answer_type *jzx_answer) {                                       \
        JZX_TYPED_MAKE(T, name, __VA_ARGS__)                                                       \
        const jzx_type_call jzx_call_ = {jzx_to,           &jzx_m,     T##_len_##name,             \
                                         T##_tag_##name(), jzx_answer, sizeof(answer_type)};       \
        return jzx_type_call_wait(jzx_loop_, &jzx_call_, jzx_deadline_ns);                         \
    }                                                                                              \
    JZX_TYPED_FUNCTION jzx_err T##_answer_##name(jzx_loop *jzx_loop_, jzx_ask_handle jzx_asked,    \
                                                 jzx_actor_id jzx_from, answer_type jzx_answer) {  \
        return jzx_reply_to(jzx_loop_, jzx_asked, jzx_from, &jzx_answer, sizeof jzx_answer,        \
                            T##_tag_##name() + JZX_TYPE_MESSAGES_MAX);                             \
    }                                                                                              \
    JZX_TYPED_FUNCTION bool T##_is_answer_##name(const jzx_message *jzx_msg,                       \
                                                 answer_type *jzx_answer) {                        \
        return jzx_type_is_answer(jzx_msg, T##_tag_##name() + JZX_TYPE_MESSAGES_MAX, jzx_answer,   \
                                  sizeof *jzx_answer);                                             \
    }

/* The state. */
#define JZX_TYPED_FIELD(T, type, field, ...) type field;
#define JZX_TYPED_DEFAULT(T, type, field, ...) jzx_self->field = __VA_ARGS__;

/* Handlers, what calls them, and the table. */
#define JZX_TYPED_ON_HANDLER(T, ...) JZX_TYPED_HANDLER(T, JZX_TYPED_FIRST(__VA_ARGS__))
#define JZX_TYPED_HANDLER(T, name) JZX_TYPED_HANDLER_(T, name)
#define JZX_TYPED_HANDLER_(T, name)                                                                \
    static jzx_behavior_result T##_on_##name(jzx_context *ctx, struct T *self,                     \
                                             const struct T##_##name *msg);                        \
    static jzx_behavior_result T##_take_##name(jzx_context *ctx, const jzx_message *msg) {         \
        return T##_on_##name(ctx, (struct T *)ctx->state, (const struct T##_##name *)msg->data);   \
    }
#define JZX_TYPED_ASK_HANDLER(T, name, ...)                                                        \
    JZX_TYPED_ASK_HANDLER_(T, name, JZX_TYPED_FIRST(__VA_ARGS__))
#define JZX_TYPED_ASK_HANDLER_(T, name, answer_type)                                               \
    static jzx_behavior_result T##_on_##name(jzx_context *ctx, struct T *self,                     \
                                             const struct T##_##name *msg, answer_type *answer);   \
    static jzx_behavior_result T##_take_##name(jzx_context *ctx, const jzx_message *msg) {         \
        answer_type answer;                                                                        \
        memset(&answer, 0, sizeof answer);                                                         \
        jzx_behavior_result result = T##_on_##name(ctx, (struct T *)ctx->state,                    \
                                                   (const struct T##_##name *)msg->data, &answer); \
        return jzx_type_reply(ctx, msg, &answer, sizeof answer, result);                           \
    }

#define JZX_TYPED_ON_ROW(T, ...) JZX_TYPED_ROW(T, JZX_TYPED_FIRST(__VA_ARGS__))
#define JZX_TYPED_ROW(T, name) JZX_TYPED_ROW_(T, name)
#define JZX_TYPED_ROW_(T, name) {#name, T##_len_##name, 0, T##_take_##name},
#define JZX_TYPED_ASK_ROW(T, name, ...)                                                            \
    {#name, T##_len_##name, sizeof(JZX_TYPED_FIRST(__VA_ARGS__)), T##_take_##name},

#if defined __GNUC__ && !defined __cplusplus
#define JZX_TYPED_STRICT                                                                           \
    _Pragma("GCC diagnostic error \"-Wint-conversion\"")                                           \
        _Pragma("GCC diagnostic error \"-Wincompatible-pointer-types\"")
#else
#define JZX_TYPED_STRICT
#endif

/* The messages alone, with all that sends them: for a header, whose type is in another file. */
#define JZX_ACTOR_MESSAGES(T, BLOCK)                                                               \
    JZX_TYPED_STRICT                                                                               \
    enum { BLOCK(T, JZX_TYPED_NONE, JZX_TYPED_ON_INDEX, JZX_TYPED_ASK_INDEX) T##_message_count };  \
    JZX_TYPED_ASSERT(T##_message_count <= (int)JZX_TYPE_MESSAGES_MAX, "too many messages");        \
    BLOCK(T, JZX_TYPED_NONE, JZX_TYPED_ON_STRUCT, JZX_TYPED_ASK_STRUCT)                            \
    typedef struct {                                                                               \
        jzx_actor_id id;                                                                           \
    } T##_ref;                                                                                     \
    JZX_TYPED_FUNCTION T##_ref T##_ref_of(jzx_actor_id id) {                                       \
        T##_ref jzx_ref_ = {id};                                                                   \
        return jzx_ref_;                                                                           \
    }                                                                                              \
    BLOCK(T, JZX_TYPED_NONE, JZX_TYPED_ON_SEND, JZX_TYPED_ASK_SEND)                                \
    BLOCK(T, JZX_TYPED_NONE, JZX_TYPED_ON_JOB, JZX_TYPED_NONE)                                     \
    JZX_TYPED_ASSERT(1, "")

/* The rest, in the file that has the handlers and has seen the messages. */
#define JZX_ACTOR_HANDLERS(T, BLOCK, type_init, type_cleanup, type_other)                          \
    struct T {                                                                                     \
        BLOCK(T, JZX_TYPED_FIELD, JZX_TYPED_NONE, JZX_TYPED_NONE)                                  \
    };                                                                                             \
    JZX_TYPED_ASSERT(JZX_TYPED_ALIGN(struct T) <= 16, "the state has an alignment beyond 16");     \
    JZX_TYPED_FUNCTION void T##_construct(void *jzx_state) {                                       \
        struct T *jzx_self = (struct T *)jzx_state;                                                \
        BLOCK(T, JZX_TYPED_DEFAULT, JZX_TYPED_NONE, JZX_TYPED_NONE)                                \
    }                                                                                              \
    JZX_TYPED_FUNCTION jzx_behavior_result T##_receive(jzx_context *ctx, const jzx_message *msg);  \
    BLOCK(T, JZX_TYPED_NONE, JZX_TYPED_ON_HANDLER, JZX_TYPED_ASK_HANDLER)                          \
    static const jzx_message_type T##_messages[] = {                                               \
        BLOCK(T, JZX_TYPED_NONE, JZX_TYPED_ON_ROW, JZX_TYPED_ASK_ROW){NULL, 0, 0, NULL}};          \
    static const jzx_actor_type T##_type = {sizeof(jzx_actor_type),                                \
                                            #T,                                                    \
                                            sizeof(struct T),                                      \
                                            T##_construct,                                         \
                                            T##_receive,                                           \
                                            T##_messages,                                          \
                                            T##_message_count,                                     \
                                            type_init,                                             \
                                            type_cleanup,                                          \
                                            type_other};                                           \
    JZX_TYPED_FUNCTION jzx_behavior_result T##_receive(jzx_context *ctx, const jzx_message *msg) { \
        return jzx_type_dispatch(ctx, msg, &T##_type, T##_messages,                                \
                                 jzx_type_base(#T, sizeof(#T) - 1), T##_message_count);            \
    }                                                                                              \
    JZX_TYPED_FUNCTION jzx_err T##_spawn(jzx_loop *loop, jzx_actor_id *id) {                       \
        jzx_spawn_opts opts;                                                                       \
        (void)jzx_spawn_opts_init(&opts, sizeof opts);                                             \
        opts.type = &T##_type;                                                                     \
        return jzx_spawn(loop, &opts, id);                                                         \
    }                                                                                              \
    JZX_TYPED_FUNCTION jzx_err T##_manual(jzx_loop *loop, jzx_manual **manual) {                   \
        jzx_spawn_opts opts;                                                                       \
        (void)jzx_spawn_opts_init(&opts, sizeof opts);                                             \
        opts.type = &T##_type;                                                                     \
        return jzx_manual_create(loop, &opts, manual);                                             \
    }                                                                                              \
    JZX_TYPED_ASSERT(1, "")

/* A type, its messages and what sends them, in one file. _WITH: with hooks, each may be NULL. */
#define JZX_ACTOR_TYPE(T, BLOCK) JZX_ACTOR_TYPE_WITH(T, BLOCK, NULL, NULL, NULL)
#define JZX_ACTOR_TYPE_WITH(T, BLOCK, type_init, type_cleanup, type_other)                         \
    JZX_ACTOR_MESSAGES(T, BLOCK);                                                                  \
    JZX_ACTOR_HANDLERS(T, BLOCK, type_init, type_cleanup, type_other)

#endif
