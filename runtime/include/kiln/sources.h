#pragma once

// kiln/sources.h: the sources of an entry as files, where debuggers, profilers and editors find them.
//
//     auto cache = kiln::Cache::open("/var/cache/engine").value();  // kiln/cache.h
//     const auto entry = cache.entry(cache.resolve("3f9c").value()).value();
//     const auto laid_out = kiln::lay_out_sources(cache, entry, "sources").value();
//     for (const auto& file : laid_out.files) std::puts(file.c_str());  // the first is the program

#include <filesystem>
#include <string>
#include <vector>

#include "kiln/error.h"
#include "kiln/export.h"
#include "kiln/headers.h"

namespace KILN_EXPORT kiln {

class Cache;
struct StoredEntry;

/// What was written.
struct LaidOutSources {
  std::vector<std::filesystem::path> files;  ///< The program's own first.
  std::vector<std::string> skipped;          ///< What is missing, and why: a line each.
  /// Whether the image tells which lines it was made of. Without that no tool asks for the files.
  bool line_information = false;
  /// Below these, which lie below the folder, a compiler finds the headers by the names that they are included by.
  std::vector<std::filesystem::path> include_dirs = {};
};

/// Writes a program and each header that it read below `folder`, each under the absolute name by which the image's line
/// information knows it: the program is `folder`/kiln/NAME. So with `folder` in the place of "/", cuda-gdb and Nsight
/// Compute find them all. A header whose place the image does not tell lies below `folder`/include. What was laid out there
/// before stays, unless it has the same name.
///
/// A header that lies alike in one of the folders `present`, by the name that it is included by, is not written: for a
/// compiler that searches these too, such as Availability::include_dirs.
///
/// Nothing outside `folder` is written and no link in it is followed, whatever the entry calls its files.
/// Errors: invalid_argument for a folder that holds other things than sources that kiln laid out, and for an entry that
/// was made of other images; not_found for one that was stored without its sources; io_failed.
[[nodiscard]] Result<LaidOutSources> lay_out_sources(
    Cache& cache, const StoredEntry& entry, const std::filesystem::path& folder,
    const std::vector<std::filesystem::path>& present = {});

/// Writes texts that are not stored anywhere, such as embedded headers, below `folder`, each under its name, with the same
/// care. A name that leads elsewhere is skipped. Errors: invalid_argument for a folder that holds other things; io_failed
/// where it cannot be made.
[[nodiscard]] Result<LaidOutSources> lay_out_texts(const std::vector<HeaderSet::NamedText>& texts,
                                                   const std::filesystem::path& folder);

}  // namespace kiln
