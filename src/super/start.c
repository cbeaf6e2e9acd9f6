/* SPDX-License-Identifier: MIT */
/* How children and supervisors are made, and what is left of them when they have ended. */
#include "super/start.h"

#include "actor/control.h"
#include "actor/mailbox.h"
#include "base/alloc.h"
#include "base/log.h"
#include "directory/registry.h"
#include "super/control.h"
#include "super/depend.h"
#include "super/needs.h"
#include "super/supervise.h"
#include "super/tell.h"

#include "jzx/process.h"
#include "jzx/typed.h"

#include <string.h>

/* ---- children ---- */

struct jzx__child *jzx__child_create(struct jzx__super *super, const jzx_child_spec *spec) {
    struct jzx__child *child = jzx__alloc(&super->loop->sched.allocator, sizeof *child);
    if (child == NULL)
        return NULL;
    *child = (struct jzx__child){.super = super, .spec = spec, .wanted = true};
    jzx__lock_acquire(&jzx__supers_of(super->loop)->lock);
    child->number = super->next_number++;
    jzx__list_push_back(&super->children, &child->link);
    super->child_count++;
    jzx__lock_release(&jzx__supers_of(super->loop)->lock);
    return child;
}

void jzx__child_destroy(struct jzx__child *child) {
    const jzx_allocator *allocator = &child->super->loop->sched.allocator;
    if (child->pin != NULL) /* one that outlives its supervisor must not stand in the way */
        jzx__names_unpin(child->super->loop, child->pin, child->id);
    jzx__depend_unlink(child);
    if (child->own_spec != NULL)
        jzx__spec_free(allocator, child->own_spec);
    jzx__free(allocator, child, sizeof *child);
}

/* A message of the runtime with so much payload, or NULL. */
static struct jzx__message *create_note(struct jzx_loop *loop, struct jzx__worker *me, uint32_t tag,
                                        size_t len) {
    struct jzx__message *note = jzx__message_create(loop, me, len);
    if (note == NULL)
        return NULL;
    note->node.weight = 0;
    note->node.lane = JZX__LANE_RUNTIME;
    note->sender = JZX_NOBODY;
    note->tag = tag;
    return note;
}

/* True if its first turn may take long, or fail. */
static bool has_init(const jzx_child_spec *spec) {
    return spec->init != NULL || spec->supervisor != NULL ||
           (spec->type != NULL && spec->type->init != NULL) ||
           (spec->process != NULL && spec->process->init != NULL);
}

/* What tells the supervisor that the child's init is through. */
static bool create_started_note(struct jzx__super_turn *turn, struct jzx__child *child,
                                struct jzx__bonds *bonds) {
    if (!has_init(child->spec))
        return true;
    struct jzx__message *note = create_note(turn->super->loop, turn->own.me, JZX__TAG_CHILD_STARTED,
                                            sizeof(jzx_actor_id) + sizeof child);
    if (note == NULL)
        return false;
    memcpy(note->payload, &turn->super->id, sizeof turn->super->id);
    memcpy(note->payload + sizeof(jzx_actor_id), &child, sizeof child);
    bonds->started_note = note;
    return true;
}

static void forget_bonds(struct jzx__super_turn *turn, const struct jzx__bonds *bonds) {
    if (bonds->started_note != NULL)
        jzx__message_destroy(turn->super->loop, turn->own.me, bonds->started_note);
    jzx__bonds_forget(turn->super->loop, turn->own.me, bonds);
}

/* How long a child that traps its stop is told to have; the supervisor itself kills it then. */
static uint64_t grace_of(const jzx_child_spec *spec) {
    return spec->shutdown_ns == JZX_NONE ? JZX_NEVER : spec->shutdown_ns;
}

/* The supervisor hears of the child's end, and the child of the supervisor's. False without
 * memory. */
