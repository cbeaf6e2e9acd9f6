/* SPDX-License-Identifier: MIT */
/* Names and texts of the status codes, from the one map in jzx/error.h. */
#include "jzx/error.h"

const char *jzx_err_name(jzx_err err) {
    switch (err) {
#define NAME_CASE(name, code, text)                                                                \
    case name: return #name;
        JZX_ERR_MAP(NAME_CASE)
#undef NAME_CASE
    }
    return "JZX_ERR_?";
}

const char *jzx_err_text(jzx_err err) {
    switch (err) {
#define TEXT_CASE(name, code, text)                                                                \
    case name: return text;
        JZX_ERR_MAP(TEXT_CASE)
#undef TEXT_CASE
    }
    return "not a status of libjzx";
}
