/* SPDX-License-Identifier: MIT */
/* Every public call with a context refuses NULL, and the context of another actor, wherever it is
 * made: in each kind of user code, and while a loop ends. */
#include "puppets.h"

#include <jzx/jzx.h>

#include <signal.h>
#include <sys/uio.h>

JZX_CHANNEL(number, uint64_t)

/* What the calls are made with. */
static struct {
    size_t size;
    uint64_t number;
    bool flag;
    jzx_actor_id other;
    jzx_actor_id id;
    jzx_actor_id ids[1];
    char bytes[64];
    jzx_message message;
    jzx_exit_notice exit_notice;
    jzx_spawn_opts spawn;
    jzx_file file;
    jzx_file_info file_info;
    jzx_stream stream;
    jzx_stream pair[2];
    jzx_listener listener;
    jzx_udp udp;
    jzx_datagram datagram;
    jzx_address address;
    jzx_addresses addresses;
    jzx_subprocess subprocess;
    jzx_subprocess_opts command;
    jzx_subprocess_status subprocess_status;
    struct iovec iovec;
    jzx_future *future;
    jzx_scope *scope;
    jzx_scope_result scope_result;
    jzx_heap_info heap_info;
    jzx_process_event process_event;
    jzx_processor *processor;
    jzx_output *output;
    jzx_inbox *inbox;
    const jzx_action *action;
    jzx_type_call type_call;
    jzx_mutex mutex;
    jzx_semaphore semaphore;
    jzx_rwlock rwlock;
    jzx_channel channel;
    jzx_gate gate;
    jzx_case gate_case;
    jzx_wait_group wait_group;
    jzx_barrier barrier;
    jzx_once once;
    jzx_broadcast broadcast;
    jzx_reader reader;
} o;

static jzx_behavior_result be_nothing(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx, (void)msg;
    return JZX_BEHAVIOR_OK;
}

static jzx_err work(void *arg) {
    (void)arg;
    JZX_EXPECT(false && "it was refused");
    return JZX_OK;
}

static jzx_err run(jzx_context *ctx, void *arg) {
    (void)ctx;
    return work(arg);
}

static bool match(void *arg, const jzx_message *msg) {
    (void)msg;
    (void)work(arg);
    return false;
}

/* ---- the calls ---- */

/* PLAIN; those that suspend a fiber (WAITS) may not wait with a context of another actor, which is
 * JZX_ERR_WOULD_SUSPEND; those that a thread makes with NULL (THREAD). */
enum kind { PLAIN, WAITS, THREAD };

