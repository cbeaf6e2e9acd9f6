#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Memory orders are named in base/atomic.h alone. Every use of its ordered operations says, on its
# line or at most three lines above, what it pairs with; a relaxed one may say "relaxed:" and why.

. "$(dirname "$0")/common.sh"

# shellcheck disable=SC2046 # our file names have no spaces
verdict "$(awk '
    FNR == 1 { for (i = 1; i <= 3; i++) said[i] = "" }
    function wrong(text) { printf "%s:%d: %s\n", FILENAME, FNR, text }

    FILENAME != "src/base/atomic.h" {
        if (/memory_order_|__ATOMIC_|stdatomic\.h|__sync_|(^|[^a-z_])atomic_[a-z_]+\(/)
            wrong("only src/base/atomic.h names memory orders")
        around = $0 said[1] said[2] said[3]
        if (/jzx__atomic_[a-z0-9_]*_(acquire|release|acq_rel|seq_cst)\(/ && around !~ /pairs with/)
            wrong("an ordered operation without \"pairs with\"")
        else if (/jzx__atomic_[a-z0-9_]*_relaxed\(/ && around !~ /pairs with|relaxed[^_(;]*:/)
            wrong("a relaxed operation without \"relaxed:\" and the reason")
    }
    { said[3] = said[2]; said[2] = said[1]; said[1] = $0 }' $(c_files include src libs) /dev/null)"
