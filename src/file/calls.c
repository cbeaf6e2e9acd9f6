/* SPDX-License-Identifier: MIT */
/* The calls on open files, each in three ways: they say what is to be done. */
#include "file/start.h"

#include <fcntl.h>
#include <string.h>

#define HOWS                                                                                       \
    (JZX_FILE_READ | JZX_FILE_WRITE | JZX_FILE_CREATE | JZX_FILE_NEW | JZX_FILE_TRUNCATE |         \
     JZX_FILE_APPEND | JZX_FILE_DIRECTORY | JZX_FILE_NO_FOLLOW)

/* The largest offset and length. */
#define OFFSET_MAX ((uint64_t)INT64_MAX)

/* ---- opening ---- */

static const struct {
    uint32_t how;
    int flag;
} flags_of_how[] = {
    {JZX_FILE_CREATE, O_CREAT},        {JZX_FILE_NEW, O_EXCL},
    {JZX_FILE_TRUNCATE, O_TRUNC},      {JZX_FILE_APPEND, O_APPEND},
    {JZX_FILE_DIRECTORY, O_DIRECTORY}, {JZX_FILE_NO_FOLLOW, O_NOFOLLOW},
};

/* False if something is wrong. A terminal does not become that of the process. */
static bool ask_open(struct jzx__file_request *request, const char *path, uint32_t how,
                     uint32_t mode) {
    bool reads = (how & JZX_FILE_READ) != 0;
    bool writes = (how & JZX_FILE_WRITE) != 0;
    int flags = O_NOCTTY | (reads && writes ? O_RDWR : writes ? O_WRONLY : O_RDONLY);
    bool is_new_alone = (how & (JZX_FILE_NEW | JZX_FILE_CREATE)) == JZX_FILE_NEW;
    if (path == NULL || (how & ~(uint32_t)HOWS) != 0 || !(reads || writes) || mode > 07777 ||
        is_new_alone)
        return false;
    for (size_t i = 0; i < sizeof flags_of_how / sizeof flags_of_how[0]; i++)
        flags |= how & flags_of_how[i].how ? flags_of_how[i].flag : 0;
    *request = (struct jzx__file_request){
        .what = JZX__FILE_DO_OPEN, .path = path, .flags = flags, .mode = mode};
    return true;
}

static jzx_err wait_open(jzx_context *ctx, const char *call, struct jzx__file_request *request,
                         uint64_t deadline_ns, jzx_file *file) {
    jzx_err err = jzx__file_wait(ctx, call, request, deadline_ns);
    if (err == JZX_OK)
        *file = request->handle;
    return err;
}

jzx_err jzx_file_open(jzx_context *ctx, const char *path, uint32_t how, uint32_t mode,
                      uint64_t deadline_ns, jzx_file *file) {
    struct jzx__file_request request;
    if (file == NULL || !ask_open(&request, path, how, mode))
        return JZX_ERR_INVALID_ARG;
    return wait_open(ctx, "jzx_file_open", &request, deadline_ns, file);
}

jzx_err jzx_file_open_to(jzx_context *ctx, const char *path, uint32_t how, uint32_t mode,
                         uint32_t tag, jzx_op *op) {
    struct jzx__file_request request;
    return ask_open(&request, path, how, mode) ? jzx__file_start_to(ctx, &request, tag, op)
                                               : JZX_ERR_INVALID_ARG;
}

jzx_err jzx_file_open_async(jzx_loop *loop, const char *path, uint32_t how, uint32_t mode,
                            jzx_future **future) {
    struct jzx__file_request request;
    return ask_open(&request, path, how, mode) ? jzx__file_start_async(loop, &request, future)
                                               : JZX_ERR_INVALID_ARG;
}

static struct jzx__file_request ask_temporary(const char *folder) {
    return (struct jzx__file_request){.what = JZX__FILE_DO_TEMPORARY,
                                      .path = folder == NULL ? "/tmp" : folder};
}

