/* SPDX-License-Identifier: MIT */
/* Starting a program, in three ways. All that can be refused is made before, on the thread of the
 * caller: the record, its streams, copies of descriptors. A thread of the pool makes the process.
 * Then the record and its streams go to their owner; if that has ended meanwhile they are closed as
 * they would have been with it.
 *
 *   spawn/S1  what a request points to is the calling fiber's, whose end waits for it (op/O9), or
 *             lies in its block behind it.
 *   spawn/S2  its records, and the descriptors of the program to come, are the request's until it
 *             is settled. */
#include "subprocess/subprocess.h"

#include "base/sized.h"
#include "fiber/fiber.h"
#include "fiber/operate.h"
#include "future/operate.h"
#include "io/workforce.h"
#include "net/stream.h"

#include <errno.h>
#include <string.h>

struct request {
    jzx_subprocess_opts opts; /* settled; its pointers are S1's */
    struct jzx__spawn_plan plan;
    struct jzx_loop *loop;
    jzx_actor_id owner;
    struct jzx__subprocess *child; /* S2 */
    struct jzx__stream *streams[3];
    size_t block_size; /* S1; 0: it is on the stack of a fiber */

    /* The outcome. */
    jzx_subprocess handle;
    jzx_err err;
    int os_error;
    pid_t pid;
    int pidfd;
};

/* ---- options ---- */

jzx_err jzx_subprocess_opts_init(jzx_subprocess_opts *opts, size_t size) {
    const jzx_subprocess_opts defaults = JZX_SUBPROCESS_OPTS(.argv = NULL);
    return jzx__init_sized(opts, size, &defaults, sizeof defaults) ? JZX_OK : JZX_ERR_INVALID_ARG;
}

static const jzx_stdio *stdio_of(const jzx_subprocess_opts *opts, int number) {
    return number == 0 ? &opts->input : number == 1 ? &opts->output : &opts->error;
}

static bool is_valid(const jzx_subprocess_opts *opts) {
    jzx_stream_opts stream;
    for (int i = 0; i < 3; i++) {
        const jzx_stdio *stdio = stdio_of(opts, i);
        if (stdio->kind > JZX_STDIO_OUTPUT || (stdio->kind == JZX_STDIO_OUTPUT && i != 2) ||
            (stdio->kind == JZX_STDIO_FD && stdio->fd < 0))
            return false;
    }
    return opts->argv != NULL && opts->argv[0] != NULL && opts->stop_signal >= 0 &&
           opts->stop_signal <= JZX__SIGNAL_MAX && jzx__stream_opts_settle(&stream, opts->stream);
}

static bool read_opts(struct request *request, const jzx_subprocess_opts *given) {
    jzx_subprocess_opts *opts = &request->opts;
    *request = (struct request){.block_size = 0};
    if (!jzx__read_sized(opts, sizeof *opts, given) || !is_valid(opts))
        return false;
    if (opts->stop_signal == 0)
        opts->stop_signal = SIGTERM;
    if (opts->grace_ns == 0)
        opts->grace_ns = JZX_DEFAULT_SUBPROCESS_GRACE_NS;
    if (opts->program == NULL)
        opts->program = opts->argv[0];
    return true;
}

/* ---- copies (S1) ---- */

static size_t text_size(const char *text) {
    return text == NULL ? 0 : strlen(text) + 1;
}

/* The pointers are counted with the NULL. */
static size_t list_size(const char *const *list) {
    size_t size = 0;
    if (list == NULL)
        return 0;
    for (; *list != NULL; list++)
        size += sizeof *list + text_size(*list);
    return size + sizeof *list;
}

static const char *copy_text(char **place, const char *text) {
    size_t size = text_size(text);
    const char *copy = *place;
    if (text == NULL)
        return NULL;
    memcpy(*place, text, size);
    *place += size;
    return copy;
}

/* The pointers go to *lists, which is aligned for them, the texts to *texts. */
static const char *const *copy_list(const char ***lists, char **texts, const char *const *list) {
    const char **copy = *lists;
    if (list == NULL)
        return NULL;
    for (; *list != NULL; list++)
        *(*lists)++ = copy_text(texts, *list);
    *(*lists)++ = NULL;
    return copy;
}

static size_t list_count(const char *const *list) {
    size_t count = 0;
    if (list == NULL)
        return 0;
    while (list[count] != NULL)
        count++;
    return count + 1;
}