static bool create_bonds(struct jzx__super_turn *turn, struct jzx__child *child,
                         struct jzx__bonds *bonds) {
    struct jzx__super *super = turn->super;
    struct jzx__worker *me = turn->own.me;
    *bonds = (struct jzx__bonds){.ops = &jzx__watch_bonds,
                                 .mail = child->mail,
                                 .keeps_mail = child->spec->keep_mailbox,
                                 .is_child = true,
                                 .stop_grace_ns = grace_of(child->spec)};
    if (!jzx__own_ensure_part(&turn->own, JZX__PART_WATCH) ||
        !create_started_note(turn, child, bonds))
        return false;
    struct jzx__watch *by =
        jzx__watch_create(super->loop, me, JZX__WATCH_CHILD, super->id, JZX_NOBODY);
    struct jzx__watch *of =
        jzx__watch_create(super->loop, me, JZX__WATCH_PARENT, JZX_NOBODY, super->id);
    if (by != NULL) {
        by->child = child;
        jzx__watch_hold(turn->own.cold, by);
    }
    if (of != NULL)
        jzx__watch_list(turn->own.cold, of);
    bonds->by = by;
    bonds->of = of;
    if (by != NULL && of != NULL)
        return true;
    forget_bonds(turn, bonds);
    return false;
}

static jzx_err spawn_child(struct jzx__super_turn *turn, const jzx_child_spec *spec,
                           const struct jzx__bonds *bonds, jzx_actor_id *id) {
    struct jzx_loop *loop = turn->super->loop;
    if (spec->supervisor != NULL) {
        jzx_supervisor_opts below = *spec->supervisor; /* a copy of ours, in full */
        if (below.listener == JZX_NOBODY)
            below.listener = turn->super->spec->opts.listener;
        return jzx__super_spawn(loop, turn->own.me, &below, spec->name, bonds, id);
    }
    const jzx_spawn_opts opts = {.size = sizeof opts,
                                 .behavior = spec->behavior,
                                 .fiber = spec->fiber,
                                 .type = spec->type,
                                 .stack_size_bytes = spec->stack_size_bytes,
                                 .migratable = spec->migratable,
                                 .trap_stop = spec->trap_stop,
                                 .thread_bound = spec->thread_bound,
                                 .process = spec->process,
                                 .method = spec->method,
                                 .input = spec->input,
                                 .input_len = spec->input_len,
                                 .state = spec->state,
                                 .name = spec->name,
                                 .init = spec->init,
                                 .cleanup = spec->cleanup,
                                 .mailbox_cap = spec->mailbox_cap,
                                 .stash_cap = spec->stash_cap,
                                 .on_full = spec->on_full,
                                 .place = spec->place,
                                 .priority = spec->priority};
    return jzx__spawn_bound(loop, turn->own.me, &opts, bonds, id);
}

/* A child that is to have its name, and what became of that. */
struct naming {
    struct jzx__child *child;
    jzx_err err;
};

/* The name goes to the new incarnation before that begins, perhaps on another worker. */
static void move_name(void *arg, jzx_actor_id id) {
    struct naming *naming = arg;
    struct jzx__child *child = naming->child;
    struct jzx_loop *loop = child->super->loop;
    naming->err = child->pin == NULL
                      ? jzx__names_pin(loop, child->spec->registered, id, &child->pin)
                      : jzx__names_move(loop, child->pin, id);
}

