/* SPDX-License-Identifier: MIT */
/* Starting and stopping children by their dependencies. */
#include "super/depend.h"

#include "base/alloc.h"
#include "super/needs.h"
#include "super/supervise.h"

/* ---- needs ---- */

static struct jzx__child *first_of(const struct jzx__super *super) {
    struct jzx__link *link = super->children.ring.next;
    return link == &super->children.ring ? NULL : jzx__child_of(link);
}

static struct jzx__child *next_of(const struct jzx__child *child) {
    struct jzx__link *link = child->link.next;
    return link == &child->super->children.ring ? NULL : jzx__child_of(link);
}

static struct jzx__child *find_other(const struct jzx__child *child, const char *name) {
    struct jzx__child *other = first_of(child->super);
    while (other != NULL && (other == child || !jzx__child_is_named(other, name)))
        other = next_of(other);
    return other;
}

jzx_err jzx__depend_link(struct jzx__child *child) {
    size_t count = jzx__needs_count(child->spec);
    if (count == 0)
        return JZX_OK;
    child->needs =
        jzx__alloc(&child->super->loop->sched.allocator, count * sizeof(struct jzx__child *));
    if (child->needs == NULL)
        return JZX_ERR_NO_MEMORY;
    for (size_t k = 0; k < JZX_DEPENDS_MAX; k++) {
        const char *name = child->spec->depends_on[k];
        if (!jzx__needs_is_name(name))
            continue;
        struct jzx__child *need = find_other(child, name);
        if (need == NULL)
            return JZX_ERR_NO_SUCH_ACTOR;
        child->needs[child->need_count++] = need;
    }
    return JZX_OK;
}

void jzx__depend_unlink(struct jzx__child *child) {
    size_t count = jzx__needs_count(child->spec); /* some may have been removed */
    if (child->needs != NULL)
        jzx__free(&child->super->loop->sched.allocator, child->needs,
                  count * sizeof(struct jzx__child *));
    child->needs = NULL;
    child->need_count = 0;
}

void jzx__depend_forget(const struct jzx__child *child) {
    if (!child->super->by_name)
        return; /* there may be a hundred thousand children */
    for (struct jzx__child *other = first_of(child->super); other != NULL; other = next_of(other))
        for (size_t i = other->need_count; i-- > 0;)
            if (other->needs[i] == child)
                other->needs[i] = other->needs[--other->need_count];
}

/* True if it has held back one more. */
static bool hold_needs(const struct jzx__child *child) {
    bool more = false;
    for (size_t i = 0; i < child->need_count; i++) {
        more = more || !child->needs[i]->is_held;
        child->needs[i]->is_held = true;
    }
    return more;
}

static void release_all(struct jzx__super *super) {
    for (struct jzx__child *child = first_of(super); child != NULL; child = next_of(child))
        child->is_held = false;
}

/* To all that are needed by one that is held. */
static void spread_holds(struct jzx__super *super) {
    bool again = true;
    while (again) {
        again = false;
        for (struct jzx__child *child = first_of(super); child != NULL; child = next_of(child))
            if (child->is_held)
                again = hold_needs(child) || again;
    }
}

static size_t count_entries(const struct jzx__child *child, const struct jzx__child *need) {
    size_t count = 0;
    for (size_t k = 0; k < JZX_DEPENDS_MAX; k++) {
        const char *name = child->spec->depends_on[k];
        count += jzx__needs_is_name(name) && jzx__child_is_named(need, name);
    }
    return count;
}

/* Those that are removed, and have not ended yet. */
static void drop_forgotten(struct jzx__child *child, const struct jzx__child *successor) {
    for (size_t i = child->need_count; i-- > 0;) {
        const struct jzx__child *need = child->needs[i];
        if (need->forgotten && jzx__child_is_named(successor, need->spec->name))
            child->needs[i] = child->needs[--child->need_count];
    }
}

jzx_err jzx__depend_adopt(struct jzx__child *child) {
    struct jzx__super *super = child->super;
    release_all(super);
    (void)hold_needs(child);
    spread_holds(super);
    for (struct jzx__child *other = first_of(super); other != NULL; other = next_of(other))
        if (other->is_held && count_entries(other, child) != 0)
            return JZX_ERR_INVALID_ARG;
    for (struct jzx__child *other = first_of(super); other != NULL; other = next_of(other)) {
        size_t count = count_entries(other, child);
        if (count != 0)
            drop_forgotten(other, child);
        for (; count != 0; count--)
            other->needs[other->need_count++] = child; /* there is room for each of its names */
    }
    return JZX_OK;
}

/* ---- failures ---- */

static bool needs_one_down(const struct jzx__child *child, const struct jzx__child *failed) {
    for (size_t i = 0; i < child->need_count; i++)
        if (child->needs[i] == failed || child->needs[i]->is_down)
            return true;
    return false;
}

