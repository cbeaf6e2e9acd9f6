/* SPDX-License-Identifier: MIT */
/* Must not compile: a string is no message, as a copy of its bytes is not a copy of it. */
#include <jzx/jzx.hpp>

int main() {
    jzx::loop loop;
    return loop.send(JZX_NOBODY, std::string("blue"), 1);
}
