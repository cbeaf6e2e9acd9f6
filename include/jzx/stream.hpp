/* SPDX-License-Identifier: MIT */
/* Streams for C++17: values and messages over jzx/stream.h and jzx/tcp.h, which have the contract
 * of each call. A behaviour is told what arrives, and sends without waiting:
 *
 *     stream.active(ctx, DATA);
 *     ...
 *     case DATA: {
 *         jzx::stream_event event(msg);
 *         if (event.kind() == JZX_STREAM_DATA)
 *             event.stream().send(ctx, event.bytes());
 *     }
 *
 * A fiber waits:
 *
 *     char buf[4096];
 *     std::string_view got;
 *     while (stream.read(ctx, buf, got) == JZX_OK)
 *         stream.write(ctx, got);
 *
 * Errors are those of jzx/jzx.hpp: a call that gives something back throws jzx::error, every other
 * returns a jzx_err. */
#ifndef JZX_STREAM_HPP
#define JZX_STREAM_HPP

#include "jzx/jzx.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace jzx {

inline jzx_stream_opts stream_options() {
    jzx_stream_opts it;
    check(jzx_stream_opts_init(&it, sizeof it));
    return it;
}

inline jzx_listen_opts listen_options() {
    jzx_listen_opts it;
    check(jzx_listen_opts_init(&it, sizeof it));
    return it;
}

inline jzx_connect_opts connect_options() {
    jzx_connect_opts it;
    check(jzx_connect_opts_init(&it, sizeof it));
    return it;
}

/* Room to read into: an array, or whatever has data() and size(), of single bytes. */
class room {
  public:
    room(void *data, std::size_t size) noexcept : data_(data), size_(size) {}
    template <class T, std::size_t N> room(T (&array)[N]) noexcept : room(array, N) {
        static_assert(sizeof(T) == 1, "room is made of bytes");
    }
    template <class T, class = decltype(std::declval<T &>().data())>
    room(T &container) noexcept : room(container.data(), container.size()) {
        static_assert(sizeof(*container.data()) == 1, "room is made of bytes");
    }
    char *data() const noexcept {
        return static_cast<char *>(data_);
    }
    std::size_t size() const noexcept {
        return size_;
    }

  private:
    void *data_;
    std::size_t size_;
};

/* The message of an operation that a call ending in _to has begun; the constructor throws
 * jzx::error(JZX_ERR_INVALID_ARG) if it is none. Valid as long as the message. */
class result {
  public:
    explicit result(const message &msg) : raw_(static_cast<const jzx_result *>(msg.raw().data)) {
        if (msg.size() < sizeof *raw_ || raw_->len > msg.size() - sizeof *raw_)
            throw error(JZX_ERR_INVALID_ARG);
    }
    jzx_op op() const noexcept {
        return raw_->op;
    }
    jzx_err err() const noexcept {
        return static_cast<jzx_err>(raw_->err);
    }
    int os_error() const noexcept {
        return raw_->os_error;
    }
    /* What was read. */
    std::string_view bytes() const noexcept {
        return {static_cast<const char *>(jzx_result_data(raw_)), raw_->len};
    }
    /* The value that the operation gives: the stream of an accept. Throws its error. */
    template <class T> T as() const {
        check_sendable<T>();
        check(err());
        if (raw_->len != sizeof(T))
            throw error(JZX_ERR_INVALID_ARG);
        return *static_cast<const T *>(jzx_result_data(raw_));
    }

  private:
    const jzx_result *raw_;
};

/* A connection: a plain value, which may be copied and sent. The socket belongs to an actor and is
 * closed when that ends; scoped_stream closes it before. Bytes are std::string_views. */
class stream {
  public:
    stream() noexcept = default;
    explicit stream(jzx_stream raw) noexcept : raw_(raw) {}
    /* By TCP; jzx_unix_connect and others are given to fiber::wait, and what they make to the
     * constructor. Throws. */
    static stream connect(fiber &ctx, const char *address, std::uint64_t deadline_ns = JZX_NEVER,
                          const jzx_connect_opts &options = connect_options()) {
        stream it;
        check(ctx.wait(
            [&] { return jzx_tcp_connect(ctx.raw(), address, &options, deadline_ns, &it.raw_); }));
        return it;
    }
    jzx_stream raw() const noexcept {
        return raw_;
    }

    /* A fiber waits until something has arrived: got is that part of the room. JZX_ERR_END: the
     * peer writes no more. */
    jzx_err read(fiber &ctx, room into, std::string_view &got,
                 std::uint64_t deadline_ns = JZX_NEVER) const {
        return read_by(ctx, into, got, [&](std::size_t *len) {
            return jzx_stream_read(ctx.raw(), raw_, into.data(), into.size(), deadline_ns, len);
        });
    }
    jzx_err read_exact(fiber &ctx, room into, std::uint64_t deadline_ns = JZX_NEVER) const {
        return ctx.wait([&] {
            return jzx_stream_read_exact(ctx.raw(), raw_, into.data(), into.size(), deadline_ns);
        });
    }
    /* All up to the delimiter and with it. */
    jzx_err read_until(fiber &ctx, char delimiter, room into, std::string_view &got,
                       std::uint64_t deadline_ns = JZX_NEVER) const {
        return read_by(ctx, into, got, [&](std::size_t *len) {
            return jzx_stream_read_until(ctx.raw(), raw_, delimiter, into.data(), into.size(),
                                         deadline_ns, len);
        });
    }
    jzx_err write(fiber &ctx, std::string_view bytes, std::uint64_t deadline_ns = JZX_NEVER) const {
        return ctx.wait([&] {
            return jzx_stream_write(ctx.raw(), raw_, bytes.data(), bytes.size(), deadline_ns);
        });
    }
    /* Ends the writing side when all is written. */
    jzx_err shutdown(fiber &ctx, std::uint64_t deadline_ns = JZX_NEVER) const {
        return ctx.wait([&] { return jzx_stream_shutdown(ctx.raw(), raw_, deadline_ns); });
    }

