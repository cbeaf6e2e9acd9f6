/* SPDX-License-Identifier: MIT */
/* Must not compile: the message of one type is scheduled for an actor of another. */
#include <jzx/jzx.hpp>

#define METER(T, STATE, ON, ASK) STATE(T, int, value, 0) ON(T, add, int, by)
#define GAUGE(T, STATE, ON, ASK) STATE(T, int, value, 0) ON(T, set, int, to)
JZX_ACTOR_MESSAGES(meter, METER);
JZX_ACTOR_MESSAGES(gauge, GAUGE);

jzx_err use(jzx_context *ctx, jzx_actor_id id) {
    return meter_schedule_once_add(ctx, 1, gauge_ref_of(id), 5, nullptr, nullptr);
}
