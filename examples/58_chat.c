/* SPDX-License-Identifier: MIT */
/* A chat room: one actor for each connection, and one for the room, which broadcasts every line
 * without copying it. The first line of a connection that is not empty is the name of its member.
 *
 * A peer cannot do much harm. A connection is one member. It must join soon, and is dropped when it
 * is idle for too long. Control characters, which could change the terminals of others, become '?'.
 *
 * A slow reader holds nobody up and takes no memory beyond its write queue. With
 * JZX_TAG_STREAM_HIGH its member is muted: it misses lines. With JZX_TAG_STREAM_LOW it is told how
 * many, and hears the rest. A member that has missed MISSED_MAX lines without catching up is
 * dropped.
 *
 *     58_chat PORT     listens at 127.0.0.1:PORT until it is killed; 0: at a free port. Then
 *                      nc 127.0.0.1 PORT, as often as you like
 *     58_chat          tries it, with three clients of its own: bob prints what he is told
 *
 * It prints:
 *
 *     bob: * bob joins
 *     bob: * carol joins
 *     bob: alice: hello
 *     bob: * carol reads too slowly and misses lines
 *     carol has missed some lines, and was told how many
 *     bob: alice: welcome back
 *     bob: * carol reads too slowly and misses lines
 *     bob: * carol leaves
 *     carol was dropped
 */
#include <jzx/jzx.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_SIZE 512u
#define NAME_SIZE 24u
#define MEMBERS_MAX 64u
#define MISSED_MAX 500u
#define JOIN_NS JZX_SECOND(30)
#define IDLE_NS JZX_SECOND(600)

enum { START = 1, ACCEPTED, BEGIN, DATA, JOIN, SAY, LINE };

/* ---- the room ---- */

struct room {
    size_t count;
    struct {
        jzx_actor_id id;
        char name[NAME_SIZE];
    } members[MEMBERS_MAX];
};

/* Takes the text over, a buffer of messages. */
static void broadcast(jzx_context *ctx, const struct room *self, void *text) {
    void *shared = jzx_msg_share(ctx->loop, text);
    for (size_t i = 0; i < self->count; i++) {
        jzx_actor_id id = self->members[i].id;
        if (jzx_send_shared(ctx->loop, id, ctx->self, shared, LINE) == JZX_ERR_MAILBOX_FULL)
            jzx_actor_stop(ctx->loop, id, JZX_STOP_AFTER_MESSAGE); /* better gone than wrong */
    }
    jzx_msg_free(ctx->loop, shared);
}

static void announce(jzx_context *ctx, const struct room *self, const char *name,
                     const char *what) {
    char text[LINE_SIZE];
    int len = snprintf(text, sizeof text, "* %s %s\n", name, what);
    void *copy = jzx_msg_alloc(ctx->loop, (size_t)len, NULL);
    if (copy != NULL)
        broadcast(ctx, self, memcpy(copy, text, (size_t)len));
}

static bool is_member(const struct room *self, jzx_actor_id id) {
    for (size_t i = 0; i < self->count; i++) {
        if (self->members[i].id == id)
            return true;
    }
    return false;
}

static void add_member(jzx_context *ctx, struct room *self, jzx_actor_id id, const char *name) {
    if (is_member(self, id))
        return;
    if (self->count == MEMBERS_MAX || jzx_monitor(ctx, id, NULL) != JZX_OK) {
        jzx_actor_stop(ctx->loop, id, JZX_STOP_AFTER_MESSAGE);
        return;
    }
    self->members[self->count].id = id;
    snprintf(self->members[self->count].name, NAME_SIZE, "%s", name);
    self->count++;
    announce(ctx, self, name, "joins");
}

static void remove_member(jzx_context *ctx, struct room *self, jzx_actor_id id) {
    for (size_t i = 0; i < self->count; i++) {
        if (self->members[i].id == id) {
            char name[NAME_SIZE];
            memcpy(name, self->members[i].name, NAME_SIZE);
            self->members[i] = self->members[--self->count];
            announce(ctx, self, name, "leaves");
            return;
        }
    }
}

static jzx_behavior_result keep_room(jzx_context *ctx, const jzx_message *msg) {
    struct room *self = ctx->state;
    if (msg->tag == JOIN)
        add_member(ctx, self, msg->sender, msg->data);
    else if (msg->tag == JZX_TAG_DOWN)
        remove_member(ctx, self, msg->sender);
    else if (msg->tag == SAY)
        broadcast(ctx, self, jzx_msg_take(ctx, msg));
    return JZX_BEHAVIOR_OK;
}