    /* For behaviours: none of these waits. What arrives comes as messages: stream_event. */
    jzx_err active(const context &ctx, std::uint32_t tag,
                   std::uint32_t count = JZX_STREAM_ALWAYS) const noexcept {
        return jzx_stream_active(ctx.raw(), raw_, tag, count);
    }
    jzx_err send(const context &ctx, std::string_view bytes) const noexcept {
        return jzx_stream_send(ctx.raw(), raw_, bytes.data(), bytes.size());
    }
    /* These complete by a message: result. */
    jzx_err read_to(const context &ctx, std::size_t cap, std::uint32_t tag,
                    jzx_op *op = nullptr) const noexcept {
        return jzx_stream_read_to(ctx.raw(), raw_, cap, tag, op);
    }
    jzx_err write_to(const context &ctx, std::string_view bytes, std::uint32_t tag,
                     jzx_op *op = nullptr) const noexcept {
        return jzx_stream_write_to(ctx.raw(), raw_, bytes.data(), bytes.size(), tag, op);
    }
    jzx_err shutdown_to(const context &ctx, std::uint32_t tag,
                        jzx_op *op = nullptr) const noexcept {
        return jzx_stream_shutdown_to(ctx.raw(), raw_, tag, op);
    }

    jzx_err give(const context &ctx, actor_id to) const noexcept {
        return jzx_stream_give(ctx.raw(), raw_, to);
    }
    /* Any thread, as the rest. */
    jzx_err close(const place &where) const noexcept {
        return jzx_stream_close(where.raw_loop(), raw_);
    }
    jzx_stream_info info(const place &where) const {
        jzx_stream_info it = {};
        it.size = sizeof it;
        check(jzx_stream_info_get(where.raw_loop(), raw_, &it));
        return it;
    }
    std::string peer(const place &where) const {
        char text[JZX_ADDRESS_MAX];
        check(jzx_stream_peer(where.raw_loop(), raw_, text, sizeof text));
        return text;
    }

  private:
    template <class Read>
    static jzx_err read_by(fiber &ctx, room into, std::string_view &got, Read &&read) {
        std::size_t len = 0;
        jzx_err err = ctx.wait([&] { return read(&len); });
        if (err == JZX_OK)
            got = {into.data(), len};
        return err;
    }
    jzx_stream raw_ = JZX_NO_STREAM;
};

/* Closes a stream at the end of a block: for an actor that outlives its connections. Not for a
 * stream that is given away. */
class scoped_stream : public stream {
  public:
    scoped_stream(const place &where, stream it) noexcept : stream(it), loop_(where.raw_loop()) {}
    ~scoped_stream() {
        (void)jzx_stream_close(loop_, raw());
    }
    scoped_stream(const scoped_stream &) = delete;
    scoped_stream &operator=(const scoped_stream &) = delete;

  private:
    jzx_loop *loop_;
};

/* The message of an active stream; the constructor throws jzx::error(JZX_ERR_INVALID_ARG) if it is
 * none. Valid as long as the message. */
class stream_event {
  public:
    explicit stream_event(const message &msg)
        : raw_(static_cast<const jzx_stream_event *>(msg.raw().data)) {
        if (msg.size() < sizeof *raw_ || raw_->len > msg.size() - sizeof *raw_)
            throw error(JZX_ERR_INVALID_ARG);
    }
    jzx::stream stream() const noexcept {
        return jzx::stream(raw_->stream);
    }
    jzx_stream_event_kind kind() const noexcept {
        return static_cast<jzx_stream_event_kind>(raw_->kind);
    }
    jzx_err err() const noexcept {
        return raw_->err;
    }
    std::string_view bytes() const noexcept {
        return {static_cast<const char *>(jzx_stream_data(raw_)), raw_->len};
    }
    const jzx_stream_event &raw() const noexcept {
        return *raw_;
    }

  private:
    const jzx_stream_event *raw_;
};

/* Takes connections: a plain value, as a stream. */
class listener {
  public:
    listener() noexcept = default;
    explicit listener(jzx_listener raw) noexcept : raw_(raw) {}
    /* By TCP; jzx_unix_listen makes others. It belongs to the calling actor. Throws. */
    static listener listen(const context &ctx, const char *address,
                           const jzx_listen_opts &options = listen_options()) {
        listener it;
        check(jzx_tcp_listen(ctx.raw(), address, &options, &it.raw_));
        return it;
    }
    jzx_listener raw() const noexcept {
        return raw_;
    }
    /* Throws. */
    stream accept(fiber &ctx, std::uint64_t deadline_ns = JZX_NEVER) const {
        jzx_stream it = JZX_NO_STREAM;
        check(ctx.wait([&] { return jzx_listener_accept(ctx.raw(), raw_, deadline_ns, &it); }));
        return stream(it);
    }
    /* By a message: result::as<jzx::stream>(). */
    jzx_err accept_to(const context &ctx, std::uint32_t tag, jzx_op *op = nullptr) const noexcept {
        return jzx_listener_accept_to(ctx.raw(), raw_, tag, op);
    }
    jzx_err close(const place &where) const noexcept {
        return jzx_listener_close(where.raw_loop(), raw_);
    }
    std::string address(const place &where) const {
        char text[JZX_ADDRESS_MAX];
        check(jzx_listener_address(where.raw_loop(), raw_, text, sizeof text));
        return text;
    }

  private:
    jzx_listener raw_ = JZX_NO_STREAM;
};

} // namespace jzx

#endif
