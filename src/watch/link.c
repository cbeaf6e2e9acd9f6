/* SPDX-License-Identifier: MIT */
/* Monitors and links, as an actor makes them for itself. */
#include "actor/mailbox.h"
#include "actor/own.h"
#include "watch/watch.h"

static struct jzx__watch *watch_at_holder(struct jzx__link *link) {
    return JZX_CONTAINER_OF(link, struct jzx__watch, at_holder);
}

/* The watches that the actor holds, or NULL. */
static struct jzx__link *ring_of(const struct jzx__own *own) {
    struct jzx__actor_watches *watches = jzx__own_part(own, JZX__PART_WATCH);
    return watches == NULL ? NULL : &watches->watches.ring;
}

/* ---- monitors ---- */

static jzx_err monitor(struct jzx__own *own, jzx_actor_id target, jzx_monitor_ref *ref) {
    struct jzx_loop *loop = own->turn->ctx.loop;
    struct jzx__worker *me = own->me;
    if (target == own->turn->ctx.self)
        return JZX_ERR_INVALID_ARG;
    if (!jzx__own_ensure_part(own, JZX__PART_WATCH))
        return JZX_ERR_NO_MEMORY;
    struct jzx__watch *watch =
        jzx__watch_create(loop, me, JZX__WATCH_MONITOR, own->turn->ctx.self, target);
    if (watch == NULL)
        return JZX_ERR_NO_MEMORY;
    jzx_monitor_ref made = jzx__loop_new_ref(loop, me);
    jzx__watch_notice(watch)->monitor = made;
    jzx__watch_hold(own->cold, watch); /* before it is asked for: the notice may be here first */
    jzx_err err = jzx__watch_ask(loop, me, watch);
    if (err != JZX_OK)
        jzx__watch_forget(loop, me, watch);
    else if (ref != NULL)
        *ref = made;
    return err;
}

jzx_err jzx_monitor(jzx_context *ctx, jzx_actor_id target, jzx_monitor_ref *ref) {
    struct jzx__own own;
    if (!jzx__own_begin(&own, ctx))
        return JZX_ERR_INVALID_ARG;
    jzx_err err = monitor(&own, target, ref);
    jzx__own_end(&own);
    return err;
}

jzx_err jzx_demonitor(jzx_context *ctx, jzx_monitor_ref ref) {
    struct jzx__own own;
    if (!jzx__own_begin(&own, ctx))
        return JZX_ERR_INVALID_ARG;
    jzx_err err = JZX_ERR_NO_SUCH_ACTOR;
    struct jzx__link *ring = ring_of(&own);
    for (struct jzx__link *link = ring == NULL ? NULL : ring->prev; link != ring;
         link = link->prev) {
        struct jzx__watch *watch = watch_at_holder(link);
        if (watch->kind == JZX__WATCH_MONITOR && jzx__watch_notice(watch)->monitor == ref) {
            jzx__watch_let_go(ctx->loop, own.me, watch, 0);
            err = JZX_OK;
            break;
        }
    }
    jzx__own_end(&own);
    return err;
}

/* ---- links ---- */

static bool is_linked(struct jzx__cold *cold, jzx_actor_id other) {
    struct jzx__link *ring = &jzx__watches_of(cold)->watches.ring;
    for (struct jzx__link *link = ring->prev; link != ring; link = link->prev) {
        struct jzx__watch *watch = watch_at_holder(link);
        if (watch->kind == JZX__WATCH_LINK && jzx__watch_notice(watch)->actor == other)
            return true;
    }
    return false;
}

/* Two watches, one each way; the second is listed here and held by the other actor when that has
 * the first. False without memory. */
static bool create_pair(struct jzx__own *own, jzx_actor_id other, struct jzx__watch **mine,
                        struct jzx__watch **theirs) {
    struct jzx_loop *loop = own->turn->ctx.loop;
    jzx_actor_id self = own->turn->ctx.self;
    *mine = jzx__watch_create(loop, own->me, JZX__WATCH_LINK, self, other);
    *theirs = jzx__watch_create(loop, own->me, JZX__WATCH_LINK, other, self);
    if (*mine != NULL && *theirs != NULL) {
        jzx_monitor_ref pair = jzx__loop_new_ref(loop, own->me);
        jzx__watch_notice(*mine)->monitor = pair;
        jzx__watch_notice(*theirs)->monitor = pair;
        return true;
    }
    if (*mine != NULL)
        jzx__watch_destroy(loop, own->me, *mine);
    if (*theirs != NULL)
        jzx__watch_destroy(loop, own->me, *theirs);
    return false;
}

static jzx_err link_with(struct jzx__own *own, jzx_actor_id other) {
    struct jzx_loop *loop = own->turn->ctx.loop;
    struct jzx__watch *mine;
    struct jzx__watch *theirs;
    if (other == own->turn->ctx.self)
        return JZX_ERR_INVALID_ARG;
    if (!jzx__own_ensure_part(own, JZX__PART_WATCH))
        return JZX_ERR_NO_MEMORY;
    if (is_linked(own->cold, other))
        return JZX_OK;
    if (!create_pair(own, other, &mine, &theirs))
        return JZX_ERR_NO_MEMORY;
    mine->peer = theirs;
    jzx__watch_hold(own->cold, mine);
    jzx__watch_list(own->cold, theirs);
    jzx_err err = jzx__watch_ask(loop, own->me, mine);
    if (err != JZX_OK) {
        jzx__watch_forget(loop, own->me, mine);
        jzx__list_remove(&theirs->at_target);
        jzx__watch_destroy(loop, own->me, theirs);
    }
    return err;
}

