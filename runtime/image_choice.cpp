#include "image_choice.h"

namespace kiln {
namespace {

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

std::string compile_target(int major, int minor) {
  return arch_name(major, minor, major >= first_major_with_own_target ? "a" : "");
}

}  // namespace kiln
