# What a version promises, in CMake's and the loader's words. README.md, "Versions and stability", says it in prose, and
# tests/project/stability.py compares the two.

# The C++ API: below 1.0 a minor version may change it, from 1.0 on a major one. For find_package.
function(kiln_cxx_compatibility version output)
  if(version VERSION_LESS 1)
    set(${output} SameMinorVersion PARENT_SCOPE)
  else()
    set(${output} SameMajorVersion PARENT_SCOPE)
  endif()
endfunction()
kiln_cxx_compatibility(${PROJECT_VERSION} kiln_cxx_compatibility)

# Its binary interface holds for the patches of a minor version, before 1.0 and after.
set(kiln_cxx_soversion "${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}")

# The C API is only ever added to, so that its soname stays; the file's name tells what has been added.
set(kiln_c_soversion 1)
file(STRINGS "${PROJECT_SOURCE_DIR}/runtime/include/kiln/c_api.h" kiln_api_version
  REGEX "^#define KILN_API_VERSION [0-9]+$")
string(REGEX REPLACE "^.* " "" kiln_api_version "${kiln_api_version}")
set(kiln_c_version "${kiln_c_soversion}.${kiln_api_version}")
