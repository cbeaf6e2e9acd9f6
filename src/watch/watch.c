/* SPDX-License-Identifier: MIT */
/* Watches: how they are made, let go of, and fire. See watch.h for the rules. */
#include "watch/watch.h"

#include "actor/exit.h"
#include "actor/mailbox.h"

#include "jzx/ask.h"

#include <stdio.h>
#include <string.h>

static struct jzx__watch *watch_of_node(struct jzx__node *node) {
    return node->lane == JZX__LANE_LEAVE ? JZX_CONTAINER_OF(node, struct jzx__watch, leave)
                                         : (void *)node; /* its message comes first */
}

static struct jzx__watch *watch_at_target(struct jzx__link *link) {
    return JZX_CONTAINER_OF(link, struct jzx__watch, at_target);
}

static struct jzx__watch *watch_at_holder(struct jzx__link *link) {
    return JZX_CONTAINER_OF(link, struct jzx__watch, at_holder);
}

static jzx_actor_id target_of(struct jzx__watch *watch) {
    return jzx__watch_notice(watch)->actor;
}

/* Adds flags to the state word, and returns what it was. */
static uint32_t mark(struct jzx__watch *watch, uint32_t flags) {
    /* acquire and release: pairs with itself on the other side; who comes second may free the
     * record, and sees all that the first has done to it (Z4) */
    return jzx__atomic_or_acq_rel(&watch->state, flags);
}

/* From one phase to the next, unless it was let go of. */
static bool advance(struct jzx__watch *watch, uint32_t from, uint32_t to) {
    uint32_t state = from;
    /* acquire and release: pairs with mark in let_go */
    while (!jzx__atomic_cas_acq_rel(&watch->state, &state, to)) {
        if (state != from)
            return false;
    }
    return true;
}

/* ---- making and freeing ---- */

static uint32_t tag_of(enum jzx__watch_kind kind) {
    switch (kind) {
    case JZX__WATCH_MONITOR: return JZX_TAG_DOWN;
    case JZX__WATCH_CHILD: return JZX__TAG_CHILD_ENDED;
    case JZX__WATCH_ASK: return JZX_TAG_ASK_DOWN;
    case JZX__WATCH_LINK:
    case JZX__WATCH_PARENT: break;
    }
    return JZX_TAG_EXIT;
}

struct jzx__watch *jzx__watch_create(struct jzx_loop *loop, struct jzx__worker *me,
                                     enum jzx__watch_kind kind, jzx_actor_id holder,
                                     jzx_actor_id target) {
    struct jzx__watch *watch = jzx__sched_alloc(&loop->sched, me, JZX__WATCH_CLASS);
    if (watch == NULL)
        return NULL;
    struct jzx__message *message = jzx__watch_message(watch);
    message->node =
        (struct jzx__node){.lane = kind == JZX__WATCH_ASK ? JZX__LANE_DOWN : JZX__LANE_WATCH,
                           .size_class = JZX__WATCH_CLASS};
    message->sender = target;
    message->tag = tag_of(kind);
    message->len = sizeof(jzx_exit_notice);
    jzx_exit_notice *notice = jzx__watch_notice(watch);
    notice->actor = target;
    notice->monitor = JZX_NO_MONITOR;
    watch->leave = (struct jzx__node){.lane = JZX__LANE_LEAVE};
    watch->holder = holder;
    watch->kind = (uint8_t)kind;
    watch->is_held = false;
    watch->is_told = false;
    watch->peer = NULL;
    watch->spare = NULL;
    watch->kept = NULL;
    /* relaxed: nobody knows of it yet */
    jzx__atomic_store_relaxed(&watch->state, JZX__WATCH_ASKED);
    return watch;
}

void jzx__watch_destroy(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__watch *watch) {
    if (JZX_UNLIKELY(watch->kept != NULL))
        jzx__message_bury_all(loop, me, &watch->kept, target_of(watch), NULL);
    if (JZX_UNLIKELY(watch->spare != NULL))
        jzx__cold_destroy(loop, me, watch->spare);
    jzx__sched_free(&loop->sched, me, JZX__WATCH_CLASS, watch);
}

