/* SPDX-License-Identifier: MIT */
/* Random selective receives against a plain list: each takes the oldest message that is asked for,
 * and leaves the others in their order. A seed that fails prints the line that reruns it. */
#include "fibering.h"

#include <inttypes.h>
#include <stdlib.h>

enum { ENTRIES_MAX = 1024, OPERATIONS = 80, TAGS = 4, SENDERS = 3 };

enum state { PENDING, WAITING, STASHED, GONE };

/* A message that was sent, or that a timer will send. */
struct entry {
    uint64_t due_ns; /* of a timer; 0: sent at once */
    uint64_t place;  /* the least one that waits is the oldest */
    jzx_timer_id timer;
    jzx_actor_id sender;
    uint32_t tag;
    enum state state;
};

enum form { ANY, TAG, SENDER, MATCH, FORMS };

struct filter {
    enum form form;
    uint32_t tag;
    jzx_actor_id sender;
    uint64_t modulus;
};

static struct model {
    struct timing timing;
    uint64_t random;
    struct entry entries[ENTRIES_MAX];
    uint32_t count;
    uint64_t arrivals; /* places that were given, from the middle of all */
    uint64_t returns;  /* likewise, downwards: what comes back from the stash is at the head */
    uint32_t stash[ENTRIES_MAX];
    uint32_t stashed;
    jzx_actor_id senders[SENDERS];
    jzx_message in_hand;
    uint32_t in_hand_index;
    bool has_in_hand;
    bool all_held;
    bool done;
} model;

static void expect(bool held) {
    model.all_held = model.all_held && held;
}

