#pragma once

#include <string>

#include "kiln/artifact.h"

namespace kiln::cli {

/// Whether the word is the kernel's symbol, or its expression, in which spaces do not matter.
[[nodiscard]] bool is_named(const KernelInfo& kernel, const std::string& word);

/// Whether the kernel's symbol or its expression fits a shell's glob; each fits the empty one.
[[nodiscard]] bool fits(const KernelInfo& kernel, const std::string& glob);

}  // namespace kiln::cli
