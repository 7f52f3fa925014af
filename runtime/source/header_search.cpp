#include "source/header_search.h"

#include <fcntl.h>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <numeric>
#include <set>
#include <utility>

#include "source/header_files.h"
#include "source/text_search.h"
#include "system/standard_streams.h"

namespace kiln {

namespace {

std::string_view folder_of(std::string_view file) {
  const auto slash = file.rfind('/');
  return slash == std::string_view::npos ? std::string_view{} : file.substr(0, slash + 1);
}

// In one allocation: a look-up that hits does little else.
std::string joined(std::initializer_list<std::string_view> parts) {
  std::string path;
  path.reserve(
      std::accumulate(parts.begin(), parts.end(), std::size_t{0},
                      [](std::size_t size, std::string_view part) { return size + part.size(); }));
  for (const auto part : parts) path.append(part);
  return path;
}

}  // namespace

std::string virtual_name(std::string_view program) { return std::string("/kiln/").append(program); }

bool has_no_extension(std::string_view spelling) {
  return spelling.substr(spelling.rfind('/') + 1).find('.') == std::string_view::npos;
}

bool fits_brackets(std::string_view name) {
  return !holds(name, ">") && !holds(name, "//") && !holds(name, "/*");
}

std::string names_of(const std::vector<HeaderSet>& headers) {
  std::set<std::string_view> names;
  for (const auto& set : headers) {
    for (const auto& header : set.headers()) names.insert(header.name);
  }
  std::string all;
  for (const auto name : names) all.append(name).push_back('\0');
  return all;
}

HeaderSearch::HeaderSearch(const Program& program,
                           const std::vector<std::filesystem::path>& toolkit_dirs)
    : headers_(program.headers()), program_dirs_(program.include_dirs().size()) {
  for (const auto& directory : program.include_dirs()) directories_.push_back(directory.string());
  for (const auto& directory : toolkit_dirs) directories_.push_back(directory.string());
  source_.path = virtual_name(program.name());
  std::string all;
  for (const auto& directory : directories_) all.append(directory).push_back('\0');
  roots_ = digest_of(all);
}

const EmbeddedHeader* HeaderSearch::neighbour(std::string_view spelling,
                                              const EmbeddedHeader& includer) const {
  if (spelling.starts_with('/')) return nullptr;
  const std::filesystem::path joined(std::string(folder_of(includer.name)).append(spelling));
  const auto name = joined.lexically_normal().generic_string();
  return fits_brackets(name) ? find_embedded(name) : nullptr;
}

std::string HeaderSearch::below_working_directory(std::string_view spelling,
                                                  const EmbeddedHeader& includer) {
  return joined({folder_of(includer.name), spelling});
}

std::vector<const EmbeddedHeader*> HeaderSearch::embedded() const {
  std::vector<const EmbeddedHeader*> all;
  for (const auto& set : headers_) {
    for (const auto& header : set.headers()) {
      if (find_embedded(header.name) == &header) all.push_back(&header);
    }
  }
  return all;
}

Digest HeaderSearch::surroundings() const {
  std::string all(roots_.view());
  for (const auto& set : headers_) {
    for (const auto& header : set.headers()) {
      all.append(header.name).push_back('\0');
      all.append(header.digest.view());
    }
  }
  return digest_of(all);
}

const EmbeddedHeader* HeaderSearch::find_embedded(std::string_view name) const {
  for (const auto& set : headers_) {
    if (const auto* header = set.find(name)) return header;
  }
  return nullptr;
}

std::vector<const EmbeddedHeader*> HeaderSearch::find_all_embedded(std::string_view name) const {
  std::vector<const EmbeddedHeader*> all;
  for (const auto& set : headers_) {
    if (const auto* header = set.find(name)) all.push_back(header);
  }
  return all;
}

std::optional<FileStamp> HeaderFinder::Directory::stamp(const std::string& path) const {
  if (!opened_)
    handle_ = system::Descriptor(system::open_file(prefix_.c_str(), O_PATH | O_DIRECTORY));
  opened_ = true;
  return handle_ ? stamp_of(handle_.get(), path.c_str() + prefix_.size()) : stamp_of(path);
}

FoundHeader HeaderSearch::find(std::string_view spelling, const FoundHeader* quoted_in,
                               const Look& look) const {
  FoundHeader header;
  const bool in_embedded = quoted_in != nullptr && quoted_in->embedded != nullptr;
  if (in_embedded) header.embedded = neighbour(spelling, *quoted_in->embedded);
  header.beside = header.embedded != nullptr;
  if (!header.beside) header.embedded = find_embedded(spelling);
  if (header.embedded != nullptr) return header;
  const bool may_be_suffixed = has_no_extension(spelling);
  const auto look_for = [&](std::string path, std::size_t directory) {
    auto suffixed = may_be_suffixed ? joined({path, front_end_suffix}) : std::string();
    return look(std::move(path), directory, false, header) ||
           (may_be_suffixed && look(std::move(suffixed), directory, true, header));
  };
  if (spelling.starts_with('/')) {
    look_for(std::string(spelling), of_none);
    return header;
  }
  if (quoted_in != nullptr && !in_embedded &&
      look_for(joined({folder_of(quoted_in->path), spelling}), of_none)) {
    header.beside = header.found();
    header.in_toolkit = header.found() && quoted_in->in_toolkit;
    return header;
  }
  for (std::size_t index = 0; index < directories_.size(); ++index) {
    if (!look_for(joined({directories_[index], "/", spelling}), index)) continue;
    header.in_toolkit = header.found() && is_toolkit_directory(index);
    break;
  }
  return header;
}

HeaderFinder::HeaderFinder(const HeaderSearch& search) : search_(search) {
  for (const auto& directory : search.directories()) directories_.emplace_back(directory);
}

FoundHeader HeaderFinder::find(std::string_view spelling, const FoundHeader* quoted_in) const {
  return search_.find(spelling, quoted_in,
                      [this](std::string path, std::size_t directory, bool, FoundHeader& header) {
                        return look(std::move(path), directory, header);
                      });
}

FoundHeader HeaderFinder::find_file(std::string path) {
  FoundHeader header;
  if (const auto stamp = stamp_of(path)) {
    header.stamp = *stamp;
    header.path = std::move(path);
  }
  return header;
}

std::vector<FoundHeader> HeaderFinder::find_all(std::string_view spelling) const {
  std::vector<FoundHeader> all;
  for (const auto* header : search_.find_all_embedded(spelling)) {
    all.emplace_back().embedded = header;
  }
  if (spelling.starts_with('/')) return all;
  for (std::size_t index = 0; index < directories_.size(); ++index) {
    FoundHeader header;
    if (!look(joined({directories_[index].prefix(), spelling}), index, header)) continue;
    header.in_toolkit = search_.is_toolkit_directory(index);
    all.push_back(std::move(header));
  }
  return all;
}

bool HeaderFinder::look(std::string path, std::size_t directory, FoundHeader& header) const {
  const auto leads_to = [&](const Directory& held) {
    const auto& prefix = held.prefix();
    return path.starts_with(prefix) && path[prefix.size()] != '/';
  };
  const auto held = directory != HeaderSearch::of_none
                        ? directories_.begin() + static_cast<std::ptrdiff_t>(directory)
                        : std::find_if(directories_.begin(), directories_.end(), leads_to);
  const auto stamp = held != directories_.end() ? held->stamp(path) : stamp_of(path);
  if (!stamp) return false;
  header.stamp = *stamp;
  header.path = std::move(path);
  return true;
}

}  // namespace kiln
