/* SPDX-License-Identifier: MIT */
/* The version of the library: these three macros are its one home; the build reads them from
 * here. */
#ifndef JZX_VERSION_H
#define JZX_VERSION_H

#include "jzx/api.h"

#define JZX_VERSION_MAJOR 0
#define JZX_VERSION_MINOR 1
#define JZX_VERSION_PATCH 0

/* One number that compares: 0.1.0 is 100, 1.2.3 is 10203. */
#define JZX_VERSION (JZX_VERSION_MAJOR * 10000 + JZX_VERSION_MINOR * 100 + JZX_VERSION_PATCH)

JZX_BEGIN_C

/* The version of the library that is linked, as "major.minor.patch". Any thread. */
JZX_API const char *jzx_version(void);

JZX_END_C

#endif
