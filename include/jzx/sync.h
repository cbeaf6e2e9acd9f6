/* SPDX-License-Identifier: MIT */
/* Synchronisation: what fibers, behaviours and threads share, and how they wait for it.
 *
 *     static jzx_mutex mutex;
 *     jzx_mutex_init(loop, &mutex);
 *
 *     static void depositor(jzx_context *ctx) {
 *         if (jzx_mutex_lock(ctx, &mutex, JZX_NEVER) != JZX_OK)
 *             return;
 *         balance = read_from_disk(ctx) + 10;        may wait: the mutex stays locked
 *         jzx_mutex_unlock(ctx, &mutex);
 *     }
 *
 * An object is memory of the program. Its init ties it to a loop, whose actors and threads may use
 * it from then on; it must stay where it is until its deinit, which may also come after the end of
 * the loop. An init of an object that was not deinited is JZX_ERR_BUSY, and so is a deinit while
 * somebody waits at it, or has something of it; nothing happens then. A fiber or thread that was
 * released still waits until its call returns, so a releaser that deinits at once finds the object
 * busy. Any other call with an object that was not inited, or was copied, is JZX_ERR_INVALID_ARG.
 * All calls may come from any thread. No call with an object may overlap its init or its deinit.
 *
 * Each wait has these forms:
 *
 *   jzx_x(ctx, ..., deadline_ns)    suspends the calling fiber; elsewhere JZX_ERR_WOULD_SUSPEND at
 *                                   once. JZX_ERR_CANCELLED while the fiber works off its queue.
 *   jzx_x_wait(..., deadline_ns)    blocks a thread that is no worker; on a worker
 *                                   JZX_ERR_WOULD_SUSPEND at once.
 *   jzx_x_to(ctx, ..., tag, &op)    returns at once, for behaviours: the result comes as one
 *                                   message with that tag, see jzx/op.h.
 *   jzx_try_x(...)                  never waits, and may be called anywhere, in behaviours too.
 *
 * Deadlines are times of the loop, as for jzx_receive; also for threads, and also where a program
 * moves the time itself. A wait that returns JZX_ERR_TIMEOUT, JZX_ERR_CANCELLED or JZX_ERR_CLOSED
 * has taken and delivered nothing. Nor has a wait of a fiber that ends there: when it has been told
 * to end (jzx_actor_stop other than JZX_STOP_AFTER_QUEUE, or jzx_actor_fail, has returned), its
 * turn goes to the next that waits, and it counts at no barrier. The same holds for the operations
 * of an actor that is told to end. A call of another thread that began before that return, and
 * serves those that wait, may still serve it. A try that finds nothing is JZX_ERR_TIMEOUT, too.
 *
 * An operation that a _to call has begun takes what it waits for when its message is handled: from
 * then on the actor has the lock, or the value. result->err is what the fiber form returns. Until
 * then jzx_op_cancel, or the end of the actor, leaves everything to the next one that waits; a
 * cancel that comes after the grant is JZX_ERR_NO_SUCH_OP. There is no deadline: a timer and
 * jzx_op_cancel make one. All _to calls return JZX_ERR_INVALID_ARG (a wrong object or tag, not in a
 * turn of this actor, another loop), JZX_ERR_NO_SUCH_ACTOR (the actor works off its queue),
 * JZX_ERR_LOOP_CLOSED or JZX_ERR_NO_MEMORY, and no message comes then; op may be NULL. An object
 * with such operations is busy until their messages are handled, or their actors have ended.
 *
 * Waits are served in the order in which they began. What is released goes to the first of them
 * straight away, and only those are woken that get something. One that is told to end, and has not
 * ended yet, holds up no wait that begins later. Those that stand behind it already are served at
 * the next release, or when it ends; a try finds nothing until then.
 *
 * Owners: a lock or a permit belongs to the actor that took it, or, with a NULL context, to the
 * calling thread. When an actor ends with some of them (its cleanup may still give them back), the
 * observer sees JZX_EVENT_OWNER_DIED and they are released. The next one that takes a mutex, a
 * write lock or permits of that semaphore gets JZX_ERR_OWNER_DIED once: it has what it wanted, and
 * should look whether that is in order. Threads that end are not noticed. */
#ifndef JZX_SYNC_H
#define JZX_SYNC_H

#include "jzx/actor.h"
#include "jzx/api.h"
#include "jzx/error.h"
#include "jzx/future.h"
#include "jzx/loop.h"
#include "jzx/op.h"
#include "jzx/time.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What every object below consists of; only the library looks inside. */
#define JZX_SYNC_SIZE 320u
typedef union jzx_sync_storage {
    uint64_t align;
    void *align_pointer;
    unsigned char bytes[JZX_SYNC_SIZE];
} jzx_sync_storage;

