/* SPDX-License-Identifier: MIT */
/* Fallback race: a fetch races a fetch of another address that begins 100 ms later; an error
 * becomes a default value, and the end is noted on both paths.
 *
 *     fn fetch_with_fallback(primary, fallback) async -> Data:
 *         return await Future.race([
 *             http_get(primary),
 *             delayed(100).then(\(): http_get(fallback))
 *         ])
 *
 *     let result = await fetch_user(999)
 *         .catch(\e: User.default())
 *         .finally(\(): print "Done")
 *
 * The loser is cancelled: nobody has a handle to it any more.
 *
 * It prints:
 *     get here
 *     quick: data of here
 *     get a slow one
 *     get elsewhere
 *     slow: data of elsewhere
 *     get users/999
 *     JZX_ERR_NOT_FOUND: no such user
 *     Done
 *     user: default user
 *     cancelled: 1
 */
#include <jzx/jzx.h>
#include <stdio.h>
#include <string.h>

/* ---- a server of the example's own ---- */

struct data {
    char text[32];
};

static int cancelled; /* fetches */

static struct data data_of(const char *url) {
    struct data data;
    snprintf(data.text, sizeof data.text, "data of %s", url);
    return data;
}

struct get {
    const char *url;
    uint64_t time_ns;
    jzx_err err;
    jzx_await_op wait;
};

/* An address that has "slow" in it takes a minute, others no time; "999" is not there. */
JZX_ASYNC(get, struct get, struct data) {
    printf("get %s\n", self->url);
    self->time_ns = strstr(self->url, "slow") != NULL ? JZX_SECOND(60) : 0;
    JZX_TRY(self->err, jzx_op_sleep(&self->wait, jzx_in(ctx, self->time_ns)), NULL);
    if (self->err != JZX_OK) {
        cancelled++;
        JZX_FAIL(self->err, NULL);
    }
    if (strstr(self->url, "999") != NULL)
        JZX_FAIL(JZX_ERR_NOT_FOUND, "no such user");
    JZX_RETURN(data_of(self->url));
}
JZX_END

static jzx_future *http_get(jzx_loop *loop, const char *url) {
    jzx_future *future = NULL;
    (void)get_spawn(loop, (struct get){.url = url}, &future);
    return future;
}

/* ---- fetch_with_fallback ---- */

struct addresses {
    const char *primary;
    const char *fallback;
};

static jzx_err get_fallback(jzx_context *ctx, const void *value, jzx_future **next, void *arg) {
    const struct addresses *from = arg;
    (void)value;
    *next = http_get(ctx->loop, from->fallback);
    return *next != NULL ? JZX_OK : JZX_ERR_NO_MEMORY;
}

/* delayed(100).then(\(): http_get(fallback)) */
static jzx_future *get_later(jzx_loop *loop, struct addresses *from) {
    jzx_future *delayed = NULL;
    jzx_future *then = NULL;
    if (jzx_future_delayed(loop, jzx_loop_now(loop) + JZX_MS(100), NULL, 0, &delayed) == JZX_OK)
        (void)jzx_future_then_future(delayed, sizeof(struct data), get_fallback, from, &then);
    jzx_future_release(delayed);
    return then;
}

static jzx_future *fetch_with_fallback(jzx_loop *loop, struct addresses *from) {
    jzx_future *both[2] = {http_get(loop, from->primary), get_later(loop, from)};
    jzx_future *first = NULL;
    (void)jzx_future_race(loop, both, 2, 0, &first);
    jzx_future_release(both[0]);
    jzx_future_release(both[1]);
    return first;
}

/* ---- fetch_user(999).catch(...).finally(...) ---- */

static jzx_err default_user(jzx_context *ctx, jzx_err err, const char *text, void *result,
                            void *arg) {
    (void)ctx, (void)arg;
    printf("%s: %s\n", jzx_err_name(err), text);
    *(struct data *)result = (struct data){"default user"};
    return JZX_OK;
}

static void print_done(jzx_context *ctx, jzx_err err, void *arg) {
    (void)ctx, (void)err, (void)arg;
    printf("Done\n");
}

static jzx_future *fetch_user_or_default(jzx_loop *loop) {
    jzx_future *user = http_get(loop, "users/999");
    jzx_future *caught = NULL;
    jzx_future *end = NULL;
    if (jzx_future_catch(user, default_user, NULL, &caught) == JZX_OK)
        (void)jzx_future_finally(caught, print_done, NULL, &end);
    jzx_future_release(user);
    jzx_future_release(caught);
    return end;
}

/* ---- main ---- */

static struct addresses quick = {"here", "elsewhere"};
static struct addresses slow = {"a slow one", "elsewhere"};

struct program {
    struct data data;
    jzx_await_op wait;
};

JZX_ASYNC(program, struct program, int) {
    JZX_AWAIT(jzx_op_consume(&self->wait, fetch_with_fallback(ctx->loop, &quick), JZX_NEVER),
              &self->data);
    printf("quick: %s\n", self->data.text);
    JZX_AWAIT(jzx_op_consume(&self->wait, fetch_with_fallback(ctx->loop, &slow), JZX_NEVER),
              &self->data);
    printf("slow: %s\n", self->data.text);
    JZX_AWAIT(jzx_op_consume(&self->wait, fetch_user_or_default(ctx->loop), JZX_NEVER),
              &self->data);
    printf("user: %s\n", self->data.text);
    JZX_RETURN(0);
}
JZX_END

int main(void) {
    const jzx_config one = JZX_CONFIG(.workers = 1); /* or the lines would have no order */
    jzx_err err = jzx_async_run(&one, &program_type, &(struct program){0}, NULL);
    printf("cancelled: %d\n", cancelled);
    return err == JZX_OK ? 0 : 1;
}
