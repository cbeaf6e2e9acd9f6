/* SPDX-License-Identifier: MIT */
/* Counters of one worker, or of the threads that share a foreign cache. All but four are gauges:
 * they decide nothing while the loop runs, and at its end they must balance. */
#ifndef JZX_OBSERVE_COUNTERS_H
#define JZX_OBSERVE_COUNTERS_H

#include "base/atomic.h"

/* Those that say something about one worker. */
#define JZX__WORKER_COUNTER_MAP(X)                                                                 \
    X(turns)                                                                                       \
    X(handled)                                                                                     \
    X(injected)                                                                                    \
    X(submitted)                                                                                   \
    X(parked)                                                                                      \
    X(woken)                                                                                       \
    X(crossed)                                                                                     \
    X(published)                                                                                   \
    X(reclaimed)                                                                                   \
    X(stolen)                                                                                      \
    X(explored)                                                                                    \
    X(gathered)                                                                                    \
    X(followed)                                                                                    \
    X(placed)                                                                                      \
    X(stalls)                                                                                      \
    X(handovers)                                                                                   \
    X(held_up)                                                                                     \
    X(held_up_ns)

#define JZX__COUNTER_MAP(X)                                                                        \
    X(accepted)                                                                                    \
    X(dead)                                                                                        \
    X(refused_full)                                                                                \
    X(refused_no_actor)                                                                            \
    X(refused_closed)                                                                              \
    X(refused_invalid)                                                                             \
    X(refused_no_memory)                                                                           \
    X(spawned)                                                                                     \
    X(exited)                                                                                      \
    X(failed)                                                                                      \
    X(calls)                                                                                       \
    X(timers_set)                                                                                  \
    X(timers_fired)                                                                                \
    X(timers_ended)                                                                                \
    JZX__WORKER_COUNTER_MAP(X)

struct jzx__counters {
#define JZX__COUNTER_FIELD(name) jzx__counter name;
    JZX__COUNTER_MAP(JZX__COUNTER_FIELD)
#undef JZX__COUNTER_FIELD
    jzx__counter daemons_spawned; /* of spawned, as the next one of exited: who does not keep a */
    jzx__counter daemons_exited;  /* run going. These four decide when it ends */
};

#endif
