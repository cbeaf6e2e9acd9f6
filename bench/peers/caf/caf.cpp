/* SPDX-License-Identifier: MIT */
// The rows in CAF 0.17 (C++ Actor Framework): event-based actors as classes, dynamically typed
// messages of built-in integers, whose match is one comparison of a token.
#include <caf/all.hpp>

#if __has_include(<boost/sort/pdqsort/pdqsort.hpp>)
#include <boost/sort/pdqsort/pdqsort.hpp>
#endif

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <limits>
#include <string>
#include <vector>

using namespace caf;

namespace {

// CAF tells messages apart by the types of their elements.
using start_t = bool; // starts an actor, or a yes or no

int64_t size; // SIZE
double started;
double ended;
std::atomic<int64_t> total{0};
std::atomic<int64_t> other_total{0};
std::atomic<int> finished{0};
std::promise<void> all_done;
std::vector<actor> actors;

double seconds() {
    auto t = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(t).count();
}

void check(bool holds, const char *what) {
    if (holds)
        return;
    fprintf(stderr, "caf: the check failed: %s\n", what);
    _exit(1);
}

void finish() {
    ended = seconds();
    all_done.set_value();
}

// One of so many is ready; the last one ends the row.
void one_done(int of) {
    if (finished.fetch_add(1) + 1 == of)
        finish();
}

void wait() {
    all_done.get_future().wait();
}

uint32_t next_random(uint64_t &state) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return static_cast<uint32_t>(state >> 32);
}

uint64_t seed_of(uint64_t i) {
    return 88172645463325252u + i * 7919u;
}

uint64_t work(uint64_t x, int n) {
    for (int i = 0; i < n; ++i) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        asm volatile("" : "+r"(x)); // a step at a time
    }
    return x;
}

std::atomic<uint64_t> work_results{0}; // so that the work is done

struct base : event_based_actor {
    using event_based_actor::event_based_actor;

    // send() without a sender: nobody asks for it, and its reference count costs.
    template <class... Ts> void post(const actor &to, Ts &&...xs) {
        auto ptr = actor_cast<abstract_actor *>(to);
        ptr->eq_impl(make_message_id(), nullptr, context(), std::forward<Ts>(xs)...);
    }

    actor me() {
        return actor_cast<actor>(this);
    }
};

template <class T, class... Ts> actor spawn_in(actor_system &sys, Ts &&...xs) {
    return sys.spawn<T, hidden>(std::forward<Ts>(xs)...);
}

// Starts the clock, then all actors.
void start_all(const std::vector<actor> &all) {
    started = seconds();
    for (auto &a : all)
        anon_send(a, start_t{true});
}

// ---- pingpong ----

struct pong : base {
    actor peer;
    int64_t pings = 0;

    using base::base;

    behavior make_behavior() override {
        return {
            [this](uint64_t) { post(peer, ++pings); },
            [this](const actor &a) { peer = a; },
        };
    }
};

struct ping : base {
    actor peer;
    int64_t pongs = 0;

    ping(actor_config &cfg, actor p) : base(cfg), peer(std::move(p)) {}

    behavior make_behavior() override {
        return {
            [this](int64_t count) {
                if (++pongs < size) {
                    post(peer, uint64_t(pongs));
                } else {
                    total = pongs;
                    other_total = count;
                    finish();
                }
            },
            [this](start_t) { post(peer, uint64_t{0}); },
        };
    }
};

int64_t pingpong(actor_system &sys) {
    auto b = spawn_in<pong>(sys);
    auto a = spawn_in<ping>(sys, b);
    anon_send(b, a);
    start_all({a});
    wait();
    check(total == size && other_total == size, "pingpong: every ping and every pong arrived");
    return 2 * size;
}

// ---- ring ----

constexpr int ring_actors = 503;

struct hop : base {
    int next;
    int64_t hops = 0;

    hop(actor_config &cfg, int i) : base(cfg), next((i + 1) % ring_actors) {}

    behavior make_behavior() override {
        return {
            [this](int64_t left) {
                if (left > 0) {
                    ++hops;
                    post(actors[next], left - 1);
                } else if (left == 0) {
                    ended = seconds();
                    total += hops;
                    post(actors[next], int64_t{1 - ring_actors});
                } else { // after the end: all add what they have counted
                    total += hops;
                    if (left < -1)
                        post(actors[next], left + 1);
                    else
                        all_done.set_value();
                }
            },
        };
    }
};

int64_t ring(actor_system &sys) {
    for (int i = 0; i < ring_actors; ++i)
        actors.push_back(spawn_in<hop>(sys, i));
    started = seconds();
    anon_send(actors[0], size);
    wait();
    check(total == size, "ring: every hop was made");
    return size;
}

