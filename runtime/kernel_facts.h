#pragma once

#include "kiln/artifact.h"

namespace kiln {

/// Fills in what the artifact's image tells of its kernels, and sorts them by their expressions; with
/// `all` the image's kernels that have no expression are listed too, each standing for itself. An image
/// that does not tell leaves them as they are.
void add_facts(Artifact& artifact, bool all);

}  // namespace kiln
