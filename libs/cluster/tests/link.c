/* SPDX-License-Identifier: MIT */
/* The link step by step, between two sides on a clock of the test. */
#include "link.h"

#include "jzx_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS JZX__LINK_MS

struct side {
    struct jzx__link link;
    uint64_t ups, downs, messages, bytes, writables, refusals;
    struct jzx__link_event last_down;
    enum jzx__link_refusal refusal;
    uint64_t frames; /* sent */
    size_t memory, memory_max;
    uint64_t allocations_left; /* before one fails */
    bool loses;                /* its frames are lost */
};

struct pair {
    struct side a, b;
    uint64_t now;
};

static void *allocate(void *context, size_t size) {
    struct side *side = context;
    if (side->allocations_left == 0)
        return NULL;
    side->allocations_left--;
    side->memory += size;
    side->memory_max = side->memory > side->memory_max ? side->memory : side->memory_max;
    return malloc(size);
}

static void release(void *context, void *memory, size_t size) {
    struct side *side = context;
    side->memory -= size;
    free(memory);
}

static void on_event(void *context, const struct jzx__link_event *event) {
    struct side *side = context;
    switch (event->kind) {
    case JZX__LINK_EVENT_UP: side->ups++; break;
    case JZX__LINK_EVENT_DOWN:
        side->downs++;
        side->last_down = *event;
        break;
    case JZX__LINK_EVENT_MESSAGE:
        side->messages++;
        side->bytes += event->size;
        break;
    case JZX__LINK_EVENT_WRITABLE: side->writables++; break;
    case JZX__LINK_EVENT_REFUSED:
        side->refusals++;
        side->refusal = event->refusal;
        break;
    }
}

static void start(struct pair *pair, struct side *side, struct jzx__link_config config) {
    const struct jzx__link_hooks hooks = {side, allocate, release, on_event};
    const uint64_t frames = side->frames;
    memset(side, 0, sizeof *side);
    side->frames = frames;
    side->allocations_left = UINT64_MAX;
    JZX_EXPECT_EQ(jzx__link_init(&side->link, &config, &hooks, pair->now), JZX_OK);
}

/* Carries what one side has to send; returns how many frames. */
static int carry(struct pair *pair, struct side *from, struct side *to) {
    uint8_t frame[JZX__FRAME_MAX];
    size_t size;
    int count = 0;
    while ((size = jzx__link_output(&from->link, pair->now, frame, sizeof frame)) > 0) {
        count++;
        from->frames++;
        if (!from->loses)
            jzx__link_receive(&to->link, pair->now, frame, size);
    }
    jzx__link_verify(&from->link);
    jzx__link_verify(&to->link);
    return count;
}

static void exchange(struct pair *pair) {
    while (carry(pair, &pair->a, &pair->b) + carry(pair, &pair->b, &pair->a) > 0)
        continue;
}

