#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/kiln.h"
#include "verbs.h"

namespace kiln::cli {

/// Whether what was made last is in the cache, and why not.
struct Keeping {
  bool stored = false;
  std::string why_not = {};
  std::string why_nothing_is = {};  ///< Why nothing is kept, whatever is made.

  void see(const Event& event);
};

/// The runtime that the command line asks for. `keeping` is told of what it does, and must outlive it. Of `given`, the program
/// that is compiled, it says what it says by the name that it was given.
/// Errors: invalid_setting.
[[nodiscard]] Runtime open_runtime(const Globals& globals, Keeping& keeping,
                                   const ProgramWords& given = {});

/// What stands in a pattern for the architecture.
inline constexpr std::string_view arch_placeholder = "{arch}";

/// The file that a pattern names for an architecture.
[[nodiscard]] std::filesystem::path output_path(const std::string& pattern,
                                                const std::string& arch);

/// Before an image of this kind is made for this output, which may be "-". Errors: as check_standard_output() for text and
/// check_binary_output() for others.
void check_image_output(const Globals& globals, const std::string& output, const std::string& kind);

/// Writes the image where the pattern says, with the architecture in the place of "{arch}", or to standard output, which has
/// no report then; nowhere where it is empty. Errors: io_failed.
void write_image(const std::string& pattern, const Artifact& artifact);

/// Reports one artifact that is there: its line of JSON, a warning where it is not kept, and what the tool
/// that made it said.
void tell(const Globals& globals, const Artifact& artifact, const Keeping& keeping);

/// The table for people.
void print_artifacts(const std::vector<Artifact>& artifacts);

}  // namespace kiln::cli
