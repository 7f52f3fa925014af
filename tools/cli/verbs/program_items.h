#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "exit_code.h"
#include "kiln/kiln.h"
#include "words.h"

namespace kiln::cli {

/// A program of the command line, and what it is for.
struct ProgramItem {
  Program program;
  std::vector<Target> targets;  ///< One at least.
  std::optional<ProgramWords> words =
      {};  ///< Of a source that the command line names; none of a manifest's program.
};

/// Whether a file is a manifest, by its name.
[[nodiscard]] bool is_manifest(const std::filesystem::path& file);

/// What a listed program is for; where architectures are named, or an image kind, for these in the place of its own.
[[nodiscard]] std::vector<Target> targets_of(const ListedProgram& listed,
                                             const std::vector<std::string>& archs,
                                             const std::optional<ImageKind>& image = {});

/// The same. Errors: invalid_argument where there is none.
[[nodiscard]] std::vector<Target> some_targets_of(const ListedProgram& listed,
                                                  const std::vector<std::string>& archs);

/// Refuses words that do not go with these files: a source without an architecture; with a manifest, which says of its programs all
/// that a compile needs, what is for sources. Errors: invalid_argument.
void check_program_words(const ProgramWords& words,
                         const std::vector<std::filesystem::path>& files);

/// Does `work` for the program of a source, or for each of a manifest that the command line asks for. One that cannot be read is
/// reported, and no other is lost by it. Gives the worst exit status.
[[nodiscard]] ExitCode for_each_program(const Globals& globals, Runtime& runtime,
                                        const ProgramWords& words,
                                        const std::filesystem::path& file,
                                        const std::function<ExitCode(const ProgramItem&)>& work);

/// The compiler's error in a person's words: as_given(), or for a manifest's program without all that the compiler was given.
[[nodiscard]] Error error_of(const ProgramItem& item, Error error, bool verbose);

}  // namespace kiln::cli
