/* SPDX-License-Identifier: MIT */
/* libjzx for C++17: a thin layer of classes over the C interface, all in this header; those for
 * streams are in jzx/stream.hpp.
 *
 *     jzx::loop loop;
 *     auto greeter = loop.spawn([greeted = 0](jzx::context &ctx, const jzx::message &msg) mutable {
 *         std::cout << "hello, " << msg.text() << "\n";
 *         if (++greeted == 2)
 *             ctx.exit();
 *     });
 *     loop.send_text(greeter, "Ella", GREET);
 *     loop.send_text(greeter, "Duke", GREET);
 *     loop.run();
 *
 * Errors: a call that gives something back (an id, an answer) throws jzx::error if it fails; every
 * other returns a jzx_err, as in C.
 *
 * Exceptions: one that leaves the code of an actor ends that actor, with JZX_EXIT_FAIL and its
 * what() as the text, and supervision follows. A thrown jzx::exit says reason and text itself; it
 * is how an actor ends from any depth, as destructors run on the way. jzx_exit, JZX_CHECK and
 * contained faults leave by a long jump, without destructors: do not use them where frames of C++
 * have something to destroy. Exceptions do not pass through the callbacks of the C interface.
 *
 * Fibers: the stack of a fiber that is killed, or ends at a receive because the loop stops, is
 * dropped without destructors. What must be freed belongs to the callable itself, which is
 * destroyed however the actor ends. A fiber may wait inside a catch block if it waits by this
 * header's calls.
 *
 * Threads: as the C headers say. Contexts, fibers and messages are valid during a call only.
 * Needs exceptions; RTTI is not needed. */
#ifndef JZX_JZX_HPP
#define JZX_JZX_HPP

#include "jzx/jzx.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <cxxabi.h>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace jzx {

using actor_id = jzx_actor_id;

/* What a call that gives something back throws. */
class error : public std::exception {
  public:
    explicit error(jzx_err code) noexcept : code_(code) {}
    jzx_err code() const noexcept {
        return code_;
    }
    const char *what() const noexcept override {
        return jzx_err_text(code_);
    }

  private:
    jzx_err code_;
};

/* Thrown by an actor to end itself. Not a std::exception, so that handlers of those let it pass. */
struct exit {
    jzx_exit_reason reason = JZX_EXIT_NORMAL;
    std::string text;
};

inline void check(jzx_err err) {
    if (err != JZX_OK)
        throw error(err);
}

/* A duration as the C interface takes it; what is below zero is zero. */
template <class Rep, class Period> std::uint64_t ns(std::chrono::duration<Rep, Period> duration) {
    auto count = std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
    return count < 0 ? 0 : static_cast<std::uint64_t>(count);
}

/* Options with their size set and defaults in all other fields. */
inline jzx_config config() {
    jzx_config it;
    check(jzx_config_init(&it, sizeof it));
    return it;
}

inline jzx_spawn_opts spawn_options() {
    jzx_spawn_opts it;
    check(jzx_spawn_opts_init(&it, sizeof it));
    return it;
}

inline jzx_supervisor_opts supervisor_options() {
    jzx_supervisor_opts it;
    check(jzx_supervisor_opts_init(&it, sizeof it));
    return it;
}

/* Messages are copied as bytes, and aligned for any type that C has. */
template <class T> constexpr void check_sendable() {
    static_assert(std::is_trivially_copyable_v<T>,
                  "a message is copied as bytes: send a trivially copyable type");
    static_assert(alignof(T) <= alignof(std::max_align_t), "a message cannot be aligned like this");
}

/* What a behaviour was called with, or a fiber has received. */
class message {
  public:
    message() noexcept : raw_() {}
    explicit message(const jzx_message &raw) noexcept : raw_(raw) {}
    std::uint32_t tag() const noexcept {
        return raw_.tag;
    }
    actor_id sender() const noexcept {
        return raw_.sender;
    }
    std::size_t size() const noexcept {
        return raw_.len;
    }
    std::string_view text() const noexcept {
        return {static_cast<const char *>(raw_.data), raw_.len};
    }
    /* NULL if the message has another size. */
    template <class T> const T *get_if() const noexcept {
        check_sendable<T>();
        return raw_.len == sizeof(T) ? static_cast<const T *>(raw_.data) : nullptr;
    }
    /* Throws jzx::error(JZX_ERR_INVALID_ARG) if the message has another size. */
    template <class T> const T &as() const {
        const T *value = get_if<T>();
        if (value == nullptr)
            throw error(JZX_ERR_INVALID_ARG);
        return *value;
    }
    const jzx_message &raw() const noexcept {
        return raw_;
    }

