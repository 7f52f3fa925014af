# kiln_embed_headers(<target>
#   NAMESPACE <namespace>          C++ namespace of the generated function
#   [FUNCTION <name>]              its name; device_headers when not given
#   BASE <dir>                     the folder that include spellings are relative to
#   [PREFIX <prefix/>]             put before each spelling
#   FILES <file>...)               relative ones are relative to BASE
#
# Embeds the files into <target> as char arrays and gives it
#
#   #include <namespace/function.h>
#   const kiln::HeaderSet& namespace::function();
#
# The bytes are kept as they are, whatever they are; their digests are computed while building, and a
# file that changes is embedded again. A quoted include of one file of a set in another one of the
# same set works as it does on disk.
#
# kiln_embed_headers(<target>
#   NAMESPACE <namespace>
#   [FUNCTION <name>]              toolkit_headers when not given
#   TOOLKIT <header>...            as they are included: cuda_fp16.h, cub/block/block_reduce.cuh
#   [TOOLKIT_DIRS <dir>...])       a toolkit's include directories, with or without its include/cccl;
#                                  CUDAToolkit_INCLUDE_DIRS when not given (find_package(CUDAToolkit))
#
# The same for headers of the CUDA toolkit and for all that they may read of it, compressed and
# decompressed when they are first compiled: then a machine needs NVRTC and no header on disk.
function(kiln_embed_headers target)
  cmake_parse_arguments(PARSE_ARGV 1 arg ""
    "NAMESPACE;FUNCTION;BASE;PREFIX" "FILES;TOOLKIT;TOOLKIT_DIRS")
  if(arg_TOOLKIT)
    set(needed NAMESPACE)
    set(not_with_these BASE PREFIX FILES)
  else()
    set(needed NAMESPACE BASE FILES)
    set(not_with_these TOOLKIT_DIRS)
  endif()
  foreach(required IN LISTS needed)
    if("${arg_${required}}" STREQUAL "")  # whose value may be "off", which is not nothing
      message(FATAL_ERROR "kiln_embed_headers(${target}): ${required} is missing")
    endif()
  endforeach()
  foreach(refused IN LISTS not_with_these)
    if(NOT "${arg_${refused}}" STREQUAL "")
      message(FATAL_ERROR "kiln_embed_headers(${target}): TOOLKIT does not go with BASE, PREFIX and FILES, "
        "and TOOLKIT_DIRS goes with TOOLKIT alone")
    endif()
  endforeach()
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "kiln_embed_headers(${target}): what is '${arg_UNPARSED_ARGUMENTS}'?")
  endif()

  set(root "${CMAKE_CURRENT_BINARY_DIR}/${target}_embedded")
  if(arg_TOOLKIT)
    kiln_embed_toolkit_command()
  else()
    kiln_embed_files_command()
  endif()
  kiln_add_embedded(${target} "${stem}")
  target_include_directories(${target} PRIVATE "${root}")
endfunction()

# All embedded sources name their texts alike, so a unity build compiles each by itself.
function(kiln_add_embedded target stem)
  target_sources(${target} PRIVATE "${stem}.cpp" "${stem}.h")
  set_source_files_properties("${stem}.cpp" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# The rest of kiln_embed_headers(), whose variables it uses: how the sources at `stem` are made.
macro(kiln_embed_files_command)
  if("${arg_FUNCTION}" STREQUAL "")
    set(arg_FUNCTION device_headers)
  endif()
  cmake_path(ABSOLUTE_PATH arg_BASE NORMALIZE)
  set(files)
  foreach(file IN LISTS arg_FILES)
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY "${arg_BASE}" NORMALIZE)
    list(APPEND files "${file}")
  endforeach()

  string(REPLACE "::" "/" folder "${arg_NAMESPACE}")
  set(stem "${root}/${folder}/${arg_FUNCTION}")
  # Through a file, since a set may hold more names than a command line.
  list(JOIN files "\n" listing)
  file(CONFIGURE OUTPUT "${stem}.list" CONTENT "@listing@\n" @ONLY)
  add_custom_command(
    OUTPUT "${stem}.h" "${stem}.cpp"
    COMMAND kiln::embed "${arg_NAMESPACE}" "${arg_FUNCTION}" "${arg_BASE}" "${arg_PREFIX}"
            "${stem}.list" "${root}"
    DEPENDS kiln::embed "${stem}.list" ${files}
    COMMENT "Embedding ${arg_NAMESPACE}::${arg_FUNCTION}()"
    VERBATIM)
