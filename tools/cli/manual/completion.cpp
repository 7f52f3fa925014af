#include "manual/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kiln::cli {

std::string fill(const DescribedOption& option, const Fillings& fillings) {
  const auto words = fillings.at(static_cast<std::size_t>(option.filling));
  return fmt::format(fmt::runtime(words), fmt::join(option.choices, " "));
}

std::string escaped(std::string_view text, std::string_view special) {
  std::string result;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

}  // namespace kiln::cli