#define CALLS(X)                                                                                   \
    X(PLAIN, jzx_become, (ctx, be_nothing))                                                        \
    X(PLAIN, jzx_stash, (ctx, &o.message))                                                         \
    X(PLAIN, jzx_ask, (ctx, o.other, o.bytes, 1, 1, JZX_MS(1), &o.number))                         \
    X(PLAIN, jzx_ask_cancel, (ctx, 1))                                                             \
    X(PLAIN, jzx_reply, (ctx, &o.message, o.bytes, 1, 1))                                          \
    X(PLAIN, jzx_blocking_to, (ctx, work, o.bytes, 1, NULL))                                       \
    X(PLAIN, jzx_blocking_copy_to, (ctx, NULL, work, o.bytes, 1, 1, NULL))                         \
    X(WAITS, jzx_blocking, (ctx, work, o.bytes, 0))                                                \
    X(WAITS, jzx_blocking_copy, (ctx, NULL, work, o.bytes, 1, 0))                                  \
    X(PLAIN, jzx_future_to, (ctx, o.future, 1, NULL))                                              \
    X(PLAIN, jzx_monitor, (ctx, o.other, NULL))                                                    \
    X(PLAIN, jzx_demonitor, (ctx, 1))                                                              \
    X(PLAIN, jzx_link, (ctx, o.other))                                                             \
    X(PLAIN, jzx_unlink, (ctx, o.other))                                                           \
    X(PLAIN, jzx_trap_exits, (ctx, false))                                                         \
    X(PLAIN, jzx_spawn_watched, (ctx, &o.spawn, false, &o.id, NULL))                               \
    X(WAITS, jzx_receive, (ctx, 0, &o.message))                                                    \
    X(WAITS, jzx_receive_tag, (ctx, 1, 0, &o.message))                                             \
    X(WAITS, jzx_receive_from, (ctx, o.other, 0, &o.message))                                      \
    X(WAITS, jzx_receive_match, (ctx, match, o.bytes, 0, &o.message))                              \
    X(WAITS, jzx_sleep, (ctx, 1))                                                                  \
    X(WAITS, jzx_yield, (ctx))                                                                     \
    X(WAITS, jzx_call, (ctx, o.other, o.bytes, 1, 1, 0, &o.message))                               \
    X(WAITS, jzx_join, (ctx, o.other, 0, &o.exit_notice))                                          \
    X(WAITS, jzx_send_until, (ctx, o.other, o.bytes, 1, 1, 0))                                     \
    X(WAITS, jzx_file_open, (ctx, "x", JZX_FILE_READ, 1, 0, &o.file))                              \
    X(PLAIN, jzx_file_open_to, (ctx, "x", JZX_FILE_READ, 1, 1, NULL))                              \
    X(WAITS, jzx_file_temporary, (ctx, "x", 0, &o.file))                                           \
    X(PLAIN, jzx_file_temporary_to, (ctx, "x", 1, NULL))                                           \
    X(PLAIN, jzx_file_give, (ctx, o.file, o.other))                                                \
    X(WAITS, jzx_file_read, (ctx, o.file, o.bytes, 1, 0, 0, &o.size))                              \
    X(PLAIN, jzx_file_read_to, (ctx, o.file, 1, 0, 1, NULL))                                       \
    X(WAITS, jzx_file_readv, (ctx, o.file, &o.iovec, 1, 0, 0, &o.size))                            \
    X(WAITS, jzx_file_write, (ctx, o.file, o.bytes, 1, 0, 0, &o.size))                             \
    X(PLAIN, jzx_file_write_to, (ctx, o.file, o.bytes, 1, 0, 1, NULL))                             \
    X(WAITS, jzx_file_writev, (ctx, o.file, &o.iovec, 1, 0, 0, &o.size))                           \
    X(PLAIN, jzx_file_writev_to, (ctx, o.file, &o.iovec, 1, 0, 1, NULL))                           \
    X(WAITS, jzx_file_sync, (ctx, o.file, false, 0))                                               \
    X(PLAIN, jzx_file_sync_to, (ctx, o.file, false, 1, NULL))                                      \
    X(WAITS, jzx_file_allocate, (ctx, o.file, 0, 1, 0))                                            \
    X(PLAIN, jzx_file_allocate_to, (ctx, o.file, 0, 1, 1, NULL))                                   \
    X(WAITS, jzx_file_truncate, (ctx, o.file, 1, 0))                                               \
    X(PLAIN, jzx_file_truncate_to, (ctx, o.file, 1, 1, NULL))                                      \
    X(WAITS, jzx_file_stat, (ctx, o.file, 0, &o.file_info))                                        \
    X(PLAIN, jzx_file_stat_to, (ctx, o.file, 1, NULL))                                             \
    X(WAITS, jzx_await, (ctx, o.future, 0, o.bytes))                                               \
    X(PLAIN, jzx_group_join, (ctx, "x"))                                                           \
    X(PLAIN, jzx_group_leave, (ctx, "x"))                                                          \
    X(PLAIN, jzx_group_monitor, (ctx, "x", o.ids, 1, &o.size))                                     \
    X(PLAIN, jzx_group_demonitor, (ctx, "x"))                                                      \
    X(PLAIN, jzx_heap_set_quota, (ctx, 1))                                                         \
    X(PLAIN, jzx_heap_info_get, (ctx, &o.heap_info))                                               \
    X(PLAIN, jzx_signal_to, (ctx, SIGUSR2, 1))                                                     \
    X(PLAIN, jzx_signal_end, (ctx, SIGUSR2))                                                       \
    X(WAITS, jzx_path_stat, (ctx, "x", 0, &o.file_info))                                           \
    X(PLAIN, jzx_path_stat_to, (ctx, "x", 1, NULL))                                                \
    X(WAITS, jzx_path_rename, (ctx, "x", "x", 0))                                                  \
    X(PLAIN, jzx_path_rename_to, (ctx, "x", "x", 1, NULL))                                         \
    X(WAITS, jzx_path_remove, (ctx, "x", 0))                                                       \
    X(PLAIN, jzx_path_remove_to, (ctx, "x", 1, NULL))                                              \
    X(WAITS, jzx_path_mkdir, (ctx, "x", 1, 0))                                                     \
    X(PLAIN, jzx_path_mkdir_to, (ctx, "x", 1, 1, NULL))                                            \
    X(WAITS, jzx_path_list, (ctx, "x", o.bytes, 1, 0, &o.size))                                    \
    X(PLAIN, jzx_path_list_to, (ctx, "x", 1, 1, NULL))                                             \
    X(WAITS, jzx_path_copy, (ctx, "x", "x", 0))                                                    \
    X(PLAIN, jzx_path_copy_to, (ctx, "x", "x", 1, NULL))                                           \
    X(WAITS, jzx_path_replace, (ctx, "x", o.bytes, 1, 1, 0))                                       \
    X(PLAIN, jzx_path_replace_to, (ctx, "x", o.bytes, 1, 1, 1, NULL))                              \
    X(PLAIN, jzx_event_open, (ctx, &o.process_event))                                              \
    X(WAITS, jzx_process_exec, (ctx, &o.spawn, 0, o.bytes, &o.size))                               \
    X(PLAIN, jzx_process_exec_to, (ctx, &o.spawn, 1, 1, NULL))                                     \
    X(WAITS, jzx_inbox_next, (ctx, o.inbox, 0, &o.action))                                         \
    X(WAITS, jzx_processor_next, (ctx, o.processor, 0, &o.output))                                 \
    X(PLAIN, jzx_processor_next_to, (ctx, o.processor, 1, NULL))                                   \
    X(WAITS, jzx_resolve, (ctx, "x", 0, 0, &o.addresses))                                          \
    X(PLAIN, jzx_resolve_to, (ctx, "x", 0, 1, NULL))                                               \
    X(PLAIN, jzx_scope_open, (ctx, 0, &o.scope))                                                   \
    X(WAITS, jzx_scope_close, (ctx, o.scope, &o.scope_result))                                     \
    X(PLAIN, jzx_scope_close_to, (ctx, o.scope, 1, NULL))                                          \
    X(WAITS, jzx_stream_read, (ctx, o.stream, o.bytes, 1, 0, &o.size))                             \
    X(WAITS, jzx_stream_read_exact, (ctx, o.stream, o.bytes, 1, 0))                                \
    X(WAITS, jzx_stream_read_until, (ctx, o.stream, 1, o.bytes, 1, 0, &o.size))                    \
    X(PLAIN, jzx_stream_read_to, (ctx, o.stream, 1, 1, NULL))                                      \
    X(PLAIN, jzx_stream_read_exact_to, (ctx, o.stream, 1, 1, NULL))                                \
    X(PLAIN, jzx_stream_read_until_to, (ctx, o.stream, 1, 1, 1, NULL))                             \
    X(PLAIN, jzx_stream_active, (ctx, o.stream, 1, 1))                                             \
    X(WAITS, jzx_stream_write, (ctx, o.stream, o.bytes, 1, 0))                                     \
    X(WAITS, jzx_stream_writev, (ctx, o.stream, &o.iovec, 1, 0))                                   \
    X(WAITS, jzx_stream_sendfile, (ctx, o.stream, 1, 0, 1, 0, &o.size))                            \
    X(WAITS, jzx_stream_shutdown, (ctx, o.stream, 0))                                              \
    X(PLAIN, jzx_stream_send, (ctx, o.stream, o.bytes, 1))                                         \
    X(PLAIN, jzx_stream_send_msg, (ctx, o.stream, o.bytes))                                        \
    X(PLAIN, jzx_stream_write_to, (ctx, o.stream, o.bytes, 1, 1, NULL))                            \
    X(PLAIN, jzx_stream_write_msg_to, (ctx, o.stream, o.bytes, 1, NULL))                           \
    X(PLAIN, jzx_stream_writev_to, (ctx, o.stream, &o.iovec, 1, 1, NULL))                          \
    X(PLAIN, jzx_stream_sendfile_to, (ctx, o.stream, 1, 0, 1, 1, NULL))                            \
    X(PLAIN, jzx_stream_shutdown_to, (ctx, o.stream, 1, NULL))                                     \
    X(PLAIN, jzx_stream_give, (ctx, o.stream, o.other))                                            \
    X(WAITS, jzx_listener_accept, (ctx, o.listener, 0, &o.stream))                                 \
    X(PLAIN, jzx_listener_accept_to, (ctx, o.listener, 1, NULL))                                   \
    X(PLAIN, jzx_listener_give, (ctx, o.listener, o.other))                                        \
    X(WAITS, jzx_subprocess_spawn, (ctx, &o.command, 0, &o.subprocess))                            \
    X(PLAIN, jzx_subprocess_spawn_to, (ctx, &o.command, 1, NULL))                                  \
    X(WAITS, jzx_subprocess_wait, (ctx, o.subprocess, 0, &o.subprocess_status))                    \
    X(PLAIN, jzx_subprocess_wait_to, (ctx, o.subprocess, 1, NULL))                                 \
    X(WAITS, jzx_subprocess_stop, (ctx, o.subprocess, SIGTERM, JZX_MS(1), &o.subprocess_status))   \
    X(PLAIN, jzx_subprocess_stop_to, (ctx, o.subprocess, SIGTERM, JZX_MS(1), 1, NULL))             \
    X(PLAIN, jzx_subprocess_give, (ctx, o.subprocess, o.other))                                    \
    X(WAITS, jzx_mutex_lock, (ctx, &o.mutex, 0))                                                   \
    X(PLAIN, jzx_mutex_lock_to, (ctx, &o.mutex, 1, NULL))                                          \
    X(THREAD, jzx_mutex_try_lock, (ctx, &o.mutex))                                                 \
    X(THREAD, jzx_mutex_unlock, (ctx, &o.mutex))                                                   \
    X(WAITS, jzx_semaphore_acquire, (ctx, &o.semaphore, 1, 0))                                     \
    X(PLAIN, jzx_semaphore_acquire_to, (ctx, &o.semaphore, 1, 1, NULL))                            \
    X(THREAD, jzx_semaphore_try_acquire, (ctx, &o.semaphore, 1))                                   \
    X(THREAD, jzx_semaphore_release, (ctx, &o.semaphore, 1))                                       \
    X(THREAD, jzx_semaphore_forget, (ctx, &o.semaphore, 1))                                        \
    X(WAITS, jzx_rwlock_lock_read, (ctx, &o.rwlock, 0))                                            \
    X(PLAIN, jzx_rwlock_lock_read_to, (ctx, &o.rwlock, 1, NULL))                                   \
    X(THREAD, jzx_rwlock_try_lock_read, (ctx, &o.rwlock))                                          \
    X(THREAD, jzx_rwlock_unlock_read, (ctx, &o.rwlock))                                            \
    X(WAITS, jzx_rwlock_lock_write, (ctx, &o.rwlock, 0))                                           \
    X(PLAIN, jzx_rwlock_lock_write_to, (ctx, &o.rwlock, 1, NULL))                                  \
    X(THREAD, jzx_rwlock_try_lock_write, (ctx, &o.rwlock))                                         \
    X(THREAD, jzx_rwlock_unlock_write, (ctx, &o.rwlock))                                           \
    X(WAITS, jzx_channel_send, (ctx, &o.channel, o.bytes, 0))                                      \
    X(PLAIN, jzx_channel_send_to, (ctx, &o.channel, o.bytes, 1, NULL))                             \
    X(WAITS, jzx_channel_receive, (ctx, &o.channel, 0, o.bytes))                                   \
    X(PLAIN, jzx_channel_receive_to, (ctx, &o.channel, 1, NULL))                                   \
    X(WAITS, jzx_gate_pass, (ctx, &o.gate, 0))                                                     \
    X(PLAIN, jzx_gate_pass_to, (ctx, &o.gate, 1, NULL))                                            \
    X(WAITS, jzx_wait_group_join, (ctx, &o.wait_group, 0))                                         \
    X(PLAIN, jzx_wait_group_join_to, (ctx, &o.wait_group, 1, NULL))                                \
    X(WAITS, jzx_barrier_arrive, (ctx, &o.barrier, 0, &o.flag))                                    \
    X(PLAIN, jzx_barrier_arrive_to, (ctx, &o.barrier, 1, NULL))                                    \
    X(WAITS, jzx_once_run, (ctx, &o.once, 0, run, o.bytes))                                        \
    X(WAITS, jzx_broadcast_read, (ctx, &o.reader, 0, o.bytes))                                     \
    X(PLAIN, jzx_broadcast_read_to, (ctx, &o.reader, 1, NULL))                                     \
    X(WAITS, jzx_broadcast_changed, (ctx, &o.broadcast, &o.number, 0, o.bytes))                    \
    X(PLAIN, jzx_broadcast_changed_to, (ctx, &o.broadcast, &o.number, 1, NULL))                    \
    X(WAITS, jzx_select, (ctx, &o.gate_case, 1, sizeof(jzx_case), 0, &o.size))                     \
    X(PLAIN, jzx_select_to, (ctx, &o.gate_case, 1, sizeof(jzx_case), 1, NULL))                     \
    X(PLAIN, jzx_tcp_listen, (ctx, "127.0.0.1:0", NULL, &o.listener))                              \
    X(WAITS, jzx_tcp_accept, (ctx, o.listener, 0, &o.stream))                                      \
    X(PLAIN, jzx_tcp_accept_to, (ctx, o.listener, 1, NULL))                                        \
    X(WAITS, jzx_tcp_connect, (ctx, "127.0.0.1:0", NULL, 0, &o.stream))                            \
    X(PLAIN, jzx_tcp_connect_to, (ctx, "127.0.0.1:0", NULL, 1, NULL))                              \
    X(PLAIN, jzx_timer_start, (ctx, 1, o.bytes, 1, 1, 0))                                          \
    X(PLAIN, jzx_timer_start_every, (ctx, 1, o.bytes, 1, 1, JZX_MS(1), JZX_FIXED_RATE))            \
    X(PLAIN, jzx_timer_stop, (ctx, 1))                                                             \
    X(PLAIN, jzx_receive_timeout, (ctx, JZX_MS(1)))                                                \
    X(PLAIN, jzx_type_message, (ctx, &o.message))                                                  \
    X(WAITS, jzx_type_call_fiber, (ctx, &o.type_call, 0))                                          \
    X(PLAIN, jzx_udp_open, (ctx, "127.0.0.1:0", NULL, &o.udp))                                     \
    X(WAITS, jzx_udp_receive, (ctx, o.udp, &o.datagram, 0))                                        \
    X(WAITS, jzx_udp_receive_batch, (ctx, o.udp, &o.datagram, 1, 0, &o.size))                      \
    X(PLAIN, jzx_udp_receive_to, (ctx, o.udp, 1, 1, NULL))                                         \
    X(PLAIN, jzx_udp_receive_batch_to, (ctx, o.udp, 1, 1, 1, NULL))                                \
    X(PLAIN, jzx_udp_active, (ctx, o.udp, 1, 1))                                                   \
    X(WAITS, jzx_udp_send, (ctx, o.udp, o.bytes, 1, &o.address, 0))                                \
    X(WAITS, jzx_udp_send_batch, (ctx, o.udp, &o.datagram, 1, 0, &o.size))                         \
    X(PLAIN, jzx_udp_try_send, (ctx, o.udp, o.bytes, 1, &o.address))                               \
    X(PLAIN, jzx_udp_try_send_batch, (ctx, o.udp, &o.datagram, 1, &o.size))                        \
    X(PLAIN, jzx_udp_send_to, (ctx, o.udp, o.bytes, 1, &o.address, 1, NULL))                       \
    X(PLAIN, jzx_udp_send_batch_to, (ctx, o.udp, &o.datagram, 1, 1, NULL))                         \
    X(PLAIN, jzx_udp_give, (ctx, o.udp, o.other))                                                  \
    X(PLAIN, jzx_unix_listen, (ctx, "@jzx-nobody", NULL, &o.listener))                             \
    X(WAITS, jzx_unix_accept, (ctx, o.listener, 0, &o.stream))                                     \
    X(PLAIN, jzx_unix_accept_to, (ctx, o.listener, 1, NULL))                                       \
    X(WAITS, jzx_unix_connect, (ctx, "@jzx-nobody", NULL, 0, &o.stream))                           \
    X(PLAIN, jzx_unix_connect_to, (ctx, "@jzx-nobody", NULL, 1, NULL))                             \
    X(PLAIN, jzx_unix_pair, (ctx, NULL, o.pair))

