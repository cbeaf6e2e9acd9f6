/* SPDX-License-Identifier: MIT */
/* Files, paths, descriptors of the system, signals, host names, subprocesses. */
#include "fuzz.h"

#include <signal.h>
#include <unistd.h>

#define FILE_HANDLE fuzz_handle(f, A_FILE)
#define HOW (uint32_t)(fuzz_chance(f, 24) ? WORD : (JZX_FILE_READ | JZX_FILE_WRITE | how(f)))
#define MODE (fuzz_chance(f, 24) ? (uint32_t)WORD : 0644u)
#define OFFSET (fuzz_chance(f, 3) ? JZX_FILE_HERE : fuzz_chance(f, 24) ? WORD : BELOW(100))
#define SMALL_LEN (size_t)(fuzz_chance(f, 24) ? 0 : BELOW(5000))
#define CAP (size_t)(fuzz_chance(f, 16) ? WORD % (1u << 20) : BELOW(64))

static uint32_t how(struct fuzz *f) {
    static const uint32_t more[] = {JZX_FILE_CREATE,
                                    JZX_FILE_CREATE,
                                    JZX_FILE_CREATE | JZX_FILE_NEW,
                                    JZX_FILE_CREATE | JZX_FILE_TRUNCATE,
                                    JZX_FILE_CREATE | JZX_FILE_APPEND,
                                    JZX_FILE_DIRECTORY,
                                    JZX_FILE_NO_FOLLOW,
                                    0};
    return more[fuzz_below(f, 8)];
}

MAKE(A_FILE, jzx_file_open, CTX, PATH, HOW, MODE, WHEN);
BEGIN(jzx_file_open_to, CTX, PATH, HOW, MODE);
FUTURE(jzx_file_open_async, LOOP, PATH, HOW, MODE);
MAKE(A_FILE, jzx_file_temporary, CTX, PATH, WHEN);
BEGIN(jzx_file_temporary_to, CTX, PATH);
FUTURE(jzx_file_temporary_async, LOOP, PATH);
CALL(jzx_file_close, LOOP, FILE_HANDLE);
CALL(jzx_file_give, CTX, FILE_HANDLE, ID);
USE(jzx_file_fd, LOOP, FILE_HANDLE);

static void do_jzx_file_read(struct fuzz *f) {
    unsigned char data[FUZZ_ROOM];
    size_t len;
    size_t cap = ROOM % (FUZZ_ROOM + 1);
    struct iovec parts[2] = {{data, cap / 2}, {data + cap / 2, cap - cap / 2}};
    if (YES_OR_NO)
        fuzz_status(f, jzx_file_read(CTX, FILE_HANDLE, OR_NULL(data), cap, OFFSET, WHEN, &len));
    else
        fuzz_status(f, jzx_file_readv(CTX, FILE_HANDLE, OR_NULL(parts), 2, OFFSET, WHEN, &len));
}
BEGIN(jzx_file_read_to, CTX, FILE_HANDLE, CAP, OFFSET);
FUTURE(jzx_file_read_async, LOOP, FILE_HANDLE, CAP, OFFSET);

static const struct iovec parts[3] = {{(void *)(uintptr_t)fuzz_bytes, 3},
                                      {(void *)(uintptr_t)fuzz_bytes, 0},
                                      {(void *)(uintptr_t)fuzz_bytes, 400}};
#define PARTS OR_NULL(parts), (fuzz_chance(f, 24) ? 0 : 1 + BELOW(3))

/* Small ones: a file of a round is not to fill the disk. */
#define SMALL_OFFSET (fuzz_chance(f, 3) ? JZX_FILE_HERE : BELOW(100))
CALL(jzx_file_write, CTX, FILE_HANDLE, DATA, SMALL_LEN, SMALL_OFFSET, WHEN, OR_NULL(&(size_t){0}));
BEGIN(jzx_file_write_to, CTX, FILE_HANDLE, DATA, SMALL_LEN, SMALL_OFFSET);
FUTURE(jzx_file_write_async, LOOP, FILE_HANDLE, DATA, SMALL_LEN, SMALL_OFFSET);
CALL(jzx_file_writev, CTX, FILE_HANDLE, PARTS, SMALL_OFFSET, WHEN, OR_NULL(&(size_t){0}));
BEGIN(jzx_file_writev_to, CTX, FILE_HANDLE, PARTS, SMALL_OFFSET);
FUTURE(jzx_file_writev_async, LOOP, FILE_HANDLE, PARTS, SMALL_OFFSET);
CALL(jzx_file_sync, CTX, FILE_HANDLE, YES_OR_NO, WHEN);
BEGIN(jzx_file_sync_to, CTX, FILE_HANDLE, YES_OR_NO);
FUTURE(jzx_file_sync_async, LOOP, FILE_HANDLE, YES_OR_NO);
CALL(jzx_file_allocate, CTX, FILE_HANDLE, BELOW(100), BELOW(5000), WHEN);
BEGIN(jzx_file_allocate_to, CTX, FILE_HANDLE, BELOW(100), BELOW(5000));
FUTURE(jzx_file_allocate_async, LOOP, FILE_HANDLE, BELOW(100), BELOW(5000));
CALL(jzx_file_truncate, CTX, FILE_HANDLE, BELOW(5000), WHEN);
BEGIN(jzx_file_truncate_to, CTX, FILE_HANDLE, BELOW(5000));
FUTURE(jzx_file_truncate_async, LOOP, FILE_HANDLE, fuzz_chance(f, 8) ? UINT64_MAX : BELOW(5000));
CALL(jzx_file_stat, CTX, FILE_HANDLE, WHEN, OR_NULL(&(jzx_file_info){0}));
BEGIN(jzx_file_stat_to, CTX, FILE_HANDLE);
FUTURE(jzx_file_stat_async, LOOP, FILE_HANDLE);

