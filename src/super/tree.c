/* SPDX-License-Identifier: MIT */
/* The supervision trees of a loop as text. No user code runs under the lock, so the tree is looked
 * at child by child; what changes meanwhile may be missing or shown twice. */
#include "super/tree.h"

#include "actor/info.h"
#include "super/super.h"

#include <stdio.h>

/* Children of one supervisor that are shown. */
#define SHOWN_MAX 64u

struct tree {
    struct jzx_loop *loop;
    jzx__tree_fn line;
    void *ctx;
};

/* The id of the n-th supervisor at the top of a tree, or JZX_NOBODY. */
static jzx_actor_id top_of(struct jzx_loop *loop, size_t n) {
    jzx_actor_id found = JZX_NOBODY;
    struct jzx__visit visit;
    jzx__visit_begin(&visit); /* S4 of seat.h */
    jzx__lock_acquire(&jzx__supers_of(loop)->lock);
    for (uint32_t i = 0; i < JZX__SUPER_BUCKETS && found == JZX_NOBODY; i++) {
        struct jzx__link *ring = &jzx__supers_of(loop)->buckets[i].ring;
        for (struct jzx__link *link = ring->next; link != ring; link = link->next) {
            const struct jzx__super *super = JZX_CONTAINER_OF(link, struct jzx__super, link);
            if (super->is_top && n-- == 0) {
                found = super->id;
                break;
            }
        }
    }
    jzx__lock_release(&jzx__supers_of(loop)->lock);
    jzx__visit_end(&visit);
    return found;
}

static const char *state_name(jzx_child_state state) {
    static const char *const names[] = {"unknown", "starting", "running", "stopping",
                                        "waiting", "stopped",  "exited",  "failed"};
    return names[state];
}

/* How many messages an actor has not taken in yet; 0 if it is gone. */
static uint32_t depth_of(struct jzx_loop *loop, jzx_actor_id id) {
    jzx_actor_info info;
    struct jzx__actor *actor = jzx__table_lookup(&loop->table, id);
    return actor != NULL && jzx__actor_glance(actor, &info) ? info.depth : 0;
}

/* "" without a name, or if the actor is gone. */
static void read_name(struct jzx_loop *loop, jzx_actor_id id, char *name) {
    jzx_actor_info info;
    struct jzx__actor *actor = jzx__table_lookup(&loop->table, id);
    bool found = actor != NULL && jzx__actor_glance(actor, &info) && info.id == id;
    snprintf(name, JZX_NAME_MAX + 1, "%s", found ? info.name : "");
}

static void print_child(const struct tree *tree, const jzx_child_info *info, unsigned level) {
    char text[256];
    int length = snprintf(text, sizeof text, "%*s%s %u.%u %s, %u restarts, %u not taken in",
                          (int)(2 * level), "", info->name[0] == '\0' ? "-" : info->name,
                          jzx_id_index(info->id), jzx_id_generation(info->id),
                          state_name(info->state), info->restarts, depth_of(tree->loop, info->id));
    if (info->attempt != 0 && length > 0 && (size_t)length < sizeof text)
        snprintf(text + length, sizeof text - (size_t)length,
                 "; attempt %u after %llu ms, was %s%s%s", info->attempt,
                 (unsigned long long)(info->delay_ns / 1000000u), jzx_exit_name(info->last_reason),
                 info->last_text[0] == '\0' ? "" : " ", info->last_text);
    tree->line(tree->ctx, text);
}

static void print_super(const struct tree *tree, jzx_actor_id id, unsigned level) {
    jzx_supervisor_info super = {.size = sizeof super};
    if (jzx_supervisor_info_get(tree->loop, id, &super) != JZX_OK)
        return; /* it is no supervisor */
    for (size_t i = 0; i < super.children && i < SHOWN_MAX; i++) {
        jzx_child_info child = {.size = sizeof child};
        if (jzx_supervisor_child_info(tree->loop, id, i, &child) != JZX_OK)
            return;
        print_child(tree, &child, level);
        if (super.supervisors != 0 && level < JZX__SUPER_DEPTH_MAX)
            print_super(tree, child.id, level + 1);
    }
    if (super.children > SHOWN_MAX) {
        char text[64];
        snprintf(text, sizeof text, "%*sand %zu more", (int)(2 * level), "",
                 super.children - SHOWN_MAX);
        tree->line(tree->ctx, text);
    }
}

void jzx__supers_print(struct jzx_loop *loop, jzx__tree_fn line, void *ctx) {
    const struct tree tree = {loop, line, ctx};
    jzx_actor_id id;
    for (size_t n = 0; (id = top_of(loop, n)) != JZX_NOBODY; n++) {
        jzx_supervisor_info info = {.size = sizeof info};
        if (jzx_supervisor_info_get(loop, id, &info) != JZX_OK)
            continue;
        char text[192];
        char name[JZX_NAME_MAX + 1];
        read_name(loop, id, name);
        snprintf(text, sizeof text,
                 "supervisor %u.%u%s%s%s: %zu children, %zu running, %llu restarts",
                 jzx_id_index(id), jzx_id_generation(id), name[0] == '\0' ? "" : " ", name,
                 info.closing ? " (closing)" : "", info.children, info.running,
                 (unsigned long long)info.restarts);
        line(ctx, text);
        print_super(&tree, id, 1);
    }
}