struct jzx__actor_watches *jzx__watches_ensure(struct jzx_loop *loop, struct jzx__worker *me,
                                               struct jzx__actor *actor) {
    struct jzx__cold *cold = jzx__cold_ensure(loop, me, actor);
    return cold == NULL ? NULL : jzx__part_ensure(loop, me, cold, JZX__PART_WATCH);
}

void jzx__watch_hold(struct jzx__cold *holder, struct jzx__watch *watch) {
    jzx__list_push_back(&jzx__watches_of(holder)->watches, &watch->at_holder);
    watch->is_held = true;
}

static void unhold(struct jzx__watch *watch) {
    if (watch->is_held)
        jzx__list_remove(&watch->at_holder);
    watch->is_held = false;
}

void jzx__watch_forget(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__watch *watch) {
    unhold(watch);
    jzx__watch_destroy(loop, me, watch);
}

void jzx__bonds_forget(struct jzx_loop *loop, struct jzx__worker *me,
                       const struct jzx__bonds *bonds) {
    if (bonds->by != NULL)
        jzx__watch_forget(loop, me, bonds->by);
    if (bonds->monitor != NULL)
        jzx__watch_forget(loop, me, bonds->monitor);
    if (bonds->of != NULL) {
        jzx__list_remove(&bonds->of->at_target);
        jzx__watch_destroy(loop, me, bonds->of);
    }
}

void jzx__watch_list(struct jzx__cold *target, struct jzx__watch *watch) {
    /* relaxed: what others may do to it later, they do because of what is published then */
    jzx__atomic_store_relaxed(&watch->state, JZX__WATCH_LISTED);
    jzx__list_push_back(&jzx__watches_of(target)->watchers, &watch->at_target);
}

/* True if the caller may do the part of an actor that it is not (Z1). */
static bool may_act_for(const struct jzx__worker *me, struct jzx__actor *actor) {
    return actor != NULL && jzx__worker_owns(me, &actor->task) && actor->task.place != JZX__AWAY;
}

/* ---- asking ---- */

static jzx_err list_directly(struct jzx_loop *loop, struct jzx__worker *me,
                             struct jzx__actor *target, struct jzx__watch *watch) {
    struct jzx__cold *cold = jzx__actor_cold(target);
    if (JZX_UNLIKELY(cold == NULL || jzx__watches_of(cold) == NULL)) {
        if (jzx__watches_ensure(loop, me, target) == NULL)
            return JZX_ERR_NO_MEMORY;
        cold = jzx__actor_cold(target);
    }
    jzx__watch_list(cold, watch);
    if (watch->peer != NULL)
        jzx__watch_hold(cold, watch->peer);
    watch->peer = NULL;
    return JZX_OK;
}

/* False if the actor's mailbox is closed. */
static bool push(struct jzx__worker *me, struct jzx__actor *actor, struct jzx__node *node,
                 jzx_actor_id to) {
    node->generation = jzx_id_generation(to);
    enum jzx__push_result result = jzx__task_push(&actor->task, node, 0);
    if (result == JZX__PUSH_OK_INJECT)
        jzx__task_inject(&actor->task, me);
    return result != JZX__PUSH_CLOSED;
}

jzx_err jzx__watch_ask(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__watch *watch) {
    struct jzx__actor *target = jzx__table_lookup(&loop->table, target_of(watch));
    return target == NULL ? jzx__mailbox_gone(loop) : jzx__watch_ask_found(loop, me, target, watch);
}

jzx_err jzx__watch_ask_found(struct jzx_loop *loop, struct jzx__worker *me,
                             struct jzx__actor *target, struct jzx__watch *watch) {
    if (jzx__sched_is_stopped(&loop->sched))
        return JZX_ERR_LOOP_CLOSED;
    if (may_act_for(me, target))
        return list_directly(loop, me, target, watch);
    if (!jzx__spare_prepare(loop, me, target, JZX__PART_WATCH, &watch->spare))
        return JZX_ERR_NO_MEMORY;
    return push(me, target, &jzx__watch_message(watch)->node, target_of(watch))
               ? JZX_OK
               : jzx__mailbox_gone(loop);
}

/* ---- letting go ---- */

/* The number that the two watches of a link share. */
static jzx_monitor_ref pair_of(struct jzx__watch *watch) {
    return jzx__watch_notice(watch)->monitor;
}

