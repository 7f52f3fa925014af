#pragma once

#include "kiln/error.h"
#include "kiln/link.h"

namespace kiln {

/// Checks that the linker may be given these images. It crashes on damaged ones, drops those that are not
/// relocatable, and of two definitions takes the first or crashes, all without an error. What LTO-IR defines
/// the linker checks itself.
/// Errors: link_failed, naming the input and what to do.
[[nodiscard]] Outcome check_link_inputs(const LinkSpec& spec);

}  // namespace kiln
