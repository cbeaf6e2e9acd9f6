/* SPDX-License-Identifier: MIT */
/* The mailbox bound (src/actor/mailbox.c, src/sched/task.h).
 *
 * Checks rules R1, R3, R6 and R8: whatever two remote senders and a sender on the owner's worker
 * do, the inbox and the private list hold at most CAP messages each, and all that was accepted is
 * handled.
 *
 * Each remote sender tries NR times, the local one NL times; the task handles one message a turn.
 * With SKIPS the task is a fiber (mailbox/B7): it takes the inbox in though it has skipped messages
 * in its private list, lowers the limit that remote senders read by what it has, and may wait with
 * skipped messages for ever. Together inbox and private list hold 2 x CAP messages and those of the
 * senders that have read an older limit: at most two each, one that was taken in and one that
 * waits.
 *
 * Switches: CAP, NR, NL, SKIPS, EXTRA. Mutants: M_LIMIT_STAYS, the fiber does not lower the limit; and M_ENTRY_TAKES, an entry takes the inbox at once, as a first
 * design had it; M_TAKE_BLIND, a local append takes whatever the inbox has by then. */
#ifndef CAP
#define CAP 2
#endif
#ifndef NR
#define NR 6
#endif
#ifndef NL
#define NL 3
#endif
#ifndef EXTRA
#define EXTRA 4
#endif

byte count = 0;                      /* inbox word: count, */
bit token = 0;                       /* TOKEN */
byte pending = 0;                    /* private list */
bit holds = 0, sched = 0, entry = 0;
byte accepted = 0, handled = 0, tries = 0, done = 0;
byte limit = CAP; /* task.cap */

#ifdef SKIPS
inline note() { assert(pending + count <= 2 * CAP + EXTRA) }
#else
inline note() { assert(pending <= CAP && count <= CAP) }
#endif

inline give_up_token() { if :: holds -> token = 0; holds = 0 :: else fi }

proctype remote() {
    byte k = 0, l = 0;
    bit had = 0, ok = 0;
    do
    :: k < NR ->
        l = limit; /* may be an older one by the time of the push */
        atomic { /* R2 */
            if
            :: count < l -> count++; note(); accepted++; had = token; token = 1; ok = 1
            :: else -> ok = 0
            fi
        }
        if :: ok && !had -> entry = 1 :: else fi;
        had = 0; ok = 0; l = 0; k++
    :: else -> break
    od;
    done++
}

proctype worker() {
    byte v = 0;
end:
    do
    :: atomic { entry -> entry = 0 }
#ifdef M_ENTRY_TAKES
        atomic { pending = pending + count; count = 0; token = 0; sched = (pending > 0); note() }
#else
        atomic { holds = 1; sched = 1 } /* R6: it does not take */
#endif
    :: sched -> /* R8, with a budget of one message */
        if
        :: pending > 0 -> atomic { pending--; handled++ }
        :: else ->
            if
            :: count > 0 -> atomic { pending = pending + count; count = 0; give_up_token(); note() }
            :: else ->
                if
                :: holds -> atomic { if :: count == 0 -> give_up_token(); sched = 0 :: else fi }
                :: else -> sched = 0
                fi
            fi
        fi
    :: tries < NL -> /* R1: a local send */
        tries++;
        v = count;
        if
        :: pending + v >= CAP -> v = 0; goto end /* full: nothing is taken */
        :: pending + v < CAP && v > 0 ->
            atomic { /* by compare-and-exchange of the word that was read; if it grew, again */
                if
#ifdef M_TAKE_BLIND
                :: true ->
#else
                :: count == v ->
#endif
                    pending = pending + count; count = 0; give_up_token(); note()
#ifndef M_TAKE_BLIND
                :: else -> tries--; v = 0; goto end
#endif
                fi
            }
        :: else
        fi;
        atomic { v = 0; pending++; accepted++; sched = 1; note() }
    od
}

inline publish() {
#ifndef M_LIMIT_STAYS
    limit = (pending < CAP -> CAP - pending : 0)
#else
    skip
#endif
}

/* The worker of a fiber. */
proctype selective() {
end:
    do
    :: atomic { entry -> entry = 0 }
        atomic { holds = 1; sched = 1 }
    :: sched ->
        if
        :: pending > 0 -> atomic { pending--; handled++ } publish() /* one that it wants */
        :: count > 0 ->
            atomic { pending = pending + count; count = 0; give_up_token(); note() }
            publish()
        :: count == 0 -> /* nothing that it wants: it waits, with what it has skipped */
            if
            :: holds -> atomic { if :: count == 0 -> give_up_token(); sched = 0 :: else fi }
            :: else -> sched = 0
            fi
        fi
    od
}

init {
#ifdef SKIPS
    atomic { run remote(); run remote(); run selective() }
    timeout -> assert(done == 2 && handled + pending == accepted && !token && count == 0)
#else
    atomic { run remote(); run remote(); run worker() }
    timeout -> assert(done == 2 && handled == accepted && !token && count == 0 && pending == 0)
#endif
}
