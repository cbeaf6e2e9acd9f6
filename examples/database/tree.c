/* SPDX-License-Identifier: MIT */
/* The supervision tree. Children start in this order and stop in the reverse one: an actor comes
 * after those that it uses. */
#include "store.h"

jzx_err store_start(jzx_loop *loop, jzx_actor_id *root) {
    const jzx_child_spec index[] = {{.name = "index",
                                     .registered = "index",
                                     .behavior = index_blocks,
                                     .init = index_init,
                                     .cleanup = index_cleanup}};
    /* The heads are added behind the gate when their series are first seen. */
    const jzx_child_spec heads[] = {
        {.name = "gate", .registered = "gate", .behavior = gate, .stash_cap = 1024}};
    const jzx_supervisor_opts indexing =
        JZX_SUPERVISOR_OPTS(.name = "indexing", JZX_CHILDREN(index));
    /* The planner adds the jobs. A job that is done is forgotten. */
    const jzx_supervisor_opts merging =
        JZX_SUPERVISOR_OPTS(.name = "merging", .strategy = JZX_DYNAMIC, .intensity = MERGE_RESTARTS,
                            .period_ns = JZX_MS(PERIOD_MS));
    const jzx_supervisor_opts ingest =
        JZX_SUPERVISOR_OPTS(.name = "ingest", .intensity = INGEST_RESTARTS,
                            .period_ns = JZX_MS(PERIOD_MS), JZX_CHILDREN(heads));
    const jzx_child_spec all[] = {
        {.name = "metrics",
         .registered = "metrics",
         .behavior = metrics,
         .init = metrics_init,
         .on_full = JZX_FULL_DROP_NEW}, /* counting never holds up the others */
        {.name = "indexing", .supervisor = &indexing},
        {.name = "merging", .registered = "merging", .supervisor = &merging},
        {.name = "planner",
         .registered = "planner",
         .behavior = planner,
         .init = planner_init,
         .cleanup = planner_cleanup},
        {.name = "compaction", .behavior = compaction, .init = compaction_init},
        {.name = "ingest", .registered = "ingest", .supervisor = &ingest},
    };
    return jzx_spawn_supervisor(loop,
                                &JZX_SUPERVISOR_OPTS(.name = "root", .intensity = ROOT_RESTARTS,
                                                     .period_ns = JZX_MS(ROOT_PERIOD_MS),
                                                     JZX_CHILDREN(all)),
                                root);
}
