# Debian packages of what is installed, one for each component:
#
#   cmake --preset package && cmake --build --preset package && cpack --config build/package/CPackConfig.cmake
set(CPACK_GENERATOR DEB)
# Whoever publishes packages answers for them: -DCPACK_PACKAGE_CONTACT="Name <address>".
set(CPACK_PACKAGE_CONTACT "kiln maintainers <kiln@example.org>" CACHE STRING "Maintainer of the Debian packages")
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_ALL library c_library development tool)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
# Each package has a summary of its own, the first line of its description.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
# What Debian wants beside it: compressed manual pages, the licence, a changelog.
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/tools/cmake/KilnDebianFiles.cmake")
set(CPACK_POST_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/tools/cmake/KilnDebianScripts.cmake")

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${PROJECT_BINARY_DIR}/lib")
# What is built with these packages finds out by itself which library it depends on.
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
# Components depend on others of just their own version.
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
if(CMAKE_CROSSCOMPILING AND CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
endif()

# The loader's cache is made anew by a trigger, once for all packages that are installed together.
set(kiln_ldconfig_trigger "${PROJECT_BINARY_DIR}/debian/triggers")
file(WRITE "${kiln_ldconfig_trigger}" "activate-noawait ldconfig\n")

# A library's package is named after its soname, so that two of them can be installed side by side.
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME "libkiln${kiln_cxx_soversion}")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA "${kiln_ldconfig_trigger}")
# Compiles go to kiln-worker where it is found.
set(CPACK_DEBIAN_LIBRARY_PACKAGE_RECOMMENDS "kiln (= ${PROJECT_VERSION})")
# Opened where a key is set.
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SUGGESTS "libsodium23")
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION "CUDA kernels compiled at run time and kept: library
NVRTC behind a persistent, checksummed cache that all processes of a machine
share. A hit needs no compiler, no driver and microseconds.

This package holds the shared libraries for C++.")

# By itself, since its soname stays where the other changes: two of those then use the one file.
set(CPACK_DEBIAN_C_LIBRARY_PACKAGE_NAME "libkiln-c${kiln_c_soversion}")
set(CPACK_DEBIAN_C_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_COMPONENT_C_LIBRARY_DEPENDS library)
set(CPACK_DEBIAN_C_LIBRARY_PACKAGE_CONTROL_EXTRA "${kiln_ldconfig_trigger}")
set(CPACK_DEBIAN_C_LIBRARY_DESCRIPTION "CUDA kernels compiled at run time and kept: library for C
NVRTC behind a persistent, checksummed cache that all processes of a machine
share. A hit needs no compiler, no driver and microseconds.

This package holds the shared library for C, and for other languages that can
call C.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libkiln-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
# The targets of the CMake package are the worker, too.
set(CPACK_COMPONENT_DEVELOPMENT_DEPENDS library c_library tool)
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "CUDA kernels compiled at run time and kept: development files
NVRTC behind a persistent, checksummed cache that all processes of a machine
share. A hit needs no compiler, no driver and microseconds.

This package holds the headers for C++ and C, what CMake and pkg-config read,
and kiln-embed, which makes headers and bundles part of a program.")

set(CPACK_DEBIAN_TOOL_PACKAGE_NAME kiln)
set(CPACK_DEBIAN_TOOL_PACKAGE_SECTION devel)
set(CPACK_COMPONENT_TOOL_DEPENDS library)
set(CPACK_DEBIAN_TOOL_DESCRIPTION "CUDA kernels compiled at run time and kept: tool
NVRTC behind a persistent, checksummed cache that all processes of a machine
share. A hit needs no compiler, no driver and microseconds.

This package holds the tool that fills, inspects, checks and ships caches, and
the helper that the library compiles in.")

include(CPack)