/* ---- a member ---- */

struct begin {
    jzx_stream stream;
    jzx_actor_id room;
};

struct member {
    jzx_stream stream;
    jzx_actor_id room;
    char name[NAME_SIZE]; /* "" before it has joined */
    bool is_muted;
    uint32_t missed; /* lines, since it was last told */
    size_t len;      /* of the line that is not complete */
    char line[LINE_SIZE];
};

static jzx_err init_member(jzx_context *ctx) {
    ctx->state = jzx_alloc(ctx, sizeof(struct member));
    if (ctx->state == NULL)
        return JZX_ERR_NO_MEMORY;
    memset(ctx->state, 0, sizeof(struct member));
    return jzx_receive_timeout(ctx, JOIN_NS);
}

/* Its first line: its name. */
static jzx_err join_room(jzx_context *ctx, struct member *self) {
    if (self->len == 0)
        return JZX_OK;
    snprintf(self->name, sizeof self->name, "%.*s", (int)self->len, self->line);
    jzx_err err = jzx_send(ctx->loop, self->room, ctx->self, self->name, NAME_SIZE, JOIN);
    return err == JZX_OK ? jzx_receive_timeout(ctx, JZX_NEVER) : err;
}

/* Its peer has written a line. */
static jzx_err take_line(jzx_context *ctx, struct member *self) {
    char text[LINE_SIZE + NAME_SIZE];
    if (self->name[0] == '\0')
        return join_room(ctx, self);
    int len = snprintf(text, sizeof text, "%s: %.*s\n", self->name, (int)self->len, self->line);
    jzx_err err = jzx_send(ctx->loop, self->room, ctx->self, text, (size_t)len, SAY);
    if (err != JZX_ERR_MAILBOX_FULL)
        return err;
    static const char busy[] = "* the room is busy: say it again\n";
    return jzx_stream_send(ctx, self->stream, busy, sizeof busy - 1);
}

/* A control character becomes '?': one of ASCII, or one that UTF-8 writes as 0xC2 and a second
 * byte. Some clients end lines with "\r\n": '\r' is left out. False: the line is too long. */
static bool take_byte(struct member *self, unsigned char byte) {
    unsigned char last = self->len == 0 ? 0 : (unsigned char)self->line[self->len - 1];
    if (byte == '\r')
        return true;
    if (last == 0xC2 && byte >= 0x80 && byte < 0xA0) {
        self->line[self->len - 1] = '?';
        return true;
    }
    if (self->len == sizeof self->line)
        return false;
    self->line[self->len++] = (char)(byte < ' ' || byte == 0x7F ? '?' : byte);
    return true;
}

/* What arrives is cut anywhere: lines are put together here. One that is too long is an error. */
static jzx_err take_data(jzx_context *ctx, struct member *self, const jzx_stream_event *event) {
    const char *data = jzx_stream_data(event);
    jzx_err err = JZX_OK;
    for (uint32_t i = 0; i < event->len && err == JZX_OK; i++) {
        if (data[i] == '\n') {
            err = take_line(ctx, self);
            self->len = 0;
        } else if (!take_byte(self, (unsigned char)data[i])) {
            err = JZX_ERR_TOO_LONG;
        }
    }
    return err;
}

/* The room has a line for it. */
static jzx_err tell(jzx_context *ctx, struct member *self, const jzx_message *msg) {
    if (!self->is_muted) {
        jzx_err err = jzx_stream_send(ctx, self->stream, msg->data, msg->len);
        if (err != JZX_ERR_FULL) /* full: JZX_TAG_STREAM_HIGH is on its way */
            return err;
    }
    return ++self->missed < MISSED_MAX ? JZX_OK : JZX_ERR_FULL;
}

static jzx_err mute(jzx_context *ctx, struct member *self) {
    char text[LINE_SIZE];
    self->is_muted = true;
    int len = snprintf(text, sizeof text, "* %s reads too slowly and misses lines\n", self->name);
    jzx_send(ctx->loop, self->room, ctx->self, text, (size_t)len, SAY); /* if the room has time */
    return JZX_OK;
}

static jzx_err unmute(jzx_context *ctx, struct member *self) {
    char text[LINE_SIZE];
    int len = snprintf(text, sizeof text, "* you have missed %u lines\n", (unsigned)self->missed);
    self->is_muted = false;
    self->missed = 0;
    return jzx_stream_send(ctx, self->stream, text, (size_t)len);
}