/* ---- paths ---- */

CALL(jzx_path_stat, CTX, PATH, WHEN, OR_NULL(&(jzx_file_info){0}));
BEGIN(jzx_path_stat_to, CTX, PATH);
FUTURE(jzx_path_stat_async, LOOP, PATH);
CALL(jzx_path_rename, CTX, PATH, PATH, WHEN);
BEGIN(jzx_path_rename_to, CTX, PATH, PATH);
FUTURE(jzx_path_rename_async, LOOP, PATH, PATH);
CALL(jzx_path_mkdir, CTX, PATH, 0755, WHEN);
BEGIN(jzx_path_mkdir_to, CTX, PATH, 0755);
FUTURE(jzx_path_mkdir_async, LOOP, PATH, 0755);
BEGIN(jzx_path_list_to, CTX, PATH, CAP);
FUTURE(jzx_path_list_async, LOOP, PATH, CAP);
CALL(jzx_path_copy, CTX, PATH, PATH, WHEN);
BEGIN(jzx_path_copy_to, CTX, PATH, PATH);
FUTURE(jzx_path_copy_async, LOOP, PATH, PATH);
CALL(jzx_path_replace, CTX, PATH, DATA, LEN, 0, WHEN);
BEGIN(jzx_path_replace_to, CTX, PATH, DATA, LEN, MODE);
FUTURE(jzx_path_replace_async, LOOP, PATH, DATA, LEN, MODE);
CALL(jzx_path_remove, CTX, PATH, WHEN);
BEGIN(jzx_path_remove_to, CTX, PATH);
FUTURE(jzx_path_remove_async, LOOP, PATH);

static void do_jzx_path_list(struct fuzz *f) {
    char names[FUZZ_ROOM];
    size_t len = 0;
    unsigned count = 0;
    if (fuzz_status(f, jzx_path_list(CTX, PATH, names, ROOM % (FUZZ_ROOM + 1), WHEN, &len)) !=
        JZX_OK)
        return;
    for (const char *name = NULL; (name = jzx_path_next(names, len, name)) != NULL;)
        if (++count > FUZZ_ROOM)
            fuzz_fail("the names in a folder have no end");
}