jzx_err jzx_link(jzx_context *ctx, jzx_actor_id other) {
    struct jzx__own own;
    if (!jzx__own_begin(&own, ctx))
        return JZX_ERR_INVALID_ARG;
    jzx_err err = link_with(&own, other);
    jzx__own_end(&own);
    return err;
}

jzx_err jzx_unlink(jzx_context *ctx, jzx_actor_id other) {
    struct jzx__own own;
    if (!jzx__own_begin(&own, ctx))
        return JZX_ERR_INVALID_ARG;
    struct jzx__link *ring = ring_of(&own);
    for (struct jzx__link *link = ring == NULL ? NULL : ring->next; link != ring;) {
        struct jzx__watch *watch = watch_at_holder(link);
        link = link->next;
        if (watch->kind == JZX__WATCH_LINK && jzx__watch_notice(watch)->actor == other)
            jzx__watch_let_go(ctx->loop, own.me, watch, JZX__WATCH_UNLINKED);
    }
    jzx__own_end(&own);
    return JZX_OK;
}

jzx_err jzx_trap_exits(jzx_context *ctx, bool trap) {
    struct jzx__own own;
    if (!jzx__own_begin(&own, ctx))
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__own_ensure_cold(&own) ? JZX_OK : JZX_ERR_NO_MEMORY;
    if (err == JZX_OK)
        own.cold->traps_exits = trap;
    jzx__own_end(&own);
    return err;
}

/* ---- spawning what is watched from the first moment ---- */

/* The watches of an actor to come; false without memory, then there are none. */
static bool prepare(struct jzx__own *own, bool linked, bool monitored, struct jzx__bonds *bonds) {
    struct jzx_loop *loop = own->turn->ctx.loop;
    if (monitored) {
        bonds->monitor =
            jzx__watch_create(loop, own->me, JZX__WATCH_MONITOR, own->turn->ctx.self, JZX_NOBODY);
        if (bonds->monitor == NULL)
            return false;
    }
    if (linked && !create_pair(own, JZX_NOBODY, &bonds->by, &bonds->of)) {
        if (monitored)
            jzx__watch_destroy(loop, own->me, bonds->monitor);
        return false;
    }
    return true;
}

static void hold_all(struct jzx__own *own, const struct jzx__bonds *bonds) {
    if (bonds->monitor != NULL)
        jzx__watch_hold(own->cold, bonds->monitor);
    if (bonds->by != NULL)
        jzx__watch_hold(own->cold, bonds->by);
    if (bonds->of != NULL)
        jzx__watch_list(own->cold, bonds->of);
}

static jzx_err spawn_watched(struct jzx__own *own, const jzx_spawn_opts *opts, bool linked,
                             jzx_actor_id *id, jzx_monitor_ref *ref) {
    struct jzx__bonds bonds = {.ops = &jzx__watch_bonds};
    if (!jzx__own_ensure_part(own, JZX__PART_WATCH) || !prepare(own, linked, ref != NULL, &bonds))
        return JZX_ERR_NO_MEMORY;
    jzx_monitor_ref made = JZX_NO_MONITOR;
    if (ref != NULL) {
        made = jzx__loop_new_ref(own->turn->ctx.loop, own->me);
        jzx__watch_notice(bonds.monitor)->monitor = made;
    }
    hold_all(own, &bonds); /* before it exists: it may end at once */
    jzx_err err = jzx__spawn_bound(own->turn->ctx.loop, own->me, opts, &bonds, id);
    if (err != JZX_OK)
        jzx__bonds_forget(own->turn->ctx.loop, own->me, &bonds);
    else if (ref != NULL)
        *ref = made;
    return err;
}

jzx_err jzx_spawn_watched(jzx_context *ctx, const jzx_spawn_opts *opts, bool linked,
                          jzx_actor_id *id, jzx_monitor_ref *ref) {
    struct jzx__own own;
    if (!jzx__own_begin(&own, ctx))
        return JZX_ERR_INVALID_ARG;
    jzx_err err = spawn_watched(&own, opts, linked, id, ref);
    jzx__own_end(&own);
    return err;
}

/* ---- names of reasons ---- */

const char *jzx_exit_name(jzx_exit_reason reason) {
    switch (reason) {
    case JZX_EXIT_NORMAL: return "JZX_EXIT_NORMAL";
    case JZX_EXIT_FAIL: return "JZX_EXIT_FAIL";
    case JZX_EXIT_PANIC: return "JZX_EXIT_PANIC";
    case JZX_EXIT_KILLED: return "JZX_EXIT_KILLED";
    case JZX_EXIT_SHUTDOWN: return "JZX_EXIT_SHUTDOWN";
    case JZX_EXIT_FAULT: return "JZX_EXIT_FAULT";
    case JZX_EXIT_NO_ACTOR: return "JZX_EXIT_NO_ACTOR";
    }
    return "unknown exit reason";
}
