/* SPDX-License-Identifier: MIT */
/* The shared pool under threads. Values are several words that belong together, so that a torn copy
 * shows; under ThreadSanitizer every access counts. */
#include "jzx/pool.h"

#include "base/atomic.h"
#include "base/rng.h"

#include "jzx_test.h"

#include <pthread.h>
#include <stdlib.h>

#define THREADS 4u
#define WORDS 6u

struct value {
    uint64_t words[WORDS]; /* number, number + 1, ... */
};

JZX_SHARED_POOL(common, struct value)

static struct value value_of(uint64_t number) {
    struct value value;
    for (uint64_t i = 0; i < WORDS; i++)
        value.words[i] = number + i;
    return value;
}

static bool is_whole(const struct value *value) {
    for (uint64_t i = 0; i < WORDS; i++) {
        if (value->words[i] != value->words[0] + i)
            return false;
    }
    return true;
}

static common_pool *make_pool(uint32_t capacity) {
    common_pool *pool = NULL;
    assert_int_equal(common_pool_create(capacity, NULL, &pool), JZX_OK);
    return pool;
}

struct runner {
    pthread_t thread;
    pthread_barrier_t *start;
    void *(*body)(void *);
    void *arg;
};

static void *run_body(void *arg) {
    struct runner *self = arg;
    pthread_barrier_wait(self->start);
    return self->body(self->arg);
}

/* One thread for each of THREADS arguments, all at once. */
static void run_threads(void *(*body)(void *), void *args, size_t arg_size) {
    struct runner runners[THREADS];
    pthread_barrier_t start;
    assert_int_equal(pthread_barrier_init(&start, NULL, THREADS), 0);
    for (uint32_t i = 0; i < THREADS; i++) {
        runners[i] =
            (struct runner){.start = &start, .body = body, .arg = (char *)args + i * arg_size};
        assert_int_equal(pthread_create(&runners[i].thread, NULL, run_body, &runners[i]), 0);
    }
    for (uint32_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(runners[i].thread, NULL), 0);
    pthread_barrier_destroy(&start);
}

/* ---- making and freeing ---- */

#define CHURN_CAPACITY 3u /* less than one thread wants */
#define MINE_MAX 4u
#define OLD_MAX 16u

struct churner {
    common_pool *pool;
    uint64_t rounds;
    uint64_t index;
    uint64_t refused;
    uint64_t made;
    common_ref mine[MINE_MAX]; /* nobody else knows them */
    uint64_t numbers[MINE_MAX];
    uint32_t mine_count;
    common_ref old[OLD_MAX]; /* freed by this thread: stale for ever */
};

static void churn_new(struct churner *self) {
    uint64_t number = self->index << 56 | self->made << 8;
    struct value value = value_of(number);
    common_ref ref = {JZX_NO_REF};
    jzx_err err = common_pool_new(self->pool, &value, &ref);
    if (err == JZX_ERR_FULL) {
        self->refused++;
        return;
    }
    JZX_EXPECT_EQ(err, JZX_OK);
    self->mine[self->mine_count] = ref;
    self->numbers[self->mine_count++] = number;
    self->made++;
}

static void churn_free(struct churner *self, uint64_t random) {
    uint32_t at = (uint32_t)(random % self->mine_count);
    struct value last = {{0}};
    if (random % 2 == 0) {
        JZX_EXPECT(common_pool_take(self->pool, self->mine[at], &last));
        JZX_EXPECT(is_whole(&last) && last.words[0] == self->numbers[at]);
    } else {
        JZX_EXPECT(common_pool_free(self->pool, self->mine[at]));
    }
    self->old[random / 2 % OLD_MAX] = self->mine[at];
    self->mine[at] = self->mine[--self->mine_count];
    self->numbers[at] = self->numbers[self->mine_count];
}

static void *churn(void *arg) {
    struct churner *self = arg;
    struct jzx__rng rng;
    jzx__rng_init(&rng, self->index);
    for (uint64_t i = 0; i < self->rounds; i++) {
        uint64_t random = jzx__rng_next(&rng);
        if (self->mine_count == 0 || (self->mine_count < MINE_MAX && (random >> 60 & 1) != 0))
            churn_new(self);
        else
            churn_free(self, random);
        struct value copy = {{0}};
        JZX_EXPECT(!common_pool_get(self->pool, self->old[random % OLD_MAX], &copy));
        for (uint32_t k = 0; k < self->mine_count; k++) {
            JZX_EXPECT(common_pool_get(self->pool, self->mine[k], &copy));
            JZX_EXPECT(is_whole(&copy) && copy.words[0] == self->numbers[k]);
        }
        JZX_EXPECT(common_pool_count(self->pool) <= CHURN_CAPACITY);
    }
    while (self->mine_count > 0)
        churn_free(self, 0);
    return NULL;
}

