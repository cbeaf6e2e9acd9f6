/* SPDX-License-Identifier: MIT */
/* Traffic light with a fault: a light and a timer, tested on virtual time. The pattern says that
 * the light is red before it is green again. One light keeps to it; the other one forgets the red
 * after somebody has pressed the button twice, and the report shows where. */
#include <jzx/jzx.h>
#include <jzx/test.h>
#include <stdio.h>
#include <string.h>

enum { BUTTON = 1, START = 2, EXPIRED = 3 }; /* messages */
enum { GREEN = 10, YELLOW = 11, RED = 12 };  /* outputs, and the states */

/* ---- the timer: async, it sleeps and answers ---- */

static jzx_err create_timer(void *state, jzx_processor_handle self, const void *config,
                            size_t len) {
    (void)self;
    memcpy(state, config, len); /* whom it answers */
    return JZX_OK;
}

static void run_timer(jzx_context *ctx, void *state, jzx_inbox *inbox) {
    const jzx_processor_handle *light = state;
    const jzx_action *msg;
    while (jzx_inbox_next(ctx, inbox, JZX_NEVER, &msg) == JZX_OK) {
        (void)jzx_sleep(ctx, jzx_in(ctx, JZX_SECOND(5)));
        (void)jzx_actions_send(jzx_inbox_actions(inbox), *light, EXPIRED, NULL, 0);
    }
}

static const jzx_actor_factory timer_actor =
    JZX_ACTOR_FACTORY(.type = "timer", .state_size = sizeof(jzx_processor_handle),
                      .create = create_timer, .run = run_timer);

/* ---- the light: sync ---- */

struct light {
    jzx_processor_handle timer;
    uint32_t colour;
    uint32_t presses;
};

static void init_light(void *state, jzx_actions *out) {
    struct light *light = state;
    const jzx_processor_handle self = jzx_actions_self(out);
    light->colour = GREEN;
    (void)jzx_actions_spawn_new(out, &timer_actor, &self, sizeof self, &light->timer);
}

static void turn(struct light *light, uint32_t colour, jzx_actions *out) {
    light->colour = colour;
    (void)jzx_actions_send(out, JZX_PROCESSOR_OUTPUT, colour, NULL, 0);
    if (colour != GREEN)
        (void)jzx_actions_send(out, light->timer, START, NULL, 0);
}

/* After `limit` presses it goes from yellow to green. */
static void handle_light(struct light *light, const jzx_action *msg, uint32_t limit,
                         jzx_actions *out) {
    if (msg->tag == BUTTON) {
        light->presses++;
        if (light->colour == GREEN)
            turn(light, YELLOW, out);
    } else if (msg->tag == EXPIRED) {
        bool forgets = light->presses >= limit;
        turn(light, light->colour == YELLOW && !forgets ? RED : GREEN, out);
    }
}

static void handle_good(void *state, const jzx_action *msg, jzx_actions *out) {
    handle_light(state, msg, UINT32_MAX, out);
}

static void handle_bad(void *state, const jzx_action *msg, jzx_actions *out) {
    handle_light(state, msg, 2, out);
}

static const jzx_actor_factory good_light =
    JZX_ACTOR_FACTORY(.type = "light", .state_size = sizeof(struct light), .init = init_light,
                      .handle = handle_good);
static const jzx_actor_factory bad_light =
    JZX_ACTOR_FACTORY(.type = "light", .state_size = sizeof(struct light), .init = init_light,
                      .handle = handle_bad);

/* ---- the test ---- */

#define SHOWS(colour) JZX_STEP(JZX_ALL_OF(JZX_SENT_TO(JZX_PROCESSOR_OUTPUT), JZX_HAS_TAG(colour)))
#define TO_TIMER JZX_STEP(JZX_REF(0, JZX_FIELD_TARGET))
#define EXPIRES JZX_STEP(JZX_ALL_OF(JZX_REF(0, JZX_FIELD_SOURCE), JZX_HAS_TAG(EXPIRED)))
#define PRESSED JZX_STEP(JZX_HAS_TAG(BUTTON))

static jzx_err check(const jzx_actor_factory *light, char *report, size_t size) {
    const jzx_test_input inputs[] = {{.tag = BUTTON}, {.tag = BUTTON}};
    const jzx_pattern *cycle =
        JZX_SEQUENCE(PRESSED, SHOWS(YELLOW), TO_TIMER, JZX_ZERO_OR_MORE(PRESSED), EXPIRES,
                     SHOWS(RED), TO_TIMER, EXPIRES, SHOWS(GREEN));
    const jzx_pattern *all = JZX_SEQUENCE(
        JZX_STEP(JZX_HAS_TYPE("light")),
        JZX_STEP(JZX_ALL_OF(JZX_HAS_TYPE("timer"), JZX_CAPTURE(0, JZX_FIELD_TARGET))), cycle);
    return jzx_test_verify(&JZX_TEST_VERIFY_OPTS(.root = light, .inputs = inputs, .input_count = 2,
                                                 .input_size = sizeof inputs[0], .pattern = all),
                           report, size);
}

int main(void) {
    char report[1024];
    jzx_err good = check(&good_light, report, sizeof report);
    printf("the good light: %s\n", jzx_err_name(good));
    jzx_err bad = check(&bad_light, report, sizeof report);
    printf("the bad light: %s\n%s", jzx_err_name(bad), report);
    return good == JZX_OK && bad == JZX_ERR_FAILED ? 0 : 1;
}
