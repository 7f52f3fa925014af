#pragma once

#include "narrow/narrowed_closure.h"
#include "source/closure.h"
#include "source/header_search.h"
#include "source/reading.h"

namespace kiln {

/// Adds each question of a compile as a look-up at its place below the include directories, since nobody can tell which
/// include asked it. If the program `may_spell_paths`, also at the whole path. `whole` may have the texts.
void place_all(const Readings& readings, const HeaderSearch& search, const Closure& whole,
               bool may_spell_paths, NarrowedClosure& kept);

}  // namespace kiln
