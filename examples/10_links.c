/* SPDX-License-Identifier: MIT */
/* Links and monitors: a reader and a parser live and die together; a clerk only wants to know.
 *
 * Prints the same every time: with one worker, and every message has its place. */
#include <jzx/jzx.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WATCH = 1, LINE };

static void check(jzx_err err) {
    if (err != JZX_OK) {
        fprintf(stderr, "%s\n", jzx_err_text(err));
        exit(1);
    }
}

/* ---- two that make no sense without each other ---- */

static jzx_behavior_result parse(jzx_context *ctx, const jzx_message *msg) {
    const char *line = msg->data;
    JZX_CHECK(ctx, line[0] != '!'); /* ends the parser, from any depth, with a text that says why */
    printf("parser: %s\n", line);
    return JZX_BEHAVIOR_OK;
}

static void say_goodbye(jzx_context *ctx, jzx_exit_reason reason) {
    (void)ctx;
    printf("reader: ends with %s, as its parser did\n", jzx_exit_name(reason));
}

static jzx_behavior_result read_lines(jzx_context *ctx, const jzx_message *msg) {
    const jzx_actor_id *parser = ctx->state;
    if (msg->tag == WATCH)
        check(jzx_link(ctx, *parser));
    return JZX_BEHAVIOR_OK;
}

/* ---- one that only wants to know ---- */

static jzx_behavior_result keep_books(jzx_context *ctx, const jzx_message *msg) {
    const jzx_actor_id *parser = ctx->state;
    if (msg->tag == WATCH) {
        check(jzx_monitor(ctx, *parser, NULL));
    } else if (msg->tag == JZX_TAG_DOWN) {
        const jzx_exit_notice *notice = msg->data;
        printf("clerk: the parser has ended: %s\n", strchr(notice->text, ' ') + 1);
        return JZX_BEHAVIOR_STOP;
    }
    return JZX_BEHAVIOR_OK;
}

int main(void) {
    jzx_actor_id parser;
    jzx_actor_id reader;
    jzx_actor_id clerk;
    jzx_loop *loop = jzx_loop_create(&JZX_CONFIG(.workers = 1, .log.level = JZX_LOG_OFF));
    if (loop == NULL)
        return 1;
    check(jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = parse, .name = "parser"), &parser));
    check(jzx_spawn(loop,
                    &JZX_SPAWN_OPTS(.behavior = read_lines, .state = &parser, .name = "reader",
                                    .cleanup = say_goodbye),
                    &reader));
    check(jzx_spawn(
        loop, &JZX_SPAWN_OPTS(.behavior = keep_books, .state = &parser, .name = "clerk"), &clerk));
    check(jzx_send(loop, reader, JZX_NOBODY, NULL, 0, WATCH));
    check(jzx_send(loop, clerk, JZX_NOBODY, NULL, 0, WATCH));
    check(jzx_loop_step(loop, JZX_NEVER)); /* now they watch */

    static const char *const lines[] = {"one", "two", "!", "never parsed"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        check(jzx_send(loop, parser, reader, lines[i], strlen(lines[i]) + 1, LINE));
    check(jzx_loop_run(loop)); /* returns when no actor is left */
    check(jzx_loop_destroy(loop));
    return 0;
}
