/* SPDX-License-Identifier: MIT */
/* The table of files, their owners, and handing one over. */
#include "file/file.h"

#include "actor/mailbox.h"
#include "base/alloc.h"

#include <string.h>

#define CAP_FIRST 16u

/* ---- records, under the lock ---- */

static bool grow(struct jzx_loop *loop, struct jzx__files *files) {
    const jzx_allocator *allocator = &loop->sched.allocator;
    uint32_t cap = files->cap == 0 ? CAP_FIRST : files->cap * 2;
    struct jzx__file **records = jzx__alloc(allocator, cap * sizeof(*records));
    if (records == NULL)
        return false;
    if (files->cap != 0) {
        memcpy(records, files->records, files->cap * sizeof(*records));
        jzx__free(allocator, files->records, files->cap * sizeof(*records));
    }
    files->records = records;
    files->cap = cap;
    return true;
}

static struct jzx__file *take_record(struct jzx_loop *loop, struct jzx__files *files) {
    struct jzx__file *file = files->free;
    if (file != NULL) {
        files->free = file->next_free;
        return file;
    }
    if (files->count == files->cap && !grow(loop, files))
        return NULL;
    file = jzx__alloc_aligned(&loop->sched.allocator, sizeof *file, JZX_CACHE_LINE);
    if (file == NULL)
        return NULL;
    *file = (struct jzx__file){.loop = loop, .index = files->count, .generation = 1};
    files->records[files->count++] = file;
    return file;
}

static void unlist(struct jzx__file *file) {
    if (file->flags & JZX__FILE_LISTED)
        jzx__list_remove(&file->at_owner);
    file->flags &= (uint8_t)~JZX__FILE_LISTED;
}

static void end_all(struct jzx__worker *me, struct jzx__list *things);

static void list(struct jzx__file *file, struct jzx__actor_io *own) {
    own->end_things = end_all;
    jzx__list_push_back(&own->things, &file->at_owner);
    file->flags |= JZX__FILE_LISTED;
}

/* Nobody finds it by its handle any more (F3). */
static void make_stale(struct jzx__file *file) {
    unlist(file);
    file->generation++;
    file->flags |= JZX__FILE_STALE;
}

/* If nobody uses it, the record is free, and the descriptor, or -1, the caller's to close (F2). */
static int reap(struct jzx__files *files, struct jzx__file *file) {
    if ((file->flags & JZX__FILE_STALE) == 0 || file->uses != 0)
        return -1;
    int fd = file->flags & JZX__FILE_OPEN ? file->fd : -1;
    file->flags = 0;
    if (file->generation != 0) { /* F3: the last one was used */
        file->next_free = files->free;
        files->free = file;
    }
    return fd;
}

static struct jzx__file *find(const struct jzx__files *files, jzx_file handle) {
    uint32_t index = (uint32_t)handle;
    if (index >= files->count || files->records[index]->generation != handle >> 32)
        return NULL;
    struct jzx__file *file = files->records[index];
    return file->flags & JZX__FILE_OPEN ? file : NULL; /* not one that is free, or being opened */
}

/* ---- after the lock ---- */

/* The errors of a close tell nothing that can be mended: the descriptor is gone. */
static void close_fd(const struct jzx__files *files, int fd) {
    if (fd >= 0)
        (void)files->os->close(fd);
}

/* ---- uses ---- */

struct jzx__file *jzx__file_create(struct jzx_loop *loop, struct jzx__own *own) {
    struct jzx__files *files = jzx__files_of(loop);
    if (own != NULL && !jzx__own_ensure_part(own, JZX__PART_IO))
        return NULL;
    jzx__lock_acquire(&files->lock);
    struct jzx__file *file = take_record(loop, files);
    if (file != NULL) {
        file->owner = own == NULL ? JZX_NOBODY : own->turn->ctx.self;
        file->uses = 1;
        file->flags = 0;
        if (own != NULL)
            list(file, jzx__own_part(own, JZX__PART_IO));
    }
    jzx__lock_release(&files->lock);
    return file;
}

jzx_err jzx__file_use(struct jzx_loop *loop, jzx_file handle, bool here, struct jzx__file **file) {
    struct jzx__files *files = jzx__files_of(loop);
    jzx__lock_acquire(&files->lock);
    struct jzx__file *found = find(files, handle);
    jzx_err err = found == NULL                                  ? JZX_ERR_CLOSED
                  : here && (found->flags & JZX__FILE_HERE) != 0 ? JZX_ERR_BUSY
                                                                 : JZX_OK;
    if (err == JZX_OK) {
        found->uses++;
        if (here)
            found->flags |= JZX__FILE_HERE;
        *file = found;
    }
    jzx__lock_release(&files->lock);
    return err;
}

