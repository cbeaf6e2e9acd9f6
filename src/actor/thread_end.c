/* SPDX-License-Identifier: MIT */
/* A thread that ends takes the frames of the pass with it, and a worker, or the caller of
 * jzx_loop_run, waits for it for ever: there is nothing to go on with. It shows in a destructor of
 * thread-specific data, which runs on the thread after its frames are gone.
 *
 * Rejected: to stop the unwinding by a jump out of a cleanup handler and end the actor alone.
 * POSIX leaves undefined what becomes of such a thread, and glibc goes on to take it for one that
 * ends. */
#include "actor/thread_end.h"

#include "actor/loop.h"
#include "base/assert.h"

#include <pthread.h>
#include <stdio.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool has_key;

static void end(void *value) {
    const struct jzx__seat *seat = jzx__seat_of_thread;
    (void)value;
    if (!jzx__seat_exists(seat))
        return; /* it has left all loops before */
    char text[JZX_NAME_MAX + 160];
    const struct jzx__turn *turn = seat->cleanup != NULL ? seat->cleanup : seat->turn;
    if (jzx__seat_task(seat) == NULL) {
        snprintf(text, sizeof text, "a thread that drives a loop has ended inside of it");
    } else {
        char name[JZX_NAME_MAX + 1];
        jzx__name_read(turn->actor, name);
        snprintf(text, sizeof text,
                 "the thread has ended inside actor %u.%u%s%s (pthread_exit, or a cancellation); "
                 "the process ends",
                 jzx_id_index(turn->ctx.self), jzx_id_generation(turn->ctx.self),
                 name[0] == '\0' ? "" : " ", name);
    }
    jzx__wrong_use(text);
}

static void make_key(void) {
    has_key = pthread_key_create(&key, end) == 0;
}

/* A library that is unloaded must leave no destructor behind. */
__attribute__((destructor)) static void delete_key(void) {
    if (has_key)
        pthread_key_delete(key);
}

void jzx__thread_end_watch(void) {
    static char any;
    pthread_once(&once, make_key);
    if (has_key)
        (void)pthread_setspecific(key, &any); /* without memory such an end is not seen */
}
