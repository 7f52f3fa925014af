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
function(kiln_embed_headers target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "NAMESPACE;FUNCTION;BASE;PREFIX" "FILES")
  foreach(required NAMESPACE BASE FILES)
    if(NOT arg_${required})
      message(FATAL_ERROR "kiln_embed_headers(${target}): ${required} is missing")
    endif()
  endforeach()
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "kiln_embed_headers(${target}): what is '${arg_UNPARSED_ARGUMENTS}'?")
  endif()
  if(NOT arg_FUNCTION)
    set(arg_FUNCTION device_headers)
  endif()
  cmake_path(ABSOLUTE_PATH arg_BASE NORMALIZE)
  foreach(file IN LISTS arg_FILES)
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY "${arg_BASE}" NORMALIZE)
    list(APPEND files "${file}")
  endforeach()

  string(REPLACE "::" "/" folder "${arg_NAMESPACE}")
  set(root "${CMAKE_CURRENT_BINARY_DIR}/${target}_embedded")
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
  target_sources(${target} PRIVATE "${stem}.cpp" "${stem}.h")
  target_include_directories(${target} PRIVATE "${root}")
endfunction()

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
# for kiln::Cache::open_bundle(). A bundle that changes is embedded again; what is no bundle fails the build.
function(kiln_embed_bundle target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "NAMESPACE;FUNCTION;FILE" "")
  foreach(required NAMESPACE FILE)
    if(NOT arg_${required})
      message(FATAL_ERROR "kiln_embed_bundle(${target}): ${required} is missing")
    endif()
  endforeach()
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "kiln_embed_bundle(${target}): what is '${arg_UNPARSED_ARGUMENTS}'?")
  endif()
  if(NOT arg_FUNCTION)
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
  target_sources(${target} PRIVATE "${stem}.cpp" "${stem}.h")
  target_include_directories(${target} PRIVATE "${root}")
endfunction()