#define FUNCTION(kind, name, args)                                                                 \
    static jzx_err do_##name(jzx_context *ctx) {                                                   \
        return name args;                                                                          \
    }
CALLS(FUNCTION)

#define ROW(kind, name, args) {#name, do_##name, kind},
static const struct call {
    const char *name;
    jzx_err (*fn)(jzx_context *ctx);
    enum kind kind;
} calls[] = {CALLS(ROW)};

/* Those that return something else. */
static void call_others(jzx_context *ctx) {
    const jzx_message *msg = &o.message;
    JZX_EXPECT(!jzx_turn_spent(ctx));
    JZX_EXPECT_EQ(jzx_unstash(ctx), 0);
    JZX_EXPECT_EQ(jzx_ask_ref(ctx), 0);
    (void)jzx_ask_from(ctx, msg);
    jzx_async_again(ctx);
    JZX_EXPECT(jzx_alloc(ctx, 1) == NULL);
    JZX_EXPECT(jzx_alloc_zeroed(ctx, 1, 1) == NULL);
    JZX_EXPECT(jzx_realloc(ctx, NULL, 1) == NULL);
    jzx_free(ctx, NULL);
    JZX_EXPECT_EQ(jzx_last_os_error(ctx), 0);
    JZX_EXPECT(jzx_msg_take(ctx, msg) == NULL);
    JZX_EXPECT_EQ(jzx_msg_sent_ns(ctx, msg), 0);
    JZX_EXPECT(jzx_schedule_batch(ctx) == NULL);
    JZX_EXPECT_EQ(jzx_schedule_metadata(ctx), 0);
    JZX_EXPECT_EQ(jzx_timer_missed(ctx), 0);
    JZX_EXPECT_EQ(jzx_timer_stop_all(ctx), 0);
    JZX_EXPECT(!jzx_timer_is_active(ctx, 1));
    jzx_receive_timeout_ignore(ctx);
    JZX_EXPECT_EQ(jzx_type_sender(ctx), JZX_NOBODY);
    (void)jzx_type_defer(ctx);
    (void)jzx_in(ctx, 1);
}

