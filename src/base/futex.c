/* SPDX-License-Identifier: MIT */
/* The system calls behind sleeping, waking and membarriers. */
#include "base/futex.h"

#include "base/assert.h"

#include <errno.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_SECOND 1000000000u

bool jzx__futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns) {
    struct timespec timeout = {.tv_sec = (time_t)(timeout_ns / NS_PER_SECOND),
                               .tv_nsec = (long)(timeout_ns % NS_PER_SECOND)};
    long result = syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value,
                          timeout_ns == 0 ? NULL : &timeout, NULL, 0);
    return result == 0 || errno != ETIMEDOUT;
}

void jzx__futex_wake(_Atomic uint32_t *word) {
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

bool jzx__membarrier_register(void) {
    return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

void jzx__membarrier(void) {
    while (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0)
        JZX_ASSERT(errno == ENOMEM || errno == EINTR); /* it was registered; a moment later then */
}
