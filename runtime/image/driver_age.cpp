#include "image/driver_age.h"

#include <fmt/format.h>

#include "image/toolchains.h"
#include "kiln/target.h"

namespace kiln {

namespace {

ToolchainVersion version_of_driver(int version) { return {version / 1000, version % 1000 / 10}; }

// The oldest driver of a major, as far as it is known here.
std::string driver_for(int major) {
  if (major == 12) return "R525 or newer";
  if (major == 13) return "R580 or newer";
  return fmt::format("one for CUDA {}", major);
}

std::string remedy_of(int built_major, int driver_major) {
  return fmt::format("update the driver ({}), or compile with an NVRTC of CUDA {} (KILN_NVRTC)",
                     driver_for(built_major), driver_major);
}

}  // namespace

bool is_too_new(std::string_view toolchain, std::string_view kind, int driver_version) {
  const auto built = version_of(toolchain);
  if (!built) return false;
  const auto driver = version_of_driver(driver_version);
  if (built->major != driver.major) return built->major > driver.major;
  return kind == to_string(ImageKind::ptx) && built->minor > driver.minor;
}

std::string too_old_for(std::string_view toolchain, int driver_version) {
  const auto built = version_of(toolchain);
  if (!built || !is_too_new(toolchain, to_string(ImageKind::cubin), driver_version)) return {};
  return fmt::format("too old for what {} compiles here: {}", toolchain,
                     remedy_of(built->major, version_of_driver(driver_version).major));
}

std::string why_too_old(const Artifact& artifact, int driver_version) {
  const auto built = version_of(artifact.toolchain);
  if (!built || !is_too_new(artifact.toolchain, artifact.kind, driver_version)) return {};
  const auto driver = version_of_driver(driver_version);
  const auto versions =
      fmt::format("it was built against {}.{} ({}) but the driver is {}.{}", built->major,
                  built->minor, artifact.toolchain, driver.major, driver.minor);
  if (built->major > driver.major) {
    return fmt::format("{}: {}", versions, remedy_of(built->major, driver.major));
  }
  return fmt::format(
      "{}, and PTX needs a driver as new as its compiler: update the driver, prewarm a cubin for "
      "this device (which needs the same major alone), or compile with an NVRTC of CUDA {}.{} "
      "(KILN_NVRTC)",
      versions, driver.major, driver.minor);
}

}  // namespace kiln
