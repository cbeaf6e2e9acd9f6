/* SPDX-License-Identifier: MIT */
/* A pipeline with back-pressure: one fiber reads, three parse, one adds up. The channels between
 * them are small, so the reader waits whenever the parsers are behind. */
#include <jzx/jzx.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINES = 1000, PARSERS = 3 };

struct line {
    char text[16];
};

JZX_CHANNEL(line, struct line)
JZX_CHANNEL(number, long)

static line_channel lines;
static number_channel numbers;
static size_t most_lines;
static long sum;

static void read_lines(jzx_context *ctx) {
    for (int i = 1; i <= LINES; i++) {
        struct line line;
        snprintf(line.text, sizeof line.text, "%d", i);
        if (line_channel_send(ctx, &lines, line, JZX_NEVER) != JZX_OK)
            return;
        if (line_channel_count(&lines) > most_lines)
            most_lines = line_channel_count(&lines);
    }
    line_channel_close(&lines); /* the parsers take what is left, and end */
}

static void parse(jzx_context *ctx) {
    struct line line;
    while (line_channel_receive(ctx, &lines, JZX_NEVER, &line) == JZX_OK)
        number_channel_send(ctx, &numbers, strtol(line.text, NULL, 10), JZX_NEVER);
}

static void add_up(jzx_context *ctx) {
    long number;
    for (int i = 0; i < LINES; i++) {
        if (number_channel_receive(ctx, &numbers, JZX_NEVER, &number) == JZX_OK)
            sum += number;
    }
}

int main(void) {
    jzx_loop *loop = jzx_loop_create(NULL);
    jzx_actor_id id;
    line_channel_init(loop, &lines, 4);
    number_channel_init(loop, &numbers, 4);
    jzx_spawn(loop, &JZX_SPAWN_OPTS(.fiber = read_lines, .name = "reader"), &id);
    for (int i = 0; i < PARSERS; i++)
        jzx_spawn(loop, &JZX_SPAWN_OPTS(.fiber = parse), &id);
    jzx_spawn(loop, &JZX_SPAWN_OPTS(.fiber = add_up, .name = "sum"), &id);
    jzx_err err = jzx_loop_run(loop);
    jzx_loop_destroy(loop);
    line_channel_deinit(&lines);
    number_channel_deinit(&numbers);
    printf("the sum of %d lines is %ld; never more than 4 waited: %s\n", LINES, sum,
           most_lines <= 4 ? "yes" : "no");
    return err != JZX_OK || sum != (long)LINES * (LINES + 1) / 2 || most_lines > 4;
}
