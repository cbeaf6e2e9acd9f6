/* SPDX-License-Identifier: MIT */
/* Streams and listeners over TCP and Unix sockets, and datagrams. */
#include "fuzz.h"

#include <string.h>

#define STREAM fuzz_handle(f, A_STREAM)
#define LISTENER fuzz_handle(f, A_LISTENER)
#define UDP fuzz_handle(f, A_UDP)
#define ADDRESS fuzz_address(f)
#define UNIX fuzz_unix_address(f)
#define CAP (size_t)(fuzz_chance(f, 16) ? WORD % (1u << 20) : BELOW(64)) /* of a _to form */
#define COUNT (fuzz_chance(f, 4) ? JZX_STREAM_ALWAYS : BELOW(5))

static const jzx_stream_opts *stream_opts(struct fuzz *f, jzx_stream_opts *opts) {
    *opts = JZX_STREAM_OPTS(.queue_max = BELOW(2) * 64, .delay = YES_OR_NO, .keepalive = YES_OR_NO);
    opts->size = fuzz_options_size(f, sizeof *opts);
    opts->idle_ns = fuzz_chance(f, 4) ? JZX_MS(1) : 0;
    opts->send_buffer = fuzz_chance(f, 4) ? 1024 : 0;
    opts->queue_high = fuzz_chance(f, 4) ? BELOW(100) : 0;
    return fuzz_chance(f, 3) ? NULL : opts;
}
#define STREAM_OPTS stream_opts(f, &(jzx_stream_opts){0})

static const jzx_listen_opts *listen_opts(struct fuzz *f, jzx_listen_opts *opts) {
    *opts = JZX_LISTEN_OPTS(.backlog = BELOW(3), .connections_max = BELOW(3),
                            .reuse_port = fuzz_chance(f, 4), .v6_only = fuzz_chance(f, 4),
                            .accept_mode = (jzx_accept_mode)BELOW(4));
    opts->size = fuzz_options_size(f, sizeof *opts);
    return fuzz_chance(f, 3) ? NULL : opts;
}
#define LISTEN_OPTS listen_opts(f, &(jzx_listen_opts){0})

static const jzx_connect_opts *connect_opts(struct fuzz *f, jzx_connect_opts *opts) {
    *opts = JZX_CONNECT_OPTS(.local = fuzz_chance(f, 16) ? ADDRESS : NULL);
    opts->size = fuzz_options_size(f, sizeof *opts);
    return fuzz_chance(f, 3) ? NULL : opts;
}
#define CONNECT_OPTS connect_opts(f, &(jzx_connect_opts){0})

/* ---- how they come to be ---- */

CALL(jzx_stream_opts_init, OR_NULL(&(jzx_stream_opts){0}),
     fuzz_options_size(f, sizeof(jzx_stream_opts)));
CALL(jzx_listen_opts_init, OR_NULL(&(jzx_listen_opts){0}),
     fuzz_options_size(f, sizeof(jzx_listen_opts)));
CALL(jzx_connect_opts_init, OR_NULL(&(jzx_connect_opts){0}),
     fuzz_options_size(f, sizeof(jzx_connect_opts)));
MAKE(A_LISTENER, jzx_tcp_listen, CTX, ADDRESS, LISTEN_OPTS);
MAKE(A_LISTENER, jzx_unix_listen, CTX, UNIX, LISTEN_OPTS);
MAKE(A_STREAM, jzx_listener_accept, CTX, LISTENER, WHEN);
MAKE(A_STREAM, jzx_tcp_accept, CTX, LISTENER, WHEN);
MAKE(A_STREAM, jzx_unix_accept, CTX, LISTENER, WHEN);
BEGIN(jzx_listener_accept_to, CTX, LISTENER);
BEGIN(jzx_tcp_accept_to, CTX, LISTENER);
BEGIN(jzx_unix_accept_to, CTX, LISTENER);
FUTURE(jzx_listener_accept_async, LOOP, LISTENER);
FUTURE(jzx_tcp_accept_async, LOOP, LISTENER);
FUTURE(jzx_unix_accept_async, LOOP, LISTENER);
MAKE(A_STREAM, jzx_tcp_connect, CTX, ADDRESS, CONNECT_OPTS, WHEN);
BEGIN(jzx_tcp_connect_to, CTX, ADDRESS, CONNECT_OPTS);
FUTURE(jzx_tcp_connect_async, LOOP, ADDRESS, CONNECT_OPTS, ID);
MAKE(A_STREAM, jzx_unix_connect, CTX, UNIX, CONNECT_OPTS, WHEN);
BEGIN(jzx_unix_connect_to, CTX, UNIX, CONNECT_OPTS);
FUTURE(jzx_unix_connect_async, LOOP, UNIX, CONNECT_OPTS, ID);