static const struct fuzz_operation file_operations[] = {
    ROW(jzx_file_open, 10, ANYWHERE),
    ROW(jzx_file_open_to, 8, ANYWHERE),
    ROW(jzx_file_open_async, 4, ANYWHERE),
    ROW(jzx_file_temporary, 3, ANYWHERE),
    ROW(jzx_file_temporary_to, 3, ANYWHERE),
    ROW(jzx_file_temporary_async, 2, ANYWHERE),
    ROW(jzx_file_close, 3, ANYWHERE),
    ROW(jzx_file_give, 3, ANYWHERE),
    ROW(jzx_file_fd, 1, ANYWHERE),
    ROW(jzx_file_read, 5, ANYWHERE),
    ROW(jzx_file_read_to, 3, ANYWHERE),
    ROW(jzx_file_read_async, 3, ANYWHERE),
    ROW(jzx_file_write, 5, ANYWHERE),
    ROW(jzx_file_write_to, 3, ANYWHERE),
    ROW(jzx_file_write_async, 3, ANYWHERE),
    ROW(jzx_file_writev, 2, ANYWHERE),
    ROW(jzx_file_writev_to, 2, ANYWHERE),
    ROW(jzx_file_writev_async, 2, ANYWHERE),
    ROW(jzx_file_sync, 1, ANYWHERE),
    ROW(jzx_file_sync_to, 1, ANYWHERE),
    ROW(jzx_file_sync_async, 1, ANYWHERE),
    ROW(jzx_file_allocate, 1, ANYWHERE),
    ROW(jzx_file_allocate_to, 1, ANYWHERE),
    ROW(jzx_file_allocate_async, 1, ANYWHERE),
    ROW(jzx_file_truncate, 1, ANYWHERE),
    ROW(jzx_file_truncate_to, 1, ANYWHERE),
    ROW(jzx_file_truncate_async, 1, ANYWHERE),
    ROW(jzx_file_stat, 2, ANYWHERE),
    ROW(jzx_file_stat_to, 1, ANYWHERE),
    ROW(jzx_file_stat_async, 1, ANYWHERE),
    ROW(jzx_path_stat, 2, ANYWHERE),
    ROW(jzx_path_stat_to, 1, ANYWHERE),
    ROW(jzx_path_stat_async, 1, ANYWHERE),
    ROW(jzx_path_rename, 2, ANYWHERE),
    ROW(jzx_path_rename_to, 1, ANYWHERE),
    ROW(jzx_path_rename_async, 1, ANYWHERE),
    ROW(jzx_path_remove, 2, ANYWHERE),
    ROW(jzx_path_remove_to, 1, ANYWHERE),
    ROW(jzx_path_remove_async, 1, ANYWHERE),
    ROW(jzx_path_mkdir, 2, ANYWHERE),
    ROW(jzx_path_mkdir_to, 1, ANYWHERE),
    ROW(jzx_path_mkdir_async, 1, ANYWHERE),
    ROW(jzx_path_list, 2, ANYWHERE),
    ROW(jzx_path_list_to, 1, ANYWHERE),
    ROW(jzx_path_list_async, 1, ANYWHERE),
    ROW(jzx_path_copy, 2, ANYWHERE),
    ROW(jzx_path_copy_to, 1, ANYWHERE),
    ROW(jzx_path_copy_async, 1, ANYWHERE),
    ROW(jzx_path_replace, 2, ANYWHERE),
    ROW(jzx_path_replace_to, 2, ANYWHERE),
    ROW(jzx_path_replace_async, 1, ANYWHERE),
};
FUZZ_FAMILY(files, file_operations);

/* ---- descriptors, signals, host names ---- */

#define FD (fuzz_chance(f, 24) ? (int)WORD : fuzz_descriptor(f))
#define INTEREST (uint32_t)(fuzz_chance(f, 16) ? WORD : 1 + BELOW(3))
#define SIGNAL (fuzz_chance(f, 8) ? (int)WORD : YES_OR_NO ? SIGUSR1 : SIGUSR2)
#define HOST                                                                                       \
    (YES_OR_NO ? "127.0.0.1:80" : YES_OR_NO ? "localhost:80" : YES_OR_NO ? "[::1]:nothing" : "")

CALL(jzx_watch_fd, LOOP, FD, ID, INTEREST, TAG);
CALL(jzx_unwatch_fd, LOOP, FD);
CALL(jzx_fd_await, CTX, FD, INTEREST, WHEN, OR_NULL(&(uint32_t){0}));
BEGIN(jzx_fd_await_to, CTX, FD, INTEREST, WHEN);
FUTURE(jzx_fd_await_async, LOOP, FD, INTEREST, WHEN);
CALL(jzx_signal_to, CTX, SIGNAL, TAG);
CALL(jzx_signal_end, CTX, SIGNAL);
USE(jzx_last_os_error, CTX);
CALL(jzx_resolve, CTX, HOST, BELOW(4), WHEN, OR_NULL(&(jzx_addresses){0}));
BEGIN(jzx_resolve_to, CTX, HOST, BELOW(4));
FUTURE(jzx_resolve_async, LOOP, HOST, BELOW(4));

static void do_raise(struct fuzz *f) {
    kill(getpid(), YES_OR_NO ? SIGUSR1 : SIGUSR2); /* blocked in all threads */
}

static const struct fuzz_operation watch_operations[] = {
    ROW(jzx_watch_fd, 8, ANYWHERE),       ROW(jzx_unwatch_fd, 4, ANYWHERE),
    ROW(jzx_fd_await, 6, ANYWHERE),       ROW(jzx_fd_await_to, 6, ANYWHERE),
    ROW(jzx_fd_await_async, 6, ANYWHERE), ROW(jzx_signal_to, 6, ANYWHERE),
    ROW(jzx_signal_end, 3, ANYWHERE),     ROW(jzx_last_os_error, 1, ANYWHERE),
    {"raise", 4, ANYWHERE, do_raise},     ROW(jzx_resolve, 2, ANYWHERE),
    ROW(jzx_resolve_to, 2, ANYWHERE),     ROW(jzx_resolve_async, 2, ANYWHERE),
};
FUZZ_FAMILY(watches, watch_operations);

