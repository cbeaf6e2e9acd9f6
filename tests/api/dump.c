/* SPDX-License-Identifier: MIT */
/* A snapshot for people, at any time and from any thread. */
#include "fixture.h"

#include <jzx/supervisor.h>

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

struct text {
    uint32_t lines;
    size_t len;
    char all[16384];
};

static void add_line(void *ctx, const char *line) {
    struct text *text = ctx;
    JZX_EXPECT(strchr(line, '\n') == NULL);
    size_t len = strlen(line);
    JZX_EXPECT(len > 0);
    text->lines++;
    if (text->len + len + 2 > sizeof text->all)
        return;
    memcpy(text->all + text->len, line, len);
    text->all[text->len + len] = '\n';
    text->all[text->len + len + 1] = '\0';
    text->len += len + 1;
}

static void dump(const jzx_loop *loop, struct text *text) {
    text->lines = 0;
    text->len = 0;
    text->all[0] = '\0';
    JZX_EXPECT_EQ(jzx_loop_dump(loop, add_line, text), JZX_OK);
}

static bool says(const struct text *text, const char *what) {
    return strstr(text->all, what) != NULL;
}

static jzx_behavior_result idle(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_dump_needs_a_loop_and_somebody_to_read_it) {
    static struct text text;
    jzx_loop *loop = fixture_loop();
    JZX_EXPECT_EQ(jzx_loop_dump(NULL, add_line, &text), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_loop_dump(loop, NULL, NULL), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(text.lines, 0);
    fixture_destroy(loop);
}

JZX_TEST(a_dump_shows_the_books_the_workers_and_the_actors_with_most_mail, "D+def", "E8") {
    static struct text text;
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 3));
    assert_non_null(loop);
    char name[16];
    jzx_actor_id ids[40];
    for (uint32_t i = 0; i < 40; i++) { /* the n-th has n messages */
        snprintf(name, sizeof name, "actor-%u.", i);
        ids[i] = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = idle, .name = name));
        for (uint32_t k = 0; k < i; k++)
            fixture_send(loop, ids[i], 1);
    }
    JZX_EXPECT_EQ(jzx_send(loop, jzx_make_id(77, 77), JZX_NOBODY, NULL, 0, 1),
                  JZX_ERR_NO_SUCH_ACTOR);
    dump(loop, &text);
    JZX_EXPECT(says(&text, "40 alive"));
    JZX_EXPECT(says(&text, "40 spawned"));
    JZX_EXPECT(says(&text, "780 accepted"));
    JZX_EXPECT(says(&text, "780 waiting"));
    JZX_EXPECT(says(&text, "1 no such actor"));
    JZX_EXPECT(says(&text, "worker 0"));
    JZX_EXPECT(says(&text, "worker 2"));
    JZX_EXPECT(!says(&text, "worker 3"));
    JZX_EXPECT(says(&text, "actor-39."));
    JZX_EXPECT(says(&text, "actor-30."));
    JZX_EXPECT(!says(&text, "actor-3."));
    JZX_EXPECT(strstr(text.all, "actor-39.") < strstr(text.all, "actor-38.")); /* deepest first */
    JZX_EXPECT(says(&text, "39 of 1024"));
    snprintf(name, sizeof name, " %u.%u ", jzx_id_index(ids[39]), jzx_id_generation(ids[39]));
    JZX_EXPECT(says(&text, name));
    JZX_EXPECT_EQ(jzx_loop_request_stop(loop), JZX_OK);
    dump(loop, &text);
    JZX_EXPECT(says(&text, "stopped"));
    fixture_destroy(loop);
}

/* ---- while it runs ---- */

struct watched {
    sem_t looked;
    struct text text;
    jzx_actor_id id;
    jzx_actor_id looker; /* of the same worker */
};

static void look(jzx_loop *loop, void *ctx) {
    struct watched *watched = ctx;
    dump(loop, &watched->text);
    sem_post(&watched->looked);
}

static jzx_behavior_result be_watched(jzx_context *ctx, const jzx_message *msg) {
    struct watched *watched = ctx->state;
    (void)msg;
    JZX_EXPECT_EQ(jzx_loop_call(ctx->loop, look, watched), JZX_OK);
    while (sem_wait(&watched->looked) != 0)
        continue;
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(a_dump_shows_what_a_worker_is_doing, "D+def", "E8") {
    static struct watched watched;
    char wanted[64];
    jzx_loop *loop = fixture_loop_with(&JZX_CONFIG(.workers = 2, .stall_after_ns = JZX_NEVER));
    assert_non_null(loop);
    sem_init(&watched.looked, 0, 0);
    watched.id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = be_watched, .state = &watched,
                                                     .place = JZX_PLACE_WORKER(1)));
    fixture_send(loop, watched.id, 4711);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    snprintf(wanted, sizeof wanted, "runs %u.%u, tag 4711", jzx_id_index(watched.id),
             jzx_id_generation(watched.id));
    const char *worker = strstr(watched.text.all, "worker 1");
    JZX_EXPECT(worker != NULL && strstr(worker, wanted) != NULL);
    fixture_destroy(loop);
}

/* Waits for what comes after its own worker has gone on without it. */
static jzx_behavior_result be_stuck(jzx_context *ctx, const jzx_message *msg) {
    struct watched *watched = ctx->state;
    (void)msg;
    fixture_send(ctx->loop, watched->looker, 1);
    while (sem_wait(&watched->looked) != 0)
        continue;
    return JZX_BEHAVIOR_STOP;
}

