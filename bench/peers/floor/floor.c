/* SPDX-License-Identifier: MIT */
/* The floor: what the work of each row costs in plain C. One thread, no ids, no bounds, no checks,
 * no atomics: actors that point at one another, message and actor free lists, one run queue.
 * Nothing that keeps an actor runtime's promises can be faster, so ratios to it say what those
 * promises cost. */
#include "floor.h"

#include "../../order.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- the mini actor loop ---- */

struct actor;

struct message {
    struct message *next;
    struct actor *from;
    uint64_t value;
    uint32_t tag;
};

typedef void (*behavior_fn)(struct actor *, struct message *);

/* left and sum are the behaviour's own, as missing and peer are. */
struct actor {
    struct actor *next;
    struct message *head;
    struct message **tail;
    behavior_fn behavior;
    bool queued;
    bool dead;
    uint32_t missing;
    uint64_t left;
    uint64_t sum;
    struct actor *peer;
};

#define TURN_MESSAGES_MAX 8192
#define BATCH 64

static struct message *free_messages;
static struct actor *free_actors;
static struct actor *queue_head;
static struct actor **queue_tail = &queue_head;

/* Set by a behaviour to end its turn (producers), so that backlogs stay cache-sized. */
static bool yield;

/* What the actors of a run count together. */
static uint64_t total;

static inline struct message *message_acquire(void) {
    struct message *message = free_messages;
    if (__builtin_expect(message != NULL, 1)) {
        free_messages = message->next;
        return message;
    }
    return malloc(sizeof *message);
}

static inline void message_release(struct message *message) {
    message->next = free_messages;
    free_messages = message;
}

static inline struct actor *actor_acquire(behavior_fn behavior) {
    struct actor *actor = free_actors;
    if (actor != NULL)
        free_actors = actor->next;
    else
        actor = malloc(sizeof *actor);
    actor->head = NULL;
    actor->tail = &actor->head;
    actor->behavior = behavior;
    actor->queued = actor->dead = false;
    actor->left = actor->sum = 0;
    actor->missing = 0;
    actor->peer = NULL;
    return actor;
}

static inline void append(struct actor *to, struct message *message, struct actor *from,
                          uint32_t tag, uint64_t value) {
    message->next = NULL;
    message->from = from;
    message->value = value;
    message->tag = tag;
    *to->tail = message;
    to->tail = &message->next;
}

/* Oldest ready actor first. */
static inline void wake(struct actor *actor) {
    if (actor->queued)
        return;
    actor->queued = true;
    actor->next = NULL;
    *queue_tail = actor;
    queue_tail = &actor->next;
}

static inline void send(struct actor *to, struct actor *from, uint32_t tag, uint64_t value) {
    append(to, message_acquire(), from, tag, value);
    wake(to);
}

/* Newest ready actor first: bounds the live set of skynet and fib. */
static inline void send_lifo(struct actor *to, struct actor *from, uint32_t tag, uint64_t value) {
    append(to, message_acquire(), from, tag, value);
    if (to->queued)
        return;
    to->queued = true;
    to->next = queue_head;
    if (queue_head == NULL)
        queue_tail = &to->next;
    queue_head = to;
}

static void run(void) {
    struct actor *actor;
    while ((actor = queue_head) != NULL) {
        queue_head = actor->next;
        if (queue_head == NULL)
            queue_tail = &queue_head;
        for (int i = 0; i < TURN_MESSAGES_MAX; i++) {
            struct message *message = actor->head;
            if (message == NULL)
                break;
            actor->head = message->next;
            if (actor->head == NULL)
                actor->tail = &actor->head;
            actor->behavior(actor, message);
            message_release(message);
            if (actor->dead || yield)
                break;
        }
        yield = false;
        if (actor->dead) {
            actor->next = free_actors;
            free_actors = actor;
        } else if (actor->head != NULL) {
            actor->next = NULL;
            *queue_tail = actor;
            queue_tail = &actor->next;
        } else {
            actor->queued = false;
        }
    }
}

/* ---- rows ---- */

enum { PING_START, PING, PONG };

static void ping(struct actor *self, struct message *message) {
    if (message->tag != PING_START && message->tag != PONG)
        return;
    if (message->tag == PONG)
        self->sum++;
    if (self->left != 0) {
        self->left--;
        send(self->peer, self, PING, 0);
    }
}

static void pong(struct actor *self, struct message *message) {
    self->sum++;
    send(message->from, self, PONG, 0);
}

