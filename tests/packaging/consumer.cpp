/* SPDX-License-Identifier: MIT */
/* The same from C++17. */
#include <jzx/jzx.h>

#include <iostream>

int main() {
    jzx_loop *loop = jzx_loop_create(nullptr);

    if (loop == nullptr || jzx_loop_run(loop) != 0)
        return 1;
    jzx_loop_destroy(loop);
    std::cout << "consumer of jzx " << jzx_version() << "\n";
    return 0;
}
