/* SPDX-License-Identifier: MIT */
/* The commands that every loop has: of actors and time here, of sockets in commands_socket.c, of
 * files in commands_file.c. */
#ifndef JZX_PROCESS_BUILTIN_H
#define JZX_PROCESS_BUILTIN_H

#include "jzx/process.h"

/* handlers has 256 places. */
void jzx__builtin_fill(jzx_command_handler *handlers);

#endif
