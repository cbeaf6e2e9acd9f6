/* SPDX-License-Identifier: MIT */
/* Streams in C++ (jzx/stream.hpp): fibers that wait, behaviours that are told, errors and ends. */
#include "cpp_test.hpp"

#include <jzx/stream.hpp>

#include <array>
#include <stdexcept>
#include <vector>

using namespace std::chrono_literals;

namespace {

enum : std::uint32_t { START = 1, ACCEPTED, BEGIN, DATA, FLUSHED, GOT, WRITTEN };

/* For what must happen. */
std::uint64_t later(const jzx::place &where) {
    return where.in(60s);
}

std::array<jzx::stream, 2> make_pair(jzx::context &ctx,
                                     const jzx_stream_opts &options = jzx::stream_options()) {
    jzx_stream raw[2];
    jzx::check(jzx_unix_pair(ctx.raw(), &options, raw));
    return {jzx::stream(raw[0]), jzx::stream(raw[1])};
}

/* Runs one fiber alone; what it throws fails the test. */
template <class Body> void run_alone(Body body) {
    jzx_exit_notice how = {};
    jzx::loop loop(quiet());
    auto id = loop.spawn([&](jzx::fiber &ctx) {
        jzx::message msg;
        ctx.receive_tag(START, msg);
        body(ctx);
    });
    watch_end(loop, id, &how);
    loop.send(id, START);
    JZX_EXPECT_EQ(loop.run(), JZX_OK);
    JZX_EXPECT_EQ(how.reason, JZX_EXIT_NORMAL);
    JZX_EXPECT_EQ(std::strcmp(how.text, ""), 0);
}

template <class Call> jzx_err thrown_by(Call &&call) {
    try {
        call();
    } catch (const jzx::error &it) {
        return it.code();
    }
    return JZX_OK;
}

static_assert(std::is_trivially_copyable_v<jzx::stream> &&
              std::is_trivially_copyable_v<jzx::listener> && sizeof(jzx::stream) == 8);

/* A client: two lines, a half close, and all that comes until the end. */
void talk(jzx::fiber &ctx, const std::string &address, std::string &heard) {
    auto stream = jzx::stream::connect(ctx, address.c_str(), later(ctx));
    std::vector<char> buf(64);
    std::string_view got;
    JZX_EXPECT(stream.peer(ctx) == address);
    for (const char *line : {"one\n", "two\n"}) {
        JZX_EXPECT_EQ(stream.write(ctx, line, later(ctx)), JZX_OK);
        JZX_EXPECT_EQ(stream.read_until(ctx, '\n', buf, got, later(ctx)), JZX_OK);
        JZX_EXPECT(got == line);
    }
    JZX_EXPECT_EQ(stream.write(ctx, "the rest", later(ctx)), JZX_OK);
    JZX_EXPECT_EQ(stream.shutdown(ctx, later(ctx)), JZX_OK);
    JZX_EXPECT_EQ(stream.write(ctx, "more", later(ctx)), JZX_ERR_INVALID_STATE);
    while (stream.read(ctx, buf, got, later(ctx)) == JZX_OK)
        heard += got;
    JZX_EXPECT_EQ(stream.read(ctx, buf, got, later(ctx)), JZX_ERR_END);
}

} // namespace

JZX_TEST(fibers_accept_connect_and_echo_until_a_half_close, "C19", "C24") {
    std::string heard;
    jzx::loop loop(quiet());
    loop.spawn([&](jzx::fiber &ctx) {
        auto listener = jzx::listener::listen(ctx, "127.0.0.1:0");
        std::string address = listener.address(ctx);
        ctx.spawn([&heard, address](jzx::fiber &client) { talk(client, address, heard); });
        jzx::scoped_stream stream(ctx, listener.accept(ctx, later(ctx)));
        std::array<unsigned char, 16> buf;
        std::string_view got;
        while (stream.read(ctx, buf, got, later(ctx)) == JZX_OK)
            JZX_EXPECT_EQ(stream.write(ctx, got, later(ctx)), JZX_OK);
        JZX_EXPECT_EQ(stream.write(ctx, ", and bye", later(ctx)), JZX_OK);
    });
    JZX_EXPECT_EQ(loop.run(), JZX_OK);
    JZX_EXPECT(heard == "the rest, and bye");
}

