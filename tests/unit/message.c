/* SPDX-License-Identifier: MIT */
/* Blocks of messages: the right class for every length, one release and one destructor call each
 * (M1, M2), and what becomes of those that nobody handles. */
#include "actor/message.h"

#include "fixture.h"

#include <pthread.h>
#include <string.h>

static jzx_loop *loop;
static struct jzx__drive drive;

/* What the destructor saw. */
static uint32_t destroyed;
static void *destroyed_data;
static size_t destroyed_len;

static void note_destroyed(void *data, size_t len) {
    destroyed++;
    destroyed_data = data;
    destroyed_len = len;
}

/* What the observer saw. */
static uint32_t event_count;
static jzx_event last_event;

/* Becomes the thread that drives a new loop. */
static struct jzx__worker *open_loop(void) {
    destroyed = 0;
    event_count = 0;
    loop = fixture_loop();
    assert_true(jzx__loop_enter(loop, &drive));
    return loop->sched.workers[0];
}

static void close_loop(void) {
    jzx__loop_leave(loop, &drive);
    fixture_destroy(loop); /* at the end of the test all memory must be back */
}

#define HEADER sizeof(struct jzx__message)

/* Around every boundary between classes, with and without room for a destructor. */
static size_t boundary_length(size_t i) {
    static const int around[] = {-9, -8, -7, -1, 0, 1};
    size_t block = JZX__BLOCK_SIZE_MIN << (i / 6);
    return block - HEADER + (size_t)around[i % 6];
}

#define BOUNDARY_COUNT (6 * (JZX__SLAB_CLASS_COUNT + 2))

static size_t smallest_class(size_t need) {
    size_t class_index = 0;
    while (class_index < JZX__SLAB_CLASS_COUNT && JZX__BLOCK_SIZE_MIN << class_index < need)
        class_index++;
    return class_index;
}

/* A message of len bytes is in the right class, holds its payload and has one destructor call. */
static void live_and_die(struct jzx__worker *me, size_t len, jzx_msg_destructor destructor) {
    struct jzx__message *message = destructor == NULL
                                       ? jzx__message_create(loop, me, len)
                                       : jzx__message_create_large(loop, me, len, destructor);
    assert_non_null(message);
    size_t need = HEADER + len + (destructor != NULL ? sizeof destructor : 0);
    JZX_EXPECT_EQ(message->node.size_class, smallest_class(need));
    JZX_EXPECT_EQ(message->node.flags, destructor != NULL ? JZX__TRAILER_DESTRUCTOR : 0);
    JZX_EXPECT_EQ(message->len, len);
    JZX_EXPECT_EQ((uintptr_t)message % 64, 0);
    JZX_EXPECT_EQ((uintptr_t)message->payload % _Alignof(max_align_t), 0);
    JZX_EXPECT(jzx__message_size_bytes(message) >= need);
    JZX_EXPECT(jzx__message_of_data(message->payload) == message);
    JZX_EXPECT(jzx__message_of(&message->node) == message);
    void *data = message->payload;
    memset(data, 0xFF, len); /* the whole payload is the user's */
    uint32_t before = destroyed;
    jzx__message_destroy(loop, me, message);
    JZX_EXPECT_EQ(destroyed - before, destructor != NULL ? 1 : 0);
    if (destructor != NULL) {
        JZX_EXPECT(destroyed_data == data);
        JZX_EXPECT_EQ(destroyed_len, len);
    }
}

JZX_TEST(every_length_gets_the_smallest_block_and_one_destructor_call) {
    struct jzx__worker *me = open_loop();
    live_and_die(me, 0, NULL);
    live_and_die(me, 0, note_destroyed);
    for (size_t i = 0; i < BOUNDARY_COUNT; i++) {
        live_and_die(me, boundary_length(i), NULL);
        live_and_die(me, boundary_length(i), note_destroyed);
        live_and_die(NULL, boundary_length(i), NULL); /* as other threads do */
        live_and_die(NULL, boundary_length(i), note_destroyed);
    }
    close_loop();
}

JZX_TEST(a_payload_of_32_bytes_is_one_cache_line) {
    struct jzx__worker *me = open_loop();
    struct jzx__message *small = jzx__message_create(loop, me, JZX_MSG_INLINE);
    struct jzx__message *next = jzx__message_create(loop, me, JZX_MSG_INLINE + 1);
    JZX_EXPECT_EQ(jzx__message_size_bytes(small), 64);
    JZX_EXPECT_EQ(jzx__message_size_bytes(next), 128);
    jzx__message_destroy(loop, me, small);
    jzx__message_destroy(loop, me, next);
    close_loop();
}

