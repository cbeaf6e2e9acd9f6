/* SPDX-License-Identifier: MIT */
/* The end of a task and the reuse of its slot (src/sched/task.h, src/actor/exit.c, spawn.c).
 *
 * Checks rules R2, R3, R6, R8-R13, invariants I1-I7: every message is handled, a dead letter or
 * refused, and just one of them; a sender or a request that comes late never reaches a newer task;
 * a free slot is touched by nobody but who takes it from the pool; no slot is lost.
 *
 * One slot, generations 1 to 4. Two foreign threads have ids of generation 1 and 2, and look up,
 * pause, push (NF and NG times). A third has NN requests for generation 1. The task publishes,
 * is handed over and dies at most NPUB, NHO and ND times; with DRAIN it may first close and work
 * off what it has. Workers take the slot again and spawn; so does a foreign thread, NS times, by
 * the global queue.
 *
 * Words are read and written in one step each, a compare-and-exchange loop is one step. Sequential
 * consistency. Switches: NW (2, 3), the budgets, DRAIN, KEEP: a take may keep the token. Mutants,
 * each must fail: see the ifdefs with M_. */
#ifndef NW
#define NW 2
#endif
#ifndef NF
#define NF 2
#endif
#ifndef NG
#define NG 1
#endif
#ifndef NN
#define NN 0
#endif
#ifndef NS
#define NS 0
#endif
#ifndef NPUB
#define NPUB 1
#endif
#ifndef NHO
#define NHO 0
#endif
#ifndef ND
#define ND 2
#endif
#define MAXM 8
#define NMSG 8
#define OUT 8      /* in an owner word: in nobody's fast path */
#define FOREIGN 6  /* as an owner: no worker yet */
#define NOBODY 7

/* What became of a message. */
#define WAITS 1
#define HANDLED 2
#define DEAD 3
#define REFUSED 4

/* What all threads see. */
byte gen = 1;                       /* id word */
byte state_gen = 1; bit want = 0;   /* state word */
byte owner = 0;
byte inbox[MAXM], inbox_n = 0;      /* inbox word: list and count, */
bit token = 0, closed = 0, nudged = 0;
bit inject[NW], deque[NW], global = 0, pool = 0;

/* The private side. */
byte mine[MAXM], mine_n = 0;
bit holds = 0, sched = 0, dead = 0, zombie = 0, draining = 0;

/* Only for the checks. */
byte queued = NOBODY, side = 0;
bit linked = 0, turns = 0;
bit known[5], alive[5];              /* by generation: its id is out; it takes messages */
byte fate[NMSG], meant[NMSG];       /* of messages */
byte want_gen = 0;
byte pubs = 0, hos = 0, deaths = 0, firsts = 0;

inline settle(x, f) { assert(fate[x] == WAITS); fate[x] = f }

/* Inbox to private list; what is for another generation becomes a dead letter (I7). Inside
 * atomic. */
inline grab() {
    assert(side == me);
    i = 0;
    do
    :: i < inbox_n ->
        if
        :: dead || meant[inbox[i]] != gen -> settle(inbox[i], DEAD)
        :: else -> mine[mine_n] = inbox[i]; mine_n++
        fi;
        inbox[i] = 0; i++
    :: else -> break
    od;
    i = 0; inbox_n = 0; nudged = 0
}

inline link(w) { assert(!linked && (w) < NW); linked = 1; inject[w] = 1 }

inline ready() {
    assert(side == me && !dead);
    if
    :: !sched -> sched = 1; assert(queued == NOBODY); queued = me
    :: else
    fi
}

inline inject_if_first() {
    if
    :: refused || had
    :: else -> o = owner; atomic { link(o & 7); o = 0 }
    fi;
    had = 0; refused = 0
}

proctype sender(byte first, count, g) {
    byte k = 0, o = 0;
    bit had = 0, refused = 0;
endwait:
    known[g];
    do
    :: k < count ->
        atomic { /* look up */
            meant[first + k] = g;
            if :: gen != g -> fate[first + k] = REFUSED; refused = 1 :: else fi
        }
        if
        :: refused -> refused = 0
        :: else ->
            atomic { /* R2 */
                if
#ifndef M_NO_CLOSE
                :: closed -> assert(!alive[g]); fate[first + k] = REFUSED; refused = 1
#endif
                :: else ->
                    inbox[inbox_n] = first + k; inbox_n++; fate[first + k] = WAITS;
                    had = token; token = 1
                fi
            }
            inject_if_first()
        fi;
        k++
    :: else -> break
    od
}

