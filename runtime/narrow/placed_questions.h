#pragma once

#include "narrow/narrowed_closure.h"
#include "source/closure.h"
#include "source/header_search.h"
#include "source/reading.h"

namespace kiln {

/// Adds each question of a compile as a look-up at its place, for want of any meaning: below the include directories,
/// and where the program `may_spell_paths` at the whole path too. `whole` may know the texts.
void place_all(const Readings& readings, const HeaderSearch& search, const Closure& whole,
               bool may_spell_paths, NarrowedClosure& kept);

}  // namespace kiln
