#pragma once

#include <string>

#include "kiln/artifact.h"
#include "kiln/error.h"

namespace kiln {

/// An image that some other tool made, as an artifact of this name: a cubin, a fatbin or PTX. Kernels of a
/// cubin are listed by their symbols; those of the others are for the driver to tell. The key is the digest
/// of the bytes. Total on any bytes: what is damaged in a way that could lead a driver beyond their end is
/// refused. Errors: invalid_argument.
[[nodiscard]] Result<Artifact> artifact_of_image(std::string image, std::string name);

}  // namespace kiln
