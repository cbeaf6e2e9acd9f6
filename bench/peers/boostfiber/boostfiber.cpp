/* SPDX-License-Identifier: MIT */
// The rows in Boost.Fiber: an actor is a fiber with a buffered channel, large enough that no two
// fibers wait for room in each other's. One worker: round_robin; more: work_stealing.
#include <boost/fiber/all.hpp>
#include <boost/sort/pdqsort/pdqsort.hpp>

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace bf = boost::fibers;

namespace {

int64_t size; // SIZE
double started;
double ended;
std::atomic<int64_t> total{0};
std::atomic<int64_t> other_total{0};
std::atomic<int> finished{0};
bf::promise<void> all_done;
bf::promise<void> start_promise;
bf::shared_future<void> start_future{start_promise.get_future()};

double seconds() {
    auto t = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(t).count();
}

// No stdio here: it wants more stack than a fiber has.
void check(bool holds, const char *what) {
    if (holds)
        return;
    std::string line = std::string{"boostfiber: the check failed: "} + what + "\n";
    if (write(2, line.data(), line.size()) < 0)
        _exit(2);
    _exit(1);
}

void start() {
    started = seconds();
    start_promise.set_value();
}

void wait_for_start() {
    start_future.wait();
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

// ---- stacks: a free list per thread, as Boost's own pool is not for more than one ----

constexpr size_t stack_bytes = 16384;
constexpr size_t stacks_at_once = 32;

struct stack_node {
    stack_node *next;
};

thread_local stack_node *free_stacks;

// Not inlined: a fiber may change its thread, the address of free_stacks with it.
__attribute__((noinline)) void *take_stack() {
    if (free_stacks == nullptr) {
        auto block = static_cast<char *>(aligned_alloc(4096, stack_bytes * stacks_at_once));
        if (block == nullptr)
            throw std::bad_alloc{};
        for (size_t i = 0; i < stacks_at_once; ++i) {
            // The node is at the top of the stack: that page is used anyway.
            auto node =
                reinterpret_cast<stack_node *>(block + (i + 1) * stack_bytes - sizeof(stack_node));
            node->next = free_stacks;
            free_stacks = node;
        }
    }
    auto node = free_stacks;
    free_stacks = node->next;
    return reinterpret_cast<char *>(node) + sizeof(stack_node);
}

__attribute__((noinline)) void give_stack(void *top) {
    auto node = reinterpret_cast<stack_node *>(static_cast<char *>(top) - sizeof(stack_node));
    node->next = free_stacks;
    free_stacks = node;
}

struct pooled_stacks {
    boost::context::stack_context allocate() {
        boost::context::stack_context context;
        context.size = stack_bytes;
        context.sp = take_stack();
        return context;
    }

    void deallocate(boost::context::stack_context &context) {
        give_stack(context.sp);
    }
};

bool one_worker;

template <class F> void launch(bf::launch how, F &&f) {
    bf::fiber(how, std::allocator_arg, pooled_stacks{}, std::forward<F>(f)).detach();
}

// Queued; runs later.
template <class F> void go(F &&f) {
    launch(bf::launch::post, std::forward<F>(f));
}

// For trees, so that few fibers exist at once: round_robin runs the oldest first, so there the new
// one runs before its parent goes on; work_stealing runs the newest first anyway.
template <class F> void go_child(F &&f) {
    launch(one_worker ? bf::launch::dispatch : bf::launch::post, std::forward<F>(f));
}

// 8 bytes: who or what kind, and a number.
struct message {
    int32_t from;
    int32_t value;
};

using channel = bf::buffered_channel<message>;
using numbers_channel = bf::buffered_channel<int64_t>;

template <class Channel> auto pop(Channel &c) {
    typename Channel::value_type v{};
    c.pop(v);
    return v;
}

std::vector<std::unique_ptr<channel>> mail;
std::vector<std::unique_ptr<numbers_channel>> mail64;

void make_mail(size_t n, size_t capacity) {
    for (size_t i = 0; i < n; ++i)
        mail.push_back(std::make_unique<channel>(capacity));
}

void make_mail64(size_t n, size_t capacity) {
    for (size_t i = 0; i < n; ++i)
        mail64.push_back(std::make_unique<numbers_channel>(capacity));
}

// ---- pingpong ----

int64_t pingpong() {
    static numbers_channel pings{2};
    static numbers_channel pongs{2};
    go([] {
        for (int64_t got = 0;;) {
            pop(pings);
            pongs.push(++got);
        }
    });
    go([] {
        wait_for_start();
        int64_t count = 0;
        int64_t got = 0;
        while (got < size) {
            pings.push(got);
            count = pop(pongs);
            ++got;
        }
        total = got;
        other_total = count;
        finish();
    });
    start();
    wait();
    check(total == size && other_total == size, "pingpong: every ping and every pong arrived");
    return 2 * size;
}

// ---- ring ----

constexpr int ring_actors = 503;

int64_t ring() {
    make_mail64(ring_actors, 2);
    for (int i = 0; i < ring_actors; ++i)
        go([i] {
            auto &in = *mail64[i];
            auto &out = *mail64[(i + 1) % ring_actors];
            int64_t hops = 0;
            int64_t left;
            while ((left = pop(in)) > 0) {
                ++hops;
                out.push(left - 1);
            }
            total += hops;
            if (left == 0) {
                ended = seconds();
                left = -ring_actors;
            }
            if (++left < 0) // after the end: all add what they have counted
                out.push(left);
            else
                all_done.set_value();
        });
    started = seconds();
    mail64[0]->push(size);
    wait();
    check(total == size, "ring: every hop was made");
    return size;
}

// ---- counting, fanin, forkjoin ----

constexpr size_t stream_capacity = 1024;

int64_t counting() {
    static numbers_channel in{stream_capacity};
    static numbers_channel answer{2};
    go([] {
        int64_t sum = 0;
        for (int64_t v; (v = pop(in)) != 0;)
            sum += v;
        answer.push(sum);
    });
    go([] {
        wait_for_start();
        for (int64_t i = 0; i < size; ++i)
            in.push(1);
        in.push(0);
        total = pop(answer);
        finish();
    });
    start();
    wait();
    check(total == size, "counting: every message was counted");
    return size;
}

constexpr int fanin_producers = 100;

int64_t fanin() {
    static numbers_channel in{stream_capacity};
    go([] {
        int64_t sum = 0;
        for (int64_t got = 0; got < fanin_producers * size; ++got)
            sum += pop(in);
        total = sum;
        finish();
    });
    for (int i = 0; i < fanin_producers; ++i)
        go([] {
            wait_for_start();
            for (int64_t n = 0; n < size; ++n)
                in.push(1);
        });
    start();
    wait();
    check(total == fanin_producers * size, "fanin: every message was counted");
    return fanin_producers * size;
}

constexpr int fork_actors = 60;

int64_t forkjoin() {
    make_mail64(fork_actors, stream_capacity);
    for (int i = 0; i < fork_actors; ++i)
        go([i] {
            auto &in = *mail64[i];
            int64_t sum = 0;
            while (sum < size)
                sum += pop(in);
            total += sum;
            one_done(fork_actors);
        });
    go([] {
        wait_for_start();
        for (int64_t n = 0; n < size; ++n)
            for (auto &c : mail64)
                c->push(1);
    });
    start();
    wait();
    check(total == fork_actors * size, "forkjoin: every message was counted");
    return fork_actors * size;
}

// ---- big ----

constexpr int big_actors = 120;
enum { PING, PONG };

struct alignas(64) tally {
    int64_t pings = 0;
    int64_t pongs = 0;
} big_tallies[big_actors];

void big_actor(int32_t index) {
    auto &in = *mail[index];
    auto &counts = big_tallies[index];
    uint64_t random = seed_of(index);
    auto ask = [&] {
        int to = int(next_random(random) % (big_actors - 1));
        mail[to < index ? to : to + 1]->push({index, PING});
    };
    wait_for_start();
    ask();
    for (;;) {
        auto m = pop(in);
        if (m.value == PING) {
            ++counts.pings;
            mail[m.from]->push({index, PONG});
        } else if (++counts.pongs < size) {
            ask();
        } else {
            one_done(big_actors);
        }
    }
}

int64_t big() {
    make_mail(big_actors, 128);
    for (int32_t i = 0; i < big_actors; ++i)
        go([i] { big_actor(i); });
    start();
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
constexpr int64_t memory_actors_max = 250000; // about 10 KB each

void create_all(bool keep) {
    static numbers_channel news{16};
    go([keep] {
        wait_for_start();
        for (int64_t made = 0, room = create_window; made < size; ++made) {
            if (room == 0) {
                pop(news);
                room = create_step;
            }
            --room;
            auto in = std::make_unique<numbers_channel>(2);
            in->push(1);
            go([keep, in = std::move(in)] {
                auto v = pop(*in);
                auto sum = total.fetch_add(v) + v;
                if (sum == size)
                    finish();
                else if (sum % create_step == 0)
                    news.push(sum);
                if (keep)
                    pop(*in);
            });
        }
    });
}

int64_t create() {
    create_all(false);
    start();
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

int64_t memory() {
    if (size > memory_actors_max)
        return 0;
    double before = resident_bytes();
    create_all(true);
    start();
    wait();
    grown = resident_bytes() - before;
    check(total == size, "memory: every actor handled its message");
    return size;
}

// ---- skynet and fib: a parent's channel is on its stack, it stays until all have answered ----

void skynet_actor(numbers_channel &parent, int64_t number, int64_t leaves) {
    if (leaves == 1) {
        parent.push(number);
        return;
    }
    numbers_channel in{16};
    int64_t share = leaves / 10;
    for (int i = 0; i < 10; ++i)
        go_child([&in, n = number + i * share, share] { skynet_actor(in, n, share); });
    int64_t sum = 0;
    for (int i = 0; i < 10; ++i)
        sum += pop(in);
    parent.push(sum);
}

int64_t skynet() {
    numbers_channel end{2};
    started = seconds();
    go_child([&end] { skynet_actor(end, 0, size); });
    total = pop(end);
    ended = seconds();
    check(total == size * (size - 1) / 2, "skynet: the sum of the leaves");
    return (10 * size - 1) / 9;
}

constexpr int64_t fib_result = 75025;

void fib_actor(numbers_channel &parent, int n) {
    if (n <= 2) {
        parent.push(1);
        return;
    }
    numbers_channel in{4};
    go_child([&in, n] { fib_actor(in, n - 1); });
    go_child([&in, n] { fib_actor(in, n - 2); });
    int64_t sum = pop(in);
    sum += pop(in);
    parent.push(sum);
}

int64_t fib() {
    numbers_channel end{2};
    started = seconds();
    for (int64_t i = 0; i < size; ++i) {
        go_child([&end] { fib_actor(end, 25); });
        check(pop(end) == fib_result, "fib: the number of Fibonacci");
    }
    ended = seconds();
    return (2 * fib_result - 1) * size;
}

// ---- chameneos ----

constexpr int32_t creatures = 100;
constexpr int32_t changed = -1; // from, of a message with the new colour
constexpr int32_t leave = -2;

int32_t complement(int32_t mine, int32_t other) {
    return mine == other ? mine : 3 - mine - other;
}

void creature(int32_t index, channel &mall) {
    auto &in = *mail[index];
    int32_t colour = index % 3;
    int32_t meetings = 0;
    wait_for_start();
    for (;;) {
        mall.push({index, colour});
        auto m = pop(in);
        if (m.from == leave)
            break;
        ++meetings;
        if (m.from == changed) {
            colour = m.value;
        } else {
            colour = complement(colour, m.value);
            mail[m.from]->push({changed, colour});
        }
    }
    mall.push({leave, meetings});
}

int64_t chameneos() {
    static channel mall{128};
    make_mail(creatures, 8);
    for (int32_t i = 0; i < creatures; ++i)
        go([i] { creature(i, mall); });
    go([] {
        int64_t left = size;
        int64_t sum = 0;
        int32_t waiting = -1;
        for (int told = 0; told < creatures;) {
            auto m = pop(mall);
            if (m.from == leave) {
                sum += m.value;
                ++told;
            } else if (left == 0) {
                mail[m.from]->push({leave, 0});
            } else if (waiting < 0) {
                waiting = m.from;
            } else {
                --left;
                mail[waiting]->push(m);
                waiting = -1;
            }
        }
        total = sum;
        finish();
    });
    start();
    wait();
    check(total == 2 * size, "chameneos: two meetings counted for each");
    return size;
}

// ---- philosophers ----

constexpr int philosophers_count = 20;
enum { ASK, GIVE_BACK };

int64_t philosophers() {
    static channel arbiter{64};
    make_mail64(philosophers_count, 2);
    go([] {
        int32_t holders[philosophers_count];
        std::fill(std::begin(holders), std::end(holders), -1);
        for (;;) {
            auto m = pop(arbiter);
            auto &left = holders[m.from];
            auto &right = holders[(m.from + 1) % philosophers_count];
            if (m.value == ASK) {
                bool free = left < 0 && right < 0;
                if (free)
                    left = right = m.from;
                mail64[m.from]->push(free);
            } else {
                check(left == m.from && right == m.from, "philosophers: no fork is used twice");
                left = right = -1;
            }
        }
    });
    for (int32_t i = 0; i < philosophers_count; ++i)
        go([i] {
            auto &in = *mail64[i];
            int64_t meals = 0;
            wait_for_start();
            while (meals < size) {
                arbiter.push({i, ASK});
                if (!pop(in))
                    continue;
                ++meals;
                arbiter.push({i, GIVE_BACK});
            }
            total += meals;
            one_done(philosophers_count);
        });
    start();
    wait();
    check(total == philosophers_count * size, "philosophers: every meal was eaten");
    return philosophers_count * size;
}

// ---- buffer ----

constexpr int sides = 40; // so many producers and so many consumers
constexpr size_t buffer_room = 50;
constexpr int buffer_work = 25;
constexpr int32_t ready_value = 0; // no item has it

// mail[i] is producer i's, mail[sides + i] consumer i's.
void manager(channel &in) {
    int32_t items[buffer_room];
    size_t first = 0;
    size_t count = 0;
    size_t asked = 0;
    int64_t given = 0;
    std::vector<int64_t> left(sides, size);
    std::vector<int32_t> idle;
    std::vector<int32_t> ready;
    for (int32_t i = 0; i < sides; ++i)
        idle.push_back(i);
    auto ask = [&] {
        while (!idle.empty() && count + asked < buffer_room) {
            mail[idle.back()]->push({0, 0});
            idle.pop_back();
            ++asked;
        }
    };
    auto give = [&](int32_t consumer) {
        mail[consumer]->push({0, items[first]});
        first = (first + 1) % buffer_room;
        --count;
        ++given;
    };
    wait_for_start();
    ask();
    while (given < sides * size || ready.size() < size_t(sides)) {
        auto m = pop(in);
        if (m.value == ready_value) {
            if (count != 0)
                give(m.from);
            else
                ready.push_back(m.from);
        } else {
            --asked;
            items[(first + count++) % buffer_room] = m.value;
            if (--left[m.from] != 0)
                idle.push_back(m.from);
            if (!ready.empty()) {
                give(ready.back());
                ready.pop_back();
            }
        }
        ask();
    }
    for (int i = 0; i < sides; ++i)
        mail[sides + i]->push({-1, 0});
}

int64_t buffer() {
    static channel to_manager{256};
    make_mail(2 * sides, 4);
    go([] { manager(to_manager); });
    for (int32_t i = 0; i < sides; ++i) {
        go([i] {
            uint64_t x = 1;
            for (int32_t made = 0; made < size;) {
                pop(*mail[i]);
                x = work(x, buffer_work);
                to_manager.push({i, ++made});
            }
            work_results += x;
        });
        go([i] {
            uint64_t x = 1;
            int64_t got = 0;
            int64_t sum = 0;
            wait_for_start();
            for (;;) {
                to_manager.push({sides + i, ready_value});
                auto m = pop(*mail[sides + i]);
                if (m.from < 0)
                    break;
                x = work(x + uint64_t(m.value), buffer_work);
                ++got;
                sum += m.value;
            }
            total += got;
            other_total += sum;
            work_results += x;
            one_done(sides);
        });
    }
    start();
    wait();
    check(total == sides * size, "buffer: every item was consumed");
    check(other_total == sides * (size * (size + 1) / 2), "buffer: the sum of the items");
    return sides * size;
}

// ---- dictionary ----

constexpr int32_t dictionary_clients = 20;
constexpr uint32_t dictionary_keys = 65536;

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

struct request {
    int32_t from;
    uint32_t key;
    int64_t value; // -1: read it
};

int64_t dictionary() {
    static bf::buffered_channel<request> requests{32};
    static flat_map map;
    make_mail64(dictionary_clients, 2);
    go([] {
        for (;;) {
            auto r = pop(requests);
            auto &value = map[r.key];
            if (r.value >= 0)
                value = static_cast<uint32_t>(r.value);
            mail64[r.from]->push(value);
        }
    });
    for (int32_t i = 0; i < dictionary_clients; ++i)
        go([i] {
            uint64_t random = seed_of(uint64_t(i));
            int64_t answers = 0;
            wait_for_start();
            while (answers < size) {
                uint32_t key = next_random(random) % dictionary_keys;
                bool writes = next_random(random) % 10 == 0;
                requests.push({i, key, writes ? int64_t{key} : -1});
                check(pop(*mail64[i]) == key, "dictionary: the value of the key");
                ++answers;
            }
            total += answers;
            one_done(dictionary_clients);
        });
    start();
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

void sorter(numbers_channel &parent, uint64_t *from, uint64_t *to) {
    if (to - from <= sort_at_once) {
        boost::sort::pdqsort_branchless(from, to);
        parent.push(0);
        return;
    }
    numbers_channel in{4};
    uint64_t middle = from[(to - from) / 2];
    auto less = gather_less(from, to, middle);
    auto more = std::partition(less, to, [=](uint64_t x) { return x == middle; });
    int missing = 0;
    auto give = [&](uint64_t *f, uint64_t *t) {
        if (f == t)
            return;
        ++missing;
        go([&in, f, t] { sorter(in, f, t); });
    };
    give(from, less);
    give(more, to);
    for (; missing != 0; --missing)
        pop(in);
    parent.push(0);
}

int64_t quicksort() {
    uint64_t random = seed_of(1);
    uint64_t sum = 0;
    for (int64_t i = 0; i < size; ++i) {
        numbers.push_back(next_random(random));
        sum += numbers.back();
    }
    numbers_channel end{2};
    started = seconds();
    go([&end] { sorter(end, numbers.data(), numbers.data() + size); });
    pop(end);
    ended = seconds();
    for (auto x : numbers)
        sum -= x;
    check(sum == 0 && std::is_sorted(numbers.begin(), numbers.end()), "quicksort: it is sorted");
    return size;
}

// ---- nqueens ----

// Three sets (columns and both diagonals, as the next row sees them) and the number of queens; or
// the number of solutions, with queens < 0.
struct board {
    uint16_t columns, left, right;
    int16_t queens;

    uint32_t free(uint32_t all) const {
        return all & ~uint32_t(columns | left | right);
    }

    board with(uint32_t queen, uint32_t all) const {
        return {uint16_t(columns | queen), uint16_t((left | queen) << 1 & all),
                uint16_t((right | queen) >> 1), int16_t(queens + 1)};
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
constexpr int16_t queens_shared = 4;

struct queens_message {
    board next;
    int64_t found;
};

int64_t nqueens() {
    static const int64_t known[] = {0,   1,   0,    0,     2,     10,     4,       40,      92,
                                    352, 724, 2680, 14200, 73712, 365596, 2279184, 14772512};
    if (size < 4 || size > 16)
        return 0;
    // All boards and answers together are fewer, so that workers never wait for the master.
    static bf::buffered_channel<queens_message> master{1 << 18};
    static std::vector<std::unique_ptr<bf::buffered_channel<board>>> workers;
    for (size_t i = 0; i < queen_workers; ++i) {
        workers.push_back(std::make_unique<bf::buffered_channel<board>>(1024));
        go([i] {
            uint32_t all = (1u << size) - 1;
            for (;;) {
                auto b = pop(*workers[i]);
                int64_t n = 0;
                if (b.queens < queens_shared) {
                    for (uint32_t free = b.free(all); free != 0; free &= free - 1)
                        master.push({b.with(free & -free, all), 0});
                } else {
                    n = solutions(b.columns, b.left, b.right, all);
                }
                master.push({{0, 0, 0, -1}, n});
            }
        });
    }
    go([] {
        int64_t missing = 0;
        int64_t found = 0;
        size_t next = 0;
        do {
            auto m = pop(master);
            if (m.next.queens < 0) {
                found += m.found;
                --missing;
            } else {
                ++missing;
                workers[next]->push(m.next);
                next = (next + 1) % queen_workers;
            }
        } while (missing != 0);
        total = found;
        finish();
    });
    started = seconds();
    master.push({{0, 0, 0, 0}, 0});
    wait();
    check(total == known[size], "nqueens: the number of solutions");
    return total;
}

// ---- sieve ----

constexpr size_t sieve_primes = 1000;

// 0 or less is the end: the primes counted so far, negative.
void sieve_part(numbers_channel &in) {
    std::vector<uint32_t> primes;
    primes.reserve(sieve_primes);
    numbers_channel *next = nullptr;
    for (;;) {
        auto number = pop(in);
        if (number <= 0) {
            number -= int64_t(primes.size());
            if (next != nullptr) {
                next->push(number);
            } else {
                total = -number;
                finish();
            }
            return;
        }
        auto n = static_cast<uint32_t>(number);
        bool multiple = false;
        for (auto p : primes)
            if (n % p == 0) {
                multiple = true;
                break;
            }
        if (multiple)
            continue;
        if (primes.size() < sieve_primes) {
            primes.push_back(n);
            continue;
        }
        if (next == nullptr) {
            next = new numbers_channel{stream_capacity};
            go([next] { sieve_part(*next); });
        }
        next->push(number);
    }
}

int64_t primes_up_to(int64_t n) {
    std::vector<bool> composite(size_t(n) + 1);
    int64_t count = 0;
    for (int64_t i = 2; i <= n; ++i) {
        if (composite[i])
            continue;
        ++count;
        for (int64_t j = i * i; j <= n; j += i)
            composite[j] = true;
    }
    return count;
}

int64_t sieve() {
    static numbers_channel first{stream_capacity};
    go([] { sieve_part(first); });
    go([] {
        wait_for_start();
        for (int64_t number = 3; number <= size; number += 2)
            first.push(number);
        first.push(-1); // 2 is a prime
    });
    start();
    wait();
    check(total == primes_up_to(size), "sieve: the number of primes");
    return size / 2;
}

// ---- chat ----

constexpr int chat_clients = 256;
constexpr int chat_members = 8; // of a room
constexpr int chat_work = 1000;

void chat_client(int64_t index, numbers_channel &room) {
    auto &in = *mail64[index];
    uint64_t random = seed_of(index);
    uint64_t x = 1;
    int64_t turns = 0;
    int64_t deliveries = 0;
    auto turn = [&] {
        ++turns;
        if (next_random(random) % 10 == 0)
            x = work(x, chat_work);
        room.push(index);
    };
    wait_for_start();
    turn();
    while (deliveries < chat_members * size) {
        auto from = pop(in);
        ++deliveries;
        if (from == index && turns < size)
            turn();
    }
    total += deliveries;
    work_results += x;
    one_done(chat_clients);
}

int64_t chat() {
    static std::vector<std::unique_ptr<numbers_channel>> rooms;
    make_mail64(chat_clients, 64);
    for (int i = 0; i < chat_clients / chat_members; ++i) {
        rooms.push_back(std::make_unique<numbers_channel>(16));
        go([i] {
            for (;;) {
                auto from = pop(*rooms[i]);
                for (int k = 0; k < chat_members; ++k)
                    mail64[i * chat_members + k]->push(from);
            }
        });
    }
    for (int64_t i = 0; i < chat_clients; ++i)
        go([i] { chat_client(i, *rooms[i / chat_members]); });
    start();
    wait();
    check(total == chat_clients * size * chat_members, "chat: every post was delivered to all");
    return chat_clients * size * (chat_members + 1);
}

const struct {
    const char *name;
    int64_t (*run)();
    bool looks;
} rows[] = {
    {"pingpong", pingpong, false},
    {"ring", ring, false},
    {"counting", counting, false},
    {"fanin", fanin, false},
    {"big", big, false},
    {"create", create, false},
    {"forkjoin", forkjoin, false},
    {"skynet", skynet, true},
    {"fib", fib, true},
    {"chameneos", chameneos, false},
    {"memory", memory, false},
    {"philosophers", philosophers, false},
    {"buffer", buffer, false},
    {"dictionary", dictionary, false},
    {"quicksort", quicksort, true},
    {"nqueens", nqueens, true},
    {"sieve", sieve, true},
    {"chat", chat, false},
};

// All threads have their scheduler before one of them looks for work in another's.
void use_work_stealing(uint32_t workers, pthread_barrier_t &all_there) {
    bf::use_scheduling_algorithm<bf::algo::work_stealing>(workers, true);
    pthread_barrier_wait(&all_there);
}

// An idle worker sleeps until one of its own fibers is woken. In rows with work to share (looks) a
// fiber of its own wakes it each millisecond, and it steals; in the others, where fibers mostly
// wait for each other, that only costs.
void use_workers(uint32_t workers, bool looks) {
    static pthread_barrier_t all_there;
    pthread_barrier_init(&all_there, nullptr, workers);
    for (uint32_t i = 1; i < workers; ++i)
        std::thread([workers, looks] {
            use_work_stealing(workers, all_there);
            while (looks)
                boost::this_fiber::sleep_for(std::chrono::milliseconds(1));
            bf::promise<void> never;
            never.get_future().wait();
        }).detach();
    use_work_stealing(workers, all_there);
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: boostfiber ROW SIZE WORKERS\n");
        return 2;
    }
    size = atoll(argv[2]);
    auto workers = static_cast<uint32_t>(atoi(argv[3]));
    one_worker = workers == 1;
    for (auto &row : rows) {
        if (strcmp(row.name, argv[1]) != 0)
            continue;
        if (workers > 1)
            use_workers(workers, row.looks);
        int64_t ops = row.run();
        if (ops == 0)
            _exit(3);
        printf("%.9f %lld %.0f\n", ended - started, static_cast<long long>(ops), grown);
        fflush(stdout);
        volatile uint64_t used = work_results;
        (void)used;
        _exit(0); // with the fibers that still wait
    }
    return 3;
}
