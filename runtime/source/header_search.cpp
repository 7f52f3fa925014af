#include "source/header_search.h"

#include <fcntl.h>

#include <cstddef>
#include <set>
#include <utility>

#include "source/header_files.h"
#include "system/standard_streams.h"

namespace kiln {

namespace {

// Fills path and stamp if there is a regular file, which is how it looks.
bool fill(std::string path, const std::optional<FileStamp>& stamp, FoundHeader& header) {
  if (!stamp) return false;
  header.stamp = *stamp;
  header.path = std::move(path);
  return true;
}

bool look_at(std::string path, FoundHeader& header) {
  const auto stamp = stamp_of(path);
  return fill(std::move(path), stamp, header);
}

std::string_view folder_of(std::string_view file) {
  const auto slash = file.rfind('/');
  return slash == std::string_view::npos ? std::string_view{} : file.substr(0, slash + 1);
}

// In one allocation: a look-up that hits does little else.
std::string joined(std::string_view folder, std::string_view rest) {
  std::string path;
  path.reserve(folder.size() + rest.size());
  return path.append(folder).append(rest);
}

}  // namespace

std::string virtual_name(std::string_view program) { return std::string("/kiln/").append(program); }

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
  const std::filesystem::path joined(std::string(folder_of(includer.name)).append(spelling));
  return find_embedded(joined.lexically_normal().generic_string());
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

Digest HeaderSearch::embedded_names() const {
  std::set<std::string_view> names;
  for (const auto& set : headers_) {
    for (const auto& header : set.headers()) names.insert(header.name);
  }
  std::string all;
  for (const auto name : names) all.append(name).push_back('\0');
  return digest_of(all);
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
  if (!opened_) handle_ = Descriptor(system::open_file(prefix_.c_str(), O_PATH | O_DIRECTORY));
  opened_ = true;
  return handle_ ? stamp_of(handle_.get(), path.c_str() + prefix_.size()) : stamp_of(path);
}

HeaderFinder::HeaderFinder(const HeaderSearch& search) : search_(search) {
  for (const auto& directory : search.directories()) directories_.emplace_back(directory);
}

FoundHeader HeaderFinder::find(std::string_view spelling) const {
  FoundHeader header;
  header.embedded = search_.find_embedded(spelling);
  return header.embedded != nullptr ? header : find_in_directories(spelling);
}

FoundHeader HeaderFinder::find_file(std::string path) {
  FoundHeader header;
  look_at(std::move(path), header);
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
    if (!look_into(directories_[index], spelling, header)) continue;
    header.in_toolkit = search_.is_toolkit_directory(index);
    all.push_back(std::move(header));
  }
  return all;
}

FoundHeader HeaderFinder::find_quoted(std::string_view spelling,
                                      const FoundHeader& includer) const {
  FoundHeader header;
  if (includer.embedded != nullptr) {
    header.embedded = search_.neighbour(spelling, *includer.embedded);
    return header.embedded != nullptr ? header : find(spelling);
  }
  header.embedded = search_.find_embedded(spelling);
  if (header.embedded != nullptr) return header;
  if (!spelling.starts_with('/') && look_beside(includer, spelling, header)) {
    header.in_toolkit = includer.in_toolkit;
    return header;
  }
  return find_in_directories(spelling);
}

bool HeaderFinder::look_beside(const FoundHeader& includer, std::string_view spelling,
                               FoundHeader& header) const {
  std::string path = joined(folder_of(includer.path), spelling);
  for (const auto& directory : directories_) {
    const auto& prefix = directory.prefix();
    if (!path.starts_with(prefix) || path[prefix.size()] == '/') continue;
    const auto stamp = directory.stamp(path);
    return fill(std::move(path), stamp, header);
  }
  return look_at(std::move(path), header);
}

bool HeaderFinder::look_into(const Directory& directory, std::string_view spelling,
                             FoundHeader& header) {
  auto path = joined(directory.prefix(), spelling);
  const auto stamp = directory.stamp(path);
  return fill(std::move(path), stamp, header);
}

FoundHeader HeaderFinder::find_in_directories(std::string_view spelling) const {
  FoundHeader header;
  if (spelling.starts_with('/')) {
    look_at(std::string(spelling), header);
    return header;
  }
  for (std::size_t index = 0; index < directories_.size(); ++index) {
    if (look_into(directories_[index], spelling, header)) {
      header.in_toolkit = search_.is_toolkit_directory(index);
      break;
    }
  }
  return header;
}

}  // namespace kiln
