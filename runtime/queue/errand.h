#pragma once

#include <functional>
#include <stop_token>

namespace kiln {

/// What goes with a query on its way to the compiler and back.
struct Errand {
  /// Ends it: whoever sees that asks no more of others, and returns soon.
  std::stop_token stop = {};

  /// Called where something is compiled, once the compiler is done with that and may have the next, whatever
  /// came of it: what remains is to store it. May be empty.
  std::function<void()> when_compiled = {};
};

}  // namespace kiln
