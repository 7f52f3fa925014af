#pragma once

#include "source/closure.h"
#include "source/header_files.h"
#include "source/query.h"
#include "source/reading.h"

namespace kiln {

/// Turns what a compile went by into look-ups that can be made again elsewhere: those of the closure that the compiler made,
/// with the answers that it got. If it asked for more than the scan foresaw, all look-ups that may have asked so are kept; those
/// that were not made can only cost a compile. If nobody can tell which these are, each question becomes a look-up of its own,
/// at its place below the include directories. That holds as well, but only where the directories lie to each other as here.
///
/// A compiler that gets the same answers to these look-ups asks the same and makes the same: a key promises that. `files`
/// gives the texts of headers that the closure lacks.
[[nodiscard]] Closure narrow(const Query& query, const Closure& closure, const Readings& readings,
                             HeaderFiles& files);

}  // namespace kiln
