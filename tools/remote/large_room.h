#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <semaphore>

namespace kiln::remote {

/// Room for one large thing at a time: a few of them would take all memory. Safe to use from any thread.
class LargeRoom {
 public:
  /// What is no larger needs none.
  static constexpr std::uint64_t most_without = std::uint64_t{4} << 20;

  /// Taken until the last copy of it is gone.
  using Taken = std::shared_ptr<void>;

  /// Null where others have it for that long.
  [[nodiscard]] Taken take(std::chrono::microseconds patience) {
    if (!free_.try_acquire_for(patience)) return nullptr;
    return {&free_, [](void* taken) { static_cast<std::binary_semaphore*>(taken)->release(); }};
  }

 private:
  std::binary_semaphore free_{1};
};

}  // namespace kiln::remote
