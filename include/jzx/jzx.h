/* SPDX-License-Identifier: MIT */
/* Everything: #include <jzx/jzx.h>. */
#ifndef JZX_JZX_H
#define JZX_JZX_H

#include "jzx/actor.h"
#include "jzx/api.h"
#include "jzx/ask.h"
#include "jzx/async.h"
#include "jzx/blocking.h"
#include "jzx/clock.h"
#include "jzx/combine.h"
#include "jzx/config.h"
#include "jzx/context.h"
#include "jzx/error.h"
#include "jzx/exit.h"
#include "jzx/fiber.h"
#include "jzx/future.h"
#include "jzx/group.h"
#include "jzx/heap.h"
#include "jzx/id.h"
#include "jzx/io.h"
#include "jzx/loop.h"
#include "jzx/message.h"
#include "jzx/name.h"
#include "jzx/observe.h"
#include "jzx/op.h"
#include "jzx/pool.h"
#include "jzx/process.h"
#include "jzx/schedule.h"
#include "jzx/schedule_admin.h"
#include "jzx/scope.h"
#include "jzx/supervisor.h"
#include "jzx/sync.h"
#include "jzx/time.h"
#include "jzx/timer.h"
#include "jzx/version.h"

#endif