/* The holder has unlinked: the actor that the caller acts for does the same with its own of the
 * pair, and not with that of a newer link between the two. */
static void unlink_back(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__cold *cold,
                        jzx_monitor_ref pair) {
    struct jzx__link *ring = &jzx__watches_of(cold)->watches.ring;
    for (struct jzx__link *link = ring->next; link != ring; link = link->next) {
        struct jzx__watch *watch = watch_at_holder(link);
        if (watch->kind == JZX__WATCH_LINK && pair_of(watch) == pair) {
            jzx__watch_let_go(loop, me, watch, 0);
            return;
        }
    }
}

/* It was LISTED when it was let go of, and is still in the target's list. */
static void let_go_listed(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__watch *watch,
                          bool unlinked) {
    jzx_actor_id id = target_of(watch);
    struct jzx__actor *target = jzx__table_lookup(&loop->table, id);
    if (may_act_for(me, target)) {
        jzx_monitor_ref pair = pair_of(watch);
        jzx__list_remove(&watch->at_target);
        jzx__watch_destroy(loop, me, watch);
        if (unlinked)
            unlink_back(loop, me, jzx__actor_cold(target), pair);
    } else if (target == NULL || !push(me, target, &watch->leave, id)) {
        if (mark(watch, JZX__WATCH_RETURNED) & JZX__WATCH_LOST)
            jzx__watch_destroy(loop, me, watch);
    }
}

/* Both sides are the caller's: nobody else knows the watch, so it needs no exchange. */
static bool let_go_here(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__watch *watch) {
    struct jzx__actor *target = jzx__table_lookup(&loop->table, target_of(watch));
    /* relaxed: what the target has done to it came with the target */
    if (!may_act_for(me, target) || jzx__atomic_load_relaxed(&watch->state) != JZX__WATCH_LISTED)
        return false;
    jzx__list_remove(&watch->at_target);
    jzx__watch_destroy(loop, me, watch);
    return true;
}

void jzx__watch_let_go(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__watch *watch,
                       uint32_t flags) {
    unhold(watch);
    if (flags == 0 && let_go_here(loop, me, watch))
        return;
    uint32_t state = mark(watch, JZX__WATCH_LET_GO | flags);
    if ((state & JZX__WATCH_PHASE) == JZX__WATCH_LISTED)
        let_go_listed(loop, me, watch, flags != 0);
    else if (state & JZX__WATCH_LOST)
        jzx__watch_destroy(loop, me, watch);
}

/* The holder ends (Z5). */
static void let_go_all(struct jzx__worker *me, struct jzx__actor *actor) {
    struct jzx__list *watches = &jzx__watches_of(jzx__actor_cold(actor))->watches;
    while (!jzx__list_is_empty(watches))
        jzx__watch_let_go(jzx__loop_of(me), me, watch_at_holder(watches->ring.next), 0);
}

/* ---- firing ---- */

static void write_notice(struct jzx__watch *watch, const struct jzx__ending *ending) {
    jzx_exit_notice *notice = jzx__watch_notice(watch);
    notice->reason = ending == NULL ? JZX_EXIT_NO_ACTOR : ending->reason;
    if (ending == NULL || ending->text == NULL)
        notice->text[0] = '\0';
    else
        snprintf(notice->text, sizeof notice->text, "%s", ending->text);
}

/* The notice goes to the holder: the phase is FIRED, and nobody has listed it. */
static void send_notice(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__watch *watch) {
    struct jzx__message *message = jzx__watch_message(watch);
    jzx_actor_id id = watch->holder;
    struct jzx__actor *holder = jzx__table_lookup(&loop->table, id);
    message->node.generation = jzx_id_generation(id);
    if (holder != NULL && jzx__mailbox_deliver(loop, me, holder, message) == JZX_OK)
        return;
    if (mark(watch, JZX__WATCH_LOST) & JZX__WATCH_LET_GO)
        jzx__watch_destroy(loop, me, watch);
}

/* One that is in no list any more, of a target that has ended. */
static void fire(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__watch *watch,
                 const struct jzx__ending *ending) {
    write_notice(watch, ending);
    if (advance(watch, JZX__WATCH_LISTED, JZX__WATCH_FIRED))
        send_notice(loop, me, watch);
    else if (mark(watch, JZX__WATCH_LOST) & JZX__WATCH_RETURNED)
        jzx__watch_destroy(loop, me, watch);
}

