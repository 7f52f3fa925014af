#include "toolkit.h"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kiln/program.h"
#include "source/closure.h"
#include "source/header_files.h"
#include "source/header_search.h"

namespace kiln {

namespace {

// Below the deepest of the directories, since one may lie in another (include/cccl).
std::string spelling_of(const std::filesystem::path& file,
                        const std::vector<std::string>& directories) {
  std::string shortest = file.string();
  for (const auto& directory : directories) {
    const auto relative = file.lexically_relative(directory).generic_string();
    if (!relative.starts_with("..") && relative.size() < shortest.size()) shortest = relative;
  }
  return shortest;
}

}  // namespace

Result<ToolkitHeaders> toolkit_headers(const std::vector<std::filesystem::path>& directories,
                                       const std::vector<std::string>& names) {
  std::string source;
  for (const auto& name : names) source += "#include <" + name + ">\n";
  const auto program = Program::make({.name = "toolkit.cu", .source = source});
  if (!program) return tl::unexpected(program.error());
  const HeaderSearch search(*program, directories);
  const HeaderFinder finder(search);
  for (const auto& name : names) {
    if (finder.find(name).found()) continue;
    return fail(ErrorCode::header_not_found,
                fmt::format("{} is not below {}", name, fmt::join(search.directories(), ", ")));
  }
  HeaderFiles files;
  const auto closure = close_over(*program, search, files);
  if (!closure.not_stored.empty()) return fail(ErrorCode::invalid_argument, closure.not_stored);
  ToolkitHeaders headers;
  for (const auto& found : closure.found) {
    if (!found.found()) continue;
    const auto file = std::filesystem::path(found.path).lexically_normal();
    headers.emplace(spelling_of(file, search.directories()), file);
  }
  return headers;
}

}  // namespace kiln
