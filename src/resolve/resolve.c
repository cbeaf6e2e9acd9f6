/* SPDX-License-Identifier: MIT */
#include "resolve/resolve.h"

#include "base/os_error.h"
#include "jzx/blocking.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct jzx__resolve_os system_calls = {getaddrinfo, freeaddrinfo};

/* ---- names ---- */

static bool copy(char *to, size_t size, const char *from, size_t len) {
    if (len >= size)
        return false;
    memcpy(to, from, len);
    to[len] = '\0';
    return true;
}

/* "host:port", "[::1]:port". An address of IPv6 has its brackets: else it could not be told from
 * its port. */
jzx_err jzx__resolve_parse(const char *name, uint32_t kind, struct jzx__question *question) {
    static const int families[] = {AF_UNSPEC, AF_INET, AF_INET6, AF_UNSPEC};
    const char *colon = name == NULL ? NULL : strrchr(name, ':');
    if (colon == NULL || colon == name || colon[1] == '\0' || kind > 3)
        return JZX_ERR_INVALID_ARG;
    size_t len = (size_t)(colon - name);
    bool has_brackets = name[0] == '[';
    if (has_brackets && (len < 3 || name[len - 1] != ']'))
        return JZX_ERR_INVALID_ARG;
    if (!has_brackets && memchr(name, ':', len) != NULL)
        return JZX_ERR_INVALID_ARG;
    question->os = &system_calls;
    question->family = families[kind];
    bool fits = copy(question->host, sizeof question->host, name + has_brackets,
                     len - 2 * (size_t)has_brackets) &&
                copy(question->service, sizeof question->service, colon + 1, strlen(colon + 1));
    return fits ? JZX_OK : JZX_ERR_TOO_LONG;
}

/* ---- asking ---- */

static jzx_err err_of(int error) {
    switch (error) {
    case EAI_AGAIN: return JZX_ERR_UNREACHABLE;
    case EAI_MEMORY: return JZX_ERR_NO_MEMORY;
    case EAI_SYSTEM: jzx_blocking_os_error(errno); return jzx__os_error_status(errno);
    default: return JZX_ERR_NOT_FOUND;
    }
}

/* False if it is of another kind, or cannot be written. */
static bool format(const struct addrinfo *info, char *text, size_t size) {
    char host[64];
    char port[16];
    bool is_v6 = info->ai_family == AF_INET6;
    if ((!is_v6 && info->ai_family != AF_INET) ||
        getnameinfo(info->ai_addr, info->ai_addrlen, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return false;
    int len = snprintf(text, size, is_v6 ? "[%s]:%s" : "%s:%s", host, port);
    return len > 0 && (size_t)len < size;
}

static void collect(const struct addrinfo *list, jzx_addresses *found) {
    memset(found, 0, sizeof *found);
    for (; list != NULL && found->count < JZX_ADDRESSES_MAX; list = list->ai_next)
        found->count += format(list, found->text[found->count], JZX_ADDRESS_SIZE);
}

jzx_err jzx__resolve_look_up(void *data) {
    union jzx__resolve_data *both = data;
    const struct jzx__question question = both->question;
    const struct addrinfo hints = {.ai_family = question.family, .ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    int error = question.os->look_up(question.host, question.service, &hints, &list);
    if (error != 0)
        return err_of(error);
    collect(list, &both->found);
    question.os->release(list);
    return both->found.count == 0 ? JZX_ERR_NOT_FOUND : JZX_OK;
}

/* ---- the calls ---- */

static jzx_err pool_of(jzx_loop *loop, jzx_blocking_pool **pool) {
    *pool = jzx_blocking_pool_find(loop, JZX_RESOLVE_POOL);
    if (*pool != NULL)
        return JZX_OK;
    const jzx_blocking_opts opts =
        JZX_BLOCKING_OPTS(.name = JZX_RESOLVE_POOL, .threads_max = JZX_DEFAULT_RESOLVE_THREADS);
    jzx_err err = jzx_blocking_pool_create(loop, &opts, pool);
    if (err != JZX_ERR_EXISTS)
        return err;
    *pool = jzx_blocking_pool_find(loop, JZX_RESOLVE_POOL); /* another thread was faster */
    return JZX_OK;
}

static jzx_err prepare(jzx_loop *loop, const char *name, uint32_t kind,
                       union jzx__resolve_data *data, jzx_blocking_pool **pool) {
    memset(data, 0, sizeof *data);
    jzx_err err = jzx__resolve_parse(name, kind, &data->question);
    return err != JZX_OK ? err : pool_of(loop, pool);
}

jzx_err jzx_resolve(jzx_context *ctx, const char *name, uint32_t kind, uint64_t deadline_ns,
                    jzx_addresses *found) {
    union jzx__resolve_data data;
    jzx_blocking_pool *pool;
    if (ctx == NULL || found == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = prepare(ctx->loop, name, kind, &data, &pool);
    if (err == JZX_OK)
        err = jzx_blocking_copy(ctx, pool, jzx__resolve_look_up, &data, sizeof data, deadline_ns);
    if (err == JZX_OK)
        *found = data.found;
    return err;
}

jzx_err jzx_resolve_to(jzx_context *ctx, const char *name, uint32_t kind, uint32_t tag,
                       jzx_op *op) {
    union jzx__resolve_data data;
    jzx_blocking_pool *pool;
    if (ctx == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = prepare(ctx->loop, name, kind, &data, &pool);
    return err != JZX_OK
               ? err
               : jzx_blocking_copy_to(ctx, pool, jzx__resolve_look_up, &data, sizeof data, tag, op);
}

jzx_err jzx_resolve_async(jzx_loop *loop, const char *name, uint32_t kind, jzx_future **future) {
    union jzx__resolve_data data;
    jzx_blocking_pool *pool;
    if (loop == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = prepare(loop, name, kind, &data, &pool);
    return err != JZX_OK ? err
                         : jzx_blocking_copy_async(loop, pool, jzx__resolve_look_up, &data,
                                                   sizeof data, future);
}
