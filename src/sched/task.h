/* SPDX-License-Identifier: MIT */
/* A task: what the scheduler runs, and the owner-biased protocol by which nodes reach it.
 *
 * Every task has an **owner**, a worker. Only the owner runs the task and touches its private
 * side, with plain loads and stores. Everybody else pushes nodes onto the task's **inbox**, one
 * word that packs a list (newest first), a count, and three bits:
 *
 *   TOKEN   somebody is bound to make the task ready: one entry in its owner's inject queue, or
 *           the owner itself (`holds`). The push that sets it links the entry; other pushes need
 *           not.
 *   CLOSED  no more nodes: the task is ending, has ended, or its slot is free. With a count of 1
 *           (JZX__INBOX_DRAINS) it is alive, and may be idle: nudges still reach it.
 *   NUDGED  the state word has changed: look at it once more before going idle.
 *
 * Ownership moves only under the token, so an entry is never forwarded and no owner word is read
 * twice. What must stay true:
 *
 *   I1  TOKEN set <=> exactly one holder: one inject entry, or the owner (`holds`).
 *   I2  list not empty => TOKEN set. Pushes and hold set it; only the owner clears it.
 *   I3  the owner word changes only by a thread that has the token (or has a free slot).
 *   I4  `owner == me` is made true only by me and false only by me; with OUT set, it is nobody's.
 *   I5  a task that is handed over is not scheduled and not held: its token is the entry. A task
 *       that is offered (in a public deque or in the global queue) is scheduled and held, its
 *       owner word has OUT, and whoever takes it out owns it.
 *   I6  a free slot is CLOSED with TOKEN clear: only who took it from the pool writes its words.
 *   I7  a stale id never reaches a newer task: nodes carry a generation, which the owner compares
 *       when it takes the inbox in; control bits sit in one word with the generation.
 *   I8  a request in the state word is seen: it is set before NUDGED, and a task goes idle only
 *       from a word without NUDGED.
 *
 * Rejected: clearing the token and re-reading the inbox in two steps (loses a message); entries
 * that are forwarded to a new owner (deaf tasks, slots reused under a late sender); an atomic
 * read-modify-write per message (3 times the cost of the whole path). */
#ifndef JZX_SCHED_TASK_H
#define JZX_SCHED_TASK_H

#include "base/assert.h"
#include "base/atomic.h"
#include "base/compiler.h"
#include "base/deque.h"
#include "base/list.h"
#include "base/mpsc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* What a task is sent. 64-byte aligned, below 2^48. */
struct jzx__node {
    struct jzx__node *next;
    uint32_t generation; /* of the task it is meant for */
    uint8_t weight;      /* 1 if it counts against the bound, 0 if not */
    uint8_t lane;        /* the kind's own; the scheduler does not look */
    uint8_t flags;       /* the kind's own, but for JZX__NODE_HINTED */
    uint8_t size_class;  /* of the block it lives in; follows flags, see jzx__node_is_plain */
};

/* In flags, while the node is in an inbox: the last word of its first line is the address of a node
 * that was pushed JZX__TRAIL_LENGTH nodes earlier. The nodes of a list lie in another core's cache,
 * and each is known only by the one before; who follows the hints fetches several at a time. A hint
 * may be wrong: it is given to a prefetch and to nothing else. */
#define JZX__NODE_HINTED 0x80u
#define JZX__NODE_HINT_AT (JZX_CACHE_LINE - sizeof(void *))
#define JZX__TRAIL_LENGTH 8u

/* Everything but the link, for a node that counts, in the first lane, in the smallest block: the
 * fields in one store. */
static inline void jzx__node_init_plain(struct jzx__node *node, uint32_t generation) {
    const struct jzx__node plain = {.generation = generation, .weight = 1};
    memcpy((char *)node + offsetof(struct jzx__node, generation), &plain.generation,
           sizeof plain - offsetof(struct jzx__node, generation));
}

