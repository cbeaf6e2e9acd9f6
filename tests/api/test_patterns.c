/* SPDX-License-Identifier: MIT */
/* Patterns over traces, against a matcher that is naive; reports; probes; verification. */
#include "processing.h"
#include "timing.h"

#include <jzx/test.h>

static char report[2048];

/* A trace of Sends with these tags, from i to i + 1. */
enum { STEPS_MAX = 32 };
static jzx_trace_step steps[STEPS_MAX];

static jzx_trace trace_of_text(const char *text) {
    size_t count = strlen(text);
    assert_true(count <= STEPS_MAX);
    for (size_t i = 0; i < count; i++)
        steps[i] = (jzx_trace_step){.action = {.kind = JZX_ACTION_SEND,
                                               .source = i,
                                               .target = i + 1,
                                               .tag = (uint32_t)text[i],
                                               .data = ""}};
    return (jzx_trace){.steps = steps, .count = count};
}

static jzx_err match_text(const char *text, const jzx_pattern *pattern) {
    const jzx_trace trace = trace_of_text(text);
    return jzx_trace_match(&trace, pattern, report, sizeof report);
}

#define T(letter) JZX_STEP(JZX_HAS_TAG(letter))

static void check_matches(const jzx_pattern *pattern, const char *const *right,
                          const char *const *wrong) {
    for (; *right != NULL; right++)
        assert_int_equal(match_text(*right, pattern), JZX_OK);
    for (; *wrong != NULL; wrong++)
        assert_int_equal(match_text(*wrong, pattern), JZX_ERR_FAILED);
}

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

JZX_TEST(each_pattern_matches_what_it_says, "A+test") {
    check_matches(JZX_SEQUENCE(T('a'), T('b')), LIST("ab"), LIST("", "a", "b", "ba", "abb"));
    check_matches(JZX_ONE_OF(T('a'), JZX_SEQUENCE(T('b'), T('c'))), LIST("a", "bc"),
                  LIST("", "b", "abc", "c"));
    check_matches(JZX_ZERO_OR_MORE(T('a')), LIST("", "a", "aaaa"), LIST("b", "aab"));
    check_matches(JZX_ONE_OR_MORE(T('a')), LIST("a", "aaaa"), LIST("", "b", "aab"));
    check_matches(JZX_REPEAT(3, T('a')), LIST("aaa"), LIST("", "aa", "aaaa"));
    check_matches(JZX_REPEAT(0, T('a')), LIST(""), LIST("a"));
    check_matches(JZX_PARALLEL(T('a'), T('b'), T('c')), LIST("abc", "acb", "bac", "cba"),
                  LIST("", "ab", "abca", "aab"));
    check_matches(JZX_PARALLEL(JZX_SEQUENCE(T('a'), T('b')), JZX_SEQUENCE(T('c'), T('d'))),
                  LIST("abcd", "cdab", "acbd", "cabd"), LIST("bacd", "abdc", "abc"));
    check_matches(JZX_SEQUENCE(JZX_ANYTHING(), T('x'), JZX_ANYTHING()), LIST("x", "axb", "xx"),
                  LIST("", "abc"));
    /* Ways that look right at first are given up for others. */
    check_matches(JZX_SEQUENCE(JZX_ZERO_OR_MORE(T('a')), T('a'), T('b')), LIST("ab", "aaaab"),
                  LIST("b", "aaaa"));
    check_matches(JZX_ONE_OR_MORE(JZX_ONE_OF(JZX_SEQUENCE(T('a'), T('b')), T('a'), T('b'))),
                  LIST("abab", "aab", "bbba"), LIST("", "abc"));
}

/* ---- against a naive matcher ---- */

/* True if some way to cut the text lets all of it be the pattern. A parallel tries every way to
 * deal the letters out to its parts. */
static bool naive(const jzx_pattern *pattern, const char *text, size_t len);