  private:
    friend class fiber;
    friend class loop;
    jzx_message raw_;
};

class context;
class fiber;

namespace detail {

template <class F>
inline constexpr bool is_behavior = std::is_invocable_v<F &, context &, const message &>;
template <class F> inline constexpr bool is_fiber = std::is_invocable_v<F &, fiber &>;

/* What becomes the state of an actor: its callable, or, of a child that has not begun, what makes
 * one for each incarnation. */
struct cell {
    bool is_recipe;
};

template <class F> struct made : cell {
    explicit made(F &&callable) : cell{false}, fn(std::move(callable)) {}
    F fn;
};

template <class Factory> struct recipe : cell {
    explicit recipe(Factory &&factory) : cell{true}, make(std::move(factory)) {}
    Factory make;
};

/* How an actor ends that has thrown: plain data, as a long jump leaves it behind. */
struct ending {
    jzx_exit_reason reason;
    char text[JZX_EXIT_TEXT_MAX + 1];

    void set(jzx_exit_reason why, const char *what) noexcept {
        reason = why;
        std::strncpy(text, what, JZX_EXIT_TEXT_MAX);
        text[JZX_EXIT_TEXT_MAX] = '\0';
    }
};

/* False if the body has thrown: the exception is gone then, and how says what it was. */
template <class Body> bool guarded(Body &&body, ending &how) noexcept {
    try {
        body();
        return true;
    } catch (const exit &it) {
        how.set(it.reason, it.text.c_str());
    } catch (const std::exception &it) {
        how.set(JZX_EXIT_FAIL, it.what());
    } catch (...) {
        how.set(JZX_EXIT_FAIL, "an exception of unknown type");
    }
    return false;
}

/* What the C++ runtime keeps per thread of the exceptions that are being handled. A fiber has its
 * own: it is exchanged where the fiber begins, waits and ends. */
struct handled {
    void *caught = nullptr;
    unsigned int uncaught = 0;
};

/* The function that finds them is declared as if threads never changed: the compiler must not see
 * through this one. */
[[gnu::noinline]] inline handled exchange_handled(handled with) noexcept {
    handled before;
    void *place = abi::__cxa_get_globals();
    __asm__ volatile("" : "+r"(place) : : "memory");
    std::memcpy(&before, place, sizeof before);
    std::memcpy(place, &with, sizeof with);
    return before;
}

template <class F> struct entry;

} // namespace detail

/* What loops and contexts have in common: sending, timers, spawning. Any thread for a loop, the
 * actor's own turn for a context, whose messages name the actor as their sender. */
class place {
  public:
    jzx_loop *raw_loop() const noexcept {
        return loop_;
    }
    std::uint64_t now() const noexcept {
        return jzx_loop_now(loop_);
    }
    /* A deadline so far from now. */
    template <class Rep, class Period>
    std::uint64_t in(std::chrono::duration<Rep, Period> delay) const noexcept {
        std::uint64_t time = now(), more = ns(delay);
        return time > JZX_NEVER - more ? JZX_NEVER : time + more;
    }

    template <class T> jzx_err send(actor_id to, const T &value, std::uint32_t tag) const noexcept {
        check_sendable<T>();
        return jzx_send(loop_, to, self_, &value, sizeof value, tag);
    }
    jzx_err send(actor_id to, std::uint32_t tag) const noexcept {
        return jzx_send(loop_, to, self_, nullptr, 0, tag);
    }
    jzx_err send_text(actor_id to, std::string_view text, std::uint32_t tag) const noexcept {
        return jzx_send(loop_, to, self_, text.data(), text.size(), tag);
    }

    template <class Rep, class Period, class T>
    jzx_timer_id send_after(std::chrono::duration<Rep, Period> delay, actor_id to, const T &value,
                            std::uint32_t tag) const {
        check_sendable<T>();
        jzx_timer_id timer = JZX_NO_TIMER;
        check(jzx_send_after(loop_, to, self_, &value, sizeof value, tag, ns(delay), &timer));
        return timer;
    }
    template <class Rep, class Period, class T>
    jzx_timer_id send_every(std::chrono::duration<Rep, Period> period, actor_id to, const T &value,
                            std::uint32_t tag, jzx_repeat repeat = JZX_FIXED_RATE) const {
        check_sendable<T>();
        jzx_timer_id timer = JZX_NO_TIMER;
        check(jzx_send_every(loop_, to, self_, &value, sizeof value, tag, ns(period), repeat,
                             &timer));
        return timer;
    }
    jzx_err cancel(jzx_timer_id timer) const noexcept {
        return jzx_timer_cancel(loop_, timer);
    }

