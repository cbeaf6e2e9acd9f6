/* SPDX-License-Identifier: MIT */
/* Threads that look at actors all the time, while others spawn and the loop is run or stepped: no
 * call fails because of them, and whatever they see is an actor that lives. */
#include "fixture.h"

#include <pthread.h>
#include <string.h>

#define LOOKERS 2u

struct scene {
    jzx_loop *loop;
    _Atomic jzx_actor_id id; /* the newest actor */
    _Atomic bool is_over;
    _Atomic uint64_t looks;
    _Atomic uint64_t whole; /* looks at an actor of a loop at rest */
};

static void check(struct scene *scene, const jzx_actor_info *info) {
    JZX_EXPECT(strcmp(info->name, "seen") == 0);
    JZX_EXPECT_EQ(info->mailbox_cap, 77);
    JZX_EXPECT(info->worker == 0 || info->worker == JZX_NONE);
    if (!info->is_partial) {
        JZX_EXPECT_EQ(info->priority, JZX_PRIORITY_HIGH);
        scene->whole++;
    }
}

static void *look(void *arg) {
    struct scene *scene = arg;
    while (!scene->is_over) {
        jzx_actor_info info = {.size = sizeof info};
        jzx_actor_id id = scene->id;
        jzx_err err = jzx_actor_info_get(scene->loop, id, &info);
        JZX_EXPECT(err == JZX_OK || err == JZX_ERR_NO_SUCH_ACTOR);
        if (err == JZX_OK) {
            JZX_EXPECT_EQ(info.id, id);
            check(scene, &info);
        }
        uint64_t cursor = 0;
        while (jzx_actor_next(scene->loop, &cursor, &info) == JZX_OK)
            check(scene, &info);
        scene->looks++;
    }
    return NULL;
}

static void begin(struct scene *scene, pthread_t *threads) {
    scene->loop = fixture_loop();
    for (uint32_t i = 0; i < LOOKERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, look, scene), 0);
}

static void end(struct scene *scene, const pthread_t *threads) {
    scene->is_over = true;
    for (uint32_t i = 0; i < LOOKERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    JZX_EXPECT(scene->looks != 0);
    fixture_destroy(scene->loop);
}

static jzx_behavior_result stop_at_two(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    (void)ctx;
    return msg->tag == 2 ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

static jzx_actor_id spawn_seen(jzx_loop *loop) {
    return fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = stop_at_two, .name = "seen",
                                               .mailbox_cap = 77, .priority = JZX_PRIORITY_HIGH));
}

JZX_TEST(looks_beside_runs_never_make_them_busy) {
    struct scene scene = {0};
    pthread_t threads[LOOKERS];
    begin(&scene, threads);
    for (uint64_t round = jzx_test_rounds(5000, 50000); round > 0; round--) {
        jzx_actor_id id = spawn_seen(scene.loop);
        scene.id = id;
        fixture_send(scene.loop, id, 1);
        fixture_send(scene.loop, id, 2);
        JZX_EXPECT_EQ(jzx_loop_run(scene.loop), JZX_OK);
    }
    end(&scene, threads);
    JZX_EXPECT(jzx_test_runs() != 0);
}

JZX_TEST(looks_beside_steps_never_disturb_them) {
    struct scene scene = {0};
    pthread_t threads[LOOKERS];
    begin(&scene, threads);
    for (uint64_t round = jzx_test_rounds(5000, 50000); round > 0; round--) {
        jzx_actor_id id = spawn_seen(scene.loop);
        scene.id = id;
        for (uint32_t tag = 1; tag <= 2; tag++) {
            JZX_EXPECT(jzx_loop_fd(scene.loop) >= 0);
            fixture_send(scene.loop, id, tag);
            JZX_EXPECT(jzx_loop_alive(scene.loop));
            JZX_EXPECT_EQ(jzx_loop_next_deadline(scene.loop), 0);
            JZX_EXPECT_EQ(jzx_loop_step(scene.loop, JZX_NEVER), JZX_OK);
            JZX_EXPECT_EQ(jzx_loop_next_deadline(scene.loop), JZX_NEVER);
        }
    }
    end(&scene, threads);
    JZX_EXPECT(jzx_test_runs() != 0);
}
