/* SPDX-License-Identifier: MIT */
/* Commands of processes for sockets and files: jzx/stream.h and jzx/file.h for code that is stepped
 * (jzx/process.h).
 *
 *     self->read = (jzx_command_socket_read){.stream = stream, .len = 4096};
 *     jzx_out_yield(out, READ, JZX_COMMAND_SOCKET_READ, &self->read, sizeof self->read);
 *     ...
 *     if (event->tag == READ && event->error == JZX_OK) {                      a later step
 *         jzx_command_socket_write echo = {self->stream, event->data, event->len};
 *         jzx_out_yield(out, WRITE, JZX_COMMAND_SOCKET_WRITE, &echo, sizeof echo);
 *     }
 *
 * Each command is one operation of stream.h, file.h or path.h in its _to form, and follows what is
 * said there: order, limits, errors. Its completion is an event with the tag of the command, the
 * error, and the data that the table in docs/processes.md names. An argument of the wrong size, a
 * NULL and the like complete with JZX_ERR_INVALID_ARG, a handle that is closed or never was with
 * JZX_ERR_CLOSED. Calls that never wait (jzx_stream_give, jzx_stream_active, jzx_listener_address
 * and so on) have no command: a step makes them itself. A handler of the program may hand its
 * command on to one of these (jzx_command_get); from then on its own cancel is not called.
 *
 * **Pointers.** The argument is copied when it is yielded, but not what it points to: that is used
 * after the step has returned and before any other code of the process runs (in an upgrade, after
 * the close of the old code and the init of the new one). It may be static, part of the state, or
 * the data of an event of this step, but not of the step's frame.
 *
 * **Owners.** Sockets and files belong to the process that has opened them and are closed when it
 * ends, whatever the end is. What is pending then ends with it.
 *
 * **Upgrades** keep sockets and files. As with all commands, no completion reaches the new code.
 * Reads, accepts, connects and opens that are pending are cancelled. Of one that was complete
 * already nothing leaks and nothing is skipped: the connection or file that nobody has heard of is
 * closed, and the bytes go back to the stream, where the next read finds them (without memory for
 * that the stream is closed). The position of a file (JZX_FILE_HERE) is not set back. All other
 * commands, writes above all, go on to their end. */
#ifndef JZX_PROCESS_IO_H
#define JZX_PROCESS_IO_H

#include "jzx/file.h"
#include "jzx/path.h"
#include "jzx/process.h"
#include "jzx/stream.h"
#include "jzx/tcp.h"
#include "jzx/unix.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    JZX_COMMAND_SOCKET_LISTEN = 30,     /* jzx_command_socket_listen -> jzx_listener */
    JZX_COMMAND_SOCKET_ACCEPT = 31,     /* jzx_listener -> jzx_stream */
    JZX_COMMAND_SOCKET_CONNECT = 32,    /* jzx_command_socket_connect -> jzx_stream */
    JZX_COMMAND_SOCKET_READ = 33,       /* jzx_command_socket_read -> 1 to len bytes */
    JZX_COMMAND_SOCKET_READ_EXACT = 34, /* jzx_command_socket_read -> len bytes */
    JZX_COMMAND_SOCKET_READ_UNTIL = 35, /* jzx_command_socket_read -> all up to the delimiter */
    JZX_COMMAND_SOCKET_WRITE = 36,      /* jzx_command_socket_write */
    JZX_COMMAND_SOCKET_SHUTDOWN = 37,   /* jzx_stream: when all is written */
    JZX_COMMAND_SOCKET_CLOSE = 38,      /* jzx_stream or jzx_listener */

    JZX_COMMAND_FILE_OPEN = 40,     /* jzx_command_file_open -> jzx_file */
    JZX_COMMAND_FILE_READ = 41,     /* jzx_command_file_read -> 1 to len bytes */
    JZX_COMMAND_FILE_WRITE = 42,    /* jzx_command_file_write -> uint64_t: bytes written, also with
                                     * an error, unless it could not begin */
    JZX_COMMAND_FILE_SYNC = 43,     /* jzx_command_file_sync */
    JZX_COMMAND_FILE_CLOSE = 44,    /* jzx_file */
    JZX_COMMAND_FILE_STAT = 45,     /* jzx_file -> jzx_file_info */
    JZX_COMMAND_FILE_TRUNCATE = 46, /* jzx_command_file_truncate */
    JZX_COMMAND_FILE_RENAME = 47,   /* jzx_command_file_rename */
    JZX_COMMAND_FILE_REMOVE = 48    /* const char *: a path */
};

/* ---- sockets ---- */

/* An address that begins with '/' or '@' is that of a Unix socket (jzx/unix.h), any other one of
 * TCP (jzx/tcp.h). opts may be NULL. */
typedef struct jzx_command_socket_listen {
    const char *address;
    const jzx_listen_opts *opts;
} jzx_command_socket_listen;

typedef struct jzx_command_socket_connect {
    const char *address;
    const jzx_connect_opts *opts;
} jzx_command_socket_connect;

typedef struct jzx_command_socket_read {
    jzx_stream stream;
    size_t len;         /* not 0; at most, or exactly, as the command says */
    uint64_t delimiter; /* READ_UNTIL: one byte, 0 to 255. Else it must be 0 */
} jzx_command_socket_read;

typedef struct jzx_command_socket_write {
    jzx_stream stream;
    const void *data; /* copied when the command begins */
    size_t len;
} jzx_command_socket_write;

/* ---- files ---- */

typedef struct jzx_command_file_open {
    const char *path;
    uint32_t how;  /* JZX_FILE_* */
    uint32_t mode; /* for JZX_FILE_CREATE, as 0644 */
} jzx_command_file_open;

typedef struct jzx_command_file_read {
    jzx_file file;
    size_t len;      /* not 0 */
    uint64_t offset; /* or JZX_FILE_HERE */
} jzx_command_file_read;

typedef struct jzx_command_file_write {
    jzx_file file;
    const void *data; /* copied when the command begins */
    size_t len;
    uint64_t offset; /* or JZX_FILE_HERE */
} jzx_command_file_write;

typedef struct jzx_command_file_sync {
    jzx_file file;
    uint64_t data_only; /* 0 or 1: without what is not needed to read the data, as times */
} jzx_command_file_sync;

typedef struct jzx_command_file_truncate {
    jzx_file file;
    uint64_t len;
} jzx_command_file_truncate;

typedef struct jzx_command_file_rename {
    const char *from;
    const char *to;
} jzx_command_file_rename;

#endif