// ---- counting and fanin ----

constexpr int batch = 64; // messages before a producer lets others run

struct counter : base {
    int64_t sum = 0;

    using base::base;

    behavior make_behavior() override {
        return {
            [this](int64_t v) { sum += v; },
            [this](const actor &a) { post(a, sum); },
        };
    }
};

struct producer : base {
    actor to;
    int64_t left = size;

    producer(actor_config &cfg, actor a) : base(cfg), to(std::move(a)) {}

    behavior make_behavior() override {
        return {
            [this](start_t) {
                for (int i = 0; i < batch && left != 0; ++i, --left)
                    post(to, int64_t{1});
                if (left != 0)
                    post(me(), start_t{true});
                else
                    post(to, me());
            },
            [](int64_t sum) {
                total = sum;
                finish();
            },
        };
    }
};

int64_t counting(actor_system &sys) {
    auto c = spawn_in<counter>(sys);
    start_all({spawn_in<producer>(sys, c)});
    wait();
    check(total == size, "counting: every message was counted");
    return size;
}

constexpr int fanin_producers = 100;

struct fanin_counter : base {
    int64_t sum = 0;
    int64_t got = 0;

    using base::base;

    behavior make_behavior() override {
        return {
            [this](int64_t v) {
                sum += v;
                if (++got == fanin_producers * size) {
                    total = sum;
                    finish();
                }
            },
        };
    }
};

struct fanin_producer : base {
    actor to;
    int64_t left = size;

    fanin_producer(actor_config &cfg, actor a) : base(cfg), to(std::move(a)) {}

    behavior make_behavior() override {
        return {
            [this](start_t) {
                for (int i = 0; i < batch && left != 0; ++i, --left)
                    post(to, int64_t{1});
                if (left != 0)
                    post(me(), start_t{true});
            },
        };
    }
};

int64_t fanin(actor_system &sys) {
    auto c = spawn_in<fanin_counter>(sys);
    for (int i = 0; i < fanin_producers; ++i)
        actors.push_back(spawn_in<fanin_producer>(sys, c));
    start_all(actors);
    wait();
    check(total == fanin_producers * size, "fanin: every message was counted");
    return fanin_producers * size;
}

// ---- big ----

constexpr unsigned big_actors = 120;

struct alignas(64) tally {
    int64_t pings = 0;
    int64_t pongs = 0;
} big_tallies[big_actors];

struct big_actor : base {
    uint32_t index;
    uint64_t random;
    tally &counts;

    big_actor(actor_config &cfg, uint32_t i)
        : base(cfg), index(i), random(seed_of(i)), counts(big_tallies[i]) {}

    void ask() {
        uint32_t to = next_random(random) % (big_actors - 1);
        post(actors[to < index ? to : to + 1], uint64_t{index});
    }

    behavior make_behavior() override {
        return {
            [this](uint64_t from) {
                ++counts.pings;
                post(actors[from], int64_t{index});
            },
            [this](int64_t) {
                if (++counts.pongs < size)
                    ask();
                else
                    one_done(big_actors);
            },
            [this](start_t) { ask(); },
        };
    }
};

int64_t big(actor_system &sys) {
    for (uint32_t i = 0; i < big_actors; ++i)
        actors.push_back(spawn_in<big_actor>(sys, i));
    start_all(actors);
    wait();
    int64_t pings = 0;
    int64_t pongs = 0;
    for (auto &t : big_tallies) {
        pings += t.pings;
        pongs += t.pongs;
    }
    check(pings == big_actors * size && pongs == pings, "big: every ping was answered");
    return 2 * big_actors * size;
}

// ---- create and memory ----

// At most create_window actors are on their way; each create_step that end let as many follow.
constexpr int64_t create_window = 64;
constexpr int64_t create_step = 32;
bool keep; // for memory: they stay
actor creator;

struct once : base {
    using base::base;

    behavior make_behavior() override {
        return {
            [this](int64_t v) {
                auto sum = total.fetch_add(v) + v;
                if (!keep)
                    quit();
                if (sum % create_step == 0 || sum == size)
                    post(creator, sum);
            },
        };
    }
};

struct create_driver : base {
    int64_t made = 0;

    using base::base;

    void make(int64_t n) {
        for (n = std::min(n, size - made); n > 0; --n) {
            auto a = spawn<once, hidden + lazy_init>();
            post(a, int64_t{1});
            if (keep)
                actors[made] = std::move(a);
            ++made;
        }
    }

