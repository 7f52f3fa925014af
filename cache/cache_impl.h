#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frame.h"
#include "kiln/cache.h"
#include "sqlite.h"

namespace kiln {

/// What a Cache hides: one connection behind one mutex. What looks up is in cache_find.cpp, what
/// writes in cache_put.cpp, what shows in cache_inspect.cpp.
class Cache::Impl {
 public:
  Impl(std::filesystem::path file, storage::Connection connection);

  std::optional<Artifact> find(const Request& request, const Digest& roots,
                               const std::function<bool(const Candidate&)>& accept);
  Result<void> put(const NewEntry& entry);
  Result<std::vector<EntrySummary>> list();
  Result<Digest> resolve(std::string_view key_prefix);
  Result<StoredEntry> entry(const Digest& key);
  Result<std::string> text(const Digest& digest);
  Result<CacheStatistics> statistics();

  const std::filesystem::path& file() const noexcept { return file_; }
  CacheCounters counters() const noexcept;

 private:
  struct Wanted;

  std::optional<Artifact> search(const Wanted& wanted, std::vector<std::int64_t>& damaged);
  void drop(const std::vector<std::int64_t>& damaged);
  Result<std::vector<Text>> not_stored(const std::vector<Text>& texts);

  /// Counts what SQLite just refused, and gives it as an error.
  tl::unexpected<Error> failure(std::string_view doing);

  const std::filesystem::path file_;
  const bool read_only_;
  std::mutex mutex_;  ///< Guards the two below.
  storage::Connection connection_;
  storage::FrameDecoder decoder_;

  std::atomic<std::uint64_t> hits_ = 0;
  std::atomic<std::uint64_t> misses_ = 0;
  std::atomic<std::uint64_t> stores_ = 0;
  std::atomic<std::uint64_t> damaged_ = 0;
  std::atomic<std::uint64_t> errors_ = 0;
};

}  // namespace kiln
