# SPDX-License-Identifier: MIT
#
# From `objdump -d --no-show-raw-insn` of a linked program: prints each function that waits, and
# looks up something of its thread itself. A function waits if it calls jzx__switch, or a function
# that waits; of those that call functions of the user by pointers the names are below. The last
# lines are "waiting: N" and "looking: N", the numbers of functions that do the one and the other.
#
# Functions of the same name are told apart by their addresses, but for the parts that the compiler
# has put elsewhere, "f.cold": those of one name are one.

function label(line) {
    sub(/^[^<]*</, "", line)
    sub(/>.*/, "", line)
    return line
}

function address(text) {
    sub(/^0+/, "", text)
    return text
}

/^[0-9a-f]+ <.*>:$/ {
    name = label($0)
    part = name ~ /\.cold(\.[0-9]+)?$/ ? "cold " name : address($1)
    names[part] = name
    next
}

/%fs:/ && !/%fs:0x28([^0-9a-f]|$)/ { looks[part] = 1 }
/[ \t]mrs[ \t].*tpidr_el0/ { looks[part] = 1 }

/[ \t](call|jmp|j[a-z]+|bl?|b\.[a-z]+)[ \t]+[0-9a-f]+ <.*>/ {
    to = label($0)
    if (to ~ /^__errno_location/)
        looks[part] = 1
    is_inside = to ~ /\+0x[0-9a-f]+$/
    sub(/\+0x[0-9a-f]+$/, "", to)
    if (to ~ /\.cold(\.[0-9]+)?$/) {
        if ("cold " to != part && index(elsewhere[part] ";", ";cold " to ";") == 0)
            elsewhere[part] = elsewhere[part] ";cold " to
    } else if (!is_inside) {
        line = $0
        sub(/ <.*/, "", line)
        sub(/.*[ \t]/, "", line)
        edge = ";" address(line)
        if (index(jumps[part] ";", edge ";") == 0)
            jumps[part] = jumps[part] edge
        if ($0 ~ /[ \t](call|bl)[ \t]/ && index(calls[part] ";", edge ";") == 0)
            calls[part] = calls[part] edge
    }
}

# What resumes fibers runs on the stack of a thread.
function is_of_thread(name) {
    sub(/\..*/, "", name)
    return name == "resume" || name == "turn"
}

function calls_user(name) {
    sub(/\..*/, "", name)
    return name == "run_fiber" || name == "run_iteration"
}

function leads_to_wait(list,    count, parts, i) {
    count = split(list, parts, ";")
    for (i = 2; i <= count; i++)
        if (parts[i] in waits)
            return 1
    return 0
}

END {
    for (part in elsewhere) {
        count = split(elsewhere[part], parts, ";")
        for (i = 2; i <= count; i++) {
            if (looks[parts[i]])
                looks[part] = 1
            calls[part] = calls[part] calls[parts[i]]
            jumps[part] = jumps[part] jumps[parts[i]]
        }
    }
    for (part in names)
        if (names[part] == "jzx__switch" || calls_user(names[part]))
            waits[part] = 1
    do {
        changed = 0
        for (part in names)
            if (!(part in waits) && !is_of_thread(names[part]) && leads_to_wait(jumps[part])) {
                waits[part] = 1
                changed = 1
            }
    } while (changed)
    for (part in waits) {
        waiting++
        if (looks[part] && (leads_to_wait(calls[part]) || calls_user(names[part])))
            print names[part]
    }
    for (part in looks)
        looking += looks[part]
    printf "waiting: %d\nlooking: %d\n", waiting, looking
}
