/* SPDX-License-Identifier: MIT */
/* Random programs of a few fibers with a mutex, a semaphore or a rwlock, against a list of those
 * that wait and a number of permits. A seed that fails prints the line that reruns it. */
#include "puppets.h"

enum { PARTIES = 6, STEPS = 120 };

enum type { MUTEX, SEMAPHORE, RWLOCK, TYPES };

#define ALL 1000000u /* permits of the model's rwlock: more than can be read locks */

struct party {
    struct puppet puppet;
    bool waits;
    uint32_t wants; /* permits, while it waits */
    uint64_t deadline_ns;
    uint32_t has;
    bool by_op;
    jzx_err expected; /* of the last call that is done */
};

static struct {
    struct timing timing;
    uint64_t random;
    enum type type;
    jzx_mutex mutex;
    jzx_semaphore semaphore;
    jzx_rwlock rwlock;
    uint32_t max;
    struct party parties[PARTIES];

    /* The model. */
    uint32_t available;
    bool died;
    uint32_t queue[PARTIES];
    uint32_t queued;
    bool held; /* all that was compared */
} m;

static void expect(bool held) {
    m.held = m.held && held;
}

static uint64_t below(uint64_t bound) {
    return random_below(&m.random, bound);
}

/* ---- what a fiber does ---- */

static jzx_err take_by_op(jzx_context *ctx, uint32_t wants) {
    jzx_err err;
    jzx_op op = JZX_NO_OP;
    if (m.type == MUTEX)
        err = jzx_mutex_lock_to(ctx, &m.mutex, TAG_RESULT, &op);
    else if (m.type == SEMAPHORE)
        err = jzx_semaphore_acquire_to(ctx, &m.semaphore, wants, TAG_RESULT, &op);
    else if (wants == ALL)
        err = jzx_rwlock_lock_write_to(ctx, &m.rwlock, TAG_RESULT, &op);
    else
        err = jzx_rwlock_lock_read_to(ctx, &m.rwlock, TAG_RESULT, &op);
    return puppet_await(ctx, err, op, NULL, 0);
}

static jzx_err take(jzx_context *ctx, struct puppet *puppet) {
    uint32_t wants = (uint32_t)puppet->number;
    if (puppet_by_op(puppet))
        return take_by_op(ctx, wants);
    uint64_t deadline_ns = puppet->deadline_ns;
    switch (m.type) {
    case MUTEX: return jzx_mutex_lock(ctx, &m.mutex, deadline_ns);
    case SEMAPHORE: return jzx_semaphore_acquire(ctx, &m.semaphore, wants, deadline_ns);
    default:
        return wants == ALL ? jzx_rwlock_lock_write(ctx, &m.rwlock, deadline_ns)
                            : jzx_rwlock_lock_read(ctx, &m.rwlock, deadline_ns);
    }
}

static jzx_err try_take(jzx_context *ctx, struct puppet *puppet) {
    uint32_t wants = (uint32_t)puppet->number;
    switch (m.type) {
    case MUTEX: return jzx_mutex_try_lock(ctx, &m.mutex);
    case SEMAPHORE: return jzx_semaphore_try_acquire(ctx, &m.semaphore, wants);
    default:
        return wants == ALL ? jzx_rwlock_try_lock_write(ctx, &m.rwlock)
                            : jzx_rwlock_try_lock_read(ctx, &m.rwlock);
    }
}

static jzx_err give(jzx_context *ctx, struct puppet *puppet) {
    switch (m.type) {
    case MUTEX: return jzx_mutex_unlock(ctx, &m.mutex);
    case SEMAPHORE: return jzx_semaphore_release(ctx, &m.semaphore, (uint32_t)puppet->number);
    default:
        return puppet->number == ALL ? jzx_rwlock_unlock_write(ctx, &m.rwlock)
                                     : jzx_rwlock_unlock_read(ctx, &m.rwlock);
    }
}

/* ---- the model ---- */