/* A block with the request and all that it points to; NULL without memory. */
static struct request *copy_request(struct jzx_loop *loop, const struct request *request) {
    const jzx_subprocess_opts *opts = &request->opts;
    size_t size = sizeof *request + list_size(opts->argv) + list_size(opts->env) +
                  text_size(opts->program) + text_size(opts->cwd);
    struct request *copy = jzx__alloc(&loop->sched.allocator, size);
    if (copy == NULL)
        return NULL;
    *copy = *request;
    copy->block_size = size;
    const char **lists = (const char **)(copy + 1);
    char *texts = (char *)(lists + list_count(opts->argv) + list_count(opts->env));
    copy->opts.argv = copy_list(&lists, &texts, opts->argv);
    copy->opts.env = copy_list(&lists, &texts, opts->env);
    copy->opts.program = copy_text(&texts, opts->program);
    copy->opts.cwd = copy_text(&texts, opts->cwd);
    return copy;
}

_Static_assert(sizeof(struct request) % _Alignof(const char *) == 0, "pointers follow it");

static void free_block(struct request *request) {
    if (request->block_size != 0)
        jzx__free(&request->loop->sched.allocator, request, request->block_size);
}

/* ---- before: on the thread of the caller, in a visit ---- */

static const struct jzx__os *io_of(const struct request *request) {
    return jzx__io_of(request->loop)->os;
}

static void close_fds(struct request *request) {
    for (int i = 0; i < 3; i++) {
        if (request->plan.fds[i] >= 0)
            (void)io_of(request)->close(request->plan.fds[i]);
        request->plan.fds[i] = -1;
    }
}

static void destroy_socket(struct jzx__socket *socket, struct jzx__worker *me) {
    struct jzx__done done = {.first = NULL};
    jzx__socket_lock(socket);
    jzx__socket_close(socket, me, &done);
    jzx__socket_release(socket, me, &done);
}

/* Nothing is left of it but its block (S2). A process that runs is ended. */
static void abandon(struct request *request, struct jzx__worker *me) {
    close_fds(request);
    for (int i = 0; i < 3; i++) {
        if (request->streams[i] != NULL)
            destroy_socket(&request->streams[i]->socket, me);
        request->streams[i] = NULL;
    }
    if (request->child != NULL)
        destroy_socket(&request->child->socket, me);
    request->child = NULL;
}

/* The negative errno, or a copy of the descriptor that standard ones do not collide with. Takes the
 * original. */
static int lift(struct request *request, int fd) {
    int copy = fd > 2 ? fd : jzx__subprocesses_of(request->loop)->os->duplicate(fd);
    if (copy != fd)
        (void)io_of(request)->close(fd);
    return copy;
}

/* A pair of sockets: one end for the program, which wants it to block. */
static int make_stream(struct request *request, int number) {
    const struct jzx__os *io = io_of(request);
    jzx_stream_opts opts;
    int pair[2];
    int err = io->socketpair(AF_UNIX, SOCK_STREAM, pair);
    if (err < 0)
        return err;
    (void)jzx__stream_opts_settle(&opts, request->opts.stream);
    (void)jzx__stream_configure(request->loop, pair[0], AF_UNIX, &opts);
    request->streams[number] = jzx__stream_create(request->loop, pair[0], &opts);
    request->plan.fds[number] = lift(request, pair[1]);
    if (request->streams[number] == NULL)
        return -ENOMEM;
    return request->plan.fds[number] < 0
               ? request->plan.fds[number]
               : jzx__subprocesses_of(request->loop)->os->set_blocking(request->plan.fds[number]);
}

static int make_stdio(struct request *request, int number) {
    const struct jzx__subprocess_os *os = jzx__subprocesses_of(request->loop)->os;
    const jzx_stdio *stdio = stdio_of(&request->opts, number);
    request->plan.kinds[number] = (unsigned char)stdio->kind;
    if (stdio->kind == JZX_STDIO_STREAM)
        return make_stream(request, number);
    if (stdio->kind != JZX_STDIO_FD)
        return 0;
    request->plan.fds[number] = os->duplicate(stdio->fd);
    return request->plan.fds[number] < 0 ? request->plan.fds[number] : 0;
}

static int make_all(struct request *request) {
    struct jzx__subprocesses *own = jzx__subprocesses_of(request->loop);
    int err = jzx__reaper_start(&own->reaper, io_of(request), own->os);
    if (err < 0)
        return err;
    request->child = jzx__subprocess_create(request->loop);
    if (request->child == NULL)
        return -ENOMEM;
    for (int i = 0; i < 3 && err == 0; i++)
        err = make_stdio(request, i);
    return err;
}

