/* SPDX-License-Identifier: MIT */
/* The poller on epoll(7). */
#include "io/bits.h"

static uint32_t events_of(const struct jzx__poll_entry *entry) {
    uint32_t how = entry->mode == JZX__POLL_EDGE ? (uint32_t)EPOLLET : (uint32_t)EPOLLONESHOT;
    return how | jzx__events_of(entry->interest);
}

static int open_epoll(struct jzx__poller *poller) {
    int fd = poller->os->epoll_create();
    if (fd < 0)
        return fd;
    poller->fd = fd;
    return 0;
}

static void close_epoll(struct jzx__poller *poller) {
    poller->os->close(poller->fd);
    poller->fd = -1;
}

static int control(struct jzx__poller *poller, int op, const struct jzx__poll_entry *entry) {
    struct epoll_event event = {.events = events_of(entry), .data.u64 = entry->key};
    return poller->os->epoll_ctl(poller->fd, op, entry->fd, &event);
}

static int add(struct jzx__poller *poller, const struct jzx__poll_entry *entry) {
    return control(poller, EPOLL_CTL_ADD, entry);
}

static int change(struct jzx__poller *poller, const struct jzx__poll_entry *entry) {
    return control(poller, EPOLL_CTL_MOD, entry);
}

static int remove_fd(struct jzx__poller *poller, int fd) {
    struct epoll_event unused = {0}; /* Linux before 2.6.9 wants one */
    return poller->os->epoll_ctl(poller->fd, EPOLL_CTL_DEL, fd, &unused);
}

static int wait(struct jzx__poller *poller, struct jzx__poll_event *events, uint32_t count_max,
                uint64_t timeout_ns) {
    struct epoll_event found[JZX__POLL_EVENTS];
    uint32_t max = count_max < JZX__POLL_EVENTS ? count_max : JZX__POLL_EVENTS;
    int count = poller->os->epoll_wait(poller->fd, found, (int)max, timeout_ns);
    for (int i = 0; i < count; i++)
        events[i] = (struct jzx__poll_event){found[i].data.u64, jzx__ready_of(found[i].events)};
    return count;
}

const struct jzx__poller_ops jzx__poller_epoll = {
    .open = open_epoll,
    .close = close_epoll,
    .add = add,
    .change = change,
    .remove = remove_fd,
    .wait = wait,
};
