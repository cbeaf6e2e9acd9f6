/* SPDX-License-Identifier: MIT */
/* The commands that every loop has. A part that brings more (sockets, files) has a function like
 * this one, and jzx__commands_open calls it. */
#ifndef JZX_PROCESS_BUILTIN_H
#define JZX_PROCESS_BUILTIN_H

#include "jzx/process.h"

/* handlers has 256 places. */
void jzx__builtin_fill(jzx_command_handler *handlers);

#endif
