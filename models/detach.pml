/* SPDX-License-Identifier: MIT */
/* Taking a worker away from a thread (src/sched/seat.h, watchdog.c), with store buffers.
 *
 * Checks rules R17 and R18 (S1, S2), and R14's look at the seat: never two threads at one worker,
 * whatever one has written to the worker the next one sees, the result of a turn is applied once,
 * messages stay in order, the watchdog never waits for ever.
 *
 * Thread T drives worker W and is in a turn of task A, whose behaviour sends NC messages to task B
 * (W owns it) and returns. The watchdog takes W away at any moment and gives it to a spare thread.
 * Total store order: the stores of T (in_runtime, the worker's data) and of the watchdog (the
 * pointer) wait in buffers that drain at any time. `data` stands for all private state of W: every
 * use reads it and writes it back plus one.
 *
 * Switches: NC; FENCE: no membarrier, but a fence in every enter. Mutants: M_NO_MEMBARRIER;
 * M_CHECK_FIRST, the watchdog looks at in_runtime before it clears the pointer; M_CACHED_POINTER,
 * T reads the pointer outside of the bracket; M_NO_WAKE, the watchdog does not wake W. */
#ifndef NC
#define NC 2
#endif
#define BUFFER 6
#define IN_RUNTIME 1
#define DATA 2

bit seat = 1;                 /* T's pointer to W */
bit in_runtime = 0;
byte data = 0;
chan stores = [BUFFER] of { byte, byte }; /* of T */
bit store_seat = 0;           /* of the watchdog: seat = 0 */
bit parked = 0, woken = 0;

/* The lists of W, whose visibility `data` stands for. */
byte b_first = 1, b_count = 0; /* B's private list: the numbers from b_first on */
byte b_inbox = 0;              /* numbers after those */
byte b_handled = 0, next_number = 1;
bit b_runs = 0;
byte current = 1;              /* the task whose turn it is: 1 A, 2 B */
byte away = 0;                 /* the task whose turn went on without W */
bit returned = 0, applied = 0;

/* Only for the checks. */
bit given = 0, t_is_spare = 0, done = 0, watchdog_done = 0;
bit t_inside = 0, spare_inside = 0;
byte expected = 0;             /* what data must be */
byte value;

inline drain_all() {
    d_step {
        do
        :: stores?[IN_RUNTIME, _] -> stores?IN_RUNTIME, value; in_runtime = value
        :: stores?[DATA, _] -> stores?DATA, value; data = value
        :: empty(stores) -> break
        od;
        value = 0
    }
}

proctype drain_t() {
endbuffer:
    do
    :: atomic { stores?[IN_RUNTIME, _] -> stores?IN_RUNTIME, value; in_runtime = value; value = 0 }
    :: atomic { stores?[DATA, _] -> stores?DATA, value; data = value; value = 0 }
    od
}

proctype drain_watchdog() {
endbuffer:
    do
    :: atomic { store_seat -> seat = 0; store_seat = 0 }
    od
}

/* R17 */
inline enter() {
    stores!IN_RUNTIME, 1;
#ifdef FENCE
    empty(stores);
#endif
#ifndef M_CACHED_POINTER
    mine = seat
#endif
}

inline leave() { stores!IN_RUNTIME, 0 }

/* T reads its own stores, so it knows the value without the memory. */
inline touch() {
    atomic { assert(!spare_inside); t_inside = 1 }
    stores!DATA, (known + 1); known = known + 1; expected++;
    atomic { assert(!spare_inside); t_inside = 0 }
}

inline handle_b() {
    assert(!b_runs);
    b_handled++; assert(b_handled == b_first); b_first++; b_count--
}

proctype t() {
    byte k = 0, known = 0;
    bit mine = 0;
#ifdef M_CACHED_POINTER
    mine = seat;
#endif
    do
    :: k < NC -> /* the behaviour calls jzx_send */
        enter();
        if
        :: mine -> touch(); atomic { assert(!given && b_inbox == 0); b_count++; next_number++ }
            leave()
        :: else -> leave(); atomic { b_inbox++; next_number++ } /* as a foreign thread */
        fi;
        k++
    :: else -> break
    od;
    enter(); /* the behaviour returns */
    if
    :: !mine -> leave(); returned = 1; goto spare /* R19 */
    :: else
    fi;
    touch();
    atomic { assert(!applied); current = 0; applied = 1 }
    do /* goes on driving, with a look at the seat at the top and before sleeping */
    :: seat == 0 -> leave(); goto spare
    :: else ->
        if
        :: b_count > 0 ->
            touch();
            atomic { handle_b(); b_runs = 1; current = 2 }
            leave();
            enter();
            if
            :: mine -> atomic { b_runs = 0; current = 0 }
            :: else -> leave(); atomic { b_runs = 0; returned = 1 } goto spare
            fi
        :: else -> /* R14, inside the bracket */
            parked = 1;
            empty(stores);
            if
            :: seat == 0 -> parked = 0; leave(); goto spare
            :: else -> woken; parked = 0; woken = 0
            fi
        fi
    od;
spare:
    t_is_spare = 1
}

/* R18 */
proctype watchdog() {
#ifdef M_CHECK_FIRST
    in_runtime == 0;
    store_seat = 1;
    !store_seat;
#else
    store_seat = 1;
#ifdef FENCE
    !store_seat;
#elif !defined(M_NO_MEMBARRIER)
    atomic { if :: store_seat -> seat = 0; store_seat = 0 :: else fi; drain_all() }
#endif
#ifndef M_NO_WAKE
    if :: parked -> woken = 1 :: else fi;
#endif
    in_runtime == 0;
#endif
    atomic { assert(!t_inside); away = current }
    atomic { given = 1; watchdog_done = 1 }
}

proctype spare() {
    byte r = 0;
endwait:
    given;
    do
    :: (returned && away) || (b_count > 0 && away != 2) || (b_count == 0 && b_inbox > 0) ->
        atomic { assert(!t_inside); spare_inside = 1 }
        r = data;
        assert(r == expected);
        atomic { data = r + 1; expected++; assert(!t_inside); r = 0 }
        if
        :: returned && away == 1 -> atomic { assert(!applied); applied = 1; away = 0; current = 0 }
        :: returned && away == 2 -> atomic { assert(applied); away = 0; current = 0 }
        :: b_count > 0 && away != 2 -> atomic { handle_b() }
        :: b_count == 0 && b_inbox > 0 -> atomic { b_count = b_inbox; b_inbox = 0 }
        fi;
        atomic { assert(!t_inside); spare_inside = 0 }
    :: applied && !away && b_count == 0 && b_inbox == 0 && next_number == NC + 1 -> break
    od;
    done = 1
}

init {
    atomic { run t(); run drain_t(); run watchdog(); run drain_watchdog(); run spare() }
    timeout -> assert(done && applied && b_handled == NC && watchdog_done && t_is_spare)
}