static uint64_t earlier(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* Lets the time pass from wake-up to wake-up. */
static void run(struct pair *pair, uint64_t ns) {
    const uint64_t end = pair->now + ns;
    exchange(pair);
    for (;;) {
        const uint64_t next = earlier(jzx__link_wake(&pair->a.link), jzx__link_wake(&pair->b.link));
        pair->now = next < end ? next : end;
        jzx__link_poll(&pair->a.link, pair->now);
        jzx__link_poll(&pair->b.link, pair->now);
        exchange(pair);
        if (next >= end)
            return;
    }
}

static void connect_with(struct pair *pair, struct jzx__link_config a, struct jzx__link_config b) {
    pair->a.frames = pair->b.frames = 0;
    pair->now = 1000 * MS;
    start(pair, &pair->a, a);
    start(pair, &pair->b, b);
    exchange(pair);
}

static void open_pair(struct pair *pair) {
    connect_with(pair, (struct jzx__link_config){.incarnation = 1},
                 (struct jzx__link_config){.incarnation = 1});
    JZX_EXPECT(pair->a.ups == 1 && pair->b.ups == 1);
}

static void close_pair(struct pair *pair) {
    jzx__link_deinit(&pair->a.link);
    jzx__link_deinit(&pair->b.link);
    JZX_EXPECT(pair->a.memory == 0 && pair->b.memory == 0);
}

JZX_TEST(small_messages_share_frames_and_nothing_is_sent_twice) {
    struct pair pair;
    char bytes[64] = {0};
    open_pair(&pair);
    const uint64_t before = pair.a.frames;
    for (int i = 0; i < 4000; i++)
        JZX_EXPECT_EQ(jzx__link_send(&pair.a.link, bytes, sizeof bytes), JZX_OK);
    run(&pair, 10 * MS);
    JZX_EXPECT_EQ(pair.b.messages, 4000);
    JZX_EXPECT_EQ(pair.a.frames - before, 18); /* 227 messages of 72 bytes fit one */
    JZX_EXPECT_EQ(pair.a.link.units_resent, 0);
    JZX_EXPECT(pair.a.link.queued_bytes == 0);
    close_pair(&pair);
}

JZX_TEST(messages_of_every_size_up_to_the_limit_arrive_whole) {
    struct pair pair;
    const size_t piece = JZX__FRAME_MAX - JZX__FRAME_HEADER - JZX__FRAME_UNIT_HEADER;
    const size_t sizes[] = {0, 1, piece - 1, piece, piece + 1, 3 * piece, 1u << 20};
    char *bytes = calloc(1, (1u << 20) + 1);
    open_pair(&pair);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const uint64_t had = pair.b.bytes;
        JZX_EXPECT_EQ(jzx__link_send(&pair.a.link, bytes, sizes[i]), JZX_OK);
        run(&pair, 10 * MS);
        JZX_EXPECT_EQ(pair.b.messages, i + 1);
        JZX_EXPECT_EQ(pair.b.bytes - had, sizes[i]);
    }
    JZX_EXPECT_EQ(jzx__link_send(&pair.a.link, bytes, (1u << 20) + 1), JZX_ERR_TOO_LONG);
    free(bytes);
    close_pair(&pair);
}

JZX_TEST(the_limit_of_the_peer_holds_for_the_sender) {
    struct pair pair;
    char bytes[101] = {0};
    connect_with(&pair, (struct jzx__link_config){.incarnation = 1},
                 (struct jzx__link_config){.incarnation = 1, .message_max = 100});
    JZX_EXPECT_EQ(jzx__link_send(&pair.a.link, bytes, 101), JZX_ERR_TOO_LONG);
    JZX_EXPECT_EQ(jzx__link_send(&pair.a.link, bytes, 100), JZX_OK);
    close_pair(&pair);
}

JZX_TEST(a_full_queue_refuses_and_reports_when_half_of_it_is_free) {
    struct pair pair;
    char bytes[100] = {0};
    connect_with(&pair, (struct jzx__link_config){.incarnation = 1, .queue_bytes = 10000},
                 (struct jzx__link_config){.incarnation = 1});
    uint64_t accepted = 0;
    while (jzx__link_send(&pair.a.link, bytes, sizeof bytes) == JZX_OK)
        accepted++;
    JZX_EXPECT_EQ(jzx__link_send(&pair.a.link, bytes, sizeof bytes), JZX_ERR_FULL);
    JZX_EXPECT(accepted > 50 && pair.a.memory_max <= 10000);
    JZX_EXPECT_EQ(pair.a.writables, 0);
    run(&pair, 10 * MS);
    JZX_EXPECT_EQ(pair.a.writables, 1);
    JZX_EXPECT_EQ(pair.b.messages, accepted);
    JZX_EXPECT_EQ(jzx__link_send(&pair.a.link, bytes, sizeof bytes), JZX_OK);
    JZX_EXPECT_EQ(jzx__link_send(&pair.a.link, bytes, 20000), JZX_ERR_TOO_LONG);
    close_pair(&pair);
}

