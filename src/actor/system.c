/* SPDX-License-Identifier: MIT */
/* Who drives a loop. */
#include "actor/system.h"

bool jzx__loop_enter(struct jzx_loop *loop, struct jzx__drive *drive) {
    drive->before = jzx__worker_self();
    drive->nested = drive->before == &loop->sched.worker;
    if (drive->nested)
        return true;
    uint32_t nobody = 0;
    /* acquire: pairs with the release in leave; what the last driver wrote is ours */
    while (!jzx__atomic_cas_acq_rel(&loop->driven, &nobody, 1u)) {
        if (nobody != 0)
            return false;
    }
    jzx__worker_of_thread = &loop->sched.worker;
    return true;
}

void jzx__loop_leave(struct jzx_loop *loop, const struct jzx__drive *drive) {
    if (drive->nested)
        return;
    jzx__worker_of_thread = drive->before;
    /* release: pairs with the acquire in enter */
    jzx__atomic_store_release(&loop->driven, 0u);
}
