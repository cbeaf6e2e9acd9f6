# SPDX-License-Identifier: MIT
#
# From a test file to ctest tests. The names come from the program itself (--list) after each build,
# so that whatever the compiler saw is registered, and only that. The second half of this file is
# the script that the build then runs.

if(NOT CMAKE_SCRIPT_MODE_FILE)
    set(jzx_test_timeout_s 120)
    set(jzx_test_environment "")
    if(JZX_SANITIZE)
        set(jzx_test_timeout_s 300)
        # The sanitizers' own fault handlers stay in place of CMocka's: they print a stack.
        set(faults handle_segv=2:handle_sigbus=2:handle_sigfpe=2:handle_sigill=2)
        set(jzx_test_environment
            ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:${faults}
            UBSAN_OPTIONS=print_stacktrace=1
            TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1)
    endif()

    set(jzx_discover_script ${CMAKE_CURRENT_LIST_FILE})

    # jzx_add_test_file(path/to/<suite>/<file>.c): the program test_<suite>_<file> and its tests,
    # <suite>.<file>.<name>.
    function(jzx_add_test_file path)
        get_filename_component(file ${path} NAME_WE)
        get_filename_component(folder ${path} DIRECTORY)
        get_filename_component(suite ${folder} NAME)
        set(target test_${suite}_${file})
        set(tests_file ${CMAKE_CURRENT_BINARY_DIR}/${target}.cmake)
        set(environment "${jzx_test_environment}")
        if(file MATCHES "^contain") # about handlers of our own, before the sanitizers'
            string(REGEX REPLACE "(handle_[a-z]+)=2" "\\1=1" environment "${environment}")
        endif()

        add_executable(${target} ${path})
        jzx_compile_settings(${target})
        target_link_libraries(${target} PRIVATE jzx_test_harness)
        if(suite STREQUAL "unit" OR suite STREQUAL "stress")
            target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
            target_link_libraries(${target} PRIVATE jzx_internal)
        else()
            target_link_libraries(${target} PRIVATE jzx::jzx)
        endif()

        add_custom_command(TARGET ${target} POST_BUILD VERBATIM
            COMMENT "Listing the tests of ${suite}/${file}"
            BYPRODUCTS ${tests_file}
            COMMAND ${CMAKE_COMMAND}
                -D program=$<TARGET_FILE:${target}> -D prefix=${suite}.${file} -D label=${suite}
                -D timeout=${jzx_test_timeout_s} -D "environment=${environment}"
                -D output=${tests_file}
                -P ${jzx_discover_script})

        # Until the program is built its place is held by a test that fails: nothing is passed over
        # in silence.
        set(include_file ${CMAKE_CURRENT_BINARY_DIR}/${target}_include.cmake)
        file(WRITE ${include_file}
            "if(EXISTS \"${tests_file}\")\n  include(\"${tests_file}\")\nelse()\n"
            "  add_test(${suite}.${file}.NOT_BUILT ${target}_NOT_BUILT)\nendif()\n")
        set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${include_file})
    endfunction()
    return()
endif()

execute_process(COMMAND ${program} --list OUTPUT_VARIABLE names RESULT_VARIABLE result)
if(NOT result EQUAL 0 OR names STREQUAL "")
    message(FATAL_ERROR "${program} --list failed, or it has no JZX_TEST: ${result}")
endif()
string(STRIP "${names}" names)
string(REPLACE "\n" ";" names "${names}")

set(script "")
foreach(name IN LISTS names)
    string(APPEND script
        "add_test([==[${prefix}.${name}]==] [==[${program}]==] ${name})\n"
        "set_tests_properties([==[${prefix}.${name}]==] PROPERTIES\n"
        "  LABELS ${label} TIMEOUT ${timeout} ENVIRONMENT [==[${environment}]==])\n")
endforeach()
file(WRITE ${output} "${script}")
