/* SPDX-License-Identifier: MIT */
/* Those who wait for the end of a subprocess by an operation. Under the lock of the record. */
#ifndef JZX_SUBPROCESS_WAIT_H
#define JZX_SUBPROCESS_WAIT_H

#include "subprocess/subprocess.h"

/* It has ended: each gets the status. */
void jzx__subprocess_complete_waits(struct jzx__subprocess *child, struct jzx__done *done);

/* The handle was closed: each gets err. */
void jzx__subprocess_end_waits(struct jzx__subprocess *child, jzx_err err, struct jzx__done *done);

#endif