    behavior make_behavior() override {
        return {
            [this](int64_t sum) {
                if (sum == size)
                    finish();
                else
                    make(create_step);
            },
            [this](start_t) { make(create_window); },
        };
    }
};

int64_t create(actor_system &sys) {
    creator = spawn_in<create_driver>(sys);
    start_all({creator});
    wait();
    check(total == size, "create: every actor handled its message");
    return size;
}

double resident_bytes() {
    FILE *file = fopen("/proc/self/statm", "r");
    long all = 0;
    long resident = 0;
    check(file != nullptr && fscanf(file, "%ld %ld", &all, &resident) == 2, "statm is read");
    fclose(file);
    return double(resident) * double(sysconf(_SC_PAGESIZE));
}

double grown;

int64_t memory(actor_system &sys) {
    keep = true;
    actors.resize(size);
    creator = spawn_in<create_driver>(sys);
    double before = resident_bytes();
    start_all({creator});
    wait();
    grown = resident_bytes() - before;
    check(total == size, "memory: every actor handled its message");
    return size;
}

// ---- forkjoin ----

constexpr int fork_actors = 60;

struct fork_counter : base {
    int64_t sum = 0;

    using base::base;

    behavior make_behavior() override {
        return {
            [this](int64_t v) {
                sum += v;
                if (sum == size) {
                    total += sum;
                    one_done(fork_actors);
                }
            },
        };
    }
};

struct fork_driver : base {
    int64_t left = fork_actors * size;
    int next = 0;

    using base::base;

    behavior make_behavior() override {
        return {
            [this](start_t) {
                for (int i = 0; i < batch && left != 0; ++i, --left) {
                    post(actors[next], int64_t{1});
                    if (++next == fork_actors)
                        next = 0;
                }
                if (left != 0)
                    post(me(), start_t{true});
            },
        };
    }
};

int64_t forkjoin(actor_system &sys) {
    for (int i = 0; i < fork_actors; ++i)
        actors.push_back(spawn_in<fork_counter>(sys));
    start_all({spawn_in<fork_driver>(sys)});
    wait();
    check(total == fork_actors * size, "forkjoin: every message was counted");
    return fork_actors * size;
}

// ---- skynet and fib ----

struct skynet_actor : base {
    actor parent;
    int64_t number;
    int64_t leaves;
    int64_t sum = 0;
    int missing = 10;

    skynet_actor(actor_config &cfg, actor p, int64_t n, int64_t l)
        : base(cfg), parent(std::move(p)), number(n), leaves(l) {}

    behavior make_behavior() override {
        if (leaves == 1) {
            post(parent, number);
            return {};
        }
        int64_t share = leaves / 10;
        for (int i = 0; i < 10; ++i)
            spawn<skynet_actor, hidden>(me(), number + i * share, share);
        return {
            [this](int64_t v) {
                sum += v;
                if (--missing == 0) {
                    post(parent, sum);
                    quit();
                }
            },
        };
    }
};

struct sink : base {
    using base::base;

    behavior make_behavior() override {
        return {
            [](int64_t v) {
                total = v;
                finish();
            },
        };
    }
};

int64_t skynet(actor_system &sys) {
    auto end = spawn_in<sink>(sys);
    started = seconds();
    spawn_in<skynet_actor>(sys, end, int64_t{0}, size);
    wait();
    check(total == size * (size - 1) / 2, "skynet: the sum of the leaves");
    return (10 * size - 1) / 9;
}

constexpr int64_t fib_result = 75025;

struct fib_actor : base {
    actor parent;
    int n;
    int missing = 2;
    int64_t sum = 0;

    fib_actor(actor_config &cfg, actor p, int i) : base(cfg), parent(std::move(p)), n(i) {}

    behavior make_behavior() override {
        if (n <= 2) {
            post(parent, int64_t{1});
            return {};
        }
        spawn<fib_actor, hidden>(me(), n - 1);
        spawn<fib_actor, hidden>(me(), n - 2);
        return {
            [this](int64_t v) {
                sum += v;
                if (--missing == 0) {
                    post(parent, sum);
                    quit();
                }
            },
        };
    }
};

struct fib_driver : base {
    int64_t left = size;

    using base::base;

    behavior make_behavior() override {
        return {
            [this](int64_t v) {
                check(v == fib_result, "fib: the number of Fibonacci");
                if (--left == 0)
                    finish();
                else
                    spawn<fib_actor, hidden>(me(), 25);
            },
            [this](start_t) { spawn<fib_actor, hidden>(me(), 25); },
        };
    }
};

int64_t fib(actor_system &sys) {
    start_all({spawn_in<fib_driver>(sys)});
    wait();
    return (2 * fib_result - 1) * size;
}