static void do_jzx_unix_pair(struct fuzz *f) {
    jzx_stream pair[2];
    if (fuzz_status(f, jzx_unix_pair(CTX, STREAM_OPTS, OR_NULL(pair))) != JZX_OK)
        return;
    fuzz_note(f, A_STREAM, pair[0]);
    fuzz_note(f, A_STREAM, pair[1]);
}

CALL(jzx_listener_close, LOOP, LISTENER);
CALL(jzx_listener_give, CTX, LISTENER, ID);
CALL(jzx_listener_address, LOOP, LISTENER, OR_NULL((char[JZX_ADDRESS_MAX]){0}),
     fuzz_chance(f, 8) ? BELOW(20) : JZX_ADDRESS_MAX);

/* A message that has brought a handle. */
static void do_use_result(struct fuzz *f) {
    if (f->msg == NULL || (f->msg->tag != FUZZ_TAG_OP && f->msg->tag != FUZZ_TAG_UNNAMED))
        return;
    const jzx_result *result = f->msg->data;
    uint64_t handle;
    if (result->err != JZX_OK || result->len != sizeof handle)
        return;
    memcpy(&handle, jzx_result_data(result), sizeof handle);
    fuzz_note(f, A_STREAM, handle);
    fuzz_note(f, A_FILE, handle);
    fuzz_note(f, A_SUBPROCESS, handle);
}

/* ---- reading and writing ---- */

static void do_jzx_stream_read(struct fuzz *f) {
    unsigned char data[FUZZ_ROOM];
    size_t len = 0;
    size_t cap = ROOM % (FUZZ_ROOM + 1);
    switch (fuzz_below(f, 3)) {
    case 0: fuzz_status(f, jzx_stream_read(CTX, STREAM, OR_NULL(data), cap, WHEN, &len)); break;
    case 1: fuzz_status(f, jzx_stream_read_exact(CTX, STREAM, data, cap, WHEN)); break;
    default:
        fuzz_status(f, jzx_stream_read_until(CTX, STREAM, 'z', data, cap, WHEN, OR_NULL(&len)));
        break;
    }
    if (len > cap)
        fuzz_fail("a read of at most %zu bytes has %zu", cap, len);
}

BEGIN(jzx_stream_read_to, CTX, STREAM, CAP);
BEGIN(jzx_stream_read_exact_to, CTX, STREAM, CAP);
BEGIN(jzx_stream_read_until_to, CTX, STREAM, 'z', CAP);
FUTURE(jzx_stream_read_async, LOOP, STREAM, CAP);
FUTURE(jzx_stream_read_exact_async, LOOP, STREAM, CAP);
FUTURE(jzx_stream_read_until_async, LOOP, STREAM, 'z', CAP);
CALL(jzx_stream_active, CTX, STREAM, TAG, COUNT);

static void do_jzx_stream_data(struct fuzz *f) {
    (void)f;
    if (jzx_stream_data(NULL) != NULL || jzx_udp_data(NULL) != NULL || jzx_udp_next(NULL) != NULL)
        fuzz_fail("there are data behind NULL");
}

