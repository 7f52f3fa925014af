#include "output_paths.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>

namespace kiln {

namespace {

bool has_line_information(const Program& program) {
  constexpr std::array<std::string_view, 6> options{
      "-G",        "--device-debug",       "-device-debug",
      "-lineinfo", "--generate-line-info", "-generate-line-info"};
  return std::any_of(
      program.options().begin(), program.options().end(), [&](std::string_view option) {
        return std::find(options.begin(), options.end(), option.substr(0, option.find('='))) !=
               options.end();
      });
}

// PTX holds strings as lists of decimal bytes.
std::string as_ptx_bytes(std::string_view text) {
  std::string list;
  for (const unsigned char byte : text) list += (list.empty() ? "" : ", ") + std::to_string(byte);
  return list;
}

bool shows(std::string_view image, ImageKind kind, const std::string& directory) {
  if (image.find(directory) != std::string_view::npos) return true;
  return kind == ImageKind::ptx && image.find(as_ptx_bytes(directory)) != std::string_view::npos;
}

// Bitcode packs its strings, so looking for one tells nothing.
bool hides_strings(ImageKind kind) {
  return kind == ImageKind::ltoir || kind == ImageKind::optixir;
}

bool toolkit_reaches(const Target& target, const HeaderSearch& search, std::string_view image,
                     const Closure& closure) {
  if (!closure.toolkit_tells_path) return false;
  if (hides_strings(target.kind())) return true;
  for (std::size_t index = 0; index < search.directories().size(); ++index) {
    if (search.is_toolkit_directory(index) &&
        shows(image, target.kind(), search.directories()[index]))
      return true;
  }
  return false;
}

}  // namespace

void record_output_paths(const Program& program, const Target& target, const HeaderSearch& search,
                         std::string_view image, Closure& closure) {
  const bool all = has_line_information(program);
  const bool own = all || closure.own_text_tells_path;
  const bool toolkit = all || toolkit_reaches(target, search, image, closure);
  for (std::size_t index = 0; index < closure.found.size(); ++index) {
    const auto& found = closure.found[index];
    const bool reaches = found.in_toolkit ? toolkit : own;
    if (found.found() && reaches) closure.dependencies.lookups[index].path = found.place();
  }
  if (all) {
    std::error_code failure;
    closure.dependencies.working_directory = std::filesystem::current_path(failure).string();
  }
}

}  // namespace kiln
