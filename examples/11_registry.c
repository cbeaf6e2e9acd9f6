/* SPDX-License-Identifier: MIT */
/* Services that are found by name, and a pool of workers behind a router. The shop looks the till
 * up by its name; orders go to the cooks one after another, and an order of a regular guest always
 * to the same cook. When a cook goes home the manager, who watches the group, hears of it. */
#include <jzx/jzx.h>
#include <stdio.h>
#include <string.h>

enum { COOKS = 3, ORDERS = 6 };
enum { ORDER = 1, PAID = 2, GO_HOME = 3 };

struct cook {
    const char *name;
    int cooked;
};

static jzx_err join_kitchen(jzx_context *ctx) {
    return jzx_group_join(ctx, "kitchen");
}

/* Pays the till, whoever that is today. */
static jzx_behavior_result cook(jzx_context *ctx, const jzx_message *msg) {
    struct cook *self = ctx->state;
    if (msg->tag == GO_HOME)
        return JZX_BEHAVIOR_STOP;
    self->cooked++;
    printf("%s cooks %s\n", self->name, (const char *)msg->data);
    jzx_send_named(ctx->loop, "till", ctx->self, NULL, 0, PAID);
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result count_money(jzx_context *ctx, const jzx_message *msg) {
    int *paid = ctx->state;
    *paid += msg->tag == PAID;
    return JZX_BEHAVIOR_OK;
}

/* Who is in the kitchen now, and from now on who comes and goes. */
static jzx_err watch_kitchen(jzx_context *ctx) {
    jzx_actor_id cooks[COOKS];
    size_t count;
    jzx_err err = jzx_group_monitor(ctx, "kitchen", cooks, COOKS, &count);
    if (err == JZX_OK)
        printf("the manager sees %zu cooks\n", count);
    return err;
}

static jzx_behavior_result manage(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    if (msg->tag == JZX_TAG_GROUP_LEAVE) {
        jzx_group_event event;
        memcpy(&event, msg->data, sizeof event);
        printf("the manager hears that a cook has left the %s\n", event.group);
    }
    return JZX_BEHAVIOR_OK;
}

int main(void) {
    struct cook cooks[COOKS] = {{"Ada", 0}, {"Bea", 0}, {"Cem", 0}};
    jzx_actor_id ids[COOKS];
    jzx_actor_id till;
    jzx_actor_id found;
    int paid = 0;
    size_t delivered;
    jzx_loop *loop = jzx_loop_create(&JZX_CONFIG(.workers = 1)); /* the order of lines matters */
    if (loop == NULL)
        return 1;
    jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = count_money, .state = &paid, .daemon = true),
              &till);
    jzx_register(loop, "till", till);
    for (int i = 0; i < COOKS; i++)
        jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = cook, .state = &cooks[i], .init = join_kitchen),
                  &ids[i]);
    jzx_loop_step(loop, JZX_NEVER); /* all have joined */
    jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = manage, .init = watch_kitchen, .daemon = true),
              NULL);
    for (int i = 0; i < ORDERS; i++)
        jzx_route(loop, "kitchen", JZX_ROUTE_ROUND_ROBIN, 0, JZX_NOBODY, "soup", 5, ORDER);
    jzx_loop_step(loop, JZX_NEVER);
    for (int i = 0; i < 2; i++) /* guest 7 comes twice */
        jzx_route(loop, "kitchen", JZX_ROUTE_HASH, 7, JZX_NOBODY, "the usual", 10, ORDER);
    jzx_loop_step(loop, JZX_NEVER);

    jzx_send(loop, ids[1], JZX_NOBODY, NULL, 0, GO_HOME);
    jzx_loop_step(loop, JZX_NEVER);
    jzx_group_broadcast(loop, "kitchen", JZX_NOBODY, NULL, 0, GO_HOME, &delivered);
    printf("closing time for %zu\n", delivered);
    jzx_loop_run(loop); /* until the last cook is gone */

    printf("the till has %d, and is %s\n", paid,
           jzx_lookup(loop, "till", &found) == JZX_OK && found == till ? "found" : "lost");
    jzx_loop_destroy(loop);
    return paid == ORDERS + 2 ? 0 : 1;
}