jzx_err jzx_file_temporary(jzx_context *ctx, const char *folder, uint64_t deadline_ns,
                           jzx_file *file) {
    struct jzx__file_request request = ask_temporary(folder);
    if (file == NULL)
        return JZX_ERR_INVALID_ARG;
    return wait_open(ctx, "jzx_file_temporary", &request, deadline_ns, file);
}

jzx_err jzx_file_temporary_to(jzx_context *ctx, const char *folder, uint32_t tag, jzx_op *op) {
    const struct jzx__file_request request = ask_temporary(folder);
    return jzx__file_start_to(ctx, &request, tag, op);
}

jzx_err jzx_file_temporary_async(jzx_loop *loop, const char *folder, jzx_future **future) {
    const struct jzx__file_request request = ask_temporary(folder);
    return jzx__file_start_async(loop, &request, future);
}

/* ---- bytes ---- */

static bool is_offset(uint64_t offset) {
    return offset <= OFFSET_MAX || offset == JZX_FILE_HERE;
}

/* The pieces have at least `least` bytes, and not more than the system counts. */
static bool are_parts(const struct iovec *parts, uint32_t count, uint64_t offset, size_t least) {
    size_t size = 0;
    if (parts == NULL || count == 0 || count > JZX_FILE_PARTS_MAX || !is_offset(offset))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        if ((parts[i].iov_base == NULL && parts[i].iov_len != 0) ||
            parts[i].iov_len > (size_t)INT64_MAX - size)
            return false;
        size += parts[i].iov_len;
    }
    return size >= least;
}

static struct jzx__file_request ask_bytes(enum jzx__file_do what, jzx_file file,
                                          const struct iovec *parts, uint32_t count,
                                          uint64_t offset) {
    return (struct jzx__file_request){
        .what = what, .handle = file, .parts = parts, .part_count = count, .offset = offset};
}

static jzx_err wait_bytes(jzx_context *ctx, const char *call, struct jzx__file_request *request,
                          uint64_t deadline_ns, size_t *len) {
    jzx_err err = jzx__file_wait(ctx, call, request, deadline_ns);
    if (len != NULL && (err == JZX_OK || request->what == JZX__FILE_DO_WRITE))
        *len = (size_t)request->count;
    return err;
}

jzx_err jzx_file_readv(jzx_context *ctx, jzx_file file, const struct iovec *parts, uint32_t count,
                       uint64_t offset, uint64_t deadline_ns, size_t *len) {
    struct jzx__file_request request = ask_bytes(JZX__FILE_DO_READ, file, parts, count, offset);
    if (len == NULL || !are_parts(parts, count, offset, 1))
        return JZX_ERR_INVALID_ARG;
    return wait_bytes(ctx, "jzx_file_readv", &request, deadline_ns, len);
}

jzx_err jzx_file_read(jzx_context *ctx, jzx_file file, void *buf, size_t cap, uint64_t offset,
                      uint64_t deadline_ns, size_t *len) {
    const struct iovec part = {buf, cap};
    struct jzx__file_request request = ask_bytes(JZX__FILE_DO_READ, file, &part, 1, offset);
    if (len == NULL || !are_parts(&part, 1, offset, 1))
        return JZX_ERR_INVALID_ARG;
    return wait_bytes(ctx, "jzx_file_read", &request, deadline_ns, len);
}

/* Where it reads to is known when the operation is made. */
static struct jzx__file_request ask_read(jzx_file file, size_t cap, uint64_t offset) {
    return (struct jzx__file_request){.what = JZX__FILE_DO_READ,
                                      .handle = file,
                                      .part_count = 1,
                                      .capacity = cap,
                                      .offset = offset};
}

jzx_err jzx_file_read_to(jzx_context *ctx, jzx_file file, size_t cap, uint64_t offset, uint32_t tag,
                         jzx_op *op) {
    const struct jzx__file_request request = ask_read(file, cap, offset);
    return cap != 0 && is_offset(offset) ? jzx__file_start_to(ctx, &request, tag, op)
                                         : JZX_ERR_INVALID_ARG;
}