// ---- chameneos ----

constexpr int32_t creatures = 100;

int32_t complement(int32_t mine, int32_t other) {
    return mine == other ? mine : 3 - mine - other;
}

actor mall_handle;

struct creature : base {
    int32_t index;
    int32_t colour;
    int64_t meetings = 0;

    creature(actor_config &cfg, int32_t i) : base(cfg), index(i), colour(i % 3) {}

    void go() {
        post(mall_handle, index, colour);
    }

    behavior make_behavior() override {
        return {
            [this](int32_t other, int32_t its_colour) {
                colour = complement(colour, its_colour);
                ++meetings;
                post(actors[other], int64_t{colour});
                go();
            },
            [this](int64_t new_colour) {
                colour = static_cast<int32_t>(new_colour);
                ++meetings;
                go();
            },
            [this](start_t on) {
                if (on)
                    go();
                else
                    post(mall_handle, meetings);
            },
        };
    }
};

struct mall : base {
    int64_t left = size;
    int64_t sum = 0;
    int32_t waiting = -1;
    int32_t told = 0;

    using base::base;

    behavior make_behavior() override {
        return {
            [this](int32_t index, int32_t colour) {
                if (left == 0) {
                    post(actors[index], start_t{false});
                } else if (waiting < 0) {
                    waiting = index;
                } else {
                    --left;
                    post(actors[waiting], index, colour);
                    waiting = -1;
                }
            },
            [this](int64_t meetings) {
                sum += meetings;
                if (++told == creatures) {
                    total = sum;
                    finish();
                }
            },
        };
    }
};

int64_t chameneos(actor_system &sys) {
    mall_handle = spawn_in<mall>(sys);
    for (int32_t i = 0; i < creatures; ++i)
        actors.push_back(spawn_in<creature>(sys, i));
    start_all(actors);
    wait();
    check(total == 2 * size, "chameneos: two meetings counted for each");
    return size;
}

// ---- philosophers ----

constexpr int philosophers_count = 20;
actor arbiter_handle;

struct philosopher : base {
    int32_t index;
    int64_t meals = 0;

    philosopher(actor_config &cfg, int32_t i) : base(cfg), index(i) {}

    behavior make_behavior() override {
        return {
            [this](start_t granted) {
                if (!granted) {
                    post(arbiter_handle, uint64_t(index));
                    return;
                }
                post(arbiter_handle, int64_t{index});
                if (++meals < size) {
                    post(arbiter_handle, uint64_t(index));
                } else {
                    total += meals;
                    one_done(philosophers_count);
                }
            },
        };
    }
};

struct arbiter : base {
    int64_t holders[philosophers_count];

    arbiter(actor_config &cfg) : base(cfg) {
        std::fill(std::begin(holders), std::end(holders), -1);
    }

    behavior make_behavior() override {
        return {
            [this](uint64_t asks) {
                auto &left = holders[asks];
                auto &right = holders[(asks + 1) % philosophers_count];
                bool free = left < 0 && right < 0;
                if (free)
                    left = right = int64_t(asks);
                post(actors[asks], start_t{free});
            },
            [this](int64_t gives) {
                auto &left = holders[gives];
                auto &right = holders[(gives + 1) % philosophers_count];
                check(left == gives && right == gives, "philosophers: no fork is used twice");
                left = right = -1;
            },
        };
    }
};

int64_t philosophers(actor_system &sys) {
    arbiter_handle = spawn_in<arbiter>(sys);
    for (int32_t i = 0; i < philosophers_count; ++i)
        actors.push_back(spawn_in<philosopher>(sys, i));
    started = seconds();
    for (int32_t i = 0; i < philosophers_count; ++i)
        anon_send(arbiter_handle, uint64_t(i));
    wait();
    check(total == philosophers_count * size, "philosophers: every meal was eaten");
    return philosophers_count * size;
}

// ---- buffer ----

constexpr uint32_t sides = 40; // so many producers and so many consumers
constexpr uint32_t buffer_room = 50;
constexpr int buffer_work = 25;
actor manager_handle;
std::vector<actor> consumers;

struct item_producer : base {
    uint32_t index;
    int64_t made = 0;
    uint64_t x = 1;

    item_producer(actor_config &cfg, uint32_t i) : base(cfg), index(i) {}

    behavior make_behavior() override {
        return {
            [this](start_t) {
                x = work(x, buffer_work);
                post(manager_handle, index, ++made);
                if (made == size)
                    work_results += x;
            },
        };
    }
};

