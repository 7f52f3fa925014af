#pragma once

#include "source/closure.h"
#include "source/header_files.h"
#include "source/query.h"
#include "source/reading.h"

namespace kiln {

/// What a compile went by, as look-ups that can be made again elsewhere: those of the closure that the compiler made,
/// with what it was told. Where it asked for more than the scan foresaw, all look-ups that may have asked so are kept; what
/// they hold beyond those that were made can only cost a compile. Where that cannot be guessed, each of its
/// questions becomes a look-up of its own, at its place below the include directories: that holds as well, but
/// only where these lie to each other as they do here.
///
/// A compiler that gets the same answers to these look-ups asks the same and makes the same; that is what a key
/// promises. `files` gives the texts of headers that the closure has not.
[[nodiscard]] Closure narrow(const Query& query, const Closure& closure, const Readings& readings,
                             HeaderFiles& files);

}  // namespace kiln
