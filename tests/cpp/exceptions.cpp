/* SPDX-License-Identifier: MIT */
/* What is thrown in an actor ends that actor, with its text, and supervision follows. */
#include "cpp_test.hpp"

#include <stdexcept>

using namespace std::chrono_literals;

namespace {

enum : std::uint32_t { GO = 1, CHECK };

/* How an actor of that behaviour ends. */
template <class F> jzx_exit_notice end_of(F behavior) {
    jzx_exit_notice how = {};
    jzx::loop loop(quiet());
    auto id = loop.spawn(std::move(behavior));
    watch_end(loop, id, &how);
    loop.send(id, 1, GO);
    JZX_EXPECT_EQ(loop.run(), JZX_OK);
    return how;
}

} // namespace

JZX_TEST(an_exception_fails_the_actor_and_what_is_its_text, "C19", "C20") {
    int destroyed = 0;
    auto how = end_of([&](jzx::context &, const jzx::message &) {
        witness on_the_stack(&destroyed);
        throw std::runtime_error("out of tune");
    });
    JZX_EXPECT_EQ(how.reason, JZX_EXIT_FAIL);
    JZX_EXPECT_EQ(std::strcmp(how.text, "out of tune"), 0);
    JZX_EXPECT_EQ(destroyed, 1);
}

JZX_TEST(a_thrown_exit_ends_the_actor_from_any_depth_with_destructors, "C20") {
    int destroyed = 0;
    auto how = end_of([&](jzx::context &ctx, const jzx::message &) {
        witness outer(&destroyed);
        auto deep = [&] {
            witness inner(&destroyed);
            ctx.exit(JZX_EXIT_PANIC, "no more strings");
        };
        try {
            deep();
        } catch (const std::exception &) {
            JZX_EXPECT(false); /* an exit is none */
        }
    });
    JZX_EXPECT_EQ(how.reason, JZX_EXIT_PANIC);
    JZX_EXPECT_EQ(std::strcmp(how.text, "no more strings"), 0);
    JZX_EXPECT_EQ(destroyed, 2);
}

JZX_TEST(whatever_is_thrown_is_a_failure_and_long_texts_are_cut, "C20") {
    auto how = end_of([](jzx::context &, const jzx::message &) { throw 42; });
    JZX_EXPECT_EQ(how.reason, JZX_EXIT_FAIL);
    JZX_EXPECT_EQ(std::strcmp(how.text, "an exception of unknown type"), 0);
    how = end_of([](jzx::context &, const jzx::message &) {
        throw std::runtime_error(std::string(500, 'x'));
    });
    JZX_EXPECT_EQ(std::strlen(how.text), JZX_EXIT_TEXT_MAX);
    how = end_of([](jzx::context &, const jzx::message &msg) { (void)msg.as<double>(); });
    JZX_EXPECT_EQ(how.reason, JZX_EXIT_FAIL);
    JZX_EXPECT_EQ(std::strcmp(how.text, "invalid argument"), 0);
    how = end_of([](jzx::context &, const jzx::message &) { return JZX_BEHAVIOR_FAIL; });
    JZX_EXPECT_EQ(how.reason, JZX_EXIT_FAIL);
    JZX_EXPECT_EQ(std::strcmp(how.text, ""), 0);
}

JZX_TEST(a_supervisor_makes_a_new_lambda_after_an_exception, "C19", "C20") {
    int made = 0, destroyed = 0, value = 0;
    {
        jzx::loop loop(quiet());
        auto options = jzx::supervisor_options();
        options.intensity = 5;
        jzx::child counter("counter", [&] {
            ++made;
            return [&, count = 0, w = witness(&destroyed)](jzx::context &,
                                                           const jzx::message &msg) mutable {
                ++count;
                if (msg.tag() == CHECK)
                    value = count;
                else
                    throw std::runtime_error("dropped the sticks");
            };
        });
        auto top = loop.spawn_supervisor(options, {counter});
        loop.step();
        for (int i = 0; i < 3; i++) {
            loop.send(loop.supervisor_child(top, "counter"), GO);
            loop.step();
        }
        jzx_child_info info = {};
        info.size = sizeof info;
        JZX_EXPECT_EQ(jzx_supervisor_child_info(loop.raw_loop(), top, 0, &info), JZX_OK);
        JZX_EXPECT_EQ(info.restarts, 3);
        JZX_EXPECT_EQ(info.last_reason, JZX_EXIT_FAIL);
        JZX_EXPECT_EQ(std::strcmp(info.last_text, "dropped the sticks"), 0);
        loop.send(loop.supervisor_child(top, "counter"), CHECK);
        loop.stop(10s);
        JZX_EXPECT_EQ(loop.run(), JZX_OK);
    }
    JZX_EXPECT_EQ(value, 1);
    JZX_EXPECT_EQ(made, 4);
    JZX_EXPECT_EQ(destroyed, 4);
}

JZX_TEST(a_factory_that_throws_gives_the_tree_up, "C20") {
    jzx::loop loop(quiet());
    int made = 0;
    loop.spawn_supervisor(jzx::supervisor_options(), {jzx::child("broken", [&] {
                              ++made;
                              if (made > 0)
                                  throw std::runtime_error("no instrument");
                              return [](jzx::context &, const jzx::message &) {};
                          })});
    JZX_EXPECT_EQ(loop.run(), JZX_ERR_ESCALATED);
    JZX_EXPECT_EQ(made, 1);
}

JZX_TEST(children_are_added_and_their_factories_live_as_long_as_the_loop, "C19") {
    int runs = 0, factories = 0;
    {
        jzx::loop loop(quiet());
        auto options = jzx::supervisor_options();
        options.strategy = JZX_DYNAMIC;
        auto top = loop.spawn_supervisor(options, {});
        loop.step();
        {
            jzx::child late("late", [&, w = witness(&factories)] {
                return [&](jzx::fiber &ctx) {
                    ++runs;
                    jzx::message msg;
                    ctx.receive(msg);
                    throw std::runtime_error("again");
                };
            });
            JZX_EXPECT_EQ(loop.supervisor_add(top, late), JZX_OK);
        }
        loop.step();
        JZX_EXPECT_EQ(factories, 0);
        loop.send(loop.supervisor_child(top, "late"), GO);
        loop.step();
        JZX_EXPECT_EQ(runs, 2);
    }
    JZX_EXPECT_EQ(factories, 1);
}
