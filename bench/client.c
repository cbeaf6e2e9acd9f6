/* SPDX-License-Identifier: MIT */
#include "client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

const char *const client_notes[] = {"requests_per_s", "p50_us", "p99_us", "cpu_us", NULL};

static struct {
    const char *kind;
    uint32_t connections;
    uint64_t requests;
    char port[8];
    struct bench_run run;
} client;

static void allow_descriptors(void) {
    struct rlimit limit;
    BENCH_CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = limit.rlim_max;
    BENCH_CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

void client_prepare(const char *kind, uint32_t connections, uint64_t requests) {
    allow_descriptors();
    client.kind = kind;
    client.connections = connections;
    client.requests = requests;
}

static void read_answer(FILE *answer) {
    struct bench_run *run = &client.run;
    unsigned long long answered;
    unsigned long long handovers;
    BENCH_CHECK(fscanf(answer, "%lf %llu %lf %llu", &run->seconds, &answered, &run->amount,
                       &handovers) == 4);
    run->ops = answered;
    unsigned note = 0;
    while (note < BENCH_NOTES_MAX && fscanf(answer, "%lf", &run->notes[note]) == 1)
        note++;
}

static jzx_err run_client(void *unused) {
    char command[512];
    (void)unused;
    snprintf(command, sizeof command, "exec '%s' %s %s %u %llu %d", getenv("JZX_BENCH_CLIENT"),
             client.kind, client.port, (unsigned)client.connections,
             (unsigned long long)client.requests, (int)getpid());
    FILE *answer = popen(command, "r");
    BENCH_CHECK(answer != NULL);
    read_answer(answer);
    BENCH_CHECK(pclose(answer) == 0);
    return JZX_OK;
}

void client_start(jzx_context *ctx, const char *address, uint32_t tag) {
    snprintf(client.port, sizeof client.port, "%s", strrchr(address, ':') + 1);
    BENCH_CHECK(jzx_blocking_to(ctx, run_client, NULL, tag, NULL) == JZX_OK);
}

void client_report(struct bench_run *run) {
    *run = client.run;
}
