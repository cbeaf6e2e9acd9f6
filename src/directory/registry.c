/* SPDX-License-Identifier: MIT */
/* Registering, looking up, and moving a name to a new id. */
#include "directory/registry.h"

#include "actor/mailbox.h"
#include "directory/directory.h"

#include "jzx/name.h"

static bool is_live(const void *ctx, uint64_t value) {
    return jzx__table_lookup(ctx, value) != NULL;
}

void jzx__registry_init(struct jzx__registry *registry, const struct jzx__table *table,
                        const jzx_allocator *allocator) {
    jzx__names_init(&registry->names, allocator, is_live, table);
    jzx__lock_init(&registry->lock);
}

void jzx__registry_deinit(struct jzx__registry *registry) {
    jzx__lock_deinit(&registry->lock);
    jzx__names_deinit(&registry->names);
}

/* Under the lock. */
static jzx_err give(struct jzx_loop *loop, struct jzx__name *entry, jzx_actor_id id) {
    jzx_actor_id holder = jzx__name_value(entry);
    if (holder == id)
        return JZX_OK;
    if (holder != JZX_NOBODY && is_live(&loop->table, holder))
        return JZX_ERR_EXISTS;
    jzx__name_set(entry, id);
    return JZX_OK;
}

static jzx_err put(struct jzx_loop *loop, const struct jzx__name_key *key, jzx_actor_id id,
                   struct jzx__name **pin) {
    struct jzx__registry *registry = jzx__registry_of(loop);
    struct jzx__visit visit;
    jzx__visit_begin(&visit); /* S4 of seat.h */
    jzx__lock_acquire(&registry->lock);
    struct jzx__name *entry = jzx__names_put(&registry->names, key);
    jzx_err err = entry == NULL ? JZX_ERR_NO_MEMORY : give(loop, entry, id);
    if (err == JZX_OK && pin != NULL) {
        entry->pins++;
        *pin = entry;
    }
    jzx__lock_release(&registry->lock);
    jzx__visit_end(&visit);
    return err;
}

/* The names that users may give. */
static bool pack(const struct jzx_loop *loop, struct jzx__name_key *key, const char *name) {
    return loop != NULL && jzx__name_pack(key, name) && name[0] != '@';
}

jzx_err jzx_register(jzx_loop *loop, const char *name, jzx_actor_id id) {
    struct jzx__name_key key;
    if (!pack(loop, &key, name))
        return JZX_ERR_INVALID_ARG;
    if (jzx__sched_is_stopped(&loop->sched))
        return JZX_ERR_LOOP_CLOSED;
    return jzx__table_is_alive(&loop->table, id) ? put(loop, &key, id, NULL)
                                                 : jzx__mailbox_gone(loop);
}

jzx_err jzx_unregister(jzx_loop *loop, const char *name) {
    struct jzx__name_key key;
    if (!pack(loop, &key, name))
        return JZX_ERR_INVALID_ARG;
    struct jzx__registry *registry = jzx__registry_of(loop);
    jzx_err err = jzx__mailbox_gone(loop);
    if (err == JZX_ERR_LOOP_CLOSED)
        return err;
    struct jzx__visit visit;
    jzx__visit_begin(&visit); /* S4 of seat.h */
    jzx__lock_acquire(&registry->lock);
    struct jzx__name *entry = jzx__names_find(&registry->names, &key);
    jzx_actor_id holder = entry == NULL ? JZX_NOBODY : jzx__name_value(entry);
    if (holder != JZX_NOBODY) {
        jzx__name_set(entry, JZX_NOBODY);
        err = is_live(&loop->table, holder) ? JZX_OK : err;
    }
    jzx__lock_release(&registry->lock);
    jzx__visit_end(&visit);
    return err;
}

static jzx_actor_id find(const struct jzx_loop *loop, const struct jzx__name_key *key) {
    jzx_actor_id id = jzx__names_get(&jzx__registry_of(loop)->names, key);
    return id != JZX_NOBODY && is_live(&loop->table, id) ? id : JZX_NOBODY;
}

jzx_err jzx_lookup(const jzx_loop *loop, const char *name, jzx_actor_id *id) {
    struct jzx__name_key key;
    if (loop == NULL || id == NULL || !jzx__name_pack(&key, name))
        return JZX_ERR_INVALID_ARG;
    jzx_actor_id found = find(loop, &key);
    if (found == JZX_NOBODY)
        return jzx__mailbox_gone(loop);
    *id = found;
    return JZX_OK;
}

jzx_err jzx_send_named(jzx_loop *loop, const char *name, jzx_actor_id from, const void *data,
                       size_t len, uint32_t tag) {
    struct jzx__name_key key;
    if (loop == NULL || !jzx__name_pack(&key, name))
        return jzx_send(loop, JZX_NOBODY, from, NULL, 1, tag); /* refused, and in the books */
    return jzx_send(loop, find(loop, &key), from, data, len, tag);
}

jzx_err jzx__names_pin(struct jzx_loop *loop, const char *name, jzx_actor_id id,
                       struct jzx__name **pin) {
    struct jzx__name_key key;
    if (!jzx__name_pack(&key, name))
        return JZX_ERR_INVALID_ARG;
    return is_live(&loop->table, id) ? put(loop, &key, id, pin) : jzx__mailbox_gone(loop);
}

void jzx__names_unpin(struct jzx_loop *loop, struct jzx__name *pin, jzx_actor_id id) {
    jzx__lock_acquire(&jzx__registry_of(loop)->lock);
    JZX_ASSERT(pin->pins > 0);
    pin->pins--;
    if (jzx__name_value(pin) == id)
        jzx__name_set(pin, JZX_NOBODY);
    jzx__lock_release(&jzx__registry_of(loop)->lock);
}

jzx_err jzx__names_move(struct jzx_loop *loop, struct jzx__name *pin, jzx_actor_id id) {
    if (!is_live(&loop->table, id))
        return jzx__mailbox_gone(loop);
    jzx__lock_acquire(&jzx__registry_of(loop)->lock);
    jzx_err err = give(loop, pin, id);
    jzx__lock_release(&jzx__registry_of(loop)->lock);
    return err;
}
