/* SPDX-License-Identifier: MIT */
/* libjzx from C++: an actor that is a lambda with its state, one that throws and is started again,
 * and a fiber that asks it. */
#include <jzx/jzx.hpp>

#include <iostream>
#include <stdexcept>

using namespace std::chrono_literals;

enum : std::uint32_t { GREET = 1, DIVIDE, QUOTIENT };

static auto divider() {
    return [](jzx::context &ctx, const jzx::message &msg) {
        int divisor = msg.as<int>();
        if (divisor == 0)
            throw std::domain_error("division by zero");
        ctx.reply(100 / divisor, QUOTIENT);
    };
}

static void ask(jzx::fiber &ctx, jzx::actor_id supervisor) {
    for (int divisor : {5, 0, 4}) {
        /* It runs again a moment after it has failed, under the same name. */
        jzx::actor_id id;
        while ((id = ctx.lookup("divider")) == JZX_NOBODY)
            ctx.sleep(1ms);
        try {
            int quotient = ctx.call<int>(id, divisor, DIVIDE, ctx.in(5s));
            std::cout << "100 / " << divisor << " = " << quotient << "\n";
        } catch (const jzx::error &err) {
            std::cout << "100 / " << divisor << ": " << err.what() << "\n";
        }
    }
    ctx.stop(supervisor, JZX_STOP_AFTER_QUEUE);
}

int main() {
    jzx_config config = jzx::config();
    config.workers = 1;
    config.log.level = JZX_LOG_OFF;
    jzx::loop loop(config);

    auto greeter = loop.spawn([greeted = 0](jzx::context &ctx, const jzx::message &msg) mutable {
        std::cout << "hello, " << msg.text() << "\n";
        if (++greeted == 2)
            ctx.exit();
    });
    loop.send_text(greeter, "Ella", GREET);
    loop.send_text(greeter, "Duke", GREET);
    if (loop.run() != JZX_OK)
        return 1;

    jzx::child child("divider", divider);
    child.spec.registered = "divider";
    auto top = loop.spawn_supervisor(jzx::supervisor_options(), {child});
    loop.spawn([top](jzx::fiber &ctx) { ask(ctx, top); });
    return loop.run() == JZX_OK ? 0 : 1;
}