/* Its handle says nothing before the process is there: nobody has it. */
static void fill_child(struct request *request) {
    struct jzx__subprocess *child = request->child;
    const jzx_subprocess_opts *opts = &request->opts;
    jzx__socket_lock(&child->socket);
    child->stop_signal = opts->stop_signal;
    child->grace_ns = opts->grace_ns;
    child->process->has_group = opts->new_group || opts->new_session;
    for (int i = 0; i < 3; i++)
        child->streams[i] = request->streams[i] == NULL
                                ? JZX_NO_STREAM
                                : jzx__socket_handle(&request->streams[i]->socket);
    request->handle = jzx__socket_handle(&child->socket);
    jzx__lock_release(&child->socket.lock);
}

/* What the system says, as a status. */
static jzx_err status_of(int error) {
    switch (error) {
    case EAGAIN: return JZX_ERR_FULL;
    case E2BIG: return JZX_ERR_TOO_LONG;
    case ENOEXEC: return JZX_ERR_UNSUPPORTED;
    case ENOTDIR: return JZX_ERR_NOT_FOUND;
    case ETXTBSY: return JZX_ERR_BUSY;
    default: return jzx__os_error_status(error);
    }
}

/* *os_error: why the system has refused it. On an error nothing is left. */
static jzx_err prepare(struct request *request, struct jzx_loop *loop, struct jzx__worker *me,
                       jzx_actor_id owner, int *os_error) {
    const jzx_subprocess_opts *opts = &request->opts;
    request->loop = loop;
    request->owner = owner;
    request->pidfd = -1;
    request->plan = (struct jzx__spawn_plan){.program = opts->program,
                                             .argv = opts->argv,
                                             .env = opts->env,
                                             .cwd = opts->cwd,
                                             .fds = {-1, -1, -1},
                                             .new_group = opts->new_group,
                                             .new_session = opts->new_session};
    if (jzx__sched_is_stopped(&loop->sched))
        return JZX_ERR_LOOP_CLOSED;
    int err = make_all(request);
    if (err < 0) {
        abandon(request, me);
        *os_error = -err;
        return status_of(-err);
    }
    fill_child(request);
    return JZX_OK;
}

/* ---- the process: on a thread of the pool ---- */

/* The descriptor that the pidfd will have is taken before, so that no program is started only to be
 * killed for the lack of one. Another thread may still get it in between. */
static int start_process(struct request *request) {
    const struct jzx__subprocess_os *os = jzx__subprocesses_of(request->loop)->os;
    int reserve = io_of(request)->eventfd();
    if (reserve < 0)
        return reserve;
    int err = os->spawn(&request->plan, &request->pid);
    (void)io_of(request)->close(reserve);
    if (err < 0)
        return err;
    request->pidfd = os->pidfd_open(request->pid);
    if (request->pidfd < 0 && request->pidfd != -ECHILD) /* else the pid may be another's */
        os->destroy(request->pid);
    return request->pidfd < 0 ? request->pidfd : 0;
}

static jzx_err execute(void *arg) {
    struct request *request = arg;
    int err = start_process(request);
    request->os_error = -err;
    return err < 0 ? status_of(-err) : JZX_OK;
}

/* ---- afterwards: on a thread of the pool, or that of who cancels; in a visit ---- */

static jzx_err adopt(struct jzx__socket *socket, struct jzx__worker *me, jzx_actor_id owner) {
    struct jzx__done done = {.first = NULL};
    jzx__socket_lock(socket);
    jzx_err err = jzx__socket_adopt(socket, me, owner);
    jzx__socket_release(socket, me, &done);
    return err;
}

static void begin_child(struct request *request) {
    jzx__socket_lock(&request->child->socket);
    jzx__subprocess_begin(request->child, request->pid, request->pidfd);
    jzx__lock_release(&request->child->socket.lock);
}

/* Gives all that it has to the owner; whatever that has got is closed by its handle if a later step
 * fails: it may be somebody else's record by then. */
static jzx_err hand_over(struct request *request, struct jzx__worker *me) {
    jzx_stream given[3] = {JZX_NO_STREAM, JZX_NO_STREAM, JZX_NO_STREAM};
    jzx_err err = JZX_OK;
    begin_child(request);
    for (int i = 0; i < 3 && err == JZX_OK; i++) {
        if (request->streams[i] == NULL)
            continue;
        jzx_stream handle = jzx__socket_handle(&request->streams[i]->socket);
        err = adopt(&request->streams[i]->socket, me, request->owner);
        if (err == JZX_OK) {
            given[i] = handle;
            request->streams[i] = NULL;
        }
    }
    if (err == JZX_OK)
        err = adopt(&request->child->socket, me, request->owner);
    if (err == JZX_OK) {
        request->child = NULL;
        return JZX_OK;
    }
    for (int i = 0; i < 3; i++)
        (void)jzx_stream_close(request->loop, given[i]);
    return err;
}

