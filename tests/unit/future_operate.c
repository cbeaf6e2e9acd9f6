/* SPDX-License-Identifier: MIT */
/* src/future/operate: operations of a part that the test plays, which complete futures. */
#include "future/operate.h"

#include "fixture.h"

#include <errno.h>
#include <string.h>

static unsigned cancels;
static bool completes_at_cancel;

static void note_cancel(struct jzx__op *op, struct jzx__worker *me) {
    cancels++;
    if (completes_at_cancel)
        jzx__op_complete(op, me, JZX_ERR_CANCELLED, NULL, 0);
}

static const struct jzx__op_ops can_cancel = {.cancel = note_cancel};

struct scene {
    jzx_loop *loop;
    struct jzx__op *op;
    jzx_future *future;
};

/* As a call that ends in _async. */
static struct scene begin(size_t capacity, bool has_result) {
    struct scene scene = {.loop = fixture_loop_with(&JZX_CONFIG(.workers = 1))};
    struct jzx__visit visit;
    const struct jzx__future_op what = {
        .ops = &can_cancel, .capacity = capacity, .has_result = has_result};
    cancels = 0;
    completes_at_cancel = false;
    struct jzx__worker *me = jzx__loop_visit(scene.loop, &visit);
    assert_int_equal(jzx__future_operate(scene.loop, me, &what, &scene.op, &scene.future), JZX_OK);
    jzx__op_launch(scene.op);
    jzx__visit_end(&visit);
    return scene;
}

static void complete(const struct scene *scene, jzx_err err, const void *data, size_t len) {
    struct jzx__visit visit;
    struct jzx__worker *me = jzx__loop_visit(scene->loop, &visit);
    jzx__op_complete(scene->op, me, err, data, len);
    jzx__visit_end(&visit);
}

static void end(struct scene *scene) {
    jzx_future_release(scene->future);
    fixture_destroy(scene->loop);
    assert_int_equal(fixture_bytes(), 0);
}

JZX_TEST(the_data_are_the_value) {
    struct scene scene = begin(8, false);
    uint64_t value = 0;
    assert_int_equal(jzx_future_value_size(scene.future), 8);
    assert_ptr_equal(jzx__op_data(scene.op), scene.future->value.bytes); /* B1: in place */
    complete(&scene, JZX_OK, &(uint64_t){42}, 8);
    assert_int_equal(jzx_future_try(scene.future, &value), JZX_OK);
    assert_int_equal(value, 42);
    end(&scene);
}

JZX_TEST(data_of_any_length_come_behind_a_result) {
    struct scene scene = begin(96, true);
    jzx_op id = jzx__op_id(scene.op);
    struct {
        jzx_result result;
        char data[96];
    } value;
    memset(&value, 0xff, sizeof value);
    memset(jzx__op_data(scene.op), 0xee, 96);
    assert_int_equal(jzx__op_capacity(scene.op), 96);
    assert_int_equal(jzx_future_value_size(scene.future), sizeof value);
    complete(&scene, JZX_OK, "abc", 3);
    assert_int_equal(jzx_future_try(scene.future, &value), JZX_OK);
    assert_true(value.result.op == id);
    assert_int_equal(value.result.err, JZX_OK);
    assert_int_equal(value.result.len, 3);
    assert_memory_equal(value.data, "abc", 3);
    for (size_t i = 3; i < sizeof value.data; i++)
        assert_int_equal(value.data[i], 0); /* nothing of what the part has left there */
    end(&scene);
}

JZX_TEST(an_error_of_the_system_keeps_its_text) {
    struct scene scene = begin(100, true);
    const char *text;
    jzx__op_set_os_error(scene.op, ENOENT);
    complete(&scene, JZX_ERR_NOT_FOUND, NULL, 0);
    assert_int_equal(jzx_future_error(scene.future, &text), JZX_ERR_NOT_FOUND);
    assert_string_equal(text, "No such file or directory (errno 2)");
    end(&scene);
}

/* B2. */
JZX_TEST(a_cancel_of_the_future_asks_the_part_once) {
    struct scene scene = begin(0, false);
    jzx_future_cancel(scene.future);
    jzx_future_cancel(scene.future);
    assert_int_equal(cancels, 1);
    assert_int_equal(jzx_future_state(scene.future), JZX_FUTURE_RUNNING);
    complete(&scene, JZX_OK, NULL, 0);
    assert_int_equal(jzx_future_state(scene.future), JZX_FUTURE_RESOLVED);
    jzx_future_cancel(scene.future);
    assert_int_equal(cancels, 1);
    end(&scene);
}

JZX_TEST(the_release_of_the_last_handle_cancels_and_the_slot_is_used_again) {
    struct scene scene = begin(0, false);
    jzx_op id = jzx__op_id(scene.op);
    jzx_future *second = jzx_future_ref(scene.future);
    completes_at_cancel = true;
    jzx_future_release(second);
    assert_int_equal(cancels, 0);
    jzx_future_release(scene.future);
    assert_int_equal(cancels, 1);
    assert_int_equal(jzx_op_cancel(scene.loop, id), JZX_ERR_NO_SUCH_OP);
    assert_int_equal(jzx__op_id(scene.op) >> 32, (id >> 32) + 1);
    scene.future = NULL;
    end(&scene);
}

JZX_TEST(one_that_could_not_be_started_leaves_nothing) {
    struct scene scene = begin(200, false);
    struct jzx__visit visit;
    jzx_op id = jzx__op_id(scene.op);
    struct jzx__worker *me = jzx__loop_visit(scene.loop, &visit);
    jzx__future_undo(scene.op, me);
    jzx__visit_end(&visit);
    assert_int_equal(cancels, 0);
    assert_int_equal(jzx_op_cancel(scene.loop, id), JZX_ERR_NO_SUCH_OP);
    scene.future = NULL;
    end(&scene);
}
