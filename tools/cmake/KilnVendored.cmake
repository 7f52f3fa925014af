# KILN_VENDORED: the libraries that kiln is built from and that were not found, each at a pinned version, under the names that
# those of the system have. These are known in kiln's folders alone: a project that takes kiln in may have others of the same
# names. What is a target already, found or of such a project, is left alone.
#
# Of an archive the sources are taken and nothing of its own build, so that no options, tests or install rules come along.
# FETCHCONTENT_SOURCE_DIR_KILN_<NAME> names a folder of sources instead, for builds without a network.
include(FetchContent)

# What was fetched of the libraries that a static kiln leaves to whoever links it.
set(kiln_vendored "")

# kiln_fetch(NAME VERSION URL SHA256): unpacks an archive; its folder is kiln_<name>_SOURCE_DIR.
macro(kiln_fetch name version url sha256)
  message(STATUS "kiln takes ${name} ${version} along, which was not found (KILN_VENDORED)")
  FetchContent_Declare(kiln_${name}
    URL "${url}" URL_HASH SHA256=${sha256} DOWNLOAD_EXTRACT_TIMESTAMP OFF
    SOURCE_SUBDIR nothing-is-built-by-itself)
  FetchContent_MakeAvailable(kiln_${name})
endmacro()

# kiln_headers(TARGET FOLDER [DEFINITION…]): a library of headers.
function(kiln_headers target folder)
  add_library(${target} INTERFACE IMPORTED)
  set_target_properties(${target} PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${folder}" INTERFACE_COMPILE_DEFINITIONS "${ARGN}")
endfunction()

# kiln_compiled(TARGET NAME FOLDER SOURCE…): a static library, which a shared kiln does not export.
macro(kiln_compiled target name folder)
  enable_language(C)
  enable_language(ASM)
  add_library(${name} STATIC ${ARGN})
  target_include_directories(${name} SYSTEM PUBLIC "${folder}")
  target_compile_options(${name} PRIVATE -w)
  set_target_properties(${name} PROPERTIES
    POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden UNITY_BUILD OFF)
  add_library(${target} INTERFACE IMPORTED)
  target_link_libraries(${target} INTERFACE ${name})
endmacro()

if(NOT TARGET tl::expected)
  kiln_fetch(expected 1.1.0 https://github.com/TartanLlama/expected/archive/refs/tags/v1.1.0.tar.gz
    1db357f46dd2b24447156aaf970c4c40a793ef12a8a9c2ad9e096d9801368df6)
  kiln_headers(tl::expected "${kiln_expected_SOURCE_DIR}/include")
endif()

if(NOT TARGET fmt::fmt)
  kiln_fetch(fmt 10.1.1 https://github.com/fmtlib/fmt/releases/download/10.1.1/fmt-10.1.1.zip
    b84e58a310c9b50196cda48d5678d5fa0849bca19e5fdba6b684f0ee93ed9d1b)
  kiln_headers(fmt::fmt "${kiln_fmt_SOURCE_DIR}/include" FMT_HEADER_ONLY)
  list(APPEND kiln_vendored fmt)
endif()

if(NOT TARGET nlohmann_json::nlohmann_json)
  kiln_fetch(json 3.11.3 https://github.com/nlohmann/json/archive/refs/tags/v3.11.3.tar.gz
    0d8ef5af7f9794e3263480193c491549b2ba6cc74bb018906202ada498a79406)
  kiln_headers(nlohmann_json::nlohmann_json "${kiln_json_SOURCE_DIR}/include")
endif()

if(KILN_BUILD_TOOLS AND NOT TARGET CLI11::CLI11)
  kiln_fetch(cli11 2.4.1 https://github.com/CLIUtils/CLI11/archive/refs/tags/v2.4.1.tar.gz
    73b7ec52261ce8fe980a29df6b4ceb66243bb0b779451dbd3d014cfec9fdbb58)
  kiln_headers(CLI11::CLI11 "${kiln_cli11_SOURCE_DIR}/include")
endif()

if(NOT TARGET PkgConfig::XXHASH)
  kiln_fetch(xxhash 0.8.3 https://github.com/Cyan4973/xxHash/archive/refs/tags/v0.8.3.tar.gz
    aae608dfe8213dfd05d909a57718ef82f30722c392344583d3f39050c7f29a80)
  kiln_headers(PkgConfig::XXHASH "${kiln_xxhash_SOURCE_DIR}" XXH_INLINE_ALL)
  list(APPEND kiln_vendored xxhash)
endif()

if(NOT TARGET PkgConfig::ZSTD)
  kiln_fetch(zstd 1.5.7 https://github.com/facebook/zstd/releases/download/v1.5.7/zstd-1.5.7.tar.gz
    eb33e51f49a15e023950cd7825ca74a4a2b43db8354825ac24fc1b7ee09e6fa3)
  set(kiln_zstd "${kiln_zstd_SOURCE_DIR}/lib")
  file(GLOB kiln_zstd_sources
    "${kiln_zstd}/common/*.c" "${kiln_zstd}/compress/*.c" "${kiln_zstd}/decompress/*.c" "${kiln_zstd}/decompress/*.S")
  kiln_compiled(PkgConfig::ZSTD kiln_zstd "${kiln_zstd}" ${kiln_zstd_sources})
  target_compile_definitions(kiln_zstd PRIVATE ZSTDLIB_VISIBLE= ZSTDERRORLIB_VISIBLE=)
  list(APPEND kiln_vendored zstd)
endif()

if(NOT TARGET SQLite::SQLite3)
  kiln_fetch(sqlite 3.46.1 https://sqlite.org/2024/sqlite-amalgamation-3460100.zip
    77823cb110929c2bcb0f5d48e4833b5c59a8a6e40cdea3936b99e199dbbe5784)
  kiln_compiled(SQLite::SQLite3 kiln_sqlite "${kiln_sqlite_SOURCE_DIR}" "${kiln_sqlite_SOURCE_DIR}/sqlite3.c")
  target_compile_definitions(kiln_sqlite PRIVATE SQLITE_THREADSAFE=1 SQLITE_OMIT_LOAD_EXTENSION)
  target_link_libraries(kiln_sqlite PRIVATE Threads::Threads)
  list(APPEND kiln_vendored sqlite)
endif()

# Headers alone: the library is opened where a key is set. Its configure would write version.h.
if(NOT KILN_SODIUM_INCLUDE_DIR)
  kiln_fetch(sodium 1.0.18 https://github.com/jedisct1/libsodium/archive/refs/tags/1.0.18.tar.gz
    d59323c6b712a1519a5daf710b68f5e7fde57040845ffec53850911f10a5d4f4)
  set(KILN_SODIUM_INCLUDE_DIR "${PROJECT_BINARY_DIR}/sodium")
  file(COPY "${kiln_sodium_SOURCE_DIR}/src/libsodium/include/" DESTINATION "${KILN_SODIUM_INCLUDE_DIR}")
  file(COPY "${kiln_sodium_SOURCE_DIR}/builds/msvc/version.h" DESTINATION "${KILN_SODIUM_INCLUDE_DIR}/sodium")
endif()