static const struct iovec parts[4] = {{(void *)(uintptr_t)fuzz_bytes, 3},
                                      {(void *)(uintptr_t)fuzz_bytes, 0},
                                      {(void *)(uintptr_t)fuzz_bytes, 4000},
                                      {(void *)(uintptr_t)fuzz_bytes, 1}};
#define PARTS OR_NULL(parts)
#define PART_COUNT (fuzz_chance(f, 24) ? 0 : 1 + BELOW(4))

CALL(jzx_stream_write, CTX, STREAM, DATA, LEN, WHEN);
CALL(jzx_stream_writev, CTX, STREAM, PARTS, PART_COUNT, WHEN);
CALL(jzx_stream_sendfile, CTX, STREAM, fuzz_descriptor(f), BELOW(9), BELOW(5000), WHEN,
     OR_NULL(&(size_t){0}));
CALL(jzx_stream_shutdown, CTX, STREAM, WHEN);
CALL(jzx_stream_send, CTX, STREAM, DATA, LEN);
BEGIN(jzx_stream_write_to, CTX, STREAM, DATA, LEN);
BEGIN(jzx_stream_writev_to, CTX, STREAM, PARTS, PART_COUNT);
BEGIN(jzx_stream_sendfile_to, CTX, STREAM, fuzz_descriptor(f), BELOW(9), BELOW(5000));
BEGIN(jzx_stream_shutdown_to, CTX, STREAM);
FUTURE(jzx_stream_write_async, LOOP, STREAM, DATA, LEN);
FUTURE(jzx_stream_writev_async, LOOP, STREAM, PARTS, PART_COUNT);
FUTURE(jzx_stream_sendfile_async, LOOP, STREAM, fuzz_descriptor(f), BELOW(9), BELOW(5000));
FUTURE(jzx_stream_shutdown_async, LOOP, STREAM);

static void do_jzx_stream_send_msg(struct fuzz *f) {
    void *data = fuzz_take(f, fuzz_chance(f, 4) ? OF_SHARED : OF_BUFFER);
    if (fuzz_status(f, jzx_stream_send_msg(CTX, STREAM, data)) != JZX_OK)
        fuzz_put(f, OF_SHARED, data);
}

static void do_jzx_stream_write_msg_to(struct fuzz *f) {
    void *data = fuzz_take(f, OF_BUFFER);
    jzx_op op = JZX_NO_OP;
    jzx_err err = jzx_stream_write_msg_to(CTX, STREAM, data, FUZZ_TAG_OP, &op);
    if (err != JZX_OK)
        fuzz_put(f, OF_BUFFER, data);
    fuzz_begun(f, err, &op);
}

CALL(jzx_stream_close, LOOP, STREAM);
CALL(jzx_stream_give, CTX, STREAM, ID);
CALL(jzx_stream_info_get, LOOP, STREAM,
     OR_NULL(&(jzx_stream_info){.size = fuzz_options_size(f, sizeof(jzx_stream_info))}));
CALL(jzx_stream_peer, LOOP, STREAM, (char[JZX_ADDRESS_MAX]){0}, BELOW(JZX_ADDRESS_MAX));
CALL(jzx_stream_local, LOOP, STREAM, (char[JZX_ADDRESS_MAX]){0}, BELOW(JZX_ADDRESS_MAX));
CALL(jzx_stream_set_nodelay, LOOP, STREAM, YES_OR_NO);
CALL(jzx_stream_set_keepalive, LOOP, STREAM, SPAN, SPAN, BELOW(300));
CALL(jzx_stream_set_linger, LOOP, STREAM, (int)BELOW(4) - 1);

