/* SPDX-License-Identifier: MIT */
#include "process/commands_file.h"

#include "process/proxy.h"

#include <string.h>

static jzx_err do_close(jzx_context *ctx, const jzx_command *command, void *data) {
    jzx_file file;
    (void)data;
    if (command->len != sizeof file)
        return JZX_ERR_INVALID_ARG;
    memcpy(&file, command->arg, sizeof file);
    jzx_err err = jzx_file_close(ctx->loop, file);
    if (err == JZX_OK)
        (void)jzx_command_complete(ctx->loop, command->process, command->ref, NULL, 0, JZX_OK);
    return err;
}

static jzx_err start_open(jzx_context *ctx, const void *arg, uint32_t tag, jzx_op *op) {
    const jzx_command_file_open *what = arg;
    return jzx_file_open_to(ctx, what->path, what->how, what->mode, tag, op);
}

static jzx_err start_read(jzx_context *ctx, const void *arg, uint32_t tag, jzx_op *op) {
    const jzx_command_file_read *what = arg;
    return jzx_file_read_to(ctx, what->file, what->len, what->offset, tag, op);
}

static jzx_err start_write(jzx_context *ctx, const void *arg, uint32_t tag, jzx_op *op) {
    const jzx_command_file_write *what = arg;
    return jzx_file_write_to(ctx, what->file, what->data, what->len, what->offset, tag, op);
}

static jzx_err start_sync(jzx_context *ctx, const void *arg, uint32_t tag, jzx_op *op) {
    const jzx_command_file_sync *what = arg;
    if (what->data_only > 1)
        return JZX_ERR_INVALID_ARG;
    return jzx_file_sync_to(ctx, what->file, what->data_only != 0, tag, op);
}

static jzx_err start_stat(jzx_context *ctx, const void *arg, uint32_t tag, jzx_op *op) {
    const jzx_file *file = arg;
    return jzx_file_stat_to(ctx, *file, tag, op);
}

static jzx_err start_truncate(jzx_context *ctx, const void *arg, uint32_t tag, jzx_op *op) {
    const jzx_command_file_truncate *what = arg;
    return jzx_file_truncate_to(ctx, what->file, what->len, tag, op);
}

static jzx_err start_rename(jzx_context *ctx, const void *arg, uint32_t tag, jzx_op *op) {
    const jzx_command_file_rename *what = arg;
    return jzx_path_rename_to(ctx, what->from, what->to, tag, op);
}

static jzx_err start_remove(jzx_context *ctx, const void *arg, uint32_t tag, jzx_op *op) {
    const char *const *path = arg;
    return jzx_path_remove_to(ctx, *path, tag, op);
}

static const struct jzx__proxy_kind opening = {
    .start = start_open, .arg_size = sizeof(jzx_command_file_open), .close_result = jzx_file_close};
static const struct jzx__proxy_kind reading = {.start = start_read,
                                               .arg_size = sizeof(jzx_command_file_read)};
static const struct jzx__proxy_kind asking = {.start = start_stat, .arg_size = sizeof(jzx_file)};
static const struct jzx__proxy_kind writing = {
    .start = start_write, .arg_size = sizeof(jzx_command_file_write), .goes_on = true};
static const struct jzx__proxy_kind syncing = {
    .start = start_sync, .arg_size = sizeof(jzx_command_file_sync), .goes_on = true};
static const struct jzx__proxy_kind truncating = {
    .start = start_truncate, .arg_size = sizeof(jzx_command_file_truncate), .goes_on = true};
static const struct jzx__proxy_kind renaming = {
    .start = start_rename, .arg_size = sizeof(jzx_command_file_rename), .goes_on = true};
static const struct jzx__proxy_kind removing = {
    .start = start_remove, .arg_size = sizeof(const char *), .goes_on = true};

static jzx_command_handler proxy(const struct jzx__proxy_kind *kind) {
    return (jzx_command_handler){.handle = jzx__proxy_handle, .data = (void *)(uintptr_t)kind};
}

void jzx__commands_fill_file(jzx_command_handler *handlers) {
    handlers[JZX_COMMAND_FILE_OPEN] = proxy(&opening);
    handlers[JZX_COMMAND_FILE_READ] = proxy(&reading);
    handlers[JZX_COMMAND_FILE_WRITE] = proxy(&writing);
    handlers[JZX_COMMAND_FILE_SYNC] = proxy(&syncing);
    handlers[JZX_COMMAND_FILE_CLOSE] = (jzx_command_handler){.handle = do_close};
    handlers[JZX_COMMAND_FILE_STAT] = proxy(&asking);
    handlers[JZX_COMMAND_FILE_TRUNCATE] = proxy(&truncating);
    handlers[JZX_COMMAND_FILE_RENAME] = proxy(&renaming);
    handlers[JZX_COMMAND_FILE_REMOVE] = proxy(&removing);
}