static jzx_err begin_member(jzx_context *ctx, struct member *self, const struct begin *begin) {
    self->stream = begin->stream;
    self->room = begin->room;
    return jzx_stream_active(ctx, self->stream, DATA, JZX_STREAM_ALWAYS);
}

/* A connection ends with its actor, and the room hears of that by its monitor. */
static jzx_behavior_result be_member(jzx_context *ctx, const jzx_message *msg) {
    struct member *self = ctx->state;
    const jzx_stream_event *event = msg->data;
    jzx_err err = JZX_OK;
    switch (msg->tag) {
    case BEGIN: err = begin_member(ctx, self, msg->data); break;
    case DATA:
        err = event->kind == JZX_STREAM_DATA ? take_data(ctx, self, event) : JZX_ERR_END;
        break;
    case LINE: err = tell(ctx, self, msg); break;
    case JZX_TAG_STREAM_HIGH: err = mute(ctx, self); break;
    case JZX_TAG_STREAM_LOW: err = unmute(ctx, self); break;
    case JZX_TAG_RECEIVE_TIMEOUT: err = JZX_ERR_TIMEOUT; break; /* it has not joined */
    default: break;
    }
    return err == JZX_OK ? JZX_BEHAVIOR_OK : JZX_BEHAVIOR_STOP;
}

/* ---- the listener ---- */

struct server {
    char address[JZX_ADDRESS_MAX];
    bool has_clients; /* in the same program */
    bool is_right;    /* they found what they should */
    jzx_listener listener;
    jzx_actor_id room;
};

static void try_it(jzx_context *ctx);

/* Small buffers, so that a slow reader shows early; and the next connection waits in the backlog
 * while the room is full. */
static jzx_err start(jzx_context *ctx, struct server *self) {
    const jzx_stream_opts stream =
        JZX_STREAM_OPTS(.queue_max = 64 * 1024, .send_buffer = 16 * 1024, .idle_ns = IDLE_NS);
    const jzx_listen_opts opts = JZX_LISTEN_OPTS(.connections_max = MEMBERS_MAX, .stream = &stream);
    jzx_err err = jzx_tcp_listen(ctx, self->address, &opts, &self->listener);
    if (err != JZX_OK) {
        fprintf(stderr, "%s: %s\n", self->address, jzx_err_text(err));
        return err;
    }
    jzx_listener_address(ctx->loop, self->listener, self->address, sizeof self->address);
    if (self->has_clients)
        return jzx_spawn(ctx->loop, &JZX_SPAWN_OPTS(.fiber = try_it, .state = self), NULL);
    printf("listening at %s\n", self->address);
    fflush(stdout);
    return JZX_OK;
}

static void admit(jzx_context *ctx, const struct server *self, jzx_stream stream) {
    struct begin begin = {stream, self->room};
    jzx_actor_id id;
    jzx_err err =
        jzx_spawn(ctx->loop, &JZX_SPAWN_OPTS(.behavior = be_member, .init = init_member), &id);
    if (err == JZX_OK)
        err = jzx_stream_give(ctx, stream, id);
    if (err == JZX_OK)
        err = jzx_send(ctx->loop, id, ctx->self, &begin, sizeof begin, BEGIN);
    if (err != JZX_OK)
        jzx_stream_close(ctx->loop, stream);
}

static jzx_behavior_result serve(jzx_context *ctx, const jzx_message *msg) {
    struct server *self = ctx->state;
    if (msg->tag == START && start(ctx, self) != JZX_OK)
        return JZX_BEHAVIOR_FAIL;
    if (msg->tag == ACCEPTED) {
        const jzx_result *result = msg->data;
        if (result->err == JZX_OK)
            admit(ctx, self, *(const jzx_stream *)jzx_result_data(result));
    }
    jzx_err err = jzx_tcp_accept_to(ctx, self->listener, ACCEPTED, NULL);
    return err == JZX_OK ? JZX_BEHAVIOR_OK : JZX_BEHAVIOR_FAIL;
}

/* ---- three clients of its own ---- */

struct client {
    jzx_stream stream;
    bool prints;
    bool is_down;    /* its connection is closed */
    unsigned heard;  /* lines from the room */
    unsigned missed; /* lines that it was told it has missed */
    char line[LINE_SIZE + NAME_SIZE];
};

static void write_line(jzx_context *ctx, const struct client *client, const char *text) {
    char line[LINE_SIZE];
    int len = snprintf(line, sizeof line, "%s\n", text);
    jzx_stream_write(ctx, client->stream, line, (size_t)len, JZX_NEVER);
}

