#pragma once

// kiln/caller_state.h: keeps errno and the rounding of numbers as the caller had them.
//
//     const kiln::CallerState caller;  // first in a function that calls into others' code
//     errno = ENOENT;                  // given back as it was at the end

#include <cerrno>
#include <cfenv>

#include "kiln/export.h"

namespace KILN_EXPORT kiln {

/// Each function of kiln's that does more than look something up in memory begins with one. At its end it gives errno
/// and the environment of floating-point numbers back as they were. Meanwhile numbers are rounded to nearest, so that
/// the caller's setting reaches neither a compile nor a thread that kiln starts. For one thread, in the order of a stack.
class CallerState {
 public:
  CallerState() noexcept : errno_(errno) {
    std::fegetenv(&numbers_);
    std::fesetenv(FE_DFL_ENV);
  }
  CallerState(const CallerState&) = delete;
  CallerState& operator=(const CallerState&) = delete;
  ~CallerState() {
    std::fesetenv(&numbers_);
    errno = errno_;
  }

 private:
  std::fenv_t numbers_;
  const int errno_;
};

}  // namespace kiln
