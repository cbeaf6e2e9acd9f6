/* SPDX-License-Identifier: MIT */
/* src/sync/channel.c, select.c and to.c: threads that send, receive and select through the calls of
 * the header, with and without deadlines, and operations that wait in place of a thread, whose
 * slots are stubs here.
 *
 * What every scenario checks: each value that was sent is received once, in order, or still there
 * (C1, C3); what its sender did before is visible to its receiver; nobody waits beside a value or
 * room (C2), nor at a channel that is closed and empty (C4), which the engine reports as a thread
 * that sleeps for ever; an operation completes once, and what it was promised is taken or given
 * back, once (T1, T2). */
#include "scenarios.h"

#include "sync/channel.c"
#include "sync/to.c"

#include "actor/waitless.h"

#define O(number) ((uint64_t)1 << (number))

#define VALUES_MAX 4
#define CHANNELS 2
#define RING 4

static struct jzx_loop loop; /* only its clock and its address are used */

static struct {
    jzx_channel channels[CHANNELS];
    uint64_t rings[CHANNELS][RING];
    unsigned payload[VALUES_MAX]; /* what a value stands for: written by its sender */
    unsigned sent, received;
    unsigned timeouts, closed;
    unsigned by_index[CHANNELS];

    /* The operation. */
    struct jzx__op op;
    struct channel_to record;
    struct jzx__wait_link links[CHANNELS];
    _Atomic uint32_t is_cancelled;
    unsigned completed;
    jzx_err result;
} s;

/* ---- what the objects stand on ---- */

static struct jzx__channel *channel_at(unsigned number) {
    return jzx__channel_of(&s.channels[number]);
}

/* As jzx_channel_init, with a ring that is part of the state. */
static void open_channel(unsigned number, size_t capacity) {
    static const struct jzx__source_ops receiver_ops = {
        .look = look_for_value, .take = promise, .give_back = take_promise_back};
    static const struct jzx__source_ops sender_ops = {.look = look_for_room, .take = put};
    struct jzx__channel *channel = (void *)&s.channels[number];
    jzx_err err = jzx__object_init((void *)channel, &loop, JZX__SYNC_CHANNEL);
    MODEL_ASSERT(err == JZX_OK);
    channel->value_size = sizeof(uint64_t);
    channel->bound = channel->size = capacity;
    channel->ring = (unsigned char *)s.rings[number];
    jzx__lock_init(&channel->lock);
    jzx__source_init(&channel->receivers, &channel->lock, &receiver_ops);
    jzx__source_init(&channel->senders, &channel->lock, &sender_ops);
}

static void set_up(void) {
    jzx__seat_of_thread = &jzx__no_seat; /* a scenario before may have left one: nobody may wait */
    jzx__clock_init_manual(&loop.sched.clock, 1);
    loop.sched.clock.is_real = true; /* a deadline passes when the engine lets a futex time out */
    open_channel(0, 1);
    open_channel(1, 1);
}

/* ---- operations: the slot is the scenario's ---- */

void jzx__op_launch(struct jzx__op *op) {
    (void)op;
}

bool jzx__op_is_cancelled(struct jzx__op *op) {
    (void)op;
    return jzx__atomic_or_acq_rel(&s.is_cancelled, 0u) != 0;
}

void jzx__op_complete(struct jzx__op *op, struct jzx__worker *me, jzx_err err, const void *data,
                      size_t len) {
    (void)me, (void)data, (void)len;
    MODEL_ASSERT(op == &s.op);
    model_plain_write(&s.completed);
    MODEL_ASSERT(s.completed++ == 0); /* T1 */
    s.result = err;
}

jzx_err jzx__op_begin(struct jzx__own *own, const struct jzx__op_spec *spec, struct jzx__op **op) {
    (void)own, (void)spec, (void)op;
    return JZX_ERR_NO_MEMORY;
}

void jzx__op_undo(struct jzx__own *own, struct jzx__op *op) {
    (void)own, (void)op;
}

/* ---- values ---- */

