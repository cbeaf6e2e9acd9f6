/* SPDX-License-Identifier: MIT */
/* The fuzzer: random sequences of public calls by seed, from everywhere that calls can come from.
 *
 *   main.c       options, one child process for each round, the watchdog, what a failure prints
 *   round.c      one round: a configuration by seed, the loop's life, the checks at its end
 *   actors.c     the actors, threads and callbacks that make calls
 *   values.c     arguments: good ones, stale ones, wrong ones
 *   memory.c     the allocator: counts, fails by seed, and overwrites what is freed
 *   calls_*.c    the operations, a file and a table for each family of calls
 *
 * A **round** is one loop from create to destroy. Its seed decides how many workers it has, which
 * back end and clock, which allocations fail, how few descriptors there are, whether signals
 * interrupt system calls, which families of calls take part, and then each call. With one worker
 * and a clock that is moved by hand the same seed makes the same calls in the same order; with
 * threads it makes the same choices in each actor.
 *
 * An **operation** is a row {name, weight, contexts, call} of a table; `call` makes up its
 * arguments and makes the call. A round checks itself: no crash, no hang, known statuses, memory
 * and descriptors balance, each actor that was spawned is cleaned up once, each buffer's destructor
 * runs once, each operation under way completes at most once, and the books of the loop balance. */
#ifndef JZX_FUZZ_H
#define JZX_FUZZ_H

#include <jzx/jzx.h>
#include <jzx/test.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- where a call comes from ---- */

enum {
    AT_BEFORE = 1u << 0,  /* the main thread, before the loop has run */
    AT_STEPS = 1u << 1,   /* the main thread, between two steps */
    AT_AFTER = 1u << 2,   /* the main thread, when the loop has ended */
    AT_FOREIGN = 1u << 3, /* another thread of the program, beside the run */
    IN_INIT = 1u << 4,
    IN_BEHAVIOUR = 1u << 5,
    IN_FIBER = 1u << 6,
    IN_ASYNC = 1u << 7,
    IN_STEP = 1u << 8, /* of a process */
    IN_MANUAL = 1u << 9,
    IN_CLEANUP = 1u << 10,
    IN_OBSERVER = 1u << 11,
    IN_DESTRUCTOR = 1u << 12, /* of a message */
    IN_PREDICATE = 1u << 13,
    IN_CALL = 1u << 14, /* a function of jzx_loop_call */
    IN_JOB = 1u << 15,  /* a function of a blocking pool */
    IN_TICK = 1u << 16, /* a function of the scheduler */
};
#define CONTEXTS 17u

#define ANYWHERE ((1u << CONTEXTS) - 1u)
#define OWN_TURNS (IN_INIT | IN_BEHAVIOUR | IN_FIBER | IN_ASYNC | IN_STEP | IN_MANUAL)
#define OWN_CODE (OWN_TURNS | IN_CLEANUP) /* from where jzx_exit has a place to go to */
#define MAIN_THREAD (AT_BEFORE | AT_STEPS | AT_AFTER)
#define OFF_THE_LOOP (AT_BEFORE | AT_STEPS | AT_AFTER | AT_FOREIGN | IN_JOB)

struct fuzz_round;
struct fuzz_actor;

/* The place of one call, on the stack of the caller. */
struct fuzz {
    struct fuzz_round *round;
    struct fuzz_actor *me; /* NULL: no actor's own code */
    jzx_context *ctx;      /* of that code */
    const jzx_message *msg;
    jzx_step_out *out;               /* IN_STEP */
    const jzx_process_event *events; /* IN_STEP */
    size_t event_count;
    uint64_t *random; /* state of the generator: the actor's, or own */
    uint64_t own_random;
    unsigned context;
    const char *operation; /* the one that is being made */
    jzx_context fake;      /* a context that is nobody's */
};

/* ---- operations ---- */

struct fuzz_operation {
    const char *name;
    unsigned weight;
    unsigned contexts;
    void (*call)(struct fuzz *f);
};

struct fuzz_family {
    const char *name;
    const struct fuzz_operation *operations;
    size_t count;
};

/* clang-format off */
#define FUZZ_FAMILIES(X)                                                                           \
    X(messages) X(actors) X(timers) X(fibers) X(locks) X(channels) X(futures) X(streams) X(udp)    \
    X(files) X(watches) X(subprocesses) X(names) X(schedule) X(process) X(processor)               \
    X(supervisors) X(loops)
