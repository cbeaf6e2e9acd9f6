/* SPDX-License-Identifier: MIT */
/* The send queue of a link: units from the oldest unacknowledged one to the newest. */
#ifndef JZX_CLUSTER_LINK_QUEUE_H
#define JZX_CLUSTER_LINK_QUEUE_H

#include "link.h"

#ifdef JZX__LINK_MUTANTS
#define JZX__LINK_MUTANT(n) (jzx__link_mutant == (n))
#else
#define JZX__LINK_MUTANT(n) false
#endif

struct jzx__link_unit {
    struct jzx__link_unit *next;
    uint64_t seq;
    uint32_t size;
    uint32_t total;
    uint8_t bytes[];
};

/* Appends all units of a message, or none. */
jzx_err jzx__link_queue_push(struct jzx__link *link, const uint8_t *message, uint32_t size);

/* Frees the units before `ack`, which is at most sent_end. Returns whether there were some. */
bool jzx__link_queue_ack(struct jzx__link *link, uint64_t ack);

/* The next unit to send if the window has room for it. */
struct jzx__link_unit *jzx__link_queue_sendable(struct jzx__link *link);
void jzx__link_queue_sent(struct jzx__link *link);

/* Moves the cursor back, so that everything unacknowledged is sent again. */
void jzx__link_queue_rewind(struct jzx__link *link);

void jzx__link_queue_clear(struct jzx__link *link);

#endif
