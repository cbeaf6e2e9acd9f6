#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Internal names (jzx__) stay out of the public headers.

. "$(dirname "$0")/common.sh"

verdict "$(grep -rn 'jzx__' include || true)"