jzx_err jzx_file_read_async(jzx_loop *loop, jzx_file file, size_t cap, uint64_t offset,
                            jzx_future **future) {
    const struct jzx__file_request request = ask_read(file, cap, offset);
    return cap != 0 && is_offset(offset) ? jzx__file_start_async(loop, &request, future)
                                         : JZX_ERR_INVALID_ARG;
}

jzx_err jzx_file_writev(jzx_context *ctx, jzx_file file, const struct iovec *parts, uint32_t count,
                        uint64_t offset, uint64_t deadline_ns, size_t *done) {
    struct jzx__file_request request = ask_bytes(JZX__FILE_DO_WRITE, file, parts, count, offset);
    if (!are_parts(parts, count, offset, 0))
        return JZX_ERR_INVALID_ARG;
    return wait_bytes(ctx, "jzx_file_writev", &request, deadline_ns, done);
}

jzx_err jzx_file_writev_to(jzx_context *ctx, jzx_file file, const struct iovec *parts,
                           uint32_t count, uint64_t offset, uint32_t tag, jzx_op *op) {
    const struct jzx__file_request request =
        ask_bytes(JZX__FILE_DO_WRITE, file, parts, count, offset);
    return are_parts(parts, count, offset, 0) ? jzx__file_start_to(ctx, &request, tag, op)
                                              : JZX_ERR_INVALID_ARG;
}

jzx_err jzx_file_writev_async(jzx_loop *loop, jzx_file file, const struct iovec *parts,
                              uint32_t count, uint64_t offset, jzx_future **future) {
    const struct jzx__file_request request =
        ask_bytes(JZX__FILE_DO_WRITE, file, parts, count, offset);
    return are_parts(parts, count, offset, 0) ? jzx__file_start_async(loop, &request, future)
                                              : JZX_ERR_INVALID_ARG;
}

static struct iovec part_of(const void *buf, size_t len) {
    return (struct iovec){(void *)(uintptr_t)buf, len};
}

jzx_err jzx_file_write(jzx_context *ctx, jzx_file file, const void *buf, size_t len,
                       uint64_t offset, uint64_t deadline_ns, size_t *done) {
    const struct iovec part = part_of(buf, len);
    struct jzx__file_request request = ask_bytes(JZX__FILE_DO_WRITE, file, &part, 1, offset);
    if (!are_parts(&part, 1, offset, 0))
        return JZX_ERR_INVALID_ARG;
    return wait_bytes(ctx, "jzx_file_write", &request, deadline_ns, done);
}

jzx_err jzx_file_write_to(jzx_context *ctx, jzx_file file, const void *buf, size_t len,
                          uint64_t offset, uint32_t tag, jzx_op *op) {
    const struct iovec part = part_of(buf, len);
    return jzx_file_writev_to(ctx, file, &part, 1, offset, tag, op);
}

jzx_err jzx_file_write_async(jzx_loop *loop, jzx_file file, const void *buf, size_t len,
                             uint64_t offset, jzx_future **future) {
    const struct iovec part = part_of(buf, len);
    return jzx_file_writev_async(loop, file, &part, 1, offset, future);
}

/* ---- the rest ---- */

static struct jzx__file_request ask_sync(jzx_file file, bool data_only) {
    return (struct jzx__file_request){.what = JZX__FILE_DO_SYNC, .handle = file, .len = data_only};
}

jzx_err jzx_file_sync(jzx_context *ctx, jzx_file file, bool data_only, uint64_t deadline_ns) {
    struct jzx__file_request request = ask_sync(file, data_only);
    return jzx__file_wait(ctx, "jzx_file_sync", &request, deadline_ns);
}

jzx_err jzx_file_sync_to(jzx_context *ctx, jzx_file file, bool data_only, uint32_t tag,
                         jzx_op *op) {
    const struct jzx__file_request request = ask_sync(file, data_only);
    return jzx__file_start_to(ctx, &request, tag, op);
}

