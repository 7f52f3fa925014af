# Run by CPack before it packs: puts into each component's tree what Debian wants in a package beside what is
# installed anywhere.
set(copyright "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: kiln

Files: *
Copyright: the authors of kiln
License: Apache-2.0
 On Debian systems the text of the Apache License, version 2.0, stands in
 /usr/share/common-licenses/Apache-2.0.
")

foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  set(tree "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${component}${CPACK_PACKAGING_INSTALL_PREFIX}")
  string(TOUPPER "${component}" upper)
  file(WRITE "${tree}/share/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME}/copyright" "${copyright}")
  file(GLOB_RECURSE pages "${tree}/share/man/*.[1-9]")
  foreach(page IN LISTS pages)
    # Neither name nor time: the same page is the same file.
    execute_process(COMMAND gzip -9 --no-name "${page}" COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
endforeach()
