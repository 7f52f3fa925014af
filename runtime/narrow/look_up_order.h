#pragma once

#include <cstdint>
#include <vector>

#include "narrow/narrowed_closure.h"

namespace kiln {

/// Puts look-ups in the order in which a compiler made them. That tells which of those that find nothing any more comes first:
/// if that is an include, a compile would come to it, and fail. `made_at`, beside each look-up, is when it was made: of an include
/// no earlier than that, of all others no later. If no order has parents before their children, all become
/// tested: then nothing is known.
void put_in_order(NarrowedClosure& kept, const std::vector<std::uint64_t>& made_at);

}  // namespace kiln
