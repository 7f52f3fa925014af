# Run by CPack before it packs: puts into each component's tree what Debian wants in a package beside what is
# installed anywhere, under the package's own name.

# CPack looks for both by itself, and without them packs packages that depend on nothing.
foreach(program file dpkg-shlibdeps)
  find_program(kiln_${program} ${program})
  if(NOT kiln_${program})
    message(FATAL_ERROR "packages are not made without ${program}: apt-get install file dpkg-dev")
  endif()
endforeach()

set(copyright "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: kiln
Comment: What is compiled in has notices of its own, in the file NOTICES beside this one.

Files: *
Copyright: 2026 the authors of kiln
License: Apache-2.0
 On Debian systems the text of the Apache License, version 2.0, stands in
 /usr/share/common-licenses/Apache-2.0.
")

# SOURCE_DATE_EPOCH is heeded, so that packages can be made again to the byte.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
set(changelog "kiln (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * Version ${CPACK_PACKAGE_VERSION}.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")

# Neither name nor time: the same file is the same when compressed.
function(compress file)
  execute_process(COMMAND gzip -9 --no-name "${file}" COMMAND_ERROR_IS_FATAL ANY)
endfunction()

foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  set(tree "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${component}${CPACK_PACKAGING_INSTALL_PREFIX}")
  string(TOUPPER "${component}" upper)
  set(documents "${tree}/share/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME}")
  file(MAKE_DIRECTORY "${documents}")
  # Two packages must not hold one file, and Debian has the text of the licence.
  file(RENAME "${tree}/share/doc/kiln/NOTICES" "${documents}/NOTICES")
  file(REMOVE "${tree}/share/doc/kiln/LICENSE")
  execute_process(COMMAND rmdir "${tree}/share/doc/kiln" ERROR_QUIET)
  file(WRITE "${documents}/copyright" "${copyright}")
  file(WRITE "${documents}/changelog" "${changelog}")
  compress("${documents}/changelog")
  file(GLOB_RECURSE pages "${tree}/share/man/*.[1-9]")
  foreach(page IN LISTS pages)
    compress("${page}")
  endforeach()
endforeach()
