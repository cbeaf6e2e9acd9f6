/* SPDX-License-Identifier: MIT */
/* A feed: a queue by which other threads bring work to a worker, and how the worker takes it in. A
 * worker has one array of them. Every place that asks whether something came (the round, the checks
 * before a sleep, the end of a loop) walks the array, so a new feed is added in one place: the
 * layer above lists it in its jzx__task_ops.
 *
 * Tasks that become ready come by the first feed, inject. The loop over turns and the senders use
 * it directly, without its operations. */
#ifndef JZX_SCHED_FEED_H
#define JZX_SCHED_FEED_H

#include "base/mpsc.h"

#include <stdbool.h>
#include <stdint.h>

struct jzx__worker;

/* The scheduler's own feeds. Those of the layer above follow, numbered from
 * JZX__FEED_OWN_COUNT without a gap. */
enum {
    JZX__FEED_INJECT,  /* tasks that others made ready */
    JZX__FEED_RETURNS, /* seats whose turn is over, and that had lost the worker */
    JZX__FEED_OWN_COUNT
};

#define JZX__FEED_MAX 8u

struct jzx__feed_ops {
    /* Takes in at most max of what waits; a feed of rare things may take all. On the worker's
     * thread, when the queue is not empty. */
    void (*take)(struct jzx__worker *me, uint32_t max);
    bool ends_pass; /* a tick that finds something in it ends the pass (W4) */
    bool keeps_run; /* the run goes on while something waits in it, at worker 0 */
};

struct jzx__feed {
    struct jzx__mpsc queue; /* pushed to by any thread, taken by the worker's */
    const struct jzx__feed_ops *ops;
};

/* A hint. */
static inline bool jzx__feed_is_empty(const struct jzx__feed *feed) {
    return jzx__mpsc_is_empty(&feed->queue);
}

/* The check between announcing sleep and sleeping. */
static inline bool jzx__feed_is_empty_seq_cst(const struct jzx__feed *feed) {
    return jzx__mpsc_is_empty_seq_cst(&feed->queue);
}

#endif
