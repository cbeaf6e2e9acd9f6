/* SPDX-License-Identifier: MIT */
/* Datagrams when the system has no room for them, or fails: what loopback never does. */
#include "net/udp.h"

#include "descriptors.h"
#include "fixture.h"

#include <errno.h>
#include <string.h>

enum { DONE = 7, GO };

static unsigned finished;

/* How sends and receives fail. */
static struct {
    bool is_full;       /* nothing can be sent */
    unsigned room;      /* datagrams that can be sent before it is full */
    unsigned per_call;  /* datagrams that one call sends; 0: as many as there are */
    unsigned interrupt; /* so many calls are interrupted first */
    int receive_error;  /* once */
    unsigned asked;     /* datagrams that the last receive had room for */
} faults;

static int send_some(int fd, struct mmsghdr *messages, unsigned count, int flags) {
    if (faults.interrupt != 0) {
        faults.interrupt--;
        return -EINTR;
    }
    if (faults.is_full && faults.room == 0)
        return -EAGAIN;
    if (faults.is_full && count > faults.room)
        count = faults.room;
    if (faults.is_full)
        faults.room -= count;
    if (faults.per_call != 0 && count > faults.per_call)
        count = faults.per_call;
    return jzx__os_system.sendmmsg(fd, messages, count, flags);
}

static int receive_some(int fd, struct mmsghdr *messages, unsigned count, int flags) {
    int error = faults.receive_error;
    faults.asked = count;
    if (faults.interrupt != 0) {
        faults.interrupt--;
        return -EINTR;
    }
    faults.receive_error = 0;
    return error != 0 ? -error : jzx__os_system.recvmmsg(fd, messages, count, flags);
}

static void run_fiber(jzx_fiber_fn fn) {
    int before = descriptors_open();
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 1));
    struct jzx__os os = jzx__os_system;
    os.sendmmsg = send_some;
    os.recvmmsg = receive_some;
    jzx__io_of(loop)->os = &os;
    memset(&faults, 0, sizeof faults);
    finished = 0;
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = fn));
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    JZX_EXPECT_EQ(finished, 1);
    fixture_destroy(loop);
    JZX_EXPECT_EQ(descriptors_open(), before);
}

struct ends {
    jzx_udp a;
    jzx_udp b;
    jzx_address at_a;
    jzx_address at_b;
};

static jzx_address address_of(jzx_loop *loop, jzx_udp udp) {
    char text[JZX_ADDRESS_MAX];
    jzx_address address = {{0, 0, 0, 0}};
    JZX_EXPECT_EQ(jzx_udp_local(loop, udp, text, sizeof text), JZX_OK);
    JZX_EXPECT_EQ(jzx_address_parse(text, &address), JZX_OK);
    return address;
}

static struct ends open_ends(jzx_context *ctx) {
    const jzx_udp_opts opts = JZX_UDP_OPTS(.queue_max = 10);
    struct ends ends = {.a = JZX_NO_UDP};
    JZX_EXPECT_EQ(jzx_udp_open(ctx, "127.0.0.1:0", &opts, &ends.a), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_open(ctx, "127.0.0.1:0", NULL, &ends.b), JZX_OK);
    ends.at_a = address_of(ctx->loop, ends.a);
    ends.at_b = address_of(ctx->loop, ends.b);
    return ends;
}

/* There is room again: an arrival tells, as it is an edge that has both. */
static void make_room(jzx_context *ctx, const struct ends *ends) {
    faults.is_full = false;
    JZX_EXPECT_EQ(jzx_udp_try_send(ctx, ends->b, "!", 1, &ends->at_a), JZX_OK);
}

static void expect_datagram(jzx_context *ctx, jzx_udp udp, const char *text) {
    char buf[16];
    jzx_datagram in = {.data = buf, .cap = sizeof buf};
    JZX_EXPECT_EQ(jzx_udp_receive(ctx, udp, &in, JZX_NEVER), JZX_OK);
    JZX_EXPECT(in.len == strlen(text) && memcmp(buf, text, in.len) == 0);
}

static jzx_err next_result(jzx_context *ctx, jzx_op op) {
    jzx_message msg;
    JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK);
    const jzx_result *result = msg.data;
    JZX_EXPECT_EQ(result->op, op);
    return (jzx_err)result->err;
}

/* ---- no room ---- */