struct item_consumer : base {
    uint32_t index;
    int64_t got = 0;
    int64_t sum = 0;
    uint64_t x = 1;

    item_consumer(actor_config &cfg, uint32_t i) : base(cfg), index(i) {}

    behavior make_behavior() override {
        return {
            [this](int64_t item) {
                x = work(x + uint64_t(item), buffer_work);
                ++got;
                sum += item;
                post(manager_handle, index);
            },
            [this](start_t) {
                total += got;
                other_total += sum;
                work_results += x;
                one_done(sides);
            },
        };
    }
};

struct manager : base {
    std::vector<int64_t> items; // a ring
    size_t first = 0;
    size_t count = 0;
    uint32_t asked = 0;
    int64_t given = 0;
    std::vector<int64_t> left;   // items to come, of each producer
    std::vector<uint32_t> idle;  // producers that have some left
    std::vector<uint32_t> ready; // consumers

    manager(actor_config &cfg) : base(cfg), items(buffer_room), left(sides, size) {
        for (uint32_t i = 0; i < sides; ++i)
            idle.push_back(i);
    }

    void ask() {
        while (!idle.empty() && count + asked < buffer_room) {
            post(actors[idle.back()], start_t{true});
            idle.pop_back();
            ++asked;
        }
    }

    void give(uint32_t consumer) {
        post(consumers[consumer], items[first]);
        first = (first + 1) % buffer_room;
        --count;
        ++given;
    }

    behavior make_behavior() override {
        return {
            [this](uint32_t from, int64_t item) {
                --asked;
                items[(first + count++) % buffer_room] = item;
                if (--left[from] != 0)
                    idle.push_back(from);
                if (!ready.empty()) {
                    give(ready.back());
                    ready.pop_back();
                }
                ask();
            },
            [this](uint32_t consumer) {
                if (count != 0) {
                    give(consumer);
                    ask();
                    return;
                }
                ready.push_back(consumer);
                if (given == sides * size && ready.size() == sides)
                    for (auto &c : consumers)
                        post(c, start_t{false});
            },
            [this](start_t) { ask(); },
        };
    }
};

int64_t buffer(actor_system &sys) {
    for (uint32_t i = 0; i < sides; ++i) {
        actors.push_back(spawn_in<item_producer>(sys, i));
        consumers.push_back(spawn_in<item_consumer>(sys, i));
    }
    manager_handle = spawn_in<manager>(sys);
    start_all({manager_handle});
    for (uint32_t i = 0; i < sides; ++i)
        anon_send(manager_handle, i);
    wait();
    check(total == sides * size, "buffer: every item was consumed");
    check(other_total == sides * (size * (size + 1) / 2), "buffer: the sum of the items");
    return sides * size;
}

// ---- dictionary ----

constexpr uint32_t dictionary_clients = 20;
constexpr uint32_t dictionary_keys = 65536;
actor dictionary_handle;

// Keys in a flat table, each at its hash or after it without a gap. Half of the slots are used.
struct flat_map {
    struct entry {
        uint32_t key, value;
    };

    static constexpr uint32_t slot_bits = 17;
    static constexpr uint32_t no_key = UINT32_MAX;
    std::vector<entry> slots = std::vector<entry>(1u << slot_bits, {no_key, 0});

    flat_map() {
        for (uint32_t i = 0; i < dictionary_keys; ++i)
            (*this)[i] = i;
    }

    // The value, or the place for that of a new key.
    uint32_t &operator[](uint32_t key) {
        uint32_t i = key * 2654435769u >> (32 - slot_bits);
        while (slots[i].key != key && slots[i].key != no_key)
            i = (i + 1) % (1u << slot_bits);
        slots[i].key = key;
        return slots[i].value;
    }
};

struct dictionary_actor : base {
    flat_map map;

    using base::base;

    behavior make_behavior() override {
        return {
            [this](uint32_t from, uint32_t key) { post(actors[from], int64_t{map[key]}); },
            [this](uint32_t from, uint32_t key, int64_t value) {
                map[key] = static_cast<uint32_t>(value);
                post(actors[from], value);
            },
        };
    }
};

struct dictionary_client : base {
    uint32_t index;
    uint32_t key = 0;
    uint64_t random;
    int64_t answers = 0;

    dictionary_client(actor_config &cfg, uint32_t i) : base(cfg), index(i), random(seed_of(i)) {}

    void ask() {
        key = next_random(random) % dictionary_keys;
        if (next_random(random) % 10 == 0)
            post(dictionary_handle, index, key, int64_t{key});
        else
            post(dictionary_handle, index, key);
    }

