/* SPDX-License-Identifier: MIT */
/* The supervision trees of a loop as text. */
#ifndef JZX_SUPER_TREE_H
#define JZX_SUPER_TREE_H

#include "super/super.h"

/* For a dump: the tree, line by line. */
typedef void (*jzx__tree_fn)(void *ctx, const char *text);
void jzx__supers_print(struct jzx_loop *loop, jzx__tree_fn line, void *ctx);

#endif
