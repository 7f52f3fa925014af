#include "compile/precompiled_headers.h"

#include <sys/statvfs.h>

#include <numeric>
#include <system_error>
#include <utility>

namespace kiln {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t largest_prelude = precompiled_heap_bytes;

// NVRTC builds a prelude in a mapped file, then writes it out to another.
constexpr std::uint64_t room_wanted = 2 * largest_prelude;

constexpr std::size_t most_met = 65'536;

std::vector<std::uint64_t> sizes_of_files(const fs::path& folder) {
  std::vector<std::uint64_t> sizes;
  std::error_code failure;
  for (fs::directory_iterator item(folder, failure), end; !failure && item != end;
       item.increment(failure)) {
    std::error_code gone;
    const auto size = item->file_size(gone);
    sizes.push_back(gone ? 0 : size);
  }
  return sizes;
}

}  // namespace

std::vector<std::string> PrecompiledPrelude::options() const {
  // Else NVRTC would instantiate templates while it makes the header, and the image would hold them in another order:
  // the same code, but not the same bytes.
  return {"-pch", "-pch-messages=false", "-instantiate-templates-in-pch=false",
          "-pch-dir=" + folder.string()};
}

std::size_t PrecompiledPrelude::files() const { return sizes_of_files(folder).size(); }

void PrecompiledPrelude::discard() {
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  fs::create_directory(folder, ignored);
  state = State::unmade;
}

PrecompiledHeaders::PrecompiledHeaders(fs::path folder, std::uint64_t max_bytes)
    : folder_(std::move(folder)), max_bytes_(max_bytes) {}

std::shared_ptr<PrecompiledPrelude> PrecompiledHeaders::of(const CompileJob& job) {
  if (max_bytes_ == 0 || job.prelude.empty()) return nullptr;
  const std::lock_guard lock(mutex_);
  if (const auto at = by_digest_.find(job.prelude); at != by_digest_.end()) {
    recent_.splice(recent_.begin(), recent_, at->second);
    return recent_.front().second;
  }
  if (met_.size() >= most_met) met_.clear();
  if (met_.insert(job.prelude).second && !job.prelude_repeats) return nullptr;
  drop_surplus();
  if (!has_room()) return nullptr;
  auto prelude = std::make_shared<PrecompiledPrelude>();
  prelude->folder = folder_ / job.prelude.hex();
  std::error_code failure;
  if (!fs::create_directory(prelude->folder, failure)) return nullptr;
  recent_.emplace_front(job.prelude, prelude);
  by_digest_.emplace(job.prelude, recent_.begin());
  return prelude;
}

bool PrecompiledHeaders::has_room() const {
  struct statvfs disk;
  return ::statvfs(folder_.c_str(), &disk) == 0 &&
         static_cast<std::uint64_t>(disk.f_bavail) * disk.f_frsize >= room_wanted;
}

// Makes room for one more.
void PrecompiledHeaders::drop_surplus() {
  std::uint64_t bytes = largest_prelude;
  for (auto entry = recent_.begin(); entry != recent_.end();) {
    const auto sizes = sizes_of_files(entry->second->folder);
    bytes = std::accumulate(sizes.begin(), sizes.end(), bytes);
    const bool in_use = entry->second.use_count() > 1;
    if (bytes <= max_bytes_ || in_use) {
      ++entry;
      continue;
    }
    std::error_code ignored;
    fs::remove_all(entry->second->folder, ignored);
    by_digest_.erase(entry->first);
    entry = recent_.erase(entry);
  }
}

}  // namespace kiln
