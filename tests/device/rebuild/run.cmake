# Builds, changes the header and the bundle, builds again: what is embedded must follow, and a build with
# no change must not.
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
endfunction()

function(expect_toolkit pattern)
  file(READ "${WORK_DIR}/embedded_embedded/engine/toolkit_headers.cpp" content)
  if(NOT content MATCHES "${pattern}")
    message(FATAL_ERROR "the toolkit's table does not hold '${pattern}':\n${content}")
  endif()
endfunction()

function(expect_table pattern)
  file(READ "${table}" content)
  if(NOT content MATCHES "${pattern}")
    message(FATAL_ERROR "the table does not hold '${pattern}':\n${content}")
  endif()
endfunction()

# The object holds the bundle's bytes as they are, so the log of its entry must be found in it.
function(expect_embedded_log log)
  file(STRINGS "${object}" found REGEX "${log}")
  if(NOT found)
    message(FATAL_ERROR "'${log}' is not in ${object}")
  endif()
endfunction()

set(header "${WORK_DIR}/changing.cuh")
set(bundle "${WORK_DIR}/changing.kiln")
set(object "${WORK_DIR}/CMakeFiles/embedded.dir/embedded_embedded/engine/bundle.cpp.o")
set(table "${WORK_DIR}/embedded_embedded/engine/device_headers.cpp")
file(REMOVE_RECURSE "${WORK_DIR}")
file(WRITE "${header}" "first text\n")
file(WRITE "${WORK_DIR}/the toolkit/outer.h" "#include \"inner.h\"\n")
file(WRITE "${WORK_DIR}/the toolkit/inner.h" "// 4567890\n")
file(WRITE "${WORK_DIR}/the toolkit/late.h" "// late\n")
run("${MAKE_BUNDLE}" "${bundle}" "first log")
run("${CMAKE_COMMAND}" -G Ninja -S "${SOURCE_DIR}" -B "${WORK_DIR}"
  "-DEMBED_TOOL=${EMBED_TOOL}" "-DKILN_SOURCE_DIR=${KILN_SOURCE_DIR}"
  "-DCMAKE_CXX_COMPILER=${CXX}")
run("${CMAKE_COMMAND}" --build "${WORK_DIR}")
expect_table("first text")
expect_toolkit("\"inner.h\", packed, 0, 11,")
expect_embedded_log("first log")

file(WRITE "${header}" "second text\n")
file(WRITE "${WORK_DIR}/the toolkit/inner.h" "#include <late.h>\n")
run("${MAKE_BUNDLE}" "${bundle}" "second log")
run("${CMAKE_COMMAND}" --build "${WORK_DIR}")
expect_table("second text")
expect_toolkit("\"late.h\", packed,")
expect_embedded_log("second log")

# Newer than the header, so that only a build that runs without need would write it again.
file(WRITE "${table}" "no change, no work\n")
run("${CMAKE_COMMAND}" --build "${WORK_DIR}" --target embedded_embedded/engine/device_headers.cpp)
expect_table("no change, no work")

# What is no bundle fails the build, and is named.
file(WRITE "${bundle}" "no bundle")
execute_process(COMMAND "${CMAKE_COMMAND}" --build "${WORK_DIR}"
  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(result EQUAL 0 OR NOT output MATCHES "changing.kiln'[ \n]+is[ \n]+not[ \n]+a[ \n]+kiln[ \n]+bundle")
  message(FATAL_ERROR "a file that is no bundle was embedded:\n${output}")
endif()

# Nor is a toolkit that is not there found missing by a build alone.
file(RENAME "${WORK_DIR}/the toolkit" "${WORK_DIR}/another folder")
execute_process(COMMAND "${CMAKE_COMMAND}" "${WORK_DIR}"
  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(result EQUAL 0 OR NOT output MATCHES "TOOLKIT_DIRS:[^:]*the[ \n]+toolkit[ \n]+is[ \n]+no[ \n]+folder")
  message(FATAL_ERROR "a toolkit that is not there was taken:\n${output}")
endif()