/* clang-format on */
#define FUZZ_DECLARE(name) extern const struct fuzz_family fuzz_##name;
FUZZ_FAMILIES(FUZZ_DECLARE)

#define FUZZ_FAMILY(family_name, table)                                                            \
    const struct fuzz_family fuzz_##family_name = {#family_name, table,                            \
                                                   sizeof(table) / sizeof((table)[0])}

/* One row: the operation that CALL and its like have made of a function. */
#define ROW(function, weight, contexts)                                                            \
    { #function, weight, contexts, do_##function }

/* An operation that makes one call, whose result is a status; a value; nothing. */
#define CALL(function, ...)                                                                        \
    static void do_##function(struct fuzz *f) {                                                    \
        fuzz_status(f, (int)function(__VA_ARGS__));                                                \
    }                                                                                              \
    struct fuzz
#define USE(function, ...)                                                                         \
    static void do_##function(struct fuzz *f) {                                                    \
        (void)f;                                                                                   \
        (void)function(__VA_ARGS__);                                                               \
    }                                                                                              \
    struct fuzz
#define RUN(function, ...)                                                                         \
    static void do_##function(struct fuzz *f) {                                                    \
        function(__VA_ARGS__);                                                                     \
    }                                                                                              \
    struct fuzz

/* Begins an operation of this actor (a call that ends in _to); makes a future; makes a handle. */
#define BEGIN(function, ...)                                                                       \
    static void do_##function(struct fuzz *f) {                                                    \
        jzx_op op = JZX_NO_OP;                                                                     \
        bool is_named = !fuzz_chance(f, 16);                                                       \
        uint32_t tag = is_named ? FUZZ_TAG_OP : FUZZ_TAG_UNNAMED;                                  \
        fuzz_begun(f, (int)function(__VA_ARGS__, tag, is_named ? &op : NULL), &op);                \
    }                                                                                              \
    struct fuzz
#define FUTURE(function, ...)                                                                      \
    static void do_##function(struct fuzz *f) {                                                    \
        jzx_future *future = NULL;                                                                 \
        int err = (int)function(__VA_ARGS__, fuzz_chance(f, 64) ? NULL : &future);                 \
        fuzz_keep_future(f, err, &future);                                                         \
    }                                                                                              \
    struct fuzz
#define MAKE(handle_kind, function, ...)                                                           \
    static void do_##function(struct fuzz *f) {                                                    \
        uint64_t handle = 0;                                                                       \
        if (fuzz_status(f, (int)function(__VA_ARGS__, &handle)) == 0)                              \
            fuzz_note(f, handle_kind, handle);                                                     \
    }                                                                                              \
    struct fuzz

/* A status that is no jzx_err ends the process with a report. Returns it. */
int fuzz_status(struct fuzz *f, int err);
void fuzz_begun(struct fuzz *f, int err, const jzx_op *op);
void fuzz_keep_future(struct fuzz *f, int err, jzx_future *const *future);

/* Something that must not be: prints it with the line that reruns the round, and aborts. */
_Noreturn void fuzz_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- arguments: values.c ---- */

/* Handles that are plain data: the last ones of each kind are kept, live or stale. */
enum fuzz_handle {
    AN_ACTOR,
    A_TIMER,
    AN_OP,
    A_MONITOR,
    AN_ASK,
    A_STREAM,
    A_LISTENER,
    A_UDP,
    A_FILE,
    A_SUBPROCESS,
    A_JOB,
    A_SUPERVISOR,
    A_PROCESSOR_HANDLE,
    A_CLOSE_TASK,
    A_SUBSCRIBER,
    A_REF,
    HANDLE_KINDS
};
void fuzz_note(struct fuzz *f, enum fuzz_handle kind, uint64_t handle);
uint64_t fuzz_handle(struct fuzz *f, enum fuzz_handle kind);

/* Objects behind pointers: one that is taken is nobody else's, one that is borrowed is not taken
 * before it is given back. What is never given back (a killed fiber) is disposed of at the end. */
