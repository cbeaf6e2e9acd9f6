/* SPDX-License-Identifier: MIT */
#include "file/await.h"

#include "io/io.h"

#include <errno.h>

struct wait {
    struct jzx__link at_files;
    struct jzx__op *op;
    int event;
};

static void enter(struct jzx__files *files, struct wait *wait) {
    jzx__lock_acquire(&files->waits_lock);
    jzx__list_push_back(&files->waits, &wait->at_files);
    jzx__lock_release(&files->waits_lock);
}

/* T2 */
static void leave(struct jzx__files *files, struct wait *wait) {
    jzx__lock_acquire(&files->waits_lock);
    jzx__list_remove(&wait->at_files);
    jzx__lock_release(&files->waits_lock);
}

/* T1 */
static bool is_stopped(struct jzx__files *files, struct jzx__op *op) {
    jzx__lock_acquire(&files->waits_lock);
    bool are_all = files->waits_are_over;
    jzx__lock_release(&files->waits_lock);
    return are_all || jzx__op_is_cancelled(op);
}

int jzx__file_await(const struct jzx__file_request *request) {
    struct jzx_loop *loop = request->op->loop;
    struct jzx__files *files = jzx__files_of(loop);
    const struct jzx__os *io = jzx__io_of(loop)->os;
    struct wait wait = {.op = request->op, .event = io->eventfd()};
    if (wait.event < 0)
        return wait.event; /* nothing could stop it in the read */
    enter(files, &wait);
    bool is_ready = false;
    while (!is_ready && !is_stopped(files, wait.op))
        is_ready = request->os->await(request->file->fd, wait.event) != -EINTR &&
                   !is_stopped(files, wait.op);
    leave(files, &wait);
    (void)io->close(wait.event);
    return is_ready ? 0 : -ECANCELED;
}

void jzx__file_stop_wait(struct jzx_loop *loop, const struct jzx__op *op) {
    const uint64_t one = 1;
    struct jzx__files *files = jzx__files_of(loop);
    jzx__lock_acquire(&files->waits_lock);
    files->waits_are_over = files->waits_are_over || op == NULL;
    for (struct jzx__link *at = files->waits.ring.next; at != &files->waits.ring; at = at->next) {
        struct wait *wait = JZX_CONTAINER_OF(at, struct wait, at_files);
        if (op == NULL || wait->op == op)
            (void)jzx__io_of(loop)->os->write(wait->event, &one, sizeof one);
    }
    jzx__lock_release(&files->waits_lock);
}