/* The supervisor hears of it when nothing of the actor is left. */
static void fire_last(struct jzx__worker *me, void *watch, const struct jzx__ending *ending) {
    fire(jzx__loop_of(me), me, watch, ending);
}

/* All that watch the actor are told (Z6): monitors, then links. */
static void fire_all(struct jzx__worker *me, struct jzx__cold *cold, struct jzx__ending *ending) {
    struct jzx__list *watchers = &jzx__watches_of(cold)->watchers;
    struct jzx__list links;
    struct jzx__link *link;
    jzx__list_init(&links);
    while ((link = jzx__list_pop_front(watchers)) != NULL) {
        struct jzx__watch *watch = watch_at_target(link);
        if (watch->kind == JZX__WATCH_CHILD) {
            ending->last = fire_last;
            ending->last_arg = watch;
        } else if (watch->kind == JZX__WATCH_LINK) {
            jzx__list_push_back(&links, link);
        } else {
            fire(jzx__loop_of(me), me, watch, ending);
        }
    }
    while ((link = jzx__list_pop_front(&links)) != NULL)
        fire(jzx__loop_of(me), me, watch_at_target(link), ending);
}

/* ---- nodes in a mailbox ---- */

/* One that asks, or a notice, came out of the inbox: the actor has a cold record from here on. */
static enum jzx__filed file(struct jzx__worker *me, struct jzx__actor *actor,
                            struct jzx__node *node) {
    (void)me;
    struct jzx__watch *watch = watch_of_node(node);
    if (node->lane != JZX__LANE_LEAVE && jzx__spare_give_cold(actor, watch->spare))
        watch->spare = NULL;
    return JZX__FILED_KEEP;
}

/* It has come to where it was for: who has its notice may free the record without looking. */
static void use_spare(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__cold *cold,
                      struct jzx__watch *watch) {
    struct jzx__cold *spare = watch->spare;
    watch->spare = NULL;
    if (cold != NULL)
        jzx__spare_use(loop, me, cold, JZX__PART_WATCH, spare);
    else
        jzx__cold_destroy(loop, me, spare);
}

/* The target is asked to list it. */
static void be_asked(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__cold *cold,
                     struct jzx__watch *watch) {
    struct jzx__watch *peer = watch->peer;
    use_spare(loop, me, cold, watch);
    if (peer != NULL)
        jzx__watch_hold(cold, peer);
    if (advance(watch, JZX__WATCH_ASKED, JZX__WATCH_LISTED)) {
        watch->peer = NULL;
        jzx__list_push_back(&jzx__watches_of(cold)->watchers, &watch->at_target);
        return;
    }
    /* relaxed: advance has acquired it, and nobody changes it any more */
    bool unlinked = (jzx__atomic_load_relaxed(&watch->state) & JZX__WATCH_UNLINKED) != 0;
    jzx__watch_destroy(loop, me, watch);
    if (peer != NULL && unlinked)
        jzx__watch_let_go(loop, me, peer, 0);
}

/* The holder has let go. */
static void be_left(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__cold *cold,
                    struct jzx__watch *watch) {
    /* acquire: pairs with mark in let_go */
    uint32_t state = jzx__atomic_load_acquire(&watch->state);
    jzx_monitor_ref pair = pair_of(watch);
    if ((state & JZX__WATCH_LOST) == 0)
        jzx__list_remove(&watch->at_target);
    jzx__watch_destroy(loop, me, watch);
    if (state & JZX__WATCH_UNLINKED)
        unlink_back(loop, me, cold, pair);
}

/* A linked actor, or the supervisor, has ended, and that is not to be a message. */
static enum jzx__look obey_exit(struct jzx__worker *me, struct jzx__actor *actor,
                                struct jzx__watch *watch) {
    struct jzx_loop *loop = jzx__loop_of(me);
    jzx_exit_notice notice = *jzx__watch_notice(watch);
    bool is_parent = watch->kind == JZX__WATCH_PARENT;
    jzx__watch_destroy(loop, me, watch);
    if (notice.reason == JZX_EXIT_NORMAL && !is_parent)
        return JZX__LOOK_GONE;
    const char *text = is_parent                ? "its supervisor has ended"
                       : notice.text[0] != '\0' ? notice.text
                                                : "an actor that it was linked to has ended";
    jzx__actor_end(me, actor, is_parent ? JZX_EXIT_SHUTDOWN : notice.reason, text);
    return JZX__LOOK_ENDED;
}