namespace {

/* A connection: it ends when all is out. */
void echo(jzx::context &ctx, const jzx::message &msg) {
    if (msg.tag() == FLUSHED) {
        JZX_EXPECT_EQ(jzx::result(msg).err(), JZX_OK);
        ctx.exit();
    }
    if (msg.tag() == BEGIN) {
        JZX_EXPECT_EQ(msg.as<jzx::stream>().active(ctx, DATA), JZX_OK);
        return;
    }
    jzx::stream_event event(msg);
    if (event.kind() == JZX_STREAM_DATA)
        JZX_EXPECT_EQ(event.stream().send(ctx, event.bytes()), JZX_OK);
    else if (event.kind() == JZX_STREAM_END)
        JZX_EXPECT_EQ(event.stream().shutdown_to(ctx, FLUSHED), JZX_OK);
    else
        throw jzx::error(event.err());
}

} // namespace

JZX_TEST(behaviours_accept_echo_and_lose_nothing_at_a_half_close, "C19", "C24") {
    std::string heard[2];
    int accepted = 0;
    jzx::loop loop(quiet());
    auto server = loop.spawn([&, listener = jzx::listener()](jzx::context &ctx,
                                                             const jzx::message &msg) mutable {
        if (msg.tag() == START) {
            listener = jzx::listener::listen(ctx, "127.0.0.1:0");
            std::string address = listener.address(ctx);
            for (std::string &each : heard)
                ctx.spawn([&each, address](jzx::fiber &client) { talk(client, address, each); });
        } else {
            auto stream = jzx::result(msg).as<jzx::stream>();
            auto id = ctx.spawn(echo);
            JZX_EXPECT_EQ(stream.give(ctx, id), JZX_OK);
            JZX_EXPECT_EQ(ctx.send(id, stream, BEGIN), JZX_OK);
            if (++accepted == 2)
                ctx.exit();
        }
        JZX_EXPECT_EQ(listener.accept_to(ctx, ACCEPTED), JZX_OK);
    });
    loop.send(server, START);
    JZX_EXPECT_EQ(loop.run(), JZX_OK);
    JZX_EXPECT(heard[0] == "the rest" && heard[1] == "the rest");
}

JZX_TEST(errors_of_streams_are_thrown_or_returned, "C19") {
    run_alone([](jzx::fiber &ctx) {
        JZX_EXPECT_EQ(thrown_by([&] { jzx::listener::listen(ctx, "nonsense"); }),
                      JZX_ERR_INVALID_ARG);
        auto listener = jzx::listener::listen(ctx, "127.0.0.1:0");
        std::string address = listener.address(ctx);
        JZX_EXPECT_EQ(thrown_by([&] { jzx::listener::listen(ctx, address.c_str()); }),
                      JZX_ERR_ADDRESS_IN_USE);
        JZX_EXPECT_EQ(thrown_by([&] { listener.accept(ctx, ctx.in(1ms)); }), JZX_ERR_TIMEOUT);
        JZX_EXPECT_EQ(listener.close(ctx), JZX_OK);
        JZX_EXPECT_EQ(listener.close(ctx), JZX_ERR_CLOSED);
        JZX_EXPECT_EQ(thrown_by([&] { jzx::stream::connect(ctx, address.c_str(), later(ctx)); }),
                      JZX_ERR_REFUSED);

        auto pair = make_pair(ctx);
        char buf[4];
        std::string_view got;
        JZX_EXPECT_EQ(pair[0].read(ctx, buf, got, ctx.in(1ms)), JZX_ERR_TIMEOUT);
        JZX_EXPECT_EQ(pair[1].write(ctx, "abc", later(ctx)), JZX_OK);
        JZX_EXPECT_EQ(pair[0].read_exact(ctx, buf, ctx.in(1ms)), JZX_ERR_TIMEOUT);
        JZX_EXPECT_EQ(pair[0].info(ctx).buffered, 3u);
        JZX_EXPECT_EQ(pair[0].read_exact(ctx, {buf, 3}, later(ctx)), JZX_OK);
        JZX_EXPECT(std::string_view(buf, 3) == "abc");
        JZX_EXPECT_EQ(pair[0].close(ctx), JZX_OK);
        JZX_EXPECT_EQ(pair[0].read(ctx, buf, got), JZX_ERR_CLOSED);
        JZX_EXPECT_EQ(thrown_by([&] { pair[0].info(ctx); }), JZX_ERR_CLOSED);
    });
}