static const struct fuzz_operation stream_operations[] = {
    ROW(jzx_stream_opts_init, 1, ANYWHERE),
    ROW(jzx_listen_opts_init, 1, ANYWHERE),
    ROW(jzx_connect_opts_init, 1, ANYWHERE),
    ROW(jzx_tcp_listen, 6, ANYWHERE),
    ROW(jzx_unix_listen, 4, ANYWHERE),
    ROW(jzx_listener_accept, 4, ANYWHERE),
    ROW(jzx_tcp_accept, 2, ANYWHERE),
    ROW(jzx_unix_accept, 2, ANYWHERE),
    ROW(jzx_listener_accept_to, 4, ANYWHERE),
    ROW(jzx_tcp_accept_to, 1, ANYWHERE),
    ROW(jzx_unix_accept_to, 1, ANYWHERE),
    ROW(jzx_listener_accept_async, 4, ANYWHERE),
    ROW(jzx_tcp_accept_async, 1, ANYWHERE),
    ROW(jzx_unix_accept_async, 1, ANYWHERE),
    ROW(jzx_tcp_connect, 6, ANYWHERE),
    ROW(jzx_tcp_connect_to, 6, ANYWHERE),
    ROW(jzx_tcp_connect_async, 4, ANYWHERE),
    ROW(jzx_unix_connect, 4, ANYWHERE),
    ROW(jzx_unix_connect_to, 4, ANYWHERE),
    ROW(jzx_unix_connect_async, 3, ANYWHERE),
    ROW(jzx_unix_pair, 8, ANYWHERE),
    ROW(jzx_listener_close, 2, ANYWHERE),
    ROW(jzx_listener_give, 2, ANYWHERE),
    ROW(jzx_listener_address, 1, ANYWHERE),
    {"use_result", 10, IN_BEHAVIOUR | IN_FIBER | IN_MANUAL, do_use_result},
    ROW(jzx_stream_read, 8, ANYWHERE),
    ROW(jzx_stream_read_to, 5, ANYWHERE),
    ROW(jzx_stream_read_exact_to, 3, ANYWHERE),
    ROW(jzx_stream_read_until_to, 3, ANYWHERE),
    ROW(jzx_stream_read_async, 4, ANYWHERE),
    ROW(jzx_stream_read_exact_async, 2, ANYWHERE),
    ROW(jzx_stream_read_until_async, 2, ANYWHERE),
    ROW(jzx_stream_active, 6, ANYWHERE),
    ROW(jzx_stream_data, 1, ANYWHERE),
    ROW(jzx_stream_write, 6, ANYWHERE),
    ROW(jzx_stream_writev, 3, ANYWHERE),
    ROW(jzx_stream_sendfile, 2, ANYWHERE),
    ROW(jzx_stream_shutdown, 2, ANYWHERE),
    ROW(jzx_stream_send, 6, ANYWHERE),
    ROW(jzx_stream_send_msg, 4, ANYWHERE),
    ROW(jzx_stream_write_to, 4, ANYWHERE),
    ROW(jzx_stream_write_msg_to, 3, ANYWHERE),
    ROW(jzx_stream_writev_to, 2, ANYWHERE),
    ROW(jzx_stream_sendfile_to, 2, ANYWHERE),
    ROW(jzx_stream_shutdown_to, 1, ANYWHERE),
    ROW(jzx_stream_write_async, 4, ANYWHERE),
    ROW(jzx_stream_writev_async, 2, ANYWHERE),
    ROW(jzx_stream_sendfile_async, 2, ANYWHERE),
    ROW(jzx_stream_shutdown_async, 1, ANYWHERE),
    ROW(jzx_stream_close, 4, ANYWHERE),
    ROW(jzx_stream_give, 4, ANYWHERE),
    ROW(jzx_stream_info_get, 2, ANYWHERE),
    ROW(jzx_stream_peer, 1, ANYWHERE),
    ROW(jzx_stream_local, 1, ANYWHERE),
    ROW(jzx_stream_set_nodelay, 1, ANYWHERE),
    ROW(jzx_stream_set_keepalive, 1, ANYWHERE),
    ROW(jzx_stream_set_linger, 1, ANYWHERE),
};
FUZZ_FAMILY(streams, stream_operations);

/* ---- datagrams ---- */

