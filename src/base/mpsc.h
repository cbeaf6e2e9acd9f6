/* SPDX-License-Identifier: MIT */
/* A queue that any thread may push to and one thread takes whole. Push-only with take-all has no
 * ABA problem: a node that comes back under the same address does no harm.
 *
 * The push is seq_cst because it is one half of the park protocol: a pusher publishes its node and
 * then looks whether the consumer sleeps; the consumer announces its sleep and then looks here. */
#ifndef JZX_BASE_MPSC_H
#define JZX_BASE_MPSC_H

#include "base/atomic.h"

#include <stdbool.h>
#include <stddef.h>

struct jzx__mpsc_node {
    struct jzx__mpsc_node *next;
};

struct jzx__mpsc {
    _Atomic(struct jzx__mpsc_node *) head; /* newest first; pushed by all, taken by one */
};

static inline void jzx__mpsc_init(struct jzx__mpsc *queue) {
    /* relaxed: the queue is not shared yet */
    jzx__atomic_store_relaxed(&queue->head, NULL);
}

static inline void jzx__mpsc_push(struct jzx__mpsc *queue, struct jzx__mpsc_node *node) {
    /* relaxed: only a first guess for the exchange below */
    struct jzx__mpsc_node *head = jzx__atomic_load_relaxed(&queue->head);
    do {
        node->next = head;
        /* pairs with the exchange in take_all and the load in is_empty_seq_cst; publishes node */
    } while (!jzx__atomic_cas_seq_cst(&queue->head, &head, node));
}

/* A hint for the consumer's loop. */
static inline bool jzx__mpsc_is_empty(const struct jzx__mpsc *queue) {
    /* relaxed: what is missed now is seen at the next pass, or by the check before sleeping */
    return jzx__atomic_load_relaxed(&queue->head) == NULL;
}

/* The check between announcing sleep and sleeping. */
static inline bool jzx__mpsc_is_empty_seq_cst(const struct jzx__mpsc *queue) {
    /* seq_cst: pairs with the push, which is followed by a seq_cst load of the sleep flag */
    return jzx__atomic_load_seq_cst(&queue->head) == NULL;
}

/* Everything that was pushed, oldest first. Consumer only. */
static inline struct jzx__mpsc_node *jzx__mpsc_take_all(struct jzx__mpsc *queue) {
    /* pairs with the push: the nodes and all that was written before them are visible */
    struct jzx__mpsc_node *node = jzx__atomic_exchange_acq_rel(&queue->head, NULL);
    struct jzx__mpsc_node *oldest = NULL;
    while (node != NULL) {
        struct jzx__mpsc_node *next = node->next;
        node->next = oldest;
        oldest = node;
        node = next;
    }
    return oldest;
}

#endif
