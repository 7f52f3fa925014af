#include "image/parameter_kinds.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "image/symbol_name.h"

namespace kiln {

namespace {

constexpr std::array<std::string_view, 15> integers{
    "bool",      "char",         "signed char", "unsigned char", "short",
    "int",       "unsigned int", "long",        "unsigned long", "unsigned short",
    "long long", "char8_t",      "char16_t",    "char32_t",      "unsigned long long"};

ParameterKind kind_of(std::string_view type) {
  if (type == "float" || type == "double") return ParameterKind::floating;
  if (type.ends_with('*')) return ParameterKind::pointer;
  const bool is_integer = std::ranges::find(integers, type) != integers.end();
  return is_integer ? ParameterKind::integer : ParameterKind::unknown;
}

}  // namespace

std::vector<ParameterKind> parameter_kinds(const std::string& symbol) {
  std::vector<ParameterKind> kinds;
  for (const auto& type : parameter_types(symbol)) kinds.push_back(kind_of(type));
  return kinds;
}

}  // namespace kiln