static bool naive_sequence(const jzx_pattern *const *items, size_t count, const char *text,
                           size_t len) {
    if (count == 0)
        return len == 0;
    for (size_t cut = 0; cut <= len; cut++) {
        if (naive(items[0], text, cut) &&
            naive_sequence(items + 1, count - 1, text + cut, len - cut))
            return true;
    }
    return false;
}

static bool naive_many(const jzx_pattern *item, const char *text, size_t len) {
    if (len == 0)
        return true;
    for (size_t cut = 1; cut <= len; cut++) {
        if (naive(item, text, cut) && naive_many(item, text + cut, len - cut))
            return true;
    }
    return false;
}

static bool naive_times(const jzx_pattern *item, uint32_t times, const char *text, size_t len) {
    if (times == 0)
        return len == 0;
    for (size_t cut = 0; cut <= len; cut++) {
        if (naive(item, text, cut) && naive_times(item, times - 1, text + cut, len - cut))
            return true;
    }
    return false;
}

static bool naive_deal(const jzx_pattern *pattern, const char *text, size_t len) {
    size_t deals = 1;
    for (size_t i = 0; i < len; i++)
        deals *= pattern->count;
    for (size_t deal = 0; deal < deals && pattern->count != 0; deal++) {
        bool holds = true;
        for (size_t part = 0; part < pattern->count && holds; part++) {
            char mine[STEPS_MAX];
            size_t count = 0;
            size_t rest = deal;
            for (size_t i = 0; i < len; i++, rest /= pattern->count) {
                if (rest % pattern->count == part)
                    mine[count++] = text[i];
            }
            holds = naive(pattern->items[part], mine, count);
        }
        if (holds)
            return true;
    }
    return pattern->count == 0 && len == 0;
}

static bool naive(const jzx_pattern *pattern, const char *text, size_t len) {
    switch (pattern->kind) {
    case JZX_PATTERN_STEP: return len == 1 && pattern->predicate->number == (uint64_t)text[0];
    case JZX_PATTERN_SEQUENCE: return naive_sequence(pattern->items, pattern->count, text, len);
    case JZX_PATTERN_ONE_OF:
        for (size_t i = 0; i < pattern->count; i++) {
            if (naive(pattern->items[i], text, len))
                return true;
        }
        return false;
    case JZX_PATTERN_ZERO_OR_MORE: return naive_many(pattern->items[0], text, len);
    case JZX_PATTERN_ONE_OR_MORE:
        return len == 0 ? naive(pattern->items[0], text, 0)
                        : naive_many(pattern->items[0], text, len);
    case JZX_PATTERN_REPEAT: return naive_times(pattern->items[0], pattern->times, text, len);
    default: return naive_deal(pattern, text, len);
    }
}

static struct {
    jzx_pattern patterns[64];
    const jzx_pattern *lists[64][3];
    jzx_predicate predicates[64];
    size_t used;
    uint64_t seed;
} garden;

static uint64_t draw(uint64_t below) {
    garden.seed = garden.seed * 6364136223846793005u + 1442695040888963407u;
    return (garden.seed >> 33) % below;
}

static const jzx_pattern *grow(unsigned depth) {
    size_t at = garden.used++;
    jzx_pattern *pattern = &garden.patterns[at];
    memset(pattern, 0, sizeof *pattern);
    pattern->kind = depth == 0 ? JZX_PATTERN_STEP : (jzx_pattern_kind)(1 + draw(7));
    if (pattern->kind == JZX_PATTERN_STEP) {
        garden.predicates[at] = (jzx_predicate){
            .kind = JZX_PREDICATE_FIELD, .field = JZX_FIELD_TAG, .number = (uint64_t)'a' + draw(3)};
        pattern->predicate = &garden.predicates[at];
        return pattern;
    }
    bool has_one = pattern->kind >= JZX_PATTERN_ZERO_OR_MORE && pattern->kind <= JZX_PATTERN_REPEAT;
    pattern->times = (uint32_t)draw(3);
    pattern->count = has_one ? 1 : draw(4);
    for (size_t i = 0; i < pattern->count; i++)
        garden.lists[at][i] = grow(depth - 1);
    pattern->items = garden.lists[at];
    return pattern;
}