static void send_when_full(jzx_context *ctx) {
    struct ends ends = open_ends(ctx);
    jzx_op ops[3];
    faults.is_full = true;
    JZX_EXPECT_EQ(jzx_udp_try_send(ctx, ends.a, "no", 2, &ends.at_b), JZX_ERR_FULL);
    JZX_EXPECT_EQ(jzx_udp_send(ctx, ends.a, "no", 2, &ends.at_b, jzx_in(ctx, JZX_MS(1))),
                  JZX_ERR_TIMEOUT);
    JZX_EXPECT_EQ(jzx_udp_send_to(ctx, ends.a, "first", 5, &ends.at_b, DONE, &ops[0]), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_send_to(ctx, ends.a, "gone", 4, &ends.at_b, DONE, &ops[1]), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_send_to(ctx, ends.a, "many", 4, &ends.at_b, DONE, &ops[2]), JZX_ERR_FULL);
    JZX_EXPECT_EQ(jzx_op_cancel(ctx->loop, ops[1]), JZX_OK);
    JZX_EXPECT_EQ(next_result(ctx, ops[1]), JZX_ERR_CANCELLED);
    JZX_EXPECT_EQ(jzx_udp_send_to(ctx, ends.a, "next", 4, &ends.at_b, DONE, &ops[2]), JZX_OK);
    jzx_udp_info info = {.size = sizeof info};
    JZX_EXPECT_EQ(jzx_udp_info_get(ctx->loop, ends.a, &info), JZX_OK);
    JZX_EXPECT(info.queued == 9 && info.sent == 0);
    make_room(ctx, &ends);
    JZX_EXPECT_EQ(next_result(ctx, ops[0]), JZX_OK);
    JZX_EXPECT_EQ(next_result(ctx, ops[2]), JZX_OK);
    expect_datagram(ctx, ends.b, "first");
    expect_datagram(ctx, ends.b, "next");
    finished++;
}

JZX_TEST(a_send_without_room_waits_in_the_queue_up_to_its_bound, "E55") {
    run_fiber(send_when_full);
}

static void fill_queue(jzx_context *ctx) {
    struct ends ends = open_ends(ctx);
    jzx_udp_info info = {.size = sizeof info};
    jzx_op ops[4];
    faults.is_full = true;
    JZX_EXPECT_EQ(jzx_udp_send_to(ctx, ends.a, "0123456", 7, &ends.at_b, DONE, &ops[0]), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_send_to(ctx, ends.a, "0123", 4, &ends.at_b, DONE, NULL), JZX_ERR_FULL);
    JZX_EXPECT_EQ(jzx_udp_send_to(ctx, ends.a, "012", 3, &ends.at_b, DONE, &ops[1]), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_send_to(ctx, ends.a, "0", 1, &ends.at_b, DONE, NULL), JZX_ERR_FULL);
    JZX_EXPECT_EQ(jzx_udp_send_to(ctx, ends.a, NULL, 0, &ends.at_b, DONE, &ops[2]), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_info_get(ctx->loop, ends.a, &info), JZX_OK);
    JZX_EXPECT(info.queued == 10 && info.sent == 0);
    make_room(ctx, &ends);
    for (unsigned i = 0; i < 3; i++)
        JZX_EXPECT_EQ(next_result(ctx, ops[i]), JZX_OK);
    expect_datagram(ctx, ends.b, "0123456");
    expect_datagram(ctx, ends.b, "012");
    expect_datagram(ctx, ends.b, "");
    faults.is_full = true; /* one that is longer than the bound may wait alone */
    JZX_EXPECT_EQ(jzx_udp_send_to(ctx, ends.a, "0123456789a", 11, &ends.at_b, DONE, &ops[3]),
                  JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_send_to(ctx, ends.a, NULL, 0, &ends.at_b, DONE, NULL), JZX_ERR_FULL);
    JZX_EXPECT_EQ(jzx_op_cancel(ctx->loop, ops[3]), JZX_OK);
    JZX_EXPECT_EQ(next_result(ctx, ops[3]), JZX_ERR_CANCELLED);
    JZX_EXPECT_EQ(jzx_udp_info_get(ctx->loop, ends.a, &info), JZX_OK);
    JZX_EXPECT(info.queued == 0 && info.sent == 3);
    finished++;
}

JZX_TEST(the_queue_of_a_datagram_socket_takes_its_bound_to_the_byte, "E55") {
    run_fiber(fill_queue);
}

/* Three fibers that wait for room. */
struct sender {
    struct ends *ends;
    jzx_err wanted;
    unsigned done;
};

static void send_in_fiber(jzx_context *ctx) {
    struct sender *sender = ctx->state;
    JZX_EXPECT_EQ(jzx_udp_send(ctx, sender->ends->a, "fiber", 5, &sender->ends->at_b, JZX_NEVER),
                  sender->wanted);
    sender->done++;
}

