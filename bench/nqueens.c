/* SPDX-License-Identifier: MIT */
/* Queens that do not attack each other: a master deals boards to 20 workers, which set one queen
 * more and give them back while there are few, and count what becomes of the others. */
#include "bench.h"

#define WORKERS 20u
#define FEW 4u /* queens, until which boards go back to the master */
#define SIZE_LEAST 4u
#define SIZE_MOST 16u

enum { BOARD, DONE };

/* The fields of the next row that are under attack, by direction; bit 0 is the first column. */
struct board {
    uint16_t down;
    uint16_t left;
    uint16_t right;
    uint16_t queens;
};

struct worker {
    BENCH_APART jzx_actor_id master;
    uint32_t all; /* the columns */
};

struct master {
    BENCH_APART uint64_t solutions;
    uint64_t missing; /* answers */
    uint32_t next;
    jzx_actor_id workers[WORKERS];
};

/* All boards may wait at once. */
static const jzx_config config = {.size = sizeof(jzx_config),
                                  .default_mailbox_cap = JZX_MAILBOX_CAP_MAX};

static const uint64_t solutions[] = {
    [4] = 2,       [5] = 10,       [6] = 4,        [7] = 40,     [8] = 92,
    [9] = 352,     [10] = 724,     [11] = 2680,    [12] = 14200, [13] = 73712,
    [14] = 365596, [15] = 2279184, [16] = 14772512};

static struct worker workers[WORKERS];

static uint64_t count(uint32_t all, uint32_t down, uint32_t left, uint32_t right) {
    if (down == all)
        return 1;
    uint64_t found = 0;
    for (uint32_t free = all & ~(down | left | right); free != 0; free &= free - 1) {
        uint32_t queen = free & -free;
        found += count(all, down | queen, (left | queen) << 1, (right | queen) >> 1);
    }
    return found;
}

static void send_board(jzx_context *ctx, jzx_actor_id to, struct board board) {
    BENCH_CHECK(jzx_send(ctx->loop, to, ctx->self, &board, sizeof board, BOARD) == JZX_OK);
}

static jzx_behavior_result set_queens(jzx_context *ctx, const jzx_message *msg) {
    struct worker *self = ctx->state;
    struct board board;
    memcpy(&board, msg->data, sizeof board);
    uint64_t found = 0;
    if (board.queens >= FEW) {
        found = count(self->all, board.down, board.left, board.right);
    } else {
        uint32_t free = self->all & ~((uint32_t)board.down | board.left | board.right);
        for (; free != 0; free &= free - 1) {
            uint32_t queen = free & -free;
            struct board next = {.down = (uint16_t)(board.down | queen),
                                 .left = (uint16_t)((board.left | queen) << 1),
                                 .right = (uint16_t)((board.right | queen) >> 1),
                                 .queens = (uint16_t)(board.queens + 1)};
            send_board(ctx, self->master, next);
        }
    }
    bench_send(ctx, self->master, DONE, found);
    return JZX_BEHAVIOR_OK;
}

static jzx_behavior_result deal(jzx_context *ctx, const jzx_message *msg) {
    struct master *self = ctx->state;
    if (msg->tag == DONE) {
        self->solutions += bench_value(msg);
        if (--self->missing == 0)
            bench_finish(ctx);
        return JZX_BEHAVIOR_OK;
    }
    struct board board;
    memcpy(&board, msg->data, sizeof board);
    send_board(ctx, self->workers[self->next], board);
    self->next = self->next + 1 < WORKERS ? self->next + 1 : 0;
    self->missing++;
    return JZX_BEHAVIOR_OK;
}

static void run(jzx_loop *loop, uint64_t size, struct bench_run *run) {
    BENCH_CHECK(size >= SIZE_LEAST && size <= SIZE_MOST);
    struct master master = {0};
    jzx_actor_id id = bench_spawn(loop, deal, &master);
    for (unsigned i = 0; i < WORKERS; i++) {
        workers[i] = (struct worker){.master = id, .all = (1u << size) - 1};
        master.workers[i] = bench_spawn(loop, set_queens, &workers[i]);
    }
    double start = bench_now();
    bench_start(loop, id, BOARD, 0); /* a board without queens */
    bench_run_to_end(loop);
    run->seconds = bench_now() - start;
    run->ops = master.solutions;
    BENCH_CHECK_EQUAL(master.missing, 0);
    BENCH_CHECK_EQUAL(master.solutions, solutions[size]);
}

const struct bench bench_nqueens = {
    .name = "nqueens",
    .op = "solution",
    .checked = "solutions",
    .batch = "1 a field",
    .kind = BENCH_BOTH,
    .run = run,
    .size = 13,
    .size_min = 8,
    .config = &config,
    .payload = 8,
    .aim = -1,
};