JZX_TEST(random_patterns_agree_with_a_naive_matcher, "A+test") {
    const uint64_t rounds = jzx_test_rounds(20000, 200000);
    uint64_t matched = 0;
    for (uint64_t seed = 1; seed <= rounds; seed++) {
        char text[8] = "";
        garden.seed = seed * 7919;
        garden.used = 0;
        const jzx_pattern *pattern = grow(3);
        size_t len = draw(7);
        for (size_t i = 0; i < len; i++)
            text[i] = (char)('a' + draw(3));
        bool expected = naive(pattern, text, len);
        jzx_err err = match_text(text, pattern);
        if (err != (expected ? JZX_OK : JZX_ERR_FAILED))
            print_error("seed %llu, text %s\n%s\n", (unsigned long long)seed, text, report);
        assert_int_equal(err, expected ? JZX_OK : JZX_ERR_FAILED);
        matched += expected;
    }
    assert_true(matched > rounds / 50);
}

/* ---- predicates ---- */

struct order {
    uint32_t number;
    char name[4];
};

static bool is_odd(void *arg, const jzx_trace_step *step) {
    (void)arg;
    return step->action.tag % 2 == 1;
}

static const jzx_predicate *tag_from(void *arg) {
    static jzx_predicate made;
    made = (jzx_predicate){
        .kind = JZX_PREDICATE_FIELD, .field = JZX_FIELD_TAG, .number = *(const uint32_t *)arg};
    return &made;
}

static bool holds(const jzx_trace_step *step, const jzx_predicate *predicate) {
    const jzx_trace trace = {.steps = step, .count = 1};
    jzx_err err = jzx_trace_match(&trace, JZX_STEP(predicate), report, sizeof report);
    assert_true(err == JZX_OK || err == JZX_ERR_FAILED);
    return err == JZX_OK;
}

JZX_TEST(each_predicate_holds_for_what_it_says, "A+test") {
    static const jzx_actor_factory factory = {.size = sizeof factory, .type = "thing"};
    const struct order order = {.number = 42, .name = "abc"};
    uint32_t seven = 7;
    const jzx_trace_step step = {.action = {.kind = JZX_ACTION_FAIL,
                                            .error = JZX_ERR_TIMEOUT,
                                            .source = 3,
                                            .target = JZX_PROCESSOR_OUTPUT,
                                            .tag = 7,
                                            .len = sizeof order,
                                            .data = &order,
                                            .factory = &factory},
                                 .outcome = JZX_OUTCOME_DROPPED};
    jzx_trace_step other = step;
    other.tick = 99;
    assert_true(holds(&step, JZX_ANY()));
    assert_true(holds(&step, JZX_HAS_KIND(JZX_ACTION_FAIL)));
    assert_false(holds(&step, JZX_HAS_KIND(JZX_ACTION_KILL)));
    assert_true(holds(&step, JZX_HAS_TAG(7)));
    assert_false(holds(&step, JZX_HAS_TAG(8)));
    assert_true(holds(&step, JZX_SENT_FROM(3)));
    assert_true(holds(&step, JZX_SENT_TO(JZX_PROCESSOR_OUTPUT)));
    assert_false(holds(&step, JZX_SENT_TO(3)));
    assert_true(holds(&step, JZX_HAS_ERROR(JZX_ERR_TIMEOUT)));
    assert_false(holds(&step, JZX_HAS_ERROR(JZX_OK)));
    assert_true(holds(&step, JZX_HAS_OUTCOME(JZX_OUTCOME_DROPPED)));
    assert_true(holds(&step, JZX_HAS_TYPE("thing")));
    assert_false(holds(&step, JZX_HAS_TYPE("thin")));
    assert_true(holds(&step, JZX_HAS_PAYLOAD(&order, sizeof order)));
    assert_false(holds(&step, JZX_HAS_PAYLOAD(&order, 4)));
    assert_true(holds(&step, JZX_HAS_FIELD(struct order, number, 42)));
    assert_false(holds(&step, JZX_HAS_FIELD(struct order, number, 43)));
    assert_false(holds(&step, JZX_HAS_BYTES(6, "abc", 4))); /* beyond its end */
    assert_true(holds(&step, JZX_EQUALS(&other)));
    other.action.tag = 8;
    assert_false(holds(&step, JZX_EQUALS(&other)));
    assert_true(holds(&step, JZX_WHERE(is_odd, NULL)));
    assert_true(holds(&step, JZX_LAZY(tag_from, &seven)));
    seven = 8;
    assert_false(holds(&step, JZX_LAZY(tag_from, &seven)));
    assert_true(holds(&step, JZX_ALL_OF(JZX_HAS_TAG(7), JZX_SENT_FROM(3))));
    assert_false(holds(&step, JZX_ALL_OF(JZX_HAS_TAG(7), JZX_SENT_FROM(4))));
    assert_true(holds(&step, JZX_ANY_OF(JZX_HAS_TAG(8), JZX_SENT_FROM(3))));
    assert_false(holds(&step, JZX_ANY_OF(JZX_HAS_TAG(8), JZX_SENT_FROM(4))));
    assert_true(holds(&step, JZX_NOT(JZX_HAS_TAG(8))));
    assert_false(holds(&step, JZX_REF(0, JZX_FIELD_TAG))); /* nothing was kept */
}

