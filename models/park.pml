/* SPDX-License-Identifier: MIT */
/* Sleeping and waking, to the end of a run (src/base/parker.h, src/sched/idle.c).
 *
 * Checks rules R14 and R15 (K3, K4): without any time-out, no work is left while all who could do
 * it sleep, and a stop reaches every worker.
 *
 * A foreign thread injects NINJ units at worker 0 and puts NGLOBAL units into the global queue,
 * waking somebody for these only if no worker is active. Worker 0 begins with PRE units. A worker
 * with two units publishes one while another is idle. When all units are done the run is stopped.
 * FUTEX_WAIT is one step that blocks only while the flag is set.
 *
 * Switches: NW (2, 3), NINJ, NGLOBAL, PRE. Mutants: see the ifdefs with M_. HEAVY: one unit does
 * not end before all others are done. It must fail, by design: work that waits in the queue of a
 * worker whose turn does not end waits; only the watchdog (R18) helps. */
#ifndef NW
#define NW 2
#endif
#ifndef NINJ
#define NINJ 2
#endif
#ifndef NGLOBAL
#define NGLOBAL 0
#endif
#ifndef PRE
#define PRE 0
#endif

byte inject[NW];           /* entries */
byte ready[NW];            /* units in the private queue */
byte offered[NW];          /* units in the public deque */
byte global = 0;
bit sleeping[NW];          /* the futex word */
bit stop = 0;
byte awake = NW;          /* workers that are not idle */
byte left = PRE;           /* units that are not done */
bit sent_all = 0, heavy = 0;
bit waiting[NW], gone[NW]; /* only for the checks: inside FUTEX_WAIT; the run has ended */

inline wake(w) {
    if
    :: sleeping[w] ->
#ifndef M_WAKE_NO_STORE
        sleeping[w] = 0;
#endif
        waiting[w] = 0
    :: else
    fi
}

inline wake_one() {
    v = 0;
    do
    :: v < NW -> if :: v != me && sleeping[v] -> wake(v); break :: else -> v++ fi
    :: else -> break
    od;
    v = 0
}

inline look_at_deques() {
    v = 0;
    do
    :: v < NW -> any = any | (offered[v] > 0); v++
    :: else -> break
    od;
    v = 0
}

inline check() {
    any = inject[me] > 0;
#ifndef M_NO_GLOBAL_CHECK
    any = any | (global > 0);
#endif
    look_at_deques();
#ifndef M_NO_STOP_CHECK
    any = any | stop
#endif
}

proctype worker(byte me) {
    byte v = 0;
    bit any = 0, got = 0;
top:
    do
    :: stop -> break
    :: else ->
        if
        :: inject[me] > 0 -> atomic { ready[me] = ready[me] + inject[me]; inject[me] = 0 }
        :: else
        fi;
        atomic { if :: global > 0 -> global--; ready[me]++ :: else fi }
        if
        :: ready[me] > 1 && awake < NW -> /* R10, R15 */
            atomic { ready[me]--; offered[me]++ }
            wake_one()
        :: else
        fi;
        if
        :: ready[me] > 0 ->
            ready[me]--;
#ifdef HEAVY
            if
            :: atomic { heavy == 0 -> heavy = 1 } (left == 1 || stop)
            :: skip
            fi;
#endif
            left--;
            if
            :: left == 0 && sent_all ->
                stop = 1;
#ifndef M_STOP_NO_WAKE
                v = 0;
                do
                :: v < NW -> wake(v); v++
                :: else -> break
                od;
                v = 0
#endif
            :: else
            fi;
            goto top
        :: else
        fi;
        v = 0; /* its own deque, then the others */
        do
        :: v < NW ->
            atomic {
                if
                :: offered[(me + v) % NW] > 0 ->
                    offered[(me + v) % NW]--; ready[me]++; got = 1; v = NW
                :: else -> v++
                fi
            }
        :: else -> break
        od;
        v = 0;
        if :: got -> got = 0; goto top :: else fi;
        awake--;
#ifdef M_CHECK_BEFORE_FLAG
        check();
        sleeping[me] = 1;
#else
        sleeping[me] = 1; /* R14 */
        check();
#endif
        if
        :: any -> any = 0
        :: else ->
            atomic { if :: sleeping[me] -> waiting[me] = 1 :: else fi }
            !waiting[me]
        fi;
        sleeping[me] = 0;
        awake++
    od;
    gone[me] = 1
}

proctype foreign() {
    byte k = 0, v = 0, me = NW; /* no worker */
    do
    :: k < NINJ ->
        atomic { left++; inject[0]++; k++; sent_all = (k == NINJ && NGLOBAL == 0) }
        wake(0)
    :: else -> break
    od;
    k = 0;
    do
    :: k < NGLOBAL ->
        atomic { left++; global++; k++; sent_all = (k == NGLOBAL) }
        if :: awake == 0 -> wake_one() :: else fi
    :: else -> break
    od
}

init {
    byte z = 0;
    atomic {
        ready[0] = PRE;
        sent_all = (NINJ + NGLOBAL == 0);
        run worker(0); run worker(1);
#if NW > 2
        run worker(2);
#endif
        run foreign()
    }
    timeout ->
    assert(left == 0 && stop);
    do
    :: z < NW -> assert(gone[z]); z++
    :: else -> break
    od
}