void jzx__file_unuse(struct jzx__file *file, bool here) {
    struct jzx__files *files = jzx__files_of(file->loop);
    jzx__lock_acquire(&files->lock);
    if (here)
        file->flags &= (uint8_t)~JZX__FILE_HERE;
    file->uses--;
    int fd = reap(files, file);
    jzx__lock_release(&files->lock);
    close_fd(files, fd);
}

void jzx__file_opened(struct jzx__file *file, int fd, bool is_regular) {
    struct jzx__files *files = jzx__files_of(file->loop);
    jzx__lock_acquire(&files->lock);
    if (fd >= 0) {
        file->fd = fd;
        file->is_regular = is_regular;
        file->flags |= JZX__FILE_OPEN;
    } else if ((file->flags & JZX__FILE_STALE) == 0) {
        make_stale(file);
    }
    jzx__lock_release(&files->lock);
    jzx__file_unuse(file, false);
}

/* ---- handles ---- */

jzx_err jzx_file_close(jzx_loop *loop, jzx_file handle) {
    struct jzx__visit visit;
    int fd = -1;
    if (loop == NULL)
        return JZX_ERR_INVALID_ARG;
    struct jzx__files *files = jzx__files_of(loop);
    (void)jzx__loop_visit(loop, &visit);
    jzx__lock_acquire(&files->lock);
    struct jzx__file *file = find(files, handle);
    if (file != NULL) {
        make_stale(file);
        fd = reap(files, file);
    }
    jzx__lock_release(&files->lock);
    close_fd(files, fd);
    jzx__visit_end(&visit);
    return file == NULL ? JZX_ERR_CLOSED : JZX_OK;
}

int jzx_file_fd(jzx_loop *loop, jzx_file handle) {
    struct jzx__visit visit;
    if (loop == NULL)
        return JZX_ERR_INVALID_ARG;
    struct jzx__files *files = jzx__files_of(loop);
    (void)jzx__loop_visit(loop, &visit);
    jzx__lock_acquire(&files->lock);
    const struct jzx__file *file = find(files, handle);
    int fd = file == NULL ? JZX_ERR_CLOSED : file->fd;
    jzx__lock_release(&files->lock);
    jzx__visit_end(&visit);
    return fd;
}

/* ---- handing one over ---- */

/* Brings it to its new owner, which it names already. Under the lock; false if that takes nothing
 * in. */
static bool send_move(struct jzx_loop *loop, struct jzx__worker *me, struct jzx__file *file,
                      struct jzx__actor *to) {
    file->move =
        (struct jzx__node){.generation = jzx_id_generation(file->owner), .lane = JZX__LANE_FILE};
    switch (jzx__task_push(&to->task, &file->move, 0)) {
    case JZX__PUSH_OK_INJECT: jzx__task_inject(&to->task, me); break;
    case JZX__PUSH_OK: break;
    default: return false;
    }
    (void)loop;
    return true;
}

/* Under the lock, as the next. */
static jzx_err may_give(const struct jzx__own *own, const struct jzx__file *file) {
    if (file->owner != own->turn->ctx.self && file->owner != JZX_NOBODY)
        return JZX_ERR_NOT_OWNER;
    return file->flags & JZX__FILE_MOVING ? JZX_ERR_BUSY : JZX_OK;
}

static jzx_err give(struct jzx__own *own, struct jzx__file *file, jzx_actor_id to,
                    struct jzx__actor *actor) {
    struct jzx_loop *loop = own->turn->ctx.loop;
    jzx_actor_id self = own->turn->ctx.self;
    jzx_actor_id before = file->owner;
    file->owner = to;
    if (to == self) {
        if ((file->flags & JZX__FILE_LISTED) == 0)
            list(file, jzx__own_part(own, JZX__PART_IO));
        return JZX_OK;
    }
    file->uses++;
    file->flags |= JZX__FILE_MOVING;
    if (!send_move(loop, own->me, file, actor)) {
        file->uses--;
        file->flags &= (uint8_t)~JZX__FILE_MOVING;
        file->owner = before;
        return jzx__mailbox_gone(loop);
    }
    unlist(file);
    return JZX_OK;
}