JZX_TEST(no_more_than_the_window_is_in_flight) {
    struct pair pair;
    char bytes[100] = {0};
    connect_with(&pair, (struct jzx__link_config){.incarnation = 1, .window_units = 10},
                 (struct jzx__link_config){.incarnation = 1});
    for (int i = 0; i < 30; i++)
        JZX_EXPECT_EQ(jzx__link_send(&pair.a.link, bytes, sizeof bytes), JZX_OK);
    pair.a.loses = true;
    carry(&pair, &pair.a, &pair.b);
    JZX_EXPECT_EQ(pair.a.link.sent_end - pair.a.link.acked, 10);
    pair.a.loses = false;
    run(&pair, 1000 * MS);
    JZX_EXPECT_EQ(pair.b.messages, 30);
    close_pair(&pair);
}

JZX_TEST(a_failed_allocation_accepts_nothing_and_loses_nothing) {
    struct pair pair;
    static char bytes[40000];
    open_pair(&pair);
    for (uint64_t n = 0; n < 3; n++) { /* three units */
        pair.a.allocations_left = n;
        JZX_EXPECT_EQ(jzx__link_send(&pair.a.link, bytes, sizeof bytes), JZX_ERR_NO_MEMORY);
        JZX_EXPECT(pair.a.memory == 0 && pair.a.link.next_seq == 1);
    }
    pair.a.allocations_left = UINT64_MAX;
    pair.b.allocations_left = 0;
    JZX_EXPECT_EQ(jzx__link_send(&pair.a.link, bytes, sizeof bytes), JZX_OK);
    run(&pair, 500 * MS);
    JZX_EXPECT_EQ(pair.b.messages, 0);
    pair.b.allocations_left = UINT64_MAX;
    run(&pair, 2000 * MS);
    JZX_EXPECT(pair.b.messages == 1 && pair.b.bytes == sizeof bytes);
    JZX_EXPECT(pair.a.downs == 0 && pair.b.downs == 0);
    close_pair(&pair);
}

JZX_TEST(a_silent_peer_is_down_after_exactly_four_seconds) {
    struct pair pair;
    open_pair(&pair);
    run(&pair, 10000 * MS);
    JZX_EXPECT(pair.a.downs == 0 && pair.b.downs == 0);
    const uint64_t heard = pair.now;
    pair.a.loses = pair.b.loses = true; /* the last frames came at `heard` */
    run(&pair, 3999 * MS);
    JZX_EXPECT_EQ(pair.a.downs, 0);
    run(&pair, 1 * MS);
    JZX_EXPECT_EQ(pair.now - heard, 4000 * MS);
    JZX_EXPECT(pair.a.downs == 1 && pair.b.downs == 1);
    JZX_EXPECT_EQ(pair.a.last_down.reason, JZX__LINK_SILENT);
    close_pair(&pair);
}

JZX_TEST(an_idle_link_sends_one_frame_a_second) {
    struct pair pair;
    open_pair(&pair);
    run(&pair, 2000 * MS);
    const uint64_t before = pair.a.frames;
    run(&pair, 100000 * MS);
    JZX_EXPECT_EQ(pair.a.frames - before, 100);
    JZX_EXPECT(pair.a.downs == 0 && pair.b.downs == 0);
    close_pair(&pair);
}

JZX_TEST(a_peer_that_is_heard_but_acknowledges_nothing_is_down) {
    struct pair pair;
    open_pair(&pair);
    pair.a.loses = true; /* b reports silence itself; here it must not tell */
    JZX_EXPECT_EQ(jzx__link_send(&pair.a.link, "x", 1), JZX_OK);
    uint8_t frame[JZX__FRAME_MAX];
    for (int i = 0; i < 80 && pair.a.downs == 0; i++) {
        const struct jzx__frame alive = {.version = JZX__LINK_VERSION,
                                         .type = JZX__FRAME_ACK,
                                         .source = pair.b.link.tag,
                                         .destination = pair.a.link.tag,
                                         .ack = 1};
        jzx__frame_put_header(frame, &alive);
        jzx__link_receive(&pair.a.link, pair.now, frame, JZX__FRAME_HEADER);
        while (jzx__link_output(&pair.a.link, pair.now, frame, sizeof frame) > 0)
            continue;
        JZX_EXPECT(pair.now <= 1000 * MS + 4000 * MS);
        pair.now += 100 * MS;
    }
    JZX_EXPECT_EQ(pair.a.last_down.reason, JZX__LINK_UNACKED);
    JZX_EXPECT_EQ(pair.a.last_down.lost_units, 1);
    close_pair(&pair);
}

