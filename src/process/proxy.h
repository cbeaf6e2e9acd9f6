/* SPDX-License-Identifier: MIT */
/* Commands that are carried out by an operation of another part: sockets and files.
 *
 * The handler begins an operation in its _to form, which takes the place of the command's own and
 * is its **proxy** from then on. So a command holds one slot and one message, and the data of its
 * event are where the other part has written them. A table in the record of the process says which
 * command an operation stands for.
 *
 *   V1  an entry is in use from the begin of its operation until the message of that is taken out
 *       of the mailbox. The table belongs to the one that has the record of the process
 *       (process/P1).
 *   V2  the tag of the operation is the index of its entry plus one, and the entry has the id of
 *       the operation. Ids are never used again: an operation that the code of the process has
 *       begun itself, with whatever tag, is never taken for a proxy.
 *   V3  an entry that is dropped gives no event: its command has completed otherwise, or is of an
 *       earlier epoch (process/P5). A handle that its operation brings is closed.
 *   V4  a read that is complete when its process is upgraded is taken back before other code of the
 *       process runs, the latest first; only then the stream serves others that read from it. So a
 *       stream never loses bytes in its middle, and gives them in their order. */
#ifndef JZX_PROCESS_PROXY_H
#define JZX_PROCESS_PROXY_H

#include "process/process.h"

struct jzx__proxy {
    jzx_op op;    /* JZX_NO_OP: the entry is free */
    uint64_t tag; /* of the command */
    uint64_t object;
    const struct jzx__proxy_kind *kind;
    uint32_t epoch;
    uint32_t next_free; /* free: index plus one of another, or 0 */
    bool is_dropped;    /* V3: its command has completed otherwise */
    bool is_complete;   /* V4: to be revoked, if it was not cancelled */
    bool is_revoked;    /* V4: it was */
};

/* A kind of command. */
struct jzx__proxy_kind {
    /* Begins the operation. */
    jzx_err (*start)(jzx_context *ctx, const void *arg, uint32_t tag, jzx_op *op);
    size_t arg_size;
    /* Its result is a handle, which this closes; or NULL. */
    jzx_err (*close_result)(jzx_loop *loop, uint64_t handle);
    /* It takes bytes out of a stream, the first member of its argument, which this closes; or
     * NULL. */
    jzx_err (*close_source)(jzx_loop *loop, uint64_t handle);
    bool goes_on; /* an upgrade does not cancel it */
};

/* The handler of these commands: data is the kind. */
jzx_err jzx__proxy_handle(jzx_context *ctx, const jzx_command *command, void *data);

/* That of an operation of the process, which has that message; NULL if it is no proxy. */
struct jzx__proxy *jzx__proxy_find(const struct jzx__process *process,
                                   const struct jzx__message *message);

/* Its message was taken out of the mailbox, and the entry is free. False if it gives no event (V3).
 * Else *tag is that of the command. */
bool jzx__proxy_end(struct jzx__process *process, struct jzx__proxy *proxy,
                    const jzx_result *result, uint64_t *tag);

/* The process is upgraded, and about to go on with another epoch. In its turn, with its worker. */
void jzx__proxies_drop(struct jzx__own *own, const struct jzx__process *process);

void jzx__proxies_deinit(struct jzx__process *process);

#endif