static jzx_err give_inside(struct jzx__own *own, jzx_file handle, jzx_actor_id to) {
    struct jzx_loop *loop = own->turn->ctx.loop;
    struct jzx__files *files = jzx__files_of(loop);
    struct jzx__actor *actor = jzx__table_lookup(&loop->table, to);
    struct jzx__cold *spare = NULL;
    if (actor == NULL)
        return jzx__mailbox_gone(loop);
    if (to == own->turn->ctx.self ? !jzx__own_ensure_part(own, JZX__PART_IO)
                                  : !jzx__spare_prepare(loop, own->me, actor, JZX__PART_IO, &spare))
        return JZX_ERR_NO_MEMORY;
    jzx__lock_acquire(&files->lock);
    struct jzx__file *file = find(files, handle);
    jzx_err err = file == NULL ? JZX_ERR_CLOSED : may_give(own, file);
    if (err == JZX_OK) {
        file->spare = spare;
        err = give(own, file, to, actor);
        spare = err == JZX_OK ? NULL : spare; /* to oneself there is none */
    }
    jzx__lock_release(&files->lock);
    jzx__cold_destroy(loop, own->me, spare);
    return err;
}

jzx_err jzx_file_give(jzx_context *ctx, jzx_file file, jzx_actor_id to) {
    struct jzx__own own;
    if (!jzx__own_begin(&own, ctx))
        return JZX_ERR_INVALID_ARG;
    jzx_err err = give_inside(&own, file, to);
    jzx__own_end(&own);
    return err;
}

static struct jzx__file *file_of_node(struct jzx__node *node) {
    return JZX_CONTAINER_OF(node, struct jzx__file, move);
}

static enum jzx__filed file_node(struct jzx__worker *me, struct jzx__actor *actor,
                                 struct jzx__node *node) {
    struct jzx__file *file = file_of_node(node);
    (void)me;
    if (jzx__spare_give_cold(actor, file->spare))
        file->spare = NULL;
    return JZX__FILED_KEEP;
}

/* The move is over; own: the record of its new owner, or NULL: that has ended. */
static void end_move(struct jzx__file *file, struct jzx__actor_io *own) {
    struct jzx__files *files = jzx__files_of(file->loop);
    jzx__lock_acquire(&files->lock);
    file->flags &= (uint8_t)~JZX__FILE_MOVING;
    if (own == NULL && (file->flags & JZX__FILE_STALE) == 0)
        make_stale(file);
    else if ((file->flags & JZX__FILE_STALE) == 0)
        list(file, own);
    jzx__lock_release(&files->lock);
    jzx__file_unuse(file, false);
}

/* It has come to its new owner. */
static enum jzx__look begin(struct jzx__worker *me, const struct jzx__spot *at) {
    struct jzx__file *file = file_of_node(at->node);
    struct jzx__cold *cold = jzx__actor_cold(at->actor);
    struct jzx__cold *spare = file->spare;
    jzx__mailbox_looked(at->actor);
    jzx__spot_remove(at);
    file->spare = NULL;
    jzx__spare_use(jzx__loop_of(me), me, cold, JZX__PART_IO, spare);
    end_move(file, jzx__cold_part(cold, JZX__PART_IO));
    return JZX__LOOK_GONE;
}

static void bury(struct jzx__worker *me, struct jzx__node *node, const struct jzx__addressee *to) {
    struct jzx__file *file = file_of_node(node);
    struct jzx__cold *spare = file->spare;
    (void)to;
    file->spare = NULL;
    jzx__cold_destroy(jzx__loop_of(me), me, spare);
    end_move(file, NULL);
}

const struct jzx__lane_ops jzx__lane_file = {.file = file_node, .begin = begin, .bury = bury};

/* ---- the end of an actor ---- */

/* The next file of an actor that ends; false: it has none. *fd is to be closed, unless negative. */
static bool take_next(struct jzx__files *files, struct jzx__list *things, int *fd) {
    jzx__lock_acquire(&files->lock);
    bool is_there = !jzx__list_is_empty(things);
    if (is_there) {
        struct jzx__file *file = JZX_CONTAINER_OF(things->ring.next, struct jzx__file, at_owner);
        make_stale(file);
        *fd = reap(files, file);
    }
    jzx__lock_release(&files->lock);
    return is_there;
}

static void end_all(struct jzx__worker *me, struct jzx__list *things) {
    struct jzx__files *files = jzx__files_of(jzx__loop_of(me));
    int fd = -1;
    while (take_next(files, things, &fd))
        close_fd(files, fd);
}
