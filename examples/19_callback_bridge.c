/* SPDX-License-Identifier: MIT */
/* Callback bridge: a library that calls back, on a thread of its own, fulfils a promise; a fiber
 * awaits the future as if the library had always had one. */
#include <jzx/jzx.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- the old library: starts work, and calls back on its own thread ---- */

typedef void (*done_fn)(int status, int result, void *user);

struct job {
    int input;
    done_fn done;
    void *user;
};

static void *work(void *arg) {
    struct job job = *(struct job *)arg;
    free(arg);
    job.done(job.input < 0 ? -1 : 0, job.input * job.input, job.user);
    return NULL;
}

static int square_begin(int input, done_fn done, void *user) {
    pthread_t thread;
    struct job *job = malloc(sizeof *job);
    if (job == NULL)
        return -1;
    *job = (struct job){input, done, user};
    if (pthread_create(&thread, NULL, work, job) != 0) {
        free(job);
        return -1;
    }
    pthread_detach(thread);
    return 0;
}

/* ---- the bridge: user is the promise ---- */

static void fulfil(int status, int result, void *user) {
    if (status == 0)
        (void)jzx_promise_resolve(user, &result);
    else
        (void)jzx_promise_reject(user, JZX_ERR_FAILED, "no square of that");
}

static jzx_err square(jzx_loop *loop, int input, jzx_future **future) {
    jzx_promise *promise;
    jzx_err err = jzx_promise_create(loop, sizeof(int), &promise, future);
    if (err == JZX_OK && square_begin(input, fulfil, promise) != 0)
        jzx_promise_drop(promise); /* the future says JZX_ERR_BROKEN_PROMISE */
    return err;
}

/* ---- a fiber that uses it ----
 *
 * Its handle is in its state: a fiber that is ended while it awaits does not come back, and its
 * cleanup releases what it had. */
struct user {
    jzx_future *future; /* or NULL */
};

static void show(jzx_context *ctx, int input, jzx_future *future) {
    int result;
    const char *text;
    jzx_err err = jzx_await(ctx, future, JZX_NEVER, &result);
    if (err == JZX_OK) {
        printf("%d squared is %d\n", input, result);
        return;
    }
    (void)jzx_future_error(future, &text);
    printf("%d: %s: %s\n", input, jzx_err_name(err), text);
}

static void use(jzx_context *ctx) {
    struct user *self = ctx->state;
    const int inputs[] = {12, -1};
    for (int i = 0; i < 2; i++) {
        if (square(ctx->loop, inputs[i], &self->future) != JZX_OK)
            return;
        show(ctx, inputs[i], self->future);
        jzx_future_release(self->future);
        self->future = NULL;
    }
}

static void leave(jzx_context *ctx, jzx_exit_reason reason) {
    struct user *self = ctx->state;
    (void)reason;
    jzx_future_release(self->future); /* NULL is fine */
}

int main(void) {
    struct user user = {NULL};
    jzx_loop *loop = jzx_loop_create(NULL);
    if (loop == NULL ||
        jzx_spawn(loop,
                  &JZX_SPAWN_OPTS(.fiber = use, .state = &user, .cleanup = leave, .name = "user"),
                  NULL) != JZX_OK)
        return 1;
    jzx_err err = jzx_loop_run(loop);
    (void)jzx_loop_destroy(loop);
    return err == JZX_OK ? 0 : 1;
}
