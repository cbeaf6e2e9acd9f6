/* SPDX-License-Identifier: MIT */
/* The same from C++17; and the families of the pools, whose code is compiled here. */
#include <jzx/jzx.hpp>

#include <iostream>

namespace {

struct enemy {
    int health = 0;
};

JZX_POOL(enemy, enemy)
JZX_SHARED_POOL(score, long)

bool keep_alive(enemy_ref, enemy *value, void *) {
    return value->health > 0;
}

bool keep_none(score_ref, const long *, void *) {
    return false;
}

bool pools_work() {
    enemy_pool *pool = nullptr;
    enemy_ref ref = {JZX_NO_REF};
    enemy orc;
    orc.health = 3;
    if (enemy_pool_create(2, nullptr, &pool) != JZX_OK ||
        enemy_pool_new(pool, &orc, &ref) != JZX_OK)
        return false;
    enemy_pool_get_mut(pool, ref)->health -= 3;
    enemy_ref at = {JZX_NO_REF};
    bool held = enemy_pool_get(pool, ref)->health == 0 && enemy_pool_next(pool, &at) != nullptr &&
                enemy_pool_retain(pool, keep_alive, nullptr) == 1 && !enemy_pool_valid(pool, ref) &&
                enemy_pool_compact(pool, &ref, 1) == 0;
    return enemy_pool_destroy(pool) == JZX_OK && held;
}

bool shared_pools_work() {
    score_pool *pool = nullptr;
    score_ref ref = {JZX_NO_REF};
    score_edit edit;
    long value = 41;
    if (score_pool_create(1, nullptr, &pool) != JZX_OK ||
        score_pool_new(pool, &value, &ref) != JZX_OK || !score_pool_get_mut(pool, ref, &edit))
        return false;
    edit.value++;
    bool held = score_pool_commit(pool, &edit) && score_pool_get(pool, ref, &value) &&
                value == 42 && score_pool_retain(pool, keep_none, nullptr) == 1 &&
                !score_pool_take(pool, ref, &value);
    return score_pool_destroy(pool) == JZX_OK && held;
}

#define COUNTER(T, STATE, ON, ASK)                                                                 \
    STATE(T, long, value, 40)                                                                      \
    ON(T, inc, long, by)                                                                           \
    ASK(T, get, long)
JZX_ACTOR_TYPE(counter, COUNTER);

jzx_behavior_result counter_on_inc(jzx_context *, counter *self, const counter_inc *msg) {
    self->value += msg->by;
    return JZX_BEHAVIOR_OK;
}

jzx_behavior_result counter_on_get(jzx_context *, counter *self, const counter_get *,
                                   long *answer) {
    *answer = self->value;
    return JZX_BEHAVIOR_STOP;
}

bool typed_actors_work(jzx_loop *loop) {
    jzx_manual *manual = nullptr;
    if (counter_manual(loop, &manual) != JZX_OK ||
        counter_post_inc(loop, jzx_manual_id(manual), 2) != JZX_OK ||
        jzx_manual_drain(manual, 0, nullptr) != JZX_OK)
        return false;
    bool held = static_cast<counter *>(jzx_manual_state(manual))->value == 42;
    jzx_manual_destroy(manual);
    return held;
}

bool actors_work() {
    jzx::loop loop;
    int seen = 0;
    auto id = loop.spawn([&](jzx::context &ctx, const jzx::message &msg) {
        seen = msg.as<int>();
        ctx.exit();
    });
    return loop.send(id, 42, 1) == JZX_OK && loop.run() == JZX_OK && seen == 42;
}

} // namespace

int main() {
    jzx_loop *loop = jzx_loop_create(nullptr);

    if (loop == nullptr || !typed_actors_work(loop) || jzx_loop_run(loop) != 0 || !actors_work() ||
        !pools_work() || !shared_pools_work())
        return 1;
    jzx_loop_destroy(loop);
    std::cout << "consumer of jzx " << jzx_version() << "\n";
    return 0;
}
