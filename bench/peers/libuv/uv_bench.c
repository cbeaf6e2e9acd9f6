/* SPDX-License-Identifier: MIT */
/* The rows that make sense for libuv, a library of event loops without actors. wake: round trips
 * between two threads, each with its loop, by uv_async_send; whatever WORKERS is. */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

struct result {
    double seconds;
    uint64_t ops;
    double amount;
};

static void check(bool holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "libuv: the check failed: %s\n", what);
        exit(1);
    }
}

/* ---- wake ---- */

struct side {
    uv_loop_t loop;
    uv_async_t async;
    struct side *other;
    uint64_t sent;
    uint64_t woken;
    uint64_t size; /* round trips */
    uv_sem_t ready;
};

static void wake_other(struct side *self) {
    self->sent++;
    check(uv_async_send(&self->other->async) == 0, "uv_async_send");
}

/* The first side begins and ends; the second answers. */
static void on_wake(uv_async_t *async) {
    struct side *self = async->data;
    self->woken++;
    if (self->sent != self->size)
        wake_other(self);
    if (self->woken == self->size)
        uv_stop(&self->loop);
}

static void init_side(struct side *self, struct side *other, uint64_t size) {
    self->other = other;
    self->size = size;
    check(uv_loop_init(&self->loop) == 0, "uv_loop_init");
    check(uv_async_init(&self->loop, &self->async, on_wake) == 0, "uv_async_init");
    self->async.data = self;
    check(uv_sem_init(&self->ready, 0) == 0, "uv_sem_init");
}

static void run_second(void *data) {
    struct side *self = data;
    uv_sem_post(&self->ready);
    uv_run(&self->loop, UV_RUN_DEFAULT);
}

static void close_side(struct side *self) {
    uv_close((uv_handle_t *)&self->async, NULL);
    uv_run(&self->loop, UV_RUN_DEFAULT);
    check(uv_loop_close(&self->loop) == 0, "uv_loop_close");
    uv_sem_destroy(&self->ready);
}

static void row_wake(uint64_t size, struct result *result) {
    static struct side first;
    static struct side second;
    uv_thread_t thread;
    init_side(&first, &second, size);
    init_side(&second, &first, size);
    check(uv_thread_create(&thread, run_second, &second) == 0, "uv_thread_create");
    uv_sem_wait(&second.ready);
    uint64_t start = uv_hrtime();
    wake_other(&first);
    uv_run(&first.loop, UV_RUN_DEFAULT);
    result->seconds = (double)(uv_hrtime() - start) * 1e-9;
    result->ops = size;
    check(uv_thread_join(&thread) == 0, "uv_thread_join");
    check(first.woken == size && first.sent == size, "wakes of the first thread");
    check(second.woken == size && second.sent == size, "wakes of the second thread");
    close_side(&first);
    close_side(&second);
}

/* ---- the command ---- */

static const struct {
    const char *name;
    void (*run)(uint64_t size, struct result *result);
} rows[] = {
    {"wake", row_wake},
};

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "use: prog ROW SIZE WORKERS\n");
        return 2;
    }
    uint64_t size = strtoull(argv[2], NULL, 10);
    if (size == 0) {
        fprintf(stderr, "SIZE is a number from 1\n");
        return 2;
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(argv[1], rows[i].name) != 0)
            continue;
        struct result result = {0};
        rows[i].run(size, &result);
        printf("%.9f %llu %.0f\n", result.seconds, (unsigned long long)result.ops, result.amount);
        return 0;
    }
    return 3;
}
