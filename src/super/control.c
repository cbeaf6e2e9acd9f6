/* SPDX-License-Identifier: MIT */
/* What others ask of a supervisor, and what they may know of its children. */
#include "super/control.h"

#include "super/needs.h"
#include "super/start.h"
#include "super/super.h"

#include "actor/mailbox.h"
#include "base/alloc.h"
#include "base/log.h"
#include "base/sized.h"

#include <string.h>

/* ---- making one ---- */

static void log_wrong(struct jzx_loop *loop, const jzx_supervisor_opts *opts,
                      const struct jzx__needs_wrong *wrong) {
    static const char *const texts[] = {
        [JZX__NEEDS_UNKNOWN] = "no sibling has that name",
        [JZX__NEEDS_CIRCLE] = "they wait for one another",
        [JZX__NEEDS_DYNAMIC] = "children of a dynamic supervisor do not depend on one another",
        [JZX__NEEDS_TOO_MANY] = "it has too many children",
    };
    const char *name = opts->name == NULL ? "-" : opts->name;
    if (wrong->name == NULL)
        jzx__log(&loop->sched.log, JZX_LOG_ERROR, "supervisor %s: depends_on is refused: %s", name,
                 texts[wrong->fault]);
    else
        jzx__log(&loop->sched.log, JZX_LOG_ERROR, "supervisor %s: child %s depends on %s: %s", name,
                 wrong->child == NULL ? "-" : wrong->child, wrong->name, texts[wrong->fault]);
}

/* Says what the check has found wrong in depends_on, in the order of the check: each supervisor
 * that is looked at was checked. True if it was this supervisor or one below. */
static bool explain_needs(struct jzx_loop *loop, const jzx_supervisor_opts *from) {
    jzx_supervisor_opts opts;
    struct jzx__needs_wrong wrong;
    (void)jzx__read_sized(&opts, sizeof opts, from);
    for (size_t i = 0; i < opts.child_count; i++) {
        const jzx_child_spec child = jzx__spec_child(&opts, i);
        if (child.supervisor != NULL && explain_needs(loop, child.supervisor))
            return true;
    }
    if (jzx__needs_are_sound(&opts, &wrong))
        return false;
    log_wrong(loop, &opts, &wrong);
    return true;
}

jzx_err jzx_spawn_supervisor(jzx_loop *loop, const jzx_supervisor_opts *opts, jzx_actor_id *id) {
    const char *field = NULL;
    if (loop == NULL)
        return JZX_ERR_INVALID_ARG;
    if (jzx_supervisor_check(opts, &field) != JZX_OK) {
        if (strcmp(field, "depends_on") == 0)
            (void)explain_needs(loop, opts);
        return JZX_ERR_INVALID_ARG;
    }
    if (!jzx__spec_has_places(opts, loop->sched.worker_count))
        return JZX_ERR_INVALID_ARG;
    jzx_supervisor_opts full;
    (void)jzx__read_sized(&full, sizeof full, opts); /* as the check has found */
    struct jzx__visit visit;
    struct jzx__worker *me = jzx__loop_visit(loop, &visit);
    jzx_err err = jzx__super_spawn(loop, me, &full, full.name, NULL, id);
    jzx__visit_end(&visit);
    return err;
}

/* ---- the lock ---- */

/* Inside the bracket: S4 of seat.h. */
static void lock(struct jzx_loop *loop, struct jzx__visit *visit) {
    jzx__visit_begin(visit);
    jzx__lock_acquire(&jzx__supers_of(loop)->lock);
}

static void unlock(struct jzx_loop *loop, const struct jzx__visit *visit) {
    jzx__lock_release(&jzx__supers_of(loop)->lock);
    jzx__visit_end(visit);
}

/* ---- commands ---- */

void jzx__command_answer(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__message *answer,
                         jzx_actor_id supervisor, jzx_actor_id child, jzx_err err) {
    if (answer == NULL)
        return;
    jzx_child_added *added = (void *)answer->payload;
    jzx_actor_id to = answer->sender;
    added->supervisor = supervisor;
    added->child = child;
    added->err = err;
    answer->sender = supervisor;
    answer->node.generation = jzx_id_generation(to);
    struct jzx__actor *actor = jzx__table_lookup(&loop->table, to);
    if (actor == NULL || jzx__mailbox_deliver(loop, me, actor, answer) != JZX_OK)
        jzx__message_destroy(loop, me, answer);
}

