#include "program/image_choice.h"

#include <array>
#include <string_view>

namespace kiln {
namespace {

// The plain architectures of majors to which NVIDIA adds no more, newest first. Each costs a look-up, so these are
// not all numbers.
constexpr std::array known_versions{121, 120, 110, 103, 101, 100, 90, 89, 88, 87, 86,
                                    80,  75,  72,  70,  62,  61,  60, 53, 52, 50};

constexpr int first_major_with_own_target = 9;      // sm_90a
constexpr int first_major_with_family_target = 10;  // sm_100f

std::string arch_name(int major, int minor, const char* suffix) {
  return "sm_" + std::to_string(10 * major + minor) + suffix;
}

}  // namespace

std::vector<std::string> runnable_archs(int major, int minor) {
  std::vector<std::string> archs;
  if (major >= first_major_with_own_target) archs.push_back(arch_name(major, minor, "a"));
  if (major >= first_major_with_family_target) {
    for (int lower = minor; lower >= 0; --lower) archs.push_back(arch_name(major, lower, "f"));
  }
  for (int lower = minor; lower >= 0; --lower) archs.push_back(arch_name(major, lower, ""));
  return archs;
}

std::vector<std::string> runnable_ptx(int major, int minor) {
  constexpr std::string_view prefix = "sm_";
  std::vector<std::string> archs;
  const auto add = [&archs, prefix](const std::string& real) {
    archs.push_back("compute_" + real.substr(prefix.size()));
    archs.push_back(real);
  };
  for (const auto& arch : runnable_archs(major, minor)) add(arch);
  for (const auto version : known_versions) {
    if (version < 10 * major) add(std::string(prefix) + std::to_string(version));
  }
  return archs;
}

std::string compile_target(int major, int minor) {
  return arch_name(major, minor, major >= first_major_with_own_target ? "a" : "");
}

}  // namespace kiln
