/* SPDX-License-Identifier: MIT */
/* Wrong uses of the typed form of jzx/schedule.h, each chosen by WRONG, and what gcc says of it. */
#include <jzx/actor.h>
#include <jzx/schedule.h>

struct order {
    int price;
};

struct refund {
    int price;
};

jzx_err use(jzx_context *ctx, const struct order *order, const struct refund *refund);

jzx_err use(jzx_context *ctx, const struct order *order, const struct refund *refund) {
    (void)refund;
#if WRONG == 1 /* says: pointer type mismatch */
    return JZX_SCHEDULE_ONCE(ctx, struct order, 1000, ctx->self, refund, 1, NULL);
#elif WRONG == 2 /* says: pointer type mismatch */
    return JZX_SCHEDULE_AT_FIXED_RATE(ctx, struct order, 1, 1, ctx->self, refund, 1, NULL);
#elif WRONG == 3 /* says: pointer type mismatch */
    return JZX_SCHEDULE_WITH_FIXED_DELAY(ctx, struct order, 1, 1, ctx->self, refund, 1, NULL);
#elif WRONG == 4 /* says: (pointer/integer|type) mismatch */
    return JZX_SCHEDULE_ONCE(ctx, struct order, 1000, ctx->self, order->price, 1, NULL);
#elif WRONG == 5 /* says: pointer type mismatch */
    return JZX_SCHEDULE_ONCE_WITH_OPTIONS(ctx, struct order, 1, ctx->self, refund, 1, NULL, NULL);
#elif WRONG == 6 /* says: pointer type mismatch */
    return JZX_SCHEDULE_AT_FIXED_RATE_WITH_OPTIONS(ctx, struct order, 1, 1, ctx->self, refund, 1,
                                                   NULL, NULL);
#elif WRONG == 7 /* says: pointer type mismatch */
    return JZX_SCHEDULE_WITH_FIXED_DELAY_WITH_OPTIONS(ctx, struct order, 1, 1, ctx->self, refund, 1,
                                                      NULL, NULL);
#elif WRONG == 8 /* says: argument 7 of .jzx_schedule_once_by. from incompatible pointer type */
    return JZX_SCHEDULE_ONCE_WITH_OPTIONS(ctx, struct order, 1, ctx->self, order, 1, order, NULL);
#else
    (void)JZX_SCHEDULE_ONCE_WITH_OPTIONS(ctx, struct order, 1000, ctx->self, order, 1,
                                         &JZX_SCHEDULE_OPTS(.metadata = 1), NULL);
    return JZX_SCHEDULE_ONCE(ctx, struct order, 1000, ctx->self, order, 1, NULL);
#endif
}