#if NN > 0
/* Requests for generation 1: the bit and the generation are one word (I7), the nudge comes after
 * it (I8). */
proctype requester() {
    byte k = 0, o = 0;
    bit had = 0, refused = 0;
    do
    :: k < NN ->
        atomic {
            if
#ifndef M_WANT_NO_GENERATION
            :: state_gen != 1 -> refused = 1
#endif
            :: else -> want = 1; want_gen = 1
            fi
        }
        if
        :: refused -> refused = 0
        :: else ->
            atomic {
                if
                :: closed -> refused = 1
                :: else -> nudged = 1; had = token; token = 1
                fi
            }
            inject_if_first()
        fi;
        k++
    :: else -> break
    od
}
#endif

#if NS > 0
/* R13 on a thread that will not own the task: it is open before it is in the queue. */
proctype spawner() {
    byte k = 0;
endpool:
    do
    :: atomic { k < NS && pool -> pool = 0; side = FOREIGN; k++ }
        atomic {
            assert(dead && !zombie && !holds && mine_n == 0);
            assert(closed && !token && inbox_n == 0 && !nudged); /* I6 */
            dead = 0; draining = 0; sched = 1; holds = 1; state_gen = gen; want = 0
        }
        owner = FOREIGN | OUT;
#ifdef M_QUEUE_BEFORE_OPEN
        atomic { side = NOBODY; global = 1 }
        atomic { closed = 0; token = 1 }
        atomic { known[gen] = 1; alive[gen] = 1 }
#else
        atomic { closed = 0; token = 1; alive[gen] = 1 }
        known[gen] = 1;
        atomic { side = NOBODY; global = 1 }
#endif
    :: k == NS -> break
    od
}
#endif

/* R3 */
inline take() {
    atomic {
        assert(token);
        grab();
        if
        :: holds -> token = 0; holds = 0
#ifdef KEEP
        :: holds
#endif
        :: else
        fi
    }
}

/* R12: takes all, sets CLOSED, and keeps only a token that an entry has. Inside atomic. */
inline close_inbox() {
    grab();
    if :: holds -> holds = 0; token = 0 :: else fi;
#ifndef M_NO_CLOSE
    closed = 1;
#endif
    alive[gen] = 0
}

