/* SPDX-License-Identifier: MIT */
/* Three behaviours share two ovens. A behaviour cannot suspend, so it asks for a permit and goes on
 * with other messages; the permit is its own when the message comes. A fourth one collects what was
 * baked from a channel in the same way. */
#include <jzx/jzx.h>
#include <stdio.h>

enum { BAKERS = 3, OVENS = 2, LOAVES = 2 };
enum { START = 1, OVEN_FREE, BAKED, ORDER, LOAF };

JZX_CHANNEL(loaf, int)

static jzx_semaphore ovens;
static loaf_channel shelf;
static int answered, collected;

static jzx_behavior_result baker(jzx_context *ctx, const jzx_message *msg) {
    int *left = ctx->state;
    switch (msg->tag) {
    case START: jzx_semaphore_acquire_to(ctx, &ovens, 1, OVEN_FREE, NULL); break;
    case ORDER: answered++; break; /* also while it waits for an oven */
    case OVEN_FREE:
        if (((const jzx_result *)msg->data)->err != JZX_OK)
            return JZX_BEHAVIOR_FAIL;
        jzx_send_after(ctx->loop, ctx->self, JZX_NOBODY, NULL, 0, BAKED, JZX_MS(5), NULL);
        break;
    case BAKED:
        jzx_semaphore_release(ctx, &ovens, 1);
        loaf_channel_try_send(&shelf, 1);
        if (--*left == 0)
            return JZX_BEHAVIOR_STOP;
        jzx_semaphore_acquire_to(ctx, &ovens, 1, OVEN_FREE, NULL);
        break;
    }
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result collector(jzx_context *ctx, const jzx_message *msg) {
    if (msg->tag == LOAF) {
        collected += *(int *)jzx_result_data(msg->data);
        printf("%d on the table\n", collected);
    }
    if (collected == BAKERS * LOAVES)
        return JZX_BEHAVIOR_STOP;
    loaf_channel_receive_to(ctx, &shelf, LOAF, NULL);
    return JZX_BEHAVIOR_OK;
}

int main(void) {
    jzx_loop *loop = jzx_loop_create(&JZX_CONFIG(.workers = 1));
    jzx_actor_id id;
    int left[BAKERS];
    jzx_semaphore_init(loop, &ovens, OVENS, OVENS);
    loaf_channel_init(loop, &shelf, BAKERS * LOAVES);
    for (int i = 0; i < BAKERS; i++) {
        left[i] = LOAVES;
        jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = baker, .state = &left[i]), &id);
        jzx_send(loop, id, JZX_NOBODY, NULL, 0, START);
        jzx_send(loop, id, JZX_NOBODY, NULL, 0, ORDER);
    }
    jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = collector), &id);
    jzx_send(loop, id, JZX_NOBODY, NULL, 0, START);
    jzx_err err = jzx_loop_run(loop);
    jzx_loop_destroy(loop);
    jzx_semaphore_deinit(&ovens);
    loaf_channel_deinit(&shelf);
    printf("%d orders taken\n", answered);
    return err != JZX_OK || collected != BAKERS * LOAVES || answered != BAKERS;
}
