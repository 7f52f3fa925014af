# Everything that is installed, in one place, in three components: the shared libraries alone, what is built
# against them, and the tool. Nothing below holds an absolute path: the tree can be moved.
include(CMakePackageConfigHelpers)
set(kiln_cmake_dir "${CMAKE_INSTALL_LIBDIR}/cmake/kiln")

install(TARGETS kiln_cache kiln_runtime EXPORT kiln-targets
  LIBRARY COMPONENT library NAMELINK_COMPONENT development
  ARCHIVE COMPONENT development
  INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(TARGETS kiln_embed EXPORT kiln-targets
  RUNTIME COMPONENT development)
install(TARGETS kiln_worker EXPORT kiln-targets
  RUNTIME DESTINATION "${CMAKE_INSTALL_LIBEXECDIR}/kiln" COMPONENT tool)
install(EXPORT kiln-targets NAMESPACE kiln:: DESTINATION "${kiln_cmake_dir}" COMPONENT development)
install(DIRECTORY cache/include/ runtime/include/
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT development)

configure_package_config_file(tools/cmake/kiln-config.cmake.in
  "${PROJECT_BINARY_DIR}/kiln-config.cmake" INSTALL_DESTINATION "${kiln_cmake_dir}")
# Below 1.0 a minor version may change the API; SameMinorVersion says so.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/kiln-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/kiln-config.cmake"
  "${PROJECT_BINARY_DIR}/kiln-config-version.cmake"
  device/embed.cmake
  DESTINATION "${kiln_cmake_dir}" COMPONENT development)

# A shared kiln brings its dependencies along; a static one leaves them to whoever links it.
set(kiln_pc_libs "-L\${libdir} -lkiln -lkiln_cache")
set(kiln_pc_requires "")
if(NOT BUILD_SHARED_LIBS)
  set(kiln_pc_requires "\nRequires: sqlite3, libzstd, libxxhash, fmt")
  string(APPEND kiln_pc_libs " -pthread")
endif()
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX
  BASE_DIRECTORY "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" OUTPUT_VARIABLE kiln_pc_to_prefix)
get_property(kiln_pc_cflags GLOBAL PROPERTY kiln_pc_cflags)
configure_file(tools/cmake/kiln.pc.in "${PROJECT_BINARY_DIR}/kiln.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/kiln.pc"
  DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT development)

if(KILN_BUILD_TOOLS)
  install(TARGETS kiln_tool RUNTIME COMPONENT tool)

  # Distributions put zsh's elsewhere.
  set(KILN_ZSH_COMPLETIONS_DIR "${CMAKE_INSTALL_DATADIR}/zsh/site-functions" CACHE STRING
    "Where zsh's completion is installed")
  get_target_property(kiln_manual_dir kiln_manual_pages BINARY_DIR)
  string(APPEND kiln_manual_dir "/manual")
  install(FILES "${kiln_manual_dir}/kiln.1"
    DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT tool)
  install(FILES "${kiln_manual_dir}/bash/kiln"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" COMPONENT tool)
  install(FILES "${kiln_manual_dir}/zsh/_kiln"
    DESTINATION "${KILN_ZSH_COMPLETIONS_DIR}" COMPONENT tool)
  install(FILES "${kiln_manual_dir}/fish/kiln.fish"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d" COMPONENT tool)
endif()