/* ---- where they are made ---- */

static jzx_context *kept;   /* of another fiber, which waits */
static jzx_context *copied; /* of the actor itself, somewhere else; NULL: there is none */
static const char *place;
static uint32_t places;

static void expect_refused(const struct call *call, jzx_context *ctx) {
    jzx_err err = call->fn(ctx);
    bool is_right = err == JZX_ERR_INVALID_ARG || (call->kind == THREAD && ctx == NULL) ||
                    (call->kind == WAITS && ctx != NULL && err == JZX_ERR_WOULD_SUSPEND);
    if (!JZX_EXPECT(is_right))
        printf("%s with %s in %s is %s\n", call->name, ctx == NULL ? "NULL" : "another context",
               place, jzx_err_name(err));
}

static void call_all(const char *where) {
    jzx_context *contexts[] = {NULL, kept, copied};
    place = where;
    places++;
    for (size_t c = 0; c < sizeof contexts / sizeof contexts[0]; c++) {
        if (c != 0 && contexts[c] == NULL)
            continue;
        for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
            expect_refused(&calls[i], contexts[c]);
        call_others(contexts[c]);
    }
}

static void wait_for_mail(jzx_context *ctx) {
    jzx_message msg;
    (void)jzx_receive(ctx, JZX_NEVER, &msg);
}