jzx_err jzx_file_sync_async(jzx_loop *loop, jzx_file file, bool data_only, jzx_future **future) {
    const struct jzx__file_request request = ask_sync(file, data_only);
    return jzx__file_start_async(loop, &request, future);
}

static bool ask_allocate(struct jzx__file_request *request, jzx_file file, uint64_t offset,
                         uint64_t len) {
    *request = (struct jzx__file_request){
        .what = JZX__FILE_DO_ALLOCATE, .handle = file, .offset = offset, .len = len};
    return len != 0 && offset <= OFFSET_MAX && len <= OFFSET_MAX - offset;
}

jzx_err jzx_file_allocate(jzx_context *ctx, jzx_file file, uint64_t offset, uint64_t len,
                          uint64_t deadline_ns) {
    struct jzx__file_request request;
    return ask_allocate(&request, file, offset, len)
               ? jzx__file_wait(ctx, "jzx_file_allocate", &request, deadline_ns)
               : JZX_ERR_INVALID_ARG;
}

jzx_err jzx_file_allocate_to(jzx_context *ctx, jzx_file file, uint64_t offset, uint64_t len,
                             uint32_t tag, jzx_op *op) {
    struct jzx__file_request request;
    return ask_allocate(&request, file, offset, len) ? jzx__file_start_to(ctx, &request, tag, op)
                                                     : JZX_ERR_INVALID_ARG;
}

jzx_err jzx_file_allocate_async(jzx_loop *loop, jzx_file file, uint64_t offset, uint64_t len,
                                jzx_future **future) {
    struct jzx__file_request request;
    return ask_allocate(&request, file, offset, len) ? jzx__file_start_async(loop, &request, future)
                                                     : JZX_ERR_INVALID_ARG;
}

static bool ask_truncate(struct jzx__file_request *request, jzx_file file, uint64_t len) {
    *request =
        (struct jzx__file_request){.what = JZX__FILE_DO_TRUNCATE, .handle = file, .len = len};
    return len <= OFFSET_MAX;
}

jzx_err jzx_file_truncate(jzx_context *ctx, jzx_file file, uint64_t len, uint64_t deadline_ns) {
    struct jzx__file_request request;
    return ask_truncate(&request, file, len)
               ? jzx__file_wait(ctx, "jzx_file_truncate", &request, deadline_ns)
               : JZX_ERR_INVALID_ARG;
}

jzx_err jzx_file_truncate_to(jzx_context *ctx, jzx_file file, uint64_t len, uint32_t tag,
                             jzx_op *op) {
    struct jzx__file_request request;
    return ask_truncate(&request, file, len) ? jzx__file_start_to(ctx, &request, tag, op)
                                             : JZX_ERR_INVALID_ARG;
}

jzx_err jzx_file_truncate_async(jzx_loop *loop, jzx_file file, uint64_t len, jzx_future **future) {
    struct jzx__file_request request;
    return ask_truncate(&request, file, len) ? jzx__file_start_async(loop, &request, future)
                                             : JZX_ERR_INVALID_ARG;
}

jzx_err jzx_file_stat(jzx_context *ctx, jzx_file file, uint64_t deadline_ns, jzx_file_info *info) {
    jzx_file_info found;
    struct jzx__file_request request = {.what = JZX__FILE_DO_STAT, .handle = file, .data = &found};
    if (info == NULL)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__file_wait(ctx, "jzx_file_stat", &request, deadline_ns);
    if (err == JZX_OK)
        *info = found;
    return err;
}

jzx_err jzx_file_stat_to(jzx_context *ctx, jzx_file file, uint32_t tag, jzx_op *op) {
    const struct jzx__file_request request = {.what = JZX__FILE_DO_STAT, .handle = file};
    return jzx__file_start_to(ctx, &request, tag, op);
}

jzx_err jzx_file_stat_async(jzx_loop *loop, jzx_file file, jzx_future **future) {
    const struct jzx__file_request request = {.what = JZX__FILE_DO_STAT, .handle = file};
    return jzx__file_start_async(loop, &request, future);
}
