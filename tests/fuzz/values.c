/* SPDX-License-Identifier: MIT */
/* Arguments of calls by seed, and the tables of what earlier calls have made. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

enum { KEPT = 48 };

/* The last handles of each kind. A racing overwrite loses one of them, which is no matter. */
static _Atomic uint64_t handles[HANDLE_KINDS][KEPT];
static atomic_uint handle_counts[HANDLE_KINDS];

struct box {
    void *object;
    unsigned users;
};
static struct box boxes[OBJECT_KINDS][KEPT];
static pthread_mutex_t box_lock = PTHREAD_MUTEX_INITIALIZER;

const unsigned char fuzz_bytes[FUZZ_BYTES] = "fuzz";

uint64_t fuzz_random(struct fuzz *f) {
    uint64_t x = *f->random += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

uint64_t fuzz_below(struct fuzz *f, uint64_t bound) {
    return fuzz_random(f) % bound;
}

bool fuzz_chance(struct fuzz *f, unsigned one_in) {
    return fuzz_random(f) % one_in == 0;
}

/* ---- handles ---- */

void fuzz_note(struct fuzz *f, enum fuzz_handle kind, uint64_t handle) {
    (void)f;
    unsigned at = atomic_fetch_add(&handle_counts[kind], 1) % KEPT;
    atomic_store(&handles[kind][at], handle);
}

uint64_t fuzz_word(struct fuzz *f) {
    switch (fuzz_below(f, 8)) {
    case 0: return 0;
    case 1: return UINT64_MAX;
    case 2: return fuzz_random(f);
    case 3: return UINT64_C(1) << fuzz_below(f, 64);
    case 4: return UINT32_MAX;
    default: return fuzz_below(f, 200);
    }
}

uint64_t fuzz_handle(struct fuzz *f, enum fuzz_handle kind) {
    unsigned count = atomic_load(&handle_counts[kind]);
    if (kind == AN_ACTOR && f->ctx != NULL && fuzz_chance(f, 12))
        return f->ctx->self;
    if (count == 0 || fuzz_chance(f, 24))
        return fuzz_word(f);
    unsigned kept = count < KEPT ? count : KEPT;
    unsigned back = (unsigned)fuzz_below(f, fuzz_chance(f, 2) && kept > 6 ? 6 : kept);
    uint64_t handle = atomic_load(&handles[kind][(count - 1 - back) % KEPT]);
    return fuzz_chance(f, 64) ? handle ^ UINT64_C(1) << fuzz_below(f, 64) : handle;
}

/* ---- objects ---- */

static void dispose(struct fuzz *f, enum fuzz_object kind, void *object) {
    switch (kind) {
    case OF_FUTURE: jzx_future_release(object); break;
    case OF_PROMISE: jzx_promise_drop(object); break;
    case OF_BUFFER:
    case OF_SHARED: jzx_msg_free(f->round->loop, object); break;
    case OF_MANUAL: jzx_manual_destroy(object); break;
    case OF_PROCESSOR: {
        jzx_err err = jzx_processor_destroy(object);
        if (err == JZX_ERR_BUSY)
            fuzz_put(f, kind, object);
        break;
    }
    case OF_EXECUTOR: jzx_executor_destroy(object); break;
    case OF_POOL: {
        jzx_err err = jzx_pool_destroy(object);
        if (err == JZX_ERR_BUSY) /* it is registered: unregistered, or destroyed with the loop */
            fuzz_put(f, kind, object);
        break;
    }
    case OF_PROBE: jzx_test_probe_destroy(object); break;
    default: break;
    }
}

void fuzz_put(struct fuzz *f, enum fuzz_object kind, void *object) {
    void *out = NULL;
    if (object == NULL)
        return;
    pthread_mutex_lock(&box_lock);
    struct box *box = NULL;
    for (unsigned i = 0; i < KEPT && box == NULL; i++)
        if (boxes[kind][i].object == NULL)
            box = &boxes[kind][i];
    for (unsigned i = 0; i < KEPT && box == NULL; i++)
        if (boxes[kind][i].users == 0) {
            box = &boxes[kind][i];
            out = box->object;
        }
    if (box != NULL)
        *box = (struct box){object, 0};
    else
        out = object;
    pthread_mutex_unlock(&box_lock);
    if (out != NULL)
        dispose(f, kind, out);
}

/* One at random of those that fit; with the lock held. */
static struct box *find(struct fuzz *f, enum fuzz_object kind, bool is_free) {
    unsigned start = (unsigned)fuzz_below(f, KEPT);
    for (unsigned i = 0; i < KEPT; i++) {
        struct box *box = &boxes[kind][(start + i) % KEPT];
        if (box->object != NULL && (!is_free || box->users == 0))
            return box;
    }
    return NULL;
}

void *fuzz_take(struct fuzz *f, enum fuzz_object kind) {
    pthread_mutex_lock(&box_lock);
    struct box *box = find(f, kind, true);
    void *object = box == NULL ? NULL : box->object;
    if (box != NULL)
        box->object = NULL;
    pthread_mutex_unlock(&box_lock);
    return object;
}

void *fuzz_borrow(struct fuzz *f, enum fuzz_object kind, int *ticket) {
    pthread_mutex_lock(&box_lock);
    struct box *box = find(f, kind, false);
    void *object = box == NULL ? NULL : box->object;
    *ticket = -1;
    if (box != NULL) {
        box->users++;
        *ticket = (int)(box - boxes[kind]);
    }
    pthread_mutex_unlock(&box_lock);
    return object;
}

void fuzz_give_back(struct fuzz *f, enum fuzz_object kind, int ticket) {
    (void)f;
    if (ticket < 0)
        return;
    pthread_mutex_lock(&box_lock);
    boxes[kind][ticket].users--;
    pthread_mutex_unlock(&box_lock);
}

void fuzz_dispose_all(struct fuzz *f, enum fuzz_object kind) {
    for (unsigned i = 0; i < KEPT; i++) {
        void *object = boxes[kind][i].object;
        boxes[kind][i] = (struct box){NULL, 0};
        if (object != NULL)
            dispose(f, kind, object);
    }
    if (kind == OF_PROCESSOR && fuzz_take(f, kind) != NULL)
        fuzz_fail("a processor is busy though all actors have ended");
}

/* ---- arguments ---- */

jzx_loop *fuzz_loop(struct fuzz *f) {
    return fuzz_chance(f, 48) ? NULL : f->round->loop;
}

jzx_context *fuzz_context(struct fuzz *f) {
    if (f->ctx != NULL && !fuzz_chance(f, 24))
        return f->ctx;
    if (fuzz_chance(f, 2))
        return NULL;
    f->fake = (jzx_context){NULL, fuzz_handle(f, AN_ACTOR), f->round->loop};
    return &f->fake;
}

uint32_t fuzz_tag(struct fuzz *f) {
    if (fuzz_chance(f, 48))
        return JZX_TAG_RESERVED + BELOW(0x80);
    return BELOW(FUZZ_TAG_MAX);
}

size_t fuzz_length(struct fuzz *f) {
    switch (fuzz_below(f, 16)) {
    case 0: return 0;
    case 1: return 31 + fuzz_below(f, 4);
    case 2: return fuzz_below(f, 4096);
    case 3: return fuzz_chance(f, 8) ? fuzz_below(f, FUZZ_BYTES) : 1;
    case 4: return fuzz_chance(f, 4) ? SIZE_MAX - fuzz_below(f, 2) * 7 : 24;
    default: return fuzz_below(f, 64);
    }
}

size_t fuzz_options_size(struct fuzz *f, size_t right) {
    switch (fuzz_below(f, 48)) {
    case 0: return 0;
    case 1: return SIZE_MAX;
    case 2: return right + 8;
    case 3: return fuzz_below(f, right / 8) * 8; /* whole fields: an older program */
    default: return right;
    }
}

/* A thread that blocks does so for a millisecond; on a clock that stands still, not at all.
 * Callbacks without an actor's own context may run on any thread. */
uint64_t fuzz_deadline(struct fuzz *f) {
    uint64_t now = jzx_loop_now(f->round->loop);
    if (f->ctx == NULL)
        return f->round->clock != NULL || fuzz_chance(f, 2) ? 0
                                                            : now + fuzz_below(f, JZX_MS(1) + 1);
    switch (fuzz_below(f, 8)) {
    case 0: return 0;
    case 1: return JZX_NEVER;
    case 2: return now;
    case 3: return fuzz_random(f);
    case 4: return now + fuzz_below(f, JZX_US(100));
    default: return now + fuzz_below(f, JZX_MS(5));
    }
}

uint64_t fuzz_span(struct fuzz *f) {
    switch (fuzz_below(f, 8)) {
    case 0: return 0;
    case 1: return fuzz_word(f);
    case 2: return JZX_NEVER;
    default: return fuzz_below(f, JZX_MS(4));
    }
}

const char *fuzz_name(struct fuzz *f) {
    static const char *const names[] = {
        "a",
        "b",
        "c",
        "d",
        "orders",
        "",
        "@runtime",
        NULL,
        "a name that is far longer than forty-seven bytes, which is too long",
        "forty-seven bytes make the longest name that i"};
    return names[fuzz_chance(f, 6) ? fuzz_below(f, 10) : fuzz_below(f, 5)];
}

const char *fuzz_text(struct fuzz *f) {
    static const char *const texts[] = {
        "why",
        "",
        NULL,
        "100%s %n",
        "line\nfeed",
        "a text that is longer than all the room that there is for texts of ends of actors and of "
        "futures, which must be cut and must end with a zero byte all the same, wherever it goes"};
    return texts[fuzz_below(f, 6)];
}

/* Never a path outside of the round's folder: root may run this, and anything can be removed. */
const char *fuzz_path(struct fuzz *f) {
    static char too_long[5000];
    switch (fuzz_below(f, 24)) {
    case 0: return NULL;
    case 1: return "";
    case 2: return "nowhere/at/all";
    case 3: return ".";
    case 4:
        if (too_long[0] == '\0')
            memset(too_long, 'x', sizeof too_long - 1);
        return too_long;
    default: return f->round->paths[fuzz_below(f, FUZZ_PATHS - 2)];
    }
}

/* Where a listener of an earlier call is, if it is known; else a port that is free. */
const char *fuzz_address(struct fuzz *f) {
    static _Thread_local char texts[4][JZX_ADDRESS_MAX];
    static _Thread_local unsigned next;
    char *text = texts[next++ % 4];
    uint64_t handle = fuzz_handle(f, fuzz_chance(f, 2) ? A_LISTENER : A_UDP);
    if (!fuzz_chance(f, 3) &&
        (jzx_listener_address(THE_LOOP, handle, text, JZX_ADDRESS_MAX) == JZX_OK ||
         jzx_udp_local(THE_LOOP, handle, text, JZX_ADDRESS_MAX) == JZX_OK))
        return text;
    static const char *const wrong[] = {
        NULL, "", "localhost:80", "127.0.0.1", "1.2.3.4.5:6", "[::1]:9999999", "127.0.0.1:1", "@"};
    if (fuzz_chance(f, 8))
        return wrong[fuzz_below(f, 8)];
    return fuzz_chance(f, 4) ? "[::1]:0" : "127.0.0.1:0";
}

const char *fuzz_unix_address(struct fuzz *f) {
    if (fuzz_chance(f, 16))
        return fuzz_address(f);
    return f->round->paths[FUZZ_PATHS - 1 - fuzz_below(f, 2)];
}

/* Its own ones: a number of the library's is another descriptor in the next moment. */
int fuzz_descriptor(struct fuzz *f) {
    static const int wrong[] = {-1, 900, 1023};
    if (fuzz_chance(f, 8))
        return wrong[fuzz_below(f, 3)];
    return f->round->descriptors[fuzz_below(f, FUZZ_DESCRIPTORS)];
}