JZX_BEGIN_C

/* ---- mutex ---- */

typedef struct jzx_mutex {
    jzx_sync_storage opaque;
} jzx_mutex;

/* JZX_ERR_INVALID_ARG (NULL), JZX_ERR_BUSY. */
JZX_API jzx_err jzx_mutex_init(jzx_loop *loop, jzx_mutex *mutex);
JZX_API jzx_err jzx_mutex_deinit(jzx_mutex *mutex);

/* JZX_OK and JZX_ERR_OWNER_DIED: the caller has it. JZX_ERR_BUSY: it had it already.
 * JZX_ERR_TIMEOUT, JZX_ERR_CANCELLED, JZX_ERR_WOULD_SUSPEND, JZX_ERR_INVALID_ARG; JZX_ERR_NO_MEMORY
 * only for an actor's first lock. */
JZX_API jzx_err jzx_mutex_lock(jzx_context *ctx, jzx_mutex *mutex, uint64_t deadline_ns);
JZX_API jzx_err jzx_mutex_lock_wait(jzx_mutex *mutex, uint64_t deadline_ns);

/* The actor has the mutex when the message is handled, with JZX_OK or JZX_ERR_OWNER_DIED.
 * JZX_ERR_BUSY at once: it has it already. */
JZX_API jzx_err jzx_mutex_lock_to(jzx_context *ctx, jzx_mutex *mutex, uint32_t tag, jzx_op *op);

/* ctx is the caller's own, or NULL for a thread that is no actor, as in all calls of owners that
 * follow. */
JZX_API jzx_err jzx_mutex_try_lock(jzx_context *ctx, jzx_mutex *mutex);

/* JZX_ERR_NOT_OWNER: the caller does not have it. */
JZX_API jzx_err jzx_mutex_unlock(jzx_context *ctx, jzx_mutex *mutex);

/* ---- semaphore ---- */

typedef struct jzx_semaphore {
    jzx_sync_storage opaque;
} jzx_semaphore;

#define JZX_SEMAPHORE_MAX 0x3FFFFFFFu

/* With `permits` to begin with, of at most `max`. JZX_ERR_INVALID_ARG (NULL, max 0 or above
 * JZX_SEMAPHORE_MAX, permits above max), JZX_ERR_BUSY. */
JZX_API jzx_err jzx_semaphore_init(jzx_loop *loop, jzx_semaphore *semaphore, uint32_t permits,
                                   uint32_t max);
JZX_API jzx_err jzx_semaphore_deinit(jzx_semaphore *semaphore);

/* All `count` permits or none. A wait for many is not overtaken by later ones for few. Errors as
 * for a mutex; JZX_ERR_INVALID_ARG also for a count of 0 or above max; JZX_ERR_NO_MEMORY for an
 * actor that has none of this semaphore yet. */
JZX_API jzx_err jzx_semaphore_acquire(jzx_context *ctx, jzx_semaphore *semaphore, uint32_t count,
                                      uint64_t deadline_ns);
JZX_API jzx_err jzx_semaphore_acquire_wait(jzx_semaphore *semaphore, uint32_t count,
                                           uint64_t deadline_ns);
JZX_API jzx_err jzx_semaphore_acquire_to(jzx_context *ctx, jzx_semaphore *semaphore, uint32_t count,
                                         uint32_t tag, jzx_op *op);
JZX_API jzx_err jzx_semaphore_try_acquire(jzx_context *ctx, jzx_semaphore *semaphore,
                                          uint32_t count);

/* Adds permits: those that the calling actor has, and beyond that new ones, so that a semaphore can
 * also count what one side makes and the other uses up. JZX_ERR_FULL: there would be more than max,
 * and nothing was added. */
JZX_API jzx_err jzx_semaphore_release(jzx_context *ctx, jzx_semaphore *semaphore, uint32_t count);

/* The calling actor answers for so many permits no more: they are gone with it, unless another adds
 * them again. JZX_ERR_NOT_OWNER: it does not have so many. */
JZX_API jzx_err jzx_semaphore_forget(jzx_context *ctx, jzx_semaphore *semaphore, uint32_t count);

/* Permits that are there now; 0 for a wrong object. */
JZX_API uint32_t jzx_semaphore_available(const jzx_semaphore *semaphore);

/* ---- lock for many readers or one writer ---- */

typedef struct jzx_rwlock {
    jzx_sync_storage opaque;
} jzx_rwlock;

JZX_API jzx_err jzx_rwlock_init(jzx_loop *loop, jzx_rwlock *lock);
JZX_API jzx_err jzx_rwlock_deinit(jzx_rwlock *lock);

