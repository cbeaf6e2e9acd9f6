/* SPDX-License-Identifier: MIT */
/* The owner's side of a mailbox that drops the oldest, from inside: what a drop looks at. */
#include "actor/mailbox.h"

#include "fixture.h"

#define TARGETS 6u
#define CAP 4u

static jzx_actor_id receiver;
static jzx_actor_id targets[TARGETS];

static jzx_behavior_result ignore(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    (void)msg;
    return JZX_BEHAVIOR_OK;
}

/* Behind TARGETS messages of the runtime, which no bound counts, one too many of its own. A drop
 * that walked would meet the first of them, which claims to count, and drop it. */
static jzx_behavior_result overfill(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    struct jzx__actor *actor = jzx__table_lookup(&ctx->loop->table, receiver);
    for (uint32_t i = 0; i < TARGETS; i++)
        JZX_EXPECT_EQ(jzx_send_when_room(ctx->loop, targets[i], receiver), JZX_OK);
    for (uint32_t i = 0; i <= CAP; i++)
        JZX_EXPECT_EQ(jzx_send(ctx->loop, receiver, ctx->self, NULL, 0, i), JZX_OK);
    struct jzx__node *first = actor->task.head;
    if (!JZX_EXPECT(first != NULL && first->weight == 0))
        return JZX_BEHAVIOR_STOP;
    first->weight = 1;
    for (uint32_t i = 1; i <= 100; i++)
        JZX_EXPECT_EQ(jzx_send(ctx->loop, receiver, ctx->self, NULL, 0, CAP + i), JZX_OK);
    JZX_EXPECT(actor->task.head == first);
    first->weight = 0;
    JZX_EXPECT_EQ(actor->task.pending, CAP);
    return JZX_BEHAVIOR_STOP;
}

JZX_TEST(a_drop_does_not_look_again_at_what_it_has_passed, "C13", "C28") {
    static struct recorder log;
    jzx_loop *loop = fixture_loop();
    receiver =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = record, .state = &log, .mailbox_cap = CAP,
                                            .on_full = JZX_FULL_DROP_OLDEST));
    for (uint32_t i = 0; i < TARGETS; i++)
        targets[i] = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = ignore));
    jzx_actor_id source = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = overfill));
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    fixture_send(loop, source, 1);
    assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
    assert_int_equal(log.count, TARGETS + CAP);
    for (uint32_t i = 0; i < CAP; i++)
        assert_int_equal(log.tags[TARGETS + i], CAP + 100 - CAP + 1 + i);
    fixture_destroy(loop);
}

/* ---- against a model ---- */

/* What waits, oldest first; tag 0 is one of the runtime. */
struct waiting {
    uint32_t tags[4096];
    uint32_t first;
    uint32_t end;
};

struct juggler {
    struct waiting list;
    struct waiting stash;
    uint64_t seed;
    uint32_t next_tag;
    uint32_t rounds;
    uint32_t dropped;
};

static uint32_t roll(struct juggler *self, uint32_t sides) {
    self->seed = self->seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(self->seed >> 33) % sides;
}

static void put(struct waiting *waiting, uint32_t tag) {
    if (JZX_EXPECT(waiting->end < 4096))
        waiting->tags[waiting->end++] = tag;
}

static uint32_t users_in(const struct waiting *waiting) {
    uint32_t count = 0;
    for (uint32_t i = waiting->first; i < waiting->end; i++)
        count += waiting->tags[i] != 0;
    return count;
}

static void drop(struct waiting *waiting) {
    uint32_t i = waiting->first;
    while (waiting->tags[i] == 0)
        i++;
    for (; i + 1 < waiting->end; i++)
        waiting->tags[i] = waiting->tags[i + 1];
    waiting->end--;
}

/* The stash goes to the front. */
static void put_back(struct juggler *self) {
    struct waiting all = self->stash;
    for (uint32_t i = self->list.first; i < self->list.end; i++)
        put(&all, self->list.tags[i]);
    self->list = all;
    self->stash = (struct waiting){0};
}

static void add_some(jzx_context *ctx, struct juggler *self) {
    for (uint32_t n = roll(self, 12); n > 0; n--) {
        if (roll(self, 2) == 0) {
            JZX_EXPECT_EQ(jzx_send_when_room(ctx->loop, targets[roll(self, TARGETS)], ctx->self),
                          JZX_OK);
            put(&self->list, 0);
        } else {
            uint32_t tag = self->next_tag++;
            JZX_EXPECT_EQ(jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, tag), JZX_OK);
            put(&self->list, tag);
            if (users_in(&self->list) > CAP) { /* so many that wait, and the new one */
                drop(&self->list);
                self->dropped++;
            }
        }
    }
}

static jzx_behavior_result juggle(jzx_context *ctx, const jzx_message *msg) {
    struct juggler *self = ctx->state;
    uint32_t tag = msg->tag >= JZX_TAG_RESERVED ? 0 : msg->tag;
    if (!JZX_EXPECT(self->list.first < self->list.end) ||
        !JZX_EXPECT_EQ(tag, self->list.tags[self->list.first]))
        return JZX_BEHAVIOR_STOP;
    self->list.first++;
    if (self->rounds == 0)
        return JZX_BEHAVIOR_OK; /* the rest is handled */
    if (--self->rounds != 0 && roll(self, 3) == 0) {
        JZX_EXPECT_EQ(jzx_stash(ctx, msg), JZX_OK);
        put(&self->stash, tag);
    }
    if (self->rounds == 0 || roll(self, 6) == 0) {
        jzx_unstash(ctx);
        put_back(self);
    }
    if (self->rounds != 0)
        add_some(ctx, self);
    if (self->list.first == self->list.end && self->rounds != 0) {
        JZX_EXPECT_EQ(jzx_send(ctx->loop, ctx->self, ctx->self, NULL, 0, self->next_tag), JZX_OK);
        put(&self->list, self->next_tag++);
    }
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(drop_oldest_works_among_runtime_messages_and_a_stash, "C13", "C+inv") {
    for (uint64_t seed = 1; seed <= 50; seed++) {
        static struct juggler self;
        self = (struct juggler){.seed = seed, .next_tag = 2, .rounds = 300};
        jzx_loop *loop = fixture_loop();
        jzx_actor_id id = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = juggle, .state = &self,
                                                              .mailbox_cap = CAP, .stash_cap = 4096,
                                                              .on_full = JZX_FULL_DROP_OLDEST));
        for (uint32_t i = 0; i < TARGETS; i++)
            targets[i] = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = ignore));
        assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
        put(&self.list, 1);
        fixture_send(loop, id, 1);
        assert_int_equal(jzx_loop_step(loop, JZX_NEVER), JZX_OK);
        assert_int_equal(self.list.first, self.list.end);
        assert_int_equal(fixture_stats(loop).dead, self.dropped);
        assert_true(self.dropped > 20);
        fixture_destroy(loop);
    }
}
