#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/explain.h"
#include "kiln/request.h"

namespace kiln {

/// Differences, and their weight together: the lighter, the nearer.
struct WeighedDifferences {
  std::vector<Difference> differences;
  unsigned weight = 0;
};

/// Each field in which a request differs from a stored one. Sources are told by sizes and digests.
[[nodiscard]] WeighedDifferences differences_of(const Request& asked, const Request& stored);

/// Gives "source: line 12 is …, stored …". For when both texts are at hand.
[[nodiscard]] std::string first_line_that_differs(std::string_view asked, std::string_view stored);

/// Gives "toolchain: NVRTC 13.0, stored NVRTC 12.8".
[[nodiscard]] Difference toolchain_difference(const Toolchain& here, const Toolchain& stored);

}  // namespace kiln