static uint64_t below(uint64_t bound) {
    uint64_t z = (model.random += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (z ^ (z >> 31)) % bound;
}

static uint64_t now_ns(void) {
    return jzx_clock_now(model.timing.clock);
}

static uint64_t whole_ms(uint64_t ns) {
    return (ns + JZX_MS(1) - 1) / JZX_MS(1) * JZX_MS(1);
}

/* ---- the list ---- */

/* Timers that are due have fired, in the order of their times, and of their setting. */
static void let_timers_fire(void) {
    for (;;) {
        struct entry *next = NULL;
        for (uint32_t i = 0; i < model.count; i++) {
            struct entry *entry = &model.entries[i];
            if (entry->state == PENDING && entry->due_ns <= now_ns() &&
                (next == NULL || entry->due_ns < next->due_ns))
                next = entry;
        }
        if (next == NULL)
            return;
        next->state = WAITING;
        next->place = ++model.arrivals;
    }
}

static bool takes(const struct filter *filter, uint32_t index) {
    const struct entry *entry = &model.entries[index];
    switch (filter->form) {
    case TAG: return entry->tag == filter->tag;
    case SENDER: return entry->sender == filter->sender;
    case MATCH: return index % filter->modulus == 0;
    default: return true;
    }
}

/* The oldest that waits and is asked for, or ENTRIES_MAX. */
static uint32_t find_waiting(const struct filter *filter) {
    uint32_t found = ENTRIES_MAX;
    for (uint32_t i = 0; i < model.count; i++) {
        if (model.entries[i].state == WAITING && takes(filter, i) &&
            (found == ENTRIES_MAX || model.entries[i].place < model.entries[found].place))
            found = i;
    }
    return found;
}

/* When the first timer fires that is asked for; JZX_NEVER: there is none. */
static uint64_t first_due(const struct filter *filter) {
    uint64_t due = JZX_NEVER;
    for (uint32_t i = 0; i < model.count; i++) {
        if (model.entries[i].state == PENDING && takes(filter, i) && model.entries[i].due_ns < due)
            due = model.entries[i].due_ns;
    }
    return due;
}

/* ---- operations, all in the fiber ---- */

static struct entry *new_entry(void) {
    struct entry *entry = &model.entries[model.count++];
    *entry = (struct entry){.tag = (uint32_t)(1 + below(TAGS)),
                            .sender = model.senders[below(SENDERS)],
                            .state = WAITING};
    return entry;
}

static size_t random_len(void) {
    return below(2) ? sizeof(uint32_t) : 300;
}

static void send_some(jzx_context *ctx) {
    uint64_t count = 1 + below(5);
    char data[300] = {0};
    while (count-- > 0 && model.count < ENTRIES_MAX) {
        uint32_t index = model.count;
        struct entry *entry = new_entry();
        entry->place = ++model.arrivals;
        memcpy(data, &index, sizeof index);
        expect(JZX_EXPECT_EQ(
            jzx_send(ctx->loop, ctx->self, entry->sender, data, random_len(), entry->tag), JZX_OK));
    }
}

static void set_timer(jzx_context *ctx) {
    uint32_t index = model.count;
    uint64_t delay = JZX_MS(1 + below(12));
    char data[300] = {0};
    if (model.count == ENTRIES_MAX)
        return;
    struct entry *entry = new_entry();
    entry->state = PENDING;
    entry->due_ns = whole_ms(now_ns() + delay);
    memcpy(data, &index, sizeof index);
    expect(JZX_EXPECT_EQ(jzx_send_after(ctx->loop, ctx->self, entry->sender, data, random_len(),
                                        entry->tag, delay, &entry->timer),
                         JZX_OK));
}

/* Before it fires, or while its message waits. */
static void cancel_timer(jzx_context *ctx) {
    for (uint32_t i = (uint32_t)below(model.count + 1); i < model.count; i++) {
        struct entry *entry = &model.entries[i];
        if (entry->timer == JZX_NO_TIMER || (entry->state != PENDING && entry->state != WAITING))
            continue;
        expect(JZX_EXPECT_EQ(jzx_timer_cancel(ctx->loop, entry->timer), JZX_OK));
        entry->state = GONE;
        return;
    }
}

static bool match_number(void *arg, const jzx_message *msg) {
    const struct filter *filter = arg;
    uint32_t index = 0;
    memcpy(&index, msg->data, sizeof index);
    return index % filter->modulus == 0;
}

static jzx_err receive(jzx_context *ctx, struct filter *filter, uint64_t deadline_ns,
                       jzx_message *msg) {
    switch (filter->form) {
    case TAG: return jzx_receive_tag(ctx, filter->tag, deadline_ns, msg);
    case SENDER: return jzx_receive_from(ctx, filter->sender, deadline_ns, msg);
    case MATCH: return jzx_receive_match(ctx, match_number, filter, deadline_ns, msg);
    default: return jzx_receive(ctx, deadline_ns, msg);
    }
}

static uint64_t random_deadline(const struct filter *filter) {
    bool comes = find_waiting(filter) != ENTRIES_MAX || first_due(filter) != JZX_NEVER;
    switch (below(4)) {
    case 0: return 0;
    case 1: return now_ns() + JZX_US(500) * below(20);
    case 2: return now_ns() + JZX_MS(below(10));
    default: return comes ? JZX_NEVER : now_ns();
    }
}

static void check_in_hand(void) {
    uint32_t index = 0;
    if (!model.has_in_hand)
        return;
    memcpy(&index, model.in_hand.data, sizeof index);
    expect(JZX_EXPECT_EQ(index, model.in_hand_index));
}

static void take_in(const jzx_message *msg, uint32_t expected) {
    uint32_t index = 0;
    memcpy(&index, msg->data, sizeof index);
    expect(JZX_EXPECT_EQ(index, expected));
    if (!JZX_EXPECT(index < model.count))
        return;
    struct entry *entry = &model.entries[index];
    expect(JZX_EXPECT_EQ(msg->tag, entry->tag));
    expect(JZX_EXPECT_EQ(msg->sender, entry->sender));
    entry->state = GONE;
    model.in_hand = *msg;
    model.in_hand_index = index;
    model.has_in_hand = true;
}

static void receive_with(jzx_context *ctx, struct filter *filter, uint64_t deadline_ns) {
    uint64_t due = first_due(filter);
    bool waits = find_waiting(filter) == ENTRIES_MAX;
    uint64_t limit = deadline_ns == JZX_NEVER ? JZX_NEVER : whole_ms(deadline_ns);
    uint64_t before = now_ns();
    jzx_message msg;
    check_in_hand();
    model.has_in_hand = false;
    jzx_err err = receive(ctx, filter, deadline_ns, &msg);
    let_timers_fire();
    if (err == JZX_ERR_TIMEOUT) {
        expect(JZX_EXPECT(waits));
        expect(JZX_EXPECT(now_ns() >= deadline_ns));
        expect(JZX_EXPECT(deadline_ns <= before ? now_ns() == before : due >= limit));
        return;
    }
    if (!JZX_EXPECT_EQ(err, JZX_OK)) {
        expect(false);
        return;
    }
    if (waits) /* at the very moment of the deadline both are right */
        expect(JZX_EXPECT(due <= limit && now_ns() == due));
    else
        expect(JZX_EXPECT_EQ(now_ns(), before));
    take_in(&msg, find_waiting(filter));
}

static void receive_some(jzx_context *ctx) {
    struct filter filter = {.form = (enum form)below(FORMS),
                            .tag = (uint32_t)(1 + below(TAGS + 1)),
                            .sender = model.senders[below(SENDERS)],
                            .modulus = 1 + below(5)};
    uint64_t times = 1 + below(3);
    while (times-- > 0)
        receive_with(ctx, &filter, random_deadline(&filter));
}

static void stash_in_hand(jzx_context *ctx) {
    jzx_err err = jzx_stash(ctx, &model.in_hand);
    if (!model.has_in_hand) {
        expect(JZX_EXPECT_EQ(err, JZX_ERR_INVALID_ARG));
        return;
    }
    expect(JZX_EXPECT_EQ(err, JZX_OK));
    model.entries[model.in_hand_index].state = STASHED;
    model.stash[model.stashed++] = model.in_hand_index;
    model.has_in_hand = false;
}

static void unstash_all(jzx_context *ctx) {
    expect(JZX_EXPECT_EQ(jzx_unstash(ctx), model.stashed));
    while (model.stashed > 0) {
        struct entry *entry = &model.entries[model.stash[--model.stashed]];
        entry->state = WAITING;
        entry->place = --model.returns;
        entry->timer = JZX_NO_TIMER; /* it was handled once */
    }
}

static void take_in_hand(jzx_context *ctx) {
    void *data = jzx_msg_take(ctx, &model.in_hand);
    expect(JZX_EXPECT_EQ(data != NULL, model.has_in_hand));
    if (data != NULL) {
        uint32_t index = 0;
        memcpy(&index, data, sizeof index);
        expect(JZX_EXPECT_EQ(index, model.in_hand_index));
    }
    jzx_msg_free(ctx->loop, data);
    model.has_in_hand = false;
}

static void let_time_pass(jzx_context *ctx) {
    uint64_t until = now_ns() + JZX_US(500) * below(12);
    expect(JZX_EXPECT_EQ(jzx_sleep(ctx, until), JZX_OK));
    expect(JZX_EXPECT(now_ns() >= until));
    let_timers_fire();
}

static void do_one(jzx_context *ctx) {
    switch (below(12)) {
    case 0:
    case 1:
    case 2: send_some(ctx); break;
    case 3: set_timer(ctx); break;
    case 4: cancel_timer(ctx); break;
    case 5: let_time_pass(ctx); break;
    case 6: stash_in_hand(ctx); break;
    case 7: unstash_all(ctx); break;
    case 8: take_in_hand(ctx); break;
    default: receive_some(ctx); break;
    }
}

/* At the end all that is left comes in its order. */
static void play(jzx_context *ctx) {
    struct filter any = {.form = ANY};
    for (int i = 0; i < OPERATIONS && model.all_held; i++)
        do_one(ctx);
    unstash_all(ctx);
    while (model.all_held && find_waiting(&any) != ENTRIES_MAX)
        receive_with(ctx, &any, 0);
    if (model.all_held)
        receive_with(ctx, &any, 0);
    model.done = true;
}

static bool play_seed(uint64_t seed) {
    model = (struct model){.timing = timing_open(),
                           .random = seed,
                           .arrivals = UINT64_MAX / 2,
                           .returns = UINT64_MAX / 2,
                           .all_held = true};
    struct recorder idle = {0};
    for (int i = 0; i < SENDERS; i++)
        model.senders[i] =
            fixture_spawn(model.timing.loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &idle));
    fixture_spawn(model.timing.loop,
                  &JZX_SPAWN_OPTS(.fiber = play, .mailbox_cap = ENTRIES_MAX, .stash_cap = 1000));
    timing_step(&model.timing);
    for (int i = 0; i < 100000 && !model.done; i++)
        timing_advance(&model.timing, JZX_US(500));
    expect(JZX_EXPECT(model.done));
    timing_step(&model.timing);
    expect(JZX_EXPECT_EQ(timing_pending(model.timing.loop), 0));
    timing_close(&model.timing);
    return model.all_held;
}

JZX_TEST(random_receives_are_those_of_a_list, "E15", "E16") {
    const char *only = getenv("JZX_SEED");
    uint64_t first = only != NULL ? strtoull(only, NULL, 0) : 1;
    uint64_t last = only != NULL ? first : jzx_test_rounds(20000, 200000);
    for (uint64_t seed = first; seed <= last; seed++) {
        if (!play_seed(seed)) {
            fail_msg("JZX_SEED=%" PRIu64
                     " test_api fiber_model.random_receives_are_those_of_a_list",
                     seed);
        }
    }
}