    /* An actor of a callable: behaviours take (jzx::context &, const jzx::message &) and return
     * nothing or a jzx_behavior_result, fibers take (jzx::fiber &). The callable is the actor's,
     * and destroyed with it. behavior, fiber, state and cleanup of the options are set here; an
     * init of the options must not touch the state. */
    template <class F>
    actor_id spawn(F callable, const jzx_spawn_opts &options = spawn_options()) const;

    jzx_err stop(actor_id id, jzx_stop_kind kind = JZX_STOP_AFTER_MESSAGE) const noexcept {
        return jzx_actor_stop(loop_, id, kind);
    }
    jzx_err register_name(const char *name, actor_id id) const noexcept {
        return jzx_register(loop_, name, id);
    }
    /* JZX_NOBODY if nobody has the name. */
    actor_id lookup(const char *name) const noexcept {
        actor_id id = JZX_NOBODY;
        return jzx_lookup(loop_, name, &id) == JZX_OK ? id : JZX_NOBODY;
    }

  protected:
    place(jzx_loop *loop, actor_id self) noexcept : loop_(loop), self_(self) {}
    jzx_loop *loop_;
    actor_id self_;
};

/* What an actor knows of itself. */
class context : public place {
  public:
    explicit context(jzx_context *raw) noexcept : place(raw->loop, raw->self), raw_(raw) {}
    jzx_context *raw() const noexcept {
        return raw_;
    }
    actor_id self() const noexcept {
        return self_;
    }
    [[noreturn]] void exit(jzx_exit_reason reason = JZX_EXIT_NORMAL, std::string text = {}) const {
        throw jzx::exit{reason, std::move(text)};
    }

    /* Asks: the answer, JZX_TAG_ASK_TIMEOUT or JZX_TAG_ASK_DOWN comes as a message, and ask_ref is
     * what this returns. */
    template <class T>
    std::uint64_t ask(actor_id to, const T &value, std::uint32_t tag,
                      std::uint64_t timeout_ns) const {
        check_sendable<T>();
        std::uint64_t ref = 0;
        check(jzx_ask(raw_, to, &value, sizeof value, tag, timeout_ns, &ref));
        return ref;
    }
    std::uint64_t ask_ref() const noexcept {
        return jzx_ask_ref(raw_);
    }
    jzx_monitor_ref monitor(actor_id target) const {
        jzx_monitor_ref ref = JZX_NO_MONITOR;
        check(jzx_monitor(raw_, target, &ref));
        return ref;
    }
    jzx_err link(actor_id other) const noexcept {
        return jzx_link(raw_, other);
    }
    jzx_err trap_exits(bool trap) const noexcept {
        return jzx_trap_exits(raw_, trap);
    }

    /* Answers the question that is being handled, or was received last. */
    template <class T> jzx_err reply(const T &value, std::uint32_t tag) const noexcept {
        check_sendable<T>();
        return current_ == nullptr ? JZX_ERR_INVALID_ARG
                                   : jzx_reply(raw_, current_, &value, sizeof value, tag);
    }

  protected:
    template <class F> friend struct detail::entry;
    jzx_context *raw_;
    const jzx_message *current_ = nullptr;
};

/* The context of a fiber: it may wait. Deadlines are times of the loop (place::in) or JZX_NEVER. */
class fiber : public context {
  public:
    explicit fiber(jzx_context *raw) noexcept : context(raw) {}
    fiber(const fiber &) = delete;
    fiber &operator=(const fiber &) = delete;

