#pragma once

#include <string>

#include "kiln/artifact.h"

namespace kiln {

/// Why a driver of this version (1000 * major + 10 * minor) refuses an image, where that is its age: with
/// both versions and what to do, fit to follow an error's message. A cubin needs the major of the toolkit
/// that made it, PTX the minor too. Empty where the driver is no older than that.
[[nodiscard]] std::string why_too_old(const Artifact& artifact, int driver_version);

}  // namespace kiln
