#pragma once

#include <string>

#include "kiln/artifact.h"
#include "kiln/error.h"

namespace kiln {

/// Makes an artifact of this name of an image that another tool made: a cubin, a fatbin or PTX. Lists the
/// kernels of a cubin by their symbols; those of the others the driver tells. The key is the digest of the
/// bytes. Total on any bytes. Refuses a cubin of which something leads out of it, a fatbin that is cut short.
/// Errors: invalid_argument.
[[nodiscard]] Result<Artifact> artifact_of_image(std::string image, std::string name);

}  // namespace kiln
