/* SPDX-License-Identifier: MIT */
/* Two fibers take two locks in opposite order. The loop notices that they wait for one another, and
 * says who waits for what of whom; the observer ends one of them, and the other gets its lock. */
#include <jzx/jzx.h>
#include <stdio.h>

static jzx_mutex account[2];
static jzx_loop *loop;
static int transfers;

struct transfer {
    jzx_mutex *from, *to;
};

static void transfer(jzx_context *ctx) {
    const struct transfer *it = ctx->state;
    jzx_mutex_lock(ctx, it->from, JZX_NEVER);
    jzx_yield(ctx); /* and the other one takes its first lock */
    jzx_err err = jzx_mutex_lock(ctx, it->to, JZX_NEVER);
    if (err == JZX_ERR_OWNER_DIED)
        printf("the lock was left behind by a fiber that has ended\n");
    transfers++;
    jzx_mutex_unlock(ctx, it->to);
    jzx_mutex_unlock(ctx, it->from);
}

static void on_event(void *ctx, const jzx_event *event) {
    (void)ctx;
    if (event->kind != JZX_EVENT_DEADLOCK)
        return;
    printf("deadlock: %s\n", event->detail);
    jzx_actor_stop(loop, event->actor, JZX_STOP_KILL);
}

int main(void) {
    static struct transfer there = {&account[0], &account[1]};
    static struct transfer back = {&account[1], &account[0]};
    jzx_actor_id id;
    loop = jzx_loop_create(&JZX_CONFIG(.workers = 1, .deadlock_after_ns = JZX_MS(50),
                                       .log = {.level = JZX_LOG_ERROR}));
    jzx_loop_set_observer(loop, &JZX_OBSERVER(.on_event = on_event), NULL);
    for (int i = 0; i < 2; i++)
        jzx_mutex_init(loop, &account[i]);
    jzx_spawn(loop, &JZX_SPAWN_OPTS(.fiber = transfer, .state = &there, .name = "there"), &id);
    jzx_spawn(loop, &JZX_SPAWN_OPTS(.fiber = transfer, .state = &back, .name = "back"), &id);
    jzx_err err = jzx_loop_run(loop);
    jzx_loop_destroy(loop);
    for (int i = 0; i < 2; i++)
        jzx_mutex_deinit(&account[i]);
    return err != JZX_OK || transfers != 1;
}