enum fuzz_object {
    OF_FUTURE,
    OF_PROMISE,
    OF_BUFFER,
    OF_SHARED,
    OF_MANUAL,
    OF_PROCESSOR,
    OF_EXECUTOR,
    OF_POOL,
    OF_PROBE,
    OBJECT_KINDS
};
void fuzz_put(struct fuzz *f, enum fuzz_object kind, void *object);
void *fuzz_take(struct fuzz *f, enum fuzz_object kind);
void *fuzz_borrow(struct fuzz *f, enum fuzz_object kind, int *ticket);
void fuzz_give_back(struct fuzz *f, enum fuzz_object kind, int ticket);
void fuzz_dispose_all(struct fuzz *f, enum fuzz_object kind);

uint64_t fuzz_random(struct fuzz *f);
uint64_t fuzz_below(struct fuzz *f, uint64_t bound);
bool fuzz_chance(struct fuzz *f, unsigned one_in);
jzx_loop *fuzz_loop(struct fuzz *f);
jzx_context *fuzz_context(struct fuzz *f);
uint32_t fuzz_tag(struct fuzz *f);
size_t fuzz_length(struct fuzz *f);
size_t fuzz_options_size(struct fuzz *f, size_t right);
uint64_t fuzz_deadline(struct fuzz *f);
uint64_t fuzz_span(struct fuzz *f);
uint64_t fuzz_word(struct fuzz *f);
const char *fuzz_name(struct fuzz *f);
const char *fuzz_text(struct fuzz *f);
const char *fuzz_path(struct fuzz *f);
const char *fuzz_address(struct fuzz *f);
const char *fuzz_unix_address(struct fuzz *f);
int fuzz_descriptor(struct fuzz *f);

#define LOOP fuzz_loop(f)
#define THE_LOOP (f->round->loop)
#define CTX fuzz_context(f)
#define ID fuzz_handle(f, AN_ACTOR)
#define DATA (fuzz_chance(f, 32) ? NULL : fuzz_bytes)
#define LEN fuzz_length(f)
#define ROOM ((size_t)fuzz_below(f, FUZZ_ROOM) + !fuzz_chance(f, 16)) /* of a buffer of FUZZ_ROOM */
#define TAG fuzz_tag(f)
#define WHEN fuzz_deadline(f)
#define SPAN fuzz_span(f)
#define WORD fuzz_word(f)
#define NAME fuzz_name(f)
#define TEXT fuzz_text(f)
#define PATH fuzz_path(f)
#define BELOW(n) ((uint32_t)fuzz_below(f, n))
#define YES_OR_NO fuzz_chance(f, 2)
#define OR_NULL(pointer) (fuzz_chance(f, 32) ? NULL : (pointer))

#define FUZZ_ROOM 256u
#define FUZZ_BYTES 70000u
extern const unsigned char fuzz_bytes[FUZZ_BYTES];

enum {
    FUZZ_TAG_OP = 0x1000, /* completes an operation of `pending` */
    FUZZ_TAG_UNNAMED = 0x1001,
    FUZZ_TAG_READER = 0x1002, /* completes the use of actor.reader, .version, .value */
    FUZZ_TAG_VERSION = 0x1003,
    FUZZ_TAG_SELECT = 0x1004,
    FUZZ_TAG_MAX = 16, /* tags of everyday messages are below */
};

/* ---- actors: actors.c ---- */

#define FUZZ_PENDING 32u
#define FUZZ_ACTORS 4096u

/* What an actor of the fuzzer knows of itself: its ctx->state. Lives as long as the round. */
struct fuzz_actor {
    struct fuzz_round *round;
    uint64_t random;
    jzx_op pending[FUZZ_PENDING];
    jzx_scope *scope; /* that it has open */
    jzx_reader reader;
    uint64_t version;
    unsigned char value[64];       /* where values of select go */
    uint64_t commands;             /* that it has yielded, and that have not completed */
    struct fuzz_actor *me_address; /* what a process is given as its input */
    bool is_reader_busy;
    bool is_version_busy;
    bool is_select_busy;
    bool has_upgraded;   /* a process: commands are not counted any more */
    bool is_child;       /* of a supervisor: several incarnations */
    bool is_manual;      /* its code runs in the polls of a thread */
    const char *made_by; /* the operation that it comes from */
    atomic_uint spawned; /* a spawn has returned JZX_OK */
    atomic_uint ended;   /* its cleanup has run */
};