/* True if size_class and flags are both 0: the smallest block, nothing special about it. */
static inline bool jzx__node_is_plain(const struct jzx__node *node) {
    uint16_t both;
    memcpy(&both, &node->flags, sizeof both);
    return both == 0;
}

/* The owner word: the worker's address, or that plus OUT when the task is in nobody's fast path
 * (offered, being handed over, or not alive). */
#define JZX__OWNER_OUT ((uintptr_t)1)
#define JZX__OWNER_GONE ((uintptr_t)2) /* with OUT: not alive */
#define JZX__OWNER_FLAGS (JZX__OWNER_OUT | JZX__OWNER_GONE)

/* Where a task is on its owner. From JZX__RUNNING on it is scheduled: it needs no waking. */
enum jzx__place {
    JZX__IDLE,
    JZX__NEW,   /* never ran and has nothing to do */
    JZX__ASIDE, /* idle, and not ordinary: it has a rank, is heavy or a hog */
    JZX__RUNNING,
    JZX__AWAY,    /* its turn goes on, on a thread that has lost its worker */
    JZX__ENDING,  /* it has ended but for what still uses its memory; it runs no more */
    JZX__OFFERED, /* in a public deque or the global queue; nobody's */
    JZX__IN_SPAWNED,
    JZX__IN_WOKEN,
    JZX__IN_NEXT,
    JZX__IN_RANKED,
    JZX__IN_HEAVY,
    JZX__IN_HOGS
};

/* Scheduling priority. */
enum jzx__rank { JZX__CRITICAL, JZX__HIGH, JZX__NORMAL, JZX__LOW };
#define JZX__RANK_COUNT 4u

/* Where a task may run. */
enum jzx__bound {
    JZX__FREE,
    JZX__BOUND_WORKER, /* never leaves its owner */
    JZX__BOUND_CALLER  /* nor runs on another thread than the one that called run */
};

struct jzx__task {
    /* Line 0. Read by every sender, and written by those on other threads. */
    _Atomic uint64_t id;            /* {generation, slot index} that reaches it; the owner's */
    _Atomic uintptr_t owner;        /* written under the token (I3) */
    _Atomic uint64_t inbox;         /* written by all */
    struct jzx__mpsc_node injected; /* link in an inject queue; belongs to the token's holder */
    void *arg;                      /* of what it runs; the owner's, as what follows */
    _Atomic(void *) cold;           /* the kind's own, as what follows; dumps read it, too */
    struct jzx__node *waiters;
    _Atomic uint32_t cap;    /* of nodes with weight, for other threads; see JZX__CAP_LINE */
    _Atomic uint8_t on_full; /* never changes in a life */
    bool daemon;
    uint8_t bound; /* enum jzx__bound */
    uint8_t rank;  /* enum jzx__rank */

    /* Line 1. The owner's private side; only requests from other threads write to state. */
    _Alignas(JZX_CACHE_LINE) _Atomic uint64_t state; /* {generation, fulls, control bits} */
    void (*entry)(void);                             /* what it runs, NULL if it has ended */
    struct jzx__node *head;                          /* nodes taken in, oldest first */
    struct jzx__node *last; /* the newest of them; means nothing if there is none */
    struct jzx__link run;   /* link in a run queue */
    uint32_t pending;       /* weight in the private list */
    uint32_t easy;          /* below this an append needs no second thought: bound, soft limit; 0
                              * for a task that does not idle in the ordinary place */
    uint8_t place;          /* enum jzx__place */
    bool holds;             /* the owner has the token */
    uint16_t care;          /* the kind's own */
    uint16_t stays;         /* until when it is not offered, see balance.c; 0: it may be */
    uint8_t rest;           /* the place where it idles: JZX__IDLE or JZX__ASIDE */
    uint8_t status : 4;     /* the kind's own */
    uint8_t heat : 2;       /* long messages in a row; from JZX__HEAVY on it is heavy (meter.h) */
    uint8_t bulk : 2;       /* very long messages in a row; from JZX__HEAVY on it is a hog */
};

