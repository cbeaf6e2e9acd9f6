/* SPDX-License-Identifier: MIT */
/* Typed actors: what a block makes, what is checked, and what the loop knows of types. */
#include "typing.h"

#include <jzx/io.h>
#include <jzx/supervisor.h>

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

/* ---- one block ---- */

JZX_TEST(a_block_makes_state_with_defaults_messages_and_a_handler_for_each, "E30", "E23", "E28") {
    jzx_loop *loop = fixture_loop();
    ledger = (struct ledger){0};
    jzx_actor_id a = open_account(loop);
    jzx_actor_id b = open_account(loop);
    assert_int_equal(account_post_deposit(loop, a, 5), JZX_OK);
    assert_int_equal(account_post_transfer(loop, a, b, 20, 2), JZX_OK);
    close_account(loop, a);
    assert_int_equal(ledger.balance, 100 + 5 - 40);
    close_account(loop, b);
    assert_int_equal(ledger.balance, 100 + 40); /* a state of its own, with the defaults */
    assert_int_equal(ledger.last_sender, a);
    assert_int_equal(ledger.opened, 2);
    assert_int_equal(ledger.closed, 2);
    assert_int_equal(jzx_test_runs(), 3);
    fixture_destroy(loop);
}

JZX_TEST(a_handler_sends_spawns_and_knows_itself, "E28") {
    jzx_loop *loop = fixture_loop();
    jzx_actor_id child = JZX_NOBODY;
    ledger = (struct ledger){0};
    jzx_actor_id a = open_account(loop);
    assert_int_equal(account_post_spawn(loop, a, &child), JZX_OK);
    run_loop(loop);
    assert_true(jzx_type_of(loop, child) == &account_type);
    assert_int_equal(ledger.last_sender, a);
    close_account(loop, child);
    assert_int_equal(ledger.balance, 111);
    fixture_destroy(loop);
}

JZX_TEST(the_state_may_begin_as_a_copy, "E23") {
    jzx_loop *loop = fixture_loop();
    struct account rich = {.balance = 1000000};
    jzx_actor_id id;
    ledger = (struct ledger){0};
    assert_int_equal(jzx_spawn(loop, &JZX_SPAWN_OPTS(.type = &account_type, .state = &rich), &id),
                     JZX_OK);
    rich.balance = 0;
    assert_int_equal(account_post_deposit(loop, id, 1), JZX_OK);
    close_account(loop, id);
    assert_int_equal(ledger.balance, 1000001);
    fixture_destroy(loop);
}

JZX_TEST(a_handler_cannot_wait_and_none_runs_inside_another, "E27", "E29", "E+wait") {
    jzx_loop *loop = fixture_loop();
    ledger = (struct ledger){0};
    jzx_actor_id a = open_account(loop);
    jzx_actor_id b = open_account(loop);
    assert_int_equal(account_post_transfer(loop, a, b, 1, 50), JZX_OK);
    assert_int_equal(account_post_transfer(loop, b, b, 1, 50), JZX_OK);
    run_loop(loop);
    assert_int_equal(ledger.kind, JZX_CONTEXT_WAITLESS);
    assert_int_equal(ledger.waited, JZX_ERR_WOULD_SUSPEND);
    assert_int_equal(jzx_test_runs(), 100);
    fixture_destroy(loop);
}

/* ---- scheduling ---- */

static uint32_t order[2];
static uint32_t order_count;

static jzx_behavior_result note_turn(jzx_context *ctx, const jzx_message *msg) {
    (void)msg;
    if (order_count < 2)
        order[order_count++] = (uint32_t)(uintptr_t)ctx->state;
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_registered_actor_has_priority_high_unless_the_options_say_another, "E22", "E25") {
    jzx_loop *loop = fixture_loop();
    jzx_actor_info info = {.size = sizeof info};
    jzx_actor_id low;
    ledger = (struct ledger){0};
    jzx_actor_id id = open_account(loop);
    assert_int_equal(jzx_actor_info_get(loop, id, &info), JZX_OK);
    assert_int_equal(info.priority, JZX_PRIORITY_HIGH);
    assert_string_equal(info.name, "account");
    assert_int_equal(jzx_spawn(loop,
                               &JZX_SPAWN_OPTS(.type = &account_type, .name = "mine",
                                               .priority = JZX_PRIORITY_LOW),
                               &low),
                     JZX_OK);
    assert_int_equal(jzx_actor_info_get(loop, low, &info), JZX_OK);
    assert_int_equal(info.priority, JZX_PRIORITY_LOW);
    assert_string_equal(info.name, "mine");
    /* And it counts: an ordinary actor that was sent to first runs after it. */
    run_loop(loop);
    jzx_actor_id plain =
        fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = note_turn, .state = (void *)1));
    order_count = 0;
    fixture_send(loop, plain, 1);
    assert_int_equal(account_post_transfer(loop, id, plain, 0, 1), JZX_OK);
    assert_int_equal(account_post_deposit(loop, id, 1), JZX_OK);
    run_loop(loop);
    assert_int_equal(jzx_test_runs(), 1);
    assert_int_equal(order_count, 2);
    fixture_destroy(loop);
}

