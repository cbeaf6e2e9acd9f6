/* SPDX-License-Identifier: MIT */
/* A thread that is no actor (here: one that reads something slow) feeds an actor. Sending is safe
 * from any thread and wakes the loop at once; holding the loop keeps it from ending while the
 * thread still has something to say. */
#include <jzx/jzx.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { LINE = 1, END = 2 };

struct feed {
    jzx_loop *loop;
    int lines; /* the actor's state: it lives longer than the actor */
};

static jzx_behavior_result print_line(jzx_context *ctx, const jzx_message *msg) {
    int *lines = ctx->state;
    if (msg->tag == END) {
        printf("%d lines\n", *lines);
        return JZX_BEHAVIOR_STOP;
    }
    printf("%d: %.*s\n", ++*lines, (int)msg->len, (const char *)msg->data);
    return JZX_BEHAVIOR_OK;
}

static void *feed_lines(void *arg) {
    struct feed *feed = arg;
    static const char *const lines[] = {"from a thread", "that is not an actor", "to one that is"};
    jzx_actor_id reader;
    /* Spawning is safe from any thread, too, and the id can be used at once. */
    jzx_spawn(feed->loop, &JZX_SPAWN_OPTS(.behavior = print_line, .state = &feed->lines), &reader);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        jzx_send_async(feed->loop, reader, lines[i], strlen(lines[i]), LINE);
    jzx_send_async(feed->loop, reader, NULL, 0, END);
    jzx_loop_release(feed->loop); /* from here on the actor alone keeps the loop alive */
    return NULL;
}

int main(void) {
    struct feed feed = {.loop = jzx_loop_create(NULL)};
    pthread_t thread;
    jzx_loop_hold(feed.loop); /* there is no actor yet, but the thread will make one */
    if (pthread_create(&thread, NULL, feed_lines, &feed) != 0)
        return 1;
    jzx_err err = jzx_loop_run(feed.loop);
    pthread_join(thread, NULL);
    jzx_loop_destroy(feed.loop); /* nobody uses the loop any more */
    return err != JZX_OK;
}