static void read_line(jzx_context *ctx, struct client *client) {
    unsigned missed;
    size_t len;
    if (jzx_stream_read_until(ctx, client->stream, '\n', client->line, sizeof client->line,
                              JZX_NEVER, &len) != JZX_OK) {
        client->is_down = true;
        return;
    }
    client->line[len - 1] = '\0';
    if (sscanf(client->line, "* you have missed %u", &missed) == 1)
        client->missed += missed;
    else
        client->heard++;
    if (client->prints && strstr(client->line, "blah") == NULL)
        printf("bob: %s\n", client->line);
}

static void read_up_to(jzx_context *ctx, struct client *client, const char *line) {
    do
        read_line(ctx, client);
    while (!client->is_down && strcmp(client->line, line) != 0);
}

static void join(jzx_context *ctx, struct client *client, const char *name) {
    const struct server *server = ctx->state;
    const jzx_stream_opts stream = JZX_STREAM_OPTS(.receive_buffer = 4096);
    char line[LINE_SIZE];
    if (jzx_tcp_connect(ctx, server->address, &JZX_CONNECT_OPTS(.stream = &stream), JZX_NEVER,
                        &client->stream) != JZX_OK) {
        client->is_down = true;
        return;
    }
    write_line(ctx, client, name);
    snprintf(line, sizeof line, "* %s joins", name);
    read_up_to(ctx, client, line);
}

/* alice talks, and bob listens, until he is told that; carol does not read. */
static void talk_until(jzx_context *ctx, struct client *alice, struct client *bob,
                       const char *line) {
    char text[LINE_SIZE];
    memset(text, '.', 400);
    memcpy(text, "blah", 4);
    text[400] = '\0';
    while (!bob->is_down && strcmp(bob->line, line) != 0) {
        write_line(ctx, alice, text);
        do
            read_line(ctx, alice);
        while (!alice->is_down && strstr(alice->line, text) == NULL);
        do
            read_line(ctx, bob);
        while (!bob->is_down && strstr(bob->line, text) == NULL && strcmp(bob->line, line) != 0);
    }
}

/* All three in one fiber, so that it is clear who does what, and when. */
static void try_it(jzx_context *ctx) {
    struct server *server = ctx->state;
    struct client alice = {0};
    struct client bob = {.prints = true};
    struct client carol = {0};
    join(ctx, &alice, "alice");
    join(ctx, &bob, "bob");
    join(ctx, &carol, "carol");
    unsigned before = bob.heard; /* bob has yet to hear that carol joins, as she has */
    write_line(ctx, &alice, "hello");
    read_up_to(ctx, &bob, "alice: hello");
    talk_until(ctx, &alice, &bob, "* carol reads too slowly and misses lines");

    while (!carol.is_down && carol.missed == 0)
        read_line(ctx, &carol);
    while (!carol.is_down && carol.heard + carol.missed < bob.heard - before)
        read_line(ctx, &carol);
    write_line(ctx, &alice, "welcome back");
    read_up_to(ctx, &carol, "alice: welcome back");
    if (carol.missed > 0)
        printf("carol has missed some lines, and was told how many\n");
    read_up_to(ctx, &bob, "alice: welcome back");
    server->is_right = carol.missed > 0 && carol.heard + carol.missed == bob.heard - before;

    talk_until(ctx, &alice, &bob, "* carol leaves");
    while (!carol.is_down)
        read_line(ctx, &carol);
    printf("carol was dropped\n");
    jzx_loop_request_stop(ctx->loop);
}

int main(int argc, char **argv) {
    struct server server = {.has_clients = argc == 1};
    struct room room = {.count = 0};
    jzx_actor_id id;
    if (argc > 2) {
        fprintf(stderr, "usage: %s [PORT]\n", argv[0]);
        return EXIT_FAILURE;
    }
    snprintf(server.address, sizeof server.address, "127.0.0.1:%s", argc == 2 ? argv[1] : "0");
    jzx_loop *loop = jzx_loop_create(NULL);
    if (loop == NULL)
        return EXIT_FAILURE;
    jzx_err err = jzx_spawn(
        loop, &JZX_SPAWN_OPTS(.behavior = keep_room, .state = &room, .daemon = true), &server.room);
    if (err == JZX_OK)
        err = jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = serve, .state = &server), &id);
    if (err == JZX_OK)
        err = jzx_send(loop, id, JZX_NOBODY, NULL, 0, START);
    if (err == JZX_OK)
        err = jzx_loop_run(loop);
    jzx_loop_destroy(loop);
    return err == JZX_OK && server.is_right ? EXIT_SUCCESS : EXIT_FAILURE;
}