JZX_TEST(captures_are_taken_back_with_the_way_that_made_them, "A+test") {
    /* The target of some step is the source of a later one with the tag z. */
    const jzx_pattern *linked =
        JZX_SEQUENCE(JZX_ANYTHING(), JZX_STEP(JZX_CAPTURE(0, JZX_FIELD_TARGET)), JZX_ANYTHING(),
                     JZX_STEP(JZX_ALL_OF(JZX_HAS_TAG('z'), JZX_REF(0, JZX_FIELD_SOURCE))));
    assert_int_equal(match_text("abcz", linked), JZX_OK); /* the step before the z */
    steps[3].action.source = 77;
    jzx_trace trace = {.steps = steps, .count = 4};
    assert_int_equal(jzx_trace_match(&trace, linked, report, sizeof report), JZX_ERR_FAILED);
    steps[0].action.target = 77;
    assert_int_equal(jzx_trace_match(&trace, linked, report, sizeof report), JZX_OK);
    /* Twice the same tag, whichever it is. */
    const jzx_pattern *twice =
        JZX_SEQUENCE(JZX_STEP(JZX_CAPTURE(3, JZX_FIELD_TAG)), JZX_STEP(JZX_REF(3, JZX_FIELD_TAG)));
    assert_int_equal(match_text("qq", twice), JZX_OK);
    assert_int_equal(match_text("qr", twice), JZX_ERR_FAILED);
    assert_non_null(strstr(report, "tag as captured in 3 (113)"));
}

/* ---- reports ---- */

JZX_TEST(a_report_shows_the_longest_match_what_was_expected_and_what_came, "A+test") {
    const jzx_pattern *pattern =
        JZX_SEQUENCE(T('a'), JZX_ONE_OF(JZX_SEQUENCE(T('b'), T('c')),
                                        JZX_SEQUENCE(T('b'), JZX_STEP(JZX_SENT_TO(9)))));
    assert_int_equal(match_text("abx", pattern), JZX_ERR_FAILED);
    assert_string_equal(report, "the trace does not match: 2 of 3 steps do\n"
                                "  0: Send input -> output tag 97\n"
                                "  0: Send output -> internal tag 98\n"
                                "expected next:  tag 99\n"
                                "            or: target 9\n"
                                "came instead:   0: Send internal -> 3 tag 120\n");
    assert_int_equal(match_text("ab", pattern), JZX_ERR_FAILED);
    assert_non_null(strstr(report, "came instead:   the end of the trace\n"));
    assert_int_equal(match_text("abcd", pattern), JZX_ERR_FAILED);
    assert_non_null(strstr(report, "expected next:  the end of the trace\n"));
    char small[10];
    const jzx_trace trace = trace_of_text("abcd");
    assert_int_equal(jzx_trace_match(&trace, pattern, small, sizeof small), JZX_ERR_FAILED);
    assert_string_equal(small, "the trace");
    assert_int_equal(jzx_trace_match(&trace, pattern, NULL, 0), JZX_ERR_FAILED);
    assert_int_equal(match_text("ab", NULL), JZX_ERR_INVALID_ARG);
    assert_int_equal(match_text("ab", JZX_STEP(NULL)), JZX_ERR_INVALID_ARG);
    assert_int_equal(match_text("ab", JZX_STEP(JZX_CAPTURE(99, JZX_FIELD_TAG))),
                     JZX_ERR_INVALID_ARG);
}