    /* The next message; what it refers to is valid until the next receive. */
    jzx_err receive(message &msg, std::uint64_t deadline_ns = JZX_NEVER) {
        return received(msg, [&](jzx_message *out) { return jzx_receive(raw_, deadline_ns, out); });
    }
    jzx_err receive_tag(std::uint32_t tag, message &msg, std::uint64_t deadline_ns = JZX_NEVER) {
        return received(
            msg, [&](jzx_message *out) { return jzx_receive_tag(raw_, tag, deadline_ns, out); });
    }
    template <class Rep, class Period> jzx_err sleep(std::chrono::duration<Rep, Period> delay) {
        std::uint64_t until = in(delay);
        return wait([&] { return jzx_sleep(raw_, until); });
    }
    jzx_err yield() {
        return wait([&] { return jzx_yield(raw_); });
    }
    /* Asks, and waits for the answer. Throws jzx::error: JZX_ERR_TIMEOUT, JZX_ERR_NO_SUCH_ACTOR and
     * the others of jzx_call, and JZX_ERR_INVALID_ARG for an answer of another size. */
    template <class Answer, class T>
    Answer call(actor_id to, const T &value, std::uint32_t tag,
                std::uint64_t deadline_ns = JZX_NEVER) {
        check_sendable<T>();
        jzx_message answer;
        check(wait(
            [&] { return jzx_call(raw_, to, &value, sizeof value, tag, deadline_ns, &answer); }));
        return message(answer).as<Answer>();
    }
    jzx_exit_notice join(actor_id id, std::uint64_t deadline_ns = JZX_NEVER) {
        jzx_exit_notice how;
        check(wait([&] { return jzx_join(raw_, id, deadline_ns, &how); }));
        return how;
    }
    template <class T>
    jzx_err send_until(actor_id to, const T &value, std::uint32_t tag, std::uint64_t deadline_ns) {
        check_sendable<T>();
        return wait(
            [&] { return jzx_send_until(raw_, to, &value, sizeof value, tag, deadline_ns); });
    }
    /* Any other call of the C interface that waits: fiber.wait([&] { return jzx_await(...); }). */
    template <class Wait> jzx_err wait(Wait &&call) {
        detail::handled mine = detail::exchange_handled(outer_);
        jzx_err err = call();
        outer_ = detail::exchange_handled(mine);
        return err;
    }

  private:
    template <class F> friend struct detail::entry;
    template <class Receive> jzx_err received(message &msg, Receive &&receive) {
        current_ = nullptr;
        jzx_err err = wait([&] { return receive(&received_); });
        if (err == JZX_OK) {
            current_ = &received_;
            msg.raw_ = received_;
        }
        return err;
    }
    jzx_message received_ = {};
    detail::handled outer_; /* of the thread, while the fiber runs */
};

namespace detail {

/* What the runtime calls. The frames here hold plain data where jzx_exit leaves them. */
template <class F> struct entry {
    static_assert(is_behavior<F> != is_fiber<F>,
                  "an actor is a callable of (jzx::context &, const jzx::message &) or of "
                  "(jzx::fiber &)");

    static F &callable(jzx_context *raw) noexcept {
        return static_cast<made<F> *>(static_cast<cell *>(raw->state))->fn;
    }

    static jzx_behavior_result behavior(jzx_context *raw, const jzx_message *msg) {
        jzx_behavior_result result = JZX_BEHAVIOR_OK;
        ending how;
        bool returned = guarded(
            [&] {
                context ctx(raw);
                ctx.current_ = msg;
                using result_type = std::invoke_result_t<F &, context &, const message &>;
                if constexpr (std::is_void_v<result_type>)
                    callable(raw)(ctx, message(*msg));
                else
                    result = callable(raw)(ctx, message(*msg));
            },
            how);
        if (!returned)
            jzx_exit(raw, how.reason, how.text);
        return result;
    }

    static void run(jzx_context *raw) {
        ending how;
        fiber ctx(raw);
        ctx.outer_ = exchange_handled({});
        bool returned = guarded([&] { callable(raw)(ctx); }, how);
        exchange_handled(ctx.outer_);
        if (!returned)
            jzx_exit(raw, how.reason, how.text);
    }

    static void cleanup(jzx_context *raw, jzx_exit_reason) {
        cell *state = static_cast<cell *>(raw->state);
        if (!state->is_recipe)
            delete static_cast<made<F> *>(state);
    }

    template <class Options> static void fill(Options &options, cell *state) noexcept {
        if constexpr (is_fiber<F>)
            options.fiber = run;
        else
            options.behavior = behavior;
        options.cleanup = cleanup;
        options.state = state;
    }
};

template <class Factory> jzx_err make_incarnation(jzx_context *raw) {
    using F = std::invoke_result_t<Factory &>;
    ending how;
    bool returned = guarded(
        [&] {
            auto *from = static_cast<recipe<Factory> *>(static_cast<cell *>(raw->state));
            raw->state = static_cast<cell *>(new made<F>(from->make()));
        },
        how);
    if (!returned)
        jzx_exit(raw, how.reason, how.text);
    return JZX_OK;
}

} // namespace detail

