/* SPDX-License-Identifier: MIT */
/* PostgreSQL from a fiber: the asynchronous calls of libpq say what they wait for at which
 * descriptor, and jzx_fd_await waits for it. Other actors of the worker run in the
 * time between.
 *
 *     ./libpq "host=db.local user=me dbname=shop"        asks that server
 *     ./libpq                                            asks one that this program serves itself:
 *                                                        it knows one answer
 *
 * To build: cc libpq.c $(pkg-config --cflags --libs libpq) -ljzx -lpthread
 *
 * It prints:
 *     connected
 *     6 * 7 = 42
 *     6 * 7 = 42
 *     good bye
 */
#include <jzx/jzx.h>

#include <libpq-fe.h>
#include <stdio.h>
#include <string.h>

#define QUERY "select 6 * 7"

struct app {
    const char *where; /* a connection string; NULL: the server below */
    char own[128];
    jzx_listener listener;
    bool failed;
};

/* ---- libpq ---- */

static jzx_err await_socket(jzx_context *ctx, const PGconn *conn, uint32_t interest) {
    return jzx_fd_await(ctx, PQsocket(conn), interest, jzx_in(ctx, JZX_SECOND(60)), NULL);
}

/* NULL without memory; else PQstatus says how it ended. */
static PGconn *connect_to(jzx_context *ctx, const char *where) {
    PGconn *conn = PQconnectStart(where);
    PostgresPollingStatusType wants = PGRES_POLLING_WRITING;
    if (conn == NULL || PQstatus(conn) == CONNECTION_BAD)
        return conn;
    while (wants != PGRES_POLLING_OK && wants != PGRES_POLLING_FAILED) {
        bool reads = wants == PGRES_POLLING_READING;
        if (await_socket(ctx, conn, reads ? JZX_IO_READ : JZX_IO_WRITE) != JZX_OK)
            break;
        wants = PQconnectPoll(conn); /* it may have another socket by now */
    }
    return conn;
}

/* A server that does not read may have to be read from first. */
static bool send_query(jzx_context *ctx, PGconn *conn, const char *query) {
    int left = PQsetnonblocking(conn, 1) == 0 && PQsendQuery(conn, query) ? PQflush(conn) : -1;
    while (left == 1) {
        uint32_t ready = 0;
        if (jzx_fd_await(ctx, PQsocket(conn), JZX_IO_READ | JZX_IO_WRITE, JZX_NEVER, &ready) !=
                JZX_OK ||
            ((ready & JZX_IO_READ) && !PQconsumeInput(conn)))
            return false;
        left = PQflush(conn);
    }
    return left == 0;
}

/* NULL: there are no more results. */
static PGresult *next_result(jzx_context *ctx, PGconn *conn) {
    while (PQisBusy(conn)) {
        if (await_socket(ctx, conn, JZX_IO_READ) != JZX_OK || !PQconsumeInput(conn))
            return NULL;
    }
    return PQgetResult(conn);
}

static bool ask(jzx_context *ctx, PGconn *conn) {
    PGresult *result;
    bool is_right = false;
    if (!send_query(ctx, conn, QUERY))
        return false;
    while ((result = next_result(ctx, conn)) != NULL) {
        is_right = PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) == 1;
        if (is_right)
            printf("6 * 7 = %s\n", PQgetvalue(result, 0, 0));
        PQclear(result);
    }
    return is_right;
}

static void client(jzx_context *ctx) {
    struct app *app = ctx->state;
    PGconn *conn = connect_to(ctx, app->where != NULL ? app->where : app->own);
    app->failed = conn == NULL || PQstatus(conn) != CONNECTION_OK;
    if (!app->failed) {
        printf("connected\n");
        app->failed = !ask(ctx, conn) || !ask(ctx, conn);
    }
    if (app->failed)
        fprintf(stderr, "%s\n", conn == NULL ? "no memory" : PQerrorMessage(conn));
    else
        printf("good bye\n");
    PQfinish(conn);
    jzx_loop_request_stop(ctx->loop);
}

/* ---- a server that has one answer: enough of the protocol for a connection and a query ---- */

static const char welcome[] = "R\0\0\0\10\0\0\0\0"                 /* no password is needed */
                              "S\0\0\0\30server_version\00015.0\0" /* and so on */
                              "Z\0\0\0\5I";                        /* ready */

static const char answer[] = "T\0\0\0\37\0\1answer\0"                    /* a row has one column, */
                             "\0\0\0\0\0\0\0\0\0\27\0\4\377\377\377\377" /* an int4, */
                             "\0\0"                                      /* as text */
                             "D\0\0\0\14\0\1\0\0\0\00242"                /* the row */
                             "C\0\0\0\15SELECT 1\0"                      /* that was all */
                             "Z\0\0\0\5I";

/* A length of four bytes that counts itself, and what it counts; true if that was read. */
static bool read_packet(jzx_context *ctx, jzx_stream stream) {
    unsigned char head[4];
    char body[1024];
    if (jzx_stream_read_exact(ctx, stream, head, sizeof head, JZX_NEVER) != JZX_OK)
        return false;
    size_t len = ((size_t)head[2] << 8 | head[3]);
    if (head[0] != 0 || head[1] != 0 || len < 4 || len - 4 > sizeof body)
        return false;
    return len == 4 || jzx_stream_read_exact(ctx, stream, body, len - 4, JZX_NEVER) == JZX_OK;
}

static void serve(jzx_context *ctx, jzx_stream stream) {
    char kind = 0;
    bool goes_on = read_packet(ctx, stream) &&
                   jzx_stream_write(ctx, stream, welcome, sizeof welcome - 1, JZX_NEVER) == JZX_OK;
    while (goes_on) {
        goes_on = jzx_stream_read_exact(ctx, stream, &kind, 1, JZX_NEVER) == JZX_OK &&
                  read_packet(ctx, stream) && kind == 'Q' &&
                  jzx_stream_write(ctx, stream, answer, sizeof answer - 1, JZX_NEVER) == JZX_OK;
    }
}

static void server(jzx_context *ctx) {
    struct app *app = ctx->state;
    char address[64];
    jzx_stream stream;
    if (jzx_tcp_listen(ctx, "127.0.0.1:0", NULL, &app->listener) != JZX_OK ||
        jzx_listener_address(ctx->loop, app->listener, address, sizeof address) != JZX_OK)
        jzx_exit(ctx, JZX_EXIT_FAIL, "cannot listen");
    snprintf(app->own, sizeof app->own,
             "host=127.0.0.1 port=%s user=me dbname=shop sslmode=disable gssencmode=disable",
             strrchr(address, ':') + 1);
    if (jzx_spawn(ctx->loop, &JZX_SPAWN_OPTS(.fiber = client, .state = app), NULL) != JZX_OK)
        jzx_exit(ctx, JZX_EXIT_FAIL, "no client");
    while (jzx_tcp_accept(ctx, app->listener, JZX_NEVER, &stream) == JZX_OK) {
        serve(ctx, stream);
        jzx_stream_close(ctx->loop, stream);
    }
}

int main(int argc, char **argv) {
    struct app app = {.where = argc > 1 ? argv[1] : NULL, .failed = true};
    jzx_loop *loop = jzx_loop_create(NULL);
    if (loop == NULL)
        return 1;
    jzx_fiber_fn first = app.where != NULL ? client : server;
    jzx_err err = jzx_spawn(loop, &JZX_SPAWN_OPTS(.fiber = first, .state = &app), NULL);
    if (err == JZX_OK)
        err = jzx_loop_run(loop);
    jzx_loop_destroy(loop);
    return err != JZX_OK || app.failed;
}
