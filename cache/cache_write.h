#pragma once

#include <fmt/format.h>

#include "cache_impl.h"
#include "file_lock.h"

namespace kiln {

template <class Work, class After>
Result<void> Cache::Impl::write(std::string_view doing, std::chrono::milliseconds patience,
                                const Work& work, const After& after) {
  if (read_only()) {
    return fail(
        ErrorCode::cache_unusable,
        fmt::format("cache '{}' is read-only here; nothing is written", place_.path.string()));
  }
  const auto lock = storage::FileLock::acquire(place_.path / storage::lock_name, patience);
  if (!lock) {
    const bool held = lock.error().code == ErrorCode::io_failed;
    // Only tried: what was to be written can wait.
    if (held && patience == std::chrono::milliseconds::zero()) return tl::unexpected(lock.error());
    return count_failure(held ? Counter::errors_locked : Counter::errors_denied, lock.error());
  }
  Hold hold(*this);
  if (!hold) return not_open();
  storage::Transaction transaction(hold.connection());
  if (!transaction.begin()) return failure(hold, doing);
  const Step step = work(hold);
  if (step == Step::roll_back) return {};
  if (step == Step::failed || !transaction.commit()) return failure(hold, doing);
  after(hold);
  return {};
}

}  // namespace kiln
