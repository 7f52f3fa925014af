# Builds, changes the header, builds again: the table must follow, and a build with no change must not.
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
endfunction()

function(expect_table pattern)
  file(READ "${table}" content)
  if(NOT content MATCHES "${pattern}")
    message(FATAL_ERROR "the table does not hold '${pattern}':\n${content}")
  endif()
endfunction()

set(header "${WORK_DIR}/changing.cuh")
set(table "${WORK_DIR}/embedded_embedded/engine/device_headers.cpp")
file(REMOVE_RECURSE "${WORK_DIR}")
file(WRITE "${header}" "first text\n")
run("${CMAKE_COMMAND}" -G Ninja -S "${SOURCE_DIR}" -B "${WORK_DIR}"
  "-DEMBED_TOOL=${EMBED_TOOL}" "-DKILN_SOURCE_DIR=${KILN_SOURCE_DIR}"
  "-DCMAKE_CXX_COMPILER=${CXX}")
run("${CMAKE_COMMAND}" --build "${WORK_DIR}")
expect_table("first text")

file(WRITE "${header}" "second text\n")
run("${CMAKE_COMMAND}" --build "${WORK_DIR}")
expect_table("second text")

# Newer than the header, so that only a build that runs without need would write it again.
file(WRITE "${table}" "no change, no work\n")
run("${CMAKE_COMMAND}" --build "${WORK_DIR}" --target embedded_embedded/engine/device_headers.cpp)
expect_table("no change, no work")
