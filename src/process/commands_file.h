/* SPDX-License-Identifier: MIT */
/* The commands of files (jzx/process_io.h), made of the public operations. */
#ifndef JZX_PROCESS_COMMANDS_FILE_H
#define JZX_PROCESS_COMMANDS_FILE_H

#include "jzx/process_io.h"

/* handlers has 256 places. */
void jzx__commands_fill_file(jzx_command_handler *handlers);

#endif
