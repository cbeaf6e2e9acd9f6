/* SPDX-License-Identifier: MIT */
/* The calls on names, each in three ways: they say what is to be done. */
#include "file/start.h"

#include "jzx/path.h"

#include <string.h>

/* One that works on names only; false if something is wrong. */
static bool ask(struct jzx__file_request *request, enum jzx__file_do what, const char *path,
                uint32_t mode) {
    *request = (struct jzx__file_request){.what = what, .path = path, .mode = mode};
    return path != NULL && mode <= 07777;
}

static bool ask_two(struct jzx__file_request *request, enum jzx__file_do what, const char *from,
                    const char *to) {
    bool is_right = ask(request, what, from, 0);
    request->other = to;
    return is_right && to != NULL;
}

/* The end of each call. */
static jzx_err wait(bool is_right, jzx_context *ctx, const char *call,
                    struct jzx__file_request *request, uint64_t deadline_ns) {
    return is_right ? jzx__file_wait(ctx, call, request, deadline_ns) : JZX_ERR_INVALID_ARG;
}

static jzx_err start_to(bool is_right, jzx_context *ctx, const struct jzx__file_request *request,
                        uint32_t tag, jzx_op *op) {
    return is_right ? jzx__file_start_to(ctx, request, tag, op) : JZX_ERR_INVALID_ARG;
}

static jzx_err start_async(bool is_right, jzx_loop *loop, const struct jzx__file_request *request,
                           jzx_future **future) {
    return is_right ? jzx__file_start_async(loop, request, future) : JZX_ERR_INVALID_ARG;
}

/* ---- stat ---- */

jzx_err jzx_path_stat(jzx_context *ctx, const char *path, uint64_t deadline_ns,
                      jzx_file_info *info) {
    struct jzx__file_request request;
    jzx_file_info found;
    bool is_right = ask(&request, JZX__FILE_DO_STAT_PATH, path, 0) && info != NULL;
    request.data = &found;
    jzx_err err = wait(is_right, ctx, "jzx_path_stat", &request, deadline_ns);
    if (err == JZX_OK)
        *info = found;
    return err;
}

jzx_err jzx_path_stat_to(jzx_context *ctx, const char *path, uint32_t tag, jzx_op *op) {
    struct jzx__file_request request;
    bool is_right = ask(&request, JZX__FILE_DO_STAT_PATH, path, 0);
    return start_to(is_right, ctx, &request, tag, op);
}

jzx_err jzx_path_stat_async(jzx_loop *loop, const char *path, jzx_future **future) {
    struct jzx__file_request request;
    bool is_right = ask(&request, JZX__FILE_DO_STAT_PATH, path, 0);
    return start_async(is_right, loop, &request, future);
}

/* ---- rename ---- */

jzx_err jzx_path_rename(jzx_context *ctx, const char *from, const char *to, uint64_t deadline_ns) {
    struct jzx__file_request request;
    bool is_right = ask_two(&request, JZX__FILE_DO_RENAME, from, to);
    return wait(is_right, ctx, "jzx_path_rename", &request, deadline_ns);
}

jzx_err jzx_path_rename_to(jzx_context *ctx, const char *from, const char *to, uint32_t tag,
                           jzx_op *op) {
    struct jzx__file_request request;
    bool is_right = ask_two(&request, JZX__FILE_DO_RENAME, from, to);
    return start_to(is_right, ctx, &request, tag, op);
}

jzx_err jzx_path_rename_async(jzx_loop *loop, const char *from, const char *to,
                              jzx_future **future) {
    struct jzx__file_request request;
    bool is_right = ask_two(&request, JZX__FILE_DO_RENAME, from, to);
    return start_async(is_right, loop, &request, future);
}

/* ---- remove ---- */

jzx_err jzx_path_remove(jzx_context *ctx, const char *path, uint64_t deadline_ns) {
    struct jzx__file_request request;
    bool is_right = ask(&request, JZX__FILE_DO_REMOVE, path, 0);
    return wait(is_right, ctx, "jzx_path_remove", &request, deadline_ns);
}

jzx_err jzx_path_remove_to(jzx_context *ctx, const char *path, uint32_t tag, jzx_op *op) {
    struct jzx__file_request request;
    bool is_right = ask(&request, JZX__FILE_DO_REMOVE, path, 0);
    return start_to(is_right, ctx, &request, tag, op);
}

jzx_err jzx_path_remove_async(jzx_loop *loop, const char *path, jzx_future **future) {
    struct jzx__file_request request;
    bool is_right = ask(&request, JZX__FILE_DO_REMOVE, path, 0);
    return start_async(is_right, loop, &request, future);
}

/* ---- mkdir ---- */

jzx_err jzx_path_mkdir(jzx_context *ctx, const char *path, uint32_t mode, uint64_t deadline_ns) {
    struct jzx__file_request request;
    bool is_right = ask(&request, JZX__FILE_DO_MKDIR, path, mode);
    return wait(is_right, ctx, "jzx_path_mkdir", &request, deadline_ns);
}