static void row_pingpong(uint64_t size, struct result *result) {
    struct actor *p = actor_acquire(ping);
    struct actor *q = actor_acquire(pong);
    p->peer = q;
    p->left = size;
    double start = now();
    send(p, NULL, PING_START, 0);
    run();
    result->seconds = now() - start;
    check(q->sum == size && p->sum == size, "pingpong: every ping and every pong arrived");
    result->ops = 2 * size;
}

#define RING_ACTORS 503

static void hop(struct actor *self, struct message *message) {
    if (message->value != 0) {
        self->sum++;
        total++;
        send(self->peer, self, 0, message->value - 1);
    }
}

static void row_ring(uint64_t size, struct result *result) {
    struct actor *ring[RING_ACTORS];
    for (int i = 0; i < RING_ACTORS; i++)
        ring[i] = actor_acquire(hop);
    for (int i = 0; i < RING_ACTORS; i++)
        ring[i]->peer = ring[(i + 1) % RING_ACTORS];
    double start = now();
    send(ring[0], NULL, 0, size);
    run();
    result->seconds = now() - start;
    check(total == size, "ring: every hop was made");
    result->ops = size;
}

static void count(struct actor *self, struct message *message) {
    self->sum += message->value;
}

static void produce(struct actor *self, struct message *message) {
    (void)message;
    for (int i = 0; i < BATCH && self->left != 0; i++, self->left--)
        send(self->peer, self, 0, 1);
    if (self->left != 0)
        send(self, self, 1, 0);
    yield = true;
}

static void row_counting(uint64_t size, struct result *result) {
    struct actor *counter = actor_acquire(count);
    struct actor *producer = actor_acquire(produce);
    producer->peer = counter;
    producer->left = size;
    double start = now();
    send(producer, NULL, 1, 0);
    run();
    result->seconds = now() - start;
    check(counter->sum == size, "counting: every message was counted");
    result->ops = size;
}

#define FANIN_PRODUCERS 100

static void row_fanin(uint64_t size, struct result *result) {
    struct actor *counter = actor_acquire(count);
    double start = now();
    for (int i = 0; i < FANIN_PRODUCERS; i++) {
        struct actor *producer = actor_acquire(produce);
        producer->peer = counter;
        producer->left = size;
        send(producer, NULL, 1, 0);
    }
    run();
    result->seconds = now() - start;
    check(counter->sum == FANIN_PRODUCERS * size, "fanin: every message was counted");
    result->ops = FANIN_PRODUCERS * size;
}

#define BIG_ACTORS 120
static struct actor *big[BIG_ACTORS];

static inline uint32_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (uint32_t)(*state >> 32);
}

static void chat(struct actor *self, struct message *message) {
    if (message->tag == PING) {
        send(message->from, self, PONG, 0);
        return;
    }
    if (message->tag == PONG)
        total++;
    if (self->left != 0) {
        self->left--;
        send(big[next_random(&self->sum) % BIG_ACTORS], self, PING, 0);
    }
}

static void row_big(uint64_t size, struct result *result) {
    for (unsigned i = 0; i < BIG_ACTORS; i++) {
        big[i] = actor_acquire(chat);
        big[i]->left = size;
        big[i]->sum = 88172645463325252u + i * 7919u;
    }
    double start = now();
    for (int i = 0; i < BIG_ACTORS; i++)
        send(big[i], NULL, PING_START, 0);
    run();
    result->seconds = now() - start;
    check(total == BIG_ACTORS * size, "big: every ping was answered");
    result->ops = 2 * BIG_ACTORS * size;
}

static void once(struct actor *self, struct message *message) {
    total += message->value;
    self->dead = true;
}

static void row_create_malloc(uint64_t size, struct result *result) {
    double start = now();
    for (uint64_t i = 0; i < size; i++) {
        struct actor *actor = malloc(sizeof *actor);
        __asm__ volatile("" ::"r"(actor) : "memory");
        actor->behavior = once;
        struct message *message = malloc(sizeof *message);
        message->value = 1;
        __asm__ volatile("" ::"r"(message) : "memory");
        actor->behavior(actor, message);
        free(message);
        free(actor);
    }
    result->seconds = now() - start;
    check(total == size, "create: every actor handled its message");
    result->ops = size;
}

#define FORK_ACTORS 60
static struct actor *forked[FORK_ACTORS];

