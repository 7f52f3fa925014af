#pragma once

#include <string>
#include <string_view>

#include "kiln/artifact.h"

namespace kiln {

/// Whether a driver of this version (1000 * major + 10 * minor) is too old for an image of this kind by
/// this toolchain: a cubin needs a driver of the toolchain's major, PTX of its minor too. False where the
/// text tells no version.
[[nodiscard]] bool is_too_new(std::string_view toolchain, std::string_view kind,
                              int driver_version);

/// What to say of such a driver where this toolchain compiles: that it loads no cubin of it, and what to do. Fit to follow a
/// description of the driver. Empty where it is not too old.
[[nodiscard]] std::string too_old_for(std::string_view toolchain, int driver_version);

/// Why a driver of this version refuses an image, where its age is the reason: names both versions and what
/// to do. Fit to follow an error's message. Empty where the driver is not too old.
[[nodiscard]] std::string why_too_old(const Artifact& artifact, int driver_version);

}  // namespace kiln
