# SPDX-License-Identifier: MIT
#
# How fibers switch stacks: JZX_SWITCH=asm where there is assembly for the processor, and ucontext
# everywhere else. Both are useless where the processor checks returns against a shadow stack, so
# such a build is refused here: at run time it would end with a signal in the first switch.

include(CheckCSourceCompiles)

check_c_source_compiles("
    #if (!defined(__x86_64__) && !defined(__aarch64__)) || defined(__ILP32__)
    #error
    #endif
    int main(void) { return 0; }" JZX_HAS_SWITCH_ASM)
if(JZX_HAS_SWITCH_ASM)
    set(default_switch asm)
else()
    set(default_switch ucontext)
endif()
set(JZX_SWITCH ${default_switch} CACHE STRING "How fibers switch stacks: asm or ucontext")
set_property(CACHE JZX_SWITCH PROPERTY STRINGS asm ucontext)

if(JZX_SWITCH STREQUAL "asm")
    if(NOT JZX_HAS_SWITCH_ASM)
        message(FATAL_ERROR "jzx: there is no switch in assembly for this processor: "
            "configure with -DJZX_SWITCH=ucontext")
    endif()
elseif(JZX_SWITCH STREQUAL "ucontext")
    # musl declares the functions but has none of them, so this is linked, too.
    check_c_source_compiles("
        #include <ucontext.h>
        static void f(void) {}
        int main(void) {
            ucontext_t a, b;
            getcontext(&b);
            makecontext(&b, f, 0);
            return swapcontext(&a, &b);
        }" JZX_HAS_UCONTEXT)
    if(NOT JZX_HAS_UCONTEXT)
        message(FATAL_ERROR "jzx: JZX_SWITCH=ucontext needs makecontext and swapcontext, which "
            "this C library does not have")
    endif()
else()
    message(FATAL_ERROR "jzx: JZX_SWITCH is '${JZX_SWITCH}', but only asm and ucontext exist")
endif()

# That the compiler was asked for shadow stacks is no reason to refuse: some do it always, and the
# linker leaves them off, because switch_x86_64.S does not declare that it supports them. They are
# on if the linker is told to pretend, or if programs of this compiler have one as it is.
set(jzx_shadow_stack_text "jzx: fibers switch stacks, which a shadow stack does not allow")
foreach(kind EXE SHARED)
    if("${CMAKE_${kind}_LINKER_FLAGS} ${CMAKE_C_FLAGS}" MATCHES "-z[, ]*shstk")
        message(FATAL_ERROR "${jzx_shadow_stack_text}: remove '-z shstk' from the linker's flags "
            "and use -fcf-protection=branch or none")
    endif()
endforeach()
if(NOT CMAKE_CROSSCOMPILING AND NOT DEFINED JZX_SHADOW_STACK)
    set(probe ${PROJECT_BINARY_DIR}/jzx_shadow_stack.c)
    file(WRITE ${probe} "
        #define _GNU_SOURCE
        #include <sys/syscall.h>
        #include <unistd.h>
        int main(void) {
            unsigned long features = 0;
        #if defined(__x86_64__)
            /* ARCH_SHSTK_STATUS; bit 0: this process has one */
            if (syscall(SYS_arch_prctl, 0x5005, &features) != 0)
                features = 0;
        #endif
            return (int)(features & 1);
        }\n")
    try_run(ran compiled ${PROJECT_BINARY_DIR}/jzx_shadow_stack ${probe})
    set(found 0)
    if(compiled AND ran EQUAL 1)
        set(found 1)
    endif()
    set(JZX_SHADOW_STACK ${found} CACHE INTERNAL "programs run with a shadow stack")
endif()
if(JZX_SHADOW_STACK)
    message(FATAL_ERROR "${jzx_shadow_stack_text}, and programs of this compiler have one here: "
        "configure with -DCMAKE_C_FLAGS=-fcf-protection=branch (or none), or turn shadow stacks "
        "off with GLIBC_TUNABLES=glibc.cpu.x86_shstk=off")
endif()
