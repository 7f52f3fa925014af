#pragma once

#include <functional>
#include <stop_token>

namespace kiln {

/// How one request is stopped, and whom to tell when the compiler is free again.
struct CompileControl {
  /// Ends it: whoever sees that asks no more of others, and returns soon.
  std::stop_token stop = {};

  /// Called where something is compiled, once the compiler is done with that and may have the next, whatever
  /// came of it: what remains is to store it. May be empty.
  std::function<void()> when_compiled = {};
};

}  // namespace kiln
