/* SPDX-License-Identifier: MIT */
/* Scope with cancellation: three workers run in a scope; one fails, the others are cancelled, and
 * the close returns when all have ended, with the first error. */
#include <jzx/jzx.h>
#include <stdio.h>

struct worker {
    int number;
    jzx_err err;
    jzx_await_op wait;
};

JZX_ASYNC(worker, struct worker, int) {
    JZX_TRY(self->err,
            jzx_op_sleep(&self->wait, jzx_in(ctx, JZX_MS(self->number == 2 ? 2 : 60000))), NULL);
    if (self->err != JZX_OK) {
        printf("worker %d: %s\n", self->number, jzx_err_name(self->err));
        JZX_FAIL(self->err, NULL);
    }
    JZX_FAIL(JZX_ERR_FAILED, "out of luck");
}
JZX_END

static void run(jzx_context *ctx) {
    jzx_scope *scope;
    if (jzx_scope_open(ctx, JZX_NEVER, &scope) != JZX_OK)
        return;
    for (int i = 1; i <= 3; i++)
        (void)jzx_scope_async(scope, &worker_type, &(struct worker){.number = i}, NULL);
    jzx_err err = jzx_scope_close(ctx, scope, NULL);
    printf("scope: %s\n", jzx_err_name(err));
}

int main(void) {
    jzx_loop *loop = jzx_loop_create(NULL);
    if (loop == NULL ||
        jzx_spawn(loop, &JZX_SPAWN_OPTS(.fiber = run, .name = "run"), NULL) != JZX_OK)
        return 1;
    jzx_err err = jzx_loop_run(loop);
    (void)jzx_loop_destroy(loop);
    return err == JZX_OK ? 0 : 1;
}
