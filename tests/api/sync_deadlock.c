/* SPDX-License-Identifier: MIT */
/* Deadlocks: fibers that wait for one another are named once, in the stated time; others never. */
#include "puppets.h"

#include <jzx/ask.h>
#include <jzx/observe.h>

enum { PUPPETS = 6, LOCKS = 4 };

static const char *const names[PUPPETS] = {"ann", "bob", "cid", "dan", "eve", "fay"};

static struct {
    struct timing timing;
    struct puppet puppets[PUPPETS];
    jzx_mutex mutexes[LOCKS];
    jzx_rwlock rwlock;
    uint32_t reports;
    uint64_t reported_ns; /* the last of them, as what follows */
    uint64_t count;
    jzx_actor_id actor;
    char name[JZX_NAME_MAX + 1];
    char detail[512];
    char log[256];
    char line[256]; /* of the dump: the first that has `wanted` in it */
    const char *wanted;
} s;

static void note_event(void *ctx, const jzx_event *event) {
    (void)ctx;
    if (event->kind != JZX_EVENT_DEADLOCK)
        return;
    s.reports++;
    s.reported_ns = jzx_loop_now(s.timing.loop);
    s.count = event->count;
    s.actor = event->actor;
    snprintf(s.name, sizeof s.name, "%s", event->name == NULL ? "" : event->name);
    snprintf(s.detail, sizeof s.detail, "%s", event->detail);
}

static void note_log(void *ctx, jzx_log_level level, const char *text) {
    (void)ctx;
    if (level == JZX_LOG_WARN && strncmp(text, "deadlock: ", 10) == 0)
        snprintf(s.log, sizeof s.log, "%s", text);
}

static void spawn_puppet(struct puppet *puppet, const char *name) {
    *puppet = (struct puppet){.timing = &s.timing};
    puppet->id = fixture_spawn(s.timing.loop,
                               &JZX_SPAWN_OPTS(.fiber = be_puppet, .state = puppet, .name = name));
    timing_step(&s.timing);
}

static void set_up(uint64_t after_ns) {
    memset(&s, 0, sizeof s);
    s.timing = timing_open_with(0, &JZX_CONFIG(.workers = 1, .deadlock_after_ns = after_ns,
                                               .log = {.write = note_log, .level = JZX_LOG_WARN}));
    assert_int_equal(
        jzx_loop_set_observer(s.timing.loop, &JZX_OBSERVER(.on_event = note_event), NULL), JZX_OK);
    for (int i = 0; i < PUPPETS; i++)
        spawn_puppet(&s.puppets[i], names[i]);
    for (int i = 0; i < LOCKS; i++)
        assert_int_equal(jzx_mutex_init(s.timing.loop, &s.mutexes[i]), JZX_OK);
    assert_int_equal(jzx_rwlock_init(s.timing.loop, &s.rwlock), JZX_OK);
}

static void tear_down(void) {
    timing_close(&s.timing);
    for (int i = 0; i < LOCKS; i++)
        assert_int_equal(jzx_mutex_deinit(&s.mutexes[i]), JZX_OK);
    assert_int_equal(jzx_rwlock_deinit(&s.rwlock), JZX_OK);
}

static void pass_time(uint64_t ns) {
    timing_advance(&s.timing, ns);
}

/* Nothing is reported before 1 s, the cycle then, and nothing after that. */
static void expect_report_after_one_second(uint64_t count) {
    uint64_t begun_ns = jzx_loop_now(s.timing.loop);
    pass_time(JZX_MS(999));
    assert_int_equal(s.reports, 0);
    pass_time(JZX_MS(1));
    assert_int_equal(s.reports, 1);
    assert_int_equal(s.reported_ns, begun_ns + JZX_SECOND(1));
    assert_int_equal(s.count, count);
    for (int i = 0; i < 5; i++)
        pass_time(JZX_SECOND(1));
    assert_int_equal(s.reports, 1);
}

/* "3.1 ann". */
static const char *label(const struct puppet *puppet, char *text, size_t size) {
    snprintf(text, size, "%u.%u %s", jzx_id_index(puppet->id), jzx_id_generation(puppet->id),
             names[puppet - s.puppets]);
    return text;
}

/* The chain goes from the puppet with that number to the next, and from the last to the first. */
static void expect_detail(uint32_t first, uint32_t count, const char *what) {
    char expected[512] = "";
    char who[64];
    size_t length = 0;
    for (uint32_t i = 0; i <= count; i++) {
        const struct puppet *puppet = &s.puppets[(first + i) % count];
        length += (size_t)snprintf(expected + length, sizeof expected - length, "%s%s",
                                   label(puppet, who, sizeof who),
                                   i == count ? ""
                                   : i == 0   ? " waits for "
                                              : ", which waits for ");
        if (i < count)
            length += (size_t)snprintf(expected + length, sizeof expected - length, "%s ", what);
    }
    assert_string_equal(s.detail, expected);
    assert_int_equal(s.actor, s.puppets[first].id);
    assert_string_equal(s.name, names[first]);
    assert_string_equal(s.log + 10, expected);
}

