/* SPDX-License-Identifier: MIT */
/* The configuration as the rest of the library sees it: checked, without zero fields. */
#ifndef JZX_LOOP_CONFIG_H
#define JZX_LOOP_CONFIG_H

#include "jzx/config.h"

/* Gives every zero field its default. */
void jzx__config_fill(jzx_config *config);

/* The same, and settles how many threads there are on this machine. */
void jzx__config_settle(jzx_config *config);

#endif