    behavior make_behavior() override {
        return {
            [this](int64_t value) {
                check(value == key, "dictionary: the value of the key");
                if (++answers < size) {
                    ask();
                } else {
                    total += answers;
                    one_done(dictionary_clients);
                }
            },
            [this](start_t) { ask(); },
        };
    }
};

int64_t dictionary(actor_system &sys) {
    dictionary_handle = spawn_in<dictionary_actor>(sys);
    for (uint32_t i = 0; i < dictionary_clients; ++i)
        actors.push_back(spawn_in<dictionary_client>(sys, i));
    start_all(actors);
    wait();
    check(total == dictionary_clients * size, "dictionary: every request was answered");
    return dictionary_clients * size;
}

// ---- quicksort ----

constexpr int64_t sort_at_once = 2048;
std::vector<uint64_t> numbers;

// Moves what is less to the front and returns where the rest begins. No branch depends on a number.
uint64_t *gather_less(uint64_t *from, uint64_t *to, uint64_t than) {
    auto end = from;
    for (; from != to; ++from) {
        uint64_t x = *from;
        *from = *end;
        *end = x;
        end += x < than;
    }
    return end;
}

// With Boost's sort if it is there, which is faster.
void sort_numbers(uint64_t *from, uint64_t *to) {
#if __has_include(<boost/sort/pdqsort/pdqsort.hpp>)
    boost::sort::pdqsort_branchless(from, to);
#else
    std::sort(from, to);
#endif
}

struct sorter : base {
    actor parent;
    int64_t from;
    int64_t to;
    int missing = 0;

    sorter(actor_config &cfg, actor p, int64_t f, int64_t t)
        : base(cfg), parent(std::move(p)), from(f), to(t) {}

    void give(int64_t f, int64_t t) {
        if (f == t)
            return;
        ++missing;
        spawn<sorter, hidden>(me(), f, t);
    }

    behavior make_behavior() override {
        auto a = numbers.data();
        if (to - from <= sort_at_once) {
            sort_numbers(a + from, a + to);
            post(parent, from);
            return {};
        }
        uint64_t middle = a[from + (to - from) / 2];
        auto less = gather_less(a + from, a + to, middle);
        auto equal = std::partition(less, a + to, [=](uint64_t x) { return x == middle; });
        give(from, less - a);
        give(equal - a, to);
        if (missing == 0) {
            post(parent, from);
            return {};
        }
        return {
            [this](int64_t) {
                if (--missing == 0) {
                    post(parent, from);
                    quit();
                }
            },
        };
    }
};

int64_t quicksort(actor_system &sys) {
    uint64_t random = seed_of(1);
    uint64_t sum = 0;
    for (int64_t i = 0; i < size; ++i) {
        numbers.push_back(next_random(random));
        sum += numbers.back();
    }
    auto end = spawn_in<sink>(sys);
    started = seconds();
    spawn_in<sorter>(sys, end, int64_t{0}, size);
    wait();
    for (auto x : numbers)
        sum -= x;
    check(sum == 0 && std::is_sorted(numbers.begin(), numbers.end()), "quicksort: it is sorted");
    return size;
}

// ---- nqueens ----

// A board is three sets of 16 bits (columns and both diagonals, as the next row sees them) and the
// number of queens.
struct board {
    uint32_t columns, left, right, queens;

    uint64_t pack() const {
        return columns | uint64_t(left) << 16 | uint64_t(right) << 32 | uint64_t(queens) << 48;
    }

    static board unpack(uint64_t b) {
        return {uint32_t(b & 0xffff), uint32_t(b >> 16 & 0xffff), uint32_t(b >> 32 & 0xffff),
                uint32_t(b >> 48)};
    }

    uint32_t free(uint32_t all) const {
        return all & ~(columns | left | right);
    }

    board with(uint32_t queen, uint32_t all) const {
        return {columns | queen, (left | queen) << 1 & all, (right | queen) >> 1, queens + 1};
    }
};

int64_t solutions(uint32_t columns, uint32_t left, uint32_t right, uint32_t all) {
    if (columns == all)
        return 1;
    int64_t n = 0;
    for (uint32_t free = all & ~(columns | left | right); free != 0; free &= free - 1) {
        uint32_t queen = free & -free;
        n += solutions(columns | queen, (left | queen) << 1, (right | queen) >> 1, all);
    }
    return n;
}

constexpr size_t queen_workers = 20;
constexpr uint32_t queens_shared = 4;
actor queens_handle;

struct queens_worker : base {
    uint32_t all = (1u << size) - 1;

    using base::base;

