#include "driver_age.h"

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "kiln/target.h"

namespace kiln {

namespace {

struct Version {
  int major = 0;
  int minor = 0;
};

// The number in "NVRTC 13.0", "nvJitLink 13.0", …
std::optional<Version> version_in(std::string_view toolchain) {
  const auto begin = toolchain.find_first_of("0123456789");
  if (begin == std::string_view::npos) return std::nullopt;
  const auto* end = toolchain.data() + toolchain.size();
  Version version;
  const auto [dot, error] = std::from_chars(toolchain.data() + begin, end, version.major);
  if (error != std::errc()) return std::nullopt;
  if (dot != end && *dot == '.') (void)std::from_chars(dot + 1, end, version.minor);
  return version;
}

// The oldest driver of a major, as far as it is known here.
std::string driver_for(int major) {
  if (major == 12) return "R525 or newer";
  if (major == 13) return "R580 or newer";
  return fmt::format("one for CUDA {}", major);
}

}  // namespace

std::string why_too_old(const Artifact& artifact, int driver_version) {
  const auto built = version_in(artifact.toolchain);
  if (!built) return {};
  const Version driver{driver_version / 1000, driver_version % 1000 / 10};
  const auto versions =
      fmt::format("it was built against {}.{} ({}) but the driver is {}.{}", built->major,
                  built->minor, artifact.toolchain, driver.major, driver.minor);
  if (built->major > driver.major) {
    return fmt::format(
        "{}: update the driver ({}), or compile with an NVRTC of CUDA {} (KILN_NVRTC)", versions,
        driver_for(built->major), driver.major);
  }
  const bool newer_minor = built->major == driver.major && built->minor > driver.minor;
  if (!newer_minor || artifact.kind != to_string(ImageKind::ptx)) return {};
  return fmt::format(
      "{}, and PTX needs a driver as new as its compiler: update the driver, prewarm a cubin for "
      "this "
      "device (which needs the same major alone), or compile with an NVRTC of CUDA {}.{} "
      "(KILN_NVRTC)",
      versions, driver.major, driver.minor);
}

}  // namespace kiln
