#include "kiln/size.h"

#include <cctype>
#include <cmath>
#include <limits>
#include <string>

namespace kiln {
namespace {

constexpr std::string_view letters = "KMGT";

/// "", "K", "kb", "KiB", … as a power of 1024.
std::optional<int> power_of(std::string_view unit) {
  std::string upper;
  for (const char letter : unit) {
    upper += static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  }
  if (upper.empty() || upper == "B") return 0;
  const auto at = letters.find(upper.front());
  const auto rest = std::string_view(upper).substr(1);
  if (at == std::string_view::npos || (!rest.empty() && rest != "B" && rest != "IB")) {
    return std::nullopt;
  }
  return static_cast<int>(at) + 1;
}

}  // namespace

std::optional<std::uint64_t> parse_bytes(std::string_view text) noexcept {
  const auto digits = text.find_first_not_of("0123456789.");
  const std::string number(text.substr(0, digits));
  auto unit = digits == std::string_view::npos ? std::string_view() : text.substr(digits);
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  const auto power = power_of(unit);
  if (!power || number.empty() || number == "." || number.find('.') != number.rfind('.')) {
    return std::nullopt;
  }
  const double bytes = std::ldexp(std::stod(number), 10 * *power);
  constexpr double most = 9.2e18;
  return bytes <= most ? std::optional(static_cast<std::uint64_t>(bytes)) : std::nullopt;
}

}  // namespace kiln