JZX_TEST(an_object_is_its_makers_until_freed_and_stale_for_ever_after, "E58", "E+pool") {
    struct churner churners[THREADS];
    common_pool *pool = make_pool(CHURN_CAPACITY);
    uint64_t refused = 0;
    for (uint32_t i = 0; i < THREADS; i++)
        churners[i] = (struct churner){
            .pool = pool, .rounds = jzx_test_rounds(50000, 1000000), .index = i + 1};
    run_threads(churn, churners, sizeof churners[0]);
    for (uint32_t i = 0; i < THREADS; i++)
        refused += churners[i].refused;
    print_message("%llu times full\n", (unsigned long long)refused);
    assert_true(refused > 0);
    assert_int_equal(common_pool_count(pool), 0);
    for (uint32_t i = 0; i < CHURN_CAPACITY; i++) /* no slot was lost */
        assert_int_equal(common_pool_new(pool, NULL, NULL), JZX_OK);
    assert_int_equal(common_pool_new(pool, NULL, NULL), JZX_ERR_FULL);
    assert_int_equal(common_pool_destroy(pool), JZX_OK);
}

/* ---- one taker ---- */

#define PRIZES 64u

struct taker {
    common_pool *pool;
    const common_ref *prizes;
    uint32_t index;
    uint32_t taken;
    uint32_t looked;
};

static void *take_all(void *arg) {
    struct taker *self = arg;
    for (uint32_t i = 0; i < PRIZES; i++) {
        uint32_t at = (i * 7 + self->index % 2 * 31) % PRIZES;
        struct value value = {{0}};
        if (common_pool_get(self->pool, self->prizes[at], &value)) {
            self->looked++;
            JZX_EXPECT(is_whole(&value) && value.words[0] == at);
        }
        if (common_pool_take(self->pool, self->prizes[at], &value)) {
            self->taken++;
            JZX_EXPECT(is_whole(&value) && value.words[0] == at);
        }
    }
    return NULL;
}

JZX_TEST(of_all_who_want_an_object_one_takes_it, "E58") {
    uint64_t rounds = jzx_test_rounds(200, 10000);
    common_pool *pool = make_pool(PRIZES);
    for (uint64_t round = 0; round < rounds; round++) {
        common_ref prizes[PRIZES];
        struct taker takers[THREADS];
        uint32_t taken = 0;
        for (uint32_t i = 0; i < PRIZES; i++) {
            struct value value = value_of(i);
            assert_int_equal(common_pool_new(pool, &value, &prizes[i]), JZX_OK);
        }
        for (uint32_t i = 0; i < THREADS; i++)
            takers[i] = (struct taker){.pool = pool, .prizes = prizes, .index = i};
        run_threads(take_all, takers, sizeof takers[0]);
        for (uint32_t i = 0; i < THREADS; i++)
            taken += takers[i].taken;
        JZX_EXPECT_EQ(taken, PRIZES);
        JZX_EXPECT_EQ(common_pool_count(pool), 0);
    }
    assert_int_equal(common_pool_destroy(pool), JZX_OK);
}

/* ---- a history, checked for linearizability ----
 *
 * One object counts up from 0 by commits of many threads, and is taken at last. A commit that says
 * true is the write of its number; so the order of all writes is known, and the history is
 * linearizable if and only if each write and each read can be given a moment between its begin and
 * its end in that order: a read of n between the writes of n and n + 1, a read of nothing behind
 * the take. */

enum what { WROTE, READ, TOOK, NOTHING };

struct event {
    uint64_t begin;
    uint64_t end;
    uint64_t number;
    enum what what;
};

struct historian {
    common_pool *pool;
    common_ref ref;
    _Atomic uint64_t *clock;
    struct event *events;
    uint64_t event_count;
    uint64_t event_max;
    uint64_t conflicts;
    bool takes; /* at the end of its work */
};

/* acq_rel: pairs with itself; one total order of moments that agrees with what happened before */
static uint64_t moment(_Atomic uint64_t *clock) {
    return jzx__atomic_add_acq_rel(clock, 1);
}

static void note(struct historian *self, enum what what, uint64_t begin, uint64_t number) {
    self->events[self->event_count++] =
        (struct event){.begin = begin, .end = moment(self->clock), .number = number, .what = what};
}

