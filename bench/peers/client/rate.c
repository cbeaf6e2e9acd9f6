/* SPDX-License-Identifier: MIT */
/* A load that does not wait: RATE requests a second, on all connections in turn, each sent when it
 * is due whatever has become of those before, several on one connection if need be. The delay of a
 * request counts from when it was due, so a server that was silent for a while is late for all that
 * came due meanwhile.
 *
 * After WARM_REQUESTS, REQUESTS are measured. Prints the time from the first of these being due to
 * the last echo, the requests, the 99th percentile of their delays, 0, and then the median, the
 * 99.9th percentile, and the 99th percentile of how late they were sent, all in microseconds. The
 * last one is none of the server's doing: it says what the machine did to the client. To keep it
 * small the client runs at real-time priority where it may; it needs a twentieth of a CPU. */
#include "load.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define RATE 2000u
#define WARM_REQUESTS 600u
#define BEGINS_AFTER_NS 10000000u

#define SECOND_NS 1000000000u
#define STEP_NS (SECOND_NS / RATE)

struct pace {
    int timer;
    uint64_t start_ns;
    uint64_t sent;
    uint64_t total;
    uint64_t *late_ns;
};

static uint64_t due_ns(const struct pace *pace, uint64_t request) {
    return pace->start_ns + request * STEP_NS;
}

/* To a load on another machine it would not matter who computes on this one. Without the right to
 * it, or without such a policy, it stays as it is. */
static void go_first(void) {
    struct sched_param param = {.sched_priority = sched_get_priority_min(SCHED_FIFO)};
    (void)sched_setscheduler(0, SCHED_FIFO, &param);
}

static struct timespec timespec_of(uint64_t ns) {
    return (struct timespec){.tv_sec = (time_t)(ns / SECOND_NS), .tv_nsec = (long)(ns % SECOND_NS)};
}

static void start_timer(const struct load *load, struct pace *pace) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    pace->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    check(pace->timer >= 0, "timerfd_create");
    check(epoll_ctl(load->epoll, EPOLL_CTL_ADD, pace->timer, &event) == 0, "epoll_ctl");
    pace->start_ns = now_ns() + BEGINS_AFTER_NS;
    struct itimerspec every = {.it_value = timespec_of(pace->start_ns),
                               .it_interval = timespec_of(STEP_NS)};
    check(timerfd_settime(pace->timer, TFD_TIMER_ABSTIME, &every, NULL) == 0, "timerfd_settime");
}

static void stop_timer(const struct pace *pace) {
    const struct itimerspec never = {.it_value.tv_sec = 0};
    check(timerfd_settime(pace->timer, 0, &never, NULL) == 0, "timerfd_settime");
}

static void send_what_is_due(struct load *load, struct pace *pace) {
    uint64_t ticks;
    if (read(pace->timer, &ticks, sizeof ticks) != sizeof ticks)
        return; /* it was stopped, or it is a tick that the last call saw */
    for (; pace->sent < pace->total && due_ns(pace, pace->sent) <= now_ns(); pace->sent++) {
        struct connection *connection = &load->connections[pace->sent % load->count];
        send_request(connection);
        if (pace->sent >= WARM_REQUESTS)
            pace->late_ns[pace->sent - WARM_REQUESTS] =
                connection->sent_ns - due_ns(pace, pace->sent);
    }
    if (pace->sent == pace->total)
        stop_timer(pace);
}

/* The echoes of a connection come in the order of its requests, the first of which was sent when it
 * was opened. */
static void note_echo(struct load *load, const struct pace *pace, struct connection *connection) {
    uint64_t index = (uint64_t)(connection - load->connections);
    uint64_t request = index + load->count * (connection->echoed - 2);
    if (request >= WARM_REQUESTS)
        load->delays_ns[request - WARM_REQUESTS] = now_ns() - due_ns(pace, request);
    load->answered++;
}

static void print_delays(struct load *load, struct pace *pace) {
    uint64_t count = load->requests;
    double seconds = (double)(now_ns() - due_ns(pace, WARM_REQUESTS)) * 1e-9;
    sort_ns(load->delays_ns, count);
    sort_ns(pace->late_ns, count);
    printf("%.9f %llu %.1f 0 %.1f %.1f %.1f\n", seconds, (unsigned long long)count,
           quantile_us(load->delays_ns, count, 990), quantile_us(load->delays_ns, count, 500),
           quantile_us(load->delays_ns, count, 999), quantile_us(pace->late_ns, count, 990));
}

void run_at_rate(struct load *load) {
    struct epoll_event events[EVENTS_MAX];
    struct pace pace = {.total = WARM_REQUESTS + load->requests};
    pace.late_ns = calloc(load->requests, sizeof *pace.late_ns);
    check(pace.late_ns != NULL, "set-up");
    go_first();
    start_timer(load, &pace);
    load->answered = 0;
    while (load->answered < pace.total) {
        int count = await_events(load, events);
        for (int i = 0; i < count; i++) {
            struct connection *connection = events[i].data.ptr;
            if (connection == NULL)
                send_what_is_due(load, &pace);
            else if (take_echo(connection))
                note_echo(load, &pace, connection);
        }
    }
    print_delays(load, &pace);
    close(pace.timer);
    free(pace.late_ns);
}
