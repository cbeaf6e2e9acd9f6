/* SPDX-License-Identifier: MIT */
/* The head of an object, who calls, and who waits. */
#include "sync/object.h"

#include "actor/waitless.h"
#include "base/memcheck.h"

jzx_err jzx__object_init(struct jzx__object *object, struct jzx_loop *loop,
                         enum jzx__object_type type) {
    if (loop == NULL || object == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx__memcheck_show(&object->mark, sizeof object->mark); /* whatever is there now */
    for (int other = JZX__SYNC_MUTEX; other <= JZX__SYNC_BROADCAST; other++) {
        if (jzx__object_of(object, (enum jzx__object_type)other) != NULL)
            return JZX_ERR_BUSY;
    }
    object->mark = (0x6A7A7853796E6300u + (uint64_t)type) ^ (uint64_t)(uintptr_t)object;
    object->loop = loop;
    object->clock = loop->sched.clock;
    return JZX_OK;
}

void jzx__object_deinit(struct jzx__object *object) {
    object->mark = 0;
}

/* ---- who waits ---- */

JZX_ACROSS_WAIT jzx_err jzx__party_begin_thread(struct jzx__party *party,
                                                const struct jzx__object *object,
                                                const char *call) {
    if (jzx__seat_exists(jzx__seat_of_thread))
        return jzx__waitless_refuse(NULL, call);
    *party = (struct jzx__party){.clock = &object->clock, .owner = jzx__owner_thread()};
    return JZX_OK;
}

static uint32_t await_on_thread(const struct jzx__clock *clock, const struct jzx__event *event,
                                uint64_t deadline_ns) {
    struct jzx__waiter waiter;
    uint32_t cause;
    jzx__waiter_init_thread(&waiter);
    do {
        jzx__waiter_begin(&waiter, (struct jzx__wait_what){.kind = "event"});
        jzx__waiter_join(&waiter, event->links, event->count, NULL);
        if (jzx__waiter_arm(&waiter) == JZX__ARM_SUSPEND)
            jzx__waiter_block(&waiter, clock, deadline_ns);
        cause = jzx__waiter_end(&waiter);
    } while (jzx__cause_kind(cause) == JZX__CAUSE_AGAIN);
    jzx__sources_vacate(event->links, event->count, cause, NULL);
    return cause;
}

uint32_t jzx__party_await(struct jzx__party *party, const struct jzx__event *event,
                          uint64_t deadline_ns) {
    if (party->fiber == NULL)
        return await_on_thread(party->clock, event, deadline_ns);
    uint32_t cause = jzx__fiber_await(party->fiber, event, deadline_ns);
    party->me = jzx__fiber_worker(party->fiber);
    jzx__sources_vacate(event->links, event->count, cause, party->me);
    return cause;
}
