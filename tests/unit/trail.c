/* SPDX-License-Identifier: MIT */
/* Hints for who takes an inbox: a node says where the one lies that was pushed a trail earlier. */
#include "rig.h"

#define MANY (3 * JZX__TRAIL_LENGTH)

/* A line, as the block of a node is. */
struct line {
    _Alignas(JZX_CACHE_LINE) struct jzx__node node;
    char room[JZX_CACHE_LINE - sizeof(struct jzx__node)];
};

static struct line lines[MANY];

static const struct jzx__node *trail(char task, unsigned i) {
    return jzx__worker_trail(rig_worker(), rig_task(task), &lines[i].node);
}

/* As a send to another worker's task does. */
static const struct jzx__node *push(char task, unsigned i) {
    lines[i].node = (struct jzx__node){.weight = 1};
    const struct jzx__node *hint = trail(task, i);
    if (hint != NULL)
        jzx__node_set_hint(&lines[i].node, hint);
    JZX_EXPECT(jzx__task_push(rig_task(task), &lines[i].node, MANY) <= JZX__PUSH_OK_INJECT);
    return hint;
}

JZX_TEST(a_node_hints_at_the_one_that_was_pushed_a_trail_earlier) {
    rig_open();
    for (unsigned i = 0; i < MANY; i++)
        JZX_EXPECT(push('a', i) ==
                   (i < JZX__TRAIL_LENGTH ? NULL : &lines[i - JZX__TRAIL_LENGTH].node));
    rig_close();
}

JZX_TEST(a_trail_ends_where_the_inbox_was_taken) {
    rig_open();
    for (unsigned i = 0; i < JZX__TRAIL_LENGTH; i++)
        push('a', i);
    jzx__task_take(rig_task('a'));
    for (unsigned i = JZX__TRAIL_LENGTH; i < 2 * JZX__TRAIL_LENGTH; i++)
        JZX_EXPECT(push('a', i) == NULL);
    JZX_EXPECT(push('a', 2 * JZX__TRAIL_LENGTH) == &lines[JZX__TRAIL_LENGTH].node);
    rig_close();
}

JZX_TEST(a_trail_leads_to_nodes_of_one_task) {
    rig_open();
    for (unsigned i = 0; i < MANY; i++)
        JZX_EXPECT(push(i % 2 == 0 ? 'a' : 'b', i) == NULL);
    rig_close();
}

JZX_TEST(who_takes_an_inbox_finds_order_and_content_as_without_hints) {
    rig_open();
    for (unsigned i = 0; i < MANY; i++)
        push('a', i);
    JZX_EXPECT((lines[MANY - 1].node.flags & JZX__NODE_HINTED) != 0);
    unsigned taken = 0;
    for (struct jzx__node *node = jzx__task_take(rig_task('a')); node != NULL; node = node->next) {
        JZX_EXPECT(node == &lines[taken++].node);
        JZX_EXPECT(jzx__node_is_plain(node));
    }
    JZX_EXPECT_EQ(taken, MANY);
    rig_close();
}
