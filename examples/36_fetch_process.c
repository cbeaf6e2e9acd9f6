/* SPDX-License-Identifier: MIT */
/* A process that fetches two things at once. Each fetch is a command; a thread of the program does
 * the work and completes it, the slow one after the fast one. */
#include <jzx/jzx.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define FETCH 300u /* a command of this program */

/* ---- the process ---- */

struct fetch {
    bool has_begun;
    unsigned done;
    char texts[2][32];
};

static jzx_err fetch_step(jzx_context *ctx, const jzx_process_event *events, size_t count,
                          jzx_step_out *out) {
    struct fetch *self = ctx->state;
    if (!self->has_begun) {
        self->has_begun = true;
        jzx_out_yield(out, 0, FETCH, "slow", sizeof "slow");
        jzx_out_yield(out, 1, FETCH, "fast", sizeof "fast");
    }
    for (size_t i = 0; i < count; i++) {
        if (events[i].kind != JZX_PROCESS_YIELD_COMPLETE)
            continue;
        if (events[i].error != JZX_OK)
            return events[i].error;
        memcpy(self->texts[events[i].tag], events[i].data, events[i].len);
        printf("came: %s\n", self->texts[events[i].tag]);
        self->done++;
    }
    return self->done == 2 ? jzx_out_done(out, self->texts, sizeof self->texts) : JZX_OK;
}

static const jzx_process_ops fetch = JZX_PROCESS_OPS(.step = fetch_step);

/* ---- the handler, and the thread that does the work ---- */

struct work {
    pthread_mutex_t lock;
    pthread_cond_t come;
    jzx_loop *loop;
    jzx_command commands[2]; /* without their arguments */
    char names[2][8];
    int count;
};

static jzx_err begin_fetch(jzx_context *ctx, const jzx_command *command, void *data) {
    struct work *work = data;
    (void)ctx;
    pthread_mutex_lock(&work->lock);
    work->commands[work->count] = *command;
    memcpy(work->names[work->count++], command->arg, command->len);
    pthread_cond_signal(&work->come);
    pthread_mutex_unlock(&work->lock);
    return JZX_OK;
}

static void *do_work(void *arg) {
    struct work *work = arg;
    pthread_mutex_lock(&work->lock);
    while (work->count < 2)
        pthread_cond_wait(&work->come, &work->lock);
    pthread_mutex_unlock(&work->lock);
    for (int i = 1; i >= 0; i--) { /* the last first */
        char text[32];
        int len = snprintf(text, sizeof text, "the %s page", work->names[i]);
        jzx_command_complete(work->loop, work->commands[i].process, work->commands[i].ref, text,
                             (size_t)len + 1, JZX_OK);
    }
    return NULL;
}

/* ---- who wants both ---- */

static void want_both(jzx_context *ctx) {
    struct fetch state = {.has_begun = false};
    char texts[2][32];
    size_t len = sizeof texts;
    jzx_err err = jzx_process_exec(ctx, &JZX_SPAWN_OPTS(.process = &fetch, .state = &state),
                                   jzx_in(ctx, JZX_SECOND(10)), texts, &len);
    if (err == JZX_OK)
        printf("both: %s, %s\n", texts[0], texts[1]);
}

int main(void) {
    struct work work = {.lock = PTHREAD_MUTEX_INITIALIZER, .come = PTHREAD_COND_INITIALIZER};
    pthread_t thread;
    work.loop = jzx_loop_create(NULL);
    jzx_command_register(work.loop, FETCH,
                         &(jzx_command_handler){.handle = begin_fetch, .data = &work});
    jzx_commands_freeze(work.loop);
    pthread_create(&thread, NULL, do_work, &work);
    jzx_spawn(work.loop, &JZX_SPAWN_OPTS(.fiber = want_both), NULL);
    jzx_err err = jzx_loop_run(work.loop);
    pthread_join(thread, NULL);
    jzx_loop_destroy(work.loop);
    return err == JZX_OK && work.count == 2 ? 0 : 1;
}
