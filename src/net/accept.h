/* SPDX-License-Identifier: MIT */
/* Accepting from a listener. All under its lock. */
#ifndef JZX_NET_ACCEPT_H
#define JZX_NET_ACCEPT_H

#include "net/listener.h"

/* Serves those that wait, as far as there are connections (listener/L2). */
void jzx__listener_go_on(struct jzx__listener *listener, struct jzx__worker *me,
                         struct jzx__done *done);

/* It is closed: all operations complete. */
void jzx__listener_end_accepts(struct jzx__listener *listener, jzx_err err, struct jzx__done *done);

/* It is the time to try again (listener/L1). */
void jzx__listener_try_again(struct jzx__listener *listener, struct jzx__worker *me,
                             struct jzx__done *done);

/* On the home worker: sets that time, if it is needed. */
void jzx__listener_set_retry(struct jzx__listener *listener, struct jzx__worker *me);

#endif
