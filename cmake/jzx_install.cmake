# SPDX-License-Identifier: MIT
#
# What `cmake --install` puts where: headers, the library, the CMake package, jzx.pc and the jzx
# command. Nothing installed names the prefix, so that a tree may be moved or made with --prefix.

include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/jzx)
install(DIRECTORY include/jzx DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(TARGETS jzx EXPORT jzxTargets)
install(EXPORT jzxTargets NAMESPACE jzx:: DESTINATION ${package_dir})
install(PROGRAMS jzx DESTINATION ${CMAKE_INSTALL_BINDIR})

configure_package_config_file(cmake/jzxConfig.cmake.in jzxConfig.cmake
    INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may break what an earlier one promised.
write_basic_package_version_file(jzxConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(
    FILES ${PROJECT_BINARY_DIR}/jzxConfig.cmake ${PROJECT_BINARY_DIR}/jzxConfigVersion.cmake
    DESTINATION ${package_dir})

set(pc_dir ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH prefix_from_pc ${pc_dir} ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" prefix_from_pc "${prefix_from_pc}")
configure_file(cmake/jzx.pc.in jzx.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/jzx.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