/* Readers share it; a reader that comes after a waiting writer waits behind it. So an actor that
 * reads must not wait for a second read lock. Errors as for a mutex; JZX_ERR_BUSY for an actor that
 * has a write lock, or asks for one and has a read lock: none can be turned into the other. From an
 * operation JZX_ERR_BUSY also comes as a result, if the actor got a lock while it waited. */
JZX_API jzx_err jzx_rwlock_lock_read(jzx_context *ctx, jzx_rwlock *lock, uint64_t deadline_ns);
JZX_API jzx_err jzx_rwlock_lock_read_wait(jzx_rwlock *lock, uint64_t deadline_ns);
JZX_API jzx_err jzx_rwlock_lock_read_to(jzx_context *ctx, jzx_rwlock *lock, uint32_t tag,
                                        jzx_op *op);
JZX_API jzx_err jzx_rwlock_try_lock_read(jzx_context *ctx, jzx_rwlock *lock);
JZX_API jzx_err jzx_rwlock_unlock_read(jzx_context *ctx, jzx_rwlock *lock);

JZX_API jzx_err jzx_rwlock_lock_write(jzx_context *ctx, jzx_rwlock *lock, uint64_t deadline_ns);
JZX_API jzx_err jzx_rwlock_lock_write_wait(jzx_rwlock *lock, uint64_t deadline_ns);
JZX_API jzx_err jzx_rwlock_lock_write_to(jzx_context *ctx, jzx_rwlock *lock, uint32_t tag,
                                         jzx_op *op);
JZX_API jzx_err jzx_rwlock_try_lock_write(jzx_context *ctx, jzx_rwlock *lock);
JZX_API jzx_err jzx_rwlock_unlock_write(jzx_context *ctx, jzx_rwlock *lock);

/* ---- channel ----
 *
 *     JZX_CHANNEL(job, struct job)         at file scope, without a semicolon
 *
 *     static job_channel jobs;
 *     job_channel_init(loop, &jobs, 16);
 *     job_channel_send(ctx, &jobs, (struct job){.number = 1}, JZX_NEVER);      waits for room
 *     while (job_channel_receive(ctx, &jobs, JZX_NEVER, &job) == JZX_OK)       until it is closed
 *         work(&job);
 *
 * Values are copied as bytes, in the order in which they were sent; any number of fibers,
 * behaviours and threads may send and receive. */

/* What the typed channels are made of; other languages may call these functions. */
typedef struct jzx_channel {
    jzx_sync_storage opaque;
} jzx_channel;

/* A capacity: as many as memory holds, so that a send never waits. */
#define JZX_UNBOUNDED SIZE_MAX

/* For `capacity` values of value_size bytes, whose memory is taken now; that of an unbounded
 * channel when it is needed. JZX_ERR_INVALID_ARG (NULL, a capacity or a size of 0),
 * JZX_ERR_NO_MEMORY, JZX_ERR_BUSY. */
JZX_API jzx_err jzx_channel_init(jzx_loop *loop, jzx_channel *channel, size_t capacity,
                                 size_t value_size);

/* A channel for one value: it is closed when that was sent. */
JZX_API jzx_err jzx_channel_init_oneshot(jzx_loop *loop, jzx_channel *channel, size_t value_size);

/* Drops the values that are left. */
JZX_API jzx_err jzx_channel_deinit(jzx_channel *channel);

/* Waits for room. JZX_ERR_CLOSED, JZX_ERR_TIMEOUT, JZX_ERR_CANCELLED: it was not sent.
 * JZX_ERR_NO_MEMORY only in an unbounded one. Who waits to send is served before any later try. */
JZX_API jzx_err jzx_channel_send(jzx_context *ctx, jzx_channel *channel, const void *value,
                                 uint64_t deadline_ns);
JZX_API jzx_err jzx_channel_send_wait(jzx_channel *channel, const void *value,
                                      uint64_t deadline_ns);
JZX_API jzx_err jzx_channel_send_to(jzx_context *ctx, jzx_channel *channel, const void *value,
                                    uint32_t tag, jzx_op *op);
JZX_API jzx_err jzx_channel_try_send(jzx_channel *channel, const void *value);

/* Waits for a value. JZX_ERR_CLOSED: it is closed and empty. *value is untouched on errors. The
 * value of receive_to is the data of its result. */
JZX_API jzx_err jzx_channel_receive(jzx_context *ctx, jzx_channel *channel, uint64_t deadline_ns,
                                    void *value);
JZX_API jzx_err jzx_channel_receive_wait(jzx_channel *channel, uint64_t deadline_ns, void *value);
JZX_API jzx_err jzx_channel_receive_to(jzx_context *ctx, jzx_channel *channel, uint32_t tag,
                                       jzx_op *op);