jzx_err jzx_path_mkdir_to(jzx_context *ctx, const char *path, uint32_t mode, uint32_t tag,
                          jzx_op *op) {
    struct jzx__file_request request;
    bool is_right = ask(&request, JZX__FILE_DO_MKDIR, path, mode);
    return start_to(is_right, ctx, &request, tag, op);
}

jzx_err jzx_path_mkdir_async(jzx_loop *loop, const char *path, uint32_t mode, jzx_future **future) {
    struct jzx__file_request request;
    bool is_right = ask(&request, JZX__FILE_DO_MKDIR, path, mode);
    return start_async(is_right, loop, &request, future);
}

/* ---- list ---- */

static bool ask_list(struct jzx__file_request *request, const char *path, size_t cap) {
    bool is_right = ask(request, JZX__FILE_DO_LIST, path, 0);
    request->capacity = cap;
    return is_right;
}

jzx_err jzx_path_list(jzx_context *ctx, const char *path, char *names, size_t cap,
                      uint64_t deadline_ns, size_t *len) {
    struct jzx__file_request request;
    bool is_right = ask_list(&request, path, cap) && len != NULL && (names != NULL || cap == 0);
    request.data = names;
    jzx_err err = wait(is_right, ctx, "jzx_path_list", &request, deadline_ns);
    if (err == JZX_OK)
        *len = (size_t)request.count;
    return err;
}

jzx_err jzx_path_list_to(jzx_context *ctx, const char *path, size_t cap, uint32_t tag, jzx_op *op) {
    struct jzx__file_request request;
    bool is_right = ask_list(&request, path, cap);
    return start_to(is_right, ctx, &request, tag, op);
}

jzx_err jzx_path_list_async(jzx_loop *loop, const char *path, size_t cap, jzx_future **future) {
    struct jzx__file_request request;
    bool is_right = ask_list(&request, path, cap);
    return start_async(is_right, loop, &request, future);
}

const char *jzx_path_next(const char *names, size_t len, const char *name) {
    const char *next = name == NULL ? names : name + strlen(name) + 1;
    return names != NULL && (size_t)(next - names) < len ? next : NULL;
}

/* ---- copy ---- */

jzx_err jzx_path_copy(jzx_context *ctx, const char *from, const char *to, uint64_t deadline_ns) {
    struct jzx__file_request request;
    bool is_right = ask_two(&request, JZX__FILE_DO_COPY, from, to);
    return wait(is_right, ctx, "jzx_path_copy", &request, deadline_ns);
}

jzx_err jzx_path_copy_to(jzx_context *ctx, const char *from, const char *to, uint32_t tag,
                         jzx_op *op) {
    struct jzx__file_request request;
    bool is_right = ask_two(&request, JZX__FILE_DO_COPY, from, to);
    return start_to(is_right, ctx, &request, tag, op);
}

jzx_err jzx_path_copy_async(jzx_loop *loop, const char *from, const char *to, jzx_future **future) {
    struct jzx__file_request request;
    bool is_right = ask_two(&request, JZX__FILE_DO_COPY, from, to);
    return start_async(is_right, loop, &request, future);
}

/* ---- replace ---- */

static bool ask_replace(struct jzx__file_request *request, const char *path, struct iovec *part,
                        uint32_t mode) {
    bool is_right = ask(request, JZX__FILE_DO_REPLACE, path, mode);
    request->parts = part;
    request->part = *part;
    request->part_count = 1;
    return is_right && (part->iov_base != NULL || part->iov_len == 0) &&
           part->iov_len <= (size_t)INT64_MAX; /* more than the system counts */
}

jzx_err jzx_path_replace(jzx_context *ctx, const char *path, const void *data, size_t len,
                         uint32_t mode, uint64_t deadline_ns) {
    struct jzx__file_request request;
    struct iovec part = {(void *)(uintptr_t)data, len};
    bool is_right = ask_replace(&request, path, &part, mode);
    return wait(is_right, ctx, "jzx_path_replace", &request, deadline_ns);
}

jzx_err jzx_path_replace_to(jzx_context *ctx, const char *path, const void *data, size_t len,
                            uint32_t mode, uint32_t tag, jzx_op *op) {
    struct jzx__file_request request;
    struct iovec part = {(void *)(uintptr_t)data, len};
    bool is_right = ask_replace(&request, path, &part, mode);
    return start_to(is_right, ctx, &request, tag, op);
}

jzx_err jzx_path_replace_async(jzx_loop *loop, const char *path, const void *data, size_t len,
                               uint32_t mode, jzx_future **future) {
    struct jzx__file_request request;
    struct iovec part = {(void *)(uintptr_t)data, len};
    bool is_right = ask_replace(&request, path, &part, mode);
    return start_async(is_right, loop, &request, future);
}
