/* SPDX-License-Identifier: MIT */
/* What the tests of questions share: an asker that writes down what comes and does in its own turn
 * what the test hands it, and a desk that answers as the tag of the question says. */
#ifndef JZX_API_ASKING_H
#define JZX_API_ASKING_H

#include "timing.h"

#include <jzx/ask.h>

#define HEARD_MAX 20000u
#define KEPT_MAX 20000u

/* Tags of questions: what the desk does with them. Its answer has the tag ANSWER and the data of
 * the question. */
enum {
    NOW = 1, /* answers at once */
    TWICE,   /* answers, and tries again; and again by the handle */
    KEEP,    /* keeps the handle */
    TAKE,    /* keeps the handle and takes the message */
    ASIDE,   /* stashes it, to be answered after OPEN */
    DIE,     /* ends without an answer */
    OPEN,
    PLAIN, /* no question */
    ANSWER = 100
};

struct heard {
    uint64_t at_ns;
    uint64_t ref;
    jzx_actor_id sender;
    size_t len;
    uint32_t tag;
    uint32_t number; /* the first four bytes of the data */
};

struct asker {
    struct heard heard[HEARD_MAX];
    uint32_t count;
    uint64_t refs[HEARD_MAX];
    uint32_t asked;
    jzx_actor_id desk;
    jzx_behavior_result (*then)(jzx_context *ctx, const jzx_message *msg);
};

struct desk {
    jzx_ask_handle kept[KEPT_MAX];
    void *taken[16];
    uint32_t kept_count;
    uint32_t taken_count;
    bool open;
};

static inline jzx_behavior_result be_asker(jzx_context *ctx, const jzx_message *msg) {
    struct asker *self = ctx->state;
    if (msg->tag == TAG_DO) {
        turn_fn fn;
        memcpy(&fn, msg->data, sizeof fn);
        JZX_EXPECT_EQ(jzx_ask_ref(ctx), 0);
        jzx_test_ran();
        fn(ctx);
        return JZX_BEHAVIOR_OK;
    }
    if (JZX_EXPECT(self->count < HEARD_MAX)) {
        struct heard *heard = &self->heard[self->count++];
        *heard = (struct heard){.at_ns = jzx_loop_now(ctx->loop),
                                .ref = jzx_ask_ref(ctx),
                                .sender = msg->sender,
                                .len = msg->len,
                                .tag = msg->tag};
        if (msg->tag == ANSWER && msg->len >= sizeof heard->number)
            memcpy(&heard->number, msg->data, sizeof heard->number);
    }
    return self->then != NULL ? self->then(ctx, msg) : JZX_BEHAVIOR_OK;
}

/* Answers with what was asked. */
static inline jzx_err echo(jzx_context *ctx, const jzx_message *msg) {
    return jzx_reply(ctx, msg, msg->data, msg->len, ANSWER);
}

static inline void answer_twice(jzx_context *ctx, const jzx_message *msg) {
    jzx_ask_handle handle = jzx_ask_from(ctx, msg);
    JZX_EXPECT_EQ(echo(ctx, msg), JZX_OK);
    JZX_EXPECT_EQ(echo(ctx, msg), JZX_ERR_INVALID_ARG);
    JZX_EXPECT_EQ(jzx_ask_from(ctx, msg).ref, 0);
    JZX_EXPECT_EQ(jzx_reply_to(ctx->loop, handle, ctx->self, NULL, 0, ANSWER), JZX_OK);
}

