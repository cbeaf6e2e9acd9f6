/* SPDX-License-Identifier: MIT */
/* A turn that outlived its thread's worker comes back (src/actor/turn.c, src/sched/crew.c).
 *
 * Checks rule R19 with R2, R6 and R8, invariant I1: the result is applied once, the task runs
 * again only after that, every message that came meanwhile is handled.
 *
 * The task is in a turn on thread T, which has lost the worker W. T sends it one message, a foreign
 * thread NF; then T's turn returns, as a record of the thread in W's return queue. Another thread
 * drives W all the time. Switches: NF; READY_IF_NEEDED: the return makes the task ready only if its
 * private list has something or an entry came, instead of always. Mutants: M_ACTOR_LINK, the task
 * itself is linked into the inject queue to come back; M_READY_IF_PRIVATE, the return makes the
 * task ready only if its private list has something. */
#ifndef NF
#define NF 2
#endif

byte inbox = 0, mine = 0;
bit token = 0, holds = 0;
bit sched = 1;                     /* away */
bit in_turn = 1, queued = 0;
bit entry = 0, linked = 0, returned = 0;
bit sent_all = 0, left = 0, applied = 0;
byte handled = 0;

inline push() {
    atomic { assert(inbox == 0 || token); inbox++; had = token; token = 1 }
    if
    :: had
    :: else -> atomic { assert(!linked); linked = 1; entry = 1 }
    fi;
    had = 0
}

proctype foreign() {
    byte k = 0;
    bit had = 0;
    do
    :: k < NF -> push(); k++
    :: else -> break
    od;
    sent_all = 1
}

proctype detached() {
    bit had = 0;
    push();
    in_turn = 0;
#ifdef M_ACTOR_LINK
    atomic { returned = 1; assert(!linked); linked = 1; entry = 1 }
#else
    returned = 1;
#endif
    left = 1
}

inline apply() { assert(!applied && sched && !in_turn); applied = 1; sched = 0 }

proctype worker() {
    bit had = 0;
end:
    do
    :: atomic { entry -> entry = 0; linked = 0 }
#ifdef M_ACTOR_LINK
        if :: returned -> returned = 0; apply() :: else fi;
#else
        assert(!holds && token);
#endif
        atomic { holds = 1; if :: !sched -> sched = 1; queued = 1 :: else fi }
#ifndef M_ACTOR_LINK
    :: atomic { returned -> returned = 0 }
        atomic { apply() }
        atomic {
            if
#ifdef M_READY_IF_PRIVATE
            :: mine > 0 -> sched = 1; queued = 1
            :: else
#elif defined(READY_IF_NEEDED)
            :: mine > 0 || holds -> sched = 1; queued = 1
            :: else
#else
            :: true -> sched = 1; queued = 1
#endif
            fi
        }
#endif
    :: atomic { queued -> queued = 0; assert(applied && !in_turn) }
        do
        :: mine > 0 -> atomic { mine--; handled++ }
        :: mine == 0 ->
            if
            :: inbox > 0 -> atomic {
                    assert(token); mine = mine + inbox; inbox = 0;
                    if :: holds -> token = 0; holds = 0 :: else fi
                }
            :: else ->
                if
                :: holds ->
                    atomic { if :: inbox == 0 -> token = 0; holds = 0; had = 1 :: else fi }
                    if :: had -> had = 0; sched = 0; break :: else fi
                :: else -> sched = 0; break
                fi
            fi
        od
    od
}

init {
    atomic { run foreign(); run detached(); run worker() }
    timeout ->
    assert(sent_all && left && applied && handled == NF + 1);
    assert(!token && !holds && !sched && inbox == 0 && mine == 0)
}