JZX_API jzx_err jzx_channel_try_receive(jzx_channel *channel, void *value);

/* Nothing can be sent any more, and those that wait for that get JZX_ERR_CLOSED; what was sent can
 * be received. A second close changes nothing. */
JZX_API jzx_err jzx_channel_close(jzx_channel *channel);

/* False for a wrong object. */
JZX_API bool jzx_channel_is_closed(const jzx_channel *channel);

/* Values that were sent and not received yet; 0 for a wrong object. */
JZX_API size_t jzx_channel_count(const jzx_channel *channel);

/* ---- gate: open or closed ---- */

typedef struct jzx_gate {
    jzx_sync_storage opaque;
} jzx_gate;

JZX_API jzx_err jzx_gate_init(jzx_loop *loop, jzx_gate *gate, bool is_open);
JZX_API jzx_err jzx_gate_deinit(jzx_gate *gate);

/* Lets all pass that wait now, and those that come until it is closed again. */
JZX_API jzx_err jzx_gate_open(jzx_gate *gate);
JZX_API jzx_err jzx_gate_close(jzx_gate *gate);

/* False for a wrong object. */
JZX_API bool jzx_gate_is_open(const jzx_gate *gate);

/* Waits until it is open. */
JZX_API jzx_err jzx_gate_pass(jzx_context *ctx, jzx_gate *gate, uint64_t deadline_ns);
JZX_API jzx_err jzx_gate_pass_wait(jzx_gate *gate, uint64_t deadline_ns);
JZX_API jzx_err jzx_gate_pass_to(jzx_context *ctx, jzx_gate *gate, uint32_t tag, jzx_op *op);

/* ---- wait group: a number of things that are to be done ---- */

typedef struct jzx_wait_group {
    jzx_sync_storage opaque;
} jzx_wait_group;

JZX_API jzx_err jzx_wait_group_init(jzx_loop *loop, jzx_wait_group *group);
JZX_API jzx_err jzx_wait_group_deinit(jzx_wait_group *group);

/* So many more are to be done. JZX_ERR_FULL beyond UINT32_MAX. */
JZX_API jzx_err jzx_wait_group_add(jzx_wait_group *group, uint32_t count);

/* One is done. JZX_ERR_INVALID_ARG also if none was to be. */
JZX_API jzx_err jzx_wait_group_done(jzx_wait_group *group);

/* What is to be done; 0 for a wrong object. */
JZX_API uint32_t jzx_wait_group_count(const jzx_wait_group *group);

/* Waits until nothing is to be done. */
JZX_API jzx_err jzx_wait_group_join(jzx_context *ctx, jzx_wait_group *group, uint64_t deadline_ns);
JZX_API jzx_err jzx_wait_group_join_wait(jzx_wait_group *group, uint64_t deadline_ns);
JZX_API jzx_err jzx_wait_group_join_to(jzx_context *ctx, jzx_wait_group *group, uint32_t tag,
                                       jzx_op *op);

/* ---- barrier: a number of parties that meet, again and again ---- */

typedef struct jzx_barrier {
    jzx_sync_storage opaque;
} jzx_barrier;

/* JZX_ERR_INVALID_ARG also for 0 parties. */
JZX_API jzx_err jzx_barrier_init(jzx_loop *loop, jzx_barrier *barrier, uint32_t parties);
JZX_API jzx_err jzx_barrier_deinit(jzx_barrier *barrier);

/* Waits until all parties have arrived; *is_last (may be NULL) is true for the one that came last.
 * On an error it has not arrived: one that gives up, or is killed, does not count. */
JZX_API jzx_err jzx_barrier_arrive(jzx_context *ctx, jzx_barrier *barrier, uint64_t deadline_ns,
                                   bool *is_last);
JZX_API jzx_err jzx_barrier_arrive_wait(jzx_barrier *barrier, uint64_t deadline_ns, bool *is_last);

/* The data of the result is a bool: is_last. The actor arrives with this call, and has passed when
 * all have arrived, whether or not it comes to handle the message. */
JZX_API jzx_err jzx_barrier_arrive_to(jzx_context *ctx, jzx_barrier *barrier, uint32_t tag,
                                      jzx_op *op);

/* ---- once ---- */

typedef struct jzx_once {
    jzx_sync_storage opaque;
    jzx_mutex mutex;
} jzx_once;

/* May wait, if it was called by a fiber; ctx is NULL on a thread. */
typedef jzx_err (*jzx_once_fn)(jzx_context *ctx, void *arg);

JZX_API jzx_err jzx_once_init(jzx_loop *loop, jzx_once *once);
JZX_API jzx_err jzx_once_deinit(jzx_once *once);

