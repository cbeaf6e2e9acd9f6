/* SPDX-License-Identifier: MIT */
/* A worker, its home thread and its substitutes (src/sched/crew.h, crew.c, watchdog.c).
 *
 * Checks C1, C4-C6 and S2, with R14, R15 and R18: never two drivers; no thread gets the worker in
 * the middle of a turn that it does without; the home thread has its worker in the end, however
 * often it was lost and whoever drove it; every substitute is a spare then, once; nobody sleeps who
 * should not. If the run ends, whenever that is, every thread ends.
 *
 * Thread 0 is the home of worker W and drives it; NS substitutes are spares. The drivers run NT
 * turns in all, and the watchdog takes W away in any of them. Turns are outside of the bracket, all
 * else inside (detach.pml has the orders of that). Sleep is announce, look, wait, as in park.pml.
 * Switches: NS, NT; START: the run begins, nobody has W yet; STOP: the run ends at any moment;
 * STUCK: a substitute's turn does not return before the home thread has W.
 * Mutants: M_WISH_NO_LOOK, the home thread asks without a look at its seat; M_GIFT_KEEPS_WISH, a
 * gift does not clear the wish; M_NO_WAKE, the wish wakes nobody; M_LOOK_FIRST, a driver looks for
 * the wish before it announces sleep; M_SPARES_ONLY, the watchdog gives W to spares only. */
#ifndef NS
#define NS 1
#endif
#ifndef NT
#define NT 3
#endif
#define THREADS 3
#define NOBODY 9

bit lock = 0;
bit seat[THREADS];    /* has W */
bit inside[THREADS];  /* in_runtime */
bit in_turn[THREADS];
bit away[THREADS];    /* its turn goes on without W */
bit spare[THREADS];   /* in the list */
bit parked[THREADS];  /* a thread that waits for a worker has announced it */
bit parked_w = 0;     /* the driver of W has */
bit wanted = 0;
bit leave = 0;
byte turns = NT;
byte ended = 0;

inline acquire() { atomic { !lock -> lock = 1 } }
inline release() { lock = 0 }

/* Under the lock. */
inline give(to) {
    assert(!seat[0] && !seat[1] && !seat[2]);       /* C1 */
    assert(!away[to] && !in_turn[to]);              /* S2 */
#ifndef M_GIFT_KEEPS_WISH
    if :: to == 0 -> wanted = 0 :: else fi;
#endif
    seat[to] = 1;
    parked[to] = 0
}

inline become_spare() {
    if
    :: me == 0 /* C4 */
    :: else -> acquire(); assert(!spare[me]); spare[me] = 1; release()
    fi
}

proctype thread(byte me) {
    bit lost = 0;
#ifndef START
    if :: me == 0 -> goto drive :: else fi;
#endif
await:
    if
    :: me == 0 ->
        acquire();
#ifdef M_WISH_NO_LOOK
        lost = 1;
#else
        lost = !seat[me];
#endif
        if :: lost -> wanted = 1 :: else fi;
        release();
#ifndef M_NO_WAKE
        if :: lost -> parked_w = 0 :: else fi;
#endif
        lost = 0
    :: else
    fi;
    do
    :: atomic { seat[me] -> inside[me] = 1 } break
    :: else ->
        parked[me] = 1;
        if
        :: leave -> parked[me] = 0; goto done
        :: !leave ->
            if
            :: seat[me]
            :: else -> !parked[me]
            fi
        fi;
        parked[me] = 0
    od;
drive:
    do
    :: leave -> inside[me] = 0; goto done
    :: else ->
        if
        :: !seat[me] -> inside[me] = 0; become_spare(); goto await
        :: else
        fi;
        if
        :: wanted ->
            acquire();
            if
            :: seat[me] ->
                assert(me != 0); /* C4, C5 */
                seat[me] = 0;
                give(0);
                release();
                inside[me] = 0;
                become_spare();
                goto await
            :: else -> release()
            fi
        :: else
        fi;
        if
        :: turns > 0 ->
            turns--;
            atomic { in_turn[me] = 1; inside[me] = 0 }
#ifdef STUCK
            if :: me == 0 :: else -> (seat[0] || leave) fi;
#endif
            atomic { inside[me] = 1; in_turn[me] = 0; lost = !seat[me] }
            assert(lost || !away[me]);
            if
            :: lost -> /* leaves the turn with W, which takes it back (R19, C2) */
                atomic { lost = 0; away[me] = 0; inside[me] = 0 }
                become_spare();
                goto await
            :: else
            fi
        :: else -> /* R14 */
#ifdef M_LOOK_FIRST
            lost = wanted || !seat[me] || leave;
            parked_w = 1;
#else
            parked_w = 1;
            lost = wanted || !seat[me] || leave;
#endif
            if
            :: lost
            :: else -> !parked_w
            fi;
            parked_w = 0;
            lost = 0
        fi
    od;
done:
    ended++
}

#define STALLS(i) (in_turn[i] && seat[i])
#ifdef M_SPARES_ONLY
#define WAITS 0
#else
#define WAITS wanted
#endif

/* A look that finds a turn, and somebody who can go on with W. */
proctype watchdog() {
    byte from = NOBODY, to = NOBODY;
endlook:
    do
    :: (STALLS(0) || STALLS(1) || STALLS(2)) && (WAITS || spare[1] || spare[2]) && !leave ->
        if
        :: STALLS(0) -> from = 0
        :: STALLS(1) -> from = 1
        :: STALLS(2) -> from = 2
        :: else
        fi;
        acquire();
        if
        :: from != NOBODY && seat[from] ->
            if
            :: WAITS -> to = 0
            :: !WAITS && spare[1] -> spare[1] = 0; to = 1
            :: !WAITS && !spare[1] && spare[2] -> spare[2] = 0; to = 2
            :: else
            fi;
            if :: to != NOBODY -> seat[from] = 0 :: else fi
        :: else
        fi;
        release();
        if
        :: to != NOBODY ->
            parked_w = 0;
            atomic { !inside[from] -> away[from] = in_turn[from] }
            acquire();
            give(to);
            release()
        :: else
        fi;
        from = NOBODY; to = NOBODY
    od
}

inline end_run() {
    leave = 1;
    parked_w = 0;
    parked[0] = 0; parked[1] = 0; parked[2] = 0
}

#ifdef STOP
proctype stop() { end_run() }
#endif

#ifdef START
proctype start() { acquire(); give(0); release() }
#endif

init {
    atomic {
#ifdef START
        run start();
#else
        seat[0] = 1; inside[0] = 1;
#endif
        spare[1] = 1;
        run thread(0); run thread(1);
#if NS > 1
        spare[2] = 1; run thread(2);
#endif
        run watchdog();
#ifdef STOP
        run stop()
#endif
    }
    timeout ->
#ifndef STOP
    assert(ended == 0 && turns == 0 && seat[0] && !wanted && spare[1] && !away[0] && !away[1]);
    assert(NS == 1 || spare[2]);
    atomic { end_run() }
    timeout ->
#endif
    assert(ended == NS + 1)
}