JZX_TEST(a_caller_that_comes_late_blames_no_peer) {
    struct pair pair;
    uint8_t waiting[JZX__FRAME_MAX];
    open_pair(&pair);
    run(&pair, 500 * MS);
    /* This side stands still for a minute; a frame of the peer waits in its socket. */
    pair.now += 60000 * MS;
    const struct jzx__frame alive = {.version = JZX__LINK_VERSION,
                                     .type = JZX__FRAME_ACK,
                                     .source = pair.b.link.tag,
                                     .destination = pair.a.link.tag,
                                     .ack = 1};
    jzx__frame_put_header(waiting, &alive);
    jzx__link_poll(&pair.a.link, pair.now);
    JZX_EXPECT_EQ(pair.a.downs, 0);
    jzx__link_receive(&pair.a.link, pair.now, waiting, JZX__FRAME_HEADER);
    jzx__link_poll(&pair.a.link, pair.now);
    JZX_EXPECT_EQ(pair.a.downs, 0);
    close_pair(&pair);
}

JZX_TEST(a_restarted_peer_is_a_new_incarnation_and_its_old_frames_are_refused) {
    struct pair pair;
    uint8_t old[JZX__FRAME_MAX];
    open_pair(&pair);
    JZX_EXPECT_EQ(jzx__link_send(&pair.b.link, "old", 3), JZX_OK);
    const size_t size = jzx__link_output(&pair.b.link, pair.now, old, sizeof old);
    JZX_EXPECT_EQ(jzx__link_send(&pair.a.link, "lost", 4), JZX_OK);
    jzx__link_deinit(&pair.b.link);
    start(&pair, &pair.b, (struct jzx__link_config){.incarnation = 2});
    exchange(&pair);
    JZX_EXPECT(pair.a.downs == 1 && pair.a.ups == 2 && pair.b.ups == 1);
    JZX_EXPECT_EQ(pair.a.last_down.reason, JZX__LINK_RESTARTED);
    JZX_EXPECT_EQ(pair.a.last_down.peer_incarnation, 1);
    JZX_EXPECT_EQ(pair.a.last_down.lost_units, 1);
    jzx__link_receive(&pair.a.link, pair.now, old, size);
    JZX_EXPECT(pair.a.messages == 0 && pair.a.link.frames_stale == 1);
    run(&pair, 5000 * MS);
    JZX_EXPECT(pair.b.messages == 0 && pair.a.downs == 1); /* "lost" does not reach it */
    close_pair(&pair);
}

JZX_TEST(an_incarnation_that_goes_back_is_refused_in_words) {
    struct pair pair;
    connect_with(&pair, (struct jzx__link_config){.incarnation = 1, .peer_incarnation_min = 8},
                 (struct jzx__link_config){.incarnation = 7});
    JZX_EXPECT(pair.a.ups == 0 && pair.b.ups == 0);
    JZX_EXPECT(pair.b.refusals > 0);
    JZX_EXPECT_EQ(pair.b.refusal, JZX__LINK_REFUSED_INCARNATION);
    close_pair(&pair);
}

JZX_TEST(versions_connect_with_their_neighbours_and_refuse_others) {
    for (uint32_t a = 1; a <= 4; a++) {
        for (uint32_t b = 1; b <= 4; b++) {
            struct pair pair;
            const bool fits = a <= b + 1 && b <= a + 1;
            connect_with(&pair, (struct jzx__link_config){.incarnation = 1, .version = a},
                         (struct jzx__link_config){.incarnation = 1, .version = b});
            JZX_EXPECT(pair.a.ups == fits && pair.b.ups == fits);
            if (fits) {
                JZX_EXPECT_EQ(pair.a.link.version, a < b ? a : b);
                JZX_EXPECT_EQ(jzx__link_send(&pair.a.link, "x", 1), JZX_OK);
                run(&pair, 10 * MS);
                JZX_EXPECT_EQ(pair.b.messages, 1);
            } else {
                JZX_EXPECT(pair.a.refusals + pair.b.refusals > 0);
                JZX_EXPECT_EQ(jzx__link_send(&pair.a.link, "x", 1), JZX_ERR_UNREACHABLE);
            }
            close_pair(&pair);
        }
    }
}

