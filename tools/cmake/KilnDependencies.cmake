if(KILN_SELF_CONTAINED)
  if(BUILD_SHARED_LIBS)
    message(FATAL_ERROR "KILN_SELF_CONTAINED is for static libraries: set BUILD_SHARED_LIBS to OFF.")
  endif()
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
  # Debian has no static fmt; its headers are enough.
  add_compile_definitions(FMT_HEADER_ONLY)
  add_link_options(-static-libstdc++ -static-libgcc LINKER:--as-needed,--strip-all)
endif()

# What kiln is built from. Only tl::expected shows in the public headers: KilnInstall.cmake. With KILN_VENDORED none has to
# be here: KilnVendored fetches what is not.
set(kiln_needed REQUIRED)
if(KILN_VENDORED)
  set(kiln_needed QUIET)
endif()
find_package(Threads REQUIRED)
find_package(tl-expected ${kiln_needed})
find_package(SQLite3 ${kiln_needed})
find_package(fmt ${kiln_needed})
find_package(nlohmann_json ${kiln_needed})
find_package(PkgConfig ${kiln_needed})
if(KILN_BUILD_TOOLS)
  find_package(CLI11 ${kiln_needed})
endif()
if(PKG_CONFIG_FOUND)
  pkg_check_modules(ZSTD ${kiln_needed} IMPORTED_TARGET libzstd)
  pkg_check_modules(XXHASH ${kiln_needed} IMPORTED_TARGET libxxhash)
endif()

# Signatures: headers alone, at build time alone. libsodium is opened where a key is set.
find_path(KILN_SODIUM_INCLUDE_DIR sodium.h DOC "Folder with sodium.h")

if(KILN_VENDORED)
  include(KilnVendored)
endif()
if(NOT KILN_SODIUM_INCLUDE_DIR)
  message(FATAL_ERROR "libsodium's header sodium.h was not found. Install it (Debian: libsodium-dev), or set KILN_SODIUM_INCLUDE_DIR.")
endif()

if(KILN_BUILD_TESTS)
  kiln_missing_packages(kiln_missing ${kiln_packages_of_tests})
  if(kiln_missing)
    message(FATAL_ERROR
      "The tests take what was not found: ${kiln_missing}. Install it (Debian: libgtest-dev, libgmock-dev, python3), or set "
      "KILN_BUILD_TESTS=OFF.")
  endif()
  find_package(GTest REQUIRED)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  if(KILN_BUILD_BENCHMARKS)
    find_package(benchmark REQUIRED)
  endif()
endif()

# What kiln-remote talks to servers with. Without it that serves folders alone.
if(PKG_CONFIG_FOUND)
  pkg_check_modules(HIREDIS QUIET IMPORTED_TARGET hiredis)
endif()
if(NOT KILN_SELF_CONTAINED)
  find_package(CURL QUIET)
endif()
if(NOT HIREDIS_FOUND OR NOT CURL_FOUND)
  message(STATUS "kiln-remote is built without what has no version here: hiredis for Redis '${HIREDIS_VERSION}', "
    "libcurl for HTTP and S3 '${CURL_VERSION_STRING}' (Debian: libhiredis-dev, libcurl4-openssl-dev)")
endif()

# CUDA: headers alone, at build time alone. The second hint is where tools/setup.sh puts the wheels.
find_path(KILN_CUDA_INCLUDE_DIR cudaTypedefs.h
  DOC "Folder with cuda.h, cudaTypedefs.h and nvrtc.h"
  HINTS ENV CUDA_HOME ENV CUDA_PATH "${PROJECT_SOURCE_DIR}/build/cuda/nvidia/cu13"
  PATHS /usr/local/cuda
  PATH_SUFFIXES include)
foreach(header cuda.h cudaTypedefs.h nvrtc.h)
  if(NOT EXISTS "${KILN_CUDA_INCLUDE_DIR}/${header}")
    message(FATAL_ERROR
      "The CUDA header ${header} was not found (KILN_CUDA_INCLUDE_DIR: '${KILN_CUDA_INCLUDE_DIR}'). "
      "Install a CUDA toolkit, or run tools/demo/run, which fetches them, or set KILN_CUDA_INCLUDE_DIR to a folder with "
      "cuda.h, cudaTypedefs.h and nvrtc.h.")
  endif()
endforeach()

# What links and packs images. Toolkits may lack them: kiln is then built without, and says so when asked.
find_path(KILN_NVJITLINK_INCLUDE_DIR nvJitLink.h
  DOC "Folder with nvJitLink.h (package nvidia-nvjitlink); links need it"
  HINTS "${KILN_CUDA_INCLUDE_DIR}" "${PROJECT_SOURCE_DIR}/build/cuda/nvidia/cu13/include")
find_path(KILN_NVFATBIN_INCLUDE_DIR nvFatbin.h
  DOC "Folder with nvFatbin.h (package nvidia-nvfatbin); fatbins need it"
  HINTS "${KILN_CUDA_INCLUDE_DIR}" "${PROJECT_SOURCE_DIR}/build/cuda/nvidia/cu13/include")