/* Sends itself the next one while handling one, so that the mailbox is empty after each. */
#define COUNTDOWN(T, STATE, ON, ASK) STATE(T, uint32_t, seen, 0) ON(T, next, uint32_t, left)
JZX_ACTOR_TYPE(countdown, COUNTDOWN);

static jzx_behavior_result countdown_on_next(jzx_context *ctx, struct countdown *self,
                                             const struct countdown_next *msg) {
    self->seen++;
    jzx_test_ran();
    if (msg->left == 0)
        return JZX_BEHAVIOR_STOP;
    return countdown_send_next(ctx, ctx->self, msg->left - 1) == JZX_OK ? JZX_BEHAVIOR_OK
                                                                        : JZX_BEHAVIOR_FAIL;
}

JZX_TEST(messages_come_one_after_another_and_none_is_stranded, "E25", "E26", "X6") {
    jzx_loop *loop = fixture_loop();
    jzx_actor_id id;
    assert_int_equal(countdown_spawn(loop, &id), JZX_OK);
    assert_int_equal(countdown_post_next(loop, id, 10000), JZX_OK);
    assert_int_equal(jzx_loop_run(loop), JZX_OK); /* returns when it has stopped */
    assert_int_equal(jzx_test_runs(), 10001);
    fixture_destroy(loop);
}

/* ---- what is not the type's ---- */

/* Sends so many bytes with that tag to a countdown, which a watcher sees end. */
static void send_raw(jzx_loop *loop, jzx_actor_id watcher, uint32_t tag, size_t len,
                     const char *text) {
    static const char bytes[64];
    jzx_actor_id id;
    JZX_EXPECT_EQ(countdown_spawn(loop, &id), JZX_OK);
    JZX_EXPECT_EQ(account_post_watch(loop, watcher, id), JZX_OK);
    run_loop(loop);
    ledger.text[0] = '\0';
    JZX_EXPECT_EQ(jzx_send(loop, id, JZX_NOBODY, bytes, len, tag), JZX_OK);
    run_loop(loop);
    if (!JZX_EXPECT(strcmp(ledger.text, text) == 0))
        printf("it said: %s\n", ledger.text);
    JZX_EXPECT(jzx_type_of(loop, id) == NULL);
}

JZX_TEST(a_wrong_length_or_tag_fails_the_actor_with_a_text_that_names_it, "E21", "X6") {
    jzx_loop *loop = fixture_loop();
    char text[128];
    ledger = (struct ledger){0};
    jzx_actor_id watcher = open_account(loop);
    send_raw(loop, watcher, countdown_tag_next(), 3, "countdown: message next has 4 bytes, 3 came");
    send_raw(loop, watcher, countdown_tag_next(), 8, "countdown: message next has 4 bytes, 8 came");
    snprintf(text, sizeof text, "countdown: no message has tag 0x%x (0 bytes came)",
             countdown_tag_next() + 1);
    send_raw(loop, watcher, countdown_tag_next() + 1, 0, text);
    send_raw(loop, watcher, 7, 2, "countdown: no message has tag 0x7 (2 bytes came)");
    snprintf(text, sizeof text, "countdown: no message has tag 0x%x (8 bytes came)",
             account_tag_deposit());
    send_raw(loop, watcher, account_tag_deposit(), 8, text); /* of another type */
    assert_int_equal(fixture_stats(loop).failed, 5);
    fixture_destroy(loop);
}

