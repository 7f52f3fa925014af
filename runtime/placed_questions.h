#pragma once

#include "closure.h"
#include "header_search.h"
#include "narrowed_closure.h"
#include "reading.h"

namespace kiln {

/// Adds each question of a compile as a look-up at its place, for want of any meaning. `whole` may know the texts.
void place_all(const Readings& readings, const HeaderSearch& search, const Closure& whole,
               NarrowedClosure& kept);

}  // namespace kiln
