# The target `uninstall` of BUILD_DIR removes what an install into PREFIX wrote and nothing else, and refuses without a
# manifest.
include("${CMAKE_CURRENT_LIST_DIR}/manifest.cmake")
set(others include/kiln/theirs.h lib/libtheirs.so share/man/man1/theirs.1)

function(uninstall outcome said)
  execute_process(COMMAND "${CMAKE_COMMAND}" --build "${BUILD_DIR}" --target uninstall
    RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  if(NOT "${failed}" ${outcome} 0 OR NOT output MATCHES "${said}")
    put_manifest_back("${BUILD_DIR}")
    message(FATAL_ERROR "uninstall said, with the status ${failed}: ${output}")
  endif()
endfunction()

file(REMOVE_RECURSE "${PREFIX}")
put_manifest_aside("${BUILD_DIR}")
uninstall(GREATER "Nothing to uninstall: there is no [^ ]*install_manifest.txt")
foreach(other IN LISTS others)
  file(WRITE "${PREFIX}/${other}" "")
endforeach()
execute_process(COMMAND "${CMAKE_COMMAND}" --install "${BUILD_DIR}" --prefix "${PREFIX}" OUTPUT_QUIET)
file(GLOB_RECURSE installed "${PREFIX}/*")
# One that has gone meanwhile is no hindrance.
file(REMOVE "${PREFIX}/include/kiln/c_api.h")
uninstall(EQUAL "Gone already: [^ ]*c_api.h")
file(GLOB_RECURSE left RELATIVE "${PREFIX}" "${PREFIX}/*")
file(GLOB_RECURSE folders LIST_DIRECTORIES true RELATIVE "${PREFIX}" "${PREFIX}/*")
list(REMOVE_ITEM folders ${left})
uninstall(GREATER "Nothing to uninstall")
put_manifest_back("${BUILD_DIR}")

list(LENGTH installed count)
list(JOIN left " " left)
list(JOIN others " " others)
message(STATUS "${count} files installed; left: ${left}, in the folders ${folders}")
if(count LESS 30 OR NOT left STREQUAL others OR NOT folders STREQUAL "include;include/kiln;lib;share;share/man;share/man/man1")
  message(FATAL_ERROR "These should be left, and no other folders than theirs: ${others}")
endif()