JZX_TEST(other_messages_go_to_the_other_behaviour, "E28") {
    jzx_loop *loop = fixture_loop();
    ledger = (struct ledger){0};
    jzx_actor_id id = open_account(loop);
    fixture_send(loop, id, 7);
    run_loop(loop);
    assert_int_equal(ledger.others, 1);
    assert_int_equal(ledger.last_tag, 7);
    assert_int_equal(jzx_send_after(loop, id, JZX_NOBODY, NULL, 0, 8, 0, NULL), JZX_OK);
    assert_int_equal(jzx_send_after(loop, id, JZX_NOBODY, &(struct account_deposit){.amount = 3},
                                    account_len_deposit, account_tag_deposit(), 0, NULL),
                     JZX_OK);
    while (ledger.others == 1 || jzx_test_runs() < 3)
        run_loop(loop);
    assert_int_equal(ledger.last_tag, 8);
    close_account(loop, id);
    assert_int_equal(ledger.balance, 103); /* a timer of the type's own message has its handler */
    fixture_destroy(loop);
}

/* ---- questions ---- */

static jzx_actor_id find(const jzx_loop *loop) {
    jzx_actor_id id = JZX_NOBODY;
    JZX_EXPECT_EQ(jzx_lookup(loop, "bank", &id), JZX_OK);
    return id;
}

static void *ask_balance(void *arg) {
    int64_t balance = 0;
    jzx_actor_id id = find(arg);
    JZX_EXPECT_EQ(account_call_balance_wait(arg, id, JZX_NEVER, &balance), JZX_OK);
    JZX_EXPECT_EQ(balance, 100);
    JZX_EXPECT_EQ(account_post_close(arg, id), JZX_OK);
    jzx_test_ran();
    return NULL;
}

JZX_TEST(a_thread_calls_a_typed_actor, "E59") {
    jzx_loop *loop = fixture_loop();
    pthread_t thread;
    jzx_actor_id id = open_account(loop);
    assert_int_equal(jzx_register(loop, "bank", id), JZX_OK);
    assert_int_equal(pthread_create(&thread, NULL, ask_balance, loop), 0);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(jzx_test_runs(), 1);
    fixture_destroy(loop);
}

static void call_in_fiber(jzx_context *ctx) {
    int64_t answer = 0;
    const jzx_actor_id *ids = ctx->state;
    JZX_EXPECT_EQ(account_call_balance(ctx, ids[0], JZX_NEVER, &answer), JZX_OK);
    JZX_EXPECT_EQ(answer, 100);
    JZX_EXPECT_EQ(account_call_balance(ctx, ids[1], JZX_NEVER, &answer), JZX_ERR_NO_SUCH_ACTOR);
    jzx_test_ran();
}

JZX_TEST(a_fiber_calls_a_typed_actor, "E59") {
    jzx_loop *loop = fixture_loop();
    jzx_actor_id ids[2] = {open_account(loop), open_account(loop)};
    close_account(loop, ids[1]);
    fixture_spawn(loop, &JZX_SPAWN_OPTS(.fiber = call_in_fiber, .state = ids));
    run_loop(loop);
    assert_int_equal(jzx_test_runs(), 1);
    fixture_destroy(loop);
}

/* An account that asks another, of its own type: the answer is none of its messages. */
static jzx_err ask_another(jzx_context *ctx) {
    const struct account *self = ctx->state;
    uint64_t ref;
    JZX_EXPECT_EQ(account_ask_balance(ctx, self->next, JZX_NEVER, &ref), JZX_OK);
    return JZX_OK;
}

#define ASKER(T, STATE, ON, ASK)                                                                   \
    STATE(T, int64_t, balance, 0)                                                                  \
    STATE(T, uint32_t, moves, 0)                                                                   \
    STATE(T, jzx_actor_id, next, JZX_NOBODY)                                                       \
    ON(T, look)
JZX_ACTOR_TYPE_WITH(asker, ASKER, ask_another, NULL, account_other);

static int64_t seen_balance;

static jzx_behavior_result asker_on_look(jzx_context *ctx, struct asker *self,
                                         const struct asker_look *msg) {
    (void)ctx, (void)msg;
    seen_balance = self->balance;
    return JZX_BEHAVIOR_OK;
}

_Static_assert(sizeof(struct asker) == sizeof(struct account), "ask_another looks at both");

