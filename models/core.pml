/* SPDX-License-Identifier: MIT */
/* The owner protocol: messages, moves between workers, requests (src/sched/task.h).
 *
 * Checks rules R1-R11 and R13 (spawning by a foreign thread), invariants I1-I5 and I8: no message
 * is lost or doubled, the messages of each pair stay in order, one worker at a time is at the
 * private side of a task, a task is linked into one queue at most, every request is seen.
 *
 * Task 0 (A) gets NF messages from a foreign thread and sends each on to task 1 (B), from
 * whichever worker runs A. B also gets NG messages from another foreign thread. A publishes and
 * hands over at most NPUB and NHO times. NN requests go to B. With GLOBAL, B is spawned meanwhile
 * by a foreign thread: into the global queue, or, that being full, handed to a worker, or bound to
 * one. Every run is finite, so the end, where nothing moves any more, must show all work done.
 *
 * Words are read and written in one step each, a compare-and-exchange loop is one step. Sequential
 * consistency: the orders are argued in task.h and tested elsewhere.
 *
 * Switches: NW workers (2, 3); NF, NG, NPUB, NHO, NN budgets; GLOBAL; SPLIT: B begins on another
 * worker than A; KEEP: a take may keep the token; PUSH_DROPS_NUDGED: so may a push forget NUDGED.
 * Mutants, each must fail: see the ifdefs with M_. */
#ifndef NW
#define NW 2
#endif
#ifndef NF
#define NF 1
#endif
#ifndef NG
#define NG 1
#endif
#ifndef NPUB
#define NPUB 1
#endif
#ifndef NHO
#define NHO 1
#endif
#ifndef NN
#define NN 0
#endif
#define NA 2
#define MAXM 4
#define OUT 8      /* in an owner word: in nobody's fast path */
#define FOREIGN 6  /* as an owner: no worker yet */
#define NOBODY 7

typedef list { byte m[MAXM]; byte n };
typedef bits { bit e[NA] };

/* What all threads see. */
byte owner[NA];
list inbox[NA];    /* inbox word: list and count, */
bit token[NA];     /* TOKEN, */
bit closed[NA];    /* CLOSED, */
bit nudged[NA];    /* NUDGED */
bit want[NA];      /* state word: a request */
bits inject[NW];   /* inject queues, as sets: the order of entries is not relied on */
bits deque[NW];    /* public deques, as sets: taking one out is one step */
bits global;       /* the global queue */

/* The private side. */
list mine[NA];     /* private list */
bit holds[NA];     /* the token is the owner's */
bit sched[NA];     /* queued, running or offered */

/* Only for the checks. */
byte queued[NA];   /* whose run queue it is in */
byte side[NA];     /* who may touch the private side */
bit turns[NA];     /* somebody is in its behaviour */
bit linked[NA];    /* its one link is in use */
byte pubs = 0, hos = 0;
byte last_a = 0, last_b = 0, last_g = 0;
byte senders = 0;

inline append(a, x) { assert(mine[a].n < MAXM); mine[a].m[mine[a].n] = x; mine[a].n++ }

/* Inbox to private list, in the order of the pushes. Inside atomic. */
inline grab(a) {
    assert(side[a] == me);
    i = 0;
    do
    :: i < inbox[a].n -> append(a, inbox[a].m[i]); inbox[a].m[i] = 0; i++
    :: else -> break
    od;
    i = 0; inbox[a].n = 0; nudged[a] = 0
}

inline link(w, a) { assert(!linked[a] && (w) < NW); linked[a] = 1; inject[w].e[a] = 1 }

inline ready(a) {
    assert(side[a] == me);
    if
    :: !sched[a] -> sched[a] = 1; assert(queued[a] == NOBODY); queued[a] = me
    :: else
    fi
}

/* R2. The push that finds no token links the entry; it reads the owner after its exchange. */
inline inject_if_first(a) {
    if
    :: had
    :: else ->
#ifndef M_STALE_OWNER
        o = owner[a];
#endif
        atomic { link(o & 7, a) }
    fi;
    had = 0
}

inline push(a, x) {
    atomic {
        assert(!closed[a]);
        assert(inbox[a].n < MAXM && (inbox[a].n == 0 || token[a])); /* I2 */
        inbox[a].m[inbox[a].n] = x; inbox[a].n++;
#ifdef PUSH_DROPS_NUDGED
        nudged[a] = 0;
#endif
        had = token[a]; token[a] = 1
    }
    inject_if_first(a)
}

/* A push without a node (I8). */
inline nudge(a) {
#ifdef M_NUDGE_NO_TOKEN
    atomic { nudged[a] = 1; had = 1 }
#else
    atomic {
#ifndef M_NUDGE_NO_BIT
        nudged[a] = 1;
#endif
        had = token[a]; token[a] = 1
    }
#endif
    inject_if_first(a)
}