static void fork_out(struct actor *self, struct message *message) {
    (void)message;
    uint64_t left = self->left;
    uint64_t next = self->sum;
    for (int i = 0; i < BATCH && left != 0; i++, left--) {
        send(forked[next], self, 0, 1);
        if (++next == FORK_ACTORS)
            next = 0;
    }
    self->left = left;
    self->sum = next;
    if (left != 0)
        send(self, self, 0, 0);
    yield = true;
}

static void row_forkjoin(uint64_t size, struct result *result) {
    for (int i = 0; i < FORK_ACTORS; i++)
        forked[i] = actor_acquire(count);
    struct actor *driver = actor_acquire(fork_out);
    driver->left = FORK_ACTORS * size;
    double start = now();
    send(driver, NULL, 0, 0);
    run();
    result->seconds = now() - start;
    uint64_t sum = 0;
    for (int i = 0; i < FORK_ACTORS; i++)
        sum += forked[i]->sum;
    check(sum == FORK_ACTORS * size, "forkjoin: every message was counted");
    result->ops = FORK_ACTORS * size;
}

enum { TREE_TASK, TREE_RESULT };

static inline void join(struct actor *self, uint64_t value) {
    self->sum += value;
    if (--self->missing != 0)
        return;
    if (self->peer != NULL)
        send_lifo(self->peer, self, TREE_RESULT, self->sum);
    else
        total = self->sum;
    self->dead = true;
}

#define SKYNET_CHILDREN 10

static void skynet(struct actor *self, struct message *message) {
    if (message->tag == TREE_RESULT) {
        join(self, message->value);
        return;
    }
    uint64_t number = message->value;
    if (self->left == 1) {
        send_lifo(self->peer, self, TREE_RESULT, number);
        self->dead = true;
        return;
    }
    uint64_t share = self->left / SKYNET_CHILDREN;
    self->missing = SKYNET_CHILDREN;
    for (unsigned i = 0; i < SKYNET_CHILDREN; i++) {
        struct actor *child = actor_acquire(skynet);
        child->peer = self;
        child->left = share;
        send_lifo(child, self, TREE_TASK, number + i * share);
    }
}

static void row_skynet(uint64_t size, struct result *result) {
    struct actor *root = actor_acquire(skynet);
    root->left = size;
    double start = now();
    send_lifo(root, NULL, TREE_TASK, 0);
    run();
    result->seconds = now() - start;
    check(total == size * (size - 1) / 2, "skynet: the sum of the leaves");
    result->ops = (size * SKYNET_CHILDREN - 1) / (SKYNET_CHILDREN - 1);
}

#define FIB_N 25u
#define FIB_RESULT 75025u
static uint64_t fib_actors;

static void fib(struct actor *self, struct message *message) {
    if (message->tag == TREE_RESULT) {
        join(self, message->value);
        return;
    }
    uint64_t n = message->value;
    fib_actors++;
    if (n <= 2) {
        send_lifo(self->peer, self, TREE_RESULT, 1);
        self->dead = true;
        return;
    }
    self->missing = 2;
    for (uint64_t i = 1; i <= 2; i++) {
        struct actor *child = actor_acquire(fib);
        child->peer = self;
        send_lifo(child, self, TREE_TASK, n - i);
    }
}

/* size times one after another. */
static void row_fib(uint64_t size, struct result *result) {
    fib_actors = 0;
    double start = now();
    for (uint64_t i = 0; i < size; i++) {
        total = 0;
        send_lifo(actor_acquire(fib), NULL, TREE_TASK, FIB_N);
        run();
        check(total == FIB_RESULT, "fib: the number of Fibonacci");
    }
    result->seconds = now() - start;
    check(fib_actors == size * (2 * FIB_RESULT - 1), "fib: the number of actors");
    result->ops = fib_actors;
}

#define CREATURES 100
enum { CREATURE_START, MEET, CHANGE, CREATURE_EXIT, MEETINGS };
static struct actor *mall_waiting;

static uint64_t complement(uint64_t mine, uint64_t other) {
    return mine == other ? mine : 3 - mine - other;
}

/* left is its colour, sum its meetings. */
static void creature(struct actor *self, struct message *message) {
    switch (message->tag) {
    case CREATURE_START: send(self->peer, self, MEET, self->left); break;
    case MEET:
        self->left = complement(self->left, message->value);
        self->sum++;
        send(message->from, self, CHANGE, self->left);
        send(self->peer, self, MEET, self->left);
        break;
    case CHANGE:
        self->left = message->value;
        self->sum++;
        send(self->peer, self, MEET, self->left);
        break;
    case CREATURE_EXIT: send(self->peer, self, MEETINGS, self->sum); break;
    default: break;
    }
}

