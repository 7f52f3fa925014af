# Everything that is installed, in one place, in four components: the shared libraries alone, that of the C API alone,
# what is built against them, and the tool. Nothing below holds an absolute path: the tree can be moved.
include(CMakePackageConfigHelpers)

# A static kiln leaves its dependencies to whoever links it, who could not find those.
if(kiln_vendored AND NOT BUILD_SHARED_LIBS)
  message(FATAL_ERROR "A static kiln cannot be installed with what KILN_VENDORED has fetched (${kiln_vendored}): "
    "install these libraries on the system, or set BUILD_SHARED_LIBS=ON, or KILN_INSTALL=OFF.")
endif()
set(kiln_cmake_dir "${CMAKE_INSTALL_LIBDIR}/cmake/kiln")

# Stripped, as by `cmake --install --strip`, but for the build type Debug. The build folder keeps what a debugger reads.
# Whatever else the same install has, of a project that takes kiln in, is left as it is asked for.
install(CODE [[
set(kiln_strip_asked_for "${CMAKE_INSTALL_DO_STRIP}")
if(NOT CMAKE_INSTALL_CONFIG_NAME STREQUAL "Debug")
  set(CMAKE_INSTALL_DO_STRIP ON)
endif()
]] ALL_COMPONENTS)

# The licence, and the notices of what is compiled in, go with each component.
foreach(component IN ITEMS library c_library development tool)
  install(FILES LICENSE tools/NOTICES DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/kiln" COMPONENT ${component})
endforeach()

install(TARGETS kiln_c EXPORT kiln-targets
  LIBRARY COMPONENT c_library NAMELINK_COMPONENT development
  INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(TARGETS kiln_cache kiln_runtime EXPORT kiln-targets
  LIBRARY COMPONENT library NAMELINK_COMPONENT development
  ARCHIVE COMPONENT development
  INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(TARGETS kiln_embed EXPORT kiln-targets
  RUNTIME COMPONENT development)
install(FILES device/kiln-embed.1 DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT development)
install(TARGETS kiln_worker EXPORT kiln-targets
  RUNTIME DESTINATION "${CMAKE_INSTALL_LIBEXECDIR}/kiln" COMPONENT tool)
install(TARGETS kiln_remote RUNTIME DESTINATION "${CMAKE_INSTALL_LIBEXECDIR}/kiln" COMPONENT tool)
install(EXPORT kiln-targets NAMESPACE kiln:: DESTINATION "${kiln_cmake_dir}" COMPONENT development)
install(DIRECTORY cache/include/ runtime/include/
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT development)

# The one library that shows in the public headers comes along, for whoever has none. It is the copy that kiln was built
# with; of a project that brings tl::expected as a target, whose headers have no place yet, there is none to be had.
get_target_property(kiln_expected_dirs tl::expected INTERFACE_INCLUDE_DIRECTORIES)
find_file(KILN_EXPECTED_HEADER tl/expected.hpp HINTS ${kiln_expected_dirs} DOC "tl::expected, which is installed along")
mark_as_advanced(KILN_EXPECTED_HEADER)
set(kiln_third_party_dir "${CMAKE_INSTALL_INCLUDEDIR}/kiln/third_party")
if(KILN_EXPECTED_HEADER)
  install(FILES "${KILN_EXPECTED_HEADER}" DESTINATION "${kiln_third_party_dir}/tl" COMPONENT development)
endif()

# Where no find_package() looks: one whose bin/ is in PATH would be found before what is installed, and lacks the targets.
set(kiln_package_dir "${PROJECT_BINARY_DIR}/tools/cmake")
configure_package_config_file(tools/cmake/kiln-config.cmake.in
  "${kiln_package_dir}/kiln-config.cmake" INSTALL_DESTINATION "${kiln_cmake_dir}" PATH_VARS kiln_third_party_dir)
write_basic_package_version_file("${kiln_package_dir}/kiln-config-version.cmake"
  COMPATIBILITY ${kiln_cxx_compatibility})
install(FILES
  "${kiln_package_dir}/kiln-config.cmake"
  "${kiln_package_dir}/kiln-config-version.cmake"
  device/embed.cmake
  DESTINATION "${kiln_cmake_dir}" COMPONENT development)

# A shared kiln brings its dependencies along; a static one leaves them to whoever links it, who for C is no C++ compiler.
set(kiln_pc_libs "-lkiln -lkiln_cache")
set(kiln_c_pc_libs "-lkiln_c")
set(kiln_pc_requires "")
if(NOT BUILD_SHARED_LIBS)
  set(kiln_pc_requires "\nRequires: sqlite3, libzstd, libxxhash, fmt")
  string(APPEND kiln_pc_libs " -pthread")
  set(kiln_c_pc_libs "${kiln_pc_libs} -lstdc++ -lm")
endif()
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX
  BASE_DIRECTORY "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" OUTPUT_VARIABLE kiln_pc_to_prefix)
get_property(kiln_pc_cflags GLOBAL PROPERTY kiln_pc_cflags)
foreach(file IN ITEMS kiln kiln-c)
  configure_file(tools/cmake/${file}.pc.in "${PROJECT_BINARY_DIR}/${file}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${file}.pc"
    DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT development)
endforeach()

if(KILN_BUILD_TOOLS)
  install(TARGETS kiln_tool RUNTIME COMPONENT tool)
  install(FILES tools/cli/kiln.schema.json DESTINATION "${CMAKE_INSTALL_DATADIR}/kiln" COMPONENT tool)

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

install(CODE [[set(CMAKE_INSTALL_DO_STRIP "${kiln_strip_asked_for}")]] ALL_COMPONENTS)

if(PROJECT_IS_TOP_LEVEL)
  add_custom_target(uninstall
    COMMAND "${CMAKE_COMMAND}" "-DMANIFEST=${PROJECT_BINARY_DIR}/install_manifest.txt"
      -P "${CMAKE_CURRENT_LIST_DIR}/KilnUninstall.cmake"
    VERBATIM)
endif()