static jzx_actor_id spawn_asker(jzx_loop *loop, jzx_actor_id whom) {
    jzx_actor_id id = JZX_NOBODY;
    JZX_EXPECT_EQ(
        jzx_spawn(loop,
                  &JZX_SPAWN_OPTS(.type = &asker_type, .state = &(struct asker){.next = whom}),
                  &id),
        JZX_OK);
    return id;
}

JZX_TEST(a_question_is_answered_when_its_handler_returns, "E28", "E+mode") {
    jzx_loop *loop = fixture_loop();
    ledger = (struct ledger){0};
    jzx_actor_id id = spawn_asker(loop, open_account(loop));
    run_loop(loop);
    assert_int_equal(asker_post_look(loop, id), JZX_OK);
    run_loop(loop);
    assert_int_equal(seen_balance, 100);
    assert_int_equal(ledger.others, 1);
    fixture_destroy(loop);
}

static jzx_behavior_result ask_later(jzx_context *ctx, const jzx_message *msg) {
    int64_t answer = 0;
    if (msg->tag == 1) {
        JZX_EXPECT_EQ(
            account_ask_later(ctx, (jzx_actor_id)(uintptr_t)ctx->state, 1, JZX_NEVER, NULL),
            JZX_OK);
    } else if (JZX_EXPECT(account_is_answer_later(msg, &answer))) {
        JZX_EXPECT_EQ(answer, 77);
        jzx_test_ran();
    }
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(an_answer_may_come_later_and_only_then, "E28") {
    jzx_loop *loop = fixture_loop();
    ledger = (struct ledger){0};
    jzx_actor_id bank = open_account(loop);
    jzx_actor_id asks = fixture_spawn(
        loop, &JZX_SPAWN_OPTS(.behavior = ask_later, .state = (void *)(uintptr_t)bank));
    fixture_send(loop, asks, 1);
    run_loop(loop);
    assert_int_equal(ledger.asker.asker, asks);
    assert_int_equal(jzx_test_runs(), 0);
    assert_int_equal(account_answer_later(loop, ledger.asker, bank, 77), JZX_OK);
    run_loop(loop);
    assert_int_equal(jzx_test_runs(), 1);
    fixture_destroy(loop);
}

/* ---- restarts ---- */

JZX_TEST(a_restarted_child_has_a_fresh_state_and_a_new_id, "E23", "E+sem") {
    static const jzx_child_spec children[] = {
        {.name = "bank", .registered = "bank", .type = &account_type}};
    jzx_loop *loop = fixture_loop();
    jzx_actor_id top;
    ledger = (struct ledger){0};
    assert_int_equal(jzx_spawn_supervisor(loop, &JZX_SUPERVISOR_OPTS(JZX_CHILDREN(children)), &top),
                     JZX_OK);
    run_loop(loop);
    jzx_actor_id first = find(loop);
    assert_int_equal(account_post_deposit(loop, first, 900), JZX_OK);
    assert_int_equal(account_post_fail(loop, first), JZX_OK);
    run_loop(loop);
    assert_int_equal(ledger.balance, 1000);
    assert_int_equal(ledger.opened, 2);
    jzx_actor_id second = find(loop);
    assert_true(second != JZX_NOBODY && second != first);
    assert_true(jzx_type_of(loop, first) == NULL);
    assert_true(jzx_type_of(loop, second) == &account_type);
    assert_int_equal(jzx_actor_stop(loop, top, JZX_STOP_AFTER_QUEUE), JZX_OK);
    run_loop(loop);
    assert_int_equal(ledger.balance, 100);
    assert_int_equal(ledger.closed, 2);
    fixture_destroy(loop);
}

JZX_TEST(a_child_is_one_of_a_behaviour_a_fiber_a_supervisor_and_a_type, "E23") {
    const jzx_child_spec children[] = {{.type = &account_type, .behavior = record}};
    const char *field = NULL;
    assert_int_equal(jzx_supervisor_check(&JZX_SUPERVISOR_OPTS(JZX_CHILDREN(children)), &field),
                     JZX_ERR_INVALID_ARG);
    assert_string_equal(field, "type");
}

/* ---- the registry ---- */

struct lines {
    char all[8192];
    size_t len;
};

static void add_line(void *ctx, const char *line) {
    struct lines *lines = ctx;
    int len = snprintf(lines->all + lines->len, sizeof lines->all - lines->len, "%s\n", line);
    lines->len += (size_t)len;
}

JZX_TEST(a_loop_knows_its_types_by_name_and_their_instances_by_id, "E21", "E23") {
    jzx_loop *loop = fixture_loop();
    jzx_type_info info = {.size = sizeof info};
    struct lines lines = {.len = 0};
    jzx_actor_id ids[3] = {JZX_NOBODY};
    uint64_t cursor = 0;
    ledger = (struct ledger){0};
    assert_int_equal(jzx_type_info_get(loop, "account", &info), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_type_register(loop, &countdown_type), JZX_OK);
    assert_int_equal(jzx_type_register(loop, &countdown_type), JZX_OK);
    jzx_actor_id a = open_account(loop);
    jzx_actor_id b = open_account(loop);
    jzx_actor_id c = open_account(loop);
    close_account(loop, b);
    assert_int_equal(jzx_type_info_get(loop, "account", &info), JZX_OK);
    assert_true(info.type == &account_type);
    assert_int_equal(info.type->state_size, sizeof(struct account));
    assert_int_equal(info.type->message_count, 10);
    assert_string_equal(info.type->messages[1].name, "transfer");
    assert_int_equal(info.type->messages[1].len, sizeof(struct account_transfer));
    assert_int_equal(info.type->messages[8].answer_len, sizeof(int64_t));
    assert_int_equal(info.alive, 2);
    assert_int_equal(info.made, 3);
    assert_int_equal(jzx_type_instances(loop, "account", ids, 3), 2);
    assert_true(ids[0] == a && ids[1] == c);
    assert_true(jzx_type_of(loop, a) == &account_type && jzx_type_of(loop, b) == NULL);
    assert_int_equal(jzx_type_next(loop, &cursor, &info), JZX_OK);
    assert_string_equal(info.type->name, "countdown");
    assert_int_equal(jzx_type_next(loop, &cursor, &info), JZX_OK);
    assert_int_equal(jzx_type_next(loop, &cursor, &info), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_loop_dump(loop, add_line, &lines), JZX_OK);
    assert_true(strstr(lines.all, "account: state 24 bytes, 2 alive, 3 made") != NULL);
    assert_true(strstr(lines.all, "handles 10 messages: deposit 8, transfer 24, close 0") != NULL);
    assert_true(strstr(lines.all, "balance 0 -> 8") != NULL);
    assert_int_equal(ledger.opened, 3);
    fixture_destroy(loop);
}

static jzx_behavior_result take_nothing(jzx_context *ctx, const jzx_message *msg) {
    (void)ctx, (void)msg;
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(two_types_of_one_name_must_be_alike, "E21") {
    jzx_loop *loop = fixture_loop();
    jzx_actor_type twin = account_type;
    jzx_actor_type other = account_type;
    other.state_size++;
    open_account(loop);
    assert_int_equal(jzx_type_register(loop, &twin), JZX_OK);
    assert_int_equal(jzx_type_register(loop, &other), JZX_ERR_EXISTS);
    assert_int_equal(jzx_spawn(loop, &JZX_SPAWN_OPTS(.type = &other), NULL), JZX_ERR_EXISTS);
    other = account_type;
    other.receive = NULL;
    assert_int_equal(jzx_type_register(loop, &other), JZX_ERR_INVALID_ARG);
    assert_int_equal(jzx_spawn(loop, &JZX_SPAWN_OPTS(.type = &other), NULL), JZX_ERR_INVALID_ARG);
    assert_int_equal(
        jzx_spawn(loop, &JZX_SPAWN_OPTS(.type = &account_type, .behavior = take_nothing), NULL),
        JZX_ERR_INVALID_ARG);
    assert_int_equal(
        jzx_spawn(loop, &JZX_SPAWN_OPTS(.type = &account_type, .init = account_open), NULL),
        JZX_ERR_INVALID_ARG);
    fixture_destroy(loop);
}

/* A type of the same name, whose message of that number is another one. */
static jzx_err register_changed(jzx_loop *loop, uint32_t index, size_t len, size_t answer_len,
                                const char *name) {
    static jzx_message_type messages[JZX_TYPE_MESSAGES_MAX];
    static jzx_actor_type type;
    type = account_type;
    memcpy(messages, type.messages, type.message_count * sizeof messages[0]);
    messages[index].len += len;
    messages[index].answer_len += answer_len;
    if (name != NULL)
        messages[index].name = name;
    type.messages = messages;
    return jzx_type_register(loop, &type);
}

/* One more, and all of them begin. */
static void open_and_run(jzx_loop *loop, uint32_t before) {
    ledger = (struct ledger){0};
    open_account(loop);
    run_loop(loop);
    assert_int_equal(ledger.opened, before + 1);
}

JZX_TEST(types_of_one_name_have_the_same_messages_in_names_and_lengths, "E21") {
    jzx_loop *loop = fixture_loop();
    jzx_actor_type shorter = account_type;
    shorter.message_count--;
    assert_int_equal(jzx_type_register(loop, &account_type), JZX_OK);
    for (uint32_t i = 0; i < account_type.message_count; i++) {
        assert_int_equal(register_changed(loop, i, 0, 0, NULL), JZX_OK);
        assert_int_equal(register_changed(loop, i, 1, 0, NULL), JZX_ERR_EXISTS);
        assert_int_equal(register_changed(loop, i, 0, 1, NULL), JZX_ERR_EXISTS);
        assert_int_equal(register_changed(loop, i, 0, 0, "another"), JZX_ERR_EXISTS);
    }
    assert_int_equal(jzx_type_register(loop, &shorter), JZX_ERR_EXISTS);
    open_and_run(loop, 0);
    fixture_destroy(loop);
}

JZX_TEST(a_walk_over_types_that_has_ended_goes_on_with_a_new_type, "E21") {
    jzx_loop *loop = fixture_loop();
    jzx_type_info info = {.size = sizeof info};
    uint64_t cursor = 0;
    assert_int_equal(jzx_type_next(loop, &cursor, &info), JZX_ERR_INVALID_ARG);
    assert_int_equal(cursor, 0);
    open_account(loop);
    assert_int_equal(jzx_type_next(loop, &cursor, &info), JZX_OK);
    assert_string_equal(info.type->name, "account");
    for (int i = 0; i < 2; i++)
        assert_int_equal(jzx_type_next(loop, &cursor, &info), JZX_ERR_INVALID_ARG);
    assert_string_equal(info.type->name, "account"); /* as it was */
    assert_int_equal(jzx_type_register(loop, &countdown_type), JZX_OK);
    assert_int_equal(jzx_type_next(loop, &cursor, &info), JZX_OK);
    assert_string_equal(info.type->name, "countdown");
    open_and_run(loop, 1);
    fixture_destroy(loop);
}

JZX_TEST(all_instances_are_counted_and_as_many_written_as_there_is_room_for, "E21") {
    jzx_loop *loop = fixture_loop();
    jzx_actor_id ids[4] = {7, 7, 7, 7};
    jzx_actor_id a = open_account(loop);
    jzx_actor_id b = open_account(loop);
    jzx_actor_id c = open_account(loop);
    assert_int_equal(jzx_type_instances(loop, "account", NULL, 0), 3);
    assert_int_equal(jzx_type_instances(loop, "account", ids, 0), 3);
    assert_int_equal(ids[0], 7);
    assert_int_equal(jzx_type_instances(loop, "account", ids, 2), 3);
    assert_true(ids[0] == a && ids[1] == b && ids[2] == 7);
    assert_int_equal(jzx_type_instances(loop, "account", ids, 4), 3);
    assert_true(ids[0] == a && ids[1] == b && ids[2] == c && ids[3] == 7);
    assert_int_equal(jzx_type_instances(loop, "accounts", ids, 4), 0);
    assert_int_equal(jzx_type_instances(loop, "account", NULL, 1), 0);
    open_and_run(loop, 3);
    fixture_destroy(loop);
}

/* ---- event-driven ---- */

#define LISTENER(T, STATE, ON, ASK)                                                                \
    STATE(T, uint32_t, count, 0)                                                                   \
    ON(T, readable, jzx_io_event, event)                                                           \
    ON(T, signalled, jzx_signal_event, event)                                                      \
    ON(T, tick)                                                                                    \
    ON(T, odd, char, c)
JZX_ACTOR_TYPE(listener, LISTENER);

static jzx_behavior_result listener_on_readable(jzx_context *ctx, struct listener *self,
                                                const struct listener_readable *msg) {
    char c;
    (void)ctx;
    JZX_EXPECT(msg->event.ready & JZX_IO_READ);
    JZX_EXPECT_EQ(read(msg->event.fd, &c, 1), 1);
    jzx_test_ran();
    return ++self->count == 3 ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

static jzx_behavior_result listener_on_signalled(jzx_context *ctx, struct listener *self,
                                                 const struct listener_signalled *msg) {
    (void)ctx, (void)self;
    JZX_EXPECT_EQ(msg->event.signo, SIGUSR1);
    jzx_test_ran();
    return JZX_BEHAVIOR_STOP;
}

static jzx_behavior_result listener_on_tick(jzx_context *ctx, struct listener *self,
                                            const struct listener_tick *msg) {
    (void)ctx, (void)msg;
    jzx_test_ran();
    return ++self->count == 3 ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

static jzx_behavior_result listener_on_odd(jzx_context *ctx, struct listener *self,
                                           const struct listener_odd *msg) {
    (void)ctx, (void)self, (void)msg;
    return JZX_BEHAVIOR_FAIL;
}

JZX_TEST(an_actor_is_bound_to_a_descriptor, "E22") {
    jzx_loop *loop = fixture_loop();
    int ends[2];
    jzx_actor_id id;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "abc", 3), 3);
    assert_int_equal(jzx_spawn_on(loop, &JZX_SPAWN_OPTS(.type = &listener_type),
                                  &JZX_ON_FD(ends[0], JZX_IO_READ, listener_tag_readable()), &id),
                     JZX_OK);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(jzx_test_runs(), 3);
    close(ends[0]);
    close(ends[1]);
    fixture_destroy(loop);
}

JZX_TEST(an_actor_is_bound_to_a_timer, "E22") {
    jzx_loop *loop = fixture_loop();
    assert_int_equal(jzx_spawn_on(loop, &JZX_SPAWN_OPTS(.type = &listener_type),
                                  &JZX_ON_TIMER(JZX_MS(1), JZX_FIXED_RATE, listener_tag_tick()),
                                  NULL),
                     JZX_OK);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(jzx_test_runs(), 3);
    fixture_destroy(loop);
}

JZX_TEST(an_actor_is_bound_to_a_signal, "E22") {
    sigset_t set;
    sigset_t before;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    assert_int_equal(pthread_sigmask(SIG_BLOCK, &set, &before), 0);
    jzx_loop *loop = fixture_loop();
    assert_int_equal(jzx_spawn_on(loop, &JZX_SPAWN_OPTS(.type = &listener_type),
                                  &JZX_ON_SIGNAL(SIGUSR1, listener_tag_signalled()), NULL),
                     JZX_OK);
    run_loop(loop);
    assert_int_equal(kill(getpid(), SIGUSR1), 0);
    assert_int_equal(jzx_loop_run(loop), JZX_OK);
    assert_int_equal(jzx_test_runs(), 1);
    fixture_destroy(loop);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

JZX_TEST(a_source_must_fit_the_message_it_sends, "E22") {
    jzx_loop *loop = fixture_loop();
    const jzx_spawn_opts opts = JZX_SPAWN_OPTS(.type = &listener_type);
    const jzx_spawn_opts plain = JZX_SPAWN_OPTS(.behavior = take_nothing);
    jzx_source source = JZX_ON_TIMER(JZX_MS(1), JZX_FIXED_RATE, listener_tag_odd());
    assert_int_equal(jzx_spawn_on(loop, &opts, &source, NULL), JZX_ERR_INVALID_ARG);
    source.tag = 7;
    assert_int_equal(jzx_spawn_on(loop, &opts, &source, NULL), JZX_ERR_INVALID_ARG);
    source.tag = listener_tag_tick();
    source.period_ns = 0;
    assert_int_equal(jzx_spawn_on(loop, &opts, &source, NULL), JZX_ERR_INVALID_ARG);
    source.period_ns = 1;
    assert_int_equal(jzx_spawn_on(loop, &plain, &source, NULL), JZX_ERR_INVALID_ARG);
    source = JZX_ON_FD(-1, JZX_IO_READ, listener_tag_readable());
    jzx_actor_id id;
    assert_int_equal(jzx_spawn_on(loop, &opts, &source, &id), JZX_OK);
    run_loop(loop);
    assert_true(jzx_type_of(loop, id) == NULL); /* its init has failed */
    assert_int_equal(fixture_stats(loop).failed, 1);
    fixture_destroy(loop);
}

static jzx_err refuse_source(jzx_loop *loop, jzx_source source) {
    jzx_actor_id id = 7;
    jzx_err err = jzx_spawn_on(loop, &JZX_SPAWN_OPTS(.type = &listener_type), &source, &id);
    assert_int_equal(id, 7);
    return err;
}

JZX_TEST(a_source_of_each_kind_needs_a_message_of_its_own_length, "E22") {
    jzx_loop *loop = fixture_loop();
    const uint32_t tags[] = {listener_tag_readable(), listener_tag_signalled(), listener_tag_tick(),
                             listener_tag_odd()};
    for (uint32_t i = 0; i < 4; i++) {
        if (i >= 2) { /* the first two have one length */
            assert_int_equal(refuse_source(loop, JZX_ON_FD(0, JZX_IO_READ, tags[i])),
                             JZX_ERR_INVALID_ARG);
            assert_int_equal(refuse_source(loop, JZX_ON_SIGNAL(SIGUSR1, tags[i])),
                             JZX_ERR_INVALID_ARG);
        }
        if (i != 2)
            assert_int_equal(refuse_source(loop, JZX_ON_TIMER(1, JZX_FIXED_RATE, tags[i])),
                             JZX_ERR_INVALID_ARG);
    }
    jzx_source wrong = JZX_ON_TIMER(1, JZX_FIXED_RATE, tags[2]);
    wrong.repeat = (jzx_repeat)(JZX_FIXED_DELAY + 1);
    assert_int_equal(refuse_source(loop, wrong), JZX_ERR_INVALID_ARG);
    wrong = JZX_ON_TIMER(1, JZX_FIXED_RATE, tags[2]);
    wrong.kind = (jzx_source_kind)(JZX_SOURCE_TIMER + 1);
    assert_int_equal(refuse_source(loop, wrong), JZX_ERR_INVALID_ARG);
    assert_int_equal(fixture_stats(loop).spawned, 0);
    fixture_destroy(loop);
}

static jzx_err note_init(jzx_context *ctx) {
    (void)ctx;
    jzx_test_ran();
    return JZX_OK;
}

JZX_TEST(an_init_runs_after_its_actor_was_bound_and_not_if_that_failed, "E22") {
    jzx_loop *loop = fixture_loop();
    const jzx_spawn_opts opts = JZX_SPAWN_OPTS(.type = &listener_type, .init = note_init);
    jzx_source sources[] = {JZX_ON_FD(-1, JZX_IO_READ, listener_tag_readable()),
                            JZX_ON_SIGNAL(SIGKILL, listener_tag_signalled()),
                            JZX_ON_TIMER(JZX_SECOND(3600), JZX_FIXED_RATE, listener_tag_tick())};
    for (uint32_t i = 0; i < 3; i++) {
        jzx_actor_id id;
        assert_int_equal(jzx_spawn_on(loop, &opts, &sources[i], &id), JZX_OK);
        run_loop(loop);
        assert_int_equal(fixture_stats(loop).failed, i < 2 ? i + 1 : 2);
        assert_true((jzx_type_of(loop, id) == NULL) == (i < 2));
        assert_int_equal(jzx_test_runs(), i < 2 ? 0 : 1);
    }
    fixture_destroy(loop);
}

/* ---- without memory ---- */

JZX_TEST(a_spawn_of_a_type_without_memory_leaves_nothing, "E23") {
    for (uint64_t n = 0;; n++) {
        jzx_loop *loop = fixture_loop();
        jzx_type_info info = {.size = sizeof info};
        jzx_actor_id id = 7;
        fixture_fail_allocations(n, 1);
        jzx_err err = account_spawn(loop, &id);
        fixture_fail_allocations(UINT64_MAX, 0);
        if (err == JZX_OK) {
            assert_int_equal(account_post_deposit(loop, id, 1), JZX_OK);
            close_account(loop, id);
            fixture_destroy(loop);
            assert_true(n > 1);
            assert_int_equal(jzx_test_runs(), 1);
            break;
        }
        assert_int_equal(err, JZX_ERR_NO_MEMORY);
        assert_int_equal(id, 7);
        if (jzx_type_info_get(loop, "account", &info) == JZX_OK)
            assert_true(info.alive == 0 && info.made == 0);
        close_account(loop, open_account(loop));
        fixture_destroy(loop);
    }
}