static const jzx_udp_opts *udp_opts(struct fuzz *f, jzx_udp_opts *opts) {
    *opts = JZX_UDP_OPTS(.peer = fuzz_chance(f, 3) ? ADDRESS : NULL, .datagram_max = BELOW(64),
                         .queue_max = BELOW(100), .reuse_port = YES_OR_NO,
                         .reuse_address = YES_OR_NO, .broadcast = YES_OR_NO);
    opts->size = fuzz_options_size(f, sizeof *opts);
    return fuzz_chance(f, 3) ? NULL : opts;
}
#define UDP_OPTS udp_opts(f, &(jzx_udp_opts){0})

static jzx_address *address(struct fuzz *f, jzx_address *to) {
    const char *text = ADDRESS;
    memset(to, 0, sizeof *to);
    if (jzx_address_parse(text, to) != JZX_OK && fuzz_chance(f, 4))
        to->opaque[0] = BELOW(200);
    return fuzz_chance(f, 8) ? NULL : to;
}
#define TO address(f, &(jzx_address){{0}})

CALL(jzx_address_parse, TEXT, OR_NULL(&(jzx_address){{0}}));
CALL(jzx_address_format, TO, OR_NULL((char[JZX_ADDRESS_MAX]){0}), BELOW(JZX_ADDRESS_MAX));
USE(jzx_address_is_equal, TO, TO);
CALL(jzx_udp_opts_init, OR_NULL(&(jzx_udp_opts){0}), fuzz_options_size(f, sizeof(jzx_udp_opts)));
MAKE(A_UDP, jzx_udp_open, CTX, ADDRESS, UDP_OPTS);
CALL(jzx_udp_connect, LOOP, UDP, fuzz_chance(f, 4) ? NULL : ADDRESS);

static void do_jzx_udp_receive(struct fuzz *f) {
    unsigned char data[4][32];
    jzx_datagram datagrams[4];
    size_t received;
    for (unsigned i = 0; i < 4; i++)
        datagrams[i] = (jzx_datagram){.data = data[i], .cap = BELOW(33)};
    if (YES_OR_NO)
        fuzz_status(f, jzx_udp_receive(CTX, UDP, OR_NULL(datagrams), WHEN));
    else
        fuzz_status(f, jzx_udp_receive_batch(CTX, UDP, datagrams, BELOW(5), WHEN, &received));
}

BEGIN(jzx_udp_receive_to, CTX, UDP, CAP);
BEGIN(jzx_udp_receive_batch_to, CTX, UDP, CAP, BELOW(20));
FUTURE(jzx_udp_receive_async, LOOP, UDP, CAP);
FUTURE(jzx_udp_receive_batch_async, LOOP, UDP, CAP, BELOW(20));
CALL(jzx_udp_active, CTX, UDP, TAG, COUNT);
CALL(jzx_udp_send, CTX, UDP, DATA, LEN, TO, WHEN);
CALL(jzx_udp_try_send, CTX, UDP, DATA, LEN, TO);
BEGIN(jzx_udp_send_to, CTX, UDP, DATA, LEN, TO);
FUTURE(jzx_udp_send_async, LOOP, UDP, DATA, LEN, TO);

static jzx_datagram *batch(struct fuzz *f, jzx_datagram *datagrams) {
    for (unsigned i = 0; i < 4; i++) {
        datagrams[i] = (jzx_datagram){.data = (void *)(uintptr_t)fuzz_bytes, .len = BELOW(50)};
        (void)address(f, &datagrams[i].address);
    }
    return OR_NULL(datagrams);
}
#define BATCH batch(f, (jzx_datagram[4]){{0}})

CALL(jzx_udp_send_batch, CTX, UDP, BATCH, BELOW(5), WHEN, OR_NULL(&(size_t){0}));
CALL(jzx_udp_try_send_batch, CTX, UDP, BATCH, BELOW(5), OR_NULL(&(size_t){0}));
BEGIN(jzx_udp_send_batch_to, CTX, UDP, BATCH, BELOW(5));
FUTURE(jzx_udp_send_batch_async, LOOP, UDP, BATCH, BELOW(5));
CALL(jzx_udp_close, LOOP, UDP);
CALL(jzx_udp_give, CTX, UDP, ID);
CALL(jzx_udp_info_get, LOOP, UDP,
     OR_NULL(&(jzx_udp_info){.size = fuzz_options_size(f, sizeof(jzx_udp_info))}));
