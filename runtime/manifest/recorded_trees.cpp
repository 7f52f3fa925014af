#include "manifest/recorded_trees.h"

#include <algorithm>
#include <map>
#include <string_view>
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

// The file that a name leads to: `lib/detail/../vec.cuh` was asked for beside `lib/vec.cuh`.
fs::path file_of(std::string_view name) { return fs::path(name).lexically_normal(); }

// Never one inode for two files, though their texts be one: `#pragma once` goes by the file.
Outcome write_all(const std::vector<HeaderSet::SharedText>& headers, const fs::path& folder) {
  const auto contained = ContainedFolder::make(folder);
  if (!contained) return tl::unexpected(contained.error());
  std::map<fs::path, std::string_view> written;
  for (const auto& [name, text] : headers) {
    const auto [at, is_new] = written.try_emplace(file_of(name), *text);
    if (!is_new && at->second != *text) {
      return fail(ErrorCode::io_failed,
                  fmt::format("the record has two headers for one file: {} is another than {}",
                              name, at->first.string()));
    }
    if (!is_new) continue;
    if (auto done = contained->write(at->first.string(), *text, 0); !done) return done;
  }
  return {};
}

}  // namespace

bool RecordedTrees::can_hold(std::string_view name) {
  const auto file = file_of(name);
  return file.has_filename() && file.is_relative() && *file.begin() != ".." && *file.begin() != ".";
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
