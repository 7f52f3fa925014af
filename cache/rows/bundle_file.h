#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>

#include "file/sqlite.h"
#include "kiln/error.h"

namespace kiln::storage {

/// A bundle while it is being written: an empty database of this schema under another name beside its place, and one
/// transaction. It takes its place whole or vanishes. For one thread.
///
/// The next bundle of the same name removes what a killed process left behind.
class BundleFile {
 public:
  /// Errors: io_failed, naming the bundle.
  [[nodiscard]] static Result<std::unique_ptr<BundleFile>> begin(
      const std::filesystem::path& bundle);

  ~BundleFile();
  BundleFile(const BundleFile&) = delete;
  BundleFile& operator=(const BundleFile&) = delete;

  [[nodiscard]] Connection& connection() noexcept { return *connection_; }

  /// The error for what SQLite has just refused; names the bundle.
  [[nodiscard]] tl::unexpected<Error> failure();

  /// Ends the transaction, syncs file and folder, and puts the file in its place. Gives its size.
  /// REQUIRES: no call follows. Errors: io_failed, naming the bundle.
  [[nodiscard]] Result<std::uint64_t> publish();

 private:
  BundleFile(std::filesystem::path bundle, std::filesystem::path folder);

  Outcome make_file();
  Outcome make_database();
  Outcome sync_folder();
  tl::unexpected<Error> failure(std::string_view doing) const;

  const std::filesystem::path bundle_;  ///< As the caller names it.
  const std::filesystem::path folder_;  ///< With no symlink on the way.
  std::filesystem::path temporary_;     ///< Empty before there is one, and once it has its place.
  mode_t rights_ = 0;                   ///< That the bundle is to have.
  int descriptor_ = -1;                 ///< Holds the lock that tells others: somebody writes it.
  std::optional<Connection> connection_;
  std::optional<Transaction> transaction_;
};

}  // namespace kiln::storage