CALL(jzx_udp_local, LOOP, UDP, (char[JZX_ADDRESS_MAX]){0}, BELOW(JZX_ADDRESS_MAX));
CALL(jzx_udp_peer, LOOP, UDP, (char[JZX_ADDRESS_MAX]){0}, BELOW(JZX_ADDRESS_MAX));

#define GROUP_ADDRESS (YES_OR_NO ? "239.1.2.3" : YES_OR_NO ? "ff02::1" : NAME)
#define INTERFACE (YES_OR_NO ? "lo" : YES_OR_NO ? NULL : TEXT)
CALL(jzx_udp_join, LOOP, UDP, GROUP_ADDRESS, INTERFACE);
CALL(jzx_udp_leave, LOOP, UDP, GROUP_ADDRESS, INTERFACE);
CALL(jzx_udp_set_multicast_ttl, LOOP, UDP, BELOW(300));
CALL(jzx_udp_set_multicast_loop, LOOP, UDP, YES_OR_NO);
CALL(jzx_udp_set_multicast_interface, LOOP, UDP, INTERFACE);
CALL(jzx_udp_set_ttl, LOOP, UDP, BELOW(300));
CALL(jzx_udp_set_broadcast, LOOP, UDP, YES_OR_NO);

static const struct fuzz_operation udp_operations[] = {
    ROW(jzx_address_parse, 1, ANYWHERE),
    ROW(jzx_address_format, 1, ANYWHERE),
    ROW(jzx_address_is_equal, 1, ANYWHERE),
    ROW(jzx_udp_opts_init, 1, ANYWHERE),
    ROW(jzx_udp_open, 10, ANYWHERE),
    ROW(jzx_udp_connect, 2, ANYWHERE),
    ROW(jzx_udp_receive, 6, ANYWHERE),
    ROW(jzx_udp_receive_to, 4, ANYWHERE),
    ROW(jzx_udp_receive_batch_to, 4, ANYWHERE),
    ROW(jzx_udp_receive_async, 3, ANYWHERE),
    ROW(jzx_udp_receive_batch_async, 3, ANYWHERE),
    ROW(jzx_udp_active, 6, ANYWHERE),
    ROW(jzx_udp_send, 5, ANYWHERE),
    ROW(jzx_udp_try_send, 6, ANYWHERE),
    ROW(jzx_udp_send_to, 4, ANYWHERE),
    ROW(jzx_udp_send_async, 3, ANYWHERE),
    ROW(jzx_udp_send_batch, 3, ANYWHERE),
    ROW(jzx_udp_try_send_batch, 3, ANYWHERE),
    ROW(jzx_udp_send_batch_to, 3, ANYWHERE),
    ROW(jzx_udp_send_batch_async, 2, ANYWHERE),
    ROW(jzx_udp_close, 4, ANYWHERE),
    ROW(jzx_udp_give, 4, ANYWHERE),
    ROW(jzx_udp_info_get, 2, ANYWHERE),
    ROW(jzx_udp_local, 1, ANYWHERE),
    ROW(jzx_udp_peer, 1, ANYWHERE),
    ROW(jzx_udp_join, 1, ANYWHERE),
    ROW(jzx_udp_leave, 1, ANYWHERE),
    ROW(jzx_udp_set_multicast_ttl, 1, ANYWHERE),
    ROW(jzx_udp_set_multicast_loop, 1, ANYWHERE),
    ROW(jzx_udp_set_multicast_interface, 1, ANYWHERE),
    ROW(jzx_udp_set_ttl, 1, ANYWHERE),
    ROW(jzx_udp_set_broadcast, 1, ANYWHERE),
};
FUZZ_FAMILY(udp, udp_operations);