static void keep_context(jzx_context *ctx) {
    kept = ctx;
    wait_for_mail(ctx);
}

static void call_in_fiber(jzx_context *ctx) {
    jzx_context copy = *ctx;
    copied = &copy;
    call_all("a fiber");
    copied = NULL;
}

static jzx_behavior_result call_in_behavior(jzx_context *ctx, const jzx_message *msg) {
    jzx_context copy = *ctx;
    (void)msg;
    copied = &copy;
    call_all("a behaviour");
    copied = NULL;
    return JZX_BEHAVIOR_STOP;
}

static jzx_err call_in_init(jzx_context *ctx) {
    (void)ctx;
    call_all("an init");
    return JZX_OK;
}

static const char *cleanup_place;

static void call_in_cleanup(jzx_context *ctx, jzx_exit_reason reason) {
    (void)ctx, (void)reason;
    call_all(cleanup_place);
}

static void call_in_observer(void *arg, jzx_actor_id id, jzx_exit_reason reason) {
    (void)arg, (void)id, (void)reason;
    call_all("an observer");
}

static void call_in_destructor(void *data, size_t len) {
    (void)data, (void)len;
    call_all("a destructor");
}

struct nothing {
    int unused;
};

JZX_ASYNC(call_in_async, struct nothing, int) {
    (void)ctx;
    call_all("an async function");
    JZX_RETURN(0);
}
JZX_END

