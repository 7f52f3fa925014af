#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kiln/request.h"

namespace kiln {

struct ToolchainVersion {
  int major = 0;
  int minor = 0;
};

/// The version that a toolchain's text tells: {13, 0} of "NVRTC 13.0"; nothing where it tells none.
[[nodiscard]] std::optional<ToolchainVersion> version_of(std::string_view toolchain);

/// Which compilers' entries serve beside those that this machine's own compiler made. A value.
class EligibleToolchains {
 public:
  /// "own", "same-major", "any", or the text of one toolchain, e.g. "NVRTC 12.8"; nothing for a text that
  /// is none of these.
  [[nodiscard]] static std::optional<EligibleToolchains> parse(std::string_view text);

  /// The rule "own": only entries of this machine's compiler; where there is none, those of any.
  EligibleToolchains() = default;

  /// Whether entries of `stored` serve on a machine whose compiler is `own`, nullptr for none.
  [[nodiscard]] bool include(const Toolchain& stored, const Toolchain* own) const;

  /// As parse() takes it.
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  explicit EligibleToolchains(std::string_view text) : text_(text) {}

  std::string text_ = "own";
};

}  // namespace kiln
