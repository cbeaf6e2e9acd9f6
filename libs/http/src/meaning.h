/* SPDX-License-Identifier: MIT */
/* Reads host, framing and connection options out of the fields of a complete head. */
#ifndef JZX_HTTP_MEANING_H
#define JZX_HTTP_MEANING_H

#include "parse.h"

/* Returns DONE or REFUSED. The start line and the fields of the head have been read. */
enum jzx__http_step jzx__http_head_judge(struct jzx__http_head *head, const char *data);

#endif
