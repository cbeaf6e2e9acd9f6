/* SPDX-License-Identifier: MIT */
/* The echo server of examples/52_echo.c in C++, written twice: with behaviours, which are told what
 * arrives, and with fibers, which wait.
 *
 *     echo messages|fibers [PORT]     listens at 127.0.0.1:5555, or at that port, until it is
 *                                     killed; 0: at a free port
 *     echo                            tries both, with a client of its own
 *
 * It prints:
 *
 *     messages: line 1
 *     messages: line 2
 *     messages: line 3
 *     fibers: line 1
 *     fibers: line 2
 *     fibers: line 3
 */
#include <jzx/stream.hpp>

#include <iostream>
#include <string>

using namespace std::chrono_literals;

enum : std::uint32_t { START = 1, ACCEPTED, BEGIN, DATA, FLUSHED };

/* Further connections wait until others end, and idle ones are ended: a peer that does nothing
 * keeps nobody out for long. */
static constexpr std::uint32_t CONNECTIONS_MAX = 512;
static constexpr std::uint64_t IDLE_NS = JZX_SECOND(60);

/* What a server is told. */
struct server {
    std::string way;
    std::string address;
    bool has_client; /* in the same program */

    jzx::listener listen(jzx::context &ctx) const;
};

/* ---- 1: behaviours ---- */

static jzx_err echo_event(jzx::context &ctx, const jzx::stream_event &event) {
    switch (event.kind()) {
    case JZX_STREAM_DATA: return event.stream().send(ctx, event.bytes());
    case JZX_STREAM_END: return event.stream().shutdown_to(ctx, FLUSHED); /* when all is out */
    case JZX_STREAM_HIGH: return event.stream().active(ctx, DATA, 0);
    case JZX_STREAM_LOW: return event.stream().active(ctx, DATA);
    default: return event.err();
    }
}

/* A connection: it ends with its actor. Of a peer that does not read nothing more is read. */
static void echo(jzx::context &ctx, const jzx::message &msg) {
    jzx_err err = msg.tag() == BEGIN     ? msg.as<jzx::stream>().active(ctx, DATA)
                  : msg.tag() == FLUSHED ? JZX_ERR_END
                                         : echo_event(ctx, jzx::stream_event(msg));
    if (err != JZX_OK)
        ctx.exit(); /* the end, or the peer is gone */
}

/* A new actor may still move to an idle worker: the stream is registered where it begins. */
template <class Connection>
static void hand_over(jzx::context &ctx, jzx::stream stream, Connection connection) {
    try {
        jzx::actor_id id = ctx.spawn(connection);
        jzx::check(stream.give(ctx, id));
        jzx::check(ctx.send(id, stream, BEGIN));
    } catch (const jzx::error &) {
        stream.close(ctx); /* that one, and others come */
    }
}

static auto acceptor(const server &self) {
    return [self, listener = jzx::listener()](jzx::context &ctx, const jzx::message &msg) mutable {
        if (msg.tag() == START)
            listener = self.listen(ctx);
        else if (jzx::result accepted(msg); accepted.err() == JZX_OK)
            hand_over(ctx, accepted.as<jzx::stream>(), echo);
        jzx::check(listener.accept_to(ctx, ACCEPTED));
    };
}

/* ---- 2: fibers ---- */

static void echo_fiber(jzx::fiber &ctx) {
    jzx::message msg;
    char buf[4096];
    std::string_view got;
    if (ctx.receive_tag(BEGIN, msg) != JZX_OK)
        return;
    auto stream = msg.as<jzx::stream>();
    while (stream.read(ctx, buf, got) == JZX_OK && stream.write(ctx, got, ctx.in(10s)) == JZX_OK) {
    }
}

static auto acceptor_fiber(const server &self) {
    return [self](jzx::fiber &ctx) {
        jzx::listener listener = self.listen(ctx);
        for (;;)
            hand_over(ctx, listener.accept(ctx), echo_fiber);
    };
}

/* ---- a client of its own ---- */

static void call(jzx::fiber &ctx, const std::string &way, const std::string &address) {
    auto stream = jzx::stream::connect(ctx, address.c_str(), ctx.in(10s));
    char buf[64];
    std::string_view got;
    for (int i = 1; i <= 3; i++) {
        jzx::check(stream.write(ctx, way + ": line " + std::to_string(i) + "\n"));
        jzx::check(stream.read_until(ctx, '\n', buf, got));
        std::cout << got;
    }
}

jzx::listener server::listen(jzx::context &ctx) const {
    jzx_stream_opts stream = jzx::stream_options();
    jzx_listen_opts options = jzx::listen_options();
    stream.idle_ns = IDLE_NS;
    options.connections_max = CONNECTIONS_MAX;
    options.stream = &stream;
    auto listener = jzx::listener::listen(ctx, address.c_str(), options);
    std::string where = listener.address(ctx);
    if (has_client)
        ctx.spawn([way = way, where](jzx::fiber &client) {
            try {
                call(client, way, where);
            } catch (const jzx::error &it) {
                std::cerr << it.what() << "\n";
            }
            jzx_loop_request_stop(client.raw_loop());
        });
    else
        std::cout << "listening at " << where << std::endl;
    return listener;
}

/* ---- both ---- */

static jzx_err run(const server &it) {
    jzx::loop loop;
    if (it.way == "messages")
        jzx::check(loop.send(loop.spawn(acceptor(it)), START));
    else
        loop.spawn(acceptor_fiber(it));
    return loop.run();
}

int main(int argc, char **argv) {
    std::string way = argc > 1 ? argv[1] : "";
    if (argc == 1) {
        for (const char *each : {"messages", "fibers"}) {
            if (run({each, "127.0.0.1:0", true}) != JZX_OK)
                return 1;
        }
        return 0;
    }
    if (argc > 3 || (way != "messages" && way != "fibers")) {
        std::cerr << "usage: " << argv[0] << " [messages|fibers [PORT]]\n";
        return 1;
    }
    std::string port = argc == 3 ? argv[2] : "5555";
    return run({way, "127.0.0.1:" + port, false}) == JZX_OK ? 0 : 1;
}
