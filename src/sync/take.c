/* SPDX-License-Identifier: MIT */
#include "sync/take.h"

jzx_err jzx__await_permits(struct jzx__party *party, struct jzx__permits *permits,
                           struct jzx__permit_want *want, const struct jzx__event *what,
                           uint64_t deadline_ns) {
    struct jzx__wait_link link = jzx__permits_link(permits, want);
    struct jzx__event event = *what;
    event.links = &link;
    event.count = 1;
    jzx__refs_add(&permits->refs);
    uint32_t cause = jzx__party_await(party, &event, deadline_ns);
    jzx__refs_drop(&permits->refs);
    return jzx__cause_kind(cause) == JZX__CAUSE_ITEM ? want->result : jzx__cause_err(cause);
}