/* It waits when this returns. */
static jzx_actor_id spawn_waiting(jzx_context *ctx, jzx_fiber_fn fn, void *state) {
    jzx_actor_info info = {.size = sizeof info};
    jzx_actor_id id = fixture_spawn(ctx->loop, &JZX_SPAWN_OPTS(.fiber = fn, .state = state));
    do {
        (void)jzx_yield(ctx);
        JZX_EXPECT_EQ(jzx_actor_info_get(ctx->loop, id, &info), JZX_OK);
    } while (info.wait != JZX_WAIT_IO);
    return id;
}

static jzx_actor_id begin_send(jzx_context *ctx, struct sender *sender) {
    return spawn_waiting(ctx, send_in_fiber, sender);
}

static void wait_for_room(jzx_context *ctx) {
    struct ends ends = open_ends(ctx);
    struct sender sender = {.ends = &ends, .wanted = JZX_OK};
    jzx_actor_id ids[3];
    faults.is_full = true;
    for (unsigned i = 0; i < 3; i++)
        ids[i] = begin_send(ctx, &sender);
    JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, ids[0], JZX_STOP_KILL), JZX_OK);
    make_room(ctx, &ends);
    for (unsigned i = 0; i < 3; i++)
        JZX_EXPECT_EQ(jzx_join(ctx, ids[i], JZX_NEVER, NULL), JZX_OK);
    JZX_EXPECT_EQ(sender.done, 2);
    expect_datagram(ctx, ends.b, "fiber");
    expect_datagram(ctx, ends.b, "fiber");
    /* Closed while they wait. */
    jzx_op op;
    sender = (struct sender){.ends = &ends, .wanted = JZX_ERR_CLOSED};
    faults.is_full = true;
    ids[0] = begin_send(ctx, &sender);
    JZX_EXPECT_EQ(jzx_udp_send_to(ctx, ends.a, "x", 1, &ends.at_b, DONE, &op), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_close(ctx->loop, ends.a), JZX_OK);
    JZX_EXPECT_EQ(next_result(ctx, op), JZX_ERR_CLOSED);
    JZX_EXPECT_EQ(jzx_join(ctx, ids[0], JZX_NEVER, NULL), JZX_OK);
    JZX_EXPECT_EQ(sender.done, 1);
    finished++;
}

JZX_TEST(fibers_wait_for_room_and_each_that_has_sent_wakes_the_next, "E55") {
    run_fiber(wait_for_room);
}

/* Each in the order of its own batch. A spare edge of the system may let a fiber go before one that
 * has waited for longer. */
struct ordered {
    struct ends *ends;
    char texts[2][2];
    unsigned done;
};

static void send_in_order(jzx_context *ctx) {
    struct ordered *own = ctx->state;
    jzx_datagram out[2];
    size_t sent = 0;
    for (unsigned i = 0; i < 2; i++)
        out[i] = (jzx_datagram){.data = own->texts[i], .len = 2, .address = own->ends->at_b};
    JZX_EXPECT_EQ(jzx_udp_send_batch(ctx, own->ends->a, out, 2, JZX_NEVER, &sent), JZX_OK);
    JZX_EXPECT_EQ(sent, 2);
    own->done++;
}

static void await_turns(jzx_context *ctx) {
    struct ends ends = open_ends(ctx);
    struct ordered senders[3] = {
        {&ends, {"a1", "a2"}, 0}, {&ends, {"b1", "b2"}, 0}, {&ends, {"c1", "c2"}, 0}};
    jzx_actor_id ids[3];
    jzx_op op;
    faults.is_full = true;
    for (unsigned i = 0; i < 3; i++)
        ids[i] = spawn_waiting(ctx, send_in_order, &senders[i]);
    JZX_EXPECT_EQ(jzx_udp_send_to(ctx, ends.a, "op", 2, &ends.at_b, DONE, &op), JZX_OK);
    make_room(ctx, &ends);
    for (unsigned i = 0; i < 3; i++) {
        JZX_EXPECT_EQ(jzx_join(ctx, ids[i], JZX_NEVER, NULL), JZX_OK);
        JZX_EXPECT_EQ(senders[i].done, 1);
    }
    JZX_EXPECT_EQ(next_result(ctx, op), JZX_OK);
    char last[3] = {'0', '0', '0'};
    unsigned others = 0;
    for (unsigned i = 0; i < 7; i++) {
        char buf[16];
        jzx_datagram in = {.data = buf, .cap = sizeof buf};
        JZX_EXPECT_EQ(jzx_udp_receive(ctx, ends.b, &in, JZX_NEVER), JZX_OK);
        if (!JZX_EXPECT_EQ(in.len, 2) || buf[0] == 'o') {
            others++;
            continue;
        }
        JZX_EXPECT_EQ(buf[1], ++last[buf[0] - 'a']);
    }
    JZX_EXPECT_EQ(others, 1);
    for (unsigned i = 0; i < 3; i++)
        JZX_EXPECT_EQ(last[i], '2');
    finished++;
}

