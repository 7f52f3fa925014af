#include <chrono>
#include <utility>

#include "cache_impl.h"
#include "file/generation.h"
#include "kiln/caller_state.h"
#include "record/frame.h"
#include "rows/tally_file.h"
#include "rows/verifier.h"

namespace kiln {

using storage::Verifier;

namespace {

/// Of a stranger's file, all pages are looked at in one piece.
constexpr std::chrono::milliseconds time_of_whole_file = std::chrono::minutes(1);

void check_tally_file(const std::filesystem::path& directory, const CacheOptions& options,
                      VerifyReport& report) {
  const auto read = storage::read_tally_file(directory, {.cache = options.trust});
  if (read) return;
  report.findings.push_back(
      {"file", (directory / storage::tally_file_name).string(), read.error().message});
}

}  // namespace

Result<VerifyReport> Cache::verify(bool deep) {
  const CallerState caller;
  // Whoever asks waits for a verdict and not for a kernel.
  const storage::LockPatience patience(storage::writer_patience);
  const auto path = impl_->file();
  const bool bundle = impl_->is_bundle();
  Verifier verifier({path.empty() ? "the bundle in memory" : path.string(), deep, bundle});
  unsigned generation = 0;
  for (auto progress = Verifier::Progress::more; progress == Verifier::Progress::more;) {
    {
      Hold hold = impl_->open();
      if (!hold) return impl_->not_open();
      generation = hold.database().generation;
      hold.connection().restart_clock(time_of_whole_file);
      const storage::LongestValue longest(hold.connection(), storage::max_raw_bytes);
      progress = verifier.read(hold.connection());
    }
    if (progress == Verifier::Progress::failed) {
      const Error& error = verifier.failure();
      return impl_->count_failure(storage::counter_of_failure(error.vendor_code, 0), error);
    }
    verifier.examine();
  }
  auto report = verifier.take();
  if (!bundle) {
    report.set_aside = storage::generations_before(path.parent_path(), generation);
    check_tally_file(path.parent_path(), impl_->options, report);
  }
  return report;
}

}  // namespace kiln