/* ---- the objects ---- */

static void init_objects(jzx_loop *loop) {
    jzx_promise *promise = NULL;
    memset(&o, 0, sizeof o);
    o.heap_info.size = sizeof o.heap_info;
    o.scope_result.size = sizeof o.scope_result;
    o.spawn = JZX_SPAWN_OPTS(.behavior = be_nothing);
    o.iovec = (struct iovec){o.bytes, sizeof o.bytes};
    JZX_EXPECT_EQ(jzx_promise_create(loop, sizeof o.bytes, &promise, &o.future), JZX_OK);
    JZX_EXPECT_EQ(jzx_promise_resolve(promise, o.bytes), JZX_OK);
    JZX_EXPECT_EQ(jzx_mutex_init(loop, &o.mutex), JZX_OK);
    JZX_EXPECT_EQ(jzx_semaphore_init(loop, &o.semaphore, 0, 1u << 20), JZX_OK);
    JZX_EXPECT_EQ(jzx_rwlock_init(loop, &o.rwlock), JZX_OK);
    JZX_EXPECT_EQ(jzx_channel_init(loop, &o.channel, 1, sizeof o.bytes), JZX_OK);
    JZX_EXPECT_EQ(jzx_gate_init(loop, &o.gate, true), JZX_OK);
    JZX_EXPECT_EQ(jzx_wait_group_init(loop, &o.wait_group), JZX_OK);
    JZX_EXPECT_EQ(jzx_barrier_init(loop, &o.barrier, 1), JZX_OK);
    JZX_EXPECT_EQ(jzx_once_init(loop, &o.once), JZX_OK);
    JZX_EXPECT_EQ(jzx_broadcast_init(loop, &o.broadcast, 1, sizeof o.bytes), JZX_OK);
    JZX_EXPECT_EQ(jzx_broadcast_subscribe(&o.broadcast, &o.reader), JZX_OK);
    o.gate_case = jzx_gate_case(&o.gate);
}

