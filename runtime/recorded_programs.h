#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "header_files.h"
#include "kiln/error.h"
#include "kiln/manifest.h"
#include "kiln/program.h"
#include "kiln/request.h"
#include "kiln/target.h"

namespace kiln {

/// Runtime::program_of(), for the toolkit in these directories.
[[nodiscard]] Result<Program> make_listed(const ListedProgram& listed,
                                          const std::vector<std::filesystem::path>& toolkit_dirs,
                                          HeaderFiles& files);

/// The text of this digest; an error where there is none.
using TextOf = std::function<Result<std::shared_ptr<const std::string>>(const Digest& digest)>;

/// What was asked for, as it is written down: without headers and directories of its own, with those
/// that were found instead. Errors: those of name_headers() and of `text_of`.
[[nodiscard]] Result<ListedProgram> list_request(const Program& program, const Target& target,
                                                 const DependencySet& found, const TextOf& text_of);

}  // namespace kiln
