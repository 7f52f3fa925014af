#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "source/closure.h"
#include "source/query.h"

namespace kiln {

/// Whether a compile with these options tells the image which lines of which files it was made of.
[[nodiscard]] bool asks_for_line_information(const std::vector<std::string>& options);

/// Whether a compile may be kept from knowing where its include directories lie: no line information tells it, and what it makes
/// shows whether it names a path.
[[nodiscard]] bool may_hide_paths(const Query& query, const Closure& closure);

/// Whether an image shows, or may show, a path after all, so that the program is to be compiled with its directories' own names.
[[nodiscard]] bool shows_hidden_paths(const Query& query, std::string_view image,
                                      const Closure& closure);

/// Records in the closure's dependencies the paths of this machine that reach the output, so that they become key material.
/// With line information these are all paths, the headers' times and the working directory. Else they are the paths that stand
/// in the image; if a text names `__FILE__` or the like, it is enough that the file's name stands there. (That a text names it
/// says little: `assert` does, and hardly any kernel expands it.) LTO-IR and OptiX-IR pack their strings, so there such a text
/// decides.
void record_output_paths(const Query& query, std::string_view image, Closure& closure);

}  // namespace kiln