static void release_locks(void) {
    while (jzx_mutex_unlock(NULL, &o.mutex) == JZX_OK || //
           jzx_rwlock_unlock_read(NULL, &o.rwlock) == JZX_OK ||
           jzx_rwlock_unlock_write(NULL, &o.rwlock) == JZX_OK)
        continue;
}

static void deinit_objects(void) {
    release_locks();
    jzx_future_release(o.future);
    JZX_EXPECT_EQ(jzx_mutex_deinit(&o.mutex), JZX_OK);
    JZX_EXPECT_EQ(jzx_semaphore_deinit(&o.semaphore), JZX_OK);
    JZX_EXPECT_EQ(jzx_rwlock_deinit(&o.rwlock), JZX_OK);
    JZX_EXPECT_EQ(jzx_channel_deinit(&o.channel), JZX_OK);
    JZX_EXPECT_EQ(jzx_gate_deinit(&o.gate), JZX_OK);
    JZX_EXPECT_EQ(jzx_wait_group_deinit(&o.wait_group), JZX_OK);
    JZX_EXPECT_EQ(jzx_barrier_deinit(&o.barrier), JZX_OK);
    JZX_EXPECT_EQ(jzx_once_deinit(&o.once), JZX_OK);
    JZX_EXPECT_EQ(jzx_broadcast_deinit(&o.broadcast), JZX_OK);
}