/* Two actors that link each other at once are linked twice, and hear of it once. */
static void forget_doubles(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__cold *cold,
                           struct jzx__watch *watch) {
    struct jzx__link *ring = &jzx__watches_of(cold)->watches.ring;
    if (watch->kind != JZX__WATCH_LINK)
        return;
    jzx__watch_notice(watch)->monitor = JZX_NO_MONITOR; /* not for the user */
    for (struct jzx__link *link = ring->next; link != ring;) {
        struct jzx__watch *other = watch_at_holder(link);
        link = link->next;
        if (other->kind == JZX__WATCH_LINK && target_of(other) == target_of(watch))
            jzx__watch_let_go(loop, me, other, 0);
    }
}

/* The notice has come to its holder. */
static enum jzx__look be_told(struct jzx__worker *me, const struct jzx__spot *at,
                              struct jzx__watch *watch) {
    struct jzx_loop *loop = jzx__loop_of(me);
    struct jzx__cold *cold = jzx__actor_cold(at->actor);
    unhold(watch);
    /* relaxed: only the holder sets it, which this is */
    if (jzx__atomic_load_relaxed(&watch->state) & JZX__WATCH_LET_GO) {
        jzx__spot_remove(at);
        me->pass_handled++; /* the books: it was accepted */
        jzx__watch_destroy(loop, me, watch);
        return JZX__LOOK_GONE;
    }
    forget_doubles(loop, me, cold, watch);
    bool is_message = watch->kind == JZX__WATCH_MONITOR || watch->kind == JZX__WATCH_CHILD ||
                      (watch->kind == JZX__WATCH_LINK && cold->traps_exits) || watch->is_told;
    if (is_message) {
        watch->is_told = true;
        return JZX__LOOK_HANDLE;
    }
    jzx__spot_remove(at);
    me->pass_handled++; /* the books: as above */
    return obey_exit(me, at->actor, watch);
}

bool jzx__watch_has_fired(struct jzx__node *node) {
    /* acquire: pairs with advance in fire */
    uint32_t state = jzx__atomic_load_acquire(&watch_of_node(node)->state);
    return (state & JZX__WATCH_PHASE) == JZX__WATCH_FIRED;
}

bool jzx__watch_was_told(struct jzx__node *node) {
    return watch_of_node(node)->is_told;
}

static enum jzx__look begin(struct jzx__worker *me, const struct jzx__spot *at) {
    struct jzx_loop *loop = jzx__loop_of(me);
    struct jzx__cold *cold = jzx__actor_cold(at->actor);
    struct jzx__watch *watch = watch_of_node(at->node);
    jzx__mailbox_looked(at->actor);
    if (at->node->lane != JZX__LANE_LEAVE && jzx__watch_has_fired(at->node))
        return be_told(me, at, watch);
    jzx__spot_remove(at);
    if (at->node->lane == JZX__LANE_LEAVE)
        be_left(loop, me, cold, watch);
    else
        be_asked(loop, me, cold, watch);
    return JZX__LOOK_GONE;
}

/* It asked an actor that ends, which lists it to the last, so that it fires after the cleanup (Z6);
 * or one that has ended, or has no cold record and so no cleanup. The peer, of a link, is in the
 * list of the holder's watchers and held by nobody. */
static void bury_asked(struct jzx__worker *me, struct jzx__cold *cold, struct jzx__watch *watch,
                       const struct jzx__ending *ending) {
    struct jzx_loop *loop = jzx__loop_of(me);
    struct jzx__watch *peer = watch->peer;
    watch->peer = NULL;
    use_spare(loop, me, cold, watch);
    write_notice(watch, ending);
    if (!advance(watch, JZX__WATCH_ASKED, cold != NULL ? JZX__WATCH_LISTED : JZX__WATCH_FIRED))
        jzx__watch_destroy(loop, me, watch);
    else if (cold != NULL)
        jzx__list_push_back(&jzx__watches_of(cold)->watchers, &watch->at_target);
    else
        send_notice(loop, me, watch);
    if (peer != NULL)
        jzx__watch_let_go(loop, me, peer, 0);
}