void jzx__depend_fail(const struct jzx__child *failed) {
    const struct jzx__super *super = failed->super;
    bool all = super->spec->opts.strategy == JZX_ONE_FOR_ALL;
    bool again = all || super->spec->opts.strategy == JZX_REST_FOR_ONE;
    while (again) { /* until nobody is left that needs one that is down */
        again = false;
        for (struct jzx__child *child = first_of(super); child != NULL; child = next_of(child)) {
            if (child->is_down || !jzx__child_has_actor(child) ||
                !(all || needs_one_down(child, failed)))
                continue;
            child->is_down = true;
            again = true;
        }
    }
}

/* ---- progress ---- */

/* Notes which children are needed, directly or not, by one that has an actor and ends first (N2).
 */
static void note_holds(struct jzx__super *super) {
    release_all(super);
    for (struct jzx__child *child = first_of(super); child != NULL; child = next_of(child))
        if (jzx__child_has_actor(child) && (super->closing || child->is_down))
            (void)hold_needs(child);
    spread_holds(super);
}

static void stop_down(struct jzx__super_turn *turn) {
    for (struct jzx__child *child = first_of(turn->super); child != NULL; child = next_of(child))
        if (child->is_down && !child->is_held && child->state != JZX_CHILD_STOPPING)
            jzx__supervise_stop(turn, child, true);
}

static bool is_up(const struct jzx__child *child) {
    bool runs = child->state == JZX_CHILD_RUNNING && child->name_err == JZX_OK && !child->is_down;
    return runs || (child->state == JZX_CHILD_EXITED && !child->wanted);
}

static bool waits_by_itself(const struct jzx__child *child) {
    return !jzx__child_has_actor(child) && child->timer != JZX_NO_TIMER;
}

/* With one_for_all: a failure is being dealt with, and nobody starts before that is over. */
static bool has_failed_together(const struct jzx__super *super) {
    if (super->spec->opts.strategy != JZX_ONE_FOR_ALL)
        return false;
    for (const struct jzx__child *child = first_of(super); child != NULL; child = next_of(child))
        if (child->is_down || waits_by_itself(child))
            return true;
    return false;
}

/* N1 */
static bool may_start(const struct jzx__child *child) {
    if (!child->wanted || child->is_held || jzx__child_has_actor(child) || waits_by_itself(child))
        return false;
    for (size_t i = 0; i < child->need_count; i++)
        if (!is_up(child->needs[i]))
            return false;
    return true;
}

/* True if there is more to do: what was started without an init is up, and a start that failed may
 * have brought others down. */
static bool start_ready(struct jzx__super_turn *turn) {
    bool more = false;
    struct jzx__child *next;
    if (has_failed_together(turn->super))
        return false;
    for (struct jzx__child *child = first_of(turn->super); child != NULL; child = next) {
        next = next_of(child); /* a child that could not be started may be gone */
        if (!may_start(child))
            continue;
        more = true;
        if (jzx__supervise_start(turn, child) != JZX__STARTED)
            break;
    }
    return more;
}

/* True if nothing of the first start is under way. A child whose dependency is not going to run
 * waits for somebody to start that by hand, and nobody waits for the child. */
static bool is_settled(const struct jzx__super *super) {
    if (has_failed_together(super))
        return false; /* children may not have begun, or are to begin again */
    for (const struct jzx__child *child = first_of(super); child != NULL; child = next_of(child)) {
        if (child->state == JZX_CHILD_STARTING || child->state == JZX_CHILD_STOPPING)
            return false;
        if (!child->wanted || jzx__child_has_actor(child))
            continue;
        if (waits_by_itself(child) && !child->has_run)
            return false;
        for (size_t i = 0; i < child->need_count; i++)
            if (waits_by_itself(child->needs[i]))
                return false;
    }
    return true;
}

static void stop_all(struct jzx__super_turn *turn) {
    struct jzx__super *super = turn->super;
    note_holds(super);
    for (struct jzx__child *child = first_of(super); child != NULL; child = next_of(child)) {
        if (!jzx__child_has_actor(child))
            jzx__supervise_abandon(turn, child);
        else if (!child->is_held && child->state != JZX_CHILD_STOPPING)
            jzx__supervise_stop(turn, child, super->at_once);
    }
    turn->over = super->actor_count == 0;
}

void jzx__depend_progress(struct jzx__super_turn *turn) {
    struct jzx__super *super = turn->super;
    bool more = !super->closing;
    while (more && !super->closing) {
        note_holds(super);
        stop_down(turn);
        more = start_ready(turn);
    }
    if (super->closing)
        stop_all(turn);
    else if (is_settled(super))
        jzx__supervise_end_plan(turn);
}