JZX_TEST(operations_complete_by_messages_that_are_checked, "C19") {
    run_alone([](jzx::fiber &ctx) {
        auto pair = make_pair(ctx);
        jzx::message msg;
        jzx_op op;
        JZX_EXPECT_EQ(pair[0].read_to(ctx, 16, GOT, &op), JZX_OK);
        JZX_EXPECT_EQ(pair[1].write_to(ctx, "hello", WRITTEN), JZX_OK);
        JZX_EXPECT_EQ(ctx.receive_tag(GOT, msg, later(ctx)), JZX_OK);
        jzx::result got(msg);
        JZX_EXPECT_EQ(got.op(), op);
        JZX_EXPECT(got.bytes() == "hello");
        JZX_EXPECT_EQ(thrown_by([&] { got.as<jzx::stream>(); }), JZX_ERR_INVALID_ARG);
        JZX_EXPECT_EQ(ctx.receive_tag(WRITTEN, msg, later(ctx)), JZX_OK);
        JZX_EXPECT_EQ(jzx::result(msg).err(), JZX_OK);

        JZX_EXPECT_EQ(pair[0].read_to(ctx, 16, GOT), JZX_OK);
        JZX_EXPECT_EQ(pair[1].close(ctx), JZX_OK);
        JZX_EXPECT_EQ(ctx.receive_tag(GOT, msg, later(ctx)), JZX_OK);
        JZX_EXPECT_EQ(thrown_by([&] { jzx::result(msg).as<int>(); }), JZX_ERR_END);

        ctx.send(ctx.self(), 7, GOT);
        JZX_EXPECT_EQ(ctx.receive_tag(GOT, msg, later(ctx)), JZX_OK);
        JZX_EXPECT_EQ(thrown_by([&] { jzx::result{msg}; }), JZX_ERR_INVALID_ARG);
        JZX_EXPECT_EQ(thrown_by([&] { jzx::stream_event{msg}; }), JZX_ERR_INVALID_ARG);
    });
}

JZX_TEST(a_peer_that_resets_is_an_error_and_an_event, "C19") {
    run_alone([](jzx::fiber &ctx) {
        auto listener = jzx::listener::listen(ctx, "127.0.0.1:0");
        std::string address = listener.address(ctx);
        for (bool is_active : {false, true}) {
            auto out = jzx::stream::connect(ctx, address.c_str(), later(ctx));
            auto in = listener.accept(ctx, later(ctx));
            if (is_active)
                JZX_EXPECT_EQ(in.active(ctx, DATA), JZX_OK);
            JZX_EXPECT_EQ(jzx_stream_set_linger(ctx.raw_loop(), out.raw(), 0), JZX_OK);
            JZX_EXPECT_EQ(out.close(ctx), JZX_OK);
            if (is_active) {
                jzx::message msg;
                JZX_EXPECT_EQ(ctx.receive_tag(DATA, msg, later(ctx)), JZX_OK);
                jzx::stream_event event(msg);
                JZX_EXPECT_EQ(event.kind(), JZX_STREAM_ERROR);
                JZX_EXPECT_EQ(event.err(), JZX_ERR_RESET);
                JZX_EXPECT_EQ(event.stream().raw(), in.raw());
            } else {
                char buf[8];
                std::string_view got;
                JZX_EXPECT_EQ(in.read(ctx, buf, got, later(ctx)), JZX_ERR_RESET);
            }
        }
    });
}

