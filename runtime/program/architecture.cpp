#include "program/architecture.h"

#include <charconv>
#include <system_error>

namespace kiln {

namespace {

constexpr std::string_view real_prefix = "sm_";
constexpr std::string_view virtual_prefix = "compute_";

}  // namespace

std::optional<Architecture> read_architecture(std::string_view name) {
  Architecture read;
  read.real = name.starts_with(real_prefix);
  if (!read.real && !name.starts_with(virtual_prefix)) return std::nullopt;
  name.remove_prefix(read.real ? real_prefix.size() : virtual_prefix.size());
  if (name.ends_with('a') || name.ends_with('f')) {
    read.suffix = name.back();
    name.remove_suffix(1);
  }
  if (name.size() < 2 || name.size() > 3 || name.front() == '0') return std::nullopt;
  const auto* end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data(), end, read.version);
  if (error != std::errc() || rest != end || read.version < 0) return std::nullopt;
  return read;
}

}  // namespace kiln