jzx_err jzx__child_start(struct jzx__super_turn *turn, struct jzx__child *child) {
    struct jzx__bonds bonds;
    struct naming naming = {child, JZX_OK};
    jzx_actor_id id = JZX_NOBODY;
    if (!jzx__tell_reserve(turn, child) || !create_bonds(turn, child, &bonds))
        return JZX_ERR_NO_MEMORY;
    if (child->spec->registered != NULL) {
        bonds.before = move_name;
        bonds.before_arg = &naming;
    }
    jzx_err err = spawn_child(turn, child->spec, &bonds, &id);
    if (err != JZX_OK) {
        forget_bonds(turn, &bonds);
        return err;
    }
    child->name_err = naming.err;
    if (naming.err != JZX_OK) { /* it is to end at once, and that is a failure like others */
        child->trouble = "it cannot have its registered name";
        jzx__log(&turn->super->loop->sched.log, JZX_LOG_WARN,
                 "child %s cannot have the name %s: %s", jzx__child_name(child),
                 child->spec->registered, jzx_err_text(naming.err));
        (void)jzx__actor_request(turn->super->loop, turn->own.me, id, JZX__WANT_KILL);
    }
    child->mail = NULL;
    child->is_untold = child->exit_note != NULL;
    bool starts = bonds.started_note != NULL;
    child->ran_from_ns = starts ? 0 : jzx_loop_now(turn->super->loop) + 1;
    child->has_run = child->has_run || (!starts && naming.err == JZX_OK);
    jzx__child_set(child, starts ? JZX_CHILD_STARTING : JZX_CHILD_RUNNING, id);
    return JZX_OK;
}

/* ---- supervisors ---- */

/* What is left of a supervisor whose children have ended, or end with it. */
static void destroy(struct jzx__super *super) {
    const jzx_allocator *allocator = &super->loop->sched.allocator;
    struct jzx__link *link;
    while ((link = jzx__list_pop_front(&super->children)) != NULL)
        jzx__child_destroy(jzx__child_of(link));
    if (super->failures != NULL)
        jzx__free(allocator, super->failures, super->failures_max * sizeof *super->failures);
    jzx__spec_free(allocator, super->spec);
    jzx__free(allocator, super, sizeof *super);
}

static struct jzx__list *bucket_of(struct jzx_loop *loop, jzx_actor_id id) {
    return &jzx__supers_of(loop)->buckets[jzx_id_index(id) % JZX__SUPER_BUCKETS];
}

struct jzx__super *jzx__super_find(struct jzx_loop *loop, jzx_actor_id id) {
    struct jzx__link *ring = &bucket_of(loop, id)->ring;
    for (struct jzx__link *link = ring->next; link != ring; link = link->next) {
        struct jzx__super *super = JZX_CONTAINER_OF(link, struct jzx__super, link);
        if (super->id == id)
            return super;
    }
    return NULL;
}

/* The mail of children that wait, and the answers that they owe. One that works off its queue takes
 * no notice in any more, and is not to go on alone. */
static void drop_children(struct jzx__super *super, struct jzx__worker *me) {
    struct jzx__link *ring = &super->children.ring;
    for (struct jzx__link *link = ring->next; link != ring; link = link->next) {
        struct jzx__child *child = jzx__child_of(link);
        jzx__message_bury_all(super->loop, me, &child->mail, child->last_id, child->spec->name);
        jzx__command_answer(super->loop, me, child->answer, super->id, JZX_NOBODY,
                            JZX_ERR_LOOP_CLOSED);
        child->answer = NULL;
        jzx__tell_drop(super->loop, me, child);
        if (child->state == JZX_CHILD_STOPPING)
            (void)jzx__actor_request(super->loop, me, child->id, JZX__WANT_SHUTDOWN);
    }
}

/* Those of its children that live hear of its end by their bond. */
static void clean_up(jzx_context *ctx, jzx_exit_reason reason) {
    struct jzx__super *super = ctx->state;
    struct jzx__visit visit;
    (void)reason;
    struct jzx__worker *me = jzx__loop_visit(super->loop, &visit);
    jzx__lock_acquire(&jzx__supers_of(super->loop)->lock);
    jzx__list_remove(&super->link);
    jzx__lock_release(&jzx__supers_of(super->loop)->lock);
    drop_children(super, me);
    destroy(super);
    jzx__visit_end(&visit);
}