JZX_TEST(a_stream_is_closed_with_its_owner_and_a_scoped_one_with_its_block, "C19") {
    run_alone([](jzx::fiber &ctx) {
        char buf[8];
        std::string_view got;
        auto first = make_pair(ctx);
        try {
            jzx::scoped_stream stream(ctx, first[0]);
            throw std::runtime_error("in the block");
        } catch (const std::runtime_error &) {
            JZX_EXPECT_EQ(first[1].read(ctx, buf, got, later(ctx)), JZX_ERR_END);
        }
        auto second = make_pair(ctx);
        auto owner = ctx.spawn([](jzx::context &, const jzx::message &msg) {
            JZX_EXPECT_EQ(msg.tag(), BEGIN);
            throw std::runtime_error("and the stream with it");
        });
        JZX_EXPECT_EQ(second[0].give(ctx, owner), JZX_OK);
        JZX_EXPECT_EQ(second[0].active(ctx, DATA), JZX_ERR_NOT_OWNER);
        JZX_EXPECT_EQ(ctx.send(owner, second[0], BEGIN), JZX_OK);
        JZX_EXPECT_EQ(second[1].read(ctx, buf, got, later(ctx)), JZX_ERR_END);
    });
}

namespace {

char byte_at(std::size_t place) {
    return static_cast<char>((place * 2654435761u) >> 8);
}

std::string piece_at(std::size_t place, std::size_t len) {
    std::string piece(len, '\0');
    for (std::size_t i = 0; i < len; i++)
        piece[i] = byte_at(place + i);
    return piece;
}

} // namespace

JZX_TEST(a_slow_owner_slows_its_peer_and_every_byte_arrives, "C19", "C24") {
    const std::size_t total = 4u << 20, size = 8192;
    std::size_t got = 0, written = 0;
    bool is_right = true, has_ended = false;
    run_alone([&](jzx::fiber &ctx) {
        auto pair = make_pair(ctx);
        auto owner = ctx.spawn([&](jzx::context &mine, const jzx::message &msg) {
            if (msg.tag() == BEGIN) {
                JZX_EXPECT_EQ(pair[1].active(mine, DATA), JZX_OK);
                return;
            }
            jzx::stream_event event(msg);
            has_ended = event.kind() == JZX_STREAM_END;
            if (has_ended)
                mine.exit();
            for (char byte : event.bytes())
                is_right = is_right && byte == byte_at(got++);
        });
        JZX_EXPECT_EQ(pair[1].give(ctx, owner), JZX_OK);
        /* Nobody reads: the system's room and the queue fill up. */
        jzx_err err = JZX_OK;
        while (written < total) {
            err = pair[0].send(ctx, piece_at(written, size));
            if (err != JZX_OK)
                break;
            written += size;
        }
        JZX_EXPECT_EQ(err, JZX_ERR_FULL);
        jzx::message msg;
        JZX_EXPECT_EQ(ctx.receive_tag(JZX_TAG_STREAM_HIGH, msg, later(ctx)), JZX_OK);
        JZX_EXPECT_EQ(jzx::stream_event(msg).kind(), JZX_STREAM_HIGH);
        JZX_EXPECT_EQ(ctx.send(owner, BEGIN), JZX_OK);
        JZX_EXPECT_EQ(ctx.receive_tag(JZX_TAG_STREAM_LOW, msg, later(ctx)), JZX_OK);
        for (; written < total; written += size)
            JZX_EXPECT_EQ(pair[0].write(ctx, piece_at(written, size), later(ctx)), JZX_OK);
        JZX_EXPECT_EQ(pair[0].shutdown(ctx, later(ctx)), JZX_OK);
        JZX_EXPECT_EQ(ctx.join(owner, later(ctx)).reason, JZX_EXIT_NORMAL);
    });
    JZX_EXPECT_EQ(got, total);
    JZX_EXPECT(is_right && has_ended);
}