    behavior make_behavior() override {
        return {
            [this](uint64_t packed) {
                auto b = board::unpack(packed);
                int64_t n = 0;
                if (b.queens < queens_shared) {
                    for (uint32_t free = b.free(all); free != 0; free &= free - 1)
                        post(queens_handle, b.with(free & -free, all).pack());
                } else {
                    n = solutions(b.columns, b.left, b.right, all);
                }
                post(queens_handle, n);
            },
        };
    }
};

struct queens_master : base {
    int64_t missing = 0;
    int64_t found = 0;
    size_t next = 0;

    using base::base;

    behavior make_behavior() override {
        return {
            [this](uint64_t b) {
                ++missing;
                post(actors[next], b);
                next = (next + 1) % queen_workers;
            },
            [this](int64_t n) {
                found += n;
                if (--missing == 0) {
                    total = found;
                    finish();
                }
            },
        };
    }
};

int64_t nqueens(actor_system &sys) {
    static const int64_t known[] = {0,   1,   0,    0,     2,     10,     4,       40,      92,
                                    352, 724, 2680, 14200, 73712, 365596, 2279184, 14772512};
    if (size < 4 || size > 16)
        return 0;
    queens_handle = spawn_in<queens_master>(sys);
    for (size_t i = 0; i < queen_workers; ++i)
        actors.push_back(spawn_in<queens_worker>(sys));
    started = seconds();
    anon_send(queens_handle, board{0, 0, 0, 0}.pack());
    wait();
    check(total == known[size], "nqueens: the number of solutions");
    return total;
}

// ---- sieve ----

constexpr size_t sieve_primes = 1000;

struct sieve_part : base {
    std::vector<uint32_t> primes;
    actor next;

    sieve_part(actor_config &cfg) : base(cfg) {
        primes.reserve(sieve_primes);
    }

    behavior make_behavior() override {
        return {
            [this](int64_t number) {
                auto n = static_cast<uint32_t>(number);
                for (auto p : primes)
                    if (n % p == 0)
                        return;
                if (primes.size() < sieve_primes) {
                    primes.push_back(n);
                    return;
                }
                if (!next)
                    next = spawn<sieve_part, hidden>();
                post(next, number);
            },
            [this](uint64_t count) { // the end
                count += primes.size();
                if (next) {
                    post(next, count);
                    return;
                }
                total = int64_t(count);
                finish();
            },
        };
    }
};

struct sieve_generator : base {
    actor to;
    int64_t number = 3;

    sieve_generator(actor_config &cfg, actor a) : base(cfg), to(std::move(a)) {}

    behavior make_behavior() override {
        return {
            [this](start_t) {
                for (int i = 0; i < batch && number <= size; ++i, number += 2)
                    post(to, number);
                if (number <= size)
                    post(me(), start_t{true});
                else
                    post(to, uint64_t{1}); // 2 is a prime
            },
        };
    }
};

int64_t primes_up_to(int64_t n) {
    std::vector<bool> composite(size_t(n) + 1);
    int64_t count = 0;
    for (int64_t i = 2; i <= n; ++i) {
        count += !composite[i];
        if (!composite[i])
            for (int64_t j = i * i; j <= n; j += i)
                composite[j] = true;
    }
    return count;
}

int64_t sieve(actor_system &sys) {
    auto first = spawn_in<sieve_part>(sys);
    start_all({spawn_in<sieve_generator>(sys, first)});
    wait();
    check(total == primes_up_to(size), "sieve: the number of primes");
    return size / 2;
}

// ---- chat ----

constexpr uint32_t chat_clients = 256;
constexpr uint32_t chat_members = 8; // of a room
constexpr int chat_work = 1000;
std::vector<actor> rooms;

struct room : base {
    uint32_t first;

    room(actor_config &cfg, uint32_t i) : base(cfg), first(i * chat_members) {}

    behavior make_behavior() override {
        return {
            [this](int64_t from) {
                for (uint32_t i = 0; i < chat_members; ++i)
                    post(actors[first + i], from);
            },
        };
    }
};

struct chat_client : base {
    int64_t index;
    uint64_t random;
    int64_t turns = 0;
    int64_t deliveries = 0;
    uint64_t x = 1;

    chat_client(actor_config &cfg, int64_t i) : base(cfg), index(i), random(seed_of(i)) {}

    void turn() {
        ++turns;
        if (next_random(random) % 10 == 0)
            x = work(x, chat_work);
        post(rooms[index / chat_members], index);
    }

    behavior make_behavior() override {
        return {
            [this](int64_t from) {
                ++deliveries;
                if (from == index && turns < size)
                    turn();
                if (deliveries == chat_members * size) {
                    total += deliveries;
                    work_results += x;
                    one_done(chat_clients);
                }
            },
            [this](start_t) { turn(); },
        };
    }
};

