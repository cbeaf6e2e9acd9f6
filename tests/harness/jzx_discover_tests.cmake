# SPDX-License-Identifier: MIT
#
# From test files to ctest tests. The names come from the program itself (--list) after each build,
# so that whatever the compiler saw is registered, and only that. The second half of this file is
# the script that the build then runs.

if(NOT CMAKE_SCRIPT_MODE_FILE)
    set(jzx_test_environment "")
    if(JZX_SANITIZE)
        # The sanitizers' own fault handlers stay in place of CMocka's: they print a stack.
        set(faults handle_segv=2:handle_sigbus=2:handle_sigfpe=2:handle_sigill=2)
        set(jzx_test_environment
            ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:${faults}
            UBSAN_OPTIONS=print_stacktrace=1
            TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1)
    endif()

    set(jzx_discover_script ${CMAKE_CURRENT_LIST_FILE})

    # jzx_add_test_program(target suite source...): a program whose tests are
    # <suite>.<file>.<name>.
    function(jzx_add_test_program target suite)
        set(tests_file ${CMAKE_CURRENT_BINARY_DIR}/${target}.cmake)

        add_executable(${target} ${ARGN})
        set_property(GLOBAL APPEND PROPERTY jzx_test_programs $<TARGET_FILE:${target}>)
        jzx_compile_settings(${target})
        target_compile_definitions(${target} PRIVATE JZX_TEST_SUITE="${suite}")
        target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/${suite})
        target_link_libraries(${target} PRIVATE jzx_test_harness)
        if(suite STREQUAL "unit" OR suite STREQUAL "stress")
            target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
            target_link_libraries(${target} PRIVATE jzx_nomad jzx_internal)
        else()
            target_link_libraries(${target} PRIVATE jzx::jzx)
        endif()
        # Optimising a test file takes longer than all of its tests. Files that have the library's
        # inline functions inside are built as the library is: stress always, unit in plain builds;
        # and all where the linker optimises across files.
        if(NOT CMAKE_INTERPROCEDURAL_OPTIMIZATION AND
                (suite STREQUAL "api" OR (suite STREQUAL "unit" AND JZX_SANITIZE)))
            target_compile_options(${target} PRIVATE -O0)
        endif()
        if(suite STREQUAL "unit") # it has functions in assembler, which that does not know
            set_target_properties(${target} PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF)
        endif()

        add_custom_command(TARGET ${target} POST_BUILD VERBATIM
            COMMENT "Listing the tests of ${target}"
            BYPRODUCTS ${tests_file}
            COMMAND ${CMAKE_COMMAND}
                -D program=$<TARGET_FILE:${target}> -D suite=${suite}
                -D nm=${CMAKE_NM} -D "objects=$<TARGET_OBJECTS:${target}>"
                -D "environment=${jzx_test_environment}"
                -D output=${tests_file}
                -P ${jzx_discover_script})

        # Until the program is built its place is held by a test that fails: nothing is passed over
        # in silence.
        set(include_file ${CMAKE_CURRENT_BINARY_DIR}/${target}_include.cmake)
        file(WRITE ${include_file}
            "if(EXISTS \"${tests_file}\")\n  include(\"${tests_file}\")\nelse()\n"
            "  add_test(${suite}.${target}.NOT_BUILT ${target}_NOT_BUILT)\nendif()\n")
        set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${include_file})
    endfunction()

    # jzx_add_test_suite(suite): the program test_<suite> of all files of the folder, and a program
    # test_<suite>_<file> for each file of its folder alone/.
    function(jzx_add_test_suite suite)
        file(GLOB together CONFIGURE_DEPENDS ${suite}/*.c)
        file(GLOB alone CONFIGURE_DEPENDS ${suite}/alone/*.c)
        if(together)
            jzx_add_test_program(test_${suite} ${suite} ${together})
        endif()
        foreach(path IN LISTS alone)
            get_filename_component(file ${path} NAME_WE)
            jzx_add_test_program(test_${suite}_${file} ${suite} ${path})
        endforeach()
    endfunction()
    return()
endif()

# Whatever a file defines for the whole program changes what the other files of it test.
list(LENGTH objects count)
if(count GREATER 1)
    execute_process(COMMAND ${nm} -A -g --defined-only ${objects}
        OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
    string(REGEX MATCH "([^/\n]+)\\.o:[0-9a-f]* [TDBRC] ([^\n]+)" symbol "${symbols}")
    if(symbol)
        message(FATAL_ERROR "${suite}/${CMAKE_MATCH_1} defines ${CMAKE_MATCH_2} for all files of "
            "test_${suite}: make it static, or move the file to ${suite}/alone")
    endif()
endif()

execute_process(COMMAND ${program} --list OUTPUT_VARIABLE names RESULT_VARIABLE result)
if(NOT result EQUAL 0 OR names STREQUAL "")
    message(FATAL_ERROR "${program} --list failed, or it has no JZX_TEST: ${result}")
endif()
string(STRIP "${names}" names)
string(REPLACE "\n" ";" names "${names}")

# In these files the handlers of the library come before those of the sanitizers.
string(REGEX REPLACE "(handle_[a-z]+)=2" "\\1=1" contain_environment "${environment}")

# ctest reads this each time it starts; with JZX_ONLY_FILE it takes the tests that are named there.
set(script [==[
set(only "")
if(DEFINED ENV{JZX_ONLY_FILE})
  file(STRINGS "$ENV{JZX_ONLY_FILE}" only)
endif()
macro(jzx_test name)
  list(FIND only "${name}" found)
  if(NOT DEFINED ENV{JZX_ONLY_FILE} OR found GREATER -1)
    add_test("${name}" ${ARGN})
    set_tests_properties("${name}" PROPERTIES ${properties})
  endif()
endmacro()
]==])
foreach(name IN LISTS names)
    set(test_environment "${environment}")
    if(name MATCHES "^contain")
        set(test_environment "${contain_environment}")
    endif()
    string(APPEND script
        "set(properties LABELS ${suite} SKIP_RETURN_CODE 77 ENVIRONMENT "
        "[==[${test_environment}]==])\n"
        "jzx_test([==[${suite}.${name}]==] [==[${program}]==] ${name})\n")
endforeach()
file(WRITE ${output} "${script}")
