#include "manifest/recorded_trees.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/contained_folder.h"
#include "source/places.h"

namespace kiln {

namespace {

namespace fs = std::filesystem;

Digest digest_of_all(const std::vector<HeaderSet::SharedText>& headers) {
  std::string all;
  for (const auto& [name, text] : headers)
    all.append(name).append(1, '\0').append(digest_of(*text).view());
  return digest_of(all);
}

// Never one inode for two names, though their texts be one: `#pragma once` goes by the file.
Result<void> write_all(const std::vector<HeaderSet::SharedText>& headers, const fs::path& folder) {
  const auto contained = ContainedFolder::make(folder);
  if (!contained) return tl::unexpected(contained.error());
  for (const auto& [name, text] : headers) {
    if (auto written = contained->write(name, *text, 0); !written) return written;
  }
  return {};
}

}  // namespace

bool RecordedTrees::can_hold(std::string_view name) {
  const fs::path path(name);
  return path.has_filename() && path.is_relative() && path.lexically_normal().native() == name &&
         *path.begin() != ".." && *path.begin() != ".";
}

Result<fs::path> RecordedTrees::directory_of(const std::vector<HeaderSet::SharedText>& headers) {
  const auto digest = digest_of_all(headers);
  const std::lock_guard lock(mutex_);
  if (!folder_) {
    if (auto made = ScratchFolder::make()) folder_.emplace(std::move(*made));
  }
  if (!folder_) {
    return fail(ErrorCode::io_failed,
                "the headers of a record cannot be laid out: TMPDIR (else /tmp) is full or cannot "
                "be written to");
  }
  auto directory = folder_->path() / digest.hex();
  if (laid_out_.contains(digest)) return directory;
  if (auto written = write_all(headers, directory); !written)
    return tl::unexpected(std::move(written.error()));
  laid_out_.insert(digest);
  return directory;
}

std::string RecordedTrees::beginning() const {
  const std::lock_guard lock(mutex_);
  return folder_ ? folder_->path().string() + '/' : std::string();
}

std::string RecordedTrees::without_folders(std::string message) const {
  const auto folder = beginning();
  if (folder.empty()) return message;
  const auto length = folder.size() + Digest().hex().size() + 1;
  for (auto at = message.find(folder); at != std::string::npos; at = message.find(folder, at))
    message.erase(at, length);
  return message;
}

std::string RecordedTrees::told_by(const DependencySet& dependencies) const {
  const auto folder = beginning();
  if (folder.empty()) return {};
  const auto told = std::ranges::find_if(dependencies.lookups, [&](const Dependency& lookup) {
    return lookup.path.starts_with(folder) || lookup.spelling.starts_with(folder);
  });
  if (told == dependencies.lookups.end()) return {};
  return without_folders(
      fmt::format("where header {} lies counts, and the record does not tell it", name_of(*told)));
}

}  // namespace kiln