static void mall(struct actor *self, struct message *message) {
    if (message->tag == MEETINGS) {
        total += message->value;
    } else if (self->left == 0) {
        send(message->from, self, CREATURE_EXIT, 0);
    } else if (mall_waiting == NULL) {
        mall_waiting = message->from;
    } else {
        struct actor *waiting = mall_waiting;
        self->left--;
        mall_waiting = NULL;
        struct message *forwarded = message_acquire();
        append(waiting, forwarded, message->from, MEET, message->value);
        wake(waiting);
    }
}

static void row_chameneos(uint64_t size, struct result *result) {
    mall_waiting = NULL;
    struct actor *place = actor_acquire(mall);
    place->left = size;
    double start = now();
    for (unsigned i = 0; i < CREATURES; i++) {
        struct actor *one = actor_acquire(creature);
        one->peer = place;
        one->left = i % 3;
        send(one, NULL, CREATURE_START, 0);
    }
    run();
    result->seconds = now() - start;
    check(total == 2 * size, "chameneos: two meetings counted for each");
    result->ops = size;
}

static double resident_bytes(void) {
    FILE *file = fopen("/proc/self/statm", "r");
    long all = 0;
    long resident = 0;
    check(file != NULL && fscanf(file, "%ld %ld", &all, &resident) == 2, "memory: statm is read");
    fclose(file);
    return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

static void row_memory(uint64_t size, struct result *result) {
    double before = resident_bytes();
    struct actor **actors = malloc(size * sizeof *actors);
    memset(actors, 1, size * sizeof *actors);
    double start = now();
    for (uint64_t i = 0; i < size; i++)
        actors[i] = actor_acquire(once);
    result->seconds = now() - start;
    result->amount = resident_bytes() - before - (double)(size * sizeof *actors);
    result->ops = size;
}

/* ---- from another thread: a list that is pushed with one CAS and taken whole, messages malloc'd
 * ---- */

struct node {
    struct node *next;
    uint64_t value;
};

static _Alignas(64) _Atomic(struct node *) inbox;

static void cpu_relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* Away from the CPU of the thread that takes, if there is another. */
static void leave_cpu(int cpu) {
    cpu_set_t others;
    CPU_ZERO(&others);
    for (long i = 0; i < sysconf(_SC_NPROCESSORS_CONF) && i < CPU_SETSIZE; i++) {
        if (i != cpu)
            CPU_SET((size_t)i, &others);
    }
    sched_setaffinity(0, sizeof others, &others);
}

struct pusher {
    pthread_t thread;
    uint64_t left;
    int taker_cpu;
    pthread_barrier_t *start;
};

static void *push_all(void *arg) {
    struct pusher *self = arg;
    leave_cpu(self->taker_cpu);
    pthread_barrier_wait(self->start);
    for (; self->left != 0; self->left--) {
        struct node *node = malloc(sizeof *node);
        node->value = 1;
        struct node *seen = atomic_load_explicit(&inbox, memory_order_relaxed);
        do
            node->next = seen;
        while (!atomic_compare_exchange_weak_explicit(&inbox, &seen, node, memory_order_release,
                                                      memory_order_relaxed));
    }
    return NULL;
}

static uint64_t take_all(uint64_t count_wanted) {
    uint64_t sum = 0;
    uint64_t taken = 0;
    while (taken < count_wanted) {
        struct node *node = atomic_load_explicit(&inbox, memory_order_relaxed);
        if (node == NULL) {
            cpu_relax();
            continue;
        }
        node = atomic_exchange_explicit(&inbox, NULL, memory_order_acquire);
        struct node *oldest = NULL;
        while (node != NULL) {
            struct node *next = node->next;
            node->next = oldest;
            oldest = node;
            node = next;
        }
        while (oldest != NULL) {
            struct node *next = oldest->next;
            sum += oldest->value;
            free(oldest);
            oldest = next;
            taken++;
        }
    }
    return sum;
}

#define PUSHERS_MAX 2u

static void push_from_threads(uint64_t size, unsigned pusher_count, struct result *result) {
    struct pusher pushers[PUSHERS_MAX];
    pthread_barrier_t start_line;
    pthread_barrier_init(&start_line, NULL, pusher_count + 1);
    for (unsigned i = 0; i < pusher_count; i++) {
        pushers[i] = (struct pusher){
            .left = size / pusher_count, .taker_cpu = sched_getcpu(), .start = &start_line};
        check(pthread_create(&pushers[i].thread, NULL, push_all, &pushers[i]) == 0,
              "foreign: a thread starts");
    }
    result->ops = size / pusher_count * pusher_count;
    pthread_barrier_wait(&start_line);
    double start = now();
    check(take_all(result->ops) == result->ops, "foreign: every message arrived");
    result->seconds = now() - start;
    for (unsigned i = 0; i < pusher_count; i++)
        pthread_join(pushers[i].thread, NULL);
    pthread_barrier_destroy(&start_line);
}

static void row_foreign(uint64_t size, struct result *result) {
    push_from_threads(size, 1, result);
}

static void row_foreign_2(uint64_t size, struct result *result) {
    push_from_threads(size, 2, result);
}

/* ---- many actors ---- */

static void scaled_hop(struct actor *self, struct message *message) {
    if (message->value != 0)
        send(self->peer, self, 0, message->value - 1);
    else
        total = (uint64_t)(uintptr_t)self;
}

/* Each has a block of its own size, in the order of their addresses: nothing is packed better. */
static void run_scaled(uint32_t count, bool is_random, uint64_t size, struct result *result) {
    struct actor *actors = malloc(count * sizeof *actors);
    uint32_t *order = malloc(count * sizeof *order);
    check(actors != NULL && order != NULL, "scale: memory");
    bench_order(order, count, is_random);
    for (uint32_t i = 0; i < count; i++) {
        struct actor *actor = &actors[order[i]];
        *actor = (struct actor){.behavior = scaled_hop, .peer = &actors[order[(i + 1) % count]]};
        actor->tail = &actor->head;
    }
    double start = now();
    send(&actors[order[0]], NULL, 0, size);
    run();
    result->seconds = now() - start;
    result->ops = size;
    check(total == (uint64_t)(uintptr_t)&actors[order[size % count]], "scale: where it ends");
    free(order);
    free(actors);
}

#define SCALED(name, count, is_random)                                                             \
    static void row_##name(uint64_t size, struct result *result) {                                 \
        run_scaled(count, is_random, size, result);                                                \
    }