static void send_to(unsigned number, uint64_t deadline_ns) {
    uint64_t value = s.sent++;
    model_plain_write(&s.payload[value]);
    s.payload[value] = (unsigned)value + 1;
    jzx_err err = jzx_channel_send_wait(&s.channels[number], &value, deadline_ns);
    if (err == JZX_OK)
        return;
    MODEL_ASSERT(err == JZX_ERR_TIMEOUT || err == JZX_ERR_CLOSED);
    model_plain_write(&s.payload[value]); /* nobody has it */
    s.payload[value] = 0;
    s.timeouts += err == JZX_ERR_TIMEOUT;
    s.closed += err == JZX_ERR_CLOSED;
}

static void note_value(uint64_t value) {
    MODEL_ASSERT(value < VALUES_MAX);
    model_plain_write(&s.payload[value]); /* it is the receiver's now */
    MODEL_ASSERT(s.payload[value] == value + 1);
    s.payload[value] = 0; /* once */
    s.received++;
}

static void receive_from(unsigned number, uint64_t deadline_ns) {
    uint64_t value = VALUES_MAX;
    jzx_err err = jzx_channel_receive_wait(&s.channels[number], deadline_ns, &value);
    if (err == JZX_OK) {
        note_value(value);
        return;
    }
    MODEL_ASSERT(err == JZX_ERR_TIMEOUT || err == JZX_ERR_CLOSED);
    MODEL_ASSERT(value == VALUES_MAX);
    s.timeouts += err == JZX_ERR_TIMEOUT;
    s.closed += err == JZX_ERR_CLOSED;
}

/* ---- threads ---- */

static void sends(void) {
    send_to(0, JZX_NEVER);
}

static void sends_two(void) {
    sends();
    sends();
}

static void sends_second(void) {
    send_to(1, JZX_NEVER);
}

static void receives(void) {
    receive_from(0, JZX_NEVER);
}

static void receives_two(void) {
    uint64_t value = 0;
    for (unsigned i = 0; i < 2; i++) {
        MODEL_ASSERT(jzx_channel_receive_wait(&s.channels[0], JZX_NEVER, &value) == JZX_OK);
        MODEL_ASSERT(value == i); /* of one sender: in order */
        note_value(value);
    }
}

static void receives_until(void) {
    receive_from(0, 5);
}

static void closes(void) {
    MODEL_ASSERT(jzx_channel_close(&s.channels[0]) == JZX_OK);
}

/* As jzx_select_wait does, with one link for each channel. */
static void selects(void) {
    struct jzx__waiter waiter;
    uint64_t value = VALUES_MAX;
    jzx__waiter_init_thread(&waiter);
    for (unsigned i = 0; i < CHANNELS; i++)
        s.links[i] = (struct jzx__wait_link){.source = &channel_at(i)->receivers, .index = i};
    jzx__waiter_begin(&waiter, (struct jzx__wait_what){.kind = "select"});
    jzx__waiter_join(&waiter, s.links, CHANNELS, NULL);
    if (jzx__waiter_arm(&waiter) == JZX__ARM_SUSPEND)
        jzx__waiter_block(&waiter, &loop.sched.clock, JZX_NEVER);
    uint32_t cause = jzx__waiter_end(&waiter);
    MODEL_ASSERT(jzx__cause_kind(cause) == JZX__CAUSE_ITEM);
    jzx__channel_take_promised(channel_at(jzx__cause_index(cause)), &value, NULL);
    s.by_index[jzx__cause_index(cause)]++;
    note_value(value);
}

/* ---- an operation that waits at both ---- */

static void set_up_operation(void) {
    set_up();
    s.record.to.kind = &receive_kind;
    s.record.to.op = &s.op;
    s.record.to.links = s.links;
    s.record.to.count = CHANNELS;
    *record_of(&s.op) = &s.record.to;
    s.op.ops = &to_ops;
    for (unsigned i = 0; i < CHANNELS; i++)
        s.links[i] = (struct jzx__wait_link){.source = &channel_at(i)->receivers, .index = i};
    jzx__waiter_init(&s.record.to.waiter, wake, &s.record.to);
    begin_wait(&s.record.to); /* as before a launch: whoever cancels knows the epoch */
}

static void operation_waits(void) {
    wait(&s.record.to, NULL);
}

/* As jzx_op_cancel for one that is pending. */
static void cancels_operation(void) {
    (void)jzx__atomic_or_acq_rel(&s.is_cancelled, 1u);
    cancel(&s.op, NULL);
}

/* ---- the end ---- */