template <class F> actor_id place::spawn(F callable, const jzx_spawn_opts &options) const {
    auto state = std::make_unique<detail::made<F>>(std::move(callable));
    jzx_spawn_opts all = options;
    detail::entry<F>::fill(all, state.get());
    actor_id id = JZX_NOBODY;
    check(jzx_spawn(loop_, &all, &id));
    state.release();
    return id;
}

/* A child of a supervisor. spec may be changed before it is used: mode, backoff, times, mailbox;
 * its name must live until then. */
class child {
  public:
    /* factory() gives a callable, as place::spawn takes it, for each incarnation. */
    template <class Factory> child(const char *name, Factory factory) : spec() {
        using F = std::invoke_result_t<Factory &>;
        auto made = std::make_shared<detail::recipe<Factory>>(std::move(factory));
        spec.name = name;
        detail::entry<F>::fill(spec, made.get());
        spec.init = detail::make_incarnation<Factory>;
        keep = std::move(made);
    }
    jzx_child_spec spec;

  private:
    friend class loop;
    std::shared_ptr<void> keep;
};

/* Owns a loop. */
class loop : public place {
  public:
    /* Throws jzx::error: JZX_ERR_INVALID_ARG (jzx_config_check names the field), _NO_MEMORY. */
    explicit loop(const jzx_config &config = jzx::config()) : place(nullptr, JZX_NOBODY) {
        check(jzx_config_check(&config, nullptr));
        loop_ = jzx_loop_create(&config);
        if (loop_ == nullptr)
            throw error(JZX_ERR_NO_MEMORY);
    }
    ~loop() {
        if (loop_ != nullptr && jzx_loop_destroy(loop_) != JZX_OK)
            std::terminate(); /* it runs */
    }
    loop(const loop &) = delete;
    loop &operator=(const loop &) = delete;

    jzx_err run() noexcept {
        return jzx_loop_run(loop_);
    }
    jzx_err step(std::uint64_t deadline_ns = JZX_NEVER) noexcept {
        return jzx_loop_step(loop_, deadline_ns);
    }
    using place::stop;
    template <class Rep, class Period>
    jzx_err stop(std::chrono::duration<Rep, Period> within) noexcept {
        return jzx_loop_stop(loop_, in(within));
    }
    jzx_err request_stop() noexcept {
        return jzx_loop_request_stop(loop_);
    }
    jzx_err hold() noexcept {
        return jzx_loop_hold(loop_);
    }
    jzx_err release() noexcept {
        return jzx_loop_release(loop_);
    }

    /* Asks from a thread that is no actor, and blocks it. Throws as fiber::call. */
    template <class Answer, class T>
    Answer call_wait(actor_id to, const T &value, std::uint32_t tag,
                     std::uint64_t deadline_ns = JZX_NEVER) {
        check_sendable<T>();
        jzx_message answer;
        check(jzx_call_wait(loop_, to, &value, sizeof value, tag, deadline_ns, &answer));
        struct release {
            jzx_loop *loop;
            void *data;
            ~release() {
                jzx_msg_free(loop, data);
            }
        } guard{loop_, answer.data};
        return message(answer).as<Answer>();
    }

    /* A supervisor at the top of a tree. The factories of its children live as long as the loop. */
    actor_id spawn_supervisor(const jzx_supervisor_opts &options, std::vector<child> children) {
        std::vector<jzx_child_spec> specs;
        for (const child &it : children)
            specs.push_back(it.spec);
        jzx_supervisor_opts all = options;
        all.children = specs.data();
        all.child_count = specs.size();
        all.child_size = sizeof(jzx_child_spec);
        keep(children);
        actor_id id = JZX_NOBODY;
        check(jzx_spawn_supervisor(loop_, &all, &id));
        return id;
    }
    /* The child of that name that runs now, or JZX_NOBODY. */
    actor_id supervisor_child(actor_id supervisor, const char *name) const noexcept {
        actor_id id = JZX_NOBODY;
        return jzx_supervisor_child(loop_, supervisor, name, &id) == JZX_OK ? id : JZX_NOBODY;
    }
    jzx_err supervisor_add(actor_id supervisor, const child &it, actor_id reply_to = JZX_NOBODY) {
        keep({it});
        return jzx_supervisor_add(loop_, supervisor, &it.spec, sizeof it.spec, reply_to);
    }

  private:
    void keep(const std::vector<child> &children) {
        std::lock_guard<std::mutex> lock(mutex_);
        for (const child &it : children)
            kept_.push_back(it.keep);
    }
    std::mutex mutex_;
    std::vector<std::shared_ptr<void>> kept_;
};

} // namespace jzx

#endif
