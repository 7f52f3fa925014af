#pragma once

// kiln/manifest.h: programs written down: in a manifest, a record or a cache.
//
//     for (const auto& listed : kiln::read_manifest("engine.json").value()) {
//       const kiln::Program program = runtime.program_of(listed).value();
//       for (const auto& target : listed.targets) runtime.compile(program, target).value();
//     }

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/cache.h"
#include "kiln/digest.h"
#include "kiln/error.h"
#include "kiln/export.h"
#include "kiln/program.h"
#include "kiln/target.h"

namespace KILN_EXPORT kiln {

/// A header as a compile elsewhere found it, under the name that stands for it when it is embedded.
struct RecordedHeader {
  std::string name;
  /// Null where it was looked for and was not there. Many programs share one text.
  std::shared_ptr<const std::string> text;
  std::string path =
      {};  ///< Where it lay (or what it was called), only where that reaches the output.
};

/// A program that somebody wrote down, and what it is to be compiled for. A value.
struct ListedProgram {
  ProgramSpec spec;
  /// What its compile found elsewhere. See Runtime::program_of() for what becomes of it here.
  std::vector<RecordedHeader> recorded = {};
  bool from_record = false;            ///< Whether `recorded` is all that is known of its headers.
  std::string working_directory = {};  ///< Of that compile, only where it reaches the output.
  std::vector<Target> targets = {};    ///< Distinct; none where the manifest names none.
  ImageKind kind = ImageKind::cubin;   ///< For targets that others choose.
  std::string where = {};              ///< For messages: "engine.json: programs[3] (attn.cu)".
};

/// Reads a manifest: one JSON document, or one per line as a record is written (whose last line may be
/// torn, by a process that was killed, and is then left out). runtime/README.md has the grammar.
/// Headers of its `header_dirs` and the sources of its `source_file`s are read too.
/// Errors: io_failed for a file that cannot be read; invalid_argument, naming file, program and field,
/// for all that makes no sense: an unknown field, one named twice, a program listed twice for one target.
[[nodiscard]] Result<std::vector<ListedProgram>> read_manifest(const std::filesystem::path& file);

/// The programs that a cache or bundle holds the making of.
struct RecordedPrograms {
  /// What cannot be made from it again, and why.
  struct Failure {
    std::string program;
    std::string arch;
    Error error;
  };
  /// Each distinct one once, for all that it is stored for. Entries that differ in headers alone, and
  /// do not contradict each other, are one program, which knows the headers of them all.
  std::vector<ListedProgram> programs;
  std::vector<Failure> failures;
};

/// Rebuilds each distinct program from a cache's or a bundle's entries: name, source, options and
/// expressions as they were asked for, the headers as they were found. What was made of other images is
/// left out: the programs of those are there.
/// Errors: those of Cache::list(). What is damaged, or stored without its sources, is a failure of
/// that program alone.
[[nodiscard]] Result<RecordedPrograms> recorded_programs(Cache& cache);

}  // namespace kiln