JZX_TEST(a_peer_without_responders_is_down_after_the_grace) {
    struct pair pair;
    open_pair(&pair);
    pair.b.loses = true;
    const uint64_t begin = pair.now;
    while (pair.a.downs == 0 && pair.now < begin + 3000 * MS) {
        uint8_t frame[JZX__FRAME_MAX];
        while (jzx__link_output(&pair.a.link, pair.now, frame, sizeof frame) > 0)
            continue;
        jzx__link_no_responders(&pair.a.link, pair.now);
        if (pair.a.downs == 0)
            pair.now = jzx__link_wake(&pair.a.link);
        jzx__link_poll(&pair.a.link, pair.now);
    }
    JZX_EXPECT_EQ(pair.a.last_down.reason, JZX__LINK_NO_RESPONDERS);
    JZX_EXPECT_EQ(pair.now - begin, 1000 * MS);
    close_pair(&pair);
}

JZX_TEST(a_peer_that_is_heard_within_the_grace_stays_up) {
    struct pair pair;
    open_pair(&pair);
    jzx__link_no_responders(&pair.a.link, pair.now);
    run(&pair, 900 * MS);
    jzx__link_no_responders(&pair.b.link, pair.now); /* the other side is asked, too */
    run(&pair, 1200 * MS);
    jzx__link_no_responders(&pair.a.link, pair.now);
    run(&pair, 500 * MS);
    JZX_EXPECT(pair.a.downs == 0 && pair.b.downs == 0);
    close_pair(&pair);
}

JZX_TEST(a_lost_transport_is_told_as_isolation_and_resends_when_it_is_back) {
    struct pair pair;
    open_pair(&pair);
    JZX_EXPECT_EQ(jzx__link_send(&pair.a.link, "x", 1), JZX_OK);
    pair.a.loses = true;
    carry(&pair, &pair.a, &pair.b);
    jzx__link_transport(&pair.a.link, pair.now, false);
    JZX_EXPECT_EQ(carry(&pair, &pair.a, &pair.b), 0);
    pair.a.loses = false;
    pair.now += 20 * MS;
    jzx__link_transport(&pair.a.link, pair.now, true);
    exchange(&pair);
    JZX_EXPECT(pair.b.messages == 1 && pair.a.link.units_resent == 1);
    jzx__link_transport(&pair.a.link, pair.now, false);
    pair.b.loses = true;
    run(&pair, 4000 * MS);
    JZX_EXPECT_EQ(pair.a.last_down.reason, JZX__LINK_ISOLATED);
    close_pair(&pair);
}

JZX_TEST(a_closed_link_says_goodbye_and_reports_its_losses) {
    struct pair pair;
    open_pair(&pair);
    JZX_EXPECT_EQ(jzx__link_send(&pair.a.link, "x", 1), JZX_OK);
    jzx__link_close(&pair.a.link, pair.now);
    JZX_EXPECT(pair.a.downs == 1 && pair.a.last_down.lost_units == 1);
    JZX_EXPECT_EQ(carry(&pair, &pair.a, &pair.b), 1);
    JZX_EXPECT_EQ(pair.b.last_down.reason, JZX__LINK_GOODBYE);
    JZX_EXPECT_EQ(jzx__link_send(&pair.a.link, "x", 1), JZX_ERR_UNREACHABLE);
    run(&pair, 5000 * MS);
    JZX_EXPECT(pair.a.ups == 1 && pair.b.ups == 1);
    close_pair(&pair);
}

/* A frame of b for a, with a body of the test. */
static void inject(struct pair *pair, struct jzx__frame frame, const void *body, size_t size) {
    uint8_t *bytes = malloc(JZX__FRAME_HEADER + size);
    frame.version = pair->a.link.version;
    frame.source = pair->b.link.tag;
    frame.destination = pair->a.link.tag;
    jzx__frame_put_header(bytes, &frame);
    memcpy(bytes + JZX__FRAME_HEADER, body, size);
    jzx__link_receive(&pair->a.link, pair->now, bytes, JZX__FRAME_HEADER + size);
    free(bytes);
}

