#pragma once

#include "image/recipe.h"
#include "kiln/error.h"
#include "kiln/link.h"
#include "vendor/nvjitlink.h"

namespace kiln {

/// What a link is looked up by. REQUIRES: the target is not native.
/// Errors: invalid_argument (no inputs, an image kind that takes no part in links or that a link does
/// not give, two inputs that mean different kernels by one name), invalid_option (one that kiln owns),
/// unknown_kernel (one that no input lists).
[[nodiscard]] Result<Recipe> link_recipe(const LinkSpec& spec);

/// Links; nothing is cached here. The artifact lacks its key and toolchain.
/// Errors: link_failed with the linker's whole log, also for images that are damaged or not
/// relocatable, and where two define the same or a kernel was left out; invalid_option, unknown_arch.
[[nodiscard]] Result<Artifact> link_images(const vendor::NvJitLink& linker, const LinkSpec& spec);

}  // namespace kiln