/* Calls fn, unless a call has succeeded before; while another calls it, waits for that. What fn
 * returns other than JZX_OK is returned to its caller, and the next one calls it again; so it is
 * if the caller ends in fn. JZX_ERR_BUSY in fn itself. */
JZX_API jzx_err jzx_once_run(jzx_context *ctx, jzx_once *once, uint64_t deadline_ns, jzx_once_fn fn,
                             void *arg);
JZX_API jzx_err jzx_once_run_wait(jzx_once *once, uint64_t deadline_ns, jzx_once_fn fn, void *arg);

/* False for a wrong object. */
JZX_API bool jzx_once_is_done(const jzx_once *once);

/* ---- broadcast: each reader sees each value ---- */

/* What the typed broadcasts and latest values are made of, see JZX_BROADCAST and JZX_LATEST. */
typedef struct jzx_broadcast {
    jzx_sync_storage opaque;
} jzx_broadcast;

/* Where a reader is: memory of the program, of one reader at a time; it needs no end. */
typedef struct jzx_reader {
    jzx_broadcast *from;
    uint64_t next;   /* the number of the value that it reads next, from 0 */
    uint64_t missed; /* by the last read: values that were overwritten before */
} jzx_reader;

/* Keeps the last `keep` values of value_size bytes. JZX_ERR_INVALID_ARG (NULL, 0),
 * JZX_ERR_NO_MEMORY, JZX_ERR_BUSY. */
JZX_API jzx_err jzx_broadcast_init(jzx_loop *loop, jzx_broadcast *broadcast, size_t keep,
                                   size_t value_size);
JZX_API jzx_err jzx_broadcast_deinit(jzx_broadcast *broadcast);

/* Never waits: a reader that is too far behind misses the oldest. JZX_ERR_CLOSED. */
JZX_API jzx_err jzx_broadcast_publish(jzx_broadcast *broadcast, const void *value);

/* Nothing more will be published; readers get what is left, and then JZX_ERR_CLOSED. */
JZX_API jzx_err jzx_broadcast_close(jzx_broadcast *broadcast);

/* A reader of all that is published from now on. */
JZX_API jzx_err jzx_broadcast_subscribe(jzx_broadcast *broadcast, jzx_reader *reader);

/* The next value. JZX_ERR_LAGGED: reader->missed values were overwritten before; nothing was read,
 * and the next read begins with the oldest that is left. JZX_ERR_CLOSED, JZX_ERR_TIMEOUT,
 * JZX_ERR_CANCELLED, JZX_ERR_WOULD_SUSPEND, JZX_ERR_INVALID_ARG. */
JZX_API jzx_err jzx_broadcast_read(jzx_context *ctx, jzx_reader *reader, uint64_t deadline_ns,
                                   void *value);
JZX_API jzx_err jzx_broadcast_read_wait(jzx_reader *reader, uint64_t deadline_ns, void *value);

/* The data of the result is the value. The reader stays where it is, and is used for nothing else,
 * until the message is handled. */
JZX_API jzx_err jzx_broadcast_read_to(jzx_context *ctx, jzx_reader *reader, uint32_t tag,
                                      jzx_op *op);
JZX_API jzx_err jzx_broadcast_try_read(jzx_reader *reader, void *value);

/* The last value that was published, and how many there were, which may be NULL. JZX_ERR_TIMEOUT:
 * none was. */
JZX_API jzx_err jzx_broadcast_latest(jzx_broadcast *broadcast, void *value, uint64_t *version);

/* Waits until there were others than *version, and reads the last of them. */
JZX_API jzx_err jzx_broadcast_changed(jzx_context *ctx, jzx_broadcast *broadcast, uint64_t *version,
                                      uint64_t deadline_ns, void *value);
JZX_API jzx_err jzx_broadcast_changed_wait(jzx_broadcast *broadcast, uint64_t *version,
                                           uint64_t deadline_ns, void *value);

/* The data of the result is the value; *version stays where it is until the message is handled. */
JZX_API jzx_err jzx_broadcast_changed_to(jzx_context *ctx, jzx_broadcast *broadcast,
                                         uint64_t *version, uint32_t tag, jzx_op *op);

/* ---- select: the first of several ----
 *
 *     const jzx_case cases[] = {job_channel_case_receive(&jobs, &job),
 *                               jzx_gate_case(&stopping)};
 *     size_t index;
 *     if (jzx_select(ctx, JZX_CASES(cases), jzx_in(ctx, JZX_MS(50)), &index) == JZX_OK)
 *         if (index == 0) ... */