proctype worker(byte me) {
    byte i = 0, o = 0, x = 0;
    bit had = 0, word_list = 0, word_nudged = 0;
end:
    do
    :: atomic { inject[me] -> inject[me] = 0; linked = 0 } goto accept_entry
    :: atomic { queued == me -> queued = NOBODY } goto popped
    :: atomic { deque[0] -> deque[0] = 0; side = me } goto adopt
    :: atomic { deque[1] -> deque[1] = 0; side = me } goto adopt
#if NW > 2
    :: atomic { deque[2] -> deque[2] = 0; side = me } goto adopt
#endif
    :: atomic { global -> global = 0; side = me } goto adopt
    :: atomic { pool -> pool = 0; side = me } goto spawn
    /* A guessed id would reach the private side by the fast path (I4). */
    :: atomic { owner == me && side != me -> assert(false) }
    od;

spawn: /* R13 */
    atomic {
        assert(dead && !zombie && !holds && mine_n == 0);
#ifndef M_NO_CLOSE
        assert(closed && !token && inbox_n == 0 && !nudged); /* I6 */
#endif
        dead = 0; draining = 0; sched = 0; state_gen = gen; want = 0
    }
    owner = me;
#ifdef M_ID_BEFORE_OPEN
    atomic { known[gen] = 1; alive[gen] = 1 }
    closed = 0;
#else
    atomic { closed = 0; alive[gen] = 1 }
    known[gen] = 1;
#endif
    if
    :: firsts < 2 -> /* its first message, by the private path */
        if :: inbox_n > 0 -> take() :: else fi;
        atomic {
            x = 6 + firsts; firsts++;
            fate[x] = WAITS; meant[x] = gen; mine[mine_n] = x; mine_n++; x = 0;
            ready()
        }
    :: else
    fi;
    goto end;

adopt:
    owner = me;
    atomic { assert(sched && holds && token && queued == NOBODY); queued = me }
    goto end;

accept_entry: /* R6 */
    assert((owner & 7) == me);
    if
    :: dead -> atomic {
#ifdef M_NO_CLOSE
            grab();
#else
            assert(zombie && inbox_n == 0);
#endif
            token = 0; zombie = 0; side = NOBODY; pool = 1
        }
    :: else -> owner = me;
        atomic { side = me; assert(!holds && token); holds = 1; ready() }
    fi;
    goto end;

popped:
    if
    :: pubs < NPUB || hos < NHO ->
        atomic { /* R9 */
            if
            :: holds
            :: !holds && (token || closed) -> had = 1
            :: else -> token = 1; holds = 1
            fi
        }
        if
        :: had -> had = 0
        :: else ->
            if
            :: atomic { pubs < NPUB -> pubs++ } /* R10 */
                owner = me | OUT;
                atomic { deque[me] = 1; side = NOBODY }
                goto end
            :: atomic { hos < NHO -> hos++ } /* R11 */
                atomic { sched = 0; holds = 0; side = NOBODY; owner = ((me + 1) % NW) | OUT }
                atomic { link((me + 1) % NW) }
                goto end
            :: pubs == NPUB && hos == NHO
            fi
        fi
    :: skip
    fi;

    do /* R8 */
    :: true ->
#if NN > 0
        if
        :: want -> atomic { assert(side == me && want_gen == gen); want = 0 } /* I7, I8 */
            if
            :: atomic { deaths < ND -> deaths++ } goto die
            :: skip
            fi
        :: else
        fi;
#endif
#ifdef DRAIN
        if
        :: atomic { !draining && deaths < ND -> deaths++; draining = 1; close_inbox() }
        :: skip
        fi;
#endif
        if
        :: mine_n == 0 && draining -> goto die
        :: mine_n == 0 && !draining ->
            atomic { word_list = inbox_n > 0; word_nudged = nudged }
            if
            :: word_list -> take()
            :: else ->
                if
                :: word_nudged -> atomic { if :: inbox_n == 0 -> nudged = 0 :: else fi }
                :: !word_nudged && holds ->
                    atomic {
                        if
                        :: inbox_n == 0 && !nudged -> token = 0; holds = 0; had = 1
                        :: else
                        fi
                    }
                :: !word_nudged && !holds -> had = 1
                fi
            fi;
            atomic { word_list = 0; word_nudged = 0 }
            if
            :: had -> atomic { had = 0; assert(side == me && sched); sched = 0 } goto end
            :: else
            fi
        :: else ->
            atomic {
                assert(side == me && !turns && !dead); turns = 1;
                x = mine[0]; i = 0;
                do
                :: i + 1 < mine_n -> mine[i] = mine[i + 1]; i++
                :: else -> break
                od;
                mine_n--; mine[mine_n] = 0; i = 0;
                assert(meant[x] == gen); settle(x, HANDLED); x = 0
            }
            turns = 0;
            if
            :: atomic { deaths < ND -> deaths++ } goto die
            :: skip
            fi
        fi
    od;

die: /* R12, in the order of exit.c */
    atomic {
        dead = 1; sched = 0;
        i = 0;
        do
        :: i < mine_n -> settle(mine[i], DEAD); mine[i] = 0; i++
        :: else -> break
        od;
        mine_n = 0; i = 0;
        close_inbox();
        had = token
    }
    atomic { gen++; assert(gen < 5) }
    atomic { state_gen = gen; want = 0 }
#ifndef M_OWNER_LEFT
    owner = me | OUT;
#endif
#ifndef M_FREE_WITH_TOKEN
    if
    :: had -> atomic { had = 0; zombie = 1 } goto end /* the entry will free it */
    :: else
    fi;
#endif
    atomic { had = 0; side = NOBODY; pool = 1 }
    goto end
}

init {
    byte z = 0;
    atomic {
        alive[1] = 1; known[1] = 1;
        run worker(0); run worker(1);
#if NW > 2
        run worker(2);
#endif
        run sender(0, NF, 1);
        run sender(3, NG, 2);
#if NN > 0
        run requester();
#endif
#if NS > 0
        run spawner()
#endif
    }
    timeout ->
    do
    :: z < NMSG -> assert(fate[z] != WAITS); z++
    :: else -> break
    od;
    assert(fate[0] >= HANDLED);
    assert(inbox_n == 0 && mine_n == 0 && !token && !nudged && !want);
    assert(!linked && !zombie && !holds && !sched)
}