/* A node of theirs will reach no actor; the watchers of one that is ending fire later. */
static void bury(struct jzx__worker *me, struct jzx__node *node, const struct jzx__addressee *to) {
    struct jzx_loop *loop = jzx__loop_of(me);
    struct jzx__watch *watch = watch_of_node(node);
    /* acquire: pairs with advance in fire and mark in let_go */
    uint32_t state = jzx__atomic_load_acquire(&watch->state);
    if (node->lane == JZX__LANE_LEAVE) {
        if ((state & JZX__WATCH_LOST) == 0)
            jzx__list_remove(&watch->at_target); /* its target is ending, on this thread */
        jzx__watch_destroy(loop, me, watch);
    } else if ((state & JZX__WATCH_PHASE) == JZX__WATCH_ASKED) {
        bury_asked(me, to->cold, watch, to->ending);
    } else {
        jzx__loop_count(loop, me, dead);
        if (mark(watch, JZX__WATCH_LOST) & JZX__WATCH_LET_GO)
            jzx__watch_destroy(loop, me, watch); /* always: Z5 */
    }
}

/* The notice is the user's: a block as any. */
static bool take(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__message *message) {
    (void)loop;
    (void)me;
    message->node.lane = JZX__LANE_RUNTIME;
    return true;
}

/* The notice waits again, and can be let go of. In the holder's turn (Z1). */
static void stash(struct jzx__cold *cold, struct jzx__message *message) {
    jzx__watch_hold(cold, watch_of_node(&message->node));
}

const struct jzx__lane_ops jzx__lane_watch = {
    .file = file, .begin = begin, .bury = bury, .take = take, .stash = stash};

/* ---- mail for a successor ----
 *
 * Questions that wait go to the successor, and are bound to its life then: each takes its watch
 * along (Z7), as its trailer in place of its reference, which the watch has as well. */

/* An answer is its asker's: the successor has asked nothing, and its references begin anew. */
static bool is_for_successor(const struct jzx__node *node, uint32_t generation) {
    return node->lane == JZX__LANE_USER && node->generation == generation &&
           (node->flags & JZX__MSG_TRAILER_MASK) != JZX__TRAILER_ANSWER;
}

static bool is_of_question(struct jzx__watch *watch, jzx_actor_id asker, uint64_t ref) {
    return watch->kind == JZX__WATCH_ASK && watch->holder == asker &&
           jzx__watch_notice(watch)->monitor == ref;
}

/* Takes the watch of a question out of the list; NULL: it has none. *at is where the last one was,
 * as they stand there in the order in which questions wait, mostly. */
static struct jzx__watch *take_watch(struct jzx__link *ring, struct jzx__link **at,
                                     jzx_actor_id asker, uint64_t ref) {
    struct jzx__link *link = *at;
    do {
        if (link != ring && is_of_question(watch_at_target(link), asker, ref)) {
            *at = link->next;
            /* acquire: pairs with mark in let_go: its second message may be in this mailbox, and
             * counts on the list */
            if (jzx__atomic_load_acquire(&watch_at_target(link)->state) != JZX__WATCH_LISTED)
                return NULL;
            jzx__list_remove(link);
            return watch_at_target(link);
        }
        link = link->next;
    } while (link != *at);
    return NULL;
}

/* Z7 */
static void take_watch_along(struct jzx__link *ring, struct jzx__link **at,
                             struct jzx__message *message) {
    uint64_t ref;
    if (jzx__message_trailer_kind(message) != JZX__TRAILER_QUESTION)
        return;
    memcpy(&ref, jzx__message_trailer(message), sizeof ref);
    struct jzx__watch *watch = take_watch(ring, at, message->sender, ref);
    if (watch == NULL)
        return;
    memcpy(jzx__message_trailer(message), &watch, sizeof watch);
    jzx__message_set_trailer_kind(message, JZX__TRAILER_KEPT);
}

static struct jzx__watch *kept_watch(struct jzx__message *message) {
    struct jzx__watch *watch;
    memcpy(&watch, jzx__message_trailer(message), sizeof watch);
    return watch;
}