static jzx_err lock(jzx_context *ctx, struct puppet *puppet) {
    return jzx_mutex_lock(ctx, puppet->object, puppet->deadline_ns);
}

static jzx_err unlock(jzx_context *ctx, struct puppet *puppet) {
    return jzx_mutex_unlock(ctx, puppet->object);
}

static jzx_err lock_write(jzx_context *ctx, struct puppet *puppet) {
    return jzx_rwlock_lock_write(ctx, puppet->object, puppet->deadline_ns);
}

static jzx_err call(jzx_context *ctx, struct puppet *puppet) {
    const struct puppet *other = puppet->object;
    return jzx_call(ctx, other->id, NULL, 0, 7, puppet->deadline_ns, NULL);
}

static jzx_err join(jzx_context *ctx, struct puppet *puppet) {
    const struct puppet *other = puppet->object;
    return jzx_join(ctx, other->id, puppet->deadline_ns, NULL);
}

static void note_line(void *ctx, const char *text) {
    (void)ctx;
    if (s.line[0] == '\0' && strstr(text, s.wanted) != NULL)
        snprintf(s.line, sizeof s.line, "%s", text);
}

static const char *dumped(const char *wanted) {
    s.line[0] = '\0';
    s.wanted = wanted;
    assert_int_equal(jzx_loop_dump(s.timing.loop, note_line, NULL), JZX_OK);
    return s.line;
}

/* ann has the first mutex and waits for the second, bob the other way round. */
static void make_abba(uint64_t deadline_ns) {
    puppet_expect(&s.puppets[0], lock, &s.mutexes[0], JZX_OK);
    puppet_expect(&s.puppets[1], lock, &s.mutexes[1], JZX_OK);
    assert_false(puppet_do(&s.puppets[0], lock, &s.mutexes[1], deadline_ns));
    assert_false(puppet_do(&s.puppets[1], lock, &s.mutexes[0], JZX_NEVER));
}

/* ---- named ---- */

JZX_TEST(two_mutexes_in_opposite_order_are_named) {
    set_up(0);
    make_abba(JZX_NEVER);
    expect_report_after_one_second(2);
    expect_detail(0, 2, "a mutex of");
    char who[64];
    char wanted[128];
    snprintf(wanted, sizeof wanted, "waits for a mutex of %s since",
             label(&s.puppets[1], who, sizeof who));
    assert_non_null(strstr(dumped(wanted), names[0]));
    assert_int_equal(info_of(s.timing.loop, s.puppets[0].id).wait_holder, s.puppets[1].id);
    assert_int_equal(info_of(s.timing.loop, s.puppets[1].id).wait_holder, s.puppets[0].id);
    assert_int_equal(info_of(s.timing.loop, s.puppets[2].id).wait_holder, JZX_NOBODY);
    puppet_kill(&s.puppets[0]); /* that resolves it */
    puppet_gets(&s.puppets[1], JZX_ERR_OWNER_DIED);
    tear_down();
}

JZX_TEST(a_ring_of_five_calls_is_named) {
    set_up(0);
    for (int i = 0; i < 5; i++)
        assert_false(puppet_do(&s.puppets[i], call, &s.puppets[(i + 1) % 5], JZX_NEVER));
    expect_report_after_one_second(5);
    expect_detail(0, 5, "an answer of");
    tear_down();
}

JZX_TEST(joins_on_each_other_are_named_and_one_on_oneself_is_refused) {
    set_up(0);
    puppet_expect(&s.puppets[0], join, &s.puppets[0], JZX_ERR_INVALID_ARG);
    puppet_expect(&s.puppets[0], call, &s.puppets[0], JZX_ERR_INVALID_ARG);
    assert_false(puppet_do(&s.puppets[0], join, &s.puppets[1], JZX_NEVER));
    assert_false(puppet_do(&s.puppets[1], join, &s.puppets[0], JZX_NEVER));
    expect_report_after_one_second(2);
    expect_detail(0, 2, "the end of");
    tear_down();
}

