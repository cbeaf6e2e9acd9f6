/* SPDX-License-Identifier: MIT */
/* Part of a program of tests: every loop of the fixture is one of nomads. */
#include "fixture.h"
#include "nomad.h"

void fixture_made(jzx_loop *loop) {
    nomad_begin(loop);
}

void fixture_destroyed(const jzx_loop *loop) {
    nomad_end(loop);
}