JZX_TEST(malformed_frames_have_no_effect_and_lead_to_no_allocation) {
    struct pair pair;
    uint8_t body[64] = {0};
    const struct jzx__frame data = {.type = JZX__FRAME_DATA, .count = 1, .seq = 1, .ack = 1};
    struct jzx__frame frame = data;
    uint64_t malformed = 0;
    open_pair(&pair);
    pair.a.allocations_left = 0;
    const struct {
        uint32_t size, total;
    } units[] = {{5, 4}, {57, 57}, {4, UINT32_MAX}, {4, (1u << 20) + 1}, {0, 5}, {55, 55}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        jzx__frame_put_u32(body, units[i].size);
        jzx__frame_put_u32(body + 4, units[i].total);
        inject(&pair, data, body, sizeof body);
        JZX_EXPECT_EQ(pair.a.link.frames_malformed, ++malformed);
    }
    jzx__frame_put_u32(body, 0); /* a piece without bytes */
    jzx__frame_put_u32(body + 4, 5);
    inject(&pair, data, body, 8);
    JZX_EXPECT_EQ(pair.a.link.frames_malformed, ++malformed);
    jzx__frame_put_u32(body, 1);
    jzx__frame_put_u32(body + 4, 1);
    JZX_EXPECT_EQ(jzx__link_send(&pair.a.link, "", 0), JZX_ERR_NO_MEMORY);
    pair.a.allocations_left = 1;
    JZX_EXPECT_EQ(jzx__link_send(&pair.a.link, "", 0), JZX_OK);
    frame.ack = 2; /* of a unit that is queued and was never sent */
    inject(&pair, frame, body, 9);
    frame.ack = 0;
    inject(&pair, frame, body, 9);
    frame = data;
    frame.seq = 0;
    inject(&pair, frame, body, 9);
    frame = data;
    frame.count = 2;
    inject(&pair, frame, body, 9);
    frame = data;
    frame.type = 9;
    inject(&pair, frame, body, 9);
    jzx__link_receive(&pair.a.link, pair.now, body, sizeof body);
    jzx__link_receive(&pair.a.link, pair.now, body, 0);
    JZX_EXPECT_EQ(pair.a.link.frames_malformed, malformed + 7);
    JZX_EXPECT(pair.a.messages == 0 && pair.a.downs == 0 && pair.a.memory_max < 100);
    frame.type = JZX__FRAME_OPTIONAL | 9; /* of a later version: skipped */
    inject(&pair, frame, body, 9);
    JZX_EXPECT_EQ(pair.a.link.frames_malformed, malformed + 7);
    inject(&pair, data, body, 9);
    JZX_EXPECT_EQ(pair.a.messages, 1);
    close_pair(&pair);
}

JZX_TEST(pieces_that_contradict_each_other_end_the_session) {
    struct pair pair;
    uint8_t body[64] = {0};
    open_pair(&pair);
    jzx__frame_put_u32(body, 4);
    jzx__frame_put_u32(body + 4, 10);
    inject(&pair, (struct jzx__frame){.type = JZX__FRAME_DATA, .count = 1, .seq = 1, .ack = 1},
           body, 12);
    jzx__frame_put_u32(body + 4, 11);
    inject(&pair, (struct jzx__frame){.type = JZX__FRAME_DATA, .count = 1, .seq = 2, .ack = 1},
           body, 12);
    JZX_EXPECT_EQ(pair.a.last_down.reason, JZX__LINK_PROTOCOL);
    JZX_EXPECT_EQ(pair.a.memory, 0);
    run(&pair, 100 * MS);
    JZX_EXPECT_EQ(pair.a.ups, 2); /* and the next session begins anew */
    close_pair(&pair);
}

