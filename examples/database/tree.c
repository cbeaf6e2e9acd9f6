/* SPDX-License-Identifier: MIT */
/* The supervision tree. Children start in this order and stop in the reverse one: who uses another
 * comes after it. */
#include "store.h"

/* Nothing here gives up soon: a client that sends bad points, or a bad block, must not be the end
 * of the others' series. */
#define RESTARTS_MAX 1000u

jzx_err store_start(jzx_loop *loop, jzx_actor_id *root) {
    const jzx_child_spec index[] = {{.name = "index",
                                     .registered = "index",
                                     .behavior = index_blocks,
                                     .init = index_init,
                                     .cleanup = index_cleanup}};
    const jzx_child_spec merger[] = {
        {.name = "merge",
         .registered = "merge",
         .behavior = merge,
         .init = merge_init,
         .cleanup = merge_cleanup,
         .mode = JZX_TRANSIENT,
         .backoff = {.initial_delay_ms = 100, .factor = 2, .max_delay_ms = 5000}}};
    /* The heads are added behind the gate when their series are first seen. */
    const jzx_child_spec heads[] = {
        {.name = "gate", .registered = "gate", .behavior = gate, .stash_cap = 1024}};
    const jzx_supervisor_opts indexing = JZX_SUPERVISOR_OPTS(JZX_CHILDREN(index));
    const jzx_supervisor_opts merging =
        JZX_SUPERVISOR_OPTS(.intensity = RESTARTS_MAX, JZX_CHILDREN(merger));
    const jzx_supervisor_opts ingest =
        JZX_SUPERVISOR_OPTS(.intensity = RESTARTS_MAX, JZX_CHILDREN(heads));
    const jzx_child_spec all[] = {
        {.name = "metrics",
         .registered = "metrics",
         .behavior = metrics,
         .init = metrics_init,
         .on_full = JZX_FULL_DROP_NEW}, /* counting never holds up those who work */
        {.name = "indexing", .supervisor = &indexing},
        {.name = "merging", .supervisor = &merging},
        {.name = "compaction", .behavior = compaction, .init = compaction_init},
        {.name = "ingest", .registered = "ingest", .supervisor = &ingest},
    };
    return jzx_spawn_supervisor(loop, &JZX_SUPERVISOR_OPTS(.name = "root", JZX_CHILDREN(all)),
                                root);
}
