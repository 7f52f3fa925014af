# Whoever tries the tool has the build folder's bin/ in PATH, and find_package() looks in the folder above it before it does in
# /usr/local: what lies there for the installation must not be taken for a package.
find_package(kiln QUIET CONFIG PATHS "${BUILD_DIR}" NO_DEFAULT_PATH)
if(kiln_CONSIDERED_CONFIGS)
  message(FATAL_ERROR "find_package(kiln) takes ${kiln_CONSIDERED_CONFIGS}")
endif()
