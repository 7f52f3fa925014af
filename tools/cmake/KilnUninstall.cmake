# Removes the files that an install wrote, as its manifest lists them, and the folders that are empty then: below /usr,
# which is everybody's, only those called kiln, elsewhere up to the prefix. Nothing else is touched. What has gone meanwhile is said and counts as removed. DESTDIR counts as at the install.
# Manifests of single components are left alone: cpack writes them too, of files that belong to dpkg.
#
#   cmake --build build/release --target uninstall
if(NOT EXISTS "${MANIFEST}")
  message(FATAL_ERROR "Nothing to uninstall: there is no ${MANIFEST}, which 'cmake --install' writes. Install from this "
    "build folder first; what another one installed, that one uninstalls.")
endif()

file(READ "${MANIFEST}" text)
if(text MATCHES "[][;]" OR "\n${text}" MATCHES "\n[^/\n]")
  message(FATAL_ERROR "Not uninstalled: a folder in ${MANIFEST} has a bracket or a semicolon in its name, which CMake "
    "takes apart. Remove the files that it lists by hand.")
endif()
string(REGEX REPLACE "\n+" ";" files "${text}")
list(REMOVE_ITEM files "")
list(REMOVE_DUPLICATES files)
list(TRANSFORM files PREPEND "$ENV{DESTDIR}")
set(left "")
set(folders "")
foreach(file IN LISTS files)
  if(NOT EXISTS "${file}" AND NOT IS_SYMLINK "${file}")
    message(STATUS "Gone already: ${file}")
    continue()
  endif()
  message(STATUS "Removing: ${file}")
  file(REMOVE "${file}")
  if(EXISTS "${file}" OR IS_SYMLINK "${file}")
    list(APPEND left "${file}")
  endif()
  cmake_path(GET file PARENT_PATH folder)
  list(APPEND folders "${folder}")
endforeach()
if(left)
  list(JOIN left "\n  " left)
  message(FATAL_ERROR "Could not be removed, so try again as whoever installed it:\n  ${left}")
endif()

# Leaves a folder that has something of others, and what is above it.
function(remove_while_empty folder)
  set(in_usr FALSE)
  if(folder MATCHES "^/usr/")
    set(in_usr TRUE)
  endif()
  while(folder MATCHES "^/[^/]+/" AND (NOT in_usr OR folder MATCHES "/kiln$"))
    execute_process(COMMAND rmdir "${folder}" RESULT_VARIABLE kept ERROR_QUIET)
    if(kept)
      return()
    endif()
    cmake_path(GET folder PARENT_PATH folder)
  endwhile()
endfunction()

list(REMOVE_DUPLICATES folders)
foreach(folder IN LISTS folders)
  remove_while_empty("${folder}")
endforeach()
file(REMOVE "${MANIFEST}")
