# SPDX-License-Identifier: MIT
#
# Prints a line for every function that C files define or declare at file scope:
#   FILE LINE static|extern|typedef definition|declaration NAME PARAMETERS
# It relies on the layout of clang-format: such a function begins in the first column, and nothing
# of a function's body does but a label and the last "}". Functions that a macro defines are not
# seen, nor those that return a pointer to a function.

# Counts the parameters of the list that the text begins with. Sets list_len to the length of the
# list with its parentheses, or to 0 if it does not end.
function parameters(text,   i, c, depth, commas) {
    for (i = 1; i <= length(text); i++) {
        c = substr(text, i, 1)
        if (c == "(") depth++
        else if (c == ")" && --depth == 0) break
        else if (c == "," && depth == 1) commas++
    }
    list_len = i <= length(text) ? i : 0
    return substr(text, 1, i) ~ /^\( *(void)? *\)$/ ? 0 : commas + 1
}

# Attributes, macros and operators have parentheses, too.
function is_name(word) {
    return word ~ /^[a-z]/ && word !~ /^(sizeof|typeof)$/
}

function head(text, kind,   before, word, count, linkage) {
    while (match(text, /[A-Za-z_][A-Za-z0-9_]* *\(/)) {
        before = before substr(text, 1, RSTART - 1)
        word = substr(text, RSTART, RLENGTH - 1)
        sub(/ *$/, "", word)
        text = substr(text, RSTART + RLENGTH - 1)
        count = parameters(text)
        if (list_len == 0 || text ~ /^\( *\*/) return # a pointer to functions
        if (is_name(word) && before ~ /[A-Za-z0-9_]/) {
            linkage = (" " before) ~ /[^A-Za-z0-9_](static|inline|JZX_INLINE)[^A-Za-z0-9_]/ ? \
                "static" : before ~ /^typedef / ? "typedef" : "extern"
            print FILENAME, start, linkage, kind, word, count
            return
        }
        before = before word " "
        text = substr(text, list_len + 1)
    }
}

FNR == 1 { open = continued = 0 }
/^[ \t]*#/ || continued { continued = /\\$/; next }
/^$/ { open = 0; next }
!open && /^[A-Za-z_]/ && !/^[A-Z_]+$/ && !/^[a-z_]+:$/ {
    open = 1
    start = FNR
    text = ""
}
open {
    text = text " " $0
    gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, " ", text)
    if (text ~ /\/\*/ || !match(text, /[;={]/)) next
    open = 0
    kind = substr(text, RSTART, 1)
    text = substr(text, 1, RSTART - 1)
    if (kind != "=") {
        sub(/^ */, "", text)
        head(text, kind == "{" ? "definition" : "declaration")
    }
}
