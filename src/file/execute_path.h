/* SPDX-License-Identifier: MIT */
/* Requests on names. */
#ifndef JZX_FILE_EXECUTE_PATH_H
#define JZX_FILE_EXECUTE_PATH_H

#include "file/request.h"

/* As jzx__file_execute, which calls it. */
void jzx__file_execute_path(struct jzx__file_request *request);

#endif
