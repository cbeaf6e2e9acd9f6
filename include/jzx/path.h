/* SPDX-License-Identifier: MIT */
/* What is done to files by their names. As jzx/file.h says: the same three forms, the same pool,
 * the same rules and errors; paths are copied, or borrowed in the form for fibers. */
#ifndef JZX_PATH_H
#define JZX_PATH_H

#include "jzx/file.h"

JZX_BEGIN_C

/* What the system knows of it; of a symbolic link: of the link itself. The data, and the value, are
 * a jzx_file_info. */
JZX_API jzx_err jzx_path_stat(jzx_context *ctx, const char *path, uint64_t deadline_ns,
                              jzx_file_info *info);
JZX_API jzx_err jzx_path_stat_to(jzx_context *ctx, const char *path, uint32_t tag, jzx_op *op);
JZX_API jzx_err jzx_path_stat_async(jzx_loop *loop, const char *path, jzx_future **future);

/* Gives it another name, on the same file system; a file that has that name is replaced, and at
 * each moment the name is that of one or the other. */
JZX_API jzx_err jzx_path_rename(jzx_context *ctx, const char *from, const char *to,
                                uint64_t deadline_ns);
JZX_API jzx_err jzx_path_rename_to(jzx_context *ctx, const char *from, const char *to, uint32_t tag,
                                   jzx_op *op);
JZX_API jzx_err jzx_path_rename_async(jzx_loop *loop, const char *from, const char *to,
                                      jzx_future **future);

/* Removes a file, or an empty folder. */
JZX_API jzx_err jzx_path_remove(jzx_context *ctx, const char *path, uint64_t deadline_ns);
JZX_API jzx_err jzx_path_remove_to(jzx_context *ctx, const char *path, uint32_t tag, jzx_op *op);
JZX_API jzx_err jzx_path_remove_async(jzx_loop *loop, const char *path, jzx_future **future);

/* Makes a folder, with the mode less the umask. */
JZX_API jzx_err jzx_path_mkdir(jzx_context *ctx, const char *path, uint32_t mode,
                               uint64_t deadline_ns);
JZX_API jzx_err jzx_path_mkdir_to(jzx_context *ctx, const char *path, uint32_t mode, uint32_t tag,
                                  jzx_op *op);
JZX_API jzx_err jzx_path_mkdir_async(jzx_loop *loop, const char *path, uint32_t mode,
                                     jzx_future **future);

/* The names in a folder, in no order, each ended by a '\0', those of folders by a '/' before that;
 * "." and ".." are not among them. JZX_ERR_TOO_LONG: cap bytes are too few. */
JZX_API jzx_err jzx_path_list(jzx_context *ctx, const char *path, char *names, size_t cap,
                              uint64_t deadline_ns, size_t *len);
/* The data are the names. */
JZX_API jzx_err jzx_path_list_to(jzx_context *ctx, const char *path, size_t cap, uint32_t tag,
                                 jzx_op *op);
/* The value is a jzx_result with the names behind it: sizeof(jzx_result) + cap bytes. */
JZX_API jzx_err jzx_path_list_async(jzx_loop *loop, const char *path, size_t cap,
                                    jzx_future **future);

/* The name after that one, the first for NULL; NULL after the last. */
JZX_API const char *jzx_path_next(const char *names, size_t len, const char *name);

/* Copies a regular file with its permissions; with set-id bits and the sticky bit only if the copy
 * has the same owner and group. The copy appears under its name when it is whole, in place of a
 * file that has it, or not at all. */
JZX_API jzx_err jzx_path_copy(jzx_context *ctx, const char *from, const char *to,
                              uint64_t deadline_ns);
JZX_API jzx_err jzx_path_copy_to(jzx_context *ctx, const char *from, const char *to, uint32_t tag,
                                 jzx_op *op);
JZX_API jzx_err jzx_path_copy_async(jzx_loop *loop, const char *from, const char *to,
                                    jzx_future **future);

/* The file has that content from then on, or is as it was, whatever happens, a loss of power
 * included: what is written is on the disk before it gets the name. mode: of the file; 0: that of
 * the one that is there (set-id bits as above), else 0666 less the umask. Nobody can read the
 * content before that could not read the file after. */
JZX_API jzx_err jzx_path_replace(jzx_context *ctx, const char *path, const void *data, size_t len,
                                 uint32_t mode, uint64_t deadline_ns);
JZX_API jzx_err jzx_path_replace_to(jzx_context *ctx, const char *path, const void *data,
                                    size_t len, uint32_t mode, uint32_t tag, jzx_op *op);
JZX_API jzx_err jzx_path_replace_async(jzx_loop *loop, const char *path, const void *data,
                                       size_t len, uint32_t mode, jzx_future **future);

JZX_END_C

#endif
