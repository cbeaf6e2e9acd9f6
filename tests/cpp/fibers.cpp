/* SPDX-License-Identifier: MIT */
/* Fibers in C++: waits in straight-line code, and exceptions beside other fibers. */
#include "cpp_test.hpp"

#include <atomic>
#include <stdexcept>

using namespace std::chrono_literals;

namespace {

enum : std::uint32_t { HIT = 1, GO, SILENCE, ANSWER };

} // namespace

JZX_TEST(a_fiber_receives_calls_and_sleeps, "C19") {
    jzx::loop loop(quiet());
    int done = 0;
    auto pong = loop.spawn([](jzx::fiber &ctx) {
        jzx::message msg;
        while (ctx.receive(msg) == JZX_OK && msg.tag() != GO)
            if (msg.tag() == HIT)
                JZX_EXPECT_EQ(ctx.reply(msg.as<int>() + 1, ANSWER), JZX_OK);
    });
    loop.spawn([&](jzx::fiber &ctx) {
        for (int i = 0; i < 3; i++)
            JZX_EXPECT_EQ(ctx.call<int>(pong, i, HIT), i + 1);
        JZX_EXPECT_EQ(ctx.sleep(1ms), JZX_OK);
        try {
            ctx.call<int>(pong, 0, SILENCE, ctx.in(1ms));
        } catch (const jzx::error &it) {
            JZX_EXPECT_EQ(it.code(), JZX_ERR_TIMEOUT);
            ++done;
        }
        jzx::message msg;
        JZX_EXPECT_EQ(ctx.receive_tag(GO, msg, 0), JZX_ERR_TIMEOUT);
        JZX_EXPECT_EQ(ctx.send_until(pong, 0, GO, JZX_NEVER), JZX_OK);
        JZX_EXPECT_EQ(ctx.join(pong).reason, JZX_EXIT_NORMAL);
        ++done;
    });
    JZX_EXPECT_EQ(loop.run(), JZX_OK);
    JZX_EXPECT_EQ(done, 2);
}

JZX_TEST(fibers_wait_inside_their_handlers_and_keep_their_exceptions, "C20") {
    const int count = 8;
    int kept = 0, gone_on = 0;
    jzx::loop loop(quiet());
    for (int i = 0; i < count; i++)
        loop.spawn([&, i](jzx::fiber &ctx) {
            std::string mine = "fiber " + std::to_string(i);
            try {
                try {
                    throw std::runtime_error(mine);
                } catch (const std::exception &) {
                    for (int round = 0; round < 5 + i % 3; round++)
                        ctx.yield(); /* others throw, catch and end meanwhile */
                    throw;
                }
            } catch (const std::exception &it) {
                ctx.yield();
                kept += mine == it.what();
            }
            JZX_EXPECT_EQ(std::uncaught_exceptions(), 0);
            ++gone_on;
        });
    try {
        throw std::logic_error("of the thread");
    } catch (const std::exception &it) {
        JZX_EXPECT_EQ(loop.run(), JZX_OK); /* in a handler itself */
        JZX_EXPECT_EQ(std::strcmp(it.what(), "of the thread"), 0);
    }
    JZX_EXPECT(std::current_exception() == nullptr);
    JZX_EXPECT_EQ(kept, count);
    JZX_EXPECT_EQ(gone_on, count);
}

JZX_TEST(a_fiber_that_throws_after_a_wait_fails_with_its_text, "C20") {
    int destroyed = 0;
    jzx_exit_notice how = {};
    {
        jzx::loop loop(quiet());
        auto id = loop.spawn([&](jzx::fiber &ctx) {
            witness on_the_stack(&destroyed);
            jzx::message msg;
            JZX_EXPECT_EQ(ctx.receive(msg), JZX_OK);
            throw std::runtime_error("after " + std::to_string(msg.as<int>()) + " bars");
        });
        watch_end(loop, id, &how);
        loop.send(id, 12, GO);
        JZX_EXPECT_EQ(loop.run(), JZX_OK);
    }
    JZX_EXPECT_EQ(how.reason, JZX_EXIT_FAIL);
    JZX_EXPECT_EQ(std::strcmp(how.text, "after 12 bars"), 0);
    JZX_EXPECT_EQ(destroyed, 1);
}

JZX_TEST(exceptions_of_fibers_that_move_between_threads_stay_theirs, "C20") {
    const int count = 32;
    std::atomic<int> kept{0};
    {
        jzx_config config = quiet(3);
        config.balance = JZX_BALANCE_EAGER;
        jzx::loop loop(config);
        auto options = jzx::spawn_options();
        options.migratable = true;
        for (int i = 0; i < count; i++)
            loop.spawn(
                [&, i](jzx::fiber &ctx) {
                    try {
                        throw i;
                    } catch (int) {
                        for (int round = 0; round < 50; round++)
                            ctx.yield();
                        try {
                            throw;
                        } catch (int it) {
                            kept += it == i;
                        }
                    }
                },
                options);
        JZX_EXPECT_EQ(loop.run(), JZX_OK);
    }
    JZX_EXPECT_EQ(kept.load(), count);
}
