#pragma once

#include <functional>
#include <stop_token>

namespace kiln {

/// How one request is stopped, and whom to tell when the compiler is free again.
struct CompileControl {
  /// Ends the request: whoever sees the stop asks nothing more of others, and returns soon.
  std::stop_token stop = {};

  /// Called where something is compiled, when the compiler is done with it, whatever came of it. The compiler may
  /// then have the next; what remains here is to store the result. May be empty.
  std::function<void()> when_compiled = {};
};

}  // namespace kiln