/* What a future that nobody has would have got is nobody's to close. */
static bool is_unwanted(const struct jzx__op *op) {
    return op->has_target && !jzx_promise_is_wanted((const jzx_promise *)op->target.who);
}

static void settle(struct request *request, const struct jzx__op *op, struct jzx__worker *me) {
    close_fds(request);
    if (request->err == JZX_OK && is_unwanted(op)) {
        begin_child(request);
        request->err = JZX_ERR_CANCELLED;
    } else if (request->err == JZX_OK) {
        request->err = hand_over(request, me);
    }
    abandon(request, me);
}

static void done(struct jzx__job *job, struct jzx__worker *me, jzx_err err, bool ran) {
    struct request *request = job->arg;
    struct jzx__op *op = jzx__op_of_own(job);
    jzx_subprocess handle = request->handle;
    bool has_block = request->block_size != 0;
    request->err = err;
    settle(request, op, me);
    err = request->err;
    if (ran)
        jzx__op_set_os_error(op, request->os_error);
    if (has_block)
        free_block(request);
    bool has_data = has_block && err == JZX_OK;
    jzx__op_complete(op, me, err, has_data ? &handle : NULL, has_data ? sizeof handle : 0);
}

/* ---- beginning ---- */

static const struct jzx__op_ops ops = {.cancel = jzx__workforce_cancel};

/* JZX_SUBPROCESS_POOL, made when it is needed. */
static jzx_err pool_of(struct jzx_loop *loop, struct jzx_blocking_pool **pool) {
    struct jzx__subprocesses *own = jzx__subprocesses_of(loop);
    /* acquire: pairs with the release below; the pool is there */
    *pool = jzx__atomic_load_acquire(&own->pool);
    if (*pool != NULL)
        return JZX_OK;
    const jzx_blocking_opts opts = JZX_BLOCKING_OPTS(.name = JZX_SUBPROCESS_POOL,
                                                     .threads_max = JZX_DEFAULT_SUBPROCESS_THREADS);
    jzx_err err = jzx_blocking_pool_create(loop, &opts, pool);
    if (err == JZX_ERR_EXISTS)
        *pool = jzx_blocking_pool_find(loop, JZX_SUBPROCESS_POOL); /* of the program's making */
    else if (err != JZX_OK)
        return err;
    /* release: pairs with the acquire above. Others store the same */
    jzx__atomic_store_release(&own->pool, *pool);
    return JZX_OK;
}

/* Launches the operation for the request, which comes back by done. */
static jzx_err submit(struct jzx__op *op, struct request *request, struct jzx_blocking_pool *pool,
                      struct jzx__worker *me) {
    struct jzx__job *job = jzx__op_own(op);
    *job = (struct jzx__job){.pool = pool, .fn = execute, .arg = request, .done = done};
    jzx__op_launch(op);
    return jzx__workforce_submit(pool, job, me);
}

/* ---- a fiber waits ---- */

static jzx_err begin_own_wait(struct jzx__own *own, struct request *request, struct jzx__op **op) {
    const struct jzx__op_spec spec = {.ops = &ops, .is_waited = true, .borrows = true};
    struct jzx_blocking_pool *pool;
    int os_error = 0;
    jzx_err err = prepare(request, own->turn->ctx.loop, own->me, own->turn->ctx.self, &os_error);
    if (os_error != 0)
        own->turn->os_error = os_error;
    if (err != JZX_OK)
        return err;
    err = pool_of(request->loop, &pool);
    if (err == JZX_OK)
        err = jzx__op_begin(own, &spec, op);
    if (err == JZX_OK) {
        err = submit(*op, request, pool, own->me);
        if (err != JZX_OK)
            jzx__op_undo(own, *op);
    }
    if (err != JZX_OK)
        abandon(request, own->me);
    return err;
}

static JZX_ACROSS_WAIT jzx_err begin_wait(jzx_context *ctx, struct request *request,
                                          struct jzx__op **op) {
    struct jzx__own own;
    if (!jzx__own_begin(&own, ctx))
        return JZX_ERR_INVALID_ARG;
    jzx_err err = begin_own_wait(&own, request, op);
    jzx__own_end(&own);
    return err;
}

