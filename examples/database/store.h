/* SPDX-License-Identifier: MIT */
/* A time-series store in memory, as a tree of actors (docs/database.md explains it):
 *
 *     root
 *     |- metrics         counts, and keeps the last progress marker
 *     |- indexing -- index       owns the blocks; answers which of them hold a range
 *     |- merging --- merge/cpu   a job while blocks of the series cpu are merged
 *     |              '- ...
 *     |- planner         collects blocks, and has a job for each series that has some
 *     |- compaction      has the index drop what is older than the retention
 *     '- ingest ---- gate        takes points, opens a series when it is first seen
 *                    |- cpu      one head per series: collects points, flushes sorted blocks
 *                    '- ...
 *
 *     client -- POINT -> gate -- APPEND -> head -- BLOCK -> planner -- BLOCK ... -> job
 *                                          job -- BLOCK -> index; job -- PROGRESS -> metrics
 *                                          head <- STORED -- planner <- MERGED -- job
 *     query -- RANGE (asked) -> index; query <- BLOCK ... -- index; query <- RANGE_END -- index
 *
 * Actors that can fail own little. A head keeps a block until the planner says that it is stored,
 * and sends it again until then. So a job may fail at any time, and a block may be merged twice,
 * which is the same as once. The planner and the index own the rest, and do nothing that can
 * fail. */
#ifndef STORE_H
#define STORE_H

#include <jzx/jzx.h>

#include <stdbool.h>
#include <stdint.h>

/* Nothing here grows without end. */
enum {
    SERIES_SIZE = 24,   /* bytes of a series' name, with its '\0' */
    SERIES_MAX = 64,    /* that the planner knows at a time */
    HEAD_POINTS = 256,  /* that a head collects before it must flush */
    BLOCK_POINTS = 512, /* of a merged block */
    SOURCES_MAX = 8,    /* blocks of a series that wait to be merged */
    JOB_ATTEMPTS = 3,   /* failures on one source before the planner gives it up */
    INDEX_BLOCKS = 256, /* blocks in the store */
    RESULT_POINTS = 4096
};

/* The name of a series' job begins with this. */
#define JOB_PREFIX "merge/"

/* Times, in milliseconds of the loop's clock, as those of the points. */
enum { FLUSH_MS = 100, MERGE_MS = 20, INDEX_MS = 5, COMPACT_MS = 1000, RETENTION_MS = 60000 };

/* Restarts that a supervisor tries in a period. One more, and it fails, and its own supervisor
 * starts it again. When the root fails, the program ends with JZX_ERR_ESCALATED. A bad point costs
 * one restart, a bad block JOB_ATTEMPTS. 0 would mean the default, 3; no restart at all is
 * JZX_NONE. */
enum {
    INGEST_RESTARTS = 10,
    MERGE_RESTARTS = 10,
    PERIOD_MS = 5000,
    ROOT_RESTARTS = 3,
    ROOT_PERIOD_MS = 60000
};

enum tag {
    POINT = 1,     /* struct series_point, to the gate */
    APPEND,        /* struct point, to a head */
    FLUSH,         /* a head's timer */
    SHUTDOWN,      /* to a head: flush what you have, then leave for good */
    BLOCK,         /* struct block, shared */
    STORED,        /* uint64_t, to a head: its block of this number is settled */
    PLAN,          /* the planner's timer */
    JOB_READY,     /* char[SERIES_SIZE], to the planner: a job has started and wants its work */
    START_MERGE,   /* struct merge_work, to a job: it has all its blocks now */
    GO_ON,         /* a job's, to itself: other actors had their turn */
    PROGRESS,      /* struct progress, of a job */
    MERGED,        /* struct block, shared, to the planner: the last one that the job made */
    ABANDON,       /* to a job: there is no work */
    INDEX_WORK,    /* the index' timer */
    COMPACT,       /* the compaction's timer */
    DROP_BEFORE,   /* int64_t, asked of the index: */
    DROPPED,       /* uint32_t blocks */
    RANGE,         /* struct range, asked of the index: its blocks as BLOCK, and then */
    RANGE_END,     /* uint32_t: how many these were */
    QUERY_RESULT,  /* struct result, from a query */
    COUNT,         /* struct count, to metrics */
    READ_COUNTERS, /* asked of metrics: */
    COUNTERS       /* struct counters */
};