endmacro()

macro(kiln_embed_toolkit_command)
  if("${arg_FUNCTION}" STREQUAL "")
    set(arg_FUNCTION toolkit_headers)
  endif()
  if(NOT arg_TOOLKIT_DIRS)
    set(arg_TOOLKIT_DIRS ${CUDAToolkit_INCLUDE_DIRS})
  endif()
  if(NOT arg_TOOLKIT_DIRS)
    message(FATAL_ERROR "kiln_embed_headers(${target}): which toolkit? TOOLKIT_DIRS is not "
      "given or empty: name the folder in which cuda.h lies, or call find_package(CUDAToolkit) before")
  endif()
  set(dirs)
  foreach(dir IN LISTS arg_TOOLKIT_DIRS)
    cmake_path(ABSOLUTE_PATH dir NORMALIZE)
    if(NOT IS_DIRECTORY "${dir}")
      message(FATAL_ERROR "kiln_embed_headers(${target}): TOOLKIT_DIRS: ${dir} is no folder; name "
        "the one in which cuda.h lies")
    endif()
    if(IS_DIRECTORY "${dir}/cccl")
      list(APPEND dirs "${dir}/cccl")
    endif()
    list(APPEND dirs "${dir}")
  endforeach()
  list(REMOVE_DUPLICATES dirs)

  string(REPLACE "::" "/" folder "${arg_NAMESPACE}")
  set(stem "${root}/${folder}/${arg_FUNCTION}")
  add_custom_command(
    OUTPUT "${stem}.cpp" "${stem}.h"
    BYPRODUCTS "${stem}.zst"
    COMMAND kiln::embed --toolkit "${arg_NAMESPACE}" "${arg_FUNCTION}" "${root}" ${dirs}
            -- ${arg_TOOLKIT}
    DEPENDS kiln::embed
    DEPFILE "${stem}.d"
    COMMENT "Embedding ${arg_NAMESPACE}::${arg_FUNCTION}()"
    VERBATIM)
endmacro()

# kiln_embed_bundle(<target>
#   NAMESPACE <namespace>          C++ namespace of the generated function
#   [FUNCTION <name>]              its name; bundle when not given
#   FILE <bundle>)                 what `kiln export` wrote; relative to the current source folder
#
# Links the bundle's bytes into <target>, aligned to 16 bytes, and gives it
#
#   #include <namespace/function.h>
#   std::span<const std::byte> namespace::function();
#
# for kiln::RuntimeOptions::embedded_bundles. A bundle that changes is embedded again; what is no bundle fails the build.
function(kiln_embed_bundle target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "NAMESPACE;FUNCTION;FILE" "")
  foreach(required NAMESPACE FILE)
    if("${arg_${required}}" STREQUAL "")
      message(FATAL_ERROR "kiln_embed_bundle(${target}): ${required} is missing")
    endif()
  endforeach()
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "kiln_embed_bundle(${target}): what is '${arg_UNPARSED_ARGUMENTS}'?")
  endif()
  if("${arg_FUNCTION}" STREQUAL "")
    set(arg_FUNCTION bundle)
  endif()
  cmake_path(ABSOLUTE_PATH arg_FILE NORMALIZE)

  string(REPLACE "::" "/" folder "${arg_NAMESPACE}")
  set(root "${CMAKE_CURRENT_BINARY_DIR}/${target}_embedded")
  set(stem "${root}/${folder}/${arg_FUNCTION}")
  add_custom_command(
    OUTPUT "${stem}.h" "${stem}.cpp"
    COMMAND kiln::embed --bundle "${arg_NAMESPACE}" "${arg_FUNCTION}" "${arg_FILE}" "${root}"
    DEPENDS kiln::embed "${arg_FILE}"
    COMMENT "Embedding ${arg_NAMESPACE}::${arg_FUNCTION}()"
    VERBATIM)
  kiln_add_embedded(${target} "${stem}")
  target_include_directories(${target} PRIVATE "${root}")
endfunction()
