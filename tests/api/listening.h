/* SPDX-License-Identifier: MIT */
/* A listener of supervisors that writes down what it is told, as a text and in full. */
#ifndef JZX_API_LISTENING_H
#define JZX_API_LISTENING_H

#include "supervising.h"

#define HEARD_MAX 4096u

struct heard {
    uint32_t tag;
    uint64_t at_ns;
    jzx_actor_id sender;
    jzx_child_event event;
};

static struct heard heard[HEARD_MAX];
static uint32_t heard_count;
static uint32_t heard_read; /* of which expect_heard has seen so many */

static inline jzx_behavior_result listen_to(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx;
    if (msg->tag != JZX_TAG_CHILD_EXIT && msg->tag != JZX_TAG_CHILD_RESTART)
        return msg->tag == TOY_STOP ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
    jzx_test_ran();
    JZX_EXPECT_EQ(msg->len, sizeof(jzx_child_event));
    if (!JZX_EXPECT(heard_count < HEARD_MAX))
        return JZX_BEHAVIOR_OK;
    struct heard *entry = &heard[heard_count++];
    *entry = (struct heard){.tag = msg->tag, .at_ns = jzx_loop_now(ctx->loop)};
    entry->sender = msg->sender;
    memcpy(&entry->event, msg->data, sizeof entry->event);
    JZX_EXPECT_EQ(entry->event.supervisor, msg->sender);
    return JZX_BEHAVIOR_OK;
}

static inline jzx_actor_id listener_spawn(const struct timing *timing, uint32_t mailbox_cap) {
    heard_count = heard_read = 0;
    jzx_actor_id id =
        fixture_spawn(timing->loop, &JZX_SPAWN_OPTS(.behavior = listen_to, .daemon = true,
                                                    .mailbox_cap = mailbox_cap));
    timing_step(timing);
    return id;
}

/* "-aF" an end with its reason; behind it what the child is then: '~' waits, '.' stopped, 'x'
 * exited, '!' failed; and '?' if it was asked to. "+a" a restart. */
static inline void heard_text(const struct heard *entry, char *text, size_t size) {
    static const char marks[] = "0123~.x!";
    const jzx_child_event *event = &entry->event;
    if (entry->tag == JZX_TAG_CHILD_RESTART)
        snprintf(text, size, "+%s ", event->name);
    else
        snprintf(text, size, "-%s%c%c%s ", event->name, reason_letter(event->reason),
                 marks[event->state], event->asked ? "?" : "");
}

/* What was heard since the last look. */
static inline bool expect_heard_at(const char *expected, const char *file, int line) {
    char all[8192] = "";
    for (; heard_read < heard_count; heard_read++) {
        char text[128];
        heard_text(&heard[heard_read], text, sizeof text);
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s", text);
    }
    bool same = strcmp(all, expected) == 0;
    if (!same)
        print_error("%s:%d: heard \"%s\", not \"%s\"\n", file, line, all, expected);
    jzx_test_expect(same, "what was heard is as expected", file, line);
    return same;
}
#define expect_heard(expected) expect_heard_at((expected), __FILE__, __LINE__)

static inline const jzx_child_event *last_heard(void) {
    assert_true(heard_count > 0);
    return &heard[heard_count - 1].event;
}

#endif
