#pragma once

#include "kiln/artifact.h"

namespace kiln {

/// Fills in what the artifact's image tells of its kernels, and sorts them by their expressions. With `all`,
/// lists the image's other kernels too, each under its symbol. Where the image does not tell, the kernels
/// stay as they are.
void add_facts(Artifact& artifact, bool all);

/// A kernel that the artifact lists and its image does not have; nullptr where there is none, or the image
/// does not tell. NVRTC 13.3 and later may succeed and leave a kernel out, such as one of tiles.
[[nodiscard]] const KernelInfo* kernel_without_code(const Artifact& artifact);

}  // namespace kiln
