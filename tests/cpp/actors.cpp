/* SPDX-License-Identifier: MIT */
/* Loops, behaviours as lambdas, typed messages, timers, questions. */
#include "cpp_test.hpp"

#include <atomic>
#include <thread>

using namespace std::chrono_literals;

namespace {

enum : std::uint32_t { ADD = 1, TEXT, DONE, QUESTION, ANSWER, TICK };

struct note {
    std::uint8_t pitch;
    double seconds;
};

} // namespace

JZX_TEST(a_lambda_with_its_state_is_an_actor, "C19") {
    int destroyed = 0;
    double sum = 0;
    std::string text;
    {
        jzx::loop loop(quiet());
        auto id = loop.spawn([&, count = 0, w = witness(&destroyed)](
                                 jzx::context &ctx, const jzx::message &msg) mutable {
            switch (msg.tag()) {
            case ADD: sum += msg.as<note>().seconds + count++; break;
            case TEXT: text = msg.text(); break;
            case DONE:
                JZX_EXPECT_EQ(msg.size(), 0);
                JZX_EXPECT(msg.get_if<note>() == nullptr);
                JZX_EXPECT_EQ(msg.sender(), JZX_NOBODY);
                ctx.exit();
            }
        });
        JZX_EXPECT_EQ(loop.send(id, note{60, 0.5}, ADD), JZX_OK);
        JZX_EXPECT_EQ(loop.send(id, note{62, 0.25}, ADD), JZX_OK);
        JZX_EXPECT_EQ(loop.send_text(id, "blue note", TEXT), JZX_OK);
        JZX_EXPECT_EQ(loop.send(id, DONE), JZX_OK);
        JZX_EXPECT_EQ(destroyed, 0);
        JZX_EXPECT_EQ(loop.run(), JZX_OK);
        JZX_EXPECT_EQ(destroyed, 1);
        JZX_EXPECT_EQ(loop.send(id, DONE), JZX_ERR_NO_SUCH_ACTOR);
    }
    JZX_EXPECT(sum == 1.75);
    JZX_EXPECT(text == "blue note");
    JZX_EXPECT_EQ(fixture_bytes(), 0);
}

JZX_TEST(a_callable_is_destroyed_once_however_its_actor_ends, "C19") {
    int destroyed = 0;
    {
        jzx::loop loop(quiet());
        auto stops = [w = witness(&destroyed)](jzx::context &, const jzx::message &) {
            return JZX_BEHAVIOR_STOP;
        };
        auto first = loop.spawn(std::move(stops));
        auto killed =
            loop.spawn([w = witness(&destroyed)](jzx::context &, const jzx::message &) {});
        auto waits = loop.spawn([w = witness(&destroyed)](jzx::fiber &ctx) {
            jzx::message msg;
            ctx.receive(msg);
        });
        loop.step();
        loop.send(first, DONE);
        loop.stop(killed, JZX_STOP_KILL);
        loop.stop(waits, JZX_STOP_KILL);
        JZX_EXPECT_EQ(loop.run(), JZX_OK);
        JZX_EXPECT_EQ(destroyed, 3);
        loop.spawn([w = witness(&destroyed)](jzx::context &, const jzx::message &) {});
    }
    JZX_EXPECT_EQ(destroyed, 4);
}

JZX_TEST(what_cannot_be_made_throws_and_nothing_leaks, "C19") {
    int destroyed = 0;
    jzx_err code = JZX_OK;
    {
        jzx_config config = quiet();
        config.max_actors = 1;
        jzx::loop loop(config);
        auto idle = [](jzx::context &, const jzx::message &) {};
        loop.spawn(idle);
        try {
            loop.spawn([w = witness(&destroyed)](jzx::context &, const jzx::message &) {});
        } catch (const jzx::error &it) {
            code = it.code();
            JZX_EXPECT_EQ(std::strcmp(it.what(), jzx_err_text(JZX_ERR_MAX_ACTORS)), 0);
        }
    }
    JZX_EXPECT_EQ(code, JZX_ERR_MAX_ACTORS);
    JZX_EXPECT_EQ(destroyed, 1);
    jzx_config wrong = quiet();
    wrong.workers = 5000;
    code = JZX_OK;
    try {
        jzx::loop loop(wrong);
    } catch (const jzx::error &it) {
        code = it.code();
    }
    JZX_EXPECT_EQ(code, JZX_ERR_INVALID_ARG);
    fixture_fail_allocations(0, UINT64_MAX);
    try {
        jzx::loop loop(quiet());
    } catch (const jzx::error &it) {
        code = it.code();
    }
    fixture_fail_allocations(UINT64_MAX, 0);
    JZX_EXPECT_EQ(code, JZX_ERR_NO_MEMORY);
    JZX_EXPECT_EQ(fixture_bytes(), 0);
}

