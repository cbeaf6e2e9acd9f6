/* SPDX-License-Identifier: MIT */
/* Files of a loop, and who has them.
 *
 *   F1  all that a file record has is under the lock of the table, but for `fd`, `is_regular` and
 *       `is_readable`, which are written once, by the operation that opens it, before the file is
 *       OPEN. So a thread that has a use may read them.
 *   F2  `uses` counts the operations that are under way and, while it is MOVING, the node that
 *       brings it to its new owner. A file whose handle is stale is closed by whoever takes the
 *       last use away; nobody gets a use by a stale handle.
 *   F3  a handle is stale from the close on: the generation of the record goes on with it, and
 *       none comes twice. Records are kept until the loop ends.
 *   F4  a file is in the list of its owner while that has it: `things` of the record that the
 *       actor has of I/O. The list is under the lock, too; the record goes with the actor.
 *   F5  at most one operation at a time uses the position of a file: HERE.
 *
 * No system call is made under the lock of the table. */
#ifndef JZX_FILE_FILE_H
#define JZX_FILE_FILE_H

#include "actor/own.h"
#include "actor/part.h"
#include "base/list.h"
#include "base/lock.h"
#include "file/os.h"
#include "io/watch_fd.h"

#include "jzx/file.h"

#define JZX__FILE_OPEN 0x01u   /* it has a descriptor */
#define JZX__FILE_STALE 0x02u  /* F3: it is closed when the last use ends */
#define JZX__FILE_MOVING 0x04u /* F2 */
#define JZX__FILE_LISTED 0x08u /* F4 */
#define JZX__FILE_HERE 0x10u   /* F5 */

struct jzx__uring;

struct jzx__file {
    _Alignas(JZX_CACHE_LINE) struct jzx__node move; /* MOVING: on its way to its new owner */
    struct jzx__cold *spare;
    struct jzx__link at_owner;
    struct jzx_loop *loop;
    jzx_actor_id owner; /* JZX_NOBODY: of an operation that has none */
    uint32_t index;
    uint32_t generation;
    uint32_t uses;
    int fd;
    bool is_regular;  /* as fd; false also if the system does not say */
    bool is_readable; /* as fd: it was not opened for writing only */
    uint8_t flags;    /* JZX__FILE_* */
    struct jzx__file *next_free;
};

/* Of a loop. */
struct jzx__files {
    const struct jzx__file_os *os; /* a test may put its own here before anything is opened */
    _Atomic(struct jzx_blocking_pool *) pool; /* JZX_FILE_POOL, or NULL; set once */
    _Atomic uint32_t is_pool_only;            /* io_uring is not used; written before pool */
    struct jzx__lock making;                  /* of the pool: taken once or twice in a life */
    struct jzx__uring *rings;                 /* one per worker (uring.h); NULL: none are used */
    struct jzx__lock waits_lock;              /* of the next two (await.h) */
    struct jzx__list waits;
    bool waits_are_over;
    struct jzx__lock lock; /* F1 */
    struct jzx__file **records;
    uint32_t count;
    uint32_t cap; /* places there */
    struct jzx__file *free;
};

static inline struct jzx__files *jzx__files_of(const struct jzx_loop *loop) {
    return loop->parts[JZX__PART_FILE];
}

/* A record for a file that an operation will open, with one use; it is the actor's (own), or
 * nobody's (NULL). NULL without memory. */
struct jzx__file *jzx__file_create(struct jzx_loop *loop, struct jzx__own *own);

/* Its handle. The caller has a use. */
static inline jzx_file jzx__file_handle(const struct jzx__file *file) {
    return (uint64_t)file->generation << 32 | file->index;
}

/* Takes a use; here: it is to use the position. JZX_ERR_CLOSED, JZX_ERR_BUSY. */
jzx_err jzx__file_use(struct jzx_loop *loop, jzx_file handle, bool here, struct jzx__file **file);

/* Ends it. The last use of a stale one closes it, on this thread. */
void jzx__file_unuse(struct jzx__file *file, bool here);

/* It has that descriptor; negative: it could not be opened, and is gone. Ends the use. */
void jzx__file_opened(struct jzx__file *file, int fd, bool is_regular);

#endif