struct point {
    int64_t time_ms;
    double value;
};

struct series_point {
    char series[SERIES_SIZE];
    struct point point;
};

/* Immutable once it is shared. Its points are sorted by time, of which each is there once. */
struct block {
    char series[SERIES_SIZE];
    uint64_t number; /* a later one of the same maker has a greater number */
    uint32_t count;
    struct point points[];
};

struct merge_work {
    uint64_t first_number; /* of the blocks that the job makes */
    uint32_t blocks;       /* that it was sent: its target, if it has one, and its sources */
    bool has_target;
};

/* How far a job is, in sources. */
struct progress {
    char series[SERIES_SIZE];
    uint32_t done;
    uint32_t total;
};

struct range {
    char series[SERIES_SIZE];
    int64_t from_ms; /* this one, */
    int64_t to_ms;   /* up to, not with this one */
};

struct result {
    bool complete; /* else there were more than RESULT_POINTS, or the index did not answer */
    uint32_t count;
    struct point points[];
};

enum counter {
    POINTS_TAKEN,   /* by heads */
    POINTS_REFUSED, /* there was no room for them */
    POINTS_LOST,    /* they were in a head that ended, and nobody could take them over */
    BLOCKS_MERGED,
    BLOCKS_REFUSED, /* jobs failed on them */
    BLOCKS_DROPPED, /* older than the retention, or the store was full */
    COUNTERS_MAX
};

struct count {
    uint32_t counter;
    uint32_t amount;
};

struct counters {
    uint64_t values[COUNTERS_MAX];
    uint64_t progress_reports;
    struct progress progress; /* the last one */
};

/* ---- for clients: any thread ---- */

/* Starts the tree. The err of jzx_spawn_supervisor. */
jzx_err store_start(jzx_loop *loop, jzx_actor_id *root);

/* Sends a point to the gate. JZX_ERR_MAILBOX_FULL: try again later, or when there is room;
 * JZX_ERR_NO_SUCH_ACTOR: the gate is being restarted; JZX_ERR_INVALID_ARG: a wrong name. */
jzx_err store_append(jzx_loop *loop, const char *series, struct point point);

/* Spawns a query, whose QUERY_RESULT comes to reply_to, sorted by time. Errors of jzx_spawn. */
jzx_err store_query(jzx_loop *loop, const struct range *range, jzx_actor_id reply_to);

/* ---- between the actors ---- */

/* A block of these points, shared, with one reference; NULL without memory. */
struct block *block_create(jzx_loop *loop, const char *series, uint64_t number,
                           const struct point *points, uint32_t count);
bool block_has_name(const struct block *block, size_t len);
bool block_is_sound(const struct block *block, size_t len);

/* Is there a point with from_ms <= time < to_ms, as far as its first and last one tell? */
bool block_overlaps(const struct block *block, const struct range *range);

/* Sends a block to the actor that has the name now. */
jzx_err block_send(jzx_loop *loop, const char *name, jzx_actor_id from, struct block *block);

/* Tells metrics, if it has room: counting never holds up the others. */
void store_count(jzx_loop *loop, enum counter counter, uint32_t amount);

int64_t store_now_ms(const jzx_loop *loop);

/* The registered name of a series' head. */
void head_name(const char *series, char name[JZX_NAME_MAX + 1]);

/* ---- the actors: behaviour, init and cleanup, where they have one ---- */

jzx_behavior_result gate(jzx_context *ctx, const jzx_message *msg);

extern const jzx_child_spec head_spec; /* without its names */

jzx_err planner_init(jzx_context *ctx);
jzx_behavior_result planner(jzx_context *ctx, const jzx_message *msg);
void planner_cleanup(jzx_context *ctx, jzx_exit_reason reason);

extern const jzx_child_spec merge_spec; /* without its name */

jzx_err index_init(jzx_context *ctx);
jzx_behavior_result index_blocks(jzx_context *ctx, const jzx_message *msg);
void index_cleanup(jzx_context *ctx, jzx_exit_reason reason);

jzx_err compaction_init(jzx_context *ctx);
jzx_behavior_result compaction(jzx_context *ctx, const jzx_message *msg);

jzx_err metrics_init(jzx_context *ctx);
jzx_behavior_result metrics(jzx_context *ctx, const jzx_message *msg);

#endif