_Static_assert(sizeof(struct jzx__task) == 2 * JZX_CACHE_LINE, "others write one line of two");

/* In cap: senders wait in line for room, and others are to think before they use any. */
#define JZX__CAP_LINE 0x80000000u

/* ---- the state word: generation, and what other threads want of the owner ---- */

#define JZX__CONTROL_BITS 0x37Fu /* requests, the kind's own */
#define JZX__LOCKED 0x80u        /* of the inbox, see cut.h; no request */
#define JZX__FULLS_ONE 0x400u    /* refused or dropped nodes that were not reported yet, 22 bits */
#define JZX__FULLS_MASK 0xFFFFFC00u
#define JZX__ATTENTION_MASK (JZX__FULLS_MASK | JZX__CONTROL_BITS)

static inline uint64_t jzx__state_make(uint32_t generation) {
    return (uint64_t)generation << 32;
}

static inline uint32_t jzx__state_generation(uint64_t state) {
    return (uint32_t)(state >> 32);
}

/* ---- the inbox word ---- */

#define JZX__INBOX_TOKEN ((uint64_t)1)
#define JZX__INBOX_CLOSED ((uint64_t)2)
#define JZX__INBOX_NUDGED ((uint64_t)4)
#define JZX__INBOX_COUNT_SHIFT 3
#define JZX__INBOX_COUNT_MAX ((uint64_t)0x7FFFF)
#define JZX__INBOX_LIST_SHIFT 22
#define JZX__INBOX_DRAINS (JZX__INBOX_CLOSED | (uint64_t)1 << JZX__INBOX_COUNT_SHIFT)
#define JZX__NODE_ALIGN_SHIFT 6

static inline struct jzx__node *jzx__inbox_list(uint64_t word) {
    return (void *)(uintptr_t)((word >> JZX__INBOX_LIST_SHIFT) << JZX__NODE_ALIGN_SHIFT);
}

static inline uint32_t jzx__inbox_count(uint64_t word) {
    return word & JZX__INBOX_CLOSED
               ? 0
               : (uint32_t)((word >> JZX__INBOX_COUNT_SHIFT) & JZX__INBOX_COUNT_MAX);
}

static inline uint64_t jzx__inbox_make(struct jzx__node *list, uint32_t count, uint64_t bits) {
    return (uint64_t)(uintptr_t)list >> JZX__NODE_ALIGN_SHIFT << JZX__INBOX_LIST_SHIFT |
           (uint64_t)count << JZX__INBOX_COUNT_SHIFT | bits;
}

/* Writes the hint of a node whose block has room for it. */
static inline void jzx__node_set_hint(struct jzx__node *node, const struct jzx__node *hint) {
    memcpy((char *)node + JZX__NODE_HINT_AT, &hint, sizeof hint);
    node->flags |= JZX__NODE_HINTED;
}

static inline void jzx__node_use_hint(struct jzx__node *node) {
    if ((node->flags & JZX__NODE_HINTED) == 0)
        return;
    const void *hint;
    memcpy(&hint, (char *)node + JZX__NODE_HINT_AT, sizeof hint);
    __builtin_prefetch(hint, 1);
    node->flags &= (uint8_t)~JZX__NODE_HINTED;
}

/* The list of a word that the caller has taken, oldest first. */
static inline struct jzx__node *jzx__inbox_oldest_first(uint64_t word) {
    struct jzx__node *oldest = NULL;
    for (struct jzx__node *node = jzx__inbox_list(word); node != NULL;) {
        struct jzx__node *next = node->next;
        jzx__node_use_hint(node);
        node->next = oldest;
        oldest = node;
        node = next;
    }
    return oldest;
}

/* ---- sending from anywhere (rule R2 of the protocol) ---- */

enum jzx__push_result {
    JZX__PUSH_OK,        /* the token's holder will make the task ready */
    JZX__PUSH_OK_INJECT, /* the caller got the token: it must inject the task at its owner */
    JZX__PUSH_FULL,
    JZX__PUSH_CLOSED
};