/* ---- probes ---- */

static jzx_behavior_result answer(jzx_context *ctx, const jzx_message *msg) {
    jzx_test_ran();
    if (msg->tag == 1)
        (void)jzx_send(ctx->loop, msg->sender, ctx->self, "pong", 4, 2);
    return JZX_BEHAVIOR_OK;
}

JZX_TEST(a_probe_between_actors_records_and_passes_on, "A+test") {
    struct timing timing = timing_open();
    jzx_loop *loop = timing.loop;
    jzx_test_probe *front;
    jzx_test_probe *back;
    jzx_trace trace;
    jzx_actor_id server = fixture_spawn(loop, &JZX_SPAWN_OPTS(.behavior = answer, .daemon = true));
    assert_int_equal(jzx_test_probe_create(loop, server, &front), JZX_OK);
    assert_int_equal(jzx_test_probe_create(loop, JZX_NOBODY, &back), JZX_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(
            jzx_send(loop, jzx_test_probe_id(front), jzx_test_probe_id(back), "ping", 4, 1),
            JZX_OK);
        timing_step(&timing);
        timing_advance(&timing, JZX_SECOND(1));
    }
    assert_int_equal(jzx_test_runs(), 3);
    assert_int_equal(jzx_test_probe_trace(front, &trace), JZX_OK);
    assert_int_equal(
        jzx_trace_match(&trace,
                        JZX_REPEAT(3, JZX_STEP(JZX_ALL_OF(JZX_HAS_TAG(1), JZX_SENT_TO(server),
                                                          JZX_HAS_PAYLOAD("ping", 4)))),
                        report, sizeof report),
        JZX_OK);
    assert_int_equal(trace.steps[2].tick - trace.steps[0].tick, JZX_SECOND(2));
    assert_int_equal(jzx_test_probe_trace(back, &trace), JZX_OK);
    assert_int_equal(jzx_trace_match(&trace,
                                     JZX_ONE_OR_MORE(JZX_STEP(
                                         JZX_ALL_OF(JZX_HAS_TAG(2), JZX_HAS_PAYLOAD("pong", 4)))),
                                     report, sizeof report),
                     JZX_OK);
    assert_int_equal(jzx_actor_stop(loop, server, JZX_STOP_KILL), JZX_OK);
    timing_step(&timing);
    fixture_send(loop, jzx_test_probe_id(front), 1);
    timing_step(&timing);
    assert_int_equal(jzx_test_probe_trace(front, &trace), JZX_OK);
    assert_int_equal(trace.steps[3].outcome, JZX_OUTCOME_FAILED);
    assert_int_equal(trace.steps[3].action.error, JZX_ERR_NO_SUCH_ACTOR);
    jzx_test_probe_destroy(front);
    timing_close(&timing); /* the other one outlives its loop */
    assert_int_equal(jzx_test_probe_trace(back, &trace), JZX_OK);
    assert_int_equal(trace.count, 3);
    jzx_test_probe_destroy(back);
}

/* ---- verification ---- */

enum { START = 1, FETCHED = 2 };