int64_t chat(actor_system &sys) {
    for (uint32_t i = 0; i < chat_clients / chat_members; ++i)
        rooms.push_back(spawn_in<room>(sys, i));
    for (uint32_t i = 0; i < chat_clients; ++i)
        actors.push_back(spawn_in<chat_client>(sys, int64_t{i}));
    start_all(actors);
    wait();
    check(total == chat_clients * size * chat_members, "chat: every post was delivered to all");
    return chat_clients * size * (chat_members + 1);
}

// ---- timer-fire ----

// Of the process, user and system.
double cpu_seconds() {
    rusage usage;
    check(getrusage(RUSAGE_SELF, &usage) == 0, "getrusage");
    return double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

// A message that was sent with a delay cannot be cancelled: there is no row for that.
struct timer_setter : base {
    int64_t set = 0;
    uint64_t random = seed_of(0);

    using base::base;

    // delayed_send() without a sender, and with a look at the clock for each batch only.
    void set_batch() {
        auto &clock = system().clock();
        auto now = clock.now();
        for (int i = 0; i < batch && set < size; ++i, ++set) {
            auto ms = 1 + (uint64_t{next_random(random)} * 1000 >> 32);
            auto due = now + std::chrono::milliseconds(ms);
            auto element = make_mailbox_element(nullptr, make_message_id(), {},
                                                int64_t{due.time_since_epoch().count()});
            clock.schedule_message(due, strong_actor_ptr{ctrl()}, std::move(element));
        }
    }

    behavior make_behavior() override {
        return {
            [this](int64_t due) {
                auto now = system().clock().now().time_since_epoch().count();
                check(now >= due, "timer-fire: none is early");
                if (++total == size) {
                    ended = cpu_seconds();
                    all_done.set_value();
                }
            },
            [this](start_t) {
                set_batch();
                if (set < size)
                    post(me(), start_t{true});
            },
        };
    }
};

int64_t timer_fire(actor_system &sys) {
    auto setter = spawn_in<timer_setter>(sys);
    started = cpu_seconds();
    anon_send(setter, start_t{true});
    wait();
    check(total == size, "timer-fire: every timer fired");
    return size;
}

constexpr auto stealing = atom("stealing"); // newest first
constexpr auto sharing = atom("sharing");   // one queue, oldest first
constexpr int64_t no_limit = std::numeric_limits<int64_t>::max();

// Each with the policy that is faster for it, and the messages that an actor may handle at once.
// philosophers needs the oldest first: else one that asks and is refused runs forever, not the
// one that eats.
const struct {
    const char *name;
    int64_t (*run)(actor_system &);
    atom_value policy;
    int64_t throughput;
} rows[] = {
    {"pingpong", pingpong, stealing, no_limit},
    {"ring", ring, stealing, no_limit},
    {"counting", counting, sharing, 64},
    {"fanin", fanin, stealing, no_limit},
    {"big", big, sharing, no_limit},
    {"create", create, sharing, no_limit},
    {"forkjoin", forkjoin, sharing, 64},
    {"skynet", skynet, stealing, no_limit},
    {"fib", fib, stealing, no_limit},
    {"chameneos", chameneos, sharing, no_limit},
    {"memory", memory, sharing, no_limit},
    {"philosophers", philosophers, sharing, no_limit},
    {"buffer", buffer, sharing, no_limit},
    {"dictionary", dictionary, sharing, no_limit},
    {"quicksort", quicksort, stealing, no_limit},
    {"nqueens", nqueens, sharing, no_limit},
    {"sieve", sieve, stealing, no_limit},
    {"chat", chat, sharing, no_limit},
    {"timer-fire", timer_fire, sharing, no_limit},
};

} // namespace

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: caf ROW SIZE WORKERS\n");
        return 2;
    }
    size = atoll(argv[2]);
    for (auto &row : rows) {
        if (row.name != std::string{argv[1]})
            continue;
        actor_system_config cfg;
        cfg.set("scheduler.max-threads", size_t(atoll(argv[3])));
        cfg.set("scheduler.policy", row.policy);
        cfg.set("scheduler.max-throughput", row.throughput);
        actor_system sys{cfg};
        int64_t ops = row.run(sys);
        if (ops == 0)
            return 3;
        printf("%.9f %lld %.0f\n", ended - started, static_cast<long long>(ops), grown);
        fflush(stdout);
        volatile uint64_t used = work_results;
        (void)used;
        _exit(0); // without taking the actors down
    }
    return 3;
}