/* There will be no successor. */
static void lose(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__message *message) {
    fire(loop, me, kept_watch(message), NULL);
}

/* The successor has the questions, and their watches. */
static void bind_kept(struct jzx__cold *cold, struct jzx__node *mail) {
    for (struct jzx__node *node = mail; node != NULL; node = node->next) {
        struct jzx__message *message = jzx__message_of(node);
        if (jzx__message_trailer_kind(message) != JZX__TRAILER_KEPT)
            continue;
        struct jzx__watch *watch = kept_watch(message);
        uint64_t ref = jzx__watch_notice(watch)->monitor;
        memcpy(jzx__message_trailer(message), &ref, sizeof ref);
        jzx__message_set_trailer_kind(message, JZX__TRAILER_QUESTION);
        jzx__list_push_back(&jzx__watches_of(cold)->watchers, &watch->at_target);
    }
}

/* The watch of a question that is behind it in the mailbox, and is to be listed yet. */
static bool is_early_ask(struct jzx__node *node, uint32_t generation) {
    return node->lane == JZX__LANE_DOWN && node->generation == generation &&
           !jzx__watch_has_fired(node);
}

/* The messages that a supervisor is to have with the notice. */
static struct jzx__node *keep_mail(struct jzx__worker *me, struct jzx__cold *cold,
                                   struct jzx__node *nodes, uint32_t generation) {
    struct jzx__list *watchers = &jzx__watches_of(cold)->watchers;
    struct jzx__watch *watch = watch_at_target(watchers->ring.next);
    if (jzx__list_is_empty(watchers) || watch->kind != JZX__WATCH_CHILD)
        return nodes; /* that of a supervisor is the first */
    struct jzx__node *rest = NULL;
    struct jzx__node **rest_tail = &rest;
    struct jzx__link *at = watchers->ring.next;
    while (nodes != NULL) {
        struct jzx__node *node = nodes;
        nodes = node->next;
        if (is_early_ask(node, generation)) {
            be_asked(jzx__loop_of(me), me, cold, watch_of_node(node));
            continue;
        }
        if (!is_for_successor(node, generation)) {
            *rest_tail = node;
            rest_tail = &node->next;
            continue;
        }
        take_watch_along(&watchers->ring, &at, jzx__message_of(node));
        node->next = NULL;
        if (watch->kept == NULL)
            watch->kept = node;
        else
            watch->kept_last->next = node;
        watch->kept_last = node;
    }
    *rest_tail = NULL;
    return rest;
}

/* ---- the bonds of an actor to come ---- */

static bool prepare(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__cold *cold) {
    return jzx__part_ensure(loop, me, cold, JZX__PART_WATCH) != NULL;
}

/* One side of a bond: the actor to come is the target of a watch. */
static void be_watched(struct jzx__cold *cold, struct jzx__watch *watch, jzx_actor_id id) {
    if (watch == NULL)
        return;
    jzx__watch_notice(watch)->actor = id;
    jzx__watch_message(watch)->sender = id;
    jzx__watch_list(cold, watch);
}

static void tie(struct jzx__cold *cold, const struct jzx__bonds *bonds, jzx_actor_id id) {
    be_watched(cold, bonds->by, id);
    be_watched(cold, bonds->monitor, id);
    bind_kept(cold, bonds->mail);
    if (bonds->of != NULL) {
        bonds->of->holder = id;
        jzx__watch_hold(cold, bonds->of);
    }
}

const struct jzx__bond_ops jzx__watch_bonds = {.prepare = prepare, .tie = tie};

/* ---- the part of an actor ---- */

static void init(void *record) {
    struct jzx__actor_watches *watches = record;
    jzx__list_init(&watches->watchers);
    jzx__list_init(&watches->watches);
}

static void release(struct jzx_loop *loop, struct jzx__worker *me, void *record) {
    jzx__sched_free(&loop->sched, me, JZX__PART_CLASS, record);
}

static size_t size_bytes(const void *record) {
    (void)record;
    return jzx__slab_class_size(JZX__PART_CLASS);
}

const struct jzx__part_ops jzx__part_watch = {.init = init,
                                              .let_go = let_go_all,
                                              .keep = keep_mail,
                                              .tell = fire_all,
                                              .release = release,
                                              .size_bytes = size_bytes,
                                              .lose = lose};
