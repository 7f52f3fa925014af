#pragma once

#include "kiln/error.h"
#include "vendor/library_search.h"
#include "vendor/shared_library.h"

namespace kiln::vendor {

/// Maps what was found, so that it leaves the process alone: of what it does from now on, it registers nothing with exit()
/// and sets up no handlers of signals. Errors: those of missing() and of unusable(), with the loader's own words.
[[nodiscard]] Result<SharedLibrary> open_library(const WantedLibrary& wanted,
                                                 const LibrarySearch& search);

}  // namespace kiln::vendor