JZX_TEST(senders_that_wait_for_room_each_get_their_turn, "E55") {
    run_fiber(await_turns);
}

/* ---- batches that have begun ---- */

static void fill_batch(jzx_datagram out[3], const struct ends *ends) {
    static char texts[3][2] = {"a", "b", "c"};
    for (unsigned i = 0; i < 3; i++)
        out[i] = (jzx_datagram){.data = texts[i], .len = 1, .address = ends->at_b};
}

static void expect_queued(jzx_context *ctx, const struct ends *ends, uint64_t sent,
                          uint64_t queued) {
    jzx_udp_info info = {.size = sizeof info};
    JZX_EXPECT_EQ(jzx_udp_info_get(ctx->loop, ends->a, &info), JZX_OK);
    JZX_EXPECT_EQ(info.sent, sent);
    JZX_EXPECT_EQ(info.queued, queued);
}

/* One datagram goes in the call itself; or the first goes when the batch was in the queue. */
static void cancel_begun(jzx_context *ctx, bool begins_at_once, bool by_future) {
    struct ends ends = open_ends(ctx);
    jzx_datagram out[3];
    jzx_op op = JZX_NO_OP;
    jzx_future *future = NULL;
    fill_batch(out, &ends);
    faults.is_full = true;
    faults.room = begins_at_once;
    if (by_future)
        JZX_EXPECT_EQ(jzx_udp_send_batch_async(ctx->loop, ends.a, out, 3, &future), JZX_OK);
    else
        JZX_EXPECT_EQ(jzx_udp_send_batch_to(ctx, ends.a, out, 3, DONE, &op), JZX_OK);
    if (!begins_at_once) {
        expect_queued(ctx, &ends, 0, 3);
        faults.room = 2; /* one of them for b, whose arrival tells that there is room */
        JZX_EXPECT_EQ(jzx_udp_try_send(ctx, ends.b, "!", 1, &ends.at_a), JZX_OK);
        expect_datagram(ctx, ends.a, "!");
    }
    expect_datagram(ctx, ends.b, "a");
    JZX_EXPECT_EQ(faults.room, 0);
    if (by_future)
        jzx_future_cancel(future);
    else
        JZX_EXPECT_EQ(jzx_op_cancel(ctx->loop, op), JZX_OK); /* it goes on */
    expect_queued(ctx, &ends, 1, begins_at_once ? 2 : 3);
    make_room(ctx, &ends);
    if (by_future) {
        JZX_EXPECT_EQ(jzx_await(ctx, future, JZX_NEVER, NULL), JZX_OK);
        jzx_future_release(future);
    } else {
        JZX_EXPECT_EQ(next_result(ctx, op), JZX_OK);
    }
    expect_datagram(ctx, ends.b, "b");
    expect_datagram(ctx, ends.b, "c");
    expect_queued(ctx, &ends, 3, 0);
}

static void cancel_all_begun(jzx_context *ctx) {
    for (unsigned i = 0; i < 4; i++) {
        cancel_begun(ctx, i % 2 == 0, i / 2 == 0);
        faults.is_full = false;
    }
    finished++;
}

JZX_TEST(a_cancelled_batch_of_which_a_part_is_out_goes_on_to_its_end, "E55") {
    run_fiber(cancel_all_begun);
}

/* The batch of a fiber stops where it is and returns the number of datagrams that are out. */
struct partial {
    struct ends *ends;
    jzx_err wanted;
    unsigned done;
};

static void send_partly(jzx_context *ctx) {
    struct partial *own = ctx->state;
    jzx_datagram out[3];
    size_t sent = 99;
    fill_batch(out, own->ends);
    JZX_EXPECT_EQ(jzx_udp_send_batch(ctx, own->ends->a, out, 3, JZX_NEVER, &sent), own->wanted);
    JZX_EXPECT_EQ(sent, 1);
    own->done++;
}