static void model_take(struct party *party, uint32_t wants) {
    m.available -= wants;
    party->has += wants;
    party->expected = m.died ? JZX_ERR_OWNER_DIED : JZX_OK;
    m.died = false;
    party->waits = false;
}

static void model_serve(void) {
    while (m.queued != 0 && m.parties[m.queue[0]].wants <= m.available) {
        struct party *first = &m.parties[m.queue[0]];
        memmove(m.queue, m.queue + 1, --m.queued * sizeof m.queue[0]);
        model_take(first, first->wants);
    }
}

static void model_leave(uint32_t index) {
    for (uint32_t i = 0; i < m.queued; i++) {
        if (m.queue[i] == index) {
            memmove(&m.queue[i], &m.queue[i + 1], (--m.queued - i) * sizeof m.queue[0]);
            break;
        }
    }
    m.parties[index].waits = false;
}

static void check(void) {
    for (uint32_t i = 0; i < PARTIES; i++) {
        struct party *party = &m.parties[i];
        expect(JZX_EXPECT_EQ(puppet_waits(&party->puppet), party->waits));
        if (!party->waits)
            expect(JZX_EXPECT_EQ(party->puppet.result, party->expected));
    }
    if (m.type == SEMAPHORE)
        expect(JZX_EXPECT_EQ(jzx_semaphore_available(&m.semaphore), m.available));
}

/* ---- steps ---- */

static uint32_t random_wants(void) {
    switch (m.type) {
    case MUTEX: return 1;
    case SEMAPHORE: return 1 + (uint32_t)below(m.max);
    default: return below(3) == 0 ? ALL : 1;
    }
}

/* A second lock of the same one is refused, but for permits. */
static bool is_refused(const struct party *party) {
    return m.type != SEMAPHORE && party->has != 0;
}

/* True if another time is needed: an operation whose actor gives up is cancelled when that runs,
 * and may get what another leaves behind that gives up at the same moment. */
static bool is_taken_by_op(const struct party *self, uint64_t deadline_ns) {
    for (uint32_t i = 0; i < PARTIES; i++) {
        const struct party *party = &m.parties[i];
        if (party->waits && party->deadline_ns == deadline_ns &&
            (party->by_op || puppet_by_op_next(&self->puppet)))
            return true;
    }
    return false;
}

static uint64_t random_deadline(const struct party *party) {
    uint64_t deadline_ns = jzx_clock_now(m.timing.clock) + JZX_MS(below(6));
    if (below(2))
        return JZX_NEVER;
    while (is_taken_by_op(party, deadline_ns))
        deadline_ns += JZX_MS(1);
    return deadline_ns;
}

static void step_take(uint32_t index) {
    struct party *party = &m.parties[index];
    uint32_t wants = random_wants();
    bool only_tries = below(4) == 0;
    uint64_t now_ns = jzx_clock_now(m.timing.clock);
    uint64_t deadline_ns = random_deadline(party);
    party->puppet.number = wants;
    party->by_op = puppet_by_op_next(&party->puppet);
    if (is_refused(party)) {
        party->expected = JZX_ERR_BUSY;
    } else if (m.queued == 0 && wants <= m.available) {
        model_take(party, wants);
    } else if (only_tries || deadline_ns <= now_ns) {
        party->expected = JZX_ERR_TIMEOUT;
    } else {
        party->waits = true;
        party->wants = wants;
        party->deadline_ns = deadline_ns;
        m.queue[m.queued++] = index;
    }
    puppet_do(&party->puppet, only_tries ? try_take : take, NULL, deadline_ns);
}

static void step_give(uint32_t index) {
    struct party *party = &m.parties[index];
    uint32_t count = m.type == SEMAPHORE ? 1 + (uint32_t)below(m.max)
                     : party->has != 0   ? party->has
                                         : random_wants();
    uint32_t own = count < party->has ? count : party->has;
    party->puppet.number = count;
    if (m.type != SEMAPHORE && party->has == 0) {
        party->expected = JZX_ERR_NOT_OWNER;
    } else if (m.type == SEMAPHORE && count > m.max - m.available) {
        party->expected = JZX_ERR_FULL;
    } else {
        party->expected = JZX_OK;
        party->has -= own;
        m.available += count;
    }
    model_serve();
    puppet_do(&party->puppet, give, NULL, 0);
}

