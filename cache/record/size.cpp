#include "kiln/size.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>

namespace kiln {
namespace {

constexpr std::string_view units = "KMGT";
constexpr unsigned bits_of_a_unit = 10;

/// How far a unit shifts; nothing for a word that is none.
std::optional<unsigned> shift_of(std::string_view unit) noexcept {
  std::array<char, 3> word{};
  if (unit.size() > word.size()) return std::nullopt;
  std::transform(unit.begin(), unit.end(), word.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  const std::string_view upper(word.data(), unit.size());
  if (upper.empty() || upper == "B") return 0;
  const auto at = units.find(upper.front());
  const auto rest = upper.substr(1);
  if (at == std::string_view::npos || (!rest.empty() && rest != "B" && rest != "IB")) {
    return std::nullopt;
  }
  return static_cast<unsigned>(at + 1) * bits_of_a_unit;
}

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

std::string_view take_digits(std::string_view& text) noexcept {
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  const auto digits = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(digits.size());
  return digits;
}

}  // namespace

std::optional<std::uint64_t> parse_bytes(std::string_view text) noexcept {
  const auto whole = take_digits(text);
  std::string_view fraction;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    fraction = take_digits(text);
    if (fraction.empty()) return std::nullopt;
  }
  if (text.starts_with(' ')) text.remove_prefix(1);
  const auto shift = shift_of(text);
  if (whole.empty() || !shift) return std::nullopt;

  constexpr auto greatest = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t value = 0;
  for (const char digit : whole) {
    const auto number = static_cast<std::uint64_t>(digit - '0');
    if (value > (greatest - number) / 10) return std::nullopt;
    value = 10 * value + number;
  }
  if (value > greatest >> *shift) return std::nullopt;
  // More digits than a double can hold would only round.
  double numerator = 0;
  double denominator = 1;
  for (const char digit : fraction.substr(0, 15)) {
    numerator = 10 * numerator + (digit - '0');
    denominator *= 10;
  }
  const double part = numerator / denominator;
  const auto added =
      static_cast<std::uint64_t>(part * static_cast<double>(std::uint64_t{1} << *shift));
  const std::uint64_t scaled = value << *shift;
  return added > greatest - scaled ? std::nullopt : std::optional(scaled + added);
}

}  // namespace kiln
