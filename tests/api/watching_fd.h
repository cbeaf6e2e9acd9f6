/* SPDX-License-Identifier: MIT */
/* What the tests of watched descriptors share: pipes, an actor that writes its events down, and a
 * look for descriptors that were left open. */
#ifndef JZX_API_WATCHING_FD_H
#define JZX_API_WATCHING_FD_H

#include "descriptors.h"
#include "fixture.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

/* No sanitizer and no test has as many. */
#define BAD_FD 1000000

#define EVENTS_MAX 256u

/* The state of an actor that is told of descriptors. */
struct listener {
    jzx_io_event events[EVENTS_MAX];
    uint32_t tags[EVENTS_MAX];
    uint32_t count;
    uint32_t others;  /* messages that are no events */
    size_t reads;     /* bytes that it reads at each event */
    size_t got;       /* that it has read in all */
    uint32_t stop_at; /* ends after so many events; 0: never */
    bool unwatches;   /* ends the watch at each event */
    bool ended;       /* its cleanup has run */
};

static inline jzx_io_event event_of(const jzx_message *msg) {
    jzx_io_event event = {.fd = -1};
    if (JZX_EXPECT_EQ(msg->len, sizeof event))
        memcpy(&event, msg->data, sizeof event);
    return event;
}

#define PLAIN_TAG 77u

static inline jzx_behavior_result listen_to(jzx_context *ctx, const jzx_message *msg) {
    struct listener *me = ctx->state;
    char buffer[256];
    jzx_test_ran();
    if (msg->tag == PLAIN_TAG) {
        me->others++;
        return JZX_BEHAVIOR_OK;
    }
    jzx_io_event event = event_of(msg);
    JZX_EXPECT(msg->sender == JZX_NOBODY);
    JZX_EXPECT(jzx_msg_take(ctx, msg) == NULL); /* it is the runtime's */
    if (me->count < EVENTS_MAX) {
        me->events[me->count] = event;
        me->tags[me->count] = msg->tag;
    }
    me->count++;
    if ((event.ready & JZX_IO_READ) && me->reads != 0) {
        ssize_t got = read(event.fd, buffer, me->reads);
        me->got += got > 0 ? (size_t)got : 0;
    }
    if (me->unwatches)
        JZX_EXPECT_EQ(jzx_unwatch_fd(ctx->loop, event.fd), JZX_OK);
    return me->stop_at != 0 && me->count >= me->stop_at ? JZX_BEHAVIOR_STOP : JZX_BEHAVIOR_OK;
}

static inline void note_end(jzx_context *ctx, jzx_exit_reason reason) {
    (void)reason;
    ((struct listener *)ctx->state)->ended = true;
}

static inline jzx_actor_id spawn_listener(jzx_loop *loop, struct listener *listener) {
    return fixture_spawn(
        loop, &JZX_SPAWN_OPTS(.behavior = listen_to, .state = listener, .cleanup = note_end));
}

/* ---- a loop, an actor, a pipe ---- */

struct scene {
    jzx_clock *clock; /* stands still, so that how often a step polls depends on messages alone */
    jzx_loop *loop;
    struct listener listener;
    jzx_actor_id id;
    int fds[2];
    int open_before;
};

static inline void open_pipe(int fds[2]) {
    assert_int_equal(pipe(fds), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(fcntl(fds[i], F_SETFL, O_NONBLOCK), 0);
}

static inline void step(const struct scene *scene) {
    JZX_EXPECT_EQ(jzx_loop_step(scene->loop, JZX_NEVER), JZX_OK);
}

/* The actor has had its first turn. */
static inline void open_scene_with(struct scene *scene, jzx_config *config) {
    memset(scene, 0, sizeof *scene);
    scene->open_before = descriptors_open();
    scene->clock = jzx_clock_manual(0);
    config->clock = scene->clock;
    scene->loop = fixture_loop_with(config);
    assert_non_null(scene->loop);
    scene->id = spawn_listener(scene->loop, &scene->listener);
    open_pipe(scene->fds);
    step(scene);
}

static inline void open_scene(struct scene *scene) {
    open_scene_with(scene, &JZX_CONFIG());
}

static inline void close_pipe(int fds[2]) {
    for (int i = 0; i < 2; i++) {
        if (fds[i] >= 0)
            close(fds[i]);
        fds[i] = -1;
    }
}

static inline void close_scene(struct scene *scene) {
    fixture_destroy(scene->loop);
    JZX_EXPECT_EQ(jzx_clock_free(scene->clock), JZX_OK);
    close_pipe(scene->fds);
    JZX_EXPECT_EQ(descriptors_open(), scene->open_before);
}

static inline void watch_read(const struct scene *scene) {
    JZX_EXPECT_EQ(jzx_watch_fd(scene->loop, scene->fds[0], scene->id, JZX_IO_READ, 5), JZX_OK);
}

static inline void put_bytes(int fd, size_t count) {
    static const char bytes[256];
    JZX_EXPECT_EQ(write(fd, bytes, count), count);
}

static inline bool is_readable(int fd) {
    struct pollfd entry = {.fd = fd, .events = POLLIN};
    return poll(&entry, 1, 0) == 1 && (entry.revents & POLLIN) != 0;
}

#endif
