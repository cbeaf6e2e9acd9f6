/* SPDX-License-Identifier: MIT */
/* A request in three ways. On an error that the call itself returns nothing has happened. */
#ifndef JZX_FILE_START_H
#define JZX_FILE_START_H

#include "file/request.h"

#include "jzx/future.h"

/* Suspends the calling fiber; `call` is the name of the call. The request has its outcome. */
jzx_err jzx__file_wait(jzx_context *ctx, const char *call, struct jzx__file_request *request,
                       uint64_t deadline_ns);

/* These copy what the request points to. */
jzx_err jzx__file_start_to(jzx_context *ctx, const struct jzx__file_request *request, uint32_t tag,
                           jzx_op *op);
jzx_err jzx__file_start_async(jzx_loop *loop, const struct jzx__file_request *request,
                              jzx_future **future);

#endif
