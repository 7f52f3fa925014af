#include <utility>

#include "cache_impl.h"
#include "file/generation.h"
#include "rows/verifier.h"

namespace kiln {

using storage::Verifier;

Result<VerifyReport> Cache::Impl::verify(bool deep) {
  if (!ensure_open()) return not_open();
  // Somebody waits for the verdict, not for a kernel.
  const storage::LockPatience patience(storage::writer_patience);
  const auto path = file();
  const bool bundle = place_.kind != storage::Place::Kind::directory;
  Verifier verifier({path.empty() ? "the bundle in memory" : path.string(), deep, bundle});
  unsigned generation = 0;
  for (auto progress = Verifier::Progress::more; progress == Verifier::Progress::more;) {
    {
      Hold hold(*this);
      if (!hold) return not_open();
      generation = hold.database().generation;
      progress = verifier.read(hold.connection());
    }
    if (progress == Verifier::Progress::failed) {
      const Error& error = verifier.failure();
      return count_failure(storage::counter_of_failure(error.vendor_code, 0), error);
    }
    verifier.examine();
  }
  auto report = verifier.take();
  if (!bundle) report.set_aside = storage::generations_before(path.parent_path(), generation);
  return report;
}

}  // namespace kiln