struct fuzz_actor *fuzz_new_actor(struct fuzz *f);
jzx_spawn_opts *fuzz_spawn_opts(struct fuzz *f, jzx_spawn_opts *opts, struct fuzz_actor **actor);
void fuzz_spawned(struct fuzz *f, int err, struct fuzz_actor *actor, jzx_actor_id id);
jzx_child_spec *fuzz_child_spec(struct fuzz *f, jzx_child_spec *spec);

jzx_behavior_result fuzz_behave(jzx_context *ctx, const jzx_message *msg);
void fuzz_message_gone(void *data, size_t len);
bool fuzz_matches(void *arg, const jzx_message *msg);
jzx_err fuzz_blocking(void *arg);
void fuzz_called(jzx_loop *loop, void *arg);
jzx_err fuzz_ticked(void *arg, const jzx_batch *batch);
extern const jzx_process_ops fuzz_process_ops;
extern const jzx_async_type fuzz_async_type;
void fuzz_async_state(struct fuzz *f, void *state); /* of FUZZ_ASYNC_STATE bytes */
#define FUZZ_ASYNC_STATE 512u
void fuzz_async_cleanup(jzx_context *ctx, jzx_exit_reason reason);
jzx_observer fuzz_observer(void);

/* Makes so many random calls. */
void fuzz_act(struct fuzz *f, unsigned count);

/* A place without an actor, in a callback: context is one bit. */
struct fuzz fuzz_here(struct fuzz_round *round, unsigned context);

/* ---- a round ---- */

struct fuzz_options {
    uint64_t seed;
    uint64_t calls; /* of a round; 0: by seed */
    bool traces;
    const char *only;    /* families or operations, by commas */
    const char *without; /* likewise */
    int workers;         /* 0: by seed */
};
extern struct fuzz_options fuzz_options;

#define FUZZ_SYNC 2u /* objects of each kind */

struct fuzz_sync {
    jzx_mutex mutex[FUZZ_SYNC];
    jzx_semaphore semaphore[FUZZ_SYNC];
    jzx_rwlock rwlock[FUZZ_SYNC];
    jzx_channel channel[FUZZ_SYNC]; /* of uint64_t */
    jzx_gate gate[FUZZ_SYNC];
    jzx_wait_group wait_group[FUZZ_SYNC];
    jzx_barrier barrier[FUZZ_SYNC];
    jzx_once once[FUZZ_SYNC];
    jzx_broadcast broadcast[FUZZ_SYNC]; /* of uint64_t */
};

#define FUZZ_DESCRIPTORS 3u /* a pipe, and a regular file */
#define FUZZ_PATHS 7u       /* the last two are of sockets */

struct fuzz_round {
    uint64_t seed;
    jzx_loop *loop;
    jzx_clock *clock; /* NULL: that of the system */
    struct fuzz_sync sync;
    atomic_llong budget; /* calls that are left */
    atomic_ullong turns_of_random;
    atomic_uint buffers_made, buffers_gone;
    atomic_uint faults_made, faults_seen;
    atomic_uint actors; /* used of `actor` */
    atomic_int jobs;    /* functions of pools that may make calls now; or -1: none may */
    atomic_int nested;  /* observers and the like that make calls now */
    uint32_t workers;
    bool has_threads; /* more than one at a time uses the loop */
    bool is_contained;
    bool is_observed;
    bool is_traced;
    char folder[64];
    int descriptors[FUZZ_DESCRIPTORS];
    char paths[FUZZ_PATHS][96]; /* in it: lent to fibers that wait, so they stay what they are */
    struct fuzz_actor *actor;
};

void fuzz_round(uint64_t seed);

/* What the watchdog in the parent process sees. */
struct fuzz_progress {
    atomic_ullong calls;
    _Atomic(const char *) last; /* name of the operation that began last; of static storage */
    atomic_uint phase;
    char folder[64]; /* of the round: removed after it, however it ends */
};
extern struct fuzz_progress *fuzz_progress;

/* The round that this process runs, for callbacks without an argument. */
extern struct fuzz_round *fuzz_running;

/* ---- memory.c ---- */

jzx_allocator fuzz_allocator(void);
jzx_mapper fuzz_mapper(void);
void fuzz_memory_reset(uint64_t seed, unsigned one_in); /* one_in 0: no allocation fails */
void fuzz_memory_fails(bool may);
long long fuzz_memory_blocks(void);
long long fuzz_memory_bytes(void);
void fuzz_memory_report(FILE *out);

#endif
