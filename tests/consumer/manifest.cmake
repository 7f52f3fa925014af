# The manifest of an install is that of the last one. A test that installs gives a developer's own back, so that
# `uninstall` removes what the developer has installed.

function(put_manifest_aside build_dir)
  if(EXISTS "${build_dir}/install_manifest.txt")
    file(RENAME "${build_dir}/install_manifest.txt" "${build_dir}/install_manifest.txt.aside")
  endif()
endfunction()

function(put_manifest_back build_dir)
  file(REMOVE "${build_dir}/install_manifest.txt")
  if(EXISTS "${build_dir}/install_manifest.txt.aside")
    file(RENAME "${build_dir}/install_manifest.txt.aside" "${build_dir}/install_manifest.txt")
  endif()
endfunction()