/* Its supervisor has ended, or it was carried out: then nothing is left. */
static void drop_command(void *data, size_t len) {
    struct jzx__command *command = data;
    struct jzx_loop *loop = command->loop;
    struct jzx__visit visit;
    (void)len;
    struct jzx__worker *me = jzx__loop_visit(loop, &visit);
    jzx__command_answer(loop, me, command->answer, command->supervisor, JZX_NOBODY,
                        JZX_ERR_NO_SUCH_ACTOR);
    jzx__visit_end(&visit);
    if (command->spec != NULL)
        jzx__spec_free(&loop->sched.allocator, command->spec);
}

/* Gives it to the supervisor. On an error spec and answer are still the caller's. */
static jzx_err post(struct jzx_loop *loop, struct jzx__worker *me,
                    const struct jzx__command *command) {
    struct jzx__actor *actor = jzx__table_lookup(&loop->table, command->supervisor);
    if (actor == NULL)
        return jzx__mailbox_gone(loop);
    struct jzx__message *message =
        jzx__message_create_large(loop, me, sizeof *command, drop_command);
    if (message == NULL)
        return JZX_ERR_NO_MEMORY;
    message->node.generation = jzx_id_generation(command->supervisor);
    message->node.weight = 1; /* as a user's: who asks for too much at once is refused */
    message->node.lane = JZX__LANE_RUNTIME;
    message->sender = JZX_NOBODY;
    message->tag = JZX__TAG_COMMAND;
    memcpy(message->payload, command, sizeof *command);
    jzx_err err = jzx__mailbox_deliver(loop, me, actor, message);
    if (err != JZX_OK) {
        struct jzx__command *copy = (void *)message->payload;
        copy->spec = NULL;
        copy->answer = NULL;
        jzx__message_destroy(loop, me, message);
    }
    return err;
}

/* True if there is such a supervisor with such a child. */
static bool exists(struct jzx_loop *loop, jzx_actor_id supervisor, const char *name) {
    struct jzx__visit visit;
    lock(loop, &visit);
    struct jzx__super *super = jzx__super_find(loop, supervisor);
    bool found = false;
    struct jzx__link *ring = super == NULL ? NULL : &super->children.ring;
    for (struct jzx__link *link = ring == NULL ? NULL : ring->next; link != ring && !found;
         link = link->next) {
        const struct jzx__child *child = jzx__child_of(link);
        found = jzx__child_is_named(child, name);
    }
    unlock(loop, &visit);
    return found;
}

static jzx_err ask_about(jzx_loop *loop, jzx_actor_id supervisor, const char *name,
                         enum jzx__command_kind kind) {
    if (loop == NULL || name == NULL || strnlen(name, JZX_NAME_MAX + 1) > JZX_NAME_MAX)
        return JZX_ERR_INVALID_ARG;
    if (!exists(loop, supervisor, name))
        return JZX_ERR_NO_SUCH_ACTOR;
    struct jzx__command command = {.kind = kind, .loop = loop, .supervisor = supervisor};
    memcpy(command.name, name, strlen(name) + 1);
    struct jzx__visit visit;
    struct jzx__worker *me = jzx__loop_visit(loop, &visit);
    jzx_err err = post(loop, me, &command);
    jzx__visit_end(&visit);
    return err;
}

jzx_err jzx_supervisor_remove(jzx_loop *loop, jzx_actor_id supervisor, const char *name) {
    return ask_about(loop, supervisor, name, JZX__COMMAND_REMOVE);
}

jzx_err jzx_supervisor_stop_child(jzx_loop *loop, jzx_actor_id supervisor, const char *name) {
    return ask_about(loop, supervisor, name, JZX__COMMAND_STOP);
}

jzx_err jzx_supervisor_restart(jzx_loop *loop, jzx_actor_id supervisor, const char *name) {
    return ask_about(loop, supervisor, name, JZX__COMMAND_RESTART);
}