/* Pushes node unless the inbox is closed or holds limit nodes with weight. Any thread. */
static inline enum jzx__push_result jzx__task_push(struct jzx__task *task, struct jzx__node *node,
                                                   uint32_t limit) {
    /* relaxed: a first guess, confirmed by the exchange below */
    uint64_t word = jzx__atomic_load_relaxed(&task->inbox);
    uint64_t wanted;
    do {
        if (word & JZX__INBOX_CLOSED)
            return JZX__PUSH_CLOSED;
        uint32_t count = jzx__inbox_count(word);
        if (node->weight != 0 && count >= limit)
            return JZX__PUSH_FULL;
        node->next = jzx__inbox_list(word);
        wanted = jzx__inbox_make(node, count + node->weight,
                                 JZX__INBOX_TOKEN | (word & JZX__INBOX_NUDGED));
        /* release: pairs with take; publishes the node. acquire: pairs with the write that cleared
         * the token, after which the owner word is exact (I3) */
    } while (!jzx__atomic_cas_acq_rel(&task->inbox, &word, wanted));
    return word & JZX__INBOX_TOKEN ? JZX__PUSH_OK : JZX__PUSH_OK_INJECT;
}

/* Asks the owner to look at the state word, which was changed before (I8): a push without a node.
 * Any thread. */
static inline enum jzx__push_result jzx__task_nudge(struct jzx__task *task) {
    const uint64_t bits = JZX__INBOX_TOKEN | JZX__INBOX_NUDGED;
    /* relaxed: a first guess, confirmed by the exchange below */
    uint64_t word = jzx__atomic_load_relaxed(&task->inbox);
    do {
        if ((word & JZX__INBOX_DRAINS) == JZX__INBOX_CLOSED)
            return JZX__PUSH_CLOSED;
        /* pairs with take and go_idle as a push does; publishes the control bits set before it */
    } while (!jzx__atomic_cas_acq_rel(&task->inbox, &word, word | bits));
    return word & JZX__INBOX_TOKEN ? JZX__PUSH_OK : JZX__PUSH_OK_INJECT;
}

/* ---- the owner's side ---- */

static inline uint64_t jzx__task_inbox(struct jzx__task *task) {
    /* acquire: pairs with push; a caller that sees a list may read its nodes after taking it */
    return jzx__atomic_load_acquire(&task->inbox);
}

/* Takes the whole inbox (R3), and gives up the token if it is held: an entry may be under way, and
 * then the token stays with it. Returns the nodes, oldest first. Owner only. */
static inline struct jzx__node *jzx__task_take(struct jzx__task *task) {
    jzx__touch(task);
    uint64_t left = task->holds ? 0 : JZX__INBOX_TOKEN;
    task->holds = false;
    /* acquire: pairs with push, the nodes are visible. release: pairs with the next push that finds
     * no token; the owner word it reads is mine */
    uint64_t word = jzx__atomic_exchange_acq_rel(&task->inbox, left);
    JZX_ASSERT((word & JZX__INBOX_CLOSED) == 0);
    return jzx__inbox_oldest_first(word);
}

/* After the state word and the private list were looked at, and word read from the inbox without a
 * list in it (R8): true if the task is idle now, false if it must look again: a node or a nudge
 * came in between. Owner only. */
static inline bool jzx__task_go_idle(struct jzx__task *task, uint64_t word) {
    jzx__touch(task);
    bool nudged = (word & JZX__INBOX_NUDGED) != 0;
    uint64_t left = nudged        ? word & ~JZX__INBOX_NUDGED /* the token stays where it is */
                    : task->holds ? word & JZX__INBOX_DRAINS  /* it may wait though it drains */
                                  : word;
    uint64_t seen = word;
    /* release: pairs with the next push, which reads the owner word. acquire: pairs with push and
     * nudge, what they brought is looked at next */
    while (left != word && !jzx__atomic_cas_acq_rel(&task->inbox, &seen, left)) {
        if (seen != word)
            return false;
    }
    if (nudged)
        return false;
    task->holds = false;
    task->place = task->rest;
    return true;
}