static jzx_behavior_result look_and_free(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    look(ctx->loop, ctx->state);
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(a_dump_names_who_runs_without_a_worker_because_it_does_not_return, "D+def", "E8") {
    static struct watched watched;
    char wanted[64];
    jzx_loop *loop = fixture_loop_with(
        &JZX_CONFIG(.workers = 2, .stall_after_ns = JZX_MS(5), .log.level = JZX_LOG_OFF));
    assert_non_null(loop);
    sem_init(&watched.looked, 0, 0);
    watched.id =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = be_stuck, .state = &watched,
                                            .name = "stuck", .place = JZX_PLACE_WORKER(1)));
    watched.looker =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = look_and_free, .state = &watched,
                                            .name = "looker", .place = JZX_PLACE_WORKER(1)));
    fixture_send(loop, watched.id, 4711);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    snprintf(wanted, sizeof wanted, "runs %u.%u stuck, tag 4711, for", jzx_id_index(watched.id),
             jzx_id_generation(watched.id));
    JZX_EXPECT(says(&watched.text, wanted));
    snprintf(wanted, sizeof wanted, "runs %u.%u looker, tag 1", jzx_id_index(watched.looker),
             jzx_id_generation(watched.looker));
    JZX_EXPECT(says(&watched.text, wanted));
    dump(loop, &watched.text);
    JZX_EXPECT(!says(&watched.text, "runs"));
    fixture_destroy(loop);
}

/* Actors with names are born and die on every worker while others look. */
struct breeder {
    uint32_t left;
    uint32_t number;
};

static jzx_behavior_result die(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    return JZX_BEHAVIOR_STOP;
}

static jzx_behavior_result breed(jzx_context *ctx, const jzx_message *msg) {
    struct breeder *self = ctx->state;
    char name[JZX_NAME_MAX + 1];
    (void)msg;
    snprintf(name, sizeof name, "a child of breeder %u with a long name, %u", self->number % 10,
             self->left % 1000);
    jzx_actor_id named =
        fixture_spawn(ctx->loop, &JZX_SPAWN_OPTS(.behavior = die, .name = name, .account = true));
    jzx_actor_id plain = fixture_spawn(ctx->loop, &JZX_SPAWN_OPTS(.behavior = die));
    fixture_send(ctx->loop, named, 1);
    fixture_send(ctx->loop, plain, 1);
    if (--self->left == 0)
        return JZX_BEHAVIOR_STOP;
    fixture_send(ctx->loop, ctx->self, 1);
    return JZX_BEHAVIOR_OK;
}

struct looker {
    jzx_loop *loop;
    _Atomic bool over;
    uint32_t looks;
    struct text text;
};

static void *look_on_and_on(void *arg) {
    struct looker *looker = arg;
    do { /* at least once, however late the thread begins */
        dump(looker->loop, &looker->text);
        JZX_EXPECT(looker->text.lines >= 5 + 3 * 4);
        JZX_EXPECT(says(&looker->text, "worker 3"));
        looker->looks++;
    } while (!looker->over);
    return NULL;
}

JZX_TEST(a_dump_may_be_taken_at_any_load_from_any_thread, "D+def", "E8") {
    enum { WORKERS = 4, LOOKERS = 2 };
    static struct looker lookers[LOOKERS];
    struct breeder breeders[2 * WORKERS];
    pthread_t threads[LOOKERS];
    jzx_loop *loop =
        fixture_loop_with(&JZX_CONFIG(.workers = WORKERS, .balance = JZX_BALANCE_EAGER));
    assert_non_null(loop);
    for (uint32_t i = 0; i < 2 * WORKERS; i++) {
        breeders[i] = (struct breeder){.left = (uint32_t)jzx_test_rounds(500, 20000), .number = i};
        uint16_t place = i < WORKERS ? JZX_PLACE_WORKER(i) : (uint16_t)JZX_PLACE_ANY;
        fixture_send(loop,
                     fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = breed, .state = &breeders[i],
                                                         .place = place)),
                     1);
    }
    for (uint32_t i = 0; i < LOOKERS; i++) {
        lookers[i].loop = loop;
        assert_int_equal(pthread_create(&threads[i], NULL, look_on_and_on, &lookers[i]), 0);
    }
    for (uint32_t round = 0; round < 3; round++) /* also while threads come and go */
        assert_int_equal(jzx_loop_run(loop), JZX_OK);
    for (uint32_t i = 0; i < LOOKERS; i++) {
        lookers[i].over = true;
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        JZX_EXPECT(lookers[i].looks >= 1);
    }
    for (uint32_t i = 0; i < 2 * WORKERS; i++)
        JZX_EXPECT_EQ(breeders[i].left, 0);
    fixture_destroy(loop);
}

/* ---- names from elsewhere ---- */

JZX_TEST(names_of_supervised_actors_forge_no_line_of_a_dump) {
    static struct text text;
    static const jzx_child_spec children[] = {{.name = "child\nforged", .behavior = idle}};
    jzx_loop *loop = fixture_loop();
    jzx_actor_id id = JZX_NOBODY;
    const jzx_supervisor_opts opts =
        JZX_SUPERVISOR_OPTS(.name = "top\nforged", JZX_CHILDREN(children));
    assert_int_equal(jzx_spawn_supervisor(loop, &opts, &id), JZX_OK);
    assert_int_equal(jzx_loop_step(loop, 0), JZX_OK);
    dump(loop, &text);
    assert_true(says(&text, "top\\nforged"));
    assert_true(says(&text, "child\\nforged"));
    fixture_destroy(loop);
}
