#pragma once

#include "kiln/artifact.h"

namespace kiln {

/// Fills in what the artifact's image tells of its kernels, and sorts them by their expressions; with
/// `all` the image's kernels that have no expression are listed too, each standing for itself. An image
/// that does not tell leaves them as they are.
void add_facts(Artifact& artifact, bool all);

/// A kernel that an image should have and has not; nullptr where there is none, or the image does not tell. NVRTC 13.3
/// and later may succeed and leave one out, such as one of tiles.
[[nodiscard]] const KernelInfo* kernel_without_code(const Artifact& artifact);

}  // namespace kiln
