/* SPDX-License-Identifier: MIT */
/* A service: an actor that blocks holds nobody up, and a signal stops it all gently. Here it sends
 * itself the SIGTERM that an operator would send. */
#include <jzx/jzx.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { REQUEST = 1, QUIT = 2 };

static jzx_loop *loop; /* for the signal handler */

/* jzx_loop_stop and jzx_loop_now may be called from a signal handler. */
static void on_term(int signal_number) {
    (void)signal_number;
    jzx_loop_stop(loop, jzx_loop_now(loop) + JZX_SECOND(5));
}

/* Stands for a call into a library that waits for a disk or a network. */
static jzx_behavior_result query(jzx_context *ctx, const jzx_message *msg) {
    usleep(50000);
    jzx_send(ctx->loop, msg->sender, ctx->self, NULL, 0, REQUEST);
    return JZX_BEHAVIOR_OK;
}

struct front {
    jzx_actor_id database;
    int answers;
};

static jzx_behavior_result serve(jzx_context *ctx, const jzx_message *msg) {
    struct front *self = ctx->state;
    if (msg->sender == self->database) {
        printf("answer %d\n", ++self->answers);
        if (self->answers == 3)
            raise(SIGTERM);
        return JZX_BEHAVIOR_OK;
    }
    for (int i = 0; i < 3; i++)
        jzx_send(ctx->loop, self->database, ctx->self, NULL, 0, REQUEST);
    return JZX_BEHAVIOR_OK;
}

/* Called on whatever thread the event happens. */
static void watch(void *ctx, const jzx_event *event) {
    (void)ctx;
    if (event->kind == JZX_EVENT_STALL)
        fprintf(stderr, "%s does not return\n", event->name);
    else if (event->kind == JZX_EVENT_STOP_LATE)
        fprintf(stderr, "%s %s\n", event->name, event->detail);
}

int main(void) {
    struct front front = {0};
    jzx_actor_id id;
    loop = jzx_loop_create(&JZX_CONFIG(.workers = 2, .log = {.level = JZX_LOG_ERROR}));
    if (loop == NULL)
        return 1;
    jzx_loop_set_observer(loop, &JZX_OBSERVER(.on_event = watch), NULL);
    jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = query, .name = "database"), &front.database);
    jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = serve, .state = &front, .name = "front"), &id);
    jzx_send(loop, id, JZX_NOBODY, NULL, 0, REQUEST);
    signal(SIGTERM, on_term);
    jzx_err err = jzx_loop_run(loop); /* until SIGTERM, and everybody has worked off what waits */
    signal(SIGTERM, SIG_DFL);
    jzx_loop_destroy(loop);
    return err != JZX_OK || front.answers != 3;
}