/* False if the object is gone. */
static bool count_up(struct historian *self) {
    common_edit edit;
    uint64_t begin = moment(self->clock);
    if (!common_pool_get_mut(self->pool, self->ref, &edit)) {
        note(self, NOTHING, begin, 0);
        return false;
    }
    note(self, READ, begin, edit.value.words[0]);
    JZX_EXPECT(is_whole(&edit.value));
    edit.value = value_of(edit.value.words[0] + 1);
    begin = moment(self->clock);
    if (common_pool_commit(self->pool, &edit))
        note(self, WROTE, begin, edit.value.words[0]);
    else
        self->conflicts++;
    return true;
}

static void *make_history(void *arg) {
    struct historian *self = arg;
    bool is_there = true;
    while (self->event_count + 4 < self->event_max && (is_there || self->event_count % 8 != 0))
        is_there = count_up(self);
    struct value last = {{0}};
    uint64_t begin = moment(self->clock);
    if (self->takes && common_pool_take(self->pool, self->ref, &last))
        note(self, TOOK, begin, last.words[0]);
    return NULL;
}

static int compare(const void *a, const void *b) {
    const struct event *x = a;
    const struct event *y = b;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return (x->what > y->what) - (x->what < y->what);
}

/* All events in the order of the object's states; within one state the write is first. */
static void check_history(struct event *events, uint64_t count) {
    uint64_t last = 0; /* what the take has seen */
    uint64_t now = 0;  /* the earliest moment that is possible for what comes next */
    uint64_t written = 0;
    for (uint64_t i = 0; i < count; i++)
        last = events[i].what == TOOK ? events[i].number : last;
    for (uint64_t i = 0; i < count; i++)
        events[i].number = events[i].what == NOTHING ? last : events[i].number;
    qsort(events, count, sizeof events[0], compare);
    for (uint64_t i = 0; i < count;) {
        uint64_t number = events[i].number;
        uint64_t begin_max = now;
        if (events[i].what == WROTE) {
            JZX_EXPECT_EQ(number, ++written); /* each number once, none left out */
            JZX_EXPECT(i + 1 == count || events[i + 1].number != number ||
                       events[i + 1].what != WROTE);
        }
        for (; i < count && events[i].number == number; i++) {
            const struct event *event = &events[i];
            bool is_step = event->what == WROTE || event->what == TOOK;
            if (event->what == TOOK)
                now = begin_max; /* behind all reads of the value */
            if (is_step && event->begin > now)
                now = event->begin;
            JZX_EXPECT(now <= event->end);
            begin_max = event->begin > begin_max ? event->begin : begin_max;
            begin_max = now > begin_max ? now : begin_max;
        }
        now = begin_max;
    }
    JZX_EXPECT_EQ(written, last);
}

#define EVENTS_EACH 3000u

JZX_TEST(recorded_histories_of_get_commit_and_take_are_linearizable, "E58") {
    uint64_t rounds = jzx_test_rounds(20, 1000);
    struct event *events = calloc(THREADS * EVENTS_EACH, sizeof *events);
    struct event *own = calloc(THREADS * EVENTS_EACH, sizeof *own);
    assert_true(events != NULL && own != NULL);
    uint64_t conflicts = 0;
    for (uint64_t round = 0; round < rounds; round++) {
        common_pool *pool = make_pool(1);
        common_ref ref = {JZX_NO_REF};
        struct value zero = value_of(0);
        _Atomic uint64_t clock = 1;
        struct historian historians[THREADS];
        uint64_t count = 0;
        assert_int_equal(common_pool_new(pool, &zero, &ref), JZX_OK);
        for (uint32_t i = 0; i < THREADS; i++)
            historians[i] = (struct historian){.pool = pool,
                                               .ref = ref,
                                               .clock = &clock,
                                               .events = own + i * EVENTS_EACH,
                                               .event_max = EVENTS_EACH,
                                               .takes = i == 0};
        run_threads(make_history, historians, sizeof historians[0]);
        for (uint32_t i = 0; i < THREADS; i++) {
            conflicts += historians[i].conflicts;
            for (uint64_t k = 0; k < historians[i].event_count; k++)
                events[count++] = historians[i].events[k];
        }
        check_history(events, count);
        JZX_EXPECT_EQ(common_pool_count(pool), 0);
        assert_int_equal(common_pool_destroy(pool), JZX_OK);
    }
    print_message("%llu commits came too late\n", (unsigned long long)conflicts);
    free(events);
    free(own);
}