jzx_err jzx_subprocess_spawn(jzx_context *ctx, const jzx_subprocess_opts *opts,
                             uint64_t deadline_ns, jzx_subprocess *child) {
    struct jzx__op *op;
    struct request request;
    if (!jzx__fiber_may_wait(ctx))
        return jzx__fiber_refuse(ctx, "jzx_subprocess_spawn");
    if (child == NULL || !read_opts(&request, opts))
        return JZX_ERR_INVALID_ARG;
    if (deadline_ns != JZX_NEVER && deadline_ns <= jzx_loop_now(ctx->loop))
        return JZX_ERR_TIMEOUT;
    jzx_err err = begin_wait(ctx, &request, &op);
    if (err == JZX_OK)
        err = jzx__fiber_operate_fully(ctx, op, deadline_ns);
    if (err == JZX_OK)
        *child = request.handle;
    return err;
}

/* ---- by a message ---- */

static jzx_err begin_to(struct jzx__own *own, struct request *request, uint32_t tag, jzx_op *id) {
    const struct jzx__op_spec spec = {.ops = &ops, .capacity = sizeof(jzx_subprocess), .tag = tag};
    struct jzx__op *op;
    struct jzx_blocking_pool *pool;
    jzx_err err = pool_of(request->loop, &pool);
    if (err == JZX_OK)
        err = jzx__op_begin(own, &spec, &op);
    if (err != JZX_OK)
        return err;
    err = submit(op, request, pool, own->me);
    if (err != JZX_OK)
        jzx__op_undo(own, op);
    else if (id != NULL)
        *id = jzx__op_id(op); /* it is LISTED: the slot stays */
    return err;
}

static jzx_err spawn_to(struct jzx__own *own, const struct request *request, uint32_t tag,
                        jzx_op *op) {
    int os_error = 0;
    struct request *copy = copy_request(own->turn->ctx.loop, request);
    if (copy == NULL)
        return JZX_ERR_NO_MEMORY;
    jzx_err err = prepare(copy, own->turn->ctx.loop, own->me, own->turn->ctx.self, &os_error);
    if (os_error != 0)
        own->turn->os_error = os_error;
    if (err == JZX_OK) {
        err = begin_to(own, copy, tag, op);
        if (err != JZX_OK)
            abandon(copy, own->me);
    }
    if (err != JZX_OK)
        free_block(copy);
    return err;
}

jzx_err jzx_subprocess_spawn_to(jzx_context *ctx, const jzx_subprocess_opts *opts, uint32_t tag,
                                jzx_op *op) {
    struct jzx__own own;
    struct request request;
    if (!read_opts(&request, opts) || !jzx__own_begin(&own, ctx))
        return JZX_ERR_INVALID_ARG;
    jzx_err err = spawn_to(&own, &request, tag, op);
    jzx__own_end(&own);
    return err;
}

/* ---- as a future ---- */

static jzx_err begin_async(struct request *request, struct jzx__worker *me,
                           struct jzx_future **future) {
    const struct jzx__future_op what = {.ops = &ops, .capacity = sizeof(jzx_subprocess)};
    struct jzx__op *op;
    struct jzx_blocking_pool *pool;
    jzx_err err = pool_of(request->loop, &pool);
    if (err == JZX_OK)
        err = jzx__future_operate(request->loop, me, &what, &op, future);
    if (err != JZX_OK)
        return err;
    err = submit(op, request, pool, me);
    if (err != JZX_OK)
        jzx__future_undo(op, me);
    return err;
}

static jzx_err spawn_async(struct jzx_loop *loop, struct jzx__worker *me,
                           const struct request *request, jzx_actor_id owner,
                           struct jzx_future **future) {
    int os_error = 0;
    if (!jzx__table_is_alive(&loop->table, owner))
        return JZX_ERR_NO_SUCH_ACTOR;
    struct request *copy = copy_request(loop, request);
    if (copy == NULL)
        return JZX_ERR_NO_MEMORY;
    jzx_err err = prepare(copy, loop, me, owner, &os_error);
    if (err == JZX_OK) {
        err = begin_async(copy, me, future);
        if (err != JZX_OK)
            abandon(copy, me);
    }
    if (err != JZX_OK)
        free_block(copy);
    return err;
}

jzx_err jzx_subprocess_spawn_async(jzx_loop *loop, const jzx_subprocess_opts *opts,
                                   jzx_actor_id owner, jzx_future **future) {
    struct jzx__visit visit;
    struct jzx_future *made;
    struct request request;
    if (loop == NULL || future == NULL || !read_opts(&request, opts))
        return JZX_ERR_INVALID_ARG;
    struct jzx__worker *me = jzx__loop_visit(loop, &visit);
    jzx_err err = spawn_async(loop, me, &request, owner, &made);
    jzx__visit_end(&visit);
    if (err == JZX_OK)
        *future = made;
    return err;
}