typedef enum jzx_case_kind {
    JZX_CASE_RECEIVE = 1, /* a jzx_channel; value: where the value goes */
    JZX_CASE_SEND = 2,    /* a jzx_channel with a bound; value: what is sent */
    JZX_CASE_GATE = 3,    /* a jzx_gate; it is open */
    JZX_CASE_READ = 4,    /* a jzx_reader; value: where the value goes */
    JZX_CASE_FUTURE = 5   /* a jzx_future; value: where the value goes, or NULL; not for threads */
} jzx_case_kind;

/* What one waits for. Made by the functions whose names have case in them. */
typedef struct jzx_case {
    jzx_case_kind kind;
    void *object;
    void *value;
} jzx_case;

/* Cases at most: as many as an index has room for. */
#define JZX_SELECT_MAX 65535u

/* The arguments for an array. */
#define JZX_CASES(array) (array), sizeof(array) / sizeof((array)[0]), sizeof((array)[0])

/* Waits until one of the cases can go on, and does that one alone: *index says which. Of several
 * that can, the first in the array is done. JZX_ERR_CLOSED: that of *index is closed.
 * JZX_ERR_LAGGED: likewise, as for a read; and so is the error of a future that was rejected.
 * Otherwise nothing was done, and *index is untouched: JZX_ERR_TIMEOUT, JZX_ERR_CANCELLED,
 * JZX_ERR_WOULD_SUSPEND, JZX_ERR_INVALID_ARG (NULL, no case or more than JZX_SELECT_MAX, a wrong
 * size or object, objects of two loops, a future that was not started), JZX_ERR_NO_MEMORY.
 *
 * Up to 16 cases are on the stack of the call. More cases take a block for the time of the wait, 72
 * bytes a case. A fiber takes it from its own heap (heap.h, with its quota), a thread from the
 * allocator of the loop, which must be there. */
JZX_API jzx_err jzx_select(jzx_context *ctx, const jzx_case *cases, size_t count, size_t case_size,
                           uint64_t deadline_ns, size_t *index);
JZX_API jzx_err jzx_select_wait(const jzx_case *cases, size_t count, size_t case_size,
                                uint64_t deadline_ns, size_t *index);

/* The data of the result is a size_t: the index. Beyond 16 cases the operation has a block of the
 * loop's allocator, as above. The cases are copied; what they point to stays
 * until the message is handled, when values are written. */
JZX_API jzx_err jzx_select_to(jzx_context *ctx, const jzx_case *cases, size_t count,
                              size_t case_size, uint32_t tag, jzx_op *op);

/* The cases of jzx_select. */
JZX_API inline jzx_case jzx_make_case(jzx_case_kind kind, void *object, void *value) {
    jzx_case it;
    it.kind = kind;
    it.object = object;
    it.value = value;
    return it;
}

JZX_API inline jzx_case jzx_gate_case(jzx_gate *gate) {
    return jzx_make_case(JZX_CASE_GATE, gate, NULL);
}

JZX_API inline jzx_case jzx_future_case(jzx_future *future, void *value) {
    return jzx_make_case(JZX_CASE_FUTURE, future, value);
}

JZX_END_C

/* A program need not use all functions of a family. */
#define JZX_SYNC_FN static inline __attribute__((unused))

/* What channels and oneshots of a type have in common. */
#define JZX_CHANNEL_FAMILY(name, type, kind)                                                       \
    typedef struct name##_##kind {                                                                 \
        jzx_channel channel;                                                                       \
    } name##_##kind;                                                                               \
    JZX_SYNC_FN jzx_err name##_##kind##_deinit(name##_##kind *it) {                                \
        return jzx_channel_deinit(it == NULL ? NULL : &it->channel);                               \
    }                                                                                              \
    JZX_SYNC_FN jzx_err name##_##kind##_receive(jzx_context *ctx, name##_##kind *it,               \
                                                uint64_t deadline_ns, type *value) {               \
        return jzx_channel_receive(ctx, it == NULL ? NULL : &it->channel, deadline_ns, value);     \
    }                                                                                              \
    JZX_SYNC_FN jzx_err name##_##kind##_receive_wait(name##_##kind *it, uint64_t deadline_ns,      \
                                                     type *value) {                                \
        return jzx_channel_receive_wait(it == NULL ? NULL : &it->channel, deadline_ns, value);     \
    }                                                                                              \
    JZX_SYNC_FN jzx_err name##_##kind##_receive_to(jzx_context *ctx, name##_##kind *it,            \
                                                   uint32_t tag, jzx_op *op) {                     \
        return jzx_channel_receive_to(ctx, it == NULL ? NULL : &it->channel, tag, op);             \
    }                                                                                              \
    JZX_SYNC_FN jzx_err name##_##kind##_try_receive(name##_##kind *it, type *value) {              \
        return jzx_channel_try_receive(it == NULL ? NULL : &it->channel, value);                   \
    }                                                                                              \
    JZX_SYNC_FN jzx_err name##_##kind##_close(name##_##kind *it) {                                 \
        return jzx_channel_close(it == NULL ? NULL : &it->channel);                                \
    }                                                                                              \
    JZX_SYNC_FN jzx_case name##_##kind##_case_receive(name##_##kind *it, type *value) {            \
        return jzx_make_case(JZX_CASE_RECEIVE, it == NULL ? NULL : &it->channel, value);           \
    }                                                                                              \
    JZX_SYNC_FN bool name##_##kind##_is_closed(const name##_##kind *it) {                          \
        return jzx_channel_is_closed(it == NULL ? NULL : &it->channel);                            \
    }

