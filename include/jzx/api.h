/* SPDX-License-Identifier: MIT */
/* What every public header needs: symbol visibility, C linkage, attributes. */
#ifndef JZX_API_H
#define JZX_API_H

#define JZX_API __attribute__((visibility("default")))

/* The caller keeps a duty when such a call fails (free a buffer, handle NULL): ignoring it
 * warns. */
#define JZX_MUST_USE __attribute__((warn_unused_result))

#define JZX_NO_RETURN __attribute__((noreturn))

#ifdef __cplusplus
#define JZX_BEGIN_C extern "C" {
#define JZX_END_C }
#else
#define JZX_BEGIN_C
#define JZX_END_C
#endif

#endif
