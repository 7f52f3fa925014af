#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "kiln/cache.h"
#include "kiln/error.h"
#include "kiln/manifest.h"
#include "kiln/program.h"
#include "manifest/recorded_trees.h"
#include "source/closure.h"
#include "source/header_files.h"
#include "source/query.h"

namespace kiln {

/// Runtime::program_of(), for the toolkit in these directories. The program's headers may lie in one of the trees.
[[nodiscard]] Result<Program> make_listed(const ListedProgram& listed,
                                          const std::vector<std::filesystem::path>& toolkit_dirs,
                                          HeaderFiles& files, RecordedTrees& trees);

/// A stored text of this digest; an error where there is none.
using StoredText = std::function<Result<std::string>(const Digest& digest)>;

/// A request as it is written down: without its own headers and directories, but with the headers that it found;
/// or, where an entry was served, with those of the entry, which may know more than this machine.
/// Errors: invalid_argument for a program that cannot be kept; those of name_headers() and of `stored_text`.
[[nodiscard]] Result<ListedProgram> list_request(const Query& query, const Closure& here,
                                                 const Result<StoredEntry>& stored,
                                                 const StoredText& stored_text);

}  // namespace kiln