/* ---- subprocesses: few, as each costs milliseconds ---- */

#define CHILD fuzz_handle(f, A_SUBPROCESS)

static const jzx_subprocess_opts *subprocess_opts(struct fuzz *f, jzx_subprocess_opts *opts) {
    static const char *const commands[][4] = {{"/bin/true", NULL},
                                              {"/bin/sh", "-c", "cat; exit 3", NULL},
                                              {"/bin/sleep", "0.01", NULL},
                                              {"/nowhere/at/all", NULL},
                                              {"", NULL},
                                              {NULL}};
    *opts = JZX_SUBPROCESS_OPTS(.argv = commands[fuzz_below(f, 6)], .grace_ns = JZX_MS(1));
    opts->input.kind = 1 + BELOW(fuzz_chance(f, 16) ? 9 : 2);
    opts->output.kind = 1 + BELOW(2);
    opts->error.kind = YES_OR_NO ? JZX_STDIO_OUTPUT : JZX_STDIO_NULL;
    opts->cwd = fuzz_chance(f, 8) ? PATH : NULL;
    opts->new_group = YES_OR_NO;
    opts->size = fuzz_options_size(f, sizeof *opts);
    return OR_NULL(opts);
}
#define SUBPROCESS_OPTS subprocess_opts(f, &(jzx_subprocess_opts){0})
#define SIGNO (int)(fuzz_chance(f, 8) ? (int)WORD : YES_OR_NO ? SIGTERM : SIGKILL)

CALL(jzx_subprocess_opts_init, OR_NULL(&(jzx_subprocess_opts){0}),
     fuzz_options_size(f, sizeof(jzx_subprocess_opts)));
MAKE(A_SUBPROCESS, jzx_subprocess_spawn, CTX, SUBPROCESS_OPTS, WHEN);
BEGIN(jzx_subprocess_spawn_to, CTX, SUBPROCESS_OPTS);
FUTURE(jzx_subprocess_spawn_async, LOOP, SUBPROCESS_OPTS, ID);
MAKE(A_STREAM, jzx_subprocess_stream, LOOP, CHILD, BELOW(4));
CALL(jzx_subprocess_wait, CTX, CHILD, WHEN, OR_NULL(&(jzx_subprocess_status){0}));
BEGIN(jzx_subprocess_wait_to, CTX, CHILD);
FUTURE(jzx_subprocess_wait_async, LOOP, CHILD);
CALL(jzx_subprocess_signal, LOOP, CHILD, SIGNO);
CALL(jzx_subprocess_stop, CTX, CHILD, SIGNO, WHEN, OR_NULL(&(jzx_subprocess_status){0}));
BEGIN(jzx_subprocess_stop_to, CTX, CHILD, SIGNO, WHEN);
FUTURE(jzx_subprocess_stop_async, LOOP, CHILD, SIGNO, WHEN);
CALL(jzx_subprocess_close, LOOP, CHILD);
CALL(jzx_subprocess_detach, LOOP, CHILD);
CALL(jzx_subprocess_give, CTX, CHILD, ID);
CALL(jzx_subprocess_info_get, LOOP, CHILD,
     OR_NULL(&(jzx_subprocess_info){.size = fuzz_options_size(f, sizeof(jzx_subprocess_info))}));

static const struct fuzz_operation subprocess_operations[] = {
    ROW(jzx_subprocess_opts_init, 1, ANYWHERE), ROW(jzx_subprocess_spawn, 2, ANYWHERE),
    ROW(jzx_subprocess_spawn_to, 2, ANYWHERE),  ROW(jzx_subprocess_spawn_async, 1, ANYWHERE),
    ROW(jzx_subprocess_stream, 2, ANYWHERE),    ROW(jzx_subprocess_wait, 3, ANYWHERE),
    ROW(jzx_subprocess_wait_to, 2, ANYWHERE),   ROW(jzx_subprocess_wait_async, 2, ANYWHERE),
    ROW(jzx_subprocess_signal, 1, ANYWHERE),    ROW(jzx_subprocess_stop, 2, ANYWHERE),
    ROW(jzx_subprocess_stop_to, 1, ANYWHERE),   ROW(jzx_subprocess_stop_async, 1, ANYWHERE),
    ROW(jzx_subprocess_close, 1, ANYWHERE),     ROW(jzx_subprocess_detach, 1, ANYWHERE),
    ROW(jzx_subprocess_give, 1, ANYWHERE),      ROW(jzx_subprocess_info_get, 1, ANYWHERE),
};
FUZZ_FAMILY(subprocesses, subprocess_operations);