/* name_channel and name_channel_init, _deinit, _send, _send_wait, _send_to, _try_send, _receive,
 * _receive_wait, _receive_to, _try_receive, _close, _is_closed, _count: see jzx_channel; _case_send
 * and _case_receive, whose value is read or written when the case is done: see jzx_select. */
#define JZX_CHANNEL(name, type)                                                                    \
    JZX_CHANNEL_FAMILY(name, type, channel)                                                        \
    JZX_SYNC_FN jzx_err name##_channel_init(jzx_loop *loop, name##_channel *it, size_t capacity) { \
        return jzx_channel_init(loop, it == NULL ? NULL : &it->channel, capacity, sizeof(type));   \
    }                                                                                              \
    JZX_SYNC_FN jzx_err name##_channel_send(jzx_context *ctx, name##_channel *it, type value,      \
                                            uint64_t deadline_ns) {                                \
        return jzx_channel_send(ctx, it == NULL ? NULL : &it->channel, &value, deadline_ns);       \
    }                                                                                              \
    JZX_SYNC_FN jzx_err name##_channel_send_wait(name##_channel *it, type value,                   \
                                                 uint64_t deadline_ns) {                           \
        return jzx_channel_send_wait(it == NULL ? NULL : &it->channel, &value, deadline_ns);       \
    }                                                                                              \
    JZX_SYNC_FN jzx_err name##_channel_send_to(jzx_context *ctx, name##_channel *it, type value,   \
                                               uint32_t tag, jzx_op *op) {                         \
        return jzx_channel_send_to(ctx, it == NULL ? NULL : &it->channel, &value, tag, op);        \
    }                                                                                              \
    JZX_SYNC_FN jzx_err name##_channel_try_send(name##_channel *it, type value) {                  \
        return jzx_channel_try_send(it == NULL ? NULL : &it->channel, &value);                     \
    }                                                                                              \
    JZX_SYNC_FN jzx_case name##_channel_case_send(name##_channel *it, type *value) {               \
        return jzx_make_case(JZX_CASE_SEND, it == NULL ? NULL : &it->channel, value);              \
    }                                                                                              \
    JZX_SYNC_FN size_t name##_channel_count(const name##_channel *it) {                            \
        return jzx_channel_count(it == NULL ? NULL : &it->channel);                                \
    }

/* One value, sent once, received once: name_oneshot and name_oneshot_init, _deinit, _send (never
 * waits; JZX_ERR_CLOSED if something was sent), _receive, _receive_wait, _receive_to,
 * _try_receive, _close (it will not come: who waits gets JZX_ERR_CLOSED), _is_closed,
 * _case_receive. */
#define JZX_ONESHOT(name, type)                                                                    \
    JZX_CHANNEL_FAMILY(name, type, oneshot)                                                        \
    JZX_SYNC_FN jzx_err name##_oneshot_init(jzx_loop *loop, name##_oneshot *it) {                  \
        return jzx_channel_init_oneshot(loop, it == NULL ? NULL : &it->channel, sizeof(type));     \
    }                                                                                              \
    JZX_SYNC_FN jzx_err name##_oneshot_send(name##_oneshot *it, type value) {                      \
        return jzx_channel_try_send(it == NULL ? NULL : &it->channel, &value);                     \
    }

/* name_broadcast and name_broadcast_init, _deinit, _publish, _close, _subscribe, _read, _read_wait,
 * _read_to, _try_read: see jzx_broadcast; _case_read: see jzx_select. */