/* All whose time is over leave, and then others get what they were in the way of. */
static void step_ms(void) {
    uint64_t now_ns = jzx_clock_now(m.timing.clock) + JZX_MS(1);
    for (uint32_t i = 0; i < PARTIES; i++) {
        struct party *party = &m.parties[i];
        if (party->waits && party->deadline_ns <= now_ns) {
            model_leave(i);
            party->expected = JZX_ERR_TIMEOUT;
        }
    }
    model_serve();
    timing_advance_to(&m.timing, now_ns);
}

static void step_time(void) {
    for (uint64_t count = 1 + below(3); count != 0; count--)
        step_ms();
}

/* Another fiber takes its place. */
static void step_kill(uint32_t index) {
    struct party *party = &m.parties[index];
    model_leave(index);
    model_serve(); /* it was in the way of others, before what it has comes back */
    if (party->has != 0) {
        uint32_t room = m.max - m.available;
        m.available += party->has < room ? party->has : room;
        m.died = m.died || m.type != RWLOCK || party->has == ALL;
    }
    model_serve();
    puppet_kill(&party->puppet);
    *party = (struct party){.expected = JZX_OK};
    puppet_spawn(&party->puppet, &m.timing);
}

static void step(void) {
    uint32_t index = (uint32_t)below(PARTIES);
    bool waits = m.parties[index].waits;
    switch (below(10)) {
    case 0: step_time(); break;
    case 1: step_kill(index); break;
    case 2:
    case 3:
    case 4:
    case 5:
        if (!waits)
            step_take(index);
        break;
    default:
        if (!waits)
            step_give(index);
        break;
    }
    check();
}

static bool play(uint64_t seed) {
    enum type type = m.type;
    memset(&m, 0, sizeof m);
    m.type = type;
    m.random = seed * 3 + (uint64_t)type;
    m.held = true;
    m.timing = timing_open();
    m.max = type == MUTEX ? 1 : type == RWLOCK ? ALL : 1 + (uint32_t)below(5);
    m.available = type == SEMAPHORE ? (uint32_t)below(m.max + 1) : m.max;
    expect(jzx_mutex_init(m.timing.loop, &m.mutex) == JZX_OK);
    expect(jzx_semaphore_init(m.timing.loop, &m.semaphore, m.available, m.max) == JZX_OK);
    expect(jzx_rwlock_init(m.timing.loop, &m.rwlock) == JZX_OK);
    for (int i = 0; i < PARTIES; i++)
        puppet_spawn(&m.parties[i].puppet, &m.timing);
    for (int i = 0; i < STEPS && m.held; i++)
        step();
    timing_close(&m.timing);
    expect(JZX_EXPECT_EQ(jzx_mutex_deinit(&m.mutex), JZX_OK));
    expect(JZX_EXPECT_EQ(jzx_semaphore_deinit(&m.semaphore), JZX_OK));
    expect(JZX_EXPECT_EQ(jzx_rwlock_deinit(&m.rwlock), JZX_OK));
    return m.held;
}

JZX_TEST(random_programs_with_a_mutex_are_those_of_a_list, "E57") {
    m.type = MUTEX;
    run_seeds("sync_lock_model.random_programs_with_a_mutex_are_those_of_a_list",
              jzx_test_rounds(1500, 20000), play);
}

JZX_TEST(random_programs_with_a_semaphore_are_those_of_a_list, "E57") {
    m.type = SEMAPHORE;
    run_seeds("sync_lock_model.random_programs_with_a_semaphore_are_those_of_a_list",
              jzx_test_rounds(1500, 20000), play);
}

JZX_TEST(random_programs_with_a_rwlock_are_those_of_a_list, "E57") {
    m.type = RWLOCK;
    run_seeds("sync_lock_model.random_programs_with_a_rwlock_are_those_of_a_list",
              jzx_test_rounds(1500, 20000), play);
}
