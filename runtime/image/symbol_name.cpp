#include "image/symbol_name.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>

namespace kiln {
namespace {

bool opens(char letter) { return letter == '<' || letter == '(' || letter == '['; }
bool closes(char letter) { return letter == '>' || letter == ')' || letter == ']'; }

// Where the parameter list begins that ends the text; its end where there is none.
std::size_t begin_of_parameters(std::string_view text) {
  if (!text.ends_with(')')) return text.size();
  int depth = 0;
  for (std::size_t at = text.size(); at-- > 0;) {
    if (text[at] == ')') ++depth;
    if (text[at] == '(' && --depth == 0) return at;
  }
  return text.size();
}

// Templates have their return type in front: "void scale<float>".
std::string_view without_return_type(std::string_view text) {
  int depth = 0;
  for (std::size_t at = text.size(); at-- > 0;) {
    if (closes(text[at])) ++depth;
    if (opens(text[at])) --depth;
    if (text[at] == ' ' && depth == 0) return text.substr(at + 1);
  }
  return text;
}

std::size_t skip_spaces(std::string_view text, std::size_t at) noexcept {
  while (at < text.size() && text[at] == ' ') ++at;
  return at;
}

}  // namespace

std::optional<std::string> declaration_of_symbol(const std::string& symbol) {
  // The demangler takes other names for types: "f" for "float".
  if (!symbol.starts_with("_Z")) return std::nullopt;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  if (!text || status != 0) return std::nullopt;
  return std::string(text.get());
}

std::string name_of_symbol(const std::string& symbol) {
  const auto declaration = declaration_of_symbol(symbol);
  if (!declaration) return symbol;
  const std::string_view whole(*declaration);
  return std::string(without_return_type(whole.substr(0, begin_of_parameters(whole))));
}

std::vector<std::string> parameter_types(const std::string& symbol) {
  const auto declaration = declaration_of_symbol(symbol);
  if (!declaration || !declaration->ends_with(')')) return {};
  std::string_view list(*declaration);
  list.remove_prefix(begin_of_parameters(list) + 1);
  list.remove_suffix(1);
  // There '<' and '>' may be operators, as in conditional<((8)>(4)), float, double>: no reading is sure.
  for (const auto* operators : {")<", ")>", "->"}) {
    if (list.find(operators) != std::string_view::npos) return {};
  }
  std::vector<std::string> types;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t at = 0; at < list.size(); ++at) {
    if (opens(list[at])) ++depth;
    if (closes(list[at])) --depth;
    if (list[at] != ',' || depth != 0) continue;
    types.emplace_back(list.substr(begin, at - begin));
    begin = skip_spaces(list, at + 1);
  }
  if (!list.empty()) types.emplace_back(list.substr(std::min(begin, list.size())));
  return types;
}

bool same_name(std::string_view one, std::string_view other) noexcept {
  std::size_t left = 0;
  std::size_t right = 0;
  for (;;) {
    left = skip_spaces(one, left);
    right = skip_spaces(other, right);
    if (left == one.size() || right == other.size())
      return left == one.size() && right == other.size();
    if (one[left++] != other[right++]) return false;
  }
}

}  // namespace kiln