/* R3: one exchange, which clears every bit but a token that an entry has. */
inline take(a) {
#ifdef M_TAKE_THEN_CLEAR
    atomic { assert(token[a]); grab(a) }
    atomic { if :: holds[a] -> token[a] = 0; holds[a] = 0 :: else fi }
#else
    atomic {
        assert(token[a]);
        grab(a);
        if
        :: holds[a] -> token[a] = 0; holds[a] = 0
#ifdef KEEP
        :: holds[a]
#endif
        :: else
        fi
    }
#endif
}

/* R1 */
inline send(a, x) {
    o = owner[a];
    if
    :: o == me ->
#ifndef M_NO_TAKE_BEFORE_APPEND
        if :: inbox[a].n > 0 -> take(a) :: else fi;
#endif
        atomic { assert(side[a] == me); append(a, x); ready(a) }
    :: else -> push(a, x)
    fi;
    o = 0
}

proctype sender(byte a, base, count) {
    byte k = 1, o = 0;
    bit had = 0;
    !closed[1]; /* B's id is known */
    do
    :: k <= count -> o = owner[a]; push(a, base + k); o = 0; k++
    :: else -> break
    od;
    senders++
}

#if NN > 0
proctype requester() {
    byte k = 0, o = 0;
    bit had = 0;
    !closed[1];
    do
    :: k < NN ->
#ifdef M_NUDGE_FIRST
        nudge(1); want[1] = 1;
#else
        want[1] = 1; nudge(1);
#endif
        k++
    :: else -> break
    od;
    senders++
}
#endif

#ifdef GLOBAL
/* R13 on a thread that will not own the task. Opening is one store of the inbox word; from then on
 * others push. */
proctype spawner() {
    if
    :: skip;                          /* into the global queue */
        atomic {
            sched[1] = 1;
#ifndef M_GLOBAL_NOT_HELD
            holds[1] = 1;
#endif
#ifdef M_GLOBAL_NOT_OUT
            owner[1] = 0
#else
            owner[1] = FOREIGN | OUT
#endif
        }
#ifdef M_GLOBAL_NO_TOKEN
        closed[1] = 0;
#else
        atomic { closed[1] = 0; token[1] = 1 }
#endif
        if
        :: atomic { side[1] = NOBODY; global.e[1] = 1 }
        :: atomic { sched[1] = 0; holds[1] = 0; owner[1] = OUT } /* it is full: R11, to 0 */
            atomic { side[1] = NOBODY; link(0, 1) }
        fi
    :: owner[1] = 1 | OUT;            /* bound to worker 1 */
        atomic { closed[1] = 0; token[1] = 1 }
        atomic { side[1] = NOBODY; link(1, 1) }
    fi
}
#endif

