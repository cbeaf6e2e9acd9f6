/* SPDX-License-Identifier: MIT */
/* Wrong uses of the macros for async functions, one for each value of WRONG: house.misuse compiles
 * them all, and only 0 may pass. */
#include <jzx/async.h>

struct state {
    int number;
    jzx_await_op op;
};

struct other {
    char text[3];
};

JZX_ASYNC(right, struct state, int) {
    JZX_AWAIT(jzx_op_sleep(&self->op, 1), NULL);
#if WRONG == 1 /* says: jumps over variable initialization */
    int lost = self->number;
    JZX_AWAIT(jzx_op_sleep(&self->op, 2), NULL);
    self->number = lost;
#elif WRONG == 2 /* says: incompatible types when assigning */
    struct other result = {{0}};
    JZX_RETURN(result);
#elif WRONG == 3 /* says: has no member named */
    self->missing = 1;
#elif WRONG == 4 /* says: incompatible type for argument */
    jzx_future *future;
    (void)right_spawn(ctx->loop, (struct other){{0}}, &future);
#elif WRONG == 5 /* says: jumps over variable initialization */
    for (int i = 0; i < 3; i++)
        JZX_YIELD();
#elif WRONG == 6 /* says: incompatible types when assigning */
    JZX_AWAIT(self->number + 1.5, NULL);
#endif
    JZX_RETURN(self->number);
}
JZX_END

#if WRONG == 7 /* says: undeclared */
int outside(jzx_context *ctx);
int outside(jzx_context *ctx) {
    JZX_AWAIT(NULL, NULL);
    return ctx != NULL;
}
#endif

int use(jzx_loop *loop, jzx_future **future);
int use(jzx_loop *loop, jzx_future **future) {
    return (int)right_spawn(loop, (struct state){.number = 1}, future);
}