JZX_TEST(a_released_block_serves_the_next_message_of_its_class) {
    struct jzx__worker *me = open_loop();
    for (size_t i = 0; i < BOUNDARY_COUNT; i++) {
        size_t len = boundary_length(i);
        struct jzx__message *first = jzx__message_create(loop, me, len);
        uint8_t class_index = first->node.size_class;
        jzx__message_destroy(loop, me, first);
        if (class_index == JZX__MSG_LARGE)
            continue;
        struct jzx__message *second = jzx__message_create(loop, me, len);
        JZX_EXPECT(second == first);
        jzx__message_destroy(loop, me, second);
    }
    close_loop();
}

JZX_TEST(what_a_block_held_before_does_not_matter) {
    struct jzx__worker *me = open_loop();
    for (uint32_t c = 0; c < JZX__SLAB_CLASS_COUNT; c++) {
        void *block = jzx__sched_alloc(&loop->sched, me, c);
        assert_non_null(block);
        memset(block, 0xFF, jzx__slab_class_size(c));
        jzx__sched_free(&loop->sched, me, c, block);
        live_and_die(me, jzx__slab_class_size(c) - HEADER, NULL); /* expects its class and flags */
    }
    close_loop();
}

JZX_TEST(messages_up_to_4_kib_ask_for_no_memory_once_there_were_some) {
    struct jzx__worker *me = open_loop();
    uint64_t settled = 0;
    for (int round = 0; round < 50; round++) {
        struct jzx__message *held[40];
        for (uint32_t i = 0; i < 40; i++)
            held[i] = jzx__message_create(loop, i % 3 == 0 ? NULL : me, i * 101);
        for (uint32_t i = 0; i < 40; i++)
            jzx__message_destroy(loop, i % 2 == 0 ? NULL : me, held[i]); /* on either side */
        if (round == 9)
            settled = fixture_allocations();
    }
    JZX_EXPECT_EQ(fixture_allocations(), settled);
    close_loop();
}

JZX_TEST(a_large_message_is_one_block_of_the_hooks_and_goes_back_at_once, "C17") {
    struct jzx__worker *me = open_loop();
    static const size_t lengths[] = {4096 - HEADER + 1, 4096, 100000, 1 << 20};
    for (size_t i = 0; i < 4; i++) {
        for (int with = 0; with <= 1; with++) {
            uint64_t calls = fixture_allocations();
            uint64_t bytes = fixture_bytes();
            struct jzx__message *message =
                jzx__message_create_large(loop, me, lengths[i], with ? note_destroyed : NULL);
            assert_non_null(message);
            JZX_EXPECT_EQ(message->node.size_class, JZX__MSG_LARGE);
            JZX_EXPECT_EQ(fixture_allocations(), calls + 1);
            JZX_EXPECT(fixture_bytes() >= bytes + lengths[i]);
            memset(message->payload, 0xFF, lengths[i]);
            jzx__message_destroy(loop, me, message);
            JZX_EXPECT_EQ(fixture_bytes(), bytes);
        }
    }
    JZX_EXPECT_EQ(destroyed, 4);
    close_loop();
}

JZX_TEST(without_memory_there_is_no_message_and_the_next_try_may_succeed, "C17") {
    struct jzx__worker *me = open_loop();
    static const size_t lengths[] = {0, 32, 33, 4000, 5000, 100000};
    for (size_t i = 0; i < 6; i++) {
        fixture_fail_allocations(0, 1);
        struct jzx__message *message = jzx__message_create(loop, me, lengths[i]);
        if (message == NULL) { /* unless a block was there */
            message = jzx__message_create(loop, me, lengths[i]);
        } else {
            JZX_EXPECT(i == 1);
        }
        fixture_fail_allocations(UINT64_MAX, 0);
        assert_non_null(message);
        jzx__message_destroy(loop, me, message);
    }
    fixture_fail_allocations(0, 1);
    JZX_EXPECT(jzx_msg_alloc(loop, 100000, note_destroyed) == NULL);
    fixture_fail_allocations(UINT64_MAX, 0);
    JZX_EXPECT_EQ(destroyed, 0);
    close_loop();
}