SCALED(scale_2, 2, false)
SCALED(scale_1k, 1000, false)
SCALED(scale_1k_random, 1000, true)
SCALED(scale_100k, 100000, false)
SCALED(scale_100k_random, 100000, true)
SCALED(scale_1m, 1000000, false)
SCALED(scale_1m_random, 1000000, true)

/* ---- the program ---- */

static const struct {
    const char *name;
    void (*run)(uint64_t size, struct result *result);
} rows[] = {
    {"pingpong", row_pingpong},
    {"ring", row_ring},
    {"counting", row_counting},
    {"fanin", row_fanin},
    {"big", row_big},
    {"create-malloc", row_create_malloc},
    {"forkjoin", row_forkjoin},
    {"skynet-lifo", row_skynet},
    {"fib-lifo", row_fib},
    {"chameneos", row_chameneos},
    {"memory", row_memory},
    {"foreign", row_foreign},
    {"foreign-2", row_foreign_2},
    {"futex", row_futex},
    {"scale-2", row_scale_2},
    {"scale-1k-index", row_scale_1k},
    {"scale-1k-random", row_scale_1k_random},
    {"scale-100k-index", row_scale_100k},
    {"scale-100k-random", row_scale_100k_random},
    {"scale-1m-index", row_scale_1m},
    {"scale-1m-random", row_scale_1m_random},
    {"futex-slept", row_futex_slept},
    {"timer-fire", row_timer_fire},
    {"timer-cancel", row_timer_cancel},
    {"tcp-64", row_tcp_64},
    {"tcp-1000", row_tcp_1000},
    {"udp-64", row_udp_64},
};

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: floor ROW SIZE\n");
        return 2;
    }
    uint64_t size = strtoull(argv[2], NULL, 10);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(argv[1], rows[i].name) != 0)
            continue;
        struct result result = {0};
        rows[i].run(size, &result);
        printf("%.9f %llu %.1f\n", result.seconds, (unsigned long long)result.ops, result.amount);
        return 0;
    }
    fprintf(stderr, "floor: no row '%s'\n", argv[1]);
    return 2;
}
