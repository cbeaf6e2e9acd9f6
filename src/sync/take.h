/* SPDX-License-Identifier: MIT */
/* A party takes permits, at once or after a wait. */
#ifndef JZX_SYNC_TAKE_H
#define JZX_SYNC_TAKE_H

#include "sync/object.h"
#include "sync/permits.h"

/* Waits for those of an object that dumps show as waited for: `what`, which has no links. JZX_OK or
 * JZX_ERR_OWNER_DIED: it has them; else why not. */
jzx_err jzx__await_permits(struct jzx__party *party, struct jzx__permits *permits,
                           struct jzx__permit_want *want, const struct jzx__event *what,
                           uint64_t deadline_ns);

/* Takes what is there without a wait: want->result is set. */
static inline bool jzx__take_permits(struct jzx__party *party, struct jzx__permits *permits,
                                     struct jzx__permit_want *want) {
    return jzx__party_goes_on(party) && jzx__permits_try(permits, want);
}

static inline bool jzx__has_taken(jzx_err err) {
    return err == JZX_OK || err == JZX_ERR_OWNER_DIED;
}

#endif
