/* SPDX-License-Identifier: MIT */
/* Five clients share a service that may be asked three times per interval. Permits of a semaphore
 * are used up, and a fiber brings new ones whenever an interval begins. */
#include <jzx/jzx.h>
#include <stdio.h>

enum { PER_INTERVAL = 3, CLIENTS = 5, REQUESTS = 2 };

static jzx_semaphore permits;
static int asked;

static void client(jzx_context *ctx) {
    for (int i = 0; i < REQUESTS; i++) {
        if (jzx_semaphore_acquire(ctx, &permits, 1, jzx_in(ctx, JZX_SECOND(10))) != JZX_OK)
            return;
        jzx_semaphore_forget(ctx, &permits, 1); /* used up: it does not come back with us */
        asked++;
    }
}

static void interval(jzx_context *ctx) {
    while (asked < CLIENTS * REQUESTS) {
        uint32_t left = jzx_semaphore_available(&permits);
        printf("asked %d times\n", asked);
        if (left < PER_INTERVAL)
            jzx_semaphore_release(ctx, &permits, PER_INTERVAL - left);
        jzx_sleep(ctx, jzx_in(ctx, JZX_MS(10)));
    }
}

int main(void) {
    jzx_loop *loop = jzx_loop_create(&JZX_CONFIG(.workers = 1));
    jzx_actor_id id;
    jzx_semaphore_init(loop, &permits, 0, PER_INTERVAL);
    for (int i = 0; i < CLIENTS; i++)
        jzx_spawn(loop, &JZX_SPAWN_OPTS(.fiber = client), &id);
    jzx_spawn(loop, &JZX_SPAWN_OPTS(.fiber = interval), &id);
    jzx_err err = jzx_loop_run(loop);
    jzx_loop_destroy(loop);
    jzx_semaphore_deinit(&permits);
    return err != JZX_OK || asked != CLIENTS * REQUESTS;
}