/* Whether there is such a supervisor, and it may have such a child. */
static jzx_err may_add(struct jzx_loop *loop, jzx_actor_id supervisor, const jzx_child_spec *spec) {
    struct jzx__visit visit;
    jzx_err err = JZX_ERR_NO_SUCH_ACTOR;
    lock(loop, &visit);
    const struct jzx__super *super = jzx__super_find(loop, supervisor);
    if (super != NULL) {
        bool is_wrong = jzx__spec_is_in_vain(&super->spec->opts, spec) ||
                        (jzx__needs_count(spec) != 0 && !super->by_name);
        err = is_wrong ? JZX_ERR_INVALID_ARG : JZX_OK;
    }
    unlock(loop, &visit);
    return err;
}

/* False without memory. */
static bool create_answer(struct jzx_loop *loop, struct jzx__worker *me, jzx_actor_id to,
                          const jzx_child_spec *spec, struct jzx__message **answer) {
    *answer = NULL;
    if (to == JZX_NOBODY)
        return true;
    struct jzx__message *message = jzx__message_create(loop, me, sizeof(jzx_child_added));
    if (message == NULL)
        return false;
    jzx_child_added added = {.err = JZX_OK};
    if (spec->name != NULL)
        memcpy(added.name, spec->name, strlen(spec->name) + 1);
    memcpy(message->payload, &added, sizeof added);
    message->node.weight = 0;
    message->node.lane = JZX__LANE_RUNTIME;
    message->sender = to;
    message->tag = JZX_TAG_CHILD_ADDED;
    *answer = message;
    return true;
}

/* one has one child. */
static jzx_err add(struct jzx_loop *loop, struct jzx__worker *me, jzx_actor_id supervisor,
                   const jzx_supervisor_opts *one, jzx_actor_id reply_to) {
    struct jzx__command command = {
        .kind = JZX__COMMAND_ADD, .loop = loop, .supervisor = supervisor};
    command.spec = jzx__spec_copy(&loop->sched.allocator, one);
    if (command.spec == NULL)
        return JZX_ERR_NO_MEMORY;
    jzx_err err = create_answer(loop, me, reply_to, one->children, &command.answer)
                      ? post(loop, me, &command)
                      : JZX_ERR_NO_MEMORY;
    if (err != JZX_OK) {
        if (command.answer != NULL)
            jzx__message_destroy(loop, me, command.answer);
        jzx__spec_free(&loop->sched.allocator, command.spec);
    }
    return err;
}

jzx_err jzx_supervisor_add(jzx_loop *loop, jzx_actor_id supervisor, const jzx_child_spec *spec,
                           size_t spec_size, jzx_actor_id reply_to) {
    jzx_child_spec full;
    const jzx_supervisor_opts one = {
        .size = sizeof one, .children = &full, .child_count = 1, .child_size = sizeof full};
    if (loop == NULL || !jzx__read_part(&full, sizeof full, spec, spec_size) ||
        jzx__spec_wrong_child(&full, 0) != NULL ||
        !jzx__spec_has_places(&one, loop->sched.worker_count))
        return JZX_ERR_INVALID_ARG;
    jzx_err err = may_add(loop, supervisor, &full);
    if (err != JZX_OK)
        return err;
    struct jzx__visit visit;
    struct jzx__worker *me = jzx__loop_visit(loop, &visit);
    err = add(loop, me, supervisor, &one, reply_to);
    jzx__visit_end(&visit);
    return err;
}

/* ---- looking ---- */

static void fill_child_info(const struct jzx__child *child, jzx_child_info *info) {
    const char *name = jzx__child_name(child);
    *info = (jzx_child_info){.size = sizeof *info,
                             .id = child->id,
                             .state = child->state,
                             .restarts = child->restarts,
                             .attempt = child->attempt,
                             .delay_ns = child->delay_ns,
                             .last_reason = child->last_reason};
    memcpy(info->name, name, strlen(name) + 1);
    memcpy(info->last_text, child->last_text, sizeof info->last_text);
}

/* The child with that name, or if name is NULL with that number in the row. Under the lock. */
static struct jzx__child *find_child(struct jzx__super *super, const char *name, size_t index) {
    struct jzx__link *ring = &super->children.ring;
    for (struct jzx__link *link = ring->next; link != ring; link = link->next) {
        struct jzx__child *child = jzx__child_of(link);
        bool found = name == NULL ? index-- == 0 : jzx__child_is_named(child, name);
        if (found)
            return child;
    }
    return NULL;
}

