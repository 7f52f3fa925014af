#pragma once

// kiln/manifest.h: programs written down: in a manifest, a record or a cache.
//
//     const auto programs = kiln::read_manifest("engine.json").value();
//     for (const auto& listed : programs) {
//       const kiln::Program program = runtime.program_of(listed).value();
//       for (const auto& target : listed.targets) runtime.compile(program, target).value();
//     }

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/digest.h"
#include "kiln/error.h"
#include "kiln/export.h"
#include "kiln/program.h"
#include "kiln/target.h"

namespace KILN_EXPORT kiln {

class Cache;

/// A header as a compile elsewhere found it. An embedded header of this name stands for it here.
struct RecordedHeader {
  std::string name;
  /// Null where the compile looked for it and it was not there. Many programs share one text.
  std::shared_ptr<const std::string> text;
  std::string path =
      {};  ///< Where it lay (or what it was called), only where that reaches the output.
  /// Which of the include directories that held any of them held it, from 0, where that counts.
  std::optional<std::uint32_t> directory = {};
};

/// A program that somebody wrote down, and what it is to be compiled for. A value.
struct ListedProgram {
  ProgramSpec spec;
  /// The headers that its compile found elsewhere. Runtime::program_of() says what becomes of them here.
  std::vector<RecordedHeader> recorded = {};
  bool from_record = false;            ///< Whether `recorded` is all that is known of its headers.
  std::string working_directory = {};  ///< Of that compile, only where it reaches the output.
  /// The names of all headers that were embedded in that compile, each ended by a NUL, where nobody can tell which of them it asked
  /// for. Null where each that counts is among the recorded ones, and where the names are not known. Shared as texts are.
  std::shared_ptr<const std::string> embedded_names = {};
  std::vector<Target> targets = {};   ///< Distinct; none where the manifest names none.
  ImageKind kind = ImageKind::cubin;  ///< For targets that somebody else names.
  std::string where = {};             ///< For messages: "engine.json: programs[3] (attn.cu)".
  /// The files that its sources were read from, by the names of its variants, its own by "default". Absolute. A source
  /// that was written into the manifest has none.
  std::map<std::string, std::filesystem::path> source_files = {};
  /// The folders whose files are among the headers of `spec`. Absolute.
  std::vector<std::filesystem::path> header_dirs = {};
};

/// Reads a manifest: one JSON document, or a record, which is one document per line. Where a process was
/// killed while it wrote a record, the last line may be incomplete, and is left out. runtime/README.md has
/// the grammar. Also reads the headers of its `header_dirs` and the sources of its `source_file`s.
/// Errors: io_failed for a file that cannot be read; invalid_argument, naming file, program and field, for
/// all that makes no sense: an unknown field, one named twice, a program listed twice for one target.
[[nodiscard]] Result<std::vector<ListedProgram>> read_manifest(const std::filesystem::path& file);

/// The programs that can be made again from what a cache or bundle holds.
struct RecordedPrograms {
  /// A program that cannot be made again, and why.
  struct Failure {
    std::string program;
    std::string arch;
    Error error;
  };
  /// Each distinct program once, with all targets that it is stored for. Entries that differ in their headers
  /// alone, and do not contradict each other, are one program, which knows the headers of them all.
  std::vector<ListedProgram> programs;
  std::vector<Failure> failures;
};

/// Rebuilds each distinct program from a cache's or a bundle's entries: name, source, options and expressions
/// as they were asked for, the headers as they were found. Leaves out what was made of other images, since
/// the programs of those are there.
/// Errors: those of Cache::list(). An entry that is damaged, or stored without its sources, is a failure of
/// its program alone.
[[nodiscard]] Result<RecordedPrograms> recorded_programs(Cache& cache);

/// The same of one entry alone, with the target that it is stored for. Errors: those of Cache::entry(); not_found where
/// it was stored without its sources; invalid_argument for one that was made of other images; header_not_found where the
/// record does not tell its headers apart.
[[nodiscard]] Result<ListedProgram> recorded_program(Cache& cache, const Digest& key);

}  // namespace kiln
