/* SPDX-License-Identifier: MIT */
/* Supervisors: what one knows of itself and of its children.
 *
 * A supervisor is an actor whose behaviour (supervise.c) works off what happens: a child has ended,
 * has finished its init, a time is over, somebody asks for something. What takes several steps is a
 * **plan**: first stop some children, the last one first, then wait, then start them in order. The
 * first start is a plan that stops nobody; closing is one that starts nobody.
 *
 *   U1  a child has an actor exactly in the states STARTING, RUNNING and STOPPING, and then exactly
 *       one notice of its end will come.
 *   U2  only the supervisor's turn changes its children. Others read them under the lock of the
 *       loop's supervisors, under which the list and what infos show are changed.
 *   U3  children[from], and all behind it, are the concern of a plan; the others go on.
 *   U4  a supervisor gives up at most once: from then on it is closing, and starts nobody.
 *   U5  at most one timer of a child is set, for what it waits for: its init, its end, its restart.
 *   U6  with a listener, an incarnation that was started has the message that tells of its end, and
 *       one that follows another had the message that tells of the restart; each is sent at most
 *       once, that of the end before the next incarnation is started.
 *
 * Under the lock no user code runs: starting a child, which tells the observer, is outside. */
#ifndef JZX_SUPER_SUPER_H
#define JZX_SUPER_SUPER_H

#include "actor/own.h"
#include "base/rng.h"
#include "super/spec.h"
#include "watch/watch.h"

#include "jzx/timer.h"

#include <string.h>

/* Tags of a supervisor's own messages; the first is actor/message.h's. */
#define JZX__TAG_CHILD_STARTED 0xFFFF0005u
#define JZX__TAG_CHILD_TIME 0xFFFF0006u /* what the child waits for did not come in time, or has */
#define JZX__TAG_PLAN_TIME 0xFFFF0007u  /* the plan's delay is over */
#define JZX__TAG_SUPER_STOP 0xFFFF0008u /* struct jzx__stop_order: somebody wants it to end */
#define JZX__TAG_COMMAND 0xFFFF0009u    /* struct jzx__command */

/* The supervisors of a loop, by the slot of their actor. */
#define JZX__SUPER_BUCKETS 64u
struct jzx__supers {
    struct jzx__lock lock;
    struct jzx__list buckets[JZX__SUPER_BUCKETS];
    _Atomic uint32_t escalated; /* 1 when a supervisor at the top has given up */
};

static inline struct jzx__supers *jzx__supers_of(const struct jzx_loop *loop) {
    return loop->parts[JZX__PART_SUPER];
}

struct jzx__child {
    struct jzx__link link; /* in start order */
    struct jzx__super *super;
    const jzx_child_spec *spec;
    struct jzx__spec *own_spec; /* of one that was added; else NULL */
    uint64_t number;            /* grows in start order */
    jzx_actor_id id;
    jzx_child_state state;
    bool has_run;         /* an incarnation of it came through its init */
    bool wanted;          /* it is to run: a plan that comes past starts it */
    bool is_new;          /* was added, and has not run: if it fails it is forgotten */
    bool forgotten;       /* it is removed when it has ended */
    bool by_hand;         /* it is stopped to be started again: no failure */
    bool is_down;         /* as the next three: see depend.h (N4) */
    bool is_held;         /* found anew before it is read */
    bool is_untold;       /* its incarnation was started, and its end is to be told (U6) */
    jzx_actor_id last_id; /* of the incarnation before, or JZX_NOBODY */
    uint32_t restarts;
    uint32_t attempt;
    uint64_t delay_ns;
    uint64_t ran_from_ns;      /* 1 + when its init was through; 0: it was not */
    jzx_timer_id timer;        /* U5 */
    const char *trouble;       /* why it was killed, if the supervisor did that; or NULL */
    jzx_err name_err;          /* of the incarnation that runs: JZX_OK, or it is killed */
    struct jzx__name *pin;     /* of its registered name; see directory/registry.h */
    struct jzx__node *mail;    /* that it gets when it is started again */
    struct jzx__child **needs; /* N3; NULL without any */
    size_t need_count;
    struct jzx__message *answer;    /* to jzx_supervisor_add; sent once */
    struct jzx__message *exit_note; /* for the listener (U6), as the next; see tell.h */
    struct jzx__message *restart_note;
    jzx_exit_reason last_reason;
    char last_text[JZX_EXIT_TEXT_MAX + 1];
};

enum jzx__plan_stage { JZX__PLAN_NONE, JZX__PLAN_STOP, JZX__PLAN_DELAY, JZX__PLAN_START };

struct jzx__super {
    struct jzx__link link; /* among those of the loop */
    struct jzx_loop *loop;
    jzx_actor_id id;
    bool is_top;
    struct jzx__spec *spec;
    bool by_name; /* its children start and stop as their depends_on says, without a plan */
    struct jzx__list children;
    size_t child_count;
    size_t actor_count; /* of children that have one */
    uint64_t next_number;

    enum jzx__plan_stage stage;
    uint64_t from; /* U3: the number of the first child that it concerns */
    uint64_t plan_delay_ns;
    jzx_timer_id plan_timer;
    bool has_started;          /* the first plan is through */
    bool closing;              /* U4; the list of children does not change any more */
    struct jzx__link *stop_at; /* when it closes: those behind it were asked to stop, */
    bool at_once;              /* without working off their queues */
    bool escalates;
    jzx_exit_reason end_reason;
    char end_text[JZX_EXIT_TEXT_MAX + 1];

    uint64_t restarts;
    uint64_t *failures;    /* when they were: a ring; NULL: they do not count */
    uint32_t failures_max; /* its places: intensity + 1 */
    uint32_t failure_next;
    struct jzx__rng rng;
};

static inline struct jzx__child *jzx__child_of(struct jzx__link *link) {
    return JZX_CONTAINER_OF(link, struct jzx__child, link);
}

static inline bool jzx__child_has_actor(const struct jzx__child *child) {
    return child->state == JZX_CHILD_STARTING || child->state == JZX_CHILD_RUNNING ||
           child->state == JZX_CHILD_STOPPING;
}

static inline const char *jzx__child_name(const struct jzx__child *child) {
    return child->spec->name == NULL ? "" : child->spec->name;
}

/* One that is being removed has no name any more. */
static inline bool jzx__child_is_named(const struct jzx__child *child, const char *name) {
    return child->spec->name != NULL && strcmp(child->spec->name, name) == 0 && !child->forgotten;
}

/* What somebody asks of a supervisor; frees itself if it is not carried out. */
enum jzx__command_kind {
    JZX__COMMAND_ADD,
    JZX__COMMAND_REMOVE,
    JZX__COMMAND_STOP,
    JZX__COMMAND_RESTART
};

struct jzx__command {
    enum jzx__command_kind kind;
    struct jzx_loop *loop;
    jzx_actor_id supervisor;
    char name[JZX_NAME_MAX + 1];
    struct jzx__spec *spec;      /* ADD: with one child */
    struct jzx__message *answer; /* ADD: or NULL. Its sender is whom it is for */
};

#endif