static inline jzx_behavior_result be_desk(jzx_context *ctx, const jzx_message *msg) {
    struct desk *self = ctx->state;
    jzx_ask_handle handle = jzx_ask_from(ctx, msg);
    bool is_question = msg->tag < OPEN;
    JZX_EXPECT_EQ(handle.ref != 0, is_question);
    JZX_EXPECT_EQ(handle.asker, is_question ? msg->sender : JZX_NOBODY);
    JZX_EXPECT_EQ(jzx_ask_ref(ctx), 0); /* it is no answer */
    switch (msg->tag) {
    case NOW: JZX_EXPECT_EQ(echo(ctx, msg), JZX_OK); break;
    case TWICE: answer_twice(ctx, msg); break;
    case TAKE:
        self->taken[self->taken_count++] = jzx_msg_take(ctx, msg);
        JZX_EXPECT_EQ(jzx_reply(ctx, msg, NULL, 0, ANSWER), JZX_ERR_INVALID_ARG);
        self->kept[self->kept_count++] = handle;
        break;
    case KEEP: self->kept[self->kept_count++] = handle; break;
    case ASIDE:
        if (self->open)
            JZX_EXPECT_EQ(echo(ctx, msg), JZX_OK);
        else
            JZX_EXPECT_EQ(jzx_stash(ctx, msg), JZX_OK);
        JZX_EXPECT_EQ(echo(ctx, msg), JZX_ERR_INVALID_ARG);
        break;
    case DIE: return JZX_BEHAVIOR_STOP;
    case OPEN:
        self->open = true;
        jzx_unstash(ctx);
        break;
    default: JZX_EXPECT_EQ(echo(ctx, msg), JZX_ERR_INVALID_ARG); break;
    }
    return JZX_BEHAVIOR_OK;
}

/* Asks the desk, in the asker's turn; the data is a number of len bytes. */
static inline uint64_t ask_with(jzx_context *ctx, uint32_t tag, size_t len, uint64_t timeout_ns) {
    struct asker *self = ctx->state;
    static const char zeros[70000];
    char data[sizeof zeros];
    uint64_t ref = 0;
    memcpy(data, zeros, len);
    memcpy(data, &self->asked, len < sizeof self->asked ? len : sizeof self->asked);
    if (JZX_EXPECT_EQ(jzx_ask(ctx, self->desk, data, len, tag, timeout_ns, &ref), JZX_OK)) {
        JZX_EXPECT(ref != 0);
        self->refs[self->asked++] = ref;
    }
    return ref;
}

static inline uint64_t ask(jzx_context *ctx, uint32_t tag, uint64_t timeout_ns) {
    return ask_with(ctx, tag, sizeof(uint32_t), timeout_ns);
}

/* A loop on a manual clock, with an asker and a desk. */
struct asking {
    struct timing timing;
    struct asker *asker;
    struct desk *desk;
    jzx_actor_id asker_id;
    jzx_actor_id desk_id;
};

static inline struct asking asking_open_with(const jzx_config *config) {
    static struct asker asker;
    static struct desk desk;
    struct asking asking = {.timing = timing_open_with(0, config), .asker = &asker, .desk = &desk};
    memset(&asker, 0, sizeof asker);
    memset(&desk, 0, sizeof desk);
    asking.asker_id =
        fixture_spawn(asking.timing.loop, &JZX_SPAWN_OPTS(.behavior = be_asker, .state = &asker));
    asking.desk_id =
        fixture_spawn(asking.timing.loop, &JZX_SPAWN_OPTS(.behavior = be_desk, .state = &desk));
    asker.desk = asking.desk_id;
    timing_step(&asking.timing);
    return asking;
}

static inline struct asking asking_open(void) {
    return asking_open_with(NULL);
}

static inline void asking_do(const struct asking *asking, turn_fn fn) {
    timing_do(&asking->timing, asking->asker_id, fn);
}

static inline void asking_advance(const struct asking *asking, uint64_t duration_ns) {
    timing_advance(&asking->timing, duration_ns);
}

/* No timer is left, and nothing waits. */
static inline void asking_close(struct asking *asking) {
    JZX_EXPECT_EQ(timing_pending(asking->timing.loop), 0);
    JZX_EXPECT_EQ(fixture_stats(asking->timing.loop).waiting, 0);
    timing_close(&asking->timing);
}

static inline void expect_heard(const struct asking *asking, uint32_t index, uint32_t tag,
                                uint32_t question) {
    const struct heard *heard = &asking->asker->heard[index];
    if (!JZX_EXPECT(index < asking->asker->count))
        return;
    JZX_EXPECT_EQ(heard->tag, tag);
    JZX_EXPECT_EQ(heard->ref, asking->asker->refs[question]);
    JZX_EXPECT_EQ(heard->sender, asking->desk_id);
    if (tag == ANSWER)
        JZX_EXPECT_EQ(heard->number, question);
}

#endif
