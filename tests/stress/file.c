/* SPDX-License-Identifier: MIT */
/* Files that actors on two workers open, write, read back, give to one another and lose by kills,
 * while a thread uses and closes them: no byte is wrong, and no descriptor is left. */
#include "descriptors.h"
#include "fixture.h"

#include <jzx/fiber.h>
#include <jzx/file.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#define FIBERS 4u

struct party {
    uint64_t rounds;
    uint64_t random;
    uint32_t index;
    uint64_t whole; /* files that were read back */
};

static _Atomic jzx_actor_id fibers[FIBERS];
static _Atomic jzx_file board[FIBERS];
static atomic_bool is_over;

static uint32_t draw(struct party *self, uint32_t below) {
    self->random = self->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(self->random >> 33) % below;
}

/* The thread may have closed it, whenever. */
static bool is_fair(jzx_err err) {
    return JZX_EXPECT(err == JZX_OK || err == JZX_ERR_CLOSED || err == JZX_ERR_BUSY);
}

static void use(jzx_context *ctx, struct party *self, jzx_file file) {
    char out[200];
    char in[200];
    size_t len = 0;
    memset(out, (int)draw(self, 256), sizeof out);
    jzx_err err = jzx_file_write(ctx, file, out, sizeof out, 0, JZX_NEVER, NULL);
    if (!is_fair(err) || err != JZX_OK)
        return;
    err = jzx_file_read(ctx, file, in, sizeof in, 0, JZX_NEVER, &len);
    if (is_fair(err) && err == JZX_OK && JZX_EXPECT_EQ(len, sizeof in))
        self->whole += JZX_EXPECT(memcmp(in, out, sizeof in) == 0);
}

static void one_round(jzx_context *ctx, struct party *self) {
    jzx_file file;
    if (!JZX_EXPECT_EQ(jzx_file_temporary(ctx, NULL, JZX_NEVER, &file), JZX_OK))
        return;
    if (draw(self, 2) == 0)
        atomic_store(&board[self->index], file);
    use(ctx, self, file);
    switch (draw(self, 3)) {
    case 0: (void)is_fair(jzx_file_close(ctx->loop, file)); break;
    case 1: {
        jzx_actor_id to = atomic_load(&fibers[draw(self, FIBERS)]);
        jzx_err err = jzx_file_give(ctx, file, to);
        JZX_EXPECT(err == JZX_OK || err == JZX_ERR_CLOSED || err == JZX_ERR_NO_SUCH_ACTOR);
        break;
    }
    default: break; /* until the end */
    }
}

static void play(jzx_context *ctx) {
    struct party *self = ctx->state;
    for (uint64_t round = 0; round < self->rounds; round++)
        one_round(ctx, self);
}

static void *close_from_outside(void *arg) {
    for (uint32_t i = 0; !atomic_load(&is_over); i++) {
        jzx_file file = atomic_exchange(&board[i % FIBERS], JZX_NO_FILE);
        jzx_future *future;
        if (file != JZX_NO_FILE && i % 2 == 0) {
            (void)jzx_file_close(arg, file);
        } else if (file != JZX_NO_FILE && jzx_file_stat_async(arg, file, &future) == JZX_OK) {
            if (i % 4 == 1)
                (void)jzx_future_wait(future, JZX_NEVER, NULL);
            jzx_future_release(future);
        }
        sched_yield();
        if (i == 3000)
            (void)jzx_actor_stop(arg, atomic_load(&fibers[0]), JZX_STOP_KILL);
    }
    return NULL;
}

JZX_TEST(files_of_many_owners_are_never_mixed_up_or_left, "E55") {
    static struct party parties[FIBERS];
    pthread_t thread;
    uint64_t whole = 0;
    int before = descriptors_open();
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 2));
    atomic_store(&is_over, false);
    for (uint32_t i = 0; i < FIBERS; i++) {
        parties[i] =
            (struct party){.rounds = jzx_test_rounds(100, 5000), .random = i + 1, .index = i};
        atomic_store(&fibers[i],
                     fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = play, .state = &parties[i])));
    }
    assert_int_equal(pthread_create(&thread, NULL, close_from_outside, loop), 0);
    JZX_EXPECT_EQ(jzx_loop_run(loop), JZX_OK);
    atomic_store(&is_over, true);
    pthread_join(thread, NULL);
    fixture_destroy(loop);
    for (uint32_t i = 0; i < FIBERS; i++)
        whole += parties[i].whole;
    JZX_EXPECT(whole != 0);
    JZX_EXPECT_EQ(descriptors_open(), before);
    JZX_EXPECT_EQ(fixture_bytes(), 0);
}
