#pragma once

#include <cstddef>
#include <vector>

#include "json.h"
#include "kiln/cache.h"
#include "verbs/kernel_rows.h"

namespace kiln::cli {

/// Entries and kernels as a report's page takes them: a column for each figure, an element for each row. Names are
/// numbers: positions in one list of all names.
struct ReportRows {
  Json names = Json::array();
  Json entries;  ///< The largest first.
  Json
      kernels;  ///< Those of these entries, each with its entry's position; what spills most first.
  std::size_t entries_left_out = 0;
  std::size_t kernels_left_out = 0;
};

/// Leaves out the last rows where all of them would make a page of more than 10 MB.
[[nodiscard]] ReportRows report_rows(std::vector<EntrySummary> entries,
                                     const std::vector<KernelRow>& kernels);

}  // namespace kiln::cli
