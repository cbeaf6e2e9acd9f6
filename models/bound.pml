/* SPDX-License-Identifier: MIT */
/* The mailbox bound (src/actor/mailbox.c, src/sched/task.h).
 *
 * Checks rules R1, R3, R6 and R8: whatever two remote senders and a sender on the owner's worker
 * do, the inbox and the private list hold at most CAP messages each, and all that was accepted is
 * handled.
 *
 * Each remote sender tries NR times, the local one NL times; the task handles one message a turn.
 * Switches: CAP, NR, NL. Mutants: M_ENTRY_TAKES, an entry takes the inbox at once, as a first
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

byte count = 0;                      /* inbox word: count, */
bit token = 0;                       /* TOKEN */
byte pending = 0;                    /* private list */
bit holds = 0, sched = 0, entry = 0;
byte accepted = 0, handled = 0, tries = 0, done = 0;

inline note() { assert(pending <= CAP && count <= CAP) }

inline give_up_token() { if :: holds -> token = 0; holds = 0 :: else fi }

proctype remote() {
    byte k = 0;
    bit had = 0, ok = 0;
    do
    :: k < NR ->
        atomic { /* R2 */
            if
            :: count < CAP -> count++; accepted++; had = token; token = 1; ok = 1
            :: else -> ok = 0
            fi
        }
        if :: ok && !had -> entry = 1 :: else fi;
        had = 0; ok = 0; k++
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

init {
    atomic { run remote(); run remote(); run worker() }
    timeout -> assert(done == 2 && handled == accepted && !token && count == 0 && pending == 0)
}
