/* SPDX-License-Identifier: MIT */
/* A program that has its own event loop, here poll(2), and runs actors inside it. It sleeps in
 * poll and nowhere else: jzx_loop_fd is readable when jzx_loop_step has work, and
 * jzx_loop_next_deadline says when the next timer is due. */
#include <jzx/jzx.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

enum { BYTES = 1, LATER };

/* What poll(2) wants to know: milliseconds from now, rounded up, or it would wake too early. */
static int timeout_of(const jzx_loop *loop) {
    uint64_t deadline = jzx_loop_next_deadline(loop);
    uint64_t now = jzx_loop_now(loop);
    if (deadline == JZX_NEVER)
        return -1;
    return deadline <= now ? 0 : (int)((deadline - now + JZX_MS(1) - 1) / JZX_MS(1));
}

/* Counts what it is sent, and stops when its time is over. */
static jzx_behavior_result count_bytes(jzx_context *ctx, const jzx_message *msg) {
    size_t *total = ctx->state;
    if (msg->tag == LATER) {
        printf("5 ms later\n");
        return JZX_BEHAVIOR_STOP;
    }
    *total += msg->len;
    printf("%zu bytes so far\n", *total);
    return JZX_BEHAVIOR_OK;
}

int main(void) {
    int input[2]; /* stands for a socket, a terminal, a device */
    size_t total = 0;
    int wakeups = 0;
    jzx_actor_id counter;
    jzx_loop *loop = jzx_loop_create(&JZX_CONFIG(.workers = 1));
    if (pipe(input) != 0 || write(input[1], "four", 4) != 4)
        return 1;
    jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = count_bytes, .state = &total), &counter);

    jzx_send_after(loop, counter, JZX_NOBODY, NULL, 0, LATER, JZX_MS(5), NULL);

    struct pollfd fds[] = {
        {.fd = jzx_loop_fd(loop), .events = POLLIN},
        {.fd = input[0], .events = POLLIN},
    };
    while (jzx_loop_alive(loop)) {
        int ready = poll(fds, 2, timeout_of(loop));
        if (ready < 0)
            continue; /* a signal */
        wakeups++;
        if (fds[1].revents & POLLIN) {
            char bytes[16];
            ssize_t got = read(input[0], bytes, sizeof bytes);
            if (got > 0)
                jzx_send_async(loop, counter, bytes, (size_t)got, BYTES);
            if (total < 6 && write(input[1], "six...", 6) != 6)
                return 1;
        }
        if (ready == 0 || (fds[0].revents & POLLIN))
            jzx_loop_step(loop, jzx_loop_now(loop) + JZX_MS(5)); /* at most 5 ms at a time */
    }
    printf("woken %d times\n", wakeups);
    jzx_loop_destroy(loop);
    close(input[0]);
    close(input[1]);
    return wakeups > 20; /* a busy loop would be woken without end */
}