#define JZX_BROADCAST(name, type)                                                                  \
    typedef struct name##_broadcast {                                                              \
        jzx_broadcast broadcast;                                                                   \
    } name##_broadcast;                                                                            \
    JZX_SYNC_FN jzx_err name##_broadcast_init(jzx_loop *loop, name##_broadcast *it, size_t keep) { \
        return jzx_broadcast_init(loop, it == NULL ? NULL : &it->broadcast, keep, sizeof(type));   \
    }                                                                                              \
    JZX_SYNC_FN jzx_err name##_broadcast_deinit(name##_broadcast *it) {                            \
        return jzx_broadcast_deinit(it == NULL ? NULL : &it->broadcast);                           \
    }                                                                                              \
    JZX_SYNC_FN jzx_err name##_broadcast_publish(name##_broadcast *it, type value) {               \
        return jzx_broadcast_publish(it == NULL ? NULL : &it->broadcast, &value);                  \
    }                                                                                              \
    JZX_SYNC_FN jzx_err name##_broadcast_close(name##_broadcast *it) {                             \
        return jzx_broadcast_close(it == NULL ? NULL : &it->broadcast);                            \
    }                                                                                              \
    JZX_SYNC_FN jzx_err name##_broadcast_subscribe(name##_broadcast *it, jzx_reader *reader) {     \
        return jzx_broadcast_subscribe(it == NULL ? NULL : &it->broadcast, reader);                \
    }                                                                                              \
    JZX_SYNC_FN jzx_err name##_broadcast_read(jzx_context *ctx, jzx_reader *reader,                \
                                              uint64_t deadline_ns, type *value) {                 \
        return jzx_broadcast_read(ctx, reader, deadline_ns, value);                                \
    }                                                                                              \
    JZX_SYNC_FN jzx_err name##_broadcast_read_wait(jzx_reader *reader, uint64_t deadline_ns,       \
                                                   type *value) {                                  \
        return jzx_broadcast_read_wait(reader, deadline_ns, value);                                \
    }                                                                                              \
    JZX_SYNC_FN jzx_err name##_broadcast_read_to(jzx_context *ctx, jzx_reader *reader,             \
                                                 uint32_t tag, jzx_op *op) {                       \
        return jzx_broadcast_read_to(ctx, reader, tag, op);                                        \
    }                                                                                              \
    JZX_SYNC_FN jzx_case name##_broadcast_case_read(jzx_reader *reader, type *value) {             \
        return jzx_make_case(JZX_CASE_READ, reader, value);                                        \
    }                                                                                              \
    JZX_SYNC_FN jzx_err name##_broadcast_try_read(jzx_reader *reader, type *value) {               \
        return jzx_broadcast_try_read(reader, value);                                              \
    }

/* A value that changes, of which only the last counts: name_latest and name_latest_init (with the
 * first value), _deinit, _set, _get (value and version), _changed, _changed_wait and _changed_to
 * (wait until it has another version than *version, 0 for the first time). */
#define JZX_LATEST(name, type)                                                                     \
    typedef struct name##_latest {                                                                 \
        jzx_broadcast broadcast;                                                                   \
    } name##_latest;                                                                               \
    JZX_SYNC_FN jzx_err name##_latest_set(name##_latest *it, type value) {                         \
        return jzx_broadcast_publish(it == NULL ? NULL : &it->broadcast, &value);                  \
    }                                                                                              \
    JZX_SYNC_FN jzx_err name##_latest_init(jzx_loop *loop, name##_latest *it, type value) {        \
        jzx_err err =                                                                              \
            jzx_broadcast_init(loop, it == NULL ? NULL : &it->broadcast, 1, sizeof(type));         \
        return err == JZX_OK ? name##_latest_set(it, value) : err;                                 \
    }                                                                                              \
    JZX_SYNC_FN jzx_err name##_latest_deinit(name##_latest *it) {                                  \
        return jzx_broadcast_deinit(it == NULL ? NULL : &it->broadcast);                           \
    }                                                                                              \
    JZX_SYNC_FN jzx_err name##_latest_get(name##_latest *it, type *value, uint64_t *version) {     \
        return jzx_broadcast_latest(it == NULL ? NULL : &it->broadcast, value, version);           \
    }                                                                                              \
    JZX_SYNC_FN jzx_err name##_latest_changed(jzx_context *ctx, name##_latest *it,                 \
                                              uint64_t *version, uint64_t deadline_ns,             \
                                              type *value) {                                       \
        return jzx_broadcast_changed(ctx, it == NULL ? NULL : &it->broadcast, version,             \
                                     deadline_ns, value);                                          \
    }                                                                                              \
    JZX_SYNC_FN jzx_err name##_latest_changed_to(jzx_context *ctx, name##_latest *it,              \
                                                 uint64_t *version, uint32_t tag, jzx_op *op) {    \
        return jzx_broadcast_changed_to(ctx, it == NULL ? NULL : &it->broadcast, version, tag,     \
                                        op);                                                       \
    }                                                                                              \
    JZX_SYNC_FN jzx_err name##_latest_changed_wait(name##_latest *it, uint64_t *version,           \
                                                   uint64_t deadline_ns, type *value) {            \
        return jzx_broadcast_changed_wait(it == NULL ? NULL : &it->broadcast, version,             \
                                          deadline_ns, value);                                     \
    }

#endif
