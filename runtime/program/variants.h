#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "kiln/error.h"
#include "program/architecture.h"

namespace kiln {

/// Reads VariantSpec::since. Errors: invalid_argument for what is no `sm_` architecture.
[[nodiscard]] Result<Architecture> read_since(std::string_view since);

/// Which variant is for a target: its place in `since`, or nothing where none is. An `a` target goes before
/// a family's, that one before plain ones, and the higher before the lower.
///
/// A family's variant is for the `a` and `f` targets of its family alone: a plain target of the same GPU
/// may not use what the family has.
[[nodiscard]] std::optional<std::size_t> choose_variant(const std::vector<Architecture>& since,
                                                        const Architecture& target);

}  // namespace kiln
