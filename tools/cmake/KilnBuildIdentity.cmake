# Writes OUTPUT, which defines kiln::build_identity() by VERSION and the content of the sources in FOLDER.
file(GLOB_RECURSE sources RELATIVE "${FOLDER}"
  "${FOLDER}/cache/*.h" "${FOLDER}/cache/*.cpp" "${FOLDER}/runtime/*.h" "${FOLDER}/runtime/*.cpp"
  "${FOLDER}/tools/worker/*.h" "${FOLDER}/tools/worker/*.cpp" "${FOLDER}/tools/remote/*.h" "${FOLDER}/tools/remote/*.cpp")
list(SORT sources)
foreach(source ${sources})
  file(SHA256 "${FOLDER}/${source}" digest)
  string(APPEND all "${source} ${digest}\n")
endforeach()
string(SHA256 digest "${all}")
string(SUBSTRING "${digest}" 0 16 digest)
file(WRITE "${OUTPUT}" "#include \"base/build_identity.h\"

namespace kiln {

std::string_view build_identity() noexcept { return \"kiln ${VERSION} ${digest}\"; }

}  // namespace kiln
")