static unsigned left_in(unsigned number) {
    const struct jzx__channel *channel = channel_at(number);
    MODEL_ASSERT(channel->promised == 0);
    MODEL_ASSERT(jzx__list_is_empty(&channel->receivers.waiting));
    MODEL_ASSERT(jzx__list_is_empty(&channel->senders.waiting));
    return (unsigned)channel->count;
}

static void check_nothing_left(void) {
    MODEL_ASSERT(left_in(0) + left_in(1) == 0);
    MODEL_ASSERT(s.received == s.sent);
}

/* Whether the one receiver has given up; then its value is still there. */
static void check_timeouts(void) {
    MODEL_ASSERT(s.received + left_in(0) == s.sent);
    MODEL_ASSERT(s.timeouts <= 1);
    model_outcome(s.timeouts);
}

static void check_closed(void) {
    MODEL_ASSERT(left_in(0) == 0);
    MODEL_ASSERT(2 * s.received + s.closed == 3); /* a send and two receives have met, or not */
    model_outcome(s.received);
}

static void check_selected(void) {
    MODEL_ASSERT(s.received == 1);
    MODEL_ASSERT(left_in(0) == 1 - s.by_index[0] && left_in(1) == 1 - s.by_index[1]);
    model_outcome(s.by_index[1]);
}

/* Handles the message, or drops it. */
static void end_operation(bool handles) {
    uint64_t value = VALUES_MAX;
    MODEL_ASSERT(s.completed == 1);
    if (s.result != JZX_OK)
        return;
    unsigned won = jzx__cause_index(s.record.to.cause);
    if (handles) {
        jzx__channel_take_promised(channel_at(won), &value, NULL);
        note_value(value);
    } else {
        s.links[won].source->ops->give_back(s.links[won].source, &s.links[won], NULL);
    }
}

static void check_operation(void) {
    end_operation(true);
    MODEL_ASSERT(s.received == 1 && left_in(0) + left_in(1) == 1);
    model_outcome(jzx__cause_index(s.record.to.cause));
}

static void check_cancelled(void) {
    end_operation(false);
    MODEL_ASSERT(s.received == 0 && left_in(0) == 1); /* it has consumed nothing */
    MODEL_ASSERT(s.result == JZX_OK || s.result == JZX_ERR_CANCELLED);
    model_outcome(s.result == JZX_OK);
}

#define CHANNEL .state = &s, .state_size = sizeof s

const struct model_scenario model_channel[] = {
    {.name = "channel_hand_over",
     .about = "C1-C3: two values through one place, in order",
     .setup = set_up,
     .threads = {sends_two, receives_two},
     .check = check_nothing_left,
     .bounds = {.preemptions = 3, .stale = 2},
     CHANNEL},
    {.name = "channel_two_receivers",
     .about = "C1: a promise is to one",
     .setup = set_up,
     .threads = {receives, receives, sends_two},
     .check = check_nothing_left,
     .bounds = {.preemptions = 1, .stale = 1},
     CHANNEL},
    {.name = "channel_against_timeout",
     .about = "C1, C2: a receiver that gives up leaves the value to the next",
     .setup = set_up,
     .threads = {receives_until, receives, sends_two},
     .check = check_timeouts,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 1, .stale = 1},
     CHANNEL},
    {.name = "channel_close",
     .about = "C4: what was sent is received, and all others are told",
     .setup = set_up,
     .threads = {receives, receives, sends, closes},
     .check = check_closed,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 1, .stale = 1},
     CHANNEL},
    {.name = "select_two_channels",
     .about = "a select takes one value, and leaves the other",
     .setup = set_up,
     .threads = {selects, sends, sends_second},
     .check = check_selected,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 2, .stale = 2},
     CHANNEL},
    {.name = "operation_selects",
     .about = "T1: whoever claims an operation goes on in its place",
     .setup = set_up_operation,
     .threads = {operation_waits, sends, sends_second},
     .check = check_operation,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 2, .stale = 2},
     CHANNEL},
    {.name = "operation_cancel",
     .about = "T1-T3: a cancel against a value",
     .setup = set_up_operation,
     .threads = {operation_waits, sends, cancels_operation},
     .check = check_cancelled,
     .outcomes = O(0) | O(1),
     .bounds = {.preemptions = 3, .stale = 2},
     CHANNEL},
};
const size_t model_channel_count = sizeof model_channel / sizeof *model_channel;
