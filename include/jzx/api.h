/* SPDX-License-Identifier: MIT */
/* What every public header needs: symbol visibility, C linkage, attributes.
 *
 * Options and infos begin with their size, which the caller sets; arrays of structs, and those that
 * begin with something else (jzx_child_spec), are passed with it. It tells which version of the
 * struct a program was compiled with, as new fields come at the end only, and each makes the struct
 * larger. A size that is smaller than this library's is an older program's: options that it does
 * not know are 0, the default, and infos are filled up to its size. A size that is larger, or too
 * small for the first field, is JZX_ERR_INVALID_ARG. */
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
