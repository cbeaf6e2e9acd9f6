/* SPDX-License-Identifier: MIT */
/* The queue with many producers: what is taken is oldest first, and nothing is lost or seen twice.
 */
#include "base/mpsc.h"

#include "base/compiler.h"

#include "jzx_test.h"

#include <pthread.h>
#include <stdlib.h>

struct item {
    struct jzx__mpsc_node node;
    uint32_t producer;
    uint64_t number;
};

static struct item *item_of(struct jzx__mpsc_node *node) {
    return JZX_CONTAINER_OF(node, struct item, node);
}

JZX_TEST(a_new_queue_is_empty) {
    struct jzx__mpsc queue;
    jzx__mpsc_init(&queue);
    JZX_EXPECT(jzx__mpsc_is_empty(&queue));
    JZX_EXPECT(jzx__mpsc_is_empty_seq_cst(&queue));
    JZX_EXPECT(jzx__mpsc_take_all(&queue) == NULL);
}

JZX_TEST(everything_is_taken_at_once_oldest_first) {
    struct jzx__mpsc queue;
    struct item items[5];
    jzx__mpsc_init(&queue);
    for (uint32_t count = 1; count <= 5; count++) {
        for (uint32_t i = 0; i < count; i++) {
            items[i].number = i;
            jzx__mpsc_push(&queue, &items[i].node);
            JZX_EXPECT(!jzx__mpsc_is_empty(&queue));
            JZX_EXPECT(!jzx__mpsc_is_empty_seq_cst(&queue));
        }
        struct jzx__mpsc_node *node = jzx__mpsc_take_all(&queue);
        JZX_EXPECT(jzx__mpsc_is_empty(&queue));
        for (uint32_t i = 0; i < count; i++) {
            assert_non_null(node);
            JZX_EXPECT_EQ(item_of(node)->number, i);
            node = node->next;
        }
        JZX_EXPECT(node == NULL);
    }
}

#define PRODUCER_COUNT 4u

struct producer {
    struct jzx__mpsc *queue;
    struct item *items;
    uint64_t count;
    uint32_t index;
};

static void *produce(void *ctx) {
    struct producer *producer = ctx;
    for (uint64_t i = 0; i < producer->count; i++) {
        producer->items[i].producer = producer->index;
        producer->items[i].number = i;
        jzx__mpsc_push(producer->queue, &producer->items[i].node);
    }
    return NULL;
}

/* Takes one batch and checks that each producer's numbers go on where they stopped. */
static uint64_t consume(struct jzx__mpsc *queue, uint64_t expected[PRODUCER_COUNT]) {
    uint64_t count = 0;
    struct jzx__mpsc_node *node = jzx__mpsc_take_all(queue);
    while (node != NULL) {
        struct item *item = item_of(node);
        node = node->next;
        JZX_EXPECT_EQ(item->number, expected[item->producer]);
        expected[item->producer] = item->number + 1;
        count++;
    }
    return count;
}

JZX_TEST(each_producer_is_heard_in_order_and_nothing_is_lost) {
    struct jzx__mpsc queue;
    struct producer producers[PRODUCER_COUNT];
    pthread_t threads[PRODUCER_COUNT];
    uint64_t expected[PRODUCER_COUNT] = {0};
    const uint64_t each = jzx_test_rounds(20000, 1000000);
    jzx__mpsc_init(&queue);
    for (uint32_t i = 0; i < PRODUCER_COUNT; i++) {
        struct item *items = calloc(each, sizeof *items);
        assert_non_null(items);
        producers[i] = (struct producer){&queue, items, each, i};
    }
    for (uint32_t i = 0; i < PRODUCER_COUNT; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, produce, &producers[i]), 0);
    uint64_t got = 0;
    while (got < each * PRODUCER_COUNT)
        got += consume(&queue, expected);
    for (uint32_t i = 0; i < PRODUCER_COUNT; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        JZX_EXPECT_EQ(expected[i], each);
        free(producers[i].items);
    }
    JZX_EXPECT(jzx__mpsc_take_all(&queue) == NULL);
}