static jzx_err look(jzx_loop *loop, jzx_actor_id supervisor, const char *name, size_t index,
                    jzx_child_info *info) {
    struct jzx__visit visit;
    lock(loop, &visit);
    struct jzx__super *super = jzx__super_find(loop, supervisor);
    const struct jzx__child *child = super == NULL ? NULL : find_child(super, name, index);
    if (child != NULL)
        fill_child_info(child, info);
    unlock(loop, &visit);
    return child == NULL ? JZX_ERR_NO_SUCH_ACTOR : JZX_OK;
}

static jzx_err look_for_id(jzx_loop *loop, jzx_actor_id supervisor, const char *name, size_t index,
                           jzx_actor_id *id) {
    jzx_child_info info;
    jzx_err err = look(loop, supervisor, name, index, &info);
    if (err == JZX_OK && info.id == JZX_NOBODY)
        err = JZX_ERR_NO_SUCH_ACTOR;
    if (err == JZX_OK)
        *id = info.id;
    return err;
}

jzx_err jzx_supervisor_child(jzx_loop *loop, jzx_actor_id supervisor, const char *name,
                             jzx_actor_id *id) {
    if (loop == NULL || name == NULL || id == NULL)
        return JZX_ERR_INVALID_ARG;
    return look_for_id(loop, supervisor, name, 0, id);
}

jzx_err jzx_supervisor_child_id(jzx_loop *loop, jzx_actor_id supervisor, size_t index,
                                jzx_actor_id *id) {
    if (loop == NULL || id == NULL)
        return JZX_ERR_INVALID_ARG;
    return look_for_id(loop, supervisor, NULL, index, id);
}

jzx_err jzx_supervisor_child_info(jzx_loop *loop, jzx_actor_id supervisor, size_t index,
                                  jzx_child_info *info) {
    jzx_child_info seen;
    if (loop == NULL || !jzx__is_sized(info, sizeof *info))
        return JZX_ERR_INVALID_ARG;
    jzx_err err = look(loop, supervisor, NULL, index, &seen);
    if (err == JZX_OK)
        jzx__write_sized(info, &seen);
    return err;
}

jzx_err jzx_supervisor_child_state(jzx_loop *loop, jzx_actor_id supervisor, const char *name,
                                   jzx_child_state *state) {
    struct jzx__visit visit;
    if (loop == NULL || name == NULL || state == NULL)
        return JZX_ERR_INVALID_ARG;
    lock(loop, &visit);
    struct jzx__super *super = jzx__super_find(loop, supervisor);
    const struct jzx__child *child = super == NULL ? NULL : find_child(super, name, 0);
    if (super != NULL)
        *state = child == NULL ? JZX_CHILD_UNKNOWN : child->state;
    unlock(loop, &visit);
    return super == NULL ? JZX_ERR_NO_SUCH_ACTOR : JZX_OK;
}

jzx_err jzx_supervisor_info_get(jzx_loop *loop, jzx_actor_id supervisor,
                                jzx_supervisor_info *info) {
    jzx_supervisor_info seen = {.size = sizeof seen};
    if (loop == NULL || !jzx__is_sized(info, sizeof *info))
        return JZX_ERR_INVALID_ARG;
    struct jzx__visit visit;
    lock(loop, &visit);
    struct jzx__super *super = jzx__super_find(loop, supervisor);
    if (super != NULL) {
        seen.children = super->child_count;
        seen.restarts = super->restarts;
        seen.closing = super->closing;
        struct jzx__link *ring = &super->children.ring;
        for (struct jzx__link *link = ring->next; link != ring; link = link->next) {
            const struct jzx__child *child = jzx__child_of(link);
            seen.running += child->state == JZX_CHILD_RUNNING;
            seen.supervisors += child->spec->supervisor != NULL;
        }
    }
    unlock(loop, &visit);
    if (super == NULL)
        return JZX_ERR_NO_SUCH_ACTOR;
    jzx__write_sized(info, &seen);
    return JZX_OK;
}
