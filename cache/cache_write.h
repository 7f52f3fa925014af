#pragma once

#include <fmt/format.h>

#include "cache_impl.h"
#include "file/file_lock.h"

namespace kiln {

template <class Work, class After>
Result<void> Cache::Impl::write(std::string_view doing, std::chrono::milliseconds patience,
                                const Work& work, const After& after) {
  if (read_only()) {
    return fail(
        ErrorCode::cache_unusable,
        fmt::format("cache '{}' is read-only here; nothing is written", place_.path.string()));
  }
  const auto now = [] { return std::chrono::steady_clock::now().time_since_epoch().count(); };
  const bool hopeless = now() < only_try_until_;
  const auto lock = storage::FileLock::acquire(
      place_.path / storage::lock_name, hopeless ? std::chrono::milliseconds::zero() : patience,
      {.writable_by_others = options_.trust_others});
  if (!lock) {
    const bool held = lock.error().code == ErrorCode::io_failed;
    // Only tried: what was to be written can wait.
    if (held && patience == std::chrono::milliseconds::zero()) return tl::unexpected(lock.error());
    // A holder that is stopped must not cost every put the whole patience.
    if (held && !hopeless) {
      only_try_until_ = now() + std::chrono::nanoseconds(storage::lock_despair).count();
    }
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