JZX_TEST(a_cycle_of_a_lock_a_call_and_a_join_is_named) {
    char expected[512];
    char who[3][64];
    set_up(0);
    puppet_expect(&s.puppets[0], lock_write, &s.rwlock, JZX_OK);
    assert_false(puppet_do(&s.puppets[1], lock_write, &s.rwlock, JZX_NEVER));
    assert_false(puppet_do(&s.puppets[2], join, &s.puppets[1], JZX_NEVER));
    pass_time(JZX_SECOND(3)); /* the waits that are there already take longer than 1 s */
    assert_int_equal(s.reports, 0);
    assert_false(puppet_do(&s.puppets[0], call, &s.puppets[2], JZX_NEVER));
    expect_report_after_one_second(3);
    for (int i = 0; i < 3; i++)
        label(&s.puppets[i], who[i], sizeof who[i]);
    snprintf(expected, sizeof expected,
             "%s waits for an answer of %s, which waits for the end of %s, which waits for a "
             "rwlock of %s",
             who[0], who[2], who[1], who[0]);
    assert_string_equal(s.detail, expected);
    tear_down();
}

JZX_TEST(a_wait_that_leads_into_a_cycle_adds_no_report) {
    set_up(0);
    make_abba(JZX_NEVER);
    pass_time(JZX_SECOND(1));
    assert_int_equal(s.reports, 1);
    assert_false(puppet_do(&s.puppets[2], lock, &s.mutexes[0], JZX_NEVER));
    assert_false(puppet_do(&s.puppets[3], join, &s.puppets[2], JZX_NEVER));
    pass_time(JZX_SECOND(5));
    assert_int_equal(s.reports, 1);
    tear_down();
}

JZX_TEST(a_cycle_that_comes_again_is_reported_again) {
    set_up(0);
    make_abba(JZX_SECOND(2));
    pass_time(JZX_SECOND(1));
    assert_int_equal(s.reports, 1);
    pass_time(JZX_SECOND(1));
    puppet_gets(&s.puppets[0], JZX_ERR_TIMEOUT);
    assert_false(puppet_do(&s.puppets[0], lock, &s.mutexes[1], JZX_NEVER));
    pass_time(JZX_SECOND(1));
    assert_int_equal(s.reports, 2);
    tear_down();
}

JZX_TEST(the_time_is_configured_and_the_search_can_be_turned_off) {
    set_up(JZX_MS(20));
    make_abba(JZX_NEVER);
    pass_time(JZX_MS(19));
    assert_int_equal(s.reports, 0);
    pass_time(JZX_MS(1));
    assert_int_equal(s.reports, 1);
    tear_down();
    set_up(JZX_NEVER);
    make_abba(JZX_NEVER);
    assert_true(jzx_loop_next_deadline(s.timing.loop) == JZX_NEVER);
    pass_time(JZX_SECOND(100));
    assert_int_equal(s.reports, 0);
    tear_down();
}

/* ---- no deadlocks ---- */

static jzx_err answer_and_call_back(jzx_context *ctx, struct puppet *puppet) {
    const struct puppet *other = puppet->object;
    jzx_message msg;
    jzx_err err = jzx_receive_tag(ctx, 7, JZX_NEVER, &msg);
    if (err == JZX_OK)
        err = jzx_reply(ctx, &msg, NULL, 0, 8);
    return err == JZX_OK ? jzx_call(ctx, other->id, NULL, 0, 9, puppet->deadline_ns, NULL) : err;
}

JZX_TEST(an_answer_that_is_under_way_makes_no_deadlock) {
    set_up(0);
    assert_false(puppet_do(&s.puppets[0], call, &s.puppets[1], JZX_NEVER));
    s.puppets[1].fn = answer_and_call_back;
    s.puppets[1].object = &s.puppets[0];
    s.puppets[1].deadline_ns = JZX_NEVER;
    fixture_send(s.timing.loop, s.puppets[1].id, TAG_OBEY);
    for (int i = 0; i < 20 && s.puppets[0].done == 1; i++)
        assert_int_equal(jzx_loop_step(s.timing.loop, 0), JZX_OK); /* one turn after another */
    pass_time(JZX_SECOND(3));
    assert_int_equal(s.reports, 0);
    puppet_gets(&s.puppets[0], JZX_OK);
    assert_true(puppet_waits(&s.puppets[1])); /* its own question has no answer */
    tear_down();
}

static jzx_ask_handle handle;

static jzx_err pass_on_and_join(jzx_context *ctx, struct puppet *puppet) {
    const struct puppet *other = puppet->object;
    jzx_message msg;
    jzx_err err = jzx_receive_tag(ctx, 7, JZX_NEVER, &msg);
    handle = jzx_ask_from(ctx, &msg);
    return err == JZX_OK ? jzx_join(ctx, other->id, puppet->deadline_ns, NULL) : err;
}