/* ---- buffers of the caller ---- */

JZX_TEST(a_buffer_knows_its_length_and_calls_its_destructor_once) {
    open_loop();
    static const size_t lengths[] = {0, 1, 24, 25, 32, 33, 4056, 4064, 4065, 100000};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        void *data = jzx_msg_alloc(loop, lengths[i], note_destroyed);
        assert_non_null(data);
        JZX_EXPECT_EQ(jzx_msg_len(data), lengths[i]);
        memset(data, 0xEE, lengths[i]);
        JZX_EXPECT_EQ(destroyed, i);
        jzx_msg_free(loop, data);
        JZX_EXPECT_EQ(destroyed, i + 1);
        JZX_EXPECT(destroyed_data == data);
        JZX_EXPECT_EQ(destroyed_len, lengths[i]);
    }
    close_loop();
}

JZX_TEST(a_buffer_that_cannot_be_is_refused_and_none_can_be_freed) {
    open_loop();
    uint64_t before = fixture_allocations();
    JZX_EXPECT(jzx_msg_alloc(loop, (size_t)JZX_MSG_LEN_MAX + 1, NULL) == NULL);
    JZX_EXPECT(jzx_msg_alloc(loop, SIZE_MAX, NULL) == NULL);
    JZX_EXPECT(jzx_msg_alloc(loop, SIZE_MAX - HEADER, note_destroyed) == NULL);
    JZX_EXPECT(jzx_msg_alloc(NULL, 1, NULL) == NULL);
    JZX_EXPECT_EQ(fixture_allocations(), before);
    jzx_msg_free(loop, NULL);
    jzx_msg_free(NULL, NULL);
    JZX_EXPECT_EQ(jzx_msg_len(NULL), 0);
    close_loop();
}

static void *use_buffers(void *ctx) {
    (void)ctx;
    for (size_t i = 0; i < 5000; i++) {
        size_t len = i * 37 % 6000;
        char *data = jzx_msg_alloc(loop, len, NULL);
        if (!JZX_EXPECT(data != NULL))
            break;
        memset(data, (int)i, len);
        JZX_EXPECT(len == 0 || data[len - 1] == (char)i);
        jzx_msg_free(loop, data);
    }
    return NULL;
}

JZX_TEST(every_thread_may_make_and_free_buffers) {
    pthread_t threads[3];
    open_loop();
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use_buffers, NULL), 0);
    use_buffers(NULL); /* on the driving thread as well */
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    close_loop();
}

/* ---- dead letters ---- */

static void keep_event(void *ctx, const jzx_event *event) {
    (void)ctx;
    event_count++;
    last_event = *event;
    JZX_EXPECT_EQ(destroyed, event_count - 1); /* its payload is still there */
}

static void bury_one(struct jzx__worker *me) {
    struct jzx__message *message = jzx__message_create_large(loop, me, 12, note_destroyed);
    assert_non_null(message);
    message->sender = jzx_make_id(3, 4);
    message->tag = 77;
    jzx__counter_add(&me->counters.accepted, 1); /* M3: it was in a mailbox */
    jzx__message_bury(loop, me, message, jzx_make_id(1, 2), "nobody");
}

JZX_TEST(a_buried_message_is_counted_shown_and_released_once) {
    struct jzx__worker *me = open_loop();
    jzx_observer observer = {.size = sizeof observer, .on_event = keep_event};
    jzx__observer_set(&loop->observer, &observer, NULL);
    bury_one(me);
    JZX_EXPECT_EQ(fixture_stats(loop).dead, 1);
    JZX_EXPECT_EQ(destroyed, 1);
    JZX_EXPECT_EQ(event_count, 1);
    JZX_EXPECT_EQ(last_event.kind, JZX_EVENT_DEAD_LETTER);
    JZX_EXPECT_EQ(last_event.actor, jzx_make_id(1, 2));
    JZX_EXPECT_EQ(last_event.sender, jzx_make_id(3, 4));
    JZX_EXPECT_EQ(last_event.tag, 77);
    JZX_EXPECT_EQ(last_event.len, 12);
    assert_string_equal(last_event.name, "nobody");
    jzx__observer_set(&loop->observer, NULL, NULL);
    bury_one(me); /* and without an observer */
    JZX_EXPECT_EQ(fixture_stats(loop).dead, 2);
    JZX_EXPECT_EQ(destroyed, 2);
    close_loop();
}
