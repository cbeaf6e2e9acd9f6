# SPDX-License-Identifier: MIT
#
# How the targets of this project are compiled: the library itself, and the programs around it.

# Warnings are for those who work on this project, not for those who only build it in theirs.
set(jzx_warnings
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wdouble-promotion
    $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes> $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes>
    $<$<COMPILE_LANGUAGE:C>:-Wold-style-definition> $<$<COMPILE_LANGUAGE:C>:-Wnested-externs>
    -Wredundant-decls -Wpointer-arith -Wcast-qual -Wcast-align -Wwrite-strings -Wundef -Wvla
    -Wformat=2 -Wimplicit-fallthrough)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    list(APPEND jzx_warnings -Wlogical-op -Wduplicated-cond)
endif()
if(NOT PROJECT_IS_TOP_LEVEL)
    set(jzx_warnings "")
endif()

set(jzx_sanitize_options "")
if(JZX_SANITIZE)
    set(jzx_sanitize_options
        -fsanitize=${JZX_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
endif()

# What they cost: docs/hardening.md. FORTIFY_SOURCE needs an optimised build, and the sanitizers
# know better; a compiler that brings another value of its own is told to forget it.
set(jzx_harden_options "")
set(jzx_harden_link_options "")
if(JZX_HARDEN)
    set(jzx_harden_options -fstack-protector-strong)
    if(NOT JZX_SANITIZE)
        list(APPEND jzx_harden_options
            $<$<COMPILE_LANGUAGE:C>:-U_FORTIFY_SOURCE> $<$<COMPILE_LANGUAGE:C>:-D_FORTIFY_SOURCE=2>)
    endif()
    set(jzx_harden_link_options LINKER:-z,relro LINKER:-z,now)
endif()

# What every target here has in common: C11 without extensions, where the system's own interfaces
# (futex, eventfd) come by _GNU_SOURCE.
function(jzx_compile_settings target)
    set_target_properties(${target} PROPERTIES
        C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF C_VISIBILITY_PRESET hidden)
    target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
    target_compile_options(${target} PRIVATE
        ${jzx_warnings} $<$<BOOL:${JZX_WERROR}>:-Werror> ${jzx_sanitize_options}
        ${jzx_harden_options})
    target_link_options(${target} PRIVATE ${jzx_sanitize_options} ${jzx_harden_link_options})
endfunction()

# jzx_add_library(target [STATIC] source...): the library, of the kind that BUILD_SHARED_LIBS asks
# for if none is named.
function(jzx_add_library target)
    add_library(${target} ${ARGN})
    jzx_compile_settings(${target})
    target_compile_definitions(${target} PRIVATE
        JZX_BUILDING $<$<OR:$<CONFIG:Debug>,$<BOOL:${JZX_TESTS}>>:JZX__LEAK_CHECK>
        $<$<STREQUAL:${JZX_SWITCH},ucontext>:JZX__SWITCH_UCONTEXT>)
    target_include_directories(${target}
        PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
               $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
        PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(${target} PUBLIC Threads::Threads PRIVATE ${CMAKE_DL_LIBS})
    # Initial-exec thread-locals cost one load, and being few and small they fit the room that the
    # dynamic linker keeps for dlopen()ed libraries. Our own calls need no detour by the PLT.
    target_compile_options(${target} PRIVATE -ftls-model=initial-exec -fno-semantic-interposition)
    # Two pointers stored side by side are not worth a trip through a vector register: on the paths
    # that link list nodes it costs more than it saves.
    target_compile_options(${target} PRIVATE -fno-tree-slp-vectorize)
    # Every function that is not cold begins with a cache line: else a change anywhere moves the
    # paths of a message by half a line, which has cost 5 to 10 % with not one instruction changed
    # (decision 9).
    target_compile_options(${target} PRIVATE -falign-functions=64)

    get_target_property(kind ${target} TYPE)
    if(kind STREQUAL "SHARED_LIBRARY")
        set(map ${PROJECT_SOURCE_DIR}/cmake/jzx.map)
        target_link_options(${target} PRIVATE LINKER:--version-script=${map})
        set_target_properties(${target} PROPERTIES
            VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} LINK_DEPENDS ${map})
    endif()
endfunction()

# jzx_add_example(path/to/<name>[.c] [source...]): the program example_<name> of that file, or of
# the sources if some are given, run as the test examples.<name>. If the head comment of that file
# says what it prints, the test compares.
function(jzx_add_example path)
    get_filename_component(name ${path} NAME_WE)
    if(ARGN)
        add_executable(example_${name} ${ARGN})
    else()
        add_executable(example_${name} ${path})
    endif()
    jzx_compile_settings(example_${name})
    target_link_libraries(example_${name} PRIVATE jzx::jzx)
    set(says)
    if(NOT ARGN)
        file(STRINGS ${path} says REGEX "^ \\* It prints:$")
    endif()
    if(says)
        add_test(NAME examples.${name} COMMAND sh ${PROJECT_SOURCE_DIR}/tests/harness/prints.sh
            ${path} ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:example_${name}>)
    else()
        add_test(NAME examples.${name} COMMAND example_${name})
    endif()
    set_tests_properties(examples.${name} PROPERTIES LABELS examples)
endfunction()
