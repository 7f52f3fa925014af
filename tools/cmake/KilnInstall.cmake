# Everything that is installed, in one place. Nothing below holds an absolute path: the tree can be moved.
include(CMakePackageConfigHelpers)
set(kiln_cmake_dir "${CMAKE_INSTALL_LIBDIR}/cmake/kiln")

install(TARGETS kiln_cache kiln_runtime kiln_embed EXPORT kiln-targets
  INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(TARGETS kiln_worker EXPORT kiln-targets
  RUNTIME DESTINATION "${CMAKE_INSTALL_LIBEXECDIR}/kiln")
install(EXPORT kiln-targets NAMESPACE kiln:: DESTINATION "${kiln_cmake_dir}")
if(KILN_BUILD_TOOLS)
  install(TARGETS kiln_tool)
endif()
install(DIRECTORY cache/include/ runtime/include/ DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")

configure_package_config_file(tools/cmake/kiln-config.cmake.in
  "${PROJECT_BINARY_DIR}/kiln-config.cmake" INSTALL_DESTINATION "${kiln_cmake_dir}")
# Below 1.0 a minor version may change the API; SameMinorVersion says so.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/kiln-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/kiln-config.cmake"
  "${PROJECT_BINARY_DIR}/kiln-config-version.cmake"
  device/embed.cmake
  DESTINATION "${kiln_cmake_dir}")

# A shared kiln brings its dependencies along; a static one leaves them to whoever links it.
set(kiln_pc_libs "-L\${libdir} -lkiln -lkiln_cache")
set(kiln_pc_requires "sqlite3, libzstd, libxxhash, fmt")
if(BUILD_SHARED_LIBS)
  set(kiln_pc_requires_field "Requires.private")
else()
  set(kiln_pc_requires_field "Requires")
  string(APPEND kiln_pc_libs " -pthread")
endif()
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX
  BASE_DIRECTORY "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" OUTPUT_VARIABLE kiln_pc_to_prefix)
get_property(kiln_pc_cflags GLOBAL PROPERTY kiln_pc_cflags)
configure_file(tools/cmake/kiln.pc.in "${PROJECT_BINARY_DIR}/kiln.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/kiln.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
