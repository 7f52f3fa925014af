set(kiln_warnings -Wall -Wextra -Wpedantic)
if(KILN_DEVELOPER)
  list(APPEND kiln_warnings -Werror)
endif()

set(kiln_sanitizers)
if(KILN_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang" OR KILN_SANITIZE)
    message(FATAL_ERROR "KILN_FUZZ needs clang, and brings its own sanitizers.")
  endif()
  set(kiln_sanitizers -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
elseif(KILN_SANITIZE STREQUAL "address")
  set(kiln_sanitizers -fsanitize=address,undefined -fno-sanitize-recover=all)
elseif(KILN_SANITIZE STREQUAL "thread")
  set(kiln_sanitizers -fsanitize=thread)
elseif(KILN_SANITIZE)
  message(FATAL_ERROR "KILN_SANITIZE is '${KILN_SANITIZE}'; it can be address or thread.")
endif()

# From bin/ to lib/, so that an installed tree can be moved.
cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBDIR BASE_DIRECTORY "${CMAKE_INSTALL_FULL_BINDIR}"
  OUTPUT_VARIABLE kiln_bin_to_lib)

# kiln_compile_together(TARGET HEADERS): with sanitizers or KILN_UNITY=all, precompiles one of precompiled/ and gives the
# compiler several sources at once, which takes less than half of the time for a target of many files. With
# KILN_UNITY=tests that is done where HEADERS are tests. Elsewhere each source is compiled by itself, so that one that lacks an include is
# found. A source that shares a name of its own with another has SKIP_UNITY_BUILD_INCLUSION where it is listed.
function(kiln_compile_together target headers)
  if(NOT kiln_sanitizers AND NOT KILN_UNITY STREQUAL "all" AND NOT KILN_UNITY STREQUAL headers)
    return()
  endif()
  set(together 25)
  if(headers STREQUAL "tests")
    # Tests of one room share more names.
    set(together 10)
  endif()
  get_target_property(sources ${target} SOURCES)
  list(LENGTH sources count)
  if(count GREATER_EQUAL 8)
    target_precompile_headers(${target} PRIVATE
      "$<$<COMPILE_LANGUAGE:CXX>:${PROJECT_SOURCE_DIR}/tools/cmake/precompiled/${headers}.h>")
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${together})
    # It takes what is together for headers, whose classes have nothing of an unnamed namespace.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

# What every compiled target of the project has in common.
function(kiln_target_defaults target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  # Of debug information only what a stack trace tells: the rest is a third of the compile time. Debug has all of it.
  target_compile_options(${target} PRIVATE ${kiln_warnings} $<$<CONFIG:RelWithDebInfo>:-g1>)
  set_target_properties(${target} PROPERTIES
    CXX_EXTENSIONS OFF
    POSITION_INDEPENDENT_CODE ON
    INSTALL_RPATH "$ORIGIN;$ORIGIN/${kiln_bin_to_lib}")
  if(kiln_sanitizers)
    target_compile_options(${target} PRIVATE ${kiln_sanitizers} -O1 -g1 -fno-omit-frame-pointer)
    target_link_options(${target} PRIVATE ${kiln_sanitizers})
  endif()
endfunction()

# The same for what runs once and does little itself: optimising a test takes half of the time of its compile.
# tests/launch keeps its optimisation, since what it tests is inline and optimised by who uses it.
function(kiln_test_defaults target)
  kiln_target_defaults(${target})
  target_compile_options(${target} PRIVATE -O0)
  kiln_compile_together(${target} tests)
endfunction()

# The same for what libraries are made of: what no public header declares is hidden, and the code is small.
# It is hardly slower than with -O2 (tests/bench/README.md): what is called often is inline or waits for files.
function(kiln_library_defaults target)
  kiln_target_defaults(${target})
  set_target_properties(${target} PROPERTIES
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_compile_options(${target} PRIVATE
    $<$<CONFIG:Release,RelWithDebInfo>:-Os> -ffunction-sections -fdata-sections
    # Threads that nobody waits for may go on while the process ends.
    $<$<CXX_COMPILER_ID:Clang>:-Wexit-time-destructors>)
  kiln_compile_together(${target} standard)
endfunction()

# What a shared kiln may export: names of kiln's alone. What public headers declare is visible, and of the standard
# library's templates everything that they were instantiated for would be as well.
set(kiln_c_exports "kiln_*")
set(kiln_cxx_exports
  "_ZN4kiln*" "_ZNK4kiln*" "_ZTIN4kiln*" "_ZTSN4kiln*" "_ZTVN4kiln*" "_ZZN4kiln*" "_ZGVZN4kiln*")

# kiln_hide_internals(TARGET VERSION PATTERN…): for a library made of those, where it is shared. Its names carry VERSION,
# so that a program finds those that it was linked with, whatever other kiln is in the process.
function(kiln_hide_internals target version)
  list(JOIN ARGN "; " patterns)
  set(exports "${CMAKE_CURRENT_BINARY_DIR}/${target}.map")
  file(CONFIGURE OUTPUT "${exports}" CONTENT "${version} { global: ${patterns}; local: *; };\n" @ONLY)
  target_link_options(${target} PRIVATE "LINKER:--gc-sections,--version-script=${exports}")
  set_target_properties(${target} PROPERTIES LINK_DEPENDS "${exports}")
  if(NOT KILN_SANITIZE AND NOT KILN_FUZZ)
    # What a sanitizer adds is only defined in the program.
    target_link_options(${target} PRIVATE LINKER:-z,defs)
  endif()
endfunction()