static void cancel_fiber(jzx_context *ctx) {
    struct ends ends = open_ends(ctx);
    struct partial own = {&ends, JZX_ERR_CANCELLED, 0};
    jzx_datagram out[3];
    size_t sent = 99;
    faults.is_full = true;
    faults.room = 1;
    jzx_actor_id id = spawn_waiting(ctx, send_partly, &own);
    JZX_EXPECT_EQ(jzx_actor_stop(ctx->loop, id, JZX_STOP_AFTER_QUEUE), JZX_OK);
    JZX_EXPECT_EQ(jzx_join(ctx, id, JZX_NEVER, NULL), JZX_OK);
    JZX_EXPECT_EQ(own.done, 1);
    faults.is_full = false;
    fill_batch(out, &ends);
    make_room(ctx, &ends);
    JZX_EXPECT_EQ(jzx_udp_send_batch(ctx, ends.a, &out[1], 2, JZX_NEVER, &sent), JZX_OK);
    JZX_EXPECT_EQ(sent, 2);
    for (unsigned i = 0; i < 3; i++)
        expect_datagram(ctx, ends.b, i == 0 ? "a" : i == 1 ? "b" : "c");
    finished++;
}

JZX_TEST(a_fiber_cancelled_in_a_batch_learns_how_many_datagrams_are_out, "E55") {
    run_fiber(cancel_fiber);
}

/* ---- pieces and interruptions ---- */

static void send_piecewise(jzx_context *ctx) {
    struct ends ends = open_ends(ctx);
    jzx_datagram out[5];
    size_t sent;
    char names[5][2] = {"a", "b", "c", "d", "e"};
    for (unsigned i = 0; i < 5; i++)
        out[i] = (jzx_datagram){.data = names[i], .len = 1, .address = ends.at_b};
    faults.per_call = 2;
    faults.interrupt = 3;
    JZX_EXPECT_EQ(jzx_udp_try_send_batch(ctx, ends.a, out, 5, &sent), JZX_OK);
    JZX_EXPECT_EQ(sent, 5);
    faults.interrupt = 3;
    for (unsigned i = 0; i < 5; i++)
        expect_datagram(ctx, ends.b, names[i]);
    JZX_EXPECT_EQ(faults.interrupt, 0);
    finished++;
}

JZX_TEST(a_batch_that_goes_in_pieces_arrives_whole, "E55") {
    run_fiber(send_piecewise);
}

/* An error of the system itself ends an active socket; what has arrived waits. */
static void fail_active(jzx_context *ctx) {
    struct ends ends = open_ends(ctx);
    jzx_message msg;
    faults.receive_error = ENOMEM;
    JZX_EXPECT_EQ(jzx_udp_active(ctx, ends.b, DONE, JZX_UDP_ALWAYS), JZX_OK);
    JZX_EXPECT_EQ(jzx_udp_try_send(ctx, ends.a, "kept", 4, &ends.at_b), JZX_OK);
    JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK);
    const jzx_udp_event *event = msg.data;
    JZX_EXPECT(event->kind == JZX_UDP_ERROR && event->err == JZX_ERR_NO_MEMORY &&
               event->os_error == ENOMEM);
    expect_datagram(ctx, ends.b, "kept");
    finished++;
}

JZX_TEST(an_error_of_the_system_makes_an_active_socket_passive, "E55") {
    run_fiber(fail_active);
}

/* ---- the batches of an active socket ---- */

static void expect_data(jzx_context *ctx, unsigned count) {
    jzx_message msg;
    for (unsigned i = 0; i < count; i++) {
        JZX_EXPECT_EQ(jzx_receive(ctx, JZX_NEVER, &msg), JZX_OK);
        JZX_EXPECT_EQ(((const jzx_udp_event *)msg.data)->kind, JZX_UDP_DATA);
    }
}

/* The events of a burst come after one another, and so do those of single datagrams. */
static void change_batches(jzx_context *ctx) {
    struct ends ends = open_ends(ctx);
    unsigned most = 0;
    JZX_EXPECT_EQ(jzx_udp_active(ctx, ends.b, DONE, JZX_UDP_ALWAYS), JZX_OK);
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < 12; i++) {
            JZX_EXPECT_EQ(jzx_udp_try_send(ctx, ends.a, "x", 1, &ends.at_b), JZX_OK);
            expect_data(ctx, 1);
        }
        JZX_EXPECT_EQ(faults.asked, round == 0 ? 2 : 4); /* one is a quarter of four */
        for (unsigned i = 0; i < 64; i++)
            JZX_EXPECT_EQ(jzx_udp_try_send(ctx, ends.a, "x", 1, &ends.at_b), JZX_OK);
        most = 0;
        for (unsigned i = 0; i < 64; i++) {
            expect_data(ctx, 1);
            most = faults.asked > most ? faults.asked : most;
        }
        JZX_EXPECT_EQ(most, JZX_UDP_BATCH_MAX);
    }
    finished++;
}

JZX_TEST(the_batches_of_an_active_socket_grow_with_a_burst_and_shrink_after_it, "E55") {
    run_fiber(change_batches);
}