JZX_TEST(timers_are_set_by_durations_and_cancelled, "C19") {
    jzx_clock *clock = jzx_clock_manual(0);
    int once = 0, ticks = 0;
    {
        jzx_config config = quiet();
        config.clock = clock;
        jzx::loop loop(config);
        auto id = loop.spawn([&](jzx::context &, const jzx::message &msg) {
            if (msg.tag() == TICK)
                ++ticks;
            else
                once += msg.as<int>();
        });
        loop.send_after(3ms, id, 5, ADD);
        auto lost = loop.send_after(3ms, id, 100, ADD);
        loop.send_every(2ms, id, 0, TICK);
        JZX_EXPECT_EQ(loop.cancel(lost), JZX_OK);
        JZX_EXPECT_EQ(loop.cancel(lost), JZX_ERR_TIMER_INVALID);
        JZX_EXPECT_EQ(loop.in(2s), jzx::ns(2s));
        JZX_EXPECT_EQ(jzx::ns(-2s), 0);
        for (int i = 0; i < 5; i++) {
            jzx_clock_advance(clock, JZX_MS(1));
            loop.step();
        }
    }
    JZX_EXPECT_EQ(once, 5);
    JZX_EXPECT_EQ(ticks, 2);
    JZX_EXPECT_EQ(jzx_clock_free(clock), JZX_OK);
}

JZX_TEST(a_behaviour_asks_and_hears_the_answer, "C19") {
    jzx::loop loop(quiet());
    int answers = 0;
    auto bank = loop.spawn([](jzx::context &ctx, const jzx::message &msg) {
        JZX_EXPECT_EQ(ctx.reply(msg.as<int>() * 2, ANSWER), JZX_OK);
        return JZX_BEHAVIOR_STOP;
    });
    auto asker =
        loop.spawn([&, ref = std::uint64_t(0)](jzx::context &ctx, const jzx::message &msg) mutable {
            if (msg.tag() == ADD) {
                ref = ctx.ask(bank, 21, QUESTION, jzx::ns(10s));
                return JZX_BEHAVIOR_OK;
            }
            JZX_EXPECT_EQ(msg.tag(), ANSWER);
            JZX_EXPECT_EQ(ctx.ask_ref(), ref);
            JZX_EXPECT_EQ(msg.as<int>(), 42);
            ++answers;
            return JZX_BEHAVIOR_STOP;
        });
    loop.send(asker, ADD);
    JZX_EXPECT_EQ(loop.run(), JZX_OK);
    JZX_EXPECT_EQ(answers, 1);
}

JZX_TEST(a_thread_asks_and_several_workers_share_lambdas, "C19") {
    int got = 0, destroyed = 0;
    std::atomic<int> handled{0};
    {
        jzx::loop loop(quiet(2));
        auto bank = loop.spawn([&](jzx::context &ctx, const jzx::message &msg) {
            if (msg.tag() == DONE)
                ctx.exit();
            ++handled;
            ctx.reply(handled.load(), ANSWER);
        });
        JZX_EXPECT_EQ(loop.register_name("bank", bank), JZX_OK);
        loop.hold();
        std::thread thread([&] {
            for (int i = 0; i < 20; i++)
                got = loop.call_wait<int>(loop.lookup("bank"), i, QUESTION);
            loop.send(bank, DONE);
            loop.release();
        });
        for (int i = 0; i < 100; i++)
            loop.spawn([w = witness(&destroyed)](jzx::fiber &ctx) { ctx.yield(); },
                       [] {
                           auto options = jzx::spawn_options();
                           options.place = jzx_place_worker(0);
                           return options;
                       }());
        JZX_EXPECT_EQ(loop.run(), JZX_OK);
        thread.join();
        JZX_EXPECT_EQ(loop.lookup("bank"), JZX_NOBODY);
    }
    JZX_EXPECT_EQ(got, 20);
    JZX_EXPECT_EQ(destroyed, 100);
}
