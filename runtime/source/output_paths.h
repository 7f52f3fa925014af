#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "source/closure.h"
#include "source/query.h"

namespace kiln {

/// Whether a compile with these options tells the image which lines of which files it was made of.
[[nodiscard]] bool asks_for_line_information(const std::vector<std::string>& options);

/// Whether names may stand for a program's include directories in its compile (NamedRoots): neither line information nor
/// bitcode, which names each header that it has a function of, is to tell where they lie.
[[nodiscard]] bool may_name_roots(const Query& query);

/// Whether the compiler is to be told that it stands in the root: bitcode has the working directory, though nobody asked for it,
/// and is to be the same wherever it is made. Line information is to have the real one.
[[nodiscard]] bool hides_working_directory(const std::vector<std::string>& options, ImageKind kind);

/// Whether an image of this kind shows a text. Bitcode shows none.
[[nodiscard]] bool shows(std::string_view image, ImageKind kind, std::string_view text);

/// Records in the closure's dependencies the paths of this machine that reach the output, so that they become key material.
/// With line information these are all paths, the headers' times and the working directory. Else they are the paths that stand
/// in the image; if a text names `__FILE__` or the like, it is enough that the file's name stands there. (That a text names it
/// says little: `assert` does, and hardly any kernel expands it.) Where one of the program's own texts does more with its place
/// than report it, they are all of its headers' paths, since a hash of one stands nowhere. LTO-IR and OptiX-IR pack their
/// strings, and have the path of each header that they have a function of: there they are all. `working_directory` is that of
/// the compile; where it has no name (empty) and reaches the output, that is not to be stored.
void record_output_paths(const Query& query, std::string_view image,
                         const std::string& working_directory, Closure& closure);

}  // namespace kiln