/* Closes the inbox for good (R12) and returns what was in it, oldest first. The token stays set if
 * an entry has it: true in *entry_left. Owner only. */
static inline struct jzx__node *jzx__task_close(struct jzx__task *task, bool *entry_left) {
    jzx__touch(task);
    uint64_t word = jzx__task_inbox(task);
    uint64_t left;
    do {
        left = JZX__INBOX_CLOSED;
        if (!task->holds)
            left |= word & JZX__INBOX_TOKEN;
        /* acquire: pairs with push, the nodes are visible. release: pairs with nothing new: later
         * pushes only see CLOSED */
    } while (!jzx__atomic_cas_acq_rel(&task->inbox, &word, left));
    task->holds = false;
    *entry_left = (left & JZX__INBOX_TOKEN) != 0;
    return jzx__inbox_oldest_first(word);
}

/* The same for a task that works off what it has and may still wait meanwhile. */
static inline struct jzx__node *jzx__task_close_to_nodes(struct jzx__task *task) {
    jzx__touch(task);
    uint64_t word = jzx__task_inbox(task);
    uint64_t left;
    do {
        left = JZX__INBOX_DRAINS;
        if (!task->holds)
            left |= word & (JZX__INBOX_TOKEN | JZX__INBOX_NUDGED);
        /* acquire: pairs with push, the nodes are visible. release: pairs with nudge, as a take */
    } while (!jzx__atomic_cas_acq_rel(&task->inbox, &word, left));
    task->holds = false;
    return jzx__inbox_oldest_first(word);
}

static inline bool jzx__task_is_scheduled(const struct jzx__task *task) {
    return task->place >= JZX__RUNNING;
}

/* weight is the node's, as a number that the compiler may know. Owner only. */
static inline void jzx__task_append(struct jzx__task *task, struct jzx__node *node,
                                    uint32_t weight) {
    jzx__touch(task);
    node->next = NULL;
    if (task->head == NULL)
        task->head = node;
    else
        task->last->next = node;
    task->last = node;
    task->pending += weight;
}

/* Takes out the oldest node, which head is. Owner only. */
static inline void jzx__task_pop(struct jzx__task *task, struct jzx__node *node) {
    jzx__touch(task);
    jzx__touch(node);
    task->head = node->next;
    task->pending -= node->weight;
}

/* Takes out a node anywhere; before is the one in front of it, or NULL. Owner only. */
static inline void jzx__task_remove(struct jzx__task *task, struct jzx__node *before,
                                    struct jzx__node *node) {
    jzx__touch(task);
    jzx__touch(node);
    if (before == NULL)
        task->head = node->next;
    else
        before->next = node->next;
    if (task->last == node)
        task->last = before;
    task->pending -= node->weight;
}

/* Forgets the private list. Owner only. */
static inline struct jzx__node *jzx__task_clear(struct jzx__task *task) {
    jzx__touch(task);
    struct jzx__node *nodes = task->head;
    task->head = NULL;
    task->pending = 0;
    return nodes;
}

/* ---- moving a task: only under its token (I3) ---- */

/* Takes the token if nobody has it (R9). False: an entry is under way. Owner only. */
static inline bool jzx__task_hold(struct jzx__task *task) {
    jzx__touch(task);
    uint64_t word = 0;
    /* acquire: pairs with push and nudge. release: none needed, the owner's next step publishes */
    while (!task->holds && !jzx__atomic_cas_acq_rel(&task->inbox, &word, JZX__INBOX_TOKEN)) {
        if (word != 0)
            return false;
    }
    task->holds = true;
    return true;
}

/* Offers a task to the thieves of the caller's deque (R10): it was taken out of its run queue. me
 * is the owner word. False, and nothing has changed but the token: an entry is under way, or there
 * is no memory. Owner only. */
