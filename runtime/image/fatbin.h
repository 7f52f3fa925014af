#pragma once

#include <vector>

#include "image/recipe.h"
#include "kiln/artifact.h"
#include "kiln/error.h"
#include "kiln/program.h"
#include "kiln/target.h"
#include "vendor/nvfatbin.h"

namespace kiln {

/// The targets whose images the fatbin of these holds: each once, in an order that the caller's does not
/// change. A target of the kind fatbin stands for the cubin of its architecture, or for PTX where that is a
/// `compute_` one.
/// Errors: invalid_argument where there is no target, or one is of a kind that no driver takes.
[[nodiscard]] Result<std::vector<Target>> fatbin_targets(const Program& program,
                                                         const std::vector<Target>& targets);

/// What the fatbin of these images is looked up by.
/// Errors: invalid_argument for a kernel that has one symbol here and another there, as one in an
/// anonymous namespace has: a fatbin has one name for all architectures.
[[nodiscard]] Result<Recipe> fatbin_recipe(const Program& program,
                                           const std::vector<Artifact>& images);

/// Packs; nothing is cached here. The artifact lacks its key and toolchain. Of each kernel it tells the
/// parameters, and the most registers and memory that it takes in any of the cubins.
/// Errors: link_failed, with nvFatbin's own words.
[[nodiscard]] Result<Artifact> pack_fatbin(const vendor::NvFatbin& packer, const Recipe& recipe,
                                           const std::vector<Artifact>& images);

}  // namespace kiln
