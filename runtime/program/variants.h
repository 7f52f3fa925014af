#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "kiln/error.h"
#include "program/architecture.h"

namespace kiln {

/// Reads VariantSpec::since. Errors: invalid_argument if it is no `sm_` architecture.
[[nodiscard]] Result<Architecture> read_since(std::string_view since);

/// The place in `since` of the variant for a target; nothing if none is for it. One since an `a` target goes before a
/// family's, a family's before a plain one, and a higher one before a lower.
///
/// A family's variant is only for the `a` and `f` targets of its family: a plain target of the same GPU may not use what
/// the family has.
[[nodiscard]] std::optional<std::size_t> choose_variant(const std::vector<Architecture>& since,
                                                        const Architecture& target);

}  // namespace kiln
