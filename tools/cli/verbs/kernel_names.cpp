#include "verbs/kernel_names.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <string_view>

#include "verbs/entry_list.h"

namespace kiln::cli {

namespace {

std::string without_blanks(std::string_view text) {
  std::string squeezed;
  std::copy_if(text.begin(), text.end(), std::back_inserter(squeezed),
               [](unsigned char c) { return std::isspace(c) == 0; });
  return squeezed;
}

}  // namespace

bool is_named(const KernelInfo& kernel, const std::string& word) {
  return kernel.symbol == word || without_blanks(kernel.expression) == without_blanks(word);
}

bool fits(const KernelInfo& kernel, const std::string& glob) {
  return matches(glob, kernel.expression) || matches(glob, kernel.symbol);
}

}  // namespace kiln::cli
