/* SPDX-License-Identifier: MIT */
#include "sync/signal.h"

struct group {
    struct jzx__signal signal; /* first */
    uint32_t count;            /* under its lock */
};

_Static_assert(sizeof(struct group) <= sizeof(jzx_wait_group), "fits its storage");

static struct group *group_of(const jzx_wait_group *storage) {
    return jzx__object_of(storage, JZX__SYNC_WAIT_GROUP);
}

static enum jzx__cause_kind look(struct jzx__source *source, const struct jzx__wait_link *link) {
    const struct group *group = JZX_CONTAINER_OF(source, struct group, signal.source);
    (void)link;
    return group->count == 0 ? JZX__CAUSE_ITEM : JZX__CAUSE_NONE;
}

/* There is nothing to take. */
static bool take(struct jzx__source *source, struct jzx__wait_link *link, struct jzx__wake *wake) {
    (void)source;
    (void)link;
    (void)wake;
    return true;
}

jzx_err jzx_wait_group_init(jzx_loop *loop, jzx_wait_group *storage) {
    static const struct jzx__source_ops ops = {
        .look = look, .take = take, .refs_at = JZX__SIGNAL_REFS_AT};
    struct group *group = (struct group *)(void *)storage;
    jzx_err err = jzx__signal_init((void *)storage, loop, JZX__SYNC_WAIT_GROUP, &ops);
    if (err == JZX_OK)
        group->count = 0;
    return err;
}

jzx_err jzx_wait_group_deinit(jzx_wait_group *storage) {
    struct group *group = group_of(storage);
    return jzx__signal_deinit(group == NULL ? NULL : &group->signal);
}

jzx_err jzx_wait_group_add(jzx_wait_group *storage, uint32_t count) {
    struct group *group = group_of(storage);
    struct jzx__caller caller;
    if (group == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx__caller_begin_any(&caller, &group->signal.object);
    jzx__lock_acquire(&group->signal.lock);
    bool fits = count <= UINT32_MAX - group->count;
    group->count += fits ? count : 0;
    jzx__lock_release(&group->signal.lock);
    jzx__caller_end(&caller);
    return fits ? JZX_OK : JZX_ERR_FULL;
}

jzx_err jzx_wait_group_done(jzx_wait_group *storage) {
    struct group *group = group_of(storage);
    struct jzx__caller caller;
    if (group == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx__caller_begin_any(&caller, &group->signal.object);
    jzx__lock_acquire(&group->signal.lock);
    bool was_any = group->count != 0;
    group->count -= was_any;
    if (was_any && group->count == 0)
        jzx__source_unlock_and_wake_all(&group->signal.source, JZX__CAUSE_ITEM, caller.me);
    else
        jzx__lock_release(&group->signal.lock);
    jzx__caller_end(&caller);
    return was_any ? JZX_OK : JZX_ERR_INVALID_ARG;
}

uint32_t jzx_wait_group_count(const jzx_wait_group *storage) {
    struct group *group = group_of(storage);
    struct jzx__caller caller;
    if (group == NULL)
        return 0;
    jzx__caller_begin_any(&caller, &group->signal.object);
    jzx__lock_acquire(&group->signal.lock);
    uint32_t count = group->count;
    jzx__lock_release(&group->signal.lock);
    jzx__caller_end(&caller);
    return count;
}

jzx_err jzx_wait_group_join(jzx_context *ctx, jzx_wait_group *storage, uint64_t deadline_ns) {
    struct group *group = group_of(storage);
    return jzx__signal_await_fiber(ctx, group == NULL ? NULL : &group->signal,
                                   "jzx_wait_group_join", deadline_ns);
}

jzx_err jzx_wait_group_join_wait(jzx_wait_group *storage, uint64_t deadline_ns) {
    struct group *group = group_of(storage);
    return jzx__signal_await_thread(group == NULL ? NULL : &group->signal,
                                    "jzx_wait_group_join_wait", deadline_ns);
}

jzx_err jzx_wait_group_join_to(jzx_context *ctx, jzx_wait_group *storage, uint32_t tag,
                               jzx_op *op) {
    struct group *group = group_of(storage);
    return jzx__signal_await_to(ctx, group == NULL ? NULL : &group->signal, tag, op);
}
