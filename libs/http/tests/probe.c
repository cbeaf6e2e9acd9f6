/* SPDX-License-Identifier: MIT */
/*
 * The requests of a published comparison of servers (probe.inc), judged by the parser alone. A
 * refusal answers with its status and closes. A request that stays incomplete ends by the server's
 * deadline, which closes, too. Where a request is fine and the case asks for a status that the
 * handler or the server chooses, the case needs the server.
 */
#include "driver.h"
#include "jzx_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct probe_piece {
    const char *bytes;
    size_t len;
    size_t times;
};

struct probe_case {
    const char *id;
    const char *expected;
    bool is_scored;
    const struct probe_piece *pieces;
    size_t piece_count;
};

#include "probe.inc"

enum { CASES = 143, SCORED = 125, NEED_SERVER = 3, REQUEST_MAX = 16384, CUTS_MAX = 400 };

enum verdict { PASSES, FAILS, NEEDS_SERVER };

/* Outcomes that the comparison marks with "(warn)" do not count. */
static bool allows(const char *expected, const char *outcome) {
    const char *at = strstr(expected, outcome);
    const char *warn = strstr(expected, " (warn)");
    return at != NULL && (warn == NULL || warn - at > 8 || at > warn);
}

static enum verdict judge(const struct probe_case *test, const struct driver_result *result) {
    char status[8];
    if (strcmp(test->expected, "!101") == 0) {
        return result->end == DRIVER_WAITS && !result->wants_websocket ? PASSES : FAILS;
    }
    if (result->end == DRIVER_REFUSED) {
        snprintf(status, sizeof(status), "%u", result->refusal.status);
        return allows(test->expected, status) || allows(test->expected, "close") ? PASSES : FAILS;
    }
    bool is_complete = result->messages > 0 && !result->is_in_message;
    if (result->end == DRIVER_WAITS && !is_complete) {
        return allows(test->expected, "timeout") || allows(test->expected, "close") ? PASSES
                                                                                    : FAILS;
    }
    if (result->end == DRIVER_TUNNEL || allows(test->expected, "417") ||
        allows(test->expected, "426")) {
        return NEEDS_SERVER;
    }
    if (strstr(test->expected, "+ close") != NULL && result->keeps_alive) {
        return FAILS;
    }
    return allows(test->expected, "2xx") || allows(test->expected, "200") ? PASSES : FAILS;
}

static size_t assemble(const struct probe_case *test, char *request) {
    size_t len = 0;
    for (size_t i = 0; i < test->piece_count; i++) {
        for (size_t times = 0; times < test->pieces[i].times; times++) {
            memcpy(request + len, test->pieces[i].bytes, test->pieces[i].len);
            len += test->pieces[i].len;
        }
    }
    return len;
}

static void print(const struct probe_case *test, const struct driver_result *result,
                  const char *verdict) {
    printf("%s %s: expected %s, ", verdict, test->id, test->expected);
    if (result->end == DRIVER_REFUSED) {
        printf("refused with %u at byte %zu: %s\n", result->refusal.status, result->refused_at,
               result->refusal.text);
    } else {
        printf("%s\n", result->messages > 0 ? "accepted" : "incomplete");
    }
}

JZX_TEST(published_requests_are_accepted_or_refused_as_the_comparison_expects) {
    static char request[REQUEST_MAX];
    struct driver_options options = driver_requests();
    unsigned counts[3] = {0};
    unsigned first = 0; /* passes by the first alternative of a scored case */
    unsigned scored = 0;
    for (size_t i = 0; i < CASES; i++) {
        const struct probe_case *test = &probe_cases[i];
        static const char *const names[] = {"pass", "FAIL", "needs the server"};
        size_t len = assemble(test, request);
        struct driver_result result = driver_run(&options, request, len, len, 1);
        enum verdict verdict = judge(test, &result);
        bool is_refused = result.end == DRIVER_REFUSED;
        counts[verdict] += test->is_scored;
        scored += test->is_scored;
        first += test->is_scored && verdict == PASSES &&
                 (is_refused || strncmp(test->expected, "400 or 2xx", 10) != 0);
        JZX_EXPECT(verdict != FAILS);
        print(test, &result, names[verdict]);
        driver_free(&result);
    }
    printf("%u of %u scored cases pass (%u by their first alternative), %u fail, %u need the "
           "server\n",
           counts[PASSES], scored, first, counts[FAILS], counts[NEEDS_SERVER]);
    JZX_EXPECT_EQ(sizeof(probe_cases) / sizeof(probe_cases[0]), CASES);
    JZX_EXPECT_EQ(scored, SCORED);
    JZX_EXPECT_EQ(counts[NEEDS_SERVER], NEED_SERVER);
    JZX_EXPECT_EQ(counts[PASSES], SCORED - NEED_SERVER);
}

JZX_TEST(published_requests_give_one_result_however_they_are_cut) {
    static char request[REQUEST_MAX];
    struct driver_options options = driver_requests();
    for (size_t i = 0; i < CASES; i++) {
        size_t len = assemble(&probe_cases[i], request);
        JZX_EXPECT(driver_agrees(&options, request, len, CUTS_MAX));
    }
}