JZX_TEST(a_question_that_somebody_else_may_answer_makes_no_deadlock) {
    set_up(0);
    assert_false(puppet_do(&s.puppets[0], call, &s.puppets[1], JZX_NEVER));
    assert_false(puppet_do(&s.puppets[1], pass_on_and_join, &s.puppets[0], JZX_NEVER));
    pass_time(JZX_SECOND(3));
    assert_int_equal(s.reports, 0);
    assert_int_equal(jzx_reply_to(s.timing.loop, handle, JZX_NOBODY, NULL, 0, 8), JZX_OK);
    timing_step(&s.timing);
    puppet_gets(&s.puppets[0], JZX_OK);
    tear_down();
}

static jzx_err receive_and_join(jzx_context *ctx, struct puppet *puppet) {
    const struct puppet *other = puppet->object;
    jzx_message msg;
    jzx_err err = jzx_receive_tag(ctx, 7, JZX_NEVER, &msg);
    return err == JZX_OK ? jzx_join(ctx, other->id, puppet->deadline_ns, NULL) : err;
}

JZX_TEST(a_question_in_the_hands_of_the_asked_makes_one) {
    set_up(0);
    assert_false(puppet_do(&s.puppets[0], call, &s.puppets[1], JZX_NEVER));
    assert_false(puppet_do(&s.puppets[1], receive_and_join, &s.puppets[0], JZX_NEVER));
    pass_time(JZX_SECOND(1));
    assert_int_equal(s.reports, 1);
    tear_down();
}

JZX_TEST(a_deadlock_with_mail_that_came_just_then_is_named_a_tick_later) {
    set_up(0);
    for (int i = 0; i < 3; i++)
        assert_false(puppet_do(&s.puppets[i], call, &s.puppets[(i + 1) % 3], JZX_NEVER));
    assert_int_equal(jzx_clock_advance(s.timing.clock, JZX_SECOND(1)), JZX_OK);
    for (int i = 0; i < 3; i++)
        fixture_send(s.timing.loop, s.puppets[i].id, 77); /* not taken in yet */
    timing_step(&s.timing);
    pass_time(JZX_MS(1));
    assert_int_equal(s.reports, 1);
    assert_int_equal(s.count, 3);
    tear_down();
}

JZX_TEST(a_fiber_that_is_to_end_is_in_no_deadlock) {
    set_up(0);
    make_abba(JZX_NEVER);
    assert_int_equal(jzx_clock_advance(s.timing.clock, JZX_SECOND(1)), JZX_OK);
    assert_int_equal(jzx_actor_stop(s.timing.loop, s.puppets[0].id, JZX_STOP_KILL), JZX_OK);
    timing_step(&s.timing);
    assert_int_equal(s.reports, 0);
    tear_down();
}

/* A program without a cycle: mutexes are taken in their order, and calls and joins go to puppets
 * with a higher number, which never have a lock that a lower one waits for. */
static bool random_action(uint64_t *state) {
    uint32_t who = (uint32_t)random_below(state, PUPPETS);
    struct puppet *puppet = &s.puppets[who];
    if (puppet_waits(puppet))
        return true;
    uint64_t deadline_ns = random_below(state, 3) == 0
                               ? JZX_NEVER
                               : jzx_loop_now(s.timing.loop) + JZX_MS(random_below(state, 3000));
    if (who < PUPPETS / 2) { /* locks, each only if it has none that is above */
        uint32_t lock_number = (uint32_t)random_below(state, LOCKS);
        if (puppet->number > lock_number) {
            for (uint32_t i = 0; i < LOCKS; i++) {
                puppet->value = i;
                puppet_do(puppet, unlock, &s.mutexes[i], 0);
            }
            puppet->number = 0;
            return true;
        }
        puppet->number = lock_number + 1;
        puppet_do(puppet, lock, &s.mutexes[lock_number], deadline_ns);
        return true;
    }
    if (who + 1 == PUPPETS)
        return true;
    uint32_t other = who + 1 + (uint32_t)random_below(state, PUPPETS - who - 1);
    puppet_do(puppet, random_below(state, 2) == 0 ? call : join, &s.puppets[other], deadline_ns);
    return true;
}

static bool run_without_cycle(uint64_t seed) {
    uint64_t state = seed;
    set_up(JZX_MS(1 + random_below(&state, 200)));
    for (int i = 0; i < 40; i++) {
        random_action(&state);
        if (random_below(&state, 3) == 0)
            pass_time(JZX_MS(random_below(&state, 500)));
    }
    bool is_fine = JZX_EXPECT_EQ(s.reports, 0);
    tear_down();
    return is_fine;
}

JZX_TEST(programs_without_a_cycle_report_no_deadlock) {
    run_seeds("sync_deadlock.programs_without_a_cycle_report_no_deadlock", 1000, run_without_cycle);
}
