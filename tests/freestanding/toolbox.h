/* SPDX-License-Identifier: MIT */
/* What a board supplies. program.c needs nothing else; a board's start-up code calls run_program
 * and reports its result. */
#ifndef JZX_FREESTANDING_TOOLBOX_H
#define JZX_FREESTANDING_TOOLBOX_H

/* 0, or the number of the check that does not hold, from 1 to 99. */
int run_program(void);

/* A broken invariant or wrong use: jzx__assert_failed and jzx__wrong_use end the program with this
 * status. */
#define TOOLBOX_INVARIANT 100

#endif
