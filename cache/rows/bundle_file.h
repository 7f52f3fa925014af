#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>

#include "file/sqlite.h"
#include "kiln/error.h"

namespace kiln::storage {

/// A bundle that is being written: an empty database of this schema under another name beside its place,
/// in one transaction. Takes its place whole or vanishes. One thread's.
///
/// What a killed process left behind is removed by the next bundle of the same name.
class BundleFile {
 public:
  /// Errors: io_failed, naming the bundle.
  [[nodiscard]] static Result<std::unique_ptr<BundleFile>> begin(
      const std::filesystem::path& bundle);

  ~BundleFile();
  BundleFile(const BundleFile&) = delete;
  BundleFile& operator=(const BundleFile&) = delete;

  [[nodiscard]] Connection& connection() noexcept { return *connection_; }

  /// What SQLite just refused, naming the bundle.
  [[nodiscard]] tl::unexpected<Error> failure();

  /// Ends the transaction, syncs file and folder, and puts the file in its place. Gives its size.
  /// REQUIRES: the last call. Errors: io_failed, naming the bundle.
  [[nodiscard]] Result<std::uint64_t> publish();

 private:
  BundleFile(std::filesystem::path bundle, std::filesystem::path folder);

  Result<void> make_file();
  Result<void> make_database();
  Result<void> sync_folder();
  tl::unexpected<Error> failure(std::string_view doing) const;

  const std::filesystem::path bundle_;  ///< As it was asked for.
  const std::filesystem::path folder_;  ///< With no symlink on the way.
  std::filesystem::path temporary_;     ///< Empty where there is none (any more).
  int descriptor_ = -1;                 ///< Holds the lock that tells it is being written.
  std::optional<Connection> connection_;
  std::optional<Transaction> transaction_;
};

}  // namespace kiln::storage
