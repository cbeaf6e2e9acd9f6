/* SPDX-License-Identifier: MIT */
/* Must not compile: a callable that takes neither a message nor a fiber is no actor. */
#include <jzx/jzx.hpp>

int main() {
    jzx::loop loop;
    loop.spawn([](int) {});
}