/* False without memory. The names were checked. */
static bool link_children(struct jzx__super *super) {
    struct jzx__link *ring = &super->children.ring;
    bool complete = true;
    super->by_name = jzx__needs_are_named(&super->spec->opts);
    for (struct jzx__link *link = ring->next; complete && link != ring; link = link->next)
        complete = jzx__depend_link(jzx__child_of(link)) == JZX_OK;
    return complete;
}

/* With all its children, none started; NULL without memory. */
static struct jzx__super *create(struct jzx_loop *loop, const jzx_supervisor_opts *opts) {
    const jzx_allocator *allocator = &loop->sched.allocator;
    struct jzx__super *super = jzx__alloc(allocator, sizeof *super);
    if (super == NULL)
        return NULL;
    *super = (struct jzx__super){.loop = loop, .spec = jzx__spec_copy(allocator, opts)};
    if (super->spec == NULL) {
        jzx__free(allocator, super, sizeof *super);
        return NULL;
    }
    jzx__list_init(&super->children);
    uint32_t intensity = super->spec->opts.intensity;
    if (intensity != JZX_UNLIMITED) {
        super->failures_max = intensity == JZX_NONE ? 1 : intensity + 1;
        size_t size = super->failures_max * sizeof *super->failures;
        super->failures = jzx__alloc(allocator, size);
        if (super->failures != NULL)
            memset(super->failures, 0, size);
    }
    bool complete = intensity == JZX_UNLIMITED || super->failures != NULL;
    for (size_t i = 0; complete && i < super->spec->opts.child_count; i++)
        complete = jzx__child_create(super, &super->spec->children[i]) != NULL;
    if (!complete || !link_children(super)) {
        destroy(super);
        return NULL;
    }
    return super;
}

/* A supervisor to come, and its bonds with the one above, or NULL. */
struct publication {
    struct jzx__super *super;
    const struct jzx__bonds *bonds;
};

/* Before it begins, perhaps on another thread: from here on it is found. */
static void publish(void *arg, jzx_actor_id id) {
    const struct publication *publication = arg;
    struct jzx__super *super = publication->super;
    const struct jzx__bonds *bonds = publication->bonds;
    super->id = id;
    jzx__rng_init(&super->rng, id);
    jzx__lock_acquire(&jzx__supers_of(super->loop)->lock);
    jzx__list_push_back(bucket_of(super->loop, id), &super->link);
    jzx__lock_release(&jzx__supers_of(super->loop)->lock);
    if (bonds != NULL && bonds->before != NULL)
        bonds->before(bonds->before_arg, id);
}

jzx_err jzx__super_spawn(struct jzx_loop *loop, struct jzx__worker *me,
                         const jzx_supervisor_opts *opts, const char *name,
                         const struct jzx__bonds *bonds, jzx_actor_id *id) {
    struct jzx__super *super = create(loop, opts);
    struct jzx__message *note =
        create_note(loop, me, JZX__TAG_SUPER_STOP, sizeof(struct jzx__stop_order));
    jzx_err err = JZX_ERR_NO_MEMORY;
    jzx_actor_id made = JZX_NOBODY;
    if (super != NULL && note != NULL) {
        struct publication publication = {super, bonds};
        struct jzx__bonds all = bonds == NULL ? (struct jzx__bonds){0} : *bonds;
        const jzx_spawn_opts spawn = {.size = sizeof spawn,
                                      .behavior = jzx__supervise,
                                      .state = super,
                                      .name = name,
                                      .init = jzx__super_init,
                                      .cleanup = clean_up};
        all.is_super = true;
        all.stop_note = note;
        super->is_top = bonds == NULL;
        all.before = publish;
        all.before_arg = &publication;
        err = jzx__spawn_bound(loop, me, &spawn, &all, &made);
    }
    if (err == JZX_OK) {
        if (id != NULL)
            *id = made;
        return JZX_OK;
    }
    if (note != NULL)
        jzx__message_destroy(loop, me, note);
    if (super != NULL)
        destroy(super);
    return err;
}
