#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kiln/artifact.h"
#include "kiln/cache.h"
#include "kiln/resources.h"
#include "verbs.h"

namespace kiln::cli {

/// One kernel of one entry.
struct KernelRow {
  EntrySummary entry;
  KernelInfo kernel;
  KernelCode code;

  /// What it stores and loads, together; nothing where the image does not tell.
  [[nodiscard]] std::optional<std::uint64_t> spilled_bytes() const noexcept;
};

/// The kernels of many entries.
struct KernelRows {
  std::vector<KernelRow> rows;  ///< In the order of the entries, and of an entry's expressions.
  std::vector<std::string> damaged;  ///< Keys of entries that could not be read.
};

/// Reads the kernels of these entries, on all cores. `kernel` is a glob for the expression or the symbol; empty for
/// all. Leaves out variables that a program lists beside its kernels, and what was removed since the entries were listed.
[[nodiscard]] KernelRows read_kernels(Cache& cache, const std::vector<EntrySummary>& entries,
                                      const std::string& kernel);

/// Warns of each entry that could not be read, and gives the exit status that this deserves.
[[nodiscard]] ExitCode warn_of_damaged(const Globals& globals, const KernelRows& kernels);

}  // namespace kiln::cli
