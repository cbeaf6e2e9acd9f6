/* SPDX-License-Identifier: MIT */
/* Work on offer and sleepers (src/sched/idle.c, src/sched/balance.c).
 *
 * Checks rule R16 (K5): where everything has come to rest, no unit is on offer while a worker
 * sleeps, even if NHEAVY units never end.
 *
 * Three workers; worker 0 begins with PRE units and publishes all but one as soon as somebody is
 * idle. With INJECT a foreign thread injects one unit at worker 1, with GLOBAL it puts one into the
 * global queue and wakes a sleeper.
 *
 * Mutants: M_NO_CHAIN, a woken worker wakes nobody; M_CHAIN_THIEVES, only one that has stolen does;
 * M_CHAIN_IF_WAITED, only one that has waited does, though a wake may have met one that was about
 * to. M_GLOBAL_IF_NONE_ACTIVE, who puts a unit into the global queue wakes somebody only if no
 * worker is active. The library does just that, as a wake costs more than most turns: its ticks
 * wake another when turns are long, the watchdog when one does not end. */
#ifndef NHEAVY
#define NHEAVY 2
#endif
#ifndef PRE
#define PRE 3
#endif
#define NW 3

byte inject[NW], ready[NW], offered[NW], global = 0;
bit sleeping[NW], waiting[NW];
byte awake = NW, heavy = 0;

inline wake(w) { if :: sleeping[w] -> sleeping[w] = 0; waiting[w] = 0 :: else fi }

inline wake_one() {
    v = 0;
    do
    :: v < NW -> if :: v != me && sleeping[v] -> wake(v); break :: else -> v++ fi
    :: else -> break
    od;
    v = 0
}

inline look_at_offers() {
    any = global > 0; v = 0;
    do
    :: v < NW -> any = any | (offered[v] > 0); v++
    :: else -> break
    od;
    v = 0
}

inline wake_another() {
    look_at_offers();
    if :: any -> any = 0; wake_one() :: else fi
}

proctype worker(byte me) {
    byte v = 0;
    bit any = 0, got = 0, woke = 0;
top:
    if
    :: inject[me] > 0 -> atomic { ready[me] = ready[me] + inject[me]; inject[me] = 0 }
    :: else
    fi;
    if
    :: ready[me] > 1 && awake < NW ->
        atomic { offered[me] = offered[me] + ready[me] - 1; ready[me] = 1 }
        wake_one()
    :: else
    fi;
    if
    :: ready[me] > 0 ->
#if !defined(M_NO_CHAIN) && !defined(M_CHAIN_THIEVES)
        if :: woke -> woke = 0; wake_another() :: else fi;
#endif
        ready[me]--;
        if
        :: atomic { heavy < NHEAVY -> heavy++ }
endheavy:
            false
        :: skip
        fi;
        goto top
    :: else
    fi;
    v = 0;
    do
    :: v < NW ->
        atomic {
            if
            :: offered[v] > 0 -> offered[v]--; ready[me]++; got = 1; v = NW
            :: else -> v++
            fi
        }
    :: else -> break
    od;
    v = 0;
    atomic { if :: !got && global > 0 -> global--; ready[me]++; got = 1 :: else fi }
    if
    :: got -> got = 0;
#ifdef M_CHAIN_THIEVES
        wake_another();
#endif
        goto top
    :: else
    fi;
    awake--;
    sleeping[me] = 1;
    look_at_offers();
    any = any | (inject[me] > 0);
    if
    :: any -> any = 0
    :: else ->
        atomic { if :: sleeping[me] -> waiting[me] = 1 :: else fi }
#ifdef M_CHAIN_IF_WAITED
        woke = 1;
#endif
endsleep:
        !waiting[me]
    fi;
#ifndef M_CHAIN_IF_WAITED
    woke = 1; /* it was announced: a publisher may have spent its wake on it */
#endif
    sleeping[me] = 0;
    awake++;
    goto top
}

proctype foreign() {
    byte v = 0, me = NW; /* no worker */
#ifdef INJECT
    inject[1]++;
    wake(1);
#endif
#ifdef GLOBAL
    global++;
#ifdef M_GLOBAL_IF_NONE_ACTIVE
    if :: awake == 0 -> wake_one() :: else fi
#else
    wake_one()
#endif
#endif
}

init {
    atomic {
        ready[0] = PRE;
        run worker(0); run worker(1); run worker(2); run foreign()
    }
    timeout ->
    if
    :: global || offered[0] || offered[1] || offered[2] ->
        assert(!waiting[0] && !waiting[1] && !waiting[2])
    :: else
    fi
}
