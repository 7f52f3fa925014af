#pragma once

#include <system_error>
#include <thread>
#include <utility>

namespace kiln::remote {

/// Whether there was a thread to be had for it. It runs on its own from then on.
template <class Work>
[[nodiscard]] bool start_thread(Work work) {
  try {
    std::thread(std::move(work)).detach();
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

}  // namespace kiln::remote
