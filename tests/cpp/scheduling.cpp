/* SPDX-License-Identifier: MIT */
/* The typed scheduler calls in C++: the functions of an actor type, and the typed form. */
#include "cpp_test.hpp"

namespace {

constexpr std::int64_t tick_ns = 10000000;

struct order {
    std::uint64_t price;
};

struct {
    std::uint32_t added;
    std::int64_t sum;
    std::uint32_t orders;
    std::uint64_t metadata;
    jzx_actor_id from;
} seen;

#define METER(T, STATE, ON, ASK)                                                                   \
    STATE(T, std::int64_t, sum, 0)                                                                 \
    ON(T, add, std::int64_t, value)                                                                \
    ON(T, start, jzx_actor_id, taker)
JZX_ACTOR_TYPE(meter, METER);

jzx_behavior_result meter_on_add(jzx_context *ctx, struct meter *self,
                                 const struct meter_add *msg) {
    self->sum += msg->value;
    seen.added++;
    seen.sum = self->sum;
    seen.metadata = jzx_schedule_metadata(ctx);
    seen.from = jzx_type_sender(ctx);
    return JZX_BEHAVIOR_OK;
}

jzx_behavior_result meter_on_start(jzx_context *ctx, struct meter *,
                                   const struct meter_start *msg) {
    const order bought = {30};
    jzx_schedule_opts opts;
    JZX_EXPECT_EQ(jzx_schedule_opts_init(&opts, sizeof opts), JZX_OK);
    opts.metadata = 9;
    meter_ref self = meter_ref_of(ctx->self);
    JZX_EXPECT_EQ(meter_schedule_once_add(ctx, tick_ns, self, 1, &opts, nullptr), JZX_OK);
    JZX_EXPECT_EQ(meter_schedule_at_fixed_rate_add(ctx, tick_ns, tick_ns, self, 10, &opts, nullptr),
                  JZX_OK);
    JZX_EXPECT_EQ(
        meter_schedule_with_fixed_delay_add(ctx, tick_ns, tick_ns, self, 100, &opts, nullptr),
        JZX_OK);
    JZX_EXPECT_EQ(
        JZX_SCHEDULE_ONCE_WITH_OPTIONS(ctx, order, tick_ns, msg->taker, &bought, 1, &opts, nullptr),
        JZX_OK);
    JZX_EXPECT_EQ(JZX_SCHEDULE_AT_FIXED_RATE_WITH_OPTIONS(ctx, order, tick_ns, tick_ns, msg->taker,
                                                          &bought, 1, &opts, nullptr),
                  JZX_OK);
    JZX_EXPECT_EQ(JZX_SCHEDULE_WITH_FIXED_DELAY(ctx, order, tick_ns, tick_ns, msg->taker, &bought,
                                                1, nullptr),
                  JZX_OK);
    return JZX_BEHAVIOR_OK;
}

} // namespace

JZX_TEST(a_type_schedules_its_messages_in_cpp, "B59") {
    jzx_clock *clock = jzx_clock_manual(0);
    {
        jzx_config config = quiet();
        config.clock = clock;
        jzx::loop loop(config);
        auto taker = loop.spawn([](jzx::context &, const jzx::message &msg) {
            seen.orders += msg.as<order>().price == 30;
        });
        jzx_actor_id id = JZX_NOBODY;
        JZX_EXPECT_EQ(meter_spawn(loop.raw_loop(), &id), JZX_OK);
        JZX_EXPECT_EQ(meter_post_start(loop.raw_loop(), id, taker), JZX_OK);
        for (int i = 0; i < 2; i++) {
            JZX_EXPECT_EQ(loop.step(), JZX_OK);
            JZX_EXPECT_EQ(jzx_clock_advance(clock, tick_ns), JZX_OK);
        }
        JZX_EXPECT_EQ(loop.step(), JZX_OK);
        JZX_EXPECT_EQ(seen.added, 5);
        JZX_EXPECT_EQ(seen.sum, 1 + 2 * 10 + 2 * 100);
        JZX_EXPECT_EQ(seen.orders, 5);
        JZX_EXPECT_EQ(seen.metadata, 9);
        JZX_EXPECT_EQ(seen.from, id);
    }
    JZX_EXPECT_EQ(jzx_clock_free(clock), JZX_OK);
    JZX_EXPECT_EQ(fixture_bytes(), 0);
}