static void forget_context(jzx_context *ctx, jzx_exit_reason reason) {
    (void)ctx, (void)reason;
    kept = NULL;
}

/* A loop with a fiber that waits, whose context is kept as long as it lives. */
static struct timing open_loop(bool has_turns) {
    struct timing timing = timing_open();
    init_objects(timing.loop);
    o.other =
        fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.fiber = keep_context, .cleanup = forget_context,
                                                   .daemon = true));
    if (has_turns)
        timing_step(&timing);
    places = 0;
    return timing;
}

static void close_loop(struct timing *timing) {
    timing_close(timing);
    deinit_objects();
}

JZX_TEST(a_context_that_is_none_is_refused_in_every_turn) {
    struct timing timing = open_loop(true);
    jzx_future *future = NULL;
    call_all("a thread");
    cleanup_place = "a cleanup";
    fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.fiber = call_in_fiber, .cleanup = call_in_cleanup));
    jzx_actor_id id = fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.behavior = call_in_behavior,
                                                                 .init = call_in_init,
                                                                 .cleanup = call_in_cleanup));
    fixture_send(timing.loop, id, 1);
    assert_int_equal(call_in_async_spawn(timing.loop, (struct nothing){0}, &future), JZX_OK);
    timing_step(&timing);
    assert_int_equal(jzx_future_try(future, NULL), JZX_OK);
    jzx_future_release(future);
    assert_int_equal(places, 7);
    close_loop(&timing);
}

/* The actors end with the loop, in no turn of their own. The thread has had turns in the loop
 * before, or none. */
static void end_loop(bool stops, bool had_turns) {
    struct timing timing = open_loop(had_turns);
    cleanup_place = stops ? "a cleanup of a stop" : "a cleanup of a destroy";
    const jzx_observer observer = JZX_OBSERVER(.on_actor_stop = call_in_observer);
    jzx_actor_id id = fixture_spawn(
        timing.loop, &JZX_SPAWN_OPTS(.behavior = be_nothing, .cleanup = call_in_cleanup));
    fixture_spawn(timing.loop, &JZX_SPAWN_OPTS(.fiber = wait_for_mail, .cleanup = call_in_cleanup));
    if (had_turns)
        timing_step(&timing);
    void *data = jzx_msg_alloc(timing.loop, 8, call_in_destructor);
    assert_int_equal(jzx_send_msg(timing.loop, id, JZX_NOBODY, data, 1), JZX_OK);
    JZX_EXPECT_EQ(jzx_loop_set_observer(timing.loop, &observer, NULL), JZX_OK);
    if (stops) {
        JZX_EXPECT_EQ(jzx_loop_request_stop(timing.loop), JZX_OK);
        JZX_EXPECT_EQ(jzx_loop_run(timing.loop), JZX_OK);
    }
    timing_close(&timing);
    assert_int_equal(places, 2 + 3 + 1);
    deinit_objects();
}

JZX_TEST(a_context_that_is_none_is_refused_while_a_loop_stops) {
    end_loop(true, true);
    end_loop(true, false);
}

JZX_TEST(a_context_that_is_none_is_refused_while_a_loop_is_destroyed) {
    end_loop(false, true);
    end_loop(false, false);
}

/* What looks like a message buffer and is none. */
static void free_what_is_none(jzx_context *ctx, jzx_exit_reason reason) {
    static _Alignas(64) char blocks[256];
    (void)reason;
    jzx_test_ran();
    jzx_msg_free(ctx->loop, blocks + 64 + 32);
    JZX_EXPECT_EQ(jzx_send_msg(ctx->loop, ctx->self, JZX_NOBODY, blocks + 64 + 32, 1),
                  JZX_ERR_INVALID_ARG);
}

JZX_TEST(a_buffer_that_is_none_is_refused_in_a_cleanup_of_a_loop_that_ends) {
    struct timing timing = timing_open();
    fixture_spawn(timing.loop,
                  &JZX_SPAWN_OPTS(.behavior = be_nothing, .cleanup = free_what_is_none));
    timing_close(&timing);
    assert_int_equal(jzx_test_runs(), 1);
}