JZX_TEST(a_whole_message_between_the_pieces_of_another_ends_the_session) {
    struct pair pair;
    uint8_t body[64] = {0};
    open_pair(&pair);
    jzx__frame_put_u32(body, 4);
    jzx__frame_put_u32(body + 4, 10);
    inject(&pair, (struct jzx__frame){.type = JZX__FRAME_DATA, .count = 1, .seq = 1, .ack = 1},
           body, 12);
    jzx__frame_put_u32(body + 4, 4);
    inject(&pair, (struct jzx__frame){.type = JZX__FRAME_DATA, .count = 1, .seq = 2, .ack = 1},
           body, 12);
    JZX_EXPECT_EQ(pair.a.last_down.reason, JZX__LINK_PROTOCOL);
    JZX_EXPECT_EQ(pair.a.messages, 0);
    close_pair(&pair);
}

JZX_TEST(a_frame_of_another_version_than_the_agreed_one_is_refused) {
    struct pair pair;
    open_pair(&pair);
    struct jzx__frame frame = {.version = JZX__LINK_VERSION + 1,
                               .type = JZX__FRAME_GOODBYE,
                               .source = pair.b.link.tag,
                               .destination = pair.a.link.tag,
                               .ack = 1};
    uint8_t bytes[JZX__FRAME_HEADER];
    jzx__frame_put_header(bytes, &frame);
    jzx__link_receive(&pair.a.link, pair.now, bytes, sizeof bytes);
    JZX_EXPECT_EQ(pair.a.downs, 0);
    frame.version = JZX__LINK_VERSION;
    jzx__frame_put_header(bytes, &frame);
    jzx__link_receive(&pair.a.link, pair.now, bytes, sizeof bytes);
    JZX_EXPECT_EQ(pair.a.downs, 1);
    close_pair(&pair);
}

JZX_TEST(a_gap_is_closed_by_a_nack_before_any_timer) {
    struct pair pair;
    open_pair(&pair);
    JZX_EXPECT_EQ(jzx__link_send(&pair.a.link, "1", 1), JZX_OK);
    pair.a.loses = true;
    carry(&pair, &pair.a, &pair.b);
    pair.a.loses = false;
    JZX_EXPECT_EQ(jzx__link_send(&pair.a.link, "2", 1), JZX_OK);
    exchange(&pair); /* no time passes */
    JZX_EXPECT_EQ(pair.b.messages, 2);
    JZX_EXPECT_EQ(pair.a.link.units_resent, 2);
    close_pair(&pair);
}

JZX_TEST(resends_back_off) {
    struct pair pair;
    open_pair(&pair);
    pair.a.loses = true;
    JZX_EXPECT_EQ(jzx__link_send(&pair.a.link, "1", 1), JZX_OK);
    run(&pair, 3999 * MS); /* after 100, 300, 700, 1500 and 3100 ms */
    JZX_EXPECT_EQ(pair.a.link.units_resent, 5);
    close_pair(&pair);
}

JZX_TEST(an_eighth_of_the_window_is_acknowledged_before_any_timer) {
    struct pair pair;
    open_pair(&pair);
    for (int i = 0; i < 600; i++)
        JZX_EXPECT_EQ(jzx__link_send(&pair.a.link, "1", 1), JZX_OK);
    exchange(&pair); /* no time passes */
    JZX_EXPECT(pair.a.link.acked > 512);
    close_pair(&pair);
}

JZX_TEST(no_more_bytes_than_the_window_are_in_flight) {
    struct pair pair;
    static const char bytes[1000];
    connect_with(&pair, (struct jzx__link_config){.incarnation = 1, .window_bytes = 20000},
                 (struct jzx__link_config){.incarnation = 1});
    for (int i = 0; i < 50; i++)
        JZX_EXPECT_EQ(jzx__link_send(&pair.a.link, bytes, sizeof bytes), JZX_OK);
    pair.a.loses = true;
    carry(&pair, &pair.a, &pair.b);
    JZX_EXPECT_EQ(pair.a.link.flight_bytes, 20000);
    pair.a.loses = false;
    run(&pair, 1000 * MS);
    JZX_EXPECT_EQ(pair.b.messages, 50);
    close_pair(&pair);
}

