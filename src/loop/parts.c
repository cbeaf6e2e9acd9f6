/* SPDX-License-Identifier: MIT */
/* Where the parts of the library meet: the lanes of a mailbox, what hangs on an actor, the kinds of
 * actors. Adding a part means a line in one of these tables. */
#include "actor/kind.h"
#include "actor/lane.h"
#include "actor/part.h"

const struct jzx__lane_ops jzx__lane_plain = {0};

const struct jzx__lane_ops *const jzx__lanes[JZX__LANE_COUNT] = {
    [JZX__LANE_USER] = &jzx__lane_plain,
    [JZX__LANE_RUNTIME] = &jzx__lane_plain,
    [JZX__LANE_ROOM] = &jzx__lane_room,
    [JZX__LANE_TIMER] = &jzx__lane_timer,
    [JZX__LANE_DEADLINE] = &jzx__lane_deadline,
    [JZX__LANE_ANSWER] = &jzx__lane_answer,
    [JZX__LANE_WATCH] = &jzx__lane_watch,
    [JZX__LANE_LEAVE] = &jzx__lane_watch,
    [JZX__LANE_DOWN] = &jzx__lane_down,
    [JZX__LANE_GROUP] = &jzx__lane_group,
    [JZX__LANE_OP] = &jzx__lane_op,
    [JZX__LANE_IO] = &jzx__lane_io,
    [JZX__LANE_IO_ASK] = &jzx__lane_io,
    [JZX__LANE_JOB] = &jzx__lane_job,
    [JZX__LANE_URGENT] = &jzx__lane_urgent,
    [JZX__LANE_FILE] = &jzx__lane_file,
    [JZX__LANE_SOCKET_ASK] = &jzx__lane_socket_ask,
    [JZX__LANE_STREAM] = &jzx__lane_stream,
    [JZX__LANE_DATAGRAM] = &jzx__lane_datagram,
};

const struct jzx__part_ops *const jzx__part_table[JZX__PART_COUNT] = {
    [JZX__PART_HEAP] = &jzx__part_heap,
    [JZX__PART_TIMER] = &jzx__part_timer,
    [JZX__PART_WATCH] = &jzx__part_watch,
    [JZX__PART_ASK] = &jzx__part_ask,
    [JZX__PART_DIRECTORY] = &jzx__part_directory,
    [JZX__PART_SUPER] = &jzx__part_super,
    [JZX__PART_POOL] = &jzx__part_pool,
    [JZX__PART_FIBER] = &jzx__part_fiber,
    [JZX__PART_OP] = &jzx__part_op,
    [JZX__PART_FUTURE] = &jzx__part_future,
    [JZX__PART_ASYNC] = &jzx__part_async,
    [JZX__PART_SCOPE] = &jzx__part_scope,
    [JZX__PART_IO] = &jzx__part_io,
    [JZX__PART_BLOCKING] = &jzx__part_blocking,
    [JZX__PART_SYNC] = &jzx__part_sync,
    [JZX__PART_PROCESS] = &jzx__part_process,
    [JZX__PART_SCHEDULE] = &jzx__part_schedule,
    [JZX__PART_TYPED] = &jzx__part_typed,
    [JZX__PART_MANUAL] = &jzx__part_manual,
    [JZX__PART_FILE] = &jzx__part_file,
    [JZX__PART_NET] = &jzx__part_net,
    [JZX__PART_SUBPROCESS] = &jzx__part_subprocess,
};

/* Kinds that are not here cannot be spawned yet. */
const struct jzx__kind_ops *const jzx__kinds[JZX__KIND_COUNT] = {
    [JZX__KIND_FIBER] = &jzx__kind_fiber,
    [JZX__KIND_ASYNC] = &jzx__kind_async,
    [JZX__KIND_MANUAL] = &jzx__kind_manual,
    [JZX__KIND_PROCESS] = &jzx__kind_process,
};
