#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/artifact.h"
#include "kiln/digest.h"
#include "kiln/error.h"
#include "kiln/request.h"

namespace kiln {

/// A stored entry as it stands before its image is read: what a look-up decides on.
struct Candidate {
  Digest key;
  Digest toolchain;                   ///< Identity of the compiler that made it.
  const DependencySet& dependencies;  ///< Valid during the call.
  const Witness*
      witness;  ///< For the include directories asked about; nullptr if none. Valid during the call.
};

/// A text by its content: a source or a header.
struct Text {
  Digest digest;
  std::string_view bytes;
};

/// All that one entry consists of. Borrows what it points to during put().
struct NewEntry {
  const Request& request;
  const DependencySet& dependencies;
  const Toolchain& toolchain;
  const Artifact& artifact;
  const Witness* witness = nullptr;
  std::vector<Text>
      texts;  ///< The source and each header read, so that the cache is its own manifest.
};

/// An entry as a person lists it.
struct EntrySummary {
  Digest key;
  std::string program;
  std::string arch;
  std::string kind;
  std::string toolchain;
  std::uint64_t image_bytes = 0;
  std::uint64_t stored_bytes = 0;  ///< Of the row's compressed payload.
  std::uint64_t kernels = 0;
  std::uint64_t compile_us = 0;
  std::int64_t created = 0;  ///< Seconds since 1970.
};

/// Everything stored of one entry.
struct StoredEntry {
  EntrySummary summary;
  Request request;
  DependencySet dependencies;
  Toolchain toolchain;
  Artifact artifact;
};

/// What a cache holds, in sum. Bytes.
struct CacheStatistics {
  std::uint64_t entries = 0;
  std::uint64_t image_bytes = 0;
  std::uint64_t stored_bytes = 0;
  std::uint64_t texts = 0;
  std::uint64_t text_bytes = 0;         ///< Before compression.
  std::uint64_t stored_text_bytes = 0;  ///< After.
  std::uint64_t dependency_sets = 0;
  std::uint64_t file_bytes = 0;  ///< Of the database file.
  std::uint64_t compile_us = 0;  ///< What compiling all of it took.
};

/// What happened through this object since it was opened.
struct CacheCounters {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t stores = 0;
  std::uint64_t damaged =
      0;  ///< Rows that failed their checksum or did not decode: misses, and removed.
  std::uint64_t errors = 0;  ///< Reads or writes that SQLite or the filesystem refused.
};

/// A persistent store of artifacts: one SQLite file, `kernels.v1.db`, in a private directory.
///
/// Thread safety: all functions may be called from any thread. Processes share one directory freely.
/// Ownership: movable; closes its file on destruction. Nothing throws. A hit writes nothing.
class Cache {
 public:
  enum class Access {
    read_write,  ///< Creates the directory (0700) and the file (0600) where there are none.
    read_only,   ///< Creates and changes nothing.
  };

  /// Opens the cache in `directory`, an absolute path.
  /// Errors: cache_unusable, naming the path and what is the matter with it: not a directory, no
  /// rights, another owner, writable by others, a symlink, not a kiln database, another schema;
  /// not_found where there is nothing and `access` is read_only. What is refused is left as it was.
  [[nodiscard]] static Result<Cache> open(const std::filesystem::path& directory,
                                          Access access = Access::read_write);

  Cache(Cache&&) noexcept;
  Cache& operator=(Cache&&) noexcept;
  ~Cache();

  /// The database file's path.
  [[nodiscard]] const std::filesystem::path& file() const noexcept;

  /// Gives the first entry of `request` that `accept` takes; nothing is a miss. `roots` picks the
  /// witness that candidates carry. The artifact's origin is `local`. A damaged row is a counted
  /// miss and is removed. `accept` must neither throw nor call back into this cache.
  [[nodiscard]] std::optional<Artifact> find(const Request& request, const Digest& roots,
                                             const std::function<bool(const Candidate&)>& accept);

  /// Stores an entry in one transaction; replaces one of the same key. The key is computed from the
  /// request, the dependencies and the toolchain; program, architecture and kind are the request's.
  /// Errors: cache_unusable (open read-only), io_failed (also for more than 1 GiB),
  /// invalid_argument (a text that has another digest); the cache is then as it was.
  [[nodiscard]] Result<void> put(const NewEntry& entry);

  /// All entries, in key order.
  [[nodiscard]] Result<std::vector<EntrySummary>> list();

  /// The key of the one entry whose key begins with these hexadecimal digits.
  /// Errors: not_found (none), ambiguous (the message lists the first few), invalid_argument.
  [[nodiscard]] Result<Digest> resolve(std::string_view key_prefix);

  /// One whole entry, checked. Errors: not_found; io_failed for a damaged row, which is left alone.
  [[nodiscard]] Result<StoredEntry> entry(const Digest& key);

  /// A stored source or header text. Errors: not_found; io_failed for a damaged one.
  [[nodiscard]] Result<std::string> text(const Digest& digest);

  [[nodiscard]] Result<CacheStatistics> statistics();
  [[nodiscard]] CacheCounters counters() const noexcept;

 private:
  class Impl;
  explicit Cache(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

/// The directory that is used when nothing says otherwise: `$XDG_CACHE_HOME/kiln`, else
/// `$HOME/.cache/kiln`. Errors: cache_unusable when neither is set to an absolute path.
[[nodiscard]] Result<std::filesystem::path> default_cache_directory();

}  // namespace kiln