static inline bool jzx__task_offer(struct jzx__task *task, uintptr_t me, struct jzx__deque *deque) {
    if (!JZX__MUTANT(offer_without_token) && !jzx__task_hold(task))
        return false;
    uint8_t place = task->place;
    task->place = JZX__OFFERED;
    /* relaxed: whoever reads it has the token, or compares it with its own word (I4); published to
     * the next owner by the deque */
    jzx__atomic_store_relaxed(&task->owner, me | JZX__OWNER_OUT);
    if (jzx__deque_push(deque, task))
        return true;
    /* relaxed: nobody but the owner changed anything */
    jzx__atomic_store_relaxed(&task->owner, me);
    task->place = place;
    return false;
}

/* Takes a task out of the owner's hands, for the global queue. It is in no run queue; me is the
 * owner word. False, and nothing has changed: an entry is under way. Owner only. */
static inline bool jzx__task_give_up(struct jzx__task *task, uintptr_t me) {
    if (!jzx__task_hold(task))
        return false;
    task->place = JZX__OFFERED;
    /* relaxed: as in jzx__task_offer; published by the lock of the queue */
    jzx__atomic_store_relaxed(&task->owner, me | JZX__OWNER_OUT);
    return true;
}

/* A task that was offered, and that the caller has just taken out of a deque or of the global
 * queue, is its own now; it is scheduled, and in no run queue yet. */
static inline void jzx__task_adopt(struct jzx__task *task, uintptr_t me) {
    jzx__touch(task);
    JZX_ASSERT(task->holds && task->place == JZX__OFFERED); /* I5 */
    /* relaxed: only this thread's fast path looks for it (I4) */
    jzx__atomic_store_relaxed(&task->owner, me);
}

/* Hands a task to another worker (R11): it was taken out of its run queue. False, and nothing has
 * changed: an entry is under way. On true the caller wakes the target and does not touch the task
 * again. Owner only. */
static inline bool jzx__task_hand_over(struct jzx__task *task, uintptr_t target,
                                       struct jzx__mpsc *inject) {
    if (!jzx__task_hold(task))
        return false;
    uintptr_t out = JZX__MUTANT(hand_over_without_out) ? 0 : JZX__OWNER_OUT;
    task->holds = false;
    task->place = task->rest;
    /* relaxed: published to the target by the entry */
    jzx__atomic_store_relaxed(&task->owner, target | out);
    jzx__mpsc_push(inject, &task->injected);
    return true;
}

enum jzx__entry_result {
    JZX__ENTRY_READY,     /* it must be put on a run queue */
    JZX__ENTRY_SCHEDULED, /* it is on one already, or runs */
    JZX__ENTRY_FREE       /* it has ended: its slot waited for this entry */
};

/* An entry of the inject queue is consumed: its token is mine (R6). The inbox is not taken here,
 * but when the private list is empty, or the mailbox bound would not bound. */
static inline enum jzx__entry_result jzx__task_accept(struct jzx__task *task, uintptr_t me) {
    jzx__touch(task);
    /* relaxed: the entry was pushed by who read or wrote this word under the token (I3) */
    uintptr_t owner = jzx__atomic_load_relaxed(&task->owner);
    JZX_ASSERT((owner & ~JZX__OWNER_FLAGS) == me);
    JZX_ASSERT(!task->holds); /* I1 */
    if (task->entry == NULL) {
        /* release: pairs with the acquire of a push; a free slot has no token (I6) */
        jzx__atomic_store_release(&task->inbox, JZX__INBOX_CLOSED);
        return JZX__ENTRY_FREE;
    }
    if (task->place == JZX__ENDING) {
        /* release: pairs with nothing new, as in close. Its slot need not wait for this entry */
        jzx__atomic_store_release(&task->inbox, JZX__INBOX_CLOSED);
        return JZX__ENTRY_SCHEDULED;
    }
    /* relaxed: ends a hand-over; only this thread's fast path looks for it (I4) */
    jzx__atomic_store_relaxed(&task->owner, me);
    task->holds = true;
    return jzx__task_is_scheduled(task) ? JZX__ENTRY_SCHEDULED : JZX__ENTRY_READY;
}

#endif
