/* SPDX-License-Identifier: MIT */
/* As much of HTTP/1.1 as it takes to be talked to by curl: http_server FILE listens at a free port
 * and says which. GET sends the file, POST sends the body back, connections stay open. */
#include <jzx/jzx.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BEGIN = 1 };

#define LINE_SIZE 4096u
#define BODY_MAX (1u << 20)

static const char *file_path;

struct request {
    char method[8];
    size_t length; /* of the body */
    bool expects;  /* the peer waits for "100 Continue" */
};

/* The request line and the headers, up to the empty line. */
static jzx_err read_head(jzx_context *ctx, jzx_stream stream, struct request *request) {
    char line[LINE_SIZE + 1];
    size_t len;
    memset(request, 0, sizeof *request);
    for (;;) {
        jzx_err err = jzx_stream_read_until(ctx, stream, '\n', line, LINE_SIZE, JZX_NEVER, &len);
        if (err != JZX_OK)
            return err;
        line[len] = '\0';
        if (request->method[0] == '\0') {
            if (sscanf(line, "%7s", request->method) != 1)
                return JZX_ERR_INVALID_ARG;
        } else if (strncasecmp(line, "content-length:", 15) == 0) {
            request->length = strtoul(line + 15, NULL, 10);
        } else if (strncasecmp(line, "expect:", 7) == 0) {
            request->expects = true;
        } else if (line[0] == '\r' || line[0] == '\n') {
            return JZX_OK;
        }
    }
}

static jzx_err write_head(jzx_context *ctx, jzx_stream stream, const char *status, size_t length) {
    char head[128];
    int len =
        snprintf(head, sizeof head, "HTTP/1.1 %s\r\nContent-Length: %zu\r\n\r\n", status, length);
    return jzx_stream_write(ctx, stream, head, (size_t)len, JZX_NEVER);
}

static jzx_err send_file(jzx_context *ctx, jzx_stream stream) {
    struct stat status;
    size_t sent = 0;
    int fd = open(file_path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0)
        abort();
    size_t size = (size_t)status.st_size;
    jzx_err err = write_head(ctx, stream, "200 OK", size);
    if (err == JZX_OK)
        err = jzx_stream_sendfile(ctx, stream, fd, 0, size, JZX_NEVER, &sent);
    close(fd);
    return err == JZX_OK && sent != size ? JZX_ERR_END : err;
}

static jzx_err send_back(jzx_context *ctx, jzx_stream stream, const struct request *request) {
    static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
    jzx_err err = JZX_OK;
    if (request->length > BODY_MAX)
        return write_head(ctx, stream, "413 Too Large", 0) != JZX_OK ? JZX_ERR_IO
                                                                     : JZX_ERR_TOO_LONG;
    char *body = jzx_alloc(ctx, request->length + 1);
    if (body == NULL)
        return JZX_ERR_NO_MEMORY;
    if (request->expects)
        err = jzx_stream_write(ctx, stream, go_on, sizeof go_on - 1, JZX_NEVER);
    if (err == JZX_OK && request->length > 0)
        err = jzx_stream_read_exact(ctx, stream, body, request->length, JZX_NEVER);
    if (err == JZX_OK)
        err = write_head(ctx, stream, "200 OK", request->length);
    if (err == JZX_OK && request->length > 0)
        err = jzx_stream_write(ctx, stream, body, request->length, JZX_NEVER);
    jzx_free(ctx, body);
    return err;
}

static void talk(jzx_context *ctx) {
    struct request request;
    jzx_message msg;
    if (jzx_receive_tag(ctx, BEGIN, JZX_NEVER, &msg) != JZX_OK)
        return;
    jzx_stream stream = *(const jzx_stream *)msg.data;
    jzx_err err = JZX_OK;
    while (err == JZX_OK && read_head(ctx, stream, &request) == JZX_OK) {
        if (strcmp(request.method, "GET") == 0)
            err = send_file(ctx, stream);
        else if (strcmp(request.method, "POST") == 0)
            err = send_back(ctx, stream, &request);
        else
            err = write_head(ctx, stream, "501 Not Implemented", 0);
    }
}

static void serve(jzx_context *ctx) {
    char address[JZX_ADDRESS_MAX];
    jzx_listener listener;
    jzx_stream stream;
    jzx_actor_id id;
    if (jzx_tcp_listen(ctx, "127.0.0.1:0", NULL, &listener) != JZX_OK)
        return;
    jzx_listener_address(ctx->loop, listener, address, sizeof address);
    printf("listening at %s\n", address);
    fflush(stdout);
    while (jzx_tcp_accept(ctx, listener, JZX_NEVER, &stream) == JZX_OK) {
        if (jzx_spawn(ctx->loop, &JZX_SPAWN_OPTS(.fiber = talk), &id) != JZX_OK)
            abort();
        jzx_stream_give(ctx, stream, id);
        jzx_send(ctx->loop, id, ctx->self, &stream, sizeof stream, BEGIN);
    }
}

int main(int argc, char **argv) {
    if (argc != 2)
        return EXIT_FAILURE;
    file_path = argv[1];
    jzx_loop *loop = jzx_loop_create(NULL);
    if (loop == NULL || jzx_spawn(loop, &JZX_SPAWN_OPTS(.fiber = serve), NULL) != JZX_OK)
        return EXIT_FAILURE;
    jzx_err err = jzx_loop_run(loop);
    jzx_loop_destroy(loop);
    return err == JZX_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