static void fetch(jzx_context *ctx, void *state, jzx_inbox *inbox) {
    const struct relay *self = state;
    const jzx_action *msg;
    while (jzx_inbox_next(ctx, inbox, JZX_NEVER, &msg) == JZX_OK) {
        (void)jzx_sleep(ctx, jzx_in(ctx, JZX_SECOND(3)));
        (void)jzx_actions_send(jzx_inbox_actions(inbox), self->to, FETCHED, "real", 4);
    }
}

static void fake(void *state, const jzx_action *msg, jzx_actions *out) {
    const struct relay *self = state;
    (void)msg;
    (void)jzx_actions_send(out, self->to, FETCHED, "fake", 4);
}

static const jzx_actor_factory fetch_actor =
    JZX_ACTOR_FACTORY(.type = "fetch", .state_size = sizeof(struct relay), .create = relay_create,
                      .run = fetch);
static const jzx_actor_factory fake_actor = RELAY("fake", fake);

static void client(void *state, const jzx_action *msg, jzx_actions *out) {
    const jzx_processor_handle self = jzx_actions_self(out);
    jzx_processor_handle fetcher;
    (void)state;
    jzx_test_ran();
    if (msg->tag == START) {
        JZX_EXPECT_EQ(jzx_actions_spawn_new(out, &fetch_actor, &self, sizeof self, &fetcher),
                      JZX_OK);
        (void)jzx_actions_send(out, fetcher, START, NULL, 0);
    } else {
        (void)jzx_actions_send(out, JZX_PROCESSOR_OUTPUT, msg->tag, msg->data, msg->len);
    }
}

static const jzx_actor_factory client_actor = JZX_ACTOR_FACTORY(.type = "client", .handle = client);

static jzx_err verify(const char *expected, const jzx_test_override *overrides, size_t count,
                      uint64_t timeout_ns) {
    const jzx_test_input input = {.tag = START};
    const jzx_pattern *pattern = JZX_SEQUENCE(
        JZX_STEP(JZX_HAS_TYPE("client")),
        JZX_STEP(JZX_ALL_OF(JZX_HAS_TAG(START), JZX_SENT_FROM(JZX_PROCESSOR_INTERNAL))),
        JZX_STEP(JZX_ALL_OF(JZX_HAS_KIND(JZX_ACTION_SPAWN), JZX_CAPTURE(0, JZX_FIELD_TARGET))),
        JZX_STEP(JZX_REF(0, JZX_FIELD_TARGET)), JZX_STEP(JZX_REF(0, JZX_FIELD_SOURCE)),
        JZX_STEP(JZX_ALL_OF(JZX_SENT_TO(JZX_PROCESSOR_OUTPUT), JZX_HAS_PAYLOAD(expected, 4))));
    return jzx_test_verify(&JZX_TEST_VERIFY_OPTS(.root = &client_actor, .inputs = &input,
                                                 .input_count = 1, .input_size = sizeof input,
                                                 .overrides = overrides, .override_count = count,
                                                 .override_size = sizeof *overrides,
                                                 .pattern = pattern, .timeout_ns = timeout_ns),
                           report, sizeof report);
}

JZX_TEST(a_processor_is_verified_on_virtual_time, "A+test") {
    const jzx_test_override overrides[] = {{.type = "fetch", .factory = &fake_actor}};
    assert_int_equal(verify("real", NULL, 0, 0), JZX_OK);
    assert_int_equal(verify("fake", NULL, 0, 0), JZX_ERR_FAILED);
    assert_non_null(strstr(report, "5 of 6 steps do"));
    assert_non_null(strstr(report, "target output and payload [66 61 6b 65]"));
    assert_int_equal(verify("real", NULL, 0, JZX_SECOND(2)), JZX_ERR_FAILED); /* it takes three */
    assert_non_null(strstr(report, "came instead:   the end of the trace"));
    assert_int_equal(verify("fake", overrides, 1, 0), JZX_OK);
    assert_true(jzx_test_runs() >= 7);
    assert_int_equal(jzx_test_verify(NULL, report, sizeof report), JZX_ERR_INVALID_ARG);
}
