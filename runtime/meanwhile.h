#pragma once

#include <system_error>
#include <thread>
#include <utility>

#include "background_thread.h"

namespace kiln {

/// Does something on another thread until the end of its scope, which waits for it. A best effort: where the
/// system has no thread, or the work throws, it is not done, or in part, and whoever needs it does it himself.
class Meanwhile {
 public:
  template <class Work>
  explicit Meanwhile(Work work) {
    try {
      thread_ = start_background_thread([work = std::move(work)] {
        try {
          work();
        } catch (...) {  // NOLINT(bugprone-empty-catch): told to whoever does it himself.
        }
      });
    } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch)
    }
  }
  ~Meanwhile() { wait(); }
  Meanwhile(const Meanwhile&) = delete;
  Meanwhile& operator=(const Meanwhile&) = delete;

  /// Once is enough.
  void wait() {
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::thread thread_;
};

}  // namespace kiln