JZX_TEST(a_peer_that_missed_the_proof_gets_it_with_its_next_hello) {
    struct pair pair = {.now = 1000 * MS};
    start(&pair, &pair.a, (struct jzx__link_config){.incarnation = 1});
    start(&pair, &pair.b, (struct jzx__link_config){.incarnation = 1});
    carry(&pair, &pair.a, &pair.b); /* a's tag */
    carry(&pair, &pair.b, &pair.a); /* b's tag, and the proof for a */
    pair.a.loses = true;
    carry(&pair, &pair.a, &pair.b); /* the proof for b is lost */
    pair.a.loses = false;
    JZX_EXPECT(pair.a.ups == 1 && pair.b.ups == 0);
    run(&pair, 49 * MS);
    JZX_EXPECT_EQ(pair.b.ups, 0);
    run(&pair, 1 * MS);
    JZX_EXPECT_EQ(pair.b.ups, 1);
    close_pair(&pair);
}

static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

JZX_TEST(mutated_frames_keep_every_invariant_and_the_bound_of_memory) {
    uint64_t random = 0x2545F4914F6CDD1Du;
    const uint64_t rounds = jzx_test_rounds(2000, 200000);
    for (uint64_t n = 0; n < rounds; n++) {
        struct pair pair;
        static const char bytes[2000];
        uint8_t frame[JZX__FRAME_MAX];
        const struct jzx__link_config config = {.incarnation = 1,
                                                .frame_max = 512,
                                                .message_max = 2000,
                                                .window_bytes = 4000,
                                                .queue_bytes = 8000};
        connect_with(&pair, config, config);
        for (int i = 0; i < 8; i++) {
            (void)jzx__link_send(&pair.b.link, bytes, next_random(&random) % sizeof bytes);
            (void)jzx__link_send(&pair.a.link, bytes, 10);
            size_t size = jzx__link_output(&pair.b.link, pair.now, frame, sizeof frame);
            for (uint64_t m = next_random(&random) % 3; m > 0 && size > 0; m--)
                frame[next_random(&random) % (size < 56 ? size : 56)] =
                    (uint8_t)(next_random(&random) >> (next_random(&random) % 56));
            if (next_random(&random) % 8 == 0)
                size = next_random(&random) % (size + 1);
            uint8_t *copy = malloc(size > 0 ? size : 1); /* a sanitizer sees a read beyond it */
            memcpy(copy, frame, size);
            jzx__link_receive(&pair.a.link, pair.now, copy, size);
            free(copy);
            carry(&pair, &pair.a, &pair.b);
            pair.now += next_random(&random) % (200 * MS);
            jzx__link_poll(&pair.b.link, pair.now);
        }
        if (!JZX_EXPECT(pair.a.memory_max <= 8000 + 2000))
            return;
        close_pair(&pair);
    }
}

JZX_TEST(a_link_without_further_epochs_stays_down) {
    struct pair pair;
    connect_with(&pair, (struct jzx__link_config){.incarnation = 1, .epoch = UINT32_MAX},
                 (struct jzx__link_config){.incarnation = 1});
    JZX_EXPECT_EQ(pair.a.ups, 1);
    jzx__link_deinit(&pair.b.link);
    start(&pair, &pair.b, (struct jzx__link_config){.incarnation = 2});
    run(&pair, 10000 * MS);
    JZX_EXPECT(pair.a.downs == 1 && pair.a.ups == 1 && pair.b.ups == 0);
    JZX_EXPECT_EQ(jzx__link_send(&pair.a.link, "x", 1), JZX_ERR_UNREACHABLE);
    close_pair(&pair);
}

JZX_TEST(bad_configurations_are_refused) {
    const struct jzx__link_config bad[] = {
        {.incarnation = 0},
        {.incarnation = 1, .frame_max = JZX__FRAME_MAX + 1},
        {.incarnation = 1, .frame_max = JZX__FRAME_MIN_MAX - 1},
        {.incarnation = 1, .window_bytes = 1000},
        {.incarnation = 1, .version = 256},
        {.incarnation = 1, .message_max = UINT32_MAX},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct jzx__link link;
        const struct jzx__link_hooks hooks = {NULL, allocate, release, on_event};
        JZX_EXPECT_EQ(jzx__link_init(&link, &bad[i], &hooks, 0), JZX_ERR_INVALID_ARG);
    }
}