proctype worker(byte me) {
    byte i = 0, o = 0, a = 0, x = 0, v = 0;
    bit had = 0, word_list = 0, word_nudged = 0;
end:
    do
    :: atomic { inject[me].e[0] -> a = 0; inject[me].e[0] = 0; linked[0] = 0 } goto accept_entry
    :: atomic { inject[me].e[1] -> a = 1; inject[me].e[1] = 0; linked[1] = 0 } goto accept_entry
    :: atomic { queued[0] == me -> a = 0; queued[0] = NOBODY } goto popped
    :: atomic { queued[1] == me -> a = 1; queued[1] = NOBODY } goto popped
    :: atomic { deque[0].e[0] -> a = 0; deque[0].e[0] = 0; side[0] = me } goto adopt
    :: atomic { deque[0].e[1] -> a = 1; deque[0].e[1] = 0; side[1] = me } goto adopt
    :: atomic { deque[1].e[0] -> a = 0; deque[1].e[0] = 0; side[0] = me } goto adopt
    :: atomic { deque[1].e[1] -> a = 1; deque[1].e[1] = 0; side[1] = me } goto adopt
#if NW > 2
    :: atomic { deque[2].e[0] -> a = 0; deque[2].e[0] = 0; side[0] = me } goto adopt
    :: atomic { deque[2].e[1] -> a = 1; deque[2].e[1] = 0; side[1] = me } goto adopt
#endif
#ifdef GLOBAL
    :: atomic { global.e[1] -> a = 1; global.e[1] = 0; side[1] = me } goto adopt
#endif
    od;

adopt: /* R10: out of a deque or the global queue. The token came with it (I5). */
    owner[a] = me;
    atomic {
        assert(sched[a] && holds[a] && token[a] && queued[a] == NOBODY);
        queued[a] = me; a = 0
    }
    goto end;

accept_entry: /* R6: the entry is consumed, its token is mine; it is never forwarded. */
    atomic { assert((owner[a] & 7) == me); owner[a] = me }
    atomic {
        side[a] = me; assert(!holds[a] && token[a]); /* I1 */
#ifndef M_NO_HOLD
        holds[a] = 1;
#endif
#ifdef M_ENTRY_ONLY_INBOX
        if :: inbox[a].n > 0 -> ready(a) :: else fi;
#else
        ready(a);
#endif
        a = 0
    }
    goto end;

popped:
    if
    :: pubs < NPUB || hos < NHO ->
#ifndef M_OFFER_NO_TOKEN
        /* R9 */
        atomic {
            if
            :: holds[a]
            :: !holds[a] && token[a] -> had = 1
            :: else -> token[a] = 1; holds[a] = 1
            fi
        }
#endif
        if
        :: had -> had = 0
        :: else ->
            if
            :: atomic { pubs < NPUB -> pubs++ } /* R10 */
                owner[a] = me | OUT;
                atomic { deque[me].e[a] = 1; side[a] = NOBODY; a = 0 }
                goto end
            :: atomic { hos < NHO -> hos++ } /* R11 */
                if
                :: v = (me + 1) % NW
#if NW > 2
                :: v = (me + 2) % NW
#endif
                fi;
                atomic { sched[a] = 0; holds[a] = 0; side[a] = NOBODY; owner[a] = v | OUT }
                atomic { link(v, a); v = 0; a = 0 }
                goto end
            :: pubs == NPUB && hos == NHO
            fi
        fi
    :: skip
    fi;

    /* R8. The state word is looked at before each message and before each look at the inbox. */
#ifdef M_LOOK_ONCE
    want[a] = 0;
#endif
    do
    :: true ->
#if NN > 0 && !defined(M_LOOK_ONCE)
        if :: want[a] -> atomic { assert(side[a] == me); want[a] = 0 } :: else fi;
#endif
        if
        :: mine[a].n == 0 ->
            atomic { word_list = inbox[a].n > 0; word_nudged = nudged[a] } /* one load */
            if
            :: word_list -> take(a)
            :: else ->
                /* R8, I8: by compare-and-exchange from the word that was read. */
                if
#ifndef M_IDLE_IGNORES_NUDGED
                :: word_nudged ->
                    atomic {
                        if
                        :: inbox[a].n == 0 -> nudged[a] = 0;
#ifdef M_IDLE_TRUSTS_ITS_LOOK
                            if :: holds[a] -> token[a] = 0; holds[a] = 0 :: else fi; had = 1
#endif
                        :: else
                        fi
                    }
                :: !word_nudged && holds[a] ->
                    atomic {
                        if
                        :: inbox[a].n == 0 && !nudged[a] ->
                            assert(token[a]); token[a] = 0; holds[a] = 0; had = 1
                        :: else
                        fi
                    }
                :: !word_nudged && !holds[a] -> had = 1
#else
                :: holds[a] ->
                    atomic {
                        if
                        :: inbox[a].n == 0 -> token[a] = 0; nudged[a] = 0; holds[a] = 0; had = 1
                        :: else
                        fi
                    }
                :: !holds[a] -> had = 1
#endif
                fi
            fi;
            atomic { word_list = 0; word_nudged = 0 }
        :: else ->
            atomic {
                assert(side[a] == me && !turns[a]);
                turns[a] = 1;
                x = mine[a].m[0]; i = 0;
                do
                :: i + 1 < mine[a].n -> mine[a].m[i] = mine[a].m[i + 1]; i++
                :: else -> break
                od;
                mine[a].n--; mine[a].m[mine[a].n] = 0; i = 0
            }
            if
            :: a == 0 -> atomic { assert(x == last_a + 1); last_a = x }
                send(1, x)
            :: else -> atomic {
                    if
                    :: x > 16 -> assert(x - 16 == last_g + 1); last_g = x - 16
                    :: else -> assert(x == last_b + 1); last_b = x
                    fi
                }
            fi;
            atomic { x = 0; assert(side[a] == me); turns[a] = 0 }
            if
            /* The short end of a turn: one load shows a word that is 0. */
#ifdef M_QUIET_WITH_TOKEN
            :: mine[a].n == 0 -> had = inbox[a].n == 0
#else
            :: mine[a].n == 0 -> had = inbox[a].n == 0 && !token[a] && !nudged[a]
#endif
            /* The budget is spent. */
            :: atomic { mine[a].n > 0 -> queued[a] = me; a = 0 } goto end
            :: mine[a].n > 0
            fi
        fi;
        if
        :: had -> atomic { had = 0; assert(side[a] == me && sched[a]); sched[a] = 0; a = 0 }
            goto end
        :: else
        fi
    od
}

init {
    byte z = 0;
    atomic {
        do
        :: z < NA -> queued[z] = NOBODY; z++
        :: else -> break
        od;
#ifdef SPLIT
        owner[1] = 1; side[1] = 1;
#endif
#ifdef GLOBAL
        owner[1] = FOREIGN | OUT; side[1] = FOREIGN; closed[1] = 1;
        run spawner();
#endif
        run worker(0); run worker(1);
#if NW > 2
        run worker(2);
#endif
        run sender(0, 0, NF); run sender(1, 16, NG);
#if NN > 0
        run requester();
#else
        senders++
#endif
    }
    timeout ->
    assert(senders == 3 && last_a == NF && last_b == NF && last_g == NG);
    assert(!want[0] && !want[1]); /* I8 */
    z = 0;
    do
    :: z < NA ->
        assert(!token[z] && !nudged[z] && inbox[z].n == 0 && mine[z].n == 0);
        assert(!holds[z] && !sched[z] && !linked[z]);
        z++
    :: else -> break
    od
}
