#pragma once

#include "narrow/narrowed_closure.h"
#include "source/closure.h"
#include "source/header_search.h"
#include "source/reading.h"

namespace kiln {

/// Adds each question of a compile as a look-up at its place below the include directories, since nobody can tell which
/// include asked it. Where these had no names, also at the whole path, which a text may have spelled. `whole` may have the texts.
void place_all(const Readings& readings, const HeaderSearch& search, const Closure& whole,
               NarrowedClosure& kept);

/// Adds a question for a path that a text spells.
void place_spelled(const Reading& reading, const Readings& readings, NarrowedClosure& kept);

}  // namespace kiln
