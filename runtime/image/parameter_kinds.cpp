#include <algorithm>
#include <array>
#include <string_view>

#include "image/symbol_name.h"
#include "kiln/resources.h"

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
  return is_integer ? ParameterKind::integer : ParameterKind::other;
}

}  // namespace

const char* to_string(ParameterKind kind) noexcept {
  switch (kind) {
    case ParameterKind::unknown:
      return "unknown";
    case ParameterKind::integer:
      return "integer";
    case ParameterKind::floating:
      return "floating";
    case ParameterKind::pointer:
      return "pointer";
    case ParameterKind::other:
      return "other";
  }
  return "unknown";
}

std::vector<ParameterKind> parameter_kinds(const KernelInfo& kernel) {
  std::vector<ParameterKind> kinds(kernel.params.size(), ParameterKind::unknown);
  const auto types = parameter_types(kernel.symbol);
  if (types.size() == kinds.size()) std::ranges::transform(types, kinds.begin(), kind_of);
  return kinds;
}

}  // namespace kiln
