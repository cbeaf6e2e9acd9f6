/* SPDX-License-Identifier: MIT */
/* Processes as a part of loops and actors. */
#include "process/builtin.h"
#include "process/commands.h"
#include "process/exec.h"
#include "process/process.h"
#include "process/proxy.h"

static bool open(struct jzx_loop *loop, const jzx_config *config) {
    (void)config;
    if (!jzx__commands_open(loop))
        return false;
    jzx__builtin_fill(jzx__commands_first(loop));
    return true;
}

static void tell(struct jzx__worker *me, struct jzx__cold *cold, struct jzx__ending *ending) {
    jzx__exec_tell(me, jzx__cold_part(cold, JZX__PART_PROCESS), ending);
}

static size_t size_bytes(const void *record) {
    const struct jzx__process *process = record;
    return sizeof *process + process->out.more_cap * sizeof(struct jzx__yield) +
           process->proxies.cap * sizeof(struct jzx__proxy) +
           (process->out.result == NULL ? 0 : process->out.result->len);
}

const struct jzx__part_ops jzx__part_process = {.open = open,
                                                .close = jzx__commands_close,
                                                .cancel = jzx__process_cancel,
                                                .tell = tell,
                                                .release = jzx__process_release,
                                                .size_bytes = size_bytes};
