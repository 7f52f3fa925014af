#include "queue/find_ahead.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "base/background_thread.h"

namespace kiln {

namespace {

// So few are found sooner than a thread starts.
constexpr std::size_t items_of_a_thread = 8;

class FindingAhead {
 public:
  FindingAhead(const std::vector<PrefetchItem>& items, const FindItem& find, const FoundItem& found,
               const std::stop_token& stop)
      : items_(items), find_(find), found_(found), stop_(stop), missing_(items.size(), true) {}

  FindingAhead(const FindingAhead&) = delete;
  FindingAhead& operator=(const FindingAhead&) = delete;

  // Also where found() has thrown: a thread that nobody joins ends the host.
  ~FindingAhead() {
    next_ = items_.size();
    join();
  }

  std::vector<std::size_t> run(std::size_t threads) {
    start(std::min(threads, items_.size() / items_of_a_thread));
    while (find_next()) tell();
    join();
    tell();
    std::vector<std::size_t> left;
    for (std::size_t index = 0; index < items_.size(); ++index) {
      if (missing_[index]) left.push_back(index);
    }
    return left;
  }

 private:
  // Where the system gives no more threads, fewer do it.
  void start(std::size_t threads) {
    threads_.reserve(threads);
    try {
      while (threads_.size() + 1 < threads) {
        threads_.push_back(start_background_thread([this] {
          while (find_next()) {
          }
        }));
      }
    } catch (const std::system_error&) {
      return;
    }
  }

  void join() {
    for (auto& thread : threads_) thread.join();
    threads_.clear();
  }

  bool find_next() {
    const auto index = next_++;
    if (index >= items_.size() || stop_.stop_requested()) return false;
    try {
      if (auto served = find_(items_[index])) {
        const std::lock_guard lock(mutex_);
        ready_.emplace_back(index, std::move(*served));
      }
    } catch (...) {  // NOLINT(bugprone-empty-catch): it is asked for again, on the calling thread.
    }
    return true;
  }

  void tell() {
    std::vector<std::pair<std::size_t, ServedArtifact>> ready;
    {
      const std::lock_guard lock(mutex_);
      ready.swap(ready_);
    }
    for (const auto& [index, served] : ready) {
      missing_[index] = false;
      found_(index, served);
    }
  }

  const std::vector<PrefetchItem>& items_;
  const FindItem& find_;
  const FoundItem& found_;
  const std::stop_token& stop_;
  std::vector<bool> missing_;  ///< The calling thread's.
  std::vector<std::thread> threads_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
  std::vector<std::pair<std::size_t, ServedArtifact>> ready_;
};

}  // namespace

std::vector<std::size_t> find_ahead(const std::vector<PrefetchItem>& items, std::size_t threads,
                                    const FindItem& find, const FoundItem& found,
                                    const std::stop_token& stop) {
  return FindingAhead(items, find, found, stop).run(threads);
}

}  // namespace kiln
