# SPDX-License-Identifier: MIT
#
# awk -f prototypes.awk include/jzx/*.h bindings/zig/jzx/c*.zig: every "extern fn" there has the
# parameters and the result of the function in the headers, each as the machine passes it: a
# pointer, a struct, a floating-point number, or an integer of so many bits.

function class_c(type) {
    gsub(/JZX_[A-Z_]+ /, "", type)
    if (type ~ /[*\[]/ || type ~ /(_fn|_hook|_destructor)( [a-z_]+)?$/) return "pointer"
    if (type ~ /jzx_ask_handle/) return "struct"
    if (type ~ /^(const )?void$/) return "none"
    if (type ~ /bool/) return "bool"
    if (type ~ /uint64_t|size_t|jzx_actor_id|jzx_timer_id|jzx_monitor_ref|jzx_op/) return "64"
    if (type ~ /^jzx_(stream|listener|file|udp) /) return "64"
    if (type ~ /uint16_t/) return "16"
    if (type ~ /^char /) return "8"
    if (type ~ /double/) return "double"
    return "32" # uint32_t, int, jzx_err and the other enums
}

function class_zig(type) {
    if (type ~ /^\??[*\[]/ || type ~ /(Fn|Hook|Destructor)$/) return "pointer"
    if (type ~ /AskHandle/) return "struct"
    if (type ~ /^(void|noreturn)$/) return "none"
    if (type ~ /bool/) return "bool"
    if (type ~ /^(u64|usize)$/) return "64"
    if (type ~ /^u16$/) return "16"
    if (type ~ /^c_char$/) return "8"
    if (type ~ /^f64$/) return "double"
    return "32" # u32, c_int, Err and the enums
}

function trim(text) {
    gsub(/^[ \t]+|[ \t,]+$/, "", text)
    return text
}

# shape(text, is_zig): "result(parameter,parameter)" of a whole prototype.
function shape(text, is_zig,    open, head, list, n, i, parts, part, result, all) {
    open = index(text, "(")
    head = substr(text, 1, open - 1)
    list = substr(text, open + 1)
    if (is_zig) {
        result = list
        sub(/.*\) */, "", result)
        sub(/\)[^)]*$/, "", list)
        result = class_zig(trim(result))
    } else {
        sub(/\)[^)]*$/, "", list)
        sub(/ *jzx_[a-z0-9_]+$/, "", head)
        result = (head ~ /\*$/) ? "pointer" : class_c(trim(head))
    }
    n = split(list, parts, ",")
    for (i = 1; i <= n; i++) {
        part = trim(parts[i])
        if (part == "" || part == "void") continue
        if (is_zig) sub(/^[a-z_]+: */, "", part)
        all = all (all == "" ? "" : ",") (is_zig ? class_zig(part) : class_c(part))
    }
    return result "(" all ")"
}

function name_of(text) {
    match(text, /jzx_[a-z0-9_]+ *\(/)
    return substr(text, RSTART, RLENGTH - 1)
}

FNR == 1 { text = "" }
FILENAME !~ /\.zig$/ && /^JZX_API / && !/inline/ { text = "" ; open = 1 }
FILENAME !~ /\.zig$/ && /^JZX_API inline / {
    line = $0
    sub(/^JZX_API inline /, "", line)
    sub(/ *\{$/, "", line)
    in_c[name_of(line)] = shape(line, 0)
}
FILENAME ~ /\.zig$/ && /^pub extern fn / { text = ""; open = 1 }
open {
    text = text " " $0
    if (/;$/) {
        open = 0
        sub(/;$/, "", text)
        gsub(/[ \t]+/, " ", text)
        if (FILENAME ~ /\.zig$/) {
            sub(/^ pub extern fn /, "", text)
            in_zig[name_of(text)] = shape(text, 1)
        } else {
            sub(/^ JZX_API /, "", text)
            in_c[name_of(text)] = shape(text, 0)
        }
    }
}
END {
    for (name in in_zig) {
        count++
        if (!(name in in_c)) { print name ": in no header"; wrong = 1 }
        else if (in_c[name] != in_zig[name]) {
            print name ": " in_c[name] " in C, " in_zig[name] " in c.zig"
            wrong = 1
        }
    }
    print count " functions compared"
    exit wrong || count < 50
}
